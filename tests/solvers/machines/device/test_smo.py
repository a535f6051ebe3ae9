"""Support vector machines on a torch device solve the same problems as on the host, to the same tolerance."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.budget import MemoryBudgetError
from mercer.arrays.place import Place
from mercer.arrays.tensors import DeviceError
from mercer.kernels import Chi2, Custom, Gaussian, Laplacian, Linear, Matern, Polynomial, Spectrum
from mercer.losses import EpsilonInsensitive, Hinge
from mercer.models import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.solvers.machines.problems import Priced, SharedMargin, SharedRegion, SharedTube
from mercer.solvers.machines.rounds import Course
from mercer.solvers.machines.smo import SMO

torch = pytest.importorskip("torch")

from mercer.solvers.machines.device.batch import BatchEntry  # noqa: E402
from mercer.solvers.machines.device.smo import cut_batches, order_neighbours, solve_on_device  # noqa: E402

pytestmark = pytest.mark.torch

CPU = torch.device("cpu")
HERE = Place.find(CPU, None)
KERNEL = Gaussian(1.0)
FINE = 1e-6


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    y = np.digitize(X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=240), [-0.4, 0.4])
    return X, y, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=240), rng.normal(size=(40, 3))


def problems(X):
    """One problem of every machine, on all points or a part of them."""
    n = len(X)
    everything, ones = np.arange(n), np.ones(n)
    signs = np.where(X[:, 0] + 0.3 * X[:, 1] > 0.1, 1.0, -1.0)
    sorted_ones = np.argsort(-signs, kind="stable")
    few = np.flatnonzero(np.arange(n) % 3 > 0)
    return {
        "c_svc": (everything, Priced(Hinge(), 10.0).problem(signs, ones)),
        "part": (few, Priced(Hinge(), 3.0).problem(signs[few], ones[few])),
        "epsilon_svr": (everything, Priced(EpsilonInsensitive(0.1), 5.0).problem(X[:, 0] ** 2, ones)),
        "nu_svc": (sorted_ones, SharedMargin(0.3).problem(signs[sorted_ones], ones)),
        "nu_svr": (everything, SharedTube(1.0, 0.4).problem(X[:, 1] ** 2, ones)),
        "one_class": (everything, SharedRegion(0.3).problem(ones, ones)),
    }


# -- the solver -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["c_svc", "epsilon_svr", "nu_svc", "nu_svr", "one_class"])
def test_problems_that_are_equal_up_to_scale_take_the_same_steps(data, name):
    X, (index, problem) = data[0], problems(data[0])[name]
    s, c = 2.0**-40, 2.0**25  # of K and of the coefficients: slopes change by both
    other = problem.scaled(1 / (s * c), 1 / c)
    (one,) = solve_on_device(SMO(), HERE, KERNEL, X, [(index, problem)])
    (two,) = solve_on_device(SMO(), HERE, s * KERNEL, X, [(index, other)])
    assert one.converged
    assert one.n_iter == two.n_iter
    assert one.relative_gap == two.relative_gap
    np.testing.assert_array_equal(c * one.beta, two.beta)


def test_hulls_that_meet_are_never_certified(data):
    X = data[0]
    signs = np.repeat([1.0, -1.0], len(X) // 2)
    problem = SharedMargin(0.5).problem(signs, np.ones(len(X)))
    (found,) = solve_on_device(SMO(), HERE, Linear(), X, [(np.arange(len(X)), problem)])
    assert not found.converged
    assert found.n_iter < 10_000


@pytest.mark.parametrize("name", ["c_svc", "part", "epsilon_svr", "nu_svc", "nu_svr", "one_class"])
@pytest.mark.parametrize("size", [32, None])
def test_a_problem_has_the_optimum_of_the_host(data, name, size):
    X, part = data[0], problems(data[0])[name]
    solver = SMO(tol=FINE)
    (ours,) = solve_on_device(solver, HERE, KERNEL, X, [part], size=size)
    (host,) = solver.solve_many(KERNEL, X, [part])
    assert ours.problem is part[1]
    assert ours.converged
    assert ours.violation <= FINE
    assert ours.dual == pytest.approx(host.dual, rel=1e-6, abs=1e-7)
    assert ours.duality_gap <= 10 * max(host.duality_gap, len(X) * FINE)
    assert ((part[1].lower <= ours.beta) & (ours.beta <= part[1].upper)).all()
    for group in part[1].groups:
        assert ours.beta[group].sum() == pytest.approx(part[1].start[group].sum(), abs=1e-9)
    K = KERNEL(X)[np.ix_(part[0], part[0])]
    K = np.tile(K, (2, 2)) if part[1].n > len(part[0]) else K
    np.testing.assert_allclose(ours.values, K @ ours.beta, atol=1e-7)


def test_problems_solved_together_are_solved_as_they_are_alone(data):
    X, parts = data[0], problems(data[0])
    solver = SMO(tol=FINE)
    together = solve_on_device(solver, HERE, KERNEL, X, list(parts.values()), size=64)
    for part, found in zip(parts.values(), together, strict=True):
        (alone,) = solve_on_device(solver, HERE, KERNEL, X, [part], size=64)
        assert found.dual == pytest.approx(alone.dual, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("memory", [2**18, 2**20])
def test_rows_are_computed_when_the_matrix_does_not_fit(data, memory):
    X, parts = data[0], list(problems(data[0]).values())
    assert 8 * len(X) ** 2 > 0.6 * 2**18
    found = solve_on_device(SMO(tol=1e-4), Place(CPU, memory), KERNEL, X, parts)
    stored = solve_on_device(SMO(tol=1e-4), HERE, KERNEL, X, parts)
    assert all(solution.violation <= 1e-4 for solution in found)
    np.testing.assert_allclose([s.dual for s in found], [s.dual for s in stored], rtol=1e-3, atol=1e-4)


def test_too_little_memory_is_refused_with_the_number(data):
    with pytest.raises(MemoryBudgetError, match="give more memory or fewer points"):
        solve_on_device(SMO(), Place(CPU, 20_000), KERNEL, data[0], [problems(data[0])["c_svc"]])


def test_kernel_values_become_float64_where_float32_is_too_coarse(data):
    X, signs = data[0], np.where(data[0][:, 0] > 0, 1.0, -1.0)
    part = np.arange(len(X)), Priced(Hinge(), 1e4).problem(signs, np.ones(len(X)))
    (ours,) = solve_on_device(SMO(tol=1e-3), HERE, KERNEL, X.astype(np.float32), [part])
    (host,) = SMO(tol=1e-3).solve_many(KERNEL, X.astype(np.float32), [part])
    assert ours.violation <= 1e-3
    assert ours.dual == pytest.approx(host.dual, rel=1e-5)


def test_steps_are_limited_for_each_problem(data):
    parts = [problems(data[0])[name] for name in ("c_svc", "epsilon_svr")]
    for found in solve_on_device(SMO(max_iter=7), HERE, KERNEL, data[0], parts):
        assert found.n_iter == 7
        assert not found.converged
    for found in solve_on_device(SMO(max_time=1e-9), HERE, KERNEL, data[0], parts):
        assert not found.converged


def test_points_of_the_same_problems_areorder_neighbours():
    codes = np.array([2, 0, 1, 0, 2, 1, 0])
    parts = [np.flatnonzero((codes == i) | (codes == j)) for i, j in ((0, 1), (0, 2), (1, 2))]
    order, places = order_neighbours(parts, 7)
    assert np.count_nonzero(np.diff(codes[order])) == 2
    assert (order[places] == np.arange(7)).all()


def test_batches_stay_within_their_memory(data):
    entries = [
        BatchEntry(i, index, Course(SMO(), problem, 1.0))
        for i, (index, problem) in enumerate(problems(data[0]).values())
    ]
    batches = list(cut_batches(entries, 32, 4, 2 * (4 * 32**2 + 400 * 480)))
    assert sorted(entry.number for batch in batches for entry in batch) == list(range(len(entries)))
    assert len(batches) > 1
    assert [len(batch) for batch in cut_batches(entries, 32, 4, 2**40, 4)] == [4, 2]


# -- the machines -----------------------------------------------------------------------------------------------------


def same(ours, host, X, new, *, classes=True):
    """Both are certified, and agree in every number that tells."""
    assert ours.converged_
    assert ours.violation_ <= ours.tol
    assert "on cpu" in str(ours.plan_)
    for name in ("dual_coef_", "intercept_", "support_", "n_support_"):
        assert isinstance(getattr(ours, name), np.ndarray)
    np.testing.assert_allclose(ours.intercept_, host.intercept_, atol=1e-3)
    np.testing.assert_allclose(ours._values(new), host._values(new), atol=1e-3)
    assert (ours.predict(new) == host.predict(new)).all() or not classes
    assert ours.duality_gap_.absolute <= 10 * max(host.duality_gap_.absolute, len(X) * ours.tol)
    assert ours.objective_ == pytest.approx(host.objective_, rel=2 * ours.tol)
    np.testing.assert_allclose(ours.alpha_.sum(axis=0), host.alpha_.sum(axis=0), rtol=0.02)
    for chosen in ours.margin_set_ if isinstance(ours.margin_set_, list) else [ours.margin_set_]:
        assert set(chosen) <= set(ours.support_)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"class_weight": "balanced"},
        {"kernel": "poly", "degree": 2, "coef0": 1.0},
        {"kernel": Matern(1.0) + Polynomial(2)},
        {"kernel": Laplacian(2.0)},
        {"kernel": Custom(lambda a, b: float(np.exp(-abs(a[0] - b[0]))))},
        {"gamma": "auto", "decision_function_shape": "ovo", "C": 20.0},
        {"break_ties": True},
    ],
    ids=["default", "balanced", "poly", "sum", "laplacian", "custom", "ovo", "ties"],
)
@pytest.mark.parametrize("count", [2, 3])
def test_classifiers_agree_with_the_host(data, options, count):
    X, y, _, new = data
    y = np.minimum(y, count - 1)
    weights = np.where(np.arange(len(X)) % 5 == 0, 0.0, np.linspace(0.5, 2.0, len(X)))
    for given in (None, weights):
        host, ours = (SVC(tol=1e-5, **options, device=device).fit(X, y, given) for device in (None, "cpu"))
        same(ours, host, X, new)
        assert ours.decision_function(new).shape == host.decision_function(new).shape


@pytest.mark.parametrize(
    "model", [SVR(C=5.0, tol=1e-5), NuSVR(C=5.0, tol=1e-5), NuSVC(nu=0.2, tol=1e-6), OneClassSVM(nu=0.3, tol=1e-6)]
)
def test_the_other_machines_agree_with_the_host(data, model):
    X, y, t, new = data
    target = {"NuSVC": y, "OneClassSVM": None}.get(type(model).__name__, t)
    host = type(model)(**model.get_params()).fit(X, target)
    ours = type(model)(**model.get_params()).set_params(device="cpu").fit(X, target)
    same(ours, host, X, new, classes=False)
    np.testing.assert_allclose(ours.predict(new), host.predict(new), atol=1e-3)
    assert isinstance(ours.predict(new), np.ndarray)


def test_labels_may_be_texts(data):
    X, y, _, new = data
    names = np.array(["left", "middle", "right"])[y]
    assert set(SVC(device="cpu").fit(X, names).predict(new)) <= set(names)
    assert isinstance(SVC().fit(torch.tensor(X), names).predict(torch.tensor(new)), np.ndarray)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_tensors_give_tensors(data, dtype):
    X, y, t, new = data
    X, new = X.astype(dtype), new.astype(dtype)
    Xt, newt = torch.tensor(X), torch.tensor(new)
    host, ours = SVC(tol=1e-5).fit(X, y), SVC(tol=1e-5).fit(Xt, torch.tensor(y))
    same(ours, host, X, new)
    assert isinstance(ours.support_vectors_, torch.Tensor)
    assert ours.predict(newt).tolist() == host.predict(new).tolist()
    assert isinstance(ours.decision_function(newt), torch.Tensor)
    for cls in (SVR, NuSVR):
        values = cls(tol=1e-5).fit(Xt, torch.tensor(t)).predict(newt)
        assert isinstance(values, torch.Tensor)
        np.testing.assert_allclose(values.numpy(), cls(tol=1e-5).fit(X, t).predict(new), atol=1e-3)
    one = OneClassSVM(tol=1e-6).fit(Xt)
    np.testing.assert_allclose(
        one.score_samples(newt).numpy(), OneClassSVM(tol=1e-6).fit(X).score_samples(new), atol=1e-3
    )
    assert one.predict(newt).dtype == torch.int64


def test_gamma_scale_is_that_of_arrays(data):
    X = data[0].astype(np.float32) + 5
    assert SVC().fit(torch.tensor(X), data[1]).kernel_.length_scale == pytest.approx(
        SVC().fit(X, data[1]).kernel_.length_scale
    )


@pytest.mark.parametrize(
    "change", [lambda X: X.int(), lambda X: X.half(), lambda X: X.T.contiguous().T, lambda X: X[::2]]
)
def test_tensors_of_other_types_and_layouts_are_taken(data, change):
    X, y = change(torch.tensor(2 * data[0])), data[1]
    y = y[::2] if len(X) < len(y) else y
    ours = SVC(tol=1e-4).fit(X, y)
    host = SVC(tol=1e-4).fit(X.numpy().astype(np.float64), y)
    np.testing.assert_allclose(ours._values(X), host._values(X.numpy().astype(np.float64)), atol=5e-3)


def test_linear_weights_are_arrays(data):
    ours, host = (SVC(kernel=Linear(), tol=1e-6).fit(X, data[1]) for X in (torch.tensor(data[0]), data[0]))
    np.testing.assert_allclose(ours.coef_, host.coef_, atol=1e-3)


def test_a_hard_margin_is_found(data):
    X = data[0]
    y = X[:, 0] > 0
    X = X + np.outer(np.where(y, 1.0, -1.0), [1.0, 0, 0])
    ours, host = (SVC(kernel="linear", C=np.inf, device=device).fit(X, y) for device in ("cpu", None))
    np.testing.assert_allclose(ours.coef_, host.coef_, rtol=1e-2)


def test_two_points_of_one_feature_are_enough():
    for X in (np.array([[0.0], [1.0]]), torch.tensor([[0.0], [1.0]])):
        model = SVC(kernel="linear", C=100.0, device="cpu").fit(X, [0, 1])
        np.testing.assert_allclose(model.coef_, [[2.0]], rtol=1e-3)
    assert SVR(device="cpu").fit([[0.0], [1.0]], [0.0, 1.0]).n_support_ >= 1


def test_matrices_functions_and_sparse_data_stay_on_the_host(data):
    X, y, _, new = data
    for model, points, fresh in (
        (SVC(kernel="precomputed", device="cpu"), KERNEL(X), KERNEL(new, X)),
        (SVC(kernel="precomputed"), torch.tensor(KERNEL(X)), torch.tensor(KERNEL(new, X))),
        (SVC(kernel=lambda A, B: A @ B.T, device="cpu"), X, new),
        (SVC(device="cpu"), sparse.csr_array(X), sparse.csr_array(new)),
    ):
        fitted = model.fit(points, y)
        assert "cpu" not in str(fitted.plan_)
        assert len(fitted.predict(fresh)) == len(new)


def test_kernels_without_vectors_are_moved_as_matrices():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ab" if i % 2 else "bc"), size=12)) for i in range(30)]
    y = np.arange(30) % 2
    ours, host = (SVC(kernel=Spectrum(2), tol=1e-5, device=device).fit(words, y) for device in ("cpu", None))
    np.testing.assert_allclose(ours._values(words), host._values(words), atol=1e-3)


def test_histograms_are_computed_tile_by_tile(data):
    X, y = np.abs(data[0]), data[1]
    ours, host = (SVC(kernel=Chi2(0.5), tol=1e-5, device=device).fit(X, y) for device in ("cpu", None))
    np.testing.assert_allclose(ours._values(X), host._values(X), atol=1e-3)


# -- bad input and limits ---------------------------------------------------------------------------------------------


def test_nan_is_refused_and_leaves_the_object_unfitted(data):
    X = torch.tensor(data[0])
    X[3, 1] = float("nan")
    for gamma in ("scale", 0.5):
        model = SVC(gamma=gamma)
        with pytest.raises(ValueError, match="SVC needs finite numbers, but row 3, column 1 is nan"):
            model.fit(X, data[1])
        with pytest.raises(NotFittedError):
            check_is_fitted(model)
    with pytest.raises(ValueError, match="NaN"):
        SVC(device="cpu").fit(X.numpy(), data[1])


def test_tensors_on_different_devices_are_refused(data):
    model = SVC().fit(torch.tensor(data[0]), data[1])
    with pytest.raises(DeviceError, match="different devices"):
        model.predict(torch.empty(4, 3, device="meta"))


@pytest.mark.parametrize("X", [torch.zeros(4), torch.zeros(0, 3), torch.zeros(4, 2, dtype=torch.complex64)])
def test_shapes_and_types_without_meaning_are_refused(X):
    with pytest.raises(ValueError, match="SVC needs"):
        SVC().fit(X, [0, 1, 0, 1])


def test_the_number_of_features_is_checked(data):
    with pytest.raises(ValueError, match="expecting 3 features"):
        SVC().fit(torch.tensor(data[0]), data[1]).predict(torch.zeros(2, 4))


def test_a_device_that_is_not_there_is_an_error(data):
    with pytest.raises(DeviceError, match="device must be a name"):
        SVC(device="nowhere").fit(*data[:2])
    if not torch.cuda.is_available():
        with pytest.raises(DeviceError, match="CUDA"):
            SVR(device="cuda").fit(data[0], data[2])


def test_a_device_without_memory_is_a_clean_error(data, monkeypatch):
    def full(*_):
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr("mercer.solvers.machines.device.batch.solve_sets", full)
    model = SVC(device="cpu")
    with pytest.raises(DeviceError, match="ran out of memory"):
        model.fit(*data[:2])
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_stopping_early_warns_as_on_the_host(data):
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        model = SVC(max_iter=3, device="cpu").fit(*data[:2])
    assert (model.n_iter_ == 3).all()
    assert not model.converged_
    assert model.fit_status_ == 1
