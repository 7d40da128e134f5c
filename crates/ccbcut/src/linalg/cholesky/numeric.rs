//! The numbers of the factorisation, and solves with it.

use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul, traits::RealField};

use crate::{graph::Graph, parallel};

use super::symbolic::{Block, Symbolic};

/// Columns of the update matrix that one task computes.
const STRIP: usize = 96;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `f32` or `f64`: what the factor is stored in.
pub trait Scalar:
    sealed::Sealed
    + RealField
    + Copy
    + Default
    + Send
    + Sync
    + std::ops::AddAssign
    + std::ops::MulAssign
    + 'static
{
    /// Rounds from double precision.
    fn from_f64(value: f64) -> Self;
    /// Widens to double precision.
    fn to_f64(self) -> f64;

    /// Weights below this share of the largest are dropped: their products would fall below the smallest normal
    /// number, where arithmetic is slow and inexact.
    const NEGLIGIBLE: f64;
}

impl Scalar for f64 {
    const NEGLIGIBLE: f64 = 1e-140;

    fn from_f64(value: f64) -> Self {
        value
    }
    fn to_f64(self) -> f64 {
        self
    }
}

impl Scalar for f32 {
    const NEGLIGIBLE: f64 = 1e-17;

    fn from_f64(value: f64) -> Self {
        value as f32
    }
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

/// What is kept of one block: with N the multipliers inside the block and d its pivots,
/// `inverse` = (I − Nᵀ)⁻¹ and `panel` = P D⁻¹, where P holds the weights to the rows below.
#[derive(Debug, Clone)]
struct BlockFactor<T> {
    inverse: Vec<T>,
    inverse_pivots: Vec<T>,
    panel: Vec<T>,
}

/// A factored Laplacian of a connected graph.
#[derive(Debug)]
pub struct Factor<'a, T> {
    symbolic: &'a Symbolic,
    /// The weights were divided by this before they were rounded to `T`.
    scale: f64,
    blocks: Vec<BlockFactor<T>>,
}

impl<'a, T: Scalar> Factor<'a, T> {
    /// Factors the Laplacian of `graph`, whose pattern was analysed in `symbolic`.
    ///
    /// # Complexity
    /// About [`Symbolic::flops`] operations, nearly all of them in matrix products.
    pub fn new(symbolic: &'a Symbolic, graph: &Graph) -> Self {
        let scale = (0..graph.n_vertices())
            .map(|v| {
                let mut largest: f64 = 0.0;
                graph.for_each_neighbor(v, |_, w| largest = largest.max(w));
                largest
            })
            .fold(f64::MIN_POSITIVE, f64::max);
        let mut blocks: Vec<Option<BlockFactor<T>>> = vec![None; symbolic.blocks.len()];
        let mut updates: Vec<Option<Vec<T>>> = (0..symbolic.blocks.len()).map(|_| None).collect();
        for wave in &symbolic.waves {
            let done = parallel::map(wave.len(), |k| {
                let block = &symbolic.blocks[wave[k] as usize];
                Front::assemble(symbolic, graph, block, &updates, scale).eliminate()
            });
            for (&b, (factor, update)) in wave.iter().zip(done) {
                for &child in &symbolic.blocks[b as usize].children {
                    updates[child as usize] = None;
                }
                blocks[b as usize] = Some(factor);
                updates[b as usize] = Some(update);
            }
        }
        Self { symbolic, scale, blocks: blocks.into_iter().flatten().collect() }
    }

    /// X with L X = B up to a constant per column, for right-hand sides that sum to zero (n × m, one column after
    /// the other). The ground vertex gets zero; the caller centres.
    pub fn solve(&self, b: &[f64], x: &mut [f64]) {
        let n = self.symbolic.dim();
        let m = b.len() / n.max(1);
        // Columns are scaled so that they survive the rounding to `T`.
        let sizes: Vec<f64> = b
            .chunks_exact(n)
            .map(|column| column.iter().fold(0.0_f64, |a, v| a.max(v.abs())))
            .map(|size| if size > 0.0 && size.is_finite() { size } else { 1.0 })
            .collect();
        let mut y: Vec<T> = Vec::with_capacity(n * m);
        for (column, size) in b.chunks_exact(n).zip(&sizes) {
            y.extend(self.symbolic.order.iter().map(|&v| T::from_f64(column[v as usize] / size)));
        }
        self.forward(&mut y, n, m);
        self.backward(&mut y, n, m);
        for ((column, out), size) in y.chunks_exact(n).zip(x.chunks_exact_mut(n)).zip(&sizes) {
            for (value, &v) in column.iter().zip(&self.symbolic.order) {
                out[v as usize] = value.to_f64() * (size / self.scale);
            }
        }
    }

