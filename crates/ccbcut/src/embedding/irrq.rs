//! Algorithm 1: (a) solve for Y, (b) shrink ε, (c) reweight; repeat until the cost settles.

use std::{ops::ControlFlow, time::Instant};

use crate::{
    error::Result,
    graph::{Graph, distances::Distances},
    parallel,
};

use super::{
    Embedding, Irrq, Iteration, Start, StopReason, Trace, Variant, kappa, large, objective, reweight, rotate,
    sides,
    spectrum::{EigenParams, Eigenpairs, Spectrum},
    stiff::{self, Contracted},
};

/// What [`Irrq::fit`] returns.
#[derive(Debug, Clone, PartialEq)]
pub struct IrrqFit {
    /// Y, with YᵀΠY = I and YᵀΠ1 = 0.
    pub embedding: Embedding,
    /// What happened.
    pub trace: Trace,
}

/// Where the sweeps stand.
struct State {
    /// W∘Γ, of the parts while the graph is contracted; nothing for unit weights.
    weighted: Option<Graph>,
    /// Memory of the distances.
    room: Vec<f64>,
    /// That of the weights.
    epsilon: f64,
    /// The first guess at the next eigenvectors.
    warm: Option<Vec<f64>>,
    /// What stands for the graph while its stiff edges are contracted, and whether they may be.
    contracted: Option<Contracted>,
    may_contract: bool,
    /// The solution before, where it is wanted.
    previous: Option<Embedding>,
    keeps_previous: bool,
    /// Of a contracted sweep that is done once more with all vertices, the time in milliseconds and the eigenvalue.
    given_up: Option<(f64, f64)>,
}

impl State {
    /// Step (a). A contracted graph that cannot be solved is left.
    fn solve(
        &mut self,
        irrq: &Irrq,
        graph: &Graph,
        pi: &[f64],
        spectrum: &Spectrum,
        is_first: bool,
    ) -> Result<Eigenpairs> {
        // What vertices differ inside parts is little, and decides what is split off.
        let share = if self.given_up.is_some() { stiff::SHARPER } else { 1.0 };
        let tol = share * irrq.eigen_tol_of(is_first);
        let eigen = EigenParams { n_pairs: irrq.n_components, tol, seed: irrq.seed };
        if let (Some(parts), Some(weighted)) = (&self.contracted, &self.weighted) {
            if let Ok(pairs) = parts.smallest(weighted, &eigen, self.warm.as_deref()) {
                return Ok(pairs);
            }
            self.may_contract = false;
            self.expand(irrq, graph, pi);
        }
        spectrum.smallest(self.weighted.as_ref().unwrap_or(graph), pi, &eigen, self.warm.as_deref())
    }

    /// From columns in the coordinates x = Π^½ y, of the parts while the graph is contracted.
    fn embedding(&self, pairs: &Eigenpairs, pi: &[f64]) -> Embedding {
        // Found anew when it is asked for: vectors of large images take memory.
        let pi = self.contracted.as_ref().map_or(pi, Contracted::pi);
        let scale: Vec<f64> = pi.iter().map(|p| 1.0 / p.sqrt()).collect();
        Embedding::from_scaled_columns(&pairs.vectors, &scale)
    }

    /// Vertices of the eigenproblem.
    fn n_vertices(&self, graph: &Graph) -> usize {
        self.contracted.as_ref().map_or(graph.n_vertices(), |parts| parts.pi().len())
    }

    /// Back to all vertices, for the sweep that is due.
    fn expand(&mut self, irrq: &Irrq, graph: &Graph, pi: &[f64]) {
        if let Some(parts) = self.contracted.take() {
            let y = parts.spread(parts.before());
            let warm = y.as_slice().iter().zip(pi).map(|(y, pi)| y * pi.sqrt()).collect();
            let (weighted, room) = parts.into_weights(irrq, graph, &y, self.epsilon);
            (self.weighted, self.room, self.warm) = (Some(weighted), room, Some(warm));
            self.previous = self.keeps_previous.then_some(y);
        }
    }

    /// Judges a sweep that was given up by the eigenvalue with all vertices; returns the time that was spent on it.
    fn judge_given_up(&mut self, eigenvalue: f64) -> f64 {
        let Some((ms, contracted)) = self.given_up.take() else { return 0.0 };
        self.may_contract &= stiff::was_good(contracted, eigenvalue);
        ms
    }

