//! The command line as it is typed: clap structures and nothing else.
//!
//! Help, man pages and completions all come from here. Options that few people need are hidden from `-h` and
//! explained in `--help`. The structures serialise to the `parameters` object of the JSON report, so a key there is
//! always the name of an option with `_` for `-`.

mod affinity;
mod bench;
mod compare;
mod contours;
mod cut;
mod evaluate;
mod features;
mod figures;
mod graph;
mod input;
mod names;
mod recut;
mod regions;
mod segment;
mod serve;
mod sweep;
mod volume;

pub use affinity::{Affinity, AffinityMix, PmiWidth};
pub use bench::{BenchArgs, Benchmark, BsdsArgs, Split, UcmArgs};
pub use compare::CompareArgs;
pub use contours::ContoursArgs;
pub use cut::{DEFAULT_KAPPA, EmbeddingArgs, MemoryArgs, PartitionArgs, Segments};
pub use evaluate::EvaluateArgs;
pub use features::{BandwidthArg, CosineWeight, FeatureArgs, FeatureMetric, LayoutArg, NeighborsArg};
pub use figures::{FigureName, FiguresArgs};
pub use graph::{ClusterArgs, CostArgs, EmbedArgs};
pub use input::GraphInputArgs;
pub use names::{
    BalanceName, ColorChoice, ContourWeight, CriterionName, Kernel, LabelFormat, Method, Rounding, Solver,
    StartWeights, Symmetrize, Upsampling, Variant,
};
pub use recut::RecutArgs;
pub use regions::{RegionArgs, Superpixels};
pub use segment::{ImageGraphArgs, OutputArgs, SegmentArgs};
pub use serve::ServeArgs;
pub use sweep::SweepArgs;
pub use volume::{SuperpixelsArgs, VolumeArgs};

use std::path::PathBuf;

use ccbcut::parallel::MAX_THREADS;
use clap::{Args, Parser, Subcommand, ValueHint};

/// Cut images and graphs into parts, with a knob for how balanced the parts must be.
#[derive(Debug, Parser)]
#[command(name = "ccbcut", version, max_term_width = 100, arg_required_else_help = true)]
#[command(subcommand_required = true, infer_subcommands = false, disable_help_subcommand = true)]
#[command(after_help = "Start with `ccbcut demo`, or `ccbcut segment photo.jpg -k 8`.")]
#[command(after_long_help = TOP_EXAMPLES)]
pub struct Cli {
    /// Options that every verb takes.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Cut images into segments
    Segment(Box<SegmentArgs>),
    /// Cut a graph into parts
    Cluster(ClusterArgs),
    /// Compute the embedding of a graph that the cuts are made from
    Embed(EmbedArgs),
    /// Cut a saved tree again, by number, size or cost of the parts
    Recut(RecutArgs),
    /// Follow the parts of a graph or an image through several tau
    Sweep(Box<SweepArgs>),
    /// Print what a partition of a graph costs
    Cost(CostArgs),
    /// Find the contours of images: the multiscale probability of boundary
    Contours(ContoursArgs),
    /// Cut an image or a volume into many small regions of like colour
    Superpixels(SuperpixelsArgs),
    /// Cut a volume into parts
    Volume(Box<VolumeArgs>),
    /// Cut by every solver and print what each cut costs
    Compare(Box<CompareArgs>),
    /// Score label maps against ground truths
    Evaluate(EvaluateArgs),
    /// Run a whole benchmark, or score the results of another system
    Bench(BenchArgs),
    /// Open a page where an image is cut while sliders move
    Serve(ServeArgs),
    /// Draw the figures of the paper, as SVG
    Figures(FiguresArgs),
    /// Make a page that shows what the knob does, on a drawn scene
    Demo(DemoArgs),
    /// Write man pages or shell completions
    Generate(GenerateArgs),
}

/// Options that every verb takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Messages")]
pub struct GlobalArgs {
    /// Print only data and errors
    #[arg(short, long, global = true, conflicts_with = "verbose", hide_short_help = true)]
    pub quiet: bool,
    /// Say more about what is done
    #[arg(short, long, global = true, hide_short_help = true)]
    pub verbose: bool,
    /// No progress bar; there is none anyway unless stderr is a terminal
    #[arg(long, global = true, hide_short_help = true)]
    pub no_progress: bool,
    /// Colour in messages; `auto` colours on a terminal unless NO_COLOR is set
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN", hide_short_help = true)]
    pub color: ColorChoice,
}

/// A number of threads that a machine can be asked for.
fn threads(text: &str) -> Result<usize, String> {
    let accepted = 0..=MAX_THREADS;
    let value = text.parse().ok().filter(|value| accepted.contains(value));
    value.ok_or_else(|| format!("expected a whole number from 0 (all) to {MAX_THREADS}"))
}

/// Make a page that shows what the knob does, on a drawn scene.
///
/// Draws a small landscape, cuts it with tau = 2 (the normalized cut) and with tau = 1, and writes a page that shows
/// both side by side with their costs. Nothing is fetched from anywhere; the page opens in any browser.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Folder for the page and its pictures
    #[arg(short, long, value_name = "DIR", default_value = "ccbcut-demo", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,
    /// Number of segments in both cuts; ten things are drawn
    #[arg(short = 'k', long, value_name = "N", default_value_t = 10)]
    pub segments: usize,
    /// Seed of the scene's texture and of the cuts
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Threads to use, 0 for all; changes the time, never the result
    #[arg(long, value_name = "N", value_parser = threads, default_value_t = 0)]
    pub threads: usize,
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
}

/// Write man pages or shell completions.
#[derive(Debug, Args)]
#[command(after_long_help = GENERATE_EXAMPLES)]
pub struct GenerateArgs {
    /// What to write.
    #[command(subcommand)]
    pub what: Generated,
}

/// What `generate` can write.
#[derive(Debug, Subcommand)]
pub enum Generated {
    /// Man pages: one for the command, one for each verb
    Man {
        /// Folder for the pages; without it, the page of the command goes to stdout
        #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        output: Option<PathBuf>,
    },
    /// Completions for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
        /// Folder for the file; without it, the script goes to stdout
        #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        output: Option<PathBuf>,
    },
}

const TOP_EXAMPLES: &str = "\
Examples:
  ccbcut demo                                  a page that shows what tau does
  ccbcut segment photo.jpg -k 8                eight segments; label map and pictures beside you
  ccbcut segment *.jpg -k 8 -o out --json      a batch, one line of JSON per image
  ccbcut cluster graph.npz -k 3 -o parts.csv   cut a graph of your own
  ccbcut recut tree.json -k 5 --min-size 50    another cut of a saved tree, at once
  ccbcut sweep photo.jpg --tau 2..0.25 -k 6    which part splits off at which tau
  ccbcut cost graph.npz parts.csv --tau 1      what that partition costs
  ccbcut compare graph.npz -k 3                every solver, every cost, one table
  ccbcut evaluate parts.png --truth 2092.mat   covering, PRI, VI against human segmentations
  ccbcut bench bsds --data BSDS500 --split val --out results
  ccbcut serve photo.jpg --open                a page where the photo is cut while sliders move
  ccbcut figures -o figures                    the figures of the paper, as SVG

Exit status: 0 done; 1 done, but below what was asked (--strict); 2 usage, input or file error; 130 interrupted.";

const GENERATE_EXAMPLES: &str = "\
Examples:
  ccbcut generate completions bash > ~/.local/share/bash-completion/completions/ccbcut
  ccbcut generate completions zsh -o ~/.zfunc
  ccbcut generate man -o ~/.local/share/man/man1";
