//! The verb `segment`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde::Serialize;

use ccbcut::segment::{MIN_SHARE, REJOIN, SIGMA, SMOOTHING};

use super::{
    AffinityMix, ContourWeight, EmbeddingArgs, FeatureArgs, Kernel, LabelFormat, MemoryArgs, Method,
    PartitionArgs, PmiWidth, RegionArgs, Solver, Upsampling, Variant,
};

/// Cut images into segments.
///
/// Reads PNG, JPEG, TIFF, WebP, BMP, PNM and NumPy arrays, ties every pixel to its neighbours by how alike their colours are, and cuts that graph
/// into parts. Writes a label map for each image, and pictures to look at.
#[derive(Debug, Clone, Args, Serialize)]
#[command(after_long_help = EXAMPLES)]
pub struct SegmentArgs {
    /// Images to cut; - for stdin
    #[arg(value_name = "IMAGE", required_unless_present = "features", value_hint = ValueHint::FilePath)]
    #[serde(skip)]
    pub images: Vec<PathBuf>,
    #[command(flatten)]
    #[serde(flatten)]
    pub partition: PartitionArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub embedding: EmbeddingArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub graph: ImageGraphArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub features: FeatureArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub regions: RegionArgs,
    /// Strokes that belong together: a picture, one colour or number per part, black for none; needs a single input
    ///
    /// Pixels of one colour come out in one part, those of two colours in two (hierarchical).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    #[arg(help_heading = "Parts")]
    #[serde(skip)]
    pub scribbles: Option<PathBuf>,
    #[command(flatten)]
    #[serde(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    #[serde(skip)]
    pub memory: MemoryArgs,
}

impl SegmentArgs {
    /// The same with every default that depends on another option filled in.
    #[must_use]
    pub fn resolved(mut self) -> Self {
        let is_released = self.embedding.variant == Variant::Released;
        if self.partition.method == Method::Hierarchical && !is_released {
            self.partition.min_share = self.partition.min_share.or(Some(MIN_SHARE));
            // Measured on pixels and the paper's own solver; rivals are cut as they are, and strokes stand against joining.
            let is_of_pixels = self.features.features.is_none() && self.regions.superpixels.is_none();
            let is_free = self.partition.solver == Solver::Irrq && self.scribbles.is_none();
            if is_of_pixels && is_free {
                self.partition.rejoin = self.partition.rejoin.or(Some(REJOIN));
            }
        }
        self.graph.smooth = Some(self.graph.smoothing());
        self.partition = self.partition.resolved(&self.embedding, true);
        let default = match self.embedding.variant {
            Variant::Released => Upsampling::Nearest,
            Variant::Published | Variant::Weighted => Upsampling::Prolong,
        };
        self.graph.upsampling = self.graph.upsampling.or(Some(default));
        self.graph.affinity = Some(self.graph.mix());
        self.embedding = self.embedding.resolved(self.graph.mix().default_kappa());
        self
    }
}

