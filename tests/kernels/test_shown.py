"""What kernels show in a notebook: their mathematics, which says what they compute, and what is proved at once."""

import importlib
import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from matplotlib.mathtext import MathTextParser

import mercer
from mercer.kernels import (
    Chi2,
    Constant,
    Cosine,
    Custom,
    Edit,
    Fourier,
    Gaussian,
    Intersection,
    Kernel,
    Laplacian,
    Linear,
    LinearMap,
    Matern,
    MeanEmbedding,
    Mismatch,
    ObjectKernel,
    Overlap,
    PairSum,
    Periodic,
    Polynomial,
    PowerExponential,
    RationalQuadratic,
    Sigmoid,
    Sinc,
    Spectrum,
    exp,
)

from ..latex import compute
from ..page import read_page
from ..zoo import ZOO

PUBLIC = {name: getattr(mercer.kernels, name) for name in mercer.kernels.__all__}
NAMES = [
    name for name, kind in PUBLIC.items()
    if isinstance(kind, type) and issubclass(kind, Kernel) and kind not in (Kernel, ObjectKernel)
]  # fmt: skip
NEEDED = {"PairSum": {"base": Gaussian()}, "MeanEmbedding": {"base": Linear()}}  # what has no default
NEEDED |= {"Coregionalization": {"matrix": [[2.0, 1.0], [1.0, 3.0]]}}
NEEDED |= {name: {"graph": [[1], [0]]} for name in ("Diffusion", "RegularizedLaplacian")}
MADE = {entry.name.split()[0].strip(","): entry.kernel for entry in ZOO}


def make(name):
    kind = PUBLIC[name]
    return MADE[name] if isinstance(MADE.get(name), kind) else kind(**NEEDED.get(name, {}))


def check_latex(text):
    assert text[0] == text[-1] == "$"
    depth = 0
    for letter in text.replace(r"\{", "").replace(r"\}", ""):
        depth += (letter == "{") - (letter == "}")
        assert depth >= 0
    assert depth == 0
    assert text.count(r"\left") == text.count(r"\right")
    MathTextParser("path").parse(text)


@pytest.mark.parametrize("name", NAMES)
def test_every_kernel_has_mathematics_that_matplotlib_reads_and_a_page(name):
    kernel = make(name)
    check_latex(kernel._repr_latex_())
    page = read_page(kernel)
    assert repr(kernel)[:40] in page.text
    assert "math" in page.tags


def test_the_mathematics_of_the_zoo_is_what_it_computes(entry):
    text = entry.kernel._repr_latex_()
    check_latex(text)
    if not entry.numeric or isinstance(entry.kernel, Custom):
        return
    functions = {"tanh": np.tanh, "arccos": np.arccos, r"\_cubes": lambda x: np.array(entry.kernel.features(x))}
    for x, z in [(entry.X[0], entry.Z[1]), (entry.X[2], entry.Z[0])]:
        expected = float(entry.kernel(np.array([x]), np.array([z]))[0, 0])
        assert compute(text, x, z, **functions) == pytest.approx(expected, rel=1e-9)


def test_the_formula_of_the_guide():
    k = 2.0 * Gaussian(length_scale=1.5) + Polynomial(degree=2, offset=1.0)
    assert k._repr_latex_() == (
        r"$2\,\exp\left(-\frac{\left\|x - z\right\|^2}{2\cdot 1.5^2}\right) + \left(x^\top z + 1\right)^2$"
    )


# Numbers with few digits, so that what is shown is what is computed with.
numbers = st.sampled_from([0.25, 0.5, 0.7, 1.0, 1.3, 2.0, 3.0])
vectors = st.tuples(numbers, numbers, numbers)
leaves = st.one_of(
    st.just(Linear()),
    st.builds(Polynomial, degree=st.integers(1, 3), offset=st.sampled_from([0.0, 0.5, 2.0])),
    st.builds(Gaussian, length_scale=st.one_of(numbers, vectors)),
    st.builds(Laplacian, length_scale=st.one_of(numbers, vectors)),
    st.builds(Matern, nu=st.sampled_from([0.3, 0.5, 1.0, 1.5, 2.5, 3.2, math.inf]), length_scale=numbers),
    st.builds(RationalQuadratic, length_scale=st.one_of(numbers, vectors), alpha=numbers),
    st.builds(
        PowerExponential, p=st.sampled_from([1.0, 1.5, 2.0]), q=st.sampled_from([0.4, 1.0]), length_scale=numbers
    ),
    st.builds(Periodic, length_scale=st.one_of(numbers, vectors), period=numbers),
    st.builds(Cosine, frequency=numbers),
    st.builds(Fourier, order=st.integers(1, 4)),
    st.just(Sinc()),
    st.builds(Constant, value=numbers),
    st.builds(Chi2, gamma=numbers),
    st.just(Intersection()),
    st.builds(Sigmoid, scale=st.sampled_from([-0.5, 0.3]), offset=st.sampled_from([-0.2, 0.0, 1.0])),
)
looking = st.one_of(  # at all three columns, or at some of them
    leaves,
    st.sampled_from([Gaussian(1.3).on(1), Linear().on([0, 2]), Laplacian((0.5, 2.0)).on([2, 0]), Linear().on(2)]),
    st.sampled_from([Matern(1.5, 0.7).on(0), Gaussian((0.5, 2.0, 3.0)).after(np.tanh), Cosine(0.7).on([0, 1])]),
)


