//! Kernel density estimates with a product of Epanechnikov kernels, exactly and without looking at every kernel.
//!
//! p(x) = (1/n) Σ_k Π_d 3/(4 h_d) max(0, 1 − ((x_d − c_kd)/h_d)²) for n kernels with centres c_k and bandwidths h.
//!
//! A kernel is zero beyond h. Centres are sorted into the cells of a grid over three of the dimensions, in the order of
//! the cells, so that a point looks at a few runs of neighbouring cells only.

use std::ops::Range;

use crate::simd;

/// Kernels that are summed side by side.
const LANES: usize = 8;

/// Most cells along an axis of the grid.
const MAX_CELLS: usize = 40;

/// A density in `D` dimensions.
#[derive(Debug, Clone)]
pub(super) struct Density<const D: usize> {
    /// One array per dimension, sorted by cell.
    centres: [Vec<f64>; D],
    bandwidth: [f64; D],
    axes: [Axis; 3],
    /// Where each cell begins; one more at the end.
    starts: Vec<usize>,
}

impl<const D: usize> Density<D> {
    /// The density of some centres, with a grid over three of the dimensions.
    pub(super) fn new(centres: &[[f64; D]], bandwidth: [f64; D], dimensions: [usize; 3]) -> Self {
        let axes = dimensions.map(|d| Axis::new(centres, bandwidth[d], d));
        let cell = |x: &[f64; D]| {
            axes.iter().fold(0, |cell, axis| cell * axis.n_cells + axis.cell(x[axis.dimension]))
        };
        let cells: Vec<usize> = centres.iter().map(cell).collect();
        let mut order: Vec<usize> = (0..centres.len()).collect();
        order.sort_by_key(|&k| cells[k]);
        let mut starts = vec![0; axes.iter().map(|axis| axis.n_cells).product::<usize>() + 1];
        cells.iter().for_each(|&cell| starts[cell + 1] += 1);
        (1..starts.len()).for_each(|cell| starts[cell] += starts[cell - 1]);
        let centres = std::array::from_fn(|d| order.iter().map(|&k| centres[k][d]).collect());
        Self { centres, bandwidth, axes, starts }
    }

    /// Number of kernels.
    pub(super) fn len(&self) -> usize {
        self.centres[0].len()
    }

    /// The largest value that one kernel can have, divided by the number of kernels.
    pub(super) fn unit(&self) -> f64 {
        self.bandwidth.iter().map(|h| 0.75 / h).product::<f64>() / self.len().max(1) as f64
    }

    /// p(x); 0 without kernels.
    pub(super) fn at(&self, x: &[f64; D]) -> f64 {
        self.unit() * self.sum(x)
    }

    /// p(x) without the kernel at x itself, for one of the centres.
    pub(super) fn at_without_itself(&self, x: &[f64; D]) -> f64 {
        let n = self.len() as f64;
        if n < 2.0 { 0.0 } else { self.unit() * n / (n - 1.0) * (self.sum(x) - 1.0).max(0.0) }
    }

    /// Σ_k Π_d max(0, 1 − u²).
    fn sum(&self, x: &[f64; D]) -> f64 {
        simd::widest(Sum { density: self, x })
    }
}

/// The loop of [`Density::sum`].
struct Sum<'a, const D: usize> {
    density: &'a Density<D>,
    x: &'a [f64; D],
}

impl<const D: usize> pulp::NullaryFnOnce for Sum<'_, D> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let (axes, starts) = (&self.density.axes, &self.density.starts);
        let [first, second, third] = axes.each_ref().map(|axis| axis.cells(self.x[axis.dimension]));
        let mut sums = [0.0; LANES];
        for i in first {
            for j in second.clone() {
                let row = (i * axes[1].n_cells + j) * axes[2].n_cells;
                self.add(starts[row + third.start]..starts[row + third.end], &mut sums);
            }
        }
        sums.iter().sum()
    }
}

impl<const D: usize> Sum<'_, D> {
    /// Adds a run of kernels.
    #[inline(always)]
    fn add(&self, run: Range<usize>, sums: &mut [f64; LANES]) {
        let x = self.x;
        let centres: [&[f64]; D] = std::array::from_fn(|d| &self.density.centres[d][run.clone()]);
        let rate: [f64; D] = self.density.bandwidth.map(|h| 1.0 / h);
        let whole = run.len() / LANES * LANES;
        for first in (0..whole).step_by(LANES) {
            let mut product = [1.0; LANES];
            for d in 0..D {
                let centres = &centres[d][first..first + LANES];
                for lane in 0..LANES {
                    product[lane] *= kernel((x[d] - centres[lane]) * rate[d]);
                }
            }
            (0..LANES).for_each(|lane| sums[lane] += product[lane]);
        }
        for k in whole..run.len() {
            let mut product = 1.0;
            for d in 0..D {
                product *= kernel((x[d] - centres[d][k]) * rate[d]);
            }
            sums[k - whole] += product;
        }
    }
}

