//! One value per vertex, by number or by name: vertex weights, and labels of graphs with names.

use std::{borrow::Cow, collections::HashMap, path::Path};

use ccbcut::Labels;

use crate::{
    bytes::{extension, read_file, text},
    error::{Error, Place, Result},
    fields::{fields, lines, numbered},
    label_vectors::read_labels_vector,
    metis, npy,
};

/// What is read as vertex weights, for messages.
const READ: &str = ".npy, .csv, .tsv, .txt or .graph";

/// Reads one weight per vertex of a graph of `n` vertices.
///
/// `.npy` holds an array of `n` numbers, a METIS `.graph` its vertex weights. Text holds one number per line, or two
/// fields, `vertex,weight`, in any order, where vertices are numbers from 0, or names if the graph has names.
///
/// # Errors
/// [`Error::Malformed`] for vertices that are unknown, missing or there twice and for weights that are not positive;
/// [`Error::Missing`] for a METIS file without vertex weights; [`Error::Shape`] or [`Error::Library`] for arrays that do
/// not fit.
pub fn read_vertex_weights(path: &Path, n: usize, names: Option<&[String]>) -> Result<Vec<f64>> {
    let ending = extension(path);
    if !["npy", "csv", "tsv", "txt", "graph"].contains(&ending.as_str()) {
        return Err(Error::extension(path, "a list of vertex weights", READ));
    }
    let bytes = read_file(path)?;
    let weights = match ending.as_str() {
        "npy" => {
            let array = npy::decode_npy(path, &bytes)?;
            if array.shape.len() != 1 {
                return Err(Error::shape(path, "one dimension", &array.shape));
            }
            let wrong = || Error::malformed(path, Place::Whole, "expected numbers, got text");
            array.values.to_f64().ok_or_else(wrong)?
        }
        "graph" => {
            let weights = metis::decode(path, &bytes)?.vertex_weights;
            weights.ok_or_else(|| Error::missing(path, "vertex weight (its fmt says there are none)"))?
        }
        _ => by_vertex(path, &bytes, n, names, "weight", weight)?,
    };
    if weights.len() != n {
        let (what, got) = ("the list of vertex weights", weights.len());
        return Err(Error::library(path, ccbcut::Error::ShapeMismatch { what, expected: n, got }));
    }
    match weights.iter().position(|w| !(w.is_finite() && *w > 0.0)) {
        Some(vertex) => {
            let source = ccbcut::Error::InvalidBalance { vertex, weight: weights[vertex] };
            Err(Error::library(path, source))
        }
        None => Ok(weights),
    }
}

fn weight(field: &str) -> std::result::Result<f64, String> {
    let value = field.parse::<f64>().ok().filter(|w| w.is_finite() && *w > 0.0);
    value.ok_or_else(|| format!("expected a weight above 0, got `{field}`"))
}

/// Reads one label per vertex of a graph with names: text with `name,label` in any order, or whatever
/// [`read_labels_vector`] reads, in the order of the vertices.
///
/// # Errors
/// [`Error::Malformed`] for names that are unknown, missing or there twice; those of
/// [`read_labels_vector`].
pub fn read_named_labels(path: &Path, names: &[String]) -> Result<Labels> {
    if !["csv", "tsv", "txt"].contains(&extension(path).as_str()) {
        return read_labels_vector(path);
    }
    let label = |field: &str| {
        field.parse::<u32>().map_err(|_| format!("expected a label, a number from 0, got `{field}`"))
    };
    let raw = by_vertex(path, &read_file(path)?, names.len(), Some(names), "label", label)?;
    Ok(Labels::from_raw(&raw))
}

