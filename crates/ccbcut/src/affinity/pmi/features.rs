//! The two feature sets of a pixel, three numbers each: its colour, and how much the colour varies around it.
//!
//! - colour: L*a*b* under D50, brought to [0, 1], rotated to its principal axes, brought to [0, 1] again;
//! - variation: RGB rotated to its principal axes, in each of them the square root of the standard deviation over the
//!   pixel and its four neighbours, and then the same three steps.
//!
//! "Brought to [0, 1]" is by one minimum and one maximum of all three channels together, so that the later axes, which
//! vary less, keep a smaller range. Rotations are about the mean; axes come in the order of decreasing variance, and
//! the largest loading of each is positive.

use crate::{
    error::{Error, Result},
    image::Image,
    linalg::dense::symmetric_eigen,
};

/// Ranges below this are rounding errors of values of the order of 1.
const LEAST_RANGE: f64 = 1e-12;

/// Linear sRGB → XYZ under D50.
const TO_XYZ: [[f64; 3]; 3] = [
    [0.436_074_7, 0.385_064_9, 0.143_080_4],
    [0.222_504_5, 0.716_878_6, 0.060_616_9],
    [0.013_932_2, 0.097_104_5, 0.714_173_3],
];

/// The white of the profile connection space. The matrix's rows add up to a slightly different one.
const WHITE: [f64; 3] = [0.9642, 1.0, 0.8249];

/// One value per pixel, each of three channels.
type Planes = Vec<[f64; 3]>;

/// The features of all pixels: colour first, variation second, each a three-channel image with values in [0, 1].
///
/// A gray image counts as one with three equal channels. Pixels that `mask` marks `false` have no influence on the
/// others; their own features are 0. Where nothing varies, all features are 0.
///
/// # Errors
/// [`Error::InvalidParameter`] for an image with other than 1 or 3 channels, [`Error::ShapeMismatch`] for a mask that
/// does not hold one value per pixel.
///
/// # Complexity
/// O(pixels).
pub fn features(image: &Image, mask: Option<&[bool]>) -> Result<[Image; 2]> {
    super::super::check_mask(image, mask)?;
    let channels = image.channels();
    if channels != 1 && channels != 3 {
        let value = channels as f64;
        return Err(Error::InvalidParameter { name: "channels", value, expected: "1 (gray) or 3 (sRGB)" });
    }
    let rgb: Planes = image
        .data()
        .chunks_exact(channels)
        .map(|p| if let [r, g, b] = *p { [r, g, b].map(f64::from) } else { [f64::from(p[0]); 3] })
        .collect();
    let grid = Grid { height: image.height(), width: image.width(), mask };
    let color = grid.decorrelated(rgb.iter().map(lab).collect());
    let roots = grid.deviations(&grid.rotated(&rgb)).into_iter().map(|d| d.map(f64::sqrt)).collect();
    let variation = grid.decorrelated(roots);
    Ok([grid.image(&color)?, grid.image(&variation)?])
}

/// sRGB to L*a*b* under D50.
fn lab(rgb: &[f64; 3]) -> [f64; 3] {
    let linear = rgb.map(|v| if v <= 0.040_45 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) });
    let [x, y, z] = [0, 1, 2].map(|i| {
        let row = TO_XYZ[i];
        let t = (row[0] * linear[0] + row[1] * linear[1] + row[2] * linear[2]) / WHITE[i];
        if t > 216.0 / 24_389.0 { t.cbrt() } else { (24_389.0 / 27.0 * t + 16.0) / 116.0 }
    });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// The pixels, and which of them count.
struct Grid<'a> {
    height: usize,
    width: usize,
    mask: Option<&'a [bool]>,
}

