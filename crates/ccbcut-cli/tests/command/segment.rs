//! What `segment` writes, and that it says the same every time.

use std::collections::HashMap;

use ccbcut::{LabelMap, Ucm};
use ccbcut_io::{Limits, Rle, read_image, read_ucm};
use serde_json::Value;

use crate::support::{Desk, HEIGHT, WIDTH, end, is_connected};

const PIXELS: usize = HEIGHT * WIDTH;

#[test]
fn a_folder_gets_the_label_map_in_every_format_and_three_pictures() {
    let desk = Desk::with_scene();
    let ended = desk.run("segment a.png -k 3 --smooth 0 -o deep/out --format png,npy,tif,mat").succeeded();
    assert!(ended.stdout.contains("48 × 36 pixels → 3 parts"), "{}", ended.stdout);
    assert_eq!(ended.stderr, "");
    let labels = ["a-labels.mat", "a-labels.npy", "a-labels.png", "a-labels.tif"];
    let pictures = ["a-boundaries.png", "a-mean-color.png", "a-overlay.png"];
    assert_eq!(desk.names("deep/out"), [&pictures[..1], &labels, &pictures[1..]].concat());
    let maps = labels.map(|name| desk.labels(&format!("deep/out/{name}")));
    assert!(maps.iter().all(|map| *map == maps[0]), "the formats disagree");
    // The scene is easy enough for the exact answer, up to a pixel along the borders.
    assert_eq!((maps[0].height(), maps[0].width(), maps[0].n_segments()), (HEIGHT, WIDTH, 3));
    let area = |row: usize, column: usize| if column < 18 { 0 } else { 1 + u32::from(row >= 18) };
    let wrong = maps[0].as_slice().iter().enumerate().filter(|&(p, &l)| l != area(p / WIDTH, p % WIDTH));
    assert_eq!(wrong.count(), 0);

    let rgb =
        |name: &str| read_image(&desk.path(&format!("deep/out/{name}")), Limits::default()).unwrap().image;
    for name in pictures {
        assert_eq!((rgb(name).height(), rgb(name).width()), (HEIGHT, WIDTH), "{name}");
    }
    let mean = rgb("a-mean-color.png");
    let mut colors: HashMap<u32, &[f32]> = HashMap::new();
    for (p, label) in maps[0].as_slice().iter().enumerate() {
        assert_eq!(*colors.entry(*label).or_insert(mean.pixel(p)), mean.pixel(p), "a part of two colours");
    }
    assert_eq!(colors.len(), 3);
    let borders = rgb("a-boundaries.png");
    let dark = (0..PIXELS).filter(|&p| borders.pixel(p)[0] < 0.5).count();
    assert!((60..300).contains(&dark), "{dark} pixels of boundaries");
}

#[test]
fn stiff_edges_are_contracted_where_that_is_asked_for_and_the_last_sweep_has_every_vertex() {
    let desk = Desk::new();
    desk.paint("a.png", 50, 50, |row, column| {
        let grey = [90, 130, 100][usize::from(column > 20) + usize::from(row > 25)];
        [grey + ((row * 31 + column * 17) % 23) as u8; 3]
    });
    let vertices = |flags: &str| -> Vec<u64> {
        let command = "segment a.png -k 2 --method hierarchical --tau 0.5 --levels 0 --smooth 0 --sigma 5 --rejoin 0 --json";
        let report = desk.run(&format!("{command} {flags}")).succeeded().report();
        let sweeps = report["trace"].as_array().unwrap().iter().filter(|sweep| sweep["split"] == 0);
        sweeps.map(|sweep| sweep["vertices"].as_u64().unwrap()).collect()
    };
    let whole = 50 * 50;
    assert!(vertices("-o whole.png").iter().all(|&n| n == whole));
    let contracted = vertices("-o contracted.png --contract");
    assert!(contracted.iter().any(|&n| n <= whole / 4), "{contracted:?}");
    assert_eq!(contracted.last(), Some(&whole));
    assert_eq!(desk.labels("whole.png"), desk.labels("contracted.png"));
}