    fn forward(&self, y: &mut [T], n: usize, m: usize) {
        let mut own = Vec::new();
        let mut below = Vec::new();
        for (block, factor) in self.symbolic.blocks.iter().zip(&self.blocks) {
            let (width, height) = (block.width(), block.rows.len());
            gather_range(y, n, block.start, width, &mut own);
            let inverse = MatRef::from_column_major_slice(&factor.inverse, width, width);
            let panel = MatRef::from_column_major_slice(&factor.panel, height, width);
            let mut solved = vec![T::default(); width * m];
            let rhs = MatRef::from_column_major_slice(&own, width, m);
            multiply(&mut solved, width, m, Accum::Replace, inverse.transpose(), rhs);
            for (column, out) in solved.chunks_exact(width).zip(y.chunks_exact_mut(n)) {
                out[block.start..block.end].copy_from_slice(column);
            }
            if height > 0 {
                below.clear();
                below.resize(height * m, T::default());
                let rhs = MatRef::from_column_major_slice(&solved, width, m);
                multiply(&mut below, height, m, Accum::Replace, panel, rhs);
                for (column, out) in below.chunks_exact(height).zip(y.chunks_exact_mut(n)) {
                    for (&value, &row) in column.iter().zip(&block.rows) {
                        out[row as usize] += value;
                    }
                }
            }
        }
    }

    fn backward(&self, y: &mut [T], n: usize, m: usize) {
        let mut own = Vec::new();
        let mut below = Vec::new();
        for (block, factor) in self.symbolic.blocks.iter().zip(&self.blocks).rev() {
            let (width, height) = (block.width(), block.rows.len());
            gather_range(y, n, block.start, width, &mut own);
            for column in own.chunks_exact_mut(width) {
                for (value, &d) in column.iter_mut().zip(&factor.inverse_pivots) {
                    *value *= d;
                }
            }
            if height > 0 {
                below.clear();
                for column in y.chunks_exact(n) {
                    below.extend(block.rows.iter().map(|&row| column[row as usize]));
                }
                let panel = MatRef::from_column_major_slice(&factor.panel, height, width);
                let rhs = MatRef::from_column_major_slice(&below, height, m);
                multiply(&mut own, width, m, Accum::Add, panel.transpose(), rhs);
            }
            let inverse = MatRef::from_column_major_slice(&factor.inverse, width, width);
            let mut solved = vec![T::default(); width * m];
            let rhs = MatRef::from_column_major_slice(&own, width, m);
            multiply(&mut solved, width, m, Accum::Replace, inverse, rhs);
            for (column, out) in solved.chunks_exact(width).zip(y.chunks_exact_mut(n)) {
                out[block.start..block.end].copy_from_slice(column);
            }
        }
    }
}

fn gather_range<T: Scalar>(y: &[T], n: usize, start: usize, width: usize, out: &mut Vec<T>) {
    out.clear();
    for column in y.chunks_exact(n) {
        out.extend_from_slice(&column[start..start + width]);
    }
}

/// out (rows × columns) ← [out +] a b.
fn multiply<T: Scalar>(
    out: &mut [T],
    rows: usize,
    columns: usize,
    accumulate: Accum,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
) {
    let out = MatMut::from_column_major_slice_mut(out, rows, columns);
    matmul(out, accumulate, a, b, T::one_impl(), Par::Seq);
}

/// The weights among the columns of a block and the rows below it, earlier vertices already eliminated.
struct Front<'a, T> {
    block: &'a Block,
    /// width × width, strictly lower part used.
    inside: Vec<T>,
    /// height × width.
    panel: Vec<T>,
    /// height × height, strictly lower part used; all contributions of earlier blocks.
    update: Vec<T>,
}

