//! `ccbcut bench ucm`: score the hierarchies, or label maps, of any system.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use ccbcut::{
    LabelMap, Ucm,
    metrics::{
        BoundaryCounts, BoundaryMap, BoundaryScore, Contingency,
        family::{FamilyScore, ImageFamily, pool},
        pool_boundaries,
    },
};
use ccbcut_io::{Limits, Truth, read_ground_truth, read_label_maps, read_ucm};
use rayon::prelude::*;
use serde::Serialize;

use super::dataset;
use crate::{
    args::UcmArgs, commands::use_threads, exit::ExitStatus, exit::Hinted, output::Output,
    report::SCHEMA_VERSION, watch::Watch,
};

/// How many thresholds a hierarchy is cut at: 0.01, 0.02, …, 0.99.
const N_THRESHOLDS: usize = 99;

/// The ending that `segment` gives to the names of label maps in a folder.
const LABELS_SUFFIX: &str = "-labels";

/// Scores every prediction that has a ground truth; one bad file is reported and the rest done.
pub fn run(args: &UcmArgs, output: &Output) -> Result<ExitStatus> {
    let tasks = tasks(args, output)?;
    use_threads(args.threads)?;
    let watch = Watch::start(None)?;
    let (progress, n_done) = (output.progress("bench"), AtomicUsize::new(0));
    let scored: Vec<Result<Scored>> = tasks
        .matched
        .par_iter()
        .map(|task| {
            if watch.is_interrupted() {
                return Err(ccbcut::Error::Interrupted.into());
            }
            let scored =
                score(task, args).with_context(|| format!("scoring `{}`", task.prediction.display()));
            let n_done = n_done.fetch_add(1, Ordering::Relaxed) + 1;
            progress.count_with(n_done, tasks.matched.len(), "images");
            scored
        })
        .collect();
    drop(progress);
    if watch.is_interrupted() {
        return Err(ccbcut::Error::Interrupted.into());
    }
    let (mut kept, mut failed): (Vec<(&Task, Scored)>, Vec<String>) = (Vec::new(), Vec::new());
    for (task, scored) in tasks.matched.iter().zip(scored) {
        match scored.and_then(|scored| fits(task, scored, kept.first())) {
            Ok(scored) => kept.push((task, scored)),
            Err(error) => {
                output.error(&error);
                failed.push(task.name.clone());
            }
        }
    }
    ensure!(!kept.is_empty(), "none of the {} predictions could be scored", tasks.matched.len());
    let n_failed = failed.len();
    let summary = Summary::new(args, &tasks, kept.into_iter().map(|(_, scored)| scored).collect(), failed)?;
    if args.json {
        output.json(&summary)?;
    } else {
        output.summary(&summary.text())?;
    }
    if n_failed > 0 {
        output.status(&format!("{} images scored, {n_failed} failed", summary.n_images));
        return Ok(ExitStatus::Error);
    }
    Ok(ExitStatus::Success)
}

/// A prediction and its ground truth.
struct Task {
    name: String,
    prediction: PathBuf,
    truth: PathBuf,
}

struct Tasks {
    matched: Vec<Task>,
    /// Images of the split without a prediction.
    n_missing: usize,
}

