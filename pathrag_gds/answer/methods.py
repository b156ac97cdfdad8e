"""Several ways of finding what a question is about, fused into one ranking.

``vector`` takes the entities and texts that are nearest by vector. ``hybrid`` fuses four rankings
of each: ``path`` (what the paths of a search pass, and what they were read from), ``community``
(what the best reports lead to), ``vector`` and ``text`` (what is nearest by vector and by words).
Only ranks count, see :func:`pathrag_gds.answer.fuse.fuse_rankings`, and each result says which
rankings brought it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, get_args

from pathrag_gds import telemetry
from pathrag_gds.answer.fuse import FUSION_K, FusedItem, Place, fuse_rankings
from pathrag_gds.communities.search import (
    CommunityResult,
    FoundCommunity,
    Scorer,
    search_communities,
)
from pathrag_gds.config import SearchConfig
from pathrag_gds.errors import ConfigError
from pathrag_gds.graph.database import QueryRunner
from pathrag_gds.graph.queries import load
from pathrag_gds.models.encoder import Encoder
from pathrag_gds.retrieve.context import CountingRunner
from pathrag_gds.retrieve.nearest import (
    Nearest,
    NearestContext,
    NearestEntity,
    nearest_request,
    read_nearest,
)
from pathrag_gds.retrieve.statements import perform
from pathrag_gds.types import Answer, Outcome, RankedPath, SearchResult, SearchStats

__all__ = [
    "DEFAULT_K",
    "DEFAULT_WEIGHTS",
    "RANKINGS",
    "FusedEntity",
    "FusedPassage",
    "FusedResult",
    "FusionOptions",
    "Method",
    "RankingName",
    "check_unrestricted",
    "find",
    "passages_of_paths",
    "shown_of",
]

Method = Literal["path", "community", "hybrid", "vector"]
RankingName = Literal["path", "community", "vector", "text"]
RANKINGS: tuple[RankingName, ...] = get_args(RankingName)

DEFAULT_WEIGHTS: Mapping[RankingName, float] = MappingProxyType(
    {"path": 2.0, "community": 1.0, "vector": 1.0, "text": 0.5}
)
"""Chosen, with :data:`DEFAULT_K`, on halves of two sets together, buckets 5 to 9 of the 2Wiki
questions and 0 to 4 of MuSiQue's, near the middle of what is equally good on both."""

DEFAULT_K = 5.0
"""Of the fusion. Smaller than the 60 of its authors, who fused rankings of a thousand: here the
first places of a ranking are what it is sure of."""

# Options that say where paths may go; what is found by vector, words or reports knows none of them.
_RESTRICTIONS = ("rel_types", "labels", "scope", "node_filter", "relationship_filter")


@dataclass(frozen=True, slots=True)
class FusionOptions:
    """What is fused, and how.

    Attributes:
        weights: By name of a ranking; what is not named has its default. A ranking of weight 0 is
            not made at all.
        k: Constant of the fusion, at least 0: see
            :func:`pathrag_gds.answer.fuse.fuse_rankings`.
        reach: Paths, entities and texts of each ranking at most, at least 1.
        communities: Of the ranking ``community``: how many at most, at least 1.
        hops: Of it: how far from their key entities, from 0 to 3.
        scorer: Of it: how reports are compared with the question.

    Raises:
        ConfigError: A value is out of range, or a weight is for no ranking.
    """

    weights: Mapping[RankingName, float] = field(default_factory=dict)
    k: float = DEFAULT_K
    reach: int = 50
    communities: int = 3
    hops: int = 1
    scorer: Scorer = "auto"

    def __post_init__(self) -> None:
        for name, weight in self.weights.items():
            if name not in RANKINGS:
                raise ConfigError(
                    f"There is no ranking {name!r} to weigh.", hint=f"Known: {', '.join(RANKINGS)}"
                )
            if not (math.isfinite(weight) and weight >= 0):
                raise ConfigError(f"The weight of ranking {name!r} is at least 0, not {weight!r}.")
        if not (math.isfinite(self.k) and self.k >= 0):
            raise ConfigError(f"k must be at least 0, not {self.k!r}.")
        for option, least in (("reach", 1), ("communities", 1), ("hops", 0)):
            if getattr(self, option) < least:
                raise ConfigError(
                    f"{option} must be at least {least}, not {getattr(self, option)}."
                )
        if self.hops > 3:
            raise ConfigError(f"hops must be at most 3, not {self.hops}.")
        if not any(self.weights_of("hybrid").values()):
            raise ConfigError(
                "All rankings have weight 0, so nothing would be found.",
                hint="Give one of them a weight above 0.",
            )

    def weights_of(self, method: Method) -> dict[RankingName, float]:
        """Give the weights above 0, in the order of :data:`RANKINGS`."""
        if method != "hybrid":
            return {"vector": 1.0}
        weights = {**DEFAULT_WEIGHTS, **self.weights}
        return {name: weights[name] for name in RANKINGS if weights[name] > 0}


