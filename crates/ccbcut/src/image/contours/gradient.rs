//! The oriented gradient of a map of bins: how much the histograms of two half discs differ.
//!
//! A disc of radius ρ around a pixel is cut into 16 wedges. The histogram h_w of each is smoothed over the bins (colour
//! only) by S and divided by what is then its sum; a half disc is the sum of eight of these. With A and B the two
//! halves at orientation o,
//!
//! grad_o = ½ Σ_b (A_b − B_b)² / (A_b + B_b).
//!
//! A + B = T is the same for all orientations. Smoothing is linear and m_w = 1ᵀS h_w is a weighted sum of bins, so that
//! the difference is S applied to D_o, with e_j = h_j/m_j − h_{j+8}/m_{j+8}, D_0 = Σ e_j, D_{o+1} = D_o − 2e_o: nine
//! vectors are smoothed for each pixel, not 16. Histograms are carried along the row from pixel to pixel: of each wedge
//! only the pixels at its two ends change.
//!
//! # References
//! P. Arbeláez, M. Maire, C. Fowlkes, J. Malik, "Contour detection and hierarchical image segmentation", TPAMI 2011.

use super::bins::{BinMap, MAX_BINS};
use crate::simd;

/// Wedges of the disc; orientations are half as many.
const WEDGES: usize = 16;

/// Orientations of an edge, evenly spaced over half a turn.
pub const ORIENTATIONS: usize = WEDGES / 2;

/// Bins the smoothing may reach beyond the histogram, at most.
const REACH: usize = 8;

/// Bins of 25, rounded up to vectors, and of textons; with what smoothing reaches.
const NARROW: usize = 32 + 2 * REACH;
const WIDE: usize = MAX_BINS + 2 * REACH;

/// Bins that are smoothed at a time.
const BLOCK: usize = 16;

/// Partial sums of a dot product, so that none waits for another.
const LANES: usize = 8;

/// Which wedge of a disc of radius ρ each offset is in; `None` outside. Rows and columns from −ρ.
fn wedges(radius: usize) -> Vec<Vec<Option<usize>>> {
    let k = radius as isize;
    let wedge = |dr: isize, dc: isize| (dr * dr + dc * dc <= k * k).then(|| wedge_of(dr, dc));
    (-k..=k).map(|dr| (-k..=k).map(|dc| wedge(dr, dc)).collect()).collect()
}

/// ⌊8 angle/π⌋ of the point half a pixel further down and right, from the row axis towards the column axis. On the
/// diagonals, where rounding would decide, the wedge that begins there.
fn wedge_of(dr: isize, dc: isize) -> usize {
    // Twice the coordinates: odd integers.
    let (x, y) = (2 * dr + 1, 2 * dc + 1);
    if x.abs() == y.abs() {
        return match (x > 0, y > 0) {
            (true, true) => 2,
            (false, true) => 6,
            (false, false) => 10,
            (true, false) => 14,
        };
    }
    let angle = (y as f64).atan2(x as f64).rem_euclid(std::f64::consts::TAU);
    (angle * (WEDGES / 2) as f64 / std::f64::consts::PI) as usize % WEDGES
}

/// Where the pixels of a disc are, as steps from its centre in a mirrored map, and which histogram each counts in.
struct Disc {
    all: Vec<(isize, usize)>,
    enter: Vec<(isize, usize)>,
    leave: Vec<(isize, usize)>,
    /// Pixels in each wedge.
    sizes: [f32; WEDGES],
}

impl Disc {
    /// `stride` is the width of the mirrored map, `n` the room for the bins of a wedge.
    fn new(radius: usize, stride: usize, n: usize) -> Self {
        let wedges = wedges(radius);
        let k = radius as isize;
        let at =
            |r: usize, c: isize| usize::try_from(c).ok().and_then(|c| wedges[r].get(c).copied().flatten());
        let mut disc = Self { all: Vec::new(), enter: Vec::new(), leave: Vec::new(), sizes: [0.0; WEDGES] };
        for (r, c) in (0..wedges.len()).flat_map(|r| (0..wedges.len() as isize).map(move |c| (r, c))) {
            let Some(wedge) = at(r, c) else { continue };
            let step = (r as isize - k) * stride as isize + c - k;
            disc.all.push((step, wedge * n));
            disc.sizes[wedge] += 1.0;
            if at(r, c + 1) != Some(wedge) {
                disc.enter.push((step, wedge * n));
            }
            // Seen from the new centre, what leaves lies one to the left.
            if at(r, c - 1) != Some(wedge) {
                disc.leave.push((step - 1, wedge * n));
            }
        }
        disc
    }
}

