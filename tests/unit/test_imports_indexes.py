"""Indexes of other systems as rows: what is read, what is left out, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx
import pyarrow
import pyarrow.parquet
import pytest

from pathrag_gds.errors import LoadError
from pathrag_gds.imports import read_graphrag, read_lightrag

Rows = list[dict[str, Any]]

ENTITIES: Rows = [
    {"id": "u1", "title": "SCROOGE", "type": "PERSON", "description": "A miser.",
     "text_unit_ids": ["t1", "t9"]},
    {"id": "u2", "title": "LONDON", "type": "", "description": "", "text_unit_ids": ["t1"]},
    {"id": "u3", "title": "Scrooge", "type": "GEO", "description": None, "text_unit_ids": []},
]  # fmt: skip
RELATIONSHIPS: Rows = [
    {"id": "r1", "source": "SCROOGE", "target": "LONDON", "description": "Lives in.",
     "weight": 7.0, "text_unit_ids": ["t1"]},
    {"id": "r2", "source": "SCROOGE", "target": "LONDON", "description": "Works in.",
     "weight": 1.0, "text_unit_ids": []},
    {"id": "r3", "source": "MARLEY", "target": "SCROOGE", "description": "Haunts.",
     "weight": 1.0, "text_unit_ids": []},
]  # fmt: skip
COMMUNITIES: Rows = [
    {"community": 0, "level": 0, "parent": -1, "entity_ids": ["u2", "u1", "u9"]},
    {"community": 1, "level": 1, "parent": 0, "entity_ids": ["u1"]},
    {"community": 2, "level": 0, "parent": -1, "entity_ids": ["u9"]},
]
REPORTS: Rows = [
    {"community": 0, "title": "Scrooge", "summary": "About Scrooge.", "rank": 8.5,
     "rating_explanation": "Central.", "findings": [{"summary": "One.", "explanation": "E."}]}
]  # fmt: skip
UNITS: Rows = [
    {"id": "t2", "text": "Second.", "document_id": "d"},
    {"id": "t1", "text": "First.", "document_id": "d"},
]
DOCUMENTS: Rows = [{"id": "d", "title": "carol.txt", "text_unit_ids": ["t1", "t2"]}]
TABLES: dict[str, Rows] = {
    "entities": ENTITIES,
    "relationships": RELATIONSHIPS,
    "communities": COMMUNITIES,
    "community_reports": REPORTS,
    "text_units": UNITS,
    "documents": DOCUMENTS,
}


def write(folder: Path, tables: dict[str, Rows], prefix: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        table = pyarrow.Table.from_pylist(rows)
        pyarrow.parquet.write_table(table, folder / f"{prefix}{name}.parquet")
    return folder


def test_graphrag_gives_graph_texts_communities_and_reports(tmp_path: Path) -> None:
    index = read_graphrag(write(tmp_path / "output", TABLES).parent)
    assert [(n.id, n.labels) for n in index.nodes] == [
        ("SCROOGE", ("PERSON",)), ("LONDON", ()), ("Scrooge", ("GEO",)),
    ]  # fmt: skip
    assert index.nodes[0].properties == {
        "name": "SCROOGE",
        "name_key": "scrooge",
        "description": "A miser.",
        "chunk_ids": ["t1", "t9"],
        "graphrag_id": "u1",
    }
    assert [(r.source, r.type, r.target, r.key) for r in index.relationships] == [
        ("SCROOGE", "RELATED_TO", "LONDON", "r1"),
        ("SCROOGE", "RELATED_TO", "LONDON", "r2"),
    ]
    assert index.relationships[0].properties["weight"] == 7.0
    assert [(d.source, d.target, d.missing) for d in index.dangling] == [
        ("MARLEY", "SCROOGE", ("MARLEY",))
    ]
    assert index.parallel == 1
    assert index.duplicates == {"scrooge": ("SCROOGE", "Scrooge")}
    assert [(c.id, c.document, c.position, c.title) for c in index.chunks] == [
        ("t2", "d", 1, "carol.txt"), ("t1", "d", 0, "carol.txt"),
    ]  # fmt: skip
    first, second = index.communities
    assert (first.key, first.level, first.node_ids, first.parent) == (
        "0", 0, ("LONDON", "SCROOGE"), None,
    )  # fmt: skip
    assert (second.key, second.level, second.parent, second.report) == ("1", 1, "0", "")
    assert json.loads(first.report) == {
        "title": "Scrooge",
        "summary": "About Scrooge.",
        "findings": [{"explanation": "E.", "summary": "One."}],
        "rating": 8.5,
        "rating_explanation": "Central.",
    }
    assert index.warnings == (
        "1 text units that entities name are not in the index",
        "community 0 names 1 entities that are not in the index",
        "community 2 names 1 entities that are not in the index",
        "community 2 has no entity and was left out",
    )


def test_equal_titles_stay_apart(tmp_path: Path) -> None:
    same = [ENTITIES[0], {**ENTITIES[1], "title": "SCROOGE"}]
    index = read_graphrag(write(tmp_path, {"entities": same, "relationships": RELATIONSHIPS}))
    assert [n.id for n in index.nodes] == ["SCROOGE", "SCROOGE (2)"]
    assert [n.properties["name"] for n in index.nodes] == ["SCROOGE", "SCROOGE"]
    assert index.duplicates == {"scrooge": ("SCROOGE", "SCROOGE (2)")}
    assert index.communities == ()


def test_files_of_earlier_versions_are_read(tmp_path: Path) -> None:
    named = [{**row, "name": row["title"]} for row in ENTITIES]
    for row in named:
        del row["title"]
    tables = {"entities": named, "relationships": RELATIONSHIPS}
    index = read_graphrag(write(tmp_path, tables, "create_final_"))
    assert [n.id for n in index.nodes] == ["SCROOGE", "LONDON", "Scrooge"]


def test_what_is_no_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="no index of GraphRAG"):
        read_graphrag(tmp_path)
    write(tmp_path, {"entities": ENTITIES})
    with pytest.raises(LoadError, match=r"relationships\.parquet: the file is missing"):
        read_graphrag(tmp_path)
    write(tmp_path, {"relationships": [{"source": "a"}]})
    with pytest.raises(LoadError, match="column 'target': the column is missing"):
        read_graphrag(tmp_path)
    write(tmp_path, {"relationships": [{"source": "a", "target": ""}]})
    with pytest.raises(LoadError, match=r"relationships\.parquet:1, column 'target': the end is"):
        read_graphrag(tmp_path)
    (tmp_path / "relationships.parquet").write_bytes(b"no parquet")
    with pytest.raises(LoadError, match="cannot be read as parquet"):
        read_graphrag(tmp_path)


def nano_folder(folder: Path) -> Path:
    """Write a working folder as nano-graphrag does."""
    graph = networkx.Graph()
    clusters = [{"level": 0, "cluster": "0"}, {"level": 1, "cluster": "3"}]
    graph.add_node(
        '"SCROOGE"',
        entity_type='"PERSON"',
        description='"A miser."<SEP>Old.',
        source_id="c1<SEP>c2",
        clusters=json.dumps(clusters),
    )
    graph.add_node(
        '"LONDON"', entity_type='"GEO"', source_id="c1", clusters=json.dumps(clusters[:1])
    )
    graph.add_node("FRED", entity_id="FRED", entity_type="person", description="", source_id="")
    graph.add_edge(
        '"SCROOGE"', '"LONDON"', weight=2.0, order=1, description="Lives in.", source_id="c1"
    )
    graph.add_edge('"SCROOGE"', "FRED", keywords="family", weight=1.0)
    networkx.write_graphml(graph, folder / "graph_chunk_entity_relation.graphml")
    chunk = {"content": "First.", "chunk_order_index": 1, "full_doc_id": "doc", "tokens": 2}
    chunks = {"c1": chunk, "c2": {"content": "Second."}}
    (folder / "kv_store_text_chunks.json").write_text(json.dumps(chunks))
    reports = {
        "0": {"level": 0, "report_json": {"title": "T", "summary": "S"}, "report_string": "# T"},
        "3": {"level": 1, "report_json": {}, "report_string": "Plain text."},
    }
    (folder / "kv_store_community_reports.json").write_text(json.dumps(reports))
    return folder


def test_nano_graphrag_gives_graph_texts_communities_and_reports(tmp_path: Path) -> None:
    index = read_lightrag(nano_folder(tmp_path))
    assert [(n.id, n.labels, n.properties.get("description")) for n in index.nodes] == [
        ("SCROOGE", ("PERSON",), "A miser. Old."),
        ("LONDON", ("GEO",), None),
        ("FRED", ("person",), None),
    ]
    assert index.nodes[0].properties["chunk_ids"] == ["c1", "c2"]
    lives, knows = index.relationships
    assert (lives.source, lives.target, lives.type) == ("SCROOGE", "LONDON", "RELATED_TO")
    assert lives.properties == {
        "weight": 2.0, "order": 1, "description": "Lives in.", "chunk_ids": ["c1"],
    }  # fmt: skip
    assert knows.properties["keywords"] == "family"
    assert [(c.id, c.document, c.position) for c in index.chunks] == [
        ("c1", "doc", 1),
        ("c2", "", 0),
    ]
    coarse, fine = index.communities
    assert (coarse.key, coarse.level, coarse.node_ids) == ("0", 0, ("LONDON", "SCROOGE"))
    assert json.loads(coarse.report) == {"title": "T", "summary": "S"}
    assert (fine.key, fine.level, fine.node_ids, fine.parent, fine.report) == (
        "3", 1, ("SCROOGE",), "0", "Plain text.",
    )  # fmt: skip
    assert (index.dangling, index.warnings) == ((), ())


def test_graphml_that_is_damaged_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="no index of LightRAG or nano-graphrag"):
        read_lightrag(tmp_path)
    (tmp_path / "graph_chunk_entity_relation.graphml").write_text("<graphml>")
    with pytest.raises(LoadError, match="cannot be read as GraphML"):
        read_lightrag(tmp_path)
    nano_folder(tmp_path)
    (tmp_path / "kv_store_text_chunks.json").write_text('{"c1": {}}')
    with pytest.raises(LoadError, match="the chunk 'c1' has no content"):
        read_lightrag(tmp_path)
    (tmp_path / "kv_store_text_chunks.json").write_text("[")
    with pytest.raises(LoadError, match="cannot be read as JSON"):
        read_lightrag(tmp_path)
