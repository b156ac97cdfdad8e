"""Questions of other shapes than one path, and what counts as right for each. Pure.

A property is answered by a value, "how many" by a number, "how are they related" by paths, two
conditions by all entities that meet them. The shapes that are not answered yet have two ways to be
right: the answer, or to say that it is not known and show what was found on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pathrag_gds.text import fold
from pathrag_gds.types import Answer, Path, SearchResult

__all__ = [
    "ANSWERED",
    "CONFIDENT",
    "CONTROL",
    "EXPECTED",
    "KINDS",
    "Chain",
    "Expected",
    "Probe",
    "judge_probe",
    "parse_chain",
    "same_value",
]

ANSWERED = ("property", "relation", "conjunction", "count", "time")
"""Kinds that have to be answered."""

KINDS = (*ANSWERED, "yes-no", "comparison", "superlative", "negation")
"""All kinds; those that are not in :data:`ANSWERED` may say that they do not know."""

CONTROL = "control"
"""Kind of a question of one path, which must not be taken for another shape."""

CONFIDENT = 0.5
"""From this confidence on, an answer that is not right is a confident wrong answer."""

Expected = Literal["entities", "value", "number", "boolean", "relation"]
EXPECTED: tuple[Expected, ...] = get_args(Expected)

Chain = tuple[tuple[str, bool], ...]
"""Relationship types from the topic on, each with whether it is followed as it is stored."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What is right for a question of some shape.

    Attributes:
        kind: One of :data:`KINDS`, or :data:`CONTROL`.
        expected: What the answer is.
        named: Ids of the entities that the question names, in its order.
        ids: For ``entities``, all that are right.
        values: For ``value``, each that is right alone; for ``number`` and ``boolean``, the one.
        holders: For ``value``, the ids of the entities that have it; empty where a relationship
            has it.
        chains: For ``relation``, each acceptable way from the first to the second named entity.
    """

    kind: str
    expected: Expected
    named: tuple[str, ...] = ()
    ids: frozenset[str] = frozenset()
    values: tuple[Any, ...] = ()
    holders: frozenset[str] = frozenset()
    chains: frozenset[Chain] = frozenset()

    def accepts(self, answer: Answer) -> bool:
        """Say whether an answer is right, or one of those that are; of paths, its kind alone."""
        match self.expected:
            case "entities":
                return answer.kind == "entity" and answer.id in self.ids
            case "value":
                held = not self.holders or not answer.id or answer.id in self.holders
                return answer.kind in ("value", "number") and held and self._has(answer.value)
            case "number":
                return answer.kind == "number" and self._has(answer.value)
            case "boolean":
                return answer.kind == "boolean" and self._has(answer.value)
            case "relation":
                return answer.kind == "relation"

    def _has(self, value: Any) -> bool:
        return any(same_value(value, gold) for gold in self.values)


def judge_probe(
    probe: Probe, result: SearchResult, predicted: Collection[tuple[str, str]]
) -> dict[str, Any]:
    """Tell whether a question went right, and whether it went wrong with confidence.

    What a result states is its first answer and those that belong to it: one set of answers.

    ``right``, 1 or 0:

    - value, number, boolean: the first answer has the gold value;
    - entities: the stated set is the gold set, no more and no less; for a control the first answer
      is gold, and the outcome ``answered``;
    - relation: the first answer is of that kind, and its best path is an acceptable chain between
      the two named entities, read from either end;
    - for a kind that is not in :data:`ANSWERED`, besides: the outcome is ``partial`` or
      ``unsupported``, and the paths touch every entity that the question names.

    ``confident_wrong``, 1 or 0: the outcome is ``answered``, and a stated answer that is an entity,
    a value, a number or a boolean has a confidence of :data:`CONFIDENT` or more and is not gold.

    Args:
        predicted: Id and property of the answers that are stated.
    """
    stated = [
        answer
        for place, answer in enumerate(result.answers)
        if place == 0 or (answer.id, answer.property) in predicted
    ]
    right = _right(probe, result, stated) or _declined(probe, result)
    wrong = result.outcome == "answered" and any(
        answer.kind != "relation" and answer.confidence >= CONFIDENT and not probe.accepts(answer)
        for answer in stated
    )
    return {"right": float(right), "confident_wrong": float(wrong)}


def _right(probe: Probe, result: SearchResult, stated: Sequence[Answer]) -> bool:
    if not stated or not probe.accepts(stated[0]):
        return False
    if probe.kind == CONTROL:
        return result.outcome == "answered"
    if probe.expected == "entities":
        return all(map(probe.accepts, stated)) and {a.id for a in stated} == probe.ids
    if probe.expected == "relation":
        by_rank = {ranked.rank: ranked.path for ranked in result.paths}
        best = by_rank.get(min(stated[0].paths, default=0))
        return best is not None and _joins(best, probe)
    return True


def _declined(probe: Probe, result: SearchResult) -> bool:
    if probe.kind in ANSWERED or probe.kind == CONTROL:
        return False
    seen = {id_ for ranked in result.paths for id_ in ranked.path.nodes}
    return result.outcome in ("partial", "unsupported") and bool(seen) and seen >= {*probe.named}


def _joins(path: Path, probe: Probe) -> bool:
    first, second = probe.named[:2]
    there = tuple((hop.edge.type, hop.forward) for hop in path.hops)
    if (path.start, path.tail) == (first, second):
        return there in probe.chains
    back = tuple((type_, not forward) for type_, forward in reversed(there))
    return (path.tail, path.start) == (first, second) and back in probe.chains


def same_value(found: Any, gold: Any) -> bool:
    """Compare two values by what they mean, not by how they are stored.

    Numbers are compared as numbers, also where one of the two is text (``"1888"``); truth values
    only with truth values; text folded; lists without order, a list of one like its item; dates by
    their ISO text.
    """
    if isinstance(found, (list, tuple)) or isinstance(gold, (list, tuple)):
        return _same_items(_items(found), _items(gold))
    if isinstance(found, bool) or isinstance(gold, bool):
        return found is gold
    if found is None or gold is None:
        return found is gold
    numbers = _number(found), _number(gold)
    if numbers[0] is not None and numbers[1] is not None:
        return math.isclose(numbers[0], numbers[1], rel_tol=1e-9)
    return fold(str(found)) == fold(str(gold))


def _items(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _same_items(found: list[Any], gold: list[Any]) -> bool:
    if len(found) != len(gold):
        return False
    rest = list(found)
    for item in gold:
        place = next((i for i, other in enumerate(rest) if same_value(other, item)), None)
        if place is None:
            return False
        del rest[place]
    return True


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def parse_chain(text: str) -> Chain:
    """Read ``ACTED_IN> <DIRECTED``: types from the first named entity on, with their directions.

    Raises:
        ValueError: A part has not exactly one of the two marks, or there is no part.
    """
    chain = []
    for part in text.split():
        if part.startswith("<") == part.endswith(">"):
            raise ValueError(f"{part!r} is neither TYPE> nor <TYPE")
        chain.append((part.strip("<>"), part.endswith(">")))
    if not chain:
        raise ValueError("a chain has a type")
    return tuple(chain)
