//! The smallest nontrivial eigenpairs of Π^-½ L̂ Π^-½: a solver that does not fail.
//!
//! Connected components are found before any eigensolver is asked: c of them give c − 1 eigenvectors of eigenvalue
//! zero in closed form, and the rest is solved component by component (see `connected`).

use std::sync::{Mutex, OnceLock};

use super::{
    connected::{Connected, Known},
    large,
    limits::{self, DENSE_LIMIT, MAX_ENTRIES},
};
use crate::{
    error::{Error, Result},
    graph::Graph,
    linalg::cholesky::Symbolic,
};

/// What may be asked of the eigensolver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EigenParams {
    /// How many nontrivial eigenpairs.
    pub n_pairs: usize,
    /// Largest accepted ‖A⁺(Ax − λx)‖, default 10⁻⁶.
    pub tol: f64,
    /// Seed of the random start.
    pub seed: u64,
}

impl EigenParams {
    /// Default tolerance and seed.
    pub fn new(n_pairs: usize) -> Self {
        Self { n_pairs, tol: 1e-6, seed: 0 }
    }
}

/// Eigenpairs in the coordinates x = Π^½ y.
#[derive(Debug, Clone, Default)]
pub struct Eigenpairs {
    /// Eigenvalues, increasing.
    pub values: Vec<f64>,
    /// Orthonormal eigenvectors, one after the other.
    pub vectors: Vec<f64>,
    /// Further vectors that were not asked for and are less accurate. Given to the next solve behind `vectors`, they
    /// spare it steps; there may be none.
    pub guards: Vec<f64>,
    /// The largest ‖A⁺(Ax − λx)‖.
    pub residual: f64,
    /// Steps taken by the iterative solvers.
    pub steps: usize,
}

/// The structure of a graph's eigenproblems, found once and used for every reweighting of its edges.
#[derive(Debug)]
pub struct Spectrum {
    n: usize,
    pieces: Vec<Piece>,
    /// Whether a piece that all but falls apart may be split.
    may_split: bool,
}

/// One connected component.
#[derive(Debug)]
struct Piece {
    vertices: Vec<u32>,
    /// `None` when dense solves are cheaper, or a factorisation would be too large.
    symbolic: Option<Symbolic>,
    /// The structure of a factor that is only made when nothing else has worked.
    costly: OnceLock<Option<Symbolic>>,
    known: Mutex<Known>,
}

