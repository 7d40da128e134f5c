"""Normalized cuts of region adjacency graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ccbcut._arrays import to_array
from ccbcut._graph import costs, partition


def cut_normalized(
    labels: npt.ArrayLike,
    rag: Any,
    thresh: float = 0.001,
    num_cuts: int = 10,
    in_place: bool = True,
    max_edge: float = 1.0,
    *,
    rng: Any = None,
    tau: float = 2.0,
) -> npt.NDArray[Any]:
    """Merge the regions of a label map by recursive two-way cuts of their region adjacency graph.

    Takes the arguments of `skimage.graph.cut_normalized`, and a knob: at ``tau=2`` both make normalized cuts, but here
    every threshold of the eigenvector is tried. Below 2 small, weakly tied groups of regions may be cut off first.

    Parameters
    ----------
    labels : array-like of int
        The label map of the regions.
    rag : skimage.graph.RAG or networkx.Graph
        Nodes with an attribute ``labels`` (a list of the labels they stand for), edges with a ``weight``.
    thresh : float, default 0.001
        A group is not split where the normalized cut would be above this.
    num_cuts : int
        Not used: all thresholds are tried.
    in_place : bool, default True
        Whether each node of `rag` gets the attribute ``ncut label``. Nothing else of it is ever changed.
    max_edge : float, default 1.0
        Weight of the edge from each region to itself.
    rng : int, optional
        Seed, 0 by default.
    tau : float, default 2.0
        The knob, 0 < tau <= 2.

    Returns
    -------
    ndarray
        The label map of the groups.
    """
    del num_cuts
    nodes = list(rag.nodes())
    position = {node: i for i, node in enumerate(nodes)}
    edges = [(position[a], position[b], data["weight"]) for a, b, data in rag.edges(data=True) if a != b]
    rows, columns, weights = (
        (np.array(column) for column in zip(*edges)) if edges else (np.empty(0, int),) * 3
    )
    n = len(nodes)
    half = sp.coo_array((np.asarray(weights, dtype=np.float64), (rows, columns)), shape=(n, n))
    W = sp.csr_array(half + half.T + max_edge * sp.eye_array(n))
    seed = 0 if rng is None else int(rng if isinstance(rng, (int, np.integer)) else rng.integers(2**31))
    label_map = to_array(labels)
    target = np.arange(int(label_map.max()) + 1, dtype=label_map.dtype)
    for members in _groups(W, thresh, tau, seed):
        # A group is named after the first of its regions.
        name = rag.nodes[nodes[members.min()]]["labels"][0]
        for node in (nodes[i] for i in members):
            target[rag.nodes[node]["labels"]] = name
            if in_place:
                rag.nodes[node]["ncut label"] = name
    return np.asarray(target[label_map])


def _groups(W: sp.csr_array, thresh: float, tau: float, seed: int) -> list[npt.NDArray[np.intp]]:
    """Splits until no group has a cheap enough cut."""
    finished = []
    waiting = [np.arange(W.shape[0])]
    while waiting:
        members = waiting.pop()
        if len(members) < 2:
            finished.append(members)
            continue
        inner = W[members][:, members]
        sides = partition(inner, 2, tau=tau, seed=seed).labels
        if costs(inner, sides)["ncut"] < thresh:
            waiting += [members[sides == 1], members[sides == 0]]
        else:
            finished.append(members)
    return finished
