//! ROOM 2 as well: regions → graph.
//!
//! A [`RegionMap`] says which region each pixel of an image, or voxel of a volume, belongs to: superpixels from
//! [`Slic`], or a label map from anywhere. [`RegionGraph`] ties regions that touch; a graph of some thousand vertices
//! stands for an image of any size.

mod borders;
mod connect;
mod slic;

pub use borders::{Border, RegionGraph};
pub use slic::Slic;

use crate::{
    error::{Error, Result},
    image::volume::Volume,
    labels::{LabelMap, Labels},
};

/// Width of the kernel between mean colours unless set otherwise, in L*a*b* units.
pub const SIGMA: f64 = 14.0;

/// Which region each voxel belongs to; those outside every region hold [`LabelMap::VOID`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionMap {
    shape: [usize; 3],
    values: Vec<u32>,
    n_regions: usize,
}

impl RegionMap {
    /// A map from one number per voxel; regions are renumbered by first appearance, [`LabelMap::VOID`] stays.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] when there is not one value per voxel.
    pub fn new(shape: [usize; 3], raw: &[u32]) -> Result<Self> {
        let map = LabelMap::new(shape[0] * shape[1], shape[2], raw)?;
        Ok(Self { shape, values: map.as_slice().to_vec(), n_regions: map.n_segments() })
    }

    /// The regions of a label map.
    pub fn of_labels(labels: &LabelMap) -> Self {
        let shape = [1, labels.height(), labels.width()];
        Self { shape, values: labels.as_slice().to_vec(), n_regions: labels.n_segments() }
    }

    /// Depth, height, width.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// One value per voxel.
    pub fn as_slice(&self) -> &[u32] {
        &self.values
    }

    /// How many regions.
    pub fn n_regions(&self) -> usize {
        self.n_regions
    }

    /// Voxels of each region.
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.n_regions];
        for &region in self.values.iter().filter(|&&region| region != LabelMap::VOID) {
            sizes[region as usize] += 1;
        }
        sizes
    }

    /// The mean of every channel over every region, one row per region.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] for a volume of another shape.
    pub fn means(&self, volume: &Volume) -> Result<Vec<f64>> {
        self.check(volume.n_voxels(), volume.shape())?;
        let channels = volume.channels();
        let mut sums = vec![0.0; self.n_regions * channels];
        for (&region, values) in self.values.iter().zip(volume.data().chunks_exact(channels)) {
            if region != LabelMap::VOID {
                let row = &mut sums[region as usize * channels..][..channels];
                row.iter_mut().zip(values).for_each(|(sum, &value)| *sum += f64::from(value));
            }
        }
        for (row, size) in sums.chunks_exact_mut(channels).zip(self.sizes()) {
            row.iter_mut().for_each(|sum| *sum /= size as f64);
        }
        Ok(sums)
    }

    /// What was found for the regions, given to their voxels.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] when there is not one label per region.
    pub fn paint(&self, labels: &Labels) -> Result<Vec<u32>> {
        labels.check_len(self.n_regions)?;
        let labels = labels.as_slice();
        Ok(self.values.iter().map(|&r| labels.get(r as usize).copied().unwrap_or(LabelMap::VOID)).collect())
    }

    fn check(&self, got: usize, shape: [usize; 3]) -> Result<()> {
        if shape == self.shape {
            return Ok(());
        }
        Err(Error::ShapeMismatch { what: "the volume of the regions", expected: self.values.len(), got })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_counted_averaged_and_painted() {
        let map = RegionMap::new([1, 2, 3], &[5, 5, 9, LabelMap::VOID, 5, 9]).unwrap();
        assert_eq!((map.n_regions(), map.sizes()), (2, vec![3, 2]));
        let volume = Volume::new([1, 2, 3], 1, vec![1.0, 2.0, 10.0, 99.0, 6.0, 20.0]).unwrap();
        assert_eq!(map.means(&volume).unwrap(), vec![3.0, 15.0]);
        assert_eq!(map.paint(&Labels::from_raw(&[0, 1])).unwrap(), vec![0, 0, 1, LabelMap::VOID, 0, 1]);
        assert!(map.means(&Volume::new([1, 3, 2], 1, vec![0.0; 6]).unwrap()).is_err());
        assert!(map.paint(&Labels::single(3)).is_err());
        assert!(RegionMap::new([1, 2, 2], &[0; 3]).is_err());
    }
}
