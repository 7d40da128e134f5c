//! Tool: what a partition costs.
//!
//! Everything starts from two numbers per part V_ℓ: the weight of the edges that leave it, Cut(V_ℓ, V∖V_ℓ), and
//! its size π(V_ℓ) = Σ_{j ∈ V_ℓ} π_j. [`PartSums`] computes them in one pass over the edges; the costs are short
//! formulas on top:
//!
//! | cost | formula | size π |
//! |---|---|---|
//! | [`cut`] (1), (6) | ½ Σ_ℓ Cut(V_ℓ, V∖V_ℓ) | none |
//! | [`ncut`], [`rcut`] | Σ_ℓ Cut(V_ℓ, V∖V_ℓ) / π(V_ℓ) | degrees, ones |
//! | [`normalized_cheeger`], [`ratio_cheeger`] | max_ℓ Cut(V_ℓ, V∖V_ℓ) / π(V_ℓ) | degrees, ones |
//! | [`buhler_hein_normalized`], [`buhler_hein_ratio`] (2), (3) | Cut(V₁, V₂) / Φ_p(π(V₁)/π(V)) | degrees, ones |
//! | [`ccn`], [`ccr`], [`ccb_cut`] (7) | ½ Σ_ℓ Cut(V_ℓ, V∖V_ℓ) / (2π(V_ℓ))^(τ/2) | degrees, ones, any |
//!
//! Two conventions hold throughout. **0/0 is 0**: a part that no edge leaves costs nothing, even one without
//! volume. **Self-loops** count in volumes and never in cuts.

mod balanced;
mod criterion;

pub use balanced::{
    balanced_cut, buhler_hein_balance, buhler_hein_normalized, buhler_hein_ratio, ccb_cut, ccn, ccr,
    conservative_balance,
};
pub use criterion::Criterion;

use std::borrow::Cow;

use crate::{
    error::{Error, Result},
    graph::{Balance, Graph},
    labels::Labels,
    parallel,
};

/// How many vertices one block of the pass over the edges takes.
const VERTEX_BLOCK: usize = 256;

/// The usual costs of one partition, side by side.
///
/// ```
/// use ccbcut::{cost::Costs, graph::gallery, Labels};
/// let toy = gallery::toy(0.5);
/// let balanced = Costs::of(&toy, &Labels::from_raw(&[0, 0, 0, 1, 1, 1, 1]), 2.0)?;
/// let singleton = Costs::of(&toy, &Labels::from_raw(&[0, 0, 0, 0, 0, 0, 1]), 2.0)?;
/// assert!(singleton.cut < balanced.cut && singleton.ncut > balanced.ncut);
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Costs {
    /// Multiway cut (6).
    pub cut: f64,
    /// Normalized cut, [`ncut`].
    pub ncut: f64,
    /// Ratio cut, also called average cut, [`rcut`].
    pub rcut: f64,
    /// Normalized Cheeger cut, [`normalized_cheeger`].
    pub ncheeger: f64,
    /// Ratio Cheeger cut, [`ratio_cheeger`].
    pub rcheeger: f64,
    /// Compassionately conservative normalized cut (7) at the τ asked for, [`ccn`].
    pub ccn: f64,
    /// Compassionately conservative ratio cut (7) at the τ asked for, [`ccr`].
    pub ccr: f64,
}

impl Costs {
    /// All costs of a partition; `tau` is that of CCN and CCR.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] when there is not one label per vertex, [`Error::TauOutOfRange`] for τ < 0 or NaN.
    ///
    /// # Complexity
    /// One pass over the edges: O(n + |E|) time, O(n) auxiliary space.
    pub fn of(graph: &Graph, labels: &Labels, tau: f64) -> Result<Self> {
        let ratio = PartSums::new(graph, labels, &vec![1.0; graph.n_vertices()])?;
        Self::from_sums(&ratio, &ratio.measured_by(labels, graph.degrees()), tau)
    }

    /// All costs, and each part's term of (7) under a balance, from one pass over the edges.
    ///
    /// # Errors
    /// As [`Costs::of`], and those of [`Balance::weights`].
    pub fn with_terms(
        graph: &Graph,
        labels: &Labels,
        balance: &Balance,
        tau: f64,
    ) -> Result<(Self, Vec<f64>)> {
        let ratio = PartSums::new(graph, labels, &vec![1.0; graph.n_vertices()])?;
        let normalized = ratio.measured_by(labels, graph.degrees());
        let terms = match balance {
            Balance::Normalized => normalized.ccb_terms(tau)?,
            Balance::Ratio => ratio.ccb_terms(tau)?,
            Balance::Custom(_) => ratio.measured_by(labels, &balance.weights(graph)?).ccb_terms(tau)?,
        };
        Ok((Self::from_sums(&ratio, &normalized, tau)?, terms))
    }

