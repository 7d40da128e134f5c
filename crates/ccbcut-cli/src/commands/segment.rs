//! `ccbcut segment`: cut images into segments.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};
use ccbcut::{
    Control, Embedding, Image, LabelMap, Ucm,
    choose::Choice,
    image::contours::Contours,
    memory::{ImageRun, PixelWeights, Prediction, of_image, of_regions},
    partition::{Dendrogram, Tree},
    report::Stage,
};
use ccbcut_io::{
    CocoCounts, Decoded, Limits, RegionRow, encode_coco, encode_geojson, encode_label_map,
    encode_regions_csv, encode_ucm, read_contours, read_mask,
};
use rayon::prelude::*;

use crate::{
    args::{Affinity, ImageGraphArgs, Method, SegmentArgs, Segments, Superpixels},
    evidence,
    exit::{ExitStatus, Hinted},
    files::{self, File, Job, Picture},
    library, memory,
    output::{Output, Progress},
    paint, read,
    report::OutputFile,
    summary,
    watch::Watch,
};

use super::{Outcome, segment_features::Features, segment_regions::Regions, status_of_run, use_threads};

/// Cuts every input; in a batch, a bad file is reported and the rest done.
pub fn run(args: &SegmentArgs, output: &Output) -> Result<ExitStatus> {
    let smaller = match args.partition.method {
        Method::Hierarchical if args.partition.segments == Segments::Auto => args.partition.k_max,
        Method::Hierarchical => args.partition.segments.count(),
        Method::Multiway => 0,
    };
    if args.partition.method == Method::Multiway && args.output.ucm.is_some() {
        let message = "--ucm writes the hierarchy of a cut, and a multiway cut has none";
        return Err(Hinted::error(message.to_owned(), "use --method hierarchical"));
    }
    if args.partition.segments != Segments::Auto && args.output.evidence.is_some() {
        return Err(super::no_choice());
    }
    if args.partition.method == Method::Multiway && args.output.tree.is_some() {
        return Err(super::no_tree());
    }
    if args.regions.superpixels.is_some() && args.output.embedding_picture.is_some() {
        let message = "--embedding-picture shows an embedding of pixels, and superpixels are cut".to_owned();
        return Err(Hinted::error(message, "leave one of the two out"));
    }
    if args.scribbles.is_some() {
        if args.partition.method == Method::Multiway {
            let message = "--scribbles are kept by a hierarchical cut, not by a multiway one".to_owned();
            return Err(Hinted::error(message, "use --method hierarchical"));
        }
        if args.features.features.is_some() {
            let message = "--scribbles are drawn on pixels, and --features are cut".to_owned();
            return Err(Hinted::error(message, "leave one of the two out"));
        }
    }
    if args.graph.contours.is_some() && !args.graph.mix().has(Affinity::Mpb) {
        let message = format!("--contours are given, but the affinity is {}", args.graph.mix());
        return Err(Hinted::error(message, "use --affinity mpb, or a formula with mpb in it"));
    }
    let of_single = [
        (args.graph.mask.is_some(), "--mask"),
        (args.graph.contours.is_some(), "--contours"),
        (args.scribbles.is_some(), "--scribbles"),
        (matches!(args.regions.superpixels, Some(Superpixels::File(_))), "--superpixels FILE"),
    ];
    let jobs = files::plan(&inputs(args)?, &of_single, &args.output, smaller)?;
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

/// The files that are cut: the images, or a feature map alone.
fn inputs(args: &SegmentArgs) -> Result<Vec<PathBuf>> {
    match (&args.features.features, args.images.as_slice()) {
        (Some(path), []) => Ok(vec![path.clone()]),
        (Some(_), [_, _, ..]) => {
            bail!("--features needs a single input, but {} were given", args.images.len())
        }
        _ => Ok(args.images.clone()),
    }
}

fn segment_one(job: &Job, args: &SegmentArgs, watch: &Watch, output: &Output) -> Result<ExitStatus> {
    let name = job.input.display();
    let progress = output.progress(&name.to_string());
    progress.step("reading");
    let start = Instant::now();
    let mut input = Input::new(&job.input, args)?;
    let read = Stage { name: "read", ms: start.elapsed().as_secs_f64() * 1e3 };
    output.detail(&format!("{name}: {} × {} pixels", input.image.width(), input.image.height()));
    let prediction = predict(&input, args).with_context(|| format!("cutting `{name}`"))?;
    if args.memory.dry_run {
        drop(progress);
        memory::dry_run("segment", &job.input, &prediction, &args.memory, args.output.json, output)?;
        return Ok(ExitStatus::Success);
    }
    memory::check(&prediction, &args.memory).with_context(|| format!("cutting `{name}`"))?;
    let context = || format!("cutting `{name}`");
    if let Some(from) = &args.regions.superpixels {
        progress.step("superpixels");
        let (mask, contours) = (input.mask.as_deref(), input.contours.as_ref());
        let regions = Regions::new(from, &input.image, mask, contours, args).with_context(context)?;
        output.detail(&format!("{name}: {} superpixels", regions.map.n_regions()));
        input.regions = Some(regions);
    }
    let chosen = choose(&input, args, watch, &progress).with_context(context)?;
    let (args, k_choice) = match chosen {
        Some((ref chosen, ref choice)) => (chosen, Some(choice.clone())),
        None => (args, None),
    };
    let mut segmented = cut_image(&input, args, watch, &progress).with_context(context)?;
    segmented.outcome.k_choice = k_choice;
    progress.step("writing");
    let start = Instant::now();
    let (contents, outputs) = contents(job, args, &input, &segmented)?;
    files::write_all(&contents, args.output.force)?;
    let write = Stage { name: "write", ms: start.elapsed().as_secs_f64() * 1e3 };
    drop(progress);

    let Segmented { labels, mut outcome, .. } = segmented;
    outcome.stages.insert(0, read);
    outcome.stages.push(write);
    let mut report = outcome.report("segment", &job.input, args, labels.sizes(), outputs, &prediction)?;
    if let Some(features) = &input.features {
        report.features = Some(features.facts(&input.image, input.mask.as_deref())?);
    }
    let is_decimated = input.features.as_ref().is_none_or(Features::is_local) && input.regions.is_none();
    let fewer = |(made, asked): &(usize, usize)| is_decimated && made < asked;
    if let Some((levels, asked)) = report.graph.levels.zip(args.graph.levels).filter(fewer) {
        output.status(&format!("{name}: {levels} of {asked} levels made: the image is too small for more"));
    }
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
pub(super) struct Input {
    pub(super) image: Image,
    /// Which pixels to cut, row by row; all where there is none.
    pub(super) mask: Option<Vec<bool>>,
    /// The contours that were given.
    pub(super) contours: Option<Contours>,
    /// 8-bit RGB for pictures, row by row.
    pub(super) rgb: Vec<u8>,
    /// What is cut instead of the colours.
    features: Option<Features>,
    /// Superpixels that are cut instead of the pixels.
    regions: Option<Regions>,
}

impl Input {
    fn new(path: &Path, args: &SegmentArgs) -> Result<Self> {
        let Some(features) = &args.features.features else {
            return Self::of_image(path, &args.graph, true)
                .with_context(|| format!("reading image `{}`", path.display()));
        };
        if args.images.is_empty() {
            let features = Features::read(features, args, None)?;
            let image = features.picture()?;
            let input = Self::with_mask(path, &args.graph, image, None)?;
            return Ok(Self { features: Some(features), ..input });
        }
        let input = Self::of_image(path, &args.graph, false)
            .with_context(|| format!("reading image `{}`", path.display()))?;
        let features = Features::read(features, args, Some(&input.image))?;
        Ok(Self { features: Some(features), ..input })
    }

    /// An image, whose channels must be colours where these are what is cut.
    pub(super) fn of_image(path: &Path, args: &ImageGraphArgs, are_cut: bool) -> Result<Self> {
        let limits = Limits { max_pixels: args.max_pixels as u64 };
        let hint = "bands that are no colours are cut as a feature map: leave IMAGE out and give the file with --features";
        let Decoded { image, mask, .. } =
            read::image(path, limits).map_err(|error| match error.downcast_ref::<ccbcut_io::Error>() {
                Some(ccbcut_io::Error::Bands { .. }) => Hinted::error(error.to_string(), hint),
                _ => error,
            })?;
        let bands = image.channels();
        if are_cut && bands != 1 && bands != 3 {
            let message =
                format!("`{}` has {bands} bands, but an image has 1 (gray) or 3 (colour)", path.display());
            return Err(Hinted::error(message, hint));
        }
        Self::with_mask(path, args, image, mask)
    }

    fn with_mask(
        path: &Path,
        args: &ImageGraphArgs,
        image: Image,
        mut mask: Option<Vec<bool>>,
    ) -> Result<Self> {
        let limits = Limits { max_pixels: args.max_pixels as u64 };
        if let Some(mask_path) = &args.mask {
            let other = read_mask(mask_path, limits)?;
            let (got, expected) = ((other.height, other.width), (image.height(), image.width()));
            ensure!(
                got == expected,
                "the mask `{}` is {} × {} pixels, but `{}` is {} × {}",
                mask_path.display(),
                got.1,
                got.0,
                path.display(),
                expected.1,
                expected.0
            );
            mask = Some(match mask {
                Some(own) => own.iter().zip(&other.values).map(|(&a, &b)| a && b).collect(),
                None => other.values,
            });
        }
        let contours = args.contours.as_deref().map(|path| read_contours(path, limits)).transpose()?;
        let rgb = paint::rgb_of(&image);
        Ok(Self { image, mask, contours, rgb, features: None, regions: None })
    }
}

/// What the library made of an image.
struct Segmented {
    /// The label map, split into connected regions where that was asked for.
    labels: LabelMap,
    /// With `--all-k`: the label maps of 2, 3, … parts on the way, by their number before `--connected`.
    smaller: Vec<(usize, LabelMap)>,
    /// With `--ucm`: the hierarchy as a contour map.
    ucm: Option<Ucm>,
    /// With `--embedding-picture`: a row of coordinates per pixel.
    coordinates: Option<Embedding>,
    /// With `--tree`: the hierarchy itself.
    tree: Option<Dendrogram>,
    /// Each part's term of the cost as a share of the sum, by label.
    cost_shares: Vec<f64>,
    outcome: Outcome,
}

/// With `-k auto`: the options with the number of segments that was chosen, and why.
fn choose(
    input: &Input,
    args: &SegmentArgs,
    watch: &Watch,
    progress: &Progress,
) -> Result<Option<(SegmentArgs, Choice)>> {
    if args.partition.segments != Segments::Auto {
        return Ok(None);
    }
    let stop = || watch.flow().is_break();
    let mut observe = |event: ccbcut::Progress<'_>| library::show(progress, event);
    let mut control = Control::new().observer(&mut observe).stop(&stop);
    if input.features.is_some() {
        let message = "-k auto looks at colours and contours, not at --features".to_owned();
        return Err(Hinted::error(message, "give the number of parts"));
    }
    let contours = input.contours.as_ref();
    let segmenter = library::segmenter(&args.partition, &args.embedding, &args.graph, false, contours);
    let k_max = args.partition.k_max;
    let choice = match &input.regions {
        Some(regions) => {
            let partitioner = library::partitioner(&args.partition, &args.embedding);
            partitioner.choose(&regions.graph, k_max, &mut control)?
        }
        None => segmenter.choose(&input.image, input.mask.as_deref(), k_max, &mut control)?,
    };
    let mut chosen = args.clone();
    chosen.partition.segments = Segments::Count(choice.k);
    Ok(Some((chosen.resolved(), choice)))
}

/// The one call into the library: the image, cut as `args` asks, while `watch` allows.
fn cut_image(input: &Input, args: &SegmentArgs, watch: &Watch, progress: &Progress) -> Result<Segmented> {
    let stop = || watch.flow().is_break();
    let mut observe = |event: ccbcut::Progress<'_>| library::show(progress, event);
    let mut control = Control::new().observer(&mut observe).stop(&stop);
    let segmenter = library::segmenter(
        &args.partition,
        &args.embedding,
        &args.graph,
        args.output.connected,
        input.contours.as_ref(),
    );
    let segmenter = match &args.scribbles {
        Some(path) => segmenter.scribbles(read::scribbles(path, &input.image, args.graph.max_pixels)?),
        None => segmenter,
    };
    let segmenter = segmenter.coordinates(if args.output.embedding_picture.is_some() { 3 } else { 0 });
    let (image, mask) = (&input.image, input.mask.as_deref());
    let mut cut = match (&input.features, &input.regions) {
        (Some(features), _) => features.cut(segmenter, args, image, mask, &mut control)?,
        (None, Some(regions)) => segmenter.segment_regions(&regions.map, &regions.graph, &mut control)?,
        (None, None) => segmenter.segment_with(image, mask, &mut control)?,
    };
    if let Some(regions) = &input.regions {
        cut.report.stages.splice(0..0, regions.stages.iter().cloned());
    }
    let mut smaller = Vec::new();
    if args.output.all_k {
        let leaves = cut.tree().map_or(0, Tree::n_leaves);
        for k in 2..leaves {
            let map = cut.labels_for(k)?;
            smaller.push((k, if args.output.connected { map.connected() } else { map }));
        }
    }
    let ucm = if args.output.ucm.is_some() { cut.ucm() } else { None };
    let tree = if args.output.tree.is_some() { cut.dendrogram() } else { None };
    let report = &cut.report;
    let total: f64 = report.part_costs.iter().sum();
    let share = |cost: &f64| if total > 0.0 { cost / total } else { 0.0 };
    let outcome = Outcome {
        graph: library::image_facts(report, input.image.height(), input.image.width()),
        stages: report.stages.clone(),
        trace: library::sweeps(&report.runs),
        stop_reason: library::stop_reason(&report.runs, report.is_complete),
        converged: report.is_converged(),
        costs: Some(report.costs),
        ccb: None,
        k_choice: None,
    };
    let cost_shares = report.part_costs.iter().map(share).collect();
    Ok(Segmented {
        labels: cut.labels,
        smaller,
        ucm,
        tree,
        coordinates: cut.coordinates,
        cost_shares,
        outcome,
    })
}

/// What the run will need.
fn predict(input: &Input, args: &SegmentArgs) -> Result<Prediction> {
    let image = &input.image;
    if let Some(features) = &input.features {
        return features.predict(args, image);
    }
    let columns = args.partition.columns.unwrap_or(1);
    if let Some(from) = &args.regions.superpixels {
        let count = match from {
            Superpixels::Count(count) => *count,
            Superpixels::File(_) => image.n_pixels().min(100_000),
        };
        let detects = args.graph.mix().has(Affinity::Mpb) && args.graph.contours.is_none();
        return Ok(of_regions(image.n_pixels(), count, detects, columns));
    }
    let run = library::image_run(image, &args.graph, &args.embedding, &args.partition)?;
    // Parts of an image are cut out of weights that are kept.
    let weights = if input.mask.is_some() { PixelWeights::Kept } else { run.weights };
    Ok(of_image(&ImageRun { weights, ..run }))
}

/// The bytes of every file of a job, made side by side, and their list for the report.
fn contents<'a>(
    job: &'a Job,
    args: &'a SegmentArgs,
    input: &'a Input,
    segmented: &'a Segmented,
) -> Result<(Vec<File>, Vec<OutputFile>)> {
    type Make<'a> = Box<dyn Fn(&Path) -> Result<Vec<u8>> + Sync + Send + 'a>;
    let (mut makers, mut outputs): (Vec<Make<'a>>, Vec<OutputFile>) = (Vec::new(), Vec::new());
    let mut add = |kind: &'static str, path: &Path, make: Make<'a>| {
        makers.push(make);
        outputs.push(OutputFile { kind, path: path.to_owned() });
    };
    let labels = &segmented.labels;
    for (_, path) in &job.labels {
        add("labels", path, Box::new(|path| Ok(encode_label_map(path, labels)?)));
    }
    if args.output.all_k {
        for (k, map) in &segmented.smaller {
            for (_, path) in job.labels_at(*k) {
                add("labels", &path, Box::new(|path| Ok(encode_label_map(path, map)?)));
            }
        }
    }
    for (picture, path) in &job.pictures {
        let make = move |_: &Path| {
            let rgb = match picture {
                Picture::Overlay => paint::overlay(&input.rgb, labels)?,
                Picture::MeanColor => paint::mean_color(&input.rgb, labels)?,
                Picture::Boundaries => paint::boundaries(labels),
            };
            Ok(paint::encode_png(labels.width(), labels.height(), &rgb)?)
        };
        add(picture.kind(), path, Box::new(make));
    }
    if let Some(path) = &args.output.regions {
        let make = |_: &Path| Ok(encode_regions_csv(&region_rows(&input.image, segmented)).into_bytes());
        add("regions", path, Box::new(make));
    }
    if let Some(path) = &args.output.coco {
        let make = move |_: &Path| {
            let name = job.input.display().to_string();
            Ok(encode_coco(&[(&name, labels)], CocoCounts::Compressed).into_bytes())
        };
        add("coco", path, Box::new(make));
    }
    if let Some(path) = &args.output.geojson {
        let make = |path: &Path| {
            let rows = region_rows(&input.image, segmented);
            let colors: Vec<[f64; 3]> =
                rows.iter().map(|r| [r.mean_red, r.mean_green, r.mean_blue]).collect();
            Ok(encode_geojson(path, labels, Some(&colors))?.into_bytes())
        };
        add("geojson", path, Box::new(make));
    }
    if let (Some(path), Some(ucm)) = (&args.output.ucm, &segmented.ucm) {
        add("ucm", path, Box::new(|path| Ok(encode_ucm(path, ucm)?)));
    }
    if let (Some(path), Some(rows)) = (&args.output.embedding_picture, &segmented.coordinates) {
        let make = |_: &Path| {
            let rgb = paint::coordinates(rows.as_slice(), rows.n_components(), input.mask.as_deref());
            Ok(paint::encode_png(labels.width(), labels.height(), &rgb)?)
        };
        add("embedding_picture", path, Box::new(make));
    }
    if let (Some(path), Some(choice)) = (&args.output.evidence, &segmented.outcome.k_choice) {
        add("evidence", path, Box::new(|_| Ok(evidence::draw(choice)?.into_bytes())));
    }
    if let (Some(path), Some(tree)) = (&args.output.tree, &segmented.tree) {
        let shape = Some((labels.height(), labels.width()));
        let make = move |path: &Path| super::tree_bytes(path, tree, shape, None, &args.embedding, None);
        add("tree", path, Box::new(make));
    }
    let make = |(make, output): (&Make<'_>, &OutputFile)| Ok((output.path.clone(), make(&output.path)?));
    let files = makers.par_iter().zip(&outputs).map(make).collect::<Result<Vec<File>>>()?;
    Ok((files, outputs))
}

/// The table of the segments, one row per label.
fn region_rows(image: &Image, segmented: &Segmented) -> Vec<RegionRow> {
    let labels = &segmented.labels;
    let empty = |label: usize| RegionRow {
        label: label as u32,
        area: 0,
        min_row: usize::MAX,
        min_col: usize::MAX,
        max_row: 0,
        max_col: 0,
        mean_red: 0.0,
        mean_green: 0.0,
        mean_blue: 0.0,
        cost_share: segmented.cost_shares.get(label).copied().unwrap_or(f64::NAN),
    };
    let mut rows: Vec<RegionRow> = (0..labels.n_segments()).map(empty).collect();
    for (p, &label) in labels.as_slice().iter().enumerate().filter(|&(_, &label)| label != LabelMap::VOID) {
        let (row, column) = (p / labels.width(), p % labels.width());
        let [red, green, blue] = paint::color_of(image.pixel(p));
        let region = &mut rows[label as usize];
        region.area += 1;
        (region.min_row, region.max_row) = (region.min_row.min(row), region.max_row.max(row));
        (region.min_col, region.max_col) = (region.min_col.min(column), region.max_col.max(column));
        region.mean_red += f64::from(red);
        region.mean_green += f64::from(green);
        region.mean_blue += f64::from(blue);
    }
    for region in &mut rows {
        let area = region.area.max(1) as f64;
        region.mean_red /= area;
        region.mean_green /= area;
        region.mean_blue /= area;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::GraphFacts;

    #[test]
    fn regions_have_boxes_areas_and_colours() {
        let image =
            Image::new(2, 2, 3, vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 1.0]).unwrap();
        let outcome = Outcome {
            graph: GraphFacts::default(),
            stages: Vec::new(),
            trace: Vec::new(),
            stop_reason: "converged".into(),
            converged: true,
            costs: None,
            ccb: None,
            k_choice: None,
        };
        let labels = LabelMap::new(2, 2, &[0, 1, 0, LabelMap::VOID]).unwrap();
        let segmented = Segmented {
            labels,
            smaller: Vec::new(),
            ucm: None,
            coordinates: None,
            tree: None,
            cost_shares: vec![0.75, 0.25],
            outcome,
        };
        let rows = region_rows(&image, &segmented);
        assert_eq!((rows[0].area, rows[0].mean_red, rows[0].cost_share), (2, 0.75, 0.75));
        assert_eq!((rows[0].min_row, rows[0].max_row, rows[0].min_col, rows[0].max_col), (0, 1, 0, 0));
        assert_eq!((rows[1].area, rows[1].mean_green, rows[1].min_col), (1, 1.0, 1));
    }
}
