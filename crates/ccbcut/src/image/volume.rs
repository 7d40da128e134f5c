//! Pixels in layers: a stack of slices, or an image as a stack of one.

use super::{Image, color};
use crate::error::{Error, Result};

/// Voxels: depth × height × width × channels, row-major, channels last, with the distance between neighbours along
/// each axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Volume {
    shape: [usize; 3],
    channels: usize,
    spacing: [f64; 3],
    data: Vec<f32>,
}

impl Volume {
    /// Wraps voxels of unit spacing; the shape is depth, height, width.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a dimension of zero, [`Error::TooLarge`] for 2³² − 1 voxels or more,
    /// [`Error::ShapeMismatch`] for another number of values, [`Error::NotFinite`] for NaN or infinite ones.
    pub fn new(shape: [usize; 3], channels: usize, data: Vec<f32>) -> Result<Self> {
        let [depth, height, width] = shape;
        let named = [("depth", depth), ("height", height), ("width", width), ("channels", channels)];
        if let Some((name, _)) = named.into_iter().find(|&(_, size)| size == 0) {
            return Err(Error::InvalidParameter { name, value: 0.0, expected: "at least 1" });
        }
        let voxels = depth.saturating_mul(height).saturating_mul(width);
        let limit = u32::MAX as usize - 1;
        if voxels > limit {
            return Err(Error::TooLarge { what: "the volume", requested: voxels, limit });
        }
        let expected = voxels.saturating_mul(channels);
        if data.len() != expected {
            return Err(Error::ShapeMismatch { what: "the voxel data", expected, got: data.len() });
        }
        if let Some(index) = data.iter().position(|v| !v.is_finite()) {
            let value = f64::from(data[index]);
            return Err(Error::NotFinite { what: "the volume", index, value });
        }
        Ok(Self { shape, channels, spacing: [1.0; 3], data })
    }

    /// An image as a volume of one slice, its colours as L\*a\*b\* where it has one or three channels.
    ///
    /// # Errors
    /// None for an image that is one.
    pub fn of_image(image: &Image) -> Result<Self> {
        let shape = [1, image.height(), image.width()];
        if image.channels() == 1 || image.channels() == 3 {
            let lab = color::to_lab(image, color::WhitePoint::default())?;
            return Self::new(shape, 3, lab.data().to_vec());
        }
        Self::new(shape, image.channels(), image.data().to_vec())
    }

    /// The same voxels, their sRGB colours as L\*a\*b\*.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a number of channels other than one or three.
    pub fn to_lab(&self) -> Result<Self> {
        let ([depth, height, width], channels) = (self.shape, self.channels);
        if channels != 1 && channels != 3 {
            let (name, value) = ("the number of channels", channels as f64);
            return Err(Error::InvalidParameter { name, value, expected: "1 or 3 for colours" });
        }
        let stacked = Image::new(depth * height, width, channels, self.data.clone())?;
        let lab = color::to_lab(&stacked, color::WhitePoint::default())?;
        Self::new(self.shape, 3, lab.data().to_vec())?.with_spacing(self.spacing)
    }

    /// Distances between neighbouring slices, rows and columns.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for one that is not positive and finite.
    pub fn with_spacing(mut self, spacing: [f64; 3]) -> Result<Self> {
        if let Some(&value) = spacing.iter().find(|&&s| !(s.is_finite() && s > 0.0)) {
            return Err(Error::InvalidParameter { name: "spacing", value, expected: "above 0" });
        }
        self.spacing = spacing;
        Ok(self)
    }

    /// The same voxels with every channel on a scale where the middle 98 in 100 values span 0 to 100, as lightness does.
    /// A channel without contrast becomes zero.
    #[must_use]
    pub fn scaled(mut self) -> Self {
        for channel in 0..self.channels {
            let mut values: Vec<f32> =
                self.data.iter().skip(channel).step_by(self.channels).copied().collect();
            let last = values.len() - 1;
            let low = *values.select_nth_unstable_by(last / 100, f32::total_cmp).1;
            let high = *values.select_nth_unstable_by(last - last / 100, f32::total_cmp).1;
            let (low, span) = (f64::from(low), f64::from(high) - f64::from(low));
            for value in self.data.iter_mut().skip(channel).step_by(self.channels) {
                *value = if span > 0.0 { (100.0 * (f64::from(*value) - low) / span) as f32 } else { 0.0 };
            }
        }
        self
    }

    /// Depth, height, width.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Values per voxel.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Distances between neighbouring slices, rows and columns.
    pub fn spacing(&self) -> [f64; 3] {
        self.spacing
    }

    /// Number of voxels.
    pub fn n_voxels(&self) -> usize {
        self.shape.iter().product()
    }

    /// All values, row-major, channels last.
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// The values of one voxel, by its row-major index.
    pub fn voxel(&self, index: usize) -> &[f32] {
        &self.data[index * self.channels..(index + 1) * self.channels]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_volume_is_refused() {
        assert!(Volume::new([1, 0, 2], 1, vec![]).is_err());
        assert!(Volume::new([1, 2, 2], 1, vec![0.0; 3]).is_err());
        assert!(Volume::new([1, 1, 2], 1, vec![0.0, f32::NAN]).is_err());
        assert!(Volume::new([1 << 11; 3], 1, vec![]).is_err());
        assert!(Volume::new([1, 1, 1], 1, vec![0.0]).unwrap().with_spacing([1.0, 0.0, 1.0]).is_err());
    }

    #[test]
    fn colours_of_a_stack_are_those_of_its_slices() {
        let data: Vec<f32> = (0..2 * 3 * 4 * 3).map(|v| v as f32 / 72.0).collect();
        let lab = Volume::new([2, 3, 4], 3, data.clone()).unwrap().with_spacing([2.0, 1.0, 1.0]).unwrap();
        let lab = lab.to_lab().unwrap();
        let second = Volume::of_image(&Image::new(3, 4, 3, data[36..].to_vec()).unwrap()).unwrap();
        assert_eq!(lab.data()[36..], *second.data());
        assert_eq!((lab.shape(), lab.spacing()), ([2, 3, 4], [2.0, 1.0, 1.0]));
        assert!(Volume::new([1, 1, 1], 2, vec![0.0; 2]).unwrap().to_lab().is_err());
    }

    #[test]
    fn scaling_goes_by_the_bulk_of_the_values() {
        let mut data: Vec<f32> = (0..201).map(|v| v as f32).collect();
        data[200] = 1e9;
        let scaled = Volume::new([1, 1, 201], 1, data).unwrap().scaled();
        // The second smallest and the second largest of 201 values are 2 and 198.
        assert_eq!((scaled.voxel(2)[0], scaled.voxel(198)[0], scaled.voxel(100)[0]), (0.0, 100.0, 50.0));
        assert!(Volume::new([1, 1, 3], 1, vec![7.0; 3]).unwrap().scaled().data().iter().all(|&v| v == 0.0));
    }
}