    fn from_sums(ratio: &PartSums, normalized: &PartSums, tau: f64) -> Result<Self> {
        Ok(Self {
            cut: ratio.cut(),
            ncut: normalized.ratio_sum(),
            rcut: ratio.ratio_sum(),
            ncheeger: normalized.cheeger(),
            rcheeger: ratio.cheeger(),
            ccn: normalized.ccb(tau)?,
            ccr: ratio.ccb(tau)?,
        })
    }
}

/// Cut(V_ℓ, V∖V_ℓ) and π(V_ℓ) of every part: what all costs are made of.
///
/// ```
/// use ccbcut::{cost::PartSums, graph::gallery, Labels};
/// let path = gallery::path(4);
/// let sums = PartSums::new(&path, &Labels::from_raw(&[0, 1, 1, 2]), path.degrees())?;
/// assert_eq!(sums.cuts(), &[1.0, 2.0, 1.0]);
/// assert_eq!(sums.sizes(), &[1.0, 4.0, 1.0]);
/// assert_eq!(sums.cut(), 2.0);
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PartSums {
    cuts: Vec<f64>,
    sizes: Vec<f64>,
}

impl PartSums {
    /// Sums the leaving edges and the vertex weights `pi` of every part; the same bytes for every thread count.
    ///
    /// `pi` must be positive, except that it may be 0 at a vertex of degree 0: the degrees themselves are a valid
    /// `pi`, and so are the weights of a [`Balance`].
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] when `labels` or `pi` does not hold one value per vertex,
    /// [`Error::InvalidBalance`] for a value of `pi` that is not positive and finite.
    ///
    /// # Complexity
    /// O(n + |E|) time, O(n) auxiliary space.
    pub fn new(graph: &Graph, labels: &Labels, pi: &[f64]) -> Result<Self> {
        let n = graph.n_vertices();
        labels.check_len(n)?;
        if pi.len() != n {
            return Err(Error::ShapeMismatch { what: "the balance weights", expected: n, got: pi.len() });
        }
        let fits = |vertex: usize| {
            let weight = pi[vertex];
            weight.is_finite() && (weight > 0.0 || (weight == 0.0 && graph.degrees()[vertex] == 0.0))
        };
        if let Some(vertex) = (0..n).find(|&vertex| !fits(vertex)) {
            return Err(Error::InvalidBalance { vertex, weight: pi[vertex] });
        }
        let leaving = leaving_weights(graph, labels.as_slice());
        Ok(Self { cuts: sum_by_part(labels, &leaving), sizes: sum_by_part(labels, pi) })
    }

    /// Cut(V_ℓ, V∖V_ℓ): the weight of the edges that leave each part.
    pub fn cuts(&self) -> &[f64] {
        &self.cuts
    }

    /// π(V_ℓ): the size of each part.
    pub fn sizes(&self) -> &[f64] {
        &self.sizes
    }

    /// The multiway cut (6), ½ Σ_ℓ Cut(V_ℓ, V∖V_ℓ): the weight of the edges between different parts.
    pub fn cut(&self) -> f64 {
        0.5 * self.cuts.iter().sum::<f64>()
    }

    /// Σ_ℓ Cut(V_ℓ, V∖V_ℓ) / π(V_ℓ): NCut or RCut, by what π is.
    pub fn ratio_sum(&self) -> f64 {
        self.ratios().sum()
    }

    /// max_ℓ Cut(V_ℓ, V∖V_ℓ) / π(V_ℓ): the Cheeger cut; for two parts Cut / min(π(V₁), π(V₂)).
    pub fn cheeger(&self) -> f64 {
        self.ratios().fold(0.0, f64::max)
    }

    /// CCB_τ (7), ½ Σ_ℓ Cut(V_ℓ, V∖V_ℓ) / (2π(V_ℓ))^(τ/2), for any τ ≥ 0.
    ///
    /// # Errors
    /// [`Error::TauOutOfRange`] for τ < 0 or NaN.
    pub fn ccb(&self, tau: f64) -> Result<f64> {
        Ok(self.ccb_terms(tau)?.iter().sum())
    }

    /// The terms of (7), one per part: ½ Cut(V_ℓ, V∖V_ℓ) / (2π(V_ℓ))^(τ/2).
    ///
    /// # Errors
    /// [`Error::TauOutOfRange`] for τ < 0 or NaN.
    pub fn ccb_terms(&self, tau: f64) -> Result<Vec<f64>> {
        balanced::check_tau(tau)?;
        let term = |(&cut, &size): (&f64, &f64)| 0.5 * balanced::discounted(cut, 2.0 * size, 0.5 * tau);
        Ok(self.cuts.iter().zip(&self.sizes).map(term).collect())
    }

    /// The same parts with another π, which the caller has checked.
    fn measured_by(&self, labels: &Labels, pi: &[f64]) -> Self {
        Self { cuts: self.cuts.clone(), sizes: sum_by_part(labels, pi) }
    }

    fn ratios(&self) -> impl Iterator<Item = f64> + '_ {
        self.cuts.iter().zip(&self.sizes).map(|(&cut, &size)| if cut == 0.0 { 0.0 } else { cut / size })
    }
}

