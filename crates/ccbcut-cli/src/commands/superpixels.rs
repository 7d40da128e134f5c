//! `ccbcut superpixels`: many small regions of like colour.

use std::path::Path;

use anyhow::{Context, Result};
use ccbcut::{
    LabelMap,
    image::volume::Volume,
    regions::{RegionMap, Slic},
};
use ccbcut_io::{Limits, encode_label_map, encode_label_volume, read_volume};

use crate::{
    args::SuperpixelsArgs,
    exit::{ExitStatus, Hinted},
    files::{self, File},
    output::Output,
    paint, read,
};

use super::use_threads;

/// Finds superpixels and writes their label map.
pub fn run(args: &SuperpixelsArgs, output: &Output) -> Result<ExitStatus> {
    for path in std::iter::once(&args.output).chain(&args.overlay) {
        files::check_free(path, args.force)?;
    }
    check_names(args)?;
    use_threads(args.threads)?;
    let name = args.input.display();
    let progress = output.progress(&name.to_string());
    progress.step("reading");
    let limits = Limits { max_pixels: args.max_pixels as u64 };
    let slic = Slic::new(args.count).compactness(args.compactness);
    let context = || format!("finding superpixels of `{name}`");
    let mut contents: Vec<File> = Vec::new();
    let n_regions = if args.volume {
        let volume = comparable(read_volume(&args.input, limits)?)?.with_spacing(args.spacing.0)?;
        progress.step("superpixels");
        let map = slic.fit(&volume, None).with_context(context)?;
        contents.push((args.output.clone(), encode_label_volume(&args.output, map.shape(), map.as_slice())?));
        map.n_regions()
    } else {
        let decoded = read::image(&args.input, limits).with_context(|| format!("reading image `{name}`"))?;
        progress.step("superpixels");
        let map =
            slic.fit(&Volume::of_image(&decoded.image)?, decoded.mask.as_deref()).with_context(context)?;
        let labels = on_image(&map)?;
        contents.push((args.output.clone(), encode_label_map(&args.output, &labels)?));
        if let Some(path) = &args.overlay {
            let rgb = paint::overlay(&paint::rgb_of(&decoded.image), &labels)?;
            contents.push((path.clone(), paint::encode_png(labels.width(), labels.height(), &rgb)?));
        }
        map.n_regions()
    };
    files::write_all(&contents, args.force)?;
    drop(progress);
    contents.iter().for_each(|(path, _)| {
        output.status(&format!("{name}: {n_regions} superpixels → {}", path.display()));
    });
    Ok(ExitStatus::Success)
}

/// Names that say no format are refused before the work.
fn check_names(args: &SuperpixelsArgs) -> Result<()> {
    if args.volume {
        encode_label_volume(&args.output, [1, 1, 1], &[0])?;
    } else {
        encode_label_map(&args.output, &LabelMap::new(1, 1, &[0])?)?;
    }
    let is_png = |path: &Path| path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png"));
    match args.overlay.as_deref().filter(|path| !is_png(path)) {
        Some(path) => Err(Hinted::error(format!("`{}` names no picture", path.display()), "use .png")),
        None => Ok(()),
    }
}

fn on_image(map: &RegionMap) -> ccbcut::Result<LabelMap> {
    let [_, height, width] = map.shape();
    LabelMap::new(height, width, map.as_slice())
}

/// The voxels on a scale where differences mean something: L\*a\*b\* for colours, 0 to 100 otherwise.
///
/// # Errors
/// None for a volume that is one.
pub fn comparable(file: ccbcut_io::VolumeFile) -> ccbcut::Result<Volume> {
    if file.is_color { file.volume.to_lab() } else { Ok(file.volume.scaled()) }
}
