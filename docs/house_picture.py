"""Draw the house: the packages of the library by layers, and who imports whom, read from the source itself."""

import ast
import tomllib
from collections import Counter
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

DOCS = Path(__file__).parent
SOURCE = DOCS.parent / "src" / "mercer"
SMALL = ("files", "words")  # which everything for people imports, and whose arrows would say nothing
GROUPS = {
    "for people": ("#009E73", {"cli", "report", "playground", "auto", "inspection", "persist", "datasets", "testing"}),
    "estimators": ("#E69F00", {"models", "estimators", "distributed", "learning"}),
    "argmin and f": ("#D55E00", {"solvers", "expansion", "losses"}),
    "k and K": ("#0072B2", {"formula", "kernels", "certify", "features", "gram"}),
    "foundations": ("#666666", {"arrays", "linalg", "files", "words"}),
}


def layers():
    """Return the layers of the contract that the linter enforces, top first."""
    contracts = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    rows = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [[name.strip().removeprefix("mercer.") for name in row.split(":")] for row in rows]


def package(module):
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "mercer" else None


def imports():
    """Return how many modules of each package import from each other one, imports inside functions counted."""
    found = Counter()
    for path in SOURCE.rglob("*.py"):
        own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        tree = ast.parse(path.read_text())
        typing = {
            inner
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
            for inner in ast.walk(node)
        }
        targets = {
            package(f"{node.module}.{name.name}" if node.module == "mercer" else node.module)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and not node.level and node.module and node not in typing
            for name in node.names
        }
        found.update((own, target) for target in targets if target not in (None, own, *SMALL))
    return found


def reduce(found):
    """Leave out what follows: an import of a package that another imported package imports too."""
    below = {}

    def reach(name, seen):
        for source, target in found:
            if source == name and target not in seen:
                seen.add(target)
                reach(target, seen)
        return seen

    for source, _ in found:
        below[source] = reach(source, set())
    return {
        (source, target): count
        for (source, target), count in found.items()
        if not any(
            target in below.get(other, ())
            for first, other in found
            if first == source and other not in (target, source)
        )
    }


def main():
    rows, found = layers(), imports()
    depth = {name: y for y, row in enumerate(reversed(rows)) for name in row}
    down = {pair: count for pair, count in found.items() if depth.get(pair[0], 0) > depth.get(pair[1], 0)}
    shown = reduce(down)
    figure, axes = plt.subplots(figsize=(10, 0.62 * len(rows)), layout="constrained")
    places = {}
    for y, row in enumerate(reversed(rows)):
        for x, name in enumerate(row):
            places[name] = (10 * (x + 1) / (len(row) + 1), y)
    for name, (x, y) in places.items():
        colour = next(colour for colour, names in GROUPS.values() if name in names)
        axes.add_patch(
            FancyBboxPatch((x - 0.72, y - 0.2), 1.44, 0.4, boxstyle="round,pad=0.03", facecolor=colour, alpha=0.25)
        )
        files = len(list((SOURCE / name).rglob("*.py"))) if (SOURCE / name).is_dir() else 1
        axes.text(x, y, f"{name}\n{files} file{'s' * (files > 1)}", ha="center", va="center", fontsize=8)
    for (source, target), count in (found | shown).items():
        if source in places and target in places:
            (x, y), (u, v) = places[source], places[target]
            up = v >= y
            if not up and (source, target) not in shown:
                continue
            axes.add_patch(
                FancyArrowPatch(
                    (x, y - 0.22),
                    (u, v + 0.22),
                    arrowstyle="-|>",
                    mutation_scale=7,
                    linewidth=0.4 + 0.12 * count**0.5,
                    color="#CC0000" if up else "#444444",
                    alpha=0.8,
                    connectionstyle="arc3,rad=0.08",
                )
            )
    axes.set_xlim(0, 10)
    axes.set_ylim(-0.5, len(rows) - 0.5)
    axes.set_axis_off()
    figure.savefig(DOCS / "_static" / "house.png", dpi=110)


if __name__ == "__main__":
    main()
