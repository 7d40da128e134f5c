//! C = A[:, K] of a pixel grid, by offset: one plane of weights for each offset of a pixel from a kept one.
//!
//! Column i of C is row i of A: a kept pixel's weights to all pixels around it. Stored `[coarse row][offset][coarse
//! column]`, everything that is done with C runs along rows of the grid.

use pulp::{Simd, WithSimd};

use crate::{graph::HalfStencil, parallel, simd};

/// 𝜖: keeps rows of zeros from being divided by zero.
const EPSILON: f64 = f64::EPSILON;

/// Most vectors of a pixel that are summed at once, and how many pixels.
const GROUP: usize = 4;
const PIXELS: usize = 3;

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
                let weights = &half.weights[(from * half.offsets.len() + o) * width..][..width];
                // Column 2j + 1 + shift, from the first that is inside.
                let first = (-shift).max(0).unsigned_abs() / 2;
                let start = (2 * first + 1).wrapping_add_signed(shift);
                if first < w && start < width {
                    let pairs = weights[start..].chunks_exact(2);
                    let (plane, last) = (&mut plane[first..], pairs.remainder().first());
                    if let (Some(value), Some(&last)) = (plane.get_mut(pairs.len()), last) {
                        *value = last;
                    }
                    plane.iter_mut().zip(pairs).for_each(|(value, pair)| *value = pair[0]);
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
        let padded_columns = columns.next_multiple_of(MOST_LANES);
        let mut padded = vec![0.0; y.len() / columns.max(1) * padded_columns];
        for (to, from) in padded.chunks_exact_mut(padded_columns.max(1)).zip(y.chunks_exact(columns.max(1))) {
            to[..columns].copy_from_slice(from);
        }
        parallel::for_each_chunk(&mut fine, self.width * columns, |row, fine| {
            simd::widest(ApplyRow { planes: self, row, y: &padded, columns, fine });
        });
        fine
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
struct ApplyRow<'a, T> {
    planes: &'a Planes<T>,
    row: usize,
    /// Padded with zeros to a multiple of [`MOST_LANES`] columns.
    y: &'a [f64],
    columns: usize,
    fine: &'a mut [f64],
}

impl<T: Entry> WithSimd for ApplyRow<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = self.planes.width;
        // Columns that are all padding are left out.
        let vectors = self.columns.div_ceil(S::F64_LANES);
        let mut terms = Vec::new();
        // Pixels of the same parity have their neighbours in common, so they are summed side by side.
        for c in (0..width).step_by(2 * PIXELS).chain((1..width).step_by(2 * PIXELS)) {
            self.planes.terms(self.row, c, &mut terms);
            let n_pixels = PIXELS.min((width - c).div_ceil(2));
            for first in (0..vectors).step_by(GROUP) {
                let (start, y) = (first * S::F64_LANES, self.y);
                let end = self.columns.min(start + GROUP * S::F64_LANES);
                let mut to = [0.0; PIXELS * GROUP * MOST_LANES];
                match vectors - first {
                    1 => add_terms::<S, 1>(simd, &terms, y, self.columns, start, &mut to),
                    2 => add_terms::<S, 2>(simd, &terms, y, self.columns, start, &mut to),
                    3 => add_terms::<S, 3>(simd, &terms, y, self.columns, start, &mut to),
                    _ => add_terms::<S, GROUP>(simd, &terms, y, self.columns, start, &mut to),
                }
                let n_group = GROUP.min(vectors - first) * S::F64_LANES;
                for (q, from) in to.chunks_exact(n_group).enumerate().take(n_pixels) {
                    let out = &mut self.fine[(c + 2 * q) * self.columns..][start..end];
                    out.copy_from_slice(&from[..end - start]);
                }
            }
        }
    }
}

/// A kept pixel, and how much of it each of some fine pixels takes.
type Term = (usize, [f64; PIXELS]);

impl<T: Entry> Planes<T> {
    /// The entries of B for the pixels c, c + 2, … of a row.
    #[inline(always)]
    fn terms(&self, row: usize, c: usize, terms: &mut Vec<Term>) {
        let (width, w) = (self.width, self.width / 2);
        terms.clear();
        let half = row * width + if c % 2 == 1 { width.div_ceil(2) } else { 0 };
        let scales: [f64; PIXELS] =
            std::array::from_fn(|q| if c + 2 * q < width { self.inverse[half + c / 2 + q] } else { 0.0 });
        for (dr, band) in self.bands.iter() {
            let Some(i) = self.coarse_row(row, dr) else { continue };
            // Kept pixel j lies dc = c − 2j − 1 to the left.
            let range = |column: isize| {
                let low = (column - 1 - band.last).max(0).cast_unsigned().div_ceil(2);
                let end = (column - 1 - band.first).div_euclid(2).min(w as isize - 1) + 1;
                (low, end.max(0).cast_unsigned())
            };
            let (low, end) = (range(c as isize).0, range((c + 2 * (PIXELS - 1)) as isize).1);
            let here = terms.len();
            terms.extend((low..end).map(|j| (i * w + j, [0.0; PIXELS])));
            for (q, &scale) in scales.iter().enumerate() {
                let column = (c + 2 * q) as isize;
                let (first, end) = range(column);
                if first >= end {
                    continue;
                }
                let plane = band.plane(column - 1 - 2 * first as isize);
                let mut at = (i * self.bands.n_planes + plane) * w + first;
                for term in &mut terms[here + first - low..here + end - low] {
                    let value: f64 = self.values[at].into();
                    term.1[q] = scale * value;
                    // One to the right, two offsets back.
                    at = at.wrapping_add(1).wrapping_sub(2 * w);
                }
            }
        }
    }
}

/// Σ of the terms for `N` vectors of columns from `start` on, pixel after pixel.
#[inline(always)]
fn add_terms<S: Simd, const N: usize>(
    simd: S,
    terms: &[Term],
    y: &[f64],
    columns: usize,
    start: usize,
    to: &mut [f64],
) {
    let padded = columns.next_multiple_of(MOST_LANES);
    let zero = simd.splat_f64s(0.0);
    let (mut a, mut b, mut c) = ([zero; N], [zero; N], [zero; N]);
    for &(kept, [wa, wb, wc]) in terms {
        let y = S::as_simd_f64s(&y[kept * padded + start..][..N * S::F64_LANES]).0;
        let (wa, wb, wc) = (simd.splat_f64s(wa), simd.splat_f64s(wb), simd.splat_f64s(wc));
        for n in 0..N {
            a[n] = simd.mul_add_e_f64s(wa, y[n], a[n]);
            b[n] = simd.mul_add_e_f64s(wb, y[n], b[n]);
            c[n] = simd.mul_add_e_f64s(wc, y[n], c[n]);
        }
    }
    let to = S::as_mut_simd_f64s(&mut to[..PIXELS * N * S::F64_LANES]).0;
    for n in 0..N {
        (to[n], to[N + n], to[2 * N + n]) = (a[n], b[n], c[n]);
    }
}
