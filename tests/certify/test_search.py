"""certify on functions and kernels: what must be refuted is, and what is a kernel never is."""

import math
import time
from importlib import import_module

import numpy as np
import pytest
from scipy import sparse

from mercer.certify import Proved, Refuted, Unknown, certify
from mercer.certify.search import certify_kernel, refute_kernel
from mercer.kernels import (
    Chi2,
    Constant,
    Cosine,
    Custom,
    Fourier,
    FromFeatures,
    Gaussian,
    Intersection,
    Laplacian,
    Linear,
    Matern,
    Overlap,
    Periodic,
    Polynomial,
    PowerExponential,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    Sinc,
    exp,
)

norm = np.linalg.norm


def recomputed(function, verdict):
    """Σ aᵢaⱼ k(xᵢ, xⱼ), from nothing but the points and coefficients of the verdict."""
    total = 0.0
    for a, x in zip(verdict.coefficients, verdict.points, strict=True):
        for b, z in zip(verdict.coefficients, verdict.points, strict=True):
            total += float(a) * float(b) * float(np.asarray(function(x, z)).reshape(()))
    return total


def gaussian(x, z, scale):
    return np.exp(-(norm(x - z) ** 2) / (2 * scale**2))


def unwrap(function):
    """The same function for points given as arrays of one number."""
    return lambda x, z: function(float(x[0]), float(z[0]))


NO_KERNELS = {
    "squared distance, @": (lambda x, z: (x - z) @ (x - z), 2),
    "squared distance, norm": (lambda x, z: norm(x - z) ** 2, 2),
    "squared distance, sum": (lambda x, z: np.sum((x - z) ** 2), 2),
    "minus squared distance": (lambda x, z: -(norm(x - z) ** 2), 2),
    "tanh": (lambda x, z: np.tanh(x @ z + 1), 2),
    "tanh, np.dot": (lambda x, z: np.tanh(np.dot(x, z) + 1), 3),
    "power 2.05, abs": (lambda x, z: np.exp(-(abs(x - z) ** 2.05)), 1),
    "power 2.05, norm": (lambda x, z: np.exp(-(norm(x - z) ** 2.05)), 1),
    "power 2.05, np.sum": (lambda x, z: np.exp(-(np.sum((x - z) ** 2) ** 1.025)), 1),
    "clipped distance": (lambda x, z: min(norm(x - z), 1), 2),
    "clipped distance, numpy": (lambda x, z: np.minimum(norm(x - z), 1.0), 2),
    "maximum norm in space": (lambda x, z: np.exp(-np.max(np.abs(x - z))), 3),
    "maximum norm in space, norm": (lambda x, z: np.exp(-norm(x - z, np.inf)), 3),
    "narrow minus wide Gaussian": (lambda x, z: np.exp(-((x - z) @ (x - z)) / 2) - np.exp(-((x - z) @ (x - z)) / 8), 2),
    "wide minus narrow Gaussian": (lambda x, z: 2 * np.exp(-np.sum((x - z) ** 2) / 8) - gaussian(x, z, 1.0), 1),
    "square of a shifted product": (lambda x, z: (x @ z - 1) ** 2, 2),
    "square of a shifted product, np.dot": (lambda x, z: np.dot(x, z) ** 2 - 2 * np.dot(x, z) + 1, 2),
    "constant below zero": (lambda x, z: -1.0, 2),
    "cone in the plane": (lambda x, z: max(0.0, 1 - norm(x - z)), 2),
    "cosine of the distance": (lambda x, z: np.cos(norm(x - z)), 2),
} | {
    f"{name}, dim={d}": (function, d)
    for d in (1, 2, 3)
    for name, function in {
        "Epanechnikov, max": lambda x, z: max(0, 1 - np.sum((x - z) ** 2)),
        "Epanechnikov, np.maximum": lambda x, z: np.maximum(0, 1 - norm(x - z) ** 2),
        "box, comparison": lambda x, z: norm(x - z) <= 1,
        "box, float": lambda x, z: float(np.sum((x - z) ** 2) <= 1),
    }.items()
}  # fmt: skip


