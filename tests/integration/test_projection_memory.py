"""A projection must not take the server's memory, whatever the graph is like."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pathrag_gds.graph.database import Database, probe_gds
from pathrag_gds.graph.gds_client import ensure_projection
from pathrag_gds.graph.queries import load
from pathrag_gds.migrate import migrations_folder, up
from pathrag_gds.migrate.folder import read_folders
from pathrag_gds.retrieve.flow_gds import tenant_resource
from tests.integration.content import Content
from tests.statements import statement

pytestmark = pytest.mark.integration

NODES = 20_000
TYPES = 3_000
# A ring: each node has two neighbours, and every type has several relationships.
RING = statement(
    "UNWIND range($first, $first + 4999) AS i "
    "MATCH (a:__Entity__ {tenant: 'openie', id: toString(i)}) "
    "MATCH (b:__Entity__ {tenant: 'openie', id: toString((i + 1) % $nodes)}) "
    "CREATE (a)-[:$('relation ' + i % $types)]->(b)"
)
ENTITIES = statement(
    "UNWIND range(0, $nodes - 1) AS i CREATE (:__Entity__ {tenant: 'openie', id: toString(i)})"
)
GRAPHS = statement(
    "CALL gds.graph.list() YIELD graphName, nodeCount, relationshipCount, sizeInBytes "
    "RETURN graphName AS name, nodeCount AS nodes, relationshipCount AS relationships, "
    "sizeInBytes AS bytes ORDER BY name"
)
PAIR = statement(
    "CREATE (:__Entity__ {tenant: $tenant, id: 'a'})-[:R]->(:__Entity__ {tenant: $tenant, id: 'b'})"
)


def test_thousands_of_types_do_not_kill_a_small_server(
    content: Content, lane: str, tmp_path: Path
) -> None:
    from pathrag_gds.server import start, stop
    from pathrag_gds.server.artifacts import LANES

    if lane not in LANES:
        pytest.skip("the server's memory is not ours to choose")
    try:
        # A list per type took 1.2 MB here: 3.7 GB for all.
        with Database(start(tmp_path, lane, probe=probe_gds, heap="512m")) as db:
            up(db)
            db.run(ENTITIES, nodes=NODES)
            for first in range(0, NODES, 5000):
                db.run(RING, first=first, nodes=NODES, types=TYPES)
            assert up(db).warnings == ()
            (graph,) = db.run(GRAPHS)
            assert graph["bytes"] < 10 * 2**20
            assert (graph["name"], graph["nodes"], graph["relationships"]) == (
                "pathrag_openie",
                NODES,
                2 * NODES,
            )
            # The graph of the migrations knows no time, so this makes another.
            assert ensure_projection(db, "openie") == "pathrag_openie"
            found = tenant_resource(db, "openie", ["0"], hops=2)["0"]
            assert found == pytest.approx(
                {"0": 1.32, "1": 0.4, "19999": 0.4, "2": 0.16, "19998": 0.16}
            )
    finally:
        stop(tmp_path)


def test_graphs_that_do_not_fit_are_left_out_and_told(migrated: Database) -> None:
    if not migrated.capabilities.gds_version:
        pytest.skip("this server has no Graph Data Science")
    (callback,) = read_folders([migrations_folder()]).of_phase("afterMigrate")
    drop, project = (statement(text, "auto") for text in callback.statements)

    def projected(free: str) -> tuple[list[str], list[str]]:
        """Run the callback on a server that has so much heap free."""
        assert project.text.count("value AS free") == 1
        with_free = project.text.replace("value AS free", f"{free} AS free")
        migrated.run(drop)
        told = [row["warning"] for row in migrated.run(replace(project, text=with_free))]
        return [row["name"] for row in migrated.run(GRAPHS)], told

    def needed(nodes: int, relationships: int) -> int:
        size = {"nodes": nodes, "relationships": relationships}
        return int(migrated.run(load("gds/memory"), **size, properties=[])[0]["needed"])

    assert projected("value") == ([], [])
    migrated.run(PAIR, tenant="small")
    migrated.run(PAIR, tenant="it's")
    migrated.run(ENTITIES, nodes=NODES)
    assert projected("value") == (["pathrag_it's", "pathrag_openie", "pathrag_small"], [])
    graphs, told = projected(str(needed(NODES, 0)))
    assert graphs == ["pathrag_it's", "pathrag_small"]
    assert len(told) == 1
    megabytes = needed(NODES, 0) // 2**20
    for part in (
        "'openie' (20000 nodes, 0 relationships)",
        f"take {megabytes} MB, and the server has {megabytes} MB",
        "again: pathrag migrate up",
    ):
        assert part in told[0]
    # What comes before counts: each of the two would fit alone.
    graphs, told = projected(str(2 * needed(2, 2) - 1))
    assert graphs == ["pathrag_it's"]
    assert len(told) == 2
    assert projected("0")[0] == []
