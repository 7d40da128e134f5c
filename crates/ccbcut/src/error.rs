//! What can go wrong, said so that the reader knows what to change.

/// The library's error: what was expected, what came, and where.
///
/// Reaching an iteration limit is not an error; it is a [`StopReason`](crate::StopReason) in the trace.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// τ outside the range for which the asked computation is defined.
    #[error("tau is {tau}, but {expected}")]
    TauOutOfRange {
        /// The value given.
        tau: f64,
        /// What would be accepted.
        expected: &'static str,
    },
    /// A numeric parameter outside its range.
    #[error("{name} is {value}, but it must be {expected}")]
    InvalidParameter {
        /// The parameter's name, as in the command and in the docs.
        name: &'static str,
        /// The value given.
        value: f64,
        /// What would be accepted.
        expected: &'static str,
    },
    /// An edge weight that is negative, infinite or not a number.
    #[error("the weight of entry ({row}, {col}) is {weight}, but weights must be finite and not negative")]
    InvalidWeight {
        /// Row of the entry, counted from 0.
        row: usize,
        /// Column of the entry, counted from 0.
        col: usize,
        /// The offending weight.
        weight: f64,
    },
    /// A vertex weight π that is not positive and finite.
    #[error("the balance weight of vertex {vertex} is {weight}, but it must be positive and finite")]
    InvalidBalance {
        /// The vertex, counted from 0.
        vertex: usize,
        /// The offending weight.
        weight: f64,
    },
    /// A value in the data that is infinite or not a number.
    #[error("{what} holds {value} at position {index}, but every value must be finite")]
    NotFinite {
        /// Which data.
        what: &'static str,
        /// Position in the flat array, counted from 0.
        index: usize,
        /// The offending value.
        value: f64,
    },
    /// A matrix that should be symmetric but is not.
    #[error(
        "the matrix is not symmetric: entry ({row}, {col}) is {weight}, entry ({col}, {row}) is {transposed}"
    )]
    Asymmetric {
        /// Row of the entry, counted from 0.
        row: usize,
        /// Column of the entry, counted from 0.
        col: usize,
        /// The entry.
        weight: f64,
        /// The entry across the diagonal.
        transposed: f64,
    },
    /// A vertex number or row offset that points outside the graph.
    #[error("{what} is {index}, but it must be below {limit}")]
    IndexOutOfRange {
        /// Which index.
        what: &'static str,
        /// The value given.
        index: usize,
        /// The first value that is too large.
        limit: usize,
    },
    /// Two inputs whose sizes do not fit together.
    #[error("{what} has {got} elements, but {expected} were expected")]
    ShapeMismatch {
        /// Which input.
        what: &'static str,
        /// The size that would fit.
        expected: usize,
        /// The size given.
        got: usize,
    },
    /// Row offsets of a sparse matrix that decrease.
    #[error("row offset {row} of the sparse matrix is smaller than the one before it")]
    OffsetsDecrease {
        /// The row whose offset is wrong.
        row: usize,
    },
    /// More parts asked for than there are vertices.
    #[error("{segments} parts were asked for, but there are only {vertices} vertices")]
    TooFewVertices {
        /// How many vertices there are.
        vertices: usize,
        /// How many parts were asked for.
        segments: usize,
    },
    /// Two vertices that constraints keep together and apart.
    #[error("vertices {a} and {b} must be kept apart, but other constraints keep them together")]
    Contradiction {
        /// One of them.
        a: usize,
        /// The other.
        b: usize,
    },
    /// More seeds than parts.
    #[error("{seeds} seeds must be kept apart, but only {segments} parts were asked for")]
    TooManySeeds {
        /// How many names of seeds there are.
        seeds: usize,
        /// How many parts were asked for.
        segments: usize,
    },
    /// No partition that keeps apart what must be.
    #[error("no {segments} parts were found that keep everything apart that must be, after {tried} attempts")]
    NotFound {
        /// How many parts were asked for.
        segments: usize,
        /// How many attempts were made.
        tried: usize,
    },
    /// A solver for two parts where all parts are asked for at once.
    #[error("the solver {solver} splits in two, so it needs the hierarchical method, not multiway")]
    TwoWaySolver {
        /// Its name.
        solver: &'static str,
    },
    /// A tree that cannot be cut into as many parts as asked for.
    #[error("{asked} parts were asked for, but the tree has only {possible} that keep to the sizes")]
    TooFewParts {
        /// How many were asked for.
        asked: usize,
        /// How many there can be.
        possible: usize,
    },
    /// A largest size that makes more parts than asked for.
    #[error("{asked} parts were asked for, but the largest size makes at least {least}")]
    TooManyParts {
        /// How many there must be.
        least: usize,
        /// How many were asked for.
        asked: usize,
    },
    /// A part above the largest size that the tree does not split, or not without going below the smallest size.
    #[error("a part of {size} vertices cannot be split further, but the largest size is {limit}")]
    PartTooLarge {
        /// Its size.
        size: usize,
        /// The largest size asked for.
        limit: usize,
    },
    /// More data than the computation is prepared to hold.
    #[error("{what} would be {requested}, above the limit of {limit}")]
    TooLarge {
        /// What would be too large.
        what: &'static str,
        /// The size asked for.
        requested: usize,
        /// The largest size accepted.
        limit: usize,
    },
    /// No eigensolver reached the tolerance, the dense one included.
    #[error(
        "the eigensolver stopped after {iterations} steps with residual {residual:.3e}, above the tolerance {tol:.1e}"
    )]
    EigenNotConverged {
        /// Steps taken.
        iterations: usize,
        /// The largest residual, measured through the inverse.
        residual: f64,
        /// The tolerance asked for.
        tol: f64,
    },
    /// Two label maps of different sizes.
    #[error(
        "the label map is {} x {} pixels, but the ground truth is {} x {}",
        found.1, found.0, truth.1, truth.0
    )]
    MapSizes {
        /// Height and width of the segmentation.
        found: (usize, usize),
        /// Height and width of the ground truth.
        truth: (usize, usize),
    },
    /// A contour map of another size than the image.
    #[error(
        "the contour map is {} x {} pixels, but the image is {} x {}",
        map.1, map.0, image.1, image.0
    )]
    ContourSizes {
        /// Height and width of the image.
        image: (usize, usize),
        /// Height and width of the map.
        map: (usize, usize),
    },
    /// A comparison without a single pixel, image or truth.
    #[error("there is nothing to compare: no ground truth, or none that labels a pixel")]
    NothingToCompare,
    /// The observer asked to stop before a first result existed.
    #[error("interrupted before a first result existed")]
    Interrupted,
}

impl Error {
    /// Whether the input is at fault, rather than the numerics.
    pub fn is_input(&self) -> bool {
        !self.is_numerical() && !matches!(self, Self::Interrupted)
    }

    /// Whether the computation itself failed on acceptable input.
    pub fn is_numerical(&self) -> bool {
        matches!(self, Self::EigenNotConverged { .. })
    }
}

/// Result with the library's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_whose_fault_it_is() {
        let input = Error::InvalidWeight { row: 3, col: 4, weight: -1.0 };
        assert!(input.is_input() && !input.is_numerical());
        assert!(input.to_string().contains("(3, 4) is -1"));
        let numeric = Error::EigenNotConverged { iterations: 7, residual: 0.5, tol: 1e-6 };
        assert!(numeric.is_numerical() && !numeric.is_input());
    }
}
