//! The numbers of the factorisation.

use std::sync::{Mutex, OnceLock, PoisonError};

use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul, reborrow::ReborrowMut};

use crate::{graph::Graph, parallel, simd};

use super::{
    scalar::{Room, Scalar},
    symbolic::{Block, Source, Symbolic},
};

/// Rows of a front that one task brings up to date.
const STRIP: usize = 256;

/// Runs shorter than this, on average, are not worth a matrix product each.
const SHORT_RUN: usize = 12;

/// What is kept of one block. With N the multipliers inside the block, d its pivots and P the weights to the rows
/// below: `inverse` = (I − Nᵀ)⁻¹ D^-½, and `panel` = P (I − Nᵀ)⁻¹ D^-½.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockFactor<'a, T> {
    pub(super) inverse: &'a [T],
    pub(super) panel: &'a [T],
}

impl<'a, T> BlockFactor<'a, T> {
    /// The inverse stands first.
    pub(super) fn new(values: &'a [T], width: usize) -> Self {
        let (inverse, panel) = values.split_at(width * width);
        Self { inverse, panel }
    }
}

/// The blocks of a factor that are done.
#[derive(Debug, Clone, Copy)]
struct Blocks<'a, 'v, T> {
    symbolic: &'a Symbolic,
    done: &'a [OnceLock<Done<'v, T>>],
}

/// The numbers of a block that is done, the inverse first, and its ties to the ground.
#[derive(Debug)]
struct Done<'v, T> {
    values: &'v [T],
    /// The row of the panel for the ground; empty where there are no ties to it.
    ground: Vec<T>,
}

impl<'a, 'v, T> Blocks<'a, 'v, T> {
    fn get(&self, b: usize) -> (BlockFactor<'v, T>, &'a [T]) {
        let Some(done) = self.done[b].get() else { unreachable!("children come before their parents") };
        (BlockFactor::new(done.values, self.symbolic.blocks[b].width()), &done.ground)
    }
}

/// A factored Laplacian of a connected graph.
#[derive(Debug)]
pub struct Factor<'a, T> {
    pub(super) symbolic: &'a Symbolic,
    /// The weights were divided by this before they were rounded to `T`.
    pub(super) scale: f64,
    values: Vec<T>,
}

impl<'a, T: Scalar> Factor<'a, T> {
    /// Factors the Laplacian of `graph`, whose pattern was analysed in `symbolic`.
    ///
    /// # Complexity
    /// About [`Symbolic::flops`] operations, nearly all of them in matrix products.
    pub fn new(symbolic: &'a Symbolic, graph: &Graph) -> Self {
        Self::with_ground(symbolic, graph, &[], Vec::new())
    }

    /// The same in the memory of an earlier factor, if there is any of its kind; [`Factor::into_room`] gives it back.
    pub fn new_in(symbolic: &'a Symbolic, graph: &Graph, room: &mut Room) -> Self {
        Self::with_ground(symbolic, graph, &[], T::take_room(room))
    }

    /// The memory of the factor, for another one.
    pub fn into_room(self) -> Room {
        T::room(self.values)
    }

    /// Factors L + diag(ground), with one positive number per vertex: every vertex is tied to a ground of height zero.
    ///
    /// # Complexity
    /// As [`Factor::new`].
    pub fn grounded(symbolic: &'a Symbolic, graph: &Graph, ground: &[f64]) -> Self {
        debug_assert_eq!(ground.len(), graph.n_vertices());
        Self::with_ground(symbolic, graph, ground, Vec::new())
    }