def check_unrestricted(method: str, config: SearchConfig) -> None:
    """Refuse to go by a method that would show what the user has shut out.

    Args:
        method: Any but ``path``.

    Raises:
        ConfigError: The configuration says where paths may go.
    """
    given = [name for name in _RESTRICTIONS if getattr(config, name)]
    if given:
        raise ConfigError(
            f"{', '.join(given)}: only paths keep to this, and method {method!r} shows more.",
            hint="Leave it out, or use method path.",
        )


@dataclass(frozen=True, slots=True)
class FusedEntity:
    """An entity of the fused ranking.

    Attributes:
        score: Sum of the shares of its places.
        places: One for each ranking that brought it.
        chunk_ids: Of the texts that it was read from.
    """

    rank: int
    id: str
    name: str
    labels: tuple[str, ...]
    score: float
    places: tuple[Place, ...]
    chunk_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FusedPassage:
    """A text of the fused ranking.

    Attributes:
        id: Of the chunk.
        text: Empty where the graph does not have it.
        document: That it belongs to; None where it belongs to none.
        score: Sum of the shares of its places.
        places: One for each ranking that brought it.
    """

    rank: int
    id: str
    text: str
    document: str | None
    score: float
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class RankingSize:
    """What one ranking brought."""

    name: RankingName
    weight: float
    entities: int
    passages: int


