//! The density of feature pairs of one feature set, and what it says about two pixels.

use crate::error::{Error, Result};

use super::density::Density;

/// What a pair of features is brought into before its density is taken: half of the space is modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PmiOrdering {
    /// When the first channel of A is not above that of B, the two exchange their first channels, and only those. So
    /// does the code published with the affinity, on purpose or not.
    #[default]
    FirstChannel,
    /// In that case A and B exchange all their channels.
    WholeVector,
}

impl PmiOrdering {
    /// The pair as one point, in order.
    pub(super) fn point(self, a: [f64; 3], b: [f64; 3]) -> [f64; 6] {
        let (mut upper, mut lower) = (a, b);
        if a[0] <= b[0] {
            match self {
                Self::FirstChannel => (upper[0], lower[0]) = (b[0], a[0]),
                Self::WholeVector => (upper, lower) = (b, a),
            }
        }
        [upper[0], upper[1], upper[2], lower[0], lower[1], lower[2]]
    }
}

/// How the weight follows from the densities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Formula {
    pub(super) exponent: f64,
    pub(super) regularization: f64,
}

impl Default for Formula {
    fn default() -> Self {
        Self { exponent: 1.25, regularization: 100.0 }
    }
}

impl Formula {
    /// (r + p(A,B)/2)^ρ / (p(A) p(B) + r).
    #[inline(always)]
    pub(super) fn weight(self, joint: f64, marginal_a: f64, marginal_b: f64) -> f64 {
        let Self { exponent, regularization } = self;
        let joint = regularization + 0.5 * joint;
        // Two square roots take a tenth of the time of a power.
        let power = if exponent == 1.25 { joint * joint.sqrt().sqrt() } else { joint.powf(exponent) };
        power / (marginal_a * marginal_b + regularization)
    }

    pub(super) fn validate(self) -> Result<()> {
        for (name, value) in [("exponent", self.exponent), ("regularization", self.regularization)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::InvalidParameter { name, value, expected: "positive and finite" });
            }
        }
        Ok(())
    }
}

/// The density of pairs of features of nearby pixels, learnt from samples of such pairs.
///
/// With p(A, B) the density of pairs and p(A) that of single features,
///
/// PMI = log ((r + p(A, B)/2)^ρ / (p(A) p(B) + r)), ρ = 1.25, r = 100,
///
/// is large where two features are seen together more often than by chance. The densities are sums of Epanechnikov
/// kernels around the samples. p(A, B) is taken after ordering the pair ([`PmiOrdering`]), hence the half; p(A) is that of
/// the first and second ends of all samples.
///
/// ```
/// use ccbcut::affinity::pmi::{PmiModel, PmiOrdering};
/// let (dark, light) = ([0.1, 0.5, 0.5], [0.9, 0.5, 0.5]);
/// let samples = [(dark, dark), (light, light), (dark, dark)];
/// let model = PmiModel::new(&samples, [0.05; 3], PmiOrdering::default())?;
/// assert!(model.pmi(dark, dark) > model.pmi(dark, light));
/// # Ok::<(), ccbcut::Error>(())
/// ```
///
/// # References
/// P. Isola, D. Zoran, D. Krishnan and E. H. Adelson, Crisp boundary detection using pointwise mutual information,
/// ECCV 2014, doi:10.1007/978-3-319-10578-9_52.
#[derive(Debug, Clone)]
pub struct PmiModel {
    pub(super) points: Vec<[f64; 6]>,
    pub(super) bandwidth: [f64; 3],
    pub(super) ordering: PmiOrdering,
    pub(super) formula: Formula,
    joint: Density<6>,
    marginal: Density<3>,
}

impl PmiModel {
    /// The model of some pairs, with one bandwidth per channel. Without pairs all densities are 0.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a bandwidth outside 0.001 to 1, [`Error::NotFinite`] for a sample that is not
    /// finite.
    ///
    /// # Complexity
    /// O(n log n) for n pairs.
    pub fn new(samples: &[([f64; 3], [f64; 3])], bandwidth: [f64; 3], ordering: PmiOrdering) -> Result<Self> {
        bandwidth.into_iter().try_for_each(check_bandwidth)?;
        let points: Vec<[f64; 6]> = samples.iter().map(|&(a, b)| ordering.point(a, b)).collect();
        if let Some(index) = points.iter().flatten().position(|v| !v.is_finite()) {
            let value = points[index / 6][index % 6];
            return Err(Error::NotFinite { what: "the list of samples", index, value });
        }
        Ok(Self::from_points(points, bandwidth, ordering, Formula::default()))
    }

    /// The model of pairs that are finite and in order.
    pub(super) fn from_points(
        points: Vec<[f64; 6]>,
        bandwidth: [f64; 3],
        ordering: PmiOrdering,
        formula: Formula,
    ) -> Self {
        let joint = joint_density(&points, bandwidth);
        let ends: Vec<[f64; 3]> = points
            .iter()
            .map(|p| [p[0], p[1], p[2]])
            .chain(points.iter().map(|p| [p[3], p[4], p[5]]))
            .collect();
        let marginal = Density::new(&ends, bandwidth, [0, 1, 2]);
        Self { points, bandwidth, ordering, formula, joint, marginal }
    }

