"""
A circle that becomes a plane
=============================

No straight line separates the inside of a circle from its outside.  The kernel :math:`(x^\\top z)^2` is an inner
product of the features :math:`(x_1^2, \\sqrt 2 x_1 x_2, x_2^2)`, and there the circle
:math:`x_1^2 + x_2^2 = 1` is a plane.  A support vector machine with this kernel finds the plane from inner products
alone, and never computes a feature.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC
from mercer.inspection import FeatureMapDisplay
from mercer.kernels import Gaussian, Polynomial

rng = np.random.default_rng(0)
X = rng.uniform(-1.6, 1.6, size=(300, 2))
X = X[np.abs(np.linalg.norm(X, axis=1) - 1.0) > 0.08]
y = np.where((X**2).sum(axis=1) < 1, "inside", "outside")

k = Polynomial(degree=2, offset=0.0)
FeatureMapDisplay.from_estimator(SVC(C=100.0, kernel=k).fit(X, y), X, y)

# %%
# The map and the kernel agree to rounding:
features = k.feature_map(2).transform(X)
print(np.abs(features @ features.T - k(X)).max())

# %%
# A Gaussian has infinitely many features.  Drawn are the three directions in which the points vary most, and the
# boundary of a machine with that kernel.
FeatureMapDisplay.from_estimator(SVC(C=100.0, kernel=Gaussian(1.0)).fit(X, y), X, y)
plt.show()
