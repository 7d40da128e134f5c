//! Pairs of nearby pixels, drawn at random: what the densities are learnt from.

use crate::random::Random;

/// Variance of the normal part of an offset.
const VARIANCE: f64 = 0.25;

/// Largest offset along each axis.
const REACH: f64 = 4.0 * VARIANCE + 1.0;

/// Pairs of pixels some three pixels apart.
///
/// Centres are drawn `n` times among the pixels that count, and each is used once, however often it was drawn. From a
/// centre p, with z normal of variance ¼ along both axes, the offset is z + z/‖z‖, cut off at 2 along each axis, and
/// the pair is p + offset and p − offset, rounded. Pairs with an end outside, or on a pixel that does not count, are
/// dropped.
pub(super) fn sample_pairs(
    (height, width): (usize, usize),
    mask: Option<&[bool]>,
    n: usize,
    random: &mut Random,
) -> Vec<(usize, usize)> {
    let counts = |p: usize| mask.is_none_or(|mask| mask[p]);
    let candidates: Vec<usize> = (0..height * width).filter(|&p| counts(p)).collect();
    if candidates.is_empty() {
        return Vec::new();
    }
    let mut is_used = vec![false; candidates.len()];
    let mut centres = Vec::with_capacity(n.min(candidates.len()));
    for _ in 0..n {
        let drawn = random.below(candidates.len());
        if !std::mem::replace(&mut is_used[drawn], true) {
            centres.push(candidates[drawn]);
        }
    }
    let pixel = |r: f64, c: f64| {
        let inside = r >= 0.0 && c >= 0.0 && r < height as f64 && c < width as f64;
        inside.then(|| r as usize * width + c as usize).filter(|&p| counts(p))
    };
    let pair = |p: usize| {
        let z = [(); 2].map(|()| VARIANCE.sqrt() * random.normal());
        let length = z[0].hypot(z[1]);
        let [dr, dc] = z.map(|z| if length > 0.0 { (z + z / length).clamp(-REACH, REACH) } else { 0.0 });
        let (r, c) = ((p / width) as f64, (p % width) as f64);
        pixel((r + dr).round(), (c + dc).round()).zip(pixel((r - dr).round(), (c - dc).round()))
    };
    centres.into_iter().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_about_three_pixels_apart_and_centres_are_used_once() {
        let pairs = sample_pairs((60, 80), None, 5000, &mut Random::new(3));
        // Of 4800 pixels 4800 (1 − e^(−5000/4800)) ≈ 3100 are drawn; some pairs end outside.
        assert!((2800..3106).contains(&pairs.len()), "{}", pairs.len());
        let between = |&(p, q): &(usize, usize)| {
            ((p / 80) as f64 - (q / 80) as f64).hypot((p % 80) as f64 - (q % 80) as f64)
        };
        let distances: Vec<f64> = pairs.iter().map(between).collect();
        let mean = distances.iter().sum::<f64>() / distances.len() as f64;
        assert!((3.1..3.4).contains(&mean), "{mean}");
        assert!(distances.iter().all(|d| *d <= 32.0_f64.sqrt()));
    }

    #[test]
    fn pairs_avoid_pixels_that_do_not_count() {
        let mask: Vec<bool> = (0..400).map(|p| p % 20 != 9 && p / 20 < 15).collect();
        let pairs = sample_pairs((20, 20), Some(&mask), 3000, &mut Random::new(3));
        assert!(pairs.len() > 100);
        assert!(pairs.iter().all(|&(p, q)| mask[p] && mask[q]));
        let all = [true; 400];
        let (given, none) = (Some(&all[..]), None);
        let draw = |mask| sample_pairs((20, 20), mask, 300, &mut Random::new(8));
        assert_eq!(draw(given), draw(none));
    }

    #[test]
    fn where_no_pair_fits_there_is_none() {
        assert!(sample_pairs((1, 1), None, 1000, &mut Random::new(0)).is_empty());
        assert!(sample_pairs((3, 3), Some(&[false; 9]), 1000, &mut Random::new(0)).is_empty());
        assert!(sample_pairs((3, 3), None, 0, &mut Random::new(0)).is_empty());
    }
}
