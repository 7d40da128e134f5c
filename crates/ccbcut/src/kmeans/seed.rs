//! First centres: k-means++ on a sample.
//!
//! Each further centre is drawn with probability proportional to ωᵢ D(xᵢ)², D being the distance to the nearest
//! centre so far (Arthur & Vassilvitskii, SODA 2007).

use super::{
    Seeding,
    distance::{LANES, Tiles},
    lloyd::Points,
};
use crate::{parallel, random::Random};

/// A sample holds at least this many points for each cluster.
const LEAST_PER_CLUSTER: usize = 20;

/// The points that runs are tried on, in random order; `None` stands for all of them.
pub(crate) fn draw_sample(n: usize, k: usize, seeding: Seeding, random: &mut Random) -> Option<Vec<u32>> {
    let size = match seeding {
        Seeding::All => return None,
        Seeding::Sample(size) => size.max(k.saturating_mul(LEAST_PER_CLUSTER)),
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

/// `k` centres, row by row; `tiles` hold the same points.
pub(super) fn plus_plus(points: &Points<'_>, tiles: &Tiles, k: usize, random: &mut Random) -> Vec<f64> {
    const BLOCK: usize = parallel::SUM_BLOCK;
    let mut centers = Vec::with_capacity(k * points.d);
    let mut mass: Vec<f64> = (0..points.n).map(|i| points.weight(i)).collect();
    let mut closest = vec![f64::INFINITY; points.n];
    for _ in 0..k {
        let center = points.row(draw(&mass, random));
        centers.extend_from_slice(center);
        parallel::for_each_chunk(&mut closest, BLOCK, |block, part| {
            tiles.approach(center, block * (BLOCK / LANES), part);
        });
        match points.weights {
            Some(weights) => {
                for ((mass, closest), weight) in mass.iter_mut().zip(&closest).zip(weights) {
                    *mass = weight * closest;
                }
            }
            None => mass.copy_from_slice(&closest),
        }
    }
    centers
}

/// A position drawn with probability proportional to its mass; uniformly where no mass is left.
fn draw(mass: &[f64], random: &mut Random) -> usize {
    // Sums of short blocks, so that the search need not add up everything again.
    const BLOCK: usize = 64;
    let blocks: Vec<f64> = mass.chunks(BLOCK).map(|block| block.iter().sum()).collect();
    let total: f64 = blocks.iter().sum();
    if total <= 0.0 {
        return random.below(mass.len());
    }
    let target = random.uniform() * total;
    let (block, below) = walk(&blocks, 0.0, target);
    let first = block * BLOCK;
    first + walk(&mass[first..(first + BLOCK).min(mass.len())], below, target).0
}

/// Where the running sum, which starts at `below`, passes the target: the position, and the sum before it. Rounding
/// may leave the sum short of the target; then it is the last position with mass.
fn walk(mass: &[f64], below: f64, target: f64) -> (usize, f64) {
    let (mut sum, mut last) = (below, (0, below));
    for (s, &m) in mass.iter().enumerate() {
        if m > 0.0 {
            last = (s, sum);
            sum += m;
            if sum > target {
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
        let mut sample = draw_sample(500, 3, Seeding::Sample(100), &mut random).unwrap();
        sample.sort_unstable();
        sample.dedup();
        assert_eq!(sample.len(), 100);
        assert_eq!(draw_sample(500, 10, Seeding::Sample(100), &mut random).unwrap().len(), 200);
        assert_eq!(draw_sample(500, 3, Seeding::Sample(500), &mut random), None);
        assert_eq!(draw_sample(500, 3, Seeding::All, &mut random), None);
    }

    #[test]
    fn centres_are_distinct_while_distinct_points_last() {
        let data = [1.0, 1.0, 1.0, 2.0, 3.0, 3.0];
        let points = Points { data: &data, n: 6, d: 1, weights: None };
        let few = Points { data: &data[..2], n: 2, d: 1, weights: None };
        for seed in 0..20 {
            let mut centers = plus_plus(&points, &Tiles::new(&points), 3, &mut Random::new(seed));
            centers.sort_unstable_by(f64::total_cmp);
            assert_eq!(centers, vec![1.0, 2.0, 3.0]);
            assert_eq!(plus_plus(&few, &Tiles::new(&few), 2, &mut Random::new(seed)), vec![1.0, 1.0]);
        }
    }

    #[test]
    fn draws_follow_the_mass() {
        let mut random = Random::new(2);
        let hits = (0..10_000).filter(|_| draw(&[0.0, 1.0, 3.0, 0.0], &mut random) == 2).count();
        assert!((7300..7700).contains(&hits), "{hits}");
        let mut spread = vec![0.0; 1000];
        (spread[70], spread[500], spread[999]) = (1.0, 1.0, 2.0);
        let drawn: Vec<usize> = (0..10_000).map(|_| draw(&spread, &mut random)).collect();
        let share = |i: usize| drawn.iter().filter(|&&s| s == i).count();
        assert_eq!(share(70) + share(500) + share(999), 10_000);
        assert!((2300..2700).contains(&share(70)) && (4800..5200).contains(&share(999)), "{}", share(70));
    }
}
