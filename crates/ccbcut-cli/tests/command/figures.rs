//! What `figures` draws, and that it appears together or not at all.

use std::collections::BTreeSet;

use ccbcut::LabelMap;
use roxmltree::{Document, Node};

use crate::support::Desk;

const PLOTS: [&str; 4] =
    ["fig1-toy-graph.svg", "fig2-buhler-hein.svg", "fig3-conservative.svg", "fig4-balances.svg"];

/// Every line of text of a figure, indices and italics included.
fn texts(document: &Document<'_>) -> Vec<String> {
    let of = |node: Node<'_, '_>| -> String {
        node.descendants().filter(Node::is_text).filter_map(|text| text.text()).collect()
    };
    document.descendants().filter(|node| node.has_tag_name("text")).map(of).collect()
}

#[track_caller]
fn assert_says(svg: &str, expected: &[&str]) {
    let texts = texts(&Document::parse(svg).unwrap());
    for line in expected {
        assert!(texts.iter().any(|text| text == line), "`{line}` is not among {texts:?}");
    }
}

#[test]
fn plots_are_xml_that_says_what_it_shows() {
    let desk = Desk::new();
    let report = desk.run("figures -o out --only fig1,fig2,fig3,fig4 --json").succeeded().report();
    assert_eq!((&report["command"], &report["schema_version"]), (&"figures".into(), &1.into()));
    assert_eq!(report["parameters"]["only"][3], "fig4");
    let listed: Vec<(&str, &str)> = report["outputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| (file["kind"].as_str().unwrap(), file["path"].as_str().unwrap()))
        .collect();
    let kinds = ["fig1", "fig2", "fig3", "fig4"];
    let paths = PLOTS.map(|name| format!("out/{name}"));
    assert_eq!(listed, kinds.into_iter().zip(paths.iter().map(String::as_str)).collect::<Vec<_>>());
    assert_eq!(desk.names("out"), PLOTS, "and no other file");

    let captions = [
        &["(a) toy graph", "(b) arg min Cut", "(c) arg min NCut", "α/2", "7 vertices, 9 edges"][..],
        &["(a) arg min BHNp", "(b) arg min BHRp", "p", "α", "∞", "NCut", "RCut: 0.667", "(b)", "(c)"],
        &["(a) arg min CCNτ", "(b) arg min CCRτ", "τ", "α", "NCut", "RCut: 0.667", "(b)", "(c)"],
        &["(a) Φp(v)", "(b) Ψτ(v), τ = 2/(p − 1)", "p = 2, τ = 2", "p = ∞, τ = 0", "p → 1, τ → ∞", "v"],
    ];
    for (name, captions) in PLOTS.iter().zip(captions) {
        let svg = desk.text(&format!("out/{name}"));
        assert_says(&svg, captions);
        let document = Document::parse(&svg).unwrap();
        let root = document.root_element();
        assert!(root.has_tag_name(("http://www.w3.org/2000/svg", "svg")));
        assert_eq!(root.attribute("width"), Some("86mm"), "a column of print");
        let fonts = document.descendants().filter_map(|node| node.attribute("font-family"));
        assert!(fonts.clone().count() > 5 && fonts.clone().all(|family| family == "sans-serif"));
        assert!(!svg.contains("NaN") && !svg.contains("href"), "{name}");
        assert!(svg.len() < 100_000, "{name}: {} bytes", svg.len());
    }
    assert_says(
        &desk.text("out/fig1-toy-graph.svg"),
        &["Cut 0.50, NCut 1.03", "Cut 1.25, NCut 0.33", "RCut prefers (b) for α < 0.667 and (c) above."],
    );
}

#[test]
fn nothing_leaves_its_sheet() {
    let desk = Desk::new();
    desk.run("figures -o out --only fig1,fig2,fig3,fig4").succeeded();
    for name in PLOTS {
        let svg = desk.text(&format!("out/{name}"));
        let document = Document::parse(&svg).unwrap();
        let numbers =
            |text: &str| -> Vec<f64> { text.split([' ', ',']).filter_map(|n| n.parse().ok()).collect() };
        let size = numbers(document.root_element().attribute("viewBox").unwrap());
        let mut seen = 0;
        let inside = |x: f64, y: f64| {
            assert!((0.0..=size[2]).contains(&x) && (0.0..=size[3]).contains(&y), "{name}: ({x}, {y})");
        };
        for node in document.descendants() {
            if let Some(points) = node.attribute("points") {
                numbers(points).chunks(2).for_each(|point| inside(point[0], point[1]));
                seen += 1;
            } else if node.has_tag_name("text") {
                let at = |key: &str| node.attribute(key).unwrap().parse().unwrap();
                inside(at("x"), at("y"));
                seen += 1;
            }
        }
        assert!(seen > 20, "{name}: {seen}");
    }
}

#[test]
fn figures_are_the_same_bytes_every_time() {
    let desk = Desk::with_scene();
    desk.run("figures a.png -o one -k 5 --threads 1").succeeded();
    desk.run("figures a.png -o two -k 5 --threads 2").succeeded();
    let names = desk.names("one");
    assert_eq!(names, [&PLOTS[..], &["fig5-a.svg", "fig6-a.svg"]].concat());
    for name in names {
        assert!(desk.read(&format!("one/{name}")) == desk.read(&format!("two/{name}")), "{name}");
    }
}

#[test]
fn pictures_show_the_cuts_side_by_side() {
    let desk = Desk::with_scene();
    desk.run("figures a.png -o out -k 3 --tau 1.25 --sigma 7 --only fig5,fig6").succeeded();
    let five = desk.text("out/fig5-a.svg");
    assert_says(&five, &["Original", "NCut", "CCN1.25", "RCut", "CCR1.25", "multiway", "hierarchical"]);
    assert_says(&five, &["k = 3 parts each", "Lab, Gaussian, σ = 7"]);
    let count = |svg: &str, tag: &str| {
        Document::parse(svg).unwrap().descendants().filter(|node| node.has_tag_name(tag)).count()
    };
    assert_eq!((count(&five, "image"), count(&five, "use")), (1, 9), "the photo is stored once");
    assert_eq!(count(&five, "path"), 16, "two lines for each of eight cuts");
    // Three parts of this picture: a line down at column 18, and one from there to the right at row 18.
    assert!(five.matches("d=\"M18 18h30M18 0v36\"").count() >= 2, "the cuts follow the picture");
    let six = desk.text("out/fig6-a.svg");
    assert_says(&six, &["Original", "NCut", "CCN1.25", "k = 2", "k = 4", "k = 9", "k = 14"]);
    assert_eq!((count(&six, "image"), count(&six, "use"), count(&six, "path")), (9, 9, 16));
    for svg in [&five, &six] {
        assert!(
            svg.matches("href=").count()
                == svg.matches("href=\"#photo\"").count()
                    + svg.matches("href=\"data:image/png;base64,").count()
        );
    }
}

/// Where a label map changes: (row, column) of the pixel on the far side, and whether it changes downwards.
fn changes(map: &LabelMap) -> BTreeSet<(usize, usize, bool)> {
    let (width, label) = (map.width(), map.as_slice());
    let mut found = BTreeSet::new();
    for p in 0..label.len() {
        let (row, column) = (p / width, p % width);
        if row > 0 && label[p] != label[p - width] {
            found.insert((row, column, true));
        }
        if column > 0 && label[p] != label[p - 1] {
            found.insert((row, column, false));
        }
    }
    found
}

/// The same, read from the `d` of a path: `Mx yhN` runs to the right, `Mx yvN` down.
fn drawn(path: &str) -> BTreeSet<(usize, usize, bool)> {
    let mut found = BTreeSet::new();
    for run in path.split('M').skip(1) {
        let is_level = run.contains('h');
        let numbers: Vec<usize> = run.split([' ', 'h', 'v']).map(|n| n.parse().unwrap()).collect();
        let (x, y, length) = (numbers[0], numbers[1], numbers[2]);
        found.extend((0..length).map(|k| if is_level { (y, x + k, true) } else { (y + k, x, false) }));
    }
    found
}

#[test]
fn figure_5_shows_the_cuts_of_segment() {
    let desk = Desk::with_scene();
    desk.run("figures a.png -o out -k 6 --only fig5 --sigma 7 --seed 3").succeeded();
    let svg = desk.text("out/fig5-a.svg");
    let document = Document::parse(&svg).unwrap();
    let paths: Vec<&str> = document.descendants().filter_map(|node| node.attribute("d")).step_by(2).collect();
    let mut shown = paths.iter();
    for method in ["multiway", "hierarchical"] {
        for cut in ["--tau 2", "--tau 1", "--tau 2 --balance ratio", "--tau 1 --balance ratio"] {
            let line = format!(
                "segment a.png -k 6 --method {method} {cut} --sigma 7 --smooth 0 --min-share 0 --rejoin 0 --seed 3 -o l.npy --force"
            );
            desk.run(&line).succeeded();
            assert_eq!(drawn(shown.next().unwrap()), changes(&desk.labels("l.npy")), "{line}");
        }
    }
    assert_eq!(shown.next(), None);
    assert!(paths.iter().collect::<BTreeSet<_>>().len() > 4, "the cuts differ");
}

#[test]
fn each_picture_figure_can_be_had_alone() {
    let desk = Desk::with_scene();
    desk.run("figures a.png -o both -k 3 --only fig5,fig6").succeeded();
    desk.run("figures a.png -o alone -k 3 --only fig6").succeeded();
    desk.run("figures a.png -o alone -k 3 --only fig5").succeeded();
    assert_eq!(desk.names("alone"), ["fig5-a.svg", "fig6-a.svg"]);
    for name in ["fig5-a.svg", "fig6-a.svg"] {
        assert!(desk.read(&format!("both/{name}")) == desk.read(&format!("alone/{name}")), "{name}");
    }
}

#[test]
fn nothing_is_overwritten_unasked() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("out")).unwrap();
    desk.write("out/fig4-balances.svg", "mine");
    let ended = desk.run("figures -o out --only fig1,fig4");
    assert_eq!((ended.status, ended.stdout.as_str()), (2, ""));
    assert!(ended.stderr.contains("`out/fig4-balances.svg` exists already"), "{}", ended.stderr);
    assert!(ended.stderr.contains("hint: use --force"), "{}", ended.stderr);
    assert_eq!(desk.names("out"), ["fig4-balances.svg"], "the other one did not appear either");
    assert_eq!(desk.read("out/fig4-balances.svg"), b"mine");
    let ended = desk.run("figures -o out --only fig1,fig4 --force").succeeded();
    assert_eq!(ended.stdout, "fig1  out/fig1-toy-graph.svg\nfig4  out/fig4-balances.svg\n");
    assert!(Document::parse(&desk.text("out/fig4-balances.svg")).is_ok());
}

