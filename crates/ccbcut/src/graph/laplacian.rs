//! The Laplacian L = D − W, applied without being formed.
//!
//! Always in *difference form*, (Lx)ᵢ = Σⱼ w_ij (xᵢ − xⱼ): with d·x − W·x the small eigenvalues of a reweighted
//! graph, ten decades below the degrees, drown in rounding.

use crate::{linalg::LinearOperator, parallel};

use super::{Graph, ROW_BLOCK, Storage, stencil::Stencil};

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
            graph.laplacian().apply(&vec![1.0; n], &mut y);
            assert!(y.iter().all(|&v| v == 0.0), "L1 = 0 exactly");
        }
    }
}
