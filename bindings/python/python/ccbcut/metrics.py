"""Scores of label maps against ground truths, as the Berkeley benchmark (BSDS500) has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ccbcut import _ccbcut
from ccbcut._arrays import as_labels, to_array

__all__ = ["covering", "pri", "scores", "vi"]


def covering(found: npt.ArrayLike, truth: Any) -> float:
    """How well the true regions are covered by the segments that fit them best.

    Parameters
    ----------
    found : array-like of int
        A label map, or labels of any shape. Negative labels cover nothing.
    truth : array-like of int, or a sequence of them
        One ground truth of the same shape, or several: the mean is returned. Negative labels are not counted.

    Returns
    -------
    float
        0 to 1, higher is better.

    Examples
    --------
    >>> from ccbcut import metrics
    >>> metrics.covering([0, 0, 1, 1], [5, 5, 7, 7])
    1.0
    """
    return scores(found, truth)["covering"]


def pri(found: npt.ArrayLike, truth: Any) -> float:
    """The probabilistic Rand index: the share of pairs of pixels on which both agree, in the mean over the truths.

    Parameters
    ----------
    found, truth
        As in `covering`.

    Returns
    -------
    float
        0 to 1, higher is better.

    Examples
    --------
    >>> from ccbcut import metrics
    >>> metrics.pri([0, 0, 1, 1], [0, 0, 0, 1])
    0.5
    """
    return scores(found, truth)["rand_index"]


def vi(found: npt.ArrayLike, truth: Any) -> float:
    """The variation of information, in bits.

    Parameters
    ----------
    found, truth
        As in `covering`.

    Returns
    -------
    float
        0 or more, lower is better.

    Examples
    --------
    >>> from ccbcut import metrics
    >>> metrics.vi([0, 0, 1, 1], [0, 1, 0, 1])
    2.0
    """
    return scores(found, truth)["variation"]


def scores(found: npt.ArrayLike, truth: Any) -> dict[str, float]:
    """Covering, Rand index and variation of information at once.

    Parameters
    ----------
    found, truth
        As in `covering`.

    Returns
    -------
    dict of str to float
        ``covering``, ``rand_index`` and ``variation``.
    """
    labels = as_labels("found", found, keep_void=True)
    truths = _truths(truth, labels.shape)
    rows = [_ccbcut.region_scores(_as_map(labels), _as_map(t)) for t in truths]
    names = ("covering", "rand_index", "variation")
    return {name: float(np.mean([row[i] for row in rows])) for i, name in enumerate(names)}


def _truths(truth: Any, shape: tuple[int, ...]) -> list[npt.NDArray[np.uint32]]:
    """One truth of the shape of the labels, or several."""
    several = isinstance(truth, Sequence) and len(truth) > 0 and np.ndim(truth[0]) == len(shape)
    maps = list(truth) if several else [to_array(truth)]
    if not several and np.ndim(maps[0]) == len(shape) + 1:
        maps = list(maps[0])
    if not maps:
        raise ValueError("there is no ground truth to compare with")
    return [as_labels("truth", one, keep_void=True) for one in maps]


def _as_map(labels: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    return labels if labels.ndim == 2 else labels.reshape(1, -1)
