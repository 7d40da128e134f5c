//! ROOM 3: graph → smaller graph, and the way back.
//!
//! The pyramid of DNCuts. A level keeps the pixels in odd rows and odd columns (counted from 0), a quarter of
//! them. With K the kept pixels, A the weight matrix (self-loops on its diagonal) and 𝜖 = 2⁻⁵²:
//!
//! C = A[:, K], d = C1 + 𝜖, B = diag(1/d) C, A′ = CᵀB.
//!
//! A row of B says of which kept pixels a fine pixel is a mixture: *B* is the way back up ([`Prolongation`]), and
//! A′ is the graph of the kept pixels, tied through all fine pixels they share. A′ has a strong diagonal, kept as
//! self-loops: they count in the degrees, as in DNCuts, unless [`Hierarchy::without_self_loops`] drops them.
//!
//! # References
//! P. Arbeláez, J. Pont-Tuset, J. T. Barron, F. Marques, J. Malik, "Multiscale combinatorial grouping", CVPR
//! 2014, section 3 (DNCuts).

mod decimate;
mod half;
mod planes;
mod product;
mod prolong;

use std::borrow::Cow;

use decimate::Matrix;
pub use decimate::{Level, decimate};
pub use planes::Highest;
pub use prolong::Prolongation;

use crate::{
    error::{Error, Result},
    graph::Graph,
};

/// A pixel graph and its decimations.
///
/// Only the coarsest graph is kept: those between have done their duty once the next one exists, and they are
/// the largest objects around. At zero levels the coarsest graph is the one given, borrowed.
///
/// ```
/// use ccbcut::{Graph, coarsen::Hierarchy, graph::half_disc};
/// let graph = Graph::from_stencil(8, 12, half_disc(2.0), |_, _| 1.0)?;
/// let hierarchy = Hierarchy::build(&graph, 8, 12, 2, 1)?;
/// assert_eq!(hierarchy.coarse_shape(), (2, 3));
/// // Constants stay constant on the way up.
/// let fine = hierarchy.prolong(&[5.0; 6], 1)?;
/// assert!(fine.len() == 96 && fine.iter().all(|v| (v - 5.0).abs() < 1e-12));
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Hierarchy<'g> {
    fine_shape: (usize, usize),
    coarse_shape: (usize, usize),
    /// From the finest.
    prolongations: Vec<Prolongation>,
    coarsest: Cow<'g, Graph>,
}

impl<'g> Hierarchy<'g> {
    /// Decimates a graph whose vertices are the pixels of a height × width grid, numbered row by row.
    ///
    /// Stops early, before a level that would have no pixel or fewer than `min_vertices`;
    /// [`Hierarchy::n_levels`] says how many levels were made.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] for a grid that is not the graph's.
    ///
    /// # Complexity
    /// O(Σₚ mₚ²) multiplications for pixels with mₚ kept neighbours: about n (πR²/4)² at radius R, half of it
    /// saved by symmetry. The reach of the coarse graph, in its own pixels, is again about R.
    pub fn build(
        graph: &'g Graph,
        height: usize,
        width: usize,
        levels: usize,
        min_vertices: usize,
    ) -> Result<Self> {
        check_grid(graph, height, width)?;
        let (mut coarse_shape, mut prolongations) = ((height, width), Vec::new());
        let mut matrix = Matrix::Graph(Cow::Borrowed(graph));
        while prolongations.len() < levels {
            let (h, w) = coarse_shape;
            let is_enough = |(h, w): (usize, usize)| (h / 2) * (w / 2) >= min_vertices.max(1);
            if !is_enough(coarse_shape) {
                break;
            }
            coarse_shape = (h / 2, w / 2);
            let goes_on = prolongations.len() + 1 < levels && is_enough(coarse_shape);
            let (next, prolongation) = matrix.decimated(h, w, goes_on);
            prolongations.push(prolongation);
            matrix = next;
        }
        Ok(Self { fine_shape: (height, width), coarse_shape, prolongations, coarsest: matrix.into_graph() })
    }

