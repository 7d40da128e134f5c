//! Smoothing along an edge: the value at the centre of the parabola that fits best.
//!
//! Around a pixel lies an ellipse, long (ρ) across the disc's diameter and narrow (ρ/4) along it. Over its pixels inside
//! the image z ≈ c₀ + c₁d + c₂d² is fitted by least squares, with d the coordinate along the long axis; c₀ is the new value. It is a linear
//! filter: with dₙ the n-th moments and vₙ = Σ dⁿz,
//!
//! c₀ = ((d₂d₄ − d₃²) v₀ + (d₂d₃ − d₁d₄) v₁ + (d₁d₃ − d₂²) v₂) / det,
//! det = d₀d₂d₄ + 2d₁d₂d₃ − d₂³ − d₀d₃² − d₁²d₄.

use std::borrow::Cow;

use super::gradient::ORIENTATIONS;
use crate::simd;

/// The direction of d for each orientation, in radians, rounded as they were when the weights were learned.
#[expect(clippy::approx_constant, reason = "the rounding is part of the method")]
const THETA: [f64; ORIENTATIONS] = [1.5708, 1.1781, 0.7854, 0.3927, 0.0, 2.7489, 2.3562, 1.9635];

/// Offsets (row, column) and their weights.
type Filter = Vec<(isize, isize, f64)>;

/// The fit at one radius and orientation.
pub(super) struct Parabola {
    /// Offsets (row, column) in the ellipse and their coordinate d.
    taps: Vec<(isize, isize, f64)>,
    reach: usize,
    /// The filter where the image has room for all of the ellipse.
    whole: Filter,
    /// Those at the left and right ends of rows that are far from the top and the bottom, by column.
    edges: Vec<(usize, Filter)>,
    width: usize,
}

impl Parabola {
    /// For maps of a width.
    pub(super) fn new(radius: usize, orientation: usize, width: usize) -> Self {
        let (sin, cos) = THETA[orientation].sin_cos();
        let (along, across) = ((radius as f64).max(1.5), (radius as f64 / 4.0).max(1.5));
        let reach = along.max(across).floor() as isize;
        let mut taps = Vec::new();
        for (v, u) in (-reach..=reach).flat_map(|v| (-reach..=reach).map(move |u| (v, u))) {
            let (x, y) = (u as f64, v as f64);
            let (d, e) = (y * cos - x * sin, x * cos + y * sin);
            if d * d / (along * along) + e * e / (across * across) <= 1.0 {
                taps.push((v, u, d));
            }
        }
        let mut parabola = Self { taps, reach: reach as usize, whole: Vec::new(), edges: Vec::new(), width };
        parabola.whole = parabola.filter(|_, _| true);
        let edges = parabola.edge_columns();
        parabola.edges = edges.map(|c| (c, parabola.filter(|_, u| is_inside(c, u, width)))).collect();
        parabola
    }

    /// Columns whose ellipse the image has no room for at the left or the right.
    fn edge_columns(&self) -> impl Iterator<Item = usize> + use<> {
        let inner = self.inner_columns();
        (0..self.width).filter(move |c| !inner.contains(c))
    }

    fn inner_columns(&self) -> std::ops::Range<usize> {
        self.reach.min(self.width)..self.width.saturating_sub(self.reach).max(self.reach.min(self.width))
    }

