//! The report for people: a first screen that explains itself.

use std::fmt::Write;

use serde_json::Value;

use crate::{
    output::{Output, Style},
    report::RunReport,
};

/// The report of one image or graph as a few lines of text.
pub fn of_run(report: &RunReport, output: &Output) -> String {
    let mut text = String::new();
    let input = report.input.display().to_string();
    let what = match (report.graph.width, report.graph.height) {
        (Some(width), Some(height)) => format!("{width} × {height} pixels"),
        _ => format!("{} vertices, {} edges", grouped(report.graph.n), grouped(report.graph.edges)),
    };
    let parts = match report.parameters["components"].as_u64() {
        Some(columns) => count(columns as usize, "column"),
        None => count(report.n_segments, "part"),
    };
    let title = output.paint(&input, Style::Strong);
    line(&mut text, format_args!("{title}  {what} → {parts}"));

    let mut row = |name: &str, value: &str| {
        let name = format!("{name:<8}");
        line(&mut text, format_args!("  {} {value}", output.paint(&name, Style::Faint)));
    };
    row("cut", &cut_line(&report.parameters));
    if let Some(sizes) = size_line(&report.sizes) {
        row("parts", &sizes);
    }
    if let Some(choice) = &report.k_choice {
        let [a, b, c] = [&choice.eigengap, &choice.elbow, &choice.stability].map(|opinion| opinion.k);
        let found = if choice.k == 1 { "one part".to_owned() } else { count(choice.k, "part") };
        let sure = (100.0 * choice.confidence).round();
        row("chosen", &format!("{found}, {sure} % sure: eigengap {a}, elbow {b}, stability {c}"));
    }
    if let Some(costs) = &report.costs {
        let name = if report.parameters["balance"] == "ratio" { "CCR" } else { "CCN" };
        let minimised = if name == "CCR" { costs.ccr } else { costs.ccn };
        let (name, minimised) = report.ccb.map_or((name, minimised), |ccb| ("CCB", ccb));
        let others = [("cut", costs.cut), ("NCut", costs.ncut), ("RCut", costs.rcut)];
        let others = others.map(|(name, value)| format!("{name} {}", digits(value))).join(", ");
        row("costs", &format!("{name} {} (made small); {others}", digits(minimised)));
    }
    row("stopped", &stop_line(report));
    row("time", &time_line(report));
    for (k, file) in report.outputs.iter().enumerate() {
        let name = if k == 0 { "wrote" } else { "" };
        row(name, &format!("{}  {}", file.path.display(), about(file.kind)));
    }
    if report.command == "segment" && report.outputs.iter().any(|file| file.kind == "overlay") {
        row("next", &next_line(&report.parameters, &input));
    }
    text
}

/// Costs by name, right-aligned values, for the verb `cost`.
pub fn of_costs(rows: &[(String, f64)], output: &Output) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, value) in rows {
        let name = format!("{name:<width$}");
        line(&mut text, format_args!("{}  {value}", output.paint(&name, Style::Strong)));
    }
    text
}

/// Four significant digits, small numbers with an exponent.
fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size < 1e-3 => format!("{value:.3e}"),
        size if size < 1.0 => format!("{value:.4}"),
        size if size < 1e3 => format!("{value:.3}"),
        _ => format!("{value:.0}"),
    }
}

/// A number with thin groups of thousands: 690,000.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn count(n: usize, word: &str) -> String {
    if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") }
}

fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    // Writing into a String cannot fail.
    let _ = writeln!(text, "{content}");
}

fn word<'a>(parameters: &'a Value, key: &str) -> &'a str {
    parameters[key].as_str().unwrap_or("?")
}

fn cut_line(parameters: &Value) -> String {
    let tau = parameters["tau"].as_f64().unwrap_or(f64::NAN);
    let meaning = match (tau == 2.0, word(parameters, "balance") == "ratio") {
        (true, true) => "the ratio cut",
        (true, false) => "the normalized cut",
        (false, _) => "2 is the most balanced; smaller lets small parts stand alone",
    };
    let mut how = Vec::new();
    if parameters.get("method").is_some() {
        how.push(word(parameters, "method"));
    }
    how.push(word(parameters, "balance"));
    let solver = parameters.get("solver").and_then(Value::as_str);
    how.push(solver.unwrap_or_else(|| word(parameters, "variant")));
    if parameters["refine"] == true {
        how.push("refined");
    }
    if solver == Some("ipm") && parameters.get("criterion").is_none() {
        return format!("the Cheeger cut; {}", how.join(", "));
    }
    format!("tau {tau} ({meaning}); {}", how.join(", "))
}

fn size_line(sizes: &[usize]) -> Option<String> {
    let total: usize = sizes.iter().sum();
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let (smallest, largest) = (sorted.first()?, sorted.last()?);
    let share = |size: usize| {
        let percent = 100.0 * size as f64 / total.max(1) as f64;
        if percent < 0.1 { format!("{size} of {}", grouped(total)) } else { format!("{percent:.1} %") }
    };
    let median = sorted[sorted.len() / 2];
    Some(format!("largest {}, median {}, smallest {}", share(*largest), share(median), share(*smallest)))
}

