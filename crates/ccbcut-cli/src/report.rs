//! The JSON report: one object that says what ran, with what, and what came out.
//!
//! Described field by field in `docs/reference/json.md`; `SCHEMA_VERSION` grows when a field changes its meaning or goes.

use std::path::PathBuf;

use anyhow::{Context, Result};
use ccbcut::{Iteration, choose::Choice, cost::Costs, report::Stage};
use serde::Serialize;
use serde_json::Value;

/// Version of the report's layout.
pub const SCHEMA_VERSION: u32 = 1;

/// The record of one run of `segment`, `cluster` or `embed`.
#[derive(Debug, Clone, Serialize)]
pub struct RunReport {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The verb.
    pub command: &'static str,
    /// The file that was read, `-` for stdin.
    pub input: PathBuf,
    /// Every effective parameter, under the name of its option.
    pub parameters: Value,
    /// What was cut.
    #[serde(flatten)]
    pub graph: GraphFacts,
    /// The feature map that was cut; absent for colours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<FeatureFacts>,
    /// Where the time went, in order.
    pub stages: Vec<Stage>,
    /// The sweeps of the reweighting, in order.
    pub trace: Vec<Sweep>,
    /// Why the sweeps ended.
    pub stop_reason: String,
    /// Whether that reason is convergence; what `--strict` asks.
    pub converged: bool,
    /// Number of parts.
    pub n_segments: usize,
    /// Pixels or vertices of each part, by label.
    pub sizes: Vec<usize>,
    /// Why there are so many parts, with `-k auto`; absent elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k_choice: Option<Choice>,
    /// What the partition costs; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costs: Option<Costs>,
    /// The cost that was made small, where sizes are measured by `--vertex-weights`; absent elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ccb: Option<f64>,
    /// The files that were written.
    pub outputs: Vec<OutputFile>,
    /// The most memory that the run was thought to need.
    pub predicted_bytes: u64,
    /// The most memory that the process has held so far; absent where the system does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// What ran.
    pub versions: Versions,
}

/// What was cut.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct GraphFacts {
    /// Rows of the image; absent for a graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub height: Option<usize>,
    /// Columns of the image; absent for a graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<usize>,
    /// Vertices of the graph that was cut: for an image, the pixels that are not masked out.
    pub n: usize,
    /// Its edges, each counted once.
    pub edges: usize,
    /// Its connected components.
    pub components: usize,
    /// Decimations that were made; absent for a graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<usize>,
    /// Vertices of the graph that the eigenproblems were solved on; absent for a graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coarse_n: Option<usize>,
    /// Its edges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coarse_edges: Option<usize>,
}

/// The feature map that was cut, and how its vectors were compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeatureFacts {
    /// The file.
    pub path: PathBuf,
    /// What kind of file.
    pub format: &'static str,
    /// The type of its values.
    pub value_type: String,
    /// The shape of the array in it.
    pub shape: Vec<usize>,
    /// Rows of the map.
    pub grid_height: usize,
    /// Columns of the map.
    pub grid_width: usize,
    /// Features per position.
    pub channels: usize,
    /// How a weight is made: `exponential`, `positive`, `threshold` (of a cosine) or `rbf`.
    pub weight: &'static str,
    /// The width of the kernel that was used; absent for kernels without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<f64>,
    /// Which vectors were compared, as the option spells it.
    pub neighbors: String,
}

/// One sweep of the reweighting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sweep {
    /// Which embedding of the hierarchy, larger parts first, counted from 0; always 0 for multiway.
    pub split: usize,
    /// What the sweep did.
    #[serde(flatten)]
    pub iteration: Iteration,
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutputFile {
    /// `labels`, `overlay`, `mean_color`, `boundaries`, `regions`, `coco`, `geojson`, `ucm`, `embedding_picture`, `tree`, `dendrogram`, `evidence`,
    /// `diagram`, `strip`, `embedding`.
    pub kind: &'static str,
    /// Where.
    pub path: PathBuf,
}

/// What ran.
#[derive(Debug, Clone, Serialize)]
pub struct Versions {
    /// Version of the command and the library.
    pub ccbcut: &'static str,
    /// Operating system.
    pub os: &'static str,
    /// Processor architecture.
    pub arch: &'static str,
}

