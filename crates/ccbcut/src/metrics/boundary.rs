//! Boundary precision, recall and F, with exact one-to-one matching of pixels.
//!
//! A predicted boundary pixel may be matched with one true boundary pixel at most 0.0075 of the image diagonal away,
//! and none is matched twice. Of all matchings the largest count, and of these one with the smallest sum of Euclidean
//! distances is taken. Recall is the share of true pixels that are matched, summed over the ground truths of an
//! image; precision the share of predicted pixels that are matched with *any* of them; F = 2PR/(P + R).
//!
//! The benchmark's own program solves the same assignment with random outlier edges, so that its counts vary a little
//! from run to run; here they are exact and always the same.
//!
//! # References
//! D. Martin, C. Fowlkes, J. Malik, *Learning to Detect Natural Image Boundaries*, PAMI 2004; P. Arbeláez, M. Maire,
//! C. Fowlkes, J. Malik, *Contour Detection and Hierarchical Image Segmentation*, PAMI 2011.

use super::matching::{NONE, Pairs, minimum_cost_maximum_matching};
use crate::{
    error::{Error, Result},
    labels::LabelMap,
};

/// The most pairs of pixels within reach of each other that one matching holds in memory.
const MAX_PAIRS: usize = 1 << 28;
/// The most places within reach of a pixel.
const MAX_OFFSETS: usize = 1 << 24;
/// Distances are whole numbers of 2⁻²⁴ pixels, so that sums are exact and ties are ties.
const UNITS: f64 = (1_u32 << 24) as f64;

/// How far apart two matched pixels may be, as a share of the image diagonal: the benchmark's value.
pub const MAX_DISTANCE: f64 = 0.0075;

/// Which pixels of an image lie on a boundary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundaryMap {
    height: usize,
    width: usize,
    values: Vec<bool>,
}

impl BoundaryMap {
    /// A map from one value per pixel, row by row.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] when there is not one value per pixel, [`Error::TooLarge`] beyond 2³² − 2 pixels.
    pub fn new(height: usize, width: usize, values: Vec<bool>) -> Result<Self> {
        let (expected, limit) = (height.saturating_mul(width), u32::MAX as usize - 1);
        if values.len() != expected {
            return Err(Error::ShapeMismatch { what: "the boundary map", expected, got: values.len() });
        }
        if expected > limit {
            return Err(Error::TooLarge { what: "the number of pixels", requested: expected, limit });
        }
        Ok(Self { height, width, values })
    }

    /// The boundaries between the regions of a label map, thinned.
    ///
    /// A pixel is on a boundary when it, the one to its right, the one below it and the one below that to the right
    /// are not all of one label; at the right and the lower edge those that are there. (This is the crossing at the
    /// pixel's lower right corner on the doubled grid.) Void pixels count as one more region. The lines are then
    /// thinned as the benchmark does, and so are as thin as its ground truth.
    pub fn of_labels(labels: &LabelMap) -> Self {
        let (height, width, raw) = (labels.height(), labels.width(), labels.as_slice());
        let mut values = vec![false; raw.len()];
        for r in 0..height {
            let below = (r + 1).min(height - 1);
            for c in 0..width {
                let (here, right) = (raw[r * width + c], (c + 1).min(width - 1));
                values[r * width + c] = raw[r * width + right] != here
                    || raw[below * width + c] != here
                    || raw[below * width + right] != here;
            }
        }
        Self { height, width, values }.thinned()
    }

