//! Pictures of a segmentation: 8-bit RGB pixels and a label map in, RGB pixels out.

use std::{fmt::Write, path::Path};

use ccbcut::{Image, LabelMap};

use crate::{
    error::{Error, Result},
    images,
};

/// The line colour of overlays, and its darker companion.
const LINE: [u8; 3] = [255, 225, 0];

/// What pixels outside every part look like where there is nothing else to show.
const VOID_GRAY: [u8; 3] = [128, 128, 128];

/// Colours that people with any common colour vision tell apart (Okabe and Ito), black left out.
const PALETTE: [[u8; 3]; 7] = [
    [230, 159, 0],
    [86, 180, 233],
    [0, 158, 115],
    [240, 228, 66],
    [0, 114, 178],
    [213, 94, 0],
    [204, 121, 167],
];

/// The boundaries drawn on the image: a bright line with a dark one beside it, so that it shows on any ground.
///
/// # Errors
/// [`Error::Library`] unless there are three values per pixel.
pub fn overlay(rgb: &[u8], labels: &LabelMap) -> Result<Vec<u8>> {
    check(rgb, labels)?;
    let mut out = rgb.to_vec();
    let (line, shadow) = boundary_masks(labels);
    for (pixel, (&line, &shadow)) in out.chunks_exact_mut(3).zip(line.iter().zip(&shadow)) {
        if line {
            pixel.copy_from_slice(&LINE);
        } else if shadow {
            for value in pixel {
                *value /= 3;
            }
        }
    }
    Ok(out)
}

/// Every part in its mean colour, averaged in linear light as the eye does from afar; void pixels gray.
///
/// # Errors
/// [`Error::Library`] unless there are three values per pixel.
pub fn mean_color(rgb: &[u8], labels: &LabelMap) -> Result<Vec<u8>> {
    check(rgb, labels)?;
    let linear: Vec<f64> = (0..256).map(|value| to_linear(f64::from(value) / 255.0)).collect();
    let mut sums = vec![[0.0_f64; 3]; labels.n_segments()];
    for (pixel, &label) in rgb.chunks_exact(3).zip(labels.as_slice()) {
        if label != LabelMap::VOID {
            for (sum, &value) in sums[label as usize].iter_mut().zip(pixel) {
                *sum += linear[usize::from(value)];
            }
        }
    }
    let colors: Vec<[u8; 3]> = sums
        .iter()
        .zip(labels.sizes())
        .map(|(sum, size)| sum.map(|s| (255.0 * from_linear(s / size.max(1) as f64)).round() as u8))
        .collect();
    Ok(fill(labels, |label| colors[label]))
}

/// Every part in a colour of its own, always the same for the same label; void pixels gray.
pub fn label_colors(labels: &LabelMap) -> Vec<u8> {
    fill(labels, label_color)
}

/// The boundaries alone, black on white.
pub fn boundaries(labels: &LabelMap) -> Vec<u8> {
    let (line, _) = boundary_masks(labels);
    line.iter().flat_map(|&is_line| if is_line { [0; 3] } else { [255; 3] }).collect()
}

/// The fixed colour of a label: the palette, then lighter and darker rounds of it.
pub fn label_color(label: usize) -> [u8; 3] {
    let base = PALETTE[label % PALETTE.len()];
    let towards =
        |target: f64, share: f64| base.map(|v| (f64::from(v) + share * (target - f64::from(v))) as u8);
    match (label / PALETTE.len()) % 4 {
        0 => base,
        1 => towards(0.0, 0.45),
        2 => towards(255.0, 0.5),
        _ => towards(0.0, 0.7),
    }
}

