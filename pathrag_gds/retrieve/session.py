"""What every search does, whatever its beam is made of: ask, count, keep time, find starts, show.

A session belongs to one question. Its generators yield
:class:`~pathrag_gds.retrieve.statements.Request` and are sent rows; nothing here does any I/O.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from pathrag_gds import telemetry
from pathrag_gds.config import SearchConfig
from pathrag_gds.errors import QueryTimeout
from pathrag_gds.graph.database import Row
from pathrag_gds.graph.queries import load
from pathrag_gds.graph.schema import Ontology
from pathrag_gds.models.reranker import Reranker, confidence_of
from pathrag_gds.retrieve.filters import Predicate, all_of, compile_filter
from pathrag_gds.retrieve.intent import asked_type
from pathrag_gds.retrieve.keywords import Keyword, merged
from pathrag_gds.retrieve.restrict import allowed_types
from pathrag_gds.retrieve.scope import Scope
from pathrag_gds.retrieve.score import Scorer
from pathrag_gds.retrieve.seeds import (
    OVER_FETCH,
    Seeds,
    known_words,
    longer,
    read_seeds,
    seeds_request,
)
from pathrag_gds.retrieve.shapes import Shape, shape_of
from pathrag_gds.retrieve.statements import Request, entity_of_row
from pathrag_gds.retrieve.strategy import Choice, choose
from pathrag_gds.retrieve.terms import WordTerms, word_terms
from pathrag_gds.types import Cut, DepthTrace, Entity, Path, Source, TracedPath

__all__ = ["Asking", "SearchContext", "Session"]

Asking = Generator[Request, list[Row], list[Row]]

_LEAST_TIMEOUT_S = 1.0


class _Steers(Protocol):
    @property
    def steer(self) -> float: ...


Steered = TypeVar("Steered", bound=_Steers)


@dataclass(frozen=True, slots=True)
class SearchContext:
    """What a search needs to know besides the question: read once, shared by many searches.

    Attributes:
        tenant: Whose graph is searched.
        ontology: Its types, which the branches of the expansion are made of.
        reranker: Scores texts against the question.
        question_vector: Unit vector of the question; None where the tenant has no vectors.
        vector_index: Name of the vector index in force.
        vector_property: Property that it indexes.
        small: The tenant is small enough to be scanned.
        crowding: Entities of all tenants for each of this one's, at least 1: so much further an
            index must reach.
        names_index: There is an index of whole names.
        text_limit: Tokens that the reranker reads; 0 for no limit.
        count_tokens: How the reranker counts.
        setup_round_trips: What it took to know all this.
        clock: Seconds, monotonic.
        warnings: Put into the result.
        scope: Where every path stays.
    """

    tenant: str
    ontology: Ontology
    reranker: Reranker
    question_vector: tuple[float, ...] | None = None
    vector_index: str = "entity_embedding"
    vector_property: str = "embedding"
    small: bool = True
    crowding: int = 1
    names_index: bool = False
    text_limit: int = 0
    count_tokens: Callable[[str], int] | None = None
    setup_round_trips: int = 0
    clock: Callable[[], float] = time.perf_counter
    warnings: tuple[str, ...] = ()
    scope: Scope = field(default_factory=Scope)


@dataclass(slots=True)
class Session:
    """What one search knows so far.

    Attributes:
        keywords: What starts are looked for by; none for the question itself.
        entities: Every entity met, by id.
        start_rank: Place of each start among anchors and seeds, from 0.
        link_score: Of the anchors, by id.
        cut: How many candidates were dropped, by depth and reason.
        truncated: Nodes whose relationships were not all read.
        millis: Wall time by stage.
        depth: Expansions that were run.
        level: Depth that is being worked at; None before the first scores and after the last.
        candidates: Paths, or chains, that were considered.
        partial: The time was up.
        unproved: No path between what is named shows that what is asked is so.
        shape: What the question asks for; known from :meth:`begin` on.
        prior: What flow thinks of a path, by its nodes, in [0, 1]; None where it counts nothing.
        words: What its words ask for, apart from the names in it; known from then on, too.
        allowed: Relationship types that intent restricts the search to; empty for all.
    """

    question: str
    config: SearchConfig
    context: SearchContext
    trace: list[DepthTrace] | None
    start_ids: tuple[str, ...] = ()
    keywords: tuple[Keyword, ...] = ()
    entities: dict[str, Entity] = field(default_factory=dict)
    start_rank: dict[str, int] = field(default_factory=dict)
    link_score: dict[str, float] = field(default_factory=dict)
    cut: Counter[tuple[int, str]] = field(default_factory=Counter)
    truncated: set[str] = field(default_factory=set)
    millis: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    round_trips: int = 0
    depth: int = 0
    level: int | None = None
    candidates: int = 0
    partial: bool = False
    unproved: bool = False
    began: float = 0.0
    prior: Callable[[Sequence[str]], float] | None = None
    seed_filter: Predicate = field(init=False)
    hop_filter: Predicate = field(init=False)
    choice: Choice = field(init=False)
    scorer: Scorer = field(init=False)
    shape: Shape = field(init=False)
    words: WordTerms = field(default_factory=WordTerms)
    allowed: tuple[str, ...] = ()
    _told: dict[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.began = self.context.clock()
        self.seed_filter = self._filter("e")
        self.hop_filter = self._filter("m", "r")
        budgets = (self.config.text_budget, self.context.text_limit)
        self.choice = choose(self.config.strategy, self.context.reranker, self.context.ontology)
        self.scorer = Scorer(
            question=self.question,
            config=self.config,
            reranker=self.context.reranker,
            phrasing=self.context.ontology.phrasing,
            budget=min((budget for budget in budgets if budget), default=0),
            count_tokens=self.context.count_tokens,
            stop=self.out_of_time,
            strategy=self.choice.strategy,
        )

    # Statements

    def ask(self, stage: str, request: Request) -> Asking:
        """Yield a request, count it and time it.

        Under a time limit the server stops the statement when the time is up; that gives no rows.
        """
        began = self.context.clock()
        # The span of a statement is the driver's: none may be open over a ``yield``.
        asked = replace(self._limited(request), stage=stage, depth=self.level)
        try:
            rows = yield asked
        except QueryTimeout:
            if self.config.time_limit_s is None:
                raise
            self.partial = True
            rows = []
        self.millis[stage] += (self.context.clock() - began) * 1000
        self.round_trips += 1
        return rows

    def _limited(self, request: Request) -> Request:
        limit = self.config.time_limit_s
        if limit is None or self.partial:
            return request
        # What is left, but long enough to fetch what is shown of the best so far.
        left = max(limit - (self.context.clock() - self.began), _LEAST_TIMEOUT_S)
        return replace(request, query=replace(request.query, timeout_s=left))

    def find_seeds(self) -> Generator[Request, list[Row], Seeds]:
        """Find anchors and seeds of the question, or of each keyword in its place."""
        if not self.keywords or self.start_ids:
            return (yield from self._seeds_of(self.question, self.context.question_vector))
        found = []
        for keyword in self.keywords:
            found.append((yield from self._seeds_of(keyword.text, keyword.vector)))
        return merged(found, self.config.seed_k)

    def _seeds_of(
        self, text: str, vector: Sequence[float] | None
    ) -> Generator[Request, list[Row], Seeds]:
        """Look for a text; ask again with a longer reach while other tenants crowd in."""
        over_fetch = OVER_FETCH * self.context.crowding
        known = known_words(self.context.count_tokens)
        while True:
            request = seeds_request(
                text,
                tenant=self.context.tenant,
                small=self.context.small,
                vector=vector,
                vector_index=self.context.vector_index,
                vector_property=self.context.vector_property,
                predicate=self.seed_filter,
                scope=self.context.scope.predicate("e"),
                config=self.config,
                over_fetch=over_fetch,
                start_ids=self.start_ids,
                names_index=self.context.names_index,
                known=known,
            )
            rows = yield from self.ask("seed", request)
            with telemetry.span("pathrag.link") as span:
                found = read_seeds(
                    text,
                    rows,
                    seed_k=self.config.seed_k,
                    start_ids=self.start_ids,
                    known=known,
                )
                span.set(anchors=len(found.anchors), seeds=len(found.seeds))
                span.tell(
                    names=[anchor.name for anchor in found.anchors],
                    mentions=[anchor.mention for anchor in found.anchors],
                )
            further = longer(request, found.similar)
            if self.context.small or vector is None or further is None:
                return found
            over_fetch = further

    def hydrate(self, ids: Iterable[str]) -> Generator[Request, list[Row], None]:
        """Read everything that is shown of entities."""
        wanted = list(dict.fromkeys(ids))
        request = Request(load("retrieve/hydrate"), {"tenant": self.context.tenant, "ids": wanted})
        for row in (yield from self.ask("hydrate", request)):
            entity = entity_of_row(row)
            self.entities[entity.id] = entity

    def provenance(self, paths: Iterable[Path]) -> Generator[Request, list[Row], dict[str, Source]]:
        """Read which documents the facts of paths were read from, by chunk."""
        ids = {chunk for path in paths for hop in path.hops for chunk in hop.edge.chunk_ids}
        request = Request(
            load("retrieve/provenance"),
            {"tenant": self.context.tenant, "chunk_ids": sorted(ids)},
        )
        rows = yield from self.ask("hydrate", request)
        return {row["chunk"]: Source(row["chunk"], row["document"] or "") for row in rows}

    def predicate(self, node: str, relationship: str) -> Predicate:
        """Give the filters of the search on a node and on the relationship that leads to it."""
        return self._filter(node, relationship)

    # Starts, time, and what is told

    def begin(self, found: Seeds) -> tuple[str, ...]:
        """Take in what the first statement found; give the nodes that paths start from.

        Now it is known what are names in the question, and so what shape it has.
        """
        self.shape = Shape("path", self.question)
        if self.config.intent != "off":
            self.take(shape_of(self.question, found.anchors, self.context.ontology))
            mentions = [anchor.mention for anchor in found.anchors]
            self.words = word_terms(self.shape.core, mentions, self.context.ontology)
        self.entities.update(found.entities)
        self.link_score = {anchor.id: anchor.score for anchor in found.anchors}
        self.scorer.named = frozenset(self.link_score)
        anchors = [a.id for a in found.anchors if self.config.start_from != "seeds"]
        seeds = [s.id for s in found.seeds if self.config.start_from != "anchors" or not anchors]
        # Nothing leads from what is named only to be left out.
        excluded = {id_ for ids in self.shape.excluded for id_ in ids}
        anchors = [id_ for id_ in anchors if id_ not in excluded]
        ids = dict.fromkeys(anchors + seeds)
        self.start_rank = {id_: rank for rank, id_ in enumerate(ids)}
        if self.config.intent == "restrict":
            labels = {label for id_ in ids for label in self.entities[id_].labels}
            asked = asked_type(self.shape.core)
            self.allowed = allowed_types(self.words, asked, labels, self.context.ontology)
            self.hop_filter = self._filter("m", "r")
        return tuple(ids)

    def take(self, shape: Shape) -> None:
        """Take the question for one of this shape."""
        self.shape = shape
        self.scorer.question = shape.core

    def out_of_time(self) -> bool:
        """Whether the time limit has passed; remembers that the result is partial."""
        limit = self.config.time_limit_s
        if limit is not None and self.context.clock() - self.began > limit:
            self.partial = True
        return self.partial

    def add_time(self, stage: str, began: float) -> None:
        """Count the time since ``began`` to a stage of calculation, and record its span."""
        seconds = self.context.clock() - began
        self.millis[stage] += seconds * 1000
        if not telemetry.is_on():
            return
        now = {
            "candidates": self.candidates,
            "cut": self.cut.total(),
            "texts_scored": len(self.scorer.scores),
            "cache_hits": self.scorer.cache_hits,
        }
        since = {key: value - self._told.get(key, 0) for key, value in now.items()}
        self._told = now
        changed = {key: value for key, value in since.items() if value}
        telemetry.record(f"pathrag.{stage}", seconds, depth=self.level, **changed)

    def note(self, depth: int, reason: str, count: int) -> None:
        """Count candidates that were dropped."""
        if count:
            self.cut[depth, reason] += count

    def cuts(self, depth: int | None = None) -> tuple[Cut, ...]:
        """Give what was dropped, at one depth or at all of them."""
        return tuple(
            Cut(d, reason, n)
            for (d, reason), n in sorted(self.cut.items())
            if depth is None or d == depth
        )

    def flow_of(self, *ways: Sequence[str]) -> float:
        """Give what flow thinks of the best of some ways, in [0, 1]; 0 where it counts nothing."""
        return max(map(self.prior, ways), default=0.0) if self.prior is not None else 0.0

    def flow_term(self, *ways: Sequence[str]) -> dict[str, float]:
        """Give :meth:`flow_of` as a term of a score; none where flow counts nothing."""
        return {} if self.prior is None else {"flow": self.flow_of(*ways)}

    def total(
        self, rerank: float, start: str, depth: int, flow: float = 0.0, words: float = 0.0
    ) -> float:
        """Give the score that orders, rounded to 6 decimals: the weighted sum less the penalty.

        Args:
            words: See :meth:`words_score`.
        """
        link = self.link_score.get(start, 0.0)
        return round(
            self.config.weight_rerank * rerank
            + self.config.weight_link * link
            + self.config.weight_flow * flow
            + words
            - self.config.depth_penalty * depth,
            6,
        )

    def words_score(self, text: str, types: Sequence[str]) -> float:
        """Give what :meth:`words_terms` add to a path's score.

        What does not count is reckoned only for the few paths that are shown.
        """
        coverage, prior = self.config.weight_coverage, self.config.weight_relation_prior
        score = coverage * self.words.coverage(text) if coverage else 0.0
        return score + prior * self.words.relation_prior(types) if prior else score

    def words_terms(self, text: str, types: Sequence[str]) -> dict[str, float]:
        """Give the terms of a score that the question's words alone make, by name.

        Args:
            text: What was read of the path.
            types: Of its relationships, one for each hop.
        """
        return {
            "coverage": self.words.coverage(text),
            "relation_prior": self.words.relation_prior(types),
        }

    def confidence(self, answer: float) -> float:
        """Give what the reranker's ``answer`` is worth, in [0, 1]."""
        return confidence_of(self.context.reranker, answer)

    def leading(self, scored: Sequence[Steered], depth: int) -> tuple[list[Steered], list[Steered]]:
        """Part what may be extended from what leads on too unsurely; in their order."""
        least = self.config.min_prefix
        leading = [one for one in scored if one.steer >= least]
        ended = [one for one in scored if one.steer < least]
        self.note(depth, "min_prefix", len(ended))
        return leading, ended

    def tell(self, depth: int, paths: Iterable[TracedPath], truncated: Iterable[str]) -> None:
        """Keep what became of the candidates of a depth, where somebody wants to know.

        Args:
            paths: Kept ones first.
            truncated: Ids of nodes whose relationships were not all read.
        """
        if self.trace is None:
            return
        paths = tuple(paths)
        self.trace.append(
            DepthTrace(
                depth=depth,
                paths=paths,
                names=self.names(node for traced in paths for node in traced.path.nodes),
                cut=self.cuts(depth),
                truncated=tuple(self.names(truncated).values()),
            )
        )

    def names(self, ids: Iterable[str]) -> dict[str, str]:
        """Give the names of entities, the ids of those that were not read."""
        return {id_: self.entities[id_].name if id_ in self.entities else id_ for id_ in ids}

    def _filter(self, node: str, relationship: str = "") -> Predicate:
        """Put all that is asked of a node and, if named, a relationship into one predicate."""
        config = self.config
        parts = [
            compile_filter(config.node_filter, variable=node, parameter="$filters"),
            self.context.scope.predicate(node),
        ]
        if relationship:
            parts.append(
                compile_filter(
                    config.relationship_filter, variable=relationship, parameter="$filters"
                )
            )
        if relationship and self.allowed:
            # As a parameter: what a question asks for must not be a plan of its own.
            allowed = {"intent_types": list(self.allowed)}
            parts.append(Predicate(f"type({relationship}) IN $filters.intent_types", allowed))
        if config.labels:
            parts.append(
                Predicate(
                    f"any(label IN labels({node}) WHERE label IN $filters.labels)",
                    {"labels": list(config.labels)},
                )
            )
        return all_of(parts)
