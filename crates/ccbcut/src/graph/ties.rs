//! The edges of a graph as its parts see them: those between two parts stand together, and those inside parts are summed up.

use crate::{parallel, simd};

use super::{Graph, ROW_BLOCK, Storage, csr::Csr};

/// Pairs of parts that one task sums over.
const PAIR_BLOCK: usize = 512;

/// No pair yet.
const NONE: usize = usize::MAX;

/// Weights that are summed side by side.
const LANES: usize = 8;

/// The edges between the parts of a graph, pair by pair.
#[derive(Debug)]
pub(crate) struct Ties {
    /// The graph with the parts for vertices, an edge for each pair.
    contracted: Csr,
    /// The pairs as the contracted graph has its edges: each once, the smaller part first, in increasing order.
    pairs: Vec<(u32, u32)>,
    /// Where the weights of each pair begin, the end included.
    starts: Vec<usize>,
    weights: Vec<f64>,
    /// How many edges are inside parts, and their mean weight.
    inside: (usize, f64),
}

/// An edge between two parts, the smaller first: its weight, and the one that it has in another graph.
struct Tie {
    parts: (u32, u32),
    weights: (f64, f64),
}

impl Ties {
    /// The ties of `n_parts` parts of a graph. The contracted graph has the weights of `other`: those between two parts add up.
    /// `None` where a vertex has not as many edges in the other, as when a weight vanished in single precision.
    pub(crate) fn new(graph: &Graph, other: &Graph, part: &[u32], n_parts: usize) -> Option<Self> {
        let n = graph.n_vertices();
        let blocks = parallel::map(n.div_ceil(ROW_BLOCK), |block| {
            let rows = block * ROW_BLOCK..n.min((block + 1) * ROW_BLOCK);
            let (mut ties, mut inside, mut others) = (Vec::new(), 0.0, Vec::new());
            for i in rows {
                others.clear();
                other.for_each_neighbor(i, |_, w| others.push(w));
                let own = part[i];
                let mut place = 0;
                graph.for_each_neighbor(i, |j, w| {
                    let (a, b) = (own.min(part[j]), own.max(part[j]));
                    if j > i && a == b {
                        inside += w;
                    } else if j > i && place < others.len() {
                        ties.push(Tie { parts: (a, b), weights: (w, others[place]) });
                    }
                    place += 1;
                });
                if place != others.len() {
                    return None;
                }
            }
            Some((ties, inside))
        });
        let blocks: Vec<(Vec<Tie>, f64)> = blocks.into_iter().collect::<Option<_>>()?;
        let ties = || blocks.iter().flat_map(|block| &block.0);
        // By the smaller part …
        let mut first = vec![0; n_parts + 1];
        ties().for_each(|tie| first[tie.parts.0 as usize + 1] += 1);
        (0..n_parts).for_each(|a| first[a + 1] += first[a]);
        let mut next = first.clone();
        let mut by_first = vec![(0, 0.0, 0.0); first[n_parts]];
        for tie in ties() {
            let place = &mut next[tie.parts.0 as usize];
            by_first[*place] = (tie.parts.1, tie.weights.0, tie.weights.1);
            *place += 1;
        }
        // … and then by the other.
        let (mut pairs, mut starts): (Vec<(u32, u32)>, Vec<usize>) = (Vec::new(), Vec::new());
        let (mut weights, mut sums) = (vec![0.0; by_first.len()], Vec::new());
        let mut pair_with = vec![NONE; n_parts];
        for a in 0..n_parts {
            let of_a = &by_first[first[a]..first[a + 1]];
            let before = pairs.len();
            for &(b, _, _) in of_a {
                if pair_with[b as usize] == NONE {
                    pair_with[b as usize] = before;
                    pairs.push((a as u32, b));
                }
            }
            pairs[before..].sort_unstable();
            let new = || (before..).zip(&pairs[before..]);
            new().for_each(|(pair, &(_, b))| pair_with[b as usize] = pair);
            starts.resize(pairs.len(), 0);
            of_a.iter().for_each(|&(b, _, _)| starts[pair_with[b as usize]] += 1);
            let mut start = first[a];
            for count in &mut starts[before..] {
                start += std::mem::replace(count, start);
            }
            sums.resize(pairs.len(), 0.0);
            let mut next = starts[before..].to_vec();
            for &(b, w, other) in of_a {
                let pair = pair_with[b as usize];
                weights[next[pair - before]] = w;
                next[pair - before] += 1;
                sums[pair] += other;
            }
            new().for_each(|(_, &(_, b))| pair_with[b as usize] = NONE);
        }
        starts.push(weights.len());
        let n_inside = graph.n_edges() - weights.len();
        let mean = blocks.iter().map(|block| block.1).sum::<f64>() / n_inside.max(1) as f64;
        let contracted = Csr::from_sorted_edges(n_parts, &pairs, &sums);
        Some(Self { contracted, pairs, starts, weights, inside: (n_inside, mean) })
    }

