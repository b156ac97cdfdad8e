"""Read an index of Microsoft's GraphRAG: a folder of parquet files.

Relationships name their ends by title, so the title is the id here; where several entities have
one, the second and later ones have their number behind it, and relationships go to the first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pathrag_gds.errors import LoadError, MissingExtra
from pathrag_gds.imports.index import (
    RELATED_TO,
    ForeignCommunity,
    ForeignIndex,
    checked,
    folder_of,
    parallel_pairs,
    shared_names,
    split_dangling,
)
from pathrag_gds.ingest.rows import ChunkRow, chunk_row, node_row, relationship_row

__all__ = ["read_graphrag"]

_SYSTEM = "GraphRAG"
_ENTITIES = "entities"
_FORMER = "create_final_"
_REPORT_COLUMNS = ("title", "summary", "findings", "rating_explanation")

Row = Mapping[str, Any]


def read_graphrag(folder: Path | str) -> ForeignIndex:
    """Read entities, relationships, text units, communities and reports.

    Needed are ``entities.parquet`` and ``relationships.parquet``; ``text_units``, ``documents``,
    ``communities`` and ``community_reports`` are read where they are. Files that begin with
    ``create_final_``, as GraphRAG wrote them before 1.0, are read too. Claims are not.

    Raises:
        MissingExtra: The library that reads parquet is not installed.
        LoadError: A file is missing or damaged, a column is missing, or a row cannot be loaded.
    """
    wanted = (f"{_ENTITIES}.parquet", f"{_FORMER}{_ENTITIES}.parquet")
    place = folder_of(folder, wanted, _SYSTEM)
    files = _Files(place)
    warnings: list[str] = []
    entities = files.rows(_ENTITIES, ("id",))
    ids = _ids_of(entities, files.path(_ENTITIES))
    nodes = tuple(
        checked(files.path(_ENTITIES), number, _node, row, ids[str(row["id"])])
        for number, row in enumerate(entities, start=1)
    )
    rows = [
        checked(files.path("relationships"), number, _relationship, row)
        for number, row in enumerate(files.rows("relationships", ("source", "target")), start=1)
    ]
    relationships, dangling = split_dangling(rows, ids.values())
    chunks = tuple(_chunks(files))
    known = {chunk.id for chunk in chunks}
    lost = {id_ for node in nodes for id_ in node.properties.get("chunk_ids", ())} - known
    if lost and chunks:
        warnings.append(f"{len(lost)} text units that entities name are not in the index")
    return ForeignIndex(
        system=_SYSTEM,
        nodes=nodes,
        relationships=relationships,
        chunks=chunks,
        communities=tuple(_communities(files, ids, warnings)),
        dangling=dangling,
        duplicates=shared_names(nodes),
        parallel=parallel_pairs(relationships),
        warnings=tuple(warnings),
    )


class _Files:
    """The parquet files of an index."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, name: str) -> Path:
        """Give the file of a table, in the present or the former way of naming."""
        path = self._folder / f"{name}.parquet"
        former = self._folder / f"{_FORMER}{name}.parquet"
        return former if former.is_file() and not path.is_file() else path

    def has(self, name: str) -> bool:
        return self.path(name).is_file()

    def rows(self, name: str, columns: tuple[str, ...]) -> list[dict[str, Any]]:
        """Read a table as rows; these columns must be there."""
        try:
            import pyarrow.parquet as parquet
        except ImportError:
            raise MissingExtra("import", needed_for="Reading parquet files") from None
        path = self.path(name)
        if not path.is_file():
            raise LoadError("the file is missing.", path=path)
        try:
            table = parquet.read_table(path)
        except (OSError, ValueError) as error:
            told = str(error).splitlines()[0]
            raise LoadError(f"the file cannot be read as parquet: {told}.", path=path) from error
        missing = [column for column in columns if column not in table.column_names]
        if missing:
            raise LoadError("the column is missing.", path=path, column=missing[0])
        return list(table.to_pylist())


def _title(row: Row) -> str:
    return str(row.get("title") or row.get("name") or "")


def _ids_of(entities: list[dict[str, Any]], path: Path) -> dict[str, str]:
    """Give our id of each entity by its id there."""
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for number, row in enumerate(entities, start=1):
        title = _title(row)
        if not title:
            raise LoadError("the entity has no title.", path=path, line=number, column="title")
        id_, count = title, 1
        while id_ in taken:
            count += 1
            id_ = f"{title} ({count})"
        taken.add(id_)
        ids[str(row["id"])] = id_
    return ids


def _node(row: Row, id_: str) -> Any:
    kind = str(row.get("type") or "").strip()
    properties = {
        "name": _title(row),
        "description": row.get("description") or None,
        "chunk_ids": list(row.get("text_unit_ids") or ()) or None,
        "graphrag_id": str(row["id"]),
    }
    return node_row(id_, [kind] if kind else [], properties)


def _relationship(row: Row) -> Any:
    properties = {
        "description": row.get("description") or None,
        "weight": row.get("weight"),
        "chunk_ids": list(row.get("text_unit_ids") or ()) or None,
    }
    return relationship_row(row["source"], RELATED_TO, row["target"], properties, key=row.get("id"))


def _chunks(files: _Files) -> Iterator[ChunkRow]:
    if not files.has("text_units"):
        return
    documents = files.rows("documents", ("id",)) if files.has("documents") else []
    titles = {str(row["id"]): _title(row) for row in documents}
    places = {
        unit: position
        for row in documents
        for position, unit in enumerate(row.get("text_unit_ids") or ())
    }
    for number, row in enumerate(files.rows("text_units", ("id", "text")), start=1):
        several = row.get("document_ids") or ()
        document = row.get("document_id") or (several[0] if several else None)
        yield checked(
            files.path("text_units"),
            number,
            chunk_row,
            row["id"],
            row["text"] or "",
            document=document,
            position=places.get(row["id"], number - 1),
            title=titles.get(str(document)) or None,
        )


def _communities(
    files: _Files, ids: Mapping[str, str], warnings: list[str]
) -> Iterator[ForeignCommunity]:
    if not files.has("communities"):
        return
    rows = files.rows("communities", ("community", "level", "entity_ids"))
    reports = _reports(files)
    keys = {str(row["community"]) for row in rows}
    for row in rows:
        given = [str(id_) for id_ in row["entity_ids"] or ()]
        members = tuple(sorted({ids[id_] for id_ in given if id_ in ids}))
        key = str(row["community"])
        if lost := sum(id_ not in ids for id_ in given):
            warnings.append(f"community {key} names {lost} entities that are not in the index")
        if not members:
            warnings.append(f"community {key} has no entity and was left out")
            continue
        parent = str(row.get("parent", -1))
        yield ForeignCommunity(
            key=key,
            level=int(row["level"]),
            node_ids=members,
            parent=parent if parent in keys else None,
            report=reports.get(key, ""),
        )


def _reports(files: _Files) -> dict[str, str]:
    """Give what is told of each community, as JSON of our fields."""
    if not files.has("community_reports"):
        return {}
    found = {}
    for row in files.rows("community_reports", ("community", "summary")):
        told = {name: row.get(name) for name in _REPORT_COLUMNS}
        found[str(row["community"])] = json.dumps(told | {"rating": row.get("rank")})
    return found
