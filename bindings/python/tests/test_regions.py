"""Superpixels, regions of one's own, and volumes: the labels are those of the command."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import ccbcut


@pytest.fixture
def volume() -> np.ndarray:
    """A bright box in a dark stack, with a little noise."""
    stack = np.random.default_rng(0).normal(40, 2, (8, 24, 30))
    stack[2:6, 6:18, 8:20] += 120
    return stack.astype(np.float32)


def label_map(scene):
    """A grid of 6 x 8 cells, numbered backwards."""
    rows, columns = np.indices(scene.shape[:2])
    return 99 - (rows // 8 * 8 + columns // 8)


@pytest.mark.parametrize(("n", "compactness"), [(1000, 10), (40, 10), (60, 2.5)])
def test_superpixels_are_those_of_the_command(scene, tmp_path, command, n, compactness):
    np.save(tmp_path / "scene.npy", scene)
    words = ["-n", n, "--compactness", compactness, "-o", tmp_path / "regions.npy"]
    command("superpixels", tmp_path / "scene.npy", *words)
    expected = np.load(tmp_path / "regions.npy")
    found = ccbcut.superpixels(scene, n, compactness=compactness)
    assert found.dtype == np.int32 and np.array_equal(found, expected)
    assert np.array_equal(
        found, ccbcut.superpixels(Image.fromarray(scene), n, compactness=compactness, threads=1)
    )


def test_superpixels_keep_to_a_mask(scene):
    mask = np.ones(scene.shape[:2], dtype=bool)
    mask[:7] = False
    regions = ccbcut.superpixels(scene, 30, mask=mask)
    assert np.array_equal(regions < 0, ~mask)
    assert np.array_equal(ccbcut.segment(scene, 3, superpixels=30, mask=mask) < 0, ~mask)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, []),
        ({"tau": 2, "method": "multiway", "seed": 3}, ["--tau", 2, "--method", "multiway", "--seed", 3]),
        ({"compactness": 3, "region_sigma": 20}, ["--compactness", 3, "--region-sigma", 20]),
        ({"affinity": "mpb"}, ["--affinity", "mpb"]),
        (
            {"affinity": "0.5lab+2mpb", "contour_weight": "exponential", "balance": "ratio"},
            ["--affinity", "0.5lab+2mpb", "--contour-weight", "exponential", "--balance", "ratio"],
        ),
        ({"connected": True, "min_share": 0.01}, ["--connected", "--min-share", 0.01]),
    ],
)
def test_cuts_of_superpixels_are_those_of_the_command(scene, tmp_path, command, options, words):
    np.save(tmp_path / "scene.npy", scene)
    words = ["-k", 4, "--superpixels", 80, "-o", tmp_path / "labels.npy", *words]
    command("segment", tmp_path / "scene.npy", *words)
    labels = ccbcut.segment(scene, 4, superpixels=80, **options)
    assert np.array_equal(labels, np.load(tmp_path / "labels.npy"))


def test_superpixels_of_a_picture_find_its_parts(scene):
    truth = np.zeros(scene.shape[:2], dtype=int)
    truth[10:34, 8:30], truth[30:40, 44:54] = 1, 2
    assert ccbcut.metrics.covering(ccbcut.segment(scene, 3, superpixels=200), truth) > 0.95


def test_regions_of_ones_own_are_cut_as_the_command_does(scene, tmp_path, command):
    np.save(tmp_path / "scene.npy", scene)
    regions = label_map(scene)
    np.save(tmp_path / "regions.npy", regions.astype(np.int32))
    words = ["-k", 3, "--superpixels", tmp_path / "regions.npy"]
    command("segment", tmp_path / "scene.npy", *words, "-o", tmp_path / "labels.npy")
    labels = ccbcut.segment(scene, 3, superpixels=regions)
    assert np.array_equal(labels, np.load(tmp_path / "labels.npy"))
    # Every region is in one part.
    assert len(np.unique(np.stack([regions.ravel(), labels.ravel()]), axis=1).T) == 48
    rows = np.random.default_rng(0).random((48, 2))
    np.save(tmp_path / "rows.npy", rows)
    words += ["--region-features", tmp_path / "rows.npy"]
    for options, more in (({}, []), ({"region_feature_sigma": 0.7}, ["--region-feature-sigma", 0.7])):
        command(
            "segment", tmp_path / "scene.npy", *words, *more, "-o", tmp_path / "rows-labels.npy", "--force"
        )
        found = ccbcut.segment(scene, 3, superpixels=regions, region_features=rows, **options)
        assert np.array_equal(found, np.load(tmp_path / "rows-labels.npy"))


def test_a_hierarchy_of_superpixels(scene, tmp_path, command):
    np.save(tmp_path / "scene.npy", scene)
    words = ["-k", 5, "--superpixels", 60, "--ucm", tmp_path / "ucm.npy", "-o", tmp_path / "labels.npy"]
    command("segment", tmp_path / "scene.npy", *words)
    tree = ccbcut.hierarchy(scene, 5, superpixels=60)
    assert np.array_equal(tree.contour_map(), np.load(tmp_path / "ucm.npy"))
    for k in range(1, 6):
        assert np.array_equal(tree.cut(k), ccbcut.segment(scene, k, superpixels=60))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, []),
        ({"spacing": (2.5, 1, 1)}, ["--spacing", "2.5,1,1"]),
        (
            {"tau": 2, "method": "multiway", "balance": "ratio", "compactness": 4, "sigma": 30},
            ["--tau", 2, "--method", "multiway", "--balance", "ratio", "--compactness", 4, "--sigma", 30],
        ),
    ],
)
def test_parts_of_volumes_are_those_of_the_command(volume, tmp_path, command, options, words):
    np.save(tmp_path / "volume.npy", volume)
    words = ["-k", 3, "--supervoxels", 150, "-o", tmp_path / "labels.npy", *words]
    command("volume", tmp_path / "volume.npy", *words)
    labels = ccbcut.segment_volume(volume, 3, supervoxels=150, **options)
    assert labels.dtype == np.int32 and np.array_equal(labels, np.load(tmp_path / "labels.npy"))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float64])
@pytest.mark.parametrize("channels", [1, 3])
def test_every_kind_of_voxel_is_read_as_the_command_reads_it(volume, tmp_path, command, dtype, channels):
    colors = np.stack([volume * factor for factor in (1, 0.5, 1.3)[:channels]], axis=-1)
    colors = np.clip(colors, 0, 255).astype(dtype)
    np.save(tmp_path / "volume.npy", colors)
    words = ["--volume", "-n", 90, "--spacing", "2,1,1", "-o", tmp_path / "regions.npy"]
    command("superpixels", tmp_path / "volume.npy", *words)
    found = ccbcut.supervoxels(colors, 90, spacing=(2, 1, 1))
    assert np.array_equal(found, np.load(tmp_path / "regions.npy"))


def test_the_box_in_a_volume_is_found(volume):
    labels = ccbcut.segment_volume(volume, 2, supervoxels=400)
    box = np.zeros(volume.shape, dtype=bool)
    box[2:6, 6:18, 8:20] = True
    assert np.mean((labels == labels[4, 12, 14]) == box) > 0.97
    assert np.array_equal(
        labels, ccbcut.segment_volume(volume.astype(np.float64), 2, supervoxels=400, threads=1)
    )
