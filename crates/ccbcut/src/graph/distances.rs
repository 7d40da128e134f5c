//! Squared distances between the ends of the edges: every quantity of a sweep is a function of these and the weights.

use std::{
    cell::{Cell, OnceCell},
    ops::Range,
};

use crate::{parallel, simd};

use super::{
    Graph, ROW_BLOCK, Storage,
    csr::{Csr, for_each_block},
    planes::Planes,
    rank::{self, Counts},
    ties::Ties,
};

/// Lanes of the sums over coordinates and over edges.
const LANES: usize = 8;

/// Rows whose values one task counts.
const COUNTED_ROWS: usize = 4096;

/// Values that are found at a time before they are looked at.
const VISITED: usize = 256;

/// ‖ŷᵢ − ŷⱼ‖₂² for the edges of a graph, for rows ŷ of coordinates.
///
/// For compressed rows they are computed once, when they are first needed, and kept, 8 bytes an edge; for a stencil, whose edges are many and whose
/// memory is precious, each use computes them anew.
pub(crate) struct Distances<'a> {
    n_edges: usize,
    edges: Edges<'a>,
}

enum Edges<'a> {
    Sparse(Sparse<'a>),
    Stencil(Planes<'a>),
    /// The parts of a graph, each of one height.
    Parts {
        ties: &'a Ties,
        squared: Vec<f64>,
    },
}

struct Sparse<'a> {
    csr: &'a Csr,
    rows: &'a [f64],
    n_columns: usize,
    squared: OnceCell<Vec<f64>>,
    /// Memory to be used.
    room: Cell<Vec<f64>>,
}

impl Sparse<'_> {
    fn squared(&self) -> &[f64] {
        self.squared.get_or_init(|| squared(self.csr, self.rows, self.n_columns, self.room.take()))
    }

    fn into_squared(self) -> Vec<f64> {
        self.squared();
        self.squared.into_inner().unwrap_or_default()
    }
}

impl<'a> Distances<'a> {
    /// `room` is memory to be used: what [`Distances::reweighted`] gave back, or nothing.
    pub(crate) fn new(graph: &'a Graph, rows: &'a [f64], n_columns: usize, room: Vec<f64>) -> Self {
        let edges = match &graph.storage {
            Storage::Sparse(csr) => {
                let (squared, room) = (OnceCell::new(), Cell::new(room));
                Edges::Sparse(Sparse { csr, rows, n_columns, squared, room })
            }
            Storage::Stencil(stencil) => Edges::Stencil(Planes::new(stencil, rows, n_columns)),
        };
        Self { n_edges: graph.n_edges(), edges }
    }

    /// The distances of a graph whose parts move as one, for a height of each part: an edge inside a part has none.
    pub(crate) fn of_parts(ties: &'a Ties, heights: &[f64]) -> Self {
        Self { n_edges: ties.n_edges(), edges: Edges::Parts { ties, squared: ties.squared(heights) } }
    }

    pub(crate) fn n_edges(&self) -> usize {
        self.n_edges
    }

    /// Σ f(w, ‖Δ‖²) over the edges, each counted once; where ‖Δ‖ is 0, f must be affine in w.
    pub(crate) fn sum(&self, f: impl Fn(f64, f64) -> f64 + Sync + Send) -> f64 {
        match &self.edges {
            Edges::Sparse(sparse) => {
                let (csr, distances) = (sparse.csr, sparse.squared());
                parallel::sum_blocks(csr.n_rows(), ROW_BLOCK, |rows| {
                    simd::widest(SumRows { csr, distances, rows, f: &f })
                })
            }
            Edges::Stencil(planes) => planes.sum(|difference| difference * difference, f),
            Edges::Parts { ties, squared } => ties.sum(squared, &f),
        }
    }

    /// Σ w Σ_c f(Δ_c) over the edges, each counted once, and the coordinates; f(0) must be 0.
    pub(crate) fn sum_by_coordinate(&self, f: impl Fn(f64) -> f64 + Sync + Send) -> f64 {
        match &self.edges {
            Edges::Sparse(Sparse { csr, rows, n_columns, .. }) => {
                let (padded, width) = padded(csr, rows, *n_columns);
                parallel::sum_blocks(csr.n_rows(), ROW_BLOCK, |rows| {
                    simd::widest(SumCoordinates { csr, padded: &padded, width, rows, f: &f })
                })
            }
            Edges::Stencil(planes) => planes.sum(f, |w, sum| w * sum),
            Edges::Parts { ties, squared } => ties.sum(squared, &|w, squared: f64| w * f(squared.sqrt())),
        }
    }

