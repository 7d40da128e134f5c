//! Rounding by rotation: turn the rows of an embedding towards the corners of a regular figure.
//!
//! With rows zᵢ, weights ωᵢ and one corner v_l of unit length for each part, both roundings maximise
//!
//! Σᵢ ωᵢ ⟨Rᵀ zᵢ, v_{l(i)}⟩ over labels l and orthogonal R,
//!
//! which for corners of equal length is the same as minimising Σᵢ ωᵢ ‖Rᵀ zᵢ − s v_{l(i)}‖² at any scale s > 0. For
//! given R each row takes the corner with the largest product; for given labels R = U Vᵀ with the singular vectors
//! of Σᵢ ωᵢ zᵢ v_{l(i)}ᵀ = U S Vᵀ (the orthogonal Procrustes problem), and the maximum is tr S. Neither step can
//! lower the sum.
//!
//! Reference: Schönemann, *A generalized solution of the orthogonal Procrustes problem*, Psychometrika 31, 1966,
//! <https://doi.org/10.1007/BF02289451>.

use crate::{
    error::{Error, Result},
    parallel::{self, SUM_BLOCK},
    simd::{self, Lanes},
};

/// Relative growth of the sum below which the alternation ends.
pub(super) const GROWTH: f64 = 1e-6;

/// Directions are padded to a multiple of this: two of the widest registers.
const PADDED: usize = 16;

/// Rows that meet the directions at a time.
const TILE: usize = 4;

/// Rows to be turned towards corners.
pub(super) struct Alignment<'a> {
    /// zᵢ, row by row.
    pub(super) rows: &'a [f64],
    /// Coordinates of a row and of a corner.
    pub(super) dim: usize,
    /// v_l, row by row.
    pub(super) corners: &'a [f64],
    /// ωᵢ; all 1 when `None`.
    pub(super) weights: Option<&'a [f64]>,
}

/// Where the alternation ended.
pub(super) struct Aligned {
    /// The corner of each row; every corner is taken.
    pub(super) labels: Vec<u32>,
    /// The turned corners, row by row.
    pub(super) directions: Vec<f64>,
}

