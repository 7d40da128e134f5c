//! `bench ucm`: what it scores, what it says of what it cannot.

use std::fs;

use ccbcut::{LabelMap, Ucm};
use ccbcut_io::{Overwrite, write_label_map, write_segs, write_ucm};

use crate::support::{Desk, Ended};

const HEIGHT: usize = 20;
const WIDTH: usize = 30;

/// Left and right of a column.
fn halves(column: usize) -> LabelMap {
    let raw: Vec<u32> = (0..HEIGHT * WIDTH).map(|p| u32::from(p % WIDTH >= column)).collect();
    LabelMap::new(HEIGHT, WIDTH, &raw).unwrap()
}

/// A contour of some height left of a column.
fn contour(column: usize, height: f32) -> Ucm {
    let (rows, columns) = (2 * HEIGHT + 1, 2 * WIDTH + 1);
    let value = |at: usize| if at % columns == 2 * column { height } else { 0.0 };
    Ucm::new(rows, columns, (0..rows * columns).map(value).collect()).unwrap()
}

/// Ground truths of three images, two people each.
fn desk() -> Desk {
    let desk = Desk::new();
    for dir in ["data/groundTruth/val", "pred"] {
        fs::create_dir_all(desk.path(dir)).unwrap();
    }
    for (name, column) in [("a", 10), ("b", 15), ("c", 20)] {
        let path = desk.path(&format!("data/groundTruth/val/{name}.mat"));
        write_segs(&path, &[halves(column), halves(column)], Overwrite::Refuse).unwrap();
    }
    desk
}

fn put(desk: &Desk, name: &str, ucm: &Ucm) {
    write_ucm(&desk.path(name), ucm, Overwrite::Allow).unwrap();
}

fn bench(desk: &Desk, more: &str) -> Ended {
    desk.run(&format!("bench ucm --pred pred --data data --split val {more}"))
}

#[test]
fn perfect_hierarchies_in_every_format_have_perfect_scores() {
    let desk = desk();
    // Each is right up to another threshold, so that one threshold does for all.
    put(&desk, "pred/a.mat", &contour(10, 0.305));
    put(&desk, "pred/b.npy", &contour(15, 0.5));
    put(&desk, "pred/c.png", &contour(20, 0.9));
    let report = bench(&desk, "--json --boundaries").succeeded().report();
    assert_eq!((&report["command"], &report["n_images"]), (&"bench ucm".into(), &3.into()));
    assert_eq!((&report["parameter"], &report["n_parameters"]), (&"threshold".into(), &99.into()));
    for score in ["covering", "pri", "boundaries"] {
        assert_eq!((&report[score]["ods"], &report[score]["ois"]), (&1.0.into(), &1.0.into()), "{score}");
    }
    assert_eq!((&report["vi"]["ods"], &report["vi"]["ois"]), (&0.0.into(), &0.0.into()));
    assert_eq!(report["covering"]["best"], 1.0);
    assert_eq!(report["covering"]["at"], 0.01);
    let text = bench(&desk, "").succeeded();
    assert!(text.stdout.contains("covering  1.0000  1.0000  1.0000   0.01"), "{}", text.stdout);
    assert_eq!(text.stderr, "");
    assert_eq!(bench(&desk, "--threads 1").stdout, text.stdout);
}

#[test]
fn one_threshold_for_all_is_worse_than_one_each() {
    let desk = desk();
    // For the first two a false contour goes above 0.2, for the third the true one does.
    let two = |column: usize, (low, high): (f32, f32)| {
        let (a, b) = (contour(column, high), contour(5, low));
        let values = a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| a.max(*b)).collect();
        Ucm::new(a.rows(), a.columns(), values).unwrap()
    };
    put(&desk, "pred/a.mat", &two(10, (0.2, 0.8)));
    put(&desk, "pred/b.mat", &two(15, (0.2, 0.8)));
    put(&desk, "pred/c.mat", &two(20, (0.1, 0.15)));
    let report = bench(&desk, "--json --boundaries").succeeded().report();
    for score in ["covering", "pri", "boundaries"] {
        let number = |field: &str| report[score][field].as_f64().unwrap();
        assert!(number("ods") < 0.999 && number("ois") == 1.0, "{score}: {}", report[score]);
    }
    assert!(report["vi"]["ods"].as_f64().unwrap() > 0.01 && report["vi"]["ois"] == 0.0);
}

