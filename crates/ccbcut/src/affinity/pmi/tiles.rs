//! The fast evaluation: all pairs of a tile of the image at a time, in 32 bits.
//!
//! A kernel of a pair is a product of one factor for either pixel, so that p(A, B) is a scalar product over the kernels:
//! Σ_k α_k(A) β_k(B). For the pixels of a tile, and for those that their neighbourhoods reach, the factors are computed
//! once, for some kernels at a time so that they stay in the cache; a pair then costs one product and one sum per
//! kernel. Which channels are exchanged when a pair is put in order depends on which of the two first channels is
//! larger: either pixel has its factors for both cases.
//!
//! Kernels are sorted into blocks of neighbours. A block that is out of reach of a pixel is a zero bit in the pixel's
//! mask, and a pair looks only at the blocks that both of its pixels have. Nothing else is left out: the only error is
//! that of 32-bit numbers.

use pulp::Simd;

use crate::{image::Image, simd};

use super::model::{Formula, PmiModel, PmiOrdering};

/// Kernels per block.
const BLOCK: usize = 32;

/// Columns of a tile; its rows are those of the band that it belongs to.
const TILE: usize = 16;

/// Bytes of factors at a time, of which those out of reach are never touched. Fewer would stay in a nearer cache, but every
/// pair is looked at once each time.
const CACHE: usize = 1 << 23;

/// Blocks at a time at most: one bit each.
const MOST_BLOCKS: usize = u64::BITS as usize;

/// One number for each kernel of a block. Registers are read fastest where they do not straddle two lines of the cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Block([f32; BLOCK]);

/// A model together with the image it is asked about.
pub(super) struct FastModel<'a> {
    features: &'a Image,
    mask: Option<&'a [bool]>,
    offsets: &'a [(usize, isize)],
    model: &'a PmiModel,
    /// p(A) of every pixel.
    marginals: &'a [f64],
    blocks: Vec<KernelBlock>,
}

/// Some kernels that lie close together.
struct KernelBlock {
    centres: [Block; 6],
    low: [f32; 6],
    high: [f32; 6],
}

/// The end of a pair: the pixel itself, or the neighbour at a forward offset.
#[derive(Clone, Copy)]
enum End {
    Own,
    Other,
}

/// Rows and columns, from the first to before the last.
#[derive(Clone, Copy)]
struct Rectangle {
    rows: (usize, usize),
    columns: (usize, usize),
}

impl Rectangle {
    fn width(&self) -> usize {
        self.columns.1 - self.columns.0
    }

    fn len(&self) -> usize {
        (self.rows.1 - self.rows.0) * self.width()
    }

    /// The pixel at a position, row by row.
    fn pixel(&self, at: usize, image_width: usize) -> usize {
        (self.rows.0 + at / self.width()) * image_width + self.columns.0 + at % self.width()
    }
}

/// The factors of the pixels of a rectangle, for the blocks at hand and both orders of a pair.
#[derive(Default)]
struct Factors {
    n_blocks: usize,
    /// `values[(pixel * 2 + order) * n_blocks + block]`; not set where the mask is zero.
    values: Vec<Block>,
    pixels: Vec<Pixel>,
}

/// What is known of the factors of a pixel.
#[derive(Clone, Copy, Default)]
struct Pixel {
    /// The first channel.
    first: f32,
    /// For both orders, one bit per block.
    masks: [u64; 2],
}

impl<'a> FastModel<'a> {
    pub(super) fn new(
        model: &'a PmiModel,
        (features, marginals): (&'a Image, &'a [f64]),
        mask: Option<&'a [bool]>,
        offsets: &'a [(usize, isize)],
    ) -> Self {
        let mut centres: Vec<[f32; 6]> = model.points.iter().map(|p| p.map(|v| v as f32)).collect();
        arrange(&mut centres);
        let blocks = centres.chunks(BLOCK).map(KernelBlock::new).collect();
        Self { features, mask, offsets, model, marginals, blocks }
    }