    /// The same lines one pixel wide: pixels are taken off their sides until none can go without breaking a line or
    /// shortening its end.
    ///
    /// # References
    /// L. Lam, S.-W. Lee, C. Y. Suen, *Thinning Methodologies*, PAMI 1992, the parallel algorithm of p. 879 (after
    /// Z. Guo and R. Hall).
    #[must_use]
    pub fn thinned(&self) -> Self {
        // A rim of empty pixels spares the tests at the edges.
        let across = self.width + 2;
        let mut padded = vec![false; across * (self.height + 2)];
        let mut lines = Vec::new();
        for (p, _) in self.values.iter().enumerate().filter(|&(_, &on)| on) {
            let at = (p / self.width + 1) * across + p % self.width + 1;
            padded[at] = true;
            lines.push(at);
        }
        let mut gone = Vec::new();
        loop {
            let before = lines.len();
            for turned in [false, true] {
                gone.clear();
                gone.extend(lines.iter().copied().filter(|&at| can_go(&padded, at, across, turned)));
                gone.iter().for_each(|&at| padded[at] = false);
                lines.retain(|&at| padded[at]);
            }
            if lines.len() == before {
                break;
            }
        }
        let mut values = vec![false; self.values.len()];
        for at in lines {
            values[(at / across - 1) * self.width + at % across - 1] = true;
        }
        Self { values, ..*self }
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// One value per pixel, row by row.
    pub fn as_slice(&self) -> &[bool] {
        &self.values
    }

    /// How many pixels lie on a boundary.
    pub fn n_pixels(&self) -> usize {
        self.values.iter().filter(|&&on| on).count()
    }

    /// The positions of the boundary pixels, in raster order.
    fn pixels(&self) -> Vec<u32> {
        (0..self.values.len() as u32).filter(|&p| self.values[p as usize]).collect()
    }
}

/// Whether thinning may take a pixel away; `turned` for the second half of a round, which works from the other sides.
fn can_go(padded: &[bool], at: usize, across: usize, turned: bool) -> bool {
    // The neighbours against the clock: east, north-east, north, …, south-east.
    let around = [
        at + 1,
        at + 1 - across,
        at - across,
        at - across - 1,
        at - 1,
        at + across - 1,
        at + across,
        at + across + 1,
    ];
    let x = around.map(|p| padded[p]);
    let on = |i: usize| x[i % 8];
    let crossings = (0..8).step_by(2).filter(|&i| !on(i) && (on(i + 1) || on(i + 2))).count();
    let halves = |first: usize| (first..first + 8).step_by(2).filter(|&i| on(i) || on(i + 1)).count();
    let turn = if turned { 4 } else { 0 };
    crossings == 1
        && (2..=3).contains(&halves(0).min(halves(1)))
        && !((on(turn + 1) || on(turn + 2) || !on(turn + 7)) && on(turn))
}

/// Which pixels of two boundary maps are matched with each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// Positions of the matched pairs: predicted, true; in raster order of the former.
    pub pairs: Vec<(u32, u32)>,
    /// The sum of the distances, in pixels.
    pub distance: f64,
}

/// The largest one-to-one matching of boundary pixels at most `max_distance` image diagonals apart, and among these one
/// of the smallest total distance.
///
/// Pixels that lie on top of each other are not matched beforehand: that can cost a match elsewhere.
///
/// # Errors
/// [`Error::MapSizes`] for maps of different sizes, [`Error::InvalidParameter`] for a distance that is negative or
/// above 1, [`Error::TooLarge`] when more than 2²⁸ pairs of pixels are within reach of each other.
///
/// # Complexity
/// O(E √V) for the size of the matching, and for the distances O(E log V) per pixel at worst; in practice a few
/// milliseconds for a photograph of 481 × 321 pixels.
pub fn match_boundaries(found: &BoundaryMap, truth: &BoundaryMap, max_distance: f64) -> Result<Match> {
    let sizes = |map: &BoundaryMap| (map.height, map.width);
    if sizes(found) != sizes(truth) {
        return Err(Error::MapSizes { found: sizes(found), truth: sizes(truth) });
    }
    if !(0.0..=1.0).contains(&max_distance) {
        let (name, expected) = ("the distance of a match", "a share of the image diagonal, 0 to 1");
        return Err(Error::InvalidParameter { name, value: max_distance, expected });
    }
    let (from, to) = (found.pixels(), truth.pixels());
    let pairs = pairs_within_reach(found, truth, &from, &to, max_distance)?;
    let partner = minimum_cost_maximum_matching(&pairs);
    let mut matched = Match { pairs: Vec::new(), distance: 0.0 };
    for (left, &right) in partner.iter().enumerate().filter(|&(_, &right)| right != NONE) {
        let (p, q) = (from[left], to[right as usize]);
        let apart = |axis: fn(u32, u32) -> u32| {
            f64::from(axis(p, found.width as u32).abs_diff(axis(q, found.width as u32)))
        };
        matched.distance += apart(|p, w| p / w).hypot(apart(|p, w| p % w));
        matched.pairs.push((p, q));
    }
    Ok(matched)
}

