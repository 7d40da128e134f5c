//! The tree as a thing of its own: what to keep of a hierarchical cut so that it can be cut again later.
//!
//! A [`Tree`] over n vertices is contracted to its leaves, and each vertex remembers its leaf. Choosing another cut then
//! looks at the leaves only; painting it is one pass over the vertices.

use crate::{
    error::{Error, Result},
    labels::{LabelMap, Labels},
};

use super::tree::Tree;

/// A tree over the leaves of a hierarchical cut, and the leaf of each vertex.
///
/// ```
/// use ccbcut::{Partitioner, graph::gallery, partition::{Dendrogram, Recut}};
/// let cut = Partitioner::new(6, 1.0).partition(&gallery::planted(&[30, 20, 10], 0.7, 0.02, 1))?;
/// let saved = Dendrogram::of(&cut.tree.unwrap())?;
/// let three = saved.select(&Recut { n_segments: Some(3), min_size: 5, ..Recut::default() })?;
/// assert_eq!(three.sizes, vec![30, 20, 10]);
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Dendrogram {
    /// Its vertices are the leaves.
    tree: Tree,
    /// One leaf per vertex, [`LabelMap::VOID`] for none.
    leaf: Vec<u32>,
    /// Vertices of each node of the tree.
    sizes: Vec<usize>,
}

/// Which cut of a [`Dendrogram`] is wanted; what is not set does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Recut {
    /// How many parts.
    pub n_segments: Option<usize>,
    /// No part smaller than this many vertices: a split that would make one is not made, nor are those below it.
    pub min_size: usize,
    /// No part larger than this many vertices.
    pub max_size: Option<usize>,
    /// The largest cost (7) of the partition; the splits are made in their order up to there.
    pub max_cost: Option<f64>,
}

/// A cut of a [`Dendrogram`].
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// The part of each leaf, numbered by first appearance among the vertices.
    pub part_of_leaf: Vec<u32>,
    /// Vertices of each part.
    pub sizes: Vec<usize>,
    /// The cost (7) of the partition.
    pub cost: f64,
}

impl Dendrogram {
    /// What there is to keep of the tree of a cut.
    ///
    /// # Errors
    /// None for a tree that [`super::Bisection`] made.
    pub fn of(tree: &Tree) -> Result<Self> {
        let leaf = tree.cut(tree.n_leaves())?.into_vec();
        Self::new(tree.contracted()?, leaf)
    }

    /// A tree whose vertices are leaves, and the leaf of each vertex ([`LabelMap::VOID`] for a vertex of none).
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless every leaf of the tree is a single vertex, [`Error::IndexOutOfRange`] for a leaf
    /// that the tree does not have.
    pub fn new(tree: Tree, leaf: Vec<u32>) -> Result<Self> {
        let n = tree.n_leaves();
        if tree.n_vertices() != n {
            let (what, got) = ("the tree over the leaves", tree.n_vertices());
            return Err(Error::ShapeMismatch { what, expected: n, got });
        }
        let mut counts = vec![0; n];
        for &own in leaf.iter().filter(|&&own| own != LabelMap::VOID) {
            let slot = counts.get_mut(own as usize);
            let index = own as usize;
            *slot.ok_or(Error::IndexOutOfRange { what: "a leaf", index, limit: n })? += 1;
        }
        // Children come after their parents, so the sums are complete when they are taken.
        let mut sizes = vec![0; tree.nodes().len()];
        for node in (0..sizes.len()).rev() {
            sizes[node] = match tree.nodes()[node].children() {
                Some([low, high]) => sizes[low] + sizes[high],
                None => tree.members(node)?.iter().map(|&own| counts[own as usize]).sum(),
            };
        }
        Ok(Self { tree, leaf, sizes })
    }

    /// The tree whose vertices are the leaves.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The leaf of each vertex, [`LabelMap::VOID`] for a vertex of none.
    pub fn leaf(&self) -> &[u32] {
        &self.leaf
    }

