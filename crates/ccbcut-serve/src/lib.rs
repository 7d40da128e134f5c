//! The viewer of `ccbcut`: a page on the user's own machine where images are cut while sliders move.
//!
//! ```text
//! browser ──HTTP──► server ──► routes ──► answers from what is kept: images, graphs, cuts, views
//!                                   └───► jobs: a bounded queue, one job per tab ──► the library
//! ```
//!
//! One thread talks to browsers and never computes; worker threads solve; a few more decode images and paint. What a
//! cut depends on is its name, so the same question finds the same answer as long as there is room for it, and a graph
//! that was made once is cut again for every τ and every number of parts. The cut itself is made by an [`Engine`] that the
//! command lends: it reads the options of `ccbcut segment` that the page shows, so that both always agree.

mod answer;
mod cache;
mod cut;
mod export;
mod guard;
mod http;
mod images;
mod jobs;
mod openapi;
mod page;
mod problem;
mod routes;
mod server;
mod settings;
mod strokes;
mod sweeps;
mod toy;

use std::time::Duration;

use ccbcut::{Image, Report, Segmenter, segment::Prepared};

pub use crate::{images::Source, server::Server};

use crate::{
    cache::Cache,
    cut::{Cut, Starts, View},
    images::Images,
    jobs::Jobs,
    sweeps::Sweep,
};

/// What the command lends to the viewer, so that both always agree.
pub trait Engine: Send + Sync + 'static {
    /// The segmenter of `ccbcut segment` with these options, and the bytes that a run on the image is thought to need.
    ///
    /// # Errors
    /// What is wrong with the options, for people.
    fn segmenter(&self, words: &[String], image: &Image) -> Result<(Segmenter, u64), String>;

    /// The JSON report of `ccbcut segment` for a run with these options.
    ///
    /// # Errors
    /// What is wrong, for people.
    fn report(&self, words: &[String], name: &str, image: &Image, report: &Report) -> Result<String, String>;
}

/// What the server is and allows.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen; `None` for this machine alone.
    pub host: Option<String>,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// Images to choose from, the first one shown at the start.
    pub sources: Vec<Source>,
    /// The largest body of a request.
    pub max_body: usize,
    /// The most pixels of an image, checked before it is decoded.
    pub max_pixels: u64,
    /// Larger images are shrunk to at most so many pixels before they are cut.
    pub work_pixels: usize,
    /// The most memory that a cut may be thought to need.
    pub max_bytes: u64,
    /// Memory for what is kept between requests.
    pub cache_bytes: usize,
    /// Jobs that may wait.
    pub max_waiting: usize,
    /// Jobs that run at the same time.
    pub n_workers: usize,
    /// The longest that a job may run.
    pub time_limit: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            host: None,
            port: 7878,
            sources: Vec::new(),
            max_body: 32 << 20,
            max_pixels: 25_000_000,
            work_pixels: 200_000,
            max_bytes: 2 << 30,
            cache_bytes: 1 << 30,
            max_waiting: 24,
            n_workers: 2,
            time_limit: Duration::from_secs(180),
        }
    }
}

/// Everything that requests share.
pub(crate) struct App {
    config: Config,
    engine: Box<dyn Engine>,
    images: Images,
    graphs: Cache<Prepared>,
    cuts: Cache<Cut>,
    views: Cache<View>,
    sweeps: Cache<Sweep>,
    pictures: Cache<Vec<u8>>,
    starts: Starts,
    jobs: Jobs,
}

impl App {
    fn new(config: Config, engine: Box<dyn Engine>) -> Self {
        let room = config.cache_bytes;
        Self {
            images: Images::new(&config),
            graphs: Cache::new(room / 2),
            cuts: Cache::new(room / 8),
            views: Cache::new(room / 8),
            sweeps: Cache::new(room / 16),
            pictures: Cache::new(room / 32),
            starts: Starts::default(),
            jobs: Jobs::new(config.max_waiting, config.time_limit),
            config,
            engine,
        }
    }
}
