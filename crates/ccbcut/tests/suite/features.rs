//! Cuts of feature maps: a drawn scene whose parts only features tell apart, and filter responses of photographs.

use std::path::PathBuf;

use ccbcut::{
    Image, LabelMap, Segmenter, Upsampling,
    affinity::{Bandwidth, FeatureAffinity, FeatureKernel, FeatureNeighbors, LabAffinity},
    image::{
        color::{WhitePoint, to_lab},
        smooth::smooth,
    },
    metrics::Contingency,
    segment::Enlarger,
};
use ccbcut_io::{Limits, read_image, read_label_maps};

/// Rows and columns of pixels that share a token.
const CELL: usize = 16;

fn tokens_cut(tokens: &Image, k: usize, tau: f64, kernel: FeatureKernel) -> ccbcut::Segmentation {
    let affinity = FeatureAffinity::new(kernel).neighbors(FeatureNeighbors::All);
    Segmenter::new(k, tau).affinity(affinity).levels(0).segment(tokens).unwrap()
}

#[test]
fn a_small_part_of_a_token_grid_stands_alone_below_tau_2() {
    // Two large areas of similar tokens and one token that is like nothing else.
    let (h, w, channels) = (12, 16, 8);
    let token = |p: usize| -> Vec<f32> {
        let area = if p == 5 * w + 4 { 2 } else { usize::from(p % w >= 8) };
        let bend = |c: usize| 0.1 * ((p * 31 + c * 17) % 13) as f32 / 13.0;
        (0..channels).map(|c| bend(c) + [[1.0, 0.3], [0.3, 1.0], [-1.0, 0.2]][area][c % 2]).collect()
    };
    let tokens = Image::new(h, w, channels, (0..h * w).flat_map(token).collect()).unwrap();
    let kernel = FeatureKernel::Exponential { bandwidth: Bandwidth::Fixed(0.08) };
    let cut = tokens_cut(&tokens, 3, 0.5, kernel);
    let mut sizes = cut.labels.sizes();
    sizes.sort_unstable();
    assert_eq!(sizes, [1, 95, 96], "tau = 0.5");
    // The normalized cut makes two parts first, and they are the two areas.
    let two = tokens_cut(&tokens, 2, 2.0, kernel);
    assert!(two.labels.sizes().iter().all(|&size| size >= 95), "{:?}", two.labels.sizes());
}

#[test]
fn every_number_of_parts_reaches_the_pixels() {
    let (height, width) = (48, 64);
    let area = |r: usize, c: usize| if r < 21 { 0 } else { 1 + usize::from(c >= 37) };
    let image = Image::new(
        height,
        width,
        1,
        (0..height * width).map(|p| [0.2, 0.5, 0.8][area(p / width, p % width)]).collect(),
    )
    .unwrap();
    let (h, w) = (6, 8);
    let token = |p: usize| {
        let area = area(p / w * 8 + 4, p % w * 8 + 4);
        (0..4).map(move |c| if c == area { 1.0 } else { 0.02 * ((p + c) % 5) as f32 })
    };
    let tokens = Image::new(h, w, 4, (0..h * w).flat_map(token).collect()).unwrap();
    let kernel = FeatureKernel::Exponential { bandwidth: Bandwidth::Fixed(0.1) };
    let cut = tokens_cut(&tokens, 3, 1.0, kernel);
    let enlarger = Enlarger::new(&image, None, (h, w), LabAffinity::default()).unwrap();
    let fine = cut.enlarged(&enlarger, Upsampling::Prolong).unwrap();
    let truth: Vec<u32> = (0..height * width).map(|p| area(p / width, p % width) as u32).collect();
    assert!(fine.labels.as_slice() == truth);
    assert_eq!((fine.report.sizes.clone(), fine.report.costs), (fine.labels.sizes(), cut.report.costs));
    let two = fine.labels_for(2).unwrap();
    assert_eq!((two.height(), two.n_segments()), (height, 2));
    // The costs stay with their parts: part numbers agree wherever a cell's centre is.
    for (p, &label) in cut.labels.as_slice().iter().enumerate() {
        let pixel = fine.labels.as_slice()[(p / w * 8 + 4) * width + p % w * 8 + 4];
        assert_eq!(cut.report.part_costs[label as usize], fine.report.part_costs[pixel as usize]);
    }
    assert!(fine.ucm().is_some());
}

