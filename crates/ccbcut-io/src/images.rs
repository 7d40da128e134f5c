//! Photographs and arrays in, pictures out.
//!
//! Read, by content and not by name: PNG, JPEG, TIFF, WebP, BMP, PNM and NumPy arrays. Values lie in [0, 1]: 8-bit
//! ones are divided by 255, 16-bit ones by 65 535, and floats are taken as they are. A gray picture has one
//! channel, a colour one three. The camera's orientation (Exif) is applied. Transparency is dropped, but pixels
//! that are fully transparent come out as a mask, since their colour means nothing.
//!
//! Sizes are checked against [`Limits`] before pixels are unpacked. A file that was cut short is an error, never
//! half a picture.

use std::{io::Cursor, path::Path};

use ccbcut::Image;
use image::{
    DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder, ImageFormat, ImageReader,
    codecs::png::PngEncoder, metadata::Orientation,
};

use crate::{
    atomic::{Overwrite, write_whole},
    bytes::read_file,
    error::{Error, Place, Result},
    feature_maps::tiff_bands,
    jpeg,
    npy::{self, Array, Values},
};

/// What is read, for messages.
const ACCEPTED: &str = "PNG, JPEG, TIFF, WebP, BMP, PNM or a NumPy array";

/// How large an image may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most pixels accepted, checked from the header.
    pub max_pixels: u64,
}

impl Default for Limits {
    /// 100 million pixels: more than any camera's, and a few gigabytes once unpacked.
    fn default() -> Self {
        Self { max_pixels: 100_000_000 }
    }
}

impl Limits {
    pub(crate) fn check(self, path: &Path, width: u64, height: u64) -> Result<()> {
        if width == 0 || height == 0 {
            let detail = format!("expected an image of at least one pixel, got {width} x {height}");
            return Err(Error::malformed(path, Place::Whole, detail));
        }
        if width.saturating_mul(height) > self.max_pixels {
            let (path, limit) = (path.to_path_buf(), self.max_pixels);
            return Err(Error::TooLarge { path, width, height, limit });
        }
        Ok(())
    }
}

/// An image as it came out of its file.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The pixels.
    pub image: Image,
    /// Which pixels to use, row by row, when some are fully transparent.
    pub mask: Option<Vec<bool>>,
    /// What the file held.
    pub source: SourceInfo,
}

/// What an image file held before it was converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceInfo {
    /// The file format.
    pub format: &'static str,
    /// Bits per channel as decoded: 8, 16, 32 or 64.
    pub bit_depth: u8,
    /// Channels as stored, transparency included.
    pub channels: usize,
    /// Whether the file has transparency.
    pub has_alpha: bool,
    /// The Exif orientation that was applied, 1 (none) to 8.
    pub orientation: u8,
}

/// Which pixels of an image to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mask {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// One value per pixel, row by row; `true` means use it.
    pub values: Vec<bool>,
}

/// Reads an image.
///
/// # Errors
/// [`Error::Unsupported`] for another kind of file, [`Error::TooLarge`] above the limit, [`Error::Decode`] or
/// [`Error::Malformed`] for a damaged file, [`Error::Library`] for pixels that are not finite.
pub fn read_image(path: &Path, limits: Limits) -> Result<Decoded> {
    decode_image(path, &read_file(path)?, limits)
}

/// Reads an image held in memory, for example from standard input; `name` is for messages.
///
/// # Errors
/// As [`read_image`].
pub fn decode_image(name: &Path, bytes: &[u8], limits: Limits) -> Result<Decoded> {
    if bytes.starts_with(npy::MAGIC) {
        return from_array(name, npy::decode_npy(name, bytes)?, limits);
    }
    let (pixels, source) = decode_pixels(name, bytes, limits)?;
    let (height, width) = (pixels.height() as usize, pixels.width() as usize);
    let (values, mask) = to_floats(pixels);
    let channels = values.len() / (height * width);
    let image = Image::new(height, width, channels, values).map_err(|e| Error::library(name, e))?;
    Ok(Decoded { image, mask, source })
}

