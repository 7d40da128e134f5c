//! Figures 1 to 4: the toy graph, the maps of its cheapest partitions, and the balance functions.

use anyhow::{Result, ensure};
use ccbcut::{
    Labels,
    cost::{buhler_hein_balance, conservative_balance, cut, ncut, rcut},
    graph::gallery,
};
use plotters::prelude::{Circle, Color, Polygon, RGBColor, Rectangle, WHITE};

use crate::plot::{
    self, Area, Axis, BLUE, COLUMN, FAINT, Frame, GREEN, INK, ORANGE, PURPLE, Stroke, VERMILION, mm, sheet,
};

use super::toy::{Family, Toy, WEAK};

/// Where the vertices of the toy graph are drawn, in millimetres from the middle of its panel.
const PLACES: [(f64, f64); 7] =
    [(-7.0, -3.5), (-11.0, 3.0), (-3.5, 5.0), (3.5, 5.0), (11.0, 3.0), (7.0, -3.5), (0.0, -8.5)];

/// The α of the panels of Fig. 1.
const ALPHA: f64 = 0.5;

/// The region of a map where the weak vertex is split off.
const SHADE: RGBColor = RGBColor(158, 202, 225);

/// Fig. 1: the toy graph, and its cheapest partitions under Cut and NCut.
///
/// # Errors
/// When it cannot be drawn.
pub fn toy_graph(toy: &Toy) -> Result<String> {
    let by_cut = toy.cheapest(ALPHA, &|g, l| cut(g, l))?;
    let by_ncut = toy.cheapest(ALPHA, &|g, l| ncut(g, l))?;
    let switch = toy.switch_over(&|g, l| rcut(g, l))?;
    let graph = gallery::toy(ALPHA);
    let costs = |labels: &Labels| -> Result<String> {
        Ok(format!("Cut {:.2}, NCut {:.2}", cut(&graph, labels)?, ncut(&graph, labels)?))
    };
    let panels = [
        (None, "(a) toy graph", format!("{} vertices, {} edges", graph.n_vertices(), graph.n_edges())),
        (Some(by_cut), "(b) arg min Cut", costs(by_cut)?),
        (Some(by_ncut), "(c) arg min NCut", costs(by_ncut)?),
    ];
    sheet("The toy graph and its cheapest partitions", COLUMN, 40.5, |area| {
        for (k, (labels, name, note)) in panels.iter().enumerate() {
            let middle = (mm(COLUMN * (2 * k + 1) as f64 / 6.0), mm(11.5));
            draw_toy(area, middle, *labels)?;
            plot::write(area, name, 8.0, (middle.0, mm(23.0)))?;
            plot::write(area, note, 7.0, (middle.0, mm(26.7)))?;
        }
        let notes = [
            format!("Costs at {{α}} = {ALPHA}; dashed edges are cut."),
            format!("RCut prefers (b) for {{α}} < {switch:.3} and (c) above."),
            "With the weak vertex on the other side, (c) costs the same.".to_owned(),
        ];
        for (note, y) in notes.iter().zip([31.3, 34.8, 38.3]) {
            plot::write(area, note, 7.0, (mm(COLUMN / 2.0), mm(y)))?;
        }
        Ok(())
    })
}

