//! The complement of the trivial vector: products with B of Lemma 4.1, B never formed.
//!
//! With q = Π^½1/‖Π^½1‖ = (q₁, q̂) the paper takes Mᵀ = [q̂ | −q₁I] and B = M(MᵀM)^-½, for which (Appendix)
//!
//! Bᵀ = [q̂ | −I + q̂q̂ᵀ/(1 + q₁)].
//!
//! B maps ℝⁿ⁻¹ onto the complement of q and keeps lengths: BᵀB = I and BBᵀ = I − qqᵀ. The eigensolvers here work
//! in ℝⁿ and project instead: both cost O(n) beside a product with L, but the projection keeps warm starts, the
//! factorisation and the eigenvectors in one set of coordinates. The tests hold both ways to the same answers.

use crate::linalg::{LinearOperator, dot, norm};

/// Products with B and Bᵀ.
#[derive(Debug, Clone)]
pub struct Complement {
    q: Vec<f64>,
}

impl Complement {
    /// B for the balance weights π (positive, not empty).
    pub fn new(pi: &[f64]) -> Self {
        let mut q: Vec<f64> = pi.iter().map(|p| p.sqrt()).collect();
        let length = norm(&q);
        q.iter_mut().for_each(|v| *v /= length);
        Self { q }
    }

    /// p = B x, from n − 1 to n numbers: step 1 of the Appendix (where the paper prints `t` for `x`).
    pub fn lift(&self, x: &[f64]) -> Vec<f64> {
        let (q1, rest) = (self.q[0], &self.q[1..]);
        let along = dot(rest, x);
        let mut p = Vec::with_capacity(self.q.len());
        p.push(along);
        p.extend(x.iter().zip(rest).map(|(x, q)| -x + along / (1.0 + q1) * q));
        p
    }

    /// s = Bᵀ r, from n to n − 1 numbers: step 3 of the Appendix.
    pub fn project(&self, r: &[f64]) -> Vec<f64> {
        let (q1, rest) = (self.q[0], &self.q[1..]);
        let factor = (r[0] + dot(r, &self.q)) / (1.0 + q1);
        r[1..].iter().zip(rest).map(|(r, q)| factor * q - r).collect()
    }
}

/// Bᵀ A B for an operator A: the matrix of (17), without the trivial eigenvalue.
#[derive(Debug, Clone)]
pub struct Compressed<'a, A> {
    inner: &'a A,
    complement: &'a Complement,
}

impl<'a, A: LinearOperator> Compressed<'a, A> {
    /// Bᵀ A B.
    pub fn new(inner: &'a A, complement: &'a Complement) -> Self {
        Self { inner, complement }
    }
}

impl<A: LinearOperator> LinearOperator for Compressed<'_, A> {
    fn dim(&self) -> usize {
        self.inner.dim() - 1
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        let p = self.complement.lift(x);
        let mut r = vec![0.0; p.len()];
        self.inner.apply(&p, &mut r);
        y.copy_from_slice(&self.complement.project(&r));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::gallery;

    /// M(MᵀM)^-½ by its definition, with the inverse square root from an eigendecomposition.
    fn explicit(pi: &[f64]) -> Vec<Vec<f64>> {
        let n = pi.len();
        let total: f64 = pi.iter().sum();
        let q: Vec<f64> = pi.iter().map(|p| (p / total).sqrt()).collect();
        let m: Vec<Vec<f64>> = (0..n)
            .map(|i| {
                (1..n)
                    .map(|j| {
                        if i == 0 {
                            q[j]
                        } else if i == j {
                            -q[0]
                        } else {
                            0.0
                        }
                    })
                    .collect()
            })
            .collect();
        let k = n - 1;
        let gram: Vec<f64> = (0..k * k).map(|e| (0..n).map(|i| m[i][e / k] * m[i][e % k]).sum()).collect();
        let (values, vectors) = crate::linalg::dense::symmetric_eigen(&gram, k);
        let root = |a: usize, b: usize| -> f64 {
            (0..k).map(|e| vectors[e * k + a] * vectors[e * k + b] / values[e].sqrt()).sum()
        };
        (0..n).map(|i| (0..k).map(|b| (0..k).map(|a| m[i][a] * root(a, b)).sum()).collect()).collect()
    }

    #[test]
    fn products_with_b_match_the_explicit_matrix() {
        let pi = [0.5, 2.0, 1.0, 3.0, 0.25, 1.5];
        let b = explicit(&pi);
        let complement = Complement::new(&pi);
        let x = [0.3, -1.0, 2.0, 0.7, -0.2];
        let r = [1.0, -0.5, 0.25, 2.0, -1.5, 0.1];
        for (i, lifted) in complement.lift(&x).iter().enumerate() {
            let expected: f64 = (0..5).map(|j| b[i][j] * x[j]).sum();
            assert!((lifted - expected).abs() < 1e-13);
        }
        for (j, projected) in complement.project(&r).iter().enumerate() {
            let expected: f64 = (0..6).map(|i| b[i][j] * r[i]).sum();
            assert!((projected - expected).abs() < 1e-13);
        }
    }

    #[test]
    fn the_compressed_operator_has_the_nontrivial_eigenvalues_and_no_other() {
        let graph = gallery::planted(&[6, 5], 0.8, 0.2, 4);
        let n = graph.n_vertices();
        let pi = graph.degrees().to_vec();
        let scale: Vec<f64> = pi.iter().map(|p| 1.0 / p.sqrt()).collect();
        let operator = graph.laplacian().scaled(&scale);
        let complement = Complement::new(&pi);
        let compressed = Compressed::new(&operator, &complement);
        let mut matrix = vec![0.0; (n - 1) * (n - 1)];
        for (j, column) in matrix.chunks_exact_mut(n - 1).enumerate() {
            let mut e = vec![0.0; n - 1];
            e[j] = 1.0;
            compressed.apply(&e, column);
        }
        let (compressed_values, _) = crate::linalg::dense::symmetric_eigen(&matrix, n - 1);
        let (values, _) = crate::linalg::dense::laplacian_eigen(&graph, &scale);
        for (a, b) in compressed_values.iter().zip(&values) {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
    }
}
