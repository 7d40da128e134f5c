//! `contours`, and cuts along contours: those that are found, and those that are given.

use ccbcut::image::contours::Contours;
use ccbcut_io::{Limits, Overwrite, read_contours, read_npy, write_npy};

use crate::support::{Desk, HEIGHT, WIDTH, refused};

/// Dark on the left of column 20, bright on the right, noise everywhere.
fn halves(row: usize, column: usize) -> [u8; 3] {
    let base = if column < 20 { 60 } else { 170 };
    [(base + (row * 7 + column * 5) % 9) as u8; 3]
}

fn desk() -> Desk {
    let desk = Desk::new();
    desk.paint("a.png", HEIGHT, WIDTH, halves);
    desk
}

fn contours(desk: &Desk, name: &str) -> Contours {
    read_contours(&desk.path(name), Limits::default()).unwrap()
}

#[test]
fn contours_are_written_the_same_for_every_number_of_threads() {
    let desk = desk();
    desk.run("contours a.png -o one.npy --threads 1 --oriented all.npy").succeeded();
    desk.run("contours a.png -o two.npy --threads 2").succeeded();
    assert_eq!(desk.read("one.npy"), desk.read("two.npy"));
    let found = contours(&desk, "one.npy");
    let middle = &found.as_slice()[18 * WIDTH..19 * WIDTH];
    assert!(middle[18..22].iter().any(|&v| v > 0.4), "{middle:?}");
    assert_eq!(read_npy(&desk.path("all.npy")).unwrap().shape, [HEIGHT, WIDTH, 8]);
    // A folder gets one file per image; PNG has 16 bits.
    desk.paint("b.png", HEIGHT, WIDTH, |_, _| [9; 3]);
    desk.run("contours a.png b.png -o folder").succeeded();
    let png = contours(&desk, "folder/a-contours.png");
    assert!(png.as_slice().iter().zip(found.as_slice()).all(|(a, b)| (a - b).abs() < 1e-5));
    assert!(contours(&desk, "folder/b-contours.png").as_slice().iter().all(|&v| v == 0.0));
}

#[test]
fn what_cannot_be_written_is_refused_before_any_work() {
    let desk = desk();
    desk.write("bad.png", "no picture");
    for (line, says) in [
        ("contours a.png -o m.jpg", "written as .png or .npy"),
        ("contours a.png a.png -o m.png", "name a folder"),
        ("contours a.png a.png -o d", "both be written"),
        ("contours a.png -o m.png --oriented o.png", "name it .npy"),
        ("contours a.png bad.png -o d --oriented o.npy", "single input"),
        ("contours bad.png -o m.png", "bad.png"),
        ("contours none.png -o m.png", "none.png"),
    ] {
        refused(&desk, line, &[says]);
    }
    // One bad file does not stop the rest; nothing is overwritten without being asked for.
    let ended = desk.run("contours bad.png a.png -o d");
    assert_eq!(ended.status, 2);
    assert!(desk.path("d/a-contours.png").exists() && ended.stderr.contains("1 of 2 images done"));
    assert!(desk.run("contours a.png -o d").stderr.contains("--force"));
}

#[test]
fn cuts_follow_contours_that_are_found_or_given() {
    let desk = desk();
    let report =
        desk.run("segment a.png -k 2 --affinity mpb --levels 0 -o found.npy --json").succeeded().report();
    assert_eq!(
        (&report["parameters"]["affinity"], &report["parameters"]["kappa"]),
        (&"mpb".into(), &0.2.into())
    );
    let found = desk.labels("found.npy");
    let side = |map: &ccbcut::LabelMap, row: usize, column: usize| map.as_slice()[row * WIDTH + column];
    assert_ne!(side(&found, 18, 5), side(&found, 18, 40));
    // A drawn line elsewhere: the colours have no say any more.
    let line: Vec<f32> = (0..HEIGHT * WIDTH).map(|p| if p % WIDTH == 30 { 1.0 } else { 0.0 }).collect();
    write_npy(&desk.path("line.npy"), &[HEIGHT, WIDTH], &line, Overwrite::Refuse).unwrap();
    desk.run("segment a.png -k 2 --contours line.npy --levels 0 -o given.npy").succeeded();
    let given = desk.labels("given.npy");
    assert_eq!(side(&given, 18, 5), side(&given, 18, 27));
    assert_ne!(side(&given, 18, 5), side(&given, 18, 40));
    desk.run("segment a.png -k 2 --affinity pmi --levels 0 -o pmi.npy").succeeded();
    let pmi = desk.labels("pmi.npy");
    assert_ne!(side(&pmi, 18, 5), side(&pmi, 18, 40));
    // Both at once: three parts have both edges.
    let both = "segment a.png -k 3 --affinity lab+mpb --contours line.npy --sigma 15 --tau 2 --levels 0 -o both.npy --json";
    let report = desk.run(both).succeeded().report();
    assert_eq!(report["parameters"]["affinity"], "lab+mpb");
    let both = desk.labels("both.npy");
    let sides = [5, 25, 40].map(|column| side(&both, 18, column));
    assert!(sides[0] != sides[1] && sides[1] != sides[2], "{sides:?}");
}

#[test]
fn contours_and_formulas_that_do_not_fit_are_refused() {
    let desk = desk();
    desk.paint("b.png", HEIGHT, WIDTH, halves);
    desk.paint("small.png", 5, 7, |_, _| [0; 3]);
    write_npy(&desk.path("large.npy"), &[1, 2], &[0.5_f32, 1.5], Overwrite::Refuse).unwrap();
    for (line, says) in [
        ("segment a.png --contours small.png", "the contour map is 7 x 5 pixels, but the image is 48 x 36"),
        ("segment a.png --contours large.npy", "between 0 and 1"),
        ("segment a.png --contours none.png", "none.png"),
        ("segment a.png b.png --contours small.png", "--contours needs a single input"),
        ("segment a.png --affinity lab --contours small.png", "the affinity is lab"),
        ("segment a.png --affinity labs", "lab, mpb, pmi"),
        ("segment a.png --affinity lab+lab", "twice"),
        ("segment a.png --affinity pmi --pmi-bandwidth 0", "bandwidth is 0"),
        ("segment a.png --affinity pmi --pmi-bandwidth wide", "learned"),
        ("segment a.png --affinity mpb --contour-sigma 0", "contour-sigma is 0"),
    ] {
        refused(&desk, line, &[says]);
    }
}