    /// Multiplies the weights of some rows of the image, laid out as in the stencil, by those of this model.
    pub(super) fn multiply_rows(&self, first_row: usize, weights: &mut [f32]) {
        let (height, width, n_offsets) = (self.features.height(), self.features.width(), self.offsets.len());
        let rows = (first_row, first_row + weights.len() / (n_offsets * width));
        let below = self.offsets.last().map_or(0, |o| o.0);
        let aside = self.offsets.iter().map(|o| o.1.unsigned_abs()).max().unwrap_or(0);
        let mut scratch = Scratch::default();
        for column in (0..width).step_by(TILE) {
            let tile = Rectangle { rows, columns: (column, (column + TILE).min(width)) };
            let reached = Rectangle {
                rows: (rows.0, (rows.1 + below).min(height)),
                columns: (column.saturating_sub(aside), (tile.columns.1 + aside).min(width)),
            };
            self.add_up(tile, reached, &mut scratch);
            self.multiply_tile(tile, &scratch.sums, weights);
        }
    }

    /// Σ_k α_k β_k of all pairs of a tile, in `scratch.sums[(row * n_offsets + offset) * tile width + column]`.
    fn add_up(&self, tile: Rectangle, reached: Rectangle, scratch: &mut Scratch) {
        let Scratch { sums, own, other } = scratch;
        sums.clear();
        sums.resize(tile.len() * self.offsets.len(), 0.0);
        let live = self.live_blocks(tile, reached);
        let per_block = 2 * (tile.len() + reached.len()) * size_of::<Block>();
        let at_once = (CACHE / per_block.max(1)).clamp(1, MOST_BLOCKS);
        for blocks in live.chunks(at_once) {
            simd::widest(Fill { model: self, end: End::Own, rectangle: tile, blocks, factors: own });
            simd::widest(Fill { model: self, end: End::Other, rectangle: reached, blocks, factors: other });
            simd::widest(Pairs { offsets: self.offsets, tile, reached, own, other, sums });
        }
    }

    /// The blocks that a pair may be in reach of.
    fn live_blocks(&self, tile: Rectangle, reached: Rectangle) -> Vec<&KernelBlock> {
        let (own, other) = (self.ranges(tile), self.ranges(reached));
        let is_live = |block: &&KernelBlock| {
            (0..2).any(|order| {
                let ends = [(End::Own, &own), (End::Other, &other)];
                ends.iter().all(|(end, ranges)| {
                    let dimensions = self.dimensions(*end, order);
                    (0..3).all(|ch| {
                        let (low, high) = self.reach(block, dimensions[ch], ch);
                        ranges[ch].1 > low && ranges[ch].0 < high
                    })
                })
            })
        };
        self.blocks.iter().filter(is_live).collect()
    }

    /// The least and the largest value of each channel.
    fn ranges(&self, rectangle: Rectangle) -> [(f32, f32); 3] {
        let mut ranges = [(f32::INFINITY, f32::NEG_INFINITY); 3];
        for at in 0..rectangle.len() {
            let p = rectangle.pixel(at, self.features.width());
            if self.mask.is_none_or(|mask| mask[p]) {
                for (range, &v) in ranges.iter_mut().zip(self.features.pixel(p)) {
                    *range = (range.0.min(v), range.1.max(v));
                }
            }
        }
        ranges
    }

    /// The dimensions of the kernels that the channels of a pixel meet: in order (0), or with channels exchanged (1).
    #[inline(always)]
    fn dimensions(&self, end: End, order: usize) -> [usize; 3] {
        match (self.model.ordering, end, order) {
            (_, End::Own, 0) | (PmiOrdering::WholeVector, End::Other, 1..) => [0, 1, 2],
            (_, End::Other, 0) | (PmiOrdering::WholeVector, End::Own, 1..) => [3, 4, 5],
            (PmiOrdering::FirstChannel, End::Own, 1..) => [3, 1, 2],
            (PmiOrdering::FirstChannel, End::Other, 1..) => [0, 4, 5],
        }
    }

    /// Between which values of a channel some kernel of a block is not zero.
    #[inline(always)]
    fn reach(&self, block: &KernelBlock, dimension: usize, channel: usize) -> (f32, f32) {
        // A little more, for the rounding of the sums.
        let h = 1.0001 * self.model.bandwidth[channel] as f32;
        (block.low[dimension] - h, block.high[dimension] + h)
    }

