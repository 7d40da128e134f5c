//! What is refused: exit status 2, a message that names the file, the value and what is accepted, and nothing written.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use ccbcut::Graph;
use ccbcut_io::{Overwrite, encode_graph, write_npy};
use image::{ExtendedColorType, ImageEncoder, codecs::jpeg::JpegEncoder};

use crate::support::{Desk, HEIGHT, WIDTH, refused, scene};

fn jpeg() -> Vec<u8> {
    let rgb: Vec<u8> = (0..HEIGHT * WIDTH).flat_map(|p| scene(p / WIDTH, p % WIDTH)).collect();
    let mut bytes = Vec::new();
    let (width, height) = (WIDTH as u32, HEIGHT as u32);
    JpegEncoder::new(&mut bytes).write_image(&rgb, width, height, ExtendedColorType::Rgb8).unwrap();
    bytes
}

/// CRC-32 as PNG has it.
fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |c, _| if c & 1 == 1 { c >> 1 ^ 0xedb8_8320 } else { c >> 1 })
    };
    !bytes.iter().fold(!0, step)
}

/// A PNG whose header declares another size than its pixels have.
fn with_declared_size(mut png: Vec<u8>, width: u32, height: u32) -> Vec<u8> {
    png[16..20].copy_from_slice(&width.to_be_bytes());
    png[20..24].copy_from_slice(&height.to_be_bytes());
    let sum = crc(&png[12..29]).to_be_bytes();
    png[29..33].copy_from_slice(&sum);
    png
}

#[test]
fn files_that_are_not_pictures_are_named() {
    let desk = Desk::with_scene();
    desk.write("notes.png", "not a picture");
    desk.write("empty.png", "");
    std::fs::create_dir(desk.path("folder.png")).unwrap();
    let kinds = "an image must be PNG, JPEG, TIFF, WebP, BMP, PNM or a NumPy array";
    refused(&desk, "segment none.png -o out", &["reading image `none.png`", "`none.png` does not exist"]);
    refused(&desk, "segment notes.png -o out", &["`notes.png` is of no known kind", kinds]);
    refused(&desk, "segment empty.png -o out", &["`empty.png` is empty", kinds]);
    refused(&desk, "segment folder.png -o out", &["could not read `folder.png`"]);
    refused(&desk, "cluster none.npz", &["`none.npz` does not exist"]);
    refused(&desk, "embed none.mtx -o y.npy", &["`none.mtx` does not exist"]);
    refused(&desk, "cluster a.png", &["`a.png` is a `.png` file", "a graph must be .npz, .mtx"]);
}

#[test]
fn files_that_were_cut_short_are_not_half_a_picture() {
    let desk = Desk::with_scene();
    let (png, jpeg) = (desk.read("a.png"), jpeg());
    for (name, bytes) in [("b.png", &png), ("b.jpg", &jpeg)] {
        for kept in [12, bytes.len() / 2, bytes.len() - 20] {
            desk.write(name, &bytes[..kept]);
            refused(&desk, &format!("segment {name} -o out"), &[&format!("`{name}`")]);
        }
    }
    desk.write("b.jpg", &jpeg[..jpeg.len() - 2]);
    refused(&desk, "segment b.jpg -o out", &["was cut short: its end-of-image marker is missing"]);
    desk.write("b.jpg", &jpeg);
    desk.run("segment b.jpg -k 3 -o out").succeeded();
}

#[test]
fn sizes_are_refused_before_memory_is_taken() {
    let desk = Desk::with_scene();
    let png = desk.read("a.png");
    desk.write("huge.png", with_declared_size(png.clone(), 100_000, 100_000));
    desk.write("flat.png", with_declared_size(png.clone(), 48, 0));
    desk.write("same.png", with_declared_size(png, 48, 36));
    let start = Instant::now();
    refused(
        &desk,
        "segment huge.png -o out",
        &["`huge.png` is 100000 x 100000 pixels, above the limit of 50000000 pixels"],
    );
    assert!(start.elapsed() < Duration::from_secs(5), "30 GB of pixels were unpacked");
    refused(&desk, "segment flat.png -o out", &["`flat.png`", "dimensions"]);
    let small = "segment a.png -o out --max-pixels";
    refused(&desk, &format!("{small} 1727"), &["`a.png` is 48 x 36 pixels, above the limit of 1727 pixels"]);
    desk.run(&format!("{small} 1728 -k 2")).succeeded();
    desk.run("segment same.png -k 2 -o out").succeeded();
}

