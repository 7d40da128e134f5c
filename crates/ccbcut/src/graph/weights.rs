//! The weights of a pixel graph: kept, or found anew on every walk over the edges.
//!
//! Fresh memory is dear: before a hundred megabytes can be written to, the system needs some 40 ms to hand them out, and a cut
//! of a decimated image walks over the 24 million weights of a photograph four times only. So a graph may hold what they are found from, and whoever walks
//! along the rows asks for a row at a time. All others see a slice, for which the weights are written down when it is first
//! asked for.

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
};

use super::stencil::Offsets;

/// Weights of pairs of pixels.
pub(crate) trait PairWeights: Send + Sync {
    /// Sets the weights of the pairs (p, q), (p + 1, q + 1), …, all in one row of the image and at the same offset.
    fn fill(&self, p: usize, q: usize, weights: &mut [f32]);

    /// The same where the pixels of each row are counted even columns first: of pairs that are two columns apart.
    fn fill_alternate(&self, p: usize, q: usize, weights: &mut [f32]);
}

/// `weights[(row * offsets.len() + offset) * width + column]`
#[derive(Debug, Clone)]
pub(super) struct Weights {
    kept: OnceLock<Vec<f32>>,
    recipe: Option<Recipe>,
}

/// What weights are found from.
#[derive(Clone)]
pub(crate) struct Recipe {
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) offsets: Offsets,
    pub(crate) pairs: Arc<dyn PairWeights>,
}

impl std::fmt::Debug for Recipe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recipe")
            .field("height", &self.height)
            .field("width", &self.width)
            .finish_non_exhaustive()
    }
}

impl Recipe {
    /// The weights of one offset from a row, zero where it leads outside.
    pub(crate) fn offset_row(&self, row: usize, offset: usize, weights: &mut [f32]) {
        let (dr, dc) = self.offsets[offset];
        let columns = columns(self.width, dc);
        if row + dr >= self.height || columns.is_empty() {
            weights.fill(0.0);
            return;
        }
        weights[..columns.start].fill(0.0);
        weights[columns.end..].fill(0.0);
        self.stretch(row, offset, columns.start, &mut weights[columns]);
    }

    /// The weights of one offset from some columns of a row on, all of which it leads inside from.
    pub(super) fn stretch(&self, row: usize, offset: usize, first: usize, weights: &mut [f32]) {
        let (dr, dc) = self.offsets[offset];
        let (p, q) = (row * self.width + first, (row + dr) * self.width + first);
        self.pairs.fill(p, q.wrapping_add_signed(dc), weights);
    }

    /// The weights of one offset from every second column of a row, from one on; it leads inside from all of them.
    pub(crate) fn alternate(&self, row: usize, offset: usize, first: usize, weights: &mut [f32]) {
        let (dr, dc) = self.offsets[offset];
        let place = |row: usize, c: usize| row * self.width + c / 2 + c % 2 * self.width.div_ceil(2);
        self.pairs.fill_alternate(place(row, first), place(row + dr, first.wrapping_add_signed(dc)), weights);
    }

    fn row(&self, row: usize, weights: &mut [f32]) {
        for (o, weights) in weights.chunks_exact_mut(self.width.max(1)).enumerate() {
            self.offset_row(row, o, weights);
        }
    }

    /// All of them, on one thread: it may be one of many that ask, and the others wait for it.
    fn all(&self) -> Vec<f32> {
        let per_row = self.offsets.len() * self.width;
        let mut weights = vec![0.0; per_row * self.height];
        for (row, weights) in weights.chunks_exact_mut(per_row.max(1)).enumerate() {
            self.row(row, weights);
        }
        weights
    }
}

/// The columns c of a row for which c + dc lies inside.
#[inline]
pub(super) fn columns(width: usize, dc: isize) -> std::ops::Range<usize> {
    let start = (-dc).max(0) as usize;
    let end = width.saturating_sub(dc.max(0) as usize);
    start.min(end)..end
}

impl Weights {
    pub(super) fn found(recipe: Recipe) -> Self {
        Self { kept: OnceLock::new(), recipe: Some(recipe) }
    }

    /// What they are found from, unless they have been written down.
    pub(super) fn recipe(&self) -> Option<&Recipe> {
        self.recipe.as_ref().filter(|_| self.kept.get().is_none())
    }

    /// Those of a row of the image, of all offsets; `room` holds them where they are not kept.
    pub(super) fn row<'a>(&'a self, row: usize, per_row: usize, room: &'a mut Vec<f32>) -> &'a [f32] {
        let Some(recipe) = self.recipe() else { return &self[row * per_row..(row + 1) * per_row] };
        room.resize(per_row, 0.0);
        recipe.row(row, room);
        room
    }

    /// How many are kept.
    pub(super) fn n_kept(&self) -> usize {
        self.kept.get().map_or(0, Vec::len)
    }

    pub(super) fn into_vec(self) -> Vec<f32> {
        let Self { kept, recipe } = self;
        kept.into_inner().unwrap_or_else(|| recipe.map_or_else(Vec::new, |recipe| recipe.all()))
    }
}

impl From<Vec<f32>> for Weights {
    fn from(weights: Vec<f32>) -> Self {
        Self { kept: weights.into(), recipe: None }
    }
}

impl Deref for Weights {
    type Target = [f32];

    #[inline]
    fn deref(&self) -> &[f32] {
        self.kept.get_or_init(|| self.recipe.as_ref().map_or_else(Vec::new, Recipe::all))
    }
}
