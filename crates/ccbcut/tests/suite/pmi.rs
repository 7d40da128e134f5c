//! The affinity of pointwise mutual information against stored results: densities given the stored kernels by the
//! direct sum, and the feature maps of one image.

use std::path::Path;

use crate::support::{Archive, golden_dir, read_npy, read_npz};
use ccbcut::{
    Image,
    affinity::{
        Affinity, Neighborhood, PmiAffinity, PmiBandwidth, PmiEvaluation,
        pmi::{PmiModel, PmiOrdering, features},
    },
    random::Random,
};

const IMAGES: [&str; 3] = ["100075", "118035", "12003"];

fn triples(archive: &Archive, name: &str) -> Vec<[f64; 3]> {
    archive.array(name).values.chunks_exact(3).map(|v| [v[0], v[1], v[2]]).collect()
}

fn image(dir: &Path, name: &str) -> Image {
    let rgb = read_npy(&dir.join(format!("{name}_rgb.npy")));
    let data = rgb.values.iter().map(|&v| v as f32 / 255.0).collect();
    Image::new(rgb.shape[0], rgb.shape[1], 3, data).unwrap()
}

fn assert_close(what: &str, got: f64, want: f64, tolerance: f64) {
    assert!((got - want).abs() <= tolerance * want.abs(), "{what}: {got}, not {want}");
}

#[test]
fn densities_of_the_stored_kernels() {
    let Some(dir) = golden_dir("densities_of_the_stored_kernels") else { return };
    for name in IMAGES {
        let stored = read_npz(&dir.join(format!("{name}_pmi.npz")));
        let mut weights = vec![1.0; stored.array("w_exact").values.len()];
        for set in ["color", "var"] {
            let halves = triples(&stored, &format!("{set}_kernels"));
            let samples: Vec<_> = halves.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            let model = PmiModel::new(&samples, [0.05; 3], PmiOrdering::FirstChannel).unwrap();
            let (a, b) = (triples(&stored, &format!("{set}_A")), triples(&stored, &format!("{set}_B")));
            let expected = |of: &str| stored.array(&format!("{set}_{of}_exact")).values;
            let [joint, own, other, pmi] = ["pAB", "pA", "pB", "pmi"].map(expected);
            for k in 0..a.len() {
                let what = format!("{name}, {set}, pair {k}");
                assert_close(&what, model.joint(a[k], b[k]), joint[k], 1e-9);
                assert_close(&what, model.marginal(a[k]), own[k], 1e-9);
                assert_close(&what, model.marginal(b[k]), other[k], 1e-9);
                assert_close(&what, model.pmi(a[k], b[k]), pmi[k], 1e-9);
                weights[k] *= model.weight(a[k], b[k]);
            }
        }
        for (k, (got, want)) in weights.iter().zip(&stored.array("w_exact").values).enumerate() {
            assert_close(&format!("{name}, pair {k}"), *got, *want, 1e-9);
        }
    }
}

/// The stored maps were made of a variance that was not exactly 0 where nothing varies; an error of 10⁻¹⁶ there is one
/// of 10⁻⁴ after two square roots, and shifts all features by that much, as their least value becomes 0.
#[test]
fn the_stored_feature_maps() {
    let Some(dir) = golden_dir("the_stored_feature_maps") else { return };
    let stored = read_npz(&dir.join("100075_pmi.npz"));
    let maps = features(&image(&dir, "100075"), None).unwrap();
    for ((name, tolerance), map) in [("color_features", 1e-6), ("var_features", 2e-4)].iter().zip(&maps) {
        let want = stored.array(name);
        assert_eq!(want.shape, [map.height(), map.width(), 3]);
        for (got, want) in map.data().iter().zip(&want.values) {
            assert!((f64::from(*got) - want).abs() <= *tolerance, "{name}: {got}, not {want}");
        }
    }
    // Without the shift and the scale they are the same, but for the few pixels where nothing varies.
    let (got, want) = (maps[1].data(), stored.array("var_features").values);
    let scale = 1.000_140_5;
    let far = got
        .iter()
        .zip(&want)
        .filter(|(got, want)| (scale * (f64::from(**got) - 1.0) + 1.0 - **want).abs() > 2e-6);
    assert!(far.count() < 40);
}