    /// The same pyramid with the self-loops of the coarsest graph dropped, as the toolbox released by the paper's
    /// authors does before it splits in two again and again. The way up stays the same.
    #[must_use]
    pub fn without_self_loops(mut self) -> Self {
        if self.coarsest.has_self_loops() {
            self.coarsest = Cow::Owned(self.coarsest.into_owned().without_self_loops());
        }
        self
    }

    /// The same pyramid on its own: after one decimation or more nothing is copied.
    #[must_use]
    pub fn into_owned(self) -> Hierarchy<'static> {
        Hierarchy { coarsest: Cow::Owned(self.coarsest.into_owned()), ..self }
    }

    /// How many decimations were made.
    pub fn n_levels(&self) -> usize {
        self.prolongations.len()
    }

    /// The coarsest graph; its vertices are the pixels of the coarse grid, row by row.
    pub fn coarse_graph(&self) -> &Graph {
        &self.coarsest
    }

    /// Height and width of the coarse grid.
    pub fn coarse_shape(&self) -> (usize, usize) {
        self.coarse_shape
    }

    /// Height and width of the grid that was decimated.
    pub fn fine_shape(&self) -> (usize, usize) {
        self.fine_shape
    }

    /// B₁ B₂ … B_L Y: an embedding of the coarse pixels (row-major, `columns` values a pixel) on the fine grid.
    ///
    /// Nothing is orthonormalised or whitened. A pixel without a kept neighbour has an empty row in B and comes
    /// out as 0; in a connected graph of radius 2 or more there is none.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless `y` holds `columns` values per coarse pixel.
    pub fn prolong(&self, y: &[f64], columns: usize) -> Result<Vec<f64>> {
        Ok(self.prolong_by(&self.prolongations, y, columns)?.into_owned())
    }

    /// Of each fine pixel the largest entry of its row of B₁ B₂ … B_L Y, where it exceeds what is known; the columns count
    /// from `first` on. The rows themselves are not kept.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless `y` holds `columns` values per coarse pixel and `highest` one per fine pixel.
    pub fn raise(&self, y: &[f64], columns: usize, first: usize, highest: &mut [Highest]) -> Result<()> {
        let Some((last, others)) = self.prolongations.split_first() else {
            let y = self.prolong_by(&[], y, columns)?;
            let (what, expected, got) = ("the pixels", self.coarsest.n_vertices(), highest.len());
            if expected != got {
                return Err(Error::ShapeMismatch { what, expected, got });
            }
            let rows = highest.iter_mut().zip(y.chunks_exact(columns.max(1)));
            rows.for_each(|(highest, row)| highest.raise(first, row));
            return Ok(());
        };
        last.raise(&self.prolong_by(others, y, columns)?, columns, first, highest)
    }

    /// Up some levels, from the coarsest.
    fn prolong_by<'y>(
        &self,
        prolongations: &[Prolongation],
        y: &'y [f64],
        columns: usize,
    ) -> Result<Cow<'y, [f64]>> {
        let expected = self.coarsest.n_vertices() * columns;
        if y.len() != expected {
            return Err(Error::ShapeMismatch { what: "the coarse embedding", expected, got: y.len() });
        }
        let mut current = Cow::Borrowed(y);
        for prolongation in prolongations.iter().rev() {
            current = Cow::Owned(prolongation.apply(&current, columns)?);
        }
        Ok(current)
    }

    /// Labels of the coarse pixels enlarged to the fine grid, each fine pixel taking the nearest coarse one.
    ///
    /// Fine row i reads coarse row ⌊(i + ½) h/H⌋ (columns alike), which is what MATLAB's
    /// `imresize(…, 'nearest')` does when it is given the size.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless there is one label per coarse pixel.
    pub fn nearest(&self, labels: &[u32]) -> Result<Vec<u32>> {
        let expected = self.coarsest.n_vertices();
        if labels.len() != expected {
            return Err(Error::ShapeMismatch { what: "the coarse labels", expected, got: labels.len() });
        }
        let ((height, width), (h, w)) = (self.fine_shape, self.coarse_shape);
        let columns: Vec<usize> = (0..width).map(|c| nearest_index(c, width, w)).collect();
        let rows = (0..height).map(|r| &labels[nearest_index(r, height, h) * w..][..w]);
        Ok(rows.flat_map(|row| columns.iter().map(|&c| row[c])).collect())
    }
}

