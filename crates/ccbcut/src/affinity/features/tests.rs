use super::*;
use crate::{affinity::Neighborhood, random::Random};

const KERNELS: [FeatureKernel; 6] = [
    FeatureKernel::Cosine,
    FeatureKernel::Threshold { threshold: 0.2 },
    FeatureKernel::Exponential { bandwidth: Bandwidth::Fixed(0.7) },
    FeatureKernel::Exponential { bandwidth: Bandwidth::Median(0.5) },
    FeatureKernel::Rbf { bandwidth: Bandwidth::Fixed(1.5) },
    FeatureKernel::Rbf { bandwidth: Bandwidth::Median(1.0) },
];

fn noise(height: usize, width: usize, channels: usize) -> Image {
    let mut random = Random::new(3);
    let data = (0..channels * height * width).map(|_| random.normal() as f32).collect();
    Image::new(height, width, channels, data).unwrap()
}

fn cosine(x: &[f32], y: &[f32]) -> f64 {
    let dot = |x: &[f32], y: &[f32]| -> f64 { x.iter().zip(y).map(|(a, b)| f64::from(a * b)).sum() };
    dot(x, y) / (dot(x, x) * dot(y, y)).sqrt()
}

fn squared(x: &[f32], y: &[f32]) -> f64 {
    x.iter().zip(y).map(|(a, b)| f64::from(a - b).powi(2)).sum()
}

/// The formula of a kernel.
fn formula(kernel: FeatureKernel, width: f64, x: &[f32], y: &[f32]) -> f64 {
    match kernel {
        FeatureKernel::Cosine => cosine(x, y).max(0.0),
        FeatureKernel::Threshold { threshold } => {
            if cosine(x, y) > threshold {
                1.0
            } else {
                1e-5
            }
        }
        FeatureKernel::Exponential { .. } => ((cosine(x, y) - 1.0) / width).exp(),
        FeatureKernel::Rbf { .. } => (-squared(x, y) / (width * width)).exp(),
    }
}

/// Compares every weight of a graph with what `tied` and the formula say.
fn assert_weights(
    affinity: FeatureAffinity,
    image: &Image,
    mask: Option<&[bool]>,
    tied: impl Fn(usize, usize) -> bool,
) {
    let graph = affinity.graph_masked(image, mask).unwrap();
    let width = affinity.bandwidth(image, mask).unwrap().unwrap_or(f64::NAN);
    let n = image.n_pixels();
    for i in 0..n {
        let mut row = vec![0.0; n];
        graph.for_each_neighbor(i, |j, w| row[j] = w);
        for (j, &got) in row.iter().enumerate() {
            let counts = mask.is_none_or(|mask| mask[i] && mask[j]) && i != j && tied(i, j);
            let want =
                if counts { formula(affinity.kernel, width, image.pixel(i), image.pixel(j)) } else { 0.0 };
            assert!((got - want).abs() <= 1e-5 * want + 1e-6, "{affinity:?} ({i}, {j}): {got}, not {want}");
        }
    }
}

#[test]
fn weights_of_neighbors_follow_the_formula() {
    for channels in [1, 2, 5, 16] {
        let image = noise(5, 7, channels);
        let mask: Vec<bool> = (0..35).map(|p| p % 6 != 1).collect();
        for kernel in KERNELS.into_iter().filter(|kernel| channels > 1 || !kernel.is_angular()) {
            let affinity =
                FeatureAffinity::new(kernel).neighbors(FeatureNeighbors::Local(Neighborhood::new(2.0)));
            let close = |i: usize, j: usize| {
                ((i / 7) as f64 - (j / 7) as f64).hypot((i % 7) as f64 - (j % 7) as f64) <= 2.0
            };
            assert_weights(affinity, &image, None, close);
            assert_weights(affinity, &image, Some(&mask), close);
        }
    }
}

#[test]
fn weights_of_all_pairs_follow_the_formula() {
    // More than two blocks, the last of them short.
    let image = noise(10, 14, 6);
    let mask: Vec<bool> = (0..140).map(|p| p % 9 != 4).collect();
    for kernel in KERNELS {
        let affinity = FeatureAffinity::new(kernel).neighbors(FeatureNeighbors::All);
        assert_weights(affinity, &image, None, |_, _| true);
        assert_weights(affinity, &image, Some(&mask), |_, _| true);
    }
}

