//! The median heuristic: a kernel as wide as pairs usually differ.

use crate::{image::Image, parallel, random::Random};

use super::{super::colors::STEPS, FeatureNeighbors, inverse_norm};

/// The most pairs that are looked at.
const PAIRS: usize = 1 << 18;

/// Tokens of which all pairs are looked at.
const SAMPLE: usize = 720;

/// Pairs in a block of the parallel loop.
const BLOCK: usize = 4096;

/// The median of 1 − cosine, or of ‖x − y‖², over pairs that may be tied.
pub(super) fn median(
    features: &Image,
    mask: Option<&[bool]>,
    is_angular: bool,
    neighbors: FeatureNeighbors,
) -> f64 {
    let counts = |p: usize| mask.is_none_or(|mask| mask[p]);
    let mut pairs = match neighbors {
        FeatureNeighbors::Local(_) => steps(features, &STEPS),
        FeatureNeighbors::All | FeatureNeighbors::Nearest { .. } => among(features.n_pixels(), &counts),
    };
    pairs.retain(|&(p, q)| counts(p as usize) && counts(q as usize));
    if pairs.is_empty() {
        pairs = steps(features, &[(0, 1), (1, 0)]);
        pairs.retain(|&(p, q)| counts(p as usize) && counts(q as usize));
    }
    let blocks = parallel::map(pairs.len().div_ceil(BLOCK), |b| {
        let block = &pairs[b * BLOCK..pairs.len().min((b + 1) * BLOCK)];
        let of = |&(p, q): &(u32, u32)| {
            let (x, y) = (features.pixel(p as usize), features.pixel(q as usize));
            if is_angular { angular(x, y) } else { Some(squared(x, y)) }
        };
        block.iter().filter_map(of).collect::<Vec<f64>>()
    });
    middle(blocks.concat())
}

/// The median; that of the positive values where it is zero, and 1 where there is none.
fn middle(mut values: Vec<f64>) -> f64 {
    for _ in 0..2 {
        if values.is_empty() {
            break;
        }
        let half = values.len() / 2;
        let median = *values.select_nth_unstable_by(half, f64::total_cmp).1;
        if median > 0.0 {
            return median;
        }
        values.retain(|&v| v > 0.0);
    }
    1.0
}

/// 1 − cosine; `None` where a vector has no direction.
fn angular(x: &[f32], y: &[f32]) -> Option<f64> {
    let scale = inverse_norm(x) * inverse_norm(y);
    let dot: f64 = x.iter().zip(y).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
    (scale > 0.0).then(|| (1.0 - dot * scale).max(0.0))
}

fn squared(x: &[f32], y: &[f32]) -> f64 {
    x.iter().zip(y).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum()
}

/// Pairs of pixels at some offsets, evenly thinned out to at most [`PAIRS`].
fn steps(features: &Image, offsets: &[(usize, isize)]) -> Vec<(u32, u32)> {
    let (height, width) = (features.height(), features.width());
    let every = (features.n_pixels() * offsets.len()).div_ceil(PAIRS).max(1);
    let from = (0..features.n_pixels()).step_by(every);
    let pair = |p: usize, &(dr, dc): &(usize, isize)| {
        let (row, column) = (p / width + dr, (p % width).checked_add_signed(dc)?);
        (row < height && column < width).then(|| (p as u32, (row * width + column) as u32))
    };
    from.flat_map(|p| offsets.iter().filter_map(move |offset| pair(p, offset))).collect()
}

/// All pairs of the tokens that count, or of a random sample of them.
fn among(n: usize, counts: &dyn Fn(usize) -> bool) -> Vec<(u32, u32)> {
    let mut tokens: Vec<u32> = (0..n as u32).filter(|&t| counts(t as usize)).collect();
    if tokens.len() > SAMPLE {
        let mut random = Random::new(0);
        for place in 0..SAMPLE {
            let other = place + random.below(tokens.len() - place);
            tokens.swap(place, other);
        }
        tokens.truncate(SAMPLE);
    }
    let later = |(k, &p): (usize, &u32)| tokens[k + 1..].iter().map(move |&q| (p, q)).collect::<Vec<_>>();
    tokens.iter().enumerate().flat_map(later).collect()
}
