"""Cut graphs and images into parts, with a knob for how balanced the parts must be.

Compassionately Conservative Balanced (CCB) cuts have a knob ``tau``: at 2 they are the normalized (or ratio) cut,
which wants parts of similar size; below it small, weakly tied parts may stand alone, the sooner the smaller ``tau``.

- Images: `segment`, `hierarchy`, `superpixels`, `affinity_graph`, `contours`; `segment_features` for any other map.
- Volumes: `segment_volume`, `supervoxels`.
- Graphs: `partition`, `embed`, `cost`, `costs`, and `cut_normalized` for region adjacency graphs.
- Data: `cluster` and `neighbor_graph`; the scikit-learn estimators `CCBCut` and `CCBEmbedding` (these with scikit-learn).
- Scores: `metrics`. Pictures: `plot` (with matplotlib).

Examples
--------
>>> import numpy as np, ccbcut
>>> image = np.full((16, 24), 0.2, dtype=np.float32)
>>> image[4:12, 8:16] = 0.9
>>> np.bincount(ccbcut.segment(image, 2, levels=0).ravel())
array([320,  64])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ccbcut import metrics
from ccbcut._ccbcut import CcbError, __version__
from ccbcut._choice import Choice, Opinion
from ccbcut._features import segment_features
from ccbcut._graph import Partition, cluster, cost, costs, embed, neighbor_graph, partition
from ccbcut._image import Hierarchy, affinity_graph, contours, hierarchy, segment
from ccbcut._rag import cut_normalized
from ccbcut._regions import superpixels
from ccbcut._tree import Tree
from ccbcut._volume import segment_volume, supervoxels

if TYPE_CHECKING:
    from ccbcut import plot
    from ccbcut._estimators import CCBCut, CCBEmbedding

__all__ = [
    "CCBCut",
    "CCBEmbedding",
    "CcbError",
    "Choice",
    "Hierarchy",
    "Opinion",
    "Partition",
    "Tree",
    "__version__",
    "affinity_graph",
    "cluster",
    "contours",
    "cost",
    "costs",
    "cut_normalized",
    "embed",
    "hierarchy",
    "metrics",
    "neighbor_graph",
    "partition",
    "plot",
    "segment",
    "segment_features",
    "segment_volume",
    "superpixels",
    "supervoxels",
]

# What needs more than NumPy and SciPy is imported when it is first asked for.
_LATER = {"CCBCut": "ccbcut._estimators", "CCBEmbedding": "ccbcut._estimators", "plot": "ccbcut.plot"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'ccbcut' has no attribute '{name}'")
    module = importlib.import_module(_LATER[name])
    value = module if name == "plot" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
