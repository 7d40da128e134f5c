//! The verb `contours`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::threads;

/// Find the contours of images: the multiscale probability of boundary.
///
/// Compares lightness, colour and texture between the halves of discs of several sizes and orientations (mPb, the local part of
/// gPb), and writes how strong a boundary passes through each pixel: 0 to 1, thinned to one pixel. What it writes can be looked at, changed, and given
/// back to `ccbcut segment --contours`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct ContoursArgs {
    /// Images; - for stdin
    #[arg(value_name = "IMAGE", required = true, value_hint = ValueHint::FilePath)]
    pub images: Vec<PathBuf>,
    /// A file of a single input (.png, 16-bit gray; .npy, float32), or a folder for NAME-contours.png
    #[arg(short, long, value_name = "PATH", default_value = ".", value_hint = ValueHint::AnyPath)]
    pub output: PathBuf,
    /// Also the strengths of eight orientations before thinning: .npy, height x width x 8; needs a single input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub oriented: Option<PathBuf>,
    /// Seed of the textons; the same seed gives the same bytes
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Threads to use, 0 for all; changes the time, never the result
    #[arg(long, value_name = "N", value_parser = threads, default_value_t = 0)]
    pub threads: usize,
    /// Refuse larger images
    #[arg(long, value_name = "N", default_value_t = 50_000_000)]
    pub max_pixels: usize,
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
}

const EXAMPLES: &str = "\
Examples:
  ccbcut contours photo.jpg -o mpb.png
  ccbcut contours *.jpg -o contours
  ccbcut segment photo.jpg -k 8 --contours mpb.png     cut along them, or along those of another detector";