    /// How many vertices each node of the tree holds.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The tree over L leaves as SciPy's hierarchical clustering writes it: L − 1 rows `[a, b, height, leaves]`, where row
    /// r joins the clusters a and b into the cluster L + r.
    ///
    /// Row r undoes the split that made L − r parts, and its height is r + 1: cutting at height h leaves L − h parts,
    /// and every number of parts has a height.
    pub fn linkage(&self) -> Vec<[f64; 4]> {
        let (nodes, n) = (self.tree.nodes(), self.tree.n_leaves());
        let cluster = |node: usize| match nodes[node].step() {
            Some(step) => 2 * n - 1 - step,
            None => self.tree.members(node).map_or(0, |members| members[0] as usize),
        };
        let row = |step: usize| {
            let [low, high] = [2 * step - 1, 2 * step];
            let leaves = nodes[low].size() + nodes[high].size();
            [cluster(low) as f64, cluster(high) as f64, (n - step) as f64, leaves as f64]
        };
        (1..n).rev().map(row).collect()
    }

    /// Reads what [`Dendrogram::linkage`] wrote; `costs` are those of 1, 2, …, L parts.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for rows that do not join two clusters that exist and are free, or whose heights fall;
    /// [`Error::ShapeMismatch`] for another number of costs; [`Error::NotFinite`]; the errors of [`Dendrogram::new`].
    pub fn from_linkage(rows: &[[f64; 4]], costs: &[f64], leaf: Vec<u32>) -> Result<Self> {
        let n = rows.len() + 1;
        if costs.len() != n {
            return Err(Error::ShapeMismatch {
                what: "the costs of the tree",
                expected: n,
                got: costs.len(),
            });
        }
        if let Some(index) = costs.iter().position(|c| !c.is_finite()) {
            return Err(Error::NotFinite { what: "the costs of the tree", index, value: costs[index] });
        }
        let mut children = Vec::with_capacity(rows.len());
        let mut is_free = vec![true; 2 * n];
        for (r, row) in rows.iter().enumerate() {
            for &cluster in &row[..2] {
                let known = cluster >= 0.0 && cluster < (n + r) as f64 && cluster.fract() == 0.0;
                if !known || !std::mem::take(&mut is_free[cluster as usize]) {
                    let (name, expected) = ("a cluster of the linkage", "made before and joined once");
                    return Err(Error::InvalidParameter { name, value: cluster, expected });
                }
            }
            if r > 0 && row[2].partial_cmp(&rows[r - 1][2]).is_none_or(std::cmp::Ordering::is_lt) {
                let (name, expected) = ("a height of the linkage", "at least that of the row before");
                return Err(Error::InvalidParameter { name, value: row[2], expected });
            }
            children.push([row[0] as usize, row[1] as usize]);
        }
        Self::new(Tree::from_joins(&children, costs), leaf)
    }

    /// Chooses a cut.
    ///
    /// Splits are made in the order in which the tree was grown, those alone that keep to the sizes. First those that
    /// [`Recut::max_size`] asks for; then others up to [`Recut::n_segments`] or [`Recut::max_cost`]; if only sizes are
    /// given, all that [`Recut::min_size`] allows, unless there is a largest size, which then decides alone.
    ///
    /// # Errors
    /// [`Error::TooFewParts`], [`Error::TooManyParts`] or [`Error::PartTooLarge`] when the tree has no such cut,
    /// [`Error::InvalidParameter`] for zero parts or a cost that is not a number.
    ///
    /// # Complexity
    /// O(L) for L leaves; the vertices are not looked at.
    pub fn select(&self, recut: &Recut) -> Result<Selection> {
        if recut.n_segments == Some(0) {
            let name = "the number of parts";
            return Err(Error::InvalidParameter { name, value: 0.0, expected: "at least 1" });
        }
        if let Some(value) = recut.max_cost.filter(|cost| cost.is_nan() || *cost < 0.0) {
            return Err(Error::InvalidParameter { name: "the largest cost", value, expected: "0 or above" });
        }
        let mut front = Front::new(self, recut.min_size);
        if let Some(limit) = recut.max_size {
            front.split_while(|_, node, _| (self.sizes[node] > limit).into());
            if let Some(size) = front.parts().map(|node| self.sizes[node]).find(|&size| size > limit) {
                return Err(Error::PartTooLarge { size, limit });
            }
        }
        let Recut { n_segments, max_size, max_cost, .. } = *recut;
        if let Some(asked) = n_segments.filter(|&k| k < front.n_parts) {
            return Err(Error::TooManyParts { least: front.n_parts, asked });
        }
        let is_settled = max_size.is_some() && max_cost.is_none() && n_segments.is_none();
        let most = if is_settled { front.n_parts } else { n_segments.unwrap_or(usize::MAX) };
        let budget = max_cost.unwrap_or(f64::INFINITY);
        front.split_while(
            |n_parts, _, cost| {
                if n_parts < most && cost <= budget { Choice::Split } else { Choice::Stop }
            },
        );
        if let Some(asked) = n_segments.filter(|&k| k > front.n_parts && max_cost.is_none()) {
            return Err(Error::TooFewParts { asked, possible: front.n_parts });
        }
        Ok(self.selection(&front))
    }

