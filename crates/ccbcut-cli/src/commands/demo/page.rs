//! The page of the demo: one HTML file with its pictures inside.

use std::fmt::Write;

use anyhow::{Result, ensure};
use ccbcut::LabelMap;

use crate::{
    page::{escape, filled},
    paint,
    summary::grouped,
};

use super::scene::{HEIGHT, Scene, THINGS, WIDTH};

/// One of the two cuts that the page compares.
#[derive(Debug, Clone)]
pub struct Cut {
    /// The knob it was made with.
    pub tau: f64,
    /// The cut.
    pub labels: LabelMap,
    /// What it costs: CCN at the τ of the first cut, and at that of the second.
    pub ccn: [f64; 2],
    /// The command that makes it.
    pub command: String,
}

/// The page that compares two cuts of a scene.
///
/// # Errors
/// When a label map does not fit the scene.
pub fn render(scene: &Scene, cuts: &[Cut; 2]) -> Result<String> {
    let [first, second] = cuts;
    for cut in cuts {
        let shape = (cut.labels.height(), cut.labels.width());
        ensure!(
            shape == (HEIGHT, WIDTH),
            "the label map is {} × {}, not {HEIGHT} × {WIDTH}",
            shape.0,
            shape.1
        );
    }
    let truth = LabelMap::new(HEIGHT, WIDTH, &scene.things)?;
    let overlaps = [overlaps(scene, &first.labels), overlaps(scene, &second.labels)];
    let commands: Vec<String> = cuts.iter().map(|cut| escape(&cut.command)).collect();
    let values = [
        ("segments", first.labels.n_segments().to_string()),
        ("width", WIDTH.to_string()),
        ("height", HEIGHT.to_string()),
        ("n_things", THINGS.len().to_string()),
        ("scene", picture(&scene.rgb)?),
        ("truth", picture(&paint::label_colors(&truth))?),
        ("first_tau", first.tau.to_string()),
        ("second_tau", second.tau.to_string()),
        ("first_overlay", picture(&paint::overlay(&scene.rgb, &first.labels)?)?),
        ("second_overlay", picture(&paint::overlay(&scene.rgb, &second.labels)?)?),
        ("first_mean", picture(&paint::mean_color(&scene.rgb, &first.labels)?)?),
        ("second_mean", picture(&paint::mean_color(&scene.rgb, &second.labels)?)?),
        ("first_note", note(&overlaps[0])),
        ("second_note", note(&overlaps[1])),
        ("things", thing_rows(scene, &overlaps)),
        ("costs", cost_rows(cuts)),
        ("sizes", size_rows(cuts)),
        ("commands", commands.join("\n")),
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    Ok(filled(include_str!("page.html"), &values))
}

/// For each thing, the largest overlap with a part: pixels in both over pixels in either.
fn overlaps(scene: &Scene, labels: &LabelMap) -> Vec<f64> {
    let n_parts = labels.n_segments();
    let mut both = vec![vec![0_usize; n_parts]; THINGS.len()];
    for (&thing, &label) in scene.things.iter().zip(labels.as_slice()) {
        if label != LabelMap::VOID {
            both[thing as usize][label as usize] += 1;
        }
    }
    let sizes = labels.sizes();
    let of_thing = |row: &Vec<usize>| {
        let pixels: usize = row.iter().sum();
        let scores =
            row.iter().zip(&sizes).map(|(&both, &part)| both as f64 / (pixels + part - both).max(1) as f64);
        scores.fold(0.0, f64::max)
    };
    both.iter().map(of_thing).collect()
}

/// The overlap from which a thing counts as found.
const FOUND: f64 = 0.5;

fn note(overlaps: &[f64]) -> String {
    let found = |name: &&str| THINGS.iter().zip(overlaps).any(|(thing, &o)| thing == name && o >= FOUND);
    let small = ["balloon", "kite", "boat", "door"];
    let names: Vec<&str> = small.into_iter().filter(|name| found(name)).collect();
    match names.as_slice() {
        [] => "None of the four small things has a part of its own.".to_owned(),
        [one] => format!("Of the four small things, only the {one} has a part of its own."),
        [head @ .., last] if names.len() < 4 => {
            format!("The {} and the {last} have parts of their own.", head.join(", the "))
        }
        _ => "All four small things have parts of their own.".to_owned(),
    }
}

fn thing_rows(scene: &Scene, overlaps: &[Vec<f64>; 2]) -> String {
    let mut rows = String::new();
    let mut order: Vec<usize> = (0..THINGS.len()).collect();
    let pixels = |thing: usize| scene.things.iter().filter(|&&t| t as usize == thing).count();
    order.sort_by_key(|&thing| std::cmp::Reverse(pixels(thing)));
    for thing in order {
        let [a, b] = [overlaps[0][thing], overlaps[1][thing]];
        let swatch = swatch(first_label(scene, thing));
        let (name, count) = (THINGS[thing], grouped(pixels(thing)));
        let cells =
            [cell(&format!("{a:.2}"), a >= FOUND && a > b), cell(&format!("{b:.2}"), b >= FOUND && b > a)];
        // Writing into a String cannot fail, here and below.
        let _ = writeln!(rows, "<tr><td>{swatch}{name}</td><td>{count}</td>{}</tr>", cells.concat());
    }
    rows
}

/// The number that a thing has in the label map of the truth, which counts by first appearance.
fn first_label(scene: &Scene, thing: usize) -> usize {
    let mut seen: Vec<u32> = Vec::new();
    for &t in &scene.things {
        if !seen.contains(&t) {
            seen.push(t);
        }
    }
    seen.iter().position(|&t| t as usize == thing).unwrap_or(0)
}

fn swatch(label: usize) -> String {
    let [r, g, b] = paint::label_color(label);
    format!("<span class=\"swatch\" style=\"background: rgb({r} {g} {b})\"></span>")
}

fn cost_rows(cuts: &[Cut; 2]) -> String {
    let mut rows = String::new();
    for (k, under) in cuts.iter().enumerate() {
        let [a, b] = [cuts[0].ccn[k], cuts[1].ccn[k]];
        let name = if under.tau == 2.0 { " (a quarter of NCut)" } else { "" };
        let cells = [cell(&format!("{a:.5}"), a < b), cell(&format!("{b:.5}"), b < a)];
        let _ = writeln!(rows, "<tr><td>CCN at τ = {}{name}</td>{}</tr>", under.tau, cells.concat());
    }
    rows
}

fn size_rows(cuts: &[Cut; 2]) -> String {
    let mut rows = String::new();
    for cut in cuts {
        let mut sizes = cut.labels.sizes();
        sizes.sort_unstable_by_key(|&size| std::cmp::Reverse(size));
        let cells: String = sizes.iter().map(|&size| cell(&grouped(size), false)).collect();
        let _ = writeln!(rows, "<tr><th scope=\"row\">τ = {}</th>{cells}</tr>", cut.tau);
    }
    rows
}

fn cell(text: &str, best: bool) -> String {
    if best { format!("<td class=\"best\">{text}</td>") } else { format!("<td>{text}</td>") }
}

/// A picture of the scene's size as an address that holds the picture itself.
fn picture(rgb: &[u8]) -> Result<String> {
    Ok(paint::data_url(WIDTH, HEIGHT, rgb)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::demo::scene;

    fn example() -> (Scene, [Cut; 2]) {
        let scene = scene::draw(0);
        let chopped: Vec<u32> = (0..WIDTH * HEIGHT).map(|p| (p % WIDTH / 40) as u32).collect();
        let cut = |tau, raw: &[u32], ccn| Cut {
            tau,
            labels: LabelMap::new(HEIGHT, WIDTH, raw).unwrap(),
            ccn,
            command: format!("ccbcut segment scene.png --tau {tau} > a"),
        };
        let cuts = [cut(2.0, &chopped, [0.1, 9.0]), cut(1.0, &scene.things, [0.2, 7.0])];
        (scene, cuts)
    }

    #[test]
    fn the_page_holds_everything_and_asks_for_nothing() {
        let (scene, cuts) = example();
        let page = render(&scene, &cuts).unwrap();
        assert!(!page.contains("{{") && !page.contains("}}"));
        for foreign in ["http:", "https:", "<script", "<link", "@import", "url("] {
            assert!(!page.contains(foreign), "{foreign}");
        }
        assert_eq!(page.matches("data:image/png;base64,").count(), 6);
        assert!(page.contains("All four small things") && page.contains("None of the four small things"));
        assert!(page.contains("--tau 1 &gt; a"));
        assert!(
            page.contains("<td class=\"best\">0.10000</td>")
                && page.contains("<td class=\"best\">7.00000</td>")
        );
        for name in THINGS {
            assert!(page.contains(name), "{name}");
        }
    }

    #[test]
    fn label_maps_must_fit_the_scene() {
        let (scene, mut cuts) = example();
        cuts[1].labels = LabelMap::new(1, 1, &[0]).unwrap();
        assert!(render(&scene, &cuts).is_err());
    }
}
