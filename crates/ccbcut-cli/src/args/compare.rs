//! The verb `compare`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde::Serialize;

use super::{EmbeddingArgs, ImageGraphArgs, MemoryArgs};

/// Cut an image or a graph by every solver, and print what each cut costs.
///
/// Runs the normalized cut, IRRQ, RatioDCA, the inverse power method and SOC on the same graph, each with and without a
/// final refinement of all parts, and prints one table: a row per method, a column per cost, the time, the sizes of the
/// parts. The lowest of each cost is marked with a star.
#[derive(Debug, Args, Serialize)]
#[command(after_long_help = EXAMPLES)]
pub struct CompareArgs {
    /// An image, or a graph: .npz (SciPy CSR), .mtx, a square .npy, or an edge list
    #[arg(value_name = "INPUT", value_hint = ValueHint::FilePath)]
    #[serde(skip)]
    pub input: PathBuf,
    /// Number of parts
    #[arg(short = 'k', long, value_name = "N", default_value_t = 8)]
    pub segments: usize,
    /// Random starts of ipm and ratiodca [default: 10, fewer on large graphs]
    #[arg(long, value_name = "N", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts: Option<usize>,
    #[command(flatten)]
    #[serde(flatten)]
    pub embedding: EmbeddingArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub graph: ImageGraphArgs,
    /// Folder for a strip of pictures of all cuts (image input), `NAME-compare.png`
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Output")]
    #[serde(skip)]
    pub output: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long, help_heading = "Output")]
    #[serde(skip)]
    pub json: bool,
    /// Overwrite existing files
    #[arg(long, help_heading = "Output")]
    #[serde(skip)]
    pub force: bool,
    #[command(flatten)]
    #[serde(skip)]
    pub memory: MemoryArgs,
}

impl CompareArgs {
    /// The same with every default that depends on another option filled in.
    #[must_use]
    pub fn resolved(mut self) -> Self {
        self.graph.affinity = Some(self.graph.mix());
        self.graph.smooth = Some(self.graph.smoothing());
        self.embedding = self.embedding.resolved(self.graph.mix().default_kappa());
        self
    }
}

const EXAMPLES: &str = "\
Examples:
  ccbcut compare graph.npz -k 3
  ccbcut compare photo.jpg -k 8 -o out            also a strip of pictures
  ccbcut compare photo.jpg -k 8 --levels 3        faster: on a coarser graph
  ccbcut compare graph.mtx -k 2 --tau 0.5 --json  SOC is left out below tau = 1";
