//! Pictures of a benchmark: a grid of panels for every image, and some of them for the page.

use std::{collections::BTreeMap, fmt::Write, path::Path};

use anyhow::{Context, Result, ensure};
use ccbcut::LabelMap;
use ccbcut_io::{Limits, Overwrite, read_label_map, write_whole};
use rayon::prelude::*;

use super::{
    dataset::Entry,
    keep::{Keep, shown_parts},
    method::display_name,
    record::Store,
    table::Summary,
};
use crate::{output::Output, page::escape, paint, read};

/// Panels beside each other in a grid, at most; rows are as full as each other.
const COLUMNS: usize = 4;

/// Pixels between panels.
const GAP: usize = 6;

/// Images on the page, and how many of them at most are gains or losses.
const N_SHOWN: usize = 12;
const N_EACH: usize = 4;

/// The pictures of the page.
#[derive(Debug, Default)]
pub struct Gallery {
    /// What the groups compare, if anything: a method and its rival.
    pub pair: Option<(String, String)>,
    /// Rows of panels as HTML, by group.
    pub rows: BTreeMap<Why, Vec<String>>,
    /// Label maps that were not there to be drawn.
    pub n_missing: usize,
    /// Whether pictures were wanted at all.
    pub is_wanted: bool,
}

impl Gallery {
    /// Of a run without pictures.
    pub fn none() -> Self {
        Self::default()
    }
}

/// Why an image is on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The method does much better than its rival.
    Gain,
    /// It does much worse.
    Loss,
    /// One of the others.
    Other,
}

/// Draws the grid of every image that was cut, and the rows of the page.
///
/// # Errors
/// When a picture cannot be written. An image that cannot be read any more is a warning.
pub fn draw(
    entries: &[Entry],
    methods: &[&str],
    store: &Store,
    summary: &Summary,
    keep: Keep<'_>,
    threads: usize,
    output: &Output,
) -> Result<Gallery> {
    let entries: Vec<&Entry> =
        entries.iter().filter(|e| methods.iter().any(|m| store.get(&e.name, m).is_some())).collect();
    let pair = summary
        .methods
        .iter()
        .find_map(|m| m.against.as_ref().map(|rival| (m.method.clone(), rival.method.clone())));
    let chosen = chosen(&entries.iter().map(|e| gain(store, &e.name, pair.as_ref())).collect::<Vec<_>>());
    let folder = keep.out.join("pictures");
    std::fs::create_dir_all(&folder).with_context(|| format!("making folder `{}`", folder.display()))?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().context("starting threads")?;
    let progress = output.progress("pictures");
    progress.step(format!("of {} images", entries.len()));
    let drawn: Vec<Result<(usize, Option<String>)>> = pool.install(|| {
        entries
            .par_iter()
            .enumerate()
            .map(|(i, entry)| {
                let scene = match Scene::read(entry, methods, store, keep) {
                    Ok(scene) => scene,
                    Err(error) => {
                        output.warn(&format!("no picture of `{}`: {error:#}", entry.name));
                        return Ok((0, None));
                    }
                };
                if scene.maps.iter().any(Option::is_some) {
                    scene.write_grid(&folder.join(format!("{}.png", entry.name)))?;
                }
                let row = chosen.iter().any(|&(place, _)| place == i);
                Ok((scene.n_missing, if row { Some(scene.row(i, methods, store)?) } else { None }))
            })
            .collect()
    });
    drop(progress);
    let drawn = drawn.into_iter().collect::<Result<Vec<_>>>()?;
    let mut gallery = Gallery { pair, is_wanted: true, ..Gallery::default() };
    gallery.n_missing = drawn.iter().map(|(n, _)| n).sum();
    for (place, why) in chosen {
        gallery.rows.entry(why).or_default().extend(drawn[place].1.clone());
    }
    Ok(gallery)
}

/// How much more of the image the first method covers than its rival, at the number of parts that is shown.
fn gain(store: &Store, image: &str, pair: Option<&(String, String)>) -> Option<f64> {
    let (method, rival) = pair?;
    let covering = |name: &str| {
        let record = store.get(image, name)?;
        Some(record.scores_at(shown_parts(&record.truth_counts))?.covering)
    };
    Some(covering(method)? - covering(rival)?)
}

/// The images to show, in the order of the page: largest gains, largest losses, and others evenly spread.
fn chosen(gains: &[Option<f64>]) -> Vec<(usize, Why)> {
    let mut order: Vec<(usize, f64)> =
        gains.iter().enumerate().filter_map(|(i, gain)| gain.map(|g| (i, g))).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let wins = order.iter().filter(|(_, g)| *g > 0.0).take(N_EACH).map(|&(i, _)| (i, Why::Gain));
    let losses = order.iter().rev().filter(|(_, g)| *g < 0.0).take(N_EACH).map(|&(i, _)| (i, Why::Loss));
    let mut all: Vec<(usize, Why)> = wins.chain(losses).collect();
    let rest: Vec<usize> = (0..gains.len()).filter(|i| all.iter().all(|(taken, _)| taken != i)).collect();
    let n = (N_SHOWN - all.len()).min(rest.len());
    all.extend((0..n).map(|i| (rest[i * rest.len() / n], Why::Other)));
    all
}

