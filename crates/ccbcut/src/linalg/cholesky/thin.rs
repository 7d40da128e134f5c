//! Products of a panel of the factor with a few columns.
//!
//! A solve is as fast as the factor can be read, so here it is read in the order in which it lies.

use pulp::{Simd, WithSimd};

use super::{
    scalar::{Meets, Scalar},
    sides::Panel,
};
use crate::simd::widest;

/// Columns of the panel that are read at the same time. They stand a quarter of the panel apart, so that each of them
/// is part of a long stretch of memory that is read from one end to the other.
const COLUMNS: usize = 4;

/// Rows of them that are converted at a time, where they have to be: these stay near.
const CONVERTED: usize = 256;

/// Right-hand sides that are worked on at the same time.
pub(super) const SIDES: usize = 4;

/// out ← out + P s.
pub(super) fn add_product<P: Scalar + Meets<T>, T: Scalar>(
    out: &mut [&mut [T]],
    panel: Panel<'_, P>,
    s: &[&[T]],
) {
    add::<P, T, false>(out, panel, s);
}

/// out ← out + Pᵀ y.
pub(super) fn add_transposed<P: Scalar + Meets<T>, T: Scalar>(
    out: &mut [&mut [T]],
    panel: Panel<'_, P>,
    y: &[&[T]],
) {
    add::<P, T, true>(out, panel, y);
}

/// Either, a few right-hand sides at a time.
fn add<P: Scalar + Meets<T>, T: Scalar, const UP: bool>(
    out: &mut [&mut [T]],
    panel: Panel<'_, P>,
    x: &[&[T]],
) {
    for (out, x) in out.chunks_mut(SIDES).zip(x.chunks(SIDES)) {
        match (out, x) {
            ([a], &[x]) => widest(Product::<_, _, 1, UP> { panel, x: [x], out: [a] }),
            ([a, b], &[x, y]) => widest(Product::<_, _, 2, UP> { panel, x: [x, y], out: [a, b] }),
            ([a, b, c], &[x, y, z]) => {
                widest(Product::<_, _, 3, UP> { panel, x: [x, y, z], out: [a, b, c] });
            }
            ([a, b, c, d], &[w, x, y, z]) => {
                widest(Product::<_, _, 4, UP> { panel, x: [w, x, y, z], out: [a, b, c, d] });
            }
            _ => unreachable!("as many results as right-hand sides"),
        }
    }
}

/// out ← out + P x, or Pᵀ x, for some right-hand sides.
struct Product<'a, 'b, P, T, const M: usize, const UP: bool> {
    panel: Panel<'a, P>,
    x: [&'a [T]; M],
    out: [&'b mut [T]; M],
}

impl<P: Scalar + Meets<T>, T: Scalar, const M: usize, const UP: bool> WithSimd
    for Product<'_, '_, P, T, M, UP>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let (width, step) = (self.panel.width(), self.panel.width() / COLUMNS);
        let mut room = [[T::default(); CONVERTED]; COLUMNS];
        for first in 0..step {
            self.add_columns::<S, COLUMNS>(simd, first, step, &mut room);
        }
        for first in step * COLUMNS..width {
            self.add_columns::<S, 1>(simd, first, 0, &mut room);
        }
    }
}

impl<P: Scalar + Meets<T>, T: Scalar, const M: usize, const UP: bool> Product<'_, '_, P, T, M, UP> {
    /// Adds what columns of the panel contribute that stand `step` apart.
    #[inline(always)]
    fn add_columns<S: Simd, const J: usize>(
        &mut self,
        simd: S,
        first: usize,
        step: usize,
        room: &mut [[T; CONVERTED]; COLUMNS],
    ) {
        let columns: [&[P]; J] = std::array::from_fn(|j| self.panel.column(first + j * step));
        let same: [Option<&[T]>; J] = columns.map(P::same);
        if same.iter().all(Option::is_some) {
            return self.add_rows(simd, 0, same.map(Option::unwrap_or_default), first, step);
        }
        for row in (0..self.panel.count).step_by(CONVERTED) {
            let count = CONVERTED.min(self.panel.count - row);
            for (out, column) in room.iter_mut().zip(columns) {
                out.iter_mut().zip(&column[row..][..count]).for_each(|(out, &v)| *out = Meets::<T>::meet(v));
            }
            let columns = std::array::from_fn(|j| &room[j][..count]);
            self.add_rows::<S, J>(simd, row, columns, first, step);
        }
    }

