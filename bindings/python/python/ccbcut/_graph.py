"""Functions on graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Union, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ccbcut import _ccbcut
from ccbcut._arrays import as_graph, as_labels, count, number, to_array
from ccbcut._choice import Choice
from ccbcut._constraints import Pairs, Seeds, constraint_options
from ccbcut._options import cut_options, nothing_left, part_options
from ccbcut._tree import Tree

Trace = list[dict[str, Any]]
Method = Literal["hierarchical", "multiway"]
CostName = Literal["cut", "ncut", "rcut", "ncheeger", "rcheeger", "ccn", "ccr"]
Balance = Union[Literal["normalized", "ratio"], npt.ArrayLike]


@dataclass(frozen=True)
class Partition:
    """A graph cut into parts.

    Attributes
    ----------
    labels : ndarray of int32
        One part number per vertex, numbered by first appearance.
    tree : Tree or None
        The nested splits (hierarchical only).
    embedding : ndarray of float64 or None
        The coordinates that were rounded, one row per vertex (multiway only).
    cost : float
        The cost that was made small.
    trace : list of dict
        Every sweep of every embedding, with the names of the command's reports.
    is_converged : bool
        Whether no embedding stopped at the sweep limit.
    choice : Choice or None
        The number of parts that was chosen, and why (with ``n_segments="auto"``).
    """

    labels: npt.NDArray[np.int32]
    tree: Tree | None
    embedding: npt.NDArray[np.float64] | None
    cost: float
    trace: Trace
    is_converged: bool
    choice: Choice | None = None


def partition(
    W: Any,
    n_segments: int | Literal["auto"],
    *,
    tau: float = 1.25,
    method: Method = "hierarchical",
    must_link: Pairs | None = None,
    cannot_link: Pairs | None = None,
    seeds: Seeds | None = None,
    **options: Any,
) -> Partition:
    """Cut a graph into parts.

    Parameters
    ----------
    W : sparse matrix or array-like of shape (n, n)
        Symmetric weights, finite and not negative. Anything that `scipy.sparse.csr_array` or `numpy.asarray` takes, or
        that has DLPack. CSR with int32 indices and float64 data is borrowed.
    n_segments : int or "auto"
        How many parts. With ``"auto"`` it is chosen, up to `k_max`; `choice` of the result has the evidence.
    tau : float, default 1.25
        The knob, 0 < tau <= 2: at 2 the normalized (or ratio) cut, below it small parts may stand alone.
    method : {"hierarchical", "multiway"}
        Split in two, again and again, or find all parts at once from one embedding.
    must_link, cannot_link : array-like of int, shape (m, 2), optional
        Pairs of vertices to keep together, and to keep apart (hierarchical). All hold in the result, or it is a
        `ValueError`. With `cannot_link` there may be no `tree`.
    seeds : dict of int to name, or iterable of (int, name), optional
        What some vertices belong to: vertices of one name are kept together, those of different names apart.
    k_max : int, default 12
        The most parts that ``"auto"`` may choose.
    balance : {"normalized", "ratio"} or array-like of shape (n,)
        What the size of a part is measured in: degrees, numbers of vertices, or weights of your own.
    rounding : {"kmeans", "discretize", "procrustes"}
        How the rows of an embedding become parts (multiway); k-means by default, for images at tau < 2 "discretize".
    n_init : int, default 10
        Starts of k-means, or of "discretize".
    seed_rows : int, default 8000
        Rows of the embedding that these starts are tried on, 0 for all.
    min_share : float, default 0.0
        Least size of a part as a share of the whole (hierarchical).
    rejoin : int, default 0
        Cut into so many parts first, then join them again, those that are hardest to cut apart first (hierarchical).
    solver, refine, criterion, starts, kappa, kappa_count, variant, max_iterations, tol, eigen_tol, epsilon_floor, \
