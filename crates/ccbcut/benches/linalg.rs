//! ROOM 4's engine: factorisation, solves, products and eigenpairs on the coarse graph of a picture.

mod common;

use ccbcut::{
    Graph,
    embedding::spectrum::{EigenParams, Spectrum},
    linalg::{
        LinearOperator,
        cholesky::{Factor, Symbolic},
    },
};
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

fn analyzed() -> (&'static Graph, Symbolic) {
    let graph = common::coarse();
    (graph, Symbolic::analyze(graph, f64::INFINITY, f64::INFINITY).expect("no limit"))
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn analyze(bencher: Bencher<'_, '_>) {
    let graph = common::coarse();
    bencher.bench(|| Symbolic::analyze(black_box(graph), f64::INFINITY, f64::INFINITY));
}

#[divan::bench(types = [f32, f64], sample_count = 10, sample_size = 1)]
fn factor<T: ccbcut::linalg::cholesky::Scalar>(bencher: Bencher<'_, '_>) {
    let (graph, symbolic) = analyzed();
    bencher.bench(|| Factor::<T>::new(black_box(&symbolic), graph));
}

#[divan::bench(types = [f32, f64], args = [1, 3, 4, 8, 32], sample_count = 10, sample_size = 1)]
fn solve<T: ccbcut::linalg::cholesky::Scalar>(bencher: Bencher<'_, '_>, columns: usize) {
    let (graph, symbolic) = analyzed();
    let factor = Factor::<T>::new(&symbolic, graph);
    let b = common::noise(graph.n_vertices() * columns);
    let mut x = vec![0.0; b.len()];
    bencher.bench_local(|| factor.solve(black_box(&b), &mut x));
}

#[divan::bench(args = [1, 3, 4, 8, 32], sample_count = 10, sample_size = 1)]
fn solve_in_double(bencher: Bencher<'_, '_>, columns: usize) {
    let (graph, symbolic) = analyzed();
    let factor = Factor::<f32>::new(&symbolic, graph);
    let b = common::noise(graph.n_vertices() * columns);
    let mut x = vec![0.0; b.len()];
    bencher.bench_local(|| factor.solve_in_double(black_box(&b), &mut x));
}

#[divan::bench(args = [1, 8, 32], sample_count = 10, sample_size = 1)]
fn laplacian(bencher: Bencher<'_, '_>, columns: usize) {
    let graph = common::coarse();
    let x = common::noise(graph.n_vertices() * columns);
    let mut y = vec![0.0; x.len()];
    let operator = graph.laplacian();
    bencher.bench_local(|| operator.apply_block(black_box(&x), &mut y));
}

#[divan::bench(args = [1, 8, 28], sample_count = 5, sample_size = 1)]
fn eigenpairs(bencher: Bencher<'_, '_>, pairs: usize) {
    let graph = common::coarse();
    let spectrum = Spectrum::analyze(graph);
    bencher.bench(|| spectrum.smallest(graph, graph.degrees(), &EigenParams::new(pairs), None));
}