/// How often a grid can be halved until a side has no pixel left.
pub fn max_levels(height: usize, width: usize) -> usize {
    height.min(width).checked_ilog2().map_or(0, |log| log as usize)
}

/// ⌊(index + ½) coarse/fine⌋
fn nearest_index(index: usize, fine: usize, coarse: usize) -> usize {
    (2 * index + 1) * coarse / (2 * fine)
}

fn check_grid(graph: &Graph, height: usize, width: usize) -> Result<()> {
    let (expected, got) = (graph.n_vertices(), height.saturating_mul(width));
    if got != expected {
        return Err(Error::ShapeMismatch { what: "the pixel grid", expected, got });
    }
    match graph.grid_shape() {
        Some((expected, _)) if expected != height => {
            Err(Error::ShapeMismatch { what: "a column of the pixel grid", expected, got: height })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::half_disc;

    fn grid(height: usize, width: usize) -> Graph {
        let weight = |i: usize, j: usize| 0.1 + ((i * 7 + j * 13) % 11) as f32 / 10.0;
        Graph::from_stencil(height, width, half_disc(2.0), weight).unwrap()
    }

    #[test]
    fn no_level_borrows_the_graph() {
        let graph = grid(4, 5);
        let hierarchy = Hierarchy::build(&graph, 4, 5, 0, 1).unwrap();
        assert!(std::ptr::eq(hierarchy.coarse_graph(), &raw const graph));
        let y: Vec<f64> = (0..40).map(f64::from).collect();
        assert_eq!(hierarchy.prolong(&y, 2).unwrap(), y);
        let mut highest = vec![Highest { value: 1.0, column: 9 }; 20];
        hierarchy.raise(&y, 2, 3, &mut highest).unwrap();
        let expected = |p: u32| Highest { value: 2.0 * f64::from(p) + 1.0, column: 4 };
        assert_eq!(highest[0], Highest { value: 1.0, column: 9 });
        assert!((1..20).all(|p| highest[p as usize] == expected(p)));
        assert!(hierarchy.raise(&y, 3, 0, &mut highest).is_err());
        let labels: Vec<u32> = (0..20).collect();
        assert_eq!(hierarchy.nearest(&labels).unwrap(), labels);
    }

    #[test]
    fn levels_stop_when_the_grid_or_the_caller_says_so() {
        let graph = grid(9, 16);
        let build = |levels, min_vertices| Hierarchy::build(&graph, 9, 16, levels, min_vertices).unwrap();
        let shapes: Vec<_> = (0..6).map(|l| (build(l, 1).n_levels(), build(l, 1).coarse_shape())).collect();
        assert_eq!(shapes, [(0, (9, 16)), (1, (4, 8)), (2, (2, 4)), (3, (1, 2)), (3, (1, 2)), (3, (1, 2))]);
        assert_eq!(build(9, 8).coarse_shape(), (2, 4));
        assert_eq!(build(9, 9).coarse_shape(), (4, 8));
        assert_eq!(build(9, 1000).n_levels(), 0);
        assert_eq!(max_levels(9, 16), 3);
    }

    #[test]
    fn images_too_thin_to_halve_stay_as_they_are() {
        for (height, width) in [(1, 1), (1, 7), (7, 1)] {
            let graph = grid(height, width);
            let hierarchy = Hierarchy::build(&graph, height, width, 3, 1).unwrap();
            assert_eq!((hierarchy.n_levels(), hierarchy.coarse_shape()), (0, (height, width)));
            assert_eq!(max_levels(height, width), 0);
        }
        let graph = grid(2, 2);
        let hierarchy = Hierarchy::build(&graph, 2, 2, 3, 1).unwrap();
        assert_eq!((hierarchy.n_levels(), hierarchy.coarse_shape()), (1, (1, 1)));
        // Without self-loops the one kept pixel mixes its three neighbours and is itself a mixture of none.
        let fine = hierarchy.prolong(&[2.0], 1).unwrap();
        assert!(fine[..3].iter().all(|v| (v - 2.0).abs() < 1e-12));
        assert_eq!(fine[3], 0.0);
        assert_eq!(max_levels(0, 4), 0);
    }

    #[test]
    fn a_constant_image_stays_constant() {
        let graph = Graph::from_stencil(12, 12, half_disc(3.0), |_, _| 1.0).unwrap();
        let hierarchy = Hierarchy::build(&graph, 12, 12, 2, 1).unwrap();
        let fine = hierarchy.prolong(&[1.5; 9], 1).unwrap();
        assert!(fine.iter().all(|v| (v - 1.5).abs() < 1e-12));
        // The total weight onto kept pixels is carried down: 1ᵀA′1 = 1ᵀC1.
        let one = Hierarchy::build(&graph, 12, 12, 1, 1).unwrap();
        let kept = |i: usize| i / 12 % 2 == 1 && i % 2 == 1;
        let onto: f64 = (0..144).filter(|&i| kept(i)).map(|i| graph.degrees()[i]).sum();
        let total: f64 = one.coarse_graph().degrees().iter().sum();
        assert!((total - onto).abs() < 1e-9 * onto);
    }

    #[test]
    fn loops_can_be_dropped_at_the_bottom() {
        let graph = grid(8, 8);
        let hierarchy = Hierarchy::build(&graph, 8, 8, 1, 1).unwrap();
        assert!(hierarchy.coarse_graph().has_self_loops());
        let bare = hierarchy.clone().without_self_loops();
        assert!(!bare.coarse_graph().has_self_loops());
        assert_eq!(bare.coarse_graph().n_edges(), hierarchy.coarse_graph().n_edges());
    }

    #[test]
    fn nearest_enlarges_like_imresize() {
        let graph = grid(5, 9);
        let hierarchy = Hierarchy::build(&graph, 5, 9, 1, 1).unwrap();
        let labels: Vec<u32> = (0..8).collect();
        let enlarged = hierarchy.nearest(&labels).unwrap();
        let columns: Vec<u32> = enlarged[..9].to_vec();
        assert_eq!(columns, [0, 0, 1, 1, 2, 2, 2, 3, 3]);
        let rows: Vec<u32> = (0..5).map(|r| enlarged[9 * r]).collect();
        assert_eq!(rows, [0, 0, 4, 4, 4]);
    }

    #[test]
    fn sizes_that_do_not_fit_are_named() {
        let graph = grid(4, 6);
        assert!(matches!(Hierarchy::build(&graph, 4, 5, 1, 1), Err(Error::ShapeMismatch { .. })));
        assert!(matches!(Hierarchy::build(&graph, 6, 4, 1, 1), Err(Error::ShapeMismatch { .. })));
        let hierarchy = Hierarchy::build(&graph, 4, 6, 1, 1).unwrap();
        assert!(matches!(
            hierarchy.prolong(&[0.0; 7], 1),
            Err(Error::ShapeMismatch { expected: 6, got: 7, .. })
        ));
        assert!(matches!(hierarchy.nearest(&[0; 5]), Err(Error::ShapeMismatch { expected: 6, got: 5, .. })));
    }
}