/// An image with everything that is drawn on it.
struct Scene {
    name: String,
    width: usize,
    height: usize,
    rgb: Vec<u8>,
    /// The ground truth with the median number of regions.
    truth: LabelMap,
    /// That number.
    k: usize,
    /// One for each method, where there is one.
    maps: Vec<Option<LabelMap>>,
    /// Maps that a record promises.
    n_missing: usize,
}

impl Scene {
    fn read(entry: &Entry, methods: &[&str], store: &Store, keep: Keep<'_>) -> Result<Self> {
        let image = read::image(&entry.image, Limits::default())?.image;
        let (height, width) = (image.height(), image.width());
        let mut truths = entry.truths()?;
        let k = shown_parts(&truths.iter().map(LabelMap::n_segments).collect::<Vec<_>>());
        let median = truths.iter().position(|truth| truth.n_segments() == k).context("no ground truth")?;
        let truth = truths.swap_remove(median);
        let fits = |map: &LabelMap| (map.height(), map.width()) == (height, width);
        ensure!(fits(&truth), "`{}` is of another size than its image", entry.truth.display());
        // A map that cannot be read or does not fit is as good as none: the record has the numbers.
        let map = |&method: &&str| {
            store.get(&entry.name, method)?;
            read_label_map(&keep.labels(method, &entry.name), Limits::default()).ok().filter(fits)
        };
        let maps: Vec<Option<LabelMap>> = methods.iter().map(map).collect();
        let done = methods.iter().filter(|method| store.get(&entry.name, method).is_some()).count();
        let n_missing = done - maps.iter().flatten().count();
        Ok(Self {
            name: entry.name.clone(),
            width,
            height,
            rgb: paint::rgb_of(&image),
            truth,
            k,
            maps,
            n_missing,
        })
    }

    /// The image, a ground truth and every method's cut, in rows; gray where there is none.
    fn write_grid(&self, path: &Path) -> Result<()> {
        let mut panels = vec![Some(self.rgb.clone()), Some(paint::overlay(&self.rgb, &self.truth)?)];
        for map in &self.maps {
            panels.push(map.as_ref().map(|map| paint::overlay(&self.rgb, map)).transpose()?);
        }
        let (width, height, rgb) = grid(&panels, self.width, self.height);
        Ok(write_whole(path, &paint::encode_png(width, height, &rgb)?, Overwrite::Allow)?)
    }

    /// The same as HTML at half size: the photograph is stored once, boundaries are lines on it.
    fn row(&self, number: usize, methods: &[&str], store: &Store) -> Result<String> {
        let (width, height) = (self.width.div_ceil(2), self.height.div_ceil(2));
        let photo = paint::data_url(width, height, &halved_rgb(&self.rgb, self.width, self.height))?;
        let name = escape(&self.name);
        let mut row = format!("<section class=\"cuts\" aria-label=\"Image {name}\">\n");
        let mut panel = |what: &str, inside: &str, caption: &str| {
            // Writing into a String cannot fail.
            let _ = writeln!(
                row,
                "<figure><svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{what}\">{inside}</svg>\
                 <figcaption>{caption}</figcaption></figure>"
            );
        };
        panel(
            &format!("Image {name}"),
            &format!("<image id=\"photo-{number}\" width=\"{width}\" height=\"{height}\" href=\"{photo}\"/>"),
            &format!("<strong>{name}</strong><br>{} parts each", self.k),
        );
        let lines = |map: &LabelMap, place: usize| -> Result<String> {
            let id = format!("lines-{number}-{place}");
            let path = paint::outline(&halved_labels(map)?);
            Ok(format!(
                "<use href=\"#photo-{number}\"/><defs><path id=\"{id}\" d=\"{path}\"/></defs>\
                 <use href=\"#{id}\" class=\"dark\"/><use href=\"#{id}\" class=\"bright\"/>"
            ))
        };
        panel("Ground truth", &lines(&self.truth, 0)?, &format!("Ground truth<br>{} regions", self.k));
        let scores: Vec<_> = methods
            .iter()
            .map(|method| store.get(&self.name, method).and_then(|record| record.scores_at(self.k)))
            .collect();
        let best = scores.iter().flatten().map(|score| score.covering).fold(0.0, f64::max);
        for (place, ((method, map), score)) in methods.iter().zip(&self.maps).zip(scores).enumerate() {
            let inside = match map {
                Some(map) => lines(map, place + 1)?,
                None => format!(
                    "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">no label map</text>",
                    width / 2,
                    height / 2
                ),
            };
            let numbers = score.map_or_else(
                || "not done".to_owned(),
                |s| {
                    let class = if s.covering >= best { " class=\"best\"" } else { "" };
                    format!("covering <span{class}>{:.2}</span>, VI {:.2}", s.covering, s.variation)
                },
            );
            let shown = escape(&display_name(method));
            panel(&format!("Cut by {shown}"), &inside, &format!("<strong>{shown}</strong><br>{numbers}"));
        }
        row += "</section>\n";
        Ok(row)
    }
}

