//! Two-way balanced cuts by descent on their tight relaxation: the inverse power method and RatioDCA.
//!
//! For every criterion of two parts, min R(f)/S(f) over all vectors (see `lovasz`) equals the best cost over all sets.
//! Each step replaces S by a linear function that supports it at f, solves the convex problem that is left (`inner_dual`,
//! in the end `min_cut`), and is taken only if R/S falls. With the Cheeger balance this is the inverse power method of Hein &
//! Bühler; with any other concave balance, such as Ψ_τ of the CCB cuts for τ ≤ 2, it is what RatioDCA of Hein & Setzer
//! comes to, as the concave half of the difference is empty.

use super::{
    inner_dual::InnerDual,
    lovasz::Lovasz,
    min_cut::{MOST_EDGES, MinCut},
    threshold::{Prefixes, Split, SplitContext, best_prefix},
};
use crate::{
    cost::Criterion,
    embedding::spectrum::{EigenParams, Spectrum},
    error::{Error, Result},
    graph::{Balance, Graph},
    parallel,
    random::Random,
};

/// Steps of the first inner problem.
const STEPS: usize = 20;

/// The most steps of an inner problem, and the edges that they may visit in all.
const MOST_STEPS: usize = 640;
const WORK: usize = 1 << 22;

/// Where that many steps lower the quotient by less than this share of itself, a minimum cut solves the inner problem.
const GOOD_GAIN: f64 = 1e-2;

/// A step counts when the quotient falls by more than this share of itself.
const LEAST_GAIN: f64 = 1e-10;

/// Finds two-way cuts of low cost in a connected graph.
///
/// ```
/// use ccbcut::{Balance, cost::Criterion, graph::gallery, partition::BalancedCut};
/// let graph = gallery::planted(&[12, 8], 0.9, 0.05, 1);
/// let cut = BalancedCut::new(Criterion::Cheeger).best(&graph, &Balance::Normalized)?;
/// assert_eq!(cut.low.len().min(cut.high.len()), 8);
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BalancedCut {
    criterion: Criterion,
    n_random: usize,
    max_outer: usize,
    eigen_tol: f64,
    seed: u64,
}

/// The vectors that the descents from all starts ended in.
#[derive(Debug, Clone, PartialEq)]
pub struct Descents {
    /// One value per vertex and start, start after start: that of the second eigenvector first.
    pub columns: Vec<f64>,
    /// R/S of each.
    pub quotients: Vec<f64>,
    /// The second eigenvector, and for each start the last vector that was not made a set. Where parts must not be small, or
    /// are scored in a larger graph, the best set may not do, and these have more thresholds to choose from.
    pub blurred: Vec<f64>,
    /// Whether every descent went to its end.
    pub is_complete: bool,
}

impl BalancedCut {
    /// Ten random starts beside the second eigenvector, as in the public code of the inverse power method.
    pub fn new(criterion: Criterion) -> Self {
        Self { criterion, n_random: 10, max_outer: 100, eigen_tol: 1e-6, seed: 0 }
    }

    /// How many random starts there are beside the second eigenvector.
    #[must_use]
    pub fn n_random(mut self, n_random: usize) -> Self {
        self.n_random = n_random;
        self
    }

    /// The most inner problems of one descent.
    #[must_use]
    pub fn max_outer(mut self, max_outer: usize) -> Self {
        self.max_outer = max_outer;
        self
    }

    /// Accuracy of the second eigenvector.
    #[must_use]
    pub fn eigen_tol(mut self, eigen_tol: f64) -> Self {
        self.eigen_tol = eigen_tol;
        self
    }

    /// Seed of the random starts.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The best cut found from all starts.
    ///
    /// # Errors
    /// Those of [`BalancedCut::descend`].
    pub fn best(&self, graph: &Graph, balance: &Balance) -> Result<Split> {
        let found = self.descend(graph, balance, &|| false)?;
        let pi = balance.weights(graph)?;
        let ctx = SplitContext { graph, pi: &pi, criterion: self.criterion };
        let columns = found.columns.chunks_exact(graph.n_vertices());
        let mut best: Option<Split> = None;
        for column in columns {
            let Some(split) = round(&ctx, column)? else { continue };
            let cost = |split: &Split| split.cost(self.criterion);
            if best.as_ref().is_none_or(|best| cost(&split) < cost(best)) {
                best = Some(split);
            }
        }
        best.ok_or(Error::TooFewVertices { vertices: graph.n_vertices(), segments: 2 })
    }

