//! Which rows each block of the factor touches, and what the factorisation will cost.

use std::borrow::Cow;

use crate::{graph::Graph, parallel};

use super::ordering::{BLOCK, Ordering, Pattern};

/// Operations of a factorisation that take about as long as one search takes for one edge: an order is looked for only
/// while the best one so far costs more than the search.
const FLOPS_PER_VISIT: f64 = 700.0;

/// A list of the rows between the first and the last of a front may be longer than the front by this factor.
const MOST_SPREAD: usize = 8;

/// Rows that are read off together where any of them is touched.
const GROUP: usize = 64;

/// In so many shares the blocks are looked at, at most, and so many blocks make one, at least.
const SHARES: usize = 64;
const LEAST_SHARE: usize = 8;

/// The place of the order in which the vertices are numbered among those that are tried.
const NATURAL: usize = 1;

/// It is not tried where its band would cost more than the best order so far by this factor.
const WIDER: f64 = 1.25;

/// A way to order the vertices of a pattern.
type Order = fn(&Pattern<'_>) -> Option<Ordering>;

/// One block of columns.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// Columns start..end in the order of elimination.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Rows below the block, in the order of elimination, increasing.
    pub(super) rows: Vec<u32>,
    /// The same as runs of consecutive rows.
    pub(super) runs: Vec<Run>,
    /// Earlier blocks with rows among these columns, in order.
    pub(super) sources: Vec<Source>,
    /// Where its numbers begin among those of the factor.
    pub(super) at: usize,
}

/// Consecutive rows: `rows[at..at + len]` is `first..first + len`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) first: u32,
    pub(super) at: u32,
    pub(super) len: u32,
}

/// The rows `low..high` (counted in that block's list) of an earlier block are columns of this one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source {
    pub(super) block: u32,
    pub(super) low: u32,
    pub(super) high: u32,
}

impl Block {
    pub(super) fn width(&self) -> usize {
        self.end - self.start
    }

    /// Numbers that are kept of it.
    pub(super) fn n_values(&self) -> usize {
        self.width() * (self.width() + self.rows.len())
    }

    /// Where each row from the first column on stands in the front; `None` where rows lie so far apart that a list would be much
    /// longer than the front.
    pub(super) fn places(&self) -> Option<Vec<u32>> {
        let width = self.width();
        let behind = self.rows.last().map_or(self.end, |&row| row as usize + 1);
        if behind - self.start > MOST_SPREAD * (width + self.rows.len()) {
            return None;
        }
        let mut places = vec![0; behind - self.start];
        places[..width].iter_mut().enumerate().for_each(|(j, place)| *place = j as u32);
        for run in &self.runs {
            let at = run.first as usize - self.start;
            let slots = width as u32 + run.at..;
            places[at..at + run.len as usize].iter_mut().zip(slots).for_each(|(place, slot)| *place = slot);
        }
        Some(places)
    }

    /// Where a row of the block stands in its front: columns first, then the rows below.
    pub(super) fn locate(&self, row: usize) -> usize {
        self.locate_near(row, &mut 0)
    }

    /// The same, for rows most of which stand in the run of the one before, `hint`.
    #[inline]
    pub(super) fn locate_near(&self, row: usize, hint: &mut usize) -> usize {
        if row < self.end {
            return row - self.start;
        }
        let is_inside = |run: &Run| (run.first..run.first + run.len).contains(&(row as u32));
        if !self.runs.get(*hint).is_some_and(is_inside) {
            // The last run that does not begin behind the row.
            *hint = self.runs.partition_point(|run| run.first as usize <= row).saturating_sub(1);
        }
        let run = self.runs[*hint];
        self.width() + run.at as usize + row - run.first as usize
    }
}

/// What solves may run through at the same time, and what comes after.
#[derive(Debug, Clone, Default)]
pub(super) struct Schedule {
    /// Subtrees of consecutive blocks, none of which depends on another.
    pub(super) branches: Vec<std::ops::Range<usize>>,
    /// All other blocks, in order.
    pub(super) top: Vec<u32>,
}

/// The structure of a factorisation, found once per graph and used for every reweighting of it.
#[derive(Debug, Clone)]
pub struct Symbolic {
    /// Vertex at each place of the elimination.
    pub(super) order: Vec<u32>,
    /// Place of each vertex.
    pub(super) place: Vec<u32>,
    pub(super) blocks: Vec<Block>,
    /// The block that each block must be done before, and with it everything that it leaves something to.
    pub(super) parents: Vec<Option<u32>>,
    pub(super) schedule: Schedule,
    flops: f64,
    entries: f64,
}

