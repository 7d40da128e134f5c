//! The history of a bisection: which part was split when, and what the partition cost from then on.

use crate::{
    error::{Error, Result},
    labels::Labels,
};

use super::threshold::Split;

/// A part that existed at some time during a bisection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    parent: Option<usize>,
    children: Option<[usize; 2]>,
    start: usize,
    end: usize,
    step: Option<usize>,
}

impl Node {
    /// The node this one was split from; `None` for the root.
    pub fn parent(&self) -> Option<usize> {
        self.parent
    }

    /// The two nodes this one was split into; `None` for a leaf.
    pub fn children(&self) -> Option<[usize; 2]> {
        self.children
    }

    /// How many vertices it holds.
    pub fn size(&self) -> usize {
        self.end - self.start
    }

    /// The step, counted from 1, that split it: after step s there are s + 1 parts. `None` for a leaf.
    pub fn step(&self) -> Option<usize> {
        self.step
    }
}

/// A binary tree of nested parts; every number of parts up to that of the leaves can be read off.
///
/// Node 0 is the root, and step s splits one node into the nodes 2s − 1 and 2s. The members of a node are a
/// contiguous piece of one permutation of the vertices.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    nodes: Vec<Node>,
    /// The vertices, so ordered that each node owns a range; increasing inside each leaf.
    order: Vec<u32>,
    /// The cost of the partition into 1, 2, … parts.
    costs: Vec<f64>,
    is_complete: bool,
}

impl Tree {
    /// All vertices in one part of the given cost.
    pub(super) fn new(n_vertices: usize, cost: f64) -> Self {
        let root = Node { parent: None, children: None, start: 0, end: n_vertices, step: None };
        let order = (0..n_vertices as u32).collect();
        Self { nodes: vec![root], order, costs: vec![cost], is_complete: true }
    }

    /// Splits a leaf; returns its two children.
    pub(super) fn split(&mut self, node: usize, split: &Split, cost: f64) -> [usize; 2] {
        debug_assert!(
            self.nodes[node].children.is_none()
                && self.nodes[node].size() == split.low.len() + split.high.len()
        );
        let children = [self.nodes.len(), self.nodes.len() + 1];
        let (start, end) = (self.nodes[node].start, self.nodes[node].end);
        let middle = start + split.low.len();
        self.order[start..middle].copy_from_slice(&split.low);
        self.order[middle..end].copy_from_slice(&split.high);
        self.nodes[node].children = Some(children);
        self.nodes[node].step = Some(self.costs.len());
        let leaf = |start, end| Node { parent: Some(node), children: None, start, end, step: None };
        self.nodes.extend([leaf(start, middle), leaf(middle, end)]);
        self.costs.push(cost);
        children
    }

    /// The same tree over its leaves: vertex l is the leaf that [`Tree::cut`] numbers l in the finest partition.
    pub(super) fn contracted(&self) -> Result<Self> {
        let leaf = self.cut(self.n_leaves())?;
        // Vertices of a leaf stand side by side, so each leaf begins where the label changes.
        let mut order: Vec<u32> = Vec::with_capacity(self.n_leaves());
        let mut n_before = Vec::with_capacity(self.n_vertices() + 1);
        for &vertex in &self.order {
            n_before.push(order.len());
            let own = leaf.as_slice()[vertex as usize];
            if order.last() != Some(&own) {
                order.push(own);
            }
        }
        n_before.push(order.len());
        // A node begins with a new leaf, so the count before its first vertex is that of the leaves before it.
        let shrink =
            |node: &Node| Node { start: n_before[node.start], end: n_before[node.end], ..node.clone() };
        let nodes = self.nodes.iter().map(shrink).collect();
        Ok(Self { nodes, order, costs: self.costs.clone(), is_complete: self.is_complete })
    }

    /// The same tree with every vertex replaced by some of another numbering, which it stood for.
    pub(crate) fn lifted(&self, members: &[Vec<u32>]) -> Self {
        let mut n_before = vec![0];
        let mut order = Vec::new();
        for &vertex in &self.order {
            order.extend_from_slice(&members[vertex as usize]);
            n_before.push(order.len());
        }
        let grow =
            |node: &Node| Node { start: n_before[node.start], end: n_before[node.end], ..node.clone() };
        let nodes: Vec<Node> = self.nodes.iter().map(grow).collect();
        for leaf in nodes.iter().filter(|node| node.children.is_none()) {
            order[leaf.start..leaf.end].sort_unstable();
        }
        Self { nodes, order, costs: self.costs.clone(), is_complete: self.is_complete }
    }

