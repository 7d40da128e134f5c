//! Front door for images: [`Segmenter`] walks an image through every room.

mod enlarge;
mod family;
mod grid;
mod prepared;
mod regions;
mod scribbles;
mod segmentation;

use std::sync::Arc;

use crate::{
    affinity::{Affinity, LabAffinity, LabKernel},
    choose::Choice,
    cluster::{Method, Partition, Partitioner, Run},
    coarsen::Hierarchy,
    control::{Control, Progress},
    cost::Costs,
    embedding::{Embedding, StopReason, Variant, Warm},
    error::Result,
    graph::{Balance, Graph},
    image::Image,
    labels::{LabelMap, Labels},
    parallel,
    partition::rejoin::Contracted,
    report::{Report, Stopwatch},
};
pub use enlarge::Enlarger;
pub use family::{Family, Member};
use grid::{Coarse, Grid};
pub use prepared::Prepared;
use segmentation::Nested;
pub use segmentation::Segmentation;

/// How little balance counts unless set otherwise.
pub const TAU: f64 = 1.25;

/// Width of the kernel unless set otherwise, in L*a*b* units.
pub const SIGMA: f64 = 3.0;

/// How far colours are blurred before they are compared unless set otherwise, in pixels.
pub const SMOOTHING: f64 = 1.0;

/// The least part of a hierarchical cut unless set otherwise, as a share of the image.
pub const MIN_SHARE: f64 = 0.002;

/// Parts that a hierarchical cut makes before they are joined again unless set otherwise.
pub const REJOIN: usize = 120;

/// Decimations unless set otherwise: two, or three for images with 96,000 pixels or more, which leaves a coarse graph of
/// 1,500 vertices or more, saves four fifths of the time, and finds better regions. The released variant has two.
pub fn default_levels(variant: Variant, n_pixels: usize) -> usize {
    if variant != Variant::Released && n_pixels >= 96_000 { 3 } else { 2 }
}

/// How the labels of a hierarchical cut of the coarse grid reach the pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Upsampling {
    /// The parts' indicators go up the way embeddings do, and each pixel joins the part it leans to most: the
    /// boundaries follow the image.
    #[default]
    Prolong,
    /// Each pixel takes the label of the nearest coarse pixel, as the released toolbox does.
    Nearest,
}

impl Upsampling {
    /// The name used by the command and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prolong => "prolong",
            Self::Nearest => "nearest",
        }
    }
}

/// Cuts images into parts.
///
/// ```
/// use ccbcut::{Image, Segmenter};
/// // A bright square on a dark ground.
/// let inside = |r: usize, c: usize| (4..12).contains(&r) && (8..16).contains(&c);
/// let pixels = (0..16 * 24).map(|p| if inside(p / 24, p % 24) { 0.9 } else { 0.2 }).collect();
/// let cut = Segmenter::new(2, 1.0).levels(0).segment(&Image::new(16, 24, 1, pixels)?)?;
/// assert_eq!(cut.labels.sizes(), vec![320, 64]);
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Clone)]
pub struct Segmenter {
    partitioner: Partitioner,
    affinity: Arc<dyn Affinity + Send + Sync>,
    levels: Option<usize>,
    upsampling: Option<Upsampling>,
    connected: bool,
    n_coordinates: usize,
    /// A name per pixel, 0 for none.
    scribbles: Option<Arc<[u32]>>,
}

impl std::fmt::Debug for Segmenter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segmenter")
            .field("partitioner", &self.partitioner)
            .field("affinity", &self.affinity.name())
            .field("levels", &self.levels)
            .field("upsampling", &self.upsampling)
            .field("connected", &self.connected)
            .field("n_coordinates", &self.n_coordinates)
            .field("scribbles", &self.scribbles.is_some())
            .finish()
    }
}

impl Segmenter {
    /// What did best on the photographs of BSDS500, together with τ = [`TAU`]: hierarchical; Lab affinity of radius 10, a
    /// Gaussian kernel of width [`SIGMA`] on colours blurred by [`SMOOTHING`]; no part below [`MIN_SHARE`]; [`REJOIN`] parts
    /// that are joined again; [`default_levels`] decimations. Settings of the paper: `docs/study-tau.md`.
    pub fn new(n_segments: usize, tau: f64) -> Self {
        Self {
            partitioner: Partitioner::new(n_segments, tau).min_share(MIN_SHARE).of_image(),
            affinity: Arc::new(LabAffinity::new(LabKernel::Gaussian { sigma: SIGMA }).smoothing(SMOOTHING)),
            levels: None,
            upsampling: None,
            connected: false,
            n_coordinates: 0,
            scribbles: None,
        }
    }