@pytest.mark.parametrize("name", NO_KERNELS)
def test_a_function_that_is_no_kernel_is_refuted_by_points_anyone_can_check(name):
    function, dim = NO_KERNELS[name]
    verdict = certify(function, dim=dim)
    assert isinstance(verdict, Refuted)
    assert verdict.points.shape == (len(verdict.coefficients), dim)
    assert verdict.value < -verdict.error_bound <= 0
    assert recomputed(function, verdict) == pytest.approx(verdict.value, rel=1e-6)
    assert np.abs(verdict.coefficients).max() == 1


PLAIN_NUMBERS = {
    "power 2.05": lambda x, z: math.exp(-(abs(x - z) ** 2.05)),
    "box": lambda x, z: 1.0 if abs(x - z) <= 1 else 0.0,
    "tanh": lambda x, z: math.tanh(x * z + 1),
}


@pytest.mark.parametrize("name", PLAIN_NUMBERS)
def test_functions_of_plain_numbers_work_in_one_dimension(name):
    verdict = certify(PLAIN_NUMBERS[name], dim=1)
    assert isinstance(verdict, Refuted)
    assert recomputed(unwrap(PLAIN_NUMBERS[name]), verdict) == pytest.approx(verdict.value, rel=1e-6)


KERNELS_REFUTED = {
    "Sigmoid": (Sigmoid(), None),
    "minus": (-Linear(), None),
    "narrow minus wide": (Gaussian(1.0) - Gaussian(2.0), None),
    "wide minus narrow": (2.0 * Gaussian(2.0) - Gaussian(1.0), 1),
    "a kernel on a line only": (3.0 * Gaussian(1.0) - Gaussian(2.0), 2),
    "in some dimension": (3.0 * Gaussian(1.0) - Gaussian(2.0), None),
    "in ten dimensions": (3.0 * Gaussian(1.0) - Gaussian(2.0), 10),
    "square": ((Linear() - 1) ** 2, None),
    "squared distance": (2.0 * Linear().after(lambda x: x) - Polynomial(2, 1.0), None),
    "ARD": (Gaussian([1.0, 2.0, 1.0, 1.0]) - 1, None),
    "on columns": ((Linear() - 1).on([4]), None),
    "histograms": (Intersection() - 2.0 * Chi2(), None),
    "categories": (Overlap() - 1, None),
    "matrix": (Precomputed([[1.0, 0.5], [0.5, 1.0]]) - 1, None),
    "custom": (Custom(lambda x, z: -float(x @ z)), None),
    "not symmetric": (Custom(lambda x, z: float(x[0] - z[0])), None),
}


@pytest.mark.parametrize("name", KERNELS_REFUTED)
def test_a_composed_kernel_that_is_none_is_refuted(name):
    kernel, dim = KERNELS_REFUTED[name]
    verdict = kernel.certificate(dim=dim)
    assert isinstance(verdict, Refuted)
    K = kernel(verdict.points)
    if verdict.symmetric:
        assert verdict.coefficients @ K @ verdict.coefficients == pytest.approx(verdict.value, rel=1e-6)
    else:
        assert -abs(K[0, 1] - K[1, 0]) == pytest.approx(verdict.value)
    assert verdict.value < -verdict.error_bound <= 0


def sloppy(x, z):
    """‖x − z‖² as it should not be computed."""
    return x @ x + z @ z - 2 * (x @ z)


def single(value):
    """A value that went through single precision without saying so."""
    return float(np.float32(value))