/// Reads a mask: any image or array; a pixel is used when it is neither black nor fully transparent.
///
/// # Errors
/// As [`read_image`].
pub fn read_mask(path: &Path, limits: Limits) -> Result<Mask> {
    let bytes = read_file(path)?;
    if bytes.starts_with(npy::MAGIC) {
        let array = npy::decode_npy(path, &bytes)?;
        let (height, width, channels) = image_shape(path, &array.shape, limits)?;
        let text = || Error::malformed(path, Place::Whole, "expected numbers, got text");
        let flags = array.values.to_bool().ok_or_else(text)?;
        let values = flags.chunks_exact(channels).map(|pixel| pixel.contains(&true)).collect();
        return Ok(Mask { height, width, values });
    }
    let Decoded { image, mask, .. } = decode_image(path, &bytes, limits)?;
    let lit = image.data().chunks_exact(image.channels()).map(|pixel| pixel.iter().any(|&v| v != 0.0));
    let values = match mask {
        None => lit.collect(),
        Some(mask) => lit.zip(mask).map(|(lit, used)| lit && used).collect(),
    };
    Ok(Mask { height: image.height(), width: image.width(), values })
}

/// Decodes a picture, upright, after checking its size and that it is all there.
pub(crate) fn decode_pixels(name: &Path, bytes: &[u8], limits: Limits) -> Result<(DynamicImage, SourceInfo)> {
    let mut reader =
        ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|e| Error::io(name, "read", e))?;
    let format = match reader.format() {
        Some(ImageFormat::Png) => "PNG",
        Some(ImageFormat::Jpeg) => "JPEG",
        Some(ImageFormat::Tiff) => "TIFF",
        Some(ImageFormat::WebP) => "WebP",
        Some(ImageFormat::Bmp) => "BMP",
        Some(ImageFormat::Pnm) => "PNM",
        other => {
            let found = other.map_or("of no known kind".to_owned(), |f| format!("{f:?}").to_uppercase());
            let found = if bytes.is_empty() { "empty".to_owned() } else { found };
            return Err(Error::unsupported(name, "an image", found, ACCEPTED));
        }
    };
    let failed = |e: image::ImageError| Error::Decode {
        path: name.to_path_buf(),
        format,
        detail: e.to_string().to_lowercase().trim_end_matches('.').to_owned(),
    };
    // Room for four 32-bit channels and the decoder's own copy; the size in pixels is checked first, below.
    let mut room = image::Limits::default();
    room.max_alloc = Some(limits.max_pixels.saturating_mul(32).saturating_add(1 << 26));
    reader.limits(room);
    let mut decoder = reader.into_decoder().map_err(|error| match tiff_bands(bytes) {
        Some(bands) if bands > 4 => Error::Bands { path: name.to_path_buf(), bands },
        _ => failed(error),
    })?;
    let (width, height) = decoder.dimensions();
    limits.check(name, u64::from(width), u64::from(height))?;
    if format == "JPEG" {
        jpeg::check_complete(name, bytes)?;
    }
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let color = decoder.color_type();
    let mut pixels = DynamicImage::from_decoder(decoder).map_err(failed)?;
    pixels.apply_orientation(orientation);
    let channels = usize::from(color.channel_count());
    let source = SourceInfo {
        format,
        bit_depth: (usize::from(color.bytes_per_pixel()) * 8 / channels) as u8,
        channels,
        has_alpha: color.has_alpha(),
        orientation: orientation.to_exif(),
    };
    Ok((pixels, source))
}

/// Values in [0, 1] without transparency, and the mask of pixels that are not fully transparent.
fn to_floats(pixels: DynamicImage) -> (Vec<f32>, Option<Vec<bool>>) {
    let eight = |v: u8| f32::from(v) / 255.0;
    let sixteen = |v: u16| f32::from(v) / 65535.0;
    match pixels {
        DynamicImage::ImageLuma8(p) => (p.into_raw().into_iter().map(eight).collect(), None),
        DynamicImage::ImageRgb8(p) => (p.into_raw().into_iter().map(eight).collect(), None),
        DynamicImage::ImageLumaA8(p) => split_alpha(p.as_raw(), 2, eight),
        DynamicImage::ImageRgba8(p) => split_alpha(p.as_raw(), 4, eight),
        DynamicImage::ImageLuma16(p) => (p.into_raw().into_iter().map(sixteen).collect(), None),
        DynamicImage::ImageRgb16(p) => (p.into_raw().into_iter().map(sixteen).collect(), None),
        DynamicImage::ImageLumaA16(p) => split_alpha(p.as_raw(), 2, sixteen),
        DynamicImage::ImageRgba16(p) => split_alpha(p.as_raw(), 4, sixteen),
        DynamicImage::ImageRgb32F(p) => (p.into_raw(), None),
        other => split_alpha(other.to_rgba32f().as_raw(), 4, |v: f32| v),
    }
}

