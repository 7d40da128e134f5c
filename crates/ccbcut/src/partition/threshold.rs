//! The best threshold of one column, by the cost of the whole partition.
//!
//! Splitting a part C of the partition into A and B changes a cost such as (7) of the paper,
//! CCB_τ = ½ Σ_l Cut(V_l, V∖V_l) / (2 π(V_l))^(τ/2), in two terms only. Both cuts are taken in the whole graph, so
//! edges that leave C count:
//!
//! Cut(A, V∖A) = Cut(A, B) + Cut(A, V∖C),  Cut(B, V∖B) = Cut(A, B) + Cut(B, V∖C).
//!
//! Along a sweep over the sorted members, the outer terms are plain running sums from either end. Cut(A, B) gains
//! and loses edges: it is carried with a second word of rounding errors, and set to zero exactly when no edge is
//! left in it, so that weights may spread over many decades.

use crate::{
    cost::Criterion,
    error::{Error, Result},
    graph::Graph,
    parallel,
};

/// The graph, vertex weights and cost that splits are scored with.
#[derive(Debug, Clone, Copy)]
pub struct SplitContext<'a> {
    /// The whole graph.
    pub graph: &'a Graph,
    /// π, one positive weight per vertex of the whole graph.
    pub pi: &'a [f64],
    /// The cost that is made small.
    pub criterion: Criterion,
}

/// A part cut in two.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// The members with values up to the threshold, in increasing order.
    pub low: Vec<u32>,
    /// The other members, in increasing order.
    pub high: Vec<u32>,
    /// The term of the cost for the low side: ½ Cut(A, V∖A) / (2 π(A))^(τ/2) under CCB_τ.
    pub low_cost: f64,
    /// The same for the high side.
    pub high_cost: f64,
    /// The largest value on the low side; `None` when the split was not made by values.
    pub threshold: Option<f64>,
}

impl Split {
    /// What the two sides cost together.
    pub fn cost(&self, criterion: Criterion) -> f64 {
        criterion.total([self.low_cost, self.high_cost])
    }
}

/// Which thresholds of a column are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Prefixes {
    /// Those between distinct values: equal values stay together.
    #[default]
    Distinct,
    /// All; members of equal value are taken in the order of their numbers.
    All,
}

impl SplitContext<'_> {
    /// The term of a part, given its cut and its size.
    #[inline]
    pub(super) fn part_cost(&self, cut: f64, mass: f64) -> f64 {
        self.criterion.term(cut, mass)
    }

    /// Checks that the members are distinct vertices, and tells for each vertex where it stands among them
    /// (`u32::MAX` elsewhere).
    pub(super) fn positions(&self, members: &[u32]) -> Result<Vec<u32>> {
        let n = self.graph.n_vertices();
        if self.pi.len() != n {
            return Err(Error::ShapeMismatch {
                what: "the balance weights",
                expected: n,
                got: self.pi.len(),
            });
        }
        let mut position = vec![u32::MAX; n];
        for (p, &v) in members.iter().enumerate() {
            match position.get_mut(v as usize) {
                None => {
                    return Err(Error::IndexOutOfRange { what: "a member", index: v as usize, limit: n });
                }
                Some(slot) if *slot != u32::MAX => {
                    let (name, value) = ("members", f64::from(v));
                    return Err(Error::InvalidParameter { name, value, expected: "listed once" });
                }
                Some(slot) => *slot = p as u32,
            }
        }
        Ok(position)
    }
}

/// Splits a part where its values are best divided: among all thresholds between *distinct* values that leave at
/// least `min_size` members on either side, the one with the lowest cost in the whole graph, the lowest threshold on
/// ties. `None` when there is no such threshold, as when all values are equal.
///
/// The cost is that of the two sides together.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless there is one value per member and one π per vertex;
/// [`Error::IndexOutOfRange`] or [`Error::InvalidParameter`] for members that are no vertices or listed twice;
/// [`Error::NotFinite`] for values that are not finite.
///
/// # Complexity
/// O(n + edges of the members + m log m) time for m members; O(n) auxiliary space.
pub fn best_threshold(
    ctx: &SplitContext<'_>,
    members: &[u32],
    values: &[f64],
    min_size: usize,
) -> Result<Option<Split>> {
    best_prefix(ctx, members, values, min_size, Prefixes::Distinct)
}

