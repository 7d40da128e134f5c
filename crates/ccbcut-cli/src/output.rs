//! The only writer: data to stdout, everything else to stderr.

use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, IsTerminal, Write},
    time::Duration,
};

use anyhow::{Context, Error, Result};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::{
    args::{ColorChoice, GlobalArgs},
    exit::{self, ExitStatus},
};

/// Where all text goes.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Output {
    quiet: bool,
    verbose: bool,
    progress: bool,
    color_stdout: bool,
    color_stderr: bool,
}

/// What a piece of text is, for its colour; the words alone always say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Names of things.
    Strong,
    /// Side remarks.
    Faint,
    /// Failures.
    Bad,
    /// Doubts and hints.
    Note,
}

#[expect(clippy::unused_self, reason = "whoever writes must have been handed the output")]
impl Output {
    /// Output as the global options ask.
    pub fn new(global: &GlobalArgs) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let wants = |is_terminal: bool| match global.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && !no_color,
        };
        let on_terminal = io::stderr().is_terminal();
        Self {
            quiet: global.quiet,
            verbose: global.verbose,
            progress: on_terminal && !global.no_progress && !global.quiet,
            color_stdout: wants(io::stdout().is_terminal()),
            color_stderr: wants(on_terminal),
        }
    }

    /// Output before the options are known: no colour, no progress.
    pub fn plain() -> Self {
        Self { quiet: false, verbose: false, progress: false, color_stdout: false, color_stderr: false }
    }

    /// Writes data to stdout, as it is.
    pub fn data(&self, bytes: &[u8]) -> Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes).and_then(|()| stdout.flush()).context("writing to stdout")
    }

    /// Writes one JSON object to stdout, on a line of its own.
    pub fn json(&self, value: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_string(value).context("making the JSON report")?;
        line.push('\n');
        self.data(line.as_bytes())
    }

    /// Writes a summary for people to stdout, unless `--quiet`.
    pub fn summary(&self, text: &str) -> Result<()> {
        if self.quiet { Ok(()) } else { self.data(text.as_bytes()) }
    }

    /// A message on stderr, unless `--quiet`.
    pub fn status(&self, text: &str) {
        if !self.quiet {
            self.message(text);
        }
    }

    /// A message on stderr with `--verbose` only.
    pub fn detail(&self, text: &str) {
        if self.verbose {
            self.message(&self.paint_stderr(text, Style::Faint));
        }
    }

    /// A warning on stderr, unless `--quiet`.
    pub fn warn(&self, text: &str) {
        self.status(&format!("{} {text}", self.paint_stderr("warning:", Style::Note)));
    }

    /// An error with its causes and, where there is one, a hint; never silenced.
    pub fn error(&self, error: &Error) {
        let mut text = format!("{} {error}", self.paint_stderr("error:", Style::Bad));
        for cause in error.chain().skip(1) {
            // Writing into a String cannot fail.
            let _ = write!(text, "\n  {} {cause}", self.paint_stderr("caused by:", Style::Faint));
        }
        if let Some(hint) = exit::hint_of(error) {
            let _ = write!(text, "\n{} {hint}", self.paint_stderr("hint:", Style::Note));
        }
        self.message(&text);
    }

    /// Ends with an error: says it, unless the reader went away, and gives the exit status.
    pub fn fail(&self, error: &Error) -> ExitStatus {
        let status = exit::status_of(error);
        match status {
            ExitStatus::Success => {}
            ExitStatus::Interrupted => self.status("interrupted"),
            ExitStatus::Below | ExitStatus::Error => self.error(error),
        }
        status
    }

    /// Text for stdout in a style, if stdout is coloured.
    pub fn paint<'a>(&self, text: &'a str, style: Style) -> Cow<'a, str> {
        paint(text, style, self.color_stdout)
    }

    fn paint_stderr<'a>(&self, text: &'a str, style: Style) -> Cow<'a, str> {
        paint(text, style, self.color_stderr)
    }

    /// A spinner on stderr, on a terminal only; it vanishes when dropped.
    pub fn progress(&self, what: &str) -> Progress {
        if !self.progress {
            return Progress(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} {msg} [{elapsed}]") {
            bar.set_style(style);
        }
        bar.set_prefix(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(100));
        Progress(bar)
    }

    /// One write per message, so that lines of a batch never mix. A stderr that is gone is no reason to stop.
    fn message(&self, text: &str) {
        let _ = io::stderr().lock().write_all(format!("{text}\n").as_bytes());
    }
}

/// A spinner that vanishes when dropped.
#[derive(Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    /// Says where the run is now.
    pub fn step(&self, message: impl Into<Cow<'static, str>>) {
        self.0.set_message(message);
    }

    /// Says how far a counted stage is, as a bar.
    pub fn count(&self, done: usize, total: usize, what: &str) {
        self.0.set_message(format!("{what} {}", bar(done, total)));
    }

    /// The same, the words after the bar.
    pub fn count_with(&self, done: usize, total: usize, what: &str) {
        self.0.set_message(format!("{} {what}", bar(done, total)));
    }
}

/// How far a counted stage is.
fn bar(done: usize, total: usize) -> String {
    const WIDTH: usize = 24;
    let filled = (WIDTH * done / total.max(1)).min(WIDTH);
    format!("{}{} {done}/{total}", "█".repeat(filled), "░".repeat(WIDTH - filled))
}
impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn paint(text: &str, style: Style, color: bool) -> Cow<'_, str> {
    if !color {
        return Cow::Borrowed(text);
    }
    let code = match style {
        Style::Strong => "1",
        Style::Faint => "2",
        Style::Bad => "1;31",
        Style::Note => "1;33",
    };
    Cow::Owned(format!("\x1b[{code}m{text}\x1b[0m"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_only_added_around_the_words() {
        assert_eq!(paint("error:", Style::Bad, false), "error:");
        assert_eq!(paint("error:", Style::Bad, true), "\x1b[1;31merror:\x1b[0m");
    }

    #[test]
    fn choices_override_the_terminal() {
        let global = |color| GlobalArgs { quiet: false, verbose: false, no_progress: true, color };
        assert!(Output::new(&global(ColorChoice::Always)).color_stdout);
        assert!(!Output::new(&global(ColorChoice::Never)).color_stderr);
        assert!(!Output::new(&global(ColorChoice::Always)).progress);
    }
}
