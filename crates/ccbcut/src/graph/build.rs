//! Ways into a [`Graph`]: edge lists, compressed rows, pixel stencils, subgraphs; each checks once.

use crate::{
    error::{Error, Result},
    parallel,
};

use super::{
    Graph, ROW_BLOCK, Storage,
    csr::{Csr, by_blocks},
};

/// Largest relative difference between the two copies of an entry that still counts as symmetric.
pub(super) const SYMMETRY_TOLERANCE: f64 = 1e-10;

impl Graph {
    /// A graph from a list of edges (i, j, w). Repeated edges, in either direction, add up; i = j is a self-loop.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`] for a vertex ≥ `n`, [`Error::InvalidWeight`] for a weight that is negative or
    /// not finite, [`Error::TooLarge`] above 2³² − 2 vertices.
    ///
    /// # Complexity
    /// O(n + m log m) time for m edges.
    pub fn from_edges(n: usize, edges: &[(u32, u32, f64)]) -> Result<Self> {
        check_entries(n, edges)?;
        let both = edges.iter().flat_map(|&(i, j, w)| {
            let back = (i != j).then_some((j, i, w));
            std::iter::once((i, j, w)).chain(back)
        });
        Self::from_entries(n, both.collect())
    }

    /// A graph from a symmetric matrix in compressed rows, for example SciPy's `indptr`, `indices`, `data`.
    ///
    /// The rows need not be sorted, repeated entries add up, the diagonal holds self-loops, and explicit zeros
    /// are dropped. The two copies of an entry may differ by rounding (10⁻¹⁰ relative); their mean is taken.
    ///
    /// # Errors
    /// [`Error::Asymmetric`] for a larger difference, and the errors of [`Graph::from_edges`].
    pub fn from_csr(offsets: &[usize], columns: &[u32], weights: &[f64]) -> Result<Self> {
        let entries = csr_entries(offsets, columns, weights)?;
        let graph = Self::from_entries(offsets.len().saturating_sub(1), entries)?;
        graph.with_transposes_averaged(SYMMETRY_TOLERANCE)
    }

    /// A graph from any square matrix in compressed rows, by (W + Wᵀ)/2.
    ///
    /// # Errors
    /// As [`Graph::from_csr`], but asymmetry is accepted.
    pub fn from_csr_symmetrized(offsets: &[usize], columns: &[u32], weights: &[f64]) -> Result<Self> {
        let entries = csr_entries(offsets, columns, weights)?;
        let halves = entries.iter().flat_map(|&(i, j, w)| [(i, j, 0.5 * w), (j, i, 0.5 * w)]);
        Self::from_entries(offsets.len().saturating_sub(1), halves.collect())
    }

    /// The subgraph on some vertices (distinct, in the order given): a large part of an image is cut out of it, all
    /// else comes in compressed rows.
    ///
    /// Self-loops come along; degrees are those inside the subgraph.
    ///
    /// # Complexity
    /// O(n + edges of the chosen vertices).
    #[must_use]
    pub fn induced(&self, vertices: &[u32]) -> Self {
        let mut position = vec![u32::MAX; self.n_vertices()];
        for (new, &old) in vertices.iter().enumerate() {
            position[old as usize] = new as u32;
        }
        let is_sorted = vertices.is_sorted();
        if let Storage::Stencil(stencil) = &self.storage
            && is_sorted
            && let Some(part) = stencil.cropped(vertices)
        {
            return Self::from_storage(Storage::Stencil(part), Vec::new());
        }
        let mut offsets = vec![0; vertices.len() + 1];
        parallel::for_each_chunk(&mut offsets[1..], ROW_BLOCK, |b, lengths| {
            for (length, &old) in lengths.iter_mut().zip(&vertices[b * ROW_BLOCK..]) {
                self.for_each_neighbor(old as usize, |j, _| *length += usize::from(position[j] != u32::MAX));
            }
        });
        for i in 0..vertices.len() {
            offsets[i + 1] += offsets[i];
        }
        let total = offsets[vertices.len()];
        let (mut targets, mut weights) = (vec![0; total], vec![0.0; total]);
        let blocks = by_blocks(&mut targets, &offsets).into_iter().zip(by_blocks(&mut weights, &offsets));
        parallel::for_each_part(blocks.collect(), |_, ((rows, targets), (_, weights))| {
            let mut stored = targets.iter_mut().zip(weights);
            let mut store = |j: u32, w: f64| {
                if let Some((target, weight)) = stored.next() {
                    (*target, *weight) = (j, w);
                }
            };
            let mut row: Vec<(u32, f64)> = Vec::new();
            for &old in &vertices[rows] {
                self.for_each_neighbor(old as usize, |j, w| match position[j] {
                    u32::MAX => {}
                    new if is_sorted => store(new, w),
                    new => row.push((new, w)),
                });
                row.sort_unstable_by_key(|&(j, _)| j);
                row.drain(..).for_each(|(j, w)| store(j, w));
            }
        });
        let loops = if self.has_self_loops() {
            vertices.iter().map(|&v| self.self_loop(v as usize)).collect()
        } else {
            Vec::new()
        };
        let columns = if self.columns.is_empty() {
            Vec::new()
        } else {
            vertices.iter().map(|&v| self.columns[v as usize]).collect()
        };
        Self::from_storage(Storage::Sparse(Csr::new(offsets, targets, weights)), loops).with_columns(columns)
    }

