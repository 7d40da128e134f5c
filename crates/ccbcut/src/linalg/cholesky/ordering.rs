//! Elimination orders, cut into blocks: nested dissection by breadth-first levels, and bands taken from both ends.

/// Widest block: columns that are eliminated together.
pub(super) const BLOCK: usize = 64;

/// Deepest recursion of the dissection; below it the rest is ordered by levels.
const MAX_DEPTH: usize = 48;

/// Cuts in a row, each leaving more than nine tenths in one piece, after which there are no more. In a graph without small separators the only small
/// levels are around single vertices, and each would cost a few searches of the whole.
const MAX_IDLE: usize = 2;

/// The pattern of one connected graph.
pub(super) struct Pattern<'a> {
    pub(super) offsets: &'a [usize],
    pub(super) targets: &'a [u32],
    /// The column of each vertex in a grid, where that is known.
    pub(super) columns: &'a [u32],
}

impl Pattern<'_> {
    pub(super) fn n(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(super) fn row(&self, v: u32) -> &[u32] {
        &self.targets[self.offsets[v as usize]..self.offsets[v as usize + 1]]
    }
}

/// Vertices in the order of elimination, and where each block starts in it (the end included).
pub(super) struct Ordering {
    pub(super) order: Vec<u32>,
    pub(super) starts: Vec<usize>,
}

impl Ordering {
    /// A band matrix, eliminated from both ends: the middle of the given order separates what lies before it from
    /// what lies behind, so that the two sides are independent of each other.
    fn two_ended(pattern: &Pattern<'_>, order: &[u32]) -> Self {
        let n = order.len();
        let mut place = vec![0; n];
        order.iter().enumerate().for_each(|(p, &v)| place[v as usize] = p);
        // Neighbours of the first `left` vertices end before `reach`.
        let (mut left, mut reach) = (0, 0);
        while left < n && left + reach.max(left) < n {
            let row = pattern.row(order[left]).iter();
            reach = row.map(|&u| place[u as usize] + 1).fold(reach, usize::max);
            left += 1;
        }
        let middle = reach.clamp(left, n);
        let mut ordering = Self { order: Vec::with_capacity(n), starts: vec![0] };
        ordering.push_blocks(&order[..left]);
        ordering.push_blocks(&order[middle..].iter().rev().copied().collect::<Vec<_>>());
        ordering.push_blocks(&order[left..middle]);
        ordering
    }

    /// The order in which the vertices are numbered, from both ends.
    pub(super) fn natural(pattern: &Pattern<'_>) -> Self {
        Self::two_ended(pattern, &(0..pattern.n() as u32).collect::<Vec<_>>())
    }

    /// Across the rows in which the vertices are numbered, from both ends. The pixels of an image come row by row; where
    /// it is wider than high, its columns are the narrower band. `None` where there are no rows, or they are shorter than there
    /// are many.
    pub(super) fn across(pattern: &Pattern<'_>) -> Option<Self> {
        let columns =
            if pattern.columns.is_empty() { columns_of(pattern)? } else { pattern.columns.to_vec() };
        let (first, last) = (columns.iter().min()?, columns.iter().max()?);
        if ((last - first + 1) as usize).pow(2) <= pattern.n() {
            return None;
        }
        let mut order: Vec<u32> = (0..pattern.n() as u32).collect();
        order.sort_by_key(|&v| columns[v as usize]);
        Some(Self::two_ended(pattern, &order))
    }

    /// Breadth-first from a far corner (Cuthill and McKee), from both ends: narrow for long, thin graphs.
    pub(super) fn levels(pattern: &Pattern<'_>) -> Self {
        let mut search = Search::new(pattern);
        let all: Vec<u32> = (0..pattern.n() as u32).collect();
        search.claim(&all, 1);
        Self::two_ended(pattern, &search.far_levels(&all, 1).concat())
    }

    /// Nested dissection: a level of a breadth-first search separates what lies before it from what lies behind.
    pub(super) fn dissection(pattern: &Pattern<'_>) -> Self {
        let mut search = Search::new(pattern);
        let mut ordering = Self { order: Vec::with_capacity(pattern.n()), starts: vec![0] };
        search.dissect(&(0..pattern.n() as u32).collect::<Vec<_>>(), Depth::default(), &mut ordering);
        ordering
    }

    fn push_blocks(&mut self, vertices: &[u32]) {
        for chunk in vertices.chunks(BLOCK) {
            self.order.extend(chunk);
            self.starts.push(self.order.len());
        }
    }
}

