//! The shared currency: weighted undirected graphs.
//!
//! A [`Graph`] is checked once, when it is built, and trusted afterwards: weights are finite and not negative,
//! the matrix is symmetric, rows are sorted, edges of weight zero do not exist. Two storages stand behind one
//! face: compressed rows for any graph, and for pixel neighbourhoods a *stencil* that stores one weight per
//! pixel and offset and no index at all.
//!
//! **Self-loops** are kept apart: a loop counts once in the degree of its vertex (and so in the volume of a
//! part), and never in the Laplacian or in a cut.

mod balance;
mod build;
mod contract;
mod csr;
pub(crate) mod distances;
pub mod gallery;
mod half_stencil;
mod interleaved;
mod laplacian;
mod pixels;
mod planes;
mod product;
mod rank;
mod stencil;
mod symmetrize;
mod ties;
mod weights;

pub use balance::Balance;
pub(crate) use half_stencil::{HalfStencil, HalfWeights};
pub use laplacian::Laplacian;
pub use stencil::half_disc;
pub use symmetrize::Symmetrize;
pub(crate) use ties::Ties;
pub(crate) use weights::{PairWeights, Recipe};

use std::sync::{
    OnceLock,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use crate::{labels::Labels, parallel, sets::DisjointSets};
use csr::Csr;
use stencil::Stencil;

/// How many rows one block of a parallel loop over edges takes.
const ROW_BLOCK: usize = 256;

/// A weighted undirected graph.
///
/// ```
/// use ccbcut::Graph;
/// let triangle = Graph::from_edges(3, &[(0, 1, 1.0), (1, 2, 2.0), (2, 0, 0.5)])?;
/// assert_eq!(triangle.n_edges(), 3);
/// assert_eq!(triangle.degrees(), &[1.5, 3.0, 2.5]);
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Graph {
    storage: Storage,
    /// Row sums, self-loops counted once; found when first asked for.
    degrees: OnceLock<Vec<f64>>,
    /// Empty when there is none.
    self_loops: Vec<f64>,
    n_edges: usize,
    /// The column of each vertex, where the vertices stand in the rows of a grid; empty where that is not known.
    columns: Vec<u32>,
}

#[derive(Debug, Clone)]
enum Storage {
    Sparse(Csr),
    Stencil(Stencil),
}

impl Graph {
    /// How many vertices.
    pub fn n_vertices(&self) -> usize {
        match &self.storage {
            Storage::Sparse(csr) => csr.n_rows(),
            Storage::Stencil(stencil) => stencil.n_vertices(),
        }
    }

    /// How many edges, each counted once, self-loops and edges of weight zero not counted.
    pub fn n_edges(&self) -> usize {
        self.n_edges
    }

    /// d: the row sums of the weight matrix, self-loops counted once.
    pub fn degrees(&self) -> &[f64] {
        parallel::once(&self.degrees, || match &self.storage {
            Storage::Sparse(csr) => csr.sum_rows(&self.self_loops),
            Storage::Stencil(stencil) => pixels::row_sums(stencil).0,
        })
        .as_slice()
    }

    /// The weight of the self-loop at a vertex.
    pub fn self_loop(&self, vertex: usize) -> f64 {
        self.self_loops.get(vertex).copied().unwrap_or(0.0)
    }

    /// Whether any vertex has a self-loop.
    pub fn has_self_loops(&self) -> bool {
        !self.self_loops.is_empty()
    }

    /// The same graph with its self-loops dropped (degrees change, cuts do not).
    #[must_use]
    pub fn without_self_loops(self) -> Self {
        if self.has_self_loops() {
            return Self::from_storage(self.storage, Vec::new()).with_columns(self.columns);
        }
        self
    }

    /// Height and width when the vertices are the pixels of an image, stored by offset.
    pub fn grid_shape(&self) -> Option<(usize, usize)> {
        match &self.storage {
            Storage::Stencil(stencil) if stencil.cells.is_none() => Some((stencil.height, stencil.width)),
            _ => None,
        }
    }

    /// Says in which column of a grid each vertex stands, the vertices being numbered row by row. It changes no result: elimination
    /// may go across the rows where that is less work.
    pub(crate) fn with_columns(mut self, columns: Vec<u32>) -> Self {
        debug_assert!(columns.is_empty() || columns.len() == self.n_vertices());
        self.columns = columns;
        self
    }

    /// The column of each vertex in a grid; empty where that is not known.
    pub(crate) fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Row offsets and neighbours, where the graph is stored by rows.
    pub(crate) fn compressed_rows(&self) -> Option<(&[usize], &[u32])> {
        match &self.storage {
            Storage::Sparse(csr) => Some((&csr.offsets, &csr.targets)),
            Storage::Stencil(_) => None,
        }
    }

    /// The neighbours of a vertex and the weights to them, where they are stored by rows.
    pub(crate) fn row(&self, vertex: usize) -> Option<(&[u32], &[f64])> {
        match &self.storage {
            Storage::Sparse(csr) => Some(csr.row(vertex)),
            Storage::Stencil(_) => None,
        }
    }

    /// Calls `f(j, w_ij)` for each neighbour j ≠ i of a vertex, in increasing order of j.
    #[inline]
    pub fn for_each_neighbor(&self, vertex: usize, mut f: impl FnMut(usize, f64)) {
        match &self.storage {
            Storage::Sparse(csr) => csr.for_each_neighbor(vertex, &mut f),
            Storage::Stencil(stencil) => stencil.for_each_neighbor(vertex, &mut f),
        }
    }

    /// Calls `f(j, w_ij)` for the close neighbours of a vertex: in a stencil those a few pixels away, in compressed
    /// rows all of them.
    #[inline]
    pub(crate) fn for_each_near(&self, vertex: usize, mut f: impl FnMut(usize, f64)) {
        match &self.storage {
            Storage::Sparse(csr) => csr.for_each_neighbor(vertex, &mut f),
            Storage::Stencil(stencil) => stencil.for_each_near(vertex, &mut f),
        }
    }

    /// How many neighbours a vertex has.
    pub fn n_neighbors(&self, vertex: usize) -> usize {
        match &self.storage {
            Storage::Sparse(csr) => csr.row(vertex).0.len(),
            Storage::Stencil(_) => {
                let mut count = 0;
                self.for_each_neighbor(vertex, |_, _| count += 1);
                count
            }
        }
    }

    /// Calls `f(i, j, w_ij)` for each edge once, i < j, ordered by i and then j.
    pub fn for_each_edge(&self, mut f: impl FnMut(usize, usize, f64)) {
        for i in 0..self.n_vertices() {
            self.for_each_neighbor(i, |j, w| {
                if j > i {
                    f(i, j, w);
                }
            });
        }
    }

    /// Σ f(i, j, w_ij) over the edges, each counted once; the same bytes for every number of threads.
    pub fn sum_edges(&self, f: impl Fn(usize, usize, f64) -> f64 + Sync + Send) -> f64 {
        match &self.storage {
            Storage::Stencil(stencil) => parallel::sum_blocks(stencil.height, 1, |rows| {
                let mut total = 0.0;
                stencil.for_each_edge_of(rows, &mut |i, j, w| total += f(i, j, w));
                total
            }),
            Storage::Sparse(_) => parallel::sum_blocks(self.n_vertices(), ROW_BLOCK, |rows| {
                let mut total = 0.0;
                for i in rows {
                    self.for_each_neighbor(i, |j, w| {
                        if j > i {
                            total += f(i, j, w);
                        }
                    });
                }
                total
            }),
        }
    }

    /// The values f(i, j, w_ij) over the edges, each once, i < j, ordered by i and then j.
    pub fn map_edges<T: Send>(&self, f: impl Fn(usize, usize, f64) -> T + Sync + Send) -> Vec<T> {
        let n = self.n_vertices();
        let blocks = parallel::map(n.div_ceil(ROW_BLOCK), |b| {
            let mut values = Vec::new();
            for i in b * ROW_BLOCK..((b + 1) * ROW_BLOCK).min(n) {
                self.for_each_neighbor(i, |j, w| {
                    if j > i {
                        values.push(f(i, j, w));
                    }
                });
            }
            values
        });
        let mut all = Vec::with_capacity(self.n_edges);
        blocks.into_iter().for_each(|block| all.extend(block));
        all
    }

    /// The graph with weights f(i, j, w_ij) on the same edges and no self-loops.
    ///
    /// `f` is called once per edge, i < j, and must return finite, positive values: it is the reweighting W∘Γ of the
    /// paper.
    #[must_use]
    pub(crate) fn map_weights(&self, f: impl Fn(usize, usize, f64) -> f64 + Sync + Send) -> Self {
        let storage = match &self.storage {
            Storage::Sparse(csr) => Storage::Sparse(csr.with_edge_weights(&self.map_edges(f), Vec::new())),
            Storage::Stencil(stencil) => Storage::Stencil(stencil.map_weights(f)),
        };
        Self::from_storage(storage, Vec::new())
    }

    /// L = D − W, or Π^-½ L Π^-½ with [`Laplacian::scaled`].
    pub fn laplacian(&self) -> Laplacian<'_> {
        Laplacian::new(self)
    }

    /// The connected components; a vertex without edges is a component of its own.
    ///
    /// # Complexity
    /// O(n + |E|) time.
    pub fn components(&self) -> Labels {
        const NONE: u32 = u32::MAX;
        if let Storage::Stencil(stencil) = &self.storage {
            return pixels::components(stencil);
        }
        if (1..self.n_vertices()).all(|i| self.nearest_earlier(i, 0.0).is_some()) {
            return Labels::from_raw(&vec![0; self.n_vertices()]);
        }
        let mut component = vec![NONE; self.n_vertices()];
        let mut stack = Vec::new();
        let mut next = 0;
        let mut left = self.n_vertices();
        for start in 0..self.n_vertices() {
            if component[start] != NONE {
                continue;
            }
            component[start] = next;
            left -= 1;
            stack.push(start);
            while let Some(i) = stack.pop() {
                // Once every vertex has its component the other edges tell nothing new.
                if left == 0 {
                    break;
                }
                self.for_each_neighbor(i, |j, _| {
                    if component[j] == NONE {
                        component[j] = next;
                        left -= 1;
                        stack.push(j);
                    }
                });
            }
            next += 1;
        }
        Labels::from_raw(&component)
    }

    /// The largest weight; zero without edges.
    pub(crate) fn largest_weight(&self) -> f64 {
        match &self.storage {
            Storage::Sparse(csr) => csr.largest_weight(),
            Storage::Stencil(stencil) => f64::from(largest(&stencil.weights)),
        }
    }

    /// The weight between two vertices; zero where there is no edge.
    #[cfg(test)]
    pub(crate) fn weight(&self, i: usize, j: usize) -> f64 {
        let mut weight = 0.0;
        self.for_each_neighbor(i, |k, w| {
            if k == j {
                weight = w;
            }
        });
        weight
    }

    /// Whether edges of at least this weight hold the graph together.
    ///
    /// Vertices that hang on one numbered before them, as nearly all do in a picture, form trees, and a look at hardly more
    /// than one edge of each finds these. Only where there are several are the other edges asked which of them they join.
    pub(crate) fn is_connected_above(&self, least: f64) -> bool {
        let (trees, n_trees) = self.trees_above(least);
        n_trees == 1 || self.joins_above(least, &trees, n_trees)
    }

    /// For each vertex the number of its tree, where each hangs on the nearest one before it that is tied to it by at least
    /// this weight; and how many trees there are.
    fn trees_above(&self, least: f64) -> (Vec<u32>, usize) {
        let mut trees = vec![0; self.n_vertices()];
        parallel::for_each_chunk(&mut trees, ROW_BLOCK, |block, part| {
            for (k, above) in part.iter_mut().enumerate() {
                let i = block * ROW_BLOCK + k;
                *above = self.nearest_earlier(i, least).unwrap_or(i) as u32;
            }
        });
        let mut n_trees = 0;
        for i in 0..trees.len() {
            let above = trees[i] as usize;
            trees[i] = if above == i { n_trees } else { trees[above] };
            n_trees += u32::from(above == i);
        }
        (trees, n_trees as usize)
    }

    /// Whether edges of at least this weight make one of all trees.
    fn joins_above(&self, least: f64, trees: &[u32], n_trees: usize) -> bool {
        /// Pieces that the rows are cut into: few, as each keeps a set for every tree.
        const PIECES: usize = 16;
        let n = self.n_vertices();
        let (rows, is_done) = (n.div_ceil(PIECES).max(1), AtomicBool::new(false));
        let joined = parallel::map(n.div_ceil(rows), |piece| {
            let (mut sets, mut joined) = (DisjointSets::new(n_trees), Vec::new());
            for i in piece * rows..n.min((piece + 1) * rows) {
                if is_done.load(Relaxed) {
                    break;
                }
                self.for_each_neighbor(i, |j, w| {
                    let (a, b) = (trees[i], trees[j]);
                    if j < i && w >= least && a != b && sets.join(a, b) {
                        joined.push((a, b));
                    }
                });
                if joined.len() + 1 == n_trees {
                    is_done.store(true, Relaxed);
                }
            }
            joined
        });
        let mut sets = DisjointSets::new(n_trees);
        joined.concat().into_iter().filter(|&(a, b)| sets.join(a, b)).count() + 1 == n_trees
    }

    /// The nearest vertex before this one that is tied to it by at least this weight.
    fn nearest_earlier(&self, vertex: usize, least: f64) -> Option<usize> {
        if let Storage::Sparse(csr) = &self.storage {
            let (targets, weights) = csr.row(vertex);
            let earlier = csr.n_earlier(vertex);
            return weights[..earlier].iter().rposition(|&w| w >= least).map(|at| targets[at] as usize);
        }
        let mut nearest = None;
        self.for_each_neighbor(vertex, |j, w| {
            if j < vertex && w >= least {
                nearest = Some(j);
            }
        });
        nearest
    }

    /// The largest weight at each vertex; zero without neighbours.
    pub(crate) fn row_maxima(&self) -> Vec<f64> {
        let mut maxima = vec![0.0; self.n_vertices()];
        parallel::for_each_chunk(&mut maxima, ROW_BLOCK, |block, part| {
            for (k, largest) in part.iter_mut().enumerate() {
                self.for_each_neighbor(block * ROW_BLOCK + k, |_, w| *largest = w.max(*largest));
            }
        });
        maxima
    }

    fn from_storage(storage: Storage, self_loops: Vec<f64>) -> Self {
        match storage {
            Storage::Sparse(csr) => {
                let n_edges = csr.targets.len() / 2;
                let degrees = OnceLock::new();
                Self { storage: Storage::Sparse(csr), degrees, self_loops, n_edges, columns: Vec::new() }
            }
            Storage::Stencil(stencil) => {
                let (degrees, n_edges) = pixels::row_sums(&stencil);
                let storage = Storage::Stencil(stencil);
                Self { storage, degrees: degrees.into(), self_loops, n_edges, columns: Vec::new() }
            }
        }
    }
}

