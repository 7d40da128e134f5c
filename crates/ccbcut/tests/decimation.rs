//! The DNCuts pyramid against results stored from a run of the public formulation.
//!
//! Those were made with pixels numbered column by column (c·height + r) on the 160 × 240 image `ID_rgb`, for the
//! weights exp(−‖RGB difference‖²/30²) in 8-bit units, radius 5, the diagonal 1 included, two levels.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail loudly and says what it skips"
)]

mod support;

use ccbcut::{
    Graph,
    coarsen::{Hierarchy, decimate},
    graph::half_disc,
};
use support::{Array, golden_dir, read_npy, read_npz};

const IMAGES: [&str; 3] = ["100075", "118035", "12003"];

/// Numbers of pixels counted column by column, as row-major ones.
fn from_columns(height: usize, width: usize) -> impl Fn(usize) -> usize {
    move |index| index % height * width + index / height
}

fn graph_of(rgb: &Array) -> Graph {
    let (height, width) = (rgb.shape[0], rgb.shape[1]);
    let mut edges = Vec::new();
    for p in 0..height * width {
        edges.push((p as u32, p as u32, 1.0));
        for (dr, dc) in half_disc(5.0) {
            let (r, c) = (p / width + dr, (p % width).wrapping_add_signed(dc));
            if r < height && c < width {
                let q = r * width + c;
                let squared: f64 =
                    (0..3).map(|ch| (rgb.values[3 * p + ch] - rgb.values[3 * q + ch]).powi(2)).sum();
                edges.push((p as u32, q as u32, (-squared / 900.0).exp()));
            }
        }
    }
    Graph::from_edges(height * width, &edges).unwrap()
}

fn assert_degrees(graph: &Graph, shape: (usize, usize), stored: &Array) {
    let row_major = from_columns(shape.0, shape.1);
    assert_eq!(stored.values.len(), graph.n_vertices());
    for (index, want) in stored.values.iter().enumerate() {
        let got = graph.degrees()[row_major(index)];
        assert!((got - want).abs() <= 1e-6 * want, "degree {index} of {shape:?}: {got}, not {want}");
    }
}

fn entry(graph: &Graph, i: usize, j: usize) -> f64 {
    let mut weight = if i == j { graph.self_loop(i) } else { 0.0 };
    graph.for_each_neighbor(i, |k, w| {
        if k == j {
            weight = w;
        }
    });
    weight
}

#[test]
fn pyramid_of_dncuts() {
    let Some(dir) = golden_dir("pyramid_of_dncuts") else { return };
    for image in IMAGES {
        let rgb = read_npy(&dir.join(format!("{image}_rgb.npy")));
        let stored = read_npz(&dir.join(format!("{image}_dncuts.npz")));
        let (height, width) = (rgb.shape[0], rgb.shape[1]);
        let graph = graph_of(&rgb);
        assert_degrees(&graph, (height, width), &stored["degree0"]);
        let level = decimate(&graph, height, width).unwrap();
        assert_degrees(&level.graph, (level.height, level.width), &stored["degree1"]);

        let hierarchy = Hierarchy::build(&graph, height, width, 2, 1).unwrap();
        let (coarse, shape) = (hierarchy.coarse_graph(), hierarchy.coarse_shape());
        assert_eq!(stored["coarse_size"].indices(), [shape.0, shape.1]);
        assert_degrees(coarse, shape, &stored["degree2"]);
        let row_major = from_columns(shape.0, shape.1);
        let (rows, columns) = (stored["coarse_i"].indices(), stored["coarse_j"].indices());
        for ((&i, &j), want) in rows.iter().zip(&columns).zip(&stored["coarse_w"].values) {
            let got = entry(coarse, row_major(i), row_major(j));
            assert!((got - want).abs() <= 1e-10, "{image} ({i}, {j}): {got}, not {want}");
        }

        let vectors = &stored["eigenvectors_coarse"];
        let k = vectors.shape[1];
        let mut y = vec![0.0; vectors.values.len()];
        for (index, row) in vectors.values.chunks_exact(k).enumerate() {
            y[row_major(index) * k..][..k].copy_from_slice(row);
        }
        let fine = hierarchy.prolong(&y, k).unwrap();
        let row_major = from_columns(height, width);
        let pixels = stored["pixel_index_colmajor"].indices();
        for (&pixel, want) in pixels.iter().zip(stored["upsampled"].values.chunks_exact(k)) {
            for (got, want) in fine[row_major(pixel) * k..][..k].iter().zip(want) {
                assert!((got - want).abs() <= 1e-7, "{image} pixel {pixel}: {got}, not {want}");
            }
        }
    }
}
