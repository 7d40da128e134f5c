//! `ccbcut sweep`: which part splits off at which tau.

use std::{fmt::Write, path::PathBuf};

use anyhow::{Context, Result, ensure};
use ccbcut::{
    Control, LabelMap,
    sweep::{Event, EventKind, Part, SweepStep},
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    args::{Segments, SweepArgs},
    bifurcation,
    exit::{ExitStatus, Hinted},
    files, library,
    output::{Output, Progress},
    paint, read,
    report::{self, OutputFile, SCHEMA_VERSION, Versions},
    watch::Watch,
};

use super::{segment::Input, use_threads};

/// Endings of images; everything else is a graph.
const IMAGES: [&str; 11] = ["png", "jpg", "jpeg", "tif", "tiff", "webp", "bmp", "pnm", "ppm", "pgm", "pbm"];
/// Pixels between the pictures of a strip, and its greatest width.
const GAP: usize = 6;
const WIDEST: usize = 6000;

/// Cuts at every tau, and tells what happened.
pub fn run(args: &SweepArgs, output: &Output) -> Result<ExitStatus> {
    [&args.diagram, &args.strip].into_iter().flatten().try_for_each(|p| files::check_free(p, args.force))?;
    if let Some(path) = &args.diagram {
        files::check_drawing(path)?;
    }
    let is_image = args.input.extension().is_some_and(|e| IMAGES.iter().any(|k| e.eq_ignore_ascii_case(k)));
    if let Some(path) = &args.strip {
        let is_png = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png"));
        ensure!(is_png, "`{}` must end in .png: a strip is a picture", path.display());
        if !is_image {
            let message = format!("--strip shows pictures, but `{}` is a graph", args.input.display());
            return Err(Hinted::error(message, "use --diagram for graphs"));
        }
    }
    if args.partition.segments == Segments::Auto {
        let message = "a sweep follows one number of parts, and -k auto would choose another at each tau";
        return Err(Hinted::error(message, "give a number with -k"));
    }
    use_threads(args.threads)?;
    let watch = Watch::start(None)?;
    let progress = output.progress(&args.input.display().to_string());
    let context = || format!("cutting `{}`", args.input.display());
    let swept = if is_image { of_image(args, &watch, &progress) } else { of_graph(args, &watch, &progress) };
    drop(progress);
    if watch.is_interrupted() {
        return Err(ccbcut::Error::Interrupted.into());
    }
    let swept = swept.with_context(context)?;
    let mut outputs = Vec::new();
    let mut contents = Vec::new();
    if let Some(path) = &args.diagram {
        contents.push((path.clone(), bifurcation::draw(&swept.steps)?.into_bytes()));
        outputs.push(OutputFile { kind: "diagram", path: path.clone() });
    }
    if let (Some(path), Some((input, maps))) = (&args.strip, &swept.pictures) {
        contents.push((path.clone(), strip(input, maps)?));
        outputs.push(OutputFile { kind: "strip", path: path.clone() });
    }
    files::write_all(&contents, args.force)?;
    if args.json {
        output.json(&SweepReport::new(args, &swept, outputs)?)?;
    } else {
        output.data(told(&swept.steps).as_bytes())?;
    }
    Ok(ExitStatus::Success)
}

/// What a sweep gives.
struct Swept {
    n: usize,
    steps: Vec<SweepStep>,
    /// Of an image: itself, and its label maps.
    pictures: Option<(Input, Vec<LabelMap>)>,
}

fn of_graph(args: &SweepArgs, watch: &Watch, progress: &Progress) -> Result<Swept> {
    progress.step("reading");
    let input = read::graph(&args.input, &args.graph)?;
    let taus = args.tau.values(args.steps);
    let stop = || watch.flow().is_break();
    let mut observe = |event: ccbcut::Progress<'_>| library::show(progress, event);
    let mut control = Control::new().observer(&mut observe).stop(&stop);
    let mut partitioner = library::partitioner(&args.partition, &args.embedding(2.0)?);
    if let Some(balance) = &input.balance {
        partitioner = partitioner.balance(balance.clone());
    }
    let steps = partitioner.sweep(&input.graph, &taus, &mut control)?;
    Ok(Swept { n: input.graph.n_vertices(), steps, pictures: None })
}

