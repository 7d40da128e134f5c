//! Refinement against costs computed from scratch.

use super::*;
use crate::{
    affinity::{Affinity, LabAffinity, LabKernel},
    error::Error,
    graph::{gallery, half_disc},
    image::Image,
    random::Random,
};

const ALL: [Criterion; 4] =
    [Criterion::Ccb { tau: 0.5 }, Criterion::Ccb { tau: 1.0 }, Criterion::Ratio, Criterion::Cheeger];

fn cost(graph: &Graph, raw: &[u32], pi: &[f64], criterion: Criterion) -> f64 {
    criterion.of(&PartSums::new(graph, &Labels::from_raw(raw), pi).unwrap())
}

/// The same pass with every cost computed from scratch: always the best move of all, the lowest vertex on ties.
fn naive_pass(graph: &Graph, raw: &mut [u32], pi: &[f64], criterion: Criterion) {
    let n = raw.len();
    let k = raw.iter().max().unwrap() + 1;
    let (mut locked, mut best, mut lowest) = (vec![false; n], raw.to_vec(), cost(graph, raw, pi, criterion));
    loop {
        let mut choice: Option<(f64, usize, u32)> = None;
        for v in (0..n).filter(|&v| !locked[v]) {
            let from = raw[v];
            if raw.iter().filter(|&&l| l == from).count() < 2 {
                continue;
            }
            for to in (0..k).filter(|&to| to != from) {
                let mut is_tied = false;
                graph.for_each_neighbor(v, |j, _| is_tied |= raw[j] == to);
                raw[v] = to;
                let value = cost(graph, raw, pi, criterion);
                raw[v] = from;
                if is_tied && choice.is_none_or(|(least, ..)| value < least - 1e-12 * least) {
                    choice = Some((value, v, to));
                }
            }
        }
        let Some((value, v, to)) = choice else { break };
        raw[v] = to;
        locked[v] = true;
        if value < lowest * (1.0 - 1e-12) {
            (lowest, best) = (value, raw.to_vec());
        }
    }
    raw.copy_from_slice(&best);
}

fn start(n: usize, k: u32, seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed);
    (0..n).map(|i| if (i as u32) < k { i as u32 } else { random.below(k as usize) as u32 }).collect()
}

#[test]
fn refined_partitions_cost_no_more_and_keep_their_parts() {
    let mut improved = 0;
    for seed in 0..24 {
        let graph = match seed % 3 {
            0 => gallery::planted(&[8, 9, 10], 0.7, 0.1, seed),
            1 => gallery::wide(27, 0.2, 3.0, seed),
            _ => gallery::random(27, 0.15, seed),
        };
        let raw = start(27, 3, seed);
        for balance in [Balance::Normalized, Balance::Ratio] {
            let pi = balance.weights(&graph).unwrap();
            for criterion in ALL {
                let before = cost(&graph, &raw, &pi, criterion);
                let refined = Refine::new(criterion).run(&graph, &Labels::from_raw(&raw), &balance).unwrap();
                let after = cost(&graph, refined.as_slice(), &pi, criterion);
                assert!(after <= before, "{criterion:?}: {after} above {before}");
                assert_eq!(refined.n_segments(), 3);
                improved += usize::from(after < 0.8 * before);
            }
        }
    }
    assert!(improved > 120, "random partitions are far from good: {improved} of 192 were improved");
}

#[test]
fn a_pass_on_two_parts_is_the_pass_by_definition() {
    let mut equal = 0;
    for seed in 0..30 {
        let graph = gallery::planted(&[7, 7], 0.7, 0.2, seed);
        let pi = Balance::Normalized.weights(&graph).unwrap();
        let raw = start(14, 2, seed);
        let criterion = Criterion::Ccb { tau: 1.0 };
        let settings = Refine::new(criterion);
        let members: Vec<u32> = (0..14).collect();
        let mut pass = Pass::new(&settings, &graph, &pi, &members, &raw, 2);
        pass.run();
        let mut naive = raw.clone();
        naive_pass(&graph, &mut naive, &pi, criterion);
        let (got, want) = (cost(&graph, &pass.part, &pi, criterion), cost(&graph, &naive, &pi, criterion));
        equal += usize::from((got - want).abs() <= 1e-9 * want);
    }
    // Moves of vertices that no other move touched are weighed when they come up, not at every step.
    assert!(equal >= 26, "{equal} of 30 passes ended at the same cost");
}

