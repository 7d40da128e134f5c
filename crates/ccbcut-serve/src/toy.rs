//! The toy graph of the paper: every way to cut it in two, and which wins where.

use std::sync::OnceLock;

use ccbcut::{
    Graph, Labels,
    cost::{buhler_hein_normalized, buhler_hein_ratio, ccn, ccr},
    graph::gallery,
};
use serde::Serialize;

use crate::problem::Problem;

/// Points of the map along each axis.
const SIDE: usize = 61;
/// Families, in the order of the page.
const FAMILIES: [Family; 4] = [Family::Ccn, Family::Ccr, Family::Bhn, Family::Bhr];

/// Which cost decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Compassionately conservative, by volume; the knob is τ.
    Ccn,
    /// The same by the number of vertices.
    Ccr,
    /// Bühler and Hein, by volume; the knob is p.
    Bhn,
    /// The same by the number of vertices.
    Bhr,
}

impl Family {
    /// By name.
    ///
    /// # Errors
    /// For another name.
    pub fn named(name: &str) -> Result<Self, Problem> {
        match name {
            "ccn" => Ok(Self::Ccn),
            "ccr" => Ok(Self::Ccr),
            "bhn" => Ok(Self::Bhn),
            "bhr" => Ok(Self::Bhr),
            _ => {
                Err(Problem::unusable(format!("the family is `{name}`, but it must be ccn, ccr, bhn or bhr")))
            }
        }
    }

    /// The least and the greatest knob of the map.
    fn span(self) -> (f64, f64) {
        match self {
            Self::Ccn | Self::Ccr => (0.0, 4.0),
            Self::Bhn | Self::Bhr => (1.02, 6.0),
        }
    }

    fn cost(self, graph: &Graph, labels: &Labels, knob: f64) -> ccbcut::Result<f64> {
        match self {
            Self::Ccn => ccn(graph, labels, knob),
            Self::Ccr => ccr(graph, labels, knob),
            Self::Bhn => buhler_hein_normalized(graph, labels, knob),
            Self::Bhr => buhler_hein_ratio(graph, labels, knob),
        }
    }
}

/// What wins at a point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Winner {
    /// The part of each of the seven vertices.
    pub labels: Vec<u32>,
    /// `alone`: the weak vertex by itself; `apart`: the triangles; `other`.
    pub kind: &'static str,
    /// What it costs.
    pub cost: f64,
    /// What the best of each kind costs.
    pub alone: f64,
    /// The same for the triangles.
    pub apart: f64,
}

/// Which kind of partition wins on a grid of knobs and α.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Map {
    /// The knobs, one per column.
    pub knobs: Vec<f64>,
    /// The weights, one per row.
    pub alphas: Vec<f64>,
    /// A character per point, row by row: `1` alone, `2` apart, `3` another.
    pub winners: String,
}

/// The cheapest cut of the toy graph in two; the first of equals.
///
/// # Errors
/// For a knob or a weight out of range.
pub fn winner(family: Family, alpha: f64, knob: f64) -> Result<Winner, Problem> {
    let (low, high) = family.span();
    if !(alpha > 0.0 && alpha <= 1.0) {
        return Err(Problem::unusable(format!("alpha is {alpha}, but it must be above 0 and at most 1")));
    }
    if !(knob >= low && knob <= high) {
        return Err(Problem::unusable(format!("the knob is {knob}, but it must be from {low} to {high}")));
    }
    Ok(cheapest(family, &gallery::toy(alpha), knob)?)
}

fn cheapest(family: Family, graph: &Graph, knob: f64) -> ccbcut::Result<Winner> {
    let mut best: Option<(f64, &Labels, &'static str)> = None;
    let (mut alone, mut apart) = (f64::INFINITY, f64::INFINITY);
    for (labels, kind) in partitions() {
        let cost = family.cost(graph, labels, knob)?;
        match *kind {
            "alone" => alone = alone.min(cost),
            "apart" => apart = apart.min(cost),
            _ => {}
        }
        if best.is_none_or(|(least, ..)| cost < least) {
            best = Some((cost, labels, kind));
        }
    }
    let (cost, labels, kind) = best.ok_or(ccbcut::Error::TooFewVertices { vertices: 0, segments: 2 })?;
    Ok(Winner { labels: labels.as_slice().to_vec(), kind, cost, alone, apart })
}

/// The map of a family; made once.
///
/// # Errors
/// Those of the costs.
pub fn map(family: Family) -> Result<&'static Map, Problem> {
    static MAPS: [OnceLock<Map>; 4] = [const { OnceLock::new() }; 4];
    let slot = FAMILIES.iter().position(|f| *f == family).unwrap_or(0);
    if let Some(map) = MAPS[slot].get() {
        return Ok(map);
    }
    let made = drawn(family)?;
    Ok(MAPS[slot].get_or_init(|| made))
}

