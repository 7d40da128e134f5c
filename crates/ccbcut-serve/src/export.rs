//! What can be taken away: the files that the command would write, byte for byte.

use std::path::Path;

use ccbcut::LabelMap;
use ccbcut_io::{CocoCounts, TreeFile, encode_coco, encode_geojson, encode_label_map, encode_tree, paint};
use serde_json::{Value, json};

use crate::{
    App,
    cut::{Cut, Found, View},
    problem::Problem,
    settings::Edit,
};

/// A file: its name and its kind.
pub const FILES: [(&str, &str); 10] = [
    ("labels.png", "image/png"),
    ("labels.npy", "application/octet-stream"),
    ("overlay.png", "image/png"),
    ("mean-color.png", "image/png"),
    ("boundaries.png", "image/png"),
    ("report.json", "application/json"),
    ("tree.json", "application/json"),
    ("coco.json", "application/json"),
    ("regions.geojson", "application/geo+json"),
    ("scribbles.png", "image/png"),
];

impl App {
    /// The bytes of a file.
    ///
    /// # Errors
    /// For a file that this cut does not have.
    pub fn export(&self, cut: &Cut, view: &View, file: &str, is_edited: bool) -> Result<Vec<u8>, Problem> {
        let (labels, rgb) = (&view.labels, &cut.picture.rgb);
        let png = |rgb: &[u8]| paint::encode_png(labels.width(), labels.height(), rgb);
        let made = match file {
            "labels.png" | "labels.npy" => encode_label_map(Path::new(file), labels),
            "overlay.png" => paint::overlay(rgb, labels).and_then(|rgb| png(&rgb)),
            "mean-color.png" => paint::mean_color(rgb, labels).and_then(|rgb| png(&rgb)),
            "boundaries.png" => png(&paint::boundaries(labels)),
            "coco.json" => {
                Ok(encode_coco(&[(&cut.picture.name, labels)], CocoCounts::Compressed).into_bytes())
            }
            "regions.geojson" => encode_geojson(Path::new(file), labels, Some(&mean_colors(cut, labels)))
                .map(String::into_bytes),
            "scribbles.png" => {
                let marks = cut.marks.as_ref().ok_or_else(|| Problem::unusable("this cut has no strokes"))?;
                marks.png(&cut.picture)
            }
            "tree.json" => return tree(cut),
            "report.json" => return self.report(cut, view, is_edited),
            _ => return Err(Problem::not_found("file")),
        };
        made.map_err(|error| Problem::unusable(error.to_string()))
    }

    /// The report of the command, with the parts that are shown.
    fn report(&self, cut: &Cut, view: &View, is_edited: bool) -> Result<Vec<u8>, Problem> {
        let (costs, terms) = view.costs(cut, self.graphs.get(&cut.graph).as_deref())?;
        let mut report = cut.report.clone();
        (report.n_segments, report.sizes) = (view.labels.n_segments(), view.labels.sizes());
        (report.costs, report.part_costs) = (*costs, terms.clone());
        let words = words(cut, view.labels.n_segments());
        let mut text = self
            .engine
            .report(&words, &cut.picture.name, &cut.picture.image, &report)
            .map_err(Problem::internal)?;
        if is_edited {
            let mut value: Value =
                serde_json::from_str(&text).map_err(|error| Problem::internal(error.to_string()))?;
            value["edited"] = json!(true);
            text = value.to_string();
        }
        Ok(text.into_bytes())
    }

    /// What the page says about the parts that are shown.
    ///
    /// # Errors
    /// When the graph is gone.
    pub fn describe(
        &self,
        cut: &Cut,
        view: &View,
        k: usize,
        edits: &[Edit],
        tau: Option<f64>,
    ) -> Result<Value, Problem> {
        let prepared = self.graphs.get(&cut.graph);
        let (costs, terms) = view.costs_at(tau.unwrap_or(cut.settings.tau), cut, prepared.as_deref())?;
        let name = &cut.picture.name;
        let words = words(cut, k);
        let nodes: Vec<Option<usize>> = view.regions.iter().map(|region| region.node).collect();
        let is_plain = edits.is_empty();
        Ok(json!({
            "n_segments": view.labels.n_segments(),
            "sizes": view.labels.sizes(),
            "nodes": nodes,
            "costs": costs,
            "terms": terms,
            "is_warm": cut.is_warm,
            "n_sweeps": cut.report.runs.iter().map(|run| run.trace.iterations.len()).sum::<usize>(),
            "is_converged": cut.report.is_converged(),
            "command": is_plain.then(|| command(name, &words)),
            "python": is_plain.then(|| python(name, &words)),
        }))
    }
}

