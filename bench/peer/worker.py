"""One task in one child process: reads a JSON task, does it, writes a JSON result. Run by bench/peers.py."""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from peer import compose, judge, package, pixels, solvers  # noqa: E402


class Clock:
    """Wall and processor seconds of a block."""

    def __enter__(self):
        self.wall, self.cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_):
        self.wall, self.cpu = time.perf_counter() - self.wall, time.process_time() - self.cpu

    def result(self, **more):
        return {"seconds": self.wall, "cpu": self.cpu, **more}


def load(path):
    return sp.csr_array(sp.load_npz(path))


def save(path, graph):
    graph.indices, graph.indptr = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
    sp.save_npz(path, graph, compressed=False)


def versions(_):
    import importlib.metadata as meta

    names = ["numpy", "scipy", "scikit-learn", "scikit-image", "pyamg", "pillow", "ncut-pytorch", "torch"]
    found = {}
    for name in names:
        try:
            found[name] = meta.version(name)
        except meta.PackageNotFoundError:
            found[name] = "not installed"
    return {"python": sys.version.split()[0], **found}


def calibrate(_):
    """A fixed load: dense products in cache, then a pass over memory."""
    a = np.random.default_rng(0).standard_normal((400, 400))
    b = np.ones(8_000_000)
    a @ a  # the first product starts the library up
    with Clock() as clock:
        for _ in range(20):
            a @ a
        for _ in range(10):
            b *= 1.0000001
    return clock.result()


def picture(task):
    if task.get("source") is None:
        pixels.synthetic(task["out"], task.get("height", 321), task.get("width", 481))
    elif "height" in task:
        pixels.enlarge(task["source"], task["out"], task["height"], task["width"])
    else:
        from PIL import Image

        Image.open(task["source"]).convert("RGB").save(task["out"])
    height, width, _ = pixels.read(task["out"]).shape
    return {"height": height, "width": width}


def graph(task):
    """Writes the coarse graph, its π, and, where asked for, the pixel graph; the times are those of a row as well."""
    rgb = pixels.read(task["image"])
    with Clock() as clock:
        weights, shape, _ = pixels.coarse_graph(pixels.to_lab(rgb), task["sigma"], plain=task.get("plain", False))
    if "out" in task:
        save(task["out"], weights)
        np.save(task["pi"], judge.degrees(weights))
    edges = int((weights.nnz - np.count_nonzero(weights.diagonal())) // 2)
    return clock.result(shape=list(shape), n=weights.shape[0], edges=edges)


def pixel_graph(task):
    weights = pixels.full_graph(pixels.to_lab(pixels.read(task["image"])), task["sigma"])
    save(task["out"], weights)
    return {"n": weights.shape[0], "edges": weights.nnz // 2}


def reweight(task):
    weights, pi, y = load(task["graph"]), np.load(task["pi"]), np.load(task["embedding"])
    y = y.reshape(len(pi), -1)
    save(task["out"], judge.reweighted(weights, y, task["tau"], task["epsilon"]))
    np.save(task["warm"], y * np.sqrt(pi)[:, None])
    return {}


def solve(task):
    name, weights = task["solver"], load(task["graph"])
    loops = not name.startswith(("spectral_embedding", "SpectralClustering"))
    pi = np.load(task["pi"]) if loops and "pi" in task else judge.degrees(weights, loops)
    warm = np.load(task["warm"]) if "warm" in task else None
    problem = solvers.Problem(weights, pi, task["k"], task.get("shape"), warm)
    solvers.warm_up(name)
    with Clock() as clock:
        found = solvers.SOLVERS[name](problem)
    np.save(task["out"], found)
    return clock.result()


def judge_vectors(task):
    weights, found = load(task["graph"]), np.load(task["vectors"])
    pi = np.load(task["pi"]) if "pi" in task else judge.degrees(weights, task.get("loops", True))
    found = found.reshape(len(pi), -1)
    if task.get("is_embedding"):
        found = found * np.sqrt(pi)[:, None]
    values, residuals = judge.judge(weights, pi, found)
    return {"eigenvalues": values.tolist(), "residual": float(residuals.max())}


def composed(task):
    import sklearn.cluster  # noqa: F401

    keys = ("image", "out", "k", "method", "tau", "sigma", "how")
    with Clock() as clock:
        labels = compose.segment(**{key: task[key] for key in keys})
    return clock.result(n_segments=len(np.unique(labels)))


def slic(task):
    from skimage import graph as regions
    from skimage import segmentation

    rgb = pixels.read(task["image"])
    with Clock() as clock:
        labels = segmentation.slic(rgb, n_segments=400, compactness=10, start_label=0)
        labels = regions.cut_normalized(labels, regions.rag_mean_color(rgb * 255, labels, mode="similarity"))
    np.save(task["out"], labels.astype(np.int32))
    return clock.result(n_segments=len(np.unique(labels)))


def estimator(task):
    clock = Clock()
    labels, vectors, facts = package.clustering(task, clock, load(task["graph"]))
    np.save(task["out"], labels.astype(np.int32))
    np.save(task["vectors"], vectors)
    return clock.result(**facts)


def regions(task):
    clock = Clock()
    facts = package.regions(task, clock, pixels.read(task["image"]))
    return clock.result(**facts)


TASKS = {
    "versions": versions,
    "calibrate": calibrate,
    "picture": picture,
    "graph": graph,
    "pixel_graph": pixel_graph,
    "reweight": reweight,
    "solve": solve,
    "judge": judge_vectors,
    "compose": composed,
    "slic": slic,
    "estimator": estimator,
    "regions": regions,
}


def main():
    task = json.loads(Path(sys.argv[1]).read_text())
    result = TASKS[task["do"]](task)
    temporary = task["result"] + ".part"
    Path(temporary).write_text(json.dumps(result))
    os.replace(temporary, task["result"])


if __name__ == "__main__":
    main()
