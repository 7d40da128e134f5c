//! Pointwise mutual information: pixels whose features are seen together more often than by chance are tied.
//!
//! From pairs of nearby pixels, drawn at random, the density of feature pairs in *this* image is learnt, once for
//! colours and once for how much they vary ([`features()`]). The weight of two pixels is the product of what both
//! densities say ([`PmiModel::weight`]). A texture of two colours is thus tied as strongly as a flat region.
//!
//! One step per file: `features`, `sample`, `density` (the sum of kernels, exactly), `bandwidth` (learnt), `model` (the
//! formula), `tiles` (all pairs of an image, fast).
//!
//! # References
//! P. Isola, D. Zoran, D. Krishnan and E. H. Adelson, Crisp boundary detection using pointwise mutual information,
//! ECCV 2014, doi:10.1007/978-3-319-10578-9_52.

mod bandwidth;
mod density;
mod features;
mod model;
mod sample;
mod tiles;

pub use features::features;
pub use model::{PmiModel, PmiOrdering};

use crate::{
    error::{Error, Result},
    graph::Graph,
    image::Image,
    parallel,
    random::Random,
};

use super::{Affinity, Neighborhood};
use model::{Formula, check_bandwidth};
use sample::sample_pairs;
use tiles::{FastModel, saturated};

/// Most pairs that may be drawn.
const MAX_SAMPLES: usize = 1_000_000;

/// Fresh pairs that learnt bandwidths are judged by.
const FRESH: usize = 500;

/// The bandwidth that is not learnt.
const BANDWIDTH: f64 = 0.05;

/// Pixels per block of the parallel evaluation of p(A).
const PIXELS: usize = 256;

/// How wide the kernels of the densities are, in features of range 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PmiBandwidth {
    /// The same for every image and channel.
    Fixed(f64),
    /// One per channel, those under which pairs of this image are most likely, within 0.01 to 0.1. Takes some 100 ms
    /// more.
    Learned,
}

impl Default for PmiBandwidth {
    /// Fixed, 0.05.
    fn default() -> Self {
        Self::Fixed(BANDWIDTH)
    }
}

/// How the densities of all pairs are summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PmiEvaluation {
    /// In 32 bits, a tile of the image at a time. Weights are within 10⁻³ of the exact ones, and nearly always within
    /// 10⁻⁵.
    #[default]
    Fast,
    /// In 64 bits, pair by pair: some ten times as long.
    Exact,
}

/// The graph of pointwise mutual information.
///
/// Defaults are those of the published code at full resolution: 5,000 pairs drawn, bandwidth 0.05, exponent 1.25,
/// regularization 100. The weights are not bounded by 1; they range from about 0.05 to 10⁵. Of two pixels the one that
/// comes first, row by row, is A: with [`PmiOrdering::FirstChannel`] the weight would not be quite the same the other
/// way round.
///
/// ```
/// use ccbcut::{Image, affinity::{Affinity, Neighborhood, PmiAffinity}};
/// // Two flat halves.
/// let data = (0..400).map(|p| if p % 20 < 10 { 0.2 } else { 0.8 }).collect();
/// let image = Image::new(20, 20, 1, data)?;
/// let graph = PmiAffinity::default().neighborhood(Neighborhood::new(1.0)).graph(&image)?;
/// let weight = |p, q| {
///     let mut found = 0.0;
///     graph.for_each_neighbor(p, |j, w| if j == q { found = w });
///     found
/// };
/// assert!(weight(204, 205) > 2.0 * weight(209, 210));
/// # Ok::<(), ccbcut::Error>(())
/// ```
///
/// # Complexity
/// O(n R² K) time at most for n pixels, radius R and K kernels, most of which are out of reach of most pairs; O(n R²)
/// storage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PmiAffinity {
    neighborhood: Neighborhood,
    n_kernels: usize,
    seed: u64,
    bandwidth: PmiBandwidth,
    ordering: PmiOrdering,
    formula: Formula,
    evaluation: PmiEvaluation,
}

impl Default for PmiAffinity {
    fn default() -> Self {
        Self {
            neighborhood: Neighborhood::default(),
            n_kernels: 5000,
            seed: 0,
            bandwidth: PmiBandwidth::default(),
            ordering: PmiOrdering::default(),
            formula: Formula::default(),
            evaluation: PmiEvaluation::default(),
        }
    }
}

impl PmiAffinity {
    /// Which pixels are tied; radius 10 by default.
    #[must_use]
    pub fn neighborhood(mut self, neighborhood: Neighborhood) -> Self {
        self.neighborhood = neighborhood;
        self
    }

    /// How many pairs are drawn, from 1 to 1,000,000. Somewhat fewer are kept, as repeated ones and those that reach
    /// outside are dropped.
    #[must_use]
    pub fn n_kernels(mut self, n_kernels: usize) -> Self {
        self.n_kernels = n_kernels;
        self
    }

    /// The seed of the drawing; 0 by default.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How wide the kernels are.
    #[must_use]
    pub fn bandwidth(mut self, bandwidth: PmiBandwidth) -> Self {
        self.bandwidth = bandwidth;
        self
    }

    /// Which channels of a pair are exchanged to put it in order.
    #[must_use]
    pub fn ordering(mut self, ordering: PmiOrdering) -> Self {
        self.ordering = ordering;
        self
    }

