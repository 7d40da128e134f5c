//! Hierarchies of regions as ultrametric contour maps.
//!
//! An ultrametric contour map holds a whole family of nested segmentations in one picture. It lives on the doubled
//! grid of (2H + 1) × (2W + 1) values: pixel (r, c) sits at (2r + 1, 2c + 1), the contour between two neighbours at
//! the place between them, and the crossings of contours at even rows and columns. The regions at threshold t are
//! the connected components (eight neighbours on the doubled grid) of the values ≤ t, read off at the pixels.
//! Raising t merges regions and never splits one.
//!
//! The outer rim belongs to contours too: where one meets the edge of the image, the crossing on the rim carries its
//! height. Were it zero, regions would flow into each other along the rim.
//!
//! # References
//! P. Arbeláez, M. Maire, C. Fowlkes, J. Malik, *Contour Detection and Hierarchical Image Segmentation*, PAMI 2011.

use crate::{
    error::{Error, Result},
    labels::LabelMap,
    partition::{Dendrogram, Tree},
    sets::DisjointSets,
};

/// An ultrametric contour map: nested regions of an image, one family member per threshold.
///
/// ```
/// use ccbcut::ucm::Ucm;
/// // Two pixels side by side with a contour of height 0.5 between them.
/// let ucm = Ucm::new(3, 5, vec![
///     0.0, 0.0, 0.5, 0.0, 0.0,
///     0.0, 0.0, 0.5, 0.0, 0.0,
///     0.0, 0.0, 0.5, 0.0, 0.0,
/// ])?;
/// assert_eq!(ucm.regions(0.4).n_segments(), 2);
/// assert_eq!(ucm.regions(0.5).n_segments(), 1);
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Ucm {
    height: usize,
    width: usize,
    values: Vec<f32>,
}

impl Ucm {
    /// A map from its values on the doubled grid, row by row.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] when a side is even or below 3, or a value negative; [`Error::ShapeMismatch`]
    /// when there is not one value per place; [`Error::NotFinite`]; [`Error::TooLarge`] beyond 2³² − 2 pixels.
    pub fn new(rows: usize, columns: usize, values: Vec<f32>) -> Result<Self> {
        let sides = [("the height of a contour map", rows), ("the width of a contour map", columns)];
        for (name, side) in sides {
            if side < 3 || side % 2 == 0 {
                let expected = "odd and at least 3: twice the side of the image, plus one";
                return Err(Error::InvalidParameter { name, value: side as f64, expected });
            }
        }
        let (height, width) = (rows / 2, columns / 2);
        check_size(height, width)?;
        if rows.checked_mul(columns) != Some(values.len()) {
            let expected = rows.saturating_mul(columns);
            return Err(Error::ShapeMismatch { what: "the contour map", expected, got: values.len() });
        }
        if let Some(index) = values.iter().position(|v| !v.is_finite()) {
            let value = f64::from(values[index]);
            return Err(Error::NotFinite { what: "the contour map", index, value });
        }
        if let Some(&value) = values.iter().find(|&&v| v < 0.0) {
            let name = "a height of the contour map";
            let expected = "zero or above";
            return Err(Error::InvalidParameter { name, value: f64::from(value), expected });
        }
        Ok(Self { height, width, values })
    }

    /// The map of a tree that was kept for an image of this size.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless there is one leaf per pixel, and the errors of [`Ucm::from_tree`].
    pub fn from_dendrogram(dendrogram: &Dendrogram, height: usize, width: usize) -> Result<Self> {
        let (tree, leaf) = (dendrogram.tree(), dendrogram.leaf());
        let expected = height.saturating_mul(width);
        if leaf.len() != expected {
            return Err(Error::ShapeMismatch { what: "the leaves of the tree", expected, got: leaf.len() });
        }
        let mut node_of_leaf = vec![0; tree.n_leaves()];
        for (id, _) in tree.nodes().iter().enumerate().filter(|(_, node)| node.children().is_none()) {
            tree.members(id)?.iter().for_each(|&leaf| node_of_leaf[leaf as usize] = id);
        }
        let leaves = LabelMap::numbered(height, width, leaf.to_vec(), tree.n_leaves());
        Self::from_tree(&leaves, tree, &node_of_leaf)
    }

