//! Walks along the edges of a stencil, with the distances between their ends.
//!
//! The coordinates of the pixels are laid out plane by plane, so that the edges of one offset from eight pixels of a row
//! are eight lanes: nothing is gathered, and pixels that are no vertices have edges of weight zero, which do not count.

use std::{borrow::Cow, ops::Range};

use crate::{parallel, simd};

use super::{
    rank::{self, Counts},
    stencil::Stencil,
};

/// Edges that are taken at a time.
const LANES: usize = 8;

/// Counts by the leading bits are made for at most this many parts of the image.
const COUNTED_PARTS: usize = 64;

/// Coordinates of the pixels of a stencil.
pub(super) struct Planes<'a> {
    stencil: &'a Stencil,
    values: Cow<'a, [f64]>,
}

/// Takes edges of the same offset, whose weights lie one after the other from a place of their row on.
trait Visit {
    fn visit(&mut self, place: usize, weights: &[f64; LANES], distances: &[f64; LANES]);
}

impl<'a> Planes<'a> {
    /// From rows of coordinates, one per vertex.
    pub(super) fn new(stencil: &'a Stencil, rows: &'a [f64], n_columns: usize) -> Self {
        if n_columns == 1 && stencil.cells.is_none() {
            return Self { stencil, values: Cow::Borrowed(rows) };
        }
        let mut values = vec![0.0; stencil.height * stencil.width * n_columns];
        parallel::for_each_chunk(&mut values, stencil.height * stencil.width, |column, plane| {
            for (v, row) in rows.chunks_exact(n_columns).enumerate() {
                plane[stencil.pixel(v)] = row[column];
            }
        });
        Self { stencil, values: Cow::Owned(values) }
    }

    /// Visits the edges from a row of the image; their distances are Σ_c `measure`(Δ_c).
    fn walk(&self, row: usize, measure: &impl Fn(f64) -> f64, visitor: &mut impl Visit) {
        simd::widest(Walk { planes: self, row, measure, visitor });
    }

    /// Σ f(w, Σ_c measure(Δ_c)) over the edges.
    pub(super) fn sum(
        &self,
        measure: impl Fn(f64) -> f64 + Sync + Send,
        f: impl Fn(f64, f64) -> f64 + Sync + Send,
    ) -> f64 {
        parallel::sum_blocks(self.stencil.height, 1, |rows| {
            let mut sum = Sum { f: &f, lanes: [0.0; LANES] };
            rows.for_each(|row| self.walk(row, &measure, &mut sum));
            sum.lanes.iter().sum()
        })
    }

    /// The value f(w, ‖Δ‖²) at a place in decreasing order; 0 where there are not that many. `f` must not be negative.
    pub(super) fn nth_largest(&self, place: usize, f: impl Fn(f64, f64) -> f64 + Sync + Send) -> f64 {
        let parts = self.parts();
        let counts = parallel::map(parts.len(), |part| {
            let mut visitor = Each { f: &f, counts: Counts::new() };
            parts[part].clone().for_each(|row| self.walk(row, &square, &mut visitor));
            visitor.counts
        });
        let Some((bucket, above)) = rank::find(&counts, place) else { return 0.0 };
        drop(counts);
        let inside = parallel::map(parts.len(), |part| {
            let mut visitor = Among { f: &f, bucket, values: Vec::new() };
            parts[part].clone().for_each(|row| self.walk(row, &square, &mut visitor));
            visitor.values
        });
        rank::select(inside.concat(), place - above)
    }

    /// The rows of the image in a few parts.
    fn parts(&self) -> Vec<Range<usize>> {
        let height = self.stencil.height;
        let rows = height.div_ceil(COUNTED_PARTS).max(1);
        (0..height).step_by(rows).map(|first| first..(first + rows).min(height)).collect()
    }

    /// The stencil with weights f(w, ‖Δ‖²); `memory` holds weights of the same edges, or nothing.
    pub(super) fn reweighted(
        &self,
        mut memory: Vec<f32>,
        f: impl Fn(f64, f64) -> f64 + Sync + Send,
    ) -> Stencil {
        let Stencil { height, width, offsets, weights, cells } = self.stencil;
        if memory.len() != weights.len() {
            memory = vec![0.0; weights.len()];
        }
        parallel::for_each_chunk(&mut memory, offsets.len() * width, |row, out| {
            self.walk(row, &square, &mut Set { f: &f, out });
        });
        Stencil {
            height: *height,
            width: *width,
            offsets: offsets.clone(),
            weights: memory.into(),
            cells: cells.clone(),
        }
    }
}

#[inline(always)]
fn square(difference: f64) -> f64 {
    difference * difference
}

/// The edges from one row of the image.
struct Walk<'w, 'a, M, V> {
    planes: &'w Planes<'a>,
    row: usize,
    measure: &'w M,
    visitor: &'w mut V,
}

