//! `ccbcut segment`: cut images into segments.

use std::{path::Path, time::Instant};

use anyhow::{Context, Result, bail};
use ccbcut::LabelMap;

use crate::{
    args::{LabelFormat, SegmentArgs},
    exit::ExitStatus,
    files::{self, File, Job, Picture},
    output::{Output, Progress},
    paint,
    report::{self, OutputFile, RunReport, SCHEMA_VERSION, Stage, Versions},
    summary,
    watch::Watch,
};

use super::{Outcome, status_of_run, use_threads};

/// Cuts every input; in a batch, a bad file is reported and the rest done.
pub fn run(args: &SegmentArgs, output: &Output) -> Result<ExitStatus> {
    let jobs = files::plan(&args.images, args.graph.mask.is_some(), &args.output)?;
    use_threads(args.embedding.threads)?;
    let mut watch = Watch::start(args.embedding.time_limit)?;
    let (mut n_failed, mut below) = (0, false);
    for job in &jobs {
        watch.restart();
        let done = segment_one(job, args, &watch, output);
        if watch.is_interrupted() {
            return Err(ccbcut::Error::Interrupted.into());
        }
        match done {
            Ok(status) => below |= status == ExitStatus::Below,
            // A reader of stdout that went away ends the batch too.
            Err(error) if jobs.len() == 1 || crate::exit::status_of(&error) != ExitStatus::Error => {
                return Err(error);
            }
            Err(error) => {
                output.error(&error);
                n_failed += 1;
            }
        }
    }
    if n_failed > 0 {
        output.status(&format!("{} of {} images done, {n_failed} failed", jobs.len() - n_failed, jobs.len()));
        return Ok(ExitStatus::Error);
    }
    Ok(if below { ExitStatus::Below } else { ExitStatus::Success })
}

fn segment_one(job: &Job, args: &SegmentArgs, watch: &Watch, output: &Output) -> Result<ExitStatus> {
    let name = job.input.display();
    let progress = output.progress(&name.to_string());
    progress.step("reading");
    let start = Instant::now();
    let image = read_image(job, args).with_context(|| format!("reading image `{name}`"))?;
    let read = Stage { name: "read".to_owned(), ms: start.elapsed().as_secs_f64() * 1e3 };
    output.detail(&format!("{name}: {} × {} pixels", image.width, image.height));
    let mut segmented =
        cut_image(&image, args, watch, &progress).with_context(|| format!("cutting `{name}`"))?;
    if args.output.connected {
        segmented.labels = segmented.labels.connected();
    }
    progress.step("writing");
    let start = Instant::now();
    let (contents, outputs) = contents(job, args, &image, &segmented)?;
    files::write_all(&contents, args.output.force)?;
    let write = Stage { name: "write".to_owned(), ms: start.elapsed().as_secs_f64() * 1e3 };
    drop(progress);

    let Segmented { labels, outcome, .. } = segmented;
    let stages = [read].into_iter().chain(outcome.stages).chain([write]).collect();
    let report = RunReport {
        schema_version: SCHEMA_VERSION,
        command: "segment",
        input: job.input.clone(),
        parameters: report::parameters(args)?,
        graph: outcome.graph,
        stages,
        trace: outcome.trace,
        stop_reason: outcome.stop_reason,
        converged: outcome.converged,
        n_segments: labels.n_segments(),
        sizes: labels.sizes(),
        costs: outcome.costs,
        outputs,
        versions: Versions::current(),
    };
    if !report.converged {
        output
            .warn(&format!("{name}: stopped before it converged ({})", report.stop_reason.replace('_', " ")));
    }
    if args.output.json {
        output.json(&report)?;
    } else {
        output.summary(&summary::of_run(&report, output))?;
    }
    Ok(status_of_run(&report, args.output.strict))
}

/// An image as it was read: pixels for the library and for pictures.
struct Input {
    width: usize,
    height: usize,
    /// 8-bit RGB for pictures, row by row.
    rgb: Vec<u8>,
}

/// What the library made of an image.
struct Segmented {
    labels: LabelMap,
    /// With `--all-k`: the label maps of 2, 3, … parts on the way.
    smaller: Vec<LabelMap>,
    outcome: Outcome,
}

/// The one place where images are read.
fn read_image(job: &Job, args: &SegmentArgs) -> Result<Input> {
    bail!(
        "reading images is not connected yet ({} pixels at most, from {})",
        args.graph.max_pixels,
        job.input.display()
    )
}

/// The one call into the library: the image, cut as `args` asks, while `watch` allows.
fn cut_image(image: &Input, args: &SegmentArgs, watch: &Watch, progress: &Progress) -> Result<Segmented> {
    progress.step("cutting");
    let _ = (watch.flow(), image.width, args.partition.segments);
    bail!("cutting images is not connected yet")
}

/// A label map in one of its formats.
fn encode_labels(format: LabelFormat, _labels: &LabelMap) -> Result<Vec<u8>> {
    bail!("writing .{} label maps is not connected yet", format.extension())
}

/// The bytes of every file of a job, and their list for the report.
fn contents(
    job: &Job,
    args: &SegmentArgs,
    image: &Input,
    segmented: &Segmented,
) -> Result<(Vec<File>, Vec<OutputFile>)> {
    let (mut files, mut outputs): (Vec<File>, Vec<OutputFile>) = (Vec::new(), Vec::new());
    let mut add = |kind: &'static str, path: &Path, bytes: Vec<u8>| {
        files.push((path.to_owned(), bytes));
        outputs.push(OutputFile { kind, path: path.to_owned() });
    };
    let labels = &segmented.labels;
    for (format, path) in &job.labels {
        add("labels", path, encode_labels(*format, labels)?);
    }
    if args.output.all_k {
        for map in &segmented.smaller {
            for (format, path) in job.labels_at(map.n_segments()) {
                add("labels", &path, encode_labels(format, map)?);
            }
        }
    }
    for (picture, path) in &job.pictures {
        let rgb = match picture {
            Picture::Overlay => paint::overlay(&image.rgb, labels)?,
            Picture::MeanColor => paint::mean_color(&image.rgb, labels)?,
            Picture::Boundaries => paint::boundaries(labels),
        };
        add(picture.kind(), path, paint::encode_png(image.width, image.height, &rgb)?);
    }
    for (kind, path) in
        [("regions", &args.output.regions), ("coco", &args.output.coco), ("geojson", &args.output.geojson)]
    {
        if let Some(path) = path {
            add(kind, path, encode_table(kind, image, labels)?);
        }
    }
    Ok((files, outputs))
}

/// The table of the segments, COCO annotations, or outlines.
fn encode_table(kind: &str, _image: &Input, _labels: &LabelMap) -> Result<Vec<u8>> {
    bail!("writing {kind} is not connected yet")
}
