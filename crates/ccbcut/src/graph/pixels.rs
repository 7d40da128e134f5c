//! Pixel graphs: building the stencil, and the passes over all its edges that run along rows of the image.
//!
//! Work is cut into bands of rows. A band adds to its own rows and to those its offsets reach below it, in a buffer
//! of its own; the buffers are added up in the order of the bands.

use crate::{
    error::{Error, Result},
    labels::Labels,
    parallel, simd,
};

use super::{
    Graph, Storage,
    build::check_vertex_count,
    half_stencil::{HalfStencil, HalfWeights},
    stencil::{Offsets, Stencil},
    weights::{Recipe, Weights},
};

/// Rows of the image in a band.
const BAND: usize = 16;

/// Edges of one offset whose ends are compared at a time.
const STRETCH: usize = 32;

impl Graph {
    /// The pixel-neighbourhood graph: `weight(p, q)` for each pixel p and each pixel q at a forward offset of it.
    ///
    /// Pixels are numbered row by row; `offsets` are those of [`half_disc`](super::half_disc) or any other list
    /// of forward offsets in raster order. A weight of zero means no edge. The weights are stored in 32 bits.
    ///
    /// # Errors
    /// [`Error::InvalidWeight`] for a weight that is negative or not finite, [`Error::TooLarge`] for too many
    /// pixels.
    pub fn from_stencil(
        height: usize,
        width: usize,
        offsets: Vec<(usize, isize)>,
        weight: impl Fn(usize, usize) -> f32 + Sync + Send,
    ) -> Result<Self> {
        Self::from_stencil_rows(height, width, offsets, |p, q, weights| {
            weights.iter_mut().enumerate().for_each(|(k, w)| *w = weight(p + k, q + k));
        })
    }

    /// As [`Graph::from_stencil`], many pairs at a time: `fill(p, q, weights)` sets the weights of the pairs
    /// (p, q), (p + 1, q + 1), …, all in one row of the image and at the same offset.
    ///
    /// # Errors
    /// As [`Graph::from_stencil`].
    pub fn from_stencil_rows(
        height: usize,
        width: usize,
        offsets: Vec<(usize, isize)>,
        fill: impl Fn(usize, usize, &mut [f32]) + Sync + Send,
    ) -> Result<Self> {
        Self::from_stencil_parts(height, width, offsets, |stencil, first, part| {
            let mut sums = BandSums::new(stencil, first);
            for (row, weights) in (first..).zip(part.chunks_exact_mut(stencil.offsets.len() * width)) {
                for (weights, &(dr, dc)) in weights.chunks_exact_mut(width).zip(&stencil.offsets) {
                    let columns = stencil.columns(dc);
                    if row + dr < height && !columns.is_empty() {
                        let (p, q) = (row * width + columns.start, (row + dr) * width + columns.start);
                        fill(p, q.wrapping_add_signed(dc), &mut weights[columns]);
                    }
                }
                sums.add_row(stencil, row, weights);
            }
            sums
        })
    }

    /// As [`Graph::from_stencil`], several rows of the image at a time: `fill(row, weights)` sets the weights of that
    /// row and of those below it, laid out as in [`HalfStencil`]. What it is given is zero, and must stay so where an
    /// offset leads outside.
    pub(crate) fn from_stencil_bands(
        height: usize,
        width: usize,
        offsets: Vec<(usize, isize)>,
        fill: impl Fn(usize, &mut [f32]) + Sync + Send,
    ) -> Result<Self> {
        Self::from_stencil_parts(height, width, offsets, |stencil, first, part| {
            fill(first, part);
            let mut sums = BandSums::new(stencil, first);
            for (row, weights) in (first..).zip(part.chunks_exact(stencil.offsets.len() * width)) {
                sums.add_row(stencil, row, weights);
            }
            sums
        })
    }

