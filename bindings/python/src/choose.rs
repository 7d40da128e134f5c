//! How many parts, and why.

use ccbcut::choose::{Choice, Opinion};
use numpy::PyArray1;
use pyo3::prelude::*;

/// A number of parts with everything behind it.
#[derive(IntoPyObject)]
pub struct ChoiceRecord<'py> {
    k: usize,
    confidence: f64,
    k_max: usize,
    eigengap: OpinionRecord<'py>,
    elbow: OpinionRecord<'py>,
    stability: OpinionRecord<'py>,
    eigenvalues: Bound<'py, PyArray1<f64>>,
    costs: Bound<'py, PyArray1<f64>>,
}

/// One way to look at it.
#[derive(IntoPyObject)]
pub struct OpinionRecord<'py> {
    k: usize,
    margin: f64,
    scores: Bound<'py, PyArray1<f64>>,
}

/// A choice as a dictionary.
pub fn choice_record<'py>(py: Python<'py>, choice: &Choice) -> ChoiceRecord<'py> {
    let opinion = |of: &Opinion| OpinionRecord {
        k: of.k,
        margin: of.margin,
        scores: PyArray1::from_slice(py, &of.scores),
    };
    ChoiceRecord {
        k: choice.k,
        confidence: choice.confidence,
        k_max: choice.k_max,
        eigengap: opinion(&choice.eigengap),
        elbow: opinion(&choice.elbow),
        stability: opinion(&choice.stability),
        eigenvalues: PyArray1::from_slice(py, &choice.eigenvalues),
        costs: PyArray1::from_slice(py, &choice.costs),
    }
}
