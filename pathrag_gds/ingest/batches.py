"""Write batches of rows, each in one transaction together with the note of how far the load is."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pathrag_gds.errors import (
    AuthFailed,
    DatabaseError,
    IndexMissing,
    QueryTimeout,
    ServerUnavailable,
)
from pathrag_gds.graph.database import Database, QueryRunner, Row
from pathrag_gds.graph.queries import load
from pathrag_gds.ingest.rows import (
    ChunkRow,
    DataRow,
    NodeRow,
    Record,
    RelationshipRow,
    RowFault,
    name_key,
    other_forms,
    outdated_forms,
)

__all__ = ["BatchWriter", "Numbered", "write_rows"]

logger = logging.getLogger("pathrag_gds.ingest")

Numbered = tuple[int, Record]
"""A record with its number in the file, from 1."""

_MISSING_HINT = "Load the nodes too, or have such nodes made: pathrag load --create-missing"
_ATTEMPTS = 4
_NOT_THE_ROWS = (AuthFailed, IndexMissing, ServerUnavailable)


class _EndsMissing(Exception):
    """Some relationship of the batch has an end that is not there."""


class _RolledBack(Exception):
    """Ends a transaction that was only a trial."""


@dataclass(frozen=True, slots=True)
class BatchWriter:
    """Write the records of one file.

    Attributes:
        file_id: Under which the progress is noted.
        create_missing: Make the ends that no node row defines.
        skip: Leave out the rows that cannot be written, instead of raising.
        reject: Told of them before the rest of their batch is committed.
    """

    db: Database
    tenant: str
    path: Path
    file_id: str
    create_missing: bool = False
    skip: bool = False
    reject: Callable[[Sequence[Record]], None] = lambda _: None

    def write(self, batch: Sequence[Numbered], done: int, *, finished: bool) -> list[Record]:
        """Commit a batch whole, and give the records that were left out.

        A batch that is too much for the server's memory or time is committed in halves.

        Args:
            batch: Records with a row, in file order.
            done: Number of the last record of the file that this batch settles.
            finished: Whether the file has no more.

        Raises:
            LoadError: A row cannot be written, and none is to be left out; nothing of the batch
                is in the graph then.
            DatabaseError: The server failed.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._commit(batch, done, finished)
                return []
            except _EndsMissing:
                return self._without(self._missing_ends(batch), batch, done, finished)
            except DatabaseError as error:
                if isinstance(error, _NOT_THE_ROWS):
                    raise
                if _too_much(error):
                    if len(batch) < 2:
                        raise
                    return self._halved(batch, done, finished)
                if _passing(error):
                    if attempt == _ATTEMPTS:
                        raise
                    logger.info("batch repeated after %s", error.code)
                    time.sleep(0.1 * 2**attempt)
                    continue
                refused = self._refused(batch)
                if refused is None:
                    raise
                return self._without([refused], batch, done, finished)
        raise AssertionError("unreachable")

    def _commit(self, batch: Sequence[Numbered], done: int, finished: bool) -> None:
        with self.db.transaction("ingest/load") as transaction:
            self._run(transaction, batch)
            transaction.run(
                load("ingest/write_progress"),
                tenant=self.tenant,
                id=self.file_id,
                path=str(self.path),
                records=done,
                finished=finished,
                witness=_witness(batch),
            )

    def _run(self, runner: QueryRunner, batch: Sequence[Numbered]) -> None:
        rows = [record.row for _, record in batch if record.row is not None]
        relationships = sum(isinstance(row, RelationshipRow) for row in rows)
        written = write_rows(runner, rows, tenant=self.tenant, create_missing=self.create_missing)
        if written != relationships:
            raise _EndsMissing

    def _halved(self, batch: Sequence[Numbered], done: int, finished: bool) -> list[Record]:
        middle = len(batch) // 2
        logger.info("batch of %d rows is committed in halves", len(batch))
        first = self.write(batch[:middle], batch[middle - 1][0], finished=False)
        return first + self.write(batch[middle:], done, finished=finished)

    def _without(
        self, faulty: list[Record], batch: Sequence[Numbered], done: int, finished: bool
    ) -> list[Record]:
        if not faulty:
            raise DatabaseError("The ends of some relationships came and went during the load.")
        if not self.skip:
            fault = faulty[0].fault
            raise fault if fault else AssertionError("a record without a fault")
        self.reject(faulty)
        lines = {record.line for record in faulty}
        rest = [(number, record) for number, record in batch if record.line not in lines]
        return faulty + self.write(rest, done, finished=finished)

    def _missing_ends(self, batch: Sequence[Numbered]) -> list[Record]:
        """Give the records whose ends are not there, each with its fault."""
        relationships = [
            (record, record.row) for _, record in batch if isinstance(record.row, RelationshipRow)
        ]
        ids = sorted({end for _, row in relationships for end in (row.source, row.target)})
        found = self.db.run(load("ingest/missing_entities"), tenant=self.tenant, ids=ids)
        missing = {row["id"] for row in found}
        faulty = []
        for record, row in relationships:
            for end, column in zip((row.source, row.target), row.end_columns, strict=True):
                if end in missing and not (row.creates_ends or self.create_missing):
                    fault = RowFault(f"no node has the id {end!r}", column, hint=_MISSING_HINT)
                    faulty.append(Record.faulty(self.path, record.line, record.raw, fault))
                    break
        return faulty

    def _refused(self, batch: Sequence[Numbered]) -> Record | None:
        """Find the first record that the server refuses after the ones before it."""
        error = self._trial(batch)
        if error is None:
            return None
        # A row may be refused because of one before it, so prefixes are tried, not parts.
        fine, refused = 0, len(batch)
        while refused - fine > 1:
            middle = (fine + refused) // 2
            found = self._trial(batch[:middle])
            if found is None:
                fine = middle
            else:
                refused, error = middle, found
        record = batch[refused - 1][1]
        fault = RowFault(f"the server refuses the row: {error.message}")
        return Record.faulty(self.path, record.line, record.raw, fault)

    def _trial(self, batch: Sequence[Numbered]) -> DatabaseError | None:
        try:
            with self.db.transaction("ingest/trial") as transaction:
                with suppress(_EndsMissing):
                    self._run(transaction, batch)
                raise _RolledBack
        except _RolledBack:
            return None
        except DatabaseError as error:
            return error


