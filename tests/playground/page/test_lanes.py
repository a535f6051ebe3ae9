"""Only the latest wish of a picture counts, and no picture waits for another."""

import threading
from concurrent.futures import ThreadPoolExecutor

from mercer.playground.page.lanes import Lane

PATIENCE = 20.0  # seconds


def make_lane(pool, shown, failed):
    return Lane(pool, lambda call: call(), failed.append), shown.append


def test_what_waits_is_replaced_by_what_is_newer():
    shown, failed, begun, gate = [], [], threading.Event(), threading.Event()
    with ThreadPoolExecutor(2) as pool:
        lane, show = make_lane(pool, shown, failed)

        def slow(stop):
            begun.set()
            gate.wait(PATIENCE)
            return "first", stop()

        lane.ask(slow, show)
        begun.wait(PATIENCE)
        lane.ask(lambda stop: "second", show)
        lane.ask(lambda stop: "third", show)
        assert lane.busy
        gate.set()
    assert shown == [("first", True), "third"]
    assert failed == []


def test_a_slow_lane_holds_up_no_other():
    shown, failed, gate, quick = [], [], threading.Event(), threading.Event()
    with ThreadPoolExecutor(2) as pool:
        slow, _ = make_lane(pool, shown, failed)
        other, _ = make_lane(pool, shown, failed)
        slow.ask(lambda stop: gate.wait(PATIENCE), shown.append)
        other.ask(lambda stop: "quick", lambda value: (shown.append(value), quick.set()))
        assert quick.wait(PATIENCE)
        assert shown == ["quick"]
        gate.set()


def test_what_goes_wrong_is_told_and_the_lane_goes_on():
    shown, failed = [], []
    with ThreadPoolExecutor(1) as pool:
        lane, show = make_lane(pool, shown, failed)
        lane.ask(lambda stop: 1 / 0, show)
    assert [type(error) for error in failed] == [ZeroDivisionError]
    with ThreadPoolExecutor(1) as pool:
        lane, show = make_lane(pool, shown, failed)
        lane.ask(lambda stop: "on", show)
    assert shown == ["on"]


def test_a_closed_lane_begins_and_shows_nothing():
    shown, failed, begun, gate = [], [], threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        lane, show = make_lane(pool, shown, failed)

        def slow(stop):
            begun.set()
            gate.wait(PATIENCE)

        lane.ask(slow, show)
        begun.wait(PATIENCE)
        lane.close()
        lane.ask(lambda stop: "late", show)
        gate.set()
    assert shown == []
