//! ROOM 1: pixels.
//!
//! [`Image`] is what every affinity starts from: height × width × channels, 32-bit floats, row-major, channels
//! last. Colour values lie in [0, 1] (8-bit values divided by 255, 16-bit ones by 65 535).

pub mod color;

pub mod contours;

pub mod principal;

pub mod smooth;

pub mod volume;

use crate::error::{Error, Result};

/// Pixels: height × width × channels, row-major, channels last.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    height: usize,
    width: usize,
    channels: usize,
    data: Vec<f32>,
}

impl Image {
    /// Wraps pixel data, channels last.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a dimension of zero, [`Error::ShapeMismatch`] when `data` does not hold
    /// `height * width * channels` values, [`Error::NotFinite`] for NaN or infinite pixels.
    pub fn new(height: usize, width: usize, channels: usize, data: Vec<f32>) -> Result<Self> {
        for (name, value) in [("height", height), ("width", width), ("channels", channels)] {
            if value == 0 {
                return Err(Error::InvalidParameter { name, value: 0.0, expected: "at least 1" });
            }
        }
        let expected = height.saturating_mul(width).saturating_mul(channels);
        if data.len() != expected {
            return Err(Error::ShapeMismatch { what: "the pixel data", expected, got: data.len() });
        }
        if let Some(index) = data.iter().position(|v| !v.is_finite()) {
            let value = f64::from(data[index]);
            return Err(Error::NotFinite { what: "the image", index, value });
        }
        Ok(Self { height, width, channels, data })
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Values per pixel: 1 gray, 3 colour, any other number for features.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Number of pixels.
    pub fn n_pixels(&self) -> usize {
        self.height * self.width
    }

    /// All values, row-major, channels last.
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// The values of one pixel, by its row-major index.
    pub fn pixel(&self, index: usize) -> &[f32] {
        &self.data[index * self.channels..(index + 1) * self.channels]
    }
}
