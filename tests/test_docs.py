"""What the README and the documentation show runs, prints what it says, and leaves out no public name."""

import ast
import contextlib
import doctest
import importlib
import io
import re
import shlex
import sys
import warnings
from pathlib import Path

import pytest

import mercer

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PACKAGE = Path(mercer.__file__).parent
BUILT = ("_build", "gallery", "api")
PAGES = sorted(
    [ROOT / "README.md", *(page for page in DOCS.glob("**/*.md") if page.relative_to(DOCS).parts[0] not in BUILT)]
)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
FENCE = re.compile(r"(?:<!-- not run: (?P<why>[^\n]*?) -->\n+)?^```(?P<kind>\S*)[^\n]*\n(?P<code>.*?)^```", re.M | re.S)
NOT_RUN_AT_MOST = 6  # blocks in all pages together; each must say why


def page_id(page):
    return str(page.relative_to(ROOT))


def blocks(page):
    """Kind and code of every fenced block of a page that is to run, in order."""
    return [(m["kind"], m["code"]) for m in FENCE.finditer(page.read_text()) if m["why"] is None]


SLOW = ("start.md", "automatic.md", "command-line.md", "large-data.md")  # models are tuned there
MARKS = dict.fromkeys(SLOW, pytest.mark.slow) | {"gpu.md": pytest.mark.torch}
MARKED = [pytest.param(page, marks=MARKS.get(page.name, ()), id=page_id(page)) for page in PAGES]


@pytest.mark.parametrize("page", MARKED)
def test_the_examples_of_a_page_run_and_print_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # blocks may write files, and those after them read these
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("COLUMNS", "100")
    names: dict[str, object] = {"__name__": "__main__"}
    for kind, code in blocks(page):
        if kind == "python":
            run_python(page, code, names)
        elif kind in ("console", "sh"):
            run_commands(commands(kind, code))
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def run_python(page, code, names):
    """Run plain code as it stands; code with prompts must also print what the page shows."""
    if ">>>" not in code:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, str(page), "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(code, names, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    said = io.StringIO()
    runner.run(test, out=said.write, clear_globs=False)
    names.update(test.globs)
    assert runner.failures == 0, said.getvalue()


def commands(kind, code):
    """The commands of a block, each with the output the page shows for it."""
    if kind == "sh":
        return [(line.split("  #")[0].strip(), "") for line in code.splitlines() if line.strip() and line[0] != "#"]
    parts = re.split(r"^\$ ", code.replace("\\\n", " "), flags=re.MULTILINE)
    assert not parts[0].strip(), f"a console block begins with '$ ': {code!r}"
    return [tuple((part + "\n").split("\n", 1)) for part in parts[1:]]


def run_commands(block):
    """Run the commands of a block; one that fails on purpose is followed by ``echo $?``, which shows its code."""
    code, output = 0, ""
    for command, expected in block:
        if command == "echo $?":
            assert code == int(expected), output
            code = 0
            continue
        assert code == 0, f"the command before {command!r} ends with {code}:\n{output}"
        code, output = run_command(command, expected)
    assert code == 0, f"{block[-1][0]!r} ends with {code}:\n{output}"


def run_command(command, expected):
    """Run a mercer command here, and return its code and output; others set things up, and are known by name."""
    program, *arguments = shlex.split(command)
    if program == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert set(arguments) <= set(targets), f"the Makefile has no target for {command!r}"
        return 0, ""
    if program in ("pip", "cd", "git", "open"):
        return 0, ""
    assert program == "mercer", f"the page shows {command!r}, which this test cannot run"
    from mercer.cli import main

    printed, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said), warnings.catch_warnings():
        warnings.simplefilter("default")
        code = main(arguments)
    output = printed.getvalue()
    if expected.strip():
        same = doctest.OutputChecker().check_output(expected.strip() + "\n", output.strip() + "\n", FLAGS)
        assert same, f"{command!r} prints\n{output}{said.getvalue()}\ninstead of\n{expected}"
    return code, output + said.getvalue()