fn drawn(family: Family) -> ccbcut::Result<Map> {
    let (low, high) = family.span();
    let share = |i: usize| i as f64 / (SIDE - 1) as f64;
    let knobs: Vec<f64> = (0..SIDE).map(|i| low + share(i) * (high - low)).collect();
    let alphas: Vec<f64> = (0..SIDE).map(|i| share(i).max(0.005)).collect();
    let mut winners = String::with_capacity(SIDE * SIDE);
    for &alpha in &alphas {
        let graph = gallery::toy(alpha);
        for &knob in &knobs {
            winners.push(match cheapest(family, &graph, knob)?.kind {
                "alone" => '1',
                "apart" => '2',
                _ => '3',
            });
        }
    }
    Ok(Map { knobs, alphas, winners })
}

/// All 63 ways to cut the graph in two, vertex 0 in the first part, and what kind each is.
fn partitions() -> &'static [(Labels, &'static str)] {
    static ALL: OnceLock<Vec<(Labels, &'static str)>> = OnceLock::new();
    ALL.get_or_init(|| {
        let of_bits = |bits: u32| Labels::from_raw(&(0..7).map(|v| (bits << 1 >> v) & 1).collect::<Vec<_>>());
        (1..64).map(of_bits).map(|labels| (kind(labels.as_slice()), labels)).map(|(k, l)| (l, k)).collect()
    })
}

fn kind(label: &[u32]) -> &'static str {
    let all = |range: std::ops::Range<usize>, with: usize| label[range].iter().all(|&l| l == label[with]);
    if all(0..6, 0) && label[6] != label[0] {
        "alone"
    } else if all(0..3, 0) && all(3..6, 3) && label[0] != label[3] {
        "apart"
    } else {
        "other"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_switches_lie_where_the_paper_has_them() {
        let kind = |family, alpha, knob| winner(family, alpha, knob).unwrap().kind;
        // The ratio cut changes at α = 2/3, the normalized cut never, and the plain cut always isolates.
        assert_eq!((kind(Family::Ccr, 0.66, 2.0), kind(Family::Ccr, 0.68, 2.0)), ("alone", "apart"));
        assert_eq!((kind(Family::Ccn, 0.01, 2.0), kind(Family::Ccn, 0.99, 0.0)), ("apart", "alone"));
        let at = winner(Family::Ccn, 0.5, 1.0).unwrap();
        assert!(at.cost == at.alone.min(at.apart) && at.labels.len() == 7);
    }

    #[test]
    fn the_map_agrees_with_its_points() {
        let map = super::map(Family::Ccn).unwrap();
        assert_eq!((map.winners.len(), map.knobs.len()), (SIDE * SIDE, SIDE));
        for (row, column) in [(3, 40), (30, 30), (60, 1), (10, 59)] {
            let point = winner(Family::Ccn, map.alphas[row], map.knobs[column]).unwrap();
            let letter = map.winners.as_bytes()[row * SIDE + column];
            assert_eq!(
                letter,
                match point.kind {
                    "alone" => b'1',
                    "apart" => b'2',
                    _ => b'3',
                }
            );
        }
    }

    #[test]
    fn points_off_the_map_are_refused() {
        assert!(winner(Family::Ccn, 0.0, 1.0).is_err() && winner(Family::Ccn, f64::NAN, 1.0).is_err());
        assert!(winner(Family::Ccn, 0.5, -1.0).is_err() && winner(Family::Bhn, 0.5, 1.0).is_err());
        assert!(Family::named("ncut").is_err());
    }
}
