"""Graphs: cuts, embeddings, costs, trees."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.cluster.hierarchy import fcluster, is_valid_linkage

import ccbcut


@pytest.mark.parametrize("method", ["hierarchical", "multiway"])
@pytest.mark.parametrize("tau", [1, 1.5, 2.0])
def test_planted_groups_are_found(weights, method, tau):
    cut = ccbcut.partition(weights, 3, tau=tau, method=method, columns=2)
    assert np.array_equal(cut.labels, np.repeat([0, 1, 2], [30, 20, 10]))
    assert cut.cost == pytest.approx(ccbcut.cost(weights, cut.labels, tau=tau))
    assert (cut.tree is None) == (method == "multiway") and (cut.embedding is None) == (method != "multiway")
    assert cut.is_converged and cut.trace[0]["sweep"] == 1


@pytest.mark.parametrize(
    "form", [sp.csr_array, sp.csr_matrix, sp.coo_array, sp.csc_array, np.asarray, np.ndarray.tolist]
)
def test_every_container_gives_the_same_labels(weights, form):
    expected = ccbcut.partition(weights, 3).labels
    assert np.array_equal(ccbcut.partition(form(weights), 3).labels, expected)


def test_index_and_data_types_do_not_matter(weights):
    W = sp.csr_array(weights)
    wide = W.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    expected = ccbcut.partition(W, 3).labels
    for other in (wide, W.astype(np.float32), W.astype(np.int8), W.astype(bool)):
        assert np.array_equal(ccbcut.partition(other, 3).labels, expected)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, []),
        ({"tau": 0.5, "seed": 3}, ["--tau", 0.5, "--seed", 3]),
        (
            {"method": "multiway", "rounding": "discretize"},
            ["--method", "multiway", "--rounding", "discretize"],
        ),
        (
            {"method": "multiway", "rounding": "procrustes"},
            ["--method", "multiway", "--rounding", "procrustes"],
        ),
        ({"variant": "weighted", "balance": "ratio"}, ["--variant", "weighted", "--balance", "ratio"]),
    ],
)
def test_labels_are_those_of_the_command(weights, tmp_path, command, options, words):
    sp.save_npz(tmp_path / "graph.npz", sp.csr_array(weights))
    printed = command("cluster", tmp_path / "graph.npz", "-k", 5, *words)
    assert np.array_equal(
        ccbcut.partition(weights, 5, **options).labels, np.array(printed.split(), dtype=int)
    )


def test_the_embedding_is_that_of_the_command_and_orthonormal(weights, tmp_path, command):
    sp.save_npz(tmp_path / "graph.npz", sp.csr_array(weights))
    command("embed", tmp_path / "graph.npz", "--components", 3, "-o", tmp_path / "Y.npy")
    Y, trace = ccbcut.embed(weights, 3, return_trace=True)
    assert np.array_equal(Y, np.load(tmp_path / "Y.npy"))
    Pi = np.diag(weights.sum(1))
    assert np.allclose(Y.T @ Pi @ Y, np.eye(3), atol=1e-8) and np.allclose(
        Y.T @ Pi @ np.ones(60), 0, atol=1e-6
    )
    assert len(trace) > 1 and trace[-1]["f"] <= trace[0]["f"] + 1e-12


def test_at_tau_2_the_columns_are_eigenvectors(weights):
    Y, trace = ccbcut.embed(weights, 2, tau=2, eigen_tol=1e-12, return_trace=True)
    values = np.array(trace[-1]["eigenvalues"])
    D = np.diag(weights.sum(1))
    assert np.allclose((D - weights) @ Y, D @ Y * values, atol=1e-7)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_number_of_threads_changes_nothing(weights, scene, threads):
    assert np.array_equal(ccbcut.embed(weights, 3, threads=threads), ccbcut.embed(weights, 3))
    assert np.array_equal(ccbcut.segment(scene, 5, threads=threads), ccbcut.segment(scene, 5))


def test_more_threads_than_a_machine_can_start_are_refused(weights):
    with pytest.raises(
        ValueError, match="threads is 1025, but it must be a whole number from 0 .all. to 1024"
    ):
        ccbcut.embed(weights, 3, threads=1025)


def test_weights_of_ones_own_are_a_balance(weights):
    ones = ccbcut.partition(weights, 3, balance=np.ones(60, dtype=np.float32))
    ratio = ccbcut.partition(weights, 3, balance="ratio")
    assert np.array_equal(ones.labels, ratio.labels) and ones.cost == ratio.cost
    assert ccbcut.cost(weights, ratio.labels, balance=np.ones(60)) == ratio.cost


def test_costs_follow_their_definitions(weights):
    labels = np.repeat([4, 0, 9], [30, 20, 10])
    side = labels[:, None] == labels
    cut = weights[~side].sum() / 2
    leaving = np.array([weights[labels == p][:, labels != p].sum() for p in (4, 0, 9)])
    volume = np.array([weights[labels == p].sum() for p in (4, 0, 9)])
    table = ccbcut.costs(weights, labels, tau=0.5)
    assert table["cut"] == pytest.approx(cut)
    assert table["ncut"] == pytest.approx((leaving / volume).sum())
    assert table["rcheeger"] == pytest.approx((leaving / [30, 20, 10]).max())
    assert table["ccn"] == pytest.approx((0.5 * leaving / (2 * volume) ** 0.25).sum())
    assert ccbcut.cost(weights, labels, kind="rcut") == table["rcut"]
    assert ccbcut.cost(weights, labels, tau=0.5, balance="ratio") == pytest.approx(table["ccr"])


def test_a_tree_has_every_partition(weights):
    tree = ccbcut.partition(weights, 8).tree
    for k in range(1, 9):
        fewer = ccbcut.partition(weights, k)
        assert np.array_equal(tree.cut(k), fewer.labels)
        assert tree.costs[k - 1] == pytest.approx(fewer.cost)
    linkage = tree.linkage()
    assert is_valid_linkage(linkage)
    leaves = np.flatnonzero(tree.left < 0)
    leaf_of_vertex = np.empty(60, dtype=int)
    for i, node in enumerate(leaves):
        start = tree._starts()[node]
        leaf_of_vertex[tree.order[start : start + tree.size[node]]] = i
    for k in range(1, 9):
        flat = fcluster(linkage, 1 - k / 8 + 1e-9, criterion="distance")[leaf_of_vertex]
        assert len(np.unique(np.stack([flat, tree.cut(k)]), axis=1).T) == k


def test_results_survive_pickling(weights, scene):
    for thing in (ccbcut.partition(weights, 4), ccbcut.hierarchy(scene, 4)):
        again = pickle.loads(pickle.dumps(thing))
        assert np.array_equal(again.tree.cut(3), thing.tree.cut(3)) and again.trace == thing.trace
    error = pickle.loads(pickle.dumps(ccbcut.CcbError("no")))
    assert isinstance(error, ccbcut.CcbError) and isinstance(error, RuntimeError)


@pytest.mark.parametrize("k", [1, 60])
@pytest.mark.parametrize("method", ["hierarchical", "multiway"])
def test_nothing_to_choose(weights, method, k):
    cut = ccbcut.partition(weights, k, method=method)
    assert np.array_equal(np.unique(cut.labels), np.arange(k)) and cut.is_converged


def test_stiff_edges_are_contracted_where_that_is_asked_for():
    rng = np.random.default_rng(3)
    group = np.repeat([0, 1], [900, 700])
    chance = np.where(group[:, None] == group, 0.1, 0.0002)
    weights = sp.csr_array(np.triu(rng.random(chance.shape) < chance, 1).astype(float))
    weights = weights + weights.T
    whole, contracted = (ccbcut.partition(weights, 2, tau=0.5, contract=on) for on in (False, True))
    assert np.array_equal(whole.labels, contracted.labels)
    assert all(sweep["vertices"] == 1600 for sweep in whole.trace)
    vertices = [sweep["vertices"] for sweep in contracted.trace]
    assert min(vertices) <= 400 and vertices[-1] == 1600
