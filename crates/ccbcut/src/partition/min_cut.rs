//! The set of least Cut(A, V∖A) − z(A), exactly: a minimum cut by pushing and relabelling.
//!
//! Vertices with z > 0 have something to send, those with z < 0 take it, and an edge lets through at most its weight in
//! either direction. What cannot arrive names the set: the vertices from which nothing more reaches a taker. The inner
//! problem of balanced cuts has its steps α as a flow that is nearly done, from which this one goes on.
//!
//! Goldberg & Tarjan, J. ACM 35 (1988), <https://doi.org/10.1145/48014.61051>; the order of the vertices (highest first), the
//! distances found anew now and then, and the gaps are those of Cherkassky & Goldberg, Algorithmica 19 (1997),
//! <https://doi.org/10.1007/PL00009180>. Numbers are integers, so that nothing is lost or made on the way.

use crate::graph::Graph;

/// The largest weight is about this; fewer bits where the sums over all edges would not fit.
const BITS: u32 = 44;

/// Edges are counted in 32 bits, one of which tells the direction.
pub(super) const MOST_EDGES: usize = 1 << 31;

/// An edge seen from one of its ends.
#[derive(Debug, Clone, Copy)]
struct Arc {
    to: u32,
    /// Twice the number of the edge, plus one when seen from its larger end.
    edge: u32,
}

impl Arc {
    fn index(self) -> usize {
        (self.edge / 2) as usize
    }

    /// Minus the number when seen from the larger end.
    fn signed(self, number: i64) -> i64 {
        if self.edge & 1 == 0 { number } else { -number }
    }

    fn reversed(self, from: usize) -> Self {
        Self { to: from as u32, edge: self.edge ^ 1 }
    }
}

/// The edges of a graph as integers.
#[derive(Debug)]
pub(super) struct MinCut {
    starts: Vec<usize>,
    arcs: Vec<Arc>,
    /// One per edge: by the smaller end, then by the larger one.
    capacities: Vec<i64>,
    /// Twice the capacities at each vertex, and one: whatever has more to send or to take keeps it.
    most: Vec<i64>,
    /// A weight of 1 as an integer.
    unit: f64,
}

/// What is on its way.
struct Push<'a> {
    cut: &'a MinCut,
    /// From the smaller end of each edge to the larger one.
    flow: Vec<i64>,
    /// What a vertex still has to send; negative where it can still take.
    excess: Vec<i64>,
    /// At most the number of arcs to a taker, and one; the number of vertices plus one where none can be reached.
    height: Vec<u32>,
    /// How many vertices there are of each height.
    counts: Vec<u32>,
    /// The arc to go on with.
    current: Vec<usize>,
    /// Stacks of the vertices with something to send, by height.
    active: Vec<Vec<u32>>,
    highest: usize,
    work: usize,
}

impl MinCut {
    pub(super) fn new(graph: &Graph) -> Self {
        let n = graph.n_vertices();
        let n_edges = graph.n_edges() as u64;
        let bits = BITS.min(n_edges.leading_zeros().saturating_sub(4));
        let unit = (1_u64 << bits) as f64 / graph.largest_weight().max(f64::MIN_POSITIVE);
        let mut degrees = vec![0; n];
        graph.for_each_edge(|i, j, _| {
            degrees[i] += 1;
            degrees[j] += 1;
        });
        let mut starts = vec![0; n + 1];
        (0..n).for_each(|i| starts[i + 1] = starts[i] + degrees[i]);
        let mut places = starts[..n].to_vec();
        let mut arcs = vec![Arc { to: 0, edge: 0 }; starts[n]];
        let mut capacities = Vec::with_capacity(graph.n_edges());
        let mut most = vec![1; n];
        for i in 0..n {
            graph.for_each_neighbor(i, |j, w| {
                if j < i {
                    return;
                }
                let (edge, capacity) = ((2 * capacities.len()) as u32, (w * unit).round() as i64);
                for (end, arc) in [(i, Arc { to: j as u32, edge }), (j, Arc { to: i as u32, edge: edge + 1 })]
                {
                    arcs[places[end]] = arc;
                    places[end] += 1;
                    most[end] += 2 * capacity;
                }
                capacities.push(capacity);
            });
        }
        Self { starts, arcs, capacities, most, unit }
    }

