//! Hierarchical two-way partition: subgraph → one column → best threshold, repeated.
//!
//! At each step every part of the partition has one candidate split, found once and kept. The step carries out the
//! candidate after which the cost (7) of the *whole* partition is lowest. Candidates are scored with the vertex
//! weights and the edges of the whole graph, although each embedding sees its subgraph alone.

use std::{cmp::Ordering, collections::BinaryHeap, ops::ControlFlow};

use super::{
    peel::best_group,
    threshold::{Compensated, Split, SplitContext, best_threshold},
    tree::Tree,
};
use crate::{
    error::{Error, Result},
    graph::{Balance, Graph},
    labels::Labels,
    parallel,
};

/// The vertex weights that the embedding of a part's subgraph is balanced by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SubgraphBalance {
    /// The weights of the subgraph by itself: its own degrees under [`Balance::Normalized`].
    #[default]
    Own,
    /// The weights that the vertices have in the whole graph.
    Whole,
}

/// Splits a graph into parts, one part at a time.
///
/// ```
/// use std::ops::ControlFlow;
/// use ccbcut::{Balance, graph::gallery, partition::Bisection};
/// // Numbering the vertices is a fair embedding of a path.
/// let embed = |_: &ccbcut::Graph, _: &Balance, members: &[u32]| Ok(members.iter().map(|&v| f64::from(v)).collect());
/// let tree = Bisection::new(4, 1.0).run(&gallery::path(8), &Balance::Ratio, embed, |_| ControlFlow::Continue(()))?;
/// assert_eq!(tree.cut(2)?.as_slice(), &[0, 0, 0, 0, 1, 1, 1, 1]);
/// assert_eq!(tree.cut(4)?.n_segments(), 4);
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Bisection {
    n_segments: usize,
    tau: f64,
    subgraph_balance: SubgraphBalance,
    min_size: usize,
}

/// What the observer of a bisection sees after each split.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BisectionStep {
    /// How many parts there are now.
    pub n_segments: usize,
    /// How many there shall be.
    pub target: usize,
    /// The cost (7) of the partition now.
    pub cost: f64,
    /// The node of the tree that was split.
    pub node: usize,
    /// The sizes of the two new parts.
    pub sizes: [usize; 2],
}

impl Bisection {
    /// Asks for `n_segments` parts of low cost CCB_τ.
    pub fn new(n_segments: usize, tau: f64) -> Self {
        Self { n_segments, tau, subgraph_balance: SubgraphBalance::Own, min_size: 1 }
    }

    /// The least number of vertices of a part. Splits that would leave fewer on a side are made only when no part can
    /// be split otherwise, so that the number of parts asked for always comes out.
    #[must_use]
    pub fn min_size(mut self, min_size: usize) -> Self {
        self.min_size = min_size;
        self
    }

    /// The vertex weights for the embeddings of subgraphs.
    #[must_use]
    pub fn subgraph_balance(mut self, subgraph_balance: SubgraphBalance) -> Self {
        self.subgraph_balance = subgraph_balance;
        self
    }

    /// Splits the graph until there are as many parts as asked for.
    ///
    /// `embed(subgraph, balance, members)` gives one value per vertex of a *connected* induced subgraph of three or
    /// more vertices; `members` are their numbers in the whole graph, in increasing order. It may be called from
    /// several threads at a time. The observer sees every split and may stop the run; the tree then has fewer
    /// leaves and [`Tree::is_complete`] is false.
    ///
    /// The candidate split of a part is
    /// - none for a single vertex;
    /// - for a disconnected part, the component whose separation from the rest costs least: no embedding is asked;
    /// - else the best threshold of its embedding;
    /// - where the embedding is constant, the vertex whose separation costs least.
    ///
    /// All under the least size of a part, if there is one; a disconnected part that no component can leave is split
    /// by the embedding of its largest component.
    ///
    /// The part to be split is the one for which the cost of the whole partition gets lowest, the one created
    /// earliest on ties. So exactly `n_segments` parts come out whenever there are as many vertices.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for zero parts, [`Error::TauOutOfRange`] unless τ > 0,
    /// [`Error::TooFewVertices`] for more parts than vertices; [`Error::ShapeMismatch`] or [`Error::NotFinite`] for
    /// an embedding of the wrong length or with values that are not finite; the errors of the balance and of `embed`.
    ///
    /// # Complexity
    /// Two embeddings per step, of the two newest parts, and O(n + edges of these parts) beside them.
    ///
    /// # References
    /// (7) and Section 5 of the paper; the choice of the part follows Bühler & Hein, *Spectral clustering based on
    /// the graph p-Laplacian*, ICML 2009, <https://doi.org/10.1145/1553374.1553385>.
    pub fn run(
        &self,
        graph: &Graph,
        balance: &Balance,
        embed: impl Fn(&Graph, &Balance, &[u32]) -> Result<Vec<f64>> + Sync,
        mut observer: impl FnMut(&BisectionStep) -> ControlFlow<()>,
    ) -> Result<Tree> {
        self.validate(graph)?;
        let pi = balance.weights(graph)?;
        let splitter = Splitter {
            ctx: SplitContext { graph, pi: &pi, tau: self.tau },
            balance,
            subgraph_balance: self.subgraph_balance,
            min_size: self.min_size.max(1),
            embed,
        };
        // The only part has no edge to any other: its cost is zero.
        let mut tree = Tree::new(graph.n_vertices(), 0.0);
        let mut total = Compensated::default();
        let mut candidates = BinaryHeap::new();
        let mut newest = vec![(0, 0.0)];
        while tree.n_leaves() < self.n_segments {
            for candidate in splitter.candidates(&tree, &newest)?.into_iter().flatten() {
                candidates.push(candidate);
            }
            // There is a candidate as long as some part has two vertices.
            let Some(Candidate { node, cost_before, split, .. }) = candidates.pop() else { break };
            for change in [-cost_before, split.low_cost, split.high_cost] {
                total.add(change);
            }
            let cost = total.value().max(0.0);
            let [low, high] = tree.split(node, &split, cost);
            newest = vec![(low, split.low_cost), (high, split.high_cost)];
            let (n_segments, target) = (tree.n_leaves(), self.n_segments);
            let sizes = [split.low.len(), split.high.len()];
            let step = BisectionStep { n_segments, target, cost, node, sizes };
            if observer(&step).is_break() && n_segments < target {
                tree.mark_incomplete();
                break;
            }
        }
        Ok(tree)
    }

