//! One connected eigenproblem: a chain of solvers, each link judged by ‖A⁺(Ax − λx)‖.
//!
//! Block Davidson with a single-precision factor, the same in double precision, for
//! pieces that all but fall apart a split into clusters (see `clusters`), a dense solver, and at
//! the end the dense solver of high relative accuracy, which needs no judge.

use std::{
    cell::{Cell, OnceCell},
    sync::{Mutex, OnceLock, PoisonError},
};

use super::{
    clusters, large,
    limits::{self, DENSE_LIMIT, MAX_ENTRIES, MAX_FLOPS},
    plain,
    spectrum::{EigenParams, Eigenpairs},
};
use crate::{
    error::{Error, Result},
    graph::Graph,
    labels::Labels,
    linalg::{
        LinearOperator, axpy,
        cholesky::{Factor, Room, Scalar, Symbolic},
        conjugate,
        davidson::{self, Outcome},
        dense, dot, norm,
        orthonormalize::project_out,
    },
    parallel, simd,
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

/// Relative rounding of a number in single precision.
const ROUNDING: f64 = 0.5 * f32::EPSILON as f64;

/// Solutions in single precision are taken where the energy of their rounding is below this share of their own.
const HEARD: f64 = 1e-3;

/// What earlier solves of a piece have shown.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Whether rounding in single precision has more than its share of energy: sweep by sweep the weights drift further apart.
    pub(super) is_rounded: bool,
    /// The memory of the last factor.
    room: Room,
}

/// One connected eigenproblem.
pub(super) struct Connected<'a> {
    pub(super) graph: &'a Graph,
    /// π^-½
    pub(super) scale: &'a [f64],
    pub(super) symbolic: Option<&'a Symbolic>,
    pub(super) costly: Option<&'a OnceLock<Option<Symbolic>>>,
    pub(super) known: Option<&'a Mutex<Known>>,
    pub(super) may_split: bool,
}

