//! An image made ready once: its graph and the decimations of it, to be cut again and again.

use super::{Coarse, Grid, Scene, Segmentation, Segmenter};
use crate::{
    coarsen::Hierarchy,
    control::{Control, Progress},
    cost::Costs,
    embedding::{Embedding, Warm},
    error::{Error, Result},
    graph::{Balance, Graph},
    image::Image,
    labels::{LabelMap, Labels},
    parallel,
    report::{Stage, Stopwatch},
    sweep::SweepStep,
};

/// The graph of an image and its decimations, made by [`Segmenter::prepare`].
///
/// Segmenters that differ only in how the graph is cut (τ, the number of parts, the method) may share one.
///
/// ```
/// use ccbcut::{Control, Image, Segmenter, embedding::Warm};
/// let image = Image::new(16, 24, 1, (0..384).map(|p| if p % 24 < 9 { 0.9 } else { 0.2 }).collect())?;
/// let segmenter = Segmenter::new(2, 1.0).levels(1);
/// let prepared = segmenter.prepare(&image, None, &mut Control::new())?;
/// let cut = segmenter.segment_prepared(&prepared, &Warm::default(), &mut Control::new())?;
/// assert_eq!(cut.labels, segmenter.segment(&image)?.labels);
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Debug)]
pub struct Prepared {
    shape: (usize, usize),
    mask: Option<Vec<bool>>,
    graph: Graph,
    /// None without decimations: the graph itself is cut then.
    pyramid: Option<Hierarchy<'static>>,
    stages: Vec<Stage>,
}

impl Prepared {
    /// Rows and columns of the image.
    pub fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// How long the graph and its decimations took.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// Vertices of the graph that is cut: the pixels of the coarsest grid that are not masked out.
    pub fn n_coarse(&self) -> usize {
        let levels = self.pyramid.as_ref().map_or(0, Hierarchy::n_levels);
        Grid::of_shape(self.shape, self.mask.as_deref()).active_at(levels).len()
    }

    /// Bytes that it holds, about: the weights, the degrees and the way between the grids.
    pub fn n_bytes(&self) -> usize {
        let coarse = self.pyramid.as_ref().map_or(0, |pyramid| pyramid.coarse_graph().n_edges());
        let n = self.graph.n_vertices();
        // A pixel has four bytes for each edge that is kept, a coarse vertex twelve for each end of one; a row of the way up has some
        // eighty entries of twelve bytes.
        4 * self.graph.n_kept_weights() + 24 * coarse + n * (16 + 80 * 12)
    }

    /// What a label map costs on the graph of the pixels, and each part's term of (7) under a balance.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] for a map of another shape, and those of [`Costs::with_terms`].
    pub fn costs(&self, labels: &LabelMap, balance: &Balance, tau: f64) -> Result<(Costs, Vec<f64>)> {
        let (expected, got) = (self.graph.n_vertices(), labels.as_slice().len());
        if expected != got {
            return Err(Error::ShapeMismatch { what: "the label map", expected, got });
        }
        let grid = Grid::of_shape(self.shape, self.mask.as_deref());
        let on_pixels: Vec<u32> = grid.pixels().iter().map(|&p| labels.as_slice()[p as usize]).collect();
        let labels = Labels::from_raw(&on_pixels);
        parallel::inside(|| {
            if grid.pixels().len() == expected {
                return Costs::with_terms(&self.graph, &labels, balance, tau);
            }
            Costs::with_terms(&self.graph.induced(grid.pixels()), &labels, balance, tau)
        })
    }

    pub(super) fn with_scene<R>(&self, next: impl FnOnce(&Scene<'_>) -> Result<R>) -> Result<R> {
        let grid = Grid::of_shape(self.shape, self.mask.as_deref());
        let own;
        let pyramid: &Hierarchy<'_> = if let Some(pyramid) = &self.pyramid {
            pyramid
        } else {
            own = Hierarchy::build(&self.graph, self.shape.0, self.shape.1, 0, 1)?;
            &own
        };
        let coarse = Coarse::new(pyramid, grid.active_at(pyramid.n_levels()));
        next(&Scene { graph: &self.graph, pyramid, coarse: &coarse, grid: &grid })
    }
}