/// The pairs of pixels that may be matched, the nearest first for each predicted pixel.
fn pairs_within_reach(
    found: &BoundaryMap,
    truth: &BoundaryMap,
    from: &[u32],
    to: &[u32],
    max_distance: f64,
) -> Result<Pairs> {
    let (height, width) = (found.height as i64, found.width as i64);
    let reach = max_distance * ((height * height + width * width) as f64).sqrt();
    let steps = reach as i64;
    let requested = (2 * steps.min(height) as usize + 1).saturating_mul(2 * steps.min(width) as usize + 1);
    if requested > MAX_OFFSETS {
        return Err(Error::TooLarge {
            what: "the number of places within reach",
            requested,
            limit: MAX_OFFSETS,
        });
    }
    let mut offsets = Vec::new();
    for dr in -steps.min(height - 1)..=steps.min(height - 1) {
        for dc in -steps.min(width - 1)..=steps.min(width - 1) {
            let squared = dr * dr + dc * dc;
            if squared as f64 <= reach * reach {
                offsets.push((squared, dr, dc));
            }
        }
    }
    offsets.sort_unstable();
    let mut number = vec![NONE; truth.values.len()];
    to.iter().zip(0..).for_each(|(&p, n)| number[p as usize] = n);
    let (mut starts, mut right, mut cost) = (Vec::with_capacity(from.len() + 1), Vec::new(), Vec::new());
    starts.push(0);
    for &p in from {
        let (r, c) = (i64::from(p) / width, i64::from(p) % width);
        for &(squared, dr, dc) in &offsets {
            let (r, c) = (r + dr, c + dc);
            if r < 0 || c < 0 || r >= height || c >= width {
                continue;
            }
            let other = number[(r * width + c) as usize];
            if other != NONE {
                right.push(other);
                cost.push(((squared as f64).sqrt() * UNITS).round() as i64);
            }
        }
        if right.len() > MAX_PAIRS {
            let what = "the number of boundary pixels within reach of each other";
            return Err(Error::TooLarge { what, requested: right.len(), limit: MAX_PAIRS });
        }
        starts.push(right.len());
    }
    Ok(Pairs { n_right: to.len(), starts, right, cost })
}

/// How many boundary pixels there are and how many are matched, of one image or summed over several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct BoundaryCounts {
    /// True pixels that are matched, summed over the ground truths.
    pub matched_truth: u64,
    /// True pixels, summed over the ground truths.
    pub total_truth: u64,
    /// Predicted pixels that are matched with any ground truth.
    pub matched_found: u64,
    /// Predicted pixels.
    pub total_found: u64,
}

