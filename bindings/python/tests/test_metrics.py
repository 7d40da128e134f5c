"""Scores against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import rand_score

from ccbcut import metrics


def entropy(*labels):
    counts = np.unique(np.stack(labels), axis=1, return_counts=True)[1] / labels[0].size
    return -(counts * np.log2(counts)).sum()


def covering(found, truth):
    best = [
        max(
            ((found == u) & (truth == v)).sum() / ((found == u) | (truth == v)).sum()
            for u in np.unique(found)
        )
        for v in np.unique(truth)
    ]
    return np.average(best, weights=[(truth == v).sum() for v in np.unique(truth)])


def test_scores_follow_their_definitions():
    rng = np.random.default_rng(0)
    found = rng.integers(0, 5, (12, 10))
    truths = [rng.integers(0, 4, (12, 10)) for _ in range(3)]
    flat = found.ravel()
    for t in truths:
        assert metrics.covering(found, t) == pytest.approx(covering(found, t))
        assert metrics.pri(found, t) == pytest.approx(rand_score(t.ravel(), flat))
        information = 2 * entropy(flat, t.ravel()) - entropy(flat) - entropy(t.ravel())
        assert metrics.vi(found, t) == pytest.approx(information)
    for score in (metrics.covering, metrics.pri, metrics.vi):
        mean = np.mean([score(found, t) for t in truths])
        assert score(found, truths) == pytest.approx(mean)
        assert score(found, np.stack(truths)) == pytest.approx(mean)
        assert score(found.ravel(), [t.ravel() for t in truths]) == pytest.approx(mean)


def test_any_numbers_may_name_the_parts():
    found, truth = np.array([[0, 0, 1], [2, 2, 1]]), np.array([[1, 1, 7], [7, 7, 7]])
    expected = metrics.scores(found, truth)
    assert metrics.scores(found.astype(np.int64) * 10**12, truth.astype(np.uint8)) == expected
    assert metrics.scores(found.astype(float), truth) == expected
    assert metrics.vi(found, found + 3) == 0.0 and metrics.covering(found > 0, found > 0) == 1.0


def test_void_truth_is_not_counted_and_void_labels_cover_nothing():
    truth = np.array([0, 0, 1, 1, -1])
    assert metrics.covering([5, 5, 6, 6, 6], truth) == 1.0
    assert metrics.covering([0, 0, -1, -1, 0], truth) == 0.5
