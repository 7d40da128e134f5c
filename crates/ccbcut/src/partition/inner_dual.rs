//! The inner problem of balanced cuts: argmin R(u) − ⟨u, z⟩ over ‖u‖₂ ≤ 1, by its dual.
//!
//! With one number α ∈ [−1, 1] per edge and (Aα)ᵢ = Σ ±w α, the dual is min ½‖z − Aα‖², and z − Aα points along u.
//! It is solved by accelerated projected gradients (Beck & Teboulle, SIAM J. Imaging Sci. 2, 2009,
//! <https://doi.org/10.1137/080716542>), as in Hein & Bühler, NIPS 2010, but with a step length for each edge: by Cauchy and
//! Schwarz (Aα)ᵢ² ≤ dᵢ Σ w α², so ‖Aα‖² ≤ Σ w (dᵢ + dⱼ) α², and steps of w (rᵢ − rⱼ) in that metric move α by
//! (rᵢ − rⱼ)/(dᵢ + dⱼ), weak edges as fast as strong ones. With one length for all, that of the strongest, an edge of a
//! millionth of the weight would take a million times as long. 2 max(dᵢ, dⱼ) in place of dᵢ + dⱼ saves a division.
//!
//! One step is one pass over the edges, each counted once. Neighbours come in runs of consecutive numbers, along which
//! nothing is looked up; rows are cut into pieces whose number does not depend on the threads, each with sums of its
//! own, added up in their order.

use std::ops::Range;

use crate::{graph::Graph, linalg::norm, parallel, simd};

/// Edges that one piece takes, about.
const PIECE: usize = 1 << 15;

/// Vertices whose sums one task adds up.
const VERTICES: usize = 2048;

/// Sums that run side by side.
const LANES: usize = 4;

/// The edges of a graph, weights divided by the largest, and the step length.
#[derive(Debug)]
pub(super) struct InnerDual {
    n: usize,
    weights: Vec<f64>,
    /// Runs of neighbours with larger numbers: the first, and how many.
    runs: Vec<(u32, u32)>,
    /// For each vertex where its runs begin.
    run_starts: Vec<usize>,
    pieces: Vec<Piece>,
    /// 1/(2d) of each vertex. The smaller one of an edge's two ends is its step length, see `solve`.
    rates: Vec<f64>,
    scale: f64,
}

/// Consecutive rows.
#[derive(Debug)]
struct Piece {
    rows: Range<usize>,
    edges: Range<usize>,
    /// The vertices that its edges touch.
    window: Range<usize>,
}

/// α and the iterate before it; kept from one solve to the next.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    alpha: Vec<f64>,
    before: Vec<f64>,
}

impl Flow {
    /// α ← factor α.
    pub(super) fn scale(&mut self, factor: f64) {
        self.alpha.iter_mut().for_each(|a| *a *= factor);
    }

    /// The last α within [−1, 1].
    pub(super) fn feasible(&self) -> &[f64] {
        &self.before
    }
}

impl InnerDual {
    pub(super) fn new(graph: &Graph) -> Self {
        let n = graph.n_vertices();
        let scale = graph.largest_weight().max(f64::MIN_POSITIVE);
        let mut weights = Vec::with_capacity(graph.n_edges());
        let (mut runs, mut run_starts): (Vec<(u32, u32)>, _) = (Vec::new(), vec![0]);
        let mut degrees = vec![0.0; n];
        for i in 0..n {
            let first = runs.len();
            graph.for_each_neighbor(i, |j, w| {
                let w = w / scale;
                degrees[i] += w;
                if j < i {
                    return;
                }
                weights.push(w);
                match runs[first..].last_mut() {
                    Some((start, length)) if *start + *length == j as u32 => *length += 1,
                    _ => runs.push((j as u32, 1)),
                }
            });
            run_starts.push(runs.len());
        }
        let rates = degrees.iter().map(|&d| if d > 0.0 { 0.5 / d } else { 0.0 }).collect();
        let mut dual = Self { n, weights, runs, run_starts, pieces: Vec::new(), rates, scale };
        dual.pieces = dual.cut_up();
        dual
    }

    fn cut_up(&self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let (mut start, mut first_edge, mut edge, mut end) = (0, 0, 0, 0);
        for i in 0..self.n {
            for &(j, length) in &self.runs[self.run_starts[i]..self.run_starts[i + 1]] {
                edge += length as usize;
                end = end.max((j + length) as usize);
            }
            if edge - first_edge >= PIECE || i + 1 == self.n {
                let window = start..end.max(i + 1);
                pieces.push(Piece { rows: start..i + 1, edges: first_edge..edge, window });
                (start, first_edge, end) = (i + 1, edge, 0);
            }
        }
        pieces
    }

    pub(super) fn n_edges(&self) -> usize {
        self.weights.len()
    }

