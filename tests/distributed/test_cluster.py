"""Real workers: the current client and others, workers that die, come and stay small, and a fit that is stopped."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from mercer.distributed import ClusterError
from mercer.distributed.cluster import ClusterPlan
from mercer.kernels import Gaussian, Polynomial
from mercer.models import SVC, KernelLogisticRegression, KernelRidge, KernelRidgeCV

from ..page import read_page
from .conftest import assert_same, da, dask

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("default::ResourceWarning")  # of sockets of processes that were killed

N, D = 4000, 3


def rows(block_info=None, seed=0, pause=0.0):
    """One block of rows and a target, from its place alone."""
    start, stop = block_info[None]["array-location"][0]
    time.sleep(pause)
    X = np.random.default_rng([seed, start]).normal(size=(stop - start, D))
    return np.c_[X, np.sin(2 * X[:, 0]) + X[:, 1]]


def generated(n=N, parts=8, **options):
    table = da.map_blocks(
        rows, chunks=((n // parts,) * parts, (D + 1,)), dtype=float, meta=np.empty((0, D + 1)), **options
    )
    return table[:, :D], table[:, D]


def nystroem(**options):
    return KernelRidge(0.1, kernel=Gaussian(1.5), n_centers=30, random_state=0, fit_intercept=True, **options)


@pytest.fixture(scope="module")
def expected():
    with dask.config.set(scheduler="synchronous"):
        X, y = (part.compute() for part in generated())
    return X, y, nystroem().fit(X, y)


@pytest.fixture(scope="module")
def cluster():
    # This long after the death of a worker LocalCluster looks whether it is back, and closes its place for good if it
    # is not, even if it has been back and died again just then.
    patient = dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
    with patient, distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster, set_as_default=False) as client:
        yield client


def quick_cluster(**options):
    """Workers that are threads of this process, which start in no time."""
    options = {"n_workers": 2, "threads_per_worker": 1} | options
    return distributed.LocalCluster(processes=False, dashboard_address=":0", protocol="inproc", **options)


def test_the_current_client_and_one_given_by_name(client, expected):
    X, _, here = expected
    given = nystroem().fit(*generated(), client=client)
    with client.as_current():
        current = nystroem().fit(*generated())
        lazy = current.predict(generated()[0])
        assert_same(here.predict(X), lazy.compute(scheduler=client))
    np.testing.assert_array_equal(given.dual_coef_, current.dual_coef_)  # to the last bit
    for model in (given, current):
        assert_same(here.predict(X), model.predict(X))
        assert_same(here.predict(X), pickle.loads(pickle.dumps(model)).predict(X))


def test_inside_a_task_of_a_worker(client, expected):
    X, _, here = expected

    def task():
        return nystroem().fit(*generated()).predict(generated()[0][:5].compute())

    assert_same(here.predict(X[:5]), client.submit(task, pure=False).result(timeout=50))


def sent(dask_worker):
    return dask_worker.transfer_outgoing_bytes_total


def test_rows_do_not_travel_between_workers(client):
    X, y = generated(n=400_000, parts=16)
    before = sum(client.run(sent).values())
    model = nystroem().fit(X, y, client=client)
    moved = sum(client.run(sent).values()) - before
    assert moved < model.plan_.bytes_moved + 1e5 < X.nbytes / 10


def side_by_side(**calls):
    """Results of calls in threads of their own."""
    found = {}

    def work(name, call):
        found[name] = call()

    threads = [threading.Thread(target=work, args=pair) for pair in calls.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=50)
    return found


def test_two_clusters_at_once(expected):
    X, _, here = expected
    with (
        quick_cluster() as first,
        quick_cluster() as second,
        distributed.Client(first, set_as_default=False) as one,
        distributed.Client(second, set_as_default=False) as other,
    ):
        settings = copy.deepcopy(dask.config.config)
        found = side_by_side(
            one=lambda: nystroem().fit(*generated(), client=one),
            other=lambda: nystroem().fit(*generated(), client=other),
        )
        assert dask.config.config == settings  # which are those of the whole process
    for name in ("one", "other"):
        assert_same(here.predict(X), found[name].predict(X))


def test_fits_in_threads_leave_settings_of_the_process_as_they_were(expected):
    X, _, here = expected
    libraries = ThreadpoolController()
    with libraries.limit(limits=2, user_api="blas"), dask.config.set(scheduler="threads"):
        before = [library["num_threads"] for library in libraries.info()]
        found = side_by_side(**{name: lambda: nystroem().fit(*generated()) for name in "abc"})
        after = [library["num_threads"] for library in libraries.info()]
    assert before == after
    for model in found.values():
        assert_same(here.predict(X), model.predict(X))


IN_FEATURES = ["margin", "line", "slope"]  # the phases of a machine that no worker can hold


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


def test_no_workers_at_all_is_an_error_and_no_hang(monkeypatch):
    monkeypatch.setattr("mercer.distributed.cluster.POLL", 0.2)
    monkeypatch.setattr("mercer.distributed.cluster.PATIENCE", 1.0)
    with (
        quick_cluster(n_workers=0) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        pytest.raises(ClusterError, match="no worker for 1 seconds"),
    ):
        nystroem().fit(*generated(), client=client)


def test_a_worker_that_joins_during_the_fit_takes_part(expected):
    X, _, here = expected
    with (
        quick_cluster(n_workers=1) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        threading.Timer(0.3, cluster.scale, args=(2,)).start()
        model = nystroem().fit(*generated(pause=0.05), client=client)
        assert len(client.scheduler_info(n_workers=-1)["workers"]) == 2
        assert all(worker.state.executed_count for worker in cluster.workers.values())
    assert_same(here.predict(X), model.predict(X))


def test_an_interruption_cancels_what_runs():
    with quick_cluster() as cluster, distributed.Client(cluster, set_as_default=False) as client:
        timer = threading.Timer(1.5, os.kill, args=(os.getpid(), signal.SIGINT))
        timer.start()
        model = nystroem()
        with pytest.raises(KeyboardInterrupt):
            model.fit(*generated(parts=40, pause=0.4), client=client)
        deadline = time.monotonic() + 20
        while any("mercer" in str(key) for key in cluster.scheduler.tasks) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not any("mercer" in str(key) for key in cluster.scheduler.tasks)
        assert not hasattr(model, "expansion_")


def test_callbacks_hear_of_every_pass():
    class Listener:
        def __init__(self):
            self.begun = self.ended = 0

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, *args, **kwargs):
            self.begun += 1

        def on_fit_task_end(self, *args, **kwargs):
            self.ended += 1

    listener = Listener()
    with dask.config.set(scheduler="synchronous"):
        model = nystroem().set_callbacks(listener).fit(*generated())
    assert listener.begun == listener.ended == model.plan_.passes + 1


def test_pairs_of_classes_are_solved_on_the_workers():
    X, y = generated(n=400, parts=4)
    labels = da.digitize(y, np.array([-0.5, 0.5]))
    with (
        quick_cluster() as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        model = SVC(tol=1e-8).fit(X, labels, client=client)
        here = SVC(tol=1e-8).fit(client.compute(X).result(), client.compute(labels).result())
    assert "SMO for 3 machines" in str(model.plan_)
    np.testing.assert_array_equal(here.support_, model.support_)


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


def test_a_notebook_shows_what_ran_where_and_what_moved():
    plan = ClusterPlan("cg", "it is <quick>", 10, 2.0, 3.0, 4, 5, "products", "sums", {"gradients": 2_000})
    page = read_page(plan)
    for known in ("cg", "it is <quick>", "products, over 4 partitions in 5 passes", "sums", "gradients", "2.0 KB"):
        assert known in page.text
