//! NumPy `.npy` arrays, format versions 1 to 3.
//!
//! Read: booleans, signed and unsigned integers, 16- to 64-bit floats and short texts, in either byte order and
//! in C or Fortran order; the values come out in C order. The header is compared with the length of the file
//! before anything is allocated.

use std::path::Path;

use crate::{
    atomic::{Overwrite, write_whole},
    bytes::{Cursor, read_file},
    error::{Error, Result},
};

/// The bytes every `.npy` file starts with.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// What arrays may hold, for messages.
const ACCEPTED: &str = "a bool, integer or float array";

/// Values of an array with their type, in C order.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each variant is named after the type it holds")]
pub enum Values {
    Bool(Vec<bool>),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    /// 32-bit floats; 16-bit ones are widened.
    F32(Vec<f32>),
    F64(Vec<f64>),
    /// Byte strings (`S`) and Unicode strings (`U`).
    Text(Vec<String>),
}

/// An array of any number of dimensions.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// The length of each dimension.
    pub shape: Vec<usize>,
    /// The values in C order: the last index runs fastest.
    pub values: Values,
}

macro_rules! each {
    ($values:expr, $v:ident => $number:expr, $b:ident => $bool:expr, $t:ident => $text:expr) => {
        match $values {
            Values::Bool($b) => $bool,
            Values::I8($v) => $number,
            Values::I16($v) => $number,
            Values::I32($v) => $number,
            Values::I64($v) => $number,
            Values::U8($v) => $number,
            Values::U16($v) => $number,
            Values::U32($v) => $number,
            Values::U64($v) => $number,
            Values::F32($v) => $number,
            Values::F64($v) => $number,
            Values::Text($t) => $text,
        }
    };
}

impl Values {
    /// How many values.
    pub fn len(&self) -> usize {
        each!(self, v => v.len(), b => b.len(), t => t.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type's name as NumPy spells it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Bool(_) => "bool",
            Self::I8(_) => "int8",
            Self::I16(_) => "int16",
            Self::I32(_) => "int32",
            Self::I64(_) => "int64",
            Self::U8(_) => "uint8",
            Self::U16(_) => "uint16",
            Self::U32(_) => "uint32",
            Self::U64(_) => "uint64",
            Self::F32(_) => "float32",
            Self::F64(_) => "float64",
            Self::Text(_) => "text",
        }
    }

    /// The values as floats; integers beyond 2⁵³ are rounded, texts give `None`.
    #[expect(clippy::cast_lossless, clippy::unnecessary_cast, reason = "one line serves every number type")]
    pub fn to_f64(&self) -> Option<Vec<f64>> {
        let floats = each!(self,
            v => v.iter().map(|&x| x as f64).collect(),
            b => b.iter().map(|&x| f64::from(u8::from(x))).collect(),
            _t => return None);
        Some(floats)
    }

    /// The values as integers; `None` for texts and for floats that are not whole.
    #[expect(clippy::cast_lossless, clippy::unnecessary_cast, reason = "one line serves every number type")]
    pub fn to_i64(&self) -> Option<Vec<i64>> {
        match self {
            Self::F32(v) => v.iter().map(|&x| whole(f64::from(x))).collect(),
            Self::F64(v) => v.iter().map(|&x| whole(x)).collect(),
            Self::U64(v) => v.iter().map(|&x| i64::try_from(x).ok()).collect(),
            other => each!(other,
                v => Some(v.iter().map(|&x| x as i64).collect()),
                b => Some(b.iter().map(|&x| i64::from(x)).collect()),
                _t => None),
        }
    }

    /// Whether each value differs from zero; `None` for texts.
    pub fn to_bool(&self) -> Option<Vec<bool>> {
        Some(self.to_f64()?.into_iter().map(|x| x != 0.0).collect())
    }
}

/// A float as an integer when it is one.
fn whole(x: f64) -> Option<i64> {
    (x.fract() == 0.0 && x.abs() < 9.0e15).then_some(x as i64)
}

/// Reads a `.npy` file.
///
/// # Errors
/// [`Error::NotFound`] or [`Error::Io`] when the file cannot be read, [`Error::Malformed`] when it breaks the
/// format or its length does not match its header, [`Error::Unsupported`] for other value types.
pub fn read_npy(path: &Path) -> Result<Array> {
    decode_npy(path, &read_file(path)?)
}

