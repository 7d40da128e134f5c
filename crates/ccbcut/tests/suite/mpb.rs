//! mPb against results stored from a run of the public code, given its textons.

use std::path::Path;

use crate::support::{golden_dir, read_npy, read_npz};
use ccbcut::{
    Image,
    affinity::{Affinity, ContourAffinity, ContourWeight, Neighborhood},
    image::contours::{BinMap, Contours, Cue, MultiscalePb, ORIENTATIONS, Oriented, texton_filters},
};

const IMAGES: [&str; 3] = ["100075", "118035", "12003"];

const CUES: [Cue; 4] = [Cue::Lightness, Cue::GreenRed, Cue::BlueYellow, Cue::Texture];

fn image_of(dir: &Path, name: &str) -> Image {
    let rgb = read_npy(&dir.join(format!("{name}_rgb.npy")));
    let data = rgb.values.iter().map(|&v| v as f32 / 255.0).collect();
    Image::new(rgb.shape[0], rgb.shape[1], 3, data).unwrap()
}

fn detector_of(dir: &Path, name: &str) -> MultiscalePb {
    let textons = read_npy(&dir.join(format!("{name}_textons.npy")));
    let bins = textons.values.iter().map(|&v| v as u8).collect();
    MultiscalePb::new().textons(BinMap::new(textons.shape[0], textons.shape[1], bins).unwrap())
}

#[test]
fn the_filter_bank_of_textons() {
    let Some(dir) = golden_dir("the_filter_bank_of_textons") else { return };
    let stored = read_npz(&dir.join("texton_filters.npz"));
    for (name, sigma) in [("small", 2.0), ("large", 2.0 * 2.0_f64.sqrt())] {
        let want = stored.array(name);
        let filters = texton_filters(sigma);
        assert_eq!(want.shape, [filters.len(), 2 * filters[0].radius + 1, 2 * filters[0].radius + 1]);
        let got = filters.iter().flat_map(|filter| &filter.taps);
        for (i, (got, want)) in got.zip(&want.values).enumerate() {
            assert!((got - want).abs() < 1e-12, "{name} {i}: {got}, not {want}");
        }
    }
}

/// The largest distance between a crop of 16 × 16 pixels and what is stored of it.
fn distance_of_crop(got: &Oriented, (row, column): (usize, usize), want: &[f64]) -> f64 {
    let mut largest = 0.0_f64;
    for (i, want) in want.iter().enumerate() {
        let (r, c, o) = (i / (16 * ORIENTATIONS), i / ORIENTATIONS % 16, i % ORIENTATIONS);
        largest = largest.max((f64::from(got.at(row + r, column + c, o)) - want).abs());
    }
    largest
}

#[test]
fn smoothed_cues() {
    let Some(dir) = golden_dir("smoothed_cues") else { return };
    for name in IMAGES {
        let (image, detector) = (image_of(&dir, name), detector_of(&dir, name));
        let stored = read_npz(&dir.join(format!("{name}_cues.npz")));
        let (center, corner) = (stored.array("crop_center"), stored.array("crop_corner"));
        let origin = stored.array("crop_origin").indices();
        let statistics = stored.array("mean_min_max");
        let size = 16 * 16 * ORIENTATIONS;
        let channels = CUES.iter().flat_map(|&cue| cue.radii().map(|radius| (cue, radius)));
        for (channel, (cue, radius)) in channels.enumerate() {
            let got = detector.cue(&image, cue, radius).unwrap();
            let crops = [((origin[0], origin[1]), &center), ((0, 0), &corner)];
            for (at, stored) in crops {
                let distance = distance_of_crop(&got, at, &stored.values[channel * size..][..size]);
                assert!(distance < 1e-5, "{name}, {cue:?} at radius {radius}, crop {at:?}: {distance}");
            }
            for o in 0..ORIENTATIONS {
                let pixels = || (0..image.n_pixels()).map(|p| f64::from(got.at(p / 240, p % 240, o)));
                let mean = pixels().sum::<f64>() / image.n_pixels() as f64;
                let want = |which: usize| statistics.values[(channel * 3 + which) * ORIENTATIONS + o];
                assert!((mean - want(0)).abs() < 1e-5, "{name}, {cue:?} at radius {radius}: mean {mean}");
                assert!((pixels().fold(f64::INFINITY, f64::min) - want(1)).abs() < 1e-5);
                assert!((pixels().fold(f64::NEG_INFINITY, f64::max) - want(2)).abs() < 1e-5);
            }
        }
    }
}

