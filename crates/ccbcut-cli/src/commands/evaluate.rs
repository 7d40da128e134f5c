//! `ccbcut evaluate`: score label maps against ground truths.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use ccbcut::{
    LabelMap,
    metrics::{BoundaryCounts, BoundaryMap, Contingency, RegionScore, spread},
};
use ccbcut_io::{Limits, Truth, read_ground_truth, read_label_maps};
use serde::Serialize;

use crate::{args::EvaluateArgs, exit::ExitStatus, output::Output, report::SCHEMA_VERSION};

/// The scores of one label map.
#[derive(Debug, Serialize)]
struct Evaluation {
    schema_version: u32,
    command: &'static str,
    /// The file.
    input: PathBuf,
    /// Which map of the file, from 1.
    map: usize,
    /// Parts of the map.
    n_segments: usize,
    /// std/mean of their sizes.
    size_spread: f64,
    /// Mean over the ground truths.
    covering: f64,
    /// Mean of the Rand index over the ground truths.
    pri: f64,
    /// Mean over the ground truths.
    vi: f64,
    /// With `--boundaries`.
    #[serde(skip_serializing_if = "Option::is_none")]
    boundaries: Option<BoundaryAgreement>,
    /// One per ground truth.
    truths: Vec<TruthScore>,
}

/// How well the boundaries agree with those of all ground truths.
#[derive(Debug, Serialize)]
struct BoundaryAgreement {
    /// Share of the map's boundary pixels that match some ground truth.
    precision: f64,
    /// Share of all ground truths' boundary pixels that are matched.
    recall: f64,
    /// Their harmonic mean.
    f: f64,
}

#[derive(Debug, Serialize)]
struct TruthScore {
    file: PathBuf,
    n_segments: usize,
    #[serde(flatten)]
    score: RegionScore,
}

/// Scores every map of every file.
pub fn run(args: &EvaluateArgs, output: &Output) -> Result<ExitStatus> {
    let mut truths: Vec<(&Path, Truth)> = Vec::new();
    for path in &args.truth {
        let maps = read_ground_truth(path, Limits::default());
        let maps = maps.with_context(|| format!("reading ground truth `{}`", path.display()))?;
        truths.extend(maps.into_iter().map(|map| (path.as_path(), map)));
    }
    ensure!(!truths.is_empty(), "the ground truth files hold no segmentation");
    for path in &args.labels {
        let context = || format!("reading labels `{}`", path.display());
        let maps = read_label_maps(path, Limits::default()).with_context(context)?;
        ensure!(!maps.is_empty(), "`{}` holds no label map", path.display());
        let n_maps = maps.len();
        for (place, map) in maps.iter().enumerate() {
            let evaluation = evaluate(args, path, place + 1, map, &truths)?;
            if args.json {
                output.json(&evaluation)?;
            } else {
                output.summary(&text(&evaluation, n_maps))?;
            }
        }
    }
    Ok(ExitStatus::Success)
}

fn evaluate(
    args: &EvaluateArgs,
    path: &Path,
    place: usize,
    map: &LabelMap,
    truths: &[(&Path, Truth)],
) -> Result<Evaluation> {
    let mut scores = Vec::new();
    for (file, truth) in truths {
        let truth = &truth.segmentation;
        let table = Contingency::new(map, truth);
        let context = || format!("comparing `{}` with `{}`", path.display(), file.display());
        let score = table.with_context(context)?.score();
        scores.push(TruthScore { file: file.to_path_buf(), n_segments: truth.n_segments(), score });
    }
    let mean = RegionScore::mean(&scores.iter().map(|s| s.score).collect::<Vec<_>>());
    let boundaries = args.boundaries.then(|| boundaries(args, map, truths)).transpose()?;
    let sizes: Vec<f64> = map.sizes().iter().map(|&size| size as f64).collect();
    Ok(Evaluation {
        schema_version: SCHEMA_VERSION,
        command: "evaluate",
        input: path.to_path_buf(),
        map: place,
        n_segments: map.n_segments(),
        size_spread: spread(&sizes),
        covering: mean.covering,
        pri: mean.rand_index,
        vi: mean.variation,
        boundaries,
        truths: scores,
    })
}

fn boundaries(args: &EvaluateArgs, map: &LabelMap, truths: &[(&Path, Truth)]) -> Result<BoundaryAgreement> {
    let others: Vec<BoundaryMap> = truths.iter().map(|(_, truth)| truth.boundaries.clone()).collect();
    let counts = BoundaryCounts::new(&BoundaryMap::of_labels(map), &others, args.max_distance)?;
    Ok(BoundaryAgreement { precision: counts.precision(), recall: counts.recall(), f: counts.f_measure() })
}

fn text(evaluation: &Evaluation, n_maps: usize) -> String {
    let Evaluation { input, map, n_segments, covering, pri, vi, truths, .. } = evaluation;
    let which = if n_maps > 1 { format!(" (map {map})") } else { String::new() };
    let mut out = format!("{}{which}: {n_segments} segments\n", input.display());
    out.push_str("  truth   regions  covering      RI      VI\n");
    for (number, truth) in truths.iter().enumerate() {
        let RegionScore { covering, rand_index, variation } = truth.score;
        let row = (number + 1, truth.n_segments);
        // Writing into a String cannot fail, here and below.
        let _ =
            writeln!(out, "  {:<5} {:>9}    {covering:.4}  {rand_index:.4}  {variation:.4}", row.0, row.1);
    }
    let _ = writeln!(out, "  mean               {covering:.4}  {pri:.4}  {vi:.4}");
    if let Some(BoundaryAgreement { precision, recall, f }) = &evaluation.boundaries {
        let _ = writeln!(out, "  boundaries: precision {precision:.4}, recall {recall:.4}, F {f:.4}");
    }
    out
}
