"""The perceptron, block by block, against point after point."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import _native
from mercer.gram import Gram
from mercer.kernels import Custom, Gaussian, Polynomial
from mercer.solvers.perceptron import walks as _perceptron_walks
from mercer.solvers.perceptron.solver import Kept, Perceptron


class Pointwise:
    """The textbook, one point and one kernel value after the other; functions after each point are kept."""

    def __init__(self, K, outputs, bias=1.0, budget=None, forget="oldest"):
        self.K, self.bias, self.budget, self.forget = K + bias, bias, budget, forget
        self.coef = np.zeros((len(K), outputs))
        self.after, self.mistakes, self.entered = [], [], []

    def visit_all(self, order, label, weight):
        count = 0
        for i in order:
            values = self.K[i] @ self.coef
            step = np.zeros_like(values)
            if len(values) == 1:
                sign = 1 if label[i] == 1 else -1
                if sign * values[0] <= 0:
                    step[0] = sign
            else:
                others = [q for q in range(len(values)) if q != label[i]]
                best = others[int(np.argmax(values[others]))]
                if values[label[i]] <= values[best]:
                    step[label[i]], step[best] = 1, -1
            if step.any():
                count += 1
                self.coef[i] += weight[i] * step
                self._make_room(i)
            self.after.append(self.coef.copy())
        self.mistakes.append(count)
        return count

    def _make_room(self, newest):
        if newest not in self.entered:
            self.entered.append(newest)
        if self.budget is None or len(self.entered) <= self.budget:
            return
        leaving = [i for i in self.entered if i != newest]
        if self.forget == "smallest":
            leaving.sort(key=lambda i: np.abs(self.coef[i]).sum())  # stable: of equals the oldest
        self.coef[leaving[0]] = 0
        self.entered.remove(leaving[0])


def whole_numbers(n, classes, seed):
    """Points whose polynomial kernel has no rounding, so that ties are ties in any order of the sums."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, 3)).astype(float)
    return X, rng.integers(classes, size=n), rng.integers(1, 4, size=n) / 2, rng


KERNEL = Polynomial(degree=2, offset=1.0)
SLOW = Custom(lambda a, b: float((a @ b + 1) ** 2))  # the same, which the compiled core does not know


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(1, 40),
    classes=st.integers(2, 4),
    way=st.sampled_from(["dense", "pool", "sweep"]),
    kernel=st.sampled_from([KERNEL, SLOW]),
    block=st.integers(1, 50),
    intercept=st.booleans(),
    epochs=st.integers(1, 4),
    seed=st.integers(0, 2**16),
)
def test_blocks_of_any_size_are_the_same_as_point_after_point(n, classes, way, kernel, block, intercept, epochs, seed):
    X, label, weight, rng = whole_numbers(n, classes, seed)
    orders = [rng.permutation(n) for _ in range(epochs)]
    outputs = 1 if classes == 2 else classes
    reference = Pointwise(KERNEL(X), outputs, float(intercept))
    for order in orders:
        if reference.visit_all(order, label, weight) == 0:
            break
    again = iter(orders)
    solver = Perceptron(kernel, intercept, way=way, block=block)
    found = solver.learn(Kept(outputs), X, label, weight, epochs, lambda: next(again))

    assert found.mistakes == reference.mistakes
    assert found.converged == (reference.mistakes[-1] == 0)
    kept = np.flatnonzero(reference.coef.any(axis=1))
    np.testing.assert_array_equal(found.kept.coef, reference.coef[kept])
    np.testing.assert_array_equal(found.kept.vectors, X[kept])
    assert found.kept.seen == len(reference.after)
    mean = np.mean(reference.after, axis=0)
    np.testing.assert_allclose(found.kept.average(), mean[kept], atol=1e-12)

    values = np.array([reference.K @ coef for coef in reference.after])  # (times, points, outputs)
    if outputs == 1:
        votes = np.sign(values).mean(axis=0)
    else:
        votes = (values.argmax(axis=2)[:, :, None] == np.arange(outputs)).mean(axis=0)
    np.testing.assert_allclose(found.kept.vote(KERNEL, X, intercept, 2**30), votes, atol=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("block", [13, 64, 512])
def test_halves_that_tell_each_other_are_the_same_as_point_after_point(classes, block):
    X, label, weight, rng = whole_numbers(700, classes, 5)
    orders = [rng.permutation(len(X)) for _ in range(2)]
    reference = Pointwise(KERNEL(X), 1 if classes == 2 else classes)
    for order in orders:
        reference.visit_all(order, label, weight)
    again = iter(orders)
    solver = Perceptron(KERNEL, way="sweep", block=block)
    found = solver.learn(Kept(reference.coef.shape[1]), X, label, weight, 2, lambda: next(again))
    assert found.mistakes == reference.mistakes
    kept = np.flatnonzero(reference.coef.any(axis=1))
    np.testing.assert_array_equal(found.kept.coef, reference.coef[kept])


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(1, 40),
    classes=st.integers(2, 4),
    way=st.sampled_from(["dense", "pool"]),
    block=st.integers(1, 50),
    budget=st.integers(1, 12),
    forget=st.sampled_from(["oldest", "smallest"]),
    seed=st.integers(0, 2**16),
)
def test_with_a_budget_the_right_vector_leaves(n, classes, way, block, budget, forget, seed):
    X, label, weight, rng = whole_numbers(n, classes, seed)
    orders = [rng.permutation(n) for _ in range(3)]
    outputs = 1 if classes == 2 else classes
    reference = Pointwise(KERNEL(X), outputs, 1.0, budget, forget)
    for order in orders:
        if reference.visit_all(order, label, weight) == 0:
            break
    again = iter(orders)
    solver = Perceptron(KERNEL, True, budget, forget, way=way, block=block)
    found = solver.learn(Kept(outputs), X, label, weight, 3, lambda: next(again))
    assert found.mistakes == reference.mistakes
    assert len(found.kept.coef) <= budget
    kept = np.sort(reference.entered)
    np.testing.assert_array_equal(found.kept.coef, reference.coef[kept])
    np.testing.assert_array_equal(found.kept.vectors, X[kept])


