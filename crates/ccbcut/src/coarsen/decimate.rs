//! One level down: C = A[:, K], d = C1 + 𝜖, B = diag(1/d) C, A′ = CᵀB.
//!
//! Pixel graphs go through [`product`], along rows of the grid. For any other graph, column i of C is row i of A, and
//! A′ is gathered one kept pixel at a time: for each fine pixel p tied to i, the
//! row of p in C is added with the factor c_pi/d_p to a window of sums that starts at i. Only the columns j ≥ i
//! are summed and then copied across the diagonal, which makes A′ symmetric to the last bit.

use std::borrow::Cow;

use crate::{
    error::Result,
    graph::{Graph, HalfStencil},
    parallel,
};

use super::{
    Prolongation, check_grid,
    half::HalfMatrix,
    planes::{Bands, Entry, Planes},
    product,
    prolong::{NOT_KEPT, Runs},
};

/// 𝜖: keeps rows of zeros from being divided by zero.
const EPSILON: f64 = f64::EPSILON;

/// Kept pixels per block of the parallel product.
const BLOCK: usize = 64;

/// One decimation: the graph of the kept pixels and the way back from them.
#[derive(Debug, Clone)]
pub struct Level {
    /// Rows of the coarse grid.
    pub height: usize,
    /// Columns of the coarse grid.
    pub width: usize,
    /// A′; its vertices are the kept pixels, row by row.
    pub graph: Graph,
    /// B.
    pub prolongation: Prolongation,
}

/// Keeps the pixels in odd rows and odd columns of a height × width grid numbered row by row.
///
/// Self-loops of the graph take part; those of the result are the diagonal of A′.
///
/// # Errors
/// [`Error::ShapeMismatch`](crate::Error::ShapeMismatch) for a grid that is not the graph's.
///
/// # Complexity
/// See [`Hierarchy::build`](super::Hierarchy::build). The window of sums reaches to the farthest kept pixel with
/// which one shares a neighbour: 2R rows of the fine grid in a pixel graph of radius R, all of them in a graph
/// that ties far corners, where reading the windows takes O(n²) time.
pub fn decimate(graph: &Graph, height: usize, width: usize) -> Result<Level> {
    check_grid(graph, height, width)?;
    let (next, prolongation) = Matrix::Graph(Cow::Borrowed(graph)).decimated(height, width, false);
    Ok(Level { height: height / 2, width: width / 2, graph: next.into_graph().into_owned(), prolongation })
}

/// The weights of one level.
#[derive(Debug, Clone)]
pub(super) enum Matrix<'g> {
    Graph(Cow<'g, Graph>),
    /// What has been decimated stays in the form that the next level works on.
    Half(HalfMatrix),
}

impl<'g> Matrix<'g> {
    /// One level down, on a grid that fits. With `goes_on` the result is good for decimating it once more, and for
    /// nothing else.
    pub(super) fn decimated(&self, height: usize, width: usize, goes_on: bool) -> (Self, Prolongation) {
        let graph = match self {
            Self::Half(half) => return by_planes(&half.view(), goes_on),
            Self::Graph(graph) => graph.as_ref(),
        };
        if let Some(half) = graph.half_stencil() {
            if is_compact(half.offsets) {
                return by_planes(&half, goes_on);
            }
        } else if let Some(half) = HalfMatrix::of_graph(graph, height, width)
            && is_compact(&half.offsets)
        {
            return by_planes(&half.view(), goes_on);
        }
        let (next, prolongation) = by_rows(graph, height, width);
        (Self::Graph(Cow::Owned(next)), prolongation)
    }

    pub(super) fn into_graph(self) -> Cow<'g, Graph> {
        match self {
            Self::Graph(graph) => graph,
            Self::Half(half) => Cow::Owned(half.into_graph()),
        }
    }
}

/// Whether planes without gaps take little more room than the offsets.
fn is_compact(offsets: &[(usize, isize)]) -> bool {
    Bands::new(offsets).n_planes <= 8 * (offsets.len() + 1)
}