TRUE_KERNELS = {
    "Gaussian, sloppy": (lambda x, z: np.exp(-sloppy(x, z) / 2), (1, 2)),
    "wide Gaussian, sloppy": (lambda x, z: np.exp(-sloppy(x, z) / 2e4), (3,)),
    "exponential, sloppy": (lambda x, z: np.exp(-np.sqrt(np.maximum(sloppy(x, z), 0)) / 100), (1,)),
    "exponential, sloppy floats": (lambda x, z: float(np.exp(-np.sqrt(np.maximum(sloppy(x, z), 0)) / 100)), (1, 2)),
    "Matérn, sloppy": (lambda x, z: (1 + (r := np.sqrt(max(sloppy(x, z), 0)) / 30)) * np.exp(-r), (2,)),
    "cancelling shifts": (lambda x, z: float((x + 100) @ (z + 100) - 100 * np.sum(x + z) - 1e4 * len(x)), (2,)),
    "hidden single precision": (lambda x, z: single(np.exp(-(norm(x - z) ** 2) / 200)), (1, 2)),
    "single precision": (lambda x, z: np.exp(-np.sum((x - z).astype(np.float32) ** 2) / 200), (2,)),
    "maximum norm in the plane": (lambda x, z: np.exp(-np.max(np.abs(x - z))), (1, 2)),
    "power 2": (lambda x, z: np.exp(-(abs(x - z) ** 2)), (1,)),
    "power 1.99": (lambda x, z: np.exp(-(abs(x - z) ** 1.99)), (1,)),
    "power 0.5": (lambda x, z: np.exp(-(norm(x - z) ** 0.5)), (3,)),
    "difference of Gaussians": (lambda x, z: 3 * gaussian(x, z, 1.0) - gaussian(x, z, 2.0), (1,)),
    "overflowing": (lambda x, z: np.exp(x @ z), (1,)),
    "overflowing loudly": (lambda x, z: math.exp(float(x @ z)), (2,)),
    "high power": (lambda x, z: (x @ z + 1) ** 7, (2,)),
    "fractional Brownian motion": (lambda x, z: norm(x) ** 1.9 + norm(z) ** 1.9 - norm(x - z) ** 1.9, (1, 2)),
    "equality": (lambda x, z: float(np.array_equal(x, z)), (2,)),
    "triangle on a line": (lambda x, z: max(0, 1 - abs(float(x[0] - z[0]))), (1,)),
    "angle": (lambda x, z: np.pi - np.arccos(np.clip((x @ z) / (norm(x) * norm(z) + 1e-300), -1, 1)), (3,)),
    "rank one": (lambda x, z: norm(x) * norm(z), (2,)),
    "zero": (lambda x, z: 0, (2,)),
}  # fmt: skip


@pytest.mark.parametrize(("name", "dim"), [(name, d) for name, (_, dims) in TRUE_KERNELS.items() for d in dims])
def test_a_true_kernel_is_never_refuted_however_sloppy_its_arithmetic(name, dim):
    assert isinstance(certify(TRUE_KERNELS[name][0], dim=dim), Unknown)


SHIPPED = [
    Linear(), Polynomial(2, 1.0), Polynomial(3, 0.0), Polynomial(7, 2.0), Gaussian(), Gaussian(0.1), Gaussian(30.0),
    Gaussian([1.0, 2.0]), Laplacian(), Laplacian(0.05), Matern(), Matern(0.5), Matern(2.5), Matern(3.3),
    Matern(math.inf), RationalQuadratic(), RationalQuadratic(2.0, 0.3), PowerExponential(),
    PowerExponential(1.5, 0.7), PowerExponential(0.5, 0.5, 0.2), PowerExponential(1.9, 1.9), Periodic(),
    Periodic(0.3, 2.0), Cosine(), Cosine(3.0), Fourier(4),
    Sinc(), Constant(0.0), Constant(2.0), Chi2(), Chi2(0.1), Intersection(), Overlap(),
    Precomputed([[2.0, 1.0], [1.0, 2.0]]),
    FromFeatures(lambda x: [1.0, x[0], x[0] ** 2]), Custom(lambda x, z: float(x @ z)), exp(Linear()),
    exp(Polynomial(2, 1.0)), Linear().normalize(), (Linear() + 1).normalize(), 3.0 * Gaussian(1.0) - Gaussian(2.0),
]  # fmt: skip


@pytest.mark.parametrize("kernel", SHIPPED, ids=repr)
def test_the_search_alone_never_refutes_a_shipped_kernel(kernel):
    found, tried = refute_kernel(kernel, dim=1 if repr(kernel).startswith("3.0") else None)
    assert found is None
    assert tried


