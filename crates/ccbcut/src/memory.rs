//! How many bytes a run will need, told before they are taken.
//!
//! A [`Prediction`] is one table of named terms. Each is held from one [`Phase`] to another, and the peak is the
//! largest sum of terms held at the same time. Sizes follow from the shape of the input and from how each room stores
//! what it makes; the number of entries of a factor is counted for a graph, and bounded by its band for an image. What
//! is not predicted is time.

use crate::{
    embedding::limits::{DENSE, DENSE_LIMIT, LARGE, MAX_ENTRIES, cheap_flops, cycle_panel, max_basis},
    graph::Graph,
    linalg::{block_for, cholesky::Symbolic},
};

/// Parts whose indicators go up to the pixels at a time.
pub(crate) const INDICATORS: usize = 64;

/// Where a run is; in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Phase {
    /// The input is there.
    Read,
    /// Pixels are tied.
    Affinity,
    /// The graph is decimated.
    Coarsen,
    /// Eigenproblems are solved.
    Embedding,
    /// Embeddings or labels go to the pixels.
    Upsample,
    /// Rows become parts.
    Rounding,
    /// The cut is measured and written.
    Costs,
}

impl Phase {
    const ALL: [Self; 7] = [
        Self::Read,
        Self::Affinity,
        Self::Coarsen,
        Self::Embedding,
        Self::Upsample,
        Self::Rounding,
        Self::Costs,
    ];

    /// The name used by the command and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Affinity => "affinity",
            Self::Coarsen => "coarsen",
            Self::Embedding => "embedding",
            Self::Upsample => "upsample",
            Self::Rounding => "rounding",
            Self::Costs => "costs",
        }
    }
}

/// Something that takes memory for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Term {
    /// What it is.
    pub name: &'static str,
    /// How large.
    pub bytes: u64,
    /// The phase that makes it.
    pub from: Phase,
    /// The last phase that holds it.
    pub to: Phase,
}

/// What a run will need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prediction {
    /// The terms, in the order in which they appear.
    pub terms: Vec<Term>,
}

impl Prediction {
    /// Bytes held at the same time in a phase.
    pub fn held_in(&self, phase: Phase) -> u64 {
        let held = self.terms.iter().filter(|term| term.from <= phase && phase <= term.to);
        held.fold(0, |sum, term| sum.saturating_add(term.bytes))
    }

    /// The phase that needs most, and how many bytes.
    pub fn peak(&self) -> (Phase, u64) {
        let mut peak = (Phase::Read, 0);
        for phase in Phase::ALL {
            let bytes = self.held_in(phase);
            if bytes > peak.1 {
                peak = (phase, bytes);
            }
        }
        peak
    }
}

/// Whether a run has room for the weights between pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PixelWeights {
    /// They are kept.
    Kept,
    /// Where the image is decimated they are found anew on every walk over them, as those of colours alone are; otherwise kept.
    Found,
}

/// What an image is cut with, as far as memory is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageRun {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// Numbers per pixel.
    pub channels: usize,
    /// Affinities that are multiplied.
    pub affinities: usize,
    /// Whether contours are looked for.
    pub detects_contours: bool,
    /// Whether it is learned which pixels meet (PMI).
    pub learns_pairs: bool,
    /// The weights between pixels.
    pub weights: PixelWeights,
    /// Half the neighbours of a pixel: the offsets that the graph stores.
    pub offsets: usize,
    /// Decimations asked for.
    pub levels: usize,
    /// Parts.
    pub segments: usize,
    /// Parts that are joined again (hierarchical).
    pub rejoined: usize,
    /// Columns of the embedding (multiway); one for a hierarchical cut.
    pub columns: usize,
    /// Whether the graph is reweighted: at τ = 2 it is not.
    pub reweights: bool,
}

/// The program itself and its threads.
const PROGRAM: f64 = 16e6;

/// What the allocator of the command holds back of memory that is done with: in small runs more than the rest, as it deals in pages
/// of 2 MB, …
const KEPT_SHARE: f64 = 1.5;