/// Along rows of the grid.
fn by_planes<'g, T: Entry>(half: &HalfStencil<'_, T>, goes_on: bool) -> (Matrix<'g>, Prolongation)
where
    Planes<T>: Into<Prolongation>,
{
    let planes = Planes::gather(half);
    (Matrix::Half(product::product(&planes, goes_on)), planes.into())
}

/// One kept pixel after the other, for any graph.
fn by_rows(graph: &Graph, height: usize, width: usize) -> (Graph, Prolongation) {
    let (coarse_height, coarse_width) = (height / 2, width / 2);
    let fine_of: Vec<u32> = (0..coarse_height)
        .flat_map(|r| (0..coarse_width).map(move |c| ((2 * r + 1) * width + 2 * c + 1) as u32))
        .collect();
    let mut kept = vec![NOT_KEPT; height * width];
    for (i, &p) in fine_of.iter().enumerate() {
        kept[p as usize] = i as u32;
    }
    let mut columns = Runs::columns_of(graph, &kept, fine_of.len());
    let inverse: Vec<f64> = parallel::map(height * width, |p| {
        let sum: f64 = columns.runs(p).flat_map(|(_, weights)| weights).sum();
        1.0 / (sum + EPSILON)
    });
    let coarse = gathered(graph, &fine_of, &columns, &inverse);
    columns.scale_rows(&inverse);
    (coarse, columns.into())
}

/// CᵀB = Cᵀ diag(1/d) C.
fn gathered(graph: &Graph, fine_of: &[u32], columns: &Runs, inverse: &[f64]) -> Graph {
    let n = fine_of.len();
    let blocks = parallel::map(n.div_ceil(BLOCK), |b| {
        let mut rows = UpperRows::default();
        let mut sums = Window::default();
        for i in b * BLOCK..((b + 1) * BLOCK).min(n) {
            let own = fine_of[i] as usize;
            sums.first = i;
            let loop_weight = graph.self_loop(own);
            if loop_weight > 0.0 {
                sums.add(columns, own, loop_weight * inverse[own]);
            }
            graph.for_each_neighbor(own, |p, w| sums.add(columns, p, w * inverse[p]));
            sums.drain_into(&mut rows);
        }
        rows
    });
    mirrored(n, blocks)
}

/// Sums for the columns `first..` of one row of A′.
#[derive(Default)]
struct Window {
    first: usize,
    /// How many columns from the first on may differ from zero.
    len: usize,
    /// Zero from `len` on.
    sums: Vec<f64>,
}

impl Window {
    /// Adds `factor` times row `p` of the matrix.
    #[inline]
    fn add(&mut self, columns: &Runs, p: usize, factor: f64) {
        for (kept, weights) in columns.runs(p).rev() {
            if kept.end <= self.first {
                break;
            }
            let skip = self.first.saturating_sub(kept.start);
            let (start, end) = (kept.start + skip - self.first, kept.end - self.first);
            if end > self.len {
                self.len = end;
                self.sums.resize(self.sums.len().max(end), 0.0);
            }
            for (sum, &w) in self.sums[start..end].iter_mut().zip(&weights[skip..]) {
                *sum += factor * w;
            }
        }
    }

    /// Moves what was summed to the end of `rows`, and clears the window.
    fn drain_into(&mut self, rows: &mut UpperRows) {
        let sums = &mut self.sums[..self.len];
        rows.diagonal.push(sums.first().copied().unwrap_or(0.0));
        for (k, sum) in sums.iter().enumerate().skip(1) {
            if *sum > 0.0 {
                rows.columns.push((self.first + k) as u32);
                rows.weights.push(*sum);
            }
        }
        rows.ends.push(rows.columns.len());
        sums.fill(0.0);
        self.len = 0;
    }
}

/// Consecutive rows of A′ from the diagonal on.
#[derive(Default)]
struct UpperRows {
    diagonal: Vec<f64>,
    /// Where each row ends in `columns` and `weights`.
    ends: Vec<usize>,
    columns: Vec<u32>,
    weights: Vec<f64>,
}

impl UpperRows {
    /// The entries right of the diagonal of each row.
    fn rows(&self) -> impl Iterator<Item = (&[u32], &[f64])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| (&self.columns[start..end], &self.weights[start..end]))
    }
}

