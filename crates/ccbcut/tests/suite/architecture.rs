//! A room may use what lies upstream of it, the currencies and the tools; nothing reaches downstream.

use std::{fs, path::Path};

/// The walk through the house; each room may use those before it.
const ROOMS: [&str; 17] = [
    "image",
    "affinity",
    "points",
    "regions",
    "coarsen",
    "embedding",
    "memory",
    "partition",
    "ucm",
    "metrics",
    "control",
    "cluster",
    "constraints",
    "choose",
    "sweep",
    "report",
    "segment",
];

/// What everybody may use, and what these themselves may use.
const SHARED: [(&str, &[&str]); 10] = [
    ("error", &[]),
    ("simd", &[]),
    ("parallel", &[]),
    ("random", &[]),
    ("labels", &["error"]),
    ("sets", &["labels"]),
    ("linalg", &["error", "simd", "parallel", "random", "graph"]),
    // The Laplacian is an operator, and components are labels.
    ("graph", &["error", "simd", "parallel", "random", "labels", "sets", "linalg"]),
    ("cost", &["error", "simd", "parallel", "labels", "graph"]),
    ("kmeans", &["error", "simd", "parallel", "random"]),
];

fn allowed(module: &str) -> Vec<&'static str> {
    if let Some((_, uses)) = SHARED.iter().find(|(name, _)| *name == module) {
        return uses.to_vec();
    }
    let place = ROOMS.iter().position(|room| *room == module);
    let place = place.unwrap_or_else(|| panic!("module `{module}` is not in the architecture test"));
    SHARED.iter().map(|(name, _)| *name).chain(ROOMS[..place].iter().copied()).collect()
}

/// The modules named in `crate::…` paths of a source, its tests left out, with their line numbers.
fn used_modules(source: &str) -> Vec<(usize, String)> {
    let code = source.split("#[cfg(test)]").next().unwrap_or("");
    let mut found = Vec::new();
    let mut in_use_group = 0_usize;
    for (number, line) in code.lines().enumerate() {
        let line = line.split("//").next().unwrap_or("");
        let mut rest = line;
        while let Some(at) = rest.find("crate::") {
            rest = &rest[at + "crate::".len()..];
            if rest.starts_with('{') {
                in_use_group = 1;
                rest = &rest[1..];
                continue;
            }
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            found.push((number + 1, name));
        }
        if in_use_group > 0 && !line.contains("use crate::") {
            // First-level names of `use crate::{ … }` stand at the start of rustfmt's lines.
            let name: String = line.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if in_use_group == 1 && !name.is_empty() {
                found.push((number + 1, name));
            }
            in_use_group += line.matches('{').count();
            in_use_group = in_use_group.saturating_sub(line.matches('}').count());
        } else if in_use_group > 0 {
            // `use crate::{a::B, c::D};` on one line.
            let inside = line.split_once('{').map_or("", |(_, rest)| rest);
            let mut depth = 0_i32;
            let mut name = String::new();
            let mut at_start = true;
            for c in inside.chars() {
                match c {
                    c if at_start && depth == 0 && (c.is_alphanumeric() || c == '_') => {
                        name.push(c);
                        continue;
                    }
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    _ => {}
                }
                if !name.is_empty() {
                    found.push((number + 1, std::mem::take(&mut name)));
                }
                at_start = depth == 0 && (c == ',' || (at_start && c.is_whitespace()));
            }
            if line.contains("};") {
                in_use_group = 0;
            }
        }
    }
    found
}

fn sources(dir: &Path, out: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

#[test]
fn no_room_reaches_downstream() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let (mut broken, mut checked) = (Vec::new(), 0);
    for file in files {
        let relative = file.strip_prefix(&root).unwrap();
        let module = relative.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        // Tests may look at the house from anywhere.
        if module == "lib" || relative.ends_with("tests.rs") {
            continue;
        }
        let allowed = allowed(module);
        for (line, used) in used_modules(&fs::read_to_string(&file).unwrap()) {
            checked += 1;
            if used != module && !allowed.contains(&used.as_str()) {
                broken.push(format!("{}:{line}: `{module}` uses `{used}`", relative.display()));
            }
        }
    }
    assert!(checked > 60, "only {checked} uses were seen: the reader of `use` lines is broken");
    assert!(broken.is_empty(), "arrows point downstream:\n{}", broken.join("\n"));
}

#[test]
fn the_reader_of_use_lines_sees_every_form() {
    let source = "use crate::graph::Graph;\nuse crate::{error::Result, labels::{A, B}, cost};\n\
                  use crate::{\n    linalg::{\n        dot,\n        norm,\n    },\n    kmeans::KMeans,\n};\n\
                  fn f() { crate::parallel::map(1, |_| ()) } // crate::comment::X\n";
    let names: Vec<String> = used_modules(source).into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["graph", "error", "labels", "cost", "linalg", "kmeans", "parallel"]);
}

#[test]
fn every_test_that_the_map_of_the_paper_names_is_there() {
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let map = fs::read_to_string(crate_root.join("../../docs/paper-map.md")).unwrap();
    let mut files = Vec::new();
    sources(&crate_root.join("src"), &mut files);
    sources(&crate_root.join("tests"), &mut files);
    sources(&crate_root.join("../ccbcut-cli"), &mut files);
    let code: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    // Test names are sentences: what is in backquotes, in snake case and with three joints at least.
    let quoted = map.split('`').skip(1).step_by(2).map(|name| name.rsplit("::").next().unwrap());
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let named: Vec<&str> =
        quoted.filter(|name| name.chars().all(is_word) && name.matches('_').count() >= 3).collect();
    assert!(named.len() > 60, "only {} names were seen", named.len());
    let missing: Vec<&&str> = named.iter().filter(|name| !code.contains(&format!("fn {name}()"))).collect();
    assert!(missing.is_empty(), "docs/paper-map.md names tests that are not there: {missing:?}");
}
