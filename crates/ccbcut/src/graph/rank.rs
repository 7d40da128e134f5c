//! The n-th largest of many numbers that are not negative, counted by their leading bits first: they are computed along
//! a walk and need not be kept.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_largest_is_found_by_counting_first() {
        // Coprime to 7919: every residue occurs once.
        let n = 70_001;
        let values: Vec<f64> = (0..n).map(|i| ((i * 7919 % n) as f64).powi(3) * 1e-9).collect();
        let counts: Vec<Counts> = values.chunks(30_000).map(counted).collect();
        for place in [0, 1, 500, 35_000, n - 2, n - 1] {
            let (leading, above) = find(&counts, place).unwrap();
            let inside = values.iter().copied().filter(|&value| bucket(value) == leading).collect();
            assert_eq!(select(inside, place - above), ((n - 1 - place) as f64).powi(3) * 1e-9);
        }
        assert_eq!(find(&counts, n), None);
        assert_eq!(find(&[], 0), None);
    }

    fn counted(values: &[f64]) -> Counts {
        let mut counts = Counts::new();
        values.iter().for_each(|&value| counts.add(value));
        counts
    }
}
