//! Non-maximum suppression: a contour is one pixel wide.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_8, PI};

use super::gradient::ORIENTATIONS;

/// What the strengths are multiplied by at the end.
const SCALE: f64 = 1.2;

/// The strengths that are larger than those on either side across the contour, times 1.2, clamped to [0, 1]; 0 elsewhere.
///
/// `strongest(p)` is the largest of the oriented strengths at pixel p, at least 0, and its orientation, the first of equals.
/// A neighbour counts less the more its orientation differs, beyond π/8. Pixels without all the neighbours that are looked at become 0;
/// so do the first and last rows.
pub(super) fn thinned(height: usize, width: usize, strongest: &[(f32, u8)]) -> Vec<f32> {
    let directions: Vec<Direction> = (0..ORIENTATIONS).map(Direction::new).collect();
    let at = |r: isize, c: isize| {
        let inside = (0..height as isize).contains(&r) && (0..width as isize).contains(&c);
        inside.then(|| strongest[r as usize * width + c as usize])
    };
    let mut out = vec![0.0; height * width];
    for (p, (out, &(strength, o))) in out.iter_mut().zip(strongest).enumerate() {
        let (r, c) = (p / width, p % width);
        if strength <= 0.0 || r == 0 || r + 1 == height {
            continue;
        }
        let direction = &directions[usize::from(o)];
        let side = |sign: isize| -> Option<f64> {
            let mut sum = 0.0;
            for (&(dr, dc), weight) in direction.steps.iter().zip(direction.weights) {
                if weight > 0.0 {
                    let (value, other) = at(r as isize + sign * dr, c as isize + sign * dc)?;
                    sum += weight * f64::from(value) * agreement(o, other);
                }
            }
            Some(sum)
        };
        if let (Some(one), Some(other)) = (side(1), side(-1)) {
            let strength = f64::from(strength);
            if strength > one && strength > other {
                *out = (SCALE * strength).clamp(0.0, 1.0) as f32;
            }
        }
    }
    out
}

/// Across a contour: the nearest pixel along an axis and the one on the diagonal, and how much each counts.
struct Direction {
    steps: [(isize, isize); 2],
    weights: [f64; 2],
}

impl Direction {
    fn new(orientation: usize) -> Self {
        // In eighths of π, so that the axes and diagonals are met exactly.
        let eighths = (orientation + ORIENTATIONS / 2) % ORIENTATIONS;
        let (sin, cos) = (eighths as f64 * FRAC_PI_8).sin_cos();
        let sign = |v: f64| if v >= 0.0 { 1 } else { -1 };
        let (axis, slope) = match eighths {
            0 => ((1, 0), 0.0),
            4 => ((0, 1), 0.0),
            2 | 6 => ((sign(cos), 0), 1.0),
            _ if cos.abs() > sin.abs() => ((sign(cos), 0), (sin / cos).abs()),
            _ => ((0, sign(sin)), (cos / sin).abs()),
        };
        Self { steps: [axis, (sign(cos), sign(sin))], weights: [1.0 - slope, slope] }
    }
}

/// cos(max(0, δ − π/8)) for the angle δ ≤ π/2 between two orientations.
fn agreement(a: u8, b: u8) -> f64 {
    let apart = f64::from(a.abs_diff(b)) * PI / ORIENTATIONS as f64;
    let delta = if apart > FRAC_PI_2 { PI - apart } else { apart };
    (delta - FRAC_PI_8).max(0.0).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ridge_becomes_a_line() {
        // A vertical ridge: orientation 0, the neighbours in the row decide.
        let row = [(0.1, 0), (0.3, 0), (0.5, 0), (0.4, 0), (0.1, 0)];
        let map: Vec<(f32, u8)> = (0..4).flat_map(|_| row).collect();
        let out = thinned(4, 5, &map);
        assert!((out[7] - 0.6).abs() < 1e-6);
        assert_eq!(out.iter().filter(|&&v| v > 0.0).count(), 2, "the rows at the border are 0");
        let flat = thinned(4, 5, &[(0.4, 0); 20]);
        assert!(flat.iter().all(|&v| v == 0.0), "nothing is larger than its equals");
    }

    #[test]
    fn neighbours_of_another_orientation_count_less() {
        let map = |o: u8| {
            let mut map = vec![(0.0, 0); 9];
            (map[4], map[5]) = ((0.5, 0), (0.55, o));
            map
        };
        assert_eq!(thinned(3, 3, &map(0))[4], 0.0);
        assert!(thinned(3, 3, &map(4))[4] > 0.0, "across: 0.55 cos(3π/8) is less than 0.5");
    }
}
