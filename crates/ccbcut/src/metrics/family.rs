//! One number for a family of segmentations: the best parameter for the data set (ODS), for each image (OIS), and the
//! best region wherever it appears (Best).
//!
//! The parameter is a threshold of a hierarchy, a number of parts, or a place in a list. Covering is pooled over all
//! ground truths of all images, by pixels; PRI and VI are means over the ground truths of an image, then over images.

use super::{Contingency, RegionScore};
use crate::error::{Error, Result};

/// What one image adds: its scores for every value of the parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct ImageFamily {
    /// By parameter: pixels of the ground truths, each weighted by its region's best overlap, summed over truths.
    covered: Vec<f64>,
    /// Pixels of all ground truths.
    total: f64,
    /// By parameter: means over the ground truths.
    rand_index: Vec<f64>,
    variation: Vec<f64>,
    /// As `covered`, each region at its own best parameter.
    best_covered: f64,
}

/// A family's scores on a data set.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FamilyScore {
    /// Covering: one parameter for all images.
    pub covering_ods: f64,
    /// Covering: the best parameter for each image.
    pub covering_ois: f64,
    /// Covering: the best parameter for each region.
    pub covering_best: f64,
    /// Probabilistic Rand index: one parameter for all images.
    pub pri_ods: f64,
    /// Probabilistic Rand index: the best parameter for each image.
    pub pri_ois: f64,
    /// Variation of information: one parameter for all images.
    pub vi_ods: f64,
    /// Variation of information: the best parameter for each image.
    pub vi_ois: f64,
    /// Position of the parameter that gave each ODS: covering, PRI, VI.
    pub at: [usize; 3],
}

impl ImageFamily {
    /// Takes the tables of one image: for each parameter one table per ground truth, in the same order of truths.
    ///
    /// # Errors
    /// [`Error::NothingToCompare`] without parameters or truths, [`Error::ShapeMismatch`] when the number of truths
    /// changes with the parameter.
    pub fn new(tables: &[Vec<Contingency>]) -> Result<Self> {
        let n_truths = tables.first().map_or(0, Vec::len);
        if n_truths == 0 {
            return Err(Error::NothingToCompare);
        }
        if let Some(other) = tables.iter().find(|t| t.len() != n_truths) {
            return Err(Error::ShapeMismatch {
                what: "the list of ground truths",
                expected: n_truths,
                got: other.len(),
            });
        }
        let scores: Vec<Vec<RegionScore>> =
            tables.iter().map(|truths| truths.iter().map(Contingency::score).collect()).collect();
        let pixels: Vec<f64> = tables[0].iter().map(|table| table.n_pixels() as f64).collect();
        let pooled = |s: &Vec<RegionScore>| s.iter().zip(&pixels).map(|(s, n)| s.covering * n).sum();
        let mut best_covered = 0.0;
        for truth in 0..n_truths {
            let mut best = vec![0.0_f64; tables[0][truth].regions().len()];
            for table in tables {
                for (best, overlap) in best.iter_mut().zip(table[truth].best_overlaps()) {
                    *best = best.max(overlap);
                }
            }
            let regions = tables[0][truth].regions();
            best_covered += best.iter().zip(regions).map(|(o, &b)| o * b as f64).sum::<f64>();
        }
        let means: Vec<RegionScore> = scores.iter().map(|s| RegionScore::mean(s)).collect();
        Ok(Self {
            covered: scores.iter().map(pooled).collect(),
            total: pixels.iter().sum(),
            rand_index: means.iter().map(|m| m.rand_index).collect(),
            variation: means.iter().map(|m| m.variation).collect(),
            best_covered,
        })
    }

    /// How many values of the parameter there are.
    pub fn len(&self) -> usize {
        self.covered.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.covered.is_empty()
    }

    /// The covering at one value of the parameter, pooled over the ground truths.
    pub fn covering(&self, parameter: usize) -> f64 {
        self.covered[parameter] / self.total
    }
}