impl Spectrum {
    /// Finds the components of a graph and analyses each.
    pub fn analyze(graph: &Graph) -> Self {
        let components = graph.components();
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); components.n_segments()];
        for (v, &c) in components.as_slice().iter().enumerate() {
            members[c as usize].push(v as u32);
        }
        let whole = members.len() == 1;
        let pieces = members.into_iter().map(|vertices| {
            let costly = OnceLock::new();
            let analyzed = |graph: &Graph| {
                if large::is_large(graph) {
                    // Never factored.
                    costly.get_or_init(|| None);
                    return None;
                }
                Symbolic::analyze(graph, limits::cheap_flops(graph), MAX_ENTRIES)
            };
            let symbolic = if vertices.len() <= DENSE_LIMIT {
                None
            } else if whole {
                analyzed(graph)
            } else {
                analyzed(&graph.induced(&vertices))
            };
            Piece { vertices, symbolic, costly, known: Mutex::default() }
        });
        Self { n: graph.n_vertices(), pieces: pieces.collect(), may_split: true }
    }

    /// The same, but no piece is split into clusters: it is the inside of one already.
    pub(super) fn whole_pieces_only(mut self) -> Self {
        self.may_split = false;
        self
    }

    /// How many connected components.
    pub fn n_components(&self) -> usize {
        self.pieces.len()
    }

    /// The smallest nontrivial eigenpairs of Π^-½ L Π^-½ for a graph with the analysed pattern.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] when more than n − 1 pairs are asked for, [`Error::EigenNotConverged`] when
    /// every link of the chain failed.
    pub fn smallest(
        &self,
        graph: &Graph,
        pi: &[f64],
        params: &EigenParams,
        start: Option<&[f64]>,
    ) -> Result<Eigenpairs> {
        if params.n_pairs >= self.n.max(1) {
            return Err(Error::InvalidParameter {
                name: "the number of components",
                value: params.n_pairs as f64,
                expected: "below the number of vertices",
            });
        }
        let scale: Vec<f64> = pi.iter().map(|p| 1.0 / p.sqrt()).collect();
        let zero = self.null_vectors(pi, params.n_pairs);
        self.append_nontrivial(zero, graph, &scale, params, start)
    }

    /// The smallest pairs of positive eigenvalue, as many as asked for: none of them moves a component as a whole.
    pub(super) fn smallest_positive(
        &self,
        graph: &Graph,
        pi: &[f64],
        params: &EigenParams,
    ) -> Result<Eigenpairs> {
        let scale: Vec<f64> = pi.iter().map(|p| 1.0 / p.sqrt()).collect();
        self.append_nontrivial(Vec::new(), graph, &scale, params, None)
    }

    /// The closed-form vectors of eigenvalue zero, then the smallest pairs of all components together.
    fn append_nontrivial(
        &self,
        mut zero: Vec<f64>,
        graph: &Graph,
        scale: &[f64],
        params: &EigenParams,
        start: Option<&[f64]>,
    ) -> Result<Eigenpairs> {
        let n_zero = zero.len() / self.n.max(1);
        let remaining = params.n_pairs - n_zero;
        let mut found: Vec<(f64, usize, Vec<f64>)> = Vec::new();
        let (mut residual, mut steps): (f64, usize) = (0.0, 0);
        let mut guards = Vec::new();
        if remaining > 0 {
            for (p, piece) in self.pieces.iter().enumerate() {
                let part = self.solve_piece(piece, graph, scale, remaining, params, start)?;
                residual = residual.max(part.residual);
                steps += part.steps;
                if self.pieces.len() == 1 {
                    guards = part.guards;
                }
                let size = piece.vertices.len();
                for (value, column) in part.values.iter().zip(part.vectors.chunks_exact(size)) {
                    found.push((*value, p, column.to_vec()));
                }
            }
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut values = vec![0.0; n_zero];
        for (value, p, column) in found.into_iter().take(remaining) {
            values.push(value);
            let first = zero.len();
            zero.resize(first + self.n, 0.0);
            for (&v, x) in self.pieces[p].vertices.iter().zip(column) {
                zero[first + v as usize] = x;
            }
        }
        Ok(Eigenpairs { values, vectors: zero, guards, residual, steps })
    }

    /// Orthonormal combinations of the components' indicators, orthogonal to the trivial vector: each column sets
    /// one component against all larger ones.
    fn null_vectors(&self, pi: &[f64], limit: usize) -> Vec<f64> {
        let mass: Vec<f64> =
            self.pieces.iter().map(|p| p.vertices.iter().map(|&v| pi[v as usize]).sum()).collect();
        let mut order: Vec<usize> = (0..self.pieces.len()).collect();
        order.sort_by(|&a, &b| mass[b].total_cmp(&mass[a]).then(a.cmp(&b)));
        let mut columns = Vec::new();
        let mut total = order.first().map_or(0.0, |&p| mass[p]);
        for j in 1..order.len().min(limit + 1) {
            let (own, all) = (mass[order[j]], total + mass[order[j]]);
            let (inside, outside) = ((own / (total * all)).sqrt(), -(total / (own * all)).sqrt());
            let first = columns.len();
            columns.resize(first + self.n, 0.0);
            for (&p, height) in order[..j].iter().zip(std::iter::repeat(inside)).chain([(&order[j], outside)])
            {
                for &v in &self.pieces[p].vertices {
                    columns[first + v as usize] = height * pi[v as usize].sqrt();
                }
            }
            total = all;
        }
        columns
    }

    fn solve_piece(
        &self,
        piece: &Piece,
        graph: &Graph,
        scale: &[f64],
        wanted: usize,
        params: &EigenParams,
        start: Option<&[f64]>,
    ) -> Result<Eigenpairs> {
        let size = piece.vertices.len();
        let wanted = wanted.min(size - 1);
        if wanted == 0 {
            return Ok(Eigenpairs::default());
        }
        let params = EigenParams { n_pairs: wanted, ..*params };
        if size == self.n {
            return self.connected(piece, graph, scale).solve(&params, start.unwrap_or(&[]));
        }
        let pick = |from: &[f64]| -> Vec<f64> { piece.vertices.iter().map(|&v| from[v as usize]).collect() };
        let guess: Vec<f64> = start.map_or(Vec::new(), |s| s.chunks_exact(self.n).flat_map(pick).collect());
        let (sub, scale) = (graph.induced(&piece.vertices), pick(scale));
        self.connected(piece, &sub, &scale).solve(&params, &guess)
    }

    fn connected<'a>(&self, piece: &'a Piece, graph: &'a Graph, scale: &'a [f64]) -> Connected<'a> {
        let (symbolic, costly, known) = (piece.symbolic.as_ref(), Some(&piece.costly), Some(&piece.known));
        Connected { graph, scale, symbolic, costly, known, may_split: self.may_split }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{graph::half_disc, linalg::dense, random::Random};

    /// Sweep by sweep the ties between the tiles of a grid get weaker. Single precision carries right-hand sides until their
    /// rounding would be heard among the stiff edges of the tiles, and few steps are enough throughout: from then on the
    /// factor is a linear map, if not an exact inverse.
    #[test]
    fn right_hand_sides_go_on_in_double_precision() {
        let mut random = Random::new(5);
        let stiffness: Vec<f64> = (0..2000).map(|_| 0.5 + random.uniform()).collect();
        let tile = |v: usize| (v / 17 / 4, v % 17 / 4);
        let grid = Graph::from_stencil(16, 17, half_disc(6.0), |_, _| 1.0).unwrap();
        let grid = grid.induced(&(0..272).collect::<Vec<u32>>());
        let spectrum = Spectrum::analyze(&grid);
        let pi = vec![1.0; grid.n_vertices()];
        let is_rounded = || spectrum.pieces[0].known.lock().unwrap().is_rounded;
        let (mut turned, mut warm) = (Vec::new(), Vec::new());
        for decades in [1.0, 4.0, 8.0, 12.0, 13.0] {
            let weight = |i: usize, j: usize, _: f64| {
                let tie = if tile(i) == tile(j) { 1.0 } else { 10_f64.powf(-decades) };
                tie * stiffness[(7 * i + j) % 2000]
            };
            let graph = grid.map_weights(weight);
            let params = EigenParams { tol: 1e-8, ..EigenParams::new(14) };
            let found = spectrum.smallest(&graph, &pi, &params, Some(&warm)).unwrap();
            assert!(found.residual <= params.tol, "{decades} decades: {}", found.residual);
            assert!(decades < 2.0 || found.steps <= 5, "{decades} decades: {} steps", found.steps);
            let (values, _) = dense::laplacian_eigen(&graph, &pi);
            for (a, b) in found.values.iter().zip(&values) {
                assert!((a - b).abs() <= 1e-6 * b, "{decades} decades: {a} {b}");
            }
            turned.push(is_rounded());
            warm = [found.vectors, found.guards].concat();
        }
        assert!(!turned[1] && turned[4], "{turned:?}");
    }
}
