//! First centres: k-means++ on a sample.
//!
//! Each further centre is drawn with probability proportional to ωᵢ D(xᵢ)², D being the distance to the nearest
//! centre so far (Arthur & Vassilvitskii, SODA 2007).

use super::{Seeding, lloyd::Points};
use crate::{parallel, random::Random};

/// The points to draw centres from, in random order; `None` stands for all of them.
pub(super) fn draw_sample(n: usize, k: usize, seeding: Seeding, random: &mut Random) -> Option<Vec<u32>> {
    let size = match seeding {
        Seeding::All => return None,
        Seeding::Sample(size) => size.max(k),
    };
    if size >= n {
        return None;
    }
    // The first steps of a Fisher–Yates shuffle.
    let mut indices: Vec<u32> = (0..n as u32).collect();
    for i in 0..size {
        indices.swap(i, i + random.below(n - i));
    }
    indices.truncate(size);
    Some(indices)
}

/// `k` centres, row by row.
pub(super) fn plus_plus(
    points: &Points<'_>,
    sample: Option<&[u32]>,
    k: usize,
    random: &mut Random,
) -> Vec<f64> {
    let size = sample.map_or(points.n, <[u32]>::len);
    let index = |s: usize| sample.map_or(s, |sample| sample[s] as usize);
    let mut centers = Vec::with_capacity(k * points.d);
    let mut mass: Vec<f64> = (0..size).map(|s| points.weight(index(s))).collect();
    let mut closest = vec![f64::INFINITY; size];
    for _ in 0..k {
        let chosen = index(draw(&mass, random));
        let center = points.row(chosen);
        centers.extend_from_slice(center);
        parallel::for_each_chunk(&mut closest, parallel::SUM_BLOCK, |block, part| {
            for (offset, closest) in part.iter_mut().enumerate() {
                let row = points.row(index(block * parallel::SUM_BLOCK + offset));
                *closest = closest.min(squared_distance(row, center));
            }
        });
        for (s, mass) in mass.iter_mut().enumerate() {
            *mass = points.weight(index(s)) * closest[s];
        }
    }
    centers
}

pub(super) fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum()
}

/// A position drawn with probability proportional to its mass; uniformly where no mass is left.
fn draw(mass: &[f64], random: &mut Random) -> usize {
    let total: f64 = mass.iter().sum();
    if total <= 0.0 {
        return random.below(mass.len());
    }
    let target = random.uniform() * total;
    let (mut below, mut last) = (0.0, 0);
    for (s, &m) in mass.iter().enumerate() {
        if m > 0.0 {
            below += m;
            last = s;
            if below > target {
                break;
            }
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_holds_distinct_points_and_never_too_few() {
        let mut random = Random::new(1);
        let mut sample = draw_sample(50, 3, Seeding::Sample(20), &mut random).unwrap();
        sample.sort_unstable();
        sample.dedup();
        assert_eq!(sample.len(), 20);
        assert_eq!(draw_sample(50, 30, Seeding::Sample(20), &mut random).unwrap().len(), 30);
        assert_eq!(draw_sample(50, 3, Seeding::Sample(50), &mut random), None);
        assert_eq!(draw_sample(50, 3, Seeding::All, &mut random), None);
    }

    #[test]
    fn centres_are_distinct_while_distinct_points_last() {
        let data = [1.0, 1.0, 1.0, 2.0, 3.0, 3.0];
        let points = Points { data: &data, n: 6, d: 1, weights: None };
        for seed in 0..20 {
            let mut centers = plus_plus(&points, None, 3, &mut Random::new(seed));
            centers.sort_unstable_by(f64::total_cmp);
            assert_eq!(centers, vec![1.0, 2.0, 3.0]);
            assert_eq!(plus_plus(&points, Some(&[0, 1]), 2, &mut Random::new(seed)), vec![1.0, 1.0]);
        }
    }

    #[test]
    fn draws_follow_the_mass() {
        let mut random = Random::new(2);
        let hits = (0..10_000).filter(|_| draw(&[0.0, 1.0, 3.0, 0.0], &mut random) == 2).count();
        assert!((7300..7700).contains(&hits), "{hits}");
    }
}
