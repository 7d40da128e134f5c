//! The other solvers: against stored results of the public code, against all cuts of small graphs, side by side.

use ccbcut::{
    Balance, Graph, Labels, Partitioner, Solver,
    cost::{Costs, Criterion, PartSums},
    graph::gallery,
    partition::{BalancedCut, Refine},
    random::Random,
};
use serde_json::Value;

use crate::support::golden_dir;

/// Graphs of the table of rates, unless `CCBCUT_RATE_GRAPHS` says otherwise.
const RATE_GRAPHS: usize = 50;

fn stored(test: &str) -> Option<Value> {
    let path = golden_dir(test)?.join("cheeger_graphs.json");
    Some(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
}

fn graph_of(stored: &Value) -> Graph {
    let number = |v: &Value| v.as_f64().unwrap();
    let edge = |e: &Value| (number(&e[0]) as u32, number(&e[1]) as u32, number(&e[2]));
    let edges: Vec<_> = stored["edges"].as_array().unwrap().iter().map(edge).collect();
    Graph::from_edges(stored["n"].as_u64().unwrap() as usize, &edges).unwrap()
}

fn cost_of(graph: &Graph, labels: &Labels, balance: &Balance, criterion: Criterion) -> f64 {
    criterion.of(&PartSums::new(graph, labels, &balance.weights(graph).unwrap()).unwrap())
}

#[test]
fn cheeger_cuts_are_those_of_brute_force_or_no_worse_than_the_public_code() {
    let Some(all) = stored("cheeger_cuts_are_those_of_brute_force_or_no_worse_than_the_public_code") else {
        return;
    };
    for (name, case) in all.as_object().unwrap() {
        let graph = graph_of(case);
        let kinds = [
            ("ncc", Balance::Normalized, Criterion::Cheeger),
            ("rcc", Balance::Ratio, Criterion::Cheeger),
            ("ncut", Balance::Normalized, Criterion::Ratio),
            ("rcut", Balance::Ratio, Criterion::Ratio),
        ];
        for (kind, balance, criterion) in kinds {
            let run = |k: usize| {
                let cut = Partitioner::new(k, 1.0)
                    .solver(Solver::Ipm)
                    .criterion(criterion)
                    .balance(balance.clone());
                cost_of(&graph, &cut.partition(&graph).unwrap().labels, &balance, criterion)
            };
            if let Some(lowest) = case["brute_force_2way"][kind]["value"].as_f64() {
                let found = run(2);
                assert!((found - lowest).abs() <= 1e-9 * lowest, "{name} {kind}: {found}, not {lowest}");
            }
            for k in 2..=4 {
                let public = &case["ipm"][format!("{kind}_k{k}")];
                let Some(reached) = public["cheeger"].as_f64() else { continue };
                let found = run(k);
                println!("{name} {kind} k = {k}: {found:.9}, public code {reached:.9}");
                // A better first split can lead a greedy recursion to a worse end: then only the start is compared.
                let first = public["steps"][0].as_f64().unwrap_or(reached);
                let is_other_way = k > 2 && run(2) < first * (1.0 - 1e-6);
                assert!(
                    found <= 1.01 * reached || is_other_way,
                    "{name} {kind} k = {k}: {found}, not {reached}"
                );
            }
        }
    }
}

#[test]
fn solvers_side_by_side_on_a_stored_image() {
    let Some(all) = stored("solvers_side_by_side_on_a_stored_image") else { return };
    let graph = graph_of(&all["img16x20"]);
    let criterion = Criterion::Ccb { tau: 1.0 };
    for k in [2, 4] {
        let run = |solver: Solver, is_refined: bool| {
            let cut = Partitioner::new(k, 1.0).solver(solver).refine(is_refined).partition(&graph).unwrap();
            (cost_of(&graph, &cut.labels, &Balance::Normalized, criterion), cut.labels)
        };
        let (irrq, labels) = run(Solver::Irrq, false);
        let (refined, _) = run(Solver::Irrq, true);
        let (dca, _) = run(Solver::RatioDca, false);
        let (ipm, _) = run(Solver::Ipm, false);
        let after = Refine::new(criterion).run(&graph, &labels, &Balance::Normalized).unwrap();
        let after = cost_of(&graph, &after, &Balance::Normalized, criterion);
        println!(
            "CCN1 at k = {k}: irrq {irrq:.6}, splits refined {refined:.6}, refined {after:.6}, ratiodca {dca:.6}, ipm {ipm:.6}"
        );
        assert!(after <= irrq);
        if k == 2 {
            assert!(refined <= irrq && dca <= 1.001 * irrq && dca <= ipm);
            let side: Vec<bool> = labels.as_slice().iter().map(|&l| l == 1).collect();
            let polished = BalancedCut::new(criterion).polish(&graph, &Balance::Normalized, &side).unwrap();
            assert!(polished.cost(criterion) <= irrq);
        }
    }
}

#[test]
fn threads_do_not_change_the_cuts() {
    let graph = gallery::planted(&[60, 50, 40], 0.3, 0.05, 4);
    let run = |threads: usize, solver: Solver| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| Partitioner::new(3, 1.0).solver(solver).refine(true).partition(&graph).unwrap())
    };
    for solver in [Solver::Ipm, Solver::RatioDca, Solver::Soc] {
        let (one, many) = (run(1, solver), run(4, solver));
        assert_eq!(one.labels, many.labels);
        let costs = |p: &ccbcut::Partition| {
            p.tree.as_ref().unwrap().costs().iter().map(|c| c.to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(costs(&one), costs(&many), "{solver:?}");
    }
}

/// The costs of the table: name, π, criterion, τ of the embeddings.
fn costs() -> [(&'static str, Balance, Criterion, f64); 4] {
    [
        ("CCN1", Balance::Normalized, Criterion::Ccb { tau: 1.0 }, 1.0),
        ("CCR1", Balance::Ratio, Criterion::Ccb { tau: 1.0 }, 1.0),
        ("NCut", Balance::Normalized, Criterion::Ratio, 2.0),
        ("NCheeger", Balance::Normalized, Criterion::Cheeger, 1.0),
    ]
}

/// The lowest cost of all two-way cuts.
fn lowest(graph: &Graph, balance: &Balance, criterion: Criterion) -> f64 {
    let (n, pi) = (graph.n_vertices(), balance.weights(graph).unwrap());
    let mut edges = Vec::new();
    graph.for_each_edge(|i, j, w| edges.push((i, j, w)));
    let whole: f64 = pi.iter().sum();
    let cost = |set: u32| {
        let is_inside = |i: usize| set >> i & 1 == 1;
        let cut: f64 = edges.iter().filter(|e| is_inside(e.0) != is_inside(e.1)).map(|e| e.2).sum();
        let size: f64 = (0..n).filter(|&i| is_inside(i)).map(|i| pi[i]).sum();
        criterion.total([criterion.term(cut, size), criterion.term(cut, whole - size)])
    };
    (1..1 << (n - 1)).map(cost).fold(f64::INFINITY, f64::min)
}

/// Connected, 4 to 10 vertices, weights over a decade or two.
fn small_graph(seed: u64) -> Graph {
    let mut random = Random::new(seed);
    let (n, density, decades) =
        (4 + random.below(7), 0.1 + 0.5 * random.uniform(), 0.3 + 0.7 * random.uniform());
    gallery::wide(n, density, decades, seed)
}

/// In how many of a hundred graphs each method, first plain and then refined, reaches the lowest cost.
fn rates(n_graphs: usize) -> Vec<(Solver, bool, [f64; 4])> {
    let mut table = Vec::new();
    for solver in Solver::ALL {
        for is_refined in [false, true] {
            let rate = costs().map(|(_, balance, criterion, tau)| {
                let reached = (0..n_graphs as u64).filter(|&seed| {
                    let graph = small_graph(seed);
                    let cut =
                        Partitioner::new(2, tau).solver(solver).balance(balance.clone()).refine(is_refined);
                    let cut = cut.criterion(criterion).n_starts(2).partition(&graph).unwrap();
                    let found = cost_of(&graph, &cut.labels, &balance, criterion);
                    found <= lowest(&graph, &balance, criterion) * (1.0 + 1e-9)
                });
                100.0 * reached.count() as f64 / n_graphs as f64
            });
            table.push((solver, is_refined, rate));
        }
    }
    table
}

#[test]
fn solvers_reach_the_best_of_all_cuts_as_often_as_stated() {
    let n_graphs =
        std::env::var("CCBCUT_RATE_GRAPHS").ok().and_then(|n| n.parse().ok()).unwrap_or(RATE_GRAPHS);
    let table = rates(n_graphs);
    println!("of {n_graphs} graphs, percent at the lowest cost: {}", costs().map(|c| c.0).join(", "));
    for (solver, is_refined, rate) in &table {
        println!("{:<10}{:<8}{rate:?}", solver.name(), if *is_refined { "refined" } else { "" });
    }
    if n_graphs == RATE_GRAPHS {
        for (row, stated) in table.iter().zip(STATED) {
            let is_near = row.2.iter().zip(stated).all(|(got, want)| (got - want).abs() <= 2.0);
            assert!(is_near, "{:?}: {:?}, not {stated:?}", (row.0, row.1), row.2);
        }
    }
    for pair in table.chunks(2) {
        let (plain, refined) = (pair[0].2, pair[1].2);
        assert!(refined.iter().zip(plain).all(|(after, before)| *after >= before), "{:?}", pair[0].0);
        let least = if pair[0].0 == Solver::RatioDca { 95.0 } else { 80.0 };
        assert!(refined.iter().all(|&rate| rate >= least), "{:?}: {refined:?}", pair[0].0);
    }
}

/// The table of [`RATE_GRAPHS`] graphs; that of 1,000 is in `docs/concepts/rivals.md`.
const STATED: [[f64; 4]; 8] = [
    [60.0, 92.0, 92.0, 86.0],
    [100.0, 100.0, 98.0, 100.0],
    [100.0, 100.0, 98.0, 98.0],
    [100.0, 100.0, 98.0, 100.0],
    [76.0, 92.0, 92.0, 82.0],
    [100.0, 100.0, 98.0, 100.0],
    [100.0, 100.0, 98.0, 98.0],
    [100.0, 100.0, 98.0, 100.0],
];

#[test]
fn every_cost_is_finite_for_every_solver_on_awkward_graphs() {
    let graphs = [
        gallery::toy(0.0),
        gallery::star(7),
        gallery::complete(5),
        gallery::planted(&[4, 4, 1], 1.0, 0.0, 1),
    ];
    for graph in &graphs {
        for solver in Solver::ALL {
            for k in 1..=graph.n_vertices() {
                let cut = Partitioner::new(k, 1.0).solver(solver).refine(true).partition(graph).unwrap();
                assert_eq!(cut.labels.n_segments(), k, "{solver:?}");
                assert!(Costs::of(graph, &cut.labels, 1.0).unwrap().ncheeger.is_finite());
            }
        }
    }
}
