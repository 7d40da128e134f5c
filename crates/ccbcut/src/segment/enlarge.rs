//! From a coarse grid to the pixels of an image, along the image's own edges.
//!
//! What the grid says about each part, or each coordinate of an embedding, is spread over the pixels by interpolation,
//! and then walks: at each step a pixel takes the mean of itself and its neighbours, weighted by how alike their colours
//! are. Values thus flow inside a region of one colour and hardly across an edge, until the border between two parts
//! lies where the colours change. A walk must reach about as far as a cell of the grid is wide, which would take many
//! steps; so it begins on a small copy of the image, in which a cell is at most four pixels wide, and goes on with a few
//! steps on each copy of twice the size.

use crate::{
    affinity::{Affinity, LabAffinity, Neighborhood},
    error::{Error, Result},
    graph::Graph,
    image::Image,
    parallel,
};

use super::{
    Upsampling,
    grid::{fill_gaps, restore_lost},
};

/// How far the neighbours of a pixel are that it takes the mean of.
const RADIUS: f64 = 2.0;

/// The widest cell of the grid, in pixels of the smallest copy of the image.
const WIDEST: f64 = 4.0;

/// Columns that walk together.
const COLUMNS: usize = 4;

/// Pixels per block of the parallel loops.
const BLOCK: usize = 4096;

/// Takes what is known about the cells of a grid to the pixels of an image.
///
/// ```
/// use ccbcut::{Image, affinity::LabAffinity, segment::Enlarger};
/// // A dark and a bright half; the grid of 2 × 2 cells knows the corners.
/// let pixels: Vec<f32> = (0..64).map(|p| if p % 8 < 3 { 0.2 } else { 0.9 }).collect();
/// let image = Image::new(8, 8, 1, pixels)?;
/// let enlarger = Enlarger::new(&image, None, (2, 2), LabAffinity::default())?;
/// let fine = enlarger.parts(&[0, 1, 0, 1], 2, Default::default())?;
/// assert_eq!(fine[..8], [0, 0, 0, 1, 1, 1, 1, 1]);
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Enlarger<'m> {
    grid: (usize, usize),
    /// The image and its copies, from the finest.
    levels: Vec<Level>,
    mask: Option<&'m [bool]>,
}

/// One copy of the image.
#[derive(Debug, Clone)]
struct Level {
    height: usize,
    width: usize,
    graph: Graph,
    /// 1/(1 + dᵢ)
    rates: Vec<f32>,
    n_steps: usize,
}

impl<'m> Enlarger<'m> {
    /// Prepares the way from a grid, (height, width), that covers an image; `affinity` says which colours are alike, its
    /// neighbourhood is not used.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for an image without colours or a grid that is empty or finer than the image,
    /// [`Error::ShapeMismatch`] for a mask that does not fit.
    pub fn new(
        image: &Image,
        mask: Option<&'m [bool]>,
        grid: (usize, usize),
        affinity: LabAffinity,
    ) -> Result<Self> {
        let sides = [
            (grid.0, image.height(), "the height of the grid"),
            (grid.1, image.width(), "the width of the grid"),
        ];
        for (cells, pixels, name) in sides {
            if cells == 0 || cells > pixels {
                let expected = "at least 1, and at most as many cells as the image has pixels";
                return Err(Error::InvalidParameter { name, value: cells as f64, expected });
            }
        }
        let affinity = affinity.neighborhood(Neighborhood::new(RADIUS));
        let (rows, columns) = (image.height() as f64 / grid.0 as f64, image.width() as f64 / grid.1 as f64);
        let mut cell = rows.max(columns);
        let mut levels = Vec::new();
        let mut copy: Option<(Image, Option<Vec<bool>>)> = None;
        loop {
            let (image, mask) = match &copy {
                Some((image, mask)) => (image, mask.as_deref()),
                None => (image, mask),
            };
            let is_last = cell <= WIDEST;
            // A step goes about one pixel far, so that a walk of s² steps goes about s pixels.
            let reach = if is_last { cell } else { 2.0 };
            let n_steps = if cell > 1.0 { (reach * reach).ceil() as usize } else { 0 };
            levels.push(Level::new(image, mask, affinity, n_steps)?);
            if is_last {
                break;
            }
            copy = Some(halved(image, mask)?);
            cell /= 2.0;
        }
        Ok(Self { grid, levels, mask })
    }