/// max(0, 1 − u²).
#[inline(always)]
fn kernel(u: f64) -> f64 {
    let value = 1.0 - u * u;
    if value > 0.0 { value } else { 0.0 }
}

/// One axis of the grid: cells at least a bandwidth wide.
#[derive(Debug, Clone, Copy)]
struct Axis {
    dimension: usize,
    low: f64,
    cell_width: f64,
    n_cells: usize,
    bandwidth: f64,
}

impl Axis {
    fn new<const D: usize>(centres: &[[f64; D]], bandwidth: f64, dimension: usize) -> Self {
        let values = centres.iter().map(|x| x[dimension]);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let range = if high > low { high - low } else { 0.0 };
        let cell_width = bandwidth.max(range / MAX_CELLS as f64);
        let n_cells = (range / cell_width) as usize + 1;
        Self { dimension, low: if low.is_finite() { low } else { 0.0 }, cell_width, n_cells, bandwidth }
    }

    /// The cell of a value; those outside belong to the cells at the ends.
    #[inline(always)]
    fn cell(&self, value: f64) -> usize {
        // Casts of negative numbers give 0.
        (((value - self.low) / self.cell_width) as usize).min(self.n_cells - 1)
    }

    /// The cells with centres that a value can be in reach of.
    #[inline(always)]
    fn cells(&self, value: f64) -> Range<usize> {
        self.cell(value - self.bandwidth)..self.cell(value + self.bandwidth) + 1
    }
}

#[cfg(test)]
pub(super) mod naive {
    /// p(x) by its definition.
    pub(in crate::affinity::pmi) fn density<const D: usize>(
        centres: &[[f64; D]],
        bandwidth: [f64; D],
        x: &[f64; D],
    ) -> f64 {
        let factor = |c: f64, x: f64, h: f64| 0.75 / h * (1.0 - ((x - c) / h).powi(2)).max(0.0);
        let sum: f64 =
            centres.iter().map(|c| (0..D).map(|d| factor(c[d], x[d], bandwidth[d])).product::<f64>()).sum();
        sum / centres.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn points<const D: usize>(n: usize, spread: f64, random: &mut Random) -> Vec<[f64; D]> {
        (0..n).map(|_| std::array::from_fn(|_| 0.5 + spread * random.normal())).collect()
    }

    fn compare<const D: usize>(n: usize, bandwidth: [f64; D], spread: f64, dimensions: [usize; 3]) {
        let mut random = Random::new(n as u64);
        let centres = points::<D>(n, spread, &mut random);
        let density = Density::new(&centres, bandwidth, dimensions);
        let mut positive = 0;
        for x in points::<D>(200, 1.2 * spread, &mut random) {
            let (got, want) = (density.at(&x), naive::density(&centres, bandwidth, &x));
            assert!((got - want).abs() <= 1e-12 * want, "{got} {want}");
            positive += usize::from(want > 0.0);
        }
        assert!(positive > 20, "only {positive} of 200 points are near a centre");
    }

    #[test]
    fn the_grid_misses_no_kernel() {
        compare::<3>(500, [0.05; 3], 0.1, [0, 1, 2]);
        compare::<3>(7, [0.3, 0.2, 0.4], 0.1, [2, 1, 0]);
        compare::<6>(2000, [0.05, 0.06, 0.07, 0.05, 0.06, 0.07], 0.04, [0, 3, 1]);
        // Far more bandwidths along an axis than cells.
        compare::<3>(60_000, [0.01; 3], 0.05, [0, 1, 2]);
    }

    #[test]
    fn kernels_end_at_the_bandwidth() {
        let density = Density::new(&[[0.5, 0.5, 0.5]], [0.1; 3], [0, 1, 2]);
        assert!((density.at(&[0.5; 3]) - 7.5_f64.powi(3)).abs() < 1e-9);
        assert_eq!(density.at(&[0.5, 0.5, 0.601]), 0.0);
        assert!(density.at(&[0.5, 0.401, 0.5]) > 0.0);
        assert_eq!(density.at(&[-1e300, 0.5, 1e300]), 0.0);
    }

    #[test]
    fn without_kernels_the_density_is_zero() {
        let density = Density::<3>::new(&[], [0.1; 3], [0, 1, 2]);
        assert_eq!((density.at(&[0.3; 3]), density.len()), (0.0, 0));
    }

    #[test]
    fn a_centre_can_be_left_out() {
        let centres = points::<3>(50, 0.03, &mut Random::new(2));
        let density = Density::new(&centres, [0.05; 3], [0, 1, 2]);
        for (k, x) in centres.iter().enumerate() {
            let others: Vec<[f64; 3]> =
                centres.iter().enumerate().filter(|&(j, _)| j != k).map(|(_, c)| *c).collect();
            let want = naive::density(&others, [0.05; 3], x);
            assert!((density.at_without_itself(x) - want).abs() <= 1e-10 * (want + 1.0));
        }
        let one = Density::new(&centres[..1], [0.05; 3], [0, 1, 2]);
        assert_eq!(one.at_without_itself(&centres[0]), 0.0);
    }
}
