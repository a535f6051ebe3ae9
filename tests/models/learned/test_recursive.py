"""Models in a learned metric find what matters, whatever its units, and say what they were given."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer.arrays.tensors import host_array
from mercer.certify.verdict import Proved
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Overlap, PowerExponential
from mercer.learning.metrics import search
from mercer.models import KernelRidge, KernelRidgeCV, RecursiveFeatureClassifier, RecursiveFeatureRegressor

WEIGHTS = "check_sample_weight_equivalence_on_dense_data"


@pytest.fixture(scope="module")
def ridge_function():
    """A function of one direction of four features, the last of which is constant."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(250, 3)), np.full(250, 7.0)])
    y = np.sin(1.5 * (X[:, 0] - 2.0 * X[:, 1])) + 0.02 * rng.normal(size=250)
    return X, y, RecursiveFeatureRegressor(random_state=0).fit(X, y)


def test_the_direction_that_matters_is_found(ridge_function):
    X, _, model = ridge_function
    direction = model.components_[0] / X.std(axis=0).clip(1e-9)
    direction /= np.abs(direction[:3]).max()
    np.testing.assert_allclose(np.abs(direction[:3]), [0.5, 1.0, 0.0], atol=0.1)
    assert model.component_shares_[0] > 0.9
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_a_constant_column_has_no_say(ridge_function):
    X, _, model = ridge_function
    assert model.feature_importances_[3] == 0.0
    assert (model.metric_[3] == 0.0).all()
    moved = X[:5].copy()
    moved[:, 3] = -100.0
    np.testing.assert_array_equal(model.predict(moved), model.predict(X[:5]))


def test_it_is_better_than_length_scales_where_a_direction_matters(ridge_function):
    X, y, model = ridge_function
    rng = np.random.default_rng(1)
    new = np.column_stack([rng.normal(size=(300, 3)), np.full(300, 7.0)])
    truth = np.sin(1.5 * (new[:, 0] - 2.0 * new[:, 1]))
    scales = KernelRidgeCV(random_state=0).fit(X, y)
    ours, theirs = (np.mean((each.predict(new) - truth) ** 2) for each in (model, scales))
    assert ours < 0.5 * theirs


def test_the_learned_kernel_is_a_kernel_as_any_other(ridge_function):
    X, y, model = ridge_function
    assert isinstance(model.kernel_.certificate(), Proved)
    again = KernelRidge(model.alpha_, kernel=model.kernel_, fit_intercept=True).fit(X, y)
    np.testing.assert_allclose(again.predict(X[:9]), model.predict(X[:9]), rtol=1e-6)
    distances = np.einsum(
        "ijk,kl,ijl->ij", *([X[:4, None] - X[None, :4]] * 1), model.metric_, X[:4, None] - X[None, :4]
    )
    base = model.kernel_.kernel if hasattr(model.kernel_, "map") else None
    if base is not None:
        np.testing.assert_allclose(
            base(np.sqrt(distances[0])[:, None], [[0.0]])[:, 0], model.kernel_(X[:4])[0], rtol=1e-8
        )


def test_units_of_features_and_targets_do_not_matter():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 3))
    y = np.cos(X[:, 0] + X[:, 2])
    units = np.array([1e-6, 1.0, 1e6])
    plain = RecursiveFeatureRegressor(random_state=0).fit(X, y)
    scaled = RecursiveFeatureRegressor(random_state=0).fit(X * units, 1e5 * y + 3.0)
    np.testing.assert_allclose(scaled.predict(X * units), 1e5 * plain.predict(X) + 3.0, rtol=1e-3, atol=1e2)
    np.testing.assert_allclose(scaled.feature_importances_, plain.feature_importances_, atol=1e-3)


