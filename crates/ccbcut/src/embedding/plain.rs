//! Eigenproblems without an inverse: graphs without small separators, whose factors would be full.

use crate::{
    graph::Graph,
    linalg::{for_each_column, orthonormalize::project_out, subspace},
};

use super::{
    limits,
    spectrum::{EigenParams, Eigenpairs},
};

/// The largest accepted length of a mapped residual, ‖A⁺(Ax − λx)‖.
pub(super) const ACCEPTED: f64 = 1e-4;

/// The same where there is no better solver to turn to. Beyond its few informative pairs a graph without separators has a
/// dense band of them, in which one vector is as good as another and none converges.
pub(super) const ACCEPTED_LAST: f64 = 5e-2;

/// Within that band residuals may be larger by this factor: a mean of many vectors of one eigenvalue up to 1 % costs as much as
/// any of them.
const BAND_SLACK: f64 = 100.0;

/// Steps before giving up …
const MAX_STEPS: usize = 400;

/// … or fewer, such that this many numbers are combined at most.
const MAX_WORK: f64 = 1.5e11;

/// The smallest nontrivial pairs of Π^-½ L Π^-½ on a connected graph, residuals steered by the diagonal alone.
///
/// There is no A⁺ to map residuals with. But residuals are orthogonal to all vectors found, so that ‖A⁺r‖ is about ‖r‖/λ of
/// the pair or less once the pairs before it have converged; that is reported. It is only good where the graph is well
/// connected, which is where this is for.
pub(super) fn smallest(graph: &Graph, scale: &[f64], params: &EigenParams, start: &[f64]) -> Eigenpairs {
    let n = graph.n_vertices();
    let null = limits::null_vector(scale);
    let diagonal = limits::diagonal(graph, scale);
    let inverse = |r: &mut [f64]| {
        for_each_column(r, n, |_, r| {
            r.iter_mut().zip(&diagonal).for_each(|(r, d)| *r /= d);
            project_out(&null, r);
        });
    };
    let operator = graph.laplacian().scaled(scale);
    let (max_basis, _) = limits::max_basis(n, params.n_pairs);
    let work = (n * params.n_pairs * max_basis) as f64;
    let settings = subspace::Params {
        n_pairs: params.n_pairs,
        residual_tol: 0.0,
        relative_tol: params.tol.max(ACCEPTED),
        band_slack: BAND_SLACK,
        mapped_tol: f64::INFINITY,
        max_steps: MAX_STEPS.min((MAX_WORK / work) as usize),
        max_basis,
        // A product with the edges is most of a step.
        keeps_image: true,
        seed: params.seed,
    };
    let outcome = subspace::smallest(&operator, &inverse, &null, start.to_vec(), &settings);
    let subspace::Outcome { values, vectors, relative, steps, .. } = outcome;
    let residual = if values.len() < params.n_pairs { f64::INFINITY } else { relative };
    Eigenpairs { values, vectors, guards: Vec::new(), residual, steps }
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
            // Three parts have two informative pairs; behind these is the band.
            for (j, (a, b)) in found.values.iter().zip(&direct.values).enumerate() {
                let most = if j < 2 { 1e-6 } else { 1e-2 };
                assert!(*a >= (1.0 - 1e-9) * b && *a <= (1.0 + most) * b, "{j}: {a} {b}");
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