impl<M: Fn(f64) -> f64, V: Visit> pulp::NullaryFnOnce for Walk<'_, '_, M, V> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let stencil = self.planes.stencil;
        let (width, n_pixels) = (stencil.width, stencil.height * stencil.width);
        let stored = &stencil.weights[self.row * stencil.offsets.len() * width..];
        let inside = |&&(dr, _): &&(usize, isize)| self.row + dr < stencil.height;
        for (o, &(dr, dc)) in stencil.offsets.iter().take_while(inside).enumerate() {
            let columns = stencil.columns(dc);
            let (place, count) = (o * width + columns.start, columns.len());
            let own = self.row * width + columns.start;
            let other = ((self.row + dr) * width + columns.start).wrapping_add_signed(dc);
            let (weights, rest) = stored[place..place + count].as_chunks::<LANES>();
            for (chunk, weights) in weights.iter().enumerate() {
                let at = chunk * LANES;
                if weights.iter().all(|&w| w == 0.0) {
                    continue;
                }
                let mut distances = [0.0; LANES];
                for plane in self.planes.values.chunks_exact(n_pixels) {
                    let (a, b) = (&plane[own + at..][..LANES], &plane[other + at..][..LANES]);
                    for l in 0..LANES {
                        distances[l] += (self.measure)(a[l] - b[l]);
                    }
                }
                self.visitor.visit(place + at, &weights.map(f64::from), &distances);
            }
            let at = count - rest.len();
            let (mut weights, mut distances) = ([0.0; LANES], [0.0; LANES]);
            for (l, &w) in rest.iter().enumerate() {
                weights[l] = f64::from(w);
                for plane in self.planes.values.chunks_exact(n_pixels) {
                    distances[l] += (self.measure)(plane[own + at + l] - plane[other + at + l]);
                }
            }
            self.visitor.visit(place + at, &weights, &distances);
        }
    }
}

/// Adds up f.
struct Sum<'a, F> {
    f: &'a F,
    lanes: [f64; LANES],
}

impl<F: Fn(f64, f64) -> f64> Visit for Sum<'_, F> {
    #[inline(always)]
    fn visit(&mut self, _: usize, weights: &[f64; LANES], distances: &[f64; LANES]) {
        for l in 0..LANES {
            let value = (self.f)(weights[l], distances[l]);
            self.lanes[l] += if weights[l] > 0.0 { value } else { 0.0 };
        }
    }
}

/// Counts f by its leading bits.
struct Each<'a, F> {
    f: &'a F,
    counts: Counts,
}

impl<F: Fn(f64, f64) -> f64> Visit for Each<'_, F> {
    #[inline(always)]
    fn visit(&mut self, _: usize, weights: &[f64; LANES], distances: &[f64; LANES]) {
        let values: [f64; LANES] = std::array::from_fn(|l| (self.f)(weights[l], distances[l]));
        for l in 0..LANES {
            if weights[l] > 0.0 {
                self.counts.add(values[l]);
            }
        }
    }
}

/// Gathers the values of f that have some leading bits.
struct Among<'a, F> {
    f: &'a F,
    bucket: usize,
    values: Vec<f64>,
}

impl<F: Fn(f64, f64) -> f64> Visit for Among<'_, F> {
    #[inline(always)]
    fn visit(&mut self, _: usize, weights: &[f64; LANES], distances: &[f64; LANES]) {
        let values: [f64; LANES] = std::array::from_fn(|l| (self.f)(weights[l], distances[l]));
        if values.iter().all(|&value| rank::bucket(value) != self.bucket) {
            return;
        }
        for l in 0..LANES {
            if weights[l] > 0.0 && rank::bucket(values[l]) == self.bucket {
                self.values.push(values[l]);
            }
        }
    }
}

/// Writes f in place of the weights.
struct Set<'a, F> {
    f: &'a F,
    out: &'a mut [f32],
}

impl<F: Fn(f64, f64) -> f64> Visit for Set<'_, F> {
    #[inline(always)]
    fn visit(&mut self, place: usize, weights: &[f64; LANES], distances: &[f64; LANES]) {
        // An edge stays an edge: the pattern must not change when a weight underflows.
        let values: [f32; LANES] = std::array::from_fn(|l| {
            ((self.f)(weights[l], distances[l]) as f32).clamp(f32::MIN_POSITIVE, f32::MAX)
        });
        if let Some(out) = self.out[place..].first_chunk_mut::<LANES>() {
            for l in 0..LANES {
                out[l] = if weights[l] > 0.0 { values[l] } else { out[l] };
            }
            return;
        }
        for (l, out) in self.out[place..].iter_mut().enumerate() {
            *out = if weights[l] > 0.0 { values[l] } else { *out };
        }
    }
}
