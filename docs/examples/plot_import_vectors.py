"""
Import vectors against support vectors
======================================

Both machines use the same kernel on the same points.  Support vectors are all points near the boundary or on its wrong
side, and grow with the noise; import vectors are chosen one by one where they lower the loss most, and few are enough.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from mercer.kernels import Gaussian
from mercer.models.import_vector import ImportVectorMachine
from mercer.models.logistic import KernelLogisticRegression

X, y = make_moons(1400, noise=0.3, random_state=0)
train, test = slice(0, 400), slice(400, None)
machine = SVC(C=1.0, gamma=0.5 / 0.6**2).fit(X[train], y[train])
imports = ImportVectorMachine(0.5, kernel=Gaussian(0.6)).fit(X[train], y[train])
full = KernelLogisticRegression(0.5, kernel=Gaussian(0.6)).fit(X[train], y[train])

grid = np.stack(np.meshgrid(np.linspace(-2, 3, 150), np.linspace(-1.5, 2, 120)), axis=-1)
figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
pictures = (
    (axes[0], machine, machine.support_vectors_, "support vectors"),
    (axes[1], imports, imports.import_vectors_, "import vectors"),
)
for axis, model, vectors, name in pictures:
    values = model.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    axis.contourf(grid[..., 0], grid[..., 1], values, levels=[-99, 0, 99], colors=["C0", "C3"], alpha=0.15)
    axis.contour(grid[..., 0], grid[..., 1], values, levels=[0], colors="black", linewidths=1)
    axis.scatter(*X[train].T, c=np.where(y[train] == 1, "C3", "C0"), s=6, alpha=0.5)
    axis.scatter(*vectors.T, s=50, facecolors="none", edgecolors="black", linewidths=1.2)
    error = 1 - model.score(X[test], y[test])
    axis.set(title=f"{len(vectors)} {name}, {error:.1%} wrong", xticks=[], yticks=[], xlim=(-2, 3), ylim=(-1.5, 2))

axes[2].plot(imports.objective_history_, marker="o", markersize=4, label="import vectors")
axes[2].axhline(full.objective_, color="grey", linestyle=":", label="all 400 points")
axes[2].set(xlabel="vectors chosen", ylabel="penalised loss", title="what each of them was worth")
axes[2].legend()
