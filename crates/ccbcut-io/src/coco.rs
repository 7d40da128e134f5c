//! COCO annotations: one run-length mask per segment.
//!
//! A mask is read column by column and stored as the lengths of its runs, zeros first. The compressed form writes
//! each length as groups of five bits, low bits first, each group plus 48 as an ASCII letter with bit 5 for "more
//! follows"; from the fourth on, lengths are differences to the one two before.
//!
//! # References
//! T.-Y. Lin et al., *Microsoft COCO: Common Objects in Context*, ECCV 2014; the masks of its programming interface.

use std::path::Path;

use ccbcut::LabelMap;
use serde_json::{Value, json};

use crate::{
    atomic::{Overwrite, write_whole},
    error::Result,
};

/// A binary mask as run lengths, column by column, zeros first.
///
/// ```
/// use ccbcut_io::Rle;
/// let rle = Rle::from_mask(2, 3, &[false, true, true, false, true, false]);
/// assert_eq!(rle.counts(), &[2, 3, 1]);
/// assert_eq!(Rle::from_compressed(2, 3, &rle.to_compressed()), Some(rle));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rle {
    height: usize,
    width: usize,
    counts: Vec<u64>,
}

impl Rle {
    /// The runs of a mask given row by row. Pixels beyond `mask` count as unset.
    pub fn from_mask(height: usize, width: usize, mask: &[bool]) -> Self {
        let mut counts = Vec::new();
        let (mut value, mut run) = (false, 0);
        for column in 0..width {
            for row in 0..height {
                let pixel = mask.get(row * width + column).copied().unwrap_or(false);
                if pixel != value {
                    counts.push(run);
                    (value, run) = (pixel, 0);
                }
                run += 1;
            }
        }
        counts.push(run);
        Self { height, width, counts }
    }

    /// The masks of all segments of a label map, in order of label.
    ///
    /// # Complexity
    /// O(pixels) time for all segments together.
    pub fn from_label_map(map: &LabelMap) -> Vec<Self> {
        let (height, width) = (map.height(), map.width());
        let labels = map.as_slice();
        let mut counts = vec![Vec::new(); map.n_segments()];
        let mut ends = vec![0; map.n_segments()];
        let at = |p: usize| labels[p % height * width + p / height];
        let n = height * width;
        let mut start = 0;
        while start < n {
            let label = at(start);
            let end = (start + 1..n).find(|&p| at(p) != label).unwrap_or(n);
            if label != LabelMap::VOID {
                let l = label as usize;
                counts[l].extend([(start - ends[l]) as u64, (end - start) as u64]);
                ends[l] = end;
            }
            start = end;
        }
        for (counts, end) in counts.iter_mut().zip(ends) {
            if end < n {
                counts.push((n - end) as u64);
            }
        }
        counts.into_iter().map(|counts| Self { height, width, counts }).collect()
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The run lengths: unset, set, unset, …
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// How many pixels are set.
    pub fn area(&self) -> u64 {
        self.counts.iter().skip(1).step_by(2).sum()
    }

    /// The smallest box around the set pixels: x, y, width, height; all zero for an empty mask.
    pub fn bounding_box(&self) -> [u64; 4] {
        let height = self.height as u64;
        let (mut low, mut high) = ([u64::MAX; 2], [0; 2]);
        let mut start = 0;
        for (index, &run) in self.counts.iter().enumerate() {
            if index % 2 == 1 && run > 0 {
                let last = start + run - 1;
                let (first_column, last_column) = (start / height, last / height);
                let (top, bottom) = if first_column == last_column {
                    (start % height, last % height)
                } else {
                    (0, height - 1)
                };
                low = [low[0].min(first_column), low[1].min(top)];
                high = [high[0].max(last_column + 1), high[1].max(bottom + 1)];
            }
            start += run;
        }
        if high[0] == 0 {
            return [0; 4];
        }
        [low[0], low[1], high[0] - low[0], high[1] - low[1]]
    }

    /// The mask itself, row by row.
    pub fn to_mask(&self) -> Vec<bool> {
        let n = self.height * self.width;
        let mut mask = vec![false; n];
        let mut start = 0;
        for (index, &run) in self.counts.iter().enumerate() {
            let end = (start + run as usize).min(n);
            if index % 2 == 1 {
                (start..end).for_each(|p| mask[p % self.height * self.width + p / self.height] = true);
            }
            start = end;
        }
        mask
    }

    /// The compressed form, a text of printable letters.
    pub fn to_compressed(&self) -> String {
        let mut out = String::new();
        for (index, &count) in self.counts.iter().enumerate() {
            let before = if index > 2 { self.counts[index - 2] } else { 0 };
            let mut rest = count as i64 - before as i64;
            loop {
                let bits = (rest & 31) as u8;
                rest >>= 5;
                // The sign is bit 4 of the last group.
                let is_last = if bits & 16 == 0 { rest == 0 } else { rest == -1 };
                out.push(char::from(48 + bits + if is_last { 0 } else { 32 }));
                if is_last {
                    break;
                }
            }
        }
        out
    }

    /// Reads the compressed form; `None` when it is damaged or does not fill the mask.
    pub fn from_compressed(height: usize, width: usize, text: &str) -> Option<Self> {
        let mut counts: Vec<u64> = Vec::new();
        let mut letters = text.bytes().peekable();
        let mut total = 0_u64;
        while letters.peek().is_some() {
            let (mut value, mut shift) = (0_i64, 0);
            loop {
                let bits = letters.next()?.checked_sub(48).filter(|&b| b < 64)?;
                if shift > 50 {
                    return None;
                }
                value |= i64::from(bits & 31) << shift;
                shift += 5;
                if bits & 32 == 0 {
                    if bits & 16 != 0 {
                        value |= -1 << shift;
                    }
                    break;
                }
            }
            if counts.len() > 2 {
                value = value.checked_add_unsigned(counts[counts.len() - 2])?;
            }
            let count = u64::try_from(value).ok()?;
            total = total.checked_add(count)?;
            counts.push(count);
        }
        (total == (height as u64).checked_mul(width as u64)?).then_some(Self { height, width, counts })
    }
}

/// How the run lengths are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CocoCounts {
    /// As a short text, which every COCO tool reads.
    #[default]
    Compressed,
    /// As a list of numbers, which people can read.
    List,
}

