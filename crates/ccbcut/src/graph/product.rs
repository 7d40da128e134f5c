//! Products of a stencil's Laplacian with a few vectors at once.
//!
//! The weights of one image row are a contiguous stream, read once: those of one row step dr tie the row to the row
//! dr below it. They are copied between margins of zeros, and then summed twice without a branch, once for the pixels
//! of the upper row and once for those of the lower one; a tile of pixels and all vectors of a group stay in
//! registers. Each value is a sum in a fixed order, whatever the width of the registers or the number of threads.

use std::ops::{AddAssign, Mul, Sub};

use crate::{
    parallel,
    simd::{self, Lanes},
};

use super::{interleaved, stencil::Stencil};

/// Rows that one task takes, at least.
const STRIP: usize = 24;

/// `f32` or `f64`: what vectors are stored in.
pub(super) trait Real:
    Lanes + Default + Send + Sync + From<f32> + Sub<Output = Self> + Mul<Output = Self> + AddAssign + 'static
{
    /// Weights below this are left out of products: in single precision their flows would be subnormal numbers,
    /// which are slow.
    const LEAST: f32;

    /// Rounds a weight.
    fn from_weight(weight: f64) -> Self;

    /// Columns that go through a stencil together.
    const PANEL: usize;

    /// Y = L X, or as `write` says, for at most [`Real::PANEL`] columns, in tiles that suit the registers.
    fn apply(layout: &Layout<'_>, x: &[Self], y: &mut [Self], scale: Option<&[Self]>, write: Write);
}

/// What is done with a product.
#[derive(Debug, Clone, Copy)]
pub(super) enum Write {
    Set,
    Add,
    Subtract,
}

impl Write {
    #[inline(always)]
    pub(super) fn to<T: Real>(self, out: &mut T, value: T) {
        match self {
            Self::Set => *out = value,
            Self::Add => *out += value,
            Self::Subtract => *out = *out - value,
        }
    }
}

impl Real for f32 {
    const LEAST: f32 = 1e-20;
    const PANEL: usize = 32;

    fn from_weight(weight: f64) -> Self {
        weight as Self
    }

    fn apply(layout: &Layout<'_>, x: &[Self], y: &mut [Self], scale: Option<&[Self]>, write: Write) {
        match x.len() / layout.stencil.n_vertices() {
            0 => {}
            1 => layout.apply::<Self, 1, 32>(x, y, scale, write),
            2 => layout.apply::<Self, 2, 32>(x, y, scale, write),
            3..interleaved::LEAST => layout.apply::<Self, 4, 32>(x, y, scale, write),
            interleaved::LEAST..=16 => interleaved::apply::<Self, 16>(layout, x, y, scale, write),
            _ => interleaved::apply::<Self, 32>(layout, x, y, scale, write),
        }
    }
}

impl Real for f64 {
    const LEAST: f32 = 0.0;
    const PANEL: usize = 16;

    fn from_weight(weight: f64) -> Self {
        weight
    }

    fn apply(layout: &Layout<'_>, x: &[Self], y: &mut [Self], scale: Option<&[Self]>, write: Write) {
        match x.len() / layout.stencil.n_vertices() {
            0 => {}
            1 => layout.apply::<Self, 1, 32>(x, y, scale, write),
            2 => layout.apply::<Self, 2, 16>(x, y, scale, write),
            3..interleaved::LEAST => layout.apply::<Self, 4, 16>(x, y, scale, write),
            interleaved::LEAST..=8 => interleaved::apply::<Self, 8>(layout, x, y, scale, write),
            _ => interleaved::apply::<Self, 16>(layout, x, y, scale, write),
        }
    }
}

/// The offsets of one row step.
pub(super) struct Step {
    pub(super) rows: usize,
    /// Where its weights start within those of an image row.
    pub(super) first: usize,
    pub(super) columns: Vec<isize>,
}

/// How the pixels of an image lie in padded copies.
pub(super) struct Layout<'a> {
    pub(super) stencil: &'a Stencil,
    pub(super) steps: Vec<Step>,
    /// The farthest column an offset reaches.
    pub(super) reach: usize,
    /// Pixels before and behind the image in a padded vector.
    pad: usize,
}

/// Rows are padded to a multiple of this many pixels, and tiles divide it.
const PIXELS: usize = 32;

impl<'a> Layout<'a> {
    pub(super) fn new(stencil: &'a Stencil) -> Self {
        let mut steps: Vec<Step> = Vec::new();
        for (o, &(rows, column)) in stencil.offsets.iter().enumerate() {
            match steps.last_mut() {
                Some(step) if step.rows == rows => step.columns.push(column),
                _ => steps.push(Step { rows, first: o * stencil.width, columns: vec![column] }),
            }
        }
        let reach = stencil.offsets.iter().map(|&(_, dc)| dc.unsigned_abs()).max().unwrap_or(0);
        Self { stencil, steps, reach, pad: reach + PIXELS }
    }

    /// Length of a padded vector.
    fn padded(&self) -> usize {
        self.stencil.height * self.stencil.width + 2 * self.pad
    }

    /// The largest row step.
    pub(super) fn depth(&self) -> usize {
        self.stencil.offsets.iter().map(|o| o.0).max().unwrap_or(0)
    }

    /// Width of an image row, rounded up to whole tiles.
    fn row(&self) -> usize {
        self.stencil.width.next_multiple_of(PIXELS)
    }