/// The toy graph around a point of the sheet; with labels, the parts differ in filling and the cut edges are dashed.
fn draw_toy(area: &Area<'_>, middle: (i32, i32), labels: Option<&Labels>) -> Result<()> {
    let at = |vertex: usize| (middle.0 + mm(PLACES[vertex].0), middle.1 + mm(PLACES[vertex].1));
    let mut edges = Vec::new();
    gallery::toy(ALPHA).for_each_edge(|i, j, weight| edges.push((i, j, weight)));
    for &(i, j, weight) in &edges {
        let is_cut = labels.is_some_and(|labels| labels.as_slice()[i] != labels.as_slice()[j]);
        let width: f64 = if weight < 1.0 { 0.2 } else { 0.45 };
        let stroke = if is_cut {
            Stroke::dashed(VERMILION, width.max(0.3), 0.9, 0.8)
        } else {
            Stroke::solid(INK, width)
        };
        stroke.draw(area, &[at(i), at(j)])?;
        if labels.is_none() {
            let outward = if PLACES[i.min(j)].0 < 0.0 { -2.6 } else { 2.6 };
            if i == WEAK || j == WEAK {
                let (a, b) = (at(i), at(j));
                plot::write(
                    area,
                    "{α}/2",
                    7.0,
                    (i32::midpoint(a.0, b.0) + mm(outward), i32::midpoint(a.1, b.1) - mm(1.0)),
                )?;
            }
        }
    }
    for vertex in 0..PLACES.len() {
        let color = match labels.map(|labels| labels.as_slice()[vertex]) {
            None => FAINT,
            Some(0) => BLUE,
            Some(_) => WHITE,
        };
        area.draw(&Circle::new(at(vertex), mm(1.45), color.filled()))?;
        area.draw(&Circle::new(at(vertex), mm(1.45), INK.stroke_width(mm(0.3) as u32)))?;
    }
    Ok(())
}

/// Fig. 2: which partition wins under the Bühler–Hein costs, for every p and α.
///
/// # Errors
/// When it cannot be computed or drawn.
pub fn buhler_hein_maps(toy: &Toy) -> Result<String> {
    // All p > 1 on one axis: 0 is p → 1, 1 is p = ∞.
    let place = |p: f64| 1.0 - 1.0 / p;
    let knob = |place: f64| (1.0 / (1.0 - place)).max(1.0 + 1e-9);
    let tick = |p: f64| (place(p), if p.is_finite() { p.to_string() } else { "∞".to_owned() });
    let axis = Axis {
        range: 0.0..1.0,
        ticks: [1.0, 1.5, 2.0, 3.0, 6.0, f64::INFINITY].map(tick).into(),
        name: "{p}",
    };
    let maps = [
        Map { family: Family::Bhn, title: "(a) arg min BHN_{p}", special: "NCut" },
        Map { family: Family::Bhr, title: "(b) arg min BHR_{p}", special: "RCut" },
    ];
    draw_maps(toy, "Cheapest partitions under the Bühler–Hein costs", &maps, &axis, &knob, place(2.0))
}

/// Fig. 3: which partition wins under the CCB costs, for every τ and α.
///
/// # Errors
/// When it cannot be computed or drawn.
pub fn conservative_maps(toy: &Toy) -> Result<String> {
    let axis = Axis::new("{τ}", 0.0..4.0, &[0.0, 1.0, 2.0, 3.0, 4.0]);
    let maps = [
        Map { family: Family::Ccn, title: "(a) arg min CCN_{τ}", special: "NCut" },
        Map { family: Family::Ccr, title: "(b) arg min CCR_{τ}", special: "RCut" },
    ];
    draw_maps(toy, "Cheapest partitions under the CCB costs", &maps, &axis, &|tau| tau, 2.0)
}

/// One panel of Figs. 2 and 3.
struct Map {
    family: Family,
    title: &'static str,
    /// The cost that the family becomes at p = 2 or τ = 2.
    special: &'static str,
}

