//! Right-hand sides on their way through the factor: a few one after the other, more of them side by side.

use super::{
    scalar::{Meets, Scalar},
    thin, wide,
};

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
    /// All rows of a matrix.
    pub(super) fn whole(values: &'a [T], height: usize) -> Self {
        Self { values, height, first: 0, count: height }
    }

    #[inline(always)]
    pub(super) fn column(&self, j: usize) -> &'a [T] {
        &self.values[j * self.height + self.first..][..self.count]
    }

    pub(super) fn width(&self) -> usize {
        self.values.len() / self.height.max(1)
    }
}

/// Several vectors, and what a block of the factor does to them.
#[derive(Debug, Clone)]
pub(super) enum Sides<T> {
    /// `values[side * rows + row]`
    Columns { values: Vec<T>, rows: usize },
    /// A row of numbers for each row.
    Rows(wide::Rows<T>),
}

impl<T: Scalar> Sides<T> {
    pub(super) fn zeros(rows: usize, n_sides: usize) -> Self {
        // Side by side where rows are more than half full.
        if n_sides <= thin::SIDES || 2 * n_sides <= wide::padded::<T>(n_sides) {
            Self::Columns { values: vec![T::default(); rows * n_sides], rows }
        } else {
            Self::Rows(wide::Rows::zeros(rows, wide::padded::<T>(n_sides)))
        }
    }

    /// As many vectors of another length.
    pub(super) fn zeros_like(&self, rows: usize) -> Self {
        match self {
            Self::Columns { values, rows: own } => {
                Self::Columns { values: vec![T::default(); rows * (values.len() / (*own).max(1))], rows }
            }
            Self::Rows(own) => Self::Rows(wide::Rows::zeros(rows, own.width())),
        }
    }

    /// Fills all rows: `value(row, side)` for `n_sides` vectors.
    pub(super) fn fill(&mut self, n_sides: usize, value: impl Fn(usize, usize) -> T + Sync + Send) {
        match self {
            Self::Columns { values, rows } => {
                crate::parallel::for_each_chunk(values, *rows, |side, column| {
                    column.iter_mut().enumerate().for_each(|(row, v)| *v = value(row, side));
                });
            }
            Self::Rows(own) => own.fill(n_sides, value),
        }
    }

    /// One number.
    #[inline(always)]
    pub(super) fn get(&self, row: usize, side: usize) -> T {
        match self {
            Self::Columns { values, rows } => values[side * rows + row],
            Self::Rows(own) => own.row(row)[side],
        }
    }

    /// Copies `count` rows of another from `first` on to the rows from `at` on.
    pub(super) fn copy_rows(&mut self, at: usize, from: &Self, first: usize, count: usize) {
        match (self, from) {
            (Self::Columns { values, rows }, Self::Columns { values: from, rows: height }) => {
                for (to, from) in values.chunks_exact_mut(*rows).zip(from.chunks_exact(*height)) {
                    to[at..at + count].copy_from_slice(&from[first..first + count]);
                }
            }
            (Self::Rows(to), Self::Rows(from)) => {
                to.rows_mut(at, count).copy_from_slice(from.rows(first, count));
            }
            _ => unreachable!("as many vectors"),
        }
    }

    /// Adds a row of another.
    pub(super) fn add_row(&mut self, at: usize, from: &Self, row: usize) {
        match (self, from) {
            (Self::Columns { values, rows }, Self::Columns { values: from, rows: height }) => {
                for (to, from) in values.chunks_exact_mut(*rows).zip(from.chunks_exact(*height)) {
                    to[at] += from[row];
                }
            }
            (Self::Rows(to), Self::Rows(from)) => {
                to.rows_mut(at, 1).iter_mut().zip(from.row(row)).for_each(|(to, &v)| *to += v);
            }
            _ => unreachable!("as many vectors"),
        }
    }

    /// Rows from `at` on ← the same + P s.
    pub(super) fn add_product<P: Scalar + Meets<T>>(&mut self, at: usize, panel: Panel<'_, P>, s: &Self) {
        match (self, s) {
            (Self::Columns { values, rows }, Self::Columns { values: s, rows: width }) => {
                let mut out: Vec<_> =
                    values.chunks_exact_mut(*rows).map(|column| &mut column[at..at + panel.count]).collect();
                let s: Vec<_> = s.chunks_exact(*width).collect();
                thin::add_product(&mut out, panel, &s);
            }
            (Self::Rows(out), Self::Rows(s)) => wide::add_product(out, at, panel, s),
            _ => unreachable!("as many vectors"),
        }
    }

