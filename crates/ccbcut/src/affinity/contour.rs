//! Pixels are tied unless a contour lies between them: intervening contours.
//!
//! The path from pixel i to pixel j is the line of Bresenham. A horizontal step meets the contour at its left pixel, a
//! vertical one at its upper pixel, a diagonal one at the pixels of the 2 × 2 block but the lower right. With m the
//! strongest contour met, the weight falls with m; there and back the lines may differ, and the mean of both is taken.
//!
//! Weights only fall, so the weight of a path is the least of those of its steps, and each pixel's is worked out once.

use std::borrow::Cow;

use super::{Affinity, Neighborhood, check_mask};
use crate::{
    error::{Error, Result},
    graph::Graph,
    image::{
        Image,
        contours::{Contours, MultiscalePb},
    },
    simd,
};

/// How the strength m of the strongest contour between two pixels becomes a weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ContourWeight {
    /// exp(−(1 − q)/σ) with q = 1/(1 + exp(−(1.8682 − 4.1895 m))), as the code of BSDS500 does it.
    Sigmoid {
        /// σ.
        sigma: f64,
    },
    /// exp(−m/σ), as the paper on mPb has it.
    Exponential {
        /// σ.
        sigma: f64,
    },
}

impl Default for ContourWeight {
    /// The sigmoid with σ = 0.1.
    fn default() -> Self {
        Self::Sigmoid { sigma: 0.1 }
    }
}

impl ContourWeight {
    /// The weight that a contour of this strength leaves.
    pub fn of(self, strength: f64) -> f64 {
        match self {
            Self::Sigmoid { sigma } => {
                let rest = 1.0 / (1.0 + (1.8682 - 1.3113 / 0.3130 * strength).exp());
                (-rest / sigma).exp()
            }
            Self::Exponential { sigma } => (-strength / sigma).exp(),
        }
    }

    fn validate(self) -> Result<()> {
        let (Self::Sigmoid { sigma } | Self::Exponential { sigma }) = self;
        if sigma.is_finite() && sigma > 0.0 {
            return Ok(());
        }
        let (name, value) = ("contour-sigma", sigma);
        Err(Error::InvalidParameter { name, value, expected: "positive and finite" })
    }
}

/// Affinity by the contours between pixels: those of [`MultiscalePb`], or given ones.
///
/// ```
/// use ccbcut::{Image, affinity::{Affinity, ContourAffinity, Neighborhood}, image::contours::Contours};
/// // A contour down the middle column.
/// let contours = Contours::new(1, 5, vec![0.0, 0.0, 0.9, 0.0, 0.0])?;
/// let affinity = ContourAffinity::given(contours).neighborhood(Neighborhood::new(1.0));
/// let graph = affinity.graph(&Image::new(1, 5, 1, vec![0.5; 5])?)?;
/// let mut weights = Vec::new();
/// graph.for_each_edge(|_, _, w| weights.push(w));
/// assert!(weights[2] < 0.01 * weights[0], "between pixels 2 and 3");
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ContourAffinity {
    source: Source,
    weight: ContourWeight,
    neighborhood: Neighborhood,
}

#[derive(Debug, Clone)]
enum Source {
    Detector(MultiscalePb),
    Given(Contours),
}

impl ContourAffinity {
    /// By the contours that a detector finds.
    pub fn mpb(detector: MultiscalePb) -> Self {
        let (weight, neighborhood) = (ContourWeight::default(), Neighborhood::default());
        Self { source: Source::Detector(detector), weight, neighborhood }
    }

    /// By these contours, for an image of the same size.
    pub fn given(contours: Contours) -> Self {
        Self { source: Source::Given(contours), ..Self::mpb(MultiscalePb::new()) }
    }

    /// How contours become weights.
    #[must_use]
    pub fn weight(mut self, weight: ContourWeight) -> Self {
        self.weight = weight;
        self
    }

    /// Which pixels are tied.
    #[must_use]
    pub fn neighborhood(mut self, neighborhood: Neighborhood) -> Self {
        self.neighborhood = neighborhood;
        self
    }
}

