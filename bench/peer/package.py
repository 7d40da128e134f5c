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
