//! The nearest matrix with orthonormal columns.

use crate::{
    linalg::{
        dense::symmetric_eigen,
        dot,
        orthonormalize::{orthonormalize, project_out},
    },
    random::Random,
};

/// Eigenvalues of XᵀX below this share of the largest count as zero.
const RANK: f64 = 1e-12;

/// Projects the columns of X off `trivial` (one unit vector, or nothing), and returns P = U Vᵀ of its singular value
/// decomposition U S Vᵀ. Where columns are missing, random ones take their place.
pub(super) fn polar_factor(x: &mut [f64], m: usize, trivial: &[f64], seed: u64) -> Vec<f64> {
    let n = x.len() / m.max(1);
    x.chunks_exact_mut(n).for_each(|column| project_out(trivial, column));
    let (values, vectors) = symmetric_eigen(&gram(x, m), m);
    let largest = values.iter().copied().fold(0.0, f64::max);
    let mut random = Random::new(seed);
    // U, one column after the other, the largest first.
    let mut left: Vec<f64> = Vec::with_capacity(x.len());
    for c in (0..m).rev() {
        let v = &vectors[c * m..(c + 1) * m];
        let mut u = vec![0.0; n];
        if values[c] > RANK * largest && largest > 0.0 {
            for (column, &weight) in x.chunks_exact(n).zip(v) {
                u.iter_mut().zip(column).for_each(|(u, x)| *u += weight * x);
            }
        }
        while !orthonormalize(trivial, &left, &mut u) {
            u = (0..n).map(|_| random.normal()).collect();
        }
        left.extend(u);
    }
    let mut p = vec![0.0; x.len()];
    for (column, out) in p.chunks_exact_mut(n).enumerate() {
        for (u, c) in left.chunks_exact(n).zip((0..m).rev()) {
            let weight = vectors[c * m + column];
            out.iter_mut().zip(u).for_each(|(p, u)| *p += weight * u);
        }
    }
    p
}

/// ‖XᵀX − I‖_F.
pub(super) fn defect(x: &[f64], m: usize) -> f64 {
    let gram = gram(x, m);
    let off = |(e, g): (usize, &f64)| g - f64::from(u8::from(e % m == e / m));
    gram.iter().enumerate().map(|entry| off(entry).powi(2)).sum::<f64>().sqrt()
}

fn gram(x: &[f64], m: usize) -> Vec<f64> {
    let n = x.len() / m.max(1);
    let column = |c: usize| &x[c * n..(c + 1) * n];
    let mut gram = vec![0.0; m * m];
    for a in 0..m {
        for b in 0..=a {
            gram[a * m + b] = dot(column(a), column(b));
            gram[b * m + a] = gram[a * m + b];
        }
    }
    gram
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_polar_factor_is_orthonormal_and_leaves_a_positive_rest() {
        let (n, m) = (30, 4);
        let mut random = Random::new(2);
        let x: Vec<f64> = (0..n * m).map(|_| random.normal()).collect();
        let p = polar_factor(&mut x.clone(), m, &[], 0);
        assert!(defect(&p, m) < 1e-13 && defect(&x, m) > 1.0);
        // PᵀX is symmetric and positive definite: that makes P the nearest one.
        let inner = |a: usize, b: usize| dot(&p[a * n..(a + 1) * n], &x[b * n..(b + 1) * n]);
        let h: Vec<f64> = (0..m * m).map(|e| inner(e / m, e % m)).collect();
        assert!((0..m * m).all(|e| (h[e] - h[e % m * m + e / m]).abs() < 1e-12));
        assert!(symmetric_eigen(&h, m).0.iter().all(|&value| value > 0.0));
    }

    #[test]
    fn missing_columns_are_made_up_and_the_trivial_one_is_left_out() {
        let n = 12;
        let trivial = vec![1.0 / (n as f64).sqrt(); n];
        let one: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let mut x = [&one[..], &one, &vec![3.0; n]].concat();
        let p = polar_factor(&mut x, 3, &trivial, 0);
        assert!(defect(&p, 3) < 1e-13);
        assert!(p.chunks_exact(n).all(|column| dot(column, &trivial).abs() < 1e-13));
    }
}
