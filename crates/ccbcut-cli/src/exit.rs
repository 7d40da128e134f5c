//! How the command ends: exit status, and hints for errors that have an obvious way out.

use std::{error::Error as StdError, fmt, io, process::ExitCode};

use anyhow::Error;

/// The exit status of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// Done.
    Success,
    /// Done, but below what was asked: `--strict` and not converged.
    Below,
    /// Usage, input or file error.
    Error,
    /// Ctrl-C.
    Interrupted,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(match status {
            ExitStatus::Success => 0,
            ExitStatus::Below => 1,
            ExitStatus::Error => 2,
            ExitStatus::Interrupted => 130,
        })
    }
}

/// The status that an error ends with. A reader that went away, as `head` does, is not a failure.
pub fn status_of(error: &Error) -> ExitStatus {
    if is_broken_pipe(error) {
        ExitStatus::Success
    } else if error.chain().any(|cause| matches!(cause.downcast_ref(), Some(ccbcut::Error::Interrupted))) {
        ExitStatus::Interrupted
    } else {
        ExitStatus::Error
    }
}

fn is_broken_pipe(error: &Error) -> bool {
    let broken = |cause: &(dyn StdError + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    };
    error.chain().any(broken)
}

/// What to try next, where an error has an obvious way out.
pub fn hint_of(error: &Error) -> Option<&'static str> {
    error.chain().find_map(|cause| match cause.downcast_ref::<Hinted>() {
        Some(hinted) => Some(hinted.hint),
        None => match cause.downcast_ref::<ccbcut_io::Error>() {
            Some(ccbcut_io::Error::Directed { .. }) => Some(SYMMETRIZE),
            _ => cause.downcast_ref::<ccbcut::Error>().and_then(library_hint),
        },
    })
}

/// The way out for directed graphs.
const SYMMETRIZE: &str =
    "the graph is directed, cuts are not: join the two directions with --symmetrize mean, max or sum";

fn library_hint(error: &ccbcut::Error) -> Option<&'static str> {
    use ccbcut::Error as E;
    match error {
        E::TauOutOfRange { .. } => Some("a cost takes any tau of 0 and above, a cut 0 < tau <= 2"),
        E::TooFewVertices { .. } => Some("ask for fewer parts with -k"),
        E::TooLarge { .. } => Some("shrink the input, or raise the limit if memory allows"),
        E::Asymmetric { .. } => Some(SYMMETRIZE),
        E::EigenNotConverged { .. } => Some("try a looser --eigen-tol, or a larger --sigma"),
        _ => None,
    }
}

/// An error of the command itself that comes with a hint.
#[derive(Debug)]
pub struct Hinted {
    message: String,
    hint: &'static str,
}

impl Hinted {
    /// An error with a message and a way out.
    pub fn error(message: impl Into<String>, hint: &'static str) -> Error {
        Error::new(Self { message: message.into(), hint })
    }
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Hinted {}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::{Context, anyhow};

    #[test]
    fn statuses_follow_the_cause_through_its_contexts() {
        let pipe = Err::<(), _>(io::Error::from(io::ErrorKind::BrokenPipe)).context("writing").unwrap_err();
        assert_eq!(status_of(&pipe), ExitStatus::Success);
        let stopped = Error::new(ccbcut::Error::Interrupted).context("cutting `a.png`");
        assert_eq!(status_of(&stopped), ExitStatus::Interrupted);
        assert_eq!(status_of(&anyhow!("no such file")), ExitStatus::Error);
    }

    #[test]
    fn hints_are_found_below_contexts() {
        let error = Error::new(ccbcut::Error::TooFewVertices { vertices: 2, segments: 3 }).context("cutting");
        assert!(hint_of(&error).unwrap().contains("-k"));
        let own = Hinted::error("it exists", "use --force").context("writing");
        assert_eq!(hint_of(&own), Some("use --force"));
        assert_eq!(hint_of(&anyhow!("plain")), None);
    }
}
