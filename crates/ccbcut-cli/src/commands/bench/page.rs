//! The report of a benchmark: one HTML file to look at.

use std::fmt::Write;

use anyhow::{Context, Result};
use ccbcut::metrics::{
    RegionScore,
    protocol::{DYNAMIC, Protocol},
};
use serde_json::Value;

use super::{
    charts::{self, Difference, signed},
    method::display_name,
    pictures::{Gallery, Why},
    record::Store,
    table::{MethodSummary, Paired, Published, Summary, numbers},
};
use crate::page::{escape, filled};

/// Scores in the order of the tables: name, whether lower is better, digits.
const SCORES: [(&str, bool, usize); 3] = [("Covering", false, 3), ("PRI", false, 3), ("VI", true, 2)];

/// Images below which no difference is called one.
const FEW: usize = 10;

/// The page.
///
/// # Errors
/// When a method has no record.
pub fn render(summary: &Summary, store: &Store, images: &[String], gallery: &Gallery) -> Result<String> {
    let methods = &summary.methods;
    let shown: Vec<(&str, String)> =
        methods.iter().map(|m| (m.method.as_str(), display_name(&m.method))).collect();
    let values = [
        ("data", summary.data.to_owned()),
        ("split", summary.split.to_owned()),
        ("n_images", plural(images.len(), "image")),
        ("n_methods", plural(methods.len(), "method")),
        ("tiles", tiles(methods)),
        ("verdicts", verdicts(methods)),
        ("caution", caution(methods, images.len())),
        ("table_1", table_1(methods)),
        ("differences", differences(methods)),
        ("legend", charts::legend(&shown)),
        ("curves", curves(methods)),
        ("spread", spread(methods)),
        ("table_2", table_2(methods)),
        ("tiny", tiny(methods)),
        ("pictures", pictures(gallery)),
        ("parameters", parameters(methods, store, images)?),
        ("version", summary.versions.ccbcut.to_owned()),
    ];
    Ok(filled(include_str!("page.html"), &values))
}

fn name(method: &MethodSummary) -> String {
    escape(&display_name(&method.method))
}

fn plural(n: usize, what: &str) -> String {
    if n == 1 { format!("{n} {what}") } else { format!("{n} {what}s") }
}

/// The best method of each score, `dynamic`, and the runner-up.
fn tiles(methods: &[MethodSummary]) -> String {
    let mut out = String::new();
    for (i, (score, is_lower_better, digits)) in SCORES.into_iter().enumerate() {
        let mut order: Vec<(f64, &MethodSummary)> =
            methods.iter().map(|m| (numbers(m.scores.dynamic)[i], m)).collect();
        order.sort_by(|a, b| if is_lower_better { a.0.total_cmp(&b.0) } else { b.0.total_cmp(&a.0) });
        let Some((value, best)) = order.first() else { continue };
        let second = order.get(1).map_or_else(String::new, |(value, second)| {
            format!("<span class=\"soft\">then {} {value:.digits$}</span>", name(second))
        });
        let direction = if is_lower_better { "lower is better" } else { "higher is better" };
        // Writing into a String cannot fail, here and below.
        let _ = writeln!(
            out,
            "<div class=\"tile\"><span class=\"soft\">{score}, {direction}</span><span class=\"big\">{value:.digits$}</span><strong>{}</strong>{second}</div>",
            name(best)
        );
    }
    out
}

/// Every method against its rival in words.
fn verdicts(methods: &[MethodSummary]) -> String {
    let mut out = String::new();
    for method in methods {
        let Some(rival) = &method.against else { continue };
        let says = |i: usize| {
            let (score, is_lower_better, _) = SCORES[i];
            let (mean, error) = rival.dynamic[i];
            let verdict = verdict(mean, error, is_lower_better, rival.images);
            format!("{score} <span class=\"number\">{} ± {error:.3}</span>{verdict}", signed(mean, 3))
        };
        let _ = writeln!(
            out,
            "<li><strong>{}</strong> against {} on the same {}: {}.</li>",
            name(method),
            escape(&display_name(&rival.method)),
            plural(rival.images, "image"),
            [says(0), says(1), says(2)].join("; ")
        );
    }
    if out.is_empty() { out } else { format!("<ul class=\"verdicts\">\n{out}</ul>\n") }
}

/// What a difference of so many standard errors may be called.
fn verdict(mean: f64, error: f64, is_lower_better: bool, n_images: usize) -> &'static str {
    match (n_images < FEW, mean.abs() > 2.0 * error, (mean < 0.0) == is_lower_better) {
        (true, ..) => "",
        (_, false, _) => " <span class=\"soft\">(no clear difference)</span>",
        (_, _, true) => " <span class=\"best\">(better)</span>",
        (_, _, false) => " <span class=\"worse\">(worse)</span>",
    }
}

