//! Label maps × truth → numbers.

use ccbcut::{LabelMap, metrics::Contingency};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::error::to_python;

/// Covering, Rand index and variation of information of a label map against one truth; 2³² − 1 is no label.
#[pyfunction]
pub fn region_scores(
    py: Python<'_>,
    found: PyReadonlyArray2<'_, u32>,
    truth: PyReadonlyArray2<'_, u32>,
) -> PyResult<(f64, f64, f64)> {
    let size = |map: &PyReadonlyArray2<'_, u32>| map.as_array().dim();
    let (found_size, truth_size) = (size(&found), size(&truth));
    let (found, truth) = (found.as_slice()?, truth.as_slice()?);
    let work = || {
        let found = LabelMap::new(found_size.0, found_size.1, found)?;
        let truth = LabelMap::new(truth_size.0, truth_size.1, truth)?;
        Ok(Contingency::new(&found, &truth)?.score())
    };
    let score = py.detach(work).map_err(to_python)?;
    Ok((score.covering, score.rand_index, score.variation))
}