impl Segmenter {
    /// Makes the graph of an image and its decimations, to be cut as often as one likes.
    ///
    /// The number of parts matters for very small images only, which are decimated less for many parts.
    ///
    /// # Errors
    /// Those of the affinity, more parts than pixels, and [`Error::Interrupted`] when the control stopped the run.
    pub fn prepare(
        &self,
        image: &Image,
        mask: Option<&[bool]>,
        control: &mut Control<'_>,
    ) -> Result<Prepared> {
        parallel::inside(|| {
            let grid = Grid::new(image, mask);
            self.partitioner.check(grid.pixels().len())?;
            let mut watch = Stopwatch::start();
            control.tell(Progress::Stage("affinity"));
            let graph = self.pixel_graph(image, mask, &grid)?;
            watch.lap("affinity");
            if control.signals().is_stopped() {
                return Err(Error::Interrupted);
            }
            control.tell(Progress::Stage("coarsen"));
            let pyramid = self.pyramid(&graph, &grid)?;
            let pyramid = (pyramid.n_levels() > 0).then(|| pyramid.into_owned());
            watch.lap("coarsen");
            let shape = (image.height(), image.width());
            let (mask, stages) = (mask.map(<[bool]>::to_vec), watch.into_stages());
            Ok(Prepared { shape, mask, graph, pyramid, stages })
        })
    }

    /// Cuts a prepared image, started from what an earlier run at another τ left in `warm`.
    ///
    /// With an empty `warm` the result is that of [`Segmenter::segment_with`].
    ///
    /// # Errors
    /// As [`Segmenter::segment`].
    pub fn segment_prepared(
        &self,
        prepared: &Prepared,
        warm: &Warm,
        control: &mut Control<'_>,
    ) -> Result<Segmentation> {
        parallel::inside(|| {
            prepared.with_scene(|scene| {
                self.partitioner.check(scene.grid.pixels().len())?;
                self.cut(scene, Some(warm), control, Stopwatch::start())
            })
        })
    }

    /// How many parts of a prepared image are [joined again](crate::Partitioner::rejoin); a tree of as many leaves takes no longer
    /// than one of fewer. 0 where none are.
    pub fn n_rejoined(&self, prepared: &Prepared) -> usize {
        if self.scribbles.is_some() { 0 } else { self.joining().n_rejoined(prepared.n_coarse()) }
    }

    /// Coordinates of the pixels of a prepared image, as [`Segmenter::coordinates`] asks for them; `None` where they have none.
    ///
    /// # Errors
    /// As [`Segmenter::segment`].
    pub fn coordinates_prepared(
        &self,
        prepared: &Prepared,
        control: &mut Control<'_>,
    ) -> Result<Option<Embedding>> {
        parallel::inside(|| {
            prepared.with_scene(|scene| self.coordinates_of(scene, None, control, &mut Stopwatch::start()))
        })
    }

    /// Labels of the vertices that are cut, taken to the pixels; the numbers stay the same, and every one has a pixel.
    /// A stroke whose vertices have one label has that label to the last pixel.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless there is one label per vertex of [`Prepared::n_coarse`], and those of the strokes.
    pub fn paint(&self, prepared: &Prepared, labels: &Labels) -> Result<Vec<u32>> {
        parallel::inside(|| {
            prepared.with_scene(|scene| {
                let Scene { pyramid, coarse, grid, .. } = *scene;
                labels.check_len(coarse.graph().n_vertices())?;
                let mut leaves = coarse.leaves_on_pixels(pyramid, grid, labels, self.way_up())?;
                let constraints = self.constraints(coarse, grid, pyramid.n_levels())?;
                self.honour_strokes(&constraints, labels, &mut leaves);
                Ok(leaves)
            })
        })
    }

