"""Tables larger than memory: the same estimators on Parquet files, ``.npy`` files and memory maps.

Nothing here needs to be called.  An estimator that is given a path reads it a piece at a time::

    model = KernelRidge(kernel=Gaussian(2.0), n_centers=1000).fit("big.parquet", "price")
    model.predict("new.parquet")                                    # an array
    write_predictions(model, "new.parquet", "prices.parquet")       # or a file, row group by row group

What is held at a time is one piece and sums over all of them, within the ``memory`` of the model.  A fit that was
killed goes on where it was when it is started again.
"""

from __future__ import annotations

from .errors import DamagedFileError
from .plan import StoredPlan
from .predict import write_predictions
from .table import StoredTable

__all__ = ["DamagedFileError", "StoredPlan", "StoredTable", "write_predictions"]
