//! What can go wrong with a file: which file, what was expected, what came.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

/// A failure to read or write a file, with the path around the cause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file to read is not there.
    #[error("`{}` does not exist", path.display())]
    NotFound {
        /// The file asked for.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("could not {action} `{}`", path.display())]
    Io {
        /// The file concerned.
        path: PathBuf,
        /// What was being done, as a verb.
        action: &'static str,
        /// The refusal.
        source: io::Error,
    },
    /// The file to write is already there.
    #[error("`{}` already exists, and overwriting was not asked for", path.display())]
    Exists {
        /// The file in the way.
        path: PathBuf,
    },
    /// Two outputs of one run have the same name.
    #[error("`{}` was named for two outputs, but each needs a name of its own", path.display())]
    SameOutput {
        /// The name given twice.
        path: PathBuf,
    },
    /// A file type, or a variant of one, that is not read or written here.
    #[error("`{}` is {found}, but {what} must be {accepted}", path.display())]
    Unsupported {
        /// The file concerned.
        path: PathBuf,
        /// What kind of content was expected.
        what: &'static str,
        /// What the file turned out to be.
        found: String,
        /// What would be accepted.
        accepted: &'static str,
    },
    /// An image decoder gave up.
    #[error("`{}` could not be decoded as {format}: {detail}", path.display())]
    Decode {
        /// The file concerned.
        path: PathBuf,
        /// The format it was taken for.
        format: &'static str,
        /// The decoder's own words.
        detail: String,
    },
    /// An encoder gave up.
    #[error("`{}` could not be encoded as {format}: {detail}", path.display())]
    Encode {
        /// The file concerned.
        path: PathBuf,
        /// The format asked for.
        format: &'static str,
        /// The encoder's own words.
        detail: String,
    },
    /// An image above the pixel limit, refused before its pixels were unpacked.
    #[error("`{}` is {width} x {height} pixels, above the limit of {limit} pixels", path.display())]
    TooLarge {
        /// The file concerned.
        path: PathBuf,
        /// Columns, as the header declares them.
        width: u64,
        /// Rows, as the header declares them.
        height: u64,
        /// The most pixels accepted.
        limit: u64,
    },
    /// More bytes than are read, counted before or after unpacking.
    #[error("`{}` holds more than {limit} bytes, the most that is read", path.display())]
    TooManyBytes {
        /// The file concerned.
        path: PathBuf,
        /// The most bytes accepted.
        limit: u64,
    },
    /// Content that breaks the rules of its format.
    #[error("`{}`{place}: {detail}", path.display())]
    Malformed {
        /// The file concerned.
        path: PathBuf,
        /// Where in the file.
        place: Place,
        /// What was expected and what came.
        detail: String,
    },
    /// A container without the array or variable that was looked for.
    #[error("`{}` holds no {what}", path.display())]
    Missing {
        /// The file concerned.
        path: PathBuf,
        /// What was looked for.
        what: String,
    },
    /// A container with several arrays, of which one must be named.
    #[error("`{}` holds several arrays, and one must be named: {found}", path.display())]
    Ambiguous {
        /// The file concerned.
        path: PathBuf,
        /// Their names.
        found: String,
    },
    /// An image with a number of channels that are no colours.
    #[error("`{}` has {bands} bands, but an image has 1 (gray) or 3 (colour); more are a feature map", path.display())]
    Bands {
        /// The file concerned.
        path: PathBuf,
        /// How many there are.
        bands: usize,
    },
    /// An array of a shape that does not fit its use.
    #[error("`{}` holds an array of shape {got:?}, but {expected} was expected", path.display())]
    Shape {
        /// The file concerned.
        path: PathBuf,
        /// The shape that would fit, in words.
        expected: &'static str,
        /// The shape found.
        got: Vec<usize>,
    },
    /// More parts than the file type can number.
    #[error(
        "`{}` would need {segments} labels, but {format} holds at most {limit}; use {alternatives} instead",
        path.display()
    )]
    TooManySegments {
        /// The file asked for.
        path: PathBuf,
        /// How many parts there are.
        segments: usize,
        /// The file type asked for.
        format: &'static str,
        /// The most labels it can hold.
        limit: usize,
        /// File types that can hold them.
        alternatives: &'static str,
    },
    /// A list of named edges whose two directions have different weights.
    #[error(
        "`{}` is a directed graph: the weight from `{from}` to `{to}` is {weight}, but from `{to}` to `{from}` {transposed}",
        path.display()
    )]
    Directed {
        /// The file concerned.
        path: PathBuf,
        /// The name of one end.
        from: String,
        /// The name of the other end.
        to: String,
        /// The weight in this direction.
        weight: f64,
        /// The weight in the other direction.
        transposed: f64,
    },
    /// The library refused what the file holds.
    #[error("`{}` does not hold what is needed", path.display())]
    Library {
        /// The file concerned.
        path: PathBuf,
        /// The library's reason.
        source: ccbcut::Error,
    },
}

