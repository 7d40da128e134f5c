use std::{
    fs,
    path::{Path, PathBuf},
};

use ccbcut_io::{
    FeatureOptions, Limits, decode_features, decode_graph, decode_ground_truth, decode_image,
    decode_label_maps, decode_labels_vector, decode_npy, decode_npz, decode_ucm, read_graph, read_image,
    read_label_maps,
};

use crate::fixture;

/// Small pictures only: a flipped bit in a header must not cost a gigabyte.
const LIMITS: Limits = Limits { max_pixels: 1_000_000 };

fn fixtures() -> Vec<PathBuf> {
    let entries = fs::read_dir(fixture("")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e != "py" && e != "json"));
    paths.sort();
    paths
}

/// Hands a file to every reader; what they answer does not matter here, only that they do.
fn read_by_all(path: &Path, bytes: &[u8]) {
    let _ = decode_npy(path, bytes);
    let _ = decode_image(path, bytes, LIMITS);
    let _ = decode_graph(path, bytes);
    let _ = decode_label_maps(path, bytes, LIMITS);
    let _ = decode_labels_vector(path, bytes);
    let _ = decode_npz(path, bytes);
    let _ = decode_ucm(path, bytes, LIMITS);
    let _ = decode_ground_truth(path, bytes, LIMITS);
    let _ = decode_features(path, bytes, &FeatureOptions { limits: LIMITS, ..FeatureOptions::default() });
}

#[test]
fn no_reader_panics_on_damaged_files() {
    for path in fixtures() {
        let good = fs::read(&path).unwrap();
        for length in (0..good.len()).step_by(1 + good.len() / 150) {
            read_by_all(&path, &good[..length]);
        }
        for at in (0..good.len()).step_by(1 + good.len() / 300) {
            for change in [0x01, 0x80, 0xff] {
                let mut bytes = good.clone();
                bytes[at] ^= change;
                read_by_all(&path, &bytes);
            }
        }
    }
}

#[test]
fn a_picture_cut_short_is_an_error_or_whole() {
    for original in fixtures() {
        let Ok(whole) = read_image(&original, LIMITS) else { continue };
        let good = fs::read(&original).unwrap();
        for length in 0..good.len() {
            if let Ok(decoded) = decode_image(&original, &good[..length], LIMITS) {
                assert_eq!(decoded.image, whole.image, "{}: {length} of {}", original.display(), good.len());
            }
        }
    }
}

#[test]
fn a_jpeg_cut_short_is_always_an_error() {
    for name in ["photo.jpg", "photo_progressive.jpg", "photo_turned.jpg"] {
        let good = fs::read(fixture(name)).unwrap();
        for length in 0..good.len() {
            assert!(decode_image(Path::new(name), &good[..length], LIMITS).is_err(), "{name}: {length}");
        }
    }
}

#[test]
fn graphs_and_labels_cut_short_are_errors_or_whole() {
    for original in fixtures() {
        let good = fs::read(&original).unwrap();
        let maps = read_label_maps(&original, LIMITS).ok();
        let graph = read_graph(&original).ok().map(|g| g.to_csr());
        for length in 0..good.len() {
            if let Ok(cut) = decode_label_maps(&original, &good[..length], LIMITS) {
                assert_eq!(Some(cut), maps, "{}: {length} of {}", original.display(), good.len());
            }
            if let Ok(cut) = decode_graph(&original, &good[..length]) {
                assert_eq!(Some(cut.to_csr()), graph, "{}: {length} of {}", original.display(), good.len());
            }
        }
    }
}

#[test]
fn a_feature_map_cut_short_is_an_error_or_whole() {
    let names = [
        "features_f2.npy",
        "features_one.npz",
        "features_bf16.safetensors",
        "bands_contig.tif",
        "bands_separate.tif",
    ];
    for name in names {
        let good = fs::read(fixture(name)).unwrap();
        let decode = |bytes: &[u8]| decode_features(Path::new(name), bytes, &FeatureOptions::default());
        let whole = decode(&good).unwrap();
        for length in 0..good.len() {
            if let Ok(map) = decode(&good[..length]) {
                assert_eq!(map, whole, "{name}: {length} of {}", good.len());
            }
        }
    }
}