    /// What `values` holds does not matter.
    fn with_ground(symbolic: &'a Symbolic, graph: &Graph, ground: &[f64], mut values: Vec<T>) -> Self {
        let scale = ground.iter().copied().fold(graph.largest_weight().max(f64::MIN_POSITIVE), f64::max);
        let n_values = symbolic.blocks.iter().map(Block::n_values).sum();
        if values.capacity() < n_values {
            values = vec![T::default(); n_values];
        } else {
            values.resize(n_values, T::default());
        }
        let mut rest = values.as_mut_slice();
        let rooms = symbolic.blocks.iter().map(|block| {
            let (room, behind) = std::mem::take(&mut rest).split_at_mut(block.n_values());
            rest = behind;
            Mutex::new(Some(room))
        });
        let rooms: Vec<Mutex<Option<&mut [T]>>> = rooms.collect();
        let done: Vec<OnceLock<Done<'_, T>>> = symbolic.blocks.iter().map(|_| OnceLock::new()).collect();
        parallel::up_trees(&symbolic.parents, |b| {
            let blocks = Blocks { symbolic, done: &done };
            let mut front = Front::new(&symbolic.blocks[b]);
            front.assemble(symbolic, graph, scale);
            front.collect(symbolic, blocks);
            if !ground.is_empty() {
                front.collect_ground(symbolic, blocks, ground, scale);
            }
            let room = rooms[b].lock().unwrap_or_else(PoisonError::into_inner).take();
            let values = room.unwrap_or_default();
            let ground = front.eliminate(values);
            let is_first = done[b].set(Done { values, ground }).is_ok();
            debug_assert!(is_first, "every block once");
        });
        drop((rooms, done));
        Self { symbolic, scale, values }
    }

    /// The numbers of a block.
    pub(super) fn values(&self, b: usize) -> &[T] {
        let block = &self.symbolic.blocks[b];
        &self.values[block.at..][..block.n_values()]
    }
}

/// out ← [out +] a b.
fn multiply<T: Scalar>(out: MatMut<'_, T>, accumulate: Accum, a: MatRef<'_, T>, b: MatRef<'_, T>) {
    matmul(out, accumulate, a, b, T::one_impl(), Par::Seq);
}

/// The weights among the columns of a block, and from them to the rows below.
struct Front<'a, T> {
    block: &'a Block,
    /// (width + height) × width; above the diagonal it holds nothing of use.
    weights: Vec<T>,
    /// The weights from the columns to the ground; empty where there are none.
    ground: Vec<T>,
}

/// Rows of an earlier block, `low..high` in its list, that stand one after the other in this front from `at`.
struct Piece<'a> {
    source: &'a Source,
    low: usize,
    high: usize,
    at: usize,
}

impl<'a, T: Scalar> Front<'a, T> {
    fn new(block: &'a Block) -> Self {
        let (width, height) = (block.width(), block.rows.len());
        Self { block, weights: vec![T::default(); (width + height) * width], ground: Vec::new() }
    }

    /// Puts the weights of the graph in.
    fn assemble(&mut self, symbolic: &Symbolic, graph: &Graph, scale: f64) {
        let (least, share) = (T::NEGLIGIBLE * scale, 1.0 / scale);
        let (block, place) = (self.block, symbolic.place.as_slice());
        let (places, mut hint) = (block.places(), 0);
        let stride = block.width() + block.rows.len();
        let mut ahead = symbolic.order[block.start..block.end].iter().skip(1);
        for (p, column) in (block.start..block.end).zip(self.weights.chunks_exact_mut(stride)) {
            let vertex = symbolic.order[p] as usize;
            match (graph.row(vertex), &places) {
                (Some((targets, weights)), Some(places)) => {
                    if let Some((targets, weights)) = ahead.next().and_then(|&v| graph.row(v as usize)) {
                        bring_row_near(targets, weights);
                    }
                    let (first, start) = (p as u32 + 1, block.start as u32);
                    for (&u, &w) in targets.iter().zip(weights) {
                        // Earlier neighbours are written above the diagonal, where nothing is read: a choice that cannot be
                        // foreseen would cost more.
                        let row = place[u as usize];
                        let slot = places[if row >= first { row - start } else { 0 } as usize];
                        column[slot as usize] = T::from_f64(if w >= least { w * share } else { 0.0 });
                    }
                }
                _ => graph.for_each_neighbor(vertex, |u, w| {
                    let row = place[u] as usize;
                    if row > p && w >= least {
                        column[block.locate_near(row, &mut hint)] = T::from_f64(w * share);
                    }
                }),
            }
        }
    }

