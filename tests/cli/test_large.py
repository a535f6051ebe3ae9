"""Tables that are larger than memory are read a piece at a time."""

import re

import numpy as np
import pandas as pd
import pytest

import mercer as library
from mercer.auto import large as auto_large
from mercer.cli._large import is_large
from mercer.stored import table

from .conftest import one_line

NAMES = ["a", "b", "c"]


@pytest.fixture
def large(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(800, 3)), columns=NAMES)
    frame["y"] = np.sin(frame["a"]) + 0.1 * rng.normal(size=800)
    frame["sold"] = np.where(frame["y"] > 0, "yes", "no")
    frame["id"] = np.arange(800)
    (tmp_path / "parts").mkdir()
    frame[:300].to_parquet(tmp_path / "parts" / "a.parquet", index=False)
    frame[300:].to_parquet(tmp_path / "parts" / "b.parquet", index=False, row_group_size=100)
    frame.to_parquet(tmp_path / "whole.parquet", index=False)
    return frame


def test_a_folder_is_fitted_and_predicted_a_piece_at_a_time(mercer, large, tmp_path):
    given = ("--target", "y", "--drop", "sold", "--id", "id", "--kernel", "Gaussian(2)", "--model", "ridge")
    result = mercer("fit", "parts", *given, "-o", "model.mercer")
    assert result.exit_code == 0, result.stderr
    assert "800 rows, 3 columns, read piece by piece" in result.stdout
    said = " ".join(result.stdout.split())
    assert "Regression, because the target holds numbers" in said
    assert float(re.search(r"R², 160 rows held out (0\.\d+)", said)[1]) > 0.9
    assert "NEW.parquet -o predictions.parquet" in said
    model = library.load(tmp_path / "model.mercer")
    assert model.feature_names_in_.tolist() == NAMES
    result = mercer("predict", "model.mercer", "parts", "-o", "out.parquet", "--id", "id")
    assert result.exit_code == 0, result.stderr
    assert "800 predictions written to out.parquet" in result.stderr
    found = pd.read_parquet("out.parquet")
    assert found["id"].tolist() == large["id"].tolist()
    np.testing.assert_allclose(found["prediction"], model.predict(large[NAMES]), rtol=1e-10)
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_folder_that_fits_is_said_to_be_read_whole(mercer, large):
    given = ("--target", "sold", "--drop", "y", "--id", "id", "--kernel", "Linear()", "--model", "svm")
    result = mercer("fit", "parts", *given, "--memory", "1GB", "-o", "model.mercer")
    assert result.exit_code == 0, result.stderr
    said = " ".join(result.stdout.split())
    assert "800 rows, 3 columns, read whole within 1.0 GB" in said
    assert "sample of" not in said


def test_a_file_is_large_beside_the_budget(mercer, large):
    given = ("whole.parquet", "--target", "sold", "--drop", "y", "--drop", "id", "--kernel", "Gaussian(2)")
    given = (*given, "--model", "ridge")
    result = mercer("fit", *given, "--memory", "100KB", "-o", "model.mercer", "--quiet")
    assert result.exit_code == 0, result.stderr
    model = library.load("model.mercer")
    assert (model.predict(large[NAMES]) == large["sold"]).mean() > 0.9
    result = mercer("fit", *given, "--memory", "100KB", "-o", "model.mercer", "--force", "--test", "0")
    assert "No rows were held out" in result.stdout
    assert model.plan_.solver == "nystroem"


def test_what_is_not_there_for_a_large_table_is_refused(mercer, large):
    assert "--report is not there for parts" in one_line(
        mercer("fit", "parts", "--target", "y", "--model", "ridge", "--report", "report.html")
    )
    assert "--missing is not there for parts" in one_line(mercer("fit", "parts", "--target", "y", "--missing", "-9"))
    assert "'sold' holds something else; take --model auto" in one_line(
        mercer("fit", "parts", "--target", "y", "--model", "ridge")
    )
    assert "neighbors keeps the rows it learns from, and parts is larger" in one_line(
        mercer("fit", "parts", "--target", "y", "--model", "neighbors")
    )
    assert "targt" in one_line(mercer("fit", "parts", "--target", "targt"))
    library.save(library.KernelRidge().fit(large[NAMES], large["y"]), "model.mercer")
    assert "--sep is not there" in one_line(mercer("predict", "model.mercer", "parts", "-o", "p.parquet", "--sep", ";"))
    assert "write predictions to Parquet" in one_line(mercer("predict", "model.mercer", "parts"))


def test_rows_held_out_are_not_learned_from(mercer, large, tmp_path):
    rng = np.random.default_rng(0)
    noise = pd.DataFrame({"a": np.arange(400.0), "b": rng.normal(size=400), "y": rng.normal(size=400)})
    (tmp_path / "noise").mkdir()
    noise.to_parquet(tmp_path / "noise" / "a.parquet", index=False)
    result = mercer("fit", "noise", "--target", "y", "--kernel", "Gaussian(0.01)", "--test", "0.5", "--model", "ridge")
    found = re.search(r"R², 200 rows held out (-?\d\.\d+)", " ".join(result.stdout.split()))
    assert float(found[1]) < 0.1


def test_cells_that_repeat_count_where_they_are_unpacked(mercer, tmp_path):
    pd.DataFrame({"a": np.zeros(100_000), "y": np.ones(100_000)}).to_parquet(tmp_path / "same.parquet")
    assert (tmp_path / "same.parquet").stat().st_size < 20_000
    assert is_large(str(tmp_path / "same.parquet"), "1MB")
    assert not is_large(str(tmp_path / "same.parquet"), "100MB")


@pytest.mark.parametrize(
    ("target", "options", "kind"),
    [
        ("sold", ("--model", "logistic"), "KernelLogisticRegression"),
        ("sold", ("--model", "svm"), "SVC"),
        ("sold", ("--loss", "SquaredHinge"), "KernelClassifier"),
        ("y", ("--model", "svm"), "SVR"),
        ("y", ("--loss", "Quantile(0.5)"), "KernelRegressor"),
        ("y", (), "KernelRidge"),
    ],
)
def test_other_models_of_a_large_table_too(mercer, large, tmp_path, monkeypatch, target, options, kind):
    monkeypatch.setattr(table, "COPIES", 10**4)
    monkeypatch.setattr(auto_large, "SAMPLE", 300)
    given = ("whole.parquet", "--target", target, "--drop", "id", "--drop", {"y": "sold", "sold": "y"}[target])
    result = mercer("fit", *given, "--kernel", "Linear()", "--memory", "20MB", "-o", "model.mercer", *options)
    assert result.exit_code == 0, result.stderr
    said = " ".join(result.stdout.split())
    assert "800 rows, 3 columns, read piece by piece within 20.0 MB" in said
    assert "on a sample of 300 rows from all over it" in said
    model = library.load("model.mercer")
    assert type(model.model_).__name__ == kind
    result = mercer("predict", "model.mercer", "whole.parquet", "-o", "out.parquet", "--id", "id")
    assert result.exit_code == 0, result.stderr
    found = pd.read_parquet("out.parquet")["prediction"]
    if target == "y":
        assert np.corrcoef(found, large["y"])[0, 1] > 0.85
    else:
        assert (found == large["sold"]).mean() > 0.9
