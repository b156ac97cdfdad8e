"""What the server under test holds, changed only where a test needs it otherwise."""

from __future__ import annotations

import pytest

from pathrag_gds.demo import CHUNK_FILES, NODE_FILES, RELATIONSHIP_FILES
from pathrag_gds.graph.database import Database, Row
from pathrag_gds.graph.queries import escape_identifier
from pathrag_gds.ingest import embed, load_files
from pathrag_gds.migrate import up
from pathrag_gds.models.encoder import load_encoder
from tests.statements import statement

__all__ = ["MARKER", "Content"]

MARKER = "__PathragTest__"
DEMO = "demo"

_GRAPHS = statement("CALL gds.graph.list() YIELD graphName AS name RETURN name", "read")
_DROP_GRAPH = statement("CALL gds.graph.drop($name, false) YIELD graphName RETURN graphName")
_CONSTRAINTS = statement("SHOW CONSTRAINTS YIELD name RETURN name ORDER BY name", "read")
_INDEXES = statement(
    "SHOW INDEXES YIELD name, type, owningConstraint "
    "WHERE type <> 'LOOKUP' AND owningConstraint IS NULL RETURN name ORDER BY name",
    "read",
)
_DELETE = statement("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS", "auto")
_DELETE_DATA = statement(
    "MATCH (n) WHERE NOT any(label IN labels(n) WHERE label STARTS WITH '__Neo4jMigration') "
    "CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS",
    "auto",
)
_RECORDS = statement(
    "MATCH (n) WHERE any(label IN labels(n) WHERE label STARTS WITH '__Neo4jMigration') "
    "RETURN count(n) AS name",
    "read",
)
_FOREIGN = statement(f"MATCH (n) WHERE NOT EXISTS {{ (:{MARKER}) }} RETURN n LIMIT 1", "read")
_MARK = statement(f"MERGE (n:{MARKER}) SET n.meaning = 'pathrag-gds tests may wipe this database'")


class Content:
    """The content of one server: what it is, and how to make it what a test needs."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.loaded = ""
        self._schema: list[Row] = []

    def refuse_foreign_data(self, uri: str) -> None:
        """Stop the run when the server holds data that no earlier run of these tests left."""
        if self.database.run(_FOREIGN):
            pytest.exit(
                f"{uri} holds data and no node {MARKER}: the tests would delete it. "
                "Set PATHRAG_TEST_NEO4J_WIPE=1 if that is wanted.",
                returncode=4,
            )

    def mark(self) -> None:
        """Leave the node by which the next run knows that it may wipe this database."""
        self.database.run(_MARK)

    def empty(self) -> None:
        """Remove GDS graphs, data, constraints and indexes; token lookup indexes stay."""
        self._forget()
        self._drop_graphs()
        self.database.run(_DELETE)
        for kind, names in (("CONSTRAINT", _CONSTRAINTS), ("INDEX", _INDEXES)):
            for row in self.database.run(names):
                name = escape_identifier(row["name"])
                self.database.run(statement(f"DROP {kind} {name} IF EXISTS", "schema"))

    def migrate(self) -> None:
        """Bring the schema up to date and remove the data, reusing the schema that is there."""
        if self._schema and self._schema == self._read_schema():
            self.loaded = ""
            self._drop_graphs()
            self.database.run(_DELETE_DATA)
            return
        self.empty()
        up(self.database)
        self._schema = self._read_schema()

    def demo(self) -> None:
        """Load and embed the demo graph into the default tenant, unless it is there."""
        if self.loaded == DEMO:
            return
        self.migrate()
        load_files(self.database, [*NODE_FILES, *RELATIONSHIP_FILES, *CHUNK_FILES])
        embed(self.database, load_encoder(None))
        self.loaded = DEMO

    def _forget(self) -> None:
        self.loaded = ""
        self._schema = []

    def _drop_graphs(self) -> None:
        if self.database.capabilities.gds_version:
            for row in self.database.run(_GRAPHS):
                self.database.run(_DROP_GRAPH, name=row["name"])

    def _read_schema(self) -> list[Row]:
        return [row for q in (_CONSTRAINTS, _INDEXES, _RECORDS) for row in self.database.run(q)]
