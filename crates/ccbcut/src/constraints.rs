//! What a cut must keep together, and what it must keep apart.

use std::{collections::HashMap, ops::ControlFlow, sync::Mutex};

use crate::{
    cluster::{Method, Partition, Partitioner, Run},
    control::{Control, Progress},
    embedding::{StopReason, Warm, limits},
    error::{Error, Result},
    graph::{Balance, Graph},
    labels::Labels,
    parallel,
    partition::apart::potential,
    sets::DisjointSets,
};

/// Pairs of vertices to be kept together or apart, and seeds: vertices that belong to a part of a name of its own.
///
/// ```
/// use ccbcut::{Constraints, Partitioner, Control, graph::gallery};
/// // A path would be cut in the middle; the ends of the first half are to stay together with the last vertex.
/// let constraints = Constraints::new().together(0, 7).apart(0, 4);
/// let cut = Partitioner::new(2, 2.0).partition_constrained(&gallery::path(8), &constraints, &mut Control::new())?;
/// let labels = cut.labels.as_slice();
/// assert!(labels[0] == labels[7] && labels[0] != labels[4]);
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Constraints {
    together: Vec<(u32, u32)>,
    apart: Vec<(u32, u32)>,
    seeds: Vec<(u32, u32)>,
}

/// Colourings that are tried before the search for fewer parts is given up.
const MAX_TRIED: usize = 200_000;

/// The most parts that are joined again: every pair of them is looked at.
const MAX_JOINED: usize = 2000;

/// Columns that are looked at for a part with several things to be kept apart.
const MAX_COLUMNS: usize = 8;

impl Constraints {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Two vertices in the same part.
    #[must_use]
    pub fn together(mut self, a: u32, b: u32) -> Self {
        self.together.push((a, b));
        self
    }

    /// Two vertices in different parts.
    #[must_use]
    pub fn apart(mut self, a: u32, b: u32) -> Self {
        self.apart.push((a, b));
        self
    }

    /// A vertex with a name: vertices of one name are kept together, those of different names apart.
    #[must_use]
    pub fn seed(mut self, vertex: u32, name: u32) -> Self {
        self.seeds.push((vertex, name));
        self
    }

    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.together.is_empty() && self.apart.is_empty() && self.seeds.is_empty()
    }

    /// The vertices that have names, and these.
    pub fn seeds(&self) -> &[(u32, u32)] {
        &self.seeds
    }

    /// The seeds among some vertices, by their places there. Where there are more names than parts, each is only kept whole.
    pub(crate) fn inside(&self, members: &[u32], n_segments: usize) -> Self {
        if self.seeds.is_empty() {
            return Self::default();
        }
        let places: HashMap<u32, u32> = members.iter().zip(0..).map(|(&v, at)| (v, at)).collect();
        let place = |&(v, name): &(u32, u32)| Some((*places.get(&v)?, name));
        let mut seeds: Vec<(u32, u32)> = self.seeds.iter().filter_map(place).collect();
        seeds.sort_unstable_by_key(|&(v, name)| (name, v));
        let same: Vec<&[(u32, u32)]> = seeds.chunk_by(|a, b| a.1 == b.1).collect();
        if same.len() > 1 && same.len() <= n_segments {
            return Self { seeds, ..Self::default() };
        }
        let pairs = same.iter().flat_map(|all| all.windows(2).map(|two| (two[0].0, two[1].0)));
        Self { together: pairs.collect(), ..Self::default() }
    }

    /// What is joined, and which of it must be kept apart: pairs, the lower number first, sorted.
    fn groups(&self, n: usize, n_segments: usize) -> Result<(Labels, Vec<(u32, u32)>)> {
        let pairs = self.together.iter().chain(&self.apart).flat_map(|&(a, b)| [a, b]);
        if let Some(v) = pairs.chain(self.seeds.iter().map(|&(v, _)| v)).find(|&v| v as usize >= n) {
            return Err(Error::IndexOutOfRange {
                what: "a vertex of a constraint",
                index: v as usize,
                limit: n,
            });
        }
        let mut sets = DisjointSets::new(n);
        self.together.iter().for_each(|&(a, b)| {
            sets.join(a, b);
        });
        let mut named: Vec<(u32, u32)> = self.seeds.iter().map(|&(v, name)| (name, v)).collect();
        named.sort_unstable();
        named.windows(2).filter(|w| w[0].0 == w[1].0).for_each(|w| {
            sets.join(w[0].1, w[1].1);
        });
        let groups = sets.labels();
        let firsts: Vec<u32> = named.chunk_by(|a, b| a.0 == b.0).map(|same| same[0].1).collect();
        if firsts.len() > n_segments {
            return Err(Error::TooManySeeds { seeds: firsts.len(), segments: n_segments });
        }
        let between = firsts.iter().enumerate().flat_map(|(i, &a)| firsts[..i].iter().map(move |&b| (a, b)));
        let mut apart = Vec::new();
        for (a, b) in self.apart.iter().copied().chain(between) {
            let (x, y) = (groups.as_slice()[a as usize], groups.as_slice()[b as usize]);
            if x == y {
                return Err(Error::Contradiction { a: a as usize, b: b as usize });
            }
            apart.push((x.min(y), x.max(y)));
        }
        apart.sort_unstable();
        apart.dedup();
        Ok((groups, apart))
    }
}

