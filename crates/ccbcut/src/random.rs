//! Seeded randomness: xoshiro256++, the same numbers on every machine.

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};

/// A stream of random numbers, fixed by its seed.
#[derive(Debug, Clone)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number uniform in [0, 1), with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// An integer uniform in `0..limit` (`limit` ≥ 1).
    pub fn below(&mut self, limit: usize) -> usize {
        // The product keeps the high bits; the bias is below 2⁻³² for the sizes used here.
        ((u128::from(self.0.next_u64()) * limit as u128) >> 64) as usize
    }

    /// A standard normal number (Box–Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_seed_never_changes() {
        let mut random = Random::new(0);
        assert_eq!(random.uniform().to_bits(), Random::new(0).uniform().to_bits());
        let mean: f64 = (0..10_000).map(|_| random.normal()).sum::<f64>() / 10_000.0;
        assert!(mean.abs() < 0.05);
        assert!((0..1000).all(|_| random.below(7) < 7));
    }
}
