//! Reading inputs: by path, or from stdin for `-`.

use std::{
    collections::HashMap,
    io::{self, Read},
    path::Path,
};

use anyhow::{Context, Result, bail, ensure};
use ccbcut::{
    Balance, Graph, Image, LabelMap, Labels,
    graph::Symmetrize,
    points::{Bandwidth, NeighborGraph},
};
use ccbcut_io::{
    Decoded, GraphFile, GraphOptions, Limits, decode_graph_file, decode_image, decode_points,
    read_graph_file, read_image, read_label_map, read_labels_vector, read_named_labels, read_npy,
    read_points, read_vertex_weights,
};

use crate::args::{self, GraphInputArgs};

/// An image.
///
/// # Errors
/// When the file cannot be read or is not an image within the limits.
pub fn image(path: &Path, limits: Limits) -> Result<Decoded> {
    if is_stdin(path) { Ok(decode_image(path, &stdin()?, limits)?) } else { Ok(read_image(path, limits)?) }
}

/// Strokes on an image: a number per pixel from 1, in the order of their first appearance, 0 for none. Of a picture, every
/// colour but black is a name, and pixels that are fully transparent have none; of an array, every number above 0.
///
/// # Errors
/// When the file cannot be read, or is not of the size of the image.
pub fn scribbles(path: &Path, image: &Image, max_pixels: usize) -> Result<Vec<u32>> {
    let context = || format!("reading scribbles `{}`", path.display());
    let (shape, keys): ((usize, usize), Vec<Option<Vec<u32>>>) =
        if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy")) {
            let array = read_npy(path).with_context(context)?;
            let [height, width] = array.shape[..] else {
                bail!("`{}` has {} dimensions, but scribbles have two", path.display(), array.shape.len());
            };
            let values = array.values.to_i64();
            let values = values.with_context(|| format!("`{}` must hold whole numbers", path.display()))?;
            let key = |v: i64| (v > 0).then(|| vec![(v >> 32) as u32, v as u32]);
            ((height, width), values.into_iter().map(key).collect())
        } else {
            let limits = Limits { max_pixels: max_pixels as u64 };
            let Decoded { image, mask, .. } = read_image(path, limits).with_context(context)?;
            let key = |p: usize| {
                let pixel = image.pixel(p);
                let is_drawn = mask.as_ref().is_none_or(|mask| mask[p]) && pixel.iter().any(|&v| v > 0.0);
                is_drawn.then(|| pixel.iter().map(|v| v.to_bits()).collect())
            };
            ((image.height(), image.width()), (0..image.n_pixels()).map(key).collect())
        };
    ensure!(
        shape == (image.height(), image.width()),
        "the scribbles `{}` are {} × {} pixels, but the image is {} × {}",
        path.display(),
        shape.1,
        shape.0,
        image.width(),
        image.height()
    );
    let mut numbers: HashMap<Vec<u32>, u32> = HashMap::new();
    let number = |key: Option<Vec<u32>>| match key {
        Some(key) => {
            let next = numbers.len() as u32 + 1;
            *numbers.entry(key).or_insert(next)
        }
        None => 0,
    };
    Ok(keys.into_iter().map(number).collect())
}

/// A graph as the options ask for it.
pub struct GraphInput {
    /// The graph.
    pub graph: Graph,
    /// The names of its vertices, if any.
    pub names: Option<Vec<String>>,
    /// What part sizes are measured in, where `--vertex-weights` says so.
    pub balance: Option<Balance>,
    /// Whether the file has vertex weights that were not asked for.
    pub has_unused_weights: bool,
}

impl From<Graph> for GraphInput {
    fn from(graph: Graph) -> Self {
        Self { graph, names: None, balance: None, has_unused_weights: false }
    }
}

