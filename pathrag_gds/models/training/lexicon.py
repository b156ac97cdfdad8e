"""The words that questions are made of: relations, events, attributes, places and names.

The files of ``lexicon/`` are written by hand from general knowledge of English, not taken from any
set of questions. ``{x}`` in a form stands for what is asked about: a name, or a phrase for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from pathrag_gds.errors import ModelError

__all__ = [
    "Attribute",
    "Frame",
    "Implied",
    "Lexicon",
    "PlaceWords",
    "RelationWords",
    "Thing",
    "load_lexicon",
    "stems",
]

FOLDER = Path(__file__).with_name("lexicon")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Thing:
    """A kind of thing at an end of a relation.

    Attributes:
        nouns: (singular, plural) pairs, the most usual first.
    """

    kind: str
    nouns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RelationWords:
    """How one relation is named in graphs and asked for in questions.

    Attributes:
        types: Names of the relation stored from source to target, lower case words.
        inverse_types: Names of it stored from target to source.
        to_target: Phrases for the targets of the source ``{x}``.
        to_source: Phrases for the sources of the target ``{x}``.
        ask_target: Questions for the targets of the source ``{x}``, without a question mark.
        ask_source: Questions for the sources of the target ``{x}``.
        share_source: Phrases for the targets that have a source in common with the target ``{x}``.
        share_target: Phrases for the sources that have a target in common with the source ``{x}``.
    """

    types: tuple[str, ...]
    inverse_types: tuple[str, ...]
    source: Thing
    target: Thing
    to_target: tuple[str, ...]
    to_source: tuple[str, ...]
    ask_target: tuple[str, ...]
    ask_source: tuple[str, ...]
    share_source: tuple[str, ...]
    share_target: tuple[str, ...]
    many_targets: bool
    many_sources: bool
    symmetric: bool

    def inverted(self) -> RelationWords:
        """Give the same relation seen from its target."""
        return RelationWords(
            types=self.inverse_types,
            inverse_types=self.types,
            source=self.target,
            target=self.source,
            to_target=self.to_source,
            to_source=self.to_target,
            ask_target=self.ask_source,
            ask_source=self.ask_target,
            share_source=self.share_target,
            share_target=self.share_source,
            many_targets=self.many_sources,
            many_sources=self.many_targets,
            symmetric=self.symmetric,
        )


@dataclass(frozen=True, slots=True)
class Frame:
    """A kind of event: who takes part, how it is told, and how it is asked about.

    Attributes:
        roles: Kinds of thing that may play each role; ``agent`` is always there.
        fillers: Common nouns, without article, for roles that no named thing plays.
        titles: What a node of such an event is called.
        descriptions: Sentences that tell it, in other words than the questions.
        clauses: Past tense, after "when …".
        did: Base form, after "where did …".
        nominals: Noun phrases, in "where did … take place".
    """

    kind: str
    roles: Mapping[str, tuple[str, ...]]
    fillers: Mapping[str, tuple[str, ...]]
    titles: tuple[str, ...]
    descriptions: tuple[str, ...]
    clauses: tuple[str, ...]
    did: tuple[str, ...]
    nominals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Implied:
    """What an event says of those who took part, asked as if it were a relation.

    Attributes:
        kinds: Kinds of event that imply it: who became friends are friends.
        known: Role of ``{x}``.
        asked: Role of the answer.
        symmetric: The roles may be the other way round.
    """

    kinds: tuple[str, ...]
    known: str
    asked: str
    symmetric: bool
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Attribute:
    """A property: its keys, values, and the questions for it about ``{x}``.

    Attributes:
        statements: Sentences that state value ``{v}`` of ``{x}``.
    """

    keys: tuple[str, ...]
    kinds: tuple[str, ...]
    values: tuple[str, ...]
    questions: tuple[str, ...]
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlaceWords:
    """A kind of place: its nouns, what it lies in, and how it is asked for.

    Attributes:
        inside: Kinds of place that contain it.
        which: Openings such as "in which house".
        relation_types: Names of the relation to what contains it.
    """

    kind: str
    nouns: tuple[tuple[str, str], ...]
    inside: tuple[str, ...]
    which: tuple[str, ...]
    relation_types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All words. Tuples are in the order of the files, files in the order of their names."""

    relations: tuple[RelationWords, ...]
    frames: tuple[Frame, ...]
    implied: tuple[Implied, ...]
    attributes: tuple[Attribute, ...]
    places: tuple[PlaceWords, ...]
    names: Mapping[str, Any]

    def find(self, relation_type: str) -> tuple[RelationWords, ...]:
        """Give the relations that a relationship type may mean, each from start to end node.

        A name of the relation in the same words wins, then one in the same stems; otherwise the
        entries whose name shares at least half of all stems with it, the best only.
        """
        wanted = stems(relation_type)
        if not wanted:
            return ()
        spelt = _words(relation_type)
        found: list[tuple[float, RelationWords]] = []
        for entry in self.relations:
            for words, seen in ((entry.types, entry), (entry.inverse_types, entry.inverted())):
                if any(_words(name) == spelt for name in words):
                    found.append((2.0, seen))
                    continue
                score = max((_likeness(wanted, stems(name)) for name in words), default=0.0)
                if score >= _NEAR:
                    found.append((score, seen))
        best = max((score for score, _ in found), default=0.0)
        return tuple(seen for score, seen in found if score == best)


