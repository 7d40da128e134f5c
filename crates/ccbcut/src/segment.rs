//! Front door for images: [`Segmenter`] walks an image through every room.

use std::sync::Arc;

use crate::{
    affinity::{Affinity, LabAffinity, LabKernel},
    cluster::{Method, Partition, Partitioner, Run},
    coarsen::Hierarchy,
    control::{Control, Progress},
    cost::Costs,
    embedding::{Embedding, StopReason, Variant},
    error::{Error, Result},
    graph::{Balance, Graph},
    image::Image,
    labels::{LabelMap, Labels, four_neighbors},
    parallel,
    partition::Tree,
    report::{Report, Stopwatch},
    ucm::Ucm,
};

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
    levels: usize,
    upsampling: Option<Upsampling>,
    connected: bool,
}

impl std::fmt::Debug for Segmenter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segmenter")
            .field("partitioner", &self.partitioner)
            .field("affinity", &self.affinity.name())
            .field("levels", &self.levels)
            .field("upsampling", &self.upsampling)
            .field("connected", &self.connected)
            .finish()
    }
}

/// What [`Segmenter::segment`] returns.
#[derive(Debug, Clone)]
pub struct Segmentation {
    /// One part number per pixel.
    pub labels: LabelMap,
    /// What was solved and measured.
    pub report: Report,
    tree: Option<Tree>,
    /// Leaf of the tree per pixel (hierarchical only).
    leaves: Option<LabelMap>,
    /// Leaf of the tree per vertex of the coarse graph.
    coarse_leaves: Labels,
}

impl Segmentation {
    /// The label map with fewer parts, read off the tree of a hierarchical run.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a number of parts that is not there.
    pub fn labels_for(&self, n_segments: usize) -> Result<LabelMap> {
        let (Some(tree), Some(leaves)) = (&self.tree, &self.leaves) else {
            if n_segments == self.labels.n_segments() {
                return Ok(self.labels.clone());
            }
            return Err(Error::InvalidParameter {
                name: "the number of parts",
                value: n_segments as f64,
                expected: "the one asked for: a multiway cut has no others",
            });
        };
        let parts = tree.cut(n_segments)?;
        let mut part_of_leaf = vec![LabelMap::VOID; self.coarse_leaves.n_segments()];
        for (&leaf, &part) in self.coarse_leaves.as_slice().iter().zip(parts.as_slice()) {
            part_of_leaf[leaf as usize] = part;
        }
        let raw: Vec<u32> = leaves
            .as_slice()
            .iter()
            .map(|&leaf| if leaf == LabelMap::VOID { LabelMap::VOID } else { part_of_leaf[leaf as usize] })
            .collect();
        LabelMap::new(leaves.height(), leaves.width(), &raw)
    }

    /// The tree of splits over the vertices of the coarse graph (hierarchical only).
    pub fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    /// The contour map of the tree, whose threshold [`Ucm::threshold_for`] k has the connected regions of
    /// [`Segmentation::labels_for`] k; `None` for a multiway cut, which has no tree.
    pub fn ucm(&self) -> Option<Ucm> {
        let (tree, leaves) = (self.tree.as_ref()?, self.leaves.as_ref()?);
        let mut node_of_leaf = vec![0; tree.n_leaves()];
        for (node, _) in tree.nodes().iter().enumerate().filter(|(_, node)| node.children().is_none()) {
            let &vertex = tree.members(node).ok()?.first()?;
            node_of_leaf[self.coarse_leaves.as_slice()[vertex as usize] as usize] = node;
        }
        Ucm::from_tree(leaves, tree, &node_of_leaf).ok()
    }
}

impl Segmenter {
    /// Lab affinity of radius 10 with a Gaussian kernel, two decimations, hierarchical.
    pub fn new(n_segments: usize, tau: f64) -> Self {
        Self {
            partitioner: Partitioner::new(n_segments, tau),
            affinity: Arc::new(LabAffinity::new(LabKernel::default())),
            levels: 2,
            upsampling: None,
            connected: false,
        }
    }

