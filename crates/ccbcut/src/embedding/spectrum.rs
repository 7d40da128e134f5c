//! The smallest nontrivial eigenpairs of Π^-½ L̂ Π^-½: a solver that does not fail.
//!
//! Connected components are found before any eigensolver is asked: c of them give c − 1 eigenvectors of eigenvalue
//! zero in closed form, and the rest is solved component by component. A connected piece goes through a chain, each
//! link judged by ‖A⁺(Ax − λx)‖: block Davidson with a single-precision factor, the same in double precision, for
//! pieces that all but fall apart a split into clusters (see `clusters`), a dense solver, and at
//! the end the dense solver of high relative accuracy, which needs no judge.

use std::{
    borrow::Cow,
    sync::{Mutex, OnceLock, PoisonError},
};

use super::{
    clusters, large,
    limits::{self, DENSE_LIMIT, MAX_ENTRIES, MAX_FLOPS},
    plain,
};
use crate::{
    error::{Error, Result},
    graph::Graph,
    labels::Labels,
    linalg::{
        LinearOperator, axpy, block_for,
        cholesky::{Factor, Scalar, Symbolic},
        conjugate,
        davidson::{self, Outcome},
        dense, dot, norm,
        orthonormalize::project_out,
    },
    parallel,
};

/// The largest piece that goes to a standard dense solver.
const DENSE_MAX: usize = 2500;

/// The largest piece that goes to the dense solver of high relative accuracy at the end of the chain.
const DENSE_RELATIVE_MAX: usize = 600;

/// A solution with an error of up to this is as good as a dense solver's would be.
const GOOD: f64 = 1e-2;

/// Where nothing better is left, a solution is taken with an error of up to this, and the report tells: ties over 40
/// decades without a gap may leave one vector of many in doubt, which is no reason to refuse a cut.
const ACCEPTED: f64 = 0.5;

/// Operations of a factorisation per entry of the factor that take as long as one column takes in a step of the block solver:
/// it is read twice, and beside it go a product with the edges and those with the basis.
const FLOPS_PER_ENTRY: f64 = 5.0;

/// Steps that double precision may take as well: up to here it is not known that rounding is what makes them many.
const PRECISE_STEPS: f64 = 8.0;

/// From so many pairs on it is asked which precision is faster.
const MANY_PAIRS: usize = 6;

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

/// What earlier solves of a piece have shown.
#[derive(Debug, Default)]
struct Known {
    /// A tree that held the piece together by heavy edges last time.
    tree: Vec<u32>,
    /// Whether a factor in single precision took longer than one in double precision would have: sweep by sweep the weights
    /// drift further apart.
    is_demanding: bool,
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

/// One connected eigenproblem.
struct Connected<'a> {
    graph: &'a Graph,
    /// π^-½
    scale: &'a [f64],
    symbolic: Option<&'a Symbolic>,
    costly: Option<&'a OnceLock<Option<Symbolic>>>,
    known: Option<&'a Mutex<Known>>,
    may_split: bool,
}