    /// The map of a tree of splits. `leaves` has the leaf of every pixel, and `node_of_leaf` the node of the tree
    /// that each leaf is.
    ///
    /// A split that turns s parts into s + 1 has height 1 − s/K, where K is the number of leaves, so that the
    /// threshold [`Ucm::threshold_for`] k gives back the k parts. Parts that are not connected in the image come back
    /// as their connected regions: a contour map knows no others. Void pixels are fenced off by contours of height 1
    /// and come back as regions of their own.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`] for a leaf without a node or a node that is not in the tree,
    /// [`Error::InvalidParameter`] for an image without pixels, [`Error::TooLarge`] beyond 2³² − 2 of them.
    pub fn from_tree(leaves: &LabelMap, tree: &Tree, node_of_leaf: &[usize]) -> Result<Self> {
        let (height, width) = (leaves.height(), leaves.width());
        if height == 0 || width == 0 {
            let name = "the number of pixels";
            return Err(Error::InvalidParameter { name, value: 0.0, expected: "at least 1" });
        }
        check_size(height, width)?;
        let limit = node_of_leaf.len();
        let labels = leaves.as_slice();
        if let Some(&leaf) = labels.iter().find(|&&l| l != LabelMap::VOID && l as usize >= limit) {
            return Err(Error::IndexOutOfRange { what: "a leaf", index: leaf as usize, limit });
        }
        let limit = tree.nodes().len();
        if let Some(&index) = node_of_leaf.iter().find(|&&node| node >= limit) {
            return Err(Error::IndexOutOfRange { what: "the tree node", index, limit });
        }
        let mut heights = Heights { tree, node_of_leaf, last: None };
        let (rows, columns) = (2 * height + 1, 2 * width + 1);
        let mut values = vec![0.0; rows * columns];
        for r in 0..height {
            for c in 0..width {
                let (p, at) = (r * width + c, (2 * r + 1) * columns + 2 * c + 1);
                if c + 1 < width {
                    values[at + 1] = heights.between(labels[p], labels[p + 1]);
                }
                if r + 1 < height {
                    values[at + columns] = heights.between(labels[p], labels[p + width]);
                }
            }
        }
        for i in (0..rows).step_by(2) {
            for j in (0..columns).step_by(2) {
                let at = i * columns + j;
                let mut top = 0.0_f32;
                // Out of the image, on the rim, there is nothing to look at.
                if i > 0 {
                    top = top.max(values[at - columns]);
                }
                if i + 1 < rows {
                    top = top.max(values[at + columns]);
                }
                if j > 0 {
                    top = top.max(values[at - 1]);
                }
                if j + 1 < columns {
                    top = top.max(values[at + 1]);
                }
                values[at] = top;
            }
        }
        Ok(Self { height, width, values })
    }

    /// The threshold at which the map of a tree with `n_leaves` leaves has the regions of `n_segments` parts.
    pub fn threshold_for(n_segments: usize, n_leaves: usize) -> f32 {
        (1.0 - n_segments as f64 / n_leaves.max(1) as f64) as f32
    }

    /// Rows of the image.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Columns of the image.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows of the doubled grid.
    pub fn rows(&self) -> usize {
        2 * self.height + 1
    }

    /// Columns of the doubled grid.
    pub fn columns(&self) -> usize {
        2 * self.width + 1
    }

    /// The values on the doubled grid, row by row.
    pub fn as_slice(&self) -> &[f32] {
        &self.values
    }

    /// The regions at one threshold, numbered by first appearance.
    ///
    /// Values at the pixels themselves are taken as 0, which they are in any such map: every pixel is in a region.
    ///
    /// # Complexity
    /// Near-linear in the pixels.
    pub fn regions(&self, threshold: f32) -> LabelMap {
        self.sweep(&[threshold]).finest
    }

    /// The regions at every one of some thresholds, in one sweep.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] when there is no threshold, or one is not a number or below the one before it.
    ///
    /// # Complexity
    /// Near-linear in the pixels, plus the number of finest regions per threshold.
    pub fn family(&self, thresholds: &[f32]) -> Result<UcmFamily> {
        if thresholds.is_empty() {
            let name = "the number of thresholds";
            return Err(Error::InvalidParameter { name, value: 0.0, expected: "at least 1" });
        }
        let mut before = f32::NEG_INFINITY;
        for &value in thresholds {
            if value.is_nan() || value < before {
                let (name, value) = ("a threshold", f64::from(value));
                let expected = "a number, and not below the one before it";
                return Err(Error::InvalidParameter { name, value, expected });
            }
            before = value;
        }
        Ok(self.sweep(thresholds))
    }

