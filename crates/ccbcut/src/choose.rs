//! How many parts: three opinions, a decision, and how sure it is.
//!
//! Each opinion scores k = 1, 2, … parts and may say *one*:
//!
//! - the **eigengap** looks at λ₂ ≤ λ₃ ≤ … of the normalized Laplacian. Where the spectrum reaches the values that a
//!   random graph of the same degrees would have, the largest gap λ_{k+1} − λ_k decides, λ₁ = 0 included. Where it does
//!   not, as in images, the graph is a continuum of some shape, and the longest of shapes without parts, a path, has
//!   λ_{k+1}/λ_k = (k/(k − 1))²: a gap counts by what it exceeds that;
//! - the **elbow** looks at what the k-th split adds to the cost (7) along the tree: before k parts little, after them
//!   much;
//! - **stability** asks whether the same k parts come out again when every weight is changed at random by up to a half
//!   and τ by a fifth, by the adjusted Rand index.
//!
//! # References
//! von Luxburg, *A tutorial on spectral clustering*, Statistics and Computing 17, 2007 (eigengap);
//! von Luxburg, *Clustering stability: an overview*, Foundations and Trends in Machine Learning 2, 2010.

use crate::{
    cluster::{Method, Partitioner},
    control::{Control, Progress},
    embedding::Irrq,
    error::{Error, Result},
    graph::{Balance, Graph},
    metrics::adjusted_rand_index,
    partition::Tree,
};

/// Scores are cut off here, so that a quotient by zero is still a number.
const MOST: f64 = 1e6;
/// What a gap must exceed that of a path by, to be one.
const GAP: f64 = 1.25;
/// How many times more than the last a split must cost, to make an elbow. Halving a path again and again comes to 2.5.
const ELBOW: f64 = 3.0;
/// The agreement that counts as the same parts.
const STABLE: f64 = 0.85;
/// τ of the repeated cuts, as a factor.
const TAU_FACTORS: [f64; 4] = [1.0, 0.8, 1.25, 1.0];

/// A number of parts, and why.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Choice {
    /// The number of parts: that of two opinions at least, or else the middle one.
    pub k: usize,
    /// 0 to 1: the margins of the opinions that agree, over three.
    pub confidence: f64,
    /// The largest number that was looked at.
    pub k_max: usize,
    /// By the spectrum.
    pub eigengap: Opinion,
    /// By the cost along the tree.
    pub elbow: Opinion,
    /// By repetition.
    pub stability: Opinion,
    /// λ₁ = 0, λ₂, … of the normalized Laplacian.
    pub eigenvalues: Vec<f64>,
    /// The cost (7) of 1, 2, … parts.
    pub costs: Vec<f64>,
}

/// One way to look at it.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Opinion {
    /// The number of parts it is for.
    pub k: usize,
    /// How far that is ahead of the next best, 0 to 1.
    pub margin: f64,
    /// The scores of 1, 2, …, `k_max` parts; at 1 what others must exceed.
    pub scores: Vec<f64>,
}

impl Partitioner {
    /// Chooses the number of parts, at most `k_max`; the number that the partitioner was made with is not looked at.
    ///
    /// ```
    /// use ccbcut::{Control, Partitioner, graph::gallery};
    /// let graph = gallery::planted(&[30, 25, 20], 0.7, 0.02, 1);
    /// let choice = Partitioner::new(1, 2.0).choose(&graph, 6, &mut Control::new())?;
    /// assert_eq!(choice.k, 3);
    /// # Ok::<(), ccbcut::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for `k_max` = 0 or a graph without vertices, [`Error::Interrupted`] when the control
    /// stopped the run, and those of [`Partitioner::partition`].
    ///
    /// # Complexity
    /// Five hierarchical cuts into `k_max` + 1 parts, and one eigenproblem.
    pub fn choose(&self, graph: &Graph, k_max: usize, control: &mut Control<'_>) -> Result<Choice> {
        let n = graph.n_vertices();
        if k_max == 0 || n == 0 {
            let (name, expected) = ("the largest number of parts", "at least 1, on a graph with vertices");
            return Err(Error::InvalidParameter { name, value: k_max as f64, expected });
        }
        // One more split than parts are asked about shows what the last one is worth.
        let k_max = k_max.min(n.saturating_sub(2));
        if k_max < 2 {
            return Ok(Choice::single());
        }
        control.tell(Progress::Stage("spectrum"));
        let fit = Irrq::new(2.0).n_components(k_max).fit(graph)?;
        let mut eigenvalues = vec![0.0];
        eigenvalues.extend(fit.trace.iterations.last().map(|i| i.eigenvalues.clone()).unwrap_or_default());
        let grown = self.grown(graph, self.tau, k_max + 1, control)?;
        let mut agreement = vec![0.0; k_max];
        let balance = Balance::Custom(self.balance.weights(graph)?);
        for (round, factor) in TAU_FACTORS.into_iter().enumerate() {
            let noisy = shaken(graph, self.seed_value() ^ (round as u64 + 1));
            let again = self.clone().balance(balance.clone());
            let other = again.grown(&noisy, (factor * self.tau).min(2.0), k_max, control)?;
            for k in 2..=k_max {
                let index = adjusted_rand_index(&grown.cut(k)?, &other.cut(k)?)?;
                agreement[k - 1] += index / TAU_FACTORS.len() as f64;
            }
        }
        let eigengap = by_eigengap(graph, &eigenvalues, k_max);
        let elbow = by_elbow(grown.costs(), k_max);
        let stability = by_stability(agreement);
        let (k, confidence) = decide([&eigengap, &elbow, &stability]);
        let costs = grown.costs().to_vec();
        Ok(Choice { k, confidence, k_max, eigengap, elbow, stability, eigenvalues, costs })
    }

