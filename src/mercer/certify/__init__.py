"""Is this a kernel?  Proofs by composition, refutations by points, and an honest Unknown between them."""

from .search import certify
from .verdict import Proved, Refuted, Unknown, Verdict

__all__ = ["Proved", "Refuted", "Unknown", "Verdict", "certify"]