def random_leaf(rng):
    scale = float(np.round(10 ** rng.uniform(-1.3, 1.3), 3))
    leaves = [
        Linear(), Polynomial(int(rng.integers(1, 5)), float(rng.choice([0.0, 1.0, scale]))), Gaussian(scale),
        Laplacian(scale), Matern(float(rng.choice([0.5, 1.5, 2.5, 1.1])), scale), Cosine(scale), Sinc(), Overlap(),
        RationalQuadratic(scale, float(rng.choice([0.3, 1.0, 5.0]))), Periodic(scale, float(rng.choice([0.5, 3.0]))),
        Fourier(int(rng.integers(1, 7))), Constant(scale), Chi2(), Intersection(),
    ]  # fmt: skip
    return leaves[rng.integers(len(leaves))]


def random_tree(rng, depth, columns=2):
    if depth == 0:
        return random_leaf(rng)
    choice = rng.integers(9)
    if choice < 2:
        return random_tree(rng, depth - 1, columns) + random_tree(rng, depth - 1, columns)
    if choice < 4:
        return random_tree(rng, depth - 1, columns) * random_tree(rng, depth - 1, columns)
    if choice == 4:
        return random_tree(rng, depth - 1, columns) ** int(rng.integers(2, 5))
    if choice == 5:
        return exp(random_tree(rng, depth - 1, columns))
    if choice == 6:
        return random_tree(rng, depth - 1, columns).normalize()
    if choice == 7:
        return random_tree(rng, depth - 1, 1).on([int(rng.integers(columns))])
    return float(10 ** rng.uniform(-3, 3)) * random_tree(rng, depth - 1, columns)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_the_search_alone_never_refutes_a_composition_of_proved_kernels(seed):
    rng = np.random.default_rng(seed)
    for _ in range(5):
        kernel = random_tree(rng, int(rng.integers(1, 5)))
        assert isinstance(kernel.certificate(), Proved)
        found, _ = refute_kernel(kernel, dim=int(rng.choice([2, 3])))
        assert found is None, f"{kernel!r}\n{found}"


def test_only_the_objects_of_a_sample_are_looked_at():
    assert isinstance(certify(min, sample=[0.5, 1.0, 2.5, 7.0]), Unknown)
    assert isinstance(certify(min, sample=[-1.0, 2.0]), Refuted)
    assert isinstance(certify(lambda a, b: min(a, b), sample=np.linspace(0.1, 5, 300)), Unknown)
    verdict = certify(lambda a, b: abs(len(a) - len(b)), sample=["a", "bb", "cccc"])
    assert isinstance(verdict, Refuted)
    assert set(verdict.points) <= {"a", "bb", "cccc"}


def test_a_kernel_on_objects_asks_for_a_sample():
    common = Custom(lambda x, z: len(set(x.split()) & set(z.split())))
    verdict = common.certificate()
    assert isinstance(verdict, Unknown)
    assert "sample=" in verdict.explain()
    assert isinstance((common - 1).certificate(sample=["a b", "c d", "a c", "e"]), Refuted)
    assert isinstance(common.certificate(sample=["a b", "c d", "a c", "e"]), Unknown)


def test_a_frame_can_be_the_sample():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1.0, 2.0, 4.0, 0.5], "town": ["A", "B", "A", "C"]})
    kernel = (Linear().on("age") - 1) * Overlap().on("town")
    assert isinstance(kernel.certificate(), Unknown)
    verdict = kernel.certificate(sample=frame)
    assert isinstance(verdict, Refuted)
    assert list(verdict.points.columns) == ["age", "town"]
    assert verdict.coefficients @ kernel(verdict.points) @ verdict.coefficients < 0


def test_single_precision_data_is_granted_single_precision_errors():
    X = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    found, _ = refute_kernel(Gaussian(3.0), sample=X)
    assert found is None


