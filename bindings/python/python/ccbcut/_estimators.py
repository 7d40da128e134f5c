"""scikit-learn estimators."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg import polar, qr

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.utils import check_random_state
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "the estimators need scikit-learn 1.6 or newer: pip install 'scikit-learn>=1.6'; ccbcut.cluster() does without"
    ) from error

from ccbcut._affinity import PRECOMPUTED, nearest_samples, new_affinity, training_affinity
from ccbcut._arrays import count
from ccbcut._graph import Trace, embed_fully, partition
from ccbcut._tree import renumbered


class _AffinityEstimator(BaseEstimator):  # type: ignore[misc]
    """What both estimators share: the affinity, and the options of the solver."""

    def _training_graph(self, X: Any) -> Any:
        """Checks the data and makes W."""
        X = self._checked(X, reset=True)
        if self.affinity in PRECOMPUTED and X.shape[0] != X.shape[1]:
            raise ValueError(f"X is {X.shape[0]} x {X.shape[1]}, but a precomputed affinity must be square")
        self.affinity_matrix_ = training_affinity(self, X)
        if self.affinity not in PRECOMPUTED:
            self._fit_X = X
        return self.affinity_matrix_

    def _checked(self, X: Any, *, reset: bool) -> Any:
        least = 2 if reset else 1
        return validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=np.float64, ensure_min_samples=least
        )

    def _options(self) -> dict[str, Any]:
        return {
            "balance": self.balance,
            "variant": self.variant,
            "kappa": self.kappa,
            "max_iterations": self.max_iter,
            "tol": self.tol,
            "eigen_tol": None
            if isinstance(self.eigen_tol, str) and self.eigen_tol == "auto"
            else self.eigen_tol,
            "seed": seed_of(self.random_state),
            "threads": threads_of(self.n_jobs),
        }

    def _remember(self, trace: Trace, is_converged: bool) -> None:
        self.trace_ = trace
        self.n_iter_ = max((sweep["sweep"] for sweep in trace), default=1)
        if not is_converged:
            warnings.warn(
                f"the sweeps stopped at max_iter={self.max_iter} before the cost settled to tol={self.tol}",
                ConvergenceWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity in PRECOMPUTED
        return tags


class CCBCut(ClusterMixin, _AffinityEstimator):  # type: ignore[misc]
    """Clustering by a CCB cut of an affinity graph.

    Takes the parameters of `sklearn.cluster.SpectralClustering` that have a meaning here, so that code works after the
    import is changed, and a knob: at ``tau=2`` both make normalized cuts, below it small, weakly tied clusters may stand
    alone.

    Parameters
    ----------
    n_clusters : int, default 8
        How many clusters.
    tau : float, default 1.25
        The knob, 0 < tau <= 2.
    method : {"multiway", "hierarchical"}, default "multiway"
        All clusters at once from one embedding, or split in two, again and again.
    balance : {"normalized", "ratio"} or array-like of shape (n_samples,)
        What the size of a cluster is measured in: degrees, numbers of samples, or weights of your own.
    affinity : str or callable, default "rbf"
        ``"rbf"``, ``"nearest_neighbors"``, ``"precomputed"`` (X is the symmetric weight matrix),
        ``"precomputed_nearest_neighbors"`` (X holds distances), any kernel of
        `sklearn.metrics.pairwise.pairwise_kernels`, or a function of two samples. Weights must not be negative.
    gamma : float, default 1.0
        Coefficient of the kernels; ignored by ``nearest_neighbors``.
    n_neighbors : int, default 10
        Neighbours of the ``nearest_neighbors`` affinities.
    degree, coef0 : float
        Of the polynomial and sigmoid kernels.
    kernel_params : dict, optional
        Arguments of a callable affinity.
    n_components : int, optional
        Columns of the multiway embedding; one fewer than clusters by default, as in SpectralClustering, which counts a
        constant column among its own.
    assign_labels : {"kmeans", "discretize", "cluster_qr", "procrustes"}
        How the rows of the multiway embedding become clusters.
    n_init : int, default 10
        Restarts of k-means.
    min_share : float, default 0.0
        Least size of a cluster as a share of the whole (hierarchical).
    rejoin : int, default 0
        Cut into so many clusters first, then join them again, those that are hardest to cut apart first (hierarchical).
    kappa : float, optional
        Share of the uncut edges that smoothing leaves free; 0.0001 by default.
    variant : {"published", "released", "weighted"}
        Which form of the reweighting algorithm runs.
    max_iter : int, default 50
        Most sweeps; a `ConvergenceWarning` says when they were not enough.
    tol : float, default 0.01
        Relative change of the objective at which sweeps stop.
    eigen_tol : float or "auto"
        Residual at which the eigensolver stops; 1e-6 by default; multiway a tenth of `tol` once edges are reweighted.
    random_state : int, RandomState or None
        Seed; None is 0, so that results are always reproducible.
    n_jobs : int, optional
        Threads; None or -1 for all. Changes the time, never the result.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Clusters, numbered by first appearance.
    affinity_matrix_ : ndarray or sparse matrix, shape (n_samples, n_samples)
        The weights that were cut.
    embedding_ : ndarray of float64, shape (n_samples, n_components)
        Coordinates (multiway, more than one cluster).
    tree_ : Tree
        The nested splits (hierarchical).
    cost_ : float
        The cost that was made small.
    trace_ : list of dict
        Every sweep of every embedding.
    n_iter_ : int
        The most sweeps of any embedding.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    ccbcut.partition : The same for a graph that is already there, without scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from ccbcut import CCBCut
    >>> X = np.array([[1, 1], [2, 1], [1, 0], [4, 7], [3, 5], [3, 6]])
    >>> clustering = CCBCut(n_clusters=2, tau=1.0).fit(X)
    >>> clustering.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> clustering.predict([[0, 0], [4, 6]])
    array([0, 1], dtype=int32)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        tau: float = 1.25,
        method: str = "multiway",
        balance: Any = "normalized",
        affinity: Any = "rbf",
        gamma: float = 1.0,
        n_neighbors: int = 10,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        n_components: int | None = None,
        assign_labels: str = "kmeans",
        n_init: int = 10,
        min_share: float = 0.0,
        rejoin: int = 0,
        kappa: float | None = None,
        variant: str = "published",
        max_iter: int = 50,
        tol: float = 0.01,
        eigen_tol: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.tau = tau
        self.method = method
        self.balance = balance
        self.affinity = affinity
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.assign_labels = assign_labels
        self.n_init = n_init
        self.min_share = min_share
        self.rejoin = rejoin
        self.kappa = kappa
        self.variant = variant
        self.max_iter = max_iter
        self.tol = tol
        self.eigen_tol = eigen_tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> CCBCut:
        """Cut the affinity graph of the data.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n_samples, n_features) or (n_samples, n_samples)
            Samples, or the weights themselves with a precomputed affinity.
        y : None
            Not used.

        Returns
        -------
        self
        """
        W = self._training_graph(X)
        by_qr = self.assign_labels == "cluster_qr" and self.method == "multiway"
        cut = partition(
            W,
            self.n_clusters,
            tau=self.tau,
            method=self.method,  # type: ignore[arg-type]
            rounding="kmeans" if by_qr else self.assign_labels,
            n_init=1 if by_qr else self.n_init,
            min_share=self.min_share,
            rejoin=self.rejoin,
            columns=max(count("n_clusters", self.n_clusters) - 1, 1)
            if self.n_components is None
            else self.n_components,
            **self._options(),
        )
        self.labels_, self.cost_ = cut.labels, cut.cost
        for name, value in (("embedding_", cut.embedding), ("tree_", cut.tree)):
            if value is None:
                self.__dict__.pop(name, None)
            else:
                setattr(self, name, value)
        self._parts = Parts(W, self.labels_, self.balance, self.tau)
        if by_qr and cut.embedding is not None:
            self.labels_ = cluster_qr(cut.embedding, self.n_clusters)
            self._parts = Parts(W, self.labels_, self.balance, self.tau)
            self.cost_ = self._parts.cost()
        self._remember(cut.trace, cut.is_converged)
        return self

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> npt.NDArray[np.int32]:
        """Cut the affinity graph of the data and return the labels.

        Parameters
        ----------
        X, y
            As in `fit`.
        **kwargs
            Not used.

        Returns
        -------
        ndarray of int32, shape (n_samples,)
        """
        return self.fit(X, y).labels_

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """The clusters of new samples.

        Each new sample joins, by itself, the cluster for which the cost of the whole gets lowest; those that no weight
        ties to the training data join the cluster of their nearest sample. For training samples that is nearly always,
        but not by definition, the label they have.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n_new, n_features) or (n_new, n_samples)
            New samples, or their weights to the training data with ``affinity="precomputed"`` (distances with
            ``"precomputed_nearest_neighbors"``).

        Returns
        -------
        ndarray of int32, shape (n_new,)
        """
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        A = new_affinity(self, X)
        chosen = self._parts.join(A)
        alone = np.flatnonzero(np.asarray(A.sum(axis=1)).ravel() <= 0)
        if alone.size:
            chosen[alone] = self.labels_[nearest_samples(self, X[alone])]
        return chosen