impl Connected<'_> {
    pub(super) fn solve(&self, params: &EigenParams, start: &[f64]) -> Result<Eigenpairs> {
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
        self.symbolic.or_else(|| parallel::once(self.costly?, costly).as_ref())
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
        if is_single {
            best.add(self.davidson_factored::<f32>(params, start).map(finished));
        }
        if best.residual() > params.tol {
            best.add(self.davidson_factored::<f64>(params, start).map(finished));
        }
    }

    /// Whether earlier solves have shown that single precision is not enough for right-hand sides.
    fn is_rounded(&self) -> bool {
        self.known.is_some_and(|known| known.lock().unwrap_or_else(PoisonError::into_inner).is_rounded)
    }

    fn remember_rounded(&self) {
        if let Some(known) = self.known {
            known.lock().unwrap_or_else(PoisonError::into_inner).is_rounded = true;
        }
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
        self.graph.is_connected_above(share * self.graph.largest_weight())
    }

    /// T = A⁺ R = (I − qqᵀ) Π^½ L⁺ Π^½ R by a solver for L; q is Π^½ 1, of unit length.
    fn through(&self, solve: impl Fn(&[f64], &mut [f64]), q: &[f64], r: &[f64], t: &mut [f64]) {
        let n = self.scale.len();
        // Π^½ up to a factor.
        let root = q;
        let mut rhs = r.to_vec();
        parallel::for_each_chunk(&mut rhs, n, |_, column| {
            simd::widest(
                #[inline(always)]
                || column.iter_mut().zip(root).for_each(|(r, root)| *r *= root),
            );
        });
        solve(&rhs, t);
        let stretch = 1.0 / (self.scale[0] * root[0]);
        let stretch = stretch * stretch;
        let total = dot(root, root);
        parallel::for_each_chunk(t, n, |_, column| {
            // Centre before scaling: the ground vertex may lie far below everything else.
            simd::widest(
                #[inline(always)]
                || {
                    let mean = weighted_sum(column, root) / total;
                    column.iter_mut().zip(root).for_each(|(x, root)| *x = stretch * (*x - mean) * root);
                },
            );
            project_out(q, column);
        });
    }

    /// Whether the rounding of A⁺ R to single precision would have a share in its energy, tᵀAt = tᵀr, that can be heard: that of
    /// a slow motion of all vertices is a fast one, and the edges between some of them are stiff.
    fn drowns(diagonal: &[f64], r: &[f64], t: &[f64]) -> bool {
        let n = diagonal.len();
        r.chunks_exact(n).zip(t.chunks_exact(n)).any(|(r, t)| {
            let stretched: f64 = t.iter().zip(diagonal).map(|(t, d)| d * t * t).sum();
            ROUNDING * ROUNDING * stretched > HEARD * dot(r, t).max(0.0)
        })
    }

    fn davidson_factored<T: Scalar>(&self, params: &EigenParams, start: &[f64]) -> Option<Outcome> {
        let mut room = self.exchange_room(Room::None);
        let factor = Factor::<T>::new_in(self.factor_structure()?, self.graph, &mut room);
        let q = limits::null_vector(self.scale);
        let quick = |r: &[f64], t: &mut [f64]| self.through(|b, x| factor.solve(b, x), &q, r, t);
        let in_double = Cell::new(self.is_rounded() || size_of::<T>() == size_of::<f64>());
        let diagonal = OnceCell::new();
        let inverse = |r: &[f64], t: &mut [f64]| {
            if !in_double.get() {
                quick(r, t);
                let diagonal = diagonal.get_or_init(|| limits::diagonal(self.graph, self.scale));
                if !Self::drowns(diagonal, r, t) {
                    return;
                }
                in_double.set(true);
                self.remember_rounded();
            }
            self.through(|b, x| factor.solve_in_double(b, x), &q, r, t);
        };
        let outcome = self.davidson(&inverse, &quick, &q, start, &settings(params, 60));
        self.exchange_room(factor.into_room());
        Some(outcome)
    }

    /// Leaves memory for the next factor in place of what is there.
    fn exchange_room(&self, room: Room) -> Room {
        let known = self.known.map(|known| known.lock().unwrap_or_else(PoisonError::into_inner));
        known.map_or(Room::None, |mut known| std::mem::replace(&mut known.room, room))
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
        self.davidson(&inverse, &inverse, &q, start, &settings(params, 40))
    }

    /// The block solver with an inverse, and one that will do for a first guess.
    fn davidson(
        &self,
        inverse: &dyn Fn(&[f64], &mut [f64]),
        quick: &dyn Fn(&[f64], &mut [f64]),
        q: &[f64],
        start: &[f64],
        settings: &davidson::Params,
    ) -> Outcome {
        let operator = self.graph.laplacian().scaled(self.scale);
        if start.is_empty() {
            let guess = davidson::first_guess(quick, q, q.len(), settings);
            return davidson::smallest(&operator, inverse, q, &guess, settings);
        }
        davidson::smallest(&operator, inverse, q, start, settings)
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
        self.through(|b, x| factor.solve(b, x), &q, &residuals, &mut mapped);
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
#[inline(always)]
fn weighted_sum(x: &[f64], root: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (xs, roots) = (x.chunks_exact(8), root.chunks_exact(8));
    let tail: f64 = xs.remainder().iter().zip(roots.remainder()).map(|(x, root)| x * root * root).sum();
    for (x, root) in xs.zip(roots) {
        for l in 0..8 {
            sums[l] += x[l] * root[l] * root[l];
        }
    }
    sums.iter().sum::<f64>() + tail
}

/// As many steps as it takes, up to a number of them.
fn settings(params: &EigenParams, max_steps: usize) -> davidson::Params {
    let EigenParams { n_pairs, tol, seed } = *params;
    davidson::Params { n_pairs, tol, max_steps, seed }
}

fn finished(outcome: Outcome) -> Eigenpairs {
    let Outcome { values, vectors, guards, residual, steps, .. } = outcome;
    Eigenpairs { values, vectors, guards, residual, steps }
}
