//! Conjugate gradients: A x = b with nothing but products.

use super::{axpy, dot};

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub struct Params {
    /// √(rᵀMr) relative to what it was at the start.
    pub tol: f64,
    /// Steps before giving up.
    pub max_steps: usize,
}

/// Writes a solution of A x = b into `x`, started from zero: `apply(p, out)` is a product with A, positive
/// (semi)definite, `precondition(r, z)` one with M, an approximation of A⁺.
///
/// b, and whatever M gives, must be orthogonal to the null vectors of A.
pub fn solve(
    apply: impl Fn(&[f64], &mut [f64]),
    precondition: impl Fn(&[f64], &mut [f64]),
    b: &[f64],
    x: &mut [f64],
    params: Params,
) {
    x.fill(0.0);
    let mut r = b.to_vec();
    let mut z = vec![0.0; b.len()];
    precondition(&r, &mut z);
    let mut p = z.clone();
    let mut rz = dot(&r, &z);
    let goal = params.tol * params.tol * rz;
    let mut ap = vec![0.0; b.len()];
    for _ in 0..params.max_steps {
        if rz <= goal {
            break;
        }
        apply(&p, &mut ap);
        let step = rz / dot(&p, &ap);
        if !step.is_finite() {
            break;
        }
        axpy(step, &p, x);
        axpy(-step, &ap, &mut r);
        precondition(&r, &mut z);
        let next = dot(&r, &z);
        let share = next / rz;
        p.iter_mut().zip(&z).for_each(|(p, z)| *p = z + share * *p);
        rz = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_system_takes_as_many_steps_as_it_has_eigenvalues() {
        // 2 on the diagonal, −1 beside it: the solution for b = e₀ is (n − i)/(n + 1).
        let n = 40;
        let apply = |x: &[f64], y: &mut [f64]| {
            for i in 0..n {
                let left = if i > 0 { x[i - 1] } else { 0.0 };
                y[i] = 2.0 * x[i] - left - x.get(i + 1).copied().unwrap_or(0.0);
            }
        };
        let halved = |r: &[f64], z: &mut [f64]| z.iter_mut().zip(r).for_each(|(z, r)| *z = 0.5 * r);
        let mut b = vec![0.0; n];
        b[0] = 1.0;
        let mut x = vec![7.0; n];
        solve(apply, halved, &b, &mut x, Params { tol: 1e-12, max_steps: n });
        for (i, x) in x.iter().enumerate() {
            assert!((x - (n - i) as f64 / (n + 1) as f64).abs() < 1e-10, "{i}: {x}");
        }
        solve(apply, halved, &vec![0.0; n], &mut x, Params { tol: 1e-12, max_steps: n });
        assert!(x.iter().all(|&x| x == 0.0));
    }
}
