"""The generated Triton kernels compute the kernel: on a CUDA device, or anywhere in Triton's interpreter.

The interpreter must be switched on before Triton is loaded, so these tests run in a process of their own:
``TRITON_INTERPRET=1 python -m pytest tests/gram/torch/test_fused.py``.
"""

import os

import numpy as np
import pytest

from mercer import Gram
from mercer.formula.program import lower
from mercer.kernels import (
    Chi2,
    Gaussian,
    Intersection,
    Laplacian,
    Linear,
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
pytest.importorskip("triton")
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cuda" if torch.cuda.is_available() and not INTERPRETED else "cpu"
pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(DEVICE == "cpu" and not INTERPRETED, reason="needs CUDA or TRITON_INTERPRET=1"),
]

from mercer.gram.torch.compiling import fusable  # noqa: E402
from mercer.gram.torch.fused import FusedProduct, Shape, compile_product, make_product  # noqa: E402
from mercer.gram.torch.operands import choose_operands  # noqa: E402

MODES = {"apart": 1e-4, "folded": 3e-6, "half": 3e-6, "mixed": 1e-4, "single": 3e-6, "plain": 3e-6}
SMALL = Shape(32, 32, 4, 1)


def pairs(kernel, X, Z=None, dtype=np.float32):
    program = lower(kernel.traced())
    found = []
    for statistic in program.statistics:
        A, B = statistic.prepare(X, X if Z is None else Z, np.dtype(np.float64))
        place = {"device": DEVICE, "dtype": getattr(torch, np.dtype(dtype).name)}
        found.append((torch.tensor(A).to(**place), None if Z is None else torch.tensor(B).to(**place)))
    return program, found


def sample(n=45, m=70, d=5):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.normal(size=(m, d))


def relative(got, truth):
    return float(np.linalg.norm(got.cpu().numpy() - truth) / np.linalg.norm(truth))


@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("mode", MODES)
def test_each_mode_multiplies_to_its_precision(mode, columns):
    X, Z = sample()
    kernel = Gaussian(1.5)
    V = np.random.default_rng(1).normal(size=(70, columns))
    product = FusedProduct(*pairs(kernel, X, Z), [], [], mode)
    assert relative(product(torch.tensor(V, device=DEVICE), SMALL), kernel(X, Z) @ V) < MODES[mode]


@pytest.mark.parametrize("mode", MODES)
def test_tiles_used_twice_give_the_symmetric_product(mode):
    X, _ = sample(n=150)
    kernel = Gaussian(1.5)
    V = np.random.default_rng(1).normal(size=(150, 1))
    product = FusedProduct(*pairs(kernel, X), [], [], mode)
    assert product.symmetric
    got = product(torch.tensor(V, device=DEVICE), Shape(32, 32, 4, 1, sub=2))
    assert relative(got, kernel(X) @ V) < MODES[mode]


@pytest.mark.parametrize(
    "kernel",
    [
        Matern(1.5) + 0.3 * Polynomial(3, 1.0),
        RationalQuadratic(2.0, 0.7),
        PowerExponential(1.5, 0.7, 2.0),
        PowerExponential(1.2, 1.1),
        PowerExponential(0.5, 0.5),
        Gaussian([1.0, 2.0, 3.0, 4.0, 5.0]) * Laplacian(2.0),
        Periodic() * Gaussian(2.0),
        exp(0.1 * Linear()),
        (Gaussian() + 1.0) ** 3,
        Sigmoid(),
        Overlap(),
        (0.1 * Linear() + 1.0) ** 20,
    ],
    ids=repr,
)
def test_whole_expressions_are_fused(kernel):
    X, Z = sample()
    V = np.random.default_rng(1).normal(size=(70, 1))
    program, found = pairs(kernel, X, Z)
    for mode in ("half", "plain"):
        product = FusedProduct(program, found, [], [], mode)
        truth = kernel(X, Z) @ V
        if not truth.any():
            continue
        assert relative(product(torch.tensor(V, device=DEVICE), SMALL), truth) < 2e-5


@pytest.mark.parametrize("kernel", [Chi2(), Intersection()], ids=repr)
def test_histograms_are_summed_coordinate_by_coordinate(kernel):
    X, Z = (np.abs(D) for D in sample())
    V = np.ones((70, 1))
    product = FusedProduct(*pairs(kernel, X, Z), [], [], "half")
    assert all(operand.mode == "plain" for operand in product.operands)
    assert relative(product(torch.tensor(V, device=DEVICE), SMALL), kernel(X, Z) @ V) < 3e-6


def test_double_precision_is_double_precision():
    X, Z = sample()
    V = np.random.default_rng(1).normal(size=(70, 3))
    product = FusedProduct(*pairs(Gaussian(), X, Z, np.float64), [], [], "plain")
    assert relative(product(torch.tensor(V, device=DEVICE), SMALL), Gaussian()(X, Z) @ V) < 1e-14


def test_normalised_kernels_read_a_vector_for_each_side():
    X, Z = sample()
    kernel = (Linear() + 1.0).normalize()
    V = np.random.default_rng(1).normal(size=(70, 2))
    gram = Gram(kernel, torch.tensor(X, device=DEVICE).float(), torch.tensor(Z, device=DEVICE).float())
    assert relative(gram @ torch.tensor(V, device=DEVICE), kernel(X, Z) @ V) < 1e-5
    assert "one fused kernel" in gram.why


