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
    norm,
    space::{Space, block_for, combination, gram},
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

/// Steps that say how fast the residual falls.
const PACE_STEPS: usize = 3;

/// What may be set.
#[derive(Debug, Clone, Copy)]
pub struct Params {
    /// How many eigenpairs are wanted.
    pub n_pairs: usize,
    /// Largest accepted ‖A⁺(Ax − λx)‖.
    pub tol: f64,
    /// Steps before giving up.
    pub max_steps: usize,
    /// What a better inverse costs, in mapped columns: where more than that seems to be left to do, the solver stops.
    pub patience: f64,
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
    /// Columns that were mapped in these.
    pub mapped: usize,
    /// Whether it stopped because a better inverse seemed cheaper.
    pub is_slow: bool,
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
    let start = if start.is_empty() && wanted >= KRYLOV_FROM && 8 * wanted < n {
        krylov_guess(inverse, null, n, (wanted, block), params.seed)
    } else {
        start[..start.len().min(block * n)].to_vec()
    };
    space.fill_start(a, inverse, start, block, params.seed);
    let mut fresh = false;
    let mut steps: usize = 0;
    let (mut before, mut lowest) = (f64::INFINITY, f64::INFINITY);
    let mut pace = Pace::default();
    loop {
        let ritz = space.ritz(block.min(space.len()));
        let mut residuals = ritz.residuals(n);
        let mut mapped = vec![0.0; residuals.len()];
        inverse(&residuals, &mut mapped);
        let lengths: Vec<f64> = mapped.chunks_exact(n).map(norm).collect();
        let residual = lengths.iter().take(wanted).copied().fold(0.0, f64::max);
        let converged = residual <= params.tol;
        // Products with A drift when the basis is recombined. Where that could be seen, the last word is had with
        // fresh ones.
        let is_sound = fresh || space.drift(ritz.values[0]) <= 0.01 * params.tol;
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
        pace.0.push(residual);
        if !converged && pace.steps_left(params.tol) * block as f64 > params.patience {
            return Outcome { is_slow: true, ..ritz.into_outcome(wanted, residual, steps) };
        }
        if converged || space.len() + block > capacity {
            if is_sound {
                space.shrink_to(&ritz);
            } else {
                space.restart(a, &ritz.vectors);
                fresh = true;
            }
            if converged {
                continue;
            }
        }
        steps += 1;
        residuals.clear();
        for (column, &length) in mapped.chunks_exact(n).zip(&lengths) {
            if length > 0.1 * params.tol {
                residuals.extend_from_slice(column);
            }
        }
        if space.extend(a, &residuals) == 0 {
            // Nothing new: the space is invariant (or rounding is all that is left). Judge it as it stands.
            if fresh && space.len() == ritz.values.len() {
                return ritz.into_outcome(wanted, residual, steps);
            }
            space.restart(a, &ritz.vectors);
            fresh = true;
            steps += 1;
        } else {
            fresh = false;
        }
    }
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

/// Ritz values, vectors and their images.
struct Ritz {
    values: Vec<f64>,
    vectors: Vec<f64>,
    images: Vec<f64>,
}

impl Space<'_> {
    fn ritz(&self, count: usize) -> Ritz {
        let m = self.len();
        let (mut values, mut rotation) = symmetric_eigen(&self.projected, m);
        values.truncate(count);
        rotation.truncate(count * m);
        Ritz {
            values,
            vectors: combination(&self.basis, &rotation, self.n),
            images: combination(&self.image, &rotation, self.n),
        }
    }

    /// How far A⁺ may carry the rounding of the images of recombined vectors.
    fn drift(&self, smallest: f64) -> f64 {
        let largest = self.image.chunks_exact(self.n).map(norm).fold(0.0, f64::max);
        let drift = f64::EPSILON * (self.len() as f64).sqrt() * largest / smallest;
        if drift.is_nan() { f64::INFINITY } else { drift }
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
        let mapped = (steps + 1) * self.values.len();
        self.values.truncate(wanted);
        let guards = self.vectors.split_off((wanted * n).min(self.vectors.len()));
        let (values, vectors) = (self.values, self.vectors);
        Outcome { values, vectors, guards, residual, steps, mapped, is_slow: false }
    }
}

/// The residuals of all steps.
#[derive(Default)]
struct Pace(Vec<f64>);

impl Pace {
    /// Steps until the residual is as small as asked for, if it goes on falling as in the last ones; none while too few are
    /// known.
    fn steps_left(&self, tol: f64) -> f64 {
        let Some(first) = self.0.len().checked_sub(PACE_STEPS + 1) else { return 0.0 };
        let (earlier, now) = (self.0[first], self.0[self.0.len() - 1]);
        if now <= tol {
            return 0.0;
        }
        let fall = (earlier / now).ln() / PACE_STEPS as f64;
        if fall > 0.0 { (now / tol).ln() / fall } else { f64::INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_foreseen_from_the_last_few() {
        let left = |residuals: &[f64]| Pace(residuals.to_vec()).steps_left(1e-6);
        assert_eq!(left(&[1.0, 0.5, 0.4]), 0.0, "too few to tell");
        assert!((left(&[1.0, 0.1, 0.01, 1e-3]) - 3.0).abs() < 1e-12);
        assert!((left(&[1e9, 1.0, 0.5, 0.2, 0.1]) - 15.0).abs() < 1e-12, "what was before does not count");
        assert_eq!(left(&[1.0, 0.5, 0.3, 1e-6]), 0.0);
        assert_eq!(left(&[0.1, 0.1, 0.1, 0.1]), f64::INFINITY);
        assert_eq!(left(&[0.1, 0.1, 0.1, 0.2]), f64::INFINITY);
    }
}