/// Pairs predictions with ground truths by name.
fn tasks(args: &UcmArgs, output: &Output) -> Result<Tasks> {
    let root = dataset::root(&args.data, &["groundTruth"])?;
    let truths = dataset::truths(&root, args.split.name())?;
    let found = dataset::files(&args.pred, &["mat", "npy", "png", "tif", "tiff"])?;
    if found.is_empty() {
        let message = format!("`{}` holds no hierarchy or label map", args.pred.display());
        return Err(Hinted::error(
            message,
            "they are read from .mat, .npy, .png and .tif files, one per image",
        ));
    }
    let (mut matched, mut n_other): (Vec<Task>, usize) = (Vec::new(), 0);
    for (stem, prediction) in &found {
        let name = stem.strip_suffix(LABELS_SUFFIX).unwrap_or(stem);
        let Ok(at) = truths.binary_search_by(|(other, _)| other.as_str().cmp(name)) else {
            n_other += 1;
            continue;
        };
        if let Some(other) = matched.iter().find(|task| task.name == name) {
            let (a, b) = (other.prediction.display(), prediction.display());
            bail!("`{a}` and `{b}` are both predictions for image `{name}`, but there must be one");
        }
        let truth = truths[at].1.clone();
        matched.push(Task { name: name.to_owned(), prediction: prediction.clone(), truth });
    }
    if matched.is_empty() {
        let (pred, truth) = (args.pred.display(), root.join("groundTruth").join(args.split.name()));
        let message = format!("no file of `{pred}` has the name of a ground truth in `{}`", truth.display());
        return Err(Hinted::error(message, "is it the right --split?"));
    }
    if n_other > 0 {
        output.warn(&format!("{n_other} files have no ground truth of their name and are left out"));
    }
    let n_missing = truths.len() - matched.len();
    if n_missing > 0 {
        let n_all = truths.len();
        output.warn(&format!("{n_missing} of {n_all} images have no prediction; scores are of the others"));
    }
    Ok(Tasks { matched, n_missing })
}

/// What a file holds.
enum Prediction {
    Hierarchy(Ucm),
    Labels(Vec<LabelMap>),
}

/// The scores of one image by parameter.
struct Scored {
    is_hierarchy: bool,
    regions: ImageFamily,
    boundaries: Option<Vec<BoundaryCounts>>,
}

fn score(task: &Task, args: &UcmArgs) -> Result<Scored> {
    let context = || format!("reading ground truth `{}`", task.truth.display());
    let truths = read_ground_truth(&task.truth, Limits::default()).with_context(context)?;
    ensure!(!truths.is_empty(), "`{}` holds no segmentation", task.truth.display());
    let (tables, counts) = match read(task, &truths)? {
        Prediction::Hierarchy(ucm) => {
            let (tables, counts) = score_hierarchy(&ucm, &truths, args)?;
            return Ok(Scored {
                is_hierarchy: true,
                regions: ImageFamily::new(&tables)?,
                boundaries: counts,
            });
        }
        Prediction::Labels(maps) => {
            let (mut tables, mut counts) = (Vec::new(), Vec::new());
            for map in &maps {
                tables.push(compare(map, &truths)?);
                if args.boundaries {
                    counts.push(count(map, &truths, args)?);
                }
            }
            (tables, args.boundaries.then_some(counts))
        }
    };
    Ok(Scored { is_hierarchy: false, regions: ImageFamily::new(&tables)?, boundaries: counts })
}

type Scores = (Vec<Vec<Contingency>>, Option<Vec<BoundaryCounts>>);

/// Compares the finest regions pixel by pixel, and every coarser level by its regions; levels that are the same are
/// scored once.
fn score_hierarchy(ucm: &Ucm, truths: &[Truth], args: &UcmArgs) -> Result<Scores> {
    let family = ucm.family(&thresholds())?;
    let finest = compare(family.finest(), truths)?;
    let (mut tables, mut counts): (Vec<Vec<Contingency>>, Vec<BoundaryCounts>) = (Vec::new(), Vec::new());
    for (position, into) in family.merges().iter().enumerate() {
        // Levels are nested: as many regions are the same regions.
        let is_new = position == 0 || family.n_segments(position) != family.n_segments(position - 1);
        if let (Some(table), false) = (tables.last().cloned(), is_new) {
            tables.push(table);
            counts.extend(counts.last().copied());
            continue;
        }
        tables.push(finest.iter().map(|table| table.joined(into)).collect::<ccbcut::Result<_>>()?);
        if args.boundaries {
            counts.push(count(&family.labels(position)?, truths, args)?);
        }
    }
    Ok((tables, args.boundaries.then_some(counts)))
}

