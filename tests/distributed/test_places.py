"""Workers that compute on a device give the answer of workers that do not, whatever device it is."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

from mercer import distributed  # noqa: E402
from mercer.arrays.tensors import DeviceError  # noqa: E402
from mercer.kernels import Custom, Gaussian, Laplacian, Polynomial  # noqa: E402
from mercer.models import (  # noqa: E402
    SVC,
    SVR,
    KernelLogisticRegression,
    KernelNeighborsRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
    ParzenRegressor,
)

pytestmark = pytest.mark.torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
RNG = np.random.default_rng(1)
X = RNG.normal(size=(230, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.2 * RNG.normal(size=230)
SEVERAL = np.c_[Y, X[:, 2] - Y]
TWO, THREE = np.where(Y > 0.7, "b", "a"), np.digitize(Y, [0.3, 1.2])
WEIGHTS = np.where(np.arange(230) % 7 == 0, 0.0, RNG.uniform(0.2, 2.0, size=230))


@pytest.fixture(autouse=True)
def _at_once():
    with dask.config.set(scheduler="synchronous"):
        yield


def cut(values):
    return da.from_array(values, chunks=((70, 1, 39, 120), *values.shape[1:]))


def both(make, y, weights=None, **more):
    """Predictions of the fit without partitions and device, and of the one with them, lazy ones too."""
    given = {} if weights is None else {"sample_weight": weights}
    here = make(**more).fit(X, y, **given)
    there = make(**more, device=DEVICE).fit(cut(X), cut(y), **{name: cut(value) for name, value in given.items()})
    return here, there


def assert_agree(here, there, tol=1e-8, method="predict"):
    expected, found = getattr(here, method)(X), getattr(there, method)(X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tol * np.abs(expected).max())
    np.testing.assert_allclose(
        getattr(there, method)(cut(X)).compute(), found, rtol=0, atol=1e-12 * np.abs(found).max()
    )


@pytest.mark.parametrize("y", [Y, SEVERAL], ids=["one", "several"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("kernel", [Gaussian(1.5), Laplacian(2.0)], ids=["gaussian", "laplacian"])
@pytest.mark.parametrize("intercept", [False, True])
def test_nystroem_ridge(y, weights, kernel, intercept):
    options = {"kernel": kernel, "n_centers": 40, "random_state": 0, "fit_intercept": intercept}
    here, there = both(lambda **more: KernelRidge(0.1, **options, **more), y, weights)
    assert_agree(here, there)
    assert f"on {DEVICE}" in str(there.plan_)


def test_a_kernel_without_a_form_on_the_device():
    near = Custom(lambda a, b: float(np.exp(-np.abs(a - b).sum())))
    here, there = both(
        lambda **more: KernelRidge(0.1, kernel=near, n_centers=20, random_state=0, assume_psd=True, **more), Y
    )
    assert_agree(here, there)


def test_values_that_overflow_are_an_error_as_on_the_host():
    model = KernelRidge(0.1, kernel=Polynomial(400), n_centers=10, random_state=0, solver="nystroem", device=DEVICE)
    with pytest.raises(OverflowError, match="overflows"):
        model.fit(cut(100 * X), cut(Y))


def test_conjugate_gradients():
    exact = KernelRidge(0.1, kernel=Gaussian(1.5), solver="spectral", fit_intercept=True).fit(X, Y, WEIGHTS)
    there = KernelRidge(0.1, kernel=Gaussian(1.5), solver="cg", fit_intercept=True, random_state=0, device=DEVICE)
    assert_agree(exact, there.fit(cut(X), cut(Y), cut(WEIGHTS)))


def test_leave_one_out():
    model = KernelRidge(0.1, kernel=Gaussian(1.5), n_centers=30, random_state=0, device=DEVICE).fit(cut(X), cut(Y))
    here = KernelRidge(0.1, kernel=Gaussian(1.5), n_centers=30, random_state=0).fit(X, Y)
    found = distributed.leave_one_out(model, cut(X), cut(Y)).compute()
    np.testing.assert_allclose(found, here.leave_one_out(), rtol=0, atol=1e-8)


@pytest.mark.parametrize("cv", [None, 3], ids=["leave-one-out", "folds"])
def test_choice_of_penalty_and_length_scale(cv):
    options = {"kernel": Gaussian(1.0), "length_scales": [0.7, 1.5], "alphas": [0.01, 0.1, 1.0], "cv": cv}
    here, there = both(lambda **more: KernelRidgeCV(**options, random_state=0, **more), Y)
    assert (here.alpha_, here.kernel_) == (there.alpha_, there.kernel_)
    assert_agree(here, there, 1e-6)


@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize(
    "make",
    [
        lambda **more: KernelRidgeClassifier(0.3, kernel=Gaussian(), solver="nystroem", random_state=0, **more),
        lambda **more: KernelLogisticRegression(
            0.3, kernel=Gaussian(), solver="nystroem", n_centers=30, random_state=0, tol=1e-9, **more
        ),
    ],
    ids=["ridge", "logistic"],
)
def test_classifiers(make, labels):
    here, there = both(make, labels, WEIGHTS)
    assert_agree(here, there, 1e-6, "decision_function")
    np.testing.assert_array_equal(here.predict(X), there.predict(X))


@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
def test_exact_machines(labels):
    here, there = both(lambda **more: SVC(C=1.0, tol=1e-6, kernel=Gaussian(), **more), labels)
    assert_agree(here, there, 1e-4, "decision_function")


@pytest.mark.parametrize(
    ("make", "y"),
    [
        (lambda **more: SVC(C=1.0, kernel=Gaussian(), random_state=0, **more), THREE),
        (lambda **more: SVR(kernel=Gaussian(), **more), Y),
    ],
    ids=["classes", "numbers"],
)
def test_machines_in_features(make, y, monkeypatch):
    monkeypatch.setattr("mercer.distributed.svm.EXACT_ROWS", 100)
    monkeypatch.setattr("mercer.solvers.newton.plan.CENTERS", 30)
    host, device = (make(device=place).fit(cut(X), cut(y)) for place in (None, DEVICE))
    method = "predict" if y is Y else "decision_function"
    assert_agree(host, device, 1e-6, method)


@pytest.mark.parametrize(
    "make",
    [
        lambda **more: KernelNeighborsRegressor(5, kernel=Gaussian(), **more),
        lambda **more: ParzenRegressor(length_scale=0.5, **more),
    ],
    ids=["neighbours", "windows"],
)
def test_models_that_keep_all_rows(make):
    assert_agree(*both(make, Y))


def test_a_device_that_workers_do_not_have():
    model = KernelRidge(0.1, kernel=Gaussian(), n_centers=10, device="cuda:77")
    with pytest.raises(DeviceError, match="cuda:77") as caught:
        model.fit(cut(X), cut(Y))
    assert "every worker" in caught.value.__notes__[0]
    # The client itself need not have the device: a model that is fitted already predicts lazily all the same.
    fitted = KernelRidge(0.1, kernel=Gaussian(), n_centers=10).fit(X, Y).set_params(device="cuda:77")
    lazy = fitted.predict(cut(X))
    assert lazy.shape == (230,)
    with pytest.raises(DeviceError, match="cuda:77"):
        lazy.compute()
