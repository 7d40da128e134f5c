//! The verb `sweep`.

use std::{fmt, path::PathBuf, str::FromStr};

use anyhow::{Context, Result};
use clap::{Args, Parser, ValueHint};
use serde::Serialize;

use super::{BalanceName, EmbeddingArgs, GraphInputArgs, ImageGraphArgs, PartitionArgs, threads};

/// Follow the parts of a graph or an image through several tau.
///
/// Cuts at one tau after the other, each time starting from the cut before, and tells which part splits off at which tau,
/// how large it is and what it costs. Images are told by the ending of their file name.
#[derive(Debug, Args, Serialize)]
#[command(after_long_help = EXAMPLES)]
pub struct SweepArgs {
    /// An image, or a graph as `cluster` reads it
    #[arg(value_name = "INPUT", value_hint = ValueHint::FilePath)]
    #[serde(skip)]
    pub input: PathBuf,
    /// From which tau to which, or a list: 2..0.25, or 2,1.5,1
    #[arg(long, value_name = "FROM..TO", default_value_t = TauRange::Span(2.0, 0.25), help_heading = "Cut")]
    pub tau: TauRange,
    /// How many tau, evenly spaced
    #[arg(long, value_name = "N", default_value_t = 8, help_heading = "Cut")]
    pub steps: usize,
    /// What the size of a part is measured in
    #[arg(long, value_enum, default_value_t, value_name = "BY", help_heading = "Cut")]
    pub balance: BalanceName,
    /// Seed of everything random; the same seed gives the same bytes
    #[arg(long, value_name = "N", default_value_t = 0, hide_short_help = true, help_heading = "Cut")]
    pub seed: u64,
    /// Threads to use, 0 for all; changes the time, never the result
    #[arg(long, value_name = "N", value_parser = threads, default_value_t = 0, hide_short_help = true, help_heading = "Cut")]
    #[serde(skip)]
    pub threads: usize,
    #[command(flatten)]
    #[serde(flatten)]
    pub partition: PartitionArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub graph: GraphInputArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub image: ImageGraphArgs,
    /// The parts over tau as a plot (.svg)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    #[serde(skip)]
    pub diagram: Option<PathBuf>,
    /// Pictures of an image at every tau, side by side (.png)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    #[serde(skip)]
    pub strip: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long, help_heading = "Output")]
    #[serde(skip)]
    pub json: bool,
    /// Overwrite existing files
    #[arg(long, help_heading = "Output")]
    #[serde(skip)]
    pub force: bool,
}

impl SweepArgs {
    /// The same with every default that depends on another option filled in.
    #[must_use]
    pub fn resolved(mut self) -> Self {
        self.graph = self.graph.resolved();
        self.image.affinity = Some(self.image.mix());
        self.image.smooth = Some(self.image.smoothing());
        self
    }

    /// The options of a cut at one tau: those that this verb has, and the defaults of the others.
    ///
    /// # Errors
    /// None, as long as all options of a cut have defaults.
    pub fn embedding(&self, tau: f64) -> Result<EmbeddingArgs> {
        /// A command of these options alone.
        #[derive(Parser)]
        struct Defaults {
            #[command(flatten)]
            embedding: EmbeddingArgs,
        }
        let defaults = Defaults::try_parse_from(["ccbcut"]).context("looking up the defaults of a cut")?;
        let EmbeddingArgs { kappa, .. } =
            defaults.embedding.clone().resolved(self.image.mix().default_kappa());
        let (balance, seed, threads) = (self.balance, self.seed, self.threads);
        Ok(EmbeddingArgs { tau, balance, kappa, seed, threads, ..defaults.embedding })
    }
}

/// The tau of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub enum TauRange {
    /// From one to another.
    Span(f64, f64),
    /// These.
    List(Vec<f64>),
}

impl TauRange {
    /// Every tau, `steps` of a span.
    pub fn values(&self, steps: usize) -> Vec<f64> {
        match self {
            Self::List(values) => values.clone(),
            Self::Span(from, _) if steps < 2 => vec![*from],
            Self::Span(from, to) => {
                let share = |step: usize| step as f64 / (steps - 1) as f64;
                // Rounded to what a reader would write.
                let value = |step| (1e6 * (from + share(step) * (to - from))).round() / 1e6;
                (0..steps).map(value).collect()
            }
        }
    }
}

impl FromStr for TauRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let tau = |word: &str| {
            let value = word.trim().parse::<f64>().ok().filter(|tau| *tau > 0.0 && *tau <= 2.0);
            value.ok_or_else(|| format!("expected 0 < tau <= 2, got `{word}`"))
        };
        match text.split_once("..") {
            Some((from, to)) => Ok(Self::Span(tau(from)?, tau(to)?)),
            None => Ok(Self::List(text.split(',').map(tau).collect::<Result<_, _>>()?)),
        }
    }
}

impl fmt::Display for TauRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Span(from, to) => write!(f, "{from}..{to}"),
            Self::List(values) => {
                f.write_str(&values.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
            }
        }
    }
}

impl Serialize for TauRange {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

const EXAMPLES: &str = "\
Examples:
  ccbcut sweep graph.npz -k 5                                     eight tau from 2 down to 0.25
  ccbcut sweep graph.npz -k 5 --tau 2..0.5 --steps 13 --diagram parts.svg
  ccbcut sweep photo.jpg -k 6 --tau 2,1.5,1,0.5 --strip photo-tau.png --json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_lists_of_tau() {
        let values = |text: &str, steps| text.parse::<TauRange>().unwrap().values(steps);
        assert_eq!(values("2..0.25", 8), [2.0, 1.75, 1.5, 1.25, 1.0, 0.75, 0.5, 0.25]);
        assert_eq!(values("0.5..1", 2), [0.5, 1.0]);
        assert_eq!(values("2..1", 1), [2.0]);
        assert_eq!(values("2, 1.5,0.1", 99), [2.0, 1.5, 0.1]);
        for bad in ["", "2..", "0..1", "2..-1", "3", "1,x", "nan"] {
            assert!(bad.parse::<TauRange>().is_err(), "{bad}");
        }
        assert_eq!("2..0.25".parse::<TauRange>().unwrap().to_string(), "2..0.25");
    }
}
