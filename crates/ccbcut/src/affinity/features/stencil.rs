//! Features of neighbouring pixels: a weight per pixel and offset, along rows of the map.

use crate::{error::Result, graph::Graph, image::Image, parallel, simd};

use super::{super::exp::exp_of_negative, FAINT, Weight, inverse_norm};

/// Channels that go through the weights of a row together.
const LANES: usize = 4;

/// The graph of a map whose pixels are tied at some offsets.
pub(super) fn graph(
    features: &Image,
    mask: Option<&[bool]>,
    offsets: Vec<(usize, isize)>,
    weight: Weight,
) -> Result<Graph> {
    let planes = Planes::new(features, mask, weight.is_angular());
    let (height, width) = (features.height(), features.width());
    Graph::from_stencil_rows(height, width, offsets, |p, q, weights| {
        planes.compare(p, q, weights);
        simd::widest(Convert { weights, weight });
        if let Some(present) = &planes.present {
            let (from, to) = (&present[p..p + weights.len()], &present[q..q + weights.len()]);
            let ends = from.iter().zip(to);
            weights.iter_mut().zip(ends).filter(|(_, (a, b))| !(**a && **b)).for_each(|(w, _)| *w = 0.0);
        }
    })
}

/// One plane of values per channel, padded by planes of zeros to a multiple of [`LANES`].
struct Planes {
    n: usize,
    data: Vec<f32>,
    is_angular: bool,
    /// Which pixels are tied at all; all where there is none.
    present: Option<Vec<bool>>,
}

impl Planes {
    fn new(features: &Image, mask: Option<&[bool]>, is_angular: bool) -> Self {
        let (n, channels) = (features.n_pixels(), features.channels());
        let scales: Vec<f64> = if is_angular {
            features.data().chunks_exact(channels).map(inverse_norm).collect()
        } else {
            Vec::new()
        };
        let scale = |p: usize| scales.get(p).copied().unwrap_or(1.0);
        let mut data = vec![0.0_f32; n * channels.next_multiple_of(LANES)];
        parallel::for_each_chunk(&mut data, n, |channel, plane| {
            if channel < channels {
                for (p, (out, x)) in plane.iter_mut().zip(features.data().chunks_exact(channels)).enumerate()
                {
                    *out = (f64::from(x[channel]) * scale(p)) as f32;
                }
            }
        });
        let is_present = |p: usize| mask.is_none_or(|mask| mask[p]) && scale(p) > 0.0;
        let present: Vec<bool> = (0..n).map(is_present).collect();
        Self { n, data, is_angular, present: present.contains(&false).then_some(present) }
    }

    /// Sets the scalar products, or the squared distances, of the pairs (p, q), (p + 1, q + 1), …
    fn compare(&self, p: usize, q: usize, out: &mut [f32]) {
        out.fill(0.0);
        for group in self.data.chunks_exact(LANES * self.n) {
            let planes = std::array::from_fn(|l| {
                let plane = &group[l * self.n..(l + 1) * self.n];
                (&plane[p..p + out.len()], &plane[q..q + out.len()])
            });
            if self.is_angular {
                simd::widest(Products { planes, out });
            } else {
                simd::widest(Differences { planes, out });
            }
        }
    }
}

/// Adds the products of a few channels.
struct Products<'a> {
    planes: [(&'a [f32], &'a [f32]); LANES],
    out: &'a mut [f32],
}

impl pulp::NullaryFnOnce for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let len = self.out.len();
        let [(a, b), (c, d), (e, f), (g, h)] = self.planes.map(|(x, y)| (&x[..len], &y[..len]));
        for (k, out) in self.out.iter_mut().enumerate() {
            *out += (a[k] * b[k] + c[k] * d[k]) + (e[k] * f[k] + g[k] * h[k]);
        }
    }
}

/// Adds the squared differences of a few channels.
struct Differences<'a> {
    planes: [(&'a [f32], &'a [f32]); LANES],
    out: &'a mut [f32],
}

impl pulp::NullaryFnOnce for Differences<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let len = self.out.len();
        let [(a, b), (c, d), (e, f), (g, h)] = self.planes.map(|(x, y)| (&x[..len], &y[..len]));
        for (k, out) in self.out.iter_mut().enumerate() {
            let (w, x, y, z) = (a[k] - b[k], c[k] - d[k], e[k] - f[k], g[k] - h[k]);
            *out += (w * w + x * x) + (y * y + z * z);
        }
    }
}

/// Turns cosines or squared distances into weights.
struct Convert<'a> {
    weights: &'a mut [f32],
    weight: Weight,
}

impl pulp::NullaryFnOnce for Convert<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let finite = |rate: f64| rate.min(f64::from(f32::MAX)) as f32;
        match self.weight {
            Weight::Positive => self.weights.iter_mut().for_each(|w| *w = w.clamp(0.0, 1.0)),
            Weight::Step { threshold } => {
                let threshold = threshold as f32;
                self.weights.iter_mut().for_each(|w| *w = if *w > threshold { 1.0 } else { FAINT as f32 });
            }
            Weight::Angle { rate } => {
                let rate = finite(rate);
                self.weights.iter_mut().for_each(|w| *w = exp_of_negative(-rate * (1.0 - *w).max(0.0)));
            }
            Weight::Distance { rate } => {
                let rate = finite(rate);
                self.weights.iter_mut().for_each(|w| *w = exp_of_negative(-rate * *w));
            }
        }
    }
}
