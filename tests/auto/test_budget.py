"""The budget decides how much is tried and how exactly the last fits are made; clocks here are made up."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import AutoClassifier, AutoRegressor
from mercer.auto import fitting
from mercer.auto.search import members
from mercer.auto.search.base import STEPS, TableSearch
from mercer.auto.search.members import LEAST_CENTERS
from mercer.auto.search.time import TimeBudget


@pytest.fixture
def clock(monkeypatch):
    """Return a dictionary of what clocks show: ``now``, which grows by ``tick`` whenever somebody asks."""
    state = {"now": 0.0, "tick": 0.0, "asked": 0}

    def ask(self):
        state["now"] += state["tick"]
        state["asked"] += 1
        return state["now"]

    monkeypatch.setattr(TimeBudget, "elapsed", property(ask))
    return state


@pytest.fixture
def steps(monkeypatch):
    """Return a list to which every step inside a candidate adds whether it ended."""
    found = []
    step = TableSearch.step

    def look(self):
        found.append(step(self))
        return found[-1]

    monkeypatch.setattr(TableSearch, "step", look)
    return found


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(45, 2))


MODELS = {
    "regression": (AutoRegressor, lambda X: np.sin(2 * X[:, 0])),
    "classification": (AutoClassifier, lambda X: X[:, 0] > 0),
}


@pytest.mark.parametrize("task", MODELS)
def test_the_first_candidate_ends_early_and_the_others_are_not_tried_when_time_is_used_up(rows, clock, steps, task):
    make, target = MODELS[task]
    clock["now"] = 100.0
    model = make(budget=10, random_state=0).fit(rows, target(rows))
    assert len(model.report_.candidates) == 1
    assert "thresholds" in model.report_.candidates[0].name
    assert all(steps)
    used = len(steps)
    assert 0 < used <= 8  # the start of each fold, and of a penalty
    assert any("Not tried for want of time" in sentence for sentence in model.report_.advice)
    assert np.isfinite(model.predict(rows)).all()
    clock["now"] = 0.0
    steps.clear()
    patient = make(budget=10, random_state=0).fit(rows, target(rows))
    assert len(steps) > 3 * used
    assert not any(steps)
    assert len(patient.report_.candidates) > 1


@pytest.mark.parametrize("task", MODELS)
def test_a_search_ends_where_its_time_does(rows, clock, steps, task):
    make, target = MODELS[task]
    clock["tick"] = 1.0
    model = make(budget=60, random_state=0).fit(rows, target(rows))
    tried = len(model.report_.candidates)
    assert any("Not tried for want of time" in sentence for sentence in model.report_.advice)
    assert 1 <= tried < 5
    assert clock["now"] < 120
    clock["now"] = 0.0
    longer = make(budget=120, random_state=0).fit(rows, target(rows))
    assert len(longer.report_.candidates) > tried


@pytest.mark.parametrize("task", MODELS)
def test_a_candidate_never_takes_more_steps_than_were_announced(rows, clock, steps, task, monkeypatch):
    make, target = MODELS[task]
    X = np.column_stack([rows, np.arange(45) % 2])
    counts = []
    begin = TableSearch.run

    def run(self, recipes):
        for recipe in recipes:
            steps.clear()
            trials, _ = begin(self, [recipe])
            counts.append(len(steps))
        return trials, []

    monkeypatch.setattr(TableSearch, "run", run)
    make(random_state=0).fit(X, target(rows))
    assert len(counts) == 6
    assert 0 < max(counts) <= STEPS


def test_the_last_fits_take_fewer_rows_when_no_time_is_left(clock, thresholds_only, monkeypatch):
    monkeypatch.setattr(members, "default_threads", lambda: 2)  # more of them could fit all rows
    X = np.random.default_rng(0).normal(size=(3000, 2))
    clock["now"] = 100.0
    model = AutoRegressor(budget=1, random_state=0).fit(X, X[:, 0])
    (member,) = model.members_
    assert member.is_approximate
    (note,) = [sentence for sentence in model.report_.advice if "rows were fitted in the time there was" in sentence]
    rows = int(note.split(" of 3,000")[0].replace(",", ""))
    assert LEAST_CENTERS <= rows < 3000


def test_rows_that_candidates_are_compared_on_are_those_that_the_budget_pays_for(clock, monkeypatch, thresholds_only):
    sizes = []
    combine = TableSearch.combine

    def look(self, trials, most):
        sizes.append(len(self.y))
        return combine(self, trials, most)

    monkeypatch.setattr(TableSearch, "combine", look)
    monkeypatch.setattr(fitting, "ROWS_PER_SECOND", 100)
    X = np.random.default_rng(0).normal(size=(500, 2))
    clock["now"] = 1000.0
    for budget in (1, 2, 3):
        AutoRegressor("ridge", kernel="Gaussian(2)", budget=budget, random_state=0).fit(X, X[:, 0])
    assert sizes == [fitting.LEAST_ROWS, 200, 300]


def test_default_budgets_grow_with_the_rows_up_to_three_minutes():
    found = [fitting.default_budget(n) for n in (2, 100, 1000, 10_000, 100_000, 10**7)]
    assert found == sorted(found)
    assert found[-1] <= 180.0
    assert fitting.default_budget(10_000) <= 100.0
    counts = [fitting.count_search_rows(seconds) for seconds in (0.0, 1.0, 10.0, 60.0, 1e6)]
    assert counts == sorted(counts)
    assert counts[0] == fitting.LEAST_ROWS
    assert counts[-1] == fitting.TUNING_ROWS
