//! Textons: pixels named after the kind of texture around them.
//!
//! Every pixel gets the responses of the 34 filters to the gray image, true convolutions with the image mirrored at its
//! border; k-means of a tenth of the pixels gives 64 centres, and each pixel is named after the nearest.

use crate::{
    error::Result,
    image::Image,
    kmeans::{KMeans, Seeding},
    parallel,
    random::Random,
    simd,
};

use super::{
    bins::{BinMap, MAX_BINS, mirrored_indices, rgb},
    filters::{Filter, bank},
};

/// Steps of k-means.
const STEPS: usize = 10;

/// One pixel in so many takes part in the clustering.
const SAMPLE: usize = 10;

/// Fewest pixels of the sample, where there are as many.
const LEAST_SAMPLE: usize = 4096;

/// Pixels per block of the naming.
const BLOCK: usize = 2048;

/// The textons of an image; the sample and the first centres are drawn by the seed.
pub(super) fn textons(image: &Image, seed: u64) -> Result<BinMap> {
    let gray = Gray::new(image);
    let responses = gray.responses();
    let centers = centers(&responses, seed)?;
    BinMap::new(image.height(), image.width(), nearest(&responses, &centers))
}

/// The gray image, mirrored as far as the largest filter reaches.
struct Gray {
    height: usize,
    width: usize,
    border: usize,
    values: Vec<f32>,
    bank: [Vec<Filter>; 2],
}

/// The filters' responses: `features` numbers for each pixel.
struct Responses {
    features: usize,
    values: Vec<f32>,
}

impl Gray {
    fn new(image: &Image) -> Self {
        let bank = bank();
        let border = bank.iter().flatten().map(|filter| filter.radius).max().unwrap_or(0);
        let (height, width) = (image.height(), image.width());
        let gray = |p: usize| {
            let [r, g, b] = rgb(image.pixel(p));
            (0.298_94 * r + 0.587_04 * g + 0.114_02 * b) as f32
        };
        let columns: Vec<usize> = mirrored_indices(width, border).collect();
        let rows = mirrored_indices(height, border);
        let values = rows.flat_map(|r| columns.iter().map(move |c| r * width + c)).map(gray).collect();
        Self { height, width, border, values, bank }
    }

    /// Filters are even or odd, so the sums and differences of the pixels on either side of the centre serve them all.
    fn responses(&self) -> Responses {
        let (width, stride) = (self.width, self.width + 2 * self.border);
        let features = self.bank.iter().map(Vec::len).sum();
        let mut values = vec![0.0_f32; self.height * width * features];
        parallel::for_each_chunk(&mut values, width * features, |row, out| {
            let mut planes = vec![0.0_f32; features * width];
            let mut pair = [vec![0.0_f32; width], vec![0.0_f32; width]];
            let center = (row + self.border) * stride + self.border;
            let mut first = 0;
            for filters in &self.bank {
                let radius = filters[0].radius;
                let size = 2 * radius + 1;
                let middle = size * size / 2;
                for tap in 0..=middle {
                    let (u, v) = (tap / size, tap % size);
                    // Convolution: the tap at (u, v) from the centre meets the pixel at (−u, −v).
                    let ahead = center + (radius * stride + radius) - (u * stride + v);
                    let behind = center + (u * stride + v) - (radius * stride + radius);
                    let (ahead, behind) = (&self.values[ahead..][..width], &self.values[behind..][..width]);
                    let share = if tap == middle { 0.5 } else { 1.0 };
                    let planes = &mut planes[first * width..][..filters.len() * width];
                    simd::widest(Pass { ahead, behind, share, tap, filters, planes, pair: &mut pair });
                }
                first += filters.len();
            }
            for (c, pixel) in out.chunks_exact_mut(features).enumerate() {
                pixel.iter_mut().enumerate().for_each(|(f, value)| *value = planes[f * width + c]);
            }
        });
        Responses { features, values }
    }
}

/// One tap of all filters of a size, for a row of pixels.
struct Pass<'a> {
    ahead: &'a [f32],
    behind: &'a [f32],
    share: f32,
    tap: usize,
    filters: &'a [Filter],
    planes: &'a mut [f32],
    /// Room for the sums and differences.
    pair: &'a mut [Vec<f32>; 2],
}

impl pulp::NullaryFnOnce for Pass<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let width = self.ahead.len();
        let (ahead, behind) = (&self.ahead[..width], &self.behind[..width]);
        let [sum, difference] = self.pair;
        let (sum, difference) = (&mut sum[..width], &mut difference[..width]);
        for c in 0..width {
            sum[c] = (ahead[c] + behind[c]) * self.share;
            difference[c] = (ahead[c] - behind[c]) * self.share;
        }
        for (plane, filter) in self.planes.chunks_exact_mut(width).zip(self.filters) {
            let tap = filter.taps[self.tap] as f32;
            let from: &[f32] = if filter.is_odd { difference } else { sum };
            plane.iter_mut().zip(from).for_each(|(sum, v)| *sum += tap * v);
        }
    }
}

impl Responses {
    fn n_pixels(&self) -> usize {
        self.values.len() / self.features
    }

    fn pixel(&self, p: usize) -> &[f32] {
        &self.values[p * self.features..(p + 1) * self.features]
    }
}

