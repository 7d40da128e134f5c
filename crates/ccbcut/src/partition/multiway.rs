//! All columns at once: from the rows of an embedding to parts.

use super::{
    discretize::{Starts, discretize},
    rotate::{Alignment, GROWTH, simplex},
};
use crate::{
    error::{Error, Result},
    kmeans::{KMeans, Seeding, first_not_finite},
    labels::Labels,
    parallel,
};

/// How the rows of an embedding become parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rounding {
    /// k-means on the rows, all columns used, all rows of equal weight.
    #[default]
    KMeans,
    /// Rotation of unit rows (constant column and the first k − 1 columns) towards the k axes, after Yu & Shi 2003.
    Discretize,
    /// Rotation of the rows (first k − 1 columns, weighted by π) towards the corners of a regular simplex, after
    /// Zhang & Jordan 2008. Starts from k-means. A regular figure suits parts of similar size; where sizes differ
    /// by orders of magnitude, prefer the other two.
    Procrustes,
}

impl Rounding {
    /// The name used by the command and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::KMeans => "kmeans",
            Self::Discretize => "discretize",
            Self::Procrustes => "procrustes",
        }
    }
}

/// Rounds an embedding to exactly the number of parts asked for.
///
/// ```
/// use ccbcut::partition::{Multiway, Rounding};
/// let embedding = [-1.0, -1.1, 0.9, 1.2];
/// for rounding in [Rounding::KMeans, Rounding::Discretize, Rounding::Procrustes] {
///     let labels = Multiway::new(2).rounding(rounding).partition(&embedding, 4, 1, &[1.0; 4])?;
///     assert_eq!(labels.as_slice(), &[0, 0, 1, 1]);
/// }
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Multiway {
    n_segments: usize,
    rounding: Rounding,
    n_init: usize,
    max_iterations: usize,
    seed: u64,
    seeding: Seeding,
}

impl Multiway {
    /// Asks for `n_segments` parts by k-means, 10 starts of at most 100 steps.
    pub fn new(n_segments: usize) -> Self {
        let (rounding, seeding) = (Rounding::KMeans, Seeding::default());
        Self { n_segments, rounding, n_init: 10, max_iterations: 100, seed: 0, seeding }
    }

    /// How rows become parts.
    #[must_use]
    pub fn rounding(mut self, rounding: Rounding) -> Self {
        self.rounding = rounding;
        self
    }

    /// How many starts; the best wins. (For [`Rounding::Procrustes`], those of the k-means it starts from.)
    #[must_use]
    pub fn n_init(mut self, n_init: usize) -> Self {
        self.n_init = n_init;
        self
    }

    /// The most steps from one start.
    #[must_use]
    pub fn max_iterations(mut self, max_iterations: usize) -> Self {
        self.max_iterations = max_iterations;
        self
    }

    /// Fixes the randomness.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Which rows the starts are tried on.
    #[must_use]
    pub fn seeding(mut self, seeding: Seeding) -> Self {
        self.seeding = seeding;
        self
    }

    /// Rounds an embedding of `n` rows and `m` columns, stored row by row; π holds one weight per row.
    ///
    /// For one part, and for as many parts as rows, no column is looked at. [`Rounding::KMeans`] needs one column
    /// and uses all; the rotations need k − 1 and use the first k − 1. Parts that rounding leaves empty are
    /// refilled: by k-means with the row farthest from its centre, by a rotation with the row that loses least.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for zero parts, starts or steps; [`Error::TooFewVertices`] for more parts than
    /// rows; [`Error::ShapeMismatch`] when sizes do not fit or columns are missing; [`Error::NotFinite`] for an
    /// embedding that is not finite; [`Error::InvalidBalance`] for weights that are not positive and finite;
    /// [`Error::EigenNotConverged`] when a small singular value problem fails.
    ///
    /// # Complexity
    /// O(n k m) time per step and start; O(n m) auxiliary space at most.
    ///
    /// # References
    /// Yu & Shi, *Multiclass spectral clustering*, ICCV 2003, <https://doi.org/10.1109/ICCV.2003.1238361>;
    /// Zhang & Jordan, *Multiway spectral clustering: a margin-based perspective*, Statist. Sci. 23, 2008,
    /// <https://doi.org/10.1214/08-STS266>.
    pub fn partition(&self, embedding: &[f64], n: usize, m: usize, pi: &[f64]) -> Result<Labels> {
        self.validate(embedding, n, m, pi)?;
        let k = self.n_segments;
        if k == 1 {
            return Ok(Labels::single(n));
        }
        if k == n {
            return Ok(Labels::from_raw(&(0..n as u32).collect::<Vec<_>>()));
        }
        let needed = if self.rounding == Rounding::KMeans { 1 } else { k - 1 };
        if m < needed {
            let (expected, got) = (n.saturating_mul(needed), embedding.len());
            return Err(Error::ShapeMismatch { what: "the embedding", expected, got });
        }
        let raw = match self.rounding {
            Rounding::KMeans => self.kmeans().fit(embedding, n, m, None)?.labels,
            Rounding::Discretize => {
                let starts = Starts {
                    count: self.n_init,
                    seeding: self.seeding,
                    seed: self.seed,
                    max_iterations: self.max_iterations,
                };
                discretize(embedding, m, k, pi, &starts)?
            }
            Rounding::Procrustes => self.procrustes(&first_columns(embedding, m, k - 1), pi)?,
        };
        Ok(Labels::from_raw(&raw))
    }

