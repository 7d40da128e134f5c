//! The knob shown: one partition followed down in τ.
//!
//! Cuts are made at one τ after the other, each started from the embeddings of the one before: a cut of a set of vertices
//! that was embedded before begins with the weights that its last embedding gives. Parts are followed by what they share,
//! so that a part has one name as long as more than half of it stays.

use std::collections::HashMap;

use crate::{
    cluster::Partitioner,
    control::{Control, Progress},
    cost::Costs,
    embedding::Warm,
    error::{Error, Result},
    graph::Graph,
    labels::Labels,
    partition::rejoin::Contract,
};

/// The partition at one τ.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepStep {
    /// Where the knob stood.
    pub tau: f64,
    /// The part of each vertex.
    pub labels: Labels,
    /// The parts, by label.
    pub parts: Vec<Part>,
    /// The cost (7) at this τ.
    pub cost: f64,
    /// What happened since the τ before; empty at the first.
    pub events: Vec<Event>,
    /// Sweeps of the reweighting that it took.
    pub n_sweeps: usize,
    /// Embeddings that could start from the τ before.
    pub n_warm: usize,
}

/// A part at one τ.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Part {
    /// Its name through all τ, counted from 0 in order of first appearance.
    pub track: usize,
    /// Its vertices.
    pub size: usize,
    /// Its term of the cost (7).
    pub cost: f64,
}

/// A part that came or went.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// The part.
    pub track: usize,
    /// The part that most of it came from, or went into.
    pub other: usize,
    /// Its vertices: now if it is new, before if it went.
    pub size: usize,
    /// Its term of the cost (7), likewise.
    pub cost: f64,
}

/// What can happen to a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum EventKind {
    /// It split off another part, which was at least as large.
    SplitsOff,
    /// It is larger than any part it came from: others went into it.
    Forms,
    /// It went into another part.
    Joins,
}

impl Partitioner {
    /// Follows the partition through several τ, in the order given.
    ///
    /// ```
    /// use ccbcut::{Control, Partitioner, graph::gallery};
    /// let graph = gallery::planted(&[30, 30, 8], 0.6, 0.02, 1);
    /// let steps = Partitioner::new(3, 2.0).sweep(&graph, &[2.0, 1.5, 1.0], &mut Control::new())?;
    /// assert_eq!(steps.len(), 3);
    /// assert!(steps[0].events.is_empty());
    /// # Ok::<(), ccbcut::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for no τ at all, [`Error::Interrupted`] when the control stopped the run, and those of
    /// [`Partitioner::partition`].
    pub fn sweep(&self, graph: &Graph, taus: &[f64], control: &mut Control<'_>) -> Result<Vec<SweepStep>> {
        self.sweep_by(graph, taus, None, control, |labels, tau| {
            let terms = Costs::with_terms(graph, labels, &self.balance, tau)?.1;
            Ok((labels.clone(), terms))
        })
    }

    /// The same, with the parts followed on what `measure` makes of the labels at a τ: labels, and each part's cost.
    pub(crate) fn sweep_by(
        &self,
        graph: &Graph,
        taus: &[f64],
        contract: Option<Contract<'_>>,
        control: &mut Control<'_>,
        measure: impl Fn(&Labels, f64) -> Result<(Labels, Vec<f64>)>,
    ) -> Result<Vec<SweepStep>> {
        if taus.is_empty() {
            let name = "the number of tau";
            return Err(Error::InvalidParameter { name, value: 0.0, expected: "at least 1" });
        }
        let mut warm = Warm::default();
        let mut steps: Vec<SweepStep> = Vec::new();
        let mut n_tracks = 0;
        for &tau in taus {
            control.tell(Progress::Stage("cutting at the next tau"));
            let cut = self.clone().tau(tau).partition_on(graph, Some(&warm), contract, control)?;
            if !cut.is_complete {
                return Err(Error::Interrupted);
            }
            let (next, n_warm) = warm.next();
            warm = next;
            let (labels, terms) = measure(&cut.labels, tau)?;
            let n_sweeps = cut.runs.iter().map(|run| run.trace.iterations.len()).sum();
            let cost = terms.iter().sum();
            let (parts, events) = follow(steps.last(), &labels, &terms, &mut n_tracks);
            steps.push(SweepStep { tau, labels, parts, cost, events, n_sweeps, n_warm });
        }
        Ok(steps)
    }
}