#[test]
fn graphs_need_finite_weights_that_are_not_negative() {
    let desk = Desk::new();
    let head = "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n3 2 1\n2 1";
    for (weight, said) in [("nan", "NaN"), ("-0.5", "-0.5"), ("inf", "inf")] {
        desk.write("g.mtx", format!("{head} {weight}\n"));
        let words = ["`g.mtx`", &format!("is {said}"), "weights must be finite and not negative"];
        refused(&desk, "cluster g.mtx -k 2 -o parts.csv", &words);
        refused(&desk, "embed g.mtx -o y.npy", &words);
        let value: f64 = weight.parse().unwrap();
        let dense = [0.0, value, 0.0, value, 0.0, 1.0, 0.0, 1.0, 0.0];
        write_npy(&desk.path("g.npy"), &[3, 3], &dense, Overwrite::Allow).unwrap();
        refused(&desk, "cluster g.npy -k 2", &["`g.npy`", &format!("entry (0, 1) is {said}"), words[2]]);
    }
}

#[test]
fn archives_with_bad_weights_or_bad_bytes_are_refused() {
    let desk = Desk::new();
    let graph = Graph::from_edges(3, &[(0, 1, 0.5), (1, 2, 1.0)]).unwrap();
    let good = encode_graph(Path::new("g.npz"), &graph).unwrap();
    for value in [f64::NAN, -1.0] {
        desk.write("g.npz", stored_archive(&[0.5, value, value, 0.5]));
        let words = ["`g.npz`", &format!("is {value}"), "weights must be finite and not negative"];
        refused(&desk, "cluster g.npz -k 2", &words);
    }
    desk.write("g.npz", &good[..good.len() / 2]);
    refused(&desk, "cluster g.npz -k 2", &["`g.npz`"]);
    desk.write("g.npz", stored_archive(&[0.5, 0.25, 0.25, 0.5]));
    refused(&desk, "cluster g.npz -k 2", &["the matrix is not symmetric: entry (0, 1) is 0.5"]);
    desk.write("g.npz", stored_archive(&[0.5, 0.5, 0.25, 0.25]));
    desk.run("cluster g.npz -k 2").succeeded();
}

