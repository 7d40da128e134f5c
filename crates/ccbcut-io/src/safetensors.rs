//! The `.safetensors` format: a length, a JSON header, then the tensors' bytes.
//!
//! Eight bytes give the length of the header, low byte first. The header is an object with an entry for each tensor:
//! its type, its shape, and where its bytes begin and end, counted from the end of the header. Everything is held
//! against the length of the file before a tensor is made.

use std::path::Path;

use serde_json::Value;

use crate::{
    bytes::Cursor,
    error::{Error, Place, Result},
    npy::{Array, Values, widen_half},
};

/// The longest header that is read; those of large models have some hundred thousand bytes.
const MAX_HEADER: u64 = 1 << 24;

/// What tensors may hold, for messages.
const ACCEPTED: &str = "F16, BF16, F32, F64 or integers";

/// A tensor that has not been decoded.
#[derive(Debug)]
pub(crate) struct Tensor<'a> {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) kind: String,
    bytes: &'a [u8],
}

/// Whether a file begins like one: a plausible length, then an object.
pub(crate) fn looks_like(bytes: &[u8]) -> bool {
    let length = bytes.first_chunk::<8>().map(|first| u64::from_le_bytes(*first));
    length.is_some_and(|length| length <= MAX_HEADER) && bytes.get(8) == Some(&b'{')
}

/// The tensors of a file, by name.
pub(crate) fn tensors<'a>(name: &'a Path, bytes: &'a [u8]) -> Result<Vec<Tensor<'a>>> {
    let mut cursor = Cursor::new(name, bytes);
    let length = cursor.u64()?;
    if length > MAX_HEADER {
        let detail =
            format!("expected a header of at most {MAX_HEADER} bytes of safetensors, got one of {length}");
        return Err(Error::malformed(name, Place::Byte(0), detail));
    }
    let header = cursor.take(length as usize)?;
    let data = cursor.take(cursor.remaining())?;
    let fault = |detail: String| Error::malformed(name, Place::Byte(8), detail);
    let header: Value = serde_json::from_slice(header)
        .map_err(|e| fault(format!("expected a header of safetensors in JSON: {e}")))?;
    let entries = header
        .as_object()
        .ok_or_else(|| fault("expected an object in the header of safetensors".to_owned()))?;
    let mut tensors = Vec::new();
    for (key, entry) in entries.iter().filter(|(key, _)| *key != "__metadata__") {
        tensors.push(Tensor::new(key, entry, data).ok_or_else(|| {
            fault(format!(
                "expected the type, the shape and the place of the tensor `{key}`, inside the file"
            ))
        })?);
    }
    tensors.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(tensors)
}

impl<'a> Tensor<'a> {
    /// The tensor of an entry; `None` where anything about it is wrong.
    fn new(name: &str, entry: &Value, data: &'a [u8]) -> Option<Self> {
        let kind = entry.get("dtype")?.as_str()?.to_owned();
        let numbers = |key: &str| -> Option<Vec<usize>> {
            let list = entry.get(key)?.as_array()?;
            list.iter().map(|v| usize::try_from(v.as_u64()?).ok()).collect()
        };
        let shape = numbers("shape").filter(|shape| shape.len() <= 32)?;
        let &[begin, end] = numbers("data_offsets")?.as_slice() else { return None };
        let bytes = data.get(begin..end)?;
        if let Some(size) = size_of_kind(&kind) {
            let n_bytes = shape.iter().try_fold(size, |n, &d| n.checked_mul(d))?;
            (n_bytes == bytes.len()).then_some(())?;
        }
        Some(Self { name: name.to_owned(), shape, kind, bytes })
    }