    /// Adds the smoothed values of a row to `out`. `plane(r)` is row r of the map, of `height` rows.
    pub(super) fn add_row<'a>(
        &self,
        height: usize,
        row: usize,
        plane: impl Fn(usize) -> &'a [f32],
        out: &mut [f32],
    ) {
        let is_whole = row >= self.reach && row + self.reach < height;
        let clipped = |inside: &dyn Fn(isize, isize) -> bool| {
            self.filter(|v, u| is_inside(row, v, height) && inside(v, u))
        };
        // Away from the left and right ends one filter serves the whole row.
        let inner = self.inner_columns();
        if !inner.is_empty() {
            let of_row =
                if is_whole { Cow::Borrowed(&self.whole) } else { Cow::Owned(clipped(&|_, _| true)) };
            let mut sums = vec![0.0_f64; inner.len()];
            for &(v, u, tap) in of_row.iter() {
                let first = inner.start.wrapping_add_signed(u);
                let from = &plane(row.wrapping_add_signed(v))[first..][..inner.len()];
                simd::widest(AddScaled { sums: &mut sums, from, tap });
            }
            out[inner].iter_mut().zip(sums).for_each(|(out, sum)| *out += sum as f32);
        }
        for (column, filter) in &self.edges {
            let of_pixel = if is_whole {
                Cow::Borrowed(filter)
            } else {
                Cow::Owned(clipped(&|_, u| is_inside(*column, u, self.width)))
            };
            let value = |&(v, u, tap): &(isize, isize, f64)| {
                tap * f64::from(plane(row.wrapping_add_signed(v))[column.wrapping_add_signed(u)])
            };
            out[*column] += of_pixel.iter().map(value).sum::<f64>() as f32;
        }
    }

    /// The weights of the offsets that are inside; none where they are too few for a parabola.
    fn filter(&self, inside: impl Fn(isize, isize) -> bool) -> Filter {
        let taps = || self.taps.iter().filter(|&&(v, u, _)| inside(v, u));
        let mut m = [0.0; 5];
        for &(_, _, d) in taps() {
            let mut power = 1.0;
            for moment in &mut m {
                *moment += power;
                power *= d;
            }
        }
        let [d0, d1, d2, d3, d4] = m;
        let det = d0 * d2 * d4 + 2.0 * d1 * d2 * d3 - d2 * d2 * d2 - d0 * d3 * d3 - d1 * d1 * d4;
        if det <= (-300.0_f64).exp() {
            return Vec::new();
        }
        let (a, b, c) = ((d2 * d4 - d3 * d3) / det, (d2 * d3 - d1 * d4) / det, (d1 * d3 - d2 * d2) / det);
        taps().map(|&(v, u, d)| (v, u, a + b * d + c * d * d)).collect()
    }
}

/// sums += tap · from.
struct AddScaled<'a> {
    sums: &'a mut [f64],
    from: &'a [f32],
    tap: f64,
}

impl pulp::NullaryFnOnce for AddScaled<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.sums.iter_mut().zip(self.from).for_each(|(sum, &z)| *sum += self.tap * f64::from(z));
    }
}

fn is_inside(at: usize, step: isize, len: usize) -> bool {
    at.checked_add_signed(step).is_some_and(|at| at < len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn smoothed(radius: usize, o: usize, height: usize, width: usize, map: &[f32]) -> Vec<f32> {
        let parabola = Parabola::new(radius, o, width);
        let mut out = vec![0.0; height * width];
        for (row, out) in out.chunks_exact_mut(width).enumerate() {
            parabola.add_row(height, row, |r| &map[r * width..(r + 1) * width], out);
        }
        out
    }

    /// A parabola along d and constant across it is its own best fit, at the border too.
    #[test]
    fn a_parabola_stays_as_it_is() {
        let (height, width) = (30, 47);
        for (radius, o) in [(3, 0), (5, 2), (10, 4), (20, 7), (20, 3)] {
            let (sin, cos) = THETA[o].sin_cos();
            let value = |p: usize| {
                let d = (p / width) as f64 * cos - (p % width) as f64 * sin;
                (0.3 + 0.02 * d - 0.001 * d * d) as f32
            };
            let map: Vec<f32> = (0..height * width).map(value).collect();
            let out = smoothed(radius, o, height, width, &map);
            for (got, want) in out.iter().zip(&map) {
                assert!((got - want).abs() < 1e-5, "radius {radius}, orientation {o}: {got}, not {want}");
            }
        }
    }

    #[test]
    fn inside_and_at_the_border_the_same_fit_is_made() {
        let (height, width) = (12, 31);
        let map: Vec<f32> = (0..height * width).map(|p| ((p * 37 + 11) % 101) as f32 / 101.0).collect();
        let out = smoothed(5, 1, height, width, &map);
        let parabola = Parabola::new(5, 1, width);
        for p in 0..height * width {
            let (r, c) = (p / width, p % width);
            let filter = parabola.filter(|v, u| is_inside(r, v, height) && is_inside(c, u, width));
            let value = |&(v, u, tap): &(isize, isize, f64)| {
                tap * f64::from(map[r.wrapping_add_signed(v) * width + c.wrapping_add_signed(u)])
            };
            let want: f64 = filter.iter().map(value).sum();
            assert!((f64::from(out[p]) - want).abs() < 1e-6);
        }
    }

    #[test]
    fn too_few_pixels_give_0() {
        assert_eq!(smoothed(5, 3, 1, 1, &[0.7]), [0.0]);
        assert!(smoothed(20, 3, 2, 2, &[0.7; 4]).iter().all(|v| v.is_finite()));
    }
}
