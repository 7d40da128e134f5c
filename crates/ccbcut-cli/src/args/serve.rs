//! The verb `serve`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::threads;
use crate::memory::MaxMemory;

/// Open a page where an image is cut while sliders move.
///
/// Starts a small server on this machine and prints the address of its page: drop an image, move tau and the number of
/// parts, split and merge parts, take the result away. The page is part of the program and asks nothing from outside.
/// Ctrl-C ends it.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct ServeArgs {
    /// Images, or folders of images, to choose from [default: a drawn scene]
    #[arg(value_name = "IMAGE|DIR", value_hint = ValueHint::AnyPath)]
    pub images: Vec<PathBuf>,
    /// Port to listen at; 0 for any that is free
    #[arg(long, value_name = "N", default_value_t = 7878)]
    pub port: u16,
    /// Open the page in the browser
    #[arg(long)]
    pub open: bool,
    /// Listen at this name or address, for others to use; the page then needs the token that is printed
    ///
    /// Without it only this machine can reach the server. Nothing is encrypted: use it in networks you trust.
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Refuse larger images, before they are decoded
    #[arg(long, value_name = "N", default_value_t = 25_000_000, hide_short_help = true)]
    pub max_pixels: usize,
    /// Refuse larger files, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 32, hide_short_help = true)]
    pub max_upload: usize,
    /// Shrink larger images to at most so many pixels before they are cut
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    pub work_pixels: usize,
    /// Memory for what is kept between requests, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024, hide_short_help = true)]
    pub cache: usize,
    /// The most memory that one cut may be thought to need: 4G, 512M, 80% [default: half of the machine's]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub max_memory: Option<MaxMemory>,
    /// Stop cuts that take longer than this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 180, hide_short_help = true)]
    pub time_limit: u64,
    /// Cuts that may wait; further ones are told to come back
    #[arg(long, value_name = "N", default_value_t = 24, hide_short_help = true)]
    pub queue: usize,
    /// Cuts at the same time
    #[arg(long, value_name = "N", value_parser = threads, default_value_t = 2, hide_short_help = true)]
    pub workers: usize,
    /// Threads to use, 0 for all; changes the time, never the result
    #[arg(long, value_name = "N", value_parser = threads, default_value_t = 0, hide_short_help = true)]
    pub threads: usize,
}

const EXAMPLES: &str = "\
Examples:
  ccbcut serve --open                        the drawn scene, in the browser
  ccbcut serve photo.jpg --open              a photo of yours
  ccbcut serve photos/ --port 0              a folder to choose from, at any free port
  ccbcut serve --host 192.168.0.7            for the phone on the sofa; the address has a token in it";
