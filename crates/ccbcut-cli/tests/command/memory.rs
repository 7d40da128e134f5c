//! What a run is thought to need, what it takes, and what it may.

use crate::support::{Desk, scene};

/// A picture of 100 rows and 150 columns, and one of a few pixels.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.paint("a.png", 100, 150, |row, column| scene(row / 3, column / 3));
    desk.paint("dot.png", 2, 2, |row, _| [row as u8; 3]);
    desk
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_takes_about_what_was_predicted() {
    let desk = desk();
    // A graph of some size: every vertex of a ring tied to the next thirty.
    let edges: String =
        (0..4000).flat_map(|i| (1..=30).map(move |s| format!("{i} {} 1\n", (i + s) % 4000))).collect();
    desk.write("g.edges", edges);
    // How much of the program itself is in memory depends on the build and on the system's mood: what next to no work
    // takes is left out of both sides.
    let bytes = |line: &str| {
        let report = desk.run(&format!("{line} --force --json")).succeeded().report();
        ["predicted_bytes", "peak_bytes"].map(|key| report[key].as_u64().unwrap() as f64)
    };
    let dot = "segment dot.png -k 2 --tau 2 -o l.npy";
    let least = bytes(dot);
    let kept = |line: &str| {
        let report = desk.run(&format!("{line} --force --dry-run --json")).succeeded().report();
        let terms = report["terms"].as_array().unwrap();
        let term = terms.iter().find(|term| term["name"] == "kept for reuse").unwrap();
        term["bytes"].as_u64().unwrap() as f64
    };
    for line in [
        "segment a.png -k 4 --tau 2 -o l.npy",
        "segment a.png -k 4 --tau 2 --method multiway -o l.npy",
        "segment a.png -k 12 --tau 2 --method multiway --levels 1 -o l.npy",
        "cluster g.edges -k 2 --tau 2 -o p.npy",
        "embed g.edges --components 8 --tau 2 -o y.npy",
    ] {
        let own = bytes(line);
        // What the allocator keeps depends on the pages that the system has: nothing, or all that was predicted.
        let kept = kept(line) - kept(dot);
        let [predicted, taken] = [own[0] - least[0], own[1] - least[1]];
        let (most, fewest) = (predicted / taken, (predicted - kept) / taken);
        assert!(0.7 < most && fewest < 1.6, "{line}: {fewest:.2} to {most:.2} of {taken} bytes");
    }
}

#[test]
fn a_dry_run_prints_the_terms_and_cuts_nothing() {
    let desk = desk();
    desk.write("g.edges", "0 1 1\n1 2 1\n2 3 0.1\n3 4 1\n");
    for (verb, line) in [
        ("segment", "segment a.png -k 3 -o out"),
        ("cluster", "cluster g.edges -k 2 -o p.csv"),
        ("embed", "embed g.edges -o y.npy"),
    ] {
        let before = desk.content();
        let text = desk.run(&format!("{line} --dry-run --max-memory 1G")).succeeded().stdout;
        assert!(text.contains("of memory at most") && text.contains("Allowed: 1.0 GiB"), "{text}");
        let dry = desk.run(&format!("{line} --dry-run --max-memory 1G --json")).succeeded().report();
        assert_eq!((&dry["command"], &dry["limit_bytes"]), (&verb.into(), &(1_u64 << 30).into()));
        let terms = dry["terms"].as_array().unwrap();
        let total: u64 = terms.iter().map(|term| term["bytes"].as_u64().unwrap()).sum();
        let peak = dry["predicted_bytes"].as_u64().unwrap();
        assert!(terms.len() > 3 && 0 < peak && peak <= total);
        assert_eq!(desk.content(), before, "nothing is written");
    }
    // The prediction is the one that the run itself reports.
    let dry = desk.run("segment a.png -k 3 --dry-run --json").succeeded().report();
    let run = desk.run("segment a.png -k 3 -o l.npy --json").succeeded().report();
    assert_eq!(dry["predicted_bytes"], run["predicted_bytes"]);
}

#[test]
fn a_run_that_needs_too_much_is_refused() {
    let desk = desk();
    for extra in ["", " --dry-run"] {
        let ended = desk.run(&format!("segment a.png -k 3 -o l.npy --max-memory 10M{extra}"));
        assert_eq!(ended.status, 2, "{}", ended.stderr);
        assert!(ended.stderr.contains("more than the 10.0 MiB allowed"), "{}", ended.stderr);
        assert!(ended.stderr.contains("hint:") && !desk.path("l.npy").exists());
    }
    desk.write("g.edges", "0 1 1\n1 2 1\n2 3 0.1\n3 4 1\n");
    assert_eq!(desk.run("cluster g.edges -k 2 --max-memory 1M").status, 2);
    desk.run("cluster g.edges -k 2 --max-memory 100%").succeeded();
    let ended = desk.run("segment a.png --max-memory much");
    assert!(ended.status == 2 && ended.stderr.contains("expected a size"), "{}", ended.stderr);
}