    /// The value f(w, ‖Δ‖²) at a place, counted from 0, in decreasing order; 0 where there are not that many edges.
    /// `f` must not be negative.
    pub(crate) fn nth_largest(&self, place: usize, f: impl Fn(f64, f64) -> f64 + Sync + Send) -> f64 {
        if place >= self.n_edges {
            return 0.0;
        }
        match &self.edges {
            Edges::Sparse(sparse) => nth_largest(sparse.csr, sparse.squared(), place, &f),
            Edges::Stencil(planes) => planes.nth_largest(place, f),
            Edges::Parts { ties, squared } => ties.nth_largest(squared, place, &f),
        }
    }

    /// The graph with the weights f(w, ‖Δ‖²) on the same edges and no self-loops; `old`, a graph with the same edges
    /// that is no longer needed, gives its memory. That of the distances comes back. For parts it is the graph of the parts,
    /// where weights between two of them add up.
    ///
    /// `f` must return finite, positive values.
    pub(crate) fn reweighted(
        self,
        old: Option<Graph>,
        f: impl Fn(f64, f64) -> f64 + Sync + Send,
    ) -> (Graph, Vec<f64>) {
        let old = old.map(|graph| graph.storage);
        let (storage, room) = match self.edges {
            Edges::Sparse(sparse) => {
                let csr = sparse.csr;
                let mut values = sparse.into_squared();
                for_each_block(&mut values, &csr.halves().first, |rows, values| {
                    simd::widest(MapRows { csr, rows, f: &f, values });
                });
                let memory = if let Some(Storage::Sparse(old)) = old { old.weights } else { Vec::new() };
                (Storage::Sparse(csr.with_edge_weights(&values, memory)), values)
            }
            Edges::Stencil(planes) => {
                let memory =
                    if let Some(Storage::Stencil(old)) = old { old.weights.into_vec() } else { Vec::new() };
                (Storage::Stencil(planes.reweighted(memory, f)), Vec::new())
            }
            Edges::Parts { ties, squared } => return (ties.reweighted(&squared, &f), Vec::new()),
        };
        (Graph::from_storage(storage, Vec::new()), room)
    }
}

/// Σ f(w, ‖Δ‖²) over the edges of some rows.
struct SumRows<'a, F> {
    csr: &'a Csr,
    distances: &'a [f64],
    rows: Range<usize>,
    f: &'a F,
}

impl<F: Fn(f64, f64) -> f64> pulp::NullaryFnOnce for SumRows<'_, F> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let halves = self.csr.halves();
        let mut total = 0.0;
        for i in self.rows {
            let weights = &self.csr.weights[halves.middle[i]..self.csr.offsets[i + 1]];
            let distances = &self.distances[halves.first[i]..halves.first[i + 1]];
            let (ws, ds) = (weights.chunks_exact(LANES), distances.chunks_exact(LANES));
            let mut tail = 0.0;
            for (&w, &d) in ws.remainder().iter().zip(ds.remainder()) {
                tail += (self.f)(w, d);
            }
            let mut sums = [0.0; LANES];
            for (w, d) in ws.zip(ds) {
                for l in 0..LANES {
                    sums[l] += (self.f)(w[l], d[l]);
                }
            }
            total += sums.iter().sum::<f64>() + tail;
        }
        total
    }
}

/// The value f(w, ‖Δ‖²) at a place in decreasing order; 0 where there are not that many. Values are found on either of two
/// walks and not kept.
fn nth_largest(
    csr: &Csr,
    distances: &[f64],
    place: usize,
    f: &(impl Fn(f64, f64) -> f64 + Sync + Send),
) -> f64 {
    let n = csr.n_rows();
    let counts = parallel::map(n.div_ceil(COUNTED_ROWS), |b| {
        let rows = b * COUNTED_ROWS..n.min((b + 1) * COUNTED_ROWS);
        let mut counts = Counts::new();
        simd::widest(VisitRows {
            csr,
            distances,
            rows,
            f,
            see: |values: &[f64]| values.iter().for_each(|&value| counts.add(value)),
        });
        counts
    });
    let Some((bucket, above)) = rank::find(&counts, place) else { return 0.0 };
    let inside = parallel::map(n.div_ceil(ROW_BLOCK), |b| {
        let rows = b * ROW_BLOCK..n.min((b + 1) * ROW_BLOCK);
        let mut inside = Vec::new();
        let is_inside = |value: &f64| rank::bucket(*value) == bucket;
        let see = |values: &[f64]| {
            // Without a branch, as it is seldom that any is.
            if values.iter().fold(false, |any, value| any | is_inside(value)) {
                inside.extend(values.iter().copied().filter(is_inside));
            }
        };
        simd::widest(VisitRows { csr, distances, rows, f, see });
        inside
    });
    rank::select(inside.concat(), place - above)
}