/// The multiway cut (6): the weight of the edges between different parts. For two parts it is (1).
///
/// # Errors
/// [`Error::ShapeMismatch`] when there is not one label per vertex.
pub fn cut(graph: &Graph, labels: &Labels) -> Result<f64> {
    Ok(sums(graph, labels, &Balance::Ratio)?.cut())
}

/// Cut(V_a, V_b) (1): the weight of the edges between two parts of a partition.
///
/// # Errors
/// [`Error::ShapeMismatch`] when there is not one label per vertex, [`Error::IndexOutOfRange`] for a part that
/// does not exist.
///
/// # Complexity
/// O(n + |E|) time.
pub fn cut_between(graph: &Graph, labels: &Labels, first: u32, second: u32) -> Result<f64> {
    labels.check_len(graph.n_vertices())?;
    let (index, limit) = (first.max(second) as usize, labels.n_segments());
    if index >= limit {
        return Err(Error::IndexOutOfRange { what: "the number of a part", index, limit });
    }
    if first == second {
        return Ok(0.0);
    }
    let label = labels.as_slice();
    Ok(graph.sum_edges(|i, j, w| {
        let ends = (label[i], label[j]);
        if ends == (first, second) || ends == (second, first) { w } else { 0.0 }
    }))
}

/// Normalized cut, Σ_ℓ Cut(V_ℓ, V∖V_ℓ) / Vol(V_ℓ).
///
/// [`ccn`] at τ = 2 is a quarter of it.
///
/// # Errors
/// [`Error::ShapeMismatch`] when there is not one label per vertex.
///
/// # References
/// Shi and Malik, "Normalized cuts and image segmentation", IEEE TPAMI 22(8), 2000,
/// <https://doi.org/10.1109/34.868688>; for k parts: von Luxburg, "A tutorial on spectral clustering", Statistics
/// and Computing 17(4), 2007, <https://doi.org/10.1007/s11222-007-9033-z>.
pub fn ncut(graph: &Graph, labels: &Labels) -> Result<f64> {
    Ok(sums(graph, labels, &Balance::Normalized)?.ratio_sum())
}

/// Ratio cut, also called average cut, Σ_ℓ Cut(V_ℓ, V∖V_ℓ) / |V_ℓ|.
///
/// [`ccr`] at τ = 2 is a quarter of it.
///
/// # Errors
/// [`Error::ShapeMismatch`] when there is not one label per vertex.
///
/// # References
/// Hagen and Kahng, "New spectral methods for ratio cut partitioning and clustering", IEEE TCAD 11(9), 1992,
/// <https://doi.org/10.1109/43.159993>.
#[doc(alias = "average_cut")]
pub fn rcut(graph: &Graph, labels: &Labels) -> Result<f64> {
    Ok(sums(graph, labels, &Balance::Ratio)?.ratio_sum())
}

/// Normalized Cheeger cut, max_ℓ Cut(V_ℓ, V∖V_ℓ) / Vol(V_ℓ); for two parts Cut / min(Vol(V₁), Vol(V₂)).
///
/// # Errors
/// [`Error::ShapeMismatch`] when there is not one label per vertex.
pub fn normalized_cheeger(graph: &Graph, labels: &Labels) -> Result<f64> {
    Ok(sums(graph, labels, &Balance::Normalized)?.cheeger())
}

/// Ratio Cheeger cut, max_ℓ Cut(V_ℓ, V∖V_ℓ) / |V_ℓ|; for two parts Cut / min(|V₁|, |V₂|).
///
/// # Errors
/// [`Error::ShapeMismatch`] when there is not one label per vertex.
pub fn ratio_cheeger(graph: &Graph, labels: &Labels) -> Result<f64> {
    Ok(sums(graph, labels, &Balance::Ratio)?.cheeger())
}

