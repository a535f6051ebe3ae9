"""Pages as notebooks: a page is a list of cells, which the site offers to download and the tests of pages run."""

import base64
import doctest
import json
import posixpath
import re
from dataclasses import dataclass, replace
from pathlib import Path

DOCS = Path(__file__).parents[1]
# The one place that says what notebooks install: the clone beside them; once a release is on an index, its name there.
SOURCE = "./mercer"
EXTRAS = {"guide/gpu": "gpu", "guide/cluster": "dask"}  # beside tables and plots, which every notebook may need
ALONE = ("start", "exercises")  # pages outside the guide that are notebooks too

FENCE = re.compile(
    r"(?:<!-- (?P<mark>not run|roughly): (?P<why>[^\n]*?) -->\n+)?^```(?P<kind>\S*)[^\n]*\n(?P<code>.*?)^```\n?",
    re.M | re.S,
)
COMMENT = re.compile(r"<!--.*?-->\n*", re.S)
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^)\s]+)\)")
TAG = re.compile(r'<a href="[^"]*">(.*?)</a>')
FOLD = re.compile(r"^<details>\n<summary>(.*?)</summary>\n|^</details>\n?", re.M)


@dataclass(frozen=True)
class Cell:
    """A part of a page: text, code of Python, a command of mercer, or commands that set something up."""

    kind: str  # text, python, command or setup
    source: str
    expected: str = ""  # what the page shows as its output
    checked: bool = False  # whether the output has to be the expected one, also if that is none
    rough: bool = False  # lines of the output in their order, numbers to a factor
    folded: bool = False  # part of a solution, which is not to be seen at once


# -- from text to cells -----------------------------------------------------------------------------------------------


def read_cells(page):
    """The cells of a page, in order."""
    cells, end = [], 0
    for match in FENCE.finditer(page):
        cells += [Cell("text", page[end : match.start()]), *read_block(match)]
        end = match.end()
    return fold([*cells, Cell("text", page[end:])])


def read_block(match):
    """The cells of a fenced block."""
    kind, code, rough = match["kind"], match["code"], match["mark"] == "roughly"
    if match["mark"] == "not run" or kind == "text":
        return [Cell("text", f"```{kind}\n{code}```\n")]
    if kind == "python" and ">>>" in code:
        return [replace(cell, rough=rough) for cell in read_examples(code)]
    if kind == "python":
        return [Cell("python", code.strip("\n"))]
    if kind == "sh":
        return [Cell("setup", code)]
    if kind == "console":
        return [replace(cell, rough=rough) for cell in read_commands(code)]
    return []  # a directive, which says nothing without the site


def read_examples(code):
    """Cells without prompts.  One ends where the page shows an output, because a notebook shows that of a last line."""
    cells, lines = [], []
    for example in doctest.DocTestParser().get_examples(code):
        source = re.sub(r"[ \t]*# doctest:.*", "", example.source).rstrip("\n")
        if example.exc_msg is not None:
            source = catch(source)
        lines += ["", source] if lines and "\n    " in lines[-1] else [source]
        if example.want:
            expected = example.want if example.exc_msg is None else re.sub(r"^[\w.]*\.(?=\w+:)", "", example.exc_msg)
            cells.append(Cell("python", "\n".join(lines), expected, checked=True))
            lines = []
    return cells + [Cell("python", "\n".join(lines), checked=True)] * bool(lines)


def catch(source):
    """Code that shows the error it ends in, so that a notebook goes on after it."""
    body = "\n".join(f"    {line}" for line in source.splitlines())
    return f'try:\n{body}\nexcept Exception as error:\n    print(f"{{type(error).__name__}}: {{error}}")'


def read_commands(code):
    """The commands of a console, each with the output that the page shows for it."""
    parts = re.split(r"^\$ ", code.replace("\\\n", " "), flags=re.MULTILINE)
    if parts[0].strip():
        raise ValueError(f"a console block begins with '$ ', but this one does not: {code!r}")
    pairs = [(part + "\n").split("\n", 1) for part in parts[1:]]
    return [Cell("command", command, expected, checked=bool(expected.strip())) for command, expected in pairs]


def fold(cells):
    """Cells between the tags of a solution, which become its heading; text without anything in it is dropped."""
    folded, inside = [], False
    for cell in cells:
        if cell.kind != "text":
            folded.append(replace(cell, folded=inside))
            continue
        start = 0
        for tag in FOLD.finditer(cell.source):
            folded.append(Cell("text", cell.source[start : tag.start()], folded=inside))
            start, inside = tag.end(), tag[1] is not None
            folded += [Cell("text", f"**{tag[1]}**\n")] * inside
        folded.append(Cell("text", cell.source[start:], folded=inside))
    return [cell for cell in folded if COMMENT.sub("", cell.source).strip()]


