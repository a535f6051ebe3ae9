"""Whether Gram matrices at distinct points are invertible: what is claimed of kernels holds for their numbers."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from mercer.certify import Proved, Refuted
from mercer.formula.evaluation import Evaluation
from mercer.kernels import (
    Chi2,
    Constant,
    Cosine,
    Custom,
    Gaussian,
    GlobalAlignment,
    Intersection,
    Laplacian,
    Linear,
    Matern,
    MeanEmbedding,
    Overlap,
    PairSum,
    Periodic,
    Polynomial,
    PowerExponential,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    Sinc,
    Spectrum,
    exp,
)
from mercer.kernels.theorem import Definiteness, strictly

mpmath = pytest.importorskip("mpmath")

# Corners of rectangles, points of opposite sign, points a period 1 apart, points that agree in a column, and 0.
LINE = np.array([[0.0], [1.0], [-1.0], [2.0], [-2.0], [3.0]])
PLANE = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [-1, 0], [0, -1], [-1, -1], [2, 0]], dtype=float)
SPACE = np.vstack([np.pad(PLANE, [(0, 0), (0, 1)]), [[0, 0, 1], [1, 1, 1], [-1, 0, -1]]])  # the plane and more


def least_eigenvalue(K):
    """Return the least eigenvalue after scaling to a unit diagonal, 0 if a diagonal entry is."""
    scale = np.sqrt(np.diag(K))
    if scale.min() == 0:
        return 0.0
    unit = K / scale / scale[:, None]
    if K.dtype == float:
        return float(np.linalg.eigvalsh(unit)[0])
    with mpmath.workdps(30):
        exact = mpmath.matrix([[mpmath.mpf(np.format_float_scientific(entry)) for entry in row] for row in unit])
        return float(min(mpmath.eigsy(exact, eigvals_only=True)))


def strictness(kernel, dim=None):
    verdict = kernel.certificate(dim=dim)
    assert isinstance(verdict, Proved)
    return verdict.strict


# -- strictly positive definite ------------------------------------------------------------------------------------

# Of the kernels in the zoo, and of these.
STRICT = [PowerExponential(1, 1, [2.0, 0.5]), exp(Polynomial(3, 0.0)), exp(Polynomial(2, 1.0)), exp(Linear() - 1.0)]
STRICT += [Gaussian() * Polynomial(), Gaussian() ** 2, exp(Linear()).normalize(), exp(Sinc()), exp(Gaussian())]
STRICT += [(Gaussian() + 1.0).normalize(), Gaussian() * Laplacian() - 0.0 * Linear(), (Gaussian() + 1.0) ** 2 - 1.0]
STRICT += [Gaussian().on(slice(None)), Periodic() + Gaussian(), 2.0 * Gaussian() + Linear()]


def check_strict(kernel, X):
    verdict = kernel.certificate()
    assert verdict.strict is True
    assert "Strictly positive definite: K is invertible at distinct points, because" in " ".join(str(verdict).split())
    assert kernel.certificate(dim=X.shape[1]).strict is True
    assert least_eigenvalue(kernel(X)) > 1e-8


def test_strict_kernels_have_invertible_matrices_in_every_dimension_and_say_why(strict):
    check_strict(strict.kernel, SPACE)


@pytest.mark.parametrize("kernel", STRICT, ids=repr)
def test_strict_compositions_have_invertible_matrices_in_every_dimension_and_say_why(kernel):
    check_strict(kernel, PLANE)


def _square(x, z):
    return mpmath.fsum((a - b) ** 2 for a, b in zip(x, z, strict=True))


@pytest.mark.parametrize(
    ("kernel", "formula"),
    [
        (Gaussian(), lambda x, z: mpmath.exp(-_square(x, z) / 2)),
        (Matern(1.5), lambda x, z: (1 + mpmath.sqrt(3 * _square(x, z))) * mpmath.exp(-mpmath.sqrt(3 * _square(x, z)))),
        (Laplacian(), lambda x, z: mpmath.exp(-mpmath.fsum(abs(a - b) for a, b in zip(x, z, strict=True)))),
        (RationalQuadratic(), lambda x, z: 1 / (1 + _square(x, z) / 2)),
        (exp(Linear()), lambda x, z: mpmath.exp(mpmath.fsum(a * b for a, b in zip(x, z, strict=True)))),
        (Chi2(), lambda x, z: mpmath.exp(-mpmath.fsum((a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True)))),
    ],
    ids=lambda value: repr(value) if hasattr(value, "certificate") else "",
)
def test_strict_kernels_are_invertible_even_at_points_that_float64_cannot_tell_apart(kernel, formula):
    assert strictness(kernel) is True
    with mpmath.workdps(80):
        points = [(mpmath.mpf(1) + mpmath.mpf(i % 3) / 50, mpmath.mpf(1) + mpmath.mpf(i // 3) / 50) for i in range(9)]
        K = mpmath.matrix([[formula(x, z) for z in points] for x in points])
        L = mpmath.cholesky(K)  # which raises unless K is positive definite
        assert min(L[i, i] for i in range(9)) > mpmath.mpf(10) ** -30


def test_one_feature_suffices_for_some():
    for kernel, X in ((Sinc(), np.array([[0.0], [0.3], [0.8], [1.7]])), (Overlap(), [["a"], ["b"], ["c"]])):
        assert strictness(kernel, dim=1) is True
        assert strictness(kernel, dim=2) is strictness(kernel) is False
        assert least_eigenvalue(kernel(X)) > 1e-3
    difference = 3.0 * Gaussian(1.0) - Gaussian(2.0)
    assert strictness(difference, dim=1) is True
    assert strictness(difference + Linear(), dim=1) is True
    assert least_eigenvalue(difference(LINE)) > 1e-3


def test_histograms_that_differ_are_told_apart_by_chi2():
    assert strictness(Chi2(0.7)) is True
    assert least_eigenvalue(Chi2(0.7)(np.abs(PLANE[:4]))) > 1e-3


# -- only semi-definite --------------------------------------------------------------------------------------------

FINITE = [Linear() + 1.0, Linear() * Cosine(0.3), (Linear() + 1.0) ** 2, 3.0 * Polynomial(), Polynomial().on([0])]
FINITE += [(Linear() + 2.0).normalize()]


def check_finite(kernel, dim):
    verdict = kernel.certificate(dim=dim)
    known = verdict.definiteness
    assert verdict.strict is False
    assert known.rank == kernel.feature_dim(dim)
    assert f"K is singular at more than {known.rank} distinct points" in " ".join(verdict.explain().split())
    X = np.random.default_rng(0).normal(size=(known.rank + 1, dim))
    assert least_eigenvalue(kernel(X)) < 1e-12


def test_more_points_than_features_are_singular(finite):
    check_finite(finite.kernel, 3)


@pytest.mark.parametrize("kernel", FINITE, ids=repr)
def test_more_points_than_features_of_a_composition_are_singular(kernel):
    check_finite(kernel, 2)


@pytest.mark.parametrize(
    ("kernel", "X", "dim"),
    [
        (Periodic(1.0, 2.0), [[0.5], [2.5]], 1),
        (exp(3.0 * Periodic(1.0, 2.0)), [[0.5], [2.5]], 1),
        (Sinc(), [[0.0, 0.0], [0.0, 0.3], [0.4, 0.0], [0.4, 0.3]], 2),
        (Overlap(), [["a", "c"], ["a", "d"], ["b", "c"], ["b", "d"]], 2),
        (Intersection(), [[0.0, 0.0]], 2),
        (Intersection() * Chi2(), [[0.0, 0.0]], 2),
        (Gaussian() * Linear(), [[0.0, 0.0]], 2),
        (Gaussian().on([0]), [[0.0, 1.0], [0.0, 2.0]], 2),
        (exp(Linear().on([1])), [[1.0, 1.0], [2.0, 1.0]], 2),
        (exp(Polynomial(2, 0.0)), [[1.0, 2.0], [-1.0, -2.0]], 2),
        (0.0 * Gaussian(), [[1.0]], 1),
        (Gaussian() - Gaussian(), [[1.0]], 1),
        (PairSum(Gaussian()), [[[1.0]], [[1.0], [1.0]]], None),
        (MeanEmbedding(Gaussian()), [[[1.0], [2.0]], [[1.0], [1.0], [2.0], [2.0]]], None),
    ],
    ids=lambda value: repr(value) if hasattr(value, "certificate") else "",
)
def test_kernels_that_are_only_semi_definite_are_singular_at_the_points_the_reason_names(kernel, X, dim):
    verdict = kernel.certificate(dim=dim)
    assert verdict.strict is False
    assert "Only semi-definite: K is singular at" in verdict.explain()
    assert least_eigenvalue(kernel(X)) < 1e-12


def test_columns_that_are_all_there_are_keep_a_kernel_strict():
    assert strictness(Gaussian().on([1, 0]), dim=2) is True
    assert strictness(Gaussian().on([1, 0]), dim=3) is False
    assert strictness(Gaussian().on([1, 0])) is False
    assert strictness(Gaussian().on(["age", "height"]), dim=2) is True
    for columns in (slice(None), slice(0, None), slice(None, None, -1), slice(0, None, 1)):
        assert strictness(Gaussian().on(columns)) is strictness(Gaussian().on(columns), dim=3) is True
    for columns in (slice(1, None), slice(None, -1), slice(None, None, 2), slice(-2, None), slice(0, 5)):
        assert strictness(Gaussian().on(columns)) is False


def test_factors_that_are_strict_on_columns_of_their_own_are_strict_together():
    kernel = Gaussian().on([0]) * Laplacian().on([1])
    assert strictness(kernel, dim=2) is True
    assert least_eigenvalue(kernel(PLANE)) > 1e-3
    assert "Kronecker" in kernel.certificate(dim=2).explain()
    assert strictness(kernel, dim=3) is False
    assert strictness(kernel * exp(Linear()).on(-1), dim=3) is True
    assert strictness((2.0 * kernel).normalize() ** 2 * Gaussian().on(2), dim=3) is True
    assert strictness(Gaussian().on("age") * Overlap().on("job"), dim=2) is True
    assert strictness(Gaussian().on([0]) * Linear().on([1]), dim=2) is not True
    assert strictness(Gaussian().on([0]) * Gaussian().on([-2]), dim=2) is False
    assert strictness(Gaussian().on("age") * Gaussian().on(0), dim=2) is None
    assert strictness(Gaussian().on(0) * Gaussian().on(slice(1, None))) is None
    assert strictness(Gaussian().on(0) * Gaussian().on(slice(1, None)), dim=4) is True


# -- not known -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel", [Gaussian().after(np.tanh), Spectrum(2), GlobalAlignment(), Gaussian().on(0) + Gaussian().on(1)], ids=repr
)
def test_what_no_theorem_decides_is_not_known_and_not_spoken_of(kernel):
    verdict = kernel.certificate()
    assert isinstance(verdict, Proved)
    assert verdict.strict is None
    assert "definite:" not in verdict.explain()
    assert verdict.definiteness.because == ""


def test_only_kernels_that_are_proved_can_be_strict():
    refuted, unknown = Sigmoid().certificate(), Custom(min).certificate(sample=[1.0, 2.0])
    assert isinstance(refuted, Refuted)
    assert refuted.strict is unknown.strict is None


# -- finished matrices ---------------------------------------------------------------------------------------------


def test_a_matrix_is_strict_if_its_rank_is_full():
    assert Precomputed([[2.0, 1.0], [1.0, 2.0]]).certificate().strict is True
    assert Precomputed([[1.0, 1.0], [1.0, 1.0]]).certificate().strict is False
    assert "the rank of the 2 × 2 matrix" in Precomputed([[1.0, 1.0], [1.0, 1.0]]).certificate().explain()
    thin = np.diag([1.0, 1e-40])
    assert Precomputed(thin).certificate().strict is True  # by exact elimination
    assert strictness(2.0 * Precomputed([[2.0, 1.0], [1.0, 2.0]]) + 1.0) is True


# -- all compositions ----------------------------------------------------------------------------------------------

ATOMS = [Linear(), Polynomial(2, 1.0), Polynomial(2, 0.0), Polynomial(3, 0.0), Gaussian(), Laplacian(), Periodic()]
ATOMS += [Cosine(2 * math.pi), Constant(0.5), Constant(0.0), Sinc(), Linear().on(0), Matern(1.5, 0.7)]
ATOMS += [Gaussian().on([0]), Laplacian().on([-1])]
KERNELS = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] * pair[1]),
        st.tuples(inner, st.sampled_from([2, 3])).map(lambda pair: pair[0] ** pair[1]),
        st.tuples(inner, st.sampled_from([0.0, 0.5])).map(lambda pair: pair[1] * pair[0]),
        inner.map(lambda k: exp(0.25 * k)),
        inner.map(lambda k: k.normalize()),
    ),
    max_leaves=4,
)


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="needs extended precision")
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kernel=KERNELS, dim=st.sampled_from([1, 2]))
def test_every_composition_is_what_its_certificate_says(kernel, dim):
    known = kernel.certificate(dim=dim).definiteness
    assume(known.strict is not None)
    X = LINE if dim == 1 else PLANE
    try:
        if known.rank is not None and known.rank > len(X):
            X = np.random.default_rng(0).normal(size=(min(known.rank + 1, 60), dim))
        K = Evaluation(kernel.traced(), X, None, repr(kernel), np.longdouble).dense()
    except OverflowError:
        assume(False)
    if known.strict:
        assert least_eigenvalue(K) > 1e-16
    elif known.rank is None or known.rank < len(X):
        assert least_eigenvalue(K) < 1e-16


def test_a_kernel_with_a_formula_of_its_own_says_itself_what_is_known():
    class Blunt(Gaussian):
        because = "it is a constant"

        def formula(self, pair):
            return super().formula(pair) ** 0

    class Even(Polynomial):
        def formula(self, pair):
            return super().formula(pair) ** 2

    class Halved(Gaussian):
        definite = strictly("of the Gaussian")

        def formula(self, pair):
            return 0.5 * super().formula(pair)

    class Wrapped(Polynomial):
        definite = strictly("of something else")

        def formula(self, pair):
            return np.exp(super().formula(pair))

    class Renamed(Gaussian):
        pass

    assert strictness(Blunt()) is strictness(Even()) is None
    assert strictness(Halved()) is strictness(Renamed()) is strictness(Wrapped()) is True
    assert "of the Gaussian" in str(Halved().certificate())


def test_what_is_known_is_a_value():
    known = Gaussian().certificate().definiteness
    assert isinstance(known, Definiteness)
    assert known == pickle.loads(pickle.dumps(known))
    assert known.dim is None
    assert Gaussian().certificate(dim=3).definiteness.dim == 3
