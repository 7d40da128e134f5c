//! Edge lists (`.csv`, `.tsv`, `.txt`, `.edges`): one edge `i j [weight]` per line.
//!
//! Vertices are numbered from 0, or named. The first edge decides: where its ends are whole numbers, all are; else every
//! end is a name, and vertices are numbered in the order in which their names first appear. The weight is 1 when absent.
//! Fields are separated by tabs, semicolons, commas or blanks; `#` starts a comment. The first line is a header when
//! its third field is not a number; with two fields, when they are words such as `source target`, or when neither is a
//! number and both are in the line below.
//!
//! Each edge is listed once: an edge that comes again, in either direction, adds to its weight. Two directions with
//! different weights mean a directed graph, which is refused unless the caller says how to join them.

use std::{borrow::Cow, collections::HashMap, path::Path};

use ccbcut::Graph;

use crate::{
    bytes::text,
    error::{Error, Place, Result},
    fields::{fields, lines},
    graphs::{GraphFile, GraphOptions, check_vertices},
};

/// Words above the two columns of a list without weights.
const HEADERS: [[&str; 2]; 10] = [
    ["source", "target"],
    ["from", "to"],
    ["i", "j"],
    ["u", "v"],
    ["src", "dst"],
    ["node1", "node2"],
    ["vertex1", "vertex2"],
    ["head", "tail"],
    ["row", "col"],
    ["a", "b"],
];

/// Reads an edge list held in memory.
pub(crate) fn decode(path: &Path, bytes: &[u8], options: GraphOptions) -> Result<GraphFile> {
    let fault = |line: usize, detail: String| Error::malformed(path, Place::Line(line), detail);
    let split = |(line, content)| fields(content).map(|f| (line, f)).map_err(|detail| fault(line, detail));
    let mut rows = lines(text(path, bytes)?).map(split);
    let first = rows.next().transpose()?;
    let second = rows.next().transpose()?;
    let is_header = first.as_ref().is_some_and(|(_, f)| is_header(f, second.as_ref().map(|(_, f)| &f[..])));
    let start = first.into_iter().filter(|_| !is_header).chain(second);
    let mut ends: Option<Ends> = options.names.then(Ends::names);
    let mut edges = Vec::new();
    for row in start.map(Ok).chain(rows) {
        let (line, row) = row?;
        let (i, j, weight) = edge(&row).map_err(|detail| fault(line, detail))?;
        let ends = ends.get_or_insert_with(|| {
            if is_number(i) && is_number(j) { Ends::Numbers { line } } else { Ends::names() }
        });
        let number = |ends: &mut Ends, name: &str| ends.number(name).map_err(|detail| fault(line, detail));
        edges.push((number(ends, i)?, number(ends, j)?, weight));
    }
    if edges.is_empty() {
        return Err(Error::missing(path, "edge"));
    }
    let names = ends.and_then(Ends::into_names);
    let highest = edges.iter().map(|&(i, j, _)| i.max(j) as usize).max().unwrap_or(0);
    check_vertices(path, highest + 1, bytes.len())?;
    let graph = Graph::from_directed(highest + 1, &edges, options.symmetrize);
    let graph = graph.map_err(|e| directed(path, names.as_deref(), e))?;
    Ok(GraphFile { graph, names, vertex_weights: None })
}

/// The library's error, with the names of a directed pair where there are names.
fn directed(path: &Path, names: Option<&[String]>, error: ccbcut::Error) -> Error {
    match (names, error) {
        (Some(names), ccbcut::Error::Asymmetric { row, col, weight, transposed }) => {
            let (from, to) = (&names[row], &names[col]);
            Error::Directed {
                path: path.to_path_buf(),
                from: from.clone(),
                to: to.clone(),
                weight,
                transposed,
            }
        }
        (_, error) => Error::library(path, error),
    }
}

fn is_number(field: &str) -> bool {
    field.parse::<u64>().is_ok()
}

fn is_header(first: &[Cow<'_, str>], second: Option<&[Cow<'_, str>]>) -> bool {
    match first {
        [_, _, weight, ..] => weight.parse::<f64>().is_err(),
        [i, j] if is_number(i) || is_number(j) => false,
        [i, j] => {
            let words = [i.to_lowercase(), j.to_lowercase()];
            HEADERS.iter().any(|known| *known == words)
                || matches!(second, Some([i, j, ..]) if is_number(i) && is_number(j))
        }
        _ => false,
    }
}

/// How the ends of edges become vertices.
enum Ends {
    /// They are numbers from 0, as on this line.
    Numbers { line: usize },
    /// They are names: the number of each, and all in order.
    Names { numbers: HashMap<String, u32>, names: Vec<String> },
}

impl Ends {
    fn names() -> Self {
        Self::Names { numbers: HashMap::new(), names: Vec::new() }
    }

