//! One label per vertex of a graph: `.npy`, or text with one integer per line.

use std::{borrow::Cow, fmt::Write, path::Path};

use ccbcut::Labels;

use crate::{
    atomic::{Overwrite, write_whole},
    bytes::{extension, read_file, text},
    error::{Error, Place, Result},
    fields::as_field,
    npy, npz,
};

/// What is read, for messages.
const READ: &str = ".npy, .csv, .tsv or .txt";
/// What is written, for messages.
const WRITTEN: &str = ".npy, .npz or .csv";

/// Reads one label per vertex; parts are renumbered by first appearance.
///
/// `.npy` holds a one-dimensional array of integers. Text holds one integer per line, or two, `vertex,label`, with
/// the vertices in any order; a first line of words is a header, and `#` starts a comment.
///
/// # Errors
/// [`Error::Unsupported`] for another ending, [`Error::Shape`] or [`Error::Malformed`] for other content.
pub fn read_labels_vector(path: &Path) -> Result<Labels> {
    let decode = decoder(path)?;
    decode(path, &read_file(path)?)
}

/// Reads one label per vertex from a file held in memory; the ending of `name` says how.
///
/// # Errors
/// As [`read_labels_vector`].
pub fn decode_labels_vector(name: &Path, bytes: &[u8]) -> Result<Labels> {
    decoder(name)?(name, bytes)
}

/// How one kind of file is read.
type Decoder = fn(&Path, &[u8]) -> Result<Labels>;

/// The reader for a file name, chosen before the file is opened.
fn decoder(name: &Path) -> Result<Decoder> {
    match extension(name).as_str() {
        "npy" => Ok(decode_npy),
        "csv" | "tsv" | "txt" => Ok(decode_text),
        _ => Err(Error::extension(name, "a list of labels", READ)),
    }
}

/// Writes one label per vertex: `.npy` (int32), `.npz` (an array `labels`), or `.csv` with the header `vertex,label`.
///
/// # Errors
/// [`Error::Unsupported`] for another ending, and the errors of [`write_whole`].
pub fn write_labels_vector(path: &Path, labels: &Labels, overwrite: Overwrite) -> Result<()> {
    write_whole(path, &encode_labels_vector(path, labels)?, overwrite)
}

/// The bytes [`write_labels_vector`] writes; for a group of outputs.
///
/// # Errors
/// As [`write_labels_vector`].
pub fn encode_labels_vector(path: &Path, labels: &Labels) -> Result<Vec<u8>> {
    encode_named_labels(path, labels, None)
}

/// The same with the names of the vertices: in the first column of a `.csv`, as the array `names` of an `.npz`. A `.npy`
/// file has no place for them and holds the labels alone, in the order of the vertices.
///
/// # Errors
/// As [`write_labels_vector`], and [`Error::Library`] unless there is one name per label.
pub fn encode_named_labels(path: &Path, labels: &Labels, names: Option<&[String]>) -> Result<Vec<u8>> {
    if let Some(got) = names.map(<[String]>::len).filter(|&n| n != labels.len()) {
        let (what, expected) = ("the list of names", labels.len());
        return Err(Error::library(path, ccbcut::Error::ShapeMismatch { what, expected, got }));
    }
    let values = || labels.as_slice().iter().map(|&v| v as i32).collect::<Vec<i32>>();
    match extension(path).as_str() {
        "npy" => Ok(npy::encode_npy(&[labels.len()], &values())),
        "npz" => {
            let mut members = vec![("labels.npy", npy::encode_npy(&[labels.len()], &values()))];
            members.extend(names.map(|names| ("names.npy", npy::encode_npy_texts(names))));
            npz::pack(path, &members)
        }
        "csv" => {
            let mut out = String::from("vertex,label\n");
            for (vertex, label) in labels.as_slice().iter().enumerate() {
                let name =
                    names.map_or_else(|| Cow::Owned(vertex.to_string()), |names| as_field(&names[vertex]));
                // Writing to a string cannot fail.
                let _ = writeln!(out, "{name},{label}");
            }
            Ok(out.into_bytes())
        }
        _ => Err(Error::extension(path, "a list of labels to write", WRITTEN)),
    }
}