    /// Adds what the elimination of earlier blocks leaves among these rows and columns.
    fn collect(&mut self, symbolic: &Symbolic, blocks: Blocks<'_, '_, T>) {
        let (width, height) = (self.block.width(), self.block.rows.len());
        let mut direct = Vec::new();
        let mut scattered = Vec::new();
        for source in &self.block.sources {
            let from = &symbolic.blocks[source.block as usize];
            if is_worth_products(source, from) {
                self.push_pieces(source, from, &mut direct);
            } else {
                scattered.push((source, self.positions(source, from)));
            }
        }
        let mut strips = Vec::new();
        let mut rest = MatMut::from_column_major_slice_mut(&mut self.weights, width + height, width);
        let mut first = 0;
        while rest.nrows() > 0 {
            let count = STRIP.min(rest.nrows());
            let (strip, below) = rest.split_at_row_mut(count);
            strips.push((first, strip));
            rest = below;
            first += count;
        }
        let block = self.block;
        parallel::for_each_part(strips, |_, (first, mut strip)| {
            for piece in &direct {
                add_piece(&mut strip, first, piece, block, symbolic, blocks);
            }
            for (source, positions) in &scattered {
                add_scattered(&mut strip, first, source, positions, symbolic, blocks);
            }
        });
    }

    /// The ties of the columns to the ground: their own, and what the elimination of earlier blocks adds.
    fn collect_ground(&mut self, symbolic: &Symbolic, blocks: Blocks<'_, '_, T>, ground: &[f64], scale: f64) {
        let own = &symbolic.order[self.block.start..self.block.end];
        self.ground = own.iter().map(|&v| T::from_f64(ground[v as usize] / scale)).collect();
        for source in &self.block.sources {
            let (b, from) = (source.block as usize, &symbolic.blocks[source.block as usize]);
            let (height, (factor, ties)) = (from.rows.len(), blocks.get(b));
            for (column, &tie) in factor.panel.chunks_exact(height).zip(ties) {
                let rows = source.low as usize..source.high as usize;
                for (&row, &value) in from.rows[rows.clone()].iter().zip(&column[rows]) {
                    self.ground[row as usize - self.block.start] += value * tie;
                }
            }
        }
    }

    fn push_pieces(&self, source: &'a Source, from: &Block, pieces: &mut Vec<Piece<'a>>) {
        for run in &from.runs {
            let (low, high) = (run.at.max(source.low) as usize, (run.at + run.len) as usize);
            if low >= high {
                continue;
            }
            // A run may begin among the columns and go on below them.
            let at = self.block.locate(from.rows[low] as usize);
            pieces.push(Piece { source, low, high, at });
        }
    }

    /// Where the rows of a source stand in this front, from the first of its columns.
    fn positions(&self, source: &Source, from: &Block) -> Vec<u32> {
        let rows = &from.rows[source.low as usize..];
        rows.iter().map(|&row| self.block.locate(row as usize) as u32).collect()
    }

    /// Eliminates the columns into `room`; the ties of the block to the ground, where there are any.
    fn eliminate(mut self, room: &mut [T]) -> Vec<T> {
        let (width, height) = (self.block.width(), self.block.rows.len());
        drop_negligible(&mut self.weights);
        let (inverse, panel) = room.split_at_mut(width * width);
        inverse.fill(T::default());
        simd::widest(
            #[inline(always)]
            || invert_columns(&self.weights, &self.ground, width, height, inverse),
        );
        if height > 0 {
            let front = MatRef::from_column_major_slice(&self.weights, width + height, width);
            let out = MatMut::from_column_major_slice_mut(panel, height, width);
            let inverse = MatRef::from_column_major_slice(inverse, width, width);
            multiply(out, Accum::Replace, front.subrows(width, height), inverse);
            drop_negligible(panel);
        }
        let columns = inverse.chunks_exact(width.max(1)).filter(|_| !self.ground.is_empty());
        let tied = |column: &[T]| column.iter().zip(&self.ground).fold(T::default(), |a, (&x, &g)| a + x * g);
        columns.map(tied).collect()
    }
}

