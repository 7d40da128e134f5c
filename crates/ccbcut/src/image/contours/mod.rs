//! Where an image has boundaries: the multiscale probability of boundary, mPb.
//!
//! Four cues, lightness, two colours and texture, are compared between the two halves of discs of three radii in eight
//! orientations, smoothed along the edge, weighted, and thinned to contours one pixel wide.
//!
//! # References
//! P. Arbeláez, M. Maire, C. Fowlkes, J. Malik, "Contour detection and hierarchical image segmentation", TPAMI 33(5),
//! 2011, <https://doi.org/10.1109/TPAMI.2010.161>.

mod bins;
mod filters;
mod gradient;
mod parabola;
mod textons;
mod thin;

pub use bins::BinMap;
pub use filters::{Filter, texton_filters};
use gradient::Gradient;
pub use gradient::ORIENTATIONS;
use parabola::Parabola;

use super::Image;
use crate::{
    error::{Error, Result},
    parallel,
};

/// What is compared between the halves of a disc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cue {
    /// Lightness, L*.
    Lightness,
    /// Green to red, a*.
    GreenRed,
    /// Blue to yellow, b*.
    BlueYellow,
    /// The names of textures.
    Texture,
}

impl Cue {
    const ALL: [Self; 4] = [Self::Lightness, Self::GreenRed, Self::BlueYellow, Self::Texture];

    /// The radii of the discs, in pixels.
    pub fn radii(self) -> [usize; 3] {
        match self {
            Self::Lightness => [3, 5, 10],
            _ => [5, 10, 20],
        }
    }

    /// How wide histograms are smoothed, in bins.
    fn sigma(self) -> f64 {
        match self {
            Self::Lightness => 2.5,
            Self::GreenRed | Self::BlueYellow => 1.25,
            Self::Texture => 0.0,
        }
    }

    /// What each radius counts, as learned on BSDS by the authors of mPb.
    fn weights(self, is_gray: bool) -> [f64; 3] {
        match (self, is_gray) {
            (Self::Lightness, false) => [0.0146, 0.0145, 0.0163],
            (Self::GreenRed, false) => [0.0210, 0.0243, 0.0287],
            (Self::BlueYellow, false) => [0.0166, 0.0185, 0.0204],
            (Self::Texture, false) => [0.0101, 0.0111, 0.0141],
            (Self::Lightness, true) => [0.0245, 0.0220, 0.0233],
            (Self::Texture, true) => [0.0208, 0.0210, 0.0229],
            (Self::GreenRed | Self::BlueYellow, true) => [0.0; 3],
        }
    }
}

/// How likely a boundary passes through each pixel, in [0, 1].
#[derive(Debug, Clone, PartialEq)]
pub struct Contours {
    height: usize,
    width: usize,
    strengths: Vec<f32>,
}

