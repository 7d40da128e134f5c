//! A block Davidson eigensolver for the smallest nontrivial eigenpairs.
//!
//! The basis grows by the residuals of all wanted pairs, mapped through an (approximate) inverse: with an exact one
//! this is block Krylov iteration on A⁺, with a factor in single precision it still converges in a handful of
//! steps. The length of the mapped residual, ‖A⁺(Ax − λx)‖ for ‖x‖ = 1, is also what convergence is judged by: it
//! says how far the vector would move, which a residual relative to ‖A‖ does not when weights span ten decades.

use crate::random::Random;

use super::{
    LinearOperator, axpy,
    dense::{symmetric_eigen, symmetric_eigen_absolute},
    dot, norm,
    space::{Space, add_combination, block_for, combination, gram},
};

/// Block Lanczos iteration finds the first basis when at least this many pairs are wanted.
const KRYLOV_FROM: usize = 6;

/// Columns of its blocks.
const KRYLOV_BLOCK: usize = 4;

/// It goes on until ‖A⁺x − θx‖ is below this share of θ, …
const GUESS: f64 = 1e-5;

/// … which is looked at each time that so many columns have come.
const LOOK_AGAIN: usize = 4;

/// Steps in which the residual must halve: otherwise rounding is all that moves.
const STALL_STEPS: usize = 16;

/// Residuals below this share of what is accepted are left alone.
const WORTHWHILE: f64 = 0.1;

/// Share of the energy that a step must leave less of, once vectors have converged: otherwise rounding is all of it.
const FALLING: f64 = 0.1;

/// What may be set.
#[derive(Debug, Clone, Copy)]
pub struct Params {
    /// How many eigenpairs are wanted.
    pub n_pairs: usize,
    /// Largest accepted ‖A⁺(Ax − λx)‖.
    pub tol: f64,
    /// Steps before giving up.
    pub max_steps: usize,
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
    /// Further vectors of the block, not converged: they speed up the next solve of a similar problem.
    pub guards: Vec<f64>,
    /// The largest ‖A⁺(Ax − λx)‖ over the wanted pairs.
    pub residual: f64,
    /// Steps taken.
    pub steps: usize,
}

/// Smallest eigenpairs of `a` on the complement of `null` (a unit vector, or empty).
///
/// `inverse(r, t)` writes A⁺r into t for blocks of vectors orthogonal to `null`; `start` may hold guesses.
///
/// # Complexity
/// A step costs one block of products with `a`, one block of solves, and O(n b²) for a basis of b vectors.
pub fn smallest(
    a: &impl LinearOperator,
    inverse: &(impl Fn(&[f64], &mut [f64]) + ?Sized),
    null: &[f64],
    start: &[f64],
    params: &Params,
) -> Outcome {
    let n = a.dim();
    let free = n - usize::from(!null.is_empty());
    let wanted = params.n_pairs.min(free);
    let block = block_for(wanted).min(free);
    let capacity = (4 * block + 8).min(free);
    let mut space = Space::new(n, null);
    let start = start[..start.len().min(block * n)].to_vec();
    space.fill_start(a, inverse, start, block, params.seed);
    // How far the image of each vector of the basis may be off.
    let mut drift = Vec::new();
    let mut fresh = false;
    let mut steps: usize = 0;
    let (mut before, mut lowest, mut last_energy) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
    loop {
        drift.resize(space.len(), 0.0);
        let ritz = space.ritz(block.min(space.len()), &drift);
        let mut residuals = ritz.residuals(n);
        let mut mapped = vec![0.0; residuals.len()];
        inverse(&residuals, &mut mapped);
        remove_others(&ritz.vectors[..wanted.min(ritz.values.len()) * n], &mut mapped, n);
        let lengths: Vec<f64> = mapped.chunks_exact(n).map(norm).collect();
        let residual = lengths.iter().take(wanted).copied().fold(0.0, f64::max);
        // A little of a fast motion has more energy than all of a slow one, however short it is.
        let energies = ritz.energies(&residuals, &mapped, wanted);
        let energy = energies.iter().copied().fold(0.0, f64::max);
        let converged = residual <= params.tol && (energy <= params.tol || energy > FALLING * last_energy);
        last_energy = if residual <= params.tol { energy } else { f64::INFINITY };
        // Where the drift of the images could be seen, the last word is had with fresh ones.
        let is_sound = fresh || ritz.drift(wanted) <= 0.1 * params.tol;
        lowest = lowest.min(residual);
        if steps.is_multiple_of(STALL_STEPS) {
            if lowest > 0.5 * before {
                return ritz.into_outcome(wanted, residual, steps);
            }
            before = lowest;
        }
        if (converged && is_sound) || steps >= params.max_steps || !residual.is_finite() {
            return ritz.into_outcome(wanted, residual, steps);
        }
        if converged || space.len() + block > capacity {
            if is_sound {
                space.shrink_to(&ritz);
                drift.clone_from(&ritz.drift);
            } else {
                space.restart(a, &ritz.vectors);
                drift.clear();
                fresh = true;
            }
            if converged {
                continue;
            }
        }
        steps += 1;
        residuals.clear();
        for (j, (column, &length)) in mapped.chunks_exact(n).zip(&lengths).enumerate() {
            let energy = energies.get(j).copied().unwrap_or(0.0);
            if length.max(energy) > WORTHWHILE * params.tol {
                residuals.extend_from_slice(column);
            }
        }
        if space.extend(a, &residuals) == 0 {
            // Nothing new: the space is invariant (or rounding is all that is left). Judge it as it stands.
            if fresh && space.len() == ritz.values.len() {
                return ritz.into_outcome(wanted, residual, steps);
            }
            space.restart(a, &ritz.vectors);
            drift.clear();
            fresh = true;
            steps += 1;
        } else {
            fresh = false;
        }
    }
}

