"""Real workers: the current client and others, workers that come and stay away, and a fit that is stopped."""

import copy
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from mercer.distributed import ClusterError
from mercer.distributed.cluster import ClusterPlan
from mercer.models import SVC

from ..page import read_page
from .conftest import assert_same, da, dask
from .workers import distributed, generated, nystroem, quick_cluster

pytestmark = pytest.mark.cluster


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


def test_a_notebook_shows_what_ran_where_and_what_moved():
    plan = ClusterPlan("cg", "it is <quick>", 10, 2.0, 3.0, 4, 5, "products", "sums", {"gradients": 2_000})
    page = read_page(plan)
    for known in ("cg", "it is <quick>", "products, over 4 partitions in 5 passes", "sums", "gradients", "2.0 KB"):
        assert known in page.text