/// … and in large ones so many bytes. Ten runs of images and graphs took 73 MB less to 192 MB more than the other terms.
const KEPT: f64 = 96e6;

/// Bytes of an entry of compressed rows: an index and a weight.
const ENTRY: f64 = 12.0;

/// Entries of the graphs of aggregates for each edge of a pixel graph: about twice what one photograph had, enlarged to 2.5 and
/// to 12 megapixels.
const AGGREGATED: f64 = 0.125;

/// Bytes a pixel that the detector of contours holds: responses of 34 filters, two sets of oriented strengths, bins.
const CONTOURS: f64 = 220.0;

/// Bytes a pixel of the features and marginal densities of PMI, and what its tiles take, all threads together.
const FEATURES: f64 = 120.0;
const DENSITIES: f64 = 48e6;

/// Graphs that hierarchical cuts hold for parts of a graph of pixels, those of a box and reweighted, as a multiple of the whole. With this
/// the whole prediction is 0.95 to 1.4 times what 20 photographs took.
const PARTS: f64 = 3.0;

/// Predicts a run over an image.
pub fn of_image(run: &ImageRun) -> Prediction {
    let pixels = (run.height as f64) * (run.width as f64);
    let neighbors = 2.0 * run.offsets as f64;
    let reach = (neighbors / std::f64::consts::PI).sqrt();
    // Near its border, a grid has only a part of the disc around a pixel: this much of it on average.
    let inside = |height: usize, width: usize| {
        let border = 4.0 / (3.0 * std::f64::consts::PI) * reach;
        neighbors * (1.0 - border / height.max(1) as f64 - border / width.max(1) as f64).max(0.2)
    };
    let mut table = Table::new();
    // The pixels, the 8-bit copy for pictures, the list of pixels and the label maps.
    table.add("image", pixels * (4.0 * run.channels as f64 + 3.0 + 12.0), Phase::Read, Phase::Costs);
    let graph_bytes = pixels * (4.0 * run.offsets as f64 + 8.0);
    let is_decimated = run.levels > 0 && (run.height / 2).saturating_mul(run.width / 2) > run.segments;
    // Degrees, and colours in two orders, where weights are found anew from these.
    let found = pixels * (8.0 + 2.0 * 12.0);
    let kept = if is_decimated && run.weights == PixelWeights::Found { found } else { graph_bytes };
    table.add("pixel graph", kept, Phase::Affinity, Phase::Costs);
    if run.affinities > 1 {
        table.add("second pixel graph", graph_bytes, Phase::Affinity, Phase::Affinity);
    }
    if run.detects_contours {
        table.add("contours", pixels * CONTOURS, Phase::Affinity, Phase::Affinity);
    }
    if run.learns_pairs {
        // What threads have taken for them is not always given back.
        table.add("densities", pixels * FEATURES + DENSITIES, Phase::Affinity, Phase::Costs);
    }
    table.add("colours", pixels * 12.0, Phase::Affinity, Phase::Affinity);

    let (mut height, mut width, mut level) = (run.height, run.width, 0);
    let (mut graph, mut largest_step, mut above) = (0.0, 0.0_f64, 0.0);
    while level < run.levels && (height / 2).saturating_mul(width / 2) > run.segments {
        let fine = height as f64 * width as f64;
        let mixed = inside(height, width) / 4.0;
        (height, width, level) = (height / 2, width / 2, level + 1);
        let coarse = height as f64 * width as f64;
        // Each pixel is a mixture of the kept quarter of its neighbours: one plane per offset, in 32 bits from the
        // image and in 64 from a decimated graph.
        let bytes = if level == 1 { 4.0 } else { 8.0 };
        table.add("way back up", fine * (bytes * mixed + 8.0), Phase::Coarsen, Phase::Upsample);
        // Half of the next graph, by offsets; the half before it is still there.
        let half = coarse * 4.0 * inside(height, width);
        largest_step = largest_step.max(above + half);
        above = half;
        graph = coarse * (ENTRY * inside(height, width) + 24.0);
    }
    table.add("decimation", largest_step, Phase::Coarsen, Phase::Coarsen);
    table.add("coarse graph", graph, Phase::Coarsen, Phase::Costs);
    let vertices = height as f64 * width as f64;
    // Every vertex is tied to the next `reach` lines of the shorter side.
    let band = (reach.ceil() + 1.0) * height.min(width) as f64;
    let entries = (vertices * band.min(vertices / 2.0)).min(MAX_ENTRIES);
    let edges = vertices * inside(height, width) / 2.0;
    if vertices > LARGE as f64 && edges >= DENSE as f64 * vertices {
        let graph = if level == 0 { graph_bytes } else { 2.0 * ENTRY * edges };
        let vertices = height.saturating_mul(width);
        table.multilevel_solver(vertices, graph, AGGREGATED * ENTRY * edges, run.columns, run.reweights);
    } else {
        table.solver(vertices, edges, entries, run.columns);
    }

    if run.columns > 1 {
        let rows = 8.0 * pixels * run.columns as f64;
        table.add("pixel embedding", rows, Phase::Upsample, Phase::Rounding);
        table.add("its copies", rows, Phase::Upsample, Phase::Upsample);
        table.add("k-means", pixels * 28.0 + 0.1 * rows, Phase::Rounding, Phase::Rounding);
    } else {
        // They are kept for every second pixel of every second row; of the pixels only the highest is.
        let indicators = INDICATORS.min(run.segments.max(run.rejoined)) as f64;
        table.add("indicators of parts", 2.5 * indicators * pixels, Phase::Upsample, Phase::Upsample);
        table.add("labels of pixels", 24.0 * pixels, Phase::Upsample, Phase::Rounding);
    }
    table.done()
}

