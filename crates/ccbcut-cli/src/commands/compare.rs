//! `ccbcut compare`: every solver on the same graph, under the same costs.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use ccbcut::{
    Control, Graph, Image, LabelMap, Labels, Method, Partitioner, Segmenter, Solver,
    cost::{Costs, Criterion},
    image::contours::Contours,
    memory::{ImageRun, PixelWeights, Prediction, of_graph, of_image},
    partition::Refine,
};
use ccbcut_io::{Decoded, Limits, read_contours};
use serde::Serialize;
use serde_json::Value;

use crate::{
    args::{self, CompareArgs, GraphInputArgs, PartitionArgs, Segments},
    exit::ExitStatus,
    files, library, memory,
    output::Output,
    paint, read,
    report::{self, OutputFile, SCHEMA_VERSION, Versions},
    watch::Watch,
};

use super::use_threads;

/// Endings of files that hold a graph and never an image.
const GRAPHS: [&str; 7] = ["npz", "mtx", "csv", "tsv", "txt", "edges", "el"];

/// Pixels between two panels of the strip.
const GAP: usize = 6;

/// Cuts by every solver, prints the table, writes the strip.
pub fn run(args: &CompareArgs, output: &Output) -> Result<ExitStatus> {
    let strip = args
        .output
        .as_ref()
        .map(|folder| folder.join(format!("{}-compare.png", files::stem_of(&args.input))));
    if let Some(path) = &strip {
        files::check_free(path, args.force)?;
    }
    use_threads(args.embedding.threads)?;
    let watch = Watch::start(args.embedding.time_limit)?;
    let input = Input::read(args).with_context(|| format!("reading `{}`", args.input.display()))?;
    ensure!(
        strip.is_none() || matches!(input, Input::Picture(_)),
        "`{}` is a graph: there is no picture to draw, so --output does not apply",
        args.input.display()
    );
    let prediction = input.predict(args)?;
    if args.memory.dry_run {
        memory::dry_run("compare", &args.input, &prediction, &args.memory, args.json, output)?;
        return Ok(ExitStatus::Success);
    }
    memory::check(&prediction, &args.memory)?;
    let scene = Scene::new(input, args)?;
    let progress = output.progress(&args.input.display().to_string());
    let mut rows = Vec::new();
    for entry in entries(args.embedding.tau) {
        progress.step(entry.name);
        let pair = scene
            .cut(entry, args, &watch)
            .with_context(|| format!("cutting `{}` by {}", args.input.display(), entry.name))?;
        if watch.is_interrupted() {
            return Err(ccbcut::Error::Interrupted.into());
        }
        rows.extend(pair);
    }
    drop(progress);
    let mut outputs = Vec::new();
    if let (Some(path), Some(picture)) = (strip, &scene.picture) {
        files::write_all(&[(path.clone(), picture.strip(&rows)?)], args.force)?;
        outputs.push(OutputFile { kind: "strip", path });
    }
    let report = CompareReport {
        schema_version: SCHEMA_VERSION,
        command: "compare",
        input: args.input.clone(),
        parameters: report::parameters(args)?,
        n: scene.graph.n_vertices(),
        edges: scene.graph.n_edges(),
        methods: rows,
        outputs,
        versions: Versions::current(),
    };
    if args.json {
        output.json(&report)?;
    } else {
        output.data(report.table().as_bytes())?;
        for file in &report.outputs {
            output.status(&format!("wrote {}", file.path.display()));
        }
    }
    Ok(ExitStatus::Success)
}

/// One method of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Entry {
    name: &'static str,
    solver: Solver,
    method: Method,
    tau: f64,
}

/// The methods that apply at a τ: SOC needs τ ≥ 1.
fn entries(tau: f64) -> Vec<Entry> {
    let entry = |name, solver, method, tau| Entry { name, solver, method, tau };
    let mut all = vec![
        entry("ncut", Solver::Irrq, Method::Hierarchical, 2.0),
        entry("irrq", Solver::Irrq, Method::Hierarchical, tau),
        entry("ratiodca", Solver::RatioDca, Method::Hierarchical, tau),
        entry("ipm", Solver::Ipm, Method::Hierarchical, tau),
    ];
    if tau >= 1.0 {
        all.push(entry("soc", Solver::Soc, Method::Multiway, tau));
    }
    all
}

/// What is cut: a graph, perhaps that of the pixels of an image.
struct Scene {
    graph: Graph,
    picture: Option<Picture>,
}

/// The image behind a graph.
struct Picture {
    image: Image,
    mask: Option<Vec<bool>>,
    /// Those that were given.
    contours: Option<Contours>,
}

/// What was read.
enum Input {
    Graph(Graph),
    Picture(Picture),
}

impl Input {
    fn read(args: &CompareArgs) -> Result<Self> {
        if is_graph(&args.input)? {
            return Ok(Self::Graph(read::graph(&args.input, &GraphInputArgs::default())?.graph));
        }
        let limits = Limits { max_pixels: args.graph.max_pixels as u64 };
        let Decoded { image, mask, .. } = read::image(&args.input, limits)?;
        let contours = args.graph.contours.as_deref().map(|path| read_contours(path, limits)).transpose()?;
        Ok(Self::Picture(Picture { image, mask, contours }))
    }