impl Alignment<'_> {
    fn n_rows(&self) -> usize {
        self.rows.len() / self.dim
    }

    fn n_corners(&self) -> usize {
        self.corners.len() / self.dim
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.rows[i * self.dim..(i + 1) * self.dim]
    }

    /// Alternates from given labels until they no longer change, the sum grows by less than a share of itself, or the steps
    /// run out.
    pub(super) fn solve(&self, mut labels: Vec<u32>, max_iterations: usize, growth: f64) -> Result<Aligned> {
        // Sums are never negative.
        let mut objective = -1.0_f64;
        let mut directions = Vec::new();
        for _ in 0..max_iterations {
            let (rotation, sum) = polar(&self.moments(&labels), self.dim)?;
            let has_grown = sum > objective + growth * objective.abs();
            objective = objective.max(sum);
            directions = self.directions(&rotation);
            let next = self.assign(&directions);
            let is_changed = next != labels;
            labels = next;
            if !is_changed || !has_grown {
                break;
            }
        }
        self.refill_empty(&directions, &mut labels);
        Ok(Aligned { labels, directions })
    }

    /// The largest sum that any rotation reaches with given labels.
    pub(super) fn objective(&self, labels: &[u32]) -> Result<f64> {
        Ok(polar(&self.moments(labels), self.dim)?.1)
    }

    /// The direction with the largest product for each row, the first on ties.
    pub(super) fn assign(&self, directions: &[f64]) -> Vec<u32> {
        const BLOCK: usize = 512;
        let n_directions = directions.len() / self.dim;
        let width = n_directions.next_multiple_of(PADDED);
        let mut across = vec![0.0; self.dim * width];
        for (l, direction) in directions.chunks_exact(self.dim).enumerate() {
            direction.iter().enumerate().for_each(|(d, &x)| across[d * width + l] = x);
        }
        let mut start = vec![0.0; n_directions];
        start.resize(width, f64::NEG_INFINITY);
        let mut labels = vec![0; self.n_rows()];
        parallel::for_each_chunk(&mut labels, BLOCK, |block, labels| {
            let rows = &self.rows[block * BLOCK * self.dim..];
            simd::widest(Largest { rows, dim: self.dim, across: &across, start: &start, labels });
        });
        labels
    }

    /// Σᵢ ωᵢ zᵢ v_{l(i)}ᵀ, row by row.
    fn moments(&self, labels: &[u32]) -> Vec<f64> {
        let (dim, size) = (self.dim, self.corners.len());
        let block = SUM_BLOCK.max(self.n_corners());
        let partial = parallel::map(self.n_rows().div_ceil(block), |b| {
            let mut sums = vec![0.0; size];
            for i in b * block..((b + 1) * block).min(self.n_rows()) {
                let weight = self.weights.map_or(1.0, |w| w[i]);
                let sum = &mut sums[labels[i] as usize * dim..][..dim];
                sum.iter_mut().zip(self.row(i)).for_each(|(s, z)| *s += weight * z);
            }
            sums
        });
        let mut sums = vec![0.0; size];
        for part in partial {
            sums.iter_mut().zip(part).for_each(|(total, s)| *total += s);
        }
        let mut moments = vec![0.0; dim * dim];
        for (sum, corner) in sums.chunks_exact(dim).zip(self.corners.chunks_exact(dim)) {
            for (a, s) in sum.iter().enumerate() {
                for (b, v) in corner.iter().enumerate() {
                    moments[a * dim + b] += s * v;
                }
            }
        }
        moments
    }

    /// The turned corners R v_l, row by row.
    fn directions(&self, rotation: &[f64]) -> Vec<f64> {
        let turn = |corner| rotation.chunks_exact(self.dim).map(move |row| dot(row, corner));
        self.corners.chunks_exact(self.dim).flat_map(turn).collect()
    }

    /// Gives each empty part the row, out of parts that can spare one, that loses least by the change.
    fn refill_empty(&self, directions: &[f64], labels: &mut [u32]) {
        let mut counts = vec![0_usize; self.n_corners()];
        for &l in labels.iter() {
            counts[l as usize] += 1;
        }
        for empty in 0..counts.len() {
            if counts[empty] > 0 {
                continue;
            }
            let direction = |l: usize| &directions[l * self.dim..(l + 1) * self.dim];
            let mut best: Option<(f64, usize)> = None;
            for (i, &l) in labels.iter().enumerate().filter(|&(_, &l)| counts[l as usize] > 1) {
                let loss = dot(self.row(i), direction(l as usize)) - dot(self.row(i), direction(empty));
                if best.is_none_or(|(lowest, _)| loss < lowest) {
                    best = Some((loss, i));
                }
            }
            let Some((_, i)) = best else { return };
            counts[labels[i] as usize] -= 1;
            counts[empty] = 1;
            labels[i] = empty as u32;
        }
    }
}

/// The direction with the largest product for some rows.
struct Largest<'a> {
    rows: &'a [f64],
    dim: usize,
    /// The directions, coordinate by coordinate, each padded to the length of `start`.
    across: &'a [f64],
    /// What the products start from: 0, and −∞ where there is no direction.
    start: &'a [f64],
    labels: &'a mut [u32],
}

impl pulp::WithSimd for Largest<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        let Self { dim, start, .. } = self;
        let mut products = vec![0.0; TILE * start.len()];
        for (rows, labels) in self.rows.chunks(TILE * dim).zip(self.labels.chunks_mut(TILE)) {
            if let Ok(labels) = <&mut [u32; TILE]>::try_from(&mut *labels) {
                let rows: [&[f64]; TILE] = std::array::from_fn(|r| &rows[r * dim..][..dim]);
                multiply(simd, rows, self.across, start, &mut products);
                for (label, products) in labels.iter_mut().zip(products.chunks_exact(start.len())) {
                    *label = largest(products);
                }
            } else {
                for (row, label) in rows.chunks_exact(dim).zip(labels) {
                    multiply(simd, [row], self.across, start, &mut products);
                    *label = largest(&products[..start.len()]);
                }
            }
        }
    }
}

