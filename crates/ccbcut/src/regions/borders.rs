//! Regions that touch, and the graph of them.

use std::collections::{BTreeMap, HashMap};

use super::RegionMap;
use crate::{
    affinity::ContourWeight,
    error::{Error, Result},
    graph::Graph,
    image::{contours::Contours, volume::Volume},
    labels::LabelMap,
    parallel,
};

/// Two regions that touch, or one region and itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Border {
    /// The two regions, the lower number first; equal for the inside of a region.
    pub regions: (u32, u32),
    /// Pairs of neighbouring voxels across it, each counted by the inverse of its distance in units of the least spacing.
    pub length: f64,
    /// The mean strength of the contours along it, where these were given.
    pub strength: f64,
}

/// Ties regions that touch.
///
/// The weight of two regions is the length of their border times the likeness of their mean colours, times what is left of it
/// by contours along the border, times the likeness of features of the user's own. Inside a region everything is alike,
/// and each pair of neighbours adds to its self-loop. So the graph is that of neighbouring pixels, in an image where
/// every region has one colour, with the pixels of a region drawn together: sizes of parts are counted in pixels.
///
/// ```
/// use ccbcut::{Image, LabelMap, image::volume::Volume, regions::{RegionGraph, RegionMap}};
/// let image = Image::new(1, 4, 1, vec![0.2, 0.2, 0.9, 0.9])?;
/// let regions = RegionMap::of_labels(&LabelMap::new(1, 4, &[0, 1, 2, 2])?);
/// let graph = RegionGraph::new(&regions).colors(&Volume::of_image(&image)?, 10.0)?.build()?;
/// assert_eq!(graph.n_edges(), 2);
/// assert_eq!((graph.self_loop(0), graph.self_loop(2)), (0.0, 2.0));
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RegionGraph<'a> {
    regions: &'a RegionMap,
    spacing: [f64; 3],
    /// Rows of numbers per region, how many, and the width of the Gaussian in which they are compared.
    factors: Vec<(Vec<f64>, usize, f64)>,
    contours: Option<(&'a Contours, ContourWeight)>,
}

/// Lines of voxels of one block of sums.
const BLOCK: usize = 64;

impl<'a> RegionGraph<'a> {
    /// Ties by the length of the border alone.
    pub fn new(regions: &'a RegionMap) -> Self {
        Self { regions, spacing: [1.0; 3], factors: Vec::new(), contours: None }
    }

    /// Distances between neighbouring voxels along each axis.
    #[must_use]
    pub fn spacing(mut self, spacing: [f64; 3]) -> Self {
        self.spacing = spacing;
        self
    }

