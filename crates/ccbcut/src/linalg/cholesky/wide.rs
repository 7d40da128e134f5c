//! Products of a panel of the factor with many columns, which stand side by side.
//!
//! A row of them fills whole registers, and a number of the panel, which stays where it lies, is spread over one: nothing is
//! copied into another order, nothing is summed across lanes, and no loop has an odd end.

use faer::Mat;
use pulp::{Simd, WithSimd};

use super::{
    scalar::{Meets, Scalar},
    sides::Panel,
};
use crate::{
    parallel,
    simd::{Lanes, widest},
};

/// Registers of a row that are worked on together, at most.
const MOST: usize = 4;

/// Numbers in the widest register: rows are padded to a multiple.
const BYTES: usize = 64;

/// Products that are summed before they are added to what there is.
const SUMMED: usize = 64;

/// Rows that one task fills.
const FILL_ROWS: usize = 1024;

/// Vectors side by side: row after row of as many numbers, from where a line of the cache begins.
#[derive(Debug, Clone)]
pub(in super::super) struct Rows<T> {
    /// One column: the library aligns it.
    values: Mat<T>,
    width: usize,
}

/// How many numbers a row of `n` is padded to.
pub(super) fn padded<T>(n: usize) -> usize {
    n.next_multiple_of(BYTES / size_of::<T>())
}

impl<T: Scalar> Rows<T> {
    pub(super) fn zeros(rows: usize, width: usize) -> Self {
        Self { values: Mat::zeros(rows * width, 1), width }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn values_mut(&mut self) -> &mut [T] {
        self.values.col_as_slice_mut(0)
    }

    pub(super) fn rows(&self, first: usize, count: usize) -> &[T] {
        &self.values.col_as_slice(0)[first * self.width..][..count * self.width]
    }

    pub(super) fn rows_mut(&mut self, first: usize, count: usize) -> &mut [T] {
        let width = self.width;
        &mut self.values_mut()[first * width..][..count * width]
    }

    #[inline(always)]
    pub(super) fn row(&self, row: usize) -> &[T] {
        self.rows(row, 1)
    }

    pub(super) fn fill(&mut self, n_sides: usize, value: impl Fn(usize, usize) -> T + Sync + Send) {
        let width = self.width;
        parallel::for_each_chunk(self.values_mut(), width * FILL_ROWS, |block, rows| {
            for (k, row) in rows.chunks_exact_mut(width).enumerate() {
                let row = row[..n_sides].iter_mut().enumerate();
                row.for_each(|(side, v)| *v = value(block * FILL_ROWS + k, side));
            }
        });
    }
}

/// Rows of `out` from `at` on ← the same + P s.
pub(super) fn add_product<P: Scalar + Meets<T>, T: Scalar>(
    out: &mut Rows<T>,
    at: usize,
    panel: Panel<'_, P>,
    s: &Rows<T>,
) {
    let stride = out.width;
    let x = s.values.col_as_slice(0);
    widest(Product::<P, T, false> {
        panel,
        x,
        out: out.rows_mut(at, panel.count),
        stride,
        width: panel.width(),
    });
}

/// All rows of `out` ← the same + Pᵀ y, y being the rows from `at` on.
pub(super) fn add_transposed<P: Scalar + Meets<T>, T: Scalar>(
    out: &mut Rows<T>,
    panel: Panel<'_, P>,
    y: &Rows<T>,
    at: usize,
) {
    let stride = out.width;
    let x = y.rows(at, panel.count);
    widest(Product::<P, T, true> { panel, x, out: out.values_mut(), stride, width: panel.width() });
}

/// out ← out + P x, or Pᵀ x.
struct Product<'a, P, T, const UP: bool> {
    panel: Panel<'a, P>,
    x: &'a [T],
    out: &'a mut [T],
    stride: usize,
    /// Columns of the panel.
    width: usize,
}