    /// Changes how the graph is cut: `.partitioner(|p| p.method(Method::Multiway))`.
    #[must_use]
    pub fn partitioner(mut self, change: impl FnOnce(Partitioner) -> Partitioner) -> Self {
        self.partitioner = change(self.partitioner).of_image();
        self
    }

    /// How pixels are tied.
    #[must_use]
    pub fn affinity(mut self, affinity: impl Affinity + Send + Sync + 'static) -> Self {
        self.affinity = Arc::new(affinity);
        self
    }

    /// Decimations before the eigenproblem; fewer are made, and reported, when the image is too small for them.
    #[must_use]
    pub fn levels(mut self, levels: usize) -> Self {
        self.levels = Some(levels);
        self
    }

    /// How hierarchical labels reach the pixels; by default [`Upsampling::Prolong`], in the released variant
    /// [`Upsampling::Nearest`].
    #[must_use]
    pub fn upsampling(mut self, upsampling: Upsampling) -> Self {
        self.upsampling = Some(upsampling);
        self
    }

    /// Whether every part is split into its connected regions at the end; there may then be more than asked for.
    #[must_use]
    pub fn connected(mut self, connected: bool) -> Self {
        self.connected = connected;
        self
    }

    /// How many coordinates of an embedding to keep for every pixel: those of the multiway cut itself where it has as
    /// many, else of one more embedding, into so many columns, of the graph that is cut.
    #[must_use]
    pub fn coordinates(mut self, n_coordinates: usize) -> Self {
        self.n_coordinates = n_coordinates;
        self
    }

    /// Strokes on the image: a number per pixel, row by row, 0 for none. Pixels of one number come out in one part, those of
    /// different numbers in different ones; for hierarchical cuts.
    #[must_use]
    pub fn scribbles(mut self, names: Vec<u32>) -> Self {
        self.scribbles = Some(names.into());
        self
    }

    /// The graph of an image's pixels that would be cut; those that `mask` marks `false` have no edges.
    ///
    /// # Errors
    /// Those of the affinity.
    pub fn graph(&self, image: &Image, mask: Option<&[bool]>) -> Result<Graph> {
        self.affinity.graph_masked(image, mask)
    }

    /// Chooses the number of parts, at most `k_max`, on the graph that would be cut.
    ///
    /// # Errors
    /// As [`Segmenter::segment_with`] and [`Partitioner::choose`].
    pub fn choose(
        &self,
        image: &Image,
        mask: Option<&[bool]>,
        k_max: usize,
        control: &mut Control<'_>,
    ) -> Result<Choice> {
        let mut any = self.clone();
        any.partitioner.n_segments = 1;
        parallel::inside(|| {
            any.on_scene(image, mask, control, |scene, control, _| {
                any.partitioner.choose(scene.coarse.graph(), k_max, control)
            })
        })
    }

    /// Cuts an image.
    ///
    /// # Errors
    /// Parameters out of range, more parts than pixels, or an eigenproblem that could not be solved.
    pub fn segment(&self, image: &Image) -> Result<Segmentation> {
        self.segment_with(image, None, &mut Control::new())
    }

    /// Cuts the pixels of an image that `mask` marks `true`, with progress and a way to stop.
    ///
    /// # Errors
    /// As [`Segmenter::segment`], and [`ShapeMismatch`](crate::Error::ShapeMismatch) for a mask that does not fit.
    pub fn segment_with(
        &self,
        image: &Image,
        mask: Option<&[bool]>,
        control: &mut Control<'_>,
    ) -> Result<Segmentation> {
        parallel::inside(|| self.run(image, mask, control))
    }

    fn run(&self, image: &Image, mask: Option<&[bool]>, control: &mut Control<'_>) -> Result<Segmentation> {
        self.on_scene(image, mask, control, |scene, control, watch| self.cut(scene, None, control, watch))
    }

