//! Stacks of slices → labels.

use ccbcut::{
    Balance, Control, Result,
    image::volume::Volume,
    regions::{RegionGraph, RegionMap, Slic},
};
use numpy::{PyArray1, PyArray3, PyArrayMethods, PyReadonlyArray4, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::{
    control::{Stop, run},
    error::to_python,
    options::{CutOptions, PartOptions},
    segment::signed,
};

/// What the voxels are, and how supervoxels are found and tied.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct VolumeOptions {
    /// Whether the three channels are sRGB.
    is_color: bool,
    spacing: [f64; 3],
    supervoxels: usize,
    compactness: f64,
    sigma: f64,
}

impl VolumeOptions {
    /// The voxels on a scale where differences mean something.
    fn volume(&self, voxels: &PyReadonlyArray4<'_, f32>) -> PyResult<Volume> {
        let &[depth, height, width, channels] = voxels.shape() else {
            unreachable!("four dimensions by type")
        };
        let volume = Volume::new([depth, height, width], channels, voxels.as_slice()?.to_vec());
        volume.and_then(|volume| volume.with_spacing(self.spacing)).map_err(to_python)
    }

    fn regions(&self, raw: Volume) -> Result<(Volume, RegionMap)> {
        let volume = if self.is_color { raw.to_lab()? } else { raw.scaled() };
        let map = Slic::new(self.supervoxels).compactness(self.compactness).fit(&volume, None)?;
        Ok((volume, map))
    }
}

/// Many small regions of like values.
#[pyfunction]
pub fn supervoxels<'py>(
    py: Python<'py>,
    voxels: PyReadonlyArray4<'py, f32>,
    options: VolumeOptions,
    threads: usize,
) -> PyResult<Bound<'py, PyArray3<i32>>> {
    let volume = options.volume(&voxels)?;
    let (_, map) = run(py, threads, |_| options.regions(volume))?;
    to_stack(py, map.as_slice(), map.shape())
}

/// Cuts a volume.
#[pyfunction]
pub fn segment_volume<'py>(
    py: Python<'py>,
    voxels: PyReadonlyArray4<'py, f32>,
    options: CutOptions<'py>,
    parts: PartOptions,
    volume_options: VolumeOptions,
) -> PyResult<Bound<'py, PyArray3<i32>>> {
    let volume = volume_options.volume(&voxels)?;
    let (balance, partitioner) = (options.balance()?, options.partitioner(&parts)?);
    let (spacing, sigma, shape) = (volume_options.spacing, volume_options.sigma, volume.shape());
    let work = |stop: Stop<'_>| {
        let (volume, map) = volume_options.regions(volume)?;
        let graph = RegionGraph::new(&map).spacing(spacing).colors(&volume, sigma)?.build()?;
        let partitioner = if balance == Balance::Ratio {
            let sizes = map.sizes().into_iter().map(|size| size as f64).collect();
            partitioner.balance(Balance::Custom(sizes))
        } else {
            partitioner
        };
        let cut = partitioner.partition_with(&graph, &mut Control::new().stop(stop))?;
        map.paint(&cut.labels)
    };
    let painted = run(py, options.threads, work)?;
    to_stack(py, &painted, shape)
}

fn to_stack<'py>(py: Python<'py>, values: &[u32], shape: [usize; 3]) -> PyResult<Bound<'py, PyArray3<i32>>> {
    PyArray1::from_vec(py, signed(values)).reshape(shape)
}
