//! The pixel-neighbourhood graph, stored by offset.
//!
//! Every pixel is tied to the pixels at a fixed list of offsets. Only the half of the offsets that point forward
//! is stored, as 32-bit weights laid out `[row][offset][column]`: 158 weights a pixel at radius 10, no index. A
//! weight of zero means that there is no edge (the neighbour lies outside the image, or is too different).

use crate::parallel;

use super::product::Real;

/// Offsets (rows, columns) that point forward (down, or right in the same row), in raster order.
pub(super) type Offsets = Vec<(usize, isize)>;

/// Smaller parts are kept in compressed rows.
const LEAST_CROP: usize = 4096;

/// How many pixels of its box a part may leave empty, per vertex.
const MOST_EMPTY: usize = 5;

/// What counts as near.
const NEAR: usize = 2;

#[derive(Debug, Clone)]
pub(super) struct Stencil {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) offsets: Offsets,
    /// `weights[(row * offsets.len() + offset) * width + column]`
    pub(super) weights: Vec<f32>,
    /// Which pixels are vertices; `None` when all are.
    pub(super) cells: Option<Cells>,
}

/// The vertices among the pixels of a box: a part of an image.
#[derive(Debug, Clone)]
pub(super) struct Cells {
    /// The pixel of each vertex, increasing.
    pub(super) pixels: Vec<u32>,
    /// The vertex of each pixel; pixels that are none have no edges.
    pub(super) vertices: Vec<u32>,
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

/// The root of a tree of a union-find, with path halving.
fn root(parent: &mut [u32], mut v: u32) -> u32 {
    while parent[v as usize] != v {
        let above = parent[parent[v as usize] as usize];
        parent[v as usize] = above;
        v = above;
    }
    v
}

impl Stencil {
    #[inline]
    pub(super) fn index(&self, row: usize, offset: usize, column: usize) -> usize {
        (row * self.offsets.len() + offset) * self.width + column
    }

    /// How many vertices.
    pub(super) fn n_vertices(&self) -> usize {
        self.cells.as_ref().map_or(self.height * self.width, |cells| cells.pixels.len())
    }

    #[inline]
    fn pixel(&self, vertex: usize) -> usize {
        self.cells.as_ref().map_or(vertex, |cells| cells.pixels[vertex] as usize)
    }

    #[inline]
    fn vertex(&self, pixel: usize) -> usize {
        self.cells.as_ref().map_or(pixel, |cells| cells.vertices[pixel] as usize)
    }

    /// Puts one value per vertex where its pixel is, times `scale`; other pixels are left as they are.
    pub(super) fn scatter<T: Real>(&self, x: &[T], scale: Option<&[T]>, out: &mut [T]) {
        match (&self.cells, scale) {
            (None, None) => out[..x.len()].copy_from_slice(x),
            (None, Some(scale)) => {
                out.iter_mut().zip(x).zip(scale).for_each(|((out, &x), &s)| *out = x * s);
            }
            (Some(cells), None) => cells.pixels.iter().zip(x).for_each(|(&p, &x)| out[p as usize] = x),
            (Some(cells), Some(scale)) => {
                cells.pixels.iter().zip(x).zip(scale).for_each(|((&p, &x), &s)| out[p as usize] = x * s);
            }
        }
    }

    /// Takes the values of the vertices from an image, times `scale`.
    pub(super) fn gather<T: Real>(&self, image: &[T], scale: Option<&[T]>, out: &mut [T]) {
        match (&self.cells, scale) {
            (None, None) => out.copy_from_slice(image),
            (None, Some(scale)) => {
                out.iter_mut().zip(image).zip(scale).for_each(|((out, &y), &s)| *out = y * s);
            }
            (Some(cells), None) => {
                out.iter_mut().zip(&cells.pixels).for_each(|(out, &p)| *out = image[p as usize])
            }
            (Some(cells), Some(scale)) => {
                out.iter_mut()
                    .zip(&cells.pixels)
                    .zip(scale)
                    .for_each(|((out, &p), &s)| *out = image[p as usize] * s);
            }
        }
    }

    pub(super) fn n_edges(&self) -> usize {
        self.weights.iter().filter(|&&w| w > 0.0).count()
    }

    #[inline]
    pub(super) fn for_each_neighbor(&self, vertex: usize, f: &mut impl FnMut(usize, f64)) {
        let pixel = self.pixel(vertex);
        let (r, c) = (pixel / self.width, pixel % self.width);
        // Backward neighbours come in increasing order when the forward offsets are walked from the last.
        for (o, &(dr, dc)) in self.offsets.iter().enumerate().rev() {
            let column = c as isize - dc;
            if dr <= r && column >= 0 && column < self.width as isize {
                let w = self.weights[self.index(r - dr, o, column as usize)];
                if w > 0.0 {
                    f(self.vertex((r - dr) * self.width + column as usize), f64::from(w));
                }
            }
        }
        for (o, &(dr, dc)) in self.offsets.iter().enumerate() {
            let w = self.weights[self.index(r, o, c)];
            if w > 0.0 {
                f(self.vertex((r + dr) * self.width + c.wrapping_add_signed(dc)), f64::from(w));
            }
        }
    }