    /// What the runs will need, one after the other.
    fn predict(&self, args: &CompareArgs) -> Result<Prediction> {
        let image = match self {
            Self::Graph(graph) => return Ok(of_graph(graph, args.segments)),
            Self::Picture(picture) => &picture.image,
        };
        let partition = PartitionArgs { columns: Some(args.segments), ..cut_args(args, 2.0).0 };
        // Others than ours hold a graph of their own at any tau.
        let run = library::image_run(image, &args.graph, &args.embedding, &partition)?;
        Ok(of_image(&ImageRun { reweights: true, weights: PixelWeights::Kept, ..run }))
    }
}

impl Scene {
    fn new(input: Input, args: &CompareArgs) -> Result<Self> {
        let picture = match input {
            Input::Graph(graph) => return Ok(Self { graph, picture: None }),
            Input::Picture(picture) => picture,
        };
        let segmenter = segmenter(args, args.embedding.tau, picture.contours.as_ref());
        let graph = segmenter.graph(&picture.image, picture.mask.as_deref())?;
        let graph = match &picture.mask {
            Some(mask) => {
                let active: Vec<u32> = (0..mask.len() as u32).filter(|&p| mask[p as usize]).collect();
                graph.induced(&active)
            }
            None => graph,
        };
        Ok(Self { graph, picture: Some(picture) })
    }

    /// The row of a method, and the row of its refinement.
    fn cut(&self, entry: Entry, args: &CompareArgs, watch: &Watch) -> Result<[Row; 2]> {
        let stop = || watch.flow().is_break();
        let mut control = Control::new().stop(&stop);
        let change = |p: Partitioner| {
            let p = p.solver(entry.solver).method(entry.method);
            args.starts.map_or(p.clone(), |starts| p.n_starts(starts))
        };
        let clock = Instant::now();
        let labels = match &self.picture {
            None => change(partitioner(args, entry.tau)).partition_with(&self.graph, &mut control)?.labels,
            Some(Picture { image, mask, contours }) => {
                let segmenter = segmenter(args, entry.tau, contours.as_ref()).partitioner(change);
                let cut = segmenter.segment_with(image, mask.as_deref(), &mut control)?;
                let label = |&l: &u32| (l != LabelMap::VOID).then_some(l);
                Labels::from_raw(&cut.labels.as_slice().iter().filter_map(label).collect::<Vec<_>>())
            }
        };
        let plain = Row::new(entry, false, clock, &self.graph, labels, args)?;
        let clock = Instant::now();
        let criterion = match entry.solver {
            Solver::Ipm => Criterion::Cheeger,
            _ => Criterion::Ccb { tau: entry.tau },
        };
        let balance = library::balance(&args.embedding);
        let labels = Refine::new(criterion).run(&self.graph, &plain.labels, &balance)?;
        Ok([plain, Row::new(entry, true, clock, &self.graph, labels, args)?])
    }
}

/// Whether a file holds a graph: by its ending, and an array by its shape.
fn is_graph(path: &Path) -> Result<bool> {
    let ending = path.extension().and_then(|e| e.to_str()).map(str::to_lowercase);
    match ending.as_deref() {
        Some("npy") => Ok(matches!(ccbcut_io::read_npy(path)?.shape[..], [rows, columns] if rows == columns)),
        Some(ending) => Ok(GRAPHS.contains(&ending)),
        None => Ok(false),
    }
}

fn partitioner(args: &CompareArgs, tau: f64) -> Partitioner {
    let (partition, embedding) = cut_args(args, tau);
    library::partitioner(&partition, &embedding)
}

fn segmenter(args: &CompareArgs, tau: f64, contours: Option<&Contours>) -> Segmenter {
    let (partition, embedding) = cut_args(args, tau);
    library::segmenter(&partition, &embedding, &args.graph, false, contours)
}

fn cut_args(args: &CompareArgs, tau: f64) -> (PartitionArgs, args::EmbeddingArgs) {
    let mut embedding = args.embedding.clone();
    embedding.tau = tau;
    (PartitionArgs { segments: Segments::Count(args.segments), ..PartitionArgs::default() }, embedding)
}

/// What one method found.
#[derive(Debug, Serialize)]
struct Row {
    method: String,
    solver: &'static str,
    refined: bool,
    tau: f64,
    ms: f64,
    n_segments: usize,
    sizes: Vec<usize>,
    costs: Costs,
    #[serde(skip)]
    labels: Labels,
}

impl Row {
    fn new(
        entry: Entry,
        refined: bool,
        clock: Instant,
        graph: &Graph,
        labels: Labels,
        args: &CompareArgs,
    ) -> Result<Self> {
        let ms = clock.elapsed().as_secs_f64() * 1e3;
        Ok(Self {
            method: if refined { format!("{} + refine", entry.name) } else { entry.name.to_owned() },
            solver: entry.solver.name(),
            refined,
            tau: entry.tau,
            ms,
            n_segments: labels.n_segments(),
            sizes: labels.sizes(),
            costs: Costs::of(graph, &labels, args.embedding.tau)?,
            labels,
        })
    }

