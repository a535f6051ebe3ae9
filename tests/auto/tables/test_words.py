"""Texts that share words and letters are close, and the numbers they become are counts of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from mercer.auto.tables import words
from mercer.auto.tables.words import count_runs, embed_words, learn_words

LAW = settings(max_examples=30, deadline=None, derandomize=True)

TEXTS = [f"{colour} {thing} {i}" for i in range(10) for colour in ("red", "blue") for thing in ("shoes", "hats")]


@LAW
@given(st.lists(st.text("ab éß漢", max_size=12), min_size=1, max_size=6))
def test_every_run_of_letters_and_every_word_is_counted(texts):
    def count(text):
        parts = [f" {word} " for word in text.lower().split()]
        runs = sum(max(0, len(part) - run + 1) for part in parts for run in (3, 4))
        return runs + len(parts)

    assert np.asarray(count_runs(texts).sum(axis=1)).ravel().tolist() == [count(text) for text in texts]


@LAW
@given(st.lists(st.text("ab é", max_size=12), min_size=2, max_size=6))
def test_a_text_is_counted_the_same_alone_and_among_others(texts):
    together = count_runs(texts).toarray()
    for text, row in zip(texts, together, strict=True):
        np.testing.assert_array_equal(count_runs([text]).toarray()[0], row)


def test_products_of_counts_are_those_of_scikit_learn_without_hashing():
    texts = ["green apples", "an apple is green", "red", "a red apple"]
    options = {"lowercase": True, "token_pattern": r"\S+"}
    runs = CountVectorizer(analyzer="char_wb", ngram_range=(3, 4), lowercase=True).fit_transform(texts)
    single = CountVectorizer(analyzer="word", **options).fit_transform(texts)
    ours = count_runs(texts)
    np.testing.assert_array_equal((ours @ ours.T).toarray(), (runs @ runs.T + single @ single.T).toarray())


def test_the_block_is_centred_and_has_a_total_variance_of_one():
    rows = embed_words(learn_words(TEXTS, 24), TEXTS)
    assert rows.shape == (40, 4)  # one for ten texts
    np.testing.assert_allclose(rows.mean(axis=0), 0.0, atol=1e-12)
    assert rows.var(axis=0).sum() == pytest.approx(1.0)


def test_case_and_blanks_do_not_matter_and_alike_texts_are_close():
    step = learn_words(TEXTS, 24)
    rows = embed_words(step, ["red shoes 3", "  RED   Shoes 3 ", "red shoe 3", "blue hats 7", ""])
    np.testing.assert_array_equal(rows[0], rows[1])
    assert np.linalg.norm(rows[0] - rows[2]) < np.linalg.norm(rows[0] - rows[3])
    assert np.isfinite(rows).all()


def test_texts_are_embedded_in_chunks_as_at_once(monkeypatch):
    step = learn_words(TEXTS, 24)
    expected = embed_words(step, TEXTS)
    monkeypatch.setattr(words, "CHUNK", 7)
    np.testing.assert_allclose(embed_words(step, TEXTS), expected, atol=1e-12)
    assert embed_words(step, []).shape == (0, 4)


def test_directions_are_learned_from_some_texts_only(monkeypatch):
    seen = []
    monkeypatch.setattr(words, "SAMPLE", 30)
    monkeypatch.setattr(words, "count_runs", lambda texts: seen.append(len(texts)) or count_runs(texts))
    learn_words(TEXTS, 2)
    assert seen == [30]
