//! ROOM 2: image → graph.
//!
//! An [`Affinity`] ties every pixel to the pixels of a disc around it, its [`Neighborhood`], by weights that are
//! large where two pixels look as if they belong together. One construction per file.

mod colors;
mod contour;
mod exp;
mod features;
mod lab;
pub mod pmi;
mod product;

pub use contour::{ContourAffinity, ContourWeight};
pub use features::{Bandwidth, FeatureAffinity, FeatureKernel, FeatureNeighbors};
pub use lab::{LabAffinity, LabKernel};
pub use pmi::{PmiAffinity, PmiBandwidth, PmiEvaluation, PmiOrdering};
pub use product::ProductAffinity;

use crate::{
    error::{Error, Result},
    graph::{Graph, half_disc},
    image::Image,
};

/// Most weights a pixel graph may store: 8 GiB of them.
const WEIGHT_LIMIT: usize = 1 << 31;

/// A way to turn an image into a graph whose vertices are the pixels, numbered row by row.
pub trait Affinity {
    /// The name used by the command and in reports.
    fn name(&self) -> &'static str;

    /// The graph of an image, in which the pixels that `mask` marks `false` have no edges.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] for a mask that does not hold one value per pixel, and the errors of
    /// [`Affinity::graph`].
    fn graph_masked(&self, image: &Image, mask: Option<&[bool]>) -> Result<Graph>;

    /// The same graph for whoever only passes over its edges a few times, as a decimation and the costs do: where weights are found
    /// sooner than memory for them, they are not kept.
    ///
    /// # Errors
    /// As [`Affinity::graph_masked`].
    fn passing_graph_masked(&self, image: &Image, mask: Option<&[bool]>) -> Result<Graph> {
        self.graph_masked(image, mask)
    }

    /// The graph of an image.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a parameter or a number of channels outside its range,
    /// [`Error::TooLarge`] for a radius and an image that together need more than 2³¹ weights.
    fn graph(&self, image: &Image) -> Result<Graph> {
        self.graph_masked(image, None)
    }
}

/// Which pixels are tied: those at most `radius` apart, centre to centre.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighborhood {
    radius: f64,
}

impl Default for Neighborhood {
    /// Radius 10, as in the paper: 316 neighbours.
    fn default() -> Self {
        Self { radius: 10.0 }
    }
}

impl Neighborhood {
    /// The disc of a radius: 1 gives the four nearest neighbours, 1.5 the eight. Checked when it is used.
    pub fn new(radius: f64) -> Self {
        Self { radius }
    }

    /// The radius, in pixels.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// The forward offsets that fit into an image: (rows down, columns right), in raster order.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a radius below 1 or not finite, [`Error::TooLarge`] when the image would
    /// need more than 2³¹ weights.
    pub fn offsets(&self, height: usize, width: usize) -> Result<Vec<(usize, isize)>> {
        let radius = self.radius;
        if !(radius.is_finite() && radius >= 1.0) {
            let expected = "a finite number of at least 1";
            return Err(Error::InvalidParameter { name: "radius", value: radius, expected });
        }
        // No two pixels are farther apart than the diagonal, so a huge radius costs nothing to enumerate.
        let diagonal = (height as f64).hypot(width as f64);
        let mut offsets = half_disc(radius.min(diagonal));
        offsets.retain(|&(dr, dc)| dr < height && dc.unsigned_abs() < width);
        let requested = offsets.len().saturating_mul(height).saturating_mul(width);
        if requested > WEIGHT_LIMIT {
            let what = "the number of weights of the pixel graph";
            return Err(Error::TooLarge { what, requested, limit: WEIGHT_LIMIT });
        }
        Ok(offsets)
    }
}

/// Fails unless the mask, where there is one, holds one value per pixel.
fn check_mask(image: &Image, mask: Option<&[bool]>) -> Result<()> {
    match mask {
        Some(mask) if mask.len() != image.n_pixels() => {
            Err(Error::ShapeMismatch { what: "the mask", expected: image.n_pixels(), got: mask.len() })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_disc_has_316_neighbors() {
        assert_eq!(Neighborhood::default().offsets(100, 100).unwrap().len(), 316 / 2);
    }

    #[test]
    fn offsets_stay_inside_the_image() {
        assert_eq!(Neighborhood::new(1.5).offsets(1, 9).unwrap(), vec![(0, 1)]);
        assert_eq!(Neighborhood::new(3.0).offsets(1, 1).unwrap(), vec![]);
        // All pairs of a 3 × 3 image: the forward half of the 5 × 5 offsets.
        assert_eq!(Neighborhood::new(1e300).offsets(3, 3).unwrap().len(), 12);
    }

    #[test]
    fn a_radius_must_reach_the_next_pixel() {
        for radius in [0.99, 0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = Neighborhood::new(radius).offsets(5, 5).unwrap_err();
            assert!(matches!(error, Error::InvalidParameter { name: "radius", .. }), "{radius}");
        }
    }

    #[test]
    fn a_graph_of_all_pairs_of_a_photograph_is_too_large() {
        let error = Neighborhood::new(1000.0).offsets(321, 481).unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. }));
    }
}
