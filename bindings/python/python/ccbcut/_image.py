"""Functions on images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ccbcut import _ccbcut
from ccbcut._arrays import as_mask, as_pixels, count
from ccbcut._choice import Choice
from ccbcut._constraints import as_scribbles, refuse_others
from ccbcut._graph import Method, Trace, is_converged, sweeps, to_csr
from ccbcut._options import (
    cut_options,
    default_kappa,
    image_options,
    image_rejoin,
    image_share,
    nothing_left,
    part_options,
    take,
)
from ccbcut._regions import region_options
from ccbcut._tree import Tree, renumbered


@dataclass(frozen=True)
class Hierarchy:
    """An image cut into nested parts, from `hierarchy`.

    Attributes
    ----------
    leaves : ndarray of int32, shape (height, width)
        The node of `tree` that each pixel ends in; -1 where it was masked out.
    tree : Tree
        The nested splits, over the vertices of the coarse graph.
    costs : dict of str to float
        The costs of the finest partition, on the pixels.
    trace : list of dict
        Every sweep of every embedding.
    is_converged : bool
        Whether no embedding stopped at the sweep limit.
    """

    leaves: npt.NDArray[np.int32]
    tree: Tree
    costs: dict[str, float]
    trace: Trace
    is_converged: bool

    @property
    def n_leaves(self) -> int:
        """How many parts the finest partition has."""
        return self.tree.n_leaves

    def cut(self, n_segments: int) -> npt.NDArray[np.int32]:
        """The label map with `n_segments` parts.

        Parameters
        ----------
        n_segments : int
            From 1 to `n_leaves`.

        Returns
        -------
        ndarray of int32, shape (height, width)
            Part numbers by first appearance in raster order; -1 where pixels were masked out.
        """
        part = self.tree._part_of_node(n_segments)
        return renumbered(np.where(self.leaves < 0, -1, part[self.leaves]))

    def contour_map(self) -> npt.NDArray[np.float32]:
        """The hierarchy as an ultrametric contour map on the doubled grid.

        Returns
        -------
        ndarray of float32, shape (2 height + 1, 2 width + 1)
            The connected regions below the threshold ``1 - k / n_leaves`` are those of ``cut(k)``.
        """
        heights = self.tree._heights()
        # Masked-out pixels are parted from all others at height 1.
        heights = np.pad(heights, ((0, 1), (0, 1)), constant_values=1.0)
        heights[-1, -1] = 0.0
        height, width = self.leaves.shape
        ucm = np.zeros((2 * height + 1, 2 * width + 1), dtype=np.float32)
        ucm[1::2, 2:-1:2] = heights[self.leaves[:, :-1], self.leaves[:, 1:]]
        ucm[2:-1:2, 1::2] = heights[self.leaves[:-1, :], self.leaves[1:, :]]
        around = np.pad(ucm, 1)
        beside = np.stack([around[:-2, 1:-1], around[2:, 1:-1], around[1:-1, :-2], around[1:-1, 2:]]).max(0)
        ucm[::2, ::2] = beside[::2, ::2]
        return ucm


@overload
def segment(
    image: Any,
    n_segments: int | Literal["auto"],
    *,
    tau: float = ...,
    method: Method = ...,
    mask: Any = ...,
    scribbles: Any = ...,
    superpixels: Any = ...,
    return_choice: Literal[False] = ...,
    **options: Any,
) -> npt.NDArray[np.int32]: ...


@overload
def segment(
    image: Any,
    n_segments: Literal["auto"],
    *,
    tau: float = ...,
    method: Method = ...,
    mask: Any = ...,
    scribbles: Any = ...,
    superpixels: Any = ...,
    return_choice: Literal[True],
    **options: Any,
) -> tuple[npt.NDArray[np.int32], Choice]: ...


def segment(
    image: Any,
    n_segments: int | Literal["auto"],
    *,
    tau: float = 1.25,
    method: Method = "hierarchical",
    mask: Any = None,
    scribbles: Any = None,
    superpixels: Any = None,
    return_choice: bool = False,
    **options: Any,
) -> npt.NDArray[np.int32] | tuple[npt.NDArray[np.int32], Choice]:
    """Cut an image into segments.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, channels)
        Gray or sRGB: uint8 (0 to 255), uint16 (0 to 65535) or floats (0 to 1). NumPy arrays, PIL images, and anything
        with ``__array__`` or DLPack. float32 in C order is borrowed. An alpha channel is dropped; pixels that are fully
        transparent are masked out.
    n_segments : int or "auto"
        How many segments. With ``"auto"`` it is chosen, up to `k_max`.
    tau : float, default 1.25
        The knob, 0 < tau <= 2: at 2 the normalized (or ratio) cut, below it small segments may stand alone.
    method : {"hierarchical", "multiway"}
        Split in two, again and again, or find all segments at once from one embedding.
    mask : array-like of bool, shape (height, width), optional
        The pixels to cut; the others get the label -1.
    scribbles : array-like of int, shape (height, width), optional
        Strokes on the image: pixels of one number above 0 come out in one segment, those of different numbers in different
        ones (hierarchical). A picture does as well: every colour but black is a name, fully transparent pixels
        have none.
    superpixels : int or array-like of int, shape (height, width), optional
        Cut superpixels instead of pixels: about how many, or a label map of your own, where negative numbers are no
        region. Regions that touch are tied by the likeness of their mean colours (``affinity="lab"``), by the contours
        along their border (``"mpb"``), or both (``"lab+mpb"``), times the length of the border.
    return_choice : bool, default False
        Whether to return the evidence for the number of segments too, with ``n_segments="auto"``.
    k_max : int, default 12
        The most segments that ``"auto"`` may choose.
    compactness : float, default 10.0
        How much place counts against colour in superpixels: more makes squares, less follows edges.
    region_sigma : float, default 14.0
        Width of the kernel between mean colours of regions, in Lab units.
    region_features : array-like of shape (regions, columns), optional
        Rows of numbers to compare too, one for each region of a label map, in the order of their first pixels.
    region_feature_sigma : float, optional
        Width of the kernel between these; by default the median distance of regions that touch.
    affinity : str, default "lab"
        How pixels are compared: ``lab`` (colours), ``mpb`` (contours between them), ``pmi`` (how often two such pixels
        meet, beyond chance), or a product such as ``0.5lab+2mpb``.
    sigma : float, default 3.0
        Width of the colour kernel, in Lab units.
    smooth : float, default 1.0
        Colours are blurred by a Gaussian of so many pixels before they are compared; 0 for drawings, and the default of the
        released kernel.
    radius : float, default 10.0
        Pixels up to this far apart are tied.
    levels : int, optional
        How often the graph is halved before it is cut, 0 for full resolution; 3 by default, 2 below
        96,000 pixels.
    min_share : float, default 0.002
        Least size of a segment as a share of the image (hierarchical).
    rejoin : int, default 120
        Cut into so many segments first, then join them again, those that are hardest to cut apart first (hierarchical); 0
        not to.
    contours : array-like of shape (height, width), optional
        Boundary strengths for ``mpb``, 0 to 1, instead of those that `contours` finds.
    connected : bool, default False
        Whether segments are split into their connected regions at the end.
    kernel, scale, beta, contour_weight, contour_sigma, pmi_pairs, pmi_bandwidth, upsampling
        As the options of ``ccbcut segment`` with the same names.
    balance, rounding, n_init, seed_rows, solver, refine, criterion, starts, kappa, kappa_count, variant, \
