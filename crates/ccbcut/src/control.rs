//! How a long run talks to its caller: progress out, "stop" in.

use crate::{embedding::Iteration, partition::BisectionStep};

/// Something worth showing.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// A stage of the pipeline begins.
    Stage(&'static str),
    /// One sweep of IRRQ is done (multiway).
    Sweep(&'a Iteration),
    /// One part was split (hierarchical).
    Split(&'a BisectionStep),
}

/// Progress out, "stop" in. The default shows nothing and never stops.
pub struct Control<'a> {
    observer: Option<&'a mut (dyn FnMut(Progress<'_>) + Send)>,
    stop: Option<&'a (dyn Fn() -> bool + Sync)>,
    sweeps: Option<&'a OnSweep<'a>>,
}

/// What is told about a sweep of a part: how many vertices it has, and what the sweep did.
type OnSweep<'a> = dyn Fn(usize, &Iteration) + Sync + 'a;

impl std::fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").finish_non_exhaustive()
    }
}

impl Default for Control<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Control<'a> {
    /// Shows nothing, never stops.
    pub fn new() -> Self {
        Self { observer: None, stop: None, sweeps: None }
    }

    /// Calls `observer` as the run goes on, one call at a time, from a thread of the pool.
    #[must_use]
    pub fn observer(mut self, observer: &'a mut (dyn FnMut(Progress<'_>) + Send)) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Asks `stop` now and then, from any thread; once it says `true` the best result so far is returned.
    #[must_use]
    pub fn stop(mut self, stop: &'a (dyn Fn() -> bool + Sync)) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Calls `on_sweep` with the number of vertices after every sweep on a part of a hierarchical run, from any thread,
    /// in no fixed order: parts are embedded side by side.
    #[must_use]
    pub fn sweeps(mut self, on_sweep: &'a (dyn Fn(usize, &Iteration) + Sync)) -> Self {
        self.sweeps = Some(on_sweep);
        self
    }

    pub(crate) fn tell(&mut self, progress: Progress<'_>) {
        if let Some(observer) = &mut self.observer {
            observer(progress);
        }
    }

    pub(crate) fn stopper(&self) -> impl Fn() -> bool + Sync + Copy + use<'a> {
        let stop = self.stop;
        move || stop.is_some_and(|stop| stop())
    }

    pub(crate) fn signals(&self) -> Signals<'a> {
        Signals { stop: self.stop, sweeps: self.sweeps }
    }
}

/// The part of a [`Control`] that may be used from any thread.
#[derive(Clone, Copy)]
pub(crate) struct Signals<'a> {
    stop: Option<&'a (dyn Fn() -> bool + Sync)>,
    sweeps: Option<&'a OnSweep<'a>>,
}

impl Signals<'_> {
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop())
    }

    pub(crate) fn tell(&self, n_vertices: usize, sweep: &Iteration) {
        if let Some(on_sweep) = self.sweeps {
            on_sweep(n_vertices, sweep);
        }
    }
}
