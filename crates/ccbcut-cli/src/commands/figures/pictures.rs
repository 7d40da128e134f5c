//! Figures 5 and 6: an image and its cuts, side by side.
//!
//! The photograph is stored once in each file and shown again in every panel; boundaries are lines, sharp at any size.

use std::{fmt::Write, path::Path};

use anyhow::{Context, Result};
use ccbcut::{
    Balance, Control, Image, LabelMap, Method, Segmentation, Segmenter,
    affinity::{LabAffinity, LabKernel, Neighborhood},
    memory::{ImageRun, PixelWeights, of_image},
};
use ccbcut_io::{Decoded, Limits};

use crate::{
    args::{FigureName, FiguresArgs, MemoryArgs},
    commands::demo::scene,
    library, memory,
    output::Progress,
    page::escape,
    paint,
    plot::{header, marked_up, mm},
    read,
    watch::Watch,
};

/// The numbers of parts in Fig. 6.
const GROWTH: [usize; 4] = [2, 4, 9, 14];

/// Decimations before the cuts, as in the paper.
const LEVELS: usize = 2;

/// The width of both figures, in millimetres: a page of two columns.
const PAGE: f64 = 178.0;

/// Room for the names of the rows, between panels, and for a line of text.
const MARGIN: f64 = 6.0;
const GAP: f64 = 1.5;
const LINE: f64 = 4.2;

/// An image, and what to call it.
pub struct Picture {
    name: String,
    image: Image,
    /// Which pixels to cut; all where there is none.
    mask: Option<Vec<bool>>,
    rgb: Vec<u8>,
}

/// One of the cuts that are compared.
struct Setting {
    name: String,
    balance: Balance,
    tau: f64,
}

impl Picture {
    /// Reads an image, or draws the scene of the demo, and checks that there is memory for its cuts.
    ///
    /// # Errors
    /// When it cannot be read, or needs too much memory.
    pub fn read(path: Option<&Path>, args: &FiguresArgs) -> Result<Self> {
        let picture = if let Some(path) = path {
            let limits = Limits { max_pixels: args.max_pixels as u64 };
            let name = format!("`{}`", path.display());
            let Decoded { image, mask, .. } =
                read::image(path, limits).with_context(|| format!("reading image {name}"))?;
            let rgb = paint::rgb_of(&image);
            Self { name, image, mask, rgb }
        } else {
            let rgb = scene::draw(args.seed).rgb;
            let pixels = rgb.iter().map(|&v| f32::from(v) / 255.0).collect();
            let image = Image::new(scene::HEIGHT, scene::WIDTH, 3, pixels)?;
            Self { name: "the scene of the demo".to_owned(), image, mask: None, rgb }
        };
        let (height, width) = (picture.image.height(), picture.image.width());
        let parts = args.segments.max(GROWTH[3]);
        let prediction = of_image(&ImageRun {
            affinities: 1,
            detects_contours: false,
            learns_pairs: false,
            weights: if picture.mask.is_some() { PixelWeights::Kept } else { PixelWeights::Found },
            height,
            width,
            channels: picture.image.channels(),
            offsets: Neighborhood::default().offsets(height, width)?.len(),
            levels: LEVELS,
            segments: parts,
            rejoined: 0,
            columns: parts,
            reweights: true,
        });
        let allowed = MemoryArgs { max_memory: args.max_memory, dry_run: false };
        memory::check(&prediction, &allowed).with_context(|| format!("cutting {}", picture.name))?;
        Ok(picture)
    }

