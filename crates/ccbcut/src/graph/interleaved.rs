//! Products of a stencil's Laplacian with many vectors at once.
//!
//! The values that all vectors have at a pixel lie side by side and fill a register or two, so that no load straddles
//! cache lines and each weight serves all of them. A strip of rows is one task, taken in blocks of columns that the
//! cache holds: its vectors are interleaved, its weights copied between margins of zeros, and the sums of the rows that
//! it reaches below itself are added in the end. Each value is a sum in a fixed order, whatever the number of threads.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use crate::{
    parallel,
    simd::{self, Lanes},
};

use super::{
    product::{Layout, Real, Write},
    stencil::Stencil,
};

/// Fewer vectors than this are faster one beside the other.
pub(super) const LEAST: usize = 5;

/// Rows of a strip, at least …
const STRIP: usize = 32;

/// … and how many strips there are at most: what each reaches below itself is kept apart, and takes memory.
const MOST_STRIPS: usize = 32;

/// Columns of a block, at most: the rows that a stencil of radius 10 reaches then stay in the cache.
const BLOCK: usize = 512;

/// Blocks are padded to a multiple of this many pixels.
const PIXELS: usize = 8;

/// Vectors of one value per vertex, and the diagonal that they are multiplied by.
struct Columns<'a, T> {
    x: &'a [T],
    scale: Option<&'a [T]>,
}

/// Y = L X, or as `write` says, for at most `G` columns; `scale` is a diagonal applied on both sides.
pub(super) fn apply<T: Real, const G: usize>(
    layout: &Layout<'_>,
    x: &[T],
    y: &mut [T],
    scale: Option<&[T]>,
    write: Write,
) {
    let (stencil, depth) = (layout.stencil, layout.depth());
    let (height, width) = (stencil.height, stencil.width);
    let strip = STRIP.max(depth).max(height.div_ceil(MOST_STRIPS));
    let n_strips = height.div_ceil(strip);
    let firsts: Vec<usize> =
        (0..=n_strips).map(|s| stencil.first_vertex((s * strip).min(height) * width)).collect();
    let columns = Columns { x, scale };
    let mut halos: Vec<Vec<T>> = vec![Vec::new(); n_strips];
    let tasks = split(y, stencil.n_vertices(), &firsts).into_iter().zip(&mut halos).collect();
    parallel::for_each_part(tasks, |s, (mut y, halo): (Vec<&mut [T]>, &mut Vec<T>)| {
        let rows = s * strip..((s + 1) * strip).min(height);
        halo.resize(depth * width * G, T::default());
        for first in (0..width).step_by(BLOCK) {
            let count = BLOCK.min(width - first);
            let block = Block::<T, G>::new(layout, rows.clone(), first..first + count, &columns);
            let span = block.span;
            for (r, sums) in simd::widest(block).as_slice().chunks_exact(span * G).enumerate() {
                let sums = &sums[..count * G];
                if r < rows.len() {
                    let pixel = (rows.start + r) * width + first;
                    take_apart::<T, G>(stencil, pixel, sums, firsts[s], &mut y, scale, write);
                } else {
                    halo[((r - rows.len()) * width + first) * G..][..count * G].copy_from_slice(sums);
                }
            }
        }
    });
    let more = if let Write::Set = write { Write::Add } else { write };
    parallel::for_each_part(split(y, stencil.n_vertices(), &firsts), |s, mut y| {
        let rows = s * strip..((s + 1) * strip).min(height);
        let above = s.checked_sub(1).map_or(&[][..], |above| &halos[above]);
        for (row, sums) in rows.zip(above.chunks_exact(width * G)) {
            take_apart::<T, G>(stencil, row * width, sums, firsts[s], &mut y, scale, more);
        }
    });
}

/// The parts of every column between some vertices.
fn split<'y, T>(y: &'y mut [T], n: usize, firsts: &[usize]) -> Vec<Vec<&'y mut [T]>> {
    let mut parts: Vec<Vec<&mut [T]>> = firsts.windows(2).map(|_| Vec::new()).collect();
    for mut column in y.chunks_exact_mut(n) {
        for (part, ends) in parts.iter_mut().zip(firsts.windows(2)) {
            let (own, rest) = column.split_at_mut(ends[1] - ends[0]);
            part.push(own);
            column = rest;
        }
    }
    parts
}

