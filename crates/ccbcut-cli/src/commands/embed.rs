//! `ccbcut embed`: the embedding that cuts are made from.

use std::path::Path;

use anyhow::{Result, bail};

use crate::{
    args::EmbedArgs,
    exit::ExitStatus,
    files,
    output::Output,
    report::{self, OutputFile, RunReport, SCHEMA_VERSION, Versions},
    summary,
    watch::Watch,
};

use super::{Outcome, status_of_run, use_threads};

/// Reads a graph and writes its embedding.
pub fn run(args: &EmbedArgs, output: &Output) -> Result<ExitStatus> {
    files::check_free(&args.output, args.run.force)?;
    use_threads(args.embedding.threads)?;
    let watch = Watch::start(args.embedding.time_limit)?;
    let progress = output.progress(&args.graph.display().to_string());
    let (rows, outcome) = embed(args, &watch)?;
    drop(progress);
    if watch.is_interrupted() {
        return Err(ccbcut::Error::Interrupted.into());
    }
    let bytes = encode_rows(&args.output, &rows, args.components)?;
    files::write_all(&[(args.output.clone(), bytes)], args.run.force)?;
    let report = RunReport {
        schema_version: SCHEMA_VERSION,
        command: "embed",
        input: args.graph.clone(),
        parameters: report::parameters(args)?,
        graph: outcome.graph,
        stages: outcome.stages,
        trace: outcome.trace,
        stop_reason: outcome.stop_reason,
        converged: outcome.converged,
        n_segments: 0,
        sizes: Vec::new(),
        costs: None,
        outputs: vec![OutputFile { kind: "embedding", path: args.output.clone() }],
        versions: Versions::current(),
    };
    if args.run.json {
        output.json(&report)?;
    } else {
        output.summary(&summary::of_run(&report, output))?;
    }
    Ok(status_of_run(&report, args.run.strict))
}

/// The one call into the library: Y of the graph of `args`, row by row, while `watch` allows.
fn embed(args: &EmbedArgs, _watch: &Watch) -> Result<(Vec<f64>, Outcome)> {
    bail!("embedding graphs is not connected yet: `{}`", args.graph.display())
}

/// Y in the format that the file name asks for.
fn encode_rows(path: &Path, rows: &[f64], columns: usize) -> Result<Vec<u8>> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("csv" | "txt") => Ok(csv(rows, columns)),
        _ => bail!("`{}`: embeddings are written as .csv so far", path.display()),
    }
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
    fn rows_become_lines() {
        assert_eq!(
            encode_rows(Path::new("y.csv"), &[0.5, -1.0, 2.0, 1e-20], 2).unwrap(),
            b"0.5,-1\n2,0.00000000000000000001\n"
        );
        assert!(encode_rows(Path::new("y.doc"), &[], 2).is_err());
    }
}
