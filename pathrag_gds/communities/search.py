"""Answer a question from communities: the best reports, their key entities, and what is around.

No language model is asked. The steps are those of the document "GraphRAG architecture (Step 2.9)":
score the question against the reports, take the key entities of the best, go on into the graph,
and collect the texts that those entities were read from.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pathrag_gds import telemetry
from pathrag_gds.answer.fuse import FUSION_K
from pathrag_gds.communities.read import (
    StoredCommunity,
    read_chosen,
    read_communities,
    read_entities,
    require_run,
)
from pathrag_gds.communities.retrieve import (
    CommunityScore,
    CommunitySeed,
    choose_communities,
    collect_seeds,
    score_by_cosine,
    score_by_overlap,
    terms_of,
)
from pathrag_gds.communities.types import CommunityReport
from pathrag_gds.config import DEFAULT_TENANT, check_tenant
from pathrag_gds.errors import ConfigError, EncoderMismatch
from pathrag_gds.graph.database import QueryRunner
from pathrag_gds.graph.queries import load
from pathrag_gds.graph.schema import STRUCTURAL_TYPES, vector_record
from pathrag_gds.models.encoder import Encoder
from pathrag_gds.types import Entity

__all__ = [
    "ChosenReports",
    "CommunityResult",
    "FoundChunk",
    "FoundCommunity",
    "FoundEntity",
    "Scorer",
    "choose_reports",
    "search_communities",
]

Scorer = Literal["auto", "cosine", "overlap"]
"""``cosine`` of vectors, ``overlap`` of words, or cosine where the reports have vectors."""

_MOST_ENTITIES = 100


@dataclass(frozen=True, slots=True)
class FoundCommunity:
    """A community that the question is about.

    Attributes:
        rank: From 1, the best.
        score: Why it was chosen.
        report: What is told about it.
        level: 0 is the coarsest.
        size: Entities that it had when it was found.
    """

    rank: int
    score: CommunityScore
    report: CommunityReport
    level: int
    size: int


@dataclass(frozen=True, slots=True)
class FoundEntity:
    """An entity that a chosen community names, or that is near to one.

    Attributes:
        hops: How far from a key entity; 0 for one.
        seed: Which communities name it; None where none does.
    """

    rank: int
    entity: Entity
    hops: int
    seed: CommunitySeed | None = None


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A text that found entities were read from.

    Attributes:
        score: Sum of ``1 / (60 + rank)`` over those entities.
        text: Empty where the graph does not have it.
        entities: Their ids, the best first.
    """

    rank: int
    id: str
    score: float
    text: str
    entities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommunityResult:
    """What communities say to a question.

    Attributes:
        outcome: ``answered``, or ``not_in_graph`` where no report has to do with the question.
        communities: The chosen ones, the best first.
        entities: Key entities first, in the order of their communities; then what is around.
        chunks: The best first; entities without texts bring none.
        warnings: What the result lacks, and why.
    """

    question: str
    tenant: str
    outcome: Literal["answered", "not_in_graph"]
    run: str
    scorer: Literal["cosine", "overlap"]
    communities: tuple[FoundCommunity, ...]
    entities: tuple[FoundEntity, ...]
    chunks: tuple[FoundChunk, ...]
    warnings: tuple[str, ...]
    millis: float

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values; ``millis`` is all that may differ between two runs."""
        return {
            "version": 1,
            "question": self.question,
            "tenant": self.tenant,
            "method": "community",
            "outcome": self.outcome,
            "run": self.run,
            "scorer": self.scorer,
            "communities": [
                {
                    "rank": found.rank,
                    "id": found.report.community_id,
                    "level": found.level,
                    "size": found.size,
                    "score": found.score.score,
                    "key_terms": list(found.score.key_terms),
                    "summary_terms": list(found.score.summary_terms),
                    "title": found.report.title,
                    "summary": found.report.summary,
                    "findings": [asdict(finding) for finding in found.report.findings],
                    "key_entities": list(found.report.key_entities),
                    "origin": found.report.origin,
                    "form": found.report.form,
                }
                for found in self.communities
            ],
            "entities": [
                {
                    "rank": found.rank,
                    "id": found.entity.id,
                    "name": found.entity.name,
                    "labels": list(found.entity.labels),
                    "hops": found.hops,
                    "origins": [asdict(o) for o in found.seed.origins] if found.seed else [],
                }
                for found in self.entities
            ],
            "chunks": [asdict(c) | {"entities": list(c.entities)} for c in self.chunks],
            "warnings": list(self.warnings),
            "millis": self.millis,
        }


def search_communities(
    db: QueryRunner,
    encoder: Encoder,
    question: str,
    *,
    tenant: str = DEFAULT_TENANT,
    communities: int = 3,
    hops: int = 1,
    top_k: int = 5,
    scorer: Scorer = "auto",
) -> CommunityResult:
    """Find the communities that a question is about, their entities and their texts.

    Args:
        encoder: The one that the reports were embedded with; not used by ``overlap``.
        communities: How many at most, at least 1.
        hops: How far to go from the key entities, from 0 to 3.
        top_k: Texts at most, at least 1.
        scorer: How reports are compared with the question.

    Raises:
        ConfigError: The question is empty, the tenant has no communities or no reports, an option
            is out of range, or ``cosine`` is asked for and no report has a vector.
        EncoderMismatch: The reports were embedded by another encoder.
        DatabaseError: The server failed.
    """
    check_tenant(tenant)
    if not question.strip():
        raise ConfigError("The question is empty.", hint='Ask one: "Who is Jane?"')
    _check(communities=(communities, 1), hops=(hops, 0), top_k=(top_k, 1))
    if hops > 3:
        raise ConfigError(f"hops must be at most 3, not {hops}.")
    with telemetry.span(
        "graphrag.retrieve",
        tenant=tenant,
        query_length=len(question),
        community_top_k=communities,
        hops=hops,
    ) as span:
        span.tell(query=question)
        return _search(
            db,
            encoder,
            question,
            tenant=tenant,
            communities=communities,
            hops=hops,
            top_k=top_k,
            scorer=scorer,
            span=span,
        )


def _search(
    db: QueryRunner,
    encoder: Encoder,
    question: str,
    *,
    tenant: str,
    communities: int,
    hops: int,
    top_k: int,
    scorer: Scorer,
    span: telemetry.Span,
) -> CommunityResult:
    started = time.perf_counter()
    chosen = choose_reports(db, encoder, question, tenant=tenant, count=communities, scorer=scorer)
    warnings = list(chosen.warnings)
    scores = [found.score for found in chosen.communities]
    reports = [found.report for found in chosen.communities]
    seeds = {seed.id: seed for seed in collect_seeds(scores, reports)}
    entities = _entities(db, tenant, seeds, hops)
    chunks = _chunks(db, tenant, entities, top_k)
    span.set(
        scorer=chosen.scorer,
        communities_matched=len(scores),
        seeds_n=sum(not found.hops for found in entities),
        neighbors_n=sum(found.hops > 0 for found in entities),
        chunks_out=len(chunks),
    )
    span.tell(titles=[report.title for report in reports])
    if scores and not chunks:
        warnings.append("No entity of these communities says which text it was read from.")
    return CommunityResult(
        question=question,
        tenant=tenant,
        outcome="answered" if scores else "not_in_graph",
        run=chosen.run,
        scorer=chosen.scorer,
        communities=chosen.communities,
        entities=entities,
        chunks=chunks,
        warnings=tuple(warnings),
        millis=round((time.perf_counter() - started) * 1000, 1),
    )


@dataclass(frozen=True, slots=True)
class ChosenReports:
    """The reports that have most to do with a question.

    Attributes:
        run: That found their communities.
        scorer: How they were compared with the question.
        communities: The best first; none where no report has to do with the question.
        most: How many reports there are.
        warnings: What the choice lacks, and why.
    """

    run: str
    scorer: Literal["cosine", "overlap"]
    communities: tuple[FoundCommunity, ...]
    most: int
    warnings: tuple[str, ...] = ()


def choose_reports(
    db: QueryRunner,
    encoder: Encoder,
    question: str,
    *,
    tenant: str = DEFAULT_TENANT,
    count: int = 3,
    scorer: Scorer = "auto",
) -> ChosenReports:
    """Choose the communities whose reports have most to do with a question; ties by id.

    Args:
        encoder: The one that the reports were embedded with; not used by ``overlap``.
        count: How many at most, at least 1.
        scorer: How reports are compared with the question.

    Raises:
        ConfigError: The tenant has no communities or no reports, the count is below 1, or
            ``cosine`` is asked for and no report has a vector.
        EncoderMismatch: The reports were embedded by another encoder.
        DatabaseError: The server failed.
    """
    _check(count=(count, 1))
    run = str(require_run(db, tenant)["id"])
    if scorer != "overlap":
        by_vector = _by_cosine(db, encoder, question, tenant, run, count)
        if by_vector is not None:
            return by_vector
    if scorer == "cosine":
        raise ConfigError(
            f"No report of tenant {tenant!r} has a vector.", hint="Run: pathrag embed"
        )
    stored = {c.id: c for c in read_communities(db, tenant, run) if c.report is not None}
    reports = [c.report for c in stored.values() if c.report is not None]
    _require_reports(tenant, len(reports))
    names = _names(db, tenant, {id_ for report in reports for id_ in report.key_entities})
    scores = score_by_overlap(question, [terms_of(report, names) for report in reports])
    warnings = ["No report has a vector, so words are compared. Run: pathrag embed"]
    return ChosenReports(
        run,
        "overlap",
        _found(choose_communities(scores, count), stored),
        len(reports),
        tuple(warnings) if scorer == "auto" else (),
    )


def _by_cosine(
    db: QueryRunner, encoder: Encoder, question: str, tenant: str, run: str, count: int
) -> ChosenReports | None:
    """Choose by vectors, and read the chosen reports alone; None where no report has a vector."""
    record = vector_record(db, "community")
    if record is None:
        return None
    if record.fingerprint != encoder.fingerprint:
        raise EncoderMismatch(
            f"The reports were embedded by {record.encoder!r}, not by {encoder.name!r}.",
            hint=f"Embed all anew and switch: pathrag embed --model {encoder.name}",
        )
    rows = db.run(
        load("communities/cosines"),
        tenant=tenant,
        run=run,
        property=record.property,
        question=[float(x) for x in encoder.encode([question])[0]],
    )
    _require_reports(tenant, len(rows))
    # The server's arithmetic may go a little beyond.
    cosines = {
        row["id"]: min(1.0, max(-1.0, row["cosine"])) for row in rows if row["cosine"] is not None
    }
    if not cosines:
        return None
    chosen = choose_communities(score_by_cosine(cosines), count)
    stored = {c.id: c for c in read_chosen(db, tenant, run, [s.community_id for s in chosen])}
    without = len(rows) - len(cosines)
    warnings = (f"{without} reports have no vector yet. Run: pathrag embed",) if without else ()
    return ChosenReports(run, "cosine", _found(chosen, stored), len(rows), warnings)


def _require_reports(tenant: str, count: int) -> None:
    if not count:
        raise ConfigError(
            f"The communities of tenant {tenant!r} have no reports yet.",
            hint="Write them: pathrag communities report",
        )


def _check(**options: tuple[int, int]) -> None:
    for name, (value, least) in options.items():
        if value < least:
            raise ConfigError(f"{name} must be at least {least}, not {value}.")


def _names(db: QueryRunner, tenant: str, ids: Iterable[str]) -> dict[str, str]:
    return {entity.id: entity.name for entity in read_entities(db, tenant, sorted(ids))}


def _found(
    chosen: Iterable[CommunityScore], stored: Mapping[str, StoredCommunity]
) -> tuple[FoundCommunity, ...]:
    """Give the chosen communities; one that was deleted meanwhile is left out."""
    there = [
        (score, stored[score.community_id]) for score in chosen if score.community_id in stored
    ]
    return tuple(
        FoundCommunity(rank, score, community.report, community.level, community.size)
        for rank, (score, community) in enumerate(there, start=1)
        if community.report is not None
    )


def _entities(
    db: QueryRunner, tenant: str, seeds: Mapping[str, CommunitySeed], hops: int
) -> tuple[FoundEntity, ...]:
    """Give the key entities that are still there, then what is around them, nearest first."""
    far = dict.fromkeys(seeds, 0)
    frontier = list(seeds)
    for hop in range(1, hops + 1):
        room = _MOST_ENTITIES - len(far)
        if not frontier or room < 1:
            break
        rows = db.run(
            load("communities/around"),
            tenant=tenant,
            ids=frontier,
            known=list(far),
            structural=list(STRUCTURAL_TYPES),
            most=room,
        )
        frontier = [row["id"] for row in rows]
        far |= dict.fromkeys(frontier, hop)
    known = {entity.id: entity for entity in read_entities(db, tenant, list(far))}
    there = [id_ for id_ in far if id_ in known]
    return tuple(
        FoundEntity(rank, known[id_], far[id_], seeds.get(id_))
        for rank, id_ in enumerate(there, start=1)
    )


def _chunks(
    db: QueryRunner, tenant: str, entities: Sequence[FoundEntity], top_k: int
) -> tuple[FoundChunk, ...]:
    brought: dict[str, list[FoundEntity]] = {}
    for found in entities:
        for chunk in dict.fromkeys(found.entity.chunk_ids):
            brought.setdefault(chunk, []).append(found)
    scores = {
        chunk: round(sum(1 / (FUSION_K + found.rank) for found in by), 6)
        for chunk, by in brought.items()
    }
    best = sorted(scores, key=lambda chunk: (-scores[chunk], chunk))[:top_k]
    rows = db.run(load("retrieve/chunk_texts"), tenant=tenant, chunk_ids=best) if best else []
    texts = {row["chunk"]: row["text"] or "" for row in rows}
    return tuple(
        FoundChunk(
            rank,
            chunk,
            scores[chunk],
            texts.get(chunk, ""),
            tuple(found.entity.id for found in brought[chunk]),
        )
        for rank, chunk in enumerate(best, start=1)
    )