impl Affinity for ContourAffinity {
    fn name(&self) -> &'static str {
        match self.source {
            Source::Detector(_) => "mpb",
            Source::Given(_) => "contours",
        }
    }

    fn graph_masked(&self, image: &Image, mask: Option<&[bool]>) -> Result<Graph> {
        self.weight.validate()?;
        check_mask(image, mask)?;
        let (height, width) = (image.height(), image.width());
        let offsets = self.neighborhood.offsets(height, width)?;
        let contours = match &self.source {
            Source::Detector(detector) => Cow::Owned(detector.detect(image)?),
            Source::Given(contours) => Cow::Borrowed(contours),
        };
        if (contours.height(), contours.width()) != (height, width) {
            let (image, map) = ((height, width), (contours.height(), contours.width()));
            return Err(Error::ContourSizes { image, map });
        }
        let steps = Steps::new(&contours, self.weight);
        Graph::from_stencil_rows(height, width, offsets, |p, q, weights| {
            let paths = both_ways((q / width - p / width, (q % width) as isize - (p % width) as isize));
            simd::widest(Fill { steps: &steps, p, paths: &paths, weights });
            if let Some(mask) = mask {
                let masked = |k: &usize| !(mask[p + k] && mask[q + k]);
                (0..weights.len()).filter(masked).for_each(|k| weights[k] = 0.0);
            }
        })
    }
}

/// A step of a path, from the pixel it starts at: which contour it meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    /// Whether it is a diagonal one, which meets a block; otherwise it meets a pixel.
    is_diagonal: bool,
    /// Where the pixel, or the upper left of the block, lies.
    row: isize,
    column: isize,
}

/// The weights of single steps.
struct Steps {
    width: usize,
    pixels: Vec<f32>,
    blocks: Vec<f32>,
}

impl Steps {
    fn new(contours: &Contours, weight: ContourWeight) -> Self {
        let width = contours.width();
        let pixels: Vec<f32> = contours.as_slice().iter().map(|&m| weight.of(f64::from(m)) as f32).collect();
        let at = |p: usize| pixels.get(p).copied().unwrap_or(f32::INFINITY);
        let blocks = (0..pixels.len()).map(|p| at(p).min(at(p + 1)).min(at(p + width))).collect();
        Self { width, pixels, blocks }
    }

    /// The weights of the paths from the pixels p, p + 1, … of a row: the mean of the least on the way there and the
    /// least on the way back.
    #[inline(always)]
    fn fill(&self, p: usize, paths: &[Vec<Step>; 2], weights: &mut [f32]) {
        let mut back = vec![f32::INFINITY; weights.len()];
        weights.fill(f32::INFINITY);
        for (path, least) in paths.iter().zip([&mut *weights, &mut back[..]]) {
            for step in path {
                let from = if step.is_diagonal { &self.blocks } else { &self.pixels };
                let first = p.wrapping_add_signed(step.row * self.width as isize + step.column);
                for (least, &w) in least.iter_mut().zip(&from[first..]) {
                    *least = if w < *least { w } else { *least };
                }
            }
        }
        weights.iter_mut().zip(&back).for_each(|(there, back)| *there = (*there + back) / 2.0);
    }
}

/// The call of [`Steps::fill`], for vector instructions.
struct Fill<'a> {
    steps: &'a Steps,
    p: usize,
    paths: &'a [Vec<Step>; 2],
    weights: &'a mut [f32],
}

impl pulp::NullaryFnOnce for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.steps.fill(self.p, self.paths, self.weights);
    }
}

/// The steps to a pixel at an offset, and those back.
fn both_ways((dr, dc): (usize, isize)) -> [Vec<Step>; 2] {
    let dr = dr as isize;
    let back = line(-dr, -dc).into_iter().map(|s| Step { row: s.row + dr, column: s.column + dc, ..s });
    [line(dr, dc), back.collect()]
}

