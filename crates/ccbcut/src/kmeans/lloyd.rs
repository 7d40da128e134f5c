//! Lloyd's iteration: nearest centre for each point, weighted mean for each cluster.
//!
//! Most points keep their centre from one step to the next, and most of these need not be looked at: a point whose
//! own centre is nearer than any other centre can be, by the triangle inequality, is passed over (Hamerly, *Making
//! k-means even faster*, SDM 2010). Blocks of points in which nobody moved keep their sums. The labels are those of the
//! plain iteration.

use super::{
    KMeansFit,
    distance::{LANES, Lane, Pairs, nearest, squared_distance},
};
use crate::{parallel, simd};

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

/// Improves centres (d ≥ 1 coordinates) until no label changes, the inertia settles, or the steps run out.
pub(super) fn lloyd(
    points: &Points<'_>,
    mut centers: Vec<f64>,
    k: usize,
    max_iterations: usize,
    tol: f64,
) -> KMeansFit {
    let mut blocks = Block::all(points.n, k);
    let mut step = Step::first(&centers, points.d);
    let (mut inertia, mut iterations) = (f64::INFINITY, 0);
    loop {
        iterations += 1;
        parallel::for_each_chunk(&mut blocks, 1, |_, part| {
            part.iter_mut().for_each(|block| {
                block.assign(points, &step);
                block.add_up(points, k);
            });
        });
        let before = inertia;
        inertia = if iterations == 1 {
            blocks.iter().map(|block| block.inertia).sum()
        } else {
            inertia - step.gain - blocks.iter().map(|block| block.gain).sum::<f64>()
        };
        if let Some(exact) = refill_empty(points, &centers, k, &mut blocks) {
            inertia = exact;
        }
        let is_changed = blocks.iter().any(Block::is_changed);
        let (means, mass) = means(&blocks, k, points.d);
        step = Step::between(&centers, &means, &mass, points.d);
        centers = means;
        if !is_changed || before - inertia <= tol * inertia || iterations >= max_iterations {
            break;
        }
    }
    let labels: Vec<u32> = blocks.into_iter().flat_map(|block| block.labels).collect();
    let center = |i: usize| &centers[labels[i] as usize * points.d..][..points.d];
    let inertia = parallel::sum(points.n, |r| {
        r.map(|i| points.weight(i) * squared_distance(points.row(i), center(i))).sum()
    });
    KMeansFit { labels, centers, inertia, iterations }
}

/// Σᵢ ωᵢ ‖xᵢ − c‖² with the nearest of the centres for c.
pub(super) fn inertia(points: &Points<'_>, centers: &[f64]) -> f64 {
    let centers = Pairs::new(centers, points.d);
    parallel::sum(points.n, |range| simd::widest(Measure { points, centers: &centers, range }))
}

/// The inertia of a range of points, with the best vector instructions there are.
struct Measure<'a, 'p> {
    points: &'a Points<'p>,
    centers: &'a Pairs,
    range: std::ops::Range<usize>,
}

impl pulp::WithSimd for Measure<'_, '_> {
    type Output = f64;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the choice of vector instructions must reach the loop")]
    fn with_simd<S: pulp::Simd>(self, _: S) -> f64 {
        let mut tile = vec![[0.0; LANES]; self.points.d];
        let mut sum = 0.0;
        for first in self.range.clone().step_by(LANES) {
            let last = (first + LANES).min(self.range.end) - 1;
            for l in 0..LANES {
                // A tile that is not full repeats its last point.
                for (lane, &x) in tile.iter_mut().zip(self.points.row((first + l).min(last))) {
                    lane[l] = x;
                }
            }
            let found = nearest(&tile, self.centers);
            sum += (first..=last).map(|i| self.points.weight(i) * found.best[i - first]).sum::<f64>();
        }
        sum
    }
}

/// The centres of a step, and how they got there.
struct Step {
    centers: Pairs,
    /// At most how far each centre moved.
    drift: Vec<f64>,
    /// The centre that moved most, that distance, and the largest of the others.
    farthest: (usize, f64, f64),
    /// At most half the distance from each centre to the nearest other one.
    reach: Vec<f64>,
    /// By how much the moves lowered the inertia.
    gain: f64,
    /// Relative room for rounding errors in every bound.
    room: f64,
}

impl Step {
    fn first(centers: &[f64], d: usize) -> Self {
        let k = centers.len() / d;
        // Bounds are sums of one term per step, each with the errors of d additions: room for a million of both.
        let room = 1e-9;
        let (drift, reach) = (vec![0.0; k], reach(centers, d, room));
        Self { centers: Pairs::new(centers, d), drift, farthest: (0, 0.0, 0.0), reach, gain: 0.0, room }
    }