/// Shows f(w, ‖Δ‖²) of the edges of some rows, some at a time.
struct VisitRows<'a, F, G> {
    csr: &'a Csr,
    distances: &'a [f64],
    rows: Range<usize>,
    f: &'a F,
    see: G,
}

impl<F: Fn(f64, f64) -> f64, G: FnMut(&[f64])> pulp::NullaryFnOnce for VisitRows<'_, F, G> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        let halves = self.csr.halves();
        let mut room = [0.0; VISITED];
        for i in self.rows {
            let weights = &self.csr.weights[halves.middle[i]..self.csr.offsets[i + 1]];
            let distances = &self.distances[halves.first[i]..halves.first[i + 1]];
            for (weights, distances) in weights.chunks(VISITED).zip(distances.chunks(VISITED)) {
                let values = &mut room[..weights.len()];
                for ((value, &w), &d) in values.iter_mut().zip(weights).zip(distances) {
                    *value = (self.f)(w, d);
                }
                (self.see)(values);
            }
        }
    }
}

/// f(w, ‖Δ‖²) for the edges of some rows, in place of ‖Δ‖².
struct MapRows<'a, F> {
    csr: &'a Csr,
    rows: Range<usize>,
    f: &'a F,
    values: &'a mut [f64],
}

impl<F: Fn(f64, f64) -> f64> pulp::NullaryFnOnce for MapRows<'_, F> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let halves = self.csr.halves();
        let start = halves.first[self.rows.start];
        for i in self.rows {
            let weights = &self.csr.weights[halves.middle[i]..self.csr.offsets[i + 1]];
            let values = &mut self.values[halves.first[i] - start..halves.first[i + 1] - start];
            for (value, &w) in values.iter_mut().zip(weights) {
                *value = (self.f)(w, *value);
            }
        }
    }
}

fn squared(csr: &Csr, rows: &[f64], n_columns: usize, mut room: Vec<f64>) -> Vec<f64> {
    room.resize(csr.targets.len() / 2, 0.0);
    let starts = &csr.halves().first;
    if n_columns == 1 {
        for_each_block(&mut room, starts, |range, out| {
            simd::widest(OneColumn { csr, column: rows, rows: range, out });
        });
    } else {
        let (padded, width) = padded(csr, rows, n_columns);
        for_each_block(&mut room, starts, |rows, out| {
            simd::widest(Columns { csr, padded: &padded, width, rows, out });
        });
    }
    room
}

/// Rows padded with zeros to whole lanes, and their length.
fn padded(csr: &Csr, rows: &[f64], n_columns: usize) -> (Vec<f64>, usize) {
    let width = n_columns.next_multiple_of(LANES).max(LANES);
    let mut padded = vec![0.0; csr.n_rows() * width];
    for (out, row) in padded.chunks_exact_mut(width).zip(rows.chunks_exact(n_columns.max(1))) {
        out[..n_columns].copy_from_slice(row);
    }
    (padded, width)
}

/// Σ w Σ_c f(Δ_c) over the edges of some rows.
struct SumCoordinates<'a, F> {
    csr: &'a Csr,
    padded: &'a [f64],
    width: usize,
    rows: Range<usize>,
    f: &'a F,
}

impl<F: Fn(f64) -> f64> pulp::NullaryFnOnce for SumCoordinates<'_, F> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let row = |i: usize| &self.padded[i * self.width..(i + 1) * self.width];
        let halves = self.csr.halves();
        let mut total = 0.0;
        for i in self.rows {
            let own = row(i);
            let weights = &self.csr.weights[halves.middle[i]..self.csr.offsets[i + 1]];
            for (&j, &w) in self.csr.targets[self.csr.upper(i)].iter().zip(weights) {
                let mut sums = [0.0; LANES];
                for (a, b) in own.chunks_exact(LANES).zip(row(j as usize).chunks_exact(LANES)) {
                    for l in 0..LANES {
                        sums[l] += (self.f)(a[l] - b[l]);
                    }
                }
                total += w * lanes_sum(sums);
            }
        }
        total
    }
}

/// The sum of all lanes.
#[inline(always)]
fn lanes_sum(sums: [f64; LANES]) -> f64 {
    ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]))
}

/// The squared differences of one coordinate along the edges of some rows.
struct OneColumn<'a> {
    csr: &'a Csr,
    column: &'a [f64],
    rows: Range<usize>,
    out: &'a mut [f64],
}

