//! Graphs that all but fall apart.
//!
//! Two regions tied by weights of 10⁻⁴⁰ have an eigenvalue of that size, far below the square of the rounding of
//! any vector that stores it: no iteration can find it, but there is no need to. To an error of λ_slow/λ_fast the slow
//! eigenvectors are constant inside clusters, so they are those of the small graph that has the clusters for
//! vertices; and the others are those of the clusters by themselves. Clusters are
//! what a maximum spanning tree falls into without its weak edges, except that one which hangs on firmly for its own
//! π, as a vertex of small degree does, is joined to the neighbour that holds it; the ratio λ_slow/λ_fast then says
//! whether the separation was a good one.

use std::collections::BTreeMap;

use crate::{error::Result, graph::Graph, labels::Labels, sets::DisjointSets};

use super::spectrum::{EigenParams, Eigenpairs, Spectrum};

/// Only ties this far below the heaviest edge may separate clusters: above, vectors resolve them.
const WEAK: f64 = 1e-7;

/// A cluster whose ties to others are more than this share of its π, in units of what half of the vertices have, does
/// not move by itself; first as many as may be, then those beyond doubt.
const LOOSE: [f64; 2] = [1e-7, 1e-12];

/// The graph of the clusters is solved densely, so there must not be more of them.
const MOST: usize = 256;

/// How many of the largest jumps between the weights of weak ties are tried.
const JUMPS: usize = 2;

/// Ties below this share of the heaviest edge are beyond what vectors in double precision resolve.
pub(super) const UNRESOLVED: f64 = 1e-20;

/// Separations worth trying: into as many clusters as can be solved densely, all tied by weak edges only; into the
/// pieces that are left when only unresolvable ties are cut; and where the weights of the ties jump most.
pub(super) fn candidates(graph: &Graph, pi: &[f64]) -> Vec<Labels> {
    let tree = spanning_weights(graph);
    let Some(&(_, _, heaviest)) = tree.first() else { return Vec::new() };
    let below = |share: f64| tree.partition_point(|edge| edge.2 >= share * heaviest);
    let finest = below(WEAK).max((tree.len() + 1).saturating_sub(MOST));
    let jump = |k: usize| tree[k - 1].2 / tree[k].2;
    let mut jumps: Vec<usize> = (finest.max(1)..tree.len()).collect();
    jumps.sort_by(|&a, &b| jump(b).total_cmp(&jump(a)).then(a.cmp(&b)));
    jumps.truncate(JUMPS);
    let mut cuts = vec![finest, below(UNRESOLVED).max(finest)];
    cuts.extend(jumps);
    let mut sets = DisjointSets::new(graph.n_vertices());
    for &(i, j, _) in &tree[..finest] {
        sets.join(i, j);
    }
    // All others are made of the finest, so that the edges are looked at once.
    let base = sets.labels();
    let (between, masses) = ties(graph, &base, pi);
    let ends = |&(i, j, _): &(u32, u32, f64)| (base.as_slice()[i as usize], base.as_slice()[j as usize]);
    let unit = median_stiffness(graph, pi);
    let mut found: Vec<Labels> = Vec::new();
    for (loose, &k) in LOOSE.into_iter().flat_map(|loose| cuts.iter().map(move |k| (loose, k))) {
        let mut sets = DisjointSets::new(masses.len());
        for (a, b) in tree[finest..k].iter().map(ends) {
            sets.join(a, b);
        }
        let joined = join_held(&between, &masses, loose * unit, sets);
        let of: Vec<u32> = base.as_slice().iter().map(|&c| joined.as_slice()[c as usize]).collect();
        let labels = Labels::from_raw(&of);
        if (2..=MOST).contains(&labels.n_segments()) && !found.contains(&labels) {
            found.push(labels);
        }
    }
    found
}

