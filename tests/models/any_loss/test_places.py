"""Any loss on a device gives what it gives on the host: CPU torch stands for all devices."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from mercer import KernelClassifier, KernelQuantileRegressor, KernelRegressor  # noqa: E402
from mercer.kernels import Gaussian  # noqa: E402
from mercer.losses import CustomLoss, NormBound  # noqa: E402

pytestmark = pytest.mark.torch

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 2))
NEW = RNG.normal(size=(11, 2))
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=50)
COUNTS = np.round(np.exp(1 + Y))
THREE = np.digitize(Y, [-0.4, 0.4])
WEIGHTS = np.where(np.arange(50) < 4, 0.0, RNG.uniform(0.5, 2.0, size=50))


def tensor(data):
    return torch.from_numpy(np.array(data))


def agree(make, y, method="predict", rtol=1e-5, atol=1e-6):
    """The model on the host, with a device and on tensors says the same."""
    host = make().fit(X, y, WEIGHTS)
    device = make().set_params(device="cpu").fit(X, y, WEIGHTS)
    placed = make().fit(tensor(X), tensor(y), tensor(WEIGHTS))
    expected = getattr(host, method)(NEW)
    np.testing.assert_allclose(getattr(device, method)(NEW), expected, rtol=rtol, atol=atol)
    found = getattr(placed, method)(tensor(NEW))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), expected, rtol=rtol, atol=atol)
    for model in (device, placed):
        assert model.converged_
        assert isinstance(model.dual_coef_, np.ndarray)
        assert model.objective_ == pytest.approx(host.objective_, rel=max(1e-7, rtol / 10))


def pseudo_huber(y, f):
    return np.sqrt(1 + (y - f) ** 2) - 1


SMOOTH = [
    "Squared", "Expectile(.8)", "Huber(.2)", "LogCosh", "SquaredEpsilonInsensitive(.1)", "Poisson", "Gamma",
    CustomLoss(pseudo_huber), CustomLoss(pseudo_huber, lambda y, f: (f - y) / np.sqrt(1 + (y - f) ** 2)),
]  # fmt: skip
CORNERS = ["Absolute", "Quantile(.3)", "EpsilonInsensitive(.1)", CustomLoss(lambda y, f: np.abs(y - f))]


@pytest.mark.parametrize("solver", ["newton", "newton-cg", "nystroem"])
@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_smooth_losses(loss, solver):
    y = COUNTS + 1 if loss == "Gamma" else COUNTS if loss == "Poisson" else Y
    options = {"n_centers": 20 if solver == "nystroem" else None, "random_state": 0, "tol": 1e-10}
    agree(lambda: KernelRegressor(loss, kernel=Gaussian(), solver=solver, **options), y, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("solver", ["smo", "proximal", "nystroem"])
@pytest.mark.parametrize("loss", CORNERS, ids=str)
def test_losses_with_corners(loss, solver):
    if solver == "smo" and isinstance(loss, CustomLoss):
        pytest.skip("boxes are those of losses that are known to be piecewise linear")
    options = {"n_centers": 20 if solver == "nystroem" else None, "random_state": 0, "tol": 1e-4}
    agree(lambda: KernelRegressor(loss, kernel=Gaussian(), solver=solver, **options), Y, rtol=5e-2, atol=2e-2)


@pytest.mark.parametrize("loss", ["Hinge", "SquaredHinge", "Logistic", "Exponential", "Softmax"])
def test_classes(loss):
    rough = {"rtol": 5e-2, "atol": 2e-2} if loss == "Hinge" else {"rtol": 1e-4, "atol": 1e-5}
    tol = 1e-4 if loss == "Hinge" else 1e-10
    agree(lambda: KernelClassifier(loss, kernel=Gaussian(), tol=tol), THREE, "decision_function", **rough)
    if loss != "Hinge":
        agree(lambda: KernelClassifier(loss, kernel=Gaussian(), tol=tol), THREE, "predict_proba", **rough)


def test_quantiles_and_penalties():
    agree(lambda: KernelQuantileRegressor([0.2, 0.8], kernel=Gaussian(), tol=1e-6), Y, rtol=1e-2, atol=1e-2)
    bound = lambda: KernelRegressor("Huber(.2)", kernel=Gaussian(), penalty=NormBound(0.7))  # noqa: E731
    agree(bound, Y, rtol=1e-3, atol=1e-4)
