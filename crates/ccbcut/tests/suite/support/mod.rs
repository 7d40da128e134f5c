//! What the tests share: where stored results are, and how they are read.

pub mod quad;

use std::path::{Path, PathBuf};

use ccbcut_io::Array as Stored;

/// The folder of the stored results, or a line that says which test was skipped.
pub fn golden_dir(test: &str) -> Option<PathBuf> {
    let dir = std::env::var_os("CCBCUT_GOLDEN_DIR").map(PathBuf::from);
    if dir.is_none() {
        println!("skipped: {test} (set CCBCUT_GOLDEN_DIR)");
    }
    dir
}

/// An array with its values widened to 64 bits, in C order.
pub struct Array {
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
}

impl Array {
    /// Values that are indices.
    pub fn indices(&self) -> Vec<usize> {
        self.values.iter().map(|&v| v as usize).collect()
    }

    fn from_stored(stored: &Stored) -> Self {
        Self { shape: stored.shape.clone(), values: stored.values.to_f64().unwrap() }
    }
}

/// A `.npy` file.
pub fn read_npy(path: &Path) -> Array {
    Array::from_stored(&ccbcut_io::read_npy(path).unwrap())
}

/// One array of an `.npz` archive.
pub fn read_npz(path: &Path) -> Archive {
    Archive(ccbcut_io::read_npz(path).unwrap())
}

/// The arrays of an `.npz`, by name.
pub struct Archive(ccbcut_io::Archive);

impl Archive {
    pub fn array(&self, name: &str) -> Array {
        Array::from_stored(self.0.array(name).unwrap())
    }
}