/// A start where none is known and enough pairs are wanted for it to pay, otherwise nothing; `inverse` need not be accurate.
pub fn first_guess(
    inverse: &(impl Fn(&[f64], &mut [f64]) + ?Sized),
    null: &[f64],
    n: usize,
    params: &Params,
) -> Vec<f64> {
    let free = n - usize::from(!null.is_empty());
    let wanted = params.n_pairs.min(free);
    if wanted < KRYLOV_FROM || 8 * wanted >= n {
        return Vec::new();
    }
    krylov_guess(inverse, null, n, (wanted, block_for(wanted).min(free)), params.seed)
}

/// The vectors of the largest eigenvalues of the inverse, roughly, by block Lanczos iteration: `block` of them, as good as a
/// guess needs to be for `wanted` of them.
///
/// A narrow block reaches a higher power of the inverse for the same number of solves than a block as wide as what is
/// wanted, and no product with A is needed. What the inverse lacks in accuracy is made up for afterwards.
fn krylov_guess(
    inverse: &(impl Fn(&[f64], &mut [f64]) + ?Sized),
    null: &[f64],
    n: usize,
    (wanted, block): (usize, usize),
    seed: u64,
) -> Vec<f64> {
    let mut random = Random::new(seed);
    let mut space = Space::new(n, null);
    let (least, most) = (2 * block, 3 * block + 2 * KRYLOV_BLOCK);
    // No block is copied, and none comes as fresh memory twice.
    space.basis = Vec::with_capacity((most + 2 * KRYLOV_BLOCK) * n);
    space.basis.extend((0..KRYLOV_BLOCK * n).map(|_| random.normal()));
    let mut projected: Vec<Vec<f64>> = Vec::new();
    space.orthonormalize_behind(0);
    let (mut before, mut looked_at) = (0, least);
    loop {
        let count = space.len();
        space.basis.resize((2 * count - before) * n, 0.0);
        let (basis, image) = space.basis.split_at_mut(count * n);
        inverse(&basis[before * n..], image);
        let overlaps = gram(basis, image, n);
        projected.extend(overlaps.chunks_exact(count).map(<[f64]>::to_vec));
        let rest = space.remove_overlaps(&overlaps, count);
        if count >= looked_at {
            looked_at = count + LOOK_AGAIN;
            let (values, rotation) = largest(&projected);
            if guess_error(&values[..wanted.min(count)], &rotation, &rest) < GUESS || count >= most {
                return combination(&space.basis[..count * n], &rotation[..count * block.min(count)], n);
            }
        }
        if !space.continue_with(&overlaps, count, rest) {
            // Nothing is left to be found.
            let (_, rotation) = largest(&projected);
            return combination(&space.basis, &rotation[..count * block.min(count)], n);
        }
        before = count;
    }
}

/// Minus the eigenvalues, the largest first, and the eigenvectors of a symmetric matrix whose columns hold at least what is
/// above the diagonal.
fn largest(columns: &[Vec<f64>]) -> (Vec<f64>, Vec<f64>) {
    let m = columns.len();
    let mut matrix = vec![0.0; m * m];
    for (j, column) in columns.iter().enumerate() {
        for (i, &value) in column.iter().enumerate().take(j + 1) {
            matrix[j * m + i] = -value;
            matrix[i * m + j] = -value;
        }
    }
    symmetric_eigen_absolute(&matrix, m)
}

/// The largest ‖A⁺x − θx‖ / θ over some Ritz vectors of block Lanczos iteration: what the image of the last block adds to the
/// space, whose Gram matrix is `rest`, times the last coordinates.
fn guess_error(values: &[f64], rotation: &[f64], rest: &[f64]) -> f64 {
    let m = rest.len().isqrt();
    let size = rotation.len().isqrt();
    let squares = values.iter().zip(rotation.chunks_exact(size)).map(|(value, vector)| {
        let last = &vector[size - m..];
        let square = (0..m).map(|j| (0..m).map(|i| last[i] * rest[j * m + i] * last[j]).sum::<f64>());
        square.sum::<f64>() / (value * value)
    });
    squares.fold(0.0, f64::max).sqrt()
}