impl Grid<'_> {
    fn counts(&self, p: usize) -> bool {
        self.mask.is_none_or(|mask| mask[p])
    }

    fn counted<'a>(&'a self, values: &'a [[f64; 3]]) -> impl Iterator<Item = &'a [f64; 3]> {
        values.iter().enumerate().filter(|&(p, _)| self.counts(p)).map(|(_, v)| v)
    }

    /// Brought to [0, 1], rotated, brought to [0, 1].
    fn decorrelated(&self, mut values: Planes) -> Planes {
        self.normalize(&mut values);
        let mut rotated = self.rotated(&values);
        self.normalize(&mut rotated);
        rotated
    }

    /// (v − min)/(max − min), with the extremes of all channels together; 0 where they are the same.
    fn normalize(&self, values: &mut [[f64; 3]]) {
        let all = self.counted(values).flatten();
        let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
        let range = high - low;
        let scaled = |v: f64| if range > LEAST_RANGE { (v - low) / range } else { 0.0 };
        values.iter_mut().for_each(|v| *v = v.map(scaled));
    }

    /// Coordinates along the principal axes, from the mean.
    fn rotated(&self, values: &[[f64; 3]]) -> Planes {
        let n = self.counted(values).count().max(1) as f64;
        let mut mean = [0.0; 3];
        self.counted(values).for_each(|v| (0..3).for_each(|i| mean[i] += v[i] / n));
        let centred = |v: &[f64; 3]| [v[0] - mean[0], v[1] - mean[1], v[2] - mean[2]];
        let mut covariance = [0.0; 9];
        for v in self.counted(values).map(centred) {
            (0..9).for_each(|k| covariance[k] += v[k / 3] * v[k % 3] / n);
        }
        let axes = principal_axes(&covariance);
        let along = |v: [f64; 3]| axes.map(|axis| axis[0] * v[0] + axis[1] * v[1] + axis[2] * v[2]);
        values.iter().map(|v| along(centred(v))).collect()
    }

    /// In each channel the standard deviation over a pixel and its four neighbours. Border pixels are repeated
    /// outwards; neighbours that do not count are left out.
    fn deviations(&self, values: &[[f64; 3]]) -> Planes {
        let (height, width) = (self.height, self.width);
        let deviation = |p: usize| {
            let (r, c) = (p / width, p % width);
            let around = [
                r.saturating_sub(1) * width + c,
                r * width + c.saturating_sub(1),
                r * width + (c + 1).min(width - 1),
                (r + 1).min(height - 1) * width + c,
            ];
            let around = around.map(|q| self.counts(q).then_some(q));
            let n = 1.0 + around.iter().flatten().count() as f64;
            [0, 1, 2].map(|ch| {
                // Differences from the pixel itself: exactly 0 where nothing varies.
                let differences = around.iter().flatten().map(|&q| values[q][ch] - values[p][ch]);
                let (sum, squares) = differences.fold((0.0, 0.0), |(s, t), d| (s + d, t + d * d));
                ((squares - sum * sum / n) / (n - 1.0).max(1.0)).max(0.0).sqrt()
            })
        };
        (0..height * width).map(deviation).collect()
    }

    fn image(&self, values: &[[f64; 3]]) -> Result<Image> {
        let pixels = values.iter().enumerate().map(|(p, v)| if self.counts(p) { *v } else { [0.0; 3] });
        let data = pixels.flatten().map(|v| v as f32).collect();
        Image::new(self.height, self.width, 3, data)
    }
}

