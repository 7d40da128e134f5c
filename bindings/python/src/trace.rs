//! What happened on the way, as dictionaries.

use ccbcut::{cluster::Run, partition::Tree};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

/// One embedding.
#[derive(IntoPyObject)]
pub struct RunRecord {
    n_vertices: usize,
    first_vertex: u32,
    stop_reason: &'static str,
    kappa: usize,
    epsilon_floor: f64,
    sweeps: Vec<SweepRecord>,
}

/// One sweep, with the names of the command's reports.
#[derive(IntoPyObject)]
struct SweepRecord {
    sweep: usize,
    epsilon: f64,
    f: f64,
    j_tau: f64,
    j2: f64,
    eigenvalues: Vec<f64>,
    residual: f64,
    vertices: usize,
    solver_steps: usize,
    ms: f64,
}

/// The nested splits: one row per node, the root first.
#[derive(IntoPyObject)]
pub struct TreeRecord<'py> {
    /// The vertices, so ordered that each node owns a range.
    order: Bound<'py, PyArray1<u32>>,
    parent: Bound<'py, PyArray1<i32>>,
    left: Bound<'py, PyArray1<i32>>,
    right: Bound<'py, PyArray1<i32>>,
    size: Bound<'py, PyArray1<i64>>,
    step: Bound<'py, PyArray1<i32>>,
    costs: Bound<'py, PyArray1<f64>>,
}

/// All embeddings of a run.
pub fn records(runs: &[Run]) -> Vec<RunRecord> {
    runs.iter().map(record).collect()
}

fn record(run: &Run) -> RunRecord {
    let sweeps = run.trace.iterations.iter().map(|iteration| SweepRecord {
        sweep: iteration.sweep,
        epsilon: iteration.epsilon,
        f: iteration.f,
        j_tau: iteration.j_tau,
        j2: iteration.j2,
        eigenvalues: iteration.eigenvalues.clone(),
        residual: iteration.residual,
        vertices: iteration.vertices,
        solver_steps: iteration.solver_steps,
        ms: iteration.ms,
    });
    RunRecord {
        n_vertices: run.n_vertices,
        first_vertex: run.first_vertex,
        stop_reason: run.trace.stop_reason.name(),
        kappa: run.trace.kappa,
        epsilon_floor: run.trace.epsilon_floor,
        sweeps: sweeps.collect(),
    }
}

/// A tree as arrays; −1 stands for no node.
pub fn tree_record<'py>(py: Python<'py>, tree: &Tree) -> TreeRecord<'py> {
    let number = |value: Option<usize>| value.map_or(-1, |value| value as i32);
    let nodes = tree.nodes();
    let column = |pick: &dyn Fn(&ccbcut::partition::Node) -> i32| nodes.iter().map(pick).collect::<Vec<_>>();
    TreeRecord {
        order: PyArray1::from_slice(py, tree.members(0).unwrap_or_default()),
        parent: column(&|node| number(node.parent())).into_pyarray(py),
        left: column(&|node| number(node.children().map(|c| c[0]))).into_pyarray(py),
        right: column(&|node| number(node.children().map(|c| c[1]))).into_pyarray(py),
        size: nodes.iter().map(|node| node.size() as i64).collect::<Vec<_>>().into_pyarray(py),
        step: column(&|node| number(node.step())).into_pyarray(py),
        costs: PyArray1::from_slice(py, tree.costs()),
    }
}
