//! Cuts and the views of them: what is computed, kept and shown.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use ccbcut::{
    Balance, Control, LabelMap, Labels, Progress, Report, Segmenter, Variant,
    cost::Costs,
    embedding::Warm,
    partition::{Dendrogram, Tree},
    segment::{Prepared, default_levels},
};
use serde_json::{Value, json};

use crate::{
    App,
    images::{Picture, fingerprint},
    jobs::Job,
    problem::Problem,
    settings::{Edit, Settings},
    strokes::Marks,
};

/// A cut that was made.
#[derive(Debug)]
pub struct Cut {
    /// Its name in addresses; the same cut has the same name.
    pub id: String,
    /// What was cut.
    pub picture: Arc<Picture>,
    /// How.
    pub settings: Settings,
    /// The strokes that it keeps to.
    pub marks: Option<Arc<Marks>>,
    /// The name of the prepared graph.
    pub graph: String,
    /// What the command would cut with.
    pub segmenter: Segmenter,
    /// The record of the run.
    pub report: Report,
    /// The tree over the vertices that were cut, or the labels of a multiway cut.
    pub found: Found,
    /// The fewest parts that may be shown: pens need one each, and tiny images are decimated less for many parts than for few.
    pub least: usize,
    /// Whether it began from another cut, and so may differ from what the command finds.
    pub is_warm: bool,
}

/// What a cut found.
#[derive(Debug)]
pub enum Found {
    /// A tree, and the same over the pixels.
    Tree(Box<(Tree, Dendrogram)>),
    /// All parts at once.
    Flat(LabelMap),
}

impl Cut {
    /// The tree of a hierarchical cut.
    pub fn tree(&self) -> Option<&Tree> {
        match &self.found {
            Found::Tree(tree) => Some(&tree.0),
            Found::Flat(_) => None,
        }
    }

    /// The most parts that can be shown.
    pub fn n_leaves(&self) -> usize {
        match &self.found {
            Found::Tree(tree) => tree.0.n_leaves(),
            Found::Flat(map) => map.n_segments(),
        }
    }

    /// What sizes are measured in.
    pub fn balance(&self) -> Balance {
        if self.settings.balance == "ratio" { Balance::Ratio } else { Balance::Normalized }
    }

    fn n_bytes(&self) -> usize {
        let coarse = self.tree().map_or(0, Tree::n_vertices);
        let marks = self.marks.as_ref().map_or(0, |marks| 5 * marks.n_bytes());
        self.picture.n_bytes() + self.picture.image.n_pixels() * 8 + coarse * 16 + marks + 4096
    }

    /// The tree for the page.
    pub fn tree_json(&self) -> Value {
        let Some(tree) = self.tree() else { return json!({ "nodes": [], "costs": [] }) };
        let n = tree.n_vertices().max(1) as f64;
        let node = |node: &ccbcut::partition::Node| {
            json!([node.parent(), node.children(), node.step(), node.size() as f64 / n])
        };
        json!({ "nodes": tree.nodes().iter().map(node).collect::<Vec<_>>(), "costs": tree.costs() })
    }
}

/// The parts that are shown: a cut at some number of parts, and edits of it.
#[derive(Debug)]
pub struct View {
    /// One part number per pixel.
    pub labels: LabelMap,
    /// The parts by label.
    pub regions: Vec<Region>,
    costs: OnceLock<Result<(Costs, Vec<f64>), Problem>>,
}

/// A part that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Its vertices of the graph that was cut, increasing; none for a multiway cut.
    pub members: Vec<u32>,
    /// The node of the tree that it is.
    pub node: Option<usize>,
}

impl View {
    /// What it costs, and each part's share; without the graph only what was weighed before.
    ///
    /// # Errors
    /// When the graph is gone.
    pub fn costs(&self, cut: &Cut, prepared: Option<&Prepared>) -> Result<&(Costs, Vec<f64>), Problem> {
        let made = match (self.costs.get(), prepared) {
            (Some(made), _) => made,
            (None, None) => return Err(Problem::not_found("cut")),
            (None, Some(prepared)) => self.costs.get_or_init(|| {
                prepared.costs(&self.labels, &cut.balance(), cut.settings.tau).map_err(Problem::from)
            }),
        };
        made.as_ref().map_err(Clone::clone)
    }

