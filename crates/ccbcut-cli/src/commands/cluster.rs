//! `ccbcut cluster`: cut a graph into parts.

use std::path::Path;

use anyhow::{Result, bail};
use ccbcut::Labels;

use crate::{
    args::ClusterArgs,
    exit::ExitStatus,
    files,
    output::Output,
    report::{self, OutputFile, RunReport, SCHEMA_VERSION, Versions},
    summary,
    watch::Watch,
};

use super::{Outcome, status_of_run, use_threads};

/// Reads a graph, cuts it, and writes one label per vertex.
pub fn run(args: &ClusterArgs, output: &Output) -> Result<ExitStatus> {
    if let Some(path) = &args.output {
        files::check_free(path, args.run.force)?;
    }
    use_threads(args.embedding.threads)?;
    let watch = Watch::start(args.embedding.time_limit)?;
    let progress = output.progress(&args.graph.display().to_string());
    let (labels, outcome) = cut(args, &watch)?;
    drop(progress);
    if watch.is_interrupted() {
        return Err(ccbcut::Error::Interrupted.into());
    }
    let mut outputs = Vec::new();
    match &args.output {
        Some(path) => {
            files::write_all(&[(path.clone(), encode_labels(path, &labels)?)], args.run.force)?;
            outputs.push(OutputFile { kind: "labels", path: path.clone() });
        }
        None if args.run.json => {}
        None => output.data(&csv(&labels))?,
    }
    let report = RunReport {
        schema_version: SCHEMA_VERSION,
        command: "cluster",
        input: args.graph.clone(),
        parameters: report::parameters(args)?,
        graph: outcome.graph,
        stages: outcome.stages,
        trace: outcome.trace,
        stop_reason: outcome.stop_reason,
        converged: outcome.converged,
        n_segments: labels.n_segments(),
        sizes: labels.sizes(),
        costs: outcome.costs,
        outputs,
        versions: Versions::current(),
    };
    if args.run.json {
        output.json(&report)?;
    } else {
        // The labels may have gone to stdout: the summary is a message here.
        output.status(summary::of_run(&report, output).trim_end());
    }
    Ok(status_of_run(&report, args.run.strict))
}

/// The one call into the library: the graph of `args`, cut as `args` asks, while `watch` allows.
fn cut(args: &ClusterArgs, _watch: &Watch) -> Result<(Labels, Outcome)> {
    bail!("cutting graphs is not connected yet: `{}`", args.graph.display())
}

/// Labels in the format that the file name asks for.
fn encode_labels(path: &Path, labels: &Labels) -> Result<Vec<u8>> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("csv" | "txt") => Ok(csv(labels)),
        _ => bail!("`{}`: labels are written as .csv so far", path.display()),
    }
}

fn csv(labels: &Labels) -> Vec<u8> {
    labels.as_slice().iter().flat_map(|label| format!("{label}\n").into_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_one_per_line() {
        let labels = Labels::from_raw(&[4, 4, 2]);
        assert_eq!(encode_labels(Path::new("a.csv"), &labels).unwrap(), b"0\n0\n1\n");
        assert!(encode_labels(Path::new("a.doc"), &labels).is_err());
    }
}
