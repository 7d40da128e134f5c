//! Hierarchical two-way partition: subgraph → one column → best threshold, repeated.
//!
//! At each step every part of the partition has one candidate split, found once and kept. The step carries out the
//! candidate after which the cost (7) of the *whole* partition is lowest. Candidates are scored with the vertex
//! weights and the edges of the whole graph, although each embedding sees its subgraph alone.

use std::ops::ControlFlow;

use super::{
    candidates::{Candidate, Candidates},
    peel::{best_group, lighter_bin},
    refine::Refine,
    rejoin::{Contract, Contracted, n_joined, rejoined},
    threshold::{Prefixes, Split, SplitContext, best_prefix},
    tree::Tree,
};
use crate::{
    cost::Criterion,
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
    criterion: Criterion,
    subgraph_balance: SubgraphBalance,
    min_size: usize,
    pieces: Pieces,
    prefixes: Prefixes,
    is_refined: bool,
}

/// How a part that is not connected is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pieces {
    /// The cheapest component leaves; no embedding is asked.
    #[default]
    Peel,
    /// As the public code of the inverse power method does it. The components of the whole graph are dealt into two
    /// bins, the largest first to the lighter bin. Later, unless a component can leave at no cost, every component is
    /// embedded too, the others going with either of its sides.
    Thorough,
}

/// What the observer of a bisection sees after each split.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BisectionStep {
    /// How many parts there are now.
    pub n_segments: usize,
    /// How many there shall be.
    pub target: usize,
    /// The cost of the partition now.
    pub cost: f64,
    /// The node of the tree that was split.
    pub node: usize,
    /// The sizes of the two new parts.
    pub sizes: [usize; 2],
}

impl Bisection {
    /// Asks for `n_segments` parts of low cost CCB_τ.
    pub fn new(n_segments: usize, tau: f64) -> Self {
        Self {
            n_segments,
            criterion: Criterion::Ccb { tau },
            subgraph_balance: SubgraphBalance::Own,
            min_size: 1,
            pieces: Pieces::Peel,
            prefixes: Prefixes::Distinct,
            is_refined: false,
        }
    }

    /// Asks for no fewer parts than that.
    #[must_use]
    pub(crate) fn at_least(mut self, n_segments: usize) -> Self {
        self.n_segments = self.n_segments.max(n_segments);
        self
    }

    /// A tree of this bisection with its first `n_parts` parts joined anew, by the ties that `contract` gives them, or by those
    /// of the graph.
    pub(crate) fn rejoined(
        &self,
        tree: Tree,
        graph: &Graph,
        balance: &Balance,
        n_parts: usize,
        contract: Option<Contract<'_>>,
    ) -> Result<Tree> {
        let n_parts = n_joined(&tree, n_parts, self.min_size);
        if n_parts == 0 {
            return Ok(tree);
        }
        let parts = tree.cut(n_parts)?;
        let own = Contracted::new(graph, &parts, &balance.weights(graph)?)?;
        match contract {
            Some(contract) => rejoined(&tree, n_parts, &contract(&parts)?, &own, self.criterion),
            None => rejoined(&tree, n_parts, &own, &own, self.criterion),
        }
    }

    /// Another cost to be made small.
    #[must_use]
    pub fn criterion(mut self, criterion: Criterion) -> Self {
        self.criterion = criterion;
        self
    }

    /// How a part that is not connected is split.
    #[must_use]
    pub fn pieces(mut self, pieces: Pieces) -> Self {
        self.pieces = pieces;
        self
    }

    /// Which thresholds of a column are looked at.
    #[must_use]
    pub fn prefixes(mut self, prefixes: Prefixes) -> Self {
        self.prefixes = prefixes;
        self
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

    /// Whether every split is refined by [`Refine`] before it counts, as is the cheapest single vertex of the part, of
    /// which the better one is taken: the parts stay nested.
    #[must_use]
    pub fn refine(mut self, is_refined: bool) -> Self {
        self.is_refined = is_refined;
        self
    }

    /// Splits the graph until there are as many parts as asked for.
    ///
    /// `embed(subgraph, balance, members)` gives one value per vertex of a *connected* induced subgraph of three or
    /// more vertices, or several columns of them, one after the other, of which the one with the best threshold
    /// counts; `members` are their numbers in the whole graph, in increasing order. It may be called from
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
        observer: impl FnMut(&BisectionStep) -> ControlFlow<()>,
    ) -> Result<Tree> {
        self.run_urgent(graph, balance, embed, |_| false, observer)
    }

