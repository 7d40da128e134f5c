//! `ccbcut contours`: the multiscale probability of boundary.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ccbcut::image::contours::{MultiscalePb, ORIENTATIONS, Oriented};
use ccbcut_io::{Limits, encode_contours, encode_npy};

use crate::{
    args::ContoursArgs,
    exit::{ExitStatus, Hinted},
    files::{self, File},
    output::Output,
    read,
};

use super::use_threads;

/// Finds the contours of every input; in a batch, a bad file is reported and the rest done.
pub fn run(args: &ContoursArgs, output: &Output) -> Result<ExitStatus> {
    let jobs = plan(args)?;
    use_threads(args.threads)?;
    let mut n_failed = 0;
    for (input, target) in &jobs {
        match one(input, target, args, output) {
            Ok(()) => {}
            Err(error) if jobs.len() == 1 => return Err(error),
            Err(error) => {
                output.error(&error);
                n_failed += 1;
            }
        }
    }
    if n_failed > 0 {
        output.status(&format!("{} of {} images done, {n_failed} failed", jobs.len() - n_failed, jobs.len()));
        return Ok(ExitStatus::Error);
    }
    Ok(ExitStatus::Success)
}

/// Which file each input becomes, settled before any work is done.
fn plan(args: &ContoursArgs) -> Result<Vec<(PathBuf, PathBuf)>> {
    let ending = |path: &Path| path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let is_file = ["png", "npy"].contains(&ending(&args.output).as_str()) && !args.output.is_dir();
    let n = args.images.len();
    if n > 1 && args.oriented.is_some() {
        bail!("--oriented needs a single input, but {n} were given");
    }
    if n > 1 && is_file {
        let message = format!("`{}` is one file, but there are {n} inputs", args.output.display());
        return Err(Hinted::error(message, "name a folder with -o"));
    }
    if !is_file && !args.output.is_dir() && (args.output.exists() || args.output.extension().is_some()) {
        let message = format!("`{}` names no format of contour maps", args.output.display());
        return Err(Hinted::error(message, "they are written as .png or .npy, or into a folder"));
    }
    if let Some(path) = args.oriented.as_ref().filter(|path| ending(path) != "npy") {
        let message = format!(
            "`{}`: the strengths of all orientations need a file of three dimensions",
            path.display()
        );
        return Err(Hinted::error(message, "name it .npy"));
    }
    let target = |input: &PathBuf| {
        let stem = input.file_stem().unwrap_or_default().to_string_lossy();
        let stem = if stem == "-" { "stdin".into() } else { stem };
        if is_file { args.output.clone() } else { args.output.join(format!("{stem}-contours.png")) }
    };
    let jobs: Vec<(PathBuf, PathBuf)> =
        args.images.iter().map(|input| (input.clone(), target(input))).collect();
    for (i, (input, path)) in jobs.iter().enumerate() {
        if let Some((other, _)) = jobs[..i].iter().find(|(_, other)| other == path) {
            let (input, other) = (input.display(), other.display());
            bail!("`{other}` and `{input}` would both be written to `{}`", path.display());
        }
    }
    let targets = jobs.iter().map(|(_, path)| path).chain(&args.oriented);
    targets.into_iter().try_for_each(|path| files::check_free(path, args.force))?;
    Ok(jobs)
}

fn one(input: &Path, target: &Path, args: &ContoursArgs, output: &Output) -> Result<()> {
    let name = input.display();
    let progress = output.progress(&name.to_string());
    progress.step("reading");
    let limits = Limits { max_pixels: args.max_pixels as u64 };
    let image = read::image(input, limits).with_context(|| format!("reading image `{name}`"))?.image;
    progress.step("contours");
    let detector = MultiscalePb::new().seed(args.seed);
    let oriented = detector.oriented(&image).with_context(|| format!("finding the contours of `{name}`"))?;
    let mut contents: Vec<File> = vec![(target.to_owned(), encode_contours(target, &oriented.thinned())?)];
    if let Some(path) = &args.oriented {
        contents.push((path.clone(), encode_oriented(&oriented)));
    }
    files::write_all(&contents, args.force)?;
    drop(progress);
    contents.iter().for_each(|(path, _)| output.status(&format!("{name} → {}", path.display())));
    Ok(())
}

/// An array of height × width × 8.
fn encode_oriented(oriented: &Oriented) -> Vec<u8> {
    let (height, width) = (oriented.height(), oriented.width());
    let pixels = (0..height).flat_map(|r| (0..width).map(move |c| (r, c)));
    let all: Vec<f32> =
        pixels.flat_map(|(r, c)| (0..ORIENTATIONS).map(move |o| oriented.at(r, c, o))).collect();
    encode_npy(&[height, width, ORIENTATIONS], &all)
}
