//! The page, which is part of the program.

/// A file of the page: its name, its kind, its content.
pub type Asset = (&'static str, &'static str, &'static str);

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// All files of the page.
pub const ASSETS: [Asset; 14] = [
    ("index.html", "text/html; charset=utf-8", include_str!("../page/index.html")),
    ("style.css", "text/css; charset=utf-8", include_str!("../page/style.css")),
    ("icon.svg", "image/svg+xml", include_str!("../page/icon.svg")),
    ("main.js", SCRIPT, include_str!("../page/main.js")),
    ("state.js", SCRIPT, include_str!("../page/state.js")),
    ("server.js", SCRIPT, include_str!("../page/server.js")),
    ("cutter.js", SCRIPT, include_str!("../page/cutter.js")),
    ("paint.js", SCRIPT, include_str!("../page/paint.js")),
    ("stage.js", SCRIPT, include_str!("../page/stage.js")),
    ("strokes.js", SCRIPT, include_str!("../page/strokes.js")),
    ("panels.js", SCRIPT, include_str!("../page/panels.js")),
    ("tree.js", SCRIPT, include_str!("../page/tree.js")),
    ("sweep.js", SCRIPT, include_str!("../page/sweep.js")),
    ("toy.js", SCRIPT, include_str!("../page/toy.js")),
];

/// A file by its name.
pub fn asset(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|(own, ..)| *own == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_asks_for_nothing_from_outside_and_all_its_files_are_there() {
        for (name, _, text) in ASSETS {
            for foreign in ["https://", "//cdn", "@import", "eval(", "innerHTML", "style=\"", "onclick="] {
                assert!(!text.contains(foreign), "{name} has `{foreign}`");
            }
            for line in text.lines().filter(|line| line.contains("http://")) {
                assert!(line.contains("http://www.w3.org/2000/svg"), "{name}: {line}");
            }
            // What is imported, linked or loaded is one of the files.
            for start in ["from \"./", "src=\"/page/", "href=\"/page/"] {
                for rest in text.split(start).skip(1) {
                    let file = rest.split('"').next().unwrap();
                    assert!(asset(file).is_some(), "{name} wants {file}");
                }
            }
            assert!(text.lines().count() <= 600, "{name} is too long");
        }
        assert!(asset("../Cargo.toml").is_none() && asset("").is_none());
    }
}
