//! Long work beside the interpreter: other Python threads run on, and Ctrl-C stops it.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use ccbcut::parallel::MAX_THREADS;
use pyo3::{
    exceptions::{PyOSError, PyValueError},
    prelude::*,
};

use crate::error::to_python;

/// How long a Ctrl-C may wait before it is seen.
const PATIENCE: Duration = Duration::from_millis(50);

/// Whether the work shall stop.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// Does some work on a pool of its own with so many threads, 0 for all.
///
/// Python handles signals on its main thread alone, so the work goes to another thread, and the caller comes back to the
/// interpreter every now and then to ask. The pool lives as long as the call: a process that forks takes no dead
/// threads along.
pub fn run<R: Send>(
    py: Python<'_>,
    threads: usize,
    work: impl FnOnce(Stop<'_>) -> ccbcut::Result<R> + Send,
) -> PyResult<R> {
    if threads > MAX_THREADS {
        let message =
            format!("threads is {threads}, but it must be a whole number from 0 (all) to {MAX_THREADS}");
        return Err(PyValueError::new_err(message));
    }
    let no_threads = |error: &dyn std::fmt::Display| PyOSError::new_err(format!("starting threads: {error}"));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| no_threads(&e))?;
    let (is_asked, is_done) = (AtomicBool::new(false), AtomicBool::new(false));
    let stop = || is_asked.load(Ordering::Relaxed);
    let caller = thread::current();
    thread::scope(|scope| {
        let task = || {
            let result = pool.install(|| work(&stop));
            is_done.store(true, Ordering::Release);
            caller.unpark();
            result
        };
        let worker = thread::Builder::new().spawn_scoped(scope, task).map_err(|e| no_threads(&e))?;
        let mut interrupt = None;
        while !is_done.load(Ordering::Acquire) && !worker.is_finished() {
            py.detach(|| thread::park_timeout(PATIENCE));
            if interrupt.is_none()
                && let Err(error) = py.check_signals()
            {
                is_asked.store(true, Ordering::Relaxed);
                interrupt = Some(error);
            }
        }
        let result = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match interrupt {
            Some(error) => Err(error),
            None => result.map_err(to_python),
        }
    })
}
