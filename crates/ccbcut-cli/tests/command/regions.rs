//! Superpixels, regions of the user's own, and volumes.

use ccbcut_io::{Limits, Overwrite, read_label_map, read_npy, write_npy};

use crate::support::{Desk, refused};

#[test]
fn superpixels_are_written_and_cut() {
    let desk = Desk::with_scene();
    let said = desk.run("superpixels a.png -n 60 -o sp.png --overlay look.png").succeeded().stderr;
    assert!(said.contains("superpixels → sp.png"), "{said}");
    let map = read_label_map(&desk.path("sp.png"), Limits::default()).unwrap();
    assert!((40..=80).contains(&map.n_segments()), "{}", map.n_segments());
    // The same superpixels from the file and found on the way.
    let file = desk.run("segment a.png -k 3 --superpixels sp.png -o f.npy --json").succeeded().report();
    let found = desk.run("segment a.png -k 3 --superpixels 60 -o c.npy --json").succeeded().report();
    assert_eq!(desk.read("f.npy"), desk.read("c.npy"));
    assert_eq!(file["costs"], found["costs"]);
    assert_eq!((&found["n"], &found["parameters"]["superpixels"]), (&map.n_segments().into(), &60.into()));
    assert_eq!(file["parameters"]["superpixels"], "sp.png");
    let names: Vec<&str> =
        found["stages"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names[..4], ["read", "superpixels", "affinity", "splitting"]);
    // Parts are unions of superpixels, and the tree gives fewer of them.
    let parts = read_label_map(&desk.path("f.npy"), Limits::default()).unwrap();
    let mut part_of = vec![None; map.n_segments()];
    for (&region, &part) in map.as_slice().iter().zip(parts.as_slice()) {
        assert_eq!(*part_of[region as usize].get_or_insert(part), part);
    }
    for options in [
        "--affinity mpb",
        "--affinity lab+mpb --compactness 5",
        "--balance ratio",
        "--method multiway",
        "-k auto",
    ] {
        let line = format!("segment a.png -k 3 --superpixels 60 --no-pictures --force --json {options}");
        let line = if options == "-k auto" { line.replace("-k 3", "") } else { line };
        assert!(desk.run(&line).succeeded().report()["n_segments"].as_u64() >= Some(1), "{options}");
    }
    desk.run("segment a.png -k 4 --superpixels 60 --tree t.json --ucm u.png -o d.npy -q").succeeded();
    desk.run("recut t.json -k 2 -o two.npy -q").succeeded();
    desk.run("segment a.png -k 2 --superpixels 60 -o direct.npy -q").succeeded();
    let [two, direct] = ["two.npy", "direct.npy"]
        .map(|name| read_label_map(&desk.path(name), Limits::default()).unwrap().as_slice().to_vec());
    assert_eq!(two, direct);
}

#[test]
fn features_of_regions_count() {
    let desk = Desk::new();
    desk.paint("flat.png", 12, 16, |_, _| [90, 120, 60]);
    // Four columns of one colour; the features put the outer two together.
    let columns: Vec<i32> = (0..12 * 16).map(|p| p % 16 / 4).collect();
    write_npy(&desk.path("map.npy"), &[12, 16], &columns, Overwrite::Refuse).unwrap();
    desk.write("rows.csv", "0,0\n0,0.1\n5,5\n5,5.1\n");
    let line = "segment flat.png -k 2 --superpixels map.npy --region-features rows.csv -o parts.npy -q";
    desk.run(line).succeeded();
    let parts = read_npy(&desk.path("parts.npy")).unwrap().values.to_i64().unwrap();
    assert!(parts.iter().enumerate().all(|(p, &part)| part == i64::from(p % 16 >= 8)));
    desk.write("few.csv", "0\n1\n2\n");
    let with = |rows: &str| {
        format!("segment flat.png -k 2 --superpixels map.npy --region-features {rows} --no-pictures")
    };
    refused(&desk, &with("few.csv"), &["`few.csv` has 3 rows, but there are 4 regions"]);
    refused(
        &desk,
        "segment flat.png -k 2 --superpixels 4 --region-features rows.csv --no-pictures",
        &["a row per region", "--superpixels FILE"],
    );
}

