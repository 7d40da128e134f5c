//! The relaxed problem (11) for 1 ≤ τ ≤ 2 by splitting the orthogonality constraint.
//!
//! Y and a copy P = Π^½ Y of it are moved in turn: Y lowers ‖MY‖_τ^τ near P, where M has a row w^(1/τ) (ŷᵢ − ŷⱼ) per
//! edge, and P is the nearest matrix with orthonormal columns. The first of these problems is split once more, so that
//! each of its steps is a solve with one factored matrix and a shrinkage of every difference by itself. At τ = 1 this is
//! how piecewise flat embeddings are computed. Unlike IRRQ it fulfils YᵀΠY = I only about; by how much is reported.
//!
//! Lai & Osher, J. Sci. Comput. 58, 2014, <https://doi.org/10.1007/s10915-013-9740-x>; Yu, Fang & Liao, *Piecewise flat
//! embedding for image segmentation*, ICCV 2015, <https://doi.org/10.1109/ICCV.2015.160>.

use super::{
    Embedding, StopReason,
    polar::{defect, polar_factor},
    spectrum::{EigenParams, Spectrum},
    split_bregman::Bregman,
};
use crate::{
    error::{Error, Result},
    graph::{Balance, Graph},
    parallel,
};

/// λ and r are given for a photograph of 481 × 321 pixels with about 100 heavy ties each. There λ is this many times the
/// inverse of the size of a difference, and a column costs about this much.
const PHOTOGRAPH: (f64, f64) = (4000.0, 5.0);

/// Splitting of the orthogonality constraint.
///
/// ```
/// use ccbcut::{embedding::Soc, graph::gallery};
/// let graph = gallery::planted(&[20, 20], 0.6, 0.02, 1);
/// let fit = Soc::new(1.0).n_components(1).fit(&graph)?;
/// let y = fit.embedding.column(0);
/// assert!(y[..20].iter().all(|&a| y[20..].iter().all(|&b| a.signum() != b.signum())));
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Soc {
    tau: f64,
    n_components: usize,
    balance: Balance,
    lambda: f64,
    first: Stage,
    n_outer: usize,
    second: Option<Stage>,
    tol: f64,
    is_scaled: bool,
    is_centered: bool,
    start: Option<Embedding>,
    eigen_tol: f64,
    seed: u64,
}

/// How strongly Y is held near P, and for how many inner steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    /// r: the weight of ‖Π^½ Y − P‖².
    pub r: f64,
    /// Inner steps at most.
    pub n_inner: usize,
}

/// What [`Soc::fit`] returns.
#[derive(Debug, Clone, PartialEq)]
pub struct SocFit {
    /// Y; YᵀΠY = I holds up to [`SocFit::defect`].
    pub embedding: Embedding,
    /// ‖YᵀΠY − I‖_F in the end.
    pub defect: f64,
    /// The same after each outer step of the first stage.
    pub defects: Vec<f64>,
    /// ‖MY‖_τ^τ after each outer step, and after the second stage; half of J_τ (11).
    pub objectives: Vec<f64>,
    /// Why it ended.
    pub stop_reason: StopReason,
}

impl Soc {
    /// The settings of the released toolbox's script: λ = 10⁴; 10 × 5 steps with r = 100, then 100 with r = 10.
    pub fn new(tau: f64) -> Self {
        Self {
            tau,
            n_components: 1,
            balance: Balance::Normalized,
            lambda: 1e4,
            first: Stage { r: 100.0, n_inner: 5 },
            n_outer: 10,
            second: Some(Stage { r: 10.0, n_inner: 100 }),
            tol: 1e-6,
            is_scaled: true,
            is_centered: true,
            start: None,
            eigen_tol: 1e-6,
            seed: 0,
        }
    }

    /// Columns of the embedding.
    #[must_use]
    pub fn n_components(mut self, n_components: usize) -> Self {
        self.n_components = n_components;
        self
    }

    /// π: what part sizes are measured in.
    #[must_use]
    pub fn balance(mut self, balance: Balance) -> Self {
        self.balance = balance;
        self
    }

    /// λ: the weight of the inner splitting.
    #[must_use]
    pub fn lambda(mut self, lambda: f64) -> Self {
        self.lambda = lambda;
        self
    }

    /// The first stage, and its outer steps.
    #[must_use]
    pub fn first(mut self, stage: Stage, n_outer: usize) -> Self {
        (self.first, self.n_outer) = (stage, n_outer);
        self
    }

    /// The second stage: inner steps alone, flatter and less orthogonal; `None` for no such stage.
    #[must_use]
    pub fn second(mut self, stage: Option<Stage>) -> Self {
        self.second = stage;
        self
    }

