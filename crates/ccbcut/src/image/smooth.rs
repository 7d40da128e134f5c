//! A Gaussian blur that knows which pixels count.

use super::Image;
use crate::{
    error::{Error, Result},
    parallel,
};

/// How many standard deviations the blur reaches.
const REACH: f64 = 4.0;

/// Every pixel becomes the mean of its surroundings, weighted by exp(−distance²/2s²), s = `scale` in pixels, up to
/// four times that far. Pixels outside the image, or that `mask` marks `false`, have no weight; masked pixels far from
/// all others keep their values. At scale 0 the image comes back as it is.
///
/// ```
/// use ccbcut::image::{Image, smooth::smooth};
/// let dot = Image::new(1, 5, 1, vec![0.0, 0.0, 1.0, 0.0, 0.0])?;
/// let blurred = smooth(&dot, 0.8, None)?;
/// assert!(blurred.data()[2] < 0.6 && blurred.data()[1] > 0.2);
/// # Ok::<(), ccbcut::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidParameter`] for a scale that is negative or not finite, [`Error::ShapeMismatch`] for a mask that
/// does not fit.
///
/// # Complexity
/// O(pixels · scale) time: rows, then columns.
pub fn smooth(image: &Image, scale: f64, mask: Option<&[bool]>) -> Result<Image> {
    if !(scale.is_finite() && scale >= 0.0) {
        let (name, value) = ("smooth", scale);
        return Err(Error::InvalidParameter { name, value, expected: "a number of pixels, 0 or more" });
    }
    if let Some(mask) = mask.filter(|mask| mask.len() != image.n_pixels()) {
        let (expected, got) = (image.n_pixels(), mask.len());
        return Err(Error::ShapeMismatch { what: "the mask", expected, got });
    }
    let (height, width, channels) = (image.height(), image.width(), image.channels());
    let taps = taps(scale, height.max(width));
    if taps.len() == 1 {
        return Ok(image.clone());
    }
    // Each pixel carries its weight as one more channel, so that the edges need no rule of their own.
    let lanes = channels + 1;
    let mut weighted = Vec::with_capacity(image.n_pixels() * lanes);
    for (p, pixel) in image.data().chunks_exact(channels).enumerate() {
        let weight = if mask.is_none_or(|mask| mask[p]) { 1.0_f32 } else { 0.0 };
        weighted.extend(pixel.iter().map(|v| v * weight));
        weighted.push(weight);
    }
    let row = width * lanes;
    let mut across = vec![0.0_f32; weighted.len()];
    parallel::for_each_chunk(&mut across, row, |r, out| {
        let from = &weighted[r * row..(r + 1) * row];
        for (distance, &tap) in taps.iter().enumerate().take(width) {
            let shift = distance * lanes;
            add(&mut out[..row - shift], &from[shift..], tap);
            if distance > 0 {
                add(&mut out[shift..], &from[..row - shift], tap);
            }
        }
    });
    let mut data = image.data().to_vec();
    parallel::for_each_chunk(&mut data, width * channels, |r, out| {
        let mut sums = vec![0.0_f32; row];
        for (distance, &tap) in taps.iter().enumerate() {
            let (above, below) = (r.checked_sub(distance), Some(r + distance).filter(|&q| q < height));
            for q in [below, above.filter(|_| distance > 0)].into_iter().flatten() {
                add(&mut sums, &across[q * row..(q + 1) * row], tap);
            }
        }
        for (pixel, sum) in out.chunks_exact_mut(channels).zip(sums.chunks_exact(lanes)) {
            let weight = sum[channels];
            if weight > 0.0 {
                pixel.iter_mut().zip(sum).for_each(|(value, s)| *value = s / weight);
            }
        }
    });
    Image::new(height, width, channels, data)
}

fn add(out: &mut [f32], from: &[f32], tap: f32) {
    out.iter_mut().zip(from).for_each(|(sum, value)| *sum += tap * value);
}

