//! Superpixels, and regions that are cut as one vertex each.

use ccbcut::{
    Graph, Image, LabelMap, Result,
    affinity::ContourWeight,
    image::{
        contours::{Contours, MultiscalePb},
        volume::Volume,
    },
    regions::{RegionGraph, RegionMap, Slic},
};
use numpy::{PyArray2, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::prelude::*;

use crate::{
    control::run,
    image::borrow,
    options::{ImageOptions, Tie},
    segment::to_map,
};

/// Many small regions of like colour.
#[pyfunction]
pub fn superpixels<'py>(
    py: Python<'py>,
    pixels: PyReadonlyArray3<'py, f32>,
    mask: Option<PyReadonlyArray2<'py, bool>>,
    n_segments: usize,
    compactness: f64,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<i32>>> {
    let image = borrow(&pixels)?;
    let mask = mask.as_ref().map(|mask| mask.as_slice()).transpose()?;
    let slic = Slic::new(n_segments).compactness(compactness);
    let map = run(py, threads, |_| slic.fit(&Volume::of_image(&image)?, mask))?;
    to_map(py, map.as_slice(), [image.height(), image.width()])
}

/// Where regions come from, and how they are tied.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct RegionOptions<'py> {
    /// About so many, by SLIC.
    superpixels: Option<usize>,
    /// A label map instead.
    regions: Option<PyReadonlyArray2<'py, u32>>,
    compactness: f64,
    region_sigma: f64,
    region_features: Option<PyReadonlyArray2<'py, f64>>,
    region_feature_sigma: Option<f64>,
}

/// The same, ready for another thread.
pub struct RegionPlan<'a> {
    slic: Slic,
    given: Option<&'a [u32]>,
    sigma: f64,
    features: Option<(&'a [f64], usize)>,
    feature_sigma: Option<f64>,
    ties: Vec<Tie>,
    contours: Option<Contours>,
    seed: u64,
}

impl RegionOptions<'_> {
    /// What is to be done, checked as far as that is possible before.
    pub fn plan(&self, image: &ImageOptions<'_>) -> PyResult<RegionPlan<'_>> {
        let features = match &self.region_features {
            Some(rows) => Some((rows.as_slice()?, rows.as_array().ncols())),
            None => None,
        };
        Ok(RegionPlan {
            slic: Slic::new(self.superpixels.unwrap_or(1)).compactness(self.compactness),
            given: self.regions.as_ref().map(|map| map.as_slice()).transpose()?,
            sigma: self.region_sigma,
            features,
            feature_sigma: self.region_feature_sigma,
            ties: image.ties()?,
            contours: image.given_contours()?,
            seed: image.seed,
        })
    }
}

impl RegionPlan<'_> {
    /// The regions of an image and their graph.
    pub fn tied(&self, image: &Image, mask: Option<&[bool]>) -> Result<(RegionMap, Graph)> {
        let volume = Volume::of_image(image)?;
        let map = match self.given {
            None => self.slic.fit(&volume, mask)?,
            Some(labels) => {
                let is_on = |pixel: usize| mask.is_none_or(|mask| mask.get(pixel).copied().unwrap_or(false));
                let seen = labels.iter().enumerate();
                let seen = seen.map(|(p, &label)| if is_on(p) { label } else { LabelMap::VOID });
                RegionMap::new([1, image.height(), image.width()], &seen.collect::<Vec<u32>>())?
            }
        };
        let detects = self.contours.is_none() && self.ties.iter().any(|tie| matches!(tie, Tie::Contours(_)));
        let found = if detects { Some(MultiscalePb::new().seed(self.seed).detect(image)?) } else { None };
        let graph = self.graph(&map, &volume, self.contours.as_ref().or(found.as_ref()))?;
        Ok((map, graph))
    }

    fn graph(&self, map: &RegionMap, volume: &Volume, contours: Option<&Contours>) -> Result<Graph> {
        let mut graph = RegionGraph::new(map);
        for tie in &self.ties {
            graph = match (*tie, contours) {
                // exp(−d²/σ²) to a power is a Gaussian of another width.
                (Tie::Colors(power), _) => graph.colors(volume, self.sigma / power.sqrt())?,
                (Tie::Contours(weight), Some(contours)) => graph.contours(contours, weight)?,
                (Tie::Contours(_), None) => graph,
            };
        }
        let Some((rows, columns)) = self.features else { return graph.build() };
        let sigma = self.feature_sigma.unwrap_or_else(|| graph.median_distance(rows, columns));
        graph.features(rows.to_vec(), columns, sigma)?.build()
    }
}

/// How the weight of a contour changes with the power it is raised to: its width does.
pub fn raised(weight: ContourWeight, power: f64) -> ContourWeight {
    match weight {
        ContourWeight::Sigmoid { sigma } => ContourWeight::Sigmoid { sigma: sigma / power },
        ContourWeight::Exponential { sigma } => ContourWeight::Exponential { sigma: sigma / power },
    }
}
