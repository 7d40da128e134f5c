//! Products of a panel of the factor with a few columns.
//!
//! A general matrix product copies the panel into an order of its own first, which pays when many columns use the copy.
//! With few, a solve is as fast as the factor can be read, so here it is read in the order in which it lies; up to the 32
//! columns of a solve that is no slower.

use faer::{ColMut, ColRef, MatMut, MatRef};
use pulp::{Simd, WithSimd};

use super::numeric::Scalar;

/// Columns of the panel that are read at the same time. They stand a quarter of the panel apart, so that each of them
/// is part of a long stretch of memory that is read from one end to the other.
const COLUMNS: usize = 4;

/// Right-hand sides that are worked on at the same time.
const SIDES: usize = 4;

/// Some rows of a matrix that is stored by columns.
#[derive(Clone, Copy)]
pub(super) struct Panel<'a, T> {
    pub(super) values: &'a [T],
    /// Rows of the whole matrix.
    pub(super) height: usize,
    pub(super) first: usize,
    pub(super) count: usize,
}

impl<'a, T> Panel<'a, T> {
    /// All rows of a square matrix.
    pub(super) fn square(values: &'a [T], size: usize) -> Self {
        Self { values, height: size, first: 0, count: size }
    }

    fn column(&self, j: usize) -> &'a [T] {
        &self.values[j * self.height + self.first..][..self.count]
    }

    fn width(&self) -> usize {
        self.values.len() / self.height.max(1)
    }
}

/// out ← out + P s.
pub(super) fn add_product<T: Scalar>(out: MatMut<'_, T>, panel: Panel<'_, T>, s: MatRef<'_, T>) {
    let (mut out, s) = (columns_mut(out), columns(s));
    for (out, s) in out.chunks_mut(SIDES).zip(s.chunks(SIDES)) {
        match (out, s) {
            ([a], [s]) => crate::simd::widest(Down { panel, s: [s], out: [a] }),
            ([a, b], [s, t]) => crate::simd::widest(Down { panel, s: [s, t], out: [a, b] }),
            ([a, b, c], [s, t, u]) => crate::simd::widest(Down { panel, s: [s, t, u], out: [a, b, c] }),
            ([a, b, c, d], [s, t, u, v]) => {
                crate::simd::widest(Down { panel, s: [s, t, u, v], out: [a, b, c, d] });
            }
            _ => unreachable!("as many results as right-hand sides"),
        }
    }
}

/// out ← out + Pᵀ y.
pub(super) fn add_transposed<T: Scalar>(out: MatMut<'_, T>, panel: Panel<'_, T>, y: MatRef<'_, T>) {
    let (mut out, y) = (columns_mut(out), columns(y));
    for (out, y) in out.chunks_mut(SIDES).zip(y.chunks(SIDES)) {
        match (out, y) {
            ([a], [y]) => crate::simd::widest(Up { panel, y: [y], out: [a] }),
            ([a, b], [y, z]) => crate::simd::widest(Up { panel, y: [y, z], out: [a, b] }),
            ([a, b, c], [x, y, z]) => crate::simd::widest(Up { panel, y: [x, y, z], out: [a, b, c] }),
            ([a, b, c, d], [w, x, y, z]) => {
                crate::simd::widest(Up { panel, y: [w, x, y, z], out: [a, b, c, d] });
            }
            _ => unreachable!("as many results as right-hand sides"),
        }
    }
}

/// The columns of a matrix, each of which lies in one piece.
fn columns<'a, T: Scalar>(matrix: MatRef<'a, T>) -> Vec<&'a [T]> {
    let column = |c: ColRef<'a, T>| c.try_as_col_major().expect("stored by columns").as_slice();
    matrix.col_iter().map(column).collect()
}

/// The same, to be written to.
fn columns_mut<'a, T: Scalar>(matrix: MatMut<'a, T>) -> Vec<&'a mut [T]> {
    let column = |c: ColMut<'a, T>| c.try_as_col_major_mut().expect("stored by columns").as_slice_mut();
    matrix.col_iter_mut().map(column).collect()
}

/// out ← out + P s for some right-hand sides.
struct Down<'a, 'b, T, const M: usize> {
    panel: Panel<'a, T>,
    s: [&'a [T]; M],
    out: [&'b mut [T]; M],
}

impl<T: Scalar, const M: usize> WithSimd for Down<'_, '_, T, M> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let (width, step) = (self.panel.width(), self.panel.width() / COLUMNS);
        for first in 0..step {
            self.add_columns::<S, COLUMNS>(simd, first, step);
        }
        for first in step * COLUMNS..width {
            self.add_columns::<S, 1>(simd, first, 0);
        }
    }
}

