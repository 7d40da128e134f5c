"""Cuts of feature maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ccbcut import _ccbcut
from ccbcut._arrays import as_mask, as_pixels, count, number, to_array
from ccbcut._graph import Method
from ccbcut._options import cut_options, default_kappa, image_share, nothing_left, part_options, take

#: The largest grid of which all pairs are compared unless told otherwise.
ALL_PAIRS = 4096

FEATURE_DEFAULTS: dict[str, Any] = {
    "metric": None,
    "cosine_weight": "exponential",
    "cosine_threshold": 0.2,
    "bandwidth": "median",
    "neighbors": None,
    "radius": 10.0,
    "levels": None,
    "sigma": 3.0,
    "upsampling": None,
    "connected": False,
}


def segment_features(
    features: Any,
    n_segments: int,
    *,
    image: Any = None,
    tau: float = 1.25,
    method: Method = "hierarchical",
    grid: tuple[int, int] | None = None,
    mask: Any = None,
    **options: Any,
) -> npt.NDArray[np.int32]:
    """Cut a map of features: satellite bands, filter responses, tokens of a vision transformer.

    Parameters
    ----------
    features : array-like of shape (height, width, channels) or (n, channels)
        One vector for each pixel, or for each cell of a coarse grid. Tokens, (n, channels) or (1, n, channels), need
        `grid`; leave out class tokens and registers. Anything with ``__array__`` or DLPack; float32 in C order is borrowed.
    n_segments : int
        How many segments.
    image : array-like, optional
        The image that a coarse grid covers, as in `segment`: parts are taken to its pixels, along its edges.
    tau : float, default 1.25
        The knob, 0 < tau <= 2. Where all pairs are tied, begin with 2.
    method : {"hierarchical", "multiway"}
        As in `segment`.
    grid : (int, int), optional
        Rows and columns of the grid that the tokens fill, row by row.
    mask : array-like of bool, optional
        What to cut, of the size of the image, or of the feature map where there is no image; -1 elsewhere.
    metric : {"cosine", "rbf"}, optional
        Compare vectors by their angle or by their distance; cosine unless there is one channel only.
    cosine_weight : {"exponential", "positive", "threshold"}
        How a cosine c becomes a weight: exp((c - 1)/S), max(0, c), or 1 above `cosine_threshold`.
    cosine_threshold : float, default 0.2
        For ``threshold``.
    bandwidth : float or str, default "median"
        S: a number, ``"median"``, or ``"median:0.5"`` for half of it.
    neighbors : str, optional
        Which vectors are compared: ``"local"`` (up to `radius` apart, decimated `levels` times), ``"all"``, ``"knn:K"`` or
        ``"mutual-knn:K"``. All on coarse grids of up to 4096 cells, else local.
    radius, levels, sigma, min_share, upsampling, connected
        As in `segment`; `sigma` is for the way to the pixels.
    balance, rounding, n_init, seed_rows, rejoin, solver, refine, criterion, starts, kappa, kappa_count, variant, \
