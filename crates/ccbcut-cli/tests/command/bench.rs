//! `bench bsds` on a small data set of our own, and `evaluate`.

use std::fs;

use ccbcut::LabelMap;
use ccbcut_io::{Limits, Overwrite, encode_segs, read_label_maps, write_label_map};
use roxmltree::Document;
use serde_json::Value;

use crate::support::{Desk, refused};

const HEIGHT: usize = 40;
const WIDTH: usize = 60;

const RUN: &str = "bench bsds --data data --methods ncut-h,ccn1-h --out out";

/// Blocks of columns, the second of them divided into two rows: three regions.
fn region(image: usize, row: usize, column: usize) -> u32 {
    match (column < 14 + 6 * image, row < 15 + 5 * image) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => 2,
    }
}

fn map(height: usize, width: usize, label: impl Fn(usize, usize) -> u32) -> LabelMap {
    let raw: Vec<u32> = (0..height * width).map(|p| label(p / width, p % width)).collect();
    LabelMap::new(height, width, &raw).unwrap()
}

/// Three people drew two, three and four regions.
fn truths(image: usize) -> Vec<u8> {
    let people = [
        map(HEIGHT, WIDTH, |r, c| region(image, r, c).min(1)),
        map(HEIGHT, WIDTH, |r, c| region(image, r, c)),
        map(HEIGHT, WIDTH, |r, c| if c > 50 { 3 } else { region(image, r, c) }),
    ];
    encode_segs("truth.mat".as_ref(), &people).unwrap()
}

/// The images `a`, `b` and `c` with their ground truths, laid out as BSDS500 is.
fn data_set() -> Desk {
    let desk = Desk::new();
    for folder in ["images", "groundTruth"] {
        fs::create_dir_all(desk.path(&format!("data/{folder}/val"))).unwrap();
    }
    for (image, name) in ["a", "b", "c"].into_iter().enumerate() {
        desk.paint(&format!("data/images/val/{name}.png"), HEIGHT, WIDTH, |row, column| {
            let base: [u8; 3] =
                [[200, 70, 50], [50, 120, 190], [90, 200, 80]][region(image, row, column) as usize];
            base.map(|v| v + ((row * 7 + column * 13) % 19) as u8)
        });
        desk.write(&format!("data/groundTruth/val/{name}.mat"), truths(image));
    }
    desk
}

/// The tables without times: of the last one, only the columns before them.
fn without_times(tables: &str) -> Vec<String> {
    let mut is_last = false;
    let line = |line: &str| {
        is_last |= line.starts_with("| method | spread");
        if is_last { line.split('|').take(8).collect::<Vec<_>>().join("|") } else { line.to_owned() }
    };
    tables.lines().map(line).collect()
}

/// The page without Table 2.
fn page_without_times(page: &str) -> String {
    let (before, after) = page.split_once("<h2>Table 2").unwrap();
    before.to_owned() + after.split_once("<h2>Pictures").unwrap().1
}

