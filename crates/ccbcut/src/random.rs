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

    /// From an implementation of SplitMix64 and xoshiro256++ that shares nothing with this one.
    #[test]
    fn the_stream_of_a_seed_never_changes() {
        let bits: [u64; 4] =
            [0x5317_5d61_490b_23df, 0x61da_6f3d_c380_d507, 0x5c0f_df91_ec9a_7bfc, 0x02ee_bf8c_3bbe_5e1a];
        let mut random = Random::new(0);
        assert_eq!(bits.map(|_| random.0.next_u64()), bits);
        let uniform = [0.324_575_268_031_406_7, 0.382_239_296_511_673_43, 0.359_617_207_647_355_3];
        let mut random = Random::new(0);
        assert_eq!(uniform.map(|_| random.uniform()), uniform);
        let mut random = Random::new(0);
        assert_eq!([1000; 6].map(|limit| random.below(limit)), [324, 382, 359, 11, 495, 20]);
        assert!((Random::new(0).normal() + 0.654_265_126_640_594_9).abs() < 1e-15);
        assert_ne!(Random::new(1).uniform(), uniform[0]);
    }

    #[test]
    fn numbers_have_the_distribution_they_are_named_after() {
        let mut random = Random::new(0);
        let mean: f64 = (0..10_000).map(|_| random.normal()).sum::<f64>() / 10_000.0;
        assert!(mean.abs() < 0.05);
        assert!((0..1000).all(|_| random.below(7) < 7));
    }
}
