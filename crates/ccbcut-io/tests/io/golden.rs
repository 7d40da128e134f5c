use ccbcut_io::{
    CocoCounts, FeatureOptions, Layout, Limits, Rle, Values, encode_coco, read_features, read_graph,
    read_image, read_label_map, read_label_maps, read_mask, read_npy,
};

use crate::fixture;

#[test]
fn numpy_arrays_of_every_type() {
    let floats: Vec<f64> = (0..6).map(f64::from).collect();
    let names = [
        "i1",
        "le_i2",
        "be_i2",
        "le_i4",
        "le_i8",
        "be_i8",
        "u1",
        "be_u2",
        "le_u4",
        "le_u8",
        "le_f2",
        "le_f4",
        "be_f4",
        "be_f8",
        "fortran",
        "version_2",
        "version_3",
    ];
    for name in names {
        let array = read_npy(&fixture(&format!("array_{name}.npy"))).unwrap();
        assert_eq!((array.shape, array.values.to_f64().unwrap()), (vec![2, 3], floats.clone()), "{name}");
    }
    let flags = read_npy(&fixture("array_bool.npy")).unwrap();
    assert_eq!(flags.values, Values::Bool(vec![false, true, true, true, true, true]));
    let cube = read_npy(&fixture("array_fortran_3d.npy")).unwrap();
    assert_eq!((cube.shape, cube.values), (vec![2, 3, 4], Values::I32((0..24).collect())));
}

#[test]
fn scipy_graphs_of_every_format() {
    let names = [
        "graph_csr.npz",
        "graph_csc.npz",
        "graph_coo.npz",
        "graph_csr_int64.npz",
        "graph_symmetric.mtx",
        "graph_general.mtx",
        "graph_array.mtx",
        "graph_dense.npy",
    ];
    for name in names {
        let (offsets, columns, weights) = read_graph(&fixture(name)).unwrap().to_csr();
        assert_eq!(offsets, [0, 2, 5, 6, 7], "{name}");
        assert_eq!(columns, [1, 3, 0, 1, 2, 1, 0], "{name}");
        assert_eq!(weights, [0.5, 2.0, 0.5, 1.0, 0.25, 0.25, 2.0], "{name}");
    }
}

#[test]
fn label_maps_of_every_kind() {
    let expected = [0, 0, 1, 1, 0, 2, 2, 1, 3, 3, 2, 1];
    for name in ["labels_int64.npy", "labels_8.png", "labels_16.png", "labels_32.tif", "labels_lzw.tif"] {
        let map = read_label_map(&fixture(name), Limits::default()).unwrap();
        assert_eq!((map.height(), map.width(), map.as_slice()), (3, 4, &expected[..]), "{name}");
    }
    for name in ["segs.mat", "ground_truth.mat"] {
        let maps = read_label_maps(&fixture(name), Limits::default()).unwrap();
        assert_eq!(maps.len(), 2, "{name}");
        for map in maps {
            assert_eq!((map.height(), map.width(), map.as_slice()), (3, 4, &expected[..]), "{name}");
        }
    }
}

/// The picture the fixtures were made from.
fn ramp() -> Vec<f32> {
    let value = |p: usize| (p / 21 * 40 + p / 3 % 7 * 10 + p % 3 * 5) % 256;
    (0..105).map(|p| value(p) as f32 / 255.0).collect()
}

#[test]
fn pictures_of_every_format() {
    for name in ["photo.png", "photo.bmp", "photo.ppm", "photo.tif", "photo.webp"] {
        let decoded = read_image(&fixture(name), Limits::default()).unwrap();
        let image = &decoded.image;
        assert_eq!((image.height(), image.width(), image.channels()), (5, 7, 3), "{name}");
        assert_eq!(image.data(), ramp(), "{name}");
        assert_eq!((decoded.mask, decoded.source.bit_depth), (None, 8), "{name}");
    }
    for name in ["photo.jpg", "photo_progressive.jpg"] {
        let image = read_image(&fixture(name), Limits::default()).unwrap().image;
        let worst = image.data().iter().zip(ramp()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst < 0.06, "{name}: {worst}");
    }
    let gray = read_image(&fixture("gray.png"), Limits::default()).unwrap().image;
    assert_eq!((gray.channels(), gray.pixel(8)), (1, &ramp()[24..25]));
}

#[test]
fn the_orientation_of_the_camera_is_applied() {
    let upright = read_image(&fixture("photo.jpg"), Limits::default()).unwrap().image;
    let turned = read_image(&fixture("photo_turned.jpg"), Limits::default()).unwrap();
    assert_eq!((turned.image.height(), turned.image.width(), turned.source.orientation), (7, 5, 6));
    // A quarter to the right: the first row becomes the last column.
    for column in 0..7 {
        assert_eq!(turned.image.pixel(column * 5 + 4), upright.pixel(column));
    }
}

