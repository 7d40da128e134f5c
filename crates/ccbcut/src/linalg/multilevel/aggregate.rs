//! Groups of vertices that move together, and the graph of the groups.
//!
//! Whether two vertices move together is read off a few random vectors after smoothing: what is left of them is what
//! smoothing cannot remove and the coarse graph must represent. Unlike single weights, this sees that a pixel with
//! a hundred weak ties to its like belongs there, and not to the one stronger neighbour it has (the algebraic distance
//! of Ron, Safro and Brandt 2011, doi:10.1137/100791142).

use crate::{graph::Graph, parallel};

/// The most vertices that a seed gathers, itself included.
const MOST: usize = 9;

/// How many test vectors there are.
pub(super) const TESTS: usize = 4;

/// Vertices closer than this move together; unrelated ones are 2 apart.
const ALIKE: f32 = 0.03;

/// A vertex farther than this from all its neighbours stays alone.
const ALONE: f32 = 0.3;

/// Aggregates whose rows one task sums up, at least …
const BLOCK: usize = 256;

/// … and how many tasks there are, at most: each looks up all aggregates in a table of its own.
const TASKS: usize = 256;

/// Numbers the aggregates of a graph, given [`TESTS`] smoothed values per vertex of unit variance.
///
/// Vertices are visited in order. One that is free gathers its free close neighbours that move with it, the closest
/// first. One that stays alone joins the neighbour it is closest to, if that is close at all.
pub(super) fn aggregate(graph: &Graph, tests: &[[f32; TESTS]]) -> (Vec<u32>, usize) {
    const FREE: u32 = u32::MAX;
    let n = graph.n_vertices();
    let distance = |i: usize, j: usize| {
        let squares = tests[i].iter().zip(&tests[j]).map(|(a, b)| (a - b) * (a - b));
        squares.sum::<f32>() / TESTS as f32
    };
    let mut of = vec![FREE; n];
    let mut sizes: Vec<u32> = Vec::new();
    let mut gathered: Vec<(f32, u32)> = Vec::new();
    for seed in 0..n {
        if of[seed] != FREE {
            continue;
        }
        gathered.clear();
        graph.for_each_near(seed, |j, _| {
            let apart = distance(seed, j);
            if of[j] == FREE && apart < ALIKE {
                gathered.push((apart, j as u32));
            }
        });
        gathered.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        gathered.truncate(MOST - 1);
        let label = sizes.len() as u32;
        of[seed] = label;
        for &(_, j) in &gathered {
            of[j as usize] = label;
        }
        sizes.push(1 + gathered.len() as u32);
    }
    for v in 0..n {
        if sizes[of[v] as usize] > 1 {
            continue;
        }
        let mut best: Option<(f32, usize)> = None;
        graph.for_each_neighbor(v, |j, _| {
            let apart = distance(v, j);
            if apart < best.map_or(ALONE, |(least, _)| least) {
                best = Some((apart, j));
            }
        });
        if let Some((_, j)) = best {
            sizes[of[v] as usize] -= 1;
            of[v] = of[j];
            sizes[of[v] as usize] += 1;
        }
    }
    let mut number = 0;
    let numbers: Vec<u32> = sizes
        .iter()
        .map(|&size| {
            number += u32::from(size > 0);
            number.wrapping_sub(1)
        })
        .collect();
    of.iter_mut().for_each(|label| *label = numbers[*label as usize]);
    (of, number as usize)
}

