"""The scikit-learn estimators."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.manifold import SpectralEmbedding
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import pairwise_distances, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from ccbcut import CCBCut, CCBEmbedding

ESTIMATORS = [
    CCBCut(),
    CCBCut(tau=2.0),
    CCBCut(method="hierarchical"),
    CCBCut(affinity="nearest_neighbors", n_neighbors=5, assign_labels="cluster_qr"),
    CCBEmbedding(),
    CCBEmbedding(tau=2.0),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.fixture
def blobs():
    return make_blobs(150, centers=[[0, 0], [6, 0], [0, 6]], cluster_std=0.7, random_state=0)


def problems():
    yield (
        make_blobs(150, centers=[[0, 0], [6, 0], [0, 6]], cluster_std=0.7, random_state=0)[0],
        3,
        {"gamma": 0.5},
    )
    rings = make_circles(240, factor=0.3, noise=0.03, random_state=0)[0]
    yield rings, 2, {"affinity": "nearest_neighbors", "n_neighbors": 8}
    moons = make_moons(200, noise=0.04, random_state=0)[0]
    yield moons, 2, {"affinity": "nearest_neighbors", "n_neighbors": 8}
    yield moons, 2, {"affinity": "rbf", "gamma": 40}


@pytest.mark.parametrize("assign_labels", ["kmeans", "discretize", "cluster_qr"])
@pytest.mark.parametrize("problem", range(4))
def test_at_tau_2_it_is_spectral_clustering(problem, assign_labels):
    X, k, params = list(problems())[problem]
    common = {"n_clusters": k, "assign_labels": assign_labels, "random_state": 0, **params}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rings are not connected, says scikit-learn
        theirs = SpectralClustering(**common).fit(X).labels_
    ours = CCBCut(tau=2, **common).fit(X)
    assert adjusted_rand_score(ours.labels_, theirs) > 0.99
    assert adjusted_rand_score(ours.predict(X), theirs) > 0.99


def test_small_clusters_stand_alone_at_small_tau():
    # Two cliques of 20 joined by weak edges, and one vertex that hangs on by still less.
    W = np.kron(np.eye(2), np.ones((20, 20)))
    W[:20, 20:] += 0.05 * np.eye(20)
    W[20:, :20] += 0.05 * np.eye(20)
    W = np.pad(W, (0, 1))
    W[0, 40] = W[40, 0] = 0.2
    fit = lambda tau: CCBCut(2, tau=tau, method="hierarchical", affinity="precomputed").fit_predict(W)  # noqa: E731
    assert np.array_equal(np.bincount(fit(2.0)), [21, 20])
    assert np.array_equal(np.bincount(fit(0.5)), [40, 1])


@pytest.mark.parametrize("method", ["multiway", "hierarchical"])
def test_attributes(blobs, method):
    X, truth = blobs
    model = CCBCut(3, gamma=0.5, method=method).fit(X)
    assert adjusted_rand_score(model.labels_, truth) == 1 and model.labels_.dtype == np.int32
    assert hasattr(model, "tree_") == (method == "hierarchical") == (not hasattr(model, "embedding_"))
    assert (
        model.cost_ > 0
        and model.n_iter_ == max(s["sweep"] for s in model.trace_)
        and model.n_features_in_ == 2
    )
    assert np.allclose(model.affinity_matrix_, rbf_kernel(X, gamma=0.5))
    assert model._parts.cost() == pytest.approx(model.cost_)
    model.set_params(method="multiway").fit(X)
    assert not hasattr(model, "tree_")


@pytest.mark.parametrize("affinity", ["rbf", "laplacian", "nearest_neighbors", "callable"])
@pytest.mark.parametrize("tau", [0.7, 2.0])
def test_new_samples_join_their_clusters(blobs, affinity, tau):
    X, truth = blobs
    kernel = (lambda a, b: float(np.exp(-0.5 * ((a - b) ** 2).sum()))) if affinity == "callable" else affinity
    model = CCBCut(3, tau=tau, affinity=kernel, gamma=0.5).fit(X[::2])
    assert adjusted_rand_score(model.predict(X[1::2]), truth[1::2]) == 1
    assert np.array_equal(model.predict(X[::2]), model.labels_)
    far = model.predict([[600.0, 0.0], [0.0, 600.0]])  # no weight reaches them
    near = model.predict([[6.0, 0.0], [0.0, 6.0]])
    assert np.array_equal(far, near)


def test_precomputed_affinities(blobs):
    X, _ = blobs
    expected = CCBCut(3, gamma=0.5).fit(X[:100])
    W = rbf_kernel(X, gamma=0.5)
    for form in (np.asarray, sp.csr_matrix, sp.csr_array):
        model = CCBCut(3, affinity="precomputed").fit(form(W[:100, :100]))
        assert np.array_equal(model.labels_, expected.labels_)
        assert np.array_equal(model.predict(form(W[100:, :100])), expected.predict(X[100:]))
    D = pairwise_distances(X)
    neighbours = CCBCut(3, affinity="nearest_neighbors").fit(X[:100])
    model = CCBCut(3, affinity="precomputed_nearest_neighbors").fit(D[:100, :100])
    assert np.array_equal(model.labels_, neighbours.labels_)
    assert np.array_equal(model.predict(D[100:, :100]), neighbours.predict(X[100:]))
    with pytest.raises(ValueError, match="square"):
        CCBCut(3, affinity="precomputed").fit(W[:5])
    lopsided = W[:100, :100].copy()
    lopsided[0, 1] *= 1.1
    with pytest.warns(UserWarning, match="not symmetric"):
        CCBCut(3, affinity="precomputed").fit(lopsided)


def test_predict_is_the_cheapest_choice(blobs):
    """The naive twin: put the newcomer everywhere, and price the whole graph."""
    import ccbcut

    X, _ = blobs
    X = X[:40]
    rng = np.random.default_rng(3)
    new = rng.uniform(-2, 8, (15, 2))
    for balance in ("normalized", "ratio"):
        model = CCBCut(3, gamma=0.2, tau=0.8, balance=balance).fit(X)
        chosen = model.predict(new)
        for x, choice in zip(new, chosen):
            W = rbf_kernel(np.vstack([X, x]), gamma=0.2)
            W[-1, -1] = 0  # its tie to itself is not known to predict, and has the same say everywhere
            prices = [ccbcut.cost(W, np.append(model.labels_, k), tau=0.8, balance=balance) for k in range(3)]
            assert choice == np.argmin(prices)


@pytest.mark.parametrize("balance", ["normalized", "ratio"])
@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors"])
def test_the_extension_returns_training_rows(blobs, balance, affinity):
    X, truth = blobs
    model = CCBEmbedding(
        2, tau=2, affinity=affinity, n_neighbors=60, gamma=0.1, balance=balance, eigen_tol=1e-10
    )
    Y = model.fit_transform(X)
    assert np.allclose(model.transform(X), Y, atol=1e-7)
    # A sample between two training samples is put near them.
    half = CCBEmbedding(2, tau=2, gamma=0.1, balance=balance).fit(X[::2])
    centres = [half.embedding_[truth[::2] == c].mean(0) for c in range(3)]
    nearest = np.argmin(np.linalg.norm(half.transform(X[1::2])[:, None] - centres, axis=2), axis=1)
    assert np.array_equal(nearest, truth[1::2])
    assert np.array_equal(half.transform([[1e4, 1e4]]), [[0.0, 0.0]])


def test_the_embedding_is_scikit_learns_at_tau_2(blobs):
    X, _ = blobs
    theirs = SpectralEmbedding(2, affinity="rbf", gamma=0.1, random_state=0).fit_transform(X)
    ours = CCBEmbedding(2, tau=2, gamma=0.1).fit_transform(X)
    angles = np.abs((theirs / np.linalg.norm(theirs, axis=0) * (ours / np.linalg.norm(ours, axis=0))).sum(0))
    assert np.allclose(angles, 1, atol=1e-4)


def test_below_tau_2_there_is_no_extension(blobs):
    model = CCBEmbedding(tau=1.5).fit(blobs[0])
    assert not hasattr(model, "transform") and hasattr(model, "fit_transform")
    with pytest.raises(AttributeError, match="transform needs tau=2|has no attribute"):
        model.transform(blobs[0])
    assert hasattr(CCBEmbedding(tau=2), "transform")


def test_pickling_and_cloning(blobs):
    X, _ = blobs
    for model in (
        CCBCut(3, gamma=0.5),
        CCBCut(3, method="hierarchical"),
        CCBCut(3, affinity="nearest_neighbors"),
    ):
        again = pickle.loads(pickle.dumps(model.fit(X)))
        assert np.array_equal(again.predict(X), model.predict(X)) and again.trace_ == model.trace_
        fresh = clone(model)
        assert fresh.get_params() == model.get_params()
        with pytest.raises(NotFittedError):
            fresh.predict(X)


def test_grid_search_over_tau(blobs):
    X, truth = blobs
    search = GridSearchCV(CCBCut(3, gamma=0.5), {"tau": [0.5, 1.0, 2.0]}, scoring="adjusted_rand_score", cv=3)
    search.fit(X, truth)
    assert search.best_score_ > 0.99 and len(search.cv_results_["params"]) == 3
    parallel = clone(search).set_params(n_jobs=2).fit(X, truth)
    assert np.array_equal(parallel.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])
    # With a precomputed affinity the rows and the columns are cut.
    pairwise = GridSearchCV(
        CCBCut(3, affinity="precomputed"),
        {"tau": [1.0]},
        scoring="adjusted_rand_score",
        cv=3,
        error_score="raise",
    )
    assert pairwise.fit(rbf_kernel(X, gamma=0.5), truth).best_score_ > 0.99


def test_pipelines(blobs):
    X, truth = blobs
    labels = make_pipeline(StandardScaler(), CCBCut(3, gamma=2)).fit_predict(X)
    assert adjusted_rand_score(labels, truth) == 1
    pipeline = make_pipeline(StandardScaler(), CCBEmbedding(2, tau=2).set_output(transform="default"))
    assert pipeline.fit(X[:100]).transform(X[100:]).shape == (50, 2)
    assert list(pipeline[-1].get_feature_names_out()) == ["ccbembedding0", "ccbembedding1"]


def test_the_seed_is_0_unless_given(blobs):
    X, _ = blobs
    labels = CCBCut(6).fit_predict(X)
    assert np.array_equal(CCBCut(6, random_state=0).fit_predict(X), labels)
    state = np.random.RandomState(5)
    assert len(CCBCut(6, random_state=state).fit_predict(X)) == len(X)
    for n_jobs in (1, 2, -1, -2):
        assert np.array_equal(CCBCut(6, n_jobs=n_jobs).fit_predict(X), labels)
    with pytest.raises(ValueError, match="n_jobs"):
        CCBCut(6, n_jobs=0).fit(X)


def test_a_warning_says_that_the_sweeps_were_not_enough(blobs):
    X = blobs[0]
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        CCBCut(3, gamma=0.1, max_iter=2, tol=0.0).fit(X)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        CCBEmbedding(max_iter=2, gamma=0.1, tol=0.0).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CCBCut(3, tau=2, max_iter=1).fit(X)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"n_clusters": 0}, "at least 1"),
        ({"tau": 0}, "tau is 0"),
        ({"balance": "equal"}, "balance"),
        ({"method": "both"}, "method"),
        ({"assign_labels": "best"}, "rounding"),
        ({"affinity": "sigmoid", "gamma": 1.0, "coef0": -9}, "not negative"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_invalid_parameters_are_named(blobs, params, says):
    with pytest.raises(ValueError, match=says):
        CCBCut(**params).fit(blobs[0])


def test_the_callers_dictionary_is_left_alone(blobs):
    params = {"scale": 0.5}
    model = CCBCut(3, affinity=lambda a, b, scale: np.exp(-scale * abs(a - b).sum()), kernel_params=params)
    model.fit(blobs[0][:60])
    assert params == {"scale": 0.5}


def test_without_scikit_learn_the_functions_still_work():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import ccbcut\n"
        "assert ccbcut.partition([[0, 1], [1, 0]], 2).labels.tolist() == [0, 1]\n"
        "assert ccbcut.cluster([[0], [1], [9], [10]], 2, n_neighbors=2).labels.tolist() == [0, 0, 1, 1]\n"
        "try:\n    ccbcut.CCBCut\nexcept ImportError as error:\n    assert 'scikit-learn>=1.6' in str(error)\n"
        "else:\n    raise SystemExit('no error')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