    /// The same at another τ.
    ///
    /// # Errors
    /// For a τ that is none, and when the graph is gone.
    pub fn costs_at(
        &self,
        tau: f64,
        cut: &Cut,
        prepared: Option<&Prepared>,
    ) -> Result<(Costs, Vec<f64>), Problem> {
        if tau == cut.settings.tau {
            return self.costs(cut, prepared).cloned();
        }
        let prepared = prepared.ok_or_else(|| Problem::not_found("cut"))?;
        Ok(prepared.costs(&self.labels, &cut.balance(), tau)?)
    }

    fn flat(labels: LabelMap) -> Self {
        let region = Region { members: Vec::new(), node: None };
        Self { regions: vec![region; labels.n_segments()], labels, costs: OnceLock::new() }
    }

    /// Regions of vertices, taken to the pixels.
    fn painted(cut: &Cut, prepared: &Prepared, regions: &[Region]) -> Result<Self, Problem> {
        let mut part = vec![0_u32; prepared.n_coarse()];
        for (number, region) in regions.iter().enumerate() {
            region.members.iter().for_each(|&v| part[v as usize] = number as u32);
        }
        // Labels of vertices are numbered by first appearance, those of pixels again: follow both.
        let coarse = Labels::from_raw(&part);
        let raw = cut.segmenter.paint(prepared, &coarse)?;
        let labels = LabelMap::new(prepared.shape().0, prepared.shape().1, &raw)?;
        let mut of_coarse = vec![0; regions.len()];
        part.iter().zip(coarse.as_slice()).for_each(|(&p, &c)| of_coarse[c as usize] = p as usize);
        let mut ordered = vec![None; labels.n_segments()];
        for (&coarse, &label) in raw.iter().zip(labels.as_slice()).filter(|&(_, &l)| l != LabelMap::VOID) {
            ordered[label as usize].get_or_insert_with(|| regions[of_coarse[coarse as usize]].clone());
        }
        Ok(Self { labels, regions: ordered.into_iter().flatten().collect(), costs: OnceLock::new() })
    }
}

/// The regions of a tree cut into so many parts.
fn regions_of(tree: &Tree, k: usize) -> Result<Vec<Region>, Problem> {
    if k == 0 || k > tree.n_leaves() {
        let most = tree.n_leaves();
        return Err(Problem::unusable(format!("k is {k}, but this cut has 1 to {most} parts")));
    }
    let mut regions = Vec::with_capacity(k);
    for (id, node) in tree.nodes()[..2 * k - 1].iter().enumerate() {
        if node.step().is_none_or(|step| step >= k) {
            let mut members = tree.members(id)?.to_vec();
            members.sort_unstable();
            regions.push(Region { members, node: Some(id) });
        }
    }
    Ok(regions)
}

/// Applies an edit to regions; a part that is no node of the tree with children is split by `solve`.
fn edited(
    tree: &Tree,
    mut regions: Vec<Region>,
    edit: &Edit,
    solve: impl FnOnce(&[u32]) -> Result<Labels, Problem>,
) -> Result<Vec<Region>, Problem> {
    let unknown = |label: usize, n: usize| Problem::unusable(format!("there is no part {label} among {n}"));
    match edit {
        Edit::Split(label) => {
            let n = regions.len();
            let region = regions.get(*label).ok_or_else(|| unknown(*label, n))?.clone();
            let children = region.node.and_then(|node| tree.nodes()[node].children());
            let halves = if let Some(children) = children {
                let half = |node: usize| -> Result<Region, Problem> {
                    let mut members = tree.members(node)?.to_vec();
                    members.sort_unstable();
                    Ok(Region { members, node: Some(node) })
                };
                [half(children[0])?, half(children[1])?]
            } else {
                let labels = solve(&region.members)?;
                let half = |part: u32| {
                    let of = region.members.iter().zip(labels.as_slice());
                    let members = of.filter(|&(_, &l)| l == part).map(|(&v, _)| v).collect();
                    Region { members, node: None }
                };
                [half(0), half(1)]
            };
            regions.splice(*label..=*label, halves);
        }
        Edit::Merge(labels) => {
            let n = regions.len();
            if let Some(&label) = labels.iter().find(|&&label| label >= n) {
                return Err(unknown(label, n));
            }
            let mut members: Vec<u32> = labels.iter().flat_map(|&l| regions[l].members.clone()).collect();
            members.sort_unstable();
            let node = (0..tree.nodes().len()).find(|&id| {
                tree.nodes()[id].size() == members.len()
                    && tree.members(id).is_ok_and(|own| own.iter().all(|v| members.binary_search(v).is_ok()))
            });
            let mut at = 0;
            regions.retain(|_| {
                at += 1;
                !labels.contains(&(at - 1))
            });
            regions.push(Region { members, node });
        }
    }
    Ok(regions)
}

