"""
Neighbours in feature space
===========================

The squared distance of two points in the feature space of a kernel is :math:`k(x, x) + k(z, z) - 2 k(x, z)`.  A kernel
therefore says who is whose neighbour: by distance, by angle, or with a period.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import Linear, Periodic
from mercer.models.neighbors import KernelNeighborsClassifier

rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, size=(400, 2))
query = np.array([[1.2, 0.8]])
kernels = {
    "linear: near in the plane": Linear(),
    "normalised: near in angle": Linear().normalize(),
    "periodic: near up to multiples of 2": Periodic(period=2.0),
}

figure, axes = plt.subplots(2, 3, figsize=(10, 6.6), layout="constrained", sharex=True, sharey=True)
classes = np.where(np.arctan2(X[:, 1], X[:, 0]) % (np.pi / 2) < np.pi / 4, 0, 1)
ticks = np.linspace(-3, 3, 120)
grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
for (above, below), (title, kernel) in zip(axes.T, kernels.items(), strict=True):
    model = KernelNeighborsClassifier(5, kernel=kernel).fit(X, classes)
    neighbours = model.kneighbors(query, 40, return_distance=False)[0]
    above.scatter(*X.T, s=9, color="lightgrey")
    above.scatter(*X[neighbours].T, s=16, color="C3")
    above.scatter(*query.T, s=140, color="black", marker="*")
    above.set(title=title, aspect="equal")

    below.contourf(ticks, ticks, model.predict(grid).reshape(120, 120), levels=1, colors=["C0", "C1"], alpha=0.35)
    below.scatter(*X.T, s=9, c=np.array(["C0", "C1"])[classes])
    below.set(aspect="equal")
axes[0, 0].set_ylabel("the 40 nearest of the star")
axes[1, 0].set_ylabel("classes by 5 neighbours")

# %%
# The classes are slices of angle, which the normalised kernel knows: with it five neighbours make hardly any error.
for title, kernel in kernels.items():
    truth = np.where(np.arctan2(grid[:, 1], grid[:, 0]) % (np.pi / 2) < np.pi / 4, 0, 1)
    score = KernelNeighborsClassifier(5, kernel=kernel).fit(X, classes).score(grid, truth)
    print(f"{title}: {score:.1%} right")
