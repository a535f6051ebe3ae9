"""The last fits: as exact as time allows, and the candidate as it was chosen."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.auto import TableEncoder
from mercer.auto.search.encodings import encode_rows
from mercer.auto.search.members import EXACT_ROWS, LEAST_CENTERS, MOST_CENTERS, LastFit, fit_member, plan_last_fit
from mercer.auto.search.trials import Trial
from mercer.kernels import Gaussian, Matern
from mercer.models.logistic import KernelLogisticRegression
from mercer.models.neighbors import KernelNeighborsRegressor
from mercer.models.ridge import KernelRidge

SECONDS = [0.0, 0.01, 0.1, 0.5, 1.0, 3.0, 8.0, 60.0, 3600.0]
KINDS = ["ridge", "logistic regression"]


def plan(kind, n, seconds, functions=1):
    return plan_last_fit(Matern(1.5), kind, n, 10, functions, 2**33, seconds)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 150, 1000, 5000, 50_000, 1_000_000])
def test_more_time_never_gives_less(kind, n):
    found = [plan(kind, n, seconds) for seconds in SECONDS]
    rows = [how.rows for how in found]
    exact = [n if how.centers is None else how.centers for how in found]
    assert rows == sorted(rows)
    assert exact == sorted(exact)
    for how in found:
        assert 1 <= how.rows <= n
        assert how.centers is None or 1 <= how.centers <= min(how.rows, MOST_CENTERS)
        assert bool(how.why) == (how.centers is not None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_rows_are_always_fitted_exactly(kind):
    assert plan(kind, LEAST_CENTERS, 0.0) == LastFit(None, LEAST_CENTERS)


def test_ridge_is_exact_where_time_allows():
    assert plan("ridge", EXACT_ROWS, 2.0) == LastFit(None, EXACT_ROWS)
    assert plan("ridge", EXACT_ROWS, 0.0).centers is not None
    assert plan("ridge", 1_000_000, 3600.0).centers is not None


def test_less_time_takes_fewer_centres_and_then_fewer_rows():
    plenty, little, none = (plan("logistic regression", 1_000_000, seconds) for seconds in (60.0, 20.0, 0.0))
    assert plenty.centers > little.centers >= LEAST_CENTERS
    assert plenty.rows == 1_000_000
    assert LEAST_CENTERS <= none.centers <= none.rows < 1_000_000


def test_more_functions_take_fewer_centres():
    counts = [plan("logistic regression", 20_000, 1.0, functions).centers for functions in (1, 5, 50)]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < counts[0]


@pytest.mark.parametrize(
    ("estimator", "labels"),
    [
        (KernelRidge(0.1, kernel=Gaussian(), fit_intercept=True), False),
        (KernelLogisticRegression(0.1, kernel=Gaussian()), True),
    ],
)
def test_a_member_is_the_estimator_fitted_to_encoded_rows(estimator, labels):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int) if labels else X[:, 0]
    encoder = TableEncoder().fit(X)
    view = encode_rows(encoder, "indicators", X, y[:, None])
    trial = Trial("one", estimator, encoder, Gaussian(), np.empty(0), extra={"a": 1})
    member = fit_member(trial, 0.5, LastFit(None, 80), view, y)
    assert (member.name, member.weight, member.extra, member.encoder) == ("one", 0.5, {"a": 1}, encoder)
    assert not hasattr(estimator, "n_features_in_")  # the trial stays as it was
    np.testing.assert_allclose(member.estimator.predict(view.rows), estimator.fit(view.rows, y).predict(view.rows))
    few = fit_member(trial, 0.5, LastFit(20, 80, "because"), view, y)
    assert few.is_approximate
    assert not member.is_approximate


def test_models_without_centres_are_fitted_as_they_are():
    X = np.random.default_rng(0).normal(size=(50, 2))
    encoder = TableEncoder().fit(X)
    model = KernelNeighborsRegressor(3, kernel=Gaussian())
    trial = Trial("neighbours", model, encoder, Gaussian(), np.empty(0))
    view = encode_rows(encoder, "indicators", X, X[:, :1])
    assert not fit_member(trial, 1.0, LastFit(20, 50, "because"), view, X[:, 0]).is_approximate
