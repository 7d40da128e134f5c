//! Eigenproblems without an inverse: graphs without small separators, whose factors would be full.

use crate::{
    graph::Graph,
    linalg::{orthonormalize::project_out, subspace},
};

use super::{
    limits,
    spectrum::{EigenParams, Eigenpairs},
};

/// The largest accepted length of a mapped residual, ‖A⁺(Ax − λx)‖.
pub(super) const ACCEPTED: f64 = 1e-4;

/// Steps of one pass.
const MAX_STEPS: usize = 400;

/// Passes, each as accurate as the eigenvalues of the one before ask for.
const MAX_PASSES: usize = 3;

/// The smallest nontrivial pairs of Π^-½ L Π^-½ on a connected graph, residuals steered by the diagonal alone.
///
/// There is no A⁺ to map residuals with, but ‖A⁺r‖ ≤ ‖r‖/λ₁ for whatever is orthogonal to the trivial vector; that bound is
/// reported. It is only good where the graph is well connected, which is where this is for.
pub(super) fn smallest(graph: &Graph, scale: &[f64], params: &EigenParams, start: &[f64]) -> Eigenpairs {
    let n = graph.n_vertices();
    let null = limits::null_vector(scale);
    let diagonal = limits::diagonal(graph, scale);
    let largest = diagonal.iter().copied().fold(0.0, f64::max);
    let inverse = |r: &[f64], t: &mut [f64]| {
        for (r, t) in r.chunks_exact(n).zip(t.chunks_exact_mut(n)) {
            t.iter_mut().zip(r).zip(&diagonal).for_each(|((t, r), d)| *t = r / d);
            project_out(&null, t);
        }
    };
    let operator = graph.laplacian().scaled(scale);
    let accepted = params.tol.max(ACCEPTED);
    // The first pass learns how small the eigenvalues are.
    let mut goal = 0.1 * accepted * largest;
    let mut found = Eigenpairs {
        values: Vec::new(),
        vectors: start.to_vec(),
        guards: Vec::new(),
        residual: f64::INFINITY,
        steps: 0,
    };
    for _ in 0..MAX_PASSES {
        let settings = subspace::Params {
            n_pairs: params.n_pairs,
            residual_tol: goal,
            mapped_tol: f64::INFINITY,
            max_steps: MAX_STEPS,
            max_basis: limits::max_basis(n, params.n_pairs),
            seed: params.seed,
        };
        let outcome = subspace::smallest(&operator, &inverse, &null, &found.vectors, &settings);
        let least = outcome.values.first().copied().unwrap_or(0.0).max(f64::MIN_POSITIVE);
        let residual = outcome.residual / least;
        let steps = found.steps + outcome.steps;
        found = Eigenpairs {
            values: outcome.values,
            vectors: outcome.vectors,
            guards: Vec::new(),
            residual,
            steps,
        };
        if residual <= accepted || !outcome.converged {
            break;
        }
        goal = 0.5 * accepted * least;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{embedding::spectrum::Spectrum, graph::gallery};

    #[test]
    fn a_random_graph_has_the_pairs_of_the_factored_solver() {
        let graph = gallery::planted(&[150, 120, 130], 0.15, 0.02, 7);
        let scale: Vec<f64> = graph.degrees().iter().map(|d| 1.0 / d.sqrt()).collect();
        for n_pairs in [1, 2, 4] {
            let params = EigenParams::new(n_pairs);
            let direct = Spectrum::analyze(&graph).smallest(&graph, graph.degrees(), &params, None).unwrap();
            let found = smallest(&graph, &scale, &params, &[]);
            assert!(found.residual <= ACCEPTED, "{}", found.residual);
            for (a, b) in found.values.iter().zip(&direct.values) {
                assert!((a - b).abs() <= 1e-6 * b, "{a} {b}");
            }
        }
    }

    #[test]
    fn a_long_path_is_told_to_be_out_of_reach() {
        let graph = gallery::path(5000);
        let scale: Vec<f64> = graph.degrees().iter().map(|d| 1.0 / d.sqrt()).collect();
        assert!(smallest(&graph, &scale, &EigenParams::new(1), &[]).residual > ACCEPTED);
    }
}
