//! What may be set for IRRQ, with the paper's values as defaults.

use crate::{
    error::{Error, Result},
    graph::{Balance, Graph},
};

use super::Embedding;

/// Which reading of Algorithm 1: the table in `docs/paper-map.md` sets them side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Variant {
    /// To the letter of the paper.
    #[default]
    Published,
    /// As the authors' MATLAB toolbox does it.
    Released,
    /// γ = [‖Δy‖² + ε²]^(τ/2−1): the limit keeps the weight w of J_τ, where the published one has w^(τ/2).
    Weighted,
}

impl Variant {
    /// The name used by the command and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Released => "released",
            Self::Weighted => "weighted",
        }
    }
}

/// How many of the largest differences do not count towards ε (15).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kappa {
    /// κ̃: mapped to κ with an estimate of the number of cut edges.
    Fraction(f64),
    /// κ itself.
    Count(usize),
}

/// Where the first weights γ⁽⁰⁾ come from.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Start {
    /// γ⁽⁰⁾ = 1: the first sweep is the τ = 2 solution.
    #[default]
    Unit,
    /// γ⁽⁰⁾ = ‖Δy‖_τ^τ / ‖Δy‖₂² of a given embedding.
    Ratio(Embedding),
    /// γ⁽⁰⁾ = [w‖Δy‖₂² + 1]^(τ/2−1) of a given embedding.
    Smoothed(Embedding),
    /// Step (c) of an embedding found at another τ, with the ε it ended at: the sweeps go on from there, and its
    /// columns are the first guess at the eigenvectors.
    Resumed(Embedding, f64),
}

/// IRRQ: iteratively reweighted Rayleigh quotient minimisation (Algorithm 1).
///
/// ```
/// use ccbcut::{graph::gallery, Irrq, Kappa};
/// let graph = gallery::planted(&[20, 20], 0.6, 0.02, 1);
/// let fit = Irrq::new(1.0).n_components(1).kappa(Kappa::Fraction(1e-4)).fit(&graph)?;
/// assert_eq!(fit.embedding.n_vertices(), 40);
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Irrq {
    pub(super) tau: f64,
    pub(super) n_components: usize,
    pub(super) balance: Balance,
    pub(super) kappa: Kappa,
    pub(super) variant: Variant,
    pub(super) start: Start,
    pub(super) n_clusters: Option<usize>,
    pub(super) min_iterations: Option<usize>,
    pub(super) max_iterations: usize,
    pub(super) tol: f64,
    pub(super) eigen_tol: Option<f64>,
    pub(super) floor_decades: f64,
    pub(super) early_stop: bool,
    pub(super) contract: bool,
    pub(super) rotate: bool,
    pub(super) seed: u64,
}

impl Irrq {
    /// The paper's settings for a τ in (0, 2].
    pub fn new(tau: f64) -> Self {
        Self {
            tau,
            n_components: 1,
            balance: Balance::Normalized,
            kappa: Kappa::Fraction(1e-4),
            variant: Variant::Published,
            start: Start::Unit,
            n_clusters: None,
            min_iterations: None,
            max_iterations: 50,
            tol: 0.01,
            eigen_tol: None,
            floor_decades: 10.0,
            early_stop: false,
            contract: false,
            rotate: false,
            seed: 0,
        }
    }

