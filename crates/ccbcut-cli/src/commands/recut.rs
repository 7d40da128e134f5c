//! `ccbcut recut`: another cut of a saved tree.

use std::{path::Path, time::Instant};

use anyhow::{Context, Result};
use ccbcut::{
    LabelMap, Labels, Ucm,
    partition::{Recut, Selection},
};
use ccbcut_io::{TreeFile, encode_label_map, encode_named_labels, encode_ucm, read_tree};
use serde::Serialize;
use serde_json::Value;

use crate::{
    args::{LabelFormat, RecutArgs},
    dendrogram,
    exit::{ExitStatus, Hinted},
    files,
    output::Output,
    report::{self, OutputFile, SCHEMA_VERSION, Versions},
};

/// Reads a tree, chooses a cut, and writes what was asked for.
pub fn run(args: &RecutArgs, output: &Output) -> Result<ExitStatus> {
    let named = [&args.output, &args.dendrogram, &args.ucm];
    named.into_iter().flatten().try_for_each(|path| files::check_free(path, args.force))?;
    if let Some(path) = &args.ucm {
        files::check_contour_file(path)?;
    }
    if let Some(path) = &args.dendrogram {
        files::check_drawing(path)?;
    }
    let name = args.tree.display();
    let tree = read_tree(&args.tree).with_context(|| format!("reading tree `{name}`"))?;
    if tree.shape.is_none() && args.ucm.is_some() {
        let message = format!("`{name}` is the tree of a graph, and a contour map needs an image");
        return Err(Hinted::error(message, "make the tree with `ccbcut segment --tree`"));
    }
    let recut = Recut {
        n_segments: args.segments,
        min_size: args.min_size.unwrap_or(0),
        max_size: args.max_size,
        max_cost: args.max_cost,
    };
    let start = Instant::now();
    let selection = tree.dendrogram.select(&recut).with_context(|| format!("cutting `{name}`"))?;
    let select_ms = start.elapsed().as_secs_f64() * 1e3;
    let raw = tree.dendrogram.paint(&selection);
    let paint_ms = start.elapsed().as_secs_f64() * 1e3 - select_ms;
    let painted = Painted::new(&tree, &raw)?;
    let (contents, outputs) = contents(args, &tree, &selection, &painted)?;
    files::write_all(&contents, args.force)?;
    let report = RecutReport {
        schema_version: SCHEMA_VERSION,
        command: "recut",
        input: args.tree.clone(),
        parameters: report::parameters(args)?,
        n: raw.len(),
        leaves: tree.dendrogram.tree().n_leaves(),
        tau: tree.tau,
        balance: tree.balance.clone(),
        n_segments: painted.sizes().len(),
        sizes: painted.sizes(),
        cost: selection.cost,
        select_ms,
        paint_ms,
        outputs,
        versions: Versions::current(),
    };
    if args.json {
        output.json(&report)?;
    } else {
        if args.output.is_none() {
            output.data(&painted.lines(tree.names.as_deref())?)?;
        }
        output.status(&report.line());
    }
    Ok(ExitStatus::Success)
}

/// The labels of vertices, or of pixels.
enum Painted {
    Graph(Labels),
    Image(LabelMap),
}

impl Painted {
    fn new(tree: &TreeFile, raw: &[u32]) -> Result<Self> {
        Ok(match tree.shape {
            Some((height, width)) => Self::Image(LabelMap::new(height, width, raw)?),
            None => Self::Graph(Labels::from_raw(raw)),
        })
    }

    fn sizes(&self) -> Vec<usize> {
        match self {
            Self::Graph(labels) => labels.sizes(),
            Self::Image(map) => map.sizes(),
        }
    }

    fn encoded(&self, path: &Path, names: Option<&[String]>) -> Result<Vec<u8>> {
        match self {
            Self::Graph(labels) => Ok(encode_named_labels(path, labels, names)?),
            Self::Image(_) if LabelFormat::of_path(path).is_none() => {
                let message = format!("`{}` names no format of label maps", path.display());
                Err(Hinted::error(message, "label maps are written as .png, .npy, .tif or .mat"))
            }
            Self::Image(map) => Ok(encode_label_map(path, map)?),
        }
    }

    fn lines(&self, names: Option<&[String]>) -> Result<Vec<u8>> {
        match self {
            Self::Graph(labels) => super::label_lines(labels, names),
            Self::Image(map) => {
                let label = |&l: &u32| if l == LabelMap::VOID { -1 } else { i64::from(l) };
                Ok(map.as_slice().iter().flat_map(|l| format!("{}\n", label(l)).into_bytes()).collect())
            }
        }
    }
}

/// The bytes of every file, and their list for the report.
fn contents(
    args: &RecutArgs,
    tree: &TreeFile,
    selection: &Selection,
    painted: &Painted,
) -> Result<(Vec<files::File>, Vec<OutputFile>)> {
    let (mut contents, mut outputs) = (Vec::new(), Vec::new());
    let mut add = |kind, path: &Path, bytes| {
        contents.push((path.to_owned(), bytes));
        outputs.push(OutputFile { kind, path: path.to_owned() });
    };
    if let Some(path) = &args.output {
        add("labels", path, painted.encoded(path, tree.names.as_deref())?);
    }
    if let Some(path) = &args.dendrogram {
        let drawing = dendrogram::draw(&tree.dendrogram, selection, tree.tau)?;
        add("dendrogram", path, drawing.into_bytes());
    }
    if let (Some(path), Some((height, width))) = (&args.ucm, tree.shape) {
        let ucm = Ucm::from_dendrogram(&tree.dendrogram, height, width)?;
        add("ucm", path, encode_ucm(path, &ucm)?);
    }
    Ok((contents, outputs))
}

/// The JSON object of this verb.
#[derive(Debug, Serialize)]
struct RecutReport {
    schema_version: u32,
    command: &'static str,
    input: std::path::PathBuf,
    parameters: Value,
    n: usize,
    leaves: usize,
    tau: f64,
    balance: String,
    n_segments: usize,
    sizes: Vec<usize>,
    cost: f64,
    select_ms: f64,
    paint_ms: f64,
    outputs: Vec<OutputFile>,
    versions: Versions,
}

impl RecutReport {
    fn line(&self) -> String {
        let (name, parts, cost) = (self.input.display(), self.n_segments, self.cost);
        let smallest = self.sizes.iter().min().copied().unwrap_or(0);
        let largest = self.sizes.iter().max().copied().unwrap_or(0);
        let leaves = self.leaves;
        format!("{name}: {parts} of {leaves} parts, sizes {smallest} to {largest}, cost {cost:.6}")
    }
}
