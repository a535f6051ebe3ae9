"""Margins in explicit features: the machine of SMO on their kernel, from sums that add up wherever rows are."""

import numpy as np
import pytest

from mercer.kernels import Linear
from mercer.losses import EpsilonInsensitive, Hinge
from mercer.solvers.machines.margins import MarginBlock, MarginRule, fit_margin
from mercer.solvers.machines.problems import Priced
from mercer.solvers.machines.smo import SMO
from mercer.solvers.newton.rows import FeatureBlocks


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    return X, X @ [1.0, -2.0, 0.5, 0.0] + 0.3 * rng.normal(size=90), rng.uniform(0.5, 2.0, size=90)


class Columns(FeatureBlocks):
    """Columns as features, some rows at a time."""

    def __init__(self, X, step=32):
        self.X, self.step = X, step

    @property
    def shape(self):
        return self.X.shape

    def blocks(self):
        for start in range(0, len(self.X), self.step):
            rows = slice(start, min(start + self.step, len(self.X)))
            yield rows, self.X[rows]


def rows_of(X, rule, y, weights):
    """Rows of one machine."""
    return MarginBlock(Columns(X), rule, y, weights)


class Halves:
    """Two sets of rows, as partitions are."""

    def __init__(self, *parts):
        self.parts, self.features = parts, parts[0].features

    def sums(self, at, width):
        total = self.parts[0].sums(at, width)
        for part in self.parts[1:]:
            total += part.sums(at, width)
        return total

    def line(self, at, direction):
        lines = [part.line(at, direction) for part in self.parts]
        return lambda lengths, width: sum(line(lengths, width) for line in lines)


@pytest.mark.parametrize("kind", ["classes", "targets"])
def test_the_margin_is_that_of_the_dual_problem_of_the_linear_kernel(points, kind):
    X, t, weights = points
    if kind == "classes":
        codes = (t > 0.2).astype(int)
        rule, y, problem = (
            MarginRule(Hinge(), 0.7, (0, 1), -1.0), codes, Priced(Hinge(), 0.7).problem(2.0 * codes - 1.0, weights)
        )  # fmt: skip
    else:
        rule, y, problem = (
            MarginRule(EpsilonInsensitive(0.1), 0.7),
            t,
            Priced(EpsilonInsensitive(0.1), 0.7).problem(t, weights),
        )
    found = fit_margin(rows_of(X, rule, y, weights), 1e-6)
    dual = SMO(tol=1e-9).solve(Linear(), X, problem)
    assert found.converged
    assert found.gap.relative <= 1e-6
    assert found.objective == pytest.approx(dual.primal, rel=1e-6)
    np.testing.assert_allclose(X @ found.w + found.b, dual.values + dual.intercepts[0], atol=1e-2)


def test_rows_in_parts_give_the_machine_of_all_rows(points):
    X, t, weights = points
    rule = MarginRule(EpsilonInsensitive(0.1), 0.7)
    whole = fit_margin(rows_of(X, rule, t, weights), 1e-4)
    parts = fit_margin(Halves(*(rows_of(X[i::2], rule, t[i::2], weights[i::2]) for i in (0, 1))), 1e-4)
    np.testing.assert_allclose(parts.w, whole.w, atol=1e-6)
    assert parts.b == pytest.approx(whole.b, abs=1e-6)


def test_few_steps_are_not_certified(points):
    X, t, weights = points
    found = fit_margin(rows_of(X, MarginRule(EpsilonInsensitive(0.1), 10.0), t, weights), 1e-8, max_iter=1)
    assert found.n_iter == 1
    assert not found.converged
