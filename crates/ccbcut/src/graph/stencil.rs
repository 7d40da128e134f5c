//! The pixel-neighbourhood graph, stored by offset.
//!
//! Every pixel is tied to the pixels at a fixed list of offsets. Only the half of the offsets that point forward
//! is stored, as 32-bit weights laid out `[row][offset][column]`: 158 weights a pixel at radius 10, no index. A
//! weight of zero means that there is no edge (the neighbour lies outside the image, or is too different).

use crate::parallel;

use super::{
    product::{Real, Write},
    weights::{self, Weights},
};

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
    pub(super) weights: Weights,
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
    pub(super) fn pixel(&self, vertex: usize) -> usize {
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

    /// Takes the values of the vertices from an image, times `scale`, to where `write` says.
    pub(super) fn gather<T: Real>(&self, image: &[T], scale: Option<&[T]>, out: &mut [T], write: Write) {
        for (v, out) in out.iter_mut().enumerate() {
            let value = image[self.pixel(v)];
            write.to(out, scale.map_or(value, |scale| value * scale[v]));
        }
    }

    /// The first vertex at a pixel or behind it.
    pub(super) fn first_vertex(&self, pixel: usize) -> usize {
        let among = |cells: &Cells| cells.pixels.partition_point(|&p| (p as usize) < pixel);
        self.cells.as_ref().map_or(pixel, among)
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
        Some(Self { height, width, offsets: self.offsets.clone(), weights: weights.into(), cells })
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
        let mut weights = self.weights.to_vec();
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
            weights: weights.into(),
            cells: self.cells.clone(),
        }
    }

    /// Calls `f(i, j, w)` for the edges from some rows of the image, as their weights lie in memory.
    #[inline]
    pub(super) fn for_each_edge_of(
        &self,
        rows: std::ops::Range<usize>,
        f: &mut impl FnMut(usize, usize, f64),
    ) {
        for row in rows {
            for (o, &(dr, dc)) in self.offsets.iter().enumerate() {
                let weights = &self.weights[self.index(row, o, 0)..][..self.width];
                let (own, other) = (row * self.width, ((row + dr) * self.width).wrapping_add_signed(dc));
                for c in self.columns(dc) {
                    if weights[c] > 0.0 {
                        let (i, j) = (self.vertex(own + c), self.vertex(other.wrapping_add(c)));
                        f(i, j, f64::from(weights[c]));
                    }
                }
            }
        }
    }

    /// The columns c of a row of the image for which c + dc lies inside.
    #[inline]
    pub(super) fn columns(&self, dc: isize) -> std::ops::Range<usize> {
        weights::columns(self.width, dc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part with a hole and a ragged edge: cut out of the image and in compressed rows it is the same graph.
    #[test]
    fn a_part_that_is_cut_out_has_the_edges_of_the_image() {
        use crate::{graph::Graph, linalg::LinearOperator};
        let (h, w) = (97, 83);
        let weight = |i: usize, j: usize| ((i * 31 + j * 17) % 7) as f32;
        let image = Graph::from_stencil(h, w, half_disc(3.0), weight).unwrap();
        let inside = |&p: &u32| {
            let (r, c) = (p as usize / w, p as usize % w);
            r > 4 && c > 6 && c < 80 && (r * c) % 11 != 3 && !((30..40).contains(&r) && (20..50).contains(&c))
        };
        let members: Vec<u32> = (0..(h * w) as u32).filter(inside).collect();
        let part = image.induced(&members);
        assert!(members.len() > LEAST_CROP && part.grid_shape().is_none());
        // The same, edge by edge, from the whole.
        let mut edges = Vec::new();
        let number = |v: usize| members.binary_search(&(v as u32)).ok().map(|i| i as u32);
        image.for_each_edge(|i, j, w| {
            if let (Some(i), Some(j)) = (number(i), number(j)) {
                edges.push((i, j, w));
            }
        });
        let sparse = Graph::from_edges(members.len(), &edges).unwrap();
        assert_eq!(part.n_edges(), sparse.n_edges());
        assert_eq!(part.degrees(), sparse.degrees());
        assert_eq!(part.components(), sparse.components());
        for v in 0..members.len() {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            part.for_each_neighbor(v, |j, w| a.push((j, w)));
            sparse.for_each_neighbor(v, |j, w| b.push((j, w)));
            assert_eq!(a, b);
        }
        let x: Vec<f64> = (0..3 * members.len()).map(|i| (i as f64 * 0.37).sin()).collect();
        let (mut y, mut z) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        part.laplacian().apply_block(&x, &mut y);
        sparse.laplacian().apply_block(&x, &mut z);
        assert!(y.iter().zip(&z).all(|(a, b)| (a - b).abs() < 1e-11));
        let value = |i: usize, j: usize, w: f64| w * (i as f64 - 3.0 * j as f64);
        let (sum, expected) = (part.sum_edges(value), sparse.sum_edges(value));
        assert!((sum - expected).abs() <= 1e-12 * expected.abs(), "{sum} {expected}");
        // And a part of the part.
        let half: Vec<u32> = (0..members.len() as u32).filter(|v| v % 5 != 0).collect();
        let (again, expected) = (part.induced(&half), sparse.induced(&half));
        assert_eq!((again.n_edges(), again.degrees()), (expected.n_edges(), expected.degrees()));
    }

    #[test]
    fn components_of_a_stencil_are_those_of_the_search() {
        use crate::graph::Graph;
        // Stripes of two columns that only a long offset joins, and a masked block.
        let weight = |i: usize, j: usize| {
            let colour = |p: usize| if (p / 20) % 9 < 3 && p % 20 > 14 { 9 } else { (p % 20) / 2 % 3 };
            f32::from(u8::from(colour(i) == colour(j)))
        };
        for radius in [1.0, 2.0, 5.0, 6.5] {
            let stencil = Graph::from_stencil(30, 20, half_disc(radius), weight).unwrap();
            let sparse = stencil.induced(&(0..600).collect::<Vec<u32>>());
            assert_eq!(stencil.components(), sparse.components());
        }
    }

    #[test]
    fn half_discs_have_the_expected_sizes() {
        assert_eq!(half_disc(0.0), vec![]);
        assert_eq!(half_disc(1.0), vec![(0, 1), (1, 0)]);
        assert_eq!(half_disc(1.5), vec![(0, 1), (1, -1), (1, 0), (1, 1)]);
        assert_eq!(half_disc(10.0).len(), 158);
    }
}
