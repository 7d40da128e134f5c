//! Compressed rows: both directions of every edge, rows sorted, no diagonal, no zeros.

use crate::parallel;

use super::ROW_BLOCK;

#[derive(Debug, Clone)]
pub(super) struct Csr {
    pub(super) offsets: Vec<usize>,
    pub(super) targets: Vec<u32>,
    pub(super) weights: Vec<f64>,
}

impl Csr {
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

    /// The sum of each row, the self-loop first; `self_loops` may be empty.
    pub(super) fn sum_rows(&self, self_loops: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.offsets.len() - 1];
        parallel::for_each_chunk(&mut sums, ROW_BLOCK, |block, part| {
            for (k, sum) in part.iter_mut().enumerate() {
                let i = block * ROW_BLOCK + k;
                let own = self_loops.get(i).copied().unwrap_or(0.0);
                *sum = self.row(i).1.iter().fold(own, |sum, w| sum + w);
            }
        });
        sums
    }

    pub(super) fn map_weights(&self, f: impl Fn(usize, usize, f64) -> f64 + Sync + Send) -> Self {
        let n = self.offsets.len() - 1;
        let blocks = parallel::map(n.div_ceil(ROW_BLOCK), |b| {
            let rows = b * ROW_BLOCK..((b + 1) * ROW_BLOCK).min(n);
            let mut values = Vec::with_capacity(self.offsets[rows.end] - self.offsets[rows.start]);
            for i in rows {
                // The pair is always named in the same order, so both copies of an edge get the same bits.
                self.for_each_neighbor(i, &mut |j, w| values.push(f(i.min(j), i.max(j), w)));
            }
            values
        });
        let mut weights = Vec::with_capacity(self.weights.len());
        blocks.into_iter().for_each(|block| weights.extend(block));
        Self { offsets: self.offsets.clone(), targets: self.targets.clone(), weights }
    }
}