#[test]
fn sums_kept_move_by_move_are_those_from_scratch() {
    let graph = gallery::planted(&[10, 12, 14], 0.6, 0.2, 4);
    let pi = Balance::Normalized.weights(&graph).unwrap();
    let (settings, members): (_, Vec<u32>) = (Refine::new(Criterion::Ratio), (0..36).collect());
    let mut pass = Pass::new(&settings, &graph, &pi, &members, &start(36, 3, 1), 3);
    let mut heap = BinaryHeap::new();
    for p in 5..25 {
        let Some(step) = pass.best_move(p) else { continue };
        let before = cost(&graph, &pass.part, &pi, Criterion::Ratio);
        pass.make(step, &mut heap);
        let after = cost(&graph, &pass.part, &pi, Criterion::Ratio);
        assert!((after - before - step.change).abs() <= 1e-12 * before);
        let fresh = Pass::new(&settings, &graph, &pi, &members, &pass.part, 3);
        for (kept, fresh) in pass.parts.iter().zip(&fresh.parts) {
            assert!((kept.cut - fresh.cut).abs() <= 1e-12 * fresh.cut && kept.count == fresh.count);
        }
        for q in 0..36 {
            for part in 0..3 {
                assert!((pass.tie(q, part) - fresh.tie(q, part)).abs() < 1e-12);
            }
        }
    }
}

#[test]
fn a_split_is_refined_inside_its_part() {
    let graph = gallery::planted(&[8, 8, 8], 0.8, 0.1, 6);
    let pi = Balance::Normalized.weights(&graph).unwrap();
    let ctx = SplitContext { graph: &graph, pi: &pi, criterion: Criterion::Ccb { tau: 1.0 } };
    let members: Vec<u32> = (0..8).flat_map(|i| [i, 4 + i, 12 + i]).filter(|v| v % 3 < 3).collect();
    let mut members: Vec<u32> = members.into_iter().filter(|&v| v < 16).collect();
    members.sort_unstable();
    members.dedup();
    let sorted: Vec<u32> = members
        .iter()
        .filter(|v| *v % 2 == 0)
        .chain(members.iter().filter(|v| *v % 2 == 1))
        .copied()
        .collect();
    let low = members.iter().filter(|v| *v % 2 == 0).count();
    let split = evaluate(&ctx, &ctx.positions(&sorted).unwrap(), &sorted, low);
    let refined = Refine::new(ctx.criterion).split(&ctx, &split, 1).unwrap();
    assert!(refined.cost(ctx.criterion) < split.cost(ctx.criterion));
    let mut all = [&refined.low[..], &refined.high].concat();
    all.sort_unstable();
    assert_eq!(all, members);
    // A least size is kept.
    let held = Refine::new(ctx.criterion).split(&ctx, &split, 6).unwrap();
    assert!(held.low.len() >= 6 && held.high.len() >= 6);
}

#[test]
fn stencils_and_compressed_rows_are_refined_alike() {
    let (height, width) = (9, 12);
    let offsets = half_disc(2.0);
    let bright = |p: usize| f64::from(u8::from(p % width < 5)) + 0.01 * (p % 7) as f64;
    let mut edges = Vec::new();
    for p in 0..height * width {
        for &(dr, dc) in &offsets {
            let (r, c) = (p / width + dr, (p % width).wrapping_add_signed(dc));
            if r < height && c < width {
                let q = r * width + c;
                edges.push((p as u32, q as u32, f64::from((-(bright(p) - bright(q)).abs()).exp() as f32)));
            }
        }
    }
    let rows = Graph::from_edges(height * width, &edges).unwrap();
    let labels = Labels::from_raw(&(0..108).map(|p| u32::from(p % width < 7)).collect::<Vec<_>>());
    let refined = Refine::new(Criterion::Ccb { tau: 1.0 }).run(&rows, &labels, &Balance::Normalized).unwrap();
    let image = Image::new(height, width, 1, (0..108).map(|p| bright(p) as f32 / 2.0).collect()).unwrap();
    assert_eq!(refined.as_slice(), (0..108).map(|p| u32::from(p % width >= 5)).collect::<Vec<_>>());
    let stencil = LabAffinity::new(LabKernel::default()).graph_masked(&image, None).unwrap();
    assert!(stencil.grid_shape().is_some());
    let refined =
        Refine::new(Criterion::Ccb { tau: 1.0 }).run(&stencil, &labels, &Balance::Normalized).unwrap();
    assert_eq!(refined.as_slice(), (0..108).map(|p| u32::from(p % width >= 5)).collect::<Vec<_>>());
}

#[test]
fn invalid_input_is_named() {
    let graph = gallery::path(4);
    let refine = |tau: f64, n: usize| {
        Refine::new(Criterion::Ccb { tau }).run(&graph, &Labels::single(n), &Balance::Ratio)
    };
    assert!(matches!(refine(1.0, 3), Err(Error::ShapeMismatch { expected: 4, got: 3, .. })));
    assert!(matches!(refine(-1.0, 4), Err(Error::TauOutOfRange { .. })));
    assert_eq!(refine(1.0, 4).unwrap(), Labels::single(4));
}
