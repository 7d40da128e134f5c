"""Together and apart, and numbers of parts that are chosen: as the command has it."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from PIL import Image

import ccbcut


def strokes(scene):
    """Two strokes on the background and one on the large box; 7 is seen before 3."""
    names = np.zeros(scene.shape[:2], dtype=np.int32)
    names[2:5, 4:60], names[42:46, 4:60], names[18:22, 12:26] = 7, 3, 5
    return names


def holds(labels, names):
    parts = [np.unique(labels[names == name]) for name in np.unique(names[names > 0])]
    return all(len(part) == 1 for part in parts) and len({int(part[0]) for part in parts}) == len(parts)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, []),
        ({"tau": 2, "levels": 1}, ["--tau", 2, "--levels", 1]),
        ({"superpixels": 90}, ["--superpixels", 90]),
    ],
)
def test_strokes_are_kept_as_the_command_keeps_them(scene, tmp_path, command, options, words):
    names = strokes(scene)
    np.save(tmp_path / "scene.npy", scene)
    np.save(tmp_path / "strokes.npy", names)
    words = ["-k", 4, "--scribbles", tmp_path / "strokes.npy", "-o", tmp_path / "labels.npy", *words]
    command("segment", tmp_path / "scene.npy", *words)
    labels = ccbcut.segment(scene, 4, scribbles=names, **options)
    assert np.array_equal(labels, np.load(tmp_path / "labels.npy")) and holds(labels, names)
    assert not holds(ccbcut.segment(scene, 4, **options), names), "the strokes change nothing"
    assert holds(ccbcut.hierarchy(scene, 4, scribbles=names, **options).cut(4), names)


def test_strokes_may_be_colours(scene, tmp_path, command):
    names = strokes(scene)
    palette = np.zeros((8, 4), dtype=np.uint8)
    palette[[7, 3, 5]] = [(255, 0, 0, 255), (0, 200, 0, 255), (9, 9, 255, 255)]
    drawn = palette[names]
    drawn[..., 3] = 255
    drawn[30, 30] = (255, 255, 255, 0)  # transparent: no stroke
    Image.fromarray(drawn).save(tmp_path / "strokes.png")
    np.save(tmp_path / "scene.npy", scene)
    words = ["-k", 4, "--scribbles", tmp_path / "strokes.png", "-o", tmp_path / "labels.npy"]
    command("segment", tmp_path / "scene.npy", *words)
    expected = np.load(tmp_path / "labels.npy")
    forms = [drawn, Image.fromarray(drawn), names, names.astype(np.float64), names - (names == 0)]
    for form in forms:
        assert np.array_equal(ccbcut.segment(scene, 4, scribbles=form), expected)


def test_pairs_and_seeds_are_kept_as_the_command_keeps_them(weights, tmp_path, command):
    sp.save_npz(tmp_path / "graph.npz", sp.csr_array(weights))
    together, apart, seeds = [(0, 59), (3, 40)], [(1, 2), (5, 59)], {10: "left", 35: "right", 11: "left"}
    for name, rows in (("same", together), ("other", apart), ("known", seeds.items())):
        (tmp_path / f"{name}.csv").write_text("".join(f"{a},{b}\n" for a, b in rows))
    all_words = {
        "must_link": ["--must-link", tmp_path / "same.csv"],
        "cannot_link": ["--cannot-link", tmp_path / "other.csv"],
        "seeds": ["--seeds", tmp_path / "known.csv"],
    }
    given = {"must_link": np.array(together), "cannot_link": apart, "seeds": seeds}
    for names in (["must_link"], ["cannot_link"], ["seeds"], list(given)):
        words = [word for name in names for word in all_words[name]]
        printed = command("cluster", tmp_path / "graph.npz", "-k", 5, *words)
        cut = ccbcut.partition(weights, 5, **{name: given[name] for name in names})
        assert np.array_equal(cut.labels, np.array(printed.split(), dtype=int))
    labels = cut.labels
    assert all(labels[a] == labels[b] for a, b in together) and all(labels[a] != labels[b] for a, b in apart)
    assert labels[10] == labels[11] != labels[35]
    assert np.array_equal(
        ccbcut.partition(weights, 5, **{**given, "seeds": list(seeds.items())}).labels, labels
    )


def test_no_constraints_are_none(weights):
    expected = ccbcut.partition(weights, 4).labels
    cut = ccbcut.partition(weights, 4, must_link=[], cannot_link=np.empty((0, 2), int), seeds={})
    assert np.array_equal(cut.labels, expected) and cut.choice is None


def same_choice(choice, report):
    numbers = (choice.k, choice.confidence, choice.k_max)
    assert numbers == (report["k"], report["confidence"], report["k_max"])
    assert choice.eigenvalues.tolist() == report["eigenvalues"] and choice.costs.tolist() == report["costs"]
    for name in ("eigengap", "elbow", "stability"):
        opinion = getattr(choice, name)
        record = {"k": opinion.k, "margin": opinion.margin, "scores": opinion.scores.tolist()}
        assert record == report[name]


def test_the_number_of_parts_of_a_graph_is_that_of_the_command(weights, tmp_path, command):
    sp.save_npz(tmp_path / "graph.npz", sp.csr_array(weights))
    words = ["-k", "auto", "--k-max", 7, "--tau", 2, "--json", "-o", tmp_path / "labels.npy"]
    report = json.loads(command("cluster", tmp_path / "graph.npz", *words))
    cut = ccbcut.partition(weights, "auto", tau=2, k_max=7)
    same_choice(cut.choice, report["k_choice"])
    assert cut.choice.k == 3 and np.array_equal(cut.labels, np.load(tmp_path / "labels.npy"))
    again = pickle.loads(pickle.dumps(cut)).choice
    assert again.k == 3 and np.array_equal(again.elbow.scores, cut.choice.elbow.scores)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k_max": 6}, ["--k-max", 6]),
        ({"superpixels": 80, "method": "multiway"}, ["--superpixels", 80, "--method", "multiway"]),
    ],
)
def test_the_number_of_segments_is_that_of_the_command(scene, tmp_path, command, options, words):
    np.save(tmp_path / "scene.npy", scene)
    words = ["-k", "auto", *words, "--json", "-o", tmp_path / "labels.npy"]
    report = json.loads(command("segment", tmp_path / "scene.npy", *words))
    labels, choice = ccbcut.segment(scene, "auto", return_choice=True, **options)
    same_choice(choice, report["k_choice"])
    assert np.array_equal(labels, np.load(tmp_path / "labels.npy")) and labels.max() + 1 == choice.k
    assert np.array_equal(ccbcut.segment(scene, "auto", **options), labels)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, []),
        ({"n_neighbors": 5, "mutual": True, "tau": 2}, ["--neighbors", 5, "--mutual", "--tau", 2]),
        ({"bandwidth": 0.4, "balance": "ratio"}, ["--bandwidth", 0.4, "--balance", "ratio"]),
    ],
)
def test_clusters_of_points_are_those_of_the_command(tmp_path, command, options, words):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(center, 0.4, (n, 2)) for center, n in ((0, 60), (3, 40), (6, 15))])
    np.save(tmp_path / "points.npy", X)
    printed = command("cluster", tmp_path / "points.npy", "--points", "-k", 3, *words)
    cut = ccbcut.cluster(X, 3, **options)
    assert np.array_equal(cut.labels, np.array(printed.split(), dtype=int))
    W = ccbcut.neighbor_graph(X, **{k: v for k, v in options.items() if k not in ("tau", "balance")})
    assert abs(W - W.T).max() == 0
    others = {k: v for k, v in options.items() if k in ("tau", "balance")}
    assert np.array_equal(ccbcut.partition(W, 3, **others).labels, cut.labels)
    apart = ccbcut.cluster(X, 3, cannot_link=[(0, 1)], **options).labels
    assert apart[0] != apart[1]