def test_long_rows_are_walked_in_pieces():
    X, Z = sample(n=20, m=40, d=300)
    kernel = Gaussian(17.0)
    V = np.ones((40, 1))
    for mode in ("mixed", "half"):
        product = FusedProduct(*pairs(kernel, X, Z), [], [], mode)
        assert product.operands[0].streamed
        assert relative(product(torch.tensor(V, device=DEVICE), SMALL), kernel(X, Z) @ V) < 1e-5


def test_numbers_too_large_for_halves_are_noticed_and_another_mode_taken():
    X, _ = sample(n=40)
    program, found = pairs(Gaussian(1.0), X)
    huge = [(A * 1e5, B) for A, B in found]
    assert not FusedProduct(program, huge, [], [], "half").in_range
    assert make_product(program, huge, [], []).mode in ("single", "plain")
    assert make_product(program, found, [], []).mode == "folded"


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize(
    "kernel",
    [
        2.0 * Gaussian(9.0),
        Gaussian(np.linspace(5.0, 15.0, 40)) * Gaussian(12.0),
        Gaussian(9.0) * (0.1 * Linear() + 1.0),
        Gaussian(np.linspace(5.0, 15.0, 40)) * RationalQuadratic(8.0),
    ],
    ids=repr,
)
def test_norms_are_factors_of_rows_and_columns_where_exponentials_are_factors_of_the_kernel(kernel, columns):
    X, Z = sample(d=40)
    right, left = (np.random.default_rng(1).normal(size=(count, columns)) * 1e30 for count in (70, 45))
    product = FusedProduct(*pairs(kernel, X, Z), [], [], "apart")
    assert product.in_range
    assert relative(product(torch.tensor(right, device=DEVICE), SMALL), kernel(X, Z) @ right) < 1e-5
    square = FusedProduct(*pairs(kernel, X), [], [], "apart")
    assert relative(square(torch.tensor(left, device=DEVICE), SMALL), kernel(X) @ left) < 1e-5


def test_norms_stay_in_the_tile_where_their_factors_would_leave_the_range_of_floats():
    X, _ = sample(d=40)
    program, near = pairs(Gaussian(9.0), X)
    assert make_product(program, near, [], []).mode == "apart"
    assert make_product(program, near, [], [], columns=8).mode == "mixed"  # float16 holds no factors
    program, far = pairs(Gaussian(1.0), X)
    assert not FusedProduct(program, far, [], [], "apart").in_range
    assert make_product(program, far, [], []).mode != "apart"
    program, shared = pairs(Gaussian(9.0) * RationalQuadratic(8.0), X)  # one distance, which both read
    assert not FusedProduct(program, shared, [], [], "apart").in_range


def test_points_whose_digits_halves_would_lose_get_a_mode_that_keeps_them():
    rng = np.random.default_rng(0)
    X = 300.0 + rng.normal(size=(60, 3)) * np.array([1.0, 100.0, 1e-3])
    program, found = pairs(Gaussian([1.0, 100.0, 1e-3]), X)
    far = [(A + 500.0, B) for A, B in found]  # as if nobody had centred them
    product = make_product(program, far, [], [])
    A = far[0][0].double().cpu().numpy()
    truth = np.exp(-0.5 * ((A[:, None] - A[None]) ** 2).sum(-1)) @ np.ones((60, 1))
    assert relative(product(torch.ones(60, 1, dtype=torch.float64, device=DEVICE)), truth) < 1e-3


def test_a_scale_carried_in_the_statistic_leaves_nothing_to_multiply():
    program = lower((2.0 * Gaussian(3.0)).traced())
    (operand,) = choose_operands(program, "folded", (4,))
    assert operand.scale == pytest.approx(-0.5 / 9 * np.log2(np.e))


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["single", "double"])
@pytest.mark.parametrize(
    "kernel", [Laplacian(2.0), PowerExponential(p=1.5, q=1.5), Chi2(), Intersection(), Overlap()], ids=repr
)
def test_tiles_of_sums_over_coordinates_are_the_kernel(kernel, dtype):
    X = np.round(np.abs(sample(70, 1, 9)[0]), 1)
    assert fusable(torch.device(DEVICE))
    found = Gram(kernel, X, device=DEVICE, dtype=dtype).dense()
    np.testing.assert_allclose(found.cpu().numpy(), kernel(X), rtol=2e-5 if dtype == np.float32 else 1e-12)


def test_many_columns_in_groups_compile_one_kernel():
    X, _ = sample()
    V = np.random.default_rng(1).normal(size=(45, 45))
    before = compile_product.cache_info().misses
    gram = Gram(Gaussian(1.37), X.astype(np.float32), X[::-1].astype(np.float32), device=DEVICE, dtype=np.float32)
    assert relative(gram @ torch.tensor(V, device=DEVICE), Gaussian(1.37)(X, X[::-1]) @ V) < 1e-5
    assert compile_product.cache_info().misses == before + 1
