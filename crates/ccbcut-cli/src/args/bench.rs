//! The verb `bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::{AffinityMix, threads};

/// Run a whole benchmark, or score the results of another system.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Which.
    #[command(subcommand)]
    pub what: Benchmark,
}

/// What can be run.
#[derive(Debug, Subcommand)]
pub enum Benchmark {
    /// Cut the images of BSDS500 by several methods and score them as the paper does
    Bsds(BsdsArgs),
    /// Score the hierarchies or label maps of any system on BSDS500
    Ucm(UcmArgs),
}

/// A part of the data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Split {
    /// 200 images to choose settings on
    Train,
    /// 100 images to confirm them on
    Val,
    /// 200 images for published figures
    Test,
}

impl Split {
    /// The name of its folder.
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Val => "val",
            Self::Test => "test",
        }
    }
}

/// Cut the images of BSDS500 by several methods and score them as the paper does.
///
/// Each image is cut into as many parts as each of its ground truths has regions (`fixed`), and into 5, 10, 15, 20 and
/// 25 (`dynamic`). Results go to the output folder one whole line at a time; a run that was stopped goes on where it
/// was when the same command is given again.
#[derive(Debug, Args)]
#[command(after_long_help = BSDS_EXAMPLES)]
pub struct BsdsArgs {
    /// Folder with images/SPLIT/*.jpg and groundTruth/SPLIT/*.mat
    #[arg(long, value_name = "DIR", env = "BSDS500_DIR", value_hint = ValueHint::DirPath)]
    pub data: PathBuf,
    /// Which images
    #[arg(long, value_enum, default_value = "val", value_name = "SPLIT")]
    pub split: Split,
    /// How pixels are compared; every method runs with each of a list: lab,mpb,lab+mpb
    ///
    /// Methods of another affinity than lab are named after it: `ncut-h:affinity=mpb`. A method that names one itself has
    /// only that.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "lab")]
    pub affinity: Vec<AffinityMix>,
    /// Methods, each with options of its own if need be: ccn1.25-h:sigma=7:min-share=0.01
    ///
    /// A name is a cost and a way: ncut, rcut, ccnT or ccrT with T the value of tau; then -m for multiway or -h for
    /// hierarchical. After it, `:option=value` sets an option of `ccbcut segment` for this method alone. Without, the kernel is
    /// sigma=5, smooth=0, min-share=0, rejoin=0, levels=2, rounding=kmeans. `default` is what `ccbcut segment` does when nothing is asked of it.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "ncut-m,ccn1-m,ncut-h,ccn1-h")]
    pub methods: Vec<String>,
    /// An option of `ccbcut segment` for all methods, such as sigma=7; may be repeated
    #[arg(long = "set", value_name = "OPTION=VALUE")]
    pub set: Vec<String>,
    /// Only this many images, evenly spread over the split
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Folder for results, tables, pictures and the report
    #[arg(short, long = "out", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// Do not keep label maps, and draw no pictures
    #[arg(long)]
    pub no_pictures: bool,
    /// Keep every label map in OUT/segs/METHOD/IMAGE.mat (a cell `segs`), as the benchmark's MATLAB code reads them
    #[arg(long)]
    pub save_segs: bool,
    /// Images worked on at a time, 0 for one per core
    #[arg(long, value_name = "N", value_parser = threads, default_value_t = 0)]
    pub threads: usize,
    /// Print the tables as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Score the hierarchies or label maps of any system on BSDS500.
///
/// The folder has one file per image, by the name of its ground truth: a contour map on the doubled grid (`ucm2` in a
/// .mat file, .npy or .png), cut at the thresholds 0.01, 0.02, …, 0.99; or label maps (.mat with `segs`, .npy, .png,
/// .tif), where the place in the list is the parameter. Prints covering, PRI and VI with one parameter for all images
/// (ODS) and the best for each (OIS).
#[derive(Debug, Args)]
#[command(after_long_help = UCM_EXAMPLES)]
pub struct UcmArgs {
    /// Folder with one file per image
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub pred: PathBuf,
    /// Folder with groundTruth/SPLIT/*.mat
    #[arg(long, value_name = "DIR", env = "BSDS500_DIR", value_hint = ValueHint::DirPath)]
    pub data: PathBuf,
    /// Which images
    #[arg(long, value_enum, default_value = "val", value_name = "SPLIT")]
    pub split: Split,
    /// Also match boundaries pixel by pixel: F, and average precision; takes minutes
    #[arg(long)]
    pub boundaries: bool,
    /// How far apart matched boundary pixels may be, in image diagonals
    #[arg(long, value_name = "SHARE", default_value_t = ccbcut::metrics::MAX_DISTANCE)]
    pub max_distance: f64,
    /// Threads to use, 0 for all; changes the time, never the result
    #[arg(long, value_name = "N", value_parser = threads, default_value_t = 0)]
    pub threads: usize,
    /// Print the scores as one JSON object
    #[arg(long)]
    pub json: bool,
}

const UCM_EXAMPLES: &str = "\
Examples:
  ccbcut bench ucm --pred ucm2/val --data BSDS500 --split val
  ccbcut bench ucm --pred ucm2/val --data BSDS500 --boundaries --json > scores.json
  ccbcut bench ucm --pred segs/test --data BSDS500 --split test";

const BSDS_EXAMPLES: &str = "\
Examples:
  ccbcut bench bsds --data BSDS500 --split val --out results
  ccbcut bench bsds --data BSDS500 --methods ncut-h,ccn1.25-h --limit 20 --out trial
  ccbcut bench bsds --data BSDS500 --methods ncut-h:sigma=5,ccn1.25-h:sigma=7 --set min-share=0.01 --out each-its-own";
