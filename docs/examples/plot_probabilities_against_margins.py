"""
Probabilities against margins
=============================

A support vector machine gives a margin, kernel logistic regression a probability.  On overlapping classes both draw
nearly the same boundary, but only one of them says how sure it is: its probabilities lie on the diagonal of the right
picture, while margins squeezed into [0, 1] do not.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from mercer.kernels import Gaussian
from mercer.models.logistic import KernelLogisticRegression

X, y = make_moons(4400, noise=0.4, random_state=0)
train, test = slice(0, 400), slice(400, None)
logistic = KernelLogisticRegression(0.2, kernel=Gaussian(0.7)).fit(X[train], y[train])
machine = SVC(C=2.5, gamma=0.5 / 0.7**2).fit(X[train], y[train])
for name, model in (("logistic", logistic), ("support vectors", machine)):
    print(f"{name}: {1 - model.score(X[test], y[test]):.1%} of the test points wrong")

grid = np.stack(np.meshgrid(np.linspace(-2.2, 3.2, 150), np.linspace(-1.8, 2.2, 120)), axis=-1)
points = grid.reshape(-1, 2)
figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
pictures = (
    (axes[0], logistic.predict_proba(points)[:, 1], np.linspace(0, 1, 11), [0.5], "probability of the second class"),
    (axes[1], machine.decision_function(points), np.linspace(-2.5, 2.5, 11), [-1, 0, 1], "margin"),
)
for axis, values, levels, lines, title in pictures:
    values = values.reshape(grid.shape[:2])
    filled = axis.contourf(grid[..., 0], grid[..., 1], values, levels=levels, cmap="RdBu_r", alpha=0.7, extend="both")
    axis.contour(grid[..., 0], grid[..., 1], values, levels=lines, colors="black", linewidths=1)
    axis.scatter(*X[train].T, c=y[train], s=8, cmap="RdBu_r", edgecolors="black", linewidths=0.3)
    axis.set(title=title, xticks=[], yticks=[], xlim=(-2.2, 3.2), ylim=(-1.8, 2.2))
    figure.colorbar(filled, ax=axis, shrink=0.8)

axes[2].plot([0, 1], [0, 1], color="grey", linestyle=":")
margins = expit(machine.decision_function(X[test]))
for name, p in (("logistic", logistic.predict_proba(X[test])[:, 1]), ("margin, squeezed", margins)):
    share, stated = calibration_curve(y[test], p, n_bins=10)
    axes[2].plot(stated, share, marker="o", label=name)
axes[2].set(xlabel="stated probability", ylabel="share that is in the class", title="4,000 new points", aspect="equal")
axes[2].legend()
