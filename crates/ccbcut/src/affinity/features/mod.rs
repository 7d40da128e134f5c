//! Likeness of features: any number of values per pixel or per token, from any source.
//!
//! A feature map is an [`Image`] with as many channels as there are features: the bands of a satellite, the responses of
//! a filter bank, the tokens of a vision transformer. Two feature vectors are compared by their angle or by their
//! distance ([`FeatureKernel`]), and which are compared is a choice of its own ([`FeatureNeighbors`]): those of
//! neighbouring pixels where the map is as fine as an image, all pairs or the nearest ones where it is a coarse grid of
//! tokens.

mod bandwidth;
mod stencil;
mod tokens;

use crate::{
    error::{Error, Result},
    graph::Graph,
    image::Image,
};

use super::{Affinity, Neighborhood, check_mask};

/// The weight of two tokens whose cosine is not above the threshold.
const FAINT: f64 = 1e-5;

/// How the weight of two feature vectors x and y follows from their cosine c = xᵀy/(‖x‖‖y‖) or from their distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FeatureKernel {
    /// max(0, c): vectors more than a right angle apart are not tied.
    Cosine,
    /// 1 where c > t, and 10⁻⁵ elsewhere: the graph of TokenCut (Wang and others, CVPR 2022), whose t is 0.2.
    Threshold {
        /// t, from −1 to below 1.
        threshold: f64,
    },
    /// exp((c − 1)/s).
    Exponential {
        /// s.
        bandwidth: Bandwidth,
    },
    /// exp(−‖x − y‖²/σ²).
    Rbf {
        /// σ.
        bandwidth: Bandwidth,
    },
}

/// How wide a kernel is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bandwidth {
    /// This wide.
    Fixed(f64),
    /// So many times the median, over a sample of the pairs that may be tied, of what the kernel compares: ‖x − y‖ for
    /// σ, 1 − c for s. The sample is the same in every run. Where more than half of the pairs are equal, the median is
    /// that of the others; where all are, it is 1.
    Median(f64),
}

/// Which feature vectors are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FeatureNeighbors {
    /// Those of pixels close to each other.
    Local(Neighborhood),
    /// All pairs.
    All,
    /// Each with those most like it; of equally like ones the first.
    Nearest {
        /// How many.
        count: usize,
        /// Whether both must be among the most like of the other, or one suffices.
        mutual: bool,
    },
}

/// The graph of the likeness of features.
///
/// With a cosine a vector of zeros has no direction: it is tied to nothing. One channel has no angles either, which is
/// an error.
///
/// ```
/// use ccbcut::{Image, affinity::{Affinity, FeatureAffinity, FeatureKernel, FeatureNeighbors}};
/// // Three tokens with two features each; the last points elsewhere.
/// let tokens = Image::new(1, 3, 2, vec![1.0, 0.0, 2.0, 0.0, -1.0, 0.1])?;
/// let affinity = FeatureAffinity::new(FeatureKernel::Cosine).neighbors(FeatureNeighbors::All);
/// assert_eq!(affinity.graph(&tokens)?.degrees(), &[1.0, 1.0, 0.0]);
/// # Ok::<(), ccbcut::Error>(())
/// ```
///
/// # Complexity
/// For n vectors of length m: O(n R² m) time and O(n R²) storage in a neighbourhood of radius R; O(n² m) time for all
/// pairs, in matrix products, and O(n²) storage; the same time and O(n k) storage for k nearest ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeatureAffinity {
    kernel: FeatureKernel,
    neighbors: FeatureNeighbors,
}

impl FeatureAffinity {
    /// The affinity of a kernel, over the default neighbourhood of radius 10.
    pub fn new(kernel: FeatureKernel) -> Self {
        Self { kernel, neighbors: FeatureNeighbors::Local(Neighborhood::default()) }
    }

    /// Which vectors are compared.
    #[must_use]
    pub fn neighbors(mut self, neighbors: FeatureNeighbors) -> Self {
        self.neighbors = neighbors;
        self
    }

    /// The σ or s that the weights of a map are made with; `None` for a kernel without.
    ///
    /// # Errors
    /// As [`Affinity::graph_masked`].
    pub fn bandwidth(&self, features: &Image, mask: Option<&[bool]>) -> Result<Option<f64>> {
        self.check(features, mask)?;
        let (bandwidth, is_squared) = match self.kernel {
            FeatureKernel::Cosine | FeatureKernel::Threshold { .. } => return Ok(None),
            FeatureKernel::Exponential { bandwidth } => (bandwidth, false),
            FeatureKernel::Rbf { bandwidth } => (bandwidth, true),
        };
        Ok(Some(match bandwidth {
            Bandwidth::Fixed(width) => width,
            Bandwidth::Median(scale) => {
                let median = bandwidth::median(features, mask, self.kernel.is_angular(), self.neighbors);
                scale * if is_squared { median.sqrt() } else { median }
            }
        }))
    }