/// Eigenvectors less accurate than this are spoken of.
const ROUGH: f64 = 0.01;

fn stop_line(report: &RunReport) -> String {
    let sweeps = report.trace.len();
    let splits = report.trace.iter().map(|sweep| sweep.split + 1).max().unwrap_or(0);
    let reason = report.stop_reason.replace('_', " ");
    let text = match (sweeps, splits) {
        (0, _) => reason,
        (_, 0 | 1) => format!("{reason} after {}", count(sweeps, "sweep")),
        _ => format!("{reason} after {} in {}", count(sweeps, "sweep"), count(splits, "embedding")),
    };
    let residual = report.trace.iter().map(|sweep| sweep.iteration.residual).fold(0.0, f64::max);
    if residual <= ROUGH {
        return text;
    }
    format!("{text}; eigenvectors only to {residual:.2}: ties span too many decades, try a larger --sigma")
}

fn time_line(report: &RunReport) -> String {
    let seconds = |ms: f64| format!("{:.2}", ms / 1000.0);
    let stages: Vec<String> = report.stages.iter().map(|s| format!("{} {}", s.name, seconds(s.ms))).collect();
    let total = report.stages.iter().map(|s| s.ms).sum();
    format!("{} s ({})", seconds(total), stages.join(", "))
}

fn about(kind: &str) -> &'static str {
    match kind {
        "labels" => "the label map: part numbers from 0",
        "overlay" => "boundaries on the image",
        "mean_color" => "every part in its mean colour",
        "boundaries" => "boundaries alone",
        "regions" => "table of the parts",
        "coco" => "COCO annotations",
        "geojson" => "outlines",
        "ucm" => "the hierarchy as a contour map",
        "embedding_picture" => "the embedding as colours",
        "tree" => "the tree, for `ccbcut recut`",
        "evidence" => "why there are so many parts",
        "embedding" => "the embedding, one row per vertex",
        _ => "",
    }
}

/// The one comparison that shows what the knob does.
fn next_line(parameters: &Value, input: &str) -> String {
    let segments = parameters["segments"].as_u64().unwrap_or(8);
    let (tau, why) = if parameters["tau"] == 2.0 {
        ("1", "let small parts stand alone")
    } else {
        ("2", "the normalized cut")
    };
    format!("ccbcut segment {input} -k {segments} --tau {tau} -o tau{tau}   {why}, to compare")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::example;

    #[test]
    fn the_first_screen_explains_itself() {
        let expected = "\
photo.jpg  320 × 240 pixels → 3 parts
  cut      tau 1 (2 is the most balanced; smaller lets small parts stand alone); hierarchical, normalized, published
  parts    largest 91.1 %, median 7.8 %, smallest 1.0 %
  costs    CCN 0.7500 (made small); cut 8.000, NCut 0.5000, RCut 0.2500
  stopped  converged after 1 sweep
  time     1.32 s (affinity 0.41, splitting 0.62, upsample 0.29)
  wrote    photo-labels.png  the label map: part numbers from 0
           photo-overlay.png  boundaries on the image
  next     ccbcut segment photo.jpg -k 3 --tau 2 -o tau2   the normalized cut, to compare
";
        let mut report = example();
        (report.ccb, report.k_choice) = (None, None);
        assert_eq!(of_run(&report, &Output::plain()), expected);
    }

    #[test]
    fn a_choice_and_weights_of_ones_own_are_told() {
        let text = of_run(&example(), &Output::plain());
        assert!(text.contains("  chosen   3 parts, 40 % sure: eigengap 3, elbow 3, stability 2\n"), "{text}");
        assert!(text.contains("  costs    CCB 0.5000 (made small);"), "{text}");
    }

    #[test]
    fn a_graph_and_its_splits() {
        let mut report = example();
        (report.graph.width, report.graph.height) = (None, None);
        report.outputs.clear();
        report.sizes = vec![1_000_000, 1];
        report.stop_reason = "max_iterations".into();
        let mut second = report.trace[0].clone();
        second.split = 1;
        report.trace.push(second);
        let text = of_run(&report, &Output::plain());
        assert!(text.contains("76,800 vertices, 11,700,000 edges → 3 parts"));
        assert!(text.contains("smallest 1 of 1,000,001"));
        assert!(text.contains("max iterations after 2 sweeps in 2 embeddings"));
        assert!(!text.contains("next") && !text.contains("eigenvectors"));
        report.trace[1].iteration.residual = 0.17;
        let text = of_run(&report, &Output::plain());
        assert!(text.contains("in 2 embeddings; eigenvectors only to 0.17: "), "{text}");
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!([0, 12, 999, 1000, 1_234_567].map(grouped), ["0", "12", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn costs_line_up() {
        let rows = [("cut".to_owned(), 1.5), ("ncheeger".to_owned(), 0.25)];
        assert_eq!(of_costs(&rows, &Output::plain()), "cut       1.5\nncheeger  0.25\n");
    }
}
