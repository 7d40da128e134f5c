//! Files from and for other programs: one binary, a module per question.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests fail and speak as tests do")]

/// Files that NumPy, SciPy, Pillow and pycocotools wrote are read as they meant them.
mod golden;

/// Damaged files give errors, never panics or half a result.
mod damage;

/// The benchmark's own files, when they are there.
mod bsds;

use std::path::PathBuf;

/// The path of a fixture.
fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}
