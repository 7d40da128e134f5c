//! The other rooms, one bench each, on a picture of the size of a BSDS500 image.

mod common;

use ccbcut::{
    Labels,
    affinity::{Affinity, LabAffinity, PmiAffinity},
    coarsen::Hierarchy,
    cost::Costs,
    embedding::spectrum::{EigenParams, Spectrum},
    image::color::{WhitePoint, to_lab},
    kmeans::KMeans,
    linalg::LinearOperator,
};
use common::{HEIGHT, WIDTH, coarse, fine, noise, picture};
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn image_to_lab() {
    to_lab(black_box(picture()), WhitePoint::D65).expect("three channels");
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn affinity_lab() {
    LabAffinity::default().graph(black_box(picture())).expect("a valid picture");
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn affinity_pmi() {
    PmiAffinity::default().graph(black_box(picture())).expect("a valid picture");
}

#[divan::bench(args = [1, 2], sample_count = 3, sample_size = 1)]
fn coarsen(bencher: Bencher<'_, '_>, levels: usize) {
    let graph = fine();
    bencher.bench(|| Hierarchy::build(graph, HEIGHT, WIDTH, levels, 1).expect("the grid fits").n_levels());
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn prolong_25_columns(bencher: Bencher<'_, '_>) {
    let pyramid = Hierarchy::build(fine(), HEIGHT, WIDTH, 2, 1).expect("the grid fits");
    let y = noise(pyramid.coarse_graph().n_vertices() * 25);
    bencher.bench(|| pyramid.prolong(black_box(&y), 25).expect("the columns fit"));
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn components_of_pixels() {
    black_box(fine()).components();
}

#[divan::bench(args = [1, 4, 8, 16, 28], sample_count = 5, sample_size = 1)]
fn fine_laplacian(bencher: Bencher<'_, '_>, columns: usize) {
    let graph = fine();
    let x = noise(graph.n_vertices() * columns);
    let mut y = vec![0.0; x.len()];
    bencher.bench_local(|| graph.laplacian().apply_block(black_box(&x), &mut y));
}

#[divan::bench(args = [1, 10], sample_count = 1, sample_size = 1)]
fn fine_eigenpairs(bencher: Bencher<'_, '_>, pairs: usize) {
    let graph = fine();
    let spectrum = Spectrum::analyze(graph);
    bencher.bench(|| spectrum.smallest(graph, graph.degrees(), &EigenParams::new(pairs), None));
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn kmeans_of_pixels(bencher: Bencher<'_, '_>) {
    let n = HEIGHT * WIDTH;
    let data = noise(n * 25);
    bencher.bench(|| KMeans::new(25).n_init(1).fit(black_box(&data), n, 25, None));
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn costs_of_pixels(bencher: Bencher<'_, '_>) {
    let labels = Labels::from_raw(&(0..(HEIGHT * WIDTH) as u32).map(|p| p / 5000).collect::<Vec<_>>());
    bencher.bench(|| Costs::of(fine(), black_box(&labels), 1.0));
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn costs_of_the_coarse_graph(bencher: Bencher<'_, '_>) {
    let labels = Labels::from_raw(&(0..coarse().n_vertices() as u32).map(|p| p / 500).collect::<Vec<_>>());
    bencher.bench(|| Costs::of(coarse(), black_box(&labels), 1.0));
}
