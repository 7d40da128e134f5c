"""Images: what is accepted, what comes out, and that it is what the command writes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from PIL import Image

import ccbcut
from ccbcut import _ccbcut
from ccbcut._arrays import as_pixels


class Foreign:
    """An array of another library: nothing but one protocol."""

    def __init__(self, array):
        self._array = array


class WithDlpack(Foreign):
    def __dlpack__(self, **kwargs):
        return self._array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class OldDlpack(WithDlpack):
    """Without the arguments of the newer protocol."""

    def __dlpack__(self, stream=None):
        return self._array.__dlpack__()


class WithArray(Foreign):
    def __array__(self, dtype=None, copy=None):
        return self._array


def test_parts_of_a_picture_are_found(scene):
    labels = ccbcut.segment(scene, 3)
    assert labels.dtype == np.int32 and labels.shape == scene.shape[:2]
    truth = np.zeros(scene.shape[:2], dtype=int)
    truth[10:34, 8:30], truth[30:40, 44:54] = 1, 2
    assert ccbcut.metrics.covering(labels, truth) > 0.98


def test_float32_pixels_are_borrowed():
    image = np.random.default_rng(0).random((7, 9, 3)).astype(np.float32)
    pixels, _ = as_pixels(image)
    assert pixels is image or np.shares_memory(pixels, image)
    assert _ccbcut.pixel_address(pixels) == image.ctypes.data
    gray = image[:, :, 0].copy()
    gray.flags.writeable = False
    assert _ccbcut.pixel_address(as_pixels(gray)[0]) == gray.ctypes.data


@pytest.mark.parametrize("wrap", [WithDlpack, OldDlpack, WithArray])
def test_arrays_of_other_libraries_are_borrowed_too(wrap):
    image = np.random.default_rng(0).random((7, 9, 3)).astype(np.float32)
    assert _ccbcut.pixel_address(as_pixels(wrap(image))[0]) == image.ctypes.data


def test_every_container_gives_the_same_labels(scene):
    expected = ccbcut.segment(scene, 3)
    floats = scene.astype(np.float32) / np.float32(255)
    forms = [
        Image.fromarray(scene),
        floats,
        np.asfortranarray(floats),
        floats[::1, ::1],
        WithDlpack(floats),
        WithArray(scene),
        np.dstack([scene, np.full(scene.shape[:2], 255, np.uint8)]),
        scene.astype(np.uint16) * 257,
    ]
    for form in forms:
        assert np.array_equal(ccbcut.segment(form, 3), expected)


def test_pil_modes():
    gray = Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8))
    assert as_pixels(gray)[0].shape == (8, 8, 1)
    assert as_pixels(gray.convert("1"))[0].max() == 1.0
    assert as_pixels(gray.convert("P"))[0].shape == (8, 8, 3)
    pixels, alpha = as_pixels(gray.convert("LA"))
    assert pixels.shape == (8, 8, 1) and alpha is None


def test_transparent_pixels_and_masks_are_void(scene):
    alpha = np.full(scene.shape[:2], 255, dtype=np.uint8)
    alpha[:5] = 0
    labels = ccbcut.segment(np.dstack([scene, alpha]), 3)
    assert np.array_equal(labels < 0, alpha == 0)
    mask = np.ones(scene.shape[:2], dtype=bool)
    mask[:, :4] = False
    assert np.array_equal(ccbcut.segment(scene, 3, mask=mask) < 0, ~mask)
    both = ccbcut.segment(np.dstack([scene, alpha]), 3, mask=mask)
    assert np.array_equal(both < 0, ~mask | (alpha == 0))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, []),
        ({"tau": 2}, ["--tau", 2]),
        ({"method": "multiway", "seed": 7}, ["--method", "multiway", "--seed", 7]),
        ({"balance": "ratio", "levels": 1, "sigma": 8}, ["--balance", "ratio", "--levels", 1, "--sigma", 8]),
        ({"affinity": "0.5lab+mpb", "radius": 5}, ["--affinity", "0.5lab+mpb", "--radius", 5]),
        (
            {"affinity": "pmi", "radius": 4, "pmi_pairs": 900},
            ["--affinity", "pmi", "--radius", 4, "--pmi-pairs", 900],
        ),
        (
            {"affinity": "pmi", "radius": 3, "pmi_bandwidth": "learned"},
            ["--affinity", "pmi", "--radius", "3", "--pmi-bandwidth", "learned"],
        ),
        (
            {"solver": "ratiodca", "starts": 2, "refine": True},
            ["--solver", "ratiodca", "--starts", 2, "--refine"],
        ),
        (
            {"criterion": "cheeger", "smooth": 0, "tol": 0.1},
            ["--criterion", "cheeger", "--smooth", 0, "--tol", 0.1],
        ),
        ({"kernel": "released", "levels": 1}, ["--kernel", "released", "--levels", 1]),
        ({"kernel": "adaptive", "min_share": 0.05}, ["--kernel", "adaptive", "--min-share", 0.05]),
        ({"variant": "released", "connected": True}, ["--variant", "released", "--connected"]),
        ({"rejoin": 9, "tau": 2}, ["--rejoin", 9, "--tau", 2]),
    ],
)
def test_labels_are_those_of_the_command(scene, tmp_path, command, options, words):
    np.save(tmp_path / "scene.npy", scene)
    command("segment", tmp_path / "scene.npy", "-k", 4, "-o", tmp_path / "labels.npy", *words)
    expected = np.load(tmp_path / "labels.npy")
    assert np.array_equal(ccbcut.segment(scene, 4, **options), expected)


def test_k_means_starts_on_the_rows_asked_for(scene, tmp_path, command):
    np.save(tmp_path / "scene.npy", scene)
    options = {"method": "multiway", "rounding": "kmeans", "levels": 1, "n_init": 1}
    words = ["--method", "multiway", "--rounding", "kmeans", "--levels", 1, "--n-init", 1, "--seed-rows", 1]
    command("segment", tmp_path / "scene.npy", "-k", 12, "-o", tmp_path / "labels.npy", *words)
    sampled = ccbcut.segment(scene, 12, seed_rows=1, **options)
    assert np.array_equal(sampled, np.load(tmp_path / "labels.npy"))
    assert not np.array_equal(sampled, ccbcut.segment(scene, 12, seed_rows=0, **options))


def test_parts_are_joined_again_as_the_command_does_it(tmp_path, command):
    rows, columns = np.mgrid[:36, :48]
    drift = np.stack([40 + 4 * columns, 40 + 3 * rows, 0 * rows + 120], axis=-1).astype(np.uint8)
    np.save(tmp_path / "drift.npy", drift)
    plain = {"levels": 0, "radius": 5, "sigma": 9}
    words = ["-k", 4, "--levels", 0, "--radius", 5, "--sigma", 9, "-o", tmp_path / "labels.npy"]
    command("segment", tmp_path / "drift.npy", *words)
    by_default = ccbcut.segment(drift, 4, **plain)
    assert np.array_equal(by_default, np.load(tmp_path / "labels.npy"))
    assert np.array_equal(by_default, ccbcut.segment(drift, 4, rejoin=120, **plain))
    assert not np.array_equal(by_default, ccbcut.segment(drift, 4, rejoin=0, **plain))
    other = ccbcut.segment(drift, 4, solver="ratiodca", starts=1, **plain)
    assert np.array_equal(other, ccbcut.segment(drift, 4, solver="ratiodca", starts=1, rejoin=0, **plain))


def test_a_hierarchy_has_every_number_of_parts(scene, tmp_path, command):
    np.save(tmp_path / "scene.npy", scene)
    words = ["-k", 6, "--all-k", "--ucm", tmp_path / "ucm.npy", "--format", "npy", "--no-pictures"]
    command("segment", tmp_path / "scene.npy", "-o", tmp_path / "out", *words)
    tree = ccbcut.hierarchy(scene, 6)
    assert tree.n_leaves == 6 and tree.is_converged
    seen = 0
    for path in (tmp_path / "out").rglob("*.npy"):
        expected = np.load(path)
        if expected.shape == scene.shape[:2]:
            assert np.array_equal(tree.cut(expected.max() + 1), expected), path.name
            seen += 1
    assert seen == 5
    assert np.array_equal(tree.contour_map(), np.load(tmp_path / "ucm.npy"))
    assert np.array_equal(ccbcut.segment(scene, 4), tree.cut(4))
    for bad in (0, 7):
        with pytest.raises(ValueError, match="1 to 6"):
            tree.cut(bad)


def test_a_hierarchy_keeps_its_void(scene):
    mask = np.ones(scene.shape[:2], dtype=bool)
    mask[:6] = False
    tree = ccbcut.hierarchy(scene, 3, mask=mask)
    assert all(np.array_equal(tree.cut(k) < 0, ~mask) for k in (1, 2, 3))
    assert tree.contour_map()[12, 1] == 1.0


def test_the_graph_of_an_image():
    image = 0.05 * np.random.default_rng(0).random((6, 5, 3)).astype(np.float32)
    W = ccbcut.affinity_graph(image, "lab", radius=2)
    assert isinstance(W, sp.csr_array) and W.shape == (30, 30) and W.dtype == np.float64
    assert abs(W - W.T).max() == 0 and W.diagonal().max() == 0
    assert np.diff(W.indptr).max() == 12
    masked = ccbcut.affinity_graph(image, radius=2, mask=np.arange(30).reshape(6, 5) > 4)
    assert masked[:5].nnz == 0
    with pytest.raises(TypeError, match="unexpected keyword argument 'tau'"):
        ccbcut.affinity_graph(image, tau=1)


@pytest.mark.parametrize("kind", ["lab", "mpb", "pmi", "0.5lab+pmi"])
def test_every_kind_of_graph(scene, kind):
    W = ccbcut.affinity_graph(scene, kind, radius=2)
    assert W.shape == (48 * 64, 48 * 64) and abs(W - W.T).max() == 0 and W.data.min() > 0
    pixel = lambda r, c: 64 * r + c  # noqa: E731
    inside = W[pixel(20, 16), pixel(20, 18)]
    across = min(W[pixel(20, c), pixel(20, c + 2)] for c in range(27, 32))
    assert inside > 1.5 * across


def test_contours_find_edges_and_may_be_given(scene):
    strengths = ccbcut.contours(scene)
    assert strengths.shape == scene.shape[:2] and strengths.dtype == np.float32
    found = ccbcut.segment(scene, 3, affinity="mpb")
    given = ccbcut.segment(scene, 3, contours=strengths)
    assert np.array_equal(found, given)


def test_memory_is_not_copied_on_the_way_in():
    tracemalloc = pytest.importorskip("tracemalloc")
    image = np.random.default_rng(0).random((600, 500, 3)).astype(np.float32)
    W = sp.random_array((3000, 3000), density=0.05, format="csr", rng=0)
    W = sp.csr_array(W + W.T)
    from ccbcut._arrays import as_csr, csr_parts

    tracemalloc.start()
    as_pixels(image)
    parts = csr_parts(as_csr(W))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.05 * image.nbytes and peak < 0.05 * W.data.nbytes
    assert np.shares_memory(parts[1], W.indices) and np.shares_memory(parts[2], W.data)
