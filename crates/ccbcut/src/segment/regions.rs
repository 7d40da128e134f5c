//! Regions of an image cut as one vertex each.

use super::{Nested, Segmentation, Segmenter};
use crate::{
    cluster::Partition,
    control::{Control, Progress},
    cost::Costs,
    error::{Error, Result},
    graph::{Balance, Graph},
    labels::LabelMap,
    parallel,
    regions::RegionMap,
    report::{Report, Stopwatch},
};

impl Segmenter {
    /// Cuts the regions of an image, which `graph` ties: superpixels, or a label map from anywhere. The affinity and the
    /// decimations of the segmenter are not used; ratio costs count pixels.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] for a graph of other regions, [`Error::InvalidParameter`] for the regions of a volume,
    /// and those of [`Partitioner::partition_with`](crate::Partitioner::partition_with).
    pub fn segment_regions(
        &self,
        regions: &RegionMap,
        graph: &Graph,
        control: &mut Control<'_>,
    ) -> Result<Segmentation> {
        let [depth, height, width] = regions.shape();
        if depth != 1 {
            let (name, value) = ("the number of slices", depth as f64);
            return Err(Error::InvalidParameter { name, value, expected: "1 for an image" });
        }
        let (expected, got) = (regions.n_regions(), graph.n_vertices());
        if got != expected {
            return Err(Error::ShapeMismatch { what: "the graph of the regions", expected, got });
        }
        parallel::inside(|| {
            let mut watch = Stopwatch::start();
            let mut partitioner = self.partitioner.clone();
            if partitioner.balance == Balance::Ratio {
                let pixels = regions.sizes().into_iter().map(|size| size as f64).collect();
                partitioner = partitioner.balance(Balance::Custom(pixels));
            }
            let constraints = self.region_constraints(regions)?;
            let Partition { labels: parts, tree, runs, is_complete, .. } =
                partitioner.partition_constrained(graph, &constraints, control)?;
            watch.lap("splitting");
            control.tell(Progress::Stage("costs"));
            let mut painted = regions.paint(&parts)?;
            self.honour_strokes(&constraints, &parts, &mut painted);
            let mut labels = LabelMap::new(height, width, &painted)?;
            let (costs, part_costs) =
                Costs::with_terms(graph, &parts, &partitioner.balance, partitioner.tau)?;
            if self.connected {
                labels = labels.connected();
            }
            let components = graph.components().n_segments();
            watch.lap("costs");
            let report = Report {
                n: graph.n_vertices(),
                edges: graph.n_edges(),
                components,
                levels: 0,
                coarse_n: graph.n_vertices(),
                coarse_edges: graph.n_edges(),
                stages: watch.into_stages(),
                runs,
                is_complete,
                n_segments: labels.n_segments(),
                sizes: labels.sizes(),
                costs,
                part_costs,
            };
            let leaves = LabelMap::numbered(height, width, painted, parts.n_segments());
            let nested = tree.map(|tree| Nested { tree, coarse_leaves: parts, leaves });
            Ok(Segmentation { labels, report, coordinates: None, nested })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Image,
        image::volume::Volume,
        regions::{RegionGraph, Slic},
    };

    #[test]
    fn superpixels_of_three_colours_are_cut_into_them() {
        let shade = |p: usize| match (p / 60, p % 60) {
            (10..=19, 10..=29) => 0.9,
            (_, 0..=34) => 0.5,
            _ => 0.1,
        };
        let image = Image::new(40, 60, 1, (0..2400).map(shade).collect()).unwrap();
        let volume = Volume::of_image(&image).unwrap();
        let regions = Slic::new(96).fit(&volume, None).unwrap();
        let graph = RegionGraph::new(&regions).colors(&volume, 20.0).unwrap().build().unwrap();
        for balance in [Balance::Normalized, Balance::Ratio] {
            let segmenter = Segmenter::new(3, 1.0).partitioner(|p| p.balance(balance.clone()));
            let cut = segmenter.segment_regions(&regions, &graph, &mut Control::new()).unwrap();
            let expected: Vec<u32> = (0..2400).map(|p| (shade(p) * 10.0) as u32).collect();
            assert_eq!(cut.labels, LabelMap::new(40, 60, &expected).unwrap(), "{balance:?}");
            assert_eq!(cut.labels_for(2).unwrap().n_segments(), 2);
            assert_eq!(cut.report.sizes, vec![1200, 1000, 200]);
        }
        let other = Graph::from_edges(3, &[]).unwrap();
        assert!(Segmenter::new(2, 1.0).segment_regions(&regions, &other, &mut Control::new()).is_err());
        let stack = RegionMap::new([2, 1, 1], &[0, 1]).unwrap();
        let two = Graph::from_edges(2, &[]).unwrap();
        assert!(Segmenter::new(2, 1.0).segment_regions(&stack, &two, &mut Control::new()).is_err());
    }
}
