//! Drawing for print: a sheet measured in millimetres, line styles that do without colour, text with symbols.
//!
//! The plotting library places everything on whole units, so a unit is a fiftieth of a millimetre. Text stays text, in
//! the reader's sans-serif font. In it, `{x}` sets x in italics and `_{x}` as an index.

use std::{fmt::Write, ops::Range};

use anyhow::{Context, Result};
use plotters::{
    coord::{
        Shift,
        ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter},
    },
    element::DashedPathElement,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use crate::page::escape;

/// Units of a millimetre.
const UNITS: f64 = 50.0;

/// Millimetres of a point, the measure of letters.
const POINT: f64 = 25.4 / 72.0;

/// The width of a column of print, and of a page of two.
pub const COLUMN: f64 = 86.0;

/// An area of a sheet, in units.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Colours that people with any common colour vision tell apart (Okabe and Ito).
pub const BLUE: RGBColor = RGBColor(0, 114, 178);
/// See [`BLUE`].
pub const VERMILION: RGBColor = RGBColor(213, 94, 0);
/// See [`BLUE`].
pub const GREEN: RGBColor = RGBColor(0, 158, 115);
/// See [`BLUE`].
pub const ORANGE: RGBColor = RGBColor(230, 159, 0);
/// See [`BLUE`].
pub const PURPLE: RGBColor = RGBColor(204, 121, 167);
/// Of text and axes.
pub const INK: RGBColor = RGBColor(0, 0, 0);
/// Of lines behind others.
pub const FAINT: RGBColor = RGBColor(150, 150, 150);

/// Millimetres in units.
pub fn mm(length: f64) -> i32 {
    (UNITS * length).round() as i32
}

/// Draws on a white sheet of so many millimetres, and gives the SVG file.
///
/// # Errors
/// Those of `draw`.
pub fn sheet(
    title: &str,
    width: f64,
    height: f64,
    draw: impl FnOnce(&Area<'_>) -> Result<()>,
) -> Result<String> {
    let mut svg = String::new();
    let root = SVGBackend::with_string(&mut svg, (mm(width) as u32, mm(height) as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    draw(&root)?;
    root.present()?;
    drop(root);
    // The size on paper, which the library does not know, takes the place of the size in units.
    let (_, body) = svg.split_once('\n').context("the drawing is empty")?;
    Ok(header(title, width, height, mm(width), mm(height)) + &typeset(body))
}

/// The opening of an SVG file: its size on paper in millimetres, its size in units, and its title.
pub fn header(title: &str, width: f64, height: f64, columns: i32, rows: i32) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" \
         width=\"{width}mm\" height=\"{height}mm\" viewBox=\"0 0 {columns} {rows}\">\n<title>{}</title>\n",
        escape(title)
    )
}

/// Replaces the marks for italics and indices in a line of escaped text.
pub fn marked_up(text: &str) -> String {
    let (mut out, mut rest, mut lowered) = (String::new(), text, false);
    while let Some(at) = rest.find('{') {
        let Some(end) = rest[at..].find('}') else { break };
        let (before, inside) = (&rest[..at], &rest[at + 1..at + end]);
        let is_index = before.ends_with('_');
        push_run(&mut out, before.trim_end_matches('_'), &mut lowered);
        // Letters stand for quantities; numbers are upright wherever they stand.
        let slant = if inside.starts_with(char::is_alphabetic) { " font-style=\"italic\"" } else { "" };
        if is_index {
            // A third of the index's own size down; undone by the next run.
            // Writing into a String cannot fail, here and below.
            let _ = write!(out, "<tspan dy=\"0.33em\" font-size=\"75%\"{slant}>{inside}</tspan>");
            lowered = true;
        } else {
            let dy = if std::mem::take(&mut lowered) { " dy=\"-0.25em\"" } else { "" };
            let _ = write!(out, "<tspan{dy}{slant}>{inside}</tspan>");
        }
        rest = &rest[at + end + 1..];
    }
    push_run(&mut out, rest, &mut lowered);
    out
}

fn push_run(out: &mut String, run: &str, lowered: &mut bool) {
    if run.is_empty() {
        return;
    }
    if std::mem::take(lowered) {
        let _ = write!(out, "<tspan dy=\"-0.25em\">{run}</tspan>");
    } else {
        *out += run;
    }
}

/// Marks up every text of a drawing; the library puts each on a line of its own.
fn typeset(body: &str) -> String {
    let mut out = String::with_capacity(body.len());
    let mut lines = body.lines();
    while let Some(line) = lines.next() {
        out += line;
        if line.starts_with("<text") {
            out += &lines.by_ref().take_while(|line| *line != "</text>").map(marked_up).collect::<String>();
            out += "</text>";
        }
        out.push('\n');
    }
    out
}

/// Black sans-serif text of so many points.
pub fn font(points: f64) -> TextStyle<'static> {
    // The library's sizes are line heights.
    TextStyle::from(("sans-serif", 1.24 * points * POINT * UNITS).into_font()).color(&INK)
}

