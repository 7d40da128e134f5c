//! A block eigensolver for large operators with an inexact inverse.
//!
//! Generalised Davidson with everything in blocks: the basis grows by the mapped residuals of the pairs that have not
//! converged, is made orthonormal by matrix products, and is restarted with the current and the previous Ritz vectors
//! (GD+1 of Stathopoulos and Saad 1998, doi:10.1137/S1064827596308197), which keeps the speed of conjugate gradients
//! with little memory. Two lengths are watched: that of the residual itself, relative to a bound of the operator, and
//! that of the mapped residual, which says how far the vector would still move.

use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};

use crate::{parallel, random::Random};

use super::{LinearOperator, axpy, dense::symmetric_eigen, norm, orthonormalize::project_out};

/// Rows that one task of a product of tall matrices takes.
const ROWS: usize = 4096;

/// Steps in which the residual must fall by a fifth: otherwise rounding is all that moves.
const STALL_STEPS: usize = 15;

/// What may be set.
#[derive(Debug, Clone, Copy)]
pub struct Params {
    /// How many eigenpairs are wanted.
    pub n_pairs: usize,
    /// Largest accepted ‖Ax − λx‖.
    pub residual_tol: f64,
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
    let mut space = Space { n, null, basis: Vec::new(), image: Vec::new(), projected: Vec::new() };
    space.fill(a, inverse, start, block, params.seed);
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
        let mut mapped = vec![0.0; residuals.len()];
        // Pairs beyond the wanted ones only help; those far below the tolerance would add nothing but noise.
        let active: Vec<usize> = (0..count).filter(|&j| lengths[j] > 0.02 * params.residual_tol).collect();
        let mut packed = Vec::with_capacity(active.len() * n);
        active.iter().for_each(|&j| packed.extend_from_slice(&residuals[j * n..(j + 1) * n]));
        mapped.truncate(packed.len());
        inverse(&packed, &mut mapped);
        drop(std::mem::take(&mut residuals));
        let moves: Vec<f64> = mapped.chunks_exact(n).map(norm).collect();
        let residual = lengths.iter().take(wanted).copied().fold(0.0, f64::max);
        let farthest =
            active.iter().zip(&moves).filter(|(j, _)| **j < wanted).map(|(_, m)| *m).fold(0.0, f64::max);
        let converged = residual <= params.residual_tol && farthest <= params.mapped_tol;
        lowest = f64::min(lowest, (residual / params.residual_tol).max(farthest / params.mapped_tol));
        let mut stalled = false;
        if steps % STALL_STEPS == 0 {
            stalled = lowest > 0.8 * before;
            before = lowest;
        }
        if converged || stalled || steps >= params.max_steps || !residual.is_finite() {
            values.truncate(wanted);
            let vectors = product(&space.basis, &rotation[..wanted.min(count) * m], n);
            return Outcome { values, vectors, residual, mapped: farthest, converged, steps };
        }
        if m + active.len() > capacity {
            previous = space.restart(&rotation, &previous, count);
        } else {
            previous.clone_from(&rotation);
        }
        let done = |j: usize, moved: f64| {
            lengths[j] <= 0.5 * params.residual_tol && moved <= 0.5 * params.mapped_tol
        };
        let mut fresh = Vec::with_capacity(mapped.len());
        for ((column, &moved), &j) in mapped.chunks_exact(n).zip(&moves).zip(&active) {
            if !done(j, moved) {
                fresh.extend_from_slice(column);
            }
        }
        drop(mapped);
        steps += 1;
        if space.extend(a, fresh) == 0 {
            // Nothing new: rounding is all that is left.
            values.truncate(wanted);
            let (_, rotation) = symmetric_eigen(&space.projected, space.len());
            let vectors = product(&space.basis, &rotation[..wanted.min(count) * space.len()], n);
            return Outcome { values, vectors, residual, mapped: farthest, converged, steps };
        }
    }
}

/// The basis V, its image A V, and Vᵀ A V.
struct Space<'a> {
    n: usize,
    null: &'a [f64],
    basis: Vec<f64>,
    image: Vec<f64>,
    projected: Vec<f64>,
}

