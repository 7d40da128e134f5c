//! Region scores against results stored from a run of the public benchmark code.

use std::{path::PathBuf, time::Instant};

use crate::support::{golden_dir, read_npz};
use ccbcut::{
    LabelMap,
    metrics::{Contingency, RegionScore, family},
};
use ccbcut_io::{Limits, read_label_maps};

const IMAGES: [&str; 3] = ["100075", "118035", "12003"];
const MAPS: [&str; 6] = ["one_region", "grid3x4", "gray5", "voronoi10", "voronoi_gap", "gt0"];

/// The data set, or a line that says which test was skipped.
fn bsds_dir(test: &str) -> Option<PathBuf> {
    let dir = std::env::var_os("BSDS500_DIR").map(PathBuf::from);
    if dir.is_none() {
        println!("skipped: {test} (set BSDS500_DIR)");
    }
    dir
}

#[test]
fn region_scores_are_those_of_the_public_benchmark() {
    let test = "region_scores_are_those_of_the_public_benchmark";
    let (Some(golden), Some(bsds)) = (golden_dir(test), bsds_dir(test)) else { return };
    let stored = std::fs::read_to_string(golden.join("region_metrics.json")).unwrap();
    let stored: serde_json::Value = serde_json::from_str(&stored).unwrap();
    let near = |got: f64, want: &serde_json::Value, what: &str| {
        let want = want.as_f64().unwrap();
        assert!((got - want).abs() <= 1e-9 * want.abs().max(1.0), "{what}: {got}, not {want}");
    };
    for image in IMAGES {
        let truth = bsds.join(format!("groundTruth/train/{image}.mat"));
        let truths = read_label_maps(&truth, Limits::default()).unwrap();
        let labels = read_npz(&golden.join(format!("{image}_region_labels.npz"))).array("labels");
        let (height, width) = (labels.shape[1], labels.shape[2]);
        let mut tables = Vec::new();
        for (name, values) in MAPS.iter().zip(labels.values.chunks_exact(height * width)) {
            let raw: Vec<u32> = values.iter().map(|&v| v as u32).collect();
            let map = LabelMap::new(height, width, &raw).unwrap();
            let row: Vec<Contingency> =
                truths.iter().map(|truth| Contingency::new(&map, truth).unwrap()).collect();
            let scores: Vec<RegionScore> = row.iter().map(Contingency::score).collect();
            let want = &stored[image][name];
            for (g, score) in scores.iter().enumerate() {
                near(score.covering, &want["covering_per_gt"][g], "covering");
                near(score.rand_index, &want["ri_per_gt"][g], "Rand index");
                near(score.variation, &want["vi_per_gt"][g], "VI");
            }
            let mean = RegionScore::mean(&scores);
            near(mean.covering, &want["covering"], "covering");
            near(mean.rand_index, &want["pri"], "PRI");
            near(mean.variation, &want["vi"], "VI");
            tables.push(row);
        }
        let family = family::ImageFamily::new(&tables).unwrap();
        let pooled = family::pool(&[family]).unwrap();
        near(pooled.covering_best, &stored[image]["best_over_maps_covering"], "Best");
    }
}

#[test]
fn all_region_scores_of_one_map_take_little_time() {
    // 481 × 321 pixels, 30 segments, against five truths of 15 regions each.
    let (height, width) = (321, 481);
    let map = |side: usize| {
        let raw: Vec<u32> =
            (0..height * width).map(|p| ((p / width / side) * 64 + p % width / side) as u32).collect();
        LabelMap::new(height, width, &raw).unwrap()
    };
    let (found, truths) = (map(70), [map(120), map(110), map(130), map(140), map(150)]);
    let run = || truths.iter().map(|t| Contingency::new(&found, t).unwrap().score().covering).sum::<f64>();
    let time = |_| {
        let start = Instant::now();
        assert!(run() > 0.0);
        start.elapsed()
    };
    let best = (0..5).map(time).min().unwrap();
    assert!(best.as_millis() < 20, "{best:?}");
}
