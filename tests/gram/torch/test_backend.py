"""Gram matrices of tensors agree with the NumPy reference, kernel by kernel, and bad input is named."""

import sys

import numpy as np
import pytest
from scipy import sparse

from mercer import Gram, MemoryBudgetError
from mercer.kernels import (
    Chi2,
    Cosine,
    Custom,
    Fourier,
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
    Sinc,
    exp,
)

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

KERNELS = [
    Gaussian(1.5),
    Gaussian([1.0, 2.0, 3.0, 4.0]),
    Matern(0.5) + Matern(2.5),
    Matern(1.5) * Polynomial(3, 1.0),
    RationalQuadratic(2.0, 0.7),
    Laplacian(2.0),
    PowerExponential(1.5, 0.7, 2.0),
    PowerExponential(0.6, 0.6, [1.0, 2.0, 3.0, 4.0]),
    PowerExponential(1, 0.5),
    PowerExponential(2, 1.3),
    Gaussian(2.0).after(LinearMap([[1.0, 0.3], [0.0, 2.0], [0.5, 0.5], [-1.0, 0.0]])),
    Laplacian().on([1]).after(LinearMap([[1.0, 0.3], [0.0, 2.0]])).on([0, 3]),
    Periodic(),
    Cosine(),
    Fourier(5),
    Linear().normalize(),
    Gaussian(2.0).on([0, 2]) + 0.5 * Linear().on([3]),
    exp(0.1 * Linear()),
    (Gaussian() + 1.0) ** 3,
    Sigmoid(),
    Overlap(),
    Chi2(),
    Intersection(),
    Matern(0.7),  # a Bessel function, which is left to the host
    Sinc(),
]


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return rng.normal(size=(57, 4)), rng.normal(size=(33, 4))


def data(kernel, points):
    return [np.abs(X) for X in points] if isinstance(kernel, Chi2 | Intersection) else list(points)


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_every_kernel_has_the_values_of_the_reference(kernel, dtype, points):
    X, Z = (D.astype(dtype) for D in data(kernel, points))
    V = np.random.default_rng(1).normal(size=(33, 3))
    reference = Gram(kernel, X, Z, backend="numpy", dtype=np.float64)
    gram = Gram(kernel, torch.tensor(X), torch.tensor(Z))
    scale = max(1.0, np.abs(reference.dense()).max())
    tolerance = 1e-12 if dtype is np.float64 else 2e-6
    assert gram.backend_name == "torch"
    assert gram.shape == (57, 33)
    assert gram.dtype == dtype
    np.testing.assert_allclose(gram.dense().numpy(), reference.dense(), atol=tolerance * scale, rtol=0)
    np.testing.assert_allclose((gram @ V).numpy(), reference @ V, atol=20 * tolerance * scale, rtol=0)
    np.testing.assert_allclose((V[:, 0] @ gram.T).numpy(), V[:, 0] @ reference.T, atol=20 * tolerance * scale, rtol=0)
    np.testing.assert_allclose(gram.rows([3, 5]).numpy(), reference.rows([3, 5]), atol=tolerance * scale, rtol=0)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_symmetric_matrices_have_an_exact_diagonal_and_parts(kernel, points):
    X = data(kernel, points)[0]
    gram, reference = Gram(kernel, X, device="cpu"), Gram(kernel, X, backend="numpy")
    dense = gram.dense().numpy()
    scale = max(1.0, np.abs(reference.dense()).max())
    assert gram.symmetric
    np.testing.assert_allclose(dense, reference.dense(), atol=1e-12 * scale, rtol=0)
    np.testing.assert_array_equal(dense.diagonal(), gram.diag().numpy())
    np.testing.assert_allclose(gram.diag().numpy(), reference.diag(), rtol=1e-12)
    np.testing.assert_allclose(
        gram.part([1, 4, 7]).dense().numpy(), dense[np.ix_([1, 4, 7], [1, 4, 7])], atol=1e-12 * scale
    )
    out = torch.zeros(57, dtype=torch.float64)
    gram.add_rows([2, 9], [0.5, -1.0], out)
    np.testing.assert_allclose(out.numpy(), 0.5 * dense[2] - dense[9], atol=1e-12 * scale)


def test_products_in_many_tiles_are_those_in_one(points, monkeypatch):
    X = points[0].astype(np.float32)
    V = np.random.default_rng(2).normal(size=(57, 2))
    whole = (Gram(Gaussian(), X, device="cpu") @ V).numpy()
    monkeypatch.setattr("mercer.gram.operator.TILE_BYTES", 2**12)
    monkeypatch.setattr("mercer.gram.operator.PARTIAL", 7)
    np.testing.assert_allclose((Gram(Gaussian(), X, device="cpu") @ V).numpy(), whole, atol=1e-6)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "int64", "int8", "bool"])
def test_other_number_types_are_taken_as_the_numbers_they_are(name):
    X = torch.tensor([[0, 1], [1, 1], [1, 0]]).to(getattr(torch, name))
    gram = Gram(Gaussian(), X)
    assert gram.dtype == (np.float32 if "float" in name else np.float64)
    np.testing.assert_allclose(gram.dense().numpy(), Gaussian()(X.to(torch.float64).numpy()), atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (6, 1), (3, 2000)], ids=str)
def test_single_points_single_features_and_long_rows(shape):
    X = np.random.default_rng(0).normal(size=shape)
    gram = Gram(Gaussian(30.0), torch.tensor(X))
    np.testing.assert_allclose(gram.dense().numpy(), Gaussian(30.0)(X), atol=1e-12)
    np.testing.assert_allclose((gram @ np.ones(shape[0])).numpy(), Gaussian(30.0)(X).sum(axis=1), atol=1e-11)


