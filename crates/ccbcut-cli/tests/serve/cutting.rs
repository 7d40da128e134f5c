use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{Server, ccbcut, order, scene};

/// Runs `ccbcut segment` in a folder.
fn segment(folder: &Path, line: &str) -> String {
    let mut command = ccbcut();
    command.current_dir(folder).arg("segment").args(line.split(' '));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn sizes(server: &Server, cut: &str, k: usize, edits: &str) -> Vec<u64> {
    let view = server.json(&format!("/api/cuts/{cut}/view?k={k}&edits={edits}"));
    view["sizes"].as_array().unwrap().iter().map(|size| size.as_u64().unwrap()).collect()
}

#[test]
fn what_is_exported_is_what_the_command_writes() {
    let folder = tempfile::tempdir().unwrap();
    let png = scene(48, 64);
    fs::write(folder.path().join("photo.png"), &png).unwrap();
    let server = Server::start(&[]);
    let image = server.add("photo.png", &png);
    let settings = json!({ "settings": { "tau": 0.8, "sigma": 6 }, "leaves": 9 });
    let done = server.done(&order("t", &image, 4, &settings));
    assert_eq!((&done["leaves"], &done["is_warm"]), (&json!(9), &json!(false)));
    let cut = done["cut"].as_str().unwrap();
    // Four parts out of a tree of nine are those of a run with four.
    let outputs = "-o labels.png -o labels.npy --overlay --mean-color --boundaries --coco coco.json --geojson regions.geojson --json";
    let report = segment(folder.path(), &format!("photo.png -k 4 --tau 0.8 --sigma 6 {outputs}"));
    for (file, own) in [
        ("labels.png", "labels.png"),
        ("labels.npy", "labels.npy"),
        ("overlay.png", "labels-overlay.png"),
        ("mean-color.png", "labels-mean-color.png"),
        ("boundaries.png", "labels-boundaries.png"),
        ("coco.json", "coco.json"),
        ("regions.geojson", "regions.geojson"),
    ] {
        let path = folder.path().join(own);
        let path = if path.exists() { path } else { folder.path().join(own.replacen("labels", "photo", 1)) };
        let expected = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let answer = server.get(&format!("/api/cuts/{cut}/export/{file}?k=4"));
        assert_eq!(answer.status, 200, "{file}: {}", answer.text());
        assert!(answer.body == expected, "{file} differs from what the command writes");
        assert!(answer.header("content-disposition").unwrap().contains(&format!("photo-{file}")));
    }
    segment(folder.path(), "photo.png -k 9 --tau 0.8 --sigma 6 -o nine.png --tree tree.json");
    let tree = server.get(&format!("/api/cuts/{cut}/export/tree.json?k=4"));
    assert!(tree.body == fs::read(folder.path().join("tree.json")).unwrap(), "the tree differs");
    // The report has times in it; what was cut and what came out is the same.
    let own: Value = serde_json::from_str(&report).unwrap();
    let shown = server.json(&format!("/api/cuts/{cut}/export/report.json?k=4"));
    for key in
        ["schema_version", "command", "input", "parameters", "n", "edges", "n_segments", "sizes", "costs"]
    {
        assert_eq!(shown[key], own[key], "{key}");
    }
    let view = server.json(&format!("/api/cuts/{cut}/view?k=4"));
    assert_eq!(view["costs"], own["costs"]);
    assert_eq!(view["command"], "ccbcut segment photo.png -k 4 --tau 0.8 --sigma 6 -o labels.png");
}

#[test]
fn multiway_and_every_other_setting_are_those_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let png = scene(40, 56);
    fs::write(folder.path().join("a.png"), &png).unwrap();
    let server = Server::start(&[]);
    let image = server.add("a.png", &png);
    for (settings, words) in [
        (json!({ "method": "multiway", "tau": 1.5 }), "--method multiway --tau 1.5"),
        (
            json!({ "balance": "ratio", "levels": 1, "smooth": 1 }),
            "--balance ratio --levels 1 --smooth 1 --tau 1.25",
        ),
        (json!({ "affinity": "mpb" }), "--affinity mpb --tau 1.25"),
    ] {
        let done = server.done(&order("t", &image, 3, &json!({ "settings": settings })));
        let cut = done["cut"].as_str().unwrap();
        segment(folder.path(), &format!("a.png -k 3 {words} -o own.npy --force"));
        let shown = server.get(&format!("/api/cuts/{cut}/export/labels.npy?k=3"));
        assert!(shown.body == fs::read(folder.path().join("own.npy")).unwrap(), "{words}");
    }
}