/// Writes the label maps of one or more images, each with its file name, as a COCO annotation file.
///
/// Images, annotations and labels are numbered in order, from 1; every segment is of the one category `segment`.
///
/// # Errors
/// The errors of [`write_whole`].
pub fn write_coco(
    path: &Path,
    images: &[(&str, &LabelMap)],
    counts: CocoCounts,
    overwrite: Overwrite,
) -> Result<()> {
    write_whole(path, encode_coco(images, counts).as_bytes(), overwrite)
}

/// The text [`write_coco`] writes; for a group of outputs.
pub fn encode_coco(images: &[(&str, &LabelMap)], counts: CocoCounts) -> String {
    let (mut entries, mut annotations) = (Vec::new(), Vec::new());
    for (index, (file_name, map)) in images.iter().enumerate() {
        let image_id = index + 1;
        entries.push(json!({
            "id": image_id,
            "file_name": file_name,
            "width": map.width(),
            "height": map.height(),
        }));
        for rle in Rle::from_label_map(map) {
            let id = annotations.len() + 1;
            annotations.push(annotation(id, image_id, &rle, counts));
        }
    }
    let file = json!({
        "images": entries,
        "annotations": annotations,
        "categories": [{"id": 1, "name": "segment", "supercategory": "segment"}],
    });
    format!("{file}\n")
}

fn annotation(id: usize, image_id: usize, rle: &Rle, counts: CocoCounts) -> Value {
    let counts = match counts {
        CocoCounts::Compressed => Value::from(rle.to_compressed()),
        CocoCounts::List => Value::from(rle.counts()),
    };
    json!({
        "id": id,
        "image_id": image_id,
        "category_id": 1,
        "segmentation": {"size": [rle.height, rle.width], "counts": counts},
        "area": rle.area(),
        "bbox": rle.bounding_box(),
        "iscrowd": 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> LabelMap {
        let raw: Vec<u32> =
            (0..35_u32).map(|p| if p % 11 == 3 { LabelMap::VOID } else { p * p % 7 % 4 }).collect();
        LabelMap::new(5, 7, &raw).unwrap()
    }

    #[test]
    fn one_pass_agrees_with_one_mask_at_a_time() {
        let map = sample();
        for (label, rle) in Rle::from_label_map(&map).into_iter().enumerate() {
            let mask: Vec<bool> = map.as_slice().iter().map(|&v| v == label as u32).collect();
            assert_eq!(rle, Rle::from_mask(5, 7, &mask));
            assert_eq!(rle.to_mask(), mask);
            assert_eq!(rle.area() as usize, map.sizes()[label]);
            assert_eq!(Rle::from_compressed(5, 7, &rle.to_compressed()).unwrap(), rle);
        }
    }

    #[test]
    fn boxes_and_empty_masks() {
        let mask = [false, false, false, false, true, false, false, true, true, false, false, false];
        assert_eq!(Rle::from_mask(4, 3, &mask).bounding_box(), [1, 1, 2, 2]);
        assert_eq!(Rle::from_mask(2, 2, &[true; 4]).bounding_box(), [0, 0, 2, 2]);
        let empty = Rle::from_mask(2, 2, &[false; 4]);
        assert_eq!((empty.bounding_box(), empty.area()), ([0; 4], 0));
        assert_eq!(Rle::from_compressed(2, 2, "~~~~"), None);
        assert_eq!(Rle::from_compressed(2, 2, "ooooooooooooooooooooooooo"), None);
        assert_eq!(Rle::from_compressed(2, 2, "1"), None);
    }

    #[test]
    fn files_are_deterministic_and_complete() {
        let text = encode_coco(&[("a.jpg", &sample()), ("b.jpg", &sample())], CocoCounts::List);
        assert_eq!(text, encode_coco(&[("a.jpg", &sample()), ("b.jpg", &sample())], CocoCounts::List));
        let file: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(file["images"][1]["file_name"], "b.jpg");
        assert_eq!(file["annotations"].as_array().unwrap().len(), 2 * sample().n_segments());
        assert_eq!(file["annotations"][0]["segmentation"]["size"], json!([5, 7]));
    }
}
