//! Solves with a factored Laplacian: the branches of the elimination run at the same time.

use faer::{
    Mat, MatMut, MatRef,
    reborrow::{Reborrow, ReborrowMut},
};

use crate::parallel;

use super::{
    numeric::{Factor, Scalar},
    symbolic::Block,
    thin::{Panel, add_product, add_transposed},
};

/// Columns that one task solves for.
const GROUP: usize = 32;

/// Runs of rows shorter than this, on average, are not worth a matrix product each.
const SHORT_RUN: usize = 16;

impl<T: Scalar> Factor<'_, T> {
    /// X with L X = B up to a constant per column, for right-hand sides that sum to zero (n × m, one column after
    /// the other). The ground vertex gets zero; the caller centres.
    ///
    /// # Complexity
    /// Two passes over the factor per 32 columns.
    pub fn solve(&self, b: &[f64], x: &mut [f64]) {
        let n = self.symbolic.dim();
        for (b, x) in b.chunks(n.max(1) * GROUP).zip(x.chunks_mut(n.max(1) * GROUP)) {
            self.solve_group(b, x);
        }
    }

    fn solve_group(&self, b: &[f64], x: &mut [f64]) {
        let n = self.symbolic.dim();
        // Columns are scaled so that they survive the rounding to `T`.
        let sizes: Vec<f64> = b
            .chunks_exact(n)
            .map(|column| column.iter().fold(0.0_f64, |a, v| a.max(v.abs())))
            .map(|size| if size > 0.0 && size.is_finite() { size } else { 1.0 })
            .collect();
        let mut y = vec![T::default(); b.len()];
        parallel::for_each_chunk(&mut y, n, |c, out| {
            let (column, size) = (&b[c * n..(c + 1) * n], 1.0 / sizes[c]);
            for (out, &v) in out.iter_mut().zip(&self.symbolic.order) {
                *out = T::from_f64(column[v as usize] * size);
            }
        });
        self.run(MatMut::from_column_major_slice_mut(&mut y, n, b.len() / n));
        parallel::for_each_chunk(x, n, |c, out| {
            let factor = sizes[c] / self.scale;
            for (value, &v) in y[c * n..(c + 1) * n].iter().zip(&self.symbolic.order) {
                out[v as usize] = value.to_f64() * factor;
            }
        });
    }

    /// Forward through the branches and what comes after them, and back.
    fn run(&self, mut y: MatMut<'_, T>) {
        let schedule = &self.symbolic.schedule;
        let halfway = parallel::map(schedule.branches.len(), |k| {
            let branch = Branch::new(self, k);
            let mut local = branch.gather(y.rb());
            for b in schedule.branches[k].clone() {
                self.forward_block(b, local.as_mut(), |row| branch.place(row));
            }
            (branch, local)
        });
        for (branch, local) in &halfway {
            branch.add_below(local, y.rb_mut());
        }
        for &b in &schedule.top {
            self.forward_block(b as usize, y.rb_mut(), |row| row);
        }
        for &b in schedule.top.iter().rev() {
            self.backward_block(b as usize, y.rb_mut(), |row| row);
        }
        let done = parallel::map(halfway.len(), |k| {
            let (branch, local) = &halfway[k];
            let mut local = local.clone();
            branch.read_below(y.rb(), &mut local);
            for b in schedule.branches[k].clone().rev() {
                self.backward_block(b, local.as_mut(), |row| branch.place(row));
            }
            local
        });
        for ((branch, _), local) in halfway.iter().zip(&done) {
            let (first, count) = (branch.start, branch.end - branch.start);
            y.rb_mut().subrows_mut(first, count).copy_from(local.as_ref().subrows(0, count));
        }
    }

    /// s = inverseᵀ own; below += panel s.
    fn forward_block(&self, b: usize, mut y: MatMut<'_, T>, place: impl Fn(usize) -> usize) {
        let (block, factor) = (&self.symbolic.blocks[b], self.block(b));
        let (width, height) = (block.width(), block.rows.len());
        let at = place(block.start);
        let mut solved = Mat::zeros(width, y.ncols());
        let inverse = Panel::square(factor.inverse, width);
        add_transposed(solved.as_mut(), inverse, y.rb().subrows(at, width));
        for c in 0..solved.ncols() {
            for v in solved.col_as_slice_mut(c) {
                // Products with numbers this small would be slow, and lost in what they are added to.
                *v = if v.to_f64().abs() < T::NEGLIGIBLE { T::default() } else { *v };
            }
        }
        y.rb_mut().subrows_mut(at, width).copy_from(&solved);
        if height == 0 {
            return;
        }
        let panel = Panel { values: factor.panel, height, first: 0, count: height };
        if is_in_runs(block) {
            for run in &block.runs {
                let (at, len) = (place(run.first as usize), run.len as usize);
                let panel = Panel { first: run.at as usize, count: len, ..panel };
                add_product(y.rb_mut().subrows_mut(at, len), panel, solved.as_ref());
            }
        } else {
            let mut below = Mat::zeros(height, y.ncols());
            add_product(below.as_mut(), panel, solved.as_ref());
            for c in 0..y.ncols() {
                for (i, &row) in block.rows.iter().enumerate() {
                    y[(place(row as usize), c)] += below[(i, c)];
                }
            }
        }
    }

    /// own = inverse (s + panelᵀ below).
    fn backward_block(&self, b: usize, y: MatMut<'_, T>, place: impl Fn(usize) -> usize) {
        let (block, factor) = (&self.symbolic.blocks[b], self.block(b));
        let (width, height) = (block.width(), block.rows.len());
        let at = place(block.start);
        let mut own = y.rb().subrows(at, width).to_owned();
        if height > 0 {
            let panel = Panel { values: factor.panel, height, first: 0, count: height };
            if is_in_runs(block) {
                for run in &block.runs {
                    let (from, len) = (place(run.first as usize), run.len as usize);
                    let panel = Panel { first: run.at as usize, count: len, ..panel };
                    add_transposed(own.as_mut(), panel, y.rb().subrows(from, len));
                }
            } else {
                let below = Mat::from_fn(height, y.ncols(), |i, c| y[(place(block.rows[i] as usize), c)]);
                add_transposed(own.as_mut(), panel, below.as_ref());
            }
        }
        let mut out = y.subrows_mut(at, width);
        out.fill(T::default());
        add_product(out, Panel::square(factor.inverse, width), own.as_ref());
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
    fn new<T: Scalar>(factor: &Factor<'a, T>, k: usize) -> Self {
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

    fn gather<T: Scalar>(&self, y: MatRef<'_, T>) -> Mat<T> {
        let count = self.end - self.start;
        let mut local = Mat::zeros(count + self.root.rows.len(), y.ncols());
        local.as_mut().subrows_mut(0, count).copy_from(y.subrows(self.start, count));
        local
    }

    fn add_below<T: Scalar>(&self, local: &Mat<T>, mut y: MatMut<'_, T>) {
        let count = self.end - self.start;
        for c in 0..y.ncols() {
            for (i, &row) in self.root.rows.iter().enumerate() {
                y[(row as usize, c)] += local[(count + i, c)];
            }
        }
    }

    fn read_below<T: Scalar>(&self, y: MatRef<'_, T>, local: &mut Mat<T>) {
        let count = self.end - self.start;
        for c in 0..y.ncols() {
            for (i, &row) in self.root.rows.iter().enumerate() {
                local[(count + i, c)] = y[(row as usize, c)];
            }
        }
    }
}
