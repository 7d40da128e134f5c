//! sRGB → CIE L*a*b*: colours in which Euclidean distance follows what the eye sees.
//!
//! Each channel is first made linear by the sRGB curve, c = v/12.92 for v ≤ 0.04045 and ((v + 0.055)/1.055)^2.4
//! above. A matrix takes linear RGB to XYZ, and with f(t) = t^⅓ for t > (6/29)³, (24389/27 t + 16)/116 below:
//!
//! L* = 116 f(Y/Yₙ) − 16, a* = 500 (f(X/Xₙ) − f(Y/Yₙ)), b* = 200 (f(Y/Yₙ) − f(Z/Zₙ)).
//!
//! # References
//! IEC 61966-2-1 for the curve and the primaries; CIE 15:2004 for L*a*b*; the matrix for D50 is the one for D65
//! adapted by Bradford's method, as tabulated by B. Lindbloom.

use crate::{
    error::{Error, Result},
    parallel,
};

use super::Image;

/// Pixels per block of the parallel conversion.
const BLOCK: usize = 4096;

/// The light that counts as white: (Xₙ, Yₙ, Zₙ).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhitePoint {
    /// The white of sRGB itself.
    #[default]
    D65,
    /// The white of colour profiles, reached by Bradford's adaptation.
    D50,
}

impl WhitePoint {
    /// Linear RGB → XYZ. The rows add up to the white point, so the matrix is the only constant.
    fn matrix(self) -> [[f64; 3]; 3] {
        match self {
            Self::D65 => [
                [0.412_456_4, 0.357_576_1, 0.180_437_5],
                [0.212_672_9, 0.715_152_2, 0.072_175_0],
                [0.019_333_9, 0.119_192_0, 0.950_304_1],
            ],
            Self::D50 => [
                [0.436_074_7, 0.385_064_9, 0.143_080_4],
                [0.222_504_5, 0.716_878_6, 0.060_616_9],
                [0.013_932_2, 0.097_104_5, 0.714_173_3],
            ],
        }
    }

    /// Linear RGB → (X/Xₙ, Y/Yₙ, Z/Zₙ): the matrix with rows that add up to 1.
    fn relative_matrix(self) -> [[f64; 3]; 3] {
        self.matrix().map(|row| row.map(|m| m / row.iter().sum::<f64>()))
    }
}

/// The image in L*a*b*: three channels, L* in 0..100, a* and b* about −110..110.
///
/// Values are taken as sRGB in [0, 1] and not clamped. One channel is gray, which has a* = b* = 0 exactly; so has
/// every pixel with r = g = b.
///
/// ```
/// use ccbcut::image::{Image, color::{WhitePoint, to_lab}};
/// let red = Image::new(1, 1, 3, vec![1.0, 0.0, 0.0])?;
/// let lab = to_lab(&red, WhitePoint::D65)?;
/// assert!((lab.data()[0] - 53.24).abs() < 0.01);
/// # Ok::<(), ccbcut::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidParameter`] for an image with other than 1 or 3 channels.
///
/// # Complexity
/// O(pixels) time, three powers and three cube roots each.
pub fn to_lab(image: &Image, white: WhitePoint) -> Result<Image> {
    let channels = image.channels();
    if channels != 1 && channels != 3 {
        let value = channels as f64;
        return Err(Error::InvalidParameter { name: "channels", value, expected: "1 (gray) or 3 (sRGB)" });
    }
    let matrix = white.relative_matrix();
    let linear = Linear::new();
    let mut lab = vec![0.0_f32; 3 * image.n_pixels()];
    parallel::for_each_chunk(&mut lab, 3 * BLOCK, |block, part| {
        for (k, out) in part.chunks_exact_mut(3).enumerate() {
            let pixel = image.pixel(block * BLOCK + k);
            out.copy_from_slice(&match *pixel {
                [r, g, b] if r != g || g != b => lab_of_color(&matrix, [r, g, b].map(|v| linear.of(v))),
                [v, ..] => [lightness(linear.of(v)), 0.0, 0.0],
                [] => [0.0; 3],
            });
        }
    });
    Image::new(image.height(), image.width(), 3, lab)
}

/// Linear RGB to L*a*b*.
fn lab_of_color(matrix: &[[f64; 3]; 3], rgb: [f64; 3]) -> [f32; 3] {
    let [x, y, z] = matrix.map(|row| row[0] * rgb[0] + row[1] * rgb[1] + row[2] * rgb[2]);
    let (fx, fy, fz) = (compressed(x), compressed(y), compressed(z));
    [lightness(y), (500.0 * (fx - fy)) as f32, (200.0 * (fy - fz)) as f32]
}

fn lightness(y: f64) -> f32 {
    (116.0 * compressed(y) - 16.0) as f32
}

/// The sRGB curve undone, with the values of 8-bit images at hand.
struct Linear([f64; 256]);