fn weights(affinity: &PmiAffinity, image: &Image, mask: Option<&[bool]>) -> Vec<(usize, usize, f64)> {
    let mut all = Vec::new();
    affinity.graph_masked(image, mask).unwrap().for_each_edge(|i, j, w| all.push((i, j, w)));
    all
}

/// Overlapping colours with noise and a texture: flat, busy and everything between.
fn picture(height: usize, width: usize) -> Image {
    let mut random = Random::new(9);
    let pixel = |p: usize| {
        let (r, c) = ((p / width) as f32, (p % width) as f32);
        let base = match (r < 0.4 * height as f32, c < 0.6 * width as f32) {
            (true, true) => [0.3, 0.4, 0.8],
            (true, false) => [0.7, 0.3, 0.1 + 0.02 * r],
            (false, true) => [0.2, 0.5 + 0.01 * c, 0.2],
            (false, false) => [0.5, 0.5 + 0.2 * ((p % 2) as f32), 0.4],
        };
        let noise = if c < 0.3 * width as f32 { 0.004 } else { 0.03 };
        base.map(|v| v + noise * random.normal() as f32)
    };
    let data = (0..height * width).flat_map(pixel).collect();
    Image::new(height, width, 3, data).unwrap()
}

#[test]
fn the_fast_evaluation_is_within_a_thousandth_of_the_exact_one() {
    let image = picture(45, 52);
    let mask: Vec<bool> = (0..45 * 52).map(|p| p % 52 != 20 && p % 7 != 3).collect();
    let base = PmiAffinity::default().neighborhood(Neighborhood::new(5.0)).n_kernels(1500);
    let learned = base.bandwidth(PmiBandwidth::Learned).exponent(1.1).regularization(30.0);
    let whole = base.ordering(PmiOrdering::WholeVector).seed(3);
    for (affinity, mask) in [(base, None), (learned, None), (whole, None), (base, Some(&mask[..]))] {
        let fast = weights(&affinity, &image, mask);
        let exact = weights(&affinity.evaluation(PmiEvaluation::Exact), &image, mask);
        assert_eq!(fast.len(), exact.len());
        let (mut largest, mut smallest) = (0.0_f64, f64::INFINITY);
        for ((i, j, got), (k, l, want)) in fast.into_iter().zip(exact) {
            assert_eq!((i, j), (k, l));
            assert!((got / want - 1.0).abs() < 1e-3, "{i} {j}: {got}, not {want}");
            (largest, smallest) = (largest.max(want), smallest.min(want));
        }
        assert!(largest > 1000.0 * smallest, "{smallest} {largest}");
    }
}

#[test]
fn pmi_weights_are_those_of_the_models() {
    let image = picture(24, 31);
    let affinity = PmiAffinity::default().neighborhood(Neighborhood::new(3.0)).n_kernels(400);
    let (maps, models) = (features(&image, None).unwrap(), affinity.models(&image, None).unwrap());
    let of = |s: usize, p: usize| {
        let pixel = maps[s].pixel(p);
        [pixel[0], pixel[1], pixel[2]].map(f64::from)
    };
    for (i, j, got) in weights(&affinity, &image, None) {
        let (p, q) = (i.min(j), i.max(j));
        let want: f64 = (0..2).map(|s| models[s].weight(of(s, p), of(s, q))).product();
        assert!((got / want - 1.0).abs() < 1e-3, "{p} {q}: {got}, not {want}");
    }
}

#[test]
fn pmi_graphs_are_the_same_for_every_number_of_threads_and_differ_by_seed() {
    let image = picture(40, 50);
    let affinity = PmiAffinity::default().neighborhood(Neighborhood::new(4.0)).n_kernels(800);
    let run = |threads: usize, affinity: PmiAffinity| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| weights(&affinity, &image, None))
    };
    for affinity in [affinity, affinity.bandwidth(PmiBandwidth::Learned)] {
        assert_eq!(run(1, affinity), run(2, affinity));
    }
    assert_ne!(run(2, affinity), run(2, affinity.seed(1)));
    let exact = affinity.evaluation(PmiEvaluation::Exact);
    assert_eq!(run(1, exact), run(2, exact));
}

