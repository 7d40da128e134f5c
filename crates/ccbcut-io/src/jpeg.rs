//! Whether a JPEG file is all there.
//!
//! The decoder fills what is missing with gray; half a picture would then be segmented without a word. A complete
//! file ends with a marker of its own, and walking from marker to marker finds it (searching would not do: the
//! thumbnail inside the Exif data has one too).

use std::path::Path;

use crate::error::{Error, Place, Result};

const START_OF_IMAGE: u8 = 0xd8;
const END_OF_IMAGE: u8 = 0xd9;

/// Walks the markers of a JPEG file up to its end-of-image marker.
pub(crate) fn check_complete(name: &Path, bytes: &[u8]) -> Result<()> {
    let mut at = 0;
    while let Some(marker_at) = next_marker(bytes, at) {
        at = marker_at + 2;
        match bytes[marker_at + 1] {
            END_OF_IMAGE => return Ok(()),
            // Markers that stand alone: restarts, start of image, temporary.
            0x01 | 0xd0..=START_OF_IMAGE => {}
            _ => match bytes.get(at..at + 2) {
                Some(length) => at += usize::from(u16::from_be_bytes([length[0], length[1]])),
                None => break,
            },
        }
    }
    let detail = "the JPEG file was cut short: its end-of-image marker is missing";
    Err(Error::malformed(name, Place::Byte(bytes.len()), detail))
}

/// The position of the next marker: 0xff and then neither a stuffed zero nor another fill byte.
fn next_marker(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.windows(2).position(|w| w[0] == 0xff && w[1] != 0 && w[1] != 0xff).map(|p| p + from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{ExtendedColorType, ImageEncoder, codecs::jpeg::JpegEncoder};

    #[test]
    fn every_truncation_is_noticed() {
        let rgb: Vec<u8> = (0..48 * 40 * 3).map(|v| (v * v % 251) as u8).collect();
        let mut jpeg = Vec::new();
        JpegEncoder::new(&mut jpeg).write_image(&rgb, 48, 40, ExtendedColorType::Rgb8).unwrap();
        let path = Path::new("x.jpg");
        check_complete(path, &jpeg).unwrap();
        for length in 0..jpeg.len() {
            assert!(check_complete(path, &jpeg[..length]).is_err(), "{length} of {}", jpeg.len());
        }
        jpeg.extend_from_slice(b"trailing bytes are common");
        check_complete(path, &jpeg).unwrap();
    }
}
