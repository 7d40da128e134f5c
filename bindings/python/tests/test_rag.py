"""Region adjacency graphs, beside scikit-image."""

from __future__ import annotations

import numpy as np
import pytest

from ccbcut import cut_normalized
from ccbcut.metrics import vi

graph = pytest.importorskip("skimage.graph")
segmentation = pytest.importorskip("skimage.segmentation")


def regions(scene):
    labels = segmentation.slic(scene, n_segments=60, compactness=20, start_label=0)
    return labels, graph.rag_mean_color(scene, labels, mode="similarity", sigma=60)


def test_the_groups_are_those_of_scikit_image(scene):
    labels, rag = regions(scene)
    theirs = graph.cut_normalized(labels, rag.copy(), thresh=0.05, rng=0)
    ours = cut_normalized(labels, rag.copy(), thresh=0.05, rng=0)
    assert ours.shape == labels.shape and len(np.unique(ours)) > 1
    assert vi(ours, theirs) < 0.05


def test_the_graph_gets_its_labels_and_nothing_else(scene):
    labels, rag = regions(scene)
    edges = {edge: dict(data) for *edge, data in rag.edges(data=True) for edge in [tuple(edge)]}
    quiet = cut_normalized(labels, rag, in_place=False)
    assert all("ncut label" not in rag.nodes[node] for node in rag)
    loud = cut_normalized(labels, rag)
    assert np.array_equal(quiet, loud)
    for node in rag:
        assert np.all(loud[labels == rag.nodes[node]["labels"][0]] == rag.nodes[node]["ncut label"])
    assert {tuple(edge): dict(data) for *edge, data in rag.edges(data=True)} == edges


def test_one_region_and_no_edges(scene):
    import networkx as nx

    single = nx.Graph()
    single.add_node(0, labels=[0])
    assert cut_normalized(np.zeros((3, 3), int), single).max() == 0
    pair = nx.Graph()
    pair.add_nodes_from([(0, {"labels": [0]}), (1, {"labels": [1]})])
    labels = np.array([[0, 1]])
    assert np.array_equal(cut_normalized(labels, pair), labels)


def test_small_groups_stand_alone_at_small_tau(scene):
    labels, rag = regions(scene)
    for tau in (0.5, 2.0):
        assert len(np.unique(cut_normalized(labels, rag, thresh=0.05, tau=tau))) >= 2
