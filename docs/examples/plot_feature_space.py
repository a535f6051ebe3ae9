"""
A circle that becomes a plane
=============================

No straight line separates the inside of a circle from its outside.  The kernel :math:`(x^\\top z)^2` is an inner
product of the features :math:`(x_1^2, \\sqrt 2 x_1 x_2, x_2^2)`, and there the circle
:math:`x_1^2 + x_2^2 = 1` is a plane.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import Polynomial

rng = np.random.default_rng(0)
X = rng.uniform(-1.6, 1.6, size=(300, 2))
inside = (X**2).sum(axis=1) < 1

phi = Polynomial(degree=2, offset=0.0).feature_map(2)
features = phi.transform(X)
names = phi.get_feature_names_out(["x1", "x2"])

# %%
# The map and the kernel agree to rounding:
print(np.abs(features @ features.T - Polynomial(degree=2, offset=0.0)(X)).max())

figure = plt.figure(figsize=(10, 4.2), layout="constrained")
left = figure.add_subplot(1, 2, 1)
right = figure.add_subplot(1, 2, 2, projection="3d")
for mask, colour, marker in ((inside, "C0", "o"), (~inside, "C1", "^")):
    left.scatter(*X[mask].T, c=colour, marker=marker, s=14)
    right.scatter(*features[mask].T, c=colour, marker=marker, s=14)
left.set(title="input space", xlabel="x1", ylabel="x2", aspect="equal")
right.set(title="feature space", xlabel=names[0], ylabel=names[1], zlabel=names[2])
right.view_init(elev=18, azim=-62)