    /// A hierarchical cut, as the splits make it: what counts here is where the parts end.
    fn grown(&self, graph: &Graph, tau: f64, k: usize, control: &mut Control<'_>) -> Result<Tree> {
        let cut = self.clone().method(Method::Hierarchical).tau(tau).n_segments(k).rejoin(0);
        let cut = cut.partition_with(graph, control)?;
        cut.tree.filter(|_| cut.is_complete).ok_or(Error::Interrupted)
    }
}

impl Choice {
    /// For a graph that is too small to have parts.
    fn single() -> Self {
        let sure = Opinion { k: 1, margin: 1.0, scores: vec![1.0] };
        Self {
            k: 1,
            confidence: 1.0,
            k_max: 1,
            eigengap: sure.clone(),
            elbow: sure.clone(),
            stability: sure,
            eigenvalues: vec![0.0],
            costs: vec![0.0],
        }
    }
}

/// The graph with every weight changed by a factor from ½ to 3/2, the same for the same seed.
fn shaken(graph: &Graph, seed: u64) -> Graph {
    graph.map_weights(|i, j, w| {
        // SplitMix64 of the edge's ends: no order of edges enters.
        let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ ((i as u64) << 32 | j as u64);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let uniform = ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
        // A weight at the edge of what a number can hold stays as it is.
        let changed = w * (0.5 + uniform);
        if changed > 0.0 { changed } else { w }
    })
}

fn by_eigengap(graph: &Graph, eigenvalues: &[f64], k_max: usize) -> Opinion {
    let last = eigenvalues.last().copied().unwrap_or(0.0);
    if last >= 0.5 * random_edge(graph) {
        let scores: Vec<f64> = (1..=k_max).map(|k| eigenvalues[k] - eigenvalues[k - 1]).collect();
        return Opinion::highest(scores);
    }
    let mut scores = vec![GAP];
    scores.extend((2..=k_max).map(|k| {
        let path = (k as f64 / (k - 1) as f64).powi(2);
        ratio(eigenvalues[k], eigenvalues[k - 1]) / path
    }));
    Opinion::highest(scores)
}

/// Where the bulk of the spectrum of a random graph begins: 1 − 2/√d, d the mean effective number of neighbours.
fn random_edge(graph: &Graph) -> f64 {
    let mut total = 0.0;
    for vertex in 0..graph.n_vertices() {
        let (mut sum, mut squares) = (0.0, 0.0);
        graph.for_each_neighbor(vertex, |_, w| {
            sum += w;
            squares += w * w;
        });
        total += if squares > 0.0 { sum * sum / squares } else { 0.0 };
    }
    let neighbors = (total / graph.n_vertices() as f64).max(1.0);
    (1.0 - 2.0 / neighbors.sqrt()).max(0.1)
}

fn by_elbow(costs: &[f64], k_max: usize) -> Opinion {
    let added = |k: usize| (costs[k - 1] - costs[k - 2]).max(0.0);
    let mut scores = vec![ELBOW];
    scores.extend((2..=k_max).map(|k| ratio(added(k + 1), added(k))));
    Opinion::highest(scores)
}

/// The most parts that come out again.
fn by_stability(mut scores: Vec<f64>) -> Opinion {
    scores[0] = STABLE;
    let k = (2..=scores.len()).rev().find(|&k| scores[k - 1] >= STABLE).unwrap_or(1);
    let next = scores.get(k).copied().unwrap_or(0.0);
    let own = if k == 1 { 1.0 } else { scores[k - 1] };
    Opinion { k, margin: (own - next).clamp(0.0, 1.0), scores }
}