impl Connected<'_> {
    fn solve(&self, params: &EigenParams, start: &[f64]) -> Result<Eigenpairs> {
        let n = self.graph.n_vertices();
        if n <= DENSE_LIMIT {
            return Ok(self.dense_relative(params.n_pairs, 0));
        }
        let mut best = Best::default();
        if large::is_large(self.graph) {
            best.add(large::smallest(self.graph, self.scale, params, start));
            if best.residual() <= params.tol.max(large::ACCEPTED) {
                return best.into_pairs(params.tol);
            }
        }
        let is_single = self.is_connected_above(100.0 * <f32 as Scalar>::NEGLIGIBLE);
        let is_resolved = is_single || !self.may_split || self.is_connected_above(clusters::UNRESOLVED);
        let is_small = n <= DENSE_RELATIVE_MAX;
        // What vectors cannot resolve goes by clusters first; what they can, last.
        for by_clusters in [!is_resolved, is_resolved] {
            if by_clusters {
                best.add(self.by_clusters(params));
            } else if 3 * params.n_pairs < n && (is_resolved || !is_small) {
                self.iterative_attempts(params, start, is_single, &mut best);
            }
            let tol = if self.symbolic.is_none() { params.tol.max(plain::ACCEPTED) } else { params.tol };
            if best.residual() <= tol {
                return best.into_pairs(tol);
            }
        }
        if n <= DENSE_MAX && is_resolved && best.residual() > GOOD {
            best.add(self.dense_checked(params));
        }
        if is_small && best.residual() > params.tol {
            return Ok(self.dense_relative(params.n_pairs, 0));
        }
        best.into_pairs(params.tol)
    }

    /// How a factor is made, at any price that can be paid.
    fn factor_structure(&self) -> Option<&Symbolic> {
        let costly = || Symbolic::analyze(self.graph, MAX_FLOPS, MAX_ENTRIES);
        self.symbolic.or_else(|| self.costly?.get_or_init(costly).as_ref())
    }

    /// The block solver with each inverse that suits the weights, one after the other, until one converges.
    fn iterative_attempts(&self, params: &EigenParams, start: &[f64], is_single: bool, best: &mut Best) {
        if self.symbolic.is_none() {
            best.add(Some(plain::smallest(self.graph, self.scale, params, start)));
            if best.residual() <= params.tol.max(plain::ACCEPTED) {
                return;
            }
            if self.factor_structure().is_none() {
                if best.residual() > plain::ACCEPTED_LAST {
                    best.add(Some(finished(self.davidson_free(params, start))));
                }
                return;
            }
        }
        let mut start = Cow::Borrowed(start);
        if is_single && !self.is_demanding(false) {
            let outcome = self.davidson_factored::<f32>(params, &start);
            if let Some(outcome) = &outcome {
                self.is_demanding(
                    outcome.is_slow || outcome.mapped as f64 > self.patience(params.n_pairs, &start),
                );
                if outcome.is_slow {
                    start = Cow::Owned([outcome.vectors.as_slice(), &outcome.guards].concat());
                }
            }
            best.add(outcome.map(finished));
        }
        if best.residual() > params.tol {
            best.add(self.davidson_factored::<f64>(params, &start).map(finished));
        }
    }

    /// Whether double precision is the faster way, as earlier solves have shown, or this one.
    fn is_demanding(&self, now: bool) -> bool {
        let Some(known) = self.known else { return now };
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        known.is_demanding |= now;
        known.is_demanding
    }

    /// How many columns could go through a solver's steps in the time that a factor in double precision and what it takes
    /// with it would need. Few columns are always taken to the end, as their steps are cheap, and so is what does not start
    /// from an earlier solution: many steps are no sign of rounding there.
    fn patience(&self, n_pairs: usize, start: &[f64]) -> f64 {
        if n_pairs < MANY_PAIRS || start.is_empty() {
            return f64::INFINITY;
        }
        let worth = |s: &Symbolic| s.flops() / (FLOPS_PER_ENTRY * s.entries().max(1.0));
        let steps = PRECISE_STEPS * block_for(n_pairs) as f64;
        self.factor_structure().map_or(f64::INFINITY, |structure| worth(structure) + steps)
    }

    /// The best of a few separations into clusters.
    fn by_clusters(&self, params: &EigenParams) -> Option<Eigenpairs> {
        let mut best = Best::default();
        if self.may_split {
            let pi: Vec<f64> = self.scale.iter().map(|s| 1.0 / (s * s)).collect();
            for labels in clusters::candidates(self.graph, &pi) {
                best.add(self.split_into_clusters(&labels, params).ok());
                if best.residual() <= params.tol {
                    break;
                }
            }
        }
        best.0
    }

    /// Solves a graph whose clusters are tied by weights far below everything inside them: first the graph of the
    /// clusters, whose eigenvectors are constant inside each, then every cluster by itself.
    fn split_into_clusters(&self, labels: &Labels, params: &EigenParams) -> Result<Eigenpairs> {
        let n = self.scale.len();
        let pi: Vec<f64> = self.scale.iter().map(|s| 1.0 / (s * s)).collect();
        let (quotient, masses) = clusters::quotient(self.graph, labels, &pi);
        let n_slow = params.n_pairs.min(labels.n_segments() - 1);
        let quotient_scale: Vec<f64> = masses.iter().map(|m| 1.0 / m.sqrt()).collect();
        let (graph, scale) = (&quotient, quotient_scale.as_slice());
        let slow = Connected { graph, scale, symbolic: None, costly: None, known: None, may_split: false };
        let slow = slow.dense_relative(n_slow, 0);
        let inside = clusters::inside(self.graph, labels);
        // One more than needed: the slowest motion inside a cluster says how good the separation is.
        let n_fast = (params.n_pairs - n_slow + 1).min(n - labels.n_segments());
        let fast = clusters::fast_pairs(&inside, &pi, &EigenParams { n_pairs: n_fast, ..*params })?;
        let coupling = match (slow.values.last(), fast.values.first()) {
            (Some(slow), Some(fast)) => slow / fast,
            _ => 0.0,
        };
        // Eigenvalues are off by the coupling too, not by its square; where a dense solver is at hand, that counts.
        let coupling = if n <= DENSE_RELATIVE_MAX { 1e3 * coupling } else { coupling };
        let mut vectors = Vec::with_capacity(n * params.n_pairs);
        for column in slow.vectors.chunks_exact(masses.len()) {
            vectors.extend(
                labels
                    .as_slice()
                    .iter()
                    .zip(&pi)
                    .map(|(&c, p)| column[c as usize] * (p / masses[c as usize]).sqrt()),
            );
        }
        vectors.extend_from_slice(&fast.vectors[..n * (params.n_pairs - n_slow)]);
        let values = slow.values.iter().chain(&fast.values).take(params.n_pairs).copied().collect();
        let residual = slow.residual.max(fast.residual).max(coupling);
        Ok(Eigenpairs { values, vectors, guards: Vec::new(), residual, steps: slow.steps + fast.steps })
    }

    /// Whether the graph hangs together by edges of more than a share of the largest weight.
    fn is_connected_above(&self, share: f64) -> bool {
        let least = share * self.graph.largest_weight();
        let Some(known) = self.known else { return self.graph.spanning_tree(least).is_some() };
        // The tree of an earlier sweep usually still holds.
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        if self.graph.is_spanned_by(&known.tree, least) {
            return true;
        }
        let found = self.graph.spanning_tree(least);
        if let Some(tree) = found {
            known.tree = tree;
            return true;
        }
        false
    }

    /// T = A⁺ R = (I − qqᵀ) Π^½ L⁺ Π^½ R by a factorisation; q is Π^½ 1, of unit length.
    fn through<T: Scalar>(&self, factor: &Factor<'_, T>, q: &[f64], r: &[f64], t: &mut [f64]) {
        let n = self.scale.len();
        // Π^½ up to a factor.
        let root = q;
        let mut rhs = r.to_vec();
        parallel::for_each_chunk(&mut rhs, n, |_, column| {
            column.iter_mut().zip(root).for_each(|(r, root)| *r *= root);
        });
        factor.solve(&rhs, t);
        let stretch = 1.0 / (self.scale[0] * root[0]);
        let stretch = stretch * stretch;
        let total = dot(root, root);
        parallel::for_each_chunk(t, n, |_, column| {
            // Centre before scaling: the ground vertex may lie far below everything else.
            let mean = weighted_sum(column, root) / total;
            column.iter_mut().zip(root).for_each(|(x, root)| *x = stretch * (*x - mean) * root);
            project_out(q, column);
        });
    }

    fn davidson_factored<T: Scalar>(&self, params: &EigenParams, start: &[f64]) -> Option<Outcome> {
        let factor = Factor::<T>::new(self.factor_structure()?, self.graph);
        let q = limits::null_vector(self.scale);
        let inverse = |r: &[f64], t: &mut [f64]| self.through(&factor, &q, r, t);
        // There is nothing better than double precision.
        let patience = if size_of::<T>() < size_of::<f64>() {
            self.patience(params.n_pairs, start)
        } else {
            f64::INFINITY
        };
        Some(self.davidson(&inverse, &q, params, start, (60, patience)))
    }

    /// Without a factorisation: every product with A⁺ by conjugate gradients.
    fn davidson_free(&self, params: &EigenParams, start: &[f64]) -> Outcome {
        let n = self.scale.len();
        let q = limits::null_vector(self.scale);
        let inverse = |r: &[f64], t: &mut [f64]| {
            for (r, t) in r.chunks_exact(n).zip(t.chunks_exact_mut(n)) {
                self.conjugate_gradients(&q, r, t);
            }
        };
        self.davidson(&inverse, &q, params, start, (40, f64::INFINITY))
    }

    fn davidson(
        &self,
        inverse: &dyn Fn(&[f64], &mut [f64]),
        q: &[f64],
        params: &EigenParams,
        start: &[f64],
        (max_steps, patience): (usize, f64),
    ) -> Outcome {
        let operator = self.graph.laplacian().scaled(self.scale);
        let (n_pairs, tol, seed) = (params.n_pairs, params.tol, params.seed);
        let settings = davidson::Params { n_pairs, tol, max_steps, patience, seed };
        davidson::smallest(&operator, inverse, q, start, &settings)
    }

    fn conjugate_gradients(&self, q: &[f64], b: &[f64], x: &mut [f64]) {
        let operator = self.graph.laplacian().scaled(self.scale);
        let diagonal = limits::diagonal(self.graph, self.scale);
        let precondition = |r: &[f64], z: &mut [f64]| {
            z.iter_mut().zip(r).zip(&diagonal).for_each(|((z, r), d)| *z = r / d);
            project_out(q, z);
        };
        let params = conjugate::Params { tol: 1e-5, max_steps: 20_000 };
        conjugate::solve(|p, out| operator.apply(p, out), precondition, b, x, params);
        project_out(q, x);
    }

    fn dense_relative(&self, wanted: usize, steps: usize) -> Eigenpairs {
        let n = self.scale.len();
        let (mut values, mut vectors) = dense::laplacian_eigen(self.graph, self.scale);
        values.truncate(wanted);
        vectors.truncate(wanted * n);
        Eigenpairs { values, vectors, guards: Vec::new(), residual: f64::EPSILON * n as f64, steps }
    }

    /// The standard dense solver, accepted only when every pair passes the same test as an iterative solution.
    fn dense_checked(&self, params: &EigenParams) -> Option<Eigenpairs> {
        let n = self.scale.len();
        let factor = Factor::<f64>::new(self.factor_structure()?, self.graph);
        let (mut values, mut vectors) = dense::laplacian_eigen_absolute(self.graph, self.scale)?;
        values.truncate(params.n_pairs);
        vectors.truncate(params.n_pairs * n);
        let q = limits::null_vector(self.scale);
        let operator = self.graph.laplacian().scaled(self.scale);
        let mut residuals = vec![0.0; vectors.len()];
        operator.apply_block(&vectors, &mut residuals);
        for ((x, r), value) in
            vectors.chunks_exact(n).zip(residuals.chunks_exact_mut(n)).zip(values.iter_mut())
        {
            *value = dot(x, r);
            axpy(-*value, x, r);
        }
        let mut mapped = vec![0.0; vectors.len()];
        self.through(&factor, &q, &residuals, &mut mapped);
        let residual = mapped.chunks_exact(n).map(norm).fold(0.0, f64::max);
        (residual <= params.tol).then_some(Eigenpairs {
            values,
            vectors,
            guards: Vec::new(),
            residual,
            steps: 0,
        })
    }
}