    fn check(&self, features: &Image, mask: Option<&[bool]>) -> Result<()> {
        self.kernel.validate()?;
        check_mask(features, mask)?;
        if self.kernel.is_angular() && features.channels() == 1 {
            let expected = "at least 2 to have a cosine; one band is compared by the rbf metric";
            return Err(Error::InvalidParameter { name: "the number of features", value: 1.0, expected });
        }
        if let FeatureNeighbors::Nearest { count: 0, .. } = self.neighbors {
            let (name, expected) = ("the number of nearest neighbours", "at least 1");
            return Err(Error::InvalidParameter { name, value: 0.0, expected });
        }
        Ok(())
    }
}

impl Affinity for FeatureAffinity {
    fn name(&self) -> &'static str {
        "features"
    }

    fn graph_masked(&self, features: &Image, mask: Option<&[bool]>) -> Result<Graph> {
        let width = self.bandwidth(features, mask)?.unwrap_or(1.0);
        let weight = match self.kernel {
            FeatureKernel::Cosine => Weight::Positive,
            FeatureKernel::Threshold { threshold } => Weight::Step { threshold },
            FeatureKernel::Exponential { .. } => Weight::Angle { rate: 1.0 / width },
            FeatureKernel::Rbf { .. } => Weight::Distance { rate: 1.0 / (width * width) },
        };
        match self.neighbors {
            FeatureNeighbors::Local(neighborhood) => {
                let offsets = neighborhood.offsets(features.height(), features.width())?;
                stencil::graph(features, mask, offsets, weight)
            }
            FeatureNeighbors::All => tokens::all_pairs(features, mask, weight),
            FeatureNeighbors::Nearest { count, mutual } => {
                tokens::nearest(features, mask, weight, count, mutual)
            }
        }
    }
}

impl FeatureKernel {
    /// Whether directions are compared, and not places.
    fn is_angular(self) -> bool {
        !matches!(self, Self::Rbf { .. })
    }

    fn validate(self) -> Result<()> {
        let (name, value) = match self {
            Self::Cosine => return Ok(()),
            Self::Threshold { threshold } if (-1.0..1.0).contains(&threshold) => return Ok(()),
            Self::Threshold { threshold } => {
                let (name, expected) = ("threshold", "a cosine from -1 to below 1");
                return Err(Error::InvalidParameter { name, value: threshold, expected });
            }
            Self::Exponential { bandwidth } | Self::Rbf { bandwidth } => match bandwidth {
                Bandwidth::Fixed(width) => ("bandwidth", width),
                Bandwidth::Median(scale) => ("the bandwidth in medians", scale),
            },
        };
        if value.is_finite() && value > 0.0 {
            return Ok(());
        }
        Err(Error::InvalidParameter { name, value, expected: "positive and finite" })
    }
}

/// A kernel with its numbers filled in; all but the last take a cosine.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Weight {
    Positive,
    Step {
        threshold: f64,
    },
    Angle {
        rate: f64,
    },
    /// Takes a squared distance.
    Distance {
        rate: f64,
    },
}

impl Weight {
    fn is_angular(self) -> bool {
        !matches!(self, Self::Distance { .. })
    }

    /// The weight at a cosine or a squared distance. Rates are clamped, so that a tiny bandwidth leaves 0 · ∞ out of
    /// it: equal vectors stay tied by 1.
    #[inline(always)]
    fn of(self, x: f64) -> f64 {
        match self {
            Self::Positive => x.clamp(0.0, 1.0),
            Self::Step { threshold } => {
                if x > threshold {
                    1.0
                } else {
                    FAINT
                }
            }
            Self::Angle { rate } => (-(rate.min(f64::MAX)) * (1.0 - x).max(0.0)).exp(),
            Self::Distance { rate } => (-(rate.min(f64::MAX)) * x.max(0.0)).exp(),
        }
    }
}

/// 1/‖x‖, or 0 for a vector of zeros.
fn inverse_norm(x: &[f32]) -> f64 {
    let squared: f64 = x.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
    if squared > 0.0 { 1.0 / squared.sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests;