max_iterations, tol, eigen_tol, epsilon_floor, early_stop, contract, rotate, columns, seed, threads
        As in `partition`.

    Returns
    -------
    labels : ndarray of int32, shape (height, width)
        Segment numbers by first appearance in raster order: those that ``ccbcut segment`` writes for the same pixels.
    choice : Choice
        Only with `return_choice`.

    Examples
    --------
    >>> import numpy as np, ccbcut
    >>> image = np.zeros((20, 30, 3), dtype=np.uint8)
    >>> image[5:15, 10:20] = [200, 40, 40]
    >>> labels = ccbcut.segment(image, 2)
    >>> labels[0, 0], labels[10, 15]
    (np.int32(0), np.int32(1))

    As many segments as there are:

    >>> labels, choice = ccbcut.segment(image, "auto", levels=0, smooth=0, return_choice=True)
    >>> choice.k, choice.elbow.k, choice.stability.k
    (2, 2, 2)

    Two strokes inside the square, which are not to share a segment:

    >>> strokes = np.zeros((20, 30), dtype=int)
    >>> strokes[6:9, 12:18], strokes[12:14, 12:18] = 1, 2
    >>> labels = ccbcut.segment(image, 3, scribbles=strokes)
    >>> len(np.unique(labels[strokes == 1])), len(np.unique(labels[strokes == 2])), len(np.unique(labels[strokes > 0]))
    (1, 1, 2)
    """
    if return_choice and n_segments != "auto":
        raise ValueError(f"return_choice is True, but n_segments is {n_segments!r}: only 'auto' chooses")
    options.update(scribbles=scribbles, superpixels=superpixels)
    record = _segment("segment", image, n_segments, tau, method, mask, options)
    labels: npt.NDArray[np.int32] = record["labels"]
    return (labels, Choice._from_record(record["choice"])) if return_choice else labels


def hierarchy(
    image: Any, max_segments: int = 25, *, tau: float = 1.25, mask: Any = None, **options: Any
) -> Hierarchy:
    """Cut an image into every number of segments up to `max_segments` at once.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, channels)
        As in `segment`.
    max_segments : int, default 25
        How far to split.
    tau, mask, scribbles, superpixels, **options
        As in `segment`; the method is hierarchical.

    Returns
    -------
    Hierarchy
        With ``.cut(k)`` for each number of segments.

    Examples
    --------
    >>> import numpy as np, ccbcut
    >>> image = np.zeros((20, 30), dtype=np.float32)
    >>> image[:, 10:20], image[:, 20:] = 0.4, 0.9
    >>> tree = ccbcut.hierarchy(image, 3, levels=0)
    >>> [int(tree.cut(k).max()) + 1 for k in (1, 2, 3)]
    [1, 2, 3]
    """
    count("max_segments", max_segments)
    if options.get("connected"):
        raise ValueError("connected is True, but a hierarchy has no connected form: use segment()")
    record = _segment("hierarchy", image, max_segments, tau, "hierarchical", mask, options)
    return Hierarchy(
        leaves=record["leaves"],
        tree=Tree._from_record(record["tree"]),
        costs=dict(record["costs"]),
        trace=sweeps(record["runs"]),
        is_converged=is_converged(record["runs"]),
    )


def affinity_graph(image: Any, kind: str = "lab", *, mask: Any = None, **options: Any) -> sp.csr_array:
    """The graph of an image as a sparse matrix.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, channels)
        As in `segment`.
    kind : str, default "lab"
        How pixels are compared, as `affinity` in `segment`.
    mask : array-like of bool, shape (height, width), optional
        Pixels that are not marked have no edges.
    sigma, radius, kernel, scale, beta, smooth, contours, contour_weight, contour_sigma, pmi_pairs, pmi_bandwidth, \