/// The columns of vertices that are numbered row by row, by what they are tied to: a row ends where two consecutive vertices
/// have nothing to do with each other. Rows need not be equally long: a vertex counts by the share of its row that lies before it.
fn columns_of(pattern: &Pattern<'_>) -> Option<Vec<u32>> {
    let n = pattern.n();
    // Rows of a graph list their neighbours in increasing order.
    let is_end = |v: u32| pattern.row(v).binary_search(&(v + 1)).is_err();
    let mut starts = vec![0];
    starts.extend((0..n.saturating_sub(1) as u32).filter(|&v| is_end(v)).map(|v| v as usize + 1));
    starts.push(n);
    if starts.len() < 3 || (starts.len() - 1).pow(2) >= n {
        return None;
    }
    let longest = starts.windows(2).map(|row| row[1] - row[0]).max()?;
    let mut columns = vec![0; n];
    for row in starts.windows(2) {
        let length = row[1] - row[0];
        let columns = columns[row[0]..row[1]].iter_mut().enumerate();
        columns.for_each(|(i, column)| *column = ((2 * i + 1) * longest / (2 * length)) as u32);
    }
    Some(columns)
}

/// How far down the dissection is.
#[derive(Debug, Clone, Copy, Default)]
struct Depth {
    cuts: usize,
    /// Cuts since the last one that left less than nine tenths in one piece.
    idle: usize,
}

impl Depth {
    fn below(self, size: usize, of: usize) -> Self {
        Self { cuts: self.cuts + 1, idle: if 10 * size > 9 * of { self.idle + 1 } else { 0 } }
    }

    fn is_worth_a_cut(self) -> bool {
        self.cuts < MAX_DEPTH && self.idle < MAX_IDLE
    }
}

/// Breadth-first searches inside a subset of the vertices, the subset being marked by a number of its own.
struct Search<'a> {
    pattern: &'a Pattern<'a>,
    part: Vec<u32>,
    level: Vec<u32>,
    next_part: u32,
}

impl<'a> Search<'a> {
    fn new(pattern: &'a Pattern<'a>) -> Self {
        let n = pattern.n();
        Self { pattern, part: vec![0; n], level: vec![u32::MAX; n], next_part: 2 }
    }

    fn claim(&mut self, vertices: &[u32], part: u32) {
        for &v in vertices {
            self.part[v as usize] = part;
        }
    }

