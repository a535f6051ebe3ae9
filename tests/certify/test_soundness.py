"""Every proof and every refutation holds in exact arithmetic, whatever the scales and however many features.

Values are computed here by other means than the library's: from the kernels themselves, in decimals of 110 digits, and
of 800 where these leave a doubt.
"""

import decimal
import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.certify import Proved, Refuted, Unknown
from mercer.kernels import (
    Constant,
    Gaussian,
    Laplacian,
    Linear,
    MeanEmbedding,
    PairSum,
    Polynomial,
    Precomputed,
    Sigmoid,
    exp,
)
from mercer.kernels.algebra import Exp, Normalized, Power, Product, Scaled, Sum
from mercer.kernels.pullback import After, On


def precisely(digits=110):
    return localcontext(
        decimal.Context(prec=digits, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[decimal.Overflow])
    )


def noise():
    """Return what is left of a zero after cancellation, relative to the terms."""
    return Decimal(10) ** (-decimal.getcontext().prec // 2)


def value(k, x, z):
    """k(x, z) for points given by their first few coordinates, the others being 0."""
    match k:
        case Constant():
            return Decimal(float(k.value))
        case Linear():
            return sum(a * b for a, b in zip(x, z, strict=True))
        case Polynomial():
            return (value(Linear(), x, z) + Decimal(float(k.offset))) ** int(k.degree)
        case Gaussian():
            return (-sum((a - b) ** 2 for a, b in zip(x, z, strict=True)) / (2 * Decimal(k.length_scale) ** 2)).exp()
        case Laplacian():
            return (-sum(abs(a - b) for a, b in zip(x, z, strict=True)) / Decimal(k.length_scale)).exp()
        case Sigmoid():
            e = (2 * (Decimal(k.scale) * value(Linear(), x, z) + Decimal(k.offset))).exp()
            return (e - 1) / (e + 1)
        case Sum():
            return value(k.k1, x, z) + value(k.k2, x, z)
        case Product():
            return value(k.k1, x, z) * value(k.k2, x, z)
        case Scaled():
            return Decimal(float(k.weight)) * value(k.kernel, x, z)
        case Power():
            return value(k.kernel, x, z) ** int(k.exponent)
        case Exp():
            return value(k.kernel, x, z).exp()
        case Normalized():
            norms = [max(value(k.kernel, p, p), Decimal(0)).sqrt() for p in (x, z)]
            return value(k.kernel, x, z) / (norms[0] * norms[1]) if all(norms) else Decimal(0)
        case On():
            return value(k.kernel, *([p[c] for c in k.chosen()] for p in (x, z)))
    raise NotImplementedError(type(k))


def negative_form(K):
    """Whether elimination meets a pivot that is negative beyond noise, relative to the row it came from."""
    K = [list(row) for row in K]
    small = noise()
    sizes = [abs(K[i][i]) for i in range(len(K))]
    left = list(range(len(K)))
    while left:
        if any(K[i][i] < -small * sizes[i] or K[i][i] < 0 == sizes[i] for i in left):
            return True
        p = max(left, key=lambda i: K[i][i] / sizes[i] if sizes[i] else 0)
        left.remove(p)
        if K[p][p] <= small * sizes[p]:
            return any(K[p][i] ** 2 > small * sizes[p] * sizes[i] for i in left)
        for i, j in itertools.product(left, repeat=2):
            K[i][j] -= K[i][p] * K[p][j] / K[p][p]
    return False


def scales_inside(k):
    found = [float(s) for s in k.get_params().values() if isinstance(s, float) and 1e-150 <= s <= 1e150]
    return sorted({1.0, *found}, key=lambda s: abs(math.log(s)))[:4]


def counterexample(kernel, dim):
    """Return points at which a kernel is not positive semi-definite, or None if there are none among those tried."""
    width = min(dim, 3)
    shapes = [
        [(0,), (1,), (2,), (3,)],
        [(0,), (1,), (-1,), (0.25,), (-3,)],
        [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 1)],
        [(1, 2, 3), (-2, 1, 0.5), (0.125, -1, 1)],
    ]
    for scale, shape in itertools.product(scales_inside(kernel), shapes):
        points = [[Decimal(scale) * Decimal(c) for c in (*p, 0, 0)[:width]] for p in shape]
        points = [p for i, p in enumerate(points) if p not in points[:i]]
        if is_negative(kernel, points) and is_negative(kernel, points, digits=800):
            return points
    return None