/// The lines between pixels of different parts, as the `d` of a path.
pub fn outline(labels: &LabelMap) -> String {
    let (height, width, label) = (labels.height(), labels.width(), labels.as_slice());
    let mut path = String::new();
    let mut runs = |along: usize, across: usize, differs: &dyn Fn(usize, usize) -> bool, horizontal: bool| {
        for line in 1..across {
            let mut k = 0;
            while k < along {
                let start = k;
                while k < along && differs(line, k) {
                    k += 1;
                }
                if k > start {
                    let _ = if horizontal {
                        write!(path, "M{start} {line}h{}", k - start)
                    } else {
                        write!(path, "M{line} {start}v{}", k - start)
                    };
                }
                k += 1;
            }
        }
    };
    runs(
        width,
        height,
        &|row, column| label[row * width + column] != label[(row - 1) * width + column],
        true,
    );
    runs(height, width, &|column, row| label[row * width + column] != label[row * width + column - 1], false);
    path
}

/// Rows of coordinates as colours: the first three columns become red, green and blue, each stretched so that its
/// second percentile is dark and its 98th bright; a column that does not vary, or is not there, is gray. Rows that
/// `mask` marks `false` are gray and have no say.
pub fn coordinates(rows: &[f64], columns: usize, mask: Option<&[bool]>) -> Vec<u8> {
    let n = rows.len() / columns.max(1);
    let counts = |p: &usize| mask.is_none_or(|mask| mask[*p]);
    let mut rgb = vec![VOID_GRAY[0]; 3 * n];
    for channel in 0..columns.min(3) {
        let mut sorted: Vec<f64> = (0..n).filter(counts).map(|p| rows[p * columns + channel]).collect();
        sorted.sort_by(f64::total_cmp);
        let Some(last) = sorted.len().checked_sub(1) else { continue };
        let (low, high) = (sorted[last * 2 / 100], sorted[last - last * 2 / 100]);
        // Where nearly all are equal, the ends of the range say more.
        let (low, high) = if high > low { (low, high) } else { (sorted[0], sorted[last]) };
        if high > low {
            for p in (0..n).filter(counts) {
                let share = ((rows[p * columns + channel] - low) / (high - low)).clamp(0.0, 1.0);
                rgb[3 * p + channel] = (255.0 * share).round() as u8;
            }
        }
    }
    rgb
}

/// RGB pixels as the bytes of a PNG file.
///
/// # Errors
/// As [`encode_png`](crate::encode_png).
pub fn encode_png(width: usize, height: usize, rgb: &[u8]) -> Result<Vec<u8>> {
    images::encode_png(Path::new("picture.png"), height, width, rgb)
}

/// RGB pixels as an address that holds the picture itself, for pages and figures.
///
/// # Errors
/// As [`encode_png`].
pub fn data_url(width: usize, height: usize, rgb: &[u8]) -> Result<String> {
    Ok(format!("data:image/png;base64,{}", base64(&encode_png(width, height, rgb)?)))
}

/// The pixels of an image as 8-bit RGB; gray is repeated, further channels are left out.
pub fn rgb_of(image: &Image) -> Vec<u8> {
    let to_byte = |v: f32| (255.0 * v.clamp(0.0, 1.0)).round() as u8;
    (0..image.n_pixels()).flat_map(|p| color_of(image.pixel(p)).map(to_byte)).collect()
}

