"""The answers that are read off the ranked paths."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from pathrag_gds.retrieve.answers import answers_of, asked_properties
from pathrag_gds.types import Anchor, Answer, Edge, Entity, Hop, Path, RankedPath, ResultHop

BOB = Entity("bob", "Bob", ("Cat",), "A tabby.", {"fur_color": "silver", "age": 7})
HILL = Entity("hill", "Whisker Hill", ("Village",), "", {"founded": 1802})
MILL = Entity("mill", "Old Mill", ("Village",))
THE_BOB = Anchor("bob", "Bob", "bob", 1.0)


def ranked(rank: int, *nodes: Entity, confidence: float = 0.5) -> RankedPath:
    hops = tuple(Hop(Edge(f"{a.id}{b.id}", a.id, b.id, "R"), True) for a, b in pairwise(nodes))
    path = Path(tuple(n.id for n in nodes), hops)
    return RankedPath(
        rank, confidence, confidence, {}, "", path, nodes, tuple(ResultHop(h) for h in hops)
    )


def found(
    question: str, paths: Sequence[RankedPath], *anchors: Anchor
) -> list[tuple[str, str, str, Any]]:
    return [(a.kind, a.id, a.property, a.value) for a in answers_of(question, paths, anchors)]


def test_end_of_the_path_is_the_answer() -> None:
    paths = [ranked(1, BOB, HILL, confidence=0.9), ranked(2, BOB, MILL, confidence=0.4)]
    assert answers_of("Where is Bob?", paths, [THE_BOB]) == (
        Answer("entity", "hill", "Whisker Hill", confidence=0.9, paths=(1,)),
        Answer("entity", "mill", "Old Mill", confidence=0.4, paths=(2,)),
    )


def test_paths_to_one_answer_are_put_together_with_the_best_confidence() -> None:
    paths = [
        ranked(1, BOB, HILL, confidence=0.9),
        ranked(2, BOB, MILL, confidence=0.8),
        ranked(3, MILL, HILL, confidence=0.7),
    ]
    answers = answers_of("Where is Bob?", paths, [THE_BOB])
    assert [(a.id, a.paths, a.confidence) for a in answers] == [
        ("hill", (1, 3), 0.9),
        ("mill", (2,), 0.8),
    ]


def test_named_end_gives_the_start() -> None:
    assert found("Where is Bob?", [ranked(1, HILL, BOB)], THE_BOB) == [("entity", "hill", "", None)]


def test_entities_of_the_question_are_no_answers() -> None:
    assert found("Where is Bob?", [ranked(1, BOB)], THE_BOB) == []
    both = (THE_BOB, Anchor("hill", "Whisker Hill", "whisker hill", 1.0))
    assert found("Is Bob in Whisker Hill?", [ranked(1, BOB, HILL)], *both) == []


@pytest.mark.parametrize("question", ["What color is Bob's fur?", "What COLOUR is Bob's fur?"])
def test_asked_property_is_the_answer(question: str) -> None:
    assert found(question, [ranked(1, BOB)], THE_BOB) == [("value", "bob", "fur_color", "silver")]


def test_property_of_the_end_goes_before_that_of_the_start() -> None:
    question = "When was the village of Bob founded, at what age?"
    assert found(question, [ranked(1, BOB, HILL)], THE_BOB) == [("value", "hill", "founded", 1802)]


def test_definition_is_the_description() -> None:
    for question in ("Who is Bob?", "Tell me about Bob!", "What was the Bob"):
        assert found(question, [ranked(1, BOB)], THE_BOB) == [
            ("value", "bob", "description", "A tabby.")
        ]
    # A path that leads on answers with its end all the same.
    assert found("Who is Bob?", [ranked(1, BOB, MILL)], THE_BOB) == [("entity", "mill", "", None)]


def test_definition_needs_a_name_and_a_description() -> None:
    assert found("Who is he?", [ranked(1, BOB)]) == [("entity", "bob", "", None)]
    hill = Anchor("hill", "Whisker Hill", "whisker hill", 1.0)
    assert found("What is Whisker Hill?", [ranked(1, HILL)], hill) == []


def test_longest_property_key_wins_and_own_fields_are_never_asked_for() -> None:
    entity = Entity(
        "x", "X", properties={"color": 1, "fur_color": 2, "fur": 3, "name": 4, "aliases": 5}
    )
    assert asked_properties("What name or aliases, what fur colour?", entity) == (
        "fur_color",
        "color",
        "fur",
    )
    assert asked_properties("What?", entity) == ()


def test_no_paths_no_answers() -> None:
    assert answers_of("Where is Bob?", [], [THE_BOB]) == ()