/// Writes interleaved values of the pixels from `pixel` on to the columns `y`, which start at a vertex.
fn take_apart<T: Real, const G: usize>(
    stencil: &Stencil,
    pixel: usize,
    values: &[T],
    first: usize,
    y: &mut [&mut [T]],
    scale: Option<&[T]>,
    write: Write,
) {
    let vertices = stencil.first_vertex(pixel)..stencil.first_vertex(pixel + values.len() / G);
    for (g, y) in y.iter_mut().enumerate() {
        for v in vertices.clone() {
            let value = values[(stencil.pixel(v) - pixel) * G + g];
            let value = scale.map_or(value, |scale| value * scale[v]);
            write.to(&mut y[v - first], value);
        }
    }
}

/// Numbers from the start of a cache line on: a register that is loaded from them lies in one.
struct Aligned<T> {
    memory: Vec<T>,
    first: usize,
    len: usize,
}

impl<T: Real> Aligned<T> {
    fn zeros(len: usize) -> Self {
        const LINE: usize = 64;
        let memory = vec![T::default(); len + LINE / size_of::<T>()];
        // Wherever it is, the numbers are the same: no more than speed depends on it.
        let first = memory.as_ptr().align_offset(LINE).min(memory.len() - len);
        Self { memory, first, len }
    }

    fn as_slice(&self) -> &[T] {
        &self.memory[self.first..][..self.len]
    }

    fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.memory[self.first..][..self.len]
    }
}

/// The products of some rows with what lies on and below them, in some columns.
struct Block<'a, T, const G: usize> {
    layout: &'a Layout<'a>,
    rows: Range<usize>,
    first: usize,
    /// How many columns, padded.
    span: usize,
    /// Interleaved vectors: the rows and those that they reach, with margins on both sides.
    values: Aligned<T>,
}

impl<'a, T: Real, const G: usize> Block<'a, T, G> {
    fn new(layout: &'a Layout<'a>, rows: Range<usize>, columns: Range<usize>, from: &Columns<'_, T>) -> Self {
        let (stencil, reach) = (layout.stencil, layout.reach);
        let (width, n) = (stencil.width, stencil.n_vertices());
        let span = columns.len().next_multiple_of(PIXELS);
        let stride = (span + 2 * reach) * G;
        let reached = rows.start..(rows.end + layout.depth()).min(stencil.height);
        let mut values = Aligned::zeros((rows.len() + layout.depth()) * stride);
        let (left, right) = (columns.start.saturating_sub(reach), (columns.end + reach).min(width));
        for (row, values) in reached.zip(values.as_mut_slice().chunks_exact_mut(stride)) {
            let vertices =
                stencil.first_vertex(row * width + left)..stencil.first_vertex(row * width + right);
            // The pixel that the first value belongs to; it may lie outside.
            let origin = (row * width + columns.start).wrapping_sub(reach);
            for (g, x) in from.x.chunks_exact(n).enumerate() {
                for v in vertices.clone() {
                    let value = from.scale.map_or(x[v], |scale| x[v] * scale[v]);
                    values[stencil.pixel(v).wrapping_sub(origin) * G + g] = value;
                }
            }
        }
        Self { layout, rows, first: columns.start, span, values }
    }
}

impl<T: Real, const G: usize> WithSimd for Block<'_, T, G> {
    /// Row after row, those that are reached below included: interleaved values of the padded columns.
    type Output = Aligned<T>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Aligned<T> {
        match G / T::count::<S>() {
            1 => self.sums::<S, 1, 8>(simd),
            2 => self.sums::<S, 2, 4>(simd),
            4 => self.sums::<S, 4, 2>(simd),
            8 => self.sums::<S, 8, 1>(simd),
            16 => self.sums::<S, 16, 1>(simd),
            _ => self.sums::<S, 32, 1>(simd),
        }
    }
}