/// Mean colour and mean oriented contrast at two scales, for each cell, each feature divided by its spread.
fn filter_bank(image: &Image) -> Image {
    let lab = to_lab(image, WhitePoint::D65).unwrap();
    let (height, width) = (image.height(), image.width());
    let (h, w) = (height / CELL, width / CELL);
    let mut sums = vec![vec![0.0_f64; h * w]; 3 + 2 * 4];
    for (scale, size) in [1.0, 3.0].into_iter().enumerate() {
        let blurred = smooth(&lab, size, None).unwrap();
        let at = |r: usize, c: usize, ch: usize| f64::from(blurred.pixel(r * width + c)[ch]);
        for (r, c) in (1..h * CELL - 1).flat_map(|r| (1..w * CELL - 1).map(move |c| (r, c))) {
            let cell = r / CELL * w + c / CELL;
            let (dx, dy) = (at(r, c + 1, 0) - at(r, c - 1, 0), at(r + 1, c, 0) - at(r - 1, c, 0));
            for angle in 0..4 {
                let (sin, cos) = (std::f64::consts::FRAC_PI_4 * angle as f64).sin_cos();
                sums[3 + 4 * scale + angle][cell] += (dx * cos + dy * sin).abs();
            }
            if scale == 0 {
                (0..3).for_each(|ch| sums[ch][cell] += at(r, c, ch));
            }
        }
    }
    for column in &mut sums {
        let mean = column.iter().sum::<f64>() / column.len() as f64;
        let spread = (column.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / column.len() as f64).sqrt();
        column.iter_mut().for_each(|v| *v = (*v - mean) / spread.max(1e-12));
    }
    let data = (0..h * w).flat_map(|p| sums.iter().map(move |column| column[p] as f32)).collect();
    Image::new(h, w, sums.len(), data).unwrap()
}

#[test]
fn filter_responses_of_photographs_are_cut_better_than_by_a_grid() {
    let Some(bsds) = std::env::var_os("BSDS500_DIR").map(PathBuf::from) else {
        println!("skipped: filter_responses_of_photographs_are_cut_better_than_by_a_grid (set BSDS500_DIR)");
        return;
    };
    let (mut found, mut chance) = (0.0, 0.0);
    for name in ["100075", "118035", "12003"] {
        let image =
            read_image(&bsds.join(format!("images/train/{name}.jpg")), Limits::default()).unwrap().image;
        let truths =
            read_label_maps(&bsds.join(format!("groundTruth/train/{name}.mat")), Limits::default()).unwrap();
        let tokens = filter_bank(&image);
        let kernel = FeatureKernel::Rbf { bandwidth: Bandwidth::Median(0.5) };
        let cut = tokens_cut(&tokens, 6, 2.0, kernel);
        let grid = (tokens.height(), tokens.width());
        let enlarger = Enlarger::new(&image, None, grid, LabAffinity::default()).unwrap();
        let cut = cut.enlarged(&enlarger, Upsampling::Prolong).unwrap();
        let (height, width) = (image.height(), image.width());
        let blocks: Vec<u32> = (0..height * width)
            .map(|p| (p / width * 2 / height * 3 + p % width * 3 / width) as u32)
            .collect();
        let blocks = LabelMap::new(height, width, &blocks).unwrap();
        let covering = |map: &LabelMap| {
            let all = truths.iter().map(|truth| Contingency::new(map, truth).unwrap().score().covering);
            all.sum::<f64>() / truths.len() as f64
        };
        println!("{name}: covering {:.3}, of six blocks {:.3}", covering(&cut.labels), covering(&blocks));
        found += covering(&cut.labels) / 3.0;
        chance += covering(&blocks) / 3.0;
    }
    assert!(found > chance + 0.1, "{found:.3} against {chance:.3}");
}