/// Smoothing over the bins of a histogram.
struct Smoothing {
    /// At −reach, …, reach, REACH in the middle; 1 in the middle and 0 elsewhere for no smoothing.
    taps: [f32; 2 * REACH + 1],
    reach: usize,
}

impl Smoothing {
    /// A Gaussian with a sum of 1, `sigma` in bins; 0 for none.
    fn new(sigma: f64) -> Self {
        let reach = ((3.0 * sigma).ceil() as usize).min(REACH);
        let mut taps = [0.0; 2 * REACH + 1];
        let weight = |x: isize| if x == 0 { 1.0 } else { (-(x * x) as f64 / (2.0 * sigma * sigma)).exp() };
        let reach_ = reach as isize;
        let total: f64 = (-reach_..=reach_).map(weight).sum();
        for x in -reach_..=reach_ {
            taps[(REACH as isize + x) as usize] = (weight(x) / total) as f32;
        }
        Self { taps, reach }
    }

    /// What is left of the mass of each bin within a histogram of `n_bins`.
    fn kept<const N: usize>(&self, n_bins: usize) -> [f32; N] {
        let tap = |b: usize, x: usize| self.taps[REACH + x - b];
        let inside = |b: usize| (0..n_bins).filter(move |&x| x.abs_diff(b) <= self.reach);
        std::array::from_fn(|b| if b < n_bins { inside(b).map(|x| tap(b, x)).sum() } else { 0.0 })
    }
}

/// The gradients of a map of bins at one radius.
pub(super) struct Gradient {
    map: BinMap,
    radius: usize,
    n_bins: usize,
    smoothing: Smoothing,
}

impl Gradient {
    /// `sigma` is the smoothing of the histograms in bins, 0 for none.
    pub(super) fn new(map: &BinMap, radius: usize, sigma: f64) -> Self {
        let smoothing = Smoothing::new(sigma);
        Self { map: map.mirrored(radius), radius, n_bins: map.n_bins(), smoothing }
    }

    /// Adds `weight` times the gradients of a row of pixels to `out`: one row for each orientation.
    pub(super) fn add_row(&self, row: usize, weight: f32, out: &mut [f32]) {
        match (self.n_bins <= 32, self.smoothing.reach) {
            (true, 0) => self.add_row_of::<32, NARROW, 0>(row, weight, out),
            (true, 1..=4) => self.add_row_of::<32, NARROW, 4>(row, weight, out),
            (true, _) => self.add_row_of::<32, NARROW, REACH>(row, weight, out),
            (false, 0) => self.add_row_of::<MAX_BINS, WIDE, 0>(row, weight, out),
            (false, _) => self.add_row_of::<MAX_BINS, WIDE, REACH>(row, weight, out),
        }
    }

    /// With room for N bins, P with those that smoothing reaches, and smoothing that reaches R bins far.
    fn add_row_of<const N: usize, const P: usize, const R: usize>(
        &self,
        row: usize,
        weight: f32,
        out: &mut [f32],
    ) {
        let stride = self.map.width();
        let width = stride - 2 * self.radius;
        let disc = Disc::new(self.radius, stride, N);
        let compare = Compare::<N, P, R>::new(self, &disc);
        let bins = self.map.as_slice();
        let mut counts = vec![0_u32; WEDGES * N];
        for column in 0..width {
            let center = (row + self.radius) * stride + self.radius + column;
            let bin =
                |&(step, base): &(isize, usize)| base + usize::from(bins[center.wrapping_add_signed(step)]);
            if column == 0 {
                disc.all.iter().for_each(|at| counts[bin(at)] += 1);
            } else {
                disc.leave.iter().for_each(|at| counts[bin(at)] -= 1);
                disc.enter.iter().for_each(|at| counts[bin(at)] += 1);
            }
            let gradients = simd::widest(Gradients { compare: &compare, counts: &counts });
            for (o, gradient) in gradients.iter().enumerate() {
                out[o * width + column] += weight * gradient;
            }
        }
    }
}

/// The call of [`Compare::gradients`], for vector instructions.
struct Gradients<'a, const N: usize, const P: usize, const R: usize> {
    compare: &'a Compare<N, P, R>,
    counts: &'a [u32],
}

