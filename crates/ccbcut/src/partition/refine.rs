//! Local refinement: moves single vertices between parts while the discrete cost falls.
//!
//! A pass in the manner of Fiduccia and Mattheyses: the best move is made even when it costs something, each vertex
//! moves once at most, and in the end the pass is taken back to its cheapest point. What a move changes is known from
//! the vertex's ties to the two parts alone: Cut and π of both. So any cost that is made of these can be refined.
//!
//! Fiduccia & Mattheyses, *A linear-time heuristic for improving network partitions*, DAC 1982,
//! <https://doi.org/10.1109/DAC.1982.1585498>; Kernighan & Lin, Bell Syst. Tech. J. 49, 1970.

use std::{cmp::Ordering, collections::BinaryHeap};

use super::threshold::{Split, SplitContext, evaluate};
use crate::{
    cost::{Criterion, PartSums},
    error::Result,
    graph::{Balance, Graph},
    labels::Labels,
};

/// Moves vertices between parts while a cost falls; the number of parts stays.
///
/// ```
/// use ccbcut::{Balance, Labels, cost::Criterion, graph::gallery, partition::Refine};
/// // Two triangles and a bridge, cut beside the bridge.
/// let graph = gallery::toy(0.5);
/// let start = Labels::from_raw(&[0, 0, 1, 1, 1, 1, 1]);
/// let refined = Refine::new(Criterion::Ccb { tau: 2.0 }).run(&graph, &start, &Balance::Normalized)?;
/// assert_eq!(refined.as_slice()[..6], [0, 0, 0, 1, 1, 1]);
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Refine {
    criterion: Criterion,
    max_passes: usize,
    patience: usize,
}

impl Refine {
    /// At most ten passes, each of which may climb over 100 moves.
    pub fn new(criterion: Criterion) -> Self {
        Self { criterion, max_passes: 10, patience: 100 }
    }

    /// The most passes.
    #[must_use]
    pub fn max_passes(mut self, max_passes: usize) -> Self {
        self.max_passes = max_passes;
        self
    }

    /// After how many moves without a new lowest cost a pass ends.
    #[must_use]
    pub fn patience(mut self, patience: usize) -> Self {
        self.patience = patience;
        self
    }

    /// Refines a partition. The result has as many parts, none of them empty, and never costs more.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`](crate::Error::ShapeMismatch) when there is not one label per vertex; the errors of the balance and of the cost.
    ///
    /// # Complexity
    /// O(n + |E|) per pass, and O(d log n) for each move of a vertex of d neighbours with ties to few parts.
    pub fn run(&self, graph: &Graph, labels: &Labels, balance: &Balance) -> Result<Labels> {
        self.criterion.validate()?;
        labels.check_len(graph.n_vertices())?;
        let pi = balance.weights(graph)?;
        let members: Vec<u32> = (0..graph.n_vertices() as u32).collect();
        let cost =
            |labels: &Labels| -> Result<f64> { Ok(self.criterion.of(&PartSums::new(graph, labels, &pi)?)) };
        let (mut best, mut lowest) = (labels.clone(), cost(labels)?);
        for _ in 0..self.max_passes {
            let mut pass = Pass::new(self, graph, &pi, &members, best.as_slice(), best.n_segments());
            if !pass.run() {
                break;
            }
            // Sums that were changed move by move have rounding errors: what counts is the cost itself.
            let next = Labels::from_raw(&pass.part);
            let value = cost(&next)?;
            if value >= lowest {
                break;
            }
            (best, lowest) = (next, value);
        }
        Ok(best)
    }

    /// Refines a part that was cut in two, scored in the whole graph: no vertex leaves the part.
    pub(super) fn split(&self, ctx: &SplitContext<'_>, split: &Split, min_size: usize) -> Result<Split> {
        let mut members = [&split.low[..], &split.high].concat();
        members.sort_unstable();
        let is_high = |v: &u32| split.high.binary_search(v).is_ok();
        let mut part: Vec<u32> = members.iter().map(|v| u32::from(is_high(v))).collect();
        let mut best = split.clone();
        for _ in 0..self.max_passes {
            let mut pass = Pass::new(self, ctx.graph, ctx.pi, &members, &part, 2);
            pass.least = min_size.min(best.low.len()).min(best.high.len()).max(1);
            if !pass.run() {
                break;
            }
            part = pass.part;
            let (low, high): (Vec<usize>, Vec<usize>) = (0..members.len()).partition(|&p| part[p] == 0);
            let sorted: Vec<u32> = low.iter().chain(&high).map(|&p| members[p]).collect();
            let next = evaluate(ctx, &ctx.positions(&sorted)?, &sorted, low.len());
            if next.cost(ctx.criterion) >= best.cost(ctx.criterion) {
                break;
            }
            best = next;
        }
        Ok(best)
    }
}

