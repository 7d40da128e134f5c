//! Which solver an eigenproblem of a given size goes to: asked by the solvers, and by the prediction of memory.

/// Up to this many vertices every eigenpair is found densely with high relative accuracy.
pub(crate) const DENSE_LIMIT: usize = 48;

/// A factorisation with more entries is not attempted.
/// Operations above which a factor is not made.
pub(crate) const MAX_FLOPS: f64 = 8e12;

pub(crate) const MAX_ENTRIES: f64 = 8e8;

/// Graphs with more vertices than this are not factored but go through the multilevel solver …
pub(crate) const LARGE: usize = 16_000;

/// … if they have this many edges per vertex: sparser ones have cheap factors.
pub(crate) const DENSE: usize = 32;
