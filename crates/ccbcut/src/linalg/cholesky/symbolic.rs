//! Which rows each block of the factor touches, and what the factorisation will cost.

use crate::graph::Graph;

use super::ordering::{Ordering, Pattern};

/// One block of columns.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// Columns start..end in the order of elimination.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Rows below the block, in the order of elimination, increasing.
    pub(super) rows: Vec<u32>,
    /// Blocks whose update lands here first, in order.
    pub(super) children: Vec<u32>,
}

impl Block {
    pub(super) fn width(&self) -> usize {
        self.end - self.start
    }
}

/// The structure of a factorisation, found once per graph and used for every reweighting of it.
#[derive(Debug, Clone)]
pub struct Symbolic {
    /// Vertex at each place of the elimination.
    pub(super) order: Vec<u32>,
    /// Place of each vertex.
    pub(super) place: Vec<u32>,
    pub(super) blocks: Vec<Block>,
    /// Blocks grouped so that each group depends only on groups before it.
    pub(super) waves: Vec<Vec<u32>>,
    flops: f64,
    entries: f64,
}

impl Symbolic {
    /// Analyses a connected graph with the cheapest of three orders; `None` when every one of them would take
    /// more than `max_flops` operations or `max_entries` stored numbers.
    pub fn analyze(graph: &Graph, max_flops: f64, max_entries: f64) -> Option<Self> {
        let (offsets, targets) = pattern_of(graph);
        let pattern = Pattern { offsets: &offsets, targets: &targets };
        let mut best: Option<Self> = None;
        for order in [Ordering::natural, Ordering::levels, Ordering::dissection] {
            let limit = best.as_ref().map_or(max_flops, |b| b.flops.min(max_flops));
            let found = Self::with_order(&pattern, order(&pattern), limit, max_entries);
            best = found.or(best);
        }
        best
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

    fn with_order(
        pattern: &Pattern<'_>,
        ordering: Ordering,
        max_flops: f64,
        max_entries: f64,
    ) -> Option<Self> {
        let Ordering { order, starts } = ordering;
        let n = order.len();
        let mut place = vec![0; n];
        for (p, &v) in order.iter().enumerate() {
            place[v as usize] = p as u32;
        }
        let mut block_of = vec![0_u32; n];
        for (b, w) in starts.windows(2).enumerate() {
            block_of[w[0]..w[1]].fill(b as u32);
        }
        let n_blocks = starts.len() - 1;
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); n_blocks];
        let mut blocks: Vec<Block> = Vec::with_capacity(n_blocks);
        let mut mark = vec![u32::MAX; n];
        let (mut flops, mut entries) = (0.0, 0.0);
        for b in 0..n_blocks {
            let (start, end) = (starts[b], starts[b + 1]);
            let mut rows = Vec::new();
            let mut add = |row: u32| {
                if row as usize >= end && mark[row as usize] != b as u32 {
                    mark[row as usize] = b as u32;
                    rows.push(row);
                }
            };
            for &v in &order[start..end] {
                pattern.row(v).iter().for_each(|&u| add(place[u as usize]));
            }
            for &child in &children[b] {
                blocks[child as usize].rows.iter().for_each(|&row| add(row));
            }
            rows.sort_unstable();
            if let Some(&first) = rows.first() {
                children[block_of[first as usize] as usize].push(b as u32);
            }
            let (width, height) = ((end - start) as f64, rows.len() as f64);
            flops += width * height * (height + 2.0 * width) + width.powi(3);
            entries += width * (height + width);
            if flops >= max_flops || entries > max_entries {
                return None;
            }
            blocks.push(Block { start, end, rows, children: std::mem::take(&mut children[b]) });
        }
        let waves = waves(&blocks);
        Some(Self { order, place, blocks, waves, flops, entries })
    }
}

/// Groups of blocks by their height above the leaves.
fn waves(blocks: &[Block]) -> Vec<Vec<u32>> {
    let mut height = vec![0_usize; blocks.len()];
    let mut waves: Vec<Vec<u32>> = Vec::new();
    for (b, block) in blocks.iter().enumerate() {
        height[b] = block.children.iter().map(|&c| height[c as usize] + 1).max().unwrap_or(0);
        if height[b] == waves.len() {
            waves.push(Vec::new());
        }
        waves[height[b]].push(b as u32);
    }
    waves
}

fn pattern_of(graph: &Graph) -> (Vec<usize>, Vec<u32>) {
    let mut offsets = Vec::with_capacity(graph.n_vertices() + 1);
    offsets.push(0);
    let mut targets = Vec::with_capacity(2 * graph.n_edges());
    for v in 0..graph.n_vertices() {
        graph.for_each_neighbor(v, |u, _| targets.push(u as u32));
        offsets.push(targets.len());
    }
    (offsets, targets)
}