def test_an_asymmetric_function_is_refuted_with_two_points():
    verdict = certify(lambda x, z: x @ z + 0.1 * x[0])
    assert isinstance(verdict, Refuted)
    x, z = verdict.points
    assert verdict.value == pytest.approx(-abs(0.1 * x[0] - 0.1 * z[0]))
    assert "not symmetric" in verdict.reason


def test_certify_on_a_kernel_is_its_certificate_in_that_dimension():
    kernel = 3.0 * Gaussian(1.0) - Gaussian(2.0)
    assert isinstance(certify(kernel, dim=1), Proved)
    assert isinstance(certify(kernel, dim=2), Refuted)
    assert isinstance(certify(Linear()), Proved)
    assert isinstance(certify(Linear() - 1, sample=[[0.0], [2.0]]), Refuted)


def test_the_search_gives_up_on_slow_functions():
    calls = []
    verdict = certify(lambda x, z: (calls.append(1), time.sleep(0.003), float(x @ z))[-1])
    assert isinstance(verdict, Unknown)
    assert len(calls) < 1000
    assert "would have taken too long" in verdict.tried[0]


def test_a_function_cannot_change_the_points():
    def changes(x, z):
        x[0] = 7.0
        return float(x @ z)

    with pytest.raises(ValueError, match="read-only"):
        certify(changes)


@pytest.mark.parametrize("dim", [0, -1, 1.5, True, "2", None])
def test_a_wrong_dim_is_refused(dim):
    with pytest.raises(ValueError, match="number of features"):
        certify(lambda x, z: 1.0, dim=dim)


def test_wrong_arguments_are_refused_with_a_remedy():
    with pytest.raises(TypeError, match="function of two points"):
        certify(3)
    with pytest.raises(ValueError, match="empty"):
        certify(min, sample=[])
    with pytest.raises(TypeError, match="collection"):
        certify(min, sample="text")
    with pytest.raises(ValueError, match="not both"):
        certify_kernel(Sigmoid(), dim=2, sample=[[1.0]])
    with pytest.raises(ValueError, match="cannot be looked at on points with 2 features"):
        (Gaussian([1.0, 2.0, 3.0]) - 1).certificate(dim=2)


def test_a_function_that_raises_is_an_error_that_names_the_points():
    with pytest.raises(ValueError, match=r"IndexError.* at x = array\(\[0\., 0\.\]\)"):
        certify(lambda x, z: x[5])
    with pytest.raises(ValueError, match="ZeroDivisionError"):
        certify(lambda a, b: 1 / (a - b), sample=[1, 2])


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_value_that_is_not_finite_is_an_error_that_names_the_points(value):
    with pytest.raises(ValueError, match=r"returned (nan|inf) at x = "):
        certify(lambda x, z: value)


@pytest.mark.parametrize("value", ["text", None, 1j, np.ones(2)], ids=repr)
def test_a_value_that_is_no_number_is_an_error(value):
    with pytest.raises(ValueError, match="must return a number"):
        certify(lambda x, z: value)


def test_a_sparse_matrix_can_be_the_sample():
    verdict = (Linear() - 1).certificate(sample=sparse.csr_array(np.eye(3)))
    assert isinstance(verdict, Refuted)


@pytest.mark.parametrize("kernel", [2.0 * Gaussian(10.0) - Gaussian(11.0), Overlap() - Chi2(), Sigmoid()], ids=repr)
@pytest.mark.parametrize("dim", [784, 100_000, 10**12])
def test_any_number_of_features_gets_a_verdict(kernel, dim, monkeypatch):
    monkeypatch.setattr(import_module("mercer.certify.search"), "SEARCH_SECONDS", 0.05)
    assert not isinstance(kernel.certificate(dim=dim), Proved)


def test_a_search_that_takes_too_long_is_given_up(monkeypatch):
    monkeypatch.setattr(import_module("mercer.certify.search"), "LAST_SECONDS", -1.0)
    verdict = certify(lambda x, z: -1.0)
    assert isinstance(verdict, Unknown)
    assert "would have taken too long" in verdict.tried[0]
