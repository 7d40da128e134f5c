//! `ccbcut serve`: the viewer.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use ccbcut::{
    Image, Report, Segmenter,
    memory::{ImageRun, PixelWeights, Prediction, of_image},
};
use ccbcut_serve::{Config, Engine, Server, Source};
use clap::Parser;

use crate::{
    args::{Cli, SegmentArgs, ServeArgs, Verb},
    exit::{ExitStatus, Hinted},
    library,
    memory::{self, MaxMemory},
    output::Output,
    paint,
    watch::Watch,
};

use super::{
    Outcome,
    demo::scene::{self, HEIGHT, WIDTH},
    use_other_threads,
};

/// Endings of files that a folder may hold for us.
const ENDINGS: [&str; 11] = ["png", "jpg", "jpeg", "tif", "tiff", "webp", "bmp", "pnm", "ppm", "pgm", "npy"];
/// The share of the machine's memory that one cut may take.
const SHARE: f64 = 0.5;

/// Listens, says where, and answers until Ctrl-C.
pub fn run(args: &ServeArgs, output: &Output) -> Result<ExitStatus> {
    use_other_threads(args.threads)?;
    let mut sources = sources(&args.images)?;
    let scene = scene::draw(0);
    sources.push(Source::Bytes {
        name: "scene.png".to_owned(),
        bytes: paint::encode_png(WIDTH, HEIGHT, &scene.rgb)?,
    });
    let most = args.max_memory.unwrap_or(MaxMemory::Share(SHARE));
    let config = Config {
        host: args.host.clone(),
        port: args.port,
        sources,
        max_body: args.max_upload.saturating_mul(1 << 20),
        max_pixels: args.max_pixels as u64,
        work_pixels: args.work_pixels,
        max_bytes: memory::limit(Some(most)).unwrap_or(u64::MAX),
        cache_bytes: args.cache.saturating_mul(1 << 20),
        max_waiting: args.queue.max(1),
        n_workers: args.workers,
        time_limit: Duration::from_secs(args.time_limit.max(1)),
    };
    let watch = Watch::start(None)?;
    let server = Server::bind(config, Box::new(Lent)).map_err(|error| not_listening(args, &error))?;
    let url = server.url();
    output.data(format!("{url}\n").as_bytes())?;
    output.status("Open this address in a browser; Ctrl-C ends the server.");
    if args.host.is_some() {
        output.warn("others can reach this server by the name of this machine, and nothing is encrypted");
    }
    if args.open && open(&url).is_err() {
        output.warn("no browser could be opened");
    }
    server.run(|| watch.is_interrupted()).context("serving")?;
    Ok(ExitStatus::Success)
}

fn not_listening(args: &ServeArgs, error: &std::io::Error) -> anyhow::Error {
    let host = args.host.as_deref().unwrap_or("127.0.0.1");
    let message = format!("cannot listen at {host}, port {}: {error}", args.port);
    Hinted::error(message, "another program may have the port; --port 0 takes any that is free")
}

/// The images that the words name: files, and what folders hold, by name.
fn sources(paths: &[PathBuf]) -> Result<Vec<Source>> {
    let mut all = Vec::new();
    for path in paths {
        if !path.is_dir() {
            ensure!(path.is_file(), "`{}` does not exist", path.display());
            all.push(Source::File(path.clone()));
            continue;
        }
        let context = || format!("reading the folder `{}`", path.display());
        let is_image = |path: &Path| {
            path.extension().is_some_and(|e| ENDINGS.iter().any(|ending| e.eq_ignore_ascii_case(ending)))
        };
        let mut inside: Vec<PathBuf> = Vec::new();
        for entry in path.read_dir().with_context(context)? {
            let entry = entry.with_context(context)?.path();
            if entry.is_file() && is_image(&entry) {
                inside.push(entry);
            }
        }
        ensure!(!inside.is_empty(), "the folder `{}` holds no images", path.display());
        inside.sort();
        all.extend(inside.into_iter().map(Source::File));
    }
    Ok(all)
}

/// Asks the system to show an address.
fn open(url: &str) -> std::io::Result<()> {
    let mut command = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(windows) {
        let mut command = Command::new("rundll32");
        command.arg("url.dll,FileProtocolHandler");
        command
    } else {
        Command::new("xdg-open")
    };
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map(|_| ())
}

/// This command, lent to the viewer: options become segmenters and reports as they do for `segment`.
struct Lent;

/// The options of `segment`, as if they had been typed.
fn parsed(words: &[String]) -> Result<SegmentArgs, String> {
    let line = ["ccbcut", "segment", "image"].into_iter().chain(words.iter().map(String::as_str));
    let cli = Cli::try_parse_from(line).map_err(|error| {
        let text = error.to_string();
        text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
    })?;
    match cli.verb {
        Verb::Segment(args) => Ok(args.resolved()),
        _ => Err("these are no options of segment".to_owned()),
    }
}

fn predict(args: &SegmentArgs, image: &Image) -> ccbcut::Result<Prediction> {
    let run = library::image_run(image, &args.graph, &args.embedding, &args.partition)?;
    // Of a picture with transparent parts the weights are kept, and whether it has any is not known here.
    Ok(of_image(&ImageRun { weights: PixelWeights::Kept, ..run }))
}

impl Engine for Lent {
    fn segmenter(&self, words: &[String], image: &Image) -> Result<(Segmenter, u64), String> {
        let args = parsed(words)?;
        let bytes = predict(&args, image).map_err(|error| error.to_string())?.peak().1;
        Ok((library::segmenter(&args.partition, &args.embedding, &args.graph, false, None), bytes))
    }

    fn report(&self, words: &[String], name: &str, image: &Image, report: &Report) -> Result<String, String> {
        let args = parsed(words)?;
        let outcome = Outcome {
            graph: library::image_facts(report, image.height(), image.width()),
            stages: report.stages.clone(),
            trace: library::sweeps(&report.runs),
            stop_reason: library::stop_reason(&report.runs, report.is_complete),
            converged: report.is_converged(),
            costs: Some(report.costs),
            ccb: None,
            k_choice: None,
        };
        let prediction = predict(&args, image).map_err(|error| error.to_string())?;
        let sizes = report.sizes.clone();
        let made = outcome.report("segment", Path::new(name), &args, sizes, Vec::new(), &prediction);
        let made = made.map_err(|error| error.to_string())?;
        serde_json::to_string(&made).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_segment_reads_them() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let args = parsed(&words("-k 5 --tau 0.5 --affinity lab+mpb --balance ratio")).unwrap();
        assert_eq!((args.partition.segments.count(), args.embedding.tau), (5, 0.5));
        assert_eq!(args.graph.mix().to_string(), "lab+mpb");
        let error = parsed(&words("-k 5 --affinity hue")).unwrap_err();
        assert!(error.contains("hue") && !error.contains('\n'), "{error}");
        assert!(parsed(&words("--help")).is_err());
    }

    #[test]
    fn folders_are_listed_by_name_and_missing_files_refused() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.png", "a.JPG", "notes.txt"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        let found = sources(&[folder.path().to_owned()]).unwrap();
        assert_eq!(found.len(), 2);
        assert!(matches!(&found[0], Source::File(path) if path.ends_with("a.JPG")));
        assert!(sources(&["no-such-file.png".into()]).is_err());
        std::fs::create_dir(folder.path().join("empty")).unwrap();
        assert!(sources(&[folder.path().join("empty")]).is_err());
    }
}
