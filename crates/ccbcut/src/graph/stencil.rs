//! The pixel-neighbourhood graph, stored by offset.
//!
//! Every pixel is tied to the pixels at a fixed list of offsets. Only the half of the offsets that point forward
//! is stored, as 32-bit weights laid out `[row][offset][column]`: 158 weights a pixel at radius 10, no index. A
//! weight of zero means that there is no edge (the neighbour lies outside the image, or is too different).

use crate::parallel;

/// Offsets (rows, columns) that point forward (down, or right in the same row), in raster order.
pub(super) type Offsets = Vec<(usize, isize)>;

#[derive(Debug, Clone)]
pub(super) struct Stencil {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) offsets: Offsets,
    /// `weights[(row * offsets.len() + offset) * width + column]`
    pub(super) weights: Vec<f32>,
}

/// The forward half of the disc of a radius: (rows down, columns right), in raster order, the centre left out.
///
/// The radius may be any non-negative number: 1 gives the four nearest neighbours, 1.5 the eight.
pub fn half_disc(radius: f64) -> Vec<(usize, isize)> {
    let reach = radius.floor() as isize;
    let mut offsets = Vec::new();
    for dr in 0..=reach {
        for dc in -reach..=reach {
            let forward = dr > 0 || dc > 0;
            if forward && ((dr * dr + dc * dc) as f64) <= radius * radius {
                offsets.push((dr as usize, dc));
            }
        }
    }
    offsets
}

impl Stencil {
    #[inline]
    pub(super) fn index(&self, row: usize, offset: usize, column: usize) -> usize {
        (row * self.offsets.len() + offset) * self.width + column
    }

    #[inline]
    pub(super) fn for_each_neighbor(&self, vertex: usize, f: &mut impl FnMut(usize, f64)) {
        let (r, c) = (vertex / self.width, vertex % self.width);
        // Backward neighbours come in increasing order when the forward offsets are walked from the last.
        for (o, &(dr, dc)) in self.offsets.iter().enumerate().rev() {
            let column = c as isize - dc;
            if dr <= r && column >= 0 && column < self.width as isize {
                let w = self.weights[self.index(r - dr, o, column as usize)];
                if w > 0.0 {
                    f((r - dr) * self.width + column as usize, f64::from(w));
                }
            }
        }
        for (o, &(dr, dc)) in self.offsets.iter().enumerate() {
            let w = self.weights[self.index(r, o, c)];
            if w > 0.0 {
                f((r + dr) * self.width + c.wrapping_add_signed(dc), f64::from(w));
            }
        }
    }

    /// The weight between a pixel and a later one; zero where there is no edge.
    pub(super) fn weight(&self, i: usize, j: usize) -> f64 {
        let (r, c) = (i / self.width, i % self.width);
        let offset = (j / self.width - r, (j % self.width) as isize - c as isize);
        let found = self.offsets.binary_search(&offset);
        found.map_or(0.0, |o| f64::from(self.weights[self.index(r, o, c)]))
    }

    pub(super) fn map_weights(&self, f: impl Fn(usize, usize, f64) -> f64 + Sync + Send) -> Self {
        let mut weights = self.weights.clone();
        let per_row = self.offsets.len() * self.width;
        parallel::for_each_chunk(&mut weights, per_row, |row, part| {
            for (o, &(dr, dc)) in self.offsets.iter().enumerate() {
                for c in 0..self.width {
                    let w = &mut part[o * self.width + c];
                    if *w > 0.0 {
                        let i = row * self.width + c;
                        let j = (row + dr) * self.width + c.wrapping_add_signed(dc);
                        // An edge stays an edge: the pattern must not change when a weight underflows.
                        *w = (f(i, j, f64::from(*w)) as f32).clamp(f32::MIN_POSITIVE, f32::MAX);
                    }
                }
            }
        });
        Self { height: self.height, width: self.width, offsets: self.offsets.clone(), weights }
    }

    /// The columns c of a row of the image for which c + dc lies inside.
    #[inline]
    pub(super) fn columns(&self, dc: isize) -> std::ops::Range<usize> {
        let start = (-dc).max(0) as usize;
        let end = self.width.saturating_sub(dc.max(0) as usize);
        start.min(end)..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_discs_have_the_expected_sizes() {
        assert_eq!(half_disc(0.0), vec![]);
        assert_eq!(half_disc(1.0), vec![(0, 1), (1, 0)]);
        assert_eq!(half_disc(1.5), vec![(0, 1), (1, -1), (1, 0), (1, 1)]);
        assert_eq!(half_disc(10.0).len(), 158);
    }
}
