//! A weight matrix on a pixel grid by offset, in 64 bits: what a level hands to the next one.

use crate::{
    graph::{Graph, HalfStencil, HalfWeights},
    parallel,
};

/// Rows of the grid per block of the parallel loops.
const ROWS: usize = 8;

/// The upper half of a symmetric matrix: `weights[(row * offsets.len() + offset) * width + column]`. The offset (0, 0),
/// where it is listed, holds the diagonal.
#[derive(Debug, Clone)]
pub(super) struct HalfMatrix {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) offsets: Vec<(usize, isize)>,
    pub(super) weights: Vec<f64>,
}

impl HalfMatrix {
    pub(super) fn view(&self) -> HalfStencil<'_, f64> {
        let Self { height, width, offsets, weights } = self;
        HalfStencil { height: *height, width: *width, offsets, weights: HalfWeights::Kept(weights) }
    }

    /// The matrix of a graph on a grid; `None` where storing it by offset would take much more room.
    pub(super) fn of_graph(graph: &Graph, height: usize, width: usize) -> Option<Self> {
        let place = |p: usize, q: usize| {
            let dc = (q % width) as isize - (p % width) as isize;
            (q / width - p / width, dc)
        };
        // One flag for each offset there can be, columns shifted by the width.
        let mut position = vec![u32::MAX; height * 2 * width];
        let flag = |(dr, dc): (usize, isize)| dr * 2 * width + width.wrapping_add_signed(dc);
        graph.for_each_edge(|i, j, _| position[flag(place(i, j))] = 0);
        if graph.has_self_loops() {
            position[width] = 0;
        }
        let mut offsets = Vec::new();
        for (k, position) in position.iter_mut().enumerate().filter(|(_, p)| **p == 0) {
            *position = offsets.len() as u32;
            offsets.push((k / (2 * width), (k % (2 * width)) as isize - width as isize));
        }
        let entries = graph.n_edges() + if graph.has_self_loops() { graph.n_vertices() } else { 0 };
        if offsets.len().checked_mul(height * width)? > entries.saturating_mul(4) {
            return None;
        }
        let mut weights = vec![0.0; offsets.len() * height * width];
        let index = |i: usize, o: u32| (i / width * offsets.len() + o as usize) * width + i % width;
        for i in 0..if graph.has_self_loops() { graph.n_vertices() } else { 0 } {
            weights[index(i, position[width])] = graph.self_loop(i);
        }
        graph.for_each_edge(|i, j, w| weights[index(i, position[flag(place(i, j))])] = w);
        Some(Self { height, width, offsets, weights })
    }

    /// The same matrix as a graph in compressed rows.
    pub(super) fn into_graph(self) -> Graph {
        let (height, width, n) = (self.height, self.width, self.height * self.width);
        let mut counts = vec![0_u32; n];
        parallel::for_each_chunk(&mut counts, width, |row, counts| {
            self.for_each_plane(row, |_, first, _, weights| {
                let counts = counts[first..].iter_mut().zip(weights);
                counts.for_each(|(count, &w)| *count += u32::from(w > 0.0));
            });
        });
        let mut offsets = vec![0; n + 1];
        for (i, &count) in counts.iter().enumerate() {
            offsets[i + 1] = offsets[i] + count as usize;
        }
        let (mut targets, mut weights) = (vec![0_u32; offsets[n]], vec![0.0_f64; offsets[n]]);
        let mut parts = Vec::new();
        let (mut rest_targets, mut rest_weights) = (&mut targets[..], &mut weights[..]);
        for block in (0..height).step_by(ROWS) {
            let (first, end) = (block * width, (block + ROWS).min(height) * width);
            let (here, rest) = rest_targets.split_at_mut(offsets[end] - offsets[first]);
            rest_targets = rest;
            let (also_here, rest) = rest_weights.split_at_mut(here.len());
            rest_weights = rest;
            parts.push((here, also_here));
        }
        parallel::for_each_part(parts, |block, (targets, weights)| {
            let base = offsets[block * ROWS * width];
            for row in block * ROWS..((block + 1) * ROWS).min(height) {
                let mut next: Vec<usize> =
                    offsets[row * width..(row + 1) * width].iter().map(|&o| o - base).collect();
                self.for_each_plane(row, |other, first, shift, values| {
                    for (k, (&w, next)) in values.iter().zip(&mut next[first..]).enumerate() {
                        if w > 0.0 {
                            targets[*next] = (other * width + first + k).wrapping_add_signed(shift) as u32;
                            weights[*next] = w;
                            *next += 1;
                        }
                    }
                });
            }
        });
        let mut diagonal = Vec::new();
        if self.offsets.first() == Some(&(0, 0)) {
            let rows = self.weights.chunks_exact(self.offsets.len() * width);
            diagonal = rows.flat_map(|row| &row[..width]).copied().collect();
            if diagonal.iter().all(|&w| w == 0.0) {
                diagonal.clear();
            }
        }
        let columns = (0..n).map(|v| (v % width) as u32).collect();
        Graph::from_sorted_csr(offsets, targets, weights, diagonal).with_columns(columns)
    }

    /// Calls `f(other, first, shift, weights)` for the neighbours of a row, from the first: pixel (row, first + k) is
    /// tied to pixel (other, first + k + shift) by `weights[k]`.
    fn for_each_plane(&self, row: usize, mut f: impl FnMut(usize, usize, isize, &[f64])) {
        let width = self.width;
        let plane = |row: usize, o: usize| &self.weights[(row * self.offsets.len() + o) * width..][..width];
        let inside = |dc: &isize| dc.unsigned_abs() < width;
        for (o, &(dr, dc)) in self.offsets.iter().enumerate().rev() {
            if dr <= row && (dr, dc) != (0, 0) && inside(&dc) {
                let (first, start) = (dc.max(0) as usize, (-dc).max(0) as usize);
                f(row - dr, first, -dc, &plane(row - dr, o)[start..width - first]);
            }
        }
        for (o, &(dr, dc)) in self.offsets.iter().enumerate() {
            if row + dr < self.height && (dr, dc) != (0, 0) && inside(&dc) {
                let (first, end) = ((-dc).max(0) as usize, width - dc.max(0) as usize);
                f(row + dr, first, dc, &plane(row, o)[first..end]);
            }
        }
    }
}
