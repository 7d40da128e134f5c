//! From options to the library, and from its results to the report.

use ccbcut::{
    Balance, Graph, Image, Irrq, Kappa, Labels, Method, Partitioner, Progress, Report, Segmenter, Solver,
    StopReason, Variant,
    affinity::{
        ContourAffinity, ContourWeight, LabAffinity, LabKernel, Neighborhood, PmiAffinity, PmiBandwidth,
        ProductAffinity,
    },
    cluster::Run,
    cost::{Criterion, ccb_cut},
    image::contours::{Contours, MultiscalePb},
    kmeans::Seeding,
    memory::{ImageRun, PixelWeights},
    partition::Rounding,
    segment::default_levels,
};

use crate::{
    args::{self, Affinity, BalanceName, EmbeddingArgs, ImageGraphArgs, Kernel, PartitionArgs, PmiWidth},
    output,
    report::{GraphFacts, Sweep},
};

/// The balance that the options name.
pub fn balance(args: &EmbeddingArgs) -> Balance {
    match args.balance {
        BalanceName::Normalized => Balance::Normalized,
        BalanceName::Ratio => Balance::Ratio,
    }
}

/// What a partition costs where part sizes are measured by weights of the user's own.
///
/// # Errors
/// When the labels or the weights do not fit the graph.
pub fn custom_ccb(
    graph: &Graph,
    labels: &Labels,
    balance: Option<&Balance>,
    tau: f64,
) -> ccbcut::Result<Option<f64>> {
    balance.map(|balance| ccb_cut(graph, labels, balance, tau)).transpose()
}

/// The variant that the options name.
pub fn variant(args: &EmbeddingArgs) -> Variant {
    match args.variant {
        args::Variant::Published => Variant::Published,
        args::Variant::Released => Variant::Released,
        args::Variant::Weighted => Variant::Weighted,
    }
}

/// IRRQ with the options' settings; columns are the caller's.
pub fn irrq(args: &EmbeddingArgs) -> Irrq {
    configure(Irrq::new(args.tau), args).balance(balance(args)).variant(variant(args)).seed(args.seed)
}

fn configure(irrq: Irrq, args: &EmbeddingArgs) -> Irrq {
    let irrq = match (args.kappa, args.kappa_count) {
        (_, Some(count)) => irrq.kappa(Kappa::Count(count)),
        (Some(fraction), None) => irrq.kappa(Kappa::Fraction(fraction)),
        (None, None) => irrq,
    };
    let irrq = match args.eigen_tol {
        Some(tol) => irrq.eigen_tol(tol),
        None => irrq,
    };
    irrq.epsilon_floor(args.epsilon_floor)
        .max_iterations(args.max_iterations)
        .tol(args.tol)
        .early_stop(args.early_stop)
        .contract(args.contract)
        .rotate(args.rotate)
}

/// The method that the options name.
pub fn method(partition: &PartitionArgs) -> Method {
    match partition.method {
        args::Method::Hierarchical => Method::Hierarchical,
        args::Method::Multiway => Method::Multiway,
    }
}

/// The partitioner with the options' settings.
pub fn partitioner(partition: &PartitionArgs, embedding: &EmbeddingArgs) -> Partitioner {
    let method = method(partition);
    let rounding = partition.rounding.map(|rounding| match rounding {
        args::Rounding::Kmeans => Rounding::KMeans,
        args::Rounding::Discretize => Rounding::Discretize,
        args::Rounding::Procrustes => Rounding::Procrustes,
    });
    let partitioner = Partitioner::new(partition.segments.count(), embedding.tau)
        .balance(balance(embedding))
        .method(method)
        .variant(variant(embedding))
        .n_init(partition.n_init)
        .seeding(Seeding::of_rows(partition.seed_rows))
        .min_share(partition.min_share.unwrap_or(0.0))
        .rejoin(partition.rejoin.unwrap_or(0))
        .seed(embedding.seed)
        .irrq(|irrq| configure(irrq, embedding));
    let partitioner = match partition.columns {
        Some(columns) => partitioner.n_columns(columns),
        None => partitioner,
    };
    let partitioner = match rounding {
        Some(rounding) => partitioner.rounding(rounding),
        None => partitioner,
    };
    with_solver(partitioner, partition, embedding.tau)
}

/// The solver, and what belongs to it.
fn with_solver(partitioner: Partitioner, args: &PartitionArgs, tau: f64) -> Partitioner {
    let solver = match args.solver {
        args::Solver::Irrq => Solver::Irrq,
        args::Solver::Ipm => Solver::Ipm,
        args::Solver::Soc => Solver::Soc,
        args::Solver::Ratiodca => Solver::RatioDca,
    };
    let criterion = args.criterion.map(|name| match name {
        args::CriterionName::Ccb => Criterion::Ccb { tau },
        args::CriterionName::Cheeger => Criterion::Cheeger,
        args::CriterionName::Cut => Criterion::Ratio,
    });
    let mut partitioner = partitioner.solver(solver).refine(args.refine);
    if let Some(criterion) = criterion {
        partitioner = partitioner.criterion(criterion);
    }
    match args.starts {
        Some(starts) => partitioner.n_starts(starts),
        None => partitioner,
    }
}

