//! The JSON report, and parameters taken from it.

use serde_json::Value;

use crate::support::Desk;

const PAGE: &str = include_str!("../../../../docs/reference/json.md");

/// The names in the first column of the tables of a section, for rows whose last column holds `verb`.
fn documented(section: &str, verb: Option<&str>) -> Vec<String> {
    let text = PAGE.split(&format!("{section}\n")).nth(1).unwrap().split("\n#").next().unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let rows = rows.filter(|row| {
        verb.is_none_or(|verb| row.trim_end_matches(" |").rsplit("| ").next().unwrap().contains(verb))
    });
    let first = |row: &str| row.split('|').nth(1).unwrap().to_owned();
    rows.flat_map(|row| first(row).split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

fn keys(value: &Value) -> Vec<String> {
    let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
    keys.sort();
    keys
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

#[test]
fn a_report_has_every_documented_key_and_no_other() {
    let desk = Desk::with_scene();
    desk.write("g.edges", "0 1 1\n1 2 1\n2 3 0.1\n3 4 1\n");
    let image_only = ["height", "width", "levels", "coarse_n", "coarse_edges"];
    for (verb, line) in [
        ("segment", "segment a.png -k 3 -o l.npy"),
        ("cluster", "cluster g.edges -k 2 -o parts.csv"),
        ("embed", "embed g.edges -o y.npy"),
    ] {
        let report = desk.run(&format!("{line} --json")).succeeded().report();
        let mut expected = sorted(documented("## Fields", None));
        assert!(expected.len() > 20);
        expected.retain(|key| verb == "segment" || !image_only.contains(&key.as_str()));
        expected.retain(|key| verb != "embed" || key != "costs");
        // Only where a feature map was cut.
        expected.retain(|key| key != "features");
        // With `-k auto`, and with `--vertex-weights`.
        expected.retain(|key| key != "k_choice" && key != "ccb");
        assert_eq!(keys(&report), expected, "{verb}");
        let mut parameters = documented("### `parameters`", Some(verb));
        if verb != "embed" {
            // The option of the same name belongs to `embed` alone.
            parameters.retain(|key| key != "components");
        }
        // The first row of that table names the option beside the key.
        assert_eq!(keys(&report["parameters"]), sorted(parameters), "{verb}");
        let sweeps = report["trace"].as_array().unwrap();
        assert!(!sweeps.is_empty());
        assert_eq!(keys(&sweeps[0]), sorted(documented("### `trace`", None)), "{verb}");
        if verb != "embed" {
            assert_eq!(keys(&report["costs"]), sorted(documented("### `costs`", None)), "{verb}");
        }
        assert_eq!(keys(&report["versions"]), ["arch", "ccbcut", "os"]);
        assert_eq!((&report["schema_version"], &report["command"]), (&1.into(), &verb.into()));
    }
}

#[test]
fn the_numbers_of_a_report_agree_with_the_files() {
    let desk = Desk::with_scene();
    let report = desk.run("segment a.png -k 4 -o l.npy --overlay --json").succeeded().report();
    let map = desk.labels("l.npy");
    assert_eq!((&report["n"], &report["height"], &report["width"]), (&1728.into(), &36.into(), &48.into()));
    assert_eq!(report["sizes"], Value::from(map.sizes()));
    let outputs = report["outputs"].as_array().unwrap();
    let listed: Vec<&str> = outputs.iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(listed, ["l.npy", "l-overlay.png"]);
    assert!(listed.iter().all(|name| desk.path(name).exists()));
    let stages: Vec<&str> =
        report["stages"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(stages, ["read", "affinity", "coarsen", "splitting", "upsample", "costs", "write"]);
    // F never rises within a split.
    let sweeps = report["trace"].as_array().unwrap();
    for pair in sweeps.windows(2).filter(|pair| pair[0]["split"] == pair[1]["split"]) {
        assert!(pair[1]["f"].as_f64().unwrap() <= pair[0]["f"].as_f64().unwrap() * (1.0 + 1e-9));
    }
}

#[test]
fn several_images_give_one_object_a_line() {
    let desk = Desk::with_scene();
    std::fs::copy(desk.path("a.png"), desk.path("b.png")).unwrap();
    let ended = desk.run("segment a.png b.png -k 3 -o out --json").succeeded();
    let reports = ended.reports();
    assert_eq!(reports.len(), 2);
    assert_eq!((&reports[0]["input"], &reports[1]["input"]), (&"a.png".into(), &"b.png".into()));
    assert_eq!(reports[0]["costs"], reports[1]["costs"]);
    assert_eq!(desk.read("out/a-labels.png"), desk.read("out/b-labels.png"));
}

#[test]
fn parameters_taken_from_a_report_give_the_same_bytes() {
    let desk = Desk::with_scene();
    for (k, options) in [
        (
            4,
            "--tau 0.5 --balance ratio --kappa-count 9 --sigma 7.25 --radius 4 --levels 1 --seed 11 --connected",
        ),
        (
            3,
            "--method multiway --rounding procrustes --variant weighted --kappa 0.05 --columns 2 --rotate --tol 1e-3",
        ),
        (
            5,
            "--variant released --kernel released --beta 40 --epsilon-floor 0 --max-iterations 7 --upsampling prolong",
        ),
    ] {
        let first =
            desk.run(&format!("segment a.png -k {k} {options} -o one.npy --force --json")).succeeded();
        desk.write("run.json", &first.stdout);
        let again = desk.run("segment a.png --params run.json -o two.npy --force --json").succeeded();
        assert_eq!(again.report()["parameters"], first.report()["parameters"]);
        assert_eq!(desk.read("one.npy"), desk.read("two.npy"), "{options}");
        let plain = desk.run(&format!("segment a.png -k {k} -o three.npy --force --json")).succeeded();
        assert_ne!(plain.report()["parameters"], first.report()["parameters"]);
        let other = desk.run("segment a.png --params run.json -k 2 -o four.npy --force --json").succeeded();
        assert_eq!(other.report()["parameters"]["segments"], 2, "options given win");
    }
}
