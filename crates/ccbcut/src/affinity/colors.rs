//! Colours of pixels and the weights between them, many pairs at a time.

use std::sync::Arc;

use pulp::{Simd, WithSimd};

use super::exp::{exp_of_negative, exp_of_negatives};
use crate::{
    error::Result,
    graph::{Graph, PairWeights, Recipe},
    image::Image,
    parallel, simd,
};

/// Steps of five pixels in four directions: the pairs that an adaptive kernel is measured on.
pub(super) const STEPS: [(usize, isize); 4] = [(0, 5), (3, 4), (4, -3), (5, 0)];

/// Smallest distance of the released kernel, on colours coded in [0, 1].
pub(super) const RELEASED_FLOOR: f32 = 1e-4;

/// Three planes of colour, and which pixels count.
pub(super) struct Colors {
    height: usize,
    width: usize,
    planes: [Vec<f32>; 3],
    mask: Option<Vec<bool>>,
}

impl Colors {
    pub(super) fn new(image: &Image, mask: Option<&[bool]>) -> Self {
        let mask = mask.map(<[bool]>::to_vec);
        let planes = [0, 1, 2].map(|ch| image.data().chunks_exact(3).map(|p| p[ch]).collect());
        Self { height: image.height(), width: image.width(), planes, mask }
    }

    /// Sets weights from the ‖difference‖² of the pairs (p, q), (p + 1, q + 1), …
    fn fill<W: Weight>(&self, p: usize, q: usize, weights: &mut [f32], weight: &W) {
        let planes = self.planes.each_ref().map(|plane| (&plane[p..], &plane[q..]));
        simd::widest(Fill { planes, weights, weight });
    }

    /// Calls `f(k)` for the pairs (p + k, q + k), k < `len`, one end of which does not count.
    fn for_each_masked(&self, p: usize, q: usize, len: usize, f: impl FnMut(usize)) {
        if let Some(mask) = &self.mask {
            (0..len).filter(|k| !(mask[p + k] && mask[q + k])).for_each(f);
        }
    }

    /// The pairs (p + k, q + k), k < len, of the pixels of a row and those at an offset from them: (p, q, len).
    fn pairs_of_row(&self, r: usize, (dr, dc): (usize, isize)) -> Option<(usize, usize, usize)> {
        let (height, width) = (self.height, self.width);
        (r + dr < height && dc.unsigned_abs() < width).then(|| {
            let (first, len) = ((-dc).max(0) as usize, width - dc.unsigned_abs());
            (r * width + first, (r + dr) * width + first.wrapping_add_signed(dc), len)
        })
    }

    /// The largest ‖difference‖² of two pixels at one of the offsets; 0 where there is no pair.
    pub(super) fn largest_squared_distance(&self, offsets: &[(usize, isize)]) -> f32 {
        let width = self.width;
        let per_row = parallel::map(self.height, |r| {
            // As many maxima as there are columns, so that none waits for another.
            let mut largest = vec![0.0_f32; width];
            let mut squared = vec![0.0_f32; width];
            for (p, q, len) in offsets.iter().filter_map(|&offset| self.pairs_of_row(r, offset)) {
                self.fill(p, q, &mut squared[..len], &Squared);
                self.for_each_masked(p, q, len, |k| squared[k] = 0.0);
                for (largest, &d) in largest.iter_mut().zip(&squared[..len]) {
                    *largest = if d > *largest { d } else { *largest };
                }
            }
            largest.into_iter().fold(0.0, f32::max)
        });
        per_row.into_iter().fold(0.0, f32::max)
    }

    /// The median distance of pixels five apart; where the image is too small for that, of neighbours; 0 without any.
    pub(super) fn median_distance(&self) -> f32 {
        let mut found = self.distances(&STEPS);
        if found.is_empty() {
            found = self.distances(&[(0, 1), (1, 0)]);
        }
        if found.is_empty() {
            return 0.0;
        }
        let middle = found.len() / 2;
        *found.select_nth_unstable_by(middle, f32::total_cmp).1
    }

    /// ‖difference‖ of all pairs at the offsets that count.
    fn distances(&self, offsets: &[(usize, isize)]) -> Vec<f32> {
        let mut all = Vec::new();
        for r in 0..self.height {
            for (p, q, len) in offsets.iter().filter_map(|&offset| self.pairs_of_row(r, offset)) {
                let counts = |k: &usize| self.mask.as_ref().is_none_or(|mask| mask[p + k] && mask[q + k]);
                let distance = |k: usize| {
                    let parts = self.planes.each_ref().map(|plane| plane[p + k] - plane[q + k]);
                    parts.iter().map(|d| d * d).sum::<f32>().sqrt()
                };
                all.extend((0..len).filter(counts).map(distance));
            }
        }
        all
    }

