//! Graphs by file name: SciPy archives, Matrix Market, METIS, edge lists, dense arrays.

use std::path::Path;

use ccbcut::{Graph, graph::Symmetrize};

use crate::{
    atomic::{Overwrite, write_whole},
    bytes::{extension, read_file},
    edge_list,
    error::{Error, Place, Result},
    matrix_market, metis, npy, npz,
};

/// What is read, for messages.
const READ: &str = ".npz, .mtx, .npy, .graph, .csv, .tsv, .txt or .edges";
/// What is written, for messages.
const WRITTEN: &str = ".npz or .mtx";
/// Graphs up to this size may declare any number of lonely vertices.
const FREE_VERTICES: usize = 1_000_000;

/// How a graph is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct GraphOptions {
    /// How the two directions of a directed graph are joined; without it, directed graphs are refused.
    pub symmetrize: Option<Symmetrize>,
    /// Whether the vertices of an edge list are names even where they look like numbers.
    pub names: bool,
}

/// What a file tells about a graph.
#[derive(Debug, Clone)]
pub struct GraphFile {
    /// The graph itself.
    pub graph: Graph,
    /// The names of its vertices, where the file has names.
    pub names: Option<Vec<String>>,
    /// One weight per vertex, where the file has them (METIS).
    pub vertex_weights: Option<Vec<f64>>,
}

/// Reads a graph; the ending of the file name says how.
///
/// `.npz` is a sparse matrix as SciPy's `save_npz` writes it, `.mtx` Matrix Market, `.npy` a dense square matrix,
/// `.graph` the format of METIS, and `.csv`, `.tsv`, `.txt` and `.edges` are edge lists. Matrices must be symmetric.
///
/// # Errors
/// [`Error::Unsupported`] for another ending, [`Error::Malformed`], [`Error::Missing`] or [`Error::Shape`] for a
/// file that breaks its format, [`Error::Library`] or [`Error::Directed`] when it does not hold an undirected graph.
pub fn read_graph(path: &Path) -> Result<Graph> {
    Ok(read_graph_file(path, GraphOptions::default())?.graph)
}

/// Reads a graph held in memory; the ending of `name` says how.
///
/// # Errors
/// As [`read_graph`].
pub fn decode_graph(name: &Path, bytes: &[u8]) -> Result<Graph> {
    Ok(decode_graph_file(name, bytes, GraphOptions::default())?.graph)
}

/// Reads a graph with all that the file tells about it.
///
/// # Errors
/// As [`read_graph`].
pub fn read_graph_file(path: &Path, options: GraphOptions) -> Result<GraphFile> {
    let decode = decoder(path)?;
    decode(path, &read_file(path)?, options)
}

/// The same from memory; the ending of `name` says how.
///
/// # Errors
/// As [`read_graph`].
pub fn decode_graph_file(name: &Path, bytes: &[u8], options: GraphOptions) -> Result<GraphFile> {
    decoder(name)?(name, bytes, options)
}

/// How one kind of file is read.
type Decoder = fn(&Path, &[u8], GraphOptions) -> Result<GraphFile>;

/// The reader for a file name, chosen before the file is opened.
fn decoder(name: &Path) -> Result<Decoder> {
    match extension(name).as_str() {
        "npz" => Ok(|path, bytes, options| Ok(npz::decode_sparse(path, bytes, options.symmetrize)?.into())),
        "mtx" => {
            Ok(|path, bytes, options| Ok(matrix_market::decode(path, bytes, options.symmetrize)?.into()))
        }
        "npy" => Ok(|path, bytes, options| Ok(decode_dense(path, bytes, options.symmetrize)?.into())),
        "graph" => Ok(|path, bytes, _| metis::decode(path, bytes)),
        "csv" | "tsv" | "txt" | "edges" => Ok(edge_list::decode),
        _ => Err(Error::extension(name, "a graph", READ)),
    }
}

impl From<Graph> for GraphFile {
    fn from(graph: Graph) -> Self {
        Self { graph, names: None, vertex_weights: None }
    }
}

/// Writes a graph; the ending of the file name says how, `.npz` or `.mtx`.
///
/// # Errors
/// [`Error::Unsupported`] for another ending, [`Error::Encode`] for an archive above 4 GiB, and the errors of
/// [`write_whole`].
pub fn write_graph(path: &Path, graph: &Graph, overwrite: Overwrite) -> Result<()> {
    write_whole(path, &encode_graph(path, graph)?, overwrite)
}

/// The bytes [`write_graph`] writes; for a group of outputs.
///
/// # Errors
/// As [`write_graph`].
pub fn encode_graph(path: &Path, graph: &Graph) -> Result<Vec<u8>> {
    match extension(path).as_str() {
        "npz" => npz::encode_sparse(path, graph),
        "mtx" => Ok(matrix_market::encode(graph)),
        _ => Err(Error::extension(path, "a graph to write", WRITTEN)),
    }
}