/// One row of a graph after another lies anywhere in memory: what comes next is on its way while one is worked on.
fn bring_row_near(targets: &[u32], weights: &[f64]) {
    let lines = targets.iter().step_by(16).fold(0, |a: u32, &b| a.wrapping_add(b));
    let more = weights.iter().step_by(8).fold(0, |a: u64, &b| a.wrapping_add(b.to_bits()));
    std::hint::black_box((lines, more));
}

/// Whether the rows of a source come in runs that are long enough, and its columns in one.
fn is_worth_products(source: &Source, from: &Block) -> bool {
    let columns = &from.rows[source.low as usize..source.high as usize];
    let is_one_run = (columns[columns.len() - 1] - columns[0]) as usize + 1 == columns.len();
    let low = from.runs.partition_point(|run| run.at + run.len <= source.low);
    is_one_run && (from.runs.len() - low) * SHORT_RUN <= from.rows.len() - source.low as usize
}

/// Sets to zero what is so small that products with it would fall below the smallest normal number: there arithmetic is
/// many times slower.
fn drop_negligible<T: Scalar>(values: &mut [T]) {
    let least = T::from_f64(T::NEGLIGIBLE);
    simd::widest(
        #[inline(always)]
        || values.iter_mut().for_each(|w| *w = if *w < least { T::default() } else { *w }),
    );
}

/// strip ← strip + G Gᵀ for rows that stand together.
fn add_piece<T: Scalar>(
    strip: &mut MatMut<'_, T>,
    first: usize,
    piece: &Piece<'_>,
    block: &Block,
    symbolic: &Symbolic,
    blocks: Blocks<'_, '_, T>,
) {
    let from = &symbolic.blocks[piece.source.block as usize];
    // What of the piece lies in this strip.
    let start = piece.at.max(first);
    let end = (piece.at + piece.high - piece.low).min(first + strip.nrows());
    if start >= end {
        return;
    }
    let panel = blocks.get(piece.source.block as usize).0.panel;
    let panel = MatRef::from_column_major_slice(panel, from.rows.len(), from.width());
    let (low, high) = (piece.source.low as usize, piece.source.high as usize);
    let column = from.rows[low] as usize - block.start;
    let left = panel.subrows(piece.low + start - piece.at, end - start);
    let right = panel.subrows(low, high - low).transpose();
    let out = strip.rb_mut().submatrix_mut(start - first, column, end - start, high - low);
    multiply(out, Accum::Add, left, right);
}

/// The same for rows that lie apart.
fn add_scattered<T: Scalar>(
    strip: &mut MatMut<'_, T>,
    first: usize,
    source: &Source,
    positions: &[u32],
    symbolic: &Symbolic,
    blocks: Blocks<'_, '_, T>,
) {
    let from = &symbolic.blocks[source.block as usize];
    let start = positions.partition_point(|&at| (at as usize) < first);
    let end = positions.partition_point(|&at| (at as usize) < first + strip.nrows());
    if start >= end {
        return;
    }
    let panel = blocks.get(source.block as usize).0.panel;
    let panel = MatRef::from_column_major_slice(panel, from.rows.len(), from.width());
    let (low, high) = (source.low as usize, source.high as usize);
    let mut product = vec![T::default(); (end - start) * (high - low)];
    let out = MatMut::from_column_major_slice_mut(&mut product, end - start, high - low);
    let right = panel.subrows(low, high - low).transpose();
    multiply(out, Accum::Replace, panel.subrows(low + start, end - start), right);
    for (column, &to) in product.chunks_exact(end - start).zip(positions) {
        for (&value, &at) in column.iter().zip(&positions[start..end]) {
            strip[(at as usize - first, to as usize)] += value;
        }
    }
}

