//! What the paper says, checked: tests are named after the figure or equation they pin.
//!
//! The numbers in `oracle/` come from an independent prototype; see `docs/paper-map.md` for where the code departs
//! from the paper's letter.

use ccbcut::{
    Balance, Graph, Labels,
    cost::{
        Costs, PartSums, balanced_cut, buhler_hein_balance, buhler_hein_normalized, buhler_hein_ratio,
        ccb_cut, ccn, ccr, conservative_balance, cut, ncut, normalized_cheeger, ratio_cheeger, rcut,
    },
    graph::gallery,
    linalg::{LinearOperator, dot},
};
use serde_json::Value;

const TOY_CURVES: &str = include_str!("oracle/toy_curves.json");
const IDENTITIES: &str = include_str!("oracle/identities.json");
const GRAPH60: &str = include_str!("oracle/graph60.json");
const GRAPH60_GRAPH: &str = include_str!("oracle/graph60_graph.json");

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn close(a: f64, b: f64, relative: f64) -> bool {
    a == b || (a - b).abs() <= relative * a.abs().max(b.abs())
}

// ---- Figures 1 to 3: the toy graph ------------------------------------------------------------------------------

/// The two partitions of Fig. 1: (b) vertex 6 alone, and (c) the triangles apart, vertex 6 with either.
const SINGLETON: [u32; 7] = [0, 0, 0, 0, 0, 0, 1];
const BALANCED: [u32; 7] = [0, 0, 0, 1, 1, 1, 1];
const MIRRORED: [u32; 7] = [0, 0, 0, 1, 1, 1, 0];

type Cost = dyn Fn(&Graph, &Labels) -> f64;

/// The cheapest of the 63 bipartitions of the toy graph; ties go to the first.
fn cheapest(alpha: f64, cost: &Cost) -> Labels {
    let toy = gallery::toy(alpha);
    let bipartitions = (1..64_u32).map(|bits| {
        let raw: Vec<u32> = (0..7).map(|vertex| (bits << 1 >> vertex) & 1).collect();
        Labels::from_raw(&raw)
    });
    let scored = bipartitions.map(|labels| (cost(&toy, &labels), labels));
    scored.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap().1
}

fn singleton_wins(alpha: f64, cost: &Cost) -> bool {
    cheapest(alpha, cost).as_slice() == SINGLETON
}

