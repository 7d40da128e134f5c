//! Which images are read, and what their pixels become.

use ccbcut::LabelMap;
use ccbcut_io::{Overwrite, write_npy};
use image::{
    ExtendedColorType, ImageEncoder,
    codecs::{jpeg::JpegEncoder, png::PngEncoder},
};

use crate::support::{Desk, HEIGHT, WIDTH, scene};

fn png(width: usize, height: usize, raw: &[u8], color: ExtendedColorType) -> Vec<u8> {
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes).write_image(raw, width as u32, height as u32, color).unwrap();
    bytes
}

/// Dark on the left, bright on the right, with a little texture.
fn gray(p: usize) -> u8 {
    let base = if p % WIDTH < 20 { 60 } else { 190 };
    base + (p * 7 % 5) as u8
}

#[track_caller]
fn assert_split(map: &LabelMap, is_first: impl Fn(usize, usize) -> bool) {
    for (p, &label) in map.as_slice().iter().enumerate() {
        let (row, column) = (p / map.width(), p % map.width());
        assert_eq!(label, u32::from(!is_first(row, column)), "pixel ({row}, {column})");
    }
}

#[test]
fn gray_and_16_bit_pictures_are_cut_like_8_bit_ones() {
    let desk = Desk::new();
    let values: Vec<u8> = (0..HEIGHT * WIDTH).map(gray).collect();
    let wide: Vec<u8> = values.iter().flat_map(|&v| (u16::from(v) * 257).to_ne_bytes()).collect();
    desk.write("eight.png", png(WIDTH, HEIGHT, &values, ExtendedColorType::L8));
    desk.write("sixteen.png", png(WIDTH, HEIGHT, &wide, ExtendedColorType::L16));
    write_npy(&desk.path("array.npy"), &[HEIGHT, WIDTH], &values, Overwrite::Refuse).unwrap();
    for name in ["eight.png", "sixteen.png", "array.npy"] {
        desk.run(&format!("segment {name} -k 2 --levels 0 -o {name}-labels.npy")).succeeded();
    }
    assert_split(&desk.labels("eight.png-labels.npy"), |_, column| column < 20);
    assert_eq!(desk.read("eight.png-labels.npy"), desk.read("sixteen.png-labels.npy"));
    assert_eq!(desk.read("eight.png-labels.npy"), desk.read("array.npy-labels.npy"));
}

#[test]
fn transparent_pixels_belong_to_no_part() {
    let desk = Desk::new();
    let is_clear = |p: usize| p / WIDTH < 5 || (p % WIDTH > 40 && p / WIDTH > 30);
    let rgba: Vec<u8> = (0..HEIGHT * WIDTH)
        .flat_map(|p| {
            let [r, g, b] = scene(p / WIDTH, p % WIDTH);
            [r, g, b, if is_clear(p) { 0 } else { 200 }]
        })
        .collect();
    desk.write("a.png", png(WIDTH, HEIGHT, &rgba, ExtendedColorType::Rgba8));
    for method in ["hierarchical", "multiway"] {
        let line = format!(
            "segment a.png -k 3 --method {method} -o l.png -o l.npy -o l.tif -o l.mat --force --json"
        );
        let report = desk.run(&line).succeeded().report();
        let n_clear = (0..HEIGHT * WIDTH).filter(|&p| is_clear(p)).count();
        assert_eq!(report["n"], HEIGHT * WIDTH - n_clear);
        for name in ["l.png", "l.npy", "l.tif", "l.mat"] {
            let map = desk.labels(name);
            assert_eq!(map.n_segments(), 3, "{name}");
            for (p, &label) in map.as_slice().iter().enumerate() {
                assert_eq!(label == LabelMap::VOID, is_clear(p), "{name}, pixel {p}");
            }
        }
    }
}

