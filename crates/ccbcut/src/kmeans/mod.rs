//! Tool: k-means++ seeding and Lloyd's iteration, the same bytes for every number of threads.
//!
//! Minimises Σᵢ ωᵢ ‖xᵢ − c_{l(i)}‖² over labels l and centres c, by alternating the two: nearest centre for each
//! point, weighted mean for each cluster. Every run returns exactly the number of clusters asked for.

mod distance;
mod lloyd;
mod seed;

use crate::{
    error::{Error, Result},
    parallel,
    random::Random,
};
use distance::Tiles;
use lloyd::{Points, inertia, lloyd};
pub(crate) use seed::draw_sample;

/// Which points the runs are tried on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seeding {
    /// All of them. Far-away points are then nearly sure to be drawn as first centres, each as a cluster of its own.
    All,
    /// A random sample of this many points, never fewer than 20 for each cluster and drawn afresh for each run. The run
    /// whose centres lie nearest to all points goes on with them.
    Sample(usize),
}

impl Default for Seeding {
    /// A sample of [`Seeding::DEFAULT_ROWS`].
    fn default() -> Self {
        Self::Sample(Self::DEFAULT_ROWS)
    }
}

impl Seeding {
    /// How many points a sample has where nobody says otherwise.
    pub const DEFAULT_ROWS: usize = 8000;

    /// A sample of this many points, or all of them for 0.
    #[must_use]
    pub fn of_rows(n_rows: usize) -> Self {
        if n_rows == 0 { Self::All } else { Self::Sample(n_rows) }
    }
}

/// k-means: best of several runs, each seeded by k-means++ and improved by Lloyd's iteration.
///
/// ```
/// use ccbcut::kmeans::KMeans;
/// let data = [0.0, 0.1, 5.0, 5.2];
/// let fit = KMeans::new(2).fit(&data, 4, 1, None)?;
/// assert_eq!(fit.labels[0], fit.labels[1]);
/// assert_eq!(fit.labels[2], fit.labels[3]);
/// assert_ne!(fit.labels[0], fit.labels[2]);
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct KMeans {
    n_clusters: usize,
    n_init: usize,
    max_iterations: usize,
    tol: f64,
    seed: u64,
    seeding: Seeding,
}

/// What k-means found.
#[derive(Debug, Clone, PartialEq)]
pub struct KMeansFit {
    /// The cluster of each point; each of `0..n_clusters` occurs.
    pub labels: Vec<u32>,
    /// The weighted means of the clusters, row by row.
    pub centers: Vec<f64>,
    /// Σᵢ ωᵢ ‖xᵢ − c_{l(i)}‖².
    pub inertia: f64,
    /// Steps of Lloyd's iteration over all points in the run that won.
    pub iterations: usize,
}

impl KMeans {
    /// Asks for `n_clusters` clusters, with 10 runs of at most 100 steps, tried on samples of 8000 points.
    pub fn new(n_clusters: usize) -> Self {
        let seeding = Seeding::default();
        Self { n_clusters, n_init: 10, max_iterations: 100, tol: 1e-6, seed: 0, seeding }
    }

    /// How many runs; the one with the lowest inertia over all points wins, the earlier on ties.
    #[must_use]
    pub fn n_init(mut self, n_init: usize) -> Self {
        self.n_init = n_init;
        self
    }

    /// The most steps of one run.
    #[must_use]
    pub fn max_iterations(mut self, max_iterations: usize) -> Self {
        self.max_iterations = max_iterations;
        self
    }

    /// A run stops once a step lowers the inertia by no more than this fraction of it (or no label changes).
    #[must_use]
    pub fn tol(mut self, tol: f64) -> Self {
        self.tol = tol;
        self
    }

    /// Fixes the randomness; run r depends on the seed and on r alone.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Which points the runs are tried on.
    #[must_use]
    pub fn seeding(mut self, seeding: Seeding) -> Self {
        self.seeding = seeding;
        self
    }