    /// What to call it in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The figures asked for, in that order; each shows what it would show alone.
    ///
    /// # Errors
    /// When a cut fails, or on Ctrl-C.
    pub fn figures(
        &self,
        figures: &[FigureName],
        args: &FiguresArgs,
        watch: &Watch,
        progress: &Progress,
    ) -> Result<Vec<String>> {
        let settings = settings(args.tau);
        let cuts = |of: &[Setting], method: Method, parts: usize| -> Result<Vec<Segmentation>> {
            let cut = |setting: &Setting| {
                progress.step(format!("{}: {}, {}", self.name, plain(&setting.name), method.name()));
                self.cut(setting, method, parts, args, watch, progress)
            };
            of.iter().map(cut).collect()
        };
        let draw = |figure: &FigureName| {
            if *figure == FigureName::Fig5 {
                let multiway = cuts(&settings, Method::Multiway, args.segments)?;
                let hierarchical = cuts(&settings, Method::Hierarchical, args.segments)?;
                return self.comparison(&settings, &multiway, &hierarchical, args);
            }
            // A hierarchical cut passes through every smaller number of parts.
            let growing = cuts(&settings[..2], Method::Hierarchical, GROWTH[3])?;
            self.growth(&settings, &growing, args)
        };
        figures.iter().map(draw).collect()
    }

    /// The one call into the library: the image, cut as the setting asks, while `watch` allows.
    fn cut(
        &self,
        setting: &Setting,
        method: Method,
        parts: usize,
        args: &FiguresArgs,
        watch: &Watch,
        progress: &Progress,
    ) -> Result<Segmentation> {
        let segmenter = Segmenter::new(parts, setting.tau)
            .partitioner(|p| {
                p.balance(setting.balance.clone()).method(method).seed(args.seed).min_share(0.0).rejoin(0)
            })
            .affinity(LabAffinity::new(kernel(args)))
            .levels(LEVELS);
        let stop = || watch.flow().is_break();
        let mut observe = |event: ccbcut::Progress<'_>| library::show(progress, event);
        let mut control = Control::new().observer(&mut observe).stop(&stop);
        let cut = segmenter.segment_with(&self.image, self.mask.as_deref(), &mut control)?;
        if watch.is_interrupted() {
            return Err(ccbcut::Error::Interrupted.into());
        }
        Ok(cut)
    }

    /// Fig. 5: multiway cuts above hierarchical ones, a column for each setting.
    fn comparison(
        &self,
        settings: &[Setting; 4],
        multiway: &[Segmentation],
        hierarchical: &[Segmentation],
        args: &FiguresArgs,
    ) -> Result<String> {
        let mut grid = Grid::new(self, 5, 2)?;
        let head = |setting: &Setting| setting.name.clone();
        grid.head(1, &settings.iter().map(head).collect::<Vec<_>>());
        for (row, (name, cuts)) in [("multiway", multiway), ("hierarchical", hierarchical)].iter().enumerate()
        {
            grid.row_name(row, 1, name);
            for (column, cut) in cuts.iter().enumerate() {
                grid.photo(column + 1, row);
                grid.boundaries(column + 1, row, &cut.labels);
            }
        }
        grid.notes(&[format!("{{k}} = {} parts each", args.segments), kernel_note(args)]);
        Ok(grid.finish(&format!("Cuts of {} side by side", self.name)))
    }

    /// Fig. 6: boundaries and parts of the first two settings, a column for each number of parts.
    fn growth(
        &self,
        settings: &[Setting; 4],
        growing: &[Segmentation],
        args: &FiguresArgs,
    ) -> Result<String> {
        let mut grid = Grid::new(self, 5, 4)?;
        grid.head(1, &GROWTH.map(|k| format!("{{k}} = {k}")));
        for (pair, cut) in growing.iter().enumerate() {
            grid.row_name(2 * pair, 2, &settings[pair].name);
            for (column, k) in GROWTH.into_iter().enumerate() {
                let labels = cut.labels_for(k)?;
                grid.photo(column + 1, 2 * pair);
                grid.boundaries(column + 1, 2 * pair, &labels);
                grid.parts(column + 1, 2 * pair + 1, &labels)?;
            }
        }
        grid.notes(&["hierarchical cuts".to_owned(), kernel_note(args)]);
        Ok(grid.finish(&format!("Hierarchical cuts of {}", self.name)))
    }
}