impl pulp::NullaryFnOnce for OneColumn<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let mut out = self.out.iter_mut();
        for i in self.rows {
            let own = self.column[i];
            for (&j, out) in self.csr.targets[self.csr.upper(i)].iter().zip(&mut out) {
                let difference = own - self.column[j as usize];
                *out = difference * difference;
            }
        }
    }
}

/// The squared distances between padded rows of coordinates.
struct Columns<'a> {
    csr: &'a Csr,
    padded: &'a [f64],
    width: usize,
    rows: Range<usize>,
    out: &'a mut [f64],
}

impl pulp::NullaryFnOnce for Columns<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let row = |i: usize| &self.padded[i * self.width..(i + 1) * self.width];
        let mut out = self.out.iter_mut();
        for i in self.rows {
            let own = row(i);
            for (&j, out) in self.csr.targets[self.csr.upper(i)].iter().zip(&mut out) {
                let other = row(j as usize);
                let mut sums = [0.0; LANES];
                for (a, b) in own.chunks_exact(LANES).zip(other.chunks_exact(LANES)) {
                    for l in 0..LANES {
                        sums[l] += (a[l] - b[l]) * (a[l] - b[l]);
                    }
                }
                *out = lanes_sum(sums);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{gallery, half_disc};

    #[test]
    fn distances_agree_with_the_edge_loop() {
        let weight = |i: usize, j: usize| (1 + (i * 7 + j * 3) % 5) as f32;
        let stencil = |h, w| Graph::from_stencil(h, w, half_disc(3.0), weight).unwrap();
        // Part of an image, with holes.
        let holed: Vec<u32> = (0..90 * 61).filter(|p| p % 61 % 13 != 5 || p / 61 % 3 == 0).collect();
        let flat = |h, w| {
            let weight = |i: usize, j: usize| if i % w > 20 && i % w < 40 { 0.0 } else { weight(i, j) };
            Graph::from_stencil(h, w, half_disc(3.0), weight).unwrap()
        };
        let part = stencil(90, 61).induced(&holed);
        assert!(matches!(&part.storage, Storage::Stencil(stencil) if stencil.cells.is_some()));
        let images = [stencil(6, 9), stencil(7, 45), stencil(40, 2), stencil(1, 1), flat(9, 60), part];
        let others =
            [gallery::random(300, 0.2, 3), gallery::path(1), gallery::star(40), gallery::grid(70, 70)];
        for graph in images.into_iter().chain(others) {
            for n_columns in [1, 3, 8, 11] {
                let rows: Vec<f64> =
                    (0..graph.n_vertices() * n_columns).map(|i| (i as f64 * 0.7).sin()).collect();
                let anew = |room| Distances::new(&graph, &rows, n_columns, room);
                let distances = anew(Vec::new());
                let f = |w: f64, d: f64| (w * d + 0.1).sqrt();
                let row = |v: usize| &rows[v * n_columns..(v + 1) * n_columns];
                let squared = |i, j| row(i).iter().zip(row(j)).map(|(a, b)| (a - b).powi(2)).sum();
                let values = graph.map_edges(|i, j, w| f(w, squared(i, j)));
                let mut falling = values.clone();
                falling.sort_by(|a, b| b.total_cmp(a));
                falling.push(0.0);
                for place in [0, 1, 7, values.len() / 2, values.len().saturating_sub(1), values.len()] {
                    let (nth, expected) = (distances.nth_largest(place, f), falling[place.min(values.len())]);
                    assert!((nth - expected).abs() <= 1e-14 * expected, "{place}: {nth} {expected}");
                }
                let (total, expected) = (distances.sum(f), values.iter().sum::<f64>());
                assert!((total - expected).abs() <= 1e-12 * expected);
                let naive = graph.map_edges(|i, j, w| {
                    w * row(i).iter().zip(row(j)).map(|(a, b)| (a - b).abs().sqrt()).sum::<f64>()
                });
                let naive: f64 = naive.iter().sum();
                let total = distances.sum_by_coordinate(|difference| difference.abs().sqrt());
                assert!((total - naive).abs() <= 1e-12 * naive);
                let (old, room) = distances.reweighted(None, |w, d| w + d);
                let (graph, _) = anew(room).reweighted(Some(old), f);
                let weights = graph.map_edges(|_, _, w| w);
                assert_eq!(values.len(), weights.len());
                assert!(values.iter().zip(&weights).all(|(a, b)| (a - b).abs() <= 1e-6 * a));
                // Both copies of an edge agree to the last bit.
                graph.for_each_edge(|i, j, w| {
                    graph.for_each_neighbor(j, |k, back| assert!(k != i || back == w));
                });
            }
        }
    }
}
