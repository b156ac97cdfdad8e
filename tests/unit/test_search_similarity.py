"""What nodes tell sets paths apart that the reranker finds equal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pathrag_gds.models.reranker import CachedReranker
from pathrag_gds.retrieve.score import shifted
from pathrag_gds.types import SearchResult
from tests.fakes import MemoryGraph, WordOverlapReranker
from tests.searching import ask, nodes

# s took part in three events; what is known of each is a sentence.
EVENTS = [("s", "R", f"e{i}") for i in range(3)]
TOLD = {f"e{i}": {"description": f"It rained {i} times.", "labels": ["Event"]} for i in range(3)}
SCORES = {"s r e": 0.5, "s": 0.1}


class Matching(WordOverlapReranker):
    """Scores texts by how they begin, and knows how near what a node tells is."""

    def __init__(self, scores: Mapping[str, float], near: Mapping[str, float]) -> None:
        super().__init__(scores)
        self.near = near
        self.matched: list[str] = []

    def match(self, question: str, texts: Sequence[str]) -> list[float]:
        self.matched += texts
        return [self.near[text.split()[0].rstrip(".")] for text in texts]


def search(
    near: Mapping[str, float], told: Mapping[str, Mapping[str, Any]] = TOLD, weight: float = 4
) -> tuple[dict[str, tuple[float, ...]], list[str]]:
    matching = Matching(SCORES, near)
    result = ask(
        MemoryGraph(EVENTS, seeds=["s"], nodes=told),
        strategy="paths",
        max_depth=1,
        weight_similarity=weight,
        changes={"reranker": CachedReranker(matching)},
    )
    return scores_of(result), matching.matched


def scores_of(result: SearchResult) -> dict[str, tuple[float, ...]]:
    return {
        name: (ranked.score, ranked.terms["rerank"], ranked.terms["similarity"])
        for name, ranked in zip(nodes(result), result.paths, strict=True)
    }


def test_the_event_nearest_to_the_question_comes_first() -> None:
    found, matched = search({"e0": 0.1, "e1": 0.1, "e2": 0.4})
    assert list(found) == ["se2", "se0", "se1", "s"]
    # Each counts from the mean of its like, 0.2.
    assert found["se2"] == (round(1 / (1 + math.exp(-0.8)), 6), 0.5, 0.2)
    assert found["se0"] == (round(1 / (1 + math.exp(0.4)), 6), 0.5, -0.1)
    assert found["s"] == (0.1, 0.1, 0.0)
    assert matched == [f"e{i} is a event. It rained {i} times." for i in range(3)]


def test_without_its_weight_nothing_is_matched() -> None:
    found, matched = search({}, weight=0)
    assert {values[0] for values in found.values()} == {0.5, 0.1}
    assert not matched


def test_nodes_that_tell_nothing_are_not_matched() -> None:
    found, matched = search({"e1": 0.3}, {"e1": TOLD["e1"]})
    assert [found[name][2] for name in ("se0", "se1", "se2")] == [0.0, 0.0, 0.0]
    assert len(matched) == 1


def test_nodes_are_compared_with_those_of_their_labels() -> None:
    told: Mapping[str, Mapping[str, Any]] = {**TOLD, "e2": {"description": "It snowed."}}
    found, _ = search({"e0": 0.1, "e1": 0.3, "e2": 0.9}, told)
    assert [found[name][2] for name in ("se0", "se1", "se2")] == [-0.1, 0.1, 0.0]


def test_what_the_question_names_is_no_evidence() -> None:
    matching = Matching({"e0": 0.5}, {})
    result = ask(
        MemoryGraph([], seeds=[], nodes=TOLD),
        question="what is e0",
        strategy="paths",
        max_depth=0,
        weight_similarity=4,
        changes={"reranker": matching},
    )
    assert scores_of(result) == {"e0": (0.5, 0.5, 0.0)}
    assert not matching.matched


def test_other_rerankers_are_left_alone() -> None:
    graph = MemoryGraph(EVENTS, seeds=["s"], nodes=TOLD)
    result = ask(graph, SCORES, strategy="paths", max_depth=1, weight_similarity=4)
    assert {p.score for p in result.paths} == {0.5, 0.1}


@pytest.mark.parametrize(
    ("probability", "shift", "expected"),
    [
        (0.5, 0.0, 0.5),
        (0.5, math.log(3), 0.75),
        (0.75, -math.log(3), 0.5),
        (0.0, 5.0, 0.0),
        (1.0, -5.0, 1.0),
        (1e-6, -50.0, 0.0),
    ],
)
def test_shifted(probability: float, shift: float, expected: float) -> None:
    assert shifted(probability, shift) == pytest.approx(expected, abs=1e-6)