/// Eliminates the first `width` columns of a front, by themselves and with the sum of what hangs on each from below;
/// writes (I − Nᵀ)⁻¹ D^-½, which is upper triangular and not negative, over zeros.
#[inline(always)]
fn invert_columns<T: Scalar>(weights: &[T], ground: &[T], width: usize, height: usize, inverse: &mut [T]) {
    let stride = width + height;
    // What hangs on each column from below acts on the block like one more vertex.
    let mut hanging: Vec<T> =
        (0..width).map(|j| sum(&weights[j * stride + width..(j + 1) * stride])).collect();
    hanging.iter_mut().zip(ground).for_each(|(hanging, &tie)| *hanging += tie);
    let mut inside: Vec<T> = Vec::with_capacity(width * width);
    for j in 0..width {
        inside.extend_from_slice(&weights[j * stride..j * stride + width]);
    }
    let mut roots = vec![T::default(); width];
    for j in 0..width {
        let (done, later) = inside.split_at_mut((j + 1) * width);
        let column = &mut done[j * width..];
        let pivot = hanging[j] + sum(&column[j + 1..]);
        // Zero for the ground vertex, and where weights underflowed.
        let reciprocal = T::from_f64(1.0 / pivot.to_f64());
        let reciprocal = if reciprocal.to_f64().is_finite() { reciprocal } else { T::default() };
        roots[j] = T::from_f64(reciprocal.to_f64().sqrt());
        let from_below = hanging[j] * reciprocal;
        for c in j + 1..width {
            let multiplier = column[c] * reciprocal;
            hanging[c] += from_below * column[c];
            let target = &mut later[(c - j - 1) * width..(c - j) * width];
            for (target, &other) in target[c + 1..].iter_mut().zip(&column[c + 1..]) {
                *target += other * multiplier;
            }
        }
        column[j + 1..].iter_mut().for_each(|w| *w *= reciprocal);
    }
    // Column c of the inverse: t_c = e_c + Σ_{j<c} N_cj t_j.
    for c in 0..width {
        let (done, current) = inverse.split_at_mut(c * width);
        for j in 0..c {
            let multiplier = inside[j * width + c];
            if multiplier.to_f64() < T::NEGLIGIBLE {
                continue;
            }
            for (out, &value) in current[..=j].iter_mut().zip(&done[j * width..=j * width + j]) {
                *out += value * multiplier;
            }
        }
        current[c] = T::one_impl();
    }
    let least = T::from_f64(T::NEGLIGIBLE);
    for (column, &root) in inverse.chunks_exact_mut(width).zip(&roots) {
        column.iter_mut().for_each(|v| *v = if *v < least { T::default() } else { *v * root });
    }
}

