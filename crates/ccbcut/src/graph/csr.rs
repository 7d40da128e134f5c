//! Compressed rows: both directions of every edge, rows sorted, no diagonal, no zeros.

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use crate::parallel;

use super::{ROW_BLOCK, largest};

/// The pattern is shared by all reweightings of a graph.
#[derive(Debug, Clone)]
pub(super) struct Csr {
    pub(super) offsets: Arc<[usize]>,
    pub(super) targets: Arc<[u32]>,
    pub(super) weights: Vec<f64>,
    halves: Arc<OnceLock<Halves>>,
    largest: OnceLock<f64>,
}

/// Where each edge stands among the edges counted once, i < j, ordered by i and then j.
#[derive(Debug)]
pub(super) struct Halves {
    /// For each row the position of its first neighbour with a larger number.
    pub(super) middle: Vec<usize>,
    /// For each row how many edges the rows before it have; the total at the end.
    pub(super) first: Vec<usize>,
    /// For each stored neighbour with a smaller number, in order of storage, which edge it is.
    mirror: Vec<u32>,
    /// For each row where its part of `mirror` begins.
    mirror_first: Vec<usize>,
}

impl Csr {
    pub(super) fn new(offsets: Vec<usize>, targets: Vec<u32>, weights: Vec<f64>) -> Self {
        let (halves, largest) = (Arc::default(), OnceLock::new());
        Self { offsets: offsets.into(), targets: targets.into(), weights, halves, largest }
    }

    /// From edges that are known to be sorted, each given once with its smaller end first, and positive.
    pub(super) fn from_sorted_edges(n: usize, edges: &[(u32, u32)], weights: &[f64]) -> Self {
        debug_assert!(edges.is_sorted() && edges.iter().all(|(i, j)| i < j));
        let mut offsets = vec![0; n + 1];
        for &(i, j) in edges {
            offsets[i as usize + 1] += 1;
            offsets[j as usize + 1] += 1;
        }
        (0..n).for_each(|v| offsets[v + 1] += offsets[v]);
        let mut next = offsets.clone();
        let (mut targets, mut values) = (vec![0; offsets[n]], vec![0.0; offsets[n]]);
        // Smaller neighbours come to a vertex before it is the smaller one itself.
        for (&(i, j), &w) in edges.iter().zip(weights) {
            for (own, other) in [(i, j), (j, i)] {
                let place = &mut next[own as usize];
                (targets[*place], values[*place]) = (other, w);
                *place += 1;
            }
        }
        Self::new(offsets, targets, values)
    }

    /// Other weights on the same pattern.
    pub(super) fn with_weights(&self, weights: Vec<f64>) -> Self {
        debug_assert_eq!(weights.len(), self.weights.len());
        let (offsets, targets, halves) = (self.offsets.clone(), self.targets.clone(), self.halves.clone());
        Self { offsets, targets, weights, halves, largest: OnceLock::new() }
    }

    /// The largest weight; zero without edges.
    pub(super) fn largest_weight(&self) -> f64 {
        *self.largest.get_or_init(|| largest(&self.weights))
    }

