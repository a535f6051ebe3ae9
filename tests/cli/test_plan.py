"""``mercer plan`` tells what a fit will take before it is begun."""

import json

import pytest

from mercer.kernels import Gaussian
from mercer.solvers.plan import SOLVERS, plan

from .conftest import one_line


def test_the_plan_is_the_one_of_the_library(mercer):
    told = json.loads(mercer("plan", "--n", "1e6", "--d", "20", "--memory", "4GB", "--json").stdout)
    expected = plan(Gaussian(), 10**6, 20, memory="4GB")
    assert told["plan"] == {
        name: getattr(expected, name) for name in ("solver", "reason", "memory", "flops", "seconds", "steps")
    }
    assert set(told["solvers"]) == set(SOLVERS)
    assert told["solvers"]["cholesky"]["fits"] is False
    assert told["solvers"]["primal"]["memory"] is None


def test_the_table_marks_the_chosen_solver(mercer):
    out = mercer("plan", "--n", "200_000", "--d", "20", "--kernel", "polynomial", "--memory", "1GB").stdout
    assert "231 explicit features" in out.replace("\n         ", " ")
    assert "→ primal" in out
    assert "more than the budget" in out


def test_objects_need_no_columns(mercer):
    assert mercer("plan", "--n", "500", "--kernel", "Spectrum(3)").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--n", "1.5"], "'1.5' is not a whole number from 1 up"),
        (["--n", "0"], "whole number"),
        (["--n", "inf"], "whole number"),
        (["--n", "1e300"], "whole number"),
        (["--n", "many"], "whole number"),
        ([], "Missing option '--n'"),
        (["--n", "10", "--memory", "lots"], "'lots' is not an amount of memory"),
        (["--n", "10", "--memory", "0GB"], "not an amount of memory"),
        (["--n", "10", "--kernel", "Gausian"], "did you mean Gaussian?"),
        (["--n", "10", "--kernel", "dot(x, z)"], "a kernel is needed"),
        (["--n", "10", "extra"], "extra"),
    ],
)
def test_wrong_sizes_are_one_line(mercer, arguments, says):
    assert says in one_line(mercer("plan", *arguments))


def test_what_fits_nowhere_has_an_exit_code_of_its_own(mercer):
    assert "needs at least" in one_line(mercer("plan", "--n", "1e9", "--d", "5", "--memory", "1KB"), code=4)


def test_features_beyond_every_float_are_no_features(mercer):
    assert mercer("plan", "--n", "100", "--d", "900", "--kernel", "Polynomial(9000)**1000").exit_code == 0