@pytest.mark.parametrize("metric", ["diagonal", "blocks", "full"])
def test_metrics_have_the_structure_that_was_asked_for(metric):
    X, y = load_diabetes(return_X_y=True)
    blocks = [[0, 1], [4, 5, 6]]
    model = RecursiveFeatureRegressor(metric=metric, blocks=blocks, random_state=0).fit(X[:150], y[:150])
    allowed = np.eye(10, dtype=bool)
    for block in blocks if metric == "blocks" else [range(10)] if metric == "full" else []:
        allowed[np.ix_(block, block)] = True
    assert (model.metric_[~allowed] == 0).all()
    np.testing.assert_allclose(model.metric_, model.metric_.T)
    assert np.linalg.eigvalsh(model.metric_).min() > -1e-9 * np.trace(model.metric_)


@pytest.mark.parametrize(
    "kernel", [Gaussian(), Laplacian(), PowerExponential(1.5, 1.0), [Matern(0.5), Gaussian()]], ids=str
)
def test_any_kernel_with_slopes_learns_a_metric(kernel):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(90, 3))
    y = np.sin(2.0 * X[:, 0])
    model = RecursiveFeatureRegressor(kernel, random_state=0).fit(X, y)
    assert model.feature_importances_.argmax() == 0
    assert model.feature_importances_[0] > 0.8


def test_rounds_alone_are_the_recursive_feature_machine_and_none_is_one_scale():
    X, y = load_diabetes(return_X_y=True)
    rounds = RecursiveFeatureRegressor(refine=False, rounds=1, random_state=0).fit(X[:120], y[:120])
    assert {c["origin"].split(",")[-1].strip() for c in rounds.candidates_} == {"isotropic", "round 1"}
    plain = RecursiveFeatureRegressor(refine=False, rounds=0, random_state=0).fit(X[:120], y[:120])
    spread = X[:120].std(axis=0)
    root = spread * np.sqrt(np.diag(plain.metric_))
    np.testing.assert_allclose(root, root[0])


def test_the_choice_is_the_least_error_of_rows_that_were_not_learned_from(ridge_function):
    _, _, model = ridge_function
    assert {"origin", "kernel", "error", "alpha"} == set(model.candidates_[0])
    best = min(model.candidates_, key=lambda one: one["error"])
    assert best["origin"].startswith("full")
    assert best["error"] < 0.1 * model.candidates_[0]["error"]


def test_several_outputs_share_a_metric_and_leave_one_out_is_exact():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 2))
    y = np.column_stack([np.sin(2.0 * X[:, 0]), 10.0 * np.cos(2.0 * X[:, 0])])
    model = RecursiveFeatureRegressor(random_state=0).fit(X, y)
    assert model.predict(X).shape == (60, 2)
    assert model.metric_[0, 0] > 3.0 * model.metric_[1, 1]
    rest = np.arange(60) != 7
    refit = KernelRidge(model.alpha_, kernel=model.kernel_, fit_intercept=True).fit(X[rest], y[rest])
    np.testing.assert_allclose(model.loo_predictions_[7], refit.predict(X[7:8])[0], rtol=1e-4, atol=1e-6)


def test_classes_share_a_metric():
    X, y = load_iris(return_X_y=True)
    noise = np.random.default_rng(0).normal(size=(150, 2))
    wide = np.column_stack([X, noise])
    model = RecursiveFeatureClassifier(random_state=0).fit(wide, np.array(["a", "b", "c"])[y])
    assert model.loo_accuracy_ > 0.94
    assert model.feature_importances_[4:].sum() < 0.2
    assert model.metric_.shape == (6, 6)
    assert set(model.predict(wide)) == {"a", "b", "c"}


