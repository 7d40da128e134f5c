//! ROOM 2, the other door: points → graph.
//!
//! Each point is tied to its nearest neighbours, by a weight that falls with the distance. [`NeighborGraph`] makes that
//! graph; [`nearest`] finds the neighbours: by a k-d tree where there are few coordinates, by comparing blocks of
//! points where there are many. Both give the same neighbours to the last bit, ties broken by number.

mod blocks;
mod tree;

use crate::{
    error::{Error, Result},
    graph::Graph,
    parallel,
};

/// Up to this many coordinates a tree is used: beyond, boxes have so many sides that a search looks into most of them.
const TREE_DIMENSIONS: usize = 12;
/// Points below which all pairs are compared anyway.
const FEW: usize = 256;
/// The most neighbours of all points together: six gigabytes of them.
const MAX_NEIGHBORS: usize = 1 << 29;
/// The largest coordinate whose square is still far from overflow.
const MAX_COORDINATE: f64 = 1e150;
/// Points in one block of a parallel loop.
const BLOCK: usize = 64;

/// Points in a space of some dimensions, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    n: usize,
    n_dimensions: usize,
    values: Vec<f64>,
}

impl Points {
    /// Wraps coordinates stored row by row.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] when there are not `n * n_dimensions` of them, [`Error::NotFinite`] for NaN or
    /// infinite ones, [`Error::InvalidParameter`] for no dimension or for coordinates beyond 10¹⁵⁰.
    pub fn new(n: usize, n_dimensions: usize, values: Vec<f64>) -> Result<Self> {
        let expected = n.saturating_mul(n_dimensions);
        if values.len() != expected {
            return Err(Error::ShapeMismatch { what: "the points", expected, got: values.len() });
        }
        if n_dimensions == 0 {
            let name = "the number of coordinates";
            return Err(Error::InvalidParameter { name, value: 0.0, expected: "at least 1" });
        }
        if let Some(index) = values.iter().position(|v| !v.is_finite()) {
            return Err(Error::NotFinite { what: "the points", index, value: values[index] });
        }
        if let Some(&value) = values.iter().find(|v| v.abs() > MAX_COORDINATE) {
            return Err(Error::InvalidParameter {
                name: "a coordinate",
                value,
                expected: "between -1e150 and 1e150",
            });
        }
        Ok(Self { n, n_dimensions, values })
    }

    /// How many points.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// How many coordinates each has.
    pub fn n_dimensions(&self) -> usize {
        self.n_dimensions
    }

    /// The coordinates of one point.
    pub fn row(&self, point: usize) -> &[f64] {
        &self.values[point * self.n_dimensions..(point + 1) * self.n_dimensions]
    }
}

/// The nearest neighbours of every point, nearest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbors {
    per_point: usize,
    found: Vec<(f64, u32)>,
}

impl Neighbors {
    /// Squared distance and number of each neighbour of a point, nearest first, the lower number first on ties.
    pub fn of(&self, point: usize) -> &[(f64, u32)] {
        &self.found[point * self.per_point..(point + 1) * self.per_point]
    }
}

/// The `n_neighbors` points nearest to each point, itself not counted, by Euclidean distance.
///
/// # Errors
/// [`Error::InvalidParameter`] unless 1 ≤ `n_neighbors` < number of points, [`Error::TooLarge`] for more than 2²⁹
/// neighbours in all.
///
/// # Complexity
/// For n points in d ≤ 12 dimensions about O(n log n); beyond that O(n² d), in vector instructions.
pub fn nearest(points: &Points, n_neighbors: usize) -> Result<Neighbors> {
    check(points, n_neighbors)?;
    let by_tree = points.n_dimensions <= TREE_DIMENSIONS && points.n > FEW;
    let rows = if by_tree {
        let tree = tree::KdTree::new(points);
        let found = parallel::map(points.n.div_ceil(BLOCK), |block| tree.nearest(block, BLOCK, n_neighbors));
        // The tree's own order of the points keeps what is near in space near in memory.
        let mut rows = vec![(0.0, 0); points.n * n_neighbors];
        for (point, row) in found.into_iter().flatten() {
            rows[point * n_neighbors..(point + 1) * n_neighbors].copy_from_slice(&row);
        }
        rows
    } else {
        let packed = blocks::Packed::new(points);
        let found =
            parallel::map(points.n.div_ceil(BLOCK), |block| packed.nearest(points, block, n_neighbors));
        found.concat()
    };
    Ok(Neighbors { per_point: n_neighbors, found: rows })
}

fn check(points: &Points, n_neighbors: usize) -> Result<()> {
    if n_neighbors == 0 || n_neighbors >= points.n.max(1) {
        return Err(Error::InvalidParameter {
            name: "the number of neighbours",
            value: n_neighbors as f64,
            expected: "at least 1 and below the number of points",
        });
    }
    let requested = points.n.saturating_mul(n_neighbors);
    if requested > MAX_NEIGHBORS {
        let what = "the number of neighbours of all points";
        return Err(Error::TooLarge { what, requested, limit: MAX_NEIGHBORS });
    }
    Ok(())
}