    /// Multiplies the weights of a tile by those of its pairs.
    fn multiply_tile(&self, tile: Rectangle, sums: &[f32], weights: &mut [f32]) {
        let (height, width, n_offsets) = (self.features.height(), self.features.width(), self.offsets.len());
        let (unit, formula) = (self.model.joint_unit(), self.model.formula);
        for (row, sums) in (tile.rows.0..tile.rows.1).zip(sums.chunks_exact(n_offsets * tile.width())) {
            for (o, (&(dr, dc), sums)) in self.offsets.iter().zip(sums.chunks_exact(tile.width())).enumerate()
            {
                // The columns of the tile from which the offset leads into the image.
                let from = tile.columns.0.max((-dc).max(0) as usize);
                let to = tile.columns.1.min(width.saturating_sub(dc.max(0) as usize));
                if row + dr >= height || from >= to {
                    continue;
                }
                let (p, q) = (row * width + from, ((row + dr) * width + from).wrapping_add_signed(dc));
                let weights =
                    &mut weights[((row - tile.rows.0) * n_offsets + o) * width + from..][..to - from];
                let sums = &sums[from - tile.columns.0..][..to - from];
                let (own, other) = (&self.marginals[p..][..to - from], &self.marginals[q..][..to - from]);
                simd::widest(Multiply { weights, sums, own, other, unit, formula });
            }
        }
    }
}

/// Computes the factors of the pixels of a rectangle.
struct Fill<'a> {
    model: &'a FastModel<'a>,
    end: End,
    rectangle: Rectangle,
    blocks: &'a [&'a KernelBlock],
    factors: &'a mut Factors,
}

impl pulp::NullaryFnOnce for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Fill { model, end, rectangle, blocks, factors } = self;
        let n = rectangle.len();
        let rate = model.model.bandwidth.map(|h| (1.0 / h) as f32);
        factors.n_blocks = blocks.len();
        factors.values.resize((2 * n * blocks.len()).max(factors.values.len()), Block([0.0; BLOCK]));
        factors.pixels.clear();
        factors.pixels.resize(n, Pixel::default());
        let reaches = [0, 1].map(|order| Reaches::new(model, blocks, model.dimensions(end, order)));
        for at in 0..n {
            let p = rectangle.pixel(at, model.features.width());
            let pixel = model.features.pixel(p);
            let pixel = [pixel[0], pixel[1], pixel[2]];
            factors.pixels[at].first = pixel[0];
            if model.mask.is_some_and(|mask| !mask[p]) {
                continue;
            }
            let near = [reaches[0].around(pixel), reaches[1].around(pixel)];
            let mut left = near[0] | near[1];
            while left != 0 {
                let j = left.trailing_zeros() as usize;
                left &= left - 1;
                let block = blocks[j];
                // The second and third channels meet the same dimensions in both orders, or other ones.
                let mut known: Option<([usize; 2], Block)> = None;
                for order in 0..2 {
                    if near[order] >> j & 1 == 0 {
                        continue;
                    }
                    let [first, second, third] = model.dimensions(end, order);
                    let rest = match known {
                        Some((dimensions, rest)) if dimensions == [second, third] => rest,
                        _ => {
                            let centres = [&block.centres[second], &block.centres[third]];
                            product([pixel[1], pixel[2]], centres, [rate[1], rate[2]])
                        }
                    };
                    known = Some(([second, third], rest));
                    let values = &mut factors.values[(2 * at + order) * blocks.len() + j];
                    if set_factors(pixel[0], &block.centres[first], rate[0], &rest, values) {
                        factors.pixels[at].masks[order] |= 1 << j;
                    }
                }
            }
        }
    }
}

/// Between which values of each channel a pixel may be in reach of some blocks, block by block.
struct Reaches {
    low: [[f32; MOST_BLOCKS]; 3],
    high: [[f32; MOST_BLOCKS]; 3],
}