    /// Height and width of the image.
    pub fn shape(&self) -> (usize, usize) {
        (self.levels[0].height, self.levels[0].width)
    }

    /// Rows of values, one per cell of the grid, taken to the pixels.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless there are `columns` values per cell.
    pub fn rows(&self, rows: &[f64], columns: usize) -> Result<Vec<f64>> {
        let n_cells = self.grid.0 * self.grid.1;
        let expected = n_cells * columns;
        if rows.len() != expected {
            return Err(Error::ShapeMismatch { what: "the values of the grid", expected, got: rows.len() });
        }
        let n = self.levels[0].height * self.levels[0].width;
        let mut fine = vec![0.0; n * columns];
        for first in (0..columns).step_by(COLUMNS) {
            let group = first..(first + COLUMNS).min(columns);
            let cells = group.clone().flat_map(|c| rows[c..].iter().step_by(columns).map(|&v| v as f32));
            let spread = self.walk(&cells.collect::<Vec<f32>>());
            for (c, column) in group.zip(spread.chunks_exact(n)) {
                fine[c..].iter_mut().step_by(columns).zip(column).for_each(|(out, &v)| *out = f64::from(v));
            }
        }
        Ok(fine)
    }

    /// The part of every pixel from the parts of the cells, numbered below `n_parts`: that which reaches it most, or
    /// that of the cell it lies in. [`LabelMap::VOID`](crate::LabelMap::VOID) stands for no part; every part keeps at least a pixel.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless there is one part per cell.
    pub fn parts(&self, parts: &[u32], n_parts: usize, upsampling: Upsampling) -> Result<Vec<u32>> {
        let (expected, got) = (self.grid.0 * self.grid.1, parts.len());
        if got != expected {
            return Err(Error::ShapeMismatch { what: "the parts of the grid", expected, got });
        }
        let nearest = self.nearest(parts);
        let mut fine = nearest.clone();
        if upsampling == Upsampling::Prolong {
            let mut most = vec![0.0_f32; fine.len()];
            for first in (0..n_parts).step_by(COLUMNS) {
                let group = first..(first + COLUMNS).min(n_parts);
                let indicator =
                    |part: usize| parts.iter().map(move |&p| f32::from(u8::from(p as usize == part)));
                let spread = self.walk(&group.clone().flat_map(indicator).collect::<Vec<f32>>());
                for (part, column) in group.zip(spread.chunks_exact(fine.len())) {
                    for ((label, most), &value) in fine.iter_mut().zip(&mut most).zip(column) {
                        if value > *most {
                            (*label, *most) = (part as u32, value);
                        }
                    }
                }
            }
        }
        if let Some(mask) = self.mask {
            let (height, width) = self.shape();
            fill_gaps(&mut fine, mask, height, width);
        }
        restore_lost(&mut fine, &nearest, n_parts);
        Ok(fine)
    }

    /// Each pixel takes the part of the cell that its centre lies in.
    fn nearest(&self, parts: &[u32]) -> Vec<u32> {
        let ((height, width), (h, w)) = (self.shape(), self.grid);
        let cell = |index: usize, fine: usize, coarse: usize| (2 * index + 1) * coarse / (2 * fine);
        let rows = (0..height).map(|r| &parts[cell(r, height, h) * w..][..w]);
        rows.flat_map(|row| (0..width).map(move |c| row[cell(c, width, w)])).collect()
    }

    /// Columns of values of the cells, one column after the other, as columns of the pixels.
    fn walk(&self, cells: &[f32]) -> Vec<f32> {
        let (height, width) = self.shape();
        let scale = (self.grid.0 as f64 / height as f64, self.grid.1 as f64 / width as f64);
        let halvings = 2.0_f64.powi(self.levels.len() as i32 - 1);
        let mut from = (self.grid, cells.to_vec());
        let mut step = (scale.0 * halvings, scale.1 * halvings);
        for level in self.levels.iter().rev() {
            let mut x = interpolate(&from.1, from.0, (level.height, level.width), step);
            level.smooth(&mut x);
            from = ((level.height, level.width), x);
            step = (0.5, 0.5);
        }
        from.1
    }
}