    /// Unites pixels across ever higher contours.
    ///
    /// On the doubled grid any two neighbouring places that are not pixels touch a common pixel. So the components of
    /// the values ≤ t, seen at the pixels, are those of the pixels alone, when each place with a value ≤ t unites the
    /// pixels it touches: two for a contour, four for a crossing, fewer on the rim.
    fn sweep(&self, thresholds: &[f32]) -> UcmFamily {
        let (rows, columns, width) = (self.rows(), self.columns(), self.width);
        let lowest = thresholds.first().copied().unwrap_or(f32::INFINITY);
        let mut pixels = DisjointSets::new(self.height * width);
        let mut later: Vec<(u32, u32, u32)> = Vec::new();
        for i in 0..rows {
            let touched_rows = touched(i, self.height);
            for j in (0..columns).step_by(1 + i % 2) {
                let value = self.values[i * columns + j];
                let touched_columns = touched(j, width);
                let first = touched_rows.start * width + touched_columns.start;
                let others =
                    touched_rows.clone().flat_map(|r| touched_columns.clone().map(move |c| r * width + c));
                let others = others.skip(1);
                if value <= lowest {
                    others.for_each(|p| {
                        pixels.join(first as u32, p as u32);
                    });
                } else if thresholds.len() > 1 {
                    let level = thresholds.partition_point(|&t| t < value);
                    if level < thresholds.len() {
                        others.for_each(|p| later.push((level as u32, first as u32, p as u32)));
                    }
                }
            }
        }
        let labels = pixels.labels();
        let n_finest = labels.n_segments();
        let finest = LabelMap::numbered(self.height, width, labels.into_vec(), n_finest);
        let merges = merge_levels(finest.as_slice(), n_finest, later, thresholds.len());
        UcmFamily { finest, merges }
    }
}

/// Refuses images whose pixels 32 bits cannot number.
fn check_size(height: usize, width: usize) -> Result<()> {
    let (requested, limit) = (height.saturating_mul(width), u32::MAX as usize - 1);
    if requested > limit {
        return Err(Error::TooLarge { what: "the number of pixels", requested, limit });
    }
    Ok(())
}

/// The rows (or columns) of pixels that row `i` of the doubled grid touches.
fn touched(i: usize, n: usize) -> std::ops::Range<usize> {
    i.div_ceil(2).saturating_sub(1)..(i / 2 + 1).min(n)
}

/// For each level, the region that each finest region is part of.
fn merge_levels(
    finest: &[u32],
    n_finest: usize,
    mut later: Vec<(u32, u32, u32)>,
    n_levels: usize,
) -> Vec<Vec<u32>> {
    for (_, a, b) in &mut later {
        (*a, *b) = (finest[*a as usize], finest[*b as usize]);
    }
    later.retain(|&(_, a, b)| a != b);
    later.sort_unstable();
    later.dedup();
    let mut regions = DisjointSets::new(n_finest);
    let mut rest = later.into_iter().peekable();
    let mut merges = Vec::with_capacity(n_levels);
    for level in 0..n_levels {
        while let Some((_, a, b)) = rest.next_if(|&(l, ..)| l as usize <= level) {
            regions.join(a, b);
        }
        merges.push(regions.labels().into_vec());
    }
    merges
}

/// The nested segmentations of a contour map at some thresholds, finest first.
#[derive(Debug, Clone, PartialEq)]
pub struct UcmFamily {
    finest: LabelMap,
    /// Per threshold: finest region → region.
    merges: Vec<Vec<u32>>,
}

impl UcmFamily {
    /// The regions at the lowest threshold.
    pub fn finest(&self) -> &LabelMap {
        &self.finest
    }

    /// For each threshold, the region that each finest region is part of; regions are numbered by first appearance.
    pub fn merges(&self) -> &[Vec<u32>] {
        &self.merges
    }

    /// How many regions there are at a threshold, given by its position; 0 when there is no such threshold.
    pub fn n_segments(&self, position: usize) -> usize {
        self.merges.get(position).and_then(|m| m.iter().max()).map_or(0, |&last| last as usize + 1)
    }

    /// The label map at a threshold, given by its position.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`] when there is no such threshold.
    pub fn labels(&self, position: usize) -> Result<LabelMap> {
        let limit = self.merges.len();
        let merge = self.merges.get(position).ok_or(Error::IndexOutOfRange {
            what: "the threshold",
            index: position,
            limit,
        })?;
        let values = self.finest.as_slice().iter().map(|&v| merge[v as usize]).collect();
        let n_segments = self.n_segments(position);
        Ok(LabelMap::numbered(self.finest.height(), self.finest.width(), values, n_segments))
    }
}

/// The height of the split that parted two leaves, with the last answer kept: boundaries run along the same pair.
struct Heights<'a> {
    tree: &'a Tree,
    node_of_leaf: &'a [usize],
    last: Option<((u32, u32), f32)>,
}