    /// Goes on from a solution, whose weights are in place; stiff edges are contracted where its energy is given and enough
    /// of them are.
    fn follow(&mut self, graph: &Graph, pi: &[f64], pairs: Eigenpairs, y: Embedding, energy: Option<f64>) {
        let mut block = pairs.vectors;
        block.extend(pairs.guards);
        self.warm = Some(block);
        if let Some(parts) = &mut self.contracted {
            parts.follow(&y);
        }
        if let Some(energy) = energy
            && let Some(whole) = self.weighted.take()
        {
            let (parts, weighted) = Contracted::new(graph, whole, pi, &y, energy);
            self.weighted = Some(weighted);
            if let Some(parts) = &parts {
                self.warm = Some(parts.guess());
            }
            self.contracted = parts;
        }
        if self.keeps_previous {
            self.previous = Some(match &self.contracted {
                Some(parts) => parts.before().clone(),
                None => y,
            });
        }
    }
}

impl Irrq {
    /// Embeds the vertices of a graph.
    ///
    /// # Errors
    /// Parameters out of range, balance weights that do not fit, or
    /// [`Error::EigenNotConverged`](crate::Error::EigenNotConverged).
    ///
    /// # Complexity
    /// Per sweep one factorisation, a few block solves, and O(|E| k).
    pub fn fit(&self, graph: &Graph) -> Result<IrrqFit> {
        self.fit_with(graph, &mut |_| ControlFlow::Continue(()))
    }

    /// Embeds, telling `observer` about each sweep; on `Break` the embedding so far is returned.
    ///
    /// # Errors
    /// As [`Irrq::fit`].
    pub fn fit_with(
        &self,
        graph: &Graph,
        observer: &mut (dyn FnMut(&Iteration) -> ControlFlow<()> + Send),
    ) -> Result<IrrqFit> {
        self.validate(graph)?;
        parallel::inside(|| self.sweep(graph, observer))
    }

    fn sweep(
        &self,
        graph: &Graph,
        observer: &mut (dyn FnMut(&Iteration) -> ControlFlow<()> + Send),
    ) -> Result<IrrqFit> {
        let pi = self.balance.weights(graph)?;
        let n = graph.n_vertices() as f64;
        let spectrum = Spectrum::analyze(graph);
        let mut now = State {
            weighted: self.first_weights(graph),
            room: Vec::new(),
            epsilon: 1.0,
            warm: self.first_guess(&pi),
            contracted: None,
            may_contract: self.contract && stiff::applies(self, graph, &spectrum),
            previous: None,
            keeps_previous: self.early_stop || self.variant == Variant::Released,
            given_up: None,
        };
        let mut trace = Trace {
            iterations: Vec::new(),
            stop_reason: StopReason::MaxIterations,
            kappa: 0,
            epsilon_floor: 0.0,
        };
        loop {
            let clock = Instant::now();
            // (a) Y ← argmin J₂^Γ(Y) subject to YᵀΠY = I, YᵀΠ1 = 0
            let is_first = trace.iterations.is_empty();
            let pairs = now.solve(self, graph, &pi, &spectrum, is_first)?;
            let lost_ms = now.judge_given_up(pairs.values[0]);
            let y = now.embedding(&pairs, &pi);

            // (b) ε ← min(ε, r(Y)_{κ+1} / n), not below the floor
            if is_first {
                trace.kappa = self.resolve_kappa(graph, &y)?;
            }
            let distances = match &now.contracted {
                Some(parts) => parts.distances(&y),
                None => y.distances_in(graph, std::mem::take(&mut now.room)),
            };
            if is_first {
                trace.epsilon_floor = self.floor(&distances, graph, &y);
            }
            let epsilon = self.shrink(now.epsilon, n, &distances, is_first, &trace);
            let mut iteration = self.iteration(&trace, &distances, &pairs, epsilon);
            iteration.vertices = now.n_vertices(graph);
            iteration.ms = lost_ms + clock.elapsed().as_secs_f64() * 1e3;
            trace.iterations.push(iteration);

            let flat = || self.is_flat(graph, &pi, &trace.iterations).then_some(StopReason::Converged);
            let settled = || self.settled(&trace.iterations, now.previous.as_ref(), &y);
            let stop = |interrupted| {
                let told = self.stop_reason(&trace.iterations, epsilon, interrupted);
                told.or_else(flat).or_else(settled)
            };
            // What ends the sweeps is a solution with all vertices.
            if now.contracted.is_some() && stop(false).is_some() {
                drop(distances);
                now.given_up = trace.iterations.pop().map(|sweep| (sweep.ms, sweep.eigenvalues[0]));
                now.expand(self, graph, &pi);
                continue;
            }
            let interrupted = observer(&trace.iterations[trace.iterations.len() - 1]).is_break();
            if let Some(reason) = stop(interrupted) {
                trace.stop_reason = reason;
                let y = now.contracted.as_ref().map(|parts| parts.spread(&y)).unwrap_or(y);
                let settled = !matches!(reason, StopReason::MaxIterations | StopReason::Interrupted);
                let previous = now.previous.filter(|_| self.variant == Variant::Released && settled);
                let last = previous.unwrap_or(y);
                let embedding = if self.rotate { rotate::lower_j_tau(graph, &last, self.tau) } else { last };
                return Ok(IrrqFit { embedding, trace });
            }

            // (c) γ_ij ← [w_ij‖ŷᵢ − ŷⱼ‖² + ε²]^(τ/2 − 1)
            let energy = (now.may_contract && now.contracted.is_none())
                .then(|| reweight::energy(&distances, self.variant, self.tau, epsilon));
            let (weighted, room) =
                reweight::reweighted(distances, self.variant, self.tau, epsilon, now.weighted.take());
            (now.epsilon, now.room, now.weighted) = (epsilon, room, Some(weighted));
            now.follow(graph, &pi, pairs, y, energy);
        }
    }

