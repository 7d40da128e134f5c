//! The verbs that read a graph: `cluster`, `embed`, `cost`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde::Serialize;

use super::{DEFAULT_KAPPA, EmbeddingArgs, GraphInputArgs, MemoryArgs, PartitionArgs, StartWeights};

/// Cut a graph into parts.
///
/// Reads a symmetric weight matrix (`.npz` as SciPy saves CSR, Matrix Market, `.npy`), a METIS `.graph`, a list of edges
/// between numbers or names, or points, and writes one part number per vertex, counted from 0 in order of first
/// appearance.
#[derive(Debug, Clone, Args, Serialize)]
#[command(after_long_help = CLUSTER_EXAMPLES)]
pub struct ClusterArgs {
    /// The graph: .npz (SciPy CSR), .mtx, .npy, .graph or an edge list; - for stdin
    #[arg(value_name = "GRAPH", value_hint = ValueHint::FilePath)]
    #[serde(skip)]
    pub graph: PathBuf,
    #[command(flatten)]
    #[serde(flatten)]
    pub input: GraphInputArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub partition: PartitionArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub embedding: EmbeddingArgs,
    /// Vertices to keep together, two per line: .csv, .txt
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Constraints", hide_short_help = true)]
    #[serde(skip)]
    pub must_link: Option<PathBuf>,
    /// Vertices to keep apart, two per line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Constraints", hide_short_help = true)]
    #[serde(skip)]
    pub cannot_link: Option<PathBuf>,
    /// Vertices and what they belong to, `vertex,name` per line: one name, one part; two names, two parts
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Constraints", hide_short_help = true)]
    #[serde(skip)]
    pub seeds: Option<PathBuf>,
    /// Where the labels go: .csv, .npy or .npz [default: stdout, one per line]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    #[serde(skip)]
    pub output: Option<PathBuf>,
    /// The tree of the cut, for `recut` (.json .npz); hierarchical
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    #[arg(hide_short_help = true)]
    #[serde(skip)]
    pub tree: Option<PathBuf>,
    /// The evidence for the number of parts that `-k auto` chose, as a plot (.svg)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output", hide_short_help = true)]
    #[serde(skip)]
    pub evidence: Option<PathBuf>,
    #[command(flatten)]
    #[serde(skip)]
    pub run: RunArgs,
    #[command(flatten)]
    #[serde(skip)]
    pub memory: MemoryArgs,
}

impl ClusterArgs {
    /// The same with every default that depends on another option filled in.
    #[must_use]
    pub fn resolved(mut self) -> Self {
        self.input = self.input.resolved();
        self.partition = self.partition.resolved(&self.embedding, false);
        self.embedding = self.embedding.resolved(DEFAULT_KAPPA);
        self
    }
}

/// Compute the embedding of a graph that the cuts are made from.
///
/// Writes Y, one row per vertex and one column per component, with Y' Pi Y = I and Y' Pi 1 = 0.
#[derive(Debug, Args, Serialize)]
#[command(after_long_help = EMBED_EXAMPLES)]
pub struct EmbedArgs {
    /// The graph: .npz (SciPy CSR), .mtx, .npy, .graph or an edge list; - for stdin
    #[arg(value_name = "GRAPH", value_hint = ValueHint::FilePath)]
    #[serde(skip)]
    pub graph: PathBuf,
    /// Columns of the embedding
    #[arg(short, long, value_name = "K", default_value_t = 2)]
    pub components: usize,
    #[command(flatten)]
    #[serde(flatten)]
    pub input: GraphInputArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub embedding: EmbeddingArgs,
    /// First weights from this embedding (.npy, one row per vertex) instead of unit weights
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    #[serde(skip)]
    pub start: Option<PathBuf>,
    /// How the first weights are made from it
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_short_help = true)]
    pub start_weights: StartWeights,
    /// Where Y goes: .npy (float64) or .csv
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    #[serde(skip)]
    pub output: PathBuf,
    #[command(flatten)]
    #[serde(skip)]
    pub run: RunArgs,
    #[command(flatten)]
    #[serde(skip)]
    pub memory: MemoryArgs,
}

impl EmbedArgs {
    /// The same with every default that depends on another option filled in.
    #[must_use]
    pub fn resolved(mut self) -> Self {
        self.input = self.input.resolved();
        self.embedding = self.embedding.resolved(DEFAULT_KAPPA);
        self
    }
}

/// How a run over a graph reports and ends.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct RunArgs {
    /// Print the report as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
    /// Exit with 1 when the sweeps did not converge
    #[arg(long, hide_short_help = true)]
    pub strict: bool,
}

/// Print what a partition of a graph costs.
///
/// Prints the cut, the normalized and ratio cuts, the Cheeger cuts and the CCB cuts of a partition. A cost takes any
/// tau of 0 and above; only the solver is limited to 2.
#[derive(Debug, Args, Serialize)]
#[command(after_long_help = COST_EXAMPLES)]
pub struct CostArgs {
    /// The graph: .npz (SciPy CSR), .mtx, .npy, .graph or an edge list; - for stdin
    #[arg(value_name = "GRAPH", value_hint = ValueHint::FilePath)]
    #[serde(skip)]
    pub graph: PathBuf,
    /// One label per vertex: .csv, .npy, or a label map
    #[arg(value_name = "LABELS", value_hint = ValueHint::FilePath)]
    #[serde(skip)]
    pub labels: PathBuf,
    #[command(flatten)]
    #[serde(flatten)]
    pub input: GraphInputArgs,
    /// Of CCN and CCR: any value of 0 and above
    #[arg(long, value_name = "T", default_value_t = ccbcut::segment::TAU, allow_negative_numbers = true)]
    pub tau: f64,
    /// Also the Bühler–Hein costs at this p > 1 (two parts only)
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub p: Option<f64>,
    /// Print one JSON object
    #[arg(long)]
    #[serde(skip)]
    pub json: bool,
}

const CLUSTER_EXAMPLES: &str = "\
Examples:
  ccbcut cluster graph.npz -k 3                        one label per line
  ccbcut cluster graph.mtx -k 3 --tau 2 -o parts.npy   the normalized cut
  ccbcut cluster friends.csv -k 4 -o groups.csv        an edge list of names; the names stay
  ccbcut cluster cells.npy --points -k 6               points, tied to their nearest neighbours
  ccbcut cluster web.csv -k 5 --symmetrize sum         a directed graph
  ccbcut cluster graph.npz -k auto --evidence why.svg  have the number of parts chosen
  ccbcut cluster graph.npz -k 5 --method multiway --balance ratio";

const EMBED_EXAMPLES: &str = "\
Examples:
  ccbcut embed graph.npz --components 3 -o Y.npy
  ccbcut embed graph.npz --components 3 --tau 2 -o eigenvectors.npy";

const COST_EXAMPLES: &str = "\
Examples:
  ccbcut cost graph.npz parts.csv
  ccbcut cost graph.npz parts.csv --tau 0.5 --json
  ccbcut cost graph.npz halves.npy --p 1.5";