/// The centres of k-means over a sample, one after the other.
fn centers(responses: &Responses, seed: u64) -> Result<Vec<f64>> {
    let n = responses.n_pixels();
    let n_sample = n.div_ceil(SAMPLE).max(LEAST_SAMPLE).min(n);
    // The first entries of a random order.
    let mut random = Random::new(seed);
    let mut order: Vec<usize> = (0..n).collect();
    for i in 0..n_sample {
        order.swap(i, i + random.below(n - i));
    }
    let sample: Vec<f64> =
        order[..n_sample].iter().flat_map(|&p| responses.pixel(p)).map(|&v| f64::from(v)).collect();
    let kmeans = KMeans::new(MAX_BINS.min(n_sample)).n_init(1).max_iterations(STEPS).seed(seed);
    let fit = kmeans.seeding(Seeding::All).fit(&sample, n_sample, responses.features, None)?;
    Ok(fit.centers)
}

/// The nearest centre of each pixel, the first on ties.
fn nearest(responses: &Responses, centers: &[f64]) -> Vec<u8> {
    let features = responses.features;
    let n_centers = centers.len() / features;
    // Coordinate by coordinate, so that all centres are met at once; what is left over stays infinitely far.
    let mut columns = vec![[f32::MAX.sqrt() / 8.0; MAX_BINS]; features];
    for (k, center) in centers.chunks_exact(features).enumerate() {
        center.iter().enumerate().for_each(|(f, &v)| columns[f][k] = v as f32);
    }
    let mut names = vec![0_u8; responses.n_pixels()];
    parallel::for_each_chunk(&mut names, BLOCK, |block, part| {
        let pixels = &responses.values[block * BLOCK * features..][..part.len() * features];
        simd::widest(Nearest { pixels, features, columns: &columns, n_centers, names: part });
    });
    names
}

/// The names of some pixels.
struct Nearest<'a> {
    pixels: &'a [f32],
    features: usize,
    columns: &'a [[f32; MAX_BINS]],
    n_centers: usize,
    names: &'a mut [u8],
}

impl pulp::NullaryFnOnce for Nearest<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (pixel, name) in self.pixels.chunks_exact(self.features).zip(self.names) {
            let mut squared = [0.0_f32; MAX_BINS];
            for (&value, column) in pixel.iter().zip(self.columns) {
                for k in 0..MAX_BINS {
                    squared[k] += (value - column[k]) * (value - column[k]);
                }
            }
            let mut best = 0;
            for k in 1..self.n_centers {
                if squared[k] < squared[best] {
                    best = k;
                }
            }
            *name = best as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(height: usize, width: usize) -> Image {
        let mut random = Random::new(3);
        let data = (0..height * width * 3).map(|_| random.uniform() as f32).collect();
        Image::new(height, width, 3, data).unwrap()
    }

    #[test]
    fn responses_are_convolutions_with_the_mirrored_image() {
        let (height, width) = (7, 12);
        let image = noise(height, width);
        let gray = Gray::new(&image);
        let responses = gray.responses();
        let fold = |i: isize, n: usize| mirrored_indices(n, 40).nth((i + 40) as usize).unwrap();
        let value = |r: isize, c: isize| {
            let pixel = image.pixel(fold(r, height) * width + fold(c, width));
            0.298_94 * f64::from(pixel[0]) + 0.587_04 * f64::from(pixel[1]) + 0.114_02 * f64::from(pixel[2])
        };
        for (f, filter) in gray.bank.iter().flatten().enumerate() {
            let (k, size) = (filter.radius as isize, 2 * filter.radius + 1);
            for (r, c) in [(0, 0), (3, 5), (6, 11), (6, 0)] {
                let mut want = 0.0;
                for (i, tap) in filter.taps.iter().enumerate() {
                    let (u, v) = ((i / size) as isize - k, (i % size) as isize - k);
                    want += tap * value(r as isize - u, c as isize - v);
                }
                let got = f64::from(responses.pixel(r * width + c)[f]);
                assert!((got - want).abs() < 1e-6, "filter {f} at ({r}, {c}): {got}, not {want}");
            }
        }
    }

    #[test]
    fn every_pixel_is_named_after_its_nearest_centre() {
        let image = noise(40, 50);
        let responses = Gray::new(&image).responses();
        let centers = centers(&responses, 0).unwrap();
        let names = nearest(&responses, &centers);
        let squared = |p: usize, k: usize| -> f64 {
            let center = &centers[k * responses.features..][..responses.features];
            responses.pixel(p).iter().zip(center).map(|(a, b)| (f64::from(*a) - b).powi(2)).sum()
        };
        for (p, &name) in names.iter().enumerate() {
            let least = (0..64).map(|k| squared(p, k)).fold(f64::INFINITY, f64::min);
            assert!(squared(p, usize::from(name)) <= least * (1.0 + 1e-4) + 1e-9);
        }
        assert!(names.iter().collect::<std::collections::BTreeSet<_>>().len() > 50);
    }

    #[test]
    fn flat_and_tiny_images_have_textons() {
        let flat = Image::new(20, 30, 1, vec![0.4; 600]).unwrap();
        let map = textons(&flat, 0).unwrap();
        assert!(map.as_slice().iter().all(|&t| t == map.as_slice()[0]));
        let one = Image::new(1, 1, 1, vec![0.4]).unwrap();
        assert_eq!(textons(&one, 0).unwrap().as_slice(), [0]);
    }
}
