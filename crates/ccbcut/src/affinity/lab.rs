//! Likeness of colour: weights that fall with the distance of two pixels in L*a*b*.

use crate::{
    error::{Error, Result},
    graph::Graph,
    image::{
        Image,
        color::{WhitePoint, to_lab},
        smooth::smooth,
    },
};

use super::{
    Affinity, Neighborhood, check_mask,
    colors::{Colors, GaussianWeight, RELEASED_FLOOR, ReleasedWeight},
};

/// The narrowest adaptive kernel, in L*a*b* units.
const LEAST_SIGMA: f64 = 1.0;

/// How a weight falls with the colour distance d of two pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LabKernel {
    /// exp(−d²/σ²), d in L*a*b* units under D65: the paper's "Gaussian kernel on squared distances".
    Gaussian {
        /// σ; the paper gives none. At 4 to 5 its normalized-cut figures are met most nearly.
        sigma: f64,
    },
    /// exp(−d²/σ²) with a σ that follows the image: `scale` times the median colour distance of pixels a few pixels
    /// apart, but at least 1, which is what the eye can just tell. A busy image is thus given a wider kernel than a calm
    /// one.
    Adaptive {
        /// σ in median distances.
        scale: f64,
    },
    /// exp(−β d/d_max), as in the toolbox released by the paper's authors.
    ///
    /// The colour is L*a*b* under D50 coded in 8 bits (255/100 L*, a* + 128, b* + 128, rounded) and divided by
    /// 255; d is not squared and at least 10⁻⁴; d_max is the largest d of any two neighbours. That toolbox
    /// repeats the border pixels outwards, which changes nothing: an offset cut short at the border still ends
    /// inside the disc, so the pair is one that counts anyway.
    Released {
        /// β; 90 in the toolbox.
        beta: f64,
    },
}

impl Default for LabKernel {
    /// Gaussian with σ = 5.
    fn default() -> Self {
        Self::Gaussian { sigma: 5.0 }
    }
}

impl LabKernel {
    /// The released kernel with its β = 90.
    pub fn released() -> Self {
        Self::Released { beta: 90.0 }
    }

    fn validate(self) -> Result<()> {
        let (name, value) = match self {
            Self::Gaussian { sigma } => ("sigma", sigma),
            Self::Adaptive { scale } => ("scale", scale),
            Self::Released { beta } => ("beta", beta),
        };
        if value.is_finite() && value > 0.0 {
            return Ok(());
        }
        Err(Error::InvalidParameter { name, value, expected: "positive and finite" })
    }
}

/// The graph of colour likeness.
///
/// Weights are computed and stored in 32 bits. A Gaussian weight below about 10⁻⁴⁵ (d > 10.1 σ) rounds to zero,
/// and there is no edge; a pixel unlike all its neighbours may thus stand alone.
///
/// ```
/// use ccbcut::{Image, affinity::{Affinity, LabAffinity, LabKernel, Neighborhood}};
/// let image = Image::new(1, 3, 1, vec![0.2, 0.2, 0.9])?;
/// let affinity = LabAffinity::new(LabKernel::default()).neighborhood(Neighborhood::new(1.0));
/// let graph = affinity.graph(&image)?;
/// assert_eq!(graph.degrees()[0], 1.0);
/// assert!(graph.degrees()[2] < 1e-6);
/// # Ok::<(), ccbcut::Error>(())
/// ```
///
/// # Complexity
/// O(n R²) time and storage for n pixels and radius R.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LabAffinity {
    kernel: LabKernel,
    neighborhood: Neighborhood,
    smoothing: f64,
}

impl LabAffinity {
    /// The affinity of a kernel, with the default neighbourhood of radius 10.
    pub fn new(kernel: LabKernel) -> Self {
        Self { kernel, neighborhood: Neighborhood::default(), smoothing: 0.0 }
    }

    /// Which pixels are tied.
    #[must_use]
    pub fn neighborhood(mut self, neighborhood: Neighborhood) -> Self {
        self.neighborhood = neighborhood;
        self
    }

    /// Blurs the colours before they are compared, by a Gaussian of this many pixels ([`smooth`]): fine texture then
    /// no longer cuts a region to pieces. 0, the default, leaves them as they are.
    #[must_use]
    pub fn smoothing(mut self, pixels: f64) -> Self {
        self.smoothing = pixels;
        self
    }
}

