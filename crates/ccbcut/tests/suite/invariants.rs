//! What holds for every input.

use ccbcut::{
    Balance, Embedding, Graph, Image, Irrq, Kappa, Labels, Method, Partitioner, Segmenter, Start, Variant,
    affinity::{LabAffinity, LabKernel},
    cost::{Costs, ccn},
    embedding::{objective, rotate},
    graph::gallery,
    random::Random,
};

fn pool<T: Send>(threads: usize, f: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(f)
}

fn check_constraints(graph: &Graph, balance: &Balance, y: &Embedding) {
    let pi = balance.weights(graph).unwrap();
    let k = y.n_components();
    let total: f64 = pi.iter().sum();
    for a in 0..k {
        let along: f64 = (0..y.n_vertices()).map(|i| pi[i] * y.row(i)[a]).sum::<f64>() / total.sqrt();
        assert!(along.abs() < 1e-10, "YᵀΠ1 = {along}");
        for b in 0..=a {
            let product: f64 = (0..y.n_vertices()).map(|i| pi[i] * y.row(i)[a] * y.row(i)[b]).sum();
            assert!((product - f64::from(u8::from(a == b))).abs() < 1e-10, "YᵀΠY({a},{b}) = {product}");
        }
    }
}

fn some_graphs() -> Vec<Graph> {
    let mut graphs = vec![
        gallery::toy(0.3),
        gallery::path(30),
        gallery::star(20),
        gallery::complete(12),
        gallery::planted(&[25, 15, 10], 0.5, 0.05, 1),
        gallery::planted(&[20, 12], 0.5, 0.0, 2),
        gallery::wide(60, 0.1, 4.0, 3),
    ];
    graphs.extend((0..6).map(|seed| gallery::random(40, 0.15, seed)));
    graphs
}

#[test]
fn the_constraints_hold_and_f_never_rises() {
    for graph in some_graphs() {
        for variant in [Variant::Published, Variant::Weighted] {
            for (tau, k) in [(0.25, 1), (0.5, 3), (1.0, 1), (1.0, 2), (1.5, 3), (1.9, 2)] {
                for balance in [Balance::Normalized, Balance::Ratio] {
                    let irrq = Irrq::new(tau).n_components(k).variant(variant).balance(balance.clone());
                    let fit = irrq.max_iterations(15).tol(0.0).fit(&graph).unwrap();
                    check_constraints(&graph, &balance, &fit.embedding);
                    for pair in fit.trace.iterations.windows(2) {
                        let (before, now) = (pair[0].f, pair[1].f);
                        assert!(now <= before * (1.0 + 1e-9), "{variant:?} τ = {tau}: F {before} → {now}");
                        assert!(pair[1].epsilon <= pair[0].epsilon, "ε never grows");
                    }
                }
            }
        }
    }
}

#[test]
fn published_does_not_see_the_scale_of_the_weights_and_released_does() {
    let graph = gallery::planted(&[20, 15, 8], 0.6, 0.05, 5);
    let scaled = {
        let (offsets, columns, weights) = graph.to_csr();
        let weights: Vec<f64> = weights.iter().map(|w| w * 1024.0).collect();
        Graph::from_csr(&offsets, &columns, &weights).unwrap()
    };
    let sweeps = |graph: &Graph, variant| {
        let fit = Irrq::new(1.0).n_components(2).variant(variant).fit(graph).unwrap();
        let distances = graph.map_edges(|i, j, w| w * fit.embedding.squared_distance(i, j));
        (fit.trace.iterations.iter().map(|i| i.f).collect::<Vec<_>>(), distances)
    };
    let (f, distances) = sweeps(&graph, Variant::Published);
    let (f_scaled, distances_scaled) = sweeps(&scaled, Variant::Published);
    assert_eq!(f.len(), f_scaled.len());
    for (a, b) in f.iter().zip(&f_scaled).chain(distances.iter().zip(&distances_scaled)) {
        assert!((a - b).abs() <= 1e-6 * a.abs() + 1e-12, "{a} {b}");
    }
    let (f, _) = sweeps(&graph, Variant::Released);
    let (f_scaled, _) = sweeps(&scaled, Variant::Released);
    assert!(f.len() != f_scaled.len() || f.iter().zip(&f_scaled).any(|(a, b)| (a - b).abs() > 1e-3 * a));
}