/// How the options compare pixels; given contours stand in for those that would be found.
pub fn affinity(graph: &ImageGraphArgs, seed: u64, contours: Option<&Contours>) -> ProductAffinity {
    let near = Neighborhood::new(graph.radius);
    let mut product = ProductAffinity::new();
    for &(factor, power) in graph.mix().factors() {
        product = match factor {
            Affinity::Lab => {
                let kernel = match graph.kernel {
                    Kernel::Gaussian => LabKernel::Gaussian { sigma: graph.sigma },
                    Kernel::Adaptive => LabKernel::Adaptive { scale: graph.scale },
                    Kernel::Released => LabKernel::Released { beta: graph.beta },
                };
                product.and(LabAffinity::new(kernel).neighborhood(near).smoothing(graph.smoothing()), power)
            }
            Affinity::Mpb => {
                let sigma = graph.contour_sigma;
                let weight = match graph.contour_weight {
                    args::ContourWeight::Sigmoid => ContourWeight::Sigmoid { sigma },
                    args::ContourWeight::Exponential => ContourWeight::Exponential { sigma },
                };
                let by_contours = match contours {
                    Some(contours) => ContourAffinity::given(contours.clone()),
                    None => ContourAffinity::mpb(MultiscalePb::new().seed(seed)),
                };
                product.and(by_contours.weight(weight).neighborhood(near), power)
            }
            Affinity::Pmi => {
                let bandwidth = match graph.pmi_bandwidth {
                    PmiWidth::Fixed(width) => PmiBandwidth::Fixed(width),
                    PmiWidth::Learned => PmiBandwidth::Learned,
                };
                let pmi = PmiAffinity::default().neighborhood(near).seed(seed);
                product.and(pmi.n_kernels(graph.pmi_pairs).bandwidth(bandwidth), power)
            }
        };
    }
    product
}

/// What the options ask of the memory for an image.
///
/// # Errors
/// For a radius out of range.
pub fn image_run(
    image: &Image,
    graph: &ImageGraphArgs,
    embedding: &EmbeddingArgs,
    partition: &PartitionArgs,
) -> ccbcut::Result<ImageRun> {
    let (height, width, mix) = (image.height(), image.width(), graph.mix());
    Ok(ImageRun {
        height,
        width,
        channels: image.channels(),
        affinities: mix.factors().len(),
        detects_contours: mix.has(Affinity::Mpb) && graph.contours.is_none(),
        learns_pairs: mix.has(Affinity::Pmi),
        weights: if mix.factors() == [(Affinity::Lab, 1.0)] {
            PixelWeights::Found
        } else {
            PixelWeights::Kept
        },
        offsets: Neighborhood::new(graph.radius).offsets(height, width)?.len(),
        levels: graph.levels.unwrap_or_else(|| default_levels(variant(embedding), image.n_pixels())),
        segments: partition.segments.count(),
        rejoined: partition.rejoin.unwrap_or(0),
        columns: partition.columns.unwrap_or(1),
        reweights: embedding.tau < 2.0,
    })
}

/// The segmenter with the options' settings.
pub fn segmenter(
    partition: &PartitionArgs,
    embedding: &EmbeddingArgs,
    graph: &ImageGraphArgs,
    connected: bool,
    contours: Option<&Contours>,
) -> Segmenter {
    let segmenter = Segmenter::new(partition.segments.count(), embedding.tau)
        .partitioner(|_| partitioner(partition, embedding))
        .affinity(affinity(graph, embedding.seed, contours))
        .connected(connected);
    let segmenter = match graph.levels {
        Some(levels) => segmenter.levels(levels),
        None => segmenter,
    };
    match graph.upsampling {
        Some(args::Upsampling::Prolong) => segmenter.upsampling(ccbcut::Upsampling::Prolong),
        Some(args::Upsampling::Nearest) => segmenter.upsampling(ccbcut::Upsampling::Nearest),
        None => segmenter,
    }
}

/// Tells the progress bar where the library is.
pub fn show(progress: &output::Progress, event: Progress<'_>) {
    match event {
        Progress::Stage(name) => progress.step(name),
        Progress::Sweep(sweep) => {
            progress.step(format!("embedding, sweep {}: F = {:.5}", sweep.sweep, sweep.f));
        }
        Progress::Split(step) => progress.count(step.n_segments, step.target, "splitting"),
        _ => {}
    }
}

/// Every sweep of every embedding, in the order of the runs.
pub fn sweeps(runs: &[Run]) -> Vec<Sweep> {
    let all = runs.iter().enumerate();
    all.flat_map(|(split, run)| {
        run.trace.iterations.iter().map(move |iteration| Sweep { split, iteration: iteration.clone() })
    })
    .collect()
}

/// Why the run ended, for the report: the first reason that is not convergence, or else the first.
pub fn stop_reason(runs: &[Run], is_complete: bool) -> String {
    if !is_complete {
        return StopReason::Interrupted.name().to_owned();
    }
    let reasons = || runs.iter().map(|run| run.trace.stop_reason);
    let limit = reasons().find(|&reason| reason == StopReason::MaxIterations);
    limit.or_else(|| reasons().next()).map_or("nothing_to_solve", StopReason::name).to_owned()
}

/// What was cut, for an image.
pub fn image_facts(report: &Report, height: usize, width: usize) -> GraphFacts {
    GraphFacts {
        height: Some(height),
        width: Some(width),
        n: report.n,
        edges: report.edges,
        components: report.components,
        levels: Some(report.levels),
        coarse_n: Some(report.coarse_n),
        coarse_edges: Some(report.coarse_edges),
    }
}
