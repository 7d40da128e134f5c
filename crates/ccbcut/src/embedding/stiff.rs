//! Sweeps of one column over a graph whose stiff edges are contracted.
//!
//! From sweep to sweep the differences inside parts shrink and the weights there grow: after some sweeps most edges of a
//! photograph's graph are 10⁹ times as stiff as the slowest motion can stretch, and what they join moves as one. Such
//! vertices become one vertex. Of thousands a few hundred are left, whose eigenproblem takes milliseconds, and no factor of
//! the whole is made. By Rayleigh's principle the eigenvalue of the contracted graph lies above that of the graph, by the
//! share of the energy that is left out.
//!
//! No result rests on that alone. The sweep that ends an embedding is done once more with every vertex, from weights that are
//! inside parts what they were before the contraction, and stands in its place; its eigenvalue says how good the contraction
//! was, and after one that was not there is no other.

use crate::{
    error::Result,
    graph::{Graph, Ties, distances::Distances},
    sets::DisjointSets,
};

use super::{
    Embedding, Irrq, Variant, large, reweight,
    spectrum::{EigenParams, Eigenpairs, Spectrum},
};

/// How much stiffer than the slowest motion an edge must be: w γ > 10⁹ λ π for either end. With less more cuts come out
/// differently: vertices that hang on by little are split off by what they differ inside their part.
const STIFF: f64 = 1e9;

/// Contraction pays where no more than one in so many vertices is left, …
const SHARE: usize = 4;

/// … in graphs with at least so many.
pub(super) const LEAST: usize = 1500;

/// One in so many vertices is looked at first.
const LOOK_EVERY: usize = 16;

/// How much more accurate than others the solution is that ends the sweeps.
pub(super) const SHARPER: f64 = 1e-2;

/// The share of its energy that a contraction may have left out.
const LEFT_OUT: f64 = 1e-4;

/// Whether graphs are contracted under these settings at all.
pub(super) fn applies(irrq: &Irrq, graph: &Graph, spectrum: &Spectrum) -> bool {
    irrq.tau < 2.0
        && irrq.n_components == 1
        && irrq.variant != Variant::Released
        && graph.n_vertices() >= LEAST
        && spectrum.n_components() == 1
        && !large::is_large(graph)
}

/// Whether a contraction left out no more than it may, by the eigenvalues before and after.
pub(super) fn was_good(contracted: f64, whole: f64) -> bool {
    contracted <= (1.0 + LEFT_OUT) * whole
}

/// A graph whose parts, held together by stiff edges, are the vertices of a small one.
#[derive(Debug)]
pub(super) struct Contracted {
    /// The part of each vertex.
    part: Vec<u32>,
    /// π of each part.
    mass: Vec<f64>,
    ties: Ties,
    spectrum: Spectrum,
    /// The weights of all edges when the parts were found: they stay what they are inside parts.
    whole: Graph,
    /// What the vertices of a part differed by then, in the coordinates y, …
    inside: Vec<f64>,
    /// … and the heights of the parts.
    heights: Vec<f64>,
    /// What the present weights between parts come from: those, or a later solution.
    before: Embedding,
    has_moved: bool,
}

impl Contracted {
    /// Joins what is stiff under the weights of `whole`, those of `graph` after some sweeps, for a motion of an energy; returns
    /// the graph of the parts under these weights too. What was given comes back where too little is stiff.
    pub(super) fn new(
        graph: &Graph,
        whole: Graph,
        pi: &[f64],
        y: &Embedding,
        energy: f64,
    ) -> (Option<Self>, Graph) {
        let n = whole.n_vertices();
        let most = n / SHARE;
        let limit = STIFF * energy;
        if limit <= 0.0 || Self::looks_loose(&whole, pi, limit, most) {
            return (None, whole);
        }
        let mut sets = DisjointSets::new(n);
        let mut n_parts = n;
        for i in 0..n {
            n_parts -= sets.join_all(i as u32, |join| {
                whole.for_each_neighbor(i, |j, w| {
                    if j > i && w > limit * pi[i].max(pi[j]) {
                        join(j as u32);
                    }
                });
            });
        }
        if !(2..=most).contains(&n_parts) {
            return (None, whole);
        }
        let part = sets.labels().as_slice().to_vec();
        let Some(ties) = Ties::new(graph, &whole, &part, n_parts) else { return (None, whole) };
        let small = ties.contracted();
        let spectrum = Spectrum::analyze(&small);
        let mut mass = vec![0.0; n_parts];
        let mut heights = vec![0.0; n_parts];
        for ((&c, pi), y) in part.iter().zip(pi).zip(y.as_slice()) {
            mass[c as usize] += pi;
            heights[c as usize] += pi * y;
        }
        heights.iter_mut().zip(&mass).for_each(|(sum, mass)| *sum /= mass);
        let inside = y.as_slice().iter().zip(&part).map(|(y, &c)| y - heights[c as usize]).collect();
        let before = Embedding { n_vertices: n_parts, n_components: 1, values: heights.clone() };
        let has_moved = false;
        let contracted = Self { part, mass, ties, spectrum, whole, inside, heights, before, has_moved };
        (Some(contracted), small)
    }

