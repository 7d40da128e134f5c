//! The tree of a hierarchical cut as a drawing.

use anyhow::Result;
use ccbcut::partition::{Dendrogram, Selection};
use plotters::style::RGBColor;

use crate::plot::{self, Axis, BLUE, FAINT, Frame, GREEN, ORANGE, PURPLE, Stroke, VERMILION};

/// Up to so many leaves, their sizes are written below them.
const LABELLED: usize = 24;

/// Draws the tree: the cost of the partition runs down, and every split is a bar at the cost that it leads to. Below the
/// bars of a cut its parts have colours.
///
/// # Errors
/// When it cannot be drawn.
pub fn draw(dendrogram: &Dendrogram, selection: &Selection, tau: f64) -> Result<String> {
    let tree = dendrogram.tree();
    let n = tree.n_leaves();
    let width = (40.0 + 3.0 * n as f64).clamp(2.0 * plot::COLUMN, 400.0);
    let lowest = tree.costs().last().copied().unwrap_or(0.0).max(f64::MIN_POSITIVE);
    let title = format!("{n} leaves, {} parts, cost {:.4}", selection.sizes.len(), selection.cost);
    plot::sheet("Dendrogram", width, 90.0, |area| {
        let x = Axis {
            range: -0.7..n as f64 - 0.3,
            ticks: labels(dendrogram)?,
            name: "leaves, with their sizes",
        };
        let ticks: Vec<(f64, String)> =
            plot::round_ticks(lowest).into_iter().map(|t| (t, plot::short(t))).collect();
        let y = Axis { range: 1.06 * lowest..-0.03 * lowest, ticks, name: "cost of the partition" };
        let frame = Frame::draw(area, &format!("{title} (tau {tau})"), &x, &y)?;
        let places = places(dendrogram)?;
        for (id, node) in tree.nodes().iter().enumerate() {
            let members = tree.members(id)?;
            let part = selection.part_of_leaf[members[0] as usize];
            let is_inside = members.iter().all(|&leaf| selection.part_of_leaf[leaf as usize] == part);
            let stroke = Stroke::solid(if is_inside { color(part) } else { FAINT }, 0.3);
            let top = match node.parent().and_then(|parent| tree.nodes()[parent].step()) {
                Some(step) => tree.costs()[step],
                None => 0.0,
            };
            let bottom = node.step().map_or(lowest, |step| tree.costs()[step]);
            stroke.draw(area, &[frame.at(places[id], top), frame.at(places[id], bottom)])?;
            if let Some([low, high]) = node.children() {
                stroke.draw(area, &[frame.at(places[low], bottom), frame.at(places[high], bottom)])?;
            }
        }
        frame.close(area)
    })
}

/// Where each node stands from left to right: leaves side by side, others between their halves.
fn places(dendrogram: &Dendrogram) -> Result<Vec<f64>> {
    let tree = dendrogram.tree();
    let mut place_of_leaf = vec![0.0; tree.n_leaves()];
    for (place, &leaf) in tree.members(0)?.iter().enumerate() {
        place_of_leaf[leaf as usize] = place as f64;
    }
    let mut places = vec![0.0; tree.nodes().len()];
    // Children come after their parents.
    for id in (0..places.len()).rev() {
        places[id] = match tree.nodes()[id].children() {
            Some([low, high]) => 0.5 * (places[low] + places[high]),
            None => place_of_leaf[tree.members(id)?[0] as usize],
        };
    }
    Ok(places)
}

/// What is written below the leaves.
fn labels(dendrogram: &Dendrogram) -> Result<Vec<(f64, String)>> {
    let tree = dendrogram.tree();
    if tree.n_leaves() > LABELLED {
        return Ok(Vec::new());
    }
    let places = places(dendrogram)?;
    let leaves = tree.nodes().iter().enumerate().filter(|(_, node)| node.children().is_none());
    Ok(leaves.map(|(id, _)| (places[id], dendrogram.sizes()[id].to_string())).collect())
}

/// Colours in turn.
fn color(part: u32) -> RGBColor {
    [BLUE, VERMILION, GREEN, ORANGE, PURPLE][part as usize % 5]
}

#[cfg(test)]
mod tests {
    use ccbcut::partition::Recut;

    use super::*;

    #[test]
    fn a_drawing_has_a_bar_for_every_split_and_a_line_for_every_node() {
        let linkage = [[1.0, 2.0, 1.0, 2.0], [0.0, 3.0, 2.0, 3.0]];
        let tree = Dendrogram::from_linkage(&linkage, &[0.0, 0.25, 0.5], vec![0, 1, 2, 2]).unwrap();
        let two = tree.select(&Recut { n_segments: Some(2), ..Recut::default() }).unwrap();
        let svg = draw(&tree, &two, 1.0).unwrap();
        let hex = |c: RGBColor| format!("#{:02X}{:02X}{:02X}", c.0, c.1, c.2);
        assert_eq!(svg.matches(&hex(FAINT)).count(), 2, "the root and its bar");
        assert_eq!(svg.matches(&hex(BLUE)).count() + svg.matches(&hex(VERMILION)).count(), 5);
        assert!(svg.contains("3 leaves, 2 parts, cost 0.2500"));
        let alone = Dendrogram::from_linkage(&[], &[0.0], vec![0]).unwrap();
        let one = alone.select(&Recut { n_segments: Some(1), ..Recut::default() }).unwrap();
        assert!(draw(&alone, &one, 1.0).unwrap().contains("1 leaves, 1 parts"));
    }
}
