"""Kernel PCA: scikit-learn's own tests and conventions, laws, and the ways for many points."""

import importlib.util
import inspect
import itertools
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import sklearn
from scipy.sparse.linalg import ArpackNoConvergence
from sklearn.base import clone
from sklearn.decomposition import KernelPCA as Theirs
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

from mercer import MemoryBudgetError
from mercer.kernels import Custom, Gaussian, Intersection, Linear, Polynomial, Precomputed
from mercer.models.pca import KernelPCA
from mercer.solvers import eigen as _pca_eigen


def _load_theirs():
    path = Path(sklearn.__file__).parent / "decomposition" / "tests" / "test_kernel_pca.py"
    spec = importlib.util.spec_from_file_location("theirs_pca", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.KernelPCA = KernelPCA
    return module


THEIRS = _load_theirs()


def _cases():
    for name, function in vars(THEIRS).items():
        if not name.startswith("test_") or not inspect.isfunction(function):
            continue
        marks = [mark.args for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"]
        for values in itertools.product(*(mark[1] for mark in marks)):
            given = dict(zip((mark[0] for mark in marks), values, strict=True))
            text = "-".join([name, *(getattr(v, "__name__", str(v)) for v in values)])
            if "global_random_seed" in inspect.signature(function).parameters:
                given["global_random_seed"] = 42
            yield pytest.param(function, given, id=text)


@pytest.mark.parametrize(("function", "arguments"), list(_cases()))
def test_their_tests_pass_with_the_import_swapped(function, arguments):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="sklearn.linear_model")  # five epochs of their perceptron
        function(**arguments)


def test_their_file_still_has_tests():
    assert len(list(_cases())) >= 35


@pytest.mark.parametrize("model", [KernelPCA(), KernelPCA(2, kernel=Gaussian(2.0), fit_inverse_transform=True)])
def test_the_checks_of_scikit_learn_pass(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)  # the array API is not enabled
        check_estimator(model)


def test_parameters_and_defaults_are_theirs():
    ours, theirs = KernelPCA().get_params(), Theirs().get_params()
    assert {name: ours[name] for name in theirs} == theirs


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 3)), rng.normal(size=(9, 3))


@pytest.mark.parametrize("solver", ["dense", "arpack", "randomized"])
@pytest.mark.parametrize("options", [{"kernel": "rbf"}, {"kernel": "poly", "degree": 2}, {"kernel": "cosine"}])
def test_components_eigenvalues_and_inverse_are_theirs_up_to_sign(data, options, solver):
    X, new = data
    settings = {"n_components": 4, "fit_inverse_transform": True, "eigen_solver": solver, "random_state": 0}
    ours, theirs = (model(**options, **settings).fit(X) for model in (KernelPCA, Theirs))
    tolerance = 1e-8 if solver != "randomized" else 1e-3
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=tolerance)
    a, b = ours.transform(new), theirs.transform(new)
    signs = np.sign((a * b).sum(axis=0))
    scale = np.abs(b).max()
    np.testing.assert_allclose(a * signs, b, atol=10 * tolerance * scale)
    np.testing.assert_allclose(
        ours.inverse_transform(a), theirs.inverse_transform(a * signs), atol=100 * tolerance * np.abs(X).max()
    )


def test_components_are_centred_uncorrelated_and_have_the_eigenvalues_as_squares(data):
    X, _ = data
    model = KernelPCA(5, kernel=Gaussian(1.5), eigen_solver="dense")
    scores = model.fit_transform(X)
    np.testing.assert_allclose(scores.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scores.T @ scores, np.diag(model.eigenvalues_), atol=1e-10)


def test_all_components_keep_the_distances_of_features(data):
    X, _ = data
    scores = KernelPCA(kernel=Gaussian(1.5)).fit_transform(X)
    np.testing.assert_allclose(Linear().distance(scores), Gaussian(1.5).distance(X), atol=1e-8)


