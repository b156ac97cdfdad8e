"""Load files into the graph: in batches, repeatable, resumable.

Every batch is one transaction. In the same transaction a node ``__Load__`` notes how many records
of the file are in, under the hash of the file's content, so a load that was interrupted, even by
SIGKILL, goes on after its last batch. The note is deleted when the load is complete. It is not
believed when the node that it names as written last is gone. Bad rows are in their reject file
before their batch is committed, and an interrupted run's are not written there again.

Loading is idempotent: a node is (tenant, id), a relationship is (start, type, end, key). A second
row for the same adds properties and labels, and replaces those it names; it removes none.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pathrag_gds.config import DEFAULT_TENANT, check_tenant
from pathrag_gds.errors import ConfigError, IndexMissing
from pathrag_gds.graph.database import Database
from pathrag_gds.graph.queries import load
from pathrag_gds.graph.schema import STRUCTURAL_TYPES, index_states
from pathrag_gds.ingest.batches import BatchWriter, Numbered
from pathrag_gds.ingest.finish import finish, link
from pathrag_gds.ingest.formats import detect, read
from pathrag_gds.ingest.inputs import Input
from pathrag_gds.ingest.lines import Lines, content_hash
from pathrag_gds.ingest.rejects import RejectFile, reject_path
from pathrag_gds.ingest.report import LoadProgress, LoadReport, Stage
from pathrag_gds.ingest.rows import ChunkRow, NodeRow, Record, RelationshipRow

__all__ = ["LoadProgress", "LoadReport", "load_files"]

DEFAULT_BATCH_SIZE = 5000
# A batch ends early when its rows are large: the server holds them in transaction memory.
MAX_BATCH_CHARACTERS = 8_000_000

_STAGES: tuple[Stage, ...] = ("chunks", "nodes", "relationships")
_ROW_TYPES = {"chunks": ChunkRow, "nodes": NodeRow, "relationships": RelationshipRow}


@dataclass(slots=True)
class _Tally:
    counts: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)
    rejects: dict[int, RejectFile] = field(default_factory=dict)
    chunk_links: bool = False
    documents: set[str] = field(default_factory=set)


def load_files(
    db: Database,
    inputs: Sequence[Input | Path | str],
    *,
    tenant: str = DEFAULT_TENANT,
    batch_size: int = DEFAULT_BATCH_SIZE,
    on_error: Literal["stop", "skip"] = "stop",
    create_missing: bool = False,
    reject_folder: Path | None = None,
    resume: bool = True,
    progress: Callable[[LoadProgress], None] | None = None,
) -> LoadReport:
    """Load files: chunks first, then nodes, then relationships, whatever their order.

    Ends with the links from entities to their chunks, indexes online, the ontology refreshed and
    the server's plans made anew. An interrupt leaves the committed batches; the same call goes on.

    Args:
        inputs: Paths stand for inputs whose kind is detected.
        batch_size: Rows per transaction, at least 1.
        on_error: ``stop`` raises at the first bad row, with nothing of its batch written; ``skip``
            leaves bad rows out and writes them to a reject file.
        create_missing: Make the ends of relationships that no node row defines. Triples do anyway.
        reject_folder: Where reject files go; the current folder by default.
        resume: Go on after the batches of an interrupted run with the same file contents.
        progress: Called after every batch.

    Returns:
        What was written. With ``skip``, see :meth:`LoadReport.partial_error`.

    Raises:
        ConfigError: No input, or an option out of range.
        TenantError: The tenant has an impossible name.
        LoadError: A file or a row cannot be loaded; names file, line and column.
        IndexMissing: The database has not our schema.
        DatabaseError: The server failed.
    """
    check_tenant(tenant)
    if not inputs:
        raise ConfigError("There is nothing to load.", hint="Name at least one file.")
    if batch_size < 1:
        raise ConfigError(f"batch_size must be at least 1, not {batch_size}.")
    if on_error not in ("stop", "skip"):
        raise ConfigError(f"on_error must be stop or skip, not {on_error!r}.")
    started = time.monotonic()
    sources = [detect(s if isinstance(s, Input) else Input(Path(s))) for s in inputs]
    _require_schema(db)
    job = _Job(
        db,
        tenant,
        batch_size,
        on_error == "skip",
        create_missing,
        reject_folder or Path.cwd(),
        progress or (lambda _: None),
    )
    ids = {
        (index, stage): _file_id(source, stage)
        for stage in _STAGES
        for index, source in enumerate(sources)
        if stage in _stages_of(source)
    }
    notes = db.run(load("ingest/read_progress"), tenant=tenant, ids=sorted(ids.values()))
    known = {note["id"]: note for note in notes if resume and note["kept"]}
    gone = {note["id"] for note in notes if resume and not note["kept"]}
    begun = {index for (index, _), file_id in ids.items() if file_id in known}
    tally = _Tally()
    for (index, stage), file_id in ids.items():
        if file_id in gone:
            tally.warnings[
                f"{sources[index].path.name}: the {stage} of an interrupted load are gone; "
                "they were loaded from the beginning"
            ] += 1
    for (index, stage), file_id in ids.items():
        note = known.get(file_id, {"records": 0, "finished": False})
        rejects = job.rejects(index, sources[index], fresh=index not in begun, tally=tally)
        part = _Pass(sources[index], stage, file_id, note["records"], note["finished"])
        job.run(part, rejects, tally)
    job.progress(LoadProgress("finishing"))
    if tally.chunk_links or tally.counts["resumed"]:
        link(db, tenant, sorted(tally.documents))
    finish(db, tenant)
    db.run(load("ingest/delete_progress"), tenant=tenant, ids=sorted(ids.values()))
    return _report(tally, time.monotonic() - started)


@dataclass(frozen=True, slots=True)
class _Pass:
    """One reading of a file, for the rows of one stage.

    Attributes:
        done: Records that an earlier run settled.
        finished: Whether those were all.
    """

    source: Input
    stage: Stage
    file_id: str
    done: int
    finished: bool


@dataclass(frozen=True, slots=True)
class _Job:
    db: Database
    tenant: str
    batch_size: int
    skip: bool
    create_missing: bool
    reject_folder: Path
    progress: Callable[[LoadProgress], None]

    def run(self, part: _Pass, rejects: RejectFile, tally: _Tally) -> None:
        """Write the rows of one stage that a file holds."""
        source, stage = part.source, part.stage
        # The documents of chunks are needed in the end, so their files are read again.
        if part.finished and stage != "chunks":
            tally.counts["resumed"] += part.done
            return
        writer = BatchWriter(
            self.db,
            self.tenant,
            source.path,
            part.file_id,
            self.create_missing,
            self.skip,
            rejects.add,
        )
        with Lines(source.path) as lines:
            number = 0
            pending: list[Numbered] = []
            faulty: list[Record] = []
            characters = 0

            def commit(*, last: bool) -> None:
                rejects.add(faulty)
                left_out = writer.write(pending, number, finished=last)
                tally.counts[stage] += len(pending) - len(left_out)
                pending.clear()
                faulty.clear()
                self.progress(
                    LoadProgress(stage, source.path, number, lines.bytes_done, lines.size)
                )

            for number, record in enumerate(read(source, lines), start=1):
                if number <= part.done:
                    tally.counts["resumed"] += 1
                    if isinstance(record.row, ChunkRow):
                        _note(record, source, tally)
                    continue
                if record.fault is not None:
                    if stage == "relationships" and source.kind == "json":
                        continue  # settled by the pass over its nodes
                    if not self.skip:
                        raise record.fault
                    faulty.append(record)
                elif isinstance(record.row, _ROW_TYPES[stage]):
                    pending.append((number, record))
                    characters += len(record.raw)
                    _note(record, source, tally)
                full = len(pending) + len(faulty) >= self.batch_size
                if full or characters >= MAX_BATCH_CHARACTERS:
                    commit(last=False)
                    characters = 0
            commit(last=True)

    def rejects(self, index: int, source: Input, *, fresh: bool, tally: _Tally) -> RejectFile:
        """Give the reject file of an input, the same in all its passes."""
        if index not in tally.rejects:
            taken = {file.path for file in tally.rejects.values()}
            path = reject_path(source.path, self.reject_folder)
            while path in taken:
                path = path.with_name(f"{index + 1}-{path.name}")
            tally.rejects[index] = RejectFile(source, path, fresh=fresh)
        return tally.rejects[index]


def _note(record: Record, source: Input, tally: _Tally) -> None:
    row = record.row
    if row is None:
        return
    for warning in row.warnings:
        tally.warnings[f"{source.path.name}: {warning}"] += 1
    if isinstance(row, RelationshipRow):
        if row.type in STRUCTURAL_TYPES:
            tally.warnings[
                f"{source.path.name}: relationships of type {row.type} are never followed"
            ] += 1
    elif isinstance(row, ChunkRow):
        tally.chunk_links = True
        if row.document:
            tally.documents.add(row.document)
    elif "chunk_ids" in row.properties:
        tally.chunk_links = True


def _stages_of(source: Input) -> tuple[Stage, ...]:
    match source.kind:
        case "chunks":
            return ("chunks",)
        case "nodes":
            return ("nodes",)
        case "json":
            return ("nodes", "relationships")
        case _:
            return ("relationships",)


def _file_id(source: Input, stage: Stage) -> str:
    """Name a pass over a file by what the file holds and how it is read, wherever it lies."""
    codes = [content_hash(p) if p else "" for p in (source.entities, source.relations)]
    how = [
        stage,
        content_hash(source.path),
        source.kind,
        source.delimiter,
        source.array_delimiter,
        list(source.labels),
        source.rel_type,
        list(source.name_properties),
        *codes,
    ]
    return hashlib.sha256(json.dumps(how).encode()).hexdigest()


def _require_schema(db: Database) -> None:
    names = {index.name for index in index_states(db)}
    missing = {"chunk_id_unique", "document_id_unique", "entity_id_unique"} - names
    if missing:
        raise IndexMissing(
            f"The database has no constraint {min(missing)!r}, which a load needs.",
            hint="Run: pathrag migrate up",
        )


def _report(tally: _Tally, seconds: float) -> LoadReport:
    used = [file for _, file in sorted(tally.rejects.items()) if file.count]
    return LoadReport(
        nodes=tally.counts["nodes"],
        relationships=tally.counts["relationships"],
        chunks=tally.counts["chunks"],
        rejected=sum(file.count for file in used),
        resumed=tally.counts["resumed"],
        seconds=seconds,
        reject_files=tuple(file.path for file in used),
        warnings=tuple(
            f"{text} ({count} rows)" if count > 1 else text
            for text, count in sorted(tally.warnings.items())
        ),
    )