    /// α = 0.
    pub(super) fn flow(&self) -> Flow {
        Flow { alpha: vec![0.0; self.weights.len()], before: vec![0.0; self.weights.len()] }
    }

    /// R(f).
    pub(super) fn total_variation(&self, f: &[f64]) -> f64 {
        let parts = parallel::map(self.pieces.len(), |p| {
            let piece = &self.pieces[p];
            let mut edge = piece.edges.start;
            let mut total = 0.0;
            for i in piece.rows.clone() {
                for &(j, length) in &self.runs[self.run_starts[i]..self.run_starts[i + 1]] {
                    let (j, length) = (j as usize, length as usize);
                    let weights = &self.weights[edge..edge + length];
                    total +=
                        weights.iter().zip(&f[j..j + length]).map(|(w, x)| w * (f[i] - x).abs()).sum::<f64>();
                    edge += length;
                }
            }
            total
        });
        self.scale * parts.into_iter().sum::<f64>()
    }

    /// z − Aα after some steps from the α at hand, or fewer when it vanishes or `stop` says so.
    pub(super) fn solve(
        &self,
        z: &[f64],
        flow: &mut Flow,
        steps: usize,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Vec<f64> {
        let mut rest: Vec<f64> = z.iter().map(|z| z / self.scale).collect();
        let target = rest.clone();
        // A first pass without a step finds Aα.
        let mut sums: Vec<Vec<f64>> = self.pieces.iter().map(|p| vec![0.0; p.window.len()]).collect();
        self.pass(&mut rest, &target, flow, &mut sums, None);
        let mut t = 1.0_f64;
        for step in 0..steps {
            let next = 0.5 * (1.0 + (1.0 + 4.0 * t * t).sqrt());
            self.pass(&mut rest, &target, flow, &mut sums, Some((t - 1.0) / next));
            t = next;
            let is_due = step % 16 == 15;
            if is_due && (norm(&rest) <= 1e-14 || stop()) {
                break;
            }
        }
        rest
    }

    /// One step with the given momentum, or none; `rest` = z − Aα before, and after.
    fn pass(
        &self,
        rest: &mut [f64],
        target: &[f64],
        flow: &mut Flow,
        sums: &mut [Vec<f64>],
        momentum: Option<f64>,
    ) {
        let (mut alpha, mut before) = (&mut flow.alpha[..], &mut flow.before[..]);
        let mut tasks = Vec::with_capacity(self.pieces.len());
        for (piece, sums) in self.pieces.iter().zip(sums.iter_mut()) {
            let (a, b) = (alpha.split_at_mut(piece.edges.len()), before.split_at_mut(piece.edges.len()));
            (alpha, before) = (a.1, b.1);
            tasks.push((piece, sums, a.0, b.0));
        }
        let from = &*rest;
        parallel::for_each_part(tasks, |_, (piece, sums, alpha, before)| {
            sums.fill(0.0);
            simd::widest(
                #[inline(always)]
                || self.step_piece(piece, from, alpha, before, sums, momentum),
            );
        });
        let sums = &*sums;
        parallel::for_each_chunk(rest, VERTICES, |block, part| {
            let range = block * VERTICES..block * VERTICES + part.len();
            part.copy_from_slice(&target[range.clone()]);
            for (piece, sums) in self.pieces.iter().zip(sums) {
                let common = range.start.max(piece.window.start)..range.end.min(piece.window.end);
                if common.start < common.end {
                    let own = &sums[common.start - piece.window.start..common.end - piece.window.start];
                    let part = &mut part[common.start - range.start..common.end - range.start];
                    part.iter_mut().zip(own).for_each(|(r, s)| *r -= s);
                }
            }
        });
    }

    #[inline(always)]
    fn step_piece(
        &self,
        piece: &Piece,
        rest: &[f64],
        mut alpha: &mut [f64],
        mut before: &mut [f64],
        sums: &mut [f64],
        momentum: Option<f64>,
    ) {
        let mut weights = &self.weights[piece.edges.clone()];
        let low = piece.window.start;
        for i in piece.rows.clone() {
            let mut lanes = [0.0; LANES];
            for &(j, length) in &self.runs[self.run_starts[i]..self.run_starts[i + 1]] {
                let (j, length) = (j as usize, length as usize);
                let (w, a, b) =
                    (weights.split_at(length), alpha.split_at_mut(length), before.split_at_mut(length));
                let (ends, rates) = (&rest[j..j + length], &self.rates[j..j + length]);
                let edges = Edges { weights: w.0, alpha: a.0, before: b.0, ends, rates };
                let out = &mut sums[j - low..j - low + length];
                match momentum {
                    Some(momentum) => edges.step((rest[i], self.rates[i]), momentum, out, &mut lanes),
                    None => edges.collect(out, &mut lanes),
                }
                (weights, alpha, before) = (w.1, a.1, b.1);
            }
            sums[i - low] += (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
        }
    }
}

/// The edges of one run.
struct Edges<'a> {
    weights: &'a [f64],
    alpha: &'a mut [f64],
    before: &'a mut [f64],
    ends: &'a [f64],
    rates: &'a [f64],
}

impl Edges<'_> {
    #[inline(always)]
    fn step(self, (start, rate): (f64, f64), momentum: f64, out: &mut [f64], lanes: &mut [f64; LANES]) {
        let n = self.weights.len();
        let (weights, alpha, before) = (&self.weights[..n], &mut self.alpha[..n], &mut self.before[..n]);
        let (ends, rates, out) = (&self.ends[..n], &self.rates[..n], &mut out[..n]);
        let mut one = |e: usize| -> f64 {
            let length = if rates[e] < rate { rates[e] } else { rate };
            let moved = alpha[e] + length * (start - ends[e]);
            let inside = moved.clamp(-1.0, 1.0);
            alpha[e] = inside + momentum * (inside - before[e]);
            before[e] = inside;
            let flow = weights[e] * alpha[e];
            out[e] -= flow;
            flow
        };
        let whole = n - n % LANES;
        for first in (0..whole).step_by(LANES) {
            for l in 0..LANES {
                lanes[l] += one(first + l);
            }
        }
        for e in whole..n {
            lanes[0] += one(e);
        }
    }

