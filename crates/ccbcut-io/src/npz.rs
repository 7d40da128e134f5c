//! NumPy `.npz` archives, and the sparse matrices SciPy's `save_npz` keeps in them.

use std::path::{Path, PathBuf};

use ccbcut::{Graph, graph::Symmetrize};

use crate::{
    atomic::{Overwrite, write_whole},
    bytes::read_file,
    error::{Error, Place, Result},
    graphs::{check_vertices, from_rows, from_triplets},
    npy::{Array, Element, Values, decode_npy, encode_npy, encode_npy_text},
    zip,
};

/// The named arrays of an archive, in the order they are stored.
#[derive(Debug, Clone)]
pub struct Archive {
    path: PathBuf,
    arrays: Vec<(String, Array)>,
    /// Bytes after unpacking, against which declared sizes are weighed.
    n_bytes: usize,
}

impl Archive {
    /// The array with this name.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is none.
    pub fn array(&self, name: &str) -> Result<&Array> {
        let found = self.arrays.iter().find(|(key, _)| key == name);
        found
            .map(|(_, array)| array)
            .ok_or_else(|| Error::missing(&self.path, format!("array named `{name}`")))
    }

    /// The names of the arrays.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.arrays.iter().map(|(name, _)| name.as_str())
    }

    fn indices(&self, name: &str) -> Result<Vec<i64>> {
        let values = &self.array(name)?.values;
        values.to_i64().filter(|_| !matches!(values, Values::F32(_) | Values::F64(_))).ok_or_else(|| {
            let detail = format!("expected `{name}` to hold integers, got {}", values.type_name());
            Error::malformed(&self.path, Place::Whole, detail)
        })
    }
}

/// Reads a `.npz` archive.
///
/// # Errors
/// [`Error::Malformed`] for a damaged archive, [`Error::TooManyBytes`] for one that unpacks to an absurd size,
/// and the errors of [`read_npy`](crate::read_npy).
pub fn read_npz(path: &Path) -> Result<Archive> {
    decode_npz(path, &read_file(path)?)
}

/// Reads an archive held in memory; `path` is for messages.
///
/// # Errors
/// As [`read_npz`].
pub fn decode_npz(path: &Path, bytes: &[u8]) -> Result<Archive> {
    let mut arrays = Vec::new();
    let mut n_bytes = 0_usize;
    for (name, content) in zip::unpack(path, bytes)? {
        if let Some(key) = name.strip_suffix(".npy") {
            n_bytes = n_bytes.saturating_add(content.len());
            arrays.push((key.to_owned(), decode_npy(&path.join(&name), &content)?));
        }
    }
    Ok(Archive { path: path.to_path_buf(), arrays, n_bytes })
}

/// Writes arrays of one type under their names, each with its shape and its values in C order.
///
/// # Errors
/// [`Error::Library`] when values do not fill their shape, [`Error::Encode`] above 4 GiB, and the errors of
/// [`write_whole`].
pub fn write_npz<T: Element>(
    path: &Path,
    arrays: &[(&str, &[usize], &[T])],
    overwrite: Overwrite,
) -> Result<()> {
    let mut members = Vec::new();
    for &(name, shape, values) in arrays {
        let expected = shape.iter().fold(1_usize, |n, &d| n.saturating_mul(d));
        if expected != values.len() {
            let (what, got) = ("an array of the archive", values.len());
            return Err(Error::library(path, ccbcut::Error::ShapeMismatch { what, expected, got }));
        }
        members.push((format!("{name}.npy"), encode_npy(shape, values)));
    }
    let members: Vec<(&str, Vec<u8>)> = members.iter().map(|(n, c)| (n.as_str(), c.clone())).collect();
    write_whole(path, &pack(path, &members)?, overwrite)
}

pub(crate) fn pack(path: &Path, members: &[(&str, Vec<u8>)]) -> Result<Vec<u8>> {
    zip::pack(members).ok_or_else(|| Error::Encode {
        path: path.to_path_buf(),
        format: "a NumPy archive",
        detail: "an array is above 4 GiB; use .mtx instead".to_owned(),
    })
}

/// The graph of a SciPy sparse matrix: compressed rows (`csr`), compressed columns (`csc`) or triplets (`coo`).
pub(crate) fn decode_sparse(path: &Path, bytes: &[u8], how: Option<Symmetrize>) -> Result<Graph> {
    let archive = decode_npz(path, bytes)?;
    let format = match &archive.array("format")?.values {
        Values::Text(text) => text.first().cloned().unwrap_or_default(),
        other => other.type_name().to_owned(),
    };
    let shape = archive.indices("shape")?;
    let n = square(path, &shape)?;
    check_vertices(path, n, archive.n_bytes)?;
    let data = &archive.array("data")?.values;
    let weights = data
        .to_f64()
        .ok_or_else(|| Error::malformed(path, Place::Whole, "expected `data` to hold numbers, got text"))?;
    match format.as_str() {
        "csr" => {
            let (offsets, columns) = compressed(&archive, n)?;
            from_rows(path, &offsets, &columns, &weights, how)
        }
        "csc" => {
            let (offsets, rows) = compressed(&archive, n)?;
            let columns = expand(path, &offsets, rows.len())?;
            from_triplets(path, n, &rows, &columns, &weights, how)
        }
        "coo" => {
            let rows = vertices(&archive, "row", n)?;
            let columns = vertices(&archive, "col", n)?;
            from_triplets(path, n, &rows, &columns, &weights, how)
        }
        other => {
            let found = format!("a sparse matrix in format `{other}`");
            Err(Error::unsupported(path, "a graph", found, "in format `csr`, `csc` or `coo`"))
        }
    }
}