#[test]
fn transparent_pixels_are_masked() {
    let used: Vec<bool> = (0..35).map(|p| p % 3 != 0).collect();
    for (name, channels) in [("alpha.png", 3), ("gray_alpha.png", 1)] {
        let decoded = read_image(&fixture(name), Limits::default()).unwrap();
        assert_eq!((decoded.image.channels(), decoded.mask), (channels, Some(used.clone())), "{name}");
    }
    assert_eq!(read_mask(&fixture("alpha.png"), Limits::default()).unwrap().values, used);
    let black: Vec<bool> = (0..35).map(|p| p != 0).collect();
    assert_eq!(read_mask(&fixture("gray.png"), Limits::default()).unwrap().values, black);
    let flags = read_mask(&fixture("array_bool.npy"), Limits::default()).unwrap();
    assert_eq!((flags.height, flags.width, flags.values[0], flags.values[1]), (2, 3, false, true));
}

#[test]
fn coco_masks_are_those_of_pycocotools() {
    let text = std::fs::read_to_string(fixture("coco_masks.json")).unwrap();
    let cases: serde_json::Value = serde_json::from_str(&text).unwrap();
    for case in cases.as_array().unwrap() {
        let side = |i: usize| case["size"][i].as_u64().unwrap() as usize;
        let mask: Vec<bool> = case["mask"].as_str().unwrap().bytes().map(|b| b == b'1').collect();
        let rle = Rle::from_mask(side(0), side(1), &mask);
        let counts = case["counts"].as_str().unwrap();
        assert_eq!(rle.to_compressed(), counts);
        assert_eq!(Rle::from_compressed(side(0), side(1), counts).unwrap().to_mask(), mask);
        assert_eq!(case["area"], rle.area());
        assert_eq!(case["bbox"], serde_json::json!(rle.bounding_box()));
    }
    let map = read_label_map(&fixture("labels_8.png"), Limits::default()).unwrap();
    assert!(encode_coco(&[("a.png", &map)], CocoCounts::Compressed).contains("\"counts\":\"02"));
}

#[test]
fn feature_maps_of_every_kind() {
    let quarters: Vec<f32> = (0..30).map(|v| v as f32 / 4.0).collect();
    let whole: Vec<f32> = (0..30).map(|v| v as f32).collect();
    let plain = FeatureOptions::default();
    let first = FeatureOptions { layout: Layout::ChannelsFirst, ..plain.clone() };
    let named = |name: &str| FeatureOptions { name: Some(name.into()), ..plain.clone() };
    let tokens = FeatureOptions { grid: Some((2, 3)), ..named("tokens") };
    for (file, options, expected, value_type) in [
        ("features_f2.npy", &plain, &quarters, "float32"),
        ("features_f4.npy", &plain, &quarters, "float32"),
        ("features_f8.npy", &plain, &quarters, "float64"),
        ("features_fortran.npy", &plain, &quarters, "float32"),
        ("features_u2.npy", &plain, &whole, "uint16"),
        ("features_chw.npy", &first, &quarters, "float32"),
        ("features_one.npz", &plain, &quarters, "float64"),
        ("features_two.npz", &tokens, &quarters, "float32"),
        ("features.safetensors", &named("tf2"), &quarters, "F16"),
        ("features.safetensors", &named("tf4"), &quarters, "F32"),
        ("features.safetensors", &named("tf8"), &quarters, "F64"),
        ("features_bf16.safetensors", &plain, &quarters, "BF16"),
        ("bands_contig.tif", &plain, &whole, "uint16"),
        ("bands_separate.tif", &plain, &whole, "uint16"),
        ("bands_f4.tif", &plain, &quarters, "float32"),
    ] {
        let map = read_features(&fixture(file), options).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert_eq!((map.map.height(), map.map.width(), map.map.channels()), (2, 3, 5), "{file}");
        assert_eq!((map.map.data(), map.value_type.as_str()), (&expected[..], value_type), "{file}");
    }
    let photo = read_features(&fixture("photo.png"), &plain).unwrap();
    assert_eq!((photo.map.channels(), photo.map.data()), (3, &ramp()[..]));
    let several = read_features(&fixture("features.safetensors"), &plain).unwrap_err().to_string();
    assert!(several.contains("`tf2`, `tf4`, `tf8`"), "{several}");
    // As an image, bands are refused by their number.
    let bands = read_image(&fixture("bands_contig.tif"), Limits::default()).unwrap_err();
    assert!(bands.to_string().contains("5 bands"), "{bands}");
}
