"""How to cite mercer, from CITATION.cff: the directive ``{citation}`` shows it as BibTeX or in the style of the APA."""

from pathlib import Path

DATA = Path(__file__).parents[2] / "CITATION.cff"


def load():
    import yaml

    return yaml.safe_load(DATA.read_text(encoding="utf-8"))


def name_author(author, pattern):
    """A group by its name, a person by what the pattern makes of family and given names."""
    if "name" in author:
        return author["name"]
    return pattern.format(family=author["family-names"], given=author.get("given-names", "")).strip(", ")


def find_address(entry):
    """Where to find it: a DOI before an address, and nothing if neither is known."""
    if "doi" in entry:
        return f"https://doi.org/{entry['doi']}"
    return entry.get("url") or entry.get("repository-code") or ""


def format_bibtex(entry):
    """An entry for BibTeX; names of groups are in braces, so that they are not taken for a person's."""
    authors = [name_author(author, "{family}, {given}") for author in entry["authors"]]
    groups = ["name" in author for author in entry["authors"]]
    fields = {
        "author": " and ".join(f"{{{a}}}" if group else a for a, group in zip(authors, groups, strict=True)),
        "title": f"{{{entry['title']}}}",
        "version": entry["version"],
        "year": str(entry.get("date-released", ""))[:4],
        "license": entry["license"],
        "doi": entry.get("doi", ""),
        "url": find_address(entry),
    }
    lines = [f"  {name:<7} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join(["@software{mercer,", *lines, "}"])


def format_apa(entry):
    """A reference in the style of the APA, as Markdown; without a date it is n.d., as the style has it."""
    authors = [name_author(author, "{family}, {given}") for author in entry["authors"]]
    names = authors[0] if len(authors) == 1 else ", ".join(authors[:-1]) + f", & {authors[-1]}"
    year = str(entry.get("date-released", "n.d."))[:4]
    what = f"*{entry['title']}* (Version {entry['version']}) [Computer software]"
    return f"{names.rstrip('.')}. ({year}). {what}. {find_address(entry)}".strip()


def setup(app):
    from docutils import nodes
    from sphinx.util.docutils import SphinxDirective

    class Citation(SphinxDirective):
        required_arguments = 1  # bibtex or apa

        def run(self):
            self.env.note_dependency(str(DATA))
            if self.arguments[0] == "apa":
                return self.parse_text_to_nodes(format_apa(load()))
            text = format_bibtex(load())
            return [nodes.literal_block(text, text, language="bibtex")]

    app.add_directive("citation", Citation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