fn of_image(args: &SweepArgs, watch: &Watch, progress: &Progress) -> Result<Swept> {
    progress.step("reading");
    let input = Input::of_image(&args.input, &args.image, true)?;
    let taus = args.tau.values(args.steps);
    let stop = || watch.flow().is_break();
    let mut observe = |event: ccbcut::Progress<'_>| library::show(progress, event);
    let mut control = Control::new().observer(&mut observe).stop(&stop);
    let segmenter = library::segmenter(
        &args.partition,
        &args.embedding(2.0)?,
        &args.image,
        false,
        input.contours.as_ref(),
    );
    let swept = segmenter.sweep(&input.image, input.mask.as_deref(), &taus, &mut control)?;
    let (steps, maps): (Vec<SweepStep>, Vec<LabelMap>) = swept.into_iter().unzip();
    Ok(Swept { n: steps.first().map_or(0, |step| step.labels.len()), steps, pictures: Some((input, maps)) })
}

/// Every part in its mean colour, one picture per tau, the first at the left.
fn strip(input: &Input, maps: &[LabelMap]) -> Result<Vec<u8>> {
    let (height, width) = (input.image.height(), input.image.width());
    // Whole pixels are left out where the strip would be too wide.
    let every = (maps.len() * (width + GAP)).div_ceil(WIDEST).max(1);
    let (rows, columns) = (height.div_ceil(every), width.div_ceil(every));
    let total = maps.len() * (columns + GAP) - GAP;
    let mut rgb = vec![255; 3 * rows * total];
    for (at, map) in maps.iter().enumerate() {
        let picture = paint::mean_color(&input.rgb, map)?;
        for row in 0..rows {
            for column in 0..columns {
                let from = 3 * (row * every * width + column * every);
                let to = 3 * (row * total + at * (columns + GAP) + column);
                rgb[to..to + 3].copy_from_slice(&picture[from..from + 3]);
            }
        }
    }
    Ok(paint::encode_png(total, rows, &rgb)?)
}

/// The story for people: a line per tau, and below it what changed.
fn told(steps: &[SweepStep]) -> String {
    let mut text = String::new();
    for step in steps {
        let mut sizes: Vec<usize> = step.parts.iter().map(|part| part.size).collect();
        sizes.sort_unstable_by_key(|&size| std::cmp::Reverse(size));
        let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
        // Writing into a String cannot fail.
        let _ = writeln!(text, "tau {:<5} cost {:<10.4} sizes {}", step.tau, step.cost, sizes.join(" "));
        for Event { kind, track, other, size, cost } in &step.events {
            let what = match kind {
                EventKind::SplitsOff => "splits off part",
                EventKind::Forms => "forms around part",
                EventKind::Joins => "goes into part",
            };
            let _ = writeln!(text, "    part {track} ({size}, cost {cost:.4}) {what} {other}");
        }
    }
    text
}

/// The JSON object of this verb.
#[derive(Debug, Serialize)]
struct SweepReport<'a> {
    schema_version: u32,
    command: &'static str,
    input: PathBuf,
    parameters: Value,
    n: usize,
    steps: Vec<StepReport<'a>>,
    outputs: Vec<OutputFile>,
    versions: Versions,
}

/// One tau of it.
#[derive(Debug, Serialize)]
struct StepReport<'a> {
    tau: f64,
    cost: f64,
    n_sweeps: usize,
    n_warm: usize,
    parts: &'a [Part],
    events: &'a [Event],
}

impl<'a> SweepReport<'a> {
    fn new(args: &SweepArgs, swept: &'a Swept, outputs: Vec<OutputFile>) -> Result<Self> {
        let step = |step: &'a SweepStep| StepReport {
            tau: step.tau,
            cost: step.cost,
            n_sweeps: step.n_sweeps,
            n_warm: step.n_warm,
            parts: &step.parts,
            events: &step.events,
        };
        Ok(Self {
            schema_version: SCHEMA_VERSION,
            command: "sweep",
            input: args.input.clone(),
            parameters: report::parameters(args)?,
            n: swept.n,
            steps: swept.steps.iter().map(step).collect(),
            outputs,
            versions: Versions::current(),
        })
    }
}