impl<P: Scalar + Meets<T>, T: Scalar, const UP: bool> WithSimd for Product<'_, P, T, UP> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let lanes = T::count::<S>();
        let mut first = 0;
        while first < self.stride {
            let registers = ((self.stride - first) / lanes).min(MOST);
            // So many sums that no product waits for another one, and few enough for the registers.
            let is_roomy = size_of::<T::Register<S>>() == BYTES;
            match (registers, is_roomy) {
                (1, true) => self.add_tiles::<S, 1, 16>(simd, first),
                (2, true) => self.add_tiles::<S, 2, 8>(simd, first),
                (3, true) => self.add_tiles::<S, 3, 5>(simd, first),
                (_, true) => self.add_tiles::<S, MOST, 4>(simd, first),
                (1, false) => self.add_tiles::<S, 1, 8>(simd, first),
                (2, false) => self.add_tiles::<S, 2, 5>(simd, first),
                (3, false) => self.add_tiles::<S, 3, 3>(simd, first),
                (_, false) => self.add_tiles::<S, MOST, 2>(simd, first),
            }
            first += registers * lanes;
        }
    }
}

impl<P: Scalar + Meets<T>, T: Scalar, const UP: bool> Product<'_, P, T, UP> {
    /// `C` registers of every row of the result, `N` rows at a time.
    #[inline(always)]
    fn add_tiles<S: Simd, const C: usize, const N: usize>(&mut self, simd: S, first: usize) {
        if !UP {
            return self.add_some::<S, C, N>(simd, first, 0, self.width);
        }
        // Shorter sums are more accurate ones.
        for row in (0..self.panel.count).step_by(SUMMED) {
            self.add_some::<S, C, N>(simd, first, row, SUMMED.min(self.panel.count - row));
        }
    }

    /// The same of `count` products from `start` on.
    #[inline(always)]
    fn add_some<S: Simd, const C: usize, const N: usize>(
        &mut self,
        simd: S,
        first: usize,
        start: usize,
        count: usize,
    ) {
        let n_rows = if UP { self.width } else { self.panel.count };
        let mut row = 0;
        while row + N <= n_rows {
            self.add_tile::<S, C, N>(simd, row, first, start, count);
            row += N;
        }
        while row + 4 <= n_rows {
            self.add_tile::<S, C, 4>(simd, row, first, start, count);
            row += 4;
        }
        while row < n_rows {
            self.add_tile::<S, C, 1>(simd, row, first, start, count);
            row += 1;
        }
    }

    #[inline(always)]
    fn add_tile<S: Simd, const C: usize, const N: usize>(
        &mut self,
        simd: S,
        row: usize,
        first: usize,
        start: usize,
        count: usize,
    ) {
        let (lanes, stride, panel) = (T::count::<S>(), self.stride, self.panel);
        let mut sums = [[T::spread(simd, T::default()); C]; N];
        let x = &self.x[start * stride + first..];
        if UP {
            let values = &panel.values[row * panel.height + panel.first + start..];
            let mut columns = [values; N];
            for j in 0..N {
                columns[j] = &values[j * panel.height..][..count];
            }
            for i in 0..count {
                let x = T::lanes(simd, &x[i * stride..][..C * lanes]).0;
                for r in 0..N {
                    add_multiple(simd, &mut sums[r], Meets::<T>::meet(columns[r][i]), x);
                }
            }
        } else {
            let values = &panel.values[panel.first + row..];
            for j in 0..count {
                let x = T::lanes(simd, &x[j * stride..][..C * lanes]).0;
                let column = &values[j * panel.height..][..N];
                for r in 0..N {
                    add_multiple(simd, &mut sums[r], Meets::<T>::meet(column[r]), x);
                }
            }
        }
        for r in 0..N {
            let out = &mut self.out[(row + r) * stride + first..][..C * lanes];
            let out = T::lanes_mut(simd, out).0;
            for c in 0..C {
                out[c] = <T as Lanes>::add(simd, out[c], sums[r][c]);
            }
        }
    }
}

/// sums ← sums + value x.
#[inline(always)]
fn add_multiple<T: Scalar, S: Simd, const C: usize>(
    simd: S,
    sums: &mut [T::Register<S>; C],
    value: T,
    x: &[T::Register<S>],
) {
    let value = T::spread(simd, value);
    for c in 0..C {
        sums[c] = T::multiply_add(simd, x[c], value, sums[c]);
    }
}