impl Space<'_> {
    fn len(&self) -> usize {
        self.basis.len() / self.n
    }

    /// The start, filled up with smoothed noise.
    fn fill(
        &mut self,
        a: &impl LinearOperator,
        inverse: &dyn Fn(&[f64], &mut [f64]),
        start: &[f64],
        block: usize,
        seed: u64,
    ) {
        let n = self.n;
        self.extend(a, start[..start.len().min(block * n)].to_vec());
        let mut random = Random::new(seed);
        for _ in 0..4 {
            let missing = block.saturating_sub(self.len());
            if missing == 0 {
                return;
            }
            let mut noise: Vec<f64> = (0..missing * n).map(|_| random.normal()).collect();
            noise.chunks_exact_mut(n).for_each(|column| project_out(self.null, column));
            let mut smooth = vec![0.0; noise.len()];
            inverse(&noise, &mut smooth);
            self.extend(a, smooth);
        }
    }

    /// Orthonormalises and appends columns; returns how many were really new.
    fn extend(&mut self, a: &impl LinearOperator, columns: Vec<f64>) -> usize {
        let n = self.n;
        let Some(columns) = self.orthonormal(columns) else { return 0 };
        let before = self.len();
        self.basis.extend_from_slice(&columns);
        drop(columns);
        self.image.resize(self.basis.len(), 0.0);
        a.apply_block(&self.basis[before * n..], &mut self.image[before * n..]);
        let m = self.len();
        let new = gram(&self.basis, &self.image[before * n..], n);
        let mut projected = vec![0.0; m * m];
        for j in 0..before {
            projected[j * m..j * m + before].copy_from_slice(&self.projected[j * before..(j + 1) * before]);
        }
        for j in before..m {
            for i in 0..m {
                let value = if i < before {
                    new[(j - before) * m + i]
                } else {
                    0.5 * (new[(j - before) * m + i] + new[(i - before) * m + j])
                };
                projected[j * m + i] = value;
                projected[i * m + j] = value;
            }
        }
        self.projected = projected;
        m - before
    }

    /// Columns made orthonormal and orthogonal to the basis and the null vector: twice, by matrix products.
    fn orthonormal(&self, mut columns: Vec<f64>) -> Option<Vec<f64>> {
        let n = self.n;
        for column in columns.chunks_exact_mut(n) {
            let length = norm(column);
            let factor = if length > 0.0 && length.is_finite() { 1.0 / length } else { 0.0 };
            column.iter_mut().for_each(|v| *v *= factor);
        }
        for pass in 0..3 {
            columns.chunks_exact_mut(n).for_each(|column| project_out(self.null, column));
            if !self.basis.is_empty() {
                let coefficients = gram(&self.basis, &columns, n);
                add_product(&self.basis, &coefficients, &mut columns, n, -1.0);
            }
            // G = TᵀT = U Λ Uᵀ; T U Λ^-½ is orthonormal up to rounding over the smallest λ kept.
            let k = columns.len() / n;
            let (values, rotation) = symmetric_eigen(&gram(&columns, &columns, n), k);
            let largest = values.last().copied().unwrap_or(0.0);
            let least = if pass == 0 { 1e-12_f64.max(1e-13 * largest) } else { 0.25 };
            let mut scaled = Vec::with_capacity(k * k);
            for (value, direction) in values.iter().zip(rotation.chunks_exact(k.max(1))) {
                if *value > least {
                    scaled.extend(direction.iter().map(|v| v / value.sqrt()));
                }
            }
            if scaled.is_empty() {
                return None;
            }
            columns = product(&columns, &scaled, n);
        }
        Some(columns)
    }

    /// R = A V S − V S Θ.
    fn residuals(&self, values: &[f64], rotation: &[f64]) -> Vec<f64> {
        let m = self.len();
        let mut residuals = product(&self.image, rotation, self.n);
        let scaled: Vec<f64> =
            rotation.chunks_exact(m).zip(values).flat_map(|(s, v)| s.iter().map(move |s| s * v)).collect();
        add_product(&self.basis, &scaled, &mut residuals, self.n, -1.0);
        residuals
    }

    /// Keeps the span of the Ritz vectors and of the previous ones; returns the coefficients of the former in it.
    fn restart(&mut self, rotation: &[f64], previous: &[f64], count: usize) -> Vec<f64> {
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
        self.basis = product(&self.basis, &kept, self.n);
        self.image = product(&self.image, &kept, self.n);
        let half = product(&self.projected, &kept, m);
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

/// Vᵀ W, summed over fixed blocks of rows.
fn gram(v: &[f64], w: &[f64], n: usize) -> Vec<f64> {
    let (p, q) = (v.len() / n, w.len() / n);
    let v = MatRef::from_column_major_slice(v, n, p);
    let w = MatRef::from_column_major_slice(w, n, q);
    let parts = parallel::map(n.div_ceil(ROWS), |b| {
        let (first, count) = (b * ROWS, ROWS.min(n - b * ROWS));
        let mut part = vec![0.0; p * q];
        let out = MatMut::from_column_major_slice_mut(&mut part, p, q);
        let (v, w) = (v.subrows(first, count), w.subrows(first, count));
        matmul(out, Accum::Replace, v.transpose(), w, 1.0, Par::Seq);
        part
    });
    let mut total = vec![0.0; p * q];
    parts.iter().for_each(|part| axpy(1.0, part, &mut total));
    total
}

/// V S.
fn product(v: &[f64], s: &[f64], n: usize) -> Vec<f64> {
    let m = v.len() / n;
    let mut out = vec![0.0; n * (s.len() / m.max(1))];
    add_product(v, s, &mut out, n, 1.0);
    out
}

/// W ← W + factor V S, a few columns per task.
fn add_product(v: &[f64], s: &[f64], out: &mut [f64], n: usize, factor: f64) {
    const COLUMNS: usize = 8;
    let m = v.len() / n;
    let v = MatRef::from_column_major_slice(v, n, m);
    parallel::for_each_chunk(out, COLUMNS * n, |b, columns| {
        let count = columns.len() / n;
        let s = MatRef::from_column_major_slice(&s[b * COLUMNS * m..(b * COLUMNS + count) * m], m, count);
        let out = MatMut::from_column_major_slice_mut(columns, n, count);
        matmul(out, Accum::Add, v, s, factor, Par::Seq);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{graph::gallery, linalg::dense};

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
            let params =
                Params { n_pairs, residual_tol: 1e-9, mapped_tol: 1.0, max_steps: 1000, max_basis, seed: 3 };
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