    #[inline(always)]
    fn collect(self, out: &mut [f64], lanes: &mut [f64; LANES]) {
        for ((w, a), out) in self.weights.iter().zip(self.alpha).zip(out) {
            let flow = w * *a;
            *out -= flow;
            lanes[0] += flow;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{graph::gallery, random::Random};

    /// The same steps, edge by edge from the definition.
    fn naive(graph: &Graph, z: &[f64], steps: usize) -> Vec<f64> {
        let mut edges = Vec::new();
        graph.for_each_edge(|i, j, w| edges.push((i, j, w)));
        let mut degrees = vec![0.0_f64; z.len()];
        for &(i, j, w) in &edges {
            degrees[i] += w;
            degrees[j] += w;
        }
        let (mut alpha, mut old, mut t) = (vec![0.0; edges.len()], vec![0.0; edges.len()], 1.0_f64);
        let rest = |alpha: &[f64]| {
            let mut rest = z.to_vec();
            for (&(i, j, w), a) in edges.iter().zip(alpha) {
                rest[i] -= w * a;
                rest[j] += w * a;
            }
            rest
        };
        for _ in 0..steps {
            let d = rest(&alpha);
            let next = 0.5 * (1.0 + (1.0 + 4.0 * t * t).sqrt());
            for (e, &(i, j, _)) in edges.iter().enumerate() {
                let bound = 2.0 * degrees[i].max(degrees[j]);
                let beta = (alpha[e] + (d[i] - d[j]) / bound).clamp(-1.0, 1.0);
                alpha[e] = beta + (t - 1.0) / next * (beta - old[e]);
                old[e] = beta;
            }
            t = next;
        }
        rest(&alpha)
    }

    #[test]
    fn the_steps_are_those_of_the_definition() {
        let graphs = [
            gallery::wide(40, 0.2, 2.0, 1),
            gallery::grid(9, 11),
            gallery::random(300, 0.9, 4),
            gallery::star(5),
        ];
        for graph in &graphs {
            let mut random = Random::new(7);
            let z: Vec<f64> = (0..graph.n_vertices()).map(|_| random.normal()).collect();
            let dual = InnerDual::new(graph);
            let got = dual.solve(&z, &mut dual.flow(), 25, &|| false);
            let want = naive(graph, &z, 25);
            let largest = graph.largest_weight();
            for (g, w) in got.iter().zip(&want) {
                assert!((g * largest - w).abs() <= 1e-9 * norm(&want).max(1.0), "{g} {w}");
            }
            let direct = graph.sum_edges(|i, j, w| w * (z[i] - z[j]).abs());
            assert!((dual.total_variation(&z) - direct).abs() <= 1e-12 * direct);
        }
    }

    #[test]
    fn a_large_graph_is_cut_into_pieces_that_cover_its_edges() {
        let graph = gallery::random(400, 0.9, 2);
        let dual = InnerDual::new(&graph);
        assert!(dual.pieces.len() > 1 && dual.pieces.windows(2).all(|p| p[0].edges.end == p[1].edges.start));
        assert_eq!(dual.pieces.last().unwrap().edges.end, graph.n_edges());
    }

    #[test]
    fn a_stop_ends_the_steps() {
        let graph = gallery::grid(5, 5);
        let dual = InnerDual::new(&graph);
        let z: Vec<f64> = (0..25).map(|i| f64::from(i) - 12.0).collect();
        let stopped = dual.solve(&z, &mut dual.flow(), 5000, &|| true);
        assert_eq!(stopped, dual.solve(&z, &mut dual.flow(), 16, &|| false));
    }
}
