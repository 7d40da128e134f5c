//! MATLAB files, level 5: the matrices, cells and structs that segmentations are kept in.
//!
//! A file is a header of 128 bytes and a list of elements; an element is a tag (type, length) and its data, padded
//! to 8 bytes; variables are elements of type `MATRIX`, often deflated. Numbers are stored in the smallest type
//! that holds them, whatever the class of the array.
//!
//! # References
//! The MathWorks, *MAT-File Format*, R2023b, chapter "MAT-File Level 5 File Format".

use std::{
    io::{Read, Write},
    path::Path,
};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};

use crate::{
    bytes::Cursor,
    error::{Error, Result},
};

/// What is read, for messages.
const ACCEPTED: &str = "a MATLAB file of level 5 (`save -v7` or earlier)";
/// The most bytes one deflated variable may unpack to.
const MAX_UNPACKED: u64 = 1 << 31;
/// How deeply cells and structs may be nested.
const MAX_DEPTH: usize = 16;

const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;
const INT8: u32 = 1;
const UINT16: u32 = 4;
const INT32: u32 = 5;
const UINT32: u32 = 6;
const DOUBLE: u32 = 9;

const CELL_CLASS: u8 = 1;
const STRUCT_CLASS: u8 = 2;
const DOUBLE_CLASS: u8 = 6;
const UINT16_CLASS: u8 = 11;
const UINT32_CLASS: u8 = 13;

/// A variable, or an element of one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Variable {
    /// Numbers in MATLAB's order: the first index runs fastest.
    Numeric { shape: Vec<usize>, values: Vec<f64> },
    /// A cell array, in the same order.
    Cell(Vec<Variable>),
    /// A struct array: field names, and for each element its fields.
    Struct { fields: Vec<String>, elements: Vec<Vec<Variable>> },
    /// Text, sparse matrices, objects: not needed here.
    Other,
}

impl Variable {
    /// A field of the first element of a struct.
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        let Self::Struct { fields, elements } = self else { return None };
        let position = fields.iter().position(|f| f == name)?;
        elements.first()?.get(position)
    }
}

/// Reads the variables of a file held in memory: names and values. `what` is looked for in it, for messages.
pub(crate) fn decode(path: &Path, bytes: &[u8], what: &'static str) -> Result<Vec<(String, Variable)>> {
    let mut cursor = Cursor::new(path, bytes);
    if bytes.starts_with(b"MATLAB 7.3") || bytes.starts_with(b"\x89HDF") {
        return Err(Error::unsupported(path, what, "a MATLAB file of version 7.3", ACCEPTED));
    }
    cursor.take(124)?;
    let version = cursor.u16()?;
    match cursor.take(2)? {
        b"IM" => {}
        b"MI" => cursor.set_big_endian(true),
        _ => return Err(Error::unsupported(path, what, "not a MATLAB file", ACCEPTED)),
    }
    let version = if cursor.is_big_endian() { version.swap_bytes() } else { version };
    if version != 0x100 {
        return Err(cursor.fault(format!("expected version 0x0100 of the format, got {version:#06x}")));
    }
    let mut variables = Vec::new();
    while cursor.remaining() >= 8 {
        let (kind, mut data) = element(&mut cursor)?;
        if kind == COMPRESSED {
            let packed = data.take(data.remaining())?;
            let unpacked = inflate(&data, packed)?;
            let mut inner = Cursor::new(path, &unpacked);
            inner.set_big_endian(cursor.is_big_endian());
            let (kind, mut data) = element(&mut inner)?;
            if kind == MATRIX {
                variables.push(matrix(&mut data, 0)?);
            }
        } else if kind == MATRIX {
            variables.push(matrix(&mut data, 0)?);
        }
    }
    Ok(variables)
}

fn inflate(place: &Cursor<'_>, packed: &[u8]) -> Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    let read = ZlibDecoder::new(packed).take(MAX_UNPACKED + 1).read_to_end(&mut unpacked);
    if read.is_err() {
        return Err(place.fault("a compressed variable is damaged"));
    }
    if unpacked.len() as u64 > MAX_UNPACKED {
        return Err(Error::TooManyBytes { path: place.name().to_path_buf(), limit: MAX_UNPACKED });
    }
    Ok(unpacked)
}

/// The next element: its type and its data. Elements of up to four bytes may share the eight bytes of the tag.
fn element<'a>(cursor: &mut Cursor<'a>) -> Result<(u32, Cursor<'a>)> {
    let word = cursor.u32()?;
    if word >> 16 != 0 {
        let length = (word >> 16) as usize;
        let mut data = cursor.part(4)?;
        return Ok((word & 0xffff, data.part(length)?));
    }
    let length = cursor.u32()? as usize;
    let data = cursor.part(length)?;
    // Only compressed elements are not padded.
    if word != COMPRESSED {
        cursor.skip_padding(length.next_multiple_of(8) - length);
    }
    Ok((word, data))
}