/// Reads a `.npy` file held in memory; `name` is for messages.
///
/// # Errors
/// As [`read_npy`].
pub fn decode_npy(name: &Path, bytes: &[u8]) -> Result<Array> {
    let mut cursor = Cursor::new(name, bytes);
    if cursor.take(MAGIC.len())? != MAGIC {
        cursor.seek(0)?;
        return Err(cursor.fault("expected a NumPy array, which starts with \\x93NUMPY"));
    }
    let version = cursor.take(2)?[0];
    let header_length = match version {
        1 => usize::from(cursor.u16()?),
        2 | 3 => cursor.u32()? as usize,
        other => return Err(cursor.fault(format!("expected format version 1, 2 or 3, got {other}"))),
    };
    let header = Header::parse(&cursor.clone(), cursor.take(header_length)?)?;
    let kind = Kind::parse(&header.descr).ok_or_else(|| {
        Error::unsupported(name, "a NumPy file", format!("of type {}", header.descr), ACCEPTED)
    })?;
    let n_values = header.shape.iter().try_fold(1_usize, |n, &d| n.checked_mul(d));
    let n_bytes = n_values.and_then(|n| n.checked_mul(kind.size));
    let rest = cursor.remaining();
    if n_bytes != Some(rest) || (kind.size == 0 && n_values.is_some_and(|n| n > 1 << 20)) {
        let shape = &header.shape;
        return Err(
            cursor.fault(format!("expected the values of an array of shape {shape:?}, got {rest} bytes"))
        );
    }
    let mut values = kind.decode(name, cursor.take(rest)?)?;
    if header.fortran_order && header.shape.len() > 1 {
        values = each!(values, v => reorder(&header.shape, &v).into(),
            b => reorder(&header.shape, &b).into(), t => reorder(&header.shape, &t).into());
    }
    Ok(Array { shape: header.shape, values })
}

/// The header's dictionary.
struct Header {
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
}

impl Header {
    fn parse(place: &Cursor<'_>, bytes: &[u8]) -> Result<Self> {
        let fault = |key: &str| place.fault(format!("expected `{key}` in the header of the NumPy array"));
        let text = std::str::from_utf8(bytes).map_err(|_| place.fault("expected a header in ASCII"))?;
        let after = |key: &str| {
            let quoted = [format!("'{key}'"), format!("\"{key}\"")];
            let found = quoted.iter().find_map(|q| text.split_once(q.as_str()));
            found.and_then(|(_, rest)| rest.trim_start().strip_prefix(':')).map(str::trim_start)
        };
        let descr = after("descr").ok_or_else(|| fault("descr"))?;
        let quote = descr.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let quote = quote.ok_or_else(|| place.fault("expected one value type, got a record"))?;
        let descr = descr[1..].split(quote).next().unwrap_or_default().to_owned();
        let fortran_order = match after("fortran_order") {
            Some(rest) if rest.starts_with("True") => true,
            Some(rest) if rest.starts_with("False") => false,
            _ => return Err(fault("fortran_order")),
        };
        let shape =
            after("shape").and_then(|rest| rest.strip_prefix('(')).and_then(|rest| rest.split_once(')'));
        let (inside, _) = shape.ok_or_else(|| fault("shape"))?;
        let parts = inside.split(',').map(str::trim).filter(|p| !p.is_empty());
        let shape: Option<Vec<usize>> = parts.map(|p| p.trim_end_matches('L').parse().ok()).collect();
        let shape = shape.filter(|s| s.len() <= 32).ok_or_else(|| fault("shape"))?;
        Ok(Self { descr, fortran_order, shape })
    }
}

/// A value type: byte order, letter and size.
struct Kind {
    big_endian: bool,
    letter: u8,
    size: usize,
}

impl Kind {
    fn parse(descr: &str) -> Option<Self> {
        let (order, rest) = match descr.as_bytes().first()? {
            b'<' | b'=' | b'|' => (false, &descr[1..]),
            b'>' => (true, &descr[1..]),
            _ => (false, descr),
        };
        if rest == "?" {
            return Some(Self { big_endian: false, letter: b'b', size: 1 });
        }
        let letter = *rest.as_bytes().first()?;
        let size: usize = rest.get(1..)?.parse().ok()?;
        let fits = match letter {
            b'b' => size == 1,
            b'i' | b'u' => matches!(size, 1 | 2 | 4 | 8),
            b'f' => matches!(size, 2 | 4 | 8),
            b'S' | b'U' => size <= 1 << 16,
            _ => false,
        };
        let size = if letter == b'U' { size * 4 } else { size };
        fits.then_some(Self { big_endian: order, letter, size })
    }

