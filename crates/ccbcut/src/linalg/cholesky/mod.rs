//! Subtraction-free Cholesky factorisation of a graph Laplacian.
//!
//! Eliminating vertex v from a graph leaves the graph with w_ij + w_iv w_jv / d_v on the remaining pairs, where
//! d_v is the sum of the weights that still hang on v: additions, products and quotients of positive numbers only.
//! So every entry of the factor is accurate to a few units in its last place, whatever the condition number
//! (Grassmann, Taksar and Heyman 1985, doi:10.1287/opre.33.5.1107; Dopico and Koev 2012,
//! doi:10.1007/s00211-011-0382-3), and the eigenvectors that IRRQ asks for survive weights that span many decades.
//!
//! The vertices are ordered by `ordering` into blocks; `symbolic` finds which rows each block touches, `numeric`
//! collects for one block after the other what the earlier ones add to it and eliminates it, the bulk of the work
//! being matrix products, and `solve` runs right-hand sides through. The last vertex is the ground: its pivot is
//! zero, and solves put it at height zero.

mod numeric;
mod ordering;
mod scalar;
mod sides;
mod solve;
mod symbolic;
mod thin;
mod wide;

pub use numeric::Factor;
pub use scalar::{Room, Scalar};
pub use symbolic::Symbolic;
