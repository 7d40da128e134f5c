//! An approximate inverse of a large Laplacian.
//!
//! Vertices that move together are gathered into aggregates, whose graph is again a graph, and so on until a factorisation
//! is cheap. A cycle smooths the error by a Chebyshev polynomial in D⁻¹L on each level, and corrects what is smooth on
//! the next one. All of it runs in single precision: it only steers an eigensolver that works with the true operator in
//! double precision.

mod aggregate;

use std::sync::{Mutex, PoisonError};

use crate::{graph::Graph, parallel, random::Random};

use super::cholesky::{Factor, Symbolic};
use aggregate::TESTS;

/// Up to this many vertices a level is factored.
const COARSEST: usize = 24_000;

/// A level that is not smaller than this share of the one above is of no use.
const SHRINK: f64 = 0.7;

/// Degree of the smoothing polynomial.
const DEGREE: usize = 2;

/// The polynomial is small on eigenvalues of D⁻¹L from this on …
const SMOOTHED: f64 = 0.4;

/// … up to this, which none exceeds. Two vertices that are tied to each other alone reach it, and a random vector does not tell:
/// on such a pair a polynomial for a lower bound explodes, and the cycle is no longer positive definite.
const LARGEST: f64 = 2.0;

/// How often the test vectors are smoothed …
const TEST_ROUNDS: usize = 3;

/// … and by which degree.
const TEST_DEGREE: usize = 3;

/// Values of a vector per task of an elementwise loop.
const CHUNK: usize = 1 << 15;

/// A hierarchy of graphs of aggregates.
#[derive(Debug)]
pub struct Multilevel<'a> {
    fine: Level<'a>,
    coarser: Vec<Level<'static>>,
    symbolic: Symbolic,
}

/// One graph, and how it is smoothed.
#[derive(Debug)]
struct Level<'a> {
    graph: std::borrow::Cow<'a, Graph>,
    /// 1 / degree, without self-loops.
    inverse_degrees: Vec<f32>,
    /// The vertex of the next level that each vertex belongs to; empty on the last.
    of: Vec<u32>,
}

impl<'a> Multilevel<'a> {
    /// Builds the levels of a connected graph; `None` when it cannot be made small enough to be factored.
    ///
    /// # Complexity
    /// O(|E|), and the analysis of a factorisation of a few thousand vertices.
    pub fn new(graph: &'a Graph) -> Option<Self> {
        Self::down_to(graph, COARSEST)
    }

    /// The same until a level has at most so many vertices.
    fn down_to(graph: &'a Graph, coarsest: usize) -> Option<Self> {
        let mut fine = Level::new(std::borrow::Cow::Borrowed(graph));
        let mut coarser: Vec<Level<'static>> = Vec::new();
        loop {
            let (level, next) = match coarser.last_mut() {
                None => {
                    let next = fine.next()?;
                    (&mut fine.of, next)
                }
                Some(last) if last.graph.n_vertices() <= coarsest => break,
                Some(last) => {
                    let next = last.next()?;
                    (&mut last.of, next)
                }
            };
            let (of, next) = next;
            *level = of;
            coarser.push(Level::new(std::borrow::Cow::Owned(next)));
        }
        let symbolic = Symbolic::analyze(&coarser.last()?.graph, 1e12, 2e8)?;
        Some(Self { fine, coarser, symbolic })
    }

    /// Sums over the aggregates of the next level, of one value per vertex of the level at some depth.
    pub fn sum_up(&self, depth: usize, fine: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.graph(depth + 1).n_vertices()];
        self.level(depth).of.iter().zip(fine).for_each(|(&a, v)| sums[a as usize] += v);
        sums
    }

    /// One value per vertex of the level at some depth from one per vertex of the next.
    pub fn spread(&self, depth: usize, coarse: &[f64]) -> Vec<f64> {
        self.level(depth).of.iter().map(|&a| coarse[a as usize]).collect()
    }

    /// How many vertices each level has, the finest first.
    pub fn sizes(&self) -> Vec<usize> {
        let fine = std::iter::once(self.fine.graph.n_vertices());
        fine.chain(self.coarser.iter().map(|level| level.graph.n_vertices())).collect()
    }

    /// A graph of the hierarchy, the finest having depth 0.
    pub fn graph(&self, depth: usize) -> &Graph {
        &self.level(depth).graph
    }

    fn level(&self, depth: usize) -> &Level<'_> {
        depth.checked_sub(1).map_or(&self.fine, |below| &self.coarser[below])
    }

    /// Factors the last level.
    pub fn factored(&self) -> Factored<'_> {
        let factor = Factor::new(&self.symbolic, self.graph(self.coarser.len()));
        Factored { levels: self, factor, spare: Mutex::default() }
    }
}

