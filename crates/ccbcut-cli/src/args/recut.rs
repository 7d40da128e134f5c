//! The verb `recut`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueHint};
use serde::Serialize;

/// Cut a saved tree again, by number, size or cost of the parts.
///
/// Reads a tree that `cluster --tree` or `segment --tree` wrote and cuts it somewhere else, without solving anything.
/// Splits are made in the order in which the tree was grown, those alone that keep to the sizes.
#[derive(Debug, Args, Serialize)]
#[command(after_long_help = EXAMPLES)]
#[command(group = ArgGroup::new("cut").required(true).multiple(true))]
pub struct RecutArgs {
    /// The tree: .json or .npz
    #[arg(value_name = "TREE", value_hint = ValueHint::FilePath)]
    #[serde(skip)]
    pub tree: PathBuf,
    /// Number of parts
    #[arg(short = 'k', long, value_name = "N", group = "cut", help_heading = "Parts")]
    pub segments: Option<usize>,
    /// No part of fewer vertices or pixels
    #[arg(long, value_name = "N", group = "cut", help_heading = "Parts")]
    pub min_size: Option<usize>,
    /// No part of more vertices or pixels
    #[arg(long, value_name = "N", group = "cut", help_heading = "Parts")]
    pub max_size: Option<usize>,
    /// As many parts as this cost pays for
    #[arg(long, value_name = "C", group = "cut", help_heading = "Parts", allow_negative_numbers = true)]
    pub max_cost: Option<f64>,
    /// Labels: .csv .npy .npz of a graph, .png .npy .tif .mat of an image [default: stdout, one per line]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    #[serde(skip)]
    pub output: Option<PathBuf>,
    /// The tree as a drawing, with this cut (.svg)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    #[serde(skip)]
    pub dendrogram: Option<PathBuf>,
    /// The tree of an image as a contour map (.mat .npy .png)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    #[serde(skip)]
    pub ucm: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long, help_heading = "Output")]
    #[serde(skip)]
    pub json: bool,
    /// Overwrite existing files
    #[arg(long, help_heading = "Output")]
    #[serde(skip)]
    pub force: bool,
}

const EXAMPLES: &str = "\
Examples:
  ccbcut cluster graph.npz -k 50 --tree tree.npz       grow a tree once
  ccbcut recut tree.npz -k 12 --min-size 50            then cut it as often as you like
  ccbcut recut tree.npz --max-size 500 -o parts.csv
  ccbcut recut tree.npz --max-cost 2.5 --dendrogram tree.svg
  ccbcut segment photo.jpg -k 40 --tree photo.json
  ccbcut recut photo.json -k 6 -o labels.png --ucm contours.png";
