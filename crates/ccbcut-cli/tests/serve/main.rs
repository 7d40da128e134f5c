//! The viewer's server, through the real binary and a plain TCP client.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail like tests")]

/// Whole cuts over HTTP, compared with the files of the command.
mod cutting;
/// Many clients at once, and files that are no images.
mod load;
/// Who may ask, and how much.
mod safety;
/// Strokes on the picture, and the cuts that keep to them.
mod strokes;
/// A server to talk to, and a client that says what it is told to.
mod support;
