//! What long runs look at between steps: Ctrl-C and the time limit.

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

/// Ctrl-C and the time limit of a run, asked between steps.
///
/// The first Ctrl-C lets the step in progress end; a second one ends the process at once.
#[derive(Debug, Clone)]
pub struct Watch {
    interrupted: Arc<AtomicBool>,
    limit: Option<Duration>,
    deadline: Option<Instant>,
}

impl Watch {
    /// Listens for Ctrl-C from here on; one watch per process.
    ///
    /// # Errors
    /// When the handler cannot be set.
    pub fn start(time_limit: Option<f64>) -> Result<Self> {
        let interrupted = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&interrupted);
        let on_signal = move || {
            if flag.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
        };
        ctrlc::set_handler(on_signal).context("listening for Ctrl-C")?;
        Ok(Self::with_flag(interrupted, time_limit))
    }

    fn with_flag(interrupted: Arc<AtomicBool>, time_limit: Option<f64>) -> Self {
        let limit = time_limit.and_then(|s| Duration::try_from_secs_f64(s).ok());
        let mut watch = Self { interrupted, limit, deadline: None };
        watch.restart();
        watch
    }

    /// Starts the time limit anew, for the next input of a batch.
    pub fn restart(&mut self) {
        // A limit too far away to be a point in time is no limit.
        self.deadline = self.limit.and_then(|limit| Instant::now().checked_add(limit));
    }

    /// Whether Ctrl-C was pressed.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }

    /// Whether the time limit has passed.
    pub fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// What an observer of the library answers: stop on Ctrl-C or when the time is up.
    pub fn flow(&self) -> ControlFlow<()> {
        if self.is_interrupted() || self.is_late() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_interrupts_stop_a_run() {
        let flag = Arc::new(AtomicBool::new(false));
        assert!(Watch::with_flag(Arc::clone(&flag), None).flow().is_continue());
        assert!(Watch::with_flag(Arc::clone(&flag), Some(0.0)).flow().is_break());
        assert!(Watch::with_flag(Arc::clone(&flag), Some(1e18)).flow().is_continue());
        let watch = Watch::with_flag(Arc::clone(&flag), Some(1000.0));
        assert!(!watch.is_late() && watch.flow().is_continue());
        flag.store(true, Ordering::SeqCst);
        assert!(watch.is_interrupted() && watch.flow().is_break());
    }
}
