//! Image → label map.

use ccbcut::{Control, LabelMap, Segmentation};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::prelude::*;

use crate::{
    choose::{ChoiceRecord, choice_record},
    control::{Stop, run},
    cost::CostRecord,
    image::borrow,
    options::{CutOptions, ImageOptions, PartOptions},
    regions::RegionOptions,
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
    choice: Option<ChoiceRecord<'py>>,
}

/// Cuts an image, or its regions, and keeps to the strokes on it.
#[pyfunction]
pub fn segment<'py>(
    py: Python<'py>,
    pixels: PyReadonlyArray3<'py, f32>,
    mask: Option<PyReadonlyArray2<'py, bool>>,
    options: CutOptions<'py>,
    parts: PartOptions,
    image_options: ImageOptions<'py>,
    regions: Option<RegionOptions<'py>>,
    scribbles: Option<PyReadonlyArray2<'py, u32>>,
) -> PyResult<SegmentRecord<'py>> {
    let image = borrow(&pixels)?;
    let segmenter = image_options.segmenter(&options, &parts)?;
    let partitioner = options.partitioner(&parts)?;
    let mask = mask.as_ref().map(|mask| mask.as_slice()).transpose()?;
    let plan = regions.as_ref().map(|regions| regions.plan(&image_options)).transpose()?;
    let strokes = scribbles.as_ref().map(|strokes| strokes.as_slice()).transpose()?;
    let work = |stop: Stop<'_>| {
        let control = &mut Control::new().stop(stop);
        let tied = plan.map(|plan| plan.tied(&image, mask)).transpose()?;
        let choice = match (parts.is_chosen(), &tied) {
            (false, _) => None,
            (true, Some((_, graph))) => Some(partitioner.choose(graph, parts.k_max, control)?),
            (true, None) => Some(segmenter.choose(&image, mask, parts.k_max, control)?),
        };
        let mut segmenter = match &choice {
            Some(choice) => segmenter.partitioner(|partitioner| partitioner.n_segments(choice.k)),
            None => segmenter,
        };
        if let Some(strokes) = strokes {
            segmenter = segmenter.scribbles(strokes.to_vec());
        }
        let cut = match &tied {
            Some((map, graph)) => segmenter.segment_regions(map, graph, control)?,
            None => segmenter.segment_with(&image, mask, control)?,
        };
        Ok((cut, choice))
    };
    let (cut, choice) = run(py, options.threads, work)?;
    let record = to_record(py, &cut, [image.height(), image.width()])?;
    Ok(SegmentRecord { choice: choice.map(|choice| choice_record(py, &choice)), ..record })
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
        choice: None,
    })
}

/// Numbers per pixel, −1 for the void.
pub fn to_map<'py>(
    py: Python<'py>,
    values: &[u32],
    shape: [usize; 2],
) -> PyResult<Bound<'py, PyArray2<i32>>> {
    PyArray1::from_vec(py, signed(values)).reshape(shape)
}

/// The same numbers with −1 for the void.
pub fn signed(values: &[u32]) -> Vec<i32> {
    values.iter().map(|&value| if value == LabelMap::VOID { -1 } else { value as i32 }).collect()
}
