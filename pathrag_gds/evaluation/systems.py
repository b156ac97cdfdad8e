"""What is measured: our search, and opponents that answer the same questions.

An opponent is anything that ranks answers; :data:`OPPONENTS` holds them by name. One that is our
search with another reranker is made by :meth:`Setting.system`, and is measured like ours in full.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

from pathrag_gds.answer.prompt import CountTokens, build_prompt
from pathrag_gds.config import SearchConfig
from pathrag_gds.errors import ConfigError
from pathrag_gds.evaluation.datasets.dataset import Dataset
from pathrag_gds.evaluation.questions import AnswerKey, Condition, Question
from pathrag_gds.graph.database import Database
from pathrag_gds.graph.schema import Ontology
from pathrag_gds.models.encoder import Encoder
from pathrag_gds.models.reranker import (
    CosineReranker,
    PathScore,
    Reranker,
    confidence_of,
    reader_of,
)
from pathrag_gds.retrieve.score import Child, Scorer
from pathrag_gds.retrieve.strategy import choose
from pathrag_gds.text import words
from pathrag_gds.types import Entity, Explanation, RankedPath

if TYPE_CHECKING:
    from pathrag_gds.answer.methods import RankingName

__all__ = [
    "OPPONENTS",
    "PROMPT_PATHS",
    "Asked",
    "Asks",
    "Opponent",
    "RandomReranker",
    "Ranking",
    "Setting",
    "WordOverlapReranker",
    "find_opponent",
]


PROMPT_PATHS = 15
"""Paths of a prompt whose tokens are counted: the K of PathRAG's paper."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it is asked under a condition.

    Attributes:
        text: What is asked.
        start_ids: Topics, where the condition gives them.
    """

    question: Question
    text: str
    start_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranking:
    """What a system answers.

    Attributes:
        answers: Best first.
        predicted: Those that it gives as the whole answer; None for the first alone.
        confidence: Of the first answer, in [0, 1]; None where the system has none.
        explanation: How our search came to it; None for other systems.
        candidates_right: By candidate, best first, whether a gold answer is on it; for questions
            that bring their candidates with them.
        passages: Ids of chunks, best first, where a system ranks them itself; None where it does
            not: of our search they follow from the explanation.
        texts_scored: Texts that a model read.
        round_trips: Statements that were run.
        context_tokens: Of the prompt for a language model that :data:`PROMPT_PATHS` paths make,
            without passages; None for other systems than our search.
        millis: Wall time by stage, ``wall`` for all of it.
    """

    answers: tuple[AnswerKey, ...]
    predicted: frozenset[AnswerKey] | None = None
    confidence: float | None = None
    explanation: Explanation | None = None
    candidates_right: tuple[bool, ...] = ()
    passages: tuple[str, ...] | None = None
    texts_scored: int = 0
    round_trips: int = 0
    context_tokens: int | None = None
    millis: Mapping[str, float] = field(default_factory=dict)


class Opponent(Protocol):
    """A system that answers questions.

    Attributes:
        name: In tables and file names.
        fingerprint: Changes with whatever changes its answers.
    """

    @property
    def name(self) -> str: ...

    @property
    def fingerprint(self) -> str: ...

    def rank(self, asked: Asked) -> Ranking:
        """Answer one question; no answers where it finds none."""
        ...


class Asks(Protocol):
    """The public search, as far as it is needed here (:class:`pathrag_gds.PathRAG`)."""

    def explain(
        self,
        question: str,
        *,
        tenant: str | None = None,
        config: SearchConfig | None = None,
        start_ids: Sequence[str] = (),
        **overrides: Any,
    ) -> Explanation: ...


@dataclass(frozen=True, slots=True)
class Setting:
    """What an opponent may use to set itself up.

    Attributes:
        dataset: With the questions of all buckets: those outside ``dataset.report`` may train.
        condition: In which questions are asked.
        config: Of our search.
        encoder: The one that embedded the graph.
        reranker: Of our search.
        tenant: Where the graph is; empty where there is none.
        database: None where there is no graph to search.
        ask_with: Gives our search with another reranker.
        seed: For whatever is random.
    """

    dataset: Dataset
    condition: Condition
    config: SearchConfig
    encoder: Encoder
    reranker: Reranker
    tenant: str = ""
    database: Database | None = None
    ask_with: Callable[[Reranker], Asks] | None = None
    seed: int = 0

    def system(self, reranker: Reranker, name: str) -> Opponent:
        """Give our search with a reranker; where there is no graph, the reranker alone."""
        if self.ask_with is None:
            return _Candidates(name, reranker, self.config, self.encoder)
        asks = self.ask_with(reranker)
        return _Search(name, reranker, asks, self.tenant, self.config, self.encoder.count_tokens)


@dataclass(frozen=True, slots=True)
class _Search:
    name: str
    reranker: Reranker
    asks: Asks
    tenant: str
    config: SearchConfig
    count_tokens: CountTokens

    @property
    def fingerprint(self) -> str:
        return self.reranker.fingerprint

    def rank(self, asked: Asked) -> Ranking:
        began = time.perf_counter()
        explanation = self.asks.explain(
            asked.text, tenant=self.tenant, config=self.config, start_ids=asked.start_ids
        )
        wall = (time.perf_counter() - began) * 1000
        result = explanation.result
        shown = replace(result, paths=result.paths[:PROMPT_PATHS])
        return Ranking(
            answers=tuple((answer.id, answer.property) for answer in result.answers),
            predicted=same_chain(explanation),
            confidence=result.answers[0].confidence if result.answers else None,
            explanation=explanation,
            texts_scored=result.stats.texts_scored,
            round_trips=result.stats.round_trips,
            context_tokens=build_prompt(shown, count_tokens=self.count_tokens).tokens,
            millis={**result.stats.millis, "wall": round(wall, 3)},
        )


def same_chain(explanation: Explanation) -> frozenset[AnswerKey]:
    """Give the answers that have the relations and the start of the first answer's.

    That is the set a question asks for ("which films …"): one chain, all its ends. They are those
    of its pattern; without one, those of the paths that are shown.
    """
    result = explanation.result
    if not result.answers:
        return frozenset()
    if (pattern := result.answers[0].pattern) is not None:
        return frozenset((a.id, a.property) for a in result.answers if a.pattern == pattern)
    if not result.answers[0].paths:
        return frozenset({(result.answers[0].id, result.answers[0].property)})
    first = _chain(result.paths[result.answers[0].paths[0] - 1])
    ranks = {path.rank for path in result.paths if _chain(path) == first}
    return frozenset((a.id, a.property) for a in result.answers if not ranks.isdisjoint(a.paths))


def _chain(ranked: RankedPath) -> tuple[object, ...]:
    hops = ranked.path.hops
    return (ranked.path.start, *((hop.edge.type, hop.forward) for hop in hops))


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Put the candidates of a question in order by a reranker alone."""

    name: str
    reranker: Reranker
    config: SearchConfig
    encoder: Encoder

    @property
    def fingerprint(self) -> str:
        return self.reranker.fingerprint

    def rank(self, asked: Asked) -> Ranking:
        began = time.perf_counter()
        candidates = asked.question.candidates
        entities = {id_: Entity(id_, id_) for path in candidates for id_ in path.nodes}
        reader = reader_of(self.reranker, self.encoder)
        budgets = (self.config.text_budget, reader.max_tokens)
        scorer = Scorer(
            question=asked.text,
            config=self.config.with_(rerank_limit=0),
            reranker=self.reranker,
            phrasing={},
            budget=min((budget for budget in budgets if budget), default=0),
            count_tokens=reader.count_tokens,
            stop=lambda: False,
            strategy=choose(self.config.strategy, self.reranker, Ontology("")).strategy,
        )
        readings, _, _ = scorer.read([Child(path) for path in candidates], entities)
        place = {path: row for row, path in enumerate(candidates)}
        readings.sort(key=lambda reading: (-reading.answer, place[reading.child.path]))
        paths = [reading.child.path for reading in readings]
        gold = asked.question.entities
        wall = (time.perf_counter() - began) * 1000
        best = confidence_of(self.reranker, readings[0].answer) if readings else None
        return Ranking(
            answers=tuple(dict.fromkeys((path.tail, "") for path in paths)),
            confidence=best,
            candidates_right=tuple(not gold.isdisjoint(path.nodes) for path in paths),
            texts_scored=len(scorer.scores),
            millis={"wall": round(wall, 3)},
        )