/// The nearest neighbours of each token, by sorting all.
fn nearest(kernel: FeatureKernel, image: &Image, count: usize) -> Vec<Vec<usize>> {
    let n = image.n_pixels();
    let far = |i: usize, j: usize| {
        let (x, y) = (image.pixel(i), image.pixel(j));
        if kernel.is_angular() { -cosine(x, y) } else { squared(x, y) }
    };
    let list = |i: usize| {
        let mut others: Vec<usize> = (0..n).filter(|&j| j != i).collect();
        others.sort_by(|&a, &b| far(i, a).total_cmp(&far(i, b)));
        others.truncate(count);
        others
    };
    (0..n).map(list).collect()
}

#[test]
fn the_nearest_are_those_of_a_full_sort() {
    let image = noise(9, 15, 4);
    for kernel in KERNELS {
        let lists = nearest(kernel, &image, 6);
        for mutual in [false, true] {
            let neighbors = FeatureNeighbors::Nearest { count: 6, mutual };
            let affinity = FeatureAffinity::new(kernel).neighbors(neighbors);
            assert_weights(affinity, &image, None, |i, j| {
                let (there, back) = (lists[i].contains(&j), lists[j].contains(&i));
                if mutual { there && back } else { there || back }
            });
        }
    }
}

#[test]
fn of_equal_tokens_the_first_are_nearest() {
    let image = Image::new(1, 70, 2, [3.0, 4.0].repeat(70)).unwrap();
    for kernel in [KERNELS[0], KERNELS[4]] {
        let neighbors = FeatureNeighbors::Nearest { count: 2, mutual: false };
        let graph = FeatureAffinity::new(kernel).neighbors(neighbors).graph(&image).unwrap();
        // Everybody picks 0 and 1; those pick each other and 2.
        assert_eq!(graph.n_edges(), 1 + 2 * 68);
        let mut row = Vec::new();
        graph.for_each_neighbor(69, |j, w| row.push((j, w)));
        assert!(row.iter().map(|&(j, _)| j).eq([0, 1]) && row.iter().all(|(_, w)| (w - 1.0).abs() < 1e-12));
        // Asking for more than there are is asking for all.
        let all = FeatureNeighbors::Nearest { count: 1000, mutual: true };
        let graph = FeatureAffinity::new(kernel).neighbors(all).graph(&image).unwrap();
        assert_eq!(graph.n_edges(), 70 * 69 / 2);
    }
}

#[test]
fn a_vector_of_zeros_is_tied_to_nothing_by_its_cosine() {
    let mut data = noise(3, 4, 3).data().to_vec();
    data[9..12].fill(0.0);
    let image = Image::new(3, 4, 3, data).unwrap();
    for neighbors in [
        FeatureNeighbors::Local(Neighborhood::new(1.5)),
        FeatureNeighbors::All,
        FeatureNeighbors::Nearest { count: 3, mutual: false },
    ] {
        for kernel in KERNELS {
            let graph = FeatureAffinity::new(kernel).neighbors(neighbors).graph(&image).unwrap();
            let tied = graph.n_neighbors(3) > 0;
            assert_eq!(tied, !kernel.is_angular(), "{kernel:?} {neighbors:?}");
            assert!(graph.degrees().iter().all(|d| d.is_finite()));
        }
    }
}

#[test]
fn large_values_and_far_means_lose_no_digits() {
    let image = noise(4, 5, 3);
    let shifted: Vec<f32> = image.data().iter().map(|v| 1000.0 + (v * 64.0).round() / 64.0).collect();
    let shifted = Image::new(4, 5, 3, shifted).unwrap();
    let kernel = FeatureKernel::Rbf { bandwidth: Bandwidth::Fixed(0.5) };
    assert_weights(FeatureAffinity::new(kernel).neighbors(FeatureNeighbors::All), &shifted, None, |_, _| {
        true
    });
    let huge = Image::new(1, 3, 2, vec![1e38, 0.0, 1e38, 1e38, 1e-38, 0.0]).unwrap();
    let graph =
        FeatureAffinity::new(FeatureKernel::Cosine).neighbors(FeatureNeighbors::All).graph(&huge).unwrap();
    let half = std::f64::consts::FRAC_1_SQRT_2;
    assert!((graph.degrees()[0] - 1.0 - half).abs() < 1e-6, "{:?}", graph.degrees());
}

