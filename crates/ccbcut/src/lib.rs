//! Cuts graphs and images into parts, with a knob for how balanced the parts must be.

pub mod image;

pub mod affinity;

pub mod graph;

pub mod labels;

pub mod cost;

pub mod linalg;

pub mod kmeans;

pub mod coarsen;

pub mod embedding;

pub mod partition;

pub mod cluster;

pub mod segment;

pub mod control;

pub mod report;

pub mod error;

pub mod parallel;

pub mod random;

pub use crate::{
    cluster::{Method, Partition, Partitioner},
    control::{Control, Progress},
    embedding::{Embedding, Irrq, IrrqFit, Iteration, Kappa, Start, StopReason, Trace, Variant},
    error::{Error, Result},
    graph::{Balance, Graph},
    image::Image,
    labels::{LabelMap, Labels},
    report::Report,
    segment::{Segmentation, Segmenter, Upsampling},
};