    fn number(&mut self, end: &str) -> std::result::Result<u32, String> {
        match self {
            Self::Numbers { line } => end.parse().map_err(|_| {
                format!(
                    "expected a vertex number from 0 to 4294967294, as on line {line}, got `{end}`; vertices can \
                     also be names, but then all are (--names)"
                )
            }),
            Self::Names { .. } if end.is_empty() => Err("expected the name of a vertex, got nothing".into()),
            Self::Names { numbers, names } => {
                if let Some(&number) = numbers.get(end) {
                    return Ok(number);
                }
                let number = names.len() as u32;
                numbers.insert(end.to_owned(), number);
                names.push(end.to_owned());
                Ok(number)
            }
        }
    }

    fn into_names(self) -> Option<Vec<String>> {
        match self {
            Self::Numbers { .. } => None,
            Self::Names { names, .. } => Some(names),
        }
    }
}

fn edge<'a>(row: &'a [Cow<'_, str>]) -> std::result::Result<(&'a str, &'a str, f64), String> {
    let (i, j, weight): (_, _, f64) = match row {
        [i, j] => (i, j, 1.0),
        [i, j, w] => (i, j, w.parse().map_err(|_| format!("expected a weight, got `{w}`"))?),
        _ => return Err(format!("expected `i j` or `i j weight`, got {} fields", row.len())),
    };
    if !(weight.is_finite() && weight >= 0.0) {
        return Err(format!("expected a weight that is finite and not negative, got {weight}"));
    }
    Ok((i, j, weight))
}

#[cfg(test)]
mod tests {
    use ccbcut::graph::Symmetrize;

    use super::*;

    fn read_with(content: &str, options: GraphOptions) -> Result<GraphFile> {
        decode(Path::new("g.csv"), content.as_bytes(), options)
    }

    fn read(content: &str) -> Result<GraphFile> {
        read_with(content, GraphOptions::default())
    }

    #[test]
    fn separators_headers_and_comments() {
        let files = [
            "0 1 2.0\n1 2\n",
            "source,target,weight\n0,1,2\n1,2,1\n",
            "# made by hand\n\n0\t1\t2\r\n1\t2\t1 # last\r\n",
            "i;j;w\n0; 1; 2e0\n2; 1\n",
            "my first,my second\n0,1,2\n1,2\n",
        ];
        for file in files {
            let read = read(file).unwrap();
            assert_eq!((read.graph.n_vertices(), read.graph.degrees()), (3, &[2.0, 3.0, 1.0][..]), "{file}");
            assert_eq!(read.names, None);
        }
    }

    #[test]
    fn names_are_kept_in_the_order_they_appear_in() {
        let files = [
            "Bern,New York,2\n\"New York\",\"Rio, de J.\"\n",
            "Source;Target\nBern;New York;2\nNew York;\"Rio, de J.\"\n",
            "from\tto\tweight\nBern\tNew York\t2\nNew York\tRio, de J.\n",
        ];
        for file in files {
            let read = read(file).unwrap();
            assert_eq!(read.names.unwrap(), ["Bern", "New York", "Rio, de J."], "{file}");
            assert_eq!(read.graph.degrees(), &[2.0, 3.0, 1.0]);
        }
        // Once there is a name, numbers are names too; and so they are when the caller says so.
        assert_eq!(read("x 7\n7 0\n").unwrap().names.unwrap(), ["x", "7", "0"]);
        let options = GraphOptions { names: true, ..GraphOptions::default() };
        assert_eq!(read_with("90 1234567890123\n", options).unwrap().names.unwrap(), ["90", "1234567890123"]);
    }

    #[test]
    fn mistakes_are_located() {
        let cases = [
            ("0 1\n1 x\n", "line 2: expected a vertex number from 0 to 4294967294, as on line 1, got `x`"),
            ("0 1\n-1 2\n", "line 2: expected a vertex number"),
            ("0 1\n1 1234567890123\n", "(--names)"),
            ("0 1 1 1\n", "line 1: expected `i j`"),
            ("a,,1\n", "line 1: expected the name of a vertex, got nothing"),
            ("a\n", "line 1: expected `i j`"),
            ("0 1\n0 1 heavy\n", "line 2: expected a weight, got `heavy`"),
            ("0 1 1\n0 1 -1\n", "line 2: expected a weight that is finite and not negative, got -1"),
            ("a b nan\n", "line 1: expected a weight that is finite"),
            ("a,\"b\n", "line 1: expected a closing quote"),
            ("0 4000000000\n", "4000000001 vertices"),
            ("# nothing\n", "no edge"),
            ("source,target\n", "no edge"),
        ];
        for (file, message) in cases {
            let error = read(file).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn directed_lists_need_to_be_told_how() {
        let file = "a b 1\nb a 3\nb c 1\nb c 1\n";
        let error = read(file).unwrap_err();
        assert!(error.to_string().contains("`a` to `b` is 1, but from `b` to `a` 3"), "{error}");
        let options = GraphOptions { symmetrize: Some(Symmetrize::Mean), ..GraphOptions::default() };
        assert_eq!(read_with(file, options).unwrap().graph.degrees(), &[2.0, 3.0, 1.0]);
        let numbers = read("0 1 1\n1 0 3\n").unwrap_err();
        assert!(matches!(numbers, Error::Library { source: ccbcut::Error::Asymmetric { .. }, .. }));
    }
}