    /// Clusters `n` points of `d` coordinates, stored row by row, with optional positive weights ω.
    ///
    /// A cluster that runs empty is refilled with the point farthest from its centre (lowest index on ties), so
    /// that all clusters are occupied in the end. Where there are fewer distinct points than clusters, copies of
    /// the same point are spread over several clusters, the lowest index first.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for zero clusters, runs or steps, a negative `tol` or a weight that is not
    /// positive and finite; [`Error::TooFewVertices`] for fewer points than clusters;
    /// [`Error::ShapeMismatch`] when sizes do not fit; [`Error::NotFinite`] for data that is not finite.
    ///
    /// # Complexity
    /// O(n d k) time for one look at all points per run and for each step of the best, and as much with the sample's size
    /// for n for the steps on samples; O(n d) auxiliary space at most.
    ///
    /// # References
    /// Arthur & Vassilvitskii, *k-means++: the advantages of careful seeding*, SODA 2007; Lloyd, *Least squares
    /// quantization in PCM*, IEEE Trans. Inf. Theory 28, 1982, <https://doi.org/10.1109/TIT.1982.1056489>; Hamerly,
    /// *Making k-means even faster*, SDM 2010, <https://doi.org/10.1137/1.9781611972801.12>.
    pub fn fit(&self, data: &[f64], n: usize, d: usize, weights: Option<&[f64]>) -> Result<KMeansFit> {
        self.validate(data, n, d, weights)?;
        if d == 0 {
            // Points without coordinates are copies of one another.
            let flat = self.fit(&vec![0.0; n], n, 1, weights)?;
            return Ok(KMeansFit { centers: Vec::new(), ..flat });
        }
        let scale = safe_scale(data);
        let scaled: Vec<f64>;
        let data = if scale == 1.0 {
            data
        } else {
            scaled = data.iter().map(|x| x * scale).collect();
            &scaled
        };
        let points = Points { data, n, d, weights };
        let mut best = self.best_run(&points);
        best.centers.iter_mut().for_each(|c| *c /= scale);
        best.inertia = best.inertia / scale / scale;
        Ok(best)
    }

    /// The run with the lowest inertia, the earlier on ties.
    fn best_run(&self, points: &Points<'_>) -> KMeansFit {
        // With one cluster every run ends the same.
        let n_init = if self.n_clusters == 1 { 1 } else { self.n_init };
        let mut runs = parallel::map(n_init, |r| self.run(points, r));
        let is_sampled = runs[0].labels.len() < points.n;
        let mut best = (0, f64::INFINITY);
        for (r, run) in runs.iter().enumerate() {
            // A small cluster far away may be in one sample and not in another: only all points can be the judge.
            let inertia = if is_sampled { inertia(points, &run.centers) } else { run.inertia };
            if inertia < best.1 {
                best = (r, inertia);
            }
        }
        let best = runs.swap_remove(best.0);
        if is_sampled { self.improve(points, best.centers) } else { best }
    }

    /// One run, over a sample of its own where samples are asked for.
    fn run(&self, points: &Points<'_>, restart: usize) -> KMeansFit {
        // Any odd factor keeps the streams apart, except the one by which the generator expands its seed.
        let stream = (restart as u64).wrapping_mul(0xD134_2543_DE82_EF95);
        let mut random = Random::new(self.seed.wrapping_add(stream));
        let on = |points: &Points<'_>, random: &mut Random| {
            let centers = seed::plus_plus(points, &Tiles::new(points), self.n_clusters, random);
            self.improve(points, centers)
        };
        let Some(sample) = draw_sample(points.n, self.n_clusters, self.seeding, &mut random) else {
            return on(points, &mut random);
        };
        let rows: Vec<f64> = sample.iter().flat_map(|&i| points.row(i as usize)).copied().collect();
        let weights: Option<Vec<f64>> =
            points.weights.map(|w| sample.iter().map(|&i| w[i as usize]).collect());
        on(&Points { data: &rows, n: sample.len(), d: points.d, weights: weights.as_deref() }, &mut random)
    }

    fn improve(&self, points: &Points<'_>, centers: Vec<f64>) -> KMeansFit {
        lloyd(points, centers, self.n_clusters, self.max_iterations, self.tol)
    }

    fn validate(&self, data: &[f64], n: usize, d: usize, weights: Option<&[f64]>) -> Result<()> {
        let counts = [
            ("n_clusters", self.n_clusters),
            ("n_init", self.n_init),
            ("max_iterations", self.max_iterations),
        ];
        for (name, count) in counts {
            if count == 0 {
                return Err(Error::InvalidParameter { name, value: 0.0, expected: "at least 1" });
            }
        }
        if self.tol.is_nan() || self.tol < 0.0 {
            return Err(Error::InvalidParameter { name: "tol", value: self.tol, expected: "0 or more" });
        }
        if self.n_clusters > n {
            return Err(Error::TooFewVertices { vertices: n, segments: self.n_clusters });
        }
        if n.checked_mul(d) != Some(data.len()) {
            let expected = n.saturating_mul(d);
            return Err(Error::ShapeMismatch { what: "the data to cluster", expected, got: data.len() });
        }
        if let Some(index) = first_not_finite(data) {
            return Err(Error::NotFinite { what: "the data to cluster", index, value: data[index] });
        }
        let Some(weights) = weights else { return Ok(()) };
        if weights.len() != n {
            return Err(Error::ShapeMismatch { what: "the point weights", expected: n, got: weights.len() });
        }
        match weights.iter().find(|w| !(w.is_finite() && **w > 0.0)) {
            Some(&value) => {
                Err(Error::InvalidParameter { name: "weights", value, expected: "positive and finite" })
            }
            None => Ok(()),
        }
    }
}