/// The products of some rows with all directions, each summed in the order of the coordinates.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the choice of vector instructions must reach the loop")]
fn multiply<S: pulp::Simd, const R: usize>(
    simd: S,
    rows: [&[f64]; R],
    across: &[f64],
    start: &[f64],
    products: &mut [f64],
) {
    let (across, start) = (f64::lanes(simd, across).0, f64::lanes(simd, start).0);
    let width = start.len();
    let products = f64::lanes_mut(simd, products).0;
    for pair in (0..width).step_by(2) {
        let mut sums = [[start[pair], start[pair + 1]]; R];
        for (d, directions) in across.chunks_exact(width).enumerate() {
            let (a, b) = (directions[pair], directions[pair + 1]);
            for (sums, row) in sums.iter_mut().zip(rows) {
                let x = f64::spread(simd, row[d]);
                *sums = [f64::multiply_add(simd, x, a, sums[0]), f64::multiply_add(simd, x, b, sums[1])];
            }
        }
        for (products, sums) in products.chunks_exact_mut(width).zip(sums) {
            products[pair..pair + 2].copy_from_slice(&sums);
        }
    }
}

/// Where the largest of some products is, the first on ties.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the choice of vector instructions must reach the loop")]
fn largest(products: &[f64]) -> u32 {
    let (mut best, mut at) = ([f64::NEG_INFINITY; PADDED], [0_u64; PADDED]);
    for (c, products) in products.chunks_exact(PADDED).enumerate() {
        for l in 0..PADDED {
            let is_larger = products[l] > best[l];
            best[l] = if is_larger { products[l] } else { best[l] };
            at[l] = if is_larger { (c * PADDED + l) as u64 } else { at[l] };
        }
    }
    let mut half = PADDED / 2;
    while half > 0 {
        for l in 0..half {
            let (other, place) = (best[l + half], at[l + half]);
            let is_larger = other > best[l] || (other == best[l] && place < at[l]);
            best[l] = if is_larger { other } else { best[l] };
            at[l] = if is_larger { place } else { at[l] };
        }
        half /= 2;
    }
    at[0] as u32
}

/// The corners of a regular simplex: `k` unit vectors of `k` − 1 coordinates, row by row, each pair with product
/// −1/(k − 1). (A multiple of Helmert's matrix.)
pub(super) fn simplex(k: usize) -> Vec<f64> {
    let dim = k - 1;
    let length = (k as f64 / dim as f64).sqrt();
    let mut corners = vec![0.0; k * dim];
    for j in 0..dim {
        let step = length / (((j + 1) * (j + 2)) as f64).sqrt();
        (0..=j).for_each(|l| corners[l * dim + j] = step);
        corners[(j + 1) * dim + j] = -step * (j + 1) as f64;
    }
    corners
}