def test_the_expansion_is_the_transform(data):
    X, new = data
    model = KernelPCA(3, kernel=Polynomial(2)).fit(X)
    np.testing.assert_allclose(model.expansion_(new), model.transform(new), rtol=1e-10, atol=1e-10)
    K = Polynomial(2)(X)
    given = KernelPCA(3, kernel="precomputed").fit(K)
    np.testing.assert_allclose(given.expansion_(np.arange(60)), given.transform(K), atol=1e-9)


@pytest.mark.parametrize("solver", ["arpack", "randomized"])
def test_without_storing_the_matrix_the_components_are_the_same(data, solver, monkeypatch):
    X, new = data
    settings = {"n_components": 3, "kernel": Gaussian(2.0), "eigen_solver": solver, "random_state": 0}
    stored = KernelPCA(**settings).fit(X)
    monkeypatch.setattr(_pca_eigen, "HELD", 0)
    lazy = KernelPCA(**settings).fit(X)
    np.testing.assert_allclose(lazy.eigenvalues_, stored.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(lazy.transform(new)), np.abs(stored.transform(new)), atol=1e-7)


def test_nystroem_with_all_points_as_centres_is_exact(data):
    X, new = data
    dense = KernelPCA(4, kernel=Gaussian(2.0), eigen_solver="dense").fit(X)
    model = KernelPCA(4, kernel=Gaussian(2.0), eigen_solver="nystroem", n_centers=60, random_state=0).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, dense.eigenvalues_, rtol=1e-7)
    np.testing.assert_allclose(np.abs(model.transform(new)), np.abs(dense.transform(new)), atol=1e-6)
    np.testing.assert_allclose(model.transform(X), model.fit_transform(X), atol=1e-9)


def test_nystroem_eigenvalues_stay_below_the_exact_ones(data):
    X, _ = data
    dense = KernelPCA(4, kernel=Gaussian(2.0), eigen_solver="dense").fit(X)
    model = KernelPCA(4, kernel=Gaussian(2.0), eigen_solver="nystroem", n_centers=15, random_state=0).fit(X)
    assert (model.eigenvalues_ <= dense.eigenvalues_ * (1 + 1e-9)).all()  # K minus its approximation is a Gram matrix
    np.testing.assert_allclose(model.eigenvalues_, dense.eigenvalues_, rtol=0.1)
    np.testing.assert_allclose(model.transform(X), model.fit_transform(X), atol=1e-9)


def test_more_components_than_nystroem_features_are_missed_aloud(data):
    with pytest.warns(UserWarning, match="use more centres"):
        model = KernelPCA(20, kernel=Gaussian(2.0), eigen_solver="nystroem", n_centers=15, random_state=0).fit(data[0])
    assert model.transform(data[1]).shape == (9, 15)


def test_permuting_rows_changes_nothing(data):
    X, new = data
    order = np.random.default_rng(1).permutation(60)
    a, b = (KernelPCA(3, kernel=Gaussian(), eigen_solver="dense").fit(rows).transform(new) for rows in (X, X[order]))
    np.testing.assert_allclose(np.abs(a), np.abs(b), atol=1e-9)


def test_strings_have_components_and_no_inverse():
    words = ["kernel", "kernels", "colonel", "eigen", "eigenvalue"]
    letters = Custom(lambda a, b: float(len(set(a) & set(b))))
    model = KernelPCA(2, kernel=letters).fit(words)
    K = letters(words)
    reference = Theirs(2, kernel="precomputed").fit(K)
    np.testing.assert_allclose(np.abs(model.transform(words)), np.abs(reference.transform(K)), atol=1e-10)
    with pytest.raises(ValueError, match="must be rows of numbers"):
        KernelPCA(2, kernel=letters, fit_inverse_transform=True).fit(words)


