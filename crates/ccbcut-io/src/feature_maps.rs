//! Feature maps: any number of values per pixel or per token.
//!
//! Read, by content and not by name: NumPy arrays and archives, safetensors, TIFF with any number of bands, and every
//! image, whose channels are taken as features. Values are taken as they are, without scaling to [0, 1], and become
//! 32-bit floats.
//!
//! | shape | is |
//! |---|---|
//! | H × W × C | a map, channels last |
//! | C × H × W, with [`Layout::ChannelsFirst`] | the same, channels first |
//! | N × C, or C × N channels first, with a grid | tokens, row by row of the grid |
//! | 1 × any of these | a batch of one; three dimensions that begin with 1 are tokens, and need a grid |

use std::{io::Cursor, path::Path};

use ccbcut::Image;
use tiff::decoder::{Decoder as TiffDecoder, DecodingResult};

use crate::{
    bytes::read_file,
    error::{Error, Place, Result},
    images::{Limits, decode_image},
    npy::{self, Array, Values, decode_npy},
    npz::decode_npz,
    safetensors,
};

/// The most values of a map: 8 GiB of them.
const MAX_VALUES: usize = 1 << 31;

/// Names listed when one must be chosen.
const LISTED: usize = 12;

/// Where the channels of an array are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// H × W × C, as NumPy images and token lists have it.
    #[default]
    ChannelsLast,
    /// C × H × W, as PyTorch has it.
    ChannelsFirst,
}

/// How a file becomes a feature map.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeatureOptions {
    /// Where the channels are.
    pub layout: Layout,
    /// Height and width of the grid that a list of tokens fills.
    pub grid: Option<(usize, usize)>,
    /// Which array of an archive, or which tensor; the only one if there is one.
    pub name: Option<String>,
    /// The most positions.
    pub limits: Limits,
}

/// A feature map as it came out of its file.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureMap {
    /// The features, as the channels of an image.
    pub map: Image,
    /// The kind of file.
    pub format: &'static str,
    /// The type of the values in the file.
    pub value_type: String,
    /// The shape of the array in the file.
    pub shape: Vec<usize>,
}

/// Reads a feature map.
///
/// # Errors
/// [`Error::Shape`] for an array that is no map, or no map without a grid, [`Error::Missing`] and [`Error::Ambiguous`]
/// for an archive without the array, or with several, [`Error::TooLarge`] above the limits, [`Error::Malformed`] for
/// values that are not finite and for damaged files.
pub fn read_features(path: &Path, options: &FeatureOptions) -> Result<FeatureMap> {
    decode_features(path, &read_file(path)?, options)
}

/// Reads a feature map held in memory; `name` is for messages.
///
/// # Errors
/// As [`read_features`].
pub fn decode_features(name: &Path, bytes: &[u8], options: &FeatureOptions) -> Result<FeatureMap> {
    let (format, value_type, array) = match bytes {
        _ if bytes.starts_with(npy::MAGIC) => ("NumPy", None, decode_npy(name, bytes)?),
        [b'P', b'K', ..] => ("a NumPy archive", None, from_archive(name, bytes, options)?),
        [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..] => {
            let (kind, array) = from_tiff(name, bytes, options.limits)?;
            ("TIFF", Some(kind), array)
        }
        _ if safetensors::looks_like(bytes) => {
            let (kind, array) = from_tensors(name, bytes, options)?;
            ("safetensors", Some(kind), array)
        }
        _ => {
            let decoded = decode_image(name, bytes, options.limits).map_err(|error| match error {
                Error::Unsupported { path, found, .. } => {
                    let accepted = ".npy, .npz, .safetensors, TIFF or another image";
                    Error::Unsupported { path, what: "a feature map", found, accepted }
                }
                other => other,
            })?;
            let (map, source) = (decoded.image, decoded.source);
            let shape = vec![map.height(), map.width(), map.channels()];
            let value_type = format!("{}-bit", source.bit_depth);
            return Ok(FeatureMap { map, format: source.format, value_type, shape });
        }
    };
    // Bands of a picture are last whatever the option says: it is about arrays.
    let layout = if format == "TIFF" { Layout::ChannelsLast } else { options.layout };
    let Array { shape, values } = array;
    let value_type = value_type.unwrap_or_else(|| values.type_name().to_owned());
    let (height, width, channels) = shape_of(name, &shape, layout, options.grid)?;
    options.limits.check(name, width as u64, height as u64)?;
    let n_values = height.saturating_mul(width).saturating_mul(channels);
    if n_values > MAX_VALUES {
        let detail = format!("expected at most {MAX_VALUES} values in a feature map, got {n_values}");
        return Err(Error::malformed(name, Place::Whole, detail));
    }
    let values = to_floats(name, values)?;
    let data = match layout {
        Layout::ChannelsLast => values,
        Layout::ChannelsFirst => channels_last(&values, channels),
    };
    check_finite(name, &data, width, channels)?;
    let map = Image::new(height, width, channels, data).map_err(|e| Error::library(name, e))?;
    Ok(FeatureMap { map, format, value_type, shape })
}

