"""The grid of a part: the scores of machines one by one, and pairs that are stopped for a reason."""

import numpy as np
import pytest
import sklearn.svm

from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Hinge
from mercer.solvers.machines.cells import grid
from mercer.solvers.machines.cells.choice import choose_pairs
from mercer.solvers.machines.cells.grid import PartScores, search_part, split_rows
from mercer.solvers.machines.cells.task import Task, decide, widen_pairs
from mercer.solvers.machines.problems import Priced
from mercer.solvers.machines.smo import SMO

RNG = np.random.default_rng(1)
N = 90
X = RNG.normal(size=(N, 2))
HEIGHT = X[:, 0] + X[:, 1] ** 2 + 0.5 * RNG.normal(size=N)
CS, SCALES = np.array([0.1, 1.0, 30.0, 300.0]), [0.3, 2.0]
ROWS = RNG.permutation(N)


def _task(classes):
    if classes == 0:
        return Task(Priced(EpsilonInsensitive(0.1), 1.0), HEIGHT, np.ones(N))
    codes = np.digitize(HEIGHT, np.quantile(HEIGHT, np.linspace(0, 1, classes + 1)[1:-1]))
    return Task(Priced(Hinge(), 1.0), codes, np.ones(N), np.ones(classes))


def _search(task, penalties=CS):
    solver, kernels = SMO(1e-5, memory=10**8), [Gaussian(scale) for scale in SCALES]
    seed = np.random.default_rng(5)
    return search_part(lambda: solver, kernels, X, task, ROWS, penalties, 3, seed, lambda *_: None)


@pytest.mark.parametrize("classes", [0, 2, 4])
def test_losses_are_those_of_scikit_learn_fold_by_fold(classes, monkeypatch):
    monkeypatch.setattr(grid, "Z", 1e9)  # nobody is stopped
    task = _task(classes)
    found, fold = _search(task), split_rows(task, ROWS, 3, np.random.default_rng(5))
    for i, C in enumerate(CS):
        for j, scale in enumerate(SCALES):
            for k in range(3):
                fit, held = ROWS[fold != k], ROWS[fold == k]
                kind = sklearn.svm.SVR if classes == 0 else sklearn.svm.SVC
                model = kind(C=C, gamma=0.5 / scale**2, tol=1e-6).fit(X[fit], task.targets[fit])
                guess = model.predict(X[held])
                loss = ((guess - HEIGHT[held]) ** 2).sum() if classes == 0 else (guess != task.targets[held]).sum()
                # A point on the boundary itself may fall on either side.
                np.testing.assert_allclose(found.loss[i, j, k], loss, rtol=2e-3, atol=0 if classes == 0 else 1)
    assert found.early == 0


def test_a_pair_is_stopped_only_if_it_is_behind_by_two_standard_errors():
    task = _task(2)
    found = _search(task)
    tried = found.weight > 0
    assert tried[..., 0].all()
    assert not tried[..., 2].all()
    assert not (tried[..., 1:] & ~tried[..., :-1]).any()  # what is stopped stays so
    best = np.unravel_index(found.loss[..., 0].argmin(), (*CS.shape, 2))
    behind = found.loss[..., 0] - found.loss[best][0]
    # At most as many points differ as both are wrong at, so that this many errors more are always too many.
    assert tried[..., 1][behind <= 0].all()
    assert not tried[..., 1][behind > 2 * np.sqrt(found.loss[..., 0] + found.loss[best][0])].any()


def test_a_limit_of_steps_is_counted():
    solver, kernels = SMO(1e-5, max_iter=1, memory=10**8), [Gaussian()]
    found = search_part(lambda: solver, kernels, X, _task(2), ROWS, CS[:1], 2, RNG, lambda *_: None)
    assert found.early == 2


def test_folds_are_of_equal_size_and_hold_all_classes():
    task = _task(4)
    fold = split_rows(task, ROWS, 5, RNG)
    assert set(np.bincount(fold)) == {N // 5}
    for k in range(5):
        assert set(np.bincount(task.targets[ROWS[fold == k]], minlength=4)) <= {4, 5}


def _scores(loss, weight=100.0, folds=2):
    loss = np.repeat(np.asarray(loss, dtype=float)[..., None], folds, axis=-1)
    return PartScores(loss, loss, np.full(loss.shape, weight), 0)


def test_a_cell_leaves_the_common_pair_only_for_one_that_is_clearly_better():
    common = [_scores([[10.0, 30.0]]) for _ in range(3)]
    alike, other = _scores([[20.0, 18.0]]), _scores([[40.0, 10.0]])
    found = choose_pairs([*common, alike, other], [0, 0, 0, 1, 2], 3, (1, 2))
    assert found.best.tolist() == [0, 0]
    assert found.pairs.tolist() == [[0, 0], [0, 0], [0, 1]]
    assert (found.fits, found.stopped) == (20, 0)


def test_folds_that_a_pair_was_stopped_before_are_estimated_by_those_that_it_was_tried_in():
    part = _scores([[10.0, 30.0]])
    part.weight[0, 1, 1] = part.loss[0, 1, 1] = 0.0
    found = choose_pairs([part], [0], 1, (1, 2))
    np.testing.assert_allclose(found.means, [[0.1, 0.3]])
    assert np.isnan(found.folds[0, 1, 1])
    assert found.stopped == 1


@pytest.mark.parametrize("count", [2, 3, 4])
def test_the_winner_among_some_classes_wins_among_all(count):
    for size in range(1, count + 1):
        classes = np.sort(RNG.choice(count, size=size, replace=False))
        values = RNG.normal(size=(50, size * (size - 1) // 2))
        wide = widen_pairs(classes, values, count)
        assert np.array_equal(decide(np.arange(count), wide), decide(classes, values))
