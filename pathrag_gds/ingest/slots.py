"""The two places that vectors may be in, so that a new model is built beside the one in force.

Slot A is the property ``embedding`` with the index that the migrations make, slot B is
``embedding_alt``. The record ``__VectorIndex__`` of a role says which is in force.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pathrag_gds.errors import DatabaseError, DimensionMismatch, IndexMissing
from pathrag_gds.graph.database import Database, QueryRunner
from pathrag_gds.graph.queries import escape_identifier, load
from pathrag_gds.graph.schema import IndexState, VectorRecord, index_states, vector_record
from pathrag_gds.models.encoder import Encoder
from pathrag_gds.retrieve.serialize import TEXT_TEMPLATE_VERSION

__all__ = [
    "ROLES",
    "Role",
    "Slot",
    "clear_slot",
    "live_slot",
    "other_slot",
    "prepare_slot",
    "put_in_force",
    "require_dimension",
]

Role = Literal["entity", "chunk", "community"]
ROLES: tuple[Role, ...] = ("entity", "chunk", "community")


@dataclass(frozen=True, slots=True)
class Slot:
    """A vector property, the index over it, and the property with the hashes.

    Attributes:
        suffix: Empty for slot A, ``_alt`` for slot B.
        index: Name of the index, and of the statement that makes it after ``create_``.
        property: Where the vectors are.
        hash_property: Where the hash of what was embedded is.
    """

    role: Role
    suffix: str
    index: str
    property: str
    hash_property: str

    @classmethod
    def of(cls, role: Role, suffix: str = "") -> Slot:
        """Give a slot by its suffix."""
        return cls(
            role,
            suffix,
            f"{role}_embedding{suffix}",
            f"embedding{suffix}",
            f"text_hash{suffix}",
        )


def live_slot(db: QueryRunner, role: Role) -> tuple[Slot, VectorRecord | None]:
    """Give the slot in force and its record; slot A and None before the first embedding."""
    record = vector_record(db, role)
    if record is None:
        return Slot.of(role), None
    return Slot.of(role, record.property.removeprefix("embedding")), record


def other_slot(slot: Slot) -> Slot:
    """Give the slot that is not this one."""
    return Slot.of(slot.role, "" if slot.suffix else "_alt")


def require_dimension(db: QueryRunner, slot: Slot, encoder: Encoder) -> None:
    """Check that the index of a slot is there and takes the encoder's vectors.

    Raises:
        IndexMissing: It is not there, or failed.
        DimensionMismatch: It holds vectors of another length.
    """
    state = _states(db).get(slot.index)
    if state is None or state.state == "FAILED":
        raise IndexMissing(
            f"The vector index {slot.index!r} {'has failed' if state else 'is missing'}.",
            hint="Run: pathrag migrate up",
        )
    expected = _dimension(state)
    if expected and expected != encoder.dimension:
        raise DimensionMismatch(
            f"The vector index {slot.index!r} holds vectors of {expected} numbers, the encoder "
            f"{encoder.name!r} gives {encoder.dimension}.",
            expected=expected,
            found=encoder.dimension,
            hint=f"Build its vectors beside and switch: pathrag embed --model {encoder.name}",
        )


def prepare_slot(db: Database, slot: Slot, encoder: Encoder) -> None:
    """Make the index of a slot that is not in force, for the encoder's vectors.

    What an interrupted run left is kept when its index has the right dimension, else removed.
    """
    states = _states(db)
    found = states.get(slot.index)
    if found is not None and _dimension(found) != encoder.dimension:
        found = None
    if found is None:
        clear_slot(db, slot)
        live = states.get(other_slot(slot).index)
        similarity = str((live.options if live else {}).get("vector.similarity_function", "cosine"))
        db.run(
            load(f"ingest/create_{slot.index}"),
            dimension=encoder.dimension,
            similarity=similarity.lower(),
        )
    require_dimension(db, slot, encoder)


def clear_slot(db: Database, slot: Slot) -> None:
    """Drop the index of a slot and remove its vectors and hashes of every tenant."""
    db.run(load("ingest/drop_index").render({"index": escape_identifier(slot.index)}))
    names = {"property": slot.property, "hash_property": slot.hash_property}
    escaped = {name: escape_identifier(value) for name, value in names.items()}
    db.run(load(f"ingest/drop_{slot.role}_vectors").render(escaped))


def put_in_force(db: Database, slots: tuple[Slot, ...], encoder: Encoder) -> None:
    """Record in one statement that these slots hold the encoder's vectors and are in force.

    Raises:
        DatabaseError: An index is not ONLINE; the records stay as they were.
    """
    states = _states(db)
    for slot in slots:
        state = states.get(slot.index)
        if state is None or state.state != "ONLINE":
            raise DatabaseError(
                f"The vector index {slot.index!r} is not online; the old vectors stay in force.",
                hint="Run the same command again.",
            )
    db.run(load("ingest/switch_vectors"), records=[_record(slot, encoder) for slot in slots])


def _record(slot: Slot, encoder: Encoder) -> Mapping[str, Any]:
    return {
        "role": slot.role,
        "index": slot.index,
        "property": slot.property,
        "hash_property": slot.hash_property,
        "dimension": encoder.dimension,
        "encoder": encoder.name,
        "fingerprint": encoder.fingerprint,
        "template": TEXT_TEMPLATE_VERSION,
    }


def _states(db: QueryRunner) -> dict[str, IndexState]:
    return {state.name: state for state in index_states(db) if state.type == "VECTOR"}


def _dimension(state: IndexState) -> int:
    return int(state.options.get("vector.dimensions", 0))
