//! The filter bank of the textons: second derivatives of elongated Gaussians, their Hilbert transforms, and a
//! difference of round ones, at two scales.

use std::f64::consts::{PI, SQRT_2};

/// Orientations, evenly spaced over half a turn.
const ORIENTATIONS: usize = 8;

/// A square filter of odd size.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// The size is 2 radius + 1.
    pub radius: usize,
    /// Row by row.
    pub taps: Vec<f64>,
    /// Whether it changes sign when it is turned by half a turn; otherwise it stays the same.
    pub is_odd: bool,
}

/// The filters of one scale: eight even ones, eight odd ones, one round.
///
/// Each sums to 0 and has absolute values that sum to 1.
pub fn texton_filters(sigma: f64) -> Vec<Filter> {
    let radius = (3.0 * sigma).ceil() as usize;
    let theta = |k: usize| k as f64 * PI / ORIENTATIONS as f64;
    let elongated = |k: usize, hilbert: bool| {
        let profile = Profile { sigma: sigma / 3.0, derivative: 2, hilbert };
        Filter { radius, taps: rotated(sigma, profile, theta(k), radius), is_odd: hilbert }
    };
    let mut bank: Vec<Filter> = (0..ORIENTATIONS).map(|k| elongated(k, false)).collect();
    bank.extend((0..ORIENTATIONS).map(|k| elongated(k, true)));
    let round = |sigma: f64| rotated(sigma, Profile { sigma, derivative: 0, hilbert: false }, 0.0, radius);
    let mut taps: Vec<f64> = round(sigma).iter().zip(round(sigma / SQRT_2)).map(|(a, b)| a - b).collect();
    normalize(&mut taps, true);
    bank.push(Filter { radius, taps, is_odd: false });
    bank
}

/// The two scales of the bank.
pub(super) fn bank() -> [Vec<Filter>; 2] {
    [2.0, 2.0 * SQRT_2].map(texton_filters)
}

/// A function of one coordinate.
#[derive(Clone, Copy)]
struct Profile {
    sigma: f64,
    /// 0 or 2.
    derivative: u8,
    hilbert: bool,
}

impl Profile {
    /// At −radius, …, radius.
    fn sampled(self, radius: usize) -> Vec<f64> {
        let value = |x: f64| {
            let t = x * x / (self.sigma * self.sigma);
            (-t / 2.0).exp() * if self.derivative == 2 { t - 1.0 } else { 1.0 }
        };
        let mut taps: Vec<f64> = if self.hilbert {
            // The least power of two above the radius.
            let half = (radius + 1).next_power_of_two();
            let periodic: Vec<f64> = (0..2 * half).map(|i| value(i as f64 - half as f64)).collect();
            hilbert(&periodic)[half - radius..=half + radius].to_vec()
        } else {
            (0..=2 * radius).map(|i| value(i as f64 - radius as f64)).collect()
        };
        normalize(&mut taps, self.derivative > 0);
        taps
    }
}

/// The Hilbert transform of a periodic signal: every sine for its cosine. As a sum over both circles, since the signals
/// have at most 64 samples.
fn hilbert(signal: &[f64]) -> Vec<f64> {
    let n = signal.len();
    let angle = |k: usize, i: usize| 2.0 * PI * ((k * i) % n) as f64 / n as f64;
    let mut out = vec![0.0; n];
    for k in 1..n / 2 {
        let sum = |part: fn(f64) -> f64| -> f64 {
            signal.iter().enumerate().map(|(i, v)| v * part(angle(k, i))).sum()
        };
        let (cos, sin) = (sum(f64::cos), sum(f64::sin));
        for (i, value) in out.iter_mut().enumerate() {
            *value += 2.0 / n as f64 * (cos * angle(k, i).sin() - sin * angle(k, i).cos());
        }
    }
    out
}

/// Takes the mean away where that is asked for, and divides by the sum of the absolute values.
fn normalize(taps: &mut [f64], centered: bool) {
    if centered {
        let mean = taps.iter().sum::<f64>() / taps.len() as f64;
        taps.iter_mut().for_each(|t| *t -= mean);
    }
    let norm: f64 = taps.iter().map(|t| t.abs()).sum();
    if norm > 0.0 {
        taps.iter_mut().for_each(|t| *t /= norm);
    }
}

/// The product of a Gaussian along the rows' axis and a profile along the columns', turned by θ: read at
/// (u cos θ + v sin θ, v cos θ − u sin θ) by bilinear interpolation, with nothing outside.
fn rotated(sigma: f64, profile: Profile, theta: f64, radius: usize) -> Vec<f64> {
    let (sin, cos) = theta.sin_cos();
    let k = radius as f64;
    let reach = |a: f64, b: f64| (k * a - k * b).abs().max((k * a + k * b).abs()).ceil() as usize;
    let (rx, ry) = (reach(cos, -sin), reach(-sin, cos));
    let along = Profile { sigma, derivative: 0, hilbert: false }.sampled(rx);
    let across = profile.sampled(ry);
    let product = |x: isize, y: isize| {
        let at = |taps: &[f64], i: isize| usize::try_from(i).ok().and_then(|i| taps.get(i)).copied();
        at(&along, x).zip(at(&across, y)).map_or(0.0, |(a, b)| a * b)
    };
    let size = 2 * radius + 1;
    let mut taps = Vec::with_capacity(size * size);
    for (i, j) in (0..size).flat_map(|i| (0..size).map(move |j| (i, j))) {
        let (u, v) = (i as f64 - k, j as f64 - k);
        let (x, y) = (u * cos + v * sin + rx as f64, v * cos - u * sin + ry as f64);
        let (x0, y0) = (x.floor(), y.floor());
        let (fx, fy) = (x - x0, y - y0);
        let (x0, y0) = (x0 as isize, y0 as isize);
        let row = |x: isize| product(x, y0) * (1.0 - fy) + product(x, y0 + 1) * fy;
        taps.push(row(x0) * (1.0 - fx) + row(x0 + 1) * fx);
    }
    normalize(&mut taps, profile.derivative > 0);
    taps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_have_no_mean_unit_mass_and_their_symmetry() {
        for filter in bank().iter().flatten() {
            let n = filter.taps.len();
            assert_eq!(n, (2 * filter.radius + 1).pow(2));
            assert!(filter.taps.iter().sum::<f64>().abs() < 1e-12);
            assert!((filter.taps.iter().map(|t| t.abs()).sum::<f64>() - 1.0).abs() < 1e-12);
            let sign = if filter.is_odd { -1.0 } else { 1.0 };
            for i in 0..n {
                assert!((filter.taps[i] - sign * filter.taps[n - 1 - i]).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn the_hilbert_transform_turns_a_cosine_into_a_sine() {
        let angle = |i: usize| 2.0 * PI * 3.0 * i as f64 / 32.0;
        let signal: Vec<f64> = (0..32).map(|i| angle(i).cos()).collect();
        for (i, value) in hilbert(&signal).iter().enumerate() {
            assert!((value - angle(i).sin()).abs() < 1e-14);
        }
    }
}
