//! The paper's way to score a method that is told the number of parts.
//!
//! | name | what is averaged |
//! |---|---|
//! | `fixed` | runs with k = each number of regions that a ground truth of the image has (each once), against all ground truths |
//! | `dynamic` | for each score, the best k of 5, 10, 15, 20, 25 by its mean over the ground truths |
//! | `dynamic-best-gt` | for each score, the best of these k and of the ground truths |
//!
//! Tables hold means over images. The paper says "dynamic"; the figures it prints are met by the third line, the
//! benchmark's own way is the second (see `docs/paper-map.md`).

use super::RegionScore;
use crate::error::{Error, Result};

/// The numbers of parts that `dynamic` chooses from.
pub const DYNAMIC: [usize; 5] = [5, 10, 15, 20, 25];

/// The scores of one image under the three protocols.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Protocol {
    /// The number of parts is that of a ground truth.
    pub fixed: RegionScore,
    /// The best number of parts for each score.
    pub dynamic: RegionScore,
    /// The best number of parts and the best ground truth for each score.
    pub dynamic_best_gt: RegionScore,
}

/// The numbers of parts that an image must be cut into, in increasing order: those of its ground truths, and
/// [`DYNAMIC`].
pub fn needed_parts(truth_counts: &[usize]) -> Vec<usize> {
    let mut all: Vec<usize> = truth_counts.iter().chain(&DYNAMIC).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

impl Protocol {
    /// Scores one image from its runs: for each number of parts, the scores against every ground truth.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] naming a number of parts that is needed and missing;
    /// [`Error::NothingToCompare`] without ground truths.
    pub fn new(runs: &[(usize, Vec<RegionScore>)], truth_counts: &[usize]) -> Result<Self> {
        let run = |k: usize| -> Result<&[RegionScore]> {
            let found = runs.iter().find(|(n, _)| *n == k).map(|(_, scores)| scores.as_slice());
            let missing = Error::InvalidParameter {
                name: "the number of parts",
                value: k as f64,
                expected: "among the runs: the protocol needs it",
            };
            found.ok_or(missing)
        };
        let mut counts = truth_counts.to_vec();
        counts.sort_unstable();
        counts.dedup();
        let fixed = counts.iter().map(|&k| Ok(RegionScore::mean(run(k)?))).collect::<Result<Vec<_>>>()?;
        let mut means = Vec::new();
        let mut singles = Vec::new();
        for k in DYNAMIC {
            means.push(RegionScore::mean(run(k)?));
            singles.extend_from_slice(run(k)?);
        }
        let best =
            |all: Vec<RegionScore>| all.into_iter().reduce(RegionScore::best).ok_or(Error::NothingToCompare);
        if fixed.is_empty() {
            return Err(Error::NothingToCompare);
        }
        Ok(Self { fixed: RegionScore::mean(&fixed), dynamic: best(means)?, dynamic_best_gt: best(singles)? })
    }

    /// Means over images.
    pub fn mean(images: &[Self]) -> Self {
        let mean =
            |pick: fn(&Self) -> RegionScore| RegionScore::mean(&images.iter().map(pick).collect::<Vec<_>>());
        Self {
            fixed: mean(|p| p.fixed),
            dynamic: mean(|p| p.dynamic),
            dynamic_best_gt: mean(|p| p.dynamic_best_gt),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(covering: f64, variation: f64) -> RegionScore {
        RegionScore { covering, rand_index: covering / 2.0, variation }
    }

    #[test]
    fn each_protocol_takes_its_own_best() {
        let mut runs: Vec<(usize, Vec<RegionScore>)> =
            DYNAMIC.iter().map(|&k| (k, vec![score(0.2, 3.0), score(0.4, 2.0)])).collect();
        runs[1].1 = vec![score(0.9, 2.5), score(0.1, 2.5)];
        runs.push((7, vec![score(0.6, 1.0), score(0.8, 1.0)]));
        // Two of three annotators drew seven regions: that run counts once.
        let p = Protocol::new(&runs, &[7, 5, 7]).unwrap();
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-15, "{a} {b}");
        near(p.fixed.covering, 0.5);
        near(p.fixed.variation, 1.75);
        near(p.dynamic.covering, 0.5);
        near(p.dynamic.variation, 2.5);
        near(p.dynamic_best_gt.covering, 0.9);
        near(p.dynamic_best_gt.variation, 2.0);
        near(Protocol::mean(&[p, p]).dynamic_best_gt.rand_index, 0.45);
        assert_eq!(needed_parts(&[7, 5, 7, 30]), [5, 7, 10, 15, 20, 25, 30]);
    }

    #[test]
    fn a_missing_run_is_named() {
        let runs = vec![(5, vec![score(0.2, 3.0)])];
        let error = Protocol::new(&runs, &[5]).unwrap_err().to_string();
        assert!(error.contains("the number of parts is 10"), "{error}");
        assert!(Protocol::new(&[], &[]).is_err());
    }
}