fn draw_maps(
    toy: &Toy,
    title: &str,
    maps: &[Map; 2],
    axis: &Axis,
    knob: &dyn Fn(f64) -> f64,
    two: f64,
) -> Result<String> {
    const COLUMNS: usize = 320;
    let alphas = Axis::new("{α}", 0.0..1.0, &[0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
    let places: Vec<f64> = (0..=COLUMNS)
        .map(|k| axis.range.start + (axis.range.end - axis.range.start) * k as f64 / COLUMNS as f64)
        .collect();
    let knobs: Vec<f64> = places.iter().map(|&place| knob(place)).collect();
    let (width, height) = (COLUMN / 2.0, 46.0);
    sheet(title, COLUMN, height + 6.0, |area| {
        for (k, map) in maps.iter().enumerate() {
            let curve = toy.curve(map.family, &knobs)?;
            let at_two = toy.curve(map.family, &[knob(two)])?[0];
            let panel = area.clone().shrink((mm(width * k as f64), 0), (mm(width), mm(height)));
            let frame = Frame::draw(&panel, map.title, axis, &alphas)?;
            let line: Vec<(i32, i32)> = places.iter().zip(&curve).map(|(&x, &y)| frame.at(x, y)).collect();
            let (start, end) = (axis.range.start, axis.range.end);
            let mut shaded = line.clone();
            shaded.extend([frame.at(end, 0.0), frame.at(start, 0.0)]);
            area.draw(&Polygon::new(shaded, SHADE.filled()))?;
            Stroke::dashed(INK, 0.15, 0.5, 0.6).draw(area, &[frame.at(two, 0.0), frame.at(two, 1.0)])?;
            Stroke::solid(BLUE, 0.5).draw(area, between_ends(&line, &curve))?;
            frame.close(area)?;
            let taken = label_two(area, &frame, two, at_two, &curve, map.special)?;
            for (below, name) in [(true, "(b)"), (false, "(c)")] {
                if let Some(spot) = roomiest(&frame, &places, &curve, below, &taken) {
                    plot::write(area, name, 8.0, spot)?;
                }
            }
        }
        let y = mm(height + 2.8);
        for (x, shade, text) in
            [(6.0, SHADE, "(b) weak vertex alone"), (42.0, WHITE, "(c) triangles apart, see Fig. 1")]
        {
            let corners = [(mm(x), y - mm(1.2)), (mm(x + 3.6), y + mm(1.2))];
            area.draw(&Rectangle::new(corners, shade.filled()))?;
            let (left, top, right, bottom) = (corners[0].0, corners[0].1, corners[1].0, corners[1].1);
            Stroke::solid(INK, 0.15)
                .draw(area, &[(left, top), (right, top), (right, bottom), (left, bottom), (left, top)])?;
            plot::write_from(area, text, 7.0, (mm(x + 4.8), y))?;
        }
        Ok(())
    })
}

/// The stretch of a curve where α is neither 0 nor 1, with one point more on each side.
fn between_ends<'a>(line: &'a [(i32, i32)], curve: &[f64]) -> &'a [(i32, i32)] {
    let is_inside = |alpha: &f64| *alpha > 0.0 && *alpha < 1.0;
    let first = curve.iter().position(is_inside).unwrap_or(0);
    let last = curve.iter().rposition(is_inside).unwrap_or(0);
    &line[first.saturating_sub(1)..(last + 2).min(line.len())]
}

/// Names the cost at the dashed line, and the α where it switches, beside the line and off the curve; gives the
/// places that this takes.
fn label_two(
    area: &Area<'_>,
    frame: &Frame,
    two: f64,
    alpha: f64,
    curve: &[f64],
    name: &str,
) -> Result<Vec<(i32, i32)>> {
    let (x, y) = frame.at(two, alpha);
    let rises = curve.last() > curve.first();
    let (text, y) = if alpha > 0.0 {
        area.draw(&Circle::new((x, y), mm(0.7), INK.filled()))?;
        // On the right of the dot, on the side that the curve leaves free.
        (format!("{name}: {alpha:.3}"), if rises { y + mm(2.6) } else { y - mm(2.6) })
    } else {
        (name.to_owned(), frame.at(two, 0.93).1)
    };
    plot::write_from(area, &text, 7.0, (x + mm(1.2), y))?;
    let line = (0..=10).map(|k| frame.at(two, f64::from(k) / 10.0));
    // About 1.4 mm a letter.
    Ok(line.chain((0..text.chars().count()).map(|k| (x + mm(1.2 + 1.4 * k as f64), y))).collect())
}