    /// `fill(stencil, row, weights)` sets the weights of a band and returns their sums.
    fn from_stencil_parts(
        height: usize,
        width: usize,
        offsets: Vec<(usize, isize)>,
        fill: impl Fn(&Stencil, usize, &mut [f32]) -> BandSums + Sync + Send,
    ) -> Result<Self> {
        check_vertex_count(height.saturating_mul(width))?;
        let weights = vec![0.0_f32; offsets.len() * width * height];
        Self::filled(Stencil { height, width, offsets, weights: weights.into(), cells: None }, fill)
    }

    /// The graph of a stencil once `fill(stencil, row, weights)` has changed the weights of every band, where they are.
    fn filled(
        mut stencil: Stencil,
        fill: impl Fn(&Stencil, usize, &mut [f32]) -> BandSums + Sync + Send,
    ) -> Result<Self> {
        let width = stencil.width;
        let per_row = stencil.offsets.len() * width;
        let mut weights = std::mem::replace(&mut stencil.weights, Vec::new().into()).into_vec();
        let bands = parallel::map_chunks(&mut weights, BAND * per_row, |band, part| {
            fill(&stencil, band * BAND, part)
        });
        if bands.iter().any(|band| band.is_invalid)
            && let Some(bad) = weights.iter().position(|w| !(w.is_finite() && *w >= 0.0))
        {
            let (row, o, c) = (bad / per_row, bad % per_row / width, bad % width);
            let (dr, dc) = stencil.offsets[o];
            let col = (row + dr) * width + c.wrapping_add_signed(dc);
            return Err(Error::InvalidWeight { row: row * width + c, col, weight: f64::from(weights[bad]) });
        }
        stencil.weights = weights.into();
        let (degrees, n_edges) = added_up(&stencil, &bands);
        let (storage, degrees) = (Storage::Stencil(stencil), degrees.into());
        Ok(Self { storage, degrees, self_loops: Vec::new(), n_edges, columns: Vec::new() })
    }

    /// The pixel graph with `f(weight, other's weight)` on the same edges, in place; without another, 0 stands for it.
    /// Where there is no edge, `f` must leave none: f(0, v) = 0.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless both are pixel graphs of the same grid and offsets, and the errors of
    /// [`Graph::from_stencil`].
    pub(crate) fn map_pixel_weights(
        self,
        other: Option<&Self>,
        f: impl Fn(f32, f32) -> f32 + Sync + Send,
    ) -> Result<Self> {
        let (what, expected) = ("the other pixel graph", self.n_edges());
        let mismatch = |got: usize| Error::ShapeMismatch { what, expected, got };
        let Storage::Stencil(stencil) = self.storage else { return Err(mismatch(0)) };
        let others = match other.map(|other| (other.n_edges(), other.half_stencil())) {
            None => None,
            Some((_, Some(other)))
                if stencil.cells.is_none()
                    && (other.height, other.width) == (stencil.height, stencil.width)
                    && other.offsets == stencil.offsets =>
            {
                Some(other)
            }
            Some((got, _)) => return Err(mismatch(got)),
        };
        let per_row = stencil.offsets.len() * stencil.width;
        Self::filled(stencil, |stencil, first, part| {
            let mut sums = BandSums::new(stencil, first);
            let mut room = Vec::new();
            for (row, weights) in (first..).zip(part.chunks_exact_mut(per_row)) {
                let width = stencil.width.max(1);
                for (o, weights) in weights.chunks_exact_mut(width).enumerate() {
                    let others = others.as_ref().map(|others| others.offset_row(row, o, &mut room));
                    for (k, w) in weights.iter_mut().enumerate() {
                        *w = f(*w, others.map_or(0.0, |others| others[k]));
                    }
                }
                sums.add_row(stencil, row, weights);
            }
            sums
        })
    }

