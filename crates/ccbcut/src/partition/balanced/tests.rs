//! Balanced cuts of small graphs, against all two-way cuts.

use super::*;
use crate::graph::gallery;

/// The lowest cost of all two-way cuts.
pub fn brute_force(graph: &Graph, pi: &[f64], criterion: Criterion) -> f64 {
    let n = graph.n_vertices();
    let whole: f64 = pi.iter().sum();
    let cost = |set: u32| {
        let is_inside = |i: usize| set >> i & 1 == 1;
        let mut cut = 0.0;
        graph.for_each_edge(|i, j, w| cut += if is_inside(i) == is_inside(j) { 0.0 } else { w });
        let size: f64 = (0..n).filter(|&i| is_inside(i)).map(|i| pi[i]).sum();
        criterion.total([criterion.term(cut, size), criterion.term(cut, whole - size)])
    };
    (1..1 << (n - 1)).map(cost).fold(f64::INFINITY, f64::min)
}

const ALL: [Criterion; 5] = [
    Criterion::Cheeger,
    Criterion::Ratio,
    Criterion::Ccb { tau: 0.5 },
    Criterion::Ccb { tau: 1.0 },
    Criterion::Ccb { tau: 2.0 },
];

#[test]
fn the_best_of_all_starts_is_the_best_of_all_cuts() {
    let graphs = [gallery::toy(0.5), gallery::path(9), gallery::grid(3, 3), gallery::wide(9, 0.3, 1.0, 2)];
    for graph in &graphs {
        for balance in [Balance::Normalized, Balance::Ratio] {
            let pi = balance.weights(graph).unwrap();
            for criterion in ALL {
                let found = BalancedCut::new(criterion).best(graph, &balance).unwrap().cost(criterion);
                let lowest = brute_force(graph, &pi, criterion);
                assert!((found - lowest).abs() <= 1e-9 * lowest, "{criterion:?}: {found} {lowest}");
            }
        }
    }
}

#[test]
fn descents_never_rise_and_their_quotient_bounds_their_best_threshold() {
    let graph = gallery::planted(&[14, 9, 7], 0.7, 0.15, 5);
    let pi = Balance::Normalized.weights(&graph).unwrap();
    let members: Vec<u32> = (0..30).collect();
    for criterion in ALL {
        let ctx = SplitContext { graph: &graph, pi: &pi, criterion };
        let run = |outer: usize| {
            let cut = BalancedCut::new(criterion).n_random(3).max_outer(outer);
            cut.descend(&graph, &Balance::Normalized, &|| false).unwrap()
        };
        let mut before = run(1).quotients;
        for outer in [2, 4, 8, 100] {
            let found = run(outer);
            assert!(found.quotients.iter().zip(&before).all(|(now, then)| now <= then), "{criterion:?}");
            for (column, quotient) in found.columns.chunks_exact(30).zip(&found.quotients) {
                let split = best_prefix(&ctx, &members, column, 1, Prefixes::Distinct).unwrap().unwrap();
                assert!(split.cost(criterion) <= quotient * (1.0 + 1e-10), "{criterion:?}");
            }
            before = found.quotients;
        }
    }
}

#[test]
fn a_polish_never_ends_above_its_start() {
    let mut improved = 0;
    for seed in 0..20 {
        let graph = gallery::wide(16, 0.25, 1.0, seed);
        let pi = Balance::Ratio.weights(&graph).unwrap();
        let mut random = Random::new(seed);
        let side: Vec<bool> = (0..16).map(|i| i == 0 || (i != 1 && random.uniform() < 0.5)).collect();
        for criterion in ALL {
            let f: Vec<f64> = side.iter().map(|&s| f64::from(u8::from(s))).collect();
            let ctx = SplitContext { graph: &graph, pi: &pi, criterion };
            let start = round(&ctx, &f).unwrap().unwrap().cost(criterion);
            let end =
                BalancedCut::new(criterion).polish(&graph, &Balance::Ratio, &side).unwrap().cost(criterion);
            assert!(end <= start, "{criterion:?}: {end} above {start}");
            improved += usize::from(end < 0.9 * start);
        }
    }
    assert!(improved > 50, "random cuts are far from good: {improved} were improved");
}

#[test]
fn more_starts_keep_the_others() {
    let graph = gallery::planted(&[10, 10], 0.6, 0.1, 3);
    let run = |n| {
        BalancedCut::new(Criterion::Cheeger).n_random(n).descend(&graph, &Balance::Ratio, &|| false).unwrap()
    };
    let (few, many) = (run(1), run(3));
    assert_eq!(few.columns, many.columns[..40]);
    assert!(few.is_complete && !few.quotients.is_empty());
}

#[test]
fn invalid_input_is_named() {
    let graph = gallery::path(4);
    let cut = |criterion| BalancedCut::new(criterion).best(&graph, &Balance::Ratio);
    for tau in [0.0, 2.5, f64::NAN] {
        assert!(matches!(cut(Criterion::Ccb { tau }), Err(Error::TauOutOfRange { .. })));
    }
    let one = BalancedCut::new(Criterion::Cheeger).best(&gallery::path(1), &Balance::Ratio);
    assert_eq!(one, Err(Error::TooFewVertices { vertices: 1, segments: 2 }));
    let none = BalancedCut::new(Criterion::Cheeger).max_outer(0).best(&graph, &Balance::Ratio);
    assert!(matches!(none, Err(Error::InvalidParameter { name: "the outer limit", .. })));
    let polish = |side: &[bool]| BalancedCut::new(Criterion::Cheeger).polish(&graph, &Balance::Ratio, side);
    assert!(matches!(polish(&[true; 3]), Err(Error::ShapeMismatch { expected: 4, got: 3, .. })));
    assert!(matches!(polish(&[true; 4]), Err(Error::InvalidParameter { .. })));
}
