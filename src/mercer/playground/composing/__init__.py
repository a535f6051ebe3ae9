"""Kernels as people write them: read, with a slider for every parameter, combined, and completed."""

from .combining import OPERATIONS, combine
from .completion import Completion, complete
from .reading import read_kernel
from .sliders import Parameter, list_parameters, set_parameter

__all__ = [
    "OPERATIONS",
    "Completion",
    "Parameter",
    "combine",
    "complete",
    "list_parameters",
    "read_kernel",
    "set_parameter",
]
