//! Options, which come as dictionaries with every key present, and become the library's settings.

use ccbcut::{
    Balance, Irrq, Kappa, Method, Partitioner, Segmenter, Solver, Upsampling, Variant,
    affinity::{
        ContourAffinity, ContourWeight, LabAffinity, LabKernel, Neighborhood, PmiAffinity, PmiBandwidth,
        ProductAffinity,
    },
    cost::Criterion,
    image::contours::{Contours, MultiscalePb},
    kmeans::Seeding,
    partition::Rounding,
};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::{error::to_python, regions::raised};

/// Which cost is made small, and how far.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct CutOptions<'py> {
    tau: f64,
    balance: BalanceOption<'py>,
    variant: String,
    kappa: Option<f64>,
    kappa_count: Option<usize>,
    epsilon_floor: f64,
    max_iterations: usize,
    tol: f64,
    eigen_tol: Option<f64>,
    early_stop: bool,
    contract: bool,
    rotate: bool,
    pub seed: u64,
    pub threads: usize,
}

/// A name, or one weight per vertex.
#[derive(FromPyObject)]
pub enum BalanceOption<'py> {
    Name(String),
    Weights(PyReadonlyArray1<'py, f64>),
}

/// Into how many parts, and how.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct PartOptions {
    /// Chosen where there is none.
    n_segments: Option<usize>,
    pub k_max: usize,
    method: String,
    rounding: Option<String>,
    columns: Option<usize>,
    n_init: usize,
    seed_rows: usize,
    min_share: f64,
    rejoin: usize,
    solver: String,
    refine: bool,
    criterion: Option<String>,
    starts: Option<usize>,
}

/// How an image becomes a graph.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ImageOptions<'py> {
    affinity: Vec<(String, f64)>,
    kernel: String,
    sigma: f64,
    scale: f64,
    beta: f64,
    smooth: f64,
    radius: f64,
    contours: Option<PyReadonlyArray2<'py, f32>>,
    contour_weight: String,
    contour_sigma: f64,
    pmi_pairs: usize,
    /// Learned where there is none.
    pmi_bandwidth: Option<f64>,
    levels: Option<usize>,
    upsampling: Option<String>,
    connected: bool,
    pub seed: u64,
    pub threads: usize,
}

/// What a name stands for.
pub fn choose<T: Copy>(what: &str, name: &str, choices: &[(&str, T)]) -> PyResult<T> {
    let found = choices.iter().find(|(known, _)| *known == name);
    found.map(|&(_, value)| value).ok_or_else(|| {
        let known: Vec<String> = choices.iter().map(|(known, _)| format!("'{known}'")).collect();
        PyValueError::new_err(format!("{what} is '{name}', but it must be one of {}", known.join(", ")))
    })
}

/// How labels reach the pixels.
pub fn upsampling(name: &str) -> PyResult<Upsampling> {
    let ways = [Upsampling::Prolong, Upsampling::Nearest].map(|way| (way.name(), way));
    choose("upsampling", name, &ways)
}

impl CutOptions<'_> {
    /// π.
    pub fn balance(&self) -> PyResult<Balance> {
        match &self.balance {
            BalanceOption::Weights(weights) => Ok(Balance::Custom(weights.as_slice()?.to_vec())),
            BalanceOption::Name(name) if name == "ratio" => Ok(Balance::Ratio),
            BalanceOption::Name(name) => {
                choose("balance", name, &[("normalized", ()), ("ratio", ())]).map(|()| Balance::Normalized)
            }
        }
    }

    /// τ.
    pub fn tau(&self) -> f64 {
        self.tau
    }

    fn variant(&self) -> PyResult<Variant> {
        let all = [Variant::Published, Variant::Released, Variant::Weighted];
        choose("variant", &self.variant, &all.map(|variant| (variant.name(), variant)))
    }

    fn configure(&self, irrq: Irrq) -> Irrq {
        let irrq = match (self.kappa, self.kappa_count) {
            (_, Some(count)) => irrq.kappa(Kappa::Count(count)),
            (Some(fraction), None) => irrq.kappa(Kappa::Fraction(fraction)),
            (None, None) => irrq,
        };
        let irrq = match self.eigen_tol {
            Some(tol) => irrq.eigen_tol(tol),
            None => irrq,
        };
        irrq.epsilon_floor(self.epsilon_floor)
            .max_iterations(self.max_iterations)
            .tol(self.tol)
            .early_stop(self.early_stop)
            .contract(self.contract)
            .rotate(self.rotate)
    }

    /// IRRQ with these settings; columns are the caller's.
    pub fn irrq(&self) -> PyResult<Irrq> {
        let irrq = self.configure(Irrq::new(self.tau));
        Ok(irrq.balance(self.balance()?).variant(self.variant()?).seed(self.seed))
    }

    /// The partitioner with these settings.
    pub fn partitioner(&self, parts: &PartOptions) -> PyResult<Partitioner> {
        let methods = [Method::Multiway, Method::Hierarchical].map(|method| (method.name(), method));
        let roundings =
            [Rounding::KMeans, Rounding::Discretize, Rounding::Procrustes].map(|way| (way.name(), way));
        let solvers = [Solver::Irrq, Solver::Ipm, Solver::Soc, Solver::RatioDca].map(|it| (it.name(), it));
        let criteria = [
            ("ccb", Criterion::Ccb { tau: self.tau }),
            ("cheeger", Criterion::Cheeger),
            ("cut", Criterion::Ratio),
        ];
        let mut partitioner = Partitioner::new(parts.n_segments.unwrap_or(1), self.tau)
            .balance(self.balance()?)
            .method(choose("method", &parts.method, &methods)?)
            .variant(self.variant()?)
            .n_init(parts.n_init)
            .seeding(Seeding::of_rows(parts.seed_rows))
            .min_share(parts.min_share)
            .rejoin(parts.rejoin)
            .seed(self.seed)
            .irrq(|irrq| self.configure(irrq))
            .solver(choose("solver", &parts.solver, &solvers)?)
            .refine(parts.refine);
        if let Some(name) = &parts.rounding {
            partitioner = partitioner.rounding(choose("rounding", name, &roundings)?);
        }
        if let Some(name) = &parts.criterion {
            partitioner = partitioner.criterion(choose("criterion", name, &criteria)?);
        }
        if let Some(starts) = parts.starts {
            partitioner = partitioner.n_starts(starts);
        }
        Ok(match parts.columns {
            Some(columns) => partitioner.n_columns(columns),
            None => partitioner,
        })
    }

    /// The segmenter with these settings; affinity and levels are the caller's.
    pub fn segmenter(&self, parts: &PartOptions) -> PyResult<Segmenter> {
        let partitioner = self.partitioner(parts)?;
        Ok(Segmenter::new(parts.n_segments.unwrap_or(1), self.tau).partitioner(|_| partitioner))
    }
}