class RandomReranker:
    """Score by chance: the floor of every ranking. The same for a seed, question and text."""

    name = "random"

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    @property
    def fingerprint(self) -> str:
        """Give the short hex that names these scores."""
        return f"{self._seed:016x}"

    def score(self, question: str, texts: Sequence[str]) -> list[PathScore]:
        """Score each text from 0 to 1, in order; no texts, no scores."""
        return [self._score(question, text) for text in texts]

    def _score(self, question: str, text: str) -> PathScore:
        digest = sha256(f"{self._seed}\0{question}\0{text}".encode()).digest()
        value = round(int.from_bytes(digest[:8], "big") / 2**64, 6)
        return PathScore(value, value)


class WordOverlapReranker:
    """Score by the share of the question's words that the text has: a floor without a model."""

    name = "word-overlap"
    fingerprint = "words-1"

    def score(self, question: str, texts: Sequence[str]) -> list[PathScore]:
        """Score each text from 0 to 1, in order; no texts, no scores."""
        asked = set(words(question))
        shares = (len(asked.intersection(words(text))) / max(len(asked), 1) for text in texts)
        return [PathScore(value, value) for value in (round(share, 6) for share in shares)]


Factory = Callable[[Setting], Opponent]


# The other opponents are built on what stands above, so they are imported when one is wanted.