def combine(inner):
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda two: two[0] + two[1]),
        pairs.map(lambda two: two[0] - two[1]),
        pairs.map(lambda two: two[0] * two[1]),
        st.tuples(inner, st.sampled_from([-2.0, -1.0, 0.5, 3.0])).map(lambda two: two[1] * two[0]),
        st.tuples(inner, st.integers(2, 3)).map(lambda two: two[0] ** two[1]),
        inner.map(exp),
        inner.map(lambda k: k.normalize() if k.theorem() is not None else k),
    )


@settings(max_examples=60, deadline=None)
@given(st.recursive(looking, combine, max_leaves=5))
def test_the_mathematics_of_a_composition_is_what_it_computes(kernel):
    x, z = np.array([0.5, 1.25, 0.75]), np.array([0.25, 1.0, 1.5])
    text = kernel._repr_latex_()
    if r"\cdots" in text:
        return
    try:
        expected, size = kernel(x[None], z[None])[0, 0], np.abs(kernel.diag(np.array([x, z]))).max()
    except OverflowError:  # towers of exponentials
        return
    # Differences of large numbers lose digits in both ways of computing.
    assert compute(text, x, z, tanh=np.tanh) == pytest.approx(expected, rel=1e-7, abs=1e-9 * max(1.0, size))


def test_maps_without_a_name_are_told_apart():
    double, square = (lambda x: 2 * x), (lambda x: x**2)
    k = Gaussian().after(double) + Linear().after(square) + Linear().after(double)
    assert "g_1" in k._repr_latex_()
    assert "g_2" in k._repr_latex_()
    assert "g_3" not in k._repr_latex_()
    assert "g_1" not in Gaussian().after(double)._repr_latex_()
    assert r"R\left(x\right)" in Gaussian().after(LinearMap(np.eye(2)))._repr_latex_()


def test_kernels_on_other_things_go_by_their_names():
    assert Spectrum(3)._repr_latex_() == r"$\mathrm{Spectrum}_3\left(x, z\right)$"
    assert r"\mathrm{Mismatch}_{5, 1, \mathrm{ACGT}}" in Mismatch()._repr_latex_()
    assert PairSum(PairSum(Linear()))._repr_latex_() == (
        r"$\sum_{u \in x} \sum_{v \in z} \sum_{s \in u} \sum_{t \in v} s^\top t$"
    )
    assert MeanEmbedding(Spectrum(2))._repr_latex_().startswith(r"$\frac{1}{\left|x\right|\,\left|z\right|}")
    assert r"1\left[x_d = z_d\right]" in Overlap()._repr_latex_()


def test_a_kernel_of_ones_own_shows_its_formula_at_once():
    class Cubic(Kernel):
        weight: float = 2.5

        def formula(self, pair):
            return pair.param("weight") * (pair.dot() + 1) ** 3

    assert Cubic()._repr_latex_() == r"$2.5\,\left(x^\top z + 1\right)^3$"
    assert "weight" in read_page(Cubic()).text


def test_a_class_without_a_formula_shows_its_name():
    class Later(Kernel):
        pass

    assert Later()._repr_latex_() == r"$\mathrm{Later}\left(x, z\right)$"
    assert "Later" in read_page(Later()).text


def test_names_given_by_a_user_are_shown_and_never_run():
    name = "<script>alert('&\"')</script>"
    k = Gaussian().on(name) + Mismatch(2, 0, (name, ("b", 1), ())).on("$x_1$\\")
    page = read_page(k)
    assert "<script>alert" in page.text
    check_latex(k._repr_latex_())
    assert "<" not in k._repr_latex_()


def test_a_page_says_what_is_proved_and_looks_for_nothing(monkeypatch):
    def search(*args, **kwargs):
        raise AssertionError("a search")

    monkeypatch.setattr(importlib.import_module("mercer.certify.search"), "certify_kernel", search)
    assert "Proved: this is a kernel." in read_page(Gaussian() * Linear()).text
    assert "k.certificate() looks for a counterexample" in read_page(Edit()).text
    assert "Proved" not in read_page(Sigmoid()).text


def test_a_page_calls_no_function_of_the_user():
    def refuse(*points):
        raise AssertionError("called")

    read_page(Custom(refuse) + Linear().after(refuse))


def test_many_hyperparameters_are_folded_and_deep_kernels_stay_short():
    page = read_page(Gaussian([1.0] * 50))
    assert "50 hyperparameters" in page.text
    assert "and 10 more" in page.text
    deep = Linear()
    for _ in range(500):
        deep = exp(deep)
    assert len(deep._repr_html_()) < 100_000
