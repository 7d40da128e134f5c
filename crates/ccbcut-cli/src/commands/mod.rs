//! One file per verb.

mod bench;
mod cluster;
mod compare;
mod contours;
mod cost;
pub mod demo;
mod embed;
mod evaluate;
mod figures;
mod generate;
mod segment;
mod segment_features;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ccbcut::{cost::Costs, memory::Prediction, report::Stage};
use serde::Serialize;

use crate::{
    args::Verb,
    exit::ExitStatus,
    memory,
    output::Output,
    report::{self, GraphFacts, OutputFile, RunReport, SCHEMA_VERSION, Sweep, Versions},
};

/// Does what was asked.
///
/// # Errors
/// Whatever the verb cannot do; [`crate::output::Output::fail`] knows how to say it.
pub fn run(verb: Verb, output: &Output) -> Result<ExitStatus> {
    match verb {
        Verb::Segment(args) => segment::run(&args.resolved(), output),
        Verb::Cluster(args) => cluster::run(&args.resolved(), output),
        Verb::Embed(args) => embed::run(&args.resolved(), output),
        Verb::Cost(args) => cost::run(&args, output),
        Verb::Contours(args) => contours::run(&args, output),
        Verb::Compare(args) => compare::run(&args.resolved(), output),
        Verb::Evaluate(args) => evaluate::run(&args, output),
        Verb::Bench(args) => bench::run(&args.what, output),
        Verb::Figures(args) => figures::run(&args, output),
        Verb::Demo(args) => demo::run(&args, output),
        Verb::Generate(args) => generate::run(&args.what, output),
    }
}

/// Limits the library to a number of threads, 0 for all.
fn use_threads(threads: usize) -> Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().context("starting threads")
}

/// What a run of the library leaves for its report, apart from the labels or the embedding itself.
struct Outcome {
    graph: GraphFacts,
    stages: Vec<Stage>,
    trace: Vec<Sweep>,
    stop_reason: String,
    converged: bool,
    costs: Option<Costs>,
}

impl Outcome {
    /// The report of a run; `sizes` are those of its parts.
    fn report(
        self,
        command: &'static str,
        input: &Path,
        args: &impl Serialize,
        sizes: Vec<usize>,
        outputs: Vec<OutputFile>,
        prediction: &Prediction,
    ) -> Result<RunReport> {
        Ok(RunReport {
            schema_version: SCHEMA_VERSION,
            command,
            input: PathBuf::from(input),
            parameters: report::parameters(args)?,
            graph: self.graph,
            features: None,
            stages: self.stages,
            trace: self.trace,
            stop_reason: self.stop_reason,
            converged: self.converged,
            n_segments: sizes.len(),
            sizes,
            costs: self.costs,
            outputs,
            predicted_bytes: prediction.peak().1,
            peak_bytes: memory::peak(),
            versions: Versions::current(),
        })
    }
}

/// Done, or done but below what `--strict` asks.
fn status_of_run(report: &RunReport, strict: bool) -> ExitStatus {
    if strict && !report.converged { ExitStatus::Below } else { ExitStatus::Success }
}