impl Reaches {
    #[inline(always)]
    fn new(model: &FastModel<'_>, blocks: &[&KernelBlock], dimensions: [usize; 3]) -> Self {
        // Nothing is in reach of the places that no block has.
        let mut reaches =
            Self { low: [[f32::INFINITY; MOST_BLOCKS]; 3], high: [[f32::NEG_INFINITY; MOST_BLOCKS]; 3] };
        for (j, block) in blocks.iter().enumerate() {
            for ch in 0..3 {
                (reaches.low[ch][j], reaches.high[ch][j]) = model.reach(block, dimensions[ch], ch);
            }
        }
        reaches
    }

    /// One bit for each block that a pixel may be in reach of.
    #[inline(always)]
    fn around(&self, pixel: [f32; 3]) -> u64 {
        let mut is_near = [0_u8; MOST_BLOCKS];
        for j in 0..MOST_BLOCKS {
            let mut is_inside = 1;
            for ch in 0..3 {
                is_inside &= u8::from(self.low[ch][j] < pixel[ch]) & u8::from(pixel[ch] < self.high[ch][j]);
            }
            is_near[j] = is_inside;
        }
        let mut mask = 0;
        for (byte, is_near) in is_near.chunks_exact(8).enumerate() {
            // Eight bytes of 0 or 1 become the bits of one.
            let eight = u64::from_le_bytes(is_near.try_into().expect("eight bytes"));
            mask |= (eight.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * byte);
        }
        mask
    }
}

/// Multiplies weights by those of the pairs of a row and an offset.
struct Multiply<'a> {
    weights: &'a mut [f32],
    sums: &'a [f32],
    own: &'a [f64],
    other: &'a [f64],
    unit: f64,
    formula: Formula,
}

impl pulp::NullaryFnOnce for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let pairs = self.weights.iter_mut().zip(self.sums).zip(self.own).zip(self.other);
        for (((w, &sum), &a), &b) in pairs {
            *w = saturated(f64::from(*w) * self.formula.weight(self.unit * f64::from(sum), a, b));
        }
    }
}

/// A weight in 32 bits; what is too large becomes the largest number.
#[inline(always)]
pub(super) fn saturated(weight: f64) -> f32 {
    weight.min(f64::from(f32::MAX)) as f32
}

/// What a band of rows needs again and again.
#[derive(Default)]
struct Scratch {
    sums: Vec<f32>,
    own: Factors,
    other: Factors,
}

/// Adds up the products of all pairs of a tile for the blocks at hand.
struct Pairs<'a> {
    offsets: &'a [(usize, isize)],
    tile: Rectangle,
    reached: Rectangle,
    own: &'a Factors,
    other: &'a Factors,
    sums: &'a mut [f32],
}

impl pulp::WithSimd for Pairs<'_> {
    type Output = ();

    /// One row of the tile and one of the rows below it after the other: the factors of a row of the tile stay in the
    /// nearest cache.
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let mut first = 0;
        for row in 0..self.tile.rows.1 - self.tile.rows.0 {
            for offsets in self.offsets.chunk_by(|a, b| a.0 == b.0) {
                let there = row + offsets[0].0;
                if there < self.reached.rows.1 - self.reached.rows.0 {
                    self.add_row(simd, (row, there), offsets, first);
                }
                first += offsets.len() * self.tile.width();
            }
        }
    }
}

impl Pairs<'_> {
    /// The pairs of a row of the tile and one of the rectangle that is reached, from `sums[first]` on.
    #[inline(always)]
    fn add_row<S: Simd>(
        &mut self,
        simd: S,
        (row, there): (usize, usize),
        offsets: &[(usize, isize)],
        first: usize,
    ) {
        let (width, n_blocks) = (self.tile.width(), self.own.n_blocks);
        let shift = self.tile.columns.0 as isize - self.reached.columns.0 as isize;
        let own = &self.own.pixels[row * width..][..width];
        let own_values = &self.own.values[2 * n_blocks * row * width..][..2 * n_blocks * width];
        let others = &self.other.pixels[there * self.reached.width()..][..self.reached.width()];
        let other_values = &self.other.values[2 * n_blocks * there * self.reached.width()..];
        let sums = &mut self.sums[first..][..offsets.len() * width];
        for (column, other) in others.iter().enumerate() {
            for (&(_, dc), sums) in offsets.iter().zip(sums.chunks_exact_mut(width)) {
                let from = (column as isize - dc - shift) as usize;
                if from >= width {
                    continue;
                }
                let order = usize::from(own[from].first <= other.first);
                let mask = own[from].masks[order] & other.masks[order];
                if mask != 0 {
                    let a = &own_values[(2 * from + order) * n_blocks..][..n_blocks];
                    let b = &other_values[(2 * column + order) * n_blocks..][..n_blocks];
                    sums[from] += dot(simd, a, b, mask);
                }
            }
        }
    }
}

