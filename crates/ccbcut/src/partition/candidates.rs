//! The splits that may come next, and what each would make the whole partition cost.

use std::cmp::Ordering;

use super::threshold::{Compensated, Split};
use crate::cost::Criterion;

/// The best split of a leaf.
#[derive(Debug)]
pub(super) struct Candidate {
    /// Whether the leaf must be split whatever it costs.
    pub(super) is_urgent: bool,
    /// Whether a side is below the least size: a last resort.
    pub(super) is_small: bool,
    pub(super) node: usize,
    /// The term of the leaf.
    pub(super) before: f64,
    pub(super) split: Split,
}

/// The leaves of a bisection, their terms of the cost, and a candidate for each that can be split.
#[derive(Debug)]
pub(super) struct Candidates {
    criterion: Criterion,
    list: Vec<Candidate>,
    /// The term of each leaf, by node; zero for nodes that were split.
    terms: Vec<f64>,
    total: Compensated,
}

impl Candidates {
    /// One leaf, which no edge leaves.
    pub(super) fn new(criterion: Criterion) -> Self {
        Self { criterion, list: Vec::new(), terms: vec![0.0], total: Compensated::default() }
    }

    pub(super) fn push(&mut self, candidate: Candidate) {
        self.list.push(candidate);
    }

    /// Takes the candidate after which the whole partition costs least, the leaf created earliest on ties.
    pub(super) fn take_best(&mut self) -> Option<Candidate> {
        let largest = self.two_largest();
        let best =
            (0..self.list.len()).min_by(|&a, &b| self.compare(&self.list[a], &self.list[b], largest))?;
        Some(self.list.swap_remove(best))
    }

    /// Whether a leaf must be split.
    pub(super) fn has_urgent(&self) -> bool {
        self.list.iter().any(|candidate| candidate.is_urgent)
    }

    /// Puts two leaves in the place of one; returns the cost of the whole partition.
    pub(super) fn split(&mut self, candidate: &Candidate) -> f64 {
        let Candidate { node, before, ref split, .. } = *candidate;
        self.terms[node] = 0.0;
        self.terms.extend([split.low_cost, split.high_cost]);
        if self.criterion.is_largest() {
            return self.criterion.total(self.terms.iter().copied());
        }
        for change in [-before, split.low_cost, split.high_cost] {
            self.total.add(change);
        }
        self.total.value().max(0.0)
    }

    /// The largest term, its leaf, and the largest of the others; only where they count.
    fn two_largest(&self) -> (f64, usize, f64) {
        let mut top = (0.0, usize::MAX, 0.0);
        if self.criterion.is_largest() {
            for (node, &term) in self.terms.iter().enumerate() {
                if term > top.0 {
                    top = (term, node, top.0);
                } else if term > top.2 {
                    top.2 = term;
                }
            }
        }
        top
    }

    fn compare(&self, a: &Candidate, b: &Candidate, largest: (f64, usize, f64)) -> Ordering {
        let rank = |c: &Candidate| {
            let own = c.split.cost(self.criterion);
            if self.criterion.is_largest() {
                // Where a third part costs more than either, the cheaper split goes first.
                let others = if c.node == largest.1 { largest.2 } else { largest.0 };
                return (own.max(others), own);
            }
            // Adding 0.0 turns −0.0 into 0.0, which must tie with it.
            (own - c.before + 0.0, 0.0)
        };
        let (x, y) = (rank(a), rank(b));
        b.is_urgent
            .cmp(&a.is_urgent)
            .then(a.is_small.cmp(&b.is_small))
            .then(x.0.total_cmp(&y.0))
            .then(x.1.total_cmp(&y.1))
            .then(a.node.cmp(&b.node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(node: usize, before: f64, low_cost: f64, high_cost: f64) -> Candidate {
        let split = Split { low: vec![0], high: vec![1], low_cost, high_cost, threshold: None };
        Candidate { is_urgent: false, is_small: false, node, before, split }
    }

    #[test]
    fn sums_and_largest_terms_choose_differently() {
        let best = |criterion| {
            let mut all = Candidates::new(criterion);
            assert_eq!(all.split(&candidate(0, 0.0, 1.0, 2.0)), criterion.total([1.0, 2.0]));
            // Node 1 costs 1 and node 2 costs 2: splitting node 2 adds most but removes the largest term.
            all.push(candidate(1, 1.0, 1.1, 1.2));
            all.push(candidate(2, 2.0, 1.9, 1.9));
            let taken = all.take_best().unwrap();
            (taken.node, all.split(&taken))
        };
        assert_eq!(best(Criterion::Cheeger), (2, 1.9));
        let (node, cost) = best(Criterion::Ratio);
        assert_eq!(node, 1);
        assert!((cost - 4.3).abs() < 1e-15);
    }

    #[test]
    fn small_parts_come_last_and_ties_go_to_the_earliest_leaf() {
        let mut all = Candidates::new(Criterion::Ratio);
        all.push(Candidate { is_small: true, ..candidate(0, 0.0, 0.1, 0.1) });
        all.push(candidate(3, 0.5, 1.0, 1.0));
        all.push(candidate(2, 0.5, 1.0, 1.0));
        let order: Vec<usize> = std::iter::from_fn(|| all.take_best()).map(|c| c.node).collect();
        assert_eq!(order, [2, 3, 0]);
    }
}
