//! The exponential function in 32 bits, in a form that compilers turn into vector instructions.

use pulp::Simd;

/// Adding it rounds to an integer, which then stands in the lowest bits.
const ROUND: f32 = 12_582_912.0;
const LN_2_HIGH: f32 = 355.0 / 512.0;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// The polynomial, from its highest coefficient down to that of t².
const HIGHEST: f32 = 1.987_569_1e-4;
const COEFFICIENTS: [f32; 5] = [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5];

/// exp(x) for x ≤ 0, with a relative error of at most 2·10⁻⁷; below the normal numbers it is rounded to the next
/// multiple of 2⁻¹⁴⁹, and to 0 from −104 on, as it should be.
///
/// x = n ln 2 + t with |t| ≤ ½ ln 2; exp(t) is a polynomial (the coefficients are those of the Cephes library by
/// S. Moshier), and 2ⁿ is multiplied in two steps, since 2⁻¹⁴⁹ has no exponent of its own.
#[inline(always)]
pub(super) fn exp_of_negative(x: f32) -> f32 {
    let x = if x > -104.0 { x } else { -104.0 };
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let n = rounded.to_bits().wrapping_sub(ROUND.to_bits()) as i32;
    let whole = rounded - ROUND;
    let t = x - whole * LN_2_HIGH - whole * LN_2_LOW;
    let mut p = HIGHEST;
    for coefficient in COEFFICIENTS {
        p = p * t + coefficient;
    }
    let y = p * (t * t) + t + 1.0;
    let half = n >> 1;
    let power = |n: i32| f32::from_bits(((n + 127) as u32) << 23);
    y * power(half) * power(n - half)
}

/// The same for a register of numbers, none of which is NaN, to the last bit: left alone, compilers use half of the widest
/// registers.
#[inline(always)]
pub(super) fn exp_of_negatives<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let spread = |value: f32| simd.splat_f32s(value);
    let whole = |value: u32| simd.splat_u32s(value);
    let x = simd.max_f32s(x, spread(-104.0));
    let rounded = simd.add_f32s(simd.mul_f32s(x, spread(std::f32::consts::LOG2_E)), spread(ROUND));
    // From 0 on: a shift of bits is a division by two then.
    let shifted = ROUND.to_bits() - 256;
    let n = simd.sub_u32s(simd.transmute_u32s_f32s(rounded), whole(shifted));
    let rounded = simd.sub_f32s(rounded, spread(ROUND));
    let t = simd.sub_f32s(x, simd.mul_f32s(rounded, spread(LN_2_HIGH)));
    let t = simd.sub_f32s(t, simd.mul_f32s(rounded, spread(LN_2_LOW)));
    let mut p = spread(HIGHEST);
    for coefficient in COEFFICIENTS {
        p = simd.add_f32s(simd.mul_f32s(p, t), spread(coefficient));
    }
    let y = simd.add_f32s(simd.mul_f32s(p, simd.mul_f32s(t, t)), t);
    let y = simd.add_f32s(y, spread(1.0));
    let half = simd.wrapping_dyn_shr_u32s(n, whole(1));
    // Either half is 128 too large.
    let power = |n: S::u32s| {
        let exponent = simd.sub_u32s(n, whole(1));
        simd.transmute_f32s_u32s(simd.wrapping_dyn_shl_u32s(exponent, whole(23)))
    };
    simd.mul_f32s(simd.mul_f32s(y, power(half)), power(simd.sub_u32s(n, half)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd;

    struct All(Vec<f32>);

    impl pulp::WithSimd for All {
        type Output = Vec<f32>;

        #[inline(always)]
        fn with_simd<S: Simd>(mut self, simd: S) -> Vec<f32> {
            for x in S::as_mut_simd_f32s(&mut self.0).0 {
                *x = exp_of_negatives(simd, *x);
            }
            self.0
        }
    }

    #[test]
    fn registers_give_the_same_bits() {
        let mut all: Vec<f32> = (0..2_000_000).map(|k| -5.3e-5 * k as f32).collect();
        all.extend([-0.0, -1e-30, -103.97, -104.0, -105.0, f32::MIN, f32::NEG_INFINITY, 0.0]);
        all.extend(vec![-1.5; 64 - all.len() % 64]);
        let expected: Vec<u32> = all.iter().map(|&x| exp_of_negative(x).to_bits()).collect();
        let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<u32>>();
        assert!(bits(simd::widest(All(all.clone()))) == expected);
        assert!(bits(pulp::WithSimd::with_simd(All(all), pulp::Scalar)) == expected);
    }

    #[test]
    fn it_is_the_exponential_function() {
        let steps = (0..2_000_000).map(|k| -5.3e-5 * k as f32);
        for x in steps.chain([-0.0, -1e-30, -103.97, -104.0, -105.0, f32::MIN, f32::NEG_INFINITY]) {
            let (got, want) = (f64::from(exp_of_negative(x)), f64::from(x).exp());
            let tolerance = 2e-7 * want + 0.51 * f64::from(f32::from_bits(1));
            assert!((got - want).abs() <= tolerance, "exp({x}): {got}, not {want}");
        }
        assert_eq!(exp_of_negative(0.0), 1.0);
        assert_eq!(exp_of_negative(-104.0), 0.0);
        assert!(exp_of_negative(-103.2) > 0.0);
    }
}
