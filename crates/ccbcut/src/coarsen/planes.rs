//! C = A[:, K] of a pixel grid, by offset: one plane of weights for each offset of a pixel from a kept one.
//!
//! Column i of C is row i of A: a kept pixel's weights to all pixels around it. Stored `[coarse row][offset][coarse
//! column]`, everything that is done with C runs along rows of the grid.

use std::borrow::Cow;

use pulp::{Simd, WithSimd};

use crate::{graph::HalfStencil, parallel, simd};

/// 𝜖: keeps rows of zeros from being divided by zero.
const EPSILON: f64 = f64::EPSILON;

/// Most vectors of a pixel that are summed at once, and how many pixels.
const GROUP: usize = 4;
const PIXELS: usize = 3;

/// Pixels whose entries of B are at hand at the same time, a multiple of [`PIXELS`].
const CHUNK: usize = 48;

/// The most numbers in a vector; rows of Y are padded to a multiple of it.
const MOST_LANES: usize = 8;

/// A number that C may be stored in.
pub(super) trait Entry: Copy + Default + PartialEq + Send + Sync + Into<f64> {}

impl Entry for f32 {}
impl Entry for f64 {}

/// C and 1/d. The centre has a plane of its own, the diagonal.
#[derive(Debug, Clone)]
pub(super) struct Planes<T> {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) bands: Bands,
    /// `values[(coarse row * n_planes + plane) * coarse width + coarse column]`
    pub(super) values: Vec<T>,
    /// 1/d of the fine pixels, row by row, in each the even columns first.
    pub(super) inverse: Vec<f64>,
}

/// Which planes there are: for each row offset those of consecutive column offsets.
#[derive(Debug, Clone)]
pub(super) struct Bands {
    /// Row offsets go from −reach to reach.
    pub(super) reach: usize,
    list: Vec<Band>,
    pub(super) n_planes: usize,
}

/// The planes of one row offset: column offsets `first..=last`, from plane `start` on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Band {
    pub(super) first: isize,
    pub(super) last: isize,
    pub(super) start: usize,
}

impl Band {
    /// The plane of a column offset.
    #[inline(always)]
    pub(super) fn plane(&self, dc: isize) -> usize {
        self.start + (dc - self.first) as usize
    }
}

impl Bands {
    /// The forward offsets, the backward ones and the centre, with the gaps between them filled.
    pub(super) fn new(forward: &[(usize, isize)]) -> Self {
        let reach = forward.iter().map(|o| o.0).max().unwrap_or(0);
        let mut list = vec![Band { first: isize::MAX, last: isize::MIN, start: 0 }; 2 * reach + 1];
        let both = forward.iter().flat_map(|&(dr, dc)| [(dr as isize, dc), (-(dr as isize), -dc)]);
        for (dr, dc) in both.chain([(0, 0)]) {
            let band = &mut list[(dr + reach as isize) as usize];
            (band.first, band.last) = (band.first.min(dc), band.last.max(dc));
        }
        let mut n_planes = 0;
        for band in &mut list {
            band.start = n_planes;
            if band.first > band.last {
                (band.first, band.last) = (0, -1);
            }
            n_planes += (band.last - band.first + 1) as usize;
        }
        Self { reach, list, n_planes }
    }

    /// The band of a row offset; `None` beyond the reach.
    #[inline(always)]
    pub(super) fn get(&self, dr: isize) -> Option<Band> {
        self.list.get((dr + self.reach as isize) as usize).copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (isize, Band)> + '_ {
        self.list.iter().enumerate().map(|(k, band)| (k as isize - self.reach as isize, *band))
    }
}

/// Where the pixels at a column offset from the kept ones lie in a row with even columns first: kept pixels
/// `first..end` reach `at`, `at + 1`, …
pub(super) struct Landing {
    pub(super) first: usize,
    pub(super) end: usize,
    pub(super) at: usize,
}

impl Landing {
    /// For a row of `width` fine pixels: column 2j + 1 + dc is number j + ⌊(dc + 1)/2⌋ of its half.
    #[inline(always)]
    pub(super) fn new(width: usize, dc: isize) -> Self {
        let (evens, shift) = (width.div_ceil(2), (dc + 1).div_euclid(2));
        let (half, len) = if dc % 2 == 0 { (evens, width / 2) } else { (0, evens) };
        let first = (-shift).max(0) as usize;
        let end = (len as isize - shift).clamp(0, (width / 2) as isize) as usize;
        if first >= end {
            return Self { first: 0, end: 0, at: 0 };
        }
        Self { first, end, at: half + first.wrapping_add_signed(shift) }
    }
}

