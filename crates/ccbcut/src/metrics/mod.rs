//! ROOM 6: labels × truth → numbers.
//!
//! A segmentation is compared with one or several human ones, as the Berkeley benchmark (BSDS500) does it: by
//! regions, from a [`Contingency`] table of the pixels that two maps share. [`RegionScore`] holds the three usual
//! numbers for one pair of maps:
//!
//! | score | formula | better |
//! |---|---|---|
//! | covering | (1/N) Σ_v b_v max_u O(u, v), O = n_uv / (a_u + b_v − n_uv) | higher |
//! | Rand index | the share of pixel pairs on which both maps agree; its mean over truths is the PRI | higher |
//! | variation of information | H(S) + H(G) − 2 I(S; G), in bits | lower |
//!
//! with n_uv the pixels of segment u and true region v, a_u and b_v the sizes of both, N all pixels.
//! [`protocol`] averages them over runs and images as the paper does, [`family`] over thresholds or numbers of parts
//! as the benchmark does (ODS, OIS, Best). [`BoundaryCounts`] compares boundaries rather than regions. [`spread()`] is
//! the paper's measure of how unequal the parts are.
//!
//! ```
//! use ccbcut::{LabelMap, metrics::Contingency};
//! let found = LabelMap::new(1, 4, &[0, 0, 1, 1])?;
//! let truth = LabelMap::new(1, 4, &[0, 0, 0, 1])?;
//! let score = Contingency::new(&found, &truth)?.score();
//! assert_eq!(score.covering, (3.0 * (2.0 / 3.0) + 1.0 * 0.5) / 4.0);
//! assert_eq!(score.rand_index, 0.5);
//! # Ok::<(), ccbcut::Error>(())
//! ```

mod adjusted;

mod boundary;

mod contingency;

pub mod family;

mod matching;

pub mod protocol;

mod spread;

pub use adjusted::adjusted_rand_index;
pub use boundary::{
    BoundaryCounts, BoundaryMap, BoundaryScore, MAX_DISTANCE, Match, match_boundaries, pool_boundaries,
};
pub use contingency::{Contingency, RegionScore};
pub use spread::spread;
