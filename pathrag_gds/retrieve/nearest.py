"""The entities and chunks nearest to a question, by vector and by words, in one statement.

What a tenant has little of is scanned: exact, repeatable and blind to its neighbours. Of the rest
the indexes are asked, for as many more rows as other tenants crowd them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pathrag_gds.errors import EncoderMismatch
from pathrag_gds.graph.database import QueryRunner, Row
from pathrag_gds.graph.queries import Branch, load
from pathrag_gds.graph.schema import VectorRecord, vector_record
from pathrag_gds.models.encoder import Encoder
from pathrag_gds.retrieve.link import content_terms
from pathrag_gds.retrieve.seeds import LONGEST_REACH, MAX_TERMS, OVER_FETCH, SMALL_TENANT
from pathrag_gds.retrieve.statements import Request

__all__ = [
    "SETUP_ROUND_TRIPS",
    "Nearest",
    "NearestContext",
    "NearestEntity",
    "nearest_request",
    "read_nearest",
    "read_nearest_context",
]

SETUP_ROUND_TRIPS = 3
"""Statements of :func:`read_nearest_context`."""

_COUNTED = 1_000_000
_BRANCHES = ("entity_vector", "entity_text", "chunk_vector", "chunk_text")


@dataclass(frozen=True, slots=True)
class NearestContext:
    """What must be known of a tenant before it is asked, read once.

    Attributes:
        entity_vectors: Which are in force; None where no entity is embedded.
        chunk_vectors: The same of chunks.
        entities: Of the tenant; counting ends at a million.
        chunks: The same of chunks; 0 where the tenant has none.
        crowding_entities: Entities of all tenants for each of this one's, at least 1.
        crowding_chunks: The same of chunks.
    """

    tenant: str
    entity_vectors: VectorRecord | None = None
    chunk_vectors: VectorRecord | None = None
    entities: int = 0
    chunks: int = 0
    crowding_entities: int = 1
    crowding_chunks: int = 1

    @property
    def warnings(self) -> tuple[str, ...]:
        """Say what is missing, with the command that helps."""
        missing = []
        if self.chunks and self.chunk_vectors is None:
            missing.append("No chunk has a vector, so texts are found by words. Run: pathrag embed")
        if not self.chunks:
            missing.append(
                f"Tenant {self.tenant!r} has no texts, so entities alone are found. Load them: "
                "pathrag load --chunks FILE"
            )
        if self.entities and self.entity_vectors is None:
            missing.append("No entity has a vector, so words alone find them. Run: pathrag embed")
        return tuple(missing)


@dataclass(frozen=True, slots=True)
class NearestEntity:
    """An entity that a ranking has.

    Attributes:
        chunk_ids: Of the chunks that it was read from.
    """

    id: str
    name: str
    labels: tuple[str, ...] = ()
    chunk_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Nearest:
    """Four rankings, each best first, ties by id.

    Attributes:
        entities_by_vector: Ids.
        entities_by_text: Ids.
        chunks_by_vector: Ids.
        chunks_by_text: Ids.
        entities: Every entity of the rankings, by id.
    """

    entities_by_vector: tuple[str, ...] = ()
    entities_by_text: tuple[str, ...] = ()
    chunks_by_vector: tuple[str, ...] = ()
    chunks_by_text: tuple[str, ...] = ()
    entities: Mapping[str, NearestEntity] = field(default_factory=dict)


def read_nearest_context(db: QueryRunner, tenant: str, encoder: Encoder) -> NearestContext:
    """Read sizes and vectors in three statements.

    Raises:
        EncoderMismatch: Vectors in force are of another encoder.
        DatabaseError: The server refused or failed a statement.
    """
    (sizes,) = db.run(load("schema/sizes"), tenant=tenant, at_most=_COUNTED)
    entities, chunks = vector_record(db, "entity"), vector_record(db, "chunk")
    for record in (entities, chunks):
        if record is not None and record.fingerprint != encoder.fingerprint:
            raise EncoderMismatch(
                f"The vectors in the database are of {record.encoder!r} ({record.fingerprint}), "
                f"the encoder in use is {encoder.name!r} ({encoder.fingerprint}).",
                hint=f"Embed again: pathrag embed --model {shlex.quote(encoder.name)}\n"
                f"Or use the other encoder: --model {shlex.quote(record.encoder)}",
            )
    return NearestContext(
        tenant,
        entities,
        chunks,
        entities=sizes["entities"],
        chunks=sizes["chunks"],
        crowding_entities=-(-sizes["all_entities"] // max(sizes["entities"], 1)),
        crowding_chunks=-(-sizes["all_chunks"] // max(sizes["chunks"], 1)),
    )


def nearest_request(
    question: str,
    context: NearestContext,
    vector: Sequence[float] | None,
    *,
    count: int,
    by_text: bool = True,
) -> Request | None:
    """Ask for the nearest of a tenant.

    Args:
        vector: Of the question; None for no ranking by vector.
        count: Rows of each ranking at most.
        by_text: Whether rankings by words are wanted.

    Returns:
        None where nothing can be asked: the tenant is empty, or there is neither a term nor a
        vector.
    """
    terms = content_terms(question)[:MAX_TERMS] if by_text else ()
    held = {"entity": context.entities, "chunk": context.chunks}
    embedded = {"entity": context.entity_vectors, "chunk": context.chunk_vectors}
    branches: dict[str, list[Branch]] = {}
    for name in _BRANCHES:
        what, _, via = name.partition("_")
        can = bool(terms) if via == "text" else vector is not None and embedded[what] is not None
        small = held[what] <= SMALL_TENANT
        branches[name] = [Branch()] * (can and held[what] > 0 and not small)
        branches[f"{name}_exact"] = [Branch()] * (can and held[what] > 0 and small)
    if not any(branches.values()):
        return None

    def reach(crowding: int) -> int:
        return min(count * OVER_FETCH * crowding, max(LONGEST_REACH, count))

    parameters: dict[str, Any] = {
        "tenant": context.tenant,
        "vector": None if vector is None else list(vector),
        "text": " OR ".join(f'"{term}"' for term in terms),
        "terms": list(terms),
        "patterns": [_has_word(term) for term in terms],
        "k": count,
        "over_entities": reach(context.crowding_entities),
        "over_chunks": reach(context.crowding_chunks),
    }
    for what, record in embedded.items():
        parameters[f"{what}_index"] = record.index if record else ""
        parameters[f"{what}_property"] = record.property if record else ""
    return Request(load("retrieve/nearest").render({}, branches), parameters)


def _has_word(term: str) -> str:
    """Write Java's regular expression of a text that has a word; it is matched against all of it.

    A term is letters and digits, so nothing in it is syntax; quoted all the same.
    """
    return rf"(?sU).*\b{re.escape(term)}\b.*"


def read_nearest(rows: Iterable[Row]) -> Nearest:
    """Make rankings of the rows of :func:`nearest_request`."""
    rankings: dict[tuple[str, str], list[str]] = {}
    entities: dict[str, NearestEntity] = {}
    # The statement gives a ranking's rows together and in order, but promises no order between
    # rankings.
    for row in sorted(rows, key=lambda row: (-row["score"], row["id"])):
        rankings.setdefault((row["what"], row["via"]), []).append(row["id"])
        if row["what"] == "entity":
            entities[row["id"]] = NearestEntity(
                row["id"],
                row["name"] or row["id"],
                tuple(label for label in row["labels"] if label != "__Entity__"),
                tuple(row["chunk_ids"] or ()),
            )
    return Nearest(
        tuple(rankings.get(("entity", "vector"), ())),
        tuple(rankings.get(("entity", "text"), ())),
        tuple(rankings.get(("chunk", "vector"), ())),
        tuple(rankings.get(("chunk", "text"), ())),
        entities,
    )
