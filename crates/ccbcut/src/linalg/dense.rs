//! Small symmetric eigenproblems.
//!
//! [`symmetric_eigen`] serves the projected problems of the block solver. [`laplacian_eigen`] finds *every*
//! nontrivial eigenpair of Π^-½ L Π^-½ with high relative accuracy: the matrix is never formed; the
//! subtraction-free elimination, pivoted, gives a factor X with X Xᵀ = Π^-½ L Π^-½ whose entries are all accurate,
//! and one-sided Jacobi rotations make its columns orthogonal (Demmel and others 1999,
//! doi:10.1016/S0024-3795(99)00134-2). It is the end of the fallback chain, and cannot fail to converge.

use faer::{MatRef, Side};

use crate::{graph::Graph, simd};

use super::{dot_lanes, norm};

/// Up to this size the projected problem goes to Jacobi, which respects grading.
const JACOBI_LIMIT: usize = 24;

/// The same ratio from which on rotations of the matrix itself are more accurate than those of its factor: on a photograph whose
/// eigenvalues begin at 10⁻¹³ the block solver came to 10⁻⁶ with the former and to 10⁻⁴ with the latter.
const STEEP: f64 = 1e10;

/// Share of a diagonal entry below which what elimination has left of it is rounding.
const POSITIVE: f64 = 1e-11;

/// Ratio of the diagonal entries above which a projected problem counts as graded.
const GRADED: f64 = 1e6;

/// Eigenvalues, increasing, and eigenvectors (one after the other) of a symmetric matrix stored by columns.
///
/// Graded positive matrices, such as projections onto vectors of very different energy, go through Jacobi
/// rotations, which keep the relative accuracy of the small eigenvalues.
pub fn symmetric_eigen(matrix: &[f64], m: usize) -> (Vec<f64>, Vec<f64>) {
    let diagonal = (0..m).map(|i| matrix[i * m + i].abs());
    let (low, high) = diagonal.fold((f64::INFINITY, 0.0_f64), |(l, h), d| (l.min(d), h.max(d)));
    if m <= JACOBI_LIMIT {
        return jacobi(matrix, m);
    }
    if high < GRADED * low {
        return symmetric_eigen_absolute(matrix, m);
    }
    let factored = if high < STEEP * low { positive_eigen(matrix, m) } else { None };
    factored.unwrap_or_else(|| jacobi(matrix, m))
}

/// The same for a positive definite matrix with high relative accuracy: the columns of its pivoted Cholesky factor are
/// turned until they are orthogonal, which takes far fewer rotations than the matrix itself (Veselić and Hari 1989,
/// doi:10.1007/BF01396356). `None` where elimination loses the positive pivots.
fn positive_eigen(matrix: &[f64], m: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let mut x = pivoted_cholesky(matrix, m)?;
    orthogonalize_columns(&mut x, m);
    let lengths: Vec<f64> = x.chunks_exact(m).map(norm).collect();
    for (column, length) in x.chunks_exact_mut(m).zip(&lengths) {
        column.iter_mut().for_each(|v| *v /= length);
    }
    Some(sorted(&lengths.iter().map(|s| s * s).collect::<Vec<_>>(), &x, m))
}

/// X with X Xᵀ = A, the largest pivot first; `None` unless every pivot is well above the rounding of its diagonal entry.
fn pivoted_cholesky(matrix: &[f64], m: usize) -> Option<Vec<f64>> {
    let mut rest = matrix.to_vec();
    let mut left: Vec<usize> = (0..m).collect();
    let mut x = vec![0.0; m * m];
    for column in x.chunks_exact_mut(m) {
        let size = |place: usize| rest[left[place] * m + left[place]];
        let mut best = 0;
        for place in 1..left.len() {
            if size(place) > size(best) {
                best = place;
            }
        }
        let v = left.remove(best);
        let pivot = rest[v * m + v];
        if pivot.is_nan() || pivot <= POSITIVE * matrix[v * m + v] {
            return None;
        }
        let root = pivot.sqrt();
        column[v] = root;
        for &i in &left {
            column[i] = rest[v * m + i] / root;
        }
        for &j in &left {
            let factor = column[j];
            let target = &mut rest[j * m..(j + 1) * m];
            target.iter_mut().zip(column.iter()).for_each(|(entry, c)| *entry -= factor * c);
        }
    }
    Some(x)
}

