"""Communities, what they hold and what is told about them: frozen, without a database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pathrag_gds.errors import TenantError
from pathrag_gds.types import Edge, Entity

__all__ = [
    "Community",
    "CommunityContent",
    "CommunityReport",
    "Finding",
    "Form",
    "KeyEntitySource",
    "Origin",
    "check_one_tenant",
]

Origin = Literal["llm", "recorded", "imported", "extractive"]
"""Who wrote a report: a model just now; a model once, its answer kept; another system's index; or
nobody, it was put together from the graph."""

Form = Literal["strict", "fenced", "repaired", "fallback", "extracted"]
"""How a report was read: JSON as demanded; the same in a code fence; JSON or fields that had to be
mended; no JSON, so the text itself; or not read at all but put together from the graph."""

KeyEntitySource = Literal["answer", "degree", "centrality", "first"]
"""Where a report's key entities come from: its author; the largest degrees in the community; the
centrality that was given; or the first ids, for a text that names none."""


@dataclass(frozen=True, slots=True)
class Community:
    """Entities that are linked more among themselves than with the rest.

    Attributes:
        id: Unique within the tenant, over all levels.
        tenant_id: Tenant of all its entities.
        node_ids: Ids of its entities, strictly ascending, at least one.
        level: In the hierarchy; 0 is the coarsest.
        parent_id: Community one level up that holds all its entities; None on level 0.

    Raises:
        ValueError: ``node_ids`` is empty or not strictly ascending.
    """

    id: str
    tenant_id: str
    node_ids: tuple[str, ...]
    level: int = 0
    parent_id: str | None = None

    def __post_init__(self) -> None:
        # "The first three ids" must be the same three in every process.
        if not self.node_ids:
            raise ValueError(f"community {self.id!r} has no entity")
        if list(self.node_ids) != sorted(set(self.node_ids)):
            raise ValueError(f"the entities of community {self.id!r} are not in order of their ids")


@dataclass(frozen=True, slots=True)
class CommunityContent:
    """A community with its part of the graph: what a report is written from.

    Attributes:
        entities: In the order of the community's ``node_ids``, each of them once.
        edges: Relationships with both ends in the community, in any order.

    Raises:
        ValueError: An entity is missing, foreign or out of order, or an edge leads out.
    """

    community: Community
    entities: tuple[Entity, ...]
    edges: tuple[Edge, ...] = ()

    def __post_init__(self) -> None:
        name = f"community {self.community.id!r}"
        if tuple(entity.id for entity in self.entities) != self.community.node_ids:
            raise ValueError(f"{name}: its entities are not those of its ids, in their order")
        members = set(self.community.node_ids)
        for edge in self.edges:
            if not {edge.source, edge.target} <= members:
                raise ValueError(f"{name}: {edge.source!r} to {edge.target!r} leads out of it")

    def degrees(self) -> dict[str, int]:
        """Count the ends of relationships at each entity; one to itself counts twice."""
        ends = Counter(end for edge in self.edges for end in (edge.source, edge.target))
        return {entity.id: ends[entity.id] for entity in self.entities}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a report says.

    Attributes:
        summary: In one sentence; never empty.
        explanation: At length; empty when there is none.
    """

    summary: str
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class CommunityReport:
    """What is told about a community.

    Attributes:
        community_id: Of the community.
        tenant_id: Of the community.
        title: Given by the author, else the names of the key entities.
        summary: Never empty.
        key_entities: Ids of members, the most important first, at least one, each once.
        findings: Single things that it says, in its order.
        rating: How much it matters, from 0 to 10; None when the author gave none.
        rating_explanation: Why; empty when the author did not say.
        origin: Who wrote it. ``extractive`` marks a report that no model wrote.
        form: How it was read.
        key_entities_from: Where ``key_entities`` come from.
        repairs: What was changed to make it fit the schema, in order; empty unless ``repaired``.
        content_hash: Of the content that it is about; see
            :func:`pathrag_gds.communities.content.content_hash`.
    """

    community_id: str
    tenant_id: str
    title: str
    summary: str
    key_entities: tuple[str, ...]
    origin: Origin
    form: Form
    key_entities_from: KeyEntitySource
    content_hash: str
    findings: tuple[Finding, ...] = ()
    rating: float | None = None
    rating_explanation: str = ""
    repairs: tuple[str, ...] = ()


def check_one_tenant(tenants: Iterable[str]) -> None:
    """Refuse what would bring communities of several tenants together.

    Raises:
        TenantError: They are not all the same; none, and one, are fine.
    """
    found = sorted(set(tenants))
    if len(found) > 1:
        raise TenantError(
            f"Communities of {len(found)} tenants are asked at once: {found[0]!r}, {found[1]!r}"
            f"{', …' if len(found) > 2 else ''}.",
            hint="Ask one tenant at a time.",
        )
