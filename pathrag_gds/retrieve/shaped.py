"""Answer what a question of some shape asks, from entities, paths and complete sets. Pure.

Nothing is answered here that the graph does not show: a *no* is never inferred from what is absent,
a comparison needs the values of all, a count the whole set. What is missing is said in a warning,
and the paths stay as evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pathrag_gds.graph.queries import escape_identifier
from pathrag_gds.retrieve.attributes import (
    TIME_MEASURES,
    extents,
    keys_by_measure,
    keys_by_words,
    measure_of,
    measures_said,
)
from pathrag_gds.retrieve.filters import Predicate
from pathrag_gds.retrieve.intent import type_text
from pathrag_gds.retrieve.kinds import does_it, fits, kind_words, root
from pathrag_gds.retrieve.link import STOP_WORDS
from pathrag_gds.retrieve.pattern import HopFilter
from pathrag_gds.retrieve.serialize import hop_sentence, relation_phrase
from pathrag_gds.retrieve.shape import Shape
from pathrag_gds.retrieve.when import Span, span_of_value
from pathrag_gds.text import words
from pathrag_gds.types import Answer, Chain, Edge, Entity, Outcome, Path, Pattern, RankedPath, Step

__all__ = [
    "Extreme",
    "Reply",
    "TimePlace",
    "chain_to",
    "compared",
    "end_values",
    "extreme",
    "hop_key",
    "hop_values",
    "is_true",
    "named_values",
    "path_to_count",
    "relation_answers",
    "time_place",
    "unaccounted",
    "untrue_of",
    "within",
]


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered to a question that has a shape of its own.

    Attributes:
        warnings: Why not more.
        patterns: What the answers are complete sets of.
        paths: To be shown instead of those that were found; empty for those.
    """

    answers: tuple[Answer, ...]
    outcome: Outcome
    warnings: tuple[str, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    paths: tuple[RankedPath, ...] = ()


def _first_key(keys: Iterable[str], *entities: Entity) -> str:
    """Give the first key that all the entities have; empty for none."""
    return next((k for k in keys if all(k in e.properties for e in entities)), "")


def named_values(shape: Shape, entities: Mapping[str, Entity]) -> tuple[Answer, ...]:
    """Give the property that is asked of what is named; empty where none of that has it.

    All entities of an ambiguous name that have it answer.
    """
    if shape.of_end or len(shape.mentions) != 1:
        return ()
    found = []
    for id_ in shape.mentions[0]:
        key = _first_key(shape.keys, entities[id_])
        if key:
            found.append(_value(entities[id_], key, confidence=1.0))
    return tuple(found)


def end_values(
    shape: Shape, ranked: Sequence[RankedPath], named: Iterable[str]
) -> tuple[Answer, ...]:
    """Give the property that is asked of what paths lead to, best path first."""
    found: dict[str, Answer] = {}
    known = set(named)
    for path in ranked:
        end = path.nodes[-1]
        key = _first_key(shape.keys, end)
        if not key or end.id in known:
            continue
        answer = found.get(end.id) or _value(end, key, confidence=path.confidence)
        found[end.id] = replace(answer, paths=(*answer.paths, path.rank))
    return tuple(found.values())


def hop_key(shape: Shape, path: Path) -> str:
    """Give the property of a path's only relationship that is asked for; empty for none.

    A start may be told as a date or a year.
    """
    if path.depth != 1:
        return ""
    properties = path.hops[0].edge.properties
    measures = ("date", "year") if shape.of_hop == "start" else ()
    keys = (*keys_by_words(shape.of_hop, properties), *keys_by_measure(measures, properties))
    return next((key for key in keys if properties[key] not in (None, "")), "")


def hop_values(shape: Shape, ranked: Sequence[RankedPath]) -> tuple[Answer, ...]:
    """Give what relationships between two named things tell of what is asked, best path first."""
    found: dict[str, Answer] = {}
    for path in ranked:
        key = hop_key(shape, path.path)
        if not key:
            continue
        value = path.path.hops[0].edge.properties[key]
        answer = found.get(repr(value)) or Answer(
            "value", "", "", key, value, confidence=path.confidence
        )
        found[repr(value)] = replace(answer, paths=(*answer.paths, path.rank))
    return tuple(found.values())


def _value(entity: Entity, key: str, confidence: float) -> Answer:
    return Answer("value", entity.id, entity.name, key, entity.properties[key], confidence)


def compared(shape: Shape, entities: Mapping[str, Entity]) -> Reply | None:
    """Compare two named things by a property that both have; None where that cannot be.

    "Is A older than B?" is answered by yes or no, for both values are known; "Which is older?" by
    the one that is.
    """
    if len(shape.mentions) != 2 or any(len(ids) != 1 for ids in shape.mentions):
        return None
    first, second = (entities[ids[0]] for ids in shape.mentions)
    key = _first_key(shape.keys, first, second)
    if not key:
        return None
    larger = shape.larger[shape.keys.index(key)]
    read = extents({e.id: e.properties[key] for e in (first, second)}, measure_of(key))
    if read is None:
        return None
    mine, other = read[first.id], read[second.id]
    told = "; ".join(f"{key} of {e.name} is {e.properties[key]}" for e in (first, second))
    if mine == other and mine[0] == mine[1] and shape.yes_no:
        wins = False
    elif mine[0] <= other[1] and other[0] <= mine[1]:
        return Reply((), "partial", (f"Neither is ahead: {told}.",))
    else:
        wins = (mine > other) == larger
    if shape.yes_no:
        return Reply((Answer("boolean", first.id, first.name, key, wins, 1.0),), "answered")
    winner = first if wins else second
    return Reply((Answer("entity", winner.id, winner.name, confidence=1.0),), "answered")


def is_true(shape: Shape, question: str, ranked: Sequence[RankedPath]) -> RankedPath | None:
    """Give the path that plainly proves a question between two named things; None for none.

    It is one hop whose type is said in the question by its own words, in a direction that cannot be
    mistaken: the ends are of different kinds, or the wording tells who does it to whom. Nothing
    else of substance may be asked.
    """
    if len(shape.mentions) != 2 or shape.span is not None:
        return None
    for path in ranked:
        first, second = shape.mentions
        ends = path.path.start, path.path.tail
        between = any(a in first and b in second for a, b in (ends, ends[::-1]))
        if path.path.depth != 1 or not between:
            continue
        hop = path.path.hops[0]
        phrase = [w for w in relation_phrase(hop.edge.type).split() if w not in STOP_WORDS]
        said = {root(word) for word in words(question)}
        if not phrase or not {root(word) for word in phrase} <= said:
            continue
        if unaccounted(question, [path]):
            continue
        kinds = [set(node.labels) for node in path.nodes]
        apart = bool(kinds[0]) and bool(kinds[1]) and not kinds[0] & kinds[1]
        if apart or _who_acts(hop.edge) in shape.mentions[1 if "by" in words(question) else 0]:
            return path
    return None


def _who_acts(edge: Edge) -> str:
    """Give the id of who does what a relationship says; empty where its type does not tell.

    The source of ``DIRECTED`` and the target of ``directed_by``.
    """
    first, *rest = relation_phrase(edge.type).removeprefix("is ").split()
    if not first.endswith("ed"):
        return ""
    return edge.target if rest[:1] == ["by"] else edge.source


def unaccounted(question: str, ranked: Sequence[RankedPath], noun: str = "") -> tuple[str, ...]:
    """List the words of substance that neither names nor types nor relations of paths say."""
    told = " ".join(
        [noun]
        + [f"{node.name} {type_text(node)}" for path in ranked for node in path.nodes]
        + [relation_phrase(hop.edge.type) for path in ranked for hop in path.path.hops]
    )
    known = {root(word) for word in words(told)}
    kinds = kind_words(told)
    return tuple(
        word
        for word in dict.fromkeys(words(question))
        if word not in STOP_WORDS
        and len(word) > 1
        and root(word) not in known
        and kind_words(word).isdisjoint(kinds)
    )


def untrue_of(keys: Iterable[str], entities: Mapping[str, Entity]) -> tuple[str, ...] | None:
    """List those of which a property is false; None where it is not true or false of all."""
    for key in keys:
        values = {id_: entity.properties.get(key) for id_, entity in entities.items()}
        if all(isinstance(value, bool) for value in values.values()):
            return tuple(id_ for id_, value in values.items() if not value)
    return None


def relation_answers(
    ranked: Sequence[RankedPath], entities: Mapping[str, Entity]
) -> tuple[Answer, ...]:
    """Tell the paths between two things: one answer for all that run by the same relations."""
    found: dict[tuple[tuple[str, bool], ...], Answer] = {}
    for path in ranked:
        relations = tuple((hop.edge.type, hop.forward) for hop in path.path.hops)
        end = path.nodes[-1]
        told = " ".join(hop_sentence(hop, entities, {}) for hop in path.path.hops)
        answer = found.get(relations) or Answer(
            "relation", end.id, end.name, value=told, confidence=path.confidence
        )
        found[relations] = replace(answer, paths=(*answer.paths, path.rank))
    return tuple(found.values())


def path_to_count(
    shape: Shape, ranked: Sequence[RankedPath], named: Iterable[str]
) -> RankedPath | None:
    """Give the best path that ends at what is counted, by its type where the graph has types.

    Who does what the last relation says is of the type that a word for that names: "reviewers".
    """
    known = set(named)
    ends = [path for path in ranked if path.path.hops and path.nodes[-1].id not in known]
    fitting = [path for path in ends if _ends_at(path, shape.noun)]
    if fitting:
        return fitting[0]
    typed = any(type_text(path.nodes[-1]) for path in ends)
    return None if not ends or (typed and shape.noun) else ends[0]


def _ends_at(path: RankedPath, noun: str) -> bool:
    end, edge = path.nodes[-1], path.path.hops[-1].edge
    verb, *rest = relation_phrase(edge.type).removeprefix("is ").split()
    # A type such as ``directed_by`` is said of the other end.
    who = edge.target if rest[-1:] == ["by"] else edge.source
    return fits(noun, type_text(end)) or (who == end.id and does_it(noun, verb))


def chain_to(path: RankedPath, noun: str) -> Chain:
    """Give the chain of a path: its relations, its end's label where the noun names that.

    Nodes between that have a description are kept: by it they were chosen.
    """
    steps = []
    for number, (hop, node) in enumerate(zip(path.path.hops, path.nodes[1:], strict=True), 1):
        last = number == path.path.depth
        labels = [label for label in node.labels if fits(noun, relation_phrase(label))]
        steps.append(
            Step(
                hop.edge.type,
                hop.forward,
                labels[0] if last and labels else "",
                node.id if node.description and not last else "",
            )
        )
    return Chain(path.path.start, tuple(steps))


@dataclass(frozen=True, slots=True)
class TimePlace:
    """Where on a chain the time stands.

    Attributes:
        key: Of the property.
        hop: Of which step, from 1.
        of_relationship: It is the relationship's, not the node's that the step leads to.
    """

    key: str
    hop: int
    of_relationship: bool


def time_place(question: str, path: RankedPath) -> TimePlace | None:
    """Find the property that a question's time is about: of the end, a relationship, or between.

    A verb says which, if one does: "born after", "released in". Birth and death count only then.
    """
    said = measures_said(" ".join(words(question)))
    measures = said or tuple(m for m in TIME_MEASURES if m not in ("birth", "death"))
    depth = path.path.depth
    places: list[tuple[int, bool, Mapping[str, Any]]] = []
    if depth:
        places.append((depth, False, path.nodes[-1].properties))
    for number in range(depth, 0, -1):
        places.append((number, True, path.path.hops[number - 1].edge.properties))
    for number in range(depth - 1, 0, -1):
        places.append((number, False, path.nodes[number].properties))
    for number, of_relationship, properties in places:
        for key in keys_by_measure(measures, properties):
            if span_of_value(properties[key]) is not None:
                return TimePlace(key, number, of_relationship)
    return None


def within(span: Span, place: TimePlace, depth: int) -> HopFilter:
    """Give the predicate that a time lies in a span, for the step of a chain where it stands.

    Text sorts as ISO dates do, whatever type the value has. A year alone does not lie in a span
    that begins or ends within a year: nothing says when it was.
    """
    node = "answer" if place.hop == depth else f"n{place.hop}"
    target = f"r{place.hop}" if place.of_relationship else node

    def predicate(of_node: str, of_relationship: str) -> Predicate:
        if target not in (of_node, of_relationship):
            return Predicate("", {})
        value = f"toStringOrNull({target}.{escape_identifier(place.key)})"
        bounds = (("from", ">=", span.start), ("before", "<", span.end))
        found = [(name, sign, _iso(day)) for name, sign, day in bounds if day is not None]
        conditions = [f"{value} {sign} $filters.time_{name}" for name, sign, _ in found]
        if any(len(day) > len("1999") for _, _, day in found):
            conditions.append(f"size({value}) > 4")
        return Predicate(
            " AND ".join(conditions),
            {f"time_{name}": day for name, _, day in found},
        )

    return predicate


def _iso(day: Any) -> str:
    """Write the first day of a year or of a month as the year or the month alone."""
    text: str = day.isoformat()
    return text.removesuffix("-01").removesuffix("-01") if text.endswith("-01") else text


@dataclass(frozen=True, slots=True)
class Extreme:
    """The one of a complete set that has most of something.

    Attributes:
        id: Of the entity; several where they have the same.
        key: Of the property.
    """

    ids: tuple[str, ...]
    key: str


def extreme(shape: Shape, values: Mapping[str, Mapping[str, Any]]) -> Extreme | None:
    """Find what has the largest, or the smallest, value; None where not all values are known.

    Args:
        values: Properties by id, of all there are.
    """
    for key, larger in zip(shape.keys, shape.larger, strict=True):
        known = extents({id_: of.get(key) for id_, of in values.items()}, measure_of(key))
        if not known:
            continue
        best = max(known.values()) if larger else min(known.values())
        ids = tuple(sorted(id_ for id_, span in known.items() if _overlap(span, best)))
        if all(known[id_] == best for id_ in ids):
            return Extreme(ids, key)
    return None


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