/// The inside of a `MATRIX` element: name and value.
fn matrix(cursor: &mut Cursor<'_>, depth: usize) -> Result<(String, Variable)> {
    if cursor.remaining() == 0 {
        // How MATLAB writes an empty element of a cell.
        return Ok((String::new(), Variable::Numeric { shape: vec![0, 0], values: Vec::new() }));
    }
    if depth > MAX_DEPTH {
        return Err(cursor.fault(format!("expected cells and structs nested at most {MAX_DEPTH} deep")));
    }
    let (_, mut flags) = element(cursor)?;
    let class = (flags.u32()? & 0xff) as u8;
    let (_, mut dims) = element(cursor)?;
    let mut shape = Vec::new();
    while dims.remaining() >= 4 {
        let length = dims.u32()?;
        if length > i32::MAX as u32 {
            return Err(dims.fault("expected a size, got a negative number"));
        }
        shape.push(length as usize);
    }
    let (_, mut name) = element(cursor)?;
    let name = String::from_utf8_lossy(name.take(name.remaining())?).into_owned();
    let n = shape.iter().try_fold(1_usize, |n, &d| n.checked_mul(d)).unwrap_or(usize::MAX);
    let value = match class {
        CELL_CLASS => Variable::Cell(children(cursor, n, depth)?),
        STRUCT_CLASS => structure(cursor, n, depth)?,
        6..=15 => {
            let (kind, mut data) = element(cursor)?;
            let values = numbers(kind, &mut data, n)?;
            Variable::Numeric { shape, values }
        }
        _ => Variable::Other,
    };
    Ok((name, value))
}

fn children(cursor: &mut Cursor<'_>, n: usize, depth: usize) -> Result<Vec<Variable>> {
    // Each child has a tag of its own, so the data bounds how many there can be.
    if n > cursor.remaining() / 8 {
        return Err(
            cursor.fault(format!("expected {n} elements of a cell or struct, more than the file holds"))
        );
    }
    let mut all = Vec::with_capacity(n);
    for _ in 0..n {
        let (kind, mut data) = element(cursor)?;
        if kind != MATRIX {
            return Err(cursor.fault(format!("expected an array inside a cell or struct, got type {kind}")));
        }
        all.push(matrix(&mut data, depth + 1)?.1);
    }
    Ok(all)
}

fn structure(cursor: &mut Cursor<'_>, n: usize, depth: usize) -> Result<Variable> {
    let (_, mut length) = element(cursor)?;
    let length = length.u32()? as usize;
    let (_, mut names) = element(cursor)?;
    if length == 0 || names.remaining() % length != 0 {
        return Err(cursor.fault(format!("expected field names of {length} bytes each")));
    }
    let mut fields = Vec::new();
    while names.remaining() > 0 {
        let name = names.take(length)?;
        let end = name.iter().position(|&b| b == 0).unwrap_or(length);
        fields.push(String::from_utf8_lossy(&name[..end]).into_owned());
    }
    if fields.is_empty() {
        return Ok(Variable::Struct { fields, elements: Vec::new() });
    }
    let mut values = children(cursor, n.saturating_mul(fields.len()), depth)?.into_iter();
    let mut elements = Vec::new();
    for _ in 0..n {
        elements.push(values.by_ref().take(fields.len()).collect());
    }
    Ok(Variable::Struct { fields, elements })
}

/// The numbers of a data element; every integer up to 2⁵³ is exact.
fn numbers(kind: u32, data: &mut Cursor<'_>, n: usize) -> Result<Vec<f64>> {
    let size = match kind {
        1 | 2 => 1,
        3 | 4 => 2,
        5..=7 => 4,
        9 | 12 | 13 => 8,
        other => return Err(data.fault(format!("expected numbers, got data of type {other}"))),
    };
    if n.checked_mul(size) != Some(data.remaining()) {
        let got = data.remaining() / size;
        return Err(data.fault(format!("expected {n} numbers, got {got}")));
    }
    let mut values = Vec::with_capacity(n);
    for _ in 0..n {
        values.push(match kind {
            1 => f64::from(data.take(1)?[0] as i8),
            2 => f64::from(data.take(1)?[0]),
            3 => f64::from(data.u16()? as i16),
            4 => f64::from(data.u16()?),
            5 => f64::from(data.u32()? as i32),
            6 => f64::from(data.u32()?),
            7 => f64::from(f32::from_bits(data.u32()?)),
            9 => f64::from_bits(data.u64()?),
            12 => data.u64()? as i64 as f64,
            _ => data.u64()? as f64,
        });
    }
    Ok(values)
}

/// A matrix of unsigned integers to write, in MATLAB's order.
pub(crate) struct UnsignedMatrix {
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) values: Vec<u32>,
}