    /// ‖YᵀΠY − I‖² at which the first stage ends, and the relative change at which inner steps do.
    #[must_use]
    pub fn tol(mut self, tol: f64) -> Self {
        self.tol = tol;
        self
    }

    /// Whether λ and r belong to a photograph and are scaled to the volume at hand, as by default, so that neither the
    /// size of the graph nor a factor in its weights matters; or are taken as they are.
    #[must_use]
    pub fn scaled(mut self, is_scaled: bool) -> Self {
        self.is_scaled = is_scaled;
        self
    }

    /// Whether YᵀΠ1 = 0 is asked for as well, as in (11) and by default. Piecewise flat embeddings do not ask for it.
    #[must_use]
    pub fn centered(mut self, is_centered: bool) -> Self {
        self.is_centered = is_centered;
        self
    }

    /// Where to start; by default at the solution for τ = 2.
    #[must_use]
    pub fn start(mut self, start: Embedding) -> Self {
        self.start = Some(start);
        self
    }

    /// Accuracy of the eigenproblem that makes the default start.
    #[must_use]
    pub fn eigen_tol(mut self, eigen_tol: f64) -> Self {
        self.eigen_tol = eigen_tol;
        self
    }

    /// Seed of everything random.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Embeds the vertices of a graph.
    ///
    /// # Errors
    /// [`Error::TauOutOfRange`] unless 1 ≤ τ ≤ 2: below 1 the inner problem is not convex. [`Error::InvalidParameter`]
    /// or [`Error::ShapeMismatch`] for other settings that do not fit, [`Error::TooLarge`] where the matrix is too
    /// large to be factored, the errors of the balance and of the eigensolver.
    ///
    /// # Complexity
    /// Per stage one factorisation; per inner step a solve for all columns and O(|E| k).
    pub fn fit(&self, graph: &Graph) -> Result<SocFit> {
        self.fit_with(graph, &|| false)
    }

    /// Embeds; once `stop` says `true`, what is there is returned.
    ///
    /// # Errors
    /// As [`Soc::fit`].
    pub fn fit_with(&self, graph: &Graph, stop: &(dyn Fn() -> bool + Sync)) -> Result<SocFit> {
        self.validate(graph)?;
        parallel::inside(|| self.run(graph, stop))
    }

    fn run(&self, graph: &Graph, stop: &(dyn Fn() -> bool + Sync)) -> Result<SocFit> {
        let pi = self.balance.weights(graph)?;
        let roots: Vec<f64> = pi.iter().map(|p| p.sqrt()).collect();
        let lambda = self.lambda_for(graph, &pi);
        let bregman = Bregman::new(graph, self.tau, lambda, self.tol)?;
        let trivial = if self.is_centered { unit(&roots) } else { Vec::new() };
        let mut p = self.first_copy(graph, &pi, &roots, &trivial)?;
        let factor = self.r_scale(bregman.objective(&p, &roots), lambda);
        let mut b = vec![0.0; p.len()];
        let mut fit = SocFit {
            embedding: Embedding::new(pi.len(), self.n_components, vec![0.0; p.len()])?,
            defect: f64::INFINITY,
            defects: Vec::new(),
            objectives: Vec::new(),
            stop_reason: StopReason::MaxIterations,
        };
        let mut x = p.clone();
        let shifted = bregman.factored(&pi, factor * self.first.r);
        for _ in 0..self.n_outer {
            let near: Vec<f64> = p.iter().zip(&b).map(|(p, b)| p - b).collect();
            let inner = shifted.solve(&near, &roots, self.first.n_inner, stop);
            fit.objectives.push(inner.objective);
            x = inner.x;
            fit.defects.push(defect(&x, self.n_components));
            let mut moved: Vec<f64> = x.iter().zip(&b).map(|(x, b)| x + b).collect();
            p = polar_factor(&mut moved, self.n_components, &trivial, self.seed);
            b = moved.iter().zip(&p).map(|(x, p)| x - p).collect();
            if stop() {
                fit.stop_reason = StopReason::Interrupted;
                break;
            }
            if fit.defects.last().is_some_and(|d| d * d <= self.tol) {
                fit.stop_reason = StopReason::Converged;
                break;
            }
        }
        drop(shifted);
        if let (Some(second), false) = (self.second, fit.stop_reason == StopReason::Interrupted) {
            let near: Vec<f64> = p.iter().zip(&b).map(|(p, b)| p - b).collect();
            let inner = bregman.factored(&pi, factor * second.r).solve(&near, &roots, second.n_inner, stop);
            fit.objectives.push(inner.objective);
            x = inner.x;
            if stop() {
                fit.stop_reason = StopReason::Interrupted;
            }
        }
        fit.defect = defect(&x, self.n_components);
        let scale: Vec<f64> = roots.iter().map(|r| 1.0 / r).collect();
        fit.embedding = Embedding::from_scaled_columns(&x, &scale);
        Ok(fit)
    }