early_stop, contract, rotate, columns
        As the options of the command with the same names.
    seed : int, default 0
        Seed of everything random. The same seed gives the same labels as the command.
    threads : int, default 0
        Threads to use, 0 for all; changes the time, never the result.

    Returns
    -------
    Partition

    Examples
    --------
    Two triangles joined by a weak edge:

    >>> import numpy as np, ccbcut
    >>> W = np.zeros((6, 6))
    >>> for i, j, w in [(0, 1, 1), (1, 2, 1), (0, 2, 1), (3, 4, 1), (4, 5, 1), (3, 5, 1), (2, 3, 0.1)]:
    ...     W[i, j] = W[j, i] = w
    >>> cut = ccbcut.partition(W, 2, tau=1)
    >>> cut.labels
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> round(cut.cost, 4)
    0.0286
    """
    options.update(must_link=must_link, cannot_link=cannot_link, seeds=seeds)
    return _cut("partition", lambda: as_graph(W), n_segments, tau, method, options)


def cluster(
    X: Any,
    n_segments: int | Literal["auto"],
    *,
    n_neighbors: int = 10,
    bandwidth: float | None = None,
    mutual: bool = False,
    tau: float = 1.25,
    method: Method = "hierarchical",
    **options: Any,
) -> Partition:
    """Cut points into clusters: each is tied to its nearest neighbours, and that graph is cut.

    Needs nothing but NumPy and SciPy; `CCBCut` is the scikit-learn estimator.

    Parameters
    ----------
    X : array-like of shape (n, dimensions)
        The points.
    n_segments : int or "auto"
        How many clusters, or to have it chosen, as in `partition`.
    n_neighbors, bandwidth, mutual
        How points are tied, as in `neighbor_graph`.
    tau, method, must_link, cannot_link, seeds, k_max, **options
        As in `partition`; vertices are points.

    Returns
    -------
    Partition
        With the labels that ``ccbcut cluster --points`` writes.

    Examples
    --------
    >>> import numpy as np, ccbcut
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(0, 0.3, (40, 2)), rng.normal(4, 0.3, (20, 2))])
    >>> np.bincount(ccbcut.cluster(X, 2).labels)
    array([40, 20])
    """
    threads = count("threads", options.get("threads", 0))
    return _cut(
        "cluster",
        lambda: _neighbor_graph(X, n_neighbors, bandwidth, mutual, threads),
        n_segments,
        tau,
        method,
        options,
    )


def neighbor_graph(
    X: Any, n_neighbors: int = 10, *, bandwidth: float | None = None, mutual: bool = False, threads: int = 0
) -> sp.csr_array:
    """Tie each point to its nearest neighbours, by Euclidean distance.

    Parameters
    ----------
    X : array-like of shape (n, dimensions)
        The points.
    n_neighbors : int, default 10
        Neighbours of each point, itself not counted.
    bandwidth : float, optional
        Width σ of the Gaussian exp(-d²/σ²), in units of distance. By default each point has its own: the distance
        to its seventh neighbour.
    mutual : bool, default False
        Whether only points that are among each other's neighbours are tied.
    threads : int, default 0
        Threads to use, 0 for all.

    Returns
    -------
    scipy.sparse.csr_array of float64, shape (n, n)
        Symmetric.

    Examples
    --------
    >>> import ccbcut
    >>> ccbcut.neighbor_graph([[0.0], [1.0], [3.0]], 1, bandwidth=1.0).toarray().round(3)
    array([[0.   , 0.368, 0.   ],
           [0.368, 0.   , 0.018],
           [0.   , 0.018, 0.   ]])
    """
    return to_csr(*_neighbor_graph(X, n_neighbors, bandwidth, mutual, count("threads", threads)).to_csr())


def _neighbor_graph(
    X: Any, n_neighbors: int, bandwidth: float | None, mutual: bool, threads: int
) -> _ccbcut.Graph:
    points = to_array(X)
    if points.ndim != 2:
        raise ValueError(f"X has {points.ndim} dimensions, but it must have 2: points and coordinates")
    if points.dtype == object or not np.can_cast(points.dtype, np.float64, casting="same_kind"):
        raise TypeError(f"X holds {points.dtype}, but it must hold real numbers")
    width = None if bandwidth is None else number("bandwidth", bandwidth)
    rows = np.ascontiguousarray(points, dtype=np.float64)
    return _ccbcut.neighbor_graph(rows, count("n_neighbors", n_neighbors), width, bool(mutual), threads)


def to_csr(
    offsets: npt.NDArray[np.uintp], columns: npt.NDArray[np.uint32], weights: npt.NDArray[np.float64]
) -> sp.csr_array:
    """Compressed rows of the extension as a matrix, with narrow indices where these are enough."""
    index = np.int32 if len(weights) <= np.iinfo(np.int32).max else np.int64
    n = len(offsets) - 1
    indices = columns.view(np.int32) if index is np.int32 else columns.astype(np.int64)
    return sp.csr_array((weights, indices, offsets.astype(index)), shape=(n, n))


def _cut(
    function: str,
    make_graph: Callable[[], _ccbcut.Graph],
    n_segments: Any,
    tau: float,
    method: str,
    options: dict[str, Any],
) -> Partition:
    cuts = cut_options(tau, options)
    parts = part_options(n_segments, method, options, may_choose=True)
    constraints = constraint_options(options, parts)
    nothing_left(function, options)
    graph = make_graph()
    record = _ccbcut.partition(graph, cuts, parts, constraints)
    tree, labels, choice = record["tree"], record["labels"], record["choice"]
    return Partition(
        labels=labels,
        tree=None if tree is None else Tree._from_record(tree),
        embedding=record["embedding"],
        cost=_ccbcut.ccb_cost(graph, labels.view(np.uint32), cuts),
        trace=sweeps(record["runs"]),
        is_converged=is_converged(record["runs"]),
        choice=None if choice is None else Choice._from_record(choice),
    )


@overload
def embed(
    W: Any, n_components: int = ..., *, tau: float = ..., return_trace: Literal[False] = ..., **options: Any
) -> npt.NDArray[np.float64]: ...


@overload
def embed(
    W: Any, n_components: int = ..., *, tau: float = ..., return_trace: Literal[True], **options: Any
) -> tuple[npt.NDArray[np.float64], Trace]: ...


def embed(
    W: Any, n_components: int = 2, *, tau: float = 1.25, return_trace: bool = False, **options: Any
) -> npt.NDArray[np.float64] | tuple[npt.NDArray[np.float64], Trace]:
    """Embed the vertices of a graph.

    Parameters
    ----------
    W : sparse matrix or array-like of shape (n, n)
        Symmetric weights, as in `partition`.
    n_components : int, default 2
        Columns of the embedding, below n.
    tau : float, default 1.25
        The knob, 0 < tau <= 2. At 2 the columns are the smallest nontrivial eigenvectors.
    return_trace : bool, default False
        Whether to return what every sweep did, too.
    balance, kappa, kappa_count, variant, max_iterations, tol, eigen_tol, epsilon_floor, early_stop, contract, rotate, \