    /// All rows ← the same + Pᵀ y, y being rows of another from `at` on.
    pub(super) fn add_transposed<P: Scalar + Meets<T>>(&mut self, panel: Panel<'_, P>, y: &Self, at: usize) {
        match (self, y) {
            (Self::Columns { values, rows }, Self::Columns { values: y, rows: height }) => {
                let mut out: Vec<_> = values.chunks_exact_mut(*rows).collect();
                let y: Vec<_> = y.chunks_exact(*height).map(|column| &column[at..at + panel.count]).collect();
                thin::add_transposed(&mut out, panel, &y);
            }
            (Self::Rows(out), Self::Rows(y)) => wide::add_transposed(out, panel, y, at),
            _ => unreachable!("as many vectors"),
        }
    }

    /// Sets to zero what is so small that products with it would be slow, and lost in what they are added to.
    pub(super) fn drop_negligible(&mut self) {
        let values = match self {
            Self::Columns { values, .. } => values.as_mut_slice(),
            Self::Rows(own) => own.values_mut(),
        };
        for v in values {
            *v = if v.to_f64().abs() < T::NEGLIGIBLE { T::default() } else { *v };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn random_sides<T: Scalar>(random: &mut Random, rows: usize, n_sides: usize) -> Sides<T> {
        let values: Vec<f64> = (0..rows * n_sides).map(|_| random.normal()).collect();
        let mut sides = Sides::zeros(rows, n_sides);
        sides.fill(n_sides, |row, side| T::from_f64(values[side * rows + row]));
        sides
    }

    /// Compares both products of every kind of panel with sums written out.
    fn check<T: Scalar>(tolerance: f64) {
        let mut random = Random::new(11);
        for (height, width, first, count) in
            [(1, 1, 0, 1), (37, 5, 3, 30), (64, 64, 0, 64), (131, 23, 100, 31), (9, 3, 4, 0), (80, 41, 1, 79)]
        {
            let matrix: Vec<T> = (0..height * width).map(|_| T::from_f64(random.normal())).collect();
            let entry = |i: usize, j: usize| matrix[j * height + first + i].to_f64();
            let panel = Panel { values: &matrix, height, first, count };
            for n_sides in [1, 2, 3, 4, 5, 8, 9, 16, 17, 25, 31, 32] {
                // Rows that are not those of the product stay as they are.
                let s = random_sides::<T>(&mut random, width, n_sides);
                let y = random_sides::<T>(&mut random, count + 3, n_sides);
                let (mut down, mut up) = (y.clone(), s.clone());
                down.add_product(2, panel, &s);
                up.add_transposed(panel, &y, 3);
                for m in 0..n_sides {
                    for i in 0..count + 3 {
                        let products = (0..width).map(|j| entry(i - 2, j) * s.get(j, m).to_f64());
                        let inside = (2..count + 2).contains(&i);
                        let truth = y.get(i, m).to_f64() + if inside { products.sum() } else { 0.0 };
                        let found = down.get(i, m).to_f64();
                        assert!((found - truth).abs() <= tolerance, "{height} {width} {n_sides}");
                    }
                    for j in 0..width {
                        let products = (0..count).map(|i| entry(i, j) * y.get(3 + i, m).to_f64());
                        let truth = s.get(j, m).to_f64() + products.sum::<f64>();
                        assert!(
                            (up.get(j, m).to_f64() - truth).abs() <= tolerance,
                            "{height} {width} {n_sides}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn products_with_sides_are_those_of_the_definition() {
        check::<f64>(1e-12);
        check::<f32>(1e-4);
    }

    #[test]
    fn rows_are_copied_and_added() {
        for n_sides in [3, 7, 20] {
            let mut random = Random::new(2);
            let (from, mut to) =
                (random_sides::<f64>(&mut random, 6, n_sides), random_sides::<f64>(&mut random, 9, n_sides));
            let before = to.clone();
            to.copy_rows(4, &from, 1, 3);
            to.add_row(8, &from, 5);
            for m in 0..n_sides {
                for i in 0..9 {
                    let expected = match i {
                        4..=6 => from.get(i - 3, m),
                        8 => before.get(8, m) + from.get(5, m),
                        _ => before.get(i, m),
                    };
                    assert_eq!(to.get(i, m), expected, "{i} {m}");
                }
            }
        }
    }
}