    fn between(old: &[f64], new: &[f64], mass: &[f64], d: usize) -> Self {
        let mut step = Self::first(new, d);
        for (c, (a, b)) in old.chunks_exact(d).zip(new.chunks_exact(d)).enumerate() {
            let moved = squared_distance(a, b);
            step.gain += mass[c] * moved;
            let drift = moved.sqrt() * (1.0 + step.room);
            step.drift[c] = drift;
            if drift > step.farthest.1 {
                step.farthest = (c, drift, step.farthest.1);
            } else {
                step.farthest.2 = step.farthest.2.max(drift);
            }
        }
        step
    }

    /// At most how far any centre but this one moved.
    fn drift_of_others(&self, label: usize) -> f64 {
        if label == self.farthest.0 { self.farthest.2 } else { self.farthest.1 }
    }
}

fn reach(centers: &[f64], d: usize, room: f64) -> Vec<f64> {
    let k = centers.len() / d;
    let mut nearest = vec![f64::INFINITY; k];
    for a in 0..k {
        for b in 0..a {
            let distance = squared_distance(&centers[a * d..(a + 1) * d], &centers[b * d..(b + 1) * d]);
            nearest[a] = nearest[a].min(distance);
            nearest[b] = nearest[b].min(distance);
        }
    }
    nearest.into_iter().map(|distance| 0.5 * distance.sqrt() * (1.0 - room)).collect()
}

/// A run of consecutive points and what is known about them.
struct Block {
    first: usize,
    labels: Vec<u32>,
    /// The labels of the step before.
    previous: Vec<u32>,
    /// At most how far each point is from its centre.
    upper: Vec<f64>,
    /// At least how far it is from any other.
    lower: Vec<f64>,
    /// Weighted sums of the points of each cluster, and their mass.
    sums: Vec<f64>,
    mass: Vec<f64>,
    counts: Vec<u32>,
    /// Σ ωᵢ ‖xᵢ − c‖² over the points looked at, and by how much their moves lowered it.
    inertia: f64,
    gain: f64,
}

impl Block {
    /// Blocks that cover the points; nothing is known yet.
    fn all(n: usize, k: usize) -> Vec<Self> {
        // Long enough that their sums take less room than the points.
        let size = (4 * k).max(1024);
        let block = |b: usize| {
            let len = size.min(n - b * size);
            Self {
                first: b * size,
                labels: vec![u32::MAX; len],
                previous: vec![u32::MAX; len],
                upper: vec![f64::INFINITY; len],
                lower: vec![0.0; len],
                sums: Vec::new(),
                mass: vec![0.0; k],
                counts: vec![0; k],
                inertia: 0.0,
                gain: 0.0,
            }
        };
        (0..n.div_ceil(size)).map(block).collect()
    }

    fn is_changed(&self) -> bool {
        self.labels != self.previous
    }

    /// Brings the bounds up to date and looks at the points that they do not settle.
    fn assign(&mut self, points: &Points<'_>, step: &Step) {
        self.previous.copy_from_slice(&self.labels);
        (self.inertia, self.gain) = (0.0, 0.0);
        let mut open = Vec::with_capacity(self.labels.len());
        for i in 0..self.labels.len() {
            let label = self.labels[i] as usize;
            if label < step.drift.len() {
                self.upper[i] += step.drift[label];
                self.lower[i] -= step.drift_of_others(label);
                if self.upper[i] < self.lower[i].max(step.reach[label]) {
                    continue;
                }
            }
            open.push(i);
        }
        simd::widest(Look { block: self, points, step, open: &open });
    }

    /// Finds the nearest centres of at most a tile of points.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the choice of vector instructions must reach the loop")]
    fn look(&mut self, points: &Points<'_>, step: &Step, open: &[usize], tile: &mut [Lane]) {
        for l in 0..LANES {
            // A tile that is not full repeats its last point.
            let row = points.row(self.first + open[l.min(open.len() - 1)]);
            for (lane, &x) in tile.iter_mut().zip(row) {
                lane[l] = x;
            }
        }
        let found = nearest(tile, &step.centers);
        for (l, &i) in open.iter().enumerate() {
            let weight = points.weight(self.first + i);
            self.inertia += weight * found.best[l];
            if self.labels[i] != found.label[l] {
                if self.labels[i] != u32::MAX {
                    self.gain += weight * (step.centers.distance(tile, l, self.labels[i]) - found.best[l]);
                }
                self.labels[i] = found.label[l];
            }
            self.upper[i] = found.best[l].sqrt() * (1.0 + step.room);
            self.lower[i] = found.second[l].sqrt() * (1.0 - step.room);
        }
    }

