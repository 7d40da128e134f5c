//! The verbs `superpixels` and `volume`.

use std::{path::PathBuf, str::FromStr};

use clap::{Args, ValueHint};
use serde::{Serialize, Serializer};

use super::{EmbeddingArgs, MemoryArgs, PartitionArgs, threads};

/// Cut an image or a volume into many small regions of like colour.
///
/// The simple linear iterative clustering of Achanta and others (SLIC): connected, compact regions that follow edges. `ccbcut
/// segment --superpixels` takes the label map back, and cuts its regions instead of the pixels.
#[derive(Debug, Args)]
#[command(after_long_help = SUPERPIXEL_EXAMPLES)]
pub struct SuperpixelsArgs {
    /// An image, or a volume: .npy of three dimensions or more, .tif of several pages with --volume
    #[arg(value_name = "INPUT", value_hint = ValueHint::FilePath)]
    pub input: PathBuf,
    /// About how many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1000)]
    pub count: usize,
    /// The label map: .png .npy .tif .mat; of a volume .npy .tif
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// A picture of the boundaries on the image
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "volume")]
    pub overlay: Option<PathBuf>,
    /// How much place counts against colour: more makes squares, less follows edges
    #[arg(long, value_name = "C", default_value_t = 10.0, allow_negative_numbers = true)]
    pub compactness: f64,
    /// INPUT is a volume
    #[arg(long)]
    pub volume: bool,
    /// Distances between slices, rows and columns of a volume
    #[arg(long, value_name = "Z,Y,X", requires = "volume", default_value_t)]
    pub spacing: Spacing,
    /// Threads to use, 0 for all; changes the time, never the result
    #[arg(long, value_name = "N", value_parser = threads, default_value_t = 0)]
    pub threads: usize,
    /// Refuse larger images and volumes
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    pub max_pixels: usize,
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
}

const SUPERPIXEL_EXAMPLES: &str = "\
Examples:
  ccbcut superpixels photo.jpg -n 2000 -o regions.png --overlay look.png
  ccbcut segment photo.jpg -k 8 --superpixels regions.png
  ccbcut superpixels scan.npy --volume --spacing 2.5,1,1 -n 5000 -o regions.npy";

/// Cut a volume into parts: a stack of slices, gray, in colour, or with any number of channels.
///
/// Voxels are gathered into supervoxels first; these are tied by the likeness of their mean values and the area in which they
/// touch, and cut. Colours are compared in L*a*b*; other values on a scale where the middle 98 % span 0 to 100.
#[derive(Debug, Args, Serialize)]
#[command(after_long_help = VOLUME_EXAMPLES)]
pub struct VolumeArgs {
    /// .npy (depth x height x width, perhaps x channels), or .tif with a slice per page
    #[arg(value_name = "VOLUME", value_hint = ValueHint::FilePath)]
    #[serde(skip)]
    pub input: PathBuf,
    #[command(flatten)]
    #[serde(flatten)]
    pub partition: PartitionArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub embedding: EmbeddingArgs,
    /// About how many supervoxels
    #[arg(long, value_name = "N", default_value_t = 5000, help_heading = "Volume to graph")]
    pub supervoxels: usize,
    /// Distances between slices, rows and columns
    #[arg(long, value_name = "Z,Y,X", default_value_t, help_heading = "Volume to graph")]
    pub spacing: Spacing,
    /// How much place counts against values
    #[arg(
        long,
        value_name = "C",
        default_value_t = 10.0,
        help_heading = "Volume to graph",
        allow_negative_numbers = true
    )]
    pub compactness: f64,
    /// Width of the kernel between mean values
    #[arg(
        long,
        value_name = "S",
        default_value_t = 10.0,
        help_heading = "Volume to graph",
        allow_negative_numbers = true
    )]
    pub sigma: f64,
    /// Refuse larger volumes
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100_000_000,
        help_heading = "Volume to graph",
        hide_short_help = true
    )]
    pub max_pixels: usize,
    /// The label map: .npy or .tif
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    #[serde(skip)]
    pub output: PathBuf,
    /// A picture of some slices with the boundaries of the parts: .png
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    #[serde(skip)]
    pub slices: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long, help_heading = "Output")]
    #[serde(skip)]
    pub json: bool,
    /// Exit with 3 when an embedding did not converge
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    #[serde(skip)]
    pub strict: bool,
    /// Overwrite existing files
    #[arg(long, help_heading = "Output")]
    #[serde(skip)]
    pub force: bool,
    #[command(flatten)]
    #[serde(skip)]
    pub memory: MemoryArgs,
}

impl VolumeArgs {
    /// The same with every default that depends on another option filled in.
    #[must_use]
    pub fn resolved(mut self) -> Self {
        self.partition = self.partition.resolved(&self.embedding, false);
        self.embedding = self.embedding.resolved(super::DEFAULT_KAPPA);
        self
    }
}

const VOLUME_EXAMPLES: &str = "\
Examples:
  ccbcut volume scan.npy -k 4 -o parts.npy --slices look.png
  ccbcut volume stack.tif -k 6 --spacing 2.5,1,1 --supervoxels 20000 -o parts.tif";

/// Distances along the three axes of a volume.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spacing(pub [f64; 3]);

impl Default for Spacing {
    fn default() -> Self {
        Self([1.0; 3])
    }
}

impl FromStr for Spacing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected three positive numbers such as 2.5,1,1, got {text}");
        let numbers: Vec<f64> =
            text.split(',').map(|n| n.trim().parse().map_err(|_| wrong())).collect::<Result<_, _>>()?;
        let all: [f64; 3] = numbers.try_into().map_err(|_| wrong())?;
        if all.iter().all(|n| n.is_finite() && *n > 0.0) { Ok(Self(all)) } else { Err(wrong()) }
    }
}

impl std::fmt::Display for Spacing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [z, y, x] = self.0;
        write!(f, "{z},{y},{x}")
    }
}

impl Serialize for Spacing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
