//! What the tests against stored results share: where the files are, and how NumPy's formats are read.

use std::{
    collections::HashMap,
    io::Read,
    path::{Path, PathBuf},
};

/// The folder of the stored results, or a line that says which test was skipped.
pub fn golden_dir(test: &str) -> Option<PathBuf> {
    let dir = std::env::var_os("CCBCUT_GOLDEN_DIR").map(PathBuf::from);
    if dir.is_none() {
        println!("skipped: {test} (set CCBCUT_GOLDEN_DIR)");
    }
    dir
}

/// An array with its values widened to 64 bits, in C order.
pub struct Array {
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
}

impl Array {
    /// Values that are indices.
    pub fn indices(&self) -> Vec<usize> {
        self.values.iter().map(|&v| v as usize).collect()
    }
}

pub fn read_npy(path: &Path) -> Array {
    parse_npy(&read(path))
}

/// The arrays of an `.npz`, by name.
pub fn read_npz(path: &Path) -> HashMap<String, Array> {
    let zip = read(path);
    // The end record is the last 22 bytes of an archive without a comment; NumPy writes none.
    let end = &zip[zip.len() - 22..];
    assert_eq!(&end[..4], b"PK\x05\x06", "no end record in {}", path.display());
    let mut at = u32_at(end, 16);
    let mut arrays = HashMap::new();
    for _ in 0..u16_at(end, 10) {
        let entry = &zip[at..];
        let (method, packed, unpacked) = (u16_at(entry, 10), u32_at(entry, 20), u32_at(entry, 24));
        let (name_len, extra_len, comment_len) = (u16_at(entry, 28), u16_at(entry, 30), u16_at(entry, 32));
        let name = std::str::from_utf8(&entry[46..46 + name_len]).unwrap().trim_end_matches(".npy");
        let local = &zip[u32_at(entry, 42)..];
        let start = 30 + u16_at(local, 26) + u16_at(local, 28);
        let data = &local[start..start + packed];
        let mut bytes = Vec::with_capacity(unpacked);
        match method {
            0 => bytes.extend_from_slice(data),
            8 => drop(flate2::read::DeflateDecoder::new(data).read_to_end(&mut bytes).unwrap()),
            other => panic!("compression method {other}"),
        }
        arrays.insert(name.to_owned(), parse_npy(&bytes));
        at += 46 + name_len + extra_len + comment_len;
    }
    arrays
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn u16_at(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()))
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

fn parse_npy(bytes: &[u8]) -> Array {
    assert_eq!(&bytes[..6], b"\x93NUMPY");
    let (start, len) = if bytes[6] == 1 { (10, u16_at(bytes, 8)) } else { (12, u32_at(bytes, 8)) };
    let header = std::str::from_utf8(&bytes[start..start + len]).unwrap();
    let after = |key: &str| header.split_once(key).unwrap().1;
    let dtype = after("'descr': '").split('\'').next().unwrap();
    let dimensions = after("'shape': (").split(')').next().unwrap();
    let shape: Vec<usize> = dimensions.split(',').filter_map(|d| d.trim().parse().ok()).collect();
    let data = &bytes[start + len..];
    let values: Vec<f64> = match dtype {
        "|u1" => data.iter().map(|&v| f64::from(v)).collect(),
        "<i4" => numbers(data, |b| f64::from(i32::from_le_bytes(b))),
        "<i8" => numbers(data, |b| i64::from_le_bytes(b) as f64),
        "<f4" => numbers(data, |b| f64::from(f32::from_le_bytes(b))),
        "<f8" => numbers(data, f64::from_le_bytes),
        other => panic!("array of type {other}"),
    };
    if header.contains("'fortran_order': True") {
        return Array { values: transposed(&shape, &values), shape };
    }
    Array { shape, values }
}

/// A matrix stored by columns, by rows.
fn transposed(shape: &[usize], values: &[f64]) -> Vec<f64> {
    let [rows, columns] = *shape else { panic!("{} dimensions stored in reverse", shape.len()) };
    (0..rows * columns).map(|k| values[k % columns * rows + k / columns]).collect()
}

fn numbers<const N: usize>(data: &[u8], read: impl Fn([u8; N]) -> f64) -> Vec<f64> {
    data.chunks_exact(N).map(|b| read(b.try_into().unwrap())).collect()
}