    /// The bandwidth of each channel.
    pub fn bandwidth(&self) -> [f64; 3] {
        self.bandwidth
    }

    /// p(A, B) of the pair in order.
    pub fn joint(&self, a: [f64; 3], b: [f64; 3]) -> f64 {
        self.joint.at(&self.ordering.point(a, b))
    }

    /// p(A).
    pub fn marginal(&self, a: [f64; 3]) -> f64 {
        self.marginal.at(&a)
    }

    /// log of [`PmiModel::weight`].
    pub fn pmi(&self, a: [f64; 3], b: [f64; 3]) -> f64 {
        self.weight(a, b).ln()
    }

    /// (r + p(A, B)/2)^ρ / (p(A) p(B) + r).
    pub fn weight(&self, a: [f64; 3], b: [f64; 3]) -> f64 {
        self.formula.weight(self.joint(a, b), self.marginal(a), self.marginal(b))
    }

    /// What a sum of kernels, each at most 1, is to be multiplied by to be p(A, B).
    pub(super) fn joint_unit(&self) -> f64 {
        self.joint.unit()
    }
}

/// p(A, B), with a grid over both first channels and one other.
pub(super) fn joint_density(points: &[[f64; 6]], h: [f64; 3]) -> Density<6> {
    Density::new(points, [h[0], h[1], h[2], h[0], h[1], h[2]], [0, 3, 1])
}

pub(super) fn check_bandwidth(value: f64) -> Result<()> {
    if (0.001..=1.0).contains(&value) {
        return Ok(());
    }
    Err(Error::InvalidParameter { name: "pmi-bandwidth", value, expected: "from 0.001 to 1" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_put_in_order() {
        let (a, b) = ([0.2, 0.3, 0.4], [0.5, 0.6, 0.7]);
        assert_eq!(PmiOrdering::FirstChannel.point(a, b), [0.5, 0.3, 0.4, 0.2, 0.6, 0.7]);
        assert_eq!(PmiOrdering::FirstChannel.point(b, a), [0.5, 0.6, 0.7, 0.2, 0.3, 0.4]);
        assert_eq!(PmiOrdering::WholeVector.point(a, b), [0.5, 0.6, 0.7, 0.2, 0.3, 0.4]);
        assert_eq!(PmiOrdering::WholeVector.point(b, a), [0.5, 0.6, 0.7, 0.2, 0.3, 0.4]);
    }

    #[test]
    fn one_sample_by_hand() {
        let model =
            PmiModel::new(&[([0.5; 3], [0.4, 0.5, 0.6])], [0.1; 3], PmiOrdering::FirstChannel).unwrap();
        let peak = 7.5_f64;
        let close = |got: f64, want: f64| assert!((got - want).abs() <= 1e-12 * want, "{got} {want}");
        close(model.joint([0.5; 3], [0.4, 0.5, 0.6]), peak.powi(6));
        close(model.joint([0.4, 0.5, 0.5], [0.5, 0.5, 0.6]), peak.powi(6));
        close(model.joint([0.5, 0.55, 0.5], [0.4, 0.5, 0.6]), 0.75 * peak.powi(6));
        // Both ends are a bandwidth apart in the first and the third channel.
        close(model.marginal([0.5; 3]), 0.5 * peak.powi(3));
        let product = (0.5 * peak.powi(3)).powi(2);
        let want = (100.0 + 0.5 * peak.powi(6)).powf(1.25) / (product + 100.0);
        close(model.weight([0.5; 3], [0.4, 0.5, 0.6]), want);
        close(model.pmi([0.5; 3], [0.4, 0.5, 0.6]), want.ln());
        close(Formula { exponent: 2.0, regularization: 10.0 }.weight(6.0, 1.0, 3.0), 13.0);
    }

    #[test]
    fn bad_models_are_refused_by_name() {
        for bandwidth in [0.0, 0.0009, 1.1, f64::NAN] {
            let error = PmiModel::new(&[], [0.1, bandwidth, 0.1], PmiOrdering::default()).unwrap_err();
            assert!(matches!(error, Error::InvalidParameter { name: "pmi-bandwidth", .. }));
        }
        let error = PmiModel::new(&[([0.1; 3], [0.1, f64::NAN, 0.1])], [0.1; 3], PmiOrdering::default());
        assert!(matches!(error, Err(Error::NotFinite { index: 4, .. })));
        let empty = PmiModel::new(&[], [0.1; 3], PmiOrdering::default()).unwrap();
        let want = 100.0_f64.powf(1.25) / 100.0;
        assert!((empty.weight([0.1; 3], [0.9; 3]) - want).abs() < 1e-12 * want);
    }
}