impl BoundaryCounts {
    /// Compares a prediction with several ground truths of one image.
    ///
    /// # Errors
    /// [`Error::NothingToCompare`] without ground truths, and as [`match_boundaries`].
    ///
    /// ```
    /// use ccbcut::{LabelMap, metrics::{BoundaryCounts, BoundaryMap, MAX_DISTANCE}};
    /// let split = |column: usize| {
    ///     let raw: Vec<u32> = (0..200 * 200).map(|p| u32::from(p % 200 > column)).collect();
    ///     Ok::<_, ccbcut::Error>(BoundaryMap::of_labels(&LabelMap::new(200, 200, &raw)?))
    /// };
    /// // Two pixels beside the truth is near enough in an image of this size, ten are not.
    /// let truths = [split(100)?, split(110)?];
    /// let counts = BoundaryCounts::new(&split(102)?, &truths, MAX_DISTANCE)?;
    /// assert_eq!((counts.precision(), counts.recall()), (1.0, 0.5));
    /// # Ok::<(), ccbcut::Error>(())
    /// ```
    pub fn new(found: &BoundaryMap, truths: &[BoundaryMap], max_distance: f64) -> Result<Self> {
        if truths.is_empty() {
            return Err(Error::NothingToCompare);
        }
        let mut is_matched = vec![false; found.values.len()];
        let mut counts = Self { total_found: found.n_pixels() as u64, ..Self::default() };
        for truth in truths {
            let matched = match_boundaries(found, truth, max_distance)?;
            counts.total_truth += truth.n_pixels() as u64;
            counts.matched_truth += matched.pairs.len() as u64;
            matched.pairs.iter().for_each(|&(p, _)| is_matched[p as usize] = true);
        }
        counts.matched_found = is_matched.iter().filter(|&&m| m).count() as u64;
        Ok(counts)
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            matched_truth: self.matched_truth + other.matched_truth,
            total_truth: self.total_truth + other.total_truth,
            matched_found: self.matched_found + other.matched_found,
            total_found: self.total_found + other.total_found,
        }
    }

    /// The share of predicted pixels that are matched; 0 when there is none.
    pub fn precision(&self) -> f64 {
        self.matched_found as f64 / self.total_found.max(1) as f64
    }

    /// The share of true pixels that are matched; 0 when there is none.
    pub fn recall(&self) -> f64 {
        self.matched_truth as f64 / self.total_truth.max(1) as f64
    }

    /// The harmonic mean of precision and recall.
    pub fn f_measure(&self) -> f64 {
        f_measure(self.recall(), self.precision())
    }
}

fn f_measure(recall: f64, precision: f64) -> f64 {
    if recall + precision > 0.0 { 2.0 * recall * precision / (recall + precision) } else { 0.0 }
}

/// A family's boundary scores on a data set.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct BoundaryScore {
    /// The best F of one parameter for all images, along straight lines between neighbouring parameters.
    pub ods: f64,
    /// F of the counts of every image at its own best parameter.
    pub ois: f64,
    /// Area under the curve of precision over recall.
    pub average_precision: f64,
    /// Recall and precision at the ODS.
    pub recall: f64,
    /// See `recall`.
    pub precision: f64,
    /// Position of the parameter, of those computed, with the best F for all images.
    pub at: usize,
}

/// Pools the images of a data set; for each image the counts by parameter.
///
/// # Errors
/// [`Error::NothingToCompare`] without images or parameters; [`Error::ShapeMismatch`] when an image has another number
/// of parameters than the first.
pub fn pool_boundaries(images: &[Vec<BoundaryCounts>]) -> Result<BoundaryScore> {
    let n = images.first().map_or(0, Vec::len);
    if n == 0 {
        return Err(Error::NothingToCompare);
    }
    if let Some(other) = images.iter().find(|image| image.len() != n) {
        let what = "the family of an image";
        return Err(Error::ShapeMismatch { what, expected: n, got: other.len() });
    }
    let mut all = vec![BoundaryCounts::default(); n];
    let mut own = BoundaryCounts::default();
    for image in images {
        for (sum, counts) in all.iter_mut().zip(image) {
            *sum = sum.plus(*counts);
        }
        own = own.plus(image[best_position(image)]);
    }
    let curve: Vec<(f64, f64)> = all.iter().map(|counts| (counts.recall(), counts.precision())).collect();
    let mut best = (f_measure(curve[0].0, curve[0].1), curve[0]);
    for pair in curve.windows(2) {
        for step in 1..100 {
            let share = f64::from(step) / 99.0;
            let between = |a: f64, b: f64| b * share + a * (1.0 - share);
            let point = (between(pair[0].0, pair[1].0), between(pair[0].1, pair[1].1));
            let f = f_measure(point.0, point.1);
            if f > best.0 {
                best = (f, point);
            }
        }
    }
    Ok(BoundaryScore {
        ods: best.0,
        ois: own.f_measure(),
        average_precision: average_precision(curve),
        recall: best.1.0,
        precision: best.1.1,
        at: best_position(&all),
    })
}

/// The position of the best F, the last one of equals.
fn best_position(counts: &[BoundaryCounts]) -> usize {
    let mut best = (f64::NEG_INFINITY, 0);
    for (position, counts) in counts.iter().enumerate() {
        if counts.f_measure() >= best.0 {
            best = (counts.f_measure(), position);
        }
    }
    best.1
}

