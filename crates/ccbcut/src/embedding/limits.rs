//! Which solver an eigenproblem of a given size goes to: asked by the solvers, and by the prediction of memory.

use crate::graph::Graph;

/// Up to this many vertices every eigenpair is found densely with high relative accuracy.
pub(crate) const DENSE_LIMIT: usize = 48;

/// A factorisation of more operations is not attempted.
pub(crate) const MAX_FLOPS: f64 = 8e12;

/// A factorisation with more entries is not attempted.
pub(crate) const MAX_ENTRIES: f64 = 8e8;

/// Graphs with more vertices than this are not factored but go through the multilevel solver …
pub(crate) const LARGE: usize = 16_000;

/// … if they have this many edges per vertex: sparser ones have cheap factors.
pub(crate) const DENSE: usize = 32;

/// Operations up to which a factorisation is made at once. Beyond, solvers without one are tried first: in graphs that have
/// no small separators elimination fills everything in, and there a few products with the edges are enough.
pub(crate) fn cheap_flops(graph: &Graph) -> f64 {
    (6e4 * graph.n_edges() as f64).clamp(5e9, MAX_FLOPS)
}
