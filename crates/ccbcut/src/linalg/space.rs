//! The space that a block eigensolver searches: an orthonormal basis, its image, and products of tall matrices.

use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};

use crate::{parallel, random::Random};

use super::{
    LinearOperator, axpy,
    dense::symmetric_eigen,
    dot, for_each_column, norm,
    orthonormalize::{orthonormalize, project_out},
};

/// Rows that one partial sum of a Gram matrix covers.
const GRAM_ROWS: usize = 2048;

/// Rows of a product that one task computes.
const PRODUCT_ROWS: usize = 4096;

/// Columns times basis vectors up to which new columns are made orthonormal one by one.
const ONE_BY_ONE: usize = 48;

/// Directions of a block that are shorter than this share of the longest are left out.
const DEPENDENT: f64 = 1e-12;

/// The basis V, its image A V, and Vᵀ A V.
pub(super) struct Space<'a> {
    pub(super) n: usize,
    pub(super) null: &'a [f64],
    pub(super) basis: Vec<f64>,
    /// Empty where it is not kept: it takes as much memory as the basis.
    pub(super) image: Vec<f64>,
    keeps_image: bool,
    pub(super) projected: Vec<f64>,
    /// Blocks that are done with. A large one that is allocated anew comes as fresh pages, and these cost as much time as
    /// what is computed in them.
    spare: Vec<Vec<f64>>,
}

impl<'a> Space<'a> {
    pub(super) fn new(n: usize, null: &'a [f64]) -> Self {
        let (basis, image, projected, spare) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { n, null, basis, image, keeps_image: true, projected, spare }
    }

    /// A space that has no room for the image of its basis.
    pub(super) fn without_image(n: usize, null: &'a [f64]) -> Self {
        Self { keeps_image: false, ..Self::new(n, null) }
    }

    pub(super) fn keeps_image(&self) -> bool {
        self.keeps_image
    }

    /// A block of zeros.
    pub(super) fn block(&mut self, len: usize) -> Vec<f64> {
        let mut block = self.spare.pop().unwrap_or_default();
        block.clear();
        block.resize(len, 0.0);
        block
    }

    /// Keeps a block for later use.
    pub(super) fn give_back(&mut self, block: Vec<f64>) {
        self.spare.push(block);
    }

    pub(super) fn len(&self) -> usize {
        self.basis.len() / self.n
    }

    /// The start, filled up with smoothed noise.
    pub(super) fn fill_start(
        &mut self,
        a: &impl LinearOperator,
        inverse: &(impl Fn(&[f64], &mut [f64]) + ?Sized),
        mut start: Vec<f64>,
        block: usize,
        seed: u64,
    ) {
        let n = self.n;
        let mut random = Random::new(seed);
        start.truncate(block * n);
        self.extend(a, start);
        for _ in 0..4 {
            let missing = block.saturating_sub(self.len());
            if missing == 0 {
                return;
            }
            let mut noise: Vec<f64> = (0..missing * n).map(|_| random.normal()).collect();
            for column in noise.chunks_exact_mut(n) {
                orthonormalize(self.null, &[], column);
            }
            let mut smooth = vec![0.0; noise.len()];
            inverse(&noise, &mut smooth);
            self.extend(a, smooth);
        }
    }

    /// Orthonormalises and appends columns; returns how many were really new.
    pub(super) fn extend(&mut self, a: &impl LinearOperator, mut columns: Vec<f64>) -> usize {
        let n = self.n;
        unit_columns(&mut columns, n);
        let before = self.len();
        let count = columns.len() / n;
        if count * (before + count) <= ONE_BY_ONE {
            for column in columns.chunks_exact_mut(n) {
                if orthonormalize(self.null, &self.basis, column) {
                    self.basis.extend_from_slice(column);
                }
            }
        } else {
            columns = self.orthonormal_block(columns);
            self.basis.extend_from_slice(&columns);
        }
        self.give_back(columns);
        let added = self.len() - before;
        let mut image =
            if self.keeps_image { std::mem::take(&mut self.image) } else { self.block(added * n) };
        image.resize(if self.keeps_image { self.basis.len() } else { added * n }, 0.0);
        let first = image.len() - added * n;
        a.apply_block(&self.basis[before * n..], &mut image[first..]);
        self.grow_projection(before, &image[first..]);
        if self.keeps_image {
            self.image = image;
        } else {
            self.give_back(image);
        }
        added
    }

