"""torch, loaded when it is needed: tensors are told from arrays by their type, so that nothing else loads it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from mercer.needs import load_package

from .budget import SHARE, parse_memory
from .holes import IMPUTE


class DeviceError(RuntimeError):
    """A device was asked for that is not there, or that ran out of memory."""


def is_tensor(data: object) -> bool:
    """Whether data is a torch tensor.

    Examples
    --------
    >>> import numpy as np
    >>> is_tensor(np.zeros(2))
    False
    """
    return type(data).__module__.partition(".")[0] == "torch" and hasattr(data, "device")


def load_torch() -> Any:
    """Return torch, or say in one line what to install."""
    return load_package("torch", "a device")


def find_device(device: Any, *data: Any) -> Any:
    """Return the torch device that was asked for, or the one the data is on.

    Parameters
    ----------
    device : str, torch.device or None
        What was asked for; None follows the data.
    data : tensors and other collections
        All tensors must be on one device.
    """
    torch = load_torch()
    found = {str(X.device): X.device for X in data if is_tensor(X)}
    if len(found) > 1:
        raise DeviceError(
            f"the tensors are on different devices, {' and '.join(found)}; move them to one with X.to(...)"
        )
    if device is None:
        return next(iter(found.values()), torch.device("cpu"))
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError, ValueError) as reason:
        raise DeviceError(
            f"device must be a name such as 'cuda', 'cuda:1' or 'cpu', got {device!r}: {reason}"
        ) from None
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise DeviceError(f"device={device!r} was asked for, but torch {torch.__version__} finds no CUDA device here")
    if chosen.type == "cuda" and chosen.index is None:
        chosen = torch.device("cuda", torch.cuda.current_device())
    if chosen.type == "cuda" and chosen.index >= torch.cuda.device_count():
        raise DeviceError(f"device={device!r} was asked for, but there are {torch.cuda.device_count()} CUDA devices")
    return chosen


def device_memory(device: Any, memory: float | str | None) -> int:
    """Return a budget in bytes: what is given, or 60 % of what is free on the device."""
    if memory is not None or device.type != "cuda":
        return parse_memory(memory)
    torch = load_torch()
    free, _ = torch.cuda.mem_get_info(device)
    held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(SHARE * (free + held))


def is_out_of_memory(reason: BaseException) -> bool:
    """Whether an exception says that a device has no memory left."""
    return type(reason).__name__ == "OutOfMemoryError" and type(reason).__module__.partition(".")[0] == "torch"


def out_of_memory(reason: BaseException, owner: str) -> DeviceError:
    """Return the error to raise for it, after giving back what the failed work held."""
    torch = load_torch()
    text = str(reason).partition(". ")[0]
    reason.__traceback__ = None  # its frames hold the tensors
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return DeviceError(
        f"{owner}: the device ran out of memory in the middle of the work ({text}). Nothing is kept of it; give a "
        "smaller budget such as memory='4GB', fewer points, or close what else uses the device"
    )


def host_array(X: Any) -> Any:
    """Return a tensor as a NumPy array, and other data as it is."""
    return X.detach().cpu().numpy() if is_tensor(X) else X


def pack(A: Any, dtype: DTypeLike | None = None) -> np.ndarray:
    """Return an array as compiled code reads it: in C order, and aligned, as a view of bytes need not be.

    Examples
    --------
    >>> view = np.zeros(17, dtype=np.uint8)[1:].view(np.float64)
    >>> view.flags.aligned, pack(view).flags.aligned
    (False, True)
    """
    return np.require(A, dtype, ["C", "ALIGNED", "ENSUREARRAY"])


def real_type(*data: Any) -> np.dtype[Any]:
    """float32 when everything is float32 or shorter, float64 otherwise: integers too, as for arrays."""
    torch = load_torch()
    short = (torch.float32, torch.float16, torch.bfloat16)

    def is_single(X: Any) -> bool:
        return X.dtype in short if is_tensor(X) else getattr(X, "dtype", None) == np.float32

    return np.dtype(np.float32 if all(is_single(X) for X in data) else np.float64)


def on_device(X: Any, device: Any, dtype: Any) -> Any:
    """Return an array or tensor as a contiguous tensor of a NumPy type on a device."""
    torch = load_torch()
    kind = torch.float32 if np.dtype(dtype) == np.float32 else torch.float64
    if not is_tensor(X):
        X = np.asarray(X)
        if not X.flags.writeable:  # torch warns of memory it could change; it will not
            X = X.copy()
        X = torch.from_numpy(pack(X))
    return X.detach().to(device).to(kind).contiguous()  # moved first, so that the device converts


def check_finite(A: Any, owner: str) -> None:
    """Raise if a matrix of points holds NaN or infinity, naming the first."""
    torch = load_torch()
    if bool(torch.isfinite(A.sum(0)).all()) or bool(torch.isfinite(A).all()):
        return
    row, column = (~torch.isfinite(A)).nonzero()[0].tolist()
    raise ValueError(
        f"{owner} needs finite numbers, but row {row}, column {column} is {float(A[row, column])}. {IMPUTE}"
    )
