"""Pictures with matplotlib; ``pip install matplotlib``.

Every function draws into `ax`, by default the current axes, and returns them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

try:
    import matplotlib.pyplot as plt
except ImportError as error:
    raise ImportError("the pictures need matplotlib: pip install matplotlib") from error

from scipy.cluster.hierarchy import dendrogram as draw_dendrogram

from ccbcut._arrays import as_pixels, to_array
from ccbcut._choice import Choice
from ccbcut._image import Hierarchy, segment
from ccbcut._tree import Tree

__all__ = ["dendrogram", "embedding", "evidence", "overlay", "sweep"]

#: Colours that people with colour-blindness can tell apart (Okabe and Ito).
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#000000")


def overlay(image: Any, labels: npt.ArrayLike, *, ax: Any = None, color: str = "#FFD400") -> Any:
    """The boundaries of a label map, drawn on the image.

    Parameters
    ----------
    image : array-like
        As in `ccbcut.segment`.
    labels : array-like of int, shape (height, width)
        The label map.
    ax : matplotlib axes, optional
        Where to draw.
    color : str
        Of the lines.

    Returns
    -------
    matplotlib axes
    """
    ax = plt.gca() if ax is None else ax
    pixels, _ = as_pixels(image)
    ax.imshow(np.clip(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels, 0, 1), cmap="gray", vmin=0, vmax=1)
    parts = to_array(labels)
    down, right = parts[1:] != parts[:-1], parts[:, 1:] != parts[:, :-1]
    rows, columns = np.nonzero(down)
    ax.hlines(rows + 0.5, columns - 0.5, columns + 0.5, colors=color, linewidth=1)
    rows, columns = np.nonzero(right)
    ax.vlines(columns + 0.5, rows - 0.5, rows + 0.5, colors=color, linewidth=1)
    ax.set_axis_off()
    return ax


def dendrogram(tree: Tree | Hierarchy, *, ax: Any = None) -> Any:
    """The nested splits of a hierarchical cut; leaves are named by their size.

    Parameters
    ----------
    tree : Tree or Hierarchy
        Of at least two leaves.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib axes
    """
    ax = plt.gca() if ax is None else ax
    nodes = tree.tree if isinstance(tree, Hierarchy) else tree
    if nodes.n_leaves < 2:
        raise ValueError("the tree has one leaf, but a dendrogram needs two")
    sizes = [str(size) for size in nodes.size[nodes.left < 0]]
    draw_dendrogram(
        nodes.linkage(),
        ax=ax,
        labels=sizes,
        color_threshold=0,
        above_threshold_color=PALETTE[0],
        no_plot=False,
    )
    ax.set_ylabel("split (1 − step / parts)")
    ax.set_xlabel("vertices of each part")
    return ax


def sweep(
    image: Any, taus: Iterable[float] = (2.0, 1.5, 1.0, 0.5), n_segments: int = 8, **options: Any
) -> Any:
    """One image cut at several τ, side by side.

    Parameters
    ----------
    image : array-like
        As in `ccbcut.segment`.
    taus : iterable of float
        The knob's positions.
    n_segments : int, default 8
        How many segments.
    **options
        As in `ccbcut.segment`.

    Returns
    -------
    matplotlib figure
    """
    positions = list(taus)
    figure, axes = plt.subplots(1, len(positions), figsize=(3.2 * len(positions), 3), squeeze=False)
    for tau, ax in zip(positions, axes[0]):
        overlay(image, segment(image, n_segments, tau=tau, **options), ax=ax)
        ax.set_title(f"τ = {tau:g}")
    figure.tight_layout()
    return figure


def embedding(Y: npt.ArrayLike, labels: npt.ArrayLike | None = None, *, ax: Any = None) -> Any:
    """The first two columns of an embedding, coloured by label; one column is drawn against its order.

    Parameters
    ----------
    Y : array-like of shape (n, n_components)
        Coordinates.
    labels : array-like of int, shape (n,), optional
        Colours.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib axes
    """
    ax = plt.gca() if ax is None else ax
    rows = to_array(Y)
    if rows.ndim != 2 or rows.shape[1] < 1:
        raise ValueError(f"the embedding has the shape {rows.shape}, but it must have rows and columns")
    color = None if labels is None else [PALETTE[part % len(PALETTE)] for part in to_array(labels)]
    if rows.shape[1] == 1:
        order = np.argsort(rows[:, 0], kind="stable")
        ax.scatter(
            np.arange(len(rows)), rows[order, 0], c=None if color is None else [color[i] for i in order], s=12
        )
        ax.set_xlabel("vertices in order")
        ax.set_ylabel("y₁")
        return ax
    ax.scatter(rows[:, 0], rows[:, 1], c=color, s=12)
    ax.set_xlabel("y₁")
    ax.set_ylabel("y₂")
    return ax


def evidence(choice: Choice) -> Any:
    """What speaks for a number of parts: the scores of the three opinions, with the number that each is for.

    Parameters
    ----------
    choice : Choice
        From ``n_segments="auto"``, for example `ccbcut.partition(W, "auto").choice`.

    Returns
    -------
    matplotlib figure
    """
    figure, axes = plt.subplots(1, 3, figsize=(10, 2.8), layout="constrained")
    for name, ax in zip(("eigengap", "elbow", "stability"), axes):
        opinion = getattr(choice, name)
        numbers = np.arange(1, len(opinion.scores) + 1)
        ax.bar(numbers, opinion.scores, color=[PALETTE[1 if k == opinion.k else 5] for k in numbers])
        ax.axvline(choice.k, color=PALETTE[7], linewidth=1, linestyle=":")
        ax.set_title(f"{name}: {opinion.k}")
        ax.set_xlabel("parts")
    figure.suptitle(f"{choice.k} parts, confidence {choice.confidence:.2f}")
    return figure