/// How an image becomes a graph.
#[derive(Debug, Clone, Args, Serialize)]
#[command(next_help_heading = "Image to graph")]
pub struct ImageGraphArgs {
    /// How pixels are compared: lab, mpb, pmi, or several joined by + [default: lab; mpb with --contours]
    ///
    /// `lab` compares their colours, `mpb` looks for contours between them, `pmi` asks how often two such pixels meet in this
    /// image, beyond chance. `lab+mpb` multiplies the two; a number before a
    /// name is the power its weights are raised to, as in `0.5lab+mpb`.
    #[arg(long, value_name = "BY")]
    pub affinity: Option<AffinityMix>,
    /// Take these contours for `mpb`: a gray image or .npy (0 to 1); needs a single input
    ///
    /// The map of any boundary detector, or a drawing, of the size of the image.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    #[serde(skip)]
    pub contours: Option<PathBuf>,
    /// How the strongest contour between two pixels becomes a weight
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_short_help = true)]
    pub contour_weight: ContourWeight,
    /// Width of that weight, in strengths of contours
    #[arg(
        long,
        value_name = "S",
        default_value_t = 0.1,
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    pub contour_sigma: f64,
    /// Pairs of pixels that `pmi` learns from
    #[arg(long, value_name = "N", default_value_t = 5000, hide_short_help = true)]
    pub pmi_pairs: usize,
    /// Width of its densities, in [0.01, 0.1] or so, or `learned`
    #[arg(long, value_name = "H", default_value_t, hide_short_help = true)]
    pub pmi_bandwidth: PmiWidth,
    /// How a colour distance becomes a weight
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_short_help = true)]
    pub kernel: Kernel,
    /// Width of the Gaussian kernel, in Lab units; larger ties more
    #[arg(long, value_name = "S", default_value_t = SIGMA, allow_negative_numbers = true)]
    pub sigma: f64,
    /// Width of the adaptive kernel, in median distances of the image
    #[arg(
        long,
        value_name = "F",
        default_value_t = 1.0,
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    pub scale: f64,
    /// Steepness of the released kernel
    #[arg(
        long,
        value_name = "B",
        default_value_t = 90.0,
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    pub beta: f64,
    /// Blur colours by a Gaussian of this many pixels before they are compared [default: 1; released kernel: 0]
    ///
    /// Fine texture then no longer cuts a region to pieces. 0 compares the pixels as they are: for drawings, and wherever
    /// boundaries must be exact to the pixel.
    #[arg(long, value_name = "PIXELS", hide_short_help = true, allow_negative_numbers = true)]
    pub smooth: Option<f64>,
    /// Pixels up to this far apart are tied
    #[arg(
        long,
        value_name = "PIXELS",
        default_value_t = 10.0,
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    pub radius: f64,
    /// How often the graph is halved before it is cut; 0 for full resolution [default: 3; 2 below 96,000 pixels]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub levels: Option<usize>,
    /// How labels reach the pixels (hierarchical) [default: prolong; nearest in the released variant]
    #[arg(long, value_enum, value_name = "HOW", hide_short_help = true)]
    pub upsampling: Option<Upsampling>,
    /// Cut only where this image is not black; needs a single input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    #[serde(skip)]
    pub mask: Option<PathBuf>,
    /// Refuse larger images
    #[arg(long, value_name = "N", default_value_t = 50_000_000, hide_short_help = true)]
    pub max_pixels: usize,
}

impl ImageGraphArgs {
    /// How pixels are compared, the default filled in.
    pub fn mix(&self) -> AffinityMix {
        let default = || match &self.contours {
            Some(_) => AffinityMix::of_contours(),
            None => AffinityMix::default(),
        };
        self.affinity.clone().unwrap_or_else(default)
    }

    /// How far colours are blurred, the default filled in.
    pub fn smoothing(&self) -> f64 {
        let default = match self.kernel {
            Kernel::Gaussian | Kernel::Adaptive => SMOOTHING,
            Kernel::Released => 0.0,
        };
        self.smooth.unwrap_or(default)
    }
}

