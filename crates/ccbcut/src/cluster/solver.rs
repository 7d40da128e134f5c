//! Which algorithm finds the cuts.

use std::{ops::ControlFlow, sync::Mutex};

use super::{Method, Partitioner, Run};
use crate::{
    control::{Control, Progress, Signals},
    cost::Criterion,
    embedding::{IrrqFit, Soc, StopReason, Trace, Warm},
    error::{Error, Result},
    graph::{Balance, Graph},
    labels::Labels,
    partition::{BalancedCut, Bisection, Pieces, Prefixes, Refine},
};

/// Edges times random starts of a balanced cut, about, where their number is not asked for.
const START_EDGES: usize = 1_000_000;

/// Which algorithm finds the cuts; `docs/concepts/rivals.md` says what each of them minimises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Solver {
    /// Reweighted Rayleigh quotients, the paper's own: relaxed CCB_τ for 0 < τ ≤ 2.
    #[default]
    Irrq,
    /// The inverse power method: Cheeger cuts, hierarchical only. τ is not looked at.
    Ipm,
    /// Splitting of the orthogonality constraint: relaxed CCB_τ for 1 ≤ τ ≤ 2; piecewise flat embeddings at τ = 1.
    Soc,
    /// Tight relaxations of two-way CCB_τ cuts for 0 < τ ≤ 2, hierarchical only.
    RatioDca,
}

impl Solver {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Irrq, Self::Ipm, Self::Soc, Self::RatioDca];

    /// The name used by the command and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Irrq => "irrq",
            Self::Ipm => "ipm",
            Self::Soc => "soc",
            Self::RatioDca => "ratiodca",
        }
    }

    /// Whether it knows two parts only.
    fn is_two_way(self) -> bool {
        matches!(self, Self::Ipm | Self::RatioDca)
    }
}

impl Partitioner {
    /// Which algorithm finds the cuts.
    #[must_use]
    pub fn solver(mut self, solver: Solver) -> Self {
        self.solver = solver;
        self
    }

    /// Another cost than that of the solver for thresholds, splits and refinement: by default CCB_τ, and the Cheeger cut
    /// for [`Solver::Ipm`]. What the two-way solvers descend on changes with it.
    #[must_use]
    pub fn criterion(mut self, criterion: Criterion) -> Self {
        self.criterion = Some(criterion);
        self
    }

    /// Whether cuts are refined by moving single vertices, see [`Refine`]. A hierarchical run refines every split, so that
    /// parts stay nested; a multiway run refines all parts in the end.
    #[must_use]
    pub fn refine(mut self, is_refined: bool) -> Self {
        self.is_refined = is_refined;
        self
    }

    /// Random starts of [`Solver::Ipm`] and [`Solver::RatioDca`], beside the second eigenvector; by default ten, fewer
    /// above a hundred thousand edges.
    #[must_use]
    pub fn n_starts(mut self, n_starts: usize) -> Self {
        self.n_starts = Some(n_starts);
        self
    }

    /// Changes the settings of SOC: `.soc(|s| s.lambda(4000.0))`. Columns, balance and seed are set from this struct.
    #[must_use]
    pub fn soc(mut self, change: impl FnOnce(Soc) -> Soc) -> Self {
        self.soc = change(self.soc);
        self
    }

    /// The cost that thresholds and refinement make small.
    pub(crate) fn minimised(&self) -> Criterion {
        self.criterion.unwrap_or(match self.solver {
            Solver::Ipm => Criterion::Cheeger,
            _ => Criterion::Ccb { tau: self.tau },
        })
    }

    /// Refines a partition where that is asked for.
    pub(crate) fn refined(&self, graph: &Graph, labels: Labels) -> Result<Labels> {
        if !self.is_refined {
            return Ok(labels);
        }
        Refine::new(self.minimised()).run(graph, &labels, &self.balance)
    }

    /// Whether the columns of an embedding for fewer parts are the first of one for more.
    pub(crate) fn has_nested_columns(&self) -> bool {
        self.tau == 2.0 && self.solver == Solver::Irrq
    }

