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
mod recut;
mod segment;
mod segment_features;
mod segment_regions;
mod serve;
mod superpixels;
mod sweep;
mod volume;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ccbcut::{
    Balance, Labels, choose::Choice, cost::Costs, memory::Prediction, partition::Dendrogram, report::Stage,
};
use ccbcut_io::{TreeFile, encode_named_labels, encode_tree};
use serde::Serialize;

use crate::{
    args::{EmbeddingArgs, Verb},
    exit::{ExitStatus, Hinted},
    library, memory,
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
        Verb::Recut(args) => recut::run(&args, output),
        Verb::Sweep(args) => sweep::run(&args.resolved(), output),
        Verb::Cost(args) => cost::run(&args, output),
        Verb::Contours(args) => contours::run(&args, output),
        Verb::Superpixels(args) => superpixels::run(&args, output),
        Verb::Volume(args) => volume::run(&args.resolved(), output),
        Verb::Compare(args) => compare::run(&args.resolved(), output),
        Verb::Evaluate(args) => evaluate::run(&args, output),
        Verb::Bench(args) => bench::run(&args.what, output),
        Verb::Figures(args) => figures::run(&args, output),
        Verb::Serve(args) => serve::run(&args, output),
        Verb::Demo(args) => demo::run(&args, output),
        Verb::Generate(args) => generate::run(&args.what, output),
    }
}

/// Limits the library to a number of threads, 0 for all. This thread is one of them: it already has a processor, while of
/// two new ones that wake up together the system may put both on one.
fn use_threads(threads: usize) -> Result<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread();
    pool.build_global().context("starting threads")
}

/// The same beside this thread, which will only wait.
fn use_other_threads(threads: usize) -> Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().context("starting threads")
}

/// The error for evidence of a choice that nobody made.
fn no_choice() -> anyhow::Error {
    let message = "--evidence shows why a number of parts was chosen, but it was given";
    Hinted::error(message.to_owned(), "use -k auto")
}

/// The error for a tree of a cut that has none.
fn no_tree() -> anyhow::Error {
    let message = "--tree writes the hierarchy of a cut, and a multiway cut has none";
    Hinted::error(message.to_owned(), "use --method hierarchical")
}

/// A tree as a file: of pixels where there is a shape, with the names of its vertices where there are names.
fn tree_bytes(
    path: &Path,
    tree: &Dendrogram,
    shape: Option<(usize, usize)>,
    names: Option<&[String]>,
    args: &EmbeddingArgs,
    balance: Option<&Balance>,
) -> Result<Vec<u8>> {
    let balance = balance.map_or_else(|| library::balance(args).name(), Balance::name);
    let file = TreeFile {
        dendrogram: tree.clone(),
        shape,
        names: names.map(<[String]>::to_vec),
        tau: args.tau,
        balance: balance.to_owned(),
    };
    Ok(encode_tree(path, &file)?)
}

/// One label per line, after the name of its vertex where there are names.
fn label_lines(labels: &Labels, names: Option<&[String]>) -> Result<Vec<u8>> {
    if names.is_none() {
        return Ok(labels.as_slice().iter().flat_map(|label| format!("{label}\n").into_bytes()).collect());
    }
    let table = encode_named_labels(Path::new("labels.csv"), labels, names)?;
    let header = table.iter().position(|&b| b == b'\n').map_or(0, |end| end + 1);
    Ok(table[header..].to_vec())
}

/// What a run of the library leaves for its report, apart from the labels or the embedding itself.
struct Outcome {
    graph: GraphFacts,
    stages: Vec<Stage>,
    trace: Vec<Sweep>,
    stop_reason: String,
    converged: bool,
    costs: Option<Costs>,
    /// With `--vertex-weights`.
    ccb: Option<f64>,
    /// With `-k auto`.
    k_choice: Option<Choice>,
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
            ccb: self.ccb,
            k_choice: self.k_choice,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_one_per_line() {
        let labels = Labels::from_raw(&[4, 4, 2]);
        assert_eq!(label_lines(&labels, None).unwrap(), b"0\n0\n1\n");
        let names = ["a", "b, c", "d"].map(str::to_owned);
        assert_eq!(label_lines(&labels, Some(&names)).unwrap(), b"a,0\n\"b, c\",0\nd,1\n");
    }
}
