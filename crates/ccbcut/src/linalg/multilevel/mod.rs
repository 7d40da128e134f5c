//! An approximate inverse of a large Laplacian.
//!
//! Vertices that move together are gathered into aggregates, whose graph is again a graph, and so on until a factorisation
//! is cheap. A cycle smooths the error by a Chebyshev polynomial in D⁻¹L on each level, and corrects what is smooth on
//! the next one. All of it runs in single precision: it only steers an eigensolver that works with the true operator in
//! double precision.

mod aggregate;

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
    symbolic: Option<Symbolic>,
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
        let mut fine = Level::new(std::borrow::Cow::Borrowed(graph));
        let mut coarser: Vec<Level<'static>> = Vec::new();
        loop {
            let (level, next) = match coarser.last_mut() {
                None => {
                    let next = fine.next()?;
                    (&mut fine.of, next)
                }
                Some(last) if last.graph.n_vertices() <= COARSEST => break,
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
        Some(Self { fine, coarser, symbolic: Some(symbolic) })
    }

    /// The graph of the last level.
    pub fn coarsest(&self) -> &Graph {
        &self.coarser.last().unwrap_or(&self.fine).graph
    }

    /// Sums over the aggregates of the last level, of one value per vertex of the finest.
    pub fn sum_up(&self, fine: &[f64]) -> Vec<f64> {
        let mut sums = fine.to_vec();
        for (level, next) in self.steps() {
            let mut coarse = vec![0.0; next];
            level.of.iter().zip(&sums).for_each(|(&a, v)| coarse[a as usize] += v);
            sums = coarse;
        }
        sums
    }

    /// One value per vertex of the finest level from one per vertex of the last.
    pub fn spread(&self, coarse: &[f64]) -> Vec<f64> {
        let mut values = coarse.to_vec();
        for (level, _) in self.steps().collect::<Vec<_>>().into_iter().rev() {
            values = level.of.iter().map(|&a| values[a as usize]).collect();
        }
        values
    }

    /// Every level but the last, with the size of the one below it.
    fn steps(&self) -> impl Iterator<Item = (&Level<'_>, usize)> {
        let upper = std::iter::once(&self.fine as &Level<'_>).chain(self.coarser.iter());
        upper.zip(self.coarser.iter().map(|level| level.graph.n_vertices()))
    }

    /// How many vertices each level has, the finest first.
    pub fn sizes(&self) -> Vec<usize> {
        let fine = std::iter::once(self.fine.graph.n_vertices());
        fine.chain(self.coarser.iter().map(|level| level.graph.n_vertices())).collect()
    }

    /// Factors the last level and hands the cycle to `f`: `cycle(b, x)` writes an approximation of L⁺B into X, for
    /// columns of B that sum to zero.
    pub fn with_cycle<R>(&self, f: impl FnOnce(&dyn Fn(&[f64], &mut [f64])) -> R) -> R {
        let factor = self.symbolic.as_ref().zip(self.coarser.last());
        let factor = factor.map(|(symbolic, last)| Factor::<f32>::new(symbolic, &last.graph));
        f(&|b, x| self.cycle(factor.as_ref(), b, x))
    }

    fn cycle(&self, factor: Option<&Factor<'_, f32>>, b: &[f64], x: &mut [f64]) {
        let n = self.fine.graph.n_vertices();
        // Columns are scaled so that they survive the rounding.
        let sizes: Vec<f64> = b
            .chunks_exact(n)
            .map(|column| column.iter().fold(0.0_f64, |a, v| a.max(v.abs())))
            .map(|size| if size > 0.0 && size.is_finite() { size } else { 1.0 })
            .collect();
        let mut rounded = vec![0.0_f32; b.len()];
        for ((column, out), size) in b.chunks_exact(n).zip(rounded.chunks_exact_mut(n)).zip(&sizes) {
            out.iter_mut().zip(column).for_each(|(out, v)| *out = (v / size) as f32);
        }
        let solved = self.correct(0, factor, &rounded);
        for ((column, out), size) in solved.chunks_exact(n).zip(x.chunks_exact_mut(n)).zip(&sizes) {
            out.iter_mut().zip(column).for_each(|(out, v)| *out = f64::from(*v) * size);
        }
    }

    /// One cycle on a level and those below it.
    fn correct(&self, depth: usize, factor: Option<&Factor<'_, f32>>, b: &[f32]) -> Vec<f32> {
        let level: &Level<'_> = if depth == 0 { &self.fine } else { &self.coarser[depth - 1] };
        if depth == self.coarser.len() {
            let b: Vec<f64> = b.iter().map(|&v| f64::from(v)).collect();
            let mut x = vec![0.0; b.len()];
            if let Some(factor) = factor {
                factor.solve(&b, &mut x);
            }
            return x.into_iter().map(|v| v as f32).collect();
        }
        let mut x = vec![0.0; b.len()];
        let mut residual = b.to_vec();
        // Below the finest level, where work is cheap, twice.
        let rounds = 1 + usize::from(depth > 0);
        for round in 1..=rounds {
            level.smooth(&mut x, &mut residual, DEGREE, true);
            let coarse = level.restrict(&residual, self.coarser[depth].graph.n_vertices());
            let correction = self.correct(depth + 1, factor, &coarse);
            level.add_prolonged(&correction, self.coarser[depth].graph.n_vertices(), &mut x);
            level.residual(b, &x, &mut residual);
            level.smooth(&mut x, &mut residual, DEGREE, round < rounds);
        }
        x
    }
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
        let mut residual = vec![0.0; x.len()];
        self.residual(&vec![0.0; x.len()], &x, &mut residual);
        for round in 1..=TEST_ROUNDS {
            self.smooth(&mut x, &mut residual, TEST_DEGREE, round < TEST_ROUNDS);
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

    /// r = b − L x.
    fn residual(&self, b: &[f32], x: &[f32], r: &mut [f32]) {
        self.graph.laplacian().apply_single(x, r);
        parallel::for_each_chunk(r, CHUNK, |block, part| {
            let b = &b[block * CHUNK..][..part.len()];
            part.iter_mut().zip(b).for_each(|(r, b)| *r = b - *r);
        });
    }

    /// Chebyshev steps on L x = b; `residual` holds b − L x, and is brought up to date at the end if it is asked for.
    fn smooth(&self, x: &mut [f32], residual: &mut [f32], n_steps: usize, update: bool) {
        let n = self.graph.n_vertices();
        let (centre, half) = (0.5 * (LARGEST + SMOOTHED), 0.5 * (LARGEST - SMOOTHED));
        let sigma = centre / half;
        let mut rho = 1.0 / sigma;
        let mut step = vec![0.0_f32; x.len()];
        let mut image = vec![0.0_f32; x.len()];
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
            for ((step, r), x) in
                step.chunks_exact_mut(n).zip(residual.chunks_exact(n)).zip(x.chunks_exact_mut(n))
            {
                for ((s, (r, d)), x) in step.iter_mut().zip(r.iter().zip(&self.inverse_degrees)).zip(x) {
                    *s = keep * *s + add * d * r;
                    *x += *s;
                }
            }
            if degree + 1 == n_steps && !update {
                return;
            }
            self.graph.laplacian().apply_single(&step, &mut image);
            residual.iter_mut().zip(&image).for_each(|(r, v)| *r -= v);
        }
    }

    /// Sums over the aggregates.
    fn restrict(&self, r: &[f32], n_coarse: usize) -> Vec<f32> {
        let n = self.graph.n_vertices();
        let mut sums = vec![0.0_f64; n_coarse * (r.len() / n)];
        for (r, sums) in r.chunks_exact(n).zip(sums.chunks_exact_mut(n_coarse)) {
            r.iter().zip(&self.of).for_each(|(&r, &a)| sums[a as usize] += f64::from(r));
        }
        sums.into_iter().map(|v| v as f32).collect()
    }

    /// Adds to every vertex the value of its aggregate.
    fn add_prolonged(&self, coarse: &[f32], n_coarse: usize, x: &mut [f32]) {
        let n = self.graph.n_vertices();
        for (x, coarse) in x.chunks_exact_mut(n).zip(coarse.chunks_exact(n_coarse)) {
            x.iter_mut().zip(&self.of).for_each(|(x, &a)| *x += coarse[a as usize]);
        }
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
            level.residual(&vec![0.0; x.len()], &x, &mut residual);
            level.smooth(&mut x, &mut residual, n_steps, false);
            assert!((x[0] - x[1]).abs() < 1.0, "{} {}", x[0], x[1]);
        }
    }

    #[test]
    fn the_cycle_is_positive_and_nearly_the_inverse() {
        let graph = plain_with_pairs(170, 180);
        let n = graph.n_vertices();
        let levels = Multilevel::new(&graph).unwrap();
        let mut random = Random::new(2);
        let mut pair = vec![0.0; n];
        (pair[0], pair[1]) = (1.0, -1.0);
        let noise: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let ramp: Vec<f64> = (0..n).map(|v| (v % 180) as f64).collect();
        levels.with_cycle(|cycle| {
            for x in [pair, noise, ramp] {
                let mut image = vec![0.0; n];
                graph.laplacian().apply_block(&x, &mut image);
                let mut back = vec![0.0; n];
                cycle(&image, &mut back);
                // xᵀ L M L x against xᵀ L x: 1 for an exact inverse.
                let share = dot(&image, &back) / dot(&image, &x);
                assert!((0.5..1.01).contains(&share), "{share}");
            }
        });
    }
}
