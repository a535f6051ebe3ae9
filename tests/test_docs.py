"""What the README and the documentation show runs, prints what it says, and leaves out no public name."""

import ast
import contextlib
import doctest
import importlib
import io
import linecache
import re
import shlex
import sys
import tomllib
import warnings
from pathlib import Path

import pytest

import mercer

from .extensions import DOCS, load_extension

ROOT = Path(__file__).parents[1]
PACKAGE = Path(mercer.__file__).parent
BUILT = ("_build", "gallery", "api")
PAGES = sorted(
    [ROOT / "README.md", *(page for page in DOCS.glob("**/*.md") if page.relative_to(DOCS).parts[0] not in BUILT)]
)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
NOT_RUN_AT_MOST = 6  # blocks in all pages together; each must say why
FACTOR = 2.0  # between numbers on a page that depend on how fast a machine is and those of this one
NUMBER = re.compile(r"(?<![\w.])[-−]?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?")
TIME = re.compile(r"\b(?:[\d.,]+ (?:ms|s|min|h|seconds?|minutes?|hours?|days?|weeks?|years?)\b ?)+")


notebooks = load_extension("notebooks")


def page_id(page):
    return str(page.relative_to(ROOT))


# -- pages run, and notebooks are made of the same cells --------------------------------------------------------------

SLOW = ("start.md", "automatic.md", "command-line.md", "large-data.md")  # models are tuned there
MARKS = dict.fromkeys(SLOW, pytest.mark.slow) | {"gpu.md": pytest.mark.torch}
MARKED = [pytest.param(page, marks=MARKS.get(page.name, ()), id=page_id(page)) for page in PAGES]


@pytest.mark.docs
@pytest.mark.parametrize("page", MARKED)
def test_the_cells_of_a_page_run_and_print_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # cells may write files, and those after them read these
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("COLUMNS", "100")
    names: dict[str, object] = {"__name__": "__main__"}
    commands = Commands()
    for cell in notebooks.read_cells(page.read_text()):
        if cell.kind == "python":
            check(cell, run_python(cell.source, names, page_id(page)))
        elif cell.kind == "command":
            check(cell, commands.run(cell.source, cell.expected))
        elif cell.kind == "setup":
            lines = [line for line in cell.source.splitlines() if line.strip() and line[0] != "#"]
            for line in lines:
                commands.run(line.split("  #")[0].strip())
    assert commands.code == 0, f"the last command ends with {commands.code}:\n{commands.output}"
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def run_python(source, names, where):
    """What code prints, with the values of its expressions as a prompt shows them."""
    file = f"<{where}: {source.splitlines()[0][:40]}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)  # for code that reads itself
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for statement in ast.parse(source, file).body:
            exec(compile(ast.Interactive([statement]), file, "single"), names)
    return printed.getvalue()


def check(cell, printed):
    """Let the output be the one that the page shows."""
    if not cell.checked:
        return
    if cell.rough:
        same = is_roughly(cell.expected, printed)
    else:  # an output of nothing is an empty text, which dots would match too
        same = doctest.OutputChecker().check_output(cell.expected.strip() + "\n", printed.strip() + "\n", FLAGS)
    assert same, f"{cell.source}\nprints\n{printed}\ninstead of\n{cell.expected}"


def is_roughly(shown, printed):
    """Whether all lines shown are printed in this order, with the same words, and numbers that are nearly the same."""
    rest = iter(printed.splitlines())
    return all(any(agree(line, other) for other in rest) for line in shown.splitlines() if line.strip())


def agree(line, other):
    """Whether two lines have the same words, and numbers within a factor; times and lengths of rules are anything."""
    line, other = (re.sub("─+", "─", TIME.sub("TIME", text)) for text in (line, other))
    if NUMBER.sub("0", line).split() != NUMBER.sub("0", other).split():
        return False
    pairs = zip(
        *([float(n.replace(",", "").replace("−", "-")) for n in NUMBER.findall(t)] for t in (line, other)), strict=True
    )
    return all(a == b or (a * b > 0 and 1 / FACTOR <= a / b <= FACTOR) for a, b in pairs)


class Commands:
    """Commands of a page, one after the other; one that fails on purpose is followed by ``echo $?``, with its code."""

    def __init__(self):
        self.code, self.output = 0, ""

    def run(self, command, expected=""):
        """Run a mercer command here and return what it prints; others set things up, and are known by name."""
        program, *arguments = shlex.split(command)
        if command == "echo $?":
            assert self.code == int(expected), self.output
            self.code = 0
            return expected
        assert self.code == 0, f"the command before {command!r} ends with {self.code}:\n{self.output}"
        if program == "make":
            targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
            assert {name for name in arguments if "=" not in name} <= {*targets}, f"the Makefile cannot {command!r}"
            return ""
        if program in ("pip", "cd", "git", "open"):
            return ""
        assert program == "mercer", f"the page shows {command!r}, which this test cannot run"
        from mercer.cli import main

        printed, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said), warnings.catch_warnings():
            warnings.simplefilter("default")
            self.code = main(arguments)
        self.output = printed.getvalue() + said.getvalue()
        return printed.getvalue()