/// The same, with a choice of thresholds.
///
/// # Errors
/// As [`best_threshold`].
pub fn best_prefix(
    ctx: &SplitContext<'_>,
    members: &[u32],
    values: &[f64],
    min_size: usize,
    prefixes: Prefixes,
) -> Result<Option<Split>> {
    if values.len() != members.len() {
        let (expected, got) = (members.len(), values.len());
        return Err(Error::ShapeMismatch { what: "the one-column embedding", expected, got });
    }
    if let Some(index) = values.iter().position(|x| !x.is_finite()) {
        return Err(Error::NotFinite { what: "the one-column embedding", index, value: values[index] });
    }
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]).then(members[a].cmp(&members[b])));
    let sorted: Vec<u32> = order.iter().map(|&p| members[p]).collect();
    let position = ctx.positions(&sorted)?;

    let moves = parallel::map(sorted.len(), |p| Move::of(ctx.graph, &position, &sorted, p));
    let is_large = |size: usize| size.min(sorted.len() - size) >= min_size;
    let is_step =
        |p: usize| is_large(p + 1) && (prefixes == Prefixes::All || values[order[p]] != values[order[p + 1]]);
    let Some(size) = sweep(ctx, &sorted, &moves, is_step) else {
        return Ok(None);
    };
    let mut split = evaluate(ctx, &position, &sorted, size);
    split.threshold = Some(values[order[size - 1]]);
    Ok(Some(split))
}

/// What a member does to the cuts when it crosses from the high to the low side.
#[derive(Clone, Copy)]
struct Move {
    /// Change of Cut(A, B).
    inner: Compensated,
    /// Change of the number of edges in Cut(A, B).
    n_crossing: i64,
    /// Its edges that leave the part.
    outer: f64,
}

impl Move {
    fn of(graph: &Graph, position: &[u32], sorted: &[u32], p: usize) -> Self {
        let mut change = Self { inner: Compensated::default(), n_crossing: 0, outer: 0.0 };
        graph.for_each_neighbor(sorted[p] as usize, |j, w| match position[j] {
            u32::MAX => change.outer += w,
            q if q as usize > p => {
                change.inner.add(w);
                change.n_crossing += 1;
            }
            _ => {
                change.inner.add(-w);
                change.n_crossing -= 1;
            }
        });
        change
    }
}

/// The best size of the low side, out of those that end where `is_step` says that the value changes.
fn sweep(
    ctx: &SplitContext<'_>,
    sorted: &[u32],
    moves: &[Move],
    is_step: impl Fn(usize) -> bool,
) -> Option<usize> {
    let m = sorted.len();
    // Sums over the high side, added up from its far end: subtraction from a total would lose digits.
    let mut high = vec![(0.0, 0.0); m + 1];
    for p in (0..m).rev() {
        high[p] = (high[p + 1].0 + moves[p].outer, high[p + 1].1 + ctx.pi[sorted[p] as usize]);
    }
    let (mut inner, mut n_crossing) = (Compensated::default(), 0);
    let (mut low_outer, mut low_mass) = (0.0, 0.0);
    let mut best: Option<(f64, usize)> = None;
    for p in 0..m.saturating_sub(1) {
        inner.add(moves[p].inner.sum);
        inner.add(moves[p].inner.error);
        n_crossing += moves[p].n_crossing;
        if n_crossing == 0 {
            inner = Compensated::default();
        }
        low_outer += moves[p].outer;
        low_mass += ctx.pi[sorted[p] as usize];
        if !is_step(p) {
            continue;
        }
        let cut = inner.value().max(0.0);
        let (high_outer, high_mass) = high[p + 1];
        let (low, high) =
            (ctx.part_cost(cut + low_outer, low_mass), ctx.part_cost(cut + high_outer, high_mass));
        let cost = ctx.criterion.total([low, high]);
        if best.is_none_or(|(lowest, _)| cost < lowest) {
            best = Some((cost, p + 1));
        }
    }
    best.map(|(_, size)| size)
}

/// The split after the first `size` of the sorted members, its costs summed edge by edge.
pub(super) fn evaluate(ctx: &SplitContext<'_>, position: &[u32], sorted: &[u32], size: usize) -> Split {
    let is_low = |j: usize| (position[j] as usize) < size;
    let is_high = |j: usize| position[j] != u32::MAX && !is_low(j);
    let (mut low, mut high) = (sorted[..size].to_vec(), sorted[size..].to_vec());
    low.sort_unstable();
    high.sort_unstable();
    let low_cost = cost_of(ctx, &low, is_low);
    let high_cost = cost_of(ctx, &high, is_high);
    Split { low, high, low_cost, high_cost, threshold: None }
}

