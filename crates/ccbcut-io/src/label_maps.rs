//! Label maps by file name.
//!
//! | ending | numbers | void pixels |
//! |---|---|---|
//! | `.png` | 16-bit gray, from 0 | 65 535 |
//! | `.npy` | int32, from 0 | −1 |
//! | `.tif`, `.tiff` | 32-bit gray, from 0 | 4 294 967 295 |
//! | `.mat` | cell `segs`, from 1 | 0 |
//!
//! Read back: the same, 8-bit PNG and TIFF (no void), and the human segmentations of BSDS500 (`groundTruth`). Parts
//! are renumbered by first appearance, as [`LabelMap`] does.

use std::{io::Cursor, path::Path};

use ccbcut::LabelMap;
use image::DynamicImage;
use tiff::{
    decoder::{Decoder as TiffDecoder, DecodingResult},
    encoder::{TiffEncoder, colortype::Gray32},
};

use crate::{
    atomic::{Overwrite, write_whole},
    bytes::{extension, read_file},
    error::{Error, Place, Result},
    images::{Limits, decode_pixels, encode_png_gray16},
    mat::{self, UnsignedMatrix, Variable},
    npy,
};

/// What is read and written, for messages.
const ACCEPTED: &str = ".png, .npy, .tif or .mat";
/// The most labels a 16-bit PNG holds: one value is kept for the void.
const MAX_PNG_LABELS: usize = 65_535;

/// Writes one label map; the ending of the file name says how.
///
/// # Errors
/// [`Error::Unsupported`] for another ending, [`Error::TooManySegments`] when a PNG cannot number the parts,
/// [`Error::Encode`] for a size the format cannot express, and the errors of [`write_whole`].
pub fn write_label_map(path: &Path, map: &LabelMap, overwrite: Overwrite) -> Result<()> {
    write_whole(path, &encode_label_map(path, map)?, overwrite)
}

/// The bytes [`write_label_map`] writes; for a group of outputs.
///
/// # Errors
/// As [`write_label_map`].
pub fn encode_label_map(path: &Path, map: &LabelMap) -> Result<Vec<u8>> {
    match extension(path).as_str() {
        "png" => encode_png(path, map),
        "npy" => {
            // The void, u32::MAX, turns into -1.
            let values: Vec<i32> = map.as_slice().iter().map(|&v| v as i32).collect();
            Ok(npy::encode_npy(&[map.height(), map.width()], &values))
        }
        "tif" | "tiff" => encode_tiff(path, map),
        "mat" => encode_segs(path, std::slice::from_ref(map)),
        _ => Err(Error::extension(path, "a label map", ACCEPTED)),
    }
}

/// Writes several label maps of one image into one `.mat` file: the cell `segs`, as the BSDS benchmark reads it.
///
/// # Errors
/// [`Error::Unsupported`] for another ending, [`Error::Encode`] above 4 GiB, and the errors of [`write_whole`].
pub fn write_segs(path: &Path, maps: &[LabelMap], overwrite: Overwrite) -> Result<()> {
    write_whole(path, &encode_segs(path, maps)?, overwrite)
}

/// The bytes [`write_segs`] writes; for a group of outputs.
///
/// # Errors
/// As [`write_segs`].
pub fn encode_segs(path: &Path, maps: &[LabelMap]) -> Result<Vec<u8>> {
    if extension(path) != "mat" {
        return Err(Error::extension(path, "a file of several label maps", ".mat"));
    }
    let matrices: Vec<UnsignedMatrix> = maps.iter().map(to_matrix).collect();
    mat::encode_cell("segs", &matrices).ok_or_else(|| Error::Encode {
        path: path.to_path_buf(),
        format: "a MATLAB file",
        detail: "the label maps are above 4 GiB; use .npy instead".to_owned(),
    })
}

/// Column by column, from 1, void 0.
fn to_matrix(map: &LabelMap) -> UnsignedMatrix {
    let (height, width) = (map.height(), map.width());
    let labels = map.as_slice();
    let mut values = Vec::with_capacity(labels.len());
    for column in 0..width {
        values.extend((0..height).map(|row| labels[row * width + column].wrapping_add(1)));
    }
    UnsignedMatrix { height, width, values }
}