/// The same with errors of up to rounding times the largest eigenvalue in all of them, which is faster.
pub fn symmetric_eigen_absolute(matrix: &[f64], m: usize) -> (Vec<f64>, Vec<f64>) {
    let dense = MatRef::from_column_major_slice(matrix, m, m);
    let Ok(eigen) = dense.self_adjoint_eigen(Side::Lower) else { return jacobi(matrix, m) };
    let u = eigen.U();
    let vectors = (0..m).flat_map(|j| (0..m).map(move |i| u[(i, j)])).collect();
    (eigen.S().column_vector().iter().copied().collect(), vectors)
}

/// Cyclic two-sided Jacobi.
fn jacobi(matrix: &[f64], m: usize) -> (Vec<f64>, Vec<f64>) {
    let mut a = matrix.to_vec();
    let mut v = vec![0.0; m * m];
    (0..m).for_each(|i| v[i * m + i] = 1.0);
    for _ in 0..60 {
        let mut rotated = false;
        for p in 0..m {
            for q in p + 1..m {
                let (app, aqq, apq) = (a[p * m + p], a[q * m + q], a[q * m + p]);
                if apq == 0.0 || apq.abs() <= f64::EPSILON * (app.abs() * aqq.abs()).sqrt() {
                    continue;
                }
                rotated = true;
                let (c, s, t) = rotation(app, aqq, apq);
                for i in 0..m {
                    let (x, y) = (a[p * m + i], a[q * m + i]);
                    a[p * m + i] = c * x - s * y;
                    a[q * m + i] = s * x + c * y;
                    let (x, y) = (v[p * m + i], v[q * m + i]);
                    v[p * m + i] = c * x - s * y;
                    v[q * m + i] = s * x + c * y;
                }
                // The same rotation from the other side; the 2 × 2 block is known in closed form.
                for i in 0..m {
                    let (x, y) = (a[p * m + i], a[q * m + i]);
                    a[i * m + p] = x;
                    a[i * m + q] = y;
                }
                a[p * m + p] = app - t * apq;
                a[q * m + q] = aqq + t * apq;
                a[p * m + q] = 0.0;
                a[q * m + p] = 0.0;
            }
        }
        if !rotated {
            break;
        }
    }
    sorted(&(0..m).map(|i| a[i * m + i]).collect::<Vec<_>>(), &v, m)
}

/// Cosine, sine and tangent of the rotation that removes the off-diagonal entry.
#[inline(always)]
fn rotation(app: f64, aqq: f64, apq: f64) -> (f64, f64, f64) {
    // Beyond this the square of θ hides the 1, long before it overflows.
    const STEEP: f64 = 1e9;
    let theta = (aqq - app) / (2.0 * apq);
    let t = if theta.abs() < STEEP {
        theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt())
    } else if theta.is_finite() {
        0.5 / theta
    } else {
        0.0
    };
    let c = 1.0 / (t * t + 1.0).sqrt();
    (c, t * c, t)
}

fn sorted(values: &[f64], vectors: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let out = order.iter().flat_map(|&j| vectors[j * n..(j + 1) * n].iter().copied()).collect();
    (order.iter().map(|&j| values[j]).collect(), out)
}

/// All n − 1 nontrivial eigenpairs of Π^-½ L Π^-½ for a connected graph, to high relative accuracy.
///
/// # Complexity
/// O(n³) time for each of about ten rounds of rotations; n² numbers of space, twice.
pub fn laplacian_eigen(graph: &Graph, scale: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let n = graph.n_vertices();
    let mut x = pivoted_factor(graph, scale);
    orthogonalize_columns(&mut x, n);
    let norms: Vec<f64> = x.chunks_exact(n).map(norm).collect();
    for (column, &length) in x.chunks_exact_mut(n).zip(&norms) {
        if length > 0.0 {
            column.iter_mut().for_each(|v| *v /= length);
        }
    }
    let values: Vec<f64> = norms.iter().map(|s| s * s).collect();
    sorted(&values, &x, n)
}