@settings(max_examples=40, deadline=None)
@given(
    way=st.sampled_from(["dense", "pool", "sweep"]),
    cuts=st.lists(st.integers(1, 29), max_size=4, unique=True),
    classes=st.integers(2, 3),
    budget=st.sampled_from([None, 3]),
    seed=st.integers(0, 2**16),
)
def test_pieces_one_after_the_other_are_one_pass(way, cuts, classes, budget, seed):
    X, label, weight, _ = whole_numbers(30, classes, seed)
    outputs = 1 if classes == 2 else classes
    way = "pool" if way == "sweep" and budget else way
    solver = Perceptron(KERNEL, budget=budget, way=way, block=4)
    once = solver.learn(Kept(outputs), X, label, weight)
    pieces, mistakes = Kept(outputs), 0
    for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), 30], strict=True):
        found = solver.learn(pieces, X[start:stop], label[start:stop], weight[start:stop])
        pieces, mistakes = found.kept, mistakes + sum(found.mistakes)
    assert mistakes == sum(once.mistakes)
    for name in ("vectors", "coef", "moment", "entered", "seen"):
        np.testing.assert_array_equal(getattr(pieces, name), getattr(once.kept, name))
    for name in ("vector", "label", "wrong", "step", "time"):
        np.testing.assert_array_equal(getattr(pieces.log, name), getattr(once.kept.log, name))


def test_learning_leaves_what_was_kept_before_as_it_was():
    X, label, weight, _ = whole_numbers(30, 2, 0)
    solver = Perceptron(KERNEL, budget=4)
    first = solver.learn(Kept(1), X[:15], label[:15], weight[:15]).kept
    before = [first.coef.copy(), first.moment.copy(), first.entered.copy()]
    solver.learn(first, X[15:], label[15:], weight[15:])
    for old, now in zip(before, (first.coef, first.moment, first.entered), strict=True):
        np.testing.assert_array_equal(old, now)