/// The members of a graph, their parts and their ties; vertices that are no members stay out of it, but edges to them
/// count.
struct Pass<'a> {
    settings: &'a Refine,
    graph: &'a Graph,
    pi: &'a [f64],
    members: &'a [u32],
    /// Where each vertex stands among the members; `u32::MAX` elsewhere. Empty when all are members.
    position: Vec<u32>,
    part: Vec<u32>,
    /// For each member the parts it is tied to, and the weights.
    ties: Vec<Vec<(u32, f64)>>,
    /// For each member the weight of all its edges.
    degree: Vec<f64>,
    parts: Vec<Part>,
    is_locked: Vec<bool>,
    /// Members that a part must keep.
    least: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Part {
    cut: f64,
    mass: f64,
    count: usize,
    term: f64,
}

/// A move that may be made, best first.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Move {
    /// By how much the cost changes.
    change: f64,
    member: u32,
    to: u32,
}

impl Eq for Move {}

impl Ord for Move {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_change = other.change.total_cmp(&self.change);
        by_change.then(other.member.cmp(&self.member)).then(other.to.cmp(&self.to))
    }
}

impl PartialOrd for Move {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'a> Pass<'a> {
    fn new(
        settings: &'a Refine,
        graph: &'a Graph,
        pi: &'a [f64],
        members: &'a [u32],
        part: &[u32],
        n_parts: usize,
    ) -> Self {
        let m = members.len();
        let mut position = Vec::new();
        if m < graph.n_vertices() {
            position.resize(graph.n_vertices(), u32::MAX);
            members.iter().enumerate().for_each(|(p, &v)| position[v as usize] = p as u32);
        }
        let mut pass = Self {
            settings,
            graph,
            pi,
            members,
            position,
            part: part.to_vec(),
            ties: Vec::with_capacity(m),
            degree: Vec::with_capacity(m),
            parts: vec![Part::default(); n_parts],
            is_locked: vec![false; m],
            least: 1,
        };
        pass.tie_up();
        pass
    }

    /// Finds the ties of all members and the sums of all parts.
    fn tie_up(&mut self) {
        let mut sums = vec![0.0; self.parts.len()];
        let mut seen: Vec<u32> = Vec::new();
        for (p, &v) in self.members.iter().enumerate() {
            let mut degree = 0.0;
            self.graph.for_each_neighbor(v as usize, |j, w| {
                degree += w;
                if let Some(q) = locate(&self.position, j) {
                    let to = self.part[q];
                    if sums[to as usize] == 0.0 {
                        seen.push(to);
                    }
                    sums[to as usize] += w;
                }
            });
            let own = self.part[p];
            let inside = sums[own as usize];
            let part = &mut self.parts[own as usize];
            part.cut += if seen == [own] && self.position.is_empty() { 0.0 } else { degree - inside };
            part.mass += self.pi[v as usize];
            part.count += 1;
            seen.sort_unstable();
            self.ties.push(seen.drain(..).map(|to| (to, std::mem::take(&mut sums[to as usize]))).collect());
            self.degree.push(degree);
        }
        for part in &mut self.parts {
            part.term = self.settings.criterion.term(part.cut, part.mass);
        }
    }

    /// Moves, and goes back to the cheapest point; whether that is below the start.
    fn run(&mut self) -> bool {
        let mut heap: BinaryHeap<Move> = (0..self.members.len()).filter_map(|p| self.best_move(p)).collect();
        let mut made: Vec<(u32, u32)> = Vec::new();
        let (mut change, mut lowest, mut keep) = (0.0, 0.0, 0);
        let rounding = 1e-13 * self.settings.criterion.total(self.parts.iter().map(|part| part.term));
        while let Some(top) = heap.pop() {
            let p = top.member as usize;
            if self.is_locked[p] {
                continue;
            }
            // Other moves have changed the sums since this one was weighed: it may have become worse.
            let Some(now) = self.best_move(p) else { continue };
            if now.change > top.change && heap.peek().is_some_and(|next| now < *next) {
                heap.push(now);
                continue;
            }
            made.push((top.member, self.part[p]));
            change += now.change;
            self.make(now, &mut heap);
            if change < lowest - rounding {
                (lowest, keep) = (change, made.len());
            }
            if made.len() - keep >= self.settings.patience {
                break;
            }
        }
        for &(member, from) in made[keep..].iter().rev() {
            self.part[member as usize] = from;
        }
        keep > 0
    }

