//! The half of a pixel graph that says it all, read row by row: the weights of one offset, of all columns or of every second.

use super::weights::{Recipe, columns};

/// The forward half of a pixel graph: `weights[(row * offsets.len() + offset) * width + column]`, zero where there is
/// no edge.
#[derive(Debug, Clone, Copy)]
pub struct HalfStencil<'a, T> {
    pub height: usize,
    pub width: usize,
    /// Forward offsets (rows down, columns right), in raster order.
    pub offsets: &'a [(usize, isize)],
    pub weights: HalfWeights<'a, T>,
}

/// Where they are kept, or what they are found from.
#[derive(Debug, Clone, Copy)]
pub enum HalfWeights<'a, T> {
    Kept(&'a [T]),
    Found(&'a dyn OffsetRows<T>),
}

/// Weights that are found one offset and row at a time.
pub trait OffsetRows<T>: std::fmt::Debug + Sync {
    /// The weights of an offset from a row, zero where it leads outside.
    fn find(&self, row: usize, offset: usize, weights: &mut [T]);

    /// Those of every second column from one on, all of which it leads inside from.
    fn find_alternate(&self, row: usize, offset: usize, first: usize, weights: &mut [T]);
}

impl OffsetRows<f32> for Recipe {
    fn find(&self, row: usize, offset: usize, weights: &mut [f32]) {
        self.offset_row(row, offset, weights);
    }

    fn find_alternate(&self, row: usize, offset: usize, first: usize, weights: &mut [f32]) {
        self.alternate(row, offset, first, weights);
    }
}

impl<'a, T: Copy + Default> HalfStencil<'a, T> {
    /// The weights of one offset from a row; `room` holds them where they are not kept.
    pub fn offset_row<'b>(&self, row: usize, offset: usize, room: &'b mut Vec<T>) -> &'b [T]
    where
        'a: 'b,
    {
        match self.weights {
            HalfWeights::Kept(weights) => {
                &weights[(row * self.offsets.len() + offset) * self.width..][..self.width]
            }
            HalfWeights::Found(recipe) => {
                room.resize(self.width, T::default());
                recipe.find(row, offset, room);
                room
            }
        }
    }

    /// Those of every second column from one on.
    pub fn alternate(&self, row: usize, offset: usize, first: usize, out: &mut [T]) {
        let (dr, dc) = self.offsets[offset];
        let columns = columns(self.width, dc);
        if row + dr >= self.height {
            out.fill(T::default());
            return;
        }
        match self.weights {
            HalfWeights::Kept(weights) => {
                let weights = &weights[(row * self.offsets.len() + offset) * self.width..][..self.width];
                let pairs = weights.get(first..).unwrap_or_default().chunks_exact(2);
                let last = pairs.remainder().first();
                if let (Some(value), Some(&last)) = (out.get_mut(pairs.len()), last) {
                    *value = last;
                }
                out.iter_mut().zip(pairs).for_each(|(value, pair)| *value = pair[0]);
            }
            HalfWeights::Found(recipe) => {
                // Columns from which the offset leads outside, on either side.
                let before = columns.start.saturating_sub(first).div_ceil(2).min(out.len());
                let inside = columns.end.saturating_sub(first).div_ceil(2).min(out.len()).max(before);
                out[..before].fill(T::default());
                out[inside..].fill(T::default());
                if before < inside {
                    recipe.find_alternate(row, offset, first + 2 * before, &mut out[before..inside]);
                }
            }
        }
    }
}
