//! Bisections of gallery graphs, against direct evaluation.

use std::sync::atomic::{AtomicUsize, Ordering as AtomicOrdering};

use super::{super::threshold::naive, *};
use crate::{graph::gallery, labels::Labels};

/// The second eigenvector of Π^-½ L Π^-½, divided by √π.
fn fiedler(graph: &Graph, balance: &Balance, members: &[u32]) -> Result<Vec<f64>> {
    let n = graph.n_vertices();
    assert_eq!(members.len(), n);
    assert!(n > 2 && members.is_sorted() && graph.components().n_segments() == 1);
    let pi = balance.weights(graph)?;
    let mut scaled = faer::Mat::<f64>::zeros(n, n);
    graph.for_each_edge(|i, j, w| {
        scaled[(i, j)] -= w / (pi[i] * pi[j]).sqrt();
        scaled[(j, i)] -= w / (pi[i] * pi[j]).sqrt();
        scaled[(i, i)] += w / pi[i];
        scaled[(j, j)] += w / pi[j];
    });
    let eigen = scaled.self_adjoint_eigen(faer::Side::Lower).unwrap();
    Ok((0..n).map(|i| eigen.U()[(i, 1)] / pi[i].sqrt()).collect())
}

fn keep_on(_: &BisectionStep) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn refines(fine: &Labels, coarse: &Labels) -> bool {
    let mut parent = vec![u32::MAX; fine.n_segments()];
    fine.as_slice().iter().zip(coarse.as_slice()).all(|(&f, &c)| {
        let known = parent[f as usize];
        parent[f as usize] = c;
        known == u32::MAX || known == c
    })
}

fn check(graph: &Graph, balance: &Balance, tau: f64, subgraph_balance: SubgraphBalance) {
    let n = graph.n_vertices();
    let bisection = Bisection::new(n, tau).subgraph_balance(subgraph_balance);
    let tree = bisection.run(graph, balance, fiedler, keep_on).unwrap();
    assert!(tree.is_complete());
    assert_eq!((tree.n_leaves(), tree.n_vertices(), tree.nodes().len()), (n, n, 2 * n - 1));
    let pi = balance.weights(graph).unwrap();
    let ctx = SplitContext { graph, pi: &pi, criterion: Criterion::Ccb { tau } };
    for k in 1..=n {
        let labels = tree.cut(k).unwrap();
        assert_eq!(labels.n_segments(), k);
        assert!(k == 1 || refines(&labels, &tree.cut(k - 1).unwrap()));
        let direct = naive::ccb(&ctx, labels.as_slice());
        assert!((tree.costs()[k - 1] - direct).abs() <= 1e-12 * direct, "k = {k}");
        assert!(direct > 0.0 || tree.costs()[k - 1] == 0.0);
    }
    let short = Bisection::new(n / 2, tau).subgraph_balance(subgraph_balance);
    let short = short.run(graph, balance, fiedler, keep_on).unwrap();
    assert_eq!(short.cut(n / 2).unwrap(), tree.cut(n / 2).unwrap());
}

#[test]
fn every_number_of_parts_comes_out_nested_and_at_the_cost_stated() {
    let mut graphs = vec![
        gallery::toy(0.5),
        gallery::toy(0.0),
        gallery::path(12),
        gallery::cycle(9),
        gallery::star(10),
        gallery::complete(8),
        gallery::grid(4, 5),
        gallery::wide(25, 0.2, 3.0, 1),
        gallery::planted(&[6, 7, 8], 0.8, 0.0, 2),
    ];
    graphs.extend((0..4).map(|seed| gallery::planted(&[10, 12, 14], 0.6, 0.05, seed)));
    graphs.push(Graph::from_edges(6, &[(1, 2, 1.0), (2, 4, 0.5), (4, 4, 3.0)]).unwrap());
    graphs.push(Graph::from_edges(5, &[]).unwrap());
    for graph in &graphs {
        for tau in [0.5, 1.0, 2.0] {
            check(graph, &Balance::Normalized, tau, SubgraphBalance::Own);
            check(graph, &Balance::Ratio, tau, SubgraphBalance::Whole);
        }
        let custom = (0..graph.n_vertices()).map(|i| 1.0 + i as f64 / 7.0).collect();
        check(graph, &Balance::Custom(custom), 1.0, SubgraphBalance::Own);
    }
}