fn square(path: &Path, shape: &[i64]) -> Result<usize> {
    let sizes: Vec<usize> = shape.iter().map(|&d| usize::try_from(d).unwrap_or(usize::MAX)).collect();
    match sizes[..] {
        [rows, columns] if rows == columns => Ok(rows),
        _ => Err(Error::shape(path, "a square matrix", &sizes)),
    }
}

fn compressed(archive: &Archive, n: usize) -> Result<(Vec<usize>, Vec<u32>)> {
    let offsets = archive.indices("indptr")?;
    let offsets: Vec<usize> = offsets.iter().map(|&o| usize::try_from(o).unwrap_or(usize::MAX)).collect();
    if offsets.len() != n + 1 {
        let (what, got) = ("`indptr`", offsets.len());
        let source = ccbcut::Error::ShapeMismatch { what, expected: n + 1, got };
        return Err(Error::library(&archive.path, source));
    }
    Ok((offsets, vertices(archive, "indices", n)?))
}

fn vertices(archive: &Archive, name: &'static str, n: usize) -> Result<Vec<u32>> {
    let check = |&v: &i64| match u32::try_from(v) {
        Ok(index) if (index as usize) < n => Ok(index),
        _ => {
            let detail =
                format!("expected `{name}` to hold numbers from 0 to {}, got {v}", n.saturating_sub(1));
            Err(Error::malformed(&archive.path, Place::Whole, detail))
        }
    };
    archive.indices(name)?.iter().map(check).collect()
}

/// The index each entry of a compressed matrix belongs to.
fn expand(path: &Path, offsets: &[usize], n_entries: usize) -> Result<Vec<u32>> {
    let mut expanded = Vec::with_capacity(n_entries);
    for (index, pair) in offsets.windows(2).enumerate() {
        if pair[1] < pair[0] {
            return Err(Error::library(path, ccbcut::Error::OffsetsDecrease { row: index + 1 }));
        }
        if pair[1] > n_entries {
            let detail = format!("expected `indptr` to end at {n_entries}, got {}", pair[1]);
            return Err(Error::malformed(path, Place::Whole, detail));
        }
        expanded.extend(std::iter::repeat_n(index as u32, pair[1] - pair[0]));
    }
    Ok(expanded)
}

/// A graph as SciPy's `save_npz` writes a CSR matrix: 32-bit indices where they suffice, 64-bit weights.
pub(crate) fn encode_sparse(path: &Path, graph: &Graph) -> Result<Vec<u8>> {
    let (offsets, columns, weights) = graph.to_csr();
    let n = graph.n_vertices() as i64;
    let mut members = Vec::new();
    let small = i32::try_from(n.max(columns.len() as i64)).is_ok();
    if small {
        let narrow: Vec<i32> = columns.iter().map(|&c| c as i32).collect();
        let ends: Vec<i32> = offsets.iter().map(|&o| o as i32).collect();
        members.push(("indices.npy", encode_npy(&[narrow.len()], &narrow)));
        members.push(("indptr.npy", encode_npy(&[ends.len()], &ends)));
    } else {
        let wide: Vec<i64> = columns.iter().map(|&c| i64::from(c)).collect();
        let ends: Vec<i64> = offsets.iter().map(|&o| o as i64).collect();
        members.push(("indices.npy", encode_npy(&[wide.len()], &wide)));
        members.push(("indptr.npy", encode_npy(&[ends.len()], &ends)));
    }
    members.push(("format.npy", encode_npy_text("csr")));
    members.push(("shape.npy", encode_npy(&[2], &[n, n])));
    members.push(("data.npy", encode_npy(&[weights.len()], &weights)));
    pack(path, &members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_survives_a_round_trip() {
        let graph = Graph::from_edges(4, &[(0, 1, 0.1), (2, 1, 1e-9), (3, 3, 2.0)]).unwrap();
        let path = Path::new("g.npz");
        let bytes = encode_sparse(path, &graph).unwrap();
        let back = decode_sparse(path, &bytes, None).unwrap();
        assert_eq!(back.to_csr(), graph.to_csr());
    }

    #[test]
    fn shapes_keys_and_formats_are_checked() {
        let path = Path::new("g.npz");
        let archive = |format: &str, shape: [i64; 2]| {
            let members = [
                ("format.npy", encode_npy_text(format)),
                ("shape.npy", encode_npy(&[2], &shape)),
                ("data.npy", encode_npy(&[2], &[1_i32, 1])),
                ("row.npy", encode_npy(&[2], &[0_i64, 1])),
                ("col.npy", encode_npy(&[2], &[1_i64, 0])),
            ];
            decode_sparse(path, &zip::pack(&members).unwrap(), None)
        };
        assert_eq!(archive("coo", [2, 2]).unwrap().n_edges(), 1);
        assert!(matches!(archive("coo", [2, 3]), Err(Error::Shape { .. })));
        assert!(matches!(archive("coo", [1, 1]), Err(Error::Malformed { .. })));
        assert!(archive("coo", [1 << 40, 1 << 40]).is_err());
        assert!(matches!(archive("dia", [2, 2]), Err(Error::Unsupported { .. })));
        assert!(archive("csr", [2, 2]).unwrap_err().to_string().contains("no array named `indptr`"));
    }
}