/// What a grid of tokens is cut with, as far as memory is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenRun {
    /// Tokens.
    pub tokens: usize,
    /// Features of each.
    pub channels: usize,
    /// How many nearest neighbours; all pairs where there is none.
    pub nearest: Option<usize>,
    /// Pixels of the image that the tokens cover.
    pub pixels: usize,
    /// Columns of the embedding (multiway); one for a hierarchical cut.
    pub columns: usize,
}

/// Predicts a run over a grid of tokens.
pub fn of_tokens(run: &TokenRun) -> Prediction {
    let (tokens, pixels) = (run.tokens as f64, run.pixels as f64);
    let values = tokens * run.channels as f64;
    let pairs = 0.5 * tokens * (tokens - 1.0).max(0.0);
    let edges = run.nearest.map_or(pairs, |count| pairs.min(tokens * count as f64));
    let mut table = Table::new();
    // The pixels, the 8-bit copy for pictures and the label maps.
    table.add("image", pixels * (12.0 + 3.0 + 12.0), Phase::Read, Phase::Costs);
    table.add("features", 4.0 * values, Phase::Read, Phase::Costs);
    table.add("tokens", 8.0 * values, Phase::Affinity, Phase::Affinity);
    if run.nearest.is_none() {
        table.add("pairs", 4.0 * pairs, Phase::Affinity, Phase::Affinity);
    }
    table.add("graph", 2.0 * ENTRY * edges + 24.0 * tokens, Phase::Affinity, Phase::Costs);
    // Which edge is which from the other end, found once.
    table.add("edge numbers", 4.0 * edges, Phase::Embedding, Phase::Costs);
    // Likeness knows no band: nearly everything is filled in.
    table.solver(tokens, edges, pairs.min(MAX_ENTRIES), run.columns);
    table.add("embedding", 8.0 * tokens * run.columns as f64, Phase::Embedding, Phase::Costs);
    if run.pixels > run.tokens {
        // The graphs of the image and its copies, and four columns with their changes.
        table.add(
            "way to the pixels",
            pixels * 4.0 / 3.0 * (4.0 * 6.0 + 12.0 + 3.0 * 16.0),
            Phase::Upsample,
            Phase::Upsample,
        );
    }
    table.done()
}