def _template(setting: Setting) -> Opponent:
    from pathrag_gds.evaluation.opponents.template import template

    return template(setting)


def _pagerank(setting: Setting) -> Opponent:
    from pathrag_gds.evaluation.opponents.pagerank import pagerank

    return pagerank(setting)


def _proprag(setting: Setting) -> Opponent:
    from pathrag_gds.evaluation.opponents.proprag import proprag

    return proprag(setting)


def _graphrag_hybrid(setting: Setting) -> Opponent:
    from pathrag_gds.evaluation.opponents.hybrid import graphrag_hybrid

    return graphrag_hybrid(setting)


def _hybrid(setting: Setting) -> Opponent:
    from pathrag_gds.evaluation.opponents.fused import fused

    return fused(setting)


def _alone(ranking: RankingName) -> Factory:
    def factory(setting: Setting) -> Opponent:
        from pathrag_gds.evaluation.opponents.fused import alone

        return alone(setting, ranking)

    return factory


def _recorded(name: str) -> Factory:
    def factory(setting: Setting) -> Opponent:
        from pathrag_gds.evaluation.opponents.recorded import recorded

        return recorded(setting, name)

    return factory


OPPONENTS: dict[str, Factory] = {
    "random": lambda setting: setting.system(RandomReranker(setting.seed), "random"),
    "word-overlap": lambda setting: setting.system(WordOverlapReranker(), "word-overlap"),
    "cosine": lambda setting: setting.system(CosineReranker(setting.encoder), "cosine"),
    "template": _template,
    "pagerank": _pagerank,
    "proprag": _proprag,
    "graphrag-hybrid": _graphrag_hybrid,
    "hybrid": _hybrid,
    "path-ranking": _alone("path"),
    "community-ranking": _alone("community"),
    "vector-ranking": _alone("vector"),
    "text-ranking": _alone("text"),
    "fast-graphrag": _recorded("fast-graphrag"),
    "lightrag": _recorded("lightrag"),
    "plain-vectors": _recorded("plain-vectors"),
}
"""By name, what sets an opponent up for a data set and a condition."""


def find_opponent(name: str) -> Factory:
    """Give what sets up an opponent.

    Raises:
        ConfigError: There is none of that name.
    """
    if name not in OPPONENTS:
        raise ConfigError(
            f"There is no opponent {name!r}.", hint="Known: " + ", ".join(sorted(OPPONENTS))
        )
    return OPPONENTS[name]
