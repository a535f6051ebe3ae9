"""The list before a release: a small tree that is ready passes, and every item finds what it is there to find."""

import importlib.util
import io
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("release_check", ROOT / "tools" / "release_check.py")
release_check = importlib.util.module_from_spec(spec)
sys.modules["release_check"] = release_check
spec.loader.exec_module(release_check)

LICENCES = ["LICENSE", "src/mercer/datasets/data/README.md"]
FILES = {
    "src/mercer/__init__.py": '__version__ = "1.2.0"\n',
    "src/mercer/datasets/data/README.md": "CC BY 4.0\n\n| `a.csv` | <https://example.org/a> |\n",
    "src/mercer/datasets/data/a.csv": "x\n1\n",
    "pyproject.toml": f"[project]\ndynamic = ['version']\nlicense-files = {LICENCES}\n",
    "CITATION.cff": "cff-version: 1.2.0\nversion: 1.2.0\ndate-released: 2030-01-31\n",
    "CHANGELOG.md": "# Changelog\n\n## 1.2.0 (2030-01-31)\n\n- More.\n\n## 1.1.0 (2029-01-31)\n\n- Less.\n",
    "LICENSE": "BSD-3-Clause\n",
    "Makefile": "demo test: it\n\tdo it\n",
    "README.md": "# A\n\n`make demo` and [b](docs/b.md#two-words)\n\n```sh\nmake test\n```\n\nmake no sense\n",
    "docs/b.md": "# B\n\n## Two *words*\n\n[up](../README.md#a), [here](#b), <https://example.org>, `[x](y.md)`\n",
    "docs/benchmarks.json": "{}\n",
    "native/core.cpp": "int x;\n",
}


def write(root, **changes):
    for name, text in changes.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def commit(root):
    alone = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for arguments in (["add", "-A"], ["commit", "-qm", "more"]):
        subprocess.run(["git", *alone, *arguments], cwd=root, check=True, capture_output=True)


def build(folder, version="1.2.0", tag="cp312-abi3-manylinux_2_28_x86_64", licences=LICENCES):
    """An sdist and a wheel with nothing in them but licences."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"mercer-{version}-{tag}.whl", "w") as wheel:
        for name in licences:
            wheel.writestr(f"mercer-{version}.dist-info/licenses/{name}", "yours")
    with tarfile.open(folder / f"mercer-{version}.tar.gz", "w:gz") as sdist:
        for name in LICENCES:
            sdist.addfile(tarfile.TarInfo(f"mercer-{version}/{name}"), io.BytesIO())


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A tree that is ready, where the tools of others find nothing to say."""
    write(tmp_path, **FILES)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    commit(tmp_path)
    build(tmp_path / "dist" / "wheels")
    monkeypatch.setattr(release_check, "run_tool", lambda *command: "consistent with manylinux_2_28_x86_64")
    monkeypatch.setitem(release_check.ITEMS, "docs", lambda tree: "built")
    return tmp_path


def look(root, *only):
    return release_check.main(["--root", str(root), *(part for name in only for part in ("--only", name))])


def test_a_tree_that_is_ready_passes_every_item(root, capsys):
    assert look(root) == 0, capsys.readouterr().out
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(release_check.ITEMS) + 1
    assert lines[-1] == "ready"


HOME = "/".join(["", "home", "ada"])  # in parts, because this file is looked at too
BROKEN = [
    ("version", {"CITATION.cff": "version: 1.1.0\n"}, "CITATION.cff says 1.1.0, the package 1.2.0"),
    ("version", {"pyproject.toml": "[project]\nversion = '2.0'\n"}, "pyproject.toml says 2.0"),
    ("version", {"src/mercer/__init__.py": "\n"}, "no __version__"),
    ("changelog", {"CHANGELOG.md": "## Unreleased\n\n- More.\n"}, "begins with 'Unreleased'"),
    ("changelog", {"CHANGELOG.md": "## 1.2.0\n\n- More.\n"}, "it is '## 1.2.0 (YYYY-MM-DD)'"),
    ("changelog", {"CHANGELOG.md": "## 1.2.0 (2030-02-31)\n\n- More.\n"}, "2030-02-31: day "),
    ("changelog", {"CHANGELOG.md": "## 1.2.0 (2030-01-31)\n\n## 1.1.0\n\n- Less.\n"}, "says nothing about 1.2.0"),
    ("changelog", {"CITATION.cff": "version: 1.2.0\n"}, "needs 'date-released: 2030-01-31'"),
    ("licences of data", {"src/mercer/datasets/data/b.csv": "x\n"}, "has no row for b.csv"),
    ("licences of data", {"src/mercer/datasets/data/README.md": "| `a.csv` | https://a.org |"}, "names no licence"),
    ("licences of data", {"src/mercer/datasets/data/README.md": "MIT\n| `a.csv` | a friend |"}, "no source for a.csv"),
    ("links", {"README.md": "[b](docs/c.md)"}, "README.md links to docs/c.md"),
    ("links", {"README.md": "[b](docs/b.md#three-words)"}, "a heading that is not there"),
    ("commands", {"docs/b.md": "`make tea`"}, "docs/b.md shows `make tea`"),
    (
        "commands",
        {"README.md": "```console\n$ mercer plan\n$ mercer dance\n```"},
        "FAILS commands          README.md shows `mercer dance`\n",
    ),
    ("commands", {".github/c.md": "`python -m nothing.here`"}, "shows `python -m nothing.here`"),
    ("words", {"docs/b.md": f"in {HOME}/mercer"}, f"docs/b.md names {HOME}"),
]


