//! Trees of hierarchical cuts: `.json`, and `.npz` with a linkage that SciPy reads.
//!
//! Both hold the same: `linkage`, one row `[a, b, height, leaves]` for each of the L − 1 joins of L leaves, as in
//! `scipy.cluster.hierarchy`; `costs` of 1, …, L parts; `leaf`, the leaf of each vertex, or of each pixel in rows and
//! columns, −1 for those of none; `tau` and `balance` of the cost; and `names` of the vertices, where there are any.

use std::path::{Path, PathBuf};

use ccbcut::{LabelMap, partition::Dendrogram};
use serde_json::{Map, Value, json};

use crate::{
    bytes::{extension, read_file},
    error::{Error, Place, Result},
    npy::{Values, encode_npy, encode_npy_text, encode_npy_texts},
    npz::{decode_npz, pack},
};

/// What is read and written, for messages.
const ACCEPTED: &str = ".json or .npz";
/// The version of the layout.
const VERSION: u64 = 1;

/// A tree with what belongs to it.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeFile {
    /// The tree, and the leaf of each vertex.
    pub dendrogram: Dendrogram,
    /// Height and width, where the vertices are the pixels of an image.
    pub shape: Option<(usize, usize)>,
    /// The names of the vertices, if any.
    pub names: Option<Vec<String>>,
    /// τ of the costs.
    pub tau: f64,
    /// What part sizes are measured in: the name of a balance.
    pub balance: String,
}

/// Reads a tree.
///
/// # Errors
/// [`Error::Unsupported`] for another ending, [`Error::Missing`], [`Error::Malformed`] or [`Error::Shape`] for a file
/// that lacks something, [`Error::Library`] for a linkage that is no tree.
pub fn read_tree(path: &Path) -> Result<TreeFile> {
    check_ending(path)?;
    decode_tree(path, &read_file(path)?)
}

/// Reads a tree held in memory; the ending of `name` says how.
///
/// # Errors
/// As [`read_tree`].
pub fn decode_tree(name: &Path, bytes: &[u8]) -> Result<TreeFile> {
    check_ending(name)?;
    let raw = if extension(name) == "npz" { from_npz(name, bytes)? } else { from_json(name, bytes)? };
    raw.checked(name)
}

/// The bytes of a tree file; the ending of `path` says which kind.
///
/// # Errors
/// [`Error::Unsupported`] for another ending, [`Error::Encode`] for an archive above 4 GiB.
pub fn encode_tree(path: &Path, tree: &TreeFile) -> Result<Vec<u8>> {
    check_ending(path)?;
    let linkage = tree.dendrogram.linkage();
    let (costs, n) = (tree.dendrogram.tree().costs(), tree.dendrogram.leaf().len());
    let leaf: Vec<i32> =
        tree.dendrogram.leaf().iter().map(|&l| if l == LabelMap::VOID { -1 } else { l as i32 }).collect();
    if extension(path) == "npz" {
        let shape = tree.shape.map_or(vec![n], |(height, width)| vec![height, width]);
        let mut members = vec![
            ("linkage.npy", encode_npy(&[linkage.len(), 4], &linkage.concat())),
            ("costs.npy", encode_npy(&[costs.len()], costs)),
            ("leaf.npy", encode_npy(&shape, &leaf)),
            ("tau.npy", encode_npy(&[], &[tree.tau])),
            ("balance.npy", encode_npy_text(&tree.balance)),
        ];
        members.extend(tree.names.as_deref().map(|names| ("names.npy", encode_npy_texts(names))));
        return pack(path, &members);
    }
    let mut value = json!({
        "ccbcut_tree": VERSION, "tau": tree.tau, "balance": tree.balance,
        "shape": tree.shape.map_or_else(|| json!([n]), |(height, width)| json!([height, width])),
        "costs": costs, "linkage": linkage, "leaf": leaf,
    });
    if let Some(names) = &tree.names {
        value["names"] = json!(names);
    }
    Ok(format!("{value}\n").into_bytes())
}

fn check_ending(path: &Path) -> Result<()> {
    match extension(path).as_str() {
        "json" | "npz" => Ok(()),
        _ => Err(Error::extension(path, "a tree", ACCEPTED)),
    }
}

