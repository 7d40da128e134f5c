//! Volumes in (`.npy` of three or four dimensions, TIFF of several pages), their label maps out.

use std::{io::Cursor, path::Path};

use ccbcut::image::volume::Volume;
use tiff::{
    decoder::{Decoder as TiffDecoder, DecodingResult},
    encoder::{TiffEncoder, colortype::Gray32},
};

use crate::{
    bytes::{extension, read_file},
    error::{Error, Place, Result},
    images::Limits,
    npy::{self, Values},
};

/// What is read and written, for messages.
const ACCEPTED: &str = ".npy or .tif";

/// A volume as it came out of its file.
#[derive(Debug, Clone)]
pub struct VolumeFile {
    /// The voxels.
    pub volume: Volume,
    /// Whether the three channels are colours from 0 to 1: 8- and 16-bit ones are.
    pub is_color: bool,
}

/// Reads a volume.
///
/// `.npy` holds depth × height × width, or with the channels of each voxel as a fourth dimension. A TIFF holds one slice
/// per page, all of one size, gray or colour.
///
/// # Errors
/// [`Error::Unsupported`] for another ending or other pages, [`Error::Shape`], [`Error::TooLarge`] above the limit of
/// voxels, [`Error::Decode`] or [`Error::Malformed`] for damage, [`Error::Library`] for values that are not finite.
pub fn read_volume(path: &Path, limits: Limits) -> Result<VolumeFile> {
    match extension(path).as_str() {
        "npy" | "tif" | "tiff" => decode_volume(path, &read_file(path)?, limits),
        _ => Err(Error::extension(path, "a volume", ACCEPTED)),
    }
}

/// Reads a volume held in memory; the ending of `name` says how.
///
/// # Errors
/// As [`read_volume`].
pub fn decode_volume(name: &Path, bytes: &[u8], limits: Limits) -> Result<VolumeFile> {
    match extension(name).as_str() {
        "npy" => decode_npy(name, bytes, limits),
        "tif" | "tiff" => decode_pages(name, bytes, limits),
        _ => Err(Error::extension(name, "a volume", ACCEPTED)),
    }
}

fn decode_npy(path: &Path, bytes: &[u8], limits: Limits) -> Result<VolumeFile> {
    let array = npy::decode_npy(path, bytes)?;
    let (shape, channels) = match array.shape[..] {
        [depth, height, width] => ([depth, height, width], 1),
        [depth, height, width, channels] => ([depth, height, width], channels),
        _ => return Err(Error::shape(path, "(depth, height, width), perhaps with channels", &array.shape)),
    };
    limits.check(path, shape[2] as u64, (shape[0] as u64).saturating_mul(shape[1] as u64))?;
    let largest = match array.values {
        Values::U8(_) => 255.0,
        Values::U16(_) => 65535.0,
        _ => 1.0,
    };
    let is_color = channels == 3 && largest > 1.0;
    let type_name = array.values.type_name();
    let values = array.values.to_f64().ok_or_else(|| {
        Error::malformed(path, Place::Whole, format!("expected numbers, got {type_name} values"))
    })?;
    let scale = if is_color { largest } else { 1.0 };
    let data = values.into_iter().map(|v| (v / scale) as f32).collect();
    let volume = Volume::new(shape, channels, data).map_err(|e| Error::library(path, e))?;
    Ok(VolumeFile { volume, is_color })
}

fn decode_pages(path: &Path, bytes: &[u8], limits: Limits) -> Result<VolumeFile> {
    let failed = |e: tiff::TiffError| Error::Decode {
        path: path.to_path_buf(),
        format: "TIFF",
        detail: e.to_string().to_lowercase(),
    };
    let mut decoder = TiffDecoder::new(Cursor::new(bytes)).map_err(failed)?;
    let first = decoder.dimensions().map_err(failed)?;
    let (mut depth, mut data, mut channels) = (0_usize, Vec::new(), 0);
    loop {
        let size = decoder.dimensions().map_err(failed)?;
        if size != first {
            let detail = format!(
                "page {} is {} x {} pixels, but the first is {} x {}",
                depth + 1,
                size.0,
                size.1,
                first.0,
                first.1
            );
            return Err(Error::malformed(path, Place::Whole, detail));
        }
        limits.check(path, u64::from(size.0), u64::from(size.1).saturating_mul(depth as u64 + 1))?;
        let page_channels = match decoder.colortype().map_err(failed)? {
            tiff::ColorType::Gray(_) => 1,
            tiff::ColorType::RGB(8 | 16) => 3,
            other => {
                let found = format!("a TIFF of {other:?}");
                return Err(Error::unsupported(
                    path,
                    "a volume",
                    &found,
                    "gray pages, or RGB of 8 or 16 bits",
                ));
            }
        };
        if depth > 0 && page_channels != channels {
            let detail = format!("page {} is not of the kind of the first", depth + 1);
            return Err(Error::malformed(path, Place::Whole, detail));
        }
        channels = page_channels;
        append(path, decoder.read_image().map_err(failed)?, channels == 3, &mut data)?;
        depth += 1;
        if !decoder.more_images() {
            break;
        }
        decoder.next_image().map_err(failed)?;
    }
    let shape = [depth, first.1 as usize, first.0 as usize];
    let volume = Volume::new(shape, channels, data).map_err(|e| Error::library(path, e))?;
    Ok(VolumeFile { volume, is_color: channels == 3 })
}