/// The term of a part.
fn cost_of(ctx: &SplitContext<'_>, part: &[u32], is_inside: impl Fn(usize) -> bool + Sync + Send) -> f64 {
    const BLOCK: usize = 256;
    let cut = parallel::sum_blocks(part.len(), BLOCK, |range| {
        let mut cut = 0.0;
        for &i in &part[range] {
            ctx.graph.for_each_neighbor(i as usize, |j, w| {
                if !is_inside(j) {
                    cut += w;
                }
            });
        }
        cut
    });
    let mass = parallel::sum(part.len(), |r| part[r].iter().map(|&i| ctx.pi[i as usize]).sum());
    ctx.part_cost(cut, mass)
}

/// A sum and what rounding has taken from it (Neumaier, ZAMM 54, 1974, <https://doi.org/10.1002/zamm.19740540106>).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Compensated {
    sum: f64,
    error: f64,
}

impl Compensated {
    pub(super) fn add(&mut self, x: f64) {
        let sum = self.sum + x;
        let taken = sum - self.sum;
        self.error += (self.sum - (sum - taken)) + (x - taken);
        self.sum = sum;
    }

    pub(super) fn value(self) -> f64 {
        self.sum + self.error
    }
}

#[cfg(test)]
pub(super) mod naive {
    use super::*;

    /// ½ Cut(A, V∖A) / (2 π(A))^(τ/2), by definition.
    pub fn part_cost(ctx: &SplitContext<'_>, part: &[u32]) -> f64 {
        let mut cut = 0.0;
        ctx.graph.for_each_edge(|i, j, w| {
            if part.contains(&(i as u32)) != part.contains(&(j as u32)) {
                cut += w;
            }
        });
        let mass: f64 = part.iter().map(|&i| ctx.pi[i as usize]).sum();
        let Criterion::Ccb { tau } = ctx.criterion else { return cut / mass };
        0.5 * cut / (2.0 * mass).powf(tau / 2.0)
    }

    /// (7) of the paper, by definition.
    pub fn ccb(ctx: &SplitContext<'_>, labels: &[u32]) -> f64 {
        let parts = labels.iter().max().map_or(0, |&l| l + 1);
        let part =
            |l: u32| -> Vec<u32> { (0..labels.len() as u32).filter(|&i| labels[i as usize] == l).collect() };
        (0..parts).map(|l| part_cost(ctx, &part(l))).sum()
    }

    /// The lowest cost over all thresholds between distinct values.
    pub fn lowest(ctx: &SplitContext<'_>, members: &[u32], values: &[f64]) -> Option<f64> {
        let side = |t: f64, is_low: bool| -> Vec<u32> {
            (0..members.len()).filter(|&p| (values[p] <= t) == is_low).map(|p| members[p]).collect()
        };
        let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let costs = values.iter().filter(|&&t| t < top);
        costs
            .map(|&t| part_cost(ctx, &side(t, true)) + part_cost(ctx, &side(t, false)))
            .min_by(f64::total_cmp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        graph::{Balance, gallery},
        random::Random,
    };

    fn check(graph: &Graph, tau: f64, members: &[u32], values: &[f64]) {
        let pi = Balance::Normalized.weights(graph).unwrap();
        let (pi, criterion) = (&pi[..], Criterion::Ccb { tau });
        let ctx = SplitContext { graph, pi, criterion };
        let split = best_threshold(&ctx, members, values, 1).unwrap().unwrap();
        let lowest = naive::lowest(&ctx, members, values).unwrap();
        assert!((split.cost(criterion) - lowest).abs() <= 1e-12 * lowest, "{split:?} instead of {lowest}");
        let direct = naive::part_cost(&ctx, &split.low);
        assert!((split.low_cost - direct).abs() <= 1e-12 * direct);
        let threshold = split.threshold.unwrap();
        for (p, v) in members.iter().enumerate() {
            assert_eq!(split.low.contains(v), values[p] <= threshold);
            assert_eq!(split.high.contains(v), values[p] > threshold);
        }
    }

    #[test]
    fn the_sweep_agrees_with_brute_force() {
        for seed in 0..30 {
            let mut random = Random::new(seed);
            let graph = match seed % 3 {
                0 => gallery::planted(&[8, 9, 10], 0.7, 0.1, seed),
                1 => gallery::random(27, 0.2, seed),
                _ => gallery::wide(27, 0.2, 12.0, seed),
            };
            let members: Vec<u32> = (0..27).rev().filter(|_| random.uniform() < 0.8).collect();
            let smooth: Vec<f64> = members.iter().map(|_| random.normal()).collect();
            let steps: Vec<f64> = members.iter().map(|_| random.below(4) as f64).collect();
            for tau in [0.25, 1.0, 2.0, 3.0] {
                check(&graph, tau, &members, &smooth);
                check(&graph, tau, &members, &steps);
            }
        }
    }

    #[test]
    fn equal_values_stay_together() {
        let graph = gallery::path(4);
        let ctx = SplitContext { graph: &graph, pi: &[1.0; 4], criterion: Criterion::Ccb { tau: 1.0 } };
        assert_eq!(best_threshold(&ctx, &[0, 1, 2, 3], &[1.0; 4], 1).unwrap(), None);
        assert_eq!(best_threshold(&ctx, &[0, 1], &[0.0, -0.0], 1).unwrap(), None);
        assert_eq!(best_threshold(&ctx, &[2], &[1.0], 1).unwrap(), None);
        assert_eq!(best_threshold(&ctx, &[], &[], 1).unwrap(), None);
        let split = best_threshold(&ctx, &[0, 1, 2, 3], &[0.0, 0.0, 0.0, 1.0], 1).unwrap().unwrap();
        assert_eq!((split.low, split.high), (vec![0, 1, 2], vec![3]));
    }

    #[test]
    fn the_first_of_two_equal_splits_is_taken() {
        // A path of six cut into thirds: 0–1 against the rest and 4–5 against the rest cost the same.
        let edges = [(0, 1, 1.0), (1, 2, 0.1), (2, 3, 1.0), (3, 4, 0.1), (4, 5, 1.0)];
        let graph = Graph::from_edges(6, &edges).unwrap();
        let ctx = SplitContext { graph: &graph, pi: &[1.0; 6], criterion: Criterion::Ccb { tau: 2.0 } };
        let split = best_threshold(&ctx, &[0, 1, 2, 3, 4, 5], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], 1);
        assert_eq!(split.unwrap().unwrap().low, vec![0, 1]);
    }

