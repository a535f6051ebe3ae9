"""w of f(x) = φ(x)ᵀw + b: the function of every model in the explicit features of its kernel, where it has such."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier

from mercer.kernels import Constant, Fourier, Gaussian, Graph, Linear, Polynomial, Spectrum, WeisfeilerLehman
from mercer.models import (
    SVC,
    SVCCV,
    SVR,
    SVRCV,
    ImportVectorMachine,
    KernelLogisticRegression,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
    NuSVC,
    NuSVR,
    OneClassSVM,
    ParzenDensity,
)

RNG = np.random.default_rng(3)
X = RNG.uniform(0.2, 2.2, size=(30, 2))
NEW = RNG.uniform(0.2, 2.2, size=(10, 2))
TARGETS = np.column_stack([np.sin(3 * X[:, 0]), X[:, 1] ** 2])
THREE = np.digitize(X[:, 0], [0.9, 1.5])
KERNELS = {
    "linear": Linear(),
    "polynomial": Polynomial(3, 1.0),
    "fourier": Fourier(3),
    "sum": Polynomial(2, 0.5) + 2.0 * Linear() + Constant(0.3),
    "product": Linear() * (Fourier(2) + Constant(1.0)),
}


def check_law(model, function, given, values):
    """φ(X)w + b is what the model says, and ‖w‖ is the norm of its function."""
    w, phi = model.coef_primal_, function.in_features().feature_map.transform(given)
    phi = phi.toarray() if sparse.issparse(phi) else phi
    scale = np.abs(values).max()
    np.testing.assert_allclose(phi @ w + function.intercept, values, atol=1e-9 * scale)
    np.testing.assert_allclose(np.linalg.norm(w, axis=0), function.norm(), rtol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize(
    "model",
    [
        KernelRidge(0.1, solver="primal"), KernelRidge(0.1, solver="cholesky", fit_intercept=True),
        KernelRidgeCV([0.1, 1.0]), KernelRidgeClassifier(0.1), KernelLogisticRegression(0.1), SVC(), NuSVC(nu=0.2),
        SVR(), NuSVR(), OneClassSVM(), KernelPerceptron(), ImportVectorMachine(0.1),
    ],
    ids=lambda model: f"{type(model).__name__} {getattr(model, 'solver', '')}",
)  # fmt: skip
def test_every_model_has_the_weights_of_its_features(model, kernel):
    model.set_params(kernel=kernel).fit(X, THREE > 1 if is_classifier(model) else TARGETS[:, 0])
    assert model.coef_primal_.shape == (kernel.feature_dim(2),)
    values = model.decision_function(NEW) if hasattr(model, "decision_function") else model.predict(NEW)
    check_law(model, model.expansion_, NEW, values)


def test_several_functions_have_a_column_each():
    kernel = KERNELS["sum"]
    D = int(kernel.feature_dim(2))
    ridge = KernelRidge(0.1, kernel=kernel, fit_intercept=True).fit(X, TARGETS)
    assert ridge.coef_primal_.shape == (D, 2)
    check_law(ridge, ridge.expansion_, NEW, ridge.predict(NEW))
    machines = SVC(kernel=kernel, decision_function_shape="ovo").fit(X, THREE)
    assert machines.coef_primal_.shape == (D, 3)
    phi = kernel.feature_map(2).transform(NEW)
    np.testing.assert_allclose(phi @ machines.coef_primal_ + machines.intercept_, machines.decision_function(NEW))
    components = KernelPCA(2, kernel=kernel).fit(X)
    check_law(components, components.expansion_, NEW, components.transform(NEW))


def test_linear_machines_have_the_weights_of_scikit_learn_too():
    model = SVC(kernel="linear").fit(X, THREE > 1)
    np.testing.assert_allclose(model.coef_primal_, model.coef_[0])
    thin = SVC(kernel=Linear()).fit(sparse.csr_array(X), THREE > 1)
    np.testing.assert_allclose(thin.coef_primal_, model.coef_primal_, rtol=1e-4)


def test_searches_have_those_of_the_best_machine():
    for search in (SVCCV([1.0], kernel=Linear(), cv=2), SVRCV([1.0], kernel=Linear(), cv=2)):
        search.fit(X, THREE > 1)
        np.testing.assert_array_equal(search.coef_primal_, search.best_estimator_.coef_primal_)


def test_words_and_subtrees_are_features_of_the_centres():
    words = ["abab", "babb", "aab", "bbba", "abba", "baab"]
    ridge = KernelRidge(0.5, kernel=Spectrum(2)).fit(words, np.arange(6.0))
    check_law(ridge, ridge.expansion_, ["abac", "cccc", "bb"], ridge.predict(["abac", "cccc", "bb"]))
    machine = SVC(kernel=Spectrum(2) + Constant(1.0)).fit(words, [0, 1] * 3)
    check_law(machine, machine.expansion_, ["abac", "bb"], machine.decision_function(["abac", "bb"]))
    graphs = [Graph([[1, 2], [0], [0]], "OHH"), Graph([[1], [0]], "HH"), Graph([[1], [0]], "OO")]
    model = KernelRidge(0.5, kernel=WeisfeilerLehman(1)).fit(graphs, np.arange(3.0))
    check_law(model, model.expansion_, graphs, model.predict(graphs))


@pytest.mark.parametrize(
    ("model", "given", "why"),
    [
        (KernelRidge(kernel=Gaussian()), X, r"no coef_primal_: Gaussian.* infinitely many features.*mercer.features"),
        (SVC(), X, r"SVC has no coef_primal_: Gaussian.* approximate it with mercer\.features\.Nystroem"),
        (KernelRidge(kernel="precomputed"), X @ X.T, r"no coef_primal_: .* none that are known"),
        (KernelRidge(kernel=Polynomial(40, 1.0), solver="cholesky"), 0.05 * np.tile(X, 10), "weights of .* features"),
        (ParzenDensity(), X, "infinitely many features"),
    ],
)  # fmt: skip
def test_without_finitely_many_features_there_is_no_such_attribute(model, given, why):
    model.fit(given, THREE > 1)
    assert not hasattr(model, "coef_primal_")
    with pytest.raises(AttributeError, match=why):
        model.coef_primal_  # noqa: B018