    /// Which vertices are in the largest set of least Cut(A, V∖A) − z(A).
    ///
    /// `start` is the share of each edge's weight that already flows, between −1 and 1; any will do. `None` when `stop`
    /// said so.
    pub(super) fn solve(&self, z: &[f64], start: &[f64], stop: &dyn Fn() -> bool) -> Option<Vec<bool>> {
        let n = z.len();
        let shares = start.iter().zip(&self.capacities);
        let flow = shares.map(|(a, &c)| (a.clamp(-1.0, 1.0) * c as f64).round() as i64).collect();
        // More than the edges of a vertex let through makes no difference, and must not overflow.
        let sent =
            z.iter().zip(&self.most).map(|(z, &most)| ((z * self.unit).round() as i64).clamp(-most, most));
        let mut push = Push {
            cut: self,
            flow,
            excess: sent.collect(),
            height: vec![0; n],
            counts: vec![0; n + 2],
            current: vec![0; n],
            active: vec![Vec::new(); n + 2],
            highest: 0,
            work: 0,
        };
        push.account_for_the_start();
        push.run(stop).then(|| {
            push.measure_heights();
            push.height.iter().map(|&h| h as usize > n).collect()
        })
    }

    fn arcs_of(&self, v: usize) -> std::ops::Range<usize> {
        self.starts[v]..self.starts[v + 1]
    }
}