/// The spot of a region that is farthest from its edges and from what is taken; none where the region is too small.
fn roomiest(
    frame: &Frame,
    places: &[f64],
    curve: &[f64],
    below: bool,
    taken: &[(i32, i32)],
) -> Option<(i32, i32)> {
    const ROWS: usize = 50;
    let line: Vec<(i32, i32)> = places.iter().zip(curve).map(|(&x, &y)| frame.at(x, y)).collect();
    let (left, bottom) = frame.at(*places.first()?, 0.0);
    let (right, top) = frame.at(*places.last()?, 1.0);
    let mut best: Option<(i64, (i32, i32))> = None;
    for (&place, &alpha) in places.iter().zip(curve) {
        for row in 1..ROWS {
            let y = row as f64 / ROWS as f64;
            if (y < alpha) != below {
                continue;
            }
            let spot = frame.at(place, y);
            let edges = [spot.0 - left, right - spot.0, bottom - spot.1, spot.1 - top];
            let square = |v: i32| i64::from(v) * i64::from(v);
            let to_line =
                line.iter().chain(taken).map(|p| square(p.0 - spot.0) + square(p.1 - spot.1)).min()?;
            let room = edges.iter().map(|&edge| square(edge)).min()?.min(to_line);
            if best.is_none_or(|(most, _)| room > most) {
                best = Some((room, spot));
            }
        }
    }
    let (room, spot) = best?;
    (room > i64::from(mm(2.0)).pow(2)).then_some(spot)
}

/// The curves of Fig. 4, from the most conservative to the least: p, and how it is drawn.
const CURVES: [(f64, Stroke); 6] = [
    (f64::INFINITY, Stroke::dashed(ORANGE, 0.45, 0.5, 0.7)),
    (5.0, Stroke::dashed(GREEN, 0.4, 1.2, 0.8)),
    (3.0, Stroke::dashed(BLUE, 0.4, 2.6, 0.9)),
    (2.0, Stroke::solid(INK, 0.55)),
    (1.5, Stroke::dashed(VERMILION, 0.4, 4.5, 1.0)),
    (1.0, Stroke::solid(PURPLE, 0.35)),
];

