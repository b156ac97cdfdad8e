"""What the live graph looks like: its relationship types, labels, indexes and vector records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pathrag_gds.graph.database import QueryRunner, Row
from pathrag_gds.graph.queries import load

__all__ = [
    "NODE_SYSTEM_KEYS",
    "RELATIONSHIP_SYSTEM_KEYS",
    "STRUCTURAL_TYPES",
    "EntityType",
    "IndexState",
    "Ontology",
    "RelationType",
    "VectorRecord",
    "index_states",
    "infer_ontology",
    "read_ontology",
    "refresh_ontology",
    "tenant_size",
    "vector_record",
]

# Bookkeeping of this package and of Neo4j's own GraphRAG tools: never a fact about the world.
STRUCTURAL_TYPES: tuple[str, ...] = (
    "FIRST_CHUNK",
    "FROM_CHUNK",
    "FROM_DOCUMENT",
    "HAS_ENTITY",
    "IN_COMMUNITY",
    "NEXT_CHUNK",
    "PARENT_COMMUNITY",
    "PART_OF",
    "SIMILAR",
)
ENTITY_LABEL = "__Entity__"
NODE_SYSTEM_KEYS = frozenset(
    {
        "alias_forms",
        "alias_keys",
        "chunk_ids",
        "embedding",
        "embedding_alt",
        "name_forms",
        "name_key",
        "tenant",
        "text_hash",
        "text_hash_alt",
    }
)
_NAMING_KEYS = frozenset({"aliases", "id", "name"}) | NODE_SYSTEM_KEYS
RELATIONSHIP_SYSTEM_KEYS = frozenset({"chunk_ids", "key"})


@dataclass(frozen=True, slots=True)
class RelationType:
    """A relationship type of one tenant.

    Attributes:
        count: Relationships of this type.
        domains: Labels of start nodes, sorted.
        ranges: Labels of end nodes, sorted.
        max_out: Most relationships of this type that leave one node.
        max_in: Most that enter one node.
        phrase: How to say it, empty for the type's own words.
        inverse: How to say it backwards, empty when there is no such wording.
    """

    name: str
    count: int
    domains: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    max_out: int = 0
    max_in: int = 0
    description: str = ""
    phrase: str = ""
    inverse: str = ""


@dataclass(frozen=True, slots=True)
class EntityType:
    """A label of one tenant, with the property keys that its nodes have, sorted.

    The empty name stands for entities without a label of their own.
    """

    name: str
    count: int
    properties: tuple[str, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class Ontology:
    """The types of one tenant, each kind by name in ascending order.

    Attributes:
        recorded: Whether it was read from records; False when it was inferred just now.
    """

    tenant: str
    relation_types: tuple[RelationType, ...] = ()
    entity_types: tuple[EntityType, ...] = ()
    recorded: bool = True

    @property
    def phrasing(self) -> dict[str, tuple[str, str]]:
        """Words of the types that have some, as the serialiser takes them."""
        return {t.name: (t.phrase, t.inverse) for t in self.relation_types if t.phrase or t.inverse}

    @property
    def nodes_tell(self) -> bool:
        """Whether entities have more to tell than their names; so it is where nothing is known."""
        keys = {key for t in self.entity_types for key in t.properties}
        return not self.entity_types or bool(keys - _NAMING_KEYS)

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return {
            "tenant": self.tenant,
            "relation_types": [_relation_row(t) for t in self.relation_types],
            "entity_types": [_entity_row(t) for t in self.entity_types],
        }


@dataclass(frozen=True, slots=True)
class VectorRecord:
    """Which vectors are in force, and what made them.

    Attributes:
        role: Whose vectors: of entities, of chunks, or of reports on communities.
        index: Name of the vector index.
        property: Where the vectors are.
        hash_property: Where the hash of what was embedded is.
        fingerprint: Of the encoder.
        template: Version of the text template.
    """

    role: Literal["entity", "chunk", "community"]
    index: str
    property: str
    hash_property: str
    dimension: int
    encoder: str
    fingerprint: str
    template: str


@dataclass(frozen=True, slots=True)
class IndexState:
    """An index of the database as SHOW INDEXES gives it.

    Attributes:
        state: ``ONLINE``, ``POPULATING`` or ``FAILED``.
        percent: Population, 0 to 100.
        options: Its ``indexConfig``.
    """

    name: str
    type: str
    state: str
    percent: float
    labels_or_types: tuple[str, ...]
    properties: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)


def infer_ontology(db: QueryRunner, tenant: str) -> Ontology:
    """Read the types, their ends and degrees from the graph itself.

    Structural types are left out. Costs a pass over the tenant's relationships, twice; an empty
    tenant gives an empty ontology.
    """
    structural = list(STRUCTURAL_TYPES)
    leaving = db.run(load("schema/infer_leaving"), tenant=tenant, structural=structural)
    entering = {
        row["type"]: row
        for row in db.run(load("schema/infer_entering"), tenant=tenant, structural=structural)
    }
    relations = [
        RelationType(
            name=row["type"],
            count=row["count"],
            domains=_labels(row["label_sets"]),
            ranges=_labels(entering[row["type"]]["label_sets"]),
            max_out=row["max_degree"],
            max_in=entering[row["type"]]["max_degree"],
        )
        for row in leaving
    ]
    entities = [
        EntityType(row["label"], row["count"], _shown_keys(row["key_sets"]))
        for row in db.run(load("schema/infer_labels"), tenant=tenant, entity_label=ENTITY_LABEL)
    ]
    return Ontology(
        tenant,
        tuple(sorted(relations, key=lambda t: t.name)),
        tuple(sorted(entities, key=lambda t: t.name)),
        recorded=False,
    )


def refresh_ontology(db: QueryRunner, tenant: str) -> Ontology:
    """Infer the ontology and keep it as ``__RelationType__`` and ``__EntityType__`` records.

    Descriptions and wordings that somebody wrote on a record are kept; records of types that are
    gone are deleted.
    """
    found = infer_ontology(db, tenant)
    db.run(
        load("schema/write_relation_types"),
        tenant=tenant,
        rows=[_relation_row(t) for t in found.relation_types],
    )
    db.run(
        load("schema/write_entity_types"),
        tenant=tenant,
        rows=[_entity_row(t) for t in found.entity_types],
    )
    db.run(
        load("schema/delete_stale_types"),
        tenant=tenant,
        relation_types=[t.name for t in found.relation_types],
        entity_types=[t.name for t in found.entity_types],
    )
    return read_ontology(db, tenant)


def read_ontology(db: QueryRunner, tenant: str) -> Ontology:
    """Read the recorded ontology; infer it from the graph where nothing is recorded."""
    rows = db.run(load("schema/read_types"), tenant=tenant)
    relations = [_relation_type(row["type"]) for row in rows if row["kind"] == "relation"]
    entities = [_entity_type(row["type"]) for row in rows if row["kind"] == "entity"]
    if not relations:
        return infer_ontology(db, tenant)
    return Ontology(tenant, tuple(relations), tuple(entities))


def tenant_size(db: QueryRunner, tenant: str, *, at_most: int) -> int:
    """Count the tenant's entities, but read no more than ``at_most`` of them."""
    rows = db.run(load("schema/tenant_size"), tenant=tenant, at_most=at_most)
    return int(rows[0]["size"])


