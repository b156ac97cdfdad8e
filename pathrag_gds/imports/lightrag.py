"""Read a working folder of LightRAG or nano-graphrag: GraphML with JSON beside it.

Both keep the graph in ``graph_chunk_entity_relation.graphml`` and the texts in
``kv_store_text_chunks.json``. nano-graphrag also notes on each entity the clusters that it is in,
and keeps reports on them in ``kv_store_community_reports.json``. Vectors are not read: they are of
another encoder.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from pathrag_gds.errors import LoadError
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

__all__ = ["read_lightrag"]

_SYSTEM = "LightRAG or nano-graphrag"
_GRAPH = "graph_chunk_entity_relation.graphml"
_CHUNKS = "kv_store_text_chunks.json"
_REPORTS = "kv_store_community_reports.json"
_SEPARATOR = "<SEP>"
_XML = "{http://graphml.graphdrawing.org/xmlns}"
# What is told in another way here.
_TOLD = frozenset({"clusters", "entity_id", "entity_type", "source_id"})
_NUMBERS = frozenset({"double", "float", "int", "long"})

Values = dict[str, Any]


def read_lightrag(folder: Path | str) -> ForeignIndex:
    """Read entities, relationships, chunks and, of nano-graphrag, communities and reports.

    Raises:
        LoadError: A file is missing or damaged, or a row cannot be loaded.
    """
    place = folder_of(folder, (_GRAPH,), _SYSTEM)
    path = place / _GRAPH
    warnings: list[str] = []
    entities, edges = _read_graph(path)
    nodes = tuple(checked(path, 0, _node, name, values) for name, values in entities.items())
    rows = [
        checked(path, 0, _relationship, source, target, values) for source, target, values in edges
    ]
    relationships, dangling = split_dangling(rows, (node.id for node in nodes))
    chunks = tuple(_chunks(place / _CHUNKS))
    return ForeignIndex(
        system=_SYSTEM,
        nodes=nodes,
        relationships=relationships,
        chunks=chunks,
        communities=tuple(_communities(entities, place / _REPORTS, warnings)),
        dangling=dangling,
        duplicates=shared_names(nodes),
        parallel=parallel_pairs(relationships),
        warnings=tuple(warnings),
    )


def _read_graph(path: Path) -> tuple[dict[str, Values], list[tuple[str, str, Values]]]:
    """Read GraphML: the attributes of each node by id, and the edges."""
    try:
        root = ElementTree.parse(path).getroot()
    except (ElementTree.ParseError, OSError) as error:
        raise LoadError(f"the file cannot be read as GraphML: {error}.", path=path) from error
    keys = {
        key.get("id", ""): (key.get("attr.name", ""), key.get("attr.type", "string"))
        for key in root.iter(f"{_XML}key")
    }
    nodes = {node.get("id", ""): _values(node, keys, path) for node in root.iter(f"{_XML}node")}
    edges = [
        (edge.get("source", ""), edge.get("target", ""), _values(edge, keys, path))
        for edge in root.iter(f"{_XML}edge")
    ]
    return nodes, edges


def _values(
    element: ElementTree.Element, keys: Mapping[str, tuple[str, str]], path: Path
) -> Values:
    values: Values = {}
    for data in element.iter(f"{_XML}data"):
        name, kind = keys.get(data.get("key", ""), ("", "string"))
        text = data.text or ""
        if not name:
            continue
        if kind not in _NUMBERS:
            values[name] = text
            continue
        try:
            values[name] = float(text) if kind in ("double", "float") else int(text)
        except ValueError:
            raise LoadError(f"{text!r} is no number.", path=path, column=name) from None
    return values


def _bare(text: str) -> str:
    """Take off the quotes that nano-graphrag leaves around names and types."""
    text = text.strip()
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] == '"' else text


def _node(name: str, values: Values) -> Any:
    kind = _bare(str(values.get("entity_type") or ""))
    return node_row(
        _bare(name),
        [kind] if kind else [],
        _shared(values) | {"name": _bare(str(values.get("entity_id") or name))},
    )


def _relationship(source: str, target: str, values: Values) -> Any:
    return relationship_row(_bare(source), RELATED_TO, _bare(target), _shared(values))


def _shared(values: Values) -> Values:
    """Give the properties that entities and relationships have in common."""
    told = {key: value for key, value in values.items() if key not in _TOLD and value != ""}
    if "description" in told:
        pieces = str(told["description"]).split(_SEPARATOR)
        told["description"] = " ".join(filter(None, map(_bare, pieces)))
    chunks = [id_ for id_ in str(values.get("source_id") or "").split(_SEPARATOR) if id_]
    return told | ({"chunk_ids": chunks} if chunks else {})


def _read_json(path: Path) -> Mapping[str, Any]:
    """Read an object; a file that is not there is empty."""
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LoadError(f"the file cannot be read as JSON: {error}.", path=path) from error
    if not isinstance(value, dict):
        raise LoadError("the file does not hold a JSON object.", path=path)
    return value


def _chunks(path: Path) -> Iterator[ChunkRow]:
    for id_, row in _read_json(path).items():
        if not isinstance(row, dict) or not isinstance(row.get("content"), str):
            raise LoadError(f"the chunk {id_!r} has no content.", path=path, column="content")
        position = row.get("chunk_order_index")
        yield checked(
            path,
            0,
            chunk_row,
            id_,
            row["content"],
            document=row.get("full_doc_id") or None,
            position=position if isinstance(position, int) else None,
        )


def _communities(
    entities: Mapping[str, Values], path: Path, warnings: list[str]
) -> Iterator[ForeignCommunity]:
    """Gather the clusters that entities say they are in, coarsest first."""
    members: dict[tuple[int, str], list[str]] = defaultdict(list)
    above: dict[tuple[int, str], set[str]] = defaultdict(set)
    for name, values in entities.items():
        clusters = {level: key for level, key in _clusters(values)}
        for level, key in clusters.items():
            members[level, key].append(_bare(name))
            above[level, key].add(clusters.get(level - 1, ""))
    told = _read_json(path)
    for (level, key), ids in sorted(members.items()):
        parents = above[level, key]
        parent = next(iter(parents)) if len(parents) == 1 else ""
        if level and not parent:
            warnings.append(f"community {key} of level {level} lies in none of the level above")
        yield ForeignCommunity(
            key=key,
            level=level,
            node_ids=tuple(sorted(set(ids))),
            parent=parent or None,
            report=_report(told.get(key), level),
        )


def _clusters(values: Values) -> Iterator[tuple[int, str]]:
    try:
        found = json.loads(values.get("clusters") or "[]")
        for cluster in found:
            yield int(cluster["level"]), str(cluster["cluster"])
    except (ValueError, TypeError, KeyError):
        # Notes of a system's own; without them there are no communities, and nothing else is lost.
        return


def _report(row: Any, level: int) -> str:
    """Give a report as text: of its JSON where that has a summary, else of what was written."""
    if not isinstance(row, dict) or row.get("level", level) != level:
        return ""
    fields = row.get("report_json")
    if isinstance(fields, dict) and fields.get("summary"):
        return json.dumps(fields)
    return str(row.get("report_string") or "")
