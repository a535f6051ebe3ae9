"""Every learner on a device gives what it gives on the host: CPU torch stands for all devices."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

torch = pytest.importorskip("torch")

from mercer import (  # noqa: E402
    KernelCCA,
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelPCA,
    KernelRidgeClassifier,
    ParzenClassifier,
    ParzenDensity,
    ParzenRegressor,
)
from mercer.arrays.tensors import DeviceError  # noqa: E402
from mercer.kernels import Custom, Gaussian, Laplacian, Linear, Matern, Polynomial  # noqa: E402
from mercer.solvers.neighbors import search as _neighbors_search  # noqa: E402
from mercer.solvers.newton import features as newton_features  # noqa: E402

pytestmark = pytest.mark.torch

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
NEW = RNG.normal(size=(25, 3))
TWO = (np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * RNG.normal(size=90) > 0).astype(int)
THREE = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=90), [-0.5, 0.5])
TARGETS = np.sin(X[:, :2]) + 0.1 * RNG.normal(size=(90, 2))
WEIGHTS = np.where(np.arange(90) < 4, 0.0, RNG.uniform(0.5, 2.0, size=90))


def tensor(data):
    return None if data is None else torch.from_numpy(np.array(data))


def fitted(make, y=None, weights=None, points=X):
    """The model on the host, with a device, and on tensors."""
    given = [] if y is None else [y]
    options = {} if weights is None else {"sample_weight": weights}
    moved = {name: tensor(value) for name, value in options.items()}
    return (
        make().fit(points, *given, **options),
        make(device="cpu").fit(points, *given, **options),
        make().fit(tensor(points), *map(tensor, given), **moved),
    )


def agree(models, method, new=NEW, rtol=1e-8, atol=1e-9):
    host, device, on_tensors = models
    expected = getattr(host, method)(new)
    found = getattr(device, method)(new)
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)
    placed = getattr(on_tensors, method)(tensor(new))
    assert isinstance(placed, torch.Tensor)
    np.testing.assert_allclose(placed.numpy(), expected, rtol=rtol, atol=atol)
    assert placed.numpy().dtype == expected.dtype


# -- ridge classifier -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_a_ridge_classifier_on_a_device_is_that_of_the_host(y, weights):
    models = fitted(KernelRidgeClassifier, y, weights)
    agree(models, "decision_function")
    agree(models, "predict")
    host, device, on_tensors = models
    for model in (device, on_tensors):
        assert model.alpha_ == pytest.approx(host.alpha_)
        assert model.loo_accuracy_ == pytest.approx(host.loo_accuracy_)
        assert isinstance(model.dual_coef_, np.ndarray)
        assert "cpu" in model.plan_.reason


def test_a_ridge_classifier_with_explicit_features_takes_tensors():
    agree(fitted(lambda **given: KernelRidgeClassifier(kernel=Linear(), **given), THREE), "decision_function")


def test_labels_that_are_texts_stay_an_array():
    model = KernelRidgeClassifier(0.1).fit(tensor(X), np.array(["a", "b", "c"])[THREE])
    answer = model.predict(tensor(NEW))
    assert isinstance(answer, np.ndarray)
    assert set(answer) <= {"a", "b", "c"}


def test_a_kernel_given_as_a_tensor_of_values_is_used_on_the_host():
    K, cross = Gaussian()(X), Gaussian()(NEW, X)
    host = KernelRidgeClassifier(kernel="precomputed").fit(K, THREE)
    found = KernelRidgeClassifier(kernel="precomputed").fit(tensor(K), tensor(THREE))
    np.testing.assert_allclose(found.decision_function(tensor(cross)).numpy(), host.decision_function(cross))


# -- logistic regression ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_logistic_regression_with_factors_is_that_of_the_host(y, weights):
    models = fitted(lambda **given: KernelLogisticRegression(solver="newton", **given), y, weights)
    for method in ("decision_function", "predict_proba", "predict_log_proba", "predict"):
        agree(models, method, atol=1e-7)
    host, device, on_tensors = models
    for model in (device, on_tensors):
        assert model.objective_ == pytest.approx(host.objective_, rel=1e-10)
        assert model.converged_
        assert model.duality_gap_.relative <= 1e-8
        assert isinstance(model.dual_coef_, np.ndarray)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("solver", ["newton-cg", "nystroem"])
def test_iterated_logistic_solvers_reach_the_minimum_of_the_host(y, solver):
    options = {"solver": solver, "n_centers": 90 if solver == "nystroem" else None, "random_state": 0}
    models = fitted(lambda **given: KernelLogisticRegression(tol=1e-12, **options, **given), y)
    for model in models[1:]:
        assert model.objective_ == pytest.approx(models[0].objective_, rel=1e-9)
    agree(models, "predict_proba", rtol=1e-4, atol=1e-5)


def test_a_nystroem_model_on_a_device_has_as_many_centres_as_were_asked_for():
    model = KernelLogisticRegression(n_centers=20, device="cpu", random_state=0).fit(X, THREE)
    assert model.dual_coef_.shape == (20, 3)
    assert model.converged_
    assert model.score(X, THREE) > 0.7


def test_features_that_do_not_fit_are_computed_again_for_every_step(monkeypatch):
    model = KernelLogisticRegression(n_centers=20, device="cpu", random_state=0)
    kept = model.fit(X, TWO).objective_
    monkeypatch.setattr(newton_features, "SHARE", 10**15)  # of the budget, which leaves no room for them
    monkeypatch.setattr(newton_features, "DEVICE_BLOCK", 20 * 32)  # in three blocks
    assert model.fit(X, TWO).objective_ == pytest.approx(kept, rel=1e-12)


@pytest.mark.parametrize("cv", [None, 3])
def test_logistic_regression_chooses_the_same_on_a_device(cv):
    models = fitted(lambda **given: KernelLogisticRegressionCV([0.1, 1.0], cv=cv, random_state=0, **given), THREE)
    for model in models[1:]:
        assert (model.alpha_, model.path_["by"]) == (models[0].alpha_, models[0].path_["by"])
        np.testing.assert_allclose(model.path_["log_losses"], models[0].path_["log_losses"], rtol=1e-6)
    agree(models, "predict_proba", rtol=1e-6, atol=1e-7)


# -- neighbours -------------------------------------------------------------------------------------------------------

KERNELS = [Linear(), Gaussian(), Laplacian(), Polynomial(2), Gaussian([1.0, 2.0, 3.0]), Matern().on([0, 2])]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("data", ["real", "grid"])
def test_neighbours_and_their_order_are_those_of_the_host(kernel, data, monkeypatch):
    monkeypatch.setattr(_neighbors_search, "DEVICE_POINTS", 40)  # several tiles
    monkeypatch.setattr(_neighbors_search, "DEVICE_ENTRIES", {"cpu": 600})
    points = X if data == "real" else RNG.integers(0, 3, size=(90, 3)).astype(float)  # with many ties
    new = NEW if data == "real" else points[::4]
    models = fitted(lambda **given: KernelNeighborsClassifier(4, kernel=kernel, **given), THREE, points=points)
    expected = models[0].kneighbors(new)
    found = [models[1].kneighbors(new), tuple(part.numpy() for part in models[2].kneighbors(tensor(new)))]
    for distances, indices in found:
        np.testing.assert_array_equal(indices, expected[1])
        np.testing.assert_allclose(distances, expected[0], rtol=1e-9, atol=1e-7)
    for model in models[1:]:
        np.testing.assert_array_equal(model.kneighbors()[1], models[0].kneighbors()[1])
    agree(models, "predict_proba", new)


def test_more_ties_than_are_kept_are_settled_by_position():
    points = np.zeros((200, 2))
    distances, indices = KernelNeighborsClassifier(3, device="cpu").fit(points, np.arange(200) % 2).kneighbors()
    assert (distances == 0).all()
    np.testing.assert_array_equal(indices[:2], [[1, 2, 3], [0, 2, 3]])
    np.testing.assert_array_equal(indices[-1], [0, 1, 2])


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_means_of_neighbours_are_those_of_the_host(weights):
    make = KernelNeighborsRegressor
    agree(fitted(lambda **given: make(5, kernel=Gaussian(), weights=weights, **given), TARGETS), "predict")


def test_several_labels_of_a_point_come_back_as_a_list_of_tensors():
    labels = np.stack([TWO, THREE], axis=1)
    model = KernelNeighborsClassifier(3).fit(tensor(X), tensor(labels))
    shares = model.predict_proba(tensor(NEW))
    assert [tuple(share.shape) for share in shares] == [(25, 2), (25, 3)]
    assert all(isinstance(share, torch.Tensor) for share in shares)


def test_objects_are_searched_on_the_host_whatever_the_device():
    letters = Custom(lambda a, b: float(len(set(a) & set(b))))
    model = KernelNeighborsClassifier(kernel=letters, device="cpu").fit(["kernel", "dog"], ["maths", "pet"])
    assert model.predict(["keel", "god"]).tolist() == ["maths", "pet"]


# -- Parzen windows ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel", ["gaussian", "exponential", "epanechnikov", Laplacian(2.0), Gaussian() + Linear() ** 2]
)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_densities_are_those_of_the_host(kernel, weights):
    models = fitted(lambda **given: ParzenDensity(kernel, **given), weights=weights)
    agree(models, "score_samples")
    assert float(models[2].score(tensor(NEW))) == pytest.approx(models[0].score(NEW))


def test_densities_far_away_come_from_logarithms_as_on_the_host():
    far = np.array([[60.0, 0.0, 0.0], [0.0, -80.0, 0.0]])
    agree(fitted(lambda **given: ParzenDensity("gaussian", length_scale=0.5, **given)), "score_samples", far)


def test_samples_of_a_density_of_tensors_are_points():
    model = ParzenDensity(length_scale=0.5).fit(tensor(X))
    assert model.sample(7, random_state=0).shape == (7, 3)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("far", [0.0, 70.0])
def test_classes_and_means_in_windows_are_those_of_the_host(weights, far):
    models = fitted(ParzenClassifier, THREE, weights)
    agree(models, "predict_log_proba", NEW + far)
    agree(models, "predict_proba", NEW + far)
    agree(models, "predict", NEW + far)
    agree(fitted(ParzenRegressor, TARGETS, weights), "predict", NEW + far)


def test_outside_of_compact_windows_the_nearest_point_decides_on_a_device_too():
    models = fitted(lambda **given: ParzenClassifier("uniform", length_scale=0.5, **given), THREE)
    with pytest.warns(UserWarning, match="no window reaches"):
        agree(models, "predict", NEW + 5.0)


def test_a_window_that_is_negative_is_refused_on_a_device_too():
    with pytest.raises(ValueError, match="must not be negative"):
        ParzenRegressor(Linear(), device="cpu").fit(X, TWO).predict(NEW)


# -- principal components ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["dense", "arpack", "randomized"])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), "poly"], ids=str)
def test_principal_components_are_those_of_the_host(solver, kernel):
    # As many products as make the random subspace exact.
    options = {"eigen_solver": solver, "kernel": kernel, "random_state": 0, "iterated_power": 60}
    models = fitted(lambda **given: KernelPCA(3, **options, **given))
    for model in models[1:]:
        np.testing.assert_allclose(model.eigenvalues_, models[0].eigenvalues_, rtol=1e-7)
        assert isinstance(model.eigenvectors_, np.ndarray)
    agree(models, "transform", rtol=1e-5, atol=1e-6)
    agree(models, "fit_transform", X, rtol=1e-5, atol=1e-6)


def test_nystroem_components_of_tensors_come_from_the_host():
    models = fitted(
        lambda **given: KernelPCA(2, kernel=Gaussian(2.0), eigen_solver="nystroem", random_state=0, **given)
    )
    agree(models, "transform")


def test_canonical_correlations_are_those_of_the_host():
    models = fitted(lambda **given: KernelCCA(2, kernel=Gaussian(2.0), kernel_y=Linear(), **given), TARGETS)
    for model in models[1:]:
        np.testing.assert_allclose(model.correlations_, models[0].correlations_, rtol=1e-9)
    agree(models, "transform", rtol=1e-6, atol=1e-7)
    score = models[0].score(X, TARGETS)
    assert models[1].score(X, TARGETS) == pytest.approx(score)
    assert models[2].score(tensor(X), tensor(TARGETS)) == pytest.approx(score)
    found = models[2].transform(tensor(X), tensor(TARGETS))
    assert all(isinstance(side, torch.Tensor) for side in found)
    np.testing.assert_allclose(found[1].numpy(), models[0].transform(X, TARGETS)[1], rtol=1e-6, atol=1e-7)


def test_points_come_back_from_components_on_a_device():
    models = fitted(lambda **given: KernelPCA(4, kernel=Gaussian(2.0), fit_inverse_transform=True, **given))
    scores = models[0].transform(NEW)
    expected = models[0].inverse_transform(scores)
    np.testing.assert_allclose(models[1].inverse_transform(scores), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(models[2].inverse_transform(tensor(scores)).numpy(), expected, rtol=1e-6, atol=1e-8)


def test_changing_a_tensor_after_the_fit_changes_no_component():
    points = tensor(X)
    model = KernelPCA(2, kernel=Gaussian()).fit(points)
    before = model.transform(tensor(NEW))
    points[:] = 0.0
    assert torch.equal(model.transform(tensor(NEW)), before)


# -- precision and bad input ------------------------------------------------------------------------------------------

MODELS = [
    (lambda **given: KernelRidgeClassifier(0.1, **given), THREE, "decision_function"),
    (lambda **given: KernelLogisticRegression(solver="newton", **given), THREE, "predict_proba"),
    (lambda **given: KernelNeighborsRegressor(3, **given), TARGETS, "predict"),
    (lambda **given: ParzenRegressor(**given), TARGETS, "predict"),
    (lambda **given: KernelPCA(2, kernel=Gaussian(), **given), None, "transform"),
]
NAMES = ["ridge", "logistic", "neighbours", "parzen", "pca"]


@pytest.mark.parametrize(("make", "y", "method"), MODELS, ids=NAMES)
def test_single_precision_agrees_to_single_precision(make, y, method):
    agree(fitted(make, y, points=X.astype(np.float32)), method, NEW.astype(np.float32), rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("kind", [torch.int32, torch.float16], ids=str)
@pytest.mark.parametrize(("make", "y", "method"), MODELS, ids=NAMES)
def test_integers_halves_and_strided_tensors_are_taken(make, y, method, kind):
    whole = np.arange(270).reshape(90, 3) * 7 % 11
    host = make().fit(whole.astype(float), *([] if y is None else [y]))
    strided = tensor(np.repeat(whole, 2, axis=1)).to(kind)[:, ::2]
    model = make().fit(strided, *([] if y is None else [tensor(y)]))
    np.testing.assert_allclose(
        getattr(model, method)(strided[:9]).numpy(),
        getattr(host, method)(whole[:9].astype(float)),
        rtol=1e-4,
        atol=1e-4,
    )


@pytest.mark.parametrize(("make", "y", "method"), MODELS, ids=NAMES)
def test_missing_values_in_tensors_are_named(make, y, method):
    points = tensor(X)
    points[5, 1] = torch.nan
    with pytest.raises(ValueError, match=r"finite|NaN"):
        getattr(make().fit(points, *([] if y is None else [tensor(y)])), method)(tensor(NEW))


@pytest.mark.parametrize(("make", "y", "method"), MODELS[2:], ids=NAMES[2:])
def test_tensors_on_different_devices_are_refused(make, y, method):
    model = make().fit(tensor(X), *([] if y is None else [tensor(y)]))
    with pytest.raises(DeviceError, match="different devices"):
        getattr(model, method)(tensor(NEW).to("meta"))


@pytest.mark.parametrize(("make", "y", "method"), MODELS, ids=NAMES)
def test_arrays_give_arrays_from_a_model_of_tensors_and_the_other_way_round(make, y, method):
    given = [] if y is None else [y]
    on_tensors, on_arrays = make().fit(tensor(X), *map(tensor, given)), make().fit(X, *given)
    assert isinstance(getattr(on_tensors, method)(NEW), np.ndarray)
    assert isinstance(getattr(on_arrays, method)(tensor(NEW)), torch.Tensor)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
@pytest.mark.parametrize(("make", "y", "method"), MODELS[:2] + MODELS[4:], ids=NAMES[:2] + NAMES[4:])
def test_a_device_that_is_not_there_leaves_the_model_unfitted(make, y, method):
    model = make(device="cuda")
    with pytest.raises(DeviceError, match="no CUDA device"):
        model.fit(X, *([] if y is None else [y]))
    with pytest.raises(NotFittedError):
        getattr(model, method)(NEW)