    /// A tree over leaves from the clusters that are joined, the last join at the top; cluster r of n − 1 joins is
    /// numbered n + r, and each is joined once, which the caller has checked.
    pub(super) fn from_joins(joins: &[[usize; 2]], costs: &[f64]) -> Self {
        let n = joins.len() + 1;
        let mut n_leaves = vec![1; n];
        for &[a, b] in joins {
            n_leaves.push(n_leaves[a] + n_leaves[b]);
        }
        let root = Node { parent: None, children: None, start: 0, end: n, step: None };
        let mut tree =
            Self { nodes: vec![root], order: vec![0; n], costs: costs.to_vec(), is_complete: true };
        let mut node_of = vec![0; 2 * n - 1];
        for (step, (r, &[low, high])) in (1..n).zip(joins.iter().enumerate().rev()) {
            let node = node_of[n + r];
            let (start, end) = (tree.nodes[node].start, tree.nodes[node].end);
            let middle = start + n_leaves[low];
            tree.nodes[node].children = Some([2 * step - 1, 2 * step]);
            tree.nodes[node].step = Some(step);
            let leaf = |start, end| Node { parent: Some(node), children: None, start, end, step: None };
            tree.nodes.extend([leaf(start, middle), leaf(middle, end)]);
            (node_of[low], node_of[high]) = (2 * step - 1, 2 * step);
        }
        for leaf in 0..n {
            tree.order[tree.nodes[node_of[leaf]].start] = leaf as u32;
        }
        tree
    }

    /// The same tree without the splits that made more than `n_leaves` parts.
    pub(crate) fn truncated(mut self, n_leaves: usize) -> Self {
        self.nodes.truncate(2 * n_leaves - 1);
        self.costs.truncate(n_leaves);
        for node in &mut self.nodes {
            if node.step.is_some_and(|step| step >= n_leaves) {
                (node.children, node.step) = (None, None);
                self.order[node.start..node.end].sort_unstable();
            }
        }
        self
    }

    pub(super) fn mark_incomplete(&mut self) {
        self.is_complete = false;
    }

    /// How many vertices.
    pub fn n_vertices(&self) -> usize {
        self.order.len()
    }

    /// How many parts the finest partition has.
    pub fn n_leaves(&self) -> usize {
        self.costs.len()
    }

    /// Whether the bisection got as far as it was asked to; `false` when the observer stopped it before.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The cost (7) of the partition into 1, 2, …, [`Tree::n_leaves`] parts.
    pub fn costs(&self) -> &[f64] {
        &self.costs
    }

    /// All nodes, the root first, then two for each step.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The vertices of a node, increasing when it is a leaf.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`] when there is no such node.
    pub fn members(&self, node: usize) -> Result<&[u32]> {
        let limit = self.nodes.len();
        let node = self.nodes.get(node).ok_or(Error::IndexOutOfRange {
            what: "the tree node",
            index: node,
            limit,
        })?;
        Ok(&self.order[node.start..node.end])
    }

    /// The partition into `n_segments` parts: the one that existed after `n_segments` − 1 steps.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for zero parts or more parts than there are leaves.
    ///
    /// # Complexity
    /// O(n + number of parts).
    pub fn cut(&self, n_segments: usize) -> Result<Labels> {
        if n_segments == 0 || n_segments > self.n_leaves() {
            let (name, value) = ("n_segments", n_segments as f64);
            let expected = "at least 1 and no more than the leaves of the tree";
            return Err(Error::InvalidParameter { name, value, expected });
        }
        let mut raw = vec![0; self.n_vertices()];
        for (id, node) in self.nodes[..2 * n_segments - 1].iter().enumerate() {
            if node.step.is_none_or(|step| step >= n_segments) {
                self.order[node.start..node.end].iter().for_each(|&v| raw[v as usize] = id as u32);
            }
        }
        Ok(Labels::from_raw(&raw))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(low: &[u32], high: &[u32]) -> Split {
        Split { low: low.to_vec(), high: high.to_vec(), low_cost: 0.0, high_cost: 0.0, threshold: None }
    }

    #[test]
    fn every_number_of_parts_is_read_off_in_the_order_of_the_splits() {
        let mut tree = Tree::new(5, 0.0);
        assert_eq!(tree.split(0, &split(&[1, 3], &[0, 2, 4]), 0.5), [1, 2]);
        assert_eq!(tree.split(2, &split(&[4], &[0, 2]), 0.7), [3, 4]);
        assert_eq!(tree.split(1, &split(&[3], &[1]), 0.9), [5, 6]);
        assert_eq!(tree.cut(1).unwrap().as_slice(), &[0, 0, 0, 0, 0]);
        assert_eq!(tree.cut(2).unwrap().as_slice(), &[0, 1, 0, 1, 0]);
        assert_eq!(tree.cut(3).unwrap().as_slice(), &[0, 1, 0, 1, 2]);
        assert_eq!(tree.cut(4).unwrap().as_slice(), &[0, 1, 0, 2, 3]);
        assert_eq!(tree.costs(), &[0.0, 0.5, 0.7, 0.9]);
        assert_eq!((tree.n_leaves(), tree.n_vertices()), (4, 5));
        let node = &tree.nodes()[2];
        assert_eq!(
            (node.parent(), node.children(), node.step(), node.size()),
            (Some(0), Some([3, 4]), Some(2), 3)
        );
        assert_eq!(tree.members(4).unwrap(), &[0, 2]);
        assert!(tree.members(7).is_err());
        assert!(tree.cut(0).is_err() && tree.cut(5).is_err());
    }
}
