//! Balanced cuts: the balance functions Φ_p (3) and Ψ_τ (5), and the costs BCut (2), BHN_p, BHR_p and CCB_τ (7).
//!
//! Both functions are symmetric in v ↔ 1 − v and are evaluated from the smaller share m = min(v, 1 − v) and the
//! ratio r = m/(1 − m) ≤ 1, in forms where nothing overflows:
//!
//! Φ_p(v) = 2m · exp(−q · ln(1 + (r^(1/q) − 1)/2)) with q = p − 1, and Ψ_τ(v) = (2m)^h · 2/(1 + r^h) with h = τ/2.

use crate::{
    error::{Error, Result},
    graph::{Balance, Graph},
    labels::Labels,
};

use super::{PartSums, sums};

/// The Bühler–Hein balance Φ_p (3) of a part that holds the share `v` of the whole, for p > 1, `p = ∞` included.
///
/// Φ_p is 1 at v = ½ and falls to 0 at both ends. It tends to 2·min(v, 1 − v) for p → 1⁺ (Cheeger cuts), is
/// 4v(1 − v) at p = 2 (NCut, RCut), and tends to √(4v(1 − v)) (4) for p → ∞.
///
/// # Errors
/// [`Error::InvalidParameter`] for p ≤ 1 or v outside [0, 1].
///
/// # Examples
/// ```
/// use ccbcut::cost::buhler_hein_balance;
/// assert!((buhler_hein_balance(2.0, 0.25)? - 0.75).abs() < 1e-15);
/// assert!((buhler_hein_balance(1.0 + 1e-9, 0.25)? - 0.5).abs() < 1e-8);
/// assert!(buhler_hein_balance(1.0, 0.25).unwrap_err().is_input());
/// # Ok::<(), ccbcut::Error>(())
/// ```
///
/// # References
/// Bühler and Hein, "Spectral clustering based on the graph p-Laplacian", ICML 2009, Theorem 4.1,
/// <https://doi.org/10.1145/1553374.1553385>; rescaled so that the largest value is 1.
#[doc(alias = "Phi")]
#[doc(alias = "Phi_p")]
pub fn buhler_hein_balance(p: f64, v: f64) -> Result<f64> {
    // Written so that NaN fails too.
    if p > 1.0 {
        return Ok(phi(p - 1.0, smaller_share(v)?));
    }
    Err(Error::InvalidParameter { name: "p", value: p, expected: "above 1" })
}

/// The conservative balance Ψ_τ (5) of a part that holds the share `v` of the whole, for τ ≥ 0.
///
/// Ψ_0 = 1 (no balance at all), Ψ_2 = Φ_2 (NCut, RCut), and τ = ∞ gives the indicator of v = ½, which is what
/// the paper's δ(v − ½) has to mean.
///
/// # Errors
/// [`Error::TauOutOfRange`] for τ < 0 or NaN, [`Error::InvalidParameter`] for v outside [0, 1].
///
/// # Examples
/// ```
/// use ccbcut::cost::conservative_balance;
/// assert_eq!(conservative_balance(0.0, 0.01)?, 1.0);
/// assert!((conservative_balance(2.0, 0.25)? - 0.75).abs() < 1e-15);
/// assert_eq!(conservative_balance(f64::INFINITY, 0.49)?, 0.0);
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[doc(alias = "Psi")]
#[doc(alias = "Psi_tau")]
pub fn conservative_balance(tau: f64, v: f64) -> Result<f64> {
    check_tau(tau)?;
    Ok(psi(0.5 * tau, smaller_share(v)?))
}

/// BCut (2): a two-way cut over its balance Θ; a cut of 0 costs 0 whatever the balance.
///
/// ```
/// use ccbcut::cost::{balanced_cut, conservative_balance};
/// assert_eq!(balanced_cut(3.0, conservative_balance(2.0, 0.5)?), 3.0);
/// assert_eq!(balanced_cut(0.0, 0.0), 0.0);
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[doc(alias = "bcut")]
pub fn balanced_cut(cut: f64, balance: f64) -> f64 {
    if cut == 0.0 { 0.0 } else { cut / balance }
}

/// BHN_p: BCut (2) with Θ = Φ_p(Vol(V₁)/Vol(V)), for two parts.
///
/// At p = 2 it is Vol(V)/4 times [`ncut`](super::ncut), and for p → 1⁺ it tends to Vol(V)/2 times
/// [`normalized_cheeger`](super::normalized_cheeger).
///
/// # Errors
/// [`Error::InvalidParameter`] for p ≤ 1 or a number of parts other than 2, [`Error::ShapeMismatch`] when there is
/// not one label per vertex.
#[doc(alias = "bhn")]
pub fn buhler_hein_normalized(graph: &Graph, labels: &Labels, p: f64) -> Result<f64> {
    buhler_hein(&sums(graph, labels, &Balance::Normalized)?, p)
}

