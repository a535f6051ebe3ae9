"""
Novelty detection
=================

``OneClassSVM`` learns the region of most points from these alone: where :math:`f = \\sum_i \\beta_i k(x_i, \\cdot)` is
above a threshold :math:`\\rho`.  The share :math:`\\nu` bounds two things at once: at most :math:`\\nu` of the training
points are outside, and at least :math:`\\nu` of them are support vectors.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import OneClassSVM
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)


def ordinary(n):
    angle = rng.uniform(0, 2 * np.pi, n)
    ring = 2.0 * np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.25 * rng.normal(size=(n, 2))
    return np.where(rng.uniform(size=(n, 1)) < 0.25, 0.25 * rng.normal(size=(n, 2)), ring)


X, X_new = ordinary(500), ordinary(150)
strange = rng.uniform(-3.4, 3.4, size=(40, 2))
model = OneClassSVM(kernel=Gaussian(0.7), nu=0.05).fit(X)

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 4.1), layout="constrained")
ticks = np.linspace(-3.5, 3.5, 150)
grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
values = model.decision_function(grid).reshape(150, 150)
left.contourf(ticks, ticks, values, levels=[0, np.inf], colors=["C0"], alpha=0.15)
left.contour(ticks, ticks, values, levels=[0], colors="black", linewidths=1)
left.scatter(*X.T, s=6, color="grey", label="training points")
left.scatter(*X_new.T, s=18, color="C0", label="new, of the same kind")
left.scatter(*strange.T, s=34, color="C1", marker="^", edgecolors="black", linewidths=0.5, label="new, from anywhere")
left.set(title="ν = 0.05", aspect="equal", xticks=[], yticks=[])
left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.01), fontsize=9, frameon=False)

# %%
# The two bounds, for many ν.  The lines are close to each other when there are many points for the length scale.
shares = np.linspace(0.02, 0.6, 30)
models = [OneClassSVM(kernel=Gaussian(0.7), nu=nu, tol=1e-6).fit(X) for nu in shares]
right.plot(shares, [len(m.support_) / len(X) for m in models], color="C1", label="support vectors")
right.plot(shares, shares, color="black", linestyle=":", label="ν")
right.plot(
    shares, [np.mean(m.decision_function(X) < -m.tol) for m in models], color="C0", linestyle="--", label="outside"
)
right.set(xlabel="ν", ylabel="share of training points", title="two bounds")
right.legend(fontsize=9)

# %%
# New points of the same kind are outside somewhat more often than ν, because the region was fitted to the others.
print(f"found strange, of the same kind: {np.mean(model.predict(X_new) == -1):.1%}")
print(f"found strange, from anywhere:    {np.mean(model.predict(strange) == -1):.1%}")
print(f"relative duality gap: {model.duality_gap_.relative:.1e}")
