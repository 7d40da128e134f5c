//! Superpixels of the verb `segment`.

use std::{fmt, path::PathBuf, str::FromStr};

use clap::{Args, ValueHint};
use serde::{Serialize, Serializer};

/// Regions that are cut as one vertex each.
#[derive(Debug, Clone, Args, Serialize)]
pub struct RegionArgs {
    /// Cut superpixels instead of pixels: about how many, or a label map (.png .npy .tif)
    ///
    /// Seconds for a photograph of any size. Regions that touch are tied by the likeness of their mean colours
    /// (`--affinity lab`, the default), by the contours along their border (`mpb`), or both (`lab+mpb`), times
    /// the length of the border.
    #[arg(long, value_name = "N|FILE", conflicts_with = "features")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superpixels: Option<Superpixels>,
    /// How much place counts against colour: more makes squares, less follows edges [default: 10]
    #[arg(
        long,
        value_name = "C",
        requires = "superpixels",
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compactness: Option<f64>,
    /// Width of the kernel between mean colours, in Lab units [default: 14]
    #[arg(
        long,
        value_name = "S",
        requires = "superpixels",
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region_sigma: Option<f64>,
    /// Compare these rows of numbers too, one per region of a label map: .npy, .csv
    #[arg(long, value_name = "FILE", requires = "superpixels", value_hint = ValueHint::FilePath, hide_short_help = true)]
    #[serde(skip)]
    pub region_features: Option<PathBuf>,
    /// Width of the kernel between them [default: the median distance of regions that touch]
    #[arg(
        long,
        value_name = "S",
        requires = "region_features",
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region_feature_sigma: Option<f64>,
}

impl RegionArgs {
    /// Place against colour.
    pub fn compactness(&self) -> f64 {
        self.compactness.unwrap_or(10.0)
    }

    /// Width of the kernel between mean colours.
    pub fn sigma(&self) -> f64 {
        self.region_sigma.unwrap_or(ccbcut::regions::SIGMA)
    }
}

/// Where superpixels come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Superpixels {
    /// About so many, by SLIC.
    Count(usize),
    /// A label map.
    File(PathBuf),
}

impl FromStr for Superpixels {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<usize>() {
            Ok(0) => Err("expected at least 1 superpixel, or a label map".to_owned()),
            Ok(count) => Ok(Self::Count(count)),
            Err(_) if text.parse::<f64>().is_ok() => {
                Err(format!("expected a whole number of superpixels, or a label map, got {text}"))
            }
            Err(_) => Ok(Self::File(text.into())),
        }
    }
}

impl fmt::Display for Superpixels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl Serialize for Superpixels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => serializer.serialize_u64(*count as u64),
            Self::File(path) => serializer.collect_str(&path.display()),
        }
    }
}
