//! The private extension module `ccbcut._ccbcut`: the library's functions on NumPy arrays.
//!
//! Everything a user sees is written in Python, in `python/ccbcut`, where arguments are converted to the few types that
//! are accepted here. This crate borrows them, lets go of the interpreter while it works, and hands results back as
//! arrays and dictionaries. Files have the names of the library's.

mod choose;
mod constraints;
mod control;
mod cost;
mod embedding;
mod error;
mod features;
mod graph;
mod image;
mod metrics;
mod options;
mod partition;
mod points;
mod regions;
mod segment;
mod trace;
mod volume;

use pyo3::prelude::*;

/// As in the command: large vectors in pages of two megabytes. What Python itself allocates is not touched.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Cuts of graphs and images; use the package `ccbcut` instead.
#[pymodule(gil_used = false)]
fn _ccbcut(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("CcbError", module.py().get_type::<error::CcbError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<graph::Graph>()?;
    module.add_function(wrap_pyfunction!(graph::affinity_graph, module)?)?;
    module.add_function(wrap_pyfunction!(image::contours, module)?)?;
    module.add_function(wrap_pyfunction!(image::pixel_address, module)?)?;
    module.add_function(wrap_pyfunction!(embedding::embed, module)?)?;
    module.add_function(wrap_pyfunction!(partition::partition, module)?)?;
    module.add_function(wrap_pyfunction!(segment::segment, module)?)?;
    module.add_function(wrap_pyfunction!(features::segment_features, module)?)?;
    module.add_function(wrap_pyfunction!(points::neighbor_graph, module)?)?;
    module.add_function(wrap_pyfunction!(regions::superpixels, module)?)?;
    module.add_function(wrap_pyfunction!(volume::supervoxels, module)?)?;
    module.add_function(wrap_pyfunction!(volume::segment_volume, module)?)?;
    module.add_function(wrap_pyfunction!(cost::costs, module)?)?;
    module.add_function(wrap_pyfunction!(cost::ccb_cost, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::region_scores, module)?)?;
    Ok(())
}
