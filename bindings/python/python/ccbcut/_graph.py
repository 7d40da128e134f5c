"""Functions on graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Union, overload

import numpy as np
import numpy.typing as npt

from ccbcut import _ccbcut
from ccbcut._arrays import as_graph, as_labels, count, number
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
    """

    labels: npt.NDArray[np.int32]
    tree: Tree | None
    embedding: npt.NDArray[np.float64] | None
    cost: float
    trace: Trace
    is_converged: bool


def partition(
    W: Any, n_segments: int, *, tau: float = 1.25, method: Method = "hierarchical", **options: Any
) -> Partition:
    """Cut a graph into parts.

    Parameters
    ----------
    W : sparse matrix or array-like of shape (n, n)
        Symmetric weights, finite and not negative. Anything that `scipy.sparse.csr_array` or `numpy.asarray` takes, or
        that has DLPack. CSR with int32 indices and float64 data is borrowed.
    n_segments : int
        How many parts.
    tau : float, default 1.25
        The knob, 0 < tau <= 2: at 2 the normalized (or ratio) cut, below it small parts may stand alone.
    method : {"hierarchical", "multiway"}
        Split in two, again and again, or find all parts at once from one embedding.
    balance : {"normalized", "ratio"} or array-like of shape (n,)
        What the size of a part is measured in: degrees, numbers of vertices, or weights of your own.
    rounding : {"kmeans", "discretize", "procrustes"}
        How the rows of an embedding become parts (multiway).
    n_init : int, default 10
        Restarts of k-means.
    min_share : float, default 0.0
        Least size of a part as a share of the whole (hierarchical).
    solver, refine, criterion, starts, kappa, kappa_count, variant, max_iterations, tol, eigen_tol, epsilon_floor, \
early_stop, rotate, columns
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
    cuts = cut_options(tau, options)
    parts = part_options(n_segments, method, options)
    nothing_left("partition", options)
    graph = as_graph(W)
    record = _ccbcut.partition(graph, cuts, parts)
    tree, labels = record["tree"], record["labels"]
    return Partition(
        labels=labels,
        tree=None if tree is None else Tree._from_record(tree),
        embedding=record["embedding"],
        cost=_ccbcut.ccb_cost(graph, labels.view(np.uint32), cuts),
        trace=sweeps(record["runs"]),
        is_converged=is_converged(record["runs"]),
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
    balance, kappa, kappa_count, variant, max_iterations, tol, eigen_tol, epsilon_floor, early_stop, rotate, seed, threads
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
