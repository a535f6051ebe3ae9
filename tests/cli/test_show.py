"""Numbers and texts for people, data for machines."""

import json
import math

import numpy as np

from mercer.cli import _show


def test_json_has_no_numbers_that_json_has_not(capsys):
    _show.as_json({"a": np.array([[1.0, math.nan], [math.inf, 2.0]]), "b": np.float32(0.5), "c": {"ü": (1, None)}})
    told = json.loads(capsys.readouterr().out)
    assert told == {"a": [[1.0, None], [None, 2.0]], "b": 0.5, "c": {"ü": [1, None]}}


def test_tables_fold_what_is_too_long(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    _show.table(["name", "text"], [["[red]a[/red]", "long " * 20], ["b", "x" * 70]])
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 40
    assert "[red]a[/red]" in out  # names are not markup
    assert out.count("long") == 20
    assert out.count("x") == 71  # with that of "text"


def test_wrapping_loses_no_word():
    line = "  ├─ " + " ".join(f"word{i}" for i in range(40))
    pieces = _show.wrap_line(line, 50)
    assert max(map(len, pieces)) <= 50
    assert " ".join(piece.lstrip(" │├─") for piece in pieces) == line.lstrip(" ├─")


def test_a_percent_sign_stays_with_its_number():
    line = "better by 47 % in log-loss (90 % interval: 24 to 68 %)."
    for width in range(12, 60):
        pieces = _show.wrap_line(line, width)
        assert not any(piece.startswith("%") for piece in pieces)
        assert " ".join(pieces) == line
