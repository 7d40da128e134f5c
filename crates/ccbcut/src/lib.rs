//! Cuts graphs and images into parts, with a knob for how balanced the parts must be.
//!
//! The normalized cut wants parts of similar volume, and so never splits off a small region, however weakly it
//! hangs on. Compassionately Conservative Balanced (CCB) cuts put a knob τ on that: τ = 2 is the normalized (or
//! ratio) cut, τ → 0 the plain cut (Cahill, Hayes, Meinhold and Hamilton, CVPR 2018, arXiv:1803.09903).
//!
//! ```
//! use ccbcut::{graph::gallery, Partitioner};
//! let graph = gallery::planted(&[30, 20, 10], 0.7, 0.02, 1);
//! let cut = Partitioner::new(3, 1.0).partition(&graph)?;
//! assert_eq!(cut.labels.sizes(), vec![30, 20, 10]);
//! # Ok::<(), ccbcut::Error>(())
//! ```
//!
//! Data walks through the house in one direction; nothing reaches downstream:
//!
//! ```text
//! image ──► affinity graph ──► (coarsen) ──► embedding ──► partition ──► labels ──► metrics
//! pixels    W, d, π            smaller W     Y, ε, γ       k-means, 2-way  u32 map  covering, PRI, VI
//! ```
//!
//! [`Segmenter`] is the front door for images and [`Partitioner`] for graphs; each room can also be used by itself.
//! The modules below are declared in walking order. `docs/paper-map.md` leads from every equation of the paper to
//! the code and to the test that pins it.

// Front door for images: walks one through every room.
pub mod segment;

// Front door for graphs: walks one through embedding and partition.
pub mod cluster;

// How many parts.
pub mod choose;

// The knob shown: a partition followed through τ.
pub mod sweep;

// ROOM 1: pixels.
pub mod image;

// ROOM 2: image → graph.
pub mod affinity;

// ROOM 2 as well: points → graph.
pub mod points;

// ROOM 2 as well: regions → graph.
pub mod regions;

// The shared currency: weighted undirected graphs.
pub mod graph;

// The other currency: which part each vertex belongs to.
pub mod labels;

// Tool: what is minimised.
pub mod cost;

// Tool: linear algebra on operators.
pub mod linalg;

// Tool: k-means.
pub mod kmeans;

// ROOM 3: graph → smaller graph, and the way back.
pub mod coarsen;

// ROOM 4: graph → embedding.
pub mod embedding;

// ROOM 5: embedding → labels.
pub mod partition;

// Nested label maps as one contour map.
pub mod ucm;

// ROOM 6: labels × truth → numbers.
pub mod metrics;

// Together and apart.
pub mod constraints;

// The record of a run.
pub mod report;

// How much memory a run will need.
pub mod memory;

// Progress out, "stop" in.
pub mod control;

// What can go wrong.
pub mod error;

// Work on several cores with the same bytes as on one.
pub mod parallel;

// Seeded randomness.
pub mod random;

mod simd;

mod sets;

pub use crate::{
    cluster::{Method, Partition, Partitioner, Solver},
    constraints::Constraints,
    control::{Control, Progress},
    embedding::{Embedding, Irrq, IrrqFit, Iteration, Kappa, Start, StopReason, Trace, Variant},
    error::{Error, Result},
    graph::{Balance, Graph},
    image::Image,
    labels::{LabelMap, Labels},
    report::Report,
    segment::{Segmentation, Segmenter, Upsampling},
    ucm::Ucm,
};

/// The README's Rust example, tested.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
