//! Segments as polygons: GeoJSON in pixel coordinates.
//!
//! x runs right and y down, in pixels, so that the corners of pixel (row, column) are (column, row) to
//! (column + 1, row + 1). One feature per segment, a `MultiPolygon` with one polygon per connected region (four
//! neighbours), and holes where other segments lie inside.
//!
//! **Orientation.** The signed area ½ Σ (xᵢ yᵢ₊₁ − xᵢ₊₁ yᵢ) is positive for outer rings and negative for holes.
//! That is RFC 7946's right-hand rule, counter-clockwise with y drawn upwards; on a screen, with y downwards, outer
//! rings run clockwise. The areas of a feature's polygons, holes taken off, sum to its number of pixels.
//!
//! # References
//! H. Butler et al., *The GeoJSON Format*, RFC 7946, section 3.1.6.

use std::{collections::HashMap, path::Path};

use ccbcut::LabelMap;
use serde_json::{Value, json};

use crate::{
    atomic::{Overwrite, write_whole},
    error::{Error, Result},
};

/// A closed ring of pixel corners (x, y); the first corner is not repeated.
type Ring = Vec<(usize, usize)>;

/// Writes the segments of a label map as GeoJSON, each with its label, area and, when given, mean colour.
///
/// # Errors
/// [`Error::Library`] when there is not one colour per segment, and the errors of [`write_whole`].
pub fn write_geojson(
    path: &Path,
    map: &LabelMap,
    mean_colors: Option<&[[f64; 3]]>,
    overwrite: Overwrite,
) -> Result<()> {
    write_whole(path, encode_geojson(path, map, mean_colors)?.as_bytes(), overwrite)
}

/// The text [`write_geojson`] writes; for a group of outputs.
///
/// # Errors
/// As [`write_geojson`].
///
/// # Complexity
/// O(pixels) time.
pub fn encode_geojson(path: &Path, map: &LabelMap, mean_colors: Option<&[[f64; 3]]>) -> Result<String> {
    let n = map.n_segments();
    if let Some(colors) = mean_colors
        && colors.len() != n
    {
        let source =
            ccbcut::Error::ShapeMismatch { what: "the list of colours", expected: n, got: colors.len() };
        return Err(Error::library(path, source));
    }
    let mut polygons = vec![Vec::new(); n];
    for (label, rings) in trace_regions(map) {
        polygons[label as usize].push(rings);
    }
    let sizes = map.sizes();
    let features: Vec<Value> = polygons
        .iter()
        .enumerate()
        .map(|(label, polygons)| {
            let mut properties = json!({"label": label, "area": sizes[label]});
            if let Some(colors) = mean_colors {
                properties["mean_color"] = json!(colors[label]);
            }
            let coordinates: Vec<Value> =
                polygons.iter().map(|rings| rings.iter().map(close).collect()).collect();
            json!({
                "type": "Feature",
                "properties": properties,
                "geometry": {"type": "MultiPolygon", "coordinates": coordinates},
            })
        })
        .collect();
    Ok(format!("{}\n", json!({"type": "FeatureCollection", "features": features})))
}

/// A ring as GeoJSON wants it: the first corner again at the end.
fn close(ring: &Ring) -> Value {
    ring.iter().chain(ring.first()).map(|&(x, y)| json!([x, y])).collect()
}

/// For each connected region in raster order: its label, and its rings, the outer one first.
fn trace_regions(map: &LabelMap) -> Vec<(u32, Vec<Ring>)> {
    let regions = map.connected();
    let tracer = Tracer { regions: regions.as_slice(), height: map.height(), width: map.width() };
    let mut found: Vec<(u32, Vec<Ring>)> = vec![(0, Vec::new()); regions.n_segments()];
    let mut seen = vec![0_u8; regions.as_slice().len()];
    for pixel in 0..seen.len() {
        let region = tracer.regions[pixel];
        if region == LabelMap::VOID {
            continue;
        }
        let (label, rings) = &mut found[region as usize];
        *label = map.as_slice()[pixel];
        for side in SIDES {
            if seen[pixel] >> side & 1 == 0 && tracer.is_border(pixel, side) {
                rings.extend(split_at_touches(&tracer.follow(pixel, side, &mut seen)));
            }
        }
    }
    for (_, rings) in &mut found {
        // A region of four-neighbours has one outer ring; the walk from its first pixel may meet a hole with it.
        rings.sort_by_key(|ring| doubled_area(ring) < 0);
    }
    found
}

/// The sides of a pixel, walked with the pixel on the side of positive area: top, right, bottom, left.
const SIDES: [u8; 4] = [0, 1, 2, 3];

struct Tracer<'a> {
    regions: &'a [u32],
    height: usize,
    width: usize,
}