/// Height, width and channels of an array.
fn shape_of(
    name: &Path,
    shape: &[usize],
    layout: Layout,
    grid: Option<(usize, usize)>,
) -> Result<(usize, usize, usize)> {
    // A batch of one; of three dimensions that is a list of tokens.
    let inner = match shape {
        [1, rest @ ..] if shape.len() == 4 || (shape.len() == 3 && grid.is_some()) => rest,
        _ => shape,
    };
    let wrong = |expected| Err(Error::shape(name, expected, shape));
    let (n, channels) = match (inner, grid, layout) {
        (&[1, _, _], None, _) => {
            return wrong("H x W x C with more than one row, or tokens with the grid they fill");
        }
        (&[height, width, channels], grid, Layout::ChannelsLast)
        | (&[channels, height, width], grid, Layout::ChannelsFirst) => {
            if grid.is_some_and(|grid| grid != (height, width)) {
                return wrong("a map of the size of the grid, or a list of tokens");
            }
            return Ok((height, width, channels.max(1)));
        }
        (&[n, channels], Some(_), Layout::ChannelsLast)
        | (&[channels, n], Some(_), Layout::ChannelsFirst) => (n, channels),
        (&[_, _], None, _) => return wrong("H x W x C, or a list of tokens with the grid they fill"),
        _ => return wrong("H x W x C, or N x C with a grid, or one of these in a batch of one"),
    };
    let (height, width) = grid.unwrap_or((1, n));
    if height.checked_mul(width) != Some(n) {
        let holds = height.saturating_mul(width);
        let mut detail = format!("expected the {holds} tokens of a grid of {height} x {width}, got {n}");
        if n > holds && n - holds <= 8 {
            detail += "; a class token and registers must be left out";
        }
        return Err(Error::malformed(name, Place::Whole, detail));
    }
    Ok((height, width, channels.max(1)))
}

/// The values as 32-bit floats.
#[expect(clippy::cast_lossless, reason = "one line serves every number type")]
fn to_floats(name: &Path, values: Values) -> Result<Vec<f32>> {
    macro_rules! cast {
        ($v:expr) => {
            $v.into_iter().map(|x| x as f32).collect()
        };
    }
    Ok(match values {
        Values::F32(v) => v,
        Values::F64(v) => cast!(v),
        Values::U8(v) => cast!(v),
        Values::U16(v) => cast!(v),
        Values::U32(v) => cast!(v),
        Values::U64(v) => cast!(v),
        Values::I8(v) => cast!(v),
        Values::I16(v) => cast!(v),
        Values::I32(v) => cast!(v),
        Values::I64(v) => cast!(v),
        other @ (Values::Bool(_) | Values::Text(_)) => {
            let found = format!("an array of {}", other.type_name());
            return Err(Error::unsupported(name, "a feature map", found, "floats or integers"));
        }
    })
}

/// C × N as N × C.
fn channels_last(values: &[f32], channels: usize) -> Vec<f32> {
    let n = values.len() / channels;
    let mut out = vec![0.0; values.len()];
    for (channel, plane) in values.chunks_exact(n.max(1)).enumerate() {
        out[channel..].iter_mut().step_by(channels).zip(plane).for_each(|(out, &v)| *out = v);
    }
    out
}

/// Fails at the first value that is infinite or not a number, 64-bit floats beyond the 32-bit ones included.
fn check_finite(name: &Path, data: &[f32], width: usize, channels: usize) -> Result<()> {
    let Some(at) = data.iter().position(|v| !v.is_finite()) else { return Ok(()) };
    let (row, column, channel) = (at / channels / width, at / channels % width, at % channels);
    let detail = format!(
        "expected finite numbers, got {} at row {row}, column {column}, channel {channel} (counted from 0)",
        data[at]
    );
    Err(Error::malformed(name, Place::Whole, detail))
}

/// The array of an archive that was asked for, or the only one that can be a map.
fn from_archive(name: &Path, bytes: &[u8], options: &FeatureOptions) -> Result<Array> {
    let archive = decode_npz(name, bytes)?;
    let is_map =
        |array: &Array| (2..=4).contains(&array.shape.len()) && !matches!(array.values, Values::Text(_));
    let maps = archive.names().filter(|key| archive.array(key).is_ok_and(is_map)).map(str::to_owned);
    let all: Vec<String> = archive.names().map(str::to_owned).collect();
    let key = choose(name, maps.collect(), options, &all)?;
    archive.array(&key).cloned()
}