impl Symbolic {
    /// Analyses a connected graph with the cheapest of four orders; `None` when every one of them would take
    /// more than `max_flops` operations or `max_entries` stored numbers.
    pub fn analyze(graph: &Graph, max_flops: f64, max_entries: f64) -> Option<Self> {
        let (offsets, targets) = pattern_of(graph);
        let pattern = Pattern { offsets: &offsets, targets: &targets, columns: graph.columns() };
        let mut best: Option<Structure> = None;
        let visits = targets.len() as f64;
        // Searches that the order takes, each of which looks at every edge.
        let deep = 4.0 * (pattern.n() as f64 / 64.0).max(2.0).log2();
        let orders: [(f64, Order); 4] = [
            (0.0, Ordering::across),
            (0.0, |pattern| Some(Ordering::natural(pattern))),
            (4.0, |pattern| Some(Ordering::levels(pattern))),
            (deep, |pattern| Some(Ordering::dissection(pattern))),
        ];
        for (k, (searches, order)) in orders.into_iter().enumerate() {
            let limit = best.as_ref().map_or(max_flops, |b| b.flops.min(max_flops));
            if best.is_some() && limit <= FLOPS_PER_VISIT * searches * visits {
                continue;
            }
            // Where the rows of a picture are the wide band, its columns have been taken already.
            if best.is_some() && k == NATURAL && WIDER * limit <= band_flops(&pattern) {
                continue;
            }
            let structure = order(&pattern).and_then(|o| Structure::new(&pattern, o, limit, max_entries));
            best = structure.or(best);
        }
        best.map(Structure::finish)
    }

    /// Floating-point operations of one factorisation, roughly.
    pub fn flops(&self) -> f64 {
        self.flops
    }

    /// Numbers stored in the factor.
    pub fn entries(&self) -> f64 {
        self.entries
    }

    /// How many vertices.
    pub fn dim(&self) -> usize {
        self.order.len()
    }
}

/// Operations of a factorisation in the order in which the vertices are numbered, if every row before the last one that a
/// vertex is tied to takes part: seen from the ends of the rows alone.
fn band_flops(pattern: &Pattern<'_>) -> f64 {
    let (n, mut reach, mut flops) = (pattern.n(), 0, 0.0);
    for start in (0..n).step_by(BLOCK) {
        let end = n.min(start + BLOCK);
        let last = (start..end).filter_map(|v| pattern.row(v as u32).last());
        reach = last.map(|&u| u as usize + 1).fold(reach, usize::max);
        flops += block_flops((end - start) as f64, reach.saturating_sub(end) as f64);
    }
    flops
}

/// Operations for one block of columns with so many rows below.
fn block_flops(width: f64, height: f64) -> f64 {
    width * height * (height + 2.0 * width) + width.powi(3)
}

/// An order and the blocks that come of it.
struct Structure {
    order: Vec<u32>,
    place: Vec<u32>,
    block_of: Vec<u32>,
    blocks: Vec<Block>,
    parents: Vec<Option<u32>>,
    flops: f64,
    entries: f64,
}

impl Structure {
    fn new(pattern: &Pattern<'_>, ordering: Ordering, max_flops: f64, max_entries: f64) -> Option<Self> {
        let Ordering { order, starts } = ordering;
        let n = order.len();
        let mut place = vec![0; n];
        order.iter().enumerate().for_each(|(p, &v)| place[v as usize] = p as u32);
        let mut block_of = vec![0_u32; n];
        for (b, w) in starts.windows(2).enumerate() {
            block_of[w[0]..w[1]].fill(b as u32);
        }
        let n_blocks = starts.len() - 1;
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); n_blocks];
        let mut blocks: Vec<Block> = Vec::with_capacity(n_blocks);
        let mut parents = Vec::with_capacity(n_blocks);
        let mut tied = rows_tied(pattern, &order, &place, &starts);
        let mut touched = Touched::new(n);
        let (mut flops, mut entries) = (0.0, 0.0);
        for b in 0..n_blocks {
            let (start, end) = (starts[b], starts[b + 1]);
            std::mem::take(&mut tied[b]).into_iter().for_each(|row| touched.add(row));
            for &child in &children[b] {
                blocks[child as usize].rows.iter().for_each(|&row| touched.add(row));
            }
            let rows = close_gaps(&touched.take_from(end));
            let parent = rows.first().map(|&first| block_of[first as usize]);
            if let Some(parent) = parent {
                children[parent as usize].push(b as u32);
            }
            let (width, height) = ((end - start) as f64, rows.len() as f64);
            flops += block_flops(width, height);
            entries += width * (height + width);
            if flops >= max_flops || entries > max_entries {
                return None;
            }
            blocks.push(Block { start, end, runs: runs_of(&rows), rows, sources: Vec::new(), at: 0 });
            parents.push(parent);
        }
        Some(Self { order, place, block_of, blocks, parents, flops, entries })
    }

    fn finish(mut self) -> Symbolic {
        self.connect_sources();
        let Self { order, place, mut blocks, parents, flops, entries, .. } = self;
        let schedule = Schedule::new(&blocks, &parents);
        let mut at = 0;
        for block in &mut blocks {
            block.at = at;
            at += block.n_values();
        }
        Symbolic { order, place, blocks, parents, schedule, flops, entries }
    }

    fn connect_sources(&mut self) {
        let mut sources: Vec<Vec<Source>> = vec![Vec::new(); self.blocks.len()];
        for (b, block) in self.blocks.iter().enumerate() {
            let mut low = 0;
            while low < block.rows.len() {
                let target = self.block_of[block.rows[low] as usize];
                let is_here = |&row: &u32| self.block_of[row as usize] == target;
                let high = low + block.rows[low..].iter().take_while(|row| is_here(row)).count();
                let source = Source { block: b as u32, low: low as u32, high: high as u32 };
                sources[target as usize].push(source);
                low = high;
            }
        }
        self.blocks.iter_mut().zip(sources).for_each(|(block, sources)| block.sources = sources);
    }
}