#[test]
fn every_number_of_parts_comes_from_one_run_and_is_nested() {
    let desk = Desk::with_scene();
    desk.run("segment a.png -k 6 --all-k -o out --format png,npy --no-pictures").succeeded();
    let numbered = (2..6).flat_map(|k| [format!("a-labels-k{k}.npy"), format!("a-labels-k{k}.png")]);
    let expected: Vec<String> = numbered.chain(["a-labels.npy".into(), "a-labels.png".into()]).collect();
    assert_eq!(desk.names("out"), expected);
    let mut finer = desk.labels("out/a-labels.npy");
    assert_eq!(finer.n_segments(), 6);
    for k in (2..6).rev() {
        let map = desk.labels(&format!("out/a-labels-k{k}.npy"));
        assert_eq!(map.n_segments(), k);
        assert_eq!(map, desk.labels(&format!("out/a-labels-k{k}.png")));
        let mut parent = HashMap::new();
        for (child, part) in finer.as_slice().iter().zip(map.as_slice()) {
            assert_eq!(parent.entry(child).or_insert(part), &part, "k = {k} is not nested");
        }
        finer = map;
    }
}

#[test]
fn parts_are_joined_again_unless_it_is_not_wanted() {
    let desk = Desk::new();
    // Colours that drift both ways: there is no border, and whoever is asked finds another.
    desk.paint("a.png", HEIGHT, WIDTH, |row, column| [40 + 4 * column as u8, 40 + 3 * row as u8, 120]);
    let run = |words: &str| {
        let line =
            format!("segment a.png -k 4 --levels 0 --radius 5 --sigma 9 -o l.npy --force --json {words}");
        let report = desk.run(&line).succeeded().report();
        (report["parameters"]["rejoin"].clone(), desk.labels("l.npy"))
    };
    let (by_default, plain) = (run(""), run("--rejoin 0"));
    assert_eq!((by_default.0.as_u64(), plain.0.as_u64()), (Some(120), Some(0)));
    assert_eq!(run("--rejoin 120"), by_default);
    assert_ne!(by_default.1, plain.1, "the picture does not tell the two apart");
    for others in
        ["--solver ratiodca --starts 1", "--method multiway", "--variant released", "--superpixels 80"]
    {
        assert_eq!(run(others).0.as_u64(), Some(0), "{others}");
    }
    // One and two of the splits' parts leave nothing to choose.
    assert_eq!(run("--rejoin 2").1, plain.1);
    assert_eq!(desk.run("segment a.png --rejoin -1 -o l.npy --force").status, 2);
}

/// Two red squares on blue.
fn squares(row: usize, column: usize) -> [u8; 3] {
    let inside = (10..26).contains(&row) && ((6..18).contains(&column) || (30..42).contains(&column));
    if inside { [200, 60, 50] } else { [40, 110, 190] }
}

#[test]
fn connected_splits_parts_into_their_regions() {
    let desk = Desk::new();
    desk.paint("a.png", HEIGHT, WIDTH, squares);
    // So wide a neighbourhood ties the squares to each other.
    let line = "segment a.png -k 2 --levels 0 --radius 14 --sigma 3 --json -o";
    let apart = desk.run(&format!("{line} plain.png")).succeeded().report();
    assert_eq!(apart["n_segments"], 2);
    assert!(!is_connected(&desk.labels("plain.png")), "the squares are one part");
    let joined = desk.run(&format!("{line} regions.png --connected")).succeeded().report();
    assert_eq!(joined["sizes"], serde_json::json!([PIXELS - 2 * 16 * 12, 16 * 12, 16 * 12]));
    assert!(is_connected(&desk.labels("regions.png")));
}

#[test]
fn connected_and_every_number_of_parts_go_together() {
    let desk = Desk::new();
    desk.paint("a.png", HEIGHT, WIDTH, squares);
    desk.run("segment a.png -k 5 --levels 0 --radius 14 --sigma 3 --all-k --connected -o out --no-pictures")
        .succeeded();
    assert_eq!(desk.names("out"), ["a-labels-k2.png", "a-labels-k3.png", "a-labels-k4.png", "a-labels.png"]);
    for (k, name) in (2..).zip(desk.names("out")) {
        let map = desk.labels(&format!("out/{name}"));
        assert!(is_connected(&map) && map.n_segments() >= k, "{name}: {} regions", map.n_segments());
    }
}

