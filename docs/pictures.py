"""Draw the picture of the README: data, kernel, Gram matrix and function, from left to right."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from mercer import Expansion, Gram
from mercer.kernels import Gaussian, Linear, Periodic

rng = np.random.default_rng(2)
kernel = Periodic(length_scale=1.0, period=2.0) * Gaussian(length_scale=4.0) + 0.1 * Linear()
x = np.sort(rng.uniform(-4, 3, 60))[:, None]
truth = lambda t: np.sin(np.pi * t) * np.exp(-((t / 4) ** 2)) + 0.5 * t  # noqa: E731
y = truth(x[:, 0]) + 0.15 * rng.normal(size=60)
K = Gram(kernel, x).dense()
f = Expansion(kernel, x, np.linalg.solve(K + 0.05 * np.eye(60), y))

grid = np.linspace(-5, 5, 500)[:, None]
figure, axes = plt.subplots(1, 4, figsize=(14, 3.2), layout="constrained")
axes[0].scatter(x, y, s=14, color="C0")
axes[0].set_title("objects X, targets y")
axes[1].plot(grid, kernel(grid, [[0.0]]), color="C1", label="k(x, 0)")
axes[1].plot(grid, kernel(grid, [[1.5]]), color="C4", linestyle="--", label="k(x, 1.5)")
axes[1].legend(frameon=False, fontsize=9)
axes[1].set_title("kernel k = Periodic · Gaussian + 0.1 · Linear")
axes[2].imshow(K, cmap="viridis")
axes[2].set_title("Gram matrix K")
axes[2].set_xticks([])
axes[2].set_yticks([])
axes[3].scatter(x, y, s=14, color="C0", alpha=0.5)
axes[3].plot(grid, truth(grid[:, 0]), color="grey", linewidth=1, linestyle=":", label="truth")
axes[3].plot(grid, f(grid), color="C3", label="f = Σ cᵢ k(xᵢ, ·)")
axes[3].axvspan(3, 5, color="grey", alpha=0.12, linewidth=0)
axes[3].legend(frameon=False, fontsize=9, loc="upper left")
axes[3].set_title("expansion f, also where no data was")
figure.savefig(Path(__file__).parent / "_static" / "overview.png", dpi=110)
