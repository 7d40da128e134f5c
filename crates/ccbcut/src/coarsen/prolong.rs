//! The way back up: rows of B, each fine pixel as a mixture of kept ones.

use std::ops::Range;

use crate::{
    error::{Error, Result},
    graph::Graph,
    parallel,
};

use super::planes::{Highest, Planes};

/// Fine pixels per block of the parallel loops.
const BLOCK: usize = 256;

/// Marks a pixel that is not kept.
pub(super) const NOT_KEPT: u32 = u32::MAX;

/// The matrix B of one level, fine pixels × kept pixels; rows add up to 1 or, where a pixel has no kept
/// neighbour, are empty.
#[derive(Debug, Clone)]
pub struct Prolongation(Storage);

#[derive(Debug, Clone)]
enum Storage {
    Runs(Runs),
    /// Of a graph whose weights have 32 bits.
    Planes32(Planes<f32>),
    Planes64(Planes<f64>),
}

impl From<Runs> for Prolongation {
    fn from(runs: Runs) -> Self {
        Self(Storage::Runs(runs))
    }
}

impl From<Planes<f32>> for Prolongation {
    fn from(planes: Planes<f32>) -> Self {
        Self(Storage::Planes32(planes))
    }
}

impl From<Planes<f64>> for Prolongation {
    fn from(planes: Planes<f64>) -> Self {
        Self(Storage::Planes64(planes))
    }
}

impl Prolongation {
    /// How many fine pixels.
    pub fn n_fine(&self) -> usize {
        match &self.0 {
            Storage::Runs(runs) => runs.offsets.len() - 1,
            Storage::Planes32(planes) => planes.height * planes.width,
            Storage::Planes64(planes) => planes.height * planes.width,
        }
    }

    /// How many kept pixels.
    pub fn n_coarse(&self) -> usize {
        let of = |(height, width)| height * width;
        match &self.0 {
            Storage::Runs(runs) => runs.n_coarse,
            Storage::Planes32(planes) => of(planes.coarse_shape()),
            Storage::Planes64(planes) => of(planes.coarse_shape()),
        }
    }

    /// How many entries differ from zero.
    pub fn n_entries(&self) -> usize {
        match &self.0 {
            Storage::Runs(runs) => runs.weights.len(),
            Storage::Planes32(planes) => planes.n_entries(),
            Storage::Planes64(planes) => planes.n_entries(),
        }
    }

    /// The largest entry of each row of B Y, where it exceeds what is known: the columns count from `first` on.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless `y` holds `columns` values per kept pixel, and `highest` one per fine pixel.
    ///
    /// # Complexity
    /// As [`Prolongation::apply`], without room for its result.
    pub fn raise(&self, y: &[f64], columns: usize, first: usize, highest: &mut [Highest]) -> Result<()> {
        self.check(y, columns)?;
        let (what, expected, got) = ("the pixels", self.n_fine(), highest.len());
        if got != expected {
            return Err(Error::ShapeMismatch { what, expected, got });
        }
        match &self.0 {
            Storage::Runs(runs) => runs.raise(y, columns, first, highest),
            Storage::Planes32(planes) => planes.raise(y, columns, first, highest),
            Storage::Planes64(planes) => planes.raise(y, columns, first, highest),
        }
        Ok(())
    }

    fn check(&self, y: &[f64], columns: usize) -> Result<()> {
        let (what, expected, got) = ("the coarse vectors", self.n_coarse() * columns, y.len());
        if got == expected { Ok(()) } else { Err(Error::ShapeMismatch { what, expected, got }) }
    }

    /// B Y for a matrix of `columns` columns, row-major.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless `y` holds `columns` values per kept pixel.
    ///
    /// # Complexity
    /// O(entries × columns) time.
    pub fn apply(&self, y: &[f64], columns: usize) -> Result<Vec<f64>> {
        self.check(y, columns)?;
        Ok(match &self.0 {
            Storage::Runs(runs) => runs.apply(y, columns),
            Storage::Planes32(planes) => planes.apply(y, columns),
            Storage::Planes64(planes) => planes.apply(y, columns),
        })
    }
}

/// B for any graph.
///
/// The kept neighbours of a pixel lie side by side in each row of the coarse grid, so a row is stored as runs of
/// consecutive columns: one pair of indices a run instead of one index an entry.
#[derive(Debug, Clone)]
pub(super) struct Runs {
    n_coarse: usize,
    /// Where the runs of a fine pixel start, and one past the last.
    offsets: Vec<usize>,
    list: Vec<Run>,
    /// Entries, run after run.
    weights: Vec<f64>,
}

/// Consecutive columns of a row, from `column` on; their weights start at `position`.
#[derive(Debug, Clone, Copy)]
struct Run {
    column: u32,
    len: u32,
    position: usize,
}

