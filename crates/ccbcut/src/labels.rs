//! The currency at the far end of the house: which part each vertex belongs to.

use crate::error::{Error, Result};

/// A partition of `0..n`: one part number per vertex, dense, numbered by first appearance.
///
/// ```
/// use ccbcut::Labels;
/// let labels = Labels::from_raw(&[7, 7, 2, 9, 2]);
/// assert_eq!(labels.as_slice(), &[0, 0, 1, 2, 1]);
/// assert_eq!(labels.n_segments(), 3);
/// assert_eq!(labels.sizes(), vec![2, 2, 1]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    values: Vec<u32>,
    n_segments: usize,
}

impl Labels {
    /// Renumbers arbitrary part numbers by first appearance.
    ///
    /// # Complexity
    /// O(n) time on average; O(number of parts) auxiliary space.
    pub fn from_raw(raw: &[u32]) -> Self {
        let mut renumber = std::collections::HashMap::new();
        let mut values = Vec::with_capacity(raw.len());
        let mut last: Option<(u32, u32)> = None;
        for &label in raw {
            // Label maps come in runs: most lookups repeat the one before.
            let new = match last {
                Some((old, new)) if old == label => new,
                _ => {
                    let next = renumber.len() as u32;
                    *renumber.entry(label).or_insert(next)
                }
            };
            last = Some((label, new));
            values.push(new);
        }
        Self { values, n_segments: renumber.len() }
    }

    /// Everything in one part.
    pub fn single(n: usize) -> Self {
        Self { values: vec![0; n], n_segments: usize::from(n > 0) }
    }

    /// One part number per vertex.
    pub fn as_slice(&self) -> &[u32] {
        &self.values
    }

    /// How many vertices.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no vertex at all.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// How many parts.
    pub fn n_segments(&self) -> usize {
        self.n_segments
    }

    /// The number of vertices of each part.
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.n_segments];
        for &label in &self.values {
            sizes[label as usize] += 1;
        }
        sizes
    }

    /// The part numbers themselves.
    pub fn into_vec(self) -> Vec<u32> {
        self.values
    }

    /// Checks that there is one label per vertex.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] when the lengths differ.
    pub fn check_len(&self, n_vertices: usize) -> Result<()> {
        if self.len() == n_vertices {
            return Ok(());
        }
        Err(Error::ShapeMismatch { what: "the label map", expected: n_vertices, got: self.len() })
    }
}

/// A label map over the pixels of an image; pixels that were masked out hold [`LabelMap::VOID`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelMap {
    height: usize,
    width: usize,
    values: Vec<u32>,
    n_segments: usize,
}

impl LabelMap {
    /// The value of a pixel that belongs to no part.
    pub const VOID: u32 = u32::MAX;

    /// A map from one part number per pixel, row by row; parts are renumbered by first appearance in raster
    /// order, [`LabelMap::VOID`] stays.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] when there is not one value per pixel.
    pub fn new(height: usize, width: usize, raw: &[u32]) -> Result<Self> {
        if raw.len() != height * width {
            let expected = height * width;
            return Err(Error::ShapeMismatch { what: "the label map", expected, got: raw.len() });
        }
        let labels = Labels::from_raw(raw);
        let Some(void) = raw.iter().position(|&v| v == Self::VOID).map(|p| labels.values[p]) else {
            let (values, n_segments) = (labels.values, labels.n_segments);
            return Ok(Self { height, width, values, n_segments });
        };
        let close_gap = |v: u32| match v.cmp(&void) {
            std::cmp::Ordering::Less => v,
            std::cmp::Ordering::Equal => Self::VOID,
            std::cmp::Ordering::Greater => v - 1,
        };
        let values = labels.values.into_iter().map(close_gap).collect();
        Ok(Self { height, width, values, n_segments: labels.n_segments - 1 })
    }

    /// A map whose numbering is kept as it is; every value is below `n_segments` or void.
    pub(crate) fn numbered(height: usize, width: usize, values: Vec<u32>, n_segments: usize) -> Self {
        debug_assert!(values.iter().all(|&v| v == Self::VOID || (v as usize) < n_segments));
        Self { height, width, values, n_segments }
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// One value per pixel, row by row.
    pub fn as_slice(&self) -> &[u32] {
        &self.values
    }

    /// How many parts, the void not counted.
    pub fn n_segments(&self) -> usize {
        self.n_segments
    }

    /// The number of pixels of each part.
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.n_segments];
        for &label in self.values.iter().filter(|&&v| v != Self::VOID) {
            sizes[label as usize] += 1;
        }
        sizes
    }

    /// Splits every part into its connected regions (four neighbours).
    #[must_use]
    pub fn connected(&self) -> Self {
        let mut region = vec![Self::VOID; self.values.len()];
        let mut stack = Vec::new();
        let mut next = 0;
        for start in 0..region.len() {
            if region[start] != Self::VOID || self.values[start] == Self::VOID {
                continue;
            }
            region[start] = next;
            stack.push(start);
            while let Some(p) = stack.pop() {
                for q in four_neighbors(p, self.height, self.width) {
                    if region[q] == Self::VOID && self.values[q] == self.values[start] {
                        region[q] = next;
                        stack.push(q);
                    }
                }
            }
            next += 1;
        }
        Self { height: self.height, width: self.width, values: region, n_segments: next as usize }
    }
}

/// The pixels above, left, right and below a pixel, those outside the image left out.
pub(crate) fn four_neighbors(p: usize, height: usize, width: usize) -> impl Iterator<Item = usize> {
    let (r, c) = (p / width, p % width);
    let steps = [
        (r > 0).then(|| p - width),
        (c > 0).then(|| p - 1),
        (c + 1 < width).then_some(p + 1),
        (r + 1 < height).then_some(p + width),
    ];
    steps.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_numbered_by_first_appearance() {
        let labels = Labels::from_raw(&[u32::MAX, 4, u32::MAX, 0]);
        assert_eq!(labels.as_slice(), &[0, 1, 0, 2]);
        assert_eq!(Labels::from_raw(labels.as_slice()), labels);
    }

    #[test]
    fn empty_and_single() {
        assert_eq!(Labels::from_raw(&[]).n_segments(), 0);
        assert_eq!(Labels::single(3).sizes(), vec![3]);
        assert!(Labels::single(3).check_len(4).is_err());
    }

    #[test]
    fn a_map_keeps_its_void_and_closes_the_gap() {
        let v = LabelMap::VOID;
        let map = LabelMap::new(2, 3, &[5, v, 5, 9, v, 5]).unwrap();
        assert_eq!(map.as_slice(), &[0, v, 0, 1, v, 0]);
        assert_eq!((map.n_segments(), map.sizes()), (2, vec![3, 1]));
        let regions = map.connected();
        assert_eq!(regions.as_slice(), &[0, v, 1, 2, v, 1]);
        assert!(LabelMap::new(2, 3, &[0]).is_err());
    }
}