/// The rows behind each block that its columns are tied to, increasing.
fn rows_tied(pattern: &Pattern<'_>, order: &[u32], place: &[u32], starts: &[usize]) -> Vec<Vec<u32>> {
    let n_blocks = starts.len() - 1;
    let share = n_blocks.div_ceil(SHARES).max(LEAST_SHARE);
    let shares = parallel::map(n_blocks.div_ceil(share), |k| {
        let mut touched = Touched::new(order.len());
        let blocks = starts[k * share..].windows(2).take(share);
        let rows = blocks.map(|block| {
            for &v in &order[block[0]..block[1]] {
                pattern.row(v).iter().for_each(|&u| touched.add(place[u as usize]));
            }
            touched.take_from(block[1])
        });
        rows.collect::<Vec<_>>()
    });
    shares.into_iter().flatten().collect()
}

/// Rows that a block touches: marked as they come, in any order and often more than once, and read off in theirs.
struct Touched {
    marks: Vec<u8>,
    /// Which groups of rows hold marks.
    groups: Vec<u8>,
}

impl Touched {
    fn new(n: usize) -> Self {
        Self { marks: vec![0; n], groups: vec![0; n.div_ceil(GROUP)] }
    }

    #[inline(always)]
    fn add(&mut self, row: u32) {
        self.marks[row as usize] = 1;
        self.groups[row as usize / GROUP] = 1;
    }

    /// Those from `first` on, increasing; nothing is touched any more.
    fn take_from(&mut self, first: usize) -> Vec<u32> {
        let mut rows = Vec::new();
        for (g, (group, marks)) in self.groups.iter_mut().zip(self.marks.chunks_mut(GROUP)).enumerate() {
            if std::mem::take(group) == 0 {
                continue;
            }
            for (row, mark) in (g * GROUP..).zip(marks) {
                if std::mem::take(mark) != 0 && row >= first {
                    rows.push(row as u32);
                }
            }
        }
        rows
    }
}

/// Takes in the rows of short gaps, so that products run over long runs: a gap of at most a quarter of the run that
/// it follows.
fn close_gaps(rows: &[u32]) -> Vec<u32> {
    let mut closed: Vec<u32> = Vec::with_capacity(rows.len());
    let mut run = 0;
    for &row in rows {
        if let Some(&last) = closed.last() {
            let gap = row - last - 1;
            if gap > 0 && 4 * gap <= run {
                closed.extend(last + 1..row);
                run += gap;
            } else if gap > 0 {
                run = 0;
            }
        }
        closed.push(row);
        run += 1;
    }
    closed
}

fn runs_of(rows: &[u32]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (at, &row) in rows.iter().enumerate() {
        match runs.last_mut() {
            Some(run) if run.first + run.len == row => run.len += 1,
            _ => runs.push(Run { first: row, at: at as u32, len: 1 }),
        }
    }
    runs
}

