//! The record of a run: what was solved, how long each stage took, what the cut costs.

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

/// One embedding of a hierarchical run, in brief.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct RunSummary {
    /// Vertices of the part that was embedded.
    pub n: usize,
    /// How many sweeps.
    pub sweeps: usize,
    /// Why they ended.
    pub stop_reason: StopReason,
    /// The largest residual of any sweep.
    pub residual: f64,
}

/// What was solved and measured.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
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
    /// The sweeps of the multiway embedding, or of the first split.
    pub trace: Vec<Iteration>,
    /// Why they ended; absent when there was nothing to solve.
    pub stop_reason: Option<StopReason>,
    /// Every embedding of a hierarchical run, larger parts first.
    pub runs: Vec<RunSummary>,
    /// Whether the run went to its end.
    pub is_complete: bool,
    /// How many embeddings ended at the sweep limit.
    pub n_unconverged: usize,
    /// Parts found.
    pub n_segments: usize,
    /// Vertices of each part.
    pub sizes: Vec<usize>,
    /// The cost of the result under every family.
    pub costs: Costs,
}

impl Report {
    /// The sweeps and stop reason to show first, and a line per embedding.
    pub(crate) fn summarize(runs: &[Run]) -> (Vec<Iteration>, Option<StopReason>, Vec<RunSummary>) {
        let first = runs.first();
        let trace = first.map_or(Vec::new(), |r| r.trace.iterations.clone());
        let brief = |run: &Run| RunSummary {
            n: run.n_vertices,
            sweeps: run.trace.iterations.len(),
            stop_reason: run.trace.stop_reason,
            residual: run.trace.iterations.iter().map(|i| i.residual).fold(0.0, f64::max),
        };
        (trace, first.map(|r| r.trace.stop_reason), runs.iter().map(brief).collect())
    }
}

/// A stopwatch that turns stages into [`Stage`] entries.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    last: std::time::Instant,
    stages: Vec<Stage>,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { last: std::time::Instant::now(), stages: Vec::new() }
    }

    /// Ends the stage that began at the last lap.
    pub(crate) fn lap(&mut self, name: &'static str) {
        let now = std::time::Instant::now();
        self.stages.push(Stage { name, ms: (now - self.last).as_secs_f64() * 1e3 });
        self.last = now;
    }

    pub(crate) fn into_stages(self) -> Vec<Stage> {
        self.stages
    }
}
