"""On a real CUDA device: every kernel and every model agrees with the host, tensors stay where they are."""

import numpy as np
import pytest

from mercer import (
    SVC,
    SVR,
    Expansion,
    Gram,
    KernelLogisticRegression,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelPCA,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
    MemoryBudgetError,
    NuSVC,
    OneClassSVM,
    ParzenClassifier,
    ParzenDensity,
    ParzenRegressor,
)
from mercer.kernels import (
    Chi2,
    Cosine,
    Gaussian,
    Intersection,
    Laplacian,
    Linear,
    LinearMap,
    Matern,
    Overlap,
    Periodic,
    Polynomial,
    PowerExponential,
    RationalQuadratic,
    Sigmoid,
    exp,
)

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]

KERNELS = [
    Gaussian(1.5),
    Gaussian([1.0, 2.0, 3.0, 4.0]),
    Matern(0.5) + Matern(2.5),
    Matern(1.5) * Polynomial(3, 1.0),
    RationalQuadratic(2.0, 0.7),
    PowerExponential(1.5, 0.7, 2.0),
    PowerExponential(1.2, 1.1),
    Gaussian(2.0).after(LinearMap(np.linspace(-1.0, 1.0, 8).reshape(4, 2))),
    Laplacian(2.0),
    Periodic(),
    Cosine(),
    Linear().normalize(),
    Gaussian(2.0).on([0, 2]) + 0.5 * Linear().on([3]),
    exp(0.1 * Linear()),
    (Gaussian() + 1.0) ** 3,
    Sigmoid(),
    Chi2(),
    Intersection(),
    Overlap(),
    Matern(0.7),
]