/// The steps of Bresenham's line from (0, 0) to (dr, dc).
fn line(dr: isize, dc: isize) -> Vec<Step> {
    let (major, minor) = (dr.abs().max(dc.abs()), dr.abs().min(dc.abs()));
    let row_is_major = dr.abs() >= dc.abs();
    let (mut row, mut column, mut counter) = (0, 0, -major);
    let mut steps = Vec::new();
    for _ in 0..major {
        counter += 2 * minor;
        let turns = counter > 0;
        if turns {
            counter -= 2 * major;
        }
        let (next_row, next_column) = (
            if row_is_major || turns { row + dr.signum() } else { row },
            if !row_is_major || turns { column + dc.signum() } else { column },
        );
        let is_diagonal = next_row != row && next_column != column;
        steps.push(Step { is_diagonal, row: row.min(next_row), column: column.min(next_column) });
        (row, column) = (next_row, next_column);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn contours(height: usize, width: usize) -> Contours {
        let mut random = Random::new(2);
        let strength =
            |random: &mut Random| if random.uniform() < 0.7 { 0.0 } else { random.uniform() as f32 };
        Contours::new(height, width, (0..height * width).map(|_| strength(&mut random)).collect()).unwrap()
    }

    /// The strongest contour between two pixels, by walking.
    fn strongest(map: &Contours, from: (isize, isize), to: (isize, isize)) -> f64 {
        let at = |r: isize, c: isize| f64::from(map.as_slice()[r as usize * map.width() + c as usize]);
        let (dr, dc) = (to.0 - from.0, to.1 - from.1);
        let (major, minor) = (dr.abs().max(dc.abs()), dr.abs().min(dc.abs()));
        let (mut r, mut c, mut counter, mut m) = (from.0, from.1, -major, 0.0_f64);
        while (r, c) != to {
            counter += 2 * minor;
            let (mut nr, mut nc) = (r, c);
            if dr.abs() == major {
                nr += dr.signum();
            } else {
                nc += dc.signum();
            }
            if counter > 0 {
                if dr.abs() == major {
                    nc += dc.signum();
                } else {
                    nr += dr.signum();
                }
                counter -= 2 * major;
            }
            let (top, left) = (r.min(nr), c.min(nc));
            m = m.max(at(top, left));
            if nr != r && nc != c {
                m = m.max(at(top, left + 1)).max(at(top + 1, left));
            }
            (r, c) = (nr, nc);
        }
        m
    }

    #[test]
    fn weights_are_those_of_a_walk_from_pixel_to_pixel() {
        let (height, width) = (9, 13);
        let map = contours(height, width);
        let image = Image::new(height, width, 1, vec![0.5; height * width]).unwrap();
        for weight in [ContourWeight::default(), ContourWeight::Exponential { sigma: 0.3 }] {
            let affinity =
                ContourAffinity::given(map.clone()).weight(weight).neighborhood(Neighborhood::new(4.5));
            let graph = affinity.graph(&image).unwrap();
            let mut n = 0;
            graph.for_each_edge(|i, j, w| {
                let at = |p: usize| ((p / width) as isize, (p % width) as isize);
                let there = weight.of(strongest(&map, at(i), at(j)));
                let back = weight.of(strongest(&map, at(j), at(i)));
                assert!((w - f64::midpoint(there, back)).abs() < 1e-7, "{i} {j}: {w}");
                n += 1;
            });
            assert_eq!(
                n,
                Neighborhood::new(4.5)
                    .offsets(height, width)
                    .unwrap()
                    .iter()
                    .fold(0, |n, &(dr, dc)| { n + (height - dr) * (width - dc.unsigned_abs()) })
            );
        }
    }

    #[test]
    fn the_two_forms_at_no_contour_and_at_a_full_one() {
        let sigmoid = ContourWeight::default();
        assert!((sigmoid.of(0.0) - 0.2625).abs() < 1e-4 && sigmoid.of(1.0) < 2e-4);
        let exponential = ContourWeight::Exponential { sigma: 0.1 };
        assert!(exponential.of(0.0) == 1.0 && (exponential.of(1.0) - (-10.0_f64).exp()).abs() < 1e-18);
    }

    #[test]
    fn masks_sizes_and_widths_are_checked() {
        let image = Image::new(3, 4, 1, vec![0.5; 12]).unwrap();
        let affinity = ContourAffinity::given(contours(3, 4));
        let mask: Vec<bool> = (0..12).map(|p| p != 5).collect();
        let graph = affinity.graph_masked(&image, Some(&mask)).unwrap();
        assert_eq!(graph.n_neighbors(5), 0);
        assert!(graph.n_neighbors(6) > 0);
        let error = ContourAffinity::given(contours(4, 3)).graph(&image).unwrap_err();
        assert!(error.to_string().contains("3 x 4") && error.to_string().contains("4 x 3"), "{error}");
        let bad = affinity.weight(ContourWeight::Sigmoid { sigma: 0.0 }).graph(&image).unwrap_err();
        assert!(matches!(bad, Error::InvalidParameter { name: "contour-sigma", .. }));
    }

    #[test]
    fn contours_are_found_where_none_are_given() {
        let pixels = (0..20 * 24).map(|p| if p % 24 < 12 { 0.1 } else { 0.9 }).collect();
        let image = Image::new(20, 24, 1, pixels).unwrap();
        let affinity = ContourAffinity::mpb(MultiscalePb::new()).neighborhood(Neighborhood::new(2.0));
        assert_eq!(affinity.name(), "mpb");
        let graph = affinity.graph(&image).unwrap();
        let across = graph.weight(10 * 24 + 11, 10 * 24 + 13);
        let along = graph.weight(10 * 24 + 3, 10 * 24 + 5);
        assert!(across < 0.2 * along, "{across} {along}");
    }
}