/// BHR_p: BCut (2) with Θ = Φ_p(|V₁|/|V|), for two parts.
///
/// At p = 2 it is |V|/4 times [`rcut`](super::rcut), and for p → 1⁺ it tends to |V|/2 times
/// [`ratio_cheeger`](super::ratio_cheeger).
///
/// # Errors
/// As [`buhler_hein_normalized`].
#[doc(alias = "bhr")]
pub fn buhler_hein_ratio(graph: &Graph, labels: &Labels, p: f64) -> Result<f64> {
    buhler_hein(&sums(graph, labels, &Balance::Ratio)?, p)
}

/// CCB_τ (7) for any τ ≥ 0 and any vertex weights: ½ Σ_ℓ Cut(V_ℓ, V∖V_ℓ) / (2π(V_ℓ))^(τ/2).
///
/// At τ = 0 it is the multiway [`cut`](super::cut), whatever π is. For two parts it equals BCut (2) with
/// Θ = Ψ_τ(π(V₁)/π(V)) divided by π(V)^(τ/2); the paper's "reduces to" leaves that factor out.
///
/// # Errors
/// [`Error::TauOutOfRange`] for τ < 0 or NaN, [`Error::ShapeMismatch`] and [`Error::InvalidBalance`] for labels or
/// weights that do not fit.
///
/// # Complexity
/// O(n + |E|) time.
pub fn ccb_cut(graph: &Graph, labels: &Labels, balance: &Balance, tau: f64) -> Result<f64> {
    check_tau(tau)?;
    sums(graph, labels, balance)?.ccb(tau)
}

/// CCN_τ: (7) with sizes measured by volume.
///
/// # Errors
/// As [`ccb_cut`].
pub fn ccn(graph: &Graph, labels: &Labels, tau: f64) -> Result<f64> {
    ccb_cut(graph, labels, &Balance::Normalized, tau)
}

/// CCR_τ: (7) with sizes measured by the number of vertices.
///
/// # Errors
/// As [`ccb_cut`].
pub fn ccr(graph: &Graph, labels: &Labels, tau: f64) -> Result<f64> {
    ccb_cut(graph, labels, &Balance::Ratio, tau)
}

/// Whether the costs are defined for τ.
pub(super) fn check_tau(tau: f64) -> Result<()> {
    if tau >= 0.0 {
        return Ok(());
    }
    Err(Error::TauOutOfRange { tau, expected: "costs are defined for 0 and above" })
}

/// cut / base^h, without overflow of the power alone; a cut of 0 gives 0.
pub(super) fn discounted(cut: f64, base: f64, h: f64) -> f64 {
    if cut == 0.0 {
        return 0.0;
    }
    let power = base.powf(h);
    if power.is_normal() || h.is_infinite() { cut / power } else { (cut.ln() - h * base.ln()).exp() }
}

fn buhler_hein(sums: &PartSums, p: f64) -> Result<f64> {
    let &[first, second] = sums.sizes() else {
        let value = sums.sizes().len() as f64;
        return Err(Error::InvalidParameter {
            name: "the number of parts",
            value,
            expected: "2 for this cost",
        });
    };
    // The smaller share keeps its digits where 1 − v would not. Two parts without volume have no share, and no cut.
    let whole = first + second;
    let share = if whole > 0.0 { first.min(second) / whole } else { 0.5 };
    Ok(balanced_cut(sums.cut(), buhler_hein_balance(p, share)?))
}

fn smaller_share(v: f64) -> Result<f64> {
    if (0.0..=1.0).contains(&v) {
        return Ok(v.min(1.0 - v));
    }
    Err(Error::InvalidParameter { name: "the share of a part", value: v, expected: "between 0 and 1" })
}

/// Φ_p for q = p − 1 > 0 and a share m ≤ ½.
fn phi(q: f64, m: f64) -> f64 {
    if m == 0.0 {
        return 0.0;
    }
    if q.is_infinite() {
        return (4.0 * m * (1.0 - m)).sqrt();
    }
    2.0 * m * (-q * (0.5 * (ln_odds(m) / q).exp_m1()).ln_1p()).exp()
}

/// Ψ_τ for h = τ/2 and a share m ≤ ½.
fn psi(h: f64, m: f64) -> f64 {
    if h == 0.0 || m == 0.5 {
        return 1.0;
    }
    if m == 0.0 || h.is_infinite() {
        return 0.0;
    }
    let ln_twice = if m > 0.25 { (2.0 * m - 1.0).ln_1p() } else { (2.0 * m).ln() };
    (h * ln_twice).exp() * 2.0 / (1.0 + (h * ln_odds(m)).exp())
}

