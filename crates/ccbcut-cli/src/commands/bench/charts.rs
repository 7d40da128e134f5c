//! Small plots for the page: SVG that takes its colours from the page, light or dark.
//!
//! A method has a colour and a mark of its own; lines of multiway methods are dashed. Numbers of the page's colours are
//! classes `m0`, `m1`, …

use std::fmt::Write;

use crate::page::escape;

/// Colours of the page.
const N_COLORS: usize = 6;

/// Size of a plot, and what is left free on each side of its frame.
const WIDTH: f64 = 340.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 42.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 34.0;

/// Height of a method in a plot of differences.
const ROW: f64 = 58.0;

/// Where values lie between two ends of a drawing.
struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    fn at(&self, value: f64) -> f64 {
        self.from + (self.to - self.from) * (value - self.low) / (self.high - self.low)
    }
}

/// Round numbers around all values, some four steps, and the digits that they need.
fn ticks(values: impl Iterator<Item = f64>) -> (Vec<f64>, usize) {
    let (low, high) = values
        .filter(|v| v.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    let (low, high) = match high - low {
        width if width > 0.0 => (low, high),
        0.0 => (low - 0.1 * low.abs().max(0.1), high + 0.1 * high.abs().max(0.1)),
        _ => (0.0, 1.0),
    };
    let rough = (high - low) / 4.0;
    let power = rough.log10().floor();
    let base = 10_f64.powf(power);
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * base).find(|&s| s >= 0.999 * rough);
    let step = step.unwrap_or(10.0 * base);
    let (first, last) = ((low / step).floor() as i64, (high / step).ceil() as i64);
    let digits = if step >= 0.999 { 0 } else { (-step.log10() - 1e-9).ceil() as usize };
    ((first..=last).map(|i| i as f64 * step).collect(), digits)
}

/// The mark of a method.
fn mark(method: usize, x: f64, y: f64) -> String {
    let class = format!("class=\"m{}\" fill=\"currentColor\"", method % N_COLORS);
    match method % 4 {
        0 => format!("<circle {class} cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.6\"/>"),
        1 => format!("<path {class} d=\"M{:.1} {:.1}h6.6v6.6h-6.6z\"/>", x - 3.3, y - 3.3),
        2 => format!("<path {class} d=\"M{x:.1} {:.1}l4.3 7.4h-8.6z\"/>", y - 4.7),
        _ => format!("<path {class} d=\"M{x:.1} {:.1}l4.6 4.6-4.6 4.6-4.6-4.6z\"/>", y - 4.6),
    }
}

/// Whether a method's line is dashed.
fn dash(name: &str) -> &'static str {
    let head = name.split(':').next().unwrap_or("");
    if head.ends_with("-m") { " stroke-dasharray=\"5 3.5\"" } else { "" }
}

/// A list of what stands for which method; `names` are those typed and those shown.
pub fn legend(names: &[(&str, String)]) -> String {
    let mut out = String::from("<ul class=\"legend\">");
    for (i, (typed, shown)) in names.iter().enumerate() {
        // Writing into a String cannot fail, here and below.
        let _ = write!(
            out,
            "<li><svg viewBox=\"0 0 30 12\" width=\"30\" height=\"12\" aria-hidden=\"true\"><path class=\"m{}\" \
             d=\"M1 6h28\" stroke=\"currentColor\" stroke-width=\"1.8\"{}/>{}</svg> {}</li>",
            i % N_COLORS,
            dash(typed),
            mark(i, 15.0, 6.0),
            escape(shown)
        );
    }
    out + "</ul>\n"
}

/// A curve over the number of parts for each method.
pub fn curves(title: &str, ks: &[usize], methods: &[(&str, Vec<f64>)]) -> String {
    let (ticks, digits) = ticks(methods.iter().flat_map(|(_, values)| values.iter().copied()));
    let (low, high) = (ticks[0], ticks[ticks.len() - 1]);
    let y = Scale { low, high, from: HEIGHT - BOTTOM, to: TOP };
    let (least, most) = (ks.first().copied().unwrap_or(0), ks.last().copied().unwrap_or(1));
    let x = Scale { low: least as f64, high: most as f64, from: LEFT + 12.0, to: WIDTH - RIGHT - 12.0 };
    let mut out = open(title, HEIGHT);
    for &tick in &ticks {
        let (at, end) = (y.at(tick), WIDTH - RIGHT);
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{end}\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{tick:.digits$}</text>",
            LEFT - 7.0,
            at + 4.0
        );
    }
    for &k in ks {
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{k}</text>",
            x.at(k as f64),
            HEIGHT - BOTTOM + 17.0
        );
    }
    let _ = write!(
        out,
        "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">number of parts</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 3.0
    );
    for (i, (name, values)) in methods.iter().enumerate() {
        let points: Vec<(f64, f64)> = ks
            .iter()
            .zip(values)
            .filter(|(_, v)| v.is_finite())
            .map(|(&k, &v)| (x.at(k as f64), y.at(v)))
            .collect();
        let line: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        if !line.is_empty() {
            let _ = write!(
                out,
                "<path class=\"m{} line\" d=\"M{}\"{}/>",
                i % N_COLORS,
                line.join("L"),
                dash(name)
            );
        }
        out.extend(points.iter().map(|&(x, y)| mark(i, x, y)));
    }
    out + "</svg>"
}

/// One difference of a method to its rival: its name, and mean and standard error for each protocol.
pub struct Difference {
    /// The place of the method among all, for its colour.
    pub method: usize,
    /// Who against whom.
    pub name: String,
    /// `fixed` and `dynamic`.
    pub values: [(f64, f64); 2],
}

