"""A fit that is computed later is the one of the points that were there when it was postponed."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer.kernels import Gaussian
from mercer.solvers.base import Problem
from mercer.solvers.ridge.fit import fit_ridge
from mercer.solvers.ridge.online import OnlineRidge
from mercer.solvers.ridge.postponed import PostponedFit

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 2))
Y = np.column_stack([np.sin(3.0 * X[:, 0]) + 2.0, X[:, 1] ** 2])
W = RNG.uniform(0.2, 3.0, 50)


def _start(n, **options):
    online = OnlineRidge(Gaussian(), 0.1, memory=2**30, **options)
    online.add(X[:n], Y[:n], W[:n])
    return online


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_it_is_that_of_its_points_when_others_have_come_or_gone(averaged, fit_intercept):
    online = _start(30, averaged=averaged, fit_intercept=fit_intercept)
    early = PostponedFit(online, flat=False)
    online.add(X[30:], Y[30:], W[30:])
    online.remove([3])
    late = PostponedFit(online, flat=False)
    for postponed, there in ((late, np.delete(np.arange(50), 3)), (early, np.arange(30))):
        penalty = np.full(2, 0.1 * (W[there].sum() if averaged else 1.0))
        refit = fit_ridge(Problem(Gaussian(), X[there], Y[there], W[there], fit_intercept), penalty, "cholesky")
        np.testing.assert_allclose(postponed.function(X), refit.expansion(X), rtol=0, atol=1e-10)
        np.testing.assert_allclose(postponed.record.objective, refit.objective, rtol=1e-10)
        np.testing.assert_array_equal(postponed.problem_on_host.X, X[there])


def test_the_function_stays_the_same_object_when_its_evidence_is_asked_for():
    online = _start(30, fit_intercept=True)
    postponed = PostponedFit(online, flat=False)
    assert postponed.latest is postponed is online.record
    function = postponed.function
    assert postponed.latest is postponed  # a function needs no product with K
    assert postponed.record.expansion is function is postponed.function
    assert postponed.latest is postponed.record is online.record


def test_a_factor_proves_no_more_than_is_so():
    for alpha in np.logspace(-14, 2, 17):
        online = OnlineRidge(Gaussian(5.0), alpha, fit_intercept=True, memory=2**30)
        online.add(X, Y, W)
        solved = online.substitute()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert online.finish(flat=False, solved=solved).converged or not online.proves(solved)
        if alpha == 1.0:
            assert online.proves(solved)
            online.remove([7])
            assert not online.proves(online.substitute())  # until it is made anew


def test_what_has_not_converged_is_said_with_the_function_already():
    online = OnlineRidge(1e6 * Gaussian(50.0), 1e-10, memory=2**30)
    online.add(X[:6], Y[:6])
    online._factor._both[3, 1] *= 1.1  # which no rounding does
    online._refactor = lambda: None
    online._turned = True
    with pytest.warns(ConvergenceWarning, match=r"somebody \(cholesky\) has not converged"):
        PostponedFit(online, flat=False, name="somebody").function([[0.0, 0.0]])


def test_files_do_without():
    assert pickle.loads(pickle.dumps(PostponedFit(_start(5), flat=False))) is None


def test_a_factor_whose_making_was_interrupted_is_not_read(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    online = OnlineRidge(Gaussian(), 0.1, memory=2**30)
    online.add(X, X[:, :1])
    online.remove([0])  # so that the solution has to be judged
    postponed = PostponedFit(online, flat=True)

    def interrupt(shift):
        online._factor._square[:] = 7.0
        raise MemoryError

    monkeypatch.setattr(online._factor, "refactor", interrupt)
    monkeypatch.setattr(online, "_measure_wear", lambda *given: 1.0)
    with pytest.raises(MemoryError):
        _ = postponed.record
    truth = np.linalg.solve(Gaussian()(X[1:]) + 0.1 * np.eye(11), X[1:, 0])
    np.testing.assert_allclose(postponed.record.expansion.coef, truth, atol=1e-10)
