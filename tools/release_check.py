"""The list of what must be so before a release: every item is looked at, and says in one line what it found.

Run it as ``make release-check``.  It ends with 1 if an item fails, and changes nothing but docs/_build.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import urllib.request
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SPEED = ("native", "src/mercer/solvers", "src/mercer/gram", "src/mercer/formula", "src/mercer/linalg")  # what is timed
BUILT = ("_build", "gallery", "generated")  # folders that are made, not written
LICENCES = re.compile(r"\bCC0\b|\bCC BY\b|\bBSD\b|\bMIT\b|public domain", re.IGNORECASE)
HOMES = re.compile(r"(?:/home/|/Users/|\\Users\\)\w+|/root/")  # of somebody's own machine
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"\]\(<?([^)\s>]+)>?\)|<(https?://[^>\s]+)>")
COMMAND = re.compile(r"(?:\$ )?(make|mercer|python -m) ([a-z][\w.-]*)")


class CheckError(Exception):
    """An item of the list that is not so, and what to do."""


@dataclass(frozen=True)
class Tree:
    """What is to be released."""

    root: Path
    wheels: Path  # where the sdist and the wheels lie
    online: bool = False  # whether addresses of others are asked

    def read(self, name: str) -> str:
        """Return the text of a file of the tree."""
        path = self.root / name
        if not path.is_file():
            raise CheckError(f"there is no {name}")
        return path.read_text(encoding="utf-8")

    @property
    def version(self) -> str:
        """The version, from the one place that has it."""
        found = re.search(r'^__version__ = "([^"]+)"', self.read("src/mercer/__init__.py"), re.MULTILINE)
        if found is None:
            raise CheckError("src/mercer/__init__.py has no __version__")
        return found[1]

    @property
    def pages(self) -> list[Path]:
        """All pages that people read."""
        folders = (page for place in ("docs", ".github") for page in (self.root / place).rglob("*.md"))
        return sorted(page for page in (*self.root.glob("*.md"), *folders) if not {*BUILT} & {*page.parts})

    def files(self, pattern: str) -> list[Path]:
        """Return the built files of a kind, at least one."""
        found = sorted(self.wheels.glob(pattern))
        if not found:
            raise CheckError(f"no {pattern} in {self.wheels}; `make wheels` puts them there")
        return found

    def git(self, *arguments: str) -> str:
        """Return what git prints."""
        return run("git", "-C", str(self.root), *arguments)


def run(*command: str, cwd: Path | None = None) -> str:
    """Return what a command prints, or fail with the last line of it."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=cwd)
    except OSError as error:
        raise CheckError(f"{command[0]} cannot be run: {error.strerror}") from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
        raise CheckError(f"`{' '.join(command)}` ends with {done.returncode}: {said}")
    return done.stdout


def run_tool(name: str, *arguments: str) -> str:
    """Run a program of the environment that runs this one."""
    return run(str(Path(sys.executable).parent / name), *arguments)


def refuse(problems: list[str]) -> None:
    """Fail if there are any."""
    if problems:
        more = f" … and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise CheckError("; ".join(problems[:3]) + more)


def check_version(tree: Tree) -> str:
    """One version everywhere, and none that was released before."""
    version, project = tree.version, tomllib.loads(tree.read("pyproject.toml"))["project"]
    cited = re.search(r"^version: *[\"']?([^\"'\n]+)", tree.read("CITATION.cff"), re.MULTILINE)
    said = {"pyproject.toml": project.get("version", version), "CITATION.cff": cited[1].strip() if cited else "nothing"}
    refuse([f"{name} says {other}, the package {version}" for name, other in said.items() if other != version])
    if tree.git("tag", "--list", f"v{version}", "--no-contains", "HEAD"):
        raise CheckError(f"there is a tag v{version} of an older commit; raise __version__ in src/mercer/__init__.py")
    return f"{version} everywhere, and no older commit has its tag"


