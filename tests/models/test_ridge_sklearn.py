"""scikit-learn's own tests of KernelRidge, run against ours, and its conventions."""

import importlib.util
import inspect
import warnings
from pathlib import Path

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.exceptions import SkipTestWarning
from sklearn.kernel_ridge import KernelRidge as Theirs
from sklearn.utils.estimator_checks import check_estimator

from mercer.kernels import Gaussian
from mercer.models.ridge import KernelRidge
from mercer.models.ridge_classifier import KernelRidgeClassifier


def _load_theirs():
    path = Path(sklearn.__file__).parent / "tests" / "test_kernel_ridge.py"
    spec = importlib.util.spec_from_file_location("theirs", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.KernelRidge = KernelRidge
    return module


THEIRS = _load_theirs()


def _cases():
    for name, function in vars(THEIRS).items():
        if not name.startswith("test_") or not inspect.isfunction(function):
            continue
        marks = [mark for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"]
        if not marks:
            yield pytest.param(function, {}, id=name)
        for mark in marks:
            argument, values = mark.args
            yield from (pytest.param(function, {argument: v}, id=f"{name}-{v.__name__}") for v in values)


@pytest.mark.parametrize(("function", "arguments"), list(_cases()))
def test_their_tests_pass_with_the_import_swapped(function, arguments):
    function(**arguments)


def test_their_file_still_has_tests():
    assert len(list(_cases())) >= 8


MODELS = [
    KernelRidge(),
    KernelRidge(kernel=Gaussian(2.0), fit_intercept=True, scaling="mean"),
    KernelRidgeClassifier(),
    KernelRidgeClassifier(alpha=1.0),
]


@pytest.mark.parametrize("model", MODELS, ids=["default", "intercept", "classifier", "classifier-alpha"])
def test_the_checks_of_scikit_learn_pass(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)  # the array API is not enabled
        check_estimator(model)


def _power_of_dot(x, z, power=1):
    return float((x @ z.T).sum()) ** power  # rows of arrays are vectors, rows of sparse matrices are not


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "linear"},
        {"kernel": "poly"},
        {"kernel": "polynomial", "degree": 2, "gamma": 0.3, "coef0": 0.5},
        {"kernel": "poly", "degree": 2, "coef0": -0.5},
        {"kernel": "poly", "degree": 2.5},
        {"kernel": "poly", "degree": 0},
        {"kernel": "rbf"},
        {"kernel": "rbf", "gamma": 0.7},
        {"kernel": "rbf", "gamma": 0.0},
        {"kernel": "laplacian"},
        {"kernel": "laplacian", "gamma": 0.2},
        {"kernel": "sigmoid", "gamma": 0.1, "coef0": -0.3},
        {"kernel": "cosine"},
        {"kernel": "chi2", "gamma": 0.5},
        {"kernel": "additive_chi2"},
        {"kernel": _power_of_dot},
        {"kernel": _power_of_dot, "kernel_params": {"power": 2}},
    ],
    ids=lambda options: "-".join(str(getattr(value, "__name__", value)) for value in options.values()),
)
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_every_kernel_they_know_predicts_what_theirs_does(options, form):
    rng = np.random.default_rng(0)
    X, new = rng.uniform(size=(30, 4)), rng.uniform(size=(7, 4))
    Y = rng.normal(size=(30, 2))
    if form == "csr":
        X, new = sparse.csr_array(X), sparse.csr_array(new)
    if form == "csr" and options["kernel"] in ("chi2", "additive_chi2"):
        with pytest.raises(TypeError, match="Sparse data was passed"):  # as theirs does
            KernelRidge(**options).fit(X, Y)
        return
    weights = np.linspace(0.5, 2.0, 30)
    # Their solver refuses indefinite matrices with several penalties, so the reference is their kernel matrix.
    values = Theirs(**options)._get_kernel
    K, cross = values(X), values(new, X)
    coef = np.column_stack([np.linalg.solve(K + np.diag(a / weights), Y[:, i]) for i, a in enumerate([0.1, 2.0])])
    ours = KernelRidge(alpha=[0.1, 2.0], **options).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(ours.dual_coef_, coef, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.predict(new), cross @ coef, rtol=1e-6, atol=1e-8)


def test_parameters_and_defaults_are_theirs():
    ours, theirs = KernelRidge().get_params(), Theirs().get_params()
    assert {name: ours[name] for name in theirs} == theirs


def test_a_weight_of_one_number_is_theirs_too():
    X, y = np.arange(6.0).reshape(6, 1), np.arange(6.0)
    ours, theirs = (model(kernel="rbf").fit(X, y, sample_weight=2.0) for model in (KernelRidge, Theirs))
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-9)
