"""Functions of numbers: their formulas compute what their code does, and derivatives are finite differences."""

import numpy as np
import pytest
from scipy import special

from mercer.arrays.tensors import host_array
from mercer.formula.elementwise import BUILDERS, NotFollowedError, compute, derive, trace

RNG = np.random.default_rng(0)
Y, F = RNG.uniform(-2.0, 2.0, 60), RNG.uniform(-2.0, 2.0, 60)
FUNCTIONS = {
    "absolute": lambda y, f: abs(y - f) + np.fabs(f),
    "arcsinh": lambda y, f: np.arcsinh(y * f),
    "arctan": lambda y, f: np.arctan(y - f),
    "cases": lambda y, f: np.where((f > y) & ~(f >= 1.5), f**3, np.where((f < 0) | (y <= 0), np.exp(f), f)),
    "clip": lambda y, f: np.clip(y - f, -1, 0.5) ** 2 + (f - y).clip(0, None) ** 2 + f.clip(max=y),
    "comparisons": lambda y, f: (y > f) * f**2 + (y != f) * f + (y == f) * 7 + np.logical_not(y < f) * np.sin(f),
    "cosh": lambda y, f: np.cosh(f) + np.sinh(y * f) + np.tanh(f),
    "divide": lambda y, f: y / (3 + f) + np.reciprocal(1 + np.exp(f)) + 2 / (np.exp(f - y) + 1),
    "exp": lambda y, f: np.exp(f) + np.exp2(f) + np.expm1(y * f) + 3.0**f,
    "hypot": lambda y, f: np.hypot(y, f) + np.hypot(1.0, f - y),
    "log": lambda y, f: np.log(4 + f) + np.log2(3 + f) + np.log10(5 - f) + np.log1p(f**2),
    "log of cosh": lambda y, f: np.log(np.cosh(y - f)),
    "log of sums": lambda y, f: np.log(1 + np.exp(-y * f)) + np.log1p(np.exp(f)) + np.log(np.exp(y) + np.exp(f)),
    "logaddexp": lambda y, f: np.logaddexp(y * f, 2.0 * f),
    "maximum": lambda y, f: np.maximum(0, 1 - y * f) ** 2 + np.minimum(f, y) + np.fmax(f, 0.1) + np.fmin(f, 0.1),
    "power": lambda y, f: (
        abs(y - f) ** 1.5 + np.power(f, 3) + np.float_power(2.5 + f, y) + (y - f) ** 2 + (3 + f) ** -2
    ),
    "sign": lambda y, f: np.sign(f) * f**2 + np.positive(f) - np.negative(y),
    "special": lambda y, f: special.expit(f) + special.log_expit(y - f),
    "sqrt": lambda y, f: np.sqrt(1 + np.square(y - f)) + np.cos(f),
    "nothing of f": lambda y, f: y**2,
    "a number": lambda y, f: 3.0,
}
every = pytest.mark.parametrize("name", FUNCTIONS)


@every
def test_formulas_compute_what_the_code_does_and_derivatives_are_finite_differences(name):
    function, step = FUNCTIONS[name], 1e-6
    formula = trace(function, "y", "f")
    np.testing.assert_allclose(compute(formula, {"y": Y, "f": F}), function(Y, F) + 0 * F, rtol=1e-12, atol=1e-14)
    first = derive(formula, "f")
    slopes = (function(Y, F + step) - function(Y, F - step)) / (2 * step)
    np.testing.assert_allclose(compute(first, {"y": Y, "f": F}), slopes + 0 * F, rtol=1e-6, atol=1e-8)
    second = compute(derive(first, "f"), {"y": Y, "f": F})
    bends = compute(first, {"y": Y, "f": F + step}) - compute(first, {"y": Y, "f": F - step})
    np.testing.assert_allclose(second, bends / (2 * step), rtol=1e-6, atol=1e-7)


@every
@pytest.mark.torch
def test_tensors_have_the_same_numbers(name):
    torch = pytest.importorskip("torch")
    formula = trace(FUNCTIONS[name], "y", "f")
    for each in (formula, derive(formula, "f"), derive(derive(formula, "f"), "f")):
        found = compute(each, {"y": torch.as_tensor(Y), "f": torch.as_tensor(F)})
        assert found.dtype == torch.float64
        np.testing.assert_allclose(host_array(found), compute(each, {"y": Y, "f": F}), rtol=1e-12, atol=1e-14)
        small = compute(each, {"y": torch.as_tensor(Y, dtype=torch.float32), "f": torch.as_tensor(F).float()})
        assert small.dtype == torch.float32


def test_values_are_arrays_of_their_own():
    formula = trace(lambda y, f: f, "y", "f")
    found = compute(formula, {"y": Y, "f": F})
    np.testing.assert_array_equal(found, F)
    assert not np.shares_memory(found, F)
    assert compute(derive(formula, "f"), {"y": Y, "f": F}).shape == F.shape


def test_every_operation_is_in_one_of_these_functions():
    used = set()

    class Spy(dict):
        def get(self, name, default=None):
            used.add(name)
            return super().get(name, default)

    import mercer.formula.elementwise as module

    module.BUILDERS, before = Spy(BUILDERS), module.BUILDERS
    try:
        for function in FUNCTIONS.values():
            trace(function, "y", "f")
    finally:
        module.BUILDERS = before
    assert used | {"logical_and", "logical_or"} == set(BUILDERS)


def test_logarithms_of_exponentials_do_not_overflow():
    f = np.array([-1e6, -800.0, 0.0, 800.0, 1e6])
    for function, value, slope in (
        (lambda y, f: np.log(1 + np.exp(f)), [0, 0, np.log(2), 800, 1e6], [0, 0, 0.5, 1, 1]),
        (lambda y, f: np.log(np.cosh(f)), [1e6, 800, 0, 800, 1e6], [-1, -1, 0, 1, 1]),
        (lambda y, f: 1 / (1 + np.exp(f)), [1, 1, 0.5, 0, 0], [0, 0, -0.25, 0, 0]),
    ):
        formula = trace(function, "y", "f")
        np.testing.assert_allclose(compute(formula, {"y": f, "f": f}), value, atol=1.0)
        np.testing.assert_allclose(compute(derive(formula, "f"), {"y": f, "f": f}), slope, atol=1e-15)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda y, f: special.huber(1.0, y - f), "calls huber"), (lambda y, f: np.sum(y - f), "numpy.sum"),
        (lambda y, f: np.asarray(y) - f, "asarray"), (lambda y, f: y if y > f else f, "numpy.where takes both"),
        (lambda y, f: y[0], "subscriptable"), (lambda y, f: y.mean(), "mean"), (lambda y, f: "text", "text"),
        (lambda y, f: f * np.arange(3.0), "scalar"), (lambda y: y, "positional"),
    ],
)  # fmt: skip
def test_code_that_is_no_formula_is_refused_with_the_reason(function, reason):
    with pytest.raises(NotFollowedError, match=reason):
        trace(function, "y", "f")


def test_kernels_know_nothing_of_these_operations():
    from mercer.kernels import Kernel

    class Cut(Kernel):
        def formula(self, pair):
            return np.maximum(pair.dot(), 0.0)

    with pytest.raises(TypeError, match=r"a kernel's formula cannot use numpy.maximum; it may use add"):
        Cut()([[1.0]])
