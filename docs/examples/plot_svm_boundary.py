"""
The boundary and its support vectors
====================================

A support vector machine is :math:`f = \\sum_i \\beta_i k(x_i, \\cdot) + b`, and most :math:`\\beta_i` are 0.  Points
with :math:`0 < |\\beta_i| < C` lie on the margin :math:`f = \\pm 1`; points with :math:`|\\beta_i| = C` lie inside it
or on the wrong side.  The price :math:`C` of errors decides how many of each there are.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC
from mercer.kernels import Gaussian

rng = np.random.default_rng(1)
y = np.repeat([0, 1], 60)
angle = rng.uniform(0, np.pi, 120)
moons = np.stack([np.cos(angle), np.sin(angle)], axis=1) * np.where(y == 0, 1.0, -1.0)[:, None]
X = moons + np.where(y == 0, -0.5, 0.5)[:, None] * [1.0, 0.5] + 0.28 * rng.normal(size=(120, 2))

across, up = np.linspace(-2.5, 2.5, 150), np.linspace(-2.1, 2.1, 126)
grid = np.stack(np.meshgrid(across, up), axis=-1)
figure, axes = plt.subplots(1, 3, figsize=(8, 3), layout="constrained", sharex=True, sharey=True)
for axis, C in zip(axes, (0.1, 1.0, 1000.0), strict=True):
    model = SVC(C=C, kernel=Gaussian(0.6)).fit(X, y)
    values = model.decision_function(grid.reshape(-1, 2)).reshape(126, 150)
    axis.contourf(across, up, values, levels=[-np.inf, 0, np.inf], colors=["C0", "C1"], alpha=0.15)
    axis.contour(across, up, values, levels=[-1, 0, 1], colors="black", linestyles=["--", "-", "--"], linewidths=1)

    coef = np.zeros(len(X))
    coef[model.support_] = np.abs(model.dual_coef_[0])
    bounded, free = coef == C, (coef > 0) & (coef < C)
    for label, colour, marker in ((0, "C0", "o"), (1, "C1", "^")):
        own = y == label
        axis.scatter(*X[own & ~bounded].T, s=24, color=colour, marker=marker)
        axis.scatter(*X[own & bounded].T, s=24, facecolors="white", edgecolors=colour, marker=marker)
    axis.scatter(*X[free].T, s=80, facecolors="none", edgecolors="black", linewidths=1.6)
    axis.set(title=f"C = {C:g}", aspect="equal", xticks=[], yticks=[])
    axis.set_xlabel(f"{free.sum()} on the margin (ringed)\n{bounded.sum()} inside or beyond (hollow)")

# %%
# Each fit says how well its problem is solved: the objective is at most the duality gap above its minimum.
for C in (0.1, 1.0, 1000.0):
    model = SVC(C=C, kernel=Gaussian(0.6)).fit(X, y)
    print(f"C = {C:<6g} {len(model.support_):3d} support vectors, relative gap {model.duality_gap_.relative:.1e}")