impl<'a, T: Scalar> Front<'a, T> {
    fn assemble(
        symbolic: &Symbolic,
        graph: &Graph,
        block: &'a Block,
        updates: &[Option<Vec<T>>],
        scale: f64,
    ) -> Self {
        let (width, height) = (block.width(), block.rows.len());
        let mut front = Self {
            block,
            inside: vec![T::default(); width * width],
            panel: vec![T::default(); height * width],
            update: vec![T::default(); height * height],
        };
        for j in 0..width {
            let v = symbolic.order[block.start + j];
            graph.for_each_neighbor(v as usize, |u, w| {
                let row = symbolic.place[u] as usize;
                if row > block.start + j && w >= T::NEGLIGIBLE * scale {
                    *front.entry(front.locate(row), j) += T::from_f64(w / scale);
                }
            });
        }
        for &child in &block.children {
            if let Some(update) = &updates[child as usize] {
                front.add_child(&symbolic.blocks[child as usize].rows, update);
            }
        }
        front
    }

    /// Position of a row in the front: columns first, then the rows below.
    fn locate(&self, row: usize) -> usize {
        if row < self.block.end {
            return row - self.block.start;
        }
        let below = self.block.rows.binary_search(&(row as u32));
        self.block.width() + below.unwrap_or_else(|p| p)
    }

    fn entry(&mut self, i: usize, j: usize) -> &mut T {
        let (width, height) = (self.block.width(), self.block.rows.len());
        if i < width { &mut self.inside[j * width + i] } else { &mut self.panel[j * height + i - width] }
    }

    fn add_child(&mut self, rows: &[u32], update: &[T]) {
        let (width, height) = (self.block.width(), self.block.rows.len());
        let positions: Vec<usize> = rows.iter().map(|&row| self.locate(row as usize)).collect();
        let size = rows.len();
        for (j, &pj) in positions.iter().enumerate() {
            let column = &update[j * size..(j + 1) * size];
            if pj < width {
                for i in j + 1..size {
                    *self.entry(positions[i], pj) += column[i];
                }
            } else {
                let out = &mut self.update[(pj - width) * height..][..height];
                for i in j + 1..size {
                    out[positions[i] - width] += column[i];
                }
            }
        }
    }

    /// Eliminates the columns; returns the factor of the block and the weights it adds among the rows below.
    fn eliminate(mut self) -> (BlockFactor<T>, Vec<T>) {
        let (width, height) = (self.block.width(), self.block.rows.len());
        // What hangs on each column from below acts on the block like one more vertex.
        let mut hanging: Vec<T> =
            (0..width).map(|j| sum(&self.panel[j * height..(j + 1) * height])).collect();
        let mut inverse_pivots = vec![T::default(); width];
        for j in 0..width {
            let column = &self.inside[j * width + j + 1..(j + 1) * width];
            let pivot = hanging[j] + sum(column);
            // Zero for the ground vertex, and where weights underflowed.
            let reciprocal = T::from_f64(1.0 / pivot.to_f64());
            let reciprocal = if reciprocal.to_f64().is_finite() { reciprocal } else { T::default() };
            inverse_pivots[j] = reciprocal;
            let column: Vec<T> = column.to_vec();
            for (offset, &w) in column.iter().enumerate() {
                let c = j + 1 + offset;
                let multiplier = w * reciprocal;
                self.inside[j * width + c] = multiplier;
                hanging[c] = hanging[c] + hanging[j] * multiplier;
                for (target, &other) in
                    self.inside[c * width + c + 1..(c + 1) * width].iter_mut().zip(&column[offset + 1..])
                {
                    *target += other * multiplier;
                }
            }
        }
        let inverse = unit_inverse(&self.inside, width);
        let mut panel = vec![T::default(); height * width];
        if height > 0 {
            let old = MatRef::from_column_major_slice(&self.panel, height, width);
            let inverse = MatRef::from_column_major_slice(&inverse, width, width);
            multiply(&mut panel, height, width, Accum::Replace, old, inverse);
            let least = T::from_f64(T::NEGLIGIBLE);
            panel.iter_mut().for_each(|w| *w = if *w < least { T::default() } else { *w });
            self.add_outer_product(&panel, &inverse_pivots);
            for (column, &d) in panel.chunks_exact_mut(height).zip(&inverse_pivots) {
                column.iter_mut().for_each(|w| *w *= d);
            }
        }
        (BlockFactor { inverse, inverse_pivots, panel }, self.update)
    }