    fn values(&self) -> [f64; 7] {
        let c = &self.costs;
        [c.cut, c.ncut, c.rcut, c.ncheeger, c.rcheeger, c.ccn, c.ccr]
    }
}

/// The JSON object of this verb.
#[derive(Debug, Serialize)]
struct CompareReport {
    schema_version: u32,
    command: &'static str,
    input: PathBuf,
    parameters: Value,
    n: usize,
    edges: usize,
    methods: Vec<Row>,
    outputs: Vec<OutputFile>,
    versions: Versions,
}

impl CompareReport {
    /// Methods by costs, the lowest of each column starred.
    fn table(&self) -> String {
        let heads = [
            "method", "seconds", "largest", "smallest", "cut", "NCut", "RCut", "NCheeger", "RCheeger", "CCN",
            "CCR",
        ];
        let mut cells = vec![heads.map(str::to_owned).to_vec()];
        let lowest: Vec<f64> = (0..7)
            .map(|c| self.methods.iter().map(|row| row.values()[c]).fold(f64::INFINITY, f64::min))
            .collect();
        for row in &self.methods {
            let mut line = vec![row.method.clone(), format!("{:.2}", row.ms / 1000.0)];
            line.push(row.sizes.iter().max().map_or_else(String::new, usize::to_string));
            line.push(row.sizes.iter().min().map_or_else(String::new, usize::to_string));
            for (value, least) in row.values().into_iter().zip(&lowest) {
                let star = if value <= least * (1.0 + 1e-9) { "*" } else { " " };
                line.push(format!("{}{star}", digits(value)));
            }
            cells.push(line);
        }
        let widths: Vec<usize> = (0..heads.len())
            .map(|c| cells.iter().map(|line| line[c].chars().count()).max().unwrap_or(0))
            .collect();
        let mut text = String::new();
        for line in cells {
            let padded: Vec<String> = line
                .iter()
                .zip(&widths)
                .enumerate()
                .map(
                    |(c, (cell, &width))| {
                        if c == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                    },
                )
                .collect();
            text.push_str(padded.join("  ").trim_end());
            text.push('\n');
        }
        text
    }
}

/// Four significant digits, or thereabouts.
fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size < 1e-3 => format!("{value:.3e}"),
        size if size < 10.0 => format!("{value:.4}"),
        size if size < 1e4 => format!("{value:.1}"),
        _ => format!("{value:.3e}"),
    }
}

impl Picture {
    /// The image and every cut of it, side by side: unrefined ones above, refined ones below.
    fn strip(&self, rows: &[Row]) -> Result<Vec<u8>> {
        let (height, width) = (self.image.height(), self.image.width());
        let rgb = paint::rgb_of(&self.image);
        let columns = 1 + rows.len().div_ceil(2);
        let (full_width, full_height) = (columns * (width + GAP) - GAP, 2 * height + GAP);
        let mut out = vec![255; full_width * full_height * 3];
        let mut put = |panel: &[u8], column: usize, line: usize| {
            for (r, row) in panel.chunks_exact(3 * width).enumerate() {
                let at = 3 * ((line * (height + GAP) + r) * full_width + column * (width + GAP));
                out[at..at + 3 * width].copy_from_slice(row);
            }
        };
        put(&rgb, 0, 0);
        for (k, row) in rows.iter().enumerate() {
            put(&paint::overlay(&rgb, &self.map(&row.labels)?)?, 1 + k / 2, k % 2);
        }
        Ok(paint::encode_png(full_width, full_height, &out)?)
    }

    /// Labels of the pixels that take part as a map of all.
    fn map(&self, labels: &Labels) -> Result<LabelMap> {
        let mut next = labels.as_slice().iter().copied();
        let is_on = |p: usize| self.mask.as_ref().is_none_or(|mask| mask[p]);
        let raw: Vec<u32> = (0..self.image.n_pixels())
            .map(|p| if is_on(p) { next.next().unwrap_or(LabelMap::VOID) } else { LabelMap::VOID })
            .collect();
        Ok(LabelMap::new(self.image.height(), self.image.width(), &raw)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soc_is_left_out_below_one() {
        let names = |tau| entries(tau).iter().map(|e| e.name).collect::<Vec<_>>();
        assert_eq!(names(1.0), ["ncut", "irrq", "ratiodca", "ipm", "soc"]);
        assert_eq!(names(0.5), ["ncut", "irrq", "ratiodca", "ipm"]);
    }

    #[test]
    fn endings_tell_graphs_from_images() {
        for (name, expected) in
            [("a.npz", true), ("a.MTX", true), ("a.png", false), ("a", false), ("a.csv", true)]
        {
            assert_eq!(is_graph(Path::new(name)).unwrap(), expected, "{name}");
        }
    }

    #[test]
    fn numbers_have_four_digits() {
        assert_eq!(
            [0.0, 0.000_123_45, 0.123_45, 12.345, 123_456.0].map(digits),
            ["0", "1.234e-4", "0.1235", "12.3", "1.235e5"]
        );
    }
}