impl Affinity for LabAffinity {
    fn name(&self) -> &'static str {
        "lab"
    }

    fn graph_masked(&self, image: &Image, mask: Option<&[bool]>) -> Result<Graph> {
        self.made(image, mask, true)
    }

    fn passing_graph_masked(&self, image: &Image, mask: Option<&[bool]>) -> Result<Graph> {
        self.made(image, mask, false)
    }
}

impl LabAffinity {
    /// The graph, with its weights kept or found anew on every walk.
    fn made(&self, image: &Image, mask: Option<&[bool]>, is_kept: bool) -> Result<Graph> {
        self.kernel.validate()?;
        check_mask(image, mask)?;
        let offsets = self.neighborhood.offsets(image.height(), image.width())?;
        let lab = |white| smooth(&to_lab(image, white)?, self.smoothing, mask);
        match self.kernel {
            LabKernel::Gaussian { sigma } => {
                let colors = Colors::new(&lab(WhitePoint::D65)?, mask);
                colors.graph(offsets, GaussianWeight::new(sigma), is_kept)
            }
            LabKernel::Adaptive { scale } => {
                let colors = Colors::new(&lab(WhitePoint::D65)?, mask);
                let sigma = (scale * f64::from(colors.median_distance())).max(LEAST_SIGMA);
                colors.graph(offsets, GaussianWeight::new(sigma), is_kept)
            }
            LabKernel::Released { beta } => {
                let colors = Colors::new(&coded(&lab(WhitePoint::D50)?)?, mask);
                let farthest = colors.largest_squared_distance(&offsets).sqrt().max(RELEASED_FLOOR);
                let rate = beta as f32 / farthest;
                colors.graph(offsets, ReleasedWeight { rate }, is_kept)
            }
        }
    }
}

