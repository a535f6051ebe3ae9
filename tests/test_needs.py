"""Messages about packages that are not there, and that nothing tells to install what an index has under our name."""

import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from mercer.needs import load_package, name_install

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
FOR_USERS = ("command", "dask", "gpu", "play", "plot")
TEXTS = (".md", ".py", ".pyi", ".toml", ".yml", ".yaml", ".cff", ".html", ".cpp", ".hpp", ".txt")
PLACES = ("src", "docs", "examples", "benchmarks", "tools", "native", ".github")
# A release of ours is on no index yet, so that a name there is somebody else's: a clone is what can be installed.
OF_AN_INDEX = re.compile(r"""pip3? install (?:-\S+ )*["'`]*mercer(?![\w/.-])""")


@pytest.mark.parametrize("extra", FOR_USERS)
def test_a_command_has_the_versions_of_our_extras(extra):
    for requirement in EXTRAS[extra]:
        text = requirement.partition(";")[0]
        assert name_install(re.match(r"[\w-]+", text)[0]) == f'pip install "{text}"'


def test_without_our_own_description_a_package_has_its_name(monkeypatch):
    def nobody(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", nobody)
    assert name_install("matplotlib") == 'pip install "matplotlib"'


def test_a_package_that_lacks_something_itself_is_not_said_to_be_missing(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import something_it_needs")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="something_it_needs") as caught:
        load_package("broken_package", "a test")
    assert caught.value.name == "something_it_needs"


def test_without_dask_one_line_says_what_to_install(monkeypatch):
    from mercer.distributed.engine import run_elsewhere

    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r'^work on Dask collections needs dask, .*: pip install "dask\[.*>=\d\S*"$'):
        run_elsewhere(None, None, (), {})


def texts():
    folders = (file for place in PLACES for file in (ROOT / place).rglob("*"))
    files = [file for file in (*ROOT.glob("*"), *folders) if file.suffix in TEXTS or file.name == "Makefile"]
    return [file for file in files if file.is_file() and "_build" not in file.parts]


def test_nothing_tells_to_install_our_name_from_an_index():
    found = texts()
    assert len(found) > 300
    assert [str(file.relative_to(ROOT)) for file in found if OF_AN_INDEX.search(file.read_text())] == []


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("pip install mercer", True),
        ('`pip install "mercer[plot]"`', True),
        ("pip install -U mercer[dask]", True),
        ('pip install ".[command]"', False),
        ("pip install mercer-0.1.0-cp311-cp311-linux_x86_64.whl", False),
        ("pip install dist/mercer.whl", False),
    ],
)
def test_what_counts_as_such(line, wrong):
    assert bool(OF_AN_INDEX.search(line)) == wrong
