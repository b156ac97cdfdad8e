"""Migrations on a real server: what is applied, recorded, refused, restored and released."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pathrag_gds.config import Connection
from pathrag_gds.errors import (
    ApplyFailed,
    ChecksumDrift,
    DimensionMismatch,
    InvalidMigration,
    MigrationError,
    MigrationLocked,
    MigrationMissing,
    OutOfOrder,
)
from pathrag_gds.graph.database import Database
from pathrag_gds.migrate import (
    baseline,
    clean,
    migrations_folder,
    repair,
    status,
    unlock,
    up,
    validate,
)
from pathrag_gds.migrate.folder import read_folders
from pathrag_gds.server import install, start, stop
from pathrag_gds.server import process as server_process
from pathrag_gds.server.artifacts import LANES
from pathrag_gds.server.install import Installation
from tests.statements import statement

ALL = ("001", "002", "003", "004", "005", "006", "007", "008", "009")
RECORDS = statement(
    "MATCH (m:__Neo4jMigration) OPTIONAL MATCH (p)-[r:MIGRATED_TO]->(m) "
    "RETURN p.version AS previous, properties(m) AS record, properties(r) AS step "
    "ORDER BY m.version",
    "read",
)
LOCKS = statement("MATCH (l:__Neo4jMigrationsLock) RETURN l.name AS name", "read")
INDEXES = statement(
    "SHOW INDEXES YIELD name, type, labelsOrTypes, properties, options, state "
    "WHERE type <> 'LOOKUP' RETURN name, type, labelsOrTypes AS labels, properties, "
    "options.indexConfig AS settings, state ORDER BY name",
    "read",
)


class Files:
    """A folder of migrations that a test fills."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, text: str) -> None:
        (self.folder / f"{name}.cypher").write_text(text, encoding="utf-8")

    def remove(self, name: str) -> None:
        (self.folder / f"{name}.cypher").unlink()

    def up(self, db: Database, **options: Any) -> tuple[str, ...]:
        return up(db, folder=self.folder, packaged=False, **options).applied

    def states(self, db: Database) -> str:
        found = status(db, folder=self.folder, packaged=False)
        return " ".join(f"{e.version}:{e.state}" for e in found.entries) + f" {found.outcome}"


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def versions(db: Database) -> list[str]:
    """Give the recorded versions, after checking that they are one line from BASELINE."""
    rows = {row["previous"]: row["record"]["version"] for row in db.run(RECORDS)}
    line = []
    version = rows.get("BASELINE")
    while version is not None:
        line.append(version)
        version = rows.get(version)
    assert len(line) == max(0, len(db.run(RECORDS)) - 1)
    return line


def count(db: Database, label: str) -> int:
    return int(db.run(statement(f"MATCH (n:{label}) RETURN count(n) AS n", "read"))[0]["n"])


def index_names(db: Database) -> set[str]:
    return {row["name"] for row in db.run(INDEXES)}


def test_packaged_migrations_make_the_schema(database: Database) -> None:
    told: list[str] = []
    result = up(database, progress=told.append)
    assert result.applied == ALL
    assert result.version == ALL[-1]
    assert result.warnings == ()
    assert told[0] == f"Applying V001__create_constraints.cypher (1 of {len(ALL)})."
    shown = {row["name"]: row for row in database.run(INDEXES)}
    for name, label in (
        ("entity_embedding", "__Entity__"),
        ("chunk_embedding", "Chunk"),
        ("community_embedding", "__Community__"),
    ):
        settings = shown[name]["settings"]
        assert (shown[name]["labels"], shown[name]["properties"]) == ([label], ["embedding"])
        assert settings["vector.dimensions"] == 384
        assert settings["vector.similarity_function"] == "COSINE"
        assert settings["vector.quantization.enabled"] is False
    assert shown["entity_text"]["properties"] == [
        "name", "name_key", "aliases", "alias_keys", "description",
    ]  # fmt: skip
    assert shown["entity_text"]["settings"]["fulltext.analyzer"] == "standard-no-stop-words"
    assert shown["chunk_text"]["properties"] == ["text"]
    assert shown["entity_name_key"]["properties"] == ["tenant", "name_key"]
    assert shown["entity_name_key"]["type"] == "RANGE"
    assert shown["community_run"]["properties"] == ["tenant", "run"]
    assert shown["community_members"]["properties"] == ["tenant", "members"]
    for name in (
        "entity",
        "chunk",
        "document",
        "relation_type",
        "entity_type",
        "community",
        "community_run",
    ):
        assert shown[f"{name}_id_unique"]["properties"] == ["tenant", "id"]
    assert shown["vector_index_role_unique"]["properties"] == ["role"]
    assert {row["state"] for row in shown.values()} == {"ONLINE"}
    assert database.run(LOCKS) == []