    /// As [`Graph::from_stencil_rows`], but the weights are not written down until somebody asks for more than walks along
    /// the rows.
    ///
    /// # Errors
    /// As [`Graph::from_stencil`].
    pub(crate) fn from_recipe(recipe: &Recipe) -> Result<Self> {
        let (height, width, offsets) = (recipe.height, recipe.width, recipe.offsets.clone());
        check_vertex_count(height.saturating_mul(width))?;
        let stencil =
            Stencil { height, width, offsets, weights: Weights::found(recipe.clone()), cells: None };
        let bands = band_sums(&stencil);
        if bands.iter().any(|band| band.is_invalid) {
            // It will say which.
            return Self::from_stencil_rows(height, width, stencil.offsets, |p, q, out| {
                recipe.pairs.fill(p, q, out);
            });
        }
        let (degrees, n_edges) = added_up(&stencil, &bands);
        let (storage, degrees) = (Storage::Stencil(stencil), degrees.into());
        Ok(Self { storage, degrees, self_loops: Vec::new(), n_edges, columns: Vec::new() })
    }

    /// How many weights of a pixel graph are kept; 0 for compressed rows, and where they are found anew on every walk.
    pub(crate) fn n_kept_weights(&self) -> usize {
        if let Storage::Stencil(stencil) = &self.storage { stencil.weights.n_kept() } else { 0 }
    }

    /// The half of a pixel graph that counts; `None` for compressed rows.
    pub(crate) fn half_stencil(&self) -> Option<HalfStencil<'_, f32>> {
        let Storage::Stencil(Stencil { height, width, offsets, weights, cells: None }) = &self.storage else {
            return None;
        };
        let weights = match weights.recipe() {
            Some(recipe) => HalfWeights::Found(recipe),
            None => HalfWeights::Kept(weights),
        };
        Some(HalfStencil { height: *height, width: *width, offsets, weights })
    }

    /// For each pixel the weight of its edges to pixels with another label; `None` for compressed rows.
    pub(crate) fn leaving_pixels(&self, labels: &[u32]) -> Option<Vec<f64>> {
        match &self.storage {
            Storage::Stencil(stencil) if stencil.cells.is_none() => Some(leaving_weights(stencil, labels)),
            _ => None,
        }
    }
}

/// Degrees and the number of edges.
pub(super) fn row_sums(stencil: &Stencil) -> (Vec<f64>, usize) {
    let per_row = stencil.offsets.len() * stencil.width;
    if per_row == 0 {
        return (vec![0.0; stencil.n_vertices()], 0);
    }
    added_up(stencil, &band_sums(stencil))
}

fn band_sums(stencil: &Stencil) -> Vec<BandSums> {
    let per_row = stencil.offsets.len() * stencil.width;
    parallel::map(stencil.height.div_ceil(BAND), |band| {
        let mut sums = BandSums::new(stencil, band * BAND);
        let mut room = Vec::new();
        for row in band * BAND..((band + 1) * BAND).min(stencil.height) {
            sums.add_row(stencil, row, stencil.weights.row(row, per_row, &mut room));
        }
        sums
    })
}

/// What one band of rows adds to the degrees.
struct BandSums {
    first: usize,
    /// From the first row of the band to the last that its offsets reach.
    degrees: Vec<f64>,
    n_edges: usize,
    /// Whether a weight is negative or not finite.
    is_invalid: bool,
}

impl BandSums {
    fn new(stencil: &Stencil, first: usize) -> Self {
        let rows = BAND + reach(&stencil.offsets);
        let degrees = vec![0.0; rows.min(stencil.height - first) * stencil.width];
        Self { first, degrees, n_edges: 0, is_invalid: false }
    }

