"""The conformance suites accept what is right and name the law that is broken."""

import numpy as np
import pytest

from mercer import kernels
from mercer.kernels import Custom, Gaussian, Kernel, Linear, ObjectKernel, Sigmoid
from mercer.losses import LogCosh
from mercer.losses.residual import ResidualLoss
from mercer.solvers import Cholesky, ConjugateGradient, Nystroem, PartialCholesky, Solution, Spectral
from mercer.testing import check_gram, check_kernel, check_loss, check_solver

X = np.random.default_rng(0).normal(size=(15, 3))


class Asymmetric(ObjectKernel):
    def block(self, A, B):
        return np.asarray(A)[:, :1] + 2 * np.asarray(B)[:, 0][None, :]


class WrongDiagonal(ObjectKernel):
    def block(self, A, B):
        return np.asarray(A) @ np.asarray(B).T

    def block_diag(self, A):
        return np.ones(len(A))


class DependsOnTheBlock(ObjectKernel):
    def block(self, A, B):
        return np.asarray(A) @ np.asarray(B).T * len(A)

    def block_diag(self, A):
        return (np.asarray(A) ** 2).sum(1) * len(A)


class NotDifferentiated(Kernel):
    scale: float = 2.0

    def formula(self, pair):
        return self.scale * pair.dot() + 1e-30 * pair.param("scale") * pair.dot()


class Mutable(Kernel):
    scale: float = 2.0

    def formula(self, pair):
        return pair.param("scale") * pair.dot()


Mutable.__setattr__ = object.__setattr__

DNA = ["ACGTACGT", "ACGGACGT", "TTTTACGA", "GATTACAG"]
GRAPHS = [
    kernels.Graph([[1, 2], [0], [0]], "OHH"),
    kernels.Graph([[1], [0]], "HH"),
    kernels.Graph([[1], [0, 2], [1]], "COC"),
]
ATTRIBUTED = [
    kernels.Graph([[1, 2], [0], [0]], "OHH", attributes=[[0.0, 1.0], [1.0, 0.5], [0.5, 0.5]]),
    kernels.Graph([[1], [0]], "HH", attributes=[[0.1, 1.0], [1.0, 0.4]]),
    kernels.Graph([], attributes=[]),
]
BAGS = [X[:3], X[2:4], X[1:6]]
SHIPPED = {
    "DTW": (kernels.DTW(2.0), BAGS),
    "Edit": (kernels.Edit(5.0), DNA),
    "Fisher": (kernels.Fisher(2, "ACGT"), DNA),
    "GappedKmer": (kernels.GappedKmer(4, 1), DNA),
    "GlobalAlignment": (kernels.GlobalAlignment(2.0), BAGS),
    "LocalAlignment": (kernels.LocalAlignment(), DNA),
    "MeanEmbedding": (kernels.MeanEmbedding(Gaussian()), BAGS),
    "Mismatch": (kernels.Mismatch(3, 1), DNA),
    "PairSum": (kernels.PairSum(Gaussian()), BAGS),
    "PartialTree": (kernels.PartialTree(), ["(S (A x) (B y))", "(S (A x))", "(A x)"]),
    "GraphHopper": (kernels.GraphHopper(), ATTRIBUTED),
    "Graphlet": (kernels.Graphlet(3), GRAPHS),
    "HashedWeisfeilerLehman": (kernels.HashedWeisfeilerLehman(), ATTRIBUTED),
    "Propagation": (kernels.Propagation(), GRAPHS),
    "ShortestPathLengths": (kernels.ShortestPathLengths(), GRAPHS),
    "RandomWalk": (kernels.RandomWalk(0.1), GRAPHS),
    "ShortestPath": (kernels.ShortestPath(), GRAPHS),
    "Signature": (kernels.Signature(), [0.3 * bag for bag in BAGS]),
    "SoftDTW": (kernels.SoftDTW(2.0), BAGS),
    "Spectrum": (kernels.Spectrum(3), DNA),
    "Subsequence": (kernels.Subsequence(3), DNA),
    "SubsetTree": (kernels.SubsetTree(), ["(S (A x) (B y))", "(S (A x))", "(A x)"]),
    "Subtree": (kernels.Subtree(), ["(S (A x) (B y))", "(S (A x))", "(A x)"]),
    "TruncatedSignature": (kernels.TruncatedSignature(3), BAGS),
    "WeightedDegree": (kernels.WeightedDegree(3), DNA),
    "WeisfeilerLehman": (kernels.WeisfeilerLehman(2), GRAPHS),
    "WeisfeilerLehmanAssignment": (kernels.WeisfeilerLehmanAssignment(2), GRAPHS),
    "BitSimilarity": (kernels.BitSimilarity("rogers-tanimoto"), 1.0 * (X > 0)),
    "Chi2": (kernels.Chi2(0.5), np.abs(X)),
    "Hellinger": (kernels.Hellinger(), np.abs(X)),
    "MinMax": (kernels.MinMax(), np.abs(X)),
    "SpectralMixture": (kernels.SpectralMixture([2.0, 1.0], [0.3, 1.0], [0.5, 2.0]), X[:, :1]),
    "Spline": (kernels.Spline(), np.abs(X[:, :1])),
    "Tversky": (kernels.Tversky(), 1.0 * (X > 0)),
    "Wiener": (kernels.Wiener(), np.abs(X[:, :1])),
    "Coregionalization": (kernels.Coregionalization([[1.0, 0.5], [0.5, 2.0]]), [0, 1]),
    "Diffusion": (kernels.Diffusion([[1], [0, 2], [1]], 0.5), [0, 2, 1]),
    "RegularizedLaplacian": (kernels.RegularizedLaplacian({"a": ["b"], "b": ["a"]}, 0.5), ["b", "a"]),
    "Custom": (Custom(lambda x, z: float(np.exp(-abs(x - z).sum()))), X),
    "FromFeatures": (kernels.FromFeatures(lambda A: A**3), X),
    "Intersection": (kernels.Intersection(), np.abs(X)),
    "LinearMap": (Gaussian().after(kernels.LinearMap(np.linspace(-1.0, 1.0, X.shape[1] * 2).reshape(-1, 2))), X),
    "Overlap": (kernels.Overlap(), [["a", 1], ["a", 2], ["b", 1], ["c", 3]]),
    "Precomputed": (kernels.Precomputed([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]]), [0, 2, 1]),
    "Sigmoid": (Sigmoid(), X),
    "exp": (kernels.exp(Gaussian()), X),
}