#[test]
fn the_median_is_that_of_the_pairs_that_may_be_tied() {
    let image = noise(6, 8, 3);
    let kernel = FeatureKernel::Rbf { bandwidth: Bandwidth::Median(2.0) };
    let affinity = FeatureAffinity::new(kernel).neighbors(FeatureNeighbors::All);
    let mask: Vec<bool> = (0..48).map(|p| p > 10).collect();
    let mut all = Vec::new();
    for (i, j) in (11..48).flat_map(|i| (i + 1..48).map(move |j| (i, j))) {
        all.push(squared(image.pixel(i), image.pixel(j)).sqrt());
    }
    all.sort_by(f64::total_cmp);
    let width = affinity.bandwidth(&image, Some(&mask)).unwrap().unwrap();
    assert!((width - 2.0 * all[all.len() / 2]).abs() < 1e-6);
    // Mostly equal values: the median of those that differ; only equal ones: 1.
    let mut data = vec![0.0; 48];
    data[0] = 3.0;
    let spike = Image::new(6, 8, 1, data).unwrap();
    assert_eq!(affinity.bandwidth(&spike, None).unwrap(), Some(6.0));
    let flat = Image::new(6, 8, 1, vec![2.0; 48]).unwrap();
    assert_eq!(affinity.bandwidth(&flat, None).unwrap(), Some(2.0));
    let local = FeatureAffinity::new(kernel);
    assert_eq!(local.bandwidth(&Image::new(1, 2, 1, vec![0.0, 4.0]).unwrap(), None).unwrap(), Some(8.0));
    assert_eq!(local.bandwidth(&Image::new(1, 1, 1, vec![0.0]).unwrap(), None).unwrap(), Some(2.0));
    assert_eq!(FeatureAffinity::new(FeatureKernel::Cosine).bandwidth(&image, None).unwrap(), None);
}

#[test]
fn what_has_no_meaning_is_an_error() {
    let image = noise(3, 3, 2);
    let fails =
        |kernel, neighbors, name: &str| match FeatureAffinity::new(kernel).neighbors(neighbors).graph(&image)
        {
            Err(Error::InvalidParameter { name: got, .. }) => assert_eq!(got, name),
            other => panic!("{name}: {other:?}"),
        };
    let all = FeatureNeighbors::All;
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        fails(FeatureKernel::Rbf { bandwidth: Bandwidth::Fixed(value) }, all, "bandwidth");
        let bandwidth = Bandwidth::Median(value);
        fails(FeatureKernel::Exponential { bandwidth }, all, "the bandwidth in medians");
    }
    for threshold in [1.0, -1.5, f64::NAN] {
        fails(FeatureKernel::Threshold { threshold }, all, "threshold");
    }
    let none = FeatureNeighbors::Nearest { count: 0, mutual: false };
    fails(FeatureKernel::Cosine, none, "the number of nearest neighbours");
    fails(FeatureKernel::Cosine, FeatureNeighbors::Local(Neighborhood::new(0.5)), "radius");
    let one = FeatureAffinity::new(FeatureKernel::Cosine).graph(&noise(3, 3, 1)).unwrap_err();
    assert!(one.to_string().contains("rbf"), "{one}");
    assert!(FeatureAffinity::new(FeatureKernel::Cosine).graph_masked(&image, Some(&[true])).is_err());
    // 32,000 tokens would be a billion entries.
    let many = noise(160, 200, 2);
    let graph = FeatureAffinity::new(FeatureKernel::Cosine).neighbors(all).graph(&many);
    assert!(matches!(graph, Err(Error::TooLarge { .. })));
}