def check_changelog(tree: Tree) -> str:
    """The first entry is of this version, dated, and says something."""
    version = tree.version
    entry = re.search(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", tree.read("CHANGELOG.md"), re.MULTILINE | re.DOTALL)
    heading = entry[1].strip() if entry else "nothing"
    dated = re.fullmatch(rf"{re.escape(version)} \((\d{{4}}-\d\d-\d\d)\)", heading)
    if entry is None or dated is None:
        raise CheckError(f"CHANGELOG.md begins with {heading!r}; at a release it is '## {version} (YYYY-MM-DD)'")
    try:
        datetime.date.fromisoformat(dated[1])
    except ValueError as error:
        raise CheckError(f"CHANGELOG.md: {dated[1]}: {error}") from None
    lines = [line for line in entry[2].splitlines() if line.startswith("- ")]
    if not lines:
        raise CheckError(f"CHANGELOG.md says nothing about {version}")
    cited = re.search(r"^date-released: *[\"']?([\d-]+)", tree.read("CITATION.cff"), re.MULTILINE)
    if cited is None or cited[1] != dated[1]:
        raise CheckError(f"CITATION.cff needs 'date-released: {dated[1]}', the date of CHANGELOG.md")
    return f"{heading}, {len(lines)} points"


def check_citation(tree: Tree) -> str:
    """CITATION.cff is what its schema wants."""
    tree.read("CITATION.cff")
    return run_tool("cffconvert", "--validate", "-i", str(tree.root / "CITATION.cff")).strip()


def check_wheels(tree: Tree) -> str:
    """An sdist and wheels of this version, as an index takes them."""
    wheels, files = tree.files("*.whl"), [*tree.files("*.tar.gz"), *tree.files("*.whl")]
    refuse([f"{file.name} is not {tree.version}" for file in files if f"-{tree.version}" not in file.name])
    run_tool("twine", "check", "--strict", *map(str, files))
    tags = ["-".join(wheel.stem.split("-")[2:]) for wheel in wheels]
    refuse([f"{tag} runs on this machine alone; auditwheel repair it" for tag in tags if "-linux_" in tag])
    for wheel, tag in zip(wheels, tags, strict=True):
        platforms = tag.split("-")[-1].split(".")
        if "manylinux" in tag and not any(name in run_tool("auditwheel", "show", str(wheel)) for name in platforms):
            raise CheckError(f"{wheel.name} runs on fewer machines than its name says; see `auditwheel show`")
    return f"an sdist and {', '.join(tags)}"


def list_licences(file: Path) -> list[str]:
    """Return the files of a wheel's licences, or all files of an sdist, by their names in the tree."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            return [name.partition(".dist-info/licenses/")[2] for name in wheel.namelist()]
    with tarfile.open(file) as sdist:
        return [name.partition("/")[2] for name in sdist.getnames()]


def check_licence_files(tree: Tree) -> str:
    """What is installed has our licence with it, and that of the data."""
    wanted = tomllib.loads(tree.read("pyproject.toml"))["project"]["license-files"]
    missing = []
    for file in (*tree.files("*.whl"), *tree.files("*.tar.gz")):
        inside = list_licences(file)
        missing += [f"{file.name} has no {name}" for name in wanted if name not in inside]
    refuse(missing)
    return f"{', '.join(wanted)} in every file"


def check_data(tree: Tree) -> str:
    """Every table that comes along has a source and a licence."""
    folder = "src/mercer/datasets/data"
    readme = tree.read(f"{folder}/README.md")
    if not LICENCES.search(readme):
        raise CheckError(f"{folder}/README.md names no licence")
    files = sorted(
        path.name for path in (tree.root / folder).iterdir() if path.name not in ("README.md", "__pycache__")
    )
    rows = {name: next((row for row in readme.splitlines() if f"`{name}`" in row), None) for name in files}
    refuse([f"{folder}/README.md has no row for {name}" for name, row in rows.items() if row is None])
    refuse(
        [f"{folder}/README.md has no source for {name}" for name, row in rows.items() if "https://" not in (row or "")]
    )
    return f"{', '.join(files)}: source and licence"


def check_docs(tree: Tree) -> str:
    """The documentation builds without a warning."""
    run(
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-b",
        "html",
        "docs",
        "docs/_build/html",
        cwd=tree.root,
    )
    return "built without a warning"


def name_anchors(page: str) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub and MyST name them."""
    headings = re.findall(r"^#+ +(.*?) *$", FENCE.sub("", page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def find_links(page: str) -> list[str]:
    """Return where a page links to."""
    return [first or second for first, second in LINK.findall(CODE.sub("", FENCE.sub("", page)))]


def check_links(tree: Tree) -> str:
    """Every link leads somewhere."""
    broken, inside, outside = [], 0, set()
    for page in tree.pages:
        text = page.read_text(encoding="utf-8")
        for link in find_links(text):
            name, _, anchor = link.partition("#")
            if re.match(r"https?:|mailto:", link):
                outside.add(link)
                continue
            inside += 1
            place = (page.parent / name).resolve() if name else page
            if BUILT[1] in place.parts:  # made of the examples
                place = tree.root / "docs" / "examples" / (f"{place.stem}.py" if place.stem != "index" else "")
            if not place.exists():
                broken.append(f"{page.relative_to(tree.root)} links to {link}")
            elif anchor and place.suffix == ".md" and anchor not in name_anchors(place.read_text(encoding="utf-8")):
                broken.append(f"{page.relative_to(tree.root)} links to {link}, a heading that is not there")
    refuse(broken)
    if not tree.online:
        return f"{inside} inside; {len(outside)} outside were not asked (--online does): {', '.join(sorted(outside))}"
    refuse([f"{link}: {why}" for link in sorted(outside) if (why := ask(link))])
    return f"{inside} inside, {len(outside)} outside"


def ask(link: str) -> str | None:
    """Return why an address does not answer, None if it does."""
    request = urllib.request.Request(link, headers={"User-Agent": "Mozilla/5.0"})
    try:
        urllib.request.urlopen(request, timeout=20).close()
    except OSError as error:
        return str(error)
    return None


def check_benchmarks(tree: Tree) -> str:
    """The benchmarks page was measured with what is released.

    Its numbers are of the commit that docs/benchmarks.json names ("commit"), or else of the one that last changed it.
    Whoever measures again and finds the same numbers names the new commit.
    """
    named = json.loads(tree.read("docs/benchmarks.json")).get("commit")
    measured = named or tree.git("log", "-1", "--format=%h", "--", "docs/benchmarks.json").strip()
    if not measured:
        raise CheckError("docs/benchmarks.json was never committed")
    since = tree.git("log", "--format=%h", f"{measured}..HEAD", "--", *SPEED).split()
    if since:
        places = ", ".join(SPEED)
        raise CheckError(f"measured at {measured}; {len(since)} commits since touched {places}; run `make bench` again")
    return f"measured at {measured}; nothing that is timed changed since"


def find_commands(page: str) -> set[tuple[str, str]]:
    """Return the programs and their commands that a page shows as code."""
    lines = [line for kind, code in FENCE.findall(page) if kind in ("sh", "console") for line in code.splitlines()]
    found = (COMMAND.match(line.strip()) for line in (*lines, *CODE.findall(FENCE.sub("", page))))
    return {(match[1], match[2]) for match in found if match}


@functools.cache
def list_commands() -> list[str]:
    """Return the commands that mercer has, from its help."""
    printed = run(sys.executable, "-m", "mercer", "--help")
    return re.findall(r"^  ([\w-]+)", printed.partition("Commands:\n")[2].partition("\n\n")[0], re.MULTILINE)


def has_command(tree: Tree, program: str, name: str) -> bool:
    """Whether a command is there: a target, a module, or a command that mercer lists."""
    if program == "make":
        targets = re.findall(r"^([\w -]+):(?!=)", tree.read("Makefile"), re.MULTILINE)
        return name in " ".join(targets).split()
    if program == "mercer":
        return name in list_commands()
    place = tree.root / name.replace(".", "/")
    return (
        (place / "__main__.py").exists() or place.with_suffix(".py").exists() or name.split(".")[0] in ("pytest", "pip")
    )


def check_commands(tree: Tree) -> str:
    """Every command that a page shows exists."""
    shown: dict[tuple[str, str], str] = {}
    for page in tree.pages:
        for command in find_commands(page.read_text(encoding="utf-8")):
            shown.setdefault(command, str(page.relative_to(tree.root)))
    refuse(
        [
            f"{shown[command]} shows `{' '.join(command)}`"
            for command in sorted(shown)
            if not has_command(tree, *command)
        ]
    )
    return f"{len(shown)} shown, all are there"


def check_words(tree: Tree) -> str:
    """Nothing names a folder of somebody's own machine."""
    found, count = [], 0
    for name in tree.git("ls-files", "-z").split("\0"):
        path = tree.root / name
        if not name or not path.is_file() or name == "tools/release_check.py":
            continue
        count += 1
        word = HOMES.search(path.read_bytes().decode("utf-8", "ignore"))
        found += [f"{name} names {word[0]}"] if word else []
    refuse(found)
    return f"{count} files, no folder of somebody's own"


ITEMS: dict[str, Callable[[Tree], str]] = {
    "version": check_version, "changelog": check_changelog, "citation": check_citation, "wheels": check_wheels,
    "licence files": check_licence_files, "licences of data": check_data, "docs": check_docs, "links": check_links,
    "benchmarks": check_benchmarks, "commands": check_commands, "words": check_words,
}  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Look at all items, print a line for each, and return 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the tree to be released")
    parser.add_argument("--wheels", type=Path, help="where the sdist and the wheels are; ROOT/dist/wheels if not given")
    parser.add_argument("--online", action="store_true", help="ask the addresses of others too")
    parser.add_argument("--only", action="append", choices=ITEMS, help="this item alone; may be repeated")
    given = parser.parse_args(arguments)
    tree, failed = Tree(given.root, given.wheels or given.root / "dist" / "wheels", given.online), 0
    for name in given.only or ITEMS:
        try:
            verdict, mark = ITEMS[name](tree), "ok"
        except CheckError as error:
            verdict, mark, failed = str(error), "FAILS", failed + 1
        print(f"{mark:<6}{name:<18}{verdict}", flush=True)
    print(f"{failed} of {len(given.only or ITEMS)} items fail" if failed else "ready")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