    fn cut(
        &self,
        scene: &Scene<'_>,
        warm: Option<&Warm>,
        control: &mut Control<'_>,
        mut watch: Stopwatch,
    ) -> Result<Segmentation> {
        let mut cut = match self.partitioner.method {
            Method::Multiway if self.scribbles.is_some() => return Err(scribbles::only_hierarchical()),
            Method::Multiway => self.multiway(scene, warm, control, &mut watch)?,
            Method::Hierarchical => self.hierarchical(scene, warm, control, &mut watch)?,
        };
        if self.connected {
            cut.labels = cut.labels.connected();
        }
        let coordinates = self.coordinates_of(scene, cut.embedding.take(), control, &mut watch)?;
        control.tell(Progress::Stage("costs"));
        let report = self.report(scene, &cut, watch)?;
        Ok(Segmentation { labels: cut.labels, report, coordinates, nested: cut.nested })
    }

    /// Makes the graph of an image and its decimations, and hands them on.
    fn on_scene<'c, R>(
        &self,
        image: &Image,
        mask: Option<&[bool]>,
        control: &mut Control<'c>,
        next: impl FnOnce(&Scene<'_>, &mut Control<'c>, Stopwatch) -> Result<R>,
    ) -> Result<R> {
        let active = mask.map_or(image.n_pixels(), |m| m.iter().filter(|&&on| on).count());
        self.partitioner.check(active)?;
        let mut watch = Stopwatch::start();
        control.tell(Progress::Stage("affinity"));
        let grid = Grid::new(image, mask);
        let graph = self.pixel_graph(image, mask, &grid)?;
        watch.lap("affinity");

        control.tell(Progress::Stage("coarsen"));
        let pyramid = self.pyramid(&graph, &grid)?;
        let coarse = Coarse::new(&pyramid, grid.active_at(pyramid.n_levels()));
        watch.lap("coarsen");
        next(&Scene { graph: &graph, pyramid: &pyramid, coarse: &coarse, grid: &grid }, control, watch)
    }

    /// How often the graph is decimated: as the image allows.
    fn n_levels(&self, grid: &Grid<'_>) -> usize {
        let n_pixels = grid.height * grid.width;
        let levels = self.levels.unwrap_or_else(|| default_levels(self.partitioner.variant, n_pixels));
        grid.possible_levels(levels, self.partitioner.n_segments + 1)
    }

    /// The graph of the pixels. Where it is decimated nobody but walks along its rows needs it; parts of it, as masks leave, are cut
    /// out of what is kept.
    fn pixel_graph(&self, image: &Image, mask: Option<&[bool]>, grid: &Grid<'_>) -> Result<Graph> {
        if self.n_levels(grid) > 0 && mask.is_none() {
            return self.affinity.passing_graph_masked(image, mask);
        }
        self.affinity.graph_masked(image, mask)
    }

    /// The decimations of a graph.
    fn pyramid<'g>(&self, graph: &'g Graph, grid: &Grid<'_>) -> Result<Hierarchy<'g>> {
        let levels = self.n_levels(grid);
        let pyramid = Hierarchy::build(graph, grid.height, grid.width, levels, 1)?;
        let drops = self.partitioner.variant == Variant::Released;
        let drops = drops && self.partitioner.method == Method::Hierarchical;
        Ok(if drops { pyramid.without_self_loops() } else { pyramid })
    }

    /// Embeds the coarse graph, takes the embedding to the pixels, rounds it there.
    fn multiway(
        &self,
        scene: &Scene<'_>,
        warm: Option<&Warm>,
        control: &mut Control<'_>,
        watch: &mut Stopwatch,
    ) -> Result<Cut> {
        control.tell(Progress::Stage("embedding"));
        let n_active = scene.grid.pixels().len();
        let cut = |labels: Labels, runs: Vec<Run>| -> Result<Cut> {
            let is_complete = runs.iter().all(|r| r.trace.stop_reason != StopReason::Interrupted);
            let labels = scene.grid.paint(labels.as_slice())?;
            Ok(Cut { labels, nested: None, runs, is_complete, embedding: None })
        };
        if self.partitioner.n_segments == 1 || self.partitioner.n_segments == n_active {
            return cut(self.partitioner.trivial(n_active), Vec::new());
        }
        let all: Vec<u32> = (0..scene.coarse.graph().n_vertices() as u32).collect();
        let fit = match warm {
            Some(warm) => {
                let resumed = self.partitioner.clone().irrq(|irrq| irrq.start(warm.start(&all)));
                resumed.embed(scene.coarse.graph(), control)?
            }
            None => self.partitioner.embed(scene.coarse.graph(), control)?,
        };
        if let (Some(warm), Some(fit)) = (warm, &fit) {
            warm.keep(&all, &fit.embedding, &fit.trace);
        }
        watch.lap("embedding");
        control.tell(Progress::Stage("upsample"));
        let Some(fit) = fit else { return cut(self.partitioner.trivial(n_active), Vec::new()) };
        let fine = scene.on_pixels(&fit.embedding)?;
        watch.lap("upsample");
        control.tell(Progress::Stage("rounding"));
        let labels = self.partitioner.round(&fine, &scene.pixel_weights(&self.partitioner.balance)?)?;
        let labels = scene.refined(&self.partitioner, labels)?;
        watch.lap("rounding");
        let run = Run { n_vertices: scene.coarse.graph().n_vertices(), first_vertex: 0, trace: fit.trace };
        Ok(Cut { embedding: Some(fine), ..cut(labels, vec![run])? })
    }

    /// The coordinates that were asked for, one row per pixel; `own` is the embedding that was cut.
    fn coordinates_of(
        &self,
        scene: &Scene<'_>,
        own: Option<Embedding>,
        control: &mut Control<'_>,
        watch: &mut Stopwatch,
    ) -> Result<Option<Embedding>> {
        let wanted = self.n_coordinates;
        let n = scene.coarse.graph().n_vertices();
        if wanted == 0 || n < 3 {
            return Ok(None);
        }
        let rows = if let Some(own) = own.filter(|own| own.n_components() >= wanted) {
            own
        } else {
            control.tell(Progress::Stage("coordinates"));
            let mut partitioner = self.partitioner.clone().n_columns(wanted);
            partitioner.n_segments = partitioner.n_segments.clamp(2, n - 1);
            let Some(fit) = partitioner.embed(scene.coarse.graph(), control)? else { return Ok(None) };
            scene.on_pixels(&fit.embedding)?
        };
        let columns = wanted.min(rows.n_components());
        let mut all = vec![0.0; scene.grid.height * scene.grid.width * columns];
        for (k, &p) in scene.grid.pixels().iter().enumerate() {
            all[p as usize * columns..][..columns].copy_from_slice(&rows.row(k)[..columns]);
        }
        watch.lap("coordinates");
        Embedding::new(scene.grid.height * scene.grid.width, columns, all).map(Some)
    }

    /// Splits the coarse graph part by part, then takes the leaves to the pixels.
    fn hierarchical(
        &self,
        scene: &Scene<'_>,
        warm: Option<&Warm>,
        control: &mut Control<'_>,
        watch: &mut Stopwatch,
    ) -> Result<Cut> {
        let Scene { pyramid, coarse, grid, .. } = *scene;
        let constraints = self.constraints(coarse, grid, pyramid.n_levels())?;
        let partition = if constraints.is_empty() {
            let contract = |parts: &Labels| self.contracted(scene, parts);
            self.joining().partition_on(coarse.graph(), warm, Some(&contract), control)?
        } else {
            self.partitioner.constrained(coarse.graph(), &constraints, warm, control)?
        };
        watch.lap("splitting");
        control.tell(Progress::Stage("upsample"));
        let mut leaves = coarse.leaves_on_pixels(pyramid, grid, &partition.labels, self.way_up())?;
        self.honour_strokes(&constraints, &partition.labels, &mut leaves);
        let labels = grid.map(&leaves)?;
        watch.lap("upsample");
        let Partition { labels: coarse_leaves, tree, runs, is_complete, .. } = partition;
        let leaves = LabelMap::numbered(grid.height, grid.width, leaves, coarse_leaves.n_segments());
        let nested = tree.map(|tree| Nested { tree, coarse_leaves, leaves });
        Ok(Cut { labels, nested, runs, is_complete, embedding: None })
    }

    /// The partitioner that joins parts again, unless that was not wanted.
    fn joining(&self) -> Partitioner {
        self.partitioner.clone().rejoin_by_default(REJOIN)
    }

    /// Parts of the coarse graph with the ties and sizes that their pixels have. The ties of the coarse graph itself go over
    /// longer ways, and blur the borders that tell parts apart.
    fn contracted(&self, scene: &Scene<'_>, parts: &Labels) -> Result<Contracted> {
        let Scene { graph, pyramid, coarse, grid } = *scene;
        // Whatever way the labels go in the end: borders in steps of the coarse grid would tie what they miss.
        let mut raw = coarse.leaves_on_pixels(pyramid, grid, parts, Upsampling::Prolong)?;
        let n_parts = parts.n_segments();
        let mut sizes = vec![0.0; n_parts];
        for (&p, pi) in grid.pixels().iter().zip(scene.pixel_weights(&self.partitioner.balance)?) {
            sizes[raw[p as usize] as usize] += pi;
        }
        // Pixels that take no part have no edges: they may stand with any part.
        raw.iter_mut().filter(|part| **part == LabelMap::VOID).for_each(|part| *part = 0);
        Ok(Contracted { graph: graph.contracted(&raw, n_parts)?, sizes })
    }

    /// How labels reach the pixels.
    fn way_up(&self) -> Upsampling {
        self.upsampling.unwrap_or(match self.partitioner.variant {
            Variant::Released => Upsampling::Nearest,
            Variant::Published | Variant::Weighted => Upsampling::Prolong,
        })
    }

    fn report(&self, scene: &Scene<'_>, cut: &Cut, mut watch: Stopwatch) -> Result<Report> {
        let Scene { graph, pyramid, coarse, grid } = *scene;
        let on_pixels: Vec<u32> = grid.pixels().iter().map(|&p| cut.labels.as_slice()[p as usize]).collect();
        let labels = Labels::from_raw(&on_pixels);
        let n_void = graph.n_vertices() - labels.len();
        let active = (n_void > 0).then(|| graph.induced(grid.pixels()));
        let graph = active.as_ref().unwrap_or(graph);
        let Partitioner { balance, tau, .. } = &self.partitioner;
        let (costs, part_costs) = Costs::with_terms(graph, &labels, balance, *tau)?;
        let components = graph.components().n_segments();
        watch.lap("costs");
        Ok(Report {
            n: labels.len(),
            edges: graph.n_edges(),
            components,
            levels: pyramid.n_levels(),
            coarse_n: coarse.graph().n_vertices(),
            coarse_edges: coarse.graph().n_edges(),
            stages: watch.into_stages(),
            runs: cut.runs.clone(),
            is_complete: cut.is_complete,
            n_segments: cut.labels.n_segments(),
            sizes: cut.labels.sizes(),
            costs,
            part_costs,
        })
    }
}