/// Where the first number stands that is not finite.
pub(crate) fn first_not_finite(data: &[f64]) -> Option<usize> {
    const BLOCK: usize = 1 << 15;
    let is_finite = |block: &[f64]| block.iter().fold(true, |all, x| all & x.is_finite());
    let blocks = parallel::map(data.len().div_ceil(BLOCK), |b| {
        is_finite(&data[b * BLOCK..((b + 1) * BLOCK).min(data.len())])
    });
    let first = blocks.iter().position(|finite| !finite)? * BLOCK;
    data[first..].iter().position(|x| !x.is_finite()).map(|at| first + at)
}

/// A power of two that brings the data to where squares neither overflow nor vanish; 1 for ordinary data.
fn safe_scale(data: &[f64]) -> f64 {
    const BLOCK: usize = 1 << 15;
    let largest_of = |block: &[f64]| {
        let mut largest = [0.0_f64; 8];
        for x in block.chunks(8) {
            largest.iter_mut().zip(x).for_each(|(m, x)| *m = if x.abs() > *m { x.abs() } else { *m });
        }
        largest.into_iter().fold(0.0_f64, f64::max)
    };
    let blocks = parallel::map(data.len().div_ceil(BLOCK), |b| {
        largest_of(&data[b * BLOCK..((b + 1) * BLOCK).min(data.len())])
    });
    let largest = blocks.into_iter().fold(0.0_f64, f64::max);
    if largest == 0.0 || (1e-100..1e100).contains(&largest) {
        return 1.0;
    }
    2_f64.powi(-(largest.log2() as i32).clamp(-1000, 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blobs(n: usize, d: usize, k: usize, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let middles: Vec<f64> = (0..k * d).map(|_| 10.0 * random.normal()).collect();
        (0..n)
            .flat_map(|i| (0..d).map(move |j| (i, j)))
            .map(|(i, j)| middles[(i % k) * d + j] + random.normal())
            .collect()
    }

    fn sizes(fit: &KMeansFit, k: usize) -> Vec<usize> {
        let mut sizes = vec![0; k];
        for &l in &fit.labels {
            sizes[l as usize] += 1;
        }
        sizes
    }

    #[test]
    fn well_separated_blobs_are_found() {
        let (n, d, k) = (300, 3, 4);
        let fit = KMeans::new(k).fit(&blobs(n, d, k, 3), n, d, None).unwrap();
        assert!((0..n).all(|i| fit.labels[i] == fit.labels[i % k]));
        assert_eq!(sizes(&fit, k), vec![75; 4]);
    }

    #[test]
    fn exactly_k_clusters_come_out_for_every_k() {
        let data = blobs(20, 2, 3, 5);
        for k in 1..=20 {
            let fit = KMeans::new(k).n_init(2).fit(&data, 20, 2, None).unwrap();
            assert!(sizes(&fit, k).iter().all(|&s| s > 0), "k = {k}");
        }
        assert!(KMeans::new(20).fit(&data, 20, 2, None).unwrap().inertia.abs() < 1e-20);
    }

    #[test]
    fn copies_of_few_points_still_give_k_clusters() {
        let data = [1.0, 1.0, 2.0, 1.0, 2.0, 1.0];
        for k in 1..=6 {
            let fit = KMeans::new(k).fit(&data, 6, 1, None).unwrap();
            assert!(sizes(&fit, k).iter().all(|&s| s > 0), "k = {k}");
            assert_eq!(fit.inertia == 0.0, k > 1);
        }
        let fit = KMeans::new(3).fit(&[], 5, 0, None).unwrap();
        assert!(sizes(&fit, 3).iter().all(|&s| s > 0));
    }

    #[test]
    fn more_runs_never_hurt_and_the_first_run_is_kept_on_ties() {
        let data = blobs(400, 2, 12, 9);
        let inertia = |runs| KMeans::new(12).n_init(runs).seed(4).fit(&data, 400, 2, None).unwrap().inertia;
        assert!(inertia(8) <= inertia(3) && inertia(3) <= inertia(1));
        let flat = vec![0.0; 10];
        let one = KMeans::new(2).n_init(1).fit(&flat, 10, 1, None).unwrap();
        assert_eq!(one, KMeans::new(2).n_init(7).fit(&flat, 10, 1, None).unwrap());
    }

    #[test]
    fn a_run_tried_on_a_sample_is_as_good_as_one_on_all_points() {
        let (n, d, k) = (6000, 3, 5);
        let data = blobs(n, d, k, 2);
        let inertia = |seeding| KMeans::new(k).seeding(seeding).fit(&data, n, d, None).unwrap().inertia;
        let (all, sample) = (inertia(Seeding::All), inertia(Seeding::Sample(200)));
        assert!((sample / all - 1.0).abs() < 1e-3, "{sample} and {all}");
    }

    #[test]
    fn the_first_number_that_is_not_finite_is_found() {
        let mut data = vec![1.0; 100_000];
        assert_eq!(first_not_finite(&data), None);
        data[99_999] = f64::NAN;
        assert_eq!(first_not_finite(&data), Some(99_999));
        data[40_000] = f64::NEG_INFINITY;
        assert_eq!(first_not_finite(&data), Some(40_000));
        assert_eq!(first_not_finite(&[]), None);
    }

    #[test]
    fn one_thread_and_many_agree_to_the_last_bit() {
        let (n, d, k) = (9000, 4, 6);
        let data = blobs(n, d, k, 1);
        let run = || KMeans::new(k).n_init(2).seeding(Seeding::Sample(100)).fit(&data, n, d, None).unwrap();
        let many = run();
        #[cfg(feature = "rayon")]
        {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            assert_eq!(many, pool.install(run));
        }
        assert_eq!(many, run());
    }

    #[test]
    fn weights_act_like_copies() {
        let data = [0.0, 1.0, 10.0];
        let fit = KMeans::new(2).fit(&data, 3, 1, Some(&[3.0, 1.0, 1.0])).unwrap();
        let middle = fit.centers[fit.labels[0] as usize];
        assert!((middle - 0.25).abs() < 1e-15);
        assert!((fit.inertia - 0.75).abs() < 1e-15);
    }

    #[test]
    fn huge_and_tiny_data_are_scaled() {
        for unit in [1e300, 1e-300] {
            let data: Vec<f64> = [0.0, 0.1, 5.0, 5.2].iter().map(|x| x * unit).collect();
            let fit = KMeans::new(2).fit(&data, 4, 1, None).unwrap();
            assert!(fit.labels[0] == fit.labels[1] && fit.labels[1] != fit.labels[2]);
            assert!((fit.centers[fit.labels[0] as usize] / unit - 0.05).abs() < 1e-12);
        }
    }

    #[test]
    fn invalid_input_is_named() {
        let data = [0.0, 1.0];
        let name = |result: Result<KMeansFit>| match result {
            Err(Error::InvalidParameter { name, .. }) => name,
            other => panic!("{other:?}"),
        };
        assert_eq!(name(KMeans::new(0).fit(&data, 2, 1, None)), "n_clusters");
        assert_eq!(name(KMeans::new(1).n_init(0).fit(&data, 2, 1, None)), "n_init");
        assert_eq!(name(KMeans::new(1).max_iterations(0).fit(&data, 2, 1, None)), "max_iterations");
        assert_eq!(name(KMeans::new(1).tol(f64::NAN).fit(&data, 2, 1, None)), "tol");
        assert_eq!(name(KMeans::new(1).fit(&data, 2, 1, Some(&[1.0, 0.0]))), "weights");
        let few = KMeans::new(3).fit(&data, 2, 1, None);
        assert_eq!(few, Err(Error::TooFewVertices { vertices: 2, segments: 3 }));
        assert!(matches!(
            KMeans::new(1).fit(&data, 2, 2, None),
            Err(Error::ShapeMismatch { expected: 4, .. })
        ));
        let nan = KMeans::new(1).fit(&[0.0, f64::NAN], 2, 1, None);
        assert!(matches!(nan, Err(Error::NotFinite { index: 1, .. })));
    }

    #[test]
    fn public_types_cross_threads() {
        fn check<T: Send + Sync>() {}
        check::<KMeans>();
        check::<KMeansFit>();
    }
}
