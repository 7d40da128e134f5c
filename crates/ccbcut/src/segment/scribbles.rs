//! Strokes on an image, as constraints of the graph that is cut.

use std::collections::BTreeMap;

use super::{
    Segmenter,
    grid::{Coarse, Grid},
};
use crate::{
    constraints::Constraints,
    error::{Error, Result},
    labels::{LabelMap, Labels},
    regions::RegionMap,
};

/// The error for strokes that a multiway cut cannot keep to.
pub(super) fn only_hierarchical() -> Error {
    Error::InvalidParameter { name: "scribbles", value: 1.0, expected: "a hierarchical cut" }
}

impl Segmenter {
    /// Seeds of the coarse graph: each vertex gets the name of most strokes in its cell, the lowest on ties.
    pub(super) fn constraints(
        &self,
        coarse: &Coarse<'_>,
        grid: &Grid<'_>,
        levels: usize,
    ) -> Result<Constraints> {
        let Some(names) = self.strokes(grid.height * grid.width)? else { return Ok(Constraints::new()) };
        let (height, width) = (grid.height >> levels, grid.width >> levels);
        let mut votes: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        for &p in grid.pixels() {
            let name = names[p as usize];
            if name > 0 {
                let (r, c) = (p as usize / grid.width, p as usize % grid.width);
                let cell = (r >> levels).min(height - 1) * width + (c >> levels).min(width - 1);
                if let Some(vertex) = coarse.vertex_of(cell as u32) {
                    *votes.entry((vertex, name)).or_default() += 1;
                }
            }
        }
        seeds(&votes, names, grid.pixels().iter().map(|&p| p as usize))
    }

    /// Seeds of the regions of an image, likewise.
    pub(super) fn region_constraints(&self, regions: &RegionMap) -> Result<Constraints> {
        let values = regions.as_slice();
        let Some(names) = self.strokes(values.len())? else { return Ok(Constraints::new()) };
        let mut votes: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        for (&region, &name) in
            values.iter().zip(names).filter(|&(&r, &name)| r != LabelMap::VOID && name > 0)
        {
            *votes.entry((region, name)).or_default() += 1;
        }
        seeds(&votes, names, (0..values.len()).filter(|&p| values[p] != LabelMap::VOID))
    }

    fn strokes(&self, n: usize) -> Result<Option<&[u32]>> {
        match self.scribbles.as_deref() {
            Some(names) if names.len() != n => {
                Err(Error::ShapeMismatch { what: "the scribbles", expected: n, got: names.len() })
            }
            names => Ok(names),
        }
    }

    /// Every pixel of a stroke to the part of its name, whatever the way up to the pixels did to it; a name in several parts
    /// stays as it is.
    pub(super) fn honour_strokes(&self, constraints: &Constraints, parts: &Labels, leaves: &mut [u32]) {
        let Some(names) = self.scribbles.as_deref() else { return };
        let mut part_of: BTreeMap<u32, Option<u32>> = BTreeMap::new();
        for &(v, name) in constraints.seeds() {
            let part = parts.as_slice()[v as usize];
            let entry = part_of.entry(name).or_insert(Some(part));
            *entry = entry.filter(|&own| own == part);
        }
        for (leaf, name) in leaves.iter_mut().zip(names).filter(|(leaf, _)| **leaf != LabelMap::VOID) {
            if let Some(&Some(part)) = part_of.get(name) {
                *leaf = part;
            }
        }
    }
}

