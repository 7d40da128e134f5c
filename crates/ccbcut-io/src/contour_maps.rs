//! Ultrametric contour maps by file name.
//!
//! | ending | written | read |
//! |---|---|---|
//! | `.mat` | matrix `ucm2` of 64-bit floats, as the BSDS tools have it | `ucm2`, or `ucm` of doubled size |
//! | `.npy` | float32 | any numbers |
//! | `.png` | 16-bit gray, 65 535 for 1, rounded down | 8- and 16-bit gray, scaled to 0 … 1 |
//!
//! All hold the doubled grid of (2 × height + 1) × (2 × width + 1) values.

use std::path::Path;

use ccbcut::Ucm;
use image::DynamicImage;

use crate::{
    atomic::{Overwrite, write_whole},
    bytes::{extension, read_file},
    error::{Error, Place, Result},
    images::{Limits, decode_pixels, encode_png_gray16},
    mat::{self, Variable},
    npy,
};

/// What is read and written, for messages.
const ACCEPTED: &str = ".mat, .npy or .png";
/// The shape of the doubled grid, for messages.
const DOUBLED: &str = "(2 × height + 1, 2 × width + 1)";

/// Writes a contour map; the ending of the file name says how.
///
/// # Errors
/// [`Error::Unsupported`] for another ending, [`Error::Encode`] for heights above 1 in a PNG or a size that the
/// format cannot express, and the errors of [`write_whole`].
pub fn write_ucm(path: &Path, ucm: &Ucm, overwrite: Overwrite) -> Result<()> {
    write_whole(path, &encode_ucm(path, ucm)?, overwrite)
}

/// The bytes [`write_ucm`] writes; for a group of outputs.
///
/// # Errors
/// As [`write_ucm`].
pub fn encode_ucm(path: &Path, ucm: &Ucm) -> Result<Vec<u8>> {
    let (rows, columns, values) = (ucm.rows(), ucm.columns(), ucm.as_slice());
    match extension(path).as_str() {
        "mat" => {
            let by_column = (0..rows * columns).map(|at| f64::from(values[at % rows * columns + at / rows]));
            mat::encode_doubles("ucm2", rows, columns, by_column).ok_or_else(|| Error::Encode {
                path: path.to_path_buf(),
                format: "a MATLAB file",
                detail: "the contour map is above 4 GiB; use .npy instead".to_owned(),
            })
        }
        "npy" => Ok(npy::encode_npy(&[rows, columns], values)),
        "png" => {
            if let Some(height) = values.iter().find(|&&v| v > 1.0) {
                return Err(Error::Encode {
                    path: path.to_path_buf(),
                    format: "PNG",
                    detail: format!("a height is {height}, above 1, the most it can hold; use .npy or .mat"),
                });
            }
            let gray: Vec<u16> = values.iter().map(|&v| to_gray(v)).collect();
            encode_png_gray16(path, rows, columns, &gray)
        }
        _ => Err(Error::extension(path, "a contour map", ACCEPTED)),
    }
}

/// The largest gray that is not above a height once it is read back. Rounding down keeps a contour at or below every
/// threshold it was at or below.
fn to_gray(height: f32) -> u16 {
    let below = (f64::from(height) * 65_535.0) as u16;
    if below < u16::MAX && from_gray(below + 1) <= height { below + 1 } else { below }
}

fn from_gray(gray: u16) -> f32 {
    (f64::from(gray) / 65_535.0) as f32
}

/// Reads a contour map.
///
/// # Errors
/// [`Error::Unsupported`] for another kind of file, [`Error::TooLarge`] above the limit (in pixels of the image),
/// [`Error::Missing`] for a MATLAB file without `ucm2`, [`Error::Shape`] for a grid that is not doubled,
/// [`Error::Malformed`], [`Error::Decode`] or [`Error::Library`] for what is damaged or no contour map.
pub fn read_ucm(path: &Path, limits: Limits) -> Result<Ucm> {
    check_ending(path)?;
    decode_ucm(path, &read_file(path)?, limits)
}

