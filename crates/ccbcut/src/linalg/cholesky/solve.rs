//! Solves with a factored Laplacian: the branches of the elimination run at the same time.

use crate::parallel;

use super::{
    numeric::{BlockFactor, Factor},
    scalar::{Meets, Scalar, bring_block_near},
    sides::{Panel, Sides},
    symbolic::Block,
};

/// Columns that one task solves for.
const GROUP: usize = 32;

/// Runs of rows shorter than this, on average, are not worth a matrix product each.
const SHORT_RUN: usize = 16;

/// Columns, and rows of them, that are written together.
const NEAR_COLUMNS: usize = 8;
const NEAR_ROWS: usize = 128;

impl<T: Scalar> Factor<'_, T> {
    /// X with L X = B up to a constant per column, for right-hand sides that sum to zero (n × m, one column after
    /// the other). The ground vertex gets zero; the caller centres.
    ///
    /// # Complexity
    /// Two passes over the factor per 32 columns.
    pub fn solve(&self, b: &[f64], x: &mut [f64]) {
        self.solve_by::<T>(b, x);
    }

    /// The same with right-hand sides in double precision throughout.
    ///
    /// That makes the factor a linear map, which it is not where right-hand sides are rounded on their way: what a solver that
    /// goes on from one solve to the next corrects is the same every time, however stiff the graph.
    pub fn solve_in_double(&self, b: &[f64], x: &mut [f64]) {
        self.solve_by::<f64>(b, x);
    }

    fn solve_by<U: Scalar>(&self, b: &[f64], x: &mut [f64])
    where
        T: Meets<U>,
    {
        let n = self.symbolic.dim();
        for (b, x) in b.chunks(n.max(1) * GROUP).zip(x.chunks_mut(n.max(1) * GROUP)) {
            self.solve_group::<U>(b, x);
        }
    }

    fn solve_group<U: Scalar>(&self, b: &[f64], x: &mut [f64])
    where
        T: Meets<U>,
    {
        let n = self.symbolic.dim();
        // Columns are scaled so that they survive the rounding to `U`.
        let sizes: Vec<f64> = b
            .chunks_exact(n)
            .map(|column| column.iter().fold(0.0_f64, |a, v| a.max(v.abs())))
            .map(|size| if size > 0.0 && size.is_finite() { size } else { 1.0 })
            .collect();
        let (order, m) = (&self.symbolic.order, sizes.len());
        let shares: Vec<f64> = sizes.iter().map(|size| 1.0 / size).collect();
        let mut y = Sides::zeros(n, m);
        y.fill(m, |i, c| U::from_f64(b[c * n + order[i] as usize] * shares[c]));
        self.run(&mut y);
        // A few rows of some columns at a time, so that what is near is used while it is.
        parallel::for_each_chunk(x, n * NEAR_COLUMNS, |group, columns| {
            for first in (0..n).step_by(NEAR_ROWS) {
                for (k, out) in columns.chunks_exact_mut(n).enumerate() {
                    let c = group * NEAR_COLUMNS + k;
                    let factor = sizes[c] / self.scale;
                    for (i, &v) in (first..n.min(first + NEAR_ROWS)).zip(&order[first..]) {
                        out[v as usize] = y.get(i, c).to_f64() * factor;
                    }
                }
            }
        });
    }

    /// Forward through the branches and what comes after them, and back.
    fn run<U: Scalar>(&self, y: &mut Sides<U>)
    where
        T: Meets<U>,
    {
        let schedule = &self.symbolic.schedule;
        let halfway = parallel::map(schedule.branches.len(), |k| {
            let branch = Branch::new(self, k);
            let mut local = branch.gather(y);
            for b in schedule.branches[k].clone() {
                self.forward_block(b, &mut local, |row| branch.place(row));
            }
            (branch, local)
        });
        for (branch, local) in &halfway {
            branch.add_below(local, y);
        }
        for &b in &schedule.top {
            self.forward_block(b as usize, y, |row| row);
        }
        for &b in schedule.top.iter().rev() {
            self.backward_block(b as usize, y, |row| row);
        }
        let done = parallel::map(halfway.len(), |k| {
            let (branch, local) = &halfway[k];
            let mut local = local.clone();
            branch.read_below(y, &mut local);
            for b in schedule.branches[k].clone().rev() {
                self.backward_block(b, &mut local, |row| branch.place(row));
            }
            local
        });
        for ((branch, _), local) in halfway.iter().zip(&done) {
            y.copy_rows(branch.start, local, 0, branch.end - branch.start);
        }
    }

    /// s = inverseᵀ own; below += panel s.
    fn forward_block<U: Scalar>(&self, b: usize, y: &mut Sides<U>, place: impl Fn(usize) -> usize)
    where
        T: Meets<U>,
    {
        let (block, values) = (&self.symbolic.blocks[b], self.values(b));
        let (width, height) = (block.width(), block.rows.len());
        bring_block_near(values);
        let factor = BlockFactor::new(values, width);
        let at = place(block.start);
        let mut solved = y.zeros_like(width);
        solved.add_transposed(Panel::whole(factor.inverse, width), y, at);
        solved.drop_negligible();
        y.copy_rows(at, &solved, 0, width);
        if height == 0 {
            return;
        }
        let panel = Panel::whole(factor.panel, height);
        if is_in_runs(block) {
            for run in &block.runs {
                let panel = Panel { first: run.at as usize, count: run.len as usize, ..panel };
                y.add_product(place(run.first as usize), panel, &solved);
            }
        } else {
            let mut below = y.zeros_like(height);
            below.add_product(0, panel, &solved);
            for (i, &row) in block.rows.iter().enumerate() {
                y.add_row(place(row as usize), &below, i);
            }
        }
    }

    /// own = inverse (s + panelᵀ below).
    fn backward_block<U: Scalar>(&self, b: usize, y: &mut Sides<U>, place: impl Fn(usize) -> usize)
    where
        T: Meets<U>,
    {
        let (block, values) = (&self.symbolic.blocks[b], self.values(b));
        let (width, height) = (block.width(), block.rows.len());
        bring_block_near(values);
        let factor = BlockFactor::new(values, width);
        let at = place(block.start);
        let mut own = y.zeros_like(width);
        own.copy_rows(0, y, at, width);
        if height > 0 {
            let panel = Panel::whole(factor.panel, height);
            if is_in_runs(block) {
                for run in &block.runs {
                    let panel = Panel { first: run.at as usize, count: run.len as usize, ..panel };
                    own.add_transposed(panel, y, place(run.first as usize));
                }
            } else {
                let mut below = y.zeros_like(height);
                for (i, &row) in block.rows.iter().enumerate() {
                    below.copy_rows(i, y, place(row as usize), 1);
                }
                own.add_transposed(panel, &below, 0);
            }
        }
        let mut out = y.zeros_like(width);
        out.add_product(0, Panel::whole(factor.inverse, width), &own);
        y.copy_rows(at, &out, 0, width);
    }
}

