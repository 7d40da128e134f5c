//! Tool: vector instructions, chosen when the program runs.
//!
//! A plain build must run on every machine of its kind, so loops are compiled for the least of them. What is passed
//! through [`widest`] is compiled once more for each wider set of instructions (AVX2 with FMA, AVX-512), and the
//! widest one that this machine has is called. The compiler never reorders floating-point sums and never contracts
//! products into FMA by itself, so the results are the same bytes on all of them, unless a loop asks for FMA or sums by lanes.

use std::sync::OnceLock;

use pulp::{Arch, Simd};

fn arch() -> Arch {
    static ARCH: OnceLock<Arch> = OnceLock::new();
    *ARCH.get_or_init(Arch::new)
}

/// Runs a loop with its data as a type of its own, compiled for the widest vector instructions that the machine has.
///
/// It, and every function it calls in a hot loop, must be inlined: mark them `#[inline(always)]`. A closure works, but
/// cannot be so marked, and is compiled for the least machine as soon as it is not small.
#[inline]
pub(crate) fn widest<W: pulp::WithSimd>(work: W) -> W::Output {
    arch().dispatch(work)
}

/// Numbers that fill vector registers.
pub trait Lanes: Copy {
    /// A register of them.
    type Register<S: Simd>: Copy;
    /// A slice as whole registers and what is left over.
    fn lanes<S: Simd>(simd: S, values: &[Self]) -> (&[Self::Register<S>], &[Self]);
    /// The same, to be written to.
    fn lanes_mut<S: Simd>(simd: S, values: &mut [Self]) -> (&mut [Self::Register<S>], &mut [Self]);
    /// One number in all lanes.
    fn spread<S: Simd>(simd: S, value: Self) -> Self::Register<S>;
    /// How many numbers a register holds.
    fn count<S: Simd>() -> usize;
    /// a + b.
    fn add<S: Simd>(simd: S, a: Self::Register<S>, b: Self::Register<S>) -> Self::Register<S>;
    /// a − b.
    fn subtract<S: Simd>(simd: S, a: Self::Register<S>, b: Self::Register<S>) -> Self::Register<S>;
    /// a b + c.
    fn multiply_add<S: Simd>(
        simd: S,
        a: Self::Register<S>,
        b: Self::Register<S>,
        c: Self::Register<S>,
    ) -> Self::Register<S>;
    /// The sum of all lanes.
    fn total<S: Simd>(simd: S, values: Self::Register<S>) -> Self;
}

/// `pulp` names everything once for each type.
macro_rules! lanes {
    ($number:ty, $register:ident, $lanes:ident, $split:ident, $split_mut:ident, $splat:ident, $add:ident, $sub:ident,
     $mul_add:ident, $sum:ident) => {
        impl Lanes for $number {
            type Register<S: Simd> = S::$register;

            #[inline(always)]
            fn lanes<S: Simd>(_: S, values: &[Self]) -> (&[S::$register], &[Self]) {
                S::$split(values)
            }

            #[inline(always)]
            fn lanes_mut<S: Simd>(_: S, values: &mut [Self]) -> (&mut [S::$register], &mut [Self]) {
                S::$split_mut(values)
            }

            #[inline(always)]
            fn spread<S: Simd>(simd: S, value: Self) -> S::$register {
                simd.$splat(value)
            }

            #[inline(always)]
            fn count<S: Simd>() -> usize {
                S::$lanes
            }

            #[inline(always)]
            fn add<S: Simd>(simd: S, a: S::$register, b: S::$register) -> S::$register {
                simd.$add(a, b)
            }

            #[inline(always)]
            fn subtract<S: Simd>(simd: S, a: S::$register, b: S::$register) -> S::$register {
                simd.$sub(a, b)
            }

            #[inline(always)]
            fn multiply_add<S: Simd>(
                simd: S,
                a: S::$register,
                b: S::$register,
                c: S::$register,
            ) -> S::$register {
                simd.$mul_add(a, b, c)
            }

            #[inline(always)]
            fn total<S: Simd>(simd: S, values: S::$register) -> Self {
                simd.$sum(values)
            }
        }
    };
}

lanes!(
    f32,
    f32s,
    F32_LANES,
    as_simd_f32s,
    as_mut_simd_f32s,
    splat_f32s,
    add_f32s,
    sub_f32s,
    mul_add_e_f32s,
    reduce_sum_f32s
);
lanes!(
    f64,
    f64s,
    F64_LANES,
    as_simd_f64s,
    as_mut_simd_f64s,
    splat_f64s,
    add_f64s,
    sub_f64s,
    mul_add_e_f64s,
    reduce_sum_f64s
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_do_not_depend_on_the_instructions() {
        let x: Vec<f32> = (0..1001).map(|i| (i as f32 * 0.37).sin()).collect();
        let plain: Vec<f32> = x.iter().map(|v| v * v + 0.1 * v).collect();
        let mut wide = vec![0.0; x.len()];
        widest(|| wide.iter_mut().zip(&x).for_each(|(w, v)| *w = v * v + 0.1 * v));
        assert_eq!(plain, wide);
    }
}
