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