    /// Whether fewer vertices have a stiff edge than there would have to be, by some of them.
    fn looks_loose(whole: &Graph, pi: &[f64], limit: f64, most: usize) -> bool {
        let (mut seen, mut held) = (0, 0);
        for i in (0..pi.len()).step_by(LOOK_EVERY) {
            let mut largest: f64 = 0.0;
            whole.for_each_neighbor(i, |_, w| largest = largest.max(w));
            seen += 1;
            held += usize::from(largest > limit * pi[i]);
        }
        // Half as many again may be left among those that are looked at.
        let loose = seen - held;
        2 * loose * LOOK_EVERY > 3 * most
    }

    /// π of the parts.
    pub(super) fn pi(&self) -> &[f64] {
        &self.mass
    }

    /// The smallest eigenpair of the graph of the parts.
    pub(super) fn smallest(
        &self,
        small: &Graph,
        params: &EigenParams,
        start: Option<&[f64]>,
    ) -> Result<Eigenpairs> {
        self.spectrum.smallest(small, &self.mass, params, start)
    }

    /// The differences over the edges of the graph, for a row of `y` for each part.
    pub(super) fn distances<'a>(&'a self, y: &'a Embedding) -> Distances<'a> {
        Distances::of_parts(&self.ties, y.as_slice())
    }

    /// The weights are now those that `y`, a row for each part, leads to.
    pub(super) fn follow(&mut self, y: &Embedding) {
        (self.before, self.has_moved) = (y.clone(), true);
    }

    /// The mean of y over each part, as a vector Π^½ y of the parts.
    pub(super) fn guess(&self) -> Vec<f64> {
        self.heights.iter().zip(&self.mass).map(|(y, mass)| y * mass.sqrt()).collect()
    }

    /// What an embedding of the parts is for the vertices, which differ as much inside parts as they did.
    pub(super) fn spread(&self, y: &Embedding) -> Embedding {
        let along: f64 =
            y.as_slice().iter().zip(&self.heights).zip(&self.mass).map(|((a, b), mass)| a * b * mass).sum();
        let sign = along.signum();
        let vertices = self.part.iter().zip(&self.inside);
        let values = vertices.map(|(&c, inside)| y.values[c as usize] + sign * inside).collect();
        Embedding { n_vertices: self.part.len(), n_components: 1, values }
    }

    /// A row for each part: what the present weights between parts come from.
    pub(super) fn before(&self) -> &Embedding {
        &self.before
    }

