use std::{
    env, fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use ccbcut::metrics::BoundaryMap;
use ccbcut_io::{Limits, read_ground_truth, read_image, read_label_maps, read_ucm};

/// The folder with `images` and `groundTruth`, when the environment names one.
fn folder(test: &str) -> Option<PathBuf> {
    let folder = env::var_os("BSDS500_DIR").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: {test} (set BSDS500_DIR)");
    }
    folder
}

#[test]
fn every_human_segmentation_of_the_training_set_is_read() {
    let Some(folder) = folder("every_human_segmentation_of_the_training_set_is_read") else { return };
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder.join("groundTruth/train")).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "mat"));
    paths.sort();
    assert_eq!(paths.len(), 200);
    let mut n_maps = 0;
    for path in &paths {
        let maps = read_label_maps(path, Limits::default()).unwrap();
        assert!(maps.len() >= 4, "{}", path.display());
        for map in &maps {
            let sides = (map.height(), map.width());
            assert!(sides == (321, 481) || sides == (481, 321), "{}", path.display());
            assert!(map.n_segments() > 1, "{}", path.display());
            assert_eq!(map.sizes().iter().sum::<usize>(), 321 * 481, "no void in {}", path.display());
        }
        n_maps += maps.len();
    }
    assert_eq!(n_maps, 1087);
}

#[test]
fn pictures_and_segmentations_have_the_same_size() {
    let Some(folder) = folder("pictures_and_segmentations_have_the_same_size") else { return };
    for name in ["100075", "100080", "100098"] {
        let picture = folder.join("images/train").join(name).with_extension("jpg");
        let image = read_image(&picture, Limits::default()).unwrap().image;
        let truth = folder.join("groundTruth/train").join(name).with_extension("mat");
        for map in read_label_maps(&truth, Limits::default()).unwrap() {
            assert_eq!((map.height(), map.width()), (image.height(), image.width()));
        }
    }
}

#[test]
fn boundaries_of_the_segmentations_are_those_in_the_files() {
    let Some(folder) = folder("boundaries_of_the_segmentations_are_those_in_the_files") else { return };
    let (mut equal, mut n_pixels, mut n_differ) = (0, 0, 0);
    for name in ["100075", "100080", "100098", "103041", "104022", "105019"] {
        let path = folder.join("groundTruth/train").join(name).with_extension("mat");
        for truth in read_ground_truth(&path, Limits::default()).unwrap() {
            let ours = BoundaryMap::of_labels(&truth.segmentation);
            equal += usize::from(ours == truth.boundaries);
            n_pixels += truth.boundaries.n_pixels();
            let both = ours.as_slice().iter().zip(truth.boundaries.as_slice());
            n_differ += both.filter(|(a, b)| a != b).count();
        }
    }
    assert_eq!((equal, n_differ), (35, 0), "of {n_pixels} pixels");
}

#[test]
fn the_contour_maps_of_the_validation_set_are_read() {
    let Some(folder) = folder("the_contour_maps_of_the_validation_set_are_read") else { return };
    let Ok(entries) = fs::read_dir(folder.join("ucm2/val")) else {
        println!("skipped: the_contour_maps_of_the_validation_set_are_read (no ucm2/val in BSDS500_DIR)");
        return;
    };
    let mut fastest = Duration::MAX;
    let thresholds: Vec<f32> = (1..100).map(|t| (f64::from(t) / 100.0) as f32).collect();
    for path in entries.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "mat")) {
        let ucm = read_ucm(&path, Limits::default()).unwrap();
        assert!([(321, 481), (481, 321)].contains(&(ucm.height(), ucm.width())), "{}", path.display());
        let start = Instant::now();
        let family = ucm.family(&thresholds).unwrap();
        fastest = fastest.min(start.elapsed());
        let counts: Vec<usize> = (0..99).map(|t| family.n_segments(t)).collect();
        assert!(counts[0] > 100 && counts.is_sorted_by(|a, b| a >= b), "{}: {counts:?}", path.display());
        assert_eq!(family.labels(9).unwrap(), ucm.regions(thresholds[9]), "{}", path.display());
        // Components of `ucm2 <= t` as `scipy.ndimage.label` counts them, with eight neighbours.
        let expected = match path.file_stem().and_then(|s| s.to_str()) {
            Some("101085") => [286, 75, 21],
            Some("101087") => [226, 84, 17],
            Some("102061") => [272, 84, 6],
            _ => continue,
        };
        assert_eq!([4, 9, 29].map(|t| counts[t]), expected, "{}", path.display());
    }
    println!("99 thresholds take {fastest:?}");
}
