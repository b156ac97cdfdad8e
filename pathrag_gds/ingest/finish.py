"""What follows when all rows are in: provenance links, indexes, ontology, plans."""

from __future__ import annotations

from collections.abc import Sequence

from pathrag_gds.graph.database import Database
from pathrag_gds.graph.queries import load
from pathrag_gds.graph.schema import refresh_ontology

__all__ = ["finish", "link"]

PAGE = 2000
INDEX_WAIT_S = 300


def link(db: Database, tenant: str, documents: Sequence[str]) -> None:
    """Make FROM_CHUNK follow every entity's ``chunk_ids``, and NEXT_CHUNK the positions.

    Args:
        documents: Whose chunks are to be linked anew, by id.
    """
    for start in range(0, len(documents), 100):
        db.run(
            load("ingest/chain_chunks"),
            tenant=tenant,
            documents=list(documents[start : start + 100]),
        )
    after = ""
    while True:
        page = db.run(load("ingest/link_chunks"), tenant=tenant, after=after, page=PAGE)
        if page[0]["last"] is None:
            return
        after = page[0]["last"]


def finish(db: Database, tenant: str) -> None:
    """Wait for the indexes, refresh the ontology and let the server plan anew."""
    db.run(load("ingest/await_indexes"), seconds=INDEX_WAIT_S)
    refresh_ontology(db, tenant)
    db.run(load("ingest/prepare_for_replanning"))
