"""Turn entities and paths into the text that encoders and rerankers read. Pure.

One place writes all of it, because a reranker is only as good as the likeness of the text it reads
to the text it was trained on. Change :data:`TEXT_TEMPLATE_VERSION` with any change of the output:
it is part of what the vectors in the database are recorded with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from pathrag_gds.types import Chain, Entity, Hop, Path

__all__ = [
    "TEXT_TEMPLATE_VERSION",
    "Phrasing",
    "chain_text",
    "entity_text",
    "meeting_text",
    "node_text",
    "path_text",
    "property_text",
    "relation_phrase",
    "steps_text",
]

TEXT_TEMPLATE_VERSION = "1"
SEPARATOR = " ||| "

# Attributes that are no prose: long lists and documents would push the rest out of the window.
_MAX_VALUE_CHARACTERS = 300
_SKIPPED_KEYS = frozenset({"id", "name", "description", "aliases"})

Phrasing = Mapping[str, tuple[str, str]]
"""By relationship type: how to say it forwards and, if not empty, backwards."""


def node_text(entity: Entity) -> str:
    """Tell an entity's name, labels and description: ``"Bob is a cat. A grey tabby."``."""
    name = _one_line(entity.name)
    labels = " and ".join(_spaced(label) for label in entity.labels)
    told = f"{name} is a {labels}." if labels else f"{name}."
    return f"{told} {_sentence(entity.description)}" if entity.description else told


def entity_text(entity: Entity) -> str:
    """Describe an entity in one line.

    ``"Bob is a cat. A grey tabby. Bob is also called Bobby. Bob's fur color is silver grey."``
    Attributes in order of their keys; a long value is cut at 300 characters; an entity with a name
    alone gives ``"Bob."``.
    """
    name = _one_line(entity.name)
    parts = [node_text(entity)]
    aliases = entity.properties.get("aliases")
    if aliases:
        parts.append(f"{name} is also called {_value(aliases)}.")
    parts += [
        _sentence(f"{name}'s {_spaced(key)} is {_value(value)}")
        for key, value in sorted(entity.properties.items())
        if key not in _SKIPPED_KEYS and _says_something(value)
    ]
    return " ".join(parts)


def property_text(entity: Entity, key: str) -> str:
    """Describe an entity by one of its properties alone; ``description`` is its description."""
    if key == "description":
        return entity_text(replace(entity, properties={}))
    return entity_text(replace(entity, description="", properties={key: entity.properties[key]}))


def path_text(
    path: Path,
    entities: Mapping[str, Entity],
    *,
    phrasing: Phrasing | None = None,
    budget: int = 0,
    count_tokens: Callable[[str], int] | None = None,
) -> str:
    """Tell a path in one line: what its hops say, `` ||| ``, then what its nodes are.

    Hops are told in the order of travel. A hop states the fact in its stored direction, unless
    the phrasing has words for the way back. Nodes are described from the newest to the oldest, so
    that the end of the path survives a reader that cuts on the right. A path of no hop is its
    entity's text.

    Args:
        path: What to tell.
        entities: Every node of the path by id.
        phrasing: Words by relationship type; the type's own words where it is silent.
        budget: Tokens at most; 0 for no limit. Node texts go first, oldest first; then the oldest
            hops. The newest hop is never dropped.
        count_tokens: How the reader counts; needed with a budget.
    """
    sentences = [hop_sentence(hop, entities, phrasing or {}) for hop in path.hops]
    texts = _distinct(entity_text(entities[node]) for node in reversed(path.nodes))
    if not sentences:
        return texts[0]
    if budget and count_tokens:
        sentences, texts = _fit(sentences, texts, budget, count_tokens)
    summary = " ".join(sentences)
    return summary + SEPARATOR + " ".join(texts) if any(texts) else summary


def chain_text(
    path: Path, entities: Mapping[str, Entity], *, phrasing: Phrasing | None = None
) -> str:
    """Tell the chain of a path: its relations, with letters for all nodes but the first.

    ``"Heat starred person A. Person A directed film B. The answer is film B."`` Paths of one
    start, one sequence of types and directions and the same labels give the same text. A path of
    no hop is its entity's text.
    """
    if not path.hops:
        return entity_text(entities[path.start])
    # A node met twice keeps its letter: that is what tells a return from a way on.
    named = {path.start: _one_line(entities[path.start].name)}
    for node in path.nodes:
        if node not in named:
            named[node] = _placeholder(entities[node].labels, len(named) - 1)
    sentences = [_say_hop(hop, named, phrasing or {}) for hop in path.hops]
    return " ".join([*sentences, f"The answer is {named[path.tail]}."])


def steps_text(chain: Chain, start: Entity, *, phrasing: Phrasing | None = None) -> str:
    """Tell a chain in the words of :func:`chain_text`, without a path that follows it.

    Nodes are told by the label of their step. A step that leads back to the start names it again.

    Args:
        start: Where the chain starts.
    """
    if not chain.steps:
        return entity_text(start)
    names = [_one_line(start.name)]
    letters = 0
    for step in chain.steps:
        if step.id == chain.start:
            names.append(names[0])
            continue
        names.append(_placeholder((step.label,) if step.label else (), letters))
        letters += 1
    sentences = [
        _say(step.type, step.forward, head, tail, phrasing or {})
        for step, head, tail in zip(chain.steps, names, names[1:], strict=False)
    ]
    return " ".join([*sentences, f"The answer is {names[-1]}."])