/// The mean precision at recalls 0, 0.01, …, 1, on straight lines between the points of the curve and 0 beyond its
/// ends, times 1.01 as there are 101 of them; of points with the same recall the most precise counts.
fn average_precision(mut curve: Vec<(f64, f64)>) -> f64 {
    curve.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
    curve.dedup_by_key(|point| point.0);
    let at = |recall: f64| {
        let next = curve.partition_point(|point| point.0 < recall);
        match (curve.get(next), next.checked_sub(1)) {
            (Some(&(r, p)), _) if r == recall => p,
            (Some(&(r, p)), Some(before)) => {
                let (r0, p0) = curve[before];
                p0 + (p - p0) * (recall - r0) / (r - r0)
            }
            _ => 0.0,
        }
    };
    if curve.len() < 2 { 0.0 } else { (0..=100).map(|i| at(f64::from(i) / 100.0)).sum::<f64>() * 0.01 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn map(rows: &[&str]) -> BoundaryMap {
        let values = rows.iter().flat_map(|row| row.bytes().map(|b| b == b'#')).collect();
        BoundaryMap::new(rows.len(), rows[0].len(), values).unwrap()
    }

    /// The best size and the least distance of all matchings.
    fn brute_force(from: &[(f64, f64)], to: &[(f64, f64)], taken: u32, reach: f64) -> (usize, f64) {
        let Some((&(r, c), rest)) = from.split_first() else { return (0, 0.0) };
        let mut best = brute_force(rest, to, taken, reach);
        for (i, &(r2, c2)) in to.iter().enumerate() {
            let apart = (r - r2).hypot(c - c2);
            if taken >> i & 1 == 0 && apart <= reach {
                let (size, distance) = brute_force(rest, to, taken | 1 << i, reach);
                let other = (size + 1, distance + apart);
                if other.0 > best.0 || other.0 == best.0 && other.1 < best.1 {
                    best = other;
                }
            }
        }
        best
    }

    #[test]
    fn matchings_are_as_large_and_as_short_as_can_be() {
        let mut random = Random::new(3);
        let mut sizes = [0; 9];
        for round in 0..400 {
            let (height, width) = (2 + random.below(6), 2 + random.below(6));
            let mut draw = |n: usize| {
                let mut values = vec![false; height * width];
                (0..n).for_each(|_| values[random.below(height * width)] = true);
                BoundaryMap::new(height, width, values).unwrap()
            };
            let (found, truth) = (draw(1 + round % 7), draw(1 + round % 5));
            let share = [0.0, 0.15, 0.3, 0.5][round % 4];
            let reach = share * (height as f64).hypot(width as f64);
            let places = |map: &BoundaryMap| -> Vec<(f64, f64)> {
                map.pixels()
                    .iter()
                    .map(|&p| ((p as usize / width) as f64, (p as usize % width) as f64))
                    .collect()
            };
            let matched = match_boundaries(&found, &truth, share).unwrap();
            let (size, distance) = brute_force(&places(&found), &places(&truth), 0, reach);
            assert_eq!(matched.pairs.len(), size, "round {round}");
            assert!((matched.distance - distance).abs() < 1e-6, "{} and {distance}", matched.distance);
            let distinct = |pick: fn(&(u32, u32)) -> u32| {
                let mut all: Vec<u32> = matched.pairs.iter().map(pick).collect();
                all.sort_unstable();
                all.dedup();
                all.len()
            };
            assert_eq!([distinct(|p| p.0), distinct(|p| p.1)], [size; 2]);
            assert!(matched.pairs.iter().all(|&(p, q)| found.values[p as usize] && truth.values[q as usize]));
            sizes[size] += 1;
        }
        assert!(sizes[0] > 0 && sizes[3] > 20, "{sizes:?}");
    }

    #[test]
    fn coincident_pixels_give_way_when_that_makes_one_more_match() {
        let (found, truth) = (map(&["##.", "..."]), map(&[".##", "..."]));
        let matched = match_boundaries(&found, &truth, 0.3).unwrap();
        assert_eq!((matched.pairs, matched.distance), (vec![(0, 1), (1, 2)], 2.0));
    }

    #[test]
    fn boundaries_are_where_a_block_of_four_has_two_labels() {
        let labels = LabelMap::new(3, 4, &[0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 2, 2]).unwrap();
        // Before thinning: `.#..`, `####`, `....`.
        assert_eq!(BoundaryMap::of_labels(&labels), map(&[".#..", "####", "...."]).thinned());
        let one = LabelMap::new(2, 2, &[0; 4]).unwrap();
        assert_eq!(BoundaryMap::of_labels(&one).n_pixels(), 0);
        let single = LabelMap::new(1, 1, &[0]).unwrap();
        assert_eq!(BoundaryMap::of_labels(&single).n_pixels(), 0);
    }

    #[test]
    fn thinning_leaves_lines_of_one_pixel_in_one_piece() {
        let thick = map(&["..........", ".########.", ".########.", ".########.", ".........."]);
        assert_eq!(
            thick.thinned(),
            map(&["..........", "..........", "..######..", "..........", ".........."])
        );
        let line = map(&["#...", ".#..", "..##", "...."]);
        assert_eq!(line.thinned(), line);
        let stairs = map(&["##...", ".##..", "..##.", "...##"]);
        assert_eq!(stairs.thinned().n_pixels(), 5);
        assert_eq!(stairs.thinned().thinned(), stairs.thinned());
    }

    #[test]
    fn precision_counts_matches_with_any_truth_and_recall_with_each() {
        let found = map(&["#...#", ".....", "....."]);
        let truths = [map(&["#....", ".....", "....."]), map(&["#....", ".....", "#...."])];
        let counts = BoundaryCounts::new(&found, &truths, 0.0).unwrap();
        let expected = BoundaryCounts { matched_truth: 2, total_truth: 3, matched_found: 1, total_found: 2 };
        assert_eq!(counts, expected);
        assert!((counts.f_measure() - 2.0 * (2.0 / 3.0) * 0.5 / (2.0 / 3.0 + 0.5)).abs() < 1e-15);
        let nothing = map(&[".....", ".....", "....."]);
        let counts = BoundaryCounts::new(&nothing, &truths, 0.0).unwrap();
        assert_eq!((counts.precision(), counts.recall(), counts.f_measure()), (0.0, 0.0, 0.0));
        assert_eq!(BoundaryCounts::new(&found, &[], 0.0), Err(Error::NothingToCompare));
        assert!(BoundaryCounts::new(&found, &[map(&["#"])], 0.0).is_err());
        assert!(BoundaryCounts::new(&found, &truths, -0.1).is_err());
        assert!(BoundaryMap::new(2, 2, vec![true]).is_err());
    }

    #[test]
    fn a_family_has_one_best_parameter_or_one_per_image() {
        let counts = |matched: u64, found: u64| BoundaryCounts {
            matched_truth: matched,
            total_truth: 10,
            matched_found: matched,
            total_found: found,
        };
        let first = vec![counts(10, 10), counts(5, 5), counts(0, 0)];
        let second = vec![counts(10, 40), counts(8, 8), counts(0, 0)];
        let score = pool_boundaries(&[first.clone(), second]).unwrap();
        // Pooled: (recall, precision) = (1, 20/50), (13/20, 1), (0, 0).
        assert_eq!(score.at, 1);
        assert!(score.ods >= f_measure(0.65, 1.0) && score.ods < 0.83, "{}", score.ods);
        assert!((score.ois - f_measure(18.0 / 20.0, 18.0 / 18.0)).abs() < 1e-15);
        assert!((f_measure(score.recall, score.precision) - score.ods).abs() < 1e-15);
        // One line rises to (0.65, 1), the other falls to (1, 0.4).
        let area = 0.5 * 0.65 + 0.35 * 0.7;
        assert!((score.average_precision - area).abs() < 0.01, "{}", score.average_precision);
        assert_eq!(pool_boundaries(&[]), Err(Error::NothingToCompare));
        assert!(pool_boundaries(&[first.clone(), first[..2].to_vec()]).is_err());
    }
}