/// The graph of the aggregates: weights between two of them add up.
pub(super) fn quotient(graph: &Graph, of: &[u32], n_coarse: usize) -> Graph {
    let mut first = vec![0_usize; n_coarse + 1];
    of.iter().for_each(|&a| first[a as usize + 1] += 1);
    (0..n_coarse).for_each(|a| first[a + 1] += first[a]);
    let mut members = vec![0_u32; of.len()];
    let mut next = first.clone();
    for (v, &a) in of.iter().enumerate() {
        members[next[a as usize]] = v as u32;
        next[a as usize] += 1;
    }
    // Each pair is summed once, from the side of the lower number, so that both copies have the same bits.
    let block = BLOCK.max(n_coarse.div_ceil(TASKS));
    let blocks = parallel::map(n_coarse.div_ceil(block), |b| {
        let mut place = vec![u32::MAX; n_coarse];
        let mut rows: Vec<Vec<(u32, f64)>> = Vec::new();
        let mut row: Vec<(u32, f64)> = Vec::new();
        for a in b * block..((b + 1) * block).min(n_coarse) {
            for &v in &members[first[a]..first[a + 1]] {
                graph.for_each_neighbor(v as usize, |j, w| {
                    let other = of[j];
                    if other as usize > a {
                        let at = &mut place[other as usize];
                        if *at == u32::MAX {
                            *at = row.len() as u32;
                            row.push((other, 0.0));
                        }
                        row[*at as usize].1 += w;
                    }
                });
            }
            row.iter().for_each(|&(other, _)| place[other as usize] = u32::MAX);
            row.sort_unstable_by_key(|&(other, _)| other);
            rows.push(std::mem::take(&mut row));
        }
        rows
    });
    let upper: Vec<Vec<(u32, f64)>> = blocks.into_iter().flatten().collect();
    let mut offsets = vec![0_usize; n_coarse + 1];
    for (a, row) in upper.iter().enumerate() {
        offsets[a + 1] += row.len();
        row.iter().for_each(|&(b, _)| offsets[b as usize + 1] += 1);
    }
    (0..n_coarse).for_each(|a| offsets[a + 1] += offsets[a]);
    let mut next = offsets.clone();
    let (mut targets, mut weights) = (vec![0_u32; offsets[n_coarse]], vec![0.0; offsets[n_coarse]]);
    // Lower copies come first, in increasing order, as the rows are walked in order.
    for (a, row) in upper.iter().enumerate() {
        for &(b, w) in row {
            (targets[next[b as usize]], weights[next[b as usize]]) = (a as u32, w);
            next[b as usize] += 1;
        }
    }
    for (a, row) in upper.iter().enumerate() {
        for &(b, w) in row {
            (targets[next[a]], weights[next[a]]) = (b, w);
            next[a] += 1;
        }
    }
    Graph::from_sorted_csr(offsets, targets, weights, Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{gallery, half_disc};

    fn tests(graph: &Graph) -> Vec<[f32; TESTS]> {
        super::super::Level::new(std::borrow::Cow::Borrowed(graph)).test_vectors()
    }

    #[test]
    fn the_graph_of_the_aggregates_has_the_energy_of_vectors_that_are_constant_on_them() {
        let weight = |i: usize, j: usize| ((i * 7 + j * 3) % 5) as f32;
        let stencil = Graph::from_stencil(23, 31, half_disc(4.0), weight).unwrap();
        for graph in [&stencil, &gallery::random(300, 0.05, 3), &gallery::wide(200, 0.05, 6.0, 5)] {
            let (of, n_coarse) = aggregate(graph, &tests(graph));
            assert!(n_coarse < graph.n_vertices(), "{n_coarse} of {}", graph.n_vertices());
            assert!((0..n_coarse as u32).all(|a| of.contains(&a)), "numbers without gaps");
            let coarse = quotient(graph, &of, n_coarse);
            let height = |a: u32| f64::from(a * 37 % 101);
            let energy = |i: f64, j: f64, w: f64| w * (i - j) * (i - j);
            let fine = graph.sum_edges(|i, j, w| energy(height(of[i]), height(of[j]), w));
            let sum = coarse.sum_edges(|i, j, w| energy(height(i as u32), height(j as u32), w));
            assert!((fine - sum).abs() <= 1e-12 * fine, "{fine} {sum}");
            // Rows increase, and both copies of an edge have the same bits.
            for a in 0..n_coarse {
                let mut before = None;
                coarse.for_each_neighbor(a, |b, w| {
                    assert!(before.replace(b) < Some(b), "{a} {b}");
                    assert!(w.to_bits() == coarse.weight(b, a).to_bits(), "{a} {b}");
                });
            }
        }
    }

    #[test]
    fn aggregates_follow_strong_edges_and_a_weak_vertex_joins_its_strongest_neighbour() {
        // Two triangles of strong edges, a weak tie between them, and a vertex that hangs on the second by less.
        let edges = [(0, 2, 1.0), (2, 4, 1.0), (0, 4, 1.0), (1, 3, 1.0), (3, 5, 1.0), (1, 5, 1.0)];
        let weak = [(4, 1, 1e-3), (5, 6, 1e-6), (4, 6, 1e-9)];
        let graph = Graph::from_edges(7, &[&edges[..], &weak[..]].concat()).unwrap();
        assert_eq!(aggregate(&graph, &tests(&graph)), (vec![0, 1, 0, 1, 0, 1, 1], 2));
        let alone = Graph::from_edges(2, &[]).unwrap();
        assert_eq!(aggregate(&alone, &[[0.0; TESTS]; 2]), (vec![0, 1], 2));
    }
}