/// A hierarchy that is ready for cycles.
pub struct Factored<'a> {
    levels: &'a Multilevel<'a>,
    factor: Factor<'a, f32>,
    /// Blocks that are done with: fresh pages take time.
    spare: Mutex<Vec<Vec<f32>>>,
}

impl Factored<'_> {
    /// Replaces B by an approximation of (S L S)⁺ B, where L belongs to a level and S is a diagonal; the columns of S⁻¹ B
    /// must sum to zero.
    ///
    /// # Complexity
    /// On the finest level four products with L per column, in single precision, on others nine, and a little more for what
    /// lies below.
    pub fn apply(&self, depth: usize, scale: &[f64], b: &mut [f64]) {
        let n = self.levels.level(depth).graph.n_vertices();
        // Columns are scaled so that they survive the rounding.
        let sizes: Vec<f64> = b
            .chunks_exact(n)
            .map(|column| column.iter().zip(scale).fold(0.0_f64, |a, (v, s)| a.max((v / s).abs())))
            .map(|size| if size > 0.0 && size.is_finite() { size } else { 1.0 })
            .collect();
        let mut residual = self.block(b.len());
        // The solution is summed up where the right-hand side was.
        for_each_pair(&mut residual, b, n, |at, residual, b| {
            let (scale, size) = (&scale[at % n..], sizes[at / n]);
            for ((residual, b), s) in residual.iter_mut().zip(b).zip(scale) {
                *residual = (*b / s / size) as f32;
                *b = 0.0;
            }
        });
        self.correct(depth, residual, b);
        parallel::for_each_chunk(b, n, |j, b| b.iter_mut().zip(scale).for_each(|(b, s)| *b *= sizes[j] / s));
    }

    /// A block of zeros.
    fn block(&self, len: usize) -> Vec<f32> {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        // The smallest that is large enough, or the largest.
        let fits = |block: &Vec<f32>| (block.capacity() < len, block.capacity().abs_diff(len));
        let best = (0..spare.len()).min_by_key(|&b| fits(&spare[b]));
        let mut block = best.map(|b| spare.swap_remove(b)).unwrap_or_default();
        drop(spare);
        block.clear();
        block.resize(len, 0.0);
        block
    }

    fn give_back<const B: usize>(&self, blocks: [Vec<f32>; B]) {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).extend(blocks);
    }

    /// Adds one cycle on a level and those below it to `x`, which is zero.
    fn correct<X: Accumulator>(&self, depth: usize, mut residual: Vec<f32>, x: &mut [X]) {
        let level = self.levels.level(depth);
        let n = level.graph.n_vertices();
        let Some(next) = self.levels.coarser.get(depth) else {
            let b: Vec<f64> = residual.iter().map(|&v| f64::from(v)).collect();
            let mut solved = vec![0.0; b.len()];
            self.factor.solve(&b, &mut solved);
            x.iter_mut().zip(solved).for_each(|(x, v)| x.add(v as f32));
            self.give_back([residual]);
            return;
        };
        let n_coarse = next.graph.n_vertices();
        let mut step = self.block(residual.len());
        // Below the finest level, where work is cheap, twice.
        let rounds = 1 + usize::from(depth > 0);
        for round in 1..=rounds {
            level.smooth(x, &mut residual, &mut step, DEGREE, true);
            let mut coarse = self.block(residual.len() / n * n_coarse);
            let mut correction = self.block(coarse.len());
            level.restrict(&residual, n_coarse, &mut coarse);
            self.correct(depth + 1, coarse, &mut correction);
            level.prolong(&correction, n_coarse, &mut step);
            self.give_back([correction]);
            for_each_pair(&mut step, x, n, |_, step, x| x.iter_mut().zip(step).for_each(|(x, s)| x.add(*s)));
            level.graph.laplacian().subtract_single(&step, &mut residual);
            level.smooth(x, &mut residual, &mut step, DEGREE, round < rounds);
        }
        self.give_back([residual, step]);
    }
}

/// What steps are added up in.
trait Accumulator: Send {
    fn add(&mut self, value: f32);
}

impl Accumulator for f32 {
    #[inline]
    fn add(&mut self, value: f32) {
        *self += value;
    }
}

impl Accumulator for f64 {
    #[inline]
    fn add(&mut self, value: f32) {
        *self += Self::from(value);
    }
}