@pytest.mark.parametrize(("item", "changes", "said"), BROKEN, ids=[f"{row[0]}-{i}" for i, row in enumerate(BROKEN)])
def test_an_item_that_is_not_so_fails(root, capsys, item, changes, said):
    write(root, **changes)
    assert look(root, item) == 1
    assert said in capsys.readouterr().out


def test_a_version_that_was_released_before_fails(root, capsys):
    subprocess.run(["git", "tag", "v1.2.0"], cwd=root, check=True)
    assert look(root, "version") == 0
    write(root, more="\n")
    commit(root)
    assert look(root, "version") == 1
    assert "there is a tag v1.2.0 of an older commit" in capsys.readouterr().out


def test_benchmarks_older_than_what_they_time_fail_until_they_are_measured_again(root, capsys):
    write(root, **{"src/mercer/words.py": "x = 1\n"})
    commit(root)
    assert look(root, "benchmarks") == 0
    write(root, **{"native/core.cpp": "int y;\n"})
    commit(root)
    assert look(root, "benchmarks") == 1
    assert "1 commits since touched native" in capsys.readouterr().out
    now = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True).stdout.strip()
    write(root, **{"docs/benchmarks.json": f'{{"commit": "{now}"}}'})
    assert look(root, "benchmarks") == 0


@pytest.mark.parametrize(
    ("item", "options", "said"),
    [
        ("wheels", {"version": "1.1.0"}, "mercer-1.1.0.tar.gz is not 1.2.0"),
        ("wheels", {"tag": "cp313-cp313-linux_x86_64"}, "runs on this machine alone"),
        ("wheels", {"tag": "cp313-cp313-manylinux_2_17_x86_64.manylinux2014_x86_64"}, "fewer machines than its name"),
        ("licence files", {"tag": "cp313-cp313-macosx_11_0_arm64", "licences": ["LICENSE"]}, f"has no {LICENCES[1]}"),
    ],
)
def test_files_that_must_not_be_published_fail(root, capsys, item, options, said):
    build(root / "dist" / "wheels", **options)
    assert look(root, item) == 1
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_no_files_to_publish_fail(root, capsys, kind):
    for file in (root / "dist" / "wheels").glob(kind):
        file.unlink()
    assert look(root, "wheels", "licence files") == 1
    assert capsys.readouterr().out.count(f"no {kind} in") == 2


@pytest.mark.parametrize("item", ["citation", "wheels", "docs"])
def test_what_a_tool_says_fails_and_all_other_items_are_looked_at(root, capsys, monkeypatch, item):
    monkeypatch.undo()  # the tools are real again, and all of them are this one
    fails = [sys.executable, "-c", "import sys; sys.exit('it is wrong')"]
    monkeypatch.setattr(release_check, "run_tool", lambda *command: release_check.run(*fails))
    monkeypatch.setattr(sys, "executable", "false") if item == "docs" else None
    assert look(root, item, "licences of data") == 1
    out = capsys.readouterr().out
    assert "ok    licences of data" in out
    assert "1 of 2 items fail" in out
    assert ("it is wrong" if item != "docs" else "ends with 1") in out


def test_addresses_of_others_are_asked_when_that_is_wanted(root, capsys, monkeypatch):
    asked = []
    monkeypatch.setattr(release_check, "ask", lambda link: asked.append(link) or "it is gone")
    assert look(root, "links") == 0
    assert asked == []
    assert "https://example.org" in capsys.readouterr().out
    assert release_check.main(["--root", str(root), "--only", "links", "--online"]) == 1
    assert "https://example.org: it is gone" in capsys.readouterr().out


# -- this tree, as far as it must always be ready --------------------------------------------------------------------


@pytest.mark.parametrize("item", ["licences of data", "links", "words"])
def test_what_must_always_be_so_is_so(item, capsys):
    assert look(ROOT, item) == 0, capsys.readouterr().out


def test_the_version_to_cite_is_that_of_the_package():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == release_check.Tree(ROOT, ROOT).version
    assert cited["authors"] == [{"name": "The mercer developers"}]
    assert set(cited) >= {"cff-version", "message", "title"}  # what its schema requires besides


FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def test_forms_of_issues_are_complete():
    assert [form.stem for form in FORMS] == ["bug", "config", "feature", "question"]
    for form in FORMS:
        read = yaml.safe_load(form.read_text())
        if form.stem == "config":
            assert read == {"blank_issues_enabled": False}
            continue
        assert {"name", "description", "labels", "body"} == set(read)
        fields = [field for field in read["body"] if field["type"] != "markdown"]
        assert len({field["id"] for field in fields}) == len(fields)
        assert all(field["attributes"]["label"] for field in fields)
        assert any(field.get("validations", {}).get("required") for field in fields)


def test_project_files_name_commands_that_are_there():
    files = [*FORMS, *(ROOT / ".github").glob("*.md"), ROOT / "SECURITY.md"]
    shown = set().union(*(release_check.find_commands(file.read_text()) for file in files))
    assert {("make", "test"), ("mercer", "certify")} <= shown
    tree = release_check.Tree(ROOT, ROOT)
    assert [command for command in sorted(shown) if not release_check.has_command(tree, *command)] == []
    assert "mercer --version" in (ROOT / ".github" / "ISSUE_TEMPLATE" / "bug.yml").read_text()