/// Sixteen running sums, so that the compiler may use vector registers.
#[inline(always)]
fn sum<T: Scalar>(values: &[T]) -> T {
    let mut sums = [T::default(); 16];
    let chunks = values.chunks_exact(16);
    let tail = chunks.remainder().iter().fold(T::default(), |a, &b| a + b);
    for chunk in chunks {
        for l in 0..16 {
            sums[l] += chunk[l];
        }
    }
    sums.iter().fold(tail, |a, &b| a + b)
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
    fn grounded_solves_undo_the_laplacian_with_a_diagonal() {
        let graphs = [
            gallery::path(700),
            gallery::grid(25, 33),
            gallery::star(300),
            gallery::wide(200, 0.05, 2.0, 5),
            gallery::path(2),
            gallery::path(1),
        ];
        for graph in &graphs {
            let n = graph.n_vertices();
            let mut random = Random::new(3);
            let ground: Vec<f64> = (0..n).map(|_| 0.01 + random.uniform()).collect();
            let truth: Vec<f64> = (0..2 * n).map(|_| random.normal()).collect();
            let mut rhs = vec![0.0; 2 * n];
            graph.laplacian().apply_block(&truth, &mut rhs);
            rhs.iter_mut().zip(&truth).enumerate().for_each(|(e, (b, x))| *b += ground[e % n] * x);
            let symbolic = Symbolic::analyze(graph, f64::INFINITY, f64::INFINITY).unwrap();
            let mut x = vec![0.0; 2 * n];
            Factor::<f64>::grounded(&symbolic, graph, &ground).solve(&rhs, &mut x);
            let error: Vec<f64> = x.iter().zip(&truth).map(|(a, b)| a - b).collect();
            assert!(norm(&error) <= 1e-9 * norm(&truth), "{} {}", norm(&error), norm(&truth));
        }
    }

    #[test]
    fn the_memory_of_another_factor_leaves_no_trace() {
        fn check<T: Scalar>() {
            let (graph, other) = (gallery::grid(25, 33), gallery::wide(200, 0.05, 2.0, 5));
            let [symbolic, before] =
                [&graph, &other].map(|g| Symbolic::analyze(g, f64::INFINITY, f64::INFINITY).unwrap());
            let fresh = Factor::<T>::new(&symbolic, &graph);
            for first in [&graph, &other] {
                let pattern = if std::ptr::eq(first, &raw const graph) { &symbolic } else { &before };
                let mut room = Factor::<T>::new(pattern, &first.map_weights(|_, _, w| 3.0 + w)).into_room();
                let again = Factor::<T>::new_in(&symbolic, &graph, &mut room);
                assert!(matches!(room, Room::None));
                assert!(fresh.values == again.values);
            }
        }
        check::<f64>();
        check::<f32>();
        let mut double = Room::Double(vec![1.0]);
        assert!(f32::take_room(&mut double).is_empty());
    }

    /// With right-hand sides in double precision a factor in single precision is a linear map, however stiff the graph: with
    /// rounded ones it is not. It is as good an inverse.
    #[test]
    fn solves_in_double_precision_are_linear() {
        let tile = |v: usize| (v / 30 / 5, v % 30 / 5);
        let tied = |i: usize, j: usize, _: f64| if tile(i) == tile(j) { 1.0 } else { 1e-6 };
        let graph = gallery::grid(20, 30).map_weights(tied);
        let n = graph.n_vertices();
        let symbolic = Symbolic::analyze(&graph, f64::INFINITY, f64::INFINITY).unwrap();
        let factor = Factor::<f32>::new(&symbolic, &graph);
        let energy = |x: &[f64]| graph.sum_edges(|i, j, w| w * (x[i] - x[j]) * (x[i] - x[j])).sqrt();
        for n_columns in [1, 3, 6, 40] {
            let mut random = Random::new(n_columns as u64);
            let [truth, other] = [(); 2].map(|()| -> Vec<f64> {
                (0..n_columns * n).map(|v| 1e3 * (tile(v % n).1 as f64).sin() + random.normal()).collect()
            });
            let force = |x: &[f64]| {
                let mut force = vec![0.0; x.len()];
                graph.laplacian().apply_block(x, &mut force);
                force
            };
            let (a, b) = (force(&truth), force(&other));
            let both: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
            let solved = |in_double: bool, b: &[f64]| {
                let mut x = vec![0.0; b.len()];
                if in_double {
                    factor.solve_in_double(b, &mut x);
                } else {
                    factor.solve(b, &mut x);
                }
                x
            };
            let bend = |in_double| {
                let (a, b, both) = (solved(in_double, &a), solved(in_double, &b), solved(in_double, &both));
                let rest: Vec<f64> = both.iter().zip(a.iter().zip(&b)).map(|(c, (a, b))| c - a - b).collect();
                rest.chunks_exact(n)
                    .zip(both.chunks_exact(n))
                    .map(|(r, x)| energy(r) / energy(x))
                    .fold(0.0, f64::max)
            };
            assert!(bend(true) <= 1e-9, "{n_columns} columns: {}", bend(true));
            assert!(bend(false) > 1e-6, "{n_columns} columns: {}", bend(false));
            let found = solved(true, &a);
            for (x, truth) in found.chunks_exact(n).zip(truth.chunks_exact(n)) {
                let error: Vec<f64> = x.iter().zip(truth).map(|(a, b)| a - b).collect();
                assert!(energy(&error) <= 1e-2 * energy(truth), "{n_columns} columns: {}", energy(&error));
            }
        }
    }

    #[test]
    fn weights_over_twenty_four_decades_do_not_spoil_the_solve() {
        check::<f64>(&gallery::wide(300, 0.02, 12.0, 3), 1e-10);
    }
}
