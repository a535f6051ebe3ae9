"""A pytest plugin: the tests use the native core that the environment variable MERCER_NATIVE names.

The core built with sanitizers is no part of an installed package; loaded first, it is the one that every import finds.
"""

import os
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader

loader = ExtensionFileLoader("mercer._native", os.environ["MERCER_NATIVE"])
core = module_from_spec(spec_from_loader(loader.name, loader))
sys.modules[loader.name] = core
loader.exec_module(core)
