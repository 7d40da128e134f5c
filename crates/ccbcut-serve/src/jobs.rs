//! The queue: long work in order, one job per tab, each cancelled by the next of its tab.

use std::{
    collections::{HashMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::problem::Problem;

/// Events that a job remembers for listeners that come late.
const MAX_EVENTS: usize = 1024;
/// Jobs that are remembered after their end.
const MAX_JOBS: usize = 256;

/// What a job does; it looks at [`Job::is_stopped`] now and then.
pub type Task = Box<dyn FnOnce(&Job) -> Result<Value, Problem> + Send>;

/// One piece of long work.
#[derive(Debug)]
pub struct Job {
    /// Its name in addresses.
    pub id: String,
    is_cancelled: AtomicBool,
    deadline: Mutex<Option<Instant>>,
    limit: Duration,
    log: Mutex<Log>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Log {
    events: VecDeque<(u64, String)>,
    next: u64,
    has_ended: bool,
}

impl Job {
    fn new(id: String, limit: Duration) -> Self {
        let (is_cancelled, deadline) = (AtomicBool::new(false), Mutex::new(None));
        Self { id, is_cancelled, deadline, limit, log: Mutex::default(), changed: Notify::new() }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells listeners something.
    pub fn tell(&self, kind: &str, data: &Value) {
        self.push(kind, data, false);
    }

    fn push(&self, kind: &str, data: &Value, is_last: bool) {
        let mut log = self.log();
        if log.has_ended {
            return;
        }
        let number = log.next;
        log.next += 1;
        log.has_ended = is_last;
        log.events.push_back((number, format!("id: {number}\nevent: {kind}\ndata: {data}\n\n")));
        if log.events.len() > MAX_EVENTS {
            log.events.pop_front();
        }
        drop(log);
        self.changed.notify_waiters();
    }

    /// Asks it to stop.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::SeqCst);
        self.push("cancelled", &json!({}), true);
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::SeqCst)
    }

    /// Whether it should stop: cancelled, or out of time.
    pub fn is_stopped(&self) -> bool {
        let deadline = *self.deadline.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_cancelled() || deadline.is_some_and(|deadline| Instant::now() > deadline)
    }

    /// The events from a number on as text, the number after them, and whether they are the last.
    pub fn events_from(&self, first: u64) -> (String, u64, bool) {
        let log = self.log();
        let text = log.events.iter().filter(|(number, _)| *number >= first).map(|(_, text)| text.as_str());
        (text.collect(), log.next, log.has_ended)
    }

    /// Waits until there is more than the events before a number; every now and then it looks by itself.
    pub async fn wait_beyond(&self, next: u64) {
        let changed = self.changed.notified();
        let (is_old, has_ended) = {
            let log = self.log();
            (log.next > next, log.has_ended)
        };
        if !is_old && !has_ended {
            // A timeout is not an error: the caller sends a sign of life.
            let _ = tokio::time::timeout(Duration::from_secs(10), changed).await;
        }
    }

    fn run(&self, task: Task) {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) =
            Instant::now().checked_add(self.limit);
        let done = catch_unwind(AssertUnwindSafe(|| task(self)));
        let (kind, data) = match done {
            _ if self.is_cancelled() => ("cancelled", json!({})),
            Ok(Ok(data)) => ("done", data),
            Ok(Err(_)) if self.is_stopped() => {
                let seconds = self.limit.as_secs();
                ("failed", json!({ "detail": format!("this took longer than {seconds} s and was stopped") }))
            }
            Ok(Err(problem)) => ("failed", json!({ "detail": problem.detail })),
            Err(_) => ("failed", json!({ "detail": "the solver broke; please report this image" })),
        };
        self.push(kind, &data, true);
    }
}

/// All jobs.
#[derive(Debug)]
pub struct Jobs {
    queue: Mutex<Queue>,
    is_waiting: Condvar,
    max_waiting: usize,
    limit: Duration,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<(Arc<Job>, Task)>,
    by_id: HashMap<String, Arc<Job>>,
    by_tab: HashMap<String, Arc<Job>>,
    order: VecDeque<(String, String)>,
    n_made: u64,
    is_closed: bool,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}

impl Jobs {
    /// A queue that holds so many waiting jobs, each with so much time.
    pub fn new(max_waiting: usize, limit: Duration) -> Self {
        Self { queue: Mutex::default(), is_waiting: Condvar::new(), max_waiting, limit }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a job for a tab; the tab's last one is cancelled.
    ///
    /// # Errors
    /// When the queue is full.
    pub fn add(&self, tab: &str, task: Task) -> Result<Arc<Job>, Problem> {
        let mut queue = self.lock();
        if let Some(last) = queue.by_tab.get(tab) {
            last.cancel();
        }
        queue.waiting.retain(|(job, _)| !job.is_cancelled());
        if queue.waiting.len() >= self.max_waiting {
            return Err(Problem::busy("the queue is full"));
        }
        queue.n_made += 1;
        let job = Arc::new(Job::new(format!("{}", queue.n_made), self.limit));
        queue.waiting.push_back((Arc::clone(&job), task));
        queue.by_id.insert(job.id.clone(), Arc::clone(&job));
        queue.by_tab.insert(tab.to_owned(), Arc::clone(&job));
        queue.order.push_back((job.id.clone(), tab.to_owned()));
        while queue.order.len() > MAX_JOBS + self.max_waiting {
            let Some((id, tab)) = queue.order.pop_front() else { break };
            queue.by_id.remove(&id);
            if queue.by_tab.get(&tab).is_some_and(|job| job.id == id) {
                queue.by_tab.remove(&tab);
            }
        }
        drop(queue);
        self.is_waiting.notify_one();
        Ok(job)
    }

    /// A job by its name.
    pub fn get(&self, id: &str) -> Option<Arc<Job>> {
        self.lock().by_id.get(id).cloned()
    }

    /// Jobs that wait.
    pub fn n_waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Does jobs until the queue is closed; what a worker thread runs.
    pub fn work(&self) {
        loop {
            let mut queue = self.lock();
            let next = loop {
                if queue.is_closed {
                    return;
                }
                match queue.waiting.pop_front() {
                    Some((job, _)) if job.is_cancelled() => {}
                    Some(next) => break next,
                    None => queue = self.is_waiting.wait(queue).unwrap_or_else(PoisonError::into_inner),
                }
            };
            drop(queue);
            next.0.run(next.1);
        }
    }

    /// Cancels everything and sends the workers home.
    pub fn close(&self) {
        let mut queue = self.lock();
        queue.is_closed = true;
        queue.by_id.values().for_each(|job| job.cancel());
        queue.waiting.clear();
        drop(queue);
        self.is_waiting.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(job: &Job) -> String {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let (text, _, is_last) = job.events_from(0);
            if is_last {
                return text;
            }
            assert!(Instant::now() < until, "the job did not end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn with_worker(limit: Duration, test: impl FnOnce(&Jobs)) {
        let jobs = Jobs::new(2, limit);
        std::thread::scope(|scope| {
            scope.spawn(|| jobs.work());
            test(&jobs);
            jobs.close();
        });
    }

    /// Works until it is stopped.
    fn endless() -> Task {
        Box::new(|job| {
            while !job.is_stopped() {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(Problem::internal("stopped"))
        })
    }

    #[test]
    fn a_job_tells_its_story_and_ends() {
        with_worker(Duration::from_secs(60), |jobs| {
            let job = jobs.add(
                "a",
                Box::new(|job| {
                    job.tell("sweep", &json!({"f": 1.5}));
                    Ok(json!({"cut": "x"}))
                }),
            );
            let text = ended(&job.unwrap());
            assert_eq!(
                text,
                "id: 0\nevent: sweep\ndata: {\"f\":1.5}\n\nid: 1\nevent: done\ndata: {\"cut\":\"x\"}\n\n"
            );
            let failed = jobs.add("a", Box::new(|_| Err(Problem::unusable("no")))).unwrap();
            assert!(ended(&failed).contains("event: failed\ndata: {\"detail\":\"no\"}"));
            let broken = jobs.add("a", Box::new(|_| panic!("for the test"))).unwrap();
            assert!(ended(&broken).contains("event: failed"));
            assert!(jobs.get(&broken.id).is_some() && jobs.get("0").is_none());
        });
    }

    #[test]
    fn the_next_job_of_a_tab_cancels_the_last_and_other_tabs_wait() {
        with_worker(Duration::from_secs(60), |jobs| {
            let first = jobs.add("a", endless()).unwrap();
            let other = jobs.add("b", Box::new(|_| Ok(json!(1)))).unwrap();
            let second = jobs.add("a", Box::new(|_| Ok(json!(2)))).unwrap();
            assert!(ended(&first).contains("event: cancelled"));
            assert!(ended(&other).contains("done") && ended(&second).contains("done"));
        });
    }

    #[test]
    fn a_full_queue_refuses_and_superseded_jobs_make_room() {
        let jobs = Jobs::new(2, Duration::from_secs(60));
        jobs.add("a", endless()).unwrap();
        jobs.add("b", endless()).unwrap();
        let refused = jobs.add("c", endless()).unwrap_err();
        assert_eq!((refused.status.as_u16(), refused.retry_after), (429, Some(1)));
        jobs.add("a", endless()).unwrap();
        assert_eq!(jobs.n_waiting(), 2);
    }

    #[test]
    fn a_job_that_takes_too_long_is_stopped() {
        with_worker(Duration::from_millis(20), |jobs| {
            let slow = jobs.add("a", endless()).unwrap();
            assert!(ended(&slow).contains("took longer"));
        });
    }

    #[test]
    fn old_jobs_are_forgotten() {
        let jobs = Jobs::new(1, Duration::from_secs(1));
        for _ in 0..MAX_JOBS + 10 {
            jobs.add("a", endless()).unwrap();
        }
        assert!(jobs.get("1").is_none());
        assert_eq!(jobs.lock().by_id.len(), MAX_JOBS + 1);
    }
}