/// Σ a b over the blocks of a mask. Lanes are halved down to one, so that the sum does not depend on how many fit into a
/// register.
#[inline(always)]
fn dot<S: Simd>(simd: S, a: &[Block], b: &[Block], mut mask: u64) -> f32 {
    let mut sums = [simd.splat_f32s(0.0); BLOCK];
    let mut n = BLOCK / S::F32_LANES;
    while mask != 0 {
        let j = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        let (a, b) = (S::as_simd_f32s(&a[j].0).0, S::as_simd_f32s(&b[j].0).0);
        for k in 0..BLOCK / S::F32_LANES {
            sums[k] = simd.add_f32s(sums[k], simd.mul_f32s(a[k], b[k]));
        }
    }
    while n > 1 {
        n /= 2;
        (0..n).for_each(|k| sums[k] = simd.add_f32s(sums[k], sums[k + n]));
    }
    simd.reduce_sum_f32s(sums[0])
}

/// max(0, 1 − ((x − centre) · rate)²)
#[inline(always)]
fn factor(x: f32, centre: f32, rate: f32) -> f32 {
    let u = (x - centre) * rate;
    let value = 1.0 - u * u;
    if value > 0.0 { value } else { 0.0 }
}

/// The product of the factors of two channels, for each kernel of a block.
#[inline(always)]
fn product(pixel: [f32; 2], centres: [&Block; 2], rate: [f32; 2]) -> Block {
    let mut values = [0.0_f32; BLOCK];
    for lane in 0..BLOCK {
        let of = |ch: usize| factor(pixel[ch], centres[ch].0[lane], rate[ch]);
        values[lane] = of(0) * of(1);
    }
    Block(values)
}

/// Sets the product of the factor of the first channel and the `rest`, for each kernel of a block; whether one is
/// positive.
#[inline(always)]
fn set_factors(first: f32, centres: &Block, rate: f32, rest: &Block, values: &mut Block) -> bool {
    let mut bits = [0_u32; BLOCK];
    for lane in 0..BLOCK {
        let value = factor(first, centres.0[lane], rate) * rest.0[lane];
        values.0[lane] = value;
        bits[lane] = value.to_bits();
    }
    bits.iter().fold(0, |all, bits| all | bits) != 0
}

impl KernelBlock {
    fn new(centres: &[[f32; 6]]) -> Self {
        // What fills the last block is out of reach of everything.
        let mut block = Self {
            centres: [Block([1e15; BLOCK]); 6],
            low: [f32::INFINITY; 6],
            high: [f32::NEG_INFINITY; 6],
        };
        for (k, centre) in centres.iter().enumerate() {
            for d in 0..6 {
                block.centres[d].0[k] = centre[d];
                block.low[d] = block.low[d].min(centre[d]);
                block.high[d] = block.high[d].max(centre[d]);
            }
        }
        block
    }
}

/// Sorts centres so that consecutive blocks are small: the widest dimension is halved, and so on.
fn arrange(centres: &mut [[f32; 6]]) {
    if centres.len() <= BLOCK {
        return;
    }
    let width = |d: usize| {
        let values = centres.iter().map(|c| c[d]);
        let (low, high) = values.fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        high - low
    };
    let widest = (1..6).fold(0, |best, d| if width(d) > width(best) { d } else { best });
    let half = (centres.len().div_ceil(BLOCK) / 2) * BLOCK;
    centres.select_nth_unstable_by(half, |a, b| a[widest].total_cmp(&b[widest]));
    let (low, high) = centres.split_at_mut(half);
    arrange(low);
    arrange(high);
}

#[cfg(test)]
mod tests;