impl<T: Entry> Planes<T> {
    /// The columns of the kept pixels.
    pub(super) fn gather(half: &HalfStencil<'_, T>) -> Self {
        let (height, width) = (half.height, half.width);
        let bands = Bands::new(half.offsets);
        let (h, w, n_planes) = (height / 2, width / 2, bands.n_planes);
        let mut source = vec![None; n_planes];
        for (o, &(dr, dc)) in half.offsets.iter().enumerate() {
            for (sign, backward) in [(1, false), (-1, true)] {
                if let Some(band) = bands.get(sign * dr as isize) {
                    source[band.plane(sign * dc)] = Some((o, backward));
                }
            }
        }
        let mut values = vec![T::default(); h * n_planes * w];
        parallel::for_each_chunk(&mut values, n_planes * w, |i, values| {
            let row = 2 * i + 1;
            for (plane, source) in values.chunks_exact_mut(w).zip(&source) {
                let Some((o, backward)) = *source else { continue };
                let (dr, dc) = half.offsets[o];
                let (from, shift) = if backward { (row.checked_sub(dr), -dc) } else { (Some(row), 0) };
                let Some(from) = from else { continue };
                // Column 2j + 1 + shift, from the first that is inside.
                let first = (-shift).max(0).unsigned_abs() / 2;
                let start = (2 * first + 1).wrapping_add_signed(shift);
                if first < w && start < width {
                    half.alternate(from, o, start, &mut plane[first..]);
                }
            }
        });
        let mut planes = Self { height, width, bands, values, inverse: Vec::new() };
        planes.inverse = planes.inverse_sums();
        planes
    }

    pub(super) fn coarse_shape(&self) -> (usize, usize) {
        (self.height / 2, self.width / 2)
    }

    /// How many entries of C differ from zero.
    pub(super) fn n_entries(&self) -> usize {
        self.values.iter().filter(|&&v| v != T::default()).count()
    }

    /// The coarse row whose planes of the row offset `dr` lie in a fine row.
    #[inline(always)]
    fn coarse_row(&self, row: usize, dr: isize) -> Option<usize> {
        let twice = row as isize - dr - 1;
        (twice % 2 == 0 && twice >= 0 && twice / 2 < (self.height / 2) as isize).then_some(twice as usize / 2)
    }

    /// 1/(C1 + 𝜖)
    fn inverse_sums(&self) -> Vec<f64> {
        let (width, w) = (self.width, self.width / 2);
        let mut inverse = vec![0.0_f64; self.height * width];
        parallel::for_each_chunk(&mut inverse, width, |row, sums| {
            for (dr, band) in self.bands.iter() {
                let Some(i) = self.coarse_row(row, dr) else { continue };
                for dc in band.first..=band.last {
                    let Landing { first, end, at } = Landing::new(width, dc);
                    let plane = &self.values[(i * self.bands.n_planes + band.plane(dc)) * w..][first..end];
                    simd::widest(AddTo { sums: &mut sums[at..], plane });
                }
            }
            sums.iter_mut().for_each(|sum| *sum = 1.0 / (*sum + EPSILON));
        });
        inverse
    }

    /// B Y for a matrix of `columns` columns, row-major, that holds a row for each kept pixel.
    pub(super) fn apply(&self, y: &[f64], columns: usize) -> Vec<f64> {
        let mut fine = vec![0.0; self.height * self.width * columns];
        let y = padded(y, columns);
        parallel::for_each_chunk(&mut fine, self.width * columns, |row, fine| {
            let out = Store { fine, columns };
            simd::widest(ApplyRow { planes: self, row, y: &y, columns, out });
        });
        fine
    }

    /// Row by row the largest entry of B Y, where it exceeds what is known; the columns count from `first` on.
    pub(super) fn raise(&self, y: &[f64], columns: usize, first: usize, highest: &mut [Highest]) {
        let y = padded(y, columns);
        parallel::for_each_chunk(highest, self.width, |row, highest| {
            let out = Raise { highest, first };
            simd::widest(ApplyRow { planes: self, row, y: &y, columns, out });
        });
    }
}

/// The rows of a matrix filled up with zeros to a multiple of [`MOST_LANES`] columns.
fn padded(y: &[f64], columns: usize) -> Cow<'_, [f64]> {
    let more = columns.next_multiple_of(MOST_LANES);
    if more == columns {
        return Cow::Borrowed(y);
    }
    let mut padded = vec![0.0; y.len() / columns * more];
    for (to, from) in padded.chunks_exact_mut(more).zip(y.chunks_exact(columns)) {
        to[..columns].copy_from_slice(from);
    }
    Cow::Owned(padded)
}

