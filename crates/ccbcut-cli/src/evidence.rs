//! Why there are so many parts: the evidence of `-k auto` as a plot.

use anyhow::Result;
use ccbcut::choose::{Choice, Opinion};

use crate::plot::{self, Area, Axis, BLUE, FAINT, Frame, INK, Stroke, VERMILION, mm};

/// Three panels: the spectrum, the cost along the tree, and how often the same parts came out; a dashed line at each
/// opinion's number of parts and a solid one at the number chosen.
///
/// # Errors
/// When it cannot be drawn.
pub fn draw(choice: &Choice) -> Result<String> {
    let (width, height) = (2.0 * plot::COLUMN, 62.0);
    plot::sheet("Evidence for the number of parts", width, height, |area| {
        let panels = area.margin(0, mm(4.0), 0, 0).split_evenly((1, 3));
        let spectrum: Vec<(f64, f64)> = numbered(&choice.eigenvalues);
        panel(area, &panels[0], "eigenvalues", &spectrum, choice, &choice.eigengap)?;
        panel(area, &panels[1], "cost", &numbered(&choice.costs), choice, &choice.elbow)?;
        let stable: Vec<(f64, f64)> = numbered(&choice.stability.scores).split_off(1);
        panel(area, &panels[2], "stability", &stable, choice, &choice.stability)?;
        let sure = (100.0 * choice.confidence).round();
        let text = format!("{{k}} = {} ({sure} % sure); blue: each opinion", choice.k);
        plot::write(area, &text, 8.0, (mm(width) / 2, mm(height - 2.0)))
    })
}

/// Values over 1, 2, ….
fn numbered(values: &[f64]) -> Vec<(f64, f64)> {
    values.iter().enumerate().map(|(k, &value)| (k as f64 + 1.0, value)).collect()
}

fn panel(
    sheet: &Area<'_>,
    area: &Area<'_>,
    name: &str,
    points: &[(f64, f64)],
    choice: &Choice,
    opinion: &Opinion,
) -> Result<()> {
    let last = (choice.k_max as f64 + 1.0).max(2.0);
    let highest = points.iter().map(|p| p.1).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let ticks: Vec<f64> = (1..=choice.k_max + 1).step_by(choice.k_max / 6 + 1).map(|k| k as f64).collect();
    let x = Axis::new("{k}", 0.5..last + 0.5, &ticks);
    let heights = plot::round_ticks(highest).into_iter().map(|t| (t, plot::short(t))).collect();
    let y = Axis { range: -0.05 * highest..1.08 * highest, ticks: heights, name: "" };
    let frame = Frame::draw(area, &format!("{name}: {}", opinion.k), &x, &y)?;
    let line = |k: usize, stroke: Stroke| {
        let ends = [frame.at(k as f64, y.range.start), frame.at(k as f64, y.range.end)];
        stroke.draw(sheet, &ends)
    };
    line(choice.k, Stroke::solid(VERMILION, 0.4))?;
    line(opinion.k, Stroke::dashed(BLUE, 0.3, 1.2, 0.8))?;
    let places: Vec<(i32, i32)> = points.iter().map(|&(k, value)| frame.at(k, value)).collect();
    Stroke::solid(FAINT, 0.2).draw(sheet, &places)?;
    for (x, y) in places {
        let arm = mm(0.6);
        Stroke::solid(INK, 0.4).draw(sheet, &[(x - arm, y), (x + arm, y)])?;
        Stroke::solid(INK, 0.4).draw(sheet, &[(x, y - arm), (x, y + arm)])?;
    }
    frame.close(sheet)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::example_choice;

    #[test]
    fn the_plot_says_what_was_chosen_and_by_whom() {
        let svg = draw(&example_choice()).unwrap();
        for text in ["eigenvalues: 3", "cost: 3", "stability: 2", "40 % sure"] {
            assert!(svg.contains(text), "{text}");
        }
        let red = format!("#{:02X}{:02X}{:02X}", VERMILION.0, VERMILION.1, VERMILION.2);
        assert_eq!(svg.matches(&red).count(), 3);
    }
}
