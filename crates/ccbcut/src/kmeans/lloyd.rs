//! Lloyd's iteration: nearest centre for each point, weighted mean for each cluster.

use super::{KMeansFit, seed::squared_distance};
use crate::parallel::{self, SUM_BLOCK};

/// Centres are compared with a point this many at a time.
const LANES: usize = 8;

/// Points to cluster, row by row.
pub(super) struct Points<'a> {
    pub(super) data: &'a [f64],
    pub(super) n: usize,
    pub(super) d: usize,
    pub(super) weights: Option<&'a [f64]>,
}

impl Points<'_> {
    pub(super) fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.d..(i + 1) * self.d]
    }

    pub(super) fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[i])
    }
}

/// The cluster of a point and its squared distance from that cluster's centre.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Nearest {
    label: u32,
    distance: f64,
}

/// Improves centres until no label changes, the inertia settles, or the steps run out.
pub(super) fn lloyd(
    points: &Points<'_>,
    mut centers: Vec<f64>,
    k: usize,
    max_iterations: usize,
    tol: f64,
) -> KMeansFit {
    let mut nearest = vec![Nearest { label: 0, distance: 0.0 }; points.n];
    let mut labels = vec![u32::MAX; points.n];
    let (mut before, mut iterations) = (f64::INFINITY, 0);
    loop {
        iterations += 1;
        assign(points, &Panels::new(&centers, k, points.d), &mut nearest);
        refill_empty(k, &mut nearest);
        let is_changed = nearest.iter().zip(&labels).any(|(a, &b)| a.label != b);
        labels.iter_mut().zip(&nearest).for_each(|(label, a)| *label = a.label);
        let inertia = parallel::sum(points.n, |r| r.map(|i| points.weight(i) * nearest[i].distance).sum());
        centers = means(points, &labels, k);
        if !is_changed || before - inertia <= tol * inertia || iterations >= max_iterations {
            break;
        }
        before = inertia;
    }
    let center = |i: usize| &centers[labels[i] as usize * points.d..][..points.d];
    let inertia = parallel::sum(points.n, |r| {
        r.map(|i| points.weight(i) * squared_distance(points.row(i), center(i))).sum()
    });
    KMeansFit { labels, centers, inertia, iterations }
}

/// Centres in panels of [`LANES`], coordinate by coordinate, so that one point meets a whole panel at once.
struct Panels {
    d: usize,
    values: Vec<f64>,
}

impl Panels {
    fn new(centers: &[f64], k: usize, d: usize) -> Self {
        // Missing centres of the last panel lie at infinity, where nothing is nearest.
        let mut values = vec![f64::INFINITY; k.div_ceil(LANES) * LANES * d];
        for c in 0..k {
            for j in 0..d {
                values[((c / LANES) * d + j) * LANES + c % LANES] = centers[c * d + j];
            }
        }
        Self { d, values }
    }

    /// The nearest centre, the first on ties.
    fn nearest(&self, row: &[f64]) -> Nearest {
        let mut best = Nearest { label: 0, distance: f64::INFINITY };
        if self.d == 0 {
            best.distance = 0.0;
            return best;
        }
        for (p, panel) in self.values.chunks_exact(LANES * self.d).enumerate() {
            let mut distances = [0.0; LANES];
            for (&x, centers) in row.iter().zip(panel.chunks_exact(LANES)) {
                for (distance, c) in distances.iter_mut().zip(centers) {
                    *distance += (x - c) * (x - c);
                }
            }
            for (lane, &distance) in distances.iter().enumerate() {
                if distance < best.distance {
                    best = Nearest { label: (p * LANES + lane) as u32, distance };
                }
            }
        }
        best
    }
}

fn assign(points: &Points<'_>, panels: &Panels, nearest: &mut [Nearest]) {
    const BLOCK: usize = 512;
    parallel::for_each_chunk(nearest, BLOCK, |block, part| {
        for (offset, nearest) in part.iter_mut().enumerate() {
            *nearest = panels.nearest(points.row(block * BLOCK + offset));
        }
    });
}

