//! Graph → coordinates.

use std::ops::ControlFlow;

use ccbcut::cluster::Run;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::{
    control::{Stop, run},
    graph::Graph,
    options::CutOptions,
    trace::{RunRecord, records},
};

/// Coordinates, one row per vertex.
pub fn to_array<'py>(py: Python<'py>, embedding: &ccbcut::Embedding) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let shape = [embedding.n_vertices(), embedding.n_components()];
    PyArray1::from_slice(py, embedding.as_slice()).reshape(shape)
}

/// The embedding of a graph, and how it went.
#[pyfunction]
pub fn embed<'py>(
    py: Python<'py>,
    graph: &Bound<'py, Graph>,
    n_components: usize,
    options: CutOptions<'py>,
) -> PyResult<(Bound<'py, PyArray2<f64>>, RunRecord)> {
    let graph = &graph.get().inner;
    let irrq = options.irrq()?.n_components(n_components);
    let work = |stop: Stop<'_>| {
        irrq.fit_with(graph, &mut |_| if stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    let fit = run(py, options.threads, work)?;
    let embedding = to_array(py, &fit.embedding)?;
    let mut record = records(&[Run { n_vertices: graph.n_vertices(), first_vertex: 0, trace: fit.trace }]);
    Ok((embedding, record.remove(0)))
}
