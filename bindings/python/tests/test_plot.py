"""Pictures, and the notebook that shows them."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt

import ccbcut
from ccbcut import plot

NOTEBOOK = Path(__file__).resolve().parents[3] / "examples" / "tour.ipynb"


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_an_overlay_draws_every_boundary_once(scene):
    labels = np.zeros(scene.shape[:2], dtype=int)
    labels[10:20, 30:34] = 1
    ax = plot.overlay(scene, labels)
    horizontal, vertical = (len(lines.get_segments()) for lines in ax.collections)
    assert (horizontal, vertical) == (2 * 4, 2 * 10)


def test_a_dendrogram_has_one_bracket_per_split(scene):
    tree = ccbcut.hierarchy(scene, 5)
    ax = plot.dendrogram(tree)
    assert len(ax.collections[0].get_paths()) == 4
    assert sorted(int(label.get_text()) for label in ax.get_xticklabels()) == sorted(
        tree.tree.size[tree.tree.left < 0]
    )
    with pytest.raises(ValueError, match="one leaf"):
        plot.dendrogram(ccbcut.hierarchy(scene, 1))


def test_a_sweep_has_one_picture_per_tau(scene):
    figure = plot.sweep(scene, taus=[2, 1], n_segments=3)
    assert [ax.get_title() for ax in figure.axes] == ["τ = 2", "τ = 1"]


def test_embeddings_of_one_and_two_columns(weights):
    labels = ccbcut.partition(weights, 3).labels
    for columns in (1, 2):
        ax = plot.embedding(ccbcut.embed(weights, columns), labels, ax=plt.figure().gca())
        assert len(ax.collections[0].get_offsets()) == 60
        assert len(np.unique(ax.collections[0].get_facecolors(), axis=0)) == 3
    with pytest.raises(ValueError, match="rows and columns"):
        plot.embedding(np.zeros(4))


def test_evidence_marks_the_number_of_each_opinion(weights):
    choice = ccbcut.partition(weights, "auto", tau=2, k_max=6).choice
    axes = plot.evidence(choice).axes
    assert [ax.get_title() for ax in axes] == [
        f"{name}: {getattr(choice, name).k}" for name in ("eigengap", "elbow", "stability")
    ]
    for ax, opinion in zip(axes, (choice.eigengap, choice.elbow, choice.stability)):
        assert np.allclose([bar.get_height() for bar in ax.patches], opinion.scores)
        colors = [bar.get_facecolor() for bar in ax.patches]
        assert [colors.count(color) for color in colors].index(1) + 1 == opinion.k


def test_the_notebook_runs():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(code) > 5 and all(not cell.get("outputs") for cell in cells)
    names: dict[str, object] = {}
    for number, source in enumerate(code):
        exec(compile(source, f"tour.ipynb, cell {number}", "exec"), names)
    assert plt.get_fignums()