    /// Whether refinement is asked for.
    pub(crate) fn is_refined(&self) -> bool {
        self.is_refined
    }

    pub(super) fn check_solver(&self) -> Result<()> {
        if self.solver.is_two_way() && self.method == Method::Multiway {
            return Err(Error::TwoWaySolver { solver: self.solver.name() });
        }
        if self.solver == Solver::Soc && self.tau < 1.0 {
            return Err(Error::TauOutOfRange {
                tau: self.tau,
                expected: "the solver soc needs 1 <= tau <= 2",
            });
        }
        self.minimised().validate()
    }

    /// The hierarchical run's settings.
    pub(crate) fn bisection(&self, n_vertices: usize) -> Bisection {
        let bisection = Bisection::new(self.n_segments, self.tau)
            .criterion(self.minimised())
            .subgraph_balance(self.subgraph_balance)
            .min_size((self.min_share * n_vertices as f64).ceil() as usize)
            .refine(self.is_refined);
        if self.solver.is_two_way() {
            return bisection.pieces(Pieces::Thorough).prefixes(Prefixes::All);
        }
        bisection
    }

    /// One or more columns of a connected subgraph, whose thresholds are looked at; what happened goes to `runs`. Reweighted
    /// embeddings start from those that are kept, and are kept.
    pub(crate) fn columns_of_part(
        &self,
        sub: &Graph,
        balance: &Balance,
        members: &[u32],
        warm: Option<&Warm>,
        signals: Signals<'_>,
        runs: &Mutex<Vec<Run>>,
    ) -> Result<Vec<f64>> {
        let stop = &|| signals.is_stopped();
        let (columns, trace) = match self.solver {
            Solver::Irrq => {
                let irrq = self.irrq.clone().balance(balance.clone()).variant(self.variant).seed(self.seed);
                let irrq = match warm {
                    Some(warm) => irrq.start(warm.start(members)),
                    None => irrq,
                };
                let fit = irrq.n_components(1).n_clusters(2).fit_with(sub, &mut |sweep| {
                    signals.tell(members.len(), sweep);
                    flow(stop)
                })?;
                if let Some(warm) = warm {
                    warm.keep(members, &fit.embedding, &fit.trace);
                }
                (fit.embedding.column(0), fit.trace)
            }
            Solver::Soc => {
                let soc = self.soc.clone().balance(balance.clone()).seed(self.seed).n_components(1);
                let fit = soc.fit_with(sub, stop)?;
                (fit.embedding.column(0), without_sweeps(fit.stop_reason))
            }
            Solver::Ipm | Solver::RatioDca => {
                let few = (START_EDGES / sub.n_edges().max(1)).clamp(1, 10);
                let cut = BalancedCut::new(self.minimised()).n_random(self.n_starts.unwrap_or(few));
                let found = cut.seed(self.seed).descend(sub, balance, stop)?;
                let reason = if found.is_complete { StopReason::Converged } else { StopReason::Interrupted };
                ([found.columns, found.blurred].concat(), without_sweeps(reason))
            }
        };
        let run = Run { n_vertices: members.len(), first_vertex: members[0], trace };
        runs.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(run);
        Ok(columns)
    }

    /// The multiway embedding by the solver at hand.
    pub(super) fn embed_whole(&self, graph: &Graph, control: &mut Control<'_>) -> Result<IrrqFit> {
        let stop = control.stopper();
        let n_components = self.columns(graph.n_vertices());
        if self.solver == Solver::Soc {
            let soc = self.soc.clone().balance(self.balance.clone()).seed(self.seed);
            let fit = soc.n_components(n_components).fit_with(graph, &stop)?;
            return Ok(IrrqFit { embedding: fit.embedding, trace: without_sweeps(fit.stop_reason) });
        }
        let irrq = self.irrq.clone().balance(self.balance.clone()).variant(self.variant).seed(self.seed);
        irrq.n_clusters(self.n_segments).n_components(n_components).fit_with(graph, &mut |iteration| {
            control.tell(Progress::Sweep(iteration));
            flow(&stop)
        })
    }
}

