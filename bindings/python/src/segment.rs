//! Image → label map.

use ccbcut::{Control, LabelMap, Segmentation};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::prelude::*;

use crate::{
    control::{Stop, run},
    cost::CostRecord,
    image::borrow,
    options::{CutOptions, ImageOptions, PartOptions},
    trace::{RunRecord, TreeRecord, records, tree_record},
};

/// What a cut leaves.
#[derive(IntoPyObject)]
pub struct SegmentRecord<'py> {
    labels: Bound<'py, PyArray2<i32>>,
    tree: Option<TreeRecord<'py>>,
    /// Node of the tree per pixel.
    leaves: Option<Bound<'py, PyArray2<i32>>>,
    costs: CostRecord,
    runs: Vec<RunRecord>,
    levels: usize,
}

/// Cuts an image.
#[pyfunction]
pub fn segment<'py>(
    py: Python<'py>,
    pixels: PyReadonlyArray3<'py, f32>,
    mask: Option<PyReadonlyArray2<'py, bool>>,
    options: CutOptions<'py>,
    parts: PartOptions,
    image_options: ImageOptions<'py>,
) -> PyResult<SegmentRecord<'py>> {
    let image = borrow(&pixels)?;
    let segmenter = image_options.segmenter(&options, &parts)?;
    let mask = mask.as_ref().map(|mask| mask.as_slice()).transpose()?;
    let work = |stop: Stop<'_>| segmenter.segment_with(&image, mask, &mut Control::new().stop(stop));
    let cut = run(py, options.threads, work)?;
    to_record(py, &cut, [image.height(), image.width()])
}

/// A cut as dictionaries and arrays.
pub fn to_record<'py>(
    py: Python<'py>,
    cut: &Segmentation,
    shape: [usize; 2],
) -> PyResult<SegmentRecord<'py>> {
    Ok(SegmentRecord {
        labels: to_map(py, cut.labels.as_slice(), shape)?,
        tree: cut.tree().map(|tree| tree_record(py, tree)),
        leaves: cut.leaf_nodes().map(|nodes| to_map(py, &nodes, shape)).transpose()?,
        costs: cut.report.costs.into(),
        runs: records(&cut.report.runs),
        levels: cut.report.levels,
    })
}

/// Numbers per pixel, −1 for the void.
fn to_map<'py>(py: Python<'py>, values: &[u32], shape: [usize; 2]) -> PyResult<Bound<'py, PyArray2<i32>>> {
    let signed = |&value: &u32| if value == LabelMap::VOID { -1 } else { value as i32 };
    PyArray1::from_vec(py, values.iter().map(signed).collect()).reshape(shape)
}