def test_records_have_the_form_of_neo4j_migrations(migrated: Database) -> None:
    rows = migrated.run(RECORDS)
    start_node = next(row for row in rows if row["record"]["version"] == "BASELINE")
    assert start_node == {"previous": None, "record": {"version": "BASELINE"}, "step": None}
    assert versions(migrated) == list(ALL)
    second = next(row for row in rows if row["record"]["version"] == "002")
    assert second["record"] == {
        "version": "002",
        "description": "create entity vector index",
        "type": "CYPHER",
        "repeatable": False,
        "source": "V002__create_entity_vector_index.cypher",
        "checksum": read_folders([migrations_folder()]).migrations[1].checksum,
        "placeholders": '{"vector_dimensions": "384", "vector_similarity": "cosine"}',
    }
    assert sorted(second["step"]) == ["at", "by", "connectedAs", "in"]
    assert second["step"]["at"].endswith("+00:00")
    assert second["step"]["in"].startswith("PT")
    assert second["step"]["connectedAs"] == migrated.connection.username
    names = index_names(migrated)
    assert "unique_version___Neo4jMigration" in names
    assert "repeated_at__Neo4jMigration" in names
    assert "__Neo4jMigrationsLock__has_unique_id" in names
    assert "__Neo4jMigrationsLock__has_unique_name" in names


def test_second_run_applies_nothing(migrated: Database) -> None:
    before = migrated.run(RECORDS)
    again = up(migrated)
    assert again.applied == ()
    assert [step.action for step in again.steps] == ["callback"]
    assert migrated.run(RECORDS) == before
    found = status(migrated)
    assert (found.outcome, found.is_current, found.findings) == ("VALID", True, ())
    assert validate(migrated).is_valid


def test_dropped_index_and_constraint_are_restored(migrated: Database) -> None:
    migrated.run(statement("DROP INDEX chunk_text", "schema"))
    migrated.run(statement("DROP CONSTRAINT entity_id_unique", "schema"))
    assert [(f.name, f.problem) for f in status(migrated).findings] == [
        ("entity_id_unique", "missing"),
        ("chunk_text", "missing"),
    ]
    planned = up(migrated, dry_run=True)
    assert [(s.source, s.action) for s in planned.steps[:2]] == [
        ("entity_id_unique", "restore"),
        ("chunk_text", "restore"),
    ]
    result = up(migrated)
    assert [s.source for s in result.steps if s.action == "restore"] == [
        "entity_id_unique",
        "chunk_text",
    ]
    assert status(migrated).is_current


def test_projection_makes_one_repeatable_graph_per_tenant(migrated: Database) -> None:
    tenants = ("default", "it's `odd`")
    for order in (1, -1):
        migrated.run(statement("MATCH (n:__Entity__) DETACH DELETE n"))
        migrated.run(
            statement(
                "UNWIND $ids AS id UNWIND $tenants AS tenant "
                "CREATE (:__Entity__ {tenant: tenant, id: id})"
            ),
            ids=["a", "b", "c", "lonely"][::order],
            tenants=tenants[::order],
        )
        migrated.run(
            statement(
                "UNWIND [['a', 'b'], ['c', 'b']] AS pair MATCH (s:__Entity__ {id: pair[0]}), "
                "(t:__Entity__ {id: pair[1], tenant: s.tenant}) "
                "CREATE (s)-[:`saw ``it```]->(t) CREATE (s)-[:SIMILAR]->(t) "
                "CREATE (:__Entity__ {id: 'no tenant ' + pair[0] + s.tenant})-[:X]->(s)"
            )
        )
        assert up(migrated).warnings == ()
        graphs = migrated.run(
            statement(
                "CALL gds.graph.list() YIELD graphName, nodeCount, relationshipCount "
                "RETURN graphName AS name, nodeCount AS nodes, relationshipCount AS relationships "
                "ORDER BY name",
                "read",
            )
        )
        assert graphs == [
            {"name": f"pathrag_{tenant}", "nodes": 4, "relationships": 4} for tenant in tenants
        ]
        # Numbers of nodes follow the ids, whatever the order of creation.
        walk = migrated.run(
            statement(
                "CALL gds.degree.stream('pathrag_default', {concurrency: 1}) "
                "YIELD nodeId, score RETURN gds.util.asNode(nodeId).id AS id, score",
                "read",
            )
        )
        assert walk == [
            {"id": "a", "score": 1.0},
            {"id": "b", "score": 2.0},
            {"id": "c", "score": 1.0},
            {"id": "lonely", "score": 0.0},
        ]


