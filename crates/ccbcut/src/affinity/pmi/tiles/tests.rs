//! Tiles of kernels and pixels, against sums by definition.

use super::*;
use crate::random::Random;

#[test]
fn blocks_hold_every_kernel_once_and_are_small() {
    let mut random = Random::new(6);
    let mut centres: Vec<[f32; 6]> =
        (0..1000).map(|_| std::array::from_fn(|_| random.uniform() as f32)).collect();
    let sorted = |centres: &[[f32; 6]]| {
        let mut bits: Vec<[u32; 6]> = centres.iter().map(|c| c.map(f32::to_bits)).collect();
        bits.sort_unstable();
        bits
    };
    let before = sorted(&centres);
    arrange(&mut centres);
    assert_eq!(before, sorted(&centres));
    let blocks: Vec<KernelBlock> = centres.chunks(BLOCK).map(KernelBlock::new).collect();
    let volume = |b: &KernelBlock| (0..6).map(|d| b.high[d] - b.low[d]).product::<f32>();
    assert!(blocks.iter().map(volume).sum::<f32>() / (blocks.len() as f32) < 0.1);
    // 1000 = 31 · 32 + 8: what fills the last block is far away.
    assert_eq!(
        (blocks.len(), blocks[31].centres[0].0[7] < 1.0, blocks[31].centres[0].0[8]),
        (32, true, 1e15)
    );
}

/// [`dot`] with the widest registers.
struct Dot<'a>(&'a [Block], &'a [Block], u64);

impl pulp::WithSimd for Dot<'_> {
    type Output = f32;

    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        dot(simd, self.0, self.1, self.2)
    }
}

#[test]
fn products_are_summed_over_the_blocks_of_the_mask() {
    let mut random = Random::new(1);
    let mut blocks = || [(); 5].map(|()| Block(std::array::from_fn(|_| random.uniform() as f32)));
    let (a, b) = (blocks(), blocks());
    for mask in [0_u64, 1, 0b10110, 0b11111] {
        let live = (0..5).filter(|j| mask >> j & 1 == 1);
        let want: f64 =
            live.flat_map(|j| a[j].0.iter().zip(&b[j].0)).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
        let got = f64::from(simd::widest(Dot(&a, &b, mask)));
        assert!((got - want).abs() <= 1e-6 * want, "{got} {want}");
        assert_eq!(got, f64::from(dot(pulp::Scalar::new(), &a, &b, mask)), "for every width");
    }
}

#[test]
fn every_block_in_reach_has_its_bit() {
    let mut random = Random::new(3);
    let mut planes = || [(); 3].map(|()| std::array::from_fn(|_| random.uniform() as f32));
    let reaches = Reaches {
        low: planes().map(|p: [f32; MOST_BLOCKS]| p.map(|v| v - 0.5)),
        high: planes().map(|p: [f32; MOST_BLOCKS]| p.map(|v| v + 0.5)),
    };
    let mut seen = 0;
    for _ in 0..50 {
        let pixel = [(); 3].map(|()| random.uniform() as f32);
        let is_near =
            |j: &usize| (0..3).all(|ch| reaches.low[ch][*j] < pixel[ch] && pixel[ch] < reaches.high[ch][*j]);
        let want = (0..MOST_BLOCKS).filter(is_near).fold(0, |mask, j| mask | 1 << j);
        assert_eq!(reaches.around(pixel), want);
        seen |= want;
    }
    assert_eq!(seen, u64::MAX, "every bit was set once");
    let none =
        Reaches { low: [[f32::INFINITY; MOST_BLOCKS]; 3], high: [[f32::NEG_INFINITY; MOST_BLOCKS]; 3] };
    assert_eq!(none.around([0.5; 3]), 0);
}

#[test]
fn out_of_reach_every_factor_is_zero() {
    let block = KernelBlock::new(&[[0.5; 6]]);
    let mut values = Block([7.0; BLOCK]);
    let mut reaches = |pixel: [f32; 3]| {
        let rest = product([pixel[1], pixel[2]], [&block.centres[1], &block.centres[2]], [20.0; 2]);
        let reaches = set_factors(pixel[0], &block.centres[0], 20.0, &rest, &mut values);
        (reaches, values.0)
    };
    assert_eq!(reaches([0.5, 0.5, 0.551]), (false, [0.0; BLOCK]));
    let (is_reached, values) = reaches([0.5, 0.475, 0.5]);
    assert!(is_reached && (values[0] - 0.75).abs() < 1e-5 && values[1..].iter().all(|v| *v == 0.0));
}