impl Level {
    fn new(image: &Image, mask: Option<&[bool]>, affinity: LabAffinity, n_steps: usize) -> Result<Self> {
        let graph = affinity.graph_masked(image, mask)?;
        let rates = graph.degrees().iter().map(|d| (1.0 / (1.0 + d)) as f32).collect();
        Ok(Self { height: image.height(), width: image.width(), graph, rates, n_steps })
    }

    /// X ← X − (I + D)⁻¹ L X, again and again: the mean of each pixel, with weight 1, and its neighbours.
    fn smooth(&self, x: &mut [f32]) {
        let n = self.rates.len();
        let laplacian = self.graph.laplacian();
        let mut change = vec![0.0_f32; x.len()];
        for _ in 0..self.n_steps {
            laplacian.apply_single(x, &mut change);
            parallel::for_each_chunk(x, BLOCK, |block, part| {
                for (k, x) in part.iter_mut().enumerate() {
                    let at = block * BLOCK + k;
                    *x -= self.rates[at % n] * change[at];
                }
            });
        }
    }
}

/// Columns on one grid as columns on another, by bilinear interpolation between the centres of the cells; `step` is how
/// far the centres of the fine cells are apart, in coarse cells.
fn interpolate(
    x: &[f32],
    (h, w): (usize, usize),
    (height, width): (usize, usize),
    step: (f64, f64),
) -> Vec<f32> {
    let place = |index: usize, step: f64, coarse: usize| {
        let at = ((index as f64 + 0.5) * step - 0.5).clamp(0.0, (coarse - 1) as f64);
        let low = at as usize;
        (low, (low + 1).min(coarse - 1), (at - low as f64) as f32)
    };
    let columns: Vec<(usize, usize, f32)> = (0..width).map(|c| place(c, step.1, w)).collect();
    let mut out = vec![0.0; x.len() / (h * w) * height * width];
    parallel::for_each_chunk(&mut out, width, |line, out| {
        let x = &x[line / height * h * w..][..h * w];
        let (low, high, down) = place(line % height, step.0, h);
        let (above, below) = (&x[low * w..][..w], &x[high * w..][..w]);
        for (out, &(left, right, across)) in out.iter_mut().zip(&columns) {
            let upper = above[left] + across * (above[right] - above[left]);
            let lower = below[left] + across * (below[right] - below[left]);
            *out = upper + down * (lower - upper);
        }
    });
    out
}