/// The most accurate solution so far.
#[derive(Debug, Default)]
struct Best(Option<Eigenpairs>);

impl Best {
    fn residual(&self) -> f64 {
        self.0.as_ref().map_or(f64::INFINITY, |pairs| pairs.residual)
    }

    fn add(&mut self, pairs: Option<Eigenpairs>) {
        if let Some(pairs) = pairs
            && pairs.residual < self.residual()
        {
            self.0 = Some(pairs);
        }
    }

    /// The solution, if it is one at all: an error that is larger than asked for is reported with it.
    fn into_pairs(self, tol: f64) -> Result<Eigenpairs> {
        match self.0 {
            Some(pairs) if pairs.residual <= tol.max(ACCEPTED) => Ok(pairs),
            other => {
                let (iterations, residual) = other.map_or((0, f64::INFINITY), |p| (p.steps, p.residual));
                Err(Error::EigenNotConverged { iterations, residual, tol })
            }
        }
    }
}

/// Σ x root², with eight running sums.
fn weighted_sum(x: &[f64], root: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    for (x, root) in x.chunks(8).zip(root.chunks(8)) {
        for ((sum, x), root) in sums.iter_mut().zip(x).zip(root) {
            *sum += x * root * root;
        }
    }
    sums.iter().sum()
}