def meeting_text(
    chains: Sequence[Chain], starts: Sequence[Entity], *, phrasing: Phrasing | None = None
) -> str:
    """Tell chains that meet in one node as one text, in the words of :func:`steps_text`.

    ``"Heat starred person A. Person A directed Ronin. The answer is person A."``

    Args:
        chains: Of at least one step each.
        starts: Where each starts.
    """
    last = chains[0].steps[-1].label
    end = _placeholder((last,) if last else (), 0)
    letters = 1
    sentences = []
    for chain, start in zip(chains, starts, strict=True):
        names = [_one_line(start.name)]
        for step in chain.steps[:-1]:
            names.append(_placeholder((step.label,) if step.label else (), letters))
            letters += 1
        names.append(end)
        sentences += [
            _say(step.type, step.forward, head, tail, phrasing or {})
            for step, head, tail in zip(chain.steps, names, names[1:], strict=False)
        ]
    return " ".join([*sentences, f"The answer is {end}."])


def _placeholder(labels: Sequence[str], position: int) -> str:
    letter = chr(ord("A") + position % 26)
    told = " and ".join(_spaced(label) for label in labels)
    return f"{told} {letter}" if told else letter


def _fit(
    sentences: list[str], texts: list[str], budget: int, count_tokens: Callable[[str], int]
) -> tuple[list[str], list[str]]:
    """Drop the oldest texts, then the oldest sentences, until the rest fits."""
    sentence_sizes = [count_tokens(s) for s in sentences]
    text_sizes = [count_tokens(t) for t in texts]
    while len(sentences) > 1 and sum(sentence_sizes) > budget:
        sentences, sentence_sizes = sentences[1:], sentence_sizes[1:]
    room = budget - sum(sentence_sizes)
    kept = 0
    while kept < len(texts) and text_sizes[kept] <= room:
        room -= text_sizes[kept]
        kept += 1
    if not kept and room > 0:
        # The end of the path is what the answer stands or falls with: tell its beginning.
        return sentences, [_cut(texts[0], room / text_sizes[0])]
    return sentences, texts[:kept]


def _cut(text: str, share: float) -> str:
    tokens = text.split(" ")
    return " ".join(tokens[: int(len(tokens) * share)])


def hop_sentence(hop: Hop, entities: Mapping[str, Entity], phrasing: Phrasing) -> str:
    """Say one hop, with its relationship's properties in parentheses.

    ``"kitchen incident takes place kitchen (time of day is morning)."``
    """
    properties = ", ".join(
        f"{_spaced(key)} is {_value(value)}"
        for key, value in sorted(hop.edge.properties.items())
        if _says_something(value)
    )
    names = {node: _one_line(entities[node].name) for node in (hop.head, hop.tail)}
    return _say_hop(hop, names, phrasing, f" ({properties})" if properties else "")


def _say_hop(hop: Hop, names: Mapping[str, str], phrasing: Phrasing, told: str = "") -> str:
    return _say(hop.edge.type, hop.forward, names[hop.head], names[hop.tail], phrasing, told)


def _say(
    type_: str, forward: bool, head: str, tail: str, phrasing: Phrasing, told: str = ""
) -> str:
    """Say one step from head to tail, both by name."""
    forwards, backwards = phrasing.get(type_, ("", ""))
    if not forward and backwards:
        return f"{head} {backwards} {tail}{told}."
    words = forwards or relation_phrase(type_)
    return f"{head} {words} {tail}{told}." if forward else f"{tail} {words} {head}{told}."


@lru_cache(maxsize=4096)
def relation_phrase(relation_type: str) -> str:
    """Give the words of a relationship type.

    ``LOCATED_IN`` → ``is located in``, ``isFriendOf`` → ``is friend of``, ``/film/directed.by`` →
    ``film directed by``. A participle with ``by``, and place words with ``in``, ``at`` or ``on``,
    get an ``is`` in front; everything else is left as it is, since a type may be a noun.
    """
    phrase = _spaced(relation_type)
    tokens = phrase.split()
    passive = len(tokens) == 2 and tokens[0].endswith(("ed", "en")) and tokens[1] == "by"
    placed = len(tokens) == 2 and tokens[0] in _PLACED and tokens[1] in ("in", "at", "on")
    return f"is {phrase}" if passive or placed else phrase or relation_type


_PLACED = frozenset({"located", "based", "situated", "set", "held", "housed", "found", "kept"})
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NO_WORD = re.compile(r"[^\w]+|_+", re.UNICODE)


@lru_cache(maxsize=4096)
def _spaced(name: str) -> str:
    return _NO_WORD.sub(" ", _CAMEL.sub(" ", name)).strip().lower()


def _says_something(value: Any) -> bool:
    return value is not None and value != "" and value != [] and value != {}


def _value(value: Any) -> str:
    if isinstance(value, bool):
        text = "yes" if value else "no"
    elif isinstance(value, (list, tuple)):
        text = ", ".join(_value(item) for item in value)
    elif isinstance(value, Mapping):
        text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    else:
        text = str(value)
    text = _one_line(text)
    if len(text) > _MAX_VALUE_CHARACTERS:
        return text[: _MAX_VALUE_CHARACTERS - 1].rstrip() + "…"
    return text


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _sentence(text: str) -> str:
    text = _one_line(text)
    return text if text.endswith((".", "!", "?", "…")) else text + "."


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
