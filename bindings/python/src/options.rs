//! Options, which come as dictionaries with every key present, and become the library's settings.

use ccbcut::{
    Balance, Irrq, Kappa, Method, Partitioner, Segmenter, Upsampling, Variant,
    affinity::{ContourAffinity, ContourWeight, LabAffinity, LabKernel, Neighborhood, ProductAffinity},
    image::contours::{Contours, MultiscalePb},
    partition::Rounding,
};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::error::to_python;

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
    eigen_tol: f64,
    early_stop: bool,
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
    n_segments: usize,
    method: String,
    rounding: String,
    n_columns: Option<usize>,
    n_init: usize,
    min_share: f64,
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
    levels: usize,
    upsampling: Option<String>,
    connected: bool,
    pub seed: u64,
    pub threads: usize,
}

/// What a name stands for.
fn choose<T: Copy>(what: &str, name: &str, choices: &[(&str, T)]) -> PyResult<T> {
    let found = choices.iter().find(|(known, _)| *known == name);
    found.map(|&(_, value)| value).ok_or_else(|| {
        let known: Vec<String> = choices.iter().map(|(known, _)| format!("'{known}'")).collect();
        PyValueError::new_err(format!("{what} is '{name}', but it must be one of {}", known.join(", ")))
    })
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
        irrq.epsilon_floor(self.epsilon_floor)
            .max_iterations(self.max_iterations)
            .tol(self.tol)
            .eigen_tol(self.eigen_tol)
            .early_stop(self.early_stop)
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
        let all = [Rounding::KMeans, Rounding::Discretize, Rounding::Procrustes];
        let partitioner = Partitioner::new(parts.n_segments, self.tau)
            .balance(self.balance()?)
            .method(choose("method", &parts.method, &methods)?)
            .variant(self.variant()?)
            .rounding(choose("rounding", &parts.rounding, &all.map(|rounding| (rounding.name(), rounding)))?)
            .n_init(parts.n_init)
            .min_share(parts.min_share)
            .seed(self.seed)
            .irrq(|irrq| self.configure(irrq));
        Ok(match parts.n_columns {
            Some(columns) => partitioner.n_columns(columns),
            None => partitioner,
        })
    }
}

impl ImageOptions<'_> {
    /// How pixels are compared.
    pub fn affinity(&self) -> PyResult<ProductAffinity> {
        let near = Neighborhood::new(self.radius);
        let mut product = ProductAffinity::new();
        for (name, power) in &self.affinity {
            product = if choose("affinity", name, &[("lab", true), ("mpb", false)])? {
                let affinity = LabAffinity::new(self.kernel()?).neighborhood(near).smoothing(self.smooth);
                product.and(affinity, *power)
            } else {
                product.and(self.by_contours()?.neighborhood(near), *power)
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

    fn by_contours(&self) -> PyResult<ContourAffinity> {
        let sigma = self.contour_sigma;
        let weights = [
            ("sigmoid", ContourWeight::Sigmoid { sigma }),
            ("exponential", ContourWeight::Exponential { sigma }),
        ];
        let weight = choose("contour_weight", &self.contour_weight, &weights)?;
        let affinity = match &self.contours {
            None => ContourAffinity::mpb(MultiscalePb::new().seed(self.seed)),
            Some(map) => {
                let (height, width) = map.as_array().dim();
                let given = Contours::new(height, width, map.as_slice()?.to_vec()).map_err(to_python)?;
                ContourAffinity::given(given)
            }
        };
        Ok(affinity.weight(weight))
    }

    /// The segmenter with these settings.
    pub fn segmenter(&self, cut: &CutOptions<'_>, parts: &PartOptions) -> PyResult<Segmenter> {
        let partitioner = cut.partitioner(parts)?;
        let segmenter = Segmenter::new(parts.n_segments, cut.tau)
            .partitioner(|_| partitioner)
            .affinity(self.affinity()?)
            .levels(self.levels)
            .connected(self.connected);
        let Some(name) = &self.upsampling else { return Ok(segmenter) };
        let ways = [Upsampling::Prolong, Upsampling::Nearest].map(|way| (way.name(), way));
        Ok(segmenter.upsampling(choose("upsampling", name, &ways)?))
    }
}