impl Tracer<'_> {
    /// The pixel across a side.
    fn across(&self, pixel: usize, side: u8) -> Option<usize> {
        let (row, column) = (pixel / self.width, pixel % self.width);
        match side {
            0 => (row > 0).then(|| pixel - self.width),
            1 => (column + 1 < self.width).then(|| pixel + 1),
            2 => (row + 1 < self.height).then(|| pixel + self.width),
            _ => (column > 0).then(|| pixel - 1),
        }
    }

    fn is_border(&self, pixel: usize, side: u8) -> bool {
        self.across(pixel, side).is_none_or(|other| self.regions[other] != self.regions[pixel])
    }

    /// The corner where the walk along a side begins.
    fn corner(&self, pixel: usize, side: u8) -> (usize, usize) {
        let (y, x) = (pixel / self.width, pixel % self.width);
        match side {
            0 => (x, y),
            1 => (x + 1, y),
            2 => (x + 1, y + 1),
            _ => (x, y + 1),
        }
    }

    /// Walks along the border of a region until it closes; returns the corners where it turns.
    fn follow(&self, pixel: usize, side: u8, seen: &mut [u8]) -> Ring {
        let mut ring = Vec::new();
        let (mut p, mut s) = (pixel, side);
        loop {
            seen[p] |= 1 << s;
            let turn = (s + 1) % 4;
            let (next_pixel, next_side) = match self.across(p, turn) {
                // Round the corner of this pixel.
                _ if self.is_border(p, turn) => (p, turn),
                Some(ahead) => match self.across(ahead, s) {
                    // Round the corner of the one outside.
                    Some(outside) if !self.is_border(ahead, s) => (outside, (s + 3) % 4),
                    _ => (ahead, s),
                },
                None => (p, turn),
            };
            if next_side != s {
                ring.push(self.corner(next_pixel, next_side));
            }
            (p, s) = (next_pixel, next_side);
            if (p, s) == (pixel, side) {
                return ring;
            }
        }
    }
}

/// Cuts a ring that passes through a corner twice into rings that do not.
fn split_at_touches(ring: &Ring) -> Vec<Ring> {
    let mut simple = Vec::new();
    let mut path: Ring = Vec::new();
    let mut position = HashMap::new();
    for &corner in ring {
        if let Some(&start) = position.get(&corner) {
            let lobe: Ring = path.drain(start..).collect();
            for corner in &lobe {
                position.remove(corner);
            }
            simple.push(lobe);
        }
        position.insert(corner, path.len());
        path.push(corner);
    }
    simple.push(path);
    simple
}

/// Twice the signed area of a ring.
fn doubled_area(ring: &[(usize, usize)]) -> i64 {
    let next = ring.iter().cycle().skip(1);
    let cross = |(a, b): (&(usize, usize), &(usize, usize))| {
        let ((ax, ay), (bx, by)) = ((a.0 as i64, a.1 as i64), (b.0 as i64, b.1 as i64));
        ax * by - bx * ay
    };
    ring.iter().zip(next).map(cross).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks every ring of a map: one outer ring first, no corner twice, areas equal to pixel counts.
    fn check(map: &LabelMap) {
        let mut areas = vec![0; map.n_segments()];
        for (label, rings) in trace_regions(map) {
            for (index, ring) in rings.iter().enumerate() {
                assert_eq!(doubled_area(ring) > 0, index == 0, "one outer ring, and it comes first");
                let mut corners = ring.clone();
                corners.sort_unstable();
                corners.dedup();
                assert_eq!(corners.len(), ring.len(), "no corner twice");
                for (k, a) in ring.iter().enumerate() {
                    let b = ring[(k + 1) % ring.len()];
                    assert!((a.0 == b.0) != (a.1 == b.1), "edges run along pixels");
                }
                areas[label as usize] += doubled_area(ring);
            }
        }
        let sizes: Vec<i64> = map.sizes().iter().map(|&s| 2 * s as i64).collect();
        assert_eq!(areas, sizes);
    }

    #[test]
    fn a_ring_around_a_hole() {
        let map = LabelMap::new(3, 3, &[0, 0, 0, 0, 1, 0, 0, 0, 0]).unwrap();
        check(&map);
        let traced = trace_regions(&map);
        assert_eq!(traced[0].1[0], [(3, 0), (3, 3), (0, 3), (0, 0)]);
        assert_eq!(traced[0].1[1].len(), 4);
        assert_eq!(traced[1].1.len(), 1);
    }

    #[test]
    fn pixels_that_touch_at_a_corner_do_not_cross() {
        check(&LabelMap::new(2, 2, &[0, 1, 1, 0]).unwrap());
        // Two holes that touch, and a hole that touches the outside, at a corner.
        check(&LabelMap::new(4, 4, &[0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]).unwrap());
        check(&LabelMap::new(3, 3, &[1, 0, 0, 0, 1, 0, 0, 0, 0]).unwrap());
    }

    #[test]
    fn areas_match_on_many_small_maps() {
        // Every two-label map of 3 x 4 pixels, and larger ones from a fixed generator.
        for bits in 0..1_u32 << 12 {
            let raw: Vec<u32> = (0..12).map(|p| bits >> p & 1).collect();
            check(&LabelMap::new(3, 4, &raw).unwrap());
        }
        let mut state = 7_u64;
        for _ in 0..50 {
            let mut raw = Vec::new();
            for _ in 0..17 * 13 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                raw.push(if state >> 60 == 15 { LabelMap::VOID } else { (state >> 40) as u32 % 3 });
            }
            check(&LabelMap::new(13, 17, &raw).unwrap());
        }
    }

    #[test]
    fn features_carry_label_area_and_colour() {
        let map = LabelMap::new(1, 3, &[0, 1, 1]).unwrap();
        let path = Path::new("a.geojson");
        let text = encode_geojson(path, &map, Some(&[[0.0, 0.5, 1.0], [0.25; 3]])).unwrap();
        let file: Value = serde_json::from_str(&text).unwrap();
        let second = &file["features"][1];
        assert_eq!(second["properties"], json!({"label": 1, "area": 2, "mean_color": [0.25, 0.25, 0.25]}));
        let ring = &second["geometry"]["coordinates"][0][0];
        assert_eq!(ring, &json!([[3, 0], [3, 1], [1, 1], [1, 0], [3, 0]]));
        assert!(encode_geojson(path, &map, Some(&[])).is_err());
    }
}