    #[inline]
    pub(super) fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.offsets[i]..self.offsets[i + 1];
        (&self.targets[range.clone()], &self.weights[range])
    }

    #[inline]
    pub(super) fn for_each_neighbor(&self, i: usize, f: &mut impl FnMut(usize, f64)) {
        let (targets, weights) = self.row(i);
        for (&j, &w) in targets.iter().zip(weights) {
            f(j as usize, w);
        }
    }

    /// The sum of each row, the self-loop added last; `self_loops` may be empty.
    pub(super) fn sum_rows(&self, self_loops: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.n_rows()];
        parallel::for_each_chunk(&mut sums, ROW_BLOCK, |block, part| {
            for (k, sum) in part.iter_mut().enumerate() {
                let i = block * ROW_BLOCK + k;
                *sum = crate::linalg::sum(self.row(i).1) + self_loops.get(i).copied().unwrap_or(0.0);
            }
        });
        sums
    }

    pub(super) fn n_rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The neighbours of a row that have a larger number, and where its edges begin when each is counted once.
    #[inline]
    pub(super) fn upper(&self, i: usize) -> Range<usize> {
        self.halves().middle[i]..self.offsets[i + 1]
    }

    /// How many neighbours of a row have a smaller number.
    #[inline]
    pub(super) fn n_earlier(&self, i: usize) -> usize {
        match self.halves.get() {
            Some(halves) => halves.middle[i] - self.offsets[i],
            None => self.row(i).0.partition_point(|&j| (j as usize) < i),
        }
    }

    pub(super) fn halves(&self) -> &Halves {
        parallel::once(&self.halves, || {
            let n = self.n_rows();
            let mut middle = vec![0; n];
            parallel::for_each_chunk(&mut middle, ROW_BLOCK, |block, part| {
                for (i, middle) in (block * ROW_BLOCK..).zip(part) {
                    let range = self.offsets[i]..self.offsets[i + 1];
                    *middle = range.start + self.targets[range].partition_point(|&j| (j as usize) < i);
                }
            });
            let (mut first, mut mirror_first) = (Vec::with_capacity(n + 1), Vec::with_capacity(n + 1));
            let (mut edges, mut lower) = (0, 0);
            for i in 0..n {
                first.push(edges);
                mirror_first.push(lower);
                edges += self.offsets[i + 1] - middle[i];
                lower += middle[i] - self.offsets[i];
            }
            first.push(edges);
            mirror_first.push(lower);
            // Rows are sorted, so the edges to a row from smaller ones come in the order of the rows.
            let mut next = mirror_first.clone();
            let mut mirror = vec![0; lower];
            for i in 0..n {
                for (edge, p) in (middle[i]..self.offsets[i + 1]).enumerate() {
                    let j = self.targets[p] as usize;
                    mirror[next[j]] = (first[i] + edge) as u32;
                    next[j] += 1;
                }
            }
            Halves { middle, first, mirror, mirror_first }
        })
    }

    /// The same pattern with a weight for each edge, given once, i < j, ordered by i and then j; `weights` is memory to
    /// be used.
    pub(super) fn with_edge_weights(&self, values: &[f64], mut weights: Vec<f64>) -> Self {
        let halves = self.halves();
        weights.resize(self.weights.len(), 0.0);
        for_each_block(&mut weights, &self.offsets, |rows, piece| {
            let start = self.offsets[rows.start];
            for i in rows {
                let row = &mut piece[self.offsets[i] - start..self.offsets[i + 1] - start];
                let (lower, upper) = row.split_at_mut(halves.middle[i] - self.offsets[i]);
                let mirror = &halves.mirror[halves.mirror_first[i]..];
                lower.iter_mut().zip(mirror).for_each(|(w, &edge)| *w = values[edge as usize]);
                upper.copy_from_slice(&values[halves.first[i]..halves.first[i + 1]]);
            }
        });
        self.with_weights(weights)
    }
}

/// Calls `f(rows, values)` for blocks of consecutive rows; the values of row i are those from `starts[i]` up to
/// `starts[i + 1]`.
pub(super) fn for_each_block(
    values: &mut [f64],
    starts: &[usize],
    f: impl Fn(Range<usize>, &mut [f64]) + Sync + Send,
) {
    parallel::for_each_part(by_blocks(values, starts), |_, (rows, piece)| f(rows, piece));
}

/// Blocks of consecutive rows and their values.
pub(super) fn by_blocks<'a, T>(values: &'a mut [T], starts: &[usize]) -> Vec<(Range<usize>, &'a mut [T])> {
    let n = starts.len() - 1;
    let mut pieces = Vec::with_capacity(n.div_ceil(ROW_BLOCK));
    let mut rest = values;
    for first in (0..n).step_by(ROW_BLOCK) {
        let end = (first + ROW_BLOCK).min(n);
        let (piece, behind) = rest.split_at_mut(starts[end] - starts[first]);
        pieces.push((first..end, piece));
        rest = behind;
    }
    pieces
}
