//! The table of what two label maps share, and the region scores read off it.
//!
//! # References
//! Arbeláez, Maire, Fowlkes and Malik, *Contour detection and hierarchical image segmentation*, IEEE TPAMI 33, 2011,
//! <https://doi.org/10.1109/TPAMI.2010.161> (covering); Unnikrishnan, Pantofaru and Hebert, IEEE TPAMI 29, 2007,
//! <https://doi.org/10.1109/TPAMI.2007.1046> (PRI); Meilă, J. Multivariate Anal. 98, 2007,
//! <https://doi.org/10.1016/j.jmva.2006.11.013> (VI).

use crate::{
    error::{Error, Result},
    labels::LabelMap,
};

/// The largest table that is counted in place; beyond it the pairs are sorted.
const DENSE_LIMIT: usize = 1 << 22;

/// How many pixels each segment of one map shares with each region of another.
///
/// Pixels that the truth leaves void are not counted anywhere. Pixels that the segmentation leaves void make up one
/// more segment for the Rand index and the variation of information, but cover nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contingency {
    /// Shared pixels by segment, then region: (segment, region, count), without zeros.
    entries: Vec<(u32, u32, u64)>,
    /// Pixels of each segment; the void of the segmentation, if any, is the last.
    segments: Vec<u64>,
    /// Pixels of each true region.
    regions: Vec<u64>,
    has_void: bool,
}

/// How well a segmentation agrees with one ground truth.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct RegionScore {
    /// Covering of the true regions by the segments, 0 to 1, higher is better.
    pub covering: f64,
    /// Share of pixel pairs on which both agree, 0 to 1, higher is better.
    pub rand_index: f64,
    /// Variation of information in bits, lower is better.
    pub variation: f64,
}

impl RegionScore {
    /// The mean of several scores, number by number: for the Rand index of several truths it is the PRI.
    pub fn mean(scores: &[Self]) -> Self {
        let mean = |pick: fn(&Self) -> f64| scores.iter().map(pick).sum::<f64>() / scores.len() as f64;
        Self {
            covering: mean(|s| s.covering),
            rand_index: mean(|s| s.rand_index),
            variation: mean(|s| s.variation),
        }
    }

    /// The best of each number by itself.
    #[must_use]
    pub fn best(self, other: Self) -> Self {
        Self {
            covering: self.covering.max(other.covering),
            rand_index: self.rand_index.max(other.rand_index),
            variation: self.variation.min(other.variation),
        }
    }
}

impl Contingency {
    /// Counts the pixels that each segment shares with each region of `truth`.
    ///
    /// # Errors
    /// [`Error::MapSizes`] unless both maps have the same height and width; [`Error::NothingToCompare`] when the
    /// truth has no pixel that is not void.
    ///
    /// # Complexity
    /// O(N) time for N pixels while the table has up to four million cells, O(N log N) beyond.
    pub fn new(found: &LabelMap, truth: &LabelMap) -> Result<Self> {
        let sizes = |map: &LabelMap| (map.height(), map.width());
        if sizes(found) != sizes(truth) {
            return Err(Error::MapSizes { found: sizes(found), truth: sizes(truth) });
        }
        let (rows, columns) = (found.n_segments() + 1, truth.n_segments());
        let void = rows as u32 - 1;
        let pairs = || {
            let both = found.as_slice().iter().zip(truth.as_slice());
            both.filter(|&(_, &v)| v != LabelMap::VOID).map(|(&u, &v)| (u.min(void), v))
        };
        let mut entries = Vec::new();
        if rows.saturating_mul(columns) <= DENSE_LIMIT {
            let mut table = vec![0_u32; rows * columns];
            pairs().for_each(|(u, v)| table[u as usize * columns + v as usize] += 1);
            for (cell, &count) in table.iter().enumerate().filter(|&(_, &count)| count > 0) {
                entries.push(((cell / columns) as u32, (cell % columns) as u32, u64::from(count)));
            }
        } else {
            let mut sorted: Vec<(u32, u32)> = pairs().collect();
            sorted.sort_unstable();
            for chunk in sorted.chunk_by(|a, b| a == b) {
                entries.push((chunk[0].0, chunk[0].1, chunk.len() as u64));
            }
        }
        if entries.is_empty() {
            return Err(Error::NothingToCompare);
        }
        let has_void = entries.last().is_some_and(|&(u, _, _)| u == void);
        Ok(Self::from_entries(entries, rows - usize::from(!has_void), columns, has_void))
    }

    fn from_entries(
        entries: Vec<(u32, u32, u64)>,
        n_segments: usize,
        n_regions: usize,
        has_void: bool,
    ) -> Self {
        let (mut segments, mut regions) = (vec![0; n_segments], vec![0; n_regions]);
        for &(u, v, count) in &entries {
            segments[u as usize] += count;
            regions[v as usize] += count;
        }
        Self { entries, segments, regions, has_void }
    }

