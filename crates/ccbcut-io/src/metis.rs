//! METIS graphs (`.graph`): one line per vertex, its neighbours counted from 1, every edge in both lines.
//!
//! The first line is `vertices edges [fmt [ncon]]`. The three digits of `fmt` say whether a line starts with a vertex
//! size, whether it goes on with `ncon` vertex weights, and whether each neighbour is followed by an edge weight. `%`
//! starts a comment line; an empty line is a vertex without neighbours.
//!
//! # References
//! G. Karypis, *METIS: a software package for partitioning unstructured graphs*, manual of version 5.1, section 4.1.

use std::{path::Path, str::FromStr};

use ccbcut::Graph;

use crate::{
    bytes::text,
    error::{Error, Place, Result},
    graphs::{GraphFile, check_vertices},
};

/// What is read, for messages.
const ACCEPTED: &str = "`vertices edges [fmt [ncon]]` with fmt of three digits 0 or 1";

/// The first line.
#[derive(Debug, Clone, Copy)]
struct Header {
    n: usize,
    n_edges: usize,
    has_sizes: bool,
    n_weights: usize,
    has_edge_weights: bool,
}

/// Reads a graph held in memory.
pub(crate) fn decode(path: &Path, bytes: &[u8]) -> Result<GraphFile> {
    let content = text(path, bytes)?;
    let mut lines = content.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('%'));
    let (at, first) = lines.next().ok_or_else(|| Error::missing(path, "line"))?;
    let header =
        Header::parse(first).map_err(|detail| Error::malformed(path, Place::Line(at + 1), detail))?;
    let n = header.n;
    check_vertices(path, n, bytes.len())?;
    let mut entries = Vec::new();
    let mut weights = Vec::new();
    let mut line_of = Vec::with_capacity(n);
    for (number, line) in lines {
        let fault = |detail| Error::malformed(path, Place::Line(number + 1), detail);
        if line_of.len() == n {
            if line.trim().is_empty() {
                continue;
            }
            return Err(fault(format!("expected {n} lines of vertices, got more")));
        }
        let vertex = line_of.len() as u32;
        line_of.push(number + 1);
        header.vertex(line, vertex, &mut weights, &mut entries).map_err(fault)?;
    }
    if line_of.len() != n {
        let detail = format!("expected {n} lines of vertices, got {}", line_of.len());
        return Err(Error::malformed(path, Place::Whole, detail));
    }
    check_twice(path, &mut entries, &line_of)?;
    if entries.len() != 2 * header.n_edges {
        let (expected, got) = (header.n_edges, entries.len() / 2);
        let detail = format!("expected {expected} edges, each listed twice, got {got}");
        return Err(Error::malformed(path, Place::Line(at + 1), detail));
    }
    let edges: Vec<(u32, u32, f64)> = entries.into_iter().filter(|e| e.0 < e.1).collect();
    let graph = Graph::from_edges(n, &edges).map_err(|e| Error::library(path, e))?;
    let vertex_weights = (header.n_weights == 1).then_some(weights);
    Ok(GraphFile { graph, names: None, vertex_weights })
}

impl Header {
    fn parse(line: &str) -> std::result::Result<Self, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [n, n_edges, ref rest @ ..] = words[..] else {
            return Err(format!("expected {ACCEPTED}, got {} numbers", words.len()));
        };
        let fmt = rest.first().copied().unwrap_or("0");
        let flags: Vec<bool> = format!("{fmt:0>3}").chars().map(|c| c == '1').collect();
        if fmt.len() > 3 || !fmt.chars().all(|c| matches!(c, '0' | '1')) || rest.len() > 2 {
            return Err(format!("expected {ACCEPTED}, got `{line}`"));
        }
        let [has_sizes, has_weights, has_edge_weights] = [flags[0], flags[1], flags[2]];
        let n_weights = match rest.get(1) {
            Some(word) => parse(word, "the number of vertex weights")?,
            None => usize::from(has_weights),
        };
        if n_weights > 1 || (n_weights == 1) != has_weights {
            return Err(format!("expected at most one weight per vertex, as fmt says, got {n_weights}"));
        }
        let (n, n_edges) = (parse(n, "the number of vertices")?, parse(n_edges, "the number of edges")?);
        Ok(Self { n, n_edges, has_sizes, n_weights, has_edge_weights })
    }

    /// Reads the line of a vertex.
    fn vertex(
        &self,
        line: &str,
        vertex: u32,
        weights: &mut Vec<f64>,
        entries: &mut Vec<(u32, u32, f64)>,
    ) -> std::result::Result<(), String> {
        let mut words = line.split_whitespace();
        if self.has_sizes {
            let word = words.next().ok_or("expected the size of the vertex, got the end of the line")?;
            parse::<f64>(word, "the size of the vertex")?;
        }
        if self.n_weights == 1 {
            let word = words.next().ok_or("expected the weight of the vertex, got the end of the line")?;
            let weight: f64 = parse(word, "the weight of the vertex")?;
            if !(weight.is_finite() && weight >= 0.0) {
                return Err(format!("expected a vertex weight that is not negative, got {weight}"));
            }
            weights.push(weight);
        }
        while let Some(word) = words.next() {
            let other: usize = parse(word, "a neighbour")?;
            if other == 0 || other > self.n {
                return Err(format!("expected a neighbour from 1 to {}, got {other}", self.n));
            }
            if other - 1 == vertex as usize {
                return Err(format!(
                    "vertex {other} is listed as its own neighbour; METIS has no self-loops"
                ));
            }
            let mut weight: f64 = 1.0;
            if self.has_edge_weights {
                let word = words.next().ok_or("expected the weight of an edge, got the end of the line")?;
                weight = parse(word, "the weight of an edge")?;
                if !(weight.is_finite() && weight >= 0.0) {
                    return Err(format!("expected an edge weight that is not negative, got {weight}"));
                }
            }
            entries.push((vertex, (other - 1) as u32, weight));
        }
        Ok(())
    }
}