    /// The values.
    pub(crate) fn decode(&self, path: &Path) -> Result<Array> {
        macro_rules! numbers {
            ($t:ty) => {
                self.bytes.chunks_exact(size_of::<$t>()).map(|chunk| {
                    let mut own = [0; size_of::<$t>()];
                    own.copy_from_slice(chunk);
                    <$t>::from_le_bytes(own)
                })
            };
        }
        let values = match self.kind.as_str() {
            "F16" => Values::F32(numbers!(u16).map(widen_half).collect()),
            "BF16" => Values::F32(numbers!(u16).map(|v| f32::from_bits(u32::from(v) << 16)).collect()),
            "F32" => Values::F32(numbers!(f32).collect()),
            "F64" => Values::F64(numbers!(f64).collect()),
            "I8" => Values::I8(numbers!(i8).collect()),
            "U8" => Values::U8(self.bytes.to_vec()),
            "I16" => Values::I16(numbers!(i16).collect()),
            "U16" => Values::U16(numbers!(u16).collect()),
            "I32" => Values::I32(numbers!(i32).collect()),
            "U32" => Values::U32(numbers!(u32).collect()),
            "I64" => Values::I64(numbers!(i64).collect()),
            other => {
                let found = format!("a tensor `{}` of {other}", self.name);
                return Err(Error::unsupported(path, "a feature map", found, ACCEPTED));
            }
        };
        Ok(Array { shape: self.shape.clone(), values })
    }
}

/// Bytes of a value; `None` for types that are not read.
fn size_of_kind(kind: &str) -> Option<usize> {
    Some(match kind {
        "I8" | "U8" | "BOOL" => 1,
        "F16" | "BF16" | "I16" | "U16" => 2,
        "F32" | "I32" | "U32" => 4,
        "F64" | "I64" | "U64" => 8,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(data);
        bytes
    }

    #[test]
    fn tensors_come_by_name_with_their_values() {
        let header = r#"{"__metadata__":{"a":"b"},"y":{"dtype":"F32","shape":[1,2],"data_offsets":[2,10]},
            "x":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}}"#;
        let bytes = file(header, &[0xc0, 0x3f, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40]);
        assert!(looks_like(&bytes));
        let tensors = tensors(Path::new("x"), &bytes).unwrap();
        assert_eq!(tensors.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(tensors[0].decode(Path::new("x")).unwrap().values, Values::F32(vec![1.5]));
        let y = tensors[1].decode(Path::new("x")).unwrap();
        assert_eq!((y.shape, y.values), (vec![1, 2], Values::F32(vec![1.0, 2.0])));
    }

    #[test]
    fn headers_that_lie_are_errors() {
        let entry = |dtype: &str, shape: &str, offsets: &str| {
            file(
                &format!(r#"{{"x":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#),
                &[0; 8],
            )
        };
        let fails = |bytes: &[u8]| tensors(Path::new("x"), bytes).is_err();
        assert!(!fails(&entry("F32", "[2]", "[0,8]")));
        assert!(!fails(&entry("F8_E4M3", "[2]", "[0,8]")), "a tensor that nobody asks for may be anything");
        for (shape, offsets) in [
            ("[3]", "[0,8]"),
            ("[2]", "[0,9]"),
            ("[2]", "[8,0]"),
            ("[2]", "[0,4]"),
            ("[2]", "[0]"),
            ("[-2]", "[0,8]"),
            ("[1e9,1e9]", "[0,8]"),
            ("[4294967296,4294967296,4294967296]", "[0,8]"),
            ("2", "[0,8]"),
        ] {
            assert!(fails(&entry("F32", shape, offsets)), "{shape} {offsets}");
        }
        assert!(fails(&file("[1]", &[])) && fails(&file("{", &[])) && fails(&[1, 0, 0]));
        assert!(fails(&[255; 64]), "a header of 2⁶⁴ bytes");
        assert!(fails(&[64, 0, 0, 0, 0, 0, 0, 0, b'{']), "a header longer than the file");
        let strange = entry("F8_E4M3", "[8]", "[0,8]");
        let error = tensors(Path::new("x"), &strange).unwrap()[0].decode(Path::new("x")).unwrap_err();
        assert!(error.to_string().contains("F8_E4M3"), "{error}");
    }
}
