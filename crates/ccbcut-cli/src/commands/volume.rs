//! `ccbcut volume`: cut a stack of slices.

use std::{path::Path, time::Instant};

use anyhow::{Context, Result};
use ccbcut::{
    Balance, Control, Graph, LabelMap,
    cost::Costs,
    image::volume::Volume,
    memory::of_regions,
    regions::{RegionGraph, RegionMap, Slic},
    report::Stage,
};
use ccbcut_io::{Limits, encode_label_volume, read_volume};

use crate::{
    args::{BalanceName, Segments, VolumeArgs},
    exit::{ExitStatus, Hinted},
    files, library, memory,
    output::{Output, Progress},
    paint,
    report::{GraphFacts, OutputFile},
    summary,
    watch::Watch,
};

use super::{Outcome, status_of_run, superpixels::comparable, use_threads};

/// Slices that a picture shows.
const SLICES: usize = 6;

/// Reads a volume, cuts its supervoxels, and writes one label per voxel.
pub fn run(args: &VolumeArgs, output: &Output) -> Result<ExitStatus> {
    check(args)?;
    use_threads(args.embedding.threads)?;
    let watch = Watch::start(args.embedding.time_limit)?;
    let name = args.input.display();
    let progress = output.progress(&name.to_string());
    progress.step("reading");
    let start = Instant::now();
    let file = read_volume(&args.input, Limits { max_pixels: args.max_pixels as u64 })?;
    let read = lap("read", start);
    let columns = args.partition.columns.unwrap_or(1);
    let channels = file.volume.channels().div_ceil(3);
    let prediction = of_regions(file.volume.n_voxels() * channels, args.supervoxels, false, columns);
    if args.memory.dry_run {
        drop(progress);
        memory::dry_run("volume", &args.input, &prediction, &args.memory, args.json, output)?;
        return Ok(ExitStatus::Success);
    }
    memory::check(&prediction, &args.memory)?;
    let context = || format!("cutting `{name}`");
    let scene = Scene::new(comparable(file)?, args, &progress).with_context(context)?;
    let (painted, mut outcome) = cut(&scene, args, &watch, &progress).with_context(context)?;
    if watch.is_interrupted() {
        return Err(ccbcut::Error::Interrupted.into());
    }
    progress.step("writing");
    let start = Instant::now();
    let shape = scene.volume.shape();
    let mut contents = vec![(args.output.clone(), encode_label_volume(&args.output, shape, &painted)?)];
    let mut outputs = vec![OutputFile { kind: "labels", path: args.output.clone() }];
    if let Some(path) = &args.slices {
        contents.push((path.clone(), strip(&scene.volume, &painted)?));
        outputs.push(OutputFile { kind: "slices", path: path.clone() });
    }
    files::write_all(&contents, args.force)?;
    drop(progress);
    outcome.stages.insert(0, read);
    outcome.stages.splice(1..1, scene.stages);
    outcome.stages.push(lap("write", start));
    let mut sizes = vec![0; painted.iter().max().map_or(0, |&most| most as usize + 1)];
    painted.iter().for_each(|&label| sizes[label as usize] += 1);
    let report = outcome.report("volume", &args.input, args, sizes, outputs, &prediction)?;
    if args.json {
        output.json(&report)?;
    } else {
        output.summary(&summary::of_run(&report, output))?;
    }
    Ok(status_of_run(&report, args.strict))
}

fn lap(name: &'static str, start: Instant) -> Stage {
    Stage { name, ms: start.elapsed().as_secs_f64() * 1e3 }
}

/// What can be refused before the work.
fn check(args: &VolumeArgs) -> Result<()> {
    encode_label_volume(&args.output, [1, 1, 1], &[0])?;
    let is_png = |path: &Path| path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png"));
    if let Some(path) = args.slices.as_deref().filter(|path| !is_png(path)) {
        return Err(Hinted::error(format!("`{}` names no picture", path.display()), "use .png"));
    }
    if args.partition.segments == Segments::Auto {
        let message = "-k auto is not there for volumes".to_owned();
        return Err(Hinted::error(message, "give the number of parts"));
    }
    std::iter::once(&args.output).chain(&args.slices).try_for_each(|path| files::check_free(path, args.force))
}

/// A volume, its supervoxels and their graph.
struct Scene {
    volume: Volume,
    map: RegionMap,
    graph: Graph,
    stages: Vec<Stage>,
}

impl Scene {
    fn new(volume: Volume, args: &VolumeArgs, progress: &Progress) -> Result<Self> {
        progress.step("supervoxels");
        let start = Instant::now();
        let volume = volume.with_spacing(args.spacing.0)?;
        let map = Slic::new(args.supervoxels).compactness(args.compactness).fit(&volume, None)?;
        let mut stages = vec![lap("superpixels", start)];
        let start = Instant::now();
        let graph = RegionGraph::new(&map).spacing(args.spacing.0).colors(&volume, args.sigma)?.build()?;
        stages.push(lap("affinity", start));
        Ok(Self { volume, map, graph, stages })
    }
}

/// The one call into the library.
fn cut(scene: &Scene, args: &VolumeArgs, watch: &Watch, progress: &Progress) -> Result<(Vec<u32>, Outcome)> {
    let stop = || watch.flow().is_break();
    let mut observe = |event: ccbcut::Progress<'_>| library::show(progress, event);
    let mut control = Control::new().observer(&mut observe).stop(&stop);
    let mut partitioner = library::partitioner(&args.partition, &args.embedding);
    if args.embedding.balance == BalanceName::Ratio {
        let sizes = scene.map.sizes().into_iter().map(|size| size as f64).collect();
        partitioner = partitioner.balance(Balance::Custom(sizes));
    }
    let graph = &scene.graph;
    let start = Instant::now();
    let cut = partitioner.partition_with(graph, &mut control)?;
    let outcome = Outcome {
        graph: GraphFacts {
            n: graph.n_vertices(),
            edges: graph.n_edges(),
            components: graph.components().n_segments(),
            ..GraphFacts::default()
        },
        stages: vec![lap("cut", start)],
        trace: library::sweeps(&cut.runs),
        stop_reason: library::stop_reason(&cut.runs, cut.is_complete),
        converged: cut.is_complete && cut.n_unconverged() == 0,
        costs: Some(Costs::of(graph, &cut.labels, args.embedding.tau)?),
        ccb: None,
        k_choice: None,
    };
    Ok((scene.map.paint(&cut.labels)?, outcome))
}

/// Some slices side by side, the boundaries of the parts drawn on them.
fn strip(volume: &Volume, painted: &[u32]) -> Result<Vec<u8>> {
    let [depth, height, width] = volume.shape();
    let shown = SLICES.min(depth);
    let at = |k: usize| (2 * k + 1) * depth / (2 * shown);
    let mut rgb = vec![0; 3 * height * width * shown];
    for k in 0..shown {
        let voxels = at(k) * height * width..(at(k) + 1) * height * width;
        let gray: Vec<u8> =
            voxels.clone().flat_map(|p| [(2.55 * volume.voxel(p)[0]).clamp(0.0, 255.0) as u8; 3]).collect();
        let slice = paint::overlay(&gray, &LabelMap::new(height, width, &painted[voxels])?)?;
        for y in 0..height {
            let target = 3 * (y * width * shown + k * width);
            rgb[target..target + 3 * width].copy_from_slice(&slice[3 * y * width..3 * (y + 1) * width]);
        }
    }
    Ok(paint::encode_png(width * shown, height, &rgb)?)
}
