//! The n-th largest of many numbers, counted by their leading bits: all that is kept are the counts.

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
