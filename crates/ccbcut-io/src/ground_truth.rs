//! Human segmentations with their boundaries, as BSDS500 keeps them.

use std::path::Path;

use ccbcut::{LabelMap, metrics::BoundaryMap};

use crate::{
    bytes::{extension, read_file},
    error::{Error, Result},
    images::Limits,
    label_maps::{decode_label_maps, from_matrix},
    mat::{self, Variable},
};

/// What one person drew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truth {
    /// The regions.
    pub segmentation: LabelMap,
    /// The boundaries between them.
    pub boundaries: BoundaryMap,
}

impl Truth {
    /// The boundaries are those of the label map.
    fn of_labels(segmentation: LabelMap) -> Self {
        let boundaries = BoundaryMap::of_labels(&segmentation);
        Self { segmentation, boundaries }
    }
}

/// Reads the segmentations of every person in a file.
///
/// Each element of the cell `groundTruth` has a `Segmentation` and mostly `Boundaries`; where these are missing, and
/// in the other files that [`crate::read_label_maps`] reads, they are taken from the segmentation.
///
/// # Errors
/// As [`crate::read_label_maps`], and [`Error::Shape`] for boundaries of another size than their segmentation.
pub fn read_ground_truth(path: &Path, limits: Limits) -> Result<Vec<Truth>> {
    decode_ground_truth(path, &read_file(path)?, limits)
}

/// Reads the segmentations of every person in a file held in memory; the ending of `name` says how.
///
/// # Errors
/// As [`read_ground_truth`].
pub fn decode_ground_truth(name: &Path, bytes: &[u8], limits: Limits) -> Result<Vec<Truth>> {
    if extension(name) == "mat" {
        let variables = mat::decode(name, bytes, "a ground truth")?;
        if let Some((_, Variable::Cell(people))) = variables.iter().find(|(n, _)| n == "groundTruth") {
            return people.iter().map(|person| truth(name, person, limits)).collect();
        }
    }
    Ok(decode_label_maps(name, bytes, limits)?.into_iter().map(Truth::of_labels).collect())
}

fn truth(path: &Path, person: &Variable, limits: Limits) -> Result<Truth> {
    let missing = || Error::missing(path, "field `Segmentation` in an element of `groundTruth`");
    let segmentation = from_matrix(path, person.field("Segmentation").ok_or_else(missing)?, limits)?;
    let Some(Variable::Numeric { shape, values }) = person.field("Boundaries") else {
        return Ok(Truth::of_labels(segmentation));
    };
    let (height, width) = (segmentation.height(), segmentation.width());
    if shape[..] != [height, width] {
        return Err(Error::shape(path, "the shape of the segmentation, for its boundaries,", shape));
    }
    let by_row = (0..values.len()).map(|at| values[at % width * height + at / width] != 0.0).collect();
    let boundaries = BoundaryMap::new(height, width, by_row).map_err(|e| Error::library(path, e))?;
    Ok(Truth { segmentation, boundaries })
}
