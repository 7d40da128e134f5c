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
}

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
        Self { observer: None, stop: None }
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

    pub(crate) fn tell(&mut self, progress: Progress<'_>) {
        if let Some(observer) = &mut self.observer {
            observer(progress);
        }
    }

    pub(crate) fn stopper(&self) -> impl Fn() -> bool + Sync + Copy + use<'a> {
        let stop = self.stop;
        move || stop.is_some_and(|stop| stop())
    }
}
