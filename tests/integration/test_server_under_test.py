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