    fn kmeans(&self) -> KMeans {
        KMeans::new(self.n_segments)
            .n_init(self.n_init)
            .max_iterations(self.max_iterations)
            .seed(self.seed)
            .seeding(self.seeding)
    }

    fn procrustes(&self, columns: &[f64], pi: &[f64]) -> Result<Vec<u32>> {
        let (k, dim) = (self.n_segments, self.n_segments - 1);
        let start = self.kmeans().fit(columns, pi.len(), dim, None)?.labels;
        let corners = simplex(k);
        // Only the ratios of the weights matter; large ones must not overflow.
        let largest = pi.iter().copied().fold(0.0, f64::max);
        let weights: Vec<f64> = pi.iter().map(|p| p / largest).collect();
        let alignment = Alignment { rows: columns, dim, corners: &corners, weights: Some(&weights) };
        Ok(alignment.solve(start, self.max_iterations, GROWTH)?.labels)
    }

    fn validate(&self, embedding: &[f64], n: usize, m: usize, pi: &[f64]) -> Result<()> {
        let counts = [
            ("n_segments", self.n_segments),
            ("n_init", self.n_init),
            ("max_iterations", self.max_iterations),
        ];
        for (name, count) in counts {
            if count == 0 {
                return Err(Error::InvalidParameter { name, value: 0.0, expected: "at least 1" });
            }
        }
        if self.n_segments > n {
            return Err(Error::TooFewVertices { vertices: n, segments: self.n_segments });
        }
        if n.checked_mul(m) != Some(embedding.len()) {
            let expected = n.saturating_mul(m);
            return Err(Error::ShapeMismatch { what: "the embedding", expected, got: embedding.len() });
        }
        if pi.len() != n {
            return Err(Error::ShapeMismatch { what: "the balance weights", expected: n, got: pi.len() });
        }
        if let Some(index) = first_not_finite(embedding) {
            return Err(Error::NotFinite { what: "the embedding", index, value: embedding[index] });
        }
        match pi.iter().position(|&p| !(p.is_finite() && p > 0.0)) {
            Some(vertex) => Err(Error::InvalidBalance { vertex, weight: pi[vertex] }),
            None => Ok(()),
        }
    }
}

/// The first `keep` of `m` columns, scaled to a largest entry of 1: rotations do not depend on the scale.
fn first_columns(embedding: &[f64], m: usize, keep: usize) -> Vec<f64> {
    let scale = scale_of_first(embedding, m, keep);
    embedding.chunks_exact(m).flat_map(|row| &row[..keep]).map(|x| x / scale).collect()
}

