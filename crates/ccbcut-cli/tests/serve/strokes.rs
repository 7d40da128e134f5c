use std::fs;

use serde_json::{Value, json};

use crate::support::{Server, ccbcut, order, scene};

/// Two pens across the field on the upper right, and one below.
const STROKES: &str = "1.28-4.38-8_2.54-18.60-22_4.6-30.6-44.20-44";

fn labels(server: &Server, cut: &Value, k: usize) -> Vec<u16> {
    let answer = server.get(&format!("/api/cuts/{}/labels?k={k}", cut["cut"].as_str().unwrap()));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.body.chunks(2).map(|two| u16::from_le_bytes([two[0], two[1]])).collect()
}

/// The parts under the pixels of a few places of a 64 pixels wide image.
fn parts_at(labels: &[u16], places: &[(usize, usize)]) -> Vec<u16> {
    let mut parts: Vec<u16> = places.iter().map(|(x, y)| labels[y * 64 + x]).collect();
    parts.sort_unstable();
    parts.dedup();
    parts
}

#[test]
fn strokes_are_kept_to_and_files_are_those_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let png = scene(48, 64);
    fs::write(folder.path().join("photo.png"), &png).unwrap();
    let server = Server::start(&[]);
    let image = server.add("photo.png", &png);
    let more = json!({ "leaves": 9, "settings": { "strokes": STROKES } });
    let done = server.done(&order("t", &image, 4, &more));
    assert_eq!((&done["least"], &done["leaves"]), (&json!(3), &json!(9)));
    let cut = done["cut"].as_str().unwrap();
    // The file of strokes that the page offers is the one that the shown command asks for.
    let strokes = server.get(&format!("/api/cuts/{cut}/export/scribbles.png?k=4"));
    assert!(strokes.header("content-disposition").unwrap().contains("photo-scribbles.png"));
    fs::write(folder.path().join("photo-scribbles.png"), &strokes.body).unwrap();
    for k in [3, 4, 9] {
        let view = server.json(&format!("/api/cuts/{cut}/view?k={k}"));
        let line = view["command"].as_str().unwrap();
        assert!(line.ends_with("--scribbles photo-scribbles.png -o labels.png"), "{line}");
        assert!(view["python"].as_str().unwrap().contains(r#"scribbles=Image.open("photo-scribbles.png")"#));
        let mut command = ccbcut();
        command.current_dir(folder.path()).args(line.split(' ').skip(1));
        command.args(["-o", "labels.npy", "--tree", "tree.json", "--geojson", "regions.geojson", "--force"]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        for file in ["labels.png", "labels.npy", "regions.geojson"] {
            let shown = server.get(&format!("/api/cuts/{cut}/export/{file}?k={k}"));
            assert!(shown.body == fs::read(folder.path().join(file)).unwrap(), "{file} of {k} parts differs");
        }
        let labels = labels(&server, &done, k);
        let pens: Vec<Vec<u16>> = [
            parts_at(&labels, &[(28, 4), (33, 6), (38, 8)]),
            parts_at(&labels, &[(54, 18), (57, 20), (60, 22)]),
            parts_at(&labels, &[(6, 30), (6, 44), (20, 44), (12, 44)]),
        ]
        .into();
        assert!(pens.iter().all(|parts| parts.len() == 1), "{k}: {pens:?}");
        assert!(pens[0] != pens[1] && pens[0] != pens[2] && pens[1] != pens[2], "{k}: {pens:?}");
    }
    let tree = server.get(&format!("/api/cuts/{cut}/export/tree.json?k=9"));
    assert!(tree.body == fs::read(folder.path().join("tree.json")).unwrap(), "the tree differs");
}

#[test]
fn a_cut_with_strokes_is_another_cut_and_begins_from_its_own_kind() {
    let server = Server::start(&[]);
    let image = server.add("a.png", &scene(48, 64));
    let with = |tau: f64, warm: bool, strokes: &str| {
        let settings = json!({ "tau": tau, "strokes": strokes });
        server.done(&order("t", &image, 5, &json!({ "settings": settings, "warm": warm })))
    };
    let plain = with(1.25, false, "");
    let marked = with(1.25, true, STROKES);
    assert_ne!(plain["cut"], marked["cut"]);
    assert_eq!(marked["is_warm"], false, "a cut without strokes is no start");
    assert_ne!(labels(&server, &plain, 5), labels(&server, &marked, 5));
    let moved = with(1.2, true, STROKES);
    assert_eq!(moved["is_warm"], true);
    let back = with(1.2, true, "");
    assert_eq!(back["is_warm"], true, "the start of the cut without strokes is still there");
    // Exact cuts do not depend on what was before.
    let exact = with(1.2, false, STROKES);
    let fresh = Server::start(&[]);
    let image = fresh.add("a.png", &scene(48, 64));
    let settings = json!({ "tau": 1.2, "strokes": STROKES });
    let alone = fresh.done(&order("t", &image, 5, &json!({ "settings": settings })));
    assert_eq!(alone["cut"], exact["cut"]);
    assert_eq!(labels(&fresh, &alone, 5), labels(&server, &exact, 5));
}

#[test]
fn edits_go_with_strokes() {
    let server = Server::start(&[]);
    let image = server.add("a.png", &scene(48, 64));
    let settings = json!({ "strokes": "1.28-4.38-8_2.54-18.60-22" });
    let cut = |edits: &str| {
        let more = json!({ "settings": settings, "edits": edits });
        server.done(&order("t", &image, 2, &more))["cut"].as_str().unwrap().to_owned()
    };
    // Two parts are merged to one, and the one is split between the strokes again.
    let edits = "m0-1.s0";
    let labels = server.get(&format!("/api/cuts/{}/labels?k=2&edits={edits}", cut(edits)));
    let labels: Vec<u16> = labels.body.chunks(2).map(|two| u16::from_le_bytes([two[0], two[1]])).collect();
    assert_eq!(parts_at(&labels, &[(28, 4), (33, 6), (38, 8)]).len(), 1);
    assert_eq!(parts_at(&labels, &[(28, 4), (54, 18)]).len(), 2);
    // A part with a stroke in it is split beside the stroke.
    let part = labels[4 * 64 + 28];
    let edits = format!("s{part}");
    let view = server.json(&format!("/api/cuts/{}/view?k=2&edits={edits}", cut(&edits)));
    assert_eq!(view["n_segments"], 3);
}

#[test]
fn strokes_that_cannot_be_kept_to_are_refused_in_words() {
    let server = Server::start(&[]);
    let image = server.add("a.png", &scene(48, 64));
    let refused = |k: usize, settings: &Value, more: &Value| {
        let mut more = more.clone();
        more["settings"] = settings.clone();
        let answer = server.post_job(&order("t", &image, k, &more));
        if answer.status != 202 {
            return (answer.status, answer.text());
        }
        let (kind, data) = server.run_job(&order("t", &image, k, &more));
        assert_eq!(kind, "failed");
        (202, data["detail"].as_str().unwrap().to_owned())
    };
    let plain = json!({});
    let (status, text) = refused(2, &json!({ "strokes": STROKES }), &plain);
    assert!(status == 422 && text.contains("k is 2, but strokes of 3 pens need 3 parts"), "{text}");
    let (status, text) = refused(4, &json!({ "strokes": STROKES, "method": "multiway" }), &plain);
    assert!(status == 422 && text.contains("choose hierarchical"), "{text}");
    let (status, text) = refused(4, &json!({ "strokes": "1.70-4" }), &plain);
    assert!(status == 422 && text.contains("64 × 48"), "{text}");
    let (status, text) = refused(4, &json!({ "strokes": "9.1-1" }), &plain);
    assert!(status == 400 && text.contains("no stroke"), "{text}");
    let (status, text) =
        refused(4, &json!({ "strokes": STROKES }), &json!({ "want": "sweep", "taus": [1, 2] }));
    assert!(status == 422 && text.contains("clear them"), "{text}");
    // One dot of a pen between lines of another, in cells that the other fills.
    let lines: Vec<String> = (0..48).step_by(3).map(|row| format!("1.0-{row}.63-{row}")).collect();
    let hidden = format!("{}_2.20-20", lines.join("_"));
    let (status, text) = refused(4, &json!({ "strokes": hidden }), &plain);
    assert!(status == 202 && text.contains("longer ones, or finer cells"), "{text}");
    let done = server.done(&order("t", &image, 3, &plain));
    let none = server.get(&format!("/api/cuts/{}/export/scribbles.png?k=3", done["cut"].as_str().unwrap()));
    assert!(none.status == 422 && none.text().contains("no strokes"), "{}", none.text());
}
