//! Graphs that all but fall apart.
//!
//! Two regions tied by weights of 10⁻⁴⁰ have an eigenvalue of that size, far below the square of the rounding of
//! any vector that stores it: no iteration can find it, but there is no need to. To an error of λ_slow/λ_fast the slow
//! eigenvectors are constant inside clusters, so they are those of the small graph that has the clusters for
//! vertices; and the others are those of the clusters by themselves. Clusters are
//! what a maximum spanning tree falls into without its weak edges; the ratio λ_slow/λ_fast then says whether the
//! separation was a good one.

use crate::{error::Result, graph::Graph, labels::Labels, sets::DisjointSets};

use super::spectrum::{EigenParams, Eigenpairs, Spectrum};

/// Only ties this far below the heaviest edge may separate clusters: above, vectors resolve them.
const WEAK: f64 = 1e-7;

/// The graph of the clusters is solved densely, so there must not be more of them.
const MOST: usize = 256;

/// Ties below this share of the heaviest edge are beyond what vectors in double precision resolve.
pub(super) const UNRESOLVED: f64 = 1e-20;

/// Two separations worth trying: into as many clusters as can be solved densely, all tied by weak edges only; and
/// into the pieces that are left when only unresolvable ties are cut.
pub(super) fn candidates(graph: &Graph) -> Vec<Labels> {
    let tree = spanning_weights(graph);
    let Some(&(_, _, heaviest)) = tree.first() else { return Vec::new() };
    let below = |share: f64| tree.partition_point(|edge| edge.2 >= share * heaviest);
    let finest = below(WEAK).max((tree.len() + 1).saturating_sub(MOST));
    let mut cuts = vec![finest, below(UNRESOLVED)];
    cuts.dedup();
    cuts.retain(|&k| k < tree.len());
    let clusters_below = |k: usize| {
        let mut sets = DisjointSets::new(graph.n_vertices());
        for &(i, j, _) in &tree[..k] {
            sets.join(i, j);
        }
        sets.labels()
    };
    cuts.into_iter().map(clusters_below).collect()
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
    Spectrum::analyze(inside).whole_pieces_only().smallest_positive(inside, pi, params)
}

/// The edges of a maximum spanning forest, heaviest first (Kruskal).
fn spanning_weights(graph: &Graph) -> Vec<(u32, u32, f64)> {
    let mut edges = graph.map_edges(|i, j, w| (i as u32, j as u32, w));
    edges.sort_by(|a, b| b.2.total_cmp(&a.2));
    let mut sets = DisjointSets::new(graph.n_vertices());
    edges.retain(|&(i, j, _)| sets.join(i, j));
    edges
}