    /// The symmetric weight matrix in compressed rows, diagonal included: offsets, columns, weights.
    pub fn to_csr(&self) -> (Vec<usize>, Vec<u32>, Vec<f64>) {
        let (mut offsets, mut columns, mut weights) = (vec![0], Vec::new(), Vec::new());
        for i in 0..self.n_vertices() {
            let mut pending = (self.self_loop(i) > 0.0).then(|| self.self_loop(i));
            self.for_each_neighbor(i, |j, w| {
                if j > i
                    && let Some(own) = pending.take()
                {
                    columns.push(i as u32);
                    weights.push(own);
                }
                columns.push(j as u32);
                weights.push(w);
            });
            if let Some(own) = pending {
                columns.push(i as u32);
                weights.push(own);
            }
            offsets.push(columns.len());
        }
        (offsets, columns, weights)
    }

    /// A graph from compressed rows that are known to be sorted, symmetric to the last bit, positive and without
    /// a diagonal; `self_loops` is empty or holds one weight per vertex.
    pub(crate) fn from_sorted_csr(
        offsets: Vec<usize>,
        targets: Vec<u32>,
        weights: Vec<f64>,
        self_loops: Vec<f64>,
    ) -> Self {
        debug_assert!(self_loops.is_empty() || self_loops.len() + 1 == offsets.len());
        debug_assert!(weights.iter().chain(&self_loops).all(|w| w.is_finite() && *w >= 0.0));
        Self::from_storage(Storage::Sparse(Csr::new(offsets, targets, weights)), self_loops)
    }

    /// Builds from all entries of a symmetric matrix, in any order; repeated entries add up.
    fn from_entries(n: usize, mut entries: Vec<(u32, u32, f64)>) -> Result<Self> {
        check_vertex_count(n)?;
        entries.sort_by_key(|&(i, j, _)| (i, j));
        let mut loops = Vec::new();
        let (mut offsets, mut targets) = (vec![0; n + 1], Vec::with_capacity(entries.len()));
        let mut weights = Vec::with_capacity(entries.len());
        let mut rest = entries.as_slice();
        while let Some(&(i, j, _)) = rest.first() {
            let run = rest.iter().take_while(|e| (e.0, e.1) == (i, j)).count();
            let w: f64 = rest[..run].iter().map(|e| e.2).sum();
            rest = &rest[run..];
            check_weight(i as usize, j as usize, w)?;
            if w == 0.0 {
                continue;
            }
            if i == j {
                loops.resize(n, 0.0);
                loops[i as usize] = w;
            } else {
                targets.push(j);
                weights.push(w);
                offsets[i as usize + 1] = targets.len();
            }
        }
        for row in 1..=n {
            offsets[row] = offsets[row].max(offsets[row - 1]);
        }
        Ok(Self::from_storage(Storage::Sparse(Csr::new(offsets, targets, weights)), loops))
    }

    fn with_transposes_averaged(mut self, tolerance: f64) -> Result<Self> {
        let Storage::Sparse(csr) = &self.storage else { return Ok(self) };
        let mut averaged = csr.weights.clone();
        // Rows are sorted and come in order: what is looked for in one of them is never before what was.
        let mut next: Vec<usize> = csr.offsets[..self.n_vertices()].to_vec();
        for i in 0..self.n_vertices() {
            for position in csr.offsets[i]..csr.offsets[i + 1] {
                let j = csr.targets[position] as usize;
                let (at, end) = (&mut next[j], csr.offsets[j + 1]);
                while *at < end && (csr.targets[*at] as usize) < i {
                    *at += 1;
                }
                let is_there = *at < end && csr.targets[*at] as usize == i;
                let transposed = if is_there { csr.weights[*at] } else { 0.0 };
                let weight = csr.weights[position];
                if (weight - transposed).abs() > tolerance * weight.max(transposed) {
                    return Err(Error::Asymmetric { row: i, col: j, weight, transposed });
                }
                averaged[position] = 0.5 * (weight.min(transposed) + weight.max(transposed));
            }
        }
        let storage = Storage::Sparse(csr.with_weights(averaged));
        self = Self::from_storage(storage, self.self_loops);
        Ok(self)
    }
}

/// Checks the vertices and the weights of a list of edges.
pub(super) fn check_entries(n: usize, edges: &[(u32, u32, f64)]) -> Result<()> {
    check_vertex_count(n)?;
    for &(i, j, w) in edges {
        let index = i.max(j) as usize;
        if index >= n {
            return Err(Error::IndexOutOfRange { what: "the vertex of an edge", index, limit: n });
        }
        check_weight(i as usize, j as usize, w)?;
    }
    Ok(())
}

