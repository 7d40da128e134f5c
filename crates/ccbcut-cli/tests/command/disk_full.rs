//! A file that cannot be finished: a clear message, no output, and nothing temporary left behind.
//!
//! A limit on the size of files stands in for a full disk: writes beyond it fail in the same way.

use std::process::Command;

use crate::support::{Desk, Ended, end};

/// Runs the binary with files limited to one block, 512 or 1024 bytes by the shell.
fn run_limited(desk: &Desk, line: &str) -> Ended {
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -f 1; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_ccbcut")]);
    end(shell.args(line.split_whitespace()).current_dir(desk.path("")))
}

#[track_caller]
fn fails_cleanly(desk: &Desk, line: &str, file: &str) {
    let before = desk.content();
    let ended = run_limited(desk, line);
    assert_eq!((ended.status, ended.stdout.as_str()), (2, ""), "{line}\n{}", ended.stderr);
    let said = format!("error: could not write `{file}`\n  caused by: ");
    assert!(ended.stderr.starts_with(&said), "{line}\n{}", ended.stderr);
    assert!(ended.stderr.contains("File too large") || ended.stderr.contains("os error"), "{}", ended.stderr);
    assert!(before == desk.content(), "{line} left something behind");
}

#[test]
fn no_output_of_an_image_appears_when_one_cannot_be_written() {
    let desk = Desk::with_scene();
    std::fs::create_dir(desk.path("out")).unwrap();
    fails_cleanly(&desk, "segment a.png -k 3 -o labels.npy", "labels.npy");
    // The small label map fits and is staged before the picture fails.
    fails_cleanly(&desk, "segment a.png -k 3 -o labels.png --overlay", "labels-overlay.png");
    fails_cleanly(&desk, "segment a.png -k 3 -o out --format png,tif", "out/a-labels.tif");
    run_limited(&desk, "segment a.png -k 3 -o labels.png").succeeded();
    assert_eq!(desk.labels("labels.png").n_segments(), 3);
}

#[test]
fn what_was_there_survives_a_failed_overwrite() {
    let desk = Desk::with_scene();
    desk.write("labels.npy", "mine");
    fails_cleanly(&desk, "segment a.png -k 3 -o labels.npy --force", "labels.npy");
    assert_eq!(desk.read("labels.npy"), b"mine");
}

#[test]
fn no_output_of_a_graph_appears_either() {
    let desk = Desk::new();
    let edges: Vec<String> = (1..600).map(|v| format!("{} {v} 1", v - 1)).collect();
    desk.write("path.edges", edges.join("\n"));
    fails_cleanly(&desk, "cluster path.edges -k 2 --tau 2 -o parts.csv", "parts.csv");
    fails_cleanly(&desk, "embed path.edges --tau 2 -o y.npy", "y.npy");
    fails_cleanly(&desk, "embed path.edges --tau 2 -o y.csv", "y.csv");
}

#[test]
fn no_figure_appears_when_one_cannot_be_written() {
    let desk = Desk::new();
    fails_cleanly(&desk, "figures -o out/deep --only fig1,fig4", "out/deep/fig1-toy-graph.svg");
    desk.run("figures -o out --only fig1,fig4").succeeded();
    fails_cleanly(&desk, "figures -o out --only fig1,fig4 --force", "out/fig1-toy-graph.svg");
}
