//! A block eigensolver for large operators with an inexact inverse.
//!
//! Generalised Davidson with everything in blocks: the basis grows by the mapped residuals of the pairs that have not
//! converged, is made orthonormal by matrix products, and is restarted with the current and the previous Ritz vectors
//! (GD+1 of Stathopoulos and Saad 1998, doi:10.1137/S1064827596308197), which keeps the speed of conjugate gradients
//! with little memory. Two lengths are watched: that of the residual itself, relative to a bound of the operator, and
//! that of the mapped residual, which says how far the vector would still move.

use super::{
    LinearOperator,
    dense::symmetric_eigen,
    norm,
    orthonormalize::project_out,
    space::{Space, add_combination, combination, gram},
};

/// Steps in which the residual must fall by a fifth: otherwise rounding is all that moves.
const STALL_STEPS: usize = 15;

/// What may be set.
#[derive(Debug, Clone, Copy)]
pub struct Params {
    /// How many eigenpairs are wanted.
    pub n_pairs: usize,
    /// Largest accepted ‖Ax − λx‖ …
    pub residual_tol: f64,
    /// … plus this times λ.
    pub relative_tol: f64,
    /// Residuals of pairs in a dense band that runs on beyond the last one known may be larger by this factor.
    pub band_slack: f64,
    /// Largest accepted length of the mapped residual.
    pub mapped_tol: f64,
    /// Steps before giving up.
    pub max_steps: usize,
    /// Most vectors of the basis; more make fewer steps, at the price of memory.
    pub max_basis: usize,
    /// Seed of the vectors that fill up the first basis.
    pub seed: u64,
}

/// What came out: converged or not, the best pairs found.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Eigenvalues, increasing.
    pub values: Vec<f64>,
    /// Eigenvectors, orthonormal, one after the other.
    pub vectors: Vec<f64>,
    /// The largest ‖Ax − λx‖.
    pub residual: f64,
    /// The largest ‖Ax − λx‖/λ, in a band divided by the slack.
    pub relative: f64,
    /// The largest length of a mapped residual.
    pub mapped: f64,
    /// Whether both are as small as asked for.
    pub converged: bool,
    /// Steps taken.
    pub steps: usize,
}