fn split_alpha<T: Copy + Default + PartialEq>(
    raw: &[T],
    channels: usize,
    convert: impl Fn(T) -> f32,
) -> (Vec<f32>, Option<Vec<bool>>) {
    let pixels = raw.chunks_exact(channels);
    let values = pixels.clone().flat_map(|p| p[..channels - 1].iter().map(|&v| convert(v))).collect();
    let mask: Vec<bool> = pixels.map(|p| p[channels - 1] != T::default()).collect();
    let mask = mask.contains(&false).then_some(mask);
    (values, mask)
}

/// Height, width and channels of an array that is an image.
fn image_shape(name: &Path, shape: &[usize], limits: Limits) -> Result<(usize, usize, usize)> {
    let (height, width, channels) = match *shape {
        [height, width] => (height, width, 1),
        [height, width, channels] if channels > 0 => (height, width, channels),
        _ => return Err(Error::shape(name, "(height, width) or (height, width, channels)", shape)),
    };
    limits.check(name, width as u64, height as u64)?;
    Ok((height, width, channels))
}

fn from_array(name: &Path, array: Array, limits: Limits) -> Result<Decoded> {
    let (height, width, channels) = image_shape(name, &array.shape, limits)?;
    let (bit_depth, data) = match array.values {
        Values::U8(v) => (8, v.into_iter().map(|v| f32::from(v) / 255.0).collect()),
        Values::U16(v) => (16, v.into_iter().map(|v| f32::from(v) / 65535.0).collect()),
        Values::F32(v) => (32, v),
        Values::F64(v) => (64, v.into_iter().map(|v| v as f32).collect()),
        other => {
            let found = format!("an array of {}", other.type_name());
            return Err(Error::unsupported(name, "an image", found, "uint8, uint16, float32 or float64"));
        }
    };
    let image = Image::new(height, width, channels, data).map_err(|e| Error::library(name, e))?;
    let source = SourceInfo { format: "NumPy", bit_depth, channels, has_alpha: false, orientation: 1 };
    Ok(Decoded { image, mask: None, source })
}

/// Writes an 8-bit colour PNG from red, green and blue values, row by row.
///
/// # Errors
/// [`Error::Library`] when `rgb` does not hold three values per pixel, [`Error::Encode`] for a size PNG cannot
/// express, and the errors of [`write_whole`].
pub fn write_png(path: &Path, height: usize, width: usize, rgb: &[u8], overwrite: Overwrite) -> Result<()> {
    write_whole(path, &encode_png(path, height, width, rgb)?, overwrite)
}

/// The bytes [`write_png`] writes; for a group of outputs.
///
/// # Errors
/// As [`write_png`].
pub fn encode_png(path: &Path, height: usize, width: usize, rgb: &[u8]) -> Result<Vec<u8>> {
    encode(path, height, width, rgb, ExtendedColorType::Rgb8)
}

/// A 16-bit gray PNG.
pub(crate) fn encode_png_gray16(path: &Path, height: usize, width: usize, values: &[u16]) -> Result<Vec<u8>> {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
    encode(path, height, width, &bytes, ExtendedColorType::L16)
}