/// ½ Σ (xᵢ yᵢ₊₁ − xᵢ₊₁ yᵢ) of a closed ring.
fn signed_area(ring: &Value) -> f64 {
    let at = |point: &Value, axis: usize| point[axis].as_f64().unwrap();
    let points = ring.as_array().unwrap();
    assert_eq!(points.first(), points.last(), "rings are closed");
    let cross = |a: &Value, b: &Value| at(a, 0) * at(b, 1) - at(b, 0) * at(a, 1);
    points.windows(2).map(|pair| cross(&pair[0], &pair[1])).sum::<f64>() / 2.0
}

#[test]
fn regions_coco_and_geojson_describe_the_same_parts() {
    let desk = Desk::with_scene();
    desk.paint("mask.png", HEIGHT, WIDTH, |row, _| if row < 3 { [0; 3] } else { [255; 3] });
    desk.run("segment a.png -k 5 --mask mask.png -o l.npy --regions t.csv --coco c.json --geojson o.geojson")
        .succeeded();
    let map = desk.labels("l.npy");
    let sizes = map.sizes();
    assert_eq!(sizes.iter().sum::<usize>(), PIXELS - 3 * WIDTH);

    let table = desk.text("t.csv");
    let rows: Vec<Vec<f64>> =
        table.lines().skip(1).map(|line| line.split(',').map(|v| v.parse().unwrap()).collect()).collect();
    assert_eq!(rows.len(), 5);
    for (label, row) in rows.iter().enumerate() {
        assert_eq!((row[0], row[1]), (label as f64, sizes[label] as f64));
    }
    let shares: f64 = rows.iter().map(|row| row[9]).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");

    let coco: Value = serde_json::from_str(&desk.text("c.json")).unwrap();
    assert_eq!(
        (&coco["images"][0]["file_name"], &coco["images"][0]["width"]),
        (&"a.png".into(), &WIDTH.into())
    );
    for (label, annotation) in coco["annotations"].as_array().unwrap().iter().enumerate() {
        assert_eq!(annotation["area"], sizes[label]);
        let counts = annotation["segmentation"]["counts"].as_str().unwrap();
        let mask = Rle::from_compressed(HEIGHT, WIDTH, counts).unwrap().to_mask();
        assert!(mask.iter().zip(map.as_slice()).all(|(&on, &l)| on == (l == label as u32)));
    }

    let outlines: Value = serde_json::from_str(&desk.text("o.geojson")).unwrap();
    let features = outlines["features"].as_array().unwrap();
    assert_eq!(features.len(), 5);
    for (label, feature) in features.iter().enumerate() {
        let polygons = feature["geometry"]["coordinates"].as_array().unwrap();
        let area: f64 = polygons.iter().flat_map(|p| p.as_array().unwrap()).map(signed_area).sum();
        assert_eq!((area, &feature["properties"]["area"]), (sizes[label] as f64, &sizes[label].into()));
    }
}

#[test]
fn one_bad_file_of_a_batch_does_not_stop_the_rest() {
    let desk = Desk::with_scene();
    desk.paint("c.png", 20, 24, |_, column| if column < 12 { [200, 60, 50] } else { [40, 110, 190] });
    desk.write("b.png", "not a picture");
    let ended = desk.run("segment a.png b.png c.png -k 2 --smooth 0 -o out --no-pictures --json");
    assert_eq!(ended.status, 2);
    assert!(ended.stderr.starts_with("error: reading image `b.png`\n"), "{}", ended.stderr);
    assert!(ended.stderr.ends_with("2 of 3 images done, 1 failed\n"), "{}", ended.stderr);
    let inputs: Vec<Value> = ended.reports().iter().map(|report| report["input"].clone()).collect();
    assert_eq!(inputs, ["a.png", "c.png"]);
    assert_eq!(desk.names("out"), ["a-labels.png", "c-labels.png"]);
    assert_eq!(desk.labels("out/c-labels.png").sizes(), [240, 240]);
}