/// Smallest eigenpairs of `a` on the complement of the unit vector `null`.
///
/// `inverse(r, t)` writes an approximation of A⁺R into T; `start` may hold guesses.
///
/// # Complexity
/// A step costs one product with `a` and one call of `inverse` per pair that has not converged, and O(n b) per vector
/// for a basis of b vectors.
pub fn smallest(
    a: &impl LinearOperator,
    inverse: &dyn Fn(&[f64], &mut [f64]),
    null: &[f64],
    start: &[f64],
    params: &Params,
) -> Outcome {
    let n = a.dim();
    let wanted = params.n_pairs.min(n - 1);
    let block = (wanted + 2.max(wanted / 8)).min(n - 1);
    let capacity = params.max_basis.max(3 * block).min(n - 1);
    let mut space = Space::new(n, null);
    space.fill_start(a, inverse, start, block, params.seed);
    let mut previous: Vec<f64> = Vec::new();
    let (mut steps, mut lowest, mut before) = (0, f64::INFINITY, f64::INFINITY);
    loop {
        let m = space.len();
        let (mut values, mut rotation) = symmetric_eigen(&space.projected, m);
        let count = block.min(m);
        values.truncate(count);
        rotation.truncate(count * m);
        let mut residuals = space.residuals(&values, &rotation);
        let lengths: Vec<f64> = residuals.chunks_exact(n).map(norm).collect();
        let first_in_band = band(&values);
        let slack = |j: usize| if j < first_in_band { 1.0 } else { params.band_slack };
        let goal = |(j, value): (usize, &f64)| {
            slack(j) * (params.residual_tol + params.relative_tol * value.max(0.0))
        };
        let goals: Vec<f64> = values.iter().enumerate().map(goal).collect();
        // Pairs beyond the wanted ones only help; those far below the tolerance would add nothing but noise.
        let active: Vec<usize> = (0..count).filter(|&j| lengths[j] > 0.02 * goals[j]).collect();
        keep_columns(&mut residuals, n, &active);
        let mut mapped = space.block(residuals.len());
        inverse(&residuals, &mut mapped);
        space.give_back(residuals);
        let moves: Vec<f64> = mapped.chunks_exact(n).map(norm).collect();
        let largest =
            |ratios: &[f64]| lengths.iter().zip(ratios).take(wanted).map(|(l, g)| l / g).fold(0.0, f64::max);
        let residual = lengths.iter().take(wanted).copied().fold(0.0, f64::max);
        let scales: Vec<f64> = values.iter().enumerate().map(|(j, value)| slack(j) * value).collect();
        let (relative, excess) = (largest(&scales), largest(&goals));
        let farthest =
            active.iter().zip(&moves).filter(|(j, _)| **j < wanted).map(|(_, m)| *m).fold(0.0, f64::max);
        let converged = excess <= 1.0 && farthest <= params.mapped_tol;
        lowest = f64::min(lowest, excess.max(farthest / params.mapped_tol));
        let mut stalled = false;
        if steps % STALL_STEPS == 0 {
            stalled = lowest > 0.8 * before;
            before = lowest;
        }
        if converged || stalled || steps >= params.max_steps || !residual.is_finite() {
            values.truncate(wanted);
            let vectors = combination(&space.basis, &rotation[..wanted.min(count) * m], n);
            return Outcome { values, vectors, residual, relative, mapped: farthest, converged, steps };
        }
        if m + active.len() > capacity {
            previous = space.keep_ritz(&rotation, &previous, count);
        } else {
            previous.clone_from(&rotation);
        }
        let done = |j: usize, moved: f64| lengths[j] <= 0.5 * goals[j] && moved <= 0.5 * params.mapped_tol;
        let fresh: Vec<usize> = (0..active.len()).filter(|&a| !done(active[a], moves[a])).collect();
        keep_columns(&mut mapped, n, &fresh);
        steps += 1;
        if space.extend(a, mapped) == 0 {
            // Nothing new: rounding is all that is left.
            values.truncate(wanted);
            let (_, rotation) = symmetric_eigen(&space.projected, space.len());
            let vectors = combination(&space.basis, &rotation[..wanted.min(count) * space.len()], n);
            return Outcome { values, vectors, residual, relative, mapped: farthest, converged, steps };
        }
    }
}

/// The first of the pairs whose eigenvalues run on, each within a twentieth of the next, to the last one known: beyond the few
/// informative pairs of a graph without separators there is a dense band of others, in which one vector is as good as another
/// and none of them converges. Small groups of close eigenvalues with a gap behind them are none.
fn band(values: &[f64]) -> usize {
    let mut first = values.len().saturating_sub(1);
    while first > 0 && values[first] - values[first - 1] < 0.05 * values[first] {
        first -= 1;
    }
    first
}

/// Drops all columns of a block but some, which are named in increasing order.
fn keep_columns(block: &mut Vec<f64>, n: usize, kept: &[usize]) {
    for (to, &from) in kept.iter().enumerate().filter(|(to, from)| to < *from) {
        block.copy_within(from * n..(from + 1) * n, to * n);
    }
    block.truncate(kept.len() * n);
}

