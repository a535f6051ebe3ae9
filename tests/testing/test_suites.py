"""The conformance suites accept what is right and name the law that is broken."""

import numpy as np
import pytest

from mercer import kernels
from mercer.kernels import Custom, Gaussian, Kernel, Linear, ObjectKernel, Sigmoid
from mercer.solvers import Cholesky, ConjugateGradient, Nystroem, Solution, Spectral
from mercer.testing import check_gram, check_kernel, check_solver

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
BAGS = [X[:3], X[2:4], X[1:6]]
SHIPPED = {
    "Edit": (kernels.Edit(5.0), DNA),
    "GappedKmer": (kernels.GappedKmer(4, 1), DNA),
    "GlobalAlignment": (kernels.GlobalAlignment(2.0), BAGS),
    "MeanEmbedding": (kernels.MeanEmbedding(Gaussian()), BAGS),
    "Mismatch": (kernels.Mismatch(3, 1), DNA),
    "PairSum": (kernels.PairSum(Gaussian()), BAGS),
    "PartialTree": (kernels.PartialTree(), ["(S (A x) (B y))", "(S (A x))", "(A x)"]),
    "RandomWalk": (kernels.RandomWalk(0.1), GRAPHS),
    "ShortestPath": (kernels.ShortestPath(), GRAPHS),
    "Spectrum": (kernels.Spectrum(3), DNA),
    "Subsequence": (kernels.Subsequence(3), DNA),
    "SubsetTree": (kernels.SubsetTree(), ["(S (A x) (B y))", "(S (A x))", "(A x)"]),
    "Subtree": (kernels.Subtree(), ["(S (A x) (B y))", "(S (A x))", "(A x)"]),
    "WeightedDegree": (kernels.WeightedDegree(3), DNA),
    "WeisfeilerLehman": (kernels.WeisfeilerLehman(2), GRAPHS),
    "WeisfeilerLehmanAssignment": (kernels.WeisfeilerLehmanAssignment(2), GRAPHS),
    "Chi2": (kernels.Chi2(0.5), np.abs(X)),
    "Custom": (Custom(lambda x, z: float(np.exp(-abs(x - z).sum()))), X),
    "FromFeatures": (kernels.FromFeatures(lambda A: A**3), X),
    "Intersection": (kernels.Intersection(), np.abs(X)),
    "Overlap": (kernels.Overlap(), [["a", 1], ["a", 2], ["b", 1], ["c", 3]]),
    "Precomputed": (kernels.Precomputed([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]]), [0, 2, 1]),
    "Sigmoid": (Sigmoid(), X),
    "exp": (kernels.exp(Gaussian()), X),
}


@pytest.mark.parametrize("name", sorted(set(kernels.__all__) - {"Graph", "Kernel", "ObjectKernel"}))
def test_every_shipped_kernel_conforms(name):
    kernel, sample = SHIPPED[name] if name in SHIPPED else (getattr(kernels, name)(), X)
    check_kernel(kernel, sample, psd=name != "Sigmoid")


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
        Nystroem(n_centers=15, random_state=0),
        Nystroem(n_centers=6, selection="uniform", random_state=0),
    ],
    ids=["spectral", "cholesky", "cg", "all centres", "few centres"],
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
