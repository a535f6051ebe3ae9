"""What people are told who write what they know from elsewhere, or a class where a kernel belongs."""

import re

import numpy as np
import pytest

import mercer
from mercer import kernels
from mercer.features import Nystroem
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, PairSum, Polynomial
from mercer.messages import KERNELS, MODELS

X = np.random.default_rng(0).normal(size=(12, 3))
Y, LABELS = X[:, 0], (X[:, 0] > 0).astype(int)
TAKES_A_KERNEL = {
    **{
        name: lambda kernel, name=name: getattr(mercer, name)(kernel=kernel).fit(X, LABELS)
        for name in mercer.models.__all__
        if not name.startswith("Multiple")
    },
    "AutoRegressor": lambda kernel: mercer.AutoRegressor(kernel=kernel).fit(X, Y),
    "KernelRidgeCV with several": lambda kernel: mercer.KernelRidgeCV(kernel=[Linear(), kernel]).fit(X, Y),
    "SVC with several": lambda kernel: mercer.SVC(kernel=[kernel, Linear()], weights="average").fit(X, LABELS),
    "MultipleKernelRidge": lambda kernel: mercer.MultipleKernelRidge(kernels=[kernel, Linear()]).fit(X, Y),
    "Nystroem": lambda kernel: Nystroem(kernel).fit(X),
    "Gram": lambda kernel: mercer.Gram(kernel, X),
    "Expansion": lambda kernel: mercer.Expansion(kernel, X, Y),
    "certify": mercer.certify,
    "plan": lambda kernel: mercer.plan(kernel, n=100, d=3),
    "sum": lambda kernel: Linear() + kernel,
    "sum from the left": lambda kernel: kernel + Linear(),
    "difference": lambda kernel: Linear() - kernel,
    "product": lambda kernel: Linear() * kernel,
    "exp": kernels.exp,
    "a kernel inside": PairSum,
}


@pytest.mark.parametrize("place", TAKES_A_KERNEL)
def test_a_class_in_the_place_of_a_kernel_is_asked_about(place):
    with pytest.raises((TypeError, ValueError), match=r"the class Matern.*: did you mean Matern\(\)\?"):
        TAKES_A_KERNEL[place](Matern)


def test_a_class_that_needs_parameters_is_shown_with_them():
    with pytest.raises(TypeError, match=r"did you mean PairSum\(base=…\)\?"):
        mercer.Gram(PairSum, X)


