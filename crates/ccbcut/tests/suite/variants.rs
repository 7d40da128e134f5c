//! What each variant does by default, one sweep computed by hand, and why sweeps end.

use std::ops::ControlFlow;

use ccbcut::{
    Balance, Control, Embedding, Graph, Image, Irrq, Kappa, Method, Partitioner, Segmenter, StopReason,
    Upsampling, Variant,
    affinity::{Affinity, LabAffinity, LabKernel, Neighborhood},
    coarsen::Hierarchy,
    embedding::objective,
    graph::gallery,
};

use crate::support::quad::{self, Quad};

// ---- One sweep by hand ------------------------------------------------------------------------------------------

/// The smallest nontrivial eigenvalues of Π^-½ L Π^-½ for weights given by a function.
fn eigenvalues(graph: &Graph, pi: &[f64], weight: impl Fn(usize, usize, f64) -> f64) -> Vec<f64> {
    let n = graph.n_vertices();
    let mut a = vec![vec![Quad::ZERO; n]; n];
    let scale: Vec<Quad> = pi.iter().map(|&p| Quad::ONE / Quad::from(p).sqrt()).collect();
    graph.for_each_edge(|i, j, w| {
        let w = Quad::from(weight(i, j, w));
        a[i][j] = -(w * scale[i] * scale[j]);
        a[j][i] = a[i][j];
        a[i][i] = a[i][i] + w * scale[i] * scale[i];
        a[j][j] = a[j][j] + w * scale[j] * scale[j];
    });
    quad::eigenvalues(a)[1..].to_vec()
}

#[track_caller]
fn close(what: &str, found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-7 * expected.abs(), "{what}: {found}, by hand {expected}");
}

/// γ = [‖Δy‖² + ε²]^(τ/2−1) and r = ‖Δy‖: the limit keeps the weight w of J_τ.
#[test]
fn the_weighted_variant_sweeps_by_its_own_formula() {
    let graph = gallery::planted(&[14, 10, 8], 0.5, 0.08, 9);
    let (n, kappa) = (graph.n_vertices(), 37);
    for (tau, balance) in [(1.0, Balance::Normalized), (0.5, Balance::Ratio), (1.5, Balance::Normalized)] {
        let pi = balance.weights(&graph).unwrap();
        let irrq = Irrq::new(tau).n_components(2).variant(Variant::Weighted).balance(balance);
        let irrq = irrq.kappa(Kappa::Count(kappa)).epsilon_floor(0.0).eigen_tol(1e-12).tol(0.0);
        let after = |sweeps: usize| irrq.clone().max_iterations(sweeps).fit(&graph).unwrap();
        let mut epsilon: f64 = 1.0;
        // The weights that the next sweep solves for; at first those of the graph.
        let mut gamma: Option<(Embedding, f64)> = None;
        for sweep in 1..=3 {
            let fit = after(sweep);
            assert_eq!((fit.trace.kappa, fit.trace.stop_reason), (kappa, StopReason::MaxIterations));
            let traced = &fit.trace.iterations[sweep - 1];
            let values = eigenvalues(&graph, &pi, |i, j, w| match &gamma {
                None => w,
                Some((y, epsilon)) => {
                    w * (y.squared_distance(i, j) + epsilon * epsilon).powf(tau / 2.0 - 1.0)
                }
            });
            close("λ₁", traced.eigenvalues[0], values[0]);
            close("λ₂", traced.eigenvalues[1], values[1]);
            close("J₂", traced.j2, 2.0 * (values[0] + values[1]));

            let y = fit.embedding;
            let mut r: Vec<f64> = Vec::new();
            graph.for_each_edge(|i, j, _| r.extend([y.squared_distance(i, j).sqrt(); 2]));
            r.sort_by(|a, b| b.total_cmp(a));
            epsilon = epsilon.min(r[kappa] / n as f64);
            close("ε", traced.epsilon, epsilon);

            let (mut f, mut j_tau) = (0.0, 0.0);
            graph.for_each_edge(|i, j, w| {
                f += 2.0 * w * (y.squared_distance(i, j) + epsilon * epsilon).powf(tau / 2.0);
                j_tau += 2.0 * w * (0..2).map(|c| (y.row(i)[c] - y.row(j)[c]).abs().powf(tau)).sum::<f64>();
            });
            close("F", traced.f, f);
            close("J_τ", traced.j_tau, j_tau);
            gamma = Some((y, epsilon));
        }
    }
}