    /// Descends from the second eigenvector, rounded to its best threshold, and from random vectors.
    ///
    /// `stop` is asked now and then; once it says `true` every descent ends where it is.
    ///
    /// # Errors
    /// [`Error::TauOutOfRange`] unless 0 < τ ≤ 2, [`Error::TooFewVertices`] for fewer than two vertices,
    /// [`Error::InvalidParameter`] for a limit of zero and for more than 2³¹ edges; the errors of the balance and of the eigensolver.
    ///
    /// # Complexity
    /// O(|E|) per inner step, of which each start takes some hundreds, and some minimum cuts.
    ///
    /// # References
    /// Hein & Bühler, *An inverse power method for nonlinear eigenproblems with applications in 1-spectral clustering
    /// and sparse PCA*, NIPS 2010; Hein & Setzer, *Beyond spectral clustering: tight relaxations of balanced graph
    /// cuts*, NIPS 2011.
    pub fn descend(
        &self,
        graph: &Graph,
        balance: &Balance,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Descents> {
        self.validate(graph)?;
        let pi = balance.weights(graph)?;
        let (dual, cut) = (InnerDual::new(graph), MinCut::new(graph));
        let n = graph.n_vertices();
        let descent = Descent {
            dual: &dual,
            cut: &cut,
            lovasz: Lovasz { criterion: self.criterion, pi: &pi },
            stop,
            limit: self.max_outer,
        };
        let eigen = self.eigenvector_start(graph, &pi)?;
        let starts = parallel::map(1 + self.n_random, |start| {
            if start == 0 {
                return descent.run(eigen.set.clone());
            }
            // Streams of their own, so that each start is the same whatever the number of starts.
            let mut random = Random::new(self.seed.wrapping_add(start as u64));
            descent.run((0..n).map(|_| random.normal()).collect())
        });
        let mut found = Descents {
            columns: Vec::new(),
            quotients: Vec::new(),
            blurred: eigen.vector,
            is_complete: !stop(),
        };
        for End { vector, quotient, blurred } in starts {
            found.columns.extend(vector);
            found.quotients.push(quotient);
            found.blurred.extend(blurred);
        }
        Ok(found)
    }

    /// Descends from a given cut; what comes back never costs more.
    ///
    /// `side` says for each vertex on which side it is.
    ///
    /// # Errors
    /// As [`BalancedCut::descend`], and [`Error::ShapeMismatch`] unless there is one side per vertex,
    /// [`Error::InvalidParameter`] when all vertices are on one side.
    pub fn polish(&self, graph: &Graph, balance: &Balance, side: &[bool]) -> Result<Split> {
        self.validate(graph)?;
        let n = graph.n_vertices();
        if side.len() != n {
            return Err(Error::ShapeMismatch { what: "the sides of a cut", expected: n, got: side.len() });
        }
        let pi = balance.weights(graph)?;
        let ctx = SplitContext { graph, pi: &pi, criterion: self.criterion };
        let start: Vec<f64> = side.iter().map(|&s| f64::from(u8::from(s))).collect();
        let Some(given) = round(&ctx, &start)? else {
            let expected = "at least one on either side";
            return Err(Error::InvalidParameter {
                name: "the vertices on one side",
                value: n as f64,
                expected,
            });
        };
        let (dual, cut) = (InnerDual::new(graph), MinCut::new(graph));
        let lovasz = Lovasz { criterion: self.criterion, pi: &pi };
        let End { vector, .. } =
            Descent { dual: &dual, cut: &cut, lovasz, stop: &|| false, limit: self.max_outer }.run(start);
        let found = round(&ctx, &vector)?;
        let is_better = |split: &Split| split.cost(self.criterion) < given.cost(self.criterion);
        Ok(found.filter(is_better).unwrap_or(given))
    }

    fn eigenvector_start(&self, graph: &Graph, pi: &[f64]) -> Result<Eigen> {
        let params = EigenParams { n_pairs: 1, tol: self.eigen_tol, seed: self.seed };
        let pairs = Spectrum::analyze(graph).smallest(graph, pi, &params, None)?;
        let vector: Vec<f64> = pairs.vectors.iter().zip(pi).map(|(x, p)| x / p.sqrt()).collect();
        let ctx = SplitContext { graph, pi, criterion: self.criterion };
        let Some(split) = round(&ctx, &vector)? else { return Ok(Eigen { set: vector.clone(), vector }) };
        let smaller = if split.low.len() <= split.high.len() { &split.low } else { &split.high };
        let mut set = vec![0.0; pi.len()];
        smaller.iter().for_each(|&v| set[v as usize] = 1.0 / smaller.len() as f64);
        Ok(Eigen { vector, set })
    }

    fn validate(&self, graph: &Graph) -> Result<()> {
        self.criterion.validate()?;
        if let Criterion::Ccb { tau } = self.criterion
            && tau > 2.0
        {
            return Err(Error::TauOutOfRange { tau, expected: "a tight relaxation needs 0 < tau <= 2" });
        }
        if self.max_outer == 0 {
            return Err(Error::InvalidParameter {
                name: "the outer limit",
                value: 0.0,
                expected: "at least 1",
            });
        }
        if graph.n_edges() > MOST_EDGES {
            return Err(Error::InvalidParameter {
                name: "the number of edges",
                value: graph.n_edges() as f64,
                expected: "at most 2^31 for a minimum cut",
            });
        }
        match graph.n_vertices() {
            vertices @ (0 | 1) => Err(Error::TooFewVertices { vertices, segments: 2 }),
            _ => Ok(()),
        }
    }
}

/// The best threshold of a vector on the whole graph, those between equal values included.
fn round(ctx: &SplitContext<'_>, values: &[f64]) -> Result<Option<Split>> {
    let members: Vec<u32> = (0..values.len() as u32).collect();
    let distinct = best_prefix(ctx, &members, values, 1, Prefixes::Distinct)?;
    // Ties are worth breaking only where the vector has more than two values.
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if distinct.is_none() || values.iter().all(|&x| x == lowest || x == highest) {
        return Ok(distinct);
    }
    best_prefix(ctx, &members, values, 1, Prefixes::All)
}

/// The second eigenvector, and the smaller side of its best threshold.
struct Eigen {
    vector: Vec<f64>,
    set: Vec<f64>,
}

/// One descent.
struct Descent<'a> {
    dual: &'a InnerDual,
    cut: &'a MinCut,
    lovasz: Lovasz<'a>,
    stop: &'a (dyn Fn() -> bool + Sync),
    limit: usize,
}