/// A quotient that is at most [`MOST`]; of two zeros, 1.
fn ratio(a: f64, b: f64) -> f64 {
    // Eigenvalues and costs of parts without ties are zero up to rounding.
    let tiny = 1e-13;
    if a <= tiny { 1.0 } else { (a / b.max(tiny)).min(MOST) }
}

impl Opinion {
    /// For the highest score, the fewest parts on ties.
    fn highest(scores: Vec<f64>) -> Self {
        let mut best = 0;
        for (k, &score) in scores.iter().enumerate() {
            if score > scores[best] {
                best = k;
            }
        }
        let others = scores.iter().enumerate().filter(|&(k, _)| k != best).map(|(_, &score)| score);
        let second = others.fold(0.0, f64::max);
        let margin = if scores[best] > 0.0 { 1.0 - second / scores[best] } else { 0.0 };
        Self { k: best + 1, margin: margin.clamp(0.0, 1.0), scores }
    }
}

fn decide(opinions: [&Opinion; 3]) -> (usize, f64) {
    let mut all = opinions.map(|opinion| opinion.k);
    all.sort_unstable();
    // The middle one of three is the one that two agree on, where two agree.
    let k = all[1];
    let agreeing = opinions.iter().filter(|opinion| opinion.k == k);
    (k, agreeing.map(|opinion| opinion.margin).sum::<f64>() / 3.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::gallery;

    fn choose(graph: &Graph, tau: f64, k_max: usize) -> Choice {
        Partitioner::new(1, tau).choose(graph, k_max, &mut Control::new()).unwrap()
    }

    #[test]
    fn planted_blocks_are_counted() {
        for (sizes, inside, expected) in [
            (&[90][..], 0.3, 1),
            (&[50, 50], 0.4, 2),
            (&[90, 12], 0.5, 2),
            (&[30; 5], 0.6, 5),
            (&[60, 40, 25, 15, 10], 0.7, 5),
        ] {
            let choice = choose(&gallery::planted(sizes, inside, 0.02, 3), 2.0, 8);
            assert_eq!(choice.k, expected, "{sizes:?}: {choice:?}");
            assert!((0.0..=1.0).contains(&choice.confidence) && choice.confidence > 0.2, "{choice:?}");
            assert_eq!((choice.eigengap.scores.len(), choice.elbow.scores.len()), (8, 8));
            assert_eq!((choice.eigenvalues.len(), choice.costs.len()), (9, 9));
        }
    }

    #[test]
    fn a_continuum_is_one_part_and_pieces_are_as_many_as_they_are() {
        for graph in [gallery::path(120), gallery::grid(9, 14), gallery::grid(10, 10), gallery::complete(30)]
        {
            assert_eq!(choose(&graph, 2.0, 6).k, 1);
        }
        let pieces = gallery::planted(&[15, 12, 10, 8], 0.8, 0.0, 1);
        let choice = choose(&pieces, 1.0, 7);
        assert_eq!((choice.k, choice.eigengap.k, choice.elbow.k), (4, 4, 4), "{choice:?}");
    }

    #[test]
    fn tiny_graphs_are_one_part_and_none_is_an_error() {
        for n in 1..=3 {
            assert_eq!(choose(&gallery::path(n), 1.0, 9).k, 1);
        }
        let run = |n, k_max| Partitioner::new(1, 1.0).choose(&gallery::path(n), k_max, &mut Control::new());
        assert!(matches!(run(0, 3), Err(Error::InvalidParameter { .. })));
        assert!(matches!(run(9, 0), Err(Error::InvalidParameter { .. })));
        let stop = || true;
        let mut control = Control::new().stop(&stop);
        let stopped = Partitioner::new(1, 1.0).choose(&gallery::path(30), 3, &mut control);
        assert_eq!(stopped, Err(Error::Interrupted));
    }

    #[test]
    fn two_opinions_outvote_the_third() {
        let opinion = |k, margin| Opinion { k, margin, scores: Vec::new() };
        let decide = |k: [usize; 3]| decide([&opinion(k[0], 0.9), &opinion(k[1], 0.6), &opinion(k[2], 0.3)]);
        assert_eq!(decide([2, 2, 7]).0, 2);
        assert!((decide([2, 2, 7]).1 - 0.5).abs() < 1e-15 && (decide([4, 4, 4]).1 - 0.6).abs() < 1e-15);
        assert_eq!(decide([1, 9, 4]).0, 4);
        assert_eq!(decide([7, 3, 3]).0, 3);
    }
}