impl Versions {
    /// Of the running program.
    pub fn current() -> Self {
        Self { ccbcut: env!("CARGO_PKG_VERSION"), os: std::env::consts::OS, arch: std::env::consts::ARCH }
    }
}

/// Options as the `parameters` object.
pub fn parameters(args: &impl Serialize) -> Result<Value> {
    serde_json::to_value(args).context("recording the parameters")
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A report with something in every field.
    pub fn example() -> RunReport {
        let costs =
            Costs { cut: 8.0, ncut: 0.5, rcut: 0.25, ncheeger: 0.3, rcheeger: 0.2, ccn: 0.75, ccr: 1.5 };
        RunReport {
            schema_version: SCHEMA_VERSION,
            command: "segment",
            input: "photo.jpg".into(),
            parameters: serde_json::json!({
                "segments": 3, "method": "hierarchical", "tau": 1.0, "balance": "normalized", "variant": "published"
            }),
            graph: GraphFacts {
                height: Some(240),
                width: Some(320),
                n: 76_800,
                edges: 11_700_000,
                components: 1,
                levels: Some(2),
                coarse_n: Some(4800),
                coarse_edges: Some(690_000),
            },
            features: Some(FeatureFacts {
                path: "dino.npy".into(),
                format: "NumPy",
                value_type: "float32".into(),
                shape: vec![60, 80, 384],
                grid_height: 60,
                grid_width: 80,
                channels: 384,
                weight: "exponential",
                bandwidth: Some(0.4),
                neighbors: "knn:20".into(),
            }),
            stages: vec![
                Stage { name: "affinity", ms: 410.0 },
                Stage { name: "splitting", ms: 620.0 },
                Stage { name: "upsample", ms: 290.0 },
            ],
            trace: vec![Sweep {
                split: 0,
                iteration: Iteration {
                    sweep: 1,
                    epsilon: 1e-3,
                    f: 7.5,
                    j_tau: 7.0,
                    j2: 1.0,
                    eigenvalues: vec![0.01],
                    residual: 1e-9,
                    vertices: 40,
                    solver_steps: 12,
                    ms: 30.0,
                },
            }],
            stop_reason: "converged".into(),
            converged: true,
            n_segments: 3,
            sizes: vec![70_000, 6_000, 800],
            k_choice: Some(example_choice()),
            costs: Some(costs),
            ccb: Some(0.5),
            outputs: vec![
                OutputFile { kind: "labels", path: "photo-labels.png".into() },
                OutputFile { kind: "overlay", path: "photo-overlay.png".into() },
            ],
            predicted_bytes: 250_000_000,
            peak_bytes: Some(240_000_000),
            versions: Versions { ccbcut: "0.1.0", os: "linux", arch: "x86_64" },
        }
    }

    /// Three parts, found with some doubt.
    pub fn example_choice() -> Choice {
        let opinion =
            |k, scores: [f64; 4]| ccbcut::choose::Opinion { k, margin: 0.5, scores: scores.to_vec() };
        Choice {
            k: 3,
            confidence: 0.4,
            k_max: 4,
            eigengap: opinion(3, [1.25, 0.5, 3.0, 0.5]),
            elbow: opinion(3, [3.0, 1.0, 6.0, 1.0]),
            stability: opinion(2, [0.85, 0.95, 0.8, 0.3]),
            eigenvalues: vec![0.0, 0.01, 0.02, 0.3, 0.31],
            costs: vec![0.0, 0.1, 0.2, 0.9, 1.6],
        }
    }

    #[test]
    fn every_field_of_the_report_is_documented() {
        fn names(value: &Value, into: &mut Vec<String>) {
            match value {
                Value::Object(map) => map.iter().for_each(|(key, inner)| {
                    into.push(key.clone());
                    names(inner, into);
                }),
                Value::Array(list) => list.iter().for_each(|inner| names(inner, into)),
                _ => {}
            }
        }
        let page = include_str!("../../../docs/reference/json.md");
        let mut all = Vec::new();
        names(&serde_json::to_value(example()).unwrap(), &mut all);
        assert!(all.len() > 40);
        for name in all {
            assert!(page.contains(&format!("`{name}`")), "docs/reference/json.md does not explain `{name}`");
        }
    }
}
