"""Feature maps: what is accepted, and that it is what the command writes."""

from __future__ import annotations

import numpy as np
import pytest

import ccbcut
from ccbcut import _ccbcut
from ccbcut._features import as_features, mask_of_cells


@pytest.fixture
def tokens():
    """A grid of 6 × 8 cells with five noisy features: the scene's three parts, coarsely."""
    rng = np.random.default_rng(2)
    parts = np.zeros((6, 8), dtype=int)
    parts[1:4, 1:4], parts[4, 5:7] = 1, 2
    return (np.eye(5)[parts] + rng.normal(0, 0.05, (6, 8, 5))).astype(np.float32)


def test_features_are_borrowed(tokens):
    assert _ccbcut.pixel_address(as_features(tokens, None)) == tokens.ctypes.data
    assert _ccbcut.pixel_address(as_features(tokens.reshape(1, 48, 5), (6, 8))) == tokens.ctypes.data


def test_every_shape_gives_the_same_labels(tokens):
    expected = ccbcut.segment_features(tokens, 3, tau=2)
    assert np.array_equal(np.bincount(expected.ravel()), [37, 9, 2])
    rows = tokens.reshape(48, 5)
    for form in (rows, rows[np.newaxis], rows.astype(np.float64), np.asfortranarray(rows)):
        assert np.array_equal(ccbcut.segment_features(form, 3, tau=2, grid=(6, 8)), expected)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, []),
        ({"tau": 2, "method": "multiway"}, ["--tau", 2, "--method", "multiway"]),
        (
            {"metric": "rbf", "bandwidth": "median:0.5"},
            ["--feature-metric", "rbf", "--bandwidth", "median:0.5"],
        ),
        ({"neighbors": "knn:6", "bandwidth": 0.3}, ["--neighbors", "knn:6", "--bandwidth", 0.3]),
        ({"neighbors": "mutual-knn:9"}, ["--neighbors", "mutual-knn:9"]),
        (
            {"cosine_weight": "threshold", "cosine_threshold": 0.4},
            ["--cosine-weight", "threshold", "--cosine-threshold", 0.4],
        ),
        (
            {"neighbors": "local", "radius": 2, "levels": 1},
            ["--neighbors", "local", "--radius", 2, "--levels", 1],
        ),
        ({"upsampling": "nearest", "connected": True}, ["--upsampling", "nearest", "--connected"]),
        ({"variant": "released"}, ["--variant", "released"]),
    ],
)
@pytest.mark.parametrize("size", ["grid", "image", "masked image", "pixels"])
def test_labels_are_those_of_the_command(scene, tokens, tmp_path, command, options, words, size):
    features, more = tokens, {}
    if size == "pixels":
        scene = scene[::8, ::8]
    if size != "grid":
        np.save(tmp_path / "scene.npy", scene)
        more, words = {"image": scene}, [tmp_path / "scene.npy", *words]
    if size == "masked image":
        on = np.ones(scene.shape[:2], dtype=bool)
        on[:9, :20] = False
        np.save(tmp_path / "mask.npy", on.astype(np.uint8) * 255)
        more, words = {**more, "mask": on}, [*words, "--mask", tmp_path / "mask.npy"]
    np.save(tmp_path / "features.npy", features)
    command(
        "segment", *words, "--features", tmp_path / "features.npy", "-k", 3, "-o", tmp_path / "labels.npy"
    )
    labels = ccbcut.segment_features(features, 3, **more, **options)
    expected = np.load(tmp_path / "labels.npy").astype(np.int64)
    if size == "masked image":
        assert np.array_equal(labels < 0, ~on)
        labels, expected = labels[on], expected[on]
    assert np.array_equal(labels, expected)


def test_a_cell_counts_when_a_pixel_of_it_does():
    on = np.zeros((4, 6), dtype=bool)
    on[1, 3] = True
    assert np.array_equal(mask_of_cells(on, (2, 3)), [[False, True, False], [False, False, False]])
    assert mask_of_cells(np.ones((5, 7), dtype=bool), (2, 3)).all()


@pytest.mark.parametrize(
    ("error", "options", "says"),
    [
        (ValueError, {"grid": (5, 8)}, "grid of 5 x 8"),
        (TypeError, {"grid": 48}, "rows, columns"),
        (ValueError, {"metric": "l1"}, "'cosine' or 'rbf'"),
        (ValueError, {"cosine_weight": "steep"}, "'exponential'"),
        (ValueError, {"neighbors": "knn"}, "knn:K"),
        (ValueError, {"bandwidth": "mean"}, "median"),
        (ValueError, {"bandwidth": -1.0}, "-1"),
        (ValueError, {"image": np.zeros((3, 3), np.float32)}, "finer than the image"),
        (ValueError, {"mask": np.ones((3, 3), bool)}, "mask"),
        (TypeError, {"size": 3}, "unexpected keyword argument 'size'"),
    ],
)
def test_errors(tokens, error, options, says):
    features = tokens.reshape(48, 5) if "grid" in options else tokens
    with pytest.raises(error, match=says):
        ccbcut.segment_features(features, 3, **options)


def test_what_cannot_be_features():
    with pytest.raises(ValueError, match="with a grid"):
        ccbcut.segment_features(np.zeros((48, 5)), 3)
    with pytest.raises(TypeError, match="real numbers"):
        ccbcut.segment_features(np.full((6, 8, 2), "a"), 3)
    with pytest.raises(ValueError, match="finite"):
        ccbcut.segment_features(np.full((6, 8, 2), np.inf), 3)
