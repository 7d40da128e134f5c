//! The Lovász extension of the balance of a two-way cut.
//!
//! A two-way cost is Cut(A, V∖A) / g(π(A)) with g from [`Criterion::balance`]. The extensions of cut and balance to
//! vectors are R(f) = Σ w_ij |fᵢ − fⱼ| over the edges, and S(f), which adds g(π({f > t})) up over all levels t. On
//! the indicator of a set their quotient is the cost of that set, and the best threshold of any f costs no more than
//! R(f)/S(f). As g is concave, S is convex.
//!
//! Hein & Setzer, *Beyond spectral clustering: tight relaxations of balanced graph cuts*, NIPS 2011.

use crate::cost::Criterion;

/// g and π.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lovasz<'a> {
    pub(super) criterion: Criterion,
    pub(super) pi: &'a [f64],
}

/// The vertices by increasing value, and g of what lies above each place.
struct Levels {
    order: Vec<u32>,
    /// `balance[p]` is g of the vertices from place p on.
    balance: Vec<f64>,
}

impl Lovasz<'_> {
    /// S(f).
    pub(super) fn value(&self, f: &[f64]) -> f64 {
        let Levels { order, balance } = self.levels(f);
        let step = |p: usize| f[order[p] as usize] - f[order[p - 1] as usize];
        (1..order.len()).map(|p| balance[p] * step(p)).sum()
    }

    /// A subgradient of S at f; it adds up to zero. Vertices of equal value share what falls to them in proportion to
    /// π, which for the Cheeger balance is the choice of Hein & Bühler on the level of the median.
    pub(super) fn subgradient(&self, f: &[f64]) -> Vec<f64> {
        let Levels { order, balance } = self.levels(f);
        let mut s = vec![0.0; f.len()];
        let mut first = 0;
        while first < order.len() {
            let value = f[order[first] as usize];
            let run = order[first..].iter().take_while(|&&v| f[v as usize] == value).count();
            let group = &order[first..first + run];
            let mass: f64 = group.iter().map(|&v| self.pi[v as usize]).sum();
            let share = (balance[first] - balance[first + run]) / mass;
            group.iter().for_each(|&v| s[v as usize] = share * self.pi[v as usize]);
            first += run;
        }
        s
    }

    fn levels(&self, f: &[f64]) -> Levels {
        let n = f.len();
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_unstable_by(|&a, &b| f[a as usize].total_cmp(&f[b as usize]).then(a.cmp(&b)));
        // Both sides are added up from their ends: a difference of sums would lose digits.
        let mut above = vec![0.0; n + 1];
        for p in (0..n).rev() {
            above[p] = above[p + 1] + self.pi[order[p] as usize];
        }
        let mut below = 0.0;
        let mut balance = vec![0.0; n + 1];
        for p in 1..n {
            below += self.pi[order[p - 1] as usize];
            balance[p] = self.criterion.balance(below, above[p]);
        }
        Levels { order, balance }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const ALL: [Criterion; 4] =
        [Criterion::Ccb { tau: 0.3 }, Criterion::Ccb { tau: 1.0 }, Criterion::Ratio, Criterion::Cheeger];

    fn vectors(n: usize, seed: u64) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let mut random = Random::new(seed);
        let pi: Vec<f64> = (0..n).map(|_| 0.2 + random.uniform()).collect();
        let coarse = (0..n).map(|_| random.below(4) as f64).collect();
        (pi, coarse, (0..n).map(|_| random.normal()).collect())
    }

    #[test]
    fn an_indicator_has_the_balance_of_its_set() {
        let (pi, _, noise) = vectors(9, 1);
        for criterion in ALL {
            let f: Vec<f64> = noise.iter().map(|&x| f64::from(u8::from(x > 0.0))).collect();
            let inside: f64 = pi.iter().zip(&f).map(|(p, f)| p * f).sum();
            let whole: f64 = pi.iter().sum();
            let want = criterion.balance(inside, whole - inside);
            assert!((Lovasz { criterion, pi: &pi }.value(&f) - want).abs() < 1e-14 * want);
        }
    }

    #[test]
    fn the_cheeger_extension_is_the_distance_to_the_median() {
        for seed in 0..10 {
            let (pi, coarse, fine) = vectors(11, seed);
            for f in [coarse, fine] {
                let extension = Lovasz { criterion: Criterion::Cheeger, pi: &pi };
                let spread = |m: f64| f.iter().zip(&pi).map(|(x, p)| p * (x - m).abs()).sum::<f64>();
                let least = f.iter().map(|&m| spread(m)).fold(f64::INFINITY, f64::min);
                assert!((extension.value(&f) - least).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn subgradients_support_the_function() {
        for seed in 0..20 {
            let (pi, coarse, fine) = vectors(10, seed);
            for criterion in ALL {
                let extension = Lovasz { criterion, pi: &pi };
                for f in [&coarse, &fine] {
                    let s = extension.subgradient(f);
                    let inner = |g: &[f64]| s.iter().zip(g).map(|(s, g)| s * g).sum::<f64>();
                    assert!(s.iter().sum::<f64>().abs() < 1e-13);
                    assert!((inner(f) - extension.value(f)).abs() < 1e-12);
                    for other in 0..10 {
                        let g = vectors(10, 100 + other).2;
                        assert!(inner(&g) <= extension.value(&g) + 1e-12, "{criterion:?}");
                    }
                }
            }
        }
    }
}
