"""
Intervals from leave-one-out residuals
======================================

The jackknife+ turns the predictions of all leave-one-out models into intervals that hold new points with about the
probability asked for, whatever the noise is.  Kernel ridge regression has them in closed form.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import Matern
from mercer.models import KernelRidge

rng = np.random.default_rng(3)
X = np.sort(np.concatenate([rng.uniform(-3, 0, 60), rng.uniform(1.2, 3, 40)]))[:, None]
y = np.sin(2 * X[:, 0]) + 0.25 * rng.standard_t(4, size=100)

model = KernelRidge(0.3, kernel=Matern(1.5), fit_intercept=True).fit(X, y)
grid = np.linspace(-3.5, 3.5, 300)[:, None]
figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
for coverage, shade in ((0.9, 0.18), (0.5, 0.3)):
    lower, upper = model.predict_interval(grid, coverage).T
    axis.fill_between(grid[:, 0], lower, upper, color="C0", alpha=shade, linewidth=0, label=f"{coverage:.0%} interval")
axis.plot(grid, model.predict(grid), color="C0")
axis.plot(grid, np.sin(2 * grid), color="grey", linestyle=":", label="truth")
axis.scatter(X, y, s=12, color="C1")
axis.legend(fontsize=9)

# %%
# How often do the intervals hold new points?
fresh = rng.choice(X[:, 0], 2000)[:, None]
targets = np.sin(2 * fresh[:, 0]) + 0.25 * rng.standard_t(4, size=2000)
lower, upper = model.predict_interval(fresh, 0.9).T
print(f"{np.mean((lower <= targets) & (targets <= upper)):.3f}")
