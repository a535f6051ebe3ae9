"""
The whole path, with exact leave-one-out errors
===============================================

One eigendecomposition of the Gram matrix gives kernel ridge regression for every penalty :math:`\\alpha`, and the error
at each point of the model that was fitted without it.  No folds, no refits.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import Gaussian
from mercer.models import KernelRidge
from mercer.solvers import Problem, Spectral

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(-3, 3, 80))[:, None]
y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=80)

alphas = np.logspace(-6, 3, 60)
prepared = Spectral().prepare(Problem(Gaussian(0.6), X, y[:, None], fit_intercept=True))
errors = [np.mean(prepared.solve(np.array([alpha]), loo=True).loo ** 2) for alpha in alphas]
freedom = [prepared.effective_dof(alpha) for alpha in alphas]
best = alphas[np.argmin(errors)]

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.loglog(alphas, errors)
left.axvline(best, color="grey", linestyle=":")
left.set(xlabel="α", ylabel="leave-one-out squared error", title="the path")
twin = left.twinx()
twin.semilogx(alphas, freedom, color="C1", linestyle="--")
twin.set_ylabel("effective degrees of freedom (dashed)")

grid = np.linspace(-3.2, 3.2, 400)[:, None]
right.scatter(X, y, s=12, color="grey")
for alpha, label in ((1e-6, "too small"), (best, "least error"), (1e3, "too large")):
    model = KernelRidge(alpha, kernel=Gaussian(0.6), fit_intercept=True).fit(X, y)
    right.plot(grid, model.predict(grid), label=f"α = {alpha:.1g}, {label}")
right.set(ylim=(-2.2, 2.2), title="three of its models")
right.legend(fontsize=9)