#[test]
fn a_mask_leaves_out_what_is_black() {
    let desk = Desk::with_scene();
    let is_out = |row: usize, column: usize| row % 9 == 4 || column > 40;
    desk.paint("mask.png", HEIGHT, WIDTH, |r, c| if is_out(r, c) { [0; 3] } else { [0, 0, 9] });
    let on: Vec<bool> = (0..HEIGHT * WIDTH).map(|p| !is_out(p / WIDTH, p % WIDTH)).collect();
    write_npy(
        &desk.path("mask.npy"),
        &[HEIGHT, WIDTH],
        &on.iter().map(|&on| u8::from(on)).collect::<Vec<_>>(),
        Overwrite::Refuse,
    )
    .unwrap();
    for levels in [0, 1, 2] {
        let line = format!("segment a.png -k 3 --levels {levels} --force --json -o l.png --mask");
        let report = desk.run(&format!("{line} mask.png")).succeeded().report();
        assert_eq!(report["n"], on.iter().filter(|&&on| on).count());
        let (map, bytes) = (desk.labels("l.png"), desk.read("l.png"));
        assert_eq!(map.n_segments(), 3);
        assert!(map.as_slice().iter().zip(&on).all(|(&label, &on)| (label == LabelMap::VOID) != on));
        desk.run(&format!("{line} mask.npy")).succeeded();
        assert_eq!(desk.read("l.png"), bytes, "the kind of file does not matter");
    }
}

/// A JPEG with an Exif block that says how the camera was held.
fn jpeg_held(orientation: u8, color: impl Fn(usize, usize) -> [u8; 3]) -> Vec<u8> {
    let rgb: Vec<u8> = (0..HEIGHT * WIDTH).flat_map(|p| color(p / WIDTH, p % WIDTH)).collect();
    let mut plain = Vec::new();
    JpegEncoder::new_with_quality(&mut plain, 95)
        .write_image(&rgb, WIDTH as u32, HEIGHT as u32, ExtendedColorType::Rgb8)
        .unwrap();
    // TIFF, little-endian, one directory at byte 8 with one entry: tag 0x112, a short, its value; no more directories.
    let mut tiff = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
    tiff.extend([orientation, 0, 0, 0, 0, 0, 0, 0]);
    let exif = [b"Exif\0\0".to_vec(), tiff].concat();
    let length = (exif.len() as u16 + 2).to_be_bytes();
    [&plain[..2], &[0xff, 0xe1], &length, &exif, &plain[2..]].concat()
}

#[test]
fn pictures_are_turned_the_way_the_camera_was_held() {
    let desk = Desk::new();
    // Red on the left up to a border between blocks of the JPEG.
    let color = |_: usize, column: usize| if column < 16 { [200, 60, 50] } else { [40, 110, 190] };
    for (orientation, shape) in
        [(1, (HEIGHT, WIDTH)), (3, (HEIGHT, WIDTH)), (6, (WIDTH, HEIGHT)), (8, (WIDTH, HEIGHT))]
    {
        desk.write("a.jpg", jpeg_held(orientation, color));
        let line = "segment a.jpg -k 2 --levels 0 --smooth 0 --radius 3 -o l.npy --force --json";
        let report = desk.run(line).succeeded().report();
        assert_eq!((&report["height"], &report["width"]), (&shape.0.into(), &shape.1.into()));
        let map = desk.labels("l.npy");
        match orientation {
            1 => assert_split(&map, |_, column| column < 16),
            3 => assert_split(&map, |_, column| column < WIDTH - 16),
            6 => assert_split(&map, |row, _| row < 16),
            _ => assert_split(&map, |row, _| row < WIDTH - 16),
        }
    }
}

#[test]
fn a_picture_may_come_from_a_pipe() {
    let desk = Desk::with_scene();
    desk.run("segment a.png -k 3 -o file.npy").succeeded();
    let report = desk.run_with_stdin("segment - -k 3 -o pipe.npy --json", "a.png").succeeded().report();
    assert_eq!(report["input"], "-");
    assert_eq!(desk.read("pipe.npy"), desk.read("file.npy"));
    desk.run_with_stdin("segment - -k 3 --no-pictures", "a.png").succeeded();
    assert!(desk.path("stdin-labels.png").exists());
    let nothing = desk.run("segment - -k 3 -o none.npy");
    assert_eq!(nothing.status, 2);
    assert!(nothing.stderr.contains("`-` is empty"), "{}", nothing.stderr);
}

#[test]
fn the_smallest_pictures_are_cut_too() {
    let desk = Desk::new();
    for (height, width, k) in [(1, 1, 1), (1, 7, 3), (7, 1, 7), (2, 2, 4), (5, 4, 3)] {
        desk.paint("a.png", height, width, |r, c| [(r * 40) as u8, (c * 30) as u8, 90]);
        desk.run(&format!("segment a.png -k {k} -o l.npy --force")).succeeded();
        let map = desk.labels("l.npy");
        assert_eq!((map.height(), map.width(), map.n_segments()), (height, width, k));
    }
}
