"""Exact ridge by blocks and by conjugate gradients, against Nyström centres and preconditioned gradient steps.

``python -m benchmarks.blocks 20000`` races them on 20,000 × 9, each in a process of its own, in the time that conjugate
gradients take; ``python -m benchmarks.blocks 200000 cuda`` does so on a device, without the gradient steps.
``python -m benchmarks.blocks 200000 host cg 4GB`` is one of them alone, in 4 GB.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy.linalg import eigh

from mercer.arrays.budget import MemoryBudgetError, parse_memory
from mercer.expansion import Expansion
from mercer.gram import Gram
from mercer.kernels import Gaussian
from mercer.models import KernelRidge, KernelRidgeCV
from mercer.solvers import BlockDescent, ConjugateGradient, Problem

from .measure import table

SCALE, TEST = 3.0, 2000
JUDGED = 3000  # points whose leave-one-out error chooses the penalty: the best one does not grow with their number
LONGEST = 3600.0  # seconds of one of them


def make_data(n):
    """Return points of nine columns, targets with noise of a tenth, and new points without."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + TEST, 9))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3])
    return X[:n], y[:n] + 0.1 * rng.normal(size=n), X[n:], y[n:]


def choose_alpha(X, y):
    """Return the penalty of the least leave-one-out error of some points."""
    grid = np.logspace(-5, 1, 25)
    return KernelRidgeCV(grid, kernel=Gaussian(SCALE), fit_intercept=False).fit(X[:JUDGED], y[:JUDGED]).alpha_


def run_exact(X, y, alpha, limit, device, memory, solver):
    """Solve by iterations until the certificate is at its tolerance, or blocks until the time is over."""
    problem = Problem(Gaussian(SCALE), X, y[:, None], memory=memory, device=device)
    if isinstance(solver, BlockDescent) and limit < LONGEST:
        begun = time.perf_counter()
        BlockDescent(max_iter=1, random_state=0).prepare(problem).attempt(np.array([alpha]))
        each = time.perf_counter() - begun  # a pass, and what certifies it
        limit = max(1, int(limit / each) - 1)
        solver = BlockDescent(max_iter=limit, random_state=0, on_iteration=solver.on_iteration)
    begun = time.perf_counter()
    found = solver.prepare(problem).attempt(np.array([alpha]))
    seconds = time.perf_counter() - begun
    f = Expansion(problem.kernel, X, found.coef[:, 0], 0.0)
    return f, seconds, f"{found.n_iter} passes, residual {found.residual:.1e}"


def run_nystroem(X, y, alpha, limit, device, memory, solver):
    """Take twice the centres as long as the next fit would still be in time."""
    centers, model, seconds = 500, None, 0.0
    while True:
        begun = time.perf_counter()
        options = {"n_centers": centers, "memory": memory, "device": device, "random_state": 0}
        try:
            found = KernelRidge(alpha, kernel=Gaussian(SCALE), **options).fit(X, y)
        except MemoryBudgetError:  # no more fit
            return model.expansion_, seconds, f"{len(model.expansion_.coef)} centres"
        spent = time.perf_counter() - begun
        if model is None or spent <= limit:
            model, seconds = found, spent
        if 3 * spent > limit or 2 * centers > len(X):
            return model.expansion_, seconds, f"{len(model.expansion_.coef)} centres"
        centers *= 2


def run_gradients(X, y, alpha, limit, device, memory, solver, sample=2000, rank=160, batch=1000):
    """Stochastic gradients, preconditioned by the leading eigenvectors of a sample, after EigenPro; no penalty."""
    rng, kernel, n = np.random.default_rng(0), Gaussian(SCALE), len(X)
    begun, steps = time.perf_counter(), 0
    S = rng.choice(n, min(sample, n), replace=False)
    K = Gram(kernel, X[S], dtype=np.float64).dense()
    values, vectors = eigh(K, subset_by_index=[len(S) - rank - 1, len(S) - 1])
    tail, values, vectors = values[0], values[1:], vectors[:, 1:]
    damping = (1.0 - tail / values) / values
    step = batch / (1.0 + (batch - 1) * tail / len(S))
    c = np.zeros(n)
    while time.perf_counter() - begun < limit:
        B = rng.choice(n, batch, replace=False)
        g = Gram(kernel, X[B], X, dtype=np.float32) @ c - y[B]
        c[B] -= step / batch * g
        inside = vectors.T @ (Gram(kernel, X[S], X[B], dtype=np.float64) @ g)
        c[S] += step / batch * (vectors @ (damping * inside))
        steps += 1
    return Expansion(kernel, X, c, 0.0), time.perf_counter() - begun, f"{steps * batch / n:.1f} epochs"


def tell(number, residual):
    """Print where an iteration is, now and then."""
    if number % 10 == 0:
        print(f"  {time.perf_counter() - BEGUN:7.1f} s  {number:4d}  {residual:.1e}", file=sys.stderr, flush=True)


WAYS = {
    "cg": (run_exact, lambda: ConjugateGradient(random_state=0, on_iteration=tell)),
    "blocks": (run_exact, lambda: BlockDescent(random_state=0, on_iteration=tell)),
    "nystroem": (run_nystroem, lambda: None),
    "eigenpro": (run_gradients, lambda: None),
}
BEGUN = time.perf_counter()


def read_status(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))


def run_one(n, place, name, memory, limit):
    """Run one way here, and print what it took as JSON."""
    X, y, new, truth = make_data(n)
    device = None
    if place != "host":
        import torch

        device = torch.device(place)
    way, make = WAYS[name]
    before = read_status("VmRSS")
    f, seconds, note = way(X, y, choose_alpha(X, y), limit, device, parse_memory(memory), make())
    peak = read_status("VmHWM")
    error = float(np.sqrt(np.mean((f(new) - truth) ** 2)))
    found = {"way": name, "seconds": seconds, "error": error, "note": note, "peak": peak, "more": peak - before}
    print(json.dumps(found), flush=True)


def main(n=20_000, place="host", name=None, memory="4GB", limit=LONGEST):
    if name is not None:
        run_one(int(n), place, name, memory, float(limit))
        return
    rows, limit = [], LONGEST
    for way in WAYS:
        if place != "host" and way == "eigenpro":
            continue
        command = [sys.executable, "-m", "benchmarks.blocks", str(n), place, way, memory, str(limit)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        if way == "cg":
            limit = found["seconds"]
        sizes = [f"{found[key] / 1e9:.2f} GB" for key in ("peak", "more")]
        rows.append([way, f"{found['seconds']:.1f} s", f"{found['error']:.4f}", found["note"], *sizes])
    header = ["", "time", "error on new points", "", "peak of the process", "more than before"]
    table(f"{int(n):,} × 9 on {place}, in the time of conjugate gradients", header, rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
