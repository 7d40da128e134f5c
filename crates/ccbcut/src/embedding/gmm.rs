//! A Gaussian mixture of the vertices' features: where piecewise flat embeddings start.

use crate::{
    error::{Error, Result},
    kmeans::{KMeans, first_not_finite},
    parallel,
};

use super::Embedding;

/// Rows that one block of a pass takes.
const BLOCK: usize = 1024;

/// A mixture of Gaussians with full covariances, fitted by expectation and maximisation from a k-means clustering.
///
/// ```
/// use ccbcut::embedding::GaussianMixture;
/// let rows = [0.0, 0.1, 0.05, 5.0, 5.2, 5.1];
/// let fit = GaussianMixture::new(2).fit(&rows, 6, 1)?;
/// assert_eq!(fit.labels[0], fit.labels[2]);
/// assert_ne!(fit.labels[0], fit.labels[3]);
/// assert_eq!(fit.one_hot()?.n_components(), 2);
/// # Ok::<(), ccbcut::Error>(())
/// ```
///
/// # References
/// Yu, Fang & Liao, *Piecewise flat embedding for image segmentation*, ICCV 2015,
/// <https://doi.org/10.1109/ICCV.2015.160>; the settings are those of the released toolbox's script.
#[derive(Debug, Clone, PartialEq)]
pub struct GaussianMixture {
    n_parts: usize,
    max_iterations: usize,
    ridge: f64,
    tol: f64,
    seed: u64,
}

/// What [`GaussianMixture::fit`] returns.
#[derive(Debug, Clone, PartialEq)]
pub struct MixtureFit {
    /// The most likely component of each row.
    pub labels: Vec<u32>,
    /// The mean log-likelihood of a row after each step; it never falls.
    pub log_likelihood: Vec<f64>,
    n_parts: usize,
}

impl MixtureFit {
    /// One column per component, zero but on its rows, scaled to unit length: an embedding to start from.
    ///
    /// # Errors
    /// None in practice: the values are finite by construction.
    pub fn one_hot(&self) -> Result<Embedding> {
        let (n, k) = (self.labels.len(), self.n_parts);
        let mut counts = vec![0.0_f64; k];
        self.labels.iter().for_each(|&l| counts[l as usize] += 1.0);
        let mut values = vec![0.0; n * k];
        for (row, &l) in values.chunks_exact_mut(k).zip(&self.labels) {
            row[l as usize] = 1.0 / counts[l as usize].sqrt();
        }
        Embedding::new(n, k, values)
    }
}

/// One Gaussian: its weight, mean, and the Cholesky factor of its covariance, row by row.
#[derive(Debug, Clone)]
struct Component {
    weight: f64,
    mean: Vec<f64>,
    factor: Vec<f64>,
}

impl GaussianMixture {
    /// 200 steps at most, 10⁻⁴ added to each variance.
    pub fn new(n_parts: usize) -> Self {
        Self { n_parts, max_iterations: 200, ridge: 1e-4, tol: 1e-6, seed: 0 }
    }

    /// What is added to the variances, in squared units of the features.
    #[must_use]
    pub fn ridge(mut self, ridge: f64) -> Self {
        self.ridge = ridge;
        self
    }

    /// The most steps.
    #[must_use]
    pub fn max_iterations(mut self, max_iterations: usize) -> Self {
        self.max_iterations = max_iterations;
        self
    }

    /// Seed of the clustering it starts from.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Fits `n` rows of `d` features, stored row by row.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a setting out of range, [`Error::TooFewVertices`] for fewer rows than parts,
    /// [`Error::ShapeMismatch`] or [`Error::NotFinite`] for features that do not fit.
    ///
    /// # Complexity
    /// O(n k d²) per step.
    pub fn fit(&self, rows: &[f64], n: usize, d: usize) -> Result<MixtureFit> {
        self.validate(rows, n, d)?;
        let labels = KMeans::new(self.n_parts).seed(self.seed).fit(rows, n, d, None)?.labels;
        let k = self.n_parts;
        let mut shares = vec![0.0; n * k];
        labels.iter().enumerate().for_each(|(i, &l)| shares[i * k + l as usize] = 1.0);
        let mut components = self.maximise(rows, d, &shares);
        let mut log_likelihood: Vec<f64> = Vec::new();
        for _ in 0..self.max_iterations {
            let value = expect(rows, d, &components, &mut shares);
            let before = log_likelihood.last().copied();
            log_likelihood.push(value);
            if before.is_some_and(|before| value - before <= self.tol * value.abs()) {
                break;
            }
            components = self.maximise(rows, d, &shares);
        }
        let labels = shares.chunks_exact(k).map(most_likely).collect();
        Ok(MixtureFit { labels, log_likelihood, n_parts: k })
    }

