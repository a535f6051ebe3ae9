"""
A fit, its intervals and its path
=================================

Ridge regression and support vector regression of the same noisy sine: the first with intervals by the jackknife+, the
second with its tube and the points it rests on. Below, the path by which ridge regression chose its penalty and length
scale.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVR, KernelRidgeCV
from mercer.inspection import FitDisplay, PathDisplay
from mercer.kernels import Gaussian

rng = np.random.default_rng(1)
X = rng.uniform(0.0, 8.0, size=(80, 1))
y = np.sin(1.5 * X[:, 0]) + 0.2 * rng.normal(size=80)

ridge = KernelRidgeCV(kernel=Gaussian(), length_scales=[0.2, 0.5, 1.0, 2.0, 5.0]).fit(X, y)
tube = SVR(C=10.0, epsilon=0.25, kernel=ridge.kernel_).fit(X, y)

figure, axes = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained", sharey=True)
FitDisplay.from_estimator(ridge.ridge_, X, y, ax=axes[0])
axes[0].set_title(f"ridge, α = {ridge.alpha_:.2g}, {ridge.kernel_}", pad=26)
FitDisplay.from_estimator(tube, X, y, ax=axes[1])
axes[1].set_title(f"support vector regression, {len(tube.support_)} of {len(X)} points", pad=26)

# %%
# Both in one picture, with the function that the data came from:

FitDisplay.from_estimators({"ridge": ridge, "machine": tube, "truth": lambda x: np.sin(1.5 * x[:, 0])}, X, y)

# %%
# Every curve is the exact leave-one-out error of all penalties, in units of the target, from one decomposition for each
# length scale. The star is what was chosen.

PathDisplay.from_estimator(ridge)
plt.show()
