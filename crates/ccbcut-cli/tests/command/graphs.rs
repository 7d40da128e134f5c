//! `cluster`, `embed` and `cost`, one after the other.

use ccbcut::{Graph, graph::gallery};
use ccbcut_io::{Overwrite, read_labels_vector, read_npy, write_graph};

use crate::support::Desk;

/// A desk with three planted blocks of 20, 15 and 10 vertices as `g.npz`.
fn planted() -> (Desk, Graph) {
    let (desk, graph) = (Desk::new(), gallery::planted(&[20, 15, 10], 0.6, 0.03, 4));
    write_graph(&desk.path("g.npz"), &graph, Overwrite::Refuse).unwrap();
    (desk, graph)
}

#[test]
fn the_costs_of_a_clustering_are_those_of_its_labels() {
    let (desk, _) = planted();
    for options in ["--tau 1", "--tau 0.5 --balance ratio", "--tau 2 --method multiway --columns 2"] {
        for name in ["parts.csv", "parts.npy"] {
            let line = format!("cluster g.npz -k 3 {options} -o {name} --force --json");
            let clustered = desk.run(&line).succeeded().report();
            let tau = options.split(' ').nth(1).unwrap();
            let cost = desk.run(&format!("cost g.npz {name} --tau {tau} --json")).succeeded().report();
            assert_eq!(cost["costs"], clustered["costs"], "{options}");
            assert_eq!((&cost["sizes"], &cost["n_segments"]), (&clustered["sizes"], &3.into()));
            let sizes = read_labels_vector(&desk.path(name)).unwrap().sizes();
            assert_eq!(clustered["sizes"], serde_json::json!(sizes), "{options}");
            assert!(sizes == [20, 15, 10] || tau == "0.5", "{options}: {sizes:?}");
        }
    }
}

#[test]
fn labels_go_to_stdout_one_a_line_and_can_be_read_again() {
    let (desk, _) = planted();
    let ended = desk.run("cluster g.npz -k 3").succeeded();
    assert!(ended.stderr.contains("3 parts"), "the summary is a message: {}", ended.stderr);
    let labels: Vec<u32> = ended.stdout.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(labels, [vec![0; 20], vec![1; 15], vec![2; 10]].concat());
    desk.write("parts.txt", &ended.stdout);
    let cost = desk.run("cost g.npz parts.txt --json").succeeded().report();
    assert_eq!(cost["sizes"], serde_json::json!([20, 15, 10]));
}

#[test]
fn every_kind_of_graph_file_gives_the_same_labels() {
    let (desk, graph) = planted();
    write_graph(&desk.path("g.mtx"), &graph, Overwrite::Refuse).unwrap();
    let edges = graph.map_edges(|i, j, w| format!("{i} {j} {w}"));
    desk.write("g.edges", edges.join("\n"));
    let labels = desk.run("cluster g.npz -k 3").succeeded().stdout;
    for line in ["cluster g.mtx -k 3", "cluster g.edges -k 3", "cluster g.npz -k 3 --threads 1"] {
        assert_eq!(desk.run(line).succeeded().stdout, labels, "{line}");
    }
    for name in ["g.npz", "g.mtx", "g.edges"] {
        assert_eq!(
            desk.run_with_stdin("cluster - -k 3", name).succeeded().stdout,
            labels,
            "{name} by a pipe"
        );
    }
}

#[test]
fn an_embedding_satisfies_its_constraints() {
    let (desk, graph) = planted();
    for balance in ["normalized", "ratio"] {
        for (tau, variant) in [("2", "published"), ("1", "published"), ("1", "released"), ("0.5", "weighted")]
        {
            let line =
                format!("embed g.npz -c 3 --tau {tau} --balance {balance} --variant {variant} --force -q -o");
            desk.run(&format!("{line} y.npy")).succeeded();
            let y = read_npy(&desk.path("y.npy")).unwrap();
            assert_eq!(y.shape, [45, 3]);
            let y = y.values.to_f64().unwrap();
            let pi = if balance == "ratio" { vec![1.0; 45] } else { graph.degrees().to_vec() };
            for a in 0..3 {
                let along: f64 = (0..45).map(|i| pi[i] * y[3 * i + a]).sum();
                assert!(along.abs() < 1e-8, "{line}: YᵀΠ1 = {along}");
                for b in 0..3 {
                    let product: f64 = (0..45).map(|i| pi[i] * y[3 * i + a] * y[3 * i + b]).sum();
                    let expected = f64::from(u8::from(a == b));
                    assert!((product - expected).abs() < 1e-8, "{line}: YᵀΠY({a}, {b}) = {product}");
                }
            }
            desk.run(&format!("{line} y.csv")).succeeded();
            let text = desk.text("y.csv");
            let cells: Vec<f64> =
                text.lines().flat_map(|l| l.split(',')).map(|v| v.parse().unwrap()).collect();
            assert_eq!(cells, y, "both formats hold the same numbers");
        }
    }
}

#[test]
fn a_time_limit_of_nothing_is_said_and_strict_runs_end_with_1() {
    let (desk, _) = planted();
    for line in [
        "cluster g.npz -k 3 -o parts.csv",
        "embed g.npz -o y.npy",
        "cluster g.npz -k 3 --method multiway -o m.csv",
    ] {
        let line = format!("{line} --time-limit 0 --force --json");
        let report = desk.run(&line).succeeded().report();
        assert_eq!(
            (&report["stop_reason"], &report["converged"]),
            (&"interrupted".into(), &false.into()),
            "{line}"
        );
        assert_eq!(desk.run(&format!("{line} --strict")).status, 1, "{line}");
    }
    let said = desk.run("cluster g.npz -k 3 --time-limit 0");
    assert!(said.stderr.contains("interrupted"), "{}", said.stderr);
}

#[test]
fn every_choice_gives_exactly_k_parts() {
    let (desk, _) = planted();
    for variant in ["published", "released", "weighted"] {
        for options in [
            "--method hierarchical",
            "--method multiway --rounding discretize",
            "--method multiway --rounding procrustes",
        ] {
            for k in [1, 2, 7, 45] {
                let line = format!("cluster g.npz -k {k} --variant {variant} {options} --json");
                assert_eq!(desk.run(&line).succeeded().report()["n_segments"], k, "{line}");
            }
        }
    }
}

#[test]
fn completions_and_man_pages_know_every_verb() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = desk.run(&format!("generate completions {shell}")).succeeded().stdout;
        for verb in ["segment", "cluster", "embed", "cost", "figures", "demo", "generate"] {
            assert!(script.contains(verb), "{shell}: {verb}");
        }
    }
    desk.run("generate man -o man").succeeded();
    for name in desk.names("man") {
        assert!(desk.text(&format!("man/{name}")).starts_with(".ie"), "{name} is not a page");
    }
    assert!(desk.text("man/ccbcut-segment.1").contains("\\-\\-kappa\\-count"));
}
