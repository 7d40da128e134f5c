"""Exceptions by type, and what a caller may rely on while the library works."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

import ccbcut

IMAGE = np.random.default_rng(0).random((12, 14, 3)).astype(np.float32)
W = np.ones((6, 6)) - np.eye(6)
REGIONS = 1 + np.arange(12)[:, None] // 4 + 3 * (np.arange(14) // 7)


def lopsided():
    W = np.ones((3, 3))
    W[0, 1] = 2
    return W


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: ccbcut.segment(IMAGE, 0), "at least 1"),
        (lambda: ccbcut.segment(IMAGE, -1), "n_segments is -1"),
        (lambda: ccbcut.segment(IMAGE, 1000), "only 168 vertices"),
        (lambda: ccbcut.segment(IMAGE, 2, tau=3), "0 < tau <= 2"),
        (lambda: ccbcut.segment(IMAGE, 2, tau=float("nan")), "tau is NaN"),
        (lambda: ccbcut.segment(IMAGE, 2, sigma=0), "sigma is 0"),
        (lambda: ccbcut.segment(IMAGE, 2, radius=0.5), "radius"),
        (lambda: ccbcut.segment(IMAGE, 2, method="both"), "'multiway', 'hierarchical'"),
        (lambda: ccbcut.segment(IMAGE, 2, balance="equal"), "'normalized', 'ratio'"),
        (lambda: ccbcut.segment(IMAGE, 2, affinity="color"), "'lab', 'mpb'"),
        (lambda: ccbcut.segment(IMAGE, 2, affinity="lab+lab"), "like 'lab'"),
        (lambda: ccbcut.segment(IMAGE, 2, mask=np.ones((3, 3))), "mask"),
        (lambda: ccbcut.segment(IMAGE, 2, contours=np.zeros((3, 3), np.float32)), "contour map"),
        (lambda: ccbcut.segment(IMAGE[0, 0, 0], 2), "shape"),
        (lambda: ccbcut.segment(np.zeros((0, 3), np.float32), 2), "height"),
        (lambda: ccbcut.segment(np.full((4, 4), np.nan, np.float32), 2), "finite"),
        (lambda: ccbcut.segment(np.zeros((4, 4, 5), np.float32), 2), "channels"),
        (lambda: ccbcut.hierarchy(IMAGE, 3, connected=True), "connected"),
        (lambda: ccbcut.partition(lopsided(), 2), "not symmetric"),
        (lambda: ccbcut.partition(-W, 2), "not negative"),
        (lambda: ccbcut.partition(W[:3], 2), "square"),
        (lambda: ccbcut.partition(W[0], 2), "dimensions"),
        (lambda: ccbcut.partition(W, 7), "only 6 vertices"),
        (lambda: ccbcut.partition(W, 2, balance=[1, 1]), "balance weights"),
        (lambda: ccbcut.partition(W, 2, balance=[1, 1, 1, 1, 1, 0]), "positive"),
        (lambda: ccbcut.partition(W, 2, max_iterations=0), "sweep limit"),
        (lambda: ccbcut.embed(W, 6), "below the number of vertices"),
        (lambda: ccbcut.embed(W, 0), "at least 1"),
        (lambda: ccbcut.cost(W, [0, 1]), "6"),
        (lambda: ccbcut.cost(W, [0, 0, 0, 1, 1, -1]), "negative"),
        (lambda: ccbcut.cost(W, [0, 0, 0, 1, 1, 1], kind="best"), "'ncut'"),
        (lambda: ccbcut.cost(W, [0, 0, 0, 1, 1, 1], tau=-1), "tau"),
        (lambda: ccbcut.segment(IMAGE, "many"), "n_segments is 'many', but it must be a number or 'auto'"),
        (lambda: ccbcut.segment(IMAGE, "auto", k_max=0), "largest number of parts is 0"),
        (lambda: ccbcut.segment(IMAGE, 3, return_choice=True), "n_segments is 3"),
        (lambda: ccbcut.segment(IMAGE, 2, affinity="lab", contours=np.zeros((12, 14))), "affinity is 'lab'"),
        (lambda: ccbcut.segment(IMAGE, 2, superpixels=0), "number of regions is 0"),
        (lambda: ccbcut.segment(IMAGE, 9, superpixels=REGIONS), "9 parts .* only 6 vertices"),
        (lambda: ccbcut.segment(IMAGE, 2, superpixels=20, compactness=0), "compactness is 0"),
        (lambda: ccbcut.segment(IMAGE, 2, superpixels=20, region_sigma=-1), "sigma is -1"),
        (lambda: ccbcut.segment(IMAGE, 2, superpixels=20, affinity="pmi"), "affinity is 'pmi'"),
        (lambda: ccbcut.segment(IMAGE, 2, superpixels=20, region_features=[[1]]), "label map"),
        (lambda: ccbcut.segment(IMAGE, 2, superpixels=np.ones((3, 3), int)), r"shape \(3, 3\).*\(12, 14\)"),
        (lambda: ccbcut.segment(IMAGE, 2, superpixels=np.full((12, 14), -1)), "no region"),
        (lambda: ccbcut.segment(IMAGE, 2, superpixels=REGIONS, region_features=[[1], [2]]), "has 2 elements"),
        (lambda: ccbcut.segment(IMAGE, 2, superpixels=REGIONS, region_feature_sigma=1), "region_features"),
        (lambda: ccbcut.segment(IMAGE, 2, compactness=3), "compactness is given"),
        (lambda: ccbcut.superpixels(IMAGE, 0), "number of regions is 0"),
        (lambda: ccbcut.superpixels(IMAGE, -3), "n_segments is -3"),
        (lambda: ccbcut.segment(IMAGE, 2, scribbles=np.ones((3, 3), int)), r"shape \(3, 3\).*\(12, 14\)"),
        (lambda: ccbcut.segment(IMAGE, 2, scribbles=REGIONS, method="multiway"), "method is 'multiway'"),
        (lambda: ccbcut.segment(IMAGE, 2, scribbles=REGIONS, levels=0), "6 seeds .* only 2 parts"),
        (lambda: ccbcut.partition(W, 2, must_link=[(0, 6)]), "vertex of a constraint is 6"),
        (lambda: ccbcut.partition(W, 2, must_link=[(0, -1)]), "vertex -1"),
        (lambda: ccbcut.partition(W, 2, must_link=[0, 1]), r"must_link has the shape \(2,\)"),
        (lambda: ccbcut.partition(W, 2, must_link=[(0, 1)], cannot_link=[(1, 0)]), "vertices 1 and 0"),
        (lambda: ccbcut.partition(W, 2, seeds={0: "a", 1: "b", 2: "c"}), "3 seeds .* only 2 parts"),
        (lambda: ccbcut.partition(W, 2, seeds=[(0, "a", 1)]), "seeds holds"),
        (lambda: ccbcut.partition(W, 2, cannot_link=[(0, 1)], method="multiway"), "cannot_link is given"),
        (lambda: ccbcut.partition(W, 2, seeds={0: 1}, refine=True), "refine is True"),
        (lambda: ccbcut.cluster([1, 2, 3], 2), "X has 1 dimensions"),
        (lambda: ccbcut.cluster([[1.0], [2.0]], 2, bandwidth=-1), "bandwidth is -1"),
        (lambda: ccbcut.cluster([[1.0], [np.nan], [2.0]], 2, n_neighbors=1), "NaN at position 1"),
        (lambda: ccbcut.segment_volume(IMAGE[0], 2), "the volume has the shape"),
        (lambda: ccbcut.segment_volume(IMAGE, 2, spacing=(1, 0, 1)), "spacing is 0"),
        (lambda: ccbcut.segment_volume(IMAGE, 2, spacing=(1, 1)), "three numbers"),
        (lambda: ccbcut.segment_volume(IMAGE, 2, supervoxels=0), "number of regions is 0"),
        (lambda: ccbcut.metrics.vi([0, 1], [0, 1, 2]), "label map"),
        (lambda: ccbcut.metrics.vi([0, 1], []), "no ground truth|label map"),
        (lambda: ccbcut.metrics.covering([0, 1], [-1, -1]), "nothing to compare"),
    ],
)
def test_bad_values_are_value_errors(call, says):
    with pytest.raises(ValueError, match=says):
        call()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: ccbcut.segment(IMAGE, 2.5), "must be an integer"),
        (lambda: ccbcut.segment(IMAGE, 2, tau="one"), "must be a number"),
        (lambda: ccbcut.segment(IMAGE, 2, seed="x"), "must be an integer"),
        (lambda: ccbcut.segment(IMAGE, 2, method=3), "must be a string"),
        (lambda: ccbcut.segment(IMAGE, 2, kernel=3), "must be a string"),
        (lambda: ccbcut.segment(IMAGE, 2, size=3), "unexpected keyword argument 'size'"),
        (lambda: ccbcut.hierarchy(IMAGE, 2, size=3), "hierarchy.. got an unexpected"),
        (lambda: ccbcut.segment((IMAGE * 255).astype(np.int64), 2), "int64"),
        (lambda: ccbcut.segment("photo.jpg", 2), "read the file"),
        (lambda: ccbcut.partition(W.astype(complex), 2), "complex"),
        (lambda: ccbcut.partition(sp.csr_array(W.astype(complex)), 2), "complex"),
        (lambda: ccbcut.partition("graph.npz", 2), "read the file"),
        (lambda: ccbcut.cost(W, [0.5] * 6), "integers"),
        (lambda: ccbcut.embed(W, "2"), "integer"),
        (lambda: ccbcut.partition(W, 2, balance=3), "balance"),
        (lambda: ccbcut.segment(IMAGE, 2, superpixels=2.5), "superpixels is 2.5"),
        (lambda: ccbcut.segment(IMAGE, 2, superpixels=IMAGE[:, :, 0]), "superpixels holds float32"),
        (lambda: ccbcut.segment(IMAGE, 2, scribbles=IMAGE[:, :, 0]), "scribbles holds float32"),
        (lambda: ccbcut.hierarchy(IMAGE, "auto"), "max_segments is 'auto'"),
        (lambda: ccbcut.segment_volume(IMAGE, "auto"), "n_segments is 'auto'"),
        (lambda: ccbcut.segment_volume(IMAGE.astype(complex), 2), "complex"),
        (lambda: ccbcut.partition(W, 2, must_link=[(0.5, 1)]), "must_link holds float64"),
        (lambda: ccbcut.partition(W, 2, seeds={"a": 1}), "a vertex of seeds is 'a'"),
        (lambda: ccbcut.cluster([["a", "b"]], 2), "X holds"),
        (lambda: ccbcut.cluster([[1.0], [2.0]], 2, size=3), "cluster.. got an unexpected"),
    ],
)
def test_bad_types_are_type_errors(call, says):
    with pytest.raises(TypeError, match=says):
        call()


LONG = """
import numpy as np, ccbcut, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits that it is ignored
image = np.random.default_rng(0).random((150, 150, 3)).astype(np.float32)
print("started", flush=True)
try:
    ccbcut.segment(image, 60, tau=0.3, levels=1, tol=0.0, max_iterations=10000, sigma=40)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(7)
