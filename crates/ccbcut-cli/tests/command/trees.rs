//! Trees kept and cut again, the number of parts chosen, and parts followed through tau.

use ccbcut::graph::gallery;
use ccbcut_io::{Overwrite, read_tree, write_graph};

use crate::support::{Desk, refused};

fn planted(sizes: &[usize]) -> Desk {
    let desk = Desk::new();
    write_graph(&desk.path("g.npz"), &gallery::planted(sizes, 0.6, 0.03, 4), Overwrite::Refuse).unwrap();
    desk
}

#[test]
fn a_tree_gives_every_cut_again() {
    let desk = planted(&[20, 15, 10]);
    desk.run("cluster g.npz -k 8 --tree t.json -o finest.csv -q").succeeded();
    desk.run("cluster g.npz -k 8 --tree t.npz -q").succeeded();
    assert_eq!(read_tree(&desk.path("t.json")).unwrap(), read_tree(&desk.path("t.npz")).unwrap());
    for k in [1, 3, 8] {
        let direct = desk.run(&format!("cluster g.npz -k {k} -q")).succeeded().stdout;
        for tree in ["t.json", "t.npz"] {
            assert_eq!(
                desk.run(&format!("recut {tree} -k {k} -q")).succeeded().stdout,
                direct,
                "{tree}, {k}"
            );
        }
    }
    let report = desk.run("recut t.npz --min-size 9 -o parts.csv --json").succeeded().report();
    assert_eq!(report["sizes"], serde_json::json!([20, 15, 10]));
    let cost = desk.run("cost g.npz parts.csv --json").succeeded().report();
    assert!((report["cost"].as_f64().unwrap() - cost["costs"]["ccn"].as_f64().unwrap()).abs() < 1e-9);
    let line = format!("recut t.npz --max-cost {} --dendrogram d.svg --json", report["cost"]);
    assert!(desk.run(&line).succeeded().report()["n_segments"].as_u64() >= Some(3));
    let svg = desk.text("d.svg");
    assert!(roxmltree::Document::parse(&svg).is_ok() && svg.contains("8 leaves"));
    refused(&desk, "recut t.json -k 9", &["9 parts were asked for, but the tree has only 8"]);
    refused(&desk, "recut t.json --max-size 1", &["cannot be split further, but the largest size is 1"]);
    refused(&desk, "recut t.json -k 1 --max-size 30", &["the largest size makes at least"]);
    refused(&desk, "recut t.json -k 2 --ucm u.png", &["needs an image", "segment --tree"]);
    refused(&desk, "recut t.json -k 2 --dendrogram d.png", &["drawings are written as .svg"]);
    refused(&desk, "recut t.json -k 2 -o finest.csv", &["exists already"]);
    refused(&desk, "recut g.npz -k 2", &["`g.npz`"]);
    refused(&desk, "cluster g.npz -k 3 --tree t.csv", &["trees are written as .json or .npz"]);
    refused(&desk, "cluster g.npz -k 3 --method multiway --tree u.json", &["a multiway cut has none"]);
    assert_eq!(desk.run("recut t.json").status, 2, "a cut must be asked for");
}

#[test]
fn names_stay_with_the_tree() {
    let desk = Desk::new();
    desk.write("g.csv", "ana,bo\nbo,cy\nana,cy\nmax,ned\nned,zoe\nmax,zoe\nana,max,0.1\n");
    desk.run("cluster g.csv -k 4 --tree t.npz -q").succeeded();
    let expected = "ana,0\nbo,0\ncy,0\nmax,1\nned,1\nzoe,1\n";
    assert_eq!(desk.run("recut t.npz -k 2 -q").succeeded().stdout, expected);
}

#[test]
fn the_tree_of_an_image_is_painted_and_becomes_contours() {
    let desk = Desk::with_scene();
    let line = "segment a.png -k 6 --levels 1 --radius 5";
    desk.run(&format!("{line} -o six.png --tree t.npz --ucm u.npy -q")).succeeded();
    desk.run(&format!("{} -o three.png -q", line.replace("-k 6", "-k 3"))).succeeded();
    desk.run("recut t.npz -k 3 -o again.png --ucm v.npy -q").succeeded();
    assert_eq!(desk.labels("again.png"), desk.labels("three.png"));
    desk.run("recut t.npz -k 6 -o all.png -q").succeeded();
    assert_eq!(desk.labels("all.png"), desk.labels("six.png"));
    assert!(desk.read("u.npy") == desk.read("v.npy"), "the same contours");
    refused(&desk, "recut t.npz -k 3 -o x.csv", &["label maps are written as"]);
    refused(&desk, "segment a.png -k 2 --method multiway --tree x.json", &["a multiway cut has none"]);
}