impl Runs {
    fn apply(&self, y: &[f64], columns: usize) -> Vec<f64> {
        let mut fine = vec![0.0; (self.offsets.len() - 1) * columns];
        parallel::for_each_chunk(&mut fine, BLOCK * columns, |block, part| {
            for (k, out) in part.chunks_exact_mut(columns).enumerate() {
                self.add_row(block * BLOCK + k, y, out);
            }
        });
        fine
    }

    fn raise(&self, y: &[f64], columns: usize, first: usize, highest: &mut [Highest]) {
        parallel::for_each_chunk(highest, BLOCK, |block, part| {
            let mut row = vec![0.0; columns];
            for (k, highest) in part.iter_mut().enumerate() {
                row.fill(0.0);
                self.add_row(block * BLOCK + k, y, &mut row);
                highest.raise(first, &row);
            }
        });
    }

    /// Adds the row of B Y of one pixel.
    fn add_row(&self, fine: usize, y: &[f64], out: &mut [f64]) {
        let columns = out.len();
        for (kept, weights) in self.runs(fine) {
            let rows = y[kept.start * columns..kept.end * columns].chunks_exact(columns);
            for (row, &w) in rows.zip(weights) {
                for (x, &v) in out.iter_mut().zip(row) {
                    *x += w * v;
                }
            }
        }
    }

    /// The runs of a row, from the first column: which kept pixels, with what weights.
    #[inline]
    pub(super) fn runs(
        &self,
        fine: usize,
    ) -> impl DoubleEndedIterator<Item = (Range<usize>, &[f64])> + ExactSizeIterator {
        self.list[self.offsets[fine]..self.offsets[fine + 1]].iter().map(|run| {
            let (column, len) = (run.column as usize, run.len as usize);
            (column..column + len, &self.weights[run.position..run.position + len])
        })
    }

    /// C = A[:, K], unscaled: `kept` numbers the kept pixels in increasing order, the others are [`NOT_KEPT`].
    pub(super) fn columns_of(graph: &Graph, kept: &[u32], n_coarse: usize) -> Self {
        let n = graph.n_vertices();
        let blocks = parallel::map(n.div_ceil(BLOCK), |b| {
            let mut rows = RowBuilder::default();
            for p in b * BLOCK..((b + 1) * BLOCK).min(n) {
                rows.begin();
                // The self-loop comes where the diagonal is in the order of the columns.
                let own = if kept[p] == NOT_KEPT { 0.0 } else { graph.self_loop(p) };
                let mut pending = own > 0.0;
                graph.for_each_neighbor(p, |q, w| {
                    if pending && q > p {
                        rows.push(kept[p], own);
                        pending = false;
                    }
                    if kept[q] != NOT_KEPT {
                        rows.push(kept[q], w);
                    }
                });
                if pending {
                    rows.push(kept[p], own);
                }
            }
            rows
        });
        let mut all = Self {
            n_coarse,
            offsets: Vec::with_capacity(n + 1),
            list: Vec::with_capacity(blocks.iter().map(|b| b.runs.len()).sum()),
            weights: Vec::with_capacity(blocks.iter().map(|b| b.weights.len()).sum()),
        };
        for block in blocks {
            let (first_run, first) = (all.list.len(), all.weights.len());
            all.offsets.extend(block.starts.iter().map(|start| first_run + start));
            all.list.extend(block.runs.iter().map(|r| Run { position: first + r.position, ..*r }));
            all.weights.extend(block.weights);
        }
        all.offsets.push(all.list.len());
        all
    }

    /// diag(factor) times the matrix.
    pub(super) fn scale_rows(&mut self, factor: &[f64]) {
        for (fine, &f) in factor.iter().enumerate() {
            let runs = &self.list[self.offsets[fine]..self.offsets[fine + 1]];
            if let (Some(first), Some(last)) = (runs.first(), runs.last()) {
                let entries = first.position..last.position + last.len as usize;
                self.weights[entries].iter_mut().for_each(|w| *w *= f);
            }
        }
    }
}

/// Some consecutive rows on the way to [`Runs`].
#[derive(Default)]
struct RowBuilder {
    /// The first run of each row.
    starts: Vec<usize>,
    runs: Vec<Run>,
    weights: Vec<f64>,
}

impl RowBuilder {
    fn begin(&mut self) {
        self.starts.push(self.runs.len());
    }

    /// Appends an entry to the row begun last; columns must increase.
    #[inline]
    fn push(&mut self, column: u32, weight: f64) {
        let is_new_row = self.starts.last() == Some(&self.runs.len());
        match self.runs.last_mut() {
            Some(run) if !is_new_row && run.column + run.len == column => run.len += 1,
            _ => self.runs.push(Run { column, len: 1, position: self.weights.len() }),
        }
        self.weights.push(weight);
    }
}
