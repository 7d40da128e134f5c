//! Room 5: embeddings into labels.
//!
//! Two ways lead from coordinates to parts. [`Multiway`] rounds all columns of an embedding at once: k-means on its
//! rows, or a rotation that turns the rows towards the corners of a cube or a simplex. [`Bisection`] splits one part
//! after the other, each along the best threshold of a one-column embedding of its subgraph, and keeps the history
//! as a [`Tree`], from which the partition into any smaller number of parts can be read off.

pub(crate) mod apart;
mod balanced;
mod bisect;
mod candidates;
mod dendrogram;
mod discretize;
mod inner_dual;
mod lovasz;
mod min_cut;
mod multiway;
mod peel;
mod refine;
pub(crate) mod rejoin;
mod rotate;
mod threshold;
mod tree;

pub use balanced::{BalancedCut, Descents};
pub use bisect::{Bisection, BisectionStep, Pieces, SubgraphBalance};
pub use dendrogram::{Dendrogram, Recut, Selection};
pub use multiway::{Multiway, Rounding};
pub use refine::Refine;
pub use threshold::{Prefixes, Split, SplitContext, best_prefix, best_threshold};
pub use tree::{Node, Tree};
