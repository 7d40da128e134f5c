//! The pixels that take part, and how the vertices of the coarse graph reach them.

use std::{borrow::Cow, collections::VecDeque};

use super::Upsampling;
use crate::{
    coarsen::{Hierarchy, Highest},
    error::Result,
    graph::Graph,
    image::Image,
    labels::{LabelMap, Labels, four_neighbors},
    memory::INDICATORS,
};

/// The pixels that take part.
pub(super) struct Grid<'m> {
    pub(super) height: usize,
    pub(super) width: usize,
    mask: Option<&'m [bool]>,
    pixels: Vec<u32>,
}

impl<'m> Grid<'m> {
    pub(super) fn new(image: &Image, mask: Option<&'m [bool]>) -> Self {
        Self::of_shape((image.height(), image.width()), mask)
    }

    pub(super) fn of_shape((height, width): (usize, usize), mask: Option<&'m [bool]>) -> Self {
        let pixels = (0..(height * width) as u32).filter(|&p| mask.is_none_or(|m| m[p as usize])).collect();
        Self { height, width, mask, pixels }
    }

    pub(super) fn pixels(&self) -> &[u32] {
        &self.pixels
    }

    /// The rows of the active pixels, `columns` values each.
    pub(super) fn active_rows(&self, rows: Vec<f64>, columns: usize) -> Vec<f64> {
        if self.pixels.len() == self.height * self.width {
            return rows;
        }
        let mut active = Vec::with_capacity(self.pixels.len() * columns);
        for &p in &self.pixels {
            active.extend_from_slice(&rows[p as usize * columns..(p as usize + 1) * columns]);
        }
        active
    }

    /// The active pixels of the grid after some decimations, as numbers on that grid.
    pub(super) fn active_at(&self, levels: usize) -> Vec<u32> {
        let (step, first) = (1_usize << levels, (1_usize << levels) - 1);
        let (h, w) = (self.height >> levels, self.width >> levels);
        let is_active = |p: &u32| {
            let (r, c) = (*p as usize / w, *p as usize % w);
            self.mask.is_none_or(|m| m[(r * step + first) * self.width + c * step + first])
        };
        (0..(h * w) as u32).filter(is_active).collect()
    }

    /// The largest number of decimations, at most `levels`, that keeps at least `least` active pixels.
    pub(super) fn possible_levels(&self, levels: usize, least: usize) -> usize {
        (1..=levels.min(30)).take_while(|&l| self.active_at(l).len() >= least).last().unwrap_or(0)
    }

    /// A label map from labels of the active pixels.
    pub(super) fn paint(&self, labels: &[u32]) -> Result<LabelMap> {
        let mut raw = vec![LabelMap::VOID; self.height * self.width];
        for (&p, &label) in self.pixels.iter().zip(labels) {
            raw[p as usize] = label;
        }
        self.map(&raw)
    }

    pub(super) fn map(&self, raw: &[u32]) -> Result<LabelMap> {
        LabelMap::new(self.height, self.width, raw)
    }
}

/// The coarse graph on its active pixels.
pub(super) struct Coarse<'a> {
    graph: Cow<'a, Graph>,
    active: Vec<u32>,
    n_all: usize,
}

impl<'a> Coarse<'a> {
    pub(super) fn new(pyramid: &'a Hierarchy<'_>, active: Vec<u32>) -> Self {
        let whole = pyramid.coarse_graph();
        let n_all = whole.n_vertices();
        let graph =
            if active.len() == n_all { Cow::Borrowed(whole) } else { Cow::Owned(whole.induced(&active)) };
        Self { graph, active, n_all }
    }

    /// The vertex of a cell of the coarse grid, if it takes part.
    pub(super) fn vertex_of(&self, cell: u32) -> Option<u32> {
        self.active.binary_search(&cell).ok().map(|vertex| vertex as u32)
    }

    pub(super) fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Rows of the active vertices spread over the whole coarse grid, zero elsewhere.
    pub(super) fn scatter(&self, rows: &[f64], columns: usize) -> Vec<f64> {
        let mut all = vec![0.0; self.n_all * columns];
        for (row, &v) in rows.chunks_exact(columns).zip(&self.active) {
            all[v as usize * columns..(v as usize + 1) * columns].copy_from_slice(row);
        }
        all
    }

    /// The leaf of every pixel: VOID outside the mask, and every leaf present.
    pub(super) fn leaves_on_pixels(
        &self,
        pyramid: &Hierarchy<'_>,
        grid: &Grid<'_>,
        labels: &Labels,
        upsampling: Upsampling,
    ) -> Result<Vec<u32>> {
        let mut coarse = vec![LabelMap::VOID; self.n_all];
        for (&v, &label) in self.active.iter().zip(labels.as_slice()) {
            coarse[v as usize] = label;
        }
        let nearest = pyramid.nearest(&coarse)?;
        let mut fine = nearest.clone();
        if upsampling == Upsampling::Prolong && pyramid.n_levels() > 0 {
            // Some parts at a time: all indicators at once would take more memory than the weights of the graph.
            let k = labels.n_segments();
            let mut highest: Vec<Highest> =
                fine.iter().map(|&column| Highest { value: 0.0, column }).collect();
            for first in (0..k).step_by(INDICATORS) {
                let columns = INDICATORS.min(k - first);
                let here = first..first + columns;
                let mut indicators = vec![0.0; self.n_all * columns];
                for (v, &label) in coarse.iter().enumerate().filter(|&(_, &l)| here.contains(&(l as usize))) {
                    indicators[v * columns + label as usize - first] = 1.0;
                }
                pyramid.raise(&indicators, columns, first, &mut highest)?;
            }
            fine.iter_mut().zip(&highest).for_each(|(label, highest)| *label = highest.column);
        }
        if let Some(mask) = grid.mask {
            fill_gaps(&mut fine, mask, grid.height, grid.width);
        }
        restore_lost(&mut fine, &nearest, labels.n_segments());
        Ok(fine)
    }
}

