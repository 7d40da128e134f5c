//! The command `ccbcut`: parse, call the library, print.

mod args;
mod bifurcation;
mod commands;
mod dendrogram;
mod evidence;
mod exit;
mod files;
mod library;
mod memory;
mod output;
mod page;
mod params;
mod plot;
mod read;
mod report;
mod summary;
mod watch;

use std::process::ExitCode;
#[cfg(unix)]
use std::sync::Arc;

use ccbcut_io::paint;

use crate::{exit::ExitStatus, output::Output};

/// Asks for pages of two megabytes and keeps for a while what is given back: the pages of four kilobytes that come fresh
/// with every large vector otherwise took a quarter of the time of a cut.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // A file-size limit then ends in an error that cleans up after itself, not in a killed process. Where the
    // handler cannot be set, nothing else changes.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let cli = match params::parse(&std::env::args_os().collect::<Vec<_>>()) {
        Ok(cli) => cli,
        Err(error) => match error.downcast::<clap::Error>() {
            // Help and usage errors: clap knows where to write each, and which status each ends with.
            Ok(usage) => usage.exit(),
            Err(error) => return Output::plain().fail(&error).into(),
        },
    };
    let output = Output::new(&cli.global);
    let status: ExitStatus = commands::run(cli.verb, &output).unwrap_or_else(|error| output.fail(&error));
    status.into()
}
