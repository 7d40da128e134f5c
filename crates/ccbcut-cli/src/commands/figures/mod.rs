//! `ccbcut figures`: the figures of the paper, computed and drawn.

mod pictures;
mod plots;
mod toy;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::Value;

use crate::{
    args::{FigureName, FiguresArgs},
    exit::{ExitStatus, Hinted},
    files::{self, File},
    output::Output,
    report::{self, OutputFile, SCHEMA_VERSION, Versions},
    watch::Watch,
};

use self::{pictures::Picture, toy::Toy};

use super::use_threads;

/// The figures without images, and the names of their files.
const PLOTS: [(FigureName, &str); 4] = [
    (FigureName::Fig1, "fig1-toy-graph"),
    (FigureName::Fig2, "fig2-buhler-hein"),
    (FigureName::Fig3, "fig3-conservative"),
    (FigureName::Fig4, "fig4-balances"),
];

/// The figures of an image.
const PICTURES: [FigureName; 2] = [FigureName::Fig5, FigureName::Fig6];

/// Draws every figure that was asked for, and writes them together.
pub fn run(args: &FiguresArgs, output: &Output) -> Result<ExitStatus> {
    let plan = Plan::new(args)?;
    plan.outputs().try_for_each(|(_, path)| files::check_free(path, args.force))?;
    use_threads(args.threads)?;
    let watch = Watch::start(None)?;
    let progress = output.progress("figures");
    // All images are read before the first is cut: a bad one is known at once.
    progress.step("reading");
    let pictures =
        plan.pictures.iter().map(|job| Picture::read(job.image, args)).collect::<Result<Vec<_>>>()?;
    let toy = Toy::new();
    let mut drawn: Vec<File> = Vec::new();
    for (figure, path) in &plan.plots {
        progress.step(format!("drawing {}", figure.kind()));
        let svg = plot(*figure, &toy).with_context(|| format!("drawing {}", figure.kind()))?;
        drawn.push((path.clone(), svg.into_bytes()));
    }
    for (picture, job) in pictures.iter().zip(&plan.pictures) {
        let figures: Vec<FigureName> = job.files.iter().map(|(figure, _)| *figure).collect();
        let svgs = picture
            .figures(&figures, args, &watch, &progress)
            .with_context(|| format!("cutting {}", picture.name()))?;
        drawn.extend(job.files.iter().zip(svgs).map(|((_, path), svg)| (path.clone(), svg.into_bytes())));
    }
    progress.step("writing");
    files::write_all(&drawn, args.force)?;
    drop(progress);
    let outputs = plan.outputs().map(|(figure, path)| OutputFile { kind: figure.kind(), path: path.into() });
    if args.json {
        output.json(&FiguresReport {
            schema_version: SCHEMA_VERSION,
            command: "figures",
            parameters: report::parameters(args)?,
            outputs: outputs.collect(),
            versions: Versions::current(),
        })?;
    } else {
        let lines: Vec<String> =
            outputs.map(|file| format!("{}  {}\n", file.kind, file.path.display())).collect();
        output.summary(&lines.concat())?;
    }
    Ok(ExitStatus::Success)
}

fn plot(figure: FigureName, toy: &Toy) -> Result<String> {
    match figure {
        FigureName::Fig1 => plots::toy_graph(toy),
        FigureName::Fig2 => plots::buhler_hein_maps(toy),
        FigureName::Fig3 => plots::conservative_maps(toy),
        FigureName::Fig4 => plots::balances(),
        FigureName::Fig5 | FigureName::Fig6 => bail!("{} needs an image", figure.kind()),
    }
}

/// The JSON object of this verb.
#[derive(Debug, Serialize)]
struct FiguresReport {
    schema_version: u32,
    command: &'static str,
    parameters: Value,
    outputs: Vec<OutputFile>,
    versions: Versions,
}

/// Which files there will be.
#[derive(Debug)]
struct Plan<'a> {
    plots: Vec<(FigureName, PathBuf)>,
    pictures: Vec<PictureJob<'a>>,
}

