//! `ccbcut demo`: a page that shows what the knob does.

mod page;
pub mod scene;

use anyhow::{Context, Result, bail};
use ccbcut::{
    Control, Image, LabelMap, Labels, Segmenter,
    affinity::{Affinity, LabAffinity},
    cost::ccn,
};

use crate::{
    args::DemoArgs,
    exit::ExitStatus,
    files::{self, File},
    library,
    output::{Output, Progress},
    paint,
};

use self::{
    page::Cut,
    scene::{HEIGHT, Scene, WIDTH},
};

use super::use_threads;

/// The two settings of the knob.
const TAUS: [f64; 2] = [2.0, 1.0];

/// Draws the scene, cuts it twice, and writes the page.
pub fn run(args: &DemoArgs, output: &Output) -> Result<ExitStatus> {
    let index = args.output.join("index.html");
    files::check_free(&index, args.force)?;
    use_threads(args.threads)?;
    let scene = scene::draw(args.seed);
    let progress = output.progress("demo");
    let mut cuts = Vec::new();
    for tau in TAUS {
        progress.step(format!("cutting with tau {tau}"));
        let (labels, ccn) =
            cut_scene(&scene, tau, args, &progress).with_context(|| format!("cutting with tau {tau}"))?;
        cuts.push(Cut { tau, labels, ccn, command: command(tau, args) });
    }
    drop(progress);
    let Ok(cuts) = <[Cut; 2]>::try_from(cuts) else { bail!("the demo compares two cuts") };
    let written = contents(&scene, &cuts, args)?;
    files::write_all(&written, args.force)?;
    output.summary(&format!("Open {} in a browser.\n", index.display()))?;
    for (path, _) in &written {
        output.detail(&format!("wrote {}", path.display()));
    }
    Ok(ExitStatus::Success)
}

/// The one call into the library: the scene cut at `tau` as the paper compares pixels; the labels, and what
/// they cost (CCN) at each of [`TAUS`].
fn cut_scene(scene: &Scene, tau: f64, args: &DemoArgs, progress: &Progress) -> Result<(LabelMap, [f64; 2])> {
    let pixels = scene.rgb.iter().map(|&v| f32::from(v) / 255.0).collect();
    let image = Image::new(HEIGHT, WIDTH, 3, pixels)?;
    let affinity = LabAffinity::default();
    let segmenter = Segmenter::new(args.segments, tau)
        .partitioner(|partitioner| partitioner.seed(args.seed).min_share(0.0).rejoin(0))
        .levels(2)
        .affinity(affinity);
    let mut observe = |event: ccbcut::Progress<'_>| library::show(progress, event);
    let cut = segmenter.segment_with(&image, None, &mut Control::new().observer(&mut observe))?;
    let graph = affinity.graph(&image)?;
    let labels = Labels::from_raw(cut.labels.as_slice());
    let cost = |tau| ccn(&graph, &labels, tau);
    Ok((cut.labels, [cost(TAUS[0])?, cost(TAUS[1])?]))
}

/// The command that makes the same cut.
fn command(tau: f64, args: &DemoArgs) -> String {
    let (k, seed) = (args.segments, args.seed);
    format!(
        "ccbcut segment scene.png -k {k} --tau {tau} --sigma 5 --smooth 0 --min-share 0 --rejoin 0 --levels 2 --seed {seed} -o tau{tau}"
    )
}

/// The page and the pictures beside it.
fn contents(scene: &Scene, cuts: &[Cut; 2], args: &DemoArgs) -> Result<Vec<File>> {
    let png = |rgb: &[u8]| paint::encode_png(WIDTH, HEIGHT, rgb);
    let mut files = vec![
        (args.output.join("index.html"), page::render(scene, cuts)?.into_bytes()),
        (args.output.join("scene.png"), png(&scene.rgb)?),
    ];
    for cut in cuts {
        let name = |what: &str| args.output.join(format!("tau{}-{what}.png", cut.tau));
        files.push((name("overlay"), png(&paint::overlay(&scene.rgb, &cut.labels)?)?));
        files.push((name("mean-color"), png(&paint::mean_color(&scene.rgb, &cut.labels)?)?));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the demo is about: at tau = 1 every thing is found, at tau = 2 something large is chopped instead.
    #[test]
    fn the_knob_decides_between_chops_and_small_things() {
        let scene = scene::draw(0);
        let args = DemoArgs { output: "unused".into(), segments: 10, seed: 0, threads: 0, force: false };
        let progress = Output::plain().progress("test");
        let found = |tau: f64| -> Vec<f64> {
            let (labels, _) = cut_scene(&scene, tau, &args, &progress).unwrap();
            let overlap = |thing: u32, part: u32| {
                let (mut both, mut either) = (0, 0);
                for (&t, &l) in scene.things.iter().zip(labels.as_slice()) {
                    both += usize::from(t == thing && l == part);
                    either += usize::from(t == thing || l == part);
                }
                both as f64 / either as f64
            };
            (0..10).map(|thing| (0..10).map(|part| overlap(thing, part)).fold(0.0, f64::max)).collect()
        };
        let (balanced, compassionate) = (found(2.0), found(1.0));
        assert!(compassionate.iter().all(|&f| f > 0.9), "tau = 1 finds every thing: {compassionate:?}");
        assert!(balanced.iter().any(|&f| f < 0.1), "tau = 2 misses a small one: {balanced:?}");
        assert!(balanced.iter().any(|&f| f > 0.4 && f < 0.6), "and halves a large one: {balanced:?}");
    }
}