def test_a_sweep_evaluates_each_pair_of_a_mistake_and_a_point_once(monkeypatch):
    X, label, weight, _ = whole_numbers(203, 2, 1)
    added, add_rows, visits = [], Gram.add_rows, _perceptron_walks._Epoch.visit

    def counted(self, index, weights, out, columns):
        added.append(len(index) * (columns.stop - columns.start))
        add_rows(self, index, weights, out, columns)

    def visited(self, rows):
        visits(self, rows)
        added.append(int((self.wrong[rows] >= 0).sum()) * (rows.stop - rows.start))

    monkeypatch.setattr(Gram, "add_rows", counted)
    monkeypatch.setattr(_perceptron_walks._Epoch, "visit", visited)
    found = Perceptron(KERNEL, way="sweep", block=8).learn(Kept(1), X, label, weight, 4)
    # After the last epoch nobody asks for what its mistakes do to points that came before.
    assert sum(found.mistakes[:-1]) * 203 < sum(added) < sum(found.mistakes) * 203


def test_an_epoch_without_mistakes_in_single_precision_is_confirmed_in_double():
    X, label, weight, _ = whole_numbers(8, 2, 0)

    class Careless(_perceptron_walks.Sweep):
        def visit_all(self, order, clock, last):
            if self._gram.dtype == np.float32:
                return np.full(len(order), -1)  # as if rounding had hidden every mistake
            return super().visit_all(order, clock, last)

    slate = Perceptron(KERNEL)._fill_slate(Kept(1), X, label, weight)
    walk = Careless(slate, 4, KERNEL.diag(X))
    assert (walk.visit_all(np.arange(8), 0, False) == -1).all()
    assert not walk.confirm()
    assert (walk.visit_all(np.arange(8), 8, False) >= 0).any()
    assert walk.confirm()  # nothing is more precise


def test_kernel_values_beyond_single_precision_are_swept_in_double():
    X = np.array([[1e20], [-1e20]])
    found = Perceptron(Polynomial(degree=1, offset=0.0), False, way="sweep").learn(
        Kept(1), X, np.array([1, 0]), np.ones(2), 3
    )
    assert found.mistakes == [1, 0]
    assert found.radius == pytest.approx(1e20)
    assert found.margin == pytest.approx(1e20)


def test_the_plan_follows_sizes_and_kernel():
    small, large, strings = np.zeros((100, 2)), np.zeros((5000, 2)), ["a"] * 5000
    objects = Custom(lambda a, b: float(a == b))
    assert Perceptron(Gaussian()).plan(Kept(1), small, 10).solver == "dense"
    assert Perceptron(Gaussian()).plan(Kept(1), large, 10).solver == "sweep"
    assert Perceptron(Gaussian(), budget=9).plan(Kept(1), large, 10).solver == "pool"
    assert Perceptron(objects).plan(Kept(1), strings, 10).solver == "dense"  # each value is computed once
    assert Perceptron(objects).plan(Kept(1), strings, 1).solver == "pool"
    assert Perceptron(objects, memory=10**8).plan(Kept(1), strings, 10).solver == "sweep"
    assert Perceptron(Gaussian(), memory=10**4).plan(Kept(1), small, 10).solver == "sweep"
    assert "asked for" in Perceptron(Gaussian(), way="pool").plan(Kept(1), small, 1).reason
    with pytest.raises(ValueError, match="cannot let vectors leave"):
        Perceptron(Gaussian(), budget=9, way="sweep").plan(Kept(1), small, 1)


def test_blocks_shrink_to_fit_the_memory():
    solver = Perceptron(Gaussian(), budget=1000, memory=10**5, way="pool")
    plan = solver.plan(Kept(1), np.zeros((5000, 2)), 1)
    assert plan.memory <= 10**5


def arguments(**changed):
    """Arguments of the native loop for two points and one function."""
    given = {
        "K": np.eye(2), "order": np.arange(2), "place": np.arange(2), "label": np.array([1, 0]), "weight": np.ones(2),
        "scores": np.zeros((1, 2)), "coef": np.zeros((2, 1)), "moment": np.zeros((2, 1)), "entered": np.full(2, -1),
        "wrong": np.zeros(2, dtype=np.int64), "clock": 0, "bias": 0.0, "budget": 0, "smallest": False,
    }  # fmt: skip
    return given | changed


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"K": np.eye(2, dtype=np.int64)}, TypeError, "K must have dtype float32 or float64"),
        ({"label": np.array([2, 0])}, ValueError, "label must lie in 0..1, got 2"),
        ({"order": np.array([0, 5])}, ValueError, "order must lie in 0..1, got 5"),
        ({"place": np.array([0, -1])}, ValueError, "place must lie in 0..1, got -1"),
        ({"weight": np.ones(3)}, ValueError, r"weight must have shape \(2,\), got \(3,\)"),
        ({"coef": np.zeros((2, 2))}, ValueError, r"coef must have shape \(2, 1\)"),
        ({"scores": np.zeros((0, 2))}, ValueError, "at least one row"),
        ({"budget": -1}, ValueError, "budget must not be negative"),
    ],
)
def test_the_native_loop_refuses_what_does_not_fit(changed, error, message):
    assert _native.perceptron(**arguments()) == 2
    with pytest.raises(error, match=message):
        _native.perceptron(**arguments(**changed))


