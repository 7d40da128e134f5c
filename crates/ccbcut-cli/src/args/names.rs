//! Options with a fixed list of values.

use clap::ValueEnum;
use serde::Serialize;

/// When messages are coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What the size of a part is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BalanceName {
    /// By volume, the sum of the degrees: CCN, and NCut at tau = 2
    #[default]
    Normalized,
    /// By the number of vertices: CCR, and RCut at tau = 2
    Ratio,
}

/// How the strongest contour m between two pixels becomes a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ContourWeight {
    /// exp(-(1 - q)/sigma), q a sigmoid of m, as the code of BSDS500 does it
    #[default]
    Sigmoid,
    /// exp(-m/sigma), as the paper on mPb has it
    Exponential,
}

/// How a colour distance d becomes a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kernel {
    /// exp(-d^2/sigma^2), d in Lab units
    #[default]
    Gaussian,
    /// The same with sigma = scale times the median distance of pixels five apart: wider for busy images
    Adaptive,
    /// exp(-beta d/d_max), as in the authors' released toolbox
    Released,
}

/// How the parts are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Split in two, again and again, each time where it costs least
    #[default]
    Hierarchical,
    /// All parts at once, from one embedding
    Multiway,
}

/// Which algorithm finds the cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Solver {
    /// Reweighted Rayleigh quotients: the paper's own
    #[default]
    Irrq,
    /// Inverse power method: Cheeger cuts, whatever tau is (hierarchical)
    Ipm,
    /// Splitting of the orthogonality constraint: piecewise flat embeddings at tau = 1 (1 <= tau <= 2)
    Soc,
    /// Tight relaxation of two-way CCB cuts (hierarchical)
    Ratiodca,
}

/// What thresholds, splits and refinement make small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CriterionName {
    /// The CCB cut at tau
    Ccb,
    /// The Cheeger cut: the largest of the parts' ratios of cut to size
    Cheeger,
    /// The normalized or ratio cut: the sum of these ratios
    Cut,
}

/// Which form of the reweighting algorithm runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// As the paper prints it
    #[default]
    Published,
    /// As the authors' released toolbox does it
    Released,
    /// With the weights of the relaxed cost
    Weighted,
}

/// How the rows of an embedding become parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rounding {
    /// k-means of the rows
    Kmeans,
    /// Alternating rotation and largest entry
    Discretize,
    /// Procrustean rounding
    Procrustes,
}

/// How the first weights are made from a given embedding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StartWeights {
    /// The ratio of the tau-norm to the squared 2-norm of differences
    #[default]
    Ratio,
    /// As after a sweep, smoothed with epsilon = 1
    Smoothed,
}

/// How the labels of a hierarchical cut reach the pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Upsampling {
    /// Each pixel joins the part it leans to most: boundaries follow the image
    Prolong,
    /// Each pixel takes the label of the nearest coarse pixel
    Nearest,
}

/// File formats of a label map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelFormat {
    /// 16-bit gray, at most 65,535 parts
    Png,
    /// NumPy, int32
    Npy,
    /// TIFF, 32-bit
    Tif,
    /// MATLAB, a `segs` cell numbered from 1, as the BSDS tools read
    Mat,
}

impl LabelFormat {
    /// The file extension.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Npy => "npy",
            Self::Tif => "tif",
            Self::Mat => "mat",
        }
    }

    /// The format that a file name asks for.
    pub fn of_path(path: &std::path::Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "png" => Some(Self::Png),
            "npy" => Some(Self::Npy),
            "tif" | "tiff" => Some(Self::Tif),
            "mat" => Some(Self::Mat),
            _ => None,
        }
    }
}

/// How the two directions of a directed graph become one edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Symmetrize {
    /// Half of the sum of their weights
    Mean,
    /// The larger weight
    Max,
    /// The sum of their weights
    Sum,
}
