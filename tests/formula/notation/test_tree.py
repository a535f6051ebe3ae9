"""The tree of mathematics: what is simplified holds for all values, and what is too long ends in dots."""

import numpy as np
import pytest

from mercer.formula.notation.layout import lay_out
from mercer.formula.notation.reading import LONGEST, read_formula, shorten_tree
from mercer.formula.notation.tree import (
    DOTS,
    ONE,
    ZERO,
    Apply,
    Letter,
    Norm,
    Number,
    Sum,
    Unnamed,
    Word,
    given,
    minus,
    plus,
    power,
    times,
)
from mercer.formula.notation.writing import write_latex, write_mathml
from mercer.kernels import Gaussian, Linear, exp

from ...latex import compute

X, Z = Letter("x"), Letter("z")


def latex(node):
    return write_latex(lay_out(node))


def test_a_root_of_a_square_is_taken_only_of_what_is_never_negative():
    assert power(power(Norm(X), 2.0), 0.5) == Norm(X)
    assert latex(power(power(X, 2.0), 0.5)) == r"\sqrt{x^2}"


def test_equal_factors_become_one_power_and_cancel():
    assert latex(times(X, Z, X)) == r"x^2\,z"
    assert times(X, power(X, -1.0)) == ONE


def test_nothing_is_added_and_multiplied_by_0():
    assert plus(X, ZERO) == X
    assert times(X, ZERO) == ZERO
    assert minus(ZERO, given(2.0)) == Number(-2.0, given=True)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (power(plus(X, Z), 2.0), r"\left(x + z\right)^2"),
        (times(plus(X, Z), X), r"\left(x + z\right)\,x"),
        (minus(X, plus(X, Z)), r"x - \left(x + z\right)"),
        (times(Number(-0.5), X), r"-\frac{x}{2}"),
        (power(times(Number(-1.0), X), 2.0), "x^2"),
        (times(Number(3.0**0.5), X), r"\sqrt{3}\,x"),
        (times(given(1e-9), X), r"10^{-9}\,x"),
        (power(given(-2.0), 3.0), "-2^3"),
        (times(given(2.0), given(3.0)), r"2\cdot 3"),
        (power(Apply("exp", (X,)), 2.0), r"\left(\exp\left(x\right)\right)^2"),
        (power(Apply("sin", (X,)), 2.0), r"\sin^2\left(x\right)"),
        (power(plus(ONE, X), -0.6), r"\left(1 + x\right)^{-0.6}"),
        (Apply(Unnamed("g", 1), (X,)), r"g\left(x\right)"),
        (plus(Apply(Unnamed("g", 1), (X,)), Unnamed("g", 2)), r"g_1\left(x\right) + g_2"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_signs_fractions_and_parentheses_are_where_they_belong(node, text):
    assert latex(node) == text


def test_names_from_anywhere_are_shown_and_do_nothing():
    name = "<b>$x$\\alert{1}&_%"
    found = latex(Word(name))
    assert not set("<>&") & set(found)
    assert "\\alert" not in found
    assert found.count("{") == found.count("}")
    assert write_mathml(lay_out(Word("<b>&"))) == '<mi mathvariant="normal">&lt;b&gt;&amp;</mi>'


def test_long_sums_and_products_and_deep_nests_end_in_dots():
    terms = [power(X, float(i)) for i in range(2, 500)]
    long = shorten_tree(plus(*terms))
    assert isinstance(long, Sum)
    assert long.terms[-1] == DOTS
    assert long.size <= LONGEST + 5
    product = shorten_tree(times(*(Word(f"w{i}") for i in range(500))))
    assert latex(product).endswith(r"\cdots")
    k = Linear()
    for _ in range(2000):
        k = exp(k)
    text = latex(read_formula(k.traced()))
    assert r"\cdots" in text
    assert len(text) < 50 * LONGEST


def test_a_normalised_kernel_inside_a_normalised_one_is_written_out():
    k = ((Linear() + 1).normalize() + Gaussian()).normalize()
    x, z = np.array([0.5, 1.0]), np.array([0.25, -1.0])
    assert compute(latex(read_formula(k.traced())), x, z) == pytest.approx(k(x, z), rel=1e-12)
