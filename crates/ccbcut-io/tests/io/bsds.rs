use std::{env, fs, path::PathBuf};

use ccbcut_io::{Limits, read_image, read_label_maps};

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