/// ln(m/(1 − m)) for a share 0 < m ≤ ½, exact in the limit at both ends.
fn ln_odds(m: f64) -> f64 {
    if m > 0.25 { ((2.0 * m - 1.0) / (1.0 - m)).ln_1p() } else { m.ln() - (-m).ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::gallery;

    /// (3) and (5) as printed.
    fn phi_as_printed(p: f64, v: f64) -> f64 {
        let a = 1.0 / (p - 1.0);
        2_f64.powf(p) / ((1.0 / v).powf(a) + (1.0 / (1.0 - v)).powf(a)).powf(p - 1.0)
    }

    fn psi_as_printed(tau: f64, v: f64) -> f64 {
        2_f64.powf(1.0 + tau / 2.0) / ((1.0 / v).powf(tau / 2.0) + (1.0 / (1.0 - v)).powf(tau / 2.0))
    }

    #[test]
    fn the_safe_forms_equal_the_printed_ones() {
        for v in [1e-6, 0.01, 0.2, 0.25, 0.3, 0.4999, 0.5, 0.7, 0.999] {
            for x in [0.1, 0.5, 1.0, 1.7, 2.0, 5.0, 20.0] {
                let (a, b) = (conservative_balance(x, v).unwrap(), psi_as_printed(x, v));
                assert!((a / b - 1.0).abs() < 1e-13, "psi {x} {v}: {a} {b}");
                let (a, b) = (buhler_hein_balance(1.0 + x, v).unwrap(), phi_as_printed(1.0 + x, v));
                assert!((a / b - 1.0).abs() < 1e-12, "phi {x} {v}: {a} {b}");
            }
        }
    }

    #[test]
    fn balances_stay_in_range_at_the_extremes() {
        let shares = [0.0, f64::MIN_POSITIVE, 1e-200, 1e-16, 0.5 - 1e-16, 0.5, 1.0 - 1e-16, 1.0];
        let knobs = [1e-300, 1e-12, 0.5, 2.0, 1e3, 1e12, 1e300, f64::MAX, f64::INFINITY];
        for v in shares {
            for x in knobs {
                for value in [conservative_balance(x, v).unwrap(), phi(x, v.min(1.0 - v))] {
                    assert!((0.0..=1.0 + 1e-15).contains(&value), "{x} {v}: {value}");
                }
            }
        }
    }

    #[test]
    fn limits_in_p() {
        for v in [0.0, 0.1, 0.3, 0.5, 0.9, 1.0] {
            let m = f64::min(v, 1.0 - v);
            assert!((buhler_hein_balance(1.0 + 1e-12, v).unwrap() - 2.0 * m).abs() < 1e-11);
            let infinite = buhler_hein_balance(f64::INFINITY, v).unwrap();
            assert!((infinite - (4.0 * v * (1.0 - v)).sqrt()).abs() < 1e-15);
            assert!((buhler_hein_balance(1e9, v).unwrap() - infinite).abs() < 1e-8);
        }
    }

    #[test]
    fn powers_do_not_overflow_alone() {
        assert_eq!(discounted(0.0, 0.0, 1.0), 0.0);
        let huge = discounted(1e-300, 1e-200, 2.0);
        assert!((huge / 1e100 - 1.0).abs() < 1e-10, "{huge}");
        let tiny = discounted(1e200, 1e200, 2.0);
        assert!((tiny / 1e-200 - 1.0).abs() < 1e-10, "{tiny}");
        assert_eq!(discounted(3.0, 2.0, f64::INFINITY), 0.0);
        assert_eq!(discounted(3.0, 0.5, f64::INFINITY), f64::INFINITY);
        assert_eq!(discounted(3.0, 7.0, 0.0), 3.0);
    }

    #[test]
    fn invalid_parameters_are_named() {
        for p in [1.0, 0.0, -3.0, f64::NAN] {
            assert!(matches!(buhler_hein_balance(p, 0.5), Err(Error::InvalidParameter { name: "p", .. })));
        }
        for v in [-0.1, 1.1, f64::NAN] {
            assert!(matches!(buhler_hein_balance(2.0, v), Err(Error::InvalidParameter { .. })));
            assert!(matches!(conservative_balance(2.0, v), Err(Error::InvalidParameter { .. })));
        }
        for tau in [-1e-9, f64::NAN] {
            assert!(matches!(conservative_balance(tau, 0.5), Err(Error::TauOutOfRange { .. })));
            let path = gallery::path(2);
            assert!(matches!(ccn(&path, &Labels::single(2), tau), Err(Error::TauOutOfRange { .. })));
        }
    }

    #[test]
    fn buhler_hein_costs_want_two_parts() {
        let path = gallery::path(3);
        let cost = |raw: &[u32], p| buhler_hein_ratio(&path, &Labels::from_raw(raw), p);
        assert!(matches!(cost(&[0, 1, 2], 2.0), Err(Error::InvalidParameter { value: 3.0, .. })));
        assert!(matches!(cost(&[0, 0, 0], 2.0), Err(Error::InvalidParameter { value: 1.0, .. })));
        assert!(cost(&[0, 1, 1], 1.0).is_err());
        let edgeless = Graph::from_edges(2, &[]).unwrap();
        assert_eq!(buhler_hein_normalized(&edgeless, &Labels::from_raw(&[0, 1]), 3.0), Ok(0.0));
    }
}
