"""Put rows for the same node or relationship together, in an SQLite file instead of memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from itertools import pairwise
from pathlib import Path
from sqlite3 import Connection as Sqlite
from typing import Any, Literal

from pathrag_gds.errors import LoadError
from pathrag_gds.ingest.rows import (
    ChunkRow,
    DataRow,
    NodeRow,
    RelationshipRow,
    RowFault,
    other_forms,
    outdated_forms,
)

__all__ = ["ARRAY_DELIMITER", "MergedRows", "NodeRole", "cell_type"]

ARRAY_DELIMITER = "\x1f"
"""Between the values of a list: the unit separator, which text hardly ever holds."""

NodeRole = Literal["entity", "chunk", "document"]

_SCHEMA = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE nodes (
  role TEXT, id TEXT, labels TEXT, properties TEXT, types TEXT,
  PRIMARY KEY (role, id)) WITHOUT ROWID;
CREATE TABLE edges (
  start_role TEXT, source TEXT, type TEXT, end_role TEXT, target TEXT, key TEXT,
  properties TEXT, types TEXT, path TEXT, line INTEGER,
  PRIMARY KEY (start_role, source, type, end_role, target, key)) WITHOUT ROWID;
BEGIN;
"""


@dataclass(frozen=True, slots=True)
class MergedRows:
    """Nodes and relationships as a load would leave them.

    Attributes:
        store: An empty database, in autocommit mode.
        types: Column types seen, by kind (a node role, or ``relationship``) and property key.
    """

    store: Sqlite
    types: dict[tuple[str, str], set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.store.executescript(_SCHEMA)

    def add(self, row: DataRow, *, create_ends: bool, path: Path, line: int) -> None:
        """Add a row to what is known of its node or relationship.

        Raises:
            RowFault: A list holds the character that is between its values in the result.
        """
        if isinstance(row, NodeRow):
            self._node("entity", row.id, row.labels, row.properties)
        elif isinstance(row, ChunkRow):
            properties = {**row.properties, "text": row.text, "position": row.position}
            if row.document:
                properties["document"] = row.document
                title = {"title": row.title} if row.title else {}
                self._node("document", row.document, ("Document",), title)
                self._edge(("chunk", row.id, "FROM_DOCUMENT", "document", row.document, ""))
            self._node("chunk", row.id, ("Chunk",), properties)
        else:
            self._relationship(row, create_ends or row.creates_ends, path, line)

    def _relationship(self, row: RelationshipRow, create_ends: bool, path: Path, line: int) -> None:
        if create_ends:
            for end in (row.source, row.target):
                self._node("entity", end, (), {})
        identity = ("entity", row.source, row.type, "entity", row.target, row.key)
        self._edge(identity, row.properties, str(path), line)

    def _node(
        self, role: NodeRole, node: str, labels: Sequence[str], properties: Mapping[str, Any]
    ) -> None:
        found = self.store.execute(
            "SELECT labels, properties, types FROM nodes WHERE role = ? AND id = ?", (role, node)
        ).fetchone()
        if found and not labels and not properties:
            return
        if any(ARRAY_DELIMITER in label for label in labels):
            raise RowFault("a label holds the unit separator U+001F")
        known = set(json.loads(found[0])) if found else set()
        if role == "entity" and not found and "name_key" not in properties:
            # Called by its id until a row names it.
            forms = other_forms([node])
            properties = {**properties, **({"name_forms": forms} if forms else {})}
        cells, types = self._merge(role, found[1:] if found else None, properties)
        self.store.execute(
            "INSERT OR REPLACE INTO nodes VALUES (?, ?, ?, ?, ?)",
            (role, node, json.dumps(sorted({*known, *labels})), cells, types),
        )

    def _edge(
        self,
        identity: tuple[str, str, str, str, str, str],
        properties: Mapping[str, Any] | None = None,
        path: str = "",
        line: int = 0,
    ) -> None:
        found = self.store.execute(
            "SELECT properties, types FROM edges WHERE start_role = ? AND source = ? "
            "AND type = ? AND end_role = ? AND target = ? AND key = ?",
            identity,
        ).fetchone()
        cells, types = self._merge("relationship", found, properties or {})
        self.store.execute(
            "INSERT OR REPLACE INTO edges VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*identity, cells, types, path, line),
        )

    def _merge(
        self, kind: str, found: Sequence[str] | None, properties: Mapping[str, Any]
    ) -> tuple[str, str]:
        cells = json.loads(found[0]) if found else {}
        types = json.loads(found[1]) if found else {}
        for key in outdated_forms(properties):
            cells.pop(key, None)
            types.pop(key, None)
        for key, value in properties.items():
            types[key] = cell_type(value)
            self.types.setdefault((kind, key), set()).add(types[key])
            cells[key] = _cell(key, value)
        return json.dumps(cells), json.dumps(types)

    def link_chunks(self) -> None:
        """Make FROM_CHUNK from ``chunk_ids``, and NEXT_CHUNK from the positions."""
        placed: dict[str, list[tuple[int, str]]] = {}
        known = set()
        for chunk, text in self.store.execute(
            "SELECT id, properties FROM nodes WHERE role = 'chunk'"
        ).fetchall():
            properties = json.loads(text)
            known.add(chunk)
            if "document" in properties:
                place = (properties["position"], chunk)
                placed.setdefault(properties["document"], []).append(place)
        for chunks in placed.values():
            for (_, one), (_, after) in pairwise(sorted(chunks)):
                self._edge(("chunk", one, "NEXT_CHUNK", "chunk", after, ""))
        if ("entity", "chunk_ids") not in self.types or not known:
            return
        for entity, text in self.store.execute(
            "SELECT id, properties FROM nodes WHERE role = 'entity'"
        ).fetchall():
            for chunk in json.loads(text).get("chunk_ids", ()):
                if chunk in known:
                    self._edge(("entity", entity, "FROM_CHUNK", "chunk", chunk, ""))

    def check_ends(self) -> None:
        """Refuse a relationship with an end that nothing defines.

        Raises:
            LoadError: Names the first such row.
        """
        missing = self.store.execute(
            "SELECT e.path, e.line, CASE WHEN s.id IS NULL THEN e.source ELSE e.target END "
            "FROM edges e "
            "LEFT JOIN nodes s ON s.role = e.start_role AND s.id = e.source "
            "LEFT JOIN nodes t ON t.role = e.end_role AND t.id = e.target "
            "WHERE s.id IS NULL OR t.id IS NULL ORDER BY e.path, e.line LIMIT 1"
        ).fetchone()
        if missing:
            raise LoadError(
                f"no node has the id {missing[2]!r}.",
                path=Path(missing[0]),
                line=missing[1],
                hint="Name the file of the nodes too, or use --create-missing.",
            )

    def nodes(self, role: NodeRole) -> Iterator[tuple[str, list[str], dict[str, Any], Any]]:
        """Give id, labels, cells and their types of the nodes of a role, by id."""
        for node, labels, cells, types in self.store.execute(
            "SELECT id, labels, properties, types FROM nodes WHERE role = ? ORDER BY id", (role,)
        ):
            yield node, json.loads(labels), json.loads(cells), json.loads(types)

    def edges(
        self, start: str, end: str
    ) -> Iterator[tuple[tuple[str, str, str, str], dict[str, Any], Any]]:
        """Give (source, target, type, key), cells and their types between two roles, in order."""
        for *identity, cells, types in self.store.execute(
            "SELECT source, target, type, key, properties, types FROM edges "
            "WHERE start_role = ? AND end_role = ? ORDER BY source, type, target, key",
            (start, end),
        ):
            source, target, relationship_type, key = identity
            yield (source, target, relationship_type, key), json.loads(cells), json.loads(types)


def cell_type(value: Any) -> str:
    """Give the column type of a stored value, such as ``long`` or ``string[]``."""
    if isinstance(value, list):
        return (cell_type(value[0]) if value else "string") + "[]"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "long"
    if isinstance(value, float):
        return "double"
    if isinstance(value, datetime):
        return "datetime" if value.tzinfo else "localdatetime"
    if isinstance(value, date):
        return "date"
    if isinstance(value, time):
        return "time" if value.tzinfo else "localtime"
    return "string"


def _cell(key: str, value: Any) -> Any:
    if isinstance(value, list):
        cells = [_cell(key, item) for item in value]
        if any(isinstance(cell, str) and ARRAY_DELIMITER in cell for cell in cells):
            raise RowFault("a list value holds the unit separator U+001F", key)
        return cells
    iso = getattr(value, "isoformat", None)
    return iso() if iso else value