impl Push<'_> {
    fn account_for_the_start(&mut self) {
        for v in 0..self.excess.len() {
            for arc in &self.cut.arcs[self.cut.arcs_of(v)] {
                self.excess[v] -= arc.signed(self.flow[arc.index()]);
            }
        }
    }

    /// How much more an arc lets through.
    #[inline(always)]
    fn rest(&self, arc: Arc) -> i64 {
        self.cut.capacities[arc.index()] - arc.signed(self.flow[arc.index()])
    }

    /// Whether it went to the end.
    fn run(&mut self, stop: &dyn Fn() -> bool) -> bool {
        let n = self.excess.len();
        let enough = 6 * n + self.cut.arcs.len() / 2;
        self.measure_heights();
        loop {
            while self.active[self.highest].is_empty() {
                if self.highest == 0 {
                    return true;
                }
                self.highest -= 1;
            }
            let v = self.active[self.highest].pop().expect("not empty") as usize;
            // A gap may have lifted it since.
            if self.height[v] as usize != self.highest {
                continue;
            }
            self.discharge(v);
            if self.work > enough {
                if stop() {
                    return false;
                }
                self.work = 0;
                self.measure_heights();
            }
        }
    }

    /// Sends what a vertex has to lower ones, lifting it as often as that takes.
    fn discharge(&mut self, v: usize) {
        let end = self.cut.starts[v + 1];
        while self.excess[v] > 0 {
            while self.current[v] < end {
                let arc = self.cut.arcs[self.current[v]];
                let to = arc.to as usize;
                if self.height[v] == self.height[to] + 1 {
                    let amount = self.excess[v].min(self.rest(arc));
                    if amount > 0 {
                        self.send(v, arc, amount);
                        if self.excess[v] == 0 {
                            return;
                        }
                    }
                }
                self.current[v] += 1;
            }
            if !self.lift(v) {
                return;
            }
        }
    }

    fn send(&mut self, v: usize, arc: Arc, amount: i64) {
        let to = arc.to as usize;
        self.flow[arc.index()] += arc.signed(amount);
        self.excess[v] -= amount;
        let before = self.excess[to];
        self.excess[to] += amount;
        if before <= 0 && self.excess[to] > 0 {
            self.active[self.height[to] as usize].push(arc.to);
        }
    }

    /// Lifts a vertex above its lowest neighbour that can be reached; `false` when it is out of the game.
    fn lift(&mut self, v: usize) -> bool {
        let n = self.excess.len();
        let range = self.cut.arcs_of(v);
        self.work += 12 + range.len();
        let (mut lowest, mut first) = (n as u32, range.end);
        for a in range {
            let arc = self.cut.arcs[a];
            if self.height[arc.to as usize] < lowest && self.rest(arc) > 0 {
                (lowest, first) = (self.height[arc.to as usize], a);
            }
        }
        let old = self.height[v];
        self.counts[old as usize] -= 1;
        if self.counts[old as usize] == 0 {
            // Nothing above a gap can come down to a taker.
            for (v, height) in self.height.iter_mut().enumerate() {
                if *height > old && *height as usize <= n {
                    self.counts[*height as usize] -= 1;
                    self.counts[n + 1] += 1;
                    *height = n as u32 + 1;
                    self.current[v] = self.cut.starts[v + 1];
                }
            }
            lowest = n as u32;
        }
        self.height[v] = lowest + 1;
        self.counts[lowest as usize + 1] += 1;
        self.current[v] = first;
        self.highest = self.highest.max(if lowest as usize == n { 0 } else { lowest as usize + 1 });
        (lowest as usize) < n
    }

    /// Sets every height to the number of arcs to the nearest taker, and one.
    fn measure_heights(&mut self) {
        let n = self.excess.len();
        self.height.fill(n as u32 + 1);
        self.counts.fill(0);
        self.active.iter_mut().for_each(Vec::clear);
        self.highest = 0;
        let mut queue: Vec<u32> = (0..n as u32).filter(|&v| self.excess[v as usize] < 0).collect();
        queue.iter().for_each(|&v| self.height[v as usize] = 1);
        let mut next = 0;
        while next < queue.len() {
            let v = queue[next] as usize;
            next += 1;
            for a in self.cut.arcs_of(v) {
                let arc = self.cut.arcs[a];
                if self.height[arc.to as usize] as usize > n && self.rest(arc.reversed(v)) > 0 {
                    self.height[arc.to as usize] = self.height[v] + 1;
                    queue.push(arc.to);
                }
            }
        }
        for v in 0..n {
            let height = self.height[v] as usize;
            self.counts[height] += 1;
            self.current[v] = self.cut.starts[v];
            if self.excess[v] > 0 && height <= n {
                self.active[height].push(v as u32);
                self.highest = self.highest.max(height);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{graph::gallery, random::Random};

    /// Cut(A, V∖A) − z(A).
    fn value(graph: &Graph, z: &[f64], is_inside: &[bool]) -> f64 {
        let cut = graph.sum_edges(|i, j, w| if is_inside[i] == is_inside[j] { 0.0 } else { w });
        cut - z.iter().zip(is_inside).filter(|(_, inside)| **inside).map(|(z, _)| z).sum::<f64>()
    }

    fn centred(n: usize, random: &mut Random, size: f64) -> Vec<f64> {
        let z: Vec<f64> = (0..n).map(|_| size * random.normal()).collect();
        let mean = z.iter().sum::<f64>() / n as f64;
        z.iter().map(|z| z - mean).collect()
    }

    #[test]
    fn the_set_is_the_best_of_all() {
        let mut n_proper = 0;
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let n = 2 + random.below(9);
            let graph = gallery::wide(n, 0.4, 1.0, seed);
            let size = [0.05, 0.3, 1.0, 10.0][seed as usize % 4] * graph.largest_weight();
            let z = centred(n, &mut random, size);
            let start: Vec<f64> = (0..graph.n_edges()).map(|_| 2.0 * random.uniform() - 1.0).collect();
            let sets = (0_u32..1 << n).map(|set| (0..n).map(|i| set >> i & 1 == 1).collect::<Vec<_>>());
            let lowest = sets.map(|set| value(&graph, &z, &set)).fold(f64::INFINITY, f64::min);
            for start in [&vec![0.0; graph.n_edges()], &start] {
                let found = MinCut::new(&graph).solve(&z, start, &|| false).unwrap();
                let got = value(&graph, &z, &found);
                let scale = 1e-9 * (graph.largest_weight() + size);
                assert!(got <= lowest + scale, "seed {seed}: {got}, not {lowest}");
                n_proper += usize::from(found.contains(&true) && found.contains(&false));
            }
        }
        assert!(n_proper > 100, "{n_proper}");
    }

    #[test]
    fn a_start_changes_the_way_and_not_the_set() {
        for (seed, graph) in
            [gallery::grid(23, 31), gallery::planted(&[60, 40, 30], 0.4, 0.05, 2)].iter().enumerate()
        {
            let mut random = Random::new(seed as u64);
            let z = centred(graph.n_vertices(), &mut random, 1.5 * f64::from(1 + 4 * seed as u32));
            let cut = MinCut::new(graph);
            let start: Vec<f64> = (0..graph.n_edges()).map(|_| random.normal()).collect();
            let (zero, some) = (vec![0.0; graph.n_edges()], start);
            let found = cut.solve(&z, &zero, &|| false).unwrap();
            assert_eq!(found, cut.solve(&z, &some, &|| false).unwrap());
            assert!(found.contains(&true) && found.contains(&false));
        }
    }

    #[test]
    fn nothing_to_send_leaves_no_set_and_a_stop_ends_it() {
        let graph = gallery::grid(40, 40);
        let cut = MinCut::new(&graph);
        let zero = vec![0.0; graph.n_edges()];
        let all = cut.solve(&vec![0.0; 1600], &zero, &|| false).unwrap();
        assert!(all.iter().all(|inside| *inside), "the largest set of no cost is everything");
        let far: Vec<f64> = (0..1600).map(|i| if i < 800 { 0.1 } else { -0.1 }).collect();
        assert_eq!(cut.solve(&far, &zero, &|| true), None);
        assert!(cut.solve(&far, &zero, &|| false).is_some());
    }
}
