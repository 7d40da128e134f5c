"""Makes the graphs of bench/graphs.py, runs scikit-learn on them, and scores labels. Runs in a child process.

    python graph_worker.py make FAMILY N SEED FOLDER      graph.npz (or points.npy), truth.npy; prints facts as JSON
    python graph_worker.py sklearn FOLDER K SEED          labels-sklearn.npy; prints the seconds of fit
    python graph_worker.py score TRUTH LABELS             prints the adjusted Rand index
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

# Every number here was fixed before the first run; see README.md.
DEGREE_INSIDE, DEGREE_OUTSIDE = 20.0, 4.0
UNEVEN = [10, 10, 10, 1, 1]
BLOCKS = 20
MOON_NOISE = 0.08
# Which share of the points the second moon has: one of so many.
MOONS = {"two moons": 2, "two moons 10:1": 11}
EQUAL, EQUAL_DEGREE, EQUAL_MIXING = 10, 20, 0.2
LFR_DEGREES, LFR_SIZES, LFR_MIXING = (2.5, 10, 100), (1.5, 0.02, 0.2), 0.2


def edges_between(random, rows, columns, count):
    """`count` random pairs of two sets of vertices; repeated pairs add up later."""
    return random.choice(rows, count), random.choice(columns, count)


def blocks(random, sizes, tied):
    """A stochastic block model with the mean degrees above; `tied[a][b]` says which blocks may have edges."""
    n = int(np.sum(sizes))
    truth = np.repeat(np.arange(len(sizes)), sizes)
    members = [np.flatnonzero(truth == b) for b in range(len(sizes))]
    heads, tails = [], []
    for a, inside in enumerate(members):
        i, j = edges_between(random, inside, inside, random.poisson(DEGREE_INSIDE * len(inside) / 2))
        heads.append(i), tails.append(j)
        others = np.concatenate([members[b] for b in range(len(sizes)) if b != a and tied[a][b]] or [[]]).astype(int)
        if len(others):
            i, j = edges_between(random, inside, others, random.poisson(DEGREE_OUTSIDE * len(inside) / 2))
            heads.append(i), tails.append(j)
    return n, np.concatenate(heads), np.concatenate(tails), truth


def power_law(random, exponent, low, high, count):
    u = random.random(count)
    a = 1 - exponent
    return (low**a + u * (high**a - low**a)) ** (1 / a)


def lfr(random, n):
    """Power-law degrees and community sizes with a share of edges that leave: like LFR, with repeated edges summed."""
    sizes = []
    while sum(sizes) < n:
        sizes.append(int(power_law(random, LFR_SIZES[0], LFR_SIZES[1] * n, LFR_SIZES[2] * n, 1)[0]))
    sizes[-1] -= sum(sizes) - n
    if sizes[-1] < LFR_SIZES[1] * n / 2:
        last = sizes.pop()
        sizes[-1] += last
    truth = np.repeat(np.arange(len(sizes)), sizes)
    degrees = power_law(random, *LFR_DEGREES, n)
    inside = np.repeat(np.arange(n), random.poisson((1 - LFR_MIXING) * degrees))
    outside = np.repeat(np.arange(n), random.poisson(LFR_MIXING * degrees))
    heads, tails = [], []
    for community in range(len(sizes)):
        stubs = random.permutation(inside[truth[inside] == community])
        half = len(stubs) // 2
        heads.append(stubs[:half]), tails.append(stubs[half : 2 * half])
    stubs = random.permutation(outside)
    half = len(stubs) // 2
    heads.append(stubs[:half]), tails.append(stubs[half : 2 * half])
    return n, np.concatenate(heads), np.concatenate(tails), truth


def equal(random, n):
    """Equal parts and a fixed number of edges per vertex, a share of which take no notice of the parts."""
    size = n // EQUAL
    n = EQUAL * size
    truth = np.arange(n) // size
    count = n * EQUAL_DEGREE // 2
    heads = random.integers(0, n, count)
    tails = truth[heads] * size + random.integers(0, size, count)
    anywhere = int(EQUAL_MIXING * count)
    tails[:anywhere] = random.integers(0, n, anywhere)
    return n, heads, tails, truth


def moons(random, n, share):
    """Two half circles, the second with one of `share` points."""
    angle = np.pi * random.random(n)
    truth = (np.arange(n) % share == share - 1).astype(int)
    x = np.where(truth == 0, np.cos(angle), 1 - np.cos(angle))
    y = np.where(truth == 0, np.sin(angle), 0.5 - np.sin(angle))
    return np.column_stack([x, y]) + MOON_NOISE * random.standard_normal((n, 2)), truth


def make(family, n, seed, folder):
    random = np.random.default_rng([seed, sum(family.encode())])
    if family in MOONS:
        points, truth = moons(random, n, MOONS[family])
        np.save(folder / "points.npy", points)
        np.save(folder / "truth.npy", truth)
        return {"n": n, "edges": None, "k": 2}
    if family == "planted 10:1":
        unit = n / sum(UNEVEN)
        sizes = [int(round(unit * s)) for s in UNEVEN]
        n, i, j, truth = blocks(random, sizes, np.ones((len(sizes), len(sizes)), bool))
    elif family == "LFR-like":
        n, i, j, truth = lfr(random, n)
    elif family == "ten equal parts":
        n, i, j, truth = equal(random, n)
    else:
        components = int(family.split()[1])
        group = np.arange(BLOCKS) * components // BLOCKS
        n, i, j, truth = blocks(random, [n // BLOCKS] * BLOCKS, group[:, None] == group[None, :])
    keep = i != j
    half = sp.coo_array((np.ones(keep.sum()), (i[keep], j[keep])), shape=(n, n)).tocsr()
    matrix = sp.csr_array(half + half.T)
    sp.save_npz(folder / "graph.npz", matrix)
    np.save(folder / "truth.npy", truth)
    return {"n": n, "edges": int(matrix.nnz // 2), "k": int(truth.max()) + 1}


def sklearn(folder, k, seed):
    import warnings

    from sklearn.cluster import SpectralClustering

    warnings.simplefilter("ignore")
    points = folder / "points.npy"
    if points.exists():
        data, affinity = np.load(points), "nearest_neighbors"
    else:
        data, affinity = sp.csr_matrix(sp.load_npz(folder / "graph.npz")), "precomputed"
        data.indices, data.indptr = data.indices.astype(np.int32), data.indptr.astype(np.int32)
    model = SpectralClustering(k, affinity=affinity, n_neighbors=10, random_state=seed)
    start = time.perf_counter()
    labels = model.fit_predict(data)
    seconds = time.perf_counter() - start
    np.save(folder / "labels-sklearn.npy", labels)
    return {"seconds": seconds}


def score(truth, labels):
    from sklearn.metrics import adjusted_rand_score

    return {"ari": adjusted_rand_score(np.load(truth), np.load(labels))}


def main(words):
    if words[0] == "make":
        facts = make(words[1], int(words[2]), int(words[3]), Path(words[4]))
    elif words[0] == "sklearn":
        facts = sklearn(Path(words[1]), int(words[2]), int(words[3]))
    else:
        facts = score(words[1], words[2])
    print(json.dumps(facts))


if __name__ == "__main__":
    main(sys.argv[1:])
