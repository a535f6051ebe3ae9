"""``mercer bench`` compares results as well as times."""

import json

from threadpoolctl import threadpool_info

from mercer._native import isas


def test_both_libraries_compute_the_same(mercer):
    result = mercer("bench", "--n", "150", "--repeat", "1", "--json")
    told = json.loads(result.stdout)
    assert [item["rows"] for item in told["results"]] == [150] * 3
    for item in told["results"]:
        assert item["difference"] < 5e-3
        assert item["ratio"] > 0
    names = {library.get("architecture", "unknown") for library in threadpool_info() if library["user_api"] == "blas"}
    assert names
    assert all(name in told["machine"] for name in [*names, isas()[0]])


def test_the_table_is_on_stdout_and_the_progress_is_not(mercer):
    result = mercer("bench", "--n", "60", "--repeat", "1")
    assert "scikit-learn" in result.stdout
    assert "running" not in result.stdout
    assert "running: support vector classifier" in result.stderr
