//! The verb `evaluate`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Score label maps against ground truths.
///
/// Prints covering, Rand index and variation of information of each label map: for every ground truth, and the mean
/// over all of them (of the Rand index, that mean is the PRI). With --boundaries also how well the boundaries agree.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct EvaluateArgs {
    /// Label maps: .png, .npy, .tif or .mat (`segs`)
    #[arg(value_name = "LABELS", required = true, value_hint = ValueHint::FilePath)]
    pub labels: Vec<PathBuf>,
    /// Ground truths: BSDS .mat files or label maps; all of one image
    #[arg(long, value_name = "FILE", required = true, num_args = 1.., value_hint = ValueHint::FilePath)]
    pub truth: Vec<PathBuf>,
    /// Also precision, recall and F of the boundaries, matched pixel by pixel
    #[arg(long)]
    pub boundaries: bool,
    /// How far apart matched boundary pixels may be, in image diagonals
    #[arg(long, value_name = "SHARE", default_value_t = ccbcut::metrics::MAX_DISTANCE, hide_short_help = true)]
    pub max_distance: f64,
    /// Print one JSON object per label map
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ccbcut evaluate parts.png --truth groundTruth/val/101085.mat
  ccbcut evaluate a.npy b.npy --truth annotator1.png annotator2.png --json";
