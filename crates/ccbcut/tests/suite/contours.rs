//! The contour map of a hierarchy gives back every segmentation on the way.

use ccbcut::{Control, Image, LabelMap, Method, Segmentation, Segmenter, Ucm, random::Random};

/// Blocks of colours that come back in several places, so that parts are not connected, with noise on top.
fn patches(height: usize, width: usize) -> Image {
    let mut random = Random::new(5);
    let colour = |r: usize, c: usize| ((r / 7 * 3 + c / 9 * 5) % 6) as f32 / 6.0;
    let pixels = (0..height * width).map(|p| colour(p / width, p % width) + 0.02 * random.uniform() as f32);
    Image::new(height, width, 1, pixels.collect()).unwrap()
}

/// Compares the regions of every threshold with the connected regions of every k; returns how many differ from k.
fn compare(cut: &Segmentation, void_as: Option<u32>) -> usize {
    let ucm = cut.ucm().unwrap();
    let n_leaves = cut.tree().unwrap().n_leaves();
    let mut split = 0;
    for k in 1..=n_leaves {
        let map = cut.labels_for(k).unwrap();
        let raw: Vec<u32> =
            map.as_slice().iter().map(|&v| if v == LabelMap::VOID { void_as.unwrap() } else { v }).collect();
        let expected = LabelMap::new(map.height(), map.width(), &raw).unwrap().connected();
        assert_eq!(ucm.regions(Ucm::threshold_for(k, n_leaves)), expected, "{k} parts");
        split += usize::from(expected.n_segments() > k);
    }
    assert_eq!(ucm.as_slice().iter().fold(0.0_f32, |a, &b| a.max(b)) < 1.0, void_as.is_none());
    split
}

#[test]
fn a_contour_map_gives_back_every_number_of_parts() {
    let image = patches(42, 54);
    for (segments, tau) in [(9, 1.0), (14, 2.0), (1, 1.0)] {
        let cut = Segmenter::new(segments, tau).levels(1).segment(&image).unwrap();
        let split = compare(&cut, None);
        assert!(split > 0 || segments == 1, "some part should have been in several places");
    }
}

#[test]
fn void_pixels_are_fenced_off() {
    let image = patches(30, 30);
    let mask: Vec<bool> = (0..900).map(|p| !(10..20).contains(&(p / 30)) || p % 30 < 12).collect();
    let cut =
        Segmenter::new(6, 1.0).levels(1).segment_with(&image, Some(&mask), &mut Control::new()).unwrap();
    compare(&cut, Some(1000));
}

#[test]
fn a_multiway_cut_has_no_contour_map() {
    let cut = Segmenter::new(3, 2.0).partitioner(|p| p.method(Method::Multiway)).levels(1);
    assert!(cut.segment(&patches(20, 20)).unwrap().ucm().is_none());
}
