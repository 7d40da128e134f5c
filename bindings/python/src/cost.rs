//! What a partition costs.

use ccbcut::{Labels, cost};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::{control::run, graph::Graph, options::CutOptions};

/// The usual costs, by the names of the command's reports.
#[derive(IntoPyObject)]
pub struct CostRecord {
    cut: f64,
    ncut: f64,
    rcut: f64,
    ncheeger: f64,
    rcheeger: f64,
    ccn: f64,
    ccr: f64,
}

impl From<cost::Costs> for CostRecord {
    fn from(costs: cost::Costs) -> Self {
        let cost::Costs { cut, ncut, rcut, ncheeger, rcheeger, ccn, ccr } = costs;
        Self { cut, ncut, rcut, ncheeger, rcheeger, ccn, ccr }
    }
}

/// All costs of a partition.
#[pyfunction]
pub fn costs(
    py: Python<'_>,
    graph: &Bound<'_, Graph>,
    labels: PyReadonlyArray1<'_, u32>,
    tau: f64,
) -> PyResult<CostRecord> {
    let (graph, labels) = (&graph.get().inner, labels.as_slice()?);
    run(py, 1, |_| cost::Costs::of(graph, &Labels::from_raw(labels), tau)).map(CostRecord::from)
}

/// The cost that a cut with these options makes small.
#[pyfunction]
pub fn ccb_cost(
    py: Python<'_>,
    graph: &Bound<'_, Graph>,
    labels: PyReadonlyArray1<'_, u32>,
    options: CutOptions<'_>,
) -> PyResult<f64> {
    let (graph, labels, balance) = (&graph.get().inner, labels.as_slice()?, options.balance()?);
    let tau = options.tau();
    run(py, options.threads, |_| cost::ccb_cut(graph, &Labels::from_raw(labels), &balance, tau))
}
