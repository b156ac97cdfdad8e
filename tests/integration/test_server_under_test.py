"""The fixtures themselves: what they promise to every other integration test."""

from __future__ import annotations

from pathrag_gds.graph.database import Database
from pathrag_gds.server.artifacts import LANES
from tests.integration.content import Content
from tests.statements import statement

_COUNT = statement("MATCH (n) RETURN count(n) AS nodes", "read")
_SCHEMA = statement("SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP' RETURN name", "read")


def test_server_is_of_its_lane(connection: Database, lane: str) -> None:
    capabilities = connection.capabilities
    if lane in LANES:
        assert (capabilities.version, capabilities.gds_version, capabilities.edition) == (
            LANES[lane].neo4j,
            LANES[lane].gds,
            "community",
        )
    assert tuple(int(part) for part in capabilities.version.split(".")[:2]) >= (5, 26)


def test_database_is_wiped_of_data_schema_and_graphs(database: Database, content: Content) -> None:
    assert database.run(_COUNT) == [{"nodes": 0}]
    assert database.run(_SCHEMA) == []
    database.run(statement("CREATE CONSTRAINT odd FOR (n:`a``b`) REQUIRE n.x IS UNIQUE", "schema"))
    database.run(statement("CREATE INDEX `odd ``name` FOR (n:A) ON (n.y)", "schema"))
    database.run(statement("UNWIND range(1, 12000) AS i CREATE (:A {y: i})-[:R]->(:A)"))
    if database.capabilities.gds_version:
        database.run(
            statement("MATCH (a:A)-[:R]->(b) RETURN gds.graph.project('g', a, b) AS made", "write")
        )

    content.empty()

    assert database.run(_COUNT) == [{"nodes": 0}]
    assert database.run(_SCHEMA) == []
    if database.capabilities.gds_version:
        graphs = statement("CALL gds.graph.list() YIELD graphName RETURN graphName", "read")
        assert database.run(graphs) == []


def test_migrated_has_the_schema_and_no_data(migrated: Database, content: Content) -> None:
    names = {row["name"] for row in migrated.run(_SCHEMA)}
    assert {"entity_id_unique", "entity_embedding", "chunk_text"} <= names
    migrated.run(statement("CREATE (:__Entity__ {tenant: 'default', id: 'a'})"))

    content.migrate()

    assert {row["name"] for row in migrated.run(_SCHEMA)} == names
    entities = statement("MATCH (n:__Entity__) RETURN count(n) AS n", "read")
    assert migrated.run(entities) == [{"n": 0}]


def test_demo_is_loaded_and_embedded(demo: Database) -> None:
    counts = statement(
        "MATCH (n:__Entity__ {tenant: 'default'}) RETURN count(n) AS n, count(n.embedding) AS v",
        "read",
    )
    assert demo.run(counts) == [{"n": 104, "v": 104}]
