"""scikit-learn's own tests of support vector machines, run against ours, and its conventions."""

import inspect
import itertools
import re
import sys
import types
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import sklearn
import sklearn.svm
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.estimator_checks import check_estimator

from mercer.kernels import Gaussian
from mercer.models.one_class import OneClassSVM
from mercer.models.svm import SVC, NuSVC
from mercer.models.svr import SVR, NuSVR

OURS = {"SVC": SVC, "NuSVC": NuSVC, "SVR": SVR, "NuSVR": NuSVR, "OneClassSVM": OneClassSVM}
SEED = 42  # of the fixture global_random_seed, by default

EXCEPTIONS = {
    "test_svr_errors": "a function whose matrix has the wrong shape is refused by fit, not only by predict",
    "test_tweak_params": "changes the private _dual_coef_, which LIBSVM copies at every prediction",
    "test_svc_raises_error_internal_representation": "corrupts the private _n_support, which LIBSVM trusts",
    "test_libsvm_convergence_warnings": "counts LIBSVM's steps: ours may solve these six points within two",
}
# These compare coefficients from two roundings of one kernel to six decimals, which the default tol does not determine.
TIGHTER = ("test_precomputed", "test_svc_clone_with_callable_kernel")


def _load_theirs():
    """Execute their test file while ``sklearn.svm`` is a copy of itself that holds our estimators."""
    path = Path(sklearn.__file__).parent / "svm" / "tests" / "test_svm.py"
    original = sklearn.svm
    swapped = types.ModuleType("sklearn.svm")
    vars(swapped).update(vars(original), **OURS)
    module = types.ModuleType("their_svm_tests")
    # A mark that only their configuration knows; the line stays, so that sources are still found.
    source = path.read_text().replace("@pytest.mark.thread_unsafe", "#")
    try:
        sys.modules["sklearn.svm"] = sklearn.svm = swapped
        exec(compile(source, str(path), "exec"), vars(module))
    finally:
        sys.modules["sklearn.svm"] = sklearn.svm = original
    return module


THEIRS = _load_theirs()
ABOUT_OURS = re.compile(rf"\b({'|'.join(OURS)})\b")  # LinearSVC and LinearSVR are other machines


def _their_tests():
    for name, function in vars(THEIRS).items():
        if name.startswith("test_") and inspect.isfunction(function) and ABOUT_OURS.search(inspect.getsource(function)):
            yield name, function


def _cases():
    for name, function in _their_tests():
        if name in EXCEPTIONS:
            continue
        marks = getattr(function, "pytestmark", [])
        choices = []
        for mark in (mark for mark in marks if mark.name == "parametrize"):
            names, values = mark.args[:2]
            names = [part.strip() for part in names.split(",")] if isinstance(names, str) else list(names)
            choices.append([dict(zip(names, value if len(names) > 1 else [value], strict=True)) for value in values])
        if "global_random_seed" in inspect.signature(function).parameters:
            choices.append([{"global_random_seed": SEED}])
        kept = [mark for mark in marks if mark.name == "filterwarnings"]
        for number, chosen in enumerate(itertools.product(*choices)):
            arguments = {key: value for part in chosen for key, value in part.items()}
            yield pytest.param(name, function, arguments, id=f"{name}-{number}", marks=kept)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("name", "function", "arguments"), list(_cases()))
def test_their_tests_pass_with_the_import_swapped(monkeypatch, name, function, arguments):
    if name in TIGHTER:
        monkeypatch.setattr(THEIRS.svm, "SVC", partial(SVC, tol=1e-9))
    function(**arguments)


def test_their_file_still_has_these_tests():
    names = [name for name, _ in _their_tests()]
    assert len(names) > 40
    assert {*EXCEPTIONS, *TIGHTER} <= set(names)


# -- conventions --------------------------------------------------------------------------------------------------

WEIGHTS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
ROUGH = dict.fromkeys(WEIGHTS, "gamma='scale' is the variance of rows without weights, and tol=1e-3 is not 1e-7")
BOUNDARY = dict.fromkeys(WEIGHTS, "support vectors are on the boundary, where rounding decides the sign")
NO_CLASS_WEIGHT = {"check_class_weight_classifiers": "class_weight has no effect on the ν machine"}
EXACT = {"gamma": 0.1, "tol": 1e-10}


@pytest.mark.filterwarnings("ignore:NuSVC. class_weight has no effect")
@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (SVC(), ROUGH),
        (NuSVC(), ROUGH | NO_CLASS_WEIGHT),
        (SVR(), ROUGH),
        (NuSVR(), ROUGH),
        (OneClassSVM(), ROUGH),
        (SVC(kernel=Gaussian(2.0), tol=1e-10), {}),
        (SVC(kernel="precomputed", assume_psd=True), {}),
        (SVR(**EXACT), {}),
        (NuSVR(**EXACT), {}),
        (OneClassSVM(**EXACT), BOUNDARY),
    ],
    ids=lambda value: "" if isinstance(value, dict) else str(value),
)
def test_the_checks_of_scikit_learn_pass(model, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)  # the array API is not enabled
        check_estimator(model, expected_failed_checks=expected, on_skip=None, on_fail="raise")


@pytest.mark.parametrize("name", OURS)
def test_parameters_and_defaults_are_theirs_in_their_order(name):
    ours, theirs = (inspect.signature(cls).parameters for cls in (OURS[name], getattr(sklearn.svm, name)))
    assert list(ours)[: len(theirs)] == list(theirs)
    more = {"SVC": ["scaling", "weights", "calibration"], "NuSVC": ["calibration"], "SVR": ["scaling"]}.get(name, [])
    assert list(ours)[len(theirs) :] == ["max_time", "memory", "assume_psd", "device", *more]
    for key, parameter in theirs.items():
        assert ours[key].default == parameter.default
        assert ours[key].kind == parameter.kind


