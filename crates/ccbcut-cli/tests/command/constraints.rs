//! What must be together and apart: pairs and seeds of graphs, strokes on images.

use ccbcut_io::{Overwrite, write_npy};

use crate::support::{Desk, HEIGHT, WIDTH, refused};

/// Two triangles and a bridge, by name.
const NAMED: &str = "ana,bo,1\nbo,cy,1\nana,cy,1\nmax,ned,1\nned,zoe,1\nmax,zoe,1\nana,max,0.1\n";

#[test]
fn pairs_and_seeds_are_kept() {
    let desk = Desk::new();
    desk.write("g.csv", NAMED);
    desk.write("must.csv", "cy,zoe\n");
    desk.write("cannot.csv", "bo,cy\nana,max\n");
    desk.write("seeds.csv", "bo,red\nned,blue\ncy,blue\n");
    let labels = |options: &str| desk.run(&format!("cluster g.csv -k 2 -q {options}")).succeeded().stdout;
    assert_eq!(labels(""), "ana,0\nbo,0\ncy,0\nmax,1\nned,1\nzoe,1\n");
    let part = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(&format!("{name},"))).unwrap();
        line.rsplit(',').next().unwrap().to_owned()
    };
    let kept = labels("--must-link must.csv --cannot-link cannot.csv");
    assert_eq!(part(&kept, "cy"), part(&kept, "zoe"));
    assert!(part(&kept, "bo") != part(&kept, "cy") && part(&kept, "ana") != part(&kept, "max"));
    let seeded = labels("--seeds seeds.csv");
    assert!(part(&seeded, "cy") == part(&seeded, "ned") && part(&seeded, "bo") != part(&seeded, "ned"));
    desk.run("cluster g.csv -k 3 --seeds seeds.csv --tree t.json -q").succeeded();
    desk.write("both.csv", "cy,bo\n");
    let with = |options: &str| format!("cluster g.csv -k 2 {options}");
    refused(
        &desk,
        &with("--must-link both.csv --cannot-link cannot.csv"),
        &["must be kept apart", "keep them together"],
    );
    desk.write("three.csv", "bo,a\ncy,b\nmax,c\n");
    refused(&desk, &with("--seeds three.csv"), &["3 seeds", "only 2 parts"]);
    desk.write("odd.csv", "ana,bo\nbo,cy\ncy,ana\n");
    refused(&desk, &with("--cannot-link odd.csv"), &["no 2 parts were found"]);
    desk.write("who.csv", "ana,eve\n");
    refused(&desk, &with("--must-link who.csv"), &["`who.csv`, line 1", "no vertex is named `eve`"]);
    refused(&desk, &with("--seeds seeds.csv --method multiway"), &["hierarchical"]);
    refused(&desk, &with("--cannot-link cannot.csv --tree u.json"), &["--tree writes nested parts"]);
}

#[test]
fn strokes_are_kept_to_the_pixel() {
    let desk = Desk::with_scene();
    // Two strokes inside the red bar on the left, which any cut would leave whole.
    let stroke = |row: usize, column: usize| match (row, column) {
        (3..=10, 4) => [255, 0, 0],
        (22..=30, 4) => [0, 0, 255],
        _ => [0, 0, 0],
    };
    desk.paint("strokes.png", HEIGHT, WIDTH, stroke);
    for options in ["--levels 1", "--levels 0 --radius 4", "--superpixels 80"] {
        desk.run(&format!("segment a.png -k 4 --scribbles strokes.png -o s.npy --force -q {options}"))
            .succeeded();
        let labels = desk.labels("s.npy");
        let at = |row: usize| labels.as_slice()[row * WIDTH + 4];
        assert!((3..=10).all(|row| at(row) == at(3)), "{options}");
        assert!((22..=30).all(|row| at(row) == at(22) && at(row) != at(3)), "{options}");
        assert_eq!(labels.n_segments(), 4, "{options}");
    }
    let numbers: Vec<i32> =
        (0..HEIGHT * WIDTH).map(|p| i32::from(stroke(p / WIDTH, p % WIDTH) != [0, 0, 0])).collect();
    write_npy(&desk.path("one.npy"), &[HEIGHT, WIDTH], &numbers, Overwrite::Refuse).unwrap();
    desk.run("segment a.png -k 3 --levels 1 --scribbles one.npy -o t.npy -q").succeeded();
    let labels = desk.labels("t.npy");
    assert_eq!(labels.as_slice()[5 * WIDTH + 4], labels.as_slice()[25 * WIDTH + 4]);
    let with = |options: &str| format!("segment a.png -k 1 --levels 1 --no-pictures {options}");
    refused(&desk, &with("--scribbles strokes.png"), &["2 seeds", "only 1 parts"]);
    refused(&desk, &with("--scribbles strokes.png --method multiway"), &["hierarchical"]);
    desk.paint("small.png", 4, 4, |_, _| [9, 9, 9]);
    refused(&desk, &with("--scribbles small.png"), &["4 × 4 pixels", "but the image is"]);
    refused(&desk, &with("--scribbles none.png"), &["`none.png`"]);
}
