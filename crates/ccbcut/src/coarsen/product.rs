//! A′ = Cᵀ diag(1/d) C for C stored by offset.
//!
//! With U = diag(1/√d) C the entry of the kept pixels i and i + e is the sum over all offsets o of U(i, o) times
//! U(i + e, o − 2e). Both run along a row of kept pixels, so that neighbouring columns fill a vector. The grid is cut
//! into bands of rows, these into strips of columns; a strip keeps the rows of U it needs at hand in a ring.

use pulp::{Simd, WithSimd};

use super::{
    half::HalfMatrix,
    planes::{Bands, Entry, Landing, Planes},
};
use crate::{parallel, simd};

/// Coarse rows per block of the parallel loop.
const ROWS: usize = 30;

/// Coarse columns of a strip.
const STRIP: usize = 40;

/// Vectors that are summed at once.
const GROUP: usize = 10;

/// CᵀB, the diagonal included. If only the rows of pixels that the next level keeps are wanted, a quarter of the others
/// is left zero.
pub(super) fn product<T: Entry>(planes: &Planes<T>, only_kept: bool) -> HalfMatrix {
    let (height, width) = planes.coarse_shape();
    let spans = spans(&planes.bands, height, width);
    let offsets: Vec<(usize, isize)> = spans
        .iter()
        .enumerate()
        .flat_map(|(er, &(first, last))| (first..=last).map(move |ec| (er, ec)))
        .collect();
    let starts: Vec<usize> = std::iter::once(0)
        .chain(spans.iter().scan(0, |sum, s| {
            *sum += (s.1 - s.0 + 1) as usize;
            Some(*sum)
        }))
        .collect();
    let roots: Vec<f64> = planes.inverse.iter().map(|d| d.sqrt()).collect();
    let mut weights = vec![0.0; offsets.len() * height * width];
    parallel::for_each_chunk(&mut weights, ROWS * offsets.len() * width, |block, part| {
        let pad = spans.iter().map(|s| s.0.unsigned_abs().max(s.1.unsigned_abs())).max().unwrap_or(0);
        let mut strip = Strip {
            planes,
            roots: &roots,
            spans: &spans,
            n_offsets: offsets.len(),
            pad,
            first_column: 0,
            only_kept,
            ring: vec![vec![0.0; planes.bands.n_planes * (STRIP + 2 * pad)]; spans.len()],
            sums: vec![0.0; offsets.len() * STRIP],
        };
        for first_column in (0..width).step_by(STRIP) {
            strip.first_column = first_column;
            for next in block * ROWS..(block * ROWS + spans.len() - 1).min(height) {
                strip.load(next);
            }
            for (k, row) in part.chunks_exact_mut(offsets.len() * width).enumerate() {
                let i = block * ROWS + k;
                if i + spans.len() - 1 < height {
                    strip.load(i + spans.len() - 1);
                }
                simd::widest(SumRow { strip: &mut strip, row: i });
                let end = (first_column + STRIP).min(width);
                for er in (0..spans.len()).filter(|&er| strip.is_wanted(i, er)) {
                    for o in starts[er]..starts[er + 1] {
                        let sums = &strip.sums[o * STRIP..][..end - first_column];
                        row[o * width + first_column..][..sums.len()].copy_from_slice(sums);
                    }
                }
            }
        }
    });
    HalfMatrix { height, width, offsets, weights }
}

/// For each number of rows down the first and the last column offset at which two kept pixels may share a neighbour;
/// 0 is the first in the same row.
fn spans(bands: &Bands, height: usize, width: usize) -> Vec<(isize, isize)> {
    let farthest = width as isize - 1;
    let span = |er: usize| {
        let mut span = (isize::MAX, isize::MIN);
        for (dr, own) in bands.iter() {
            let Some(other) = bands.get(dr - 2 * er as isize) else { continue };
            if own.first <= own.last && other.first <= other.last {
                // 2 ec = dc − dc′
                span.0 = span.0.min((own.first - other.last + 1).div_euclid(2));
                span.1 = span.1.max((own.last - other.first).div_euclid(2));
            }
        }
        let least = if er == 0 { 0 } else { -farthest };
        (span.0.max(least), span.1.min(farthest))
    };
    let rows = (bands.reach + 1).min(height);
    (0..rows).map(span).map(|s| if s.0 > s.1 { (0, -1) } else { s }).collect()
}

/// Whether entries between a row and the one `er` below it are summed.
fn is_wanted(height: usize, only_kept: bool, row: usize, er: usize) -> bool {
    row + er < height && (!only_kept || row % 2 == 1 || er % 2 == 1)
}

/// Some columns of U around those of a strip.
struct Strip<'a, T> {
    planes: &'a Planes<T>,
    roots: &'a [f64],
    spans: &'a [(isize, isize)],
    n_offsets: usize,
    /// Columns on either side of the strip.
    pad: usize,
    first_column: usize,
    only_kept: bool,
    /// Row i of U stands at i modulo the length: `[plane][column]`.
    ring: Vec<Vec<f64>>,
    /// One row of the result: `[offset][column]`.
    sums: Vec<f64>,
}

