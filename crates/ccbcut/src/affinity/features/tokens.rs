//! Features of tokens: the graph of all pairs, and that of the nearest ones.
//!
//! Scalar products come from matrix products, a block of tokens at a time and in 64 bits, so that squared distances,
//! which are differences of them, keep their digits.

use std::cmp::Reverse;

use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};

use crate::{
    error::{Error, Result},
    graph::Graph,
    image::Image,
    parallel,
};

use super::{Weight, inverse_norm};

/// Tokens whose products with the others are computed together.
const BLOCK: usize = 64;

/// The most stored weights of a graph of tokens, each edge counted twice: 6 GiB of them.
const ENTRY_LIMIT: usize = 1 << 29;

/// Two likenesses closer than this share of the largest are compared anew, without a matrix product.
const CLOSE: f64 = 1e-9;

/// The graph of all pairs of tokens.
pub(super) fn all_pairs(features: &Image, mask: Option<&[bool]>, weight: Weight) -> Result<Graph> {
    let n = features.n_pixels();
    check_entries("the number of entries of the graph of all pairs", n, n.saturating_sub(1))?;
    let upper = Upper::new(&Tokens::new(features, mask, weight));
    let counts =
        parallel::map(n, |i| (0..n).filter(|&j| j != i && upper.weight(i.min(j), i.max(j)) > 0.0).count());
    let mut offsets = vec![0; n + 1];
    for (i, count) in counts.iter().enumerate() {
        offsets[i + 1] = offsets[i] + count;
    }
    let (mut targets, mut weights) = (vec![0_u32; offsets[n]], vec![0.0; offsets[n]]);
    let mut rows: Vec<(&mut [u32], &mut [f64])> = Vec::with_capacity(n);
    let (mut t, mut w) = (targets.as_mut_slice(), weights.as_mut_slice());
    for &count in &counts {
        let (row_t, rest_t) = std::mem::take(&mut t).split_at_mut(count);
        let (row_w, rest_w) = std::mem::take(&mut w).split_at_mut(count);
        rows.push((row_t, row_w));
        (t, w) = (rest_t, rest_w);
    }
    parallel::for_each_part(rows, |i, (targets, weights)| {
        let mut slots = targets.iter_mut().zip(weights);
        for j in (0..n).filter(|&j| j != i) {
            let weight = upper.weight(i.min(j), i.max(j));
            if weight > 0.0
                && let Some((target, slot)) = slots.next()
            {
                (*target, *slot) = (j as u32, f64::from(weight));
            }
        }
    });
    Ok(Graph::from_sorted_csr(offsets, targets, weights, Vec::new()))
}

/// The graph of the `count` nearest neighbours.
pub(super) fn nearest(
    features: &Image,
    mask: Option<&[bool]>,
    weight: Weight,
    count: usize,
    mutual: bool,
) -> Result<Graph> {
    let n = features.n_pixels();
    let count = count.min(n.saturating_sub(1));
    check_entries("the number of entries of the graph of nearest neighbours", n, 2 * count)?;
    let tokens = Tokens::new(features, mask, weight);
    let lists: Vec<Vec<u32>> =
        parallel::map(n.div_ceil(BLOCK), |b| tokens.nearest_of_block(b, count)).concat();
    let mut pairs: Vec<(u32, u32)> = Vec::with_capacity(2 * n * count);
    for (i, list) in lists.iter().enumerate() {
        for &j in list {
            let is_returned = lists[j as usize].contains(&(i as u32));
            if is_returned || !mutual {
                pairs.push((i as u32, j));
            }
            if !is_returned && !mutual {
                pairs.push((j, i as u32));
            }
        }
    }
    pairs.sort_unstable();
    let (mut offsets, mut targets, mut weights) = (vec![0; n + 1], Vec::new(), Vec::new());
    for (i, j) in pairs {
        let own = weight.of(tokens.likeness(i as usize, j as usize));
        if own > 0.0 {
            targets.push(j);
            weights.push(own);
            offsets[i as usize + 1] = targets.len();
        }
    }
    for i in 1..=n {
        offsets[i] = offsets[i].max(offsets[i - 1]);
    }
    Ok(Graph::from_sorted_csr(offsets, targets, weights, Vec::new()))
}

fn check_entries(what: &'static str, n: usize, per_token: usize) -> Result<()> {
    let requested = n.saturating_mul(per_token);
    if requested > ENTRY_LIMIT {
        return Err(Error::TooLarge { what, requested, limit: ENTRY_LIMIT });
    }
    Ok(())
}

/// Feature vectors in 64 bits, one after the other: of length 1 for cosines, about their mean for distances.
struct Tokens {
    n: usize,
    dim: usize,
    rows: Vec<f64>,
    /// ‖x‖², for distances.
    squares: Vec<f64>,
    /// Which tokens are tied at all.
    present: Vec<bool>,
    weight: Weight,
}