_NEAR = 0.5
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# They make no difference to what a relation is, but their absence may: "parent" / "parent of".
_FILLERS = frozenset({"is", "has", "was", "a", "an", "the", "are", "have", "been"})
_ENDINGS = ("ings", "ing", "ers", "ors", "ies", "er", "or", "ed", "es", "s", "e", "y")


@lru_cache(maxsize=16384)
def stems(name: str) -> tuple[str, ...]:
    """Give the stems of the words of a name in order: ``isDirectedBy`` → ``("direct", "by")``."""
    words = _words(name)
    kept = [w for w in words if w not in _FILLERS] or words
    return tuple(_stem(word) for word in kept)


@lru_cache(maxsize=16384)
def _words(name: str) -> tuple[str, ...]:
    return tuple(w.lower() for w in _WORD.findall(_CAMEL.sub(" ", name)))


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _likeness(a: Sequence[str], b: Sequence[str]) -> float:
    if tuple(a) == tuple(b):
        return 1.0
    common = len(set(a) & set(b))
    # Never 1 for another order of words: "parent of" is not "of parent".
    return min(common / len(set(a) | set(b)), 0.99)


@lru_cache(maxsize=1)
def load_lexicon() -> Lexicon:
    """Read the lexicon of the package.

    Raises:
        ModelError: A line is not what its file should hold; file and line are named.
    """
    return Lexicon(
        relations=_read("relations_*.jsonl", _relation),
        frames=_read("events_*.jsonl", _frame),
        implied=_read("implied.jsonl", _implied),
        attributes=_read("attributes.jsonl", _attribute),
        places=_read("places.jsonl", _place),
        names=json.loads((FOLDER / "names.json").read_text(encoding="utf-8")),
    )


def _read(pattern: str, make: Callable[[Any], T]) -> tuple[T, ...]:
    found: list[T] = []
    for path in sorted(FOLDER.glob(pattern)):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                found.append(make(json.loads(line)))
            except (ValueError, KeyError, TypeError) as error:
                raise ModelError(f"{path.name}, line {number}: {error!r}") from error
    return tuple(found)


def _relation(entry: Any) -> RelationWords:
    lists = {
        key: tuple(entry[key])
        for key in (
            "types",
            "inverse_types",
            "to_target",
            "to_source",
            "ask_target",
            "ask_source",
            "share_source",
            "share_target",
        )
    }
    return RelationWords(
        source=_thing(entry["source"]),
        target=_thing(entry["target"]),
        many_targets=bool(entry["many_targets"]),
        many_sources=bool(entry["many_sources"]),
        symmetric=bool(entry["symmetric"]),
        **lists,
    )


def _thing(entry: Any) -> Thing:
    return Thing(entry["kind"], tuple((one, many) for one, many in entry["nouns"]))


def _frame(entry: Any) -> Frame:
    return Frame(
        kind=entry["kind"],
        roles={role: tuple(kinds) for role, kinds in entry["roles"].items()},
        fillers={role: tuple(words) for role, words in entry.get("fillers", {}).items()},
        titles=tuple(entry["titles"]),
        descriptions=tuple(entry["descriptions"]),
        clauses=tuple(entry["clauses"]),
        did=tuple(entry["did"]),
        nominals=tuple(entry["nominals"]),
    )


def _implied(entry: Any) -> Implied:
    return Implied(
        tuple(entry["kinds"]),
        entry["known"],
        entry["asked"],
        bool(entry["symmetric"]),
        tuple(entry["questions"]),
    )


def _attribute(entry: Any) -> Attribute:
    return Attribute(
        *(tuple(entry[key]) for key in ("keys", "kinds", "values", "questions", "statements"))
    )


def _place(entry: Any) -> PlaceWords:
    return PlaceWords(
        kind=entry["kind"],
        nouns=tuple((one, many) for one, many in entry["nouns"]),
        inside=tuple(entry["inside"]),
        which=tuple(entry["which"]),
        relation_types=tuple(entry["relation_types"]),
    )
