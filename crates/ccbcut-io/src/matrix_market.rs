//! Matrix Market (`.mtx`): sparse and dense matrices as text.
//!
//! Read: `matrix coordinate|array real|integer|pattern general|symmetric`. A general matrix must be symmetric in
//! fact; a symmetric one holds its lower triangle only, as the format says. Written: coordinate, real, symmetric,
//! with as many digits as give the same number back.
//!
//! # References
//! R. F. Boisvert, R. Pozo, K. A. Remington, *The Matrix Market Exchange Formats: Initial Design*, NISTIR 5935.

use std::{fmt::Write, path::Path, str::FromStr};

use ccbcut::{Graph, graph::Symmetrize};

use crate::{
    bytes::text,
    error::{Error, Place, Result},
    graphs::{check_vertices, from_triplets},
};

/// What is read, for messages.
const ACCEPTED: &str = "`matrix coordinate|array real|integer|pattern general|symmetric`";

/// The words of the first line.
#[derive(Debug, Clone, Copy)]
struct Banner {
    is_dense: bool,
    is_pattern: bool,
    is_symmetric: bool,
}

/// Reads a matrix held in memory.
pub(crate) fn decode(path: &Path, bytes: &[u8], how: Option<Symmetrize>) -> Result<Graph> {
    let content = text(path, bytes)?;
    let banner = Banner::parse(path, content.lines().next().unwrap_or_default())?;
    let mut lines = Lines { path, rest: content.lines().enumerate(), line: 1 };
    lines.rest.next();
    let sizes =
        lines.next_fields().ok_or_else(|| lines.fault("expected the size of the matrix, got the end"))?;
    let sizes: Vec<usize> = sizes.iter().map(|s| lines.parse(s, "a size")).collect::<Result<_>>()?;
    let n = match (&sizes[..], banner.is_dense) {
        ([rows, columns], true) | ([rows, columns, _], false) if rows == columns => *rows,
        ([rows, columns], true) | ([rows, columns, _], false) => {
            return Err(Error::shape(path, "a square matrix", &[*rows, *columns]));
        }
        (other, is_dense) => {
            let expected = if is_dense { "rows and columns" } else { "rows, columns and entries" };
            return Err(lines.fault(format!("expected {expected}, got {} numbers", other.len())));
        }
    };
    check_vertices(path, n, bytes.len())?;
    let entries = if banner.is_dense {
        read_dense(&mut lines, banner, n, bytes.len())?
    } else {
        read_coordinates(&mut lines, banner, n, sizes[2])?
    };
    if banner.is_symmetric {
        return Graph::from_edges(n, &entries).map_err(|e| Error::library(path, e));
    }
    let rows: Vec<u32> = entries.iter().map(|e| e.0).collect();
    let columns: Vec<u32> = entries.iter().map(|e| e.1).collect();
    let weights: Vec<f64> = entries.iter().map(|e| e.2).collect();
    from_triplets(path, n, &rows, &columns, &weights, how)
}

impl Banner {
    fn parse(path: &Path, line: &str) -> Result<Self> {
        let lower = line.to_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        let ["%%matrixmarket", "matrix", layout, field, symmetry] = words[..] else {
            let detail = format!("expected a first line `%%MatrixMarket` {ACCEPTED}");
            return Err(Error::malformed(path, Place::Line(1), detail));
        };
        let (is_dense, is_pattern) = (layout == "array", field == "pattern");
        let known = matches!(layout, "coordinate" | "array")
            && matches!(field, "real" | "double" | "integer" | "pattern")
            && matches!(symmetry, "general" | "symmetric")
            && !(is_dense && is_pattern);
        if !known {
            let found = format!("a Matrix Market file of `{layout} {field} {symmetry}`");
            return Err(Error::unsupported(path, "a graph", found, ACCEPTED));
        }
        Ok(Self { is_dense, is_pattern, is_symmetric: symmetry == "symmetric" })
    }
}

fn read_coordinates(
    lines: &mut Lines<'_>,
    banner: Banner,
    n: usize,
    n_entries: usize,
) -> Result<Vec<(u32, u32, f64)>> {
    let mut entries = Vec::new();
    while let Some(fields) = lines.next_fields() {
        if entries.len() == n_entries {
            return Err(lines.fault(format!("expected {n_entries} entries, got more")));
        }
        let expected = if banner.is_pattern { 2 } else { 3 };
        if fields.len() != expected {
            return Err(lines.fault(format!("expected {expected} numbers, got {}", fields.len())));
        }
        let (row, column) = (lines.vertex(fields[0], n)?, lines.vertex(fields[1], n)?);
        if banner.is_symmetric && column > row {
            return Err(
                lines.fault("expected the lower triangle of a symmetric matrix, got an entry above it")
            );
        }
        let weight = if banner.is_pattern { 1.0 } else { lines.parse(fields[2], "a weight")? };
        entries.push((row, column, weight));
    }
    if entries.len() != n_entries {
        return Err(lines.fault(format!("expected {n_entries} entries, got {}", entries.len())));
    }
    Ok(entries)
}