/// All n − 1 nontrivial eigenpairs by a standard dense solver: absolute accuracy only, but faster.
pub fn laplacian_eigen_absolute(graph: &Graph, scale: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
    let n = graph.n_vertices();
    let mut a = vec![0.0; n * n];
    graph.for_each_edge(|i, j, w| {
        a[i * n + j] -= w * scale[i] * scale[j];
        a[j * n + i] = a[i * n + j];
        a[i * n + i] += w * scale[i] * scale[i];
        a[j * n + j] += w * scale[j] * scale[j];
    });
    // Lift the trivial eigenvector q ∝ Π^½ 1 above everything else.
    let top = 4.0 * (0..n).map(|i| a[i * n + i]).fold(0.0, f64::max);
    let length = scale.iter().map(|s| 1.0 / (s * s)).sum::<f64>();
    for i in 0..n {
        for j in 0..n {
            a[j * n + i] += top / (scale[i] * scale[j] * length);
        }
    }
    let eigen = MatRef::from_column_major_slice(&a, n, n).self_adjoint_eigen(Side::Lower).ok()?;
    let values = eigen.S().column_vector().iter().take(n - 1).copied().collect();
    let u = eigen.U();
    let vectors = (0..n - 1).flat_map(|j| (0..n).map(move |i| u[(i, j)])).collect();
    Some((values, vectors))
}

/// X (n × (n − 1)) with X Xᵀ = Π^-½ L Π^-½, by elimination with the largest scaled pivot first.
fn pivoted_factor(graph: &Graph, scale: &[f64]) -> Vec<f64> {
    let n = graph.n_vertices();
    let mut w = vec![0.0; n * n];
    graph.for_each_edge(|i, j, weight| {
        w[i * n + j] = weight;
        w[j * n + i] = weight;
    });
    let mut left: Vec<usize> = (0..n).collect();
    let mut x = vec![0.0; n * n.saturating_sub(1)];
    for column in x.chunks_exact_mut(n.max(1)) {
        let degree = |v: usize| left.iter().filter(|&&u| u != v).map(|&u| w[v * n + u]).sum::<f64>();
        let scaled: Vec<f64> = left.iter().map(|&v| degree(v) * scale[v] * scale[v]).collect();
        let mut best = 0;
        for (k, &value) in scaled.iter().enumerate() {
            if value > scaled[best] {
                best = k;
            }
        }
        let pivot = degree(left[best]);
        let v = left.remove(best);
        if pivot <= 0.0 {
            break;
        }
        column[v] = pivot.sqrt() * scale[v];
        for &i in &left {
            column[i] = -(w[i * n + v] / pivot.sqrt()) * scale[i];
        }
        for (k, &i) in left.iter().enumerate() {
            let multiplier = w[i * n + v] / pivot;
            for &j in &left[..k] {
                let fill = multiplier * w[j * n + v];
                w[i * n + j] += fill;
                w[j * n + i] += fill;
            }
        }
    }
    x
}

/// Rotates columns until all are orthogonal to working precision (Hestenes 1958).
fn orthogonalize_columns(x: &mut [f64], n: usize) {
    for _ in 0..60 {
        let is_rotated = simd::widest(Round { x: &mut *x, n });
        if !is_rotated {
            break;
        }
    }
}

/// One rotation for each pair of columns of length `n`; whether any was needed.
struct Round<'a> {
    x: &'a mut [f64],
    n: usize,
}

