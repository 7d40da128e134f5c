//! Front door for graphs: [`Partitioner`] walks a graph through ROOMS 4 and 5.

mod solver;

pub use solver::Solver;

use std::{ops::ControlFlow, sync::Mutex};

use crate::{
    control::{Control, Progress},
    cost::Criterion,
    embedding::{Embedding, Irrq, IrrqFit, Soc, StopReason, Trace, Variant, Warm},
    error::{Error, Result},
    graph::{Balance, Graph},
    kmeans::Seeding,
    labels::Labels,
    parallel,
    partition::{
        Multiway, Rounding, SubgraphBalance, Tree,
        rejoin::{self, Contract},
    },
};

/// One embedding for all parts, or one per split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// All parts at once, from the rows of one embedding.
    Multiway,
    /// Two parts at a time; every number of parts up to the one asked for comes from one run.
    #[default]
    Hierarchical,
}

impl Method {
    /// The name used by the command and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Multiway => "multiway",
            Self::Hierarchical => "hierarchical",
        }
    }
}

/// Cuts a graph into parts.
///
/// ```
/// use ccbcut::{graph::gallery, Partitioner};
/// let graph = gallery::planted(&[30, 20, 10], 0.7, 0.02, 1);
/// let cut = Partitioner::new(3, 1.0).partition(&graph)?;
/// assert_eq!(cut.labels.sizes(), vec![30, 20, 10]);
/// // Every smaller number of parts comes with it.
/// assert_eq!(cut.labels_for(2)?.n_segments(), 2);
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Partitioner {
    pub(crate) n_segments: usize,
    pub(crate) tau: f64,
    pub(crate) balance: Balance,
    pub(crate) method: Method,
    pub(crate) variant: Variant,
    pub(crate) n_columns: Option<usize>,
    /// Whether the defaults are those of images: as many columns as parts, not one fewer, and rounding by rotation.
    is_of_image: bool,
    rounding: Option<Rounding>,
    n_init: usize,
    seeding: Seeding,
    subgraph_balance: SubgraphBalance,
    min_share: f64,
    /// Parts to cut into before they are joined again, where that was said.
    rejoined: Option<usize>,
    seed: u64,
    irrq: Irrq,
    solver: Solver,
    criterion: Option<Criterion>,
    is_refined: bool,
    n_starts: Option<usize>,
    soc: Soc,
}

/// What [`Partitioner::partition`] returns.
#[derive(Debug, Clone)]
pub struct Partition {
    /// One part number per vertex.
    pub labels: Labels,
    /// The nested splits (hierarchical only).
    pub tree: Option<Tree>,
    /// The embedding that was rounded (multiway only).
    pub embedding: Option<Embedding>,
    /// What every embedding did: one entry (multiway), or one per part that was embedded, larger parts first.
    pub runs: Vec<Run>,
    /// Whether the run went to its end.
    pub is_complete: bool,
}

/// One embedding computed on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Vertices of the subgraph.
    pub n_vertices: usize,
    /// Its lowest vertex number.
    pub first_vertex: u32,
    /// What happened.
    pub trace: Trace,
}

impl Partition {
    /// The partition into fewer parts: read off the tree; without one, only the number asked for is there.
    ///
    /// # Errors
    /// [`Error::TooFewVertices`] or [`Error::InvalidParameter`] for a number of parts that is not there.
    pub fn labels_for(&self, n_segments: usize) -> Result<Labels> {
        match &self.tree {
            Some(tree) => tree.cut(n_segments),
            None if n_segments == self.labels.n_segments() => Ok(self.labels.clone()),
            None => Err(Error::InvalidParameter {
                name: "the number of parts",
                value: n_segments as f64,
                expected: "the one asked for: a multiway cut has no others",
            }),
        }
    }

    /// How many of the embeddings ended at the sweep limit.
    pub fn n_unconverged(&self) -> usize {
        self.runs.iter().filter(|r| r.trace.stop_reason == StopReason::MaxIterations).count()
    }
}

impl Partitioner {
    /// Hierarchical, normalized balance, the paper's IRRQ settings.
    pub fn new(n_segments: usize, tau: f64) -> Self {
        Self {
            n_segments,
            tau,
            balance: Balance::Normalized,
            method: Method::Hierarchical,
            variant: Variant::Published,
            n_columns: None,
            is_of_image: false,
            rounding: None,
            n_init: 10,
            seeding: Seeding::default(),
            subgraph_balance: SubgraphBalance::Own,
            min_share: 0.0,
            rejoined: None,
            seed: 0,
            irrq: Irrq::new(tau),
            solver: Solver::Irrq,
            criterion: None,
            is_refined: false,
            n_starts: None,
            soc: Soc::new(tau),
        }
    }