/// The options that make a cut; the strokes are in the file that goes with it.
fn words(cut: &Cut, k: usize) -> Vec<String> {
    let mut words = cut.settings.words(k);
    if cut.marks.is_some() {
        words.extend(["--scribbles".to_owned(), format!("{}-scribbles.png", cut.picture.stem())]);
    }
    words
}

/// The command that makes the same label map.
fn command(name: &str, words: &[String]) -> String {
    format!("ccbcut segment {} {} -o labels.png", quoted(name), words.join(" "))
}

/// The same from Python.
fn python(name: &str, words: &[String]) -> String {
    let text = |word: &str| Value::from(word).to_string();
    // Words come in pairs; the first is the number of parts.
    let value = |word: &String| if word.parse::<f64>().is_ok() { word.clone() } else { text(word) };
    let mut arguments = vec!["image".to_owned()];
    for pair in words.chunks_exact(2) {
        match pair[0].as_str() {
            "-k" => arguments.push(value(&pair[1])),
            "--scribbles" => arguments.push(format!("scribbles=Image.open({})", text(&pair[1]))),
            name => arguments.push(format!(
                "{}={}",
                name.trim_start_matches('-').replace('-', "_"),
                value(&pair[1])
            )),
        }
    }
    format!(
        "import ccbcut\nfrom PIL import Image\nimage = Image.open({})\nlabels = ccbcut.segment({})",
        text(name),
        arguments.join(", ")
    )
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

fn tree(cut: &Cut) -> Result<Vec<u8>, Problem> {
    let Found::Tree(tree) = &cut.found else {
        return Err(Problem::unusable("a multiway cut has no tree: choose hierarchical"));
    };
    let file = TreeFile {
        dendrogram: tree.1.clone(),
        shape: Some((cut.picture.image.height(), cut.picture.image.width())),
        names: None,
        tau: cut.settings.tau,
        balance: cut.balance().name().to_owned(),
    };
    encode_tree(Path::new("tree.json"), &file).map_err(|error| Problem::internal(error.to_string()))
}

/// The mean of each part's colours, as the command's table of regions has it.
fn mean_colors(cut: &Cut, labels: &LabelMap) -> Vec<[f64; 3]> {
    let mut sums = vec![[0.0; 3]; labels.n_segments()];
    for (p, &label) in labels.as_slice().iter().enumerate().filter(|&(_, &l)| l != LabelMap::VOID) {
        let color = paint::color_of(cut.picture.image.pixel(p));
        sums[label as usize].iter_mut().zip(color).for_each(|(sum, v)| *sum += f64::from(v));
    }
    let mean = |(sum, size): (&[f64; 3], usize)| sum.map(|s| s / size.max(1) as f64);
    sums.iter().zip(labels.sizes()).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_pasted() {
        let words: Vec<String> = ["-k", "8", "--tau", "1"].map(str::to_owned).into();
        assert_eq!(command("a.png", &words), "ccbcut segment a.png -k 8 --tau 1 -o labels.png");
        assert_eq!(quoted("it's $HOME.png"), "'it'\\''s $HOME.png'");
        let lines = python("a \"b\".png", &words);
        assert!(lines.contains(r#"Image.open("a \"b\".png")"#), "{lines}");
        assert!(lines.ends_with("labels = ccbcut.segment(image, 8, tau=1)"), "{lines}");
        let words: Vec<String> = ["-k", "3", "--tau", "2", "--balance", "ratio"].map(str::to_owned).into();
        assert!(python("a.png", &words).ends_with(r#"(image, 3, tau=2, balance="ratio")"#));
        let words: Vec<String> = ["-k", "3", "--scribbles", "a-scribbles.png"].map(str::to_owned).into();
        assert!(python("a.png", &words).ends_with(r#"(image, 3, scribbles=Image.open("a-scribbles.png"))"#));
    }
}