/// Pools the images of a data set.
///
/// # Errors
/// [`Error::NothingToCompare`] without images; [`Error::ShapeMismatch`] when an image has another number of
/// parameters than the first.
pub fn pool(images: &[ImageFamily]) -> Result<FamilyScore> {
    let n = images.first().map(ImageFamily::len).ok_or(Error::NothingToCompare)?;
    if let Some(other) = images.iter().find(|image| image.len() != n) {
        let what = "the family of an image";
        return Err(Error::ShapeMismatch { what, expected: n, got: other.len() });
    }
    let total: f64 = images.iter().map(|image| image.total).sum();
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / images.len() as f64;
    let (higher, lower) = (f64::max as fn(f64, f64) -> f64, f64::min as fn(f64, f64) -> f64);
    let of_all =
        |pick: fn(&ImageFamily) -> &[f64], t: usize| images.iter().map(|i| pick(i)[t]).collect::<Vec<_>>();
    let of_each = |pick: fn(&ImageFamily) -> &[f64], better: fn(f64, f64) -> f64| {
        images.iter().filter_map(|i| pick(i).iter().copied().reduce(better)).collect::<Vec<_>>()
    };
    let covered: fn(&ImageFamily) -> &[f64] = |i| &i.covered;
    let rand_index: fn(&ImageFamily) -> &[f64] = |i| &i.rand_index;
    let variation: fn(&ImageFamily) -> &[f64] = |i| &i.variation;
    let (at_covering, covering_ods) =
        best_of((0..n).map(|t| of_all(covered, t).iter().sum::<f64>() / total), higher);
    let (at_pri, pri_ods) = best_of((0..n).map(|t| mean(of_all(rand_index, t))), higher);
    let (at_vi, vi_ods) = best_of((0..n).map(|t| mean(of_all(variation, t))), lower);
    Ok(FamilyScore {
        covering_ods,
        covering_ois: of_each(covered, higher).iter().sum::<f64>() / total,
        covering_best: images.iter().map(|i| i.best_covered).sum::<f64>() / total,
        pri_ods,
        pri_ois: mean(of_each(rand_index, higher)),
        vi_ods,
        vi_ois: mean(of_each(variation, lower)),
        at: [at_covering, at_pri, at_vi],
    })
}

/// The best value and its first position.
fn best_of(values: impl Iterator<Item = f64>, better: fn(f64, f64) -> f64) -> (usize, f64) {
    let mut best: Option<(usize, f64)> = None;
    for (t, value) in values.enumerate() {
        if best.is_none_or(|(_, b)| better(b, value) != b) {
            best = Some((t, value));
        }
    }
    best.unwrap_or((0, f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::LabelMap;

    fn table(found: &[u32], truth: &[u32]) -> Contingency {
        let map = |raw: &[u32]| LabelMap::new(1, raw.len(), raw).unwrap();
        Contingency::new(&map(found), &map(truth)).unwrap()
    }

    #[test]
    fn ods_takes_one_parameter_ois_one_per_image_best_one_per_region() {
        let (halves, thirds, one) = ([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2], [0; 6]);
        // The first image is right at parameter 0, the second at parameter 1.
        let first = ImageFamily::new(&[vec![table(&halves, &halves)], vec![table(&one, &halves)]]).unwrap();
        let second = ImageFamily::new(&[
            vec![table(&one, &thirds), table(&one, &one)],
            vec![table(&thirds, &thirds), table(&thirds, &one)],
        ])
        .unwrap();
        let score = pool(&[first.clone(), second.clone()]).unwrap();
        let third = 1.0 / 3.0;
        // Pooled by pixels: three truths of six pixels.
        assert!((score.covering_ods - (1.0 + third + 1.0) / 3.0).abs() < 1e-15 && score.at[0] == 0);
        assert!((score.covering_ois - (1.0 + 1.0 + third) / 3.0).abs() < 1e-15);
        assert_eq!(score.covering_best, 1.0);
        let agree = 0.2;
        assert!((score.pri_ods - f64::midpoint(1.0, f64::midpoint(agree, 1.0))).abs() < 1e-15);
        assert!((score.vi_ois - 0.25 * 3.0_f64.log2()).abs() < 1e-15);
        assert_eq!((first.len(), first.is_empty(), first.covering(0)), (2, false, 1.0));
    }

    #[test]
    fn families_that_do_not_fit_together_are_refused() {
        let t = table(&[0, 1], &[0, 1]);
        let one = ImageFamily::new(&[vec![t.clone()]]).unwrap();
        let two = ImageFamily::new(&[vec![t.clone()], vec![t.clone()]]).unwrap();
        assert!(matches!(pool(&[one, two]), Err(Error::ShapeMismatch { expected: 1, got: 2, .. })));
        assert_eq!(pool(&[]), Err(Error::NothingToCompare));
        assert_eq!(ImageFamily::new(&[]), Err(Error::NothingToCompare));
        assert!(ImageFamily::new(&[vec![t.clone()], vec![t.clone(), t]]).is_err());
    }
}
