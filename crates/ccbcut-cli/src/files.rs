//! Where the outputs of `segment` go, settled before any work is done, and how files are put there.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use ccbcut_io::{Outputs, Overwrite};

use crate::{
    args::{LabelFormat, OutputArgs},
    exit::Hinted,
};

/// Endings of files that hold no label map: a path that has one is not meant as a folder.
const OTHER_FILES: [&str; 14] =
    ["bmp", "csv", "geojson", "gif", "h5", "hdf5", "jpeg", "jpg", "json", "npz", "svg", "tsv", "txt", "webp"];

/// A file to be written: where, and its bytes.
pub type File = (PathBuf, Vec<u8>);

/// One input and the files it becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The image, `-` for stdin.
    pub input: PathBuf,
    /// Label maps.
    pub labels: Vec<(LabelFormat, PathBuf)>,
    /// Pictures.
    pub pictures: Vec<(Picture, PathBuf)>,
}

/// The pictures of a segmentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picture {
    /// Boundaries drawn on the image.
    Overlay,
    /// Every part in its mean colour.
    MeanColor,
    /// Boundaries alone.
    Boundaries,
}

impl Picture {
    /// The name in reports.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Overlay => "overlay",
            Self::MeanColor => "mean_color",
            Self::Boundaries => "boundaries",
        }
    }
}

impl Job {
    /// Every file of the job.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let labels = self.labels.iter().map(|(_, path)| path.as_path());
        labels.chain(self.pictures.iter().map(|(_, path)| path.as_path()))
    }

    /// The label files for an intermediate number of parts: `a-labels.png` → `a-labels-k3.png`.
    pub fn labels_at(&self, k: usize) -> Vec<(LabelFormat, PathBuf)> {
        let rename = |path: &Path| {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
            path.with_file_name(format!("{stem}-k{k}.{extension}"))
        };
        self.labels.iter().map(|(format, path)| (*format, rename(path))).collect()
    }
}

/// Settles which files each input becomes; `--all-k` adds label maps of fewer than `segments` parts.
///
/// # Errors
/// When the options do not fit the inputs, when two inputs would write the same file, or when a file exists and
/// `--force` is not given.
///
/// `of_single` are further options that need a single input: whether each is given, and its name.
pub fn plan(
    inputs: &[PathBuf],
    of_single: &[(bool, &str)],
    args: &OutputArgs,
    segments: usize,
) -> Result<Vec<Job>> {
    let is_file = |path: &PathBuf| LabelFormat::of_path(path).is_some() && !path.is_dir();
    let single = [
        (args.regions.is_some(), "--regions"),
        (args.coco.is_some(), "--coco"),
        (args.geojson.is_some(), "--geojson"),
        (args.ucm.is_some(), "--ucm"),
        (args.embedding_picture.is_some(), "--embedding-picture"),
        (args.tree.is_some(), "--tree"),
        (args.evidence.is_some(), "--evidence"),
    ];
    if inputs.len() > 1 {
        if let Some((_, name)) = of_single.iter().chain(&single).find(|(given, _)| *given) {
            bail!("{name} needs a single input, but {} were given", inputs.len());
        }
        if let Some(file) = args.output.iter().find(|path| is_file(path)) {
            let message = format!("`{}` is one file, but there are {} inputs", file.display(), inputs.len());
            return Err(Hinted::error(message, "name a folder with -o"));
        }
    }
    if let Some(path) = &args.ucm {
        check_contour_file(path)?;
    }
    if let Some(path) = args.embedding_picture.as_ref().filter(|path| !has_ending(path, "png")) {
        let message = format!("`{}` names no picture", path.display());
        return Err(Hinted::error(message, "the picture of an embedding is written as .png"));
    }
    if let Some(path) = &args.tree {
        check_tree_file(path)?;
    }
    if let Some(path) = &args.evidence {
        check_drawing(path)?;
    }
    args.output.iter().filter(|path| !is_file(path)).try_for_each(|path| check_folder(path))?;
    let n_files = args.output.iter().filter(|path| is_file(path)).count();
    if n_files != args.output.len() && args.output.len() > 1 {
        bail!("-o takes either one folder or label files of a single input");
    }
    let jobs: Vec<Job> = inputs
        .iter()
        .map(|input| if n_files > 0 { job_of_files(input, args) } else { job_in_folder(input, args) })
        .collect();
    check_distinct(&jobs)?;
    if !args.force {
        let tables = [
            &args.regions,
            &args.coco,
            &args.geojson,
            &args.ucm,
            &args.embedding_picture,
            &args.tree,
            &args.evidence,
        ];
        let tables = tables.into_iter().flatten().map(PathBuf::as_path);
        if let Some(path) = jobs.iter().flat_map(Job::paths).chain(tables).find(|path| path.exists()) {
            return Err(exists(path));
        }
        if args.all_k {
            let smaller = jobs.iter().flat_map(|job| (2..segments).flat_map(|k| job.labels_at(k)));
            if let Some((_, path)) = smaller.into_iter().find(|(_, path)| path.exists()) {
                return Err(exists(&path));
            }
        }
    }
    Ok(jobs)
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|own| own.eq_ignore_ascii_case(ending))
}

