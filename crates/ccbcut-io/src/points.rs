//! Points (`.npy`, or text with one point per line).

use std::path::Path;

use ccbcut::points::Points;

use crate::{
    bytes::{extension, read_file, text},
    error::{Error, Place, Result},
    fields::{fields, lines},
    npy,
};

/// What is read, for messages.
const READ: &str = ".npy, .csv, .tsv or .txt";

/// What a file tells about points.
#[derive(Debug, Clone)]
pub struct PointFile {
    /// The points.
    pub points: Points,
    /// Their names, where the first column of a text holds names.
    pub names: Option<Vec<String>>,
}

/// Reads points.
///
/// `.npy` holds an array of one row per point. Text holds one point per line, its coordinates separated by tabs,
/// semicolons, commas or blanks; `#` starts a comment, and a first line that ends in a word is a header. Where the first
/// field of the first point is not a number, it is the name of the point, and so in all lines.
///
/// # Errors
/// [`Error::Unsupported`] for another ending, [`Error::Shape`] or [`Error::Malformed`] for other content,
/// [`Error::Missing`] where there is no point, [`Error::Library`] for values that are not finite.
pub fn read_points(path: &Path) -> Result<PointFile> {
    check_ending(path)?;
    decode_points(path, &read_file(path)?)
}

/// Reads points held in memory; the ending of `name` says how.
///
/// # Errors
/// As [`read_points`].
pub fn decode_points(name: &Path, bytes: &[u8]) -> Result<PointFile> {
    check_ending(name)?;
    if extension(name) == "npy" { decode_npy(name, bytes) } else { decode_text(name, bytes) }
}

fn check_ending(path: &Path) -> Result<()> {
    match extension(path).as_str() {
        "npy" | "csv" | "tsv" | "txt" => Ok(()),
        _ => Err(Error::extension(path, "a list of points", READ)),
    }
}

fn decode_npy(path: &Path, bytes: &[u8]) -> Result<PointFile> {
    let array = npy::decode_npy(path, bytes)?;
    let (n, d) = match array.shape[..] {
        [n, d] => (n, d),
        [n] => (n, 1),
        _ => return Err(Error::shape(path, "one row per point", &array.shape)),
    };
    let values = array.values.to_f64();
    let values = values.ok_or_else(|| Error::malformed(path, Place::Whole, "expected numbers, got text"))?;
    if n == 0 {
        return Err(Error::missing(path, "point"));
    }
    let points = Points::new(n, d, values).map_err(|e| Error::library(path, e))?;
    Ok(PointFile { points, names: None })
}

fn decode_text(path: &Path, bytes: &[u8]) -> Result<PointFile> {
    let (mut values, mut names) = (Vec::new(), Vec::new());
    let mut width: Option<usize> = None;
    let mut has_names = false;
    let is_number = |field: &str| field.parse::<f64>().is_ok();
    for (at, (line, content)) in lines(text(path, bytes)?).enumerate() {
        let fault = |detail: String| Error::malformed(path, Place::Line(line), detail);
        let row = fields(content).map_err(fault)?;
        if at == 0 && row.last().is_some_and(|field| !is_number(field)) {
            continue;
        }
        if width.is_none() {
            has_names = row.len() > 1 && !is_number(&row[0]);
        }
        let expected = *width.get_or_insert(row.len());
        if row.len() != expected {
            return Err(fault(format!(
                "expected {expected} fields as in the first point, got {}",
                row.len()
            )));
        }
        let coordinates = &row[usize::from(has_names)..];
        if has_names {
            names.push(row[0].clone().into_owned());
        }
        for field in coordinates {
            let value = field.parse().map_err(|_| fault(format!("expected a coordinate, got `{field}`")))?;
            if !f64::is_finite(value) {
                return Err(fault(format!("expected a finite coordinate, got {value}")));
            }
            values.push(value);
        }
    }
    let Some(width) = width else { return Err(Error::missing(path, "point")) };
    let d = width - usize::from(has_names);
    let points = Points::new(values.len() / d.max(1), d, values).map_err(|e| Error::library(path, e))?;
    Ok(PointFile { points, names: has_names.then_some(names) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> Result<PointFile> {
        decode_points(Path::new("p.csv"), content.as_bytes())
    }

    #[test]
    fn rows_with_and_without_headers_and_names() {
        for (file, names) in [
            ("0,1\n2,3.5\n", None),
            ("x,y\n0,1\n2,3.5\n", None),
            ("# made by hand\n0 1\n2 3.5\n", None),
            ("a,0,1\n\"b, c\",2,3.5\n", Some(vec!["a".to_owned(), "b, c".to_owned()])),
            ("name\tx\ty\na\t0\t1\nb, c\t2\t3.5\n", Some(vec!["a".to_owned(), "b, c".to_owned()])),
        ] {
            let read = read(file).unwrap();
            assert_eq!((read.points.len(), read.points.row(1)), (2, &[2.0, 3.5][..]), "{file}");
            assert_eq!(read.names, names, "{file}");
        }
        let array = npy::encode_npy(&[2, 2], &[0_i32, 1, 2, 3]);
        assert_eq!(decode_points(Path::new("p.npy"), &array).unwrap().points.row(1), &[2.0, 3.0]);
        let flat = npy::encode_npy(&[3], &[0.0, 1.0, 2.0]);
        assert_eq!(decode_points(Path::new("p.npy"), &flat).unwrap().points.n_dimensions(), 1);
    }

    #[test]
    fn mistakes_are_located() {
        for (file, message) in [
            ("0,1\n2\n", "line 2: expected 2 fields as in the first point, got 1"),
            ("0,1\n2,x\n", "line 2: expected a coordinate, got `x`"),
            ("0,1\n2,nan\n", "line 2: expected a finite coordinate"),
            ("x,y\n", "no point"),
            ("", "no point"),
        ] {
            let error = read(file).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        let npy = |shape: &[usize], values: &[f64]| {
            decode_points(Path::new("p.npy"), &npy::encode_npy(shape, values)).unwrap_err()
        };
        assert!(matches!(npy(&[1, 1, 1], &[0.0]), Error::Shape { .. }));
        assert!(matches!(npy(&[1, 1], &[f64::NAN]), Error::Library { .. }));
        assert!(matches!(npy(&[0, 2], &[]), Error::Missing { .. }));
        assert!(matches!(read_points(Path::new("p.mtx")), Err(Error::Unsupported { .. })));
    }
}