#[test]
fn tau_two_is_one_eigenproblem() {
    let graph = gallery::planted(&[20, 15], 0.6, 0.05, 5);
    let fit = Irrq::new(2.0).n_components(3).fit(&graph).unwrap();
    assert_eq!(fit.trace.iterations.len(), 1);
    let sweep = &fit.trace.iterations[0];
    assert!((sweep.j_tau - sweep.j2).abs() <= 1e-9 * sweep.j2, "J₂ = 2 Σ λ");
}

#[test]
fn a_start_embedding_takes_the_place_of_the_first_solve() {
    let graph = gallery::planted(&[30, 20], 0.5, 0.05, 7);
    let plain = Irrq::new(1.0).n_components(1).fit(&graph).unwrap();
    let planted: Vec<f64> = (0..50).map(|i| if i < 30 { 1.0 } else { -1.0 }).collect();
    let guess = Embedding::new(50, 1, planted).unwrap();
    let epsilon = plain.trace.iterations.last().unwrap().epsilon;
    for start in [Start::Ratio(guess.clone()), Start::Smoothed(guess.clone()), Start::Resumed(guess, epsilon)]
    {
        let fit = Irrq::new(1.0).n_components(1).start(start).fit(&graph).unwrap();
        check_constraints(&graph, &Balance::Normalized, &fit.embedding);
        let ends = (fit.trace.iterations.last().unwrap().f, plain.trace.iterations.last().unwrap().f);
        assert!(ends.0 <= 1.05 * ends.1, "a good start ends no worse: {ends:?}");
    }
    let near = Irrq::new(1.1).n_components(1).fit(&graph).unwrap();
    let last = near.trace.iterations.last().unwrap().epsilon;
    let resumed =
        Irrq::new(1.0).n_components(1).start(Start::Resumed(near.embedding, last)).fit(&graph).unwrap();
    let sweeps = (resumed.trace.iterations.len(), plain.trace.iterations.len());
    assert!(sweeps.0 < sweeps.1, "from a neighbouring τ there are fewer sweeps to go: {sweeps:?}");
}

/// The paper calls the balance constraint unnecessary for τ < 2; without it a constant column would win.
#[test]
fn a_constant_column_costs_nothing_and_no_embedding_has_one() {
    for graph in some_graphs() {
        let n = graph.n_vertices();
        let constant = Embedding::new(n, 1, vec![(n as f64).sqrt().recip(); n]).unwrap();
        for tau in [0.25, 0.5, 1.0, 1.5, 1.99] {
            assert_eq!(objective::j_tau(&graph, &constant, tau), 0.0);
            for variant in [Variant::Published, Variant::Released, Variant::Weighted] {
                let fit =
                    Irrq::new(tau).n_components(2).variant(variant).max_iterations(8).fit(&graph).unwrap();
                check_constraints(&graph, &Balance::Normalized, &fit.embedding);
                for c in 0..2 {
                    let column = fit.embedding.column(c);
                    let (low, high) =
                        column.iter().fold((0.0, 0.0), |(l, h), &v| (f64::min(l, v), f64::max(h, v)));
                    assert!(low < 0.0 && high > 0.0, "{variant:?} τ = {tau}: column {c} is one-sided");
                }
            }
        }
    }
}