impl Contours {
    /// Wraps strengths, row by row: those of another detector, or a drawing.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] when there is not one per pixel, [`Error::NotFinite`] and
    /// [`Error::InvalidParameter`] for values that are not finite or outside [0, 1].
    pub fn new(height: usize, width: usize, strengths: Vec<f32>) -> Result<Self> {
        let expected = height.saturating_mul(width);
        if strengths.len() != expected {
            return Err(Error::ShapeMismatch { what: "the contour map", expected, got: strengths.len() });
        }
        if let Some(index) = strengths.iter().position(|v| !v.is_finite()) {
            let value = f64::from(strengths[index]);
            return Err(Error::NotFinite { what: "the contour map", index, value });
        }
        if let Some(&bad) = strengths.iter().find(|v| !(0.0..=1.0).contains(*v)) {
            let (name, value) = ("a strength of the contour map", f64::from(bad));
            return Err(Error::InvalidParameter { name, value, expected: "between 0 and 1" });
        }
        Ok(Self { height, width, strengths })
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The strengths, row by row.
    pub fn as_slice(&self) -> &[f32] {
        &self.strengths
    }
}

/// A strength for each of eight orientations of a boundary at every pixel.
#[derive(Debug, Clone, PartialEq)]
pub struct Oriented {
    height: usize,
    width: usize,
    /// Row by row of the image, and in it one row for each orientation.
    strengths: Vec<f32>,
}

impl Oriented {
    fn zeros(height: usize, width: usize) -> Self {
        Self { height, width, strengths: vec![0.0; height * width * ORIENTATIONS] }
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The strength of a boundary at a pixel; orientation 0 is a vertical one, and they turn by π/8.
    pub fn at(&self, row: usize, column: usize, orientation: usize) -> f32 {
        self.strengths[(row * ORIENTATIONS + orientation) * self.width + column]
    }

    fn row(&self, row: usize, orientation: usize) -> &[f32] {
        &self.strengths[(row * ORIENTATIONS + orientation) * self.width..][..self.width]
    }

    /// Adds the other, smoothed by the parabolas of a radius.
    fn add_smoothed(&mut self, rough: &Self, radius: usize) {
        let (height, width) = (self.height, self.width);
        let parabolas: Vec<Parabola> = (0..ORIENTATIONS).map(|o| Parabola::new(radius, o, width)).collect();
        parallel::for_each_chunk(&mut self.strengths, width * ORIENTATIONS, |row, out| {
            for (o, (out, parabola)) in out.chunks_exact_mut(width).zip(&parabolas).enumerate() {
                parabola.add_row(height, row, |r| rough.row(r, o), out);
            }
        });
    }

    /// Contours one pixel wide: the strongest orientation, where it is larger than on either side of the boundary.
    pub fn thinned(&self) -> Contours {
        let strongest: Vec<(f32, u8)> = (0..self.height * self.width)
            .map(|p| {
                let at = |o: usize| self.at(p / self.width, p % self.width, o);
                let best = (1..ORIENTATIONS).fold(0, |best, o| if at(o) > at(best) { o } else { best });
                (at(best).max(0.0), best as u8)
            })
            .collect();
        let strengths = thin::thinned(self.height, self.width, &strongest);
        Contours { height: self.height, width: self.width, strengths }
    }
}

/// The detector.
///
/// ```
/// use ccbcut::image::{Image, contours::MultiscalePb};
/// // Dark on the left, bright on the right.
/// let pixels = (0..32 * 40).map(|p| if p % 40 < 20 { 0.2 } else { 0.8 }).collect();
/// let contours = MultiscalePb::new().detect(&Image::new(32, 40, 1, pixels)?)?;
/// let row = &contours.as_slice()[16 * 40..17 * 40];
/// assert!(row[19] + row[20] > 0.5 && row[..15].iter().all(|&v| v < 0.1));
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct MultiscalePb {
    seed: u64,
    textons: Option<BinMap>,
}

impl MultiscalePb {
    /// The detector with seed 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Fixes the sample of pixels and the first centres that textons are made from.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Takes this map of textons instead of making one.
    #[must_use]
    pub fn textons(mut self, textons: BinMap) -> Self {
        self.textons = Some(textons);
        self
    }

    /// The contours of an image with 1 channel or 3, of any size. Where all pixels are gray, colour has no say and the
    /// other cues have the weights learned for that.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for another number of channels, [`Error::ShapeMismatch`] for textons of another size.
    ///
    /// # Complexity
    /// O(ρ) updates of histograms per pixel and cue and radius ρ, and O(ρ²) products per pixel and orientation for the smoothing;
    /// about 170 bytes of memory a pixel.
    pub fn detect(&self, image: &Image) -> Result<Contours> {
        Ok(self.oriented(image)?.thinned())
    }

    /// The weighted sum of the cues, before it is thinned.
    ///
    /// # Errors
    /// As [`MultiscalePb::detect`].
    pub fn oriented(&self, image: &Image) -> Result<Oriented> {
        check_channels(image)?;
        let is_gray = is_gray(image);
        let maps = self.maps(image, is_gray)?;
        let mut strengths = Oriented::zeros(image.height(), image.width());
        // Smoothing is linear and depends on the radius alone: one pass for all cues that share it.
        for radius in [3, 5, 10, 20] {
            let mut gradients = Vec::new();
            for (cue, map) in &maps {
                let weights = cue.radii().into_iter().zip(cue.weights(is_gray));
                let weight = weights.filter(|(r, _)| *r == radius).map(|(_, w)| w as f32).sum::<f32>();
                if weight > 0.0 {
                    gradients.push((Gradient::new(map, radius, cue.sigma()), weight));
                }
            }
            strengths.add_smoothed(&rough(image, &gradients), radius);
        }
        Ok(strengths)
    }

    /// One cue at one radius, smoothed, without its weight.
    ///
    /// # Errors
    /// As [`MultiscalePb::detect`], and [`Error::InvalidParameter`] for a radius of more than 64.
    pub fn cue(&self, image: &Image, cue: Cue, radius: usize) -> Result<Oriented> {
        check_channels(image)?;
        if !(1..=64).contains(&radius) {
            let (name, value) = ("radius", radius as f64);
            return Err(Error::InvalidParameter { name, value, expected: "1 to 64 pixels" });
        }
        let maps = self.maps(image, false)?;
        let map =
            maps.iter().find(|(c, _)| *c == cue).map(|(_, map)| Gradient::new(map, radius, cue.sigma()));
        let mut strengths = Oriented::zeros(image.height(), image.width());
        strengths.add_smoothed(&rough(image, &map.map(|m| (m, 1.0)).into_iter().collect::<Vec<_>>()), radius);
        Ok(strengths)
    }