    /// The heaviest edge of every vertex.
    pub(super) fn heaviest(&self) -> Vec<f32> {
        let width = self.width;
        let mut image = vec![0.0_f32; self.height * width];
        parallel::for_each_chunk(&mut image, width, |row, out| {
            for (o, &(dr, dc)) in self.offsets.iter().enumerate() {
                let columns = self.columns(dc);
                let shifted = columns.start.wrapping_add_signed(dc)..columns.end.wrapping_add_signed(dc);
                if row + dr < self.height {
                    let weights = &self.weights[self.index(row, o, 0)..][columns.clone()];
                    out[columns.clone()].iter_mut().zip(weights).for_each(|(m, w)| *m = m.max(*w));
                }
                if dr <= row {
                    let weights = &self.weights[self.index(row - dr, o, 0)..][columns];
                    out[shifted].iter_mut().zip(weights).for_each(|(m, w)| *m = m.max(*w));
                }
            }
        });
        let mut heaviest = vec![0.0; self.n_vertices()];
        self.gather(&image, None, &mut heaviest);
        heaviest
    }

    /// The components of the vertices, by union-find; most images are one piece by their nearest ties alone.
    pub(super) fn components(&self) -> Vec<u32> {
        let n = self.height * self.width;
        let mut parent: Vec<u32> = (0..n as u32).collect();
        let mut order: Vec<usize> = (0..self.offsets.len()).collect();
        order.sort_by_key(|&o| {
            let (dr, dc) = self.offsets[o];
            dr * dr + dc.unsigned_abs() * dc.unsigned_abs()
        });
        let mut left = self.n_vertices();
        for o in order {
            if left <= 1 {
                break;
            }
            let (dr, dc) = self.offsets[o];
            for row in 0..self.height.saturating_sub(dr) {
                let weights = &self.weights[self.index(row, o, 0)..][..self.width];
                for c in self.columns(dc).filter(|&c| weights[c] > 0.0) {
                    let a = root(&mut parent, (row * self.width + c) as u32);
                    let b = root(&mut parent, ((row + dr) * self.width + c.wrapping_add_signed(dc)) as u32);
                    parent[a.max(b) as usize] = a.min(b);
                    left -= usize::from(a != b);
                }
            }
        }
        (0..self.n_vertices()).map(|v| root(&mut parent, self.pixel(v) as u32)).collect()
    }

    /// The subgraph on some vertices in increasing order, cut out of the image; `None` when they lie so scattered
    /// that compressed rows take less memory.
    pub(super) fn cropped(&self, vertices: &[u32]) -> Option<Self> {
        let place = |v: u32| (self.pixel(v as usize) / self.width, self.pixel(v as usize) % self.width);
        let (first, last) = (place(*vertices.first()?).0, place(*vertices.last()?).0);
        let columns = vertices.iter().map(|&v| place(v).1);
        let (left, right) = columns.fold((usize::MAX, 0), |(l, r), c| (l.min(c), r.max(c)));
        let (height, width) = (last - first + 1, right - left + 1);
        if vertices.len() < LEAST_CROP || height * width > MOST_EMPTY * vertices.len() {
            return None;
        }
        let mut numbers = vec![u32::MAX; height * width];
        let mut pixels = Vec::with_capacity(vertices.len());
        for (new, &v) in vertices.iter().enumerate() {
            let (r, c) = place(v);
            let pixel = (r - first) * width + c - left;
            numbers[pixel] = new as u32;
            pixels.push(pixel as u32);
        }
        let mut weights = vec![0.0_f32; height * width * self.offsets.len()];
        parallel::for_each_chunk(&mut weights, width * self.offsets.len(), |r, part| {
            for (o, &(dr, dc)) in self.offsets.iter().enumerate().take_while(|(_, (dr, _))| r + dr < height) {
                let stored = &self.weights[self.index(first + r, o, left)..][..width];
                let start = (-dc).max(0) as usize;
                for c in start.min(width)..width.saturating_sub(dc.max(0) as usize) {
                    let other = (r + dr) * width + c.wrapping_add_signed(dc);
                    if numbers[r * width + c] != u32::MAX && numbers[other] != u32::MAX {
                        part[o * width + c] = stored[c];
                    }
                }
            }
        });
        let cells = Some(Cells { pixels, vertices: numbers });
        Some(Self { height, width, offsets: self.offsets.clone(), weights, cells })
    }

    /// Calls `f(j, w)` for the neighbours at most [`NEAR`] pixels away.
    #[inline]
    pub(super) fn for_each_near(&self, vertex: usize, f: &mut impl FnMut(usize, f64)) {
        let pixel = self.pixel(vertex);
        let (r, c) = (pixel / self.width, pixel % self.width);
        for (o, &(dr, dc)) in self.offsets.iter().enumerate() {
            if dr > NEAR {
                break;
            }
            if dc.unsigned_abs() > NEAR || dr * dr + dc.unsigned_abs() * dc.unsigned_abs() > NEAR * NEAR + 1 {
                continue;
            }
            let w = self.weights[self.index(r, o, c)];
            if w > 0.0 {
                f(self.vertex((r + dr) * self.width + c.wrapping_add_signed(dc)), f64::from(w));
            }
            let column = c as isize - dc;
            if dr <= r && column >= 0 && column < self.width as isize {
                let w = self.weights[self.index(r - dr, o, column as usize)];
                if w > 0.0 {
                    f(self.vertex((r - dr) * self.width + column as usize), f64::from(w));
                }
            }
        }
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
                        *w = (f(self.vertex(i), self.vertex(j), f64::from(*w)) as f32)
                            .clamp(f32::MIN_POSITIVE, f32::MAX);
                    }
                }
            }
        });
        Self {
            height: self.height,
            width: self.width,
            offsets: self.offsets.clone(),
            weights,
            cells: self.cells.clone(),
        }
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