/// The unit eigenvectors of a symmetric 3 × 3 matrix, that of the largest eigenvalue first; the entry of largest
/// magnitude, the first of equals, is positive.
fn principal_axes(covariance: &[f64; 9]) -> [[f64; 3]; 3] {
    let (_, vectors) = symmetric_eigen(covariance, 3);
    [2, 1, 0].map(|k| {
        let axis = [vectors[3 * k], vectors[3 * k + 1], vectors[3 * k + 2]];
        let largest = axis.iter().fold(0.0_f64, |best, &v| if v.abs() > best.abs() { v } else { best });
        axis.map(|v| if largest < 0.0 { -v } else { v })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn noise(height: usize, width: usize, channels: usize) -> Image {
        let mut random = Random::new(7);
        let data = (0..channels * height * width).map(|_| random.uniform() as f32).collect();
        Image::new(height, width, channels, data).unwrap()
    }

    #[test]
    fn axes_are_ordered_orthonormal_and_signed() {
        // Eigenvalues 4, 2, 1 along (1, −1, 0)/√2, (0, 0, 1), (1, 1, 0)/√2.
        let axes = principal_axes(&[2.5, -1.5, 0.0, -1.5, 2.5, 0.0, 0.0, 0.0, 2.0]);
        let half = 0.5_f64.sqrt();
        assert!((axes[0][0].abs() - half).abs() < 1e-14 && (axes[0][0] + axes[0][1]).abs() < 1e-14);
        assert_eq!(axes[1].map(f64::round), [0.0, 0.0, 1.0]);
        assert!(axes[2].iter().take(2).all(|v| (v - half).abs() < 1e-14));
        let largest = principal_axes(&[3.0, 0.1, 0.2, 0.1, 2.0, 0.3, 0.2, 0.3, 1.0]);
        assert!(largest.iter().enumerate().all(|(k, axis)| axis[k] > 0.9));
    }

    #[test]
    fn channels_are_uncorrelated_and_fill_the_unit_interval() {
        for features in features(&noise(20, 30, 3), None).unwrap() {
            let pixels: Vec<&[f32]> = features.data().chunks_exact(3).collect();
            let mean = |f: &dyn Fn(&[f32]) -> f64| pixels.iter().map(|p| f(p)).sum::<f64>() / 600.0;
            let means = [0, 1, 2].map(|ch| mean(&|p| f64::from(p[ch])));
            let moment =
                |i: usize, j: usize| mean(&|p| (f64::from(p[i]) - means[i]) * (f64::from(p[j]) - means[j]));
            for (i, j) in [(0, 1), (0, 2), (1, 2)] {
                assert!(moment(i, j).abs() < 1e-8, "{i} {j}: {}", moment(i, j));
                assert!(moment(i, i) >= moment(j, j));
            }
            let data = features.data();
            assert_eq!(data.iter().copied().fold(f32::INFINITY, f32::min), 0.0);
            assert_eq!(data.iter().copied().fold(0.0, f32::max), 1.0);
        }
    }

    #[test]
    fn deviations_are_those_of_the_five_pixels_with_the_border_repeated() {
        let grid = Grid { height: 2, width: 3, mask: None };
        let values: Planes = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0].map(|v| [v, 0.0, -v]).to_vec();
        let got = grid.deviations(&values);
        let naive = |five: [f64; 5]| {
            let mean = five.iter().sum::<f64>() / 5.0;
            (five.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 4.0).sqrt()
        };
        let expected = [(0, [1.0, 1.0, 1.0, 2.0, 8.0]), (4, [16.0, 2.0, 16.0, 8.0, 32.0])];
        for (p, five) in expected {
            assert!((got[p][0] - naive(five)).abs() < 1e-12 && got[p][1] == 0.0);
            assert!((got[p][2] - got[p][0]).abs() < 1e-12);
        }
    }

    #[test]
    fn gray_is_three_equal_channels() {
        let gray = noise(9, 8, 1);
        let tripled = gray.data().iter().flat_map(|&v| [v; 3]).collect();
        let color = Image::new(9, 8, 3, tripled).unwrap();
        assert_eq!(features(&gray, None).unwrap(), features(&color, None).unwrap());
        let two = Image::new(1, 1, 2, vec![0.0; 2]).unwrap();
        assert!(matches!(features(&two, None), Err(Error::InvalidParameter { name: "channels", .. })));
    }

    #[test]
    fn nothing_varies_in_a_constant_image() {
        for color in [[0.1, 0.7, 0.3], [0.0; 3], [1.0; 3]] {
            for (height, width) in [(1, 1), (1, 7), (6, 5)] {
                let image = Image::new(height, width, 3, color.repeat(height * width)).unwrap();
                let zero = Image::new(height, width, 3, vec![0.0; 3 * height * width]).unwrap();
                assert_eq!(features(&image, None).unwrap(), [zero.clone(), zero]);
            }
        }
    }

    #[test]
    fn pixels_that_do_not_count_change_nothing() {
        let image = noise(8, 9, 3);
        let mask: Vec<bool> = (0..72).map(|p| p % 9 < 7 && p != 20).collect();
        let mut data = image.data().to_vec();
        (0..72).filter(|&p| !mask[p]).for_each(|p| data[3 * p..3 * p + 3].fill(5.0));
        let other = Image::new(8, 9, 3, data).unwrap();
        let masked = features(&image, Some(&mask)).unwrap();
        assert_eq!(masked, features(&other, Some(&mask)).unwrap());
        assert_ne!(masked, features(&image, None).unwrap());
        assert!((0..72).filter(|&p| !mask[p]).all(|p| masked[1].pixel(p) == [0.0; 3]));
        assert_eq!(features(&image, Some(&[true; 72])).unwrap(), features(&image, None).unwrap());
        assert!(features(&image, Some(&mask[1..])).is_err());
        let nothing = features(&image, Some(&[false; 72])).unwrap();
        assert!(nothing.iter().all(|f| f.data().iter().all(|&v| v == 0.0)));
    }
}