/// What to keep in mind when not every method has done every image, or there are few.
fn caution(methods: &[MethodSummary], n_images: usize) -> String {
    let mut out = String::new();
    if n_images < FEW {
        let _ = writeln!(
            out,
            "<p class=\"note\">Only {}: too few to say which method is better. The best figures are marked all the same.</p>",
            plural(n_images, "image")
        );
    }
    let short: Vec<String> = methods
        .iter()
        .filter(|m| m.images < n_images)
        .map(|m| format!("{} ({})", name(m), m.images))
        .collect();
    if !short.is_empty() {
        let _ = writeln!(
            out,
            "<p class=\"note\">Not all of the {n_images} images were done by every method: {}. Their means are over other images; the differences below are not.</p>",
            short.join(", ")
        );
    }
    out
}

/// Table 1 of the paper.
fn table_1(methods: &[MethodSummary]) -> String {
    let protocols: [fn(&Protocol) -> RegionScore; 3] = [|p| p.fixed, |p| p.dynamic, |p| p.dynamic_best_gt];
    // The paper has no figures for the second.
    let published = |p: &Published, protocol: usize| [Some(p.fixed), None, Some(p.dynamic)][protocol];
    let mut rows = String::new();
    for method in methods {
        let _ = write!(rows, "<tr><th scope=\"row\">{}</th><td>{}</td>", name(method), method.images);
        for (i, (_, is_lower_better, digits)) in SCORES.into_iter().enumerate() {
            for (place, protocol) in protocols.iter().enumerate() {
                let of = |m: &MethodSummary| rounded(numbers(protocol(&m.scores))[i], digits);
                let best = methods
                    .iter()
                    .map(of)
                    .reduce(|a, b| if is_lower_better { a.min(b) } else { a.max(b) })
                    .unwrap_or(0.0);
                let class = if of(method) == best && methods.len() > 1 { " class=\"best\"" } else { "" };
                let paper = method
                    .published
                    .and_then(|p| published(&p, place))
                    .map_or_else(String::new, |p| format!("<small>{:.2}</small>", p[i]));
                let _ = write!(rows, "<td><span{class}>{:.digits$}</span>{paper}</td>", of(method));
            }
        }
        rows += "</tr>\n";
    }
    rows
}

/// As printed, so that equal figures are equally marked.
fn rounded(value: f64, digits: usize) -> f64 {
    let power = 10_f64.powi(digits as i32);
    (value * power).round() / power
}

/// The paired differences as plots.
fn differences(methods: &[MethodSummary]) -> String {
    let with_rival: Vec<(usize, &MethodSummary, &Paired)> = methods
        .iter()
        .enumerate()
        .filter_map(|(i, m)| m.against.as_ref().map(|rival| (i, m, rival)))
        .filter(|(_, _, rival)| rival.images > 0)
        .collect();
    if with_rival.is_empty() {
        return "<p class=\"soft\">No method with τ &lt; 2 was run beside the one with τ = 2 of its kind.</p>".to_owned();
    }
    let mut out = String::from("<div class=\"plots\">\n");
    for (k, (score, is_lower_better, _)) in SCORES.into_iter().enumerate() {
        let all: Vec<Difference> = with_rival
            .iter()
            .map(|(i, method, rival)| Difference {
                method: *i,
                name: format!("{} − {}", display_name(&method.method), display_name(&rival.method)),
                values: [rival.fixed[k], rival.dynamic[k]],
            })
            .collect();
        let note = if is_lower_better { ": lower is better, so the axis runs backwards" } else { "" };
        let title = format!("{score}: differences to the rival with their standard errors");
        let plot = charts::differences(&title, is_lower_better, &all);
        let _ =
            writeln!(out, "<figure>{plot}<figcaption><strong>{score}</strong>{note}</figcaption></figure>");
    }
    out + "</div>\n"
}

fn plot(
    title: &str,
    note: &str,
    methods: &[MethodSummary],
    of: impl Fn(&MethodSummary) -> Vec<f64>,
) -> String {
    let values: Vec<(&str, Vec<f64>)> = methods.iter().map(|m| (m.method.as_str(), of(m))).collect();
    let svg = charts::curves(&format!("{title} by number of parts"), &DYNAMIC, &values);
    format!("<figure>{svg}<figcaption><strong>{title}</strong>{note}</figcaption></figure>\n")
}

/// Scores by number of parts.
fn curves(methods: &[MethodSummary]) -> String {
    let of = |i: usize| move |m: &MethodSummary| m.scores_by_k.iter().map(|&s| numbers(s)[i]).collect();
    let notes = [": higher is better", ": higher is better", ": lower is better"];
    SCORES
        .iter()
        .zip(notes)
        .enumerate()
        .map(|(i, ((name, ..), note))| plot(name, note, methods, of(i)))
        .collect()
}

