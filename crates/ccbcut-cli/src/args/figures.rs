//! The verb `figures`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use serde::Serialize;

use super::threads;
use crate::memory::MaxMemory;

/// Draw the figures of the paper, as SVG.
///
/// The toy graph and its cheapest partitions (fig1), which of them wins for every alpha under the Bühler–Hein costs
/// (fig2) and the CCB costs (fig3), the two families of balance functions (fig4), and for each image the cuts that the
/// paper compares (fig5) and how a hierarchical cut grows (fig6). Everything is computed as it is drawn.
#[derive(Debug, Args, Serialize)]
#[command(after_long_help = EXAMPLES)]
pub struct FiguresArgs {
    /// Images for fig5 and fig6; - for stdin [default: the scene of `ccbcut demo`]
    #[arg(value_name = "IMAGE", value_hint = ValueHint::FilePath)]
    #[serde(skip)]
    pub images: Vec<PathBuf>,
    /// Folder for the figures
    #[arg(short, long, value_name = "DIR", default_value = "ccbcut-figures", value_hint = ValueHint::DirPath)]
    #[serde(skip)]
    pub output: PathBuf,
    /// Only these: fig1, fig2, fig3, fig4, fig5, fig6
    #[arg(long, value_enum, value_name = "LIST", value_delimiter = ',', hide_possible_values = true)]
    pub only: Vec<FigureName>,
    /// Number of segments in fig5
    #[arg(short = 'k', long, value_name = "N", default_value_t = 28)]
    pub segments: usize,
    /// The setting that fig5 and fig6 compare with tau = 2
    #[arg(long, value_name = "T", default_value_t = 1.0, allow_negative_numbers = true)]
    pub tau: f64,
    /// Width of the Gaussian kernel in fig5 and fig6, in Lab units [default: that of the library]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub sigma: Option<f64>,
    /// Seed of the cuts, and of the scene's texture
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Threads to use, 0 for all; changes the time, never the result
    #[arg(long, value_name = "N", value_parser = threads, default_value_t = 0, hide_short_help = true)]
    #[serde(skip)]
    pub threads: usize,
    /// Refuse larger images
    #[arg(long, value_name = "N", default_value_t = 50_000_000, hide_short_help = true)]
    #[serde(skip)]
    pub max_pixels: usize,
    /// Refuse images that need more: 4G, 512M, 50% [default: 80%]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    #[serde(skip)]
    pub max_memory: Option<MaxMemory>,
    /// Print the list of the figures as one JSON object
    #[arg(long)]
    #[serde(skip)]
    pub json: bool,
    /// Overwrite existing files
    #[arg(long)]
    #[serde(skip)]
    pub force: bool,
}

/// The figures, by their numbers in the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureName {
    /// The toy graph and its cheapest partitions
    Fig1,
    /// Which partition wins under the Bühler–Hein costs
    Fig2,
    /// Which partition wins under the CCB costs
    Fig3,
    /// The balance functions
    Fig4,
    /// Cuts of an image, side by side
    Fig5,
    /// A hierarchical cut of an image as it grows
    Fig6,
}

impl FigureName {
    /// The name in reports.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Fig1 => "fig1",
            Self::Fig2 => "fig2",
            Self::Fig3 => "fig3",
            Self::Fig4 => "fig4",
            Self::Fig5 => "fig5",
            Self::Fig6 => "fig6",
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  ccbcut figures -o figures                        all six, fig5 and fig6 of a drawn scene
  ccbcut figures --only fig1,fig2,fig3,fig4        the plots alone
  ccbcut figures photo.jpg -o figures --only fig6  how the cut of a photo grows
  ccbcut figures *.jpg --tau 1.25 --sigma 7        another setting of the knob and the kernel
  ccbcut figures --json                            a list of what was written

The figures appear together, when all are done, and never overwrite others without --force.";
