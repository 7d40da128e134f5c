//! What a segmentation is: labels, the tree below them, and what was measured.

use super::{Enlarger, Upsampling};
use crate::{
    embedding::Embedding,
    error::{Error, Result},
    labels::{LabelMap, Labels},
    partition::{Dendrogram, Tree},
    report::Report,
    ucm::Ucm,
};

/// What [`Segmenter::segment`](super::Segmenter::segment) returns.
#[derive(Debug, Clone)]
pub struct Segmentation {
    /// One part number per pixel.
    pub labels: LabelMap,
    /// What was solved and measured.
    pub report: Report,
    /// Coordinates of the pixels, where [`Segmenter::coordinates`](super::Segmenter::coordinates) asked for them; zero outside the mask.
    pub coordinates: Option<Embedding>,
    pub(super) nested: Option<Nested>,
}

impl Segmentation {
    /// The label map with fewer parts, read off the tree of a hierarchical run.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a number of parts that is not there.
    pub fn labels_for(&self, n_segments: usize) -> Result<LabelMap> {
        match &self.nested {
            Some(nested) => nested.labels_for(n_segments),
            None if n_segments == self.labels.n_segments() => Ok(self.labels.clone()),
            None => Err(Error::InvalidParameter {
                name: "the number of parts",
                value: n_segments as f64,
                expected: "the one asked for: a multiway cut has no others",
            }),
        }
    }

    /// The segmentation of a grid of cells, such as the tokens of a feature map, taken to the pixels of the image that
    /// the grid covers. Sizes count pixels from then on; costs stay those of the graph that was cut.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] for an enlarger of another grid.
    pub fn enlarged(&self, enlarger: &Enlarger<'_>, upsampling: Upsampling) -> Result<Self> {
        let (height, width) = enlarger.shape();
        let leaves = self.nested.as_ref().map_or(&self.labels, |nested| &nested.leaves);
        let n_leaves = self.nested.as_ref().map_or(leaves.n_segments(), |nested| nested.tree.n_leaves());
        let fine = enlarger.parts(leaves.as_slice(), n_leaves, upsampling)?;
        let labels = LabelMap::new(height, width, &fine)?;
        // Each part of the grid is one on the pixels, under a number that may differ.
        let mut report = self.report.clone();
        let mut old_of_leaf = vec![None; n_leaves];
        for (&leaf, &label) in leaves.as_slice().iter().zip(self.labels.as_slice()) {
            if let Some(old) = old_of_leaf.get_mut(leaf as usize) {
                *old = Some(label as usize);
            }
        }
        for (&leaf, &label) in fine.iter().zip(labels.as_slice()).filter(|&(_, &l)| l != LabelMap::VOID) {
            let cost = old_of_leaf[leaf as usize].and_then(|old| self.report.part_costs.get(old));
            if let (Some(&cost), Some(slot)) = (cost, report.part_costs.get_mut(label as usize)) {
                *slot = cost;
            }
        }
        (report.n_segments, report.sizes) = (labels.n_segments(), labels.sizes());
        let coordinates = match &self.coordinates {
            Some(rows) => {
                let columns = rows.n_components();
                Some(Embedding::new(height * width, columns, enlarger.rows(rows.as_slice(), columns)?)?)
            }
            None => None,
        };
        let nested = self.nested.as_ref().map(|nested| Nested {
            leaves: LabelMap::numbered(height, width, fine, n_leaves),
            ..nested.clone()
        });
        Ok(Self { labels, report, coordinates, nested })
    }

    /// The tree of splits over the vertices of the coarse graph (hierarchical only).
    pub fn tree(&self) -> Option<&Tree> {
        self.nested.as_ref().map(|nested| &nested.tree)
    }

    /// The node of the tree that each pixel ends in, row by row; [`LabelMap::VOID`] where it was masked out.
    pub fn leaf_nodes(&self) -> Option<Vec<u32>> {
        let nested = self.nested.as_ref()?;
        let nodes = nested.node_of_leaf()?;
        let node = |&leaf: &u32| nodes.get(leaf as usize).map_or(LabelMap::VOID, |&node| node as u32);
        Some(nested.leaves.as_slice().iter().map(node).collect())
    }

    /// The tree and the leaf of each pixel, to be cut again later; `None` for a multiway cut, which has no tree.
    pub fn dendrogram(&self) -> Option<Dendrogram> {
        let nested = self.nested.as_ref()?;
        let over_leaves = Dendrogram::of(&nested.tree).ok()?;
        Dendrogram::new(over_leaves.tree().clone(), nested.leaves.as_slice().to_vec()).ok()
    }

    /// The contour map of the tree, whose threshold [`Ucm::threshold_for`] k has the connected regions of
    /// [`Segmentation::labels_for`] k; `None` for a multiway cut, which has no tree.
    pub fn ucm(&self) -> Option<Ucm> {
        self.nested.as_ref().and_then(Nested::ucm)
    }
}

/// The splits of a hierarchical run, on the coarse graph and on the pixels.
#[derive(Debug, Clone)]
pub(super) struct Nested {
    pub(super) tree: Tree,
    /// Leaf of the tree per vertex of the coarse graph.
    pub(super) coarse_leaves: Labels,
    /// Leaf of the tree per pixel, by the same numbers: they must not be renumbered.
    pub(super) leaves: LabelMap,
}

impl Nested {
    pub(super) fn labels_for(&self, n_segments: usize) -> Result<LabelMap> {
        let parts = self.tree.cut(n_segments)?;
        let mut part_of_leaf = vec![LabelMap::VOID; self.coarse_leaves.n_segments()];
        for (&leaf, &part) in self.coarse_leaves.as_slice().iter().zip(parts.as_slice()) {
            part_of_leaf[leaf as usize] = part;
        }
        let on_pixel = |&leaf: &u32| part_of_leaf.get(leaf as usize).copied().unwrap_or(LabelMap::VOID);
        let raw: Vec<u32> = self.leaves.as_slice().iter().map(on_pixel).collect();
        LabelMap::new(self.leaves.height(), self.leaves.width(), &raw)
    }

    /// Node of the tree per leaf.
    pub(super) fn node_of_leaf(&self) -> Option<Vec<usize>> {
        let mut node_of_leaf = vec![0; self.tree.n_leaves()];
        for (node, _) in self.tree.nodes().iter().enumerate().filter(|(_, node)| node.children().is_none()) {
            let &vertex = self.tree.members(node).ok()?.first()?;
            node_of_leaf[self.coarse_leaves.as_slice()[vertex as usize] as usize] = node;
        }
        Some(node_of_leaf)
    }

    pub(super) fn ucm(&self) -> Option<Ucm> {
        Ucm::from_tree(&self.leaves, &self.tree, &self.node_of_leaf()?).ok()
    }
}