#[test]
fn the_entry_of_largest_magnitude_is_positive_in_every_column() {
    for graph in some_graphs() {
        for (tau, variant) in [(2.0, Variant::Published), (1.0, Variant::Released), (0.5, Variant::Weighted)]
        {
            let fit = Irrq::new(tau).n_components(3).variant(variant).max_iterations(8).fit(&graph).unwrap();
            for c in 0..3 {
                let column = fit.embedding.column(c);
                let largest = column.iter().map(|v| v.abs()).fold(0.0, f64::max);
                let deciding = column.iter().find(|v| v.abs() >= (1.0 - 1e-6) * largest).unwrap();
                assert!(*deciding > 0.0, "{variant:?} τ = {tau}, column {c}");
            }
        }
    }
    // The eigenvector of a path is antisymmetric: both ends are largest, and the first is positive.
    let column = Irrq::new(2.0).fit(&gallery::path(30)).unwrap().embedding.column(0);
    assert!(column[0] > 0.0 && (column[0] + column[29]).abs() < 1e-9);
}

#[test]
fn the_rotation_lowers_j_tau_and_keeps_the_constraints() {
    let graph = gallery::planted(&[25, 20, 15], 0.5, 0.05, 3);
    for tau in [0.5, 1.0, 1.5] {
        let y = Irrq::new(tau).n_components(2).fit(&graph).unwrap().embedding;
        let rotated = rotate::lower_j_tau(&graph, &y, tau);
        let (before, after) = (objective::j_tau(&graph, &y, tau), objective::j_tau(&graph, &rotated, tau));
        assert!(after <= before, "{before} {after}");
        check_constraints(&graph, &Balance::Normalized, &rotated);
    }
    // The paper's H = I is not the best: a random rotation of the answer is brought back below it.
    let y = Irrq::new(1.0).n_components(2).fit(&graph).unwrap().embedding;
    let (s, c) = 0.6_f64.sin_cos();
    let turned: Vec<f64> = (0..y.n_vertices())
        .flat_map(|i| [c * y.row(i)[0] - s * y.row(i)[1], s * y.row(i)[0] + c * y.row(i)[1]])
        .collect();
    let turned = Embedding::new(y.n_vertices(), 2, turned).unwrap();
    let best = objective::j_tau(&graph, &rotate::lower_j_tau(&graph, &turned, 1.0), 1.0);
    assert!(best <= objective::j_tau(&graph, &y, 1.0) * (1.0 + 1e-9));
}

/// Every two-way cut by IRRQ and threshold against the best of all bipartitions.
#[test]
fn two_way_cuts_against_brute_force() {
    let (mut total, mut optimal) = (0, 0);
    for seed in 0..60 {
        let n = 5 + (seed % 4) as usize;
        let graph = gallery::random(n, 0.6, seed);
        for tau in [0.5, 1.0, 1.5, 2.0] {
            let cut = Partitioner::new(2, tau).partition(&graph).unwrap();
            let found = ccn(&graph, &cut.labels, tau).unwrap();
            let best = (1..1_u32 << (n - 1))
                .map(|bits| {
                    let labels: Vec<u32> = (0..n).map(|v| bits >> v & 1).collect();
                    ccn(&graph, &Labels::from_raw(&labels), tau).unwrap()
                })
                .fold(f64::INFINITY, f64::min);
            assert!(found >= best * (1.0 - 1e-12), "below the optimum: {found} {best}");
            assert!(found <= 3.0 * best + 1e-12, "seed {seed}, τ = {tau}: {found} against {best}");
            total += 1;
            optimal += usize::from(found <= best * (1.0 + 1e-9) + 1e-15);
        }
    }
    println!("two-way cuts at the optimum: {optimal} of {total}");
    assert!(optimal * 100 >= 80 * total, "{optimal} of {total}");
}

#[test]
fn exactly_k_parts_for_every_k_and_method() {
    let graphs =
        [gallery::toy(0.5), gallery::star(9), gallery::planted(&[5, 4], 1.0, 0.0, 0), gallery::path(2)];
    for graph in &graphs {
        let n = graph.n_vertices();
        for method in [Method::Multiway, Method::Hierarchical] {
            for k in 1..=n {
                for tau in [2.0, 1.0] {
                    let cut = Partitioner::new(k, tau).method(method).partition(graph).unwrap();
                    assert_eq!(cut.labels.n_segments(), k, "{method:?}, k = {k} of {n}");
                }
            }
            assert!(Partitioner::new(n + 1, 1.0).method(method).partition(graph).is_err());
        }
    }
}

