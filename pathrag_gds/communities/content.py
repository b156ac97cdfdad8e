"""What a report is written from: its hash, its largest entities, their names. Pure."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence

from pathrag_gds.communities.types import CommunityContent

__all__ = ["KEY_ENTITIES", "content_hash", "join_names", "most_central", "title_of"]

KEY_ENTITIES = 3
"""How many entities stand for a community whose report names none."""

CONTENT_VERSION = 1
_TITLE_NAME_CHARACTERS = 60


def content_hash(content: CommunityContent, children: Iterable[str] = ()) -> str:
    """Hash what a report tells, so that only communities that changed are reported again.

    Ids, names, labels, descriptions and properties of the entities and relationships count, and
    the tenant. What a new detection may change although the community did not, does not count: its
    id, its level, its parent, the order of the relationships. Nor do the chunks that a fact was
    read from, since a report does not quote them.

    Args:
        children: Hashes of the communities one level down, where the report is written from their
            reports; in any order.

    Returns:
        64 hexadecimal digits.
    """
    entities = [
        [e.id, e.name, sorted(e.labels), e.description, dict(e.properties)]
        for e in content.entities
    ]
    edges = [
        [list(edge.identity), dict(edge.properties)]
        for edge in sorted(content.edges, key=lambda edge: edge.identity)
    ]
    told = [CONTENT_VERSION, content.community.tenant_id, entities, edges, sorted(children)]
    # Dates, times and points of the database have no JSON; their text is their value.
    text = json.dumps(told, sort_keys=True, default=str, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def most_central(
    content: CommunityContent, centrality: Mapping[str, float] | None = None, count: int = 0
) -> tuple[str, ...]:
    """Order the entities by centrality, the largest first, ties by id.

    Args:
        centrality: By id; 0 for an entity that it does not know; None for the degree within the
            community.
        count: How many at most; 0 for all.

    Raises:
        ValueError: A centrality is not a number.
    """
    values = content.degrees() if centrality is None else centrality
    for id_ in content.community.node_ids:
        if not math.isfinite(values.get(id_, 0.0)):
            raise ValueError(f"the centrality of {id_!r} is {values[id_]}")
    ordered = sorted(content.community.node_ids, key=lambda id_: (-values.get(id_, 0.0), id_))
    return tuple(ordered[:count] if count else ordered)


def title_of(content: CommunityContent, ids: Sequence[str]) -> str:
    """Name a community by some of its entities: ``"Scrooge, Marley and Fred"``.

    At most three are named, each in one line of at most 60 characters.
    """
    names = {entity.id: " ".join(entity.name.split()) for entity in content.entities}
    return join_names([_shortened(names[id_] or id_) for id_ in ids[:KEY_ENTITIES]])


def join_names(names: Sequence[str]) -> str:
    """Join names as in a sentence: ``"A, B and C"``; none give the empty text."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _shortened(name: str) -> str:
    if len(name) <= _TITLE_NAME_CHARACTERS:
        return name
    return name[: _TITLE_NAME_CHARACTERS - 1].rstrip() + "…"
