"""Questions about a user's graph, with some about made-up worlds so that general skill is kept."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from random import Random
from typing import Any

from pathrag_gds.errors import ConfigError
from pathrag_gds.graph.schema import Ontology, RelationType
from pathrag_gds.models.training.candidates import Asked
from pathrag_gds.models.training.generate import (
    asker_of,
    event_groups,
    groups_of,
    relation_groups,
)
from pathrag_gds.models.training.graph import Chain, TrainingGraph
from pathrag_gds.models.training.groups import Group
from pathrag_gds.models.training.lexicon import Lexicon, RelationWords
from pathrag_gds.models.training.questions import Asker, generic_words
from pathrag_gds.models.training.walks import walk_questions

__all__ = ["GENERAL", "Questions", "asker_for", "generate", "replayed"]

GENERAL = "world"
"""The source of a group that is about a made-up world begins so."""

Progress = Callable[[int, int, str], None]

REPLAY = 0.3
_AT_ONCE = 50
# One chain, or one question, in so many is held out.
_HELD_OUT = 8
# With fewer different chains than this, holding out whole chains would leave relations untaught.
_CHAINS_TO_HOLD_OUT = 40
_PROBED = 300
_CHAINS_TOLD = 0.5
# A description of a relationship type that is longer is prose, not its name.
_MOST_WORDS = 4
# Batches without a new group, after which a graph has nothing more to ask.
_PATIENCE = 20
_ARTICLES = re.compile(r"\b(?:the|an?)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Questions:
    """Groups to learn, and groups to measure with.

    Attributes:
        train: In random order.
        held_out: About the graph, then about made-up worlds.
    """

    train: tuple[Group, ...]
    held_out: tuple[Group, ...]


def generate(
    graph: TrainingGraph,
    ontology: Ontology,
    lexicon: Lexicon,
    count_tokens: Callable[[str], int],
    *,
    train: int,
    held_out: int,
    seed: int = 0,
    progress: Progress | None = None,
) -> Questions:
    """Ask a graph as many questions as wanted, fewer where it is too bare.

    Questions are held out by their chain of relations where there are enough chains, else by start
    and chain, so that none is learnt that is measured.

    Args:
        ontology: Its wordings are used in questions and texts, as a search uses them in texts.
        count_tokens: How the reranker counts.
        train: Groups to learn, three of ten of them about made-up worlds.
        held_out: Groups about the graph to measure with.

    Raises:
        ConfigError: The graph has no relationship, or nothing can be asked about it.
    """
    if not graph.starts:
        raise ConfigError(
            f"Tenant {graph.name!r} has no relationships to ask about.",
            hint="Load some: pathrag load FILES",
        )
    report = progress or (lambda done, total, what: None)
    random = Random(f"adapt {seed}")
    asker = asker_for(graph, ontology, lexicon)
    is_held_out = _splitter(graph, asker, Random(f"probe {seed}"))
    wanted = train - round(train * REPLAY)
    learnt: list[Group] = []
    measured: list[Group] = []
    idle = 0
    while idle < _PATIENCE and (len(learnt) < wanted or len(measured) < held_out):
        asked = list(walk_questions(graph, asker, random, _AT_ONCE))
        before = len(learnt) + len(measured)
        for part, kept, most in (
            ([q for q in asked if is_held_out(q)], measured, held_out),
            ([q for q in asked if not is_held_out(q)], learnt, wanted),
        ):
            found = groups_of(
                part,
                graph,
                random,
                count_tokens,
                chains=_CHAINS_TOLD,
                phrasing=ontology.phrasing,
            )
            kept += islice(found, most - len(kept))
        idle = 0 if len(learnt) + len(measured) > before else idle + 1
        report(len(learnt), train, "questions")
    if not learnt:
        raise ConfigError(
            f"Nothing can be asked about the graph of tenant {graph.name!r}: it is too small.",
            hint="Look at it with: pathrag schema show",
        )
    kept_skill = replayed(lexicon, seed, count_tokens)
    learnt += islice(kept_skill, round(len(learnt) * REPLAY / (1 - REPLAY)))
    report(len(learnt), train, "questions")
    random.shuffle(learnt)
    general = islice(replayed(lexicon, seed + 1, count_tokens), len(measured) // 3)
    return Questions(tuple(learnt), (*measured, *general))


def replayed(lexicon: Lexicon, seed: int, count_tokens: Callable[[str], int]) -> Iterator[Group]:
    """Give groups about made-up worlds without end: events and relations in turn."""
    sources = (
        event_groups(lexicon, seed, count_tokens),
        relation_groups(lexicon, seed, count_tokens),
    )
    while True:
        for source in sources:
            group = next(source)
            yield replace(group, source=f"{GENERAL}/{group.source}")


def asker_for(graph: TrainingGraph, ontology: Ontology, lexicon: Lexicon) -> Asker:
    """Give an asker that also knows the wordings that somebody wrote into the ontology."""
    asker = asker_of(graph, lexicon)
    asker.given = {
        t.name: words
        for t in ontology.relation_types
        if (words := _given_words(t, asker)) is not None
    }
    return asker


def _given_words(relation: RelationType, asker: Asker) -> RelationWords | None:
    """Join the words for a type, for its phrase, its inverse and a short description."""
    domains = tuple(asker.domains.get(relation.name, ()))
    ranges = tuple(asker.ranges.get(relation.name, ()))
    # "was the director of" is asked for as a type "was director of" is.
    phrase, description, inverse = (
        _ARTICLES.sub("", words).strip()
        for words in (relation.phrase, relation.description, relation.inverse)
    )
    names = [phrase, description if len(description.split()) <= _MOST_WORDS else ""]
    found: list[RelationWords] = []
    for name in dict.fromkeys(filter(None, names)):
        found += (*asker.lexicon.find(name), generic_words(name, domains, ranges))
    if inverse:
        backwards = (*asker.lexicon.find(inverse), generic_words(inverse, ranges, domains))
        found += (words.inverted() for words in backwards)
    if not found:
        return None
    return _joined([*asker.lexicon.find(relation.name), *found])


def _joined(found: Sequence[RelationWords]) -> RelationWords:
    def all_of(name: str) -> Any:
        return tuple(dict.fromkeys(form for words in found for form in getattr(words, name)))

    forms = (
        "to_target",
        "to_source",
        "ask_target",
        "ask_source",
        "share_source",
        "share_target",
    )
    return replace(found[-1], **{name: all_of(name) for name in forms})


def _splitter(graph: TrainingGraph, asker: Asker, random: Random) -> Callable[[Asked], bool]:
    """Give what says of a question whether it is held out."""
    probed = walk_questions(graph, asker, random, _PROBED)
    chains = {chain for asked in probed for chain in _chains(asked)}
    whole = sum(len(chain) > 1 for chain in chains) >= _CHAINS_TO_HOLD_OUT

    def is_held_out(asked: Asked) -> bool:
        # A question with two conditions must not teach a chain that is measured.
        return any(is_drawn(asked, chain) for chain in _chains(asked))

    def is_drawn(asked: Asked, chain: Chain) -> bool:
        # Every single relation must be learnt, so those are held out question by question.
        parts: Iterable[object] = chain
        if not (whole and len(chain) > 1):
            parts = (asked.starts, chain, asked.kind if not chain else "")
        digest = hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass"))
        return digest.digest()[0] % _HELD_OUT == 0

    return is_held_out


def _chains(asked: Asked) -> tuple[Chain, ...]:
    """List the chains that a question asks for: two where it has two conditions."""
    chains = (tuple((hop.edge.type, hop.forward) for hop in path.hops) for path in asked.gold)
    return tuple(dict.fromkeys(chains))
