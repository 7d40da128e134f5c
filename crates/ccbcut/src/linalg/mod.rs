//! Tool: linear algebra on operators, never on assembled matrices.

/// A symmetric linear map, known only by what it does to vectors.
pub trait LinearOperator: Sync {
    /// Length of the vectors.
    fn dim(&self) -> usize;

    /// y = A x.
    fn apply(&self, x: &[f64], y: &mut [f64]);
}
