//! argmin ‖MY‖_τ^τ + (r/2)‖Π^½ Y − F‖² by split Bregman steps, column by column.
//!
//! With q in the place of MY and b for what they have differed by so far, a step solves
//! (λ MᵀM + r Π) y = r Π^½ f + λ Mᵀ(q − b), whose matrix is the Laplacian of a graph with weights λ w^(2/τ) with every
//! vertex tied to the ground, and shrinks every t = My + b by itself. Of q and b only b is kept: q = t − b.
//!
//! Goldstein & Osher, SIAM J. Imaging Sci. 2, 2009, <https://doi.org/10.1137/080725891>.

use super::limits::MAX_ENTRIES;
use crate::{
    error::{Error, Result},
    graph::Graph,
    linalg::cholesky::{Factor, Symbolic},
    parallel,
};

/// Columns that go through the factor together.
const GROUP: usize = 8;

/// A factorisation of more operations is not attempted.
const MAX_FLOPS: f64 = 8e12;

/// M, and the structure of MᵀM.
#[derive(Debug)]
pub(super) struct Bregman {
    n: usize,
    /// i, j, w^(1/τ).
    edges: Vec<(u32, u32, f64)>,
    pieces: Vec<Piece>,
    tau: f64,
    lambda: f64,
    tol: f64,
}

/// One connected component, with weights λ w^(2/τ).
#[derive(Debug)]
struct Piece {
    vertices: Vec<u32>,
    graph: Graph,
    symbolic: Symbolic,
}

/// What an inner solve found.
pub(super) struct Inner {
    /// Π^½ Y, column after column.
    pub(super) x: Vec<f64>,
    /// ‖MY‖_τ^τ.
    pub(super) objective: f64,
}

impl Bregman {
    pub(super) fn new(graph: &Graph, tau: f64, lambda: f64, tol: f64) -> Result<Self> {
        let edges = graph.map_edges(|i, j, w| (i as u32, j as u32, w.powf(1.0 / tau)));
        let components = graph.components();
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); components.n_segments()];
        components.as_slice().iter().enumerate().for_each(|(v, &c)| members[c as usize].push(v as u32));
        let pieces = members.into_iter().map(|vertices| {
            let graph = graph.induced(&vertices).map_weights(|_, _, w| lambda * w.powf(2.0 / tau));
            let limit = MAX_ENTRIES as usize;
            let too_large = Error::TooLarge { what: "a factor", requested: vertices.len().pow(2), limit };
            let symbolic = Symbolic::analyze(&graph, MAX_FLOPS, MAX_ENTRIES).ok_or(too_large)?;
            Ok(Piece { vertices, graph, symbolic })
        });
        Ok(Self { n: graph.n_vertices(), edges, pieces: pieces.collect::<Result<_>>()?, tau, lambda, tol })
    }

    /// The matrix for an r, factored.
    pub(super) fn factored(&self, pi: &[f64], r: f64) -> Shifted<'_> {
        let mut factors = Vec::with_capacity(self.pieces.len());
        for piece in &self.pieces {
            let ground: Vec<f64> = piece.vertices.iter().map(|&v| r * pi[v as usize]).collect();
            factors.push(Factor::grounded(&piece.symbolic, &piece.graph, &ground));
        }
        Shifted { bregman: self, factors, r }
    }

    /// ‖MY‖_τ^τ for columns in the coordinates x = Π^½ y.
    pub(super) fn objective(&self, x: &[f64], roots: &[f64]) -> f64 {
        let n = self.n;
        let y: Vec<f64> = x.iter().enumerate().map(|(e, x)| x / roots[e % n]).collect();
        let term = |y: &[f64], &(i, j, c): &(u32, u32, f64)| {
            (c * (y[i as usize] - y[j as usize])).abs().powf(self.tau)
        };
        y.chunks_exact(n).map(|y| self.edges.iter().map(|edge| term(y, edge)).sum::<f64>()).sum()
    }

    /// b and Mᵀ(q − b) of one column, ‖My‖_τ^τ.
    fn shrink(&self, y: &[f64], b: &mut [f64], pull: &mut [f64]) -> f64 {
        pull.fill(0.0);
        let mut objective = 0.0;
        let limit = 1.0 / self.lambda;
        for (&(i, j, c), b) in self.edges.iter().zip(b) {
            let d = c * (y[i as usize] - y[j as usize]);
            let t = d + *b;
            if self.tau == 1.0 {
                *b = t.clamp(-limit, limit);
                objective += d.abs();
            } else {
                *b = t - shrunk(t, self.tau, self.lambda);
                objective += d.abs().powf(self.tau);
            }
            let flow = c * (t - 2.0 * *b);
            pull[i as usize] += flow;
            pull[j as usize] -= flow;
        }
        objective
    }
}

