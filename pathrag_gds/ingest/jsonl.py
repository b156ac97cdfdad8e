"""Read JSON Lines: one JSON object a line.

- What Neo4j's ``apoc.export.json`` writes: ``{"type": "node", "id", "labels", "properties"}`` and
  ``{"type": "relationship", "id", "label", "start": {"id"}, "end": {"id"}, "properties"}``.
- Plain nodes: ``{"id", "name", "labels", …}``; every other field is a property.
- Plain relationships: ``{"source", "type", "target", …}`` (``rel_type`` and ``label`` are read for
  ``type`` too); ``key`` and ``id`` identify, every other field is a property.
- Chunks: ``{"id", "text", "document", "position", "title"}``.

A field ``properties`` of a plain row may hold more of them. A field ``rejected`` is passed over, so
that a mended reject file can be loaded. Maps, and lists that Neo4j cannot hold, become JSON text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from pathrag_gds.ingest.inputs import Input
from pathrag_gds.ingest.lines import Lines
from pathrag_gds.ingest.rows import (
    DataRow,
    Record,
    RowFault,
    chunk_row,
    node_row,
    relationship_row,
)
from pathrag_gds.ingest.values import check_text

__all__ = ["looks_like_chunk", "read_json_lines"]

REJECTED = "rejected"
_CHUNK_FIELDS = frozenset({"id", "text", "document", "position", "title"})


def looks_like_chunk(row: Any) -> bool:
    """Tell whether an object has the fields of a chunk and no others."""
    return isinstance(row, dict) and {"id", "text"} <= set(row) <= _CHUNK_FIELDS


def read_json_lines(source: Input, lines: Lines, *, chunks: bool) -> Iterator[Record]:
    """Read every line but empty ones.

    Args:
        chunks: Whether the rows are chunks.

    Raises:
        LoadError: The file cannot be read.
    """
    for text in lines:
        line, raw = lines.number, text.rstrip("\r\n")
        if not raw.strip():
            continue
        try:
            row = _object(raw)
            yield Record(line, raw, _chunk(row) if chunks else _row(source, row))
        except RowFault as fault:
            yield Record.faulty(source.path, line, raw, fault)


def _object(raw: str) -> dict[str, Any]:
    try:
        check_text(raw)
        row = json.loads(raw, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise RowFault(f"not JSON: {error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise RowFault("not JSON that can be read: nested too deeply") from None
    except RowFault:
        raise
    except ValueError as error:
        raise RowFault(str(error)) from None
    if not isinstance(row, dict):
        raise RowFault("the line is not a JSON object; JSON Lines holds one object a line")
    row.pop(REJECTED, None)
    return row


def _refuse_constant(name: str) -> NoReturn:
    raise RowFault(f"{name} cannot be stored")


def _chunk(row: dict[str, Any]) -> DataRow:
    rest = {key: value for key, value in row.items() if key not in _CHUNK_FIELDS}
    return chunk_row(
        _required(row, "id"),
        _required(row, "text"),
        document=row.get("document"),
        position=row.get("position"),
        title=row.get("title"),
        properties=rest,
    )


def _row(source: Input, row: dict[str, Any]) -> DataRow:
    if row.get("type") == "relationship" and isinstance(row.get("start"), Mapping):
        return _exported_relationship(row)
    if row.get("type") == "node" and "source" not in row:
        row.pop("type")
    if "source" in row or "target" in row:
        return _plain_relationship(source, row)
    return _node(source, row)


def _node(source: Input, row: dict[str, Any]) -> DataRow:
    id_value = _required(row, "id")
    del row["id"]
    labels = row.pop("labels", None) or []
    if isinstance(labels, str):
        labels = [labels]
    if not isinstance(labels, list):
        raise RowFault(f"labels must be a list of texts, not {labels!r}", "labels")
    return node_row(
        id_value,
        [*source.labels, *labels],
        _with_nested(row),
        name_properties=source.name_properties,
    )


def _plain_relationship(source: Input, row: dict[str, Any]) -> DataRow:
    start, end = _required(row, "source"), _required(row, "target")
    named = next((name for name in ("type", "rel_type", "label") if row.get(name)), "type")
    relationship_type = row.pop(named, None) or source.rel_type or None
    key = row.pop("key", None)
    if key in (None, ""):
        key = row.pop("id", None)
    del row["source"], row["target"]
    return relationship_row(
        start,
        relationship_type,
        end,
        _with_nested(row),
        key=key,
        columns=("source", named, "target"),
    )


def _exported_relationship(row: dict[str, Any]) -> DataRow:
    ends = []
    for name in ("start", "end"):
        end = row.get(name)
        if not isinstance(end, Mapping) or "id" not in end:
            raise RowFault(f"{name} must be an object with an id", name)
        ends.append(end["id"])
    return relationship_row(
        ends[0],
        row.get("label") or row.get("rel_type"),
        ends[1],
        _nested(row),
        key=row.get("key") or row.get("id"),
        columns=("start", "label", "end"),
    )


def _with_nested(row: dict[str, Any]) -> dict[str, Any]:
    nested = _nested(row)
    row.pop("properties", None)
    twice = sorted(set(nested) & set(row))
    if twice:
        raise RowFault("the property stands beside and inside properties", twice[0])
    return {**row, **nested}


def _nested(row: Mapping[str, Any]) -> Mapping[str, Any]:
    nested = row.get("properties")
    if nested is None:
        return {}
    if not isinstance(nested, Mapping):
        raise RowFault(f"properties must be an object, not {nested!r}", "properties")
    return nested


def _required(row: Mapping[str, Any], name: str) -> Any:
    if row.get(name) is None:
        raise RowFault(f"the row has no {name}", name)
    return row[name]