    fn decode(&self, name: &Path, bytes: &[u8]) -> Result<Values> {
        macro_rules! numbers {
            ($variant:ident, $t:ty) => {{
                let read = |chunk: &[u8]| {
                    let mut own = [0; size_of::<$t>()];
                    own.copy_from_slice(chunk);
                    if self.big_endian { <$t>::from_be_bytes(own) } else { <$t>::from_le_bytes(own) }
                };
                Values::$variant(bytes.chunks_exact(size_of::<$t>()).map(read).collect())
            }};
        }
        Ok(match (self.letter, self.size) {
            (b'b', _) => Values::Bool(bytes.iter().map(|&b| b != 0).collect()),
            (b'i', 1) => numbers!(I8, i8),
            (b'i', 2) => numbers!(I16, i16),
            (b'i', 4) => numbers!(I32, i32),
            (b'i', 8) => numbers!(I64, i64),
            (b'u', 1) => Values::U8(bytes.to_vec()),
            (b'u', 2) => numbers!(U16, u16),
            (b'u', 4) => numbers!(U32, u32),
            (b'u', 8) => numbers!(U64, u64),
            (b'f', 2) => match numbers!(U16, u16) {
                Values::U16(halves) => Values::F32(halves.into_iter().map(widen_half).collect()),
                other => other,
            },
            (b'f', 4) => numbers!(F32, f32),
            (b'f', 8) => numbers!(F64, f64),
            (b'S' | b'U', 0) => Values::Text(Vec::new()),
            (b'S', size) => {
                let text = |chunk: &[u8]| String::from_utf8_lossy(chunk).trim_end_matches('\0').to_owned();
                Values::Text(bytes.chunks_exact(size).map(text).collect())
            }
            (b'U', size) => match numbers!(U32, u32) {
                Values::U32(points) => {
                    let text = |chunk: &[u32]| {
                        let letters = chunk.iter().filter(|&&p| p != 0);
                        letters.map(|&p| char::from_u32(p).unwrap_or('\u{fffd}')).collect()
                    };
                    Values::Text(points.chunks_exact(size / 4).map(text).collect())
                }
                other => other,
            },
            _ => return Err(Error::unsupported(name, "a NumPy file", "of another type", ACCEPTED)),
        })
    }
}