fn check_ending(path: &Path) -> Result<()> {
    if matches!(extension(path).as_str(), "mat" | "npy" | "png") {
        return Ok(());
    }
    Err(Error::extension(path, "a contour map", ACCEPTED))
}

/// Reads a contour map held in memory; the ending of `name` says how.
///
/// # Errors
/// As [`read_ucm`].
pub fn decode_ucm(name: &Path, bytes: &[u8], limits: Limits) -> Result<Ucm> {
    check_ending(name)?;
    match extension(name).as_str() {
        "mat" => decode_mat(name, bytes, limits),
        "npy" => decode_npy(name, bytes, limits),
        _ => decode_png(name, bytes, limits),
    }
}

/// Checks that a grid is doubled and not too large.
fn check_grid(path: &Path, shape: &[usize], limits: Limits) -> Result<(usize, usize)> {
    let &[rows, columns] = shape else { return Err(Error::shape(path, DOUBLED, shape)) };
    if rows < 3 || columns < 3 || rows % 2 == 0 || columns % 2 == 0 {
        return Err(Error::shape(path, DOUBLED, shape));
    }
    limits.check(path, columns as u64 / 2, rows as u64 / 2)?;
    Ok((rows, columns))
}

fn decode_mat(path: &Path, bytes: &[u8], limits: Limits) -> Result<Ucm> {
    let variables = mat::decode(path, bytes, "a contour map")?;
    let find = |name: &str| variables.iter().find(|(n, _)| n == name).map(|(_, value)| value);
    let matrix = find("ucm2").or_else(|| find("ucm"));
    let matrix = matrix.ok_or_else(|| Error::missing(path, "matrix named `ucm2`"))?;
    let Variable::Numeric { shape, values } = matrix else {
        return Err(Error::malformed(path, Place::Whole, "expected a matrix of numbers as a contour map"));
    };
    let (rows, columns) = check_grid(path, shape, limits)?;
    let by_row = (0..rows * columns).map(|at| values[at % columns * rows + at / columns] as f32);
    Ucm::new(rows, columns, by_row.collect()).map_err(|e| Error::library(path, e))
}

fn decode_npy(path: &Path, bytes: &[u8], limits: Limits) -> Result<Ucm> {
    let array = npy::decode_npy(path, bytes)?;
    let (rows, columns) = check_grid(path, &array.shape, limits)?;
    let values = array
        .values
        .to_f64()
        .ok_or_else(|| Error::malformed(path, Place::Whole, "expected numbers as a contour map, got text"))?;
    let values = values.into_iter().map(|v| v as f32).collect();
    Ucm::new(rows, columns, values).map_err(|e| Error::library(path, e))
}