    /// Compares mean colours: exp(−‖Δ‖²/σ²).
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] unless σ > 0, [`Error::ShapeMismatch`] for a volume of another shape.
    pub fn colors(self, volume: &Volume, sigma: f64) -> Result<Self> {
        let means = self.regions.means(volume)?;
        self.features(means, volume.channels(), sigma)
    }

    /// Compares rows of numbers, `columns` of them per region, by exp(−‖Δ‖²/σ²).
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] unless σ > 0, [`Error::ShapeMismatch`] for another number of rows,
    /// [`Error::NotFinite`] for NaN or infinite numbers.
    pub fn features(mut self, rows: Vec<f64>, columns: usize, sigma: f64) -> Result<Self> {
        if !(sigma.is_finite() && sigma > 0.0) {
            return Err(Error::InvalidParameter { name: "sigma", value: sigma, expected: "above 0" });
        }
        let expected = self.regions.n_regions() * columns;
        if rows.len() != expected {
            return Err(Error::ShapeMismatch {
                what: "the features of the regions",
                expected,
                got: rows.len(),
            });
        }
        if let Some(index) = rows.iter().position(|v| !v.is_finite()) {
            return Err(Error::NotFinite { what: "the features of the regions", index, value: rows[index] });
        }
        self.factors.push((rows, columns, sigma));
        Ok(self)
    }

    /// Weakens ties by the mean strength of the contours along the border.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] for contours of another image.
    pub fn contours(mut self, contours: &'a Contours, weight: ContourWeight) -> Result<Self> {
        let [depth, height, width] = self.regions.shape();
        if (1, contours.height(), contours.width()) != (depth, height, width) {
            let (expected, got) = (depth * height * width, contours.height() * contours.width());
            return Err(Error::ShapeMismatch { what: "the contours", expected, got });
        }
        self.contours = Some((contours, weight));
        Ok(self)
    }

    /// The median distance of the rows of regions that touch, a width for [`RegionGraph::features`]; 1 where all are alike, or
    /// where `rows` do not have `columns` numbers for each region.
    pub fn median_distance(&self, rows: &[f64], columns: usize) -> f64 {
        if rows.len() != self.regions.n_regions() * columns {
            return 1.0;
        }
        let row = |region: u32| &rows[region as usize * columns..][..columns];
        let apart = |(a, b): (u32, u32)| -> f64 {
            row(a).iter().zip(row(b)).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
        };
        let pairs = self.borders().into_iter().map(|border| border.regions).filter(|(a, b)| a != b);
        let mut distances: Vec<f64> = pairs.map(apart).collect();
        distances.sort_by(f64::total_cmp);
        distances.get(distances.len() / 2).copied().filter(|&d| d > 0.0).unwrap_or(1.0)
    }

    /// Every border, sorted; the inside of a region is its border with itself.
    ///
    /// # Complexity
    /// O(voxels), and a look-up per pair of neighbours across a border.
    pub fn borders(&self) -> Vec<Border> {
        let [depth, height, width] = self.regions.shape();
        let offsets = self.half_neighborhood();
        let lines = depth * height;
        let parts = parallel::map(lines.div_ceil(BLOCK), |block| {
            let mut inside: BTreeMap<u32, f64> = BTreeMap::new();
            let mut across: HashMap<(u32, u32), (f64, f64)> = HashMap::new();
            for line in block * BLOCK..((block + 1) * BLOCK).min(lines) {
                for x in 0..width {
                    self.visit(line, x, &offsets, &mut inside, &mut across);
                }
            }
            (inside, across)
        });
        let mut all: BTreeMap<(u32, u32), (f64, f64)> = BTreeMap::new();
        for (inside, across) in parts {
            for (region, length) in inside {
                all.entry((region, region)).or_default().0 += length;
            }
            let mut across: Vec<_> = across.into_iter().collect();
            across.sort_unstable_by_key(|&(pair, _)| pair);
            for (pair, (length, strength)) in across {
                let entry = all.entry(pair).or_default();
                (entry.0, entry.1) = (entry.0 + length, entry.1 + strength);
            }
        }
        let border = |(regions, (length, strength))| Border { regions, length, strength: strength / length };
        all.into_iter().map(border).collect()
    }

    /// The graph.
    ///
    /// # Errors
    /// None for numbers that were accepted.
    pub fn build(&self) -> Result<Graph> {
        let edges: Vec<(u32, u32, f64)> = self.borders().iter().map(|border| self.edge(border)).collect();
        Graph::from_edges(self.regions.n_regions(), &edges)
    }

    fn edge(&self, border: &Border) -> (u32, u32, f64) {
        let (a, b) = border.regions;
        if a == b {
            // Both ends of each pair are in the region.
            return (a, a, 2.0 * border.length);
        }
        let mut weight = border.length;
        for (rows, columns, sigma) in &self.factors {
            let row = |region: u32| &rows[region as usize * columns..][..*columns];
            let squared: f64 = row(a).iter().zip(row(b)).map(|(x, y)| (x - y) * (x - y)).sum();
            weight *= (-squared / (sigma * sigma)).exp();
        }
        if let Some((_, by_contour)) = self.contours {
            weight *= by_contour.of(border.strength);
        }
        (a, b, weight)
    }

    /// Half of the voxels around one, with their weights.
    fn half_neighborhood(&self) -> Vec<([isize; 3], f64)> {
        let least = self.spacing.into_iter().fold(f64::INFINITY, f64::min);
        let mut found = Vec::new();
        for dz in -1..=1_isize {
            for dy in -1..=1_isize {
                for dx in -1..=1_isize {
                    if (dz, dy, dx) > (0, 0, 0) {
                        let steps = [dz, dy, dx].map(|d| d as f64);
                        let squared: f64 =
                            steps.iter().zip(self.spacing).map(|(d, s)| (d * s) * (d * s)).sum();
                        found.push(([dz, dy, dx], least / squared.sqrt()));
                    }
                }
            }
        }
        found
    }

    fn visit(
        &self,
        line: usize,
        x: usize,
        offsets: &[([isize; 3], f64)],
        inside: &mut BTreeMap<u32, f64>,
        across: &mut HashMap<(u32, u32), (f64, f64)>,
    ) {
        let [depth, height, width] = self.regions.shape();
        let values = self.regions.as_slice();
        let (z, y) = (line / height, line % height);
        let p = line * width + x;
        let own = values[p];
        if own == LabelMap::VOID {
            return;
        }
        let mut alike = 0.0;
        for &([dz, dy, dx], weight) in offsets {
            let at = (z.checked_add_signed(dz), y.checked_add_signed(dy), x.checked_add_signed(dx));
            let (Some(nz), Some(ny), Some(nx)) = at else { continue };
            if nz >= depth || ny >= height || nx >= width {
                continue;
            }
            let q = (nz * height + ny) * width + nx;
            let other = values[q];
            if other == own {
                alike += weight;
            } else if other != LabelMap::VOID {
                let strength = self.contours.map_or(0.0, |(contours, _)| {
                    let at = |p: usize| f64::from(contours.as_slice()[p]);
                    at(p).max(at(q))
                });
                let entry = across.entry((own.min(other), own.max(other))).or_default();
                (entry.0, entry.1) = (entry.0 + weight, entry.1 + weight * strength);
            }
        }
        if alike > 0.0 {
            *inside.entry(own).or_default() += alike;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Balance, cost::ccb_cut, labels::Labels, random::Random};

    /// A map of regions in columns of different widths, and a colour for each.
    fn scene() -> (RegionMap, Volume) {
        let raw: Vec<u32> =
            (0..6 * 9).map(|p| [0, 0, 1, 1, 1, 2, 3, 3, 3][p % 9] + if p >= 27 { 4 } else { 0 }).collect();
        let mut random = Random::new(3);
        let colours: Vec<f32> = (0..8).map(|_| 20.0 * random.uniform() as f32).collect();
        let data = raw.iter().map(|&r| colours[r as usize]).collect();
        (RegionMap::new([1, 6, 9], &raw).unwrap(), Volume::new([1, 6, 9], 1, data).unwrap())
    }

    #[test]
    fn cuts_of_regions_cost_what_they_cost_on_the_pixels() {
        let (map, volume) = scene();
        let graph = RegionGraph::new(&map).colors(&volume, 7.0).unwrap().build().unwrap();
        // The graph of neighbouring pixels, written down pair by pair.
        let mut edges = Vec::new();
        for (p, q) in (0..54_u32).flat_map(|p| (p + 1..54).map(move |q| (p, q))) {
            let steps = (p / 9).abs_diff(q / 9).max((p % 9).abs_diff(q % 9));
            let is_diagonal = p / 9 != q / 9 && p % 9 != q % 9;
            if steps == 1 {
                let colour = |p: u32| f64::from(volume.voxel(p as usize)[0]);
                let difference = colour(p) - colour(q);
                let length = if is_diagonal { 0.5_f64.sqrt() } else { 1.0 };
                edges.push((p, q, length * (-difference * difference / 49.0).exp()));
            }
        }
        let pixels = Graph::from_edges(54, &edges).unwrap();
        let labels = Labels::from_raw(&[0, 0, 1, 1, 0, 2, 2, 1]);
        let painted = Labels::from_raw(&map.paint(&labels).unwrap());
        for tau in [2.0, 1.0] {
            let of_regions = ccb_cut(&graph, &labels, &Balance::Normalized, tau).unwrap();
            let of_pixels = ccb_cut(&pixels, &painted, &Balance::Normalized, tau).unwrap();
            assert!((of_regions - of_pixels).abs() < 1e-12 * of_pixels, "{tau}: {of_regions}, {of_pixels}");
        }
    }

    #[test]
    fn contours_and_features_weaken_ties() {
        let (map, _) = scene();
        let plain = RegionGraph::new(&map).build().unwrap();
        let mut strengths = vec![0.0; 54];
        (0..6).for_each(|y| strengths[y * 9 + 2] = 0.8);
        let contours = Contours::new(6, 9, strengths).unwrap();
        let weight = ContourWeight::Exponential { sigma: 0.5 };
        let cut = RegionGraph::new(&map).contours(&contours, weight).unwrap();
        let border = |pair| cut.borders().into_iter().find(|b| b.regions == pair).unwrap();
        assert!((border((0, 1)).strength - 0.8).abs() < 1e-6);
        assert_eq!(border((1, 2)).strength, 0.0);
        let between = |graph: &Graph, a: usize, b: usize| {
            let mut found = 0.0;
            graph.for_each_neighbor(a, |v, w| found += if v == b { w } else { 0.0 });
            found
        };
        let built = cut.build().unwrap();
        let ratio = between(&built, 0, 1) / between(&plain, 0, 1);
        assert!((ratio - (-0.8_f64 / 0.5).exp()).abs() < 1e-6, "{ratio}");
        let rows = (0..8).map(|r| if r == 0 { 1.0 } else { 0.0 }).collect();
        let by_rows = RegionGraph::new(&map).features(rows, 1, 2.0).unwrap().build().unwrap();
        assert!((between(&by_rows, 0, 1) / between(&plain, 0, 1) - (-0.25_f64).exp()).abs() < 1e-12);
        assert_eq!(between(&by_rows, 1, 2), between(&plain, 1, 2));
        assert!(RegionGraph::new(&map).features(vec![0.0; 7], 1, 1.0).is_err());
        assert!(RegionGraph::new(&map).features(vec![f64::NAN; 8], 1, 1.0).is_err());
        assert!(RegionGraph::new(&map).features(vec![0.0; 8], 1, 0.0).is_err());
        assert!(
            RegionGraph::new(&map).contours(&Contours::new(9, 6, vec![0.0; 54]).unwrap(), weight).is_err()
        );
    }

    #[test]
    fn the_median_distance_is_that_of_neighbours() {
        let map = RegionMap::new([1, 1, 4], &[0, 1, 2, 3]).unwrap();
        let graph = RegionGraph::new(&map);
        // Distances along the row are 1, 2 and 9; those of regions that do not touch do not count.
        assert_eq!(graph.median_distance(&[0.0, 1.0, 3.0, 12.0], 1), 2.0);
        assert_eq!(graph.median_distance(&[5.0; 4], 1), 1.0);
        assert_eq!(graph.median_distance(&[0.0, 1.0], 1), 1.0);
    }

    #[test]
    fn layers_far_apart_are_tied_less() {
        let map = RegionMap::new([2, 1, 2], &[0, 0, 1, 1]).unwrap();
        let length = |spacing| {
            let borders = RegionGraph::new(&map).spacing(spacing).borders();
            borders.iter().find(|b| b.regions == (0, 1)).unwrap().length
        };
        assert!((length([1.0; 3]) - (2.0 + 2.0 * 0.5_f64.sqrt())).abs() < 1e-12);
        assert!((length([4.0, 1.0, 1.0]) - (2.0 / 4.0 + 2.0 / 17.0_f64.sqrt())).abs() < 1e-12);
    }
}
