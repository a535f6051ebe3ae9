"""Tensors in these tests behave as those on a GPU do, wherever they are."""

import pytest


@pytest.fixture(autouse=True)
def _tensors_like_those_of_a_gpu(monkeypatch):
    """Let NumPy refuse tensors, as it does those on a GPU: whoever needs an array must ask for it."""
    torch = pytest.importorskip("torch")

    def refuse(self, *args, **kwargs):
        raise TypeError("a tensor on a GPU is no array")

    monkeypatch.setattr(torch.Tensor, "__array__", refuse)