/// A 16-bit float as a 32-bit one, exactly.
pub(crate) fn widen_half(half: u16) -> f32 {
    let (exponent, fraction) = (i32::from(half >> 10 & 31), f32::from(half & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2.0_f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2.0_f32.powi(exponent - 25),
    };
    if half >> 15 == 1 { -magnitude } else { magnitude }
}

/// Values in Fortran order, put into C order.
fn reorder<T: Clone>(shape: &[usize], values: &[T]) -> Vec<T> {
    let mut strides = vec![1; shape.len()];
    for d in 1..shape.len() {
        strides[d] = strides[d - 1] * shape[d - 1];
    }
    let mut index = vec![0; shape.len()];
    let mut source = 0;
    let mut out = Vec::with_capacity(values.len());
    for _ in 0..values.len() {
        out.push(values[source].clone());
        for d in (0..shape.len()).rev() {
            index[d] += 1;
            source += strides[d];
            if index[d] < shape[d] {
                break;
            }
            source -= strides[d] * shape[d];
            index[d] = 0;
        }
    }
    out
}

macro_rules! values_from {
    ($($variant:ident: $t:ty),*) => {$(
        impl From<Vec<$t>> for Values {
            fn from(values: Vec<$t>) -> Self {
                Self::$variant(values)
            }
        }
    )*};
}

values_from!(Bool: bool, I8: i8, I16: i16, I32: i32, I64: i64, U8: u8, U16: u16, U32: u32, U64: u64);
values_from!(F32: f32, F64: f64, Text: String);

/// A type of number that [`write_npy`] writes.
pub trait Element: Copy + sealed::Sealed {
    /// The type as the header spells it.
    #[doc(hidden)]
    const DESCR: &'static str;

    /// Appends the value, low byte first.
    #[doc(hidden)]
    fn append(self, out: &mut Vec<u8>);
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($t:ty => $descr:literal),*) => {$(
        impl sealed::Sealed for $t {}
        impl Element for $t {
            const DESCR: &'static str = $descr;

            fn append(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

elements!(i32 => "<i4", i64 => "<i8", u8 => "|u1", u32 => "<u4", f32 => "<f4", f64 => "<f8");

/// Writes an array in C order as a `.npy` file.
///
/// # Errors
/// [`Error::Library`] when `values` does not fill the shape, and the errors of [`write_whole`].
pub fn write_npy<T: Element>(path: &Path, shape: &[usize], values: &[T], overwrite: Overwrite) -> Result<()> {
    let expected = shape.iter().fold(1_usize, |n, &d| n.saturating_mul(d));
    if expected != values.len() {
        let (what, got) = ("the array", values.len());
        return Err(Error::library(path, ccbcut::Error::ShapeMismatch { what, expected, got }));
    }
    write_whole(path, &encode_npy(shape, values), overwrite)
}

/// The bytes of a `.npy` file; `values` must fill the shape, in C order.
pub fn encode_npy<T: Element>(shape: &[usize], values: &[T]) -> Vec<u8> {
    debug_assert_eq!(shape.iter().product::<usize>(), values.len());
    let mut out = encode_header(T::DESCR, shape);
    out.reserve(size_of_val(values));
    for &value in values {
        value.append(&mut out);
    }
    out
}

/// The bytes of a `.npy` file that holds one byte string.
pub(crate) fn encode_npy_text(text: &str) -> Vec<u8> {
    let mut out = encode_header(&format!("|S{}", text.len()), &[]);
    out.extend_from_slice(text.as_bytes());
    out
}

/// The bytes of a `.npy` file that holds a list of Unicode strings.
pub(crate) fn encode_npy_texts(texts: &[String]) -> Vec<u8> {
    let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
    let mut out = encode_header(&format!("<U{width}"), &[texts.len()]);
    for text in texts {
        let letters = text.chars().map(u32::from).chain(std::iter::repeat(0));
        letters.take(width).for_each(|letter| out.extend_from_slice(&letter.to_le_bytes()));
    }
    out
}

fn encode_header(descr: &str, shape: &[usize]) -> Vec<u8> {
    let dims: Vec<String> = shape.iter().map(ToString::to_string).collect();
    // Python's tuple of one has a comma at the end.
    let comma = if shape.len() == 1 { "," } else { "" };
    let dims = dims.join(", ") + comma;
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}), }}");
    // Magic, version, length and header together fill a multiple of 64 bytes, newline last.
    let unpadded = MAGIC.len() + 4 + header.len() + 1;
    header.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
    header.push('\n');
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&[1, 0]);
    out.extend_from_slice(&(header.len() as u16).to_le_bytes());
    out.extend_from_slice(header.as_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8]) -> Result<Array> {
        decode_npy(Path::new("x.npy"), bytes)
    }

    #[test]
    fn arrays_survive_a_round_trip() {
        let values = [1.5_f64, -2.0, f64::INFINITY, 1e-300, 0.0, 7.0];
        for shape in [&[6][..], &[2, 3], &[1, 3, 2], &[6, 1]] {
            let bytes = encode_npy(shape, &values);
            assert_eq!((bytes.len() - 48) % 64, 0);
            let array = decode(&bytes).unwrap();
            assert_eq!(array, Array { shape: shape.to_vec(), values: Values::F64(values.to_vec()) });
        }
        assert_eq!(decode(&encode_npy(&[], &[7_i32])).unwrap().shape, Vec::<usize>::new());
        assert_eq!(decode(&encode_npy::<u32>(&[0, 5], &[])).unwrap().values.len(), 0);
        let names = vec!["Zoë".to_owned(), String::new(), "b".to_owned()];
        assert_eq!(decode(&encode_npy_texts(&names)).unwrap().values, Values::Text(names));
        assert_eq!(decode(&encode_npy_text("csr")).unwrap().values, Values::Text(vec!["csr".into()]));
    }

    #[test]
    fn a_header_that_promises_more_than_the_file_is_refused() {
        let good = encode_npy(&[2, 3], &[0_i32; 6]);
        let lie = |from: &str, to: &str| {
            let text: Vec<char> = good.iter().map(|&b| b as char).collect();
            let text: String = text.into_iter().collect();
            let bytes: Vec<u8> = text.replace(from, to).chars().map(|c| c as u8).collect();
            decode(&bytes)
        };
        assert!(lie("(2, 3)", "(2, 4)").unwrap_err().to_string().contains("got 24 bytes"));
        assert!(lie("(2, 3)", "(4294967296, 4294967296)").is_err());
        assert!(matches!(lie("<i4", "<c8"), Err(Error::Unsupported { .. })));
        assert!(matches!(decode(b"GIF89a"), Err(Error::Malformed { .. })));
    }

    #[test]
    fn half_floats_are_exact() {
        let cases = [(0x3c00, 1.0), (0xc000, -2.0), (0x0001, 2.0_f32.powi(-24)), (0x7bff, 65504.0)];
        for (half, value) in cases {
            assert_eq!(widen_half(half), value);
        }
        assert!(widen_half(0x7e00).is_nan() && widen_half(0xfc00) == f32::NEG_INFINITY);
    }

    #[test]
    fn conversions_refuse_what_they_cannot_say() {
        assert_eq!(Values::F64(vec![1.0, -2.0]).to_i64(), Some(vec![1, -2]));
        assert_eq!(Values::F64(vec![1.5]).to_i64(), None);
        assert_eq!(Values::U64(vec![u64::MAX]).to_i64(), None);
        assert_eq!(Values::Bool(vec![true]).to_i64(), Some(vec![1]));
        assert_eq!(Values::Text(vec!["a".into()]).to_f64(), None);
        assert_eq!(Values::F32(vec![0.0, 0.5]).to_bool(), Some(vec![false, true]));
    }
}