impl Schedule {
    /// Walking down from the roots, a subtree is divided as long as it holds more than a third of all work and forks
    /// at all.
    fn new(blocks: &[Block], parents: &[Option<u32>]) -> Self {
        let n = blocks.len();
        let mut work: Vec<usize> = blocks.iter().map(|b| b.width() * (b.width() + b.rows.len())).collect();
        let total: usize = work.iter().sum();
        let mut size = vec![1; n];
        let mut first: Vec<usize> = (0..n).collect();
        // Whether the subtree never forks.
        let mut is_chain = vec![true; n];
        for (b, parent) in parents.iter().enumerate() {
            if let Some(parent) = *parent {
                let parent = parent as usize;
                work[parent] += work[b];
                first[parent] = first[parent].min(first[b]);
                is_chain[parent] &= is_chain[b] && size[parent] == 1;
                size[parent] += size[b];
            }
        }
        let mut schedule = Self::default();
        let mut is_inside = vec![false; n];
        for b in (0..n).rev() {
            let is_below = parents[b].is_some_and(|p| is_inside[p as usize]);
            let is_consecutive = size[b] == b + 1 - first[b];
            let is_root = !is_below && is_consecutive && (3 * work[b] <= total || is_chain[b]);
            if is_root {
                schedule.branches.push(first[b]..b + 1);
            } else if !is_below {
                schedule.top.push(b as u32);
            }
            is_inside[b] = is_below || is_root;
        }
        schedule.branches.reverse();
        schedule.top.reverse();
        schedule
    }
}

fn pattern_of(graph: &Graph) -> (Cow<'_, [usize]>, Cow<'_, [u32]>) {
    if let Some((offsets, targets)) = graph.compressed_rows() {
        return (Cow::Borrowed(offsets), Cow::Borrowed(targets));
    }
    let mut offsets = Vec::with_capacity(graph.n_vertices() + 1);
    offsets.push(0);
    let mut targets = Vec::with_capacity(2 * graph.n_edges());
    for v in 0..graph.n_vertices() {
        graph.for_each_neighbor(v, |u, _| targets.push(u as u32));
        offsets.push(targets.len());
    }
    (Cow::Owned(offsets), Cow::Owned(targets))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::gallery;

    #[test]
    fn touched_rows_are_read_off_once_in_order() {
        for n in [1, GROUP - 1, GROUP, 3 * GROUP + 5] {
            let mut touched = Touched::new(n);
            assert!(touched.take_from(0).is_empty());
            for first in [0, 1, n / 2, n] {
                let rows: Vec<u32> = (0..2 * n).map(|i| (i * i * 7 % n) as u32).collect();
                rows.iter().for_each(|&row| touched.add(row));
                let mut expected: Vec<u32> = rows.into_iter().filter(|&row| row as usize >= first).collect();
                expected.sort_unstable();
                expected.dedup();
                assert_eq!(touched.take_from(first), expected, "{n} {first}");
                assert!(touched.take_from(0).is_empty());
            }
        }
    }

    /// More blocks than one share takes, with every row of every block.
    #[test]
    fn rows_tied_to_blocks_are_those_of_the_definition() {
        let graph = gallery::grid(9, 150);
        let (offsets, targets) = pattern_of(&graph);
        let pattern = Pattern { offsets: &offsets, targets: &targets, columns: &[] };
        let n = graph.n_vertices();
        let order: Vec<u32> = (0..n).map(|p| (p * 7 % n) as u32).collect();
        let mut place = vec![0; n];
        order.iter().enumerate().for_each(|(p, &v)| place[v as usize] = p as u32);
        let starts: Vec<usize> = (0..=n).step_by(10).collect();
        let found = rows_tied(&pattern, &order, &place, &starts);
        assert!(found.len() == starts.len() - 1 && found.len() > LEAST_SHARE * 8);
        for (rows, block) in found.iter().zip(starts.windows(2)) {
            let all = order[block[0]..block[1]].iter().flat_map(|&v| pattern.row(v));
            let mut expected: Vec<u32> =
                all.map(|&u| place[u as usize]).filter(|&row| row as usize >= block[1]).collect();
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(*rows, expected);
        }
    }

    #[test]
    fn the_cheapest_order_is_taken() {
        // So small that no search is worth its time.
        let (wide, high) = (gallery::grid(20, 60), gallery::grid(60, 20));
        let (offsets, targets) = pattern_of(&wide);
        let pattern = Pattern { offsets: &offsets, targets: &targets, columns: &[] };
        let cost = |ordering| Structure::new(&pattern, ordering, f64::INFINITY, f64::INFINITY).unwrap().flops;
        let natural = cost(Ordering::natural(&pattern));
        let across = cost(Ordering::across(&pattern).unwrap());
        assert!(2.0 * across < natural, "{across} {natural}");
        let taken = |graph| Symbolic::analyze(graph, f64::INFINITY, f64::INFINITY).unwrap().flops();
        assert_eq!(taken(&wide), across);
        assert!(taken(&high) <= 1.1 * across, "{across}");
    }
}