fn flow(stop: &dyn Fn() -> bool) -> ControlFlow<()> {
    if stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// The trace of a solver that does not sweep.
fn without_sweeps(stop_reason: StopReason) -> Trace {
    Trace { iterations: Vec::new(), stop_reason, kappa: 0, epsilon_floor: 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cost::Costs, graph::gallery};

    #[test]
    fn every_solver_finds_planted_parts() {
        let graph = gallery::planted(&[14, 10, 12], 0.8, 0.03, 2);
        for solver in Solver::ALL {
            for method in [Method::Hierarchical, Method::Multiway] {
                if solver.is_two_way() && method == Method::Multiway {
                    continue;
                }
                for is_refined in [false, true] {
                    let cut = Partitioner::new(3, 1.0).solver(solver).method(method).refine(is_refined);
                    let cut = cut.partition(&graph).unwrap();
                    assert!(cut.is_complete && cut.labels.n_segments() == 3);
                    if method == Method::Hierarchical {
                        assert_eq!(cut.labels.sizes(), [14, 10, 12], "{solver:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn each_solver_makes_its_own_cost_small() {
        // A pendant of little weight: CCB cuts it off, Cheeger cuts keep the halves.
        let graph = gallery::toy(0.2);
        let cut = |solver| Partitioner::new(2, 1.0).solver(solver).partition(&graph).unwrap().labels;
        let costs = |solver| Costs::of(&graph, &cut(solver), 1.0).unwrap();
        let (cheeger, ccb) = (costs(Solver::Ipm), costs(Solver::RatioDca));
        assert!(cheeger.ncheeger < ccb.ncheeger && ccb.ccn < cheeger.ccn, "{cheeger:?} {ccb:?}");
        let ncut = Partitioner::new(2, 1.0).solver(Solver::Ipm).criterion(Criterion::Ratio);
        let ncut = Costs::of(&graph, &ncut.partition(&graph).unwrap().labels, 1.0).unwrap();
        assert!(ncut.ncut <= cheeger.ncut && ncut.ncut <= ccb.ncut);
    }

    #[test]
    fn refinement_never_raises_the_cost_and_keeps_the_tree() {
        for seed in 0..6 {
            let graph = gallery::planted(&[10, 9, 8], 0.5, 0.2, seed);
            for method in [Method::Hierarchical, Method::Multiway] {
                let run = |is_refined| {
                    let cut =
                        Partitioner::new(2, 1.0).method(method).refine(is_refined).partition(&graph).unwrap();
                    (Costs::of(&graph, &cut.labels, 1.0).unwrap().ccn, cut)
                };
                let ((plain, _), (refined, cut)) = (run(false), run(true));
                assert!(refined <= plain * (1.0 + 1e-12), "{refined} {plain}");
                assert!(cut.tree.is_none_or(|tree| tree.n_leaves() == 2));
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let graph = gallery::path(6);
        for solver in [Solver::Ipm, Solver::RatioDca] {
            let cut = Partitioner::new(2, 1.0).solver(solver).method(Method::Multiway).partition(&graph);
            assert!(matches!(cut, Err(Error::TwoWaySolver { .. })));
        }
        let cut = Partitioner::new(2, 0.5).solver(Solver::Soc).partition(&graph);
        assert!(matches!(cut, Err(Error::TauOutOfRange { .. })));
        let cut = Partitioner::new(2, 0.5).criterion(Criterion::Ccb { tau: -1.0 }).partition(&graph);
        assert!(matches!(cut, Err(Error::TauOutOfRange { .. })));
    }

    #[test]
    fn a_stop_is_heard() {
        let graph = gallery::planted(&[20, 20], 0.5, 0.1, 1);
        let stop = || true;
        for solver in [Solver::Ipm, Solver::Soc, Solver::RatioDca] {
            let cut = Partitioner::new(2, 1.0).solver(solver);
            let cut = cut.partition_with(&graph, &mut Control::new().stop(&stop)).unwrap();
            assert!(!cut.is_complete, "{solver:?}");
        }
    }
}
