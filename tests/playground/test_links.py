import base64
import json
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.playground.learners import LEARNERS
from mercer.playground.links import decode, encode
from mercer.playground.presets import PRESETS
from mercer.playground.state import PlayError, State

coordinates = st.floats(-1e6, 1e6)


@st.composite
def states(draw: st.DrawFn) -> State:
    learner = draw(st.sampled_from(list(LEARNERS.values())))
    task = draw(st.sampled_from(learner.tasks))
    n = draw(st.integers(0, 6))
    width = 1 if task == "regression" else 2
    x = draw(st.lists(st.lists(coordinates, min_size=width, max_size=width), min_size=n, max_size=n))
    y = draw(st.lists(coordinates if width == 1 else st.integers(0, 5), min_size=n, max_size=n))
    chosen = {
        each.name: draw(st.sampled_from(each.choices) if each.choices else st.floats(each.low, each.high))
        for each in learner.list_settings(task)
        if draw(st.booleans())
    }
    x0, y0 = draw(coordinates), draw(coordinates)
    kernel = draw(st.sampled_from(["Gaussian(0.5)", " 2*linear + 1 ", "exp(Matern(2.5)).normalize()"]))
    names = draw(st.tuples(st.text(max_size=5), st.text(max_size=5)))
    return State(
        task, np.reshape(x, (n, width)), y, kernel, learner.key, chosen, (x0 - 1.5, x0, y0 - 0.5, y0), names
    )  # fmt: skip


@given(states())
@settings(max_examples=30, deadline=None)
def test_what_a_link_says_has_the_same_link(state: State) -> None:
    text = encode(state)
    again = decode(text)
    assert encode(again) == text
    assert decode(f"https://host:80/play?a=b&state={text}&c=d#top").same(again)
    np.testing.assert_allclose(again.x, state.x, rtol=1e-5)
    assert again.kernel == state.kernel
    assert again.names == state.names


@pytest.mark.parametrize("key", PRESETS)
def test_presets_are_linked_to_without_a_loss(key: str) -> None:
    state = PRESETS[key].make()
    assert decode(encode(state)).same(state)
    assert len(encode(state)) < 20 * state.n + 300


def pack(content: object) -> str:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return base64.urlsafe_b64encode(zlib.compress(data)).decode()


def content(**change: object) -> dict:
    good = {
        "v": 1, "task": "regression", "x": [0, 1], "y": [1, 2], "kernel": "Linear()", "learner": "ridge",
        "view": [0, 1, 0, 1], "settings": {}, "names": ["x", "y"],
    }  # fmt: skip
    return {**good, **change}


def test_the_content_that_others_are_made_of_is_good() -> None:
    assert decode(pack(content())).kernel == "Linear()"


@pytest.mark.parametrize(
    "change",
    [
        {"v": 2},
        {"v": None},
        {"task": ["regression"]},
        {"task": None},
        {"task": "classification"},
        {"x": [0]},
        {"x": [0, "1"]},
        {"x": [0, None]},
        {"x": [0, True]},
        {"x": [0, 1e300]},
        {"x": [0, 10**400]},
        {"x": [[0], [1]]},
        {"x": {"0": 1}},
        {"x": [0] * 20_000, "y": [0] * 20_000},
        {"y": None},
        {"kernel": 7},
        {"kernel": "Gaussian(" * 40},
        {"kernel": "(" * 400 + "1"},
        {"kernel": "Linear() + " * 400 + "Linear()"},
        {"kernel": "Polynomial(99999999)"},
        {"kernel": "__import__('os').system('true')"},
        {"kernel": "Custom(print)"},
        {"learner": {"a": 1}},
        {"learner": "__class__"},
        {"settings": {"alpha": "nan"}},
        {"settings": {"alpha": 1e999}},
        {"settings": {"alpha": [1]}},
        {"settings": {"__init__": 1}},
        {"settings": 7},
        {"view": [0, 0, 0, 1]},
        {"view": [0, 1, 0]},
        {"view": "0101"},
        {"view": [0, 1, 0, 10**400]},
        {"names": "xy"},
        {"names": ["x", 1]},
        {"names": None},
        {"more": 1},
    ],
)
def test_content_that_no_state_has_is_refused(change: dict) -> None:
    with pytest.raises(PlayError):
        decode(pack(content(**change)))


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"{", b"\xff\xfe", b"[" * 100_000, b'{"v": NaN}', b"1" * 9000])
def test_data_that_is_no_content_is_refused(data: bytes) -> None:
    with pytest.raises(PlayError):
        decode(pack(data))


def test_a_link_that_unpacks_to_too_much_is_not_unpacked() -> None:
    bomb = base64.urlsafe_b64encode(zlib.compress(b" " * 50_000_000, 9)).decode()
    assert len(bomb) < 100_000
    with pytest.raises(PlayError, match="more than"):
        decode(bomb)
    with pytest.raises(PlayError, match="at most"):
        decode("A" * 1_000_000)


def test_a_link_that_was_cut_is_refused_wherever(line: State) -> None:
    text = encode(line)
    for end in range(0, len(text), 7):
        with pytest.raises(PlayError):
            decode(text[:end])


@given(st.one_of(st.text(max_size=80), st.binary(max_size=60).map(lambda b: base64.urlsafe_b64encode(b).decode())))
@settings(max_examples=50, deadline=None)
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(PlayError):
        decode(text)


@given(st.binary(min_size=1, max_size=80))
@settings(max_examples=40, deadline=None)
def test_any_other_content_is_refused(data: bytes) -> None:
    with pytest.raises(PlayError):
        decode(pack(data))
