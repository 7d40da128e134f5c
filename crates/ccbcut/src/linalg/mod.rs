//! Tool: linear algebra on operators, never on assembled matrices.
//!
//! - [`LinearOperator`]: what every eigensolver takes.
//! - [`cholesky`]: the subtraction-free factorisation of a graph Laplacian, and solves with it.
//! - [`davidson`]: a block eigensolver that uses such solves.
//! - [`multilevel`]: an approximate inverse of a large Laplacian, and [`subspace`], a block eigensolver for it.
//! - [`conjugate`]: conjugate gradients, where no inverse is to be had.
//! - [`dense`]: small symmetric eigenproblems, with high relative accuracy where it is needed.

pub mod cholesky;
pub mod conjugate;
pub mod davidson;
pub mod dense;
pub mod multilevel;
pub mod orthonormalize;
mod space;
pub mod subspace;

pub use space::block_for;

use crate::simd;

/// A symmetric linear map, known only by what it does to vectors.
pub trait LinearOperator: Sync {
    /// Length of the vectors.
    fn dim(&self) -> usize;

    /// y = A x.
    fn apply(&self, x: &[f64], y: &mut [f64]);

    /// Y = A X for several vectors, stored one after the other.
    fn apply_block(&self, x: &[f64], y: &mut [f64]) {
        let n = self.dim();
        if n > 0 {
            x.chunks_exact(n).zip(y.chunks_exact_mut(n)).for_each(|(x, y)| self.apply(x, y));
        }
    }
}

/// Σ xᵢ yᵢ, the same bytes for every number of threads.
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    debug_assert_eq!(x.len(), y.len());
    crate::parallel::sum(x.len(), |r| dot_block(&x[r.clone()], &y[r]))
}

/// The Euclidean norm.
pub fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

/// y ← y + a x.
pub fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    simd::widest(
        #[inline(always)]
        || y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x),
    );
}

/// Columns from this length on are worked on at the same time.
const LONG: usize = 1 << 12;

/// Calls `f(j, column)` for each column of a block.
pub(crate) fn for_each_column(block: &mut [f64], n: usize, f: impl Fn(usize, &mut [f64]) + Sync + Send) {
    if n >= LONG {
        crate::parallel::for_each_chunk(block, n, f);
    } else {
        block.chunks_exact_mut(n.max(1)).enumerate().for_each(|(j, column)| f(j, column));
    }
}

/// Σ xᵢ.
pub fn sum(x: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let chunks = x.chunks_exact(8);
    let tail: f64 = chunks.remainder().iter().sum();
    for chunk in chunks {
        for l in 0..8 {
            sums[l] += chunk[l];
        }
    }
    ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7])) + tail
}

/// Eight running sums, so that the compiler may use vector registers.
fn dot_block(x: &[f64], y: &[f64]) -> f64 {
    simd::widest(
        #[inline(always)]
        || dot_lanes(x, y),
    )
}

/// The same for one block, to be inlined where vector instructions are already chosen.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the choice of vector instructions must reach the loop")]
pub(crate) fn dot_lanes(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (xs, ys) = (x.chunks_exact(8), y.chunks_exact(8));
    let tail: f64 = xs.remainder().iter().zip(ys.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in xs.zip(ys) {
        for l in 0..8 {
            sums[l] += a[l] * b[l];
        }
    }
    ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7])) + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_any_length_are_visited_once_with_their_number() {
        for n in [1, 7, LONG - 1, LONG, LONG + 5] {
            let mut block = vec![0.0; 5 * n];
            for_each_column(&mut block, n, |j, column| {
                column.iter_mut().enumerate().for_each(|(i, v)| *v += (j * n + i) as f64 + 1.0);
            });
            assert!(block.iter().enumerate().all(|(i, &v)| v == i as f64 + 1.0), "{n} rows");
        }
        for_each_column(&mut [], 0, |_, _| panic!("no columns"));
    }
}