@dataclass(frozen=True, slots=True)
class FusedResult:
    """What ``vector`` or ``hybrid`` found.

    Attributes:
        search: Paths and answers as the method ``path`` gives them, with what all rankings together
            cost; without paths where the ranking ``path`` is not made.
        entities: Best first, at most ``top_k``.
        passages: Best first, at most ``top_k``.
        communities: Those that the ranking ``community`` chose.
        rankings: Those that were made.
    """

    search: SearchResult
    entities: tuple[FusedEntity, ...]
    passages: tuple[FusedPassage, ...]
    communities: tuple[FoundCommunity, ...] = ()
    rankings: tuple[RankingSize, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Say what the result lacks, and why."""
        return self.search.warnings

    def to_dict(self) -> dict[str, Any]:
        """Give the JSON of a search with what was fused added.

        ``answers`` and ``paths`` are those of the paths alone; ``entities``, ``passages``,
        ``communities`` and ``rankings`` stand beside them.
        """
        return {
            **self.search.to_dict(),
            "entities": [
                {
                    "rank": e.rank,
                    "id": e.id,
                    "name": e.name,
                    "labels": list(e.labels),
                    "score": e.score,
                    "chunks": list(e.chunk_ids),
                    "rankings": _places_dict(e.places),
                }
                for e in self.entities
            ],
            "passages": [
                {
                    "rank": p.rank,
                    "id": p.id,
                    "document": p.document,
                    "text": p.text,
                    "score": p.score,
                    "rankings": _places_dict(p.places),
                }
                for p in self.passages
            ],
            "communities": [
                {
                    "rank": c.rank,
                    "id": c.report.community_id,
                    "title": c.report.title,
                    "score": c.score.score,
                    "by": c.score.by,
                }
                for c in self.communities
            ],
            "rankings": [
                {
                    "name": r.name,
                    "weight": r.weight,
                    "entities": r.entities,
                    "passages": r.passages,
                }
                for r in self.rankings
            ],
        }


def _places_dict(places: Iterable[Place]) -> list[dict[str, Any]]:
    return [{"name": p.ranking, "rank": p.rank, "share": round(p.share, 9)} for p in places]


@dataclass(slots=True)
class _Found:
    """The rankings of entities and of chunks, and what is known of the entities."""

    entities: dict[RankingName, list[str]] = field(default_factory=dict)
    passages: dict[RankingName, list[str]] = field(default_factory=dict)
    known: dict[str, NearestEntity] = field(default_factory=dict)

    def add(
        self, name: RankingName, entities: Iterable[NearestEntity], passages: Iterable[str]
    ) -> None:
        """Add a ranking, best first."""
        given = list(entities)
        for entity in given:
            self.known.setdefault(entity.id, entity)
        self.entities[name] = list(dict.fromkeys(entity.id for entity in given))
        self.passages[name] = list(dict.fromkeys(passages))


def find(
    db: QueryRunner,
    encoder: Encoder,
    question: str,
    *,
    method: Literal["hybrid", "vector"],
    context: NearestContext,
    config: SearchConfig,
    options: FusionOptions | None = None,
    search: Callable[[SearchConfig], SearchResult],
    setup_round_trips: int = 0,
) -> FusedResult:
    """Find the entities and texts that a question is about.

    Of the path search the threshold ``min_score`` counts for the answers and the paths that are
    shown. It does not for the ranking: a path that does not answer still leads to what does.

    Args:
        encoder: The one that the tenant was embedded with.
        question: Not empty.
        context: Of the tenant.
        config: Of the path search; ``top_k`` bounds entities and passages, too.
        search: Runs the path search; called for the ranking ``path`` alone.
        setup_round_trips: What it took to read the context.

    Raises:
        ConfigError: An option is out of range.
        EncoderMismatch: The reports were embedded by another encoder.
        DatabaseError: The server refused or failed a statement.
    """
    began = time.perf_counter()
    options = options or FusionOptions()
    weights = options.weights_of(method)
    counting = CountingRunner(db)
    found = _Found()
    warnings: list[str] = []
    millis: dict[str, float] = {}
    result = _no_search(question, context.tenant, method, config)
    communities: tuple[FoundCommunity, ...] = ()
    if "path" in weights:
        with _timed(millis, "path"):
            wide = search(config.with_(min_score=0.0, top_k=max(options.reach, config.top_k)))
            result = shown_of(wide, config)
            paths = wide.paths[: options.reach]
            found.add("path", _entities_of_paths(wide.answers, paths), passages_of_paths(paths))
    if "vector" in weights or "text" in weights:
        with _timed(millis, "nearest"), telemetry.span("pathrag.nearest"):
            nearest = _nearest(counting, encoder, question, context, weights, options.reach)
            warnings += context.warnings
            _add_nearest(found, nearest, weights)
    if "community" in weights:
        with _timed(millis, "community"):
            told = _communities(counting, encoder, question, context.tenant, options, warnings)
            if told is not None:
                communities = told.communities
                found.add(
                    "community",
                    (
                        NearestEntity(
                            e.entity.id, e.entity.name, e.entity.labels, e.entity.chunk_ids
                        )
                        for e in told.entities
                    ),
                    (chunk.id for chunk in told.chunks),
                )
    with telemetry.span("pathrag.fuse", rankings=list(found.entities)) as span:
        entities = _fused(found.entities, weights, options.k)
        passages = _fused(found.passages, weights, options.k)
        span.set(entities=len(entities), passages=len(passages))
    chosen = passages[: config.top_k]
    with _timed(millis, "passages"), telemetry.span("pathrag.passages", rows=len(chosen)):
        texts = _texts(counting, context.tenant, [item.id for item in chosen])
    stats = replace(
        result.stats,
        round_trips=result.stats.round_trips + counting.count,
        setup_round_trips=result.stats.setup_round_trips + setup_round_trips,
        millis={
            **result.stats.millis,
            **millis,
            "total": round((time.perf_counter() - began) * 1000, 3),
        },
    )
    outcome: Outcome = result.outcome
    if "path" not in weights:
        outcome = "answered" if entities or passages else "not_in_graph"
    result = replace(
        result,
        method=method,
        outcome=outcome,
        stats=stats,
        config={
            **config.to_dict(),
            "weights": dict(weights),
            "k": options.k,
            "reach": options.reach,
            "communities": options.communities,
            "hops": options.hops,
            "scorer": options.scorer,
        },
        warnings=tuple(dict.fromkeys([*result.warnings, *warnings])),
    )
    return FusedResult(
        result,
        tuple(
            FusedEntity(
                rank,
                item.id,
                found.known[item.id].name,
                found.known[item.id].labels,
                round(item.score, 9),
                item.places,
                found.known[item.id].chunk_ids,
            )
            for rank, item in enumerate(entities[: config.top_k], start=1)
        ),
        tuple(
            FusedPassage(
                rank, item.id, *texts.get(item.id, ("", None)), round(item.score, 9), item.places
            )
            for rank, item in enumerate(chosen, start=1)
        ),
        communities,
        tuple(
            RankingSize(name, weight, len(found.entities[name]), len(found.passages[name]))
            for name, weight in weights.items()
            if name in found.entities
        ),
    )


class _timed:
    """Add the wall time of a block to a stage, in milliseconds."""

    def __init__(self, millis: dict[str, float], stage: str) -> None:
        self._millis, self._stage, self._began = millis, stage, 0.0

    def __enter__(self) -> None:
        self._began = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._millis[self._stage] = round((time.perf_counter() - self._began) * 1000, 3)


def _no_search(question: str, tenant: str, method: str, config: SearchConfig) -> SearchResult:
    return SearchResult(
        question=question,
        tenant=tenant,
        method=method,
        outcome="not_in_graph",
        anchors=(),
        answers=(),
        paths=(),
        cut=(),
        stats=SearchStats(),
        config=config.to_dict(),
    )


def shown_of(wide: SearchResult, config: SearchConfig) -> SearchResult:
    """Give of a search without a threshold what passes the threshold and ``top_k`` of another.

    Ranks of paths and places of patterns are counted anew; a pattern that no answer is from any
    more is left out.
    """
    passing = [path for path in wide.paths if path.confidence >= config.min_score]
    kept = passing[: config.top_k]
    ranks = {path.rank: rank for rank, path in enumerate(kept, start=1)}
    answers = [
        replace(answer, paths=tuple(ranks[rank] for rank in answer.paths if rank in ranks))
        for answer in wide.answers
        if answer.confidence >= config.min_score
        and (
            answer.pattern is not None
            or not answer.paths
            or not ranks.keys().isdisjoint(answer.paths)
        )
    ]
    used = sorted({answer.pattern for answer in answers if answer.pattern is not None})
    places = {pattern: place for place, pattern in enumerate(used)}
    outcome: Outcome = wide.outcome
    if outcome == "answered" and not answers:
        outcome = "not_in_graph"
    return replace(
        wide,
        outcome=outcome,
        paths=tuple(replace(path, rank=ranks[path.rank]) for path in kept),
        answers=tuple(
            answer if answer.pattern is None else replace(answer, pattern=places[answer.pattern])
            for answer in answers
        ),
        patterns=tuple(wide.patterns[pattern] for pattern in used),
    )


def _entities_of_paths(
    answers: Iterable[Answer], paths: Iterable[RankedPath]
) -> Iterator[NearestEntity]:
    """Give the answers, then the nodes of the paths, the best path's first, its end before all."""
    paths = tuple(paths)
    known = {
        node.id: NearestEntity(node.id, node.name, node.labels, node.chunk_ids)
        for path in paths
        for node in path.nodes
    }
    for answer in answers:
        if answer.kind == "entity":
            yield known.get(answer.id) or NearestEntity(answer.id, answer.name)
    for path in paths:
        yield from (known[node.id] for node in reversed(path.nodes))


def passages_of_paths(paths: Iterable[RankedPath]) -> tuple[str, ...]:
    """Rank the chunks that paths lead to, ties by id.

    A path of rank r gives each of its chunks ``share / (60 + r)``, where the share is the largest
    of ``1 / n`` over the relationships and nodes of the path that were read from it, and n is the
    number of chunks that such a one was read from: what many chunks tell of points to none of them.
    That is the node specificity of HippoRAG (arXiv 2405.14831), for relationships, too.

    Returns:
        Ids, the largest sum first; none where nothing on the paths was read from a chunk.
    """
    parts: dict[str, list[float]] = {}
    for path in paths:
        told = [dict.fromkeys(source.chunk for source in hop.sources) for hop in path.hops]
        told += [dict.fromkeys(node.chunk_ids) for node in path.nodes]
        shares: dict[str, float] = {}
        for chunks in told:
            for chunk in chunks:
                shares[chunk] = max(shares.get(chunk, 0.0), 1 / len(chunks))
        for chunk, share in shares.items():
            parts.setdefault(chunk, []).append(share / (FUSION_K + path.rank))
    # Rounded once, so that the order of the paths is none of the result.
    worth = {chunk: math.fsum(shares) for chunk, shares in parts.items()}
    return tuple(sorted(worth, key=lambda chunk: (-worth[chunk], chunk)))


def _nearest(
    db: QueryRunner,
    encoder: Encoder,
    question: str,
    context: NearestContext,
    weights: Mapping[RankingName, float],
    count: int,
) -> Nearest:
    """Ask for the rankings by vector and by words that are wanted, in one statement."""
    vector: list[float] | None = None
    embedded = context.entity_vectors is not None or context.chunk_vectors is not None
    if "vector" in weights and embedded:
        vector = [float(x) for x in encoder.encode([question])[0]]
    request = nearest_request(question, context, vector, count=count, by_text="text" in weights)
    return Nearest() if request is None else read_nearest(perform(db, request))


def _add_nearest(found: _Found, nearest: Nearest, weights: Mapping[RankingName, float]) -> None:
    """Add the rankings by vector and by words that are wanted.

    Where a ranking has entities and no chunk, for want of vectors, say, the chunks that the
    entities were read from stand in.
    """
    rankings: tuple[tuple[RankingName, Sequence[str], Sequence[str]], ...] = (
        ("vector", nearest.entities_by_vector, nearest.chunks_by_vector),
        ("text", nearest.entities_by_text, nearest.chunks_by_text),
    )
    for name, ids, chunks in rankings:
        if name in weights:
            entities = [nearest.entities[id_] for id_ in ids]
            read_from = [chunk for entity in entities for chunk in entity.chunk_ids]
            found.add(name, entities, chunks or read_from)


def _communities(
    db: QueryRunner,
    encoder: Encoder,
    question: str,
    tenant: str,
    options: FusionOptions,
    warnings: list[str],
) -> CommunityResult | None:
    """Ask the communities; None, and a warning, where the tenant has none that can be asked."""
    try:
        told = search_communities(
            db,
            encoder,
            question,
            tenant=tenant,
            communities=options.communities,
            hops=options.hops,
            top_k=options.reach,
            scorer=options.scorer,
        )
    except ConfigError as error:
        warnings.append(f"Communities are left out: {error.message} {error.hint}".rstrip())
        return None
    warnings += told.warnings
    return told


def _fused(
    rankings: Mapping[RankingName, Sequence[str]],
    weights: Mapping[RankingName, float],
    k: float,
) -> tuple[FusedItem, ...]:
    ordered: dict[str, Sequence[str]] = {
        name: rankings[name] for name in RANKINGS if name in rankings
    }
    given: dict[str, float] = {name: weights[name] for name in RANKINGS if name in rankings}
    return fuse_rankings(ordered, weights=given, k=k)


def _texts(db: QueryRunner, tenant: str, ids: Sequence[str]) -> dict[str, tuple[str, str | None]]:
    """Read text and document of chunks by id; without ids nothing is asked."""
    if not ids:
        return {}
    rows = db.run(load("retrieve/passages"), tenant=tenant, chunk_ids=list(ids))
    return {row["chunk"]: (row["text"] or "", row["document"]) for row in rows}