/// An image, or none for the scene of the demo, and its figures.
#[derive(Debug)]
struct PictureJob<'a> {
    image: Option<&'a Path>,
    files: Vec<(FigureName, PathBuf)>,
}

impl<'a> Plan<'a> {
    fn new(args: &'a FiguresArgs) -> Result<Self> {
        let is_wanted = |figure: &FigureName| args.only.is_empty() || args.only.contains(figure);
        if !args.images.is_empty() && !PICTURES.iter().any(is_wanted) {
            let hint =
                "images are shown by fig5 and fig6: add one of them to --only, or leave the images out";
            return Err(Hinted::error("none of these figures shows an image", hint));
        }
        if args.output.exists() && !args.output.is_dir() {
            let message = format!("`{}` is a file, not a folder", args.output.display());
            return Err(Hinted::error(message, "name a folder with -o"));
        }
        let path = |name: &str| args.output.join(format!("{name}.svg"));
        let plots = PLOTS.iter().filter(|(figure, _)| is_wanted(figure));
        let images: Vec<Option<&Path>> = if args.images.is_empty() {
            vec![None]
        } else {
            args.images.iter().map(|image| Some(image.as_path())).collect()
        };
        let of_image = |image: Option<&'a Path>| {
            let stem = image.map_or_else(|| "scene".to_owned(), files::stem_of);
            let wanted = PICTURES.into_iter().filter(is_wanted);
            let files = wanted.map(|figure| (figure, path(&format!("{}-{stem}", figure.kind()))));
            PictureJob { image, files: files.collect() }
        };
        let plan = Self {
            plots: plots.map(|(figure, name)| (*figure, path(name))).collect(),
            pictures: images.into_iter().map(of_image).filter(|job| !job.files.is_empty()).collect(),
        };
        for (k, job) in plan.pictures.iter().enumerate() {
            if let Some(twin) = plan.pictures[..k].iter().find(|other| other.files == job.files) {
                let name = |job: &PictureJob<'_>| job.image.unwrap_or(Path::new("")).display().to_string();
                let (a, b) = (name(twin), name(job));
                bail!("`{a}` and `{b}` would both write `{}`", job.files[0].1.display());
            }
        }
        Ok(plan)
    }

    fn outputs(&self) -> impl Iterator<Item = (FigureName, &Path)> {
        let of_images = self.pictures.iter().flat_map(|job| &job.files);
        self.plots.iter().chain(of_images).map(|(figure, path)| (*figure, path.as_path()))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Verb};

    fn names(words: &[&str]) -> Result<Vec<String>> {
        let line = ["ccbcut", "figures", "-o", "out"].iter().chain(words);
        let Verb::Figures(args) = Cli::try_parse_from(line)?.verb else { bail!("another verb") };
        let plan = Plan::new(&args)?;
        Ok(plan.outputs().map(|(_, path)| path.display().to_string()).collect())
    }

    #[test]
    fn every_figure_has_a_file_of_its_own() {
        let plots = ["fig1-toy-graph", "fig2-buhler-hein", "fig3-conservative", "fig4-balances"];
        let expected = |pictures: &[&str]| -> Vec<String> {
            plots.iter().chain(pictures).map(|name| format!("out/{name}.svg")).collect()
        };
        assert_eq!(names(&[]).unwrap(), expected(&["fig5-scene", "fig6-scene"]));
        let two = ["fig5-a", "fig6-a", "fig5-b", "fig6-b"];
        assert_eq!(names(&["x/a.jpg", "b.png"]).unwrap(), expected(&two));
        assert_eq!(
            names(&["--only", "fig4,fig1"]).unwrap(),
            ["out/fig1-toy-graph.svg", "out/fig4-balances.svg"]
        );
        assert_eq!(names(&["a.jpg", "--only", "fig6"]).unwrap(), ["out/fig6-a.svg"]);
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        assert!(names(&["a.jpg", "--only", "fig1"]).is_err());
        assert!(names(&["x/a.jpg", "y/a.png"]).is_err());
        assert!(names(&["--only", "fig7"]).is_err());
    }
}
