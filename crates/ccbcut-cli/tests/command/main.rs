//! The real binary: what it reads, prints and writes, and how it ends. One binary, a module for each question.
//!
//! - `usage`: help, usage errors, generated pages, pipes, and the costs of a partition.
//! - `bad_input`: everything that is refused, with a message that helps and nothing written.
//! - `disk_full`: what happens when a file cannot be finished.
//! - `pictures`: which images are read, and what their pixels become.
//! - `constraints`: pairs, seeds and strokes that are kept.
//! - `contours`: contours found, written, given, and cut along.
//! - `segment`: what `segment` writes, and that it says the same every time.
//! - `features`: what `--features` reads, cuts and says, and the picture of an embedding.
//! - `figures`: what `figures` draws, and that it appears together or not at all.
//! - `bench_ucm`: the scores of hierarchies and label maps of others.
//! - `regions`: superpixels, features of regions, volumes.
//! - `report`: the JSON report, and parameters taken from it.
//! - `solvers`: `--solver`, `--refine` and `compare`.
//! - `graphs`: `cluster`, `embed` and `cost`, one after the other.
//! - `any_graph`: names, METIS, points, directed graphs, vertex weights.
//! - `trees`: `recut`, `-k auto` and `sweep`.
//! - `bench`: `bench bsds` on a small data set, and `evaluate`.
//! - `memory`: what a run is thought to need, what it takes, and what it may.
//! - `licences`: every dependency is one that `deny.toml` allows.
//! - `support`: folders, pictures and runs that the others share.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail like tests")]
#![expect(clippy::print_stdout, reason = "a test says what it could not look at")]

mod any_graph;
mod bad_input;
mod bench;
mod bench_ucm;
mod constraints;
mod contours;
#[cfg(unix)]
mod disk_full;
mod features;
mod figures;
mod graphs;
mod licences;
mod memory;
mod pictures;
mod regions;
mod report;
mod segment;
mod solvers;
mod support;
mod trees;
mod usage;