/// Writes a line of text; `at` is the middle of it.
///
/// # Errors
/// When it cannot be drawn.
pub fn write(area: &Area<'_>, text: &str, points: f64, at: (i32, i32)) -> Result<()> {
    Ok(area.draw_text(text, &font(points).pos(Pos::new(HPos::Center, VPos::Center)), at)?)
}

/// Writes a line of text; `at` is the middle of its left end.
///
/// # Errors
/// When it cannot be drawn.
pub fn write_from(area: &Area<'_>, text: &str, points: f64, at: (i32, i32)) -> Result<()> {
    Ok(area.draw_text(text, &font(points).pos(Pos::new(HPos::Left, VPos::Center)), at)?)
}

/// How a curve is drawn: its dashes tell it apart without its colour.
#[derive(Debug, Clone, Copy)]
pub struct Stroke {
    /// The colour.
    pub color: RGBColor,
    /// The width in millimetres.
    pub width: f64,
    /// Lengths of dashes and of gaps in millimetres; a solid line without.
    pub dash: Option<(f64, f64)>,
}

impl Stroke {
    /// A solid line.
    pub const fn solid(color: RGBColor, width: f64) -> Self {
        Self { color, width, dash: None }
    }

    /// A dashed line.
    pub const fn dashed(color: RGBColor, width: f64, dash: f64, gap: f64) -> Self {
        Self { color, width, dash: Some((dash, gap)) }
    }

    fn style(self) -> ShapeStyle {
        self.color.stroke_width(mm(self.width) as u32)
    }

    /// Draws a line through points, in units.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub fn draw(self, area: &Area<'_>, points: &[(i32, i32)]) -> Result<()> {
        match self.dash {
            None => area.draw(&PathElement::new(points.to_vec(), self.style()))?,
            Some((dash, gap)) => {
                area.draw(&DashedPathElement::new(points.to_vec(), mm(dash), mm(gap), self.style()))?;
            }
        }
        Ok(())
    }
}

/// One axis: its range, the places with numbers, and what it measures.
#[derive(Debug, Clone)]
pub struct Axis {
    /// From and to.
    pub range: Range<f64>,
    /// Places on it, and what is written there.
    pub ticks: Vec<(f64, String)>,
    /// What it measures.
    pub name: &'static str,
}

impl Axis {
    /// An axis with its own numbers at `ticks`.
    pub fn new(name: &'static str, range: Range<f64>, ticks: &[f64]) -> Self {
        Self { range, ticks: ticks.iter().map(|&tick| (tick, tick.to_string())).collect(), name }
    }

    /// Where a value lies between two places of the sheet.
    fn place(&self, value: f64, (from, to): (i32, i32)) -> i32 {
        let share = (value - self.range.start) / (self.range.end - self.range.start);
        from + (f64::from(to - from) * share).round() as i32
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.place(*value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            return Vec::new();
        }
        self.ticks.iter().map(|(value, _)| *value).collect()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        self.ticks.iter().find(|(tick, _)| tick == value).map_or_else(String::new, |(_, text)| text.clone())
    }
}

