//! ROOM 4: graph → embedding.
//!
//! [`Irrq`] is Algorithm 1 of the paper: it minimises the relaxed CCB cost (11) by a sequence of reweighted
//! eigenproblems and returns an [`Embedding`] Y with YᵀΠY = I and YᵀΠ1 = 0, together with a [`Trace`] of what
//! happened. [`spectrum`] solves the eigenproblems, [`complement`] holds the paper's way of removing the trivial
//! vector, [`rotate`] answers its open question about the rotation H. [`Soc`] is the older way to such an embedding for
//! 1 ≤ τ ≤ 2, which meets the constraint only about.

mod clusters;
pub mod complement;
mod config;
mod connected;
mod gmm;
mod irrq;
mod kappa;
mod large;
pub(crate) mod limits;
pub mod objective;
mod plain;
mod polar;
mod reweight;
pub mod rotate;
mod soc;
pub mod spectrum;
mod split_bregman;
mod stiff;
mod warm;

pub use config::{Irrq, Kappa, Start, Variant};
pub use gmm::{GaussianMixture, MixtureFit};
pub use irrq::IrrqFit;
pub use soc::{Soc, SocFit, Stage};
pub use warm::Warm;

use crate::{
    error::{Error, Result},
    graph::{Graph, distances::Distances},
};

/// The embedding Y: one row of coordinates per vertex.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    n_vertices: usize,
    n_components: usize,
    values: Vec<f64>,
}

impl Embedding {
    /// Wraps coordinates stored row by row.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] when there are not `n_vertices * n_components` of them, [`Error::NotFinite`] for
    /// NaN or infinite ones.
    pub fn new(n_vertices: usize, n_components: usize, values: Vec<f64>) -> Result<Self> {
        let expected = n_vertices * n_components;
        if values.len() != expected {
            return Err(Error::ShapeMismatch { what: "the embedding", expected, got: values.len() });
        }
        if let Some(index) = values.iter().position(|v| !v.is_finite()) {
            return Err(Error::NotFinite { what: "the embedding", index, value: values[index] });
        }
        Ok(Self { n_vertices, n_components, values })
    }

    /// How many rows.
    pub fn n_vertices(&self) -> usize {
        self.n_vertices
    }

    /// How many columns.
    pub fn n_components(&self) -> usize {
        self.n_components
    }

    /// ŷᵢ: the coordinates of one vertex.
    #[inline]
    pub fn row(&self, vertex: usize) -> &[f64] {
        &self.values[vertex * self.n_components..(vertex + 1) * self.n_components]
    }

    /// The embedding of the first columns alone.
    #[must_use]
    pub fn first_columns(&self, n_components: usize) -> Self {
        let keep = n_components.min(self.n_components);
        let values = (0..self.n_vertices).flat_map(|i| &self.row(i)[..keep]).copied().collect();
        Self { n_vertices: self.n_vertices, n_components: keep, values }
    }

    /// One coordinate of every vertex.
    pub fn column(&self, component: usize) -> Vec<f64> {
        (0..self.n_vertices).map(|i| self.row(i)[component]).collect()
    }

    /// All coordinates, row by row.
    pub fn as_slice(&self) -> &[f64] {
        &self.values
    }

    /// ‖ŷᵢ − ŷⱼ‖₂².
    #[inline]
    pub fn squared_distance(&self, i: usize, j: usize) -> f64 {
        self.row(i).iter().zip(self.row(j)).map(|(a, b)| (a - b) * (a - b)).sum()
    }

    /// ‖ŷᵢ − ŷⱼ‖₂² for the edges of a graph.
    pub(crate) fn distances<'a>(&'a self, graph: &'a Graph) -> Distances<'a> {
        self.distances_in(graph, Vec::new())
    }

    /// The same in memory of earlier ones.
    pub(crate) fn distances_in<'a>(&'a self, graph: &'a Graph, room: Vec<f64>) -> Distances<'a> {
        Distances::new(graph, &self.values, self.n_components, room)
    }

    /// From columns in the coordinates x = Π^½ y, with the sign of each column fixed.
    pub(crate) fn from_scaled_columns(columns: &[f64], scale: &[f64]) -> Self {
        let n = scale.len();
        let k = columns.len().checked_div(n).unwrap_or(0);
        let mut values = vec![0.0; n * k];
        for (c, column) in columns.chunks_exact(n.max(1)).enumerate() {
            let sign = column_sign(column, scale);
            for i in 0..n {
                values[i * k + c] = sign * column[i] * scale[i];
            }
        }
        Self { n_vertices: n, n_components: k, values }
    }
}

/// On which side of the middle of its column each coordinate lies.
fn sides(embedding: &Embedding) -> Vec<bool> {
    let k = embedding.n_components;
    let mut extent = vec![(f64::INFINITY, f64::NEG_INFINITY); k];
    for row in embedding.values.chunks_exact(k.max(1)) {
        for (extent, &y) in extent.iter_mut().zip(row) {
            *extent = (extent.0.min(y), extent.1.max(y));
        }
    }
    let middle: Vec<f64> = extent.iter().map(|e| 0.5 * (e.0 + e.1)).collect();
    let rows = embedding.values.chunks_exact(k.max(1));
    rows.flat_map(|row| row.iter().zip(&middle).map(|(y, m)| y > m)).collect()
}