/// The largest value of a pixel so far, and in which column it was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Highest {
    /// The value.
    pub value: f64,
    /// The column.
    pub column: u32,
}

impl Highest {
    /// Takes in values of the columns from `first` on; the earlier column on ties.
    #[inline(always)]
    pub(super) fn raise(&mut self, first: usize, values: &[f64]) {
        for (column, &value) in (first..).zip(values) {
            if value > self.value {
                *self = Self { value, column: column as u32 };
            }
        }
    }
}

/// What becomes of the values of a row of pixels.
trait Take {
    /// Values of some columns, from `start` on, at one pixel of the row.
    fn take(&mut self, pixel: usize, start: usize, values: &[f64]);
}

/// They are kept.
struct Store<'a> {
    fine: &'a mut [f64],
    columns: usize,
}

impl Take for Store<'_> {
    #[inline(always)]
    fn take(&mut self, pixel: usize, start: usize, values: &[f64]) {
        self.fine[pixel * self.columns + start..][..values.len()].copy_from_slice(values);
    }
}

/// The largest is kept.
struct Raise<'a> {
    highest: &'a mut [Highest],
    first: usize,
}

impl Take for Raise<'_> {
    #[inline(always)]
    fn take(&mut self, pixel: usize, start: usize, values: &[f64]) {
        let highest = &mut self.highest[pixel];
        // Most columns are far away.
        if values.iter().fold(0.0_f64, |most, &v| if v > most { v } else { most }) > highest.value {
            highest.raise(self.first + start, values);
        }
    }
}

/// Adds a plane to sums.
struct AddTo<'a, T> {
    sums: &'a mut [f64],
    plane: &'a [T],
}

impl<T: Entry> pulp::NullaryFnOnce for AddTo<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.sums.iter_mut().zip(self.plane).for_each(|(sum, &w)| *sum += w.into());
    }
}

/// One fine row of B Y.
struct ApplyRow<'a, T, O> {
    planes: &'a Planes<T>,
    row: usize,
    /// Padded with zeros to a multiple of [`MOST_LANES`] columns.
    y: &'a [f64],
    columns: usize,
    out: O,
}

impl<T: Entry, O: Take> WithSimd for ApplyRow<'_, T, O> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let width = self.planes.width;
        // Columns that are all padding are left out.
        let vectors = self.columns.div_ceil(S::F64_LANES);
        let mut shares = Shares::default();
        // Pixels of the same parity have their neighbours in common, so they are summed side by side.
        for parity in 0..width.min(2) {
            let count = (width - parity).div_ceil(2);
            for p in (0..count).step_by(CHUNK) {
                self.planes.fill(self.row, parity, p, &mut shares);
                for at in (0..CHUNK.min(count - p)).step_by(PIXELS) {
                    let n_pixels = PIXELS.min(count - p - at);
                    for first in (0..vectors).step_by(GROUP) {
                        let (start, y) = (first * S::F64_LANES, self.y);
                        let end = self.columns.min(start + GROUP * S::F64_LANES);
                        let mut to = [0.0; PIXELS * GROUP * MOST_LANES];
                        match vectors - first {
                            1 => shares.add_to::<S, 1>(simd, at, y, self.columns, start, &mut to),
                            2 => shares.add_to::<S, 2>(simd, at, y, self.columns, start, &mut to),
                            3 => shares.add_to::<S, 3>(simd, at, y, self.columns, start, &mut to),
                            _ => shares.add_to::<S, GROUP>(simd, at, y, self.columns, start, &mut to),
                        }
                        let n_group = GROUP.min(vectors - first) * S::F64_LANES;
                        for (q, from) in to.chunks_exact(n_group).enumerate().take(n_pixels) {
                            self.out.take(2 * (p + at + q) + parity, start, &from[..end - start]);
                        }
                    }
                }
            }
        }
    }
}

/// How much each of some fine pixels takes of the kept pixels around it: the entries of B of [`CHUNK`] pixels of one parity
/// in a row.
#[derive(Default)]
struct Shares {
    reaches: Vec<Reach>,
    /// A row of [`CHUNK`] numbers for each offset; between those of two coarse rows there are rows of zeros.
    values: Vec<f64>,
}

