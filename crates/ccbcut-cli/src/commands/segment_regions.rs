//! The part of `ccbcut segment` that cuts superpixels.

use std::{path::Path, time::Instant};

use anyhow::{Context, Result, bail, ensure};
use ccbcut::{
    Graph, Image, LabelMap,
    affinity::ContourWeight,
    image::{
        contours::{Contours, MultiscalePb},
        volume::Volume,
    },
    regions::{RegionGraph, RegionMap, Slic},
    report::Stage,
};
use ccbcut_io::{Limits, read_label_map, read_points};

use crate::{
    args::{self, Affinity, SegmentArgs, Superpixels},
    exit::Hinted,
};

/// Regions and the graph of them.
pub struct Regions {
    /// Which pixel belongs to which.
    pub map: RegionMap,
    /// How they are tied.
    pub graph: Graph,
    /// How long that took.
    pub stages: Vec<Stage>,
}

impl Regions {
    /// Finds or reads the superpixels of an image and ties them.
    ///
    /// # Errors
    /// For a file that holds no label map of this image, affinities that regions do not have, and those of the library.
    pub fn new(
        from: &Superpixels,
        image: &Image,
        mask: Option<&[bool]>,
        given: Option<&Contours>,
        args: &SegmentArgs,
    ) -> Result<Self> {
        let start = Instant::now();
        let volume = Volume::of_image(image)?;
        let map = match from {
            Superpixels::Count(count) => {
                Slic::new(*count).compactness(args.regions.compactness()).fit(&volume, mask)?
            }
            Superpixels::File(path) => read(path, image, mask, args)?,
        };
        let mut stages = vec![Stage { name: "superpixels", ms: start.elapsed().as_secs_f64() * 1e3 }];
        let start = Instant::now();
        let found = match given {
            None if args.graph.mix().has(Affinity::Mpb) => {
                Some(MultiscalePb::new().seed(args.embedding.seed).detect(image)?)
            }
            _ => None,
        };
        let graph = tied(&map, &volume, given.or(found.as_ref()), args)?;
        stages.push(Stage { name: "affinity", ms: start.elapsed().as_secs_f64() * 1e3 });
        Ok(Self { map, graph, stages })
    }
}

/// The label map of a file, voids where the mask has them.
fn read(path: &Path, image: &Image, mask: Option<&[bool]>, args: &SegmentArgs) -> Result<RegionMap> {
    let limits = Limits { max_pixels: args.graph.max_pixels as u64 };
    let labels =
        read_label_map(path, limits).with_context(|| format!("reading superpixels `{}`", path.display()))?;
    ensure!(
        (labels.height(), labels.width()) == (image.height(), image.width()),
        "the superpixels `{}` are {} × {} pixels, but the image is {} × {}",
        path.display(),
        labels.width(),
        labels.height(),
        image.width(),
        image.height()
    );
    let Some(mask) = mask else { return Ok(RegionMap::of_labels(&labels)) };
    let seen =
        labels.as_slice().iter().zip(mask).map(|(&label, &on)| if on { label } else { LabelMap::VOID });
    Ok(RegionMap::new([1, image.height(), image.width()], &seen.collect::<Vec<u32>>())?)
}

/// The graph of the regions, by everything that was asked for.
fn tied(map: &RegionMap, volume: &Volume, contours: Option<&Contours>, args: &SegmentArgs) -> Result<Graph> {
    let mut graph = RegionGraph::new(map);
    for &(factor, power) in args.graph.mix().factors() {
        graph = match factor {
            // exp(−d²/σ²) to a power is a Gaussian of another width.
            Affinity::Lab => graph.colors(volume, args.regions.sigma() / power.sqrt())?,
            Affinity::Mpb => {
                // Strengths divided by a width to a power: the same for the exponential form, none for the other.
                let sigma = args.graph.contour_sigma / power;
                let weight = match args.graph.contour_weight {
                    args::ContourWeight::Sigmoid => ContourWeight::Sigmoid { sigma },
                    args::ContourWeight::Exponential => ContourWeight::Exponential { sigma },
                };
                match contours {
                    Some(contours) => graph.contours(contours, weight)?,
                    None => graph,
                }
            }
            Affinity::Pmi => {
                let message = "`pmi` compares pixels, and superpixels have none".to_owned();
                return Err(Hinted::error(message, "use --affinity lab, mpb or lab+mpb"));
            }
        };
    }
    let Some(path) = &args.regions.region_features else { return Ok(graph.build()?) };
    if matches!(args.regions.superpixels, Some(Superpixels::Count(_))) {
        let message = "--region-features has a row per region of a label map".to_owned();
        return Err(Hinted::error(message, "give the map with --superpixels FILE"));
    }
    let points = read_points(path)
        .with_context(|| format!("reading features of regions `{}`", path.display()))?
        .points;
    if points.len() != map.n_regions() {
        let (rows, regions) = (points.len(), map.n_regions());
        bail!("`{}` has {rows} rows, but there are {regions} regions", path.display());
    }
    let columns = points.n_dimensions();
    let rows: Vec<f64> = (0..points.len()).flat_map(|point| points.row(point).to_vec()).collect();
    let sigma = match args.regions.region_feature_sigma {
        Some(sigma) => sigma,
        None => graph.median_distance(&rows, columns),
    };
    Ok(graph.features(rows, columns, sigma)?.build()?)
}