/// What is kept between runs at different τ: embeddings to start from, of the graphs used last.
#[derive(Debug, Default)]
pub struct Starts(Mutex<HashMap<String, Warm>>);

impl Starts {
    fn take(&self, name: &str) -> Option<Warm> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name)
    }

    fn keep(&self, name: String, warm: Warm) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= 8 {
            all.clear();
        }
        all.insert(name, warm);
    }
}

/// A job, and the graph that it works on.
pub type Work<'a> = (&'a Job, &'a Prepared);

/// What a job is asked to make.
#[derive(Debug, Clone)]
pub struct Order {
    /// The image.
    pub picture: Arc<Picture>,
    /// How it is cut.
    pub settings: Settings,
    /// The strokes of the settings, drawn.
    pub marks: Option<Arc<Marks>>,
    /// Parts to show.
    pub k: usize,
    /// Parts that the tree should have at least.
    pub leaves: usize,
    /// Whether a quick answer that begins from another cut will do.
    pub may_be_warm: bool,
}

impl Order {
    /// Whether the decimation depends on the number of parts.
    fn is_tiny(&self) -> bool {
        let n_pixels = self.picture.image.n_pixels();
        let levels = self.settings.levels.unwrap_or_else(|| default_levels(Variant::default(), n_pixels));
        let coarse = n_pixels >> (2 * levels.min(8));
        coarse < 2 * (self.leaves.max(self.k) + 2)
    }

    fn graph_name(&self) -> String {
        self.settings.graph_key(&self.picture.id, self.is_tiny().then_some(self.k))
    }

    /// What a cut at another τ may begin from: the same graph, balance, method and strokes.
    fn start_name(&self) -> String {
        let Settings { balance, method, strokes, .. } = &self.settings;
        fingerprint(&(self.graph_name(), balance, method, strokes))
    }

    /// The name of the cut it asks for.
    pub fn cut_name(&self) -> String {
        let k = if self.settings.is_hierarchical() && !self.is_tiny() { 0 } else { self.k };
        fingerprint(&(self.graph_name(), self.settings.cut_key(), k))
    }
}

impl App {
    /// The graph of an order, from the store or made now.
    ///
    /// # Errors
    /// Those of the library, and too little memory.
    pub fn prepared(&self, order: &Order, job: &Job) -> Result<Arc<Prepared>, Problem> {
        let name = order.graph_name();
        if let Some(prepared) = self.graphs.get(&name) {
            return Ok(prepared);
        }
        let (segmenter, bytes) = self.segmenter(order, order.k)?;
        if bytes > self.config.max_bytes {
            let (needed, most) = (bytes >> 20, self.config.max_bytes >> 20);
            let detail = format!("cutting this image would take {needed} MB, but {most} MB are the most");
            return Err(Problem::too_large(detail));
        }
        let Picture { image, mask, .. } = &*order.picture;
        let made = watched(job, |control| segmenter.prepare(image, mask.as_deref(), control))?;
        let made = Arc::new(made);
        self.graphs.put(name, Arc::clone(&made), made.n_bytes());
        Ok(made)
    }

    fn segmenter(&self, order: &Order, n_segments: usize) -> Result<(Segmenter, u64), Problem> {
        let words = order.settings.words(n_segments);
        let (segmenter, bytes) =
            self.engine.segmenter(&words, &order.picture.image).map_err(Problem::unusable)?;
        Ok(match &order.marks {
            Some(marks) => (segmenter.scribbles(marks.names()), bytes),
            None => (segmenter, bytes),
        })
    }

