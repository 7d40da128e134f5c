//! How long the PMI graph of photographs takes, and how far the fast evaluation is from the exact one.
//!
//!     cargo run --release -p ccbcut --example pmi -- [--exact] [--learned] IMAGE…

#![allow(clippy::print_stdout, reason = "an example says what it found")]

use std::{path::Path, time::Instant};

use ccbcut::affinity::{Affinity, PmiAffinity, PmiBandwidth, PmiEvaluation};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let (flags, images): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let has = |flag: &str| flags.iter().any(|f| f == flag);
    let mut affinity = PmiAffinity::default();
    if has("--learned") {
        affinity = affinity.bandwidth(PmiBandwidth::Learned);
    }
    let mut times = Vec::new();
    for path in &images {
        let image = ccbcut_io::read_image(Path::new(path), ccbcut_io::Limits::default())?.image;
        let start = Instant::now();
        let models = affinity.models(&image, None)?;
        let learning = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let graph = affinity.graph(&image)?;
        let fast = start.elapsed().as_secs_f64();
        times.push(fast);
        print!("{path}: models {learning:.2} s, graph {fast:.2} s");
        if has("--learned") {
            print!(", bandwidths {:.3?} {:.3?}", models[0].bandwidth(), models[1].bandwidth());
        }
        if has("--exact") {
            let start = Instant::now();
            let exact = affinity.evaluation(PmiEvaluation::Exact).graph(&image)?;
            let taken = start.elapsed().as_secs_f64();
            let mut weights = Vec::with_capacity(graph.n_edges());
            graph.for_each_edge(|_, _, w| weights.push(w));
            let (mut edge, mut worst, mut total) = (0, 0.0_f64, 0.0);
            exact.for_each_edge(|_, _, w| {
                let error = (weights[edge] / w - 1.0).abs();
                worst = worst.max(error);
                total += error;
                edge += 1;
            });
            print!(
                "; exact {taken:.1} s; relative error at most {worst:.1e}, {:.1e} on average",
                total / edge as f64
            );
        }
        println!();
    }
    times.sort_by(f64::total_cmp);
    if let (Some(least), Some(most)) = (times.first(), times.last()) {
        println!("graphs: {least:.2} to {most:.2} s, median {:.2} s", times[times.len() / 2]);
    }
    Ok(())
}
