//! Superpixels: k-means in colour and place, each centre looking no further than its neighbourhood.

use super::{RegionMap, connect::connected};
use crate::{
    error::{Error, Result},
    image::volume::Volume,
    labels::LabelMap,
    parallel, simd,
};

/// Cuts an image or a volume into many small, compact regions of like colour.
///
/// ```
/// use ccbcut::{Image, image::volume::Volume, regions::Slic};
/// let image = Image::new(40, 60, 1, (0..2400).map(|p| if p % 60 < 30 { 0.2 } else { 0.9 }).collect())?;
/// let regions = Slic::new(24).fit(&Volume::of_image(&image)?, None)?;
/// assert_eq!(regions.n_regions(), 24);
/// # Ok::<(), ccbcut::Error>(())
/// ```
///
/// # References
/// R. Achanta and others, "SLIC superpixels compared to state-of-the-art superpixel methods", TPAMI 34(11), 2012,
/// <https://doi.org/10.1109/TPAMI.2012.120>.
#[derive(Debug, Clone, PartialEq)]
pub struct Slic {
    n_regions: usize,
    compactness: f64,
    max_iterations: usize,
}

/// Rows of one block of sums; fixed, so that sums do not depend on the number of threads.
const BLOCKS: usize = 64;

impl Slic {
    /// About so many regions; their number follows from the grid of centres and from what is connected.
    pub fn new(n_regions: usize) -> Self {
        Self { n_regions, compactness: 10.0, max_iterations: 10 }
    }

    /// How much place counts against colour: the colour difference that weighs as much as a step from one centre to the
    /// next. More makes squares, less follows edges.
    #[must_use]
    pub fn compactness(mut self, compactness: f64) -> Self {
        self.compactness = compactness;
        self
    }

    /// How often centres move.
    #[must_use]
    pub fn max_iterations(mut self, max_iterations: usize) -> Self {
        self.max_iterations = max_iterations;
        self
    }

    /// Finds the regions of the voxels that `mask` marks `true`. Each is connected; pieces below a quarter of the mean
    /// size have gone to the neighbour of the nearest colour.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for no regions or a compactness that is not positive, [`Error::ShapeMismatch`] for a
    /// mask that does not fit.
    ///
    /// # Complexity
    /// O(voxels) per iteration, whatever the number of regions.
    pub fn fit(&self, volume: &Volume, mask: Option<&[bool]>) -> Result<RegionMap> {
        let invalid = |name, value, expected| Err(Error::InvalidParameter { name, value, expected });
        if self.n_regions == 0 {
            return invalid("the number of regions", 0.0, "at least 1");
        }
        if !(self.compactness.is_finite() && self.compactness > 0.0) {
            return invalid("compactness", self.compactness, "above 0");
        }
        let n = volume.n_voxels();
        if let Some(mask) = mask.filter(|mask| mask.len() != n) {
            return Err(Error::ShapeMismatch { what: "the mask", expected: n, got: mask.len() });
        }
        let active = mask.map_or(n, |mask| mask.iter().filter(|&&on| on).count());
        parallel::inside(|| {
            let cells = Cells::new(volume, active, self.n_regions);
            let mut nearest = vec![LabelMap::VOID; n];
            let planes = Planes::new(volume);
            let mut centers = cells.first_centers(volume);
            let place = self.compactness / cells.step;
            for _ in 0..self.max_iterations.max(1) {
                let moved = centers.assign(&cells, &planes, place as f32, mask, &mut nearest);
                centers.move_to_means(&planes, &nearest);
                if !moved {
                    break;
                }
            }
            connected(volume, &nearest, active / (4 * self.n_regions.min(active.max(1))))
        })
    }
}

/// The grid of cells, one centre each at first.
struct Cells {
    /// How many along each axis.
    counts: [usize; 3],
    shape: [usize; 3],
    spacing: [f64; 3],
    /// From one centre to the next.
    step: f64,
}

impl Cells {
    fn new(volume: &Volume, active: usize, n_regions: usize) -> Self {
        let (shape, spacing) = (volume.shape(), volume.spacing());
        let axes: Vec<usize> = (0..3).filter(|&a| shape[a] > 1).collect();
        let extent: f64 = axes.iter().map(|&a| spacing[a]).product::<f64>() * active.max(1) as f64;
        let step = (extent / n_regions as f64).powf(1.0 / axes.len().max(1) as f64);
        let count = |a: usize| ((shape[a] as f64 * spacing[a] / step).round() as usize).clamp(1, shape[a]);
        Self { counts: [count(0), count(1), count(2)], shape, spacing, step }
    }

