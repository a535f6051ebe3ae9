"""Support vector machines on a device: ``python -m benchmarks.gpu_svm``, or with "cpu 2000" for a small trial."""

import sys
import time

import numpy as np

from benchmarks.measure import table
from benchmarks.svm import digits
from mercer.models import SVC, SVR

OPTIONS = {"C": 10.0, "gamma": 0.02}


class Rounds:
    """A callback that counts the rounds of a fit."""

    def __init__(self):
        self.count = 0

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.count += context.task_name == "round"
        return False

    def teardown(self, estimator, context):
        pass


def clocked(call, device):
    """Result and seconds of a call, with everything done on the device at both ends."""
    import torch

    wait = torch.cuda.synchronize if torch.device(device).type == "cuda" else lambda: None
    wait()
    start = time.perf_counter()
    result = call()
    wait()
    return result, time.perf_counter() - start


def rounds_of(model, X, y):
    """Rounds of a fit, counted in a fit of its own: counting takes time."""
    counter = Rounds()
    model.set_callbacks(counter).fit(X, y)
    return counter.count


def evidence(model, rounds):
    steps = int(np.sum(model.n_iter_))
    return (
        f"{rounds} rounds, {steps:,} steps, violation {model.violation_:.1e}, relative gap "
        f"{model.duality_gap_.relative:.1e}, {len(model.support_):,} vectors"
    )


def svc_rows(device, n=60_000, d=784):
    """Return (name, seconds, figure) of fits and predictions from NumPy float32, the first calls not counted."""
    X, y = digits(n + n // 6, d)
    X = X.astype(np.float32)
    new, truth, X, y = X[n:], y[n:], X[:n], y[:n]
    rows = []
    for classes in (10, 2):
        some = y < classes
        points, labels = np.ascontiguousarray(X[some]), y[some]
        name = f"{len(points):,} × {d}, {classes} classes"
        rounds = rounds_of(SVC(**OPTIONS, device=device), points, labels)  # compiles and warms up too
        model, seconds = clocked(lambda p=points, t=labels: SVC(**OPTIONS, device=device).fit(p, t), device)
        rows.append((f"SVC {name}", seconds, evidence(model, rounds)))
        fresh, expected = new[truth < classes], truth[truth < classes]
        model.predict(fresh[:100])
        found, seconds = clocked(lambda m=model, f=fresh: m.predict(f), device)
        rows.append((f"predict {len(fresh):,} of them", seconds, f"accuracy {np.mean(found == expected):.4f}"))
    return rows


def hard_rows(device, n=20_000):
    """The same for problems of few features and many steps, where the inner loop is what takes time."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8)).astype(np.float32)
    values = np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 + 0.2 * rng.normal(size=n)
    rows = []
    for name, model, y in (
        ("SVC", SVC(C=10.0, gamma=0.125, device=device), values > np.median(values)),
        ("SVR", SVR(C=10.0, gamma=0.125, epsilon=0.05, device=device), values),
    ):
        rounds = rounds_of(model, X, y)
        fitted, seconds = clocked(lambda m=model, t=y: type(m)(**m.get_params()).fit(X, t), device)
        rows.append((f"{name} {n:,} × 8, C = 10, gamma = 1/8", seconds, evidence(fitted, rounds)))
    return rows


def main() -> None:
    """Print a table; the arguments are a device and a number of points."""
    device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 60_000
    rows = svc_rows(device, n) + hard_rows(device, n // 3)
    header = ["what", "seconds", "figure"]
    table(f"Support vector machines on {device}", header, [[name, f"{s:.3f}", figure] for name, s, figure in rows])


if __name__ == "__main__":
    main()
