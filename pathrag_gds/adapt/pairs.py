"""A user's own questions with their answers: read them, and find the paths that they mean.

Nobody says which path a question means, so the chains of relations that lead from its topic to its
answers and to little else are taken for gold. Where none does, or too many do, the question is left
out and counted.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from pathrag_gds.errors import LoadError
from pathrag_gds.models.training.candidates import Asked
from pathrag_gds.models.training.graph import Chain, Step, TrainingGraph
from pathrag_gds.retrieve.link import choose_anchors, mentions
from pathrag_gds.text import fold
from pathrag_gds.types import Path

__all__ = ["Names", "Pair", "Unused", "gold_of", "read_pairs", "weak_gold"]

LONGEST_CHAIN = 3
# A chain counts when its ends and the answers are this much alike (F1) and it leads to at least
# half of the answers.
_LEAST_LIKENESS = 0.5
_LEAST_RECALL = 0.5
# So many chains that fit equally well say nothing about which one is meant.
_MOST_CHAINS = 2
# What is looked at from one topic: a hub's three steps would lead everywhere.
_MOST_NODES = 200_000
_MOST_TOPICS = 4
_KEYS = frozenset({"question", "answers", "topics"})


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and its answers.

    Attributes:
        question: In plain language.
        answers: Names or ids of entities, or the value of a property of the topic.
        topics: Names or ids of what the question is about; empty where its words tell.
        line: In its file, from 1.
    """

    question: str
    answers: tuple[str, ...]
    topics: tuple[str, ...] = ()
    line: int = 0


@dataclass(slots=True)
class Unused:
    """How many questions gave nothing to learn, and why.

    Attributes:
        no_topic: Nothing that the question names is in the graph.
        no_answer: No answer is in the graph.
        no_chain: No chain of up to three relations leads to the answers and to little else.
        unclear: Several chains do, equally well.
    """

    no_topic: int = 0
    no_answer: int = 0
    no_chain: int = 0
    unclear: int = 0

    @property
    def total(self) -> int:
        """Count them all."""
        return self.no_topic + self.no_answer + self.no_chain + self.unclear