    /// The cell of a coordinate along an axis.
    fn cell(&self, axis: usize, coordinate: usize) -> usize {
        coordinate * self.counts[axis] / self.shape[axis]
    }

    /// The first coordinate of a cell along an axis.
    fn first(&self, axis: usize, cell: usize) -> usize {
        (cell * self.shape[axis]).div_ceil(self.counts[axis])
    }

    fn first_centers(&self, volume: &Volume) -> Centers {
        let mut centers = Centers { channels: volume.channels(), rows: Vec::new() };
        let [depth, height, width] = self.counts;
        for cell in 0..depth * height * width {
            let at = [cell / (height * width), cell / width % height, cell % width];
            let middle = |a: usize| usize::midpoint(self.first(a, at[a]), self.first(a, at[a] + 1) - 1);
            let [z, y, x] = [middle(0), middle(1), middle(2)];
            let voxel = (z * self.shape[1] + y) * self.shape[2] + x;
            let place = [z, y, x].into_iter().zip(self.spacing).map(|(p, s)| (p as f64 * s) as f32);
            centers.rows.push(place.chain(volume.voxel(voxel).iter().copied()).collect());
        }
        centers
    }

    /// The centres in each cell, by where they are now.
    fn bins(&self, centers: &Centers) -> Vec<Vec<u32>> {
        let mut bins = vec![Vec::new(); self.counts.iter().product()];
        for (center, row) in centers.rows.iter().enumerate() {
            let along = |a: usize| {
                let voxel = (f64::from(row[a]) / self.spacing[a]).round() as usize;
                self.cell(a, voxel.min(self.shape[a] - 1))
            };
            bins[(along(0) * self.counts[1] + along(1)) * self.counts[2] + along(2)].push(center as u32);
        }
        bins
    }

    /// The centres in a cell and those around it, in their order.
    fn around(&self, bins: &[Vec<u32>], at: [usize; 3]) -> Vec<u32> {
        let mut found = Vec::new();
        let range = |a: usize| at[a].saturating_sub(1)..(at[a] + 2).min(self.counts[a]);
        for z in range(0) {
            for y in range(1) {
                for x in range(2) {
                    found.extend(&bins[(z * self.counts[1] + y) * self.counts[2] + x]);
                }
            }
        }
        found.sort_unstable();
        found
    }
}

/// One plane per channel.
struct Planes {
    shape: [usize; 3],
    spacing: [f64; 3],
    values: Vec<Vec<f32>>,
}

impl Planes {
    fn new(volume: &Volume) -> Self {
        let plane = |c: usize| volume.data().iter().skip(c).step_by(volume.channels()).copied().collect();
        Self {
            shape: volume.shape(),
            spacing: volume.spacing(),
            values: parallel::map(volume.channels(), plane),
        }
    }

    /// Depth and height of a line of voxels.
    fn place(&self, line: usize) -> [usize; 2] {
        [line / self.shape[1], line % self.shape[1]]
    }
}

/// Place and colour of every centre.
struct Centers {
    channels: usize,
    /// Depth, height, width in units of length, then the channels.
    rows: Vec<Vec<f32>>,
}

impl Centers {
    /// Gives every voxel its nearest centre; whether any changed.
    fn assign(
        &self,
        cells: &Cells,
        planes: &Planes,
        place: f32,
        mask: Option<&[bool]>,
        nearest: &mut [u32],
    ) -> bool {
        let bins = cells.bins(self);
        let width = planes.shape[2];
        let changed = parallel::map_chunks(nearest, width, |line, out| {
            let [z, y] = planes.place(line);
            let mut best = vec![f32::INFINITY; width];
            let mut label = vec![LabelMap::VOID; width];
            for x in 0..cells.counts[2] {
                let run = cells.first(2, x)..cells.first(2, x + 1);
                let work = Assign {
                    candidates: &cells.around(&bins, [cells.cell(0, z), cells.cell(1, y), x]),
                    centers: self,
                    planes,
                    place,
                    line,
                    first: run.start,
                    best: &mut best[run.clone()],
                    label: &mut label[run],
                };
                simd::widest(work);
            }
            if let Some(mask) = mask {
                let on = &mask[line * width..][..width];
                label
                    .iter_mut()
                    .zip(on)
                    .for_each(|(label, &on)| *label = if on { *label } else { LabelMap::VOID });
            }
            let is_changed = out != label.as_slice();
            out.copy_from_slice(&label);
            is_changed
        });
        changed.into_iter().any(|changed| changed)
    }