    fn add_row(&mut self, stencil: &Stencil, row: usize, weights: &[f32]) {
        let width = stencil.width;
        let mut own = vec![0.0_f64; width];
        let degrees = &mut self.degrees[(row - self.first) * width..];
        for (weights, &(dr, dc)) in weights.chunks_exact(width).zip(&stencil.offsets) {
            let columns = stencil.columns(dc);
            if row + dr >= stencil.height || columns.is_empty() {
                continue;
            }
            let there = &mut degrees[dr * width..][columns.start.wrapping_add_signed(dc)..][..columns.len()];
            let weights = &weights[columns.clone()];
            let (n_edges, is_invalid) = simd::widest(AddWeights { weights, own: &mut own[columns], there });
            self.n_edges += n_edges;
            self.is_invalid |= is_invalid;
        }
        degrees.iter_mut().zip(&own).for_each(|(sum, w)| *sum += w);
    }
}

/// Adds weights at both ends of their edges; how many are positive, and whether one is negative or not finite.
struct AddWeights<'a> {
    weights: &'a [f32],
    own: &'a mut [f64],
    there: &'a mut [f64],
}

impl pulp::NullaryFnOnce for AddWeights<'_> {
    type Output = (usize, bool);

    #[inline(always)]
    fn call(self) -> (usize, bool) {
        let (mut n_edges, mut invalid) = (0_u32, 0_u32);
        for ((&w, own), there) in self.weights.iter().zip(self.own).zip(self.there) {
            n_edges += u32::from(w > 0.0);
            // Above the bits of the largest number come those of infinity, NaN and all negative numbers.
            invalid |= u32::from(w.to_bits() > f32::MAX.to_bits());
            *own += f64::from(w);
            *there += f64::from(w);
        }
        (n_edges as usize, invalid != 0)
    }
}

fn added_up(stencil: &Stencil, bands: &[BandSums]) -> (Vec<f64>, usize) {
    let mut degrees = vec![0.0; stencil.height * stencil.width];
    for band in bands {
        let here = &mut degrees[band.first * stencil.width..];
        here.iter_mut().zip(&band.degrees).for_each(|(sum, w)| *sum += w);
    }
    if stencil.cells.is_some() {
        degrees = (0..stencil.n_vertices()).map(|v| degrees[stencil.pixel(v)]).collect();
    }
    (degrees, bands.iter().map(|band| band.n_edges).sum())
}

/// How many rows down the offsets lead at most.
fn reach(offsets: &Offsets) -> usize {
    offsets.last().map_or(0, |o| o.0)
}

/// For each vertex the weight of its edges to vertices with another label.
fn leaving_weights(stencil: &Stencil, labels: &[u32]) -> Vec<f64> {
    let (height, width) = (stencil.height, stencil.width);
    let per_row = stencil.offsets.len() * width;
    let rows = BAND + reach(&stencil.offsets);
    let recipe = stencil.weights.recipe();
    let bands = parallel::map(height.div_ceil(BAND), |band| {
        let first = band * BAND;
        let mut leaving = vec![0.0; rows.min(height - first) * width];
        let mut room = vec![0.0; if recipe.is_some() { width } else { 0 }];
        for row in first..(first + BAND).min(height) {
            for (o, &(dr, dc)) in stencil.offsets.iter().enumerate().filter(|(_, o)| row + o.0 < height) {
                let columns = stencil.columns(dc);
                if columns.is_empty() {
                    continue;
                }
                let (here, there) = (row * width + columns.start, (row + dr) * width);
                let there = there + columns.start.wrapping_add_signed(dc);
                let (own, others) = (&labels[here..][..columns.len()], &labels[there..][..columns.len()]);
                let weights = match recipe {
                    Some(recipe) => {
                        let room = &mut room[columns.clone()];
                        find_between(recipe, (row, o, columns.start), own, others, room);
                        &*room
                    }
                    None => &stencil.weights[row * per_row + o * width..][columns.clone()],
                };
                let at = [here - first * width, there - first * width];
                simd::widest(AddLeaving { own, others, weights, leaving: &mut leaving, at });
            }
        }
        leaving
    });
    let mut leaving = vec![0.0; height * width];
    for (band, part) in bands.iter().enumerate() {
        let here = &mut leaving[band * BAND * width..];
        here.iter_mut().zip(part).for_each(|(sum, w)| *sum += w);
    }
    leaving
}