/// The kept pixels of one coarse row that some fine pixels reach.
struct Reach {
    /// The first kept pixel of the coarse row, and one past the last.
    kept: std::ops::Range<usize>,
    /// The farthest kept pixel to the left that pixel 0 reaches, counted in the coarse row, and how many from there on.
    low: isize,
    count: usize,
    /// Where its rows of shares begin: that of the farthest kept pixel to the *right* first.
    first: usize,
}

impl<T: Entry> Planes<T> {
    /// The shares of the pixels `2p + parity`, `2p + parity + 2`, …
    #[inline(always)]
    fn fill(&self, row: usize, parity: usize, p: usize, shares: &mut Shares) {
        let (width, w) = (self.width, self.width / 2);
        let half = row * width + if parity == 1 { width.div_ceil(2) } else { 0 };
        let count = CHUNK.min((width - parity).div_ceil(2) - p);
        let scales = &self.inverse[half + p..][..count];
        shares.reaches.clear();
        shares.values.clear();
        shares.values.resize((PIXELS - 1) * CHUNK, 0.0);
        for (dr, band) in self.bands.iter() {
            let Some(i) = self.coarse_row(row, dr) else { continue };
            // Kept pixel j lies dc = 2(p − j) + parity − 1 to the left.
            let first = band.first + isize::from((band.first + parity as isize) % 2 == 0);
            if first > band.last {
                continue;
            }
            let offsets = ((band.last - first) / 2 + 1) as usize;
            let start = shares.values.len();
            shares.values.resize(start + (offsets + PIXELS - 1) * CHUNK, 0.0);
            // Of pixel p the kept pixel at this offset; each further one lies one more to the left.
            let farthest = p as isize - (first + 1 - parity as isize) / 2;
            for (t, out) in shares.values[start..].chunks_exact_mut(CHUNK).take(offsets).enumerate() {
                let plane = band.plane(first + 2 * t as isize);
                let values = &self.values[(i * self.bands.n_planes + plane) * w..][..w];
                let kept = farthest - t as isize;
                let skip = (-kept).clamp(0, count as isize) as usize;
                let from = (kept + skip as isize).clamp(0, w as isize) as usize;
                let pairs = out[skip..count].iter_mut().zip(&scales[skip..]).zip(&values[from..]);
                pairs.for_each(|((out, scale), &value)| *out = scale * value.into());
            }
            let low = farthest - (offsets - 1) as isize;
            let reach = Reach { kept: i * w..(i + 1) * w, low, count: offsets, first: start };
            shares.reaches.push(reach);
        }
    }
}

impl Shares {
    /// Σ of what [`PIXELS`] pixels from number `at` on take, for `N` vectors of columns from `start` on, pixel after pixel.
    #[inline(always)]
    fn add_to<S: Simd, const N: usize>(
        &self,
        simd: S,
        at: usize,
        y: &[f64],
        columns: usize,
        start: usize,
        to: &mut [f64],
    ) {
        let padded = columns.next_multiple_of(MOST_LANES);
        let zero = simd.splat_f64s(0.0);
        let (mut a, mut b, mut c) = ([zero; N], [zero; N], [zero; N]);
        for reach in &self.reaches {
            let kept = reach.kept.len() as isize;
            // From the farthest on the left of the first pixel to the farthest on the right of the last one.
            let low = reach.low + at as isize;
            let end = (low + (reach.count + PIXELS - 1) as isize).min(kept);
            let skip = (-low).max(0);
            if low + skip >= end {
                continue;
            }
            // One to the right is one offset back; the next pixel is one offset on.
            let mut share = reach.first + (reach.count - 1) * CHUNK + at - skip as usize * CHUNK;
            for j in low + skip..end {
                let y = &y[(reach.kept.start + j as usize) * padded + start..][..N * S::F64_LANES];
                let y = S::as_simd_f64s(y).0;
                let values = &self.values[share..][..=(PIXELS - 1) * (CHUNK + 1)];
                let wa = simd.splat_f64s(values[0]);
                let wb = simd.splat_f64s(values[CHUNK + 1]);
                let wc = simd.splat_f64s(values[2 * (CHUNK + 1)]);
                for n in 0..N {
                    a[n] = simd.mul_add_e_f64s(wa, y[n], a[n]);
                    b[n] = simd.mul_add_e_f64s(wb, y[n], b[n]);
                    c[n] = simd.mul_add_e_f64s(wc, y[n], c[n]);
                }
                share = share.wrapping_sub(CHUNK);
            }
        }
        let to = S::as_mut_simd_f64s(&mut to[..PIXELS * N * S::F64_LANES]).0;
        for n in 0..N {
            (to[n], to[N + n], to[2 * N + n]) = (a[n], b[n], c[n]);
        }
    }
}
