//! Trees grown from their leaves, against joining by definition.

use std::ops::ControlFlow;

use super::*;
use crate::{
    cost::PartSums,
    graph::{Balance, gallery},
    partition::Bisection,
};

/// The tree with its first parts joined by the ties of the graph itself.
fn joined_again(tree: &Tree, graph: &Graph, pi: &[f64], criterion: Criterion, n_parts: usize) -> Tree {
    let own = Contracted::new(graph, &tree.cut(n_parts).unwrap(), pi).unwrap();
    rejoined(tree, n_parts, &own, &own, criterion).unwrap()
}

/// Splits in the order of the vertices' numbers, which is as good as any here.
fn bisected(graph: &Graph, balance: &Balance, criterion: Criterion, k: usize) -> Tree {
    let embed = |_: &Graph, _: &Balance, members: &[u32]| Ok(members.iter().map(|&v| f64::from(v)).collect());
    let bisection = Bisection::new(k, 1.0).criterion(criterion);
    bisection.run(graph, balance, embed, |_| ControlFlow::Continue(())).unwrap()
}

/// The cost of cutting two parts apart, inside the two of them, with the sizes that they have in the whole graph.
fn apart(graph: &Graph, pi: &[f64], labels: &Labels, criterion: Criterion, [a, b]: [u32; 2]) -> f64 {
    let label = labels.as_slice();
    let (mut cut, mut sizes) = (0.0, [0.0, 0.0]);
    graph.for_each_edge(|i, j, w| {
        if [label[i], label[j]] == [a, b] || [label[i], label[j]] == [b, a] {
            cut += w;
        }
    });
    for (&l, &pi) in label.iter().zip(pi) {
        sizes[0] += if l == a { pi } else { 0.0 };
        sizes[1] += if l == b { pi } else { 0.0 };
    }
    criterion.total(sizes.map(|size| criterion.term(cut, size)))
}

#[test]
fn the_pair_that_is_hardest_to_cut_apart_is_joined_every_time() {
    let criteria = [0.5, 1.25, 2.0].map(|tau| Criterion::Ccb { tau });
    for seed in 0..12 {
        let graph = gallery::wide(26, 0.3, 2.0, seed);
        for balance in [Balance::Normalized, Balance::Ratio] {
            let pi = balance.weights(&graph).unwrap();
            for criterion in [&criteria[..], &[Criterion::Cheeger]].concat() {
                let tree = bisected(&graph, &balance, criterion, 13);
                let joined = joined_again(&tree, &graph, &pi, criterion, 9);
                assert_eq!((joined.n_leaves(), joined.n_vertices()), (13, 26));
                for k in 9..=13 {
                    assert_eq!(joined.cut(k).unwrap(), tree.cut(k).unwrap(), "splits below stay");
                }
                for k in (2..=9).rev() {
                    let fine = joined.cut(k).unwrap();
                    let pairs = (0..k as u32).flat_map(|a| (0..a).map(move |b| [a, b]));
                    let cost = |pair: [u32; 2]| apart(&graph, &pi, &fine, criterion, pair);
                    let worst = pairs.clone().map(cost).fold(0.0, f64::max);
                    let coarse = joined.cut(k - 1).unwrap();
                    let is_one = |&[a, b]: &[u32; 2]| {
                        let of = |l: u32| fine.as_slice().iter().position(|&x| x == l).unwrap();
                        coarse.as_slice()[of(a)] == coarse.as_slice()[of(b)]
                    };
                    let chosen: Vec<[u32; 2]> = pairs.filter(is_one).collect();
                    assert_eq!(chosen.len(), 1, "one pair becomes one");
                    assert!(cost(chosen[0]) >= worst * (1.0 - 1e-12), "{seed} {criterion:?} k = {k}");
                }
            }
        }
    }
}