impl Partitioner {
    /// Cuts a graph so that every constraint holds.
    ///
    /// What must be together is drawn together into one vertex first, which changes no cost. A part that holds two vertices which
    /// must be apart is split before all others, along the potential between them. Where that makes more parts than
    /// were asked for, parts are joined again by a bounded search; there is no tree then.
    ///
    /// # Errors
    /// [`Error::Contradiction`], [`Error::TooManySeeds`], [`Error::IndexOutOfRange`] for constraints that cannot hold;
    /// [`Error::NotFound`] where the search ended without a partition, [`Error::TooLarge`] where there is too much to search; [`Error::InvalidParameter`] for a
    /// multiway cut or with refinement; and those of [`Partitioner::partition_with`].
    pub fn partition_constrained(
        &self,
        graph: &Graph,
        constraints: &Constraints,
        control: &mut Control<'_>,
    ) -> Result<Partition> {
        if constraints.is_empty() {
            return self.partition_with(graph, control);
        }
        self.constrained(graph, constraints, None, control)
    }

    /// The same; parts in which nothing is at odds begin from what an earlier run with the same constraints left.
    pub(crate) fn constrained(
        &self,
        graph: &Graph,
        constraints: &Constraints,
        warm: Option<&Warm>,
        control: &mut Control<'_>,
    ) -> Result<Partition> {
        let refuse = |name, expected| Err(Error::InvalidParameter { name, value: 1.0, expected });
        if self.method == Method::Multiway {
            return refuse("constraints", "a hierarchical cut");
        }
        if self.is_refined() {
            return refuse("refinement", "no refinement where there are constraints");
        }
        let (groups, apart) = constraints.groups(graph.n_vertices(), self.n_segments)?;
        let joined = graph.contracted(groups.as_slice(), groups.n_segments())?;
        self.check(joined.n_vertices())?;
        let balance = self.balance_of(graph, &groups)?;
        parallel::inside(|| {
            let part = self.clone().balance(balance).split_apart(&joined, &apart, warm, control)?;
            let labels = part.labels.as_slice();
            let on_vertices: Vec<u32> = groups.as_slice().iter().map(|&g| labels[g as usize]).collect();
            let mut members: Vec<Vec<u32>> = vec![Vec::new(); groups.n_segments()];
            for (v, &g) in groups.as_slice().iter().enumerate() {
                members[g as usize].push(v as u32);
            }
            let tree = part.tree.map(|tree| tree.lifted(&members));
            // A cut of the lifted tree numbers its parts by the first vertex, as labels do.
            Ok(Partition { labels: Labels::from_raw(&on_vertices), tree, ..part })
        })
    }

    /// π of vertices that were drawn together.
    fn balance_of(&self, graph: &Graph, groups: &Labels) -> Result<Balance> {
        if self.balance == Balance::Normalized {
            return Ok(Balance::Normalized);
        }
        let mut sums = vec![0.0; groups.n_segments()];
        for (pi, &g) in self.balance.weights(graph)?.iter().zip(groups.as_slice()) {
            sums[g as usize] += pi;
        }
        Ok(Balance::Custom(sums))
    }

