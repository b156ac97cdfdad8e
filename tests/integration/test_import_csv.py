"""The files for the offline import hold what a load makes: both ways end in the same graph."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pathrag_gds.config import Connection
from pathrag_gds.graph.database import Database, Row, probe_gds
from pathrag_gds.ingest import load_files
from pathrag_gds.ingest.import_csv import to_import_csv
from pathrag_gds.migrate import up
from pathrag_gds.server import DEFAULT_LANE, LANES, install, start, stop
from pathrag_gds.server.home import Home
from pathrag_gds.server.java import find_java
from pathrag_gds.server.jvm import admin
from pathrag_gds.server.process import lay_out, settle_record
from tests.statements import statement

NODES = statement(
    "MATCH (n {tenant: 't'}) WHERE NOT n:__RelationType__ AND NOT n:__EntityType__ "
    "RETURN labels(n) AS labels, properties(n) AS properties, "
    "[k IN keys(n) | valueType(n[k])] AS types",
    "read",
)
EDGES = statement(
    "MATCH (a {tenant: 't'})-[r]->(b) "
    "RETURN a.id AS a, type(r) AS type, b.id AS b, properties(r) AS properties "
    "ORDER BY a, type, b, r.key",
    "read",
)
ROWS: list[dict[str, object]] = [
    {"id": "a", "name": 'say "hi",\n`x`\\', "labels": ["A b", "c;d"], "roles": ["x;y", "z"]},
    {"id": "b", "n": "one", "empty": "", "t:u": "v", "flag": False},
    {"id": "c", "n": 1.5, "numbers": [1, 2], "chunk_ids": ["c1", "none"], "aliases": ["Cé"]},
    {"id": "c", "labels": ["C"], "n": 7},
    {"source": "a", "type": "WORKS `FOR`", "target": "b", "key": "k", "w": 0.5},
    {"source": "a", "type": "WORKS `FOR`", "target": "b", "w": [1, 2]},
    {"source": "a", "type": "WORKS `FOR`", "target": "b", "since": "x"},
]
CHUNKS: list[dict[str, object]] = [
    {"id": "c2", "text": "Two.\n", "document": "d", "position": 2},
    {"id": "c1", "text": 'One, "1".', "document": "d", "position": 1, "title": "D"},
]


def graph(connection: Connection) -> tuple[list[Row], list[Row]]:
    with Database(connection) as db:
        nodes = db.run(NODES)
        for row in nodes:
            row["types"].sort()
            row["labels"].sort()
        return sorted(nodes, key=lambda row: json.dumps(row, sort_keys=True)), db.run(EDGES)


@pytest.mark.once
def test_an_offline_import_makes_the_graph_that_a_load_makes(
    migrated: Database,
    server: Connection,
    lane: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATHRAG_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")
    inputs = []
    for name, rows in (("g.jsonl", ROWS), ("chunks.jsonl", CHUNKS)):
        inputs.append(tmp_path / name)
        inputs[-1].write_text("".join(json.dumps(row) + "\n" for row in rows))
    inputs.append(tmp_path / "kb.txt")
    inputs[-1].write_text("a\tKNOWS\tghost \na\tKNOWS\tghost \n")
    load_files(migrated, inputs, tenant="t")
    loaded = graph(server)
    assert len(loaded[0]) == 7

    files = to_import_csv(inputs, tmp_path / "out", tenant="t")
    assert (files.nodes, files.relationships) == (7, 7)
    chosen = lane if lane in LANES else DEFAULT_LANE
    place, installation = Home.at(tmp_path / "home"), install(chosen)
    place.make()
    record = settle_record(place, None, chosen, None, lambda _: None)
    lay_out(place, record, installation, "256m")
    admin(
        place,
        installation,
        find_java(installation.lane),
        ["database", "import", "full", "neo4j", *files.arguments],
        doing="Importing",
    )
    try:
        connection = start(place.path, probe=probe_gds)
        assert graph(connection) == loaded
        with Database(connection) as db:
            up(db)
            load_files(db, inputs, tenant="t")
        assert graph(connection) == loaded
    finally:
        stop(place.path, timeout_s=10)