fn thresholds() -> Vec<f32> {
    (1..=N_THRESHOLDS).map(|t| (t as f64 / 100.0) as f32).collect()
}

fn compare(map: &LabelMap, truths: &[Truth]) -> Result<Vec<Contingency>> {
    Ok(truths
        .iter()
        .map(|truth| Contingency::new(map, &truth.segmentation))
        .collect::<ccbcut::Result<_>>()?)
}

fn count(map: &LabelMap, truths: &[Truth], args: &UcmArgs) -> Result<BoundaryCounts> {
    let boundaries: Vec<BoundaryMap> = truths.iter().map(|truth| truth.boundaries.clone()).collect();
    Ok(BoundaryCounts::new(&BoundaryMap::of_labels(map), &boundaries, args.max_distance)?)
}

/// Reads a prediction. Whether a grid is a hierarchy or a label map shows in its size: a hierarchy's is doubled.
fn read(task: &Task, truths: &[Truth]) -> Result<Prediction> {
    let path = &task.prediction;
    let expected = (truths[0].segmentation.height(), truths[0].segmentation.width());
    let misfit = |(height, width): (usize, usize)| {
        let (path, truth) = (path.display(), task.truth.display());
        let (rows, columns) = expected;
        anyhow!(
            "`{path}` is for an image of {width} × {height} pixels, but the ground truth `{truth}` is {columns} × {rows}"
        )
    };
    let as_ucm = read_ucm(path, Limits::default());
    let unfit = match as_ucm {
        Ok(ucm) if (ucm.height(), ucm.width()) == expected => return Ok(Prediction::Hierarchy(ucm)),
        Ok(ucm) if is_mat(path) => return Err(misfit((ucm.height(), ucm.width()))),
        // A MATLAB file with `ucm2` is no label map, whatever is wrong with it.
        Err(error) if is_mat(path) && !matches!(error, ccbcut_io::Error::Missing { .. }) => {
            return Err(error.into());
        }
        Ok(ucm) => Some((ucm.height(), ucm.width())),
        Err(_) => None,
    };
    let maps = match (read_label_maps(path, Limits::default()), unfit) {
        (Ok(maps), _) => maps,
        (Err(_), Some(size)) => return Err(misfit(size)),
        (Err(ccbcut_io::Error::Missing { path, .. }), None) => {
            bail!("`{}` holds neither a hierarchy (`ucm2`) nor label maps (`segs`)", path.display());
        }
        (Err(error), None) => return Err(error.into()),
    };
    ensure!(!maps.is_empty(), "`{}` holds no label map", path.display());
    match maps.iter().map(|map| (map.height(), map.width())).find(|&size| size != expected) {
        Some(size) => Err(misfit(size)),
        None => Ok(Prediction::Labels(maps)),
    }
}

fn is_mat(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("mat"))
}

/// Checks that a file has as many parameters as the first, and of the same kind.
fn fits(task: &Task, scored: Scored, first: Option<&(&Task, Scored)>) -> Result<Scored> {
    let Some((other, expected)) = first else { return Ok(scored) };
    let describe = |scored: &Scored| match (scored.is_hierarchy, scored.regions.len()) {
        (true, _) => "a hierarchy".to_owned(),
        (false, 1) => "1 label map".to_owned(),
        (false, n) => format!("{n} label maps"),
    };
    ensure!(
        describe(&scored) == describe(expected),
        "`{}` holds {}, but `{}` holds {}",
        task.prediction.display(),
        describe(&scored),
        other.prediction.display(),
        describe(expected)
    );
    Ok(scored)
}

/// One score with one parameter for all images and with the best for each.
#[derive(Debug, Serialize)]
struct Score {
    ods: f64,
    ois: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<f64>,
    /// The threshold, or the place in the list from 1, that the ODS is at.
    at: f64,
}