impl pulp::NullaryFnOnce for Round<'_> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        /// Share of a squared length below which a rotation has cancelled too much of it to be kept by differences.
        const LEFT: f64 = 0.1;
        let Self { x, n } = self;
        let tolerance = f64::EPSILON * (n as f64).sqrt();
        let mut squares: Vec<f64> =
            x.chunks_exact(n.max(1)).map(|column| dot_lanes(column, column)).collect();
        let mut is_rotated = false;
        for p in 0..squares.len() {
            for q in p + 1..squares.len() {
                let (head, tail) = x.split_at_mut(q * n);
                let (xp, xq) = (&mut head[p * n..(p + 1) * n], &mut tail[..n]);
                let (a, b, c) = (squares[p], squares[q], dot_lanes(xp, xq));
                if c == 0.0 || c.abs() <= tolerance * (a.sqrt() * b.sqrt()) {
                    continue;
                }
                is_rotated = true;
                let (cos, sin, tan) = rotation(a, b, c);
                for (u, v) in xp.iter_mut().zip(&mut *xq) {
                    (*u, *v) = (cos * *u - sin * *v, sin * *u + cos * *v);
                }
                let (below, above) = (a - tan * c, b + tan * c);
                squares[p] = if below >= LEFT * a { below } else { dot_lanes(xp, xp) };
                squares[q] = if above >= LEFT * b { above } else { dot_lanes(xq, xq) };
            }
        }
        is_rotated
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{graph::gallery, linalg::dot};

    #[test]
    fn jacobi_keeps_the_small_eigenvalues_of_a_graded_matrix() {
        // diag(1, 1e-10, 1e-20) scaled around a well-conditioned core.
        let d: [f64; 3] = [1.0, 1e-10, 1e-20];
        let core = [2.0, 1.0, 0.5, 1.0, 2.0, 0.5, 0.5, 0.5, 1.0];
        let a: Vec<f64> = (0..9).map(|k| core[k] * (d[k / 3] * d[k % 3]).sqrt()).collect();
        let (values, vectors) = symmetric_eigen(&a, 3);
        // The smallest is det / (product of the others): 2.5e-30 / (2 · 1.5e-10).
        assert!((values[0] / (2.5 / 3.0 * 1e-20) - 1.0).abs() < 1e-9, "{values:?}");
        assert!((values[1] / 1.5e-10 - 1.0).abs() < 1e-9);
        assert!((dot(&vectors[..3], &vectors[..3]) - 1.0).abs() < 1e-14);
    }

    #[test]
    fn large_graded_matrices_keep_their_small_eigenvalues_too() {
        let m = 60;
        let mut random = crate::random::Random::new(7);
        let factor: Vec<f64> = (0..m * m).map(|_| random.normal()).collect();
        let scale: Vec<f64> = (0..m).map(|i| 10_f64.powf(-((i * 37 % m) as f64) / 5.0)).collect();
        let row = |i: usize| &factor[i * m..(i + 1) * m];
        let entry = |i: usize, j: usize| {
            (dot(row(i), row(j)) / m as f64 + f64::from(u8::from(i == j))) * scale[i] * scale[j]
        };
        let a: Vec<f64> = (0..m * m).map(|e| entry(e / m, e % m)).collect();
        let (values, vectors) = positive_eigen(&a, m).unwrap();
        let (expected, _) = jacobi(&a, m);
        assert!(expected[m - 1] > 1e20 * expected[0]);
        assert!(values.iter().zip(&expected).all(|(a, b)| (a / b - 1.0).abs() < 1e-10));
        for (j, u) in vectors.chunks_exact(m).enumerate() {
            for (i, v) in vectors.chunks_exact(m).enumerate() {
                assert!((dot(u, v) - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
            let image: Vec<f64> = a.chunks_exact(m).map(|column| dot(column, u)).collect();
            assert!(image.iter().zip(u).all(|(y, x)| (y - values[j] * x).abs() < 1e-13 * expected[m - 1]));
        }
        // What is not positive definite is left to rotations of the matrix itself.
        let mut indefinite = a;
        indefinite[0] = -1.0;
        assert!(positive_eigen(&indefinite, m).is_none());
        let (values, _) = symmetric_eigen(&indefinite, m);
        assert!(values[0] < -0.9, "{}", values[0]);
    }

    #[test]
    fn both_dense_solvers_know_the_path_and_the_complete_graph() {
        let n = 40;
        let ones = vec![1.0; n];
        for (graph, exact) in [
            (
                gallery::path(n),
                Box::new(|j: usize| 2.0 - 2.0 * (std::f64::consts::PI * j as f64 / n as f64).cos())
                    as Box<dyn Fn(usize) -> f64>,
            ),
            (gallery::complete(n), Box::new(|_| n as f64)),
        ] {
            let (relative, _) = laplacian_eigen(&graph, &ones);
            let (absolute, _) = laplacian_eigen_absolute(&graph, &ones).unwrap();
            for j in 1..n {
                assert!((relative[j - 1] / exact(j) - 1.0).abs() < 1e-12);
                assert!((absolute[j - 1] / exact(j) - 1.0).abs() < 1e-10);
            }
        }
    }
}