impl Space<'_> {
    /// R = A V S − V S Θ.
    fn residuals(&mut self, values: &[f64], rotation: &[f64]) -> Vec<f64> {
        let m = self.len();
        let mut residuals = self.block(self.n * values.len());
        add_combination(&self.image, rotation, &mut residuals, self.n, 1.0);
        let scaled: Vec<f64> =
            rotation.chunks_exact(m).zip(values).flat_map(|(s, v)| s.iter().map(move |s| s * v)).collect();
        add_combination(&self.basis, &scaled, &mut residuals, self.n, -1.0);
        residuals
    }

    /// Keeps the span of the Ritz vectors and of the previous ones; returns the coefficients of the former in it.
    fn keep_ritz(&mut self, rotation: &[f64], previous: &[f64], count: usize) -> Vec<f64> {
        let m = self.len();
        let mut kept = rotation.to_vec();
        let older = previous.len() / count.max(1);
        for old in previous.chunks_exact(older.max(1)) {
            let mut column = old.to_vec();
            column.resize(m, 0.0);
            for _ in 0..2 {
                project_out(&kept, &mut column);
            }
            let length = norm(&column);
            if length > 1e-6 {
                column.iter_mut().for_each(|v| *v /= length);
                project_out(&kept, &mut column);
                let length = norm(&column);
                column.iter_mut().for_each(|v| *v /= length);
                kept.extend(column);
            }
        }
        let k = kept.len() / m;
        let mut turned = self.block(0);
        for columns in [&mut self.basis, &mut self.image] {
            turned.clear();
            turned.resize(k * self.n, 0.0);
            add_combination(columns, &kept, &mut turned, self.n, 1.0);
            columns.clone_from(&turned);
        }
        self.give_back(turned);
        let half = combination(&self.projected, &kept, m);
        let mut projected = gram(&kept, &half, m);
        for i in 0..k {
            for j in 0..i {
                let mean = 0.5 * (projected[i * k + j] + projected[j * k + i]);
                (projected[i * k + j], projected[j * k + i]) = (mean, mean);
            }
        }
        self.projected = projected;
        (0..count).flat_map(|j| (0..k).map(move |i| f64::from(u8::from(i == j)))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        graph::gallery,
        linalg::{axpy, dense},
    };

    #[test]
    fn a_band_is_what_runs_on_to_the_end() {
        assert_eq!(band(&[]), 0);
        assert_eq!(band(&[0.5]), 0);
        assert_eq!(band(&[0.18, 0.181, 0.182, 0.55, 0.56, 0.57]), 3);
        assert_eq!(band(&[0.18, 0.181, 0.182]), 0, "nothing is known of what comes behind");
        assert_eq!(band(&[1.0, 2.0, 4.0, 5.0]), 3);
    }

    /// With nothing but Jacobi for an inverse, the pairs of a grid are those of the dense solver.
    #[test]
    fn pairs_agree_with_the_dense_solver() {
        let graph = gallery::grid(14, 19);
        let n = graph.n_vertices();
        let scale: Vec<f64> = graph.degrees().iter().map(|d| 1.0 / d.sqrt()).collect();
        let (values, _) = dense::laplacian_eigen(&graph, &scale);
        let mut null: Vec<f64> = scale.iter().map(|s| 1.0 / s).collect();
        let length = norm(&null);
        null.iter_mut().for_each(|v| *v /= length);
        let operator = graph.laplacian().scaled(&scale);
        let inverse = |r: &[f64], t: &mut [f64]| t.copy_from_slice(r);
        for (n_pairs, max_basis) in [(1, 0), (4, 0), (7, 60)] {
            let params = Params {
                n_pairs,
                residual_tol: 1e-9,
                relative_tol: 0.0,
                band_slack: 1.0,
                mapped_tol: 1.0,
                max_steps: 1000,
                max_basis,
                seed: 3,
            };
            let found = smallest(&operator, &inverse, &null, &[], &params);
            assert!(found.converged, "{} after {} steps", found.residual, found.steps);
            for (a, b) in found.values.iter().zip(&values) {
                assert!((a - b).abs() < 1e-10, "{a} {b}");
            }
            let mut image = vec![0.0; n];
            for (x, value) in found.vectors.chunks_exact(n).zip(&found.values) {
                operator.apply(x, &mut image);
                axpy(-value, x, &mut image);
                assert!(norm(&image) < 2e-9, "{}", norm(&image));
            }
            let unit = gram(&found.vectors, &found.vectors, n);
            for (i, g) in unit.iter().enumerate() {
                let expected = f64::from(u8::from(i % (n_pairs + 1) == 0));
                assert!((g - expected).abs() < 1e-12);
            }
        }
    }
}
