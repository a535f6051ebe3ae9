"""``mercer certify`` answers by its exit code, in words and in JSON."""

import json

import pytest

from .conftest import one_line


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["2*Gaussian(1)+Polynomial(2,1)"], 0, "Proved"),
        (["3*Gaussian(1) - Gaussian(2)", "--dim", "1"], 0, "Proved"),
        (["3*Gaussian(1) - Gaussian(2)", "--dim", "2"], 1, "Refuted"),
        (["exp(-norm(x-z)**2.05)"], 1, "Refuted"),
        (["exp(-norm(x-z))"], 3, "Unknown"),
        (["min(x, z)", "--dim", "1"], 1, "Refuted"),
        (["x[2]*z[2]"], 3, "Unknown"),
        (["-dot(x, z)", "--dim", "3"], 1, "Refuted"),
        (["--dim", "3", "-1*linear"], 1, "Refuted"),
    ],
)
def test_the_exit_code_is_the_answer(mercer, arguments, code, word):
    result = mercer("certify", *arguments)
    assert result.exit_code == code
    assert result.stdout.startswith(f"{word}: ")
    assert result.stderr == ""


def test_json_holds_the_evidence(mercer):
    told = json.loads(mercer("certify", "norm(x-z)**2", "--json").stdout)
    assert (told["verdict"], told["form"], told["dim"]) == ("refuted", "function", 2)
    assert told["value"] < 0 == told["error_bound"]
    assert len(told["points"]) == len(told["coefficients"]) == len(told["gram"])
    told = json.loads(mercer("certify", "gaussian + linear", "--json").stdout)
    assert (told["verdict"], told["form"], told["dim"]) == ("proved", "kernel", None)
    assert len(told["proof"]["from"]) == 2
    told = json.loads(mercer("certify", "exp(-norm(x-z))", "--json").stdout)
    assert told["verdict"] == "unknown"
    assert told["tried"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["Gausian(1)"], "did you mean Gaussian?"),
        ([""], "the expression is empty"),
        (["x*z"], "has 2 values, one for each feature"),
        (["x[4]*z[4]", "--dim", "2"], "needs points with 5 features, but --dim is 2"),
        (["Gaussian(1)(x, z)"], "Gaussian is a kernel"),
        (["Linear()", "--dim", "0"], "--dim"),
        (["Linear()", "--dim", "many"], "not a valid integer"),
        (["1/(x[0]-z[0])"], "returned"),
        ([], "Missing argument 'EXPRESSION'"),
        (["Linear()", "--dims", "3"], "--dims"),
    ],
)
def test_what_cannot_be_judged_is_one_line(mercer, arguments, says):
    assert says in one_line(mercer("certify", *arguments))


def test_lines_fit_narrow_terminals(mercer, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    result = mercer("certify", "2*Gaussian(1)+Polynomial(2,1)")
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 66  # a formula is not broken
    assert sum(len(line) > 60 for line in lines) <= 1
    assert any(line.startswith("  │  │ ") for line in lines)


@pytest.mark.parametrize(
    "expression",
    ["((((Linear()-1)**9-1)**9-1)**9-1)*Gaussian()", "Fourier(10000) - Linear()", "((Polynomial(9000)-1)**30)**30",
     "((dot(x, z)**99)**99)**99", "sum(x**z**x**z)", "exp(exp(exp(Linear()))) - 1", "Gaussian().on('age') - Linear()"],
)  # fmt: skip
def test_expressions_that_overflow_or_grow_get_an_answer_or_one_line(mercer, expression):
    result = mercer("certify", expression)
    assert result.exit_code in (0, 1, 2, 3)
    assert len(result.stderr.splitlines()) == (result.exit_code == 2)