    /// λ for the graph at hand: differences w^(1/τ) |ŷᵢ − ŷⱼ| are of the size of w^(1/τ)/√π(V), whatever the graph.
    fn lambda_for(&self, graph: &Graph, pi: &[f64]) -> f64 {
        if !self.is_scaled {
            return self.lambda;
        }
        let largest = graph.largest_weight();
        let largest = if largest > 0.0 { largest } else { 1.0 };
        let size = largest.powf(1.0 / self.tau) / pi.iter().sum::<f64>().sqrt();
        self.lambda / PHOTOGRAPH.0 * size.powf(self.tau - 2.0)
    }

    /// What r is multiplied by: the pull towards P is measured by what a column of the start costs.
    fn r_scale(&self, objective: f64, lambda: f64) -> f64 {
        if !self.is_scaled {
            return 1.0;
        }
        // A start that costs nothing is held by next to nothing.
        (objective / self.n_components as f64).max(1e-12 * lambda) / PHOTOGRAPH.1
    }

    /// The first P, as orthonormal columns.
    fn first_copy(&self, graph: &Graph, pi: &[f64], roots: &[f64], trivial: &[f64]) -> Result<Vec<f64>> {
        let Some(start) = &self.start else {
            let eigen = EigenParams { n_pairs: self.n_components, tol: self.eigen_tol, seed: self.seed };
            return Ok(Spectrum::analyze(graph).smallest(graph, pi, &eigen, None)?.vectors);
        };
        let columns = (0..self.n_components).flat_map(|c| start.column(c));
        let mut x: Vec<f64> = columns.zip(roots.iter().cycle()).map(|(y, root)| y * root).collect();
        Ok(polar_factor(&mut x, self.n_components, trivial, self.seed))
    }

    fn validate(&self, graph: &Graph) -> Result<()> {
        if !(1.0..=2.0).contains(&self.tau) {
            let expected = "splitting the orthogonality constraint needs 1 <= tau <= 2";
            return Err(Error::TauOutOfRange { tau: self.tau, expected });
        }
        let invalid = |name, value, expected| Err(Error::InvalidParameter { name, value, expected });
        let n = graph.n_vertices();
        if self.n_components == 0 || self.n_components >= n.max(1) {
            let expected = "at least 1 and below the number of vertices";
            return invalid("the number of components", self.n_components as f64, expected);
        }
        let weights = [("lambda", self.lambda), ("r", self.first.r), ("r", self.second.map_or(1.0, |s| s.r))];
        for (name, value) in weights {
            if !(value > 0.0 && value.is_finite()) {
                return invalid(name, value, "positive and finite");
            }
        }
        if self.n_outer == 0 || self.first.n_inner == 0 {
            return invalid("the number of steps", 0.0, "at least 1");
        }
        if !(self.tol >= 0.0 && self.tol.is_finite()) {
            return invalid("tol", self.tol, "finite and not negative");
        }
        match &self.start {
            Some(start) if start.n_vertices() != n => Err(Error::ShapeMismatch {
                what: "the start embedding",
                expected: n,
                got: start.n_vertices(),
            }),
            Some(start) if start.n_components() < self.n_components => Err(Error::ShapeMismatch {
                what: "a row of the start embedding",
                expected: self.n_components,
                got: start.n_components(),
            }),
            _ => Ok(()),
        }
    }
}