#[test]
fn each_step_is_the_best_of_the_cached_candidates() {
    let graph = gallery::planted(&[8, 9, 10], 0.7, 0.1, 5);
    let pi = Balance::Normalized.weights(&graph).unwrap();
    let ctx = SplitContext { graph: &graph, pi: &pi, criterion: Criterion::Ccb { tau: 1.0 } };
    let tree = Bisection::new(10, 1.0).run(&graph, &Balance::Normalized, fiedler, keep_on).unwrap();
    for k in 1..10 {
        let labels = tree.cut(k).unwrap();
        let mut lowest = f64::INFINITY;
        for part in 0..k as u32 {
            let members: Vec<u32> = (0..27).filter(|&v| labels.as_slice()[v as usize] == part).collect();
            let subgraph = graph.induced(&members);
            if members.len() < 3 || subgraph.components().n_segments() > 1 {
                continue;
            }
            let values = fiedler(&subgraph, &Balance::Normalized, &members).unwrap();
            let split = naive::lowest(&ctx, &members, &values).unwrap();
            let rest: f64 = naive::ccb(&ctx, labels.as_slice()) - naive::part_cost(&ctx, &members);
            lowest = lowest.min(rest + split);
        }
        assert!(tree.costs()[k] <= lowest * (1.0 + 1e-12));
    }
}

#[test]
fn components_are_split_off_first_and_cost_nothing() {
    let graph = gallery::planted(&[5, 6, 7], 1.0, 0.0, 3);
    let calls = AtomicUsize::new(0);
    let embed = |graph: &Graph, balance: &Balance, members: &[u32]| {
        calls.fetch_add(1, AtomicOrdering::Relaxed);
        fiedler(graph, balance, members)
    };
    let tree = Bisection::new(3, 1.0).run(&graph, &Balance::Normalized, embed, keep_on).unwrap();
    assert_eq!(tree.costs(), &[0.0; 3]);
    assert_eq!(tree.cut(3).unwrap(), graph.components());
    // One call: the component split off first is looked at beside the rest, which is not connected.
    assert_eq!(calls.into_inner(), 1);
}

#[test]
fn an_isolated_vertex_becomes_a_part() {
    let tree = Bisection::new(2, 1.0).run(&gallery::toy(0.0), &Balance::Normalized, fiedler, keep_on);
    assert_eq!(tree.unwrap().cut(2).unwrap().as_slice(), &[0, 0, 0, 0, 0, 0, 1]);
}

#[test]
fn a_constant_embedding_still_gives_every_part() {
    let flat = |_: &Graph, _: &Balance, members: &[u32]| Ok(vec![0.25; members.len()]);
    let graph = gallery::star(7);
    let tree = Bisection::new(7, 1.0).run(&graph, &Balance::Ratio, flat, keep_on).unwrap();
    assert!((1..=7).all(|k| tree.cut(k).unwrap().n_segments() == k));
    assert_eq!(tree.cut(2).unwrap().as_slice(), &[0, 1, 0, 0, 0, 0, 0]);
}

#[test]
fn the_observer_sees_every_step_and_may_stop() {
    let graph = gallery::path(9);
    let mut seen = Vec::new();
    let tree = Bisection::new(6, 2.0).run(&graph, &Balance::Ratio, fiedler, |step| {
        seen.push(*step);
        if step.n_segments == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let tree = tree.unwrap();
    assert!(!tree.is_complete());
    assert_eq!(tree.n_leaves(), 4);
    assert_eq!(seen.iter().map(|s| s.n_segments).collect::<Vec<_>>(), vec![2, 3, 4]);
    assert!(seen.iter().all(|s| s.target == 6 && s.cost == tree.costs()[s.n_segments - 1]));
    assert!(tree.cut(5).is_err());
    let done = Bisection::new(2, 2.0).run(&graph, &Balance::Ratio, fiedler, |_| ControlFlow::Break(()));
    assert!(done.unwrap().is_complete());
}

#[test]
fn the_embedding_sees_the_balance_asked_for() {
    let graph = gallery::path(6);
    for (choice, expected) in [
        (SubgraphBalance::Own, Balance::Normalized),
        (SubgraphBalance::Whole, Balance::Custom(graph.degrees().to_vec())),
    ] {
        let embed = |graph: &Graph, balance: &Balance, members: &[u32]| {
            assert!(members.len() < 6 || balance == &expected);
            fiedler(graph, balance, members)
        };
        let bisection = Bisection::new(3, 1.0).subgraph_balance(choice);
        bisection.run(&graph, &Balance::Normalized, embed, keep_on).unwrap();
    }
}

#[test]
fn invalid_input_is_named() {
    let graph = gallery::path(4);
    let run = |k, tau| Bisection::new(k, tau).run(&graph, &Balance::Ratio, fiedler, keep_on);
    assert!(matches!(run(0, 1.0), Err(Error::InvalidParameter { name: "n_segments", .. })));
    assert_eq!(run(5, 1.0), Err(Error::TooFewVertices { vertices: 4, segments: 5 }));
    for tau in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(run(2, tau), Err(Error::TauOutOfRange { .. })));
    }
    let bad = |values: Vec<f64>| {
        Bisection::new(2, 1.0).run(&graph, &Balance::Ratio, move |_, _, _| Ok(values.clone()), keep_on)
    };
    assert!(matches!(bad(vec![1.0]), Err(Error::ShapeMismatch { expected: 4, got: 1, .. })));
    assert!(matches!(bad(vec![1.0, 2.0, f64::NAN, 0.0]), Err(Error::NotFinite { index: 2, .. })));
}

