//! ROOM 1: pixels.
//!
//! [`Image`] is what every affinity starts from: height × width × channels, 32-bit floats, row-major, channels
//! last. Colour values lie in [0, 1] (8-bit values divided by 255, 16-bit ones by 65 535).

pub mod color;

pub mod contours;

pub mod principal;

pub mod smooth;

pub mod volume;

use std::sync::Arc;

use crate::error::{Error, Result};

/// Pixels: height × width × channels, row-major, channels last.
#[derive(Clone)]
pub struct Image {
    height: usize,
    width: usize,
    channels: usize,
    data: Pixels,
}

/// Whose pixels they are.
#[derive(Clone)]
enum Pixels {
    Own(Vec<f32>),
    Shared(Arc<dyn AsRef<[f32]> + Send + Sync>),
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (height, width, channels) = (self.height, self.width, self.channels);
        write!(f, "Image({height} x {width} x {channels}, {:?})", self.data())
    }
}

impl PartialEq for Image {
    fn eq(&self, other: &Self) -> bool {
        let shape = |image: &Self| (image.height, image.width, image.channels);
        shape(self) == shape(other) && self.data() == other.data()
    }
}

impl Image {
    /// Wraps pixel data, channels last.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a dimension of zero, [`Error::ShapeMismatch`] when `data` does not hold
    /// `height * width * channels` values, [`Error::NotFinite`] for NaN or infinite pixels.
    pub fn new(height: usize, width: usize, channels: usize, data: Vec<f32>) -> Result<Self> {
        Self::checked(height, width, channels, Pixels::Own(data))
    }

    /// Looks at pixels that belong to somebody else, without a copy of them; `owner` must always show the same ones.
    ///
    /// # Errors
    /// As [`Image::new`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// let owner = Arc::new(vec![0.5_f32; 6]);
    /// let image = ccbcut::Image::shared(2, 3, 1, owner.clone())?;
    /// assert_eq!(image.data().as_ptr(), owner.as_ptr());
    /// # Ok::<(), ccbcut::Error>(())
    /// ```
    pub fn shared(
        height: usize,
        width: usize,
        channels: usize,
        owner: Arc<dyn AsRef<[f32]> + Send + Sync>,
    ) -> Result<Self> {
        Self::checked(height, width, channels, Pixels::Shared(owner))
    }

    fn checked(height: usize, width: usize, channels: usize, pixels: Pixels) -> Result<Self> {
        for (name, value) in [("height", height), ("width", width), ("channels", channels)] {
            if value == 0 {
                return Err(Error::InvalidParameter { name, value: 0.0, expected: "at least 1" });
            }
        }
        let expected = height.saturating_mul(width).saturating_mul(channels);
        let image = Self { height, width, channels, data: pixels };
        let data = image.data();
        if data.len() != expected {
            return Err(Error::ShapeMismatch { what: "the pixel data", expected, got: data.len() });
        }
        if let Some(index) = data.iter().position(|v| !v.is_finite()) {
            let value = f64::from(data[index]);
            return Err(Error::NotFinite { what: "the image", index, value });
        }
        Ok(image)
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
        match &self.data {
            Pixels::Own(data) => data,
            Pixels::Shared(owner) => (**owner).as_ref(),
        }
    }

    /// The values of one pixel, by its row-major index.
    pub fn pixel(&self, index: usize) -> &[f32] {
        &self.data()[index * self.channels..(index + 1) * self.channels]
    }
}
