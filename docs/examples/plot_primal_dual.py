"""
Primal against dual
===================

A polynomial kernel of degree 2 on ten inputs has 66 features.  With few points the dual system is the smaller one, with
many the primal; both give the same function, and the plan picks the cheaper.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import Polynomial
from mercer.models import KernelRidge

kernel = Polynomial(degree=2, offset=1.0)
sizes = (40, 200, 1000, 3000)
seconds = {"primal": [], "cholesky": []}
for n in sizes:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=n)
    predictions = []
    for solver, times in seconds.items():
        start = time.perf_counter()
        model = KernelRidge(1.0, kernel=kernel, solver=solver).fit(X, y)
        times.append(time.perf_counter() - start)
        predictions.append(model.predict(X[:20]))
    chosen = KernelRidge(1.0, kernel=kernel).fit(X, y).plan_
    gap = np.abs(predictions[0] - predictions[1]).max()
    print(f"n = {n}: largest difference {gap:.0e}; the plan takes {chosen.solver}, because {chosen.reason}")

figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
axis.loglog(sizes, seconds["primal"], marker="o", label="primal: 66 × 66 system")
axis.loglog(sizes, seconds["cholesky"], marker="s", label="dual: n × n system")
axis.set(xlabel="points n", ylabel="seconds")
axis.legend()