/// A graph, or the graph of points. From stdin, its content tells the format: an archive, Matrix Market, an array, or
/// else a text of edges or points.
///
/// # Errors
/// When the file cannot be read or does not hold a graph.
pub fn graph(path: &Path, args: &GraphInputArgs) -> Result<GraphInput> {
    let context = || format!("reading graph `{}`", path.display());
    let file = if args.points { points(path, args) } else { graph_file(path, args) }.with_context(context)?;
    let GraphFile { graph, names, vertex_weights } = file;
    let weights = args.vertex_weights.as_ref().map(|from| {
        let read = read_vertex_weights(from, graph.n_vertices(), names.as_deref());
        read.with_context(|| format!("reading vertex weights `{}`", from.display()))
    });
    let balance = weights.transpose()?.map(Balance::Custom);
    let has_unused_weights = balance.is_none() && vertex_weights.is_some();
    Ok(GraphInput { graph, names, balance, has_unused_weights })
}

fn graph_file(path: &Path, args: &GraphInputArgs) -> Result<GraphFile> {
    let symmetrize = args.symmetrize.map(|how| match how {
        args::Symmetrize::Mean => Symmetrize::Mean,
        args::Symmetrize::Max => Symmetrize::Max,
        args::Symmetrize::Sum => Symmetrize::Sum,
    });
    let options = GraphOptions { symmetrize, names: args.names };
    if !is_stdin(path) {
        return Ok(read_graph_file(path, options)?);
    }
    let bytes = stdin()?;
    let name = match bytes.as_slice() {
        [b'P', b'K', ..] => "stdin.npz",
        [b'%', b'%', ..] => "stdin.mtx",
        [0x93, b'N', ..] => "stdin.npy",
        _ => "stdin.edges",
    };
    Ok(decode_graph_file(Path::new(name), &bytes, options)?)
}

fn points(path: &Path, args: &GraphInputArgs) -> Result<GraphFile> {
    let file = if is_stdin(path) {
        let bytes = stdin()?;
        let name = if bytes.starts_with(b"\x93N") { "stdin.npy" } else { "stdin.csv" };
        decode_points(Path::new(name), &bytes)?
    } else {
        read_points(path)?
    };
    let bandwidth = args.bandwidth.map_or_else(Bandwidth::default, Bandwidth::Fixed);
    let neighbors = NeighborGraph::new(args.neighbors.unwrap_or(1)).bandwidth(bandwidth).mutual(args.mutual);
    Ok(GraphFile { graph: neighbors.build(&file.points)?, names: file.names, vertex_weights: None })
}

/// One label per vertex of a graph, which may have names.
///
/// # Errors
/// As [`labels`], and for names that the graph does not have.
pub fn labels_of(path: &Path, names: Option<&[String]>) -> Result<Labels> {
    let Some(names) = names else { return labels(path) };
    read_named_labels(path, names).with_context(|| format!("reading labels `{}`", path.display()))
}

/// One label per vertex: a list of labels, or a label map read row by row.
///
/// # Errors
/// When the file cannot be read or does not hold labels.
fn labels(path: &Path) -> Result<Labels> {
    let context = || format!("reading labels `{}`", path.display());
    let is_map = path
        .extension()
        .is_some_and(|e| ["png", "tif", "tiff", "mat"].iter().any(|known| e.eq_ignore_ascii_case(known)));
    if is_map {
        return labels_of_map(path).with_context(context);
    }
    match read_labels_vector(path) {
        // An array of two dimensions is a label map.
        Err(ccbcut_io::Error::Shape { .. }) => labels_of_map(path).with_context(context),
        other => other.with_context(context),
    }
}

/// A label map as labels of vertices: every pixel must have one.
fn labels_of_map(path: &Path) -> Result<Labels> {
    let map = read_label_map(path, Limits::default())?;
    let void = map.as_slice().iter().filter(|&&label| label == LabelMap::VOID).count();
    ensure!(
        void == 0,
        "{void} pixels of the label map belong to no part, but a cost needs a part for every vertex"
    );
    Ok(Labels::from_raw(map.as_slice()))
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn stdin() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).context("reading stdin")?;
    Ok(bytes)
}
