"""What a search must know of a tenant before it starts, read once."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from pathrag_gds.errors import EncoderMismatch, IndexMissing, ModelError
from pathrag_gds.graph.adapted import adapted_reranker
from pathrag_gds.graph.database import QueryRunner, Row
from pathrag_gds.graph.queries import Query, load
from pathrag_gds.graph.schema import (
    IndexState,
    VectorRecord,
    index_states,
    read_ontology,
    tenant_size,
    vector_record,
)
from pathrag_gds.models.encoder import Encoder
from pathrag_gds.models.path_reranker import PathReranker
from pathrag_gds.models.reranker import CachedReranker, Reranker, reader_of
from pathrag_gds.retrieve.seeds import SMALL_TENANT
from pathrag_gds.retrieve.session import SearchContext

__all__ = ["CountingRunner", "read_context"]

# Counting a tenant stops here: beyond, an index over all tenants is hardly crowded.
_COUNTED = 1_000_000


# Adapted rerankers that stay in memory, 25 MB each and their scores.
_ADAPTED_IN_MEMORY = 8


def read_context(
    db: QueryRunner,
    tenant: str,
    *,
    encoder: Encoder,
    reranker: Reranker,
    adapted: Path | None = None,
) -> SearchContext:
    """Read indexes, vectors, size and ontology of a tenant.

    ``question_vector`` is empty where the tenant has vectors, and None where it has none: the
    caller puts the question's in.

    Args:
        reranker: Scores the paths, unless one was adapted to the tenant.
        adapted: Folder of the adapted rerankers; None where the user named a reranker, which then
            scores whatever was adapted.

    Raises:
        IndexMissing: An index that searches need is absent or not ONLINE.
        EncoderMismatch: The vectors in force are of another encoder.
    """
    counting = CountingRunner(db)
    indexes = {state.name: state for state in index_states(counting)}
    _require(indexes.get("entity_text"), "The full-text index entity_text")
    record = vector_record(counting, "entity")
    size = tenant_size(counting, tenant, at_most=_COUNTED)
    everyone = int(counting.run(load("schema/all_entities"))[0]["size"])
    ontology = read_ontology(counting, tenant)
    small = size <= SMALL_TENANT
    if record is not None:
        _require_encoder(record, encoder)
        if not small:
            _require(indexes.get(record.index), f"The vector index {record.index}")
    names = indexes.get("entity_names")
    names_index = names is not None and names.state == "ONLINE"
    warnings = list(_warnings(tenant, size, record))
    if not small and not names_index:
        warnings.append(
            "Names that are punctuated otherwise or have a slip are not found: the full-text index "
            "entity_names is not online. Run: pathrag migrate up"
        )
    if adapted is not None:
        reranker, missing = _adapted(counting, tenant, adapted, reranker)
        warnings += missing
    reader = reader_of(reranker, encoder)
    return SearchContext(
        tenant=tenant,
        ontology=ontology,
        reranker=reranker,
        question_vector=None if record is None else (),
        vector_index="entity_embedding" if record is None else record.index,
        vector_property="embedding" if record is None else record.property,
        small=small,
        crowding=-(-everyone // max(size, 1)),
        names_index=names_index,
        text_limit=reader.max_tokens,
        count_tokens=reader.count_tokens,
        setup_round_trips=counting.count,
        warnings=tuple(warnings),
    )


def _warnings(tenant: str, size: int, record: VectorRecord | None) -> Sequence[str]:
    warnings = []
    if not size:
        warnings.append(f"Tenant {tenant!r} has no entities. Run: pathrag load FILES")
    if record is None:
        warnings.append(
            "Nothing is embedded, so paths start from names and words alone. Run: pathrag embed"
        )
    return warnings


def _adapted(
    db: QueryRunner, tenant: str, folder: Path, otherwise: Reranker
) -> tuple[Reranker, Sequence[str]]:
    """Give the reranker that was adapted to a tenant, else the other; and what is wrong."""
    record = adapted_reranker(db, tenant)
    if record is None:
        return otherwise, ()
    command = f"Run: pathrag train --adapt --tenant {shlex.quote(tenant)}"
    path = record.folder(folder)
    if path is None:
        return otherwise, (
            f"The reranker adapted to tenant {tenant!r} ({record.created}) is not on this machine, "
            f"so {otherwise.name} is used. {command}",
        )
    try:
        return _load_adapted(path), ()
    except ModelError as error:
        return otherwise, (f"{error.message} So {otherwise.name} is used. {command}",)


@lru_cache(maxsize=_ADAPTED_IN_MEMORY)
def _load_adapted(folder: Path) -> CachedReranker:
    # A folder is named by what is in it, so it never changes.
    return CachedReranker(PathReranker(folder))


def _require(state: IndexState | None, what: str) -> None:
    if state is None:
        raise IndexMissing(f"{what} is absent.", hint="Run: pathrag migrate up")
    if state.state != "ONLINE":
        raise IndexMissing(f"{what} is {state.state}.", hint="Run: pathrag doctor")


def _require_encoder(record: VectorRecord, encoder: Encoder) -> None:
    if record.fingerprint != encoder.fingerprint:
        raise EncoderMismatch(
            f"The vectors in the database are of {record.encoder!r} ({record.fingerprint}), "
            f"the encoder in use is {encoder.name!r} ({encoder.fingerprint}).",
            hint=f"Embed again: pathrag embed --model {shlex.quote(encoder.name)}\n"
            f"Or use the other encoder: --model {shlex.quote(record.encoder)}",
        )


class CountingRunner:
    """Count the statements that are run.

    Attributes:
        count: So far.
    """

    def __init__(self, db: QueryRunner) -> None:
        self._db = db
        self.count = 0

    def run(self, query: Query, /, **parameters: Any) -> list[Row]:
        self.count += 1
        return self._db.run(query, **parameters)