/// Whether the rows below a block come in runs that are worth a product each.
fn is_in_runs(block: &Block) -> bool {
    block.runs.len() * SHORT_RUN <= block.rows.len() + SHORT_RUN
}

/// One of the subtrees: its own rows stand first in its private copy, then the rows below its root, which are all
/// that it touches outside.
struct Branch<'a> {
    start: usize,
    end: usize,
    root: &'a Block,
}

impl<'a> Branch<'a> {
    fn new<T>(factor: &Factor<'a, T>, k: usize) -> Self {
        let blocks = &factor.symbolic.schedule.branches[k];
        let root = &factor.symbolic.blocks[blocks.end - 1];
        Self { start: factor.symbolic.blocks[blocks.start].start, end: root.end, root }
    }

    /// Where a row stands in the private copy.
    fn place(&self, row: usize) -> usize {
        if row < self.end {
            row - self.start
        } else {
            self.end - self.start + self.root.locate(row) - self.root.width()
        }
    }

    fn gather<T: Scalar>(&self, y: &Sides<T>) -> Sides<T> {
        let count = self.end - self.start;
        let mut local = y.zeros_like(count + self.root.rows.len());
        local.copy_rows(0, y, self.start, count);
        local
    }

    fn add_below<T: Scalar>(&self, local: &Sides<T>, y: &mut Sides<T>) {
        let count = self.end - self.start;
        for (i, &row) in self.root.rows.iter().enumerate() {
            y.add_row(row as usize, local, count + i);
        }
    }

    fn read_below<T: Scalar>(&self, y: &Sides<T>, local: &mut Sides<T>) {
        let count = self.end - self.start;
        for (i, &row) in self.root.rows.iter().enumerate() {
            local.copy_rows(count + i, y, row as usize, 1);
        }
    }
}