/// The values of a page; colours become numbers from 0 to 1.
fn append(path: &Path, page: DecodingResult, is_color: bool, data: &mut Vec<f32>) -> Result<()> {
    let by = |largest: f32| if is_color { largest } else { 1.0 };
    match page {
        DecodingResult::U8(v) => data.extend(v.into_iter().map(|v| f32::from(v) / by(255.0))),
        DecodingResult::U16(v) => data.extend(v.into_iter().map(|v| f32::from(v) / by(65535.0))),
        DecodingResult::U32(v) => data.extend(v.into_iter().map(|v| v as f32)),
        DecodingResult::I8(v) => data.extend(v.into_iter().map(f32::from)),
        DecodingResult::I16(v) => data.extend(v.into_iter().map(f32::from)),
        DecodingResult::I32(v) => data.extend(v.into_iter().map(|v| v as f32)),
        DecodingResult::F32(v) => data.extend(v),
        DecodingResult::F64(v) => data.extend(v.into_iter().map(|v| v as f32)),
        _ => {
            let found = "a TIFF of 64-bit or half-precision numbers";
            return Err(Error::unsupported(path, "a volume", found, "numbers of 8 to 32 bits, or doubles"));
        }
    }
    Ok(())
}

/// The bytes of the label map of a volume, one number per voxel: an int32 array with −1 for the void, or a TIFF of 32-bit pages.
///
/// # Errors
/// [`Error::Unsupported`] for another ending, [`Error::Encode`] for sizes that TIFF cannot express.
pub fn encode_label_volume(
    path: &Path,
    [depth, height, width]: [usize; 3],
    labels: &[u32],
) -> Result<Vec<u8>> {
    if extension(path) == "npy" {
        let values: Vec<i32> = labels.iter().map(|&v| v as i32).collect();
        return Ok(npy::encode_npy(&[depth, height, width], &values));
    }
    if !["tif", "tiff"].contains(&extension(path).as_str()) {
        return Err(Error::extension(path, "the label map of a volume", ACCEPTED));
    }
    let failed = |detail: String| Error::Encode { path: path.to_path_buf(), format: "TIFF", detail };
    let side = |v: usize| u32::try_from(v).ok().filter(|&v| v > 0);
    let (Some(w), Some(h)) = (side(width), side(height)) else {
        return Err(failed(format!("{width} x {height} pixels cannot be expressed")));
    };
    let mut out = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut out).map_err(|e| failed(e.to_string()))?;
    for page in labels.chunks_exact(height * width) {
        encoder.write_image::<Gray32>(w, h, page).map_err(|e| failed(e.to_string()))?;
    }
    Ok(out.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npy::encode_npy;

    #[test]
    fn arrays_and_pages_are_volumes() {
        let limits = Limits::default();
        let gray = encode_npy(&[2, 3, 4], &(0..24).map(f64::from).collect::<Vec<f64>>());
        let read = decode_volume(Path::new("v.npy"), &gray, limits).unwrap();
        assert_eq!((read.volume.shape(), read.volume.channels(), read.is_color), ([2, 3, 4], 1, false));
        assert_eq!(read.volume.voxel(13), &[13.0]);
        let color = encode_npy(&[1, 1, 2, 3], &[0_u8, 51, 255, 255, 0, 0]);
        let read = decode_volume(Path::new("v.npy"), &color, limits).unwrap();
        assert!(read.is_color && read.volume.voxel(0) == [0.0, 0.2, 1.0]);
        let labels: Vec<u32> = (0..24).map(|p| p / 5).collect();
        let pages = encode_label_volume(Path::new("v.tif"), [2, 3, 4], &labels).unwrap();
        let read = decode_volume(Path::new("v.tif"), &pages, limits).unwrap();
        assert_eq!(read.volume.shape(), [2, 3, 4]);
        let back: Vec<u32> = read.volume.data().iter().map(|&v| v as u32).collect();
        assert_eq!(back, labels);
        let array = encode_label_volume(Path::new("v.npy"), [2, 3, 4], &labels).unwrap();
        assert_eq!(npy::decode_npy(Path::new("v.npy"), &array).unwrap().shape, [2, 3, 4]);
    }

    #[test]
    fn what_is_no_volume_says_so() {
        let says = |name: &str, bytes: &[u8], limit: u64, word: &str| {
            let error =
                decode_volume(Path::new(name), bytes, Limits { max_pixels: limit }).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        };
        let flat = encode_npy(&[3, 4], &[0.0; 12]);
        says("a.npy", &flat, 100, "depth");
        says("a.npy", &encode_npy(&[3, 4, 5], &[0.0; 60]), 59, "above the limit");
        says("a.npy", &encode_npy(&[1, 1, 2], &[0.0, f64::NAN]), 9, "does not hold what is needed");
        says("a.tif", b"II*\0", 9, "decoded");
        says("a.png", &flat, 9, ".npy or .tif");
        let pages = encode_label_volume(Path::new("v.tif"), [3, 2, 2], &[0; 12]).unwrap();
        says("a.tif", &pages, 8, "above the limit");
        assert!(decode_volume(Path::new("a.tif"), &pages[..pages.len() - 9], Limits::default()).is_err());
        assert!(encode_label_volume(Path::new("v.png"), [1, 1, 1], &[0]).is_err());
    }
}