    fn validate(&self, graph: &Graph) -> Result<()> {
        if self.n_segments == 0 {
            return Err(Error::InvalidParameter { name: "n_segments", value: 0.0, expected: "at least 1" });
        }
        if !(self.tau.is_finite() && self.tau > 0.0) {
            let expected = "the cost is defined for finite tau above 0";
            return Err(Error::TauOutOfRange { tau: self.tau, expected });
        }
        if self.n_segments > graph.n_vertices() {
            return Err(Error::TooFewVertices { vertices: graph.n_vertices(), segments: self.n_segments });
        }
        Ok(())
    }
}

/// The best split of a leaf, ordered so that the heap yields the lowest cost first.
struct Candidate {
    /// Whether a side is below the least size: a last resort.
    is_small: bool,
    /// By how much the cost of the whole partition changes.
    change: f64,
    node: usize,
    cost_before: f64,
    split: Split,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_size = other.is_small.cmp(&self.is_small);
        by_size.then(other.change.total_cmp(&self.change)).then(other.node.cmp(&self.node))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

/// Everything that is needed to find the best split of a part.
struct Splitter<'a, E> {
    ctx: SplitContext<'a>,
    balance: &'a Balance,
    subgraph_balance: SubgraphBalance,
    min_size: usize,
    embed: E,
}

impl<E: Fn(&Graph, &Balance, &[u32]) -> Result<Vec<f64>> + Sync> Splitter<'_, E> {
    /// The candidates of one or two leaves, given with their costs, at the same time.
    fn candidates(&self, tree: &Tree, leaves: &[(usize, f64)]) -> Result<Vec<Option<Candidate>>> {
        let found = parallel::map(leaves.len(), |leaf| -> Result<Option<Candidate>> {
            let (node, cost_before) = leaves[leaf];
            let Some(split) = self.best_split(tree.members(node)?)? else { return Ok(None) };
            // Adding 0.0 turns −0.0 into 0.0, which must tie with it.
            let change = split.cost() - cost_before + 0.0;
            let is_small = split.low.len().min(split.high.len()) < self.min_size;
            Ok(Some(Candidate { is_small, change, node, cost_before, split }))
        });
        found.into_iter().collect()
    }

    fn best_split(&self, members: &[u32]) -> Result<Option<Split>> {
        if members.len() < 2 {
            return Ok(None);
        }
        let singles: Vec<u32> = (0..members.len() as u32).collect();
        if members.len() == 2 {
            return best_group(&self.ctx, members, &singles, 1);
        }
        let subgraph = self.ctx.graph.induced(members);
        let components = subgraph.components();
        if components.n_segments() > 1 {
            return self.split_disconnected(members, &components);
        }
        let values = self.embedded(&subgraph, members)?;
        for min_size in [self.min_size, 1] {
            if let Some(split) = best_threshold(&self.ctx, members, &values, min_size)? {
                return Ok(Some(split));
            }
        }
        best_group(&self.ctx, members, &singles, 1)
    }

    /// One component against the others; where none is large enough, a threshold through the largest, the others on
    /// the side of its highest value; where that cannot be either, the cheapest component however small.
    fn split_disconnected(&self, members: &[u32], components: &Labels) -> Result<Option<Split>> {
        let groups = components.as_slice();
        if let Some(split) = best_group(&self.ctx, members, groups, self.min_size)? {
            return Ok(Some(split));
        }
        let sizes = components.sizes();
        let largest = (0..sizes.len()).fold(0, |best, c| if sizes[c] > sizes[best] { c } else { best });
        if sizes[largest] > self.min_size.max(2) {
            let is_inside = |p: &usize| groups[*p] as usize == largest;
            let inside: Vec<u32> = (0..members.len()).filter(is_inside).map(|p| members[p]).collect();
            let embedded = self.embedded(&self.ctx.graph.induced(&inside), &inside)?;
            let highest = embedded.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mut next = embedded.into_iter();
            let value = |p: usize| if is_inside(&p) { next.next().unwrap_or(highest) } else { highest };
            let values: Vec<f64> = (0..members.len()).map(value).collect();
            if let Some(split) = best_threshold(&self.ctx, members, &values, self.min_size)? {
                return Ok(Some(split));
            }
        }
        best_group(&self.ctx, members, groups, 1)
    }

    /// The one-column embedding of a connected subgraph.
    fn embedded(&self, subgraph: &Graph, members: &[u32]) -> Result<Vec<f64>> {
        let balance = match self.subgraph_balance {
            SubgraphBalance::Own => self.balance.restrict(members),
            SubgraphBalance::Whole => {
                Balance::Custom(members.iter().map(|&v| self.ctx.pi[v as usize]).collect())
            }
        };
        (self.embed)(subgraph, &balance, members)
    }
}

#[cfg(test)]
mod tests;