/// Joins every cluster that does not move by itself to the one it is tied to most, until all that are left do.
fn join_held(
    between: &BTreeMap<(u32, u32), f64>,
    masses: &[f64],
    loose: f64,
    mut sets: DisjointSets,
) -> Labels {
    loop {
        let labels = sets.labels();
        let of = labels.as_slice();
        let n = labels.n_segments();
        let mut sums = BTreeMap::new();
        for (&(a, b), &w) in between {
            let (a, b) = (of[a as usize], of[b as usize]);
            if a != b {
                *sums.entry((a.min(b), a.max(b))).or_insert(0.0) += w;
            }
        }
        let (mut cuts, mut strongest, mut mass) = (vec![0.0; n], vec![(0.0, 0); n], vec![0.0; n]);
        for (&(a, b), &w) in &sums {
            for (a, b) in [(a, b), (b, a)] {
                cuts[a as usize] += w;
                if w > strongest[a as usize].0 {
                    strongest[a as usize] = (w, b);
                }
            }
        }
        let mut member = vec![0; n];
        for ((&c, m), v) in of.iter().zip(masses).zip(0..) {
            mass[c as usize] += m;
            member[c as usize] = v;
        }
        let held = (0..n).filter(|&c| cuts[c] > loose * mass[c]);
        let joined = held
            .fold(0, |joined, c| joined + usize::from(sets.join(member[c], member[strongest[c].1 as usize])));
        if joined == 0 {
            return labels;
        }
    }
}

/// What half of the vertices have of ties, in units of their π.
fn median_stiffness(graph: &Graph, pi: &[f64]) -> f64 {
    let mut stiffness: Vec<f64> =
        (0..pi.len()).map(|i| (graph.degrees()[i] - graph.self_loop(i)) / pi[i]).collect();
    let middle = pi.len() / 2;
    *stiffness.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// What ties each pair of clusters, and the π of each.
fn ties(graph: &Graph, labels: &Labels, pi: &[f64]) -> (BTreeMap<(u32, u32), f64>, Vec<f64>) {
    let of = labels.as_slice();
    let mut between = BTreeMap::new();
    graph.for_each_edge(|i, j, w| {
        if of[i] != of[j] {
            *between.entry((of[i].min(of[j]), of[i].max(of[j]))).or_insert(0.0) += w;
        }
    });
    let mut masses = vec![0.0; labels.n_segments()];
    for (&c, p) in of.iter().zip(pi) {
        masses[c as usize] += p;
    }
    (between, masses)
}

/// The graph of the clusters: weights between them add up, and so do their π.
pub(super) fn quotient(graph: &Graph, labels: &Labels, pi: &[f64]) -> (Graph, Vec<f64>) {
    let (between, masses) = ties(graph, labels, pi);
    let edges: Vec<(u32, u32, f64)> = between.into_iter().map(|((i, j), w)| (i, j, w)).collect();
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
        assert!(candidates(&graph, &pi).iter().any(|labels| labels.n_segments() == 5));
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

    #[test]
    fn a_vertex_of_small_degree_is_no_cluster() {
        // Three vertices that hang on by weights of 10⁻⁹ and less, of which their degrees are made.
        let (height, width) = (9, 14);
        let weak = |p: usize| p == 3 || p == 60 || p == 100;
        let graph = Graph::from_stencil(height, width, half_disc(1.5), |i, j| match (weak(i), weak(j)) {
            (false, false) if (i % width < 6) != (j % width < 6) => 1e-26,
            (false, false) => 0.5 + ((i * 7 + j * 3) % 10) as f32 / 20.0,
            _ => 1e-9 * (1 + i % 5) as f32 * if i == 60 || j == 60 { 1e-13 } else { 1.0 },
        })
        .unwrap();
        let n = height * width;
        let pi = graph.degrees().to_vec();
        assert_eq!(candidates(&graph, &pi).iter().map(Labels::n_segments).max(), Some(2));
        let scale: Vec<f64> = pi.iter().map(|p| 1.0 / p.sqrt()).collect();
        let (values, vectors) = dense::laplacian_eigen(&graph, &scale);
        let found = Spectrum::analyze(&graph).smallest(&graph, &pi, &EigenParams::new(12), None).unwrap();
        for (k, value) in found.values.iter().enumerate() {
            assert!((value - values[k]).abs() <= 1e-6 * values[k], "{value}, not {}", values[k]);
            let (x, y) = (&found.vectors[k * n..][..n], &vectors[k * n..][..n]);
            let overlap: f64 = x.iter().zip(y).map(|(a, b)| a * b).sum();
            assert!(overlap.abs() > 1.0 - 1e-6, "pair {k}: {overlap}");
        }
    }
}
