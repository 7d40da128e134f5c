"""Stacks of slices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ccbcut import _ccbcut
from ccbcut._arrays import count, number, to_array
from ccbcut._graph import Method
from ccbcut._options import cut_options, nothing_left, part_options, take

Spacing = tuple[float, float, float]

VOLUME_DEFAULTS: dict[str, Any] = {"supervoxels": 5000, "compactness": 10.0, "sigma": 10.0}


def segment_volume(
    volume: Any,
    n_segments: int,
    *,
    spacing: Spacing = (1.0, 1.0, 1.0),
    tau: float = 1.25,
    method: Method = "hierarchical",
    **options: Any,
) -> npt.NDArray[np.int32]:
    """Cut a volume into parts: a stack of slices, gray, in colour, or with any number of channels.

    Voxels are gathered into supervoxels first; these are tied by the likeness of their mean values and the area in which
    they touch, and cut.

    Parameters
    ----------
    volume : array-like of shape (depth, height, width) or (depth, height, width, channels)
        Three channels of uint8 or uint16 are sRGB, and compared in L*a*b*. Other values, of any real type, are compared on
        a scale where the middle 98 % of each channel span 0 to 100. Anything with ``__array__`` or DLPack.
    n_segments : int
        How many parts.
    spacing : (float, float, float), default (1.0, 1.0, 1.0)
        Distances between slices, rows and columns.
    tau : float, default 1.25
        The knob, 0 < tau <= 2: at 2 the normalized (or ratio) cut, below it small parts may stand alone.
    method : {"hierarchical", "multiway"}
        As in `segment`.
    supervoxels : int, default 5000
        About how many.
    compactness : float, default 10.0
        How much place counts against values.
    sigma : float, default 10.0
        Width of the kernel between mean values.
    balance, rounding, n_init, seed_rows, min_share, rejoin, solver, refine, criterion, starts, kappa, kappa_count, \
variant, max_iterations, tol, eigen_tol, epsilon_floor, early_stop, contract, rotate, columns, seed, threads
        As in `partition`.

    Returns
    -------
    ndarray of int32, shape (depth, height, width)
        Part numbers by first appearance: those that ``ccbcut volume`` writes for the same voxels.

    Examples
    --------
    >>> import numpy as np, ccbcut
    >>> volume = np.zeros((6, 20, 20), dtype=np.float32)
    >>> volume[2:5, 5:15, 5:15] = 1
    >>> labels = ccbcut.segment_volume(volume, 2, spacing=(2, 1, 1), supervoxels=120)
    >>> bool(np.array_equal(labels == labels[3, 10, 10], volume > 0))
    True
    """
    cuts = cut_options(tau, options)
    parts = part_options(n_segments, method, options)
    settings = volume_options(volume, spacing, take(options, VOLUME_DEFAULTS))
    nothing_left("segment_volume", options)
    return _ccbcut.segment_volume(as_voxels(volume), cuts, parts, settings)


def supervoxels(
    volume: Any,
    n_segments: int = 1000,
    *,
    spacing: Spacing = (1.0, 1.0, 1.0),
    compactness: float = 10.0,
    threads: int = 0,
) -> npt.NDArray[np.int32]:
    """Cut a volume into many small, compact regions of like values.

    Parameters
    ----------
    volume : array-like of shape (depth, height, width) or (depth, height, width, channels)
        As in `segment_volume`.
    n_segments : int, default 1000
        About how many.
    spacing : (float, float, float), default (1.0, 1.0, 1.0)
        Distances between slices, rows and columns: regions are compact in space, not in voxels.
    compactness : float, default 10.0
        How much place counts against values: more makes cubes, less follows edges.
    threads : int, default 0
        Threads to use, 0 for all; changes the time, never the result.

    Returns
    -------
    ndarray of int32, shape (depth, height, width)
        Numbers by first appearance: those that ``ccbcut superpixels --volume`` writes for the same voxels.

    Examples
    --------
    >>> import numpy as np, ccbcut
    >>> regions = ccbcut.supervoxels(np.random.default_rng(0).random((4, 12, 12)), 8, compactness=1000)
    >>> regions.shape, int(regions.max()) + 1
    ((4, 12, 12), 9)
    """
    settings = {"supervoxels": count("n_segments", n_segments), "sigma": 1.0}
    settings["compactness"] = number("compactness", compactness)
    options = volume_options(volume, spacing, settings)
    return _ccbcut.supervoxels(as_voxels(volume), options, count("threads", threads))


def volume_options(volume: Any, spacing: Any, taken: dict[str, Any]) -> dict[str, Any]:
    """What the voxels are, beside the options."""
    array = to_array(volume)
    is_color = array.ndim == 4 and array.shape[3] == 3 and array.dtype in (np.uint8, np.uint16)
    return {**taken, "is_color": is_color, "spacing": _spacing(spacing)}


def _spacing(spacing: Any) -> list[float]:
    if np.ndim(spacing) != 1 or len(spacing) != 3:
        raise ValueError(f"spacing is {spacing!r}, but it must be three numbers: slices, rows, columns")
    return [number("spacing", value) for value in spacing]


def as_voxels(volume: Any) -> npt.NDArray[np.float32]:
    """Depth × height × width × channels in float32; colours from 0 to 1."""
    array = to_array(volume)
    if array.ndim == 3:
        array = array[:, :, :, np.newaxis]
    if array.ndim != 4:
        raise ValueError(
            f"the volume has the shape {array.shape}, but it must be (depth, height, width), perhaps with channels"
        )
    if array.dtype == object or not np.can_cast(array.dtype, np.float64, casting="same_kind"):
        raise TypeError(f"the volume holds {array.dtype}, but it must hold real numbers")
    if array.shape[3] == 3 and array.dtype in (np.uint8, np.uint16):
        array = array.astype(np.float32) / np.float32(np.iinfo(array.dtype).max)
    return np.ascontiguousarray(array, dtype=np.float32)
