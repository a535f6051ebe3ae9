"""
A grid in one fit
=================

A support vector machine with a Gaussian kernel has two numbers to choose: the penalty :math:`C` and the length scale.
:class:`mercer.models.svm_cv.SVCCV` scores a whole grid of them by cross-validation.  For each length scale the kernel
matrix is computed once and serves all folds, and solutions follow ascending :math:`C`, each from the last.

Scores are low on both sides of a ridge: a narrow kernel remembers the points, and a wide one with a small :math:`C`
cannot bend.  Along the ridge a larger :math:`C` makes up for a wider kernel, so that many cells are about as good as
the best.  That one, under the star, is fitted to all points; its boundary and margins are on the right.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import SVCCV

X, y = make_moons(400, noise=0.3, random_state=0)
Cs, length_scales = np.logspace(-2, 3, 11), np.logspace(-1.5, 1.25, 12)
model = SVCCV(Cs, length_scales).fit(X, y)
scores = model.cv_results_["mean_test_score"].reshape(len(Cs), len(length_scales))

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
picture = left.pcolormesh(length_scales, Cs, scores, shading="nearest", vmin=0.8)
left.plot(model.length_scale_, model.C_, marker="*", markersize=16, color="white", markeredgecolor="black")
left.set(xscale="log", yscale="log", xlabel="length scale", ylabel="C", title="accuracy in five folds")
figure.colorbar(picture, ax=left, extend="min")

grid = np.stack(np.meshgrid(np.linspace(-2, 3, 200), np.linspace(-1.7, 2.2, 200)), axis=-1)
values = model.decision_function(grid.reshape(-1, 2)).reshape(200, 200)
right.contourf(grid[..., 0], grid[..., 1], values, levels=[-np.inf, 0, np.inf], colors=["C0", "C1"], alpha=0.2)
right.contour(grid[..., 0], grid[..., 1], values, levels=[-1, 0, 1], colors="grey", linestyles=["--", "-", "--"])
right.scatter(*X.T, c=np.where(y == 0, "C0", "C1"), s=8)
right.set(title=f"C = {model.C_:.3g}, length scale = {model.length_scale_:.3g}")