/// L*a*b* in 8 bits a channel, divided by 255.
fn coded(lab: &Image) -> Result<Image> {
    let code = |v: f32| v.round().clamp(0.0, 255.0) / 255.0;
    let codes = lab.data().chunks_exact(3).flat_map(|p| {
        let [l, a, b] = [p[0] * 2.55, p[1] + 128.0, p[2] + 128.0];
        [code(l), code(a), code(b)]
    });
    Image::new(lab.height(), lab.width(), 3, codes.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{affinity::colors::STEPS, random::Random};

    fn noise(height: usize, width: usize) -> Image {
        let mut random = Random::new(5);
        let data = (0..3 * height * width).map(|_| random.uniform() as f32).collect();
        Image::new(height, width, 3, data).unwrap()
    }

    fn small(kernel: LabKernel) -> LabAffinity {
        LabAffinity::new(kernel).neighborhood(Neighborhood::new(2.0))
    }

    /// All weights, by looping over all pairs of pixels.
    fn naive(image: &Image, radius: f64, weight: impl Fn(&[f32], &[f32]) -> f64) -> Vec<f64> {
        let (n, width) = (image.n_pixels(), image.width());
        let mut all = vec![0.0; n * n];
        for (p, q) in (0..n).flat_map(|p| (0..n).map(move |q| (p, q))) {
            let apart =
                ((p / width) as f64 - (q / width) as f64).hypot((p % width) as f64 - (q % width) as f64);
            if p != q && apart <= radius {
                all[p * n + q] = weight(image.pixel(p), image.pixel(q));
            }
        }
        all
    }

    fn distance(x: &[f32], y: &[f32]) -> f64 {
        x.iter().zip(y).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt()
    }

    fn assert_weights(graph: &Graph, expected: &[f64]) {
        let n = graph.n_vertices();
        let mut all = vec![0.0; n * n];
        graph.for_each_edge(|i, j, w| {
            all[i * n + j] = w;
            all[j * n + i] = w;
        });
        for (got, want) in all.iter().zip(expected) {
            assert!((got - want).abs() <= 2e-5 * want + 1e-40, "{got} {want}");
        }
    }

    #[test]
    fn an_adaptive_kernel_is_a_gaussian_as_wide_as_the_image_is_busy() {
        let image = noise(9, 11);
        let lab = to_lab(&image, WhitePoint::D65).unwrap();
        let mut distances = Vec::new();
        for (p, q) in (0..99).flat_map(|p| (p..99).map(move |q| (p, q))) {
            let (dr, dc) = (q / 11 - p / 11, (q % 11) as isize - (p % 11) as isize);
            if STEPS.contains(&(dr, dc)) {
                distances.push(distance(lab.pixel(p), lab.pixel(q)));
            }
        }
        distances.sort_by(f64::total_cmp);
        let sigma = 0.5 * distances[distances.len() / 2];
        let adaptive = small(LabKernel::Adaptive { scale: 0.5 }).graph(&image).unwrap();
        let expected = naive(&lab, 2.0, |x, y| (-(distance(x, y) / sigma).powi(2)).exp());
        assert_weights(&adaptive, &expected);
    }

    #[test]
    fn an_adaptive_kernel_has_an_answer_for_calm_and_for_small_images() {
        let calm = Image::new(7, 8, 1, vec![0.4; 56]).unwrap();
        let graph = small(LabKernel::Adaptive { scale: 1.0 }).graph(&calm).unwrap();
        graph.for_each_edge(|_, _, w| assert_eq!(w, 1.0));
        let pair = Image::new(1, 2, 1, vec![0.2, 0.8]).unwrap();
        let graph = small(LabKernel::Adaptive { scale: 1.0 }).graph(&pair).unwrap();
        assert!((graph.degrees()[0] - (-1.0_f64).exp()).abs() < 1e-6, "the only distance is the median");
        let one = Image::new(1, 1, 1, vec![0.2]).unwrap();
        assert_eq!(small(LabKernel::Adaptive { scale: 1.0 }).graph(&one).unwrap().n_edges(), 0);
        let bad = small(LabKernel::Adaptive { scale: 0.0 }).graph(&one);
        assert!(matches!(bad, Err(Error::InvalidParameter { name: "scale", .. })));
    }

    #[test]
    fn blurred_colours_are_compared_when_that_is_asked_for() {
        let image = noise(6, 7);
        let lab = smooth(&to_lab(&image, WhitePoint::D65).unwrap(), 1.5, None).unwrap();
        let graph = small(LabKernel::default()).smoothing(1.5).graph(&image).unwrap();
        assert_weights(&graph, &naive(&lab, 2.0, |x, y| (-(distance(x, y) / 5.0).powi(2)).exp()));
        assert!(small(LabKernel::default()).smoothing(-1.0).graph(&image).is_err());
    }

    #[test]
    fn gaussian_weights_follow_the_formula() {
        let image = noise(5, 6);
        let lab = to_lab(&image, WhitePoint::D65).unwrap();
        let expected = naive(&lab, 2.0, |x, y| (-distance(x, y).powi(2) / 900.0).exp());
        assert_weights(&small(LabKernel::Gaussian { sigma: 30.0 }).graph(&image).unwrap(), &expected);
    }

    #[test]
    fn released_weights_follow_the_formula() {
        let image = noise(5, 6);
        let codes = coded(&to_lab(&image, WhitePoint::D50).unwrap()).unwrap();
        assert!(codes.data().iter().all(|v| (v * 255.0).fract() < 1e-4 || (v * 255.0).fract() > 0.9999));
        let distances = naive(&codes, 2.0, |x, y| distance(x, y).max(1e-4));
        let farthest = distances.iter().copied().fold(0.0, f64::max);
        let expected = naive(&codes, 2.0, |x, y| (-90.0 * distance(x, y).max(1e-4) / farthest).exp());
        assert_weights(&small(LabKernel::released()).graph(&image).unwrap(), &expected);
    }

    #[test]
    fn a_constant_image_ties_all_neighbors_alike() {
        let image = Image::new(4, 4, 1, vec![0.3; 16]).unwrap();
        let gaussian = small(LabKernel::default()).graph(&image).unwrap();
        gaussian.for_each_edge(|_, _, w| assert_eq!(w, 1.0));
        let released = small(LabKernel::released()).graph(&image).unwrap();
        assert_eq!(released.n_edges(), gaussian.n_edges());
        released.for_each_edge(|_, _, w| assert!((w - (-90.0_f64).exp()).abs() < 1e-43));
    }

    #[test]
    fn masked_pixels_have_no_edges_and_no_say_in_the_scale() {
        let mut data = vec![0.25; 12];
        data[5] = 1.0;
        data[0] = 0.5;
        let image = Image::new(3, 4, 1, data).unwrap();
        let mask: Vec<bool> = (0..12).map(|p| p != 5).collect();
        let affinity = small(LabKernel::Released { beta: 2.0 });
        let graph = affinity.graph_masked(&image, Some(&mask)).unwrap();
        assert_eq!(graph.n_neighbors(5), 0);
        // Pixel 0 is the odd one out among those left: its edges carry the largest distance.
        graph.for_each_neighbor(0, |_, w| assert!((w - (-2.0_f64).exp()).abs() < 1e-6));
        let whole = affinity.graph(&image).unwrap();
        whole.for_each_neighbor(5, |j, w| assert!(j == 0 || (w - (-2.0_f64).exp()).abs() < 1e-6));
        let short = affinity.graph_masked(&image, Some(&mask[1..]));
        assert!(matches!(short, Err(Error::ShapeMismatch { expected: 12, got: 11, .. })));
    }

    #[test]
    fn colors_too_far_apart_have_no_edge() {
        let image = Image::new(1, 2, 1, vec![0.0, 1.0]).unwrap();
        let graph = LabAffinity::default().graph(&image).unwrap();
        assert_eq!(graph.n_edges(), 0);
        let tiny = small(LabKernel::Gaussian { sigma: 1e-200 });
        let same = Image::new(1, 2, 1, vec![0.5; 2]).unwrap();
        assert_eq!(tiny.graph(&same).unwrap().degrees(), &[1.0, 1.0]);
    }

    #[test]
    fn sigma_and_beta_must_be_positive() {
        let image = noise(2, 2);
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let sigma = small(LabKernel::Gaussian { sigma: value }).graph(&image).unwrap_err();
            assert!(matches!(sigma, Error::InvalidParameter { name: "sigma", .. }));
            let beta = small(LabKernel::Released { beta: value }).graph(&image).unwrap_err();
            assert!(matches!(beta, Error::InvalidParameter { name: "beta", .. }));
        }
    }

    /// Weights that are found on every walk are those that are kept, to the last bit, whatever is asked of the graph.
    #[test]
    fn a_graph_to_pass_over_is_the_graph() {
        for (height, width) in [(1, 1), (1, 9), (7, 1), (2, 2), (17, 23), (40, 33), (5, 80)] {
            let image = noise(height, width);
            let mask: Vec<bool> = (0..height * width).map(|p| p % 5 != 2).collect();
            let labels: Vec<u32> =
                (0..height * width).map(|p| (p % width / 7 + p / width / 11) as u32).collect();
            let n_parts = *labels.iter().max().unwrap() as usize + 1;
            for kernel in [LabKernel::Gaussian { sigma: 4.0 }, LabKernel::released()] {
                for (radius, mask) in [(1.0, None), (3.5, None), (10.0, None), (4.0, Some(mask.as_slice()))] {
                    let affinity = LabAffinity::new(kernel).neighborhood(Neighborhood::new(radius));
                    let kept = affinity.graph_masked(&image, mask).unwrap();
                    let passing = affinity.passing_graph_masked(&image, mask).unwrap();
                    assert_eq!((passing.n_edges(), passing.degrees()), (kept.n_edges(), kept.degrees()));
                    assert_eq!(passing.components(), kept.components());
                    assert_eq!(passing.leaving_pixels(&labels), kept.leaving_pixels(&labels));
                    let contracted = |graph: &Graph| {
                        graph.contracted(&labels, n_parts).unwrap().map_edges(|i, j, w| (i, j, w))
                    };
                    assert_eq!(contracted(&passing), contracted(&kept));
                    let coarse = |graph: &Graph| {
                        let level = crate::coarsen::decimate(graph, height, width).unwrap();
                        let rows: Vec<f64> = (0..level.graph.n_vertices()).map(|v| (v % 7) as f64).collect();
                        let edges = level.graph.map_edges(|i, j, w| (i, j, w));
                        (edges, level.prolongation.apply(&rows, 1).unwrap())
                    };
                    assert_eq!(coarse(&passing), coarse(&kept), "{height} × {width}, radius {radius}");
                    assert_eq!(passing.n_kept_weights(), 0, "none of this writes them down");
                    let edges = |graph: &Graph| graph.map_edges(|i, j, w| (i, j, w));
                    assert_eq!(edges(&passing), edges(&kept));
                    assert_eq!(passing.n_kept_weights(), kept.n_kept_weights());
                    // Now that they are there, they are used.
                    assert_eq!(contracted(&passing), contracted(&kept));
                }
            }
        }
    }
}