/// Sets the weights of an offset from some columns of a row on wherever the labels of the two ends differ, and of others near
/// by; the rest stays as it is.
fn find_between(
    recipe: &Recipe,
    (row, offset, first): (usize, usize, usize),
    own: &[u32],
    others: &[u32],
    weights: &mut [f32],
) {
    let len = weights.len();
    let differs = |start: usize| {
        let end = len.min(start + STRETCH);
        own[start..end] != others[start..end]
    };
    let mut start = 0;
    while start < len {
        let mut end = start;
        while end < len && differs(end) {
            end += STRETCH;
        }
        if end > start {
            let end = end.min(len);
            recipe.stretch(row, offset, first + start, &mut weights[start..end]);
        }
        start = end + STRETCH;
    }
}

/// Adds each weight between different labels at both its ends.
struct AddLeaving<'a> {
    own: &'a [u32],
    others: &'a [u32],
    weights: &'a [f32],
    leaving: &'a mut [f64],
    /// Where in `leaving` either row begins.
    at: [usize; 2],
}

impl pulp::NullaryFnOnce for AddLeaving<'_> {
    type Output = ();

    /// Most stretches of a row have no such edge and are passed over by comparing the labels alone.
    #[inline(always)]
    fn call(self) {
        let stretches = self.own.chunks(STRETCH).zip(self.others.chunks(STRETCH));
        for (s, ((own, others), weights)) in stretches.zip(self.weights.chunks(STRETCH)).enumerate() {
            let mut differs = 0;
            for (a, b) in own.iter().zip(others) {
                differs |= a ^ b;
            }
            if differs == 0 {
                continue;
            }
            let mut cut = [0.0_f64; STRETCH];
            for ((cut, &w), (a, b)) in cut.iter_mut().zip(weights).zip(own.iter().zip(others)) {
                *cut = if a == b { 0.0 } else { f64::from(w) };
            }
            for at in self.at {
                let sums = &mut self.leaving[at + s * STRETCH..][..own.len()];
                sums.iter_mut().zip(&cut).for_each(|(sum, w)| *sum += w);
            }
        }
    }
}

/// The connected components of a pixel graph.
///
/// One offset after the other, near ones first, joins what is not yet one; the roots are written out after each, so
/// that the next sees at a glance where two pixels are joined already. Nearly always the nearest neighbours suffice.
pub(super) fn components(stencil: &Stencil) -> Labels {
    let (height, width) = (stencil.height, stencil.width);
    let mut roots: Vec<u32> = (0..(height * width) as u32).collect();
    // Pixels that are no vertices have no edges.
    let mut n_components = stencil.n_vertices();
    let mut order: Vec<usize> = (0..stencil.offsets.len()).collect();
    order.sort_by_key(|&o| stencil.offsets[o].0 + stencil.offsets[o].1.unsigned_abs());
    let mut room = Vec::new();
    for o in order {
        if n_components <= 1 {
            break;
        }
        let (dr, dc) = stencil.offsets[o];
        let columns = stencil.columns(dc);
        let before = n_components;
        let recipe = stencil.weights.recipe();
        for row in 0..height.saturating_sub(dr) {
            let weights = match recipe {
                Some(recipe) => {
                    // Only those between pixels that are not joined already.
                    room.resize(width, 0.0);
                    let (own, others) = (row * width + columns.start, (row + dr) * width + columns.start);
                    let (own, others) = (&roots[own..], &roots[others.wrapping_add_signed(dc)..]);
                    let place = (row, o, columns.start);
                    find_between(recipe, place, own, others, &mut room[columns.clone()]);
                    room.as_slice()
                }
                None => &stencil.weights[stencil.index(row, o, 0)..][..width],
            };
            for c in columns.clone() {
                let (p, q) = (row * width + c, (row + dr) * width + c.wrapping_add_signed(dc));
                if weights[c] > 0.0 && roots[p] != roots[q] {
                    let (a, b) = (find(&mut roots, p as u32), find(&mut roots, q as u32));
                    if a != b {
                        roots[a.max(b) as usize] = a.min(b);
                        n_components -= 1;
                    }
                }
            }
        }
        if n_components < before {
            // A root is the smallest of its pixels, so one pass in order reaches it.
            (0..roots.len()).for_each(|p| roots[p] = roots[roots[p] as usize]);
        }
    }
    let of_vertices: Vec<u32> = (0..stencil.n_vertices()).map(|v| roots[stencil.pixel(v)]).collect();
    Labels::from_raw(&of_vertices)
}

