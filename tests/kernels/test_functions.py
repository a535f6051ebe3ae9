"""Functions of two points from text, against the same formulas in NumPy."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer.certify.verdict import Refuted, Unknown
from mercer.formula.syntax import ExpressionError
from mercer.kernels.functions import PointFunction, parse_expression, parse_function

x, z = np.array([0.5, 1.5, 2.0]), np.array([1.0, 0.25, 3.0])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("dot(x, z)", x @ z),
        ("x @ z", x @ z),
        ("sum(x*z)", x @ z),
        ("prod(x + z)", np.prod(x + z)),
        ("norm(x - z)", np.linalg.norm(x - z)),
        ("norm(x - z)**2", ((x - z) ** 2).sum()),
        ("norm(x - z)**3", np.linalg.norm(x - z) ** 3),
        ("exp(-norm(x-z)**2.05)", np.exp(-(np.linalg.norm(x - z) ** 2.05))),
        ("x[0]*z[-1] + 2", x[0] * z[-1] + 2),
        ("(x + z)[1]", x[1] + z[1]),
        ("sum(min(x, z))", np.minimum(x, z).sum()),
        ("max(x[0], z[0], 0.75)", 1.0),
        ("max(x) - min(z)", 2.0 - 0.25),
        ("sum(abs(-x))", x.sum()),
        ("sum(2**x)", (2**x).sum()),
        ("sum(x**z)", (x**z).sum()),
        ("2**0.5 * pi / e", 2**0.5 * math.pi / math.e),
        ("-2**2 + x[0]", -3.5),
        ("1/(1 + norm(x - z))", 1 / (1 + np.linalg.norm(x - z))),
        ("+x[0]", 0.5),
        ("10**200 * x[0]", 5e199),
        ("sum(x) ** -2", 1 / 16),
        ("tanh(x[0])*sin(z[0])", np.tanh(0.5) * np.sin(1.0)),
        *[(f"sum({name}(x))", getattr(np, name)(x).sum()) for name in
          ("exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "cosh", "sinh")],
    ],
)  # fmt: skip
def test_the_language(text, value):
    function = parse_function(text)
    assert function(x, z) == pytest.approx(value, rel=1e-14)
    assert not function.is_vector


@pytest.mark.parametrize(
    ("text", "vector", "least"),
    [("x*z", True, 1), ("x[3]*z[0]", False, 4), ("x[-2] + z", True, 2), ("min(x)", False, 1), ("exp(-x)", True, 1)],
)
def test_a_function_knows_what_points_it_needs(text, vector, least):
    function = parse_function(text)
    assert (function.is_vector, function.least_dim) == (vector, least)


def test_a_function_is_a_value_with_a_name():
    function = parse_function("dot(x,  z)")
    assert function == PointFunction("dot(x,  z)")
    assert pickle.loads(pickle.dumps(function))(x, z) == x @ z
    assert function.__name__ == "dot(x, z)"
    assert repr(function) == "<function of x and z: dot(x, z)>"


def test_mentioning_x_or_z_makes_a_function():
    assert isinstance(parse_expression("x[0]*z[0]"), PointFunction)
    assert isinstance(parse_expression("linear"), mercer.kernels.Kernel)


@pytest.mark.parametrize("text", ["norm(x - z)**2", "dot(x, z) - 0.5", "(dot(x, z) - 1)**3", "-dot(x, z)/4"])
def test_rational_functions_are_refuted_without_rounding(text):
    verdict = mercer.certify(parse_function(text))
    assert isinstance(verdict, Refuted)
    assert verdict.error_bound == 0
    assert text in verdict.explain()


def test_functions_that_are_kernels_are_never_refuted():
    for text in ("exp(-norm(x-z))", "dot(x,z)**2", "1 + dot(x,z)", "cos(x[0]-z[0])", "min(abs(x[0]), abs(z[0]))"):
        assert isinstance(mercer.certify(parse_function(text)), Unknown)


def test_fractions_stay_fractions_and_large_powers_of_them_are_refused():
    a, b = (np.array([Fraction(1, 3), Fraction(2)], dtype=object) for _ in range(2))
    assert parse_function("0.5*dot(x, z)")(a, b) == Fraction(37, 18)
    with pytest.raises(OverflowError, match="too many digits"):
        parse_function("dot(x, z)**1000000000")(a, b)


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("x + Gaussian(1)", 5, "Gaussian is a kernel, and this is a function of x and z"),
        ("Gaussian(1)(x, z)", 1, "Gaussian is a kernel"),
        ("nrom(x - z)", 1, "nrom: did you mean norm?"),
        ("x + y", 5, "y is not known; there are x, z, pi"),
        ("norm", 1, "norm is a function"),
        ("dot(x)", 1, "dot takes 2 arguments, got 1"),
        ("exp(x, z)", 1, "exp takes 1 argument, got 2"),
        ("min()", 1, "min takes 1 argument, got 0"),
        ("sum(x, axis=0)", 1, "plain arguments"),
        ("x < z", 1, "a comparison"),
        ("1 if x else z", 1, "'if'"),
        ("np.exp(x)", 1, "write exp"),
        ("x.T", 3, "a name with a dot"),
        ("x[0.5]", 1, "whole number"),
        ("x[0:2]", 1, "whole number"),
        ("x[z]", 1, "whole number"),
        ("x[~0]", 1, "whole number"),
        ("x[True]", 1, "whole number"),
        ("x[9999999]", 1, "too large"),
        ("x[0][0]", 1, "only vectors"),
        ("x(z)", 1, "write *"),
        ("x ^ z", 1, "a power is written"),
        ("x // z", 1, "a quotient is written"),
        ("'x' + z", 1, "'x' is not a number"),
        ("True * z", 1, "True is not a number"),
        ("9**9**9 * x", 1, "too large"),
        ("1/0 + x", 1, "division by zero"),
        ("(-1)**0.5 * x", 1, "not a real number"),
        ("lambda x, z: x", 1, "lambda"),
    ],
)
def test_an_error_is_one_line_that_says_what_and_where(text, column, says):
    with pytest.raises(ExpressionError) as caught:
        parse_function(text)
    assert says in str(caught.value)
    assert caught.value.column == column
    assert "\n" not in str(caught.value)


expressions = st.recursive(
    st.sampled_from(["x", "z", "x[0]", "2", "0.5", "pi"]),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "**"]), inner),
        st.builds("-{}".format, inner),
        st.builds("{}({})".format, st.sampled_from(["exp", "sin", "abs", "sum", "norm", "max"]), inner),
        st.builds("{}({}, {})".format, st.sampled_from(["dot", "min"]), inner, inner),
    ),
    max_leaves=12,
)
NAMES = {name: getattr(np, name) for name in ("exp", "sin", "abs", "sum", "max", "pi")}
NAMES |= {"norm": lambda v: np.sqrt(np.sum(np.multiply(v, v))), "min": np.minimum}
NAMES |= {"dot": lambda a, b: np.sum(np.multiply(a, b)), "x": x, "z": z}


@settings(deadline=None, max_examples=100)
@given(expressions)
def test_random_expressions_are_what_python_makes_of_them(text):
    with np.errstate(all="ignore"):
        try:
            expected = eval(text, {"__builtins__": {}}, NAMES)
        except (ArithmeticError, ValueError):  # NumPy's whole numbers have no negative powers
            return
        try:
            value = parse_function(text)(x, z)
        except ExpressionError as error:
            assert any(what in str(error) for what in ("too large", "not a real", "division"))  # noqa: PT017
            return
    if not np.iscomplexobj(expected):
        np.testing.assert_allclose(value, expected, rtol=1e-9)