    /// What there is to tell of a sweep.
    fn iteration(
        &self,
        trace: &Trace,
        distances: &Distances<'_>,
        pairs: &Eigenpairs,
        epsilon: f64,
    ) -> Iteration {
        let j2 = 2.0 * pairs.values.iter().sum::<f64>();
        // At τ = 2 all three are the same.
        let (f, j_tau) = if self.tau == 2.0 && epsilon == 0.0 {
            (j2, j2)
        } else {
            objective::f_and_j_tau(distances, self.variant, self.n_components, self.tau, epsilon)
        };
        Iteration {
            sweep: trace.iterations.len() + 1,
            epsilon,
            f,
            j_tau,
            j2,
            eigenvalues: pairs.values.clone(),
            residual: pairs.residual,
            vertices: 0,
            solver_steps: pairs.steps,
            ms: 0.0,
        }
    }

    /// W∘Γ⁽⁰⁾, or nothing for unit weights.
    fn first_weights(&self, graph: &Graph) -> Option<Graph> {
        if self.tau == 2.0 {
            return None;
        }
        match &self.start {
            Start::Unit => None,
            Start::Ratio(y) => Some(reweight::ratio_weights(graph, y, self.tau)),
            Start::Smoothed(y) => {
                Some(reweight::reweighted(y.distances(graph), self.variant, self.tau, 1.0, None).0)
            }
            Start::Resumed(y, epsilon) => {
                let distances = y.distances(graph);
                let epsilon = epsilon.max(self.floor(&distances, graph, y));
                Some(reweight::reweighted(distances, self.variant, self.tau, epsilon, None).0)
            }
        }
    }

    /// The columns of an embedding to go on from, as eigenvectors: Π^½ Y.
    fn first_guess(&self, pi: &[f64]) -> Option<Vec<f64>> {
        match &self.start {
            Start::Resumed(y, _) if self.tau < 2.0 && y.n_components() == self.n_components => {
                let column = |c: usize| pi.iter().enumerate().map(move |(i, p)| y.row(i)[c] * p.sqrt());
                Some((0..y.n_components()).flat_map(column).collect())
            }
            _ => None,
        }
    }

    /// κ, with θ̂ from a k-means clustering of the initial embedding.
    fn resolve_kappa(&self, graph: &Graph, first: &Embedding) -> Result<usize> {
        if let super::Kappa::Count(count) = self.kappa {
            return Ok(count);
        }
        if self.tau == 2.0 {
            return Ok(2 * graph.n_edges());
        }
        let initial = match &self.start {
            Start::Unit => first,
            Start::Ratio(y) | Start::Smoothed(y) | Start::Resumed(y, _) => y,
        };
        let cut = kappa::cut_edges_estimate(graph, initial, self.clusters(), self.seed)?;
        Ok(kappa::resolve(self.kappa, self.variant, graph.n_edges(), cut))
    }

    /// What ε does not fall below, found in the first sweep.
    fn floor(&self, distances: &Distances<'_>, graph: &Graph, y: &Embedding) -> f64 {
        if self.floor_decades <= 0.0 || self.tau >= 2.0 || self.variant == Variant::Released {
            return 0.0;
        }
        let largest = reweight::nth_largest(distances, 0, self.variant);
        let is_large = large::is_large(graph);
        let decades = if is_large { self.floor_decades.min(large::DECADES) } else { self.floor_decades };
        let span = largest * 10_f64.powf(-decades / (2.0 - self.tau));
        // Differences below the rounding of the coordinates themselves are noise.
        span.max(reweight::rounding_of_differences(graph, y, self.variant))
    }