#[test]
fn label_maps_are_scored_by_their_place_in_the_list() {
    let desk = desk();
    let one = LabelMap::new(HEIGHT, WIDTH, &[0; HEIGHT * WIDTH]).unwrap();
    for (name, column) in [("a", 10), ("b", 15), ("c", 20)] {
        let path = desk.path(&format!("pred/{name}.mat"));
        write_segs(&path, &[one.clone(), halves(column)], Overwrite::Refuse).unwrap();
    }
    let report = bench(&desk, "--json").succeeded().report();
    assert_eq!((&report["parameter"], &report["n_parameters"]), (&"position".into(), &2.into()));
    assert_eq!((&report["covering"]["ods"], &report["covering"]["at"]), (&1.0.into(), &2.0.into()));
    // A file with another number of maps is reported, and the rest scored.
    write_segs(&desk.path("pred/b.mat"), &[one], Overwrite::Allow).unwrap();
    let ended = bench(&desk, "--json");
    assert_eq!(ended.status, 2);
    assert!(
        ended.stderr.contains("holds 1 label map, but `pred/a.mat` holds 2 label maps"),
        "{}",
        ended.stderr
    );
    assert_eq!((&ended.report()["n_images"], &ended.report()["failed"][0]), (&2.into(), &"b".into()));
}

#[test]
fn single_label_maps_may_be_named_as_segment_names_them() {
    let desk = desk();
    for (name, column) in [("a-labels.png", 10), ("b.npy", 15), ("c-labels.tif", 20)] {
        write_label_map(&desk.path(&format!("pred/{name}")), &halves(column), Overwrite::Refuse).unwrap();
    }
    desk.paint("pred/a-overlay.png", 3, 3, |_, _| [0; 3]);
    let ended = bench(&desk, "--json").succeeded();
    assert_eq!(ended.report()["covering"]["ods"], 1.0);
    assert!(ended.stderr.contains("1 files have no ground truth"), "{}", ended.stderr);
}

#[test]
fn bad_files_are_reported_and_the_rest_is_done() {
    let desk = desk();
    put(&desk, "pred/a.mat", &contour(10, 0.5));
    let whole = desk.read("pred/a.mat");
    desk.write("pred/b.mat", &whole[..whole.len() / 2]);
    let small = Ucm::new(5, 7, vec![0.0; 35]).unwrap();
    put(&desk, "pred/c.mat", &small);
    let ended = bench(&desk, "--json");
    assert_eq!(ended.status, 2);
    for part in [
        "scoring `pred/b.mat`",
        "`pred/c.mat` is for an image of 3 × 2 pixels, but the ground truth `data/groundTruth/val/c.mat` is 30 × 20",
        "1 images scored, 2 failed",
    ] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    assert_eq!(ended.report()["covering"]["ods"], 1.0);
    // The same for a grid that may be either, and for a file that is neither.
    put(&desk, "pred/c.npy", &small);
    fs::remove_file(desk.path("pred/c.mat")).unwrap();
    fs::copy(desk.path("data/groundTruth/val/a.mat"), desk.path("pred/b.mat")).unwrap();
    let ended = bench(&desk, "");
    assert!(ended.stderr.contains("`pred/c.npy` is for an image of 7 × 5 pixels"), "{}", ended.stderr);
    assert!(ended.stderr.contains("`pred/b.mat` holds 2 label maps, but `pred/a.mat` holds a hierarchy"));
}

#[test]
fn folders_that_cannot_be_scored_are_refused() {
    let desk = desk();
    let refused = |line: &str, part: &str| {
        let ended = desk.run(line);
        assert_eq!((ended.status, ended.stdout.as_str()), (2, ""), "{line}");
        assert!(ended.stderr.contains(part), "{line}: {}", ended.stderr);
    };
    refused("bench ucm --pred pred --data data", "`pred` holds no hierarchy or label map");
    refused("bench ucm --pred nowhere --data data", "`nowhere`");
    put(&desk, "pred/z.mat", &contour(10, 0.5));
    refused("bench ucm --pred pred --data data", "no file of `pred` has the name of a ground truth");
    refused("bench ucm --pred pred --data pred", "`pred` has no folder `groundTruth`");
    refused("bench ucm --pred pred --data data --split test", "groundTruth/test`");
    fs::create_dir_all(desk.path("data/groundTruth/test")).unwrap();
    refused("bench ucm --pred pred --data data --split test", "holds no ground truth");
    put(&desk, "pred/a.mat", &contour(10, 0.5));
    put(&desk, "pred/a.npy", &contour(10, 0.5));
    refused("bench ucm --pred pred --data data", "are both predictions for image `a`");
    fs::remove_file(desk.path("pred/a.npy")).unwrap();
    let ended = bench(&desk, "--boundaries --max-distance 2");
    assert!(ended.status == 2 && ended.stderr.contains("the distance of a match is 2"), "{}", ended.stderr);
    let ended = bench(&desk, "").succeeded();
    assert!(ended.stderr.contains("2 of 3 images have no prediction"), "{}", ended.stderr);
}