    /// The sums of the clusters, if anybody moved.
    fn add_up(&mut self, points: &Points<'_>, k: usize) {
        if self.is_changed() {
            self.add_up_anew(points, k);
        }
    }

    fn add_up_anew(&mut self, points: &Points<'_>, k: usize) {
        let d = points.d;
        self.sums.resize(k * d, 0.0);
        self.sums.fill(0.0);
        self.mass.fill(0.0);
        self.counts.fill(0);
        for (i, &label) in self.labels.iter().enumerate() {
            let (c, weight) = (label as usize, points.weight(self.first + i));
            self.counts[c] += 1;
            self.mass[c] += weight;
            for (sum, x) in self.sums[c * d..(c + 1) * d].iter_mut().zip(points.row(self.first + i)) {
                *sum += weight * x;
            }
        }
    }
}

/// Looks at the open points of a block with the best vector instructions there are.
struct Look<'a, 'p> {
    block: &'a mut Block,
    points: &'a Points<'p>,
    step: &'a Step,
    open: &'a [usize],
}

impl pulp::WithSimd for Look<'_, '_> {
    type Output = ();

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the choice of vector instructions must reach the loop")]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let mut tile = vec![[0.0; LANES]; self.points.d];
        for open in self.open.chunks(LANES) {
            self.block.look(self.points, self.step, open, &mut tile);
        }
    }
}

/// Moves the farthest points (lowest index on ties) of clusters that can spare one into the empty clusters, and returns
/// the inertia after that; `None` if no cluster is empty.
fn refill_empty(points: &Points<'_>, centers: &[f64], k: usize, blocks: &mut [Block]) -> Option<f64> {
    let mut counts = vec![0_usize; k];
    for block in blocks.iter() {
        counts.iter_mut().zip(&block.counts).for_each(|(total, &count)| *total += count as usize);
    }
    if counts.iter().all(|&count| count > 0) {
        return None;
    }
    let labels: Vec<usize> = blocks.iter().flat_map(|block| &block.labels).map(|&l| l as usize).collect();
    let center = |i: usize| &centers[labels[i] * points.d..][..points.d];
    let mut distances: Vec<f64> = (0..points.n).map(|i| squared_distance(points.row(i), center(i))).collect();
    let mut order: Vec<usize> = (0..points.n).collect();
    order.sort_by(|&a, &b| distances[b].total_cmp(&distances[a]));
    let size = blocks[0].labels.len();
    // Clusters only shrink from here on, so a point passed over once need not be looked at again.
    let mut farthest = order.into_iter();
    for empty in 0..k {
        if counts[empty] > 0 {
            continue;
        }
        let Some(i) = farthest.find(|&i| counts[labels[i]] > 1) else { break };
        counts[labels[i]] -= 1;
        counts[empty] = 1;
        distances[i] = 0.0;
        let (block, at) = (&mut blocks[i / size], i % size);
        block.labels[at] = empty as u32;
        // Its bounds are those of another centre: it is looked at again in the next step.
        (block.upper[at], block.lower[at]) = (f64::INFINITY, 0.0);
    }
    // A block may look unchanged although its sums are not: a point may have moved back to where it was.
    blocks.iter_mut().for_each(|block| block.add_up_anew(points, k));
    Some(distances.iter().enumerate().map(|(i, distance)| points.weight(i) * distance).sum())
}

