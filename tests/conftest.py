"""What tests may rely on, however they were started."""

import signal

import pytest


def pytest_configure():
    """Let Ctrl-C stop tests and what they start, also in the background of a shell, which has it ignored there."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _tensors_like_those_of_a_gpu(request, monkeypatch):
    """Let NumPy refuse tensors, as it does those on a GPU: whoever needs an array must ask for it."""
    if request.node.get_closest_marker("torch") is None:
        return
    torch = pytest.importorskip("torch")

    def refuse(self, *args, **kwargs):
        raise TypeError("a tensor on a GPU is no array")

    monkeypatch.setattr(torch.Tensor, "__array__", refuse)