    pub(super) fn graph<W: Weight + Send + 'static>(
        self,
        offsets: Vec<(usize, isize)>,
        weight: W,
        is_kept: bool,
    ) -> Result<Graph> {
        let (height, width) = (self.height, self.width);
        if is_kept {
            let fill = |p: usize, q: usize, weights: &mut [f32]| self.fill_masked(p, q, weights, &weight);
            return Graph::from_stencil_rows(height, width, offsets, fill);
        }
        let alternate = self.alternate();
        let pairs = Arc::new(Pairs { colors: self, alternate, weight });
        Graph::from_recipe(&Recipe { height, width, offsets, pairs })
    }

    /// As [`Colors::fill`], zero where a pixel does not count.
    fn fill_masked<W: Weight>(&self, p: usize, q: usize, weights: &mut [f32], weight: &W) {
        self.fill(p, q, weights, weight);
        self.for_each_masked(p, q, weights.len(), |k| weights[k] = 0.0);
    }

    /// The same colours with the even columns of each row first.
    fn alternate(&self) -> Self {
        fn sorted<T: Copy>(values: &[T], width: usize) -> Vec<T> {
            let row = |row: &[T]| -> Vec<T> {
                [0, 1].into_iter().flat_map(|odd| row.iter().skip(odd).step_by(2).copied()).collect()
            };
            values.chunks(width.max(1)).flat_map(row).collect()
        }
        Self {
            height: self.height,
            width: self.width,
            planes: self.planes.each_ref().map(|plane| sorted(plane, self.width)),
            mask: self.mask.as_ref().map(|mask| sorted(mask, self.width)),
        }
    }
}

/// Weights that are found whenever they are needed.
struct Pairs<W> {
    colors: Colors,
    alternate: Colors,
    weight: W,
}

impl<W: Weight + Send> PairWeights for Pairs<W> {
    fn fill(&self, p: usize, q: usize, weights: &mut [f32]) {
        self.colors.fill_masked(p, q, weights, &self.weight);
    }

    fn fill_alternate(&self, p: usize, q: usize, weights: &mut [f32]) {
        self.alternate.fill_masked(p, q, weights, &self.weight);
    }
}

/// What becomes of a squared distance.
pub(super) trait Weight: Sync {
    fn of(&self, squared: f32) -> f32;

    /// The same for a register of them, to the last bit.
    fn of_register<S: Simd>(&self, simd: S, squared: S::f32s) -> S::f32s;
}

struct Squared;

impl Weight for Squared {
    #[inline(always)]
    fn of(&self, squared: f32) -> f32 {
        squared
    }

    #[inline(always)]
    fn of_register<S: Simd>(&self, _: S, squared: S::f32s) -> S::f32s {
        squared
    }
}

pub(super) struct GaussianWeight {
    rate: f32,
}

impl GaussianWeight {
    pub(super) fn new(sigma: f64) -> Self {
        // Clamped, so that a tiny σ leaves 0 · ∞ out of it: equal colours stay tied by 1.
        Self { rate: (1.0 / (sigma * sigma)).min(f64::from(f32::MAX)) as f32 }
    }
}

impl Weight for GaussianWeight {
    #[inline(always)]
    fn of(&self, squared: f32) -> f32 {
        exp_of_negative(-self.rate * squared)
    }

    #[inline(always)]
    fn of_register<S: Simd>(&self, simd: S, squared: S::f32s) -> S::f32s {
        exp_of_negatives(simd, simd.mul_f32s(simd.splat_f32s(-self.rate), squared))
    }
}

pub(super) struct ReleasedWeight {
    pub(super) rate: f32,
}

impl Weight for ReleasedWeight {
    #[inline(always)]
    fn of(&self, squared: f32) -> f32 {
        exp_of_negative(-self.rate * squared.sqrt().max(RELEASED_FLOOR))
    }

    #[inline(always)]
    fn of_register<S: Simd>(&self, simd: S, squared: S::f32s) -> S::f32s {
        let distance = simd.max_f32s(simd.sqrt_f32s(squared), simd.splat_f32s(RELEASED_FLOOR));
        exp_of_negatives(simd, simd.mul_f32s(simd.splat_f32s(-self.rate), distance))
    }
}

/// The loop of [`Colors::fill`].
struct Fill<'a, W> {
    planes: [(&'a [f32], &'a [f32]); 3],
    weights: &'a mut [f32],
    weight: &'a W,
}

impl<W: Weight> WithSimd for Fill<'_, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let len = self.weights.len();
        let planes = self.planes.map(|(a, b)| (S::as_simd_f32s(&a[..len]), S::as_simd_f32s(&b[..len])));
        let (weights, last) = S::as_mut_simd_f32s(self.weights);
        let [(l, m), (a, b), (c, d)] = planes.map(|(a, b)| (&a.0[..weights.len()], &b.0[..weights.len()]));
        for (k, w) in weights.iter_mut().enumerate() {
            let square = |a: S::f32s, b: S::f32s| {
                let difference = simd.sub_f32s(a, b);
                simd.mul_f32s(difference, difference)
            };
            let sum = simd.add_f32s(square(l[k], m[k]), square(a[k], b[k]));
            *w = self.weight.of_register(simd, simd.add_f32s(sum, square(c[k], d[k])));
        }
        let [(l, m), (a, b), (c, d)] = planes.map(|(a, b)| (&a.1[..last.len()], &b.1[..last.len()]));
        for (k, w) in last.iter_mut().enumerate() {
            let (x, y, z) = (l[k] - m[k], a[k] - b[k], c[k] - d[k]);
            *w = self.weight.of(x * x + y * y + z * z);
        }
    }
}