def test_every_block_of_code_is_of_a_kind_that_runs_or_says_why_not():
    skipped = []
    for page in PAGES:
        for match in FENCE.finditer(page.read_text()):
            kind = match["kind"]
            assert kind in ("python", "console", "sh", "text") or kind.startswith("{"), f"{page_id(page)}: {kind!r}"
            if match["why"] is not None:
                assert match["why"].strip(), f"{page_id(page)}: a block that does not run must say why"
                skipped.append(page_id(page))
    assert len(skipped) <= NOT_RUN_AT_MOST, skipped


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+\.(?:md|rst|png|py))(?:#[^)]*)?\)", page.read_text()):
            if target.startswith("http"):
                continue
            place = (page.parent / target).resolve()
            if place.parent == DOCS / "gallery":  # built from the examples
                place = DOCS / "examples" / f"{place.stem}.py" if place.stem != "index" else DOCS / "examples"
            assert place.exists(), f"{page_id(page)} links to {target}"


def test_every_page_is_in_a_table_of_contents():
    listed = {DOCS / "index.md"}
    for page in PAGES:
        for code in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
            entries = [re.sub(r".*<(.*)>", r"\1", line.strip()) for line in code.splitlines()]
            listed |= {place for entry in entries if entry[:1] != ":" for place in page.parent.glob(f"{entry}.md")}
    assert [page_id(page) for page in PAGES if page not in listed and page.is_relative_to(DOCS)] == []


# -- the reference ----------------------------------------------------------------------------------------------------


def documented():
    """Module and name of every entry of the reference."""
    found = []
    for block in re.findall(r"^```\{eval-rst\}\n(.*?)^```", (DOCS / "api.md").read_text(), re.MULTILINE | re.DOTALL):
        module = re.search(r"currentmodule:: (\S+)", block)[1]
        found += [(module, name) for name in re.findall(r"^   (\w+)$", block, re.MULTILINE)]
    return found


def public_names(file):
    """``__all__`` of a module, read and not run: some modules need packages that may not be installed."""
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets):
            return ast.literal_eval(node.value)
    return []


PUBLIC = {
    "mercer": PACKAGE / "__init__.py",
    **{f"mercer.{file.parent.name}": file for file in sorted(PACKAGE.glob("[a-z]*/__init__.py"))},
    **{f"mercer.{file.stem}": file for file in sorted(PACKAGE.glob("[a-z]*.py"))},
}


@pytest.mark.parametrize("module", list(PUBLIC))
def test_every_public_name_is_in_the_reference(module):
    entries = documented()
    missing = [
        name
        for name in public_names(PUBLIC[module])
        if f"{module}.{name}" not in PUBLIC and not any(is_entry(module, name, entry) for entry in entries)
    ]
    assert missing == [], f"add these names of {module} to docs/api.md"


def is_entry(module, name, entry):
    """Whether an entry of the reference is this name, perhaps under the module that it comes from."""
    where, what = entry
    if what != name:
        return False
    if where == module or where.startswith(f"{module}."):
        return True
    try:
        return getattr(importlib.import_module(where), name) is getattr(importlib.import_module(module), name)
    except ImportError:  # of an optional dependency
        return False


def test_every_name_of_the_reference_exists():
    for module, name in documented():
        try:
            loaded = importlib.import_module(module)
        except ImportError:  # of an optional dependency
            assert (PACKAGE / module.removeprefix("mercer.").split(".")[0]).exists(), module
            continue
        assert hasattr(loaded, name), f"docs/api.md names {module}.{name}"


# -- the benchmarks ---------------------------------------------------------------------------------------------------


@pytest.fixture
def benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    return importlib.import_module("benchmarks_page")


def test_the_readme_shows_rows_of_the_benchmarks_page_as_they_are(benchmarks):
    assert benchmarks.readme_table() in (ROOT / "README.md").read_text()


def test_every_row_of_the_benchmarks_is_complete(benchmarks):
    for section in benchmarks.load()["sections"]:
        for row in section["rows"]:
            assert row["work"]
            assert row["mercer"] or row["peers"], row["work"]
            for peer in row.get("peers", []):
                assert peer["name"], row["work"]
                assert peer.keys() & {"seconds", "times", "gigabytes", "score"}, f"{row['work']}: no number"


def test_every_section_of_the_benchmarks_is_on_the_page(benchmarks):
    shown = re.findall(r"^```\{benchmarks\} (\w+)$", (DOCS / "benchmarks.md").read_text(), re.MULTILINE)
    assert shown == [section["name"] for section in benchmarks.load()["sections"]]


def test_ratios_that_are_written_agree_with_the_seconds_they_come_from(benchmarks):
    for section in benchmarks.load()["sections"]:
        for row in section["rows"]:
            for peer in row.get("peers", []):
                if "times" in peer and "seconds" in peer and "seconds" in row["mercer"]:
                    assert peer["seconds"] / row["mercer"]["seconds"] == pytest.approx(peer["times"], rel=0.05)