    /// Another τ in (0, 2].
    #[must_use]
    pub fn tau(mut self, tau: f64) -> Self {
        self.tau = tau;
        self
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

    /// κ̃ or κ. The paper uses κ̃ = 10⁻⁴ for Lab affinities and 0.2 for mPb and PMI.
    #[must_use]
    pub fn kappa(mut self, kappa: Kappa) -> Self {
        self.kappa = kappa;
        self
    }

    /// Which reading of Algorithm 1.
    #[must_use]
    pub fn variant(mut self, variant: Variant) -> Self {
        self.variant = variant;
        self
    }

    /// The first weights.
    #[must_use]
    pub fn start(mut self, start: Start) -> Self {
        self.start = start;
        self
    }

    /// Clusters of the k-means that estimates the number of cut edges; by default the number of columns (2 for one
    /// column), one more in the released variant.
    #[must_use]
    pub fn n_clusters(mut self, n_clusters: usize) -> Self {
        self.n_clusters = Some(n_clusters);
        self
    }

    /// Sweeps before the stop rule is asked; by default 1, in the released variant 5 (normalized) or 2 (ratio).
    #[must_use]
    pub fn min_iterations(mut self, min_iterations: usize) -> Self {
        self.min_iterations = Some(min_iterations);
        self
    }

    /// Sweeps at most.
    #[must_use]
    pub fn max_iterations(mut self, max_iterations: usize) -> Self {
        self.max_iterations = max_iterations;
        self
    }

    /// Relative change of the cost at which the sweeps end.
    #[must_use]
    pub fn tol(mut self, tol: f64) -> Self {
        self.tol = tol;
        self
    }

    /// Accuracy of every eigenproblem, ‖A⁺(Ax − λx)‖.
    ///
    /// Unless set it is 10⁻⁶ for the first one, the solution at τ = 2, and in an embedding of several columns a tenth of
    /// [`Irrq::tol`] for the sweeps after it: the next sweep changes the weights by far more than that, and the cost is
    /// only off by its square. A single column, which costs little, has 10⁻⁶ throughout: on photographs the splits made
    /// from it come out a little better. So does the released variant.
    #[must_use]
    pub fn eigen_tol(mut self, eigen_tol: f64) -> Self {
        self.eigen_tol = Some(eigen_tol);
        self
    }

    /// The accuracy of one eigenproblem.
    pub(super) fn eigen_tol_of(&self, is_first: bool) -> f64 {
        const ACCURATE: f64 = 1e-6;
        let is_loose = !is_first && self.n_components > 1 && self.variant != Variant::Released;
        self.eigen_tol.unwrap_or(if is_loose { (0.1 * self.tol).max(ACCURATE) } else { ACCURATE })
    }

    /// Decades that γ may span before ε stops shrinking; 0 means no floor. The floor is
    /// max r · 10^(−decades/(2−τ)), fixed after the first sweep.
    #[must_use]
    pub fn epsilon_floor(mut self, decades: f64) -> Self {
        self.floor_decades = decades;
        self
    }

    /// Whether the sweeps may end before the cost has settled: once no vertex changes its side of the middle of any
    /// column from one sweep to the next, and the cost changes by no more than ten times `tol`. Off by default, as
    /// the paper knows no such rule; `docs/concepts/solver.md` says what it saves and what it costs.
    #[must_use]
    pub fn early_stop(mut self, early_stop: bool) -> Self {
        self.early_stop = early_stop;
        self
    }

    /// Whether sweeps of one column may contract edges that are stiff beyond what the embedding can stretch, and solve for the
    /// few vertices that are left; the sweep that ends the embedding has all of them. Off by default: the embedding is all
    /// but the same, but where a hierarchy splits off single vertices, what little differs decides which; `docs/concepts/solver.md` says
    /// what it saves and what it costs.
    #[must_use]
    pub fn contract(mut self, contract: bool) -> Self {
        self.contract = contract;
        self
    }

    /// Whether to end with the rotation H that lowers J_τ.
    #[must_use]
    pub fn rotate(mut self, rotate: bool) -> Self {
        self.rotate = rotate;
        self
    }

    /// Seed of everything random.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Checks everything once.
    pub(super) fn validate(&self, graph: &Graph) -> Result<()> {
        if !(self.tau > 0.0 && self.tau <= 2.0) {
            return Err(Error::TauOutOfRange { tau: self.tau, expected: "an embedding needs 0 < tau <= 2" });
        }
        let invalid = |name, value, expected| Err(Error::InvalidParameter { name, value, expected });
        let n = graph.n_vertices();
        if self.n_components == 0 || self.n_components >= n.max(1) {
            let expected = "at least 1 and below the number of vertices";
            return invalid("the number of components", self.n_components as f64, expected);
        }
        if let Kappa::Fraction(f) = self.kappa
            && !(0.0..=1.0).contains(&f)
        {
            return invalid("kappa", f, "between 0 and 1");
        }
        if self.max_iterations == 0 {
            return invalid("the sweep limit", 0.0, "at least 1");
        }
        if !(self.tol >= 0.0 && self.tol.is_finite()) {
            return invalid("tol", self.tol, "finite and not negative");
        }
        if let Some(tol) = self.eigen_tol.filter(|&tol| !(1e-14..1.0).contains(&tol)) {
            return invalid("the eigensolver's tolerance", tol, "between 1e-14 and 1");
        }
        if !(self.floor_decades >= 0.0 && self.floor_decades.is_finite()) {
            return invalid("the epsilon floor", self.floor_decades, "finite and not negative");
        }
        match &self.start {
            Start::Ratio(e) | Start::Smoothed(e) | Start::Resumed(e, _) if e.n_vertices() != n => {
                Err(Error::ShapeMismatch { what: "the start embedding", expected: n, got: e.n_vertices() })
            }
            Start::Resumed(_, epsilon) if !(*epsilon > 0.0 && epsilon.is_finite()) => {
                invalid("the epsilon to go on from", *epsilon, "finite and positive")
            }
            _ => Ok(()),
        }
    }

    /// Clusters for the estimate of cut edges.
    pub(super) fn clusters(&self) -> usize {
        let default = match self.variant {
            Variant::Released => self.n_components + 1,
            Variant::Published | Variant::Weighted => self.n_components.max(2),
        };
        self.n_clusters.unwrap_or(default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::gallery;

    fn error(irrq: &Irrq) -> Error {
        irrq.fit(&gallery::path(10)).unwrap_err()
    }

    #[test]
    fn every_invalid_parameter_is_named() {
        for tau in [0.0, -1.0, 2.1, f64::NAN, f64::INFINITY] {
            assert!(matches!(error(&Irrq::new(tau)), Error::TauOutOfRange { .. }));
        }
        let parameter = |irrq: Irrq| match error(&irrq) {
            Error::InvalidParameter { name, .. } => name,
            other => panic!("{other}"),
        };
        let base = || Irrq::new(1.0);
        assert_eq!(parameter(base().n_components(0)), "the number of components");
        assert_eq!(parameter(base().n_components(10)), "the number of components");
        assert_eq!(parameter(base().kappa(Kappa::Fraction(1.5))), "kappa");
        assert_eq!(parameter(base().kappa(Kappa::Fraction(f64::NAN))), "kappa");
        assert_eq!(parameter(base().max_iterations(0)), "the sweep limit");
        assert_eq!(parameter(base().tol(f64::NAN)), "tol");
        assert_eq!(parameter(base().eigen_tol(0.0)), "the eigensolver's tolerance");
        assert_eq!(parameter(base().epsilon_floor(-1.0)), "the epsilon floor");
        let short = Embedding::new(2, 1, vec![0.0, 1.0]).unwrap();
        assert!(matches!(error(&base().start(Start::Ratio(short.clone()))), Error::ShapeMismatch { .. }));
        assert!(matches!(error(&base().start(Start::Resumed(short, 0.1))), Error::ShapeMismatch { .. }));
        let whole = Embedding::new(10, 1, vec![0.5; 10]).unwrap();
        for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let resumed = base().start(Start::Resumed(whole.clone(), epsilon));
            assert_eq!(parameter(resumed), "the epsilon to go on from");
        }
    }

    #[test]
    fn eigenproblems_are_as_accurate_as_said() {
        // Too large for a dense solve, which would be accurate whatever was asked for.
        let graph = gallery::planted(&[300, 250, 200, 150], 0.08, 0.01, 5);
        let residuals = |irrq: Irrq| -> Vec<f64> {
            irrq.fit(&graph).unwrap().trace.iterations.iter().map(|sweep| sweep.residual).collect()
        };
        let several = residuals(Irrq::new(1.0).n_components(3));
        assert!(several[0] <= 1e-6 && several.iter().all(|&r| r <= 1e-3), "{several:?}");
        assert!(several.iter().any(|&r| r > 1e-6), "no sweep was solved loosely: {several:?}");
        for tight in [Irrq::new(1.0), Irrq::new(1.0).n_components(3).eigen_tol(1e-8)] {
            let tol = tight.eigen_tol.unwrap_or(1e-6);
            let found = residuals(tight);
            assert!(found.len() > 2 && found.iter().all(|&r| r <= tol), "{found:?}");
        }
    }
}