/// The largest of some numbers that are not negative, 32 at a time: one after the other, each comparison would wait for
/// the one before.
fn largest<T: Copy + Default + PartialOrd>(values: &[T]) -> T {
    let larger = |a: T, b: T| if b > a { b } else { a };
    crate::simd::widest(
        #[inline(always)]
        || {
            let (chunks, rest) = values.as_chunks::<32>();
            let mut most = [T::default(); 32];
            for chunk in chunks {
                for l in 0..32 {
                    most[l] = larger(most[l], chunk[l]);
                }
            }
            most.iter().chain(rest).copied().fold(T::default(), larger)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_is_found_wherever_it_stands() {
        for n in [1, 31, 32, 33, 64, 100] {
            for at in 0..n {
                let values: Vec<f32> = (0..n).map(|i| if i == at { 7.5 } else { i as f32 / 64.0 }).collect();
                assert_eq!(largest(&values), 7.5, "{at} of {n}");
            }
        }
        assert_eq!(largest::<f64>(&[]), 0.0);
    }

    /// Against the components of the graph without its light edges.
    #[test]
    fn heavy_edges_hold_a_graph_together_or_not() {
        // Vertex 1 hangs on vertex 2 only, and two trees meet behind both.
        let late = Graph::from_edges(3, &[(0, 2, 1.0), (1, 2, 1.0)]).unwrap();
        let twice = Graph::from_edges(5, &[(0, 2, 1.0), (1, 3, 1.0), (2, 4, 1.0), (3, 4, 0.5)]).unwrap();
        let stencil =
            Graph::from_stencil(5, 6, half_disc(1.0), |i, j| ((3 * i + j) % 4) as f32 / 4.0).unwrap();
        let mut graphs = vec![late, twice, stencil, gallery::path(9), gallery::star(7), gallery::path(1)];
        graphs.extend((0..60).map(|seed| gallery::random(14, 0.1 + 0.002 * seed as f64, seed)));
        let mut seen = [0, 0];
        for graph in &graphs {
            for least in [0.0, 0.2, 0.4, 0.6, 0.8] {
                let mut heavy = Vec::new();
                graph.for_each_edge(|i, j, w| {
                    if w >= least {
                        heavy.push((i as u32, j as u32, w));
                    }
                });
                let rest = Graph::from_edges(graph.n_vertices(), &heavy).unwrap();
                let mut reached = vec![false; rest.n_vertices()];
                let mut stack = vec![0];
                while let Some(i) = stack.pop() {
                    if !std::mem::replace(&mut reached[i], true) {
                        rest.for_each_neighbor(i, |j, _| stack.push(j));
                    }
                }
                let expected = reached.iter().all(|&is| is);
                assert_eq!(graph.is_connected_above(least), expected, "{heavy:?}");
                assert_eq!(rest.components().n_segments() == 1, expected, "{heavy:?}");
                seen[usize::from(expected)] += 1;
            }
        }
        assert!(seen.iter().all(|&count| count > 20), "{seen:?}");
    }
}
