"""The type that a question asks for, and the types of nodes."""

from __future__ import annotations

import pytest

from pathrag_gds.retrieve.intent import asked_type, stems, type_text
from pathrag_gds.types import Entity


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("In which town did Anna meet Ben?", "town"),
        ("in what old house was it", "old house"),
        ("Which of Anna's trains was late?", "trains"),
        ("Which of them?", ""),
        ("Which town saw them first?", "town"),
        ("What is the home station of the train?", "home station"),
        ("What did Anna mend?", ""),
        ("What is it?", ""),
        ("what happened?", "happened"),
        ("Who was there in which town?", ""),
        ("Where was he?", ""),
        ("When was it?", ""),
        ("name a film by Anna", ""),
        ("", ""),
    ],
)
def test_asked_types(question: str, expected: str) -> None:
    assert asked_type(question) == expected


def test_types_of_nodes() -> None:
    town = Entity(
        "t",
        "T",
        ("Place",),
        properties={"location_type": "Town", "founded": "1200", "housing_type": "a b c d"},
    )
    assert type_text(town) == "place town"
    assert type_text(Entity("t", "T", ("SleepingCar",), properties={"kind": 3})) == "sleeping car"
    assert type_text(Entity("t", "T", properties={"prototype": "x", "role": "guard"})) == "guard"
    assert type_text(Entity("t", "T")) == ""


def test_stems() -> None:
    assert stems("Cities, glass TRAINS bus") == {"city", "glass", "train", "bus"}