def _is_linear(estimator: CCBEmbedding) -> bool:
    if estimator.tau != 2:
        raise AttributeError(
            f"transform needs tau=2, but tau is {estimator.tau}: below 2 the weights of a new sample depend on where it "
            "is put, so there is no extension to new data; use fit_transform"
        )
    return True


class CCBEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _AffinityEstimator):  # type: ignore[misc]
    """Coordinates from an affinity graph: the relaxed CCB cut.

    At ``tau=2`` it is the spectral embedding, without the constant column, and extends to new samples. Below 2 it pulls
    the clusters together, and there is `fit_transform` only.

    Parameters
    ----------
    n_components : int, default 2
        Columns of the embedding.
    tau : float, default 1.25
        The knob, 0 < tau <= 2.
    balance, affinity, gamma, n_neighbors, degree, coef0, kernel_params, kappa, variant, max_iter, tol, eigen_tol, \
random_state, n_jobs
        As in `CCBCut`.

    Attributes
    ----------
    embedding_ : ndarray of float64, shape (n_samples, n_components)
        Coordinates Y with Y'ΠY = I and Y'Π1 = 0.
    affinity_matrix_ : ndarray or sparse matrix, shape (n_samples, n_samples)
        The weights.
    eigenvalues_ : ndarray of float64, shape (n_components,)
        Eigenvalues of the last sweep.
    trace_ : list of dict
        Every sweep.
    n_iter_ : int
        Sweeps.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> import numpy as np
    >>> from ccbcut import CCBEmbedding
    >>> X = np.array([[0.0], [0.1], [0.2], [3.0], [3.1], [3.2]])
    >>> Y = CCBEmbedding(n_components=1).fit_transform(X)
    >>> bool(abs(Y[0] - Y[2]) < 0.01 * abs(Y[0] - Y[3]))
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        tau: float = 1.25,
        balance: Any = "normalized",
        affinity: Any = "rbf",
        gamma: float = 1.0,
        n_neighbors: int = 10,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        kappa: float | None = None,
        variant: str = "published",
        max_iter: int = 50,
        tol: float = 0.01,
        eigen_tol: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.tau = tau
        self.balance = balance
        self.affinity = affinity
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.kappa = kappa
        self.variant = variant
        self.max_iter = max_iter
        self.tol = tol
        self.eigen_tol = eigen_tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> CCBEmbedding:
        """Embed the data.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n_samples, n_features) or (n_samples, n_samples)
            Samples, or the weights themselves with a precomputed affinity.
        y : None
            Not used.

        Returns
        -------
        self
        """
        W = self._training_graph(X)
        self.embedding_, trace, is_converged = embed_fully(W, self.n_components, self.tau, self._options())
        self.eigenvalues_ = np.array(trace[-1]["eigenvalues"])
        self._n_features_out = self.embedding_.shape[1]
        self._remember(trace, is_converged)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> npt.NDArray[np.float64]:
        """Embed the data and return the coordinates.

        Parameters
        ----------
        X, y
            As in `fit`.
        **fit_params
            Not used.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_components)
        """
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """The coordinates of new samples, by Nyström's extension; only at ``tau=2``.

        A new sample is put where the eigenvector equation holds in its own row: y(x) = Σ w(x, j) yⱼ / (d(x) − λ π(x)),
        with d(x) = Σ w(x, j) and π(x) = d(x), or 1 for ratio balance. For training samples that is their row of
        `embedding_`, up to the residual of the eigensolver.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n_new, n_features) or (n_new, n_samples)
            As in `CCBCut.predict`.

        Returns
        -------
        ndarray of float64, shape (n_new, n_components)
            0 for samples that no weight ties to the training data.
        """
        check_is_fitted(self)
        if not isinstance(self.balance, str):
            raise ValueError(
                "transform needs balance='normalized' or 'ratio': new samples have no weight of their own"
            )
        X = self._checked(X, reset=False)
        A = new_affinity(self, X)
        degrees = np.asarray(A.sum(axis=1), dtype=np.float64).reshape(-1, 1)
        pi = degrees if self.balance == "normalized" else np.ones_like(degrees)
        below = degrees - self.eigenvalues_[np.newaxis, :] * pi
        # Too far away for the equation to have a stable answer: the weighted mean is taken instead.
        below = np.where(below > 1e-3 * degrees, below, degrees)
        sums = np.asarray(A @ self.embedding_)
        rows: npt.NDArray[np.float64] = np.divide(sums, below, out=np.zeros_like(sums), where=below > 0)
        return rows


# By hand and not as a decorator: scikit-learn's output wrapper, which the class puts around methods, would hide it.
CCBEmbedding.transform = available_if(_is_linear)(CCBEmbedding.transform)  # type: ignore[method-assign]


class Parts:
    """What the parts of a training graph leave and weigh: enough to price a newcomer."""

    def __init__(self, W: Any, labels: npt.NDArray[np.int32], balance: Any, tau: float) -> None:
        n, k = len(labels), int(labels.max()) + 1
        self.member = sp.csr_array((np.ones(n), (np.arange(n), labels)), shape=(n, k))
        degrees = np.asarray(W.sum(axis=1), dtype=np.float64).ravel()
        between = np.asarray(self.member.T @ (W @ self.member.toarray()))
        self.cuts = between.sum(axis=1) - np.diag(between)
        smallest = degrees[degrees > 0].min() if (degrees > 0).any() else 1.0
        self.is_normalized = isinstance(balance, str) and balance == "normalized"
        pi = np.where(degrees > 0, degrees, smallest) if self.is_normalized else np.ones(n)
        if not isinstance(balance, str):
            pi = np.asarray(balance, dtype=np.float64)
        self.newcomer = float(pi.mean())
        self.sizes = self.member.T @ pi
        self.half_tau = 0.5 * tau

    def cost(self) -> float:
        """(7) of the training graph."""
        return float(0.5 * (self.cuts / (2 * self.sizes) ** self.half_tau).sum())

    def join(self, A: Any) -> npt.NDArray[np.int32]:
        """For each row of weights to the training data the part that it joins at the lowest cost."""
        to_parts = np.asarray(A @ self.member.toarray(), dtype=np.float64)
        degrees = to_parts.sum(axis=1, keepdims=True)
        # Volumes grow by the ties to the newcomer, wherever it goes, and by its own degree where it joins.
        sizes = self.sizes + to_parts if self.is_normalized else self.sizes
        weight = degrees if self.is_normalized else self.newcomer
        # The cost where it joins, minus that where it does not; so written that the smallest ties count.
        growth = np.expm1(-self.half_tau * np.log1p(weight / sizes))
        change = (self.cuts + degrees - to_parts) * growth + (degrees - 2 * to_parts)
        change = change / (2 * sizes) ** self.half_tau
        chosen: npt.NDArray[np.int32] = np.argmin(change, axis=1).astype(np.int32)
        return chosen


def cluster_qr(embedding: npt.NDArray[np.float64], n_clusters: int) -> npt.NDArray[np.int32]:
    """Parts from the rows of an embedding by a pivoted QR factorisation.

    The pivots are rows that point into different directions; the polar factor of these rows turns all others towards the
    axes, and each row joins the axis it leans to most. Direct, and without randomness.

    References
    ----------
    Damle, Minden and Ying, *Simple, direct and efficient multi-way spectral clustering*, Information and Inference 8,
    2019, <https://doi.org/10.1093/imaiai/iay008>.
    """
    if embedding.shape[1] < n_clusters - 1:
        raise ValueError(
            f"cluster_qr needs n_components of at least {n_clusters - 1}, but there are {embedding.shape[1]}"
        )
    scale = np.abs(embedding).max() or 1.0
    constant = np.full((len(embedding), 1), scale)
    rows = np.hstack([constant, embedding[:, : n_clusters - 1]])
    rows = rows / np.linalg.norm(rows, axis=0)
    pivots = qr(rows.T, mode="r", pivoting=True)[1][:n_clusters]
    turn = polar(rows[pivots].T)[0]
    return renumbered(np.argmax(np.abs(rows @ turn), axis=1).astype(np.int32))


def seed_of(random_state: Any) -> int:
    """The seed that a random state stands for; None is 0."""
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        return count("random_state", random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def threads_of(n_jobs: Any) -> int:
    """The number of threads that n_jobs stands for, by joblib's rules; 0 is all, and so is None."""
    if n_jobs is None or n_jobs == -1:
        return 0
    if n_jobs == 0:
        raise ValueError("n_jobs is 0, but it must be None, positive, or negative to leave cores free")
    return int(n_jobs) if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))
