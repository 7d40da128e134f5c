//! Bandwidths learnt from the image.
//!
//! First one bandwidth for all channels: that of the largest likelihood of the samples, each under the density of the
//! others, by golden section. From there one bandwidth per channel: two short runs of the simplex method of Nelder and
//! Mead, which maximise the likelihood of fresh samples. All is kept within [0.01, 0.1].
//!
//! The likelihood is the mean of log(r + p/2), what the weights themselves are made of: r = 100 keeps single samples
//! where p = 0 from deciding everything.

use super::{
    density::Density,
    model::{Formula, joint_density},
};

/// Least and largest bandwidth.
const LIMITS: (f64, f64) = (0.01, 0.1);

/// Steps of the golden section; each leaves 0.62 of the interval.
const GOLDEN_STEPS: usize = 16;

/// Steps of each run of the simplex method.
const SIMPLEX_STEPS: usize = 20;

/// How far the first corners of the simplex lie apart, relatively.
const FIRST_STEP: f64 = 0.05;

/// The bandwidths of three channels for some pairs, judged by fresh ones. Without any of either, `otherwise`.
pub(super) fn learn(points: &[[f64; 6]], fresh: &[[f64; 6]], formula: Formula, otherwise: f64) -> [f64; 3] {
    if points.len() < 2 || fresh.is_empty() {
        return [otherwise; 3];
    }
    let term = |p: f64| (formula.regularization + 0.5 * p).ln();
    let mean = |density: &Density<6>, at: &dyn Fn(&Density<6>, &[f64; 6]) -> f64, points: &[[f64; 6]]| {
        points.iter().map(|x| term(at(density, x))).sum::<f64>() / points.len() as f64
    };
    let scalar = golden_section((LIMITS.0.ln(), LIMITS.1.ln()), |h: f64| {
        mean(&joint_density(points, [h.exp(); 3]), &Density::at_without_itself, points)
    });
    let within = |h: [f64; 3]| h.map(|h| h.clamp(LIMITS.0, LIMITS.1));
    let mut bandwidth = [scalar.exp(); 3];
    for _ in 0..2 {
        let best = simplex(bandwidth, |h| mean(&joint_density(points, within(h)), &Density::at, fresh));
        bandwidth = within(best);
    }
    bandwidth
}

/// Where a function with one peak in an interval is largest.
fn golden_section((mut low, mut high): (f64, f64), f: impl Fn(f64) -> f64) -> f64 {
    let ratio = 0.5 * (5.0_f64.sqrt() - 1.0);
    let inner = |low: f64, high: f64| (high - ratio * (high - low), low + ratio * (high - low));
    let (mut a, mut b) = inner(low, high);
    let (mut fa, mut fb) = (f(a), f(b));
    for _ in 0..GOLDEN_STEPS {
        if fa >= fb {
            high = b;
            (b, fb) = (a, fa);
            a = inner(low, high).0;
            fa = f(a);
        } else {
            low = a;
            (a, fa) = (b, fb);
            b = inner(low, high).1;
            fb = f(b);
        }
    }
    if fa >= fb { a } else { b }
}