    /// The weights of all edges for the sweep that is due, and memory of distances; `y` is what [`Self::before`] spreads to.
    pub(super) fn into_weights(
        self,
        irrq: &Irrq,
        graph: &Graph,
        y: &Embedding,
        epsilon: f64,
    ) -> (Graph, Vec<f64>) {
        if !self.has_moved {
            return (self.whole, Vec::new());
        }
        reweight::reweighted(y.distances(graph), irrq.variant, irrq.tau, epsilon, Some(self.whole))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::{
        embedding::{IrrqFit, Iteration, StopReason, Trace},
        graph::{Balance, gallery, half_disc},
    };

    /// Two parts of a random graph, and pixels of three grey values.
    fn graphs() -> [Graph; 2] {
        let grey = |p: usize| [0.0_f32, 0.4, 0.1][usize::from(p % 50 > 20) + usize::from(p / 50 > 25)];
        let weight = |i: usize, j: usize| {
            let noise = ((i * 31 + j * 17) % 101) as f32 / 200.0;
            (-(grey(i) - grey(j)).abs() / 0.05 - noise).exp()
        };
        let pixels = Graph::from_stencil(50, 50, half_disc(3.0), weight).unwrap();
        [gallery::planted(&[900, 600], 0.1, 0.0005, 3), pixels]
    }

    fn fits(irrq: &Irrq, graph: &Graph) -> [IrrqFit; 2] {
        [true, false].map(|contract| irrq.clone().contract(contract).fit(graph).unwrap())
    }

    fn fewest(trace: &Trace) -> usize {
        trace.iterations.iter().map(|sweep| sweep.vertices).min().unwrap()
    }

    #[test]
    fn a_contracted_graph_leads_where_the_whole_one_does() {
        for (graph, variant, early) in graphs().into_iter().flat_map(|g| {
            [
                (g.clone(), Variant::Published, false),
                (g.clone(), Variant::Weighted, false),
                (g, Variant::Published, true),
            ]
        }) {
            let n = graph.n_vertices();
            let [with, without] = fits(&Irrq::new(0.5).variant(variant).early_stop(early), &graph);
            assert!(fewest(&with.trace) <= n / SHARE, "{n} {variant:?}: nothing was contracted");
            assert_eq!(fewest(&without.trace), n);
            let (sweeps, expected) = (&with.trace.iterations, &without.trace.iterations);
            assert_eq!(sweeps.len(), expected.len(), "{n} {variant:?}");
            for (a, b) in sweeps.iter().zip(expected) {
                let off = (a.eigenvalues[0] / b.eigenvalues[0] - 1.0).abs();
                assert!(a.sweep == b.sweep && off <= 1e-5, "{n} {variant:?} {}: {off:e}", a.sweep);
            }
            let (last, expected) = (sweeps.last().unwrap(), expected.last().unwrap());
            assert!((last.f - expected.f).abs() <= 1e-5 * expected.f, "{} {}", last.f, expected.f);
            assert!(last.vertices == n && last.residual <= SHARPER * 1e-6, "{:e}", last.residual);
            let pi = Balance::Normalized.weights(&graph).unwrap();
            let apart = |sign: f64| -> f64 {
                let rows = with.embedding.as_slice().iter().zip(without.embedding.as_slice());
                rows.zip(&pi).map(|((a, b), pi)| pi * (a - sign * b).powi(2)).sum::<f64>().sqrt()
            };
            assert!(apart(1.0).min(apart(-1.0)) <= 1e-5, "{n} {variant:?}: {:e}", apart(1.0));
        }
    }

    #[test]
    fn who_stops_among_contracted_sweeps_has_a_row_for_every_vertex() {
        let [graph, _] = graphs();
        let n = graph.n_vertices();
        let mut stop = |sweep: &Iteration| {
            if sweep.vertices < n { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let fit = Irrq::new(0.5).contract(true).fit_with(&graph, &mut stop).unwrap();
        assert_eq!(fit.trace.stop_reason, StopReason::Interrupted);
        assert!(fit.trace.iterations.last().unwrap().vertices < n);
        assert_eq!(fit.embedding.n_vertices(), n);
        let pi = Balance::Normalized.weights(&graph).unwrap();
        let y = fit.embedding.as_slice();
        let length: f64 = y.iter().zip(&pi).map(|(y, pi)| pi * y * y).sum();
        let middle: f64 = y.iter().zip(&pi).map(|(y, pi)| pi * y).sum();
        assert!((length - 1.0).abs() < 1e-6 && middle.abs() < 1e-6, "{length} {middle}");
    }

    #[test]
    fn the_sweep_limit_ends_with_all_vertices() {
        let [graph, _] = graphs();
        let whole = Irrq::new(0.5).contract(true).fit(&graph).unwrap().trace.iterations;
        let first = whole.iter().position(|sweep| sweep.vertices < graph.n_vertices()).unwrap();
        let fit = Irrq::new(0.5).contract(true).max_iterations(first + 1).fit(&graph).unwrap();
        assert_eq!(fit.trace.stop_reason, StopReason::MaxIterations);
        assert_eq!(fit.trace.iterations.len(), first + 1);
        assert_eq!(fit.trace.iterations[first].vertices, graph.n_vertices());
    }

    #[test]
    fn what_is_asked_for_otherwise_is_solved_with_all_vertices() {
        let [graph, _] = graphs();
        let irrqs =
            [Irrq::new(0.5).n_components(2), Irrq::new(2.0), Irrq::new(0.5).variant(Variant::Released)];
        for irrq in irrqs {
            let fit = irrq.contract(true).fit(&graph).unwrap();
            assert_eq!(fewest(&fit.trace), graph.n_vertices());
        }
        let small = gallery::planted(&[60, 40], 0.5, 0.01, 3);
        assert_eq!(fewest(&Irrq::new(0.5).contract(true).fit(&small).unwrap().trace), 100);
    }

    #[test]
    fn a_contraction_is_judged_by_its_share_of_the_eigenvalue() {
        assert!(was_good(1.0, 1.0) && was_good(1.00005, 1.0) && was_good(0.999, 1.0));
        assert!(!was_good(1.001, 1.0));
    }
}
