"""Tables of measured times from benchmarks.json, for the page (the directive ``{benchmarks}``) and for the README."""

import json
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

DATA = Path(__file__).parents[1] / "benchmarks.json"


def load():
    return json.loads(DATA.read_text())


def number(value):
    """A whole number as it is, others to a tenth, and below 1 as they were written down."""
    if isinstance(value, int) or value < 1:
        return str(value)
    return str(Decimal(str(value)).quantize(Decimal("0.1"), ROUND_HALF_UP))


def quantity(entry):
    """Seconds, memory and score of one side, as far as they were measured."""
    parts = [f"{number(entry['seconds'])} s"] if "seconds" in entry else []
    if "gigabytes" in entry:
        parts.append(f"{number(entry['gigabytes'])} GB")
    parts += [entry[name] for name in ("rate", "score") if name in entry]
    return ", ".join(parts)


def peer_text(peer):
    about = "about " if peer.get("note") == "about" else ""
    note = f", {peer['note']}" if peer.get("note") not in (None, "about") else ""
    return f"{peer['name']} {about}{quantity(peer)}{note}".strip()


def ratio(row, peer):
    """How many times faster, as measured or from the seconds of both."""
    if "times" in peer:
        return peer["times"]
    times = peer["seconds"] / row["mercer"]["seconds"]
    return round(times) if times >= 100 else times


def goal(row, peer):
    """What was to be reached, and whether it was not."""
    if peer is None or "target" not in peer:
        return row.get("limit", "")
    missed = ratio(row, peer) < peer["target"]
    return f"{peer['target']:g}×{', missed' if missed else ''}"


def lines(header, rows):
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, ["---"] * len(header), *rows))


def page_table(section):
    """One line for each pair of mercer and a peer."""
    rows = []
    for row in section["rows"]:
        for position, peer in enumerate(row.get("peers") or [None]):
            first = [row["work"], quantity(row["mercer"])] if position == 0 else ["", ""]
            other = ["", ""] if peer is None else [peer_text(peer), f"{number(ratio(row, peer))}×"]
            rows.append([*first, *other, goal(row, peer)])
    return lines(["work", "mercer", "peer", "faster", "target"], rows)


def readme_table():
    """The rows that the README shows, one line each."""
    rows = [row for section in load()["sections"] for row in section["rows"] if "readme" in row]
    cells = [
        [row["work"], quantity(row["mercer"]), ", ".join(map(peer_text, row["peers"]))]
        for row in sorted(rows, key=lambda row: row["readme"])
    ]
    return lines(["work", "mercer", "peers"], cells)


def setup(app):
    from sphinx.util.docutils import SphinxDirective

    class Benchmarks(SphinxDirective):
        required_arguments = 1

        def run(self):
            self.env.note_dependency(str(DATA))
            section = next(s for s in load()["sections"] if s["name"] == self.arguments[0])
            return self.parse_text_to_nodes(page_table(section))

    app.add_directive("benchmarks", Benchmarks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    print(readme_table())
