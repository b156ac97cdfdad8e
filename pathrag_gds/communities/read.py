"""Read the communities in force, what they hold and what was reported about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pathrag_gds.communities.store import live_run
from pathrag_gds.communities.types import (
    Community,
    CommunityContent,
    CommunityReport,
    Finding,
)
from pathrag_gds.errors import ConfigError
from pathrag_gds.graph.database import QueryRunner, Row
from pathrag_gds.graph.queries import load
from pathrag_gds.graph.schema import STRUCTURAL_TYPES
from pathrag_gds.retrieve.statements import edge_of_row, entity_of_row
from pathrag_gds.types import Entity

__all__ = [
    "StoredCommunity",
    "properties_of",
    "read_chosen",
    "read_communities",
    "read_content",
    "read_entities",
    "require_run",
]

_BATCH = 1000


@dataclass(frozen=True, slots=True)
class StoredCommunity:
    """A community in force, without its entities.

    Attributes:
        size: Entities that it had when it was written.
        report: What was reported about it; None where nothing was.
    """

    id: str
    tenant: str
    level: int
    parent_id: str | None
    size: int
    report: CommunityReport | None


def require_run(db: QueryRunner, tenant: str) -> Row:
    """Read what is known of the run in force.

    Raises:
        ConfigError: The tenant has no communities.
    """
    run = live_run(db, tenant)
    if run is None:
        raise ConfigError(
            f"Tenant {tenant!r} has no communities yet.",
            hint="Find them: pathrag communities detect",
        )
    return run


def read_communities(db: QueryRunner, tenant: str, run: str) -> tuple[StoredCommunity, ...]:
    """Read the communities of a run: the finest level first, then by size, the largest first.

    Ties are broken by id.
    """
    return _stored(tenant, db.run(load("communities/read_communities"), tenant=tenant, run=run))


def read_chosen(
    db: QueryRunner, tenant: str, run: str, ids: Sequence[str]
) -> tuple[StoredCommunity, ...]:
    """Read some communities of a run, in the order of :func:`read_communities`.

    An id that is none of the run's is left out; without ids nothing is asked.
    """
    if not ids:
        return ()
    rows = db.run(load("communities/read_chosen"), tenant=tenant, run=run, ids=list(ids))
    return _stored(tenant, rows)


def _stored(tenant: str, rows: Iterable[Row]) -> tuple[StoredCommunity, ...]:
    found = [
        StoredCommunity(
            row["id"],
            tenant,
            row["level"],
            row["parent_id"],
            row["size"],
            _report(row["id"], tenant, row["report"]),
        )
        for row in rows
    ]
    return tuple(sorted(found, key=lambda c: (-c.level, -c.size, c.id)))


def read_content(db: QueryRunner, community: StoredCommunity) -> CommunityContent | None:
    """Read the entities of a community and the relationships between them, as they are now.

    Returns:
        None where none of its entities is left.
    """
    where = {"tenant": community.tenant, "community": community.id}
    rows = db.run(load("communities/community_entities"), **where)
    entities = tuple(sorted(map(entity_of_row, rows), key=lambda entity: entity.id))
    if not entities:
        return None
    edges = db.run(load("communities/community_edges"), **where, structural=list(STRUCTURAL_TYPES))
    ids = tuple(entity.id for entity in entities)
    # Each statement sees the graph as it is then: an end may have gone or come in between.
    members = set(ids)
    read = (edge_of_row(row) for row in edges)
    return CommunityContent(
        Community(community.id, community.tenant, ids, community.level, community.parent_id),
        entities,
        tuple(edge for edge in read if {edge.source, edge.target} <= members),
    )


def read_entities(db: QueryRunner, tenant: str, ids: Sequence[str]) -> Iterator[Entity]:
    """Read entities of a tenant, in the order of the ids; those that are not there are left out."""
    for start in range(0, len(ids), _BATCH):
        batch = list(ids[start : start + _BATCH])
        rows = db.run(load("retrieve/hydrate"), tenant=tenant, ids=batch)
        found = {row["id"]: entity_of_row(row) for row in rows}
        yield from (found[id_] for id_ in batch if id_ in found)


def properties_of(report: CommunityReport) -> dict[str, Any]:
    """Give a report as properties of its community; null for what it does not have.

    The findings' summaries and explanations are two lists of the same order.
    """
    return {
        "title": report.title,
        "summary": report.summary,
        "key_entities": list(report.key_entities),
        "key_entities_from": report.key_entities_from,
        "findings": [finding.summary for finding in report.findings] or None,
        "explanations": [finding.explanation for finding in report.findings] or None,
        "rating": report.rating,
        "rating_explanation": report.rating_explanation or None,
        "origin": report.origin,
        "form": report.form,
        "repairs": list(report.repairs) or None,
        "content_hash": report.content_hash,
    }


def _report(id_: str, tenant: str, row: Row) -> CommunityReport | None:
    if row["content_hash"] is None:
        return None
    findings = zip(row["findings"] or (), row["explanations"] or (), strict=True)
    return CommunityReport(
        community_id=id_,
        tenant_id=tenant,
        title=row["title"],
        summary=row["summary"],
        key_entities=tuple(row["key_entities"]),
        origin=row["origin"],
        form=row["form"],
        key_entities_from=row["key_entities_from"],
        content_hash=row["content_hash"],
        findings=tuple(Finding(summary, explanation) for summary, explanation in findings),
        rating=row["rating"],
        rating_explanation=row["rating_explanation"] or "",
        repairs=tuple(row["repairs"] or ()),
    )