impl<T: Real, const G: usize> Block<'_, T, G> {
    /// `R` registers make up a pixel, and `P` pixels are taken at a time.
    #[inline(always)]
    fn sums<S: Simd, const R: usize, const P: usize>(self, simd: S) -> Aligned<T> {
        let Layout { stencil, steps, reach, .. } = self.layout;
        let (width, reach) = (stencil.width, *reach);
        let stride = self.span + 2 * reach;
        let mut result = Aligned::zeros((self.rows.len() + self.layout.depth()) * self.span * G);
        let (sums, _) = T::lanes_mut::<S>(simd, result.as_mut_slice()).0.as_chunks_mut::<R>();
        let (values, _) = T::lanes::<S>(simd, self.values.as_slice()).0.as_chunks::<R>();
        let most = steps.iter().map(|s| s.columns.len()).max().unwrap_or(0);
        let mut weights = vec![T::default(); stride * most];
        // What is copied of a row of the image, and where to.
        let (left, right) = (self.first.saturating_sub(reach), (self.first + self.span + reach).min(width));
        let margin = reach - (self.first - left);
        for (k, r) in self.rows.clone().enumerate() {
            let per_row = stencil.offsets.len() * width;
            let stored = &stencil.weights[r * per_row..(r + 1) * per_row];
            for step in steps.iter().take_while(|step| r + step.rows < stencil.height) {
                let from = stored[step.first..].chunks_exact(width);
                for (to, from) in weights.chunks_exact_mut(stride).zip(from).take(step.columns.len()) {
                    for (to, &w) in to[margin..].iter_mut().zip(&from[left..right]) {
                        *to = T::from(if w < T::LEAST { 0.0 } else { w });
                    }
                }
                let upper = &values[k * stride..(k + 1) * stride];
                let lower = &values[(k + step.rows) * stride..(k + step.rows + 1) * stride];
                let (weights, columns) = (weights.as_slice(), step.columns.as_slice());
                let pair = Pair::<T, S, R> { weights, columns, reach, own: upper, other: lower };
                pair.add::<P>(simd, 0, 1, &mut sums[k * self.span..(k + 1) * self.span]);
                let (pair, k) = (Pair { own: lower, other: upper, ..pair }, k + step.rows);
                pair.add::<P>(simd, -1, -1, &mut sums[k * self.span..(k + 1) * self.span]);
            }
        }
        result
    }
}

/// The weights between two rows, and the vectors on both, with margins.
struct Pair<'a, T: Lanes, S: Simd, const R: usize> {
    weights: &'a [T],
    columns: &'a [isize],
    reach: usize,
    own: &'a [[T::Register<S>; R]],
    other: &'a [[T::Register<S>; R]],
}