    /// Another number of parts.
    #[must_use]
    pub fn n_segments(mut self, n_segments: usize) -> Self {
        self.n_segments = n_segments;
        self
    }

    /// Another τ in (0, 2].
    #[must_use]
    pub fn tau(mut self, tau: f64) -> Self {
        self.tau = tau;
        self.irrq = self.irrq.tau(tau);
        self
    }

    /// π: what part sizes are measured in.
    #[must_use]
    pub fn balance(mut self, balance: Balance) -> Self {
        self.balance = balance;
        self
    }

    /// Multiway or hierarchical.
    #[must_use]
    pub fn method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    /// Which reading of Algorithm 1.
    #[must_use]
    pub fn variant(mut self, variant: Variant) -> Self {
        self.variant = variant;
        self
    }

    /// Columns of the multiway embedding; by default one fewer than parts, which is how many tell separate parts apart. A
    /// [`Segmenter`](crate::Segmenter) has as many as parts, as in the paper (one fewer in the released variant).
    #[must_use]
    pub fn n_columns(mut self, n_columns: usize) -> Self {
        self.n_columns = Some(n_columns);
        self
    }

    /// How the multiway embedding is rounded; by default with k-means. A [`Segmenter`](crate::Segmenter) discretises at τ < 2, unless
    /// there are too few columns, the variant is the released one or the solver another than IRRQ.
    #[must_use]
    pub fn rounding(mut self, rounding: Rounding) -> Self {
        self.rounding = Some(rounding);
        self
    }

    /// Starts of k-means, or of [`Rounding::Discretize`].
    #[must_use]
    pub fn n_init(mut self, n_init: usize) -> Self {
        self.n_init = n_init;
        self
    }

    /// Which rows these starts are tried on (multiway).
    #[must_use]
    pub fn seeding(mut self, seeding: Seeding) -> Self {
        self.seeding = seeding;
        self
    }

    /// Which π the embeddings of subgraphs are balanced by (hierarchical).
    #[must_use]
    pub fn subgraph_balance(mut self, subgraph_balance: SubgraphBalance) -> Self {
        self.subgraph_balance = subgraph_balance;
        self
    }

    /// The least size of a part as a share of all vertices (hierarchical): a split that would leave less on a side is
    /// made only when no part can be split otherwise.
    #[must_use]
    pub fn min_share(mut self, min_share: f64) -> Self {
        self.min_share = min_share;
        self
    }

    /// Cuts into so many parts first, then joins them again, two at a time, until there are as many as asked for
    /// (hierarchical): of all pairs the one that is hardest to cut apart, by the cost that splits make small. 0 for the parts that
    /// the splits make, which is the default; for the pixels of images it is [`REJOIN`](crate::segment::REJOIN).
    ///
    /// Splits draw their first borders where they know least; joining takes back those that went through the middle of something.
    /// Parts are still nested, and come out the same whatever number is asked for. The splits [stop early](Irrq::early_stop). Those that leave less than
    /// [`Partitioner::min_share`] are not among those that are taken back. There is no more than one part for eight vertices, and nothing is joined where
    /// that leaves fewer than asked for and fewer than 120, or with [constraints](Partitioner::partition_constrained).
    #[must_use]
    pub fn rejoin(mut self, n_parts: usize) -> Self {
        self.rejoined = Some(n_parts);
        self
    }

    /// Joins so many parts again unless another number, or 0, was said; rivals and the released variant are left as they are.
    pub(crate) fn rejoin_by_default(mut self, n_parts: usize) -> Self {
        if self.solver == Solver::Irrq && self.variant != Variant::Released {
            self.rejoined = self.rejoined.or(Some(n_parts));
        }
        self
    }

    /// How many parts of a graph of so many vertices are joined again.
    pub(crate) fn n_rejoined(&self, n_vertices: usize) -> usize {
        let is_nested = self.method == Method::Hierarchical && self.n_segments > 1;
        if is_nested { rejoin::n_fine(self.rejoined.unwrap_or(0), n_vertices) } else { 0 }
    }

    /// Where parts are joined again, the last sweeps of a split make no difference that was ever measured; fewer than three are
    /// not joined.
    pub(crate) fn early_where_joined(self, n_parts: usize) -> Self {
        if n_parts > 2 { self.irrq(|irrq| irrq.early_stop(true)) } else { self }
    }