/// Where a descent ends.
struct End {
    vector: Vec<f64>,
    quotient: f64,
    /// The last vector that the dual gave.
    blurred: Vec<f64>,
}

impl Descent<'_> {
    /// Where the descent from a vector ends. A constant vector has no quotient and stays.
    fn run(&self, start: Vec<f64>) -> End {
        let Some(mut f) = normalized(start) else {
            let zero = vec![0.0; self.lovasz.pi.len()];
            return End { vector: zero.clone(), quotient: f64::INFINITY, blurred: zero };
        };
        let mut quotient = self.quotient(&f);
        let mut blurred = f.clone();
        let mut flow = self.dual.flow();
        let most = (WORK / self.dual.n_edges().max(1)).clamp(STEPS, MOST_STEPS);
        let mut steps = STEPS;
        for _ in 0..self.limit {
            // Nothing is below zero.
            if quotient <= 0.0 || (self.stop)() {
                break;
            }
            let z: Vec<f64> = self.lovasz.subgradient(&f).iter().map(|s| quotient * s).collect();
            let mut best = self.measured(self.dual.solve(&z, &mut flow, steps, self.stop));
            if let Some((vector, _)) = &best {
                blurred.copy_from_slice(vector);
            }
            let falls = |best: &Option<(Vec<f64>, f64)>, share: f64| {
                best.as_ref().is_some_and(|(_, value)| *value < quotient * (1.0 - share))
            };
            if 2 * steps <= most {
                if !falls(&best, LEAST_GAIN) {
                    steps *= 2;
                    continue;
                }
            } else if !falls(&best, GOOD_GAIN)
                && let Some(set) = self.cut.solve(&z, flow.feasible(), self.stop)
            {
                let set = self.measured(set.iter().map(|&inside| f64::from(u8::from(inside))).collect());
                best = [best, set].into_iter().flatten().min_by(|a, b| a.1.total_cmp(&b.1));
            }
            match best {
                Some((g, value)) if value < quotient * (1.0 - LEAST_GAIN) => {
                    flow.scale(value / quotient);
                    (f, quotient) = (g, value);
                }
                _ => break,
            }
        }
        End { vector: f, quotient, blurred }
    }

    /// A vector and its quotient; `None` when it is constant.
    fn measured(&self, f: Vec<f64>) -> Option<(Vec<f64>, f64)> {
        let f = normalized(f)?;
        let quotient = self.quotient(&f);
        Some((f, quotient))
    }

    fn quotient(&self, f: &[f64]) -> f64 {
        self.dual.total_variation(f) / self.lovasz.value(f)
    }
}

/// The vector moved to mean zero and scaled to Σ|f| = 1; `None` when it is constant.
fn normalized(mut f: Vec<f64>) -> Option<Vec<f64>> {
    let mean = f.iter().sum::<f64>() / f.len() as f64;
    f.iter_mut().for_each(|x| *x -= mean);
    let length: f64 = f.iter().map(|x| x.abs()).sum();
    let is_constant = f.iter().all(|x| *x == f[0]);
    if is_constant || !(length > 0.0 && length.is_finite()) {
        return None;
    }
    f.iter_mut().for_each(|x| *x /= length);
    Some(f)
}

#[cfg(test)]
mod tests;