/// The paper's Fig. 7, and tiny parts.
fn spread(methods: &[MethodSummary]) -> String {
    plot("Degree spread", ": std/mean of the parts’ volumes; 0 is perfect balance", methods, |m| {
        m.volume_spread.clone()
    }) + &plot("Tiny parts", ": below 1/1000 of the image", methods, |m| m.tiny_parts.clone())
}

/// Table 2 of the paper.
fn table_2(methods: &[MethodSummary]) -> String {
    let mut rows = String::new();
    for method in methods {
        let _ = write!(rows, "<tr><th scope=\"row\">{}</th>", name(method));
        for (i, seconds) in method.seconds.iter().enumerate() {
            let paper = method
                .published_minutes
                .map_or_else(String::new, |minutes| format!("<small>{:.1} min</small>", minutes[i]));
            let _ = write!(rows, "<td>{seconds:.1} s{paper}</td>");
        }
        let _ = writeln!(rows, "<td>{}</td></tr>", method.not_converged);
    }
    rows
}

fn tiny(methods: &[MethodSummary]) -> String {
    let mut rows = String::new();
    for method in methods {
        let _ = write!(rows, "<tr><th scope=\"row\">{}</th>", name(method));
        for n in &method.tiny_parts {
            let _ = write!(rows, "<td>{n:.1}</td>");
        }
        rows += "</tr>\n";
    }
    rows
}

fn pictures(gallery: &Gallery) -> String {
    if !gallery.is_wanted {
        return "<p class=\"soft\">Not drawn: the run was asked for no pictures.</p>\n".to_owned();
    }
    let mut out = String::new();
    if gallery.n_missing > 0 {
        let _ = writeln!(
            out,
            "<p class=\"note\">{} missing: the cuts were made without being kept, or their files are gone. The figures above have them.</p>",
            if gallery.n_missing == 1 {
                "1 label map is".to_owned()
            } else {
                format!("{} label maps are", gallery.n_missing)
            }
        );
    }
    let pair = gallery.pair.as_ref().map(|(a, b)| (escape(&display_name(a)), escape(&display_name(b))));
    for (why, rows) in &gallery.rows {
        let head = match (why, &pair) {
            (Why::Gain, Some((method, rival))) => format!("Where {method} gains most over {rival}"),
            (Why::Loss, Some((method, rival))) => format!("Where {method} loses most against {rival}"),
            (_, Some(_)) => "Others, evenly spread".to_owned(),
            (_, None) => "Evenly spread over the split".to_owned(),
        };
        let _ = write!(out, "<h3>{head}</h3>\n{}", rows.concat());
    }
    out
}

/// What every method was run with: one table for what all share, one row for what differs.
fn parameters(methods: &[MethodSummary], store: &Store, images: &[String]) -> Result<String> {
    let mut all = Vec::new();
    for method in methods {
        let records = store.of_method(&method.method, images);
        let record = records.first().with_context(|| format!("`{}` has no record", method.method))?;
        all.push(&record.parameters);
    }
    let mut names: Vec<&String> = all.iter().flat_map(|p| p.keys()).collect();
    names.sort();
    names.dedup();
    let text = |value: Option<&Value>| match value {
        None | Some(Value::Null) => "–".to_owned(),
        Some(Value::String(text)) => escape(text),
        Some(other) => escape(&other.to_string()),
    };
    let mut out = String::from("<thead><tr><th scope=\"col\">option</th>");
    for method in methods {
        let _ = write!(out, "<th scope=\"col\">{}</th>", name(method));
    }
    out += "</tr></thead>\n<tbody>\n";
    for key in names {
        let cells: Vec<String> = all.iter().map(|p| text(p.get(key))).collect();
        let is_same = cells.iter().all(|cell| *cell == cells[0]);
        let class = if is_same { "" } else { " class=\"differs\"" };
        let _ = writeln!(
            out,
            "<tr{class}><th scope=\"row\">{}</th><td>{}</td></tr>",
            escape(key),
            cells.join("</td><td>")
        );
    }
    Ok(out + "</tbody>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_needs_two_standard_errors_and_enough_images() {
        assert!(verdict(0.03, 0.01, false, 100).contains("(better)"));
        assert!(verdict(0.03, 0.01, true, 100).contains("(worse)"));
        assert!(verdict(-0.03, 0.01, true, 100).contains("(better)"));
        assert!(verdict(-0.03, 0.01, false, 100).contains("(worse)"));
        assert!(verdict(0.02, 0.01, false, 100).contains("no clear difference"));
        assert_eq!(verdict(0.03, 0.01, false, FEW - 1), "");
    }

    #[test]
    fn missing_label_maps_are_said() {
        let gallery = Gallery { n_missing: 2, is_wanted: true, ..Gallery::default() };
        assert!(pictures(&gallery).contains("2 label maps are missing"));
        assert!(pictures(&Gallery::none()).contains("Not drawn"));
    }
}