/// The name with most votes per vertex; every name that was drawn must have a vertex.
fn seeds(
    votes: &BTreeMap<(u32, u32), usize>,
    names: &[u32],
    pixels: impl Iterator<Item = usize>,
) -> Result<Constraints> {
    let mut best: BTreeMap<u32, (usize, u32)> = BTreeMap::new();
    for (&(vertex, name), &count) in votes {
        let entry = best.entry(vertex).or_insert((count, name));
        if count > entry.0 {
            *entry = (count, name);
        }
    }
    let mut drawn: Vec<u32> = pixels.map(|p| names[p]).filter(|&name| name > 0).collect();
    drawn.sort_unstable();
    drawn.dedup();
    if let Some(&lost) = drawn.iter().find(|&&name| !best.values().any(|&(_, kept)| kept == name)) {
        let expected = "strokes that are not all hidden by others in the cells that are cut: longer ones, or finer cells";
        return Err(Error::InvalidParameter { name: "the scribble", value: f64::from(lost), expected });
    }
    Ok(best.into_iter().fold(Constraints::new(), |all, (vertex, (_, name))| all.seed(vertex, name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Control, Graph, Image, Method,
        embedding::Warm,
        image::volume::Volume,
        regions::{RegionGraph, Slic},
    };

    /// A gray ramp with a little texture, and two strokes in its left half.
    fn scene() -> (Image, Vec<u32>) {
        let shade = |p: usize| 0.2 + 0.01 * (p % 48) as f32 + 0.002 * (p * 7 % 5) as f32;
        let image = Image::new(32, 48, 1, (0..32 * 48).map(shade).collect()).unwrap();
        let mut names = vec![0; 32 * 48];
        for r in 4..28 {
            (names[r * 48 + 5], names[r * 48 + 14]) = (3, 9);
        }
        (image, names)
    }

    fn holds(labels: &LabelMap, names: &[u32]) -> bool {
        let of = |name: u32| -> Vec<u32> {
            let mut parts: Vec<u32> =
                labels.as_slice().iter().zip(names).filter(|&(_, &n)| n == name).map(|(&l, _)| l).collect();
            parts.sort_unstable();
            parts.dedup();
            parts
        };
        of(3).len() == 1 && of(9).len() == 1 && of(3) != of(9)
    }

    #[test]
    fn strokes_are_honoured_to_the_pixel() {
        let (image, names) = scene();
        for levels in 0..3 {
            for k in [2, 4] {
                let plain = Segmenter::new(k, 1.25).levels(levels);
                let cut = plain.clone().scribbles(names.clone()).segment(&image).unwrap();
                assert!(holds(&cut.labels, &names), "{levels} levels, {k} parts");
                assert_eq!(cut.labels.n_segments(), k);
                let without = plain.segment(&image).unwrap();
                assert!(k > 2 || !holds(&without.labels, &names), "the strokes change nothing");
            }
        }
        let volume = Volume::of_image(&image).unwrap();
        let regions = Slic::new(120).fit(&volume, None).unwrap();
        let graph: Graph = RegionGraph::new(&regions).colors(&volume, 10.0).unwrap().build().unwrap();
        let cut = Segmenter::new(3, 1.25).scribbles(names.clone());
        let cut = cut.segment_regions(&regions, &graph, &mut Control::new()).unwrap();
        assert!(cut.labels.n_segments() == 3 && holds(&cut.labels, &names));
    }

    #[test]
    fn strokes_that_cannot_hold_are_errors() {
        let (image, mut names) = scene();
        let segmenter = Segmenter::new(2, 1.25).levels(2);
        assert!(segmenter.clone().scribbles(vec![0; 7]).segment(&image).is_err());
        let multiway = segmenter.clone().scribbles(names.clone()).partitioner(|p| p.method(Method::Multiway));
        assert!(multiway.segment(&image).is_err());
        names[40 * 20] = 11;
        assert!(matches!(
            segmenter.clone().scribbles(names.clone()).segment(&image),
            Err(Error::TooManySeeds { seeds: 3, segments: 2 })
        ));
        // One pixel of another stroke inside a cell that is full of the first.
        names[40 * 20] = 0;
        (0..32 * 48).for_each(|p| names[p] = if p % 48 < 24 { 3 } else { 0 });
        names[10 * 48 + 10] = 9;
        let error = segmenter.scribbles(names).segment(&image).unwrap_err().to_string();
        assert!(error.contains("finer cells"), "{error}");
    }

    #[test]
    fn a_prepared_image_keeps_to_strokes_cold_warm_and_painted() {
        let (image, names) = scene();
        let with = |k: usize, tau: f64| Segmenter::new(k, tau).levels(1).scribbles(names.clone());
        let mut control = Control::new();
        let prepared = with(6, 1.25).prepare(&image, None, &mut control).unwrap();
        let first = Warm::default();
        let grown = with(6, 1.25).segment_prepared(&prepared, &first, &mut control).unwrap();
        for k in 2..=6 {
            let alone = with(k, 1.25).segment(&image).unwrap().labels;
            let raw = with(6, 1.25).paint(&prepared, &grown.tree().unwrap().cut(k).unwrap()).unwrap();
            assert_eq!(
                LabelMap::new(32, 48, &raw).unwrap(),
                alone,
                "{k} parts of six are those of a run with {k}"
            );
            assert!(holds(&alone, &names));
        }
        let (second, n_used) = first.next();
        assert_eq!(n_used, 0);
        let warm = with(6, 1.15).segment_prepared(&prepared, &second, &mut control).unwrap();
        assert!(holds(&warm.labels, &names) && second.next().1 > 0, "the next tau begins from the last");
    }

    #[test]
    fn a_part_is_split_between_its_strokes_and_never_through_one() {
        let (image, names) = scene();
        let segmenter = Segmenter::new(2, 1.25).levels(1).scribbles(names.clone());
        let mut control = Control::new();
        let prepared = segmenter.prepare(&image, None, &mut control).unwrap();
        let n = prepared.n_coarse() as u32;
        let painted = |members: &[u32], halves: &Labels| {
            let mut part = vec![2; n as usize];
            members.iter().zip(halves.as_slice()).for_each(|(&v, &half)| part[v as usize] = half);
            let raw = segmenter.paint(&prepared, &Labels::from_raw(&part)).unwrap();
            LabelMap::new(32, 48, &raw).unwrap()
        };
        let all: Vec<u32> = (0..n).collect();
        let halves = segmenter.split_part(&prepared, &all, &mut control).unwrap();
        assert!(holds(&painted(&all, &halves), &names));
        // The columns of the left stroke alone: it stays in one piece, though the middle of the columns is where a cut would be.
        let left: Vec<u32> = all.iter().copied().filter(|v| v % 24 < 6).collect();
        let halves = segmenter.split_part(&prepared, &left, &mut control).unwrap();
        let map = painted(&left, &halves);
        let mut parts: Vec<u32> =
            names.iter().zip(map.as_slice()).filter(|&(&name, _)| name == 3).map(|(_, &part)| part).collect();
        parts.dedup();
        assert_eq!((halves.n_segments(), parts.len()), (2, 1));
    }
}
