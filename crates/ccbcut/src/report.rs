//! The record of a run: what was solved, how long each stage took, what the cut costs.

use std::time::Instant;

use crate::{
    cluster::Run,
    cost::Costs,
    embedding::{Iteration, StopReason},
};

/// One stage of the pipeline and its wall time.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Stage {
    /// What was done.
    pub name: &'static str,
    /// Wall time in milliseconds.
    pub ms: f64,
}

/// What was solved and measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Vertices of the graph that was cut (pixels that are not masked out).
    pub n: usize,
    /// Its edges.
    pub edges: usize,
    /// Its connected components.
    pub components: usize,
    /// Decimations made before the eigenproblem.
    pub levels: usize,
    /// Vertices of the graph that the eigenproblem was solved on.
    pub coarse_n: usize,
    /// Its edges.
    pub coarse_edges: usize,
    /// Wall times.
    pub stages: Vec<Stage>,
    /// The embedding (multiway), or one per part that was embedded, larger parts first.
    pub runs: Vec<Run>,
    /// Whether the run went to its end.
    pub is_complete: bool,
    /// Parts found.
    pub n_segments: usize,
    /// Vertices of each part.
    pub sizes: Vec<usize>,
    /// The cost of the result under every family.
    pub costs: Costs,
    /// Each part's term of the cost that was made small.
    pub part_costs: Vec<f64>,
}

impl Report {
    /// The sweeps of the multiway embedding, or of the first split.
    pub fn trace(&self) -> &[Iteration] {
        self.runs.first().map_or(&[], |run| &run.trace.iterations)
    }

    /// Why the sweeps of the first embedding ended; `None` when there was nothing to solve.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.runs.first().map(|run| run.trace.stop_reason)
    }

    /// Whether the run went to its end and no embedding stopped at the sweep limit.
    pub fn is_converged(&self) -> bool {
        let at_limit = |run: &Run| run.trace.stop_reason == StopReason::MaxIterations;
        self.is_complete && !self.runs.iter().any(at_limit)
    }

    /// The same report with every time set to zero: what must not change from run to run.
    #[must_use]
    pub fn without_times(mut self) -> Self {
        self.stages.iter_mut().for_each(|stage| stage.ms = 0.0);
        self.runs.iter_mut().flat_map(|run| &mut run.trace.iterations).for_each(|sweep| sweep.ms = 0.0);
        self
    }
}

/// A stopwatch that turns stages into [`Stage`] entries.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    last: Instant,
    stages: Vec<Stage>,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { last: Instant::now(), stages: Vec::new() }
    }

    /// Ends the stage that began at the last lap.
    pub(crate) fn lap(&mut self, name: &'static str) {
        let now = Instant::now();
        self.stages.push(Stage { name, ms: (now - self.last).as_secs_f64() * 1e3 });
        self.last = now;
    }

    pub(crate) fn into_stages(self) -> Vec<Stage> {
        self.stages
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedding::Trace;

    fn run(stop_reason: StopReason) -> Run {
        let trace = Trace { iterations: Vec::new(), stop_reason, kappa: 0, epsilon_floor: 0.0 };
        Run { n_vertices: 3, first_vertex: 0, trace }
    }

    fn report(reasons: &[StopReason], is_complete: bool) -> Report {
        let costs =
            Costs { cut: 0.0, ncut: 0.0, rcut: 0.0, ncheeger: 0.0, rcheeger: 0.0, ccn: 0.0, ccr: 0.0 };
        Report {
            n: 3,
            edges: 2,
            components: 1,
            levels: 0,
            coarse_n: 3,
            coarse_edges: 2,
            stages: Vec::new(),
            runs: reasons.iter().map(|&reason| run(reason)).collect(),
            is_complete,
            n_segments: 1,
            sizes: vec![3],
            costs,
            part_costs: vec![0.0],
        }
    }

    #[test]
    fn one_run_at_the_sweep_limit_is_enough_to_be_unconverged() {
        use StopReason::{Converged, CostBent, EpsilonVanished, MaxIterations, SingleSolve};
        assert!(report(&[Converged, SingleSolve, EpsilonVanished, CostBent], true).is_converged());
        assert!(!report(&[Converged, MaxIterations], true).is_converged());
        assert!(report(&[], true).is_converged(), "there was nothing to solve");
        assert!(!report(&[], false).is_converged() && !report(&[Converged], false).is_converged());
        assert_eq!(report(&[CostBent, Converged], true).stop_reason(), Some(CostBent));
        assert_eq!((report(&[], true).stop_reason(), report(&[], true).trace().len()), (None, 0));
    }

    #[test]
    fn times_can_be_taken_out_and_nothing_else_goes() {
        let mut timed = report(&[StopReason::Converged], true);
        timed.stages = vec![Stage { name: "costs", ms: 3.0 }];
        let plain = timed.clone().without_times();
        assert_eq!(plain.stages, [Stage { name: "costs", ms: 0.0 }]);
        timed.stages[0].ms = 0.0;
        assert_eq!(plain, timed);
    }
}