def read_pairs(path: FilePath) -> list[Pair]:
    """Read JSON Lines of ``{"question": …, "answers": […], "topics": […]}``; topics may be absent.

    Raises:
        LoadError: The file cannot be read, a line is wrong (it is named), or there is none.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise LoadError(f"The file cannot be read: {error.strerror}.", path=path) from error
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(_parse(json.loads(line.decode("utf-8-sig")), number))
        except ValueError as error:  # neither JSON nor UTF-8, or no pair
            raise LoadError(
                f"This is no question with answers: {error}.",
                path=path,
                line=number,
                hint='A line looks like {"question": "Who owns Bob?", "answers": ["Jane"]}',
            ) from error
    if not found:
        raise LoadError("There is no question in it.", path=path)
    return found


def _parse(found: Any, line: int) -> Pair:
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    if unknown := sorted(found.keys() - _KEYS):
        raise ValueError(f"unknown key {unknown[0]!r}")
    question = found.get("question")
    if not isinstance(question, str) or not question.strip():
        raise ValueError("'question' is no text")
    answers = _texts(found.get("answers"), "answers")
    if not answers:
        raise ValueError("'answers' is empty")
    return Pair(question, answers, _texts(found.get("topics", []), "topics"), line)


def _texts(values: Any, key: str) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(v, str) and v.strip() for v in values):
        raise ValueError(f"{key!r} is no list of texts")
    return tuple(values)


@dataclass(frozen=True, slots=True)
class Names:
    """The entities of a graph by what they are called.

    Attributes:
        by_key: By folded name or alias, the (id, name) pairs of the entities called so.
    """

    by_key: Mapping[str, Sequence[tuple[str, str]]] = field(repr=False)

    @classmethod
    def of(cls, graph: TrainingGraph) -> Names:
        """Index a graph."""
        by_key: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for entity in graph.entities.values():
            aliases = entity.properties.get("aliases") or ()
            names = [aliases] if isinstance(aliases, str) else aliases
            for name in (entity.name, *map(str, names)):
                by_key[fold(name)].add((entity.id, entity.name))
        return cls({key: sorted(found) for key, found in by_key.items() if key})

    def find(self, name: str, graph: TrainingGraph) -> list[str]:
        """Give the ids of what is called so: the entity of this id, else all of this name."""
        if name in graph.entities:
            return [name]
        return [id_ for id_, _ in self.by_key.get(fold(name), ())]

    def link(self, question: str) -> list[str]:
        """Give the ids of the entities that a question names, as a search links them."""
        return [anchor.id for anchor in choose_anchors(mentions(question), self.by_key)]


def weak_gold(
    pairs: Iterable[Pair], graph: TrainingGraph, names: Names, unused: Unused
) -> Iterator[Asked]:
    """Find the gold of questions; those without are counted in ``unused`` and left out."""
    for pair in pairs:
        asked = _asked(pair, graph, names, unused)
        if asked is not None:
            yield asked


def _asked(pair: Pair, graph: TrainingGraph, names: Names, unused: Unused) -> Asked | None:
    if pair.topics:
        topics = [id_ for topic in pair.topics for id_ in names.find(topic, graph)]
    else:
        topics = names.link(pair.question)
    answers = {id_ for answer in pair.answers for id_ in names.find(answer, graph)}
    topics = [id_ for id_ in dict.fromkeys(topics) if id_ not in answers][:_MOST_TOPICS]
    if not topics:
        unused.no_topic += 1
        return None
    gold: tuple[Path, ...]
    if answers:
        chains = gold_of(graph, topics, answers)
        if not chains:
            unused.no_chain += 1
            return None
        if len(chains) > _MOST_CHAINS:
            unused.unclear += 1
            return None
        gold = tuple(
            path
            for start, chain in chains
            for path in graph.follow(start, chain)
            if path.tail in answers
        )
    else:
        gold = _stated(pair, graph, topics)
        if not gold:
            unused.no_answer += 1
            return None
    return Asked(pair.question, gold, starts=tuple(topics), kind="pair")


def gold_of(
    graph: TrainingGraph, topics: Sequence[str], answers: set[str]
) -> list[tuple[str, Chain]]:
    """Give the chains from a topic whose ends are most like the answers; none where none is.

    Likeness is F1 of ends and answers; of equally good chains the shortest count.

    Returns:
        (topic, chain), in a fixed order; several where several fit equally well.
    """
    ranked: list[tuple[float, int, str, Chain]] = []
    for topic in topics:
        for chain, reached in _chains(graph, topic):
            if len(reached & answers) < _LEAST_RECALL * len(answers):
                continue
            # Some of it may be reached only by a relationship walked twice, which no path does.
            ends = {path.tail for path in graph.follow(topic, chain)}
            right = len(ends & answers)
            likeness = 2 * right / (len(ends) + len(answers))
            if right >= _LEAST_RECALL * len(answers) and likeness >= _LEAST_LIKENESS:
                ranked.append((-likeness, len(chain), topic, chain))
    ranked.sort()
    return [(topic, chain) for *how, topic, chain in ranked if tuple(how) == ranked[0][:2]]


def _chains(graph: TrainingGraph, topic: str) -> Iterator[tuple[Chain, set[str]]]:
    """Give the chains from a node with the nodes that they lead to, shorter ones first."""
    level: list[tuple[Chain, set[str]]] = [((), {topic})]
    looked_at = 0
    for _ in range(LONGEST_CHAIN):
        longer: list[tuple[Chain, set[str]]] = []
        for chain, nodes in level:
            reached: dict[Step, set[str]] = defaultdict(set)
            for node in sorted(nodes):
                for step, hops in graph.steps[node].items():
                    looked_at += len(hops)
                    reached[step].update(hop.tail for hop in hops)
                if looked_at > _MOST_NODES:
                    return
            for step, ends in sorted(reached.items()):
                # As a search does: never back to where it started.
                ends.discard(topic)
                if ends:
                    longer.append(((*chain, step), ends))
                    yield longer[-1]
        level = longer


def _stated(pair: Pair, graph: TrainingGraph, topics: Sequence[str]) -> tuple[Path, ...]:
    """Give the topics that have an answer as the value of a property."""
    wanted = {fold(answer) for answer in pair.answers}
    return tuple(
        Path((topic,))
        for topic in topics
        if any(fold(str(value)) in wanted for value in graph.entities[topic].properties.values())
    )