#[test]
fn an_isolated_vertex_is_a_part_of_cost_zero() {
    let graph = Graph::from_edges(6, &[(0, 1, 1.0), (1, 2, 1.0), (3, 4, 0.5), (2, 3, 0.2)]).unwrap();
    for tau in [0.5, 1.0, 2.0] {
        let cut = Partitioner::new(2, tau).partition(&graph).unwrap();
        assert_eq!(cut.labels.as_slice(), &[0, 0, 0, 0, 0, 1]);
        let costs = Costs::of(&graph, &cut.labels, tau).unwrap();
        assert_eq!((costs.cut, costs.ccn, costs.ncheeger), (0.0, 0.0, 0.0));
    }
}

/// A small colour picture with structure and noise.
fn picture(height: usize, width: usize) -> Image {
    let mut random = Random::new(11);
    let pixels = (0..height * width).flat_map(|p| {
        let (r, c) = (p / width, p % width);
        let base = if (r / 13 + c / 17) % 2 == 0 { [0.8, 0.3, 0.2] } else { [0.2, 0.5, 0.7] };
        base.map(|v: f64| (v + 0.03 * random.normal()) as f32)
    });
    Image::new(height, width, 3, pixels.collect()).unwrap()
}

#[test]
fn the_same_bytes_for_every_thread_count_and_run() {
    let image = picture(48, 60);
    for method in [Method::Multiway, Method::Hierarchical] {
        for tau in [2.0, 1.0] {
            let run = || {
                let cut = Segmenter::new(5, tau)
                    .levels(1)
                    .partitioner(|p| p.method(method).irrq(|i| i.max_iterations(8)))
                    .segment(&image)
                    .unwrap();
                (cut.labels, cut.report.without_times())
            };
            let one = pool(1, run);
            for threads in [2, 3] {
                assert_eq!(one, pool(threads, run), "{method:?} τ = {tau}, {threads} threads");
            }
            for _ in 0..7 {
                assert_eq!(one, pool(2, run), "{method:?} τ = {tau}, again");
            }
        }
    }
    let graph = gallery::planted(&[400, 300, 200], 0.05, 0.005, 2);
    let embed = || Irrq::new(1.0).n_components(3).kappa(Kappa::Fraction(0.01)).fit(&graph).unwrap().embedding;
    let one = pool(1, embed);
    assert_eq!(one, pool(2, embed));
}

#[test]
fn images_of_every_awkward_shape_are_cut() {
    let constant = |h: usize, w: usize| Image::new(h, w, 1, vec![0.5; h * w]).unwrap();
    for method in [Method::Multiway, Method::Hierarchical] {
        for tau in [2.0, 1.0] {
            for (h, w) in [(1, 1), (1, 9), (9, 1), (2, 2), (5, 4), (12, 16)] {
                for k in [1, 2, h * w] {
                    if k > h * w {
                        continue;
                    }
                    let cut =
                        Segmenter::new(k, tau).partitioner(|p| p.method(method)).segment(&constant(h, w));
                    let cut = cut.unwrap_or_else(|e| panic!("{h}×{w}, k = {k}, {method:?}, τ = {tau}: {e}"));
                    assert_eq!(cut.labels.n_segments(), k, "{h}×{w}, {method:?}, τ = {tau}");
                }
            }
        }
    }
    assert!(Segmenter::new(5, 1.0).segment(&constant(2, 2)).is_err());
    assert!(Segmenter::new(0, 1.0).segment(&constant(2, 2)).is_err());
}

