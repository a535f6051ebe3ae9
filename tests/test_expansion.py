"""f = Σ cᵢ k(xᵢ, ·) + b behaves as a vector of the space it lives in."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from mercer import Expansion, MemoryBudgetError
from mercer.kernels import Custom, Gaussian, Linear, Matern, Polynomial

from .page import read_page

rng = np.random.default_rng(3)
X, Z, T = rng.normal(size=(7, 2)), rng.normal(size=(5, 2)), rng.normal(size=(4, 2))


def test_linear_functions_are_the_space_of_the_linear_kernel_with_the_norm_of_w():
    centers, coef = rng.normal(size=(6, 3)), rng.normal(size=6)
    w = centers.T @ coef
    f = Expansion(Linear(), centers, coef)
    points = rng.normal(size=(10, 3))
    np.testing.assert_allclose(f(points), points @ w, rtol=1e-12)
    assert f.norm() ** 2 == pytest.approx(w @ w, rel=1e-12)


def test_evaluation_is_the_sum_over_centers_plus_the_intercept():
    kernel = Gaussian(0.7) + Linear()
    f = Expansion(kernel, X, np.arange(7.0), intercept=2.5)
    by_hand = [sum(c * kernel(x[None], t[None])[0, 0] for c, x in zip(np.arange(7.0), X, strict=True)) + 2.5 for t in T]
    np.testing.assert_allclose(f(T), by_hand, rtol=1e-10)


def test_the_kernel_reproduces():
    f = Expansion(Matern(2.5), X, rng.normal(size=7))
    for t in T:
        evaluation = Expansion(Matern(2.5), t[None], [1.0])
        assert f.inner(evaluation) == pytest.approx(f(t[None])[0], rel=1e-10)


@given(st.floats(-3, 3), st.floats(-3, 3))
def test_sums_and_multiples_act_pointwise_and_the_inner_product_is_bilinear(a, b):
    f = Expansion(Gaussian(), X, np.linspace(-1, 1, 7), 0.5)
    g = Expansion(Gaussian(), Z, np.linspace(2, -1, 5), -1.5)
    h = a * f + b * g - f / 2
    np.testing.assert_allclose(h(T), a * f(T) + b * g(T) - f(T) / 2, atol=1e-10)
    np.testing.assert_allclose(h.inner(g), (a - 0.5) * f.inner(g) + b * g.inner(g), atol=1e-9)


def test_norms_satisfy_cauchy_schwarz_and_the_triangle_inequality():
    f, g = Expansion(Gaussian(), X, rng.normal(size=7)), Expansion(Gaussian(), Z, rng.normal(size=5))
    assert abs(f.inner(g)) <= f.norm() * g.norm() * (1 + 1e-12)
    assert (f + g).norm() <= f.norm() + g.norm() + 1e-12
    assert (f - f).norm() == pytest.approx(0, abs=1e-7)


def test_adding_expansions_on_the_same_centers_adds_coefficients():
    f, g = Expansion(Gaussian(), X, np.ones(7)), Expansion(Gaussian(), X, np.arange(7.0))
    assert (f + g).centers is X
    np.testing.assert_array_equal((f + g).coef, 1 + np.arange(7.0))


def test_several_outputs_are_columns():
    C = rng.normal(size=(7, 3))
    f = Expansion(Gaussian(), X, C, intercept=[1.0, 2.0, 3.0])
    for q in range(3):
        one = Expansion(Gaussian(), X, C[:, q], float(q + 1))
        np.testing.assert_allclose(f(T)[:, q], one(T), rtol=1e-12)
        assert f.norm()[q] == pytest.approx(one.norm(), rel=1e-12)
    assert f.inner(f).shape == (3,)


def test_objects_work_as_centers():
    common = Custom(lambda x, z: float(len(set(x) & set(z))))
    f = Expansion(common, ["abc", "cde"], [1.0, 2.0])
    np.testing.assert_array_equal(f(["a", "c", "xyz"]), [1.0, 3.0, 0.0])
    assert (f + Expansion(common, ["x"], [1.0]))(["xyz"]) == [1.0]


@pytest.mark.parametrize("form", [pd.DataFrame, lambda A: pl.DataFrame(A, schema=["a", "b"]), sparse.csr_array, list])
def test_sums_concatenate_centers_of_any_form(form):
    f, g = Expansion(Linear(), form(X), np.ones(7)), Expansion(Linear(), form(Z), np.ones(5))
    expected = T @ (X.sum(0) + Z.sum(0))
    np.testing.assert_allclose((f + g)(form(T)), expected, rtol=1e-12)


def test_a_small_budget_gives_the_same_values():
    centers, coef = rng.normal(size=(300, 2)), rng.normal(size=300)
    f = Expansion(Gaussian(), centers, coef)
    points = rng.normal(size=(500, 2))
    np.testing.assert_allclose(f(points, memory=200_000), f(points), rtol=1e-9, atol=1e-10)


def test_expansions_of_different_kernels_do_not_mix():
    with pytest.raises(ValueError, match=r"different spaces.*Gaussian.*Linear"):
        Expansion(Gaussian(), X, np.ones(7)) + Expansion(Linear(), X, np.ones(7))
    with pytest.raises(ValueError, match="different outputs"):
        Expansion(Gaussian(), X, np.ones(7)).inner(Expansion(Gaussian(), X, np.ones((7, 2))))


def test_wrong_coefficients_say_what_was_expected():
    with pytest.raises(ValueError, match=r"7 centers.*got \(6,\)"):
        Expansion(Gaussian(), X, np.ones(6))
    with pytest.raises(ValueError, match="intercept must be one number"):
        Expansion(Gaussian(), X, np.ones((7, 2)), intercept=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="finite"):
        Expansion(Gaussian(), X, np.full(7, np.nan))
    with pytest.raises(TypeError, match="must be a mercer kernel"):
        Expansion("rbf", X, np.ones(7))


def test_numpy_scalars_multiply_from_the_left():
    f = np.float64(2.0) * Expansion(Polynomial(), X, np.ones(7))
    assert isinstance(f, Expansion)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, pd.DataFrame, pl.DataFrame, lambda rows: rows.tolist()])
def test_in_features_the_function_is_the_same(form):
    rows = np.random.default_rng(5).normal(size=(7, 2))
    kernel = Polynomial(2, 1.0) + 3.0 * Linear()
    f = Expansion(kernel, form(rows), np.arange(14.0).reshape(7, 2) / 10, [1.0, -2.0])
    g = f.in_features()
    assert g.w.shape == (kernel.feature_dim(2), 2)
    np.testing.assert_allclose(g(form(rows)), f(form(rows)), rtol=1e-12)
    np.testing.assert_allclose(g.w, kernel.feature_map(2).transform(rows).T @ f.coef, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(g.w, axis=0), f.norm())


def test_features_are_summed_in_blocks(monkeypatch):
    rows, coef = np.random.default_rng(6).normal(size=(2, 9, 3))
    whole = Expansion(Polynomial(3, 1.0), rows, coef).in_features().w
    monkeypatch.setattr("mercer.expansion.BLOCK_BYTES", 1000)
    np.testing.assert_allclose(Expansion(Polynomial(3, 1.0), rows, coef).in_features().w, whole, atol=1e-12)


def test_without_finitely_many_features_the_error_says_what_to_do():
    with pytest.raises(ValueError, match=r"infinitely many features.*mercer\.features\.Nystroem"):
        Expansion(Gaussian(), np.zeros((1, 2)), [1.0]).in_features()
    with pytest.raises(MemoryBudgetError, match=r"the weights of .* features .*use expansion_"):
        Expansion(Polynomial(60, 1.0), np.zeros((1, 60)), [1.0]).in_features()


def test_a_notebook_shows_the_function_and_its_largest_coefficients():
    f = Expansion(Gaussian(0.7), X, [1.0, -9.0, 2.0, 0.0, 5.0, -4.0, 3.0], intercept=-2.5)
    assert f._repr_latex_() == r"$f\left(x\right) = \sum_{i = 1}^7 c_i\,k\left(x_i, x\right) - 2.5$"
    page = read_page(f)
    shown = [page.text.index(number) for number in ("−9", "5(", "−4(", "3(", "2(")]
    assert shown == sorted(shown)
    assert "of which 1 are 0" in page.text
    assert f"{f.norm():.4g}" in page.text
    assert "largest 5 of 7" in page.text


def test_a_notebook_computes_no_norm_that_may_take_long():
    def refuse(*points):
        raise AssertionError("evaluated")

    page = read_page(Expansion(Custom(refuse), ["<b>a</b>", "b"], [1.0, 2.0]))
    assert "‖f‖" not in page.text
    assert "<b>a</b>" in page.text
    many = np.zeros((500, 2))
    assert "‖f‖" not in read_page(Expansion(Gaussian(), many, np.ones(500))).text


@pytest.mark.parametrize(
    "centers",
    [X, X.tolist(), pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame(X, schema=["a", "b"]), sparse.csr_array(X)],
    ids=["array", "list", "pandas", "polars", "sparse"],
)
def test_a_notebook_shows_centers_of_any_kind_and_several_outputs(centers):
    page = read_page(Expansion(Linear(), centers, np.ones((7, 2)), intercept=[0.5, 1.5]))
    assert f"{X[0, 0]:.4g}".lstrip("-")[:4] in page.text
    assert "0.5, 1.5" in page.text
    assert "outputs" in page.text