    /// Weights, means and covariances from the shares of each row in each component.
    fn maximise(&self, rows: &[f64], d: usize, shares: &[f64]) -> Vec<Component> {
        let (k, n) = (self.n_parts, rows.len() / d);
        parallel::map(k, |c| {
            let share = |i: usize| shares[i * k + c];
            let total: f64 = (0..n).map(share).sum::<f64>().max(f64::MIN_POSITIVE);
            let mut mean = vec![0.0; d];
            for (i, row) in rows.chunks_exact(d).enumerate() {
                mean.iter_mut().zip(row).for_each(|(m, x)| *m += share(i) * x / total);
            }
            let mut covariance = vec![0.0; d * d];
            for (i, row) in rows.chunks_exact(d).enumerate() {
                for a in 0..d {
                    for b in 0..=a {
                        covariance[a * d + b] += share(i) * (row[a] - mean[a]) * (row[b] - mean[b]) / total;
                    }
                }
            }
            (0..d).for_each(|a| covariance[a * d + a] += self.ridge);
            Component { weight: total / n as f64, mean, factor: cholesky(covariance, d) }
        })
    }

    fn validate(&self, rows: &[f64], n: usize, d: usize) -> Result<()> {
        let invalid = |name, value, expected| Err(Error::InvalidParameter { name, value, expected });
        if self.n_parts == 0 || d == 0 {
            return invalid("the number of components", 0.0, "at least 1");
        }
        if self.max_iterations == 0 {
            return invalid("the number of steps", 0.0, "at least 1");
        }
        if !(self.ridge > 0.0 && self.ridge.is_finite()) {
            return invalid("the ridge", self.ridge, "positive and finite");
        }
        if self.n_parts > n {
            return Err(Error::TooFewVertices { vertices: n, segments: self.n_parts });
        }
        if n.checked_mul(d) != Some(rows.len()) {
            return Err(Error::ShapeMismatch {
                what: "the features",
                expected: n.saturating_mul(d),
                got: rows.len(),
            });
        }
        match first_not_finite(rows) {
            Some(index) => Err(Error::NotFinite { what: "the features", index, value: rows[index] }),
            None => Ok(()),
        }
    }
}

/// The shares of each row in each component; the mean log-likelihood.
fn expect(rows: &[f64], d: usize, components: &[Component], shares: &mut [f64]) -> f64 {
    let k = components.len();
    let n = rows.len() / d;
    let sums = parallel::map_chunks(shares, BLOCK * k, |block, part| {
        let mut total = 0.0;
        let mut scratch = vec![0.0; d];
        for (r, row_shares) in part.chunks_exact_mut(k).enumerate() {
            let i = block * BLOCK + r;
            let row = &rows[i * d..(i + 1) * d];
            for (share, component) in row_shares.iter_mut().zip(components) {
                *share = component.log_density(row, &mut scratch);
            }
            let top = row_shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = row_shares.iter().map(|s| (s - top).exp()).sum();
            row_shares.iter_mut().for_each(|s| *s = (*s - top).exp() / sum);
            total += top + sum.ln();
        }
        total
    });
    sums.into_iter().sum::<f64>() / n as f64
}