/// Calls `f(at, pieces)` for pieces of columns of n values that lie at the same place of two blocks.
fn for_each_pair<A: Send, B: Send>(
    a: &mut [A],
    b: &mut [B],
    n: usize,
    f: impl Fn(usize, &mut [A], &mut [B]) + Sync + Send,
) {
    let others = b.chunks_mut(n).flat_map(|column| column.chunks_mut(CHUNK));
    let mut pieces = Vec::new();
    let mut at = 0;
    for (a, b) in a.chunks_mut(n).flat_map(|column| column.chunks_mut(CHUNK)).zip(others) {
        let first = at;
        at += a.len();
        pieces.push((first, a, b));
    }
    parallel::for_each_part(pieces, |_, (at, a, b)| f(at, a, b));
}

impl<'a> Level<'a> {
    fn new(graph: std::borrow::Cow<'a, Graph>) -> Self {
        let inverse_degrees = (0..graph.n_vertices())
            .map(|v| (1.0 / (graph.degrees()[v] - graph.self_loop(v)).max(f64::MIN_POSITIVE)) as f32)
            .map(|d| if d.is_finite() { d } else { 0.0 })
            .collect();
        Self { graph, inverse_degrees, of: Vec::new() }
    }

    /// The aggregates and their graph; `None` when there would be too many or only one.
    fn next(&self) -> Option<(Vec<u32>, Graph)> {
        let (of, n_coarse) = aggregate::aggregate(&self.graph, &self.test_vectors());
        if n_coarse < 2 || n_coarse as f64 > SHRINK * self.graph.n_vertices() as f64 {
            return None;
        }
        let coarse = aggregate::quotient(&self.graph, &of, n_coarse);
        Some((of, coarse))
    }

    /// Random vectors after smoothing, each with mean 0 and variance 1.
    fn test_vectors(&self) -> Vec<[f32; TESTS]> {
        let n = self.graph.n_vertices();
        let mut random = Random::new(n as u64);
        let mut x: Vec<f32> = (0..TESTS * n).map(|_| random.normal() as f32).collect();
        let (mut residual, mut step) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        self.graph.laplacian().subtract_single(&x, &mut residual);
        for round in 1..=TEST_ROUNDS {
            self.smooth(&mut x, &mut residual, &mut step, TEST_DEGREE, round < TEST_ROUNDS);
        }
        let mut tests = vec![[0.0; TESTS]; n];
        for (t, column) in x.chunks_exact(n.max(1)).enumerate() {
            let mean = parallel::sum(n, |r| r.map(|i| f64::from(column[i])).sum()) / n as f64;
            let square = parallel::sum(n, |r| r.map(|i| (f64::from(column[i]) - mean).powi(2)).sum());
            let size = (square / n as f64).sqrt().max(f64::MIN_POSITIVE);
            tests.iter_mut().zip(column).for_each(|(out, &v)| out[t] = ((f64::from(v) - mean) / size) as f32);
        }
        tests
    }

    /// Chebyshev steps on L x = b; `residual` holds b − L x, and is brought up to date at the end if it is asked for. What
    /// `step` holds does not matter.
    fn smooth<X: Accumulator>(
        &self,
        x: &mut [X],
        residual: &mut [f32],
        step: &mut [f32],
        n_steps: usize,
        update: bool,
    ) {
        let n = self.graph.n_vertices();
        let (centre, half) = (0.5 * (LARGEST + SMOOTHED), 0.5 * (LARGEST - SMOOTHED));
        let sigma = centre / half;
        let mut rho = 1.0 / sigma;
        for degree in 0..n_steps {
            let (keep, add) = if degree == 0 {
                (0.0, 1.0 / centre)
            } else {
                let next = 1.0 / (2.0 * sigma - rho);
                let factors = (next * rho, 2.0 * next / half);
                rho = next;
                factors
            };
            let (keep, add) = (keep as f32, add as f32);
            for_each_pair(step, x, n, |at, step, x| {
                let (residual, inverse) = (&residual[at..], &self.inverse_degrees[at % n..]);
                for ((s, x), (r, d)) in step.iter_mut().zip(x).zip(residual.iter().zip(inverse)) {
                    *s = if degree == 0 { add * d * r } else { keep * *s + add * d * r };
                    x.add(*s);
                }
            });
            if degree + 1 < n_steps || update {
                self.graph.laplacian().subtract_single(step, residual);
            }
        }
    }

