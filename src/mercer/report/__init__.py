"""One HTML file that says what an automatic fit did: data, scores, pictures, kernel and proof, and how to load it."""

from ._page import render_report, write_report

__all__ = ["render_report", "write_report"]