/// The sums of a partition under one of the usual sizes.
///
/// Volumes are the plain degrees: the stand-in that [`Balance::weights`] gives to isolated vertices is for solvers,
/// which need π > 0, and would enlarge a part that an isolated vertex shares with others.
fn sums(graph: &Graph, labels: &Labels, balance: &Balance) -> Result<PartSums> {
    let pi = match balance {
        Balance::Normalized => Cow::Borrowed(graph.degrees()),
        other => Cow::Owned(other.weights(graph)?),
    };
    PartSums::new(graph, labels, &pi)
}

/// For each vertex the weight of its edges to other parts.
fn leaving_weights(graph: &Graph, label: &[u32]) -> Vec<f64> {
    if let Some(leaving) = graph.leaving_pixels(label) {
        return leaving;
    }
    let mut leaving = vec![0.0; label.len()];
    parallel::for_each_chunk(&mut leaving, VERTEX_BLOCK, |block, part| {
        for (k, total) in part.iter_mut().enumerate() {
            let i = block * VERTEX_BLOCK + k;
            graph.for_each_neighbor(i, |j, w| {
                if label[i] != label[j] {
                    *total += w;
                }
            });
        }
    });
    leaving
}

/// Sums of vertex values by part, in vertex order.
fn sum_by_part(labels: &Labels, values: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; labels.n_segments()];
    for (&label, &value) in labels.as_slice().iter().zip(values) {
        sums[label as usize] += value;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::gallery;

    #[test]
    fn isolated_vertices_cost_nothing_and_loops_count_in_volumes_only() {
        let graph = Graph::from_edges(4, &[(0, 1, 1.0), (1, 2, 2.0), (0, 0, 3.0)]).unwrap();
        let labels = Labels::from_raw(&[0, 1, 1, 2]);
        let sums = PartSums::new(&graph, &labels, graph.degrees()).unwrap();
        assert_eq!(sums.cuts(), &[1.0, 1.0, 0.0]);
        assert_eq!(sums.sizes(), &[4.0, 5.0, 0.0]);
        let costs = Costs::of(&graph, &labels, 1.0).unwrap();
        assert_eq!((costs.cut, costs.ncut, costs.ncheeger), (1.0, 0.25 + 0.2, 0.25));
        assert_eq!((costs.rcut, costs.rcheeger), (1.5, 1.0));
        assert!(costs.ccn.is_finite() && costs.ccr.is_finite());
    }

    #[test]
    fn no_vertices_and_one_part_cost_nothing() {
        let empty = Graph::from_edges(0, &[]).unwrap();
        assert_eq!(Costs::of(&empty, &Labels::from_raw(&[]), 1.0).unwrap().cut, 0.0);
        let whole = Costs::of(&gallery::path(5), &Labels::single(5), 0.5).unwrap();
        assert_eq!((whole.cut, whole.ncut, whole.ncheeger, whole.ccr), (0.0, 0.0, 0.0, 0.0));
    }

    #[test]
    fn cut_between_two_parts() {
        let path = gallery::path(4);
        let labels = Labels::from_raw(&[0, 1, 1, 2]);
        assert_eq!(cut_between(&path, &labels, 0, 1), Ok(1.0));
        assert_eq!(cut_between(&path, &labels, 2, 1), Ok(1.0));
        assert_eq!(cut_between(&path, &labels, 0, 2), Ok(0.0));
        assert_eq!(cut_between(&path, &labels, 1, 1), Ok(0.0));
        assert!(matches!(cut_between(&path, &labels, 0, 3), Err(Error::IndexOutOfRange { limit: 3, .. })));
    }

    #[test]
    fn inputs_must_fit() {
        let path = gallery::path(3);
        let short = Labels::single(2);
        assert!(matches!(cut(&path, &short), Err(Error::ShapeMismatch { expected: 3, got: 2, .. })));
        assert!(cut_between(&path, &short, 0, 0).is_err());
        let labels = Labels::single(3);
        let sums = |pi: &[f64]| PartSums::new(&path, &labels, pi);
        assert!(matches!(sums(&[1.0]), Err(Error::ShapeMismatch { .. })));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(sums(&[1.0, bad, 1.0]), Err(Error::InvalidBalance { vertex: 1, .. })), "{bad}");
        }
        for bad in [-0.1, f64::NAN] {
            assert!(matches!(Costs::of(&path, &labels, bad), Err(Error::TauOutOfRange { .. })), "{bad}");
        }
    }
}