/// What is written, and where.
#[derive(Debug, Clone, Args, Serialize)]
#[command(next_help_heading = "Output")]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub struct OutputArgs {
    /// Folder, or label files of a single input (.png .npy .tif .mat) [default: this folder]
    ///
    /// A path with one of these extensions names a label file and may be given several times; pictures then come
    /// only if asked for, beside the first of them. Any other path is a folder, made if missing (but not one with
    /// the ending of another kind of file, such as `.jpg`), where the files of input `a.jpg` are `a-labels.png`,
    /// `a-overlay.png`, `a-mean-color.png` and `a-boundaries.png`.
    #[arg(short, long = "output", alias = "output-dir", value_name = "PATH", value_hint = ValueHint::AnyPath)]
    #[serde(skip)]
    pub output: Vec<PathBuf>,
    /// Formats of the label map in a folder: png, npy, tif, mat
    #[arg(long, value_enum, value_name = "LIST", value_delimiter = ',', default_value = "png")]
    #[arg(hide_short_help = true, hide_possible_values = true)]
    #[serde(skip)]
    pub format: Vec<LabelFormat>,
    /// Picture: the boundaries drawn on the image
    ///
    /// In a folder all three pictures are written unless some are named or `--no-pictures` is given.
    #[arg(long, hide_short_help = true)]
    #[serde(skip)]
    pub overlay: bool,
    /// Picture: every segment in its mean colour
    #[arg(long, hide_short_help = true)]
    #[serde(skip)]
    pub mean_color: bool,
    /// Picture: the boundaries alone, black on white
    #[arg(long, hide_short_help = true)]
    #[serde(skip)]
    pub boundaries: bool,
    /// No pictures, only label maps
    #[arg(long, conflicts_with_all = ["overlay", "mean_color", "boundaries"])]
    #[serde(skip)]
    pub no_pictures: bool,
    /// Also the label maps of 2, 3, … segments on the way (hierarchical)
    #[arg(long, hide_short_help = true)]
    #[serde(skip)]
    pub all_k: bool,
    /// Split segments into their connected regions
    #[arg(long, hide_short_help = true)]
    pub connected: bool,
    /// Table of the segments: size, box, centre, colour (CSV); needs a single input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    #[serde(skip)]
    pub regions: Option<PathBuf>,
    /// Annotations in the COCO format; needs a single input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    #[serde(skip)]
    pub coco: Option<PathBuf>,
    /// Outlines as GeoJSON; needs a single input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    #[serde(skip)]
    pub geojson: Option<PathBuf>,
    /// The hierarchy as a contour map (.mat .npy .png); hierarchical, single input
    ///
    /// The map has (2 × height + 1) × (2 × width + 1) values. The regions at threshold 1 - i/k, where k is the number of
    /// segments, are the connected regions of the cut into i segments. A `.mat` file has the variable `ucm2` that the
    /// BSDS tools read; a PNG has 16 bits, 65535 for 1.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    #[serde(skip)]
    pub ucm: Option<PathBuf>,
    /// Picture: the first three coordinates of the embedding as colours (.png); needs a single input
    ///
    /// A hierarchical cut has no embedding of all parts, so one of three columns is made for the picture.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    #[serde(skip)]
    pub embedding_picture: Option<PathBuf>,
    /// The tree of the cut, for `recut` (.json .npz); hierarchical, single input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    #[serde(skip)]
    pub tree: Option<PathBuf>,
    /// The evidence for the number of parts that `-k auto` chose, as a plot (.svg); single input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    #[serde(skip)]
    pub evidence: Option<PathBuf>,
    /// Take the parameters of an earlier run from its JSON report; options given here win
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    #[serde(skip)]
    pub params: Option<PathBuf>,
    /// Print the report as JSON, one object per line and image
    #[arg(long)]
    #[serde(skip)]
    pub json: bool,
    /// Overwrite existing files
    #[arg(long)]
    #[serde(skip)]
    pub force: bool,
    /// Exit with 1 when the sweeps did not converge
    #[arg(long, hide_short_help = true)]
    #[serde(skip)]
    pub strict: bool,
}

const EXAMPLES: &str = "\
Examples:
  ccbcut segment photo.jpg -k 8                         label map and pictures in this folder
  ccbcut segment photo.jpg -k 8 --tau 2                 the normalized cut, to compare
  ccbcut segment *.jpg -k 12 -o out --format png,npy    a batch; one bad file does not stop the rest
  ccbcut segment photo.jpg -k 8 -o labels.npy           only the label map
  ccbcut segment photo.jpg -k 8 --json > run.json       the report
  ccbcut segment other.jpg --params run.json -k 12      the same settings, another number of parts
  cat photo.png | ccbcut segment - -o labels.png        from a pipe
  ccbcut segment photo.jpg --features dino.npy -k 6     features of any kind, on a coarse grid or not

Files are written under a temporary name and renamed, and never overwrite others without --force.";