#[test]
fn a_time_limit_of_nothing_still_gives_a_result_and_says_so() {
    let desk = Desk::with_scene();
    for method in ["hierarchical", "multiway"] {
        let line = format!("segment a.png -k 4 --method {method} --time-limit 0 -o l.npy --force --json");
        let ended = desk.run(&line).succeeded();
        let report = ended.report();
        assert_eq!((&report["stop_reason"], &report["converged"]), (&"interrupted".into(), &false.into()));
        assert_eq!(ended.stderr, "warning: a.png: stopped before it converged (interrupted)\n");
        let map = desk.labels("l.npy");
        assert_eq!(report["n_segments"], map.n_segments());
        assert!((1..=4).contains(&map.n_segments()));
        assert_eq!(desk.run(&format!("{line} --strict")).status, 1, "{method}");
    }
    let enough =
        desk.run("segment a.png -k 4 --time-limit 1000 --strict -o l.npy --force --json").succeeded();
    assert_eq!((&enough.report()["converged"], enough.stderr.as_str()), (&true.into(), ""));
}

#[test]
fn too_few_sweeps_are_not_convergence() {
    let desk = Desk::with_scene();
    let line = "segment a.png -k 3 --max-iterations 1 -o l.npy --force --json";
    let ended = desk.run(line).succeeded();
    let report = ended.report();
    assert_eq!((&report["stop_reason"], &report["converged"]), (&"max_iterations".into(), &false.into()));
    assert!(ended.stderr.contains("stopped before it converged (max iterations)"), "{}", ended.stderr);
    assert_eq!(desk.run(&format!("{line} --strict")).status, 1);
}

/// A report without what may differ between two runs: times, the memory that was taken, and the number of threads.
fn timeless(mut report: Value) -> Value {
    for list in ["stages", "trace"] {
        report[list].as_array_mut().unwrap().iter_mut().for_each(|entry| entry["ms"] = Value::Null);
    }
    report["parameters"]["threads"] = Value::Null;
    report["peak_bytes"] = Value::Null;
    report
}

#[test]
fn the_same_bytes_for_every_number_of_threads_and_every_run() {
    let desk = Desk::with_scene();
    for options in ["--levels 1", "--method multiway --levels 0 --radius 5", "--tau 0.5 --variant released"] {
        let run = |threads: usize| {
            let line =
                format!("segment a.png -k 5 {options} --threads {threads} -o l.npy -o l.png --force --json");
            let report = timeless(desk.run(&line).succeeded().report());
            (desk.read("l.npy"), desk.read("l.png"), report)
        };
        let one = run(1);
        for threads in [2, 2, 1] {
            assert!(one == run(threads), "{options}, {threads} threads");
        }
    }
}

#[test]
fn every_combination_of_choices_gives_exactly_k_parts() {
    let desk = Desk::new();
    desk.paint("a.png", 16, 20, |row, column| {
        let texture = ((row * 5 + column * 11) % 17) as u8;
        if (row / 6 + column / 8) % 2 == 0 { [190, 60 + texture, 50] } else { [40, 110, 180 + texture] }
    });
    let check = |options: String| {
        let line = format!("segment a.png -k 5 --levels 1 --radius 4 {options} -o l.npy --force --json");
        let report = desk.run(&line).succeeded().report();
        let map = desk.labels("l.npy");
        assert_eq!((&report["n_segments"], map.n_segments()), (&5.into(), 5), "{options}");
        assert!(map.as_slice().iter().all(|&label| label != LabelMap::VOID), "{options}");
    };
    for variant in ["published", "released", "weighted"] {
        for balance in ["normalized", "ratio"] {
            let common = format!("--variant {variant} --balance {balance}");
            for upsampling in ["prolong", "nearest"] {
                check(format!("--method hierarchical --upsampling {upsampling} {common}"));
            }
            for rounding in ["kmeans", "discretize", "procrustes"] {
                check(format!("--method multiway --rounding {rounding} {common}"));
            }
        }
    }
    check("--method multiway --rotate".into());
    check("--method multiway --seed-rows 0 --n-init 1".into());
    let line = "segment a.png -k 12 --levels 1 --radius 4 --method multiway --rounding kmeans --n-init 1";
    let rows = |n_rows: usize| {
        desk.run(&format!("{line} --seed-rows {n_rows} -o l.npy --force")).succeeded();
        desk.labels("l.npy")
    };
    // Samples hold twenty rows for each part, 240 of the 1,728; the default is more than all.
    assert_ne!(rows(1).as_slice(), rows(0).as_slice());
    assert_eq!(rows(8000).as_slice(), rows(0).as_slice());
    check("--kernel released --tau 2".into());
}