def test_clean_forgets_the_records_only(migrated: Database) -> None:
    migrated.run(statement("CREATE (:__Entity__ {tenant: 'default', id: 'a'})"))
    before = index_names(migrated)
    assert clean(migrated, dry_run=True).records == len(ALL)
    assert clean(migrated).records == len(ALL)
    assert versions(migrated) == []
    assert (count(migrated, "__Entity__"), count(migrated, "__Neo4jMigration")) == (1, 0)
    assert index_names(migrated) == before
    assert up(migrated).applied == ALL


def test_status_and_dry_run_change_nothing(database: Database) -> None:
    found = status(database)
    assert (found.outcome, found.version, found.is_current) == ("INCOMPLETE_DATABASE", "", False)
    planned = up(database, dry_run=True, placeholders={"vector_dimensions": 3})
    assert planned.applied == ALL
    assert "`vector.dimensions`: 3," in planned.steps[1].statements[0]
    assert planned.steps[-1].action == "callback"
    assert not validate(database).is_valid
    assert index_names(database) == set()
    assert database.run(statement("MATCH (n) RETURN count(n) AS n", "read")) == [{"n": 0}]


def test_target_stops_on_the_way(database: Database) -> None:
    assert up(database, target="V002").applied == ("001", "002")
    assert up(database, target="next").applied == ("003",)
    assert status(database).version == "003"
    with pytest.raises(InvalidMigration, match="no migration of version 77"):
        up(database, target="77")
    assert database.run(LOCKS) == []


def test_data_and_repeatable_migrations(database: Database, files: Files) -> None:
    files.write("V1__film", "CREATE (:Film {title: 'It;'});\nCREATE (:Film {title: 'Up'});\n")
    files.write("R2__names", "MATCH (f:Film) SET f.name = f.title;\n")
    assert files.up(database) == ("1", "2")
    assert files.up(database) == ()
    files.write("R2__names", "MATCH (f:Film) SET f.name = toLower(f.title);\n")
    assert files.states(database) == "1:applied 2:outdated INCOMPLETE_DATABASE"
    assert files.up(database) == ("2",)
    assert files.states(database) == "1:applied 2:applied VALID"
    assert versions(database) == ["1", "2"]
    repeated = database.run(
        statement(
            "MATCH (m)-[r:REPEATED]->(m) RETURN m.version AS version, keys(r) AS keys", "read"
        )
    )
    assert [row["version"] for row in repeated] == ["2"]
    assert sorted(repeated[0]["keys"]) == ["at", "by", "checksum", "connectedAs", "in"]


def test_edited_file_is_refused_then_repaired(database: Database, files: Files) -> None:
    files.write("V1__film", "CREATE (:Film);\n")
    files.up(database)
    files.write("V1__film", "CREATE (:Film {title: 'Up'});\n")
    files.write("V2__more", "CREATE (:More);\n")
    with pytest.raises(ChecksumDrift, match=r"V1__film.cypher was edited since") as caught:
        files.up(database)
    assert caught.value.version == "1"
    assert count(database, "More") == 0
    assert files.states(database) == "1:changed 2:pending DIFFERENT_CONTENT"
    told = repair(database, dry_run=True, folder=files.folder, packaged=False)
    assert [(c.version, c.action) for c in told.changes] == [("1", "correct")]
    assert caught.value.recorded in told.changes[0].message
    assert files.states(database) == "1:changed 2:pending DIFFERENT_CONTENT"
    repair(database, folder=files.folder, packaged=False)
    assert files.states(database) == "1:applied 2:pending INCOMPLETE_DATABASE"
    assert count(database, "Film") == 1
    assert repair(database, folder=files.folder, packaged=False).changes == ()
    assert database.run(LOCKS) == []


def test_missing_file_is_refused_then_its_record_dropped(database: Database, files: Files) -> None:
    for number in (1, 2, 3):
        files.write(f"V{number}__film", f"CREATE (:Film {{n: {number}}});\n")
    files.up(database)
    files.remove("V2__film")
    with pytest.raises(MigrationMissing, match=r"Version 2 \(V2__film.cypher\) was applied on"):
        files.up(database)
    assert files.states(database) == "1:applied 2:missing 3:applied INCOMPLETE_MIGRATIONS"
    repair(database, folder=files.folder, packaged=False)
    assert versions(database) == ["1", "3"]
    assert files.states(database) == "1:applied 3:applied VALID"
    files.remove("V1__film")
    files.remove("V3__film")
    with pytest.raises(InvalidMigration, match="no migration files"):
        repair(database, folder=files.folder, packaged=False)
    assert versions(database) == ["1", "3"]