    fn split_apart(
        &self,
        graph: &Graph,
        apart: &[(u32, u32)],
        warm: Option<&Warm>,
        control: &mut Control<'_>,
    ) -> Result<Partition> {
        control.tell(Progress::Stage("splitting"));
        let (stop, signals) = (control.stopper(), control.signals());
        let runs = Mutex::new(Vec::new());
        let inside = |members: &[u32]| -> Vec<(usize, usize)> {
            let place = |v: u32| members.binary_search(&v).ok();
            apart.iter().filter_map(|&(a, b)| Some((place(a)?, place(b)?))).collect()
        };
        let embed = |sub: &Graph, balance: &Balance, members: &[u32]| -> Result<Vec<f64>> {
            let pairs = inside(members);
            if pairs.is_empty() {
                return self.columns_of_part(sub, balance, members, warm, signals, &runs);
            }
            columns_apart(sub, &pairs)
        };
        let is_urgent = |members: &[u32]| !inside(members).is_empty();
        let bisection = self.bisection(graph.n_vertices());
        let tree = bisection.run_urgent(graph, &self.balance, embed, is_urgent, |step| {
            control.tell(Progress::Split(step));
            if stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let mut runs: Vec<Run> = runs.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        runs.sort_by_key(|run: &Run| (std::cmp::Reverse(run.n_vertices), run.first_vertex));
        let interrupted = runs.iter().any(|run| run.trace.stop_reason == StopReason::Interrupted);
        let is_complete = tree.is_complete() && !interrupted;
        let leaves = tree.cut(tree.n_leaves())?;
        let (labels, tree) = if leaves.n_segments() > self.n_segments {
            (fewer(graph, &leaves, apart, self.n_segments)?, None)
        } else {
            (leaves, Some(tree))
        };
        if !keeps_apart(&labels, apart) {
            // Only a run that was stopped gets here.
            return Err(Error::Interrupted);
        }
        Ok(Partition { labels, tree, embedding: None, runs, is_complete })
    }
}

fn keeps_apart(labels: &Labels, apart: &[(u32, u32)]) -> bool {
    apart.iter().all(|&(a, b)| labels.as_slice()[a as usize] != labels.as_slice()[b as usize])
}

/// The potentials between some vertices and all that they must be kept apart from.
fn columns_apart(graph: &Graph, pairs: &[(usize, usize)]) -> Result<Vec<f64>> {
    let mut sources: Vec<usize> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
    sources.sort_unstable();
    sources.dedup();
    let mut columns = Vec::new();
    for &source in sources.iter().take(MAX_COLUMNS) {
        let other = |&(a, b): &(usize, usize)| match source {
            s if s == a => Some(b),
            s if s == b => Some(a),
            _ => None,
        };
        let sinks: Vec<usize> = pairs.iter().filter_map(other).collect();
        columns.extend(potential(graph, source, &sinks, limits::MAX_FLOPS, limits::MAX_ENTRIES)?);
    }
    Ok(columns)
}

/// Parts joined until there are as few as asked for, strongly tied ones first, none of them with what must be apart.
fn fewer(graph: &Graph, leaves: &Labels, apart: &[(u32, u32)], n_segments: usize) -> Result<Labels> {
    let n = leaves.n_segments();
    if n > MAX_JOINED {
        let what = "parts that constraints make, to be joined again";
        return Err(Error::TooLarge { what, requested: n, limit: MAX_JOINED });
    }
    let leaf = |v: usize| leaves.as_slice()[v] as usize;
    let mut is_apart = vec![false; n * n];
    for &(a, b) in apart {
        let (a, b) = (leaf(a as usize), leaf(b as usize));
        (is_apart[a * n + b], is_apart[b * n + a]) = (true, true);
    }
    let mut ties = vec![0.0; n * n];
    graph.for_each_edge(|i, j, w| {
        ties[leaf(i) * n + leaf(j)] += w;
        ties[leaf(j) * n + leaf(i)] += w;
    });
    let enemies = |l: usize| is_apart[l * n..(l + 1) * n].iter().filter(|&&x| x).count();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&l| (std::cmp::Reverse(enemies(l)), l));
    let mut search = Search { n, n_segments, is_apart: &is_apart, ties: &ties, order: &order, n_tried: 0 };
    let mut color = vec![usize::MAX; n];
    if !search.place(0, 0, &mut color) {
        return Err(Error::NotFound { segments: n_segments, tried: search.n_tried });
    }
    let raw: Vec<u32> = leaves.as_slice().iter().map(|&l| color[l as usize] as u32).collect();
    Ok(Labels::from_raw(&raw))
}

/// A search for colours, one per part to be.
struct Search<'a> {
    n: usize,
    n_segments: usize,
    is_apart: &'a [bool],
    ties: &'a [f64],
    order: &'a [usize],
    n_tried: usize,
}

