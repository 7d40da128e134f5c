//! A tree grown from its leaves: the parts of a bisection are joined again, two at a time.
//!
//! A bisection decides first what it knows least about: where the largest parts go. Its small parts are good, since each lies
//! within one thing, but a border that an early split drew through the middle of something stays for good. Joining the
//! small parts again, by the same cost, takes such borders back. The pair to be joined is the one that is hardest to
//! cut apart: the bisection's own question, asked from below.

use std::{
    cmp::{Ordering, Reverse},
    collections::{BTreeMap, BinaryHeap},
};

use super::{threshold::Compensated, tree::Tree};
use crate::{
    cost::Criterion,
    error::{Error, Result},
    graph::Graph,
    labels::Labels,
};

/// Vertices that a part to be joined again has on average, at least.
const MIN_VERTICES: usize = 8;

/// Parts that are enough to be joined again, though more were asked for.
const ENOUGH: usize = 120;

/// A graph whose vertices are parts, and their sizes.
#[derive(Debug)]
pub(crate) struct Contracted {
    pub(crate) graph: Graph,
    pub(crate) sizes: Vec<f64>,
}

/// What ties some parts of the graph that is cut.
pub(crate) type Contract<'a> = &'a (dyn Fn(&Labels) -> Result<Contracted> + Sync);

impl Contracted {
    /// The parts of a graph whose vertices have sizes.
    pub(crate) fn new(graph: &Graph, parts: &Labels, pi: &[f64]) -> Result<Self> {
        let mut sizes = vec![0.0; parts.n_segments()];
        parts.as_slice().iter().zip(pi).for_each(|(&part, &pi)| sizes[part as usize] += pi);
        Ok(Self { graph: graph.contracted(parts.as_slice(), parts.n_segments())?, sizes })
    }
}

/// How many parts to cut a graph into before they are joined again: as many as asked for while they have some size, and none
/// where those are few.
pub(crate) fn n_fine(asked: usize, n_vertices: usize) -> usize {
    let n_parts = asked.min(n_vertices / MIN_VERTICES);
    if n_parts < asked.min(ENOUGH) { 0 } else { n_parts }
}

/// How many parts of a tree are to be joined again: those asked for, or fewer where a split leaves less than `min_size` on a
/// side. 0 where there is nothing to choose.
pub(super) fn n_joined(tree: &Tree, asked: usize, min_size: usize) -> usize {
    let nodes = tree.nodes();
    let is_small = |&step: &usize| nodes[2 * step - 1].size().min(nodes[2 * step].size()) < min_size;
    let most = (1..tree.n_leaves()).find(is_small).unwrap_or(tree.n_leaves());
    let n_parts = asked.min(most);
    if n_parts < 3 { 0 } else { n_parts }
}

/// The tree with its first `n_parts` ≥ 2 parts joined anew, up to the root.
///
/// Of all pairs of parts A, B the one is joined for which cutting A ∪ B into A and B would cost most: Cut(A, B), from
/// `ties`, over the criterion's balance of their sizes; the earliest pair on ties. Where no two parts are tied, the two
/// smallest are joined. Splits that make more than `n_parts` parts stay as they are. Costs are those of the graph that was
/// cut, whose parts are `own`.
///
/// # Complexity
/// O(n + c log c) for c pairs of parts that were tied at some time.
pub(super) fn rejoined(
    tree: &Tree,
    n_parts: usize,
    ties: &Contracted,
    own: &Contracted,
    criterion: Criterion,
) -> Result<Tree> {
    let pairs = joined(ties, criterion);
    let joins = joins_of_leaves(tree, n_parts, &pairs)?;
    let mut costs = costs(own, criterion, &pairs);
    costs.extend_from_slice(&tree.costs()[n_parts..]);
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); tree.n_leaves()];
    for (vertex, &leaf) in tree.cut(tree.n_leaves())?.as_slice().iter().enumerate() {
        members[leaf as usize].push(vertex as u32);
    }
    let mut rejoined = Tree::from_joins(&joins, &costs).lifted(&members);
    if !tree.is_complete() {
        rejoined.mark_incomplete();
    }
    Ok(rejoined)
}

/// Joins of the leaves, which are numbered as the finest cut has them: first the splits below the parts are undone, then
/// the parts are joined as `pairs` say.
fn joins_of_leaves(tree: &Tree, n_parts: usize, pairs: &[[usize; 2]]) -> Result<Vec<[usize; 2]>> {
    let (n_leaves, nodes) = (tree.n_leaves(), tree.nodes());
    let (leaves, parts) = (tree.cut(n_leaves)?, tree.cut(n_parts)?);
    let first = |node: usize| Ok::<usize, Error>(tree.members(node)?[0] as usize);
    let mut cluster_of = vec![usize::MAX; nodes.len()];
    for (id, _) in nodes.iter().enumerate().filter(|(_, node)| node.children().is_none()) {
        cluster_of[id] = leaves.as_slice()[first(id)?] as usize;
    }
    let mut joins = Vec::with_capacity(n_leaves - 1);
    for step in (n_parts..n_leaves).rev() {
        let halves = [2 * step - 1, 2 * step];
        if let Some(parent) = nodes[halves[0]].parent() {
            cluster_of[parent] = n_leaves + joins.len();
            joins.push(halves.map(|node| cluster_of[node]));
        }
    }
    let mut cluster_of_part = vec![usize::MAX; n_parts];
    let is_part = |id: &usize| nodes[*id].step().is_none_or(|step| step >= n_parts);
    for id in (0..2 * n_parts - 1).filter(is_part) {
        cluster_of_part[parts.as_slice()[first(id)?] as usize] = cluster_of[id];
    }
    let above = n_leaves + joins.len();
    let cluster = |c: usize| if c < n_parts { cluster_of_part[c] } else { above + c - n_parts };
    joins.extend(pairs.iter().map(|pair| pair.map(cluster)));
    Ok(joins)
}