    /// Sums over the aggregates.
    fn restrict(&self, r: &[f32], n_coarse: usize, coarse: &mut [f32]) {
        let n = self.graph.n_vertices();
        parallel::for_each_chunk(coarse, n_coarse, |j, coarse| {
            let mut sums = vec![0.0_f64; n_coarse];
            r[j * n..].iter().zip(&self.of).for_each(|(&r, &a)| sums[a as usize] += f64::from(r));
            coarse.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum as f32);
        });
    }

    /// Gives every vertex the value of its aggregate.
    fn prolong(&self, coarse: &[f32], n_coarse: usize, x: &mut [f32]) {
        let n = self.graph.n_vertices();
        parallel::for_each_chunk(x, n, |j, x| {
            let coarse = &coarse[j * n_coarse..][..n_coarse];
            x.iter_mut().zip(&self.of).for_each(|(x, &a)| *x = coarse[a as usize]);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        graph::half_disc,
        linalg::{LinearOperator, dot},
    };

    /// A plain of equal pixels with pairs in it that are tied to each other alone.
    fn plain_with_pairs(height: usize, width: usize) -> Graph {
        let is_in_pair = |v: usize| (v / width).is_multiple_of(7) && v % width % 9 < 2;
        let weight = |i: usize, j: usize| match (is_in_pair(i), is_in_pair(j)) {
            (false, false) => 1.0,
            (true, true) if i.abs_diff(j) == 1 => 1.0,
            _ => 1e-6,
        };
        Graph::from_stencil(height, width, half_disc(6.0), weight).unwrap()
    }

    #[test]
    fn smoothing_shrinks_what_pairs_that_are_tied_to_each_other_alone_do_against_each_other() {
        let graph = plain_with_pairs(40, 50);
        let level = Level::new(std::borrow::Cow::Borrowed(&graph));
        for n_steps in [DEGREE, TEST_DEGREE] {
            let mut x = vec![0.0; graph.n_vertices()];
            (x[0], x[1]) = (1.0, -1.0);
            let mut residual = vec![0.0; x.len()];
            graph.laplacian().subtract_single(&x, &mut residual);
            level.smooth(&mut x, &mut residual, &mut vec![0.0; graph.n_vertices()], n_steps, false);
            assert!((x[0] - x[1]).abs() < 1.0, "{} {}", x[0], x[1]);
        }
    }

    #[test]
    fn the_cycle_is_positive_and_nearly_the_inverse() {
        // A column is more than one piece of an elementwise loop.
        let graph = plain_with_pairs(190, 180);
        let n = graph.n_vertices();
        assert!(n > CHUNK);
        let levels = Multilevel::new(&graph).unwrap();
        let mut random = Random::new(2);
        let mut pair = vec![0.0; n];
        (pair[0], pair[1]) = (1.0, -1.0);
        let noise: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let ramp: Vec<f64> = (0..n).map(|v| (v % 180) as f64).collect();
        let factored = levels.factored();
        let all = [pair, noise, ramp].concat();
        let scale: Vec<f64> = (0..n).map(|v| 0.5 + (v % 7) as f64).collect();
        for scale in [vec![1.0; n], scale] {
            assert_is_nearly_inverse(&factored, 0, &scale, &all);
        }
    }

    /// Three levels at least: those in the middle go round twice.
    #[test]
    fn the_cycle_of_a_level_in_the_middle_is_nearly_the_inverse() {
        let graph = plain_with_pairs(60, 80);
        let levels = Multilevel::down_to(&graph, 100).unwrap();
        assert!(levels.sizes().len() > 3, "{:?}", levels.sizes());
        let factored = levels.factored();
        let mut random = Random::new(5);
        for (depth, &n) in levels.sizes().iter().enumerate() {
            let mut x: Vec<f64> = (0..2 * n).map(|_| random.normal()).collect();
            x.extend((0..n).map(|v| v as f64));
            assert_is_nearly_inverse(&factored, depth, &vec![1.0; n], &x);
        }
    }

    /// xᵀ A M A x against xᵀ A x: 1 for an exact inverse of A.
    fn assert_is_nearly_inverse(factored: &Factored<'_>, depth: usize, scale: &[f64], x: &[f64]) {
        let n = scale.len();
        let mut image = vec![0.0; x.len()];
        factored.levels.graph(depth).laplacian().scaled(scale).apply_block(x, &mut image);
        let mut back = image.clone();
        factored.apply(depth, scale, &mut back);
        for ((x, image), back) in x.chunks(n).zip(image.chunks(n)).zip(back.chunks(n)) {
            let share = dot(image, back) / dot(image, x);
            assert!((0.5..1.01).contains(&share), "depth {depth}: {share}");
        }
    }
}
