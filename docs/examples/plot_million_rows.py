"""
A million rows by Nyström centres
=================================

The Gram matrix of a million points has a million million entries.  Some hundred centres stand for all points; the data
streams past them in blocks.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import Gaussian
from mercer.models import KernelRidge
from mercer.solvers.base import Problem
from mercer.solvers.ridge.restricted.nystroem import Nystroem

rng = np.random.default_rng(0)
n = 1_000_000
X = rng.uniform(-3, 3, size=(n, 2)).astype(np.float32)
truth = lambda X: np.sin(2 * X[:, 0]) * np.cos(X[:, 1])  # noqa: E731
y = truth(X) + 0.5 * rng.normal(size=n)

start = time.perf_counter()
problem = Problem(Gaussian(0.8), X, y[:, None], memory=500_000_000)
solution = Nystroem(n_centers=200, selection="uniform", random_state=0).prepare(problem).solve(np.array([1.0]))
print(f"{n:,} rows, {len(solution.coef)} centres: {time.perf_counter() - start:.1f} s within 500 MB")

# %%
# The same through the estimator, on a tenth of the rows.
model = KernelRidge(1.0, kernel=Gaussian(0.8), solver="nystroem", random_state=0).fit(X[::10], y[::10])
print(model.plan_)

side = np.linspace(-3, 3, 80)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
fitted = model.predict(grid)
print(f"largest error on a grid: {np.abs(fitted - truth(grid)).max():.3f}, with noise of 0.5")
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for axis, values, title in zip(axes, (truth(grid), fitted), ("truth", "fitted"), strict=True):
    image = axis.imshow(values.reshape(80, 80), origin="lower", extent=(-3, 3, -3, 3), cmap="viridis", vmin=-1, vmax=1)
    axis.set_title(title)
figure.colorbar(image, ax=axes)
