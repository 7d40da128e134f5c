//! Graphs: from compressed rows, and of images.

use ccbcut::affinity::Affinity;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::prelude::*;

use crate::{control::run, error::to_python, image::borrow, options::ImageOptions};

/// Row offsets, columns and weights.
type Rows<'py> = (Bound<'py, PyArray1<usize>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>);

/// A checked graph. It cannot be changed.
#[pyclass(frozen, module = "ccbcut._ccbcut")]
pub struct Graph {
    pub inner: ccbcut::Graph,
}

#[pymethods]
impl Graph {
    /// A graph from a symmetric matrix in compressed rows.
    #[new]
    fn new(
        py: Python<'_>,
        offsets: PyReadonlyArray1<'_, usize>,
        columns: PyReadonlyArray1<'_, u32>,
        weights: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Self> {
        let (offsets, columns, weights) = (offsets.as_slice()?, columns.as_slice()?, weights.as_slice()?);
        let inner = py.detach(|| ccbcut::Graph::from_csr(offsets, columns, weights)).map_err(to_python)?;
        Ok(Self { inner })
    }

    /// How many vertices.
    #[getter]
    fn n_vertices(&self) -> usize {
        self.inner.n_vertices()
    }

    /// How many edges, each counted once.
    #[getter]
    fn n_edges(&self) -> usize {
        self.inner.n_edges()
    }

    /// The row sums, self-loops counted once.
    fn degrees<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.inner.degrees())
    }

    /// Row offsets, columns and weights.
    fn to_csr<'py>(&self, py: Python<'py>) -> Rows<'py> {
        let (offsets, columns, weights) = py.detach(|| self.inner.to_csr());
        (offsets.into_pyarray(py), columns.into_pyarray(py), weights.into_pyarray(py))
    }

    /// The part of each vertex when two are together wherever there is a path.
    fn components<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        let labels = py.detach(|| self.inner.components());
        labels.as_slice().iter().map(|&label| label as i32).collect::<Vec<_>>().into_pyarray(py)
    }
}

/// The graph of an image in compressed rows.
#[pyfunction]
pub fn affinity_graph<'py>(
    py: Python<'py>,
    pixels: PyReadonlyArray3<'py, f32>,
    mask: Option<PyReadonlyArray2<'py, bool>>,
    options: ImageOptions<'py>,
) -> PyResult<Rows<'py>> {
    let (image, affinity) = (borrow(&pixels)?, options.affinity()?);
    let mask = mask.as_ref().map(|mask| mask.as_slice()).transpose()?;
    let work = |_: crate::control::Stop<'_>| Ok(affinity.graph_masked(&image, mask)?.to_csr());
    let (offsets, columns, weights) = run(py, options.threads, work)?;
    Ok((offsets.into_pyarray(py), columns.into_pyarray(py), weights.into_pyarray(py)))
}