    /// Cuts a set of the vertices that are cut in two, as the next split of a hierarchical run would; strokes stay whole, and
    /// the strokes of two names, where the set has two, are taken apart.
    ///
    /// # Errors
    /// [`Error::TooFewVertices`] for fewer than two vertices, [`Error::IndexOutOfRange`] for one that is not there,
    /// [`Error::Interrupted`] when the control stopped the run, and those of the solver.
    pub fn split_part(
        &self,
        prepared: &Prepared,
        members: &[u32],
        control: &mut Control<'_>,
    ) -> Result<Labels> {
        let two =
            self.partitioner.clone().n_segments(2).rejoin(0).early_where_joined(self.n_rejoined(prepared));
        parallel::inside(|| {
            prepared.with_scene(|scene| {
                let graph = scene.coarse.graph();
                let limit = graph.n_vertices();
                if let Some(&v) = members.iter().find(|&&v| v as usize >= limit) {
                    return Err(Error::IndexOutOfRange { what: "the vertex", index: v as usize, limit });
                }
                let strokes = self.constraints(scene.coarse, scene.grid, scene.pyramid.n_levels())?;
                let inside = strokes.inside(members, 2);
                let cut = two.partition_constrained(&graph.induced(members), &inside, control)?;
                if cut.is_complete { Ok(cut.labels) } else { Err(Error::Interrupted) }
            })
        })
    }