/// Red, green and blue of one pixel; gray is repeated, further channels are left out.
pub fn color_of(pixel: &[f32]) -> [f32; 3] {
    match *pixel {
        [red, green, blue, ..] => [red, green, blue],
        [gray, ..] => [gray; 3],
        [] => [0.0; 3],
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |k: usize| u32::from(chunk.get(k).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for k in 0..4 {
            let digit = char::from(DIGITS[(bits >> (18 - 6 * k) & 63) as usize]);
            text.push(if k > chunk.len() { '=' } else { digit });
        }
    }
    text
}

fn check(rgb: &[u8], labels: &LabelMap) -> Result<()> {
    let (expected, got) = (3 * labels.height() * labels.width(), rgb.len());
    if got == expected {
        return Ok(());
    }
    let cause = ccbcut::Error::ShapeMismatch { what: "the picture", expected, got };
    Err(Error::library(Path::new("picture.png"), cause))
}

fn fill(labels: &LabelMap, color: impl Fn(usize) -> [u8; 3]) -> Vec<u8> {
    let of = |&label: &u32| if label == LabelMap::VOID { VOID_GRAY } else { color(label as usize) };
    labels.as_slice().iter().flat_map(of).collect()
}

/// Pixels just before a change of label, to the right or downwards, and those just after it.
fn boundary_masks(labels: &LabelMap) -> (Vec<bool>, Vec<bool>) {
    let (height, width, label) = (labels.height(), labels.width(), labels.as_slice());
    let (mut line, mut shadow) = (vec![false; label.len()], vec![false; label.len()]);
    for row in 0..height {
        for column in 0..width {
            let p = row * width + column;
            let right = (column + 1 < width).then_some(p + 1);
            let below = (row + 1 < height).then_some(p + width);
            for q in [right, below].into_iter().flatten() {
                if label[p] != label[q] {
                    line[p] = true;
                    shadow[q] = true;
                }
            }
        }
    }
    (line, shadow)
}

fn to_linear(v: f64) -> f64 {
    if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
}

fn from_linear(v: f64) -> f64 {
    if v <= 0.003_130_8 { 12.92 * v } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(height: usize, width: usize, raw: &[u32]) -> LabelMap {
        LabelMap::new(height, width, raw).unwrap()
    }

    #[test]
    fn boundaries_lie_between_parts() {
        let labels = map(2, 3, &[0, 0, 1, 0, 0, 1]);
        let black: Vec<bool> = boundaries(&labels).chunks(3).map(|p| p == [0, 0, 0]).collect();
        assert_eq!(black, [false, true, false, false, true, false]);
        let drawn = overlay(&[90; 18], &labels).unwrap();
        assert_eq!(drawn[..9], [90, 90, 90, LINE[0], LINE[1], LINE[2], 30, 30, 30]);
        assert_eq!(boundaries(&map(1, 2, &[0, 0])), [255; 6]);
    }

    #[test]
    fn outlines_run_between_the_parts() {
        let path = |height, width, raw: &[u32]| outline(&map(height, width, raw));
        assert_eq!(path(1, 3, &[0, 0, 1]), "M2 0v1");
        assert_eq!(path(3, 2, &[0, 0, 1, 1, 1, 0]), "M0 1h2M1 2h1M1 2v1");
        assert_eq!(path(2, 4, &[0, 0, 1, 0, 0, 0, 0, 0]), "M2 1h1M2 0v1M3 0v1");
        assert_eq!(path(2, 2, &[4, 4, 4, 4]), "");
    }

    #[test]
    fn a_part_of_one_colour_keeps_it() {
        let labels = map(1, 3, &[0, 1, LabelMap::VOID]);
        let rgb = [10, 200, 255, 0, 1, 2, 9, 9, 9];
        assert_eq!(mean_color(&rgb, &labels).unwrap(), [10, 200, 255, 0, 1, 2, 128, 128, 128]);
        assert!(mean_color(&rgb[..6], &labels).is_err());
    }

    #[test]
    fn the_mean_is_taken_in_linear_light() {
        let gray = mean_color(&[0, 0, 0, 255, 255, 255], &map(1, 2, &[0, 0])).unwrap();
        assert_eq!(gray, [188; 6]);
    }

    #[test]
    fn label_colours_are_fixed_and_differ() {
        let mut colors: Vec<[u8; 3]> = (0..28).map(label_color).collect();
        assert_eq!(label_colors(&map(1, 1, &[5])), PALETTE[0]);
        colors.sort_unstable();
        colors.dedup();
        assert_eq!(colors.len(), 28);
    }

    #[test]
    fn base64_matches_the_examples_of_rfc_4648() {
        let cases = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|s| base64(s.as_bytes()));
        assert_eq!(cases, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn pictures_become_png_files() {
        let bytes = encode_png(2, 1, &[1, 2, 3, 4, 5, 6]).unwrap();
        assert_eq!(bytes[..8], *b"\x89PNG\r\n\x1a\n");
        assert!(encode_png(2, 2, &[0; 3]).is_err());
    }
}
