//! Graphs that all but fall apart.
//!
//! Two regions tied by weights of 10⁻⁴⁰ have an eigenvalue of that size, far below the square of the rounding of
//! any vector that stores it: no iteration can find it, but there is no need to. To an error of λ_slow/λ_fast the slow
//! eigenvectors are constant inside clusters, so they are those of the small graph that has the clusters for
//! vertices; and the others are those of the clusters by themselves. The clusters show as the widest gap among
//! the weights of a maximum spanning tree.

use crate::{error::Result, graph::Graph, labels::Labels};

use super::spectrum::{EigenParams, Eigenpairs, Spectrum};

/// A gap between two successive weights of the spanning tree must be at least this wide.
const GAP: f64 = 1e6;

/// The clusters on either side of the widest gap; `None` when there is no wide gap.
pub(super) fn at_widest_gap(graph: &Graph) -> Option<Labels> {
    let tree = spanning_weights(graph);
    let widest = (1..tree.len()).max_by(|&a, &b| {
        let gap = |k: usize| tree[k - 1].2 / tree[k].2;
        gap(a).total_cmp(&gap(b)).then(b.cmp(&a))
    })?;
    if tree[widest - 1].2 < GAP * tree[widest].2 {
        return None;
    }
    let mut sets = DisjointSets::new(graph.n_vertices());
    for &(i, j, _) in &tree[..widest] {
        sets.join(i, j);
    }
    let roots: Vec<u32> = (0..graph.n_vertices() as u32).map(|v| sets.root(v)).collect();
    Some(Labels::from_raw(&roots))
}

/// The graph of the clusters: weights between them add up, and so do their π.
pub(super) fn quotient(graph: &Graph, labels: &Labels, pi: &[f64]) -> (Graph, Vec<f64>) {
    let of = labels.as_slice();
    let mut between = std::collections::BTreeMap::new();
    graph.for_each_edge(|i, j, w| {
        if of[i] != of[j] {
            *between.entry((of[i].min(of[j]), of[i].max(of[j]))).or_insert(0.0) += w;
        }
    });
    let edges: Vec<(u32, u32, f64)> = between.into_iter().map(|((i, j), w)| (i, j, w)).collect();
    let mut masses = vec![0.0; labels.n_segments()];
    for (&c, p) in of.iter().zip(pi) {
        masses[c as usize] += p;
    }
    let graph = Graph::from_edges(masses.len(), &edges).expect("sums of valid weights are valid");
    (graph, masses)
}

/// The graph without the edges between clusters.
pub(super) fn inside(graph: &Graph, labels: &Labels) -> Graph {
    let of = labels.as_slice();
    let kept = graph.map_edges(|i, j, w| (of[i] == of[j]).then_some((i as u32, j as u32, w)));
    let kept: Vec<(u32, u32, f64)> = kept.into_iter().flatten().collect();
    Graph::from_edges(graph.n_vertices(), &kept).expect("edges of a valid graph are valid")
}

/// The smallest pairs that move something inside a cluster.
pub(super) fn fast_pairs(inside: &Graph, pi: &[f64], params: &EigenParams) -> Result<Eigenpairs> {
    Spectrum::analyze(inside).smallest_positive(inside, pi, params)
}

/// The edges of a maximum spanning forest, heaviest first (Kruskal).
fn spanning_weights(graph: &Graph) -> Vec<(u32, u32, f64)> {
    let mut edges = graph.map_edges(|i, j, w| (i as u32, j as u32, w));
    edges.sort_by(|a, b| b.2.total_cmp(&a.2));
    let mut sets = DisjointSets::new(graph.n_vertices());
    edges.retain(|&(i, j, _)| sets.join(i, j));
    edges
}

/// Union-find with path halving.
struct DisjointSets {
    parent: Vec<u32>,
}

impl DisjointSets {
    fn new(n: usize) -> Self {
        Self { parent: (0..n as u32).collect() }
    }

    fn root(&mut self, mut v: u32) -> u32 {
        while self.parent[v as usize] != v {
            let above = self.parent[self.parent[v as usize] as usize];
            self.parent[v as usize] = above;
            v = above;
        }
        v
    }

    /// Whether the two were apart.
    fn join(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        let (low, high) = (a.min(b), a.max(b));
        self.parent[high as usize] = low;
        low != high
    }
}
