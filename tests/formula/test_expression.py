"""Formulas as values: what building, evaluating and differentiating an expression means."""

import math

import numpy as np
import pytest

from mercer.formula.expression import (
    Call,
    Const,
    Diagonal,
    Param,
    evaluate,
    log_derivative,
    nodes,
    parameters,
    power,
    scaled_bessel,
)

p, q = Param("p", 1.7), Param("q", 0.6)


def value(expression):
    """Evaluate an expression of constants and parameters only."""
    return float(evaluate(expression, _never, _never))


def _never(leaf):
    raise AssertionError(f"{leaf} is not a number")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (p + q, 2.3), (2 + p, 3.7), (p - q, 1.1), (2 - p, 0.3), (p * q, 1.02), (3 * p, 5.1), (p / q, 1.7 / 0.6),
        (1 / p, 1 / 1.7), (-p, -1.7), (p**2, 1.7**2), (p**-2, 1.7**-2), (p**0.5, 1.7**0.5), (p**1.3, 1.7**1.3),
        (p**0, 1.0), (p**1, 1.7), (p**-0.5, 1.7**-0.5), (np.exp(p), math.exp(1.7)), (np.log(p), math.log(1.7)),
        (np.sqrt(p), math.sqrt(1.7)), (np.tanh(p), math.tanh(1.7)), (np.square(p), 1.7**2), (np.negative(p), -1.7),
        (np.reciprocal(p), 1 / 1.7), (np.power(p, 3), 1.7**3), (np.add(1, p), 2.7), (np.subtract(1, p), -0.7),
        (np.float64(2) * p, 3.4), (np.float64(2) - p, 0.3), (np.multiply(p, q), 1.02), (np.divide(p, q), 1.7 / 0.6),
        (np.exp(-(p + q) ** 2) * (1 + p * q), math.exp(-(2.3**2)) * 2.02),
    ],
    ids=repr,
)  # fmt: skip
def test_arithmetic_means_what_it_says(expression, expected):
    np.testing.assert_allclose(value(expression), expected, rtol=1e-14)


@pytest.mark.parametrize(
    "formula",
    [
        lambda a, b: a * b + a / b - 3 * a, lambda a, b: np.exp(-a * b) * (1 + a), lambda a, b: np.log(a + b**2),
        lambda a, b: np.tanh(a - b), lambda a, b: np.sqrt(a * b), lambda a, b: (a + b) ** 3,
        lambda a, b: (a + b) ** 1.7, lambda a, b: (a + b) ** -2, lambda a, b: 1 / (a + np.exp(b)),
        lambda a, b: a**0.3 * b, lambda a, b: a - a, lambda a, b: scaled_bessel(a * b, 3.2, 3.2),
        lambda a, b: scaled_bessel(a + b, 0.3, 0.3), lambda a, b: scaled_bessel(a + b, 1.0, 1.0),
        lambda a, b: scaled_bessel(a + b, 70.0, 70.0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["p", "q"])
def test_derivatives_by_a_logarithm_are_finite_differences(formula, name):
    h = 1e-6
    shifted = [
        formula(Param("p", 1.7 * math.exp(s * (name == "p"))), Param("q", 0.6 * math.exp(s * (name == "q"))))
        for s in (h, -h)
    ]
    expected = (value(shifted[0]) - value(shifted[1])) / (2 * h)
    np.testing.assert_allclose(value(log_derivative(formula(p, q), name)), expected, rtol=1e-7, atol=1e-9)


def test_constants_fold_and_neutral_elements_vanish():
    assert Const(2.0) + 3.0 == Const(5.0)
    assert p + 0 == p
    assert 0 + p == p
    assert 1 * p == p
    assert p * 0 == Const(0.0)
    assert log_derivative(p * q, "other") == Const(0.0)


def test_a_reciprocal_of_zero_is_zero():
    zero = Param("z", 0.0)
    assert value(1 / zero) == 0
    assert value(zero**-2) == 0
    assert value(log_derivative(np.sqrt(zero), "z")) == 0


def test_whole_powers_are_exact_for_negative_numbers():
    assert value(Param("n", -2.0) ** 3) == -8


def test_parameters_are_found_once_in_order_of_appearance():
    assert parameters(q * p + np.exp(p)) == {"q": 0.6, "p": 1.7}
    assert list(parameters(q * p)) == ["q", "p"]


def test_each_node_is_visited_once_children_first():
    shared = np.exp(p)
    visited = list(nodes(shared * shared + Diagonal("left", shared)))
    assert len(visited) == len(set(visited)) == 5
    assert visited.index(p) < visited.index(shared)


def test_each_node_is_evaluated_once():
    calls = []

    def diagonal(node):
        calls.append(node)
        return np.array(2.0)

    left = Diagonal("left", p)
    assert evaluate(left * left + left, _never, diagonal) == 6.0
    assert calls == [left]


def test_unknown_functions_are_refused_with_the_known():
    with pytest.raises(TypeError, match=r"cannot use numpy\.sin; it may use add, divide, exp, log"):
        np.sin(p)
    with pytest.raises(TypeError, match="cannot use"):
        np.exp(p, where=True)
    with pytest.raises(TypeError, match="cannot use"):
        np.add.reduce(p)


def test_an_unknown_operation_has_no_derivative():
    with pytest.raises(ValueError, match="no derivative is known for 'sine'"):
        log_derivative(Call("sine", (p,)), "p")


def test_only_the_first_derivative_of_a_matern_profile_is_available():
    first = log_derivative(scaled_bessel(p, 3.2, 3.2), "p")
    with pytest.raises(ValueError, match="only the first derivative"):
        log_derivative(first, "p")


def test_overflow_is_quiet_until_the_result_is_judged():
    assert value(np.exp(Param("p", 1e4))) == math.inf
    assert value(power(Param("p", 1e200), 2)) == math.inf
