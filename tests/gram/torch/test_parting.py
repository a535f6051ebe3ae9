"""Which exponentials of distances are factors of a kernel, and what is left of the program without their norms."""

import numpy as np
import pytest

from mercer.formula.program import lower
from mercer.gram.torch.parting import part_norms
from mercer.kernels import Gaussian, Linear, Matern, Polynomial, RationalQuadratic, exp

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from mercer.gram.torch.tiles import evaluate_tile  # noqa: E402


@pytest.mark.parametrize(
    ("kernel", "factors"),
    [
        (Gaussian(1.5), 1),
        (3.0 * Gaussian([1.0, 2.0, 3.0]), 1),
        (Gaussian([1.0, 2.0, 3.0]) * Gaussian(2.0), 2),
        (Gaussian(1.5) * Polynomial(2, 1.0), 1),
        (Gaussian([1.0, 2.0, 3.0]) * (Linear() + RationalQuadratic()), 1),
    ],
    ids=repr,
)
def test_what_is_left_times_the_factors_of_both_points_is_the_kernel(kernel, factors):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(7, 3)), rng.normal(size=(9, 3))
    program = lower(kernel.traced())
    parted = part_norms(program)
    assert len(parted.exponents) == factors
    sides = [statistic.prepare(X, Z, np.dtype(np.float64)) for statistic in program.statistics]
    pairs = [(torch.tensor(A), torch.tensor(B)) for A, B in sides]
    values = evaluate_tile(parted.program, pairs, [], []).numpy()
    for register, c in parted.exponents.items():
        A, B = sides[register]
        values = values * np.exp(c * (A**2).sum(1))[:, None] * np.exp(c * (B**2).sum(1))
    np.testing.assert_allclose(values, kernel(X, Z), rtol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        Matern(1.5),
        RationalQuadratic(),
        Gaussian(1.0) + Linear(),
        Gaussian(1.0) + Gaussian(2.0),
        Gaussian(1.0) * RationalQuadratic(),  # one distance, read twice
        exp(Gaussian(1.0)),
        Gaussian(1.0) ** 2 + 1.0,
    ],
    ids=repr,
)
def test_distances_that_something_else_reads_stay_distances(kernel):
    assert part_norms(lower(kernel.traced())) is None