/// +1 or −1, so that the entry of largest magnitude becomes positive; the first of nearly equal ones decides.
fn column_sign(column: &[f64], scale: &[f64]) -> f64 {
    let largest = column.iter().zip(scale).map(|(x, s)| (x * s).abs()).fold(0.0, f64::max);
    let deciding = column.iter().zip(scale).find(|&(x, s)| (x * s).abs() >= (1.0 - 1e-6) * largest);
    if deciding.is_some_and(|(x, _)| *x < 0.0) { -1.0 } else { 1.0 }
}

/// What one sweep of IRRQ did.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Iteration {
    /// Number of the sweep, from 1.
    pub sweep: usize,
    /// ε after this sweep (15).
    pub epsilon: f64,
    /// F(Y, ε), the quantity that never rises (see `docs/paper-map.md`).
    pub f: f64,
    /// J_τ(Y) (11), over ordered pairs.
    pub j_tau: f64,
    /// J₂^Γ(Y) (12) under the weights this sweep solved for, over ordered pairs: 2 Σ λ.
    pub j2: f64,
    /// The smallest nontrivial eigenvalues, one per column.
    pub eigenvalues: Vec<f64>,
    /// ‖A⁺(Ax − λx)‖, the largest over the columns.
    pub residual: f64,
    /// Vertices of the eigenproblem: fewer than the graph has where stiff edges were contracted, and all of them in the sweep
    /// that ends the embedding.
    pub vertices: usize,
    /// Steps of the eigensolver.
    pub solver_steps: usize,
    /// Wall time in milliseconds.
    pub ms: f64,
}

/// Why the sweeps ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum StopReason {
    /// τ = 2 needs one eigenproblem and no reweighting.
    SingleSolve,
    /// The cost changed by no more than the tolerance, or could not change: the parts hang on each other by so little
    /// that one solve tells all.
    Converged,
    /// No vertex changed sides any more; asked for by [`Irrq::early_stop`].
    SidesSettled,
    /// The sweep limit was reached.
    MaxIterations,
    /// ε reached zero (or the unit roundoff, in the released variant).
    EpsilonVanished,
    /// J_τ rose (released variant only).
    CostRose,
    /// J_τ bent sharply (released variant only).
    CostBent,
    /// The observer asked to stop: a time limit, or the user.
    Interrupted,
}

impl StopReason {
    /// The name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::SingleSolve => "single_solve",
            Self::Converged => "converged",
            Self::SidesSettled => "sides_settled",
            Self::MaxIterations => "max_iterations",
            Self::EpsilonVanished => "epsilon_vanished",
            Self::CostRose => "cost_rose",
            Self::CostBent => "cost_bent",
            Self::Interrupted => "interrupted",
        }
    }
}

/// What happened, sweep by sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// One entry per sweep.
    pub iterations: Vec<Iteration>,
    /// Why the sweeps ended.
    pub stop_reason: StopReason,
    /// κ of (15): how many of the largest differences do not count towards ε.
    pub kappa: usize,
    /// The floor below which ε was not let fall; 0 when there is none.
    pub epsilon_floor: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_of_largest_magnitude_is_positive_and_the_first_of_equals_decides() {
        let one = [1.0; 3];
        assert_eq!(column_sign(&[0.5, -2.0, 1.0], &one), -1.0);
        assert_eq!(column_sign(&[-0.5, 2.0, -1.0], &one), 1.0);
        // Equal up to rounding: whichever noise made larger, the first decides.
        for noise in [-1e-9, 0.0, 1e-9] {
            assert_eq!(column_sign(&[-1.0, 0.0, 1.0 + noise], &one), -1.0);
            assert_eq!(column_sign(&[1.0, 0.0, -1.0 - noise], &one), 1.0);
        }
        assert_eq!(column_sign(&[-1.0, 0.0, 1.1], &one), 1.0);
        // What counts is y = Π^-½ x, not x.
        assert_eq!(column_sign(&[-1.0, 0.5], &[1.0, 4.0]), 1.0);
        assert_eq!(column_sign(&[0.0; 3], &one), 1.0);
    }

    #[test]
    fn columns_are_scaled_and_signed_one_by_one() {
        let y = Embedding::from_scaled_columns(&[1.0, -4.0, 3.0, 1.0], &[1.0, 0.5]);
        assert_eq!((y.column(0), y.column(1)), (vec![-1.0, 2.0], vec![3.0, 0.5]));
        assert_eq!((y.row(1), y.squared_distance(0, 1)), (&[2.0, 0.5][..], 15.25));
    }

    #[test]
    fn coordinates_must_fit_and_be_finite() {
        let short = Embedding::new(2, 2, vec![0.0; 3]);
        assert!(matches!(short, Err(Error::ShapeMismatch { expected: 4, got: 3, .. })));
        let bad = Embedding::new(1, 2, vec![0.0, f64::NAN]);
        assert!(matches!(bad, Err(Error::NotFinite { index: 1, .. })));
    }
}