def test_out_of_order_file_is_refused_or_put_in_its_place(database: Database, files: Files) -> None:
    files.write("V1__film", "CREATE (:Film {n: 1});\n")
    files.write("V3__film", "CREATE (:Film {n: 3});\n")
    files.up(database)
    files.write("V2__film", "CREATE (:Film {n: 2});\n")
    with pytest.raises(OutOfOrder, match=r"V2__film.cypher is older than") as caught:
        files.up(database)
    assert "--out-of-order" in caught.value.hint
    assert files.states(database) == "1:applied 2:out_of_order 3:applied DIFFERENT_CONTENT"
    assert files.up(database, out_of_order=True) == ("2",)
    assert versions(database) == ["1", "2", "3"]
    assert count(database, "Film") == 3
    steps = {row["record"]["version"]: row["step"] for row in database.run(RECORDS)}
    assert steps["2"]["at"] > steps["3"]["at"]


def test_repair_records_a_late_file_without_running_it(database: Database, files: Files) -> None:
    files.write("V2__film", "CREATE (:Film);\n")
    files.up(database)
    files.write("V1__film", "CREATE (:Film);\n")
    changes = repair(database, folder=files.folder, packaged=False).changes
    assert [(c.version, c.action) for c in changes] == [("1", "insert")]
    assert versions(database) == ["1", "2"]
    assert count(database, "Film") == 1


def test_failing_data_file_leaves_nothing(database: Database, files: Files) -> None:
    files.write("V1__ok", "CREATE (:Ok);\n")
    files.write("V2__bad", "CREATE (:Bad);\nRETURN 1 / 0;\n")
    with pytest.raises(ApplyFailed, match=r"statement 2 failed: .*by zero.*Nothing of") as caught:
        files.up(database)
    assert (caught.value.version, caught.value.statement) == ("2", 2)
    assert (count(database, "Ok"), count(database, "Bad")) == (1, 0)
    assert versions(database) == ["1"]
    assert database.run(LOCKS) == []
    files.write("V2__bad", "CREATE (:Bad);\n")
    assert files.up(database) == ("2",)


def test_failing_schema_file_leaves_nothing(database: Database, files: Files) -> None:
    database.run(statement("CREATE (:Film {id: 1}), (:Film {id: 1})"))
    files.write(
        "V1__unique",
        "CREATE INDEX film_title IF NOT EXISTS FOR (f:Film) ON (f.title);\n"
        "CREATE CONSTRAINT film_id IF NOT EXISTS FOR (f:Film) REQUIRE f.id IS UNIQUE;\n",
    )
    with pytest.raises(ApplyFailed, match="statement 2 failed"):
        files.up(database)
    assert "film_title" not in index_names(database)
    assert versions(database) == []


def test_failing_batches_stay_and_are_run_again(database: Database, files: Files) -> None:
    text = (
        "// transactional: no\n"
        "UNWIND range(1, 20) AS i CALL (i) { MERGE (f:Film {n: i}) SET f.m = 1 / (LIMIT - i) } "
        "IN TRANSACTIONS OF 5 ROWS;\n"
    )
    files.write("V1__films", text.replace("LIMIT", "12"))
    with pytest.raises(ApplyFailed, match="Earlier batches stay committed"):
        files.up(database)
    assert count(database, "Film") == 10
    assert versions(database) == []
    files.write("V1__films", text.replace("LIMIT", "30"))
    assert files.up(database) == ("1",)
    assert count(database, "Film") == 20
    assert versions(database) == ["1"]


