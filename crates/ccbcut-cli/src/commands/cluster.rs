//! `ccbcut cluster`: cut a graph into parts.

use std::{path::Path, time::Instant};

use anyhow::{Context, Result};
use ccbcut::{
    Constraints, Control, Labels, Partitioner,
    choose::Choice,
    cost::Costs,
    memory::of_graph,
    partition::{Dendrogram, Tree},
    report::Stage,
};
use ccbcut_io::{encode_named_labels, read_seeds, read_vertex_pairs};

use crate::{
    args::{ClusterArgs, Method, Segments},
    evidence,
    exit::{ExitStatus, Hinted},
    files, library, memory,
    output::{Output, Progress},
    read::{self, GraphInput},
    report::{GraphFacts, OutputFile},
    summary,
    watch::Watch,
};

use super::{Outcome, label_lines, no_choice, no_tree, status_of_run, tree_bytes, use_threads};

/// Reads a graph, cuts it, and writes one label per vertex.
pub fn run(args: &ClusterArgs, output: &Output) -> Result<ExitStatus> {
    check(args)?;
    use_threads(args.embedding.threads)?;
    let watch = Watch::start(args.embedding.time_limit)?;
    let progress = output.progress(&args.graph.display().to_string());
    progress.step("reading");
    let input = read::graph(&args.graph, &args.input)?;
    if input.has_unused_weights {
        let name = args.graph.display();
        output.status(&format!(
            "`{name}` has vertex weights; --vertex-weights {name} would measure parts by them"
        ));
    }
    let prediction = of_graph(&input.graph, args.partition.columns.unwrap_or(1));
    if args.memory.dry_run {
        drop(progress);
        memory::dry_run("cluster", &args.graph, &prediction, &args.memory, args.run.json, output)?;
        return Ok(ExitStatus::Success);
    }
    memory::check(&prediction, &args.memory)?;
    let context = || format!("cutting `{}`", args.graph.display());
    let chosen = choose(&input, args, &watch, &progress).with_context(context)?;
    let (args, k_choice) = match chosen {
        Some((ref chosen, ref choice)) => (chosen, Some(choice.clone())),
        None => (args, None),
    };
    progress.step("cutting");
    let Cut { labels, tree, mut outcome } = cut(&input, args, &watch, &progress).with_context(context)?;
    outcome.k_choice = k_choice;
    drop(progress);
    if watch.is_interrupted() {
        return Err(ccbcut::Error::Interrupted.into());
    }
    let (mut contents, mut outputs) = (Vec::new(), Vec::new());
    let mut add = |kind, path: &Path, bytes| {
        contents.push((path.to_owned(), bytes));
        outputs.push(OutputFile { kind, path: path.to_owned() });
    };
    let names = input.names.as_deref();
    if let Some(path) = &args.output {
        add("labels", path, encode_named_labels(path, &labels, names)?);
    }
    if let (Some(path), Some(choice)) = (&args.evidence, &outcome.k_choice) {
        add("evidence", path, evidence::draw(choice)?.into_bytes());
    }
    if let (Some(path), Some(tree)) = (&args.tree, &tree) {
        let kept = Dendrogram::of(tree)?;
        add("tree", path, tree_bytes(path, &kept, None, names, &args.embedding, input.balance.as_ref())?);
    }
    files::write_all(&contents, args.run.force)?;
    if args.output.is_none() && !args.run.json {
        output.data(&label_lines(&labels, names)?)?;
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

/// What can be refused before the work.
fn check(args: &ClusterArgs) -> Result<()> {
    if let Some(path) = &args.output {
        files::check_free(path, args.run.force)?;
        // A name that says no format is refused before the work, not after it.
        encode_named_labels(path, &Labels::single(0), None)?;
    }
    if let Some(path) = &args.evidence {
        files::check_drawing(path)?;
        files::check_free(path, args.run.force)?;
        if args.partition.segments != Segments::Auto {
            return Err(no_choice());
        }
    }
    if args.tree.is_some() && args.cannot_link.is_some() {
        // More parts than asked for may have to be joined again, which no tree shows.
        let message =
            "--tree writes nested parts, which those kept apart by --cannot-link need not be".to_owned();
        return Err(Hinted::error(message, "use --seeds, or leave one of the two out"));
    }
    if let Some(path) = &args.tree {
        files::check_tree_file(path)?;
        files::check_free(path, args.run.force)?;
        if args.partition.method == Method::Multiway {
            return Err(no_tree());
        }
    }
    Ok(())
}

/// What the library made of a graph.
struct Cut {
    labels: Labels,
    tree: Option<Tree>,
    outcome: Outcome,
}

/// With `-k auto`: the options with the number of parts that was chosen, and why.
fn choose(
    input: &GraphInput,
    args: &ClusterArgs,
    watch: &Watch,
    progress: &Progress,
) -> Result<Option<(ClusterArgs, Choice)>> {
    if args.partition.segments != Segments::Auto {
        return Ok(None);
    }
    let stop = || watch.flow().is_break();
    let mut observe = |event: ccbcut::Progress<'_>| library::show(progress, event);
    let mut control = Control::new().observer(&mut observe).stop(&stop);
    let choice = partitioner(input, args).choose(&input.graph, args.partition.k_max, &mut control)?;
    let mut chosen = args.clone();
    chosen.partition.segments = Segments::Count(choice.k);
    Ok(Some((chosen.resolved(), choice)))
}

/// The partitioner that the options and the vertex weights ask for.
fn partitioner(input: &GraphInput, args: &ClusterArgs) -> Partitioner {
    let partitioner = library::partitioner(&args.partition, &args.embedding);
    match &input.balance {
        Some(balance) => partitioner.balance(balance.clone()),
        None => partitioner,
    }
}

/// What the options say must be together and apart.
fn constraints(input: &GraphInput, args: &ClusterArgs) -> Result<Constraints> {
    let (n, names) = (input.graph.n_vertices(), input.names.as_deref());
    let mut all = Constraints::new();
    if let Some(path) = &args.must_link {
        all = read_vertex_pairs(path, n, names)?.into_iter().fold(all, |all, (a, b)| all.together(a, b));
    }
    if let Some(path) = &args.cannot_link {
        all = read_vertex_pairs(path, n, names)?.into_iter().fold(all, |all, (a, b)| all.apart(a, b));
    }
    if let Some(path) = &args.seeds {
        all = read_seeds(path, n, names)?.into_iter().fold(all, |all, (v, name)| all.seed(v, name));
    }
    Ok(all)
}

/// The one call into the library: the graph, cut as `args` asks, while `watch` allows.
fn cut(input: &GraphInput, args: &ClusterArgs, watch: &Watch, progress: &Progress) -> Result<Cut> {
    let graph = &input.graph;
    let stop = || watch.flow().is_break();
    let mut observe = |event: ccbcut::Progress<'_>| library::show(progress, event);
    let mut control = Control::new().observer(&mut observe).stop(&stop);
    let start = Instant::now();
    let constraints = constraints(input, args)?;
    let cut = partitioner(input, args).partition_constrained(graph, &constraints, &mut control)?;
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
        ccb: library::custom_ccb(graph, &cut.labels, input.balance.as_ref(), args.embedding.tau)?,
        k_choice: None,
    };
    Ok(Cut { labels: cut.labels, tree: cut.tree, outcome })
}