/// Differences as dots with whiskers of one and two standard errors; to the right is better.
pub fn differences(title: &str, is_lower_better: bool, all: &[Difference]) -> String {
    let ends = all.iter().flat_map(|d| d.values).flat_map(|(m, e)| [m - 2.0 * e, m + 2.0 * e]);
    let (ticks, digits) = ticks(ends.chain([0.0]));
    let (low, high) = (ticks[0], ticks[ticks.len() - 1]);
    let (left, right) = (58.0, WIDTH - 20.0);
    let (from, to) = if is_lower_better { (right, left) } else { (left, right) };
    let x = Scale { low, high, from, to };
    let bottom = ROW * all.len() as f64 + 4.0;
    let mut out = open(title, bottom + 38.0);
    for &tick in &ticks {
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            x.at(tick),
            bottom + 15.0,
            signed(tick, digits)
        );
    }
    let _ = write!(out, "<text x=\"{right}\" y=\"{}\" text-anchor=\"end\">better →</text>", bottom + 33.0);
    for (row, Difference { method, name, values }) in all.iter().enumerate() {
        let top = ROW * row as f64;
        let _ = write!(
            out,
            "<text class=\"strong\" x=\"2\" y=\"{:.1}\">{}</text>",
            top + 15.0,
            escape(&short(name))
        );
        for &tick in &ticks {
            let class = if is_zero(tick) { "zero" } else { "grid" };
            let _ = write!(
                out,
                "<path class=\"{class}\" d=\"M{:.1} {:.1}V{:.1}\"/>",
                x.at(tick),
                top + 21.0,
                top + ROW - 4.0
            );
        }
        for (k, (protocol, (mean, error))) in ["fixed", "dynamic"].iter().zip(values).enumerate() {
            let y = top + 29.0 + 17.0 * k as f64;
            let whisker = |width: f64, class: &str| {
                let (a, b) = (x.at(mean - width * error), x.at(mean + width * error));
                format!("<path class=\"m{} {class}\" d=\"M{a:.1} {y:.1}H{b:.1}\"/>", method % N_COLORS)
            };
            let _ = write!(
                out,
                "<text x=\"2\" y=\"{:.1}\">{protocol}</text>{}{}<g><title>{} ± {error:.4}</title>{}</g>",
                y + 4.0,
                whisker(2.0, "thin"),
                whisker(1.0, "thick"),
                signed(*mean, 4),
                mark(*method, x.at(*mean), y)
            );
        }
    }
    out + "</svg>"
}

/// A number with its sign; zero has none.
pub fn signed(value: f64, digits: usize) -> String {
    match value {
        v if is_zero(v) => format!("{:.digits$}", 0.0),
        v if v < 0.0 => format!("−{:.digits$}", -v),
        v => format!("+{v:.digits$}"),
    }
}

/// A multiple of a step may miss zero by a rounding.
fn is_zero(value: f64) -> bool {
    value.abs() < 1e-12
}

/// A name that fits into a plot.
fn short(name: &str) -> String {
    const MOST: usize = 46;
    if name.chars().count() <= MOST {
        return name.to_owned();
    }
    name.chars().take(MOST - 1).chain(['…']).collect()
}

fn open(title: &str, height: f64) -> String {
    format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">",
        escape(title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_contain_the_values() {
        let of = |values: &[f64]| ticks(values.iter().copied());
        assert_eq!(of(&[0.0, 4.0]), (vec![0.0, 1.0, 2.0, 3.0, 4.0], 0));
        let (places, digits) = of(&[0.512, 0.631, f64::NAN]);
        assert_eq!((places.len(), digits), (4, 2));
        assert!((places[0] - 0.5).abs() < 1e-12 && (places[3] - 0.65).abs() < 1e-12);
        for values in [&[0.3][..], &[], &[7.0, 7.0], &[-3.0], &[-0.001, 0.0]] {
            let (places, _) = of(values);
            assert!(
                places.len() > 1 && places.len() < 12 && places.iter().all(|p| p.is_finite()),
                "{values:?}"
            );
            let (low, high) = (places[0], places[places.len() - 1]);
            assert!(values.iter().all(|v| (low..=high).contains(v)), "{values:?} {places:?}");
        }
    }

    #[test]
    fn signs_are_those_of_print() {
        assert_eq!([0.25, -0.25, -0.0].map(|v| signed(v, 2)), ["+0.25", "−0.25", "0.00"]);
    }

    #[test]
    fn better_is_to_the_right() {
        let difference = |mean| Difference { method: 0, name: "a".into(), values: [(mean, 0.1); 2] };
        let x_of_dot = |svg: &str| -> f64 {
            let after = svg.split("cx=\"").nth(1).unwrap();
            after.split('"').next().unwrap().parse().unwrap()
        };
        for (is_lower_better, better, worse) in [(false, 1.0, -1.0), (true, -1.0, 1.0)] {
            let place = |mean| x_of_dot(&differences("t", is_lower_better, &[difference(mean)]));
            assert!(place(better) > place(worse));
        }
    }

    #[test]
    fn methods_are_told_apart_without_colour() {
        let marks: Vec<String> = (0..4).map(|i| mark(i, 0.0, 0.0).replace(&format!("m{i}"), "")).collect();
        for (i, a) in marks.iter().enumerate() {
            assert!(marks[..i].iter().all(|b| a != b));
        }
        assert_ne!(dash("ncut-m:sigma=3"), dash("ncut-h:sigma=3"));
        let svg = curves("t", &[5, 10], &[("ncut-m", vec![0.1, f64::NAN]), ("ncut-h", vec![0.2, 0.3])]);
        assert_eq!((svg.matches("<circle").count(), svg.contains("NaN")), (1, false));
    }
}
