"""The Python package and what it takes the place of, each called the way its users would. Runs in children."""

import numpy as np
import scipy.sparse as sp

TOL = 1e-6


def clustering(task, clock, weights):
    """Parts of a graph: labels, and the vectors they were rounded from."""
    k = task["k"]
    if task["whose"] == "ccbcut":
        from ccbcut import CCBCut

        model = CCBCut(k, tau=task["tau"], affinity="precomputed", eigen_tol=TOL, random_state=0, n_jobs=1)
        with clock:
            model.fit(weights)
        return model.labels_, model.embedding_, {"residual": model.trace_[-1]["residual"]}
    if task["whose"] == "ncut-pytorch":
        return ncut_pytorch(task, clock, weights)
    return scikit_learn(task, clock, sp.csr_matrix(weights))


def scikit_learn(task, clock, weights):
    """SpectralClustering; its vectors are looked at on their way to k-means."""
    import sklearn.cluster._spectral as spectral

    if task["solver"] == "amg":
        import pyamg  # noqa: F401
    seen, embed = {}, spectral._spectral_embedding

    def watched(*words, **options):
        seen["vectors"] = embed(*words, **options)
        return seen["vectors"]

    spectral._spectral_embedding = watched
    model = spectral.SpectralClustering(
        task["k"], affinity="precomputed", eigen_solver=task["solver"], eigen_tol=TOL, random_state=0, n_init=10
    )
    with clock:
        model.fit(weights)
    return model.labels_, seen["vectors"][:, 1:], {}


def ncut_pytorch(task, clock, weights):
    """ncut-pytorch on the same weights.

    It takes points, and a function of its users' own for the affinity of two sets of them: the points are the cells of the
    grid, and the function looks their weights up in the dense matrix, which is made before the clock starts. Above 8192 points
    it solves for a quarter of them and spreads the result; without sampling that limit is raised. It has no tolerance: by
    default vectors come from a few steps of a random projection, with `exact` from the whole spectrum, which it computes only
    for matrices that gradients are asked of.
    """
    import ncut_pytorch as package
    import torch
    from ncut_pytorch.ncuts import ncut_nystrom

    torch.set_num_threads(1)
    torch.manual_seed(0)
    (height, width), k = task["shape"], task["k"]
    if not task["samples"]:
        ncut_nystrom.SMALL_SCALE_THRESHOLD = max(ncut_nystrom.SMALL_SCALE_THRESHOLD, height * width)
    exact = {"exact_gradient": True} if task["exact"] else {}
    dense = torch.from_numpy(weights.toarray().astype(np.float32))
    rows, columns = np.divmod(np.arange(height * width, dtype=np.float32), width)
    points = torch.from_numpy(np.stack([rows, columns], axis=1))

    def number(some):
        return (some[:, 0] * width + some[:, 1]).long()

    def affinity(some, others=None, sigma=None):
        a = number(some)
        return dense[a][:, a if others is None else number(others)]

    dense.requires_grad_(task["exact"])
    with clock:
        vectors, _ = package.ncut_fn(points, n_eig=k, sigma=1.0, affinity_fn=affinity, device="cpu", **exact)
        vectors = vectors[:, :k].detach()
        labels = package.kway_ncut(vectors, device="cpu").argmax(1)
    return labels.numpy(), vectors.numpy()[:, 1:].astype(np.float64), {}


def regions(task, clock, rgb):
    """Groups of regions: the same region adjacency graph and the same threshold."""
    from skimage import graph, segmentation

    import ccbcut

    labels = segmentation.slic(rgb, n_segments=task["n_regions"], compactness=10, start_label=0)
    rag = graph.rag_mean_color(rgb * 255, labels, mode="similarity")
    cut = ccbcut.cut_normalized if task["whose"] == "ccbcut" else graph.cut_normalized
    given = rag.copy()
    with clock:
        found = cut(labels, given, thresh=task["thresh"], rng=0)
    nodes = sorted(rag.nodes)
    places = {node: i for i, node in enumerate(nodes)}
    weights = np.eye(len(nodes))  # what both tie each region to itself by
    for a, b, data in rag.edges(data=True):
        if a != b:
            weights[places[a], places[b]] = weights[places[b], places[a]] = data["weight"]
    groups = np.array([found[labels == node][0] for node in nodes])
    costs = ccbcut.costs(weights, groups)
    return {"ncut": costs["ncut"], "ccn": costs["ccn"], "n_segments": len(np.unique(groups))}