max_iterations, tol, eigen_tol, epsilon_floor, early_stop, contract, rotate, columns, seed, threads
        As in `partition`.

    Returns
    -------
    ndarray of int32
        Segment numbers by first appearance, of the size of the image, or of the grid where there is none: those that
        ``ccbcut segment --features`` writes.

    Examples
    --------
    Six tokens with two features each, on a grid of two rows:

    >>> import numpy as np, ccbcut
    >>> tokens = np.array([[1, 0], [1, 0.1], [0, 1], [1, 0], [0.1, 1], [0, 1]])
    >>> ccbcut.segment_features(tokens, 2, grid=(2, 3), tau=2)
    array([[0, 0, 1],
           [0, 1, 1]], dtype=int32)
    """
    cuts = cut_options(tau, options)
    parts = part_options(n_segments, method, options, image_share(method, cuts["variant"]))
    given = take(options, FEATURE_DEFAULTS)
    nothing_left("segment_features", options)
    default_kappa(cuts, [])
    cells = as_features(features, grid)
    shape = (cells.shape[0], cells.shape[1])
    pixels, alpha = (None, None) if image is None else as_pixels(image)
    full = shape if pixels is None else (pixels.shape[0], pixels.shape[1])
    if shape[0] > full[0] or shape[1] > full[1]:
        raise ValueError(f"the features have the shape {shape}, finer than the image, which has {full}")
    on = as_mask(mask, alpha, full)
    settings = feature_options(given, cells, is_coarse=pixels is None or full != shape)
    if given["upsampling"] is None and cuts["variant"] == "released":
        settings["upsampling"] = "nearest"
    if full == shape:
        record = _ccbcut.segment_features(cells, on, None, None, cuts, parts, settings)
    else:
        on_cells = None if on is None else mask_of_cells(on, shape)
        record = _ccbcut.segment_features(cells, on_cells, pixels, on, cuts, parts, settings)
    return record["labels"]


def as_features(features: Any, grid: Any) -> npt.NDArray[np.float32]:
    """Rows × columns × channels in float32, without a copy where that is what is given."""
    array = to_array(features)
    if not (np.issubdtype(array.dtype, np.floating) or np.issubdtype(array.dtype, np.integer)):
        raise TypeError(f"the features hold {array.dtype}, but they must hold real numbers")
    if grid is not None:
        if np.ndim(grid) != 1 or len(grid) != 2:
            raise TypeError(f"grid is {grid!r}, but it must be (rows, columns)")
        rows, columns = (count("grid", side) for side in grid)
        if array.ndim == 3 and array.shape[0] == 1:
            array = array[0]
        if array.ndim != 2 or len(array) != rows * columns:
            raise ValueError(
                f"the features have the shape {array.shape}, but a grid of {rows} x {columns} needs "
                f"({rows * columns}, channels)"
            )
        array = array.reshape(rows, columns, array.shape[1])
    if array.ndim != 3:
        raise ValueError(
            f"the features have the shape {array.shape}, but it must be (height, width, channels), or (n, channels) "
            "with a grid"
        )
    return np.ascontiguousarray(array, dtype=np.float32)


def feature_options(
    given: dict[str, Any], cells: npt.NDArray[np.float32], *, is_coarse: bool
) -> dict[str, Any]:
    """How features become a graph, for the extension."""
    metric = given["metric"] or ("rbf" if cells.shape[2] == 1 else "cosine")
    if metric not in ("cosine", "rbf"):
        raise ValueError(f"metric is '{metric}', but it must be 'cosine' or 'rbf'")
    few = is_coarse and cells.shape[0] * cells.shape[1] <= ALL_PAIRS
    neighbors, n_neighbors = _neighbors(given["neighbors"] or ("all" if few else "local"))
    bandwidth, is_median = _bandwidth(given["bandwidth"])
    names = ("radius", "levels", "sigma", "upsampling", "connected")
    return {
        **{name: given[name] for name in names},
        "kernel": "rbf" if metric == "rbf" else given["cosine_weight"],
        "threshold": given["cosine_threshold"],
        "bandwidth": bandwidth,
        "is_median": is_median,
        "neighbors": neighbors,
        "n_neighbors": n_neighbors,
    }


def _neighbors(value: str) -> tuple[str, int]:
    name, colon, number_of = value.partition(":")
    if name in ("knn", "mutual-knn") and number_of.isdecimal():
        return name, int(number_of)
    if name in ("local", "all") and not colon:
        return name, 0
    raise ValueError(f"neighbors is '{value}', but it must be 'local', 'all', 'knn:K' or 'mutual-knn:K'")


def _bandwidth(value: Any) -> tuple[float, bool]:
    if not isinstance(value, str):
        return number("bandwidth", value), False
    name, colon, scale = value.partition(":")
    try:
        if name == "median":
            return (float(scale) if colon else 1.0), True
    except ValueError:
        pass
    raise ValueError(f"bandwidth is '{value}', but it must be a number, 'median' or 'median:F'")


def mask_of_cells(on: npt.NDArray[np.bool_], shape: tuple[int, int]) -> npt.NDArray[np.bool_]:
    """The mask of a grid that covers the pixels: a cell counts when any of its pixels does."""
    cells = np.zeros(shape, dtype=bool)
    rows, columns = np.nonzero(on)
    down, right = (
        (2 * at + 1) * cells_of // (2 * of) for at, cells_of, of in zip((rows, columns), shape, on.shape)
    )
    cells[down, right] = True
    return cells