@pytest.mark.parametrize(
    ("kernel", "says"),
    [
        ("rbf2", "did you mean 'rbf'?"),
        ("Gaussian(2)", "did you mean Gaussian(length_scale=2), without quotes"),
        ("gausian(1)", "did you mean Gaussian?"),
        ("squared_exponential", "did you mean Gaussian? exp(−γ‖x − z‖²) is Gaussian.from_gamma(γ)"),
        (None, "or one of 'additive_chi2', 'chi2', "),
    ],
)
def test_a_model_says_which_kernel_a_text_may_have_meant(kernel, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        mercer.KernelRidge(kernel=kernel).fit(X, Y)


@pytest.mark.parametrize(
    ("module", "name", "says"),
    [
        (mercer, "KernelRige", "did you mean KernelRidge?"),
        (mercer, "SVR2", "did you mean SVR?"),
        (mercer, "KRR", "did you mean KernelRidge?"),
        (mercer, "SVM", "did you mean SVC, for classes, or SVR, for numbers?"),
        (mercer, "Gaussian", "did you mean mercer.kernels.Gaussian?"),
        (mercer, "Huber", "did you mean mercer.losses.Huber?"),
        (mercer, "RBF", "did you mean Gaussian? .*σ = 1/√(2γ). Kernels are in mercer.kernels"),
        (mercer, "zebra", "dir(mercer) lists what there is"),
        (kernels, "RBF", "did you mean Gaussian? .*σ = 1/√(2γ)"),
        (kernels, "rbf_kernel", "did you mean Gaussian?"),
        (kernels, "SquaredExponential", "did you mean Gaussian?"),
        (kernels, "Matern52Kernel", "did you mean Matern(nu=2.5)?"),
        (kernels, "from_gamma", "did you mean Gaussian.from_gamma?"),
        (kernels, "linear_kernel", "did you mean Linear?"),
        (kernels, "zebra", "dir(mercer.kernels) lists what there is"),
    ],
)
def test_names_of_elsewhere_lead_to_ours_however_they_are_reached(module, name, says):
    pattern = re.escape(says).replace(re.escape(".*"), ".*")
    with pytest.raises(AttributeError, match=pattern):
        getattr(module, name)
    with pytest.raises(ImportError, match=pattern):
        exec(f"from {module.__name__} import {name}")
    assert not hasattr(module, name)


def test_every_answer_names_something_that_there_is():
    there = {*mercer.__all__, *kernels.__all__, "mercer.features.Nystroem", "mercer.features.RandomFourier"}
    for others in (KERNELS, MODELS):
        for answer in set(others.values()):
            if not answer.startswith(("a ", "alpha")):
                first = re.match(r"[\w.]+", answer)[0].removesuffix(".from_gamma").removesuffix(".normalize")
                assert first in there, answer


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Gaussian(sigma=1), "did you mean length_scale? It is the σ of exp(−‖x − z‖²/2σ²)"),
        (lambda: Gaussian(gamma=1), "is Gaussian.from_gamma(γ), whose length_scale is σ = 1/√(2γ)"),
        (lambda: Laplacian(gamma=1), "is Laplacian.from_gamma(γ), whose length_scale is σ = 1/γ"),
        (lambda: Polynomial(coef0=1), "it has ['degree', 'offset']: did you mean offset?"),
        (lambda: Matern(smoothness=1), "did you mean nu?"),
        (lambda: Gaussian().with_params(sigma=1), "did you mean length_scale?"),
        (lambda: mercer.losses.Huber(delta=1), "did you mean width?"),
        (lambda: mercer.KernelRidge(C=1), "KernelRidge has no parameter 'C': did you mean alpha? Σ loss + α‖f‖²"),
        (lambda: mercer.SVC(alpha=1), "did you mean C? Σ loss + α‖f‖² is ½‖f‖² + C Σ loss for α = 1/(2C)"),
        (lambda: mercer.SVC(nu=0.1), "did you mean NuSVC or NuSVR"),
        (lambda: mercer.KernelLogisticRegression(gamma=1), "did you mean kernel=Gaussian.from_gamma(γ)?"),
        (lambda: mercer.SVC(kernal="rbf"), "did you mean kernel?"),
        (lambda: mercer.KernelRidge().set_params(sigma=1), "did you mean kernel=Gaussian(length_scale=σ)?"),
        (lambda: mercer.KernelRidge(kernel=Gaussian()).set_params(kernel__sigma=1), "did you mean length_scale?"),
        (lambda: mercer.KernelRidge().set_params(kernal__length_scale=1), "did you mean kernel?"),
    ],
)
def test_parameters_of_elsewhere_lead_to_ours(make, says):
    with pytest.raises((TypeError, ValueError), match=re.escape(says)):
        make()


def test_the_conversions_that_are_told_are_right():
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

    gamma, C = 0.7, 3.0
    np.testing.assert_allclose(Gaussian(1 / np.sqrt(2 * gamma))(X), rbf_kernel(X, gamma=gamma))
    np.testing.assert_allclose(Laplacian.from_gamma(gamma)(X), laplacian_kernel(X, gamma=gamma))
    ours = mercer.KernelLogisticRegression(alpha=1 / (2 * C), kernel=Linear(), tol=1e-10).fit(X, LABELS)
    theirs = LogisticRegression(C=C, tol=1e-10, max_iter=1000).fit(X, LABELS)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-4)


def test_a_model_of_ones_own_may_have_parameters_of_its_own():
    class Mine(mercer.KernelRidge):
        def __init__(self, C=1.0, **others):
            super().__init__(**others)
            self.C = C

    assert Mine(C=2.0, alpha=0.5).C == 2.0


def test_the_answer_to_data_in_the_place_of_a_parameter_is_short():
    with pytest.raises(ValueError, match=r"got an array of shape \(12, 3\); .* as in Gaussian\(\)\(X\)$"):
        Gaussian(X)