/// Predicts a run over the superpixels of an image.
pub fn of_regions(pixels: usize, regions: usize, detects_contours: bool, columns: usize) -> Prediction {
    let (pixels, regions) = (pixels as f64, regions.min(pixels) as f64);
    let mut table = Table::new();
    table.add("image", pixels * (12.0 + 3.0 + 12.0), Phase::Read, Phase::Costs);
    // Colours twice, by pixel and by plane; the nearest centre, the sets of connected pixels and their numbers.
    table.add("superpixels", pixels * (2.0 * 12.0 + 3.0 * 4.0), Phase::Affinity, Phase::Affinity);
    table.add("region map", pixels * 4.0, Phase::Affinity, Phase::Costs);
    if detects_contours {
        table.add("contours", pixels * CONTOURS, Phase::Affinity, Phase::Affinity);
    }
    // Regions in the plane touch about six others.
    let edges = 3.0 * regions;
    table.add("graph", 2.0 * ENTRY * edges + 24.0 * regions, Phase::Affinity, Phase::Costs);
    table.solver(regions, edges, (regions * 8.0 * regions.log2().max(1.0)).min(MAX_ENTRIES), columns);
    table.add("embedding", 8.0 * regions * columns as f64, Phase::Embedding, Phase::Costs);
    table.done()
}

/// Predicts a run over a graph that is there already; `columns` is 1 for a hierarchical cut.
///
/// # Complexity
/// That of the symbolic analysis of each component.
pub fn of_graph(graph: &Graph, columns: usize) -> Prediction {
    let (vertices, edges) = (graph.n_vertices() as f64, graph.n_edges() as f64);
    let mut table = Table::new();
    table.add("graph", 2.0 * ENTRY * edges + 24.0 * vertices, Phase::Read, Phase::Costs);
    // A file is decoded into lists of edges first.
    table.add("file", 2.0 * 16.0 * edges, Phase::Read, Phase::Read);
    table.solver(vertices, edges, factor_entries(graph), columns);
    table.add("embedding", 8.0 * vertices * columns as f64, Phase::Embedding, Phase::Costs);
    table.add("k-means", vertices * 28.0, Phase::Rounding, Phase::Rounding);
    table.done()
}

/// Numbers stored in the largest factor that will be made.
fn factor_entries(graph: &Graph) -> f64 {
    let components = graph.components();
    let analyzed = |graph: &Graph| {
        Symbolic::analyze(graph, cheap_flops(graph), MAX_ENTRIES).map_or(0.0, |s| s.entries())
    };
    if components.n_segments() == 1 && graph.n_vertices() > DENSE_LIMIT {
        return analyzed(graph);
    }
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); components.n_segments()];
    for (v, &c) in components.as_slice().iter().enumerate() {
        members[c as usize].push(v as u32);
    }
    let large = members.iter().filter(|vertices| vertices.len() > DENSE_LIMIT);
    large.map(|vertices| analyzed(&graph.induced(vertices))).fold(0.0, f64::max)
}

/// Terms in the making.
struct Table(Vec<Term>);

impl Table {
    fn new() -> Self {
        let mut table = Self(Vec::new());
        table.add("program", PROGRAM, Phase::Read, Phase::Costs);
        table
    }

    fn add(&mut self, name: &'static str, bytes: f64, from: Phase, to: Phase) {
        if bytes >= 1.0 {
            self.0.push(Term { name, bytes: bytes as u64, from, to });
        }
    }

