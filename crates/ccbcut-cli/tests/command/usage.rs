//! Help, usage errors, generated pages, pipes, and the costs of a partition.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::support::{ccbcut, folder};

const VERBS: [&str; 13] = [
    "superpixels",
    "volume",
    "segment",
    "cluster",
    "embed",
    "recut",
    "sweep",
    "cost",
    "compare",
    "serve",
    "figures",
    "demo",
    "generate",
];

#[test]
fn short_help_fits_a_screen() {
    let top = ccbcut(&["-h"]);
    assert_eq!((top.status, top.stderr.as_str()), (0, ""));
    for verb in VERBS {
        assert!(top.stdout.contains(verb));
        let help = ccbcut(&[verb, "-h"]);
        assert_eq!(help.status, 0);
        assert!(help.stdout.lines().count() <= 38, "{verb}: {} lines", help.stdout.lines().count());
        assert!(help.stdout.lines().all(|line| line.chars().count() <= 100), "{verb}");
    }
}

#[test]
fn long_help_explains_with_examples() {
    for verb in [
        "segment",
        "superpixels",
        "volume",
        "contours",
        "cluster",
        "embed",
        "recut",
        "sweep",
        "cost",
        "compare",
        "serve",
        "evaluate",
        "figures",
        "generate",
    ] {
        let help = ccbcut(&[verb, "--help"]);
        assert!(help.stdout.contains("Examples:\n  ccbcut "), "{verb}");
    }
    let segment = ccbcut(&["segment", "--help"]).stdout;
    let options = "segments tau balance affinity contours contour-weight contour-sigma pmi-pairs pmi-bandwidth kernel method variant rounding columns levels radius sigma beta kappa \
        kappa-count epsilon-floor max-iterations tol eigen-tol n-init min-share rejoin seed threads mask time-limit max-pixels output \
        format overlay mean-color boundaries all-k connected regions coco geojson ucm params json force strict quiet verbose \
        no-progress color features feature-metric cosine-weight cosine-threshold bandwidth neighbors grid layout \
        feature-name embedding-picture k-max tree evidence superpixels compactness region-sigma region-features region-feature-sigma scribbles";
    for option in options.split_whitespace() {
        assert!(segment.contains(&format!("--{option}")), "{option}");
    }
    assert!(ccbcut(&["--help"]).stdout.contains("Exit status"));
}

#[test]
fn usage_errors_end_with_2_and_print_nothing_to_stdout() {
    for words in [
        &["segment"][..],
        &["segment", "a.png", "--tau", "much"],
        &["segment", "a.png", "--balance", "equal"],
        &["segment", "a.png", "--kappa", "0.1", "--kappa-count", "3"],
        &["segment", "a.png", "--time-limit", "-1"],
        &["segment", "a.png", "--threads", "100000000"],
        &["serve", "--workers", "1025"],
        &["segment", "a.png", "--no-pictures", "--overlay"],
        &["segment", "a.png", "b.png", "-o", "labels.png"],
        &["segment", "a.png", "--params", "no-such-file.json"],
        &["figures", "--only", "fig9"],
        &["figures", "a.png", "--only", "fig1"],
        &["-q", "-v", "demo"],
        &["cut"],
        &["generate", "completions", "cmd"],
    ] {
        let ended = ccbcut(words);
        assert_eq!((ended.status, ended.stdout.as_str()), (2, ""), "{words:?}");
        assert!(ended.stderr.starts_with("error:"), "{words:?}: {}", ended.stderr);
    }
    assert_eq!(ccbcut(&[]).status, 2);
}

#[test]
fn errors_name_their_causes_and_a_way_out() {
    let ended = ccbcut(&["segment", "a.png", "b.png", "-o", "labels.png"]);
    let expected = "error: `labels.png` is one file, but there are 2 inputs\nhint: name a folder with -o\n";
    assert_eq!(ended.stderr, expected);
    let ended = ccbcut(&["demo", "--threads", "1025"]);
    let expected = "invalid value '1025' for '--threads <N>': expected a whole number from 0 (all) to 1024";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    let ended = ccbcut(&["--color", "always", "segment", "a.png", "b.png", "-o", "labels.png"]);
    assert!(ended.stderr.starts_with("\x1b[1;31merror:\x1b[0m `labels.png`"), "{}", ended.stderr);
    let ended = ccbcut(&["segment", "a.png", "--params", "no-such-file.json"]);
    assert!(ended.stderr.starts_with("error: reading parameters from `no-such-file.json`\n  caused by: "));
}

#[test]
fn existing_outputs_are_found_before_any_work() {
    let folder = folder("existing");
    std::fs::write(folder.join("a-labels.png"), "mine").unwrap();
    let ended = ccbcut(&["segment", "a.jpg", "-o", folder.to_str().unwrap()]);
    assert_eq!(ended.status, 2);
    assert!(ended.stderr.contains("a-labels.png` exists already\nhint: use --force"), "{}", ended.stderr);
    assert_eq!(std::fs::read(folder.join("a-labels.png")).unwrap(), b"mine");
}

