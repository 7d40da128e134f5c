//! The Laplacian L = D − W, applied without being formed.
//!
//! Always in *difference form*, (Lx)ᵢ = Σⱼ w_ij (xᵢ − xⱼ): with d·x − W·x the small eigenvalues of a reweighted
//! graph, ten decades below the degrees, drown in rounding.

use crate::{linalg::LinearOperator, parallel, simd};

use super::{
    Graph, ROW_BLOCK, Storage,
    csr::Csr,
    product::{Layout, Real, Write},
    stencil::Stencil,
};

/// Columns that go through the matrix together, twice as many in single precision.
const GROUP: usize = 8;

/// Rows of a group that one task takes.
const GROUP_ROWS: usize = 1024;

/// Rows that are multiplied with one group after the other, so that their weights come from memory once.
const NEAR_ROWS: usize = 64;

/// Bytes up to which the vectors of several groups lie interleaved at the same time.
const INTERLEAVED_BYTES: usize = 4 << 20;

/// Π^-½ L Π^-½ (or plain L) as an operator.
#[derive(Debug, Clone, Copy)]
pub struct Laplacian<'a> {
    graph: &'a Graph,
    scale: Option<&'a [f64]>,
}

impl<'a> Laplacian<'a> {
    pub(super) fn new(graph: &'a Graph) -> Self {
        Self { graph, scale: None }
    }

    /// Multiplies by a diagonal matrix from both sides; `scale` holds π^-½.
    #[must_use]
    pub fn scaled(self, scale: &'a [f64]) -> Self {
        Self { scale: Some(scale), ..self }
    }
}

impl LinearOperator for Laplacian<'_> {
    fn dim(&self) -> usize {
        self.graph.n_vertices()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        let csr = match &self.graph.storage {
            Storage::Sparse(csr) => csr,
            Storage::Stencil(stencil) => return apply_stencil(stencil, x, y, self.scale, Write::Set),
        };
        let scaled: Vec<f64>;
        let z = match self.scale {
            Some(scale) => {
                scaled = x.iter().zip(scale).map(|(x, s)| x * s).collect();
                scaled.as_slice()
            }
            None => x,
        };
        parallel::for_each_chunk(y, ROW_BLOCK, |block, part| {
            for (k, out) in part.iter_mut().enumerate() {
                let (targets, weights) = csr.row(block * ROW_BLOCK + k);
                *out = outflow(z, z[block * ROW_BLOCK + k], targets, weights);
            }
        });
        if let Some(scale) = self.scale {
            y.iter_mut().zip(scale).for_each(|(y, s)| *y *= s);
        }
    }

    /// Groups of columns go through the matrix together, interleaved, and some rows of it through all groups.
    fn apply_block(&self, x: &[f64], y: &mut [f64]) {
        let n = self.dim();
        let csr = match &self.graph.storage {
            Storage::Sparse(csr) => csr,
            Storage::Stencil(stencil) => return apply_stencil(stencil, x, y, self.scale, Write::Set),
        };
        let n_columns = x.len().checked_div(n).unwrap_or(0);
        // One column alone takes less.
        let grouped = if n_columns % GROUP == 1 { n_columns - 1 } else { n_columns };
        let ((x, last), (y, last_y)) = (x.split_at(grouped * n), y.split_at_mut(grouped * n));
        match grouped {
            0 => {}
            1..=4 => apply_groups::<f64, 4>(csr, x, y, self.scale, Write::Set),
            _ => apply_groups::<f64, GROUP>(csr, x, y, self.scale, Write::Set),
        }
        if !last.is_empty() {
            self.apply(last, last_y);
        }
    }
}

impl Laplacian<'_> {
    /// Y = L X in single precision and without the scaling, for several vectors stored one after the other.
    pub(crate) fn apply_single(&self, x: &[f32], y: &mut [f32]) {
        self.write_single(x, y, Write::Set);
    }

    /// Y ← Y − L X, likewise.
    pub(crate) fn subtract_single(&self, x: &[f32], y: &mut [f32]) {
        self.write_single(x, y, Write::Subtract);
    }

    fn write_single(&self, x: &[f32], y: &mut [f32], write: Write) {
        let n = self.dim().max(1);
        match &self.graph.storage {
            Storage::Stencil(stencil) => apply_stencil(stencil, x, y, None, write),
            Storage::Sparse(csr) => match x.len() / n {
                0 => {}
                1 => apply_groups::<f32, 1>(csr, x, y, None, write),
                2..=4 => apply_groups::<f32, 4>(csr, x, y, None, write),
                5..=GROUP => apply_groups::<f32, GROUP>(csr, x, y, None, write),
                _ => apply_groups::<f32, { 2 * GROUP }>(csr, x, y, None, write),
            },
        }
    }
}

