//! Graphs of every kind in: names, METIS, points, directed ones, vertex weights.

use ccbcut_io::{Overwrite, Values, read_npz, write_npy};

use crate::support::{Desk, refused};

/// Two triangles and a bridge, by name.
const NAMED: &str = "source,target,weight\nana,bo,1\nbo,\"Li, C.\",1\nana,\"Li, C.\",1\nmax,7,1\n7,zoe,1\nmax,zoe,1\nana,max,0.1\n";

#[test]
fn names_go_in_and_come_out_and_go_in_again() {
    let desk = Desk::new();
    desk.write("g.csv", NAMED);
    let expected = "ana,0\nbo,0\n\"Li, C.\",0\nmax,1\n7,1\nzoe,1\n";
    assert_eq!(desk.run("cluster g.csv -k 2 -q").succeeded().stdout, expected);
    let report = desk.run("cluster g.csv -k 2 -o parts.csv --json").succeeded().report();
    assert_eq!(desk.text("parts.csv"), format!("vertex,label\n{expected}"));
    let cost = desk.run("cost g.csv parts.csv --json").succeeded().report();
    assert_eq!(cost["costs"], report["costs"]);
    desk.run("cluster g.csv -k 2 -o parts.npz -q").succeeded();
    let archive = read_npz(&desk.path("parts.npz")).unwrap();
    let names = ["ana", "bo", "Li, C.", "max", "7", "zoe"].map(str::to_owned).to_vec();
    assert_eq!(archive.array("names").unwrap().values, Values::Text(names));
    desk.write("wrong.csv", "ana,0\neve,1\n");
    refused(&desk, "cost g.csv wrong.csv", &["`wrong.csv`, line 2: no vertex is named `eve`", "`ana`, `bo`"]);
    desk.write("big.csv", "10000000000,20000000000\n20000000000,30000000000\n");
    refused(&desk, "cluster big.csv -k 2", &["`big.csv`, line 1", "--names"]);
    assert!(desk.run("cluster big.csv -k 2 -q --names").succeeded().stdout.starts_with("10000000000,0\n"));
}

#[test]
fn metis_graphs_with_and_without_their_weights() {
    let desk = Desk::new();
    // A path of four; the first vertex weighs as much as the others together.
    desk.write("g.graph", "% path\n4 3 011\n9 2 1\n1 1 1 3 1\n1 2 1 4 1\n1 3 1\n");
    let plain = desk.run("cluster g.graph -k 2 --tau 2 --balance ratio").succeeded();
    assert_eq!(plain.stdout, "0\n0\n1\n1\n");
    assert!(plain.stderr.contains("--vertex-weights g.graph"), "{}", plain.stderr);
    let weighed = desk.run("cluster g.graph -k 2 --tau 2 --vertex-weights g.graph").succeeded();
    assert_eq!(weighed.stdout, "0\n1\n1\n1\n");
    assert!(weighed.stderr.contains("CCB "), "{}", weighed.stderr);
    let line = "cluster g.graph -k 2 --tau 2 --vertex-weights g.graph -o p.csv --json";
    let report = desk.run(line).succeeded().report();
    // ½ (1/(2·9) + 1/(2·3))
    assert!((report["ccb"].as_f64().unwrap() - (1.0 / 36.0 + 1.0 / 12.0)).abs() < 1e-12);
    let cost = desk.run("cost g.graph p.csv --tau 2 --vertex-weights g.graph --json").succeeded().report();
    assert_eq!(cost["ccb"], report["ccb"]);
    assert!(
        desk.run("cost g.graph p.csv --vertex-weights g.graph").succeeded().stdout.contains("your weights")
    );
    desk.run("embed g.graph -c 1 --vertex-weights g.graph -o y.csv -q").succeeded();
    let y: Vec<f64> = desk.text("y.csv").lines().map(|line| line.parse().unwrap()).collect();
    let along: f64 = y.iter().zip([9.0, 1.0, 1.0, 1.0]).map(|(y, pi)| y * pi).sum();
    assert!(along.abs() < 1e-9, "{along}");
    desk.write("bad.graph", "2 1\n2\n\n");
    refused(&desk, "cluster bad.graph -k 2", &["`bad.graph`, line 2: vertex 1 lists 2", "(line 3)"]);
    desk.write("w.txt", "1\n2\n0\n1\n");
    refused(
        &desk,
        "cluster g.graph -k 2 --vertex-weights w.txt",
        &["`w.txt`, line 3: expected a weight above 0"],
    );
}

