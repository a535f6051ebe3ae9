"""Intervals contain what they should, and are hardly wider than that."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.certify.exact import compute_exact_gram, enclose_gram
from mercer.certify.interval import Interval, TooWideError
from mercer.kernels import (
    Chi2,
    Gaussian,
    Intersection,
    Laplacian,
    Linear,
    Overlap,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    exp,
)

NUMBERS = st.fractions(-20, 20, max_denominator=1000)
FINE = Context(prec=200)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(NUMBERS, NUMBERS, st.integers(1, 9))
def test_rational_operations_contain_the_exact_result(a, b, n):
    x, y = Interval.of(a), Interval.of(b)
    assert (x + y).contains(a + b)
    assert (x * y).contains(a * b)
    assert x.power(n).contains(a**n)
    assert x.reciprocal().contains(1 / a if a else Fraction(0))
    assert x.positive_part().contains(max(a, Fraction(0)))
    assert Interval(x.low, (x + Interval.of(Fraction(1))).high).power(n).contains((a + Fraction(1, 2)) ** n)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(NUMBERS)
def test_functions_contain_the_value_to_two_hundred_digits(a):
    x, exact = Interval.of(a), FINE.divide(Decimal(a.numerator), Decimal(a.denominator))
    e = FINE.exp(FINE.multiply(2, exact))
    results = [(x.exp(), FINE.exp(exact)), (x.tanh(), FINE.divide(FINE.subtract(e, 1), FINE.add(e, 1)))]
    if a > 0:
        results += [(x.log(), FINE.ln(exact)), (x.sqrt(), FINE.sqrt(exact))]
    for found, value in results:
        assert found.low <= value <= found.high
        assert found.width <= 1e-55 * max(1.0, abs(found.middle))


def test_what_may_be_anything_is_an_error():
    around_zero = Interval(Decimal(-1), Decimal(1))
    with pytest.raises(TooWideError):
        around_zero.reciprocal()
    with pytest.raises(TooWideError):
        around_zero.log()


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(), Gaussian(0.7), Gaussian([1.0, 0.3]), Laplacian(2.0), Laplacian([1.0, 3.0]), Polynomial(3, 0.1),
        Sigmoid(), Chi2(), Intersection(), Overlap(), RationalQuadratic(1.0, 0.3), exp(Linear()).normalize(),
        Linear().normalize(), Linear().on([1]) - Gaussian(),
    ],
    ids=repr,
)  # fmt: skip
def test_enclosed_values_are_those_of_the_kernel(kernel):
    X = np.abs(np.random.default_rng(0).normal(size=(5, 2)).round(2))
    X[0] = 0.0
    enclosed = enclose_gram(kernel.traced(), X)
    found = np.array([[entry.middle for entry in row] for row in enclosed])
    np.testing.assert_allclose(found, kernel(X), rtol=1e-13, atol=1e-15)
    assert max(entry.width for row in enclosed for entry in row) < 1e-50


def test_formulas_of_unknown_functions_are_not_enclosed():
    assert enclose_gram(Periodic().traced(), np.eye(2)) is None
    assert compute_exact_gram(((Linear() ** 1000) ** 1000).traced(), np.array([[1.5]])) is None
    assert math.isfinite(enclose_gram(((Linear() ** 1000) ** 1000).traced(), np.array([[1.0]]))[0][0].middle)