@pytest.mark.parametrize("isa", _native.isas())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_swept_range_leaves_other_points_alone(dtype, isa):
    X, label, weight, _ = whole_numbers(500, 3, 2)
    K = X @ X.T
    plan = _native.Plan([("dot", X.astype(dtype), None)], [], [], [], isa)
    values, wrong = np.zeros((3, 500)), np.full(500, 7)
    coef, moment, entered = np.zeros((500, 3)), np.zeros((270, 3)), np.full(270, -1)
    plan.perceptron(label, weight, values, coef[150:420], moment, entered, wrong, 1000, 0.5, 150, 420, 2)
    outside = np.r_[:150, 420:500]
    assert (wrong[outside] == 7).all()
    mistakes = np.flatnonzero(wrong[150:420] >= 0)
    steps = np.zeros((270, 3))
    steps[mistakes, label[150 + mistakes]], steps[mistakes, wrong[150 + mistakes]] = 1, -1
    np.testing.assert_array_equal(coef[150:420], steps * weight[150:420, None])
    times = np.where(wrong[150:420] >= 0, 1001 + np.arange(270), -1)
    np.testing.assert_array_equal(entered, times)
    np.testing.assert_array_equal(moment, coef[150:420] * times[:, None])
    expected = coef.T @ (K + 0.5)
    np.testing.assert_array_equal(values[:, 150:420], expected[:, 150:420])
    assert not values[:, outside].any()


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"label": np.array([0, 2])}, ValueError, "label must lie in 0..1, got 2"),
        ({"weight": np.ones(3)}, ValueError, r"weight must have shape \(2,\), got \(3,\)"),
        ({"values": np.zeros((0, 2))}, ValueError, "at least one row"),
        ({"values": np.zeros((1, 3))}, ValueError, r"values must have shape \(1, 2\)"),
        ({"wrong": np.zeros(2)}, TypeError, "wrong must have dtype int64"),
        ({"coef": np.zeros((3, 1))}, ValueError, r"coef must have shape \(2, 1\)"),
        ({"stop": 3}, ValueError, "got 0 and 3"),
        ({"threads": 0}, ValueError, "threads must lie in"),
    ],
)
def test_the_native_sweep_refuses_what_does_not_fit(changed, error, message):
    given = {
        "label": np.array([1, 0]), "weight": np.ones(2), "values": np.zeros((1, 2)),
        "coef": np.zeros((2, 1)), "moment": np.zeros((2, 1)), "entered": np.full(2, -1),
        "wrong": np.zeros(2, dtype=np.int64), "clock": 0, "bias": 0.0, "start": 0, "stop": 2, "threads": 1,
    }  # fmt: skip
    _native.Plan([("dot", np.eye(2), None)], [], [], []).perceptron(**given)
    assert (given["wrong"] == [0, 1]).all()
    with pytest.raises(error, match=message):
        _native.Plan([("dot", np.eye(2), None)], [], [], []).perceptron(**given | changed)
    with pytest.raises(ValueError, match="B = None"):
        _native.Plan([("dot", np.eye(2), np.eye(2))], [], [], []).perceptron(**given)


def test_the_native_vote_refuses_what_does_not_fit():
    one = np.zeros(1, dtype=np.int64)
    with pytest.raises(ValueError, match=r"vector must lie in 0..1, got 7"):
        _native.perceptron_votes(np.eye(2), one + 7, one, one, np.ones(1), np.ones(1), 0.0, np.zeros((2, 1)))
    with pytest.raises(ValueError, match=r"votes must have shape \(2, 1\)"):
        _native.perceptron_votes(np.eye(2), one, one, one, np.ones(1), np.ones(1), 0.0, np.zeros((3, 1)))
