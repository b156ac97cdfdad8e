"""The texts that facts were read from."""

from __future__ import annotations

from collections.abc import Sequence

from pathrag_gds.graph.database import QueryRunner
from pathrag_gds.graph.queries import load

__all__ = ["read_chunk_texts"]


def read_chunk_texts(db: QueryRunner, tenant: str, ids: Sequence[str]) -> dict[str, str]:
    """Read the texts of chunks by id, in one statement; without ids in none.

    A chunk that the tenant does not have, or that has no text, is left out.

    Raises:
        DatabaseError: The server refused or failed the statement.
    """
    if not ids:
        return {}
    rows = db.run(load("retrieve/chunk_texts"), tenant=tenant, chunk_ids=list(ids))
    return {row["chunk"]: str(row["text"]) for row in rows if row["text"]}
