//! What must be together, and what apart.

use ccbcut::Constraints;
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

/// Rows of two numbers each: vertices, or a vertex and the number of its name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ConstraintOptions<'py> {
    must_link: PyReadonlyArray2<'py, u32>,
    cannot_link: PyReadonlyArray2<'py, u32>,
    seeds: PyReadonlyArray2<'py, u32>,
}

impl ConstraintOptions<'_> {
    /// The library's constraints.
    pub fn constraints(&self) -> PyResult<Constraints> {
        let pairs = |rows: &PyReadonlyArray2<'_, u32>| -> PyResult<Vec<(u32, u32)>> {
            Ok(rows.as_slice()?.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
        };
        let all =
            pairs(&self.must_link)?.into_iter().fold(Constraints::new(), |all, (a, b)| all.together(a, b));
        let all = pairs(&self.cannot_link)?.into_iter().fold(all, |all, (a, b)| all.apart(a, b));
        Ok(pairs(&self.seeds)?.into_iter().fold(all, |all, (vertex, name)| all.seed(vertex, name)))
    }
}