    #[test]
    fn a_part_of_cost_zero_is_found_among_weights_of_all_sizes() {
        let mut edges = vec![(0, 1, 0.1), (1, 2, 1e9), (2, 3, 0.3), (0, 3, 1e-9)];
        edges.extend([(4, 5, 1e-12), (5, 6, 0.7)]);
        let graph = Graph::from_edges(8, &edges).unwrap();
        let pi = Balance::Normalized.weights(&graph).unwrap();
        let ctx = SplitContext { graph: &graph, pi: &pi, criterion: Criterion::Ccb { tau: 0.5 } };
        let members: Vec<u32> = (0..8).collect();
        let values: Vec<f64> = (0..8).map(f64::from).collect();
        let split = best_threshold(&ctx, &members, &values, 1).unwrap().unwrap();
        assert_eq!((split.low, split.low_cost, split.high_cost), (vec![0, 1, 2, 3], 0.0, 0.0));
        let split = best_threshold(&ctx, &[4, 5, 6, 7], &[0.0, 1.0, 2.0, 3.0], 1).unwrap().unwrap();
        assert_eq!((split.high, split.low_cost, split.high_cost), (vec![7], 0.0, 0.0));
    }

    #[test]
    fn self_loops_are_in_no_cut() {
        let plain = Graph::from_edges(3, &[(0, 1, 1.0), (1, 2, 2.0)]).unwrap();
        let looped = Graph::from_edges(3, &[(0, 1, 1.0), (1, 2, 2.0), (0, 0, 5.0), (2, 2, 9.0)]).unwrap();
        let split = |graph: &Graph| {
            let ctx = SplitContext { graph, pi: &[1.0; 3], criterion: Criterion::Ccb { tau: 1.0 } };
            best_threshold(&ctx, &[0, 1, 2], &[0.0, 1.0, 2.0], 1).unwrap().unwrap()
        };
        assert_eq!(split(&plain), split(&looped));
    }

    #[test]
    fn invalid_input_is_named() {
        let graph = gallery::path(3);
        let ctx = SplitContext { graph: &graph, pi: &[1.0; 3], criterion: Criterion::Ccb { tau: 1.0 } };
        assert!(matches!(best_threshold(&ctx, &[0, 1], &[0.0], 1), Err(Error::ShapeMismatch { .. })));
        assert!(matches!(best_threshold(&ctx, &[0, 3], &[0.0, 1.0], 1), Err(Error::IndexOutOfRange { .. })));
        assert!(matches!(best_threshold(&ctx, &[1, 1], &[0.0, 1.0], 1), Err(Error::InvalidParameter { .. })));
        assert!(matches!(best_threshold(&ctx, &[0, 1], &[0.0, f64::NAN], 1), Err(Error::NotFinite { .. })));
        let short = SplitContext { pi: &[1.0; 2], ..ctx };
        assert!(matches!(best_threshold(&short, &[0, 1], &[0.0, 1.0], 1), Err(Error::ShapeMismatch { .. })));
    }
}
