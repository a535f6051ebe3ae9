"""How long a refutation takes, and how many points it needs, for functions that look like kernels."""

import time

import numpy as np
from numpy.linalg import norm

from mercer import certify
from mercer.kernels import Gaussian, Linear, Sigmoid

from .measure import table

LIMIT = 2.0  # seconds
CASES = {
    "‖x−z‖²": (lambda x, z: np.sum((x - z) ** 2), 2),
    "−‖x−z‖²": (lambda x, z: -np.sum((x - z) ** 2), 2),
    "tanh(xᵀz+1)": (lambda x, z: np.tanh(x @ z + 1), 2),
    "Sigmoid()": (Sigmoid(), 2),
    "exp(−|x−z|^2.05)": (lambda x, z: np.exp(-(norm(x - z) ** 2.05)), 1),
    "Epanechnikov": (lambda x, z: max(0.0, 1 - norm(x - z) ** 2), 2),
    "box": (lambda x, z: float(norm(x - z) <= 1), 2),
    "min(‖x−z‖, 1)": (lambda x, z: min(norm(x - z), 1.0), 2),
    "exp(−‖x−z‖∞)": (lambda x, z: np.exp(-np.max(np.abs(x - z))), 3),
    "Gaussian(1) − Gaussian(2)": (Gaussian(1.0) - Gaussian(2.0), 2),
    "2 Gaussian(2) − Gaussian(1)": (2.0 * Gaussian(2.0) - Gaussian(1.0), 1),
    "(xᵀz − 1)²": (lambda x, z: (x @ z - 1) ** 2, 2),
    "(Linear() − 1)²": ((Linear() - 1.0) ** 2, 2),
    "3 Gaussian(1) − Gaussian(2), a kernel": (3.0 * Gaussian(1.0) - Gaussian(2.0), 1),
}


def main() -> None:
    rows = []
    for name, (function, dim) in CASES.items():
        start = time.perf_counter()
        verdict = certify(function, dim=dim)
        seconds = time.perf_counter() - start
        points = len(getattr(verdict, "points", ()))
        note = "" if seconds < LIMIT else "over the limit"
        rows.append([name, dim, type(verdict).__name__, points or "", f"{seconds:.3f}", note])
    table(f"Certificates (limit {LIMIT:g} s)", ["function", "dim", "verdict", "points", "seconds", ""], rows)