/// A file with one variable: a 1 × K cell of matrices, each of 16-bit numbers where they suffice, else 32-bit.
///
/// `None` when a size does not fit in the format's 32-bit lengths.
pub(crate) fn encode_cell(name: &str, matrices: &[UnsignedMatrix]) -> Option<Vec<u8>> {
    let mut cell = array_head(CELL_CLASS, 1, matrices.len(), name)?;
    for matrix in matrices {
        let is_small = matrix.values.iter().all(|&v| u16::try_from(v).is_ok());
        let class = if is_small { UINT16_CLASS } else { UINT32_CLASS };
        let mut body = array_head(class, matrix.height, matrix.width, "")?;
        if is_small {
            let data: Vec<u8> = matrix.values.iter().flat_map(|&v| (v as u16).to_le_bytes()).collect();
            append_element(&mut body, UINT16, &data)?;
        } else {
            let data: Vec<u8> = matrix.values.iter().flat_map(|v| v.to_le_bytes()).collect();
            append_element(&mut body, UINT32, &data)?;
        }
        append_element(&mut cell, MATRIX, &body)?;
    }
    file(&cell)
}

/// A file with one variable: a matrix of 64-bit floats, in MATLAB's order.
///
/// `None` when a size does not fit in the format's 32-bit lengths.
pub(crate) fn encode_doubles(
    name: &str,
    height: usize,
    width: usize,
    values: impl Iterator<Item = f64>,
) -> Option<Vec<u8>> {
    let mut body = array_head(DOUBLE_CLASS, height, width, name)?;
    let data: Vec<u8> = values.flat_map(f64::to_le_bytes).collect();
    debug_assert_eq!(data.len(), height * width * 8);
    append_element(&mut body, DOUBLE, &data)?;
    file(&body)
}

/// The header and one deflated variable.
fn file(matrix: &[u8]) -> Option<Vec<u8>> {
    let mut variable = Vec::new();
    append_element(&mut variable, MATRIX, matrix)?;
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&variable).ok()?;
    let packed = encoder.finish().ok()?;

    // The header's text has no date, so that the same numbers give the same bytes.
    let mut out = b"MATLAB 5.0 MAT-file, written by ccbcut".to_vec();
    out.resize(116, b' ');
    out.resize(124, 0);
    out.extend_from_slice(&0x0100_u16.to_le_bytes());
    out.extend_from_slice(b"IM");
    out.extend_from_slice(&COMPRESSED.to_le_bytes());
    out.extend_from_slice(&u32::try_from(packed.len()).ok()?.to_le_bytes());
    out.extend_from_slice(&packed);
    Some(out)
}

/// Flags, shape and name: what every array starts with.
fn array_head(class: u8, height: usize, width: usize, name: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    append_element(&mut out, UINT32, &[class, 0, 0, 0, 0, 0, 0, 0])?;
    let dims = [i32::try_from(height).ok()?.to_le_bytes(), i32::try_from(width).ok()?.to_le_bytes()];
    append_element(&mut out, INT32, dims.as_flattened())?;
    append_element(&mut out, INT8, name.as_bytes())?;
    Some(out)
}

fn append_element(out: &mut Vec<u8>, kind: u32, data: &[u8]) -> Option<()> {
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&u32::try_from(data.len()).ok()?.to_le_bytes());
    out.extend_from_slice(data);
    out.resize(out.len().next_multiple_of(8), 0);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_survive_a_round_trip() {
        let matrices = [
            UnsignedMatrix { height: 2, width: 3, values: vec![1, 2, 3, 0, 5, 65535] },
            UnsignedMatrix { height: 1, width: 1, values: vec![65536] },
        ];
        let bytes = encode_cell("segs", &matrices).unwrap();
        let variables = decode(Path::new("x.mat"), &bytes, "x").unwrap();
        let first = Variable::Numeric { shape: vec![2, 3], values: vec![1.0, 2.0, 3.0, 0.0, 5.0, 65535.0] };
        let second = Variable::Numeric { shape: vec![1, 1], values: vec![65536.0] };
        assert_eq!(variables, [("segs".to_owned(), Variable::Cell(vec![first, second]))]);
    }

    #[test]
    fn doubles_survive_a_round_trip() {
        let values = vec![0.5, -0.0, f64::MIN_POSITIVE, 1e300, 0.1, 7.0];
        let bytes = encode_doubles("ucm2", 3, 2, values.iter().copied()).unwrap();
        let variables = decode(Path::new("x.mat"), &bytes, "x").unwrap();
        assert_eq!(variables, [("ucm2".to_owned(), Variable::Numeric { shape: vec![3, 2], values })]);
        assert_eq!(encode_doubles("a", 1 << 40, 0, std::iter::empty()), None);
    }

    #[test]
    fn other_files_are_refused() {
        let path = Path::new("x.mat");
        assert!(matches!(decode(path, b"short", "x"), Err(Error::Malformed { .. })));
        assert!(matches!(decode(path, &[b' '; 200], "x"), Err(Error::Unsupported { .. })));
        let mut hdf = b"MATLAB 7.3 MAT-file".to_vec();
        hdf.resize(200, 0);
        assert!(decode(path, &hdf, "x").unwrap_err().to_string().contains("version 7.3"));
    }
}