    /// The eigenproblems: reweighted graph, pattern, factor and basis.
    fn solver(&mut self, vertices: f64, edges: f64, entries: f64, columns: usize) {
        let wanted = columns as f64;
        self.add("reweighted graph", 2.0 * ENTRY * edges, Phase::Embedding, Phase::Embedding);
        // The pattern, and the orders of elimination that are compared.
        let analysis = 2.0 * (2.0 * 4.0 * edges + 40.0 * vertices);
        self.add("analysis", analysis, Phase::Embedding, Phase::Embedding);
        // In double precision, which follows where single precision is not enough.
        self.add("factor", 8.0 * entries, Phase::Embedding, Phase::Embedding);
        if columns == 1 {
            self.add("parts", 2.0 * ENTRY * edges, Phase::Embedding, Phase::Embedding);
        }
        // Vectors and their images, a few blocks of each, and the blocks that a step works with.
        let vectors = 2.0 * (4.0 * wanted + 24.0) + 4.0 * wanted;
        self.add("basis", 8.0 * vertices * vectors, Phase::Embedding, Phase::Embedding);
    }

    /// The same for a graph that is too large to be factored, and takes `graph` bytes: its aggregates with their factor, and a
    /// basis that is kept short.
    fn multilevel_solver(
        &mut self,
        vertices: usize,
        graph: f64,
        aggregates: f64,
        columns: usize,
        reweights: bool,
    ) {
        let block = block_for(columns);
        let mut add = |name, bytes| self.add(name, bytes, Phase::Embedding, Phase::Embedding);
        if reweights {
            add("reweighted graph", graph);
        }
        add("aggregates", aggregates);
        if columns == 1 {
            // Several are cut at a time, each out of a box that is larger than itself.
            add("parts", PARTS * graph);
        }
        let (basis, keeps_image) = max_basis(vertices, columns);
        // What is mapped at a time; and single vectors.
        let mut vectors = if keeps_image { 2 * basis + block } else { basis + 8 } + 5;
        if reweights {
            // What the next sweep starts from, and the columns before it.
            vectors += block + columns;
        }
        add("basis", 8.0 * vertices as f64 * vectors as f64);
        add("cycle", 2.0 * 4.0 * vertices as f64 * block.min(cycle_panel(vertices)) as f64);
    }

