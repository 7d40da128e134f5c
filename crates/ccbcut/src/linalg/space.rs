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

/// Columns that are mapped at a time where images are not kept, at most.
const PANEL: usize = 8;

/// Directions of a block that are shorter than this share of the longest are left out.
const DEPENDENT: f64 = 1e-12;

/// The square of the share of a column that must remain when others are removed from it, for one removal to be enough.
const CANCELLED: f64 = 1e-12;

/// The basis V, its image A V, and Vᵀ A V.
pub(super) struct Space<'a> {
    pub(super) n: usize,
    pub(super) null: &'a [f64],
    pub(super) basis: Vec<f64>,
    /// Empty where it is not kept: it takes as much memory as the basis.
    pub(super) image: Vec<f64>,
    pub(super) keeps_image: bool,
    pub(super) projected: Vec<f64>,
    /// Blocks that are done with: a large one that is allocated anew comes as fresh pages, and these take time.
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
        self.basis = start;
        self.take_in(a, 0);
        for _ in 0..4 {
            let missing = block.saturating_sub(self.len());
            if missing == 0 {
                return;
            }
            let mut noise: Vec<f64> = (0..missing * n).map(|_| random.normal()).collect();
            for column in noise.chunks_exact_mut(n) {
                orthonormalize(self.null, &[], column);
            }
            let before = self.len();
            self.basis.resize((before + missing) * n, 0.0);
            inverse(&noise, &mut self.basis[before * n..]);
            self.take_in(a, before);
        }
    }

    /// Orthonormalises and appends columns; returns how many were really new.
    pub(super) fn extend(&mut self, a: &impl LinearOperator, columns: &[f64]) -> usize {
        let before = self.len();
        self.basis.extend_from_slice(columns);
        self.take_in(a, before)
    }

    /// The same for columns that stand in the basis already, behind those before them.
    pub(super) fn take_in(&mut self, a: &impl LinearOperator, before: usize) -> usize {
        let n = self.n;
        unit_columns(&mut self.basis[before * n..], n);
        let count = self.len() - before;
        if count * (before + count) <= ONE_BY_ONE {
            let mut kept = before;
            for j in before..before + count {
                let (others, column) = self.basis.split_at_mut(j * n);
                if orthonormalize(self.null, &others[..kept * n], &mut column[..n]) {
                    if kept < j {
                        self.basis.copy_within(j * n..(j + 1) * n, kept * n);
                    }
                    kept += 1;
                }
            }
            self.basis.truncate(kept * n);
        } else {
            self.orthonormalize_behind(before);
        }
        let added = self.len() - before;
        let mut products = Vec::with_capacity(added * self.len());
        if self.keeps_image {
            let first = self.image.len();
            self.image.resize(self.basis.len(), 0.0);
            a.apply_block(&self.basis[before * n..], &mut self.image[first..]);
            products = gram(&self.basis, &self.image[first..], n);
        } else if added > 0 {
            let panel = panel(added);
            let mut image = self.block(panel * n);
            for columns in self.basis[before * n..].chunks(panel * n) {
                a.apply_block(columns, &mut image[..columns.len()]);
                products.extend(gram(&self.basis, &image[..columns.len()], n));
            }
            self.give_back(image);
        }
        self.grow_projection(before, &products);
        added
    }

    /// Leaves in place of the unit columns behind the first ones an orthonormal basis of what they add to the space, by
    /// matrix products: against the others, then among themselves by the eigenvectors of their Gram matrix (Stathopoulos and
    /// Wu 2002, <https://doi.org/10.1137/S1064827500370883>), and again until nothing is left to remove.
    pub(super) fn orthonormalize_behind(&mut self, before: usize) {
        let n = self.n;
        for pass in 0..4 {
            let (others, columns) = self.basis.split_at_mut(before * n);
            for_each_column(columns, n, |_, column| project_out(self.null, column));
            let mut overlap = 0.0_f64;
            if !others.is_empty() {
                let coefficients = gram(others, columns, n);
                overlap = coefficients.iter().fold(overlap, |a, c| a.max(c.abs()));
                add_combination(others, &coefficients, columns, n, -1.0);
            }
            let m = columns.len() / n;
            let products = gram(columns, columns, n);
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
            let count = combine(columns, &kept, n);
            self.basis.truncate((before + count) * n);
            // A small overlap is gone after one correction; a large one leaves rounding behind.
            if count == 0 || (pass > 0 && overlap < 1e-6) {
                break;
            }
        }
    }

    /// Removes from the columns that stand behind the first `before` what these make up of them, their products being
    /// `overlaps`; returns the Gram matrix of what is left.
    pub(super) fn remove_overlaps(&mut self, overlaps: &[f64], before: usize) -> Vec<f64> {
        let (others, columns) = self.basis.split_at_mut(before * self.n);
        add_combination(others, overlaps, columns, self.n, -1.0);
        gram(columns, columns, self.n)
    }

    /// Goes on with what [`Space::remove_overlaps`] left: makes it orthonormal, and tells whether it was anything.
    ///
    /// One pass, as exact as a first guess needs: what is left of each column must be more than rounding, and so must each
    /// direction among them. Where it is not, all is done with care.
    pub(super) fn continue_with(&mut self, overlaps: &[f64], before: usize, mut rest: Vec<f64>) -> bool {
        let n = self.n;
        let m = rest.len().isqrt();
        let left: Vec<f64> = (0..m).map(|j| rest[j * m + j]).collect();
        let removed = overlaps.chunks_exact(before).map(|c| c.iter().map(|v| v * v).sum::<f64>());
        let whole: Vec<f64> = left.iter().zip(removed).map(|(left, removed)| left + removed).collect();
        let mut is_plain = left.iter().zip(&whole).all(|(left, whole)| *left > CANCELLED * whole);
        if is_plain {
            for j in 0..m {
                for i in 0..m {
                    rest[j * m + i] /= (left[i] * left[j]).sqrt();
                }
            }
            let (values, mut rotation) = symmetric_eigen(&rest, m);
            is_plain = values.iter().all(|&value| value > DEPENDENT.sqrt());
            if is_plain {
                for (direction, value) in rotation.chunks_exact_mut(m).zip(&values) {
                    direction.iter_mut().zip(&left).for_each(|(d, left)| *d /= (left * value).sqrt());
                }
                combine(&mut self.basis[before * n..], &rotation, n);
            }
        }
        if !is_plain {
            // Measured by what they were: what is left of nothing new is rounding.
            for (column, whole) in self.basis[before * n..].chunks_exact_mut(n).zip(whole) {
                let share = if whole > 0.0 && whole.is_finite() { whole.sqrt().recip() } else { 0.0 };
                column.iter_mut().for_each(|v| *v *= share);
            }
            self.orthonormalize_behind(before);
        }
        self.len() > before
    }

    /// Takes in Vᵀ A V for the columns from `before` on.
    fn grow_projection(&mut self, before: usize, new: &[f64]) {
        let m = self.len();
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

/// Vectors that are sought together for so many eigenpairs: a few more speed up the last ones.
pub fn block_for(n_pairs: usize) -> usize {
    n_pairs + 2.max(n_pairs / 8)
}

/// How many columns are mapped at a time so that all panels are about as wide.
pub(super) fn panel(count: usize) -> usize {
    count.div_ceil(count.div_ceil(PANEL).max(1)).max(1)
}

/// Gives every column unit length; what has none becomes zero.
fn unit_columns(columns: &mut [f64], n: usize) {
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

/// V ← V S, in place; returns how many columns S has, which must not be more than those of V.
pub(super) fn combine(v: &mut [f64], s: &[f64], n: usize) -> usize {
    let m = v.len() / n;
    let count = s.len().checked_div(m).unwrap_or(0);
    let s = MatRef::from_column_major_slice(s, m, count);
    let all = MatMut::from_column_major_slice_mut(v, n, m);
    parallel::for_each_part(row_parts(all), |_, part| {
        let before = part.to_owned();
        matmul(part.subcols_mut(0, count), Accum::Replace, &before, s, 1.0, Par::Seq);
    });
    count
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::gallery;

    fn columns(n: usize, count: usize) -> Vec<f64> {
        (0..n * count).map(|i| ((i * i) as f64 * 0.37 + (i / n) as f64).sin()).collect()
    }

    #[test]
    fn a_combination_in_place_is_the_product() {
        // More rows than one task takes.
        let (n, m) = (PRODUCT_ROWS + 77, 5);
        let v = columns(n, m);
        for count in [1, 3, 5] {
            let s = columns(m, count);
            let mut found = v.clone();
            assert_eq!(combine(&mut found, &s, n), count);
            for j in 0..count {
                for i in 0..n {
                    let expected: f64 = (0..m).map(|k| v[k * n + i] * s[j * m + k]).sum();
                    assert!((found[j * n + i] - expected).abs() < 1e-13);
                }
            }
        }
    }

    /// New columns one by one and as a block, with and without an image: orthonormal, without what depends on others, and
    /// with Vᵀ A V.
    #[test]
    fn what_is_taken_in_is_orthonormal_and_projected() {
        let graph = gallery::grid(20, 23);
        let (a, n) = (graph.laplacian(), graph.n_vertices());
        let null = vec![1.0 / (n as f64).sqrt(); n];
        for (sizes, is_kept) in [([2, 3], true), ([2, 3], false), ([12, 11], true), ([12, 11], false)] {
            let mut space = if is_kept { Space::new(n, &null) } else { Space::without_image(n, &null) };
            let all = columns(n, sizes[0] + sizes[1]);
            let (first, second) = all.split_at(sizes[0] * n);
            assert_eq!(space.extend(&a, first), sizes[0]);
            // One column is a sum of others, and one is constant.
            let mut more: Vec<f64> = first[..n].iter().zip(&second[..n]).map(|(a, b)| a - 2.0 * b).collect();
            more.extend(vec![3.0; n]);
            more.extend(second);
            assert_eq!(space.extend(&a, &more), sizes[1]);
            assert_eq!(space.image.len(), if is_kept { space.basis.len() } else { 0 });
            let m = space.len();
            let unit = gram(&space.basis, &space.basis, n);
            assert!(
                unit.iter()
                    .enumerate()
                    .all(|(i, g)| { (g - f64::from(u8::from(i % (m + 1) == 0))).abs() < 1e-12 })
            );
            assert!(space.basis.chunks_exact(n).all(|v| dot(v, &null).abs() < 1e-12));
            let mut image = vec![0.0; space.basis.len()];
            a.apply_block(&space.basis, &mut image);
            let expected = gram(&space.basis, &image, n);
            assert!(space.projected.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }

    /// Columns that add a lot, next to nothing, and nothing.
    #[test]
    fn a_block_is_continued_by_what_it_adds() {
        let n = PRODUCT_ROWS + 77;
        for (share, added, tolerance) in
            [(1.0, 3, 1e-13_f64), (1e-5, 3, 1e-9), (1e-8, 3, 1e-12), (0.0, 0, 0.0)]
        {
            let mut space = Space::new(n, &[]);
            space.basis = columns(n, 5);
            space.orthonormalize_behind(0);
            let first = space.basis.clone();
            let more = columns(n, 8).split_off(5 * n);
            for (j, new) in more.chunks_exact(n).enumerate() {
                let column = first[j * n..(j + 1) * n].iter().zip(new).map(|(a, b)| 7.0 * a + share * b);
                space.basis.extend(column);
            }
            let (others, behind) = space.basis.split_at(5 * n);
            let overlaps = gram(others, behind, n);
            let rest = space.remove_overlaps(&overlaps, 5);
            assert_eq!(space.continue_with(&overlaps, 5, rest), added > 0, "{share}");
            assert_eq!(space.len(), 5 + added, "{share}");
            assert_eq!(space.basis[..5 * n], first);
            let unit = gram(&space.basis, &space.basis, n);
            for (i, g) in unit.iter().enumerate() {
                assert!(
                    (g - f64::from(u8::from(i % (space.len() + 1) == 0))).abs() <= tolerance.max(1e-13),
                    "{share}"
                );
            }
            // What was added is in the new space.
            for new in more.chunks_exact(n).take(added) {
                let inside = gram(&space.basis, new, n).iter().map(|v| v * v).sum::<f64>();
                assert!((inside / dot(new, new) - 1.0).abs() < 1e-4, "{share}");
            }
        }
    }

    #[test]
    fn panels_are_about_as_wide() {
        assert_eq!([1, 5, 8, 9, 12, 16, 17, 30].map(panel), [1, 5, 8, 5, 6, 8, 6, 8]);
    }
}