    /// As [`Bisection::run`]; parts of which `is_urgent(members)` is true are split before all others, and beyond the number
    /// of parts asked for.
    pub(crate) fn run_urgent(
        &self,
        graph: &Graph,
        balance: &Balance,
        embed: impl Fn(&Graph, &Balance, &[u32]) -> Result<Vec<f64>> + Sync,
        is_urgent: impl Fn(&[u32]) -> bool + Sync,
        mut observer: impl FnMut(&BisectionStep) -> ControlFlow<()>,
    ) -> Result<Tree> {
        self.validate(graph)?;
        let pi = balance.weights(graph)?;
        let splitter = Splitter {
            ctx: SplitContext { graph, pi: &pi, criterion: self.criterion },
            balance,
            settings: self,
            min_size: self.min_size.max(1),
            embed,
        };
        // The only part has no edge to any other: its cost is zero.
        let mut tree = Tree::new(graph.n_vertices(), 0.0);
        let mut candidates = Candidates::new(self.criterion);
        let mut newest = vec![(0, 0.0)];
        loop {
            // Once there are parts enough, only what must be split is looked at.
            let are_enough = tree.n_leaves() >= self.n_segments;
            let mut open = Vec::with_capacity(newest.len());
            let mut urgent = Vec::new();
            for &(node, before) in &newest {
                let must = is_urgent(tree.members(node)?);
                if must {
                    urgent.push(node);
                }
                if must || !are_enough {
                    open.push((node, before));
                }
            }
            for mut candidate in splitter.candidates(&tree, &open)?.into_iter().flatten() {
                candidate.is_urgent = urgent.contains(&candidate.node);
                candidates.push(candidate);
            }
            if are_enough && !candidates.has_urgent() {
                break;
            }
            // There is a candidate as long as some part has two vertices.
            let Some(candidate) = candidates.take_best() else { break };
            let cost = candidates.split(&candidate);
            let Candidate { node, split, .. } = candidate;
            let [low, high] = tree.split(node, &split, cost);
            newest = vec![(low, split.low_cost), (high, split.high_cost)];
            let (n_segments, target) = (tree.n_leaves(), self.n_segments);
            let sizes = [split.low.len(), split.high.len()];
            let step = BisectionStep { n_segments, target, cost, node, sizes };
            let is_done = n_segments >= target && !candidates.has_urgent();
            if observer(&step).is_break() && !is_done {
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
        self.criterion.validate()?;
        if self.n_segments > graph.n_vertices() {
            return Err(Error::TooFewVertices { vertices: graph.n_vertices(), segments: self.n_segments });
        }
        Ok(())
    }
}

/// Everything that is needed to find the best split of a part.
struct Splitter<'a, E> {
    ctx: SplitContext<'a>,
    balance: &'a Balance,
    settings: &'a Bisection,
    min_size: usize,
    embed: E,
}

impl<E: Fn(&Graph, &Balance, &[u32]) -> Result<Vec<f64>> + Sync> Splitter<'_, E> {
    /// The candidates of one or two leaves, given with their costs, at the same time.
    fn candidates(&self, tree: &Tree, leaves: &[(usize, f64)]) -> Result<Vec<Option<Candidate>>> {
        let found = parallel::map(leaves.len(), |leaf| -> Result<Option<Candidate>> {
            let (node, before) = leaves[leaf];
            let Some(mut split) = self.best_split(tree.members(node)?)? else { return Ok(None) };
            if self.settings.is_refined {
                split = self.refined(&split, tree.members(node)?)?;
            }
            let is_small = split.low.len().min(split.high.len()) < self.min_size;
            Ok(Some(Candidate { is_urgent: false, is_small, node, before, split }))
        });
        found.into_iter().collect()
    }