/// Rectangles of flat colours, some with noise on them: regions tied by anything from 10⁻³⁰⁰ to 1.
fn drawing(random: &mut Random) -> Image {
    let mut side = || 10 + random.below(44);
    let (height, width) = (side(), side());
    let mut pixels = vec![0.0; 3 * height * width];
    for _ in 0..=random.below(8) {
        let colour = [random.uniform(), random.uniform(), random.uniform()];
        let (top, left) = (random.below(height), random.below(width));
        let (below, right) = (top + 1 + random.below(height / 2), left + 1 + random.below(width / 2));
        for p in 0..height * width {
            if (top..below).contains(&(p / width)) && (left..right).contains(&(p % width)) {
                pixels[3 * p..3 * p + 3].copy_from_slice(&colour.map(|c| c as f32));
            }
        }
    }
    if random.below(3) == 0 {
        pixels.iter_mut().for_each(|v| *v = (*v + 0.02 * random.normal() as f32).clamp(0.0, 1.0));
    }
    Image::new(height, width, 3, pixels).unwrap()
}

#[test]
fn flat_drawings_are_cut_by_every_setting() {
    let mut random = Random::new(7);
    let one_of = |random: &mut Random, from: &[f64]| from[random.below(from.len())];
    for draw in 0..60 {
        let image = drawing(&mut random);
        let k = one_of(&mut random, &[2.0, 5.0, 12.0, 25.0]) as usize;
        let (tau, sigma) =
            (one_of(&mut random, &[0.5, 1.0, 1.25, 2.0]), one_of(&mut random, &[0.3, 1.0, 3.0, 5.0, 20.0]));
        let method = [Method::Multiway, Method::Hierarchical][random.below(2)];
        let balance = [Balance::Normalized, Balance::Ratio][random.below(2)].clone();
        let cutter = Segmenter::new(k, tau)
            .affinity(LabAffinity::new(LabKernel::Gaussian { sigma }).smoothing(random.below(3) as f64))
            .levels(random.below(3))
            .partitioner(|p| p.method(method).balance(balance.clone()));
        let cut = cutter.segment(&image).unwrap_or_else(|e| panic!("drawing {draw}, {cutter:?}: {e}"));
        assert_eq!(cut.labels.n_segments(), k, "drawing {draw}");
    }
}

#[test]
fn masked_pixels_belong_to_no_part() {
    let image = picture(40, 44);
    let mask: Vec<bool> = (0..40 * 44).map(|p| (p / 44 + p % 44) % 9 != 0 && p % 44 > 5).collect();
    for method in [Method::Multiway, Method::Hierarchical] {
        for levels in [0, 1, 2] {
            let cut = Segmenter::new(4, 1.0)
                .levels(levels)
                .partitioner(|p| p.method(method))
                .segment_with(&image, Some(&mask), &mut ccbcut::Control::new())
                .unwrap();
            assert_eq!(cut.labels.n_segments(), 4);
            for (label, on) in cut.labels.as_slice().iter().zip(&mask) {
                assert_eq!(*label == ccbcut::LabelMap::VOID, !on);
            }
            assert_eq!(cut.report.n, mask.iter().filter(|&&on| on).count());
        }
    }
}

#[test]
fn every_k_comes_from_one_hierarchical_run_and_is_nested() {
    let cut = Segmenter::new(9, 1.0).levels(1).segment(&picture(40, 44)).unwrap();
    let mut finer: Option<ccbcut::LabelMap> = None;
    for k in (1..=9).rev() {
        let map = cut.labels_for(k).unwrap();
        assert_eq!(map.n_segments(), k);
        if let Some(finer) = &finer {
            let mut parent = vec![None; k + 1];
            for (&child, &part) in finer.as_slice().iter().zip(map.as_slice()) {
                assert_eq!(*parent[child as usize].get_or_insert(part), part, "k = {k} is not nested");
            }
        }
        finer = Some(map);
    }
    assert_eq!(cut.labels_for(9).unwrap(), cut.labels);
    assert!(cut.labels_for(10).is_err());
}