#[test]
fn fewer_levels_than_asked_for_are_reported() {
    let desk = Desk::with_scene();
    desk.paint("tiny.png", 8, 9, |row, column| [(row * 20) as u8, (column * 20) as u8, 90]);
    for (image, k, levels, made, coarse) in [
        ("a.png", 4, 0, 0, 1728),
        ("a.png", 4, 1, 1, 24 * 18),
        ("a.png", 4, 2, 2, 12 * 9),
        ("a.png", 4, 3, 3, 6 * 4),
        ("tiny.png", 5, 3, 1, 16),
        ("tiny.png", 20, 3, 0, 72),
    ] {
        let line = format!("segment {image} -k {k} --levels {levels} -o l.npy --force --json");
        let report = desk.run(&line).succeeded().report();
        assert_eq!((&report["levels"], &report["coarse_n"]), (&made.into(), &coarse.into()), "{line}");
        assert_eq!(desk.labels("l.npy").n_segments(), k);
    }
}

#[test]
fn quiet_runs_print_nothing() {
    let desk = Desk::with_scene();
    desk.write("g.edges", "0 1 1\n1 2 1\n2 3 0.1\n3 4 1\n");
    for line in [
        "segment a.png -k 3 -o out -q",
        "-q segment a.png -k 3 -o l.npy --time-limit 0",
        "cluster g.edges -k 2 -o parts.csv -q",
        "embed g.edges -o y.npy -q",
        "generate man -o man -q",
    ] {
        let ended = desk.run(line).succeeded();
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""), "{line}");
    }
    let failed = desk.run("-q segment none.png -o other");
    assert_eq!((failed.status, failed.stdout.as_str()), (2, ""));
    assert!(failed.stderr.starts_with("error:"), "errors are never silenced");
}

#[test]
fn colours_come_when_asked_for_and_not_into_pipes() {
    let desk = Desk::with_scene();
    let line = "segment a.png -k 6 -o l.npy --force --max-iterations 1";
    let is_colored = |options: &str| {
        let ended = desk.run(&format!("{options} {line}")).succeeded();
        (ended.stdout.contains('\x1b'), ended.stderr.contains('\x1b'))
    };
    assert_eq!(is_colored(""), (false, false));
    assert_eq!(is_colored("--color never"), (false, false));
    assert_eq!(is_colored("--color always"), (true, true));
    // What is asked for on the command line is stronger than a wish of the environment.
    let words = format!("--color always {line}");
    let ended = end(desk.command(words.split_whitespace()).env("NO_COLOR", "1"));
    assert!(ended.stdout.contains('\x1b'));
    let plain = desk.run(&format!("--color never {line}")).stdout;
    assert!(plain.contains("6 parts"), "the words alone say it: {plain}");
}

#[test]
fn the_hierarchy_is_written_as_a_contour_map() {
    let desk = Desk::with_scene();
    for name in ["u.mat", "u.npy", "u.png"] {
        let line = format!("segment a.png -k 6 -o l.png --all-k --ucm {name} --json --force");
        let report = desk.run(&line).succeeded().report();
        let outputs = report["outputs"].as_array().unwrap();
        assert!(outputs.iter().any(|o| o["kind"] == "ucm" && o["path"] == name), "{outputs:?}");
        let ucm = read_ucm(&desk.path(name), Limits::default()).unwrap();
        assert_eq!((ucm.height(), ucm.width()), (HEIGHT, WIDTH));
        for k in 2..6 {
            let expected = desk.labels(&format!("l-k{k}.png")).connected();
            assert_eq!(ucm.regions(Ucm::threshold_for(k, 6)), expected, "{name}, {k} parts");
        }
        assert_eq!(ucm.regions(0.0), desk.labels("l.png").connected(), "{name}");
    }
    let ended = desk.run("segment a.png -k 3 --method multiway -o m.png --ucm v.mat");
    assert_eq!(ended.status, 2);
    assert!(ended.stderr.contains("a multiway cut has none"), "{}", ended.stderr);
    assert!(ended.stderr.contains("hint: use --method hierarchical"), "{}", ended.stderr);
    assert!(!desk.path("m.png").exists() && !desk.path("v.mat").exists());
}