#[test]
fn bad_input_is_named_and_nothing_written() {
    let desk = Desk::with_scene();
    desk.write("broken.png", &desk.read("a.png")[..200]);
    desk.write("file", "a file");
    for (line, message) in [
        ("figures a.png broken.png -o out", "reading image `broken.png`"),
        ("figures a.png missing.png -o out", "reading image `missing.png`"),
        ("figures a.png -o out -k 4 --tau 3 --only fig5", "cutting `a.png`"),
        ("figures a.png -o out -k 0 --only fig5", "cutting `a.png`"),
        ("figures a.png -o out --sigma -1", "cutting `a.png`"),
        ("figures a.png -o out -k 100000 --only fig5", "cutting `a.png`"),
        ("figures a.png --max-pixels 100 -o out", "reading image `a.png`"),
        ("figures a.png --max-memory 1M -o out", "cutting `a.png`"),
        ("figures -o file --only fig1", "`file` is a file, not a folder"),
        ("figures x/a.png y/a.png -o out", "would both write `out/fig5-a.svg`"),
        ("figures a.png -o out --only fig2", "none of these figures shows an image"),
    ] {
        let before = desk.content();
        let ended = desk.run(line);
        assert_eq!((ended.status, ended.stdout.as_str()), (2, ""), "{line}\n{}", ended.stderr);
        assert!(
            ended.stderr.starts_with("error: ") && ended.stderr.contains(message),
            "{line}\n{}",
            ended.stderr
        );
        assert!(before == desk.content(), "{line} left something behind");
    }
}