fn decode_npy(path: &Path, bytes: &[u8]) -> Result<Labels> {
    let array = npy::decode_npy(path, bytes)?;
    if array.shape.len() != 1 {
        return Err(Error::shape(path, "one dimension", &array.shape));
    }
    let wrong = || Error::malformed(path, Place::Whole, "expected whole numbers as labels");
    let values = array.values.to_i64().ok_or_else(wrong)?;
    let label = |&v: &i64| {
        u32::try_from(v).map_err(|_| {
            Error::malformed(path, Place::Whole, format!("expected labels from 0 to 4294967295, got {v}"))
        })
    };
    Ok(Labels::from_raw(&values.iter().map(label).collect::<Result<Vec<u32>>>()?))
}

fn decode_text(path: &Path, bytes: &[u8]) -> Result<Labels> {
    let mut rows: Vec<(usize, u32)> = Vec::new();
    let mut width = None;
    for (number, line) in text(path, bytes)?.lines().enumerate() {
        let fault = |detail: String| Error::malformed(path, Place::Line(number + 1), detail);
        let content = line.split('#').next().unwrap_or_default();
        let separators = [',', ';', '\t', ' ', '\r'];
        let fields: Vec<&str> = content.split(separators).filter(|f| !f.is_empty()).collect();
        if fields.is_empty() {
            continue;
        }
        let is_header = width.is_none() && fields[0].parse::<f64>().is_err();
        if is_header {
            width = Some(fields.len());
            continue;
        }
        if *width.get_or_insert(fields.len()) != fields.len() || fields.len() > 2 {
            return Err(fault(format!("expected `label` or `vertex,label`, got {} fields", fields.len())));
        }
        let parse = |field: &str| {
            field.parse::<u32>().map_err(|_| fault(format!("expected a number from 0, got `{field}`")))
        };
        let vertex = if let [vertex, _] = fields[..] { parse(vertex)? as usize } else { rows.len() };
        rows.push((vertex, parse(fields[fields.len() - 1])?));
    }
    rows.sort_unstable();
    if let Some(position) = (0..rows.len()).find(|&p| rows[p].0 != p) {
        let detail =
            format!("expected each of the {} vertices once, but vertex {position} is missing", rows.len());
        return Err(Error::malformed(path, Place::Whole, detail));
    }
    Ok(Labels::from_raw(&rows.iter().map(|r| r.1).collect::<Vec<u32>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_go_through_files() {
        let folder = tempfile::tempdir().unwrap();
        let labels = Labels::from_raw(&[0, 0, 1, 2, 1]);
        for name in ["l.npy", "l.csv"] {
            let path = folder.path().join(name);
            write_labels_vector(&path, &labels, Overwrite::Refuse).unwrap();
            assert_eq!(read_labels_vector(&path).unwrap(), labels);
        }
        assert!(encode_labels_vector(Path::new("l.mat"), &labels).is_err());
    }

    #[test]
    fn text_in_several_shapes() {
        let read = |content: &str| decode_text(Path::new("l.txt"), content.as_bytes());
        let labels = Labels::from_raw(&[0, 1, 1]);
        for file in ["5\n7\n7\n", "label\n5\n7\n7\n", "vertex,label\n2,7\n0,5\n1,7\n", "# c\n0 5\n1 7\n2 7"] {
            assert_eq!(read(file).unwrap(), labels, "{file}");
        }
        for (file, message) in [
            ("1\nx\n", "line 2: expected a number"),
            ("0 1\n0 1\n", "each of the 2 vertices once"),
            ("0 1\n1\n", "line 2"),
            ("-1\n", "line 1"),
        ] {
            assert!(read(file).unwrap_err().to_string().contains(message), "{file}");
        }
        assert!(read("").unwrap().is_empty());
    }
}