    /// An orthonormal basis of what a block of unit columns adds to the space, by matrix products: against the basis,
    /// then among themselves by the eigenvectors of their Gram matrix (Stathopoulos and Wu 2002,
    /// <https://doi.org/10.1137/S1064827500370883>), and again until nothing is left to remove.
    pub(super) fn orthonormal_block(&mut self, mut columns: Vec<f64>) -> Vec<f64> {
        let n = self.n;
        for pass in 0..4 {
            for_each_column(&mut columns, n, |_, column| project_out(self.null, column));
            let mut overlap = 0.0_f64;
            if !self.basis.is_empty() {
                let coefficients = gram(&self.basis, &columns, n);
                overlap = coefficients.iter().fold(overlap, |a, c| a.max(c.abs()));
                add_combination(&self.basis, &coefficients, &mut columns, n, -1.0);
            }
            let m = columns.len() / n;
            let products = gram(&columns, &columns, n);
            for j in 0..m {
                let others = (0..m).map(|i| products[j * m + i] - f64::from(u8::from(i == j)));
                overlap = others.fold(overlap, |a, c| a.max(c.abs()));
            }
            if pass > 0 && overlap < 1e-13 {
                break;
            }
            let (values, rotation) = symmetric_eigen(&products, m);
            let largest = values.iter().copied().fold(0.0, f64::max);
            let least = if pass == 0 { DEPENDENT * largest.max(DEPENDENT) } else { DEPENDENT.sqrt() };
            let kept: Vec<f64> = values
                .iter()
                .zip(rotation.chunks_exact(m))
                .filter(|&(&value, _)| value > least)
                .flat_map(|(value, direction)| direction.iter().map(move |d| d / value.sqrt()))
                .collect();
            combine(&mut columns, &kept, n);
            // A small overlap is gone after one correction; a large one leaves rounding behind.
            if columns.is_empty() || (pass > 0 && overlap < 1e-6) {
                break;
            }
        }
        columns
    }

    /// Takes in what the columns from `before` on are mapped to.
    fn grow_projection(&mut self, before: usize, image: &[f64]) {
        let (n, m) = (self.n, self.len());
        let new = gram(&self.basis, image, n);
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
    }
}

/// Gives every column unit length; what has none becomes zero.
pub(super) fn unit_columns(columns: &mut [f64], n: usize) {
    for_each_column(columns, n, |_, column| {
        let length = norm(column);
        if length > 0.0 && length.is_finite() {
            column.iter_mut().for_each(|v| *v /= length);
        } else {
            column.fill(0.0);
        }
    });
}

/// Vᵀ W, summed over fixed blocks of rows.
pub(super) fn gram(v: &[f64], w: &[f64], n: usize) -> Vec<f64> {
    let (p, q) = (v.len() / n, w.len() / n);
    if p * q <= 4 {
        return w.chunks_exact(n).flat_map(|w| v.chunks_exact(n).map(move |v| dot(v, w))).collect();
    }
    let v = MatRef::from_column_major_slice(v, n, p);
    let w = MatRef::from_column_major_slice(w, n, q);
    let parts = parallel::map(n.div_ceil(GRAM_ROWS), |b| {
        let (first, count) = (b * GRAM_ROWS, GRAM_ROWS.min(n - b * GRAM_ROWS));
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
pub(super) fn combination(v: &[f64], s: &[f64], n: usize) -> Vec<f64> {
    let m = v.len() / n;
    let mut out = vec![0.0; n * (s.len().checked_div(m).unwrap_or(0))];
    add_combination(v, s, &mut out, n, 1.0);
    out
}

/// V ← V S, in place. S may have fewer columns than V, but not more.
pub(super) fn combine(v: &mut Vec<f64>, s: &[f64], n: usize) {
    let m = v.len() / n;
    let count = s.len().checked_div(m).unwrap_or(0);
    let s = MatRef::from_column_major_slice(s, m, count);
    let all = MatMut::from_column_major_slice_mut(v, n, m);
    parallel::for_each_part(row_parts(all), |_, part| {
        let before = part.to_owned();
        matmul(part.subcols_mut(0, count), Accum::Replace, &before, s, 1.0, Par::Seq);
    });
    v.truncate(count * n);
}

/// A few rows for each task.
fn row_parts(mut rest: MatMut<'_, f64>) -> Vec<MatMut<'_, f64>> {
    let mut parts = Vec::with_capacity(rest.nrows().div_ceil(PRODUCT_ROWS));
    while rest.nrows() > 0 {
        let rows = PRODUCT_ROWS.min(rest.nrows());
        let (part, others) = rest.split_at_row_mut(rows);
        parts.push(part);
        rest = others;
    }
    parts
}

/// W ← W + factor V S, a few rows per task.
pub(super) fn add_combination(v: &[f64], s: &[f64], out: &mut [f64], n: usize, factor: f64) {
    let (m, count) = (v.len() / n, out.len() / n);
    let (v, s) = (MatRef::from_column_major_slice(v, n, m), MatRef::from_column_major_slice(s, m, count));
    let parts = row_parts(MatMut::from_column_major_slice_mut(out, n, count));
    parallel::for_each_part(parts, |b, out| {
        let v = v.subrows(b * PRODUCT_ROWS, out.nrows());
        matmul(out, Accum::Add, v, s, factor, Par::Seq);
    });
}