fn parse<T: FromStr>(word: &str, what: &str) -> std::result::Result<T, String> {
    word.parse().map_err(|_| format!("expected {what}, got `{word}`"))
}

/// Checks that each edge stands in both its lines, once, with one weight.
fn check_twice(path: &Path, entries: &mut [(u32, u32, f64)], line_of: &[usize]) -> Result<()> {
    entries.sort_by_key(|&(i, j, _)| (i, j));
    for (at, &(i, j, weight)) in entries.iter().enumerate() {
        let fault = |detail: String| Err(Error::malformed(path, Place::Line(line_of[i as usize]), detail));
        let (own, other) = (i + 1, j + 1);
        if at > 0 && (entries[at - 1].0, entries[at - 1].1) == (i, j) {
            return fault(format!("vertex {own} lists its neighbour {other} twice"));
        }
        let there = line_of[j as usize];
        match entries.binary_search_by_key(&(j, i), |&(a, b, _)| (a, b)) {
            Err(_) => {
                return fault(format!(
                    "vertex {own} lists {other}, but {other} (line {there}) does not list {own}"
                ));
            }
            Ok(back) if entries[back].2 != weight => {
                let back = entries[back].2;
                return fault(format!(
                    "the edge from {own} to {other} has weight {weight}, but {back} on line {there}"
                ));
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> Result<GraphFile> {
        decode(Path::new("g.graph"), content.as_bytes())
    }

    #[test]
    fn every_format_code_is_read() {
        let degrees = |content: &str| {
            let file = read(content).unwrap();
            (file.graph.degrees().to_vec(), file.vertex_weights)
        };
        let plain = vec![1.0, 2.0, 1.0, 0.0];
        assert_eq!(degrees("% a path\n4 2\n2\n1 3\n2\n\n"), (plain.clone(), None));
        assert_eq!(degrees("4 2 0\n2\n1 3\n2\n\n"), (plain.clone(), None));
        let weights = Some(vec![5.0, 6.0, 7.0, 8.0]);
        assert_eq!(degrees("4 2 10\n5 2\n6 1 3\n7 2\n8\n"), (plain.clone(), weights.clone()));
        assert_eq!(degrees("4 2 110 1\n9 5 2\n9 6 1 3\n9 7 2\n9 8\n"), (plain, weights.clone()));
        let heavy = vec![2.0, 5.0, 3.0, 0.0];
        assert_eq!(degrees("4 2 001\n2 2\n1 2 3 3\n2 3\n\n"), (heavy.clone(), None));
        assert_eq!(degrees("4 2 011\n5 2 2\n6 1 2 3 3\n7 2 3\n8\n"), (heavy, weights));
    }

    #[test]
    fn mistakes_are_located() {
        let cases = [
            ("", "no line"),
            ("3\n", "line 1: expected `vertices edges"),
            ("2 1 2\n", "line 1: expected `vertices edges"),
            ("2 1 10 2\n", "line 1: expected at most one weight per vertex"),
            ("2 1\n2\n1\n1\n", "line 4: expected 2 lines of vertices, got more"),
            ("3 1\n2\n1\n", "expected 3 lines of vertices, got 2"),
            ("2 1\n3\n1\n", "line 2: expected a neighbour from 1 to 2, got 3"),
            ("2 1\n0\n1\n", "line 2: expected a neighbour from 1 to 2, got 0"),
            ("2 1\n1\n1\n", "line 2: vertex 1 is listed as its own neighbour"),
            ("% c\n2 1\n2\n\n", "line 3: vertex 1 lists 2, but 2 (line 4) does not list 1"),
            ("2 1 1\n2 5\n1 6\n", "line 2: the edge from 1 to 2 has weight 5, but 6 on line 3"),
            ("2 1 1\n2\n1 1\n", "line 2: expected the weight of an edge, got the end"),
            ("2 1 1\n2 -1\n1 -1\n", "line 2: expected an edge weight that is not negative, got -1"),
            ("2 1 10\n\n1\n", "line 2: expected the weight of the vertex"),
            ("2 1\n2 2\n1\n", "line 2: vertex 1 lists its neighbour 2 twice"),
            ("2 5\n2\n1\n", "line 1: expected 5 edges, each listed twice, got 1"),
            ("2 1\nb\n1\n", "line 2: expected a neighbour, got `b`"),
            ("4000000000 1\n2\n1\n", "4000000000 vertices"),
        ];
        for (file, message) in cases {
            let error = read(file).unwrap_err().to_string();
            assert!(error.contains(message), "{message}: {error}");
        }
    }
}
