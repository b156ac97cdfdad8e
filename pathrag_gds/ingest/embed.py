"""Embed entities, chunks and reports on communities whose text or encoder changed.

Beside each vector stands a hash of the encoder's fingerprint, the text template and the text: where
it is unchanged nothing is done, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pathrag_gds.config import check_tenant
from pathrag_gds.errors import ConfigError, DimensionMismatch, EncoderMismatch
from pathrag_gds.graph.database import Database, Row
from pathrag_gds.graph.queries import load
from pathrag_gds.graph.schema import ENTITY_LABEL, NODE_SYSTEM_KEYS
from pathrag_gds.ingest.slots import (
    ROLES,
    Role,
    Slot,
    clear_slot,
    live_slot,
    other_slot,
    prepare_slot,
    put_in_force,
    require_dimension,
)
from pathrag_gds.models.encoder import Encoder
from pathrag_gds.retrieve.serialize import TEXT_TEMPLATE_VERSION, entity_text
from pathrag_gds.types import Entity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["EmbedProgress", "EmbedReport", "embed", "text_hash"]

DEFAULT_PAGE = 1000
INDEX_WAIT_S = 600
_HIDDEN = sorted(NODE_SYSTEM_KEYS | {"id"})
_PLURAL = {"entity": "entities", "chunk": "chunks", "community": "communities"}


@dataclass(frozen=True, slots=True)
class EmbedProgress:
    """How far an embedding is.

    Attributes:
        done: Of this tenant, what of this role is settled, what is unchanged included.
        total: How many there were at the start.
    """

    role: Role
    tenant: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class EmbedReport:
    """What an embedding did.

    Attributes:
        entities: Entities that got a new vector.
        chunks: Chunks that got a new vector.
        unchanged: Of all kinds, whose vector was right already.
        empty: Of all kinds, without a vector because their text is empty or means nothing.
        encode_seconds: Time that the encoder took.
        seconds: Wall time.
        switched: Whether another encoder's vectors were put in force.
        communities: Communities whose report got a new vector.
    """

    encoder: str
    fingerprint: str
    entities: int = 0
    chunks: int = 0
    unchanged: int = 0
    empty: int = 0
    encode_seconds: float = 0.0
    seconds: float = 0.0
    switched: bool = False
    communities: int = 0

    @property
    def embedded(self) -> int:
        """Entities, chunks and communities that got a new vector."""
        return self.entities + self.chunks + self.communities

    @property
    def texts_per_s(self) -> float:
        """Vectors made and stored per second of the whole run; 0 when none was."""
        return self.embedded / self.seconds if self.embedded and self.seconds else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return asdict(self) | {"embedded": self.embedded, "texts_per_s": self.texts_per_s}


@dataclass(slots=True)
class _Tally:
    entity: int = 0
    chunk: int = 0
    community: int = 0
    unchanged: int = 0
    empty: int = 0
    encode_seconds: float = 0.0


def embed(
    db: Database,
    encoder: Encoder,
    *,
    tenant: str | None = None,
    page_size: int = DEFAULT_PAGE,
    switch: bool = False,
    roles: Sequence[Role] = ROLES,
    progress: Callable[[EmbedProgress], None] | None = None,
) -> EmbedReport:
    """Bring the vectors of entities, chunks and reports on communities up to date.

    Args:
        tenant: Whose; None for every tenant. A switch always takes every tenant.
        page_size: Nodes read, encoded and written at a time, at least 1.
        switch: When another encoder's vectors are in force, build these beside them, wait until
            their indexes are online, put them in force in one statement and remove the old ones.
            Interrupted before that, the old ones stay in force and the same call goes on.
        roles: What to embed; a switch always takes everything.
        progress: Called after every page.

    Raises:
        EncoderMismatch: Another encoder's vectors are in force, and ``switch`` is not set.
        IndexMissing: The vector index is not there.
        DimensionMismatch: The index holds vectors of another length.
        DatabaseError: The server failed.
    """
    if tenant is not None:
        check_tenant(tenant)
    if page_size < 1:
        raise ConfigError(f"page_size must be at least 1, not {page_size}.")
    started = time.monotonic()
    live = {role: live_slot(db, role) for role in ROLES}
    records = [record for _, record in live.values() if record]
    foreign = [record for record in records if record.fingerprint != encoder.fingerprint]
    if foreign and not switch:
        raise EncoderMismatch(
            f"The {_PLURAL[foreign[0].role]} were embedded by {foreign[0].encoder!r} "
            f"({foreign[0].fingerprint}), not by {encoder.name!r} ({encoder.fingerprint}).",
            hint=f"Embed all anew and switch: pathrag embed --model {encoder.name}",
        )
    current = tuple(slot for slot, _ in live.values())
    moved = bool(foreign) or (switch and not _takes(db, current, encoder))
    slots = tuple(other_slot(slot) for slot in current) if moved else current
    for slot in slots:
        if moved:
            prepare_slot(db, slot, encoder)
        else:
            require_dimension(db, slot, encoder)
    db.run(load("ingest/await_indexes"), seconds=INDEX_WAIT_S)
    # Vectors without a record would have no encoder: the record comes before the first of them.
    if not moved and len(records) < len(ROLES):
        put_in_force(db, slots, encoder)
    tally = _Tally()
    for name in _tenants(db, None if moved else tenant):
        for slot in slots if moved else (s for s in slots if s.role in roles):
            _embed_tenant(db, encoder, slot, name, page_size, tally, progress or (lambda _: None))
    if moved or any(record.template != TEXT_TEMPLATE_VERSION for record in records):
        db.run(load("ingest/await_indexes"), seconds=INDEX_WAIT_S)
        put_in_force(db, slots, encoder)
    if switch:
        # Also when nothing was foreign: an earlier switch may have been cut off before this.
        for slot in slots:
            clear_slot(db, other_slot(slot))
    return EmbedReport(
        encoder.name,
        encoder.fingerprint,
        tally.entity,
        tally.chunk,
        tally.unchanged,
        tally.empty,
        tally.encode_seconds,
        time.monotonic() - started,
        moved,
        tally.community,
    )


def text_hash(fingerprint: str, text: str) -> str:
    """Give the hash that stands beside a vector: of encoder, text template and text."""
    parts = "\x1f".join((fingerprint, TEXT_TEMPLATE_VERSION, text))
    return hashlib.sha256(parts.encode()).hexdigest()[:32]


def _takes(db: Database, slots: Sequence[Slot], encoder: Encoder) -> bool:
    try:
        for slot in slots:
            require_dimension(db, slot, encoder)
    except DimensionMismatch:
        return False
    return True


def _tenants(db: Database, tenant: str | None) -> list[str]:
    if tenant is not None:
        return [tenant]
    return [row["tenant"] for row in db.run(load("ingest/tenants"))]


def _embed_tenant(
    db: Database,
    encoder: Encoder,
    slot: Slot,
    tenant: str,
    page_size: int,
    tally: _Tally,
    progress: Callable[[EmbedProgress], None],
) -> None:
    plural = _PLURAL[slot.role]
    hidden = {"hidden": _HIDDEN} if slot.role == "entity" else {}
    total = db.run(load(f"ingest/count_{plural}"), tenant=tenant)[0]["count"]
    done, after = 0, ""
    while True:
        page = db.run(
            load(f"ingest/page_{plural}"),
            tenant=tenant,
            after=after,
            page=page_size,
            hash_property=slot.hash_property,
            **hidden,
        )
        if not page:
            return
        _embed_page(db, encoder, slot, tenant, page, tally)
        done += len(page)
        after = page[-1]["id"]
        progress(EmbedProgress(slot.role, tenant, done, max(total, done)))


def _embed_page(
    db: Database, encoder: Encoder, slot: Slot, tenant: str, page: Sequence[Row], tally: _Tally
) -> None:
    texts = [_text(slot.role, row) for row in page]
    changed = [
        (row["id"], text, digest)
        for row, text in zip(page, texts, strict=True)
        if (digest := text_hash(encoder.fingerprint, text)) != row["hash"]
    ]
    tally.unchanged += len(page) - len(changed)
    if not changed:
        return
    said = [item for item in changed if item[1].strip()]
    began = time.monotonic()
    vectors = encoder.encode([text for _, text, _ in said])
    tally.encode_seconds += time.monotonic() - began
    written, silent = _split(said, vectors)
    silent += [{"id": i, "hash": digest} for i, text, digest in changed if not text.strip()]
    where = {"property": slot.property, "hash_property": slot.hash_property}
    with db.transaction("ingest/embed") as transaction:
        if written:
            transaction.run(
                load(f"ingest/write_{slot.role}_vectors"), tenant=tenant, rows=written, **where
            )
        if silent:
            transaction.run(
                load(f"ingest/clear_{slot.role}_vectors"), tenant=tenant, rows=silent, **where
            )
    tally.empty += len(silent)
    match slot.role:
        case "entity":
            tally.entity += len(written)
        case "chunk":
            tally.chunk += len(written)
        case "community":
            tally.community += len(written)


def _split(
    said: Sequence[tuple[str, str, str]], vectors: NDArray[np.float32]
) -> tuple[list[Row], list[Row]]:
    """Part the rows with a vector from those whose vector has no direction."""
    import numpy as np

    norms = np.linalg.norm(vectors, axis=1)
    written: list[Row] = []
    silent: list[Row] = []
    for (node, _, digest), vector, norm in zip(said, vectors, norms, strict=True):
        if np.isfinite(norm) and norm > 0:
            written.append({"id": node, "vector": vector.tolist(), "hash": digest})
        else:
            silent.append({"id": node, "hash": digest})
    return written, silent


def _text(role: Role, row: Row) -> str:
    if role == "chunk":
        return str(row["text"] or "")
    if role == "community":
        return "\n".join(filter(None, (row["title"], row["summary"], *(row["findings"] or ()))))
    properties: Mapping[str, Any] = dict(row["properties"])
    labels = tuple(sorted(set(row["labels"]) - {ENTITY_LABEL}))
    name = properties.get("name")
    description = properties.get("description")
    return entity_text(
        Entity(
            id=row["id"],
            name=str(name) if name not in (None, "") else row["id"],
            labels=labels,
            description=str(description) if description is not None else "",
            properties=properties,
        )
    )