seed, threads
        As in `partition`.

    Returns
    -------
    Y : ndarray of float64, shape (n, n_components)
        With Y'ΠY = I and Y'Π1 = 0, where Π holds the vertex weights of the balance.
    trace : list of dict
        Only with `return_trace`.

    Examples
    --------
    >>> import numpy as np, ccbcut
    >>> W = np.diag(np.ones(4), 1)
    >>> Y = ccbcut.embed(W + W.T, 1, tau=2, balance="ratio")
    >>> np.round(np.abs(Y.ravel()), 4)
    array([0.6015, 0.3717, 0.    , 0.3717, 0.6015])
    """
    Y, trace, _ = embed_fully(W, n_components, tau, options)
    return (Y, trace) if return_trace else Y


def embed_fully(
    W: Any, n_components: int, tau: float, options: dict[str, Any]
) -> tuple[npt.NDArray[np.float64], Trace, bool]:
    """The embedding, its sweeps, and whether they converged."""
    cuts = cut_options(tau, options)
    nothing_left("embed", options)
    Y, run = _ccbcut.embed(as_graph(W), count("n_components", n_components), cuts)
    return Y, sweeps([run]), is_converged([run])


def cost(
    W: Any,
    labels: npt.ArrayLike,
    *,
    kind: CostName | None = None,
    tau: float = 1.25,
    balance: Balance = "normalized",
) -> float:
    """The cost of a partition: by default the one that cuts make small.

    Parameters
    ----------
    W : sparse matrix or array-like of shape (n, n)
        Symmetric weights, as in `partition`.
    labels : array-like of int, shape (n,)
        The part of each vertex, by any numbers that are not negative.
    kind : {"cut", "ncut", "rcut", "ncheeger", "rcheeger", "ccn", "ccr"}, optional
        Another cost by name; `balance` then has no say.
    tau : float, default 1.25
        τ of CCN and CCR, 0 or more.
    balance : {"normalized", "ratio"} or array-like of shape (n,)
        What the size of a part is measured in.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np, ccbcut
    >>> W = np.ones((4, 4)) - np.eye(4)
    >>> ccbcut.cost(W, [0, 0, 1, 1], kind="cut")
    4.0
    >>> round(ccbcut.cost(W, [0, 0, 1, 1], tau=2), 4), round(ccbcut.cost(W, [0, 0, 1, 1], kind="ncut"), 4)
    (0.3333, 1.3333)
    """
    if kind is not None:
        table = costs(W, labels, tau=tau)
        if kind not in table:
            raise ValueError(f"kind is '{kind}', but it must be one of {', '.join(map(repr, table))}")
        return table[kind]
    options = cut_options(tau, {"balance": balance})
    return _ccbcut.ccb_cost(as_graph(W), _flat(labels), options)


def costs(W: Any, labels: npt.ArrayLike, *, tau: float = 1.25) -> dict[str, float]:
    """All usual costs of a partition, by name.

    Parameters
    ----------
    W : sparse matrix or array-like of shape (n, n)
        Symmetric weights, as in `partition`.
    labels : array-like of int, shape (n,)
        The part of each vertex.
    tau : float, default 1.25
        τ of CCN and CCR.

    Returns
    -------
    dict of str to float
        ``cut``, ``ncut``, ``rcut``, ``ncheeger``, ``rcheeger``, ``ccn`` and ``ccr``.

    Examples
    --------
    >>> import ccbcut
    >>> ccbcut.costs([[0, 1, 0], [1, 0, 1], [0, 1, 0]], [0, 0, 1])["ncut"]
    1.3333333333333333
    """
    table = _ccbcut.costs(as_graph(W), _flat(labels), number("tau", tau))
    return {**table}  # type: ignore[dict-item]


def _flat(labels: npt.ArrayLike) -> npt.NDArray[np.uint32]:
    array = as_labels("labels", labels, keep_void=False)
    if array.ndim != 1:
        raise ValueError(f"labels has {array.ndim} dimensions, but it must have 1")
    return array


def sweeps(runs: list[Any]) -> Trace:
    """Every sweep of every embedding, with the number of the embedding as ``split``."""
    return [{"split": split, **sweep} for split, run in enumerate(runs) for sweep in run["sweeps"]]


def is_converged(runs: list[Any]) -> bool:
    """Whether no embedding stopped at the sweep limit."""
    return all(run["stop_reason"] != "max_iterations" for run in runs)
