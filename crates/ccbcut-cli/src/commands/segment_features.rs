//! The part of `ccbcut segment` that cuts feature maps.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use ccbcut::{
    Control, Image, Segmentation, Segmenter, Upsampling,
    affinity::{
        Bandwidth, FeatureAffinity, FeatureKernel, FeatureNeighbors, LabAffinity, LabKernel, Neighborhood,
    },
    image::principal::principal,
    memory::{ImageRun, PixelWeights, Prediction, TokenRun, of_image, of_tokens},
    segment::{Enlarger, default_levels},
};
use ccbcut_io::{FeatureMap, FeatureOptions, Layout, Limits, read_features};

use crate::{
    args::{
        self, BandwidthArg, CosineWeight, FeatureArgs, FeatureMetric, LayoutArg, NeighborsArg, SegmentArgs,
    },
    exit::Hinted,
    library, paint,
    report::FeatureFacts,
};

/// The largest coarse grid of which all pairs are compared unless told otherwise.
const ALL_PAIRS: usize = 4096;

/// A feature map on its way.
pub struct Features {
    map: FeatureMap,
    path: PathBuf,
    metric: FeatureMetric,
    cosine: CosineWeight,
    neighbors: NeighborsArg,
    affinity: FeatureAffinity,
}

impl Features {
    /// Reads the map that the options name and settles how it is compared; `image` is what it covers.
    ///
    /// # Errors
    /// When there is no such map, or it does not fit the image.
    pub fn read(path: &Path, args: &SegmentArgs, image: Option<&Image>) -> Result<Self> {
        let map = read_map(path, &args.features, args.graph.max_pixels)?;
        let (height, width) = (map.map.height(), map.map.width());
        let mut is_image_size = false;
        if let Some(image) = image {
            is_image_size = (height, width) == (image.height(), image.width());
            ensure!(
                height <= image.height() && width <= image.width(),
                "the feature map `{}` is {width} × {height}, finer than the image of {} × {} pixels",
                path.display(),
                image.width(),
                image.height()
            );
        }
        let options = &args.features;
        let default = if map.map.channels() == 1 { FeatureMetric::Rbf } else { FeatureMetric::Cosine };
        let metric = options.feature_metric.unwrap_or(default);
        let cosine = options.cosine_weight.unwrap_or(CosineWeight::Exponential);
        let is_coarse = !is_image_size && height * width <= ALL_PAIRS;
        let default = if is_coarse { NeighborsArg::All } else { NeighborsArg::Local };
        let neighbors = options.neighbors.unwrap_or(default);
        let affinity = affinity(args, metric, cosine, neighbors);
        Ok(Self { map, path: path.to_owned(), metric, cosine, neighbors, affinity })
    }

    /// The first principal coordinates, as an image to look at.
    pub fn picture(&self) -> Result<Image> {
        let coordinates = principal(&self.map.map, 3)?;
        let rows: Vec<f64> = coordinates.data().iter().map(|&v| f64::from(v)).collect();
        let rgb = paint::coordinates(&rows, 3, None);
        let data = rgb.iter().map(|&v| f32::from(v) / 255.0).collect();
        Ok(Image::new(self.map.map.height(), self.map.map.width(), 3, data)?)
    }

    /// Whether the map is cut as pixels are, decimations included.
    pub fn is_local(&self) -> bool {
        self.neighbors == NeighborsArg::Local
    }

    /// What the run will need; `pixels` are those of the label map.
    ///
    /// # Errors
    /// For a radius out of range.
    pub fn predict(&self, args: &SegmentArgs, image: &Image) -> Result<Prediction> {
        let map = &self.map.map;
        let columns = args.partition.columns.unwrap_or(1);
        let count = match self.neighbors {
            NeighborsArg::Local => {
                let (height, width) = (map.height(), map.width());
                let offsets = Neighborhood::new(args.graph.radius).offsets(height, width)?.len();
                return Ok(of_image(&ImageRun {
                    affinities: 1,
                    detects_contours: false,
                    learns_pairs: false,
                    weights: PixelWeights::Kept,
                    height,
                    width,
                    // The map, its planes, and the picture.
                    channels: 2 * map.channels() + 3,
                    offsets,
                    levels: args
                        .graph
                        .levels
                        .unwrap_or_else(|| default_levels(library::variant(&args.embedding), map.n_pixels())),
                    segments: args.partition.segments.count(),
                    rejoined: args.partition.rejoin.unwrap_or(0),
                    columns,
                    reweights: args.embedding.tau < 2.0,
                }));
            }
            NeighborsArg::All => None,
            NeighborsArg::Nearest { count, .. } => Some(count),
        };
        Ok(of_tokens(&TokenRun {
            tokens: map.n_pixels(),
            channels: map.channels(),
            nearest: count,
            pixels: image.n_pixels(),
            columns,
        }))
    }