/// (λ MᵀM + r Π)⁻¹.
#[derive(Debug)]
pub(super) struct Shifted<'a> {
    bregman: &'a Bregman,
    factors: Vec<Factor<'a, f64>>,
    r: f64,
}

impl Shifted<'_> {
    /// Steps from q = b = 0 until the value settles; `f` = P − B holds columns in the coordinates x = Π^½ y.
    pub(super) fn solve(
        &self,
        f: &[f64],
        roots: &[f64],
        steps: usize,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Inner {
        let mut all = Inner { x: Vec::with_capacity(f.len()), objective: 0.0 };
        for group in f.chunks(GROUP * self.bregman.n) {
            let part = self.solve_group(group, roots, steps, stop);
            all.x.extend(part.x);
            all.objective += part.objective;
        }
        all
    }

    fn solve_group(&self, f: &[f64], roots: &[f64], steps: usize, stop: &(dyn Fn() -> bool + Sync)) -> Inner {
        let (n, m) = (self.bregman.n, f.len() / self.bregman.n);
        let mut b = vec![0.0; m * self.bregman.edges.len()];
        let mut pull = vec![0.0; m * n];
        let mut x = f.to_vec();
        let (mut before, mut objective) = (f64::INFINITY, 0.0);
        for _ in 0..steps {
            let rhs: Vec<f64> =
                (0..m * n).map(|e| self.r * roots[e % n] * f[e] + self.bregman.lambda * pull[e]).collect();
            let y = self.inverse(&rhs);
            let edges = self.bregman.edges.len().max(1);
            let slots = b.chunks_mut(edges).zip(pull.chunks_mut(n)).collect::<Vec<_>>();
            let columns = if self.bregman.edges.is_empty() { Vec::new() } else { slots };
            objective = shrink_all(self.bregman, &y, columns);
            x = y.iter().enumerate().map(|(e, y)| roots[e % n] * y).collect();
            let apart: f64 = x.iter().zip(f).map(|(x, f)| (x - f) * (x - f)).sum();
            let value = objective + 0.5 * self.r * apart;
            let is_settled =
                before.is_finite() && (before - value).abs() <= self.bregman.tol * (before + value);
            if is_settled || stop() {
                break;
            }
            before = value;
        }
        Inner { x, objective }
    }

    fn inverse(&self, rhs: &[f64]) -> Vec<f64> {
        let n = self.bregman.n;
        let mut out = vec![0.0; rhs.len()];
        for (piece, factor) in self.bregman.pieces.iter().zip(&self.factors) {
            let size = piece.vertices.len();
            if size == n {
                factor.solve(rhs, &mut out);
                return out;
            }
            let gather =
                |column: &[f64]| piece.vertices.iter().map(|&v| column[v as usize]).collect::<Vec<_>>();
            let local: Vec<f64> = rhs.chunks_exact(n).flat_map(gather).collect();
            let mut solved = vec![0.0; local.len()];
            factor.solve(&local, &mut solved);
            for (column, values) in out.chunks_exact_mut(n).zip(solved.chunks_exact(size)) {
                piece.vertices.iter().zip(values).for_each(|(&v, &value)| column[v as usize] = value);
            }
        }
        out
    }
}

fn shrink_all(bregman: &Bregman, y: &[f64], columns: Vec<(&mut [f64], &mut [f64])>) -> f64 {
    let n = bregman.n;
    let mut objectives = vec![0.0; columns.len()];
    let tasks: Vec<_> = columns.into_iter().zip(&mut objectives).collect();
    parallel::for_each_part(tasks, |c, ((b, pull), objective)| {
        *objective = bregman.shrink(&y[c * n..(c + 1) * n], b, pull);
    });
    objectives.iter().sum()
}