    /// Y = L X, or as `write` says, for at most `G` columns of one value per vertex; `scale` is a diagonal applied on both sides.
    pub(super) fn apply<T: Real, const G: usize, const TILE: usize>(
        &self,
        x: &[T],
        y: &mut [T],
        scale: Option<&[T]>,
        write: Write,
    ) {
        let n = self.stencil.n_vertices();
        let (length, width) = (self.padded(), self.stencil.width);
        let mut padded = vec![T::default(); length * G];
        for (column, out) in x.chunks_exact(n).zip(padded.chunks_exact_mut(length)) {
            self.stencil.scatter(column, scale, &mut out[self.pad..]);
        }
        let rows_of_strip = STRIP.max(self.depth());
        let n_strips = self.stencil.height.div_ceil(rows_of_strip);
        let strips = parallel::map(n_strips, |s| {
            let rows = s * rows_of_strip..((s + 1) * rows_of_strip).min(self.stencil.height);
            simd::widest(Task::<T, G, TILE> { layout: self, padded: &padded, rows })
        });
        drop(padded);
        let block = self.row() * G;
        let (mut image, columns) = (vec![T::default(); width * self.stencil.height], x.len() / n);
        for (g, out) in y.chunks_exact_mut(n).enumerate().take(columns) {
            parallel::for_each_chunk(&mut image, width, |r, out| {
                let (s, k) = (r / rows_of_strip, r % rows_of_strip);
                let own = &strips[s][k * block + g * self.row()..][..width];
                out.copy_from_slice(own);
                if k < self.depth() && s > 0 {
                    let above = &strips[s - 1][(rows_of_strip + k) * block + g * self.row()..][..width];
                    out.iter_mut().zip(above).for_each(|(y, a)| *y += *a);
                }
            });
            self.stencil.gather(&image, scale, out, write);
        }
    }
}

/// The products of some rows with what lies on and below them.
struct Task<'a, T, const G: usize, const TILE: usize> {
    layout: &'a Layout<'a>,
    padded: &'a [T],
    rows: std::ops::Range<usize>,
}

impl<T: Real, const G: usize, const TILE: usize> pulp::NullaryFnOnce for Task<'_, T, G, TILE> {
    /// Row after row (those of the halo below included), for each the vectors of the group.
    type Output = Vec<T>;

    #[expect(clippy::inline_always, reason = "the loop takes the vector instructions of its caller")]
    #[inline(always)]
    fn call(self) -> Vec<T> {
        let Self { layout, padded, rows } = self;
        let Layout { stencil, steps, reach, pad } = layout;
        let (width, row, length) = (stencil.width, layout.row(), layout.padded());
        let mut sums = vec![T::default(); (rows.len() + layout.depth()) * G * row];
        let stride = row + 2 * reach;
        let most = steps.iter().map(|s| s.columns.len()).max().unwrap_or(0);
        let mut weights = vec![0.0_f32; stride * most];
        for r in rows.clone() {
            let per_row = stencil.offsets.len() * width;
            let stored = &stencil.weights[r * per_row..(r + 1) * per_row];
            for step in steps.iter().take_while(|step| r + step.rows < stencil.height) {
                let from = stored[step.first..].chunks_exact(width);
                for (to, from) in weights.chunks_exact_mut(stride).zip(from).take(step.columns.len()) {
                    for (to, &w) in to[*reach..reach + width].iter_mut().zip(from) {
                        *to = if w < T::LEAST { 0.0 } else { w };
                    }
                }
                let k = r - rows.start;
                let upper = &mut sums[k * G * row..(k + 1) * G * row];
                let (at, below) = (pad + r * width, pad + (r + step.rows) * width);
                let pair = Pair { weights: &weights, stride, start: *reach, padded, length, row };
                pair.sum::<G, TILE>(&step.columns, 0, 1, at, below, upper);
                let k = k + step.rows;
                let lower = &mut sums[k * G * row..(k + 1) * G * row];
                pair.sum::<G, TILE>(&step.columns, -1, -1, below, at, lower);
            }
        }
        sums
    }
}

/// The weights between two rows.
struct Pair<'a, T> {
    weights: &'a [f32],
    stride: usize,
    /// Where column 0 is.
    start: usize,
    padded: &'a [T],
    length: usize,
    row: usize,
}

impl<T: Real> Pair<'_, T> {
    /// Adds Σ w (xᵢ − xⱼ) over the pixels j that `columns` × `direction` lead to, from `own` to `other`; the weight
    /// lies with pixel i (`shift` 0) or j (`shift` −1).
    #[expect(clippy::inline_always, reason = "the loop takes the vector instructions of its caller")]
    #[inline(always)]
    fn sum<const G: usize, const TILE: usize>(
        &self,
        columns: &[isize],
        shift: isize,
        direction: isize,
        own: usize,
        other: usize,
        sums: &mut [T],
    ) {
        let reach = self.start;
        let others: [&[T]; G] =
            std::array::from_fn(|g| &self.padded[g * self.length + other - reach..][..self.row + 2 * reach]);
        for c in (0..self.row).step_by(TILE) {
            let mut acc = [[T::default(); TILE]; G];
            let mut here = [[T::default(); TILE]; G];
            for g in 0..G {
                acc[g].copy_from_slice(&sums[g * self.row + c..][..TILE]);
                here[g].copy_from_slice(&self.padded[g * self.length + own + c..][..TILE]);
            }
            for (weights, &dc) in self.weights.chunks_exact(self.stride).zip(columns) {
                let stored = &weights[(reach + c).wrapping_add_signed(shift * dc)..][..TILE];
                let mut w = [T::default(); TILE];
                for l in 0..TILE {
                    w[l] = T::from(stored[l]);
                }
                let at = (reach + c).wrapping_add_signed(direction * dc);
                for g in 0..G {
                    let there = &others[g][at..][..TILE];
                    for l in 0..TILE {
                        acc[g][l] += w[l] * (here[g][l] - there[l]);
                    }
                }
            }
            for g in 0..G {
                sums[g * self.row + c..][..TILE].copy_from_slice(&acc[g]);
            }
        }
    }
}
