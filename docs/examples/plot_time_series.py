"""
Time series of different lengths
================================

Three short shapes, a plateau, a ramp up and a ramp down, begin anywhere in series of any length.  The task is made so
that the moment says nothing about the shape.  A Gaussian needs vectors of one length, so the series are stretched to
one; it then compares what happens at the same moment.  :class:`mercer.kernels.GlobalAlignment` takes the series as they
are, and sums over all ways to align them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

from mercer import SVC
from mercer.kernels import Gaussian, GlobalAlignment

rng = np.random.default_rng(1)


def series(kind):
    length = rng.integers(40, 100)
    start = rng.uniform(2, length - 20)
    stop = start + rng.uniform(10, 18)
    t = np.arange(length)
    along = (t - start) / (stop - start)
    shape = {"plateau": np.ones(length), "up": along, "down": 1 - along}[kind]
    return 6.0 * shape * ((t >= start) & (t <= stop)) + 0.5 * rng.normal(size=length)


names = ["plateau", "up", "down"]
y, y_new = rng.integers(3, size=60), rng.integers(3, size=120)
X, X_new = (np.array([series(names[kind]) for kind in kinds], dtype=object) for kinds in (y, y_new))
print("lengths", min(map(len, X)), "to", max(map(len, X)))

# %%
# The number of alignments grows exponentially with the length, so the normalised kernel is the one to use; it is
# computed from logarithms.  The length scale of either kernel is chosen on the training series alone.


def stretched(x):
    return np.interp(np.linspace(0, 1, 60), np.linspace(0, 1, len(x)), x)


scales = {"kernel__kernel__length_scale": [2.0, 4.0, 8.0, 16.0]}
chosen = {}
for name, kernel in {"alignments": GlobalAlignment().normalize(), "stretched": Gaussian().after(stretched)}.items():
    search = GridSearchCV(SVC(kernel=kernel, C=10.0), scales, cv=3).fit(X, y)
    chosen[name] = search.best_estimator_.kernel
    print(f"{name}: {search.score(X_new, y_new):.0%} of {len(y_new)} new series right, with {chosen[name]}")

# %%
# This is no verdict on the two in general: where things happen at about the same moment in all series, the Gaussian
# loses nothing by looking there, and alignments only add ways to be wrong.
#
# The kernel matrices, sorted by shape.
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
for kind, name in enumerate(names):
    for x in X[y == kind][:3]:
        axes[0].plot(x - 10 * kind, color=f"C{kind}", linewidth=1)
    axes[0].text(102, -10 * kind, name, color=f"C{kind}")
axes[0].set(title="three series of each kind", yticks=[], xlabel="time", xlim=(0, 125))
order = np.argsort(y, kind="stable")
for axis, (title, kernel) in zip(axes[1:], chosen.items(), strict=True):
    K = kernel(X[order])
    axis.imshow(K, cmap="Blues", vmin=0, vmax=np.quantile(K, 0.95))
    axis.set(title=title, xticks=[], yticks=[])
