"""The Adventures of Bob the Cat: a graph that is small enough to read and large enough to ask.

104 entities with attributes, 165 relationships with properties, the 32 fragments of the story that
they were read from, and ten questions with their gold answers. The files are the source; they are
in the formats that ``pathrag load`` takes.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = [
    "CHUNK_FILES",
    "DEFAULT_QUESTION",
    "DOCUMENT",
    "FOLDER",
    "NODE_FILES",
    "RELATIONSHIP_FILES",
    "DemoKeys",
    "DemoQuestion",
    "keys",
    "questions",
]

FOLDER = Path(__file__).parent
NODE_FILES = tuple(
    FOLDER / f"{kind}.csv" for kind in ("animals", "persons", "places", "events", "objects")
)
RELATIONSHIP_FILES = (FOLDER / "relationships.csv",)
CHUNK_FILES = (FOLDER / "chunks.jsonl",)
DOCUMENT = "The Adventures of Bob the Cat"
DEFAULT_QUESTION = "In which village was Bob when the milk was spilled?"


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question about the demo graph and its gold answer.

    Attributes:
        kind: ``entity``: the answer is the entity ``id``; ``value``: it is a property of it.
        property: Key of the property, empty for an entity.
        value: Its value, empty for an entity.
        gold_path: Keys of the relationships that lead to the answer; empty where none is needed.
    """

    question: str
    kind: Literal["entity", "value"]
    id: str
    property: str = ""
    value: str = ""
    gold_path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DemoKeys:
    """What tells the demo's own data from others: each kind sorted.

    Attributes:
        entities: Ids of its entities.
        chunks: Ids of its chunks.
        relationships: Keys of its relationships.
    """

    entities: tuple[str, ...]
    chunks: tuple[str, ...]
    relationships: tuple[str, ...]


def keys() -> DemoKeys:
    """Read the ids of the demo's entities and chunks and the keys of its relationships."""
    chunks = [
        json.loads(line)["id"]
        for path in CHUNK_FILES
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return DemoKeys(
        tuple(sorted(_column("id:ID", NODE_FILES))),
        tuple(sorted(chunks)),
        tuple(sorted(_column("key", RELATIONSHIP_FILES))),
    )


def _column(name: str, paths: tuple[Path, ...]) -> list[str]:
    rows = []
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            rows += [row[name] for row in csv.DictReader(file)]
    return rows


def questions() -> tuple[DemoQuestion, ...]:
    """Read the ten questions of seeds/000 with their gold answers, in its order."""
    items = json.loads((FOLDER / "questions.json").read_text(encoding="utf-8"))
    return tuple(
        DemoQuestion(**{**item, "gold_path": tuple(item.get("gold_path", ()))}) for item in items
    )