/// The columns of Fig. 5; the first two are the rows of Fig. 6.
fn settings(tau: f64) -> [Setting; 4] {
    let setting = |name: &str, balance, tau| Setting { name: name.to_owned(), balance, tau };
    [
        setting("NCut", Balance::Normalized, 2.0),
        setting(&format!("CCN_{{{tau}}}"), Balance::Normalized, tau),
        setting("RCut", Balance::Ratio, 2.0),
        setting(&format!("CCR_{{{tau}}}"), Balance::Ratio, tau),
    ]
}

/// A name without its marks, for messages.
fn plain(name: &str) -> String {
    name.replace(['{', '}', '_'], "")
}

fn kernel(args: &FiguresArgs) -> LabKernel {
    args.sigma.map_or_else(LabKernel::default, |sigma| LabKernel::Gaussian { sigma })
}

fn kernel_note(args: &FiguresArgs) -> String {
    match kernel(args) {
        LabKernel::Gaussian { sigma } => format!("Lab, Gaussian, {{σ}} = {sigma}"),
        LabKernel::Adaptive { scale } => format!("Lab, adaptive, {{σ}} = {scale} medians"),
        LabKernel::Released { beta } => format!("Lab, released, {{β}} = {beta}"),
    }
}

/// Panels of equal size in rows and columns, the original in the first.
struct Grid<'a> {
    picture: &'a Picture,
    body: String,
    rows: usize,
    /// Width and height of a panel, in millimetres.
    panel: (f64, f64),
}

impl<'a> Grid<'a> {
    fn new(picture: &'a Picture, columns: usize, rows: usize) -> Result<Self> {
        let (height, width) = (picture.image.height(), picture.image.width());
        let across = (PAGE - MARGIN - GAP * (columns - 1) as f64) / columns as f64;
        let panel = (across, across * height as f64 / width as f64);
        let photo = paint::data_url(width, height, &picture.rgb)?;
        let body = format!(
            "<defs><image id=\"photo\" width=\"{width}\" height=\"{height}\" xlink:href=\"{photo}\"/>\
             <clipPath id=\"panel\"><rect width=\"{width}\" height=\"{height}\"/></clipPath></defs>\n"
        );
        let mut grid = Self { picture, body, rows, panel };
        grid.photo(0, 0);
        grid.text(grid.panel.0 / 2.0 + MARGIN, LINE / 2.0, "middle", "Original");
        Ok(grid)
    }

    /// The upper left corner of a panel, in millimetres.
    fn corner(&self, column: usize, row: usize) -> (f64, f64) {
        (MARGIN + (self.panel.0 + GAP) * column as f64, LINE + (self.panel.1 + GAP) * row as f64)
    }

    /// What follows is drawn in pixels of a panel.
    fn in_panel(&mut self, column: usize, row: usize, inside: &str) {
        let (x, y) = self.corner(column, row);
        let scale = f64::from(mm(self.panel.0)) / self.picture.image.width() as f64;
        // Writing into a String cannot fail, here and below.
        let _ = writeln!(
            self.body,
            "<g transform=\"translate({} {}) scale({scale:.5})\" clip-path=\"url(#panel)\">{inside}</g>",
            mm(x),
            mm(y)
        );
    }

    fn photo(&mut self, column: usize, row: usize) {
        self.in_panel(column, row, "<use xlink:href=\"#photo\"/>");
    }

    /// Every part in a colour of its own.
    fn parts(&mut self, column: usize, row: usize, labels: &LabelMap) -> Result<()> {
        let url = paint::data_url(labels.width(), labels.height(), &paint::label_colors(labels))?;
        let (width, height) = (labels.width(), labels.height());
        let image = format!(
            "<image width=\"{width}\" height=\"{height}\" style=\"image-rendering:pixelated\" xlink:href=\"{url}\"/>"
        );
        self.in_panel(column, row, &image);
        Ok(())
    }