def test_numbers_may_differ_a_little_where_a_page_says_so_and_words_may_not():
    printed = "RMSE of two models\nmercer  0.41  3.7 s\nmean   10.03  23 ms\n"
    assert is_roughly("mercer 0.35 820 ms\nmean 10.03 1 s", printed)
    assert is_roughly("──\nabout 1,000 rows", "────\nabout 900 rows")
    assert not is_roughly("mercer 0.15 820 ms", printed)
    assert not is_roughly("mercers 0.41 3.7 s", printed)
    assert not is_roughly("mean 10.03 23 ms\nmercer 0.41 3.7 s", printed)  # another order
    assert not is_roughly("mercer -0.41 3.7 s", printed)


def test_a_cell_whose_output_is_not_that_of_the_page_is_noticed():
    right, wrong, silent = notebooks.read_examples(">>> 1 + 1\n2\n>>> 1 + 1\n3\n>>> 1 + 1\n")
    check(right, run_python(right.source, {}, "a page"))
    for cell in (wrong, silent):
        with pytest.raises(AssertionError, match=r"prints\s+2\s"):
            check(cell, run_python(cell.source, {}, "a page"))


def test_every_block_of_code_is_of_a_kind_that_runs_or_says_why_not():
    skipped = []
    for page in PAGES:
        for match in notebooks.FENCE.finditer(page.read_text()):
            kind = match["kind"]
            assert kind in ("python", "console", "sh", "text") or kind.startswith("{"), f"{page_id(page)}: {kind!r}"
            if match["mark"] is not None:
                assert match["why"].strip(), f"{page_id(page)}: a mark of a block must say why"
            if match["mark"] == "not run":
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


# -- pages that other files are the source of -------------------------------------------------------------------------

citation = load_extension("citation")
PERSONS = [{"family-names": "Hilbert", "given-names": "D."}, {"family-names": "Schmidt", "given-names": "E."}]
RELEASED = {"date-released": "2030-01-31", "doi": "10.1000/1", "authors": PERSONS}


def test_citations_say_what_the_citation_file_says():
    entry = citation.load()
    assert f"version = {{{mercer.__version__}}}" in citation.format_bibtex(entry)
    for text in (citation.format_bibtex(entry), citation.format_apa(entry)):
        assert entry["title"] in text
        assert entry["authors"][0]["name"] in text
    assert "(n.d.)" in citation.format_apa({k: v for k, v in entry.items() if k != "date-released"})


def test_citations_of_a_release_have_persons_a_year_and_an_address():
    entry = citation.load() | RELEASED
    assert citation.format_apa(entry).startswith("Hilbert, D., & Schmidt, E. (2030). *")
    assert citation.format_apa(entry).endswith("https://doi.org/10.1000/1")
    assert "author  = {Hilbert, D. and Schmidt, E.}," in citation.format_bibtex(entry)
    assert "year    = {2030}," in citation.format_bibtex(entry)


def test_the_installation_page_names_every_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    page = (DOCS / "installation.md").read_text()
    assert [extra for extra in extras if f"`{extra}`" not in page] == []


def test_scores_that_the_page_on_choosing_cites_are_those_of_the_benchmarks(benchmarks):
    page = (DOCS / "guide" / "choose-a-kernel.md").read_text()
    cited = re.findall(r"(?<![\d.])\.\d{3,4}\b", page)
    assert cited
    measured = {
        score for section in benchmarks.load()["sections"] for row in section["rows"]
        for score in re.findall(r"\.\d{3,4}\b", row["mercer"].get("score", ""))
    }  # fmt: skip
    assert {*cited} <= measured


def test_terms_that_the_glossary_refers_to_are_in_it():
    page = (DOCS / "glossary.md").read_text()
    terms = re.findall(r"^(\S.*)\n  ", page[page.index("{glossary}") :], re.MULTILINE)
    assert len(terms) == len({*terms}) > 30
    referred = [re.sub(r".*<(.*)>", r"\1", term) for term in re.findall(r"\{term\}`([^`]*)`", page)]
    assert {*referred} <= {*terms}
    for definition in re.split(r"^\S.*\n(?=  )", page[page.index(":sorted:") :], flags=re.MULTILINE)[1:]:
        assert "](" in definition or "{term}" in definition or "support vector" in definition, definition


# -- the benchmarks ---------------------------------------------------------------------------------------------------


@pytest.fixture
def benchmarks():
    return load_extension("benchmarks_page")


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