pub(super) fn csr_entries(
    offsets: &[usize],
    columns: &[u32],
    weights: &[f64],
) -> Result<Vec<(u32, u32, f64)>> {
    let n = offsets.len().saturating_sub(1);
    check_vertex_count(n)?;
    if columns.len() != weights.len() {
        let (expected, got) = (columns.len(), weights.len());
        return Err(Error::ShapeMismatch { what: "the weights of the sparse matrix", expected, got });
    }
    let (first, last) = (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0));
    if first != 0 || last != columns.len() {
        let got = last.saturating_sub(first);
        return Err(Error::ShapeMismatch {
            what: "the range of the row offsets",
            expected: columns.len(),
            got,
        });
    }
    let mut entries = Vec::with_capacity(columns.len());
    for i in 0..n {
        if offsets[i + 1] < offsets[i] {
            return Err(Error::OffsetsDecrease { row: i + 1 });
        }
        for p in offsets[i]..offsets[i + 1].min(columns.len()) {
            let index = columns[p] as usize;
            if index >= n {
                return Err(Error::IndexOutOfRange { what: "a column of the matrix", index, limit: n });
            }
            check_weight(i, index, weights[p])?;
            entries.push((i as u32, columns[p], weights[p]));
        }
    }
    Ok(entries)
}

pub(super) fn check_vertex_count(n: usize) -> Result<()> {
    let limit = u32::MAX as usize - 1;
    if n > limit {
        return Err(Error::TooLarge { what: "the number of vertices", requested: n, limit });
    }
    Ok(())
}

fn check_weight(row: usize, col: usize, weight: f64) -> Result<()> {
    if weight.is_finite() && weight >= 0.0 { Ok(()) } else { Err(Error::InvalidWeight { row, col, weight }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_edges_add_up_and_loops_stand_apart() {
        let graph = Graph::from_edges(3, &[(0, 1, 1.0), (1, 0, 2.0), (2, 2, 5.0), (1, 2, 0.0)]).unwrap();
        assert_eq!(graph.n_edges(), 1);
        assert_eq!(graph.degrees(), &[3.0, 3.0, 5.0]);
        assert_eq!(graph.self_loop(2), 5.0);
        assert_eq!(graph.without_self_loops().degrees(), &[3.0, 3.0, 0.0]);
    }

    #[test]
    fn bad_input_is_named() {
        let edge = |w| Graph::from_edges(2, &[(0, 1, w)]);
        assert!(matches!(edge(-1.0), Err(Error::InvalidWeight { row: 0, col: 1, .. })));
        assert!(matches!(edge(f64::NAN), Err(Error::InvalidWeight { .. })));
        assert!(matches!(Graph::from_edges(2, &[(0, 2, 1.0)]), Err(Error::IndexOutOfRange { .. })));
        let lopsided = Graph::from_csr(&[0, 1, 2], &[1, 0], &[1.0, 2.0]);
        assert!(matches!(lopsided, Err(Error::Asymmetric { row: 0, col: 1, .. })));
        let one_sided = Graph::from_csr(&[0, 1, 1], &[1], &[1.0]);
        assert!(matches!(one_sided, Err(Error::Asymmetric { .. })));
        let halved = Graph::from_csr_symmetrized(&[0, 1, 1], &[1], &[1.0]).unwrap();
        assert_eq!(halved.degrees(), &[0.5, 0.5]);
        assert!(matches!(
            Graph::from_csr(&[0, 2, 1, 2], &[1, 0], &[1.0, 1.0]),
            Err(Error::OffsetsDecrease { .. })
        ));
        assert!(matches!(Graph::from_csr(&[0, 1, 2], &[1], &[1.0]), Err(Error::ShapeMismatch { .. })));
    }

    #[test]
    fn csr_round_trip_keeps_the_diagonal() {
        let edges = [(0, 1, 1.0), (1, 2, 2.0), (1, 1, 3.0), (3, 3, 4.0)];
        let graph = Graph::from_edges(4, &edges).unwrap();
        let (offsets, columns, weights) = graph.to_csr();
        assert_eq!(offsets, vec![0, 1, 4, 5, 6]);
        assert_eq!(columns, vec![1, 0, 1, 2, 1, 3]);
        let again = Graph::from_csr(&offsets, &columns, &weights).unwrap();
        assert_eq!(again.degrees(), graph.degrees());
    }

    #[test]
    fn stencil_and_compressed_rows_agree() {
        let (h, w) = (5, 7);
        let weight = |i: usize, j: usize| 1.0 / (1.0 + (i * 31 + j * 17) as f32 % 11.0);
        let stencil = Graph::from_stencil(h, w, super::super::half_disc(2.3), weight).unwrap();
        let all: Vec<u32> = (0..(h * w) as u32).collect();
        let sparse = stencil.induced(&all);
        assert_eq!(stencil.n_edges(), sparse.n_edges());
        for i in 0..h * w {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            stencil.for_each_neighbor(i, |j, w| a.push((j, w)));
            sparse.for_each_neighbor(i, |j, w| b.push((j, w)));
            assert!(a.is_sorted_by_key(|e| e.0), "neighbours in order");
            assert_eq!(a, b);
        }
        assert_eq!(stencil.components().n_segments(), 1);
    }
}
