//! Options of the cut itself, shared by `segment`, `cluster` and `embed`.

use ccbcut::kmeans::Seeding;
use clap::Args;
use serde::Serialize;

use super::{BalanceName, CriterionName, Method, Rounding, Solver, Variant, threads};
use crate::memory::MaxMemory;

/// κ̃ of graphs where neither `--kappa` nor `--kappa-count` is given.
pub const DEFAULT_KAPPA: f64 = 1e-4;

/// Into how many parts, and how.
#[derive(Debug, Clone, Args, Serialize)]
#[command(next_help_heading = "Parts")]
pub struct PartitionArgs {
    /// Number of parts, or `auto` to have it chosen
    #[arg(short = 'k', long, value_name = "N", default_value_t = Segments::Count(8))]
    pub segments: Segments,
    /// The most parts that `-k auto` may choose
    #[arg(long, value_name = "N", default_value_t = 12, hide_short_help = true)]
    pub k_max: usize,
    /// How the parts are found
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    pub method: Method,
    /// Which algorithm finds the cuts
    #[arg(long, value_enum, default_value_t, value_name = "NAME", hide_short_help = true)]
    #[serde(skip_serializing_if = "is_irrq")]
    pub solver: Solver,
    /// Refine the cuts by moving single vertices while the cost falls
    ///
    /// In a hierarchical run every split is refined, so that the parts stay nested; in a multiway run all parts are, in
    /// the end.
    #[arg(long, hide_short_help = true)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub refine: bool,
    /// What thresholds, splits and refinement make small [default: ccb; cheeger for the solver ipm]
    #[arg(long, value_enum, value_name = "COST", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub criterion: Option<CriterionName>,
    /// Random starts of the solvers ipm and ratiodca [default: 10, fewer on large graphs]
    #[arg(long, value_name = "N", hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts: Option<usize>,
    /// How the rows of an embedding become parts (multiway) [default: discretize for images at tau < 2; kmeans for all else, with fewer columns than that takes, with another solver and in the released variant]
    #[arg(long, value_enum, value_name = "HOW", hide_short_help = true)]
    pub rounding: Option<Rounding>,
    /// Columns of the embedding (multiway) [default: the number of parts for images, one fewer for all else and in the released variant]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub columns: Option<usize>,
    /// Least size of a part, as a share of the whole (hierarchical) [default: 0.002 for images, 0 for graphs]
    ///
    /// A split that would leave less on a side is made only when no part can be split otherwise. The default for images
    /// is 0 in the released variant.
    #[arg(long, value_name = "SHARE", hide_short_help = true, allow_negative_numbers = true)]
    pub min_share: Option<f64>,
    /// Cut into N parts first, then join them again, those that are hardest to cut apart first (hierarchical) [default: 120 where `segment` cuts the pixels of an image, else 0: not]
    ///
    /// The first splits of a large part are the least certain; joining takes back borders that went through the middle
    /// of something. Smaller numbers of parts stay nested in larger ones. There is no more than one part for eight vertices
    /// of the graph that is cut; where that leaves fewer than N and fewer than 120, and with strokes or links, nothing is joined.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub rejoin: Option<usize>,
    /// Starts of k-means, or of discretize
    #[arg(long, value_name = "N", default_value_t = 10, hide_short_help = true)]
    pub n_init: usize,
    /// Rows of the embedding that the starts of k-means, or of discretize, are tried on, 0 for all (multiway)
    ///
    /// Of all rows, k-means is nearly sure to draw those that lie far off, each as a part of its own.
    #[arg(long, value_name = "N", default_value_t = Seeding::DEFAULT_ROWS, hide_short_help = true)]
    pub seed_rows: usize,
}

impl Default for PartitionArgs {
    /// What the command line has without options.
    fn default() -> Self {
        Self {
            segments: Segments::Count(8),
            k_max: 12,
            method: Method::default(),
            solver: Solver::default(),
            refine: false,
            criterion: None,
            starts: None,
            rounding: None,
            columns: None,
            min_share: None,
            rejoin: None,
            n_init: 10,
            seed_rows: Seeding::DEFAULT_ROWS,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
fn is_irrq(solver: &Solver) -> bool {
    *solver == Solver::Irrq
}

impl PartitionArgs {
    /// The same with every default that depends on another option filled in.
    #[must_use]
    pub fn resolved(mut self, embedding: &EmbeddingArgs, is_of_pixels: bool) -> Self {
        if self.method == Method::Multiway {
            let is_plain = embedding.variant == Variant::Released || !is_of_pixels;
            let Segments::Count(count) = self.segments else { return self };
            let columns = self.columns.unwrap_or(count.saturating_sub(usize::from(is_plain)).max(1));
            let is_ours = !is_plain && self.solver == Solver::Irrq && embedding.tau < 2.0;
            let is_turned = is_ours && columns + 1 >= count;
            self.columns = Some(columns);
            self.rounding =
                self.rounding.or(Some(if is_turned { Rounding::Discretize } else { Rounding::Kmeans }));
        }
        self.min_share = self.min_share.or(Some(0.0));
        self.rejoin = self.rejoin.or(Some(0));
        self
    }
}

/// A number of parts, or the wish to have it chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segments {
    /// So many.
    Count(usize),
    /// As many as there are.
    Auto,
}

impl Segments {
    /// The number, 1 where it is still to be chosen.
    pub fn count(self) -> usize {
        match self {
            Self::Count(count) => count,
            Self::Auto => 1,
        }
    }
}

impl std::str::FromStr for Segments {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        text.parse().map(Self::Count).map_err(|_| "expected a number of parts, or `auto`".to_owned())
    }
}

impl std::fmt::Display for Segments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Auto => f.write_str("auto"),
        }
    }
}