// ---- Why sweeps end ---------------------------------------------------------------------------------------------

#[test]
fn every_reason_to_stop_is_reached_and_named() {
    let graph = gallery::planted(&[25, 15, 10], 0.5, 0.05, 1);
    let all = Kappa::Count(2 * graph.n_edges());
    let trace = |irrq: Irrq| irrq.fit(&graph).unwrap().trace;
    let two = |tau: f64| Irrq::new(tau).n_components(2);

    let single = trace(two(2.0));
    assert_eq!((single.stop_reason, single.iterations.len()), (StopReason::SingleSolve, 1));

    let converged = trace(two(1.0));
    assert_eq!(converged.stop_reason, StopReason::Converged);
    let f: Vec<f64> = converged.iterations.iter().map(|i| i.f).collect();
    let changes: Vec<f64> = f.windows(2).map(|pair| (pair[0] - pair[1]) / pair[0]).collect();
    let (last, earlier) = changes.split_last().unwrap();
    assert!(*last <= 0.01 && earlier.iter().all(|c| *c > 0.01), "{changes:?}");

    // The early stop never takes more sweeps, and is only taken when asked for.
    let early = trace(two(1.0).tol(1e-6).early_stop(true));
    let patient = trace(two(1.0).tol(1e-6));
    assert_eq!(early.stop_reason, StopReason::SidesSettled);
    assert!(
        early.iterations.len() < patient.iterations.len() && patient.stop_reason != StopReason::SidesSettled
    );
    let same = early.iterations.iter().zip(&patient.iterations).all(|(a, b)| a.f == b.f);
    assert!(same, "up to there the sweeps are the same");

    let limited = trace(two(1.0).tol(0.0).max_iterations(3));
    assert_eq!((limited.stop_reason, limited.iterations.len()), (StopReason::MaxIterations, 3));

    // Every difference is left out of ε: it is zero at once unless a floor holds it.
    for variant in [Variant::Published, Variant::Weighted] {
        let vanished = trace(two(1.0).variant(variant).kappa(all).epsilon_floor(0.0));
        assert_eq!((vanished.stop_reason, vanished.iterations.len()), (StopReason::EpsilonVanished, 1));
        assert_eq!((vanished.iterations[0].epsilon, vanished.epsilon_floor), (0.0, 0.0));
        let held = trace(two(1.0).variant(variant).kappa(all));
        assert_eq!(held.stop_reason, StopReason::Converged);
        assert!(held.iterations.iter().all(|i| i.epsilon == held.epsilon_floor) && held.epsilon_floor > 0.0);
    }
    // The toolbox has no floor, and reweights once with ε = 1 before it looks.
    let vanished = trace(two(1.0).variant(Variant::Released).kappa(all));
    assert_eq!((vanished.stop_reason, vanished.iterations.len()), (StopReason::EpsilonVanished, 2));
}

#[test]
fn released_runs_end_when_j_tau_rises_and_return_the_sweep_before() {
    let graph = gallery::planted(&[25, 15, 10], 0.5, 0.05, 11);
    let irrq = Irrq::new(1.0).n_components(3).variant(Variant::Released).kappa(Kappa::Fraction(0.05));
    let fit = irrq.fit(&graph).unwrap();
    let j: Vec<f64> = fit.trace.iterations.iter().map(|i| i.j_tau).collect();
    assert_eq!(fit.trace.stop_reason, StopReason::CostRose, "{j:?}");
    let [.., before, last] = j[..] else { panic!("{j:?}") };
    assert!(last > before && j.len() > 6);
    assert_eq!(objective::j_tau(&graph, &fit.embedding, 1.0), before);
}

