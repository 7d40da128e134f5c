//! The eigensolver against double-double arithmetic, closed forms, and everything that breaks eigensolvers.

use crate::support::quad::{self, Quad};
use ccbcut::{
    Balance, Error, Graph, Irrq, Kappa,
    embedding::spectrum::{EigenParams, Eigenpairs, Spectrum},
    graph::gallery,
};

/// All nontrivial eigenvalues of Π^-½ L Π^-½, to some 30 digits relative to the largest.
fn reference(graph: &Graph, pi: &[f64]) -> Vec<f64> {
    let n = graph.n_vertices();
    let mut a = vec![vec![Quad::ZERO; n]; n];
    let scale: Vec<Quad> = pi.iter().map(|&p| Quad::ONE / Quad::from(p).sqrt()).collect();
    graph.for_each_edge(|i, j, w| {
        let w = Quad::from(w);
        a[i][j] = -(w * scale[i] * scale[j]);
        a[j][i] = a[i][j];
        a[i][i] = a[i][i] + w * scale[i] * scale[i];
        a[j][j] = a[j][j] + w * scale[j] * scale[j];
    });
    quad::eigenvalues(a)[1..].to_vec()
}

fn solve(graph: &Graph, balance: &Balance, k: usize, tol: f64) -> Eigenpairs {
    let pi = balance.weights(graph).unwrap();
    let params = EigenParams { tol, ..EigenParams::new(k) };
    Spectrum::analyze(graph).smallest(graph, &pi, &params, None).unwrap()
}

fn check_constraints(graph: &Graph, balance: &Balance, pairs: &Eigenpairs) {
    let n = graph.n_vertices();
    let pi = balance.weights(graph).unwrap();
    let total: f64 = pi.iter().sum();
    let columns: Vec<&[f64]> = pairs.vectors.chunks_exact(n).collect();
    for (a, x) in columns.iter().enumerate() {
        let along: f64 = x.iter().zip(&pi).map(|(x, p)| x * (p / total).sqrt()).sum();
        assert!(along.abs() < 1e-10, "column {a} is not balanced: {along}");
        for (b, y) in columns.iter().enumerate().take(a + 1) {
            let product: f64 = x.iter().zip(*y).map(|(x, y)| x * y).sum();
            assert!((product - f64::from(u8::from(a == b))).abs() < 1e-10, "columns {a}, {b}: {product}");
        }
    }
}

fn check(name: &str, graph: &Graph, k: usize, tol: f64) {
    for balance in [Balance::Normalized, Balance::Ratio] {
        let pairs = solve(graph, &balance, k, tol);
        assert!(pairs.residual <= tol, "{name}: residual {}", pairs.residual);
        assert_eq!(pairs.values.len(), k, "{name}");
        check_constraints(graph, &balance, &pairs);
        let exact = reference(graph, &balance.weights(graph).unwrap());
        for (i, (value, exact)) in pairs.values.iter().zip(&exact).enumerate() {
            // Zero eigenvalues of a disconnected graph are exact here, and rounding in the reference.
            let is_zero = *value == 0.0 && exact.abs() < 1e-20;
            let error = (value - exact).abs() / exact.abs();
            assert!(is_zero || error <= 1e-8, "{name} {}: λ{i} = {value:e}, exact {exact:e}", balance.name());
        }
    }
}

#[test]
fn eigenvalues_to_eight_digits_on_model_graphs() {
    let graphs = [
        ("grid", gallery::grid(12, 17)),
        ("path", gallery::path(150)),
        ("cycle", gallery::cycle(150)),
        ("star", gallery::star(120)),
        ("complete", gallery::complete(90)),
        ("planted", gallery::planted(&[60, 50, 40], 0.3, 0.02, 3)),
    ];
    for (name, graph) in &graphs {
        for (k, tol) in [(1, 1e-6), (4, 1e-6), (10, 1e-10)] {
            check(name, graph, k, tol);
        }
    }
}

#[test]
fn weights_over_twenty_four_decades() {
    for seed in 0..3 {
        let graph = gallery::wide(160, 0.01, 12.0, seed);
        check("wide", &graph, 1, 1e-6);
        check("wide", &graph, 6, 1e-10);
    }
}

#[test]
fn every_pair_up_to_n_minus_one() {
    check("all of 60", &gallery::wide(60, 0.1, 3.0, 1), 59, 1e-8);
    check("all of 40, wide", &gallery::wide(40, 0.1, 12.0, 2), 39, 1e-8);
    check("all of a complete graph", &gallery::complete(70), 69, 1e-8);
    check("more than a third", &gallery::grid(10, 10), 50, 1e-8);
}