impl<T: Entry> Strip<'_, T> {
    fn stride(&self) -> usize {
        STRIP + 2 * self.pad
    }

    /// Whether entries between a row and the one `er` below are summed.
    fn is_wanted(&self, row: usize, er: usize) -> bool {
        is_wanted(self.planes.height / 2, self.only_kept, row, er)
    }

    /// Brings a row of U into the ring.
    fn load(&mut self, row: usize) {
        let slot = row % self.ring.len();
        let mut to = std::mem::take(&mut self.ring[slot]);
        simd::widest(LoadRow { strip: self, row, to: &mut to });
        self.ring[slot] = to;
    }
}

/// Scales a row of C.
struct LoadRow<'a, 's, T> {
    strip: &'a Strip<'s, T>,
    row: usize,
    to: &'a mut [f64],
}

impl<T: Entry> pulp::NullaryFnOnce for LoadRow<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Strip { planes, roots, pad, first_column, .. } = *self.strip;
        let (width, w, n_planes) = (planes.width, planes.width / 2, planes.bands.n_planes);
        let stride = self.strip.stride();
        let values = &planes.values[self.row * n_planes * w..][..n_planes * w];
        for (dr, band) in planes.bands.iter() {
            let fine_row = (2 * self.row + 1) as isize + dr;
            let n_band = (band.last - band.first + 1) as usize;
            let to = &mut self.to[band.start * stride..][..n_band * stride];
            if fine_row < 0 || fine_row >= planes.height as isize {
                to.fill(0.0);
                continue;
            }
            let roots = &roots[fine_row as usize * width..][..width];
            let values = &values[band.start * w..][..n_band * w];
            for ((dc, to), values) in
                (band.first..=band.last).zip(to.chunks_exact_mut(stride)).zip(values.chunks_exact(w))
            {
                let landing = Landing::new(width, dc);
                let first = landing.first.max(first_column.saturating_sub(pad));
                let end = landing.end.min(first_column + STRIP + pad).max(first);
                let (before, to) = to.split_at_mut((first + pad - first_column).min(stride));
                let (to, after) = to.split_at_mut((end - first).min(to.len()));
                before.fill(0.0);
                after.fill(0.0);
                let roots = &roots[landing.at + first - landing.first..];
                for ((to, &value), root) in to.iter_mut().zip(&values[first..end]).zip(roots) {
                    let value: f64 = value.into();
                    *to = value * root;
                }
            }
        }
    }
}

/// Sums one row of the result.
struct SumRow<'a, 's, T> {
    strip: &'a mut Strip<'s, T>,
    row: usize,
}

impl<T: Entry> WithSimd for SumRow<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let strip = self.strip;
        let (stride, n_slots) = (strip.stride(), strip.ring.len());
        let bands = &strip.planes.bands;
        let (only_kept, height) = (strip.only_kept, strip.planes.height / 2);
        strip.sums.fill(0.0);
        debug_assert_eq!(strip.sums.len(), strip.n_offsets * STRIP);
        let mut sums = &mut strip.sums[..];
        for (er, &(first, last)) in strip.spans.iter().enumerate() {
            let (here, rest) = sums.split_at_mut((last - first + 1) as usize * STRIP);
            sums = rest;
            if !is_wanted(height, only_kept, self.row, er) {
                continue;
            }
            let (own, other) = (&strip.ring[self.row % n_slots], &strip.ring[(self.row + er) % n_slots]);
            for (dr, band) in bands.iter() {
                let Some(across) = bands.get(dr - 2 * er as isize) else { continue };
                for (ec, sums) in (first..=last).zip(here.chunks_exact_mut(STRIP)) {
                    let start = band.first.max(across.first + 2 * ec);
                    let end = band.last.min(across.last + 2 * ec);
                    if start <= end {
                        let own = &own[band.plane(start) * stride + strip.pad..];
                        let at = across.plane(start - 2 * ec) * stride + strip.pad;
                        let other = &other[at.wrapping_add_signed(ec)..];
                        add_products(simd, sums, own, other, stride, (end - start + 1) as usize);
                    }
                }
            }
        }
    }
}

/// Adds to a strip the products of `n` planes, which stand `stride` apart.
#[inline(always)]
fn add_products<S: Simd>(simd: S, sums: &mut [f64], own: &[f64], other: &[f64], stride: usize, n: usize) {
    let len = (GROUP * S::F64_LANES).min(STRIP);
    for start in (0..STRIP).step_by(len) {
        let totals = S::as_mut_simd_f64s(&mut sums[start..start + len]).0;
        let mut group = [simd.splat_f64s(0.0); GROUP];
        group.iter_mut().zip(&*totals).for_each(|(g, t)| *g = *t);
        for k in 0..n {
            let a = S::as_simd_f64s(&own[k * stride + start..][..len]).0;
            let b = S::as_simd_f64s(&other[k * stride + start..][..len]).0;
            for ((sum, &a), &b) in group.iter_mut().zip(a).zip(b) {
                *sum = simd.mul_add_e_f64s(a, b, *sum);
            }
        }
        totals.iter_mut().zip(group).for_each(|(t, g)| *t = g);
    }
}
