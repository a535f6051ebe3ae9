"""What type checkers say about code of users; read by mypy and pyright in ``make lint``, and never run.

An ``assert_type`` is a type that an editor shows.  A line with two comments is one that both must refuse: a comment
that nothing needs is an error too.
"""

from typing import Any, assert_type

import numpy as np

import mercer
from mercer import (
    SVC,
    SVR,
    AutoClassifier,
    AutoRegressor,
    Expansion,
    Gram,
    ImportVectorMachine,
    KernelLogisticRegression,
    KernelNeighborsClassifier,
    KernelPCA,
    KernelRegressor,
    KernelRegressorCV,
    KernelRidge,
    KernelRidgeCV,
    MultipleKernelRidge,
    OneClassSVM,
    ParzenDensity,
    certify,
    plan,
)
from mercer.certify.verdict import Verdict
from mercer.features import Nystroem
from mercer.kernels import Constant, Gaussian, Kernel, Linear, Matern, Periodic, Polynomial, Spectrum, exp
from mercer.losses import Huber
from mercer.solvers.plan import Plan

X, y = np.zeros((3, 2)), np.zeros(3)
names = ["a", "b", "c"]


# A fit is of the model's own type, and what it leaves and predicts has a type.
assert_type(KernelRidge().fit(X, y), KernelRidge)
assert_type(KernelRidgeCV().fit(X, y), KernelRidgeCV)
assert_type(SVC(C=2.0).fit(X, names), SVC)
assert_type(SVR().fit(X, y), SVR)
assert_type(KernelRegressor("Huber(1.5)").fit(X, y), KernelRegressor)
assert_type(KernelRegressorCV(Huber()).fit(X, y), KernelRegressorCV)
assert_type(KernelLogisticRegression().fit(X, names), KernelLogisticRegression)
assert_type(ImportVectorMachine().fit(X, names), ImportVectorMachine)
assert_type(OneClassSVM().fit(X), OneClassSVM)
assert_type(AutoRegressor(budget="5m").fit(X, y), AutoRegressor)
assert_type(AutoClassifier().fit(X, names), AutoClassifier)
assert_type(KernelPCA(2).fit(X), KernelPCA)
assert_type(ParzenDensity().fit(X), ParzenDensity)
assert_type(KernelNeighborsClassifier().fit(X, names), KernelNeighborsClassifier)
assert_type(MultipleKernelRidge([Gaussian(), Linear()]).fit(X, y), MultipleKernelRidge)
assert_type(Nystroem(Gaussian(), n_components=10).fit(X), Nystroem)

assert_type(KernelRidge().fit(X, y).predict(X), np.ndarray)
assert_type(KernelRidge().fit(X, y).predict(X, return_std=True), tuple[np.ndarray, np.ndarray])
assert_type(KernelRidge().fit(X, y).predict(X, return_cov=True), tuple[np.ndarray, np.ndarray])
assert_type(KernelRidgeCV().fit(X, y).sample(X, 3), np.ndarray)
assert_type(KernelRidge().fit(X, y).dual_coef_, np.ndarray)
assert_type(KernelRidge().fit(X, y).expansion_, Expansion)
assert_type(KernelRidge().fit(X, y).kernel_, Kernel)
assert_type(KernelRidgeCV().fit(X, y).alpha_, float)
assert_type(SVC().fit(X, names).classes_, np.ndarray)
assert_type(SVC().fit(X, names).support_, np.ndarray)
assert_type(SVC().fit(X, names).predict(X), np.ndarray)
assert_type(SVC().fit(X, names).decision_function(X), np.ndarray)
assert_type(AutoRegressor().fit(X, y).predict(X), np.ndarray)
assert_type(AutoClassifier().fit(X, names).predict_proba(X), np.ndarray)
assert_type(KernelLogisticRegression().fit(X, names).predict_proba(X), np.ndarray)
assert_type(KernelLogisticRegression().fit(X, names).n_iter_, int)
assert_type(KernelPCA().fit_transform(X), np.ndarray)
assert_type(KernelRidge().set_params(alpha=1.0), KernelRidge)

# Kernels compose to kernels, and keep their parameters.
assert_type(Gaussian() + Linear(), Kernel)
assert_type(2.0 * Gaussian([1.0, 2.0]) * Linear() ** 2 + 1, Kernel)
assert_type(exp(Linear()).normalize().on([0]), Kernel)
assert_type(Gaussian(np.ones(2)).after(np.log), Kernel)
assert_type(Gaussian.from_gamma(0.5), Gaussian)
assert_type(Gaussian() / np.float32(2.0), Kernel)
assert_type(Matern(nu=2.5, length_scale=np.float64(2.0)).nu, float)
assert_type(Matern().with_params(nu=0.5), Matern)
assert_type(Gaussian()(X), np.ndarray)
assert_type(Gaussian().diag(X), np.ndarray)
assert_type(Gaussian().certificate(), Verdict)
assert_type(Gram(Gaussian(), X).shape, tuple[int, int])
assert_type(certify(lambda x, z: float(x @ z), dim=2), Verdict)
assert_type(plan(Gaussian(), n=1000, d=3), Plan)


# What models take as a kernel.
def similarity(x: Any, z: Any) -> float:
    return float(x @ z)


KernelRidge(kernel="rbf", gamma=0.5)
KernelRidge(kernel=2.0 * Gaussian() + Constant())
KernelRidge(kernel=similarity)
SVC(kernel=lambda X, Z: X @ Z.T)
SVC(kernel=[Gaussian(), Spectrum(3).on("dna")], weights="simple")
AutoRegressor(kernel="Gaussian(2.0)")

# What is wrong is an error before it runs.
Gaussian("a")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Gaussian(sigma=1.0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
Gaussian(["a"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
Polynomial(degree="two")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Periodic(period=None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Huber("wide")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
k1 = Gaussian() + "a"  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue]
k2 = Gaussian() + Linear  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue]
k3 = Gaussian() ** 0.5  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue]
exp(Linear)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Gram(Gaussian, X)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
KernelRidge(kernel=Gaussian)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
KernelRidge(kernel=Matern)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
KernelRidge(C=1.0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
KernelRidge(solver=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
SVC(C="large")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
mercer.RBF  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]  # noqa: B018