    /// Follows the parts of an image through several τ; each step comes with its label map. Sizes and costs are those of
    /// the pixels.
    ///
    /// # Errors
    /// As [`Segmenter::segment_with`] and [`Partitioner::sweep`](crate::Partitioner::sweep).
    pub fn sweep(
        &self,
        image: &Image,
        mask: Option<&[bool]>,
        taus: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Vec<(SweepStep, LabelMap)>> {
        parallel::inside(|| {
            self.on_scene(image, mask, control, |scene, control, _| self.sweep_scene(scene, taus, control))
        })
    }

    /// The same for a prepared image.
    ///
    /// # Errors
    /// As [`Segmenter::sweep`].
    pub fn sweep_prepared(
        &self,
        prepared: &Prepared,
        taus: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Vec<(SweepStep, LabelMap)>> {
        parallel::inside(|| prepared.with_scene(|scene| self.sweep_scene(scene, taus, control)))
    }

    fn sweep_scene(
        &self,
        scene: &Scene<'_>,
        taus: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Vec<(SweepStep, LabelMap)>> {
        let Scene { graph, pyramid, coarse, grid } = *scene;
        let active = (grid.pixels().len() < graph.n_vertices()).then(|| graph.induced(grid.pixels()));
        let fine = active.as_ref().unwrap_or(graph);
        let upsampling = self.upsampling.unwrap_or_default();
        let contract = |parts: &Labels| self.contracted(scene, parts);
        let steps =
            self.joining().sweep_by(coarse.graph(), taus, Some(&contract), control, |labels, tau| {
                let leaves = coarse.leaves_on_pixels(pyramid, grid, labels, upsampling)?;
                let on_pixels: Vec<u32> = grid.pixels().iter().map(|&p| leaves[p as usize]).collect();
                let labels = Labels::from_raw(&on_pixels);
                let terms = Costs::with_terms(fine, &labels, &self.partitioner.balance, tau)?.1;
                Ok((labels, terms))
            })?;
        let painted = |step: SweepStep| Ok((step.clone(), grid.paint(step.labels.as_slice())?));
        steps.into_iter().map(painted).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::{cluster::Method, random::Random};

    /// Four blocks of different brightness, and noise.
    fn blocks() -> Image {
        let mut random = Random::new(7);
        let shade = |p: usize| [0.15, 0.4, 0.6, 0.85][2 * (p / 32 / 12) + p % 32 / 20];
        let value = |p: usize| shade(p) + 0.03 * (random.uniform() as f32 - 0.5);
        Image::new(24, 32, 1, (0..24 * 32).map(value).collect()).unwrap()
    }

    fn segmenter(k: usize, tau: f64, method: Method) -> Segmenter {
        Segmenter::new(k, tau).levels(1).partitioner(|p| p.method(method))
    }

    #[test]
    fn a_prepared_image_is_cut_as_the_image_is() {
        let image = blocks();
        let mask: Vec<bool> = (0..24 * 32).map(|p| p % 32 > 2).collect();
        for mask in [None, Some(mask.as_slice())] {
            let first = segmenter(3, 1.0, Method::Hierarchical);
            let prepared = first.prepare(&image, mask, &mut Control::new()).unwrap();
            for (method, tau) in
                [(Method::Hierarchical, 1.0), (Method::Multiway, 1.0), (Method::Hierarchical, 2.0)]
            {
                let other = segmenter(4, tau, method);
                let whole = other.segment_with(&image, mask, &mut Control::new()).unwrap();
                let cut = other.segment_prepared(&prepared, &Warm::default(), &mut Control::new()).unwrap();
                assert_eq!(cut.labels, whole.labels, "{method:?}, tau = {tau}");
                assert_eq!(cut.report.costs, whole.report.costs);
                let (costs, terms) = prepared.costs(&cut.labels, &Balance::Normalized, tau).unwrap();
                assert_eq!((costs, terms), (whole.report.costs, whole.report.part_costs));
            }
            assert!(prepared.n_bytes() > 24 * 32);
        }
    }

    #[test]
    fn fewer_parts_of_a_grown_tree_are_those_of_a_run_of_their_own() {
        let image = blocks();
        for rejoined in [0, 6, 20] {
            let with = |k: usize| {
                segmenter(k, 1.0, Method::Hierarchical)
                    .partitioner(|partitioner| partitioner.rejoin(rejoined))
            };
            let grown = with(9);
            let prepared = grown.prepare(&image, None, &mut Control::new()).unwrap();
            assert_eq!(grown.n_rejoined(&prepared), rejoined);
            let cut = grown.segment_prepared(&prepared, &Warm::default(), &mut Control::new()).unwrap();
            for k in 1..=9 {
                let raw = grown.paint(&prepared, &cut.tree().unwrap().cut(k).unwrap()).unwrap();
                let single = with(k).segment(&image).unwrap();
                assert_eq!(LabelMap::new(24, 32, &raw).unwrap(), single.labels, "k = {k}");
            }
            let stop = || true;
            let stopped = with(9).segment_with(&image, None, &mut Control::new().stop(&stop)).unwrap();
            assert!(!stopped.report.is_complete);
        }
    }

    #[test]
    fn parts_are_joined_again_by_the_ties_of_their_pixels() {
        let image = blocks();
        let mask: Vec<bool> = (0..24 * 32).map(|p| p % 32 > 4 || p / 32 > 9).collect();
        for (mask, tau) in [(None, 1.25), (Some(mask.as_slice()), 1.25), (None, 2.0)] {
            let control = &mut Control::new();
            // Splits that are joined again stop early by themselves.
            let with = |n_fine: usize, k: usize| {
                segmenter(k, tau, Method::Hierarchical)
                    .partitioner(|p| p.rejoin(n_fine).irrq(|irrq| irrq.early_stop(n_fine == 0)))
            };
            let prepared = with(0, 15).prepare(&image, mask, control).unwrap();
            // The parts of the splits, on the pixels, and joined there by definition.
            let fine = with(0, 15).segment_prepared(&prepared, &Warm::default(), control).unwrap();
            let parts = fine.tree().unwrap().cut(15).unwrap();
            let pixels = with(0, 15).paint(&prepared, &parts).unwrap();
            let graph = with(0, 15).graph(&image, mask).unwrap();
            let mut now: Vec<u32> = (0..15).collect();
            for k in (9..15).rev() {
                let current = Labels::from_raw(&now).into_vec();
                let cost = |a: u32, b: u32| {
                    let (mut cut, mut sizes) = (0.0, [0.0; 2]);
                    let of = |p: usize| current.get(pixels[p] as usize).copied();
                    graph.for_each_edge(|i, j, w| {
                        let ends = (of(i), of(j));
                        cut += if ends == (Some(a), Some(b)) || ends == (Some(b), Some(a)) { w } else { 0.0 };
                    });
                    for (p, degree) in graph.degrees().iter().enumerate() {
                        sizes[0] += if of(p) == Some(a) { *degree } else { 0.0 };
                        sizes[1] += if of(p) == Some(b) { *degree } else { 0.0 };
                    }
                    cut * sizes.map(|size: f64| size.powf(-0.5 * tau)).iter().sum::<f64>()
                };
                let pairs = (0..=k as u32).flat_map(|b| (0..b).map(move |a| (a, b)));
                let (a, b) = pairs.max_by(|&x, &y| cost(x.0, x.1).total_cmp(&cost(y.0, y.1))).unwrap();
                now = current.iter().map(|&part| if part == b { a } else { part }).collect();
                let joined = with(15, k).segment_prepared(&prepared, &Warm::default(), control).unwrap();
                let expected: Vec<u32> = parts.as_slice().iter().map(|&part| now[part as usize]).collect();
                assert_eq!(joined.tree().unwrap().cut(k).unwrap(), Labels::from_raw(&expected), "k = {k}");
            }
        }
    }

    #[test]
    fn a_part_is_split_as_the_run_that_joins_would() {
        let (image, control) = (blocks(), &mut Control::new());
        let with = |n_fine: usize, is_early: bool| {
            segmenter(15, 1.25, Method::Hierarchical)
                .partitioner(|p| p.rejoin(n_fine).irrq(|irrq| irrq.early_stop(is_early)))
        };
        let mask: Vec<bool> = (0..24 * 32).map(|p| p % 32 > 4 || p / 32 > 9).collect();
        let prepared = with(15, false).prepare(&image, Some(&mask), control).unwrap();
        let run = with(0, true).segment_prepared(&prepared, &Warm::default(), control).unwrap();
        let mut n_others = 0;
        for k in 1..15 {
            let (before, after) =
                (run.tree().unwrap().cut(k).unwrap(), run.tree().unwrap().cut(k + 1).unwrap());
            let is_split = |part: u32| {
                let inside = before.as_slice().iter().zip(after.as_slice()).filter(|(b, _)| **b == part);
                let mut names: Vec<u32> = inside.map(|(_, &a)| a).collect();
                names.dedup();
                names.iter().any(|name| *name != names[0])
            };
            let part = (0..k as u32).find(|&part| is_split(part)).unwrap();
            let members: Vec<u32> = (0..before.as_slice().len() as u32)
                .filter(|&v| before.as_slice()[v as usize] == part)
                .collect();
            let sides: Vec<u32> = members.iter().map(|&v| after.as_slice()[v as usize]).collect();
            let mut split =
                |segmenter: &Segmenter| segmenter.split_part(&prepared, &members, control).unwrap();
            assert_eq!(split(&with(15, false)), Labels::from_raw(&sides), "k = {k}");
            n_others += usize::from(split(&with(0, false)) != Labels::from_raw(&sides));
        }
        assert!(n_others > 0, "the early stop is seen here");
    }

    #[test]
    fn without_decimation_the_graph_itself_is_cut() {
        let image = blocks();
        let full = Segmenter::new(4, 1.0).levels(0).affinity(
            crate::affinity::LabAffinity::default().neighborhood(crate::affinity::Neighborhood::new(2.0)),
        );
        let prepared = full.prepare(&image, None, &mut Control::new()).unwrap();
        assert_eq!((prepared.n_coarse(), prepared.shape()), (768, (24, 32)));
        let cut = full.segment_prepared(&prepared, &Warm::default(), &mut Control::new()).unwrap();
        assert_eq!(cut.labels, full.segment(&image).unwrap().labels);
    }

    #[test]
    fn a_part_is_split_in_two_and_bad_ones_are_refused() {
        let image = blocks();
        let plain = |k: usize| segmenter(k, 1.0, Method::Hierarchical).partitioner(|p| p.rejoin(0));
        let two = plain(2);
        let prepared = two.prepare(&image, None, &mut Control::new()).unwrap();
        let cut = two.segment_prepared(&prepared, &Warm::default(), &mut Control::new()).unwrap();
        let tree = cut.tree().unwrap();
        let largest = if tree.nodes()[1].size() > tree.nodes()[2].size() { 1 } else { 2 };
        let members = tree.members(largest).unwrap();
        let labels = two.split_part(&prepared, members, &mut Control::new()).unwrap();
        assert_eq!((labels.len(), labels.n_segments()), (members.len(), 2));
        // The next split of a longer run is this one.
        let three = plain(3);
        let next = three.segment_prepared(&prepared, &Warm::default(), &mut Control::new()).unwrap();
        let next = next.tree().unwrap();
        if next.nodes()[3].parent() == Some(largest) {
            let sizes = [next.nodes()[3].size(), next.nodes()[4].size()];
            let mut own = labels.sizes();
            own.sort_unstable();
            assert_eq!(own, [sizes[0].min(sizes[1]), sizes[0].max(sizes[1])]);
        }
        let bad = |members: &[u32]| two.split_part(&prepared, members, &mut Control::new());
        assert!(matches!(bad(&[3]), Err(Error::TooFewVertices { .. })));
        assert!(matches!(bad(&[3, 999]), Err(Error::IndexOutOfRange { index: 999, .. })));
        let stop = || true;
        assert!(two.split_part(&prepared, members, &mut Control::new().stop(&stop)).is_err());
    }

    #[test]
    fn warm_starts_are_used_and_sweeps_are_told() {
        let image = blocks();
        let first = segmenter(4, 1.5, Method::Hierarchical);
        let prepared = first.prepare(&image, None, &mut Control::new()).unwrap();
        let warm = Warm::default();
        let n_sweeps = AtomicUsize::new(0);
        let count = |_: usize, _: &crate::Iteration| {
            n_sweeps.fetch_add(1, Ordering::Relaxed);
        };
        let cut = first.segment_prepared(&prepared, &warm, &mut Control::new().sweeps(&count)).unwrap();
        let told: usize = cut.report.runs.iter().map(|run| run.trace.iterations.len()).sum();
        assert_eq!(n_sweeps.into_inner(), told);
        let (warm, n_used) = warm.next();
        assert_eq!(n_used, 0);
        let second = segmenter(4, 1.4, Method::Hierarchical);
        second.segment_prepared(&prepared, &warm, &mut Control::new()).unwrap();
        assert!(warm.next().1 > 0);
    }

    #[test]
    fn sweeps_and_coordinates_are_those_of_the_image() {
        let image = blocks();
        let own = segmenter(3, 1.0, Method::Hierarchical).coordinates(3);
        let prepared = own.prepare(&image, None, &mut Control::new()).unwrap();
        let swept = own.sweep_prepared(&prepared, &[2.0, 1.0], &mut Control::new()).unwrap();
        assert_eq!(swept, own.sweep(&image, None, &[2.0, 1.0], &mut Control::new()).unwrap());
        let rows = own.coordinates_prepared(&prepared, &mut Control::new()).unwrap();
        assert_eq!(rows, own.segment(&image).unwrap().coordinates);
    }
}