# -- the same model -----------------------------------------------------------------------------------------------


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=60), [-0.5, 0.5])
    return X, y, rng.uniform(0.5, 2.0, size=60), rng.normal(size=(9, 3))


NAMED = [
    {"kernel": "linear"},
    {"kernel": "poly"},
    {"kernel": "poly", "degree": 2, "gamma": 0.3, "coef0": 0.5},
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": "auto"},
    {"kernel": "rbf", "gamma": 0.7},
    {"kernel": "rbf", "gamma": 0.0},
]


@pytest.mark.parametrize("options", NAMED, ids=lambda options: "-".join(map(str, options.values())))
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("count", [2, 3])
def test_every_kernel_they_name_gives_their_classifier(data, options, form, count):
    X, y, weights, new = data
    y = np.minimum(y, count - 1)
    if form == "csr":
        X, new = sparse.csr_array(X), sparse.csr_array(new)
    ours, theirs = (
        cls(tol=1e-8, decision_function_shape="ovo", class_weight="balanced", **options).fit(X, y, weights)
        for cls in (SVC, sklearn.svm.SVC)
    )
    np.testing.assert_allclose(ours.decision_function(new), theirs.decision_function(new), atol=2e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-5)
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))
    np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_)
    np.testing.assert_allclose(ours._gamma, theirs._gamma)
    if options["kernel"] == "rbf" and ours._gamma > 0:  # where coefficients are unique
        _assert_same_vectors(ours, theirs)
    if options["kernel"] == "linear":
        _assert_same(ours.coef_, theirs.coef_)


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "sigmoid", "gamma": 0.5, "coef0": -0.3},
        {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": -0.5},
    ],
    ids=lambda options: options["kernel"],
)
def test_names_of_theirs_that_are_no_kernels_are_not_refused(data, options):
    X, y, _, new = data
    model, options = SVC(**options).fit(X, y == 1), dict(options)
    values = pairwise_kernels(new, model.support_vectors_, options.pop("kernel"), filter_params=True, **options)
    np.testing.assert_allclose(model.decision_function(new), values @ model.dual_coef_[0] + model.intercept_)
    assert model.converged_


@pytest.mark.parametrize("cls", [NuSVC, SVR, NuSVR, OneClassSVM])
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_the_other_machines_are_theirs_too(data, cls, form):
    X, y, weights, new = data
    if form == "csr":
        X, new = sparse.csr_array(X), sparse.csr_array(new)
    ours, theirs = (c(tol=1e-8, nu=0.3) if c.__name__ != "SVR" else c(tol=1e-8) for c in (cls, _theirs(cls)))
    ours.fit(X, y, sample_weight=weights)
    theirs.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), atol=1e-5)
    _assert_same_vectors(ours, theirs)
    for method in ("decision_function", "score_samples"):
        if hasattr(theirs, method):
            np.testing.assert_allclose(getattr(ours, method)(new), getattr(theirs, method)(new), atol=1e-5)


def _theirs(cls):
    return getattr(sklearn.svm, cls.__name__)


def _assert_same(ours, theirs):
    assert sparse.issparse(ours) == sparse.issparse(theirs)
    dense = [part.toarray() if sparse.issparse(part) else part for part in (ours, theirs)]
    np.testing.assert_allclose(*dense, atol=1e-4)


def _assert_same_vectors(ours, theirs):
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    assert ours.support_.dtype == theirs.support_.dtype
    assert ours.n_support_.dtype == theirs.n_support_.dtype
    _assert_same(ours.support_vectors_, theirs.support_vectors_)
    _assert_same(ours.dual_coef_, theirs.dual_coef_)
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape
    assert ours.shape_fit_ == theirs.shape_fit_


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("cls", [SVC, NuSVC])
def test_values_of_classes_and_pairs_are_theirs(data, cls, shape, count):
    X, y, _, new = data
    y = np.array(["low", "middle", "top"])[np.minimum(y, count - 1)]
    ours, theirs = (c(tol=1e-8, decision_function_shape=shape).fit(X, y) for c in (cls, _theirs(cls)))
    np.testing.assert_allclose(ours.decision_function(new), theirs.decision_function(new), atol=1e-5)
    if shape == "ovr":
        tied, theirs_tied = (clone(m).set_params(break_ties=True).fit(X, y) for m in (ours, theirs))
        np.testing.assert_array_equal(tied.predict(new), theirs_tied.predict(new))


@pytest.mark.parametrize("cls", list(OURS.values()))
def test_a_fit_that_stops_early_warns_in_their_words_and_in_ours(data, cls):
    X, y, _, _ = data
    words = r"Solver terminated early \(max_iter=3\).  Consider pre-processing your data with StandardScaler"
    with pytest.warns(
        ConvergenceWarning, match=words + ".*raise max_iter or tol.*steps, violation.*duality gap"
    ) as caught:
        model = cls(max_iter=3).fit(X, y)
    assert len(caught) == 1
    assert Path(caught[0].filename) == Path(__file__)
    assert model.fit_status_ == 1
    assert not model.converged_
    assert model.violation_ > model.tol


@pytest.mark.parametrize("count", [2, 3])
def test_a_fit_that_runs_out_of_time_warns_once(data, count):
    X, y, _, _ = data
    with pytest.warns(ConvergenceWarning, match=r"max_time=1e-09.*raise max_time or tol, or lower C") as caught:
        model = SVC(max_time=1e-9).fit(X, np.minimum(y, count - 1))
    assert len(caught) == 1
    assert model.fit_status_ == 1


def test_the_guide_lists_every_exception():
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "svm.md").read_text(encoding="utf-8")
    assert [name for name in EXCEPTIONS if name not in guide] == []