    /// The maps of bins of the cues.
    fn maps(&self, image: &Image, is_gray: bool) -> Result<Vec<(Cue, BinMap)>> {
        let textons = match &self.textons {
            Some(map) if (map.height(), map.width()) != (image.height(), image.width()) => {
                let (expected, got) = (image.n_pixels(), map.as_slice().len());
                return Err(Error::ShapeMismatch { what: "the map of textons", expected, got });
            }
            Some(map) => map.clone(),
            None => textons::textons(image, self.seed)?,
        };
        let [l, a, b] = bins::color_bins(image)?;
        let all = Cue::ALL.into_iter().zip([l, a, b, textons]);
        let counts = |cue: Cue| !is_gray || matches!(cue, Cue::Lightness | Cue::Texture);
        Ok(all.filter(|(cue, _)| counts(*cue)).collect())
    }
}

/// The weighted sum of some gradients.
fn rough(image: &Image, gradients: &[(Gradient, f32)]) -> Oriented {
    let mut sum = Oriented::zeros(image.height(), image.width());
    parallel::for_each_chunk(&mut sum.strengths, image.width() * ORIENTATIONS, |row, out| {
        gradients.iter().for_each(|(gradient, weight)| gradient.add_row(row, *weight, out));
    });
    sum
}

fn check_channels(image: &Image) -> Result<()> {
    match image.channels() {
        1 | 3 => Ok(()),
        channels => {
            let (name, value) = ("channels", channels as f64);
            Err(Error::InvalidParameter { name, value, expected: "1 (gray) or 3 (sRGB)" })
        }
    }
}

fn is_gray(image: &Image) -> bool {
    image.data().chunks_exact(image.channels()).all(|pixel| pixel.iter().all(|&v| v == pixel[0]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn noise(height: usize, width: usize, channels: usize) -> Image {
        let mut random = Random::new(9);
        let data = (0..height * width * channels).map(|_| random.uniform() as f32).collect();
        Image::new(height, width, channels, data).unwrap()
    }

    #[test]
    fn the_whole_is_the_weighted_sum_of_the_smoothed_cues() {
        let image = noise(24, 27, 3);
        let detector = MultiscalePb::new().seed(4);
        let whole = detector.oriented(&image).unwrap();
        let mut sum = vec![0.0_f64; whole.strengths.len()];
        for cue in Cue::ALL {
            for (radius, weight) in cue.radii().into_iter().zip(cue.weights(false)) {
                let part = detector.cue(&image, cue, radius).unwrap();
                sum.iter_mut().zip(&part.strengths).for_each(|(s, &v)| *s += weight * f64::from(v));
            }
        }
        assert!(sum.iter().zip(&whole.strengths).all(|(a, &b)| (a - f64::from(b)).abs() < 1e-6));
    }

    #[test]
    fn gray_in_three_channels_is_gray() {
        let gray = noise(16, 18, 1);
        let data = gray.data().iter().flat_map(|&v| [v; 3]).collect();
        let color = Image::new(16, 18, 3, data).unwrap();
        let detect = |image: &Image| MultiscalePb::new().detect(image).unwrap();
        assert_eq!(detect(&gray), detect(&color));
    }

    #[test]
    fn flat_thin_and_tiny_images_have_contours() {
        for (height, width) in [(1, 1), (1, 50), (40, 1), (2, 2), (33, 35)] {
            let flat = Image::new(height, width, 3, vec![0.5; height * width * 3]).unwrap();
            let contours = MultiscalePb::new().detect(&flat).unwrap();
            assert!(contours.as_slice().iter().all(|&v| v == 0.0), "{height} x {width}");
            let busy = MultiscalePb::new().detect(&noise(height, width, 3)).unwrap();
            assert!(busy.as_slice().iter().all(|v| (0.0..=1.0).contains(v)));
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let two = noise(4, 4, 2);
        assert!(matches!(
            MultiscalePb::new().detect(&two),
            Err(Error::InvalidParameter { name: "channels", .. })
        ));
        let textons = BinMap::new(3, 4, vec![0; 12]).unwrap();
        let error = MultiscalePb::new().textons(textons).detect(&noise(4, 3, 1)).unwrap_err();
        assert!(matches!(error, Error::ShapeMismatch { what: "the map of textons", .. }));
        assert!(Contours::new(1, 2, vec![0.5]).is_err());
        assert!(matches!(Contours::new(1, 1, vec![f32::NAN]), Err(Error::NotFinite { .. })));
        assert!(matches!(Contours::new(1, 1, vec![1.5]), Err(Error::InvalidParameter { .. })));
        assert!(MultiscalePb::new().cue(&noise(4, 4, 1), Cue::Lightness, 0).is_err());
    }
}