#[test]
fn disconnected_graphs_have_exact_zeros() {
    let mut edges = Vec::new();
    let mut first = 0;
    for size in [30_u32, 70, 9, 1, 1, 2] {
        edges.extend((1..size).map(|i| (first + i - 1, first + i, 1.0 + f64::from(i % 3))));
        first += size;
    }
    let graph = Graph::from_edges(first as usize, &edges).unwrap();
    check("six components", &graph, 3, 1e-6);
    check("six components", &graph, 5, 1e-6);
    check("six components", &graph, 12, 1e-10);
    let values = solve(&graph, &Balance::Normalized, 7, 1e-6).values;
    assert!(values[..5].iter().all(|&v| v == 0.0) && values[5] > 0.0);
    let isolated = Graph::from_edges(5, &[]).unwrap();
    let pairs = solve(&isolated, &Balance::Normalized, 4, 1e-6);
    assert_eq!(pairs.values, vec![0.0; 4]);
    check_constraints(&isolated, &Balance::Normalized, &pairs);
}

/// Each null vector sets one component against all heavier ones, components ordered by π, heaviest first.
#[test]
fn contrasts_of_components_are_ordered_by_mass() {
    // A triangle of heavy edges, a path of four, two loose ends: by volume 60, 6, 2, by number 3, 4, 2.
    let edges =
        [(0, 1, 10.0), (1, 2, 10.0), (0, 2, 10.0), (3, 4, 1.0), (4, 5, 1.0), (5, 6, 1.0), (7, 8, 1.0)];
    let graph = Graph::from_edges(9, &edges).unwrap();
    let (triangle, path, pair) = (0..3, 3..7, 7..9);
    for (balance, order) in [
        (Balance::Normalized, [triangle.clone(), path.clone(), pair.clone()]),
        (Balance::Ratio, [path, triangle, pair]),
    ] {
        let pi = balance.weights(&graph).unwrap();
        let mass = |part: &std::ops::Range<usize>| pi[part.clone()].iter().sum::<f64>();
        let fit = Irrq::new(2.0).n_components(2).balance(balance.clone()).fit(&graph).unwrap();
        assert_eq!(fit.trace.iterations[0].eigenvalues, [0.0, 0.0]);
        for j in 1..3 {
            // The lighter side has the larger entries, and so by the rule of signs the positive ones.
            let (heavier, own) = (order[..j].iter().map(mass).sum::<f64>(), mass(&order[j]));
            let (all, column) = (heavier + own, fit.embedding.column(j - 1));
            for (place, part) in order.iter().enumerate() {
                let expected = match place.cmp(&j) {
                    std::cmp::Ordering::Less => -(own / (heavier * all)).sqrt(),
                    std::cmp::Ordering::Equal => (heavier / (own * all)).sqrt(),
                    std::cmp::Ordering::Greater => 0.0,
                };
                for v in part.clone() {
                    assert!(
                        (column[v] - expected).abs() < 1e-14,
                        "{} {j} {v}: {}",
                        balance.name(),
                        column[v]
                    );
                }
            }
        }
    }
}

#[test]
fn two_and_three_components() {
    check("two", &gallery::planted(&[60, 80], 0.2, 0.0, 1), 3, 1e-6);
    check("three", &gallery::planted(&[60, 30, 55], 0.3, 0.0, 2), 5, 1e-6);
}

#[test]
fn a_single_vertex_has_no_nontrivial_pair() {
    let graph = Graph::from_edges(1, &[]).unwrap();
    let spectrum = Spectrum::analyze(&graph);
    assert_eq!(spectrum.smallest(&graph, &[1.0], &EigenParams::new(0), None).unwrap().values.len(), 0);
    let error = spectrum.smallest(&graph, &[1.0], &EigenParams::new(1), None).unwrap_err();
    assert!(matches!(error, Error::InvalidParameter { .. }));
}

#[test]
fn long_paths_and_large_stars_have_their_closed_forms() {
    let n = 100_000;
    let path = solve(&gallery::path(n), &Balance::Ratio, 3, 1e-6);
    for (j, value) in path.values.iter().enumerate() {
        let half = std::f64::consts::PI * (j + 1) as f64 / (2 * n) as f64;
        let exact = 4.0 * half.sin().powi(2);
        assert!((value / exact - 1.0).abs() < 1e-8, "path λ{j}: {value:e} {exact:e}");
    }
    let star = solve(&gallery::star(n), &Balance::Ratio, 3, 1e-6);
    assert!(star.values.iter().all(|v| (v - 1.0).abs() < 1e-8), "{:?}", star.values);
    let complete = solve(&gallery::complete(1000), &Balance::Normalized, 5, 1e-6);
    assert!(complete.values.iter().all(|v| (v * 999.0 / 1000.0 - 1.0).abs() < 1e-8));
}