"""


def test_ctrl_c_interrupts_a_long_solve():
    process = subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "started\n"
    try:
        time.sleep(3)
        assert process.poll() is None, "the solve must last"
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    assert (out, process.returncode) == ("interrupted\n", 7)


def test_other_threads_run_while_the_library_works():
    ticks, finished = [], threading.Event()

    def tick():
        while not finished.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.005)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    ccbcut.segment(np.random.default_rng(0).random((90, 90, 3)).astype(np.float32), 6, sigma=40)
    end = time.monotonic()
    finished.set()
    thread.join()
    during = [t for t in ticks if start < t < end]
    assert len(during) >= 3 and max(np.diff(during)) < 0.5 * (end - start) + 0.2


def _cut_in_child(_):
    return ccbcut.partition(W, 2).labels.tolist()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_can_cut():
    expected = ccbcut.partition(W, 2).labels.tolist()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(_cut_in_child, range(4)).get(timeout=60) == [expected] * 4


def test_memory_is_steady_over_200_calls():
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    if not os.path.exists("/proc/self/statm"):
        pytest.skip("needs /proc")
    rng = np.random.default_rng(0)
    image = rng.random((40, 40, 3)).astype(np.float32)
    graph = sp.csr_array(np.kron(np.eye(4), np.ones((30, 30))) + 0.01)

    def call():
        ccbcut.segment(image, 2, tau=2, levels=1, radius=2, sigma=40)
        ccbcut.partition(graph, 4, tau=2, method="multiway")
        ccbcut.affinity_graph(image, radius=2)
        with pytest.raises(ValueError):
            ccbcut.segment(image, 3, tau=5)

    for _ in range(30):
        call()
    before = resident()
    for _ in range(200):
        call()
    # One leaked image per call would be 3.8 MB, one leaked graph more.
    assert resident() - before < 3e6