/// The best neighbours so far, nearest first.
struct Best {
    found: Vec<(f64, u32)>,
    capacity: usize,
}

impl Best {
    fn new(capacity: usize) -> Self {
        Self { found: Vec::with_capacity(capacity + 1), capacity }
    }

    /// The last one, which a newcomer must beat; anything beats it while there is room.
    #[inline]
    fn worst(&self) -> (f64, u32) {
        if self.found.len() < self.capacity {
            return (f64::INFINITY, u32::MAX);
        }
        self.found.last().copied().unwrap_or((f64::INFINITY, u32::MAX))
    }

    #[inline]
    fn offer(&mut self, candidate: (f64, u32)) {
        if candidate >= self.worst() {
            return;
        }
        let at = self.found.partition_point(|kept| *kept < candidate);
        self.found.insert(at, candidate);
        self.found.truncate(self.capacity);
    }
}

/// How fast weights fall with the distance d.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bandwidth {
    /// exp(−d² / (σᵢ σⱼ)), σᵢ the distance from i to its neighbour of this rank (7 in the reference), or to the last one
    /// where there are fewer.
    ///
    /// # References
    /// Zelnik-Manor and Perona, *Self-tuning spectral clustering*, NIPS 2004.
    SelfTuning(usize),
    /// exp(−d² / σ²) with one σ for all.
    Fixed(f64),
}

impl Default for Bandwidth {
    fn default() -> Self {
        Self::SelfTuning(7)
    }
}

/// Makes the graph of nearest neighbours.
///
/// ```
/// use ccbcut::points::{NeighborGraph, Points};
/// let points = Points::new(5, 1, vec![0.0, 1.0, 2.0, 10.0, 11.0])?;
/// let graph = NeighborGraph::new(1).build(&points)?;
/// assert_eq!((graph.n_edges(), graph.components().n_segments()), (3, 2));
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NeighborGraph {
    n_neighbors: usize,
    bandwidth: Bandwidth,
    mutual: bool,
}

impl NeighborGraph {
    /// Self-tuning weights, a tie wherever one of two points counts the other among its neighbours.
    pub fn new(n_neighbors: usize) -> Self {
        Self { n_neighbors, bandwidth: Bandwidth::default(), mutual: false }
    }

    /// How fast weights fall.
    #[must_use]
    pub fn bandwidth(mut self, bandwidth: Bandwidth) -> Self {
        self.bandwidth = bandwidth;
        self
    }

    /// Whether two points must count each other among their neighbours to be tied.
    #[must_use]
    pub fn mutual(mut self, mutual: bool) -> Self {
        self.mutual = mutual;
        self
    }

    /// The graph. Ties whose weight is too small for a number do not exist.
    ///
    /// # Errors
    /// Those of [`nearest`], and [`Error::InvalidParameter`] for a bandwidth that is not positive.
    pub fn build(&self, points: &Points) -> Result<Graph> {
        let invalid = |name, value| Err(Error::InvalidParameter { name, value, expected: "above 0" });
        match self.bandwidth {
            Bandwidth::Fixed(sigma) if !(sigma.is_finite() && sigma > 0.0) => {
                return invalid("the bandwidth", sigma);
            }
            Bandwidth::SelfTuning(0) => return invalid("the rank of the bandwidth", 0.0),
            _ => {}
        }
        let neighbors = nearest(points, self.n_neighbors)?;
        let scales = self.scales(&neighbors, points.n);
        let blocks = parallel::map(points.n.div_ceil(BLOCK), |block| {
            let mut edges = Vec::new();
            for i in block * BLOCK..((block + 1) * BLOCK).min(points.n) {
                for &(squared, j) in neighbors.of(i) {
                    let back = neighbors.of(j as usize).iter().any(|other| other.1 as usize == i);
                    // A pair that is found from both ends is made from its lower end.
                    let is_mine = if back { i < j as usize } else { !self.mutual };
                    let weight = (-squared / (scales[i] * scales[j as usize])).exp();
                    if is_mine && weight > 0.0 {
                        edges.push((i as u32, j, weight));
                    }
                }
            }
            edges
        });
        Graph::from_edges(points.n, &blocks.concat())
    }

    /// σ of every point. Where too many points coincide it is that of the nearest one that does not, or else the
    /// smallest of all.
    fn scales(&self, neighbors: &Neighbors, n: usize) -> Vec<f64> {
        let rank = match self.bandwidth {
            Bandwidth::Fixed(sigma) => return vec![sigma; n],
            Bandwidth::SelfTuning(rank) => rank.min(self.n_neighbors),
        };
        let own = |i: usize| neighbors.of(i)[rank - 1..].iter().map(|e| e.0).find(|&d| d > 0.0);
        let scales: Vec<Option<f64>> = (0..n).map(|i| own(i).map(f64::sqrt)).collect();
        let least = scales.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        let least = if least.is_finite() { least } else { 1.0 };
        scales.into_iter().map(|scale| scale.unwrap_or(least)).collect()
    }
}

#[cfg(test)]
mod tests;