/// What a file says, unchecked.
struct Raw {
    linkage: Vec<f64>,
    costs: Vec<f64>,
    leaf: Vec<i64>,
    shape: Vec<usize>,
    names: Option<Vec<String>>,
    tau: f64,
    balance: String,
}

impl Raw {
    fn checked(self, path: &Path) -> Result<TreeFile> {
        let n = self.leaf.len();
        let shape = match self.shape[..] {
            [height, width] if height.checked_mul(width) == Some(n) => Some((height, width)),
            [length] if length == n => None,
            _ => return Err(Error::shape(path, "a leaf for each vertex or pixel", &self.shape)),
        };
        if self.names.as_ref().is_some_and(|names| names.len() != n) {
            let (what, got) = ("the list of names", self.names.map_or(0, |names| names.len()));
            return Err(Error::library(path, ccbcut::Error::ShapeMismatch { what, expected: n, got }));
        }
        let rows = self.linkage.chunks_exact(4).map(|row| [row[0], row[1], row[2], row[3]]);
        let rows: Vec<[f64; 4]> = rows.collect();
        let leaf = |&own: &i64| match own {
            -1 => Ok(LabelMap::VOID),
            own => u32::try_from(own).map_err(|_| {
                Error::malformed(path, Place::Whole, format!("expected leaves from -1 up, got {own}"))
            }),
        };
        let leaf = self.leaf.iter().map(leaf).collect::<Result<Vec<u32>>>()?;
        let dendrogram =
            Dendrogram::from_linkage(&rows, &self.costs, leaf).map_err(|e| Error::library(path, e))?;
        Ok(TreeFile { dendrogram, shape, names: self.names, tau: self.tau, balance: self.balance })
    }
}

fn from_npz(path: &Path, bytes: &[u8]) -> Result<Raw> {
    let archive = decode_npz(path, bytes)?;
    let numbers = |name: &str| {
        let values = archive.array(name)?.values.to_f64();
        values.ok_or_else(|| Error::malformed(path, Place::Whole, format!("expected numbers in `{name}`")))
    };
    let linkage = archive.array("linkage")?;
    if !matches!(linkage.shape[..], [_, 4]) {
        return Err(Error::shape(path, "a linkage of four columns", &linkage.shape));
    }
    let leaf = archive.array("leaf")?;
    let whole = || Error::malformed(path, Place::Whole, "expected whole numbers in `leaf`");
    let text = |name: &str| match &archive.array(name)?.values {
        Values::Text(texts) => Ok(texts.clone()),
        _ => Err(Error::malformed(path, Place::Whole, format!("expected text in `{name}`"))),
    };
    let has_names = archive.names().any(|name| name == "names");
    Ok(Raw {
        linkage: numbers("linkage")?,
        costs: numbers("costs")?,
        leaf: leaf.values.to_i64().ok_or_else(whole)?,
        shape: leaf.shape.clone(),
        names: if has_names { Some(text("names")?) } else { None },
        tau: numbers("tau")?.first().copied().unwrap_or(f64::NAN),
        balance: text("balance")?.concat(),
    })
}

fn from_json(path: &Path, bytes: &[u8]) -> Result<Raw> {
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|e| Error::malformed(path, Place::Line(e.line()), format!("expected JSON: {e}")))?;
    let object = Object { path, map: value.as_object().ok_or_else(|| Error::missing(path, "tree"))? };
    if object.get("ccbcut_tree")?.as_u64() != Some(VERSION) {
        return Err(object.wrong("ccbcut_tree", "the number 1"));
    }
    let mut linkage = Vec::new();
    for row in object.list("linkage")? {
        match row.as_array().map(Vec::as_slice) {
            Some(row @ [_, _, _, _]) => linkage.extend(row.iter().filter_map(Value::as_f64)),
            _ => return Err(object.wrong("linkage", "rows of four numbers")),
        }
    }
    if !linkage.len().is_multiple_of(4) {
        return Err(object.wrong("linkage", "rows of four numbers"));
    }
    let each = |name: &'static str, what| object.list(name).map(|list| (list, object.wrong(name, what)));
    let (costs, fault) = each("costs", "a list of numbers")?;
    let costs = costs.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>().ok_or(fault)?;
    let (leaf, fault) = each("leaf", "a list of whole numbers")?;
    let leaf = leaf.iter().map(Value::as_i64).collect::<Option<Vec<i64>>>().ok_or(fault)?;
    let (shape, fault) = each("shape", "one or two whole numbers")?;
    let shape = shape.iter().map(|n| n.as_u64().and_then(|n| usize::try_from(n).ok()));
    let shape = shape.collect::<Option<Vec<usize>>>().ok_or(fault)?;
    let names = if object.map.contains_key("names") {
        let (names, fault) = each("names", "a list of texts")?;
        let names = names.iter().map(|name| name.as_str().map(str::to_owned));
        Some(names.collect::<Option<Vec<String>>>().ok_or(fault)?)
    } else {
        None
    };
    let tau = object.get("tau")?.as_f64().ok_or_else(|| object.wrong("tau", "a number"))?;
    let balance = object.get("balance")?.as_str().ok_or_else(|| object.wrong("balance", "a text"))?;
    Ok(Raw { linkage, costs, leaf, shape, names, tau, balance: balance.to_owned() })
}

