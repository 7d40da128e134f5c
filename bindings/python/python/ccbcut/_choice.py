"""How many parts, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Opinion:
    """One way to look at the number of parts.

    Attributes
    ----------
    k : int
        The number that it is for.
    margin : float
        How far that is ahead of the next best, 0 to 1.
    scores : ndarray of float64
        The scores of 1, 2, ..., `k_max` parts; at 1 what the others must exceed.
    """

    k: int
    margin: float
    scores: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Choice:
    """A number of parts that was chosen with ``n_segments="auto"``, and the evidence.

    Attributes
    ----------
    k : int
        The number of parts: that of two opinions at least, or else the middle one.
    confidence : float
        0 to 1: the margins of the opinions that agree, over three.
    k_max : int
        The largest number that was looked at.
    eigengap, elbow, stability : Opinion
        By the spectrum, by the cost along the tree, and by repetition.
    eigenvalues : ndarray of float64
        0 and the next `k_max` of the normalized Laplacian.
    costs : ndarray of float64
        The cost of 1, 2, ... parts.
    """

    k: int
    confidence: float
    k_max: int
    eigengap: Opinion
    elbow: Opinion
    stability: Opinion
    eigenvalues: npt.NDArray[np.float64]
    costs: npt.NDArray[np.float64]

    @classmethod
    def _from_record(cls, record: Mapping[str, Any]) -> Choice:
        opinions = {name: Opinion(**record[name]) for name in ("eigengap", "elbow", "stability")}
        return cls(**{**record, **opinions})
