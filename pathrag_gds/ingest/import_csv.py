"""Write the files of ``neo4j-admin database import`` instead of loading.

For tens of millions of rows the offline import is faster than any transaction. The files hold what
a load would have made: rows for the same node or relationship are put together first. A property
that has several types goes to several files, since a column of the import has one.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, get_args

from pathrag_gds.config import DEFAULT_TENANT, check_tenant
from pathrag_gds.errors import ConfigError
from pathrag_gds.ingest.formats import detect, read
from pathrag_gds.ingest.inputs import Input
from pathrag_gds.ingest.lines import Lines
from pathrag_gds.ingest.merged import ARRAY_DELIMITER, MergedRows, NodeRole
from pathrag_gds.ingest.rows import Record, RowFault, name_key

__all__ = ["ImportFiles", "to_import_csv"]

_FILES: Mapping[NodeRole, str] = {"entity": "entities", "chunk": "chunks", "document": "documents"}
_EDGE_ROLES = (
    ("entity", "entity"),
    ("entity", "chunk"),
    ("chunk", "chunk"),
    ("chunk", "document"),
)

Cells = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ImportFiles:
    """Files for the offline import.

    Attributes:
        nodes: Nodes in them, chunks and documents included.
        relationships: Relationships in them, those of provenance included.
    """

    node_files: tuple[Path, ...]
    relationship_files: tuple[Path, ...]
    nodes: int
    relationships: int

    @property
    def arguments(self) -> tuple[str, ...]:
        """Give what follows ``neo4j-admin database import full DATABASE``.

        ``AdminTool`` of the embedded server takes the same.
        """
        return (
            *(f"--nodes={path}" for path in self.node_files),
            *(f"--relationships={path}" for path in self.relationship_files),
            "--array-delimiter=U+001F",
            "--multiline-fields=true",
            "--id-type=string",
        )


def to_import_csv(
    inputs: Sequence[Input | Path | str],
    folder: Path,
    *,
    tenant: str = DEFAULT_TENANT,
    create_missing: bool = False,
    progress: Callable[[Path, int], None] | None = None,
) -> ImportFiles:
    """Write import files for one tenant from any inputs that a load takes.

    The import makes a new database, without constraints and indexes. Afterwards run
    ``pathrag migrate up``, ``pathrag schema refresh`` and ``pathrag embed``.

    Args:
        folder: Made when it is not there. Files of the same names in it are replaced.
        create_missing: As for a load.
        progress: Called with a file and its rows so far.

    Raises:
        LoadError: A file or a row cannot be used; nothing is written then.
        ConfigError: There is no input, or the folder cannot be written.
    """
    check_tenant(tenant)
    if not inputs:
        raise ConfigError("There is nothing to write.", hint="Name at least one file.")
    sources = [detect(s if isinstance(s, Input) else Input(Path(s))) for s in inputs]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=".import-", dir=folder))
    except OSError as error:
        raise ConfigError(f"{folder} cannot be written: {error.strerror}.") from None
    try:
        import sqlite3

        with closing(sqlite3.connect(work / "rows.sqlite", isolation_level=None)) as store:
            rows = MergedRows(store)
            for source in sources:
                _collect(rows, source, create_missing, progress or (lambda _path, _rows: None))
            rows.link_chunks()
            rows.check_ends()
            node_files, nodes = _write_nodes(rows, work, tenant)
            edge_files, edges = _write_edges(rows, work)
        for name in (*node_files, *edge_files):
            (work / name).replace(folder / name)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return ImportFiles(
        tuple(folder / name for name in node_files),
        tuple(folder / name for name in edge_files),
        nodes,
        edges,
    )


def _collect(
    rows: MergedRows, source: Input, create_missing: bool, progress: Callable[[Path, int], None]
) -> None:
    count = 0
    with Lines(source.path) as lines:
        for count, record in enumerate(read(source, lines), start=1):
            if record.fault is not None:
                raise record.fault
            if record.row is not None:
                try:
                    rows.add(
                        record.row,
                        create_ends=create_missing,
                        path=source.path,
                        line=record.line,
                    )
                except RowFault as fault:
                    faulty = Record.faulty(source.path, record.line, record.raw, fault)
                    raise faulty.fault or fault from None
            if count % 10_000 == 0:
                progress(source.path, count)
    progress(source.path, count)


def _write_nodes(rows: MergedRows, work: Path, tenant: str) -> tuple[list[str], int]:
    names: list[str] = []
    total = 0
    for role in get_args(NodeRole):
        with _Files(work, _FILES[role], rows, role) as files:
            for node, labels, cells, types in rows.nodes(role):
                if role == "entity":
                    cells = {"name": node, "name_key": name_key(node), **cells}
                    types = {"name": "string", "name_key": "string", **types}
                    labels = ["__Entity__", *labels]
                ends = {f"id:ID({role})": node, "tenant:string": tenant}
                ends[":LABEL"] = ARRAY_DELIMITER.join(labels)
                files.write(ends, cells, types)
                total += 1
            names += files.names
    return names, total


def _write_edges(rows: MergedRows, work: Path) -> tuple[list[str], int]:
    names: list[str] = []
    total = 0
    for start, end in _EDGE_ROLES:
        kind = "relationship" if start == end == "entity" else "provenance"
        with _Files(work, f"{start}_to_{end}", rows, kind) as files:
            for (source, target, relationship_type, key), cells, types in rows.edges(start, end):
                ends = {f":START_ID({start})": source, f":END_ID({end})": target}
                ends[":TYPE"] = relationship_type
                if key:
                    ends["key:string"] = key
                files.write(ends, cells, types)
                total += 1
            names += files.names
    return names, total


class _Files:
    """CSV files of one kind of rows: one file per choice of types where a property has several."""

    def __init__(self, folder: Path, stem: str, rows: MergedRows, kind: str) -> None:
        self.names: list[str] = []
        self._folder = folder
        self._stem = stem
        self._types = {key: found for (of, key), found in rows.types.items() if of == kind}
        if kind == "entity":
            self._types |= {"name": {"string"}, "name_key": {"string"}}
        self._several = sorted(key for key, found in self._types.items() if len(found) > 1)
        self._open: dict[tuple[str, ...], tuple[IO[str], list[str]]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def write(self, ends: Mapping[str, str], cells: Cells, types: Mapping[str, str]) -> None:
        """Write one row: the columns of the import's own, then the properties."""
        choice = tuple(types.get(key, "") for key in self._several)
        if choice not in self._open:
            self._open[choice] = self._begin(ends, choice)
        file, columns = self._open[choice]
        values = (_text(cells.get(key)) for key in columns)
        file.write(_line([*ends.values(), *values]))

    def _begin(self, ends: Mapping[str, str], choice: tuple[str, ...]) -> tuple[IO[str], list[str]]:
        name = f"{self._stem}{f'-{len(self.names) + 1}' if self.names else ''}.csv"
        self.names.append(name)
        chosen = dict(zip(self._several, choice, strict=True))
        columns = sorted(key for key in self._types if chosen.get(key, "-"))
        file = self._stack.enter_context(
            (self._folder / name).open("w", encoding="utf-8", newline="")
        )
        typed = [f"{key}:{chosen.get(key) or min(self._types[key])}" for key in columns]
        file.write(_line([*ends, *typed]))
        return file, columns


def _line(cells: Iterator[str | None] | Sequence[str | None]) -> str:
    """Quote every cell that is there, so that an empty text is not a missing one."""
    quoted = ("" if cell is None else '"' + cell.replace('"', '""') + '"' for cell in cells)
    return ",".join(quoted) + "\n"


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ARRAY_DELIMITER.join(_text(item) or "" for item in value)
    return str(value)