#[test]
fn pmi_has_an_answer_for_images_without_anything_to_learn() {
    let nothing = 100.0_f64.powf(0.25).powi(2);
    let affinity = PmiAffinity::default().neighborhood(Neighborhood::new(1.5));
    for evaluation in [PmiEvaluation::Fast, PmiEvaluation::Exact] {
        let affinity = affinity.evaluation(evaluation);
        let one = Image::new(1, 1, 3, vec![0.1, 0.2, 0.3]).unwrap();
        assert_eq!(weights(&affinity, &one, None), []);
        // Pairs are at least two pixels apart, so that a row of two has none.
        let two = Image::new(1, 2, 1, vec![0.1, 0.9]).unwrap();
        let found = weights(&affinity, &two, None);
        assert!(found.len() == 1 && (found[0].2 / nothing - 1.0).abs() < 1e-6, "{found:?}");
        let row = Image::new(1, 50, 1, (0..50).map(|c| c as f32 / 50.0).collect()).unwrap();
        let found = weights(&affinity, &row, None);
        assert!(found.len() == 49 && found.iter().all(|edge| edge.2 > 0.0));
        let constant = Image::new(7, 9, 3, [0.2, 0.4, 0.6].repeat(63)).unwrap();
        let found = weights(&affinity, &constant, None);
        // Every kernel lies on every pair.
        let want = ((100.0 + 0.5 * 15.0_f64.powi(6)).powf(1.25) / (15.0_f64.powi(6) + 100.0)).powi(2);
        assert!(found.iter().all(|edge| (edge.2 / want - 1.0).abs() < 1e-6), "{want} {:?}", found[0]);
        assert_eq!(found.len(), 6 * 9 + 7 * 8 + 2 * 6 * 8);
    }
}

#[test]
fn masked_pixels_have_no_pmi_edges_and_no_say() {
    let image = picture(20, 22);
    let mask: Vec<bool> = (0..440).map(|p| p % 22 < 17 || p / 22 > 15).collect();
    let mut data = image.data().to_vec();
    (0..440).filter(|&p| !mask[p]).for_each(|p| data[3 * p] += 9.0);
    let other = Image::new(20, 22, 3, data).unwrap();
    let affinity = PmiAffinity::default().neighborhood(Neighborhood::new(3.0)).n_kernels(300);
    let found = weights(&affinity, &image, Some(&mask));
    assert!(found.len() > 1000 && found.iter().all(|&(i, j, _)| mask[i] && mask[j]));
    assert_eq!(found, weights(&affinity, &other, Some(&mask)));
    assert_eq!(weights(&affinity, &image, Some(&[false; 440])), []);
    let everything = weights(&affinity, &image, Some(&[true; 440]));
    assert_eq!(everything, weights(&affinity, &image, None));
    assert!(affinity.graph_masked(&image, Some(&mask[1..])).is_err());
}

#[test]
fn bad_parameters_of_pmi_are_refused_by_name() {
    let image = picture(6, 7);
    let base = PmiAffinity::default();
    let cases = [
        (base.n_kernels(0), "pmi-pairs"),
        (base.n_kernels(1_000_001), "pmi-pairs"),
        (base.bandwidth(PmiBandwidth::Fixed(0.0)), "pmi-bandwidth"),
        (base.bandwidth(PmiBandwidth::Fixed(f64::NAN)), "pmi-bandwidth"),
        (base.exponent(0.0), "exponent"),
        (base.exponent(f64::INFINITY), "exponent"),
        (base.regularization(-1.0), "regularization"),
        (base.neighborhood(Neighborhood::new(0.5)), "radius"),
    ];
    for (affinity, expected) in cases {
        let error = affinity.graph(&image).unwrap_err();
        assert!(matches!(error, ccbcut::Error::InvalidParameter { name, .. } if name == expected), "{error}");
    }
    let bands = Image::new(1, 2, 2, vec![0.0; 4]).unwrap();
    let error = base.graph(&bands).unwrap_err();
    assert!(matches!(error, ccbcut::Error::InvalidParameter { name: "channels", .. }));
    // Weights too large for 32 bits become the largest number.
    let huge = base.exponent(40.0).neighborhood(Neighborhood::new(1.0)).graph(&image).unwrap();
    assert!(huge.degrees().iter().all(|d| d.is_finite()));
}
