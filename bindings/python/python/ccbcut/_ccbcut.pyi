"""The private extension module; `stubtest` holds this file to it."""

from collections.abc import Mapping
from typing import Any, TypedDict, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "CcbError",
    "Graph",
    "__version__",
    "affinity_graph",
    "ccb_cost",
    "contours",
    "costs",
    "embed",
    "neighbor_graph",
    "partition",
    "pixel_address",
    "region_scores",
    "segment",
    "segment_features",
    "segment_volume",
    "superpixels",
    "supervoxels",
]

__version__: str

class CcbError(RuntimeError):
    """The computation itself failed on acceptable input, for example an eigenproblem that could not be solved."""

class _Sweep(TypedDict):
    sweep: int
    epsilon: float
    f: float
    j_tau: float
    j2: float
    eigenvalues: list[float]
    residual: float
    vertices: int
    solver_steps: int
    ms: float

class _Run(TypedDict):
    n_vertices: int
    first_vertex: int
    stop_reason: str
    kappa: int
    epsilon_floor: float
    sweeps: list[_Sweep]

class _Tree(TypedDict):
    order: npt.NDArray[np.uint32]
    parent: npt.NDArray[np.int32]
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    size: npt.NDArray[np.int64]
    step: npt.NDArray[np.int32]
    costs: npt.NDArray[np.float64]

class _Opinion(TypedDict):
    k: int
    margin: float
    scores: npt.NDArray[np.float64]

class _Choice(TypedDict):
    k: int
    confidence: float
    k_max: int
    eigengap: _Opinion
    elbow: _Opinion
    stability: _Opinion
    eigenvalues: npt.NDArray[np.float64]
    costs: npt.NDArray[np.float64]

class _Partition(TypedDict):
    labels: npt.NDArray[np.int32]
    tree: _Tree | None
    embedding: npt.NDArray[np.float64] | None
    runs: list[_Run]
    choice: _Choice | None

class _Costs(TypedDict):
    cut: float
    ncut: float
    rcut: float
    ncheeger: float
    rcheeger: float
    ccn: float
    ccr: float

class _Segmentation(TypedDict):
    labels: npt.NDArray[np.int32]
    tree: _Tree | None
    leaves: npt.NDArray[np.int32] | None
    costs: _Costs
    runs: list[_Run]
    levels: int
    choice: _Choice | None

@final
class Graph:
    def __new__(
        cls,
        offsets: npt.NDArray[np.uintp],
        columns: npt.NDArray[np.uint32],
        weights: npt.NDArray[np.float64],
    ) -> Graph: ...
    @property
    def n_vertices(self) -> int: ...
    @property
    def n_edges(self) -> int: ...
    def degrees(self) -> npt.NDArray[np.float64]: ...
    def components(self) -> npt.NDArray[np.int32]: ...
    def to_csr(
        self,
    ) -> tuple[npt.NDArray[np.uintp], npt.NDArray[np.uint32], npt.NDArray[np.float64]]: ...

def affinity_graph(
    pixels: npt.NDArray[np.float32], mask: npt.NDArray[np.bool_] | None, options: Mapping[str, Any]
) -> tuple[npt.NDArray[np.uintp], npt.NDArray[np.uint32], npt.NDArray[np.float64]]: ...
def contours(pixels: npt.NDArray[np.float32], seed: int, threads: int) -> npt.NDArray[np.float32]: ...
def pixel_address(pixels: npt.NDArray[np.float32]) -> int: ...
def embed(
    graph: Graph, n_components: int, options: Mapping[str, Any]
) -> tuple[npt.NDArray[np.float64], _Run]: ...
def neighbor_graph(
    points: npt.NDArray[np.float64], n_neighbors: int, bandwidth: float | None, mutual: bool, threads: int
) -> Graph: ...
def partition(
    graph: Graph, options: Mapping[str, Any], parts: Mapping[str, Any], constraints: Mapping[str, Any]
) -> _Partition: ...
def segment(
    pixels: npt.NDArray[np.float32],
    mask: npt.NDArray[np.bool_] | None,
    options: Mapping[str, Any],
    parts: Mapping[str, Any],
    image_options: Mapping[str, Any],
    regions: Mapping[str, Any] | None,
    scribbles: npt.NDArray[np.uint32] | None,
) -> _Segmentation: ...
def superpixels(
    pixels: npt.NDArray[np.float32],
    mask: npt.NDArray[np.bool_] | None,
    n_segments: int,
    compactness: float,
    threads: int,
) -> npt.NDArray[np.int32]: ...
def supervoxels(
    voxels: npt.NDArray[np.float32], options: Mapping[str, Any], threads: int
) -> npt.NDArray[np.int32]: ...
def segment_volume(
    voxels: npt.NDArray[np.float32],
    options: Mapping[str, Any],
    parts: Mapping[str, Any],
    volume_options: Mapping[str, Any],
) -> npt.NDArray[np.int32]: ...
def segment_features(
    features: npt.NDArray[np.float32],
    mask: npt.NDArray[np.bool_] | None,
    pixels: npt.NDArray[np.float32] | None,
    pixel_mask: npt.NDArray[np.bool_] | None,
    options: Mapping[str, Any],
    parts: Mapping[str, Any],
    feature_options: Mapping[str, Any],
) -> _Segmentation: ...
def costs(graph: Graph, labels: npt.NDArray[np.uint32], tau: float) -> _Costs: ...
def ccb_cost(graph: Graph, labels: npt.NDArray[np.uint32], options: Mapping[str, Any]) -> float: ...
def region_scores(
    found: npt.NDArray[np.uint32], truth: npt.NDArray[np.uint32]
) -> tuple[float, float, float]: ...