    /// Every centre to the mean of its voxels; one without voxels stays where it is.
    fn move_to_means(&mut self, planes: &Planes, nearest: &[u32]) {
        let (width, columns) = (planes.shape[2], self.channels + 4);
        let lines = planes.shape[0] * planes.shape[1];
        let chunk = lines.div_ceil(BLOCKS);
        let parts = parallel::map(lines.div_ceil(chunk), |block| {
            let block = block * chunk..((block + 1) * chunk).min(lines);
            let labels = &nearest[block.start * width..block.end * width];
            let inside = || labels.iter().copied().filter(|&l| l != LabelMap::VOID);
            let Some((low, high)) = inside().min().zip(inside().max()) else { return (0, Vec::new()) };
            let mut sums = vec![0.0_f64; (high - low + 1) as usize * columns];
            for line in block.clone() {
                let [z, y] = planes.place(line);
                let [z, y] = [z as f64 * planes.spacing[0], y as f64 * planes.spacing[1]];
                for x in 0..width {
                    let label = nearest[line * width + x];
                    if label == LabelMap::VOID {
                        continue;
                    }
                    let row = &mut sums[(label - low) as usize * columns..][..columns];
                    row[0] += 1.0;
                    row[1] += z;
                    row[2] += y;
                    row[3] += x as f64 * planes.spacing[2];
                    for (sum, plane) in row[4..].iter_mut().zip(&planes.values) {
                        *sum += f64::from(plane[line * width + x]);
                    }
                }
            }
            (low as usize, sums)
        });
        let mut totals = vec![0.0_f64; self.rows.len() * columns];
        for (low, sums) in parts {
            totals[low * columns..][..sums.len()].iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
        }
        for (row, total) in self.rows.iter_mut().zip(totals.chunks_exact(columns)).filter(|(_, t)| t[0] > 0.0)
        {
            row.iter_mut().zip(&total[1..]).for_each(|(value, sum)| *value = (sum / total[0]) as f32);
        }
    }
}

/// The nearest of some centres for a run of voxels, the first on ties.
struct Assign<'a> {
    candidates: &'a [u32],
    centers: &'a Centers,
    planes: &'a Planes,
    place: f32,
    line: usize,
    /// The first voxel of the run along the line.
    first: usize,
    best: &'a mut [f32],
    label: &'a mut [u32],
}