    /// The graph with the parts for vertices.
    pub(crate) fn contracted(&self) -> Graph {
        Graph::from_storage(Storage::Sparse(self.contracted.clone()), Vec::new())
    }

    /// Edges of the graph, those inside parts included.
    pub(super) fn n_edges(&self) -> usize {
        self.weights.len() + self.inside.0
    }

    /// The squared difference of each pair, for a height of each part.
    pub(super) fn squared(&self, heights: &[f64]) -> Vec<f64> {
        let difference = |&(a, b): &(u32, u32)| heights[a as usize] - heights[b as usize];
        self.pairs.iter().map(difference).map(|d| d * d).collect()
    }

    /// Σ f(w, ‖Δ‖²) over the edges; at ‖Δ‖ = 0, as inside parts, f must be affine in w.
    pub(super) fn sum(&self, squared: &[f64], f: &(impl Fn(f64, f64) -> f64 + Sync + Send)) -> f64 {
        let between = parallel::sum_blocks(self.pairs.len(), PAIR_BLOCK, |pairs| {
            simd::widest(
                #[inline(always)]
                || pairs.map(|pair| sum_of(self.of_pair(pair), squared[pair], f)).sum(),
            )
        });
        let (n_inside, mean) = self.inside;
        between + if n_inside > 0 { n_inside as f64 * f(mean, 0.0) } else { 0.0 }
    }

    /// The value f(w, ‖Δ‖²) at a place in decreasing order; what is inside parts comes last.
    pub(super) fn nth_largest(
        &self,
        squared: &[f64],
        place: usize,
        f: &(impl Fn(f64, f64) -> f64 + Sync + Send),
    ) -> f64 {
        if place >= self.weights.len() {
            return if place < self.n_edges() { f(self.inside.1, 0.0) } else { 0.0 };
        }
        let values =
            squared.iter().zip(0..).flat_map(|(&d, pair)| self.of_pair(pair).iter().map(move |&w| f(w, d)));
        let mut values: Vec<f64> = values.collect();
        *values.select_nth_unstable_by(place, |a, b| b.total_cmp(a)).1
    }

    /// The contracted graph, the weight of each pair being Σ f(w, ‖Δ‖²).
    pub(super) fn reweighted(&self, squared: &[f64], f: &(impl Fn(f64, f64) -> f64 + Sync + Send)) -> Graph {
        let blocks = parallel::map(self.pairs.len().div_ceil(PAIR_BLOCK), |block| {
            let pairs = block * PAIR_BLOCK..self.pairs.len().min((block + 1) * PAIR_BLOCK);
            simd::widest(
                #[inline(always)]
                || pairs.map(|pair| sum_of(self.of_pair(pair), squared[pair], f)).collect::<Vec<f64>>(),
            )
        });
        let csr = self.contracted.with_edge_weights(&blocks.concat(), Vec::new());
        Graph::from_storage(Storage::Sparse(csr), Vec::new())
    }

    fn of_pair(&self, pair: usize) -> &[f64] {
        &self.weights[self.starts[pair]..self.starts[pair + 1]]
    }
}