/// Checks that a drawing can be written under a name.
///
/// # Errors
/// When its ending is not that of drawings.
pub fn check_drawing(path: &Path) -> Result<()> {
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("svg")) {
        return Ok(());
    }
    let message = format!("`{}` names no format of drawings", path.display());
    Err(Hinted::error(message, "drawings are written as .svg"))
}

/// Checks that a tree can be written under a name.
///
/// # Errors
/// When its ending is not one of trees.
pub fn check_tree_file(path: &Path) -> Result<()> {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if ["json", "npz"].contains(&ending.as_str()) {
        return Ok(());
    }
    let message = format!("`{}` names no format of trees", path.display());
    Err(Hinted::error(message, "trees are written as .json or .npz"))
}

/// Checks that a contour map can be written under a name.
///
/// # Errors
/// When its ending is not one of contour maps.
pub fn check_contour_file(path: &Path) -> Result<()> {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if ["mat", "npy", "png"].contains(&ending.as_str()) {
        return Ok(());
    }
    let message = format!("`{}` names no format of contour maps", path.display());
    Err(Hinted::error(message, "contour maps are written as .mat, .npy or .png"))
}

/// Checks that a path which names no label file can be a folder.
fn check_folder(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if OTHER_FILES.contains(&ending.as_str()) {
        let message = format!("`{}` names no format of label maps", path.display());
        return Err(Hinted::error(message, "label maps are written as .png, .npy, .tif or .mat"));
    }
    if path.exists() {
        let message = format!("`{}` is a file, not a folder", path.display());
        return Err(Hinted::error(message, "name a folder, or a label file (.png .npy .tif .mat)"));
    }
    Ok(())
}

/// Checks, before any work is done, that a file may be written.
///
/// # Errors
/// When it exists and `force` is not set.
pub fn check_free(path: &Path, force: bool) -> Result<()> {
    if !force && path.exists() { Err(exists(path)) } else { Ok(()) }
}

/// Writes files together: all are staged under hidden names first, then renamed; folders are made as needed, and
/// removed again if nothing came of it.
///
/// # Errors
/// When a file exists and `force` is not set, or cannot be written.
pub fn write_all(files: &[File], force: bool) -> Result<()> {
    let folders = files.iter().flat_map(|(path, _)| path.ancestors().skip(1));
    let mut made: Vec<&Path> = folders.filter(|f| !f.as_os_str().is_empty() && !f.exists()).collect();
    let written = stage_all(files, force);
    if written.is_err() {
        // The deepest first; a folder that somebody else has put something into stays.
        made.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
        made.into_iter().for_each(|folder| drop(fs::remove_dir(folder)));
    }
    written
}

