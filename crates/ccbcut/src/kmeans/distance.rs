//! Squared distances, several points at a time.
//!
//! Points lie side by side in the lanes of a vector register, and each lane adds up its coordinates in order. So a
//! distance has the same bits whichever points share its tile and whichever instructions the processor has.

use crate::simd;

use super::lloyd::Points;

/// Points in a tile.
pub(super) const LANES: usize = 8;

/// One coordinate of the points of a tile.
pub(super) type Lane = [f64; LANES];

/// Centres in pairs, coordinate by coordinate, so that a tile meets two at a time.
pub(super) struct Pairs {
    d: usize,
    values: Vec<[f64; 2]>,
}

impl Pairs {
    pub(super) fn new(centers: &[f64], d: usize) -> Self {
        // A missing second centre lies at infinity, where nothing is nearest.
        let mut values = vec![[f64::INFINITY; 2]; (centers.len() / d).div_ceil(2) * d];
        for (c, center) in centers.chunks_exact(d).enumerate() {
            for (j, &x) in center.iter().enumerate() {
                values[c / 2 * d + j][c % 2] = x;
            }
        }
        Self { d, values }
    }

    /// The squared distance of one lane of a tile from one centre.
    pub(super) fn distance(&self, tile: &[Lane], lane: usize, center: u32) -> f64 {
        let c = center as usize;
        let pair = &self.values[c / 2 * self.d..][..self.d];
        tile.iter().zip(pair).map(|(x, y)| (x[lane] - y[c % 2]).powi(2)).sum()
    }
}

/// What a tile found out about its points, lane by lane.
pub(super) struct Nearest {
    /// The nearest centre, the first on ties.
    pub(super) label: [u32; LANES],
    /// Its squared distance.
    pub(super) best: Lane,
    /// That of the nearest of the other centres.
    pub(super) second: Lane,
}

/// The two nearest centres of the points of a tile.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the choice of vector instructions must reach the loop")]
pub(super) fn nearest(tile: &[Lane], centers: &Pairs) -> Nearest {
    let (mut best, mut second, mut label) = ([f64::INFINITY; LANES], [f64::INFINITY; LANES], [0.0; LANES]);
    for (p, pair) in centers.values.chunks_exact(centers.d).enumerate() {
        let (mut a, mut b) = ([0.0; LANES], [0.0; LANES]);
        for (x, y) in tile.iter().zip(pair) {
            for l in 0..LANES {
                a[l] += (x[l] - y[0]) * (x[l] - y[0]);
                b[l] += (x[l] - y[1]) * (x[l] - y[1]);
            }
        }
        for (distance, c) in [(a, 2 * p), (b, 2 * p + 1)] {
            // Labels are numbers of the same width as distances here, so that choices stay in registers.
            let c = c as f64;
            for l in 0..LANES {
                let is_nearer = distance[l] < best[l];
                let other = if is_nearer { best[l] } else { distance[l] };
                second[l] = if other < second[l] { other } else { second[l] };
                best[l] = if is_nearer { distance[l] } else { best[l] };
                label[l] = if is_nearer { c } else { label[l] };
            }
        }
    }
    Nearest { label: label.map(|l| l as u32), best, second }
}

/// All points in tiles; the lanes after the last point are zero.
pub(super) struct Tiles {
    d: usize,
    values: Vec<Lane>,
}

impl Tiles {
    pub(super) fn new(points: &Points<'_>) -> Self {
        let mut values = vec![[0.0; LANES]; points.n.div_ceil(LANES) * points.d];
        for (i, row) in points.data.chunks_exact(points.d).enumerate() {
            for (lane, &x) in values[i / LANES * points.d..].iter_mut().zip(row) {
                lane[i % LANES] = x;
            }
        }
        Self { d: points.d, values }
    }

    /// Lowers `closest`, which begins with the first point of tile `first`, to the squared distances from a centre.
    pub(super) fn approach(&self, center: &[f64], first: usize, closest: &mut [f64]) {
        simd::widest(Approach { tiles: &self.values[first * self.d..], center, closest });
    }
}

/// The work of [`Tiles::approach`], with the best vector instructions there are.
struct Approach<'a> {
    tiles: &'a [Lane],
    center: &'a [f64],
    closest: &'a mut [f64],
}

impl pulp::WithSimd for Approach<'_> {
    type Output = ();

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the choice of vector instructions must reach the loop")]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let tiles = self.tiles.chunks_exact(self.center.len());
        for (closest, tile) in self.closest.chunks_mut(LANES).zip(tiles) {
            let mut sum = [0.0; LANES];
            for (x, &y) in tile.iter().zip(self.center) {
                for l in 0..LANES {
                    sum[l] += (x[l] - y) * (x[l] - y);
                }
            }
            for (closest, sum) in closest.iter_mut().zip(sum) {
                *closest = closest.min(sum);
            }
        }
    }
}

/// ‖a − b‖², the coordinates shared out to four sums.
pub(super) fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    const WIDTH: usize = 4;
    let (mut sums, (a, b)) = ([0.0; WIDTH], (a.chunks_exact(WIDTH), b.chunks_exact(WIDTH)));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(x, y)| (x - y) * (x - y)).sum();
    for (a, b) in a.zip(b) {
        for l in 0..WIDTH {
            sums[l] += (a[l] - b[l]) * (a[l] - b[l]);
        }
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn in_order(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).fold(0.0, |sum, (x, y)| sum + (x - y) * (x - y))
    }

    #[test]
    fn tiles_find_the_two_nearest_centres_to_the_last_bit() {
        let mut random = Random::new(3);
        for (k, d) in [(1, 1), (2, 3), (5, 8), (25, 25), (8, 2)] {
            let data: Vec<f64> = (0..LANES * d).map(|_| random.normal()).collect();
            let centers: Vec<f64> = (0..k * d).map(|_| random.normal()).collect();
            let points = Points { data: &data, n: LANES, d, weights: None };
            let found = nearest(&Tiles::new(&points).values, &Pairs::new(&centers, d));
            for i in 0..LANES {
                let mut distances: Vec<(f64, u32)> = (0..k)
                    .map(|c| (in_order(points.row(i), &centers[c * d..(c + 1) * d]), c as u32))
                    .collect();
                distances.sort_by(|a, b| a.0.total_cmp(&b.0));
                assert_eq!((found.best[i], found.label[i]), distances[0]);
                assert_eq!(found.second[i], distances.get(1).map_or(f64::INFINITY, |other| other.0));
                let plain = squared_distance(points.row(i), &centers[..d]);
                assert!((plain - in_order(points.row(i), &centers[..d])).abs() <= 1e-14 * plain);
            }
        }
    }

    #[test]
    fn ties_go_to_the_first_centre() {
        let points = Points { data: &[1.0; LANES], n: LANES, d: 1, weights: None };
        let found = nearest(&Tiles::new(&points).values, &Pairs::new(&[3.0, 0.0, 2.0, 1.0, 1.0], 1));
        assert_eq!((found.label, found.best, found.second), ([3; LANES], [0.0; LANES], [0.0; LANES]));
    }

    #[test]
    fn closest_distances_only_fall() {
        let data: Vec<f64> = (0..11).map(f64::from).collect();
        let tiles = Tiles::new(&Points { data: &data, n: 11, d: 1, weights: None });
        let mut closest = vec![9.0; 3];
        tiles.approach(&[7.0], 1, &mut closest);
        assert_eq!(closest, [1.0, 4.0, 9.0]);
        tiles.approach(&[10.0], 1, &mut closest);
        assert_eq!(closest, [1.0, 1.0, 0.0]);
    }
}
