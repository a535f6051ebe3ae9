"""``mercer fit``: from a table to a model, and all that can be wrong with both."""

import json
import os

import numpy as np
import pandas as pd
import pytest

import mercer as library
from mercer.cli.reading.target import guess_task

from .conftest import QUICK, make_houses


def test_a_fit_prints_what_was_done_and_saves_the_model(mercer, houses):
    result = mercer("fit", houses, "--target", "price", *QUICK, "--report", "houses.html")
    assert result.exit_code == 0, result.stderr
    out = result.stdout
    for part in ("Columns", "town", "categorical", "rows held out", "mean", "HistGradientBoosting", "RMSE", "kernel",
                 "Proved", "plan", "because", "houses.mercer", "houses.html"):  # fmt: skip
        assert part in out
    assert result.stderr == ""
    page = houses.with_name("houses.html").read_text(encoding="utf-8")
    assert "<title>houses.csv, price: regression</title>" in page
    assert "Data: houses.csv, 90 rows, 4 columns." in page
    model = library.load(houses.with_name("houses.mercer"))
    assert isinstance(model, library.AutoRegressor)
    assert (model.report_.target, model.report_.data) == ("price", "houses.csv")


def test_json_is_the_report(mercer, houses):
    result = mercer("fit", houses, "--target", "sold", "--model", "svm", "--kernel", "Gaussian(2)", "--json")
    told = json.loads(result.stdout)
    assert (told["task"], told["target"], told["n_rows"]) == ("classification", "sold", 90)
    assert {column["name"] for column in told["columns"]} == {"area", "rooms", "town", "price"}
    assert len(told["scores"]) == 3
    assert told["files"] == {"model": "houses.mercer", "report": None}


def test_the_same_seed_gives_the_same_model(mercer, houses):
    told = []
    for name in ("a.mercer", "b.mercer"):
        result = mercer("fit", houses, "--target", "price", *QUICK, "-o", name, "--seed", "3", "--json")
        told.append([score["values"] for score in json.loads(result.stdout)["scores"]])
    assert told[0] == told[1]


@pytest.mark.parametrize("name", ["t.tsv", "t.csv.gz", "t.parquet"])
def test_other_formats_are_read(mercer, tmp_path, name):
    frame = make_houses(40)
    if name.endswith("parquet"):
        frame.to_parquet(tmp_path / name)
    else:
        frame.to_csv(tmp_path / name, index=False, sep="\t" if "tsv" in name else ",")
    assert mercer("fit", name, "--target", "price", *QUICK).exit_code == 0
    assert (tmp_path / "t.mercer").exists()


def test_rows_without_a_target_are_left_out_and_counted(mercer, tmp_path):
    frame = make_houses(50)
    frame.loc[:4, "price"] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = mercer("fit", "t.csv", "--target", "price", *QUICK)
    assert "5 rows without a price left out" in result.stdout
    assert library.load(tmp_path / "t.mercer").report_.n_rows == 45


def test_targets_that_are_no_numbers_are_left_out_and_named_by_their_lines(mercer, tmp_path):
    frame = make_houses(60)
    cells = [f"${value:,.2f}" for value in frame["price"]]
    cells[7], cells[20] = "sold", None
    frame.assign(price=cells).to_csv(tmp_path / "t.csv", index=False)
    result = mercer("fit", "t.csv", "--target", "price", *QUICK)
    assert result.exit_code == 0, result.stderr
    out = " ".join(result.stdout.split())
    assert "58 rows, 4 columns. Regression, because the target holds numbers" in out
    assert out.index("Look at this first") < out.index("Columns, to predict price")
    assert "1 row left out because 'price' is no number there: line 9 ('sold')." in out
    assert "1 row left out because 'price' is missing there: line 22." in out
    model = library.load(tmp_path / "t.mercer")
    assert model.report_.n_rows == 58
    assert len(model.report_.warnings) == 2
    told = json.loads(mercer("fit", "t.csv", "--target", "price", *QUICK, "--force", "--json").stdout)
    assert told["dropped_rows"] == 2
    assert told["warnings"] == list(model.report_.warnings)


def test_labels_of_several_kinds_are_classes(mercer, tmp_path):
    frame = make_houses(60)
    frame.assign(sold=["1", "yes", "no"] * 20).to_csv(tmp_path / "t.csv", index=False)
    result = mercer("fit", "t.csv", "--target", "sold", "--model", "ridge", "--kernel", "Gaussian(2)")
    assert result.exit_code == 0, result.stderr
    assert "3 different values that are not numbers" in " ".join(result.stdout.split())


def test_nothing_held_out_gives_no_estimate(mercer, houses):
    result = mercer("fit", houses, "--target", "price", *QUICK, "--test", "0")
    assert "No rows were held out" in result.stdout