def is_negative(kernel, points, digits=110):
    try:
        with precisely(digits):
            return negative_form([[value(kernel, x, z) for z in points] for x in points])
    except decimal.Overflow:
        return False  # larger than any number with a name


def refuted_value(kernel, verdict, digits=110):
    """Σ aᵢaⱼ k(xᵢ, xⱼ) at the points and coefficients of a refutation."""
    used = max(3, int(np.flatnonzero(np.abs(verdict.points).max(axis=0)).max(initial=0)) + 1)
    with precisely(digits):
        points = [[Decimal(float(c)) for c in p[:used]] for p in verdict.points]
        a = [Decimal(float(c)) for c in verdict.coefficients]
        pairs = itertools.product(range(len(a)), repeat=2)
        return sum(a[i] * a[j] * value(kernel, points[i], points[j]) for i, j in pairs)


def certificate(kernel, dim, seconds=0.05):
    """Return the verdict after a short search: what is found at all is mostly found soon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("mercer.certify.search"), "SEARCH_SECONDS", seconds)
        return kernel.certificate(dim=dim)


def check(kernel, dim):
    verdict = certificate(kernel, dim)
    assert isinstance(verdict, Proved | Refuted | Unknown)
    assert verdict.explain()
    if isinstance(verdict, Proved):
        assert counterexample(kernel, dim) is None
    if isinstance(verdict, Refuted):
        assert verdict.value < -verdict.error_bound <= 0
        assert refuted_value(kernel, verdict) < 0 or refuted_value(kernel, verdict, digits=800) < 0
    return verdict


DIMS = st.sampled_from([1, 2, 3, 10, 784, 99_999, 100_000])
LENGTHS = st.sampled_from([1.0, 1.1, 2.0, 0.3, 1e3, 1e-100, 1e100, 1e-150, 1e150])
WEIGHTS = st.sampled_from([1.0, 0.5, 2.0, 3.0, 1e-300, 1e300, 1e-170, 1e160, 5e-324, 1.5e-323, 0.1, 0.0])
LEAVES = st.one_of(
    st.just(Linear()),
    LENGTHS.map(Gaussian),
    LENGTHS.map(Laplacian),
    WEIGHTS.map(Constant),
    st.builds(Polynomial, st.integers(1, 4), WEIGHTS),
    st.builds(Sigmoid, st.sampled_from([1.0, 1e-200]), st.sampled_from([0.0, 1.0])),
)


def composed(inner):
    return st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a - b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda a, n: a**n, inner, st.integers(2, 4)),
        st.builds(Scaled, inner, WEIGHTS),
        st.builds(lambda a, w: a + Scaled(a, -w), inner, WEIGHTS),
        st.builds(lambda a, w: Scaled(Scaled(a, w), -w), inner, WEIGHTS),
        inner.map(exp),
        inner.map(lambda a: a.normalize()),
        inner.map(lambda a: a.on([0])),
    )


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.recursive(LEAVES, composed, max_leaves=6), DIMS)
def test_a_verdict_on_a_composition_holds_in_exact_arithmetic(kernel, dim):
    check(kernel, dim)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(WEIGHTS, st.sampled_from([1, -1]), LENGTHS, LENGTHS), min_size=2, max_size=4), st.integers(1, 6)
)
def test_a_difference_of_gaussians_that_is_proved_has_no_negative_frequency(terms, dim):
    kernel = sum((sign * w * (Gaussian(s) * Gaussian(r)) for w, sign, s, r in terms), Constant(0.0))
    verdict = check(kernel, dim)
    if isinstance(verdict, Proved):
        with precisely():
            terms = [(sign * Decimal(w), 1 / Decimal(s) ** 2 + 1 / Decimal(r) ** 2) for w, sign, s, r in terms]
            for base, factor in itertools.product([t for _, t in terms], ["0", "1e-9", "0.1", "0.5", "1", "3", "30"]):
                g = [w * (-Decimal(dim) / 2 * t.ln() - base * Decimal(factor) / (2 * t)).exp() for w, t in terms]
                assert sum(g) >= -noise() * max(map(abs, g))


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    st.floats(0.5, 2.0),
    st.floats(1e-5, 0.3),
    st.sampled_from([1, 2, 3, 17, 784, 99_999, 100_000]),
    st.integers(-4, 4),
    st.sampled_from([1e3, 7.0, 1e150]),
)
def test_two_gaussians_are_decided_by_the_sign_of_their_spectrum_at_zero(narrow, more, dim, ulps, common):
    wide = narrow * (1 + more / dim)
    with precisely():
        t1, t2 = (1 / Decimal(s) ** 2 + 1 / Decimal(common) ** 2 for s in (narrow, wide))
        critical = ((t1.ln() - t2.ln()) * dim / 2).exp()
        weight = float(critical) * (1 + ulps * 2.0**-52)
        expected = Decimal(weight) - critical
    kernel = weight * (Gaussian(narrow) * Gaussian(common)) - Gaussian(wide) * Gaussian(common)
    if t1 == t2:
        return
    assert isinstance(certificate(kernel, dim, seconds=0.001), Proved) == (expected >= 0)


@pytest.mark.parametrize("dim", [1, 2, 784, 100_000])
@pytest.mark.parametrize("weight", [1.5e-323, 5e-324, 1e-300, 1.0, 1e300])
def test_the_size_of_weights_does_not_matter(weight, dim):
    assert not isinstance(certificate(weight * Gaussian(1.0) - weight * Gaussian(1.1), dim), Proved)
    assert isinstance(certificate(weight * Gaussian(1.0) - 0.5 * (weight * Gaussian(1.0)), dim), Proved)


@pytest.mark.parametrize("wrap", [MeanEmbedding, PairSum, lambda k: After(k, np.abs)], ids=["mean", "pairs", "map"])
def test_a_proof_for_points_says_nothing_about_what_is_made_of_them(wrap):
    difference = 3.0 * Gaussian(1.0) - Gaussian(2.0)
    assert isinstance(difference.certificate(dim=1), Proved)
    for kernel in (wrap(difference), 2.0 * wrap(difference) + 1.0, wrap(difference).normalize()):
        assert not isinstance(kernel.certificate(dim=1), Proved)
    assert isinstance(wrap(difference.on([3])).certificate(), Proved)


def in_plane(z):
    return np.array([[z[0], z[1]], [z[1], z[2]]])


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    st.tuples(st.integers(1, 2**53), st.integers(-(2**53), 2**53), st.integers(1, 2**53)),
    st.integers(-3, 3),
    st.integers(-1126, 970),
)
def test_a_matrix_of_two_rows_is_decided_by_its_exact_determinant(entries, ulps, exponent):
    a, b, c = entries
    if ulps:  # nearly singular
        b = math.isqrt(a * c) + ulps
    K = np.ldexp(in_plane([float(a), float(b), float(c)]), exponent)
    determinant = Fraction(K[0, 0]) * Fraction(K[1, 1]) - Fraction(K[0, 1]) ** 2
    verdict = Precomputed(K).certificate()
    if isinstance(verdict, Proved):
        assert determinant >= 0
    elif isinstance(verdict, Refuted):
        a = [Fraction(float(v)) for v in verdict.coefficients]
        pairs = itertools.product(range(len(a)), repeat=2)
        rows = verdict.points
        assert sum(a[i] * a[j] * Fraction(K[rows[i], rows[j]]) for i, j in pairs) < 0 > verdict.value
    else:
        assert determinant < 0


def test_a_matrix_that_is_not_quite_symmetric_is_proved_only_if_either_half_is():
    assert not isinstance(Precomputed([[1.0, 1.0 + 1e-9], [1.0 - 1e-9, 1.0]]).certificate(), Proved)
    assert not isinstance(Precomputed([[1.0, 1.0 - 1e-9], [1.0 + 1e-9, 1.0]]).certificate(), Proved)
    assert isinstance(Precomputed([[1.0, 1.1], [1.1 + 1e-9, 1.0]]).certificate(), Refuted)
    assert isinstance(Precomputed([[1.0, 0.5], [0.5 + 1e-9, 1.0]]).certificate(), Proved)
