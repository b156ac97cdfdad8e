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
        weight_type=0,
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


def test_what_the_question_names_is_no_evidence_and_its_like_are_none() -> None:
    told = {**TOLD, "h": {"description": "A house.", "labels": ["Place"]}}
    matching = Matching({"e0": 0.5}, {"e0": 0.5, "e1": 0.3, "h": 0.2})
    result = ask(
        MemoryGraph([("e0", "R", "e1"), ("e0", "AT", "h")], seeds=[], nodes=told),
        question="what is e0",
        strategy="paths",
        max_depth=1,
        weight_similarity=4,
        weight_type=0,
        changes={"reranker": matching},
    )
    similarity = {name: values[2] for name, values in scores_of(result).items()}
    assert similarity == {"e0": 0.0, "e0e1": -0.2, "e0h": 0.0}


HOMES = [("s", "R", "h"), ("h", "IN", "t"), ("t", "IN", "c")]
KINDS: Mapping[str, Mapping[str, Any]] = {
    "h": {"labels": ["Place"], "location_type": "house"},
    "t": {"labels": ["Place"], "location_type": "town"},
    "c": {"labels": ["Place"], "location_type": "country"},
}


def ends(question: str, near: Mapping[str, float], **overrides: Any) -> dict[str, float]:
    matching = Matching({"s": 0.5}, near)
    result = ask(
        MemoryGraph(HOMES, seeds=["s"], nodes=KINDS),
        question=question,
        strategy="paths",
        max_depth=3,
        changes={"reranker": matching},
        **overrides,
    )
    return {ranked.path.tail: ranked.terms["type"] for ranked in result.paths}


def test_ends_of_the_type_that_is_asked_for_come_first() -> None:
    # All three texts begin with "place"; the town's word is the question's.
    found = ends("In which towns did they live?", {"place": 0.4})
    assert next(iter(found)) == "t"
    # A town beside a house, then a country beside both; alone, a house is like nothing.
    assert found == {"t": 0.3, "s": 0.0, "h": 0.0, "c": -0.2}


def test_types_do_not_count_where_none_is_near_or_none_is_asked_for() -> None:
    assert set(ends("In which ship did they live?", {"place": 0.4}).values()) == {0.0}
    assert set(ends("When did they live in town?", {}).values()) == {0.0}
    assert set(ends("In which town?", {}, weight_type=0).values()) == {0.0}


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
