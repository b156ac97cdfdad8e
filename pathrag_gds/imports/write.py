"""Write another system's index into the graph of a tenant, with its communities in force."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pathrag_gds.communities.read import StoredCommunity, properties_of, read_content
from pathrag_gds.communities.report_parse import parse_report
from pathrag_gds.communities.store import RunWriter, require_schema
from pathrag_gds.communities.types import Community
from pathrag_gds.config import DEFAULT_TENANT, check_tenant
from pathrag_gds.errors import GraphRAGError
from pathrag_gds.graph.database import Database
from pathrag_gds.graph.queries import load
from pathrag_gds.imports.index import DanglingEnd, ForeignIndex
from pathrag_gds.ingest.batches import write_rows
from pathrag_gds.ingest.finish import finish, link
from pathrag_gds.ingest.rows import DataRow

__all__ = ["ImportReport", "import_index"]

Progress = Callable[[int, int, str], None]
_BATCH = 2000
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What was taken over.

    Attributes:
        relationships: With both ends; those without are in ``dangling``.
        levels: How many communities each level has, the coarsest first.
        reports: How many communities have one.
        duplicates: Names that several entities have, each with their ids.
        parallel: Pairs of entities with several relationships.
        refused: Id of each report that could not be read, and what is wrong.
        warnings: What else was left out or changed.
    """

    system: str
    tenant: str
    entities: int
    relationships: int
    chunks: int
    communities: int
    levels: tuple[int, ...]
    reports: int
    dangling: tuple[DanglingEnd, ...]
    duplicates: Mapping[str, tuple[str, ...]]
    parallel: int
    refused: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    seconds: float

    @property
    def missing_ends(self) -> int:
        """Count the ends of relationships that name no entity."""
        return sum(len(end.missing) for end in self.dangling)

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return asdict(self) | {
            "missing_ends": self.missing_ends,
            "dangling": [asdict(end) for end in self.dangling],
            "duplicates": {name: list(ids) for name, ids in self.duplicates.items()},
            "refused": [{"community": id_, "reason": why} for id_, why in self.refused],
        }

    def error(self) -> GraphRAGError | None:
        """Give the error that names the reports which could not be read; None where all could."""
        if not self.refused:
            return None
        shown = "\n".join(f"  {id_}: {why}" for id_, why in self.refused[:_SHOWN])
        return GraphRAGError(
            f"{len(self.refused)} reports could not be read; the rest was imported:\n{shown}",
            failures=self.refused,
            hint="Write them anew: pathrag communities report",
        )


def import_index(
    db: Database,
    index: ForeignIndex,
    *,
    tenant: str = DEFAULT_TENANT,
    progress: Progress | None = None,
) -> ImportReport:
    """Write an index; what the tenant has already is added to, and importing again changes nothing.

    Its communities take the place of those of the tenant, in one statement, when they are complete.
    The reports keep what they say; the key entities, which those systems do not name, are the best
    linked ones, and marked so.

    Args:
        progress: Called with rows done, their number, and what they are.

    Raises:
        TenantError: The tenant has an impossible name.
        IndexMissing: The database has not our schema.
        DatabaseError: The server failed.
    """
    check_tenant(tenant)
    require_schema(db)
    started = time.monotonic()
    told = progress or (lambda done, total, what: None)
    rows: dict[str, Sequence[DataRow]] = {
        "chunks": index.chunks,
        "entities": index.nodes,
        "relationships": index.relationships,
    }
    for what, some in rows.items():
        for done, batch in _batches(some):
            with db.transaction("imports/rows") as transaction:
                write_rows(transaction, batch, tenant=tenant)
            told(done, len(some), what)
    link(db, tenant, sorted({chunk.document for chunk in index.chunks if chunk.document}))
    finish(db, tenant)
    reports, refused = 0, tuple[tuple[str, str], ...]()
    if index.communities:
        reports, refused = _write_communities(db, index, tenant, told)
    by_level = Counter(community.level for community in index.communities)
    warned = Counter(warning for some in rows.values() for row in some for warning in row.warnings)
    return ImportReport(
        system=index.system,
        tenant=tenant,
        entities=len(index.nodes),
        relationships=len(index.relationships),
        chunks=len(index.chunks),
        communities=len(index.communities),
        levels=tuple(by_level[level] for level in sorted(by_level)),
        reports=reports,
        dangling=index.dangling,
        duplicates=index.duplicates,
        parallel=index.parallel,
        refused=refused,
        warnings=(
            *index.warnings,
            *(f"{text} ({count} rows)" for text, count in sorted(warned.items())),
        ),
        seconds=round(time.monotonic() - started, 3),
    )


def _write_communities(
    db: Database, index: ForeignIndex, tenant: str, told: Progress
) -> tuple[int, tuple[tuple[str, str], ...]]:
    """Write the communities with their reports, and put them in force."""
    writer = RunWriter.begin(db, tenant, f"import of {index.system}")
    ids = {
        (community.level, community.key): f"{writer.run}.{community.level}.{community.key}"
        for community in index.communities
    }
    communities = [
        Community(
            ids[community.level, community.key],
            tenant,
            community.node_ids,
            community.level,
            ids.get((community.level - 1, community.parent or "")),
        )
        for community in index.communities
    ]
    writer.write(communities)
    refused: list[tuple[str, str]] = []
    reports = 0
    for done, (community, foreign) in enumerate(
        zip(communities, index.communities, strict=True), start=1
    ):
        stored = StoredCommunity(
            community.id,
            tenant,
            community.level,
            community.parent_id,
            len(community.node_ids),
            None,
        )
        content = read_content(db, stored) if foreign.report else None
        if content is None:
            continue
        try:
            report = parse_report(foreign.report, content, origin="imported", lenient=True)
        except GraphRAGError as error:
            refused += error.failures
            continue
        db.run(
            load("communities/write_report"),
            tenant=tenant,
            id=community.id,
            report=properties_of(report),
        )
        reports += 1
        told(done, len(communities), "communities")
    writer.put_in_force(
        {
            "entities": len(index.nodes),
            "relationships": len(index.relationships),
            "communities": len(communities),
            "levels": 1 + max(community.level for community in communities),
            "outside": sorted(
                {node.id for node in index.nodes}
                - {id_ for community in communities for id_ in community.node_ids}
            ),
        }
    )
    return reports, tuple(refused)


def _batches(rows: Sequence[DataRow]) -> Iterator[tuple[int, Sequence[DataRow]]]:
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        yield start + len(batch), batch