impl<const N: usize, const P: usize, const R: usize> pulp::NullaryFnOnce for Gradients<'_, N, P, R> {
    type Output = [f32; ORIENTATIONS];

    #[inline(always)]
    fn call(self) -> [f32; ORIENTATIONS] {
        self.compare.gradients(self.counts)
    }
}

/// From the histograms of wedges to gradients.
struct Compare<const N: usize, const P: usize, const R: usize> {
    taps: [f32; 2 * REACH + 1],
    /// What each count of a bin adds to the mass of its histogram.
    kept: [f32; N],
    /// 1 for the bins that are there.
    is_bin: [f32; N],
    /// One over the masses, where smoothing does not change them.
    scales: [f32; WEDGES],
}

impl<const N: usize, const P: usize, const R: usize> Compare<N, P, R> {
    fn new(gradient: &Gradient, disc: &Disc) -> Self {
        let is_bin = std::array::from_fn(|b| if b < gradient.n_bins { 1.0 } else { 0.0 });
        let scales = disc.sizes.map(|size| if size > 0.0 { 1.0 / size } else { 0.0 });
        let kept = gradient.smoothing.kept::<N>(gradient.n_bins);
        Self { taps: gradient.smoothing.taps, kept, is_bin, scales }
    }

    #[inline(always)]
    fn gradients(&self, counts: &[u32]) -> [f32; ORIENTATIONS] {
        let mut scales = self.scales;
        if R > 0 {
            for (scale, counts) in scales.iter_mut().zip(counts.chunks_exact(N)) {
                *scale = self.scale(counts);
            }
        }
        let mut total = [0.0_f32; P];
        let mut differences = [[0.0_f32; N]; ORIENTATIONS];
        let (one, other) = counts.split_at(ORIENTATIONS * N);
        for (j, difference) in differences.iter_mut().enumerate() {
            let (one, other) = (&one[j * N..][..N], &other[j * N..][..N]);
            let mut part = [0.0_f32; P];
            for b in 0..N {
                let (x, y) = (one[b] as f32 * scales[j], other[b] as f32 * scales[j + ORIENTATIONS]);
                part[REACH + b] = x - y;
                total[REACH + b] += x + y;
            }
            *difference = self.smoothed(&part);
        }
        // One half over A + B; 0 where there is nothing to compare.
        let total = self.smoothed(&total);
        let mut inverse = [0.0_f32; N];
        for b in 0..N {
            inverse[b] = if total[b] > 0.0 { 0.5 * self.is_bin[b] / total[b] } else { 0.0 };
        }
        let mut whole = [0.0_f32; N];
        for difference in &differences {
            whole.iter_mut().zip(difference).for_each(|(sum, v)| *sum += v);
        }
        let mut gradients = [0.0_f32; ORIENTATIONS];
        for (gradient, difference) in gradients.iter_mut().zip(&differences) {
            let mut sums = [0.0_f32; LANES];
            for block in 0..N / LANES {
                for lane in 0..LANES {
                    let b = block * LANES + lane;
                    sums[lane] += whole[b] * whole[b] * inverse[b];
                    whole[b] -= 2.0 * difference[b];
                }
            }
            *gradient = sums.iter().sum();
        }
        gradients
    }

    /// One over the mass of a smoothed histogram; 0 for an empty one.
    #[inline(always)]
    fn scale(&self, counts: &[u32]) -> f32 {
        let mut sums = [0.0_f32; LANES];
        for (counts, kept) in counts.chunks_exact(LANES).zip(self.kept.chunks_exact(LANES)) {
            for lane in 0..LANES {
                sums[lane] += counts[lane] as f32 * kept[lane];
            }
        }
        let mass: f32 = sums.iter().sum();
        if mass > 0.0 { 1.0 / mass } else { 0.0 }
    }