    /// Cuts the map and takes the parts to the pixels of the image.
    ///
    /// # Errors
    /// Those of the library.
    pub fn cut(
        &self,
        segmenter: Segmenter,
        args: &SegmentArgs,
        image: &Image,
        mask: Option<&[bool]>,
        control: &mut Control<'_>,
    ) -> Result<Segmentation> {
        let map = &self.map.map;
        let segmenter = segmenter.affinity(self.affinity);
        let segmenter = if self.is_local() { segmenter } else { segmenter.levels(0) };
        let grid = (map.height(), map.width());
        if grid == (image.height(), image.width()) {
            return Ok(segmenter.segment_with(map, mask, control)?);
        }
        let on_grid = mask.map(|mask| mask_of_cells(mask, image, grid));
        // Regions are connected on the pixels, at the end.
        let mut cut = segmenter.connected(false).segment_with(map, on_grid.as_deref(), control)?;
        let lab = LabAffinity::new(LabKernel::Gaussian { sigma: args.graph.sigma });
        let enlarger = Enlarger::new(image, mask, grid, lab)?;
        let upsampling = match args.graph.upsampling {
            Some(args::Upsampling::Nearest) => Upsampling::Nearest,
            _ => Upsampling::Prolong,
        };
        cut = cut.enlarged(&enlarger, upsampling)?;
        if args.output.connected {
            cut.labels = cut.labels.connected();
            cut.report.part_costs.clear();
        }
        Ok(cut)
    }

    /// What the report says about the map.
    ///
    /// # Errors
    /// Those of the affinity.
    pub fn facts(&self, image: &Image, mask: Option<&[bool]>) -> Result<FeatureFacts> {
        let map = &self.map.map;
        let grid = (map.height(), map.width());
        let on_grid = mask.map(|mask| mask_of_cells(mask, image, grid));
        let weight = match (self.metric, self.cosine) {
            (FeatureMetric::Rbf, _) => "rbf",
            (_, CosineWeight::Exponential) => "exponential",
            (_, CosineWeight::Positive) => "positive",
            (_, CosineWeight::Threshold) => "threshold",
        };
        Ok(FeatureFacts {
            path: self.path.clone(),
            format: self.map.format,
            value_type: self.map.value_type.clone(),
            shape: self.map.shape.clone(),
            grid_height: map.height(),
            grid_width: map.width(),
            channels: map.channels(),
            weight,
            bandwidth: self.affinity.bandwidth(map, on_grid.as_deref())?,
            neighbors: self.neighbors.to_string(),
        })
    }
}

/// The map in a file, with a way out where the file alone does not say what it is.
fn read_map(path: &Path, args: &FeatureArgs, max_pixels: usize) -> Result<FeatureMap> {
    let options = FeatureOptions {
        layout: match args.layout {
            Some(LayoutArg::Chw) => Layout::ChannelsFirst,
            Some(LayoutArg::Hwc) | None => Layout::ChannelsLast,
        },
        grid: args.grid.map(|grid| (grid.0, grid.1)),
        name: args.feature_name.clone(),
        limits: Limits { max_pixels: max_pixels as u64 },
    };
    let hint = |error: ccbcut_io::Error| match &error {
        ccbcut_io::Error::Ambiguous { .. } => {
            Hinted::error(error.to_string(), "choose one with --feature-name")
        }
        ccbcut_io::Error::Shape { .. } => Hinted::error(
            error.to_string(),
            "say --grid HxW for a list of tokens, --layout chw for C x H x W",
        ),
        _ => error.into(),
    };
    read_features(path, &options)
        .map_err(hint)
        .with_context(|| format!("reading features `{}`", path.display()))
}

fn affinity(
    args: &SegmentArgs,
    metric: FeatureMetric,
    cosine: CosineWeight,
    neighbors: NeighborsArg,
) -> FeatureAffinity {
    let bandwidth = match args.features.bandwidth.unwrap_or(BandwidthArg::Median(1.0)) {
        BandwidthArg::Fixed(width) => Bandwidth::Fixed(width),
        BandwidthArg::Median(scale) => Bandwidth::Median(scale),
    };
    let kernel = match (metric, cosine) {
        (FeatureMetric::Rbf, _) => FeatureKernel::Rbf { bandwidth },
        (FeatureMetric::Cosine, CosineWeight::Exponential) => FeatureKernel::Exponential { bandwidth },
        (FeatureMetric::Cosine, CosineWeight::Positive) => FeatureKernel::Cosine,
        (FeatureMetric::Cosine, CosineWeight::Threshold) => {
            FeatureKernel::Threshold { threshold: args.features.cosine_threshold.unwrap_or(0.2) }
        }
    };
    let neighbors = match neighbors {
        NeighborsArg::Local => FeatureNeighbors::Local(Neighborhood::new(args.graph.radius)),
        NeighborsArg::All => FeatureNeighbors::All,
        NeighborsArg::Nearest { count, mutual } => FeatureNeighbors::Nearest { count, mutual },
    };
    FeatureAffinity::new(kernel).neighbors(neighbors)
}

/// A cell counts when any of its pixels does.
fn mask_of_cells(mask: &[bool], image: &Image, (h, w): (usize, usize)) -> Vec<bool> {
    let (height, width) = (image.height(), image.width());
    let mut cells = vec![false; h * w];
    for p in (0..mask.len()).filter(|&p| mask[p]) {
        let cell = |index: usize, fine: usize, coarse: usize| (2 * index + 1) * coarse / (2 * fine);
        cells[cell(p / width, height, h) * w + cell(p % width, width, w)] = true;
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_counts_when_a_pixel_of_it_does() {
        let image = Image::new(4, 6, 1, vec![0.0; 24]).unwrap();
        let mut mask = vec![false; 24];
        mask[9] = true;
        assert_eq!(mask_of_cells(&mask, &image, (2, 3)), [false, true, false, false, false, false]);
        assert_eq!(mask_of_cells(&[true; 24], &image, (2, 3)), [true; 6]);
    }
}