/// The root of a pixel, with the path to it halved.
fn find(roots: &mut [u32], mut p: u32) -> u32 {
    while roots[p as usize] != p {
        let above = roots[roots[p as usize] as usize];
        roots[p as usize] = above;
        p = above;
    }
    p
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::half_disc;

    /// Shapes around the lengths of vectors and bands, radii beyond the image, weights of which many are zero.
    fn graphs() -> Vec<Graph> {
        let mut graphs = Vec::new();
        for (height, width) in [(1, 1), (1, 7), (9, 1), (2, 2), (16, 8), (17, 9), (33, 31), (5, 33), (40, 65)]
        {
            for (radius, modulus) in [(1.0, 2), (2.5, 3), (4.0, 9), (70.0, 5)] {
                if radius < 10.0 || height * width < 100 {
                    let weight = |i: usize, j: usize| ((i * 7 + j * 3) % modulus) as f32 / 3.0;
                    graphs.push(Graph::from_stencil(height, width, half_disc(radius), weight).unwrap());
                }
            }
        }
        graphs
    }

    #[test]
    fn degrees_and_edges_are_those_of_a_walk_over_the_neighbors() {
        for graph in graphs() {
            let mut degrees = vec![0.0; graph.n_vertices()];
            let mut n_edges = 0;
            for i in 0..graph.n_vertices() {
                graph.for_each_neighbor(i, |j, w| {
                    degrees[i] += w;
                    n_edges += usize::from(j > i);
                });
            }
            assert_eq!(graph.n_edges(), n_edges);
            assert!(degrees.iter().zip(graph.degrees()).all(|(a, b)| (a - b).abs() <= 1e-13 * a));
            let Storage::Stencil(stencil) = &graph.storage else { panic!("a stencil") };
            assert_eq!(row_sums(stencil), (graph.degrees().to_vec(), n_edges));
        }
    }

    #[test]
    fn components_and_leaving_weights_are_those_of_compressed_rows() {
        for graph in graphs() {
            let n = graph.n_vertices();
            let sparse = graph.induced(&(0..n as u32).collect::<Vec<_>>());
            assert_eq!(graph.components(), sparse.components());
            for period in [1, 3, 40, 1000] {
                let labels: Vec<u32> = (0..n as u32).map(|p| p / period % 5).collect();
                let leaving = graph.leaving_pixels(&labels).unwrap();
                for (i, leaving) in leaving.iter().enumerate() {
                    let mut want = 0.0;
                    sparse.for_each_neighbor(i, |j, w| want += if labels[i] == labels[j] { 0.0 } else { w });
                    assert!((leaving - want).abs() <= 1e-13 * want);
                }
            }
        }
    }

    #[test]
    fn a_bad_weight_is_named_wherever_it_is() {
        for bad in [-1.0, f32::NAN, f32::INFINITY, -f32::MIN_POSITIVE] {
            let weight = |i: usize, j: usize| if (i, j) == (300, 309) { bad } else { 1.0 };
            let error = Graph::from_stencil(40, 9, half_disc(1.0), weight).unwrap_err();
            assert!(matches!(error, Error::InvalidWeight { row: 300, col: 309, .. }), "{error}");
        }
        assert!(Graph::from_stencil(2, 2, half_disc(1.0), |_, _| -0.0).is_ok());
    }
}