/// A SciPy archive of the path 0–1–2 with these four weights, row by row.
fn stored_archive(weights: &[f64]) -> Vec<u8> {
    fn npy(kind: &str, shape: &str, content: Vec<u8>) -> Vec<u8> {
        let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let length = (header.len() as u16).to_le_bytes();
        [b"\x93NUMPY\x01\x00".to_vec(), length.to_vec(), header.into_bytes(), content].concat()
    }
    let integers = |values: &[i32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let members = [
        ("indices.npy", npy("<i4", "(4,)", integers(&[1, 0, 2, 1]))),
        ("indptr.npy", npy("<i4", "(4,)", integers(&[0, 1, 3, 4]))),
        ("format.npy", npy("|S3", "()", b"csr".to_vec())),
        ("shape.npy", npy("<i4", "(2,)", integers(&[3, 3]))),
        ("data.npy", npy("<f8", "(4,)", weights.iter().flat_map(|w| w.to_le_bytes()).collect())),
    ];
    let (mut out, mut table) = (Vec::new(), Vec::new());
    for (name, content) in &members {
        let length = (content.len() as u32).to_le_bytes();
        let mut shared = vec![20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
        for field in [crc(content).to_le_bytes(), length, length] {
            shared.extend(field);
        }
        shared.extend([name.len() as u8, 0, 0, 0]);
        table.extend([b"PK\x01\x02\x14\x00", shared.as_slice(), &[0; 10]].concat());
        table.extend((out.len() as u32).to_le_bytes());
        table.extend(name.as_bytes());
        out.extend([b"PK\x03\x04", shared.as_slice(), name.as_bytes(), content].concat());
    }
    let (start, count) = (out.len() as u32, members.len() as u8);
    let end = [0, 0, 0, 0, count, 0, count, 0];
    let sizes = [(table.len() as u32).to_le_bytes(), start.to_le_bytes()].concat();
    [out, table, b"PK\x05\x06".to_vec(), end.to_vec(), sizes, vec![0, 0]].concat()
}

#[test]
fn matrices_must_be_symmetric() {
    let desk = Desk::new();
    desk.write("g.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 4\n2 1 1\n1 2 2\n3 2 1\n2 3 1\n");
    let words = [
        "`g.mtx`",
        "entry (0, 1) is 2, entry (1, 0) is 1",
        "hint: the graph is directed, cuts are not: join",
    ];
    for line in ["cluster g.mtx -k 2", "embed g.mtx -o y.npy", "cost g.mtx parts.csv"] {
        refused(&desk, line, &words);
    }
}

const EDGES: &str = "0 1 1\n0 2 1\n1 2 1\n3 4 1\n3 5 1\n4 5 1\n2 3 1\n0 6 0.25\n5 6 0.25\n";

#[test]
fn tau_of_a_cut_is_above_0_and_at_most_2() {
    let desk = Desk::with_scene();
    desk.write("g.edges", EDGES);
    desk.write("parts.csv", "0\n0\n0\n1\n1\n1\n1\n");
    for (tau, said) in [("0", "0"), ("-1", "-1"), ("2.5", "2.5"), ("nan", "NaN"), ("inf", "inf")] {
        let value = format!("tau is {said}, but an embedding needs 0 < tau <= 2");
        for line in ["segment a.png -o out", "cluster g.edges -k 2", "embed g.edges -o y.npy"] {
            let file = line.split(' ').nth(1).unwrap();
            refused(&desk, &format!("{line} --tau {tau}"), &[&format!("`{file}`"), &value, "hint: a cost"]);
        }
    }
    for tau in ["0", "2.5", "5"] {
        desk.run(&format!("cost g.edges parts.csv --tau {tau}")).succeeded();
    }
    for (tau, said) in [("-1", "-1"), ("nan", "NaN")] {
        let value = format!("tau is {said}");
        refused(&desk, &format!("cost g.edges parts.csv --tau {tau}"), &["`parts.csv`", &value, "hint:"]);
    }
}

#[test]
fn parameters_out_of_range_are_named_with_what_is_accepted() {
    let desk = Desk::with_scene();
    desk.write("g.edges", EDGES);
    for (options, said) in [
        ("-k 0", "the number of parts is 0, but it must be at least 1"),
        ("-k 1729", "1729 parts were asked for, but there are only 1728 vertices"),
        ("--sigma 0", "sigma is 0, but it must be positive and finite"),
        ("--min-share 0.7", "min_share is 0.7, but it must be between 0 and 0.5"),
        ("--sigma -1", "sigma is -1, but it must be positive and finite"),
        ("--sigma nan", "sigma is NaN, but it must be positive and finite"),
        ("--kernel released --beta -2", "beta is -2, but it must be"),
        ("--radius 0", "radius is 0, but it must be a finite number of at least 1"),
        ("--radius -3", "radius is -3, but it must be"),
        ("--kappa 2", "kappa is 2, but it must be between 0 and 1"),
        ("--kappa -0.1", "kappa is -0.1, but it must be between 0 and 1"),
        ("--tol -1", "tol is -1, but it must be finite and not negative"),
        ("--eigen-tol 0", "the eigensolver's tolerance is 0, but it must be between 1e-14 and 1"),
        ("--epsilon-floor -1", "the epsilon floor is -1, but it must be finite and not negative"),
        ("--max-iterations 0", "the sweep limit is 0, but it must be at least 1"),
    ] {
        refused(&desk, &format!("segment a.png -o out {options}"), &["cutting `a.png`", said]);
    }
    let parts = "cluster g.edges -o parts.csv";
    refused(&desk, &format!("{parts} -k 0"), &["`g.edges`", "is 0, but it must be at least 1"]);
    refused(
        &desk,
        &format!("{parts} -k 8"),
        &["8 parts were asked for", "only 7 vertices", "hint: ask for fewer"],
    );
    let columns = "but it must be at least 1 and below the number of vertices";
    refused(&desk, "embed g.edges -o y.npy -c 0", &["`g.edges`", "components is 0", columns]);
    refused(&desk, "embed g.edges -o y.npy -c 7", &["`g.edges`", "components is 7", columns]);
}

#[test]
fn outputs_that_are_there_stay_as_they_are() {
    let desk = Desk::with_scene();
    desk.write("g.edges", EDGES);
    for name in ["a-overlay.png", "labels.npy", "parts.csv", "y.npy", "t.csv", "c.json", "o.geojson", "u.mat"]
    {
        desk.write(name, "mine");
    }
    for (line, name) in [
        ("segment a.png -k 3", "a-overlay.png"),
        ("segment a.png -k 3 -o labels.npy", "labels.npy"),
        ("segment a.png -k 3 -o l1.png --regions t.csv", "t.csv"),
        ("segment a.png -k 3 -o l2.png --coco c.json", "c.json"),
        ("segment a.png -k 3 -o l3.png --geojson o.geojson", "o.geojson"),
        ("segment a.png -k 3 -o l4.png --ucm u.mat", "u.mat"),
        ("cluster g.edges -k 2 -o parts.csv", "parts.csv"),
        ("embed g.edges -o y.npy", "y.npy"),
    ] {
        refused(&desk, line, &[&format!("`{name}` exists already"), "hint: use --force"]);
        assert_eq!(desk.read(name), b"mine", "{line}");
        desk.run(&format!("{line} --force")).succeeded();
        assert_ne!(desk.read(name), b"mine", "{line}");
    }
}

#[test]
fn a_file_is_not_a_folder() {
    let desk = Desk::with_scene();
    desk.write("taken", "mine");
    refused(&desk, "segment a.png -o taken", &["`taken`", "not a folder"]);
    refused(&desk, "segment a.png -o taken/labels.png", &["`taken`"]);
}

#[cfg(unix)]
#[test]
fn a_folder_that_may_not_be_written_to_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::with_scene();
    let locked = desk.path("locked");
    std::fs::create_dir(&locked).unwrap();
    let lock = |mode| std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(mode)).unwrap();
    lock(0o555);
    if std::fs::write(locked.join("probe"), "").is_ok() {
        // The superuser may write there; into the process table not even the superuser may.
        refused(&desk, "segment a.png -o /proc/ccbcut", &["/proc/ccbcut"]);
        return;
    }
    refused(&desk, "segment a.png -o locked", &["could not write `locked/a-labels.png`", "denied"]);
    refused(&desk, "segment a.png -o locked/l.npy", &["could not write `locked/l.npy`"]);
    lock(0o755);
}

