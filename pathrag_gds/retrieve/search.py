"""Beam search over whole paths, with no I/O of its own.

:func:`search` is a generator: it yields a :class:`~pathrag_gds.retrieve.statements.Request` and is
sent the rows. So it is tested without a server, and another driver could await each statement::

    seeds → score → (expand → score → prune) × depth → hydrate → provenance

One statement each, so a search of depth *d* makes *d* + 3 round trips, whatever the beam width
(one more only if an index had to be asked again because of other tenants' rows).
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pathrag_gds.config import SearchConfig
from pathrag_gds.errors import QueryTimeout
from pathrag_gds.graph.database import QueryRunner, Row
from pathrag_gds.graph.queries import load
from pathrag_gds.graph.schema import Ontology
from pathrag_gds.models.reranker import Reranker, confidence_of, reads_chains
from pathrag_gds.retrieve.answers import answers_of, properties_to_read
from pathrag_gds.retrieve.expand import (
    Neighbour,
    allowed,
    expand_request,
    extensions,
    read_neighbours,
)
from pathrag_gds.retrieve.filters import Predicate, compile_filter
from pathrag_gds.retrieve.language import language_warnings
from pathrag_gds.retrieve.prune import Candidate, distinct, min_max, prune, prune_chains
from pathrag_gds.retrieve.score import Child, Scorer
from pathrag_gds.retrieve.seeds import (
    OVER_FETCH,
    Seeds,
    known_words,
    longer,
    read_seeds,
    seeds_request,
)
from pathrag_gds.retrieve.statements import Request, entity_of_row
from pathrag_gds.types import (
    Answer,
    Cut,
    DepthTrace,
    Entity,
    Outcome,
    Path,
    PathKey,
    RankedPath,
    ResultHop,
    SearchResult,
    SearchStats,
    Source,
    TracedPath,
)

__all__ = ["SearchContext", "run", "search"]

Steps = Generator[Request, list[Row], SearchResult]

_LEAST_TIMEOUT_S = 1.0


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


def run(db: QueryRunner, steps: Steps) -> SearchResult:
    """Run a search against a database, one statement after the other."""
    try:
        request = next(steps)
        while True:
            try:
                rows = db.run(request.query, **request.parameters)
            except QueryTimeout as error:
                request = steps.throw(error)
            else:
                request = steps.send(rows)
    except StopIteration as stop:
        result: SearchResult = stop.value
        return result
    finally:
        steps.close()


def search(
    question: str,
    config: SearchConfig,
    context: SearchContext,
    trace: list[DepthTrace] | None = None,
    *,
    start_ids: Sequence[str] = (),
) -> Steps:
    """Search for the paths that answer a question.

    Args:
        question: In plain language. Without a word in it, its vector alone finds seeds.
        config: How wide, how deep, what counts.
        trace: Appended to per depth when given: what was kept and what was cut.
        start_ids: Entities that the question is about, where the caller knows them; they are the
            anchors, and the question's words are not searched for names.

    Yields:
        Statements to run; send back their rows.

    Returns:
        The result; the same for the same graph and arguments, ``stats.millis`` apart.
    """
    state = _State(question, config, context, trace, tuple(dict.fromkeys(start_ids)))
    found = yield from state.find_seeds()
    beam = state.start(found)
    for depth in range(1, config.max_depth + 1):
        if not beam or state.out_of_time():
            break
        beam = yield from state.go_deeper(beam, depth)
    return (yield from state.finish(found))


@dataclass(slots=True)
class _State:
    """What one search knows so far."""

    question: str
    config: SearchConfig
    context: SearchContext
    trace: list[DepthTrace] | None
    start_ids: tuple[str, ...] = ()
    entities: dict[str, Entity] = field(default_factory=dict)
    start_rank: dict[str, int] = field(default_factory=dict)
    link_score: dict[str, float] = field(default_factory=dict)
    best: dict[PathKey, Candidate] = field(default_factory=dict)
    cut: Counter[tuple[int, str]] = field(default_factory=Counter)
    truncated: set[str] = field(default_factory=set)
    millis: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    round_trips: int = 0
    depth: int = 0
    candidates: int = 0
    partial: bool = False
    began: float = 0.0
    seed_filter: Predicate = field(init=False)
    hop_filter: Predicate = field(init=False)
    scorer: Scorer = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.context.clock()
        self.seed_filter = _filter(self.config, "e")
        self.hop_filter = _filter(self.config, "m", "r")
        budgets = (self.config.text_budget, self.context.text_limit)
        self.scorer = Scorer(
            question=self.question,
            config=self.config,
            reranker=self.context.reranker,
            phrasing=self.context.ontology.phrasing,
            budget=min((budget for budget in budgets if budget), default=0),
            count_tokens=self.context.count_tokens,
            stop=self.out_of_time,
            nodes_tell=self.context.ontology.nodes_tell,
        )

    # Statements

    def ask(self, stage: str, request: Request) -> Generator[Request, list[Row], list[Row]]:
        """Yield a request, count it and time it.

        Under a time limit the server stops the statement when the time is up; that gives no rows.
        """
        began = self.context.clock()
        try:
            rows = yield self._limited(request)
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
        """Find anchors and seeds; ask again with a longer reach while other tenants crowd in."""
        over_fetch = OVER_FETCH * self.context.crowding
        known = known_words(self.context.count_tokens)
        while True:
            request = seeds_request(
                self.question,
                tenant=self.context.tenant,
                small=self.context.small,
                vector=self.context.question_vector,
                vector_index=self.context.vector_index,
                vector_property=self.context.vector_property,
                predicate=self.seed_filter,
                config=self.config,
                over_fetch=over_fetch,
                start_ids=self.start_ids,
                names_index=self.context.names_index,
                known=known,
            )
            rows = yield from self.ask("seed", request)
            found = read_seeds(
                self.question,
                rows,
                seed_k=self.config.seed_k,
                start_ids=self.start_ids,
                known=known,
            )
            further = longer(request, found.similar)
            if self.context.small or self.context.question_vector is None or further is None:
                return found
            over_fetch = further

    def go_deeper(
        self, beam: Sequence[Candidate], depth: int
    ) -> Generator[Request, list[Row], list[Candidate]]:
        """Extend every path of the beam by one hop and keep the best."""
        frontier = list(dict.fromkeys(candidate.path.tail for candidate in beam))
        request = expand_request(
            frontier,
            tenant=self.context.tenant,
            ontology=self.context.ontology,
            restriction=self.config.rel_types,
            targets=list(dict.fromkeys([*self.start_rank, *frontier])),
            cap=self.config.cap_per_relation,
            predicate=self.hop_filter,
            vector=self.context.question_vector,
            vector_property=self.context.vector_property,
            max_rows=self.config.max_rows,
            max_bytes=self.config.max_bytes,
        )
        if request is None:
            return []
        rows = yield from self.ask("expand", request)
        self.depth = depth
        began = self.context.clock()
        around = read_neighbours(request, rows)
        self.truncated.update(around.truncated)
        for reason, count in around.lost.items():
            self._note(depth, reason, count)
        children = self._children(beam, around.neighbours, depth)
        self.millis["prune"] += (self.context.clock() - began) * 1000
        scored = self._score(children, depth)
        began = self.context.clock()
        self._remember(scored)
        local_keep = self.config.local_keep * (2 if depth < self.config.min_depth else 1)
        leading = [c for c in scored if c.steer >= self.config.min_prefix]
        ended = [c for c in scored if c.steer < self.config.min_prefix]
        self._note(depth, "min_prefix", len(ended))
        kept, dropped = self._prune(leading, local_keep)
        self._note(depth, "beam_width", len(dropped))
        groups = (kept, ""), (dropped, "beam_width"), (ended, "min_prefix")
        self._trace(depth, groups, around.truncated)
        self.millis["prune"] += (self.context.clock() - began) * 1000
        return kept

    def finish(self, found: Seeds) -> Generator[Request, list[Row], SearchResult]:
        """Choose the results, fetch what is shown of them, and say what it cost."""
        chosen = self._results()
        sources: dict[str, Source] = {}
        if self.start_rank:
            yield from self._hydrate(chosen)
            sources = yield from self._provenance(chosen)
        ranked = tuple(
            self._ranked(rank, candidate, sources) for rank, candidate in enumerate(chosen, 1)
        )
        answers = answers_of(
            self.question, ranked, found.anchors, self._read_properties(ranked, found)
        )
        self.millis["total"] = (self.context.clock() - self.began) * 1000
        return SearchResult(
            question=self.question,
            tenant=self.context.tenant,
            method="path",
            outcome=self._outcome(answers),
            anchors=found.anchors,
            answers=answers,
            paths=ranked,
            cut=tuple(Cut(d, reason, n) for (d, reason), n in sorted(self.cut.items()) if n),
            stats=SearchStats(
                round_trips=self.round_trips,
                setup_round_trips=self.context.setup_round_trips,
                depth=self.depth,
                candidates=self.candidates,
                texts_scored=len(self.scorer.scores),
                cache_hits=self.scorer.cache_hits,
                truncated=len(self.truncated),
                millis={stage: round(ms, 3) for stage, ms in sorted(self.millis.items())},
            ),
            config=self.config.to_dict(),
            seeds=found.seeds,
            warnings=(
                *self.context.warnings,
                *language_warnings(self.question),
                *found.warnings,
                *self._unknown_starts(found),
            ),
        )

    def _read_properties(self, ranked: Sequence[RankedPath], found: Seeds) -> dict[str, str]:
        """Let a reranker that was trained for it find the property that is asked for, by id."""
        if not reads_chains(self.context.reranker):
            return {}
        wanted = properties_to_read(self.question, ranked, found.anchors)
        return {
            id_: self.scorer.best_property(self.entities[id_], keys) for id_, keys in wanted.items()
        }

    def _unknown_starts(self, found: Seeds) -> list[str]:
        known = {anchor.id for anchor in found.anchors}
        return [f"The graph has no entity {id_!r}." for id_ in self.start_ids if id_ not in known]

    def _hydrate(self, chosen: Sequence[Candidate]) -> Generator[Request, list[Row], None]:
        ids = list(dict.fromkeys(node for c in chosen for node in c.path.nodes))
        request = Request(load("retrieve/hydrate"), {"tenant": self.context.tenant, "ids": ids})
        for row in (yield from self.ask("hydrate", request)):
            entity = entity_of_row(row)
            self.entities[entity.id] = entity

    def _provenance(
        self, chosen: Sequence[Candidate]
    ) -> Generator[Request, list[Row], dict[str, Source]]:
        ids = {chunk for c in chosen for hop in c.path.hops for chunk in hop.edge.chunk_ids}
        request = Request(
            load("retrieve/provenance"),
            {"tenant": self.context.tenant, "chunk_ids": sorted(ids)},
        )
        rows = yield from self.ask("hydrate", request)
        return {row["chunk"]: Source(row["chunk"], row["document"] or "") for row in rows}

    # Decisions

    def start(self, found: Seeds) -> list[Candidate]:
        """Make a path of no hop of every node that paths may start from, and score it."""
        self.entities.update(found.entities)
        self.link_score = {anchor.id: anchor.score for anchor in found.anchors}
        self.scorer.named = frozenset(self.link_score)
        anchors = [a.id for a in found.anchors if self.config.start_from != "seeds"]
        seeds = [s.id for s in found.seeds if self.config.start_from != "anchors" or not anchors]
        ids = dict.fromkeys(anchors + seeds)
        self.start_rank = {id_: rank for rank, id_ in enumerate(ids)}
        paths = [Child(Path((id_,))) for id_ in ids]
        self.candidates += len(paths)
        scored = self._score(paths, 0)
        self._remember(scored)
        kept, dropped = self._prune(scored, 0)
        self._note(0, "beam_width", len(dropped))
        self._trace(0, ((kept, ""), (dropped, "beam_width")), ())
        return kept

    def out_of_time(self) -> bool:
        """Whether the time limit has passed; remembers that the result is partial."""
        limit = self.config.time_limit_s
        if limit is not None and self.context.clock() - self.began > limit:
            self.partial = True
        return self.partial

    def _children(
        self,
        beam: Sequence[Candidate],
        neighbours: Mapping[str, Sequence[Neighbour]],
        depth: int,
    ) -> list[Child]:
        """List the distinct extensions to score."""
        may = allowed(self.config.revisit)
        seen: set[tuple[PathKey, str]] = set()
        children: list[Child] = []
        for parent, candidate in enumerate(beam):
            chosen, forbidden, excess = extensions(
                candidate.path,
                neighbours.get(candidate.path.tail, ()),
                may=may,
                expand_per_path=self.config.expand_per_path,
            )
            self._note(depth, "revisit", forbidden)
            self._note(depth, "expand_per_path", excess)
            for turn, neighbour in enumerate(chosen):
                path = candidate.path.extend(neighbour.hop)
                if (path.key, path.tail) in seen:
                    self._note(depth, "duplicate", 1)
                    continue
                seen.add((path.key, path.tail))
                self.entities.setdefault(neighbour.entity.id, neighbour.entity)
                children.append(Child(path, parent, turn))
        self.candidates += len(children)
        return children

    def _score(self, children: Sequence[Child], depth: int) -> list[Candidate]:
        began = self.context.clock()
        readings, over_limit, late = self.scorer.read(children, self.entities)
        self._note(depth, "rerank_limit", over_limit)
        self._note(depth, "time_limit", late)
        answers = [reading.answer for reading in readings]
        prefixes = [reading.prefix for reading in readings]
        if self.config.normalize_within_depth:
            answers, prefixes = min_max(answers), min_max(prefixes)
        self.millis["score"] += (self.context.clock() - began) * 1000
        return distinct(
            [
                Candidate(
                    path=reading.child.path,
                    text=reading.text,
                    chain=reading.chain,
                    rerank=reading.rerank,
                    similarity=reading.similarity,
                    type=reading.type,
                    answer=reading.answer,
                    prefix=reading.prefix,
                    score=self._total(answer, reading.child.path, depth),
                    steer=self._total(prefix, reading.child.path, depth),
                    parent=reading.child.parent,
                    start_rank=self.start_rank[reading.child.path.start],
                )
                for reading, answer, prefix in zip(readings, answers, prefixes, strict=True)
            ]
        )

    def _total(self, rerank: float, path: Path, depth: int) -> float:
        link = self.link_score.get(path.start, 0.0)
        return round(
            self.config.weight_rerank * rerank
            + self.config.weight_link * link
            - self.config.depth_penalty * depth,
            6,
        )

    def _prune(
        self, candidates: Sequence[Candidate], local_keep: int
    ) -> tuple[list[Candidate], list[Candidate]]:
        if self.scorer.strategy == "chains":
            return prune_chains(
                candidates, beam_width=self.config.beam_width, chain_width=self.config.chain_width
            )
        return prune(candidates, beam_width=self.config.beam_width, local_keep=local_keep)

    def _remember(self, scored: Iterable[Candidate]) -> None:
        for candidate in scored:
            known = self.best.get(candidate.key)
            if known is None or _result_order(candidate) < _result_order(known):
                self.best[candidate.key] = candidate

    def _results(self) -> list[Candidate]:
        config = self.config
        ranked = sorted(self.best.values(), key=_result_order)
        passing = []
        for candidate in ranked:
            if self._confidence(candidate) >= config.min_score:
                passing.append(candidate)
            else:
                self._note(candidate.path.depth, "min_score", 1)
        for candidate in passing[config.top_k :]:
            self._note(candidate.path.depth, "top_k", 1)
        return passing[: config.top_k]

    def _ranked(self, rank: int, candidate: Candidate, sources: Mapping[str, Source]) -> RankedPath:
        path = candidate.path
        return RankedPath(
            rank=rank,
            score=candidate.score,
            confidence=self._confidence(candidate),
            terms={
                "rerank": candidate.rerank,
                "similarity": candidate.similarity,
                "type": candidate.type,
                "link": self.link_score.get(path.start, 0.0),
            },
            text=candidate.text,
            path=path,
            nodes=tuple(self.entities[node] for node in path.nodes),
            hops=tuple(
                ResultHop(hop, tuple(sources.get(c, Source(c)) for c in sorted(hop.edge.chunk_ids)))
                for hop in path.hops
            ),
        )

    def _confidence(self, candidate: Candidate) -> float:
        return confidence_of(self.context.reranker, candidate.answer)

    def _outcome(self, answers: Sequence[Answer]) -> Outcome:
        if self.partial:
            return "partial"
        # A path that ends where the question begins may pass, and yet answers nothing.
        return "answered" if answers else "not_in_graph"

    def _note(self, depth: int, reason: str, count: int) -> None:
        if count:
            self.cut[depth, reason] += count

    def _trace(
        self,
        depth: int,
        groups: Sequence[tuple[Sequence[Candidate], str]],
        truncated: Sequence[str],
    ) -> None:
        """Tell what became of the candidates of a depth: groups of one reason, kept ones first."""
        if self.trace is None:
            return
        self.trace.append(
            DepthTrace(
                depth=depth,
                paths=tuple(
                    TracedPath(c.path, self._confidence(c), c.steer, reason)
                    for group, reason in groups
                    for c in group
                ),
                names={
                    node: self.entities[node].name
                    for group, _ in groups
                    for c in group
                    for node in c.path.nodes
                },
                cut=tuple(
                    Cut(d, reason, n) for (d, reason), n in sorted(self.cut.items()) if d == depth
                ),
                truncated=tuple(self.entities[id_].name for id_ in truncated),
            )
        )


def _result_order(candidate: Candidate) -> tuple[float, int, PathKey, str]:
    return (-candidate.score, candidate.start_rank, candidate.key, candidate.path.tail)


def _filter(config: SearchConfig, node: str, relationship: str = "") -> Predicate:
    """Put labels and filters into one predicate over a node and, if named, a relationship."""
    parts: list[Predicate] = [
        compile_filter(config.node_filter, variable=node, parameter="$filters")
    ]
    if relationship:
        parts.append(
            compile_filter(config.relationship_filter, variable=relationship, parameter="$filters")
        )
    if config.labels:
        parts.append(
            Predicate(
                f"any(label IN labels({node}) WHERE label IN $filters.labels)",
                {"labels": list(config.labels)},
            )
        )
    values = {key: value for part in parts for key, value in part.values.items()}
    return Predicate(" AND ".join(part.text for part in parts if part.text), values)