/// Up to six round numbers from 0 to `end`.
pub fn round_ticks(end: f64) -> Vec<f64> {
    if !(end.is_finite() && end > 0.0) {
        return vec![0.0];
    }
    let size = 10_f64.powf((end / 5.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * size).into_iter().find(|s| end / s <= 5.0).unwrap_or(end);
    (0..=5).map(|k| f64::from(k) * step).filter(|t| *t <= 1.000_001 * end).collect()
}

/// A number in three digits, without zeros at the end.
pub fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e5).contains(&value.abs()) {
        return format!("{value:.2e}");
    }
    let decimals = (2.0 - value.abs().log10().floor()).max(0.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The frame of a plot: where its values lie on the sheet.
pub struct Frame {
    left: i32,
    top: i32,
    right: i32,
    bottom: i32,
    x: Axis,
    y: Axis,
}

impl Frame {
    /// Draws two axes with their numbers, names and grid into an area of a sheet; `title` stands above.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub fn draw(area: &Area<'_>, title: &str, x: &Axis, y: &Axis) -> Result<Self> {
        let (width, _) = area.dim_in_pixel();
        write(area, title, 8.0, (mm(9.0) / 2 + width as i32 / 2, mm(2.5)))?;
        let mut chart = ChartBuilder::on(area)
            .margin_top(mm(5.5))
            .margin_right(mm(2.5))
            .x_label_area_size(mm(8.0))
            .y_label_area_size(mm(9.5))
            .build_cartesian_2d(x.clone(), y.clone())?;
        chart
            .configure_mesh()
            .bold_line_style(RGBColor(225, 225, 225).stroke_width(mm(0.1) as u32))
            .light_line_style(TRANSPARENT)
            .axis_style(INK.stroke_width(mm(0.15) as u32))
            .set_all_tick_mark_size(mm(0.8))
            .label_style(font(7.0))
            .axis_desc_style(font(8.0))
            .x_desc(x.name)
            .y_desc(y.name)
            .draw()?;
        let (left, top) = chart.backend_coord(&(x.range.start, y.range.end));
        let (right, bottom) = chart.backend_coord(&(x.range.end, y.range.start));
        Ok(Self { left, top, right, bottom, x: x.clone(), y: y.clone() })
    }

    /// Where a value lies, in units of the whole sheet.
    pub fn at(&self, x: f64, y: f64) -> (i32, i32) {
        (self.x.place(x, (self.left, self.right)), self.y.place(y, (self.bottom, self.top)))
    }

    /// Draws the outline over whatever was drawn inside.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub fn close(&self, sheet: &Area<'_>) -> Result<()> {
        let (l, t, r, b) = (self.left, self.top, self.right, self.bottom);
        Stroke::solid(INK, 0.15).draw(sheet, &[(l, t), (r, t), (r, b), (l, b), (l, t)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_italics_and_indices() {
        assert_eq!(marked_up("plain &amp; simple"), "plain &amp; simple");
        assert_eq!(marked_up("{α} = 1"), "<tspan font-style=\"italic\">α</tspan> = 1");
        let lowered = "<tspan dy=\"0.33em\" font-size=\"75%\" font-style=\"italic\">p</tspan>";
        assert_eq!(marked_up("BHN_{p}"), format!("BHN{lowered}"));
        assert_eq!(marked_up("Φ_{p}(1)"), format!("Φ{lowered}<tspan dy=\"-0.25em\">(1)</tspan>"));
        assert_eq!(
            marked_up("a_{p}{v}"),
            format!("a{lowered}<tspan dy=\"-0.25em\" font-style=\"italic\">v</tspan>")
        );
        assert_eq!(marked_up("CCN_{1}"), "CCN<tspan dy=\"0.33em\" font-size=\"75%\">1</tspan>");
        assert_eq!(marked_up("an open { stays"), "an open { stays");
    }

    #[test]
    fn a_sheet_has_its_size_on_paper_and_its_text() {
        let svg = sheet("A <title>", 20.0, 10.0, |area| write(area, "{x} < 1", 8.0, (500, 250))).unwrap();
        assert!(svg.contains("width=\"20mm\" height=\"10mm\" viewBox=\"0 0 1000 500\""));
        assert!(svg.contains("<title>A &lt;title&gt;</title>"));
        assert!(svg.contains("<tspan font-style=\"italic\">x</tspan> &lt; 1</text>"));
        assert!(svg.trim_end().ends_with("</svg>"));
    }

    #[test]
    fn ticks_are_round_and_short() {
        let written = |end: f64| round_ticks(end).into_iter().map(short).collect::<Vec<_>>().join(" ");
        assert_eq!(written(1.0), "0 0.2 0.4 0.6 0.8 1");
        assert_eq!(written(0.37), "0 0.1 0.2 0.3");
        assert_eq!(written(2345.0), "0 500 1000 1500 2000");
        assert_eq!(written(3e-5), "0 1.00e-5 2.00e-5 3.00e-5");
        assert_eq!((written(0.0), written(f64::NAN)), ("0".to_owned(), "0".to_owned()));
        assert_eq!([0.5, 12.0, 123.4, 0.012_34].map(short), ["0.5", "12", "123", "0.0123"]);
    }

    #[test]
    fn values_land_where_the_axes_say() {
        sheet("t", 40.0, 40.0, |area| {
            let axis = Axis::new("{x}", 0.0..2.0, &[0.0, 1.0, 2.0]);
            let frame = Frame::draw(area, "title", &axis, &axis)?;
            let ((left, bottom), (right, top)) = (frame.at(0.0, 0.0), frame.at(2.0, 2.0));
            assert!(left < right && top < bottom);
            let (x, y) = frame.at(1.0, 0.5);
            assert!(
                (x - i32::midpoint(left, right)).abs() <= 1 && (y - (bottom - (bottom - top) / 4)).abs() <= 1
            );
            frame.close(area)
        })
        .unwrap();
    }
}