    /// The levels of a breadth-first search from `root` within a part.
    fn levels_from(&mut self, root: u32, part: u32) -> Vec<Vec<u32>> {
        let mut levels = vec![vec![root]];
        self.level[root as usize] = 0;
        loop {
            let depth = levels.len() as u32;
            let mut next = Vec::new();
            for &v in &levels[levels.len() - 1] {
                for &u in self.pattern.row(v) {
                    let seen = &mut self.level[u as usize];
                    if self.part[u as usize] == part && *seen == u32::MAX {
                        *seen = depth;
                        next.push(u);
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            levels.push(next);
        }
        for &v in levels.iter().flatten() {
            self.level[v as usize] = u32::MAX;
        }
        levels
    }

    /// Levels from a vertex that is nearly as far from others as any (George and Liu's pseudo-peripheral vertex).
    fn far_levels(&mut self, vertices: &[u32], part: u32) -> Vec<Vec<u32>> {
        let mut levels = self.levels_from(vertices[0], part);
        for _ in 0..4 {
            let Some(&root) =
                levels[levels.len() - 1].iter().min_by_key(|&&v| (self.pattern.row(v).len(), v))
            else {
                break;
            };
            let again = self.levels_from(root, part);
            let deeper = again.len() > levels.len();
            levels = again;
            if !deeper {
                break;
            }
        }
        levels
    }

    fn dissect(&mut self, vertices: &[u32], depth: Depth, out: &mut Ordering) {
        if vertices.len() <= BLOCK {
            out.push_blocks(vertices);
            return;
        }
        let part = self.next_part;
        self.next_part += 1;
        self.claim(vertices, part);
        let levels = self.far_levels(vertices, part);
        let reached: usize = levels.iter().map(Vec::len).sum();
        if reached < vertices.len() {
            self.split_components(vertices, part, depth, out);
            return;
        }
        let Some(s) = separator_level(&levels, vertices.len()).filter(|_| depth.is_worth_a_cut()) else {
            out.push_blocks(&levels.concat());
            return;
        };
        // Only the vertices with a neighbour in the next level separate anything.
        let next_part = self.next_part;
        self.next_part += 1;
        self.claim(&levels[s + 1], next_part);
        let (mut separator, mut before): (Vec<u32>, Vec<u32>) = levels[s]
            .iter()
            .partition(|&&v| self.pattern.row(v).iter().any(|&u| self.part[u as usize] == next_part));
        before.extend(levels[..s].iter().flatten());
        let mut behind = levels[s + 1..].concat();
        for set in [&mut before, &mut behind, &mut separator] {
            set.sort_unstable();
        }
        for side in [before, behind] {
            self.dissect(&side, depth.below(side.len(), vertices.len()), out);
        }
        out.push_blocks(&separator);
    }

    /// Orders the connected pieces one after the other; small ones share blocks.
    fn split_components(&mut self, vertices: &[u32], part: u32, depth: Depth, out: &mut Ordering) {
        let mut small: Vec<u32> = Vec::new();
        for &root in vertices {
            if self.part[root as usize] != part {
                continue;
            }
            let piece: Vec<u32> = self.levels_from(root, part).concat();
            self.claim(&piece, 1);
            if piece.len() > BLOCK / 2 {
                let mut piece = piece;
                piece.sort_unstable();
                self.dissect(&piece, depth.below(piece.len(), vertices.len()), out);
                continue;
            }
            if small.len() + piece.len() > BLOCK {
                out.push_blocks(&small);
                small.clear();
            }
            small.extend(piece);
        }
        out.push_blocks(&small);
    }
}

/// The level to cut at: the smallest one that leaves at least 30 % on either side, or else the smallest of all.
/// `None` when the graph has too few levels to be cut.
fn separator_level(levels: &[Vec<u32>], n: usize) -> Option<usize> {
    if levels.len() < 3 {
        return None;
    }
    let mut before = 0;
    let (mut balanced, mut any): (Option<usize>, Option<usize>) = (None, None);
    for s in 0..levels.len() - 1 {
        let size = levels[s].len();
        let behind = n - before - size;
        let smaller = |best: Option<usize>| best.is_none_or(|b| size < levels[b].len());
        if s > 0 && 10 * before >= 3 * n && 10 * behind >= 3 * n && smaller(balanced) {
            balanced = Some(s);
        }
        if s > 0 && smaller(any) {
            any = Some(s);
        }
        before += size;
    }
    // Without a balanced level, a tiny one (the centre of a star) is still worth removing; a huge one is not.
    balanced.or(any).filter(|&s| 4 * levels[s].len() <= n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Graph, gallery};

    fn check(graph: &Graph) {
        let (offsets, targets, _) = graph.to_csr();
        let pattern = Pattern { offsets: &offsets, targets: &targets, columns: &[] };
        let all = [Ordering::natural(&pattern), Ordering::levels(&pattern), Ordering::dissection(&pattern)];
        for ordering in all.into_iter().chain(Ordering::across(&pattern)) {
            let mut sorted = ordering.order.clone();
            sorted.sort_unstable();
            assert!(sorted.iter().enumerate().all(|(i, &v)| i == v as usize), "a permutation");
            assert_eq!(ordering.starts.last(), Some(&graph.n_vertices()));
            assert!(ordering.starts.windows(2).all(|w| w[0] < w[1] && w[1] - w[0] <= BLOCK));
        }
    }

    #[test]
    fn cuts_that_leave_nearly_everything_in_one_piece_come_to_an_end() {
        let mut depth = Depth::default();
        for size in [95, 40, 91] {
            depth = depth.below(size, 100);
            assert!(depth.is_worth_a_cut());
        }
        assert!(!depth.below(99, 100).is_worth_a_cut());
        let deepest = Depth { cuts: MAX_DEPTH - 1, idle: 0 };
        assert!(deepest.is_worth_a_cut() && !deepest.below(1, 2).is_worth_a_cut());
    }

    #[test]
    fn rows_are_crossed_where_they_are_longer_than_there_are_many() {
        let across = |graph: &Graph| {
            let (offsets, targets, _) = graph.to_csr();
            Ordering::across(&Pattern { offsets: &offsets, targets: &targets, columns: graph.columns() })
        };
        // Nine columns of seven vertices on the left of the middle; the first block holds the first of them.
        let order = across(&gallery::grid(7, 19)).unwrap().order;
        let columns: Vec<u32> = order[..BLOCK.min(63)].iter().map(|v| v % 19).collect();
        assert_eq!(columns, (0..63).map(|i| i / 7).collect::<Vec<_>>());
        for none in [
            gallery::grid(19, 7),
            gallery::complete(50),
            gallery::path(80),
            gallery::star(90),
            gallery::path(1),
        ] {
            assert!(across(&none).is_none(), "{} vertices", none.n_vertices());
        }
    }

    #[test]
    fn every_order_is_a_permutation_in_blocks() {
        for graph in [
            gallery::path(1000),
            gallery::grid(30, 41),
            gallery::grid(9, 200),
            gallery::star(500),
            gallery::complete(150),
        ] {
            check(&graph);
        }
        check(&gallery::wide(300, 0.02, 3.0, 1));
        check(&gallery::path(1));
    }
}