#[test]
fn sweeps_at_the_floor_stay_accurate() {
    let graph = gallery::planted(&[50, 40, 30], 0.3, 0.02, 8);
    for tau in [0.25, 0.5, 1.0] {
        let fit = Irrq::new(tau)
            .n_components(2)
            .kappa(Kappa::Count(2 * graph.n_edges()))
            .tol(0.0)
            .max_iterations(12)
            .fit(&graph)
            .unwrap();
        let floor = fit.trace.epsilon_floor;
        assert!(fit.trace.iterations.iter().skip(1).all(|i| i.epsilon == floor), "ε sits at the floor");
        assert!(fit.trace.iterations.iter().all(|i| i.residual <= 1e-6), "{:?}", fit.trace);
        for pair in fit.trace.iterations.windows(2) {
            assert!(
                pair[1].f <= pair[0].f * (1.0 + 1e-9),
                "τ = {tau}: F rose: {} → {}",
                pair[0].f,
                pair[1].f
            );
        }
    }
}

/// Three regions of a noisy picture, tied by next to nothing.
fn nearly_apart(side: usize, tie: f64) -> Graph {
    let mut random = ccbcut::random::Random::new(4);
    let weights: Vec<f64> = (0..side * side * 4).map(|_| 0.3 + random.uniform()).collect();
    let region = |p: usize| p % side * 3 / side;
    let mut edges = Vec::new();
    for p in 0..side * side {
        for (k, q) in [(0, p + 1), (1, p + side)] {
            let inside = if k == 0 { q % side != 0 } else { q < side * side };
            if inside {
                let w = weights[4 * p + k] * if region(p) == region(q) { 1.0 } else { tie };
                edges.push((p as u32, q as u32, w));
            }
        }
    }
    Graph::from_edges(side * side, &edges).unwrap()
}

#[test]
fn graphs_that_all_but_fall_apart() {
    for side in [9, 30] {
        for tie in [1e-12, 1e-20, 1e-30, 1e-40, 1e-150] {
            let graph = nearly_apart(side, tie);
            let pairs = solve(&graph, &Balance::Normalized, 4, 1e-6);
            assert!(pairs.residual <= 1e-6, "side {side}, tie {tie:e}: {}", pairs.residual);
            check_constraints(&graph, &Balance::Normalized, &pairs);
            // Two slow pairs in proportion to the ties, then the fast ones, which do not see them.
            let weaker = solve(&nearly_apart(side, tie / 16.0), &Balance::Normalized, 4, 1e-6);
            for i in 0..2 {
                let ratio = pairs.values[i] / weaker.values[i];
                assert!((ratio / 16.0 - 1.0).abs() < 1e-6, "side {side}, tie {tie:e}: {ratio}");
            }
            for i in 2..4 {
                assert!((pairs.values[i] / weaker.values[i] - 1.0).abs() < 1e-6);
            }
            for tau in [0.5, 1.0] {
                let fit = Irrq::new(tau).n_components(2).tol(0.0).max_iterations(6).fit(&graph).unwrap();
                check_embedding(&graph, &fit.embedding);
                // Below ties of 10⁻²⁰ every difference is of the size of rounding, and so is F.
                for pair in fit.trace.iterations.windows(2).filter(|_| tie > 1e-20) {
                    let (before, now) = (pair[0].f, pair[1].f);
                    assert!(
                        now <= before * (1.0 + 1e-9),
                        "side {side}, tie {tie:e}, τ = {tau}: F {before} → {now}"
                    );
                }
            }
        }
    }
}

/// Each third of the picture is flat, and the thirds differ.
fn check_embedding(graph: &Graph, y: &ccbcut::Embedding) {
    let side = graph.n_vertices().isqrt();
    let region = |p: usize| p % side * 3 / side;
    let (mut inside, mut across) = (0.0_f64, f64::INFINITY);
    graph.for_each_edge(|i, j, _| {
        let distance = y.squared_distance(i, j);
        if region(i) == region(j) {
            inside = inside.max(distance);
        } else {
            across = across.min(distance);
        }
    });
    assert!(inside < 1e-6 * across, "{inside:e} {across:e}");
}