/// A JSON object that knows its file.
struct Object<'a> {
    path: &'a Path,
    map: &'a Map<String, Value>,
}

impl<'a> Object<'a> {
    fn get(&self, name: &str) -> Result<&'a Value> {
        self.map.get(name).ok_or_else(|| Error::missing(self.path, format!("`{name}`, which a tree has")))
    }

    fn list(&self, name: &str) -> Result<&'a Vec<Value>> {
        self.get(name)?.as_array().ok_or_else(|| self.wrong(name, "a list"))
    }

    fn wrong(&self, name: &str, expected: &str) -> Error {
        Error::Malformed {
            path: PathBuf::from(self.path),
            place: Place::Whole,
            detail: format!("expected `{name}` to be {expected}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(shape: Option<(usize, usize)>, names: Option<Vec<String>>) -> TreeFile {
        let linkage = [[1.0, 2.0, 1.0, 2.0], [0.0, 3.0, 2.0, 3.0]];
        let leaf = vec![0, 1, 2, 2, LabelMap::VOID, 0];
        let dendrogram = Dendrogram::from_linkage(&linkage, &[0.0, 0.25, 0.1 + 0.2], leaf).unwrap();
        TreeFile { dendrogram, shape, names, tau: 0.7, balance: "ratio".into() }
    }

    #[test]
    fn trees_survive_both_formats() {
        let names = ["a", "b", "c", "d", "e", "Zoë"].map(str::to_owned).to_vec();
        for tree in [tree(None, None), tree(Some((2, 3)), None), tree(None, Some(names))] {
            for name in ["t.json", "t.npz"] {
                let bytes = encode_tree(Path::new(name), &tree).unwrap();
                assert_eq!(decode_tree(Path::new(name), &bytes).unwrap(), tree, "{name}");
            }
        }
        assert!(matches!(encode_tree(Path::new("t.csv"), &tree(None, None)), Err(Error::Unsupported { .. })));
        assert!(matches!(read_tree(Path::new("t.csv")), Err(Error::Unsupported { .. })));
    }

    #[test]
    fn damage_is_named() {
        let good = String::from_utf8(encode_tree(Path::new("t.json"), &tree(None, None)).unwrap()).unwrap();
        for (from, to, message) in [
            ("\"ccbcut_tree\":1", "\"ccbcut_tree\":2", "expected `ccbcut_tree` to be the number 1"),
            ("\"costs\"", "\"cost\"", "no `costs`"),
            ("\"tau\":0.7", "\"tau\":\"x\"", "expected `tau` to be a number"),
            ("[6]", "[2,2]", "shape [2, 2]"),
            ("[1.0,2.0,1.0,2.0]", "[1.0,2.0,1.0]", "expected `linkage` to be rows of four numbers"),
            ("-1", "-2", "expected leaves from -1 up, got -2"),
            ("-1", "7", "does not hold what is needed"),
            ("[1.0,2.0,", "[1.0,1.0,", "does not hold what is needed"),
            ("{", "[", "expected JSON"),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good, "{from}");
            let error = decode_tree(Path::new("t.json"), bad.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        let archive = encode_tree(Path::new("t.npz"), &tree(None, None)).unwrap();
        for length in 0..archive.len() {
            assert!(decode_tree(Path::new("t.npz"), &archive[..length]).is_err(), "cut at {length}");
        }
    }
}