/// α below which splitting off vertex 6 is cheapest, by bisection in ln α: 0 for never, 1 for always.
fn bifurcation(cost: &Cost) -> f64 {
    let (mut low, mut high) = (1e-60_f64.ln(), (1.0_f64 - 1e-9).ln());
    if singleton_wins(high.exp(), cost) {
        return 1.0;
    }
    if !singleton_wins(low.exp(), cost) {
        return 0.0;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if singleton_wins(middle.exp(), cost) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (0.5 * (low + high)).exp()
}

fn check_curve(name: &str, cost: impl Fn(&Graph, &Labels, f64) -> f64 + Copy + 'static) {
    let curves = json(TOY_CURVES);
    let points = curves["curves"][name].as_array().unwrap();
    assert!(points.len() >= 6);
    for point in points {
        let knob = point[0].as_f64().unwrap_or(f64::INFINITY);
        let expected = point[1].as_f64().unwrap();
        let found = bifurcation(&move |graph, labels| cost(graph, labels, knob));
        // p → 1⁺ is tabulated at p = 1.0001; everything else is exact to many digits.
        assert!(close(found, expected, 1e-3), "{name} at {knob}: found {found}, expected {expected}");
    }
}

#[test]
fn figure_1_cut_isolates_the_weak_vertex_and_ncut_never_does() {
    for alpha in [1e-300, 1e-12, 1e-3, 0.1, 0.5, 0.999] {
        assert!(singleton_wins(alpha, &|graph, labels| cut(graph, labels).unwrap()), "{alpha}");
        let winner = cheapest(alpha, &|graph, labels| ncut(graph, labels).unwrap());
        assert!([&BALANCED[..], &MIRRORED].contains(&winner.as_slice()), "{alpha}: {winner:?}");
    }
}

#[test]
fn figure_1_rcut_switches_at_two_thirds() {
    let found = bifurcation(&|graph, labels| rcut(graph, labels).unwrap());
    assert!((found - 2.0 / 3.0).abs() < 1e-12, "{found}");
}

#[test]
fn figure_2_buhler_hein_curves() {
    check_curve("BHN", |graph, labels, p| buhler_hein_normalized(graph, labels, p).unwrap());
    check_curve("BHR", |graph, labels, p| buhler_hein_ratio(graph, labels, p).unwrap());
}

#[test]
fn figure_3_conservative_curves() {
    check_curve("CCN", |graph, labels, tau| ccn(graph, labels, tau).unwrap());
    check_curve("CCR", |graph, labels, tau| ccr(graph, labels, tau).unwrap());
}

#[test]
fn figure_3_every_alpha_bifurcates_for_some_tau() {
    for alpha in [1e-20, 1e-9, 1e-3, 0.05, 0.3, 2.0 / 3.0, 0.9, 0.999] {
        // CCN: the weak vertex alone for small τ, never from τ = 2 on. CCR may need τ > 2.
        assert!(singleton_wins(alpha, &|graph, labels| ccn(graph, labels, 0.1).unwrap()));
        assert!(!singleton_wins(alpha, &|graph, labels| ccn(graph, labels, 2.0).unwrap()));
        assert!(singleton_wins(alpha, &|graph, labels| ccr(graph, labels, 0.1).unwrap()));
        let switches = (1..400).any(|step| {
            let tau = 0.5 * f64::from(step);
            !singleton_wins(alpha, &move |graph, labels| ccr(graph, labels, tau).unwrap())
        });
        assert!(switches, "{alpha}");
    }
}

#[test]
fn figure_3_only_the_two_partitions_of_the_figure_win() {
    for step in 1..=40 {
        let tau = 0.1 * f64::from(step);
        for alpha in [1e-18, 1e-6, 0.01, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 0.999] {
            let costs: [&Cost; 2] =
                [&move |graph, labels| ccn(graph, labels, tau).unwrap(), &move |graph, labels| {
                    ccr(graph, labels, tau).unwrap()
                }];
            for cost in costs {
                let winner = cheapest(alpha, cost);
                let expected = [&SINGLETON[..], &BALANCED, &MIRRORED];
                assert!(expected.contains(&winner.as_slice()), "tau {tau}, alpha {alpha}: {winner:?}");
            }
        }
    }
}

// ---- Equations (3) to (5): the balance functions ----------------------------------------------------------------

const SHARES: [f64; 9] = [0.0, 1e-12, 1e-3, 0.1, 0.25, 0.4, 0.5, 0.75, 1.0];

#[test]
fn equation_4_phi_at_infinity_is_the_root_of_phi_2() {
    for v in SHARES {
        let infinite = buhler_hein_balance(f64::INFINITY, v).unwrap();
        assert!(close(infinite, buhler_hein_balance(2.0, v).unwrap().sqrt(), 1e-14), "{v}");
    }
}

#[test]
fn equation_5_psi_is_a_power_of_phi() {
    for v in SHARES {
        for p in [1.01, 1.1, 1.5, 2.0, 3.0, 5.0, 41.0] {
            let psi = conservative_balance(2.0 / (p - 1.0), v).unwrap();
            let phi = buhler_hein_balance(p, v).unwrap().powf(1.0 / (p - 1.0));
            assert!(close(psi, phi, 1e-11), "p {p}, v {v}: {psi} {phi}");
        }
        let psi = conservative_balance(2.0, v).unwrap();
        assert!(close(psi, buhler_hein_balance(2.0, v).unwrap(), 1e-14), "Psi_2 = Phi_2 at {v}");
        assert_eq!(conservative_balance(0.0, v).unwrap(), 1.0, "Psi_0 = 1 at {v}");
        let indicator = f64::from(u8::from(v == 0.5));
        assert_eq!(conservative_balance(f64::INFINITY, v).unwrap(), indicator);
    }
}

#[test]
fn equation_5_psi_rises_to_1_as_tau_falls() {
    for v in [1e-6, 0.1, 0.3, 0.49] {
        let values: Vec<f64> =
            (0..200).map(|s| conservative_balance(0.02 * f64::from(s), v).unwrap()).collect();
        assert!(values.is_sorted_by(|a, b| a > b), "{v}");
        for p in [1.2, 2.0, 7.0, 1e6] {
            let phi = buhler_hein_balance(p, v).unwrap();
            assert!((0.0..1.0).contains(&phi) && phi < buhler_hein_balance(p * 1.5, v).unwrap());
        }
    }
}

// ---- Equations (1), (2), (6), (7): the costs --------------------------------------------------------------------

/// The gallery graphs of at most 8 vertices, and two more: one with self-loops, one with isolated vertices.
fn small_graphs() -> Vec<Graph> {
    let loops = [(0, 1, 1.0), (1, 2, 0.5), (2, 3, 2.0), (0, 0, 3.0), (3, 3, 0.25), (0, 3, 0.1)];
    vec![
        gallery::toy(0.3),
        gallery::toy(0.0),
        gallery::path(2),
        gallery::path(7),
        gallery::cycle(6),
        gallery::star(8),
        gallery::complete(5),
        gallery::grid(2, 4),
        gallery::planted(&[4, 3], 0.9, 0.2, 5),
        gallery::random(8, 0.6, 1),
        gallery::wide(7, 0.3, 12.0, 2),
        Graph::from_edges(4, &loops).unwrap(),
        Graph::from_edges(5, &[(0, 2, 1.5)]).unwrap(),
        Graph::from_edges(3, &[]).unwrap(),
    ]
}

/// All set partitions of `0..n`, as restricted growth strings.
fn set_partitions(n: usize) -> Vec<Vec<u32>> {
    let mut partitions = vec![Vec::new()];
    for _ in 0..n {
        let grow = |part: Vec<u32>| {
            let next = part.iter().max().map_or(0, |&label| label + 1);
            (0..=next).map(move |label| part.iter().copied().chain([label]).collect::<Vec<u32>>())
        };
        partitions = partitions.into_iter().flat_map(grow).collect();
    }
    partitions
}

fn dense(graph: &Graph) -> Vec<Vec<f64>> {
    let n = graph.n_vertices();
    let mut w = vec![vec![0.0; n]; n];
    let (offsets, columns, weights) = graph.to_csr();
    for i in 0..n {
        for e in offsets[i]..offsets[i + 1] {
            w[i][columns[e] as usize] = weights[e];
        }
    }
    w
}

/// Every cost by its definition, with literal double loops over the dense matrix.
fn costs_by_definition(w: &[Vec<f64>], label: &[u32], tau: f64) -> Costs {
    let n = w.len();
    let mut costs =
        Costs { cut: 0.0, ncut: 0.0, rcut: 0.0, ncheeger: 0.0, rcheeger: 0.0, ccn: 0.0, ccr: 0.0 };
    for part in 0..=label.iter().copied().max().unwrap_or(0) {
        let (mut leaving, mut volume, mut count) = (0.0, 0.0, 0.0);
        for i in (0..n).filter(|&i| label[i] == part) {
            count += 1.0;
            for j in 0..n {
                volume += w[i][j];
                if label[j] != part {
                    leaving += w[i][j];
                }
            }
        }
        if leaving > 0.0 {
            costs.cut += 0.5 * leaving;
            costs.ncut += leaving / volume;
            costs.rcut += leaving / count;
            costs.ncheeger = costs.ncheeger.max(leaving / volume);
            costs.rcheeger = costs.rcheeger.max(leaving / count);
            let discount = |size: f64| 2_f64.powf(tau / 2.0) * size.powf(tau / 2.0);
            costs.ccn += 0.5 * leaving / discount(volume);
            costs.ccr += 0.5 * leaving / discount(count);
        }
    }
    costs
}

fn assert_same(a: &Costs, b: &Costs, relative: f64) {
    let values = |c: &Costs| [c.cut, c.ncut, c.rcut, c.ncheeger, c.rcheeger, c.ccn, c.ccr];
    for (x, y) in values(a).into_iter().zip(values(b)) {
        assert!(close(x, y, relative), "{a:?}\n{b:?}");
    }
}

#[test]
fn equations_6_and_7_on_every_partition_of_every_small_graph() {
    assert_eq!(set_partitions(8).len(), 4140, "the Bell number of 8");
    for graph in small_graphs() {
        let w = dense(&graph);
        for raw in set_partitions(graph.n_vertices()) {
            let labels = Labels::from_raw(&raw);
            for tau in [0.0, 0.7, 1.0, 2.0, 3.0] {
                let costs = Costs::of(&graph, &labels, tau).unwrap();
                assert_same(&costs, &costs_by_definition(&w, &raw, tau), 1e-13);
            }
        }
    }
}

#[test]
fn single_costs_agree_with_the_table_of_costs() {
    for graph in small_graphs() {
        let n = graph.n_vertices();
        let labels = Labels::from_raw(&(0..n as u32).map(|i| i * i % 3).collect::<Vec<_>>());
        let costs = Costs::of(&graph, &labels, 1.3).unwrap();
        let one_by_one = Costs {
            cut: cut(&graph, &labels).unwrap(),
            ncut: ncut(&graph, &labels).unwrap(),
            rcut: rcut(&graph, &labels).unwrap(),
            ncheeger: normalized_cheeger(&graph, &labels).unwrap(),
            rcheeger: ratio_cheeger(&graph, &labels).unwrap(),
            ccn: ccn(&graph, &labels, 1.3).unwrap(),
            ccr: ccb_cut(&graph, &labels, &Balance::Custom(vec![1.0; n]), 1.3).unwrap(),
        };
        assert_eq!(costs, one_by_one);
    }
}

#[test]
fn costs_do_not_depend_on_part_names_or_vertex_order() {
    for graph in small_graphs() {
        let n = graph.n_vertices();
        let order: Vec<u32> = (0..n as u32).rev().collect();
        let permuted = graph.induced(&order);
        for raw in set_partitions(n).into_iter().step_by(7) {
            let costs = Costs::of(&graph, &Labels::from_raw(&raw), 1.2).unwrap();
            let renamed: Vec<u32> = raw.iter().map(|&label| 1000 - 3 * label).collect();
            assert_eq!(costs, Costs::of(&graph, &Labels::from_raw(&renamed), 1.2).unwrap());
            let moved: Vec<u32> = order.iter().map(|&v| raw[v as usize]).collect();
            assert_same(&costs, &Costs::of(&permuted, &Labels::from_raw(&moved), 1.2).unwrap(), 1e-13);
        }
    }
}

#[test]
fn equation_2_two_way_costs_are_scaled_balanced_cuts() {
    for graph in small_graphs() {
        let (volume, count) = (graph.degrees().iter().sum::<f64>(), graph.n_vertices() as f64);
        for raw in set_partitions(graph.n_vertices()).into_iter().filter(|raw| raw.iter().max() == Some(&1)) {
            let labels = Labels::from_raw(&raw);
            let costs = Costs::of(&graph, &labels, 1.0).unwrap();
            let bhn = |p| buhler_hein_normalized(&graph, &labels, p).unwrap();
            let bhr = |p| buhler_hein_ratio(&graph, &labels, p).unwrap();
            assert!(close(bhn(2.0), volume / 4.0 * costs.ncut, 1e-12));
            assert!(close(bhr(2.0), count / 4.0 * costs.rcut, 1e-12));
            assert!(close(bhn(1.0 + 1e-13), volume / 2.0 * costs.ncheeger, 1e-11));
            assert!(close(bhr(1.0 + 1e-13), count / 2.0 * costs.rcheeger, 1e-11));
        }
    }
}

#[test]
fn equation_7_for_two_parts_is_2_with_psi_over_a_power_of_the_whole() {
    let factor =
        |tau: f64| json(IDENTITIES)[format!("ccb(k=2)*Vol^(tau/2)/bcut_psi(tau={tau})")].as_f64().unwrap();
    for graph in small_graphs() {
        let n = graph.n_vertices();
        let custom: Vec<f64> = (0..n).map(|i| 0.5 + (i as f64).sin().abs()).collect();
        for balance in [Balance::Normalized, Balance::Ratio, Balance::Custom(custom)] {
            let pi = balance.weights(&graph).unwrap();
            let whole: f64 = pi.iter().sum();
            for raw in set_partitions(n).into_iter().filter(|raw| raw.iter().max() == Some(&1)) {
                let labels = Labels::from_raw(&raw);
                let sums = PartSums::new(&graph, &labels, &pi).unwrap();
                for tau in [0.5, 1.0, 2.0] {
                    // The smaller share: 1 − v would lose the digits of a part that is almost everything.
                    let smaller = f64::min(sums.sizes()[0], sums.sizes()[1]);
                    let psi = conservative_balance(tau, smaller / whole).unwrap();
                    let bcut = balanced_cut(sums.cut(), psi);
                    let ccb = sums.ccb(tau).unwrap();
                    assert!(close(ccb * whole.powf(tau / 2.0), factor(tau) * bcut, 1e-12), "{ccb} {bcut}");
                }
            }
        }
    }
}

#[test]
fn equation_7_interpolates_from_the_cut_to_a_quarter_of_ncut() {
    for graph in small_graphs() {
        for raw in set_partitions(graph.n_vertices()).into_iter().step_by(11) {
            let labels = Labels::from_raw(&raw);
            let (at_zero, at_two) =
                (Costs::of(&graph, &labels, 0.0).unwrap(), Costs::of(&graph, &labels, 2.0).unwrap());
            assert!(close(at_zero.ccn, at_zero.cut, 1e-15) && close(at_zero.ccr, at_zero.cut, 1e-15));
            assert!(close(at_two.ccn, at_two.ncut / 4.0, 1e-14));
            assert!(close(at_two.ccr, at_two.rcut / 4.0, 1e-14));
        }
    }
}

/// J_τ (11) of Y = X(XᵀΠX)^(−½), literally, over ordered pairs.
fn relaxed_objective(w: &[Vec<f64>], label: &[u32], sizes: &[f64], tau: f64) -> f64 {
    let entry = |i: usize, part: usize| if label[i] as usize == part { sizes[part].powf(-0.5) } else { 0.0 };
    let mut total = 0.0;
    for (i, row) in w.iter().enumerate() {
        for (j, &weight) in row.iter().enumerate() {
            let norm = |part| f64::abs(entry(i, part) - entry(j, part)).powf(tau);
            total += weight * (0..sizes.len()).map(norm).sum::<f64>();
        }
    }
    total
}

/// The paper's chain up to (10) loses a factor of 2: (11) sums ordered pairs, and each edge appears twice.
#[test]
fn equation_10_the_cost_is_the_relaxed_objective_over_2_to_the_2_plus_half_tau() {
    for graph in small_graphs() {
        let (w, pi) = (dense(&graph), Balance::Normalized.weights(&graph).unwrap());
        for raw in set_partitions(graph.n_vertices()).into_iter().step_by(5) {
            let sums = PartSums::new(&graph, &Labels::from_raw(&raw), &pi).unwrap();
            for tau in [0.5, 1.0, 2.0] {
                let printed = json(IDENTITIES)[format!("CCB/J_tau(tau={tau})*2^(1+tau/2)")].as_f64().unwrap();
                let objective = relaxed_objective(&w, &raw, sums.sizes(), tau);
                let ccb = sums.ccb(tau).unwrap();
                assert!(close(ccb, objective / 2_f64.powf(2.0 + tau / 2.0), 1e-12), "{ccb} {objective}");
                assert!(close(ccb, printed * objective / 2_f64.powf(1.0 + tau / 2.0), 1e-12));
            }
        }
    }
}

/// The step to (10) writes XᵀDX; what holds for every balance is XᵀΠX.
#[test]
fn equation_10_holds_for_every_balance_with_pi_in_place_of_the_degrees() {
    let mut differs = 0;
    for graph in small_graphs() {
        let n = graph.n_vertices();
        let custom = Balance::Custom((0..n).map(|v| 0.3 + (v * v % 5) as f64).collect());
        let (w, degrees) = (dense(&graph), Balance::Normalized.weights(&graph).unwrap());
        for balance in [Balance::Ratio, custom] {
            let pi = balance.weights(&graph).unwrap();
            for raw in set_partitions(n).into_iter().step_by(7) {
                let labels = Labels::from_raw(&raw);
                let sums = PartSums::new(&graph, &labels, &pi).unwrap();
                let volumes = PartSums::new(&graph, &labels, &degrees).unwrap();
                for tau in [0.5_f64, 1.0, 2.0] {
                    let scale = 2_f64.powf(2.0 + tau / 2.0);
                    let ccb = sums.ccb(tau).unwrap();
                    let with_pi = relaxed_objective(&w, &raw, sums.sizes(), tau) / scale;
                    assert!(close(ccb, with_pi, 1e-12), "{}: {ccb} {with_pi}", balance.name());
                    let with_degrees = relaxed_objective(&w, &raw, volumes.sizes(), tau) / scale;
                    differs += usize::from(!close(ccb, with_degrees, 1e-3));
                }
            }
        }
    }
    assert!(differs > 1000, "XᵀDX is another cost: it differed {differs} times");
}

/// (8): Cut(V_ℓ, V∖V_ℓ) = x_ℓᵀ L x_ℓ for indicators, and with them the cost.
#[test]
fn equation_8_cuts_are_quadratic_forms_of_the_laplacian() {
    for graph in small_graphs() {
        let (n, pi) = (graph.n_vertices(), Balance::Normalized.weights(&graph).unwrap());
        for raw in set_partitions(n).into_iter().step_by(3) {
            let labels = Labels::from_raw(&raw);
            let sums = PartSums::new(&graph, &labels, &pi).unwrap();
            let mut forms = Vec::new();
            for part in 0..labels.n_segments() as u32 {
                let x: Vec<f64> = labels.as_slice().iter().map(|&l| f64::from(u8::from(l == part))).collect();
                let mut lx = vec![f64::NAN; n];
                graph.laplacian().apply(&x, &mut lx);
                let rest = Labels::from_raw(&x.iter().map(|&v| v as u32).collect::<Vec<_>>());
                let form = dot(&x, &lx);
                let between = cut(&graph, &rest).unwrap();
                assert!(close(form, between, 1e-12) || form.abs() < 1e-14, "{form} {between}");
                let mass: f64 = x.iter().zip(&pi).map(|(x, p)| x * x * p).sum();
                forms.push((form, mass));
            }
            for tau in [0.5_f64, 1.0, 2.0] {
                let sum: f64 = forms.iter().map(|(form, mass)| form / mass.powf(tau / 2.0)).sum();
                let ccb = sums.ccb(tau).unwrap();
                assert!(close(ccb, sum / 2_f64.powf(1.0 + tau / 2.0), 1e-12) || ccb < 1e-14, "{ccb} {sum}");
            }
        }
    }
}

// ---- The 60-vertex oracle ---------------------------------------------------------------------------------------

#[test]
fn oracle_costs_of_the_planted_partition() {
    let stored = json(GRAPH60_GRAPH);
    let column = |name: &str| stored[name].as_array().unwrap().clone();
    let index = |value: &Value| value.as_u64().unwrap() as u32;
    let ends = column("row").into_iter().zip(column("col"));
    let edges: Vec<(u32, u32, f64)> =
        ends.zip(column("w")).map(|((i, j), w)| (index(&i), index(&j), w.as_f64().unwrap())).collect();
    let graph = Graph::from_edges(stored["n"].as_u64().unwrap() as usize, &edges).unwrap();
    let planted = Labels::from_raw(&column("planted").iter().map(index).collect::<Vec<_>>());

    let expected = &json(GRAPH60)["partition_costs"];
    for (name, value) in expected.as_object().unwrap() {
        let found = match name.split_once('_') {
            Some(("CCN", tau)) => ccn(&graph, &planted, tau.parse().unwrap()),
            Some(("CCR", tau)) => ccr(&graph, &planted, tau.parse().unwrap()),
            _ => cut(&graph, &planted),
        };
        let (found, value) = (found.unwrap(), value.as_f64().unwrap());
        assert!(close(found, value, 1e-12), "{name}: found {found}, expected {value}");
    }
    assert_eq!(expected.as_object().unwrap().len(), 11);
}