    /// Seed of everything random.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    pub(crate) fn seed_value(&self) -> u64 {
        self.seed
    }

    /// Changes the settings of IRRQ: `.irrq(|i| i.kappa(Kappa::Fraction(0.2)))`. Columns, balance, variant and
    /// seed are set from this struct.
    #[must_use]
    pub fn irrq(mut self, change: impl FnOnce(Irrq) -> Irrq) -> Self {
        self.irrq = change(self.irrq);
        self
    }

    /// Cuts a graph.
    ///
    /// # Errors
    /// Parameters out of range, more parts than vertices, or an eigenproblem that could not be solved.
    pub fn partition(&self, graph: &Graph) -> Result<Partition> {
        self.partition_with(graph, &mut Control::new())
    }

    /// Cuts a graph, with progress and a way to stop.
    ///
    /// # Errors
    /// As [`Partitioner::partition`].
    pub fn partition_with(&self, graph: &Graph, control: &mut Control<'_>) -> Result<Partition> {
        self.partition_on(graph, None, None, control)
    }

    /// Cuts a graph, its embeddings started from those that were kept at the last τ and kept for the next; `contract`, where there
    /// is one, tells how parts that are joined again are tied.
    pub(crate) fn partition_on(
        &self,
        graph: &Graph,
        warm: Option<&Warm>,
        contract: Option<Contract<'_>>,
        control: &mut Control<'_>,
    ) -> Result<Partition> {
        self.check(graph.n_vertices())?;
        parallel::inside(|| {
            if self.method == Method::Hierarchical {
                return self.hierarchical(graph, warm, contract, control);
            }
            let Some(warm) = warm else { return self.multiway(graph, control) };
            let all: Vec<u32> = (0..graph.n_vertices() as u32).collect();
            let cut = self.clone().irrq(|irrq| irrq.start(warm.start(&all))).multiway(graph, control)?;
            if let (Some(y), Some(run)) = (&cut.embedding, cut.runs.first()) {
                warm.keep(&all, y, &run.trace);
            }
            Ok(cut)
        })
    }

    /// Checks the number of parts against the number of vertices.
    pub(crate) fn check(&self, n_vertices: usize) -> Result<()> {
        if self.n_segments == 0 {
            return Err(Error::InvalidParameter {
                name: "the number of parts",
                value: 0.0,
                expected: "at least 1",
            });
        }
        if !(self.tau > 0.0 && self.tau <= 2.0) {
            return Err(Error::TauOutOfRange { tau: self.tau, expected: "an embedding needs 0 < tau <= 2" });
        }
        if !(0.0..=0.5).contains(&self.min_share) {
            let (name, value) = ("min_share", self.min_share);
            return Err(Error::InvalidParameter { name, value, expected: "between 0 and 0.5" });
        }
        if self.n_segments > n_vertices {
            return Err(Error::TooFewVertices { vertices: n_vertices, segments: self.n_segments });
        }
        self.check_solver()
    }

    /// With the defaults of images.
    pub(crate) fn of_image(mut self) -> Self {
        self.is_of_image = true;
        self
    }

    /// Columns of the multiway embedding on a graph of n vertices.
    pub(crate) fn columns(&self, n_vertices: usize) -> usize {
        let is_extra = self.is_of_image && self.variant != Variant::Released;
        let default = self.n_segments.saturating_sub(usize::from(!is_extra));
        self.n_columns.unwrap_or(default).clamp(1, n_vertices.saturating_sub(1).max(1))
    }

    /// The multiway embedding, or none where no vertex has a choice (one part, or as many as vertices).
    pub(crate) fn embed(&self, graph: &Graph, control: &mut Control<'_>) -> Result<Option<IrrqFit>> {
        if self.n_segments == 1 || self.n_segments == graph.n_vertices() {
            return Ok(None);
        }
        Ok(Some(self.embed_whole(graph, control)?))
    }

    /// How an embedding with some columns is rounded.
    fn rounding_of(&self, n_columns: usize) -> Rounding {
        let is_ours = self.variant != Variant::Released && self.solver == Solver::Irrq && self.tau < 2.0;
        let is_turned = self.is_of_image && is_ours && n_columns + 1 >= self.n_segments;
        self.rounding.unwrap_or(if is_turned { Rounding::Discretize } else { Rounding::KMeans })
    }

    /// Rounds the rows of an embedding; π weighs the rows where the rounding asks for it.
    pub(crate) fn round(&self, embedding: &Embedding, pi: &[f64]) -> Result<Labels> {
        let (n, m) = (embedding.n_vertices(), embedding.n_components());
        Multiway::new(self.n_segments)
            .rounding(self.rounding_of(m))
            .n_init(self.n_init)
            .seeding(self.seeding)
            .seed(self.seed)
            .partition(embedding.as_slice(), n, m, pi)
    }

    /// The partition when there is nothing to choose.
    pub(crate) fn trivial(&self, n_vertices: usize) -> Labels {
        if self.n_segments == 1 {
            Labels::single(n_vertices)
        } else {
            Labels::from_raw(&(0..n_vertices as u32).collect::<Vec<_>>())
        }
    }

    fn multiway(&self, graph: &Graph, control: &mut Control<'_>) -> Result<Partition> {
        control.tell(Progress::Stage("embedding"));
        let Some(fit) = self.embed(graph, control)? else {
            let labels = self.trivial(graph.n_vertices());
            return Ok(Partition {
                labels,
                tree: None,
                embedding: None,
                runs: Vec::new(),
                is_complete: true,
            });
        };
        control.tell(Progress::Stage("rounding"));
        let labels = self.round(&fit.embedding, &self.balance.weights(graph)?)?;
        let labels = self.refined(graph, labels)?;
        let is_complete = fit.trace.stop_reason != StopReason::Interrupted;
        let runs = vec![Run { n_vertices: graph.n_vertices(), first_vertex: 0, trace: fit.trace }];
        Ok(Partition { labels, tree: None, embedding: Some(fit.embedding), runs, is_complete })
    }

    fn hierarchical(
        &self,
        graph: &Graph,
        warm: Option<&Warm>,
        contract: Option<Contract<'_>>,
        control: &mut Control<'_>,
    ) -> Result<Partition> {
        control.tell(Progress::Stage("splitting"));
        let signals = control.signals();
        let runs = Mutex::new(Vec::new());
        let n_fine = self.n_rejoined(graph.n_vertices());
        let splitter = self.clone().early_where_joined(n_fine);
        let embed = |sub: &Graph, balance: &Balance, members: &[u32]| {
            splitter.columns_of_part(sub, balance, members, warm, signals, &runs)
        };
        let bisection = self.bisection(graph.n_vertices()).at_least(n_fine);
        let tree = bisection.run(graph, &self.balance, embed, |step| {
            control.tell(Progress::Split(step));
            if signals.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let tree = bisection.rejoined(tree, graph, &self.balance, n_fine, contract)?;
        let n_leaves = self.n_segments.min(tree.n_leaves());
        let tree = tree.truncated(n_leaves);
        let mut runs = runs.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        // Parts of equal size and lowest vertex cannot differ: each part is embedded once.
        runs.sort_by_key(|run: &Run| (std::cmp::Reverse(run.n_vertices), run.first_vertex));
        let labels = tree.cut(tree.n_leaves())?;
        let interrupted = runs.iter().any(|run| run.trace.stop_reason == StopReason::Interrupted);
        let is_complete = tree.is_complete() && !interrupted;
        Ok(Partition { labels, tree: Some(tree), embedding: None, runs, is_complete })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn rows_are_rounded_as_the_settings_say() {
        let (n, pi) = (900, vec![1.0; 900]);
        let mut random = Random::new(5);
        let values: Vec<f64> = (0..2 * n).map(|_| random.uniform().powi(5)).collect();
        let embedding = Embedding::new(n, 2, values.clone()).unwrap();
        let cut = |seeding| {
            let by_parts =
                Partitioner::new(4, 2.0).n_init(1).seed(3).seeding(seeding).round(&embedding, &pi).unwrap();
            let by_rows =
                Multiway::new(4).n_init(1).seed(3).seeding(seeding).partition(&values, n, 2, &pi).unwrap();
            assert_eq!(by_parts, by_rows);
            by_parts
        };
        assert_ne!(cut(Seeding::of_rows(0)), cut(Seeding::of_rows(80)));
    }

    #[test]
    fn images_are_discretised_where_there_are_columns_enough() {
        let graph = Partitioner::new(4, 1.0);
        let image = graph.clone().of_image();
        assert_eq!((graph.rounding_of(4), image.rounding_of(4)), (Rounding::KMeans, Rounding::Discretize));
        assert_eq!((image.rounding_of(3), image.rounding_of(2)), (Rounding::Discretize, Rounding::KMeans));
        assert_eq!(image.clone().variant(Variant::Released).rounding_of(4), Rounding::KMeans);
        assert_eq!(image.clone().solver(Solver::Soc).rounding_of(4), Rounding::KMeans);
        assert_eq!(image.clone().tau(2.0).rounding_of(4), Rounding::KMeans);
        assert_eq!(image.rounding(Rounding::Procrustes).rounding_of(4), Rounding::Procrustes);
    }
}