seed, threads
        As in `segment`.

    Returns
    -------
    scipy.sparse.csr_array of float64, shape (pixels, pixels)
        Symmetric; pixels are numbered row by row. At the default radius of 10 a pixel has up to 316 neighbours, so that a
        photograph takes hundreds of megabytes: a smaller radius takes less.

    Examples
    --------
    >>> import numpy as np, ccbcut
    >>> W = ccbcut.affinity_graph(np.array([[0.2, 0.2, 0.25]], dtype=np.float32), radius=1, smooth=0)
    >>> W.shape, W.nnz, float(W[0, 1])
    ((3, 3), 4, 1.0)
    """
    seed, threads = _seed_and_threads(options)
    options["affinity"] = kind
    settings = image_options(options, seed, threads)
    nothing_left("affinity_graph", options)
    pixels, alpha = as_pixels(image)
    on = as_mask(mask, alpha, (pixels.shape[0], pixels.shape[1]))
    return to_csr(*_ccbcut.affinity_graph(pixels, on, settings))


def contours(image: Any, *, seed: int = 0, threads: int = 0) -> npt.NDArray[np.float32]:
    """How likely a boundary passes through each pixel: the multiscale probability of boundary, mPb.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, channels)
        As in `segment`.
    seed : int, default 0
        Seed of the textons.
    threads : int, default 0
        Threads to use, 0 for all.

    Returns
    -------
    ndarray of float32, shape (height, width)
        Between 0 and 1, thinned to lines.

    Examples
    --------
    >>> import numpy as np, ccbcut
    >>> image = np.full((32, 40), 0.2, dtype=np.float32)
    >>> image[:, 20:] = 0.8
    >>> strength = ccbcut.contours(image)
    >>> bool(strength[16, 19:21].sum() > 0.5), bool(strength[16, :15].max() < 0.1)
    (True, True)
    """
    pixels, _ = as_pixels(image)
    return _ccbcut.contours(pixels, count("seed", seed), count("threads", threads))


def _segment(
    function: str, image: Any, n_segments: Any, tau: float, method: str, mask: Any, options: dict[str, Any]
) -> Any:
    scribbles, superpixels = options.pop("scribbles", None), options.pop("superpixels", None)
    cuts = cut_options(tau, options)
    share = image_share(method, cuts["variant"])
    rejoin = image_rejoin(method, cuts["variant"]) if superpixels is None else 0
    parts = part_options(n_segments, method, options, share, rejoin, may_choose=function == "segment")
    settings = image_options(options, cuts["seed"], cuts["threads"])
    default_kappa(cuts, settings["affinity"])
    pixels, alpha = as_pixels(image)
    shape = (pixels.shape[0], pixels.shape[1])
    on = as_mask(mask, alpha, shape)
    regions = region_options(superpixels, options, shape)
    nothing_left(function, options)
    strokes = None
    if scribbles is not None:
        refuse_others(["scribbles"], parts)
        strokes = as_scribbles(scribbles, shape)
    return _ccbcut.segment(pixels, on, cuts, parts, settings, regions, strokes)


def _seed_and_threads(options: dict[str, Any]) -> tuple[int, int]:
    taken = take(options, {"seed": 0, "threads": 0})
    return taken["seed"], taken["threads"]
