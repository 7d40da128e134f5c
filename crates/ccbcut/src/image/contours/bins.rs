//! Label maps of the cues: lightness and colour in 25 bins, texture in textons.

use crate::{
    error::{Error, Result},
    image::Image,
};

/// Bins of a colour channel.
const COLOR_BINS: usize = 25;

/// Most bins a map may have.
pub(super) const MAX_BINS: usize = 64;

/// The exponent that makes RGB linear here: not the sRGB curve, and part of what the weights were learned with.
const GAMMA: f64 = 2.5;

/// A small number at every pixel: which bin of a histogram the pixel counts in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BinMap {
    height: usize,
    width: usize,
    bins: Vec<u8>,
}

impl BinMap {
    /// Wraps bin numbers, row by row.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] when there is not one per pixel, [`Error::IndexOutOfRange`] for a number of 64 or more.
    pub fn new(height: usize, width: usize, bins: Vec<u8>) -> Result<Self> {
        let expected = height.saturating_mul(width);
        if bins.len() != expected {
            return Err(Error::ShapeMismatch { what: "the map of bins", expected, got: bins.len() });
        }
        if let Some(&bin) = bins.iter().find(|&&bin| usize::from(bin) >= MAX_BINS) {
            return Err(Error::IndexOutOfRange { what: "a bin", index: usize::from(bin), limit: MAX_BINS });
        }
        Ok(Self { height, width, bins })
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The bins, row by row.
    pub fn as_slice(&self) -> &[u8] {
        &self.bins
    }

    /// The largest bin that occurs, plus one: histograms have that many.
    pub fn n_bins(&self) -> usize {
        self.bins.iter().max().map_or(0, |&bin| usize::from(bin) + 1)
    }

    /// The map with `border` more pixels on every side, mirrored with the edge repeated (… 1 0 | 0 1 2 …).
    pub(super) fn mirrored(&self, border: usize) -> Self {
        let rows: Vec<usize> = mirrored_indices(self.height, border).collect();
        let columns: Vec<usize> = mirrored_indices(self.width, border).collect();
        let row = |r: &usize| {
            let row = &self.bins[r * self.width..(r + 1) * self.width];
            columns.iter().map(|&c| row[c]).collect::<Vec<u8>>()
        };
        let bins = rows.iter().flat_map(row).collect();
        Self { height: rows.len(), width: columns.len(), bins }
    }
}

/// The indices −border, …, len + border − 1 folded back into 0..len, edges repeated, as often as it takes.
pub(super) fn mirrored_indices(len: usize, border: usize) -> impl Iterator<Item = usize> {
    let period = 2 * len as isize;
    (-(border as isize)..(len + border) as isize).map(move |i| {
        let folded = i.rem_euclid(period);
        folded.min(period - 1 - folded) as usize
    })
}

/// Lightness, green–red and blue–yellow, each in 25 bins.
pub(super) fn color_bins(image: &Image) -> Result<[BinMap; 3]> {
    let (height, width) = (image.height(), image.width());
    let mut maps = [(); 3].map(|()| Vec::with_capacity(height * width));
    for pixel in image.data().chunks_exact(image.channels()) {
        let values = scaled_lab(rgb(pixel));
        maps.iter_mut().zip(values).for_each(|(map, value)| map.push(bin(value)));
    }
    let [l, a, b] = maps.map(|bins| BinMap::new(height, width, bins));
    Ok([l?, a?, b?])
}

/// The three channels of a pixel in 64 bits; 8-bit values divided by 255 are so divided again, without the rounding
/// to 32 bits, which could move a pixel from one bin to the next.
pub(super) fn rgb(pixel: &[f32]) -> [f64; 3] {
    let exact = |v: f32| {
        let code = (v * 255.0).round();
        f64::from(if code / 255.0 == v { code } else { return f64::from(v) }) / 255.0
    };
    match *pixel {
        [r, g, b, ..] => [r, g, b].map(exact),
        [v, ..] => [exact(v); 3],
        [] => [0.0; 3],
    }
}

fn bin(value: f64) -> u8 {
    ((COLOR_BINS as f64 * value) as usize).min(COLOR_BINS - 1) as u8
}

/// L*/100, (a* + 73)/168 and (b* + 73)/168, clamped to [0, 1].
fn scaled_lab(rgb: [f64; 3]) -> [f64; 3] {
    let [r, g, b] = rgb.map(|v| v.clamp(0.0, 1.0).powf(GAMMA));
    let x = (0.412_453 * r + 0.357_580 * g + 0.180_423 * b) / 0.950_456;
    let y = 0.212_671 * r + 0.715_160 * g + 0.072_169 * b;
    let z = (0.019_334 * r + 0.119_193 * g + 0.950_227 * b) / 1.088_754;
    let is_bright = |t: f64| t > 0.008_856;
    let f = |t: f64| if is_bright(t) { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
    let l = if is_bright(y) { 116.0 * y.cbrt() - 16.0 } else { 903.3 * y };
    let (a, b) = (500.0 * (f(x) - f(y)), 200.0 * (f(y) - f(z)));
    [l / 100.0, (a + 73.0) / 168.0, (b + 73.0) / 168.0].map(|v| v.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrors_repeat_the_edge_and_fold_as_often_as_it_takes() {
        let folded: Vec<usize> = mirrored_indices(3, 2).collect();
        assert_eq!(folded, [1, 0, 0, 1, 2, 2, 1]);
        let tiny: Vec<usize> = mirrored_indices(2, 5).collect();
        assert_eq!(tiny, [0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1]);
        assert!(mirrored_indices(1, 30).all(|i| i == 0));
    }

    #[test]
    fn white_is_bright_and_without_colour() {
        let image = Image::new(1, 3, 3, vec![1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]).unwrap();
        let [l, a, b] = color_bins(&image).unwrap();
        // a* = b* = 0 lies at 73/168 of the range: bin 10.
        assert_eq!((l.as_slice()[..2].to_vec(), a.as_slice()[0], b.as_slice()[0]), (vec![24, 0], 10, 10));
        assert!(a.as_slice()[2] > 20, "red");
        assert_eq!(l.n_bins(), 25);
    }

    #[test]
    fn bins_of_the_wrong_number_or_size_are_refused() {
        assert!(matches!(
            BinMap::new(2, 2, vec![0; 3]),
            Err(Error::ShapeMismatch { expected: 4, got: 3, .. })
        ));
        assert!(matches!(BinMap::new(1, 1, vec![64]), Err(Error::IndexOutOfRange { index: 64, .. })));
    }
}
