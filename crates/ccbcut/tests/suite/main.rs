//! The library's integration tests, in one binary.
//!
//! - `architecture`: no room reaches downstream.
//! - `paper`: what the paper says, by figure and equation.
//! - `oracle`: IRRQ sweep by sweep against an independent prototype.
//! - `solver`: the eigensolver against double-double arithmetic and closed forms.
//! - `invariants`: what holds for every input.
//! - `variants`: what each variant does by default, one sweep by hand, and why sweeps end.
//! - `contours`: the contour map of a hierarchy against its label maps.
//! - `decimation`: the pyramid against stored results of the public formulation.
//! - `mpb`: cues, contours and their affinity against stored results of the public code.
//! - `pmi`: the affinity of mutual information against stored densities, and its fast evaluation against the exact one.
//! - `features`: cuts of feature maps and of tokens, on the grid and on the pixels.
//! - `rivals`: the other solvers against stored results, all cuts of small graphs, and each other.
//! - `benchmark`: region scores against stored results of the public benchmark.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]
#![allow(clippy::print_stdout, reason = "tests say what they skip and what they measured")]

mod architecture;
mod benchmark;
mod contours;
mod decimation;
mod features;
mod invariants;
mod mpb;
mod oracle;
mod paper;
mod pmi;
mod rivals;
mod solver;
mod support;
mod variants;
