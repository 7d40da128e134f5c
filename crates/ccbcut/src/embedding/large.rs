//! Eigenproblems too large to be factored: pixels at full resolution.
//!
//! The graph of the aggregates is solved first, by the chain that smaller graphs go through; its eigenvectors, constant
//! on every aggregate, start a block eigensolver on the whole graph, whose residuals go through a multilevel cycle.

use crate::{
    graph::Graph,
    linalg::{multilevel::Multilevel, orthonormalize::project_out, subspace},
};

use super::{
    limits::{self, DENSE, LARGE},
    spectrum::{EigenParams, Eigenpairs, Spectrum},
};

/// The largest accepted length of a mapped residual, ‖A⁺(Ax − λx)‖.
pub(super) const ACCEPTED: f64 = 1e-4;

/// Decades that γ may span: beyond, the cycle no longer steers.
pub(super) const DECADES: f64 = 4.0;

/// Steps before giving up.
const MAX_STEPS: usize = 60;

/// Columns that go through the cycle together: more would take memory and gain nothing.
const PANEL: usize = 8;

/// Whether a graph is too large to be factored.
pub(super) fn is_large(graph: &Graph) -> bool {
    graph.n_vertices() > LARGE && graph.n_edges() / DENSE >= graph.n_vertices()
}

/// The smallest nontrivial pairs of Π^-½ L Π^-½ on a connected graph; `None` when it has no useful levels.
///
/// Converged pairs have ‖Ax − λx‖ ≤ tol · max diag A and a mapped residual of at most [`ACCEPTED`]; the latter is
/// reported in any case.
pub(super) fn smallest(
    graph: &Graph,
    scale: &[f64],
    params: &EigenParams,
    start: &[f64],
) -> Option<Eigenpairs> {
    let n = graph.n_vertices();
    let levels = Multilevel::new(graph)?;
    let null = limits::null_vector(scale);
    let nested = if start.is_empty() { nested_start(&levels, scale, params) } else { Vec::new() };
    let start = if start.is_empty() { &nested } else { start };
    let largest = limits::diagonal(graph, scale).into_iter().fold(0.0, f64::max);
    let settings = subspace::Params {
        n_pairs: params.n_pairs,
        residual_tol: params.tol * largest,
        relative_tol: 0.0,
        band_slack: 1.0,
        mapped_tol: params.tol.max(ACCEPTED),
        max_steps: MAX_STEPS,
        max_basis: limits::max_basis(n, params.n_pairs),
        seed: params.seed,
    };
    let operator = graph.laplacian().scaled(scale);
    let outcome = levels.with_cycle(|cycle| {
        let inverse = |r: &[f64], t: &mut [f64]| {
            for (r, t) in r.chunks(PANEL * n).zip(t.chunks_mut(PANEL * n)) {
                let b: Vec<f64> =
                    r.chunks_exact(n).flat_map(|r| r.iter().zip(scale).map(|(r, s)| r / s)).collect();
                cycle(&b, t);
                for column in t.chunks_exact_mut(n) {
                    column.iter_mut().zip(scale).for_each(|(x, s)| *x /= s);
                    project_out(&null, column);
                }
            }
        };
        subspace::smallest(&operator, &inverse, &null, start, &settings)
    });
    let subspace::Outcome { values, vectors, residual, mapped, steps, .. } = outcome;
    // The cycle is not quite A⁺, so the plain residual is told as well where it is the larger of the two.
    let residual = mapped.max(residual / largest.max(f64::MIN_POSITIVE));
    Some(Eigenpairs { values, vectors, guards: Vec::new(), residual, steps })
}

/// Eigenvectors of the graph of the aggregates, spread over their members; empty where that fails.
fn nested_start(levels: &Multilevel<'_>, scale: &[f64], params: &EigenParams) -> Vec<f64> {
    let coarse = levels.coarsest();
    let pi: Vec<f64> = scale.iter().map(|s| 1.0 / (s * s)).collect();
    let masses = levels.sum_up(&pi);
    let n_pairs = (params.n_pairs + 2).min(coarse.n_vertices() - 1);
    let params = EigenParams { n_pairs, tol: 1e-3, seed: params.seed };
    let Ok(pairs) = Spectrum::analyze(coarse).smallest(coarse, &masses, &params, None) else {
        return Vec::new();
    };
    let mut start = Vec::with_capacity(scale.len() * n_pairs);
    for column in pairs.vectors.chunks_exact(coarse.n_vertices()) {
        let heights: Vec<f64> = column.iter().zip(&masses).map(|(x, m)| x / m.sqrt()).collect();
        start.extend(levels.spread(&heights).iter().zip(scale).map(|(y, s)| y / s));
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{graph::half_disc, linalg::norm, random::Random};

    /// Blobs with noise, radius 4: the weights span many decades.
    fn picture(height: usize, width: usize) -> Graph {
        let mut random = Random::new(3);
        let value: Vec<f64> = (0..height * width)
            .map(|p| {
                let (r, c) = ((p / width) as f64, (p % width) as f64);
                4.0 * (r / 11.0).sin() * (c / 17.0).cos() + 0.4 * random.normal()
            })
            .collect();
        let weight = |i: usize, j: usize| (-(value[i] - value[j]).powi(2)).exp() as f32;
        Graph::from_stencil(height, width, half_disc(4.0), weight).unwrap()
    }

    #[test]
    fn only_large_and_dense_graphs_come_here() {
        let stencil = |radius| Graph::from_stencil(120, 140, half_disc(radius), |_, _| 1.0).unwrap();
        assert!(is_large(&stencil(6.0)) && !is_large(&stencil(2.0)));
        assert!(!is_large(&picture(37, 61)) && !is_large(&crate::graph::gallery::path(50_000)));
    }

    #[test]
    fn the_multilevel_solution_is_the_direct_one() {
        let graph = picture(37, 61);
        let n = graph.n_vertices();
        let scale: Vec<f64> = graph.degrees().iter().map(|d| 1.0 / d.sqrt()).collect();
        for n_pairs in [1, 6] {
            let params = EigenParams::new(n_pairs);
            let direct = Spectrum::analyze(&graph).smallest(&graph, graph.degrees(), &params, None).unwrap();
            let found = smallest(&graph, &scale, &params, &[]).unwrap();
            assert!(found.residual <= ACCEPTED, "{}", found.residual);
            for (a, b) in found.values.iter().zip(&direct.values) {
                assert!((a - b).abs() <= 1e-8 + 1e-4 * b, "{a} {b}");
            }
            // The spans agree: each found vector lies in that of the direct ones.
            for x in found.vectors.chunks_exact(n) {
                let mut rest = x.to_vec();
                project_out(&direct.vectors, &mut rest);
                assert!(norm(&rest) < 2e-2, "{}", norm(&rest));
            }
        }
    }
}