fn stage_all(files: &[File], force: bool) -> Result<()> {
    let mut outputs = Outputs::new(if force { Overwrite::Allow } else { Overwrite::Refuse });
    for (path, bytes) in files {
        check_free(path, force)?;
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).with_context(|| format!("making folder `{}`", folder.display()))?;
        }
        outputs.stage(path, bytes)?;
    }
    Ok(outputs.commit()?)
}

fn exists(path: &Path) -> anyhow::Error {
    Hinted::error(format!("`{}` exists already", path.display()), "use --force to overwrite, or another -o")
}

/// The pictures that were asked for: those named, else all of them in a folder and none beside named files.
fn pictures(args: &OutputArgs, all_by_default: bool) -> Vec<Picture> {
    let named = [
        (args.overlay, Picture::Overlay),
        (args.mean_color, Picture::MeanColor),
        (args.boundaries, Picture::Boundaries),
    ];
    let any = named.iter().any(|(given, _)| *given);
    let all = !any && all_by_default && !args.no_pictures;
    named.into_iter().filter(|(given, _)| *given || all).map(|(_, picture)| picture).collect()
}

fn picture_path(folder: &Path, stem: &str, picture: Picture) -> PathBuf {
    folder.join(format!("{stem}-{}.png", picture.kind().replace('_', "-")))
}

fn job_in_folder(input: &Path, args: &OutputArgs) -> Job {
    let folder = args.output.first().cloned().unwrap_or_default();
    let stem = stem_of(input);
    let mut formats = args.format.clone();
    formats.dedup();
    let labels =
        formats.iter().map(|&format| (format, folder.join(format!("{stem}-labels.{}", format.extension()))));
    let pictures = pictures(args, true).into_iter().map(|p| (p, picture_path(&folder, &stem, p)));
    Job { input: input.to_owned(), labels: labels.collect(), pictures: pictures.collect() }
}

fn job_of_files(input: &Path, args: &OutputArgs) -> Job {
    let labels: Vec<(LabelFormat, PathBuf)> =
        args.output.iter().filter_map(|path| Some((LabelFormat::of_path(path)?, path.clone()))).collect();
    let first = &labels[0].1;
    let folder = first.parent().unwrap_or(Path::new(""));
    let stem = stem_of(first);
    let pictures = pictures(args, false).into_iter().map(|p| (p, picture_path(folder, &stem, p)));
    Job { input: input.to_owned(), pictures: pictures.collect(), labels }
}