/// The image at half its size, each pixel the mean of up to four, and which of its pixels count.
fn halved(image: &Image, mask: Option<&[bool]>) -> Result<(Image, Option<Vec<bool>>)> {
    let (height, width, channels) = (image.height(), image.width(), image.channels());
    let (h, w) = (height.div_ceil(2), width.div_ceil(2));
    let mut data = vec![0.0_f32; h * w * channels];
    let mut counts = vec![true; h * w];
    for (p, out) in data.chunks_exact_mut(channels).enumerate() {
        let (r, c) = (p / w * 2, p % w * 2);
        let four = [(r, c), (r, c + 1), (r + 1, c), (r + 1, c + 1)];
        let inside = four.into_iter().filter(|&(r, c)| r < height && c < width).map(|(r, c)| r * width + c);
        let own: Vec<usize> = inside.filter(|&q| mask.is_none_or(|mask| mask[q])).collect();
        counts[p] = !own.is_empty();
        for &q in &own {
            out.iter_mut().zip(image.pixel(q)).for_each(|(out, v)| *out += v / own.len() as f32);
        }
    }
    Ok((Image::new(h, w, channels, data)?, mask.map(|_| counts)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::LabelMap;

    /// Two colours with a little texture; the border is a slanted line.
    fn slanted(height: usize, width: usize) -> (Image, Vec<u32>) {
        let side = |r: usize, c: usize| u32::from(3 * c > 40 + 2 * r);
        let pixel = |p: usize| {
            let (r, c) = (p / width, p % width);
            0.3 + 0.4 * side(r, c) as f32 + 0.02 * (((r * 7 + c * 13) % 5) as f32 / 5.0)
        };
        let truth = (0..height * width).map(|p| side(p / width, p % width)).collect();
        (Image::new(height, width, 1, (0..height * width).map(pixel).collect()).unwrap(), truth)
    }

    /// What a grid of cells would say: the part that most of a cell belongs to.
    fn majority(truth: &[u32], (height, width): (usize, usize), (h, w): (usize, usize)) -> Vec<u32> {
        let mut ones = vec![(0, 0); h * w];
        for (p, &part) in truth.iter().enumerate() {
            let cell = p / width * h / height * w + p % width * w / width;
            ones[cell].0 += part;
            ones[cell].1 += 1;
        }
        ones.into_iter().map(|(ones, all)| u32::from(2 * ones > all)).collect()
    }

    #[test]
    fn borders_go_to_the_edges_of_the_image() {
        for (shape, grid) in
            [((64, 80), (8, 10)), ((64, 80), (4, 5)), ((61, 83), (5, 6)), ((40, 60), (20, 30))]
        {
            let (image, truth) = slanted(shape.0, shape.1);
            let cells = majority(&truth, shape, grid);
            let enlarger = Enlarger::new(&image, None, grid, LabAffinity::default()).unwrap();
            let fine = enlarger.parts(&cells, 2, Upsampling::Prolong).unwrap();
            let nearest = enlarger.parts(&cells, 2, Upsampling::Nearest).unwrap();
            // Every pixel that is wrong touches the true border.
            let wrong = |found: &[u32]| {
                let is_wrong = |&p: &usize| {
                    found[p] != truth[p]
                        && crate::labels::four_neighbors(p, shape.0, shape.1).all(|q| truth[q] == truth[p])
                };
                (0..truth.len()).filter(is_wrong).count()
            };
            assert_eq!(wrong(&fine), 0, "{grid:?}");
            // Cells of two pixels are never farther off than that themselves.
            assert!(wrong(&nearest) > 0 || shape.0 == 2 * grid.0, "{grid:?}: the cells alone are worse");
        }
    }

    #[test]
    fn constants_stay_and_the_mean_of_indicators_is_one() {
        let (image, truth) = slanted(30, 41);
        let enlarger = Enlarger::new(&image, None, (3, 4), LabAffinity::default()).unwrap();
        let fine = enlarger.rows(&[0.75; 12], 1).unwrap();
        assert!(fine.iter().all(|v| (v - 0.75).abs() < 1e-5));
        let cells = majority(&truth, (30, 41), (3, 4));
        let both: Vec<f64> = cells.iter().flat_map(|&c| [f64::from(c), 1.0 - f64::from(c)]).collect();
        let fine = enlarger.rows(&both, 2).unwrap();
        assert!(fine.chunks_exact(2).all(|row| (row[0] + row[1] - 1.0).abs() < 1e-5));
        assert!(enlarger.rows(&both, 1).is_err() && enlarger.parts(&[0; 5], 1, Upsampling::Prolong).is_err());
    }

    #[test]
    fn a_grid_as_fine_as_the_image_changes_nothing() {
        let (image, truth) = slanted(9, 20);
        let enlarger = Enlarger::new(&image, None, (9, 20), LabAffinity::default()).unwrap();
        assert_eq!(enlarger.parts(&truth, 2, Upsampling::Prolong).unwrap(), truth);
        for grid in [(0, 3), (10, 3), (3, 21)] {
            assert!(Enlarger::new(&image, None, grid, LabAffinity::default()).is_err(), "{grid:?}");
        }
    }

    #[test]
    fn masked_pixels_have_no_part_and_no_part_is_lost() {
        let (image, _) = slanted(24, 24);
        let mask: Vec<bool> = (0..576).map(|p| p % 24 > 2).collect();
        let enlarger = Enlarger::new(&image, Some(&mask), (3, 3), LabAffinity::default()).unwrap();
        // A part of one cell amid a flat colour, and a cell without a part.
        let fine = enlarger.parts(&[0, 0, 0, 0, 1, 0, 0, 2, LabelMap::VOID], 3, Upsampling::Prolong).unwrap();
        assert!(fine.iter().zip(&mask).all(|(&part, &on)| (part == LabelMap::VOID) != on));
        assert!((0..3).all(|part| fine.contains(&part)));
    }
}