/// An image on its way: its graph, the decimations of it, the pixels that take part.
struct Scene<'a> {
    graph: &'a Graph,
    pyramid: &'a Hierarchy<'a>,
    coarse: &'a Coarse<'a>,
    grid: &'a Grid<'a>,
}

impl Scene<'_> {
    /// An embedding of the coarse graph, taken to the active pixels.
    fn on_pixels(&self, embedding: &Embedding) -> Result<Embedding> {
        let columns = embedding.n_components();
        let fine = self.pyramid.prolong(&self.coarse.scatter(embedding.as_slice(), columns), columns)?;
        Embedding::new(self.grid.pixels().len(), columns, self.grid.active_rows(fine, columns))
    }

    /// A partition of the active pixels, refined where that is asked for.
    fn refined(&self, partitioner: &Partitioner, labels: Labels) -> Result<Labels> {
        if !partitioner.is_refined() || self.grid.pixels().len() == self.graph.n_vertices() {
            return partitioner.refined(self.graph, labels);
        }
        partitioner.refined(&self.graph.induced(self.grid.pixels()), labels)
    }

    /// π of the active pixels.
    fn pixel_weights(&self, balance: &Balance) -> Result<Vec<f64>> {
        if *balance == Balance::Ratio {
            return Ok(vec![1.0; self.grid.pixels().len()]);
        }
        if let Balance::Custom(weights) = balance
            && weights.len() == self.grid.pixels().len()
        {
            return Ok(weights.clone());
        }
        let pi = balance.weights(self.graph)?;
        Ok(self.grid.pixels().iter().map(|&p| pi[p as usize]).collect())
    }
}

/// What either method hands back.
struct Cut {
    labels: LabelMap,
    nested: Option<Nested>,
    runs: Vec<Run>,
    is_complete: bool,
    /// What was rounded, on the active pixels (multiway).
    embedding: Option<Embedding>,
}
