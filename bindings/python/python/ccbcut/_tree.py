"""The history of a hierarchical cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ccbcut._arrays import count


@dataclass(frozen=True)
class Tree:
    """Nested parts; the partition into any number of parts up to `n_leaves` can be read off.

    Node 0 is the root, and step ``s`` splits one node into the nodes ``2 s - 1`` and ``2 s``; after it there are
    ``s + 1`` parts. The arrays have one entry per node unless said otherwise, and -1 stands for none.

    Attributes
    ----------
    parent, left, right : ndarray of int32
        The nodes that each was split from and into.
    size : ndarray of int64
        How many vertices it holds.
    step : ndarray of int32
        The step that split it; -1 for a leaf.
    costs : ndarray of float64
        The cost of the partition into 1, 2, ..., `n_leaves` parts.
    order : ndarray of uint32
        The vertices, so ordered that every node owns a contiguous range.
    """

    parent: npt.NDArray[np.int32]
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    size: npt.NDArray[np.int64]
    step: npt.NDArray[np.int32]
    costs: npt.NDArray[np.float64]
    order: npt.NDArray[np.uint32]

    @classmethod
    def _from_record(cls, record: Mapping[str, Any]) -> Tree:
        return cls(**record)

    @property
    def n_leaves(self) -> int:
        """How many parts the finest partition has."""
        return len(self.costs)

    def cut(self, n_segments: int) -> npt.NDArray[np.int32]:
        """The partition into `n_segments` parts.

        Parameters
        ----------
        n_segments : int
            From 1 to `n_leaves`.

        Returns
        -------
        ndarray of int32
            One part number per vertex, numbered by first appearance.
        """
        leaves = np.empty(len(self.order), dtype=np.int32)
        start = self._starts()
        for node in np.flatnonzero(self.left < 0):
            leaves[self.order[start[node] : start[node] + self.size[node]]] = node
        return renumbered(self._part_of_node(n_segments)[leaves])

    def linkage(self) -> npt.NDArray[np.float64]:
        """The tree over its leaves as a SciPy linkage matrix, for `scipy.cluster.hierarchy`.

        Leaves are the nodes without children, in the order of their numbers. A split at step ``s`` has the height
        ``1 - s / n_leaves``, as in a contour map.
        """
        leaves = np.flatnonzero(self.left < 0)
        number = np.full(len(self.parent), -1)
        number[leaves] = np.arange(len(leaves))
        members = np.where(self.left < 0, 1, 0)
        rows = []
        for step in range(self.n_leaves - 1, 0, -1):
            node = int(self.parent[2 * step])
            pair = (2 * step - 1, 2 * step)
            members[node] = members[pair[0]] + members[pair[1]]
            rows.append([number[pair[0]], number[pair[1]], 1 - step / self.n_leaves, members[node]])
            number[node] = len(leaves) + len(rows) - 1
        return np.asarray(rows, dtype=np.float64).reshape(-1, 4)

    def _starts(self) -> npt.NDArray[np.int64]:
        """Where the range of each node begins."""
        start = np.zeros(len(self.parent), dtype=np.int64)
        for node in np.flatnonzero(self.left >= 0):  # parents have smaller numbers than their children
            start[self.left[node]] = start[node]
            start[self.right[node]] = start[node] + self.size[self.left[node]]
        return start

    def _part_of_node(self, n_segments: int) -> npt.NDArray[np.int32]:
        """For each node its ancestor (or itself) that is a part of the partition into so many parts."""
        k = count("n_segments", n_segments)
        if not 1 <= k <= self.n_leaves:
            raise ValueError(f"n_segments is {k}, but this tree has 1 to {self.n_leaves} parts")
        part = np.arange(len(self.parent), dtype=np.int32)
        for node in range(1, len(part)):
            parent = self.parent[node]
            if self.step[parent] >= k or part[parent] != parent:
                part[node] = part[parent]
        return part

    def _heights(self) -> npt.NDArray[np.float32]:
        """For each pair of nodes the height of the split that parted them."""
        n = len(self.parent)
        heights = np.zeros((n, n), dtype=np.float32)
        below = np.eye(n, dtype=bool)  # below[a, b]: b is a or a descendant of a
        for node in range(n - 1, 0, -1):
            below[self.parent[node]] |= below[node]
        for split in np.flatnonzero(self.left >= 0):
            left, right = below[self.left[split]], below[self.right[split]]
            height = np.float32(1.0 - float(self.step[split]) / self.n_leaves)
            heights[np.ix_(left, right)] = height
            heights[np.ix_(right, left)] = height
        return heights


def renumbered(labels: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """The same parts numbered by first appearance; negative numbers become -1."""
    flat = labels.ravel()
    values, first, inverse = np.unique(flat, return_index=True, return_inverse=True)
    order = np.argsort(first[values >= 0], kind="stable")
    new = np.full(len(values), -1, dtype=np.int32)
    kept = np.flatnonzero(values >= 0)
    new[kept[order]] = np.arange(len(kept), dtype=np.int32)
    return new[inverse].reshape(labels.shape)