fn unit(roots: &[f64]) -> Vec<f64> {
    let length = crate::linalg::norm(roots);
    roots.iter().map(|r| r / length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Irrq, Start, embedding::objective, graph::gallery};

    #[test]
    fn a_flat_embedding_tells_planted_blocks_apart() {
        let graph = gallery::planted(&[20, 15, 25], 0.6, 0.02, 3);
        for tau in [1.0, 1.4] {
            let fit = Soc::new(tau).n_components(2).fit(&graph).unwrap();
            let y = &fit.embedding;
            let block = |v: usize| usize::from(v >= 20) + usize::from(v >= 35);
            let (mut inside, mut across): (f64, f64) = (0.0, f64::INFINITY);
            for i in 0..60 {
                for j in 0..i {
                    let d = y.squared_distance(i, j).sqrt();
                    if block(i) == block(j) { inside = inside.max(d) } else { across = across.min(d) }
                }
            }
            assert!(across > 2.0 * inside, "tau {tau}: {across} {inside}");
        }
    }

    #[test]
    fn the_objective_falls_below_that_of_the_start_and_the_defect_is_stated() {
        let graph = gallery::planted(&[20, 15, 25], 0.6, 0.05, 3);
        let eigen = Irrq::new(2.0).n_components(2).fit(&graph).unwrap().embedding;
        let before = 0.5 * objective::j_tau(&graph, &eigen, 1.0);
        let soc = Soc::new(1.0).n_components(2).second(None).first(Stage { r: 100.0, n_inner: 20 }, 60);
        let fit = soc.fit(&graph).unwrap();
        let after = 0.5 * objective::j_tau(&graph, &fit.embedding, 1.0);
        assert!(after < before, "{after} {before}");
        assert!((after - fit.objectives.last().unwrap()).abs() <= 1e-9 * after);
        // The constraint is met better and better, but never quite.
        let pi = graph.degrees();
        let y = &fit.embedding;
        let gram = |a: usize, b: usize| (0..60).map(|v| pi[v] * y.row(v)[a] * y.row(v)[b]).sum::<f64>();
        let direct =
            ((gram(0, 0) - 1.0).powi(2) + (gram(1, 1) - 1.0).powi(2) + 2.0 * gram(0, 1).powi(2)).sqrt();
        assert!((direct - fit.defect).abs() < 1e-9);
        assert!(fit.defect < 0.1 * fit.defects[0], "{:?}", fit.defects);
    }

    #[test]
    fn irrq_starts_from_it() {
        let graph = gallery::planted(&[20, 15, 25], 0.6, 0.05, 3);
        let flat = Soc::new(1.0).n_components(2).fit(&graph).unwrap().embedding;
        let plain = Irrq::new(1.0).n_components(2).fit(&graph).unwrap();
        for start in [Start::Ratio(flat.clone()), Start::Smoothed(flat)] {
            let fit = Irrq::new(1.0).n_components(2).start(start).fit(&graph).unwrap();
            let (got, want) =
                (fit.trace.iterations.last().unwrap().f, plain.trace.iterations.last().unwrap().f);
            assert!(got <= 1.2 * want, "{got} {want}");
        }
    }

    #[test]
    fn neither_a_factor_in_the_weights_nor_threads_matter() {
        let graph = gallery::planted(&[12, 15], 0.6, 0.05, 3);
        let mut edges = Vec::new();
        graph.for_each_edge(|i, j, w| edges.push((i as u32, j as u32, 1024.0 * w)));
        let heavy = Graph::from_edges(27, &edges).unwrap();
        for tau in [1.0, 1.5] {
            let fit = |graph: &Graph| Soc::new(tau).fit(graph).unwrap().embedding.column(0);
            for (a, b) in fit(&graph).iter().zip(fit(&heavy)) {
                assert!((a - 32.0 * b).abs() < 1e-6 * a.abs().max(1e-3), "{a} {b}");
            }
        }
    }

    #[test]
    fn a_graph_in_pieces_is_embedded_too() {
        let graph = gallery::planted(&[10, 10, 1], 0.9, 0.0, 3);
        let fit = Soc::new(1.0).n_components(2).fit(&graph).unwrap();
        assert!(fit.embedding.as_slice().iter().all(|x| x.is_finite()));
    }

    #[test]
    fn every_invalid_parameter_is_named() {
        let graph = gallery::path(10);
        for tau in [0.9, 2.1, f64::NAN] {
            assert!(matches!(Soc::new(tau).fit(&graph), Err(Error::TauOutOfRange { .. })));
        }
        let name = |soc: Soc| match soc.fit(&graph) {
            Err(Error::InvalidParameter { name, .. }) => name,
            other => panic!("{other:?}"),
        };
        assert_eq!(name(Soc::new(1.0).n_components(0)), "the number of components");
        assert_eq!(name(Soc::new(1.0).n_components(10)), "the number of components");
        assert_eq!(name(Soc::new(1.0).lambda(0.0)), "lambda");
        assert_eq!(name(Soc::new(1.0).second(Some(Stage { r: f64::NAN, n_inner: 1 }))), "r");
        assert_eq!(name(Soc::new(1.0).first(Stage { r: 1.0, n_inner: 0 }, 1)), "the number of steps");
        assert_eq!(name(Soc::new(1.0).tol(-1.0)), "tol");
        let short = Embedding::new(2, 1, vec![0.0, 1.0]).unwrap();
        assert!(matches!(Soc::new(1.0).start(short).fit(&graph), Err(Error::ShapeMismatch { .. })));
    }
}
