//! Orthonormal bases by classical Gram–Schmidt, done twice.

use super::{axpy, dot, norm};

/// Removes from `x` its components along the columns of `basis` (orthonormal, stored one after the other).
pub fn project_out(basis: &[f64], x: &mut [f64]) {
    let n = x.len();
    if n == 0 {
        return;
    }
    let coefficients: Vec<f64> = basis.chunks_exact(n).map(|column| dot(column, x)).collect();
    for (column, c) in basis.chunks_exact(n).zip(coefficients) {
        axpy(-c, column, x);
    }
}

/// Makes `x` orthogonal to `basis` and to `null`, and of unit length; `false` when nothing is left of it.
///
/// Two passes suffice unless `x` lay in the span: then what remains is rounding, and it is refused.
pub fn orthonormalize(null: &[f64], basis: &[f64], x: &mut [f64]) -> bool {
    let before = norm(x);
    if !(before > 0.0 && before.is_finite()) {
        return false;
    }
    x.iter_mut().for_each(|v| *v /= before);
    for pass in 0..4 {
        project_out(null, x);
        project_out(basis, x);
        let left = norm(x);
        if left < 1e-12 {
            return false;
        }
        x.iter_mut().for_each(|v| *v /= left);
        if pass > 0 && left > 0.7 {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_in_the_span_is_refused() {
        let basis = vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        let mut inside = vec![3.0, -4.0, 1e-14];
        assert!(!orthonormalize(&[], &basis, &mut inside));
        let mut outside = vec![3.0, -4.0, 1e-3];
        assert!(orthonormalize(&[], &basis, &mut outside));
        assert!((outside[2] - 1.0).abs() < 1e-15 && outside[0].abs() < 1e-15);
    }
}