    /// update ← update + P D⁻¹ Pᵀ, the part below the diagonal, in strips of columns.
    fn add_outer_product(&mut self, panel: &[T], inverse_pivots: &[T]) {
        let (width, height) = (self.block.width(), self.block.rows.len());
        let mut scaled = panel.to_vec();
        for (column, &d) in scaled.chunks_exact_mut(height).zip(inverse_pivots) {
            column.iter_mut().for_each(|w| *w *= d);
        }
        let left = MatRef::from_column_major_slice(panel, height, width);
        let right = MatRef::from_column_major_slice(&scaled, height, width);
        parallel::for_each_chunk(&mut self.update, STRIP * height, |strip, columns| {
            let first = strip * STRIP;
            let count = columns.len() / height;
            let out = MatMut::from_column_major_slice_mut(columns, height, count);
            let out = out.subrows_mut(first, height - first);
            let right = right.subrows(first, count).transpose();
            matmul(out, Accum::Add, left.subrows(first, height - first), right, T::one_impl(), Par::Seq);
        });
    }
}

fn sum<T: Scalar>(values: &[T]) -> T {
    values.iter().fold(T::default(), |a, &b| a + b)
}

/// (I − Nᵀ)⁻¹ for the multipliers N stored strictly below the diagonal: upper triangular, not negative.
fn unit_inverse<T: Scalar>(multipliers: &[T], width: usize) -> Vec<T> {
    // Column c of the inverse: t_c = e_c + Σ_{j<c} N_cj t_j.
    let mut inverse = vec![T::default(); width * width];
    for c in 0..width {
        let (done, current) = inverse.split_at_mut(c * width);
        for j in 0..c {
            let multiplier = multipliers[j * width + c];
            for (out, &value) in current[..=j].iter_mut().zip(&done[j * width..=j * width + j]) {
                *out += value * multiplier;
            }
        }
        current[c] = T::one_impl();
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        graph::gallery,
        linalg::{LinearOperator, dot, norm},
        random::Random,
    };

    fn check<T: Scalar>(graph: &Graph, tolerance: f64) {
        let symbolic = Symbolic::analyze(graph, f64::INFINITY, f64::INFINITY).unwrap();
        let factor = Factor::<T>::new(&symbolic, graph);
        let n = graph.n_vertices();
        let mut random = Random::new(7);
        let truth: Vec<f64> = (0..3 * n).map(|_| random.normal()).collect();
        let mut rhs = vec![0.0; 3 * n];
        graph.laplacian().apply_block(&truth, &mut rhs);
        let mut x = vec![0.0; 3 * n];
        factor.solve(&rhs, &mut x);
        for (x, truth) in x.chunks(n).zip(truth.chunks(n)) {
            // Compare in the energy norm, which does not see the constant.
            let error: Vec<f64> = x.iter().zip(truth).map(|(a, b)| a - b).collect();
            let energy = |v: &[f64]| {
                let mut lv = vec![0.0; n];
                graph.laplacian().apply(v, &mut lv);
                dot(v, &lv).sqrt()
            };
            assert!(energy(&error) <= tolerance * energy(truth), "{} {}", energy(&error), norm(truth));
        }
    }

    #[test]
    fn solves_undo_the_laplacian() {
        let graphs = [
            gallery::path(700),
            gallery::grid(25, 33),
            gallery::star(300),
            gallery::complete(130),
            gallery::wide(200, 0.05, 2.0, 5),
            gallery::path(2),
            gallery::path(1),
        ];
        for graph in &graphs {
            check::<f64>(graph, 1e-11);
            check::<f32>(graph, 2e-2);
        }
    }

    #[test]
    fn weights_over_twenty_four_decades_do_not_spoil_the_solve() {
        check::<f64>(&gallery::wide(300, 0.02, 12.0, 3), 1e-10);
    }
}
