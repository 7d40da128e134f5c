use super::*;
use crate::random::Random;

fn cloud(n: usize, d: usize, seed: u64, grid: Option<f64>) -> Points {
    let mut random = Random::new(seed);
    let value = |x: f64| grid.map_or(x, |step| (x / step).round() * step);
    Points::new(n, d, (0..n * d).map(|_| value(random.normal())).collect()).unwrap()
}

/// Every pair, every point sorted.
fn naive(points: &Points, k: usize) -> Vec<Vec<(f64, u32)>> {
    let squared = |i: usize, j: usize| -> f64 {
        points.row(i).iter().zip(points.row(j)).map(|(a, b)| (b - a) * (b - a)).sum()
    };
    let row = |i: usize| {
        let mut all: Vec<(f64, u32)> =
            (0..points.len()).filter(|&j| j != i).map(|j| (squared(i, j), j as u32)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        all[..k].to_vec()
    };
    (0..points.len()).map(row).collect()
}

#[test]
fn tree_and_blocks_find_what_sorting_all_pairs_finds() {
    // On a coarse grid most distances are tied and many points coincide.
    for grid in [None, Some(0.5), Some(100.0)] {
        for d in [1, 2, 3, 7, TREE_DIMENSIONS, TREE_DIMENSIONS + 3] {
            for k in [1, 6, 20] {
                let points = cloud(300, d, d as u64, grid);
                let expected = naive(&points, k);
                let found = nearest(&points, k).unwrap();
                let tree = tree::KdTree::new(&points);
                let packed = blocks::Packed::new(&points);
                let by_blocks: Vec<_> = (0..5).flat_map(|b| packed.nearest(&points, b, k)).collect();
                assert_eq!(by_blocks, expected.concat(), "{grid:?}, d = {d}, k = {k}");
                for (point, row) in tree.nearest(0, 300, k) {
                    assert_eq!(row, expected[point], "{grid:?}, d = {d}, k = {k}, point {point}");
                    assert_eq!(found.of(point), row);
                }
            }
        }
    }
}

#[test]
fn weights_follow_the_formulas() {
    let points = cloud(60, 2, 3, None);
    let all = naive(&points, 9);
    for (mutual, fixed) in [(false, None), (true, None), (false, Some(0.7)), (true, Some(0.7))] {
        let bandwidth = fixed.map_or(Bandwidth::SelfTuning(7), Bandwidth::Fixed);
        let graph = NeighborGraph::new(9).mutual(mutual).bandwidth(bandwidth).build(&points).unwrap();
        for i in 0..60 {
            for j in i + 1..60 {
                let has = |i: usize, j: usize| all[i].iter().find(|e| e.1 as usize == j).map(|e| e.0);
                let pair = (has(i, j), has(j, i));
                let tied = if mutual { pair.0.and(pair.1) } else { pair.0.or(pair.1) };
                let scale = |i: usize| fixed.unwrap_or_else(|| all[i][6].0.sqrt());
                let expected = tied.map_or(0.0, |squared| (-squared / (scale(i) * scale(j))).exp());
                assert_eq!(graph.weight(i, j), expected, "{mutual} {fixed:?}");
            }
        }
    }
}

#[test]
fn points_that_coincide_are_tied_by_one_and_far_ones_by_nothing() {
    let same = Points::new(20, 2, vec![3.0; 40]).unwrap();
    let graph = NeighborGraph::new(4).build(&same).unwrap();
    assert!(graph.map_edges(|_, _, w| w).iter().all(|&w| w == 1.0));
    let far = Points::new(3, 1, vec![0.0, 1.0, 1e6]).unwrap();
    let fixed = NeighborGraph::new(2).bandwidth(Bandwidth::Fixed(1.0)).build(&far).unwrap();
    assert_eq!((fixed.n_edges(), fixed.components().n_segments()), (1, 2));
}

#[test]
fn parameters_and_points_are_checked() {
    let points = cloud(5, 2, 0, None);
    for k in [0, 5, usize::MAX] {
        assert!(matches!(nearest(&points, k), Err(Error::InvalidParameter { .. })), "{k}");
    }
    for sigma in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let graph = NeighborGraph::new(2).bandwidth(Bandwidth::Fixed(sigma)).build(&points);
        assert!(matches!(graph, Err(Error::InvalidParameter { .. })), "{sigma}");
    }
    assert!(NeighborGraph::new(2).bandwidth(Bandwidth::SelfTuning(0)).build(&points).is_err());
    assert!(matches!(Points::new(2, 1, vec![0.0]), Err(Error::ShapeMismatch { .. })));
    assert!(matches!(Points::new(1, 1, vec![f64::NAN]), Err(Error::NotFinite { .. })));
    assert!(matches!(Points::new(1, 1, vec![1e200]), Err(Error::InvalidParameter { .. })));
    assert!(matches!(Points::new(3, 0, vec![]), Err(Error::InvalidParameter { .. })));
    let many = Points::new(40_000, 1, vec![0.0; 40_000]).unwrap();
    assert!(matches!(nearest(&many, 39_999), Err(Error::TooLarge { .. })));
}