impl PartOptions {
    /// Whether the number of parts is to be chosen.
    pub fn is_chosen(&self) -> bool {
        self.n_segments.is_none()
    }
}

/// How regions are compared.
#[derive(Clone, Copy)]
pub enum Tie {
    /// By their mean colours, to a power.
    Colors(f64),
    /// By the contours along their border.
    Contours(ContourWeight),
}

/// How pixels are compared.
#[derive(Clone, Copy)]
enum Factor {
    Lab,
    Mpb,
    Pmi,
}

impl ImageOptions<'_> {
    /// How pixels are compared.
    pub fn affinity(&self) -> PyResult<ProductAffinity> {
        let near = Neighborhood::new(self.radius);
        let mut product = ProductAffinity::new();
        let factors = [("lab", Factor::Lab), ("mpb", Factor::Mpb), ("pmi", Factor::Pmi)];
        for (name, power) in &self.affinity {
            product = match choose("affinity", name, &factors)? {
                Factor::Lab => {
                    let affinity = LabAffinity::new(self.kernel()?).neighborhood(near).smoothing(self.smooth);
                    product.and(affinity, *power)
                }
                Factor::Mpb => product.and(self.by_contours()?.neighborhood(near), *power),
                Factor::Pmi => {
                    let width = self.pmi_bandwidth.map_or(PmiBandwidth::Learned, PmiBandwidth::Fixed);
                    let affinity = PmiAffinity::default().neighborhood(near).seed(self.seed);
                    product.and(affinity.n_kernels(self.pmi_pairs).bandwidth(width), *power)
                }
            };
        }
        Ok(product)
    }

    fn kernel(&self) -> PyResult<LabKernel> {
        let kernels = [
            ("gaussian", LabKernel::Gaussian { sigma: self.sigma }),
            ("adaptive", LabKernel::Adaptive { scale: self.scale }),
            ("released", LabKernel::Released { beta: self.beta }),
        ];
        choose("kernel", &self.kernel, &kernels)
    }

    /// How regions are compared.
    pub fn ties(&self) -> PyResult<Vec<Tie>> {
        let factors = [("lab", Factor::Lab), ("mpb", Factor::Mpb), ("pmi", Factor::Pmi)];
        let tie = |(name, power): &(String, f64)| match choose("affinity", name, &factors)? {
            Factor::Lab => Ok(Tie::Colors(*power)),
            Factor::Mpb => Ok(Tie::Contours(raised(self.contour_weight()?, *power))),
            Factor::Pmi => Err(PyValueError::new_err(
                "affinity is 'pmi', which compares pixels, but superpixels are compared by 'lab', 'mpb' or 'lab+mpb'",
            )),
        };
        self.affinity.iter().map(tie).collect()
    }

    fn contour_weight(&self) -> PyResult<ContourWeight> {
        let sigma = self.contour_sigma;
        let weights = [
            ("sigmoid", ContourWeight::Sigmoid { sigma }),
            ("exponential", ContourWeight::Exponential { sigma }),
        ];
        choose("contour_weight", &self.contour_weight, &weights)
    }

    /// The contours that were given.
    pub fn given_contours(&self) -> PyResult<Option<Contours>> {
        let Some(map) = &self.contours else { return Ok(None) };
        let (height, width) = map.as_array().dim();
        Contours::new(height, width, map.as_slice()?.to_vec()).map(Some).map_err(to_python)
    }

    fn by_contours(&self) -> PyResult<ContourAffinity> {
        let affinity = match self.given_contours()? {
            None => ContourAffinity::mpb(MultiscalePb::new().seed(self.seed)),
            Some(given) => ContourAffinity::given(given),
        };
        Ok(affinity.weight(self.contour_weight()?))
    }

    /// The segmenter with these settings.
    pub fn segmenter(&self, cut: &CutOptions<'_>, parts: &PartOptions) -> PyResult<Segmenter> {
        let mut segmenter = cut.segmenter(parts)?.affinity(self.affinity()?).connected(self.connected);
        if let Some(levels) = self.levels {
            segmenter = segmenter.levels(levels);
        }
        let Some(name) = &self.upsampling else { return Ok(segmenter) };
        Ok(segmenter.upsampling(upsampling(name)?))
    }
}
