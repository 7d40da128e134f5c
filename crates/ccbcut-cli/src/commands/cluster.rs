//! `ccbcut cluster`: cut a graph into parts.

use std::time::Instant;

use anyhow::{Context, Result};
use ccbcut::{Control, Graph, Labels, cost::Costs, memory::of_graph, report::Stage};
use ccbcut_io::encode_labels_vector;

use crate::{
    args::ClusterArgs,
    exit::ExitStatus,
    files, library, memory,
    output::{Output, Progress},
    read,
    report::{GraphFacts, OutputFile},
    summary,
    watch::Watch,
};

use super::{Outcome, status_of_run, use_threads};

/// Reads a graph, cuts it, and writes one label per vertex.
pub fn run(args: &ClusterArgs, output: &Output) -> Result<ExitStatus> {
    if let Some(path) = &args.output {
        files::check_free(path, args.run.force)?;
        // A name that says no format is refused before the work, not after it.
        encode_labels_vector(path, &Labels::single(0))?;
    }
    use_threads(args.embedding.threads)?;
    let watch = Watch::start(args.embedding.time_limit)?;
    let progress = output.progress(&args.graph.display().to_string());
    progress.step("reading");
    let graph = read::graph(&args.graph)?;
    let prediction = of_graph(&graph, args.partition.columns.unwrap_or(1));
    if args.memory.dry_run {
        drop(progress);
        memory::dry_run("cluster", &args.graph, &prediction, &args.memory, args.run.json, output)?;
        return Ok(ExitStatus::Success);
    }
    memory::check(&prediction, &args.memory)?;
    progress.step("cutting");
    let (labels, outcome) = cut(&graph, args, &watch, &progress)
        .with_context(|| format!("cutting `{}`", args.graph.display()))?;
    drop(progress);
    if watch.is_interrupted() {
        return Err(ccbcut::Error::Interrupted.into());
    }
    let mut outputs = Vec::new();
    match &args.output {
        Some(path) => {
            files::write_all(&[(path.clone(), encode_labels_vector(path, &labels)?)], args.run.force)?;
            outputs.push(OutputFile { kind: "labels", path: path.clone() });
        }
        None if args.run.json => {}
        None => output.data(&lines(&labels))?,
    }
    let report = outcome.report("cluster", &args.graph, args, labels.sizes(), outputs, &prediction)?;
    if args.run.json {
        output.json(&report)?;
    } else {
        // The labels may have gone to stdout: the summary is a message here.
        output.status(summary::of_run(&report, output).trim_end());
    }
    Ok(status_of_run(&report, args.run.strict))
}

/// The one call into the library: the graph, cut as `args` asks, while `watch` allows.
fn cut(graph: &Graph, args: &ClusterArgs, watch: &Watch, progress: &Progress) -> Result<(Labels, Outcome)> {
    let stop = || watch.flow().is_break();
    let mut observe = |event: ccbcut::Progress<'_>| library::show(progress, event);
    let mut control = Control::new().observer(&mut observe).stop(&stop);
    let start = Instant::now();
    let partitioner = library::partitioner(&args.partition, &args.embedding);
    let cut = partitioner.partition_with(graph, &mut control)?;
    let solved = Stage { name: "cut", ms: start.elapsed().as_secs_f64() * 1e3 };
    let outcome = Outcome {
        graph: GraphFacts {
            n: graph.n_vertices(),
            edges: graph.n_edges(),
            components: graph.components().n_segments(),
            ..GraphFacts::default()
        },
        stages: vec![solved],
        trace: library::sweeps(&cut.runs),
        stop_reason: library::stop_reason(&cut.runs, cut.is_complete),
        converged: cut.is_complete && cut.n_unconverged() == 0,
        costs: Some(Costs::of(graph, &cut.labels, args.embedding.tau)?),
    };
    Ok((cut.labels, outcome))
}

fn lines(labels: &Labels) -> Vec<u8> {
    labels.as_slice().iter().flat_map(|label| format!("{label}\n").into_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_one_per_line() {
        let labels = Labels::from_raw(&[4, 4, 2]);
        assert_eq!(lines(&labels), b"0\n0\n1\n");
    }
}