/// argmin |q|^τ + (λ/2)(q − t)² for 1 < τ ≤ 2: the root of τ q^(τ−1) + λ(q − t) between 0 and |t|, with the sign of t.
fn shrunk(t: f64, tau: f64, lambda: f64) -> f64 {
    let size = t.abs();
    if size == 0.0 {
        return 0.0;
    }
    // In s = q^(τ−1) the function is convex and rises, so that Newton's steps from above come down to the root.
    let power = 1.0 / (tau - 1.0);
    let mut s = size.powf(tau - 1.0).min(lambda * size / tau);
    for _ in 0..50 {
        let q = s.powf(power);
        let value = tau * s + lambda * (q - size);
        let slope = tau + lambda * power * q / s;
        let next = s - value / slope;
        if next <= 0.0 || next.is_nan() || (s - next).abs() <= 1e-14 * s {
            break;
        }
        s = next;
    }
    s.powf(power).min(size).copysign(t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{graph::gallery, linalg::LinearOperator, random::Random};

    #[test]
    fn shrinkage_minimises_its_function() {
        for tau in [1.01, 1.2, 1.5, 1.8, 2.0] {
            for lambda in [0.1, 3.0, 1e4] {
                for t in [-2.0, -1e-3, 0.0, 1e-8, 0.7, 50.0] {
                    let value = |q: f64| q.abs().powf(tau) + 0.5 * lambda * (q - t) * (q - t);
                    let q = shrunk(t, tau, lambda);
                    for other in [q * 0.999, q * 1.001, q + 1e-7, q - 1e-7, 0.0, t] {
                        let slack = 1e-12 * value(other);
                        assert!(value(q) <= value(other) + slack, "{tau} {lambda} {t}: {q} {other}");
                    }
                }
            }
        }
        assert!((shrunk(3.0, 2.0, 4.0) - 2.0).abs() < 1e-14);
    }

    #[test]
    fn many_steps_reach_the_minimum() {
        let graph = gallery::planted(&[8, 9], 0.7, 0.2, 1);
        let mut random = Random::new(5);
        let f: Vec<f64> = (0..34).map(|_| random.normal()).collect();
        let pi: Vec<f64> = (0..17).map(|_| 0.5 + random.uniform()).collect();
        let roots: Vec<f64> = pi.iter().map(|p| p.sqrt()).collect();
        for tau in [1.0, 1.5] {
            let r = 4.0;
            let value = |x: &[f64]| {
                let y: Vec<f64> = x.iter().enumerate().map(|(e, x)| x / roots[e % 17]).collect();
                let flat: f64 = (0..2)
                    .map(|c| graph.sum_edges(|i, j, w| w * (y[17 * c + i] - y[17 * c + j]).abs().powf(tau)))
                    .sum();
                flat + 0.5 * r * x.iter().zip(&f).map(|(x, f)| (x - f) * (x - f)).sum::<f64>()
            };
            let bregman = Bregman::new(&graph, tau, 2.0, 0.0).unwrap();
            let inner = bregman.factored(&pi, r).solve(&f, &roots, 3000, &|| false);
            let least = value(&inner.x);
            for _ in 0..200 {
                let other: Vec<f64> = inner.x.iter().map(|x| x + 1e-3 * random.normal()).collect();
                assert!(value(&other) > least - 1e-9, "tau {tau}");
            }
            assert!(least < value(&f) && least < value(&vec![0.0; 34]));
        }
    }

    #[test]
    fn the_inverse_is_that_of_the_assembled_matrix() {
        let graph = gallery::planted(&[8, 9], 0.7, 0.0, 1);
        let bregman = Bregman::new(&graph, 1.0, 3.0, 0.0).unwrap();
        let pi = vec![2.0; 17];
        let shifted = bregman.factored(&pi, 0.5);
        let rhs: Vec<f64> = (0..17).map(|i| f64::from(i) - 5.0).collect();
        let x = shifted.inverse(&rhs);
        let squared = graph.map_weights(|_, _, w| w * w);
        let mut product = vec![0.0; 17];
        squared.laplacian().apply(&x, &mut product);
        for i in 0..17 {
            assert!((3.0 * product[i] + x[i] - rhs[i]).abs() < 1e-11);
        }
    }
}