impl Tokens {
    fn new(features: &Image, mask: Option<&[bool]>, weight: Weight) -> Self {
        let (n, dim) = (features.n_pixels(), features.channels());
        let is_angular = weight.is_angular();
        let counts = |p: usize| mask.is_none_or(|mask| mask[p]);
        let scale = |p: usize| if is_angular { inverse_norm(features.pixel(p)) } else { 1.0 };
        let mut mean = vec![0.0_f64; dim];
        if !is_angular {
            for p in (0..n).filter(|&p| counts(p)) {
                mean.iter_mut().zip(features.pixel(p)).for_each(|(m, &v)| *m += f64::from(v));
            }
            mean.iter_mut().for_each(|m| *m /= n as f64);
        }
        let mut rows = vec![0.0; n * dim];
        parallel::for_each_chunk(&mut rows, dim, |p, row| {
            let scale = scale(p);
            for ((out, &v), m) in row.iter_mut().zip(features.pixel(p)).zip(&mean) {
                *out = (f64::from(v) - m) * scale;
            }
        });
        let squares =
            if is_angular { Vec::new() } else { rows.chunks_exact(dim).map(|row| dot(row, row)).collect() };
        let present = (0..n).map(|p| counts(p) && scale(p) > 0.0).collect();
        Self { n, dim, rows, squares, present, weight }
    }

    /// The cosine or the squared distance of two tokens; the same bits in either order.
    fn likeness(&self, i: usize, j: usize) -> f64 {
        let row = |i: usize| &self.rows[i * self.dim..(i + 1) * self.dim];
        if self.weight.is_angular() {
            return dot(row(i), row(j));
        }
        row(i).iter().zip(row(j)).map(|(a, b)| (a - b) * (a - b)).sum()
    }

    /// The scalar products of the tokens of a block with those from `first` on, token after token of the block.
    fn products(&self, block: usize, first: usize) -> Vec<f64> {
        let own = block * BLOCK..((block + 1) * BLOCK).min(self.n);
        let (n_own, n_others) = (own.len(), self.n - first);
        let mut out = vec![0.0; n_own * n_others];
        let others = MatRef::from_column_major_slice(&self.rows[first * self.dim..], self.dim, n_others);
        let own = &self.rows[own.start * self.dim..own.end * self.dim];
        let own = MatRef::from_column_major_slice(own, self.dim, n_own);
        let product = MatMut::from_column_major_slice_mut(&mut out, n_others, n_own);
        matmul(product, Accum::Replace, others.transpose(), own, 1.0, Par::Seq);
        out
    }

    /// The nearest tokens of each token of a block, nearest first.
    fn nearest_of_block(&self, block: usize, count: usize) -> Vec<Vec<u32>> {
        let products = self.products(block, 0);
        let rows = products.chunks_exact(self.n).enumerate();
        rows.map(|(k, row)| self.nearest_of(block * BLOCK + k, row, count)).collect()
    }

    /// The nearest tokens of one, from its scalar products with all.
    fn nearest_of(&self, i: usize, products: &[f64], count: usize) -> Vec<u32> {
        let mut near: Vec<(f64, u32)> = Vec::with_capacity(self.n);
        if !self.present[i] || count == 0 {
            return Vec::new();
        }
        let mut largest = 1.0_f64;
        for (j, &product) in products.iter().enumerate().filter(|&(j, _)| j != i && self.present[j]) {
            // −‖x − y‖² but for ‖x‖², which is the same for all.
            let value = self.squares.get(j).map_or(product, |square| 2.0 * product - square);
            largest = largest.max(value.abs());
            near.push((value, j as u32));
        }
        if near.len() > count {
            let nearer = |a: &(f64, u32), b: &(f64, u32)| b.0.total_cmp(&a.0);
            let last = near.select_nth_unstable_by(count - 1, nearer).1.0;
            let room = CLOSE * largest.max(self.squares.get(i).copied().unwrap_or(0.0));
            near.retain(|&(value, _)| value >= last - room);
        }
        let sign = if self.weight.is_angular() { 1.0 } else { -1.0 };
        for (value, j) in &mut near {
            *value = sign * self.likeness(i, *j as usize);
        }
        near.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(Reverse(b.1).cmp(&Reverse(a.1))));
        near.truncate(count);
        near.into_iter().map(|(_, j)| j).collect()
    }
}

/// The weights of all pairs i < j in 32 bits, by blocks of i.
struct Upper {
    n: usize,
    blocks: Vec<Vec<f32>>,
}

impl Upper {
    fn new(tokens: &Tokens) -> Self {
        let n = tokens.n;
        let blocks = parallel::map(n.div_ceil(BLOCK), |b| {
            let first = b * BLOCK;
            let products = tokens.products(b, first);
            let rows = products.chunks_exact(n - first).enumerate();
            let mut weights = Vec::with_capacity(products.len());
            for (k, row) in rows {
                let i = first + k;
                let others = row.iter().enumerate().map(|(k, &product)| {
                    let j = first + k;
                    if !(tokens.present[i] && tokens.present[j]) {
                        return 0.0;
                    }
                    let squares = &tokens.squares;
                    let x =
                        if squares.is_empty() { product } else { squares[i] + squares[j] - 2.0 * product };
                    tokens.weight.of(x) as f32
                });
                weights.extend(others);
            }
            weights
        });
        Self { n, blocks }
    }

    /// The weight of a pair i < j.
    #[inline]
    fn weight(&self, i: usize, j: usize) -> f32 {
        let first = i / BLOCK * BLOCK;
        self.blocks[i / BLOCK][(i - first) * (self.n - first) + j - first]
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    crate::linalg::dot(x, y)
}
