//! Feature maps: what `--features` reads, cuts and says, and the picture of an embedding.

use ccbcut_io::{Limits, Overwrite, read_image, write_npy, write_npz};

use crate::support::{Desk, HEIGHT, WIDTH, refused};

/// Which of the three areas of [`scene`] a pixel lies in.
fn area(row: usize, column: usize) -> usize {
    if column < 18 { 0 } else { 1 + usize::from(row >= 18) }
}

/// A feature vector of an area: one of three directions, bent a little from place to place.
fn vector(area: usize, place: usize, channels: usize) -> Vec<f32> {
    let bend = |c: usize| 0.05 * (((place * 7 + c * 13) % 11) as f32 - 5.0) / 5.0;
    (0..channels).map(|c| if c % 3 == area { 1.0 + bend(c) } else { bend(c) }).collect()
}

/// A map of `scene` with one vector for each cell of so many rows and columns of pixels.
fn map(desk: &Desk, name: &str, cell: usize, channels: usize) {
    let (h, w) = (HEIGHT / cell, WIDTH / cell);
    let values: Vec<f32> = (0..h * w)
        .flat_map(|p| vector(area(p / w * cell + cell / 2, p % w * cell + cell / 2), p, channels))
        .collect();
    write_npy(&desk.path(name), &[h, w, channels], &values, Overwrite::Allow).unwrap();
}

/// How many pixels a label map has in another part than their area.
fn misplaced(desk: &Desk, name: &str) -> usize {
    let labels = desk.labels(name);
    assert_eq!((labels.height(), labels.width(), labels.n_segments()), (HEIGHT, WIDTH, 3), "{name}");
    // Parts are numbered by first appearance, as the areas are.
    let truth = (0..HEIGHT * WIDTH).map(|p| area(p / WIDTH, p % WIDTH) as u32);
    labels.as_slice().iter().zip(truth).filter(|&(&label, truth)| label != truth).count()
}