/// A point where a function is larger than at the start, by the simplex method.
fn simplex(start: [f64; 3], f: impl Fn([f64; 3]) -> f64) -> [f64; 3] {
    let mut corners: Vec<([f64; 3], f64)> = (0..4)
        .map(|k| {
            let mut x = start;
            if k > 0 {
                x[k - 1] *= 1.0 + FIRST_STEP;
            }
            (x, f(x))
        })
        .collect();
    // Best first; equals stay in order.
    let sort = |corners: &mut Vec<([f64; 3], f64)>| corners.sort_by(|a, b| b.1.total_cmp(&a.1));
    sort(&mut corners);
    for _ in 0..SIMPLEX_STEPS {
        let centre: [f64; 3] =
            std::array::from_fn(|i| corners[..3].iter().map(|c| c.0[i]).sum::<f64>() / 3.0);
        let worst = corners[3];
        // 1 is the mirror image of the worst corner, −1 the corner itself.
        let at = |t: f64| -> [f64; 3] { std::array::from_fn(|i| centre[i] + t * (centre[i] - worst.0[i])) };
        let tried = |t: f64| (at(t), f(at(t)));
        let mirrored = tried(1.0);
        let better = if mirrored.1 > corners[0].1 {
            let farther = tried(2.0);
            Some(if farther.1 > mirrored.1 { farther } else { mirrored })
        } else if mirrored.1 > corners[2].1 {
            Some(mirrored)
        } else {
            let (nearer, bar) = if mirrored.1 > worst.1 { (0.5, mirrored.1) } else { (-0.5, worst.1) };
            Some(tried(nearer)).filter(|c| c.1 > bar)
        };
        if let Some(corner) = better {
            corners[3] = corner;
        } else {
            let best = corners[0].0;
            for corner in &mut corners[1..] {
                corner.0 = std::array::from_fn(|i| 0.5 * (corner.0[i] + best[i]));
                corner.1 = f(corner.0);
            }
        }
        sort(&mut corners);
    }
    corners[0].0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_golden_section_finds_a_peak() {
        let peak = golden_section((0.0, 4.0), |x| -(x - 1.3).powi(2));
        assert!((peak - 1.3).abs() < 2e-3, "{peak}");
        assert!(golden_section((0.0, 4.0), |x| x) > 3.99);
        assert!(golden_section((0.0, 4.0), |x| -x) < 0.01);
    }

    #[test]
    fn the_simplex_climbs() {
        let f = |x: [f64; 3]| -(x[0] - 0.06).powi(2) - 2.0 * (x[1] - 0.045).powi(2) - (x[2] - 0.05).powi(2);
        let first = simplex([0.05; 3], f);
        let second = simplex(first, f);
        assert!(f(first) > 0.05 * f([0.05; 3]) && f(second) >= f(first));
        // Nowhere to go: the start is the peak.
        assert_eq!(simplex([0.05; 3], |x| -x.iter().map(|v| (v - 0.05).abs()).sum::<f64>()), [0.05; 3]);
    }

    /// Pairs whose channels differ by normal numbers of different widths.
    fn pairs(n: usize, widths: [f64; 3], random: &mut Random) -> Vec<[f64; 6]> {
        let side = |random: &mut Random| widths.map(|w| 0.5 + w * random.normal());
        let pair = |random: &mut Random| {
            let (a, b) = (side(random), side(random));
            [a[0].max(b[0]), a[1], a[2], a[0].min(b[0]), b[1], b[2]]
        };
        (0..n).map(|_| pair(random)).collect()
    }

    #[test]
    fn narrow_channels_get_narrow_bandwidths() {
        let mut random = Random::new(4);
        let widths = [0.03, 0.008, 0.03];
        let (points, fresh) = (pairs(800, widths, &mut random), pairs(300, widths, &mut random));
        let formula = Formula::default();
        let h = learn(&points, &fresh, formula, 0.05);
        assert!(h.iter().all(|h| (0.01..=0.1).contains(h)));
        assert!(h[1] < 0.8 * h[0] && h[1] < 0.8 * h[2], "{h:?}");
        let likelihood = |h: [f64; 3]| {
            let density = joint_density(&points, h);
            fresh.iter().map(|x| (100.0 + 0.5 * density.at(x)).ln()).sum::<f64>()
        };
        assert!(likelihood(h) > likelihood([0.05; 3]));
        assert_eq!(h, learn(&points, &fresh, formula, 0.05));
    }

    #[test]
    fn without_samples_the_bandwidth_is_the_fixed_one() {
        let formula = Formula::default();
        assert_eq!(learn(&[], &[], formula, 0.05), [0.05; 3]);
        assert_eq!(learn(&[[0.5; 6]; 3], &[], formula, 0.05), [0.05; 3]);
        let flat = learn(&[[0.0; 6]; 30], &[[0.0; 6]; 5], formula, 0.05);
        assert!(
            flat.iter().all(|h| (0.01..0.0125).contains(h)),
            "samples that are all alike want narrow kernels"
        );
    }
}
