//! Graph → parts.

use ccbcut::Control;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;

use crate::{
    choose::{ChoiceRecord, choice_record},
    constraints::ConstraintOptions,
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
    choice: Option<ChoiceRecord<'py>>,
}

/// Cuts a graph so that the constraints hold.
#[pyfunction]
pub fn partition<'py>(
    py: Python<'py>,
    graph: &Bound<'py, Graph>,
    options: CutOptions<'py>,
    parts: PartOptions,
    constraints: ConstraintOptions<'py>,
) -> PyResult<PartitionRecord<'py>> {
    let graph = &graph.get().inner;
    let partitioner = options.partitioner(&parts)?;
    let constraints = constraints.constraints()?;
    let work = |stop: Stop<'_>| {
        let control = &mut Control::new().stop(stop);
        let choice =
            parts.is_chosen().then(|| partitioner.choose(graph, parts.k_max, control)).transpose()?;
        let partitioner = match &choice {
            Some(choice) => partitioner.n_segments(choice.k),
            None => partitioner,
        };
        Ok((partitioner.partition_constrained(graph, &constraints, control)?, choice))
    };
    let (cut, choice) = run(py, options.threads, work)?;
    let labels: Vec<i32> = cut.labels.as_slice().iter().map(|&label| label as i32).collect();
    Ok(PartitionRecord {
        labels: labels.into_pyarray(py),
        tree: cut.tree.as_ref().map(|tree| tree_record(py, tree)),
        embedding: cut.embedding.as_ref().map(|embedding| to_array(py, embedding)).transpose()?,
        runs: records(&cut.runs),
        choice: choice.map(|choice| choice_record(py, &choice)),
    })
}
