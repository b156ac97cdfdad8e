"""Read the answers off the ranked paths. Pure.

The answer of a path is the entity at its end, unless the question names that one: then the entity
at its start. Where the question asks for a property ("what colour is Bob's fur?"), it is the value
of that property: by its words, else by what the reranker reads out of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pathrag_gds.text import words
from pathrag_gds.types import Anchor, Answer, Entity, RankedPath

__all__ = ["answers_of", "asked_properties", "properties_to_read"]

_NOT_ASKED_FOR = frozenset({"id", "name", "aliases", "description"})
# One spelling for words that properties and questions write differently.
_SPELLING = {"colour": "color", "colours": "color", "colors": "color", "grey": "gray"}

# All that "Who is Bob?" and "Tell me about Bob" say besides the name; "Where is Bob?" says more.
_DEFINING_WORDS = "who what is are was were a an the tell me us about describe"
_DEFINING = frozenset(_DEFINING_WORDS.split())


def asked_properties(question: str, entity: Entity) -> tuple[str, ...]:
    """List the properties of an entity all of whose words the question has, longest key first.

    ``fur_color`` is asked for by "What colour is Bob's fur?".
    """
    asked = set(_normal(words(question)))
    found = []
    for key in entity.properties:
        parts = list(_normal(words(key)))
        if key not in _NOT_ASKED_FOR and parts and set(parts) <= asked:
            found.append((-len(parts), key))
    return tuple(key for _, key in sorted(found))


def _normal(tokens: Iterable[str]) -> Iterable[str]:
    return (_SPELLING.get(token, token) for token in tokens)


def properties_to_read(
    question: str, ranked: Sequence[RankedPath], anchors: Sequence[Anchor]
) -> dict[str, tuple[str, ...]]:
    """Give, by id, the properties of entities whose own text answers, where no word says which.

    Those are the named entities that are paths by themselves; a description is among their
    properties.
    """
    named = {anchor.id for anchor in anchors}
    found: dict[str, tuple[str, ...]] = {}
    for path in ranked:
        node = path.nodes[-1]
        if path.hops or node.id not in named or asked_properties(question, node):
            continue
        keys = sorted(key for key in node.properties if key not in _NOT_ASKED_FOR)
        if node.description:
            keys.append("description")
        if keys:
            found[node.id] = tuple(keys)
    return found


def answers_of(
    question: str,
    ranked: Sequence[RankedPath],
    anchors: Sequence[Anchor],
    read: Mapping[str, str] | None = None,
) -> tuple[Answer, ...]:
    """Give the distinct answers of the paths, best path first.

    Entities named in the question are left out, except as the owner of a property that is asked
    for, or where the question names nothing else ("Who is Jane?"): then the answer is what is
    known of it, its description.

    Args:
        read: By id, which of the properties of :func:`properties_to_read` the reranker found
            asked for.
    """
    named = {anchor.id for anchor in anchors}
    definition = _asks_for_definition(question, anchors)
    found: dict[tuple[str, str, str], Answer] = {}
    for path in ranked:
        answer = _answer_of(question, path, named, definition, read or {})
        if answer is None:
            continue
        key = (answer.kind, answer.id, answer.property)
        known = found.get(key)
        found[key] = (
            replace(known, paths=(*known.paths, path.rank))
            if known
            else replace(answer, confidence=path.confidence, paths=(path.rank,))
        )
    return tuple(found.values())


def _answer_of(
    question: str,
    ranked: RankedPath,
    named: set[str],
    definition: bool,
    read: Mapping[str, str],
) -> Answer | None:
    ends = (ranked.nodes[-1], ranked.nodes[0])
    for node in ends:
        asked = asked_properties(question, node)
        if asked:
            return _value(node, asked[0], node.properties[asked[0]])
    if definition and not ranked.hops and ends[0].id in named and ends[0].description:
        return _value(ends[0], "description", ends[0].description)
    if not ranked.hops and ends[0].id in read:
        key = read[ends[0].id]
        value = ends[0].description if key == "description" else ends[0].properties[key]
        return _value(ends[0], key, value)
    for node in ends:
        if node.id not in named:
            return Answer("entity", node.id, node.name)
    return None


def _value(entity: Entity, key: str, value: Any) -> Answer:
    return Answer("value", entity.id, entity.name, property=key, value=value)


def _asks_for_definition(question: str, anchors: Sequence[Anchor]) -> bool:
    mentioned = {word for anchor in anchors for word in words(anchor.mention)}
    rest = set(words(question)) - mentioned - {"s"}
    return bool(anchors) and rest <= _DEFINING
