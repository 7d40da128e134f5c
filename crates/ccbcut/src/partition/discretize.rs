//! Multiclass discretisation: turn unit rows towards the axes of space.
//!
//! The trivial vector belongs to the relaxed solution of Yu & Shi, *Multiclass spectral clustering*, ICCV 2003,
//! <https://doi.org/10.1109/ICCV.2003.1238361>, while an embedding of this library leaves it out. So the constant
//! column is put in front of the first k − 1 columns: for an embedding with YᵀΠY = I it is 1/√π(V), and the rows of
//! an ideal embedding become orthogonal, whatever the sizes of the parts. Rows are brought to unit length, and the
//! alternation of [`rotate`](super::rotate) runs with the k axes as corners: its assignment is their non-maximum
//! suppression.

use super::{
    multiway::scale_of_first,
    rotate::{Alignment, GROWTH},
};
use crate::{
    error::Result,
    kmeans::{Seeding, draw_sample},
    linalg::dot_lanes,
    parallel,
    random::Random,
    simd,
};

/// Relative growth of the sum below which a start ends: which of them is best shows early.
const ROUGH: f64 = 1e-4;

/// How the alternation starts, and how long it runs.
pub(super) struct Starts {
    /// How many there are.
    pub(super) count: usize,
    /// Which rows each runs on.
    pub(super) seeding: Seeding,
    pub(super) seed: u64,
    pub(super) max_iterations: usize,
}

/// Discretises the first k − 1 of `m` columns, stored row by row.
///
/// Every start runs on the same sample of the rows. The best one there, the earlier on ties, goes on with all.
pub(super) fn discretize(
    embedding: &[f64],
    m: usize,
    k: usize,
    pi: &[f64],
    starts: &Starts,
) -> Result<Vec<u32>> {
    let rows = unit_rows(embedding, m, k, pi);
    let corners: Vec<f64> = (0..k * k).map(|e| f64::from(u8::from(e / k == e % k))).collect();
    let whole = Alignment { rows: &rows, dim: k, corners: &corners, weights: None };
    let mut random = Random::new(starts.seed);
    let sample = draw_sample(pi.len(), k, starts.seeding, &mut random);
    let sample = sample.unwrap_or_else(|| (0..pi.len() as u32).collect());
    let some: Vec<f64> = sample.iter().flat_map(|&i| &rows[i as usize * k..][..k]).copied().collect();
    let part = Alignment { rows: &some, ..whole };
    let first: Vec<usize> = (0..starts.count)
        .map(|start| if start == 0 { heaviest(&sample, pi) } else { random.below(sample.len()) })
        .collect();
    let ends = parallel::map(starts.count, |start| {
        let labels = part.assign(&spread_rows(&some, k, first[start]));
        let end = part.solve(labels, starts.max_iterations, ROUGH)?;
        Ok((part.objective(&end.labels)?, end.directions))
    });
    let mut best: Option<(f64, Vec<f64>)> = None;
    for end in ends {
        let (objective, directions) = end?;
        if best.as_ref().is_none_or(|(highest, _)| objective > *highest) {
            best = Some((objective, directions));
        }
    }
    let labels = best.map(|(_, directions)| whole.assign(&directions)).unwrap_or_default();
    Ok(whole.solve(labels, starts.max_iterations, GROWTH)?.labels)
}

/// Rows of the constant column and the first k − 1 given ones, scaled to unit length.
fn unit_rows(embedding: &[f64], m: usize, k: usize, pi: &[f64]) -> Vec<f64> {
    const BLOCK: usize = 1024;
    let (dim, scale) = (k - 1, scale_of_first(embedding, m, k - 1));
    let row = |i: usize| embedding[i * m..][..dim].iter().map(move |x| x / scale);
    let total: f64 = pi.iter().sum();
    let moment = parallel::sum(pi.len(), |rows| {
        rows.map(|i| pi[i] / total * row(i).map(|x| x * x).sum::<f64>()).sum()
    });
    // Each column has π-norm 1 in theory; their mean norm makes this independent of the scale.
    let constant = if moment > 0.0 { (moment / dim as f64).sqrt() } else { 1.0 };
    let mut rows = vec![0.0; pi.len() * k];
    parallel::for_each_chunk(&mut rows, BLOCK * k, |block, rows| {
        for (i, out) in rows.chunks_exact_mut(k).enumerate() {
            let row = row(block * BLOCK + i);
            let length = row.clone().map(|x| x * x).sum::<f64>();
            let length = (constant * constant + length).sqrt();
            out[0] = constant / length;
            out[1..].iter_mut().zip(row).for_each(|(out, x)| *out = x / length);
        }
    });
    rows
}