/// The file name without its extension; `stdin` for `-`.
pub fn stem_of(path: &Path) -> String {
    if path.as_os_str() == "-" {
        return "stdin".to_owned();
    }
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn check_distinct(jobs: &[Job]) -> Result<()> {
    let mut seen: HashMap<&Path, &Path> = HashMap::new();
    for job in jobs {
        for path in job.paths() {
            if let Some(other) = seen.insert(path, &job.input) {
                let (path, a, b) = (path.display(), other.display(), job.input.display());
                bail!("`{a}` and `{b}` would both write `{path}`");
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Verb};

    fn planned(words: &[&str]) -> Result<Vec<Job>> {
        let line = ["ccbcut", "segment"].iter().chain(words);
        let Verb::Segment(args) = Cli::try_parse_from(line)?.verb else { bail!("another verb") };
        let segments = args.partition.segments.count();
        plan(&args.images, &[(args.graph.mask.is_some(), "--mask")], &args.output, segments)
    }

    fn names(words: &[&str]) -> Vec<String> {
        let jobs = planned(words).unwrap();
        jobs.iter().flat_map(Job::paths).map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn a_folder_gets_labels_and_all_pictures() {
        let all = ["out/a-labels.png", "out/a-overlay.png", "out/a-mean-color.png", "out/a-boundaries.png"];
        assert_eq!(names(&["x/a.jpg", "-o", "out"]), all);
        assert_eq!(names(&["a.jpg", "--output-dir", "out", "--no-pictures"]), all[..1]);
        assert_eq!(names(&["a.jpg", "-o", "out", "--overlay"]), all[..2]);
        assert_eq!(names(&["-", "--no-pictures"]), ["stdin-labels.png"]);
        assert_eq!(
            names(&["a.b.jpg", "--no-pictures", "--format", "npy,mat"]),
            ["a.b-labels.npy", "a.b-labels.mat"]
        );
    }

    #[test]
    fn files_get_only_what_was_asked_for() {
        assert_eq!(names(&["a.jpg", "-o", "x/l.npy", "-o", "l.TIFF"]), ["x/l.npy", "l.TIFF"]);
        assert_eq!(names(&["a.jpg", "-o", "x/l.npy", "--overlay"]), ["x/l.npy", "x/l-overlay.png"]);
        let job = &planned(&["a.jpg", "-o", "x/l.npy"]).unwrap()[0];
        assert_eq!(job.labels_at(3), [(LabelFormat::Npy, "x/l-k3.npy".into())]);
    }

    #[test]
    fn outputs_that_do_not_fit_are_refused() {
        for words in [
            &["a.jpg", "b.jpg", "-o", "l.png"][..],
            &["a.jpg", "b.jpg", "--mask", "m.png"],
            &["a.jpg", "b.jpg", "--regions", "r.csv"],
            &["a.jpg", "b.jpg", "--ucm", "u.mat"],
            &["a.jpg", "--ucm", "u.tif"],
            &["a.jpg", "--embedding-picture", "e.jpg"],
            &["a.jpg", "b.jpg", "--embedding-picture", "e.png"],
            &["a.jpg", "b.jpg", "--tree", "t.json"],
            &["a.jpg", "--tree", "t.csv"],
            &["a.jpg", "b.jpg", "-o", "one", "-o", "two"],
            &["a.jpg", "-o", "l.png", "-o", "folder"],
            &["x/a.jpg", "y/a.png", "-o", "out"],
        ] {
            assert!(planned(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn maps_on_the_way_are_looked_for_before_the_work() {
        let folder = std::env::temp_dir().join(format!("ccbcut-all-k-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let name = folder.to_str().unwrap();
        fs::write(folder.join("a-labels-k3.png"), b"mine").unwrap();
        assert!(planned(&["a.jpg", "-k", "4", "-o", name, "--all-k"]).is_err());
        assert!(planned(&["a.jpg", "-k", "4", "-o", name]).is_ok());
        assert!(planned(&["a.jpg", "-k", "3", "-o", name, "--all-k"]).is_ok());
        assert!(planned(&["a.jpg", "-k", "4", "-o", name, "--all-k", "--force"]).is_ok());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn folders_of_a_failed_write_go_again() {
        let folder = std::env::temp_dir().join(format!("ccbcut-folders-{}", std::process::id()));
        let files = [(folder.join("new/deep/a.txt"), b"a".to_vec()), (folder.join("b.txt"), b"b".to_vec())];
        fs::create_dir_all(folder.join("b.txt")).unwrap();
        assert!(write_all(&files, true).is_err(), "a folder is in the way of the second file");
        assert!(!folder.join("new").exists());
        assert!(folder.join("b.txt").exists(), "what was there before stays");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn nothing_is_overwritten_unasked() {
        let folder = std::env::temp_dir().join(format!("ccbcut-files-{}", std::process::id()));
        let target = folder.join("deep").join("a.txt");
        write_all(&[(target.clone(), b"one".to_vec())], false).unwrap();
        let error = write_all(&[(target.clone(), b"two".to_vec())], false).unwrap_err();
        assert!(error.to_string().contains("exists already"));
        assert_eq!(fs::read(&target).unwrap(), b"one");
        write_all(&[(target.clone(), b"two".to_vec())], true).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder.join("deep")).unwrap().count(), 1, "no temporary file is left");
        fs::remove_dir_all(folder).unwrap();
    }
}