impl<T: Real, S: Simd, const R: usize> Pair<'_, T, S, R> {
    /// Adds Σ w (xᵢ − xⱼ) over the pixels j that the columns times `direction` lead to; the weight lies with pixel i
    /// (`shift` 0) or j (`shift` −1).
    #[inline(always)]
    fn add<const P: usize>(&self, simd: S, shift: isize, direction: isize, sums: &mut [[T::Register<S>; R]]) {
        for (tile, sums) in sums.chunks_exact_mut(P).enumerate() {
            let c = self.reach + tile * P;
            let mut acc = [[T::spread::<S>(simd, T::default()); R]; P];
            let mut here = acc;
            acc.copy_from_slice(sums);
            here.copy_from_slice(&self.own[c..c + P]);
            for (weights, &dc) in self.weights.chunks_exact(self.own.len()).zip(self.columns) {
                let weights = &weights[c.wrapping_add_signed(shift * dc)..][..P];
                let there = &self.other[c.wrapping_add_signed(direction * dc)..][..P];
                for p in 0..P {
                    let w = T::spread::<S>(simd, weights[p]);
                    for k in 0..R {
                        let flow = T::subtract::<S>(simd, here[p][k], there[p][k]);
                        acc[p][k] = T::multiply_add::<S>(simd, w, flow, acc[p][k]);
                    }
                }
            }
            sums.copy_from_slice(&acc);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        graph::{Graph, half_disc},
        linalg::LinearOperator,
    };

    /// Images of several blocks of columns and several strips, and a part of one, with holes.
    fn graphs() -> [Graph; 3] {
        let weight = |i: usize, j: usize| ((i * 7 + j * 3) % 5) as f32 / 4.0;
        let wide = Graph::from_stencil(37, 2 * BLOCK + 77, half_disc(3.0), weight).unwrap();
        let high = Graph::from_stencil(3 * STRIP + 5, 61, half_disc(10.0), weight).unwrap();
        let holed: Vec<u32> = (0..high.n_vertices() as u32).filter(|p| p % 61 != 9 && p % 17 != 3).collect();
        let part = high.induced(&holed);
        [wide, high, part]
    }

    /// Σ w (xᵢ − xⱼ), edge by edge, with a diagonal on both sides.
    fn naive(graph: &Graph, scale: &[f64], x: &[f64]) -> Vec<f64> {
        let n = scale.len();
        let mut y = vec![0.0; x.len()];
        graph.for_each_edge(|i, j, w| {
            for (x, y) in x.chunks_exact(n).zip(y.chunks_exact_mut(n)) {
                let flow = w * (scale[i] * x[i] - scale[j] * x[j]);
                y[i] += scale[i] * flow;
                y[j] -= scale[j] * flow;
            }
        });
        y
    }

    #[test]
    fn many_columns_apply_like_the_edge_loop() {
        for graph in graphs() {
            assert!(graph.compressed_rows().is_none());
            let n = graph.n_vertices();
            let scale: Vec<f64> = (0..n).map(|i| 0.5 + (i % 13) as f64 / 13.0).collect();
            let x: Vec<f64> = (0..33 * n).map(|i| (i as f64 * 0.7).sin()).collect();
            let single: Vec<f32> = x.iter().map(|&v| v as f32).collect();
            let (plain, scaled) = (naive(&graph, &vec![1.0; n], &x), naive(&graph, &scale, &x));
            for columns in [LEAST, 8, 9, 16, 17, 33] {
                let all = ..columns * n;
                let mut y = vec![f64::NAN; columns * n];
                graph.laplacian().apply_block(&x[all], &mut y);
                assert!(y.iter().zip(&plain).all(|(a, b)| (a - b).abs() < 1e-11), "{columns} columns");
                graph.laplacian().scaled(&scale).apply_block(&x[all], &mut y);
                assert!(
                    y.iter().zip(&scaled).all(|(a, b)| (a - b).abs() < 1e-11),
                    "{columns} columns, scaled"
                );
                let mut z = vec![1.5_f32; columns * n];
                graph.laplacian().subtract_single(&single[all], &mut z);
                let is_near = |(z, p): (&f32, &f64)| (f64::from(*z) - 1.5 + p).abs() < 1e-3;
                assert!(z.iter().zip(&plain).all(is_near), "{columns} columns, subtracted");
            }
        }
    }

    /// Without vector registers a pixel is made up of many.
    #[test]
    fn a_block_gives_the_same_on_any_machine() {
        let [_, graph, part] = graphs();
        for graph in [graph, part] {
            let crate::graph::Storage::Stencil(stencil) = &graph.storage else { panic!("a stencil") };
            let layout = Layout::new(stencil);
            let x: Vec<f64> = (0..16 * graph.n_vertices()).map(|i| (i as f64 * 0.7).sin()).collect();
            let single: Vec<f32> = x.iter().map(|&v| v as f32).collect();
            let rows = 3..3 + STRIP;
            let double =
                || Block::<f64, 16>::new(&layout, rows.clone(), 5..50, &Columns { x: &x, scale: None });
            let (wide, plain) = (simd::widest(double()), double().with_simd(pulp::Scalar));
            assert!(wide.as_slice().iter().zip(plain.as_slice()).all(|(a, b)| (a - b).abs() < 1e-11));
            let single =
                || Block::<f32, 16>::new(&layout, rows.clone(), 5..50, &Columns { x: &single, scale: None });
            let (wide, plain) = (simd::widest(single()), single().with_simd(pulp::Scalar));
            assert!(wide.as_slice().iter().zip(plain.as_slice()).all(|(a, b)| (a - b).abs() < 1e-3));
        }
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn the_bytes_do_not_depend_on_the_number_of_threads() {
        for graph in graphs() {
            let n = graph.n_vertices();
            let x: Vec<f64> = (0..11 * n).map(|i| (i as f64 * 0.7).sin()).collect();
            let product = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut y = vec![0.0; x.len()];
                pool.install(|| graph.laplacian().apply_block(&x, &mut y));
                y
            };
            assert_eq!(product(1), product(3));
        }
    }
}
