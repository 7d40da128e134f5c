//! The principal coordinates of many channels: a few that show most of how the pixels differ.

use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};

use super::Image;
use crate::{
    error::{Error, Result},
    linalg::{axpy, dense::symmetric_eigen, dot, norm},
    parallel,
    random::Random,
};

/// The most pixels that the axes are found from.
const SAMPLE: usize = 4096;

/// Rounds of subspace iteration; for a picture the axes need not be exact.
const ROUNDS: usize = 12;

/// Columns beyond those wanted.
const SPARE: usize = 5;

/// Each pixel's coordinates along the `count` axes on which the pixels spread most, the mean at 0. Axes point to where
/// their largest entry is positive; where there are fewer channels than that, the last coordinates are 0.
///
/// The axes are those of an even sample of at most 4096 pixels.
///
/// ```
/// use ccbcut::image::{Image, principal::principal};
/// // Five channels that all say the same.
/// let image = Image::new(1, 3, 5, [[1.0; 5], [2.0; 5], [3.0; 5]].concat())?;
/// let coordinates = principal(&image, 2)?;
/// assert!((coordinates.pixel(2)[0] - 5.0_f32.sqrt()).abs() < 1e-5 && coordinates.pixel(2)[1].abs() < 1e-5);
/// # Ok::<(), ccbcut::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidParameter`] for no axis at all.
pub fn principal(image: &Image, count: usize) -> Result<Image> {
    if count == 0 {
        let (name, expected) = ("the number of principal coordinates", "at least 1");
        return Err(Error::InvalidParameter { name, value: 0.0, expected });
    }
    let (n, channels) = (image.n_pixels(), image.channels());
    let every = n.div_ceil(SAMPLE);
    let sample: Vec<usize> = (0..n).step_by(every).collect();
    let mut mean = vec![0.0; channels];
    for &p in &sample {
        mean.iter_mut().zip(image.pixel(p)).for_each(|(m, &v)| *m += f64::from(v) / sample.len() as f64);
    }
    let centred = |p: usize| image.pixel(p).iter().zip(&mean).map(|(&v, m)| f64::from(v) - m);
    let rows: Vec<f64> = sample.iter().flat_map(|&p| centred(p)).collect();
    let axes = axes(&rows, channels, count.min(channels));
    let mut data = vec![0.0_f32; n * count];
    parallel::for_each_chunk(&mut data, count, |p, out| {
        let own: Vec<f64> = centred(p).collect();
        out.iter_mut().zip(axes.chunks_exact(channels)).for_each(|(out, axis)| *out = dot(&own, axis) as f32);
    });
    Image::new(image.height(), image.width(), count, data)
}

/// The longest principal axes of rows about their mean, one after the other, by subspace iteration.
fn axes(rows: &[f64], channels: usize, count: usize) -> Vec<f64> {
    let n = rows.len() / channels;
    let width = (count + SPARE).min(channels);
    let mut random = Random::new(0);
    let mut basis: Vec<f64> = (0..width * channels).map(|_| random.normal()).collect();
    let mut image = vec![0.0; n * width];
    // Rows are the columns of a matrix with a column per pixel.
    let x = MatRef::from_column_major_slice(rows, channels, n);
    let apply = |basis: &[f64], image: &mut [f64]| {
        let v = MatRef::from_column_major_slice(basis, channels, width);
        let y = MatMut::from_column_major_slice_mut(image, n, width);
        matmul(y, Accum::Replace, x.transpose(), v, 1.0, Par::Seq);
    };
    for _ in 0..ROUNDS {
        orthonormalize(&mut basis, channels);
        apply(&basis, &mut image);
        let y = MatRef::from_column_major_slice(&image, n, width);
        let v = MatMut::from_column_major_slice_mut(&mut basis, channels, width);
        matmul(v, Accum::Replace, x, y, 1.0, Par::Seq);
    }
    orthonormalize(&mut basis, channels);
    apply(&basis, &mut image);
    let column = |j: usize| &image[j * n..(j + 1) * n];
    let gram: Vec<f64> = (0..width)
        .flat_map(|i| (0..width).map(move |j| (i, j)))
        .map(|(i, j)| dot(column(i), column(j)))
        .collect();
    let (_, vectors) = symmetric_eigen(&gram, width);
    // Eigenvalues increase: the last are the longest.
    let mut axes = vec![0.0; count * channels];
    for (axis, mix) in axes.chunks_exact_mut(channels).zip(vectors.chunks_exact(width).rev()) {
        for (&m, vector) in mix.iter().zip(basis.chunks_exact(channels)) {
            axpy(m, vector, axis);
        }
        let largest = axis.iter().fold(0.0_f64, |a, &v| if v.abs() > a.abs() { v } else { a });
        if largest < 0.0 {
            axis.iter_mut().for_each(|v| *v = -*v);
        }
    }
    axes
}

/// Gram and Schmidt, twice; columns that nothing is left of become zero.
fn orthonormalize(columns: &mut [f64], n: usize) {
    for k in 0..columns.len() / n {
        let (before, rest) = columns.split_at_mut(k * n);
        let own = &mut rest[..n];
        let length = norm(own);
        for _ in 0..2 {
            before.chunks_exact(n).for_each(|other| axpy(-dot(other, own), other, own));
        }
        let left = norm(own);
        let scale = if left > 1e-12 * length && left > 0.0 { 1.0 / left } else { 0.0 };
        own.iter_mut().for_each(|v| *v *= scale);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_those_of_the_covariance() {
        let mut random = Random::new(1);
        let (n, channels) = (500, 9);
        // Channel c spreads by 9 − c, and channels 0 and 1 are mixed.
        let data: Vec<f32> = (0..n)
            .flat_map(|_| {
                let mut x: Vec<f64> = (0..channels).map(|c| (9 - c) as f64 * random.normal() + 3.0).collect();
                (x[0], x[1]) = (0.8 * x[0] - 0.6 * x[1], 0.6 * x[0] + 0.8 * x[1]);
                x.into_iter().map(|v| v as f32)
            })
            .collect();
        let image = Image::new(20, 25, channels, data).unwrap();
        let found = principal(&image, 3).unwrap();
        let mut mean = vec![0.0; channels];
        (0..n).for_each(|p| {
            mean.iter_mut().zip(image.pixel(p)).for_each(|(m, &v)| *m += f64::from(v) / n as f64);
        });
        let covariance: Vec<f64> = (0..channels * channels)
            .map(|k| {
                let (i, j) = (k / channels, k % channels);
                let part = |p: usize, i: usize| f64::from(image.pixel(p)[i]) - mean[i];
                (0..n).map(|p| part(p, i) * part(p, j)).sum()
            })
            .collect();
        let (values, _) = symmetric_eigen(&covariance, channels);
        for k in 0..3 {
            let energy: f64 = (0..n).map(|p| f64::from(found.pixel(p)[k]).powi(2)).sum();
            let want = values[channels - 1 - k];
            assert!((energy - want).abs() < 1e-3 * want, "{k}: {energy}, not {want}");
        }
        // The same in every run.
        assert_eq!(principal(&image, 3).unwrap(), found);
    }

    #[test]
    fn few_channels_and_flat_images_have_an_answer() {
        let flat = Image::new(2, 3, 4, vec![1.5; 24]).unwrap();
        assert!(principal(&flat, 3).unwrap().data().iter().all(|&v| v == 0.0));
        let gray = Image::new(1, 2, 1, vec![1.0, 3.0]).unwrap();
        assert_eq!(principal(&gray, 3).unwrap().data(), [-1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        assert!(principal(&gray, 0).is_err());
    }
}