@pytest.mark.parametrize("kind", [RecursiveFeatureRegressor, RecursiveFeatureClassifier])
def test_model_files_and_clones_keep_everything(kind, tmp_path):
    rng = np.random.default_rng(6)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    y = (X["a"] + X["b"] > 0).to_numpy().astype(int)
    model = clone(kind(blocks=[["a", "b"]], random_state=0)).fit(X, y)
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.metric_, model.metric_)
    assert again.kernel_ == model.kernel_
    assert again.candidates_ == model.candidates_


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"metric": "round"}, ValueError, "metric must be one of 'auto', 'full', 'blocks', 'diagonal'"),
        ({"metric": "blocks"}, ValueError, "needs blocks, lists of columns"),
        ({"blocks": [[0, 9]]}, ValueError, "column 9, which is none of the 3 columns"),
        ({"blocks": [[0, 1], [1, 2]]}, ValueError, "column 1 is in more than one block"),
        ({"blocks": [0, 1]}, TypeError, "lists of columns"),
        ({"rounds": -1}, ValueError, "rounds must be a whole number"),
        ({"kernel": "rbf"}, TypeError, "kernel must be a mercer kernel of a distance"),
        ({"kernel": []}, TypeError, "kernel must be a mercer kernel of a distance"),
        ({"kernel": Overlap()}, ValueError, "has no slope in x"),
        ({"kernel": Gaussian().after(np.sin)}, ValueError, "slope"),
        ({"alphas": [-1.0]}, ValueError, "alpha"),
    ],
)
@pytest.mark.parametrize("kind", [RecursiveFeatureRegressor, RecursiveFeatureClassifier])
def test_bad_arguments_say_what_to_do(kind, options, error, words):
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.tile([0, 1], 15)
    model = kind(**options)
    with pytest.raises(error, match=words):
        model.fit(X, y)
    assert not hasattr(model, "metric_")


def test_points_that_are_all_alike_are_predicted_by_their_mean():
    model = RecursiveFeatureRegressor(random_state=0).fit(np.ones((20, 2)), np.arange(20.0))
    np.testing.assert_allclose(model.predict(np.ones((2, 2))), 9.5, rtol=1e-6)
    assert (model.metric_ == 0).all()
    assert (model.feature_importances_ == 0).all()


def test_constant_targets_and_very_few_points_have_defined_answers():
    X = np.random.default_rng(0).normal(size=(40, 2))
    np.testing.assert_allclose(RecursiveFeatureRegressor(random_state=0).fit(X, np.full(40, 3.0)).predict(X), 3.0)
    few = RecursiveFeatureRegressor(random_state=0).fit(X[:3], [0.0, 1.0, 2.0])
    assert np.isfinite(few.predict(X)).all()


def test_points_without_weight_are_not_learned_from():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(80, 2))
    y = np.sin(X[:, 0])
    spoiled = np.r_[y, 1e6 * rng.normal(size=5)]
    weights = np.r_[np.ones(80), np.zeros(5)]
    more = RecursiveFeatureRegressor(random_state=0).fit(np.r_[X, rng.normal(size=(5, 2))], spoiled, weights)
    fewer = RecursiveFeatureRegressor(random_state=0).fit(X, y)
    np.testing.assert_allclose(more.predict(X), fewer.predict(X), atol=1e-4)


def test_a_linear_kernel_learns_a_metric_too():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(60, 3))
    model = RecursiveFeatureRegressor(Linear(), random_state=0).fit(X, X @ [1.0, -2.0, 0.0])
    np.testing.assert_allclose(model.feature_importances_[2], 0.0, atol=1e-3)


@pytest.mark.parametrize("kind", [RecursiveFeatureRegressor, RecursiveFeatureClassifier])
def test_the_checks_of_scikit_learn_pass(kind, monkeypatch):
    monkeypatch.setattr(search, "COARSE", search.COARSE[1::2])  # conventions hold however many scales are tried
    monkeypatch.setattr(search, "NEAR", search.NEAR[1:2])
    model = kind(Gaussian(), metric="diagonal", rounds=1, refine=False, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)  # the array API is not enabled
        check_estimator(model, expected_failed_checks={WEIGHTS: "rows are cut in two at random"})


@pytest.mark.torch
def test_a_device_learns_what_the_host_learns():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(10)
    X = rng.normal(size=(70, 3))
    y = np.sin(2.0 * X[:, 0])
    host = RecursiveFeatureRegressor(random_state=0).fit(X, y)
    there = RecursiveFeatureRegressor(random_state=0).fit(torch.as_tensor(X), torch.as_tensor(y))
    np.testing.assert_allclose(there.feature_importances_, host.feature_importances_, atol=0.02)
    np.testing.assert_allclose(host_array(there.predict(torch.as_tensor(X))), host.predict(X), atol=0.05)