    /// Changes how the graph is cut: `.partitioner(|p| p.method(Method::Multiway))`.
    #[must_use]
    pub fn partitioner(mut self, change: impl FnOnce(Partitioner) -> Partitioner) -> Self {
        self.partitioner = change(self.partitioner);
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
        self.levels = levels;
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
    /// As [`Segmenter::segment`], and [`Error::ShapeMismatch`] for a mask that does not fit.
    pub fn segment_with(
        &self,
        image: &Image,
        mask: Option<&[bool]>,
        control: &mut Control<'_>,
    ) -> Result<Segmentation> {
        parallel::inside(|| self.run(image, mask, control))
    }

    fn run(&self, image: &Image, mask: Option<&[bool]>, control: &mut Control<'_>) -> Result<Segmentation> {
        let active = mask.map_or(image.n_pixels(), |m| m.iter().filter(|&&on| on).count());
        self.partitioner.check(active)?;
        let mut watch = Stopwatch::start();
        control.tell(Progress::Stage("affinity"));
        let graph = self.affinity.graph_masked(image, mask)?;
        watch.lap("affinity");

        control.tell(Progress::Stage("coarsen"));
        let grid = Grid::new(image, mask);
        let levels = grid.possible_levels(self.levels, self.partitioner.n_segments + 1);
        let mut pyramid = Hierarchy::build(&graph, grid.height, grid.width, levels, 1)?;
        if self.partitioner.variant == Variant::Released && self.partitioner.method == Method::Hierarchical {
            pyramid = pyramid.without_self_loops();
        }
        let kept = grid.active_at(pyramid.n_levels());
        let coarse = Coarse::new(&pyramid, kept);
        watch.lap("coarsen");

        let mut cut = match self.partitioner.method {
            Method::Multiway => self.multiway(&graph, &pyramid, &coarse, &grid, control, &mut watch)?,
            Method::Hierarchical => self.hierarchical(&pyramid, &coarse, &grid, control, &mut watch)?,
        };
        if self.connected {
            cut.labels = cut.labels.connected();
        }
        control.tell(Progress::Stage("costs"));
        let report = self.report(&graph, &coarse, &grid, &cut, watch, pyramid.n_levels())?;
        let Cut { labels, leaves, partition, .. } = cut;
        let coarse_leaves = partition.as_ref().map_or(Labels::single(0), |p| p.labels.clone());
        Ok(Segmentation { labels, report, tree: partition.and_then(|p| p.tree), leaves, coarse_leaves })
    }

    /// Embeds the coarse graph, takes the embedding to the pixels, rounds it there.
    fn multiway(
        &self,
        graph: &Graph,
        pyramid: &Hierarchy<'_>,
        coarse: &Coarse<'_>,
        grid: &Grid<'_>,
        control: &mut Control<'_>,
        watch: &mut Stopwatch,
    ) -> Result<Cut> {
        control.tell(Progress::Stage("embedding"));
        let n_active = grid.pixels().len();
        let cut = |labels: Labels, runs: Vec<Run>| -> Result<Cut> {
            let is_complete = runs.iter().all(|r| r.trace.stop_reason != StopReason::Interrupted);
            Ok(Cut {
                labels: grid.paint(labels.as_slice())?,
                leaves: None,
                partition: None,
                runs,
                is_complete,
            })
        };
        if self.partitioner.n_segments == 1 || self.partitioner.n_segments == n_active {
            return cut(self.partitioner.trivial(n_active), Vec::new());
        }
        let fit = self.partitioner.embed(coarse.graph(), control)?;
        watch.lap("embedding");
        control.tell(Progress::Stage("upsample"));
        let Some(fit) = fit else { return cut(self.partitioner.trivial(n_active), Vec::new()) };
        let columns = fit.embedding.n_components();
        let fine = pyramid.prolong(&coarse.scatter(fit.embedding.as_slice(), columns), columns)?;
        let fine = Embedding::new(n_active, columns, grid.active_rows(fine, columns))?;
        watch.lap("upsample");
        control.tell(Progress::Stage("rounding"));
        let pi = match self.partitioner.balance {
            Balance::Ratio => vec![1.0; n_active],
            Balance::Normalized | Balance::Custom(_) => {
                let pi = self.partitioner.balance.weights(graph)?;
                grid.pixels().iter().map(|&p| pi[p as usize]).collect()
            }
        };
        let labels = self.partitioner.round(&fine, &pi)?;
        watch.lap("rounding");
        let run = Run { n_vertices: coarse.graph().n_vertices(), first_vertex: 0, trace: fit.trace };
        cut(labels, vec![run])
    }

    /// Splits the coarse graph part by part, then takes the leaves to the pixels.
    fn hierarchical(
        &self,
        pyramid: &Hierarchy<'_>,
        coarse: &Coarse<'_>,
        grid: &Grid<'_>,
        control: &mut Control<'_>,
        watch: &mut Stopwatch,
    ) -> Result<Cut> {
        let mut partition = self.partitioner.partition_with(coarse.graph(), control)?;
        watch.lap("splitting");
        control.tell(Progress::Stage("upsample"));
        let default = match self.partitioner.variant {
            Variant::Released => Upsampling::Nearest,
            Variant::Published | Variant::Weighted => Upsampling::Prolong,
        };
        let leaves =
            coarse.leaves_on_pixels(pyramid, grid, &partition.labels, self.upsampling.unwrap_or(default))?;
        let labels = grid.map(&leaves)?;
        watch.lap("upsample");
        let runs = std::mem::take(&mut partition.runs);
        let is_complete = partition.is_complete;
        // The leaves keep the coarse numbering, which `labels_for` looks up; they must not be renumbered.
        let leaves = Some(LabelMap::numbered(grid.height, grid.width, leaves, partition.labels.n_segments()));
        Ok(Cut { labels, leaves, partition: Some(partition), runs, is_complete })
    }

    fn report(
        &self,
        graph: &Graph,
        coarse: &Coarse<'_>,
        grid: &Grid<'_>,
        cut: &Cut,
        mut watch: Stopwatch,
        levels: usize,
    ) -> Result<Report> {
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
            levels,
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

/// What either method hands back.
struct Cut {
    labels: LabelMap,
    leaves: Option<LabelMap>,
    partition: Option<Partition>,
    runs: Vec<Run>,
    is_complete: bool,
}

/// The pixels that take part.
struct Grid<'m> {
    height: usize,
    width: usize,
    mask: Option<&'m [bool]>,
    pixels: Vec<u32>,
}

impl<'m> Grid<'m> {
    fn new(image: &Image, mask: Option<&'m [bool]>) -> Self {
        let pixels = (0..image.n_pixels() as u32).filter(|&p| mask.is_none_or(|m| m[p as usize])).collect();
        Self { height: image.height(), width: image.width(), mask, pixels }
    }

    fn pixels(&self) -> &[u32] {
        &self.pixels
    }

    /// The rows of the active pixels, `columns` values each.
    fn active_rows(&self, rows: Vec<f64>, columns: usize) -> Vec<f64> {
        if self.pixels.len() == self.height * self.width {
            return rows;
        }
        let mut active = Vec::with_capacity(self.pixels.len() * columns);
        for &p in &self.pixels {
            active.extend_from_slice(&rows[p as usize * columns..(p as usize + 1) * columns]);
        }
        active
    }

    /// The active pixels of the grid after some decimations, as numbers on that grid.
    fn active_at(&self, levels: usize) -> Vec<u32> {
        let (step, first) = (1_usize << levels, (1_usize << levels) - 1);
        let (h, w) = (self.height >> levels, self.width >> levels);
        let is_active = |p: &u32| {
            let (r, c) = (*p as usize / w, *p as usize % w);
            self.mask.is_none_or(|m| m[(r * step + first) * self.width + c * step + first])
        };
        (0..(h * w) as u32).filter(is_active).collect()
    }

    /// The largest number of decimations, at most `levels`, that keeps at least `least` active pixels.
    fn possible_levels(&self, levels: usize, least: usize) -> usize {
        (1..=levels.min(30)).take_while(|&l| self.active_at(l).len() >= least).last().unwrap_or(0)
    }

    /// A label map from labels of the active pixels.
    fn paint(&self, labels: &[u32]) -> Result<LabelMap> {
        let mut raw = vec![LabelMap::VOID; self.height * self.width];
        for (&p, &label) in self.pixels.iter().zip(labels) {
            raw[p as usize] = label;
        }
        self.map(&raw)
    }

    fn map(&self, raw: &[u32]) -> Result<LabelMap> {
        LabelMap::new(self.height, self.width, raw)
    }
}

/// The coarse graph on its active pixels.
struct Coarse<'a> {
    graph: std::borrow::Cow<'a, Graph>,
    active: Vec<u32>,
    n_all: usize,
}

impl<'a> Coarse<'a> {
    fn new(pyramid: &'a Hierarchy<'_>, active: Vec<u32>) -> Self {
        let whole = pyramid.coarse_graph();
        let n_all = whole.n_vertices();
        let graph = if active.len() == n_all {
            std::borrow::Cow::Borrowed(whole)
        } else {
            std::borrow::Cow::Owned(whole.induced(&active))
        };
        Self { graph, active, n_all }
    }

    fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Rows of the active vertices spread over the whole coarse grid, zero elsewhere.
    fn scatter(&self, rows: &[f64], columns: usize) -> Vec<f64> {
        let mut all = vec![0.0; self.n_all * columns];
        for (row, &v) in rows.chunks_exact(columns).zip(&self.active) {
            all[v as usize * columns..(v as usize + 1) * columns].copy_from_slice(row);
        }
        all
    }

    /// The leaf of every pixel: VOID outside the mask, and every leaf present.
    fn leaves_on_pixels(
        &self,
        pyramid: &Hierarchy<'_>,
        grid: &Grid<'_>,
        labels: &Labels,
        upsampling: Upsampling,
    ) -> Result<Vec<u32>> {
        let mut coarse = vec![LabelMap::VOID; self.n_all];
        for (&v, &label) in self.active.iter().zip(labels.as_slice()) {
            coarse[v as usize] = label;
        }
        let nearest = pyramid.nearest(&coarse)?;
        let mut fine = nearest.clone();
        if upsampling == Upsampling::Prolong && pyramid.n_levels() > 0 {
            let k = labels.n_segments();
            let mut indicators = vec![0.0; self.n_all * k];
            for (v, &label) in coarse.iter().enumerate().filter(|&(_, &l)| l != LabelMap::VOID) {
                indicators[v * k + label as usize] = 1.0;
            }
            let leaning = pyramid.prolong(&indicators, k)?;
            for (label, row) in fine.iter_mut().zip(leaning.chunks_exact(k)) {
                let mut best = 0;
                for (part, &value) in row.iter().enumerate() {
                    if value > row[best] {
                        best = part;
                    }
                }
                if row[best] > 0.0 {
                    *label = best as u32;
                }
            }
        }
        if let Some(mask) = grid.mask {
            fill_gaps(&mut fine, mask, grid.height, grid.width);
        }
        restore_lost(&mut fine, &nearest, labels.n_segments());
        Ok(fine)
    }
}

/// A part that won no pixel gets back those of its nearest coarse pixels. That may take the last pixel of another
/// part, which then gets back its own, until none is lost: each part is somewhere in `nearest`, and no pixel that
/// was given back is taken again.
fn restore_lost(fine: &mut [u32], nearest: &[u32], n_parts: usize) {
    loop {
        let mut present = vec![false; n_parts];
        fine.iter().filter(|&&l| l != LabelMap::VOID).for_each(|&l| present[l as usize] = true);
        let mut given_back = false;
        for (label, &own) in fine.iter_mut().zip(nearest) {
            if *label != LabelMap::VOID && own != LabelMap::VOID && !present[own as usize] {
                *label = own;
                given_back = true;
            }
        }
        if !given_back {
            return;
        }
    }
}

/// Masked-out pixels become void; active pixels without a label take that of the closest labelled pixel.
fn fill_gaps(fine: &mut [u32], mask: &[bool], height: usize, width: usize) {
    for (label, &on) in fine.iter_mut().zip(mask) {
        if !on {
            *label = LabelMap::VOID;
        }
    }
    let mut queue: std::collections::VecDeque<usize> =
        (0..fine.len()).filter(|&p| fine[p] != LabelMap::VOID).collect();
    let mut spread = vec![LabelMap::VOID; fine.len()];
    queue.iter().for_each(|&p| spread[p] = fine[p]);
    while let Some(p) = queue.pop_front() {
        for q in four_neighbors(p, height, width) {
            if spread[q] == LabelMap::VOID {
                spread[q] = spread[p];
                queue.push_back(q);
            }
        }
    }
    for (p, label) in fine.iter_mut().enumerate() {
        if mask[p] && *label == LabelMap::VOID {
            *label = spread[p];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VOID: u32 = LabelMap::VOID;

    #[test]
    fn a_leaf_that_won_no_pixel_gets_its_own_back() {
        let mut fine = [0, 0, 0, 1, 1, 1];
        restore_lost(&mut fine, &[0, 0, 2, 2, 1, 1], 3);
        assert_eq!(fine, [0, 0, 2, 2, 1, 1]);
        // Nobody is lost: nothing moves, although the nearest labels differ.
        let mut fine = [0, 1, 1, 1, 0, 2];
        restore_lost(&mut fine, &[0, 0, 1, 1, 2, 2], 3);
        assert_eq!(fine, [0, 1, 1, 1, 0, 2]);
    }

    #[test]
    fn giving_back_to_one_leaf_does_not_lose_another() {
        // Leaf 0 lost everything, and what it gets back are the only pixels of leaf 1.
        let mut fine = [1, 1, 2, 2, 2];
        restore_lost(&mut fine, &[0, 0, 1, 2, 2], 3);
        assert_eq!(fine, [0, 0, 1, 2, 2]);
    }

    #[test]
    fn void_pixels_are_not_given_back() {
        let mut fine = [VOID, 0, 0, 0];
        restore_lost(&mut fine, &[1, 1, VOID, 0], 2);
        assert_eq!(fine, [VOID, 1, 0, 0]);
    }

    #[test]
    fn gaps_take_the_label_of_the_closest_pixel_and_masked_ones_none() {
        let mask = [true, true, true, true, true, true, false, true, false, true];
        let mut fine = [0, VOID, VOID, VOID, 1, 0, 0, VOID, 1, 1];
        fill_gaps(&mut fine, &mask, 2, 5);
        // Pixel 2 is two steps from either side; the one that comes first in raster order has it.
        assert_eq!(fine, [0, 0, 0, 1, 1, 0, VOID, 0, VOID, 1]);
        let mut nothing = [VOID; 4];
        fill_gaps(&mut nothing, &[true; 4], 2, 2);
        assert_eq!(nothing, [VOID; 4], "there is no label to take");
    }

    #[test]
    fn levels_are_counted_on_the_pixels_that_are_kept() {
        let image = Image::new(8, 8, 1, vec![0.5; 64]).unwrap();
        let whole = Grid::new(&image, None);
        assert_eq!(whole.active_at(1).len(), 16);
        assert_eq!([1, 4, 5, 16, 17].map(|least| whole.possible_levels(9, least)), [3, 2, 1, 1, 0]);
        // A mask on the pixels of odd rows and columns alone leaves nothing to halve.
        let mask: Vec<bool> = (0..64).map(|p| p / 8 % 2 == 0 || p % 2 == 0).collect();
        let masked = Grid::new(&image, Some(&mask));
        assert_eq!((masked.pixels().len(), masked.possible_levels(9, 1)), (48, 0));
    }
}