#[test]
fn a_mask_must_have_the_size_of_the_picture() {
    let desk = Desk::with_scene();
    desk.paint("mask.png", HEIGHT, WIDTH - 1, |_, _| [255; 3]);
    desk.paint("none.png", HEIGHT, WIDTH, |_, _| [0; 3]);
    let sizes = "47 × 36 pixels, but `a.png` is 48 × 36";
    refused(&desk, "segment a.png --mask mask.png -o out", &["the mask `mask.png` is", sizes]);
    refused(&desk, "segment a.png --mask no.png -o out", &["`no.png` does not exist"]);
    refused(
        &desk,
        "segment a.png --mask none.png -k 2 -o out",
        &["2 parts were asked for", "only 0 vertices"],
    );
}

#[test]
fn names_that_say_no_format_are_refused_before_any_work() {
    let desk = Desk::with_scene();
    desk.write("g.edges", EDGES);
    for name in ["labels.jpg", "labels.CSV", "labels.npz", "labels.json"] {
        let said = format!("`{name}` names no format of label maps");
        refused(&desk, &format!("segment a.png -o {name}"), &[&said, ".png, .npy, .tif or .mat"]);
    }
    refused(&desk, "cluster g.edges -k 2 -o parts.png", &["`parts.png`", ".csv"]);
    refused(&desk, "cluster none.edges -k 2 -o parts.png", &["`parts.png`", ".csv"]);
    refused(
        &desk,
        "embed g.edges -o y.txt",
        &["`y.txt` names no format", "hint: embeddings are written as .npy"],
    );
    // A folder may have a dot in its name.
    desk.run("segment a.png -k 2 -o run.2 --no-pictures").succeeded();
    assert_eq!(desk.names("run.2"), ["a-labels.png"]);
}