#[test]
fn features_of_every_pixel_are_cut_like_colours() {
    let desk = Desk::with_scene();
    map(&desk, "f.npy", 1, 6);
    for more in ["", " --method multiway", " --feature-metric rbf", " --levels 0 --radius 5"] {
        let line = format!("segment a.png --features f.npy -k 3 -o l.png --json --force{more}");
        let report = desk.run(&line).succeeded().report();
        assert!(misplaced(&desk, "l.png") <= 10, "{more}: {}", misplaced(&desk, "l.png"));
        let facts = &report["features"];
        assert_eq!((&facts["channels"], &facts["neighbors"]), (&6.into(), &"local".into()));
        assert!(facts["bandwidth"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn tokens_reach_the_pixels_along_the_edges_of_the_image() {
    let desk = Desk::with_scene();
    map(&desk, "f.npy", 4, 9);
    for more in [
        "",
        " --method multiway",
        " --neighbors knn:12",
        " --cosine-weight threshold",
        " --cosine-weight positive",
        " --feature-metric rbf --bandwidth median:0.5",
        " --neighbors local --radius 3",
    ] {
        let line = format!("segment a.png --features f.npy -k 3 --tau 2 -o l.png --json --force{more}");
        let report = desk.run(&line).succeeded().report();
        assert_eq!(misplaced(&desk, "l.png"), 0, "{more}");
        assert_eq!((&report["n"], &report["height"]), (&108.into(), &HEIGHT.into()));
        let facts = &report["features"];
        assert_eq!((&facts["grid_height"], &facts["grid_width"]), (&9.into(), &12.into()));
    }
    // Cells of 18 and 4 pixels do not line up; without the image's edges that shows.
    desk.run("segment a.png --features f.npy -k 3 --tau 2 -o n.png --upsampling nearest").succeeded();
    assert!(misplaced(&desk, "n.png") > 50);
}

#[test]
fn a_map_alone_has_labels_and_pictures() {
    let desk = Desk::new();
    map(&desk, "f.npy", 2, 5);
    desk.run("segment --features f.npy -k 3 -o out --embedding-picture e.png --regions r.csv --all-k")
        .succeeded();
    let names = ["f-boundaries.png", "f-labels-k2.png", "f-labels.png", "f-mean-color.png", "f-overlay.png"];
    assert_eq!(desk.names("out"), names);
    let labels = desk.labels("out/f-labels.png");
    assert_eq!((labels.height(), labels.width(), labels.n_segments()), (18, 24, 3));
    let picture = read_image(&desk.path("e.png"), Limits::default()).unwrap().image;
    assert_eq!((picture.height(), picture.width()), (18, 24));
    // The same bytes again, whatever the number of threads.
    let again = "segment --features f.npy -k 3 -o again --embedding-picture e2.png --threads 1";
    desk.run(again).succeeded();
    assert_eq!(desk.read("e.png"), desk.read("e2.png"));
    assert_eq!(desk.read("out/f-overlay.png"), desk.read("again/f-overlay.png"));
}

#[test]
fn the_embedding_of_a_photograph_is_a_picture_too() {
    let desk = Desk::with_scene();
    for method in ["hierarchical", "multiway"] {
        let line =
            format!("segment a.png -k 3 --method {method} -o l.png --embedding-picture e.png --force --json");
        let report = desk.run(&line).succeeded().report();
        let kinds: Vec<&str> =
            report["outputs"].as_array().unwrap().iter().map(|f| f["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["labels", "embedding_picture"]);
        let picture = read_image(&desk.path("e.png"), Limits::default()).unwrap().image;
        assert_eq!((picture.height(), picture.width(), picture.channels()), (HEIGHT, WIDTH, 3));
        // Areas are flat, and differ.
        let color = |row: usize, column: usize| picture.pixel(row * WIDTH + column).to_vec();
        let far = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        for (here, there) in [((5, 30), (30, 30)), ((5, 5), (5, 30)), ((5, 5), (30, 30))] {
            assert!(far(&color(here.0, here.1), &color(there.0, there.1)) > 0.3, "{method}");
        }
        assert!(far(&color(5, 5)[..2], &color(30, 8)[..2]) < 0.3, "{method}");
    }
}

#[test]
fn lists_of_tokens_archives_and_layouts() {
    let desk = Desk::with_scene();
    map(&desk, "f.npy", 4, 6);
    let array = ccbcut_io::read_npy(&desk.path("f.npy")).unwrap().values.to_f64().unwrap();
    write_npy(&desk.path("tokens.npy"), &[1, 108, 6], &array, Overwrite::Allow).unwrap();
    let first: Vec<f64> = (0..6).flat_map(|c| array[c..].iter().copied().step_by(6)).collect();
    write_npy(&desk.path("chw.npy"), &[6, 9, 12], &first, Overwrite::Allow).unwrap();
    let arrays: [(&str, &[usize], &[f64]); 2] = [("x", &[9, 12, 6], &array), ("y", &[108, 6], &array)];
    write_npz(&desk.path("two.npz"), &arrays, Overwrite::Allow).unwrap();
    desk.run("segment a.png --features f.npy -k 3 -o l.npy").succeeded();
    for line in ["tokens.npy --grid 9x12", "chw.npy --layout chw", "two.npz --feature-name x"] {
        desk.run(&format!("segment a.png --features {line} -k 3 -o other.npy --force")).succeeded();
        assert_eq!(desk.read("l.npy"), desk.read("other.npy"), "{line}");
    }
    refused(
        &desk,
        "segment a.png --features tokens.npy",
        &["tokens.npy", "[1, 108, 6]", "hint: say --grid HxW"],
    );
    refused(&desk, "segment a.png --features tokens.npy --grid 9x11", &["99 tokens", "got 108"]);
    refused(&desk, "segment a.png --features two.npz", &["`x`, `y`", "--feature-name"]);
    refused(&desk, "segment a.png --features two.npz --feature-name z", &["named `z`"]);
}

#[test]
fn features_that_cannot_be_cut_are_refused() {
    let desk = Desk::with_scene();
    map(&desk, "f.npy", 4, 6);
    let save = |name: &str, shape: &[usize], values: &[f32]| {
        write_npy(&desk.path(name), shape, values, Overwrite::Allow).unwrap();
    };
    let mut values = vec![1.0; 9 * 12 * 2];
    values[2 * 13 + 1] = f32::NAN;
    save("nan.npy", &[9, 12, 2], &values);
    refused(&desk, "segment a.png --features nan.npy", &["nan.npy", "NaN at row 1, column 1, channel 1"]);
    save("fine.npy", &[40, 48, 2], &vec![1.0; 40 * 48 * 2]);
    refused(&desk, "segment a.png --features fine.npy", &["fine.npy", "finer than the image of 48 × 36"]);
    save("one.npy", &[9, 12, 1], &(0..108).map(|v| v as f32).collect::<Vec<_>>());
    refused(&desk, "segment a.png --features one.npy --feature-metric cosine", &["at least 2", "rbf"]);
    desk.run("segment a.png --features one.npy -k 2 -o one.png").succeeded();
    refused(&desk, "segment a.png --features f.npy --bandwidth 0", &["bandwidth is 0", "positive"]);
    refused(&desk, "segment a.png a.png --features f.npy", &["--features needs a single input"]);
    refused(&desk, "segment a.png --features no.npy", &["no.npy` does not exist"]);
    let short = desk.read("f.npy");
    desk.write("short.npy", &short[..short.len() - 5]);
    refused(&desk, "segment a.png --features short.npy", &["short.npy"]);
    assert_eq!(desk.run("segment a.png --grid 3x4").status, 2, "a grid without features");
    refused(&desk, "segment a.png --features f.npy --max-memory 1M", &["more than the 1.0 MiB allowed"]);
}

#[test]
fn bands_that_are_no_colours_lead_to_features() {
    let desk = Desk::new();
    map(&desk, "bands.npy", 1, 5);
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../ccbcut-io/tests/fixtures/bands_contig.tif");
    desk.write("bands.tif", std::fs::read(fixtures).unwrap());
    for name in ["bands.npy", "bands.tif"] {
        refused(&desk, &format!("segment {name}"), &["5 bands", "hint:", "--features"]);
    }
    desk.run("segment --features bands.tif -k 2 -o l.png").succeeded();
    assert_eq!(desk.labels("l.png").n_segments(), 2);
    desk.run("segment --features bands.npy -k 3 --tau 2 -o b.png").succeeded();
    assert!(misplaced(&desk, "b.png") <= 10);
}

#[test]
fn zero_vectors_and_masks_have_an_answer() {
    let desk = Desk::with_scene();
    map(&desk, "f.npy", 4, 6);
    let mut values: Vec<f64> = ccbcut_io::read_npy(&desk.path("f.npy")).unwrap().values.to_f64().unwrap();
    values[6 * 40..6 * 41].fill(0.0);
    write_npy(&desk.path("zero.npy"), &[9, 12, 6], &values, Overwrite::Allow).unwrap();
    let report = desk.run("segment a.png --features zero.npy -k 4 -o z.png --json").succeeded().report();
    assert_eq!((&report["components"], &report["n_segments"]), (&2.into(), &4.into()));
    desk.paint("mask.png", HEIGHT, WIDTH, |row, _| if row < 10 { [0; 3] } else { [255; 3] });
    desk.run("segment a.png --features f.npy -k 3 --mask mask.png -o m.npy").succeeded();
    let sizes = desk.labels("m.npy").sizes();
    assert_eq!(sizes.iter().sum::<usize>(), (HEIGHT - 10) * WIDTH);
}
