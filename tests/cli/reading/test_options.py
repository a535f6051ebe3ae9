"""What can be said about a table, and what of it is kept for new rows."""

import click
import pandas as pd
import pytest

import mercer as library
from mercer.cli._errors import CommandError
from mercer.cli.fit import choose_task
from mercer.cli.reading.options import ReadingOptions, check_columns, parse_types
from mercer.cli.reading.target import parse_target


def test_all_missing_columns_are_named_with_hints_for_case_and_blanks():
    with pytest.raises(CommandError) as caught:
        check_columns(["age", "size", "town", "n"], ["Age ", "seize", "n", "colour"], "t.csv")
    assert str(caught.value) == (
        "t.csv has none of these 3 columns: 'age' (did you mean 'Age '? They differ in case or blanks.), "
        "'size' (did you mean 'seize'?), 'town'; it has 'Age ', 'seize', 'n', 'colour'"
    )


def test_a_suggestion_is_made_only_when_it_is_close():
    with pytest.raises(CommandError, match=r"no column 'price'; it has 'rent', 'prize money'$"):
        check_columns(["price"], ["rent", "prize money"], "t.csv")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("zip", "must be a column, = and a kind"),
        ("zip=numbr", "did you mean number"),
        ("zip=integer", "kinds are number, category, date, text"),
        ("zap=number", "has no column 'zap'"),
        ("y=number", "is about the target; --task says"),
    ],
)
def test_kinds_that_cannot_be_are_errors(text, says):
    with pytest.raises(CommandError, match=says):
        parse_types([text], ["zip", "a=b"], "y", "t.csv")
    assert parse_types(["a=b=date"], ["zip", "a=b"], "y", "t.csv") == {"a=b": "date"}


def test_what_a_file_says_of_options_never_breaks_reading():
    record = {"separator": ";", "missing": ["-1", 3], "unknown": 1, "ids": []}
    assert ReadingOptions(decimal=",").follow(record) == ReadingOptions(None, ";", ",", ("-1", "3"))
    for name in ("encoding", "separator", "decimal"):
        with pytest.raises((CommandError, click.BadParameter)):
            ReadingOptions().follow({name: "nonsense"})


@pytest.fixture
def codes(tmp_path):
    """A table whose zip codes are categories, with marks of its own, between bars."""
    frame = pd.DataFrame({"ref": [f"{i:03d}" for i in range(40)], "zip": ["01067", "50667"] * 20, "size": range(40)})
    frame["rent"] = [100.5 + i + 50 * (i % 2) for i in range(40)]
    frame["size"] = frame["size"].astype(object)
    frame.loc[3, "size"] = "none yet"
    frame.to_csv(tmp_path / "codes.txt", index=False, sep="#")
    return frame


def test_new_rows_are_read_as_those_of_the_fit_were(mercer, codes, tmp_path):
    said = ["--sep", "#", "--missing", "none yet", "--id", "ref", "--types", "zip=category"]
    done = mercer("fit", "codes.txt", "--target", "rent", *said, "--model", "ridge", "--kernel", "Gaussian(2)")
    assert done.exit_code == 0, done.stderr
    model = library.load(tmp_path / "codes.mercer")
    assert model.reading_ == {"separator": "#", "missing": ["none yet"], "ids": ["ref"], "strings": ["zip"]}
    assert list(model.feature_names_in_) == ["zip", "size"]
    assert [column.kind for column in model.report_.columns] == ["categorical", "numeric"]
    assert model.encoder_.steps_[0]["categories"] == ["01067", "50667"]
    result = mercer("predict", "codes.mercer", "codes.txt")
    assert "read as at the fit, with --sep '#' --missing 'none yet' --id ref" in result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "ref,prediction"
    assert lines[1].startswith("000,")
    same = codes.assign(size=codes["size"].where(codes["size"] != "none yet"))
    same.drop(columns="ref").to_csv("same.csv", index=False)
    other = mercer("predict", "codes.mercer", "same.csv", "--sep", ",", "--quiet")
    assert other.stderr == ""
    assert [line.split(",")[-1] for line in lines[1:]] == other.stdout.splitlines()[1:]


def test_a_column_that_only_looks_like_numbers_in_new_rows_stays_one_of_texts(mercer, tmp_path):
    frame = pd.DataFrame({"code": ["01", "02", "A1", "A2"] * 10, "y": [1.5, 2.5, 3.5, 4.75] * 10})
    frame.to_csv("t.csv", index=False)
    assert mercer("fit", "t.csv", "--target", "y", "--model", "ridge", "--kernel", "Gaussian(2)").exit_code == 0
    whole = mercer("predict", "t.mercer", "t.csv").stdout.splitlines()[1:3]
    frame.head(2).to_csv("new.csv", index=False)  # only 01 and 02
    assert mercer("predict", "t.mercer", "new.csv").stdout.splitlines()[1:] == whole


def test_columns_can_be_left_out(mercer, houses, tmp_path):
    arguments = ["fit", houses, "--target", "price", "--drop", "sold", "--drop", "town", "--model", "ridge"]
    assert mercer(*arguments, "--kernel", "Gaussian(2)").exit_code == 0
    assert list(library.load(tmp_path / "houses.mercer").feature_names_in_) == ["area", "rooms"]
    for option in ("--drop", "--id"):
        done = mercer("fit", houses, "--target", "price", option, "price", "--force")
        assert f"{option} price is the target" in done.stderr


def test_quiet_is_one_line(mercer, houses):
    done = mercer("fit", houses, "--target", "price", "--model", "ridge", "--kernel", "Gaussian(2)", "--quiet")
    assert done.stderr == ""
    assert done.stdout.startswith("houses.mercer: RMSE on 18 rows held out: mercer ")
    assert done.stdout.count("\n") == 1
    done = mercer("predict", "houses.mercer", houses, "-o", "out.csv", "-q")
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize(
    ("values", "asked", "offered"),
    [
        ([0.5, 1.5, 2.5], "auto", " (--task classification if they are classes)"),
        ([0, 1] * 9, "auto", " (--task regression if they are amounts)"),
        (["a", "b"], "auto", "not numbers"),
        ([0.5, 1.5], "regression", "it was asked for"),
    ],
)
def test_the_task_is_offered_where_it_was_guessed(values, asked, offered):
    assert choose_task(asked, None, parse_target(pd.Series(values)))[1].endswith(offered)


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (["--encoding", "utf-9"], "--encoding utf-9 is not known"),
        (["--encoding", "base64"], "--encoding base64 is not known"),
        (["--sep", "ab"], "'ab' is not one letter"),
        (["--decimal", ";"], "'--decimal'"),
        (["--decimal", ",", "--sep", "comma"], "cannot both be ','"),
        (["--id", "nam"], "has no column 'nam'"),
    ],
)
def test_options_that_cannot_be_are_one_line(mercer, houses, option, says):
    done = mercer("fit", houses, "--target", "price", *option)
    assert done.exit_code == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