    /// The same of the rows from `row` on.
    #[inline(always)]
    fn add_rows<S: Simd, const J: usize>(
        &mut self,
        simd: S,
        row: usize,
        columns: [&[T]; J],
        first: usize,
        step: usize,
    ) {
        if UP {
            self.add_sums::<S, J>(simd, row, columns, first, step);
        } else {
            self.add_multiples::<S, J>(simd, row, columns, first, step);
        }
    }

    /// out ← out + Σⱼ pⱼ xⱼ.
    #[inline(always)]
    fn add_multiples<S: Simd, const J: usize>(
        &mut self,
        simd: S,
        row: usize,
        columns: [&[T]; J],
        first: usize,
        step: usize,
    ) {
        let factors: [[T; J]; M] =
            std::array::from_fn(|m| std::array::from_fn(|j| self.x[m][first + j * step]));
        let count = T::lanes(simd, columns[0]).0.len();
        let split: [_; J] = std::array::from_fn(|j| {
            let (lanes, tail) = T::lanes(simd, columns[j]);
            (&lanes[..count], tail)
        });
        let spread: [[T::Register<S>; J]; M] =
            std::array::from_fn(|m| std::array::from_fn(|j| T::spread(simd, factors[m][j])));
        let mut rest = self.out.iter_mut();
        let out: [_; M] = std::array::from_fn(|_| {
            let out = &mut rest.next().expect("as many as M")[row..][..columns[0].len()];
            let (lanes, tail) = T::lanes_mut(simd, out);
            (&mut lanes[..count], tail)
        });
        for i in 0..count {
            let values: [T::Register<S>; J] = std::array::from_fn(|j| split[j].0[i]);
            for m in 0..M {
                let mut sum = out[m].0[i];
                for j in 0..J {
                    sum = T::multiply_add(simd, values[j], spread[m][j], sum);
                }
                out[m].0[i] = sum;
            }
        }
        for m in 0..M {
            for (i, out) in out[m].1.iter_mut().enumerate() {
                for j in 0..J {
                    *out += split[j].1[i] * factors[m][j];
                }
            }
        }
    }

    /// outⱼ ← outⱼ + pⱼᵀ x.
    #[inline(always)]
    fn add_sums<S: Simd, const J: usize>(
        &mut self,
        simd: S,
        row: usize,
        columns: [&[T]; J],
        first: usize,
        step: usize,
    ) {
        let count = T::lanes(simd, columns[0]).0.len();
        let cut = |values| {
            let (lanes, tail): (&[T::Register<S>], &[T]) = T::lanes(simd, values);
            (&lanes[..count], tail)
        };
        let split: [_; J] = columns.map(cut);
        let x: [_; M] = std::array::from_fn(|m| cut(&self.x[m][row..][..columns[0].len()]));
        let mut sums = [[T::spread(simd, T::default()); J]; M];
        for i in 0..count {
            let values: [T::Register<S>; J] = std::array::from_fn(|j| split[j].0[i]);
            for m in 0..M {
                let x = x[m].0[i];
                for j in 0..J {
                    sums[m][j] = T::multiply_add(simd, values[j], x, sums[m][j]);
                }
            }
        }
        for m in 0..M {
            for j in 0..J {
                let tail = split[j].1.iter().zip(x[m].1).fold(T::default(), |sum, (&p, &x)| sum + p * x);
                self.out[m][first + j * step] += T::total(simd, sums[m][j]) + tail;
            }
        }
    }
}