/// Weighted means of the clusters, none of them empty, and the masses of the clusters.
fn means(blocks: &[Block], k: usize, d: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut centers, mut mass) = (vec![0.0; k * d], vec![0.0; k]);
    for block in blocks {
        centers.iter_mut().zip(&block.sums).for_each(|(total, sum)| *total += sum);
        mass.iter_mut().zip(&block.mass).for_each(|(total, m)| *total += m);
    }
    for (c, mass) in mass.iter().enumerate() {
        centers[c * d..(c + 1) * d].iter_mut().for_each(|x| *x /= mass);
    }
    (centers, mass)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    mod naive {
        use super::*;

        /// Labels, centres and inertia after plain steps, each looking at all points and centres.
        pub fn lloyd(points: &Points<'_>, start: &[f64], k: usize, steps: usize) -> (Vec<u32>, Vec<f64>) {
            let (mut centers, mut labels) = (start.to_vec(), Vec::new());
            for _ in 0..steps {
                let distance = |i: usize, c: usize| {
                    (0..points.d).map(|j| (points.row(i)[j] - centers[c * points.d + j]).powi(2)).sum::<f64>()
                };
                let nearest =
                    |i: usize| (0..k).min_by(|&a, &b| distance(i, a).total_cmp(&distance(i, b))).unwrap();
                labels = (0..points.n).map(|i| nearest(i) as u32).collect();
                centers = means(points, &labels, k);
            }
            (labels, centers)
        }

        fn means(points: &Points<'_>, labels: &[u32], k: usize) -> Vec<f64> {
            let mut means = vec![0.0; k * points.d];
            for c in 0..k {
                let inside: Vec<usize> = (0..points.n).filter(|&i| labels[i] == c as u32).collect();
                let mass: f64 = inside.iter().map(|&i| points.weight(i)).sum();
                for j in 0..points.d {
                    let sum: f64 = inside.iter().map(|&i| points.weight(i) * points.row(i)[j]).sum();
                    means[c * points.d + j] = sum / mass;
                }
            }
            means
        }
    }

    #[test]
    fn bounds_change_no_label_of_the_plain_iteration() {
        let mut random = Random::new(7);
        for (n, d, k) in [(3000, 1, 7), (2500, 3, 20), (1500, 25, 25), (1025, 4, 2), (40, 2, 1)] {
            // Half of the points in clumps, where bounds settle nearly all, half strewn about.
            let clumps: Vec<f64> = (0..10 * d).map(|_| 3.0 * random.normal()).collect();
            let spread = |i: usize| if i < n / 2 { 0.1 } else { 2.0 };
            let data: Vec<f64> = (0..n * d)
                .map(|e| clumps[(e / d) % 10 * d + e % d] + spread(e / d) * random.normal())
                .collect();
            let weights: Vec<f64> = (0..n).map(|_| 0.1 + random.uniform()).collect();
            for weights in [None, Some(weights.as_slice())] {
                let points = Points { data: &data, n, d, weights };
                for steps in [1, 2, 3, 7, 15] {
                    let (labels, centers) = naive::lloyd(&points, &data[..k * d], k, steps);
                    let fit = lloyd(&points, data[..k * d].to_vec(), k, steps, 0.0);
                    if fit.iterations == steps {
                        assert_eq!(fit.labels, labels, "n = {n}, d = {d}, k = {k}, {steps} steps");
                        assert!(fit.centers.iter().zip(&centers).all(|(a, b)| (a - b).abs() < 1e-12));
                    }
                }
            }
        }
    }

    #[test]
    fn the_tracked_inertia_stops_where_the_exact_one_would() {
        let mut random = Random::new(5);
        let data: Vec<f64> = (0..8000).map(|_| random.normal()).collect();
        let points = Points { data: &data, n: 2000, d: 4, weights: None };
        let (tol, start) = (1e-3, &data[..40]);
        let fit = lloyd(&points, start.to_vec(), 10, 100, tol);
        // The inertia of a step is measured before its centres move.
        let exact = |steps: usize| {
            let centers =
                if steps == 1 { start.to_vec() } else { naive::lloyd(&points, start, 10, steps - 1).1 };
            let labels = naive::lloyd(&points, start, 10, steps).0;
            let center = |i: usize| &centers[labels[i] as usize * 4..][..4];
            (0..2000).map(|i| squared_distance(points.row(i), center(i))).sum::<f64>()
        };
        let settled = |steps: usize| exact(steps - 1) - exact(steps) <= tol * exact(steps);
        assert!(fit.iterations > 3 && settled(fit.iterations) && !settled(fit.iterations - 1));
    }

    #[test]
    fn the_inertia_of_centres_agrees_with_brute_force() {
        let mut random = Random::new(4);
        let (n, d, k) = (4099, 3, 5);
        let data: Vec<f64> = (0..n * d).map(|_| random.normal()).collect();
        let weights: Vec<f64> = (0..n).map(|_| 0.1 + random.uniform()).collect();
        let points = Points { data: &data, n, d, weights: Some(&weights) };
        let nearest = |i: usize| {
            let distances = data[..k * d].chunks_exact(d).map(|c| squared_distance(points.row(i), c));
            weights[i] * distances.fold(f64::INFINITY, f64::min)
        };
        let exact: f64 = (0..n).map(nearest).sum();
        assert!((inertia(&points, &data[..k * d]) / exact - 1.0).abs() < 1e-13);
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
        assert_eq!(fit.centers, vec![1.0, 50.0, 40.0]);
        let fit = lloyd(&points, vec![0.0, 1000.0, 2000.0], 3, 9, 0.0);
        assert_eq!((fit.labels, fit.inertia), (vec![0, 0, 0, 1, 2], 2.0));
    }
}
