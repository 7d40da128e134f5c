//! What is minimised: J_τ (11), J₂^Γ (12), and F, which Algorithm 1 really decreases.

use crate::graph::{Graph, distances::Distances};

use super::Embedding;

/// s ↦ s^(τ/2), without `powf` where square roots do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HalfPower {
    exponent: f64,
    /// The exponent in eighths, when it is a multiple of 1/8 up to 1.
    eighths: Option<u8>,
}

impl HalfPower {
    pub(crate) fn new(tau: f64) -> Self {
        let eighths = 4.0 * tau;
        let exact = eighths.fract() == 0.0 && (0.0..=8.0).contains(&eighths);
        Self { exponent: tau / 2.0, eighths: exact.then_some(eighths as u8) }
    }

    /// s^(τ/2)
    #[inline]
    pub(crate) fn of(self, s: f64) -> f64 {
        match self.eighths {
            Some(8) => s,
            Some(4) => s.sqrt(),
            Some(eighths) => {
                let half = s.sqrt();
                let quarter = half.sqrt();
                let mut product = 1.0;
                for (bit, factor) in [(4, half), (2, quarter), (1, quarter.sqrt())] {
                    if eighths & bit != 0 {
                        product *= factor;
                    }
                }
                product
            }
            None => s.powf(self.exponent),
        }
    }
}

/// J_τ(Y) = Σᵢⱼ w_ij ‖ŷᵢ − ŷⱼ‖_τ^τ over ordered pairs (11).
///
/// # Complexity
/// O(|E| k).
pub fn j_tau(graph: &Graph, embedding: &Embedding, tau: f64) -> f64 {
    j_tau_of(&embedding.distances(graph), embedding.n_components(), tau)
}

/// The same for known distances: they say it all for one column, or τ = 2.
pub(super) fn j_tau_of(distances: &Distances<'_>, n_components: usize, tau: f64) -> f64 {
    let power = HalfPower::new(tau);
    2.0 * match (n_components, tau) {
        (_, 2.0) => distances.sum(|w, squared| w * squared),
        (1, 1.0) => distances.sum(|w, squared| w * squared.sqrt()),
        (1, _) => distances.sum(|w, squared| w * power.of(squared)),
        (_, 1.0) => distances.sum_by_coordinate(f64::abs),
        _ => distances.sum_by_coordinate(|difference| power.of(difference * difference)),
    }
}

/// Σᵢⱼ (w_ij ‖ŷᵢ − ŷⱼ‖₂² + ε²)^(τ/2) over ordered pairs: what a sweep of Algorithm 1 as published can never raise.
pub fn f_published(graph: &Graph, embedding: &Embedding, tau: f64, epsilon: f64) -> f64 {
    f_of(&embedding.distances(graph), super::Variant::Published, tau, epsilon)
}

/// Σᵢⱼ w_ij (‖ŷᵢ − ŷⱼ‖₂² + ε²)^(τ/2) over ordered pairs: the same for the `weighted` variant.
pub fn f_weighted(graph: &Graph, embedding: &Embedding, tau: f64, epsilon: f64) -> f64 {
    f_of(&embedding.distances(graph), super::Variant::Weighted, tau, epsilon)
}

/// F for known distances.
pub(super) fn f_of(distances: &Distances<'_>, variant: super::Variant, tau: f64, epsilon: f64) -> f64 {
    let (power, epsilon2) = (HalfPower::new(tau), epsilon * epsilon);
    2.0 * match variant {
        super::Variant::Weighted => distances.sum(|w, squared| w * power.of(squared + epsilon2)),
        _ if tau == 1.0 => distances.sum(|w, squared| (w * squared + epsilon2).sqrt()),
        _ => distances.sum(|w, squared| power.of(w * squared + epsilon2)),
    }
}

/// F and J_τ.
pub(super) fn f_and_j_tau(
    distances: &Distances<'_>,
    variant: super::Variant,
    n_components: usize,
    tau: f64,
    epsilon: f64,
) -> (f64, f64) {
    (f_of(distances, variant, tau, epsilon), j_tau_of(distances, n_components, tau))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_walk_gives_what_two_give() {
        let graph = crate::graph::gallery::random(40, 0.3, 2);
        let rows: Vec<f64> = (0..80).map(|i| (f64::from(i) * 0.7).sin()).collect();
        let embedding = Embedding::new(40, 2, rows).unwrap();
        let distances = embedding.distances(&graph);
        for variant in [super::super::Variant::Published, super::super::Variant::Weighted] {
            for (tau, epsilon) in [(2.0, 0.0), (2.0, 0.5), (1.25, 0.0), (1.25, 0.5)] {
                let (f, j_tau) = f_and_j_tau(&distances, variant, 2, tau, epsilon);
                let apart = (f_of(&distances, variant, tau, epsilon), j_tau_of(&distances, 2, tau));
                assert!((f - apart.0).abs() <= 1e-14 * f, "{variant:?} {tau} {epsilon}: {f} {apart:?}");
                assert_eq!(j_tau, apart.1);
            }
        }
    }

    #[test]
    fn half_powers_are_powers() {
        for tau in [0.0, 0.25, 0.3, 0.5, 0.75, 1.0, 1.25, 1.5, 1.7, 1.75, 2.0] {
            for s in [0.0, 1e-20, 0.3, 1.0, 7.0, 1e15] {
                let (fast, plain) = (HalfPower::new(tau).of(s), s.powf(tau / 2.0));
                assert!((fast - plain).abs() <= 1e-14 * plain, "{tau} {s}: {fast} {plain}");
            }
        }
    }
}
