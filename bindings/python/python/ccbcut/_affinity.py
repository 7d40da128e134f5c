"""Affinities between samples, for the estimators: within the training data, and from new samples to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import pairwise_distances, pairwise_distances_argmin, pairwise_kernels
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_symmetric

#: Affinities whose X is not features.
PRECOMPUTED = ("precomputed", "precomputed_nearest_neighbors")


def training_affinity(estimator: Any, X: Any) -> Any:
    """W for the training data, symmetric, as SpectralClustering makes it; remembers what new samples will need."""
    name = estimator.affinity
    if name == "precomputed":
        return check_symmetric(X, raise_warning=True)
    if name in ("nearest_neighbors", "precomputed_nearest_neighbors"):
        metric = "precomputed" if name in PRECOMPUTED else "minkowski"
        finder = NearestNeighbors(n_neighbors=estimator.n_neighbors, metric=metric, n_jobs=estimator.n_jobs)
        finder.fit(X)
        links = finder.kneighbors_graph(X=X, mode="connectivity")
        estimator._finder = finder
        estimator._radii = finder.kneighbors(X)[0][:, -1]
        return sp.csr_array(0.5 * (links + links.T))
    W = pairwise_kernels(X, metric=name, filter_params=True, **kernel_params(estimator))
    return 0.5 * (W + W.T)


def new_affinity(estimator: Any, X: Any) -> Any:
    """Weights from new samples (rows) to the training data (columns)."""
    name = estimator.affinity
    if name == "precomputed":
        return X
    if name in ("nearest_neighbors", "precomputed_nearest_neighbors"):
        finder = estimator._finder
        there = finder.kneighbors_graph(X=X, mode="connectivity")
        # A new sample would also be among the neighbours of those that have it nearer than their last.
        known = name in PRECOMPUTED
        distances = (X.toarray() if sp.issparse(X) else X) if known else _distances(X, estimator._fit_X)
        back = distances <= estimator._radii[np.newaxis, :] * (1 + 1e-9)
        return sp.csr_array(0.5 * (there + sp.csr_array(back.astype(np.float64))))
    return pairwise_kernels(X, estimator._fit_X, metric=name, filter_params=True, **kernel_params(estimator))


def _distances(X: Any, training: Any) -> npt.NDArray[np.float64]:
    """Euclidean distances, to the last digits where that is possible."""
    if sp.issparse(X) or sp.issparse(training):
        return np.asarray(pairwise_distances(X, training))
    return np.asarray(cdist(X, training))


def nearest_samples(estimator: Any, X: Any) -> npt.NDArray[np.intp]:
    """The nearest training sample of each new one, for those that no weight reaches."""
    if estimator.affinity in PRECOMPUTED:
        return np.zeros(X.shape[0], dtype=np.intp)
    return np.asarray(pairwise_distances_argmin(X, estimator._fit_X), dtype=np.intp)


def kernel_params(estimator: Any) -> dict[str, Any]:
    """Arguments of the kernel; the caller's dictionary is left alone."""
    params = dict(estimator.kernel_params or {})
    if not callable(estimator.affinity):
        params |= {"gamma": estimator.gamma, "degree": estimator.degree, "coef0": estimator.coef0}
    return params
