//! Feature maps of the verb `segment`.

use std::{fmt, path::PathBuf, str::FromStr};

use clap::{Args, ValueEnum, ValueHint};
use serde::{Serialize, Serializer};

/// A map of features to cut, instead of the colours of an image.
#[derive(Debug, Clone, Args, Serialize)]
#[command(next_help_heading = "Features")]
pub struct FeatureArgs {
    /// Cut this feature map (.npy .npz .safetensors .tif); IMAGE may be left out
    ///
    /// Any number of values per pixel, or per token of a coarse grid that covers the image: satellite bands, filter
    /// responses, tokens of a vision transformer. Parts of a coarse grid are taken to the pixels of IMAGE along its
    /// edges; without IMAGE the label map has the size of the feature map.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    #[serde(skip)]
    pub features: Option<PathBuf>,
    /// How two feature vectors are compared [default: cosine; rbf for a single band]
    #[arg(long, value_enum, value_name = "BY", requires = "features", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature_metric: Option<FeatureMetric>,
    /// How a cosine c becomes a weight [default: exponential]
    #[arg(long, value_enum, value_name = "FORM", requires = "features", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cosine_weight: Option<CosineWeight>,
    /// The cosine above which two tokens are tied by 1 (--cosine-weight threshold) [default: 0.2]
    #[arg(
        long,
        value_name = "C",
        requires = "features",
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cosine_threshold: Option<f64>,
    /// Width of the rbf or exponential kernel: a number, `median`, or `median:F` for F medians [default: median]
    #[arg(
        long,
        value_name = "S",
        requires = "features",
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<BandwidthArg>,
    /// Which vectors are compared: local, all, knn:K, mutual-knn:K [default: local at image size, else all]
    ///
    /// `local` ties pixels up to --radius apart, `all` every pair, `knn:K` each with the K most like it. Coarse grids of
    /// more than 4096 tokens are `local` by default.
    #[arg(long, value_name = "WHICH", requires = "features", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbors: Option<NeighborsArg>,
    /// The grid that a list of tokens fills, rows by columns: 37x37
    #[arg(long, value_name = "HxW", requires = "features", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grid: Option<GridArg>,
    /// Where the channels of the array are [default: hwc]
    #[arg(long, value_enum, value_name = "ORDER", requires = "features", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<LayoutArg>,
    /// Which array of an archive, or which tensor, when there are several
    #[arg(long, value_name = "NAME", requires = "features", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature_name: Option<String>,
}

/// How two feature vectors are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FeatureMetric {
    /// By the cosine c of their angle
    Cosine,
    /// By their distance d: exp(-d^2/S^2)
    Rbf,
}

/// How a cosine becomes a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CosineWeight {
    /// exp((c - 1)/S)
    Exponential,
    /// max(0, c)
    Positive,
    /// 1 where c is above --cosine-threshold, 0.00001 elsewhere, as in TokenCut
    Threshold,
}

/// Where the channels of an array are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LayoutArg {
    /// Height, width, channels
    Hwc,
    /// Channels, height, width
    Chw,
}

/// `--bandwidth`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BandwidthArg {
    /// This wide.
    Fixed(f64),
    /// So many medians.
    Median(f64),
}

impl FromStr for BandwidthArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |_| "expected a number, `median`, or `median:F`".to_owned();
        match text.strip_prefix("median") {
            Some("") => Ok(Self::Median(1.0)),
            Some(rest) => rest.strip_prefix(':').unwrap_or("?").parse().map(Self::Median).map_err(wrong),
            None => text.parse().map(Self::Fixed).map_err(wrong),
        }
    }
}

impl fmt::Display for BandwidthArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(width) => write!(f, "{width}"),
            Self::Median(1.0) => write!(f, "median"),
            Self::Median(scale) => write!(f, "median:{scale}"),
        }
    }
}

/// `--neighbors`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeighborsArg {
    /// Pixels up to the radius apart.
    Local,
    /// Every pair.
    All,
    /// Each with those most like it.
    Nearest {
        /// How many.
        count: usize,
        /// Whether both must choose each other.
        mutual: bool,
    },
}

impl FromStr for NeighborsArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, count) = text.split_once(':').unwrap_or((text, ""));
        let count = || count.parse().ok().filter(|&count| count > 0);
        let found = match name {
            "local" if text == name => Some(Self::Local),
            "all" if text == name => Some(Self::All),
            "knn" => count().map(|count| Self::Nearest { count, mutual: false }),
            "mutual-knn" => count().map(|count| Self::Nearest { count, mutual: true }),
            _ => None,
        };
        found.ok_or_else(|| {
            "expected `local`, `all`, `knn:K` or `mutual-knn:K` with K of at least 1".to_owned()
        })
    }
}

impl fmt::Display for NeighborsArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => write!(f, "local"),
            Self::All => write!(f, "all"),
            Self::Nearest { count, mutual } => {
                write!(f, "{}knn:{count}", if *mutual { "mutual-" } else { "" })
            }
        }
    }
}

/// `--grid`: rows and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridArg(pub usize, pub usize);

impl FromStr for GridArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let sides = text.split_once(['x', 'X', '×']);
        let side = |text: &str| text.trim().parse().ok().filter(|&side: &usize| side > 0);
        let grid = sides.and_then(|(rows, columns)| Some(Self(side(rows)?, side(columns)?)));
        grid.ok_or_else(|| "expected rows and columns, such as 37x37".to_owned())
    }
}

impl fmt::Display for GridArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.0, self.1)
    }
}

macro_rules! serialize_as_text {
    ($($t:ty),*) => {$(
        impl Serialize for $t {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )*};
}

serialize_as_text!(BandwidthArg, NeighborsArg, GridArg);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_they_are_read() {
        for text in ["0.5", "median", "median:2"] {
            assert_eq!(text.parse::<BandwidthArg>().unwrap().to_string(), text);
        }
        for text in ["local", "all", "knn:10", "mutual-knn:3"] {
            assert_eq!(text.parse::<NeighborsArg>().unwrap().to_string(), text);
        }
        assert_eq!("37x24".parse::<GridArg>().unwrap(), GridArg(37, 24));
        assert_eq!(GridArg(37, 24).to_string(), "37x24");
        for text in ["", "median:", "medium", "median2"] {
            assert!(text.parse::<BandwidthArg>().is_err(), "{text}");
        }
        for text in ["", "knn", "knn:0", "knn:x", "all:3", "nearest"] {
            assert!(text.parse::<NeighborsArg>().is_err(), "{text}");
        }
        for text in ["", "37", "0x3", "3x", "axb"] {
            assert!(text.parse::<GridArg>().is_err(), "{text}");
        }
    }
}