@pytest.mark.parametrize("name", sorted(set(kernels.__all__) - {"Graph", "Kernel", "ObjectKernel"}))
def test_every_shipped_kernel_conforms(name):
    kernel, sample = SHIPPED[name] if name in SHIPPED else (getattr(kernels, name)(), X)
    check_kernel(kernel, sample, psd=name not in ("DTW", "Sigmoid", "SoftDTW"))


def test_good_kernels_pass():
    check_kernel(Gaussian() + Linear(), X)
    check_kernel(Gaussian(), X.astype(np.float32), rtol=1e-5)
    check_kernel(Custom(lambda x, z: float(len(set(x) & set(z)))), ["ab", "bc", "cd", "a"])


@pytest.mark.parametrize(
    ("kernel", "law"),
    [
        (Asymmetric(), "symmetry"),
        (WrongDiagonal(), r"diag\(X\)"),
        (DependsOnTheBlock(), "block and the whole"),
        (Sigmoid(), "eigenvalue"),
        (Custom(lambda x, z: float(((x - z) ** 2).sum())), "eigenvalue"),
        (NotDifferentiated(), "gradient by log scale"),
        (Mutable(), "immutable"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_a_broken_law_is_named(kernel, law):
    with pytest.raises(AssertionError, match=law):
        check_kernel(kernel, X)


def test_indefinite_functions_pass_when_they_do_not_claim_more():
    check_kernel(Sigmoid(), X, psd=False)


def test_a_sample_of_one_is_not_enough():
    with pytest.raises(ValueError, match="at least two"):
        check_kernel(Gaussian(), X[:1])


def test_check_gram_notices_a_block_that_depends_on_the_tile():
    with pytest.raises(AssertionError, match="row"):
        check_gram(DependsOnTheBlock(), X)


@pytest.mark.parametrize(
    "solver",
    [
        Spectral(),
        Cholesky(),
        ConjugateGradient(tolerance=1e-9, random_state=0),
        PartialCholesky(tolerance=1e-9, eliminated=5, random_state=0),
        Nystroem(n_centers=15, random_state=0),
        Nystroem(n_centers=6, selection="uniform", random_state=0),
    ],
    ids=["spectral", "cholesky", "cg", "partial", "all centres", "few centres"],
)
def test_the_solvers_that_are_shipped_keep_the_laws(solver):
    check_solver(solver, Gaussian(1.5), X)


class Wrong:
    """A solver that breaks one law: it changes a right solution."""

    name = "wrong"

    def __init__(self, change):
        self.change = change

    def prepare(self, problem):
        wrong, right = self, Spectral().prepare(problem)

        class Prepared:
            def solve(self, alpha, *, loo=False):
                return wrong.change(right.solve(alpha, loo=loo))

        return Prepared()


@pytest.mark.parametrize(
    ("change", "law"),
    [
        (
            lambda s: Solution(s.centers, 1.01 * s.coef, s.intercept, s.alpha, s.residual),
            "the gradient at its solution",
        ),
        (lambda s: Solution(s.centers, s.coef, s.intercept, s.alpha, s.residual, False), "did not converge"),
        (lambda s: Solution(s.centers, s.coef, s.intercept + 1.0, s.alpha, s.residual), "the gradient at its solution"),
        (lambda s: Solution(s.centers, s.coef[:, 0], s.intercept, s.alpha, s.residual), "have shapes"),
        (
            lambda s: Solution(
                s.centers, s.coef, s.intercept, s.alpha, s.residual, loo=None if s.loo is None else 1.1 * s.loo
            ),
            "is off by",
        ),
    ],
    ids=["coefficients", "not converged", "intercept", "shape", "left out"],
)
def test_a_solver_that_breaks_a_law_is_told_which(change, law):
    with pytest.raises(AssertionError, match=law):
        check_solver(Wrong(change), Gaussian(1.5), X)


# -- losses -------------------------------------------------------------------------------------------------------


class Fourth(ResidualLoss):
    """(y − f)⁴, right in all its parts."""

    def of(self, r):
        return r**4

    def slope_of(self, r):
        return 4 * r**3

    def curvature_of(self, r):
        return 12 * r**2

    def conjugate_of(self, t):
        return 3 * np.abs(np.asarray(t) / 4) ** (4 / 3) if not hasattr(t, "abs") else 3 * (t / 4).abs() ** (4 / 3)


class WrongSlope(Fourth):
    def slope_of(self, r):
        return 4.1 * r**3


class WrongCurvature(Fourth):
    def curvature_of(self, r):
        return 11 * r**2


class ConjugateTooSmall(Fourth):
    def conjugate_of(self, t):
        return 0.9 * super().conjugate_of(t)


class ConjugateTooLarge(Fourth):
    def conjugate_of(self, t):
        return 1.1 * super().conjugate_of(t)


class Capped(ResidualLoss):
    def of(self, r):
        return r.clip(-1.0, 1.0) ** 2

    def slope_of(self, r):
        return 2 * r * (abs(r) <= 1)


class NoDomain(LogCosh):
    slopes = (-0.5, 0.5)


class FiniteBeyond(LogCosh):
    def conjugate_of(self, t):
        return super().conjugate_of(t.clip(-1.0, 1.0))


class WrongProx(Fourth):
    def prox(self, y, f, width):
        return f - 0.1 * width * (f - y)


class MajorantBelow(LogCosh):
    def majorant_of(self, r):
        return 0.9 * super().majorant_of(r)


class Overflows(LogCosh):
    def of(self, r):
        return np.log(np.cosh(r)) if isinstance(r, np.ndarray) else super().of(r)


class ArraysOnly(Fourth):
    def of(self, r):
        return r**4 if isinstance(r, np.ndarray) else r**4 + 1e-3


class NoNumber(Fourth):
    def of(self, r):
        return r**4 + np.where(np.abs(r) < 0.05, np.nan, 0.0)


class OneForAll(Fourth):
    def of(self, r):
        return (r**4).sum()


def test_a_loss_of_ones_own_passes():
    check_loss(Fourth())
    check_loss(Fourth(), [1.0, 2.0, -30.0], rtol=1e-6)


@pytest.mark.parametrize(
    ("loss", "law"),
    [
        (WrongSlope(), r"slope is the derivative of the value.*y = .*, f = .*, slope = "),
        (WrongCurvature(), "curvature is the derivative of the slope"),
        (ConjugateTooSmall(), "value plus conjugate is at least slope times f"),
        (ConjugateTooLarge(), r"value plus conjugate is slope times f, at the slope there.*conjugate = "),
        (Capped(), "the loss is convex: the middle of a chord"),
        (NoDomain(), "slopes are inside of the domain"),
        (FiniteBeyond(), "conjugate is infinite outside of the domain"),
        (WrongProx(), r"proximal point of width 0.01 is a minimum"),
        (MajorantBelow(), "majorant is nowhere below"),
        (Overflows(), "number at large outputs, finite if slopes have an end"),
        (NoNumber(), "value is a finite number"),
        (OneForAll(), "values have shape"),
    ],
    ids=lambda each: each if isinstance(each, str) else type(each).__name__,
)
def test_a_broken_law_of_a_loss_is_named_with_its_numbers(loss, law):
    with pytest.raises(AssertionError, match=law):
        check_loss(loss)


def test_a_loss_that_is_not_convex_is_found_where_its_slope_is_right():
    class Valleys(ResidualLoss):
        smooth = False

        def of(self, r):
            return r**2 / 8 - np.cos(r)

        def slope_of(self, r):
            return r / 4 + np.sin(r)

    with pytest.raises(AssertionError, match="the loss is convex"):
        check_loss(Valleys())


@pytest.mark.torch
def test_tensors_that_have_other_numbers_are_found():
    pytest.importorskip("torch")
    with pytest.raises(AssertionError, match="value of tensors and of arrays differ"):
        check_loss(ArraysOnly())
