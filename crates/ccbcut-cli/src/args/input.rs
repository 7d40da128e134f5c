//! How a file becomes a graph, shared by the verbs that read one.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde::Serialize;

use super::Symmetrize;

/// Neighbours of a point where `--neighbors` is not given.
const DEFAULT_NEIGHBORS: usize = 10;

/// How a file becomes a graph.
#[derive(Debug, Clone, Default, Args, Serialize)]
#[command(next_help_heading = "Input")]
pub struct GraphInputArgs {
    /// The input holds points (.npy or .csv, one a row): each is tied to its nearest neighbours
    #[arg(long)]
    pub points: bool,
    /// Neighbours of each point [default: 10]
    #[arg(long, value_name = "N", requires = "points", hide_short_help = true)]
    pub neighbors: Option<usize>,
    /// Width of the Gaussian in units of distance, one for all points [default: tuned to each point]
    #[arg(
        long,
        value_name = "D",
        requires = "points",
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    pub bandwidth: Option<f64>,
    /// Tie only points that are among each other's neighbours
    #[arg(long, requires = "points", hide_short_help = true)]
    pub mutual: bool,
    /// Join the two directions of a directed graph by the mean, the maximum or the sum of their weights
    #[arg(long, value_enum, value_name = "HOW", conflicts_with = "points", hide_short_help = true)]
    pub symmetrize: Option<Symmetrize>,
    /// The vertices of an edge list are names, even where they look like numbers
    #[arg(long, conflicts_with = "points", hide_short_help = true)]
    pub names: bool,
    /// Measure part sizes by these weights, one per vertex (.npy .csv .txt, or a METIS .graph)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub vertex_weights: Option<PathBuf>,
}

impl GraphInputArgs {
    /// The same with every default that depends on another option filled in.
    #[must_use]
    pub fn resolved(mut self) -> Self {
        if self.points {
            self.neighbors = self.neighbors.or(Some(DEFAULT_NEIGHBORS));
        }
        self
    }
}
