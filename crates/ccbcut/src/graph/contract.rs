//! Parts of a graph as the vertices of a small one.

use crate::{error::Result, parallel, simd};

use super::{Graph, ROW_BLOCK, Storage, stencil::Stencil};

/// Parts around a vertex whose weights are added up before they become an edge.
const HELD_PARTS: usize = 16;

/// Rows of an image whose pairs of parts are added up together.
const BAND: usize = 16;

/// Most parts in a band and the rows that it reaches: their pairs stand in a table.
const TABLED_PARTS: usize = 256;

/// Weights that are added up side by side.
const LANES: usize = 8;

/// Two parts, and the weight between them.
type Edge = (u32, u32, f64);

impl Graph {
    /// The graph with each of `n_parts` parts as one vertex: weights between parts add up, what is inside a part becomes its
    /// self-loop, and so the degree of a part is the sum of its vertices'. `part` has one number per vertex.
    ///
    /// # Complexity
    /// O(edges + c log c) for c pairs of a vertex and a part that it is tied to.
    pub(crate) fn contracted(&self, part: &[u32], n_parts: usize) -> Result<Self> {
        let of_pixels = match &self.storage {
            Storage::Stencil(stencil) if stencil.cells.is_none() => edges_of_pixels(stencil, part),
            _ => None,
        };
        let mut edges = of_pixels.unwrap_or_else(|| self.edges_of_rows(part));
        let loops = self.self_loops.iter().zip(part).filter(|(w, _)| **w > 0.0);
        edges.extend(loops.map(|(&w, &own)| (own, own, w)));
        Self::from_edges(n_parts, &edges)
    }

    /// Vertex by vertex, for any graph. What is inside a part counts twice, once for either end.
    fn edges_of_rows(&self, part: &[u32]) -> Vec<Edge> {
        let n = self.n_vertices();
        let blocks = parallel::map(n.div_ceil(ROW_BLOCK), |b| {
            let mut edges = Vec::new();
            // The weights of a row to the few parts around it.
            let mut held: Vec<(u32, f64)> = Vec::with_capacity(HELD_PARTS);
            for i in b * ROW_BLOCK..((b + 1) * ROW_BLOCK).min(n) {
                let own = part[i];
                let mut flush = |held: &mut Vec<(u32, f64)>| {
                    let kept = held.drain(..).filter(|&(other, _)| other >= own);
                    edges.extend(kept.map(|(other, w)| (own, other, w)));
                };
                self.for_each_neighbor(i, |j, w| {
                    if let Some((_, sum)) = held.iter_mut().find(|(other, _)| *other == part[j]) {
                        *sum += w;
                        return;
                    }
                    if held.len() == HELD_PARTS {
                        flush(&mut held);
                    }
                    held.push((part[j], w));
                });
                flush(&mut held);
            }
            // Stable, so that weights are added in their order.
            edges.sort_by_key(|&(own, other, _)| (own, other));
            edges.dedup_by(|next, kept| {
                let is_same = (next.0, next.1) == (kept.0, kept.1);
                kept.2 += if is_same { next.2 } else { 0.0 };
                is_same
            });
            edges
        });
        blocks.concat()
    }
}

/// The same for a pixel graph. Parts come in stretches of a row: along two of them the weights of an offset lie side by side
/// and belong to one pair. `None` where a few rows hold more parts than a table is worth.
fn edges_of_pixels(stencil: &Stencil, part: &[u32]) -> Option<Vec<Edge>> {
    let bands = parallel::map(stencil.height.div_ceil(BAND), |band| {
        let table = Table::new(stencil, part, band * BAND)?;
        Some(simd::widest(table))
    });
    Some(bands.into_iter().collect::<Option<Vec<_>>>()?.concat())
}

/// The weights between the parts of a band of rows.
struct Table<'a> {
    stencil: &'a Stencil,
    first: usize,
    /// The parts that occur, in increasing order; pairs are places in this list.
    parts: Vec<u32>,
    /// For each row from the first on its stretches: where one ends, and the place of its part.
    stretches: Vec<Vec<(usize, usize)>>,
    /// `sums[own * parts.len() + other]`
    sums: Vec<f64>,
}

impl<'a> Table<'a> {
    fn new(stencil: &'a Stencil, part: &[u32], first: usize) -> Option<Self> {
        let (width, height) = (stencil.width, stencil.height);
        let depth = stencil.offsets.iter().map(|o| o.0).max().unwrap_or(0);
        let rows = &part[first * width..(first + BAND + depth).min(height) * width];
        let mut parts: Vec<u32> = Vec::new();
        for stretch in rows.chunk_by(|a, b| a == b) {
            if let Err(place) = parts.binary_search(&stretch[0]) {
                parts.insert(place, stretch[0]);
                if parts.len() > TABLED_PARTS {
                    return None;
                }
            }
        }
        let place = |part: u32| parts.binary_search(&part).ok();
        let mut stretches = Vec::with_capacity(BAND + depth);
        for row in rows.chunks_exact(width) {
            let mut end = 0;
            let of_row = row.chunk_by(|a, b| a == b).map(|stretch| {
                end += stretch.len();
                place(stretch[0]).map(|place| (end, place))
            });
            stretches.push(of_row.collect::<Option<Vec<_>>>()?);
        }
        let sums = vec![0.0; parts.len() * parts.len()];
        Some(Self { stencil, first, parts, stretches, sums })
    }

