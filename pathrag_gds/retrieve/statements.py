"""What passes between a search and the database: requests one way, rows the other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from pathrag_gds.errors import PathRAGError
from pathrag_gds.graph.database import QueryRunner, Row
from pathrag_gds.graph.queries import Query
from pathrag_gds.graph.schema import ENTITY_LABEL, NODE_SYSTEM_KEYS, RELATIONSHIP_SYSTEM_KEYS
from pathrag_gds.types import Edge, Entity

__all__ = ["Request", "edge_of_row", "entity_of_row", "perform"]

_OWN_FIELDS = frozenset({"id", "name", "description"})


@dataclass(frozen=True, slots=True)
class Request:
    """A statement that a search wants run, with its parameters.

    Attributes:
        undo: To be run after this one failed or was interrupted, where that may leave something.
        stage: Of the search, for telemetry; empty where it was not asked by one.
        depth: At which it is asked, for telemetry; None before and after the expansions.
    """

    query: Query
    parameters: Mapping[str, Any] = field(default_factory=dict)
    undo: Request | None = None
    stage: str = ""
    depth: int | None = None


def perform(db: QueryRunner, request: Request) -> list[Row]:
    """Run what is requested, and undo it where it does not come to its end.

    What went wrong is raised, whatever becomes of the undoing.
    """
    try:
        return db.run(request.query, **request.parameters)
    except BaseException:
        if request.undo is not None:
            # The server may be gone, and then nothing is left to undo.
            with suppress(PathRAGError):
                db.run(request.undo.query, **request.undo.parameters)
        raise


def entity_of_row(row: Row) -> Entity:
    """Make an entity of the columns ``id, name, labels, properties``.

    System keys and null values are left out; a node without a name is called by its id.
    """
    properties = row["properties"] or {}
    name = row["name"]
    return Entity(
        id=row["id"],
        name=row["id"] if name is None or name == "" else str(name),
        labels=tuple(sorted(label for label in row["labels"] if label != ENTITY_LABEL)),
        description=str(properties.get("description") or ""),
        properties={
            key: value
            for key, value in sorted(properties.items())
            if value is not None and key not in NODE_SYSTEM_KEYS and key not in _OWN_FIELDS
        },
        chunk_ids=_texts(properties.get("chunk_ids")),
    )


def edge_of_row(row: Row) -> Edge:
    """Make a relationship of the columns ``tail, forward, key, type, relationship, id``.

    A relationship that another tool wrote has no key of ours: then its type, its ends and what it
    says are it, so that parallel ones which differ stay apart.
    """
    source, target = (row["tail"], row["id"]) if row["forward"] else (row["id"], row["tail"])
    properties = row["relationship"] or {}
    key = row["key"]
    if key is None:
        said = json.dumps(properties, sort_keys=True, default=str)
        key = f"{source}|{row['type']}|{target}|{sha256(said.encode()).hexdigest()[:12]}"
    return Edge(
        key=key,
        source=source,
        target=target,
        type=row["type"],
        properties={
            key: value
            for key, value in sorted(properties.items())
            if value is not None and key not in RELATIONSHIP_SYSTEM_KEYS
        },
        chunk_ids=_texts(properties.get("chunk_ids")),
    )


def _texts(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, (list, tuple)):
        return tuple(str(item) for item in value)
    return (str(value),)