/// Column by column; of a symmetric matrix only from the diagonal down.
fn read_dense(
    lines: &mut Lines<'_>,
    banner: Banner,
    n: usize,
    n_bytes: usize,
) -> Result<Vec<(u32, u32, f64)>> {
    let n_values = if banner.is_symmetric { n.saturating_mul(n + 1) / 2 } else { n.saturating_mul(n) };
    if n_values > n_bytes {
        return Err(lines.fault(format!("expected {n_values} values, more than the file can hold")));
    }
    let mut entries = Vec::new();
    for column in 0..n as u32 {
        let first = if banner.is_symmetric { column } else { 0 };
        for row in first..n as u32 {
            let fields = lines.next_fields();
            let fields =
                fields.ok_or_else(|| lines.fault(format!("expected {n_values} values, got fewer")))?;
            let [value] = fields[..] else {
                return Err(lines.fault(format!("expected one value, got {}", fields.len())));
            };
            let weight: f64 = lines.parse(value, "a weight")?;
            if weight != 0.0 {
                entries.push((row, column, weight));
            }
        }
    }
    if lines.next_fields().is_some() {
        return Err(lines.fault(format!("expected {n_values} values, got more")));
    }
    Ok(entries)
}

/// The lines that are neither comments nor blank, with their numbers.
struct Lines<'a> {
    path: &'a Path,
    rest: std::iter::Enumerate<std::str::Lines<'a>>,
    line: usize,
}

impl<'a> Lines<'a> {
    fn next_fields(&mut self) -> Option<Vec<&'a str>> {
        for (number, line) in self.rest.by_ref() {
            self.line = number + 1;
            if !line.starts_with('%') && !line.trim().is_empty() {
                return Some(line.split_whitespace().collect());
            }
        }
        None
    }

    fn parse<T: FromStr>(&self, field: &str, what: &str) -> Result<T> {
        field.parse().map_err(|_| self.fault(format!("expected {what}, got `{field}`")))
    }

    fn vertex(&self, field: &str, n: usize) -> Result<u32> {
        let index: usize = self.parse(field, "an index")?;
        if index == 0 || index > n {
            return Err(self.fault(format!("expected an index from 1 to {n}, got {index}")));
        }
        Ok((index - 1) as u32)
    }

    fn fault(&self, detail: impl Into<String>) -> Error {
        Error::malformed(self.path, Place::Line(self.line), detail)
    }
}

/// The lower triangle of a graph's matrix, row by row.
pub(crate) fn encode(graph: &Graph) -> Vec<u8> {
    let (offsets, columns, weights) = graph.to_csr();
    let n = graph.n_vertices();
    let mut body = String::new();
    let mut n_entries = 0;
    for row in 0..n {
        for p in offsets[row]..offsets[row + 1] {
            let column = columns[p] as usize;
            if column <= row {
                n_entries += 1;
                // Writing to a string cannot fail. `{:e}` gives the shortest digits that read back equal.
                let _ = writeln!(body, "{} {} {:e}", row + 1, column + 1, weights[p]);
            }
        }
    }
    format!("%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {n_entries}\n{body}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> Result<Graph> {
        decode(Path::new("g.mtx"), content.as_bytes(), None)
    }

    #[test]
    fn a_graph_survives_a_round_trip() {
        let edges = [(0, 1, 0.1), (1, 2, 1.0 / 3.0), (2, 2, 5.0), (0, 3, 1e-300)];
        let graph = Graph::from_edges(5, &edges).unwrap();
        let back = decode(Path::new("g.mtx"), &encode(&graph), None).unwrap();
        assert_eq!(back.to_csr(), graph.to_csr());
    }

    #[test]
    fn every_layout_gives_the_same_graph() {
        let files = [
            "%%MatrixMarket matrix coordinate real general\n% note\n2 2 2\n1 2 1.0\n2 1 1\n",
            "%%MatrixMarket matrix coordinate integer symmetric\n\n2 2 1\n2 1 1",
            "%%matrixmarket MATRIX coordinate pattern symmetric\n2 2 1\n2 1\n",
            "%%MatrixMarket matrix array real general\n2 2\n0\n1\n1\n0\n",
            "%%MatrixMarket matrix array real symmetric\r\n2 2\r\n0\r\n1\r\n0\r\n",
        ];
        for file in files {
            assert_eq!(read(file).unwrap().to_csr(), (vec![0, 1, 2], vec![1, 0], vec![1.0, 1.0]), "{file}");
        }
    }

    #[test]
    fn mistakes_are_located() {
        let head = "%%MatrixMarket matrix coordinate real general\n";
        let cases = [
            ("2 2 2\n1 2 x\n", "line 3: expected a weight, got `x`"),
            ("2 2 2\n1 3 1\n", "line 3: expected an index from 1 to 2, got 3"),
            ("2 2 2\n1 2 1\n", "expected 2 entries, got 1"),
            ("2 2 1\n1 2 1\n2 1 1\n", "line 4: expected 1 entries, got more"),
            ("2 3 0\n", "a square matrix was expected"),
            ("2 2\n", "expected rows, columns and entries, got 2 numbers"),
            ("4000000000 4000000000 0\n", "4000000000 vertices"),
        ];
        for (body, message) in cases {
            let error = read(&format!("{head}{body}")).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        let error = read(&format!("{head}2 2 1\n1 2 1\n")).unwrap_err();
        assert!(matches!(error, Error::Library { source: ccbcut::Error::Asymmetric { .. }, .. }));
        assert!(matches!(
            read("%%MatrixMarket matrix coordinate complex general\n"),
            Err(Error::Unsupported { .. })
        ));
        assert!(matches!(read("hello"), Err(Error::Malformed { place: Place::Line(1), .. })));
        let upper = "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 1\n";
        assert!(read(upper).unwrap_err().to_string().contains("lower triangle"));
    }
}