/// Removes from what residuals are mapped to the other vectors' shares.
///
/// A residual is orthogonal to the vectors found, and what it is mapped to all but is: ⟨x, A⁺r⟩ = ⟨A⁺x − x/θ, r⟩, which is
/// small of second order. But A⁺ raises rounding along the slowest of them by as much as λ is spread, and would hide what
/// still is to be found. The share of the residual's own vector stays: it is the error of the eigenvalue.
fn remove_others(vectors: &[f64], mapped: &mut [f64], n: usize) {
    let count = vectors.len() / n;
    if count < 2 {
        return;
    }
    let mut shares = gram(vectors, mapped, n);
    (0..count).for_each(|j| shares[j * count + j] = 0.0);
    add_combination(vectors, &shares, mapped, n, -1.0);
}

/// Ritz values, vectors and their images.
struct Ritz {
    values: Vec<f64>,
    vectors: Vec<f64>,
    images: Vec<f64>,
    /// How far each image may be off: products with A are recombined with the basis, rounding and all.
    drift: Vec<f64>,
}

impl Space<'_> {
    fn ritz(&self, count: usize, drift: &[f64]) -> Ritz {
        let m = self.len();
        let (mut values, mut rotation) = symmetric_eigen(&self.projected, m);
        values.truncate(count);
        rotation.truncate(count * m);
        let sizes: Vec<f64> = self.image.chunks_exact(self.n).map(norm).collect();
        let combined = |sizes: &[f64], by: &[f64]| -> f64 {
            by.iter().zip(sizes).map(|(c, size)| (c * size) * (c * size)).sum::<f64>().sqrt()
        };
        let rounding = f64::EPSILON * (m as f64).sqrt();
        let off = |by: &[f64]| combined(drift, by) + rounding * combined(&sizes, by);
        Ritz {
            vectors: combination(&self.basis, &rotation, self.n),
            images: combination(&self.image, &rotation, self.n),
            drift: rotation.chunks_exact(m).map(off).collect(),
            values,
        }
    }

    /// Keeps the best vectors found and their images.
    fn shrink_to(&mut self, ritz: &Ritz) {
        let m = ritz.values.len();
        self.basis.clone_from(&ritz.vectors);
        self.image.clone_from(&ritz.images);
        self.projected = vec![0.0; m * m];
        ritz.values.iter().enumerate().for_each(|(j, value)| self.projected[j * m + j] = *value);
    }

    /// Starts over from some vectors, their images computed anew.
    fn restart(&mut self, a: &impl LinearOperator, vectors: &[f64]) {
        self.basis.clear();
        self.image.clear();
        self.projected.clear();
        self.extend(a, vectors);
    }
}

impl Ritz {
    /// How far A⁺ may carry what the images are off, along the vectors themselves: from the others it is removed.
    fn drift(&self, wanted: usize) -> f64 {
        let shares = self.drift.iter().zip(&self.values).take(wanted).map(|(drift, value)| drift / value);
        shares.fold(0.0, |a, share| if share.is_nan() { f64::INFINITY } else { a.max(share) })
    }

    /// For each wanted pair how much energy, as a share of its own, the correction would take away that its residual is mapped
    /// to: by so much its eigenvalue is too large. Its own share is none of it.
    fn energies(&self, residuals: &[f64], mapped: &[f64], wanted: usize) -> Vec<f64> {
        let n = self.vectors.len() / self.values.len().max(1);
        let energy = |j: usize| {
            let [x, r, t] = [&self.vectors, residuals, mapped].map(|columns| &columns[j * n..][..n]);
            (dot(r, t) - dot(x, r) * dot(x, t)).max(0.0) / self.values[j]
        };
        (0..wanted.min(self.values.len())).map(energy).collect()
    }

    fn residuals(&self, n: usize) -> Vec<f64> {
        let mut residuals = self.images.clone();
        for ((r, x), value) in
            residuals.chunks_exact_mut(n).zip(self.vectors.chunks_exact(n)).zip(&self.values)
        {
            axpy(-value, x, r);
        }
        residuals
    }

    fn into_outcome(mut self, wanted: usize, residual: f64, steps: usize) -> Outcome {
        let n = self.vectors.len() / self.values.len().max(1);
        // A space that rounding kept from growing as far as was asked holds no solution.
        let residual = if self.values.len() < wanted { f64::INFINITY } else { residual };
        self.values.truncate(wanted);
        let guards = self.vectors.split_off((wanted * n).min(self.vectors.len()));
        let (values, vectors) = (self.values, self.vectors);
        Outcome { values, vectors, guards, residual, steps }
    }
}