    #[inline(always)]
    fn smoothed(&self, padded: &[f32; P]) -> [f32; N] {
        let mut out = [0.0_f32; N];
        if R == 0 {
            out.copy_from_slice(&padded[REACH..REACH + N]);
            return out;
        }
        // As many bins as stay in registers while all taps pass.
        for (block, out) in out.chunks_exact_mut(BLOCK).enumerate() {
            let mut sums = [0.0_f32; BLOCK];
            for x in REACH - R..=REACH + R {
                let from = &padded[block * BLOCK + x..][..BLOCK];
                for lane in 0..BLOCK {
                    sums[lane] += self.taps[x] * from[lane];
                }
            }
            out.copy_from_slice(&sums);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// The definition, pixel by pixel and wedge by wedge, in 64 bits.
    fn naive(map: &BinMap, radius: usize, sigma: f64, row: usize, column: usize) -> Vec<f64> {
        let mirrored = map.mirrored(radius);
        let n_bins = map.n_bins();
        let mut histograms = vec![vec![0.0; n_bins]; WEDGES];
        let k = radius as isize;
        for (dr, dc) in (-k..=k).flat_map(|dr| (-k..=k).map(move |dc| (dr, dc))) {
            if dr * dr + dc * dc <= k * k {
                let (r, c) = ((row as isize + k + dr) as usize, (column as isize + k + dc) as usize);
                let bin = mirrored.as_slice()[r * mirrored.width() + c];
                histograms[wedge_of(dr, dc)][usize::from(bin)] += 1.0;
            }
        }
        let reach = (3.0 * sigma).ceil() as isize;
        let gauss =
            |x: isize| if sigma == 0.0 { 1.0 } else { (-(x * x) as f64 / (2.0 * sigma * sigma)).exp() };
        let sum: f64 = (-reach..=reach).map(gauss).sum();
        let smooth = |h: &Vec<f64>| -> Vec<f64> {
            let at = |b: isize| usize::try_from(b).ok().and_then(|b| h.get(b)).copied().unwrap_or(0.0);
            let bins = 0..n_bins as isize;
            let out: Vec<f64> =
                bins.map(|b| (-reach..=reach).map(|x| gauss(x) / sum * at(b + x)).sum()).collect();
            let mass: f64 = out.iter().sum();
            out.iter().map(|v| if mass > 0.0 { v / mass } else { 0.0 }).collect()
        };
        let histograms: Vec<Vec<f64>> = histograms.iter().map(smooth).collect();
        let half =
            |first: usize, b: usize| -> f64 { (first..first + 8).map(|w| histograms[w % 16][b]).sum() };
        let term = |o: usize, b: usize| {
            let (x, y) = (half(o, b), half(o + 8, b));
            if x == y { 0.0 } else { (x - y).powi(2) / (x + y) }
        };
        (0..8).map(|o| 0.5 * (0..n_bins).map(|b| term(o, b)).sum::<f64>()).collect()
    }

    #[test]
    fn gradients_follow_the_definition() {
        let mut random = Random::new(1);
        for (n_bins, sigma, radius) in
            [(25, 2.5, 3), (25, 1.25, 5), (7, 1.25, 10), (64, 0.0, 5), (40, 0.0, 20)]
        {
            let (height, width) = (9, 14);
            // Half of it calm, half busy.
            let bin =
                |p: usize, random: &mut Random| if p % width < 7 { 2 } else { random.below(n_bins) as u8 };
            let bins = (0..height * width).map(|p| bin(p, &mut random)).collect();
            let map = BinMap::new(height, width, bins).unwrap();
            let gradient = Gradient::new(&map, radius, sigma);
            for row in [0, 4, 8] {
                let mut out = vec![1.0; 8 * width];
                gradient.add_row(row, 2.0, &mut out);
                for column in [0, 1, 6, 7, 13] {
                    for (o, want) in naive(&map, radius, sigma, row, column).iter().enumerate() {
                        let got = f64::from(out[o * width + column] - 1.0) / 2.0;
                        assert!(
                            (got - want).abs() < 3e-6,
                            "{n_bins} bins, orientation {o}: {got}, not {want}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn orientation_0_answers_a_vertical_edge() {
        let bins = (0..400).map(|p| u8::from(p % 20 >= 10)).collect();
        let gradient = Gradient::new(&BinMap::new(20, 20, bins).unwrap(), 5, 0.0);
        let mut out = vec![0.0; 8 * 20];
        gradient.add_row(10, 1.0, &mut out);
        let at = |o: usize| out[o * 20 + 10];
        assert!(at(0) > 6.0 && (1..8).all(|o| at(o) < at(0)) && at(4) < 0.5);
    }

    #[test]
    fn wedges_are_even_and_diagonals_belong_to_the_wedge_that_begins_there() {
        assert_eq!([(0, 0), (-1, 0), (-1, -1), (0, -1)].map(|(r, c)| wedge_of(r, c)), [2, 6, 10, 14]);
        let sizes = Disc::new(20, 100, 64).sizes;
        assert_eq!(sizes.iter().sum::<f32>(), 1257.0);
        assert!(sizes.iter().all(|s| (60.0..100.0).contains(s)));
    }
}