/// Gives the parts their names, and says what happened.
fn follow(
    last: Option<&SweepStep>,
    labels: &Labels,
    terms: &[f64],
    n_tracks: &mut usize,
) -> (Vec<Part>, Vec<Event>) {
    let sizes = labels.sizes();
    let mut tracks: Vec<Option<usize>> = vec![None; sizes.len()];
    let mut events = Vec::new();
    let shared = last.map(|last| overlaps(&last.labels, labels)).unwrap_or_default();
    if let Some(last) = last {
        // The same part shares more than half of the union, so no part has two successors.
        for &(a, b, count) in &shared {
            let union = last.parts[a].size + sizes[b] - count;
            if 2 * count > union {
                tracks[b] = Some(last.parts[a].track);
            }
        }
        for (a, part) in last.parts.iter().enumerate() {
            let into = shared.iter().filter(|e| e.0 == a).max_by_key(|e| (e.2, std::cmp::Reverse(e.1)));
            if let Some(&(_, b, _)) = into.filter(|_| !tracks.contains(&Some(part.track))) {
                events.push((EventKind::Joins, a, b));
            }
        }
    }
    let named: Vec<usize> = tracks
        .iter()
        .map(|track| {
            track.unwrap_or_else(|| {
                *n_tracks += 1;
                *n_tracks - 1
            })
        })
        .collect();
    let part = |b: usize| Part { track: named[b], size: sizes[b], cost: terms[b] };
    let parts: Vec<Part> = (0..sizes.len()).map(part).collect();
    let Some(last) = last else { return (parts, Vec::new()) };
    let mut told: Vec<Event> = Vec::new();
    for b in (0..sizes.len()).filter(|&b| tracks[b].is_none()) {
        let from = shared.iter().filter(|e| e.1 == b).max_by_key(|e| (e.2, std::cmp::Reverse(e.0)));
        let other = from.map_or(named[b], |&(a, _, _)| last.parts[a].track);
        let Part { track, size, cost } = parts[b];
        let is_less = from.is_none_or(|&(a, _, _)| size <= last.parts[a].size);
        let kind = if is_less { EventKind::SplitsOff } else { EventKind::Forms };
        told.push(Event { kind, track, other, size, cost });
    }
    told.extend(events.into_iter().map(|(kind, a, b)| {
        let Part { track, size, cost } = last.parts[a];
        Event { kind, track, other: named[b], size, cost }
    }));
    (parts, told)
}

/// How many vertices each part of one partition shares with each of another: (one, other, count), in order.
fn overlaps(before: &Labels, now: &Labels) -> Vec<(usize, usize, usize)> {
    let mut counts: HashMap<(u32, u32), usize> = HashMap::new();
    for (&a, &b) in before.as_slice().iter().zip(now.as_slice()) {
        *counts.entry((a, b)).or_default() += 1;
    }
    let mut all: Vec<(usize, usize, usize)> =
        counts.into_iter().map(|((a, b), count)| (a as usize, b as usize, count)).collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cluster::Method, graph::gallery};

    fn step(raw: &[u32], last: Option<&SweepStep>, n_tracks: &mut usize) -> SweepStep {
        let labels = Labels::from_raw(raw);
        let terms: Vec<f64> = (0..labels.n_segments()).map(|p| p as f64).collect();
        let (parts, events) = follow(last, &labels, &terms, n_tracks);
        SweepStep { tau: 1.0, labels, parts, cost: 0.0, events, n_sweeps: 0, n_warm: 0 }
    }

    #[test]
    fn parts_keep_their_names_and_changes_are_told() {
        let mut n_tracks = 0;
        let first = step(&[0, 0, 0, 0, 1, 1, 1, 2, 2, 2], None, &mut n_tracks);
        assert!(first.events.is_empty());
        assert_eq!(first.parts.iter().map(|p| p.track).collect::<Vec<_>>(), [0, 1, 2]);
        // One vertex leaves the first part, and the last two parts become one.
        let second = step(&[5, 0, 0, 0, 1, 1, 1, 1, 1, 1], Some(&first), &mut n_tracks);
        assert_eq!(second.parts.iter().map(|p| p.track).collect::<Vec<_>>(), [3, 0, 4]);
        let told: Vec<_> = second.events.iter().map(|e| (e.kind, e.track, e.other, e.size)).collect();
        let expected = [
            (EventKind::SplitsOff, 3, 0, 1),
            (EventKind::Forms, 4, 1, 6),
            (EventKind::Joins, 1, 4, 3),
            (EventKind::Joins, 2, 4, 3),
        ];
        assert_eq!(told, expected);
        assert!(step(&[5, 0, 0, 0, 1, 1, 1, 1, 1, 1], Some(&second), &mut n_tracks).events.is_empty());
    }

    #[test]
    fn each_step_is_a_cut_and_later_ones_start_warm() {
        let graph = gallery::planted(&[40, 30, 8], 0.5, 0.03, 5);
        let taus = [2.0, 1.6, 1.2, 0.8];
        for method in [Method::Hierarchical, Method::Multiway] {
            let partitioner = Partitioner::new(3, 2.0).method(method);
            let steps = partitioner.sweep(&graph, &taus, &mut Control::new()).unwrap();
            assert_eq!(steps.iter().map(|s| s.tau).collect::<Vec<_>>(), taus);
            assert_eq!(steps[0].labels, partitioner.partition(&graph).unwrap().labels, "the first is cold");
            for (at, step) in steps.iter().enumerate() {
                let sizes: Vec<usize> = step.parts.iter().map(|p| p.size).collect();
                assert_eq!(sizes, step.labels.sizes());
                let cost = crate::cost::ccn(&graph, &step.labels, step.tau).unwrap();
                assert!((step.cost - cost).abs() < 1e-12 * cost);
                // After τ = 2 the usual start is that solution.
                assert_eq!(step.n_warm > 0, at > 1, "{method:?}, tau {}", step.tau);
            }
            let again = partitioner.sweep(&graph, &taus, &mut Control::new()).unwrap();
            assert_eq!(again, steps);
        }
    }

    #[test]
    fn no_tau_and_bad_tau_are_refused_and_stops_are_heard() {
        let graph = gallery::path(12);
        let run = |taus: &[f64]| Partitioner::new(2, 1.0).sweep(&graph, taus, &mut Control::new());
        assert!(matches!(run(&[]), Err(Error::InvalidParameter { .. })));
        assert!(matches!(run(&[2.0, 0.0]), Err(Error::TauOutOfRange { .. })));
        let stop = || true;
        let stopped = Partitioner::new(3, 1.0).sweep(&graph, &[1.0], &mut Control::new().stop(&stop));
        assert_eq!(stopped, Err(Error::Interrupted));
    }
}