/// The weights at distances 0, 1, …, none beyond the size of the image.
fn taps(scale: f64, size: usize) -> Vec<f32> {
    let reach = (REACH * scale).ceil().min(size as f64) as usize;
    let tap = |d: usize| (-((d * d) as f64) / (2.0 * scale * scale).max(f64::MIN_POSITIVE)).exp() as f32;
    (0..=reach).map(|d| if d == 0 { 1.0 } else { tap(d) }).take_while(|&t| t > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn noise(height: usize, width: usize, channels: usize, seed: u64) -> Image {
        let mut random = Random::new(seed);
        let data = (0..height * width * channels).map(|_| random.uniform() as f32).collect();
        Image::new(height, width, channels, data).unwrap()
    }

    /// The definition, pixel by pixel.
    fn naive(image: &Image, scale: f64, mask: Option<&[bool]>) -> Vec<f32> {
        let (height, width, channels) = (image.height() as i64, image.width() as i64, image.channels());
        let reach = (REACH * scale).ceil() as i64;
        let mut out = image.data().to_vec();
        for (r, c) in (0..height).flat_map(|r| (0..width).map(move |c| (r, c))) {
            let (mut sums, mut total) = (vec![0.0; channels], 0.0);
            for (dr, dc) in (-reach..=reach).flat_map(|dr| (-reach..=reach).map(move |dc| (dr, dc))) {
                let (y, x) = (r + dr, c + dc);
                let p = (y * width + x) as usize;
                if (0..height).contains(&y) && (0..width).contains(&x) && mask.is_none_or(|m| m[p]) {
                    let w = (-((dr * dr + dc * dc) as f64) / (2.0 * scale * scale)).exp();
                    total += w;
                    image.pixel(p).iter().zip(&mut sums).for_each(|(&v, s)| *s += w * f64::from(v));
                }
            }
            let p = (r * width + c) as usize;
            if total > 0.0 {
                (0..channels).for_each(|ch| out[p * channels + ch] = (sums[ch] / total) as f32);
            }
        }
        out
    }

    #[test]
    fn the_two_passes_are_the_definition() {
        for (height, width, channels, scale) in
            [(9, 7, 3, 0.7), (1, 12, 1, 1.5), (5, 3, 2, 2.0), (1, 1, 1, 3.0)]
        {
            let image = noise(height, width, channels, 3);
            let mask: Vec<bool> = (0..height * width).map(|p| p % 3 != 1).collect();
            for mask in [None, Some(mask.as_slice())] {
                let fast = smooth(&image, scale, mask).unwrap();
                for (a, b) in fast.data().iter().zip(naive(&image, scale, mask)) {
                    assert!((a - b).abs() < 1e-5, "{height} x {width}, scale {scale}: {a} {b}");
                }
            }
        }
    }

    #[test]
    fn masked_pixels_do_not_bleed_and_constants_stay() {
        let image = Image::new(1, 4, 1, vec![0.5, 0.5, 9.0, 9.0]).unwrap();
        let mask = [true, true, false, false];
        assert_eq!(smooth(&image, 2.0, Some(&mask)).unwrap().data()[..2], [0.5, 0.5]);
        let nothing = smooth(&image, 1.0, Some(&[false; 4])).unwrap();
        assert_eq!(nothing, image, "there is nothing to average");
        assert_eq!(smooth(&image, 0.0, None).unwrap(), image);
    }

    #[test]
    fn scales_that_mean_nothing_are_refused_and_large_ones_have_an_answer() {
        let image = noise(3, 3, 1, 1);
        for scale in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(
                smooth(&image, scale, None),
                Err(Error::InvalidParameter { name: "smooth", .. })
            ));
        }
        let flat = smooth(&image, 1e12, None).unwrap();
        let mean = image.data().iter().sum::<f32>() / 9.0;
        assert!(flat.data().iter().all(|v| (v - mean).abs() < 1e-5));
        assert_eq!(smooth(&image, 1e-300, None).unwrap(), image);
        assert!(matches!(smooth(&image, 1.0, Some(&[true])), Err(Error::ShapeMismatch { .. })));
    }
}