impl Search<'_> {
    /// Gives the leaves from `at` on a colour each; `used` colours are taken.
    fn place(&mut self, at: usize, used: usize, color: &mut [usize]) -> bool {
        let Some(&leaf) = self.order.get(at) else { return used == self.n_segments };
        self.n_tried += 1;
        if self.n_tried > MAX_TRIED || self.n - at < self.n_segments - used {
            return false;
        }
        let tie = |c: usize| -> f64 {
            let mates = (0..self.n).filter(|&l| color[l] == c);
            mates.map(|l| self.ties[leaf * self.n + l]).sum()
        };
        let is_free = |c: usize| !(0..self.n).any(|l| color[l] == c && self.is_apart[leaf * self.n + l]);
        let mut choices: Vec<(f64, usize)> = (0..used).filter(|&c| is_free(c)).map(|c| (tie(c), c)).collect();
        choices.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut choices: Vec<usize> = choices.into_iter().map(|(_, c)| c).collect();
        if used < self.n_segments {
            // A colour of its own comes last, unless every leaf left needs one.
            let place = if self.n - at == self.n_segments - used { 0 } else { choices.len() };
            choices.insert(place, used);
        }
        for choice in choices {
            color[leaf] = choice;
            if self.place(at + 1, used.max(choice + 1), color) {
                return true;
            }
        }
        color[leaf] = usize::MAX;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cost::ccb_cut, graph::gallery};

    fn cut(graph: &Graph, k: usize, constraints: &Constraints) -> Result<Labels> {
        let cut = Partitioner::new(k, 1.0).partition_constrained(graph, constraints, &mut Control::new())?;
        if let Some(tree) = &cut.tree {
            assert_eq!(tree.cut(k)?, cut.labels);
        }
        Ok(cut.labels)
    }

    #[test]
    fn drawing_vertices_together_changes_no_cost() {
        let graph = gallery::planted(&[8, 9, 7], 0.5, 0.2, 5);
        let groups = Labels::from_raw(&(0..24).map(|v| if v % 7 == 0 { 0 } else { v }).collect::<Vec<u32>>());
        let joined = graph.contracted(groups.as_slice(), groups.n_segments()).unwrap();
        let labels = Labels::from_raw(&(0..groups.n_segments() as u32).map(|g| g % 3).collect::<Vec<u32>>());
        let lifted: Vec<u32> = groups.as_slice().iter().map(|&g| labels.as_slice()[g as usize]).collect();
        for tau in [2.0, 0.7] {
            let small = ccb_cut(&joined, &labels, &Balance::Normalized, tau).unwrap();
            let large = ccb_cut(&graph, &Labels::from_raw(&lifted), &Balance::Normalized, tau).unwrap();
            assert!((small - large).abs() < 1e-12 * large);
        }
    }

    #[test]
    fn every_constraint_holds_on_random_graphs() {
        for seed in 0..40_u64 {
            let graph = gallery::planted(&[9, 8, 7], 0.45, 0.1, seed);
            let v = |i: u64| ((seed * 31 + i * 17) % 24) as u32;
            let mut constraints =
                Constraints::new().together(v(0), v(1)).together(v(1), v(2)).apart(v(3), v(4));
            for i in 0..3 {
                constraints = constraints.seed(v(5 + i), i as u32);
            }
            for balance in [Balance::Normalized, Balance::Ratio] {
                let partitioner = Partitioner::new(4, 1.0).balance(balance);
                let labels =
                    match partitioner.partition_constrained(&graph, &constraints, &mut Control::new()) {
                        Ok(cut) => cut.labels,
                        Err(Error::Contradiction { .. }) => continue,
                        Err(error) => panic!("{seed}: {error}"),
                    };
                let part = |v: u32| labels.as_slice()[v as usize];
                assert!(part(v(0)) == part(v(1)) && part(v(1)) == part(v(2)), "{seed}");
                assert!(part(v(3)) != part(v(4)), "{seed}");
                assert!(part(v(5)) != part(v(6)) && part(v(5)) != part(v(7)) && part(v(6)) != part(v(7)));
                assert_eq!(labels.n_segments(), 4);
            }
        }
    }

    #[test]
    fn seeds_in_their_blocks_find_the_blocks_and_move_the_cut_when_they_say_so() {
        let graph = gallery::planted(&[12, 12], 0.8, 0.02, 1);
        let blocks: Vec<u32> = (0..24).map(|v| u32::from(v >= 12)).collect();
        let seeded = Constraints::new().seed(3, 7).seed(20, 9);
        assert_eq!(cut(&graph, 2, &seeded).unwrap().as_slice(), blocks);
        // One vertex of the first block is claimed for the second.
        let claimed = cut(&graph, 2, &Constraints::new().seed(3, 0).seed(20, 1).seed(5, 1)).unwrap();
        let mut expected = blocks;
        expected[5] = 1;
        assert_eq!(claimed.as_slice(), expected);
    }

    #[test]
    fn more_parts_than_asked_for_are_joined_again() {
        // On a path, neighbours apart: the two colours alternate, in pieces of one vertex each.
        let mut constraints = Constraints::new();
        for v in 0..7 {
            constraints = constraints.apart(v, v + 1);
        }
        let labels = cut(&gallery::path(8), 2, &constraints).unwrap();
        assert_eq!(labels.as_slice(), [0, 1, 0, 1, 0, 1, 0, 1]);
        // An odd cycle has no such two parts, but three.
        let ring = constraints.apart(0, 8).apart(7, 8);
        assert!(matches!(cut(&gallery::cycle(9), 2, &ring), Err(Error::NotFound { segments: 2, .. })));
        assert_eq!(cut(&gallery::cycle(9), 3, &ring).unwrap().n_segments(), 3);
    }

    #[test]
    fn what_cannot_hold_is_an_error() {
        let graph = gallery::path(6);
        let base = Constraints::new;
        assert!(matches!(
            cut(&graph, 2, &base().together(0, 1).together(1, 2).apart(2, 0)),
            Err(Error::Contradiction { a: 2, b: 0 })
        ));
        assert!(matches!(cut(&graph, 2, &base().seed(1, 0).seed(1, 4)), Err(Error::Contradiction { .. })));
        assert!(matches!(cut(&graph, 2, &base().apart(3, 3)), Err(Error::Contradiction { a: 3, b: 3 })));
        let three = base().seed(0, 0).seed(1, 1).seed(2, 2);
        assert!(matches!(cut(&graph, 2, &three), Err(Error::TooManySeeds { seeds: 3, segments: 2 })));
        assert!(matches!(
            cut(&graph, 2, &base().together(0, 6)),
            Err(Error::IndexOutOfRange { index: 6, .. })
        ));
        let all = (1..6).fold(base(), |c, v| c.together(0, v));
        assert!(matches!(cut(&graph, 2, &all), Err(Error::TooFewVertices { vertices: 1, segments: 2 })));
        let run = |p: Partitioner| p.partition_constrained(&graph, &base().apart(0, 1), &mut Control::new());
        assert!(run(Partitioner::new(2, 1.0).method(Method::Multiway)).is_err());
        assert!(run(Partitioner::new(2, 1.0).refine(true)).is_err());
        // Pieces, and vertices without ties, are kept apart like others.
        let pieces = Graph::from_edges(5, &[(0, 1, 1.0), (2, 3, 1.0)]).unwrap();
        let labels = cut(&pieces, 2, &base().apart(0, 1).together(1, 4)).unwrap();
        assert!(labels.as_slice()[0] != labels.as_slice()[1] && labels.as_slice()[1] == labels.as_slice()[4]);
    }
}
