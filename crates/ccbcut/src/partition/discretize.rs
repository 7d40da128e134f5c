//! Multiclass discretisation: turn unit rows towards the axes of space.
//!
//! The trivial vector belongs to the relaxed solution of Yu & Shi, *Multiclass spectral clustering*, ICCV 2003,
//! <https://doi.org/10.1109/ICCV.2003.1238361>, while an embedding of this library leaves it out. So the constant
//! column is put in front of the first k − 1 columns: for an embedding with YᵀΠY = I it is 1/√π(V), and the rows of
//! an ideal embedding become orthogonal, whatever the sizes of the parts. Rows are brought to unit length, and the
//! alternation of [`rotate`](super::rotate) runs with the k axes as corners: its assignment is their non-maximum
//! suppression.

use super::rotate::{Aligned, Alignment, dot};
use crate::{error::Result, random::Random};

/// Discretises `columns` (row by row, k − 1 each): the best of `n_init` starts, the earlier on ties.
pub(super) fn discretize(
    columns: &[f64],
    k: usize,
    pi: &[f64],
    n_init: usize,
    max_iterations: usize,
    seed: u64,
) -> Result<Vec<u32>> {
    let rows = unit_rows(columns, k, pi);
    let corners: Vec<f64> = (0..k * k).map(|e| f64::from(u8::from(e / k == e % k))).collect();
    let alignment = Alignment { rows: &rows, dim: k, corners: &corners, weights: None };
    let mut random = Random::new(seed);
    let mut best: Option<Aligned> = None;
    for start in 0..n_init {
        let first = if start == 0 { heaviest(pi) } else { random.below(pi.len()) };
        let labels = alignment.assign(&spread_rows(&rows, k, first));
        let end = alignment.solve(labels, max_iterations)?;
        if best.as_ref().is_none_or(|best| end.objective > best.objective) {
            best = Some(end);
        }
    }
    Ok(best.map(|end| end.labels).unwrap_or_default())
}

/// Rows of the constant column and the given ones, scaled to unit length.
fn unit_rows(columns: &[f64], k: usize, pi: &[f64]) -> Vec<f64> {
    let dim = k - 1;
    let total: f64 = pi.iter().sum();
    let moment: f64 = columns.chunks_exact(dim).zip(pi).map(|(row, p)| p / total * dot(row, row)).sum();
    // Each column has π-norm 1 in theory; their mean norm makes this independent of the scale.
    let constant = if moment > 0.0 { (moment / dim as f64).sqrt() } else { 1.0 };
    let mut rows = Vec::with_capacity(pi.len() * k);
    for row in columns.chunks_exact(dim) {
        let length = (constant * constant + dot(row, row)).sqrt();
        rows.push(constant / length);
        rows.extend(row.iter().map(|x| x / length));
    }
    rows
}

/// `k` rows that point apart: after the first, each is the one least aligned with those before it.
fn spread_rows(rows: &[f64], k: usize, first: usize) -> Vec<f64> {
    let row = |i: usize| &rows[i * k..(i + 1) * k];
    let mut chosen = row(first).to_vec();
    let mut overlap = vec![0.0; rows.len() / k];
    for l in 1..k {
        let last = chosen[(l - 1) * k..].to_vec();
        let (mut lowest, mut next) = (f64::INFINITY, 0);
        for (i, overlap) in overlap.iter_mut().enumerate() {
            *overlap += dot(row(i), &last).abs();
            if *overlap < lowest {
                (lowest, next) = (*overlap, i);
            }
        }
        chosen.extend_from_slice(row(next));
    }
    chosen
}

fn heaviest(pi: &[f64]) -> usize {
    let mut best = 0;
    for (i, &p) in pi.iter().enumerate() {
        if p > pi[best] {
            best = i;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_an_ideal_embedding_become_orthonormal() {
        // Two parts of masses 1 and 9: y = (3, −1/3) / √10, after (7) with YᵀΠY = 1 and YᵀΠ1 = 0.
        let y = [3.0 / 10_f64.sqrt(), -1.0 / (3.0 * 10_f64.sqrt())];
        let rows = unit_rows(&y, 2, &[1.0, 9.0]);
        assert!(dot(&rows[..2], &rows[2..]).abs() < 1e-15);
        assert!((dot(&rows[..2], &rows[..2]) - 1.0).abs() < 1e-15);
        assert_eq!(unit_rows(&[0.0, 0.0], 2, &[1.0, 1.0]), vec![1.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn the_first_rows_point_apart() {
        let rows = [1.0, 0.0, 0.8, 0.6, 0.0, 1.0];
        assert_eq!(spread_rows(&rows, 2, 0), vec![1.0, 0.0, 0.0, 1.0]);
        assert_eq!(heaviest(&[1.0, 3.0, 3.0]), 1);
    }
}
