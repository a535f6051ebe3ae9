"""Tables as people have them end in a model or in a line for people, never in an internal message."""

import numpy as np
import pandas as pd
import pytest

from .conftest import QUICK


def make(n=60, **columns):
    rng = np.random.default_rng(0)
    size, kind = rng.uniform(1, 9, n).round(2), rng.integers(0, 4, n)
    frame = pd.DataFrame({"size": size, "kind": kind, "y": (2 * size + kind).round(3)}).astype(object)
    return frame.assign(**columns)


def put(value, column, row=5, n=60):
    frame = make(n)
    frame.loc[row, column] = value
    return frame


DAYS = pd.date_range("2023-01-01", periods=60, freq="9D").strftime("%d/%m/%Y")


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (put("about 12", "y"), "1 row left out because 'y' is no number there: line 7 ('about 12')"),
        (put("12 kg?", "size"), "1 cell that is not like its other numbers and counted as missing: line 7 ('12 kg?')"),
        (make(day=DAYS), "a date, as days"),
        (make(day=[*DAYS[:-1], "31/02/2023"]), "line 61 ('31/02/2023')"),
        (make(paid=make()["y"] * 2 + 1), "Column 'paid' alone gives 'y' away"),
        (make(150, y=[f"c{i % 50}" for i in range(150)]), "50 different values"),
        (make(y=["a"] * 40 + ["b"] * 18 + ["c", "d"]), "Classification"),
        (make(20, y=["a"] * 18 + ["b"] * 2), "Classification"),
        (make(12, y=["a"] * 11 + ["b"]), "Classification"),
        (make(y=[0.5, 1.5, 1.5] * 20), "because it was asked for"),
        (make(3), "3 rows, 2 columns. Regression"),
        (make(y=[f"{i} EUR" for i in range(60)]), "Regression"),
    ],
)
def test_what_is_dirty_is_named_and_fitted(mercer, tmp_path, table, says):
    table.to_csv(tmp_path / "t.csv", index=False)
    asked = ["--task", "classification"] * (table["y"].nunique() == 2)  # also classes that are numbers
    none_held_out = ["--test", "0"] * (len(table) > 60)  # boosting takes its time for fifty classes
    done = mercer("fit", "t.csv", "--target", "y", *QUICK, *asked, *none_held_out)
    assert done.exit_code == 0, done.stderr
    assert says in " ".join(done.stdout.split())
    assert done.stderr == ""
    assert mercer("predict", "t.mercer", "t.csv").exit_code == 0


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (put("sold", "y", n=12), "holds numbers, but 1 of 12 cells are none, such as 'sold'"),
        (put(-np.inf, "size"), "column 'size': line 7 of t.csv is infinite"),
        (make(y=make()["y"].astype(float) * 1e300), "too large to be squared"),
        (make(y=DAYS), "60 different values in 60 rows; choose a column with fewer"),
        (make(1), "needs at least 2 rows"),
    ],
)
def test_what_cannot_be_fitted_is_one_line(mercer, tmp_path, table, says):
    table.to_csv(tmp_path / "t.csv", index=False)
    done = mercer("fit", "t.csv", "--target", "y", *QUICK)
    assert done.exit_code == 2, done.stderr
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
