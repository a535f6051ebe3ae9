"""Workers that die, come back late, and stay small: processes are killed, and their machine is kept busy.

They disturb what runs beside them, and so run by themselves: ``make test-cluster``.
"""

import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest

from mercer.distributed import ClusterError
from mercer.kernels import Gaussian, Polynomial
from mercer.models import SVC, KernelLogisticRegression, KernelRidge, KernelRidgeCV

from .conftest import assert_same, da, dask
from .workers import D, distributed, generated, nystroem

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("default::ResourceWarning"),  # of sockets of processes that were killed
]

IN_FEATURES = ["values", "slopes", "bound"]  # the phases of a machine that no worker can hold


class Killer(distributed.SchedulerPlugin):
    """Kills the process of the first worker that is given a task of each of some names."""

    def __init__(self, cluster, names):
        self.cluster, self.names, self.killed = cluster, list(names), []

    def transition(self, key, start, finish, *args, **kwargs):
        name = next((name for name in self.names if f"mercer-{name}-" in str(key)), None)
        if finish != "processing" or name is None:
            return
        address = self.cluster.scheduler.tasks[key].processing_on.address
        for nanny in self.cluster.workers.values():
            if nanny.worker_address == address and nanny.pid:
                self.names.remove(name)
                self.killed.append(name)
                os.kill(nanny.pid, signal.SIGKILL)
                return


def logistic():
    return KernelLogisticRegression(kernel=Gaussian(1.5), n_centers=10, random_state=0)


def conjugate():
    return KernelRidge(0.1, kernel=Gaussian(1.5), solver="cg", random_state=0)


def tuned():
    options = {"length_scales": [1.0, 2.0], "alphas": [0.1, 1.0], "solver": "nystroem"}
    return KernelRidgeCV(kernel=Gaussian(), random_state=0, **options)


# A few phases at a time, because Dask gives up a task after the death of four workers.
FITS = [
    (nystroem, 0, ["survey", "pick", "gram", "residual"]),
    (logistic, 2, ["values", "hessian"]),
    (logistic, 2, ["balance_sums"]),
    (logistic, 2, ["value", "gradient", "residual_sums"]),
    (logistic, 3, ["curvature_sums"]),
    (conjugate, 0, ["rows", "product"]),
    (conjugate, 0, ["block", "diagonal"]),
    (lambda: KernelRidge(0.1, kernel=Polynomial(2), solver="primal"), 0, ["head", "constant", "normal"]),
    (tuned, 0, ["gather", "scores", "leave-one-out"]),
    (lambda: SVC(kernel=Gaussian(1.5), tol=1e-8), 2, ["smo"]),
    (lambda: SVC(kernel=Gaussian(1.5), C=0.5, random_state=0), 2, IN_FEATURES),
]


@pytest.mark.parametrize(("make", "classes", "phases"), FITS, ids=["-".join(phases) for *_, phases in FITS])
def test_workers_killed_in_every_phase_change_nothing(cluster, client, make, classes, phases, monkeypatch):
    X, y = generated(n=800, parts=4)
    if phases is IN_FEATURES:
        monkeypatch.setattr("mercer.distributed.svm.EXACT_ROWS", 100)
        monkeypatch.setattr("mercer.solvers.newton.plan.CENTERS", 20)
    if classes:
        y = sum((y > edge).astype(int) for edge in range(classes - 1))
    with dask.config.set(scheduler="synchronous"):
        quiet = make().fit(X, y)
    client.wait_for_workers(2, timeout=60)  # those of the last test may not be back yet
    killer = Killer(cluster, phases)
    cluster.scheduler.add_plugin(killer, name="killer")
    try:
        model = make().fit(X, y, client=client)
    finally:
        cluster.scheduler.remove_plugin("killer")
    assert sorted(killer.killed) == sorted(phases)
    points = np.random.default_rng(1).normal(size=(50, D))
    method = "decision_function" if hasattr(model, "decision_function") else "predict"
    assert_same(getattr(quiet, method)(points), getattr(model, method)(points))


def test_a_worker_that_comes_back_late_is_not_given_up(cluster, client, expected):
    X, _, here = expected
    client.wait_for_workers(2, timeout=60)
    killer = Killer(cluster, ["survey"])
    cluster.scheduler.add_plugin(killer, name="killer")
    try:
        with dask.config.set({"distributed.deploy.lost-worker-timeout": "1ms"}):  # no worker starts as fast as that
            model = nystroem().fit(*generated(), client=client)
            assert dask.config.get("distributed.deploy.lost-worker-timeout") == "1ms"
    finally:
        cluster.scheduler.remove_plugin("killer")
    assert killer.killed == ["survey"]
    assert len(cluster.workers) == 2
    assert_same(here.predict(X), model.predict(X))


@contextmanager
def busy_machine(processes=4):
    """Other processes that take all the time they are given."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


DELAYS = [float(delay) for delay in os.environ.get("MERCER_KILL_AFTER", "0.5").split()]  # all: ".1 .5 1 2"
PLACES = [int(workers) for workers in os.environ.get("MERCER_KILL_AMONG", "2").split()]


@pytest.mark.slow
@pytest.mark.parametrize("workers", PLACES)
@pytest.mark.parametrize("delay", DELAYS)
def test_a_worker_killed_on_a_busy_machine_costs_nothing_but_time(expected, delay, workers):
    X, _, here = expected
    with (
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        victim = cluster.workers[0].pid
        with busy_machine():
            killer = threading.Timer(delay, os.kill, args=(victim, signal.SIGKILL))
            killer.start()
            model = nystroem().fit(*generated(pause=0.15), client=client)
            killer.join()
        assert cluster.workers[0].pid != victim
    assert_same(here.predict(X), model.predict(X), rtol=1e-9)


def deadly(block):
    if distributed.worker.thread_state.__dict__:
        os._exit(1)
    return block


def test_a_task_that_kills_every_worker_is_an_error_and_no_hang():
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        X, y = generated(n=80, parts=2)
        X = X.map_blocks(deadly, dtype=float, meta=np.empty((0, D)))
        with pytest.raises(ClusterError, match="died again and again"):
            nystroem().fit(X, y, client=client)


def own_memory():
    import psutil

    import mercer.distributed.ridge  # noqa: F401  (what a task loads)

    return psutil.Process().memory_info().rss


def stream(idle, extra, rows_in_all, width=50, parts=100):
    """Fit over rows much larger than workers, of which each has ``extra`` bytes beside what Python itself takes."""
    workers = idle.scheduler_info(n_workers=-1)["workers"]
    base = max(idle.gather([idle.submit(own_memory, workers=[worker], pure=False) for worker in workers]))
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "n_workers": 2, "memory_limit": base + extra}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        generator = da.random.default_rng(0)
        X = generator.uniform(size=(rows_in_all, width), chunks=(rows_in_all // parts, width))
        model = KernelRidge(1.0, kernel=Gaussian(3.0), n_centers=20, random_state=0).fit(
            X, X.sum(axis=1), client=client
        )
        restarts = [event for event in cluster.scheduler.get_events("all") if "died" in str(event)]
        peak = max(client.run(_peak).values())
    return model, X.nbytes, base, peak, restarts


def _peak():
    # Not getrusage: its peak is inherited from the process that started this one.
    from pathlib import Path

    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


@pytest.mark.slow
def test_five_times_their_memory_streams_through_workers(client):
    model, total, base, peak, restarts = stream(client, extra=120_000_000, rows_in_all=1_500_000, parts=150)
    assert total == 5 * 120_000_000
    assert peak <= base + 120_000_000
    assert not restarts
    assert model.converged_