    /// Adds the weights of one offset from a row.
    #[inline(always)]
    fn add(&mut self, row: usize, (dr, dc): (usize, isize), weights: &[f32]) {
        let columns = self.stencil.columns(dc);
        let (own, others) = (&self.stretches[row - self.first], &self.stretches[row + dr - self.first]);
        let shifted = |end: usize| end.saturating_add_signed(-dc);
        let mut at = columns.start;
        let (mut i, mut j) = (0, 0);
        while at < columns.end {
            while own[i].0 <= at {
                i += 1;
            }
            while shifted(others[j].0) <= at {
                j += 1;
            }
            let end = own[i].0.min(shifted(others[j].0)).min(columns.end);
            self.sums[own[i].1 * self.parts.len() + others[j].1] += sum(&weights[at..end]);
            at = end;
        }
    }
}

impl pulp::NullaryFnOnce for Table<'_> {
    type Output = Vec<Edge>;

    #[inline(always)]
    fn call(mut self) -> Vec<Edge> {
        let (stencil, per_row) = (self.stencil, self.stencil.offsets.len() * self.stencil.width);
        let mut room = Vec::new();
        for row in self.first..(self.first + BAND).min(stencil.height) {
            let weights = stencil.weights.row(row, per_row, &mut room);
            for (&offset, weights) in stencil.offsets.iter().zip(weights.chunks_exact(stencil.width)) {
                if row + offset.0 < stencil.height {
                    self.add(row, offset, weights);
                }
            }
        }
        let (n, parts) = (self.parts.len(), &self.parts);
        let edge = |k: usize| {
            let (a, b, w) = (k / n, k % n, self.sums[k]);
            (parts[a], parts[b], if a == b { 2.0 * w } else { w })
        };
        (0..n * n).map(edge).filter(|edge| edge.2 > 0.0).collect()
    }
}

/// Σ w, a few at a time.
#[inline(always)]
fn sum(weights: &[f32]) -> f64 {
    let (chunks, rest) = weights.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for chunk in chunks {
        for l in 0..LANES {
            sums[l] += f64::from(chunk[l]);
        }
    }
    let tail: f64 = rest.iter().map(|&w| f64::from(w)).sum();
    sums.iter().sum::<f64>() + tail
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{graph::half_disc, random::Random};

    #[test]
    fn contraction_adds_up_what_is_between_and_inside_parts() {
        // Every vertex sees all forty parts, more than are held at a time.
        let n = 120_u32;
        let weight = |i: u32, j: u32| f64::from((i * 7 + j * 13) % 31) / 8.0;
        let mut edges: Vec<(u32, u32, f64)> =
            (0..n).flat_map(|j| (0..j).map(move |i| (i, j, weight(i, j)))).collect();
        edges.extend([(5, 5, 2.5), (45, 45, 0.25)]);
        let graph = Graph::from_edges(n as usize, &edges).unwrap();
        let part: Vec<u32> = (0..n).map(|v| (v * 3 + v / 50) % 40).collect();
        let small = graph.contracted(&part, 40).unwrap();
        let mut expected = vec![0.0; 40 * 40];
        for &(i, j, w) in &edges {
            let (a, b) = (part[i as usize] as usize, part[j as usize] as usize);
            expected[a * 40 + b] += w;
            expected[b * 40 + a] += if i == j { 0.0 } else { w };
        }
        for a in 0..40 {
            assert_eq!(small.self_loop(a), expected[a * 40 + a]);
            small.for_each_neighbor(a, |b, w| assert_eq!(w, expected[a * 40 + b], "{a} {b}"));
            assert_eq!(small.degrees()[a], expected[a * 40..(a + 1) * 40].iter().sum::<f64>());
        }
    }

    #[test]
    fn pixels_are_contracted_as_any_other_graph() {
        let mut random = Random::new(3);
        for (height, width, radius) in [(1, 1, 2.0), (1, 40, 3.0), (40, 1, 3.0), (45, 37, 4.0), (5, 3, 6.0)] {
            // Eighths add up without rounding, in any order.
            let weights: Vec<f32> =
                (0..997).map(|_| (random.uniform() * 12.0).floor() as f32 / 8.0).collect();
            let weight = |p: usize, q: usize| weights[(p * 31 + q * 17) % weights.len()];
            let graph = Graph::from_stencil(height, width, half_disc(radius), weight).unwrap();
            let Storage::Stencil(stencil) = &graph.storage else { panic!("a stencil") };
            for n_parts in [1, 7, 400] {
                let of = |p: usize| ((p / width / 4) * 3 + p % width / 5 + p % 2 * (p / 60)) % n_parts;
                let part: Vec<u32> = (0..height * width).map(|p| of(p) as u32).collect();
                let by_rows = graph.edges_of_rows(&part);
                let expected = Graph::from_edges(n_parts, &by_rows).unwrap();
                let found = edges_of_pixels(stencil, &part).expect("few parts");
                assert_eq!(Graph::from_edges(n_parts, &found).unwrap().to_csr(), expected.to_csr());
                assert_eq!(graph.contracted(&part, n_parts).unwrap().to_csr(), expected.to_csr());
            }
            let alone: Vec<u32> = (0..(height * width) as u32).collect();
            assert_eq!(edges_of_pixels(stencil, &alone).is_none(), alone.len() > TABLED_PARTS);
            let same = graph.contracted(&alone, alone.len()).unwrap();
            assert_eq!(same.to_csr(), graph.to_csr(), "every pixel a part of its own");
        }
    }
}
