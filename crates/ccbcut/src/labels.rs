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
}
