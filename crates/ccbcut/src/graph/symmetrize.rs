//! Directed input: how two directions become one edge, and what is refused.

use crate::error::{Error, Result};

use super::{
    Graph,
    build::{SYMMETRY_TOLERANCE, check_entries, csr_entries},
};

/// How the weights of the two directions i → j and j → i become the weight of one edge; a direction that is not there
/// counts as 0. Self-loops stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symmetrize {
    /// Half of their sum: (W + Wᵀ)/2.
    Mean,
    /// The larger one.
    Max,
    /// Their sum: W + Wᵀ.
    Sum,
}

impl Symmetrize {
    /// The name used by the command and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Max => "max",
            Self::Sum => "sum",
        }
    }

    fn joined(self, forward: f64, backward: f64) -> f64 {
        match self {
            // Halves first: a sum of two large numbers may overflow.
            Self::Mean => 0.5 * forward + 0.5 * backward,
            Self::Max => forward.max(backward),
            Self::Sum => forward + backward,
        }
    }
}

impl Graph {
    /// A graph from directed entries (i, j, w). Repeated entries of one direction add up; then the two directions are
    /// joined.
    ///
    /// Without a way to join them, entries are the edges of an undirected graph, each listed once or twice: as in
    /// [`Graph::from_edges`] all of them add up, but two directions with *different* weights are refused, since such a
    /// list means a directed graph.
    ///
    /// ```
    /// use ccbcut::{Graph, graph::Symmetrize};
    /// let arrows = [(0, 1, 1.0), (1, 0, 3.0), (1, 2, 2.0)];
    /// assert!(Graph::from_directed(3, &arrows, None).is_err());
    /// let larger = Graph::from_directed(3, &arrows, Some(Symmetrize::Max))?;
    /// assert_eq!(larger.degrees(), &[3.0, 5.0, 2.0]);
    /// # Ok::<(), ccbcut::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Asymmetric`] for two directions that differ where `how` is `None`, and the errors of
    /// [`Graph::from_edges`].
    ///
    /// # Complexity
    /// O(n + m log m) time for m entries.
    pub fn from_directed(n: usize, entries: &[(u32, u32, f64)], how: Option<Symmetrize>) -> Result<Self> {
        check_entries(n, entries)?;
        let mut sorted = entries.to_vec();
        // By pair, the direction from the lower to the higher vertex first; the order of equals is kept.
        sorted.sort_by_key(|&(i, j, _)| (i.min(j), i.max(j), i));
        let mut edges = Vec::with_capacity(sorted.len());
        for pair in sorted.chunk_by(|a, b| (a.0.min(a.1), a.0.max(a.1)) == (b.0.min(b.1), b.0.max(b.1))) {
            let (low, high) = (pair[0].0.min(pair[0].1), pair[0].0.max(pair[0].1));
            let turn = pair.iter().take_while(|e| e.0 == low).count();
            let sum = |part: &[(u32, u32, f64)]| part.iter().map(|e| e.2).sum::<f64>();
            let (forward, backward) = (sum(&pair[..turn]), sum(&pair[turn..]));
            let weight = match how {
                _ if low == high => forward,
                Some(how) => how.joined(forward, backward),
                None => {
                    let both = turn > 0 && turn < pair.len();
                    if both && (forward - backward).abs() > SYMMETRY_TOLERANCE * forward.max(backward) {
                        let (row, col) = (low as usize, high as usize);
                        return Err(Error::Asymmetric { row, col, weight: forward, transposed: backward });
                    }
                    forward + backward
                }
            };
            edges.push((low, high, weight));
        }
        Self::from_edges(n, &edges)
    }

    /// A graph from any square matrix in compressed rows, its two triangles joined.
    ///
    /// # Errors
    /// As [`Graph::from_csr`], but asymmetry is accepted.
    pub fn from_csr_joined(
        offsets: &[usize],
        columns: &[u32],
        weights: &[f64],
        how: Symmetrize,
    ) -> Result<Self> {
        let entries = csr_entries(offsets, columns, weights)?;
        Self::from_directed(offsets.len().saturating_sub(1), &entries, Some(how))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARROWS: [(u32, u32, f64); 5] = [(0, 1, 1.0), (1, 0, 3.0), (0, 1, 0.5), (2, 1, 2.0), (2, 2, 5.0)];

    #[test]
    fn directions_are_joined_as_asked() {
        let degrees = |how| Graph::from_directed(3, &ARROWS, Some(how)).unwrap().degrees().to_vec();
        assert_eq!(degrees(Symmetrize::Mean), [2.25, 3.25, 6.0]);
        assert_eq!(degrees(Symmetrize::Max), [3.0, 5.0, 7.0]);
        assert_eq!(degrees(Symmetrize::Sum), [4.5, 6.5, 7.0]);
    }

    #[test]
    fn the_mean_is_that_of_the_matrix() {
        let by_rows =
            Graph::from_csr_symmetrized(&[0, 1, 2, 4], &[1, 0, 1, 2], &[1.5, 3.0, 2.0, 5.0]).unwrap();
        let joined = |how| Graph::from_csr_joined(&[0, 1, 2, 4], &[1, 0, 1, 2], &[1.5, 3.0, 2.0, 5.0], how);
        assert_eq!(joined(Symmetrize::Mean).unwrap().to_csr(), by_rows.to_csr());
        assert_eq!(joined(Symmetrize::Max).unwrap().degrees(), &[3.0, 5.0, 7.0]);
        let by_entries = Graph::from_directed(3, &ARROWS, Some(Symmetrize::Mean)).unwrap();
        assert_eq!(by_entries.to_csr(), by_rows.to_csr());
    }

    #[test]
    fn directed_lists_are_refused_and_undirected_ones_add_up() {
        let error = Graph::from_directed(3, &ARROWS, None).unwrap_err();
        assert_eq!(error, Error::Asymmetric { row: 0, col: 1, weight: 1.5, transposed: 3.0 });
        let twice = [(1, 0, 1.0), (0, 1, 1.0), (1, 2, 1.0), (1, 2, 1.0)];
        let graph = Graph::from_directed(3, &twice, None).unwrap();
        assert_eq!(graph.to_csr(), Graph::from_edges(3, &twice).unwrap().to_csr());
        // A negative weight is found before another of its pair makes up for it.
        let bad = Graph::from_directed(2, &[(0, 1, -1.0), (0, 1, 2.0)], Some(Symmetrize::Sum));
        assert!(matches!(bad, Err(Error::InvalidWeight { .. })));
        assert!(matches!(Graph::from_directed(1, &[(0, 1, 1.0)], None), Err(Error::IndexOutOfRange { .. })));
    }
}