/// Boundary scores.
#[derive(Debug, Serialize)]
struct Boundaries {
    ods: f64,
    ois: f64,
    /// Average precision.
    ap: f64,
    /// At the ODS.
    recall: f64,
    /// At the ODS.
    precision: f64,
    at: f64,
    /// Of a match, as a share of the image diagonal.
    max_distance: f64,
}

#[derive(Debug, Serialize)]
struct Summary {
    schema_version: u32,
    command: &'static str,
    pred: PathBuf,
    data: PathBuf,
    split: &'static str,
    /// `threshold` for hierarchies, `position` for lists of label maps.
    parameter: &'static str,
    n_parameters: usize,
    n_images: usize,
    /// Images of the split without a prediction.
    n_missing: usize,
    /// Images whose prediction could not be scored.
    failed: Vec<String>,
    covering: Score,
    pri: Score,
    vi: Score,
    #[serde(skip_serializing_if = "Option::is_none")]
    boundaries: Option<Boundaries>,
}

impl Summary {
    fn new(args: &UcmArgs, tasks: &Tasks, scored: Vec<Scored>, failed: Vec<String>) -> Result<Self> {
        let is_hierarchy = scored.first().is_some_and(|s| s.is_hierarchy);
        let n_parameters = scored.first().map_or(0, |s| s.regions.len());
        let (mut regions, mut counts) = (Vec::new(), Vec::new());
        for scored in scored {
            regions.push(scored.regions);
            counts.extend(scored.boundaries);
        }
        let parameter = |position: usize| (position + 1) as f64 / if is_hierarchy { 100.0 } else { 1.0 };
        let boundaries = |score: BoundaryScore| Boundaries {
            ods: score.ods,
            ois: score.ois,
            ap: score.average_precision,
            recall: score.recall,
            precision: score.precision,
            at: parameter(score.at),
            max_distance: args.max_distance,
        };
        let FamilyScore { covering_ods, covering_ois, covering_best, pri_ods, pri_ois, vi_ods, vi_ois, at } =
            pool(&regions)?;
        let score = |ods, ois, best, at| Score { ods, ois, best, at: parameter(at) };
        Ok(Self {
            schema_version: SCHEMA_VERSION,
            command: "bench ucm",
            pred: args.pred.clone(),
            data: args.data.clone(),
            split: args.split.name(),
            parameter: if is_hierarchy { "threshold" } else { "position" },
            n_parameters,
            n_images: regions.len(),
            n_missing: tasks.n_missing,
            failed,
            covering: score(covering_ods, covering_ois, covering_best, at[0]),
            pri: score(pri_ods, pri_ois, None, at[1]),
            vi: score(vi_ods, vi_ois, None, at[2]),
            boundaries: if args.boundaries { Some(boundaries(pool_boundaries(&counts)?)) } else { None },
        })
    }

    fn text(&self) -> String {
        let images = if self.n_images == 1 { "image" } else { "images" };
        let head = format!("{}: {} {images} of {}", self.pred.display(), self.n_images, self.split);
        let columns = format!("              ODS     OIS    Best   ODS at {}", self.parameter);
        let row = |name: &str, score: &Score| {
            let best = score.best.map_or("     –".to_owned(), |best| format!("{best:.4}"));
            format!("  {name:<9} {:.4}  {:.4}  {best}   {}", score.ods, score.ois, score.at)
        };
        let mut lines =
            vec![head, columns, row("covering", &self.covering), row("PRI", &self.pri), row("VI", &self.vi)];
        if let Some(Boundaries { ods, ois, ap, recall, precision, at, .. }) = &self.boundaries {
            lines.push(format!("  boundary  {ods:.4}  {ois:.4}       –   {at}"));
            lines.push(format!(
                "  boundaries at the ODS: recall {recall:.4}, precision {precision:.4}; average precision {ap:.4}"
            ));
        }
        lines.join("\n") + "\n"
    }
}