fn encode_png(path: &Path, map: &LabelMap) -> Result<Vec<u8>> {
    if map.n_segments() > MAX_PNG_LABELS {
        return Err(Error::TooManySegments {
            path: path.to_path_buf(),
            segments: map.n_segments(),
            format: "a 16-bit PNG",
            limit: MAX_PNG_LABELS,
            alternatives: "`.npy` or `.tif`",
        });
    }
    // The void, u32::MAX, is cut to 65,535.
    let values: Vec<u16> = map.as_slice().iter().map(|&v| v as u16).collect();
    encode_png_gray16(path, map.height(), map.width(), &values)
}

fn encode_tiff(path: &Path, map: &LabelMap) -> Result<Vec<u8>> {
    let failed = |detail: String| Error::Encode { path: path.to_path_buf(), format: "TIFF", detail };
    let side = |v: usize| u32::try_from(v).ok().filter(|&v| v > 0);
    let (Some(width), Some(height)) = (side(map.width()), side(map.height())) else {
        return Err(failed(format!("{} x {} pixels cannot be expressed", map.width(), map.height())));
    };
    let mut out = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut out).map_err(|e| failed(e.to_string()))?;
    encoder.write_image::<Gray32>(width, height, map.as_slice()).map_err(|e| failed(e.to_string()))?;
    Ok(out.into_inner())
}

/// Reads one label map; of a `.mat` file the first.
///
/// # Errors
/// [`Error::Unsupported`] for another kind of file, [`Error::TooLarge`] above the limit, [`Error::Malformed`],
/// [`Error::Decode`], [`Error::Shape`] or [`Error::Missing`] for a file that does not hold a label map.
pub fn read_label_map(path: &Path, limits: Limits) -> Result<LabelMap> {
    let mut maps = read_label_maps(path, limits)?;
    if maps.is_empty() {
        return Err(Error::missing(path, "label map"));
    }
    Ok(maps.swap_remove(0))
}

/// Reads every label map of a file: several for `.mat`, one otherwise.
///
/// A `.mat` file holds a cell `segs`, or `groundTruth` with a `Segmentation` from each person, as BSDS500 has it.
///
/// # Errors
/// As [`read_label_map`].
pub fn read_label_maps(path: &Path, limits: Limits) -> Result<Vec<LabelMap>> {
    let decode = decoder(path)?;
    decode(path, &read_file(path)?, limits)
}

/// Reads every label map of a file held in memory; the ending of `name` says how.
///
/// # Errors
/// As [`read_label_map`].
pub fn decode_label_maps(name: &Path, bytes: &[u8], limits: Limits) -> Result<Vec<LabelMap>> {
    decoder(name)?(name, bytes, limits)
}

/// How one kind of file is read.
type Decoder = fn(&Path, &[u8], Limits) -> Result<Vec<LabelMap>>;

/// The reader for a file name, chosen before the file is opened.
fn decoder(name: &Path) -> Result<Decoder> {
    match extension(name).as_str() {
        "png" => Ok(|name, bytes, limits| Ok(vec![decode_png(name, bytes, limits)?])),
        "npy" => Ok(|name, bytes, limits| Ok(vec![decode_npy(name, bytes, limits)?])),
        "tif" | "tiff" => Ok(|name, bytes, limits| Ok(vec![decode_tiff(name, bytes, limits)?])),
        "mat" => Ok(decode_mat),
        _ => Err(Error::extension(name, "a label map", ACCEPTED)),
    }
}

fn decode_png(path: &Path, bytes: &[u8], limits: Limits) -> Result<LabelMap> {
    let (pixels, source) = decode_pixels(path, bytes, limits)?;
    let (height, width) = (pixels.height() as usize, pixels.width() as usize);
    let raw: Vec<u32> = match pixels {
        DynamicImage::ImageLuma8(p) => p.into_raw().into_iter().map(u32::from).collect(),
        DynamicImage::ImageLuma16(p) => {
            let void = |v: u16| if v == u16::MAX { LabelMap::VOID } else { u32::from(v) };
            p.into_raw().into_iter().map(void).collect()
        }
        _ => {
            let found = format!("a {} of {} channels", source.format, source.channels);
            return Err(Error::unsupported(path, "a label map", found, "gray, one channel"));
        }
    };
    LabelMap::new(height, width, &raw).map_err(|e| Error::library(path, e))
}

