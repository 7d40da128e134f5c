//! Graph → parts.

use ccbcut::Control;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;

use crate::{
    control::{Stop, run},
    embedding::to_array,
    graph::Graph,
    options::{CutOptions, PartOptions},
    trace::{RunRecord, TreeRecord, records, tree_record},
};

/// What a cut leaves.
#[derive(IntoPyObject)]
pub struct PartitionRecord<'py> {
    labels: Bound<'py, PyArray1<i32>>,
    tree: Option<TreeRecord<'py>>,
    embedding: Option<Bound<'py, PyArray2<f64>>>,
    runs: Vec<RunRecord>,
}

/// Cuts a graph.
#[pyfunction]
pub fn partition<'py>(
    py: Python<'py>,
    graph: &Bound<'py, Graph>,
    options: CutOptions<'py>,
    parts: PartOptions,
) -> PyResult<PartitionRecord<'py>> {
    let graph = &graph.get().inner;
    let partitioner = options.partitioner(&parts)?;
    let work = |stop: Stop<'_>| partitioner.partition_with(graph, &mut Control::new().stop(stop));
    let cut = run(py, options.threads, work)?;
    let labels: Vec<i32> = cut.labels.as_slice().iter().map(|&label| label as i32).collect();
    Ok(PartitionRecord {
        labels: labels.into_pyarray(py),
        tree: cut.tree.as_ref().map(|tree| tree_record(py, tree)),
        embedding: cut.embedding.as_ref().map(|embedding| to_array(py, embedding)).transpose()?,
        runs: records(&cut.runs),
    })
}