    /// The table after segments are joined: segment u becomes part of `into[u]`.
    ///
    /// A hierarchy is compared once, at its finest level; every coarser level is then a matter of its regions, not
    /// of its pixels.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless there is one number per segment (the void not counted).
    pub fn joined(&self, into: &[u32]) -> Result<Self> {
        let n = self.segments.len() - usize::from(self.has_void);
        if into.len() < n {
            return Err(Error::ShapeMismatch { what: "the joined segments", expected: n, got: into.len() });
        }
        let n_joined = into.iter().max().map_or(0, |&last| last as usize + 1);
        let join = |u: u32| into[..n].get(u as usize).copied().unwrap_or(n_joined as u32);
        let mut moved: Vec<(u32, u32, u64)> =
            self.entries.iter().map(|&(u, v, count)| (join(u), v, count)).collect();
        moved.sort_unstable();
        let sum = |same: &[(u32, u32, u64)]| (same[0].0, same[0].1, same.iter().map(|e| e.2).sum());
        let entries = moved.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).map(sum).collect();
        let n_joined = n_joined + usize::from(self.has_void);
        Ok(Self::from_entries(entries, n_joined, self.regions.len(), self.has_void))
    }

    /// Pixels compared.
    pub fn n_pixels(&self) -> u64 {
        self.regions.iter().sum()
    }

    /// Pixels of each true region.
    pub fn regions(&self) -> &[u64] {
        &self.regions
    }

    /// For each true region the overlap O(u, v) with the segment that fits it best.
    pub fn best_overlaps(&self) -> Vec<f64> {
        let mut best = vec![0.0_f64; self.regions.len()];
        let void = if self.has_void { self.segments.len() as u32 - 1 } else { u32::MAX };
        for &(u, v, count) in self.entries.iter().filter(|e| e.0 != void) {
            let union = self.segments[u as usize] + self.regions[v as usize] - count;
            let best = &mut best[v as usize];
            *best = best.max(count as f64 / union as f64);
        }
        best
    }

    /// Covering, Rand index and variation of information.
    pub fn score(&self) -> RegionScore {
        let n = self.n_pixels() as f64;
        let covered = self.best_overlaps().iter().zip(&self.regions).map(|(o, &b)| o * b as f64).sum::<f64>();
        RegionScore { covering: covered / n, rand_index: self.rand_index(), variation: self.variation() }
    }

    /// 1 − (½(Σ a² + Σ b²) − Σ n²) / (N(N − 1)/2), in integers up to the last division.
    fn rand_index(&self) -> f64 {
        let squares =
            |counts: &mut dyn Iterator<Item = u64>| counts.map(|c| u128::from(c).pow(2)).sum::<u128>();
        let within = squares(&mut self.segments.iter().copied()) + squares(&mut self.regions.iter().copied());
        let disagreeing = within - 2 * squares(&mut self.entries.iter().map(|e| e.2));
        let n = u128::from(self.n_pixels());
        if n < 2 {
            return 1.0;
        }
        1.0 - disagreeing as f64 / (n * (n - 1)) as f64
    }

    /// H(S) + H(G) − 2 I(S; G) = Σ p_uv (log p_u/p_uv + log p_v/p_uv): no term is negative, so nothing cancels.
    fn variation(&self) -> f64 {
        let n = self.n_pixels() as f64;
        let term = |&(u, v, count): &(u32, u32, u64)| {
            let count = count as f64;
            let (a, b) = (self.segments[u as usize] as f64, self.regions[v as usize] as f64);
            count * ((a / count).log2() + (b / count).log2())
        };
        self.entries.iter().map(term).sum::<f64>() / n
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn map(height: usize, width: usize, raw: &[u32]) -> LabelMap {
        LabelMap::new(height, width, raw).unwrap()
    }

    fn random_map(n: usize, k: usize, seed: u64) -> LabelMap {
        let mut random = Random::new(seed);
        map(1, n, &(0..n).map(|_| random.below(k) as u32).collect::<Vec<_>>())
    }

    /// The definitions, pair by pair and set by set.
    fn naive(found: &LabelMap, truth: &LabelMap) -> RegionScore {
        let (s, g) = (found.as_slice(), truth.as_slice());
        let n = s.len();
        let size = |labels: &[u32], l: u32| labels.iter().filter(|&&x| x == l).count() as f64;
        let shared = |u: u32, v: u32| (0..n).filter(|&p| s[p] == u && g[p] == v).count() as f64;
        let (ks, kg) = (found.n_segments() as u32, truth.n_segments() as u32);
        let mut covering = 0.0;
        let mut variation = 0.0;
        for v in 0..kg {
            let mut best = 0.0_f64;
            for u in 0..ks {
                let n_uv = shared(u, v);
                best = best.max(n_uv / (size(s, u) + size(g, v) - n_uv));
            }
            covering += size(g, v) * best / n as f64;
        }
        let plogp = |x: f64| if x > 0.0 { x / n as f64 * (x / n as f64).log2() } else { 0.0 };
        for u in 0..ks {
            variation += plogp(size(s, u));
        }
        for v in 0..kg {
            variation += plogp(size(g, v));
        }
        for (u, v) in (0..ks).flat_map(|u| (0..kg).map(move |v| (u, v))) {
            variation -= 2.0 * plogp(shared(u, v));
        }
        let mut agreeing = 0;
        for p in 0..n {
            for q in 0..p {
                agreeing += usize::from((s[p] == s[q]) == (g[p] == g[q]));
            }
        }
        let rand_index = agreeing as f64 / (n * (n - 1) / 2) as f64;
        RegionScore { covering, rand_index, variation }
    }

    fn assert_near(a: RegionScore, b: RegionScore) {
        assert!((a.covering - b.covering).abs() < 1e-12, "{a:?} {b:?}");
        assert!((a.rand_index - b.rand_index).abs() < 1e-12, "{a:?} {b:?}");
        assert!((a.variation - b.variation).abs() < 1e-12, "{a:?} {b:?}");
    }

    #[test]
    fn scores_follow_the_definitions() {
        for seed in 0..20 {
            let (found, truth) = (random_map(60, 5, seed), random_map(60, 4, seed + 100));
            assert_near(Contingency::new(&found, &truth).unwrap().score(), naive(&found, &truth));
        }
    }

    #[test]
    fn a_map_agrees_with_itself_however_it_is_numbered() {
        let found = random_map(200, 7, 3);
        let renamed = map(1, 200, &found.as_slice().iter().map(|l| 50 - l).collect::<Vec<_>>());
        let score = Contingency::new(&found, &renamed).unwrap().score();
        assert_eq!(score, RegionScore { covering: 1.0, rand_index: 1.0, variation: 0.0 });
    }

    #[test]
    fn joined_segments_score_as_the_joined_map() {
        let (found, truth) = (random_map(300, 9, 1), random_map(300, 4, 2));
        let into = [0, 1, 0, 2, 2, 1, 3, 0, 3];
        let joined = map(1, 300, &found.as_slice().iter().map(|&l| into[l as usize]).collect::<Vec<_>>());
        let table = Contingency::new(&found, &truth).unwrap().joined(&into).unwrap();
        assert_near(table.score(), Contingency::new(&joined, &truth).unwrap().score());
        assert!(Contingency::new(&found, &truth).unwrap().joined(&into[..4]).is_err());
    }

    #[test]
    fn large_tables_are_sorted_instead_and_say_the_same() {
        let n = 6000;
        let found = map(1, n, &(0..n as u32).map(|p| p / 2).collect::<Vec<_>>());
        let truth = map(1, n, &(0..n as u32).map(|p| p / 3).collect::<Vec<_>>());
        assert!(found.n_segments() * truth.n_segments() > DENSE_LIMIT);
        let score = Contingency::new(&found, &truth).unwrap().score();
        // Blocks of six pixels repeat: sizes 2 2 2 against 3 3.
        let covering = 2.0 / 3.0;
        let variation = (4.0 * (1.5_f64).log2() + 2.0 * (2.0_f64.log2() + 3.0_f64.log2())) / 6.0;
        assert!((score.covering - covering).abs() < 1e-12 && (score.variation - variation).abs() < 1e-12);
    }

    #[test]
    fn voids_of_the_truth_do_not_count_and_voids_found_cover_nothing() {
        let v = LabelMap::VOID;
        let truth = map(1, 6, &[0, 0, 1, 1, v, v]);
        let whole = Contingency::new(&map(1, 6, &[0, 0, 1, 1, 2, 0]), &truth).unwrap();
        assert_eq!((whole.n_pixels(), whole.score().covering), (4, 1.0));
        let part = Contingency::new(&map(1, 6, &[0, 0, v, v, 0, 0]), &truth).unwrap();
        assert_eq!(part.score(), RegionScore { covering: 0.5, rand_index: 1.0, variation: 0.0 });
        assert_eq!(part.joined(&[0]).unwrap(), part);
    }

    #[test]
    fn maps_that_cannot_be_compared_are_refused() {
        let error = Contingency::new(&map(1, 4, &[0; 4]), &map(2, 2, &[0; 4])).unwrap_err();
        assert_eq!(error, Error::MapSizes { found: (1, 4), truth: (2, 2) });
        let void = map(1, 2, &[LabelMap::VOID; 2]);
        assert_eq!(Contingency::new(&map(1, 2, &[0, 0]), &void), Err(Error::NothingToCompare));
        let one = Contingency::new(&map(1, 1, &[0]), &map(1, 1, &[0])).unwrap().score();
        assert_eq!(one, RegionScore { covering: 1.0, rand_index: 1.0, variation: 0.0 });
    }
}