fn decode_png(path: &Path, bytes: &[u8], limits: Limits) -> Result<Ucm> {
    // The grid has about four times the pixels of the image.
    let doubled = Limits { max_pixels: limits.max_pixels.saturating_mul(9) };
    let (pixels, source) = decode_pixels(path, bytes, doubled)?;
    let shape = [pixels.height() as usize, pixels.width() as usize];
    let (rows, columns) = check_grid(path, &shape, limits)?;
    let values: Vec<f32> = match pixels {
        DynamicImage::ImageLuma8(p) => {
            p.into_raw().into_iter().map(|v| from_gray(u16::from(v) * 257)).collect()
        }
        DynamicImage::ImageLuma16(p) => p.into_raw().into_iter().map(from_gray).collect(),
        _ => {
            let found = format!("a {} of {} channels", source.format, source.channels);
            return Err(Error::unsupported(path, "a contour map", found, "gray, one channel"));
        }
    };
    Ucm::new(rows, columns, values).map_err(|e| Error::library(path, e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::images::encode_png;

    const LIMITS: Limits = Limits { max_pixels: 1000 };

    /// 2 × 3 pixels, every value another one.
    fn sample() -> Ucm {
        Ucm::new(5, 7, (0..35).map(|v| v as f32 / 35.0).collect()).unwrap()
    }

    #[test]
    fn contour_maps_go_through_files_of_every_kind() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.mat", "a.npy", "a.PNG"] {
            let path = folder.path().join(name);
            write_ucm(&path, &sample(), Overwrite::Refuse).unwrap();
            let back = read_ucm(&path, LIMITS).unwrap();
            for (a, b) in back.as_slice().iter().zip(sample().as_slice()) {
                assert!(a <= b && b - a < 2e-5, "{name}: {a} and {b}");
            }
            assert_eq!(back == sample(), name != "a.PNG", "{name}");
            // Once rounded, it stays.
            assert_eq!(
                decode_ucm(&path, &encode_ucm(&path, &back).unwrap(), LIMITS).unwrap(),
                back,
                "{name}"
            );
            assert!(
                matches!(read_ucm(&path, Limits { max_pixels: 5 }), Err(Error::TooLarge { .. })),
                "{name}"
            );
        }
        assert!(matches!(encode_ucm(Path::new("a.tif"), &sample()), Err(Error::Unsupported { .. })));
        assert!(matches!(read_ucm(Path::new("a.jpg"), LIMITS), Err(Error::Unsupported { .. })));
    }

    #[test]
    fn every_gray_is_kept_and_heights_are_rounded_down() {
        for gray in 0..=u16::MAX {
            let height = from_gray(gray);
            assert_eq!(to_gray(height), gray);
            assert_eq!(to_gray(height.next_down()), gray.saturating_sub(1));
        }
        let tall = Ucm::new(3, 3, vec![1.5; 9]).unwrap();
        let error = encode_ucm(Path::new("a.png"), &tall).unwrap_err().to_string();
        assert!(error.contains("a height is 1.5") && error.contains(".npy"), "{error}");
    }

    #[test]
    fn what_is_no_contour_map_is_refused() {
        let read = |name: &str, bytes: Vec<u8>| decode_ucm(Path::new(name), &bytes, LIMITS);
        let of_shape =
            |rows, columns| mat::encode_doubles("ucm", rows, columns, (0..rows * columns).map(|_| 0.5));
        assert_eq!(read("a.mat", of_shape(3, 5).unwrap()).unwrap().width(), 2);
        assert!(matches!(read("a.mat", of_shape(4, 5).unwrap()), Err(Error::Shape { .. })));
        assert!(matches!(read("a.mat", of_shape(3, 1).unwrap()), Err(Error::Shape { .. })));
        let other = mat::encode_doubles("pb", 3, 3, (0..9).map(|_| 0.5)).unwrap();
        assert!(read("a.mat", other).unwrap_err().to_string().contains("holds no matrix named `ucm2`"));
        let cell = mat::encode_cell("ucm2", &[]).unwrap();
        assert!(matches!(read("a.mat", cell), Err(Error::Malformed { .. })));
        for bad in [f64::NAN, -0.5, f64::INFINITY, 1e300] {
            let bytes = mat::encode_doubles("ucm2", 3, 3, (0..9).map(|_| bad)).unwrap();
            assert!(matches!(read("a.mat", bytes), Err(Error::Library { .. })), "{bad}");
        }
        assert!(matches!(read("a.npy", npy::encode_npy(&[3, 4], &[0.0_f32; 12])), Err(Error::Shape { .. })));
        assert!(matches!(read("a.npy", npy::encode_npy(&[9], &[0.0_f32; 9])), Err(Error::Shape { .. })));
        let colour = encode_png(Path::new("a.png"), 3, 3, &[0; 27]).unwrap();
        assert!(matches!(read("a.png", colour), Err(Error::Unsupported { .. })));
        let good = encode_ucm(Path::new("a.mat"), &sample()).unwrap();
        for length in 0..good.len() {
            assert!(read("a.mat", good[..length].to_vec()).is_err(), "{length} of {} bytes", good.len());
        }
    }
}