/// Moves the farthest points (lowest index on ties) of clusters that can spare one into the empty clusters.
fn refill_empty(k: usize, nearest: &mut [Nearest]) {
    let mut counts = vec![0_usize; k];
    for a in nearest.iter() {
        counts[a.label as usize] += 1;
    }
    if counts.iter().all(|&count| count > 0) {
        return;
    }
    let mut order: Vec<usize> = (0..nearest.len()).collect();
    order.sort_by(|&a, &b| nearest[b].distance.total_cmp(&nearest[a].distance));
    // Clusters only shrink from here on, so a point passed over once need not be looked at again.
    let mut farthest = order.into_iter();
    for empty in 0..k {
        if counts[empty] > 0 {
            continue;
        }
        let Some(i) = farthest.find(|&i| counts[nearest[i].label as usize] > 1) else { return };
        counts[nearest[i].label as usize] -= 1;
        counts[empty] = 1;
        nearest[i] = Nearest { label: empty as u32, distance: 0.0 };
    }
}

/// Weighted means of the clusters, none of them empty.
fn means(points: &Points<'_>, labels: &[u32], k: usize) -> Vec<f64> {
    let d = points.d;
    // Blocks long enough that adding up their sums costs no more than making them.
    let block = SUM_BLOCK.max(k);
    let partial = parallel::map(points.n.div_ceil(block), |b| {
        let (mut sums, mut mass) = (vec![0.0; k * d], vec![0.0; k]);
        for i in b * block..((b + 1) * block).min(points.n) {
            let (c, weight) = (labels[i] as usize, points.weight(i));
            mass[c] += weight;
            for (sum, x) in sums[c * d..(c + 1) * d].iter_mut().zip(points.row(i)) {
                *sum += weight * x;
            }
        }
        (sums, mass)
    });
    let (mut centers, mut mass) = (vec![0.0; k * d], vec![0.0; k]);
    for (sums, masses) in partial {
        centers.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
        mass.iter_mut().zip(masses).for_each(|(total, m)| *total += m);
    }
    for (c, mass) in mass.iter().enumerate() {
        centers[c * d..(c + 1) * d].iter_mut().for_each(|x| *x /= mass);
    }
    centers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    mod naive {
        use super::*;

        pub fn step(points: &Points<'_>, centers: &[f64], k: usize) -> (Vec<u32>, Vec<f64>) {
            let distance = |i: usize, c: usize| {
                (0..points.d).map(|j| (points.row(i)[j] - centers[c * points.d + j]).powi(2)).sum::<f64>()
            };
            let nearest =
                |i: usize| (0..k).min_by(|&a, &b| distance(i, a).total_cmp(&distance(i, b))).unwrap() as u32;
            let labels: Vec<u32> = (0..points.n).map(nearest).collect();
            let mut means = vec![0.0; k * points.d];
            for c in 0..k {
                let inside: Vec<usize> = (0..points.n).filter(|&i| labels[i] == c as u32).collect();
                let mass: f64 = inside.iter().map(|&i| points.weight(i)).sum();
                for j in 0..points.d {
                    let sum: f64 = inside.iter().map(|&i| points.weight(i) * points.row(i)[j]).sum();
                    means[c * points.d + j] = sum / mass;
                }
            }
            (labels, means)
        }
    }

    #[test]
    fn a_step_agrees_with_brute_force() {
        let (n, d) = (9000, 3);
        let mut random = Random::new(7);
        let data: Vec<f64> = (0..n * d).map(|_| random.normal()).collect();
        let weights: Vec<f64> = (0..n).map(|_| 0.1 + random.uniform()).collect();
        let points = Points { data: &data, n, d, weights: Some(&weights) };
        for k in [1, 7, 8, 9, 20] {
            let centers = data[..k * d].to_vec();
            let (labels, means) = naive::step(&points, &centers, k);
            let fit = lloyd(&points, centers, k, 1, 0.0);
            assert_eq!(fit.labels, labels);
            assert!(fit.centers.iter().zip(&means).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }

    #[test]
    fn the_inertia_never_rises_with_the_steps() {
        let mut random = Random::new(8);
        let data: Vec<f64> = (0..600).map(|_| random.normal()).collect();
        let points = Points { data: &data, n: 300, d: 2, weights: None };
        let inertia = |steps| lloyd(&points, data[..20].to_vec(), 10, steps, 0.0).inertia;
        assert!((1..30).all(|steps| inertia(steps + 1) <= inertia(steps) * (1.0 + 1e-14)));
    }

    #[test]
    fn empty_clusters_take_the_farthest_points() {
        let data = [0.0, 1.0, 2.0, 50.0, 40.0];
        let points = Points { data: &data, n: 5, d: 1, weights: None };
        let fit = lloyd(&points, vec![0.0, 1000.0, 2000.0], 3, 1, 0.0);
        assert_eq!(fit.labels, vec![0, 0, 0, 1, 2]);
    }
}