impl Serialize for Segments {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => serializer.serialize_u64(*count as u64),
            Self::Auto => serializer.serialize_str("auto"),
        }
    }
}

/// Which cost is made small, and how far.
#[derive(Debug, Clone, Args, Serialize)]
#[command(next_help_heading = "Cut")]
pub struct EmbeddingArgs {
    /// The knob, 0 < tau <= 2: at 2 the normalized (or ratio) cut, below it small parts may stand alone
    ///
    /// tau = 2 asks for balanced parts: it is the normalized cut (or the ratio cut, with `--balance ratio`). The
    /// smaller tau, the less balance counts, and the sooner a small, weakly tied part is cut off rather than a large
    /// one chopped. The default did best on the photographs of BSDS500.
    #[arg(long, value_name = "T", default_value_t = ccbcut::segment::TAU, allow_negative_numbers = true)]
    pub tau: f64,
    /// What the size of a part is measured in
    #[arg(long, value_enum, default_value_t, value_name = "BY")]
    pub balance: BalanceName,
    /// Which form of the reweighting algorithm runs
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_short_help = true)]
    pub variant: Variant,
    /// Share of the uncut edges that smoothing leaves free, 0 to 1 [default: 0.0001; 0.2 where contours have a say]
    #[arg(
        long,
        value_name = "F",
        conflicts_with = "kappa_count",
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    pub kappa: Option<f64>,
    /// The same as a number of entries, instead of a share
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub kappa_count: Option<usize>,
    /// Decades that the reweighting may span before epsilon is held; 0 for no floor
    #[arg(
        long,
        value_name = "DECADES",
        default_value_t = 10.0,
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    pub epsilon_floor: f64,
    /// Most sweeps of the reweighting
    #[arg(long, value_name = "N", default_value_t = 50, hide_short_help = true)]
    pub max_iterations: usize,
    /// Relative change of the objective at which sweeps stop
    #[arg(
        long,
        value_name = "TOL",
        default_value_t = 0.01,
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    pub tol: f64,
    /// Stop sweeping as soon as no vertex changes sides: faster, the cost may come out a little different
    #[arg(long, hide_short_help = true)]
    pub early_stop: bool,
    /// Contract stiff edges in sweeps of one column, as hierarchical cuts make them: faster, single vertices may be split off
    /// differently
    #[arg(long, hide_short_help = true)]
    pub contract: bool,
    /// Residual at which the eigensolver stops [default: 1e-6; multiway a tenth of --tol once edges are reweighted]
    #[arg(long, value_name = "TOL", hide_short_help = true, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eigen_tol: Option<f64>,
    /// End with the rotation of the embedding that lowers J_tau (multiway, embed)
    #[arg(long, hide_short_help = true)]
    pub rotate: bool,
    /// Seed of everything random; the same seed gives the same bytes
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Threads to use, 0 for all; changes the time, never the result
    #[arg(long, value_name = "N", value_parser = threads, default_value_t = 0, hide_short_help = true)]
    pub threads: usize,
    /// Stop sweeping after this long and use what is there
    #[arg(long, value_name = "SECONDS", value_parser = seconds, hide_short_help = true)]
    pub time_limit: Option<f64>,
}

impl EmbeddingArgs {
    /// The same with every default that depends on another option filled in.
    #[must_use]
    pub fn resolved(mut self, kappa: f64) -> Self {
        if self.kappa_count.is_none() {
            self.kappa = self.kappa.or(Some(kappa));
        }
        self
    }
}

/// How much memory a run may take.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Memory")]
pub struct MemoryArgs {
    /// Refuse runs that need more: 4G, 512M, 50% [default: 80%]
    ///
    /// The need is predicted from the shape of the input before anything large is made. A share is taken of the memory
    /// of the machine, or of the control group that the command runs in.
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub max_memory: Option<MaxMemory>,
    /// Print what the run would need, and what for, instead of doing it
    #[arg(long, hide_short_help = true)]
    pub dry_run: bool,
}

/// A length of time that a deadline can be made of.
fn seconds(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    match std::time::Duration::try_from_secs_f64(value) {
        Ok(_) => Ok(value),
        Err(_) => Err("expected a number of seconds, 0 or more".to_owned()),
    }
}
