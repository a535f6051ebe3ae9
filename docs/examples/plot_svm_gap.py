"""
Reading the duality gap
=======================

The solver raises the dual value step by step.  The primal value is the objective of the machine it has so far.  The
minimum lies between the two, so that their difference, the duality gap, says how much there is left to gain, without
knowing the minimum.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer import SVC
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)


def draw(n):
    X = rng.uniform(-3, 3, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.3 * rng.normal(size=n) > 0


C, kernel = 10.0, Gaussian(0.7)
(X, y), (X_new, y_new) = draw(600), draw(4000)


def objective(model):
    errors = np.maximum(0, 1 - np.where(y, 1, -1) * model.decision_function(X))
    return 0.5 * model.expansion_.norm() ** 2 + C * errors.sum()


# %%
# A fit that ``max_iter`` stops warns, because it is not solved; here that is what we want to see.
steps = np.unique(np.logspace(0.5, 3.6, 50).astype(int))
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    stopped = [SVC(C=C, kernel=kernel, tol=1e-8, max_iter=int(most)).fit(X, y) for most in steps]
primal = np.array([objective(model) for model in stopped])
gap = np.array([model.duality_gap_.absolute for model in stopped])

exact = SVC(C=C, kernel=kernel, tol=1e-10).fit(X, y)
minimum = objective(exact)
usual = SVC(C=C, kernel=kernel).fit(X, y)

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained", sharex=True)
left.fill_between(steps, primal - gap, primal, color="grey", alpha=0.2, linewidth=0, label="duality gap")
left.semilogx(steps, primal, color="C1", label="primal value")
left.semilogx(steps, primal - gap, color="C0", linestyle="--", label="dual value")
left.axhline(minimum, color="black", linewidth=0.8, linestyle=":")
left.set(xlabel="steps", ylabel="value", title="the minimum lies between the two", ylim=(0, None))
left.legend(fontsize=9)

right.loglog(steps, gap, color="black", label="duality gap")
right.loglog(steps, primal - minimum, color="C1", linestyle="-.", label="primal value − minimum")
right.loglog(steps, minimum - (primal - gap), color="C0", linestyle="--", label="minimum − dual value")
right.axvline(usual.n_iter_[0], color="grey", linestyle=":")
right.text(usual.n_iter_[0] * 0.9, gap.max(), "tol = 1e-3", ha="right", va="center", fontsize=9)
right.set(xlabel="steps", title="the gap bounds both")
right.legend(fontsize=9, loc="lower left")

# %%
# ``tol`` bounds the violation of the optimality conditions, the unit of which is that of :math:`f`.  The gap says what
# that means for the objective, and both come with every fit.
print("   tol    steps  violation  relative gap  right on new points")
for tol in (1.0, 1e-1, 1e-2, 1e-3, 1e-5):
    model = SVC(C=C, kernel=kernel, tol=tol).fit(X, y)
    print(
        f"{tol:6g} {model.n_iter_[0]:8d} {model.violation_:10.1e} {model.duality_gap_.relative:13.1e} "
        f"{model.score(X_new, y_new):20.2%}"
    )
