//! One file per verb.

mod cluster;
mod cost;
mod demo;
mod embed;
mod generate;
mod segment;

use anyhow::{Context, Result};
use ccbcut::{cost::Costs, report::Stage};

use crate::{
    args::Verb,
    exit::ExitStatus,
    output::Output,
    report::{GraphFacts, RunReport, Sweep},
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

/// Done, or done but below what `--strict` asks.
fn status_of_run(report: &RunReport, strict: bool) -> ExitStatus {
    if strict && !report.converged { ExitStatus::Below } else { ExitStatus::Success }
}