/// The largest entry of the first `keep` of `m` columns, 1 if all are zero.
pub(super) fn scale_of_first(embedding: &[f64], m: usize, keep: usize) -> f64 {
    const BLOCK: usize = 1024;
    let n = embedding.len() / m;
    let largest = parallel::map(n.div_ceil(BLOCK), |b| {
        let rows = embedding[b * BLOCK * m..n.min((b + 1) * BLOCK) * m].chunks_exact(m);
        rows.flat_map(|row| &row[..keep]).fold(0.0_f64, |a, x| a.max(x.abs()))
    });
    let largest = largest.into_iter().fold(0.0, f64::max);
    if largest > 0.0 { largest } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{partition::rotate::dot, random::Random};

    const ALL: [Rounding; 3] = [Rounding::KMeans, Rounding::Discretize, Rounding::Procrustes];

    /// The embedding of a given partition with YᵀΠY = I and YᵀΠ1 = 0, in a random rotation, `m` ≥ k − 1 columns.
    fn ideal(labels: &[u32], pi: &[f64], m: usize, noise: f64, seed: u64) -> Vec<f64> {
        let k = labels.iter().max().unwrap() + 1;
        let mut mass = vec![0.0; k as usize];
        labels.iter().zip(pi).for_each(|(&l, p)| mass[l as usize] += p);
        let mut random = Random::new(seed);
        let mut basis: Vec<Vec<f64>> = vec![mass.iter().map(|p| p.sqrt()).collect()];
        while basis.len() < k as usize {
            let vector = (0..k).map(|_| random.normal()).collect();
            basis.push(vector);
            let last = basis.len() - 1;
            for b in 0..last {
                let overlap = dot(&basis[b], &basis[last]) / dot(&basis[b], &basis[b]);
                for j in 0..k as usize {
                    basis[last][j] -= overlap * basis[b][j];
                }
            }
            let length = dot(&basis[last], &basis[last]).sqrt();
            basis[last].iter_mut().for_each(|x| *x /= length);
        }
        let mut embedding = Vec::new();
        for &l in labels {
            for column in 0..m {
                let exact = basis.get(column + 1).map_or(0.0, |b| b[l as usize] / mass[l as usize].sqrt());
                embedding.push(exact + noise * random.normal());
            }
        }
        embedding
    }

    #[test]
    fn every_rounding_finds_the_parts_of_an_ideal_embedding() {
        for k in 2..7_u32 {
            for seed in 0..5 {
                let mut random = Random::new(seed);
                let labels: Vec<u32> =
                    (0..20 * k).map(|i| if i < k { i } else { random.below(k as usize) as u32 }).collect();
                let n = labels.len();
                let pi: Vec<f64> = (0..n).map(|_| 0.5 + random.uniform()).collect();
                for m in [k as usize - 1, k as usize] {
                    let embedding = ideal(&labels, &pi, m, 1e-3, seed);
                    for rounding in ALL {
                        let found =
                            Multiway::new(k as usize).rounding(rounding).partition(&embedding, n, m, &pi);
                        assert_eq!(
                            found.unwrap(),
                            Labels::from_raw(&labels),
                            "{rounding:?}, k = {k}, m = {m}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn discretisation_does_not_mind_unequal_parts() {
        let labels: Vec<u32> = (0..1000)
            .map(|i| {
                if i < 3 {
                    0
                } else if i < 60 {
                    1
                } else {
                    2
                }
            })
            .collect();
        let pi = vec![1.0; 1000];
        let embedding = ideal(&labels, &pi, 2, 1e-4, 1);
        let found = Multiway::new(3).rounding(Rounding::Discretize).partition(&embedding, 1000, 2, &pi);
        assert_eq!(found.unwrap().sizes(), vec![3, 57, 940]);
    }

    #[test]
    fn exactly_k_parts_come_out() {
        let (n, m) = (14, 13);
        let mut random = Random::new(2);
        let scattered: Vec<f64> = (0..n * m).map(|_| random.normal()).collect();
        let coarse: Vec<f64> = (0..n * m).map(|e| f64::from(u8::from(e / m < 5))).collect();
        for embedding in [scattered, coarse, vec![0.0; n * m]] {
            for k in 1..=n {
                for rounding in ALL {
                    let found =
                        Multiway::new(k).rounding(rounding).partition(&embedding, n, m, &vec![1.0; n]);
                    assert_eq!(found.unwrap().n_segments(), k, "{rounding:?}, k = {k}");
                }
            }
        }
    }

    #[test]
    fn the_scale_of_the_embedding_does_not_matter() {
        let mut random = Random::new(6);
        let embedding: Vec<f64> = (0..120).map(|_| random.normal()).collect();
        for rounding in ALL {
            let found = |scale: f64| {
                let scaled: Vec<f64> = embedding.iter().map(|x| x * scale).collect();
                Multiway::new(4).rounding(rounding).partition(&scaled, 40, 3, &[2.0; 40]).unwrap()
            };
            assert_eq!(found(1.0), found(2_f64.powi(1000)));
            assert_eq!(found(1.0), found(2_f64.powi(-900)));
        }
    }

    #[test]
    fn the_ends_need_no_columns() {
        for rounding in ALL {
            let multiway = |k| Multiway::new(k).rounding(rounding).partition(&[], 5, 0, &[1.0; 5]);
            assert_eq!(multiway(1).unwrap(), Labels::single(5));
            assert_eq!(multiway(5).unwrap().n_segments(), 5);
            assert!(matches!(multiway(3), Err(Error::ShapeMismatch { .. })));
            assert_eq!(multiway(6), Err(Error::TooFewVertices { vertices: 5, segments: 6 }));
        }
    }

    #[test]
    fn invalid_input_is_named() {
        let (data, pi) = ([0.0, 1.0, 2.0], [1.0; 3]);
        assert!(matches!(
            Multiway::new(0).partition(&data, 3, 1, &pi),
            Err(Error::InvalidParameter { name: "n_segments", .. })
        ));
        assert!(matches!(
            Multiway::new(2).n_init(0).partition(&data, 3, 1, &pi),
            Err(Error::InvalidParameter { name: "n_init", .. })
        ));
        assert!(matches!(
            Multiway::new(2).max_iterations(0).partition(&data, 3, 1, &pi),
            Err(Error::InvalidParameter { name: "max_iterations", .. })
        ));
        assert!(matches!(Multiway::new(2).partition(&data, 3, 2, &pi), Err(Error::ShapeMismatch { .. })));
        assert!(matches!(
            Multiway::new(2).partition(&data, 3, 1, &pi[..2]),
            Err(Error::ShapeMismatch { .. })
        ));
        let nan = Multiway::new(2).partition(&[0.0, f64::NAN, 1.0], 3, 1, &pi);
        assert!(matches!(nan, Err(Error::NotFinite { index: 1, .. })));
        let zero = Multiway::new(2).partition(&data, 3, 1, &[1.0, 0.0, 1.0]);
        assert_eq!(zero, Err(Error::InvalidBalance { vertex: 1, weight: 0.0 }));
    }
}