impl<T: Scalar, const M: usize> Down<'_, '_, T, M> {
    #[inline(always)]
    fn add_columns<S: Simd, const J: usize>(&mut self, simd: S, first: usize, step: usize) {
        let columns: [&[T]; J] = std::array::from_fn(|j| self.panel.column(first + j * step));
        let factors: [[T; J]; M] =
            std::array::from_fn(|m| std::array::from_fn(|j| self.s[m][first + j * step]));
        let count = T::lanes(simd, columns[0]).0.len();
        let split: [_; J] = std::array::from_fn(|j| {
            let (lanes, tail) = T::lanes(simd, columns[j]);
            (&lanes[..count], tail)
        });
        let spread: [[T::Lanes<S>; J]; M] =
            std::array::from_fn(|m| std::array::from_fn(|j| T::spread(simd, factors[m][j])));
        let mut rest = self.out.iter_mut();
        let out: [_; M] = std::array::from_fn(|_| {
            let (lanes, tail) = T::lanes_mut(simd, rest.next().expect("as many as M"));
            (&mut lanes[..count], tail)
        });
        for i in 0..count {
            let values: [T::Lanes<S>; J] = std::array::from_fn(|j| split[j].0[i]);
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
}

/// out ← out + Pᵀ y for some right-hand sides.
struct Up<'a, 'b, T, const M: usize> {
    panel: Panel<'a, T>,
    y: [&'a [T]; M],
    out: [&'b mut [T]; M],
}

impl<T: Scalar, const M: usize> WithSimd for Up<'_, '_, T, M> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let (width, step) = (self.panel.width(), self.panel.width() / COLUMNS);
        for first in 0..step {
            self.add_columns::<S, COLUMNS>(simd, first, step);
        }
        for first in step * COLUMNS..width {
            self.add_columns::<S, 1>(simd, first, 0);
        }
    }
}

impl<T: Scalar, const M: usize> Up<'_, '_, T, M> {
    #[inline(always)]
    fn add_columns<S: Simd, const J: usize>(&mut self, simd: S, first: usize, step: usize) {
        let count = T::lanes(simd, self.panel.column(first)).0.len();
        let cut = |values| {
            let (lanes, tail): (&[T::Lanes<S>], &[T]) = T::lanes(simd, values);
            (&lanes[..count], tail)
        };
        let split: [_; J] = std::array::from_fn(|j| cut(self.panel.column(first + j * step)));
        let y: [_; M] = std::array::from_fn(|m| cut(self.y[m]));
        let mut sums = [[T::spread(simd, T::default()); J]; M];
        for i in 0..count {
            let values: [T::Lanes<S>; J] = std::array::from_fn(|j| split[j].0[i]);
            for m in 0..M {
                let y = y[m].0[i];
                for j in 0..J {
                    sums[m][j] = T::multiply_add(simd, values[j], y, sums[m][j]);
                }
            }
        }
        for m in 0..M {
            for j in 0..J {
                let tail = split[j].1.iter().zip(y[m].1).fold(T::default(), |sum, (&p, &y)| sum + p * y);
                self.out[m][first + j * step] += T::total(simd, sums[m][j]) + tail;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use faer::Mat;

    use super::*;
    use crate::random::Random;

    /// Compares both products of every kind of panel with sums written out.
    fn check<T: Scalar>(tolerance: f64) {
        let mut random = Random::new(11);
        for (height, width, first, count) in
            [(1, 1, 0, 1), (37, 5, 3, 30), (64, 64, 0, 64), (131, 23, 100, 31), (9, 3, 4, 0)]
        {
            let mut draw = |rows: usize, columns: usize| {
                Mat::from_fn(rows, columns, |_, _| T::from_f64(random.normal()))
            };
            for sides in [1, 2, 3, 4, 5, 8, 31] {
                let matrix = draw(height, width);
                let values: Vec<T> =
                    matrix.col_iter().flat_map(|c| c.iter().copied().collect::<Vec<_>>()).collect();
                let panel = Panel { values: &values, height, first, count };
                let (s, y) = (draw(width, sides), draw(count, sides));
                let (mut down, mut up) = (draw(count, sides), draw(width, sides));
                let (down_before, up_before) = (down.clone(), up.clone());
                add_product(down.as_mut(), panel, s.as_ref());
                add_transposed(up.as_mut(), panel, y.as_ref());
                for m in 0..sides {
                    for i in 0..count {
                        let products =
                            (0..width).map(|j| matrix[(first + i, j)].to_f64() * s[(j, m)].to_f64());
                        let truth = down_before[(i, m)].to_f64() + products.sum::<f64>();
                        assert!(
                            (down[(i, m)].to_f64() - truth).abs() <= tolerance,
                            "{height} {width} {sides}"
                        );
                    }
                    for j in 0..width {
                        let products =
                            (0..count).map(|i| matrix[(first + i, j)].to_f64() * y[(i, m)].to_f64());
                        let truth = up_before[(j, m)].to_f64() + products.sum::<f64>();
                        assert!((up[(j, m)].to_f64() - truth).abs() <= tolerance, "{height} {width} {sides}");
                    }
                }
            }
        }
    }

    #[test]
    fn products_with_few_columns_are_those_of_the_definition() {
        check::<f64>(1e-12);
        check::<f32>(1e-4);
    }
}
