"""Write communities so that a new run takes the place of the old one at once, or not at all.

A run writes its communities beside those in force and is put in force by one statement. Until then
readers see the old run; whatever breaks off before leaves it as it was. What a broken run wrote,
and what the new one replaced, is deleted by the run that comes next, or at the end of this one.
Of two runs of a tenant at once the later one goes on, and the other one says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from pathrag_gds.communities.partition import members_hash
from pathrag_gds.communities.types import Community, check_one_tenant
from pathrag_gds.errors import DatabaseError, IndexMissing
from pathrag_gds.graph.database import Database, QueryRunner, Row
from pathrag_gds.graph.queries import load
from pathrag_gds.graph.schema import index_states

__all__ = ["REPORT_KEYS", "RunWriter", "live_run", "require_schema"]

REPORT_KEYS = (
    "content_hash",
    "embedding",
    "embedding_alt",
    "explanations",
    "findings",
    "form",
    "key_entities",
    "key_entities_from",
    "origin",
    "rating",
    "rating_explanation",
    "repairs",
    "summary",
    "text_hash",
    "text_hash_alt",
    "title",
)
"""Properties of a ``__Community__`` that make its report."""

_COMMUNITIES = 1000
_MEMBERS = 5000
Item = TypeVar("Item")


def live_run(db: QueryRunner, tenant: str) -> Row | None:
    """Read what is known of the run in force; None where no communities are."""
    rows = db.run(load("communities/live_run"), tenant=tenant)
    return dict(rows[0]["run"]) if rows else None


def require_schema(db: QueryRunner) -> None:
    """Check that the database has what communities need.

    Raises:
        IndexMissing: It has not.
    """
    names = {index.name for index in index_states(db)}
    missing = {"community_id_unique", "community_run_id_unique", "community_run"} - names
    if missing:
        raise IndexMissing(
            f"The database has no {min(missing)!r}, which communities need.",
            hint="Run: pathrag migrate up",
        )


@dataclass(frozen=True, slots=True)
class RunWriter:
    """Writes the communities of one run; made by :meth:`begin`.

    Attributes:
        run: Id of the run, unique within the tenant.
        live: Id of the run that was in force when this one began; None where none was.
    """

    db: Database
    tenant: str
    run: str
    live: str | None

    @classmethod
    def begin(cls, db: Database, tenant: str, source: str) -> RunWriter:
        """Begin a run, and delete what broken ones left.

        Args:
            source: What finds the communities, for people.
        """
        row = db.run(load("communities/begin_run"), tenant=tenant, source=source)[0]
        writer = cls(db, tenant, row["run"], row["live"])
        writer._clean(tuple(filter(None, (row["run"], row["live"]))))
        return writer

    def write(
        self,
        communities: Sequence[Community],
        properties: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Write communities, with their entities and the communities that hold them.

        Args:
            communities: All of the run.
            properties: More about some of them, by id.

        Raises:
            TenantError: One is of another tenant.
            DatabaseError: Another run has begun meanwhile, or the server failed.
        """
        check_one_tenant([self.tenant, *(community.tenant_id for community in communities)])
        more = properties or {}
        rows = [
            {
                "id": community.id,
                "level": community.level,
                "size": len(community.node_ids),
                "members": members_hash(community.node_ids),
                "properties": dict(more.get(community.id, {})),
            }
            for community in communities
        ]
        for batch in _batches(rows, _COMMUNITIES):
            written = self._run("write_communities", run=self.run, rows=batch)[0]["written"]
            self._still_ours(written)
        members = (
            {"entity": id_, "community": community.id}
            for community in communities
            for id_ in community.node_ids
        )
        for links in _batches(members, _MEMBERS):
            self._still_ours(self._run("link_members", run=self.run, rows=links)[0]["runs"])
        parents = (
            {"community": community.id, "parent": community.parent_id}
            for community in communities
            if community.parent_id is not None
        )
        for ends in _batches(parents, _MEMBERS):
            self._run("link_parents", rows=ends)

    def carry_reports(self) -> int:
        """Take over the reports on communities in force that have the same entities.

        Returns:
            How many were taken over.
        """
        if self.live is None:
            return 0
        rows = self._run("carry_reports", run=self.run, live=self.live, keys=list(REPORT_KEYS))
        return int(rows[0]["carried"])

    def put_in_force(self, figures: Mapping[str, Any]) -> None:
        """Put the run in force, and delete the one that was.

        Args:
            figures: What to note about the run.

        Raises:
            DatabaseError: Another run has begun meanwhile, or the server failed; the communities
                in force stay as they were.
        """
        rows = self._run("switch_run", run=self.run, figures=dict(figures))
        self._still_ours(rows[0]["switched"])
        self._clean((self.run,))

    def _clean(self, kept: tuple[str, ...]) -> None:
        for name in ("drop_runs", "unlink_leftovers", "drop_leftovers"):
            self._run(name, kept=list(kept))

    def _run(self, name: str, **parameters: Any) -> list[Row]:
        return self.db.run(load(f"communities/{name}"), tenant=self.tenant, **parameters)

    def _still_ours(self, found: int) -> None:
        if not found:
            raise DatabaseError(
                f"Another run began to write communities of tenant {self.tenant!r}; this one "
                "gave up.",
                hint="Run one at a time.",
            )


def _batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    left = iter(items)
    while batch := list(islice(left, size)):
        yield batch