def vector_record(
    db: QueryRunner, role: Literal["entity", "chunk", "community"]
) -> VectorRecord | None:
    """Read which vectors are in force; None before the first ``pathrag embed``."""
    rows = db.run(load("schema/vector_record"), role=role)
    if not rows:
        return None
    return VectorRecord(**rows[0]["record"])


def index_states(db: QueryRunner) -> tuple[IndexState, ...]:
    """Read every index but token lookups, by name in ascending order."""
    return tuple(
        IndexState(
            name=row["name"],
            type=row["type"],
            state=row["state"],
            percent=row["percent"],
            labels_or_types=tuple(row["labels_or_types"] or ()),
            properties=tuple(row["properties"] or ()),
            options=row["config"] or {},
        )
        for row in db.run(load("schema/indexes"))
    )


def _labels(label_sets: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(sorted({label for labels in label_sets for label in labels} - {ENTITY_LABEL}))


def _shown_keys(key_sets: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(sorted({key for keys in key_sets for key in keys} - NODE_SYSTEM_KEYS))


def _relation_row(relation: RelationType) -> Row:
    return {
        "name": relation.name,
        "count": relation.count,
        "domains": list(relation.domains),
        "ranges": list(relation.ranges),
        "max_out": relation.max_out,
        "max_in": relation.max_in,
        "description": relation.description,
        "phrase": relation.phrase,
        "inverse": relation.inverse,
    }


def _entity_row(entity: EntityType) -> Row:
    return {
        "name": entity.name,
        "count": entity.count,
        "properties": list(entity.properties),
        "description": entity.description,
    }


def _relation_type(row: Row) -> RelationType:
    return RelationType(
        name=row["name"],
        count=row["count"],
        domains=tuple(row["domains"]),
        ranges=tuple(row["ranges"]),
        max_out=row["max_out"],
        max_in=row["max_in"],
        description=row["description"],
        phrase=row["phrase"],
        inverse=row["inverse"],
    )


def _entity_type(row: Row) -> EntityType:
    return EntityType(
        name=row["name"],
        count=row["count"],
        properties=tuple(row["properties"]),
        description=row["description"],
    )
