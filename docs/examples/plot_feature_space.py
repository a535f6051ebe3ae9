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
# Two of the features can be chosen.  An ellipse around the middle is nearly a line in the squares; what is left of its
# width is the weight of the product that is not drawn.
ellipse = np.where(X[:, 0] ** 2 + 2 * X[:, 1] ** 2 < 1, "inside", "outside")
FeatureMapDisplay.from_estimator(SVC(C=100.0, kernel=k).fit(X, ellipse), X, ellipse, axes=("x0^2", "x1^2"))

# %%
# One input becomes a curve.  The features of :math:`(xz + 1)^2` are :math:`x` and :math:`x^2` beside a constant, an
# interval is what a line cuts off the parabola, and no threshold on :math:`x` alone would do.
x = X[:80, :1]
middle = np.where(np.abs(x[:, 0]) < 0.8, "inside", "outside")
parabola = SVC(C=100.0, kernel=Polynomial(degree=2, offset=1.0)).fit(x, middle)
FeatureMapDisplay.from_estimator(parabola, x, middle)

# %%
# A Gaussian has infinitely many features.  Drawn are the three directions in which the points vary most, and the
# boundary of a machine with that kernel.
FeatureMapDisplay.from_estimator(SVC(C=100.0, kernel=Gaussian(1.0)).fit(X, y), X, y)
plt.show()