#[test]
fn a_break_of_the_observer_returns_what_is_there() {
    let graph = gallery::planted(&[25, 15, 10], 0.5, 0.05, 1);
    for variant in [Variant::Published, Variant::Released, Variant::Weighted] {
        let irrq = Irrq::new(1.0).n_components(2).variant(variant).tol(0.0);
        let mut seen = Vec::new();
        let fit = irrq.fit_with(&graph, &mut |iteration| {
            seen.push(iteration.sweep);
            if iteration.sweep == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let fit = fit.unwrap();
        assert_eq!((fit.trace.stop_reason, seen), (StopReason::Interrupted, vec![1, 2, 3]));
        // The last iterate, in every variant: it is the one a run of as many sweeps returns.
        let sweeps = if variant == Variant::Released { 2 } else { 3 };
        let limited = irrq.max_iterations(sweeps).fit(&graph).unwrap();
        assert_eq!(
            (limited.trace.stop_reason, limited.embedding),
            (StopReason::MaxIterations, fit.embedding)
        );
    }
}

#[test]
fn a_stopped_cut_is_incomplete_but_there() {
    let graph = gallery::planted(&[25, 15, 10], 0.5, 0.05, 1);
    for method in [Method::Multiway, Method::Hierarchical] {
        let stop = || true;
        let partitioner = Partitioner::new(3, 1.0).method(method);
        let cut = partitioner.partition_with(&graph, &mut Control::new().stop(&stop)).unwrap();
        assert!(!cut.is_complete && cut.labels.len() == 50, "{method:?}");
        assert!(cut.runs.iter().all(|run| run.trace.stop_reason == StopReason::Interrupted));
        assert!(partitioner.partition(&graph).unwrap().is_complete);
    }
}

// ---- Defaults by variant ----------------------------------------------------------------------------------------

#[test]
fn multiway_embeddings_of_images_have_k_columns_and_those_of_graphs_and_the_released_ones_one_fewer() {
    let graph = gallery::planted(&[15, 12, 9, 6], 0.6, 0.05, 2);
    let image = slanted(12, 16);
    for (variant, fewer) in [(Variant::Published, 0), (Variant::Weighted, 0), (Variant::Released, 1)] {
        for k in [2, 4, 7] {
            let partitioner = Partitioner::new(k, 1.0).method(Method::Multiway).variant(variant);
            let columns = |p: Partitioner| p.partition(&graph).unwrap().embedding.unwrap().n_components();
            assert_eq!(columns(partitioner.clone()), k - 1, "{variant:?}");
            assert_eq!(columns(partitioner.clone().n_columns(3)), 3);
            let segmenter = Segmenter::new(k, 1.0).levels(0).partitioner(|_| partitioner);
            let sweeps = segmenter.segment(&image).unwrap().report.runs;
            assert_eq!(sweeps[0].trace.iterations[0].eigenvalues.len(), k - fewer, "{variant:?}");
        }
        let split = Partitioner::new(4, 1.0).variant(variant).partition(&graph).unwrap();
        let sweeps = split.runs.iter().flat_map(|run| &run.trace.iterations);
        assert!(split.embedding.is_none() && sweeps.clone().count() > 3);
        assert!(sweeps.clone().all(|sweep| sweep.eigenvalues.len() == 1), "a split needs one column");
    }
}

/// Two colours that meet along a slanted line, with texture: no border of the coarse grid follows it.
fn slanted(height: usize, width: usize) -> Image {
    let pixels = (0..height * width).flat_map(|p| {
        let (r, c) = (p / width, p % width);
        let texture = 0.01 * ((r * 7 + c * 13) % 9) as f32;
        let base = if 2 * c + r < width + 9 { [0.7, 0.3, 0.2] } else { [0.25, 0.45, 0.6] };
        base.map(|v: f32| v + texture)
    });
    Image::new(height, width, 3, pixels.collect()).unwrap()
}

fn affinity() -> LabAffinity {
    // Wide enough that the graph is connected.
    LabAffinity::new(LabKernel::Gaussian { sigma: 30.0 }).neighborhood(Neighborhood::new(4.0))
}

fn segmenter(variant: Variant, method: Method) -> Segmenter {
    let segmenter = Segmenter::new(2, 1.0).affinity(affinity()).levels(2);
    segmenter.partitioner(|p| p.variant(variant).method(method).n_columns(1))
}

#[test]
fn the_coarse_diagonal_is_dropped_by_released_hierarchical_cuts_alone() {
    let image = slanted(40, 44);
    let graph = affinity().graph_masked(&image, None).unwrap();
    let pyramid = Hierarchy::build(&graph, 40, 44, 2, 1).unwrap();
    let first = |graph: &Graph| Irrq::new(2.0).fit(graph).unwrap().trace.iterations[0].eigenvalues[0];
    let kept = first(pyramid.coarse_graph());
    let dropped = first(pyramid.clone().without_self_loops().coarse_graph());
    assert!(dropped > 1.05 * kept, "the loops count in the degrees: {kept} {dropped}");
    for variant in [Variant::Published, Variant::Weighted, Variant::Released] {
        for method in [Method::Hierarchical, Method::Multiway] {
            let cut = segmenter(variant, method).segment(&image).unwrap();
            let is_bare = variant == Variant::Released && method == Method::Hierarchical;
            let expected = if is_bare { dropped } else { kept };
            let found = cut.report.trace()[0].eigenvalues[0];
            assert!(
                (found - expected).abs() <= 1e-9 * expected,
                "{variant:?} {method:?}: {found} {expected}"
            );
        }
    }
}

#[test]
fn labels_go_up_by_the_image_and_in_the_released_variant_by_the_grid() {
    let image = slanted(40, 44);
    let is_left = |p: usize| 2 * (p % 44) + p / 44 < 44 + 9;
    for variant in [Variant::Published, Variant::Weighted, Variant::Released] {
        let plain = segmenter(variant, Method::Hierarchical);
        let cut = |segmenter: &Segmenter| segmenter.segment(&image).unwrap().labels;
        let prolonged = cut(&plain.clone().upsampling(Upsampling::Prolong));
        let nearest = cut(&plain.clone().upsampling(Upsampling::Nearest));
        let expected = if variant == Variant::Released { &nearest } else { &prolonged };
        assert_eq!(&cut(&plain), expected, "{variant:?}");
        // The border of the image is found to the pixel by the one and in steps of the coarse grid by the other.
        let wrong = |map: &ccbcut::LabelMap| {
            let labels = map.as_slice();
            (0..labels.len()).filter(|&p| (labels[p] == labels[0]) != is_left(p)).count()
        };
        assert_eq!(wrong(&prolonged), 0, "{variant:?}");
        assert!((60..240).contains(&wrong(&nearest)), "{variant:?}: {}", wrong(&nearest));
    }
}

#[test]
fn no_leaf_is_lost_on_the_way_up() {
    // Specks of one pixel that the coarse grid keeps: each is a leaf, and each would lose to what surrounds it.
    let is_speck = |p: usize| p / 24 % 8 == 3 && p % 24 % 8 == 3;
    let pixels = (0..24 * 24).map(|p| if is_speck(p) { 0.3 + (p % 24) as f32 / 60.0 } else { 0.5 });
    let image = Image::new(24, 24, 1, pixels.collect()).unwrap();
    for upsampling in [Upsampling::Prolong, Upsampling::Nearest] {
        for k in [2, 5, 9, 20, 35] {
            let cut = Segmenter::new(k, 1.0).levels(2).upsampling(upsampling).segment(&image).unwrap();
            assert_eq!((cut.labels.n_segments(), cut.report.levels), (k, 2), "{upsampling:?}");
            for fewer in 1..=k {
                assert_eq!(
                    cut.labels_for(fewer).unwrap().n_segments(),
                    fewer,
                    "{upsampling:?}, {fewer} of {k}"
                );
            }
        }
    }
}

#[test]
fn parts_that_hang_on_by_next_to_nothing_need_one_sweep() {
    // Two rings of twelve, tied by one edge of weight w.
    let rings = |w: f64| {
        let ring = |first: u32| (0..12).map(move |i| (first + i, first + (i + 1) % 12, 1.0));
        let edges: Vec<(u32, u32, f64)> = ring(0).chain(ring(12)).chain([(0, 12, w)]).collect();
        Graph::from_edges(24, &edges).unwrap()
    };
    for (w, sweeps) in [(1e-40, 1..=1), (1e-3, 2..=50)] {
        for variant in [Variant::Published, Variant::Weighted] {
            let fit = Irrq::new(1.0).variant(variant).fit(&rings(w)).unwrap();
            assert_eq!(fit.trace.stop_reason, StopReason::Converged);
            assert!(sweeps.contains(&fit.trace.iterations.len()), "w = {w}: {}", fit.trace.iterations.len());
            let column = fit.embedding.column(0);
            assert!((0..12).all(|v| column[v] * column[0] > 0.0 && column[v + 12] * column[0] < 0.0));
        }
    }
}
