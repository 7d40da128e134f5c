//! Eigenvalues of a symmetric matrix in double-double arithmetic (about 31 digits): the referee for the solvers.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// An unevaluated sum of two doubles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quad(pub f64, pub f64);

impl Quad {
    pub const ZERO: Self = Self(0.0, 0.0);
    pub const ONE: Self = Self(1.0, 0.0);

    fn two_sum(a: f64, b: f64) -> Self {
        let s = a + b;
        let t = s - a;
        Self(s, (a - (s - t)) + (b - t))
    }

    fn quick(a: f64, b: f64) -> Self {
        let s = a + b;
        Self(s, b - (s - a))
    }

    pub fn sqrt(self) -> Self {
        if self.0 <= 0.0 {
            return Self::ZERO;
        }
        let x = Self(self.0.sqrt(), 0.0);
        let x = (x + self / x) * Self(0.5, 0.0);
        (x + self / x) * Self(0.5, 0.0)
    }
}

impl From<f64> for Quad {
    fn from(value: f64) -> Self {
        Self(value, 0.0)
    }
}

impl Neg for Quad {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0, -self.1)
    }
}

impl Add for Quad {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        let (s, t) = (Self::two_sum(self.0, o.0), Self::two_sum(self.1, o.1));
        let s = Self::quick(s.0, s.1 + t.0);
        Self::quick(s.0, s.1 + t.1)
    }
}

impl Sub for Quad {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        self + -o
    }
}

impl Mul for Quad {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        let p = self.0 * o.0;
        let e = self.0.mul_add(o.0, -p);
        Self::quick(p, e + (self.0 * o.1 + self.1 * o.0))
    }
}

impl Div for Quad {
    type Output = Self;
    fn div(self, o: Self) -> Self {
        let q1 = self.0 / o.0;
        let r = self - o * Self(q1, 0.0);
        let q2 = r.0 / o.0;
        let r = r - o * Self(q2, 0.0);
        Self::quick(q1, q2) + Self(r.0 / o.0, 0.0)
    }
}

/// Eigenvalues, increasing, of a symmetric matrix given row by row.
pub fn eigenvalues(mut a: Vec<Vec<Quad>>) -> Vec<f64> {
    let (mut d, mut e) = tridiagonal(&mut a);
    ql(&mut d, &mut e);
    let mut values: Vec<f64> = d.iter().map(|v| v.0).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Householder reduction; returns the diagonal and the off-diagonal (padded with a zero at the end).
fn tridiagonal(a: &mut [Vec<Quad>]) -> (Vec<Quad>, Vec<Quad>) {
    let n = a.len();
    let mut off = vec![Quad::ZERO; n];
    for k in 0..n.saturating_sub(2) {
        let length = (k + 1..n).fold(Quad::ZERO, |s, i| s + a[i][k] * a[i][k]).sqrt();
        if length.0 == 0.0 {
            continue;
        }
        let alpha = if a[k + 1][k].0 > 0.0 { -length } else { length };
        let mut v: Vec<Quad> = (k + 1..n).map(|i| a[i][k]).collect();
        v[0] = v[0] - alpha;
        let vv = v.iter().fold(Quad::ZERO, |s, &x| s + x * x);
        off[k] = alpha;
        if vv.0 == 0.0 {
            continue;
        }
        let beta = Quad::from(2.0) / vv;
        let m = v.len();
        let p: Vec<Quad> = (0..m)
            .map(|i| (0..m).fold(Quad::ZERO, |s, j| s + a[k + 1 + i][k + 1 + j] * v[j]) * beta)
            .collect();
        let half = (0..m).fold(Quad::ZERO, |s, i| s + v[i] * p[i]) * beta * Quad::from(0.5);
        let w: Vec<Quad> = (0..m).map(|i| p[i] - half * v[i]).collect();
        for i in 0..m {
            for j in 0..m {
                a[k + 1 + i][k + 1 + j] = a[k + 1 + i][k + 1 + j] - v[i] * w[j] - w[i] * v[j];
            }
        }
    }
    if n >= 2 {
        off[n - 2] = a[n - 1][n - 2];
    }
    ((0..n).map(|i| a[i][i]).collect(), off)
}

/// Implicit QL iterations on a tridiagonal matrix.
fn ql(d: &mut [Quad], e: &mut [Quad]) {
    let n = d.len();
    for l in 0..n {
        for _ in 0..200 {
            let small = |m: usize| e[m].0.abs() <= 1e-32 * (d[m].0.abs() + d[m + 1].0.abs());
            let m = (l..n - 1).find(|&m| small(m)).unwrap_or(n - 1);
            if m == l {
                break;
            }
            let mut g = (d[l + 1] - d[l]) / (Quad::from(2.0) * e[l]);
            let mut r = (g * g + Quad::ONE).sqrt();
            let signed = if g.0 >= 0.0 { r } else { -r };
            g = d[m] - d[l] + e[l] / (g + signed);
            let (mut s, mut c, mut p) = (Quad::ONE, Quad::ONE, Quad::ZERO);
            let mut broke = false;
            for i in (l..m).rev() {
                let f = s * e[i];
                let b = c * e[i];
                r = (f * f + g * g).sqrt();
                e[i + 1] = r;
                if r.0 == 0.0 {
                    d[i + 1] = d[i + 1] - p;
                    e[m] = Quad::ZERO;
                    broke = true;
                    break;
                }
                s = f / r;
                c = g / r;
                g = d[i + 1] - p;
                let t = (d[i] - g) * s + Quad::from(2.0) * c * b;
                p = s * t;
                d[i + 1] = g + p;
                g = c * t - b;
            }
            if !broke {
                d[l] = d[l] - p;
                e[l] = g;
                e[m] = Quad::ZERO;
            }
        }
    }
}