/// Fig. 4: the balance functions Φ_p and Ψ_τ, with τ = 2/(p − 1).
///
/// # Errors
/// When it cannot be drawn.
pub fn balances() -> Result<String> {
    let shares = Axis::new("{v}", 0.0..1.0, &[0.0, 0.25, 0.5, 0.75, 1.0]);
    let values = Axis::new("", 0.0..1.05, &[0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
    let (width, top, height) = (COLUMN / 2.0, 9.0, 46.0);
    sheet("The balance functions", COLUMN, top + height + 8.5, |area| {
        for (k, (p, stroke)) in CURVES.iter().enumerate() {
            let (x, y) = (2.0 + 28.6 * (k % 3) as f64, 2.5 + 4.0 * (k / 3) as f64);
            stroke.draw(area, &[(mm(x), mm(y)), (mm(x + 7.0), mm(y))])?;
            let is = if *p == 1.0 { "→" } else { "=" };
            let text = format!("{{p}} {is} {}, {{τ}} {is} {}", number(*p), number(tau_of(*p)));
            plot::write_from(area, &text, 7.0, (mm(x + 8.0), mm(y)))?;
        }
        for (k, title) in ["(a) Φ_{p}({v})", "(b) Ψ_{τ}({v}), {τ} = 2/({p} − 1)"].iter().enumerate() {
            let panel = area.clone().shrink((mm(width * k as f64), mm(top)), (mm(width), mm(height)));
            let frame = Frame::draw(&panel, title, &shares, &values)?;
            for (p, stroke) in CURVES {
                let points = if k == 0 { phi_points(p)? } else { psi_points(tau_of(p))? };
                ensure!(points.len() > 2, "a curve needs points");
                let line: Vec<(i32, i32)> = points.iter().map(|&(v, y)| frame.at(v, y)).collect();
                stroke.draw(area, &line)?;
                if k == 1 && p == 1.0 {
                    // In the limit all but the even share has balance 0.
                    area.draw(&Circle::new(frame.at(0.5, 1.0), mm(0.8), stroke.color.filled()))?;
                }
            }
            frame.close(area)?;
        }
        let notes = [
            "{p} → 1: Cheeger cuts. {p} = 2 and {τ} = 2: NCut, RCut. {τ} = 0: Cut.",
            "{v}: share that one of two parts has of the whole.",
        ];
        for (note, y) in notes.iter().zip([2.0, 5.5]) {
            plot::write(area, note, 7.0, (mm(COLUMN / 2.0), mm(top + height + y)))?;
        }
        Ok(())
    })
}

fn tau_of(p: f64) -> f64 {
    2.0 / (p - 1.0)
}

fn number(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { "∞".to_owned() }
}

/// Shares from 0 to 1, closer together at both ends, where the curves are steep; ½ is one of them.
fn shares() -> impl Iterator<Item = f64> {
    (0..=160).map(|k| 0.5 - 0.5 * (std::f64::consts::PI * f64::from(k) / 160.0).cos())
}

fn phi_points(p: f64) -> Result<Vec<(f64, f64)>> {
    let p = p.max(1.0 + 1e-9);
    shares().map(|v| Ok((v, buhler_hein_balance(p, v)?))).collect()
}

/// Ψ_τ; at τ = ∞ without the single point at ½, where it is 1.
fn psi_points(tau: f64) -> Result<Vec<(f64, f64)>> {
    let keep = |v: &f64| tau.is_finite() || (v - 0.5).abs() > 1e-9;
    shares().filter(keep).map(|v| Ok((v, conservative_balance(tau, v)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curves_are_ordered_and_symmetric() {
        let all = |points: &dyn Fn(f64) -> Vec<(f64, f64)>| CURVES.map(|(p, _)| points(p));
        for curves in [all(&|p| phi_points(p).unwrap()), all(&|p| psi_points(tau_of(p)).unwrap())] {
            for pair in curves.windows(2) {
                let lower: Vec<f64> = pair[1]
                    .iter()
                    .map(|&(v, y)| {
                        let above = pair[0].iter().find(|(u, _)| *u == v).unwrap().1;
                        above - y
                    })
                    .collect();
                assert!(lower.iter().all(|&gap| gap > -1e-9), "each lies on or below the one before");
                assert!(lower.iter().any(|&gap| gap > 0.05), "and is another curve");
            }
            for curve in &curves {
                for ((v, a), (u, b)) in curve.iter().zip(curve.iter().rev()) {
                    assert!((v + u - 1.0).abs() < 1e-12 && (a - b).abs() < 1e-6);
                }
            }
        }
    }

    #[test]
    fn no_two_curves_look_alike_in_gray() {
        let looks =
            CURVES.map(|(_, s)| format!("{:?} {}", s.dash, if s.dash.is_none() { s.width } else { 0.0 }));
        let mut distinct = looks.to_vec();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), looks.len());
    }

    #[test]
    fn region_names_stand_inside_their_regions() {
        let axis = Axis::new("x", 0.0..1.0, &[0.0, 1.0]);
        sheet("t", 50.0, 50.0, |area| {
            let frame = Frame::draw(area, "t", &axis, &axis)?;
            let places: Vec<f64> = (0..=20).map(|k| f64::from(k) / 20.0).collect();
            let curve: Vec<f64> = places.iter().map(|&x| 0.8 * x).collect();
            let below = roomiest(&frame, &places, &curve, true, &[]).unwrap();
            let above = roomiest(&frame, &places, &curve, false, &[]).unwrap();
            assert!(below.0 > frame.at(0.5, 0.0).0 && below.1 > frame.at(0.0, 0.5).1);
            assert!(above.0 < below.0 && above.1 < below.1);
            assert_eq!(roomiest(&frame, &places, &[0.0; 21], true, &[]), None);
            Ok(())
        })
        .unwrap();
    }
}
