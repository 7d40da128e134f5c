//! Sweeps through τ, and pictures of embeddings: what the page shows beside a cut.

use std::sync::Arc;

use ccbcut::{LabelMap, sweep::SweepStep};
use ccbcut_io::paint;
use serde_json::{Value, json};

use crate::{
    App,
    cut::{Order, watched},
    images::{Picture, fingerprint},
    jobs::Job,
    problem::Problem,
};

/// A cut followed through several τ.
#[derive(Debug)]
pub struct Sweep {
    picture: Arc<Picture>,
    steps: Vec<(SweepStep, LabelMap)>,
}

impl Sweep {
    /// The story for the page.
    pub fn json(&self) -> Value {
        let step = |(step, _): &(SweepStep, LabelMap)| {
            json!({
                "tau": step.tau, "cost": step.cost, "n_warm": step.n_warm, "n_sweeps": step.n_sweeps,
                "parts": step.parts, "events": step.events,
            })
        };
        json!({ "steps": self.steps.iter().map(step).collect::<Vec<_>>() })
    }

    /// Every part of a step in its mean colour, as a PNG.
    ///
    /// # Errors
    /// For a step that is not there.
    pub fn picture(&self, step: usize) -> Result<Vec<u8>, Problem> {
        let (_, map) = self.steps.get(step).ok_or_else(|| Problem::not_found("step"))?;
        let made = paint::mean_color(&self.picture.rgb, map)
            .and_then(|rgb| paint::encode_png(map.width(), map.height(), &rgb));
        made.map_err(|error| Problem::internal(error.to_string()))
    }
}

impl App {
    /// Follows an image through several τ; the name of what is kept.
    ///
    /// # Errors
    /// Those of the library.
    pub fn sweep(&self, order: &Order, taus: &[f64], job: &Job) -> Result<String, Problem> {
        let is_fine = |tau: &f64| *tau > 0.0 && *tau <= 2.0;
        if taus.is_empty() || taus.len() > 24 || !taus.iter().all(is_fine) {
            return Err(Problem::unusable("a sweep needs 1 to 24 values of tau above 0 and at most 2"));
        }
        let name = fingerprint(&(order.cut_name(), order.k, format!("{taus:?}")));
        if self.sweeps.get(&name).is_some() {
            return Ok(name);
        }
        let prepared = self.prepared(order, job)?;
        let words = order.settings.words(order.k);
        let (segmenter, _) =
            self.engine.segmenter(&words, &order.picture.image).map_err(Problem::unusable)?;
        let steps = watched(job, |control| segmenter.sweep_prepared(&prepared, taus, control))?;
        let bytes = steps.len() * 8 * order.picture.image.n_pixels();
        self.sweeps.put(name.clone(), Arc::new(Sweep { picture: Arc::clone(&order.picture), steps }), bytes);
        Ok(name)
    }

    /// The name of the picture of an embedding.
    pub fn embedding_name(order: &Order) -> String {
        format!("{}/{}", order.cut_name(), order.k)
    }

    /// Makes the picture of three coordinates, as `--embedding-picture` does.
    ///
    /// # Errors
    /// Those of the library, and an image too small to have coordinates.
    pub fn embedding(&self, order: &Order, job: &Job) -> Result<(), Problem> {
        let name = Self::embedding_name(order);
        if self.pictures.get(&name).is_some() {
            return Ok(());
        }
        let prepared = self.prepared(order, job)?;
        let words = order.settings.words(order.k);
        let (segmenter, _) =
            self.engine.segmenter(&words, &order.picture.image).map_err(Problem::unusable)?;
        let segmenter = segmenter.coordinates(3);
        let rows = if order.settings.is_hierarchical() {
            watched(job, |control| segmenter.coordinates_prepared(&prepared, control))?
        } else {
            let warm = ccbcut::embedding::Warm::default();
            watched(job, |control| segmenter.segment_prepared(&prepared, &warm, control))?.coordinates
        };
        if job.is_stopped() {
            return Err(Problem::internal("stopped"));
        }
        let rows = rows.ok_or_else(|| Problem::unusable("this image is too small for coordinates"))?;
        let rgb = paint::coordinates(rows.as_slice(), rows.n_components(), order.picture.mask.as_deref());
        let (height, width) = prepared.shape();
        let png = paint::encode_png(width, height, &rgb).map_err(|e| Problem::internal(e.to_string()))?;
        let bytes = png.len();
        self.pictures.put(name, Arc::new(png), bytes);
        Ok(())
    }
}
