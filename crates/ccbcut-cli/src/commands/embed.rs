//! `ccbcut embed`: the embedding that cuts are made from.

use std::{path::Path, time::Instant};

use anyhow::{Context, Result};
use ccbcut::{Embedding, Start, StopReason, cluster::Run, memory::of_graph, report::Stage};
use ccbcut_io::{Overwrite, write_npy};

use crate::{
    args::{EmbedArgs, StartWeights},
    exit::{ExitStatus, Hinted},
    files, library, memory,
    output::{Output, Progress},
    read::{self, GraphInput},
    report::{GraphFacts, OutputFile},
    summary,
    watch::Watch,
};

use super::{Outcome, status_of_run, use_threads};

/// Reads a graph and writes its embedding.
pub fn run(args: &EmbedArgs, output: &Output) -> Result<ExitStatus> {
    files::check_free(&args.output, args.run.force)?;
    if !["npy", "csv"].iter().any(|known| args.output.extension().is_some_and(|e| e == *known)) {
        return Err(bad_ending(&args.output));
    }
    use_threads(args.embedding.threads)?;
    let watch = Watch::start(args.embedding.time_limit)?;
    let progress = output.progress(&args.graph.display().to_string());
    progress.step("reading");
    let input = read::graph(&args.graph, &args.input)?;
    let prediction = of_graph(&input.graph, args.components);
    if args.memory.dry_run {
        drop(progress);
        memory::dry_run("embed", &args.graph, &prediction, &args.memory, args.run.json, output)?;
        return Ok(ExitStatus::Success);
    }
    memory::check(&prediction, &args.memory)?;
    progress.step("embedding");
    let (rows, outcome) = embed(&input, args, &watch, &progress)
        .with_context(|| format!("embedding `{}`", args.graph.display()))?;
    drop(progress);
    if watch.is_interrupted() {
        return Err(ccbcut::Error::Interrupted.into());
    }
    write_rows(&args.output, &rows, args.components, args.run.force)?;
    let outputs = vec![OutputFile { kind: "embedding", path: args.output.clone() }];
    let report = outcome.report("embed", &args.graph, args, Vec::new(), outputs, &prediction)?;
    if args.run.json {
        output.json(&report)?;
    } else {
        output.summary(&summary::of_run(&report, output))?;
    }
    Ok(status_of_run(&report, args.run.strict))
}

/// The one call into the library: Y of the graph, row by row, while `watch` allows.
fn embed(
    input: &GraphInput,
    args: &EmbedArgs,
    watch: &Watch,
    progress: &Progress,
) -> Result<(Vec<f64>, Outcome)> {
    let graph = &input.graph;
    let start = Instant::now();
    let irrq = library::irrq(&args.embedding).n_components(args.components).start(first_weights(args)?);
    let irrq = match &input.balance {
        Some(balance) => irrq.balance(balance.clone()),
        None => irrq,
    };
    let fit = irrq.fit_with(graph, &mut |sweep| {
        library::show(progress, ccbcut::Progress::Sweep(sweep));
        watch.flow()
    })?;
    let solved = Stage { name: "embedding", ms: start.elapsed().as_secs_f64() * 1e3 };
    let reason = fit.trace.stop_reason;
    let run = Run { n_vertices: graph.n_vertices(), first_vertex: 0, trace: fit.trace };
    let outcome = Outcome {
        graph: GraphFacts {
            n: graph.n_vertices(),
            edges: graph.n_edges(),
            components: graph.components().n_segments(),
            ..GraphFacts::default()
        },
        stages: vec![solved],
        trace: library::sweeps(std::slice::from_ref(&run)),
        stop_reason: reason.name().to_owned(),
        converged: !matches!(reason, StopReason::MaxIterations | StopReason::Interrupted),
        costs: None,
        ccb: None,
        k_choice: None,
    };
    Ok((fit.embedding.as_slice().to_vec(), outcome))
}

/// The first weights: unit, or from an embedding that the user brings.
fn first_weights(args: &EmbedArgs) -> Result<Start> {
    let Some(path) = &args.start else { return Ok(Start::Unit) };
    let context = || format!("reading the start embedding `{}`", path.display());
    let array = ccbcut_io::read_npy(path).with_context(context)?;
    let values = array.values.to_f64().context("expected numbers").with_context(context)?;
    let columns = if array.shape.len() == 2 { array.shape[1] } else { 1 };
    let rows = array.shape.first().copied().unwrap_or(0);
    let embedding = Embedding::new(rows, columns, values).with_context(context)?;
    Ok(match args.start_weights {
        StartWeights::Ratio => Start::Ratio(embedding),
        StartWeights::Smoothed => Start::Smoothed(embedding),
    })
}

/// Y in the format that the file name asks for.
fn write_rows(path: &Path, rows: &[f64], columns: usize, force: bool) -> Result<()> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("npy") => {
            files::check_free(path, force)?;
            let overwrite = if force { Overwrite::Allow } else { Overwrite::Refuse };
            Ok(write_npy(path, &[rows.len() / columns.max(1), columns], rows, overwrite)?)
        }
        Some("csv") => files::write_all(&[(path.to_owned(), csv(rows, columns))], force),
        _ => Err(bad_ending(path)),
    }
}

fn bad_ending(path: &Path) -> anyhow::Error {
    Hinted::error(format!("`{}` names no format", path.display()), "embeddings are written as .npy or .csv")
}

fn csv(rows: &[f64], columns: usize) -> Vec<u8> {
    let line = |row: &[f64]| {
        let cells: Vec<String> = row.iter().map(f64::to_string).collect();
        format!("{}\n", cells.join(",")).into_bytes()
    };
    rows.chunks(columns.max(1)).flat_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_lines_or_an_array() {
        assert_eq!(csv(&[0.5, -1.0, 2.0, 0.25], 2), b"0.5,-1\n2,0.25\n");
        let folder = std::env::temp_dir().join(format!("ccbcut-embed-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("y.npy");
        write_rows(&path, &[0.5, -1.0, 2.0, 0.25], 2, false).unwrap();
        let array = ccbcut_io::read_npy(&path).unwrap();
        assert_eq!((array.shape, array.values.to_f64().unwrap()), (vec![2, 2], vec![0.5, -1.0, 2.0, 0.25]));
        assert!(write_rows(&path, &[], 2, false).is_err());
        assert!(write_rows(&folder.join("y.doc"), &[], 2, false).is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