#[test]
fn points_are_tied_to_their_neighbours() {
    let desk = Desk::new();
    // Two clouds on a line, with names.
    let cloud = |from: f64| (0..12).map(move |i| from + 0.1 * f64::from(i));
    let values: Vec<f64> = cloud(0.0).chain(cloud(9.0)).collect();
    let rows: Vec<String> = values.iter().map(|x| format!("p{x:.1},{x},1")).collect();
    desk.write("p.csv", format!("name,x,y\n{}\n", rows.join("\n")));
    write_npy(&desk.path("p.npy"), &[24, 1], &values, Overwrite::Refuse).unwrap();
    let expected = [vec!["0"; 12], vec!["1"; 12]].concat().join("\n") + "\n";
    for options in ["", "--neighbors 4", "--mutual", "--bandwidth 0.5", "--neighbors 20 --bandwidth 1"] {
        let line = format!("cluster p.npy --points -k 2 -q {options}");
        assert_eq!(desk.run(&line).succeeded().stdout, expected, "{line}");
    }
    let named = desk.run("cluster p.csv --points -k 2 -q").succeeded().stdout;
    assert!(named.starts_with("p0.0,0\n") && named.ends_with("p10.1,1\n"), "{named}");
    let piped = desk.run_with_stdin("cluster - --points -k 2 -q", "p.npy").succeeded().stdout;
    assert_eq!(piped, expected);
    let report = desk.run("cluster p.npy --points -k 2 --json").succeeded().report();
    assert_eq!((&report["parameters"]["neighbors"], &report["components"]), (&10.into(), &2.into()));
    refused(&desk, "cluster p.npy --points -k 2 --neighbors 24", &["neighbours is 24", "below the number"]);
    refused(&desk, "cluster p.npy --points -k 2 --bandwidth 0", &["the bandwidth is 0"]);
    desk.write("q.csv", "1,2\n1\n");
    refused(&desk, "cluster q.csv --points -k 2", &["`q.csv`, line 2: expected 2 fields"]);
    assert_eq!(desk.run("cluster p.npy -k 2 --mutual").status, 2, "--mutual is about points");
}

#[test]
fn directed_graphs_are_joined_only_when_asked() {
    let desk = Desk::new();
    desk.write("g.csv", "a,b,1\nb,a,3\nb,c,1\n");
    let way_out = "hint: the graph is directed, cuts are not: join the two directions with --symmetrize mean, max or sum";
    refused(&desk, "cluster g.csv -k 2", &["from `a` to `b` is 1, but from `b` to `a` 3", way_out]);
    for (how, cut) in [("mean", 0.5), ("max", 1.0), ("sum", 1.0)] {
        let line = format!("cluster g.csv -k 2 --tau 1 --balance ratio --symmetrize {how} --json");
        assert_eq!(desk.run(&line).succeeded().report()["costs"]["cut"], cut, "{how}");
    }
    desk.write("neg.csv", "a,b,1\nb,c,-1\n");
    refused(
        &desk,
        "cluster neg.csv -k 2",
        &["`neg.csv`, line 2: expected a weight that is finite and not negative"],
    );
    desk.write("none.csv", "source,target\n");
    refused(&desk, "cluster none.csv -k 2", &["no edge"]);
    // A self-loop counts in degrees, never in a cut.
    desk.write("loop.csv", "a,b,1\na,a,5\n");
    let report = desk.run("cluster loop.csv -k 2 --json").succeeded().report();
    assert_eq!((report["costs"]["cut"].as_f64(), report["edges"].as_u64()), (Some(1.0), Some(1)));
}