fn decode_npy(path: &Path, bytes: &[u8], limits: Limits) -> Result<LabelMap> {
    let array = npy::decode_npy(path, bytes)?;
    let [height, width] = array.shape[..] else {
        return Err(Error::shape(path, "(height, width)", &array.shape));
    };
    limits.check(path, width as u64, height as u64)?;
    let type_name = array.values.type_name();
    let values = array.values.to_i64().ok_or_else(|| {
        Error::malformed(
            path,
            Place::Whole,
            format!("expected whole numbers, got {type_name} values that are not"),
        )
    })?;
    let raw = values.into_iter().map(|v| to_label(path, v)).collect::<Result<Vec<u32>>>()?;
    LabelMap::new(height, width, &raw).map_err(|e| Error::library(path, e))
}

/// A number from a file as a label, −1 being the void.
fn to_label(path: &Path, value: i64) -> Result<u32> {
    match u32::try_from(value) {
        Ok(label) => Ok(label),
        Err(_) if value == -1 => Ok(LabelMap::VOID),
        Err(_) => {
            let detail = format!("expected labels from 0 to 4294967294, or -1 for the void, got {value}");
            Err(Error::malformed(path, Place::Whole, detail))
        }
    }
}

fn decode_tiff(path: &Path, bytes: &[u8], limits: Limits) -> Result<LabelMap> {
    let failed = |e: tiff::TiffError| Error::Decode {
        path: path.to_path_buf(),
        format: "TIFF",
        detail: e.to_string().to_lowercase(),
    };
    let mut decoder = TiffDecoder::new(Cursor::new(bytes)).map_err(failed)?;
    let (width, height) = decoder.dimensions().map_err(failed)?;
    limits.check(path, u64::from(width), u64::from(height))?;
    if !matches!(decoder.colortype().map_err(failed)?, tiff::ColorType::Gray(_)) {
        return Err(Error::unsupported(path, "a label map", "a TIFF in colour", "gray, one channel"));
    }
    let mut room = tiff::decoder::Limits::default();
    room.decoding_buffer_size = usize::try_from(limits.max_pixels.saturating_mul(8)).unwrap_or(usize::MAX);
    room.intermediate_buffer_size = room.decoding_buffer_size;
    let raw: Vec<u32> = match decoder.with_limits(room).read_image().map_err(failed)? {
        DecodingResult::U8(v) => v.into_iter().map(u32::from).collect(),
        DecodingResult::U16(v) => {
            v.into_iter().map(|v| if v == u16::MAX { LabelMap::VOID } else { u32::from(v) }).collect()
        }
        DecodingResult::U32(v) => v,
        DecodingResult::I32(v) => {
            v.into_iter().map(|v| to_label(path, i64::from(v))).collect::<Result<_>>()?
        }
        _ => {
            let found = "a TIFF of other numbers";
            return Err(Error::unsupported(path, "a label map", found, "8-, 16- or 32-bit integers"));
        }
    };
    LabelMap::new(height as usize, width as usize, &raw).map_err(|e| Error::library(path, e))
}

fn decode_mat(path: &Path, bytes: &[u8], limits: Limits) -> Result<Vec<LabelMap>> {
    let variables = mat::decode(path, bytes, "a label map")?;
    let find = |name: &str| variables.iter().find(|(n, _)| n == name).map(|(_, value)| value);
    if let Some(Variable::Cell(cells)) = find("segs") {
        return cells.iter().map(|cell| from_matrix(path, cell, limits)).collect();
    }
    if let Some(Variable::Cell(cells)) = find("groundTruth") {
        let segmentation = |cell: &Variable| {
            let missing = || Error::missing(path, "field `Segmentation` in an element of `groundTruth`");
            from_matrix(path, cell.field("Segmentation").ok_or_else(missing)?, limits)
        };
        return cells.iter().map(segmentation).collect();
    }
    Err(Error::missing(path, "cell named `segs` or `groundTruth`"))
}

