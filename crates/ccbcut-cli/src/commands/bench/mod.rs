//! `ccbcut bench`: whole benchmarks.

mod bsds;
mod charts;
mod dataset;
mod keep;
mod method;
mod page;
mod pictures;
mod record;
mod table;
mod ucm;

use anyhow::Result;

use crate::{args::Benchmark, exit::ExitStatus, output::Output};

/// Runs what was asked.
pub fn run(what: &Benchmark, output: &Output) -> Result<ExitStatus> {
    match what {
        Benchmark::Bsds(args) => bsds::run(args, output),
        Benchmark::Ucm(args) => ucm::run(args, output),
    }
}