#[test]
fn contours_of_mpb() {
    let Some(dir) = golden_dir("contours_of_mpb") else { return };
    for name in IMAGES {
        let image = image_of(&dir, name);
        let oriented = detector_of(&dir, name).oriented(&image).unwrap();
        let stored = read_npy(&dir.join(format!("{name}_mpb_oriented.npy")));
        for (i, want) in stored.values.iter().enumerate() {
            let (p, o) = (i / ORIENTATIONS, i % ORIENTATIONS);
            let got = f64::from(oriented.at(p / 240, p % 240, o));
            assert!((got - want).abs() < 1e-5, "{name} pixel {p}, orientation {o}: {got}, not {want}");
        }
        let thin = oriented.thinned();
        let want = read_npy(&dir.join(format!("{name}_mpb.npy"))).values;
        let mut n_different = 0;
        for (p, (&got, want)) in thin.as_slice().iter().zip(&want).enumerate() {
            if (f64::from(got) - want).abs() >= 1e-5 {
                n_different += 1;
                assert!(is_tied(&stored.values, p), "{name} pixel {p}: {got}, not {want}");
            }
        }
        assert!(n_different <= 8, "{name}: {n_different} pixels differ where orientations tie");
    }
}

/// Whether two orientations are within 10⁻⁶ of the strongest, at a pixel or at one of those around it.
fn is_tied(oriented: &[f64], p: usize) -> bool {
    let around = |p: usize| [p, p - 1, p + 1, p - 240, p + 240, p - 241, p - 239, p + 239, p + 241];
    around(p).into_iter().any(|q| {
        let values = &oriented[q * ORIENTATIONS..][..ORIENTATIONS];
        let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        values.iter().filter(|&&v| largest - v < 1e-6).count() > 1
    })
}

#[test]
fn affinities_of_mpb() {
    let Some(dir) = golden_dir("affinities_of_mpb") else { return };
    for name in IMAGES {
        let image = image_of(&dir, name);
        let mpb = read_npy(&dir.join(format!("{name}_mpb.npy")));
        let strengths = mpb.values.iter().map(|&v| v as f32).collect();
        let contours = Contours::new(mpb.shape[0], mpb.shape[1], strengths).unwrap();
        let stored = read_npz(&dir.join(format!("{name}_mpb_affinity.npz")));
        let affinity = ContourAffinity::given(contours).weight(ContourWeight::default());
        for (radius, i, j, public, line) in
            [(10.0, "i", "j", "w_r10", Some("w_r10_direct_line")), (5.0, "i5", "j5", "w_r5", None)]
        {
            let graph = affinity.clone().neighborhood(Neighborhood::new(radius)).graph(&image).unwrap();
            let (i, j) = (stored.array(i).indices(), stored.array(j).indices());
            let weight = |i: usize, j: usize| {
                let mut weight = 0.0;
                graph.for_each_neighbor(i, |k, w| weight += if k == j { w } else { 0.0 });
                weight
            };
            let pairs = || i.iter().zip(&j).enumerate().filter(|(_, (i, j))| i != j);
            let got: Vec<(usize, f64)> = pairs().map(|(k, (&i, &j))| (k, weight(i, j))).collect();
            if let Some(line) = line {
                let want = stored.array(line).values;
                for &(k, got) in &got {
                    assert!((got - want[k]).abs() < 1e-6, "{name} pair {k}: {got}, not {}", want[k]);
                }
            }
            // The public code walks rays, not lines: most pairs are the same.
            let want = stored.array(public).values;
            let same = got.iter().filter(|(k, got)| (got - want[*k]).abs() < 1e-5).count();
            assert!(same as f64 >= 0.92 * got.len() as f64, "{name}: {same} of {}", got.len());
        }
    }
}