impl pulp::NullaryFnOnce for Assign<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let [z, y] = self.planes.place(self.line);
        let spacing = self.planes.spacing.map(|s| s as f32);
        let start = self.line * self.planes.shape[2] + self.first;
        let n = self.best.len();
        let mut distance = vec![0.0_f32; n];
        for &candidate in self.candidates {
            let center = &self.centers.rows[candidate as usize];
            let (dz, dy) = (z as f32 * spacing[0] - center[0], y as f32 * spacing[1] - center[1]);
            let (weight, across) = (self.place * self.place, dz * dz + dy * dy);
            for (x, d) in distance.iter_mut().enumerate() {
                let dx = (self.first + x) as f32 * spacing[2] - center[2];
                *d = weight * (across + dx * dx);
            }
            for (plane, &value) in self.planes.values.iter().zip(&center[3..]) {
                for (d, &v) in distance.iter_mut().zip(&plane[start..start + n]) {
                    *d += (v - value) * (v - value);
                }
            }
            let all = self.best.iter_mut().zip(self.label.iter_mut()).zip(&distance);
            for ((best, label), &d) in all {
                let is_nearer = d < *best;
                *best = if is_nearer { d } else { *best };
                *label = if is_nearer { candidate } else { *label };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{image::Image, random::Random};

    fn noisy(height: usize, width: usize) -> Volume {
        let mut random = Random::new(5);
        let shade = |p: usize| if p % width * 2 > width + p / width { 0.7 } else { 0.3 };
        let data = (0..height * width).map(|p| shade(p) + 0.1 * random.uniform() as f32).collect();
        Volume::of_image(&Image::new(height, width, 1, data).unwrap()).unwrap()
    }

    #[test]
    fn each_voxel_goes_to_the_nearest_center_around() {
        let volume = noisy(37, 53);
        let cells = Cells::new(&volume, volume.n_voxels(), 20);
        let (centers, planes) = (cells.first_centers(&volume), Planes::new(&volume));
        let mut nearest = vec![LabelMap::VOID; volume.n_voxels()];
        assert!(centers.assign(&cells, &planes, 0.7, None, &mut nearest));
        assert!(!centers.assign(&cells, &planes, 0.7, None, &mut nearest), "nothing moves twice");
        for (p, &label) in nearest.iter().enumerate() {
            let (y, x) = (p / 53, p % 53);
            let of = |c: &Vec<f32>| {
                let place = (y as f32 - c[1]).powi(2) + (x as f32 - c[2]).powi(2);
                0.49 * place + volume.voxel(p).iter().zip(&c[3..]).map(|(a, b)| (a - b).powi(2)).sum::<f32>()
            };
            let near = |c: &Vec<f32>| {
                let cell = |v: f32, a: usize| cells.cell(a, v as usize);
                cell(c[1], 1).abs_diff(cells.cell(1, y)) <= 1 && cell(c[2], 2).abs_diff(cells.cell(2, x)) <= 1
            };
            let least = centers.rows.iter().filter(|c| near(c)).map(of).fold(f32::INFINITY, f32::min);
            let got = of(&centers.rows[label as usize]);
            assert!(got <= least * (1.0 + 1e-5), "{p}: {got} against {least}");
        }
    }

    #[test]
    fn regions_follow_the_edge_cover_everything_and_are_connected() {
        let volume = noisy(60, 80);
        let map = Slic::new(48).fit(&volume, None).unwrap();
        assert!((30..=60).contains(&map.n_regions()), "{}", map.n_regions());
        assert!(!map.as_slice().contains(&LabelMap::VOID));
        let labels = LabelMap::new(60, 80, map.as_slice()).unwrap();
        assert_eq!(labels.connected().n_segments(), map.n_regions());
        // No region reaches far across the edge between the two shades.
        let light = |p: usize| p % 80 * 2 > 80 + p / 80;
        let mut sides = vec![[0_usize; 2]; map.n_regions()];
        map.as_slice().iter().enumerate().for_each(|(p, &r)| sides[r as usize][usize::from(light(p))] += 1);
        let across: usize = sides.iter().map(|s| s[0].min(s[1])).sum();
        assert!(across < 48, "{across} pixels on the wrong side");
    }

    #[test]
    fn masks_volumes_and_odd_sizes() {
        let volume = noisy(20, 30);
        let mask: Vec<bool> = (0..600).map(|p| p % 30 < 15).collect();
        let map = Slic::new(10).fit(&volume, Some(&mask)).unwrap();
        assert!(map.as_slice().iter().zip(&mask).all(|(&r, &on)| (r != LabelMap::VOID) == on));
        assert_eq!(Slic::new(5).fit(&volume, Some(&[false; 600])).unwrap().n_regions(), 0);
        // Two slabs, one far thicker in space than in voxels.
        let data = (0..4 * 10 * 10).map(|p| if p / 100 < 2 { 0.0 } else { 100.0 }).collect();
        let stack = Volume::new([4, 10, 10], 1, data).unwrap().with_spacing([5.0, 1.0, 1.0]).unwrap();
        let map = Slic::new(16).fit(&stack, None).unwrap();
        let low: Vec<u32> = map.as_slice()[..200].to_vec();
        assert!(map.as_slice()[200..].iter().all(|r| !low.contains(r)), "a region crosses the slabs");
        for (n, shape) in [(1, [1, 1, 1]), (50, [1, 1, 7]), (9, [3, 1, 1]), (1, [2, 3, 4])] {
            let voxels = shape.iter().product();
            let map = Slic::new(n).fit(&Volume::new(shape, 1, vec![1.0; voxels]).unwrap(), None).unwrap();
            assert!((1..=voxels.max(1)).contains(&map.n_regions()), "{shape:?}");
        }
        assert!(Slic::new(0).fit(&volume, None).is_err());
        assert!(Slic::new(4).compactness(0.0).fit(&volume, None).is_err());
        assert!(Slic::new(4).fit(&volume, Some(&[true])).is_err());
    }
}
