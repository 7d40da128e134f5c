//! Pixels, borrowed from NumPy; and the contours of an image.

use std::sync::Arc;

use ccbcut::{Image, image::contours::MultiscalePb};
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::{control::run, error::to_python};

/// The pixels of an array, kept alive as long as they are looked at.
struct Borrowed {
    /// Holds the memory.
    _array: Py<PyArray3<f32>>,
    data: *const f32,
    len: usize,
}

// SAFETY: the pointer is only read from, and the array that owns the memory may be held by any thread; PyO3 gives it
// back to the interpreter from wherever it is dropped.
#[expect(unsafe_code, reason = "pixels are read without a copy")]
unsafe impl Send for Borrowed {}

// SAFETY: as above; nothing can be changed through it.
#[expect(unsafe_code, reason = "pixels are read without a copy")]
unsafe impl Sync for Borrowed {}

impl AsRef<[f32]> for Borrowed {
    #[expect(unsafe_code, reason = "pixels are read without a copy")]
    fn as_ref(&self) -> &[f32] {
        // SAFETY: pointer and length are those of a contiguous slice of the array, which is alive, and NumPy refuses to
        // resize an array that somebody else holds. Whoever writes to an array that is being worked on gets what any
        // NumPy function gives: some mixture of old and new values.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }
}

/// The library's image on the memory of a C-contiguous array of shape (height, width, channels).
pub fn borrow(pixels: &PyReadonlyArray3<'_, f32>) -> PyResult<Image> {
    let &[height, width, channels] = pixels.shape() else { unreachable!("three dimensions by type") };
    let slice = pixels.as_slice()?;
    let array: &Bound<'_, PyArray3<f32>> = pixels;
    let owner = Borrowed { _array: array.clone().unbind(), data: slice.as_ptr(), len: slice.len() };
    Image::shared(height, width, channels, Arc::new(owner)).map_err(to_python)
}

/// Where the library reads the pixels of an array: the tests compare it with where NumPy keeps them.
#[pyfunction]
pub fn pixel_address(pixels: PyReadonlyArray3<'_, f32>) -> PyResult<usize> {
    Ok(borrow(&pixels)?.data().as_ptr().addr())
}

/// The strength of a boundary at every pixel.
#[pyfunction]
pub fn contours<'py>(
    py: Python<'py>,
    pixels: PyReadonlyArray3<'py, f32>,
    seed: u64,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let image = borrow(&pixels)?;
    let found = run(py, threads, |_| MultiscalePb::new().seed(seed).detect(&image))?;
    PyArray1::from_slice(py, found.as_slice()).reshape([found.height(), found.width()])
}