    /// The boundaries as a light line in a dark one, so that they show on any ground.
    fn boundaries(&mut self, column: usize, row: usize, labels: &LabelMap) {
        let path = paint::outline(labels);
        let pixels = |width: f64| width * labels.width() as f64 / self.panel.0;
        let line = |color: &str, width: f64| {
            format!(
                "<path d=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{:.3}\" stroke-linecap=\"square\"/>",
                pixels(width)
            )
        };
        let both = line("#000000", 0.34) + &line("#ffe100", 0.16);
        self.in_panel(column, row, &both);
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        let text = marked_up(&escape(text));
        let _ = writeln!(self.body, "{}{text}</text>", text_tag(x, y, anchor, ""));
    }

    /// Names above the columns, from one on.
    fn head(&mut self, first: usize, names: &[String]) {
        for (k, name) in names.iter().enumerate() {
            let (x, _) = self.corner(first + k, 0);
            self.text(x + self.panel.0 / 2.0, LINE / 2.0, "middle", name);
        }
    }

    /// A name beside one or more rows, reading upwards.
    fn row_name(&mut self, row: usize, n_rows: usize, name: &str) {
        let (first, last) = (self.corner(1, row), self.corner(1, row + n_rows));
        // Between the original and the first column there is no room: names stand at the left edge.
        let (x, y) = (MARGIN / 2.0 - 0.4, 0.5 * (first.1 + last.1 - GAP));
        let turn = format!(" transform=\"rotate(-90 {} {})\"", mm(x), mm(y));
        let _ = writeln!(self.body, "{}{}</text>", text_tag(x, y, "middle", &turn), marked_up(&escape(name)));
    }

    /// Lines below the original.
    fn notes(&mut self, lines: &[String]) {
        let (x, y) = self.corner(0, 1);
        for (k, line) in lines.iter().enumerate() {
            self.text(x, y + LINE * (k as f64 + 0.7), "start", line);
        }
    }

    fn finish(self, title: &str) -> String {
        let height = self.corner(0, self.rows).1 - GAP + 0.5;
        let (columns, rows) = (mm(PAGE), mm(height));
        let background = format!("<rect width=\"{columns}\" height=\"{rows}\" fill=\"#ffffff\"/>\n");
        header(title, PAGE, height, columns, rows) + &background + &self.body + "</svg>\n"
    }
}

/// The opening of a line of text of 8 points; `x` and `y` in millimetres, `y` its middle.
fn text_tag(x: f64, y: f64, anchor: &str, more: &str) -> String {
    let size = mm(8.0 * 25.4 / 72.0);
    format!(
        "<text x=\"{}\" y=\"{}\" dy=\"0.5ex\" text-anchor=\"{anchor}\" font-family=\"sans-serif\" \
         font-size=\"{size}\" fill=\"#000000\"{more}>",
        mm(x),
        mm(y)
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Verb};

    #[test]
    fn the_settings_are_those_of_the_paper() {
        let names = settings(1.0).map(|setting| plain(&setting.name));
        assert_eq!(names, ["NCut", "CCN1", "RCut", "CCR1"]);
        assert_eq!(settings(1.25).map(|setting| setting.tau), [2.0, 1.25, 2.0, 1.25]);
    }

    #[test]
    fn without_an_image_there_is_the_scene() {
        let args = |more: &[&str]| {
            let line = ["ccbcut", "figures"].iter().chain(more);
            match Cli::try_parse_from(line).unwrap().verb {
                Verb::Figures(args) => args,
                other => panic!("{other:?}"),
            }
        };
        let picture = Picture::read(None, &args(&[])).unwrap();
        assert_eq!((picture.image.width(), picture.image.height()), (scene::WIDTH, scene::HEIGHT));
        assert_eq!(picture.rgb, paint::rgb_of(&picture.image));
        let error = Picture::read(None, &args(&["--max-memory", "1M"])).err().unwrap();
        assert!(format!("{error:#}").contains("more than the 1.0 MiB allowed"), "{error:#}");
    }
}
