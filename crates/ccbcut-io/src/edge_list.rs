//! Edge lists (`.csv`, `.tsv`, `.txt`, `.edges`): one edge `i j [weight]` per line.
//!
//! Vertices are numbered from 0; the weight is 1 when absent. Fields are separated by blanks, tabs, commas or
//! semicolons; `#` starts a comment; a first line that does not start with a number is a header and is skipped.
//! Each edge is listed once: an edge that comes again, in either direction, adds to its weight.

use std::path::Path;

use ccbcut::Graph;

use crate::{
    bytes::text,
    error::{Error, Place, Result},
    graphs::check_vertices,
};

/// Reads an edge list held in memory.
pub(crate) fn decode(path: &Path, bytes: &[u8]) -> Result<Graph> {
    let mut edges = Vec::new();
    let mut may_be_header = true;
    for (number, line) in text(path, bytes)?.lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default();
        let fields: Vec<&str> =
            content.split([',', ';', '\t', ' ', '\r']).map(str::trim).filter(|f| !f.is_empty()).collect();
        if fields.is_empty() {
            continue;
        }
        let is_header = may_be_header && fields[0].parse::<f64>().is_err();
        may_be_header = false;
        if is_header {
            continue;
        }
        let edge =
            parse(&fields).map_err(|detail| Error::malformed(path, Place::Line(number + 1), detail))?;
        edges.push(edge);
    }
    if edges.is_empty() {
        return Err(Error::missing(path, "edge"));
    }
    let n = 1 + edges.iter().map(|&(i, j, _)| i.max(j) as usize).max().unwrap_or(0);
    check_vertices(path, n, bytes.len())?;
    Graph::from_edges(n, &edges).map_err(|e| Error::library(path, e))
}

fn parse(fields: &[&str]) -> std::result::Result<(u32, u32, f64), String> {
    let vertex = |field: &str| {
        field.parse::<u32>().map_err(|_| format!("expected a vertex number, counted from 0, got `{field}`"))
    };
    let (ends, weight) = match *fields {
        [i, j] => ([i, j], 1.0),
        [i, j, w] => ([i, j], w.parse().map_err(|_| format!("expected a weight, got `{w}`"))?),
        _ => return Err(format!("expected `i j` or `i j weight`, got {} fields", fields.len())),
    };
    Ok((vertex(ends[0])?, vertex(ends[1])?, weight))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> Result<Graph> {
        decode(Path::new("g.csv"), content.as_bytes())
    }

    #[test]
    fn separators_headers_and_comments() {
        let files = [
            "0 1 2.0\n1 2\n",
            "source,target,weight\n0,1,2\n1,2,1\n",
            "# made by hand\n\n0\t1\t2\r\n1\t2\t1 # last\r\n",
            "i;j;w\n0; 1; 2e0\n2; 1\n",
        ];
        for file in files {
            let graph = read(file).unwrap();
            assert_eq!((graph.n_vertices(), graph.degrees()), (3, &[2.0, 3.0, 1.0][..]), "{file}");
        }
    }

    #[test]
    fn mistakes_are_located() {
        let cases = [
            ("0 1\n1 x\n", "line 2: expected a vertex number"),
            ("0 1\n-1 2\n", "line 2: expected a vertex number"),
            ("0 1 1 1\n", "line 1: expected `i j`"),
            ("a b\nc d\n", "line 2"),
            ("0 1 heavy\n", "expected a weight, got `heavy`"),
            ("0 4000000000\n", "4000000001 vertices"),
            ("# nothing\n", "no edge"),
        ];
        for (file, message) in cases {
            let error = read(file).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        assert!(matches!(read("0 1 -1\n"), Err(Error::Library { .. })));
    }
}
