//! Contour maps of the size of the image: what a boundary detector writes.
//!
//! | ending | written | read |
//! |---|---|---|
//! | `.npy` | float32 | numbers between 0 and 1; 8- and 16-bit integers are scaled to that, booleans are 0 and 1 |
//! | `.png` | 16-bit gray, 65 535 for 1 | every kind of image, as gray |
//! | other images | | as gray |

use std::path::Path;

use ccbcut::image::contours::Contours;

use crate::{
    bytes::{extension, read_file},
    error::{Error, Place, Result},
    images::{Limits, decode_pixels, encode_png_gray16},
    npy::{self, Values},
};

/// Reads a contour map.
///
/// # Errors
/// [`Error::TooLarge`] above the limit, [`Error::Shape`] for an array that is not two-dimensional, [`Error::Malformed`] or
/// [`Error::Decode`] for what is damaged or no image, [`Error::Library`] for values outside 0 to 1.
pub fn read_contours(path: &Path, limits: Limits) -> Result<Contours> {
    decode_contours(path, &read_file(path)?, limits)
}

/// Reads a contour map held in memory; the ending of `name` says how.
///
/// # Errors
/// As [`read_contours`].
pub fn decode_contours(name: &Path, bytes: &[u8], limits: Limits) -> Result<Contours> {
    let (height, width, strengths) = if extension(name) == "npy" {
        let array = npy::decode_npy(name, bytes)?;
        let &[height, width] = &array.shape[..] else {
            return Err(Error::shape(name, "(height, width)", &array.shape));
        };
        limits.check(name, width as u64, height as u64)?;
        let most = match array.values {
            Values::U8(_) => 255.0,
            Values::U16(_) => 65_535.0,
            _ => 1.0,
        };
        let values = array.values.to_f64();
        let values =
            values.ok_or_else(|| Error::malformed(name, Place::Whole, "expected numbers, got text"))?;
        (height, width, values.into_iter().map(|v| (v / most) as f32).collect())
    } else {
        let (pixels, _) = decode_pixels(name, bytes, limits)?;
        let gray = pixels.into_luma16();
        let (height, width) = (gray.height() as usize, gray.width() as usize);
        let strength = |v: u16| (f64::from(v) / 65_535.0) as f32;
        (height, width, gray.into_raw().into_iter().map(strength).collect())
    };
    Contours::new(height, width, strengths).map_err(|error| Error::library(name, error))
}

/// The bytes of a file that holds a contour map; the ending of its name says how.
///
/// # Errors
/// [`Error::Unsupported`] for another ending, [`Error::Encode`] for a size that PNG cannot express.
pub fn encode_contours(path: &Path, contours: &Contours) -> Result<Vec<u8>> {
    let (height, width) = (contours.height(), contours.width());
    match extension(path).as_str() {
        "npy" => Ok(npy::encode_npy(&[height, width], contours.as_slice())),
        "png" => {
            let gray = |&v: &f32| (f64::from(v) * 65_535.0).round() as u16;
            encode_png_gray16(path, height, width, &contours.as_slice().iter().map(gray).collect::<Vec<_>>())
        }
        _ => Err(Error::extension(path, "a contour map", ".npy or .png")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { max_pixels: 100 };

    fn sample() -> Contours {
        Contours::new(2, 3, vec![0.0, 0.25, 0.5, 0.1, 1.0, 0.7]).unwrap()
    }

    #[test]
    fn contours_go_through_files() {
        let name = Path::new("a.npy");
        let back = decode_contours(name, &encode_contours(name, &sample()).unwrap(), LIMITS).unwrap();
        assert_eq!(back, sample());
        let name = Path::new("a.png");
        let back = decode_contours(name, &encode_contours(name, &sample()).unwrap(), LIMITS).unwrap();
        assert!(back.as_slice().iter().zip(sample().as_slice()).all(|(a, b)| (a - b).abs() < 1e-5));
        assert!(matches!(encode_contours(Path::new("a.jpg"), &sample()), Err(Error::Unsupported { .. })));
    }

    #[test]
    fn integers_are_scaled_and_what_is_no_strength_is_refused() {
        let name = Path::new("a.npy");
        let eight = npy::encode_npy(&[1, 2], &[255_u8, 51]);
        assert_eq!(decode_contours(name, &eight, LIMITS).unwrap().as_slice(), [1.0, 0.2]);
        let large = npy::encode_npy(&[1, 2], &[0.5_f32, 1.5]);
        assert!(matches!(decode_contours(name, &large, LIMITS), Err(Error::Library { .. })));
        let line = npy::encode_npy(&[2], &[0.5_f32, 0.5]);
        assert!(matches!(decode_contours(name, &line, LIMITS), Err(Error::Shape { .. })));
        let big = npy::encode_npy(&[20, 20], &[0.5_f32; 400]);
        assert!(matches!(decode_contours(name, &big, LIMITS), Err(Error::TooLarge { .. })));
    }
}