#[test]
fn progress_is_told_sweep_by_sweep_and_k_moves_without_a_job() {
    let server = Server::start(&[]);
    let image = server.add("a.png", &scene(48, 64));
    let answer = server.post_job(&order("t", &image, 5, &json!({ "leaves": 8 })));
    let job = answer.json()["job"].as_str().unwrap().to_owned();
    let events = server.events(&job);
    let count = |kind: &str| events.iter().filter(|(own, _)| own == kind).count();
    assert!(count("stage") >= 3 && count("split") >= 7 && count("sweep") >= 7, "{events:?}");
    assert!(events.iter().any(|(kind, data)| kind == "sweep" && data["f"].is_number()));
    let cut = events.last().unwrap().1["cut"].as_str().unwrap().to_owned();
    let mut seen = Vec::new();
    for k in 1..=8 {
        let labels = server.get(&format!("/api/cuts/{cut}/labels?k={k}"));
        assert_eq!((labels.status, labels.body.len()), (200, 2 * 48 * 64));
        let mut parts: Vec<u16> =
            labels.body.chunks(2).map(|two| u16::from_le_bytes([two[0], two[1]])).collect();
        parts.sort_unstable();
        parts.dedup();
        assert_eq!(parts, (0..k as u16).collect::<Vec<_>>());
        seen.push(labels.body);
    }
    seen.dedup();
    assert_eq!(seen.len(), 8, "every k looks different");
    assert_eq!(server.get(&format!("/api/cuts/{cut}/labels?k=9")).status, 422);
    assert_eq!(server.get(&format!("/api/cuts/{cut}/labels?k=x")).status, 400);
    let tree = server.json(&format!("/api/cuts/{cut}/tree"));
    assert_eq!(tree["nodes"].as_array().unwrap().len(), 15);
    // Who comes late, or comes back, is told what it missed.
    let head = format!("GET /api/jobs/{job}/events HTTP/1.1\r\nHost: localhost:{}\r\n", server.port);
    let last = server.raw(&format!("{head}Last-Event-ID: {}\r\n", events.len() - 2), b"").text();
    assert_eq!(last.matches("event: ").count(), 1, "{last}");
}

