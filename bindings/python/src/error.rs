//! The library's errors as Python exceptions, by whose fault it is.

use ccbcut::Error;
use pyo3::{
    PyErr, create_exception,
    exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError},
};

create_exception!(
    ccbcut,
    CcbError,
    PyRuntimeError,
    "The computation itself failed on acceptable input, for example an eigenproblem that could not be solved."
);

/// One library error as the exception that a Python programmer expects.
pub fn to_python(error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::TauOutOfRange { .. }
        | Error::InvalidParameter { .. }
        | Error::InvalidWeight { .. }
        | Error::InvalidBalance { .. }
        | Error::NotFinite { .. }
        | Error::Asymmetric { .. }
        | Error::IndexOutOfRange { .. }
        | Error::ShapeMismatch { .. }
        | Error::OffsetsDecrease { .. }
        | Error::TooFewVertices { .. }
        | Error::TooLarge { .. }
        | Error::MapSizes { .. }
        | Error::ContourSizes { .. }
        | Error::NothingToCompare => PyValueError::new_err(message),
        Error::EigenNotConverged { .. } => CcbError::new_err(message),
        Error::Interrupted => PyKeyboardInterrupt::new_err(message),
        // The list of the library may grow.
        other if other.is_input() => PyValueError::new_err(message),
        _ => CcbError::new_err(message),
    }
}