    /// ρ, the power of the density of pairs; 1.25 by default. Above 1 it favours what is seen often.
    #[must_use]
    pub fn exponent(mut self, exponent: f64) -> Self {
        self.formula.exponent = exponent;
        self
    }

    /// r, what is added to both densities; 100 by default. The more, the less do rare pairs matter.
    #[must_use]
    pub fn regularization(mut self, regularization: f64) -> Self {
        self.formula.regularization = regularization;
        self
    }

    /// Fast or exact.
    #[must_use]
    pub fn evaluation(mut self, evaluation: PmiEvaluation) -> Self {
        self.evaluation = evaluation;
        self
    }

    /// The models of the two feature sets of an image: colour first, variation second.
    ///
    /// # Errors
    /// Those of [`Affinity::graph_masked`].
    pub fn models(&self, image: &Image, mask: Option<&[bool]>) -> Result<[PmiModel; 2]> {
        self.validate()?;
        let features = features(image, mask)?;
        Ok(self.learn(&features, mask))
    }

    fn validate(&self) -> Result<()> {
        self.formula.validate()?;
        if let PmiBandwidth::Fixed(bandwidth) = self.bandwidth {
            check_bandwidth(bandwidth)?;
        }
        if !(1..=MAX_SAMPLES).contains(&self.n_kernels) {
            let (value, expected) = (self.n_kernels as f64, "from 1 to 1000000");
            return Err(Error::InvalidParameter { name: "pmi-pairs", value, expected });
        }
        Ok(())
    }

    fn learn(&self, features: &[Image; 2], mask: Option<&[bool]>) -> [PmiModel; 2] {
        let mut random = Random::new(self.seed);
        features.each_ref().map(|features| {
            let mut points = |n: usize| -> Vec<[f64; 6]> {
                let pairs = sample_pairs((features.height(), features.width()), mask, n, &mut random);
                let point = |&(p, q)| self.ordering.point(widened(features, p), widened(features, q));
                pairs.iter().map(point).collect()
            };
            let kernels = points(self.n_kernels);
            let bandwidth = match self.bandwidth {
                PmiBandwidth::Fixed(bandwidth) => [bandwidth; 3],
                PmiBandwidth::Learned => bandwidth::learn(&kernels, &points(FRESH), self.formula, BANDWIDTH),
            };
            PmiModel::from_points(kernels, bandwidth, self.ordering, self.formula)
        })
    }
}

impl Affinity for PmiAffinity {
    fn name(&self) -> &'static str {
        "pmi"
    }

    fn graph_masked(&self, image: &Image, mask: Option<&[bool]>) -> Result<Graph> {
        self.validate()?;
        let (height, width) = (image.height(), image.width());
        let offsets = self.neighborhood.offsets(height, width)?;
        let features = features(image, mask)?;
        let models = self.learn(&features, mask);
        let marginals = [0, 1].map(|s| marginals(&models[s], &features[s]));
        let both_count = |p: usize, q: usize| mask.is_none_or(|mask| mask[p] && mask[q]);
        match self.evaluation {
            PmiEvaluation::Exact => Graph::from_stencil(height, width, offsets, |p, q| {
                let weight = |s: usize| {
                    let joint = models[s].joint(widened(&features[s], p), widened(&features[s], q));
                    self.formula.weight(joint, marginals[s][p], marginals[s][q])
                };
                if both_count(p, q) { saturated(weight(0) * weight(1)) } else { 0.0 }
            }),
            PmiEvaluation::Fast => {
                let reached = offsets.clone();
                let fast =
                    [0, 1].map(|s| FastModel::new(&models[s], (&features[s], &marginals[s]), mask, &reached));
                Graph::from_stencil_bands(height, width, offsets, |first_row, weights| {
                    let pairs = Rows { first_row, width, height, offsets: &reached };
                    pairs.for_each(weights, |w, p, q| *w = if both_count(p, q) { 1.0 } else { 0.0 });
                    fast.iter().for_each(|model| model.multiply_rows(first_row, weights));
                })
            }
        }
    }
}

/// The features of a pixel in 64 bits.
fn widened(features: &Image, p: usize) -> [f64; 3] {
    let pixel = features.pixel(p);
    [pixel[0], pixel[1], pixel[2]].map(f64::from)
}

/// p(A) of every pixel.
fn marginals(model: &PmiModel, features: &Image) -> Vec<f64> {
    let mut all = vec![0.0; features.n_pixels()];
    parallel::for_each_chunk(&mut all, PIXELS, |block, part| {
        for (k, value) in part.iter_mut().enumerate() {
            *value = model.marginal(widened(features, block * PIXELS + k));
        }
    });
    all
}

/// Some rows of the stencil.
struct Rows<'a> {
    first_row: usize,
    height: usize,
    width: usize,
    offsets: &'a [(usize, isize)],
}

impl Rows<'_> {
    /// Calls `f(weight, p, q)` for each pair inside the image.
    fn for_each(&self, weights: &mut [f32], f: impl Fn(&mut f32, usize, usize)) {
        for (k, weights) in weights.chunks_exact_mut(self.width).enumerate() {
            let row = self.first_row + k / self.offsets.len();
            let (dr, dc) = self.offsets[k % self.offsets.len()];
            if row + dr >= self.height {
                continue;
            }
            for (column, weight) in weights.iter_mut().enumerate() {
                let there = column.wrapping_add_signed(dc);
                if there < self.width {
                    f(weight, row * self.width + column, (row + dr) * self.width + there);
                }
            }
        }
    }
}