impl Component {
    /// ln(weight · density); `scratch` holds one value per feature.
    fn log_density(&self, row: &[f64], scratch: &mut [f64]) -> f64 {
        let d = row.len();
        let (mut squared, mut log_root) = (0.0, 0.0);
        for a in 0..d {
            let known: f64 = (0..a).map(|b| self.factor[a * d + b] * scratch[b]).sum();
            scratch[a] = (row[a] - self.mean[a] - known) / self.factor[a * d + a];
            squared += scratch[a] * scratch[a];
            log_root += self.factor[a * d + a].ln();
        }
        self.weight.max(f64::MIN_POSITIVE).ln()
            - 0.5 * (squared + d as f64 * std::f64::consts::TAU.ln())
            - log_root
    }
}

/// The lower Cholesky factor of a matrix whose lower half is given.
fn cholesky(mut a: Vec<f64>, d: usize) -> Vec<f64> {
    for j in 0..d {
        for i in j..d {
            let known: f64 = (0..j).map(|c| a[i * d + c] * a[j * d + c]).sum();
            let value = a[i * d + j] - known;
            a[i * d + j] = if i == j { value.max(f64::MIN_POSITIVE).sqrt() } else { value / a[j * d + j] };
        }
    }
    a
}

/// The first of the largest shares.
fn most_likely(shares: &[f64]) -> u32 {
    (0..shares.len()).fold(0, |best, c| if shares[c] > shares[best] { c } else { best }) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Irrq, Start, embedding::Soc, graph::gallery, random::Random};

    /// Two long, thin clouds side by side, which k-means would cut across.
    fn clouds(n: usize) -> Vec<f64> {
        let mut random = Random::new(3);
        (0..n).flat_map(|i| [10.0 * random.normal(), (i % 2) as f64 * 4.0 + 0.3 * random.normal()]).collect()
    }

    #[test]
    fn elongated_clouds_are_told_apart_and_the_likelihood_never_falls() {
        let rows = clouds(400);
        let fit = GaussianMixture::new(2).fit(&rows, 400, 2).unwrap();
        assert!(fit.log_likelihood.windows(2).all(|w| w[1] >= w[0] - 1e-9), "{:?}", fit.log_likelihood);
        let wrong = (0..400).filter(|&i| fit.labels[i] != fit.labels[i % 2]).count();
        assert!(wrong < 10, "{wrong} of 400");
        let columns = fit.one_hot().unwrap();
        for c in 0..2 {
            assert!((columns.column(c).iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn soc_and_irrq_start_from_a_mixture() {
        let graph = gallery::planted(&[20, 15, 25], 0.6, 0.03, 3);
        let block = |v: usize| (usize::from(v >= 20) + usize::from(v >= 35)) as f64;
        let mut random = Random::new(1);
        let rows: Vec<f64> = (0..60).map(|v| block(v) + 0.2 * random.normal()).collect();
        let start = GaussianMixture::new(3).fit(&rows, 60, 1).unwrap().one_hot().unwrap();
        let soc = Soc::new(1.0).n_components(3).start(start.clone()).fit(&graph).unwrap();
        let irrq = Irrq::new(1.0).n_components(2).start(Start::Smoothed(start)).fit(&graph).unwrap();
        for y in [&soc.embedding, &irrq.embedding] {
            assert!(y.squared_distance(0, 10) < y.squared_distance(0, 50));
        }
    }

    #[test]
    fn invalid_input_is_named() {
        let fit = |k: usize, rows: &[f64], n: usize| GaussianMixture::new(k).fit(rows, n, 1);
        assert!(matches!(fit(0, &[1.0], 1), Err(Error::InvalidParameter { .. })));
        assert!(matches!(fit(3, &[1.0, 2.0], 2), Err(Error::TooFewVertices { vertices: 2, segments: 3 })));
        assert!(matches!(fit(1, &[1.0, 2.0], 3), Err(Error::ShapeMismatch { expected: 3, got: 2, .. })));
        assert!(matches!(fit(1, &[1.0, f64::NAN], 2), Err(Error::NotFinite { index: 1, .. })));
        let ridge = GaussianMixture::new(1).ridge(0.0).fit(&[1.0], 1, 1);
        assert!(matches!(ridge, Err(Error::InvalidParameter { name: "the ridge", .. })));
        let steps = GaussianMixture::new(1).max_iterations(0).fit(&[1.0], 1, 1);
        assert!(matches!(steps, Err(Error::InvalidParameter { name: "the number of steps", .. })));
    }
}