/// The symmetric matrix of an upper triangle.
fn mirrored(n: usize, blocks: Vec<UpperRows>) -> Graph {
    let mut offsets = vec![0_usize; n + 1];
    for (i, (columns, _)) in blocks.iter().flat_map(UpperRows::rows).enumerate() {
        offsets[i + 1] += columns.len();
        for &j in columns {
            offsets[j as usize + 1] += 1;
        }
    }
    for i in 0..n {
        offsets[i + 1] += offsets[i];
    }
    // Rows come in order, so the part left of the diagonal of a row is complete and sorted when its turn comes.
    let mut next = offsets.clone();
    let (mut targets, mut weights) = (vec![0_u32; offsets[n]], vec![0.0_f64; offsets[n]]);
    for (i, (columns, values)) in blocks.iter().flat_map(UpperRows::rows).enumerate() {
        targets[next[i]..offsets[i + 1]].copy_from_slice(columns);
        weights[next[i]..offsets[i + 1]].copy_from_slice(values);
        for (&j, &w) in columns.iter().zip(values) {
            let place = &mut next[j as usize];
            targets[*place] = i as u32;
            weights[*place] = w;
            *place += 1;
        }
    }
    let mut diagonal: Vec<f64> = blocks.into_iter().flat_map(|block| block.diagonal).collect();
    if diagonal.iter().all(|&w| w == 0.0) {
        diagonal.clear();
    }
    Graph::from_sorted_csr(offsets, targets, weights, diagonal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{coarsen::Highest, error::Error, graph::half_disc, random::Random};

    /// A as a dense matrix, row-major.
    fn dense(graph: &Graph) -> Vec<f64> {
        let n = graph.n_vertices();
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            a[i * n + i] = graph.self_loop(i);
            graph.for_each_neighbor(i, |j, w| a[i * n + j] = w);
        }
        a
    }

    /// The formulas of the module, on dense matrices: B and A′.
    fn naive(graph: &Graph, height: usize, width: usize) -> (Vec<f64>, Vec<f64>) {
        let (n, a) = (height * width, dense(graph));
        let kept: Vec<usize> = (0..n).filter(|p| p / width % 2 == 1 && p % width % 2 == 1).collect();
        let m = kept.len();
        let mut b = vec![0.0; n * m];
        let mut coarse = vec![0.0; m * m];
        for p in 0..n {
            let c: Vec<f64> = kept.iter().map(|&q| a[p * n + q]).collect();
            let d = c.iter().sum::<f64>() + 2.0_f64.powi(-52);
            for i in 0..m {
                b[p * m + i] = c[i] / d;
                for j in 0..m {
                    coarse[i * m + j] += c[i] * c[j] / d;
                }
            }
        }
        (b, coarse)
    }

    fn random_grid(height: usize, width: usize, density: f64, loops: bool, seed: u64) -> Graph {
        let mut random = Random::new(seed);
        let mut edges = Vec::new();
        for p in 0..height * width {
            if loops {
                edges.push((p as u32, p as u32, random.uniform()));
            }
            for (dr, dc) in half_disc(2.0) {
                let (r, c) = (p / width + dr, (p % width).wrapping_add_signed(dc));
                if r < height && c < width && random.uniform() < density {
                    edges.push((p as u32, (r * width + c) as u32, random.uniform()));
                }
            }
        }
        Graph::from_edges(height * width, &edges).unwrap()
    }

    fn assert_like_naive(graph: &Graph, height: usize, width: usize) {
        let level = decimate(graph, height, width).unwrap();
        let (b, coarse) = naive(graph, height, width);
        let m = level.graph.n_vertices();
        assert_eq!((level.height, level.width), (height / 2, width / 2));
        let a = dense(&level.graph);
        for (got, want) in a.iter().zip(&coarse) {
            assert!((got - want).abs() <= 1e-14 * (1.0 + want), "{got} {want}");
        }
        for i in 0..m {
            let row: f64 = a[i * m..(i + 1) * m].iter().sum();
            assert!((level.graph.degrees()[i] - row).abs() < 1e-12);
            (0..m).for_each(|j| assert_eq!(a[i * m + j].to_bits(), a[j * m + i].to_bits()));
        }
        let y: Vec<f64> = (0..3 * m).map(|k| (k as f64 * 0.37).sin()).collect();
        let fine = level.prolongation.apply(&y, 3).unwrap();
        for p in 0..height * width {
            for k in 0..3 {
                let want: f64 = (0..m).map(|i| b[p * m + i] * y[3 * i + k]).sum();
                assert!((fine[3 * p + k] - want).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn decimation_is_the_dense_product() {
        for loops in [false, true] {
            for density in [1.0, 0.6, 0.1] {
                for (height, width) in [(7, 9), (8, 6), (2, 2), (2, 11), (13, 3)] {
                    assert_like_naive(&random_grid(height, width, density, loops, 4), height, width);
                }
            }
        }
    }

    #[test]
    fn edges_across_the_whole_image_are_followed() {
        let mut random = Random::new(8);
        let edges: Vec<_> =
            (0..200).map(|_| (random.below(80) as u32, random.below(80) as u32, random.uniform())).collect();
        assert_like_naive(&Graph::from_edges(80, &edges).unwrap(), 8, 10);
    }

    #[test]
    fn a_stencil_gives_the_same_as_its_compressed_rows() {
        let weight = |i: usize, j: usize| ((i * 5 + j) % 7) as f32;
        let stencil = Graph::from_stencil(20, 31, half_disc(4.0), weight).unwrap();
        assert_like_naive(&stencil, 20, 31);
        let everything: Vec<u32> = (0..620).collect();
        let sparse = decimate(&stencil.induced(&everything), 20, 31).unwrap();
        let level = decimate(&stencil, 20, 31).unwrap();
        assert_eq!(dense(&sparse.graph), dense(&level.graph));
    }

    /// Both ways down, whatever [`decimate`] would choose.
    fn assert_ways_agree(graph: &Graph, height: usize, width: usize) {
        let half = HalfMatrix::of_graph(graph, height, width);
        let (Matrix::Half(next), up) = (match graph.half_stencil() {
            Some(half) => by_planes(&half, false),
            None => by_planes(&half.as_ref().unwrap().view(), false),
        }) else {
            panic!("planes give planes")
        };
        let (graph, slow_up) = by_rows(graph, height, width);
        let next = next.into_graph();
        let (a, b) = (dense(&next), dense(&graph));
        assert_eq!(next.n_edges(), graph.n_edges(), "{height} × {width}");
        for (a, b) in a.iter().zip(&b) {
            assert!((a - b).abs() <= 1e-14 * (1.0 + b), "{height} × {width}: {a} {b}");
        }
        assert_eq!((up.n_fine(), up.n_coarse()), (slow_up.n_fine(), slow_up.n_coarse()));
        assert_eq!(up.n_entries(), slow_up.n_entries());
        for columns in [1, 3, 4, 8, 13, 16, 17, 31, 43] {
            let y: Vec<f64> = (0..columns * up.n_coarse()).map(|k| (k as f64 * 0.61).sin()).collect();
            let (a, b) = (up.apply(&y, columns).unwrap(), slow_up.apply(&y, columns).unwrap());
            assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-14), "{height} × {width}, {columns}");
            for (up, fine) in [(&up, a), (&slow_up, b)] {
                assert_highest(up, &y, &fine, columns);
            }
        }
    }

    /// What is raised is the largest entry of each row of B Y, the first of several, if it exceeds what was there.
    fn assert_highest(up: &Prolongation, y: &[f64], fine: &[f64], columns: usize) {
        let known = |p: usize| Highest { value: 0.3 * (p % 3) as f64, column: 999 };
        let mut found: Vec<Highest> = (0..up.n_fine()).map(known).collect();
        up.raise(y, columns, 5, &mut found).unwrap();
        for (p, (found, row)) in found.iter().zip(fine.chunks_exact(columns)).enumerate() {
            let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let expected = match row.iter().position(|&v| v == largest) {
                Some(column) if largest > known(p).value => {
                    Highest { value: largest, column: 5 + column as u32 }
                }
                _ => known(p),
            };
            assert_eq!(*found, expected, "pixel {p}");
        }
        assert!(up.raise(y, columns + 1, 0, &mut found).is_err() || y.is_empty());
        found.push(known(0));
        assert!(matches!(up.raise(y, columns, 0, &mut found), Err(Error::ShapeMismatch { .. })));
    }

    #[test]
    fn planes_and_rows_give_the_same() {
        // Around the lengths of vectors, of strips and of bands, and radii beyond the image.
        let shapes = [(1, 1), (1, 9), (9, 1), (2, 2), (3, 2), (2, 3), (5, 31), (4, 32), (3, 33), (7, 79)];
        let tall = [(6, 80), (5, 81), (4, 83), (59, 4), (60, 5), (62, 6), (3, 163), (64, 85), (3, 98)];
        for (height, width) in shapes.into_iter().chain(tall) {
            for radius in [1.0, 1.5, 4.0, 12.0] {
                let weight = |i: usize, j: usize| ((i * 5 + j * 3) % 7) as f32 / 7.0;
                let stencil = Graph::from_stencil(height, width, half_disc(radius), weight).unwrap();
                assert_ways_agree(&stencil, height, width);
            }
        }
    }

    #[test]
    fn planes_carry_loops_and_64_bits() {
        for (height, width) in [(2, 2), (7, 9), (12, 41)] {
            assert_ways_agree(&random_grid(height, width, 0.9, true, 6), height, width);
        }
    }

    #[test]
    fn offsets_with_gaps_are_filled_and_scattered_ones_left_to_the_rows() {
        let weight = |i: usize, j: usize| 0.5 + ((i + 3 * j) % 5) as f32;
        let gaps = vec![(0, 2), (1, -3), (1, 4), (4, 0)];
        let graph = Graph::from_stencil(9, 14, gaps, weight).unwrap();
        assert_ways_agree(&graph, 9, 14);
        assert_like_naive(&graph, 9, 14);
        let scattered = vec![(0, 1), (0, 100)];
        assert!(!is_compact(&scattered));
        let graph = Graph::from_stencil(2, 120, scattered, weight).unwrap();
        assert_like_naive(&graph, 2, 120);
    }

    #[test]
    fn what_goes_on_is_enough_for_the_next_level() {
        let weight = |i: usize, j: usize| 0.1 + ((i * 5 + j * 3) % 7) as f32;
        for (height, width) in [(4, 4), (13, 90), (70, 22)] {
            let graph = Graph::from_stencil(height, width, half_disc(3.0), weight).unwrap();
            let once = decimate(&graph, height, width).unwrap();
            let twice = decimate(&once.graph, height / 2, width / 2).unwrap();
            let (next, _) = Matrix::Graph(Cow::Borrowed(&graph)).decimated(height, width, true);
            let (last, up) = next.decimated(height / 2, width / 2, false);
            assert_eq!(dense(&last.into_graph()), dense(&twice.graph));
            assert_eq!(up.n_entries(), twice.prolongation.n_entries());
        }
    }

    #[test]
    fn a_grid_without_odd_pixels_leaves_nothing() {
        let graph = Graph::from_stencil(1, 6, half_disc(1.0), |_, _| 1.0).unwrap();
        let level = decimate(&graph, 1, 6).unwrap();
        assert_eq!((level.graph.n_vertices(), level.prolongation.n_entries()), (0, 0));
        assert!(!level.graph.has_self_loops());
        assert_eq!(level.prolongation.apply(&[], 2).unwrap(), vec![0.0; 12]);
        assert_eq!(level.prolongation.apply(&[], 0).unwrap(), vec![]);
    }
}