#[test]
fn costs_are_those_of_the_partitions() {
    for (graph, seed) in (0..6).map(|seed| (gallery::planted(&[9, 8, 7], 0.5, 0.1, seed), seed)) {
        for criterion in [Criterion::Ccb { tau: 1.25 }, Criterion::Ratio, Criterion::Cheeger] {
            let tree = bisected(&graph, &Balance::Normalized, criterion, 12);
            let joined = joined_again(&tree, &graph, graph.degrees(), criterion, 12);
            for k in 1..=12 {
                let sums = PartSums::new(&graph, &joined.cut(k).unwrap(), graph.degrees()).unwrap();
                let (direct, told) = (criterion.of(&sums), joined.costs()[k - 1]);
                assert!(
                    (told - direct).abs() <= 1e-12 * direct,
                    "{seed} {criterion:?} k = {k}: {told} {direct}"
                );
            }
            let short = joined.clone().truncated(5);
            assert_eq!((short.n_leaves(), short.nodes().len(), short.costs().len()), (5, 9, 5));
            for k in 1..=5 {
                assert_eq!(short.cut(k).unwrap(), joined.cut(k).unwrap());
            }
            let is_sorted = |node: usize| short.members(node).unwrap().is_sorted();
            assert!((0..9).filter(|&n| short.nodes()[n].children().is_none()).all(is_sorted));
        }
    }
}

#[test]
fn a_border_through_the_middle_is_taken_back() {
    // A chain of four blobs, the two in the middle tied most; splits in the order of the numbers begin in the middle.
    let mut edges: Vec<(u32, u32, f64)> = Vec::new();
    for blob in 0..4 {
        for i in 0..5 {
            edges.extend((0..i).map(|j| (5 * blob + i, 5 * blob + j, 1.0)));
        }
    }
    edges.extend([(4, 5, 0.1), (9, 10, 3.0), (14, 15, 0.1)]);
    let graph = Graph::from_edges(20, &edges).unwrap();
    let halves = |_: &Graph, _: &Balance, members: &[u32]| {
        let width = if members.len() == 20 { 10 } else { 5 };
        Ok(members.iter().map(|&v| f64::from(v / width)).collect())
    };
    let tree =
        Bisection::new(4, 2.0).run(&graph, &Balance::Normalized, halves, |_| ControlFlow::Continue(()));
    let tree = tree.unwrap();
    assert_eq!(tree.cut(2).unwrap().sizes(), [10, 10]);
    assert_ne!(tree.cut(3).unwrap().sizes(), [5, 10, 5]);
    let joined = joined_again(&tree, &graph, graph.degrees(), Criterion::Ccb { tau: 1.25 }, 4);
    assert_eq!(joined.cut(3).unwrap().sizes(), [5, 10, 5]);
}

#[test]
fn parts_without_a_tie_are_joined_the_smallest_first() {
    let graph = gallery::planted(&[6, 2, 5, 3], 1.0, 0.0, 1);
    let criterion = Criterion::Ccb { tau: 1.0 };
    let tree = bisected(&graph, &Balance::Ratio, criterion, 4);
    assert_eq!(tree.cut(4).unwrap(), graph.components());
    let joined = joined_again(&tree, &graph, &[1.0; 16], criterion, 4);
    assert_eq!(joined.cut(3).unwrap().sizes(), [6, 5, 5]);
    assert_eq!(joined.costs(), [0.0; 4]);
}

#[test]
fn splits_that_leave_too_little_stay_below() {
    // A path of twenty has at most four parts of five.
    let (graph, criterion) = (gallery::path(20), Criterion::Ccb { tau: 2.0 });
    let embed = |_: &Graph, _: &Balance, m: &[u32]| Ok(m.iter().map(|&v| f64::from(v)).collect());
    let bisection = Bisection::new(6, 2.0).min_size(5);
    let tree = bisection.run(&graph, &Balance::Ratio, embed, |_| ControlFlow::Continue(())).unwrap();
    let most = n_joined(&tree, 6, 5);
    assert!(most < 6 && tree.cut(most).unwrap().sizes().iter().all(|&size| size >= 5));
    let joined = joined_again(&tree, &graph, &[1.0; 20], criterion, most);
    for k in 1..=most {
        assert!(joined.cut(k).unwrap().sizes().iter().all(|&size| size >= 5), "k = {k}");
    }
    assert_eq!(joined.cut(6).unwrap(), tree.cut(6).unwrap());
    let cases = [(60, 479), (60, 480), (0, 1000), (400, 2400), (400, 959)];
    assert_eq!(cases.map(|(asked, n)| n_fine(asked, n)), [0, 60, 0, 300, 0]);
}