/// Σ f(w, squared) for some weights.
#[inline(always)]
fn sum_of(weights: &[f64], squared: f64, f: &impl Fn(f64, f64) -> f64) -> f64 {
    let whole = weights.chunks_exact(LANES);
    let tail: f64 = whole.remainder().iter().map(|&w| f(w, squared)).sum();
    let mut sums = [0.0; LANES];
    for weights in whole {
        for l in 0..LANES {
            sums[l] += f(weights[l], squared);
        }
    }
    sums.iter().sum::<f64>() + tail
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{distances::Distances, gallery, half_disc};

    /// Graphs, parts of their vertices, and other weights on the same edges.
    fn cases() -> Vec<(Graph, Graph, Vec<u32>, usize)> {
        let stencil = Graph::from_stencil(9, 14, half_disc(2.5), |i, j| (1 + (i * 7 + j * 3) % 5) as f32);
        let graphs = [gallery::random(300, 0.1, 3), gallery::star(30), gallery::path(2), stencil.unwrap()];
        graphs
            .into_iter()
            .map(|graph| {
                let other = graph.map_weights(|i, j, w| w * (1.0 + ((i + 2 * j) % 7) as f64));
                let n_parts = 7.min(graph.n_vertices());
                let part = (0..graph.n_vertices()).map(|v| (v * v % 11 % n_parts) as u32).collect::<Vec<_>>();
                (graph, other, part, n_parts)
            })
            .collect()
    }

    #[test]
    fn ties_are_the_edges_of_the_contracted_graph() {
        for (graph, other, part, n_parts) in cases() {
            let ties = Ties::new(&graph, &other, &part, n_parts).unwrap();
            let expected = other.contracted(&part, n_parts).unwrap().without_self_loops();
            let edges = |graph: &Graph| graph.map_edges(|i, j, w| (i, j, w));
            let (found, expected) = (edges(&ties.contracted()), edges(&expected));
            assert_eq!(found.len(), expected.len());
            for (a, b) in found.iter().zip(&expected) {
                assert!((a.0, a.1) == (b.0, b.1) && (a.2 - b.2).abs() <= 1e-12 * b.2, "{a:?} {b:?}");
            }
            assert_eq!(ties.n_edges(), graph.n_edges());
            let fewer = Graph::from_edges(graph.n_vertices(), &[(0, 1, 1.0)]).unwrap();
            assert_eq!(Ties::new(&graph, &fewer, &part, n_parts).is_none(), graph.n_edges() > 1);
        }
    }

    #[test]
    fn distances_of_parts_are_those_of_vertices_that_move_as_one() {
        for (graph, other, part, n_parts) in cases() {
            let ties = Ties::new(&graph, &other, &part, n_parts).unwrap();
            let heights: Vec<f64> = (0..n_parts).map(|c| (c as f64 * 1.3).sin()).collect();
            let y: Vec<f64> = part.iter().map(|&c| heights[c as usize]).collect();
            let parts = Distances::of_parts(&ties, &heights);
            let vertices = Distances::new(&graph, &y, 1, Vec::new());
            assert_eq!(parts.n_edges(), vertices.n_edges());
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs();
            let f = |w: f64, d: f64| (w * d + 0.1).sqrt();
            assert!(close(parts.sum(f), vertices.sum(f)));
            let weighted = |w: f64, d: f64| w * (d + 0.1).sqrt();
            assert!(close(parts.sum(weighted), vertices.sum(weighted)));
            let (a, b) = (parts.sum_by_coordinate(f64::abs), vertices.sum_by_coordinate(f64::abs));
            assert!(close(a, b), "{a} {b}");
            for place in [0, 1, 5, graph.n_edges() / 2, graph.n_edges() - 1, graph.n_edges()] {
                let r = |w: f64, d: f64| w * d;
                let (a, b) = (parts.nth_largest(place, r), vertices.nth_largest(place, r));
                assert!(close(a, b), "{place}: {a} {b}");
            }
            let (small, _) = parts.reweighted(None, f);
            let (whole, _) = vertices.reweighted(None, f);
            let expected = whole.contracted(&part, n_parts).unwrap().without_self_loops();
            let weights = |graph: &Graph| graph.map_edges(|_, _, w| w);
            assert_eq!(small.n_edges(), expected.n_edges());
            // Stencils hold weights in single precision.
            assert!(weights(&small).iter().zip(weights(&expected)).all(|(a, b)| (a - b).abs() <= 1e-6 * b));
        }
    }
}