/// Reads pairs of vertices of a graph of `n` vertices, one per line: numbers from 0, or names if the graph has names.
///
/// # Errors
/// [`Error::Unsupported`] for another ending, [`Error::Malformed`] for lines that are no pair and for unknown vertices.
pub fn read_vertex_pairs(path: &Path, n: usize, names: Option<&[String]>) -> Result<Vec<(u32, u32)>> {
    let vertices = Vertices::new(path, n, names)?;
    let of_row = |row: &[Cow<'_, str>]| Ok((vertices.find(&row[0])?, vertices.find(&row[1])?));
    two_fields(path, "two vertices", names.is_none(), of_row)
}

/// Reads names of some vertices, `vertex,name` per line; equal names come out as equal numbers, by first appearance.
///
/// # Errors
/// As [`read_vertex_pairs`].
pub fn read_seeds(path: &Path, n: usize, names: Option<&[String]>) -> Result<Vec<(u32, u32)>> {
    let vertices = Vertices::new(path, n, names)?;
    let of_row = |row: &[Cow<'_, str>]| Ok((vertices.find(&row[0])?, row[1].to_string()));
    let rows: Vec<(u32, String)> =
        two_fields(path, "a vertex and the name of its seed", names.is_none(), of_row)?;
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let number = |(vertex, name): (u32, String)| {
        let next = numbers.len() as u32;
        (vertex, *numbers.entry(name).or_insert(next))
    };
    Ok(rows.into_iter().map(number).collect())
}

/// The vertices of a graph, to be looked up.
struct Vertices<'a> {
    n: usize,
    names: Option<&'a [String]>,
    numbers: Option<HashMap<&'a str, u32>>,
}

impl<'a> Vertices<'a> {
    fn new(path: &Path, n: usize, names: Option<&'a [String]>) -> Result<Self> {
        let twice = |name: &str| {
            Error::malformed(path, Place::Whole, format!("two vertices of the graph are named `{name}`"))
        };
        Ok(Self { n, names, numbers: names.map(numbered).transpose().map_err(twice)? })
    }

    fn find(&self, field: &str) -> std::result::Result<u32, String> {
        match &self.numbers {
            Some(numbers) => numbers.get(field).copied().ok_or_else(|| unknown(field, self.names)),
            None => field.parse::<u32>().ok().filter(|&v| (v as usize) < self.n).ok_or_else(|| {
                format!("expected a vertex from 0 to {}, got `{field}`", self.n.saturating_sub(1))
            }),
        }
    }
}

/// The rows of a text of two fields per line; where vertices are numbers, a first line that does not begin with one is a header.
fn two_fields<T>(
    path: &Path,
    what: &str,
    are_numbers: bool,
    of_row: impl Fn(&[Cow<'_, str>]) -> std::result::Result<T, String>,
) -> Result<Vec<T>> {
    if !["csv", "tsv", "txt"].contains(&extension(path).as_str()) {
        return Err(Error::extension(path, "a list of constraints", ".csv, .tsv or .txt"));
    }
    let bytes = read_file(path)?;
    let mut found = Vec::new();
    for (at, (line, content)) in lines(text(path, &bytes)?).enumerate() {
        let fault = |detail: String| Error::malformed(path, Place::Line(line), detail);
        let row = fields(content).map_err(fault)?;
        if row.len() != 2 {
            return Err(fault(format!("expected {what}, got {} fields", row.len())));
        }
        if at == 0 && are_numbers && row[0].parse::<f64>().is_err() {
            continue;
        }
        found.push(of_row(&row).map_err(fault)?);
    }
    Ok(found)
}

/// The values of a text with one line per vertex; `parse` reads one.
fn by_vertex<T: Clone>(
    path: &Path,
    bytes: &[u8],
    n: usize,
    names: Option<&[String]>,
    what: &str,
    parse: impl Fn(&str) -> std::result::Result<T, String>,
) -> Result<Vec<T>> {
    let twice = |name: &str| {
        Error::malformed(path, Place::Whole, format!("two vertices of the graph are named `{name}`"))
    };
    let numbers = names.map(numbered).transpose().map_err(twice)?;
    let vertex_of = |field: &str| match &numbers {
        Some(numbers) => numbers.get(field).map(|&v| v as usize).ok_or_else(|| unknown(field, names)),
        None => field
            .parse::<usize>()
            .ok()
            .filter(|&v| v < n)
            .ok_or_else(|| format!("expected a vertex from 0 to {}, got `{field}`", n.saturating_sub(1))),
    };
    let mut found: Vec<Option<T>> = vec![None; n];
    let mut width = None;
    let mut next = 0;
    for (at, (line, content)) in lines(text(path, bytes)?).enumerate() {
        let fault = |detail: String| Error::malformed(path, Place::Line(line), detail);
        let row = fields(content).map_err(fault)?;
        if at == 0 && row.last().is_some_and(|field| field.parse::<f64>().is_err()) {
            continue;
        }
        if row.len() > 2 || *width.get_or_insert(row.len()) != row.len() {
            return Err(fault(format!("expected `{what}` or `vertex,{what}`, got {} fields", row.len())));
        }
        let vertex = if row.len() == 2 { vertex_of(&row[0]).map_err(fault)? } else { next };
        next += 1;
        let value = row.last().map_or("", |field| field);
        match found.get_mut(vertex) {
            None => return Err(fault(format!("expected a {what} for each of {n} vertices, got more"))),
            Some(Some(_)) => return Err(fault(format!("vertex `{}` has a {what} already", row[0]))),
            Some(slot) => *slot = Some(parse(value).map_err(fault)?),
        }
    }
    if let Some(vertex) = found.iter().position(Option::is_none) {
        let name = names.map_or_else(|| vertex.to_string(), |names| names[vertex].clone());
        let detail = format!("expected a {what} for each of {n} vertices, but `{name}` has none");
        return Err(Error::malformed(path, Place::Whole, detail));
    }
    Ok(found.into_iter().flatten().collect())
}

/// The message for a name that no vertex has.
fn unknown(field: &str, names: Option<&[String]>) -> String {
    let known = names.unwrap_or_default();
    let some: Vec<String> = known.iter().take(3).map(|name| format!("`{name}`")).collect();
    let dots = if known.len() > 3 { ", …" } else { "" };
    format!("no vertex is named `{field}`; the graph has {}{dots}", some.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overwrite, encode_named_labels, write_npy};

    fn names() -> Vec<String> {
        ["b", "a, c", "7", "z"].map(str::to_owned).to_vec()
    }

    #[test]
    fn weights_come_by_line_by_number_and_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str, content: &str, names: Option<&[String]>| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            read_vertex_weights(&path, 4, names)
        };
        let expected = [1.0, 2.0, 3.0, 0.5];
        assert_eq!(read("w.txt", "1\n2\n3\n.5\n", None).unwrap(), expected);
        assert_eq!(read("w.txt", "weight\n1\n2\n3\n.5\n", Some(&names())).unwrap(), expected);
        assert_eq!(read("w.csv", "vertex,weight\n3,.5\n0,1\n2,3\n1,2\n", None).unwrap(), expected);
        assert_eq!(read("w.csv", "z,.5\nb,1\n7,3\n\"a, c\",2\n", Some(&names())).unwrap(), expected);
        assert_eq!(read("w.graph", "4 1 10\n1 2\n2 1\n3\n0.5\n", None).unwrap(), expected);
        write_npy(&folder.path().join("w.npy"), &[4], &expected, Overwrite::Refuse).unwrap();
        assert_eq!(read_vertex_weights(&folder.path().join("w.npy"), 4, None).unwrap(), expected);
        for (name, content, message) in [
            ("w.csv", "z,1\ny,1\n", "line 2: no vertex is named `y`; the graph has `b`, `a, c`, `7`, …"),
            ("w.csv", "z,1\nz,1\n", "line 2: vertex `z` has a weight already"),
            ("w.csv", "z,1\n", "`b` has none"),
            ("w.csv", "z,0\n", "line 1: expected a weight above 0, got `0`"),
            ("w.csv", "z,1\n2\n", "line 2: expected `weight` or `vertex,weight`"),
            ("w.txt", "1\n1\n1\n1\n1\n", "line 5: expected a weight for each of 4 vertices, got more"),
            ("w.graph", "4 0\n\n\n\n\n", "no vertex weight"),
        ] {
            let error = read(name, content, Some(&names())).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        assert!(
            read("w.csv", "4,1\n", None).unwrap_err().to_string().contains("a vertex from 0 to 3, got `4`")
        );
        assert!(matches!(read("w.mat", "", None), Err(Error::Unsupported { .. })));
        assert!(matches!(read("w.graph", "2 1 10\n1 2\n1 1\n", None), Err(Error::Library { .. })));
        assert!(matches!(read("w.graph", "4 1 10\n0 2\n2 1\n3\n1\n", None), Err(Error::Library { .. })));
    }

    #[test]
    fn pairs_and_seeds_come_by_number_and_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.csv");
        let write = |content: &str| std::fs::write(&path, content).unwrap();
        write("first,second\n0,3\n2,1\n");
        assert_eq!(read_vertex_pairs(&path, 4, None).unwrap(), [(0, 3), (2, 1)]);
        write("b;z\n");
        assert_eq!(read_vertex_pairs(&path, 4, Some(&names())).unwrap(), [(0, 3)]);
        write("vertex,part\n3,sky\n0,sea\n1,sky\n");
        assert_eq!(read_seeds(&path, 4, None).unwrap(), [(3, 0), (0, 1), (1, 0)]);
        for (content, message) in [
            ("0,4\n", "line 1: expected a vertex from 0 to 3, got `4`"),
            ("0,1\nx,1\n", "line 2: expected a vertex from 0 to 3, got `x`"),
            ("0,1,2\n", "line 1: expected two vertices, got 3 fields"),
        ] {
            write(content);
            let error = read_vertex_pairs(&path, 4, None).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        write("q,b\n");
        let error = read_vertex_pairs(&path, 4, Some(&names())).unwrap_err().to_string();
        assert!(error.contains("no vertex is named `q`"), "{error}");
        assert!(matches!(read_seeds(Path::new("x.npy"), 1, None), Err(Error::Unsupported { .. })));
    }

    #[test]
    fn labels_and_names_survive_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let labels = Labels::from_raw(&[0, 1, 1, 2]);
        for name in ["l.csv", "l.npy"] {
            let path = folder.path().join(name);
            std::fs::write(&path, encode_named_labels(&path, &labels, Some(&names())).unwrap()).unwrap();
            assert_eq!(read_named_labels(&path, &names()).unwrap(), labels);
        }
        let path = folder.path().join("l.csv");
        let mut lines: Vec<String> =
            std::fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
        assert_eq!(lines[2], "\"a, c\",1");
        lines[1..].reverse();
        std::fs::write(&path, lines.join("\n")).unwrap();
        assert_eq!(read_named_labels(&path, &names()).unwrap(), labels, "in any order");
        let archive = encode_named_labels(Path::new("l.npz"), &labels, Some(&names())).unwrap();
        let archive = crate::decode_npz(Path::new("l.npz"), &archive).unwrap();
        assert_eq!(archive.array("names").unwrap().values, crate::Values::Text(names()));
        assert_eq!(archive.array("labels").unwrap().values, crate::Values::I32(vec![0, 1, 1, 2]));
        assert!(encode_named_labels(Path::new("l.csv"), &labels, Some(&names()[..2])).is_err());
        std::fs::write(&path, "b,0\nq,1\n").unwrap();
        assert!(
            read_named_labels(&path, &names()).unwrap_err().to_string().contains("no vertex is named `q`")
        );
    }
}
