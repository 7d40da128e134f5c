//! Feature map → label map.

use ccbcut::{
    Control, Segmentation, Segmenter, Upsampling,
    affinity::{
        Bandwidth, FeatureAffinity, FeatureKernel, FeatureNeighbors, LabAffinity, LabKernel, Neighborhood,
    },
    segment::Enlarger,
};
use numpy::{PyReadonlyArray2, PyReadonlyArray3};
use pyo3::prelude::*;

use crate::{
    control::{Stop, run},
    image::borrow,
    options::{CutOptions, PartOptions, choose, upsampling},
    segment::{SegmentRecord, to_record},
};

/// How features become a graph, and labels of a grid those of pixels.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct FeatureOptions {
    kernel: String,
    threshold: f64,
    /// A width, or so many medians.
    bandwidth: f64,
    is_median: bool,
    neighbors: String,
    n_neighbors: usize,
    radius: f64,
    levels: Option<usize>,
    sigma: f64,
    upsampling: Option<String>,
    connected: bool,
}

/// Cuts a feature map; an image that it covers, with the mask of its pixels, takes the labels to its own size.
#[pyfunction]
pub fn segment_features<'py>(
    py: Python<'py>,
    features: PyReadonlyArray3<'py, f32>,
    mask: Option<PyReadonlyArray2<'py, bool>>,
    pixels: Option<PyReadonlyArray3<'py, f32>>,
    pixel_mask: Option<PyReadonlyArray2<'py, bool>>,
    options: CutOptions<'py>,
    parts: PartOptions,
    feature_options: FeatureOptions,
) -> PyResult<SegmentRecord<'py>> {
    let map = borrow(&features)?;
    let image = pixels.as_ref().map(borrow).transpose()?;
    let mask = mask.as_ref().map(|mask| mask.as_slice()).transpose()?;
    let pixel_mask = pixel_mask.as_ref().map(|mask| mask.as_slice()).transpose()?;
    let (segmenter, way) = feature_options.segmenter(&options, &parts)?;
    let work = |stop: Stop<'_>| {
        let control = &mut Control::new().stop(stop);
        let Some(image) = &image else {
            return segmenter.connected(feature_options.connected).segment_with(&map, mask, control);
        };
        let cut = segmenter.segment_with(&map, mask, control)?;
        let lab = LabAffinity::new(LabKernel::Gaussian { sigma: feature_options.sigma });
        let enlarger = Enlarger::new(image, pixel_mask, (map.height(), map.width()), lab)?;
        let mut cut: Segmentation = cut.enlarged(&enlarger, way)?;
        if feature_options.connected {
            cut.labels = cut.labels.connected();
        }
        Ok(cut)
    };
    let cut = run(py, options.threads, work)?;
    let size = image.as_ref().unwrap_or(&map);
    to_record(py, &cut, [size.height(), size.width()])
}

impl FeatureOptions {
    fn affinity(&self) -> PyResult<FeatureAffinity> {
        let width = self.bandwidth;
        let bandwidth = if self.is_median { Bandwidth::Median(width) } else { Bandwidth::Fixed(width) };
        let kernels = [
            ("rbf", FeatureKernel::Rbf { bandwidth }),
            ("exponential", FeatureKernel::Exponential { bandwidth }),
            ("positive", FeatureKernel::Cosine),
            ("threshold", FeatureKernel::Threshold { threshold: self.threshold }),
        ];
        let count = self.n_neighbors;
        let ways = [
            ("local", FeatureNeighbors::Local(Neighborhood::new(self.radius))),
            ("all", FeatureNeighbors::All),
            ("knn", FeatureNeighbors::Nearest { count, mutual: false }),
            ("mutual-knn", FeatureNeighbors::Nearest { count, mutual: true }),
        ];
        let affinity = FeatureAffinity::new(choose("kernel", &self.kernel, &kernels)?);
        Ok(affinity.neighbors(choose("neighbors", &self.neighbors, &ways)?))
    }

    /// Only a local graph is decimated.
    fn segmenter(&self, cut: &CutOptions<'_>, parts: &PartOptions) -> PyResult<(Segmenter, Upsampling)> {
        let affinity = self.affinity()?;
        let levels = if self.neighbors == "local" { self.levels } else { Some(0) };
        let way = self.upsampling.as_deref().map(upsampling).transpose()?;
        let mut segmenter = cut.segmenter(parts)?.affinity(affinity);
        if let Some(levels) = levels {
            segmenter = segmenter.levels(levels);
        }
        if let Some(way) = way {
            segmenter = segmenter.upsampling(way);
        }
        Ok((segmenter, way.unwrap_or(Upsampling::Prolong)))
    }
}
