"""The lookup table: what the names of relations are worth once the form of a question is known."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import combinations

from pathrag_gds.errors import ConfigError
from pathrag_gds.evaluation.graph import Graph
from pathrag_gds.evaluation.opponents.ranked import in_order
from pathrag_gds.evaluation.questions import Chain, Question
from pathrag_gds.evaluation.systems import Asked, Opponent, Ranking, Setting
from pathrag_gds.retrieve.link import choose_anchors, mentions
from pathrag_gds.text import fold, words

__all__ = ["Entry", "Form", "Template", "learn", "masked", "template"]

_MASK = "*"

Form = tuple[str, ...]
"""The words of a question, folded, with ``*`` for each topic."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What training says of a form.

    Attributes:
        chains: The most frequent gold chains, one for each ``*`` in order.
        count: Training questions that have the form and these chains.
        total: Training questions that have the form.
    """

    chains: tuple[Chain, ...]
    count: int
    total: int


def masked(text: str, names: Sequence[str]) -> tuple[Form, tuple[int, ...]] | None:
    """Replace each name in a text by ``*``, whatever its case, accents, brackets or underscores.

    Of several places the last is meant, since a question begins with its question word; longer
    names are looked for first.

    Returns:
        The form, and for each ``*`` in order the index of its name; None where a name is not there.
    """
    told = words(text)
    places: dict[int, int] = {}
    taken: set[int] = set()
    for index in sorted(range(len(names)), key=lambda i: -len(words(names[i]))):
        name = words(names[index])
        span = next(
            (
                range(at, at + len(name))
                for at in range(len(told) - len(name), -1, -1)
                if told[at : at + len(name)] == name and taken.isdisjoint(range(at, at + len(name)))
            ),
            None,
        )
        if not name or span is None:
            return None
        taken.update(span)
        places[span.start] = index
    form = [
        _MASK if at in places else word
        for at, word in enumerate(told)
        if at in places or at not in taken
    ]
    return tuple(form), tuple(index for _, index in sorted(places.items()))


def learn(questions: Iterable[Question], names: Mapping[str, str]) -> dict[Form, Entry]:
    """Make the table of questions whose topics and gold chains are known.

    Args:
        questions: Those to learn from; others among them are passed over.
        names: Of entities by id.
    """
    seen: dict[Form, Counter[tuple[Chain, ...]]] = defaultdict(Counter)
    for question in questions:
        topics, chains = question.topics, question.chains
        if not topics or not chains:
            continue
        found = masked(question.text, [names.get(id_, id_) for id_ in topics])
        if found is None:
            continue
        form, order = found
        of_topic = chains * len(topics) if len(chains) == 1 else chains
        seen[form][tuple(of_topic[index] for index in order)] += 1
    table = {}
    for form, counts in seen.items():
        chains, count = min(counts.items(), key=lambda item: (-item[1], item[0]))
        table[form] = Entry(chains, count, counts.total())
    return table


@dataclass(frozen=True, slots=True)
class Template:
    """Look the form of a question up and follow its chain.

    The whole of it needs no model, only training questions of the same forms; with the topic given
    it has Hit@1 .974, 1.000 and 1.000 on the one-, two- and three-hop questions of MetaQA. What a
    trained system scores there says little beyond that.

    A form that training does not have gets no answer. ``confidence`` is the share of the form's
    training questions that have the chain, and is there for forms that are known: so the number of
    answers with a confidence is the table's coverage.

    Where no topic is given, names in the question are linked as the search links them, and the form
    of most training questions among the ways to mask them counts. All ends of the chain are
    predicted; of several topics, the ends that all of them reach.

    Attributes:
        graph: In which chains are followed: what the load left in the database.
    """

    table: Mapping[Form, Entry]
    graph: Graph
    called: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    name: str = "template"

    @property
    def fingerprint(self) -> str:
        """Give the short hex that names this table."""
        told = repr(sorted((form, entry.chains) for form, entry in self.table.items()))
        return sha256(told.encode()).hexdigest()[:16]

    def rank(self, asked: Asked) -> Ranking:
        """Answer one question; no answers where its form is unknown or the chain leads nowhere."""
        began = time.perf_counter()
        ends: set[str] = set()
        sure: float | None = None
        for entry, topics in self._candidates(asked):
            if sure is None:
                sure = round(entry.count / entry.total, 6)
            ends = self._ends(entry.chains, topics, returns=asked.question.returns)
            if ends:
                sure = round(entry.count / entry.total, 6)
                break
        answers = in_order(asked.question.text, {end: () for end in ends})
        wall = (time.perf_counter() - began) * 1000
        return Ranking(
            answers=answers,
            predicted=frozenset(answers),
            confidence=sure,
            millis={"wall": round(wall, 3)},
        )

    def _candidates(self, asked: Asked) -> Iterator[tuple[Entry, tuple[str, ...]]]:
        """Give known entries with the topics for their chains, the most frequent form first."""
        found = []
        for topics in self._topics(asked):
            form = masked(asked.text, [self.graph.names.get(id_, id_) for id_ in topics])
            entry = self.table.get(form[0]) if form else None
            if form and entry:
                found.append((entry, tuple(topics[index] for index in form[1])))
        yield from sorted(found, key=lambda item: -item[0].total)

    def _topics(self, asked: Asked) -> Iterator[tuple[str, ...]]:
        if asked.start_ids:
            yield asked.start_ids
            return
        linked = choose_anchors(mentions(asked.text), self.called)
        ids = [anchor.id for anchor in linked]
        for count in sorted({len(entry.chains) for entry in self.table.values()}):
            yield from combinations(ids, count)

    def _ends(self, chains: Sequence[Chain], topics: Sequence[str], *, returns: bool) -> set[str]:
        reached = [
            {path.tail for path in self.graph.walk(topic, chain, returns=returns)}
            for topic, chain in zip(topics, chains, strict=True)
        ]
        return set.intersection(*reached)


def template(setting: Setting) -> Opponent:
    """Learn from the questions that no figures are reported on.

    Raises:
        ConfigError: The set has none, or none whose topic and gold chain are known.
    """
    dataset = setting.dataset
    training = [q for q in dataset.questions if q.bucket not in dataset.report]
    names = dataset.graph.names
    table = learn(training, names)
    if not table:
        raise ConfigError(
            f"{dataset.name} has no training questions for the opponent 'template'.",
            hint="It needs questions outside the reported buckets, with topic and gold chain.",
        )
    called: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for id_, name in sorted(names.items()):
        called[fold(name)].append((id_, name))
    return Template(table, dataset.graph, dict(called))