/// U Vᵀ of the singular value decomposition U S Vᵀ, row by row, and tr S.
fn polar(matrix: &[f64], dim: usize) -> Result<(Vec<f64>, f64)> {
    let matrix = faer::Mat::from_fn(dim, dim, |i, j| matrix[i * dim + j]);
    let failed = |_| Error::EigenNotConverged { iterations: 0, residual: f64::INFINITY, tol: f64::EPSILON };
    let svd = matrix.svd().map_err(failed)?;
    let (u, s, v) = (svd.U(), svd.S(), svd.V());
    let entry = |i: usize, j: usize| (0..dim).map(|l| u[(i, l)] * v[(j, l)]).sum();
    let rotation = (0..dim * dim).map(|e| entry(e / dim, e % dim)).collect();
    Ok((rotation, (0..dim).map(|l| s[l]).sum()))
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_simplex_is_regular() {
        for k in 2..12 {
            let corners = simplex(k);
            let corner = |l: usize| &corners[l * (k - 1)..(l + 1) * (k - 1)];
            for a in 0..k {
                for b in 0..k {
                    let expected = if a == b { 1.0 } else { -1.0 / (k - 1) as f64 };
                    assert!((dot(corner(a), corner(b)) - expected).abs() < 1e-14);
                }
            }
        }
    }

    #[test]
    fn the_polar_factor_is_orthogonal_and_best() {
        let mut random = Random::new(3);
        for dim in 1..8 {
            let matrix: Vec<f64> = (0..dim * dim).map(|_| random.normal()).collect();
            let (rotation, trace) = polar(&matrix, dim).unwrap();
            for a in rotation.chunks_exact(dim).enumerate() {
                for b in rotation.chunks_exact(dim).enumerate() {
                    let expected = f64::from(u8::from(a.0 == b.0));
                    assert!((dot(a.1, b.1) - expected).abs() < 1e-13);
                }
            }
            assert!((dot(&rotation, &matrix) - trace).abs() < 1e-12);
            let other: Vec<f64> = (0..dim * dim).map(|_| random.normal()).collect();
            let (other, _) = polar(&other, dim).unwrap();
            assert!(dot(&other, &matrix) <= trace + 1e-12);
        }
        assert_eq!(polar(&[0.0; 9], 3).unwrap().1, 0.0);
    }

    #[test]
    fn the_sum_never_falls_and_every_corner_is_taken() {
        let mut random = Random::new(4);
        for k in 2..8 {
            let (n, dim) = (60, k - 1);
            let rows: Vec<f64> = (0..n * dim).map(|_| random.normal()).collect();
            let weights: Vec<f64> = (0..n).map(|_| 0.1 + random.uniform()).collect();
            let corners = simplex(k);
            let alignment = Alignment { rows: &rows, dim, corners: &corners, weights: Some(&weights) };
            let start: Vec<u32> = (0..n).map(|i| (i % k) as u32).collect();
            let mut before = 0.0;
            for steps in 1..20 {
                let end = alignment.solve(start.clone(), steps, 0.0).unwrap();
                let sum = alignment.objective(&alignment.assign(&end.directions)).unwrap();
                assert!(sum >= before * (1.0 - 1e-14));
                before = sum;
                assert!((0..k as u32).all(|l| end.labels.contains(&l)));
            }
        }
    }

    #[test]
    fn every_row_takes_the_direction_with_the_largest_product() {
        let mut random = Random::new(9);
        for (n, dim, k) in [(1, 1, 2), (700, 3, 4), (1100, 8, 8), (600, 24, 25)] {
            let mut numbers = |count: usize| (0..count).map(|_| random.normal()).collect::<Vec<f64>>();
            let (rows, directions) = (numbers(n * dim), numbers(k * dim));
            let alignment = Alignment { rows: &rows, dim, corners: &directions, weights: None };
            let naive = rows.chunks_exact(dim).map(|row| {
                let products: Vec<f64> = directions.chunks_exact(dim).map(|d| dot(row, d)).collect();
                (0..k).fold(0, |best, l| if products[l] > products[best] { l } else { best }) as u32
            });
            assert_eq!(alignment.assign(&directions), naive.collect::<Vec<u32>>());
        }
    }

    #[test]
    fn an_empty_part_takes_the_row_that_minds_least() {
        let rows = [1.0, 0.0, 1.0, 0.1, 0.9, 0.4];
        let alignment = Alignment { rows: &rows, dim: 2, corners: &[1.0, 0.0, 0.0, 1.0], weights: None };
        let mut labels = vec![0, 0, 0];
        alignment.refill_empty(&[1.0, 0.0, 0.0, 1.0], &mut labels);
        assert_eq!(labels, vec![0, 0, 1]);
    }
}
