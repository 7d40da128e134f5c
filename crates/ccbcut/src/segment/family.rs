//! One image, several numbers of parts.

use super::{Prepared, Scene, Segmenter};
use crate::{
    cluster::{Method, Run},
    control::{Control, Progress},
    embedding::{Embedding, StopReason},
    error::{Error, Result},
    image::Image,
    labels::LabelMap,
    parallel,
    report::{Stage, Stopwatch},
};

/// What [`Segmenter::segment_family`] returns.
#[derive(Debug, Clone)]
pub struct Family {
    /// One segmentation for each number of parts, in the order asked for.
    pub members: Vec<Member>,
    /// Wall times; those of all members together.
    pub stages: Vec<Stage>,
    /// What every embedding did.
    pub runs: Vec<Run>,
}

/// One segmentation of a [`Family`].
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// One part number per pixel.
    pub labels: LabelMap,
    /// The volume of each part: the sum of the degrees of its pixels.
    pub volumes: Vec<f64>,
}

impl Segmenter {
    /// Cuts one image into several numbers of parts, with as little work as that takes: the graph is made once, a
    /// hierarchical run is made once with the largest number, and so is the multiway embedding at τ = 2, whose first
    /// columns serve the smaller numbers. Below τ = 2 each multiway number has an embedding of its own.
    ///
    /// The number of parts that the segmenter was made with is not looked at.
    ///
    /// # Errors
    /// As [`Segmenter::segment`], for the largest number; [`Error::InvalidParameter`] for none, or for zero parts;
    /// [`Error::Interrupted`] when the control stopped the run: a family is whole or not at all.
    pub fn segment_family(
        &self,
        image: &Image,
        n_segments: &[usize],
        control: &mut Control<'_>,
    ) -> Result<Family> {
        let all = self.with_largest(n_segments)?;
        parallel::inside(|| {
            all.on_scene(image, None, control, |scene, control, watch| {
                all.family_of(scene, n_segments, control, watch)
            })
        })
    }

    /// The same for an image that is prepared already, which several segmenters may share; stages are those of the cuts.
    ///
    /// # Errors
    /// As [`Segmenter::segment_family`].
    pub fn family_prepared(
        &self,
        prepared: &Prepared,
        n_segments: &[usize],
        control: &mut Control<'_>,
    ) -> Result<Family> {
        let all = self.with_largest(n_segments)?;
        parallel::inside(|| {
            prepared.with_scene(|scene| {
                all.partitioner.check(scene.grid.pixels().len())?;
                all.family_of(scene, n_segments, control, Stopwatch::start())
            })
        })
    }

    /// The same segmenter, for the largest of some numbers of parts.
    fn with_largest(&self, n_segments: &[usize]) -> Result<Self> {
        let least = n_segments.iter().min().copied().unwrap_or(0);
        let Some(largest) = n_segments.iter().max().copied().filter(|_| least > 0) else {
            let name = "the number of parts";
            return Err(Error::InvalidParameter { name, value: 0.0, expected: "at least 1" });
        };
        Ok(self.clone().partitioner(|p| p.n_segments(largest)))
    }

    fn family_of(
        &self,
        scene: &Scene<'_>,
        n_segments: &[usize],
        control: &mut Control<'_>,
        watch: Stopwatch,
    ) -> Result<Family> {
        match self.partitioner.method {
            Method::Hierarchical => self.nested_family(scene, n_segments, control, watch),
            Method::Multiway => self.separate_family(scene, n_segments, control, watch),
        }
    }

    fn nested_family(
        &self,
        scene: &Scene<'_>,
        n_segments: &[usize],
        control: &mut Control<'_>,
        mut watch: Stopwatch,
    ) -> Result<Family> {
        let cut = self.hierarchical(scene, None, control, &mut watch)?;
        if !cut.is_complete {
            return Err(Error::Interrupted);
        }
        let member = |&k: &usize| {
            let labels = cut.nested.as_ref().map_or_else(|| Ok(cut.labels.clone()), |n| n.labels_for(k))?;
            Ok(self.member(scene, labels))
        };
        let members = n_segments.iter().map(member).collect::<Result<_>>()?;
        Ok(Family { members, stages: watch.into_stages(), runs: cut.runs })
    }

    fn separate_family(
        &self,
        scene: &Scene<'_>,
        n_segments: &[usize],
        control: &mut Control<'_>,
        mut watch: Stopwatch,
    ) -> Result<Family> {
        let n_active = scene.grid.pixels().len();
        let n_coarse = scene.coarse.graph().n_vertices();
        let pi = scene.pixel_weights(&self.partitioner.balance)?;
        // One part, or as many as pixels, need no embedding.
        let is_free = |k: usize| k == 1 || k == n_active;
        // The eigenvectors of τ = 2 are nested: the widest embedding that is needed holds all others.
        let is_nested = self.partitioner.has_nested_columns();
        let widest = n_segments.iter().copied().filter(|&k| !is_free(k)).max();
        let (mut members, mut runs): (Vec<Member>, Vec<Run>) = (Vec::new(), Vec::new());
        let mut kept: Option<Embedding> = None;
        for &k in n_segments {
            let mut partitioner = self.partitioner.clone();
            partitioner.n_segments = k;
            if is_free(k) {
                let labels = scene.grid.paint(partitioner.trivial(n_active).as_slice())?;
                members.push(self.member(scene, labels));
                continue;
            }
            let fine = if let Some(fine) = kept.take() {
                fine
            } else {
                let columns_for = widest.filter(|_| is_nested).unwrap_or(k);
                let (fine, run) = self.embedded(scene, columns_for, control, &mut watch)?;
                runs.push(run);
                fine
            };
            control.tell(Progress::Stage("rounding"));
            let labels = partitioner.round(&fine.first_columns(partitioner.columns(n_coarse)), &pi)?;
            let labels = scene.refined(&partitioner, labels)?;
            watch.lap("rounding");
            members.push(self.member(scene, scene.grid.paint(labels.as_slice())?));
            kept = Some(fine).filter(|_| is_nested);
        }
        Ok(Family { members, stages: watch.into_stages(), runs })
    }