    fn done(mut self) -> Prediction {
        let (_, peak) = Prediction { terms: self.0.clone() }.peak();
        let kept = KEPT_SHARE * (peak as f64 - PROGRAM).max(0.0);
        self.add("kept for reuse", kept.min(KEPT), Phase::Read, Phase::Costs);
        Prediction { terms: self.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::gallery;

    fn photograph(side: usize, levels: usize) -> ImageRun {
        let (affinities, detects_contours, learns_pairs) = (1, false, false);
        let (height, width, channels, offsets, segments, columns) = (side, side, 3, 158, 8, 8);
        ImageRun {
            height,
            width,
            channels,
            affinities,
            detects_contours,
            learns_pairs,
            weights: PixelWeights::Kept,
            offsets,
            levels,
            segments,
            rejoined: 0,
            columns,
            reweights: true,
        }
    }

    #[test]
    fn the_peak_is_the_largest_sum_of_what_is_held_together() {
        let term = |bytes, from, to| Term { name: "x", bytes, from, to };
        let terms = vec![
            term(5, Phase::Read, Phase::Costs),
            term(7, Phase::Coarsen, Phase::Embedding),
            term(6, Phase::Embedding, Phase::Upsample),
            term(12, Phase::Rounding, Phase::Rounding),
        ];
        let prediction = Prediction { terms };
        assert_eq!(Phase::ALL.map(|phase| prediction.held_in(phase)), [5, 5, 12, 18, 11, 17, 5]);
        assert_eq!(prediction.peak(), (Phase::Embedding, 18));
        assert_eq!(
            Prediction { terms: vec![term(u64::MAX, Phase::Read, Phase::Read); 2] }.peak().1,
            u64::MAX
        );
    }

    #[test]
    fn memory_grows_with_the_pixels_and_falls_with_nothing() {
        // But for what the allocator keeps, which does not grow.
        let of_image = |run: &ImageRun| {
            let mut prediction = super::of_image(run);
            prediction.terms.retain(|term| term.name != "kept for reuse");
            prediction
        };
        let peak = |side, levels| of_image(&photograph(side, levels)).peak().1;
        let ratio = |large, small| {
            (peak(large, 2) - PROGRAM as u64) as f64 / (peak(small, 2) - PROGRAM as u64) as f64
        };
        // Four times the pixels; a factor grows faster, and a large graph has none.
        assert!((3.9..5.0).contains(&ratio(400, 200)), "{}", ratio(400, 200));
        assert!((2.5..4.6).contains(&ratio(800, 400)), "{}", ratio(800, 400));
        let wider = of_image(&ImageRun { columns: 30, ..photograph(400, 2) });
        assert!(wider.held_in(Phase::Upsample) > of_image(&photograph(400, 2)).held_in(Phase::Upsample));
        // Weights that are not kept take nothing from the first phase on, unless there is no decimation.
        let found = |levels| {
            of_image(&ImageRun { weights: PixelWeights::Found, ..photograph(400, levels) })
                .held_in(Phase::Coarsen)
        };
        let kept = |levels| of_image(&photograph(400, levels)).held_in(Phase::Coarsen);
        assert_eq!(kept(2) - found(2), 400 * 400 * (4 * 158 - 24));
        assert_eq!(kept(0), found(0));
        let huge = ImageRun { height: usize::MAX, width: usize::MAX, ..photograph(1, 2) };
        assert_eq!(super::of_image(&huge).peak().1, u64::MAX);
        let kept = |side| super::of_image(&photograph(side, 2)).peak().1 - peak(side, 2);
        let share = KEPT_SHARE * (peak(20, 2) as f64 - PROGRAM);
        assert_eq!((kept(20), kept(400)), (share as u64, KEPT as u64));
    }

    #[test]
    fn graphs_of_pixels_that_are_not_factored_count_as_they_are_stored() {
        let bytes = |run: &ImageRun, name: &str| {
            of_image(run).terms.iter().find(|term| term.name == name).map(|term| term.bytes)
        };
        let whole = ImageRun { columns: 1, ..photograph(400, 0) };
        let stored = bytes(&whole, "pixel graph");
        assert!(stored.is_some());
        let parts = stored.map(|bytes| 3 * bytes);
        assert_eq!((bytes(&whole, "reweighted graph"), bytes(&whole, "parts")), (stored, parts));
        assert_eq!((bytes(&whole, "factor"), bytes(&whole, "analysis")), (None, None));
        let plain = ImageRun { reweights: false, ..whole };
        assert_eq!((bytes(&plain, "reweighted graph"), bytes(&plain, "parts")), (None, parts));
        // Once decimated it has a factor.
        assert!(bytes(&photograph(400, 2), "factor").is_some());
        assert_eq!(bytes(&photograph(400, 2), "aggregates"), None);
    }

    #[test]
    fn all_pairs_of_tokens_need_most() {
        let run = TokenRun { tokens: 3600, channels: 768, nearest: Some(20), pixels: 360_000, columns: 1 };
        let all = TokenRun { nearest: None, ..run };
        let (few, many) = (of_tokens(&run).peak().1, of_tokens(&all).peak().1);
        assert!(2 * few < many, "{few} {many}");
        assert!(many > 3600 * 3600 * 12);
        assert_eq!(of_tokens(&TokenRun { tokens: usize::MAX, ..all }).peak().1, u64::MAX);
    }

    #[test]
    fn the_factor_of_a_graph_is_counted_by_component() {
        let pieces = gallery::planted(&[60, 60], 1.0, 0.0, 1);
        let one = gallery::planted(&[60], 1.0, 0.0, 1);
        assert!(factor_entries(&one) > 1000.0);
        assert!((factor_entries(&pieces) - factor_entries(&one)).abs() < 1e-9);
        assert_eq!(factor_entries(&gallery::planted(&[20, 20], 1.0, 0.0, 1)), 0.0);
        let terms = of_graph(&one, 2).terms;
        assert!(terms.iter().any(|term| term.name == "factor" && term.bytes > 4000));
    }
}
