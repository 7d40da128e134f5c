//! The Laplacian L = D − W, applied without being formed.
//!
//! Always in *difference form*, (Lx)ᵢ = Σⱼ w_ij (xᵢ − xⱼ): with d·x − W·x the small eigenvalues of a reweighted
//! graph, ten decades below the degrees, drown in rounding.

use crate::{linalg::LinearOperator, parallel, simd};

use super::{Graph, ROW_BLOCK, Storage, csr::Csr, stencil::Stencil};

/// Columns that go through the matrix together.
const GROUP: usize = 8;

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
        let scaled: Vec<f64>;
        let z = match self.scale {
            Some(scale) => {
                scaled = x.iter().zip(scale).map(|(x, s)| x * s).collect();
                scaled.as_slice()
            }
            None => x,
        };
        match &self.graph.storage {
            Storage::Sparse(csr) => parallel::for_each_chunk(y, ROW_BLOCK, |block, part| {
                for (k, out) in part.iter_mut().enumerate() {
                    let (targets, weights) = csr.row(block * ROW_BLOCK + k);
                    let zi = z[block * ROW_BLOCK + k];
                    *out = targets.iter().zip(weights).map(|(&j, &w)| w * (zi - z[j as usize])).sum();
                }
            }),
            Storage::Stencil(stencil) => apply_stencil(stencil, z, y),
        }
        if let Some(scale) = self.scale {
            y.iter_mut().zip(scale).for_each(|(y, s)| *y *= s);
        }
    }

    /// Groups of columns go through the matrix together, interleaved, so that each weight is read once per group.
    fn apply_block(&self, x: &[f64], y: &mut [f64]) {
        let n = self.dim();
        let Storage::Sparse(csr) = &self.graph.storage else {
            x.chunks_exact(n.max(1)).zip(y.chunks_exact_mut(n.max(1))).for_each(|(x, y)| self.apply(x, y));
            return;
        };
        for (x, y) in x.chunks(n.max(1) * GROUP).zip(y.chunks_mut(n.max(1) * GROUP)) {
            match x.len().checked_div(n) {
                None | Some(0) => {}
                Some(1) => self.apply(x, y),
                Some(2..=4) => self.apply_group::<4>(csr, x, y),
                Some(_) => self.apply_group::<GROUP>(csr, x, y),
            }
        }
    }
}

impl Laplacian<'_> {
    /// At most `G` columns at once.
    fn apply_group<const G: usize>(&self, csr: &Csr, x: &[f64], y: &mut [f64]) {
        let n = self.dim();
        let mut z = vec![[0.0; G]; n];
        for (l, column) in x.chunks_exact(n).enumerate() {
            match self.scale {
                Some(scale) => z.iter_mut().zip(column).zip(scale).for_each(|((z, x), s)| z[l] = x * s),
                None => z.iter_mut().zip(column).for_each(|(z, x)| z[l] = *x),
            }
        }
        let mut product = vec![[0.0; G]; n];
        parallel::for_each_chunk(&mut product, ROW_BLOCK, |block, out| {
            simd::widest(Rows { csr, z: &z, first: block * ROW_BLOCK, out });
        });
        for (l, column) in y.chunks_exact_mut(n).enumerate() {
            match self.scale {
                Some(scale) => {
                    column.iter_mut().zip(&product).zip(scale).for_each(|((y, p), s)| *y = p[l] * s);
                }
                None => column.iter_mut().zip(&product).for_each(|(y, p)| *y = p[l]),
            }
        }
    }
}

/// Consecutive rows of a product with interleaved columns.
struct Rows<'a, const G: usize> {
    csr: &'a Csr,
    z: &'a [[f64; G]],
    first: usize,
    out: &'a mut [[f64; G]],
}

impl<const G: usize> pulp::NullaryFnOnce for Rows<'_, G> {
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
fn row_product<const G: usize>(z: &[[f64; G]], own: [f64; G], targets: &[u32], weights: &[f64]) -> [f64; G] {
    const WAYS: usize = 4;
    let mut sums = [[0.0; G]; WAYS];
    let (ts, ws) = (targets.chunks_exact(WAYS), weights.chunks_exact(WAYS));
    for (&j, &w) in ts.remainder().iter().zip(ws.remainder()) {
        let other = &z[j as usize];
        for l in 0..G {
            sums[0][l] += w * (own[l] - other[l]);
        }
    }
    for (t, w) in ts.zip(ws) {
        for way in 0..WAYS {
            let other = &z[t[way] as usize];
            for l in 0..G {
                sums[way][l] += w[way] * (own[l] - other[l]);
            }
        }
    }
    std::array::from_fn(|l| (sums[0][l] + sums[1][l]) + (sums[2][l] + sums[3][l]))
}

/// One image row at a time: the offset is the outer loop, so that the inner one runs along contiguous pixels.
fn apply_stencil(stencil: &Stencil, z: &[f64], y: &mut [f64]) {
    let width = stencil.width;
    parallel::for_each_chunk(y, width, |row, out| {
        out.fill(0.0);
        let here = &z[row * width..(row + 1) * width];
        for (o, &(dr, dc)) in stencil.offsets.iter().enumerate() {
            let columns = stencil.columns(dc);
            let shifted = columns.start.wrapping_add_signed(dc)..columns.end.wrapping_add_signed(dc);
            if row + dr < stencil.height {
                let weights = &stencil.weights[stencil.index(row, o, 0)..][columns.clone()];
                let there = &z[(row + dr) * width..][shifted.clone()];
                let own = &here[columns.clone()];
                for (k, y) in out[columns.clone()].iter_mut().enumerate() {
                    *y += f64::from(weights[k]) * (own[k] - there[k]);
                }
            }
            if dr <= row {
                let weights = &stencil.weights[stencil.index(row - dr, o, 0)..][columns.clone()];
                let there = &z[(row - dr) * width..][columns];
                let own = &here[shifted.clone()];
                for (k, y) in out[shifted].iter_mut().enumerate() {
                    *y += f64::from(weights[k]) * (own[k] - there[k]);
                }
            }
        }
    });
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

    #[test]
    fn both_storages_apply_like_the_edge_loop() {
        let weight = |i: usize, j: usize| ((i * 7 + j * 3) % 5) as f32;
        let stencil = Graph::from_stencil(6, 9, half_disc(3.0), weight).unwrap();
        let sparse = gallery::random(54, 0.2, 3);
        for graph in [&stencil, &sparse] {
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