    /// Step (b).
    fn shrink(&self, epsilon: f64, n: f64, distances: &Distances<'_>, is_first: bool, trace: &Trace) -> f64 {
        let nth = || reweight::nth_largest(distances, trace.kappa, self.variant);
        if self.variant == Variant::Released {
            // The toolbox solves τ = 2 first and reweights once with ε = 1.
            let solves_plain = is_first && self.start == Start::Unit;
            return if solves_plain { epsilon } else { epsilon.min(nth()) };
        }
        if 0.0 < epsilon && epsilon <= trace.epsilon_floor {
            return epsilon;
        }
        // Where every difference may be large, as at τ = 2, ε vanishes.
        let shrunk = if trace.kappa / 2 >= distances.n_edges() { 0.0 } else { nth() / n };
        epsilon.min(shrunk.max(trace.epsilon_floor))
    }

    fn stop_reason(&self, iterations: &[Iteration], epsilon: f64, interrupted: bool) -> Option<StopReason> {
        // The toolbox does not count the τ = 2 solution that our trace begins with.
        let m = iterations.len();
        let sweeps = m - usize::from(self.variant == Variant::Released && self.start == Start::Unit);
        if self.tau == 2.0 {
            return Some(StopReason::SingleSolve);
        }
        if interrupted {
            return Some(StopReason::Interrupted);
        }
        let vanished =
            if self.variant == Variant::Released { epsilon <= f64::EPSILON } else { epsilon <= 0.0 };
        if vanished {
            return Some(StopReason::EpsilonVanished);
        }
        let settled = match self.variant {
            Variant::Released => self.released_stop(iterations),
            _ if m > self.min_iterations.unwrap_or(1).max(1) => {
                let (before, now) = (iterations[m - 2].f, iterations[m - 1].f);
                ((before - now).abs() <= self.tol * before.abs()).then_some(StopReason::Converged)
            }
            _ => None,
        };
        settled.or((sweeps >= self.max_iterations).then_some(StopReason::MaxIterations))
    }

    /// Whether the columns tell apart parts that hang on each other by next to nothing: the eigenvalues of the graph
    /// itself are below the square of the unit roundoff, so that inside the parts only rounding is left of the
    /// differences. F would go up and down with it, and sweeps have nothing to work on.
    fn is_flat(&self, graph: &Graph, pi: &[f64], iterations: &[Iteration]) -> bool {
        if self.variant == Variant::Released || self.start != Start::Unit || iterations.len() > 1 {
            return false;
        }
        let ratios = graph.degrees().iter().zip(pi).map(|(d, p)| d / p);
        let limit = f64::EPSILON * f64::EPSILON * ratios.fold(0.0, f64::max);
        iterations.iter().flat_map(|sweep| &sweep.eigenvalues).all(|&value| value <= limit)
    }

    /// The early stop, where it is asked for.
    fn settled(
        &self,
        iterations: &[Iteration],
        previous: Option<&Embedding>,
        y: &Embedding,
    ) -> Option<StopReason> {
        let (Some(previous), [.., before, now]) = (previous.filter(|_| self.early_stop), iterations) else {
            return None;
        };
        let is_near = (before.f - now.f).abs() <= 10.0 * self.tol * before.f.abs();
        (is_near && sides(previous) == sides(y)).then_some(StopReason::SidesSettled)
    }

    /// The toolbox's rule on J_τ; its sweeps are counted after the τ = 2 solution.
    fn released_stop(&self, iterations: &[Iteration]) -> Option<StopReason> {
        let m = iterations.len() - 1;
        let normalized = self.balance != crate::graph::Balance::Ratio;
        let least = self.min_iterations.unwrap_or(if normalized { 5 } else { 2 });
        if m <= least || m < 2 {
            return None;
        }
        let j = |back: usize| iterations[m - back].j_tau;
        if j(0) > j(1) {
            Some(StopReason::CostRose)
        } else if (j(1) - j(0)).abs() < self.tol * j(1) {
            Some(StopReason::Converged)
        } else if j(0) - 2.0 * j(1) + j(2) > 0.08 * iterations[0].j_tau {
            Some(StopReason::CostBent)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_bad_contraction_there_is_no_other() {
        let judged = |given_up: Option<(f64, f64)>| {
            let mut state = State {
                weighted: None,
                room: Vec::new(),
                epsilon: 1.0,
                warm: None,
                contracted: None,
                may_contract: true,
                previous: None,
                keeps_previous: false,
                given_up,
            };
            let ms = state.judge_given_up(1.0);
            assert_eq!(state.given_up, None);
            (ms, state.may_contract)
        };
        assert_eq!(judged(None), (0.0, true));
        assert_eq!(judged(Some((5.0, 1.00005))), (5.0, true));
        assert_eq!(judged(Some((5.0, 1.001))), (5.0, false));
    }
}
