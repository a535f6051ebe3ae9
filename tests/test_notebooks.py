"""Notebooks of the guide and of the gallery are well formed, say how to install mercer, and run."""

import re
import runpy
import sys
from types import SimpleNamespace

import nbformat
import pytest

from .extensions import DOCS, load_extension

IN_A_KERNEL = "guide/ridge"

notebooks = load_extension("notebooks")
NAMES = notebooks.list_notebooks()


def code(notebook):
    return [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"]


def texts(notebook):
    return [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "markdown"]


# -- pages ------------------------------------------------------------------------------------------------------------


def test_every_page_of_the_lecture_is_a_notebook():
    lecture = re.search(r"^:caption: The lecture\n(.*?)^```", (DOCS / "guide" / "index.md").read_text(), re.M | re.S)[1]
    pages = [line for line in lecture.splitlines() if line and line[0] != ":"]
    assert len(pages) > 10
    assert {"start", "exercises", *(f"guide/{page}" for page in pages)} <= {*NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_valid_and_has_all_code_of_its_page_without_prompts(name):
    """That it runs and prints what the page says is what tests/test_docs.py finds out, with the same cells."""
    notebook = notebooks.make_notebook(name)
    nbformat.validate(nbformat.from_dict(notebook))
    first, *others = code(notebook)
    assert first == notebooks.install(name)
    page = (DOCS / f"{name}.md").read_text()
    prompts = re.findall(r"^(?:>>>|\.\.\.) (.*?)(?: *# doctest:.*)?$", page, re.M)
    lines = {line.strip() for cell in others for line in cell.splitlines()}
    assert [line for line in prompts if line.strip() and line.strip() not in lines] == []
    assert not any(line.startswith((">>>", "...")) for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_the_text_of_a_notebook_needs_nothing_of_the_site(name):
    for text in texts(notebooks.make_notebook(name)):
        text = re.sub(r"`[^`]*`|\$[^$]*\$", "", text)  # neither code nor formulas
        targets = re.findall(r"\]\(([^)]*)\)", text)
        assert [target for target in targets if not re.match(r"https?:|attachment:", target)] == []
        assert not re.search(r"^```\{|^:::|<!--|<details|<summary|<a ", text, re.MULTILINE)


def test_links_of_a_notebook_lead_to_the_site_where_that_has_an_address():
    text = "\n".join(texts(notebooks.make_notebook("guide/ridge", "https://mercer.example/docs/")))
    assert "](https://mercer.example/docs/guide/gram.html)" in text
    assert "](https://mercer.example/docs/guide/gram.html#expansions)" in text
    assert "](https://mercer.example/docs/gallery/plot_primal_dual.html)" in text


@pytest.mark.docs
def test_pages_that_are_notebooks_link_to_them_below_their_title_and_others_do_not():
    nodes = pytest.importorskip("docutils.nodes")  # comes with Sphinx
    for name, links in (("guide/ridge", 1), ("guide/index", 0)):
        title, paragraph = nodes.title("", "Ridge"), nodes.paragraph("", "Text.")
        section = nodes.section("", title, paragraph)
        app = SimpleNamespace(env=SimpleNamespace(docname=name), notebooks=NAMES)
        notebooks.link_notebook(app, section)
        assert len(section.children) == 2 + links
        if links:
            assert section.children[0] is title
            assert 'href="ridge.ipynb"' in section.children[1].astext()


def test_pictures_lie_in_the_notebook():
    cells = notebooks.make_notebook("guide/learn-the-kernel")["cells"]
    held = {name for cell in cells for name in cell.get("attachments", {})}
    assert held == {"metric.png"}
    assert any("](attachment:metric.png)" in cell["source"] for cell in cells)


def test_an_error_that_a_page_shows_does_not_stop_its_notebook():
    shown = ">>> float('one')\nTraceback (most recent call last):\n    ...\nValueError: could not convert ...\n"
    (cell,) = notebooks.read_examples(shown)
    exec(cell.source, {})
    assert cell.expected == "ValueError: could not convert ...\n"


def test_solutions_are_folded_and_what_is_around_them_is_not():
    solution = "<details>\n<summary>Solution</summary>\n\nAnswer.\n\n```python\n>>> 6 * 7\n42\n```\n\n</details>\n"
    page = f"Ask.\n\n{solution}\nNext.\n"
    cells = [(cell.kind, cell.source.strip(), cell.folded) for cell in notebooks.read_cells(page)]
    assert cells == [
        ("text", "Ask.", False), ("text", "**Solution**", False), ("text", "Answer.", True), ("python", "6 * 7", True),
        ("text", "Next.", False),
    ]  # fmt: skip


@pytest.mark.docs
def test_a_notebook_runs_in_a_kernel_and_prints_what_it_showed_before():
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.from_dict(notebooks.make_notebook(IN_A_KERNEL))
    before = [printed(cell) for cell in notebook.cells]
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    assert any(before)
    assert [printed(cell) for cell in notebook.cells] == before


def printed(cell):
    """All that a cell of code shows as text."""
    shown = [output for output in cell.get("outputs", []) if output["output_type"] != "display_data"]  # no figures
    found = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in shown]
    return "".join(found).strip()


# -- the gallery, whose examples run when the documentation is built --------------------------------------------------


def test_notebooks_of_the_gallery_begin_with_the_same_cell():
    sys_path = [*sys.path]
    try:
        conf = runpy.run_path(str(DOCS / "conf.py"))
    finally:
        sys.path[:] = sys_path
    assert conf["sphinx_gallery_conf"]["first_notebook_cell"] == notebooks.install()
