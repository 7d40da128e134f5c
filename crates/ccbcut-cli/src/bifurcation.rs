//! The parts of a sweep over tau as a plot.

use std::collections::BTreeMap;

use anyhow::Result;
use ccbcut::sweep::{EventKind, SweepStep};
use plotters::style::RGBColor;

use crate::plot::{self, Axis, BLUE, FAINT, Frame, GREEN, INK, ORANGE, PURPLE, Stroke, VERMILION};

/// Draws the size of every part over tau, which falls to the right, on a scale of powers of ten. Where a part splits off,
/// a dashed line leads to it from the part it came from.
///
/// # Errors
/// When it cannot be drawn.
pub fn draw(steps: &[SweepStep]) -> Result<String> {
    let n = steps.first().map_or(1, |step| step.labels.len()).max(2) as f64;
    let lowest = -(n.log10().ceil());
    let taus: Vec<f64> = steps.iter().map(|step| step.tau).collect();
    let (first, last) = (taus.first().copied().unwrap_or(2.0), taus.last().copied().unwrap_or(0.25));
    let margin = 0.07 * (first - last).abs().max(0.1);
    let sign = if first >= last { 1.0 } else { -1.0 };
    let height = |size: usize| (size as f64 / n).log10();
    plot::sheet("Parts over tau", 2.0 * plot::COLUMN, 80.0, |area| {
        let shown: Vec<f64> = taus.iter().copied().step_by(taus.len().div_ceil(12).max(1)).collect();
        let x = Axis::new("{τ}", first + sign * margin..last - sign * margin, &shown);
        let decades = (lowest as i32..=0).map(|d| (f64::from(d), plot::short(10_f64.powi(d)))).collect();
        let y = Axis { range: lowest - 0.1..0.1, ticks: decades, name: "share of all vertices" };
        let frame = Frame::draw(area, "Which part splits off at which {τ}", &x, &y)?;
        for (before, now) in steps.iter().zip(steps.iter().skip(1)) {
            for event in now.events.iter().filter(|event| event.kind == EventKind::SplitsOff) {
                if let Some(parent) = before.parts.iter().find(|part| part.track == event.other) {
                    let ends =
                        [frame.at(before.tau, height(parent.size)), frame.at(now.tau, height(event.size))];
                    Stroke::dashed(FAINT, 0.2, 0.8, 0.6).draw(area, &ends)?;
                }
            }
        }
        for (&track, line) in &tracks(steps) {
            let points: Vec<(i32, i32)> =
                line.iter().map(|&(tau, size)| frame.at(tau, height(size))).collect();
            let stroke = Stroke::solid(color(track), 0.5);
            stroke.draw(area, &points)?;
            for &(x, y) in &points {
                let arm = plot::mm(0.5);
                stroke.draw(area, &[(x - arm, y), (x + arm, y)])?;
            }
            if let Some(&(x, y)) = points.first() {
                // Side by side, where several parts have one size.
                let shift = plot::mm(1.6 + 1.8 * (track % 4) as f64);
                plot::write(area, &track.to_string(), 6.0, (x - shift, y - plot::mm(1.4)))?;
            }
        }
        frame.close(area)
    })
}

/// The sizes of each part over tau, by its name.
fn tracks(steps: &[SweepStep]) -> BTreeMap<usize, Vec<(f64, usize)>> {
    let mut tracks: BTreeMap<usize, Vec<(f64, usize)>> = BTreeMap::new();
    for step in steps {
        for part in &step.parts {
            tracks.entry(part.track).or_default().push((step.tau, part.size));
        }
    }
    tracks
}

/// Colours in turn.
fn color(track: usize) -> RGBColor {
    [BLUE, VERMILION, GREEN, ORANGE, PURPLE, INK][track % 6]
}

#[cfg(test)]
mod tests {
    use ccbcut::{Control, Partitioner, graph::gallery};

    use super::*;

    #[test]
    fn every_part_has_a_line_of_its_own() {
        let graph = gallery::planted(&[20, 20, 5], 0.6, 0.05, 1);
        let taus = [2.0, 1.0, 0.25];
        let steps = Partitioner::new(3, 2.0).sweep(&graph, &taus, &mut Control::new()).unwrap();
        let svg = draw(&steps).unwrap();
        for track in tracks(&steps).keys() {
            assert!(svg.contains(&format!(">{track}</text>")), "{track}");
        }
        let n_dashed =
            steps.iter().flat_map(|s| &s.events).filter(|e| e.kind == EventKind::SplitsOff).count();
        let grey = format!("#{:02X}{:02X}{:02X}", FAINT.0, FAINT.1, FAINT.2);
        assert_eq!(svg.contains(&grey), n_dashed > 0);
        let one = Partitioner::new(1, 2.0).sweep(&graph, &[1.0], &mut Control::new()).unwrap();
        assert!(draw(&one).unwrap().contains("Which part"));
    }
}
