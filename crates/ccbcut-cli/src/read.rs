//! Reading inputs: by path, or from stdin for `-`.

use std::{
    io::{self, Read},
    path::Path,
};

use anyhow::{Context, Result, ensure};
use ccbcut::{Graph, LabelMap, Labels};
use ccbcut_io::{
    Decoded, Limits, decode_graph, decode_image, read_graph, read_image, read_label_map, read_labels_vector,
};

/// An image.
///
/// # Errors
/// When the file cannot be read or is not an image within the limits.
pub fn image(path: &Path, limits: Limits) -> Result<Decoded> {
    if is_stdin(path) { Ok(decode_image(path, &stdin()?, limits)?) } else { Ok(read_image(path, limits)?) }
}

/// A graph. From stdin, its content tells the format: an archive, Matrix Market, an array, or else an edge list.
///
/// # Errors
/// When the file cannot be read or does not hold a graph.
pub fn graph(path: &Path) -> Result<Graph> {
    let context = || format!("reading graph `{}`", path.display());
    if !is_stdin(path) {
        return read_graph(path).with_context(context);
    }
    let bytes = stdin()?;
    let name = match bytes.as_slice() {
        [b'P', b'K', ..] => "stdin.npz",
        [b'%', b'%', ..] => "stdin.mtx",
        [0x93, b'N', ..] => "stdin.npy",
        _ => "stdin.edges",
    };
    decode_graph(Path::new(name), &bytes).with_context(context)
}

/// One label per vertex: a list of labels, or a label map read row by row.
///
/// # Errors
/// When the file cannot be read or does not hold labels.
pub fn labels(path: &Path) -> Result<Labels> {
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