    /// The cut that an order asks for, from the store or made now of its graph.
    ///
    /// # Errors
    /// Those of the library, and a job that was stopped.
    pub fn cut(&self, order: &Order, prepared: &Prepared, job: &Job) -> Result<Arc<Cut>, Problem> {
        let name = order.cut_name();
        let leaves = if order.is_tiny() || !order.settings.is_hierarchical() {
            order.k
        } else {
            // All parts that are joined again: that takes no longer, and below them a tree goes on as a part is split by hand, so
            // that edits do not depend on how far it was grown.
            let rejoined = self.segmenter(order, order.k.max(2))?.0.n_rejoined(prepared);
            let leaves = order.leaves.max(order.k).max(rejoined);
            leaves.min(prepared.n_coarse().saturating_sub(1)).max(order.k)
        };
        if let Some(cut) = self.cuts.get(&name).filter(|cut| cut.n_leaves() >= leaves) {
            return Ok(cut);
        }
        let (segmenter, _) = self.segmenter(order, leaves)?;
        let start = order.start_name();
        let before = self.starts.take(&start);
        let warm = if order.may_be_warm { before.unwrap_or_default() } else { Warm::default() };
        let done = watched(job, |control| segmenter.segment_prepared(prepared, &warm, control))?;
        let (next, n_warm) = warm.next();
        self.starts.keep(start, next);
        if !done.report.is_complete {
            return Err(Problem::internal("stopped"));
        }
        let found = match (done.tree(), done.dendrogram()) {
            (Some(tree), Some(dendrogram)) => Found::Tree(Box::new((tree.clone(), dendrogram))),
            _ => Found::Flat(done.labels),
        };
        let is_warm = n_warm > 0;
        let id = if is_warm { format!("{name}-warm-{}", job.id) } else { name };
        let (picture, settings) = (Arc::clone(&order.picture), order.settings.clone());
        let (graph, marks) = (order.graph_name(), order.marks.clone());
        let report = done.report;
        let n_pens = marks.as_ref().map_or(1, |marks| marks.n_pens);
        let least = if order.is_tiny() { order.k } else { n_pens };
        let cut = Arc::new(Cut {
            id: id.clone(),
            picture,
            settings,
            marks,
            graph,
            segmenter,
            report,
            found,
            least,
            is_warm,
        });
        self.cuts.put(id, Arc::clone(&cut), cut.n_bytes());
        Ok(cut)
    }

    /// Makes the parts of every k of a tree that was grown and weighs them, those near the shown k first, so that moving k is a
    /// look-up.
    ///
    /// # Errors
    /// A job that was stopped.
    pub fn unroll(&self, cut: &Cut, order: &Order, work: Work<'_>) -> Result<(), Problem> {
        let (job, prepared) = work;
        if order.leaves <= order.k || cut.tree().is_none() {
            return Ok(());
        }
        job.tell("stage", &json!({ "name": "painting every k" }));
        let most = cut.n_leaves().min(order.leaves);
        let mut all: Vec<usize> = (cut.least..=most).collect();
        all.sort_by_key(|k| k.abs_diff(order.k));
        for k in all {
            if job.is_stopped() {
                return Err(Problem::internal("stopped"));
            }
            self.view(cut, k, &[], Some(work))?.costs(cut, Some(prepared))?;
        }
        Ok(())
    }

    /// The parts of a cut, edited; without a job no part is solved anew.
    ///
    /// # Errors
    /// When the cut has no such parts, or its graph is gone.
    pub fn view(
        &self,
        cut: &Cut,
        k: usize,
        edits: &[Edit],
        work: Option<Work<'_>>,
    ) -> Result<Arc<View>, Problem> {
        let name = format!("{}/{}/{k}/{edits:?}", cut.id, cut.n_leaves());
        if let Some(view) = self.views.get(&name) {
            return Ok(view);
        }
        let gone = || Problem::not_found("cut");
        // A job holds on to its graph: the store may give it away to others at any moment.
        let stored = if work.is_none() { self.graphs.get(&cut.graph) } else { None };
        let prepared = work.map(|(_, prepared)| prepared).or(stored.as_deref());
        let made = match (&cut.found, edits.split_last()) {
            (Found::Flat(map), None) if k == map.n_segments() => View::flat(map.clone()),
            (Found::Flat(map), None) => {
                let n = map.n_segments();
                return Err(Problem::unusable(format!("k is {k}, but this multiway cut has {n} parts")));
            }
            (Found::Flat(_), Some((Edit::Merge(labels), before))) => {
                let view = self.view(cut, k, before, work)?;
                let first = labels[0] as u32;
                let join = |&l: &u32| if labels.contains(&(l as usize)) { first } else { l };
                let raw: Vec<u32> = view.labels.as_slice().iter().map(join).collect();
                View::flat(LabelMap::new(view.labels.height(), view.labels.width(), &raw)?)
            }
            (Found::Flat(_), Some((Edit::Split(_), _))) => {
                return Err(Problem::unusable(
                    "parts of a multiway cut cannot be split: choose hierarchical",
                ));
            }
            (Found::Tree(_), None) if k < cut.least => {
                if let Some(marks) = &cut.marks {
                    marks.check(k)?;
                }
                let least = cut.least;
                return Err(Problem::unusable(format!("k is {k}, but this cut has {least} parts or more")));
            }
            (Found::Tree(tree), None) => {
                View::painted(cut, prepared.ok_or_else(gone)?, &regions_of(&tree.0, k)?)?
            }
            (Found::Tree(tree), Some((edit, before))) => {
                let prepared = prepared.ok_or_else(gone)?;
                let view = self.view(cut, k, before, work)?;
                let solve = |members: &[u32]| {
                    let (job, _) = work.ok_or_else(gone)?;
                    watched(job, |control| cut.segmenter.split_part(prepared, members, control))
                };
                let regions = edited(&tree.0, view.regions.clone(), edit, solve)?;
                View::painted(cut, prepared, &regions)?
            }
        };
        let made = Arc::new(made);
        let bytes = 5 * made.labels.as_slice().len();
        self.views.put(name, Arc::clone(&made), bytes);
        Ok(made)
    }
}