fn encode(path: &Path, height: usize, width: usize, raw: &[u8], color: ExtendedColorType) -> Result<Vec<u8>> {
    let bytes_per_pixel = usize::from(color.bits_per_pixel()) / 8;
    let expected = height.saturating_mul(width).saturating_mul(bytes_per_pixel);
    if raw.len() != expected {
        let (what, got) = ("the picture", raw.len());
        return Err(Error::library(path, ccbcut::Error::ShapeMismatch { what, expected, got }));
    }
    let failed = |detail: String| Error::Encode { path: path.to_path_buf(), format: "PNG", detail };
    let side = |v: usize| u32::try_from(v).ok().filter(|&v| v > 0);
    let (Some(columns), Some(rows)) = (side(width), side(height)) else {
        return Err(failed(format!("{width} x {height} pixels cannot be expressed")));
    };
    let mut out = Vec::new();
    PngEncoder::new(&mut out).write_image(raw, columns, rows, color).map_err(|e| failed(e.to_string()))?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npy::encode_npy;

    fn decode(bytes: &[u8]) -> Result<Decoded> {
        decode_image(Path::new("x"), bytes, Limits::default())
    }

    #[test]
    fn a_png_comes_back_as_written() {
        let rgb: Vec<u8> = (0..36).map(|v| v * 7).collect();
        let decoded = decode(&encode_png(Path::new("x"), 3, 4, &rgb).unwrap()).unwrap();
        assert_eq!((decoded.image.height(), decoded.image.width(), decoded.image.channels()), (3, 4, 3));
        assert_eq!(decoded.image.data()[35], 245.0 / 255.0);
        assert_eq!((decoded.mask, decoded.source.bit_depth), (None, 8));
        let gray = decode(&encode_png_gray16(Path::new("x"), 1, 2, &[65535, 1]).unwrap()).unwrap();
        assert_eq!(gray.image.data(), &[1.0, 1.0 / 65535.0]);
        assert_eq!((gray.image.channels(), gray.source.bit_depth), (1, 16));
        assert!(encode_png(Path::new("x"), 0, 0, &[]).is_err());
        assert!(encode_png(Path::new("x"), 2, 2, &[0]).is_err());
    }

    #[test]
    fn fully_transparent_pixels_are_masked() {
        let mut out = Vec::new();
        let raw = [9, 9, 9, 255, 8, 8, 8, 0, 7, 7, 7, 1];
        PngEncoder::new(&mut out).write_image(&raw, 3, 1, ExtendedColorType::Rgba8).unwrap();
        let decoded = decode(&out).unwrap();
        assert_eq!(decoded.mask, Some(vec![true, false, true]));
        assert_eq!((decoded.image.channels(), decoded.source.channels), (3, 4));
    }

    #[test]
    fn limits_hold_before_decoding() {
        let png = encode_png(Path::new("x"), 3, 4, &[0; 36]).unwrap();
        let error = decode_image(Path::new("x"), &png, Limits { max_pixels: 11 }).unwrap_err();
        assert_eq!(error.to_string(), "`x` is 4 x 3 pixels, above the limit of 11 pixels");
        // The same header with 4 billion columns: refused although no such data follows.
        let pnm = b"P5 4000000000 4000000000 255\n";
        assert!(matches!(decode(pnm), Err(Error::TooLarge { .. })));
        assert!(decode(b"P5 0 3 255\n").is_err());
    }

    #[test]
    fn arrays_are_images_too() {
        let decoded = decode(&encode_npy(&[2, 1], &[0.5_f32, 2.0])).unwrap();
        assert_eq!((decoded.image.height(), decoded.image.channels()), (2, 1));
        assert_eq!(decoded.image.data(), &[0.5, 2.0]);
        let bytes = decode(&encode_npy(&[1, 1, 3], &[0_u8, 255, 51])).unwrap();
        assert_eq!(bytes.image.data(), &[0.0, 1.0, 0.2]);
        assert!(matches!(decode(&encode_npy(&[2], &[1.0_f32; 2])), Err(Error::Shape { .. })));
        assert!(matches!(decode(&encode_npy(&[1, 1], &[1_i32])), Err(Error::Unsupported { .. })));
        assert!(matches!(decode(&encode_npy(&[1, 1], &[f32::NAN])), Err(Error::Library { .. })));
        assert!(decode(&encode_npy::<f32>(&[0, 3], &[])).is_err());
    }

    #[test]
    fn other_files_are_named_for_what_they_are() {
        let error = decode(b"GIF89a......").unwrap_err().to_string();
        assert!(error.contains("is GIF, but an image must be PNG, JPEG"), "{error}");
        assert!(decode(b"").unwrap_err().to_string().contains("is empty"));
    }
}