@contextmanager
def child(code: str, database: Database, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Migrate the same database from another process, which does not outlive the block."""
    head = (
        "import os, signal\nfrom pathlib import Path\n"
        "from pathrag_gds.config import Connection\n"
        "from pathrag_gds.graph.database import Database\n"
        "from pathrag_gds.migrate import chain, up\n"
        "db = Database(Connection(os.environ['URI'], os.environ['WHO'], os.environ['SECRET'], "
        "os.environ['DB']))\nfolder = Path(os.environ['FOLDER'])\n"
    )
    connection = database.connection
    environment = os.environ | {
        "URI": connection.uri,
        "WHO": connection.username,
        "SECRET": connection.password,
        "DB": connection.database,
        "FOLDER": str(folder),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    with subprocess.Popen(
        [sys.executable, "-c", head + code],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_crash_between_apply_and_record_heals(database: Database, files: Files) -> None:
    files.write("V1__title", "CREATE INDEX film_title IF NOT EXISTS FOR (f:Film) ON (f.title);\n")
    code = (
        "chain.record = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)\n"
        "up(db, folder=folder, packaged=False)\n"
    )
    with child(code, database, files.folder) as crashed:
        _, errors = crashed.communicate(timeout=120)
    assert crashed.returncode == -signal.SIGKILL, errors
    assert "film_title" in index_names(database)
    assert versions(database) == []
    with pytest.raises(MigrationLocked, match=f"process {crashed.pid}, since 20") as caught:
        files.up(database, wait_s=0)
    assert "pathrag migrate unlock" in caught.value.hint
    removed = unlock(database).removed
    assert removed is not None
    assert removed.pid == crashed.pid
    assert unlock(database).removed is None
    assert files.up(database) == ("1",)
    assert versions(database) == ["1"]
    assert status(database, folder=files.folder, packaged=False).is_current


def test_sigterm_releases_the_lock(database: Database, files: Files) -> None:
    files.write(
        "V1__slow",
        "// transactional: no\n"
        "UNWIND range(1, 1000000000) AS i CALL (i) { MERGE (s:Slow) SET s.n = i } "
        "IN TRANSACTIONS OF 100 ROWS;\n",
    )
    with child("up(db, folder=folder, packaged=False)\n", database, files.folder) as runner:
        _until(lambda: count(database, "Slow") == 1)
        assert database.run(LOCKS) == [{"name": "John Doe"}]
        runner.send_signal(signal.SIGTERM)
        _, errors = runner.communicate(timeout=120)
    assert runner.returncode == 128 + signal.SIGTERM, errors
    assert "Traceback" not in errors
    assert database.run(LOCKS) == []
    assert versions(database) == []
    running = statement(
        "SHOW TRANSACTIONS YIELD currentQuery WHERE currentQuery CONTAINS 'range(1, 1000000000)' "
        "AND NOT currentQuery STARTS WITH 'SHOW' RETURN count(*) AS n",
        "read",
    )
    _until(lambda: database.run(running) == [{"n": 0}])


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_two_runners_at_once_apply_once(database: Database, files: Files) -> None:
    for number in range(1, 4):
        files.write(f"V{number}__film", f"CREATE (:Film {{n: {number}}});\n")
    barrier = threading.Barrier(2)
    results: list[tuple[str, ...]] = []
    errors: list[BaseException] = []

    def run() -> None:
        with Database(database.connection) as own:
            barrier.wait()
            try:
                results.append(files.up(own, wait_s=60))
            except BaseException as error:
                errors.append(error)

    runners = [threading.Thread(target=run) for _ in range(2)]
    for thread in runners:
        thread.start()
    for thread in runners:
        thread.join()
    assert errors == []
    assert sorted(results) == [(), ("1", "2", "3")]
    assert versions(database) == ["1", "2", "3"]
    assert count(database, "Film") == 3


def test_lock_of_neo4j_migrations_is_respected(database: Database, files: Files) -> None:
    files.write("V1__film", "CREATE (:Film);\n")
    files.up(database)
    files.write("V2__film", "CREATE (:Film);\n")
    database.run(statement("CREATE (:__Neo4jMigrationsLock {id: 'x', name: 'John Doe'})"))
    told: list[str] = []
    with pytest.raises(MigrationLocked, match="is held by another runner"):
        files.up(database, wait_s=0.6, progress=told.append)
    assert told == ["Waiting for the migration lock, held by another runner."]
    assert database.run(LOCKS) == [{"name": "John Doe"}]
    assert status(database, folder=files.folder, packaged=False).lock is not None
    threading.Timer(1.0, lambda: unlock(database)).start()
    assert files.up(database, wait_s=60) == ("2",)


def test_runner_whose_lock_was_removed_records_nothing(database: Database, files: Files) -> None:
    files.write("V1__film", "CREATE (:Film);\n")

    def steal(message: str) -> None:
        if message.startswith("Applying"):
            unlock(database)

    with pytest.raises(MigrationLocked, match="was removed meanwhile"):
        files.up(database, progress=steal)
    assert count(database, "Film") == 0
    assert versions(database) == []


def test_existing_index_of_other_dimensions_is_refused(database: Database) -> None:
    database.run(
        statement(
            "CREATE VECTOR INDEX entity_embedding FOR (e:__Entity__) ON (e.embedding) "
            "OPTIONS {indexConfig: {`vector.dimensions`: 256, "
            "`vector.similarity_function`: 'cosine', `vector.quantization.enabled`: false}}",
            "schema",
        )
    )
    with pytest.raises(DimensionMismatch, match=r"256, the migration asks for 384") as caught:
        up(database, dry_run=True)
    with pytest.raises(DimensionMismatch, match=r"256, the migration asks for 384") as caught:
        up(database)
    assert (caught.value.expected, caught.value.found) == (256, 384)
    assert "pathrag migrate up --placeholder vector_dimensions=256" in caught.value.hint
    assert "DROP INDEX entity_embedding" in caught.value.hint
    assert versions(database) == ["001"]
    assert database.run(LOCKS) == []
    assert up(database, placeholders={"vector_dimensions": "256"}).applied == ALL[1:]
    settings = {row["name"]: row["settings"] for row in database.run(INDEXES)}
    assert settings["chunk_embedding"]["vector.dimensions"] == 256
    # What was recorded needs not be given again, and another value is refused.
    assert up(database).applied == ()
    assert dict(status(database).placeholders)["vector_dimensions"] == "256"
    other = {"vector_dimensions": 384}
    assert validate(database, placeholders=other).outcome == "DIFFERENT_CONTENT"
    with pytest.raises(InvalidMigration, match="with vector_dimensions 256, not 384") as refused:
        up(database, placeholders=other)
    assert "pathrag embed --model" in refused.value.hint


def test_index_remade_with_other_dimensions_later(database: Database) -> None:
    up(database)
    database.run(statement("DROP INDEX entity_embedding", "schema"))
    database.run(
        statement(
            "CREATE VECTOR INDEX entity_embedding FOR (e:__Entity__) ON (e.embedding) "
            "OPTIONS {indexConfig: {`vector.dimensions`: 16, "
            "`vector.similarity_function`: 'cosine', `vector.quantization.enabled`: false}}",
            "schema",
        )
    )
    (finding,) = status(database).findings
    assert (finding.setting, finding.wanted, finding.found) == ("vector.dimensions", "384", "16")
    assert not validate(database).is_valid
    with pytest.raises(DimensionMismatch, match=r"16, the migration asks for 384"):
        up(database)
    # Once the embedding says that it is in use, it is as it should be.
    database.run(
        statement(
            "CREATE (:__VectorIndex__ {role: 'entity', index: 'entity_embedding', dimension: 16})"
        )
    )
    assert status(database).is_current
    assert up(database).applied == ()


def test_repair_records_the_placeholders_that_are_given(database: Database) -> None:
    # neo4j-migrations records no placeholders: without them the default would be taken for true.
    up(database, placeholders={"vector_dimensions": 8})
    database.run(statement("MATCH (m:__Neo4jMigration) REMOVE m.placeholders"))
    with pytest.raises(DimensionMismatch, match="8, the migration asks for 384"):
        up(database)
    given = {"vector_dimensions": 8}
    changes = repair(database, placeholders=given).changes
    assert [(c.version, c.message) for c in changes] == [
        (
            "002",
            "V002__create_entity_vector_index.cypher: vector_dimensions is now recorded as 8.",
        ),
        (
            "003",
            "V003__create_chunk_vector_index.cypher: vector_dimensions is now recorded as 8.",
        ),
        (
            "008",
            "V008__create_communities.cypher: vector_dimensions is now recorded as 8.",
        ),
    ]
    assert repair(database, placeholders=given).changes == ()
    assert status(database).is_current


def test_later_file_may_replace_an_index(database: Database, files: Files) -> None:
    vectors = (
        "CREATE VECTOR INDEX film IF NOT EXISTS FOR (f:Film) ON (f.v) "
        "OPTIONS {indexConfig: {`vector.dimensions`: %d}};\n"
    )
    files.write("V1__vectors", vectors % 4)
    files.up(database)
    files.write("V2__drop", "DROP INDEX film IF EXISTS;\n")
    files.write("V3__vectors", vectors % 8)
    assert files.up(database, dry_run=True) == ("2", "3")
    assert files.up(database) == ("2", "3")
    files.write("V4__both", "DROP INDEX film IF EXISTS;\n" + vectors % 16)
    assert files.up(database) == ("4",)
    (index,) = (row for row in database.run(INDEXES) if row["name"] == "film")
    assert index["settings"]["vector.dimensions"] == 16
    assert status(database, folder=files.folder, packaged=False).is_current


def test_community_refuses_what_needs_enterprise(database: Database, files: Files) -> None:
    assert database.capabilities.edition == "community"
    files.write("V1__title", "CREATE INDEX film_title IF NOT EXISTS FOR (f:Film) ON (f.title);\n")
    files.write(
        "V2__must",
        "CREATE CONSTRAINT film_id IF NOT EXISTS FOR (f:Film) REQUIRE f.id IS UNIQUE;\n"
        "CREATE CONSTRAINT film_must IF NOT EXISTS FOR (f:Film) REQUIRE f.id IS NOT NULL;\n",
    )
    for dry_run in (True, False):
        with pytest.raises(ApplyFailed, match="a property existence constraint") as caught:
            files.up(database, dry_run=dry_run)
        assert (caught.value.version, caught.value.statement) == ("2", 2)
        assert f"this server is Community {database.capabilities.version}" in caught.value.message
    assert "film_title" not in index_names(database)


@pytest.fixture(scope="module")
def server_without_gds(lane: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    chosen = LANES.get(lane, LANES["lts"])

    def without_gds(*arguments: Any, **options: Any) -> Installation:
        whole = install(*arguments, **options)
        jars = tuple(jar for jar in whole.jars if not jar.name.endswith(f"-{chosen.gds}.jar"))
        assert len(jars) < len(whole.jars)
        return Installation(whole.lane, whole.folder, jars, (), whole.fetched, whole.reused)

    def probe(connection: Connection) -> None:
        with Database(connection, retry_s=0.0) as db:
            db.verify()

    home = tmp_path_factory.mktemp("no-gds")
    with pytest.MonkeyPatch.context() as patch:
        # This server lives for one test: compiling for speed would take longer than it saves.
        patch.setenv("PATHRAG_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")
        patch.setattr(server_process, "install", without_gds)
        connection = start(home, chosen.name, probe=probe, heap="512m", page_cache="32m")
    yield connection
    stop(home)


def test_without_gds_the_projection_is_skipped_with_a_warning(
    server_without_gds: Connection,
) -> None:
    with Database(server_without_gds) as db:
        assert db.capabilities.gds_version == ""
        result = up(db)
        assert result.applied == ALL
        assert [(s.source, s.action) for s in result.steps[-1:]] == [
            ("afterMigrate__project_entity_graph.cypher", "skip")
        ]
        assert result.warnings == (
            "afterMigrate__project_entity_graph.cypher was skipped: the server has no Graph Data "
            "Science plugin.",
        )
        assert status(db).is_current


def test_chain_that_neo4j_migrations_wrote_is_read_and_continued(
    database: Database, files: Files
) -> None:
    files.write("V1__film", "CREATE (:Film);\n")
    files.write("R2__names", "MATCH (f:Film) SET f.name = 'Up';\n")
    first, second = read_folders([files.folder]).migrations
    database.run(
        statement(
            "CREATE (:__Neo4jMigration {version: 'BASELINE'})-[:MIGRATED_TO {"
            "at: datetime('2024-02-01T10:00:00Z'), in: duration({milliseconds: 12}), by: 'ada', "
            "connectedAs: 'neo4j'}]->(m:__Neo4jMigration {version: '1', description: 'film', "
            "type: 'CYPHER', repeatable: false, source: 'V1__film.cypher', checksum: $first})"
            "-[:MIGRATED_TO {at: datetime('2024-02-01T10:00:01Z'), in: duration('PT1S'), "
            "by: 'ada', connectedAs: 'neo4j'}]->(n:__Neo4jMigration {version: '2', "
            "description: 'names', type: 'CYPHER', repeatable: true, source: 'R2__names.cypher', "
            "checksum: '1'}) CREATE (n)-[:REPEATED {checksum: $second, "
            "at: datetime('2024-03-01T10:00:00Z'), in: duration('PT2S'), by: 'bob', "
            "connectedAs: 'neo4j'}]->(n)"
        ),
        first=first.checksum,
        second=second.checksum,
    )
    assert files.states(database) == "1:applied 2:applied VALID"
    shown = status(database, folder=files.folder, packaged=False).to_dict()["migrations"]
    assert [(m["by"], m["at"][:10], m["duration"]) for m in shown] == [
        ("ada", "2024-02-01", "PT0.012S"),
        ("bob", "2024-03-01", "PT2S"),
    ]
    files.write("V3__more", "CREATE (:More);\n")
    assert files.up(database) == ("3",)
    assert versions(database) == ["1", "2", "3"]


def test_records_of_other_databases_are_left_alone(database: Database, files: Files) -> None:
    database.run(
        statement(
            "CREATE (:__Neo4jMigration {version: 'BASELINE', migrationTarget: 'films'})"
            "-[:MIGRATED_TO]->(:__Neo4jMigration {version: '1', migrationTarget: 'films'})"
        )
    )
    files.write("V1__film", "CREATE (:Film);\n")
    assert files.states(database) == "1:pending INCOMPLETE_DATABASE"
    assert files.up(database) == ("1",)
    assert clean(database, folder=files.folder, packaged=False).records == 1
    assert count(database, "__Neo4jMigration") == 2


def test_version_recorded_twice_is_refused_then_repaired(database: Database, files: Files) -> None:
    files.write("V1__film", "CREATE (:Film);\n")
    files.write("V2__film", "CREATE (:Film);\n")
    files.up(database)
    database.run(
        statement(
            "MATCH (m:__Neo4jMigration {version: '1'})-[r:MIGRATED_TO]->(n) "
            "CREATE (m)-[a:MIGRATED_TO]->(c:__Neo4jMigration)-[b:MIGRATED_TO]->(n) "
            "SET a = properties(r), b = properties(r), c = properties(m) DELETE r"
        )
    )
    assert files.states(database) == "1:applied 2:applied DUPLICATE_VERSION"
    with pytest.raises(MigrationError, match="Version 1 is recorded more than once"):
        files.up(database)
    changes = repair(database, folder=files.folder, packaged=False).changes
    assert [(c.version, c.action) for c in changes] == [("1", "drop")]
    assert files.states(database) == "1:applied 2:applied VALID"
    assert versions(database) == ["1", "2"]


def test_branched_chain_is_refused(database: Database, files: Files) -> None:
    files.write("V1__film", "CREATE (:Film);\n")
    files.up(database)
    database.run(
        statement(
            "MATCH (b:__Neo4jMigration {version: 'BASELINE'}) "
            "CREATE (b)-[:MIGRATED_TO]->(:__Neo4jMigration {version: '9'})"
        )
    )
    assert validate(database, folder=files.folder, packaged=False).outcome == "UNDEFINED"
    for command in (up, repair):
        with pytest.raises(MigrationError, match="branches after BASELINE: 1, 9 both") as caught:
            command(database, folder=files.folder, packaged=False)
        assert "migrate clean" in caught.value.hint


def test_baseline_adopts_a_database_made_by_hand(database: Database) -> None:
    planned = baseline(database, "V003", dry_run=True)
    assert planned.recorded == ("001", "002", "003")
    assert versions(database) == []
    result = baseline(database, "V003")
    assert result.recorded == ("001", "002", "003")
    assert "entity_embedding" in [f.name for f in result.findings]
    assert "entity_embedding" not in index_names(database)
    done = up(database)
    assert done.applied == ALL[3:]
    assert len([s for s in done.steps if s.action == "restore"]) == 8
    assert status(database).is_current


def test_own_folder_stands_beside_the_packaged_one(database: Database, files: Files) -> None:
    files.write("V100__film", "CREATE (:Film);\n")
    files.write("beforeMigrate__note", "MERGE (n:Note) SET n.before = true;\n")
    files.write("afterMigrate__note", "MERGE (n:Note) SET n.after = true;\n")
    files.write("afterClean__note", "MERGE (n:Note) SET n.cleaned = true;\n")
    files.write("afterInfo__note", "MERGE (n:Note) SET n.info = true;\n")
    result = up(database, folder=files.folder)
    assert result.applied == (*ALL, "100")
    assert result.warnings == (
        "afterInfo__note.cypher is not run: pathrag has no phase afterInfo.",
    )
    clean(database, folder=files.folder)
    notes = database.run(statement("MATCH (n:Note) RETURN properties(n) AS p", "read"))
    assert notes == [{"p": {"before": True, "after": True, "cleaned": True}}]


def test_warnings_of_a_callback_are_told(database: Database, files: Files) -> None:
    files.write("V1__film", "CREATE (:Film);\n")
    files.write(
        "afterMigrate__tell",
        "UNWIND ['one', null, 'two'] AS warning RETURN warning;\nRETURN 'three' AS other;\n",
    )
    result = up(database, folder=files.folder, packaged=False)
    assert result.warnings == ("one", "two")


def test_failing_callback_is_an_error_after_the_record(database: Database, files: Files) -> None:
    files.write("V1__film", "CREATE (:Film);\n")
    files.write("afterMigrate__bad", "RETURN 1 / 0;\n")
    with pytest.raises(ApplyFailed, match=r"afterMigrate__bad.cypher: statement 1 failed"):
        files.up(database)
    assert versions(database) == ["1"]
    assert database.run(LOCKS) == []
