//! Inputs that the benches share: a picture of the size of a BSDS500 image, and its graphs.

use std::sync::OnceLock;

use ccbcut::{
    Graph, Image,
    affinity::{Affinity, LabAffinity},
    coarsen::Hierarchy,
    random::Random,
};

pub const HEIGHT: usize = 321;
pub const WIDTH: usize = 481;

/// Overlapping discs of smooth colour with noise: regions of many sizes, weak and strong edges.
pub fn picture() -> &'static Image {
    static PICTURE: OnceLock<Image> = OnceLock::new();
    PICTURE.get_or_init(|| {
        let mut random = Random::new(5);
        let discs: Vec<[f64; 6]> = (0..40)
            .map(|_| {
                let radius = 8.0 + 70.0 * random.uniform().powi(2);
                let (r, c) = (random.uniform() * HEIGHT as f64, random.uniform() * WIDTH as f64);
                [r, c, radius, random.uniform(), random.uniform(), random.uniform()]
            })
            .collect();
        let mut pixels = Vec::with_capacity(3 * HEIGHT * WIDTH);
        for p in 0..HEIGHT * WIDTH {
            let (r, c) = ((p / WIDTH) as f64, (p % WIDTH) as f64);
            let inside = |d: &&[f64; 6]| (r - d[0]).powi(2) + (c - d[1]).powi(2) < d[2] * d[2];
            let base = discs.iter().rev().find(inside).map_or([0.5; 3], |d| [d[3], d[4], d[5]]);
            let shade = 0.08 * (r / 60.0).sin() * (c / 80.0).cos();
            pixels.extend(
                base.map(|v| (0.2 + 0.6 * v + shade + 0.02 * random.normal()).clamp(0.0, 1.0) as f32),
            );
        }
        Image::new(HEIGHT, WIDTH, 3, pixels).expect("finite pixels")
    })
}

/// Its Lab graph, radius 10.
#[allow(dead_code, reason = "each bench uses what it needs")]
pub fn fine() -> &'static Graph {
    static GRAPH: OnceLock<Graph> = OnceLock::new();
    GRAPH.get_or_init(|| LabAffinity::default().graph(picture()).expect("a valid picture"))
}

/// That graph, decimated twice: some 9,600 vertices.
#[allow(dead_code, reason = "each bench uses what it needs")]
pub fn coarse() -> &'static Graph {
    static GRAPH: OnceLock<Graph> = OnceLock::new();
    GRAPH.get_or_init(|| {
        let pyramid = Hierarchy::build(fine(), HEIGHT, WIDTH, 2, 1).expect("the grid fits");
        pyramid.coarse_graph().clone()
    })
}

/// Standard normal numbers.
#[allow(dead_code, reason = "each bench uses what it needs")]
pub fn noise(n: usize) -> Vec<f64> {
    let mut random = Random::new(1);
    (0..n).map(|_| random.normal()).collect()
}
