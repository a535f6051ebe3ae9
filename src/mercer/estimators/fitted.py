"""What a fit leaves on an estimator: annotated on its class, so that readers, type checkers and model files know it.

An attribute that every fit sets is annotated as it is, ``expansion_: Expansion``; one that only some fits set as
``loo_errors_: Annotated[np.ndarray, SOMETIMES]``.  Model files hold what is annotated, and nothing else.
"""

from __future__ import annotations

SOMETIMES = "set by some fits only"