@pytest.mark.parametrize(
    ("values", "task"),
    [
        ([0.5, 1.25, 3.0] * 5, "regression"),
        ([0, 1, 1, 0, 1] * 5, "classification"),
        (list(range(30)), "regression"),
        ([1.0, 2.0] * 10, "classification"),
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([1, 2, 3], "regression"),
        (["$1,200", "$900", "$850.50", None] * 9 + ["sold"], "regression"),
        (["12%", "15%", "on request"], "classification"),
        (["1", "0", "1", "0", None] * 9, "classification"),
    ],
)
def test_the_target_tells_the_task(values, task):
    assert guess_task(pd.Series(values))[0] == task


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["houses.csv", "--target", "prise"], "has no column 'prise'; did you mean 'price'?"),
        (["hauses.csv", "--target", "price"], "does not exist; did you mean"),
        (["houses.csv"], "Missing option '--target'"),
        (["houses.csv", "--target", "town", "--task", "regression"], "is not a number; correct it, or use"),
        (["houses.csv", "--target", "price", "--task", "classification"], "different values in 90 rows; use --task"),
        (["houses.csv", "--target", "price", "--kernel", "Gausian(1)"], "did you mean Gaussian?"),
        (["houses.csv", "--target", "price", "--kernel", "dot(x, z)"], "a kernel is needed"),
        (["houses.csv", "--target", "price", "--kernel", "Sigmoid(1, 1)"], "positive semi-definite"),
        (["houses.csv", "--target", "price", "--kernel", "Gaussian().on('nowhere')"], "nowhere"),
        (["houses.csv", "--target", "price", "--model", "forest"], "'forest' is not one of"),
        (["houses.csv", "--target", "price", "--model", "logistic"], "--model logistic is not for regression"),
        (["houses.csv", "--target", "price", "--budget", "soon"], "'soon' is not a time"),
        (["houses.csv", "--target", "price", "--budget", "0"], "is not a time"),
        (["houses.csv", "--target", "price", "--memory", "-1"], "memory"),
        (["houses.csv", "--target", "price", "--seed", "-1"], "'--seed': -1 is not in the range"),
        (["houses.csv", "--target", "price", "--test", "1.5"], "not a number between 0 and 1"),
        (["houses.csv", "--target", "price", "-o", "nowhere/m.mercer"], "the folder nowhere does not exist"),
        (["houses.csv", "--target", "price", "-o", "."], "is a folder"),
        (["houses.csv", "--target", "price", "-o", "houses.csv"], "exists already; --force"),
        (["houses.csv", "--target", "price", "--report", "houses.csv"], "exists already; --force"),
        (["houses.csv", "--target", "price", "-o", "a", "--report", "a"], "cannot both be a"),
        (["houses.csv", "--target", "price", "-o", "/dev/null"], "not a regular file"),
        (["empty.csv", "--target", "price"], "is empty"),
        (["names.csv", "--target", "price"], "no rows"),
        (["alone.csv", "--target", "price"], "no column beside"),
        (["same.csv", "--target", "price"], "is always 3; there is nothing to learn"),
        (["gone.csv", "--target", "price"], "column 'price' is empty"),
        (["typo.csv", "--target", "price", "--task", "regression"], "holds 'about 12', which is not a number"),
        (["mixed.csv", "--target", "price"], "column 'price' holds numbers, but 2 of 8 cells are none, such as 'sold'"),
        (["far.csv", "--target", "price"], "column 'price' holds an infinite value"),
        (["photo.csv", "--target", "price"], "is not a text file"),
        (["one.csv", "--target", "price"], "needs at least 2 rows with a target, got n_samples = 1; add rows"),
        (["flat.csv", "--target", "price"], "the only column is the same in every row, so that it says nothing about"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_written(mercer, houses, tmp_path, arguments, says):
    texts = {"empty": "", "names": "area,price\n", "alone": "price\n1\n2\n", "same": "a,price\n1,3\n2,3\n"}
    texts |= {"gone": "a,price\n1,\n2,\n", "typo": "a,price\n1,about 12\n2,3\n", "photo": "PNG\0\0"}
    texts |= {"far": "a,price\n1,inf\n2,3.5\n", "one": "a,price\n1,3\n2,\n", "flat": "a,price\n1,3.5\n1,4.5\n"}
    texts["mixed"] = "a,price\n1,sold\n2,rented\n" + "".join(f"{i},{i}.5\n" for i in range(6))
    for name, text in texts.items():
        (tmp_path / f"{name}.csv").write_text(text)
    before = sorted(os.listdir(tmp_path))
    result = mercer("fit", *arguments)
    assert says in " ".join(result.stderr.split()), result.stderr
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert sorted(os.listdir(tmp_path)) == before