/// A matrix of labels from 1, 0 being the void.
pub(crate) fn from_matrix(path: &Path, matrix: &Variable, limits: Limits) -> Result<LabelMap> {
    let Variable::Numeric { shape, values } = matrix else {
        return Err(Error::malformed(path, Place::Whole, "expected a matrix of numbers as a segmentation"));
    };
    let [height, width] = shape[..] else {
        return Err(Error::shape(path, "(height, width)", shape));
    };
    limits.check(path, width as u64, height as u64)?;
    let mut raw = vec![LabelMap::VOID; values.len()];
    for (position, &value) in values.iter().enumerate() {
        if value.fract() != 0.0 || !(0.0..=f64::from(u32::MAX)).contains(&value) {
            let detail = format!("expected labels from 1, or 0 for the void, got {value}");
            return Err(Error::malformed(path, Place::Whole, detail));
        }
        let (column, row) = (position / height, position % height);
        raw[row * width + column] = (value as u32).wrapping_sub(1);
    }
    LabelMap::new(height, width, &raw).map_err(|e| Error::library(path, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> LabelMap {
        let void = LabelMap::VOID;
        LabelMap::new(3, 4, &[0, 0, 1, void, 0, 2, 2, 1, 3, 3, 2, void]).unwrap()
    }

    #[test]
    fn label_maps_go_through_files_of_every_kind() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.png", "a.npy", "a.tif", "a.tiff", "a.mat"] {
            let path = folder.path().join(name);
            write_label_map(&path, &sample(), Overwrite::Refuse).unwrap();
            assert_eq!(read_label_map(&path, Limits::default()).unwrap(), sample(), "{name}");
            assert!(read_label_map(&path, Limits { max_pixels: 11 }).is_err(), "{name}");
        }
        let path = folder.path().join("levels.mat");
        let levels = [sample(), sample().connected()];
        write_segs(&path, &levels, Overwrite::Refuse).unwrap();
        assert_eq!(read_label_maps(&path, Limits::default()).unwrap(), levels);
        assert!(matches!(encode_segs(Path::new("a.npy"), &levels), Err(Error::Unsupported { .. })));
        assert!(matches!(encode_label_map(Path::new("a.jpg"), &sample()), Err(Error::Unsupported { .. })));
    }

    #[test]
    fn a_png_refuses_what_it_cannot_number() {
        let many = |n: u32| LabelMap::new(1, n as usize, &(0..n).collect::<Vec<_>>()).unwrap();
        let path = Path::new("a.png");
        let bytes = encode_label_map(path, &many(65_535)).unwrap();
        assert_eq!(decode_png(path, &bytes, Limits::default()).unwrap(), many(65_535));
        let error = encode_label_map(path, &many(65_536)).unwrap_err().to_string();
        assert!(error.contains("65536 labels") && error.contains("`.npy` or `.tif`"), "{error}");
        let bytes = encode_label_map(Path::new("a.mat"), &many(65_536)).unwrap();
        assert_eq!(decode_mat(path, &bytes, Limits::default()).unwrap(), [many(65_536)]);
    }

    #[test]
    fn arrays_that_are_not_labels_are_refused() {
        let path = Path::new("a.npy");
        let read = |bytes: Vec<u8>| decode_npy(path, &bytes, Limits::default());
        assert!(matches!(read(npy::encode_npy(&[3], &[0_i32; 3])), Err(Error::Shape { .. })));
        assert!(read(npy::encode_npy(&[1, 1], &[-2_i32])).unwrap_err().to_string().contains("got -2"));
        assert!(read(npy::encode_npy(&[1, 1], &[0.5_f64])).is_err());
        assert_eq!(read(npy::encode_npy(&[1, 2], &[7.0_f64, -1.0])).unwrap().n_segments(), 1);
    }
}