fn records(desk: &Desk, out: &str) -> Vec<Value> {
    desk.text(&format!("{out}/results.jsonl"))
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_benchmark_leaves_records_tables_pictures_and_a_page() {
    let desk = data_set();
    let ended = desk.run(&format!("{RUN} --json --save-segs")).succeeded();
    let report = ended.report();
    assert_eq!(
        desk.names("out"),
        ["labels", "pictures", "report.html", "results.jsonl", "segs", "summary.json", "tables.md"]
    );
    assert_eq!(serde_json::from_slice::<Value>(&desk.read("out/summary.json")).unwrap(), report);
    assert_eq!((&report["command"], &report["schema_version"]), (&"bench bsds".into(), &1.into()));
    assert_eq!((&report["split"], &report["affinity"]), (&"val".into(), &"lab".into()));
    let methods = report["methods"].as_array().unwrap();
    assert_eq!(methods.len(), 2);
    for (method, name) in methods.iter().zip(["ncut-h", "ccn1-h"]) {
        assert_eq!((&method["method"], &method["images"]), (&name.into(), &3.into()));
        // The images are so plain that every person's regions are found; three people do not agree.
        let covering = method["fixed"]["covering"].as_f64().unwrap();
        assert!((0.5..1.0).contains(&covering), "{name}: {covering}");
        assert_eq!(method["scores_by_k"].as_array().unwrap().len(), 5);
        let fall = |k: usize| method["scores_by_k"][k]["covering"].as_f64().unwrap();
        assert!(fall(0) > fall(4), "with too many parts less is covered");
    }
    assert!(methods[0].get("against").is_none());
    assert_eq!(methods[1]["against"]["method"], "ncut-h");
    assert_eq!(methods[1]["published"]["fixed"][0], 0.57);
    assert_eq!(methods[1]["published_minutes"][1], 23.4);
    let documented = include_str!("../../../../docs/reference/json.md");
    for object in [&report, &methods[1]] {
        for key in object.as_object().unwrap().keys() {
            assert!(documented.contains(&format!("`{key}`")), "{key}");
        }
    }
    let tables = desk.text("out/tables.md");
    for line in ["# BSDS500 val, lab", "| NCut−H | 3 |", "| CCN₁−H | 3 |", "| CCN₁−H | NCut−H |"]
    {
        assert!(tables.contains(line), "{line}\n{tables}");
    }
    let records = records(&desk, "out");
    assert_eq!(records.len(), 6);
    for record in &records {
        let (image, method) = (record["image"].as_str().unwrap(), record["method"].as_str().unwrap());
        assert_eq!(record["truth_counts"], serde_json::json!([2, 3, 4]));
        let ks: Vec<u64> =
            record["runs"].as_array().unwrap().iter().map(|run| run["k"].as_u64().unwrap()).collect();
        assert_eq!(ks, (1..=25).collect::<Vec<_>>(), "a hierarchical cut has them all");
        let segs = read_label_maps(&desk.path(&format!("out/segs/{method}/{image}.mat")), Limits::default())
            .unwrap();
        let parts: Vec<u64> = segs.iter().map(|map| map.n_segments() as u64).collect();
        assert_eq!(parts, ks);
        assert_eq!(desk.labels(&format!("out/labels/{method}/{image}.png")), segs[2], "the median is three");
    }
    // Four panels in one row: the image, a ground truth, two methods.
    let picture = image::open(desk.path("out/pictures/b.png")).unwrap().to_rgb8();
    assert_eq!(picture.dimensions(), (4 * WIDTH as u32 + 3 * 6, HEIGHT as u32));
    let photo = image::open(desk.path("data/images/val/b.png")).unwrap().to_rgb8();
    assert!(photo.enumerate_pixels().all(|(x, y, pixel)| picture.get_pixel(x, y) == pixel));
}

#[test]
fn the_page_is_one_file_that_says_what_was_found() {
    let desk = data_set();
    desk.run(RUN).succeeded();
    let page = desk.text("out/report.html");
    assert!(!page.contains("{{") && !page.contains("}}") && !page.contains("NaN"));
    for foreign in ["http:", "https:", "<script", "<link", "@import", "url("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    for text in [
        "BSDS500 val: 2 methods, 3 images",
        "too few to say",
        "<strong>CCN₁−H</strong> against NCut−H on the same 3 images",
        "<small>0.57</small>",
        "<small>23.4 min</small>",
        "covering <span class=\"best\">",
        "<th scope=\"row\">sigma</th>",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert_eq!(page.matches("data:image/png;base64,").count(), 3, "each photo once");
    let plots: Vec<&str> = page
        .match_indices("<svg class=\"plot\"")
        .map(|(at, _)| &page[at..at + page[at..].find("</svg>").unwrap() + 6])
        .collect();
    assert_eq!(plots.len(), 8);
    for plot in plots {
        let document = Document::parse(plot).unwrap();
        assert!(document.root_element().attribute("aria-label").is_some());
        let n_marks = document.descendants().filter(|node| node.attribute("fill") == Some("currentColor"));
        assert!([2, 10].contains(&n_marks.count()), "two protocols, or five numbers of parts of two methods");
    }
}

#[test]
fn a_run_that_was_killed_goes_on_and_gives_the_same() {
    let desk = data_set();
    desk.run(RUN).succeeded();
    let (tables, page) = (desk.text("out/tables.md"), desk.text("out/report.html"));
    let whole = desk.text("out/results.jsonl");
    // In the middle of the fourth of six lines.
    let cut = whole.match_indices('\n').nth(2).unwrap().0 + 200;
    desk.write("out/results.jsonl", &whole[..cut]);
    let ended = desk.run(&format!("{RUN} --threads 1")).succeeded();
    assert!(ended.stderr.contains("3 of 6 cuts are done already"), "{}", ended.stderr);
    assert_eq!(without_times(&desk.text("out/tables.md")), without_times(&tables));
    assert!(page_without_times(&desk.text("out/report.html")) == page_without_times(&page));
    assert_eq!(records(&desk, "out").len(), 6);
    // With nothing left to do, even the times are the same.
    let tables = desk.text("out/tables.md");
    let ended = desk.run(RUN).succeeded();
    assert!(ended.stderr.contains("6 of 6 cuts are done already"), "{}", ended.stderr);
    assert_eq!(desk.text("out/tables.md"), tables);
    assert_eq!(ended.stdout, tables);
}

#[test]
fn results_of_other_settings_are_refused() {
    let desk = data_set();
    desk.run(RUN).succeeded();
    refused(
        &desk,
        &format!("{RUN} --set sigma=3"),
        &["results of `ncut-h` with sigma = ", "but 3.0 was asked for", "hint: choose another --out"],
    );
    // In the name it is another method.
    let ended = desk.run("bench bsds --data data --methods ncut-h,ncut-h:sigma=3 --limit 1 --out out");
    ended.succeeded();
    assert_eq!(records(&desk, "out").len(), 7);
    assert_eq!(desk.names("out/labels"), ["ccn1-h", "ncut-h", "ncut-h_sigma_3"]);
}

#[test]
fn a_missing_label_map_is_a_missing_panel() {
    let desk = data_set();
    desk.run(RUN).succeeded();
    fs::remove_file(desk.path("out/labels/ccn1-h/b.png")).unwrap();
    desk.run(RUN).succeeded();
    let page = desk.text("out/report.html");
    assert!(page.contains("1 label map is missing") && page.matches(">no label map</text>").count() == 1);
    let picture = image::open(desk.path("out/pictures/b.png")).unwrap().to_rgb8();
    assert_eq!(picture.get_pixel(3 * (WIDTH as u32 + 6) + 5, 5).0, [128; 3]);

    let ended = desk.run(&format!("{RUN} --save-segs")).succeeded();
    assert!(ended.stderr.contains("6 cuts were done without --save-segs"), "{}", ended.stderr);
    desk.run("bench bsds --data data --methods ncut-h --out bare --limit 2 --no-pictures").succeeded();
    assert_eq!(desk.names("bare"), ["report.html", "results.jsonl", "summary.json", "tables.md"]);
    assert!(desk.text("bare/report.html").contains("asked for no pictures"));
}

#[test]
fn one_bad_image_is_reported_and_the_rest_done() {
    let desk = data_set();
    let truth = desk.read("data/groundTruth/val/b.mat");
    desk.write("data/groundTruth/val/b.mat", &truth[..truth.len() / 2]);
    let other = map(HEIGHT, WIDTH - 1, |row, _| u32::from(row > 9));
    desk.write("data/groundTruth/val/c.mat", encode_segs("c.mat".as_ref(), &[other]).unwrap());
    let ended = desk.run(RUN);
    assert_eq!(ended.status, 2);
    for words in [
        "error: cutting `b` by `ncut-h`",
        "error: cutting `b` by `ccn1-h`",
        "reading ground truth `data/groundTruth/val/b.mat`",
        "error: cutting `c` by `ncut-h`",
        "comparing with `data/groundTruth/val/c.mat`",
        "2 of 6 cuts done, 4 failed",
    ] {
        assert!(ended.stderr.contains(words), "no `{words}` in\n{}", ended.stderr);
    }
    assert!(ended.stdout.contains("| NCut−H | 1 |"), "{}", ended.stdout);
    assert_eq!(desk.names("out/pictures"), ["a.png"]);
    assert!(desk.text("out/report.html").contains("Not all of the 3 images"));
    // Mended, the same command does what is left.
    desk.write("data/groundTruth/val/b.mat", truths(1));
    desk.write("data/groundTruth/val/c.mat", truths(2));
    let ended = desk.run(RUN).succeeded();
    assert!(ended.stderr.contains("2 of 6 cuts are done already"), "{}", ended.stderr);
    assert!(ended.stdout.contains("| NCut−H | 3 |"), "{}", ended.stdout);
}

#[test]
fn what_cannot_be_run_is_named() {
    let desk = data_set();
    let layout = "hint: expected images/SPLIT/*.jpg and groundTruth/SPLIT/*.mat";
    let with = |methods: &str| format!("bench bsds --data data --out out --methods {methods}");
    refused(&desk, &with("ncut"), &["`ncut` is not the name of a method", "hint: names are ncut-m"]);
    refused(&desk, &with("ncut-h,ncut-h"), &["the method `ncut-h` was named twice"]);
    refused(
        &desk,
        &with("ncut-h:sigmoid=7"),
        &[
            "method `ncut-h:sigmoid=7`: unexpected argument '--sigmoid'",
            "'--sigma'",
            "hint: they are those of",
        ],
    );
    refused(
        &desk,
        &with("ncut-h:sigma=wide"),
        &["method `ncut-h:sigma=wide`: invalid value 'wide' for '--sigma"],
    );
    refused(&desk, &with("ncut-h:tau=1"), &["`tau` is part of the method's name"]);
    refused(&desk, &format!("{RUN} --limit 0"), &["`--limit 0` leaves no image"]);
    fs::create_dir_all(desk.path("empty")).unwrap();
    let of = |data: &str| format!("bench bsds --data {data} --out out");
    refused(&desk, &of("empty"), &["`empty` has no folders `images` and `groundTruth`", layout]);
    refused(&desk, &format!("{RUN} --split train"), &["data/images/train"]);
    for folder in ["images/val", "groundTruth/val"] {
        fs::create_dir_all(desk.path("empty").join(folder)).unwrap();
    }
    refused(&desk, &of("empty"), &["`empty/images/val` holds no image", layout]);
    fs::copy(desk.path("data/images/val/a.png"), desk.path("empty/images/val/a.png")).unwrap();
    refused(&desk, &of("empty"), &["`empty/groundTruth/val` holds no ground truth (.mat)", layout]);
    fs::copy(desk.path("data/groundTruth/val/b.mat"), desk.path("empty/groundTruth/val/b.mat")).unwrap();
    refused(&desk, &of("empty"), &["no image of `empty/images/val` has a ground truth", layout]);
}

#[test]
fn label_maps_are_scored_against_every_ground_truth() {
    let desk = data_set();
    let truth = "data/groundTruth/val/a.mat";
    let three = map(HEIGHT, WIDTH, |r, c| region(0, r, c));
    write_label_map(&desk.path("three.png"), &three, Overwrite::Allow).unwrap();
    let report = desk.run(&format!("evaluate three.png --truth {truth} --json")).succeeded().report();
    assert_eq!((&report["command"], &report["schema_version"]), (&"evaluate".into(), &1.into()));
    assert_eq!(
        (&report["input"], &report["map"], &report["n_segments"]),
        (&"three.png".into(), &1.into(), &3.into())
    );
    let truths = report["truths"].as_array().unwrap();
    let of = |key: &str| truths.iter().map(|t| t[key].as_f64().unwrap()).collect::<Vec<_>>();
    assert_eq!(of("n_segments"), [2.0, 3.0, 4.0]);
    assert_eq!((of("covering")[1], of("rand_index")[1], of("variation")[1]), (1.0, 1.0, 0.0));
    // Two of the three regions are one to the first person: both cover it in part, 690 or 1150 pixels of 1840.
    let covering = (14.0 * 40.0 + 46.0 * 40.0 * (25.0 / 40.0)) / 2400.0;
    assert!((of("covering")[0] - covering).abs() < 1e-12, "{} {covering}", of("covering")[0]);
    let mean = of("covering").iter().sum::<f64>() / 3.0;
    assert!((report["covering"].as_f64().unwrap() - mean).abs() < 1e-12);

    let text = desk.run(&format!("evaluate three.png --truth {truth}")).succeeded().stdout;
    assert!(text.starts_with("three.png: 3 segments\n"), "{text}");
    assert!(text.contains("1.0000  1.0000  0.0000") && text.contains("mean"), "{text}");
    assert!(!text.contains("boundaries"), "{text}");
    let own = &desk.run("evaluate three.png --truth three.png --boundaries --json").succeeded().report()["boundaries"];
    assert_eq!([&own["precision"], &own["recall"], &own["f"]], [1.0, 1.0, 1.0]);
    let text = desk.run(&format!("evaluate three.png --truth {truth} --boundaries")).succeeded().stdout;
    // The first person drew one line less than there is, the last one more.
    assert!(text.contains("boundaries: precision 1.0000, recall 0.") && !text.contains("F 1.0000"), "{text}");
    let text = desk.run(&format!("evaluate {truth} --truth three.png")).succeeded().stdout;
    assert!(
        text.contains("a.mat (map 1): 2 segments") && text.contains("a.mat (map 3): 4 segments"),
        "{text}"
    );
    let all = desk.run(&format!("evaluate {truth} three.png --truth {truth} --json")).succeeded().reports();
    let maps: Vec<&Value> = all.iter().map(|report| &report["map"]).collect();
    assert_eq!(maps, [1, 2, 3, 1]);
}

#[test]
fn label_maps_that_do_not_fit_are_named() {
    let desk = data_set();
    let truth = "data/groundTruth/val/a.mat";
    let other = map(WIDTH, HEIGHT, |row, _| u32::from(row > 9));
    write_label_map(&desk.path("other.npy"), &other, Overwrite::Allow).unwrap();
    refused(
        &desk,
        &format!("evaluate other.npy --truth {truth}"),
        &["comparing `other.npy` with `data/groundTruth/val/a.mat`", "60", "40"],
    );
    refused(&desk, &format!("evaluate none.png --truth {truth}"), &["`none.png` does not exist"]);
    desk.write("half.mat", &truths(0)[..150]);
    refused(&desk, "evaluate other.npy --truth half.mat", &["reading ground truth `half.mat`"]);
    desk.write("notes.txt", "1 2 3");
    refused(&desk, &format!("evaluate notes.txt --truth {truth}"), &["reading labels `notes.txt`", ".mat"]);
}
