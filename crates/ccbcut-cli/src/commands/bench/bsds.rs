//! `ccbcut bench bsds`: the paper's experiment.

use std::{
    path::Path,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use ccbcut::{
    Control, LabelMap, StopReason,
    metrics::{Contingency, protocol::needed_parts, spread},
    report::Stage,
    segment::{Family, Prepared},
};
use ccbcut_io::Limits;
use serde_json::{Map, Value};

use super::{
    dataset::{self, Entry},
    keep::Keep,
    method::{Method, with_affinities},
    page,
    pictures::{self, Gallery},
    record::{CutRun, Record, Store},
    table::Summary,
};
use crate::{
    args::{BsdsArgs, Method as Way},
    exit::ExitStatus,
    library,
    output::{Output, Progress},
    read,
    watch::Watch,
};

/// Cuts what is not done yet, then makes the tables.
pub fn run(args: &BsdsArgs, output: &Output) -> Result<ExitStatus> {
    let methods = methods(args)?;
    let (entries, n_without) = dataset::entries(&args.data, args.split.name())?;
    if n_without > 0 {
        output.warn(&format!("{n_without} images have no ground truth and are left out"));
    }
    let entries = dataset::spread_over(entries, args.limit);
    ensure!(!entries.is_empty(), "`--limit 0` leaves no image");
    std::fs::create_dir_all(&args.out).with_context(|| format!("making folder `{}`", args.out.display()))?;
    let keep = Keep { out: &args.out, pictures: !args.no_pictures, segs: args.save_segs };
    keep.prepare(&methods)?;
    let mut store = Store::open(&args.out.join("results.jsonl"))?;

    let parameters = methods.iter().map(Method::parameters).collect::<Result<Vec<_>>>()?;
    let mut tasks = Vec::new();
    let keys = methods.iter().map(Method::graph_key).collect::<Result<Vec<_>>>()?;
    let mut order: Vec<usize> = (0..methods.len()).collect();
    order.sort_by_key(|&m| keys.iter().position(|key| *key == keys[m]));
    for entry in &entries {
        for (method, parameters, key) in order.iter().map(|&m| (&methods[m], &parameters[m], &keys[m])) {
            if !store.has(&entry.name, &method.name, parameters)? {
                tasks.push(Task { entry, method, parameters, key });
            }
        }
    }
    if args.save_segs {
        warn_of_missing(&entries, &methods, &tasks, keep, output);
    }
    let n_all = entries.len() * methods.len();
    if tasks.len() < n_all {
        output.status(&format!("{} of {n_all} cuts are done already", n_all - tasks.len()));
    }
    let watch = Watch::start(None)?;
    let n_failed = work(&tasks, keep, args.threads, &watch, &mut store, output)?;
    if watch.is_interrupted() {
        output.status("the same command goes on from here");
        return Err(ccbcut::Error::Interrupted.into());
    }

    let images: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    let names: Vec<&str> = methods.iter().map(|m| m.name.as_str()).collect();
    let summary = Summary::new(&store, &names, &images, args.split)?;
    write(&args.out.join("tables.md"), summary.markdown().as_bytes())?;
    write(&args.out.join("summary.json"), &serde_json::to_vec_pretty(&summary)?)?;
    let gallery = if args.no_pictures {
        Gallery::none()
    } else {
        pictures::draw(&entries, &names, &store, &summary, keep, args.threads, output)?
    };
    let page = page::render(&summary, &store, &images, &gallery)?;
    write(&args.out.join("report.html"), page.as_bytes())?;
    if args.json {
        output.json(&summary)?;
    } else {
        output.summary(&summary.markdown())?;
    }
    if n_failed > 0 {
        output.status(&format!("{} of {} cuts done, {n_failed} failed", tasks.len() - n_failed, tasks.len()));
        return Ok(ExitStatus::Error);
    }
    Ok(ExitStatus::Success)
}

/// Says how many cuts were made before without being kept: they are not made again.
fn warn_of_missing(
    entries: &[Entry],
    methods: &[Method],
    tasks: &[Task<'_>],
    keep: Keep<'_>,
    output: &Output,
) {
    let pairs = entries.iter().flat_map(|entry| methods.iter().map(move |method| (entry, method)));
    let is_missing = |(entry, method): &(&Entry, &Method)| {
        let is_task = |task: &Task<'_>| task.entry == *entry && task.method.name == method.name;
        !keep.segs(&method.name, &entry.name).exists() && !tasks.iter().any(is_task)
    };
    let n_missing = pairs.filter(is_missing).count();
    if n_missing > 0 {
        output.warn(&format!(
            "{n_missing} cuts were done without --save-segs and are not done again; another --out has them all"
        ));
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    Ok(ccbcut_io::write_whole(path, bytes, ccbcut_io::Overwrite::Allow)?)
}

fn methods(args: &BsdsArgs) -> Result<Vec<Method>> {
    let methods = with_affinities(&args.methods, &args.affinity)
        .iter()
        .map(|text| Method::parse(text, &args.set))
        .collect::<Result<Vec<_>>>()?;
    for (i, method) in methods.iter().enumerate() {
        if methods[..i].iter().any(|other| other.name == method.name) {
            bail!("the method `{}` was named twice", method.name);
        }
    }
    Ok(methods)
}

/// One image to be cut by one method.
struct Task<'a> {
    entry: &'a Entry,
    method: &'a Method,
    parameters: &'a Map<String, Value>,
    /// Tasks of one image and one key share a graph.
    key: &'a str,
}

/// Works through the tasks on several threads, those that share a graph on one; how many failed.
fn work(
    tasks: &[Task<'_>],
    keep: Keep<'_>,
    threads: usize,
    watch: &Watch,
    store: &mut Store,
    output: &Output,
) -> Result<usize> {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let n_workers = if threads == 0 { available } else { threads }.min(tasks.len()).max(1);
    let batches: Vec<&[Task<'_>]> =
        tasks.chunk_by(|a, b| std::ptr::eq(a.entry, b.entry) && a.key == b.key).collect();
    // Each worker has a pool of one thread, so that a task's time is its own.
    let pools = (0..n_workers)
        .map(|_| rayon::ThreadPoolBuilder::new().num_threads(1).build().context("starting threads"))
        .collect::<Result<Vec<_>>>()?;
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let start = Instant::now();
    let progress = output.progress("bench");
    std::thread::scope(|scope| {
        for pool in &pools {
            let (sender, next, batches) = (sender.clone(), &next, &batches);
            scope.spawn(move || {
                while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut shared = None;
                    for task in *batch {
                        if watch.is_interrupted() {
                            return;
                        }
                        let done = pool.install(|| cut(task, &mut shared, keep, watch));
                        let context = || format!("cutting `{}` by `{}`", task.entry.name, task.method.name);
                        // A receiver that is gone has failed to write: there is nothing left to do.
                        if sender.send(done.with_context(context)).is_err() {
                            return;
                        }
                    }
                }
            });
        }
        drop(sender);
        let (mut n_done, mut n_failed) = (0, 0);
        for result in receiver {
            match result {
                Ok(record) => store.add(record)?,
                Err(error) if crate::exit::status_of(&error) == ExitStatus::Interrupted => continue,
                Err(error) => {
                    output.error(&error);
                    n_failed += 1;
                }
            }
            n_done += 1;
            show(&progress, n_done, tasks.len(), start.elapsed());
        }
        Ok(n_failed)
    })
}

fn show(progress: &Progress, n_done: usize, n_all: usize, elapsed: Duration) {
    let left = elapsed.as_secs_f64() / n_done as f64 * (n_all - n_done) as f64;
    progress.count_with(n_done, n_all, &format!("cuts, about {} left", duration(left)));
}

/// A length of time for people.
fn duration(seconds: f64) -> String {
    let s = seconds.round() as u64;
    match s {
        0..60 => format!("{s} s"),
        60..3600 => format!("{} min", s.div_ceil(60)),
        _ => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}

/// Makes one cut; the graph is made by the first task of those that share it.
fn cut(task: &Task<'_>, shared: &mut Option<Prepared>, keep: Keep<'_>, watch: &Watch) -> Result<Record> {
    let Task { entry, method, parameters, .. } = task;
    let truths = entry.truths()?;
    let truth_counts: Vec<usize> = truths.iter().map(LabelMap::n_segments).collect();
    let args = &method.args;
    let mut ks = needed_parts(&truth_counts);
    if args.partition.method == Way::Hierarchical {
        // All the others come for nothing.
        ks = (1..=ks.last().copied().unwrap_or(1)).collect();
    }
    let segmenter =
        library::segmenter(&args.partition, &args.embedding, &args.graph, args.output.connected, None);
    let stop = || watch.is_interrupted();
    let prepared = if let Some(prepared) = shared {
        prepared
    } else {
        let image = read::image(&entry.image, Limits::default())?.image;
        let largest = ks.last().copied().unwrap_or(1);
        let maker = segmenter.clone().partitioner(|p| p.n_segments(largest));
        shared.insert(maker.prepare(&image, None, &mut Control::new().stop(&stop))?)
    };
    let Family { members, stages, runs } =
        segmenter.family_prepared(prepared, &ks, &mut Control::new().stop(&stop))?;
    let mut cuts = Vec::new();
    for (&k, member) in ks.iter().zip(&members) {
        let scores = truths.iter().map(|truth| {
            let score = Contingency::new(&member.labels, truth)?.score();
            Ok([score.covering, score.rand_index, score.variation])
        });
        let scores = scores
            .collect::<ccbcut::Result<_>>()
            .with_context(|| format!("comparing with `{}`", entry.truth.display()))?;
        let mut sizes = member.labels.sizes();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        cuts.push(CutRun { k, sizes, volume_spread: spread(&member.volumes), scores });
    }
    let maps: Vec<LabelMap> = members.into_iter().map(|member| member.labels).collect();
    keep.save(&method.name, &entry.name, &truth_counts, &ks, &maps)?;
    // The graph counts for each of the methods that share it.
    let seconds = |is_wanted: fn(&Stage) -> bool| {
        let all = prepared.stages().iter().chain(&stages);
        all.filter(|s| is_wanted(s)).map(|s| s.ms).sum::<f64>() / 1e3
    };
    Ok(Record {
        image: entry.name.clone(),
        method: method.name.clone(),
        truth_counts,
        runs: cuts,
        affinity_s: seconds(|stage| stage.name == "affinity"),
        cutting_s: seconds(|stage| stage.name != "affinity"),
        converged: !runs.iter().any(|run| run.trace.stop_reason == StopReason::MaxIterations),
        parameters: (*parameters).clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_for_people() {
        assert_eq!(
            [0.4, 59.0, 61.0, 3600.0, 9000.0].map(duration),
            ["0 s", "59 s", "2 min", "1 h 0 min", "2 h 30 min"]
        );
    }
}