    /// The multiway embedding for k parts on the pixels, and what it took.
    fn embedded(
        &self,
        scene: &Scene<'_>,
        k: usize,
        control: &mut Control<'_>,
        watch: &mut Stopwatch,
    ) -> Result<(Embedding, Run)> {
        control.tell(Progress::Stage("embedding"));
        let mut partitioner = self.partitioner.clone();
        partitioner.n_segments = k;
        let graph = scene.coarse.graph();
        let few = Error::TooFewVertices { vertices: graph.n_vertices(), segments: k };
        let fit = partitioner.embed(graph, control)?.ok_or(few)?;
        if fit.trace.stop_reason == StopReason::Interrupted {
            return Err(Error::Interrupted);
        }
        watch.lap("embedding");
        let fine = scene.on_pixels(&fit.embedding)?;
        watch.lap("upsample");
        Ok((fine, Run { n_vertices: graph.n_vertices(), first_vertex: 0, trace: fit.trace }))
    }

    fn member(&self, scene: &Scene<'_>, labels: LabelMap) -> Member {
        let labels = if self.connected { labels.connected() } else { labels };
        let mut volumes = vec![0.0; labels.n_segments()];
        for (&label, degree) in labels.as_slice().iter().zip(scene.graph.degrees()) {
            if label != LabelMap::VOID {
                volumes[label as usize] += degree;
            }
        }
        Member { labels, volumes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Three stripes of different brightness, and noise.
    fn stripes() -> Image {
        let mut random = Random::new(5);
        let value = |p: usize| [0.2, 0.5, 0.8][p % 24 / 8] + 0.02 * (random.uniform() as f32 - 0.5);
        Image::new(16, 24, 1, (0..16 * 24).map(value).collect()).unwrap()
    }

    fn segmenter(k: usize, tau: f64, method: Method) -> Segmenter {
        Segmenter::new(k, tau).levels(1).partitioner(|p| p.method(method))
    }

    #[test]
    fn a_family_holds_what_single_runs_give() {
        let image = stripes();
        for (method, tau) in [
            (Method::Hierarchical, 2.0),
            (Method::Hierarchical, 1.0),
            (Method::Multiway, 2.0),
            (Method::Multiway, 1.0),
        ] {
            let family =
                segmenter(99, tau, method).segment_family(&image, &[3, 1, 2], &mut Control::new()).unwrap();
            for (member, k) in family.members.iter().zip([3, 1, 2]) {
                let single = segmenter(k, tau, method).segment(&image).unwrap();
                assert_eq!(member.labels, single.labels, "{method:?}, tau = {tau}, k = {k}");
                assert_eq!(member.volumes.len(), k);
            }
            let several = segmenter(3, 1.5, Method::Hierarchical);
            let prepared = several.prepare(&image, None, &mut Control::new()).unwrap();
            let again =
                segmenter(99, tau, method).family_prepared(&prepared, &[3, 1, 2], &mut Control::new());
            assert_eq!(again.unwrap().members, family.members);
            let names: Vec<&str> = prepared.stages().iter().map(|stage| stage.name).collect();
            assert_eq!(names, ["affinity", "coarsen"]);
            let total = |m: &Member| m.volumes.iter().sum::<f64>();
            assert!((total(&family.members[0]) - total(&family.members[1])).abs() < 1e-6);
        }
    }

    #[test]
    fn numbers_that_need_no_embedding_leave_the_others_theirs() {
        let image = stripes();
        for (method, tau) in [(Method::Hierarchical, 2.0), (Method::Multiway, 2.0), (Method::Multiway, 1.0)] {
            let run = segmenter(2, tau, method).segment_family(&image, &[384, 2, 1], &mut Control::new());
            let sizes: Vec<usize> = run.unwrap().members.iter().map(|m| m.labels.n_segments()).collect();
            assert_eq!(sizes, [384, 2, 1], "{method:?}, tau = {tau}");
        }
    }

    #[test]
    fn no_numbers_zero_and_too_many_are_refused() {
        let image = stripes();
        for method in [Method::Hierarchical, Method::Multiway] {
            let run =
                |ks: &[usize]| segmenter(2, 2.0, method).segment_family(&image, ks, &mut Control::new());
            assert!(matches!(run(&[]), Err(Error::InvalidParameter { .. })));
            assert!(matches!(run(&[3, 0]), Err(Error::InvalidParameter { .. })));
            assert!(matches!(run(&[2, 385]), Err(Error::TooFewVertices { segments: 385, .. })));
            let stop = || true;
            let stopped =
                segmenter(2, 1.0, method).segment_family(&image, &[2, 3], &mut Control::new().stop(&stop));
            assert!(matches!(stopped, Err(Error::Interrupted)));
        }
    }
}
