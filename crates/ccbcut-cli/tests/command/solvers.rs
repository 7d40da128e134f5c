//! `--solver`, `--refine` and `compare`.

use ccbcut::graph::gallery;
use ccbcut_io::{Overwrite, write_graph};
use serde_json::Value;

use crate::support::Desk;

/// A desk with three planted blocks of 20, 15 and 10 vertices as `g.npz`.
fn planted() -> Desk {
    let (desk, graph) = (Desk::new(), gallery::planted(&[20, 15, 10], 0.6, 0.03, 4));
    write_graph(&desk.path("g.npz"), &graph, Overwrite::Refuse).unwrap();
    desk
}

#[test]
fn every_solver_is_one_word() {
    let desk = planted();
    for options in [
        "--solver irrq",
        "--solver ipm",
        "--solver ratiodca",
        "--solver soc",
        "--solver soc --method multiway",
    ] {
        for refine in ["", " --refine"] {
            let report =
                desk.run(&format!("cluster g.npz -k 3 {options}{refine} --json")).succeeded().report();
            assert_eq!(report["sizes"], serde_json::json!([20, 15, 10]), "{options}");
            let parameters = &report["parameters"];
            let solver = options.split(' ').nth(1).filter(|&name| name != "irrq");
            assert_eq!(parameters.get("solver").and_then(Value::as_str), solver);
            assert_eq!(parameters.get("refine").is_some(), !refine.is_empty());
        }
    }
    let ended =
        desk.run("cluster g.npz -k 3 --solver ipm --starts 1 --balance ratio -o parts.csv").succeeded();
    assert!(
        ended.stdout.contains("the Cheeger cut; hierarchical, ratio, ipm")
            || ended.stderr.contains("the Cheeger cut; hierarchical, ratio, ipm")
    );
}

#[test]
fn what_a_solver_cannot_do_is_said_and_nothing_written() {
    let desk = planted();
    for (line, says) in [
        ("cluster g.npz --solver ipm --method multiway -o x.csv", "needs the hierarchical method"),
        ("cluster g.npz --solver ratiodca --method multiway -o x.csv", "the solver ratiodca splits in two"),
        ("cluster g.npz --solver soc --tau 0.5 -o x.csv", "1 <= tau <= 2"),
        ("cluster g.npz --solver sock -o x.csv", "irrq, ipm, soc, ratiodca"),
        ("compare g.npz -k 3 -o pictures", "there is no picture to draw"),
        ("compare g.npz -k 300", "only 45 vertices"),
        ("compare nothing.npz", "nothing.npz"),
    ] {
        let ended = desk.run(line);
        assert_eq!(ended.status, 2, "{line}");
        assert!(ended.stderr.contains(says), "{line}: {}", ended.stderr);
    }
    assert!(!desk.path("x.csv").exists() && !desk.path("pictures").exists());
}

#[test]
fn compare_sets_every_solver_beside_the_others() {
    let desk = planted();
    let report = desk.run("compare g.npz -k 3 --json").succeeded().report();
    let methods = report["methods"].as_array().unwrap();
    let names: Vec<&str> = methods.iter().map(|m| m["method"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 10);
    assert_eq!(names[..4], ["ncut", "ncut + refine", "irrq", "irrq + refine"]);
    for pair in methods.chunks(2) {
        let cost = if pair[0]["solver"] == "ipm" {
            "ncheeger"
        } else if pair[0]["method"] == "ncut" {
            "ncut"
        } else {
            "ccn"
        };
        let value = |m: &Value| m["costs"][cost].as_f64().unwrap();
        assert!(value(&pair[1]) <= value(&pair[0]) * (1.0 + 1e-12), "{pair:?}");
        assert_eq!(pair[0]["sizes"].as_array().unwrap().len(), 3);
    }
    let table = desk.run("compare g.npz -k 3 --tau 0.5").succeeded().stdout;
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("method") && lines[0].ends_with("CCR"));
    assert_eq!(lines.len(), 9, "SOC is left out below tau = 1: {table}");
    assert!(table.contains('*'));
}

#[test]
fn compare_draws_a_strip_of_an_image() {
    let desk = Desk::with_scene();
    let line = "compare a.png -k 3 --levels 1 --radius 3 -o out";
    desk.run(&format!("{line} --json")).succeeded();
    let strip = std::fs::read(desk.path("out/a-compare.png")).unwrap();
    assert_eq!(&strip[1..4], b"PNG");
    let again = desk.run(line);
    assert_eq!(again.status, 2, "nothing is overwritten");
    desk.run(&format!("{line} --force")).succeeded();
}