fn finished(outcome: Outcome) -> Eigenpairs {
    let Outcome { values, vectors, guards, residual, steps, .. } = outcome;
    Eigenpairs { values, vectors, guards, residual, steps }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{graph::half_disc, random::Random};

    /// Sweep by sweep the weights of a grid drift apart. From where single precision gets slow, double precision is taken at
    /// once, and the pairs are those of the dense solver throughout.
    #[test]
    fn many_columns_go_on_in_double_precision() {
        let mut random = Random::new(5);
        let exponents: Vec<f64> = (0..2000).map(|_| random.uniform()).collect();
        let grid = Graph::from_stencil(16, 17, half_disc(6.0), |_, _| 1.0).unwrap();
        let grid = grid.induced(&(0..272).collect::<Vec<u32>>());
        let spectrum = Spectrum::analyze(&grid);
        let pi = vec![1.0; grid.n_vertices()];
        let is_demanding = || spectrum.pieces[0].known.lock().unwrap().is_demanding;
        let (mut turned, mut warm) = (Vec::new(), Vec::new());
        for decades in [1.0, 6.0, 9.0, 11.0, 12.0] {
            let weight = |i: usize, j: usize, _: f64| 10_f64.powf(-decades * exponents[(7 * i + j) % 2000]);
            let graph = grid.map_weights(weight);
            let params = EigenParams { tol: 1e-8, ..EigenParams::new(14) };
            let found = spectrum.smallest(&graph, &pi, &params, Some(&warm)).unwrap();
            assert!(found.residual <= params.tol, "{decades} decades: {}", found.residual);
            let (values, _) = dense::laplacian_eigen(&graph, &pi);
            for (a, b) in found.values.iter().zip(&values) {
                assert!((a - b).abs() <= 1e-6 * b, "{decades} decades: {a} {b}");
            }
            turned.push(is_demanding());
            warm = [found.vectors, found.guards].concat();
        }
        assert!(!turned[0] && turned[4], "{turned:?}");
    }
}