def write_rows(
    runner: QueryRunner, rows: Sequence[DataRow], *, tenant: str, create_missing: bool = False
) -> int:
    """Write rows of any kind: chunks, then nodes, then relationships.

    Returns:
        How many relationships have both ends; the others were not written.
    """
    chunks = [_chunk(row) for row in rows if isinstance(row, ChunkRow)]
    nodes = [_node(row) for row in rows if isinstance(row, NodeRow)]
    relationships = [row for row in rows if isinstance(row, RelationshipRow)]
    if chunks:
        runner.run(load("ingest/merge_chunks"), tenant=tenant, rows=chunks)
    if nodes:
        runner.run(load("ingest/merge_nodes"), tenant=tenant, rows=nodes)
    if not relationships:
        return 0
    made = sorted(
        {
            end
            for row in relationships
            if create_missing or row.creates_ends
            for end in (row.source, row.target)
        }
    )
    if made:
        ends = [_called_by_id(end) for end in made]
        runner.run(load("ingest/merge_ends"), tenant=tenant, rows=ends)
    written = runner.run(
        load("ingest/merge_relationships"),
        tenant=tenant,
        rows=[_relationship(row) for row in relationships],
    )
    return int(written[0]["written"])


def _witness(batch: Sequence[Numbered]) -> str | None:
    """Give a node that is there once the batch is committed; None for an empty batch."""
    rows = [record.row for _, record in batch if record.row is not None]
    if not rows:
        return None
    last = rows[-1]
    return last.source if isinstance(last, RelationshipRow) else last.id


def _node(row: NodeRow) -> Row:
    return {
        **_called_by_id(row.id),
        "labels": list(row.labels),
        "properties": {**dict.fromkeys(outdated_forms(row.properties)), **row.properties},
    }


def _called_by_id(id_: str) -> Row:
    """Give what an entity is called by until a row names it."""
    return {"id": id_, "key": name_key(id_), "forms": other_forms([id_]) or None}


def _relationship(row: RelationshipRow) -> Row:
    return {
        "source": row.source,
        "type": row.type,
        "target": row.target,
        "key": row.key,
        "properties": dict(row.properties),
    }


def _chunk(row: ChunkRow) -> Row:
    return {
        "id": row.id,
        "text": row.text,
        "document": row.document or None,
        "position": row.position,
        "title": {"title": row.title} if row.title else {},
        "properties": dict(row.properties),
    }


def _too_much(error: DatabaseError) -> bool:
    return isinstance(error, QueryTimeout) or "OutOfMemory" in error.code


def _passing(error: DatabaseError) -> bool:
    return error.code.startswith("Neo.TransientError.")
