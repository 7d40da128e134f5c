//! Tool: vector instructions, chosen when the program runs.
//!
//! A plain build must run on every machine of its kind, so loops are compiled for the least of them. What is passed
//! through [`widest`] is compiled once more for each wider set of instructions (AVX2 with FMA, AVX-512), and the
//! widest one that this machine has is called. The compiler never reorders floating-point sums and never contracts
//! products into FMA by itself, so the results are the same bytes on all of them, unless a loop asks for FMA or sums by lanes.

use std::sync::OnceLock;

use pulp::Arch;

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
