"""Cosine as a score, and the cache around any reranker."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pathrag_gds.errors import ConfigError, MissingExtra
from pathrag_gds.models.cache import LeastRecentlyUsed
from pathrag_gds.models.encoder import EncodeProgress, OnnxEncoder
from pathrag_gds.models.reranker import (
    CachedReranker,
    CosineReranker,
    PathScore,
    Reranker,
    load_reranker,
)

QUESTION = "Where does the cat live?"
PATH = "The cat lives in Elmford."
STRANGER = "Shares of the bank fell by nine percent."


class Compass:
    """An encoder whose vectors are directions in the plane, given by name."""

    name = "compass"
    dimension = 2
    max_tokens = 8
    fingerprint = "c0ffee"

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode(
        self, texts: Sequence[str], *, progress: EncodeProgress | None = None
    ) -> NDArray[np.float32]:
        self.encoded += texts
        known = {"north": (0, 1), "east": (1, 0), "south": (0, -1), "northeast": (0.6, 0.8)}
        return np.array([known[text] for text in texts], dtype=np.float32)

    def count_tokens(self, text: str) -> int:
        return len(text)


class Counting:
    """A reranker that scores by length and notes what it was asked."""

    name = "counting"

    def __init__(self, fingerprint: str = "f1") -> None:
        self.fingerprint = fingerprint
        self.calls: list[tuple[str, list[str]]] = []

    def score(self, question: str, texts: Sequence[str]) -> list[PathScore]:
        self.calls.append((question, list(texts)))
        return [PathScore(len(text) / 100, len(question) / 100) for text in texts]


def test_cosine_is_cut_at_zero_and_both_values_are_the_same() -> None:
    reranker = CosineReranker(Compass())
    assert reranker.score("north", ["north", "east", "south", "northeast", "north"]) == [
        PathScore(1.0, 1.0),
        PathScore(0.0, 0.0),
        PathScore(0.0, 0.0),
        PathScore(0.8, 0.8),
        PathScore(1.0, 1.0),
    ]


def test_cosine_embeds_each_text_and_the_question_once() -> None:
    compass = Compass()
    reranker = CosineReranker(compass)
    reranker.score("north", ["east", "east", "north"])
    reranker.score("north", ["south", "east"])
    assert compass.encoded == ["north", "east", "south"]


def test_cosine_forgets_the_oldest_and_still_scores() -> None:
    compass = Compass()
    reranker = CosineReranker(compass, cached_texts=2)
    texts = ["east", "south", "northeast"]
    assert [s.answer for s in reranker.score("north", texts)] == [0.0, 0.0, 0.8]
    assert [s.answer for s in reranker.score("north", texts)] == [0.0, 0.0, 0.8]
    assert compass.encoded.count("east") == 2


def test_no_texts_give_no_scores_and_ask_no_model() -> None:
    compass, counting = Compass(), Counting()
    assert CosineReranker(compass).score("north", []) == []
    assert CachedReranker(counting).score("north", []) == []
    assert compass.encoded == []
    assert counting.calls == []


def test_shipped_model_tells_a_path_from_a_stranger() -> None:
    reranker = load_reranker("cosine", OnnxEncoder())
    path, stranger = reranker.score(QUESTION, [PATH, STRANGER])
    # 0.6495 and 0.0316 from the float32 model in sentence-transformers.
    assert path.answer == pytest.approx(0.65, abs=0.03)
    assert stranger.answer == pytest.approx(0.03, abs=0.03)
    assert path.answer == round(path.answer, 6)


def test_score_of_a_text_does_not_depend_on_its_company() -> None:
    texts = [PATH, STRANGER, "x", "The dog lives in Thornbury with the baker and his two sons."] * 3
    together = CosineReranker(OnnxEncoder()).score(QUESTION, texts)
    for row in range(4):
        (alone,) = CosineReranker(OnnxEncoder()).score(QUESTION, [texts[row]])
        assert alone.answer == pytest.approx(together[row].answer, abs=1.5e-6)


def test_cache_asks_only_for_what_is_new() -> None:
    counting = Counting()
    cached = CachedReranker(counting)
    first = cached.score("q", ["aa", "b", "aa"])
    assert first == [PathScore(0.02, 0.01), PathScore(0.01, 0.01), PathScore(0.02, 0.01)]
    assert (cached.hits, cached.misses) == (0, 2)
    assert cached.score("q", ["ccc", "aa"]) == [PathScore(0.03, 0.01), PathScore(0.02, 0.01)]
    assert (cached.hits, cached.misses) == (1, 3)
    assert counting.calls == [("q", ["aa", "b"]), ("q", ["ccc"])]


def test_cache_keeps_questions_and_fingerprints_apart() -> None:
    counting = Counting()
    cached = CachedReranker(counting)
    cached.score("q", ["a"])
    assert cached.score("question", ["a"]) == [PathScore(0.01, 0.08)]
    counting.fingerprint = "f2"
    cached.score("q", ["a"])
    assert len(counting.calls) == 3
    assert (cached.hits, cached.misses) == (0, 3)


def test_cache_is_bounded_and_drops_the_least_recently_used() -> None:
    counting = Counting()
    cached = CachedReranker(counting, size=2)
    cached.score("q", ["a"])
    cached.score("q", ["b"])
    cached.score("q", ["a"])
    cached.score("q", ["c"])
    counting.calls.clear()
    cached.score("q", ["a"])
    assert counting.calls == []
    cached.score("q", ["b"])
    assert counting.calls == [("q", ["b"])]
    assert len(cached.score("q", ["d", "e", "f"])) == 3


def test_cache_counts_right_from_many_threads() -> None:
    cached = CachedReranker(Counting(), size=50)

    def ask(number: int) -> list[PathScore]:
        return cached.score("q", ["x" * (n % 60) for n in range(number, number + 40)])

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(ask, range(200)))
    for number, scores in enumerate(results):
        assert [s.answer for s in scores] == [(n % 60) / 100 for n in range(number, number + 40)]
    assert cached.hits + cached.misses == 200 * 40


def test_a_cache_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least one"):
        LeastRecentlyUsed[str, int](0)


@pytest.mark.parametrize("name", [None, "", "default", "cosine"])
def test_where_no_reranker_ships_default_names_give_the_cached_cosine(
    name: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pathrag_gds.models.path_reranker.shipped_reranker", lambda: tmp_path)
    compass = Compass()
    reranker: Reranker = load_reranker(name, compass)
    assert isinstance(reranker, CachedReranker)
    assert isinstance(reranker.reranker, CosineReranker)
    assert reranker.name == "cosine(compass)"
    assert reranker.fingerprint == CosineReranker(compass).fingerprint
    assert reranker.fingerprint != compass.fingerprint


def test_a_cross_encoder_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra) as caught:
        load_reranker("some/cross-encoder", Compass())
    assert caught.value.extra == "sentence-transformers"