    /// The better of the refined split, and of the refinement of the cheapest single vertex: where balance counts little,
    /// a threshold through the middle is far from the best cut, and moves one by one do not lead there.
    fn refined(&self, split: &Split, members: &[u32]) -> Result<Split> {
        let refine = Refine::new(self.ctx.criterion);
        let best = refine.split(&self.ctx, split, self.min_size)?;
        let singles: Vec<u32> = (0..members.len() as u32).collect();
        let Some(single) = best_group(&self.ctx, members, &singles, self.min_size)? else { return Ok(best) };
        let other = refine.split(&self.ctx, &single, self.min_size)?;
        let is_better = other.cost(self.ctx.criterion) < best.cost(self.ctx.criterion);
        Ok(if is_better { other } else { best })
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
            if let Some(split) = self.best_column(members, &values, min_size)? {
                return Ok(Some(split));
            }
        }
        best_group(&self.ctx, members, &singles, 1)
    }

    /// The best threshold of several columns, the first column on ties.
    fn best_column(&self, members: &[u32], columns: &[f64], min_size: usize) -> Result<Option<Split>> {
        let m = members.len();
        if columns.is_empty() || !columns.len().is_multiple_of(m) {
            let (what, got) = ("the embedding of a part", columns.len());
            return Err(Error::ShapeMismatch { what, expected: m, got });
        }
        let prefixes = self.settings.prefixes;
        let splits = columns.chunks_exact(m).map(|c| best_prefix(&self.ctx, members, c, min_size, prefixes));
        self.best_of(splits)
    }

    fn best_of(&self, splits: impl Iterator<Item = Result<Option<Split>>>) -> Result<Option<Split>> {
        let mut best: Option<Split> = None;
        for split in splits {
            let Some(split) = split? else { continue };
            let cost = |split: &Split| split.cost(self.ctx.criterion);
            if best.as_ref().is_none_or(|best| cost(&split) < cost(best)) {
                best = Some(split);
            }
        }
        Ok(best)
    }

    /// One component against the others; where none is large enough, a threshold through the largest, the others on
    /// the side of its highest value; where that cannot be either, the cheapest component however small.
    fn split_disconnected(&self, members: &[u32], components: &Labels) -> Result<Option<Split>> {
        let groups = components.as_slice();
        let peeled = match self.settings.pieces {
            Pieces::Thorough if members.len() == self.ctx.graph.n_vertices() && self.min_size == 1 => {
                return best_group(&self.ctx, members, &lighter_bin(&self.ctx, members, groups), 1);
            }
            _ => best_group(&self.ctx, members, groups, self.min_size)?,
        };
        let is_free = peeled.as_ref().is_some_and(|split| split.cost(self.ctx.criterion) == 0.0);
        if self.settings.pieces == Pieces::Thorough && !is_free {
            let inside = (0..components.n_segments()).map(|c| self.split_component(members, groups, c));
            let best = self.best_of(std::iter::once(Ok(peeled)).chain(inside))?;
            return if best.is_some() { Ok(best) } else { best_group(&self.ctx, members, groups, 1) };
        }
        if peeled.is_some() {
            return Ok(peeled);
        }
        let sizes = components.sizes();
        let largest = (0..sizes.len()).fold(0, |best, c| if sizes[c] > sizes[best] { c } else { best });
        if sizes[largest] > self.min_size.max(2)
            && let Some(split) = self.split_component(members, groups, largest)?
        {
            return Ok(Some(split));
        }
        best_group(&self.ctx, members, groups, 1)
    }

    /// A threshold through one component, the other ones on the side of its highest or of its lowest value.
    fn split_component(&self, members: &[u32], groups: &[u32], chosen: usize) -> Result<Option<Split>> {
        let is_inside = |p: usize| groups[p] as usize == chosen;
        let inside: Vec<u32> = (0..members.len()).filter(|&p| is_inside(p)).map(|p| members[p]).collect();
        let columns = match inside.len() {
            0 | 1 => return Ok(None),
            2 => vec![0.0, 1.0],
            _ => self.embedded(&self.ctx.graph.induced(&inside), &inside)?,
        };
        let mut all = Vec::new();
        for column in columns.chunks_exact(inside.len()) {
            let extent = |least: f64, f: fn(f64, f64) -> f64| column.iter().copied().fold(least, f);
            let highest = extent(f64::NEG_INFINITY, f64::max);
            let lowest = extent(f64::INFINITY, f64::min);
            let ends =
                if self.settings.pieces == Pieces::Peel { vec![highest] } else { vec![highest, lowest] };
            for end in ends {
                let mut next = column.iter();
                let value = |p: usize| if is_inside(p) { next.next().map_or(end, |&x| x) } else { end };
                all.extend((0..members.len()).map(value));
            }
        }
        self.best_column(members, &all, self.min_size)
    }

    /// The columns of a connected subgraph.
    fn embedded(&self, subgraph: &Graph, members: &[u32]) -> Result<Vec<f64>> {
        let balance = match self.settings.subgraph_balance {
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
