"""What every test leaves as it found it."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _no_scheduler_of_a_client_that_is_gone():
    """Forget the scheduler that a closed Dask client may have left in Dask's settings."""
    yield
    if "distributed.client" in sys.modules:
        import dask
        from distributed.client import _get_global_client

        if _get_global_client() is None:
            dask.config.config.pop("scheduler", None)