/// Panels of one size in rows with gaps between them: width, height and pixels.
fn grid(panels: &[Option<Vec<u8>>], width: usize, height: usize) -> (usize, usize, Vec<u8>) {
    let rows = panels.len().div_ceil(COLUMNS);
    let columns = panels.len().div_ceil(rows);
    let (all_width, all_height) = (columns * (width + GAP) - GAP, rows * (height + GAP) - GAP);
    let mut rgb = vec![255; 3 * all_width * all_height];
    for (place, panel) in panels.iter().enumerate() {
        let (left, top) = (place % columns * (width + GAP), place / columns * (height + GAP));
        for row in 0..height {
            let start = 3 * ((top + row) * all_width + left);
            let into = &mut rgb[start..start + 3 * width];
            match panel {
                Some(panel) => into.copy_from_slice(&panel[3 * row * width..3 * (row + 1) * width]),
                None => into.fill(128),
            }
        }
    }
    (all_width, all_height, rgb)
}

/// Half the size, rounded up: means of two by two pixels.
fn halved_rgb(rgb: &[u8], width: usize, height: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(rgb.len() / 4);
    for row in (0..height).step_by(2) {
        for column in (0..width).step_by(2) {
            for channel in 0..3 {
                let at = |r: usize, c: usize| {
                    u32::from(rgb[3 * (r.min(height - 1) * width + c.min(width - 1)) + channel])
                };
                let sum =
                    at(row, column) + at(row, column + 1) + at(row + 1, column) + at(row + 1, column + 1);
                out.push(((sum + 2) / 4) as u8);
            }
        }
    }
    out
}

/// Half the size, rounded up: every other pixel of every other row.
fn halved_labels(map: &LabelMap) -> Result<LabelMap> {
    let (height, width, labels) = (map.height(), map.width(), map.as_slice());
    let half: Vec<u32> = (0..height)
        .step_by(2)
        .flat_map(|row| (0..width).step_by(2).map(move |column| labels[row * width + column]))
        .collect();
    Ok(LabelMap::new(height.div_ceil(2), width.div_ceil(2), &half)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_shows_gains_losses_and_others() {
        let gains: Vec<Option<f64>> = (0..40).map(|i| Some(f64::from(i - 20))).collect();
        let all = chosen(&gains);
        assert_eq!(all.len(), N_SHOWN);
        let of = |why| all.iter().filter(|(_, w)| *w == why).map(|(i, _)| *i).collect::<Vec<_>>();
        assert_eq!(of(Why::Gain), [39, 38, 37, 36]);
        assert_eq!(of(Why::Loss), [0, 1, 2, 3]);
        assert_eq!(of(Why::Other), [4, 12, 20, 28]);
        assert_eq!(
            chosen(&[Some(0.0), Some(-1.0), None]),
            [(1, Why::Loss), (0, Why::Other), (2, Why::Other)]
        );
        assert_eq!(chosen(&[None; 24]).len(), N_SHOWN);
        assert!(chosen(&[]).is_empty());
    }

    #[test]
    fn panels_lie_in_rows_that_are_equally_full() {
        let panels: Vec<_> = (0..5_u8).map(|v| (v != 2).then(|| vec![v; 3 * 2])).collect();
        let (width, height, rgb) = grid(&panels, 2, 1);
        assert_eq!((width, height), (3 * 2 + 2 * GAP, 2 + GAP));
        let at = |row: usize, column: usize| rgb[3 * (row * width + column)];
        assert_eq!([at(0, 0), at(0, 2 + GAP), at(0, 1 + GAP), at(0, 2 * (2 + GAP))], [0, 1, 255, 128]);
        assert_eq!([at(1 + GAP, 1), at(1 + GAP, 2), at(1 + GAP, 2 + GAP)], [3, 255, 4]);
        assert_eq!(grid(&panels[..4], 2, 1).0, 4 * 2 + 3 * GAP);
    }

    #[test]
    fn half_a_picture_has_its_last_row_and_column() {
        let rgb: Vec<u8> = [0, 4, 8, 4, 8, 9].iter().flat_map(|&v| [v; 3]).collect();
        assert_eq!(halved_rgb(&rgb, 3, 2), [4, 4, 4, 9, 9, 9]);
        let map = LabelMap::new(3, 3, &[0, 1, 2, 1, 1, 1, 3, 1, 0]).unwrap();
        assert_eq!(halved_labels(&map).unwrap().as_slice(), [0, 1, 2, 0]);
    }
}
