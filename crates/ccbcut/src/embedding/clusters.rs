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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{graph::half_disc, linalg::dense};

    /// A grid whose seams are tied by next to nothing: four regions, one of them within another.
    fn seams(height: usize, width: usize) -> Graph {
        let region = |p: usize| match (p / width < height / 3, p % width < width / 2) {
            (true, true) => 0,
            (true, false) => 1,
            (false, _) if p % width == 3 => 2,
            (false, _) => 3,
        };
        let weight = move |i: usize, j: usize| match (region(i), region(j)) {
            (a, b) if a == b => 0.5 + ((i * 7 + j * 3) % 10) as f32 / 20.0,
            (0, 1) | (1, 0) => 3e-25,
            (2, 3) | (3, 2) => 2e-30,
            _ => 7e-22,
        };
        Graph::from_stencil(height, width, half_disc(1.5), weight).unwrap()
    }

    #[test]
    fn what_is_separated_first_is_what_the_accurate_solver_finds() {
        let graph = seams(12, 15);
        let pi: Vec<f64> = graph.degrees().to_vec();
        let scale: Vec<f64> = pi.iter().map(|p| 1.0 / p.sqrt()).collect();
        let (values, vectors) = dense::laplacian_eigen(&graph, &scale);
        assert!(candidates(&graph).iter().any(|labels| labels.n_segments() == 5));
        for n_pairs in [1, 3, 4, 6] {
            let params = EigenParams::new(n_pairs);
            let found = Spectrum::analyze(&graph).smallest(&graph, &pi, &params, None).unwrap();
            for (k, value) in found.values.iter().enumerate() {
                assert!((value - values[k]).abs() <= 1e-6 * values[k], "{value}, not {}", values[k]);
                let (x, y) = (&found.vectors[k * 180..][..180], &vectors[k * 180..][..180]);
                let overlap: f64 = x.iter().zip(y).map(|(a, b)| a * b).sum();
                assert!(overlap.abs() > 1.0 - 1e-6, "pair {k}: {overlap}");
            }
        }
    }
}