/// The tensor that was asked for, or the only one that can be a map, and its type.
fn from_tensors(name: &Path, bytes: &[u8], options: &FeatureOptions) -> Result<(String, Array)> {
    let tensors = safetensors::tensors(name, bytes)?;
    let maps = tensors.iter().filter(|tensor| (2..=4).contains(&tensor.shape.len()));
    let all: Vec<String> = tensors.iter().map(|tensor| tensor.name.clone()).collect();
    let key = choose(name, maps.map(|tensor| tensor.name.clone()).collect(), options, &all)?;
    let missing = || Error::missing(name, format!("tensor named `{key}`"));
    let tensor = tensors.iter().find(|tensor| tensor.name == key).ok_or_else(missing)?;
    Ok((tensor.kind.clone(), tensor.decode(name)?))
}

/// One of the names: that asked for, or the only candidate.
fn choose(path: &Path, maps: Vec<String>, options: &FeatureOptions, all: &[String]) -> Result<String> {
    let found = || {
        let shown = all.iter().take(LISTED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        if all.len() > LISTED { format!("{shown} and {} more", all.len() - LISTED) } else { shown }
    };
    if let Some(name) = &options.name {
        if all.contains(name) {
            return Ok(name.clone());
        }
        return Err(Error::missing(path, format!("array named `{name}`; it holds {}", found())));
    }
    match <[String; 1]>::try_from(maps) {
        Ok([one]) => Ok(one),
        Err(maps) if maps.is_empty() => Err(Error::missing(path, "array of two to four dimensions")),
        Err(_) => Err(Error::Ambiguous { path: path.to_path_buf(), found: found() }),
    }
}

/// The type of the values of a TIFF and its bands: height × width × bands.
fn from_tiff(path: &Path, bytes: &[u8], limits: Limits) -> Result<(String, Array)> {
    let failed = |e: tiff::TiffError| Error::Decode {
        path: path.to_path_buf(),
        format: "TIFF",
        detail: e.to_string().to_lowercase(),
    };
    let mut decoder = TiffDecoder::new(Cursor::new(bytes)).map_err(failed)?;
    let (width, height) = decoder.dimensions().map_err(failed)?;
    limits.check(path, u64::from(width), u64::from(height))?;
    let bands = decoder.find_tag_unsigned::<u16>(tiff::tags::Tag::SamplesPerPixel).map_err(failed)?;
    let bands = usize::from(bands.unwrap_or(1));
    let n_pixels = width as usize * height as usize;
    let mut room = tiff::decoder::Limits::default();
    room.decoding_buffer_size = n_pixels.saturating_mul(bands).min(MAX_VALUES).saturating_mul(8);
    room.intermediate_buffer_size = room.decoding_buffer_size;
    let mut decoder = decoder.with_limits(room);
    let is_planar = decoder
        .find_tag_unsigned::<u16>(tiff::tags::Tag::PlanarConfiguration)
        .map_err(failed)?
        .is_some_and(|planar| planar == 2);
    let mut result = DecodingResult::U8(Vec::new());
    decoder.read_image_to_buffer(&mut result).map_err(failed)?;
    let values = match result {
        DecodingResult::U8(v) => Values::U8(v),
        DecodingResult::U16(v) => Values::U16(v),
        DecodingResult::U32(v) => Values::U32(v),
        DecodingResult::U64(v) => Values::U64(v),
        DecodingResult::I8(v) => Values::I8(v),
        DecodingResult::I16(v) => Values::I16(v),
        DecodingResult::I32(v) => Values::I32(v),
        DecodingResult::I64(v) => Values::I64(v),
        DecodingResult::F16(v) => Values::F32(v.into_iter().map(f32::from).collect()),
        DecodingResult::F32(v) => Values::F32(v),
        DecodingResult::F64(v) => Values::F64(v),
    };
    if n_pixels.checked_mul(bands) != Some(values.len()) {
        let found = format!("a TIFF of {bands} bands in an order that cannot be read");
        let accepted = "a TIFF of gray bands, or .npy";
        return Err(Error::unsupported(path, "a feature map", found, accepted));
    }
    let kind = values.type_name().to_owned();
    let values = if is_planar && bands > 1 {
        Values::F32(channels_last(&to_floats(path, values)?, bands))
    } else {
        values
    };
    Ok((kind, Array { shape: vec![height as usize, width as usize, bands], values }))
}

/// How many bands a TIFF has, when it is one.
pub(crate) fn tiff_bands(bytes: &[u8]) -> Option<usize> {
    let mut decoder = TiffDecoder::new(Cursor::new(bytes)).ok()?;
    let bands = decoder.find_tag_unsigned::<u16>(tiff::tags::Tag::SamplesPerPixel).ok()?;
    Some(usize::from(bands.unwrap_or(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npy::encode_npy;

    fn decode(shape: &[usize], options: &FeatureOptions) -> Result<FeatureMap> {
        let values: Vec<f32> = (0..shape.iter().product::<usize>()).map(|v| v as f32).collect();
        decode_features(Path::new("x.npy"), &encode_npy(shape, &values), options)
    }

    fn sizes(map: &FeatureMap) -> (usize, usize, usize) {
        (map.map.height(), map.map.width(), map.map.channels())
    }

    #[test]
    fn every_layout_is_a_map() {
        let last = FeatureOptions::default();
        let first = FeatureOptions { layout: Layout::ChannelsFirst, ..last.clone() };
        let grid = FeatureOptions { grid: Some((2, 3)), ..last.clone() };
        let both = FeatureOptions { grid: Some((2, 3)), ..first.clone() };
        for (shape, options) in [
            (&[2, 3, 5][..], &last),
            (&[1, 2, 3, 5], &last),
            (&[5, 2, 3], &first),
            (&[1, 5, 2, 3], &first),
            (&[6, 5], &grid),
            (&[1, 6, 5], &grid),
            (&[2, 3, 5], &grid),
            (&[5, 6], &both),
        ] {
            let map = decode(shape, options).unwrap();
            assert_eq!(sizes(&map), (2, 3, 5), "{shape:?}");
            let is_first = options.layout == Layout::ChannelsFirst;
            let want = if is_first { [5.0, 11.0, 17.0, 23.0, 29.0] } else { [25.0, 26.0, 27.0, 28.0, 29.0] };
            assert_eq!(map.map.pixel(5), want, "{shape:?}");
        }
    }

    #[test]
    fn shapes_without_a_meaning_say_what_is_missing() {
        let last = FeatureOptions::default();
        let grid = FeatureOptions { grid: Some((2, 3)), ..last.clone() };
        let says = |shape: &[usize], options: &FeatureOptions, word: &str| {
            let error = decode(shape, options).unwrap_err().to_string();
            assert!(error.contains(word), "{shape:?}: {error}");
        };
        says(&[6, 5], &last, "grid");
        says(&[1, 6, 5], &last, "grid");
        says(&[7, 5], &grid, "class token");
        says(&[60, 5], &grid, "6 tokens");
        says(&[3, 2, 5], &grid, "grid");
        says(&[5], &last, "H x W x C");
        says(&[2, 2, 3, 5], &last, "H x W x C");
        says(&[0, 3, 5], &last, "at least one pixel");
        let few = FeatureOptions { limits: Limits { max_pixels: 5 }, ..last };
        says(&[2, 3, 1], &few, "above the limit");
    }

    #[test]
    fn values_that_are_no_numbers_are_located() {
        let says = |bytes: &[u8], word: &str| {
            let options = FeatureOptions::default();
            let error = decode_features(Path::new("x"), bytes, &options).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        };
        let mut values = vec![1.0_f32; 30];
        values[23] = f32::NAN;
        says(&encode_npy(&[2, 3, 5], &values), "NaN at row 1, column 1, channel 3");
        says(&encode_npy(&[2, 1, 1], &[1.0, 1e300]), "inf at row 1, column 0, channel 0");
        says(b"hello", "a feature map must be");
        says(b"", "a feature map must be");
    }

    #[test]
    fn archives_are_asked_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npz");
        let arrays: [(&str, &[usize], &[f64]); 3] =
            [("a", &[2, 1, 1], &[1.0, 2.0]), ("b", &[1, 2, 2], &[1.0; 4]), ("n", &[1], &[1.0])];
        crate::write_npz(&path, &arrays, crate::Overwrite::Allow).unwrap();
        let error = read_features(&path, &FeatureOptions::default()).unwrap_err().to_string();
        assert!(error.contains("`a`, `b`"), "{error}");
        let named = |name: &str| {
            read_features(&path, &FeatureOptions { name: Some(name.into()), ..FeatureOptions::default() })
        };
        assert_eq!(named("a").unwrap().map.data(), [1.0, 2.0]);
        assert!(named("c").unwrap_err().to_string().contains("named `c`"));
        crate::write_npz(&path, &arrays[..1], crate::Overwrite::Allow).unwrap();
        let map = read_features(&path, &FeatureOptions::default()).unwrap();
        assert_eq!((map.value_type.as_str(), map.shape), ("float64", vec![2, 1, 1]));
    }
}