impl Heights<'_> {
    fn between(&mut self, a: u32, b: u32) -> f32 {
        if a == b {
            return 0.0;
        }
        if a == LabelMap::VOID || b == LabelMap::VOID {
            return 1.0;
        }
        if let Some((_, height)) = self.last.filter(|(pair, _)| *pair == (a, b)) {
            return height;
        }
        let nodes = self.tree.nodes();
        let (mut x, mut y) = (self.node_of_leaf[a as usize], self.node_of_leaf[b as usize]);
        // A parent's number is below those of its children: the larger of two nodes is not above the other.
        while x != y {
            let deeper = if x > y { &mut x } else { &mut y };
            *deeper = nodes[*deeper].parent().unwrap_or(0);
        }
        let step = nodes[x].step().unwrap_or(0);
        let height = Ucm::threshold_for(step, self.tree.n_leaves());
        self.last = Some(((a, b), height));
        height
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// The definition: a flood over the doubled grid with eight neighbours, read off at the pixels.
    fn naive_regions(ucm: &Ucm, threshold: f32) -> LabelMap {
        let (rows, columns) = (ucm.rows(), ucm.columns());
        let is_in = |i: usize, j: usize| i % 2 == 1 && j % 2 == 1 || ucm.values[i * columns + j] <= threshold;
        let mut component = vec![0_u32; rows * columns];
        let mut next = 0;
        for start in 0..rows * columns {
            if component[start] != 0 || !is_in(start / columns, start % columns) {
                continue;
            }
            next += 1;
            component[start] = next;
            let mut stack = vec![start];
            while let Some(at) = stack.pop() {
                let (i, j) = (at / columns, at % columns);
                for ni in i.saturating_sub(1)..(i + 2).min(rows) {
                    for nj in j.saturating_sub(1)..(j + 2).min(columns) {
                        if component[ni * columns + nj] == 0 && is_in(ni, nj) {
                            component[ni * columns + nj] = next;
                            stack.push(ni * columns + nj);
                        }
                    }
                }
            }
        }
        let pixels = (0..ucm.height * ucm.width)
            .map(|p| component[(2 * (p / ucm.width) + 1) * columns + 2 * (p % ucm.width) + 1]);
        LabelMap::new(ucm.height, ucm.width, &pixels.collect::<Vec<_>>()).unwrap()
    }

    /// Any values at all, not only ultrametric ones.
    fn random_map(height: usize, width: usize, seed: u64) -> Ucm {
        let mut random = Random::new(seed);
        let (rows, columns) = (2 * height + 1, 2 * width + 1);
        let values = (0..rows * columns).map(|_| (random.uniform() * 10.0).floor() as f32 / 10.0).collect();
        Ucm::new(rows, columns, values).unwrap()
    }

    #[test]
    fn one_sweep_finds_the_regions_of_every_threshold() {
        let thresholds: Vec<f32> = [0.0, 0.05, 0.1, 0.2, 0.2, 0.3, 0.5, 0.7, 0.95, 2.0].to_vec();
        for (seed, (height, width)) in
            [(1, 1), (1, 7), (6, 1), (2, 2), (9, 13), (17, 8)].into_iter().enumerate()
        {
            let ucm = random_map(height, width, seed as u64);
            let family = ucm.family(&thresholds).unwrap();
            assert_eq!(family.merges().len(), thresholds.len());
            for (position, &threshold) in thresholds.iter().enumerate() {
                let expected = naive_regions(&ucm, threshold);
                assert_eq!(family.labels(position).unwrap(), expected, "{height} x {width} at {threshold}");
                assert_eq!(family.n_segments(position), expected.n_segments());
                assert_eq!(ucm.regions(threshold), expected);
            }
            assert_eq!(family.finest(), &naive_regions(&ucm, 0.0));
        }
    }

    #[test]
    fn regions_do_not_leak_along_the_rim() {
        // A contour of height 0.5 between two pixels, but nothing on the rim: they are one region.
        let mut values = vec![0.0; 15];
        values[7] = 0.5;
        assert_eq!(Ucm::new(3, 5, values.clone()).unwrap().regions(0.1).n_segments(), 1);
        (values[2], values[12]) = (0.5, 0.5);
        assert_eq!(Ucm::new(3, 5, values).unwrap().regions(0.1).n_segments(), 2);
    }

    #[test]
    fn maps_that_are_none_are_refused() {
        assert!(matches!(Ucm::new(4, 5, vec![0.0; 20]), Err(Error::InvalidParameter { value: 4.0, .. })));
        assert!(matches!(Ucm::new(5, 1, vec![0.0; 5]), Err(Error::InvalidParameter { value: 1.0, .. })));
        assert!(matches!(Ucm::new(3, 5, vec![0.0; 14]), Err(Error::ShapeMismatch { expected: 15, .. })));
        assert!(Ucm::new(usize::MAX, usize::MAX, Vec::new()).is_err());
        let with = |value: f32| Ucm::new(3, 3, [vec![0.0; 8], vec![value]].concat());
        assert!(matches!(with(f32::NAN), Err(Error::NotFinite { index: 8, .. })));
        assert!(with(f32::INFINITY).is_err() && with(-0.1).is_err() && with(-0.0).is_ok());
        let ucm = with(0.0).unwrap();
        assert!(ucm.family(&[]).is_err() && ucm.family(&[0.2, 0.1]).is_err());
        assert!(ucm.family(&[f32::NAN]).is_err() && ucm.family(&[0.1]).unwrap().labels(1).is_err());
    }
}