impl Linear {
    fn new() -> Self {
        Self(std::array::from_fn(|code| linear(code as f32 / 255.0)))
    }

    fn of(&self, value: f32) -> f64 {
        let code = (value * 255.0).round();
        // Above the range the code is cut off at 255, and nothing equals it.
        if f32::from(code as u8) / 255.0 == value { self.0[usize::from(code as u8)] } else { linear(value) }
    }
}

/// The sRGB curve undone.
fn linear(value: f32) -> f64 {
    let v = f64::from(value);
    if v <= 0.040_45 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
}

/// f(t) of L*a*b*.
fn compressed(t: f64) -> f64 {
    if t > 216.0 / 24_389.0 { cube_root(t) } else { (24_389.0 / 27.0 * t + 16.0) / 116.0 }
}

/// t^⅓ for t > 0, with a relative error of at most 10⁻¹³: two of Halley's steps from a third of the exponent.
fn cube_root(t: f64) -> f64 {
    let mut x = f64::from_bits(t.to_bits() / 3 + (715_094_163 << 32));
    for _ in 0..2 {
        let cube = x * x * x;
        x *= (cube + 2.0 * t) / (2.0 * cube + t);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cube_root_is_the_library_s() {
        for k in 0..200_000 {
            let t = 0.008 * 1.00005_f64.powi(k);
            assert!((cube_root(t) / t.cbrt() - 1.0).abs() < 1e-13, "{t}");
        }
    }

    #[test]
    fn codes_of_8_bits_and_all_other_values_follow_the_same_curve() {
        let table = Linear::new();
        let codes = (0..=255).map(|code| code as f32 / 255.0);
        for value in codes.chain([-0.5, -0.0, 0.123_45, 0.999_999, 1.000_001, 2.0, 300.0, f32::MAX]) {
            assert_eq!(table.of(value), linear(value), "{value}");
        }
    }

    fn check(white: WhitePoint, rgb: [f32; 3], expected: [f32; 3]) {
        let image = Image::new(1, 1, 3, rgb.to_vec()).unwrap();
        let lab = to_lab(&image, white).unwrap();
        for (got, want) in lab.data().iter().zip(expected) {
            assert!((got - want).abs() < 1e-3, "{white:?} {rgb:?}: {:?}, not {expected:?}", lab.data());
        }
    }

    #[test]
    fn known_colors_under_the_white_of_srgb() {
        check(WhitePoint::D65, [1.0, 1.0, 1.0], [100.0, 0.0, 0.0]);
        check(WhitePoint::D65, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]);
        check(WhitePoint::D65, [0.5, 0.5, 0.5], [53.3890, 0.0, 0.0]);
        check(WhitePoint::D65, [1.0, 0.0, 0.0], [53.2408, 80.0925, 67.2032]);
        check(WhitePoint::D65, [0.0, 1.0, 0.0], [87.7347, -86.1827, 83.1793]);
        check(WhitePoint::D65, [0.0, 0.0, 1.0], [32.2970, 79.1875, -107.8602]);
    }

    #[test]
    fn known_colors_under_the_white_of_profiles() {
        check(WhitePoint::D50, [1.0, 1.0, 1.0], [100.0, 0.0, 0.0]);
        check(WhitePoint::D50, [0.5, 0.5, 0.5], [53.3890, 0.0, 0.0]);
        check(WhitePoint::D50, [1.0, 0.0, 0.0], [54.2917, 80.8125, 69.8851]);
        check(WhitePoint::D50, [0.0, 1.0, 0.0], [87.8181, -79.2873, 80.9902]);
        check(WhitePoint::D50, [0.0, 0.0, 1.0], [29.5676, 68.2986, -112.0294]);
    }

    #[test]
    fn the_dark_end_is_linear() {
        check(WhitePoint::D65, [0.02, 0.01, 0.03], [0.9488, 1.3760, -1.6952]);
    }

    #[test]
    fn gray_has_no_color_at_all() {
        let ramp: Vec<f32> = (0..256).map(|v| v as f32 / 255.0).collect();
        let tripled = ramp.iter().flat_map(|&v| [v; 3]).collect();
        let gray = to_lab(&Image::new(16, 16, 1, ramp).unwrap(), WhitePoint::D50).unwrap();
        let color = to_lab(&Image::new(16, 16, 3, tripled).unwrap(), WhitePoint::D50).unwrap();
        assert_eq!(gray, color);
        assert!(gray.data().chunks_exact(3).all(|lab| lab[1] == 0.0 && lab[2] == 0.0));
        assert!(gray.data().chunks_exact(3).is_sorted_by_key(|lab| lab[0]));
    }

    #[test]
    fn two_channels_are_no_color() {
        let image = Image::new(1, 1, 2, vec![0.0; 2]).unwrap();
        let error = to_lab(&image, WhitePoint::D65).unwrap_err();
        assert!(matches!(error, Error::InvalidParameter { name: "channels", value: 2.0, .. }));
    }
}