def test_views_that_are_not_contiguous_are_fine(points):
    X = torch.tensor(points[0]).T.contiguous().T[::2]
    assert not X.is_contiguous()
    np.testing.assert_allclose(Gram(Gaussian(), X).dense().numpy(), Gaussian()(points[0][::2]), atol=1e-12)


def test_bad_input_is_named():
    X = torch.zeros(3, 2)
    X[1, 1] = torch.nan
    with pytest.raises(ValueError, match="row 1, column 1 is nan"):
        Gram(Gaussian(), X)
    with pytest.raises(RuntimeError, match="on different devices, cpu and meta; move them to one"):
        Gram(Gaussian(), torch.zeros(3, 2), torch.zeros(3, 2, device="meta"))
    with pytest.raises(ValueError, match="X has 2 features but Z has 3"):
        Gram(Gaussian(), torch.zeros(3, 2), torch.zeros(3, 3))
    with pytest.raises(ValueError, match=r"matrix with 3 rows; got shape \(4,\)"):
        Gram(Gaussian(), torch.zeros(3, 2)) @ np.ones(4)
    with pytest.raises(ValueError, match="the right-hand side holds NaN"):
        Gram(Gaussian(), torch.zeros(3, 2)) @ np.array([1.0, np.nan, 0.0])
    with pytest.raises(OverflowError, match="overflows float32"):
        Gram(exp(Linear()), torch.full((3, 2), 100.0)) @ np.ones(3)
    with pytest.raises(RuntimeError, match="device must be a name such as 'cuda'"):
        Gram(Gaussian(), np.zeros((3, 2)), device="somewhere")
    with pytest.raises(ValueError, match="need backend 'auto' or 'torch', got 'native'"):
        Gram(Gaussian(), torch.zeros(3, 2), backend="native")
    with pytest.raises(MemoryBudgetError, match="the dense 300 × 300 matrix on cpu needs 720"):
        Gram(Gaussian(), torch.zeros(300, 2, dtype=torch.float64), memory=100_000).dense()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_missing_cuda_device_is_said_to_be_missing():
    with pytest.raises(RuntimeError, match=r"device='cuda' was asked for, but torch .* finds no CUDA device here"):
        Gram(Gaussian(), np.zeros((3, 2)), device="cuda")


def test_without_torch_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r'a device needs torch, .*: pip install "torch>=\d\S*"$'):
        Gram(Gaussian(), np.zeros((3, 2)), device="cuda")


def test_kernels_that_python_evaluates_stay_on_the_host_and_say_so():
    X = torch.tensor([[1.0], [2.0]], dtype=torch.float64)
    gram = Gram(Custom(lambda x, z: float(min(x[0], z[0]))), X)
    assert "evaluated on the host" in gram.why
    np.testing.assert_array_equal(gram.dense().numpy(), [[1.0, 1.0], [1.0, 2.0]])
    assert not gram.cheap


def test_a_gram_matrix_says_what_it_can_do(points):
    gram = Gram(Gaussian(), points[0], device="cpu")
    assert (gram.cheap, gram.exact, gram.where) == (True, True, torch.device("cpu"))
    assert not Gram(Gaussian(), torch.tensor(points[0]).float()).exact
    assert gram.part([0, 1]).where == gram.T.where == torch.device("cpu")
    assert Gram(Gaussian(), points[0], backend="torch").where == torch.device("cpu")


def test_a_function_makes_a_backend_from_that_of_the_device(points):
    seen = []

    def keep(other):
        seen.append(other)
        return other

    gram = Gram(Gaussian(), torch.tensor(points[0]), backend=keep)
    assert seen[0].name == "torch"
    np.testing.assert_allclose(gram.dense().numpy(), Gaussian()(points[0]), atol=1e-12)


def test_sparse_points_are_evaluated_on_the_host_and_moved():
    X = sparse.random_array((30, 10), density=0.3, rng=np.random.default_rng(0), format="csr")
    gram = Gram(Gaussian(), X, device="cpu")
    assert "the data is sparse" in gram.why
    np.testing.assert_allclose((gram @ np.ones(30)).numpy(), Gaussian()(X).sum(axis=1), rtol=1e-12)


def test_rows_are_written_to_a_tensor_that_is_given_and_picked_by_one(points):
    gram = Gram(Gaussian(), torch.tensor(points[0]))
    room = torch.zeros(2, 57, dtype=torch.float64)
    assert gram.rows(torch.tensor([3, 5]), out=room) is room
    np.testing.assert_allclose(room.numpy(), Gaussian()(points[0])[[3, 5]], atol=1e-12)
    with pytest.raises(IndexError, match="does not pick rows of a Gram matrix with 57 rows"):
        gram.rows(57)
    with pytest.raises(ValueError, match="takes one weight for each row and a float64 vector of length 57"):
        gram.add_rows([0, 1], [1.0], torch.zeros(57, dtype=torch.float64))


def test_a_budget_below_one_row_is_refused_with_the_device():
    with pytest.raises(MemoryBudgetError, match="one row of the 300 × 300 Gram matrix on cpu needs"):
        Gram(Gaussian(), torch.zeros(300, 2, dtype=torch.float64), memory=12_000)


@pytest.mark.torch
@pytest.mark.parametrize("d", [1, 3, 30])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_points_that_are_the_same_are_at_distance_zero(d, dtype):
    torch = pytest.importorskip("torch")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    X = torch.as_tensor(7.0 + np.random.default_rng(d).normal(size=(60, d)), dtype=getattr(torch, dtype), device=device)
    twice = torch.cat([X, X])
    K = Gram(Matern(0.5), twice, memory=10**9).dense()
    assert bool((K[:60, 60:].diagonal() == 1.0).all())
