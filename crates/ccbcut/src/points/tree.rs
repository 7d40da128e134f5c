//! A k-d tree: boxes of points, halved along their longest side.

use super::{Best, Points};

/// Points in a leaf, at most.
const LEAF: usize = 16;
/// What rounding may take from a bound on distances.
const SLACK: f64 = 1.0 - 1e-12;

/// A box of the tree.
#[derive(Debug, Clone, Copy)]
struct Node {
    start: u32,
    end: u32,
    /// The lowest number of its points.
    first: u32,
    /// Its two halves, if any: the coordinate that tells them apart, where, and the number of the upper half (the lower
    /// one follows its parent).
    halves: Option<(u32, f64, u32)>,
}

/// A tree over points, which are copied in the order of its leaves.
pub(super) struct KdTree {
    n_dimensions: usize,
    nodes: Vec<Node>,
    order: Vec<u32>,
    values: Vec<f64>,
}

impl KdTree {
    pub(super) fn new(points: &Points) -> Self {
        let mut order: Vec<u32> = (0..points.len() as u32).collect();
        let mut nodes = Vec::with_capacity(4 * points.len() / LEAF + 1);
        grow(points, &mut order, 0, &mut nodes);
        let values = order.iter().flat_map(|&p| points.row(p as usize)).copied().collect();
        Self { n_dimensions: points.n_dimensions(), nodes, order, values }
    }

    /// The neighbours of one block of points, in the order of the leaves, each with its point.
    pub(super) fn nearest(&self, block: usize, size: usize, k: usize) -> Vec<(usize, Vec<(f64, u32)>)> {
        let mut sides = vec![0.0; self.n_dimensions];
        let range = block * size..((block + 1) * size).min(self.order.len());
        range
            .map(|at| {
                let mut search = Search { tree: self, own: at, query: self.row(at), best: Best::new(k) };
                sides.fill(0.0);
                search.visit(0, 0.0, &mut sides);
                (self.order[at] as usize, search.best.found)
            })
            .collect()
    }

    fn row(&self, at: usize) -> &[f64] {
        &self.values[at * self.n_dimensions..(at + 1) * self.n_dimensions]
    }
}

/// Builds the node over `order`, which starts at `start` of all, and those below it.
fn grow(points: &Points, order: &mut [u32], start: usize, nodes: &mut Vec<Node>) {
    let own = nodes.len();
    let (end, first) = (start + order.len(), order.iter().copied().min().unwrap_or(0));
    nodes.push(Node { start: start as u32, end: end as u32, first, halves: None });
    if order.len() <= LEAF {
        return;
    }
    let axis = longest_side(points, order);
    let key = |p: u32| points.row(p as usize)[axis];
    let middle = order.len() / 2;
    order.select_nth_unstable_by(middle, |&a, &b| key(a).total_cmp(&key(b)).then(a.cmp(&b)));
    let place = key(order[middle]);
    let (low, high) = order.split_at_mut(middle);
    grow(points, low, start, nodes);
    let upper = nodes.len() as u32;
    grow(points, high, start + middle, nodes);
    nodes[own].halves = Some((axis as u32, place, upper));
}

/// The coordinate in which the points differ most, the first of equals.
fn longest_side(points: &Points, order: &[u32]) -> usize {
    let extent = |axis: usize| {
        let values = order.iter().map(|&p| points.row(p as usize)[axis]);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        high - low
    };
    let mut best = (0, extent(0));
    for axis in 1..points.n_dimensions() {
        let side = extent(axis);
        if side > best.1 {
            best = (axis, side);
        }
    }
    best.0
}

/// One search for the neighbours of a point.
struct Search<'a> {
    tree: &'a KdTree,
    own: usize,
    query: &'a [f64],
    best: Best,
}

impl Search<'_> {
    /// Looks into a box that is √`bound` away; `sides` holds how far along each coordinate.
    fn visit(&mut self, node: usize, bound: f64, sides: &mut [f64]) {
        let Node { start, end, first, halves } = self.tree.nodes[node];
        let worst = self.best.worst();
        // Equal distances are looked at, as a lower number wins; among points that coincide the numbers tell.
        if bound * SLACK > worst.0 || (worst.0 == 0.0 && first > worst.1) {
            return;
        }
        let Some((axis, place, upper)) = halves else {
            for at in start as usize..end as usize {
                if at != self.own {
                    let row = self.tree.row(at);
                    let squared = row.iter().zip(self.query).map(|(a, b)| (a - b) * (a - b)).sum();
                    self.best.offer((squared, self.tree.order[at]));
                }
            }
            return;
        };
        let across = self.query[axis as usize] - place;
        let (near, far) = if across <= 0.0 { (node + 1, upper as usize) } else { (upper as usize, node + 1) };
        self.visit(near, bound, sides);
        let before = sides[axis as usize];
        sides[axis as usize] = across.abs();
        self.visit(far, bound - before * before + across * across, sides);
        sides[axis as usize] = before;
    }
}