/// The graph of a dense symmetric matrix.
fn decode_dense(path: &Path, bytes: &[u8], how: Option<Symmetrize>) -> Result<Graph> {
    let array = npy::decode_npy(path, bytes)?;
    let n = match array.shape[..] {
        [rows, columns] if rows == columns => rows,
        _ => return Err(Error::shape(path, "a square matrix", &array.shape)),
    };
    let values = array.values.to_f64();
    let values = values.ok_or_else(|| Error::malformed(path, Place::Whole, "expected numbers, got text"))?;
    if n == 0 {
        return Graph::from_edges(0, &[]).map_err(|e| Error::library(path, e));
    }
    let (mut offsets, mut columns, mut weights) = (vec![0], Vec::new(), Vec::new());
    for row in values.chunks_exact(n) {
        // NaN is kept, so that the library can refuse it by position.
        for (column, &weight) in row.iter().enumerate().filter(|(_, w)| **w != 0.0) {
            columns.push(column as u32);
            weights.push(weight);
        }
        offsets.push(columns.len());
    }
    from_rows(path, &offsets, &columns, &weights, how)
}

/// Refuses a number of vertices that the file is far too small to connect, before anything is allocated for them.
pub(crate) fn check_vertices(path: &Path, n: usize, n_bytes: usize) -> Result<()> {
    if n <= FREE_VERTICES.max(n_bytes) && n < u32::MAX as usize {
        return Ok(());
    }
    let detail = format!("{n} vertices are declared, far more than the file's {n_bytes} bytes connect");
    Err(Error::malformed(path, Place::Whole, detail))
}

/// The graph of a symmetric matrix given by all its entries, in any order.
pub(crate) fn from_triplets(
    path: &Path,
    n: usize,
    rows: &[u32],
    columns: &[u32],
    weights: &[f64],
    how: Option<Symmetrize>,
) -> Result<Graph> {
    if rows.len() != columns.len() || rows.len() != weights.len() {
        let detail = format!(
            "expected as many rows as columns and weights, got {}, {} and {}",
            rows.len(),
            columns.len(),
            weights.len()
        );
        return Err(Error::malformed(path, Place::Whole, detail));
    }
    let mut offsets = vec![0_usize; n + 1];
    for &row in rows {
        offsets[row as usize + 1] += 1;
    }
    for row in 0..n {
        offsets[row + 1] += offsets[row];
    }
    let mut next = offsets.clone();
    let (mut sorted, mut values) = (vec![0; rows.len()], vec![0.0; rows.len()]);
    for ((&row, &column), &weight) in rows.iter().zip(columns).zip(weights) {
        let position = next[row as usize];
        next[row as usize] += 1;
        (sorted[position], values[position]) = (column, weight);
    }
    from_rows(path, &offsets, &sorted, &values, how)
}

/// The graph of a matrix in compressed rows: symmetric, unless the caller says how to make it so.
pub(crate) fn from_rows(
    path: &Path,
    offsets: &[usize],
    columns: &[u32],
    weights: &[f64],
    how: Option<Symmetrize>,
) -> Result<Graph> {
    let graph = match how {
        None => Graph::from_csr(offsets, columns, weights),
        Some(how) => Graph::from_csr_joined(offsets, columns, weights, how),
    };
    graph.map_err(|e| Error::library(path, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_go_through_files_of_every_kind() {
        let folder = tempfile::tempdir().unwrap();
        let graph = Graph::from_edges(3, &[(0, 1, 0.5), (1, 2, 0.25), (0, 0, 1.0)]).unwrap();
        for name in ["g.npz", "g.mtx"] {
            let path = folder.path().join(name);
            write_graph(&path, &graph, Overwrite::Refuse).unwrap();
            assert_eq!(read_graph(&path).unwrap().to_csr(), graph.to_csr());
        }
        let path = folder.path().join("g.npy");
        let dense = [1.0, 0.5, 0.0, 0.5, 0.0, 0.25, 0.0, 0.25, 0.0];
        npy::write_npy(&path, &[3, 3], &dense, Overwrite::Refuse).unwrap();
        assert_eq!(read_graph(&path).unwrap().to_csr(), graph.to_csr());
        let error = write_graph(Path::new("g.dot"), &graph, Overwrite::Refuse).unwrap_err();
        assert_eq!(error.to_string(), "`g.dot` is a `.dot` file, but a graph to write must be .npz or .mtx");
        assert!(matches!(read_graph(Path::new("g")), Err(Error::Unsupported { .. })));
    }

    #[test]
    fn dense_matrices_must_be_square_symmetric_and_finite() {
        let path = Path::new("g.npy");
        let dense =
            |shape: &[usize], values: &[f64]| decode_dense(path, &npy::encode_npy(shape, values), None);
        assert!(matches!(dense(&[1, 2], &[0.0; 2]), Err(Error::Shape { .. })));
        assert!(matches!(
            dense(&[2, 2], &[0.0, 1.0, 2.0, 0.0]),
            Err(Error::Library { source: ccbcut::Error::Asymmetric { row: 0, col: 1, .. }, .. })
        ));
        assert!(matches!(
            dense(&[1, 1], &[f64::NAN]),
            Err(Error::Library { source: ccbcut::Error::InvalidWeight { .. }, .. })
        ));
        assert_eq!(dense(&[0, 0], &[]).unwrap().n_vertices(), 0);
        let arrows = npy::encode_npy(&[2, 2], &[0.0, 1.0, 4.0, 0.0]);
        let degree = |how| decode_dense(path, &arrows, Some(how)).unwrap().degrees()[0];
        assert_eq!([Symmetrize::Mean, Symmetrize::Max, Symmetrize::Sum].map(degree), [2.5, 4.0, 5.0]);
    }
}