/// `k` rows that point apart: after the first, each is the one least aligned with those before it.
fn spread_rows(rows: &[f64], k: usize, first: usize) -> Vec<f64> {
    simd::widest(Spread { rows, k, first })
}

/// The work of [`spread_rows`], with the best vector instructions there are.
struct Spread<'a> {
    rows: &'a [f64],
    k: usize,
    first: usize,
}

impl pulp::NullaryFnOnce for Spread<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn call(self) -> Vec<f64> {
        let Self { rows, k, first } = self;
        let mut chosen = rows[first * k..][..k].to_vec();
        let mut overlap = vec![0.0; rows.len() / k];
        for l in 1..k {
            let last = chosen[(l - 1) * k..].to_vec();
            let (mut lowest, mut next) = (f64::INFINITY, 0);
            for (i, (overlap, row)) in overlap.iter_mut().zip(rows.chunks_exact(k)).enumerate() {
                *overlap += dot_lanes(row, &last).abs();
                if *overlap < lowest {
                    (lowest, next) = (*overlap, i);
                }
            }
            chosen.extend_from_slice(&rows[next * k..][..k]);
        }
        chosen
    }
}

/// Which of some rows weighs most, the first on ties.
fn heaviest(sample: &[u32], pi: &[f64]) -> usize {
    let weight = |place: usize| pi[sample[place] as usize];
    let mut best = 0;
    for place in 1..sample.len() {
        if weight(place) > weight(best) {
            best = place;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::rotate::dot;

    #[test]
    fn rows_of_an_ideal_embedding_become_orthonormal() {
        // Two parts of masses 1 and 9: y = (3, −1/3) / √10, after (7) with YᵀΠY = 1 and YᵀΠ1 = 0.
        let y = [3.0 / 10_f64.sqrt(), -1.0 / (3.0 * 10_f64.sqrt())];
        let rows = unit_rows(&y, 1, 2, &[1.0, 9.0]);
        assert!(dot(&rows[..2], &rows[2..]).abs() < 1e-15);
        assert!((dot(&rows[..2], &rows[..2]) - 1.0).abs() < 1e-15);
        assert_eq!(unit_rows(&[0.0, 0.0], 1, 2, &[1.0, 1.0]), vec![1.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn a_sample_finds_the_parts_that_all_rows_show() {
        // Five parts of unequal sizes, the rows of an ideal embedding with noise.
        let (k, n) = (5, 3000);
        let mut random = Random::new(4);
        let truth: Vec<u32> = (0..n).map(|i| [0, 0, 0, 0, 1, 1, 1, 2, 3, 4][i % 10]).collect();
        let share = |l: u32| [0.4, 0.3, 0.1, 0.1, 0.1][l as usize];
        // Indicators scaled by the square root of the size and turned so that the first column is constant.
        let ideal = |l: u32| {
            let mut row = vec![0.0; k];
            row[l as usize] = 1.0 / f64::sqrt(share(l));
            row
        };
        let mut basis: Vec<Vec<f64>> = vec![(0..k as u32).map(|l| share(l).sqrt()).collect()];
        for a in 0..k - 1 {
            let mut axis = vec![0.0; k];
            axis[a] = 1.0;
            for b in &basis {
                let c = dot(&axis, b);
                axis.iter_mut().zip(b).for_each(|(x, y)| *x -= c * y);
            }
            let length = dot(&axis, &axis).sqrt();
            axis.iter_mut().for_each(|x| *x /= length);
            basis.push(axis);
        }
        let columns: Vec<f64> = truth
            .iter()
            .flat_map(|&l| basis[1..].iter().map(move |b| dot(b, &ideal(l))).collect::<Vec<_>>())
            .map(|x| x + 0.1 * random.normal())
            .collect();
        let pi = vec![1.0; n];
        for seeding in [Seeding::All, Seeding::Sample(200)] {
            let starts = Starts { count: 3, seeding, seed: 1, max_iterations: 100 };
            let labels = discretize(&columns, k - 1, k, &pi, &starts).unwrap();
            let same = |i: usize, j: usize| (labels[i] == labels[j]) == (truth[i] == truth[j]);
            assert!((0..n).all(|i| (0..10).all(|j| same(i, j))), "{seeding:?}");
        }
    }

    #[test]
    fn the_first_rows_point_apart() {
        let rows = [1.0, 0.0, 0.8, 0.6, 0.0, 1.0];
        assert_eq!(spread_rows(&rows, 2, 0), vec![1.0, 0.0, 0.0, 1.0]);
        assert_eq!(heaviest(&[0, 1, 2], &[1.0, 3.0, 3.0]), 1);
        assert_eq!(heaviest(&[2, 0], &[1.0, 5.0, 3.0]), 0);
    }
}