    fn selection(&self, front: &Front<'_>) -> Selection {
        let mut node_of_leaf = vec![0_u32; self.tree.n_leaves()];
        for node in front.parts() {
            let members = self.tree.members(node).unwrap_or_default();
            members.iter().for_each(|&leaf| node_of_leaf[leaf as usize] = node as u32);
        }
        // Leaves are numbered by their first vertex, and so are parts that are numbered by their first leaf.
        let parts = Labels::from_raw(&node_of_leaf);
        let mut sizes = vec![0; parts.n_segments()];
        for (leaf, &part) in parts.as_slice().iter().enumerate() {
            sizes[part as usize] = self.sizes[node_of_leaf[leaf] as usize];
        }
        Selection { part_of_leaf: parts.into_vec(), sizes, cost: front.cost }
    }

    /// The part of each vertex, [`LabelMap::VOID`] for a vertex of none.
    pub fn paint(&self, selection: &Selection) -> Vec<u32> {
        let part = |&leaf: &u32| selection.part_of_leaf.get(leaf as usize).copied().unwrap_or(LabelMap::VOID);
        self.leaf.iter().map(part).collect()
    }
}

/// What to do with a split that is possible.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    Split,
    Skip,
    Stop,
}

impl From<bool> for Choice {
    fn from(split: bool) -> Self {
        if split { Self::Split } else { Self::Skip }
    }
}

/// The parts of a partition on its way down the tree.
struct Front<'a> {
    dendrogram: &'a Dendrogram,
    min_size: usize,
    is_split: Vec<bool>,
    n_parts: usize,
    /// The last step that was made.
    last: usize,
    cost: f64,
}

impl<'a> Front<'a> {
    fn new(dendrogram: &'a Dendrogram, min_size: usize) -> Self {
        let cost = dendrogram.tree.costs()[0];
        Self {
            dendrogram,
            min_size,
            is_split: vec![false; dendrogram.sizes.len()],
            n_parts: 1,
            last: 0,
            cost,
        }
    }

    /// Goes through the splits in order; `choose(n_parts, node, cost)` decides about each that is possible, given the
    /// number of parts before it and the cost after it.
    fn split_while(&mut self, choose: impl Fn(usize, usize, f64) -> Choice) {
        let Dendrogram { tree, sizes, .. } = self.dendrogram;
        for step in 1..tree.n_leaves() {
            let (low, high) = (2 * step - 1, 2 * step);
            let Some(node) = tree.nodes()[low].parent() else { continue };
            let is_there = tree.nodes()[node].parent().is_none_or(|parent| self.is_split[parent]);
            if self.is_split[node] || !is_there || sizes[low].min(sizes[high]) < self.min_size {
                continue;
            }
            // The cost of the first splits is known; for others the changes are added up.
            let costs = tree.costs();
            let is_prefix = self.n_parts == step && self.last < step;
            let cost = if is_prefix { costs[step] } else { self.cost + (costs[step] - costs[step - 1]) };
            match choose(self.n_parts, node, cost) {
                Choice::Split => {
                    self.is_split[node] = true;
                    self.n_parts += 1;
                    self.last = self.last.max(step);
                    self.cost = cost;
                }
                Choice::Skip => {}
                Choice::Stop => return,
            }
        }
    }

    /// The nodes that are parts now.
    fn parts(&self) -> impl Iterator<Item = usize> {
        let nodes = self.dendrogram.tree.nodes().iter().enumerate();
        nodes.filter_map(|(id, node)| {
            let is_there = node.parent().is_none_or(|parent| self.is_split[parent]);
            (is_there && !self.is_split[id]).then_some(id)
        })
    }
}

#[cfg(test)]
mod tests;