/// Σⱼ wⱼ (own − zⱼ) for one column; running sums, as one alone would wait for each addition.
#[inline]
fn outflow(z: &[f64], own: f64, targets: &[u32], weights: &[f64]) -> f64 {
    let (ts, ts_behind) = targets.as_chunks::<GROUP>();
    let (ws, ws_behind) = weights.as_chunks::<GROUP>();
    let mut sums = [0.0; GROUP];
    for (t, w) in ts.iter().zip(ws) {
        for l in 0..GROUP {
            sums[l] += w[l] * (own - z[t[l] as usize]);
        }
    }
    let behind = ts_behind.iter().zip(ws_behind).map(|(&j, &w)| w * (own - z[j as usize]));
    sums.iter().sum::<f64>() + behind.sum::<f64>()
}

/// Consecutive rows of a product with interleaved columns.
struct Rows<'a, T, const G: usize> {
    csr: &'a Csr,
    z: &'a [[T; G]],
    first: usize,
    out: &'a mut [[T; G]],
}

impl<T: Real, const G: usize> pulp::NullaryFnOnce for Rows<'_, T, G> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (k, out) in self.out.iter_mut().enumerate() {
            let (targets, weights) = self.csr.row(self.first + k);
            *out = row_product(self.z, self.z[self.first + k], targets, weights);
        }
    }
}

/// Σⱼ wⱼ (own − zⱼ) for interleaved columns; four running sums, as one alone would wait for each addition.
#[inline(always)]
fn row_product<T: Real, const G: usize>(
    z: &[[T; G]],
    own: [T; G],
    targets: &[u32],
    weights: &[f64],
) -> [T; G] {
    const WAYS: usize = 4;
    let mut sums = [[T::default(); G]; WAYS];
    let (ts, ws) = (targets.chunks_exact(WAYS), weights.chunks_exact(WAYS));
    for (&j, &w) in ts.remainder().iter().zip(ws.remainder()) {
        let (other, w) = (&z[j as usize], T::from_weight(w));
        for l in 0..G {
            sums[0][l] += w * (own[l] - other[l]);
        }
    }
    for (t, w) in ts.zip(ws) {
        for way in 0..WAYS {
            let (other, w) = (&z[t[way] as usize], T::from_weight(w[way]));
            for l in 0..G {
                sums[way][l] += w * (own[l] - other[l]);
            }
        }
    }
    let mut total = sums[0];
    for l in 0..G {
        total[l] += sums[1][l];
        sums[2][l] += sums[3][l];
        total[l] += sums[2][l];
    }
    total
}

/// Groups of `G` columns, as many at a time as may lie interleaved.
fn apply_groups<T: Real, const G: usize>(csr: &Csr, x: &[T], y: &mut [T], scale: Option<&[T]>, write: Write) {
    let n = csr.n_rows();
    let bytes = size_of::<[T; G]>().saturating_mul(n);
    let together = (INTERLEAVED_BYTES / bytes.max(1)).max(1);
    for (x, y) in x.chunks(n * G * together).zip(y.chunks_mut(n * G * together)) {
        let groups: Vec<Vec<[T; G]>> = x.chunks(n * G).map(|x| interleaved(x, n, scale)).collect();
        // The same rows of every column.
        let n_columns = x.len() / n;
        let mut parts: Vec<Vec<&mut [T]>> =
            (0..n.div_ceil(GROUP_ROWS)).map(|_| Vec::with_capacity(n_columns)).collect();
        for column in y.chunks_exact_mut(n) {
            parts.iter_mut().zip(column.chunks_mut(GROUP_ROWS)).for_each(|(part, rows)| part.push(rows));
        }
        parallel::for_each_part(parts, |block, mut part| {
            let start = block * GROUP_ROWS;
            let mut product = [[T::default(); G]; NEAR_ROWS];
            for first in (start..n.min(start + GROUP_ROWS)).step_by(NEAR_ROWS) {
                let count = NEAR_ROWS.min(n - first);
                for (z, columns) in groups.iter().zip(part.chunks_mut(G)) {
                    simd::widest(Rows { csr, z, first, out: &mut product[..count] });
                    for (l, column) in columns.iter_mut().enumerate() {
                        let rows = &mut column[first - start..][..count];
                        match scale.map(|scale| &scale[first..]) {
                            Some(scale) => {
                                let values = product.iter().zip(scale).map(|(p, &s)| p[l] * s);
                                rows.iter_mut().zip(values).for_each(|(y, value)| write.to(y, value));
                            }
                            None => rows.iter_mut().zip(&product).for_each(|(y, p)| write.to(y, p[l])),
                        }
                    }
                }
            }
        });
    }
}