/// Which parts are joined, in order: join r of n parts makes the cluster n + r.
fn joined(parts: &Contracted, criterion: Criterion) -> Vec<[usize; 2]> {
    let mut clusters = Clusters::new(parts);
    let mut queue = BinaryHeap::new();
    let push = |queue: &mut BinaryHeap<Ranked<[usize; 2]>>, clusters: &Clusters, c: usize, least: usize| {
        for (&other, &tie) in clusters.ties[c].range(least..) {
            let rank = tie / criterion.balance(clusters.sizes[c], clusters.sizes[other]);
            queue.push(Ranked { rank, what: Reverse([c.min(other), c.max(other)]) });
        }
    };
    (0..clusters.ties.len()).for_each(|c| push(&mut queue, &clusters, c, c + 1));
    let mut pairs = Vec::new();
    while let Some(Ranked { what: Reverse(pair), .. }) = queue.pop() {
        if pair.iter().all(|&c| clusters.is_there[c]) {
            let new = clusters.join(pair);
            push(&mut queue, &clusters, new, 0);
            pairs.push(pair);
        }
    }
    let mut loose = BinaryHeap::new();
    let keep = |loose: &mut BinaryHeap<Ranked<usize>>, clusters: &Clusters, c: usize| {
        loose.push(Ranked { rank: -clusters.sizes[c], what: Reverse(c) });
    };
    (0..clusters.ties.len()).filter(|&c| clusters.is_there[c]).for_each(|c| keep(&mut loose, &clusters, c));
    while let (Some(a), Some(b)) = (loose.pop(), loose.pop()) {
        let (Reverse(a), Reverse(b)) = (a.what, b.what);
        let pair = [a.min(b), a.max(b)];
        let new = clusters.join(pair);
        keep(&mut loose, &clusters, new);
        pairs.push(pair);
    }
    pairs
}

/// What the partitions into 1, 2, … parts cost, from the whole downwards: there the terms are small, and stay exact.
fn costs(parts: &Contracted, criterion: Criterion, pairs: &[[usize; 2]]) -> Vec<f64> {
    let n = pairs.len() + 1;
    let mut clusters = Clusters::new(parts);
    let mut all_terms: Vec<f64> = (0..n).map(|c| clusters.term(c, criterion)).collect();
    for &pair in pairs {
        let new = clusters.join(pair);
        all_terms.push(clusters.term(new, criterion));
    }
    let mut terms = vec![0.0; all_terms.len()];
    let mut total = Compensated::default();
    let mut costs = vec![0.0];
    for (r, &[a, b]) in pairs.iter().enumerate().rev() {
        for change in [-terms[n + r], all_terms[a], all_terms[b]] {
            total.add(change);
        }
        (terms[n + r], terms[a], terms[b]) = (0.0, all_terms[a], all_terms[b]);
        let sum = total.value().max(0.0);
        costs.push(if criterion.is_largest() { criterion.total(terms.iter().copied()) } else { sum });
    }
    costs
}

/// Clusters of parts on their way up.
struct Clusters {
    /// Ties of each cluster that is still there to others, by number.
    ties: Vec<BTreeMap<usize, f64>>,
    sizes: Vec<f64>,
    is_there: Vec<bool>,
}

impl Clusters {
    fn new(parts: &Contracted) -> Self {
        let n = parts.graph.n_vertices();
        let mut ties = vec![BTreeMap::new(); n];
        parts.graph.for_each_edge(|a, b, w| {
            ties[a].insert(b, w);
            ties[b].insert(a, w);
        });
        Self { ties, sizes: parts.sizes.clone(), is_there: vec![true; n] }
    }

    fn term(&self, cluster: usize, criterion: Criterion) -> f64 {
        criterion.term(self.ties[cluster].values().sum(), self.sizes[cluster])
    }

    /// Puts one cluster in the place of two; returns its number.
    fn join(&mut self, [a, b]: [usize; 2]) -> usize {
        let new = self.ties.len();
        let mut ties = [std::mem::take(&mut self.ties[a]), std::mem::take(&mut self.ties[b])];
        ties.sort_by_key(BTreeMap::len);
        let [fewer, mut all] = ties;
        for (other, tie) in fewer {
            *all.entry(other).or_insert(0.0) += tie;
        }
        all.retain(|&other, _| other != a && other != b);
        for (&other, &tie) in &all {
            let theirs = &mut self.ties[other];
            theirs.remove(&a);
            theirs.remove(&b);
            theirs.insert(new, tie);
        }
        (self.is_there[a], self.is_there[b]) = (false, false);
        self.is_there.push(true);
        self.sizes.push(self.sizes[a] + self.sizes[b]);
        self.ties.push(all);
        new
    }
}

/// Something with a rank, the highest first, and the earliest on ties.
struct Ranked<T> {
    rank: f64,
    what: Reverse<T>,
}

impl<T: Ord> Ord for Ranked<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.total_cmp(&other.rank).then_with(|| self.what.cmp(&other.what))
    }
}

impl<T: Ord> PartialOrd for Ranked<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord> PartialEq for Ranked<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T: Ord> Eq for Ranked<T> {}

#[cfg(test)]
mod tests;