def test_positions_of_a_precomputed_kernel_work_as_points(data):
    K = Gaussian()(data[0])
    model = KernelPCA(2, kernel=Precomputed(K), eigen_solver="dense").fit(np.arange(60).reshape(-1, 1))
    np.testing.assert_allclose(model.eigenvalues_, KernelPCA(2, kernel="precomputed").fit(K).eigenvalues_, rtol=1e-9)


def test_one_point_and_equal_points_have_no_components():
    for X in ([[1.0, 2.0]], [[1.0, 2.0]] * 4):
        model = KernelPCA(kernel=Gaussian()).fit(X)
        assert model.transform(X).shape == (len(X), 0)
    np.testing.assert_array_equal(KernelPCA(1, kernel="rbf").fit_transform([[1.0, 2.0]] * 3), np.zeros((3, 1)))


def test_a_budget_that_is_too_small_is_refused_before_anything_is_computed(data):
    with pytest.raises(MemoryBudgetError, match="eigen_solver"):
        KernelPCA(kernel=Gaussian(), memory="50KB").fit(data[0])
    assert KernelPCA(15, kernel=Gaussian(), memory="50KB").fit(data[0]).eigen_solver_ == "randomized"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components must be a whole number of at least 1"),
        ({"eigen_solver": "qr"}, "eigen_solver must be one of"),
        ({"iterated_power": "often"}, "iterated_power must be"),
        ({"kernel": "precomputed"}, "square matrix"),
        ({"kernel": "precomputed", "eigen_solver": "nystroem"}, "needs a kernel"),
        ({"kernel": "rgb"}, "kernel must be a mercer kernel"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(data, options, message):
    model = KernelPCA(2).fit(data[0])
    before = dict(vars(model))
    model.set_params(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(data[0])
    model.set_params(**{name: before[name] for name in options})
    assert all(vars(model)[name] is value for name, value in before.items())


def test_arpack_that_does_not_converge_says_what_to_do(data):
    with pytest.raises(ArpackNoConvergence, match="raise max_iter"):
        KernelPCA(5, kernel=Gaussian(0.1), eigen_solver="arpack", max_iter=1, random_state=0).fit(data[0])


def test_nan_is_refused(data):
    X = data[0].copy()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        KernelPCA(2, kernel=Gaussian()).fit(X)


def test_clones_and_pickles_give_the_same_answers(data):
    X, new = data
    model = KernelPCA(2, kernel=Gaussian(), eigen_solver="dense").fit(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(new), model.transform(new))
    np.testing.assert_array_equal(clone(model).fit(X).transform(new), model.transform(new))
    with pytest.raises(NotFittedError):
        clone(model).transform(new)


def test_a_second_fit_without_an_inverse_forgets_the_first(data):
    model = KernelPCA(2, fit_inverse_transform=True).fit(data[0])
    model.set_params(fit_inverse_transform=False).fit(data[0])
    with pytest.raises(NotFittedError, match="fit_inverse_transform"):
        model.inverse_transform(np.zeros((1, 2)))


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian([1.0, 2.0, 3.0, 4.0]),
        Gaussian().on([0, 3]),
        Gaussian(2.0).on([0, 1]) + Linear().on([2, 3]),
        Gaussian(2.0) * (1.0 + Gaussian([1.0, 1.0, 2.0, 2.0])),
        Intersection(),
        Gaussian(2.0).after(lambda x: x[:2]),
    ],
    ids=repr,
)
def test_kernels_of_chosen_columns_have_a_way_back_too(kernel):
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(60, 1)) @ np.array([[1.0, -0.5, 2.0, 0.3]]) + 0.01 * rng.normal(size=(60, 4)))
    model = KernelPCA(3, kernel=kernel, fit_inverse_transform=True, alpha=1e-3).fit(X)
    back = model.inverse_transform(model.transform(X))
    assert back.shape == X.shape
    assert np.abs(back - X).mean() < 0.3 * np.abs(X - X.mean(axis=0)).mean()