#[test]
fn parts_stay_above_the_least_size_while_that_is_possible() {
    // A path with a weak tie near its end: τ → 0 would cut off the last vertex.
    let mut edges: Vec<(u32, u32, f64)> = (0..11).map(|v| (v, v + 1, 1.0)).collect();
    edges[10].2 = 0.01;
    let graph = Graph::from_edges(12, &edges).unwrap();
    let embed = |_: &Graph, _: &Balance, m: &[u32]| Ok(m.iter().map(|&v| f64::from(v)).collect());
    let sizes = |k: usize, min_size: usize| {
        let tree = Bisection::new(k, 0.2)
            .min_size(min_size)
            .run(&graph, &Balance::Ratio, embed, |_| ControlFlow::Continue(()));
        let tree = tree.unwrap();
        (1..=k).map(|k| tree.cut(k).unwrap().sizes().into_iter().min().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(sizes(2, 1), [12, 1]);
    assert_eq!(sizes(4, 3), [12, 6, 3, 3]);
    // Five parts of three or more cannot be had from twelve vertices: the fifth is a last resort.
    assert_eq!(sizes(5, 3), [12, 6, 3, 3, 1]);
    assert_eq!(sizes(12, 6).last(), Some(&1));
}

#[test]
fn a_disconnected_part_is_split_through_its_largest_component_when_the_others_are_too_small() {
    // A path of eight and two loose vertices.
    let edges: Vec<(u32, u32, f64)> = (0..7).map(|v| (v, v + 1, 1.0)).collect();
    let graph = Graph::from_edges(10, &edges).unwrap();
    let embed = |_: &Graph, _: &Balance, m: &[u32]| Ok(m.iter().map(|&v| f64::from(v)).collect());
    let run = |k: usize, min_size: usize| {
        let bisection = Bisection::new(k, 1.0).min_size(min_size);
        bisection.run(&graph, &Balance::Ratio, embed, |_| ControlFlow::Continue(())).unwrap()
    };
    assert_eq!(run(2, 1).cut(2).unwrap().sizes(), [8, 2]);
    let halves = run(3, 4);
    assert_eq!(halves.cut(2).unwrap().sizes(), [5, 5]);
    // No part can be split into parts of four: then the loose vertices go first, as without a least size.
    assert_eq!(halves.cut(3).unwrap().sizes(), [5, 4, 1]);
}

#[test]
fn components_of_the_whole_graph_are_dealt_into_two_bins() {
    let graph = gallery::planted(&[5, 4, 3, 2], 1.0, 0.0, 1);
    let sizes = |pieces: Pieces| {
        let tree =
            Bisection::new(2, 1.0).pieces(pieces).run(&graph, &Balance::Ratio, fiedler, keep_on).unwrap();
        assert_eq!(tree.costs()[1], 0.0);
        tree.cut(2).unwrap().sizes()
    };
    assert_eq!(sizes(Pieces::Thorough), [7, 7]);
    assert_eq!(sizes(Pieces::Peel), [5, 9]);
}

#[test]
fn a_part_in_pieces_may_be_split_inside_a_piece() {
    // Two dumbbells hang on a triangle, one of them heavily by one end: cut off together, they are a part in two
    // pieces, and the loose end of that dumbbell is better cut off than the two are parted.
    let mut edges = vec![(0, 1, 9.0), (1, 2, 9.0), (0, 2, 9.0)];
    for (first, at, tie) in [(3, 0, 1.0), (9, 1, 0.01)] {
        for clique in [first, first + 3] {
            edges.extend([
                (clique, clique + 1, 5.0),
                (clique + 1, clique + 2, 5.0),
                (clique, clique + 2, 5.0),
            ]);
        }
        edges.extend([(first, first + 3, 0.01), (first + 1, at, tie), (first + 4, at, 0.01)]);
    }
    let graph = Graph::from_edges(15, &edges).unwrap();
    let pi = Balance::Ratio.weights(&graph).unwrap();
    let criterion = Criterion::Cheeger;
    let best = |pieces: Pieces| {
        let settings = Bisection::new(2, 1.0).criterion(criterion).pieces(pieces);
        let ctx = SplitContext { graph: &graph, pi: &pi, criterion };
        let splitter =
            Splitter { ctx, balance: &Balance::Ratio, settings: &settings, min_size: 1, embed: fiedler };
        let members: Vec<u32> = (3..15).collect();
        splitter.best_split(&members).unwrap().unwrap().cost(criterion)
    };
    assert!(best(Pieces::Thorough) < 0.7 * best(Pieces::Peel));
}