    /// The best move of a member to a part that it is tied to.
    fn best_move(&self, p: usize) -> Option<Move> {
        let from = self.part[p] as usize;
        let is_bound = self.is_locked[p] || self.parts[from].count <= self.least;
        let is_inside = matches!(self.ties[p][..], [] | [_]) && self.tie(p, from as u32) > 0.0;
        if is_bound || is_inside {
            return None;
        }
        let others = self.ties[p].iter().filter(|&&(to, _)| to as usize != from);
        let moves = others.map(|&(to, _)| Move { change: self.change(p, to as usize), member: p as u32, to });
        moves.max()
    }

    /// By how much the cost changes when a member moves.
    fn change(&self, p: usize, to: usize) -> f64 {
        let from = self.part[p] as usize;
        let (a, b) = self.moved(p, to);
        if !self.settings.criterion.is_largest() {
            return (a.term + b.term) - (self.parts[from].term + self.parts[to].term);
        }
        let others = self.parts.iter().enumerate().filter(|&(l, _)| l != from && l != to);
        let largest = others.fold(0.0_f64, |most, (_, part)| most.max(part.term));
        largest.max(a.term).max(b.term) - largest.max(self.parts[from].term).max(self.parts[to].term)
    }

    /// The two parts after a move.
    fn moved(&self, p: usize, to: usize) -> (Part, Part) {
        let from = self.part[p] as usize;
        let (mut a, mut b) = (self.parts[from], self.parts[to]);
        let (degree, mass) = (self.degree[p], self.pi[self.members[p] as usize]);
        a.cut = (a.cut + 2.0 * self.tie(p, from as u32) - degree).max(0.0);
        b.cut = (b.cut - 2.0 * self.tie(p, to as u32) + degree).max(0.0);
        (a.mass, a.count) = (a.mass - mass, a.count - 1);
        (b.mass, b.count) = (b.mass + mass, b.count + 1);
        a.term = self.settings.criterion.term(a.cut, a.mass);
        b.term = self.settings.criterion.term(b.cut, b.mass);
        (a, b)
    }

    fn tie(&self, p: usize, part: u32) -> f64 {
        let ties = &self.ties[p];
        ties.binary_search_by_key(&part, |tie| tie.0).map_or(0.0, |k| ties[k].1)
    }

    /// Makes a move, locks its vertex, and weighs the neighbours' moves again.
    fn make(&mut self, step: Move, heap: &mut BinaryHeap<Move>) {
        let p = step.member as usize;
        let from = self.part[p];
        let (a, b) = self.moved(p, step.to as usize);
        (self.parts[from as usize], self.parts[step.to as usize]) = (a, b);
        self.part[p] = step.to;
        self.is_locked[p] = true;
        let (ties, position) = (&mut self.ties, &self.position);
        let mut touched = Vec::new();
        self.graph.for_each_neighbor(self.members[p] as usize, |j, w| {
            let Some(q) = locate(position, j) else { return };
            retie(&mut ties[q], from, -w);
            retie(&mut ties[q], step.to, w);
            touched.push(q);
        });
        for q in touched {
            if !self.is_locked[q] {
                heap.extend(self.best_move(q));
            }
        }
    }
}

fn locate(position: &[u32], vertex: usize) -> Option<usize> {
    match position.get(vertex) {
        None => Some(vertex),
        Some(&u32::MAX) => None,
        Some(&p) => Some(p as usize),
    }
}

/// Adds to the tie to a part; one that rounding alone has left is forgotten.
fn retie(ties: &mut Vec<(u32, f64)>, part: u32, weight: f64) {
    match ties.binary_search_by_key(&part, |tie| tie.0) {
        Ok(k) => {
            let before = ties[k].1;
            ties[k].1 += weight;
            if ties[k].1 <= 1e-12 * before {
                ties.remove(k);
            }
        }
        Err(k) if weight > 0.0 => ties.insert(k, (part, weight)),
        Err(_) => {}
    }
}

#[cfg(test)]
mod tests;