def points(kernel, n, m, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    if isinstance(kernel, Overlap):
        return np.round(X), np.round(Z)
    return (np.abs(X), np.abs(Z)) if isinstance(kernel, Chi2 | Intersection) else (X, Z)


@pytest.mark.parametrize("columns", [1, 2, 3, 8, 32, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_products_agree_with_float64_on_the_host(kernel, dtype, columns):
    X, Z = points(kernel, 700, 1333)
    V = np.random.default_rng(1).normal(size=(1333, columns))
    K = kernel(X, Z)
    place = {"device": "cuda", "dtype": getattr(torch, np.dtype(dtype).name)}
    got = (Gram(kernel, torch.tensor(X).to(**place), torch.tensor(Z).to(**place)) @ V).cpu().numpy()
    allowed = 2e-5 if dtype is np.float32 else 1e-11
    assert np.linalg.norm(got - K @ V) <= allowed * np.linalg.norm(K) * np.linalg.norm(V) / np.sqrt(1333)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("n", [1, 63, 64, 513, 2049])
@pytest.mark.parametrize("d", [1, 7, 40, 100, 2000])
def test_symmetric_products_of_every_shape(d, n, dtype):
    X = np.random.default_rng(0).normal(size=(n, d)) / np.sqrt(d)
    V = np.random.default_rng(1).normal(size=(n, 1))
    K = Gaussian(0.7)(X)
    got = (Gram(Gaussian(0.7), X.astype(dtype), device="cuda") @ V).cpu().numpy()
    allowed = 2e-5 if dtype is np.float32 else 1e-11
    assert np.linalg.norm(got - K @ V) <= allowed * np.linalg.norm(K) * np.linalg.norm(V) / np.sqrt(n)


def test_points_far_from_the_origin_and_of_large_scale():
    rng = np.random.default_rng(0)
    X = (1e4 + rng.normal(size=(500, 3))).astype(np.float32)
    W = (1e6 * rng.normal(size=(500, 3))).astype(np.float32)
    for data, scale in ((X, 1.0), (W, 1e6)):
        K = Gaussian(scale)(data.astype(np.float64))
        got = (Gram(Gaussian(scale), data, device="cuda") @ np.ones(500)).cpu().numpy()
        np.testing.assert_allclose(got, K.sum(axis=1), rtol=1e-4)


def test_views_and_other_types_of_tensors():
    X = torch.randn(300, 6, device="cuda")
    for data in (X[::2, 1:4], X.half(), (4 * X).to(torch.int32), X.T.contiguous().T):
        truth = Gaussian()(data.double().cpu().numpy()).sum(axis=1)
        np.testing.assert_allclose((Gram(Gaussian(), data) @ np.ones(len(data))).cpu().numpy(), truth, rtol=1e-4)


def classes(n=600):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.3), rng.normal(size=(100, 4))


REGRESSORS = [
    KernelRidge(0.1, kernel=Gaussian(1.5)),
    KernelRidge(0.1, kernel=Gaussian(1.5), solver="cg", random_state=0),
    KernelRidge(0.1, kernel=Gaussian(1.5), solver="spectral"),
    KernelRidgeCV([0.01, 0.1, 1.0], kernel=Gaussian(), length_scales=[1.0, 2.0]),
    SVR(kernel=Gaussian(1.5), C=5.0, tol=1e-4),
    KernelNeighborsRegressor(3, kernel=Gaussian(1.5)),
    ParzenRegressor(length_scale=0.7),
]
CLASSIFIERS = [
    KernelRidgeClassifier(0.1, kernel=Gaussian(1.5)),
    SVC(C=5.0, tol=1e-4),
    NuSVC(nu=0.2, tol=1e-4),
    KernelLogisticRegression(0.1, kernel=Gaussian(1.5)),
    KernelNeighborsClassifier(3, kernel=Gaussian(1.5)),
    ParzenClassifier(length_scale=0.7),
]


def name(model):
    return f"{type(model).__name__}-{getattr(model, 'solver', '')}"


@pytest.mark.parametrize("model", REGRESSORS, ids=name)
def test_regressors_agree_with_the_host(model):
    X, y, T = classes()
    y = np.sin(X[:, 0]) + X[:, 1]
    host = model.__class__(**model.get_params(deep=False)).fit(X, y).predict(T)
    there = model.__class__(**{**model.get_params(deep=False), "device": "cuda"}).fit(X, y)
    assert isinstance(there.predict(T), np.ndarray)
    np.testing.assert_allclose(there.predict(T), host, atol=2e-3)
    tensors = model.__class__(**model.get_params(deep=False)).fit(torch.tensor(X).cuda(), torch.tensor(y).cuda())
    answers = tensors.predict(torch.tensor(T).cuda())
    assert answers.device.type == "cuda"
    np.testing.assert_allclose(answers.cpu().numpy(), host, atol=2e-3)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name)
def test_classifiers_agree_with_the_host(model):
    X, y, T = classes()
    host = model.__class__(**model.get_params(deep=False)).fit(X, y).predict(T)
    there = model.__class__(**{**model.get_params(deep=False), "device": "cuda"}).fit(X, y)
    assert np.mean(there.predict(T) == host) >= 0.99
    tensors = model.__class__(**model.get_params(deep=False)).fit(torch.tensor(X).cuda(), torch.tensor(y).cuda())
    answers = tensors.predict(torch.tensor(T).cuda())
    assert answers.device.type == "cuda"
    assert np.mean(answers.cpu().numpy() == host) >= 0.99


def test_density_novelty_and_components_agree_with_the_host():
    X, _, T = classes()
    host = ParzenDensity(length_scale=0.7).fit(X).score_samples(T)
    np.testing.assert_allclose(ParzenDensity(length_scale=0.7, device="cuda").fit(X).score_samples(T), host, rtol=1e-6)
    host = OneClassSVM(nu=0.2, tol=1e-5).fit(X).decision_function(T)
    np.testing.assert_allclose(
        OneClassSVM(nu=0.2, tol=1e-5, device="cuda").fit(X).decision_function(T), host, atol=1e-2
    )
    options = {"n_components": 3, "kernel": "rbf", "gamma": 0.1}
    host, there = (KernelPCA(**options, **extra).fit_transform(X) for extra in ({}, {"device": "cuda"}))
    np.testing.assert_allclose(np.abs(there), np.abs(host), atol=1e-6)


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_large_fits_certify_their_residual_in_double_precision(solver):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 5)).astype(np.float32)
    y = np.sin(X[:, 0])
    model = KernelRidge(0.1, kernel=Gaussian(1.0), solver=solver, device="cuda", random_state=0).fit(X, y)
    some = rng.permutation(20_000)[:200]
    left = (
        y[some]
        - Gaussian(1.0)(X[some].astype(float), X.astype(float)) @ model.dual_coef_
        - 0.1 * model.dual_coef_[some]
    )
    assert np.linalg.norm(left) <= 1e-4 * np.linalg.norm(0.1 * model.dual_coef_[some])


def test_streaming_many_points_and_refusing_too_many():
    rng = np.random.default_rng(0)
    f = Expansion(Gaussian(), rng.normal(size=(50, 3)).astype(np.float32), rng.normal(size=50))
    X = rng.normal(size=(300_000, 3)).astype(np.float32)
    whole = f(torch.tensor(X).cuda()).cpu().numpy()
    np.testing.assert_allclose(f(X, device="cuda", memory="20MB"), whole, atol=1e-5)
    with pytest.raises(MemoryBudgetError, match="on cuda:0"):
        KernelRidge(kernel=Gaussian(), device="cuda", solver="cholesky", memory="1MB").fit(X[:3000], X[:3000, 0])


def test_an_allocation_that_fails_is_a_sentence_and_frees_what_was_held():
    X = torch.randn(400_000, 3, device="cuda")
    before = torch.cuda.memory_allocated()
    model = KernelRidge(kernel=Gaussian(), solver="cholesky", memory="900TB")
    with pytest.raises(RuntimeError, match="the device ran out of memory"):
        model.fit(X, X[:, 0])
    assert not hasattr(model, "expansion_")
    assert torch.cuda.memory_allocated() <= before + 2**26