#[test]
fn one_bad_file_does_not_hide_the_others() {
    let folder = folder("batch");
    let ended = ccbcut(&["segment", "no-1.png", "no-2.png", "-o", folder.to_str().unwrap()]);
    assert_eq!(ended.status, 2);
    assert!(ended.stderr.contains("no-1.png") && ended.stderr.contains("no-2.png"));
    assert!(ended.stderr.ends_with("0 of 2 images done, 2 failed\n"), "{}", ended.stderr);
    let quiet = ccbcut(&["-q", "segment", "no-1.png", "no-2.png", "-o", folder.to_str().unwrap()]);
    assert!(!quiet.stderr.contains("images done") && quiet.stderr.contains("error:"));
}

/// The toy graph of Fig. 1 with α = 0.5, as a list of edges, and its balanced partition.
fn toy(name: &str) -> (PathBuf, PathBuf) {
    let folder = folder(name);
    let (graph, labels) = (folder.join("toy.edges"), folder.join("halves.csv"));
    std::fs::write(&graph, "0 1 1\n0 2 1\n1 2 1\n3 4 1\n3 5 1\n4 5 1\n2 3 1\n0 6 0.25\n5 6 0.25\n").unwrap();
    std::fs::write(&labels, "0\n0\n0\n1\n1\n1\n1\n").unwrap();
    (graph, labels)
}

#[test]
fn cost_prints_every_cost_of_a_partition() {
    let (graph, labels) = toy("cost");
    let files = [graph.to_str().unwrap(), labels.to_str().unwrap()];
    let ended = ccbcut(&["cost", files[0], files[1], "--tau", "0"]);
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    let rows: Vec<(&str, &str)> = ended.stdout.lines().filter_map(|line| line.rsplit_once("  ")).collect();
    let names: Vec<&str> = rows.iter().map(|(name, _)| name.trim()).collect();
    assert_eq!(names, ["cut", "NCut", "RCut", "NCheeger", "RCheeger", "CCN (tau 0)", "CCR (tau 0)"]);
    assert_eq!(
        (rows[0].1, rows[5].1, rows[6].1),
        ("1.25", "1.25", "1.25"),
        "at tau = 0 nothing but the cut counts"
    );

    let ended = ccbcut(&["cost", files[0], files[1], "--tau=5", "--p=2", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(ended.stdout.lines().count(), 1);
    assert_eq!(
        (&report["schema_version"], &report["n"], &report["edges"]),
        (&1.into(), &7.into(), &9.into())
    );
    assert_eq!(report["costs"]["cut"], 1.25);
    assert!(report["bhn"].is_number() && report["costs"]["ccn"].is_number());
}

#[test]
fn cost_refuses_what_does_not_fit() {
    let (graph, labels) = toy("misfit");
    let (graph, labels) = (graph.to_str().unwrap(), labels.to_str().unwrap());
    let ended = ccbcut(&["cost", graph, labels, "--tau", "-1"]);
    assert_eq!((ended.status, ended.stdout.as_str()), (2, ""));
    assert!(ended.stderr.contains("tau is -1") && ended.stderr.contains("hint:"), "{}", ended.stderr);
    let ended = ccbcut(&["cost", graph, labels, "--p", "1"]);
    assert!(ended.status == 2 && ended.stderr.contains("p is 1, but it must be above 1"), "{}", ended.stderr);
    let ended = ccbcut(&["cost", graph, "no-such-file.csv"]);
    assert!(
        ended.status == 2 && ended.stderr.contains("no-such-file.csv` does not exist"),
        "{}",
        ended.stderr
    );
    std::fs::write(labels, "0\n1\n").unwrap();
    let ended = ccbcut(&["cost", graph, labels]);
    assert!(
        ended.status == 2 && ended.stderr.contains("has 2 elements, but 7 were expected"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_graph_may_come_from_a_pipe() {
    let (graph, labels) = toy("pipe");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ccbcut"));
    let output = command
        .arg("cost")
        .arg("-")
        .arg(&labels)
        .stdin(std::fs::File::open(graph).unwrap())
        .output()
        .unwrap();
    let words: Vec<String> =
        String::from_utf8_lossy(&output.stdout).split_whitespace().take(2).map(str::to_owned).collect();
    assert_eq!(words, ["cut", "1.25"]);
}

#[test]
fn man_pages_and_completions_are_generated() {
    let page = ccbcut(&["generate", "man"]);
    assert_eq!((page.status, page.stderr.as_str()), (0, ""));
    assert!(page.stdout.contains(".TH ccbcut 1"));
    let bash = ccbcut(&["generate", "completions", "bash"]);
    assert!(bash.stdout.contains("--kappa-count"));

    let folder = folder("generated");
    for words in [&["generate", "man", "-o"][..], &["generate", "completions", "fish", "-o"]] {
        let words: Vec<&str> = words.iter().copied().chain([folder.to_str().unwrap()]).collect();
        let ended = ccbcut(&words);
        assert_eq!((ended.status, ended.stdout.as_str()), (0, ""));
    }
    for name in ["ccbcut.1", "ccbcut-segment.1", "ccbcut-demo.1", "ccbcut.fish"] {
        assert!(folder.join(name).exists(), "{name}");
    }
}

#[test]
fn a_reader_that_goes_away_is_not_a_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ccbcut"))
        .args(["generate", "completions", "zsh"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
}
