"""
Which way the pen went
======================

A pen draws loops and figures of eight, either way round, at a speed that changes all the time.  The ink of a loop
is the same either way; the order in which it was drawn tells both apart.  :class:`mercer.kernels.Signature` compares
paths by their iterated integrals, which know in which order things happened and nothing of how fast.  A Gaussian needs
vectors of one length, which say where the pen was at the same moments.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from mercer import SVC
from mercer.kernels import Gaussian, Signature

rng = np.random.default_rng(0)
names = ["loop", "loop back", "eight", "eight back"]


def stroke(kind):
    """Return the points of a stroke, as many as there were moments."""
    moments = rng.integers(30, 60)
    speed = rng.gamma(0.4, size=moments)  # now slow, now fast
    t = 2 * np.pi * speed.cumsum() / speed.sum()
    t = t if kind % 2 == 0 else t[::-1]
    x = np.column_stack([np.sin(t), np.cos(t)] if kind < 2 else [np.sin(2 * t), np.cos(t)])
    return 0.6 * rng.uniform(0.8, 1.2) * x + 0.03 * rng.normal(size=x.shape)


y = np.arange(48) % 4
X = np.empty(len(y), dtype=object)
X[:] = [stroke(kind) for kind in y]


def stretched(x):
    """Return 40 points at equal distances in time."""
    time = np.linspace(0, 1, len(x))
    return np.concatenate([np.interp(np.linspace(0, 1, 40), time, column) for column in x.T])


kernels = {"signatures": Signature().normalize(), "the same moments": Gaussian(2.0).after(stretched)}
for name, kernel in kernels.items():
    print(f"{name}: {cross_val_score(SVC(kernel=kernel, C=10.0), X, y, cv=4).mean():.0%} right")

# %%
# The kernel matrices, sorted by kind.  Strokes run through the colours from dark to bright.
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
for kind, name in enumerate(names):
    x = X[y == kind][0] + [2.0 * (kind % 2), -1.9 * (kind // 2)]
    axes[0].plot(*x.T, color="0.8", linewidth=1, zorder=0)
    axes[0].scatter(*x.T, c=np.arange(len(x)), s=14, cmap="viridis")
    axes[0].text(2.0 * (kind % 2), -1.9 * (kind // 2) - 1.0, name, ha="center")
axes[0].set(title="one stroke of each kind", aspect="equal", xticks=[], yticks=[], ylim=(-3.2, 0.9))
order = np.argsort(y, kind="stable")
for axis, (title, kernel) in zip(axes[1:], kernels.items(), strict=True):
    axis.imshow(kernel(X[order]), cmap="RdBu", vmin=-1, vmax=1)
    axis.set(title=title, yticks=[], xticks=12 * np.arange(4) + 5.5, xticklabels=names)
