"""Keep a search within labels or communities of the graph.

What is within is asked of every node of a path, its start too; names are looked up before a search,
and reach its statements as parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pathrag_gds.errors import ConfigError
from pathrag_gds.graph.database import QueryRunner
from pathrag_gds.graph.queries import load
from pathrag_gds.graph.schema import Ontology
from pathrag_gds.retrieve.filters import Predicate

__all__ = ["Scope", "read_scope"]

# Of what there is, so much is named to somebody who named something else.
_NAMED = 12


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a search stays; without labels and communities, the whole graph.

    Attributes:
        labels: A node with one of these is within.
        communities: So is a node of one of these, by id, of the tenant's detection in force.
    """

    labels: tuple[str, ...] = ()
    communities: tuple[str, ...] = ()

    def predicate(self, node: str) -> Predicate:
        """Ask of a node of a statement that it is within; empty for the whole graph.

        Args:
            node: Variable of an entity of the tenant. Its communities are of the same tenant.
        """
        labelled = f"any(label IN labels({node}) WHERE label IN $filters.scope_labels)"
        member = (
            f"EXISTS {{ ({node})-[:IN_COMMUNITY]->(community:__Community__) "
            f"WHERE community.tenant = {node}.tenant "
            "AND community.id IN $filters.scope_communities }"
        )
        parts = [labelled] * bool(self.labels) + [member] * bool(self.communities)
        values = {
            "scope_labels": list(self.labels),
            "scope_communities": list(self.communities),
        }
        text = " OR ".join(parts)
        return Predicate(f"({text})", values) if text else Predicate("", {})


def read_scope(db: QueryRunner, tenant: str, names: Sequence[str], ontology: Ontology) -> Scope:
    """Tell labels from communities: what is no label of the graph is the id of a community.

    Runs one statement where a name is no label, else none.

    Raises:
        ConfigError: A name is neither.
        DatabaseError: The server refused or failed the statement.
    """
    known = [t.name for t in ontology.entity_types if t.name]
    labels = tuple(dict.fromkeys(name for name in names if name in known))
    ids = list(dict.fromkeys(name for name in names if name not in known))
    if not ids:
        return Scope(labels)
    found = {row["id"] for row in db.run(load("retrieve/communities"), tenant=tenant, ids=ids)}
    for name in ids:
        if name not in found:
            rows = db.run(load("retrieve/largest_communities"), tenant=tenant, most=_NAMED + 1)
            raise ConfigError(
                f"Scope: tenant {tenant!r} has neither a label nor a community {name!r}.",
                hint=f"Labels: {_some(known)}.\nCommunities: {_some([r['id'] for r in rows])}.",
            )
    return Scope(labels, tuple(ids))


def _some(names: Sequence[str]) -> str:
    told = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    return told or "none"