/// Runs the library with its progress told to a job, and stopped with it.
pub fn watched<R>(job: &Job, run: impl FnOnce(&mut Control<'_>) -> ccbcut::Result<R>) -> Result<R, Problem> {
    let stop = || job.is_stopped();
    let mut observe = |progress: Progress<'_>| match progress {
        Progress::Stage(name) => job.tell("stage", &json!({ "name": name })),
        Progress::Sweep(sweep) => {
            job.tell("sweep", &json!({ "sweep": sweep.sweep, "f": sweep.f, "epsilon": sweep.epsilon }));
        }
        Progress::Split(step) => {
            job.tell("split", &json!({ "parts": step.n_segments, "of": step.target, "cost": step.cost }));
        }
        _ => {}
    };
    let sweeps = |n: usize, sweep: &ccbcut::Iteration| {
        job.tell(
            "sweep",
            &json!({ "sweep": sweep.sweep, "f": sweep.f, "epsilon": sweep.epsilon, "vertices": n }),
        );
    };
    let mut control = Control::new().observer(&mut observe).stop(&stop).sweeps(&sweeps);
    Ok(run(&mut control)?)
}

#[cfg(test)]
mod tests {
    use ccbcut::{Partitioner, graph::gallery};

    use super::*;

    fn tree() -> Tree {
        let graph = gallery::planted(&[20, 15, 10, 5], 0.8, 0.02, 3);
        Partitioner::new(4, 1.0).partition(&graph).unwrap().tree.unwrap()
    }

    fn sizes(regions: &[Region]) -> Vec<usize> {
        let mut sizes: Vec<usize> = regions.iter().map(|r| r.members.len()).collect();
        sizes.sort_unstable();
        sizes
    }

    #[test]
    fn regions_are_the_parts_of_the_tree() {
        let tree = tree();
        for k in 1..=4 {
            let mut expected = tree.cut(k).unwrap().sizes();
            expected.sort_unstable();
            assert_eq!(sizes(&regions_of(&tree, k).unwrap()), expected);
        }
        assert!(regions_of(&tree, 0).is_err() && regions_of(&tree, 5).is_err());
    }

    #[test]
    fn what_is_split_along_the_tree_can_be_merged_again() {
        let tree = tree();
        let never = |_: &[u32]| -> Result<Labels, Problem> { panic!("there is nothing to solve") };
        let two = regions_of(&tree, 2).unwrap();
        let split = two.iter().position(|r| tree.nodes()[r.node.unwrap()].children().is_some()).unwrap();
        let three = edited(&tree, two.clone(), &Edit::Split(split), never).unwrap();
        assert_eq!(three.len(), 3);
        assert!(three.iter().all(|r| r.node.is_some()));
        let back = edited(&tree, three, &Edit::Merge(vec![split, split + 1]), never).unwrap();
        assert_eq!(sizes(&back), sizes(&two));
        assert_eq!(back.last().unwrap().node, two[split].node, "the parent is recognised");
        let all =
            edited(&tree, regions_of(&tree, 4).unwrap(), &Edit::Merge(vec![0, 1, 2, 3]), never).unwrap();
        assert_eq!((all.len(), all[0].node), (1, Some(0)));
    }

    #[test]
    fn leaves_are_solved_and_unknown_parts_refused() {
        let tree = tree();
        let half = |members: &[u32]| {
            let raw: Vec<u32> = (0..members.len() as u32).map(|i| i % 2).collect();
            Ok(Labels::from_raw(&raw))
        };
        let four = regions_of(&tree, 4).unwrap();
        let five = edited(&tree, four.clone(), &Edit::Split(1), half).unwrap();
        assert_eq!((five.len(), five[1].node, five[2].node), (5, None, None));
        assert_eq!(five[1].members.len() + five[2].members.len(), four[1].members.len());
        assert!(edited(&tree, four.clone(), &Edit::Split(4), half).is_err());
        assert!(edited(&tree, four, &Edit::Merge(vec![0, 9]), half).is_err());
    }
}
