"""A pytest plugin: the tests use the native core that the environment variable MERCER_NATIVE names.

The core built with sanitizers is no part of an installed package; loaded first, it is the one that every import finds.
"""

import importlib.util
import os
import sys

spec = importlib.util.spec_from_file_location("mercer._native", os.environ["MERCER_NATIVE"])
assert spec is not None
assert spec.loader is not None
core = importlib.util.module_from_spec(spec)
sys.modules["mercer._native"] = core
spec.loader.exec_module(core)