/// A part that won no pixel gets back those of its nearest coarse pixels. That may take the last pixel of another
/// part, which then gets back its own, until none is lost: each part is somewhere in `nearest`, and no pixel that
/// was given back is taken again.
pub(super) fn restore_lost(fine: &mut [u32], nearest: &[u32], n_parts: usize) {
    loop {
        let mut present = vec![false; n_parts];
        fine.iter().filter(|&&l| l != LabelMap::VOID).for_each(|&l| present[l as usize] = true);
        let mut given_back = false;
        for (label, &own) in fine.iter_mut().zip(nearest) {
            if *label != LabelMap::VOID && own != LabelMap::VOID && !present[own as usize] {
                *label = own;
                given_back = true;
            }
        }
        if !given_back {
            return;
        }
    }
}

/// Masked-out pixels become void; active pixels without a label take that of the closest labelled pixel.
pub(super) fn fill_gaps(fine: &mut [u32], mask: &[bool], height: usize, width: usize) {
    for (label, &on) in fine.iter_mut().zip(mask) {
        if !on {
            *label = LabelMap::VOID;
        }
    }
    let mut queue: VecDeque<usize> = (0..fine.len()).filter(|&p| fine[p] != LabelMap::VOID).collect();
    let mut spread = vec![LabelMap::VOID; fine.len()];
    queue.iter().for_each(|&p| spread[p] = fine[p]);
    while let Some(p) = queue.pop_front() {
        for q in four_neighbors(p, height, width) {
            if spread[q] == LabelMap::VOID {
                spread[q] = spread[p];
                queue.push_back(q);
            }
        }
    }
    for (p, label) in fine.iter_mut().enumerate() {
        if mask[p] && *label == LabelMap::VOID {
            *label = spread[p];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VOID: u32 = LabelMap::VOID;

    #[test]
    fn a_leaf_that_won_no_pixel_gets_its_own_back() {
        let mut fine = [0, 0, 0, 1, 1, 1];
        restore_lost(&mut fine, &[0, 0, 2, 2, 1, 1], 3);
        assert_eq!(fine, [0, 0, 2, 2, 1, 1]);
        // Nobody is lost: nothing moves, although the nearest labels differ.
        let mut fine = [0, 1, 1, 1, 0, 2];
        restore_lost(&mut fine, &[0, 0, 1, 1, 2, 2], 3);
        assert_eq!(fine, [0, 1, 1, 1, 0, 2]);
    }

    #[test]
    fn giving_back_to_one_leaf_does_not_lose_another() {
        // Leaf 0 lost everything, and what it gets back are the only pixels of leaf 1.
        let mut fine = [1, 1, 2, 2, 2];
        restore_lost(&mut fine, &[0, 0, 1, 2, 2], 3);
        assert_eq!(fine, [0, 0, 1, 2, 2]);
    }

    #[test]
    fn void_pixels_are_not_given_back() {
        let mut fine = [VOID, 0, 0, 0];
        restore_lost(&mut fine, &[1, 1, VOID, 0], 2);
        assert_eq!(fine, [VOID, 1, 0, 0]);
    }

    #[test]
    fn gaps_take_the_label_of_the_closest_pixel_and_masked_ones_none() {
        let mask = [true, true, true, true, true, true, false, true, false, true];
        let mut fine = [0, VOID, VOID, VOID, 1, 0, 0, VOID, 1, 1];
        fill_gaps(&mut fine, &mask, 2, 5);
        // Pixel 2 is two steps from either side; the one that comes first in raster order has it.
        assert_eq!(fine, [0, 0, 0, 1, 1, 0, VOID, 0, VOID, 1]);
        let mut nothing = [VOID; 4];
        fill_gaps(&mut nothing, &[true; 4], 2, 2);
        assert_eq!(nothing, [VOID; 4], "there is no label to take");
    }

    #[test]
    fn levels_are_counted_on_the_pixels_that_are_kept() {
        let image = Image::new(8, 8, 1, vec![0.5; 64]).unwrap();
        let whole = Grid::new(&image, None);
        assert_eq!(whole.active_at(1).len(), 16);
        assert_eq!([1, 4, 5, 16, 17].map(|least| whole.possible_levels(9, least)), [3, 2, 1, 1, 0]);
        // A mask on the pixels of odd rows and columns alone leaves nothing to halve.
        let mask: Vec<bool> = (0..64).map(|p| p / 8 % 2 == 0 || p % 2 == 0).collect();
        let masked = Grid::new(&image, Some(&mask));
        assert_eq!((masked.pixels().len(), masked.possible_levels(9, 1)), (48, 0));
    }
}
