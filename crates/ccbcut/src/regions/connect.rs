//! Regions in one piece each.

use super::RegionMap;
use crate::{error::Result, image::volume::Volume, labels::LabelMap, sets::DisjointSets};

/// Splits regions into their connected pieces, by shared faces, and gives pieces below `min_size` voxels to the neighbour of
/// the nearest mean colour.
pub(super) fn connected(volume: &Volume, regions: &[u32], min_size: usize) -> Result<RegionMap> {
    let shape = volume.shape();
    let mut sets = DisjointSets::new(regions.len());
    for_each_face(shape, |p, q| {
        if regions[p] == regions[q] && regions[p] != LabelMap::VOID {
            sets.join(p as u32, q as u32);
        }
    });
    let raw: Vec<u32> = (0..regions.len())
        .map(|p| if regions[p] == LabelMap::VOID { LabelMap::VOID } else { sets.root(p as u32) })
        .collect();
    drop(sets);
    let pieces = RegionMap::new(shape, &raw)?;
    drop(raw);
    let sizes = pieces.sizes();
    if sizes.iter().all(|&size| size >= min_size) {
        return Ok(pieces);
    }
    let home = homes(volume, &pieces, &sizes, min_size)?;
    let raw: Vec<u32> = pieces.values.iter().map(|&p| home.get(p as usize).copied().unwrap_or(p)).collect();
    RegionMap::new(shape, &raw)
}

/// Where each piece ends up.
fn homes(volume: &Volume, pieces: &RegionMap, sizes: &[usize], min_size: usize) -> Result<Vec<u32>> {
    let channels = volume.channels();
    let means = pieces.means(volume)?;
    let mut touching: Vec<(u32, u32)> = Vec::new();
    for_each_face(volume.shape(), |p, q| {
        let (a, b) = (pieces.values[p], pieces.values[q]);
        if a == b || a == LabelMap::VOID || b == LabelMap::VOID {
            return;
        }
        for pair in [(a, b), (b, a)] {
            if sizes[pair.0 as usize] < min_size && touching.last() != Some(&pair) {
                touching.push(pair);
            }
        }
    });
    touching.sort_unstable();
    touching.dedup();
    let distance = |a: u32, b: u32| -> f64 {
        let row = |piece: u32| &means[piece as usize * channels..][..channels];
        row(a).iter().zip(row(b)).map(|(x, y)| (x - y) * (x - y)).sum()
    };
    // Where two small ones would go to each other, the set keeps them together.
    let mut sets = DisjointSets::new(sizes.len());
    for group in touching.chunk_by(|a, b| a.0 == b.0) {
        let nearest = group.iter().copied().reduce(|best, other| {
            if distance(other.0, other.1) < distance(best.0, best.1) { other } else { best }
        });
        if let Some((small, neighbor)) = nearest {
            sets.join(small, neighbor);
        }
    }
    Ok((0..sizes.len() as u32).map(|piece| sets.root(piece)).collect())
}

/// Every pair of voxels that share a face, each once.
fn for_each_face([depth, height, width]: [usize; 3], mut f: impl FnMut(usize, usize)) {
    for z in 0..depth {
        for y in 0..height {
            let line = (z * height + y) * width;
            for p in line..line + width {
                if p + 1 < line + width {
                    f(p, p + 1);
                }
                if y + 1 < height {
                    f(p, p + width);
                }
                if z + 1 < depth {
                    f(p, p + width * height);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_become_regions_and_specks_go_to_the_nearest_colour() {
        let colours = vec![
            0.0, 0.0, 9.0, 9.0, //
            0.0, 8.0, 9.0, 9.0, //
            0.0, 0.0, 9.0, 0.0,
        ];
        let volume = Volume::new([1, 3, 4], 1, colours).unwrap();
        // Region 7 is in two pieces; region 3 is a speck inside 7, nearer in colour to 5.
        let regions = [7, 7, 5, 5, 7, 3, 5, 5, 7, 7, 5, 7];
        let all = connected(&volume, &regions, 0).unwrap();
        assert_eq!(all.as_slice(), &[0, 0, 1, 1, 0, 2, 1, 1, 0, 0, 1, 3]);
        let large = connected(&volume, &regions, 2).unwrap();
        assert_eq!(large.as_slice(), &[0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1]);
    }

    #[test]
    fn faces_are_counted_once() {
        let mut n = 0;
        for_each_face([2, 3, 4], |_, _| n += 1);
        assert_eq!(n, 12 + 2 * 2 * 4 + 2 * 3 * 3);
    }
}