/// Columns side by side, zeros where there are fewer than `G`.
fn interleaved<T: Real, const G: usize>(x: &[T], n: usize, scale: Option<&[T]>) -> Vec<[T; G]> {
    let mut z = vec![[T::default(); G]; n];
    parallel::for_each_chunk(&mut z, GROUP_ROWS, |block, z| {
        let first = block * GROUP_ROWS;
        for (l, column) in x.chunks_exact(n).enumerate() {
            let column = &column[first..first + z.len()];
            match scale {
                Some(scale) => {
                    z.iter_mut().zip(column).zip(&scale[first..]).for_each(|((z, &x), &s)| z[l] = x * s);
                }
                None => z.iter_mut().zip(column).for_each(|(z, x)| z[l] = *x),
            }
        }
    });
    z
}

/// Groups of columns go through the stencil together.
fn apply_stencil<T: Real>(stencil: &Stencil, x: &[T], y: &mut [T], scale: Option<&[T]>, write: Write) {
    let n = stencil.n_vertices();
    if n == 0 {
        return;
    }
    let layout = Layout::new(stencil);
    for (x, y) in x.chunks(n * T::PANEL).zip(y.chunks_mut(n * T::PANEL)) {
        T::apply(&layout, x, y, scale, write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{gallery, half_disc};

    fn naive(graph: &Graph, scale: &[f64], x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; x.len()];
        graph.for_each_edge(|i, j, w| {
            let flow = w * (scale[i] * x[i] - scale[j] * x[j]);
            y[i] += scale[i] * flow;
            y[j] -= scale[j] * flow;
        });
        y
    }

    /// Shapes narrower than a tile, lines, and rows fewer than the reach, in both precisions.
    #[test]
    fn awkward_stencils_apply_like_the_edge_loop() {
        for (h, w, radius) in
            [(1, 40, 3.0), (40, 1, 3.0), (2, 3, 5.0), (70, 33, 4.2), (1, 1, 2.0), (51, 32, 10.0)]
        {
            let weight = |i: usize, j: usize| ((i * 7 + j * 3) % 5) as f32 / 4.0;
            let graph = Graph::from_stencil(h, w, half_disc(radius), weight).unwrap();
            let n = graph.n_vertices();
            let x: Vec<f64> = (0..9 * n).map(|i| (i as f64 * 0.7).sin()).collect();
            let single: Vec<f32> = x.iter().map(|&v| v as f32).collect();
            for columns in [1, 2, 3, 4, 9] {
                let (mut y, mut z) = (vec![f64::NAN; columns * n], vec![f32::NAN; columns * n]);
                graph.laplacian().apply_block(&x[..columns * n], &mut y);
                graph.laplacian().apply_single(&single[..columns * n], &mut z);
                for ((x, y), z) in x.chunks(n).zip(y.chunks(n)).zip(z.chunks(n)) {
                    for ((a, b), c) in naive(&graph, &vec![1.0; n], x).iter().zip(y).zip(z) {
                        assert!((a - b).abs() < 1e-12, "{h} × {w}: {a} {b}");
                        assert!((a - f64::from(*c)).abs() < 1e-5 * (1.0 + a.abs()), "{h} × {w}: {a} {c}");
                    }
                }
            }
        }
    }

    #[test]
    fn both_storages_apply_like_the_edge_loop() {
        let weight = |i: usize, j: usize| ((i * 7 + j * 3) % 5) as f32;
        let stencil = Graph::from_stencil(6, 9, half_disc(3.0), weight).unwrap();
        let sparse = gallery::random(54, 0.2, 3);
        let of_several_groups = gallery::grid(40, 41);
        assert!(of_several_groups.n_vertices() > GROUP_ROWS);
        for graph in [&stencil, &sparse, &of_several_groups] {
            let n = graph.n_vertices();
            let scale: Vec<f64> = (0..n).map(|i| 1.0 / (1.0 + i as f64)).collect();
            let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin()).collect();
            let mut y = vec![f64::NAN; n];
            graph.laplacian().scaled(&scale).apply(&x, &mut y);
            for (a, b) in y.iter().zip(naive(graph, &scale, &x)) {
                assert!((a - b).abs() < 1e-12, "{a} {b}");
            }
            let many: Vec<f64> = (0..11 * n).map(|i| (i as f64 * 0.3).cos()).collect();
            let mut block = vec![f64::NAN; 11 * n];
            for columns in [1, 2, 4, 5, 8, 11] {
                let operator = graph.laplacian().scaled(&scale);
                operator.apply_block(&many[..columns * n], &mut block[..columns * n]);
                for (x, y) in many.chunks(n).zip(block.chunks(n)).take(columns) {
                    for (a, b) in y.iter().zip(naive(graph, &scale, x)) {
                        assert!((a - b).abs() < 1e-12, "{columns} columns: {a} {b}");
                    }
                }
            }
            graph.laplacian().apply(&vec![1.0; n], &mut y);
            assert!(y.iter().all(|&v| v == 0.0), "L1 = 0 exactly");
        }
    }
}
