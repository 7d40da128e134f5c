//! Which solver an eigenproblem of a given size goes to, asked by the solvers and by the prediction of memory; and what all
//! of them need.

use crate::{
    graph::Graph,
    linalg::{block_for, norm},
};

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

/// Bytes that a basis and its image may take. Where three blocks take more, there are three, and the image is not kept.
const BASIS_BYTES: usize = 400 << 20;

/// Graphs with more vertices than this go through a cycle with fewer columns at a time.
const WIDE: usize = 1 << 18;

/// The most vectors of the basis of a solver without a factor, and whether its image is kept.
pub(crate) fn max_basis(n: usize, n_pairs: usize) -> (usize, bool) {
    let least = 3 * block_for(n_pairs);
    let most = BASIS_BYTES / 16_usize.saturating_mul(n).max(1);
    (most.min(6 * n_pairs + 24).max(least), most >= least)
}

/// And with more than this with fewer again: memory is what runs out there.
const WIDEST: usize = 1 << 22;

/// Columns that go through a multilevel cycle together: it holds two numbers of single precision for each.
pub(crate) fn cycle_panel(n: usize) -> usize {
    match n {
        _ if n > WIDEST => 8,
        _ if n > WIDE => 16,
        _ => 32,
    }
}

/// The trivial eigenvector, Π^½ 1, of unit length; `scale` is π^-½.
pub(super) fn null_vector(scale: &[f64]) -> Vec<f64> {
    let mut q: Vec<f64> = scale.iter().map(|s| 1.0 / s).collect();
    let length = norm(&q);
    q.iter_mut().for_each(|v| *v /= length);
    q
}

/// The diagonal of Π^-½ L Π^-½.
pub(super) fn diagonal(graph: &Graph, scale: &[f64]) -> Vec<f64> {
    (0..scale.len()).map(|v| (graph.degrees()[v] - graph.self_loop(v)) * scale[v] * scale[v]).collect()
}