#[test]
fn volumes_are_cut_whatever_their_spacing() {
    let desk = Desk::new();
    // A bright ball in the dark, three voxels to a step in depth.
    let (depth, side) = (8_usize, 24_usize);
    let inside = |p: usize| {
        let (z, y, x) = (p / (side * side), p / side % side, p % side);
        let squared = |v: usize, c: f64, s: f64| ((v as f64 - c) * s).powi(2);
        squared(z, 3.5, 3.0) + squared(y, 11.5, 1.0) + squared(x, 11.5, 1.0) < 64.0
    };
    let values: Vec<u8> = (0..depth * side * side).map(|p| if inside(p) { 200 } else { 20 }).collect();
    write_npy(&desk.path("v.npy"), &[depth, side, side], &values, Overwrite::Refuse).unwrap();
    let line = "volume v.npy -k 2 --supervoxels 150 --spacing 3,1,1 -o parts.npy --slices look.png --json";
    let report = desk.run(line).succeeded().report();
    assert_eq!((&report["n_segments"], &report["parameters"]["spacing"]), (&2.into(), &"3,1,1".into()));
    let array = read_npy(&desk.path("parts.npy")).unwrap();
    assert_eq!(array.shape, [depth, side, side]);
    let parts = array.values.to_i64().unwrap();
    let wrong = parts.iter().enumerate().filter(|&(p, &part)| (part == 1) != inside(p)).count();
    assert!(wrong < 60, "{wrong} voxels on the wrong side");
    desk.run("superpixels v.npy --volume -n 50 -o regions.tif").succeeded();
    desk.run("volume regions.tif -k 3 -o again.tif -q").succeeded();
    refused(&desk, "volume v.npy -k 2 -o parts.png", &[".npy or .tif"]);
    refused(&desk, "volume v.npy -k auto -o p.npy", &["give the number of parts"]);
    refused(&desk, "volume v.npy -k 2 -o p.npy --max-pixels 100", &["above the limit of 100"]);
    refused(&desk, "volume missing.npy -k 2 -o p.npy", &["`missing.npy`"]);
    assert_eq!(desk.run("volume v.npy -k 2 -o p.npy --spacing 1,0,1").status, 2);
}

#[test]
fn what_cannot_be_cut_by_regions_is_refused() {
    let desk = Desk::with_scene();
    write_npy(&desk.path("small.npy"), &[4, 4], &[0; 16], Overwrite::Refuse).unwrap();
    let with = |options: &str| format!("segment a.png -k 3 --no-pictures {options}");
    refused(&desk, &with("--superpixels small.npy"), &["4 × 4 pixels", "but the image is"]);
    refused(&desk, &with("--superpixels 60 --affinity pmi"), &["`pmi` compares pixels", "lab+mpb"]);
    refused(&desk, &with("--superpixels 60 --embedding-picture e.png"), &["superpixels are cut"]);
    refused(&desk, &with("--superpixels none.npy"), &["`none.npy`"]);
    refused(&desk, "segment a.png -k 70 --superpixels 9 --no-pictures", &["70"]);
    for wrong in
        ["--superpixels 0", "--superpixels 2.5", "--compactness 3", "--superpixels 9 --features x.npy"]
    {
        assert_eq!(desk.run(&with(wrong)).status, 2, "{wrong}");
    }
    refused(&desk, "superpixels a.png -o x.gif", &["x.gif"]);
    refused(&desk, "superpixels a.png -o x.png --overlay y.jpg", &["use .png"]);
    refused(&desk, "superpixels a.png -o x.png --compactness 0", &["compactness"]);
}