# -- from cells to a notebook -----------------------------------------------------------------------------------------


def install(name=""):
    """The first cell of a notebook: it changes nothing where mercer is installed."""
    extras = ",".join(["command", "plot", *filter(None, [EXTRAS.get(name)])])
    return f"""\
# Where mercer is not installed yet, as on Colab, this installs it. There is no release on an index so far:
# put a clone beside this notebook, or write another path or address of one here.
try:
    import mercer
except ImportError:
    %pip install --quiet "{SOURCE}[{extras}]\""""


def make_notebook(name, base=""):
    """The notebook of a page as plain data; links lead to the site at ``base``, or are italics if it has no address."""
    cells = [make_code(install(name))]
    for cell in read_file(name):
        if cell.kind == "python":
            cells.append(make_code(cell.source, cell.expected, cell.folded))
        elif cell.kind == "command" and not cell.source.startswith("echo "):
            cells.append(make_code(f"!{cell.source}", cell.expected))
        elif cell.kind in ("text", "setup"):
            text = cell.source if cell.kind == "text" else f"```sh\n{cell.source}```\n"
            cells.append(make_text(text, name, base))
    for number, made in enumerate(cells):
        made["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def make_code(source, expected="", folded=False):
    """A cell of code with the output that the page shows, if it shows all of it."""
    whole = expected.strip() and "..." not in expected
    text = expected.replace("<BLANKLINE>", "")
    outputs = [{"output_type": "stream", "name": "stdout", "text": text}] if whole else []
    metadata = {"jupyter": {"source_hidden": True}} if folded else {}
    return {"cell_type": "code", "execution_count": None, "metadata": metadata, "outputs": outputs, "source": source}


def make_text(text, name, base):
    """A cell of Markdown, which holds its pictures itself."""
    attachments = {}

    def attach(match):
        place = (DOCS / name).parent / match[2]
        attachments[place.name] = {"image/png": base64.b64encode(place.read_bytes()).decode()}
        return f"![{match[1]}](attachment:{place.name})"

    def lead(match):
        if re.match(r"https?:", match[2]):
            return match[0]
        place, hash, anchor = match[2].partition("#")
        page = re.sub(r"\.(md|rst)$", ".html", posixpath.normpath(posixpath.join(posixpath.dirname(name), place)))
        page = page if place else f"{name}.html"
        return f"[{match[1]}]({base.rstrip('/')}/{page}{hash}{anchor})" if base else f"*{match[1]}*"

    text = TAG.sub(r"\1", COMMENT.sub("", text))
    cell = {"cell_type": "markdown", "metadata": {}, "source": LINK.sub(lead, IMAGE.sub(attach, text)).strip()}
    return {**cell, "attachments": attachments} if attachments else cell


def list_notebooks():
    """The names of the pages that are notebooks: those of the guide and a few others, if there is code on them."""
    names = [*ALONE, *(f"guide/{page.stem}" for page in sorted((DOCS / "guide").glob("*.md")))]
    return [name for name in names if any(cell.kind == "python" for cell in read_file(name))]


def read_file(name):
    return read_cells((DOCS / f"{name}.md").read_text(encoding="utf-8"))


# -- on the site ------------------------------------------------------------------------------------------------------


def link_notebook(app, doctree):
    """Put the link below the title of the page."""
    from docutils import nodes

    name = app.env.docname
    title = next(iter(doctree.findall(nodes.title)), None)
    if name not in app.notebooks or title is None:
        return
    file = f"{posixpath.basename(name)}.ipynb"
    link = f'<p class="notebook"><a href="{file}" download="{file}">Download as a notebook</a></p>'
    title.parent.insert(title.parent.index(title) + 1, nodes.raw("", link, format="html"))


def write_notebooks(app, exception):
    """Write each notebook beside its page."""
    if exception is not None or app.builder.format != "html":
        return
    for name in app.notebooks:
        place = Path(app.outdir) / f"{name}.ipynb"
        place.parent.mkdir(parents=True, exist_ok=True)
        notebook = make_notebook(name, app.config.html_baseurl)
        place.write_text(json.dumps(notebook, ensure_ascii=False, indent=1), encoding="utf-8")


def setup(app):
    app.notebooks = list_notebooks()
    app.connect("doctree-read", link_notebook)
    app.connect("build-finished", write_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
