//! All pairs, block by block: many coordinates leave a tree nothing to prune.

use crate::simd;

use super::{BLOCK, Best, Points};

/// Points that are compared with one at a time; a few vector registers.
const LANES: usize = 32;

/// Points in groups of [`LANES`], coordinate by coordinate.
pub(super) struct Packed {
    values: Vec<f64>,
}

impl Packed {
    pub(super) fn new(points: &Points) -> Self {
        let d = points.n_dimensions();
        let mut values = vec![0.0; points.len().div_ceil(LANES) * LANES * d];
        for point in 0..points.len() {
            let group = &mut values[point / LANES * LANES * d..];
            for (axis, &value) in points.row(point).iter().enumerate() {
                group[axis * LANES + point % LANES] = value;
            }
        }
        Self { values }
    }

    /// The neighbours of one block of points, one row after the other.
    pub(super) fn nearest(&self, points: &Points, block: usize, k: usize) -> Vec<(f64, u32)> {
        let (n, d) = (points.len(), points.n_dimensions());
        let block = block * BLOCK..((block + 1) * BLOCK).min(n);
        let mut best: Vec<Best> = block.clone().map(|_| Best::new(k)).collect();
        let mut squared = [0.0; LANES];
        for (group, values) in self.values.chunks_exact(LANES * d).enumerate() {
            let first = group * LANES;
            for (best, point) in best.iter_mut().zip(block.clone()) {
                distances(points.row(point), values, &mut squared);
                let limit = best.worst().0;
                for (lane, &distance) in squared.iter().enumerate().take(n - first) {
                    if distance <= limit && first + lane != point {
                        best.offer((distance, (first + lane) as u32));
                    }
                }
            }
        }
        best.into_iter().flat_map(|best| best.found).collect()
    }
}

/// Squared distances from a point to a group, summed in the order of the coordinates.
fn distances(point: &[f64], group: &[f64], squared: &mut [f64; LANES]) {
    simd::widest(
        #[inline(always)]
        || {
            squared.fill(0.0);
            for (x, lanes) in point.iter().zip(group.chunks_exact(LANES)) {
                for (sum, y) in squared.iter_mut().zip(lanes) {
                    *sum += (y - x) * (y - x);
                }
            }
        },
    );
}
