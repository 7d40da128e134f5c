//! The n-th largest of many numbers that are not negative, counted by their leading bits first: those that are computed along
//! a walk need not be kept.

use crate::parallel;

/// Numbers that one task counts.
const BLOCK: usize = 1 << 19;

/// Bits of a number that do not count in the first look.
const SHIFT: u32 = 48;

/// How many numbers have each leading bits.
pub(super) struct Counts(Vec<u32>);

impl Counts {
    pub(super) fn new() -> Self {
        Self(vec![0; 1 << (64 - SHIFT - 1)])
    }

    #[inline(always)]
    pub(super) fn add(&mut self, value: f64) {
        self.0[bucket(value)] += 1;
    }
}

/// The leading bits of a number that is not negative: they are in the order of the numbers.
#[inline(always)]
pub(super) fn bucket(value: f64) -> usize {
    (value.abs().to_bits() >> SHIFT) as usize
}

/// The leading bits of the number that stands at a place in decreasing order, and how many numbers have larger ones;
/// `None` where there are not that many.
pub(super) fn find(counts: &[Counts], place: usize) -> Option<(usize, usize)> {
    let mut above = 0;
    for bucket in (0..1 << (64 - SHIFT - 1)).rev() {
        let here: usize = counts.iter().map(|c| c.0[bucket] as usize).sum();
        if above + here > place {
            return Some((bucket, above));
        }
        above += here;
    }
    None
}

/// The number at a place of some numbers in decreasing order.
pub(super) fn select(mut values: Vec<f64>, place: usize) -> f64 {
    *values.select_nth_unstable_by(place, |a, b| b.total_cmp(a)).1
}

/// The number at a place in decreasing order; 0 where there are not that many.
pub(super) fn nth_largest(values: &[f64], place: usize) -> f64 {
    let counts = parallel::map(values.len().div_ceil(BLOCK), |b| {
        let mut counts = Counts::new();
        values[b * BLOCK..values.len().min((b + 1) * BLOCK)].iter().for_each(|&value| counts.add(value));
        counts
    });
    let Some((bucket, above)) = find(&counts, place) else { return 0.0 };
    let inside = values.iter().copied().filter(|&value| self::bucket(value) == bucket).collect();
    select(inside, place - above)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_largest_of_several_blocks_is_that_of_the_sorted_list() {
        // Coprime to 7919: every residue occurs once.
        let n = BLOCK + 1000;
        let values: Vec<f64> = (0..n).map(|i| ((i * 7919 % n) as f64).powi(3) * 1e-9).collect();
        for place in [0, 1, 500, BLOCK, n - 2, n - 1] {
            assert_eq!(nth_largest(&values, place), ((n - 1 - place) as f64).powi(3) * 1e-9);
        }
        assert_eq!(nth_largest(&values, n), 0.0);
        assert_eq!(nth_largest(&[], 0), 0.0);
    }
}
