//! Points → graph.

use ccbcut::points::{Bandwidth, NeighborGraph, Points};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::{control::run, error::to_python, graph::Graph};

/// Each point tied to its nearest neighbours.
#[pyfunction]
pub fn neighbor_graph(
    py: Python<'_>,
    points: PyReadonlyArray2<'_, f64>,
    n_neighbors: usize,
    bandwidth: Option<f64>,
    mutual: bool,
    threads: usize,
) -> PyResult<Graph> {
    let &[n, dimensions] = points.shape() else { unreachable!("two dimensions by type") };
    let points = Points::new(n, dimensions, points.as_slice()?.to_vec()).map_err(to_python)?;
    let bandwidth = bandwidth.map_or_else(Bandwidth::default, Bandwidth::Fixed);
    let neighbors = NeighborGraph::new(n_neighbors).bandwidth(bandwidth).mutual(mutual);
    Ok(Graph { inner: run(py, threads, |_| neighbors.build(&points))? })
}
