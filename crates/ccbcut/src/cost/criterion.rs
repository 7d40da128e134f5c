//! What makes one number of the cuts and sizes of the parts.

use super::{PartSums, balanced};
use crate::error::{Error, Result};

/// A cost that is made of one term per part, each of them from Cut(V_ℓ, V∖V_ℓ) and π(V_ℓ).
///
/// ```
/// use ccbcut::cost::Criterion;
/// // Two parts of sizes 2 and 6 with a cut of 3.
/// assert_eq!(Criterion::Ratio.total([Criterion::Ratio.term(3.0, 2.0), Criterion::Ratio.term(3.0, 6.0)]), 2.0);
/// assert_eq!(Criterion::Cheeger.total([1.5, 0.5]), 1.5);
/// // For two parts the cost is the cut over a balance.
/// assert_eq!(3.0 / Criterion::Cheeger.balance(2.0, 6.0), 1.5);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Criterion {
    /// CCB_τ (7): Σ ½ Cut / (2π)^(τ/2).
    Ccb {
        /// How much balance counts.
        tau: f64,
    },
    /// Σ Cut/π: NCut or RCut, by what π is.
    Ratio,
    /// max Cut/π: the normalized or the ratio Cheeger cut, by what π is.
    Cheeger,
}

impl Criterion {
    /// The term of one part.
    #[inline]
    pub fn term(self, cut: f64, size: f64) -> f64 {
        match self {
            Self::Ccb { tau } if cut > 0.0 => 0.5 * balanced::discounted(cut, 2.0 * size, 0.5 * tau),
            Self::Ratio | Self::Cheeger if cut > 0.0 => cut / size,
            _ => 0.0,
        }
    }

    /// The terms of all parts together: their sum, or the largest.
    pub fn total(self, terms: impl IntoIterator<Item = f64>) -> f64 {
        let terms = terms.into_iter();
        if self.is_largest() { terms.fold(0.0, f64::max) } else { terms.sum() }
    }

    /// The cost of a partition.
    pub fn of(self, sums: &PartSums) -> f64 {
        self.total(sums.cuts().iter().zip(sums.sizes()).map(|(&cut, &size)| self.term(cut, size)))
    }

    /// What the cut of two parts is divided by, from the sizes of both: a concave function g of either size, zero for
    /// an empty part, as long as τ ≤ 2.
    pub fn balance(self, first: f64, second: f64) -> f64 {
        let (least, most) = (first.min(second), first.max(second));
        if least <= 0.0 {
            return 0.0;
        }
        match self {
            Self::Ccb { tau } => {
                let (a, b) = ((2.0 * least).powf(0.5 * tau), (2.0 * most).powf(0.5 * tau));
                2.0 * a / (1.0 + a / b)
            }
            Self::Ratio => least / (1.0 + least / most),
            Self::Cheeger => least,
        }
    }

    /// Whether the largest term counts rather than the sum.
    pub(crate) fn is_largest(self) -> bool {
        self == Self::Cheeger
    }

    /// Checks τ.
    ///
    /// # Errors
    /// [`Error::TauOutOfRange`] unless τ is positive and finite.
    pub(crate) fn validate(self) -> Result<()> {
        match self {
            Self::Ccb { tau } if !(tau.is_finite() && tau > 0.0) => {
                Err(Error::TauOutOfRange { tau, expected: "the cost is defined for finite tau above 0" })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cost::Costs,
        graph::{Graph, gallery},
        labels::Labels,
        random::Random,
    };

    const ALL: [Criterion; 5] = [
        Criterion::Ccb { tau: 0.5 },
        Criterion::Ccb { tau: 1.0 },
        Criterion::Ccb { tau: 2.0 },
        Criterion::Ratio,
        Criterion::Cheeger,
    ];

    fn sums(graph: &Graph, raw: &[u32]) -> PartSums {
        PartSums::new(graph, &Labels::from_raw(raw), graph.degrees()).unwrap()
    }

    #[test]
    fn criteria_are_the_costs_they_are_named_after() {
        let graph = gallery::planted(&[5, 6, 7], 0.8, 0.3, 3);
        let raw: Vec<u32> = (0..18).map(|i| i % 3).collect();
        let costs = Costs::of(&graph, &Labels::from_raw(&raw), 1.0).unwrap();
        let of = |criterion: Criterion| criterion.of(&sums(&graph, &raw));
        for (got, want) in [
            (of(Criterion::Ccb { tau: 1.0 }), costs.ccn),
            (of(Criterion::Ratio), costs.ncut),
            (of(Criterion::Cheeger), costs.ncheeger),
        ] {
            assert!((got - want).abs() <= 1e-14 * want);
        }
    }

    #[test]
    fn a_two_way_cost_is_the_cut_over_the_balance() {
        let mut random = Random::new(1);
        for seed in 0..20 {
            let graph = gallery::wide(12, 0.3, 3.0, seed);
            let raw: Vec<u32> = (0..12).map(|i| if i < 2 { i } else { random.below(2) as u32 }).collect();
            let sums = sums(&graph, &raw);
            for criterion in ALL {
                let (direct, size) = (criterion.of(&sums), sums.sizes());
                let quotient = sums.cut() / criterion.balance(size[0], size[1]);
                assert!((direct - quotient).abs() <= 1e-12 * direct, "{criterion:?}");
            }
        }
    }

    #[test]
    fn balances_are_concave_and_vanish_at_the_ends() {
        let whole = 7.0;
        for criterion in ALL {
            let g = |x: f64| criterion.balance(x, whole - x);
            assert_eq!((g(0.0), g(whole)), (0.0, 0.0));
            for i in 1..100 {
                let (x, step) = (whole * f64::from(i) / 100.0, 0.5 * whole / 100.0);
                assert!(g(x) >= 0.5 * (g(x - step) + g(x + step)) - 1e-14, "{criterion:?} at {x}");
            }
        }
        assert!(Criterion::Ccb { tau: 0.0 }.validate().is_err());
        assert!(Criterion::Ccb { tau: f64::NAN }.validate().is_err());
    }
}