#[test]
fn the_number_of_parts_can_be_chosen() {
    let desk = planted(&[30, 25, 20]);
    let line = "cluster g.npz -k auto --tau 2 --k-max 6";
    let report = desk.run(&format!("{line} --evidence e.svg --json")).succeeded().report();
    assert_eq!((&report["n_segments"], &report["parameters"]["segments"]), (&3.into(), &3.into()));
    assert_eq!(report["k_choice"]["eigengap"]["scores"].as_array().unwrap().len(), 6);
    assert!(report["k_choice"]["confidence"].as_f64().unwrap() > 0.0);
    assert!(roxmltree::Document::parse(&desk.text("e.svg")).is_ok());
    let said = desk.run(line).succeeded().stderr;
    assert!(said.contains("% sure: eigengap 3"), "{said}");
    let one = planted(&[60]);
    let report = one.run("cluster g.npz -k auto --tau 2 --k-max 5 --json").succeeded().report();
    assert_eq!(report["n_segments"], 1, "{}", report["k_choice"]);
    refused(&desk, "cluster g.npz -k 3 --evidence f.svg", &["use -k auto"]);
    refused(&desk, "cluster g.npz -k auto --k-max 0", &["the largest number of parts is 0"]);
    assert_eq!(desk.run("cluster g.npz -k many").status, 2);
}

#[test]
fn a_constant_image_is_one_region_and_three_colours_are_three() {
    let desk = Desk::with_scene();
    desk.paint("flat.png", 24, 36, |_, _| [90, 120, 60]);
    let options = "-k auto --k-max 5 --levels 1 --smooth 0 --radius 4 --no-pictures --json";
    let flat = desk.run(&format!("segment flat.png {options}")).succeeded().report();
    assert_eq!(flat["n_segments"], 1, "{}", flat["k_choice"]);
    let scene = desk.run(&format!("segment a.png {options} --evidence e.svg")).succeeded().report();
    assert_eq!(scene["n_segments"], 3, "{}", scene["k_choice"]);
    assert!(desk.text("e.svg").contains("stability"));
}

#[test]
fn parts_are_followed_through_tau() {
    let desk = planted(&[30, 25, 5]);
    let report =
        desk.run("sweep g.npz -k 3 --tau 2..0.5 --steps 4 --diagram d.svg --json").succeeded().report();
    let steps = report["steps"].as_array().unwrap();
    let taus: Vec<f64> = steps.iter().map(|step| step["tau"].as_f64().unwrap()).collect();
    assert_eq!(taus, [2.0, 1.5, 1.0, 0.5]);
    for step in steps {
        let size = |part: &serde_json::Value| part["size"].as_u64().unwrap();
        assert_eq!(step["parts"].as_array().unwrap().iter().map(size).sum::<u64>(), 60);
    }
    // After τ = 2 the usual start is that solution.
    assert!(steps[0]["n_warm"] == 0 && steps[1]["n_warm"] == 0 && steps[2]["n_warm"].as_u64() > Some(0));
    assert!(roxmltree::Document::parse(&desk.text("d.svg")).is_ok());
    let told = desk.run("sweep g.npz -k 3 --tau 2,1").succeeded().stdout;
    assert!(told.starts_with("tau 2 ") && told.contains("tau 1 "), "{told}");
    refused(&desk, "sweep g.npz -k 3 --strip s.png", &["use --diagram for graphs"]);
    refused(&desk, "sweep g.npz -k auto", &["give a number with -k"]);
    refused(&desk, "sweep g.npz --diagram d.png", &["drawings are written as .svg"]);
    assert_eq!(desk.run("sweep g.npz --tau 3..1").status, 2);
    let image = Desk::with_scene();
    let line = "sweep a.png -k 4 --tau 2,1 --levels 1 --radius 4 --strip s.png --json";
    let report = image.run(line).succeeded().report();
    assert_eq!(report["n"], 36 * 48);
    let strip = ::image::open(image.path("s.png")).unwrap();
    assert_eq!((strip.width(), strip.height()), (2 * 48 + 6, 36));
}
