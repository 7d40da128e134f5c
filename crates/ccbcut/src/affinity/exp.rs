//! The exponential function in 32 bits, in a form that compilers turn into vector instructions.

/// exp(x) for x ≤ 0, with a relative error of at most 2·10⁻⁷; below the normal numbers it is rounded to the next
/// multiple of 2⁻¹⁴⁹, and to 0 from −104 on, as it should be.
///
/// x = n ln 2 + t with |t| ≤ ½ ln 2; exp(t) is a polynomial (the coefficients are those of the Cephes library by
/// S. Moshier), and 2ⁿ is multiplied in two steps, since 2⁻¹⁴⁹ has no exponent of its own.
#[inline(always)]
pub(super) fn exp_of_negative(x: f32) -> f32 {
    /// Adding it rounds to an integer, which then stands in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    const LN_2_HIGH: f32 = 355.0 / 512.0;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let x = if x > -104.0 { x } else { -104.0 };
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let n = rounded.to_bits().wrapping_sub(ROUND.to_bits()) as i32;
    let whole = rounded - ROUND;
    let t = x - whole * LN_2_HIGH - whole * LN_2_LOW;
    let mut p = 1.987_569_1e-4;
    for coefficient in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        p = p * t + coefficient;
    }
    let y = p * (t * t) + t + 1.0;
    let half = n >> 1;
    let power = |n: i32| f32::from_bits(((n + 127) as u32) << 23);
    y * power(half) * power(n - half)
}

#[cfg(test)]
mod tests {
    use super::*;

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