/// Result with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Where in a file something is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A line of a text file, counted from 1.
    Line(usize),
    /// A byte of a binary file, counted from 0.
    Byte(usize),
    /// The file as a whole.
    Whole,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, ", line {line}"),
            Self::Byte(byte) => write!(f, ", byte {byte}"),
            Self::Whole => Ok(()),
        }
    }
}

impl Error {
    /// Whether a file or a name the user gave is at fault, rather than the machine.
    pub fn is_input(&self) -> bool {
        !matches!(self, Self::Io { .. } | Self::Encode { .. })
    }

    /// The file concerned.
    pub fn path(&self) -> &Path {
        match self {
            Self::NotFound { path }
            | Self::Io { path, .. }
            | Self::Exists { path }
            | Self::SameOutput { path }
            | Self::Unsupported { path, .. }
            | Self::Decode { path, .. }
            | Self::Encode { path, .. }
            | Self::TooLarge { path, .. }
            | Self::TooManyBytes { path, .. }
            | Self::Malformed { path, .. }
            | Self::Missing { path, .. }
            | Self::Ambiguous { path, .. }
            | Self::Bands { path, .. }
            | Self::Shape { path, .. }
            | Self::TooManySegments { path, .. }
            | Self::Directed { path, .. }
            | Self::Library { path, .. } => path,
        }
    }

    pub(crate) fn io(path: &Path, action: &'static str, source: io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), action, source }
    }

    pub(crate) fn malformed(path: &Path, place: Place, detail: impl Into<String>) -> Self {
        Self::Malformed { path: path.to_path_buf(), place, detail: detail.into() }
    }

    pub(crate) fn library(path: &Path, source: ccbcut::Error) -> Self {
        Self::Library { path: path.to_path_buf(), source }
    }

    pub(crate) fn missing(path: &Path, what: impl Into<String>) -> Self {
        Self::Missing { path: path.to_path_buf(), what: what.into() }
    }

    pub(crate) fn shape(path: &Path, expected: &'static str, got: &[usize]) -> Self {
        Self::Shape { path: path.to_path_buf(), expected, got: got.to_vec() }
    }

    pub(crate) fn unsupported(
        path: &Path,
        what: &'static str,
        found: impl Into<String>,
        accepted: &'static str,
    ) -> Self {
        Self::Unsupported { path: path.to_path_buf(), what, found: found.into(), accepted }
    }

    /// The error for a file name whose ending means nothing here.
    pub(crate) fn extension(path: &Path, what: &'static str, accepted: &'static str) -> Self {
        let found = match path.extension() {
            Some(ending) => format!("a `.{}` file", ending.to_string_lossy()),
            None => "a file without an ending".to_owned(),
        };
        Self::unsupported(path, what, found, accepted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_file_and_the_place() {
        let path = Path::new("a.mtx");
        let error = Error::malformed(path, Place::Line(7), "expected three numbers, got 2");
        assert_eq!(error.to_string(), "`a.mtx`, line 7: expected three numbers, got 2");
        assert!(error.is_input());
        assert_eq!(error.path(), path);
        let error = Error::extension(Path::new("a.gif"), "a label map", ".png or .npy");
        assert_eq!(error.to_string(), "`a.gif` is a `.gif` file, but a label map must be .png or .npy");
        let error = Error::io(path, "write", io::Error::from(io::ErrorKind::StorageFull));
        assert!(!error.is_input());
    }

    #[test]
    fn errors_travel_between_threads() {
        fn check<T: Send + Sync + 'static>() {}
        check::<Error>();
    }
}