#[test]
fn parts_are_split_and_merged() {
    let server = Server::start(&[]);
    let image = server.add("a.png", &scene(48, 64));
    let cut_with = |edits: &str| {
        let done = server.done(&order("t", &image, 3, &json!({ "leaves": 4, "edits": edits })));
        done["cut"].as_str().unwrap().to_owned()
    };
    let cut = cut_with("");
    let before = sizes(&server, &cut, 3, "");
    // Every part can be split, along the tree or by a solve of its own, and the others stay about what they were.
    for label in 0..3 {
        let edits = format!("s{label}");
        let cut = cut_with(&edits);
        let after = sizes(&server, &cut, 3, &edits);
        assert_eq!(after.len(), 4, "{label}");
        assert_eq!(after.iter().sum::<u64>(), before.iter().sum::<u64>());
    }
    let merged = format!("/api/cuts/{cut}/view?k=3&edits=m0-2");
    let view = server.json(&merged);
    assert_eq!(view["n_segments"], 2);
    assert!(view["command"].is_null(), "no command makes this");
    // What was split along the tree and merged again is what it was.
    let view = server.json(&format!("/api/cuts/{cut}/view?k=4"));
    let tree = server.json(&format!("/api/cuts/{cut}/tree"));
    let nodes: Vec<u64> = view["nodes"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    let position = |node: &Value| nodes.iter().position(|own| Some(*own) == node.as_u64());
    let pair = tree["nodes"].as_array().unwrap().iter().find_map(|node| {
        let children = node[1].as_array()?;
        Some((position(&children[0])?, position(&children[1])?))
    });
    let (a, b) = pair.unwrap();
    let joined = server.json(&format!("/api/cuts/{cut}/view?k=4&edits=m{a}-{b}"));
    assert_eq!(joined["n_segments"], 3);
    assert!(joined["nodes"].as_array().unwrap().iter().all(|node| !node.is_null()));
    let report = server.json(&format!("/api/cuts/{cut}/export/report.json?k=3&edits=m0-2"));
    assert_eq!((&report["edited"], &report["n_segments"]), (&json!(true), &json!(2)));
    assert_eq!(server.get(&format!("/api/cuts/{cut}/view?k=3&edits=m0-9")).status, 422);
    assert_eq!(server.get(&format!("/api/cuts/{cut}/view?k=3&edits=s9")).status, 422);
}

#[test]
fn a_preview_begins_warm_and_the_exact_cut_does_not_depend_on_it() {
    let server = Server::start(&[]);
    let image = server.add("a.png", &scene(48, 64));
    let with = |tau: f64, warm: bool| {
        server.done(&order("t", &image, 4, &json!({ "settings": { "tau": tau }, "warm": warm })))
    };
    assert_eq!(with(1.5, true)["is_warm"], false, "there is nothing to begin from");
    let preview = with(1.4, true);
    assert_eq!(preview["is_warm"], true);
    let exact = with(1.4, false);
    assert_eq!(exact["is_warm"], false);
    assert_ne!(preview["cut"], exact["cut"]);
    let fresh = Server::start(&[]);
    let image = fresh.add("a.png", &scene(48, 64));
    let alone = fresh.done(&order("t", &image, 4, &json!({ "settings": { "tau": 1.4 } })));
    assert_eq!(alone["cut"], exact["cut"], "a cut is named by what it is");
    let labels =
        |server: &Server| server.get(&format!("/api/cuts/{}/labels?k=4", alone["cut"].as_str().unwrap()));
    assert_eq!(labels(&server).body, labels(&fresh).body);
}

#[test]
fn the_next_job_of_a_tab_cancels_the_last_and_other_tabs_go_on() {
    let server = Server::start(&["--workers", "1", "--queue", "2"]);
    let image = server.json("/api/images")[0]["id"].as_str().unwrap().to_owned();
    let post = |tab: &str, tau: f64| {
        server.post_job(&order(tab, &image, 24, &json!({ "settings": { "tau": tau, "levels": 1 } })))
    };
    let id = |answer: crate::support::Answer| answer.json()["job"].as_str().unwrap().to_owned();
    let first = id(post("a", 0.5));
    let second = id(post("a", 0.6));
    let third = id(post("b", 0.5));
    // One runs and two wait; who comes next is told when to come back.
    let busy = (0..6).map(|at| post(&format!("c{at}"), 0.5)).find(|answer| answer.status != 202).unwrap();
    assert_eq!((busy.status, busy.header("retry-after")), (429, Some("1")));
    assert_eq!(server.events(&first).last().unwrap().0, "cancelled");
    for job in [&second, &third] {
        assert_eq!(server.ask("DELETE", &format!("/api/jobs/{job}"), b"").status, 200);
        assert_eq!(server.events(job).last().unwrap().0, "cancelled");
    }
    assert_eq!(server.ask("DELETE", "/api/jobs/999", b"").status, 404);
}

#[test]
fn sweeps_embeddings_and_the_toy_graph_answer() {
    let folder = tempfile::tempdir().unwrap();
    let png = scene(40, 48);
    fs::write(folder.path().join("a.png"), &png).unwrap();
    let server = Server::start(&[]);
    let image = server.add("a.png", &png);
    let done = server.done(&order("t", &image, 3, &json!({ "want": "sweep", "taus": [2, 1, 0.5] })));
    let sweep = done["sweep"].as_str().unwrap();
    let steps = server.json(&format!("/api/sweeps/{sweep}"))["steps"].as_array().unwrap().len();
    assert_eq!(steps, 3);
    let picture = server.get(&format!("/api/sweeps/{sweep}/pictures/2"));
    assert_eq!((picture.status, &picture.body[1..4]), (200, &b"PNG"[..]));
    assert_eq!(server.get(&format!("/api/sweeps/{sweep}/pictures/3")).status, 404);
    let (kind, _) = server.run_job(&order("t", &image, 3, &json!({ "want": "sweep", "taus": [] })));
    assert_eq!(kind, "failed");
    let done = server.done(&order("t", &image, 3, &json!({ "want": "embedding" })));
    let (cut, k) = done["embedding"].as_str().unwrap().split_once('/').unwrap();
    let shown = server.get(&format!("/api/cuts/{cut}/embedding?k={k}"));
    segment(folder.path(), "a.png -k 3 -o own.png --embedding-picture embedding.png");
    assert!(shown.body == fs::read(folder.path().join("embedding.png")).unwrap());
    let point = server.json("/api/toy?family=ccn&alpha=0.5&knob=1");
    assert_eq!(point["labels"].as_array().unwrap().len(), 7);
    assert_eq!(server.json("/api/toy/map?family=bhr")["winners"].as_str().unwrap().len(), 61 * 61);
}

#[test]
fn tiny_images_are_cut_as_the_command_cuts_them() {
    let folder = tempfile::tempdir().unwrap();
    let png = scene(14, 18);
    fs::write(folder.path().join("a.png"), &png).unwrap();
    let server = Server::start(&[]);
    let image = server.add("a.png", &png);
    for k in [2, 5, 16, 30] {
        let done = server.done(&order("t", &image, k, &json!({ "leaves": 24 })));
        segment(folder.path(), &format!("a.png -k {k} -o own.npy --force"));
        let cut = done["cut"].as_str().unwrap();
        let shown = server.get(&format!("/api/cuts/{cut}/export/labels.npy?k={k}"));
        assert!(shown.body == fs::read(folder.path().join("own.npy")).unwrap(), "k = {k}");
    }
    let (kind, data) = server.run_job(&order("t", &server.add("b.png", &scene(2, 3)), 9, &json!({})));
    assert!(kind == "failed" && data["detail"].as_str().unwrap().contains('9'), "{data}");
}

#[test]
fn a_cut_is_weighed_at_another_tau() {
    let server = Server::start(&[]);
    let image = server.add("a.png", &scene(24, 32));
    let done = server.done(&order("t", &image, 3, &json!({ "settings": { "sigma": 60 } })));
    let costs = |tau: &str| {
        let cut = done["cut"].as_str().unwrap();
        server.json(&format!("/api/cuts/{cut}/view?k=3{tau}"))["costs"].clone()
    };
    assert_eq!(costs(""), costs("&tau=1.25"));
    let (one, two) = (costs(""), costs("&tau=2"));
    assert_eq!(one["ncut"], two["ncut"]);
    assert_ne!(one["ccn"], two["ccn"]);
}

#[test]
fn large_images_are_shrunk_and_what_is_cut_can_be_had() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&["--work-pixels", "2000"]);
    let image = server.add("big.png", &scene(80, 120));
    let info = server.json(&format!("/api/images/{image}"));
    assert_eq!(
        (&info["width"], &info["name"], &info["is_shrunk"]),
        (&json!(40), &json!("big-40x27.png"), &json!(true))
    );
    let picture = server.get(&format!("/api/images/{image}/picture"));
    fs::write(folder.path().join("big-40x27.png"), &picture.body).unwrap();
    let done = server.done(&order("t", &image, 3, &json!({})));
    segment(folder.path(), "big-40x27.png -k 3 -o own.png");
    let shown = server.get(&format!("/api/cuts/{}/export/labels.png?k=3", done["cut"].as_str().unwrap()));
    assert!(shown.body == fs::read(folder.path().join("own.png")).unwrap());
}

#[test]
fn what_was_cut_is_still_described_when_its_graph_made_room_for_another() {
    let server = Server::start(&["--cache", "1"]);
    let cut = |name: &str, width: usize| {
        let image = server.add(name, &scene(24, width));
        server.done(&order("t", &image, 3, &json!({})))["cut"].as_str().unwrap().to_owned()
    };
    let (first, _) = (cut("a.png", 32), cut("b.png", 34));
    assert_eq!(server.json("/api/status")["kept"]["graphs"]["things"], 1, "the first graph went");
    assert_eq!(server.json(&format!("/api/cuts/{first}/view?k=3"))["n_segments"], 3);
    assert_eq!(server.get(&format!("/api/cuts/{first}/export/report.json?k=3")).status, 200);
    assert_eq!(server.get(&format!("/api/cuts/{first}/view?k=2")).status, 404, "this one was never painted");
}
