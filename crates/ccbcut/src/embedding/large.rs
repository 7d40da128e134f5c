//! Eigenproblems too large to be factored: pixels at full resolution.
//!
//! The last graph of aggregates is solved first, by the chain that smaller graphs go through; its eigenvectors, constant
//! on every aggregate, start a block eigensolver on the graph above it, whose residuals go through a multilevel cycle, and so
//! on up to the pixels.

use crate::{
    graph::Graph,
    linalg::{
        for_each_column,
        multilevel::{Factored, Multilevel},
        orthonormalize::project_out,
        subspace,
    },
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

/// [`ACCEPTED`] on the levels between the first and the last, where vectors need only be good enough to start from …
const ROUGH: f64 = 1e-3;

/// … the residual itself, as a share of the largest diagonal entry …
const ROUGH_RESIDUAL: f64 = 1e-5;

/// … and steps spent on that.
const ROUGH_STEPS: usize = 10;

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
    let levels = Multilevel::new(graph)?;
    let factored = levels.factored();
    let solver = Solver { levels: &levels, factored: &factored, n_pairs: params.n_pairs, seed: params.seed };
    let start = if start.is_empty() { solver.nested_start(scale) } else { start.to_vec() };
    let largest = limits::diagonal(graph, scale).into_iter().fold(0.0, f64::max);
    let outcome = solver.solve(0, scale, start, params.tol * largest, params.tol.max(ACCEPTED), MAX_STEPS);
    let subspace::Outcome { values, vectors, guards, residual, mapped, steps, .. } = outcome;
    // The cycle is not quite A⁺, so the plain residual is told as well where it is the larger of the two. A space that never
    // grew as far as was asked holds no solution.
    let is_short = values.len() < params.n_pairs.min(scale.len() - 1);
    let residual =
        if is_short { f64::INFINITY } else { mapped.max(residual / largest.max(f64::MIN_POSITIVE)) };
    Some(Eigenpairs { values, vectors, guards, residual, steps })
}

/// Eigenproblems of all levels.
struct Solver<'a> {
    levels: &'a Multilevel<'a>,
    factored: &'a Factored<'a>,
    n_pairs: usize,
    seed: u64,
}

impl Solver<'_> {
    fn solve(
        &self,
        depth: usize,
        scale: &[f64],
        start: Vec<f64>,
        residual_tol: f64,
        mapped_tol: f64,
        max_steps: usize,
    ) -> subspace::Outcome {
        let n = scale.len();
        let null = limits::null_vector(scale);
        let panel = limits::cycle_panel(n);
        let inverse = |r: &mut [f64]| {
            r.chunks_mut(panel * n).for_each(|r| self.factored.apply(depth, scale, r));
            for_each_column(r, n, |_, column| project_out(&null, column));
        };
        let (max_basis, keeps_image) = limits::max_basis(n, self.n_pairs);
        let settings = subspace::Params {
            n_pairs: self.n_pairs,
            residual_tol,
            relative_tol: 0.0,
            band_slack: 1.0,
            mapped_tol,
            max_steps,
            max_basis,
            keeps_image,
            seed: self.seed,
        };
        let operator = self.levels.graph(depth).laplacian().scaled(scale);
        subspace::smallest(&operator, &inverse, &null, start, &settings)
    }

    /// Eigenvectors from level to level, beginning at the last; empty where that fails.
    fn nested_start(&self, scale: &[f64]) -> Vec<f64> {
        let mut masses: Vec<Vec<f64>> = vec![scale.iter().map(|s| 1.0 / (s * s)).collect()];
        let last = self.levels.sizes().len() - 1;
        for depth in 0..last {
            masses.push(self.levels.sum_up(depth, &masses[depth]));
        }
        let coarsest = self.levels.graph(last);
        let n_pairs = (self.n_pairs + 2).min(coarsest.n_vertices() - 1);
        let params = EigenParams { n_pairs, tol: ROUGH, seed: self.seed };
        let Ok(pairs) = Spectrum::analyze(coarsest).smallest(coarsest, &masses[last], &params, None) else {
            return Vec::new();
        };
        let mut vectors = pairs.vectors;
        for depth in (0..last).rev() {
            let (fine, coarse) = (&masses[depth], &masses[depth + 1]);
            let mut spread = Vec::with_capacity(vectors.len() / coarse.len() * fine.len());
            for column in vectors.chunks_exact(coarse.len()) {
                let heights: Vec<f64> = column.iter().zip(coarse).map(|(x, m)| x / m.sqrt()).collect();
                spread
                    .extend(self.levels.spread(depth, &heights).iter().zip(fine).map(|(y, m)| y * m.sqrt()));
            }
            vectors = spread;
            if depth > 0 {
                let scale: Vec<f64> = fine.iter().map(|m| 1.0 / m.sqrt()).collect();
                let largest =
                    limits::diagonal(self.levels.graph(depth), &scale).into_iter().fold(0.0, f64::max);
                let solved = self.solve(depth, &scale, vectors, ROUGH_RESIDUAL * largest, ROUGH, ROUGH_STEPS);
                vectors = solved.vectors;
                vectors.extend(solved.guards);
            }
        }
        vectors
    }
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
