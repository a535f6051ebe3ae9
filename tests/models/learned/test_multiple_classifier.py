"""Classification with several kernels: what weights are, what they do not depend on, and what is refused."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import SkipTestWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer.kernels import Constant, Gaussian, Graph, Linear, Precomputed, Sigmoid, Spectrum, WeisfeilerLehman
from mercer.models.learned.multiple_classifier import MultipleKernelClassifier
from mercer.models.ridge_classifier import KernelRidgeClassifier
from mercer.models.svm import SVC

METHODS = ["loo", "easy", "simple", "average", "sum"]
LEARNED = ["loo", "easy", "simple"]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
Y = (X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.2 * RNG.normal(size=120) > 0.4).astype(int)
KERNELS = [Gaussian().on([j]) for j in range(4)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_model_is_the_classifier_with_the_weighted_sum(method, classes):
    y = np.array(["low", "high", "more"])[np.digitize(X[:, 0], [-0.3, 0.8])] if classes == 3 else Y
    model = MultipleKernelClassifier(KERNELS, method=method).fit(X, y)
    assert model.weights_.shape == (4,)
    assert (model.weights_ >= 0).all()
    H = np.eye(120) - 1 / 120
    scales = np.array([(H @ k(X) @ H).trace() / 120 for k in KERNELS])
    assert model.weights_.sum() == pytest.approx(scales.sum() if method == "sum" else 1)
    K = sum(w / s * k(X) for w, s, k in zip(model.weights_, scales, KERNELS, strict=True))
    np.testing.assert_allclose(model.kernel_(X), K, rtol=1e-10)
    other = (
        SVC(kernel=model.kernel_)
        if method in ("easy", "simple")
        else KernelRidgeClassifier(model.classifier_.alpha_, kernel=model.kernel_)
    )
    np.testing.assert_allclose(
        model.decision_function(X),
        other.fit(X, y).decision_function(X),
        atol=1e-3 if method in ("easy", "simple") else 1e-8,
    )
    assert model.classes_.tolist() == np.unique(y).tolist()
    assert model.score(X, y) > 0.85
    values = model.decision_function(X[:5])
    chosen = values.argmax(axis=1) if classes == 3 else (values > 0).astype(int)
    np.testing.assert_array_equal(model.predict(X[:5]), model.classes_[chosen])


@pytest.mark.parametrize("method", LEARNED)
def test_noise_weighs_less_than_what_matters(method):
    weights = MultipleKernelClassifier(KERNELS, method=method).fit(X, Y).weights_
    assert weights[:2].min() > weights[2:].max()
    if method != "easy":
        assert weights[2:].sum() < 0.15


@pytest.mark.parametrize("method", [*LEARNED, "average"])
def test_kernels_in_other_units_make_the_same_model(method):
    factors = [1e6, 1e-6, 1.0, 37.0]
    scaled = [factor * kernel for factor, kernel in zip(factors, KERNELS, strict=True)]
    a, b = (MultipleKernelClassifier(each, method=method, random_state=0).fit(X, Y) for each in (KERNELS, scaled))
    np.testing.assert_allclose(a.weights_, b.weights_, atol=1e-3)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-2)


@pytest.mark.parametrize("method", METHODS)
def test_constants_added_to_kernels_change_nothing(method):
    moved = [kernel + 10.0 for kernel in KERNELS]
    a, b = (MultipleKernelClassifier(each, method=method, random_state=0).fit(X, Y) for each in (KERNELS, moved))
    np.testing.assert_allclose(a.weights_, b.weights_, atol=2e-3)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=2e-2)


@pytest.mark.parametrize("method", METHODS)
def test_one_kernel_is_the_classifier_with_it(method):
    model = MultipleKernelClassifier([Gaussian()], method=method).fit(X, Y)
    scale = model.mixture_.scales[0]
    np.testing.assert_array_equal(model.weights_, [scale if method == "sum" else 1.0])
    alone = (
        SVC(C=1 / scale, kernel=Gaussian())
        if method in ("easy", "simple")
        else KernelRidgeClassifier(alphas=model.classifier_.alphas_ / model.mixture_.factors[0], kernel=Gaussian())
    )
    np.testing.assert_allclose(
        model.decision_function(X),
        alone.fit(X, Y).decision_function(X),
        atol=2e-3 if method in ("easy", "simple") else 1e-8,
    )


def test_the_objective_of_simple_is_that_of_the_machine_and_less_than_with_equal_weights():
    model = MultipleKernelClassifier(KERNELS, method="simple", C=3.0).fit(X, Y)
    equal = MultipleKernelClassifier(KERNELS, method="easy", C=3.0).fit(X, Y)
    scales, least = model.mixture_.scales, float(model.classifier_.objective_)
    assert model.weights_gap_ <= 1e-3
    for w in ([0.25] * 4, [0.5, 0.5, 0, 0], [0.7, 0.3, 0, 0], [0.3, 0.3, 0.2, 0.2], equal.weights_):
        kernel = sum(v / s * k for v, s, k in zip(w, scales, KERNELS, strict=True) if v > 0)
        assert float(SVC(C=3.0, kernel=kernel).fit(X, Y).objective_) >= least * (1 - 2e-3)


def test_dense_weights_have_the_norm_asked_for():
    model = MultipleKernelClassifier(KERNELS, method="simple", norm=2.0).fit(X, Y)
    assert np.linalg.norm(model.weights_) == pytest.approx(1.0)
    assert (model.weights_ > 0).all()


def test_strings_graphs_and_numbers_stand_side_by_side():
    rng = np.random.default_rng(0)
    n = 60
    words = ["".join(rng.choice(list("ACGT"), size=12)) for _ in range(n)]
    rings = [int(rng.integers(3, 7)) for _ in range(n)]
    graphs = [Graph.from_edges([(i, (i + 1) % r) for i in range(r)]) for r in rings]
    frame = pd.DataFrame({"dna": words, "molecule": graphs, "age": rng.normal(size=n)})
    y = np.where(np.array([w.count("A") for w in words]) + (np.array(rings) > 4) > 3, "yes", "no")
    kernels = [Spectrum(1).on("dna"), WeisfeilerLehman(1).on("molecule"), Gaussian().on(["age"])]
    for method in METHODS:
        model = MultipleKernelClassifier(kernels, method=method).fit(frame, y)
        assert model.predict(frame[:3]).shape == (3,)
        assert model.feature_names_in_.tolist() == ["dna", "molecule", "age"]
        if method in LEARNED:
            assert model.weights_[0] == model.weights_.max()


@pytest.mark.parametrize("method", ["loo", "easy"])
def test_frames_of_numbers_names_and_functions_are_taken(method):
    frame = pd.DataFrame(X, columns=list("abcd"))
    kernels = ["rbf", "linear", lambda x, z: float(x[0] * z[0]), Gaussian(2.0)]
    model = MultipleKernelClassifier(kernels, method=method).fit(frame, Y)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.score(frame, Y) > 0.8
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["d", "c", "b", "a"]])


def test_given_matrices_are_kernels_of_row_numbers():
    matrices = [Precomputed(k(X)) for k in KERNELS]
    a = MultipleKernelClassifier(matrices, method="easy").fit(np.arange(120), Y)
    b = MultipleKernelClassifier(KERNELS, method="easy").fit(X, Y)
    np.testing.assert_allclose(a.weights_, b.weights_, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_points_without_weight_take_no_part_and_classes_may_be_weighted(method):
    weights = np.r_[np.ones(100), np.zeros(20)]
    spoilt = Y.copy()
    spoilt[100:] = 7
    a = MultipleKernelClassifier(KERNELS, method=method, random_state=0).fit(X, spoilt, weights)
    b = MultipleKernelClassifier(KERNELS, method=method, random_state=0).fit(X[:100], Y[:100])
    assert a.classes_.tolist() == [0, 1]
    np.testing.assert_allclose(a.weights_, b.weights_, atol=1e-6)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=2e-3)
    factors = np.where(Y == 1, 3.0, 1.0)
    c = MultipleKernelClassifier(KERNELS, method=method, class_weight={1: 3.0}, random_state=0).fit(X, Y)
    d = MultipleKernelClassifier(KERNELS, method=method, random_state=0).fit(X, Y, factors)
    np.testing.assert_allclose(c.decision_function(X), d.decision_function(X))


@pytest.mark.parametrize("method", METHODS)
def test_constant_kernels_say_nothing(method):
    model = MultipleKernelClassifier([Gaussian(), Constant(2.0)], method=method).fit(X, Y)
    assert "Constant" not in repr(model.kernel_)
    nothing = MultipleKernelClassifier([Constant(2.0), Constant(0.0)], method=method).fit(X, Y)
    assert nothing.kernel_ == Constant(0.0)
    assert len(set(nothing.predict(X).tolist())) == 1


def test_rare_classes_are_among_the_points_that_weights_are_learned_from(monkeypatch):
    monkeypatch.setattr("mercer.learning.several.machines.LIMIT", 40)
    y = Y.copy()
    y[:3] = 2
    for method in METHODS:
        model = MultipleKernelClassifier(KERNELS, method=method, random_state=0).fit(X, y)
        again = MultipleKernelClassifier(KERNELS, method=method, random_state=0).fit(X, y)
        assert model.classes_.tolist() == [0, 1, 2]
        np.testing.assert_array_equal(model.weights_, again.weights_)


def test_a_class_of_one_point_is_no_obstacle():
    y = Y.copy()
    y[0] = 2
    for method in METHODS:
        assert 2 in MultipleKernelClassifier(KERNELS, method=method).fit(X, y).classes_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "best"}, "method must be one of 'loo', 'simple', 'easy', 'average', 'sum'; got 'best'"),
        ({"lam": 2.0}, "lam must be a number from 0 to 1, got 2.0"),
        ({"norm": 0.5}, "norm must be a number of at least 1, or infinity; got 0.5"),
        ({"C": -1.0}, "C must be a positive number"),
        ({"kernels": []}, "kernels is empty"),
    ],
)
def test_options_without_a_meaning_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        MultipleKernelClassifier(**({"kernels": KERNELS} | options)).fit(X, Y)


def test_what_cannot_be_fitted_is_refused_and_changes_nothing():
    model = MultipleKernelClassifier(KERNELS, method="easy").fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="MultipleKernelClassifier needs at least two classes"):
        model.fit(X, np.zeros(120))
    with pytest.raises(ValueError, match="NaN"):
        MultipleKernelClassifier().fit(np.full((4, 2), np.nan), [0, 1, 0, 1])
    model.set_params(kernels=[Gaussian(), Sigmoid()])
    with pytest.raises(ValueError, match="positive semi-definite"):
        model.fit(X, Y)
    model.set_params(kernels=KERNELS)
    assert vars(model) == before


def test_parameters_are_searched_and_models_cloned_pickled_and_saved(tmp_path):
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(
        MultipleKernelClassifier(method="easy"), {"method": ["easy", "average"], "C": [1.0, 10.0]}, cv=3
    )
    assert search.fit(X, y).best_score_ > 0.9
    for method in METHODS:
        model = clone(MultipleKernelClassifier([Gaussian(), Linear()], method=method)).fit(X, y)
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_allclose(copy.decision_function(X), model.decision_function(X), rtol=1e-9)
        mercer.save(model, tmp_path / method)
        loaded = mercer.load(tmp_path / method)
        np.testing.assert_allclose(loaded.decision_function(X), model.decision_function(X), rtol=1e-9)
        np.testing.assert_array_equal(loaded.weights_, model.weights_)
        assert loaded.kernel_ == model.kernel_
        assert str(loaded.mixture_) == str(model.mixture_)


@pytest.mark.torch
@pytest.mark.parametrize("method", METHODS)
def test_tensors_and_devices_give_the_same_model(method):
    torch = pytest.importorskip("torch")
    points = torch.from_numpy(X)
    options = {"kernels": [Gaussian(), Linear()], "method": method, "random_state": 0}
    here = MultipleKernelClassifier(**options).fit(X, Y)
    there = MultipleKernelClassifier(**options).fit(points, torch.from_numpy(Y))
    placed = MultipleKernelClassifier(**options, device="cpu").fit(X, Y)
    np.testing.assert_allclose(there.weights_, here.weights_, atol=1e-6)
    assert isinstance(there.decision_function(points), torch.Tensor)
    np.testing.assert_allclose(there.decision_function(points).numpy(), here.decision_function(X), atol=2e-3)
    np.testing.assert_allclose(placed.decision_function(X), here.decision_function(X), atol=2e-3)


REPEATED = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
    "widths of default kernels count rows once, a repeated point is not left out with its copies, and machines are "
    "solved to 1e-3",
)


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(MultipleKernelClassifier(["rbf", "linear"]), marks=pytest.mark.slow, id="loo"),
        pytest.param(MultipleKernelClassifier(method="simple"), id="simple"),
    ],
)
def test_the_checks_of_scikit_learn_pass(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        check_estimator(model, expected_failed_checks=REPEATED, on_skip=None, on_fail="raise")
